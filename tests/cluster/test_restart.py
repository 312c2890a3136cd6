# SPDX-License-Identifier: Apache-2.0
"""ggctl against daemons started by hand: a coordinator that freezes, dies and comes back."""
import json
import signal
import socket
import subprocess
import time
import unittest

from gg_cluster import BIN, PATIENCE, ClusterTest


def free_port():
    """A port that was free a moment ago: a coordinator that comes back needs the one it had."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ByHand(ClusterTest):
    def setUp(self):
        super().setUp()
        self.server = f"127.0.0.1:{free_port()}"
        self.daemons = []
        self.addCleanup(self.stop_daemons)

    def daemon(self, program, *arguments):
        name = f"{program}-{len(self.daemons)}"
        with open(self.folder / f"{name}.log", "w") as log:
            process = subprocess.Popen([str(BIN / program), "--http-listen", "127.0.0.1:0", *map(str, arguments)],
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.daemons.append(process)
        return process

    def stop_daemons(self):
        for process in self.daemons:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()

    def coordinator(self):
        process = self.daemon("gg-coordinator", "--listen", self.server, "--store", self.folder / "store.db")
        deadline = time.monotonic() + 20 * PATIENCE
        while self.ggctl("version").returncode != 0:
            self.assertLess(time.monotonic(), deadline, "the coordinator does not answer")
            self.assertIsNone(process.poll(), "the coordinator ended")
        return process

    def worker(self, name):
        return self.daemon("gg-worker", "--coordinator", self.server, "--worker-id", name, "--listen", "127.0.0.1:0",
                           "--threads", 1)

    def ggctl(self, *arguments):
        return subprocess.run([str(BIN / "ggctl"), "--server", self.server, *map(str, arguments)],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60 * PATIENCE)

    def describe(self, name):
        return json.loads(self.ggctl("describe", "job", name, "-o", "json").stdout)

    def watch(self, name):
        run = self.start("--server", self.server, "watch", name)
        run.wait_for(lambda: f"{name}: " in run.stderr(), "the first line of the watch")
        return run

    def wait_for_text(self, run, text, seconds):
        run.wait_for(lambda: text in run.stderr(), f'"{text}"', seconds)

    def pending(self):
        """A job that waits for workers for ever."""
        job = self.job("waits")
        self.assertEqual(self.ggctl("submit", "-f", job).returncode, 0)
        return "waits"

    def test_a_coordinator_that_starts_while_it_is_called(self):
        job = self.job("small")
        submit = self.start("--server", self.server, "submit", "-f", job)
        self.daemon("gg-coordinator", "--listen", self.server, "--store", self.folder / "store.db")
        self.assertEqual(submit.finish(20), 0, submit.stderr())
        self.assertEqual(self.ggctl("get", "jobs", "-o", "name").stdout, "job/small\n")

    def test_a_silent_coordinator_is_told_and_its_return_too(self):
        coordinator = self.coordinator()
        run = self.watch(self.pending())
        coordinator.send_signal(signal.SIGSTOP)
        self.wait_for_text(run, "does not answer; still trying", 20)
        coordinator.send_signal(signal.SIGCONT)
        self.wait_for_text(run, "the coordinator answers again", 20)
        self.assertEqual(self.ggctl("cancel", "waits").returncode, 0)
        self.assertEqual(run.finish(20), 9, run.stderr())

    def test_a_watch_goes_on_after_a_restart(self):
        coordinator = self.coordinator()
        run = self.watch(self.pending())
        coordinator.kill()
        coordinator.wait()
        self.coordinator()
        self.assertEqual(self.ggctl("cancel", "waits").returncode, 0)
        self.assertEqual(run.finish(20), 9, run.stderr())

    def test_a_coordinator_that_stays_away_ends_the_watch(self):
        coordinator = self.coordinator()
        run = self.start("--server", self.server, "--request-timeout", "2s", "watch", self.pending())
        run.wait_for(lambda: "waits: " in run.stderr(), "the first line of the watch")
        coordinator.kill()
        coordinator.wait()
        self.assertEqual(run.finish(20), 7, run.stderr())
        self.assertIn("cannot reach the coordinator", run.stderr())

    def test_a_job_that_trained_during_a_restart_is_reported_as_failed(self):
        coordinator = self.coordinator()
        self.worker("a")
        self.assertEqual(self.ggctl("submit", "-f", self.long_job()).returncode, 0)
        run = self.watch("long")
        self.wait_for_text(run, "long: Running", 60)
        coordinator.kill()
        coordinator.wait()
        self.coordinator()
        self.assertEqual(run.finish(30), 8, run.stderr())
        self.assertIn("coordinator restarted", run.stdout())

    def test_finished_jobs_look_the_same_after_a_restart(self):
        coordinator = self.coordinator()
        workers = [self.worker("a"), self.worker("b")]
        two = ("--set", "workers.min=2", "--set", "workers.max=2", "--set", "metadata.labels.team=x")
        good = self.ggctl("submit", "-f", self.job("good", epochs=2), *two, "--wait")
        self.assertEqual(good.returncode, 0, good.stderr)
        # With a warning of its specification in the history.
        bad = self.ggctl("submit", "-f", self.long_job(), *two, "--set", "exchange.payload=gradients")
        self.assertEqual(bad.returncode, 0, bad.stderr)
        run = self.watch("long")
        self.wait_for_text(run, "step ", 60)
        workers[0].kill()
        self.assertEqual(run.finish(30), 8, run.stderr())
        dropped = self.pending()
        self.assertEqual(self.ggctl("cancel", dropped, "--reason", "enough").returncode, 0)
        names = ("good", "long", dropped)
        before = {name: self.describe(name) for name in names}
        table = self.ggctl("get", "jobs", "-o", "json").stdout
        self.assertGreater(before["good"]["status"]["progress"]["learning_rate"], 0)
        for worker in before["good"]["status"]["workers"]:
            self.assertRegex(worker["transport"], "^grpc over [^,]+$")  # a state of the connection would soon be stale
        self.assertGreater(before["long"]["status"]["progress"]["step"], 0)
        self.assertIn("Specification", [event["reason"] for event in before["long"]["status"]["events"]])
        for how in (signal.SIGTERM, signal.SIGKILL):
            coordinator.send_signal(how)
            coordinator.wait()
            coordinator = self.coordinator()
            for name in names:
                self.assertEqual(self.describe(name), before[name])
            self.assertEqual(self.ggctl("get", "jobs", "-o", "json").stdout, table)

    def test_names_that_verbs_print_are_names_that_verbs_take(self):
        self.coordinator()
        printed = self.ggctl("submit", "-f", self.job("small"), "-o", "name").stdout.strip()
        self.assertEqual(printed, "job/small")
        self.assertEqual(self.ggctl("describe", printed).returncode, 0)
        self.assertEqual(self.ggctl("get", "jobs", printed).returncode, 0)
        self.assertEqual(self.ggctl("cancel", printed).returncode, 0)
        self.assertEqual(self.ggctl("cancel", printed).returncode, 0)
        self.assertEqual(self.ggctl("cancel", printed, "--error-unchanged").returncode, 3)


class Defaults(unittest.TestCase):
    def test_daemon_and_client_agree_where_to_meet(self):
        text = subprocess.run([str(BIN / "gg-coordinator"), "--help"], capture_output=True, text=True, check=True).stdout
        client = subprocess.run([str(BIN / "ggctl"), "--help"], capture_output=True, text=True, check=True).stdout
        self.assertIn("127.0.0.1:7070", text)
        self.assertIn("127.0.0.1:7070", client)


if __name__ == "__main__":
    unittest.main()
