# SPDX-License-Identifier: Apache-2.0
"""/metrics of live daemons: what the numbers mean, and that others can read them."""
import json
import math
import subprocess
import unittest

from gg_cluster import BIN, PATIENCE, SLOW, ClusterTest
from gg_daemons import OPENMETRICS, Daemons, Page, wait_for

STEPS = "gossipgrad_steps_total"
PHASES = "gossipgrad_step_phase_seconds_total"
SCRAPERS = {"job", "instance", "pod", "namespace", "node", "container", "service", "endpoint"}


def set_workers(count):
    return ("--set", f"workers.min={count}", "--set", f"workers.max={count}")


class Metrics(ClusterTest):
    def submit(self, daemons, path, workers, *flags, **options):
        return daemons.ggctl("submit", "-f", path, *set_workers(workers), *flags, **options)

    def wait_for_state(self, daemons, job, state):
        wait_for(lambda: any(s.name == "gossipgrad_job_state" and s.value == 1 and
                             s.labels == {"train_job": job, "state": state} for s in Page(daemons.coordinator).samples),
                 f"{job} to be {state}")

    def step_boundary(self, address):
        """Two scrapes in a row between which a step ended: the later page, and the earliest and latest moment at which
        the last step that it shows can have ended."""
        before = Page(address)

        def next_step():
            nonlocal before
            now = Page(address)
            if now.total(STEPS) > before.total(STEPS):
                return now, before.began, now.ended
            before = now
            return None
        return wait_for(next_step, "a step")

    def test_step_phases_add_up_to_the_wall_time_of_the_loop(self):
        # No evaluation, which is outside the loop; steps far shorter than what is measured.
        job = self.job("long", samples=20000, epochs=100000)
        with Daemons(2) as daemons:
            self.submit(daemons, job, 2, "--set", "train.evaluate_every_epochs=0")
            address = daemons.workers[0]
            wait_for(lambda: Page(address).has(STEPS, train_job="long") and Page(address).total(STEPS) > 10, "training")
            first, earliest_1, latest_1 = self.step_boundary(address)
            wait_for(lambda: Page(address).ended - first.ended > 4, "four seconds to pass")
            second, earliest_2, latest_2 = self.step_boundary(address)
            phases = second.total(PHASES) - first.total(PHASES)
            # The clock of this process says between which bounds the loop's time must lie; they are no wider than the
            # scrapes took. A page may be made while a step's phases are being written: one step's worth of slack.
            step = (second.total("gossipgrad_step_duration_seconds_sum") -
                    first.total("gossipgrad_step_duration_seconds_sum")) / (second.total(STEPS) - first.total(STEPS))
            slack = 10 * step + 0.05
            self.assertGreaterEqual(phases, earliest_2 - latest_1 - slack)
            self.assertLessEqual(phases, latest_2 - earliest_1 + slack)
            self.assertGreater(phases, 3)
            for phase in ("data", "forward", "backward", "optimizer", "mix"):
                self.assertGreater(second.total(PHASES, phase=phase), 0, phase)

    def test_messages_and_bytes_per_step_do_not_grow_with_workers(self):
        costs = {}
        for workers in (2, 4) if SLOW else (2, 3, 8):
            with Daemons(workers) as daemons:
                self.submit(daemons, self.job(samples=2048), workers, "--watch")
                for address in daemons.workers:
                    page = Page(address)  # the last values of a job outlive it
                    steps = page.total(STEPS, train_job="small")
                    self.assertGreater(steps, 0)
                    for name in ("gossipgrad_gossip_messages_total", "gossipgrad_gossip_bytes_total"):
                        for direction in ("sent", "received"):
                            cost = page.total(name, train_job="small", direction=direction, transport="grpc") / steps
                            costs.setdefault((name, direction), {}).setdefault(cost, []).append(workers)
        for what, values in costs.items():
            self.assertEqual(len(values), 1, f"{what}: {values}")
            self.assertGreater(min(values), 0, what)

    def test_others_can_read_both_pages_in_both_formats(self):
        with Daemons(2) as daemons:
            self.submit(daemons, self.job("small", samples=2048, epochs=2), 2, "--watch")
            for address in (daemons.coordinator, daemons.workers[0]):
                plain, opened = Page(address), Page(address, OPENMETRICS + ";version=1.0.0,text/plain;q=0.5")
                self.assertTrue(plain.content_type.startswith("text/plain; version=0.0.4"), plain.content_type)
                self.assertTrue(opened.content_type.startswith(OPENMETRICS), opened.content_type)
                self.assertTrue(opened.text.endswith("\n# EOF\n"))
                for page in (plain, opened):
                    for sample in page.samples:
                        self.assertFalse(SCRAPERS & set(sample.labels), sample)
                        self.assertNotIn("unknown", sample.labels.values(), sample)  # not in the catalogue
                        self.assertNotIn("partner", sample.labels, sample)
                        self.assertTrue(sample.name.startswith(("gossipgrad_", "process_", "grpc_server_")), sample)
                    self.assertTrue(all(family.documentation for family in page.families))
                names = [{s.name for s in page.samples if not s.name.endswith("_created")} for page in (plain, opened)]
                self.assertEqual(*names)

    def test_the_worker_says_what_it_is_and_does(self):
        with Daemons(2) as daemons:
            self.submit(daemons, self.job("small", samples=2048, epochs=2), 2, "--watch")
            page = Page(daemons.workers[1])
            self.assertEqual(page.total("gossipgrad_worker_info", worker="w1", transport="grpc"), 1)
            info = next(s for s in page.samples if s.name == "gossipgrad_worker_info")
            self.assertTrue(all(info.labels[key] for key in ("version", "device", "host")), info)
            for name in ("grad_norm", "param_norm", "update_to_param_ratio", "loss", "learning_rate",
                         "gossip_partner_distance"):
                value = page.total("gossipgrad_" + name)
                self.assertTrue(math.isfinite(value) and value > 0, f"{name} {value}")
            self.assertEqual(page.total("gossipgrad_epoch"), 2)
            self.assertIn(page.total("gossipgrad_data_queue_depth"), (0, 1))
            self.assertEqual(page.total("gossipgrad_gossip_staleness_steps"), 0)
            self.assertGreater(page.total("gossipgrad_gossip_rotation"), 0)
            self.assertEqual(page.total("gossipgrad_membership_epoch"), 1)
            self.assertEqual(page.total("gossipgrad_gossip_exchanges_total", result="ok"),
                             page.total("gossipgrad_gossip_messages_total", direction="received"))
            self.assertGreaterEqual(page.total("gossipgrad_transport_bytes_total", direction="sent"),
                                    page.total("gossipgrad_gossip_bytes_total", direction="sent"))

    def test_the_coordinator_tells_each_job(self):
        with Daemons(2) as daemons:
            self.submit(daemons, self.job("done", samples=2048, epochs=2), 2, "--watch")
            self.submit(daemons, self.job("goes-on", samples=20000, epochs=100000), 2)
            self.submit(daemons, self.job("waits"), 2)
            address = daemons.coordinator
            page = wait_for(lambda: next((p for p in [Page(address)] if
                                          p.has("gossipgrad_consensus_distance", train_job="goes-on") and
                                          p.has("gossipgrad_job_state", train_job="waits")), None), "progress")
            for job, state in (("done", "succeeded"), ("goes-on", "running"), ("waits", "pending")):
                states = {s.labels["state"]: s.value for s in page.samples
                          if s.name == "gossipgrad_job_state" and s.labels["train_job"] == job}
                self.assertEqual(states.pop(state), 1, job)
                self.assertEqual(set(states.values()), {0}, job)
                self.assertEqual(page.total("gossipgrad_job_info", train_job=job, algorithm="gossip-grad"), 1)
                self.assertGreaterEqual(page.total("gossipgrad_job_queue_wait_seconds", train_job=job), 0)
            self.assertEqual(page.total("gossipgrad_job_progress_ratio", train_job="done"), 1)
            self.assertGreaterEqual(page.total("gossipgrad_consensus_distance", train_job="done"), 0)  # two agree
            self.assertGreater(page.total("gossipgrad_consensus_distance", train_job="goes-on"), 0)
            self.assertGreater(page.total("gossipgrad_job_estimated_completion_timestamp_seconds"), 1.6e9)
            scores = [s for s in page.samples if s.name == "gossipgrad_straggler_score"]
            self.assertEqual({(s.labels["train_job"], s.labels["worker"]) for s in scores},
                             {("goes-on", "w0"), ("goes-on", "w1")})
            self.assertTrue(all(0 < s.value < 100 for s in scores), scores)
            self.assertEqual(page.total("grpc_server_handled_total", grpc_service="gossipgrad.v1.JobService",
                                        grpc_method="SubmitJob", grpc_code="OK"), 3)
            self.assertEqual(page.total("grpc_server_handling_seconds_count", grpc_method="SubmitJob"), 3)
            self.assertGreaterEqual(page.total("grpc_server_handled_total", grpc_method="WatchJob", grpc_code="OK"), 1)

    def test_every_line_of_the_log_is_one_json_object_about_one_change(self):
        with Daemons(2) as daemons:
            self.submit(daemons, self.job("small"), 2, "--watch")
            self.submit(daemons, self.job("dies", samples=20000, epochs=100000), 2)
            self.wait_for_state(daemons, "dies", "running")
            daemons.processes[1].kill()
            self.wait_for_state(daemons, "dies", "failed")
            lines = {name: [json.loads(line) for line in daemons.log_of(name).read_text().splitlines()]
                     for name in ("c", "w0", "w1")}
            for name, objects in lines.items():
                self.assertTrue(objects, name)
                for line in objects:
                    self.assertLessEqual({"time", "level", "component", "message"}, set(line), line)
            messages = [line["message"] for line in lines["c"]]
            lost = [m for m in messages if "worker w0 was lost" in m]
            failed = [m for m in messages if m.startswith("job dies ") and " FAILED" in m]
            self.assertEqual(len(lost[:1]), 1, messages)
            self.assertEqual(len(failed), 1, messages)
            self.assertNotEqual(lost[0], failed[0])
            self.assertLess(messages.index(lost[0]), messages.index(failed[0]))

    def test_what_grpc_has_to_say_is_a_line_of_the_log_too(self):
        with Daemons(0) as daemons:
            second = subprocess.run([str(BIN / "gg-coordinator"), "--listen", daemons.grpc, "--http-listen", "127.0.0.1:0",
                                     "--log-format", "json"], capture_output=True, text=True, timeout=60 * PATIENCE,
                                    stdin=subprocess.DEVNULL, check=False)
            self.assertEqual(second.returncode, 69, second.stderr)
            lines = [json.loads(line) for line in second.stderr.splitlines()]
            self.assertTrue(any(line.get("source") == "grpc" for line in lines), second.stderr)


if __name__ == "__main__":
    unittest.main()
