# SPDX-License-Identifier: Apache-2.0
"""Runs `ggctl local run` as a process of its own and knows every process that came of it.

Each run gets a token in its environment; children inherit it, so a search of /proc finds whatever was left behind, whoever its
parent is by now.
"""
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest
import uuid

BIN = pathlib.Path(os.environ.get("GG_BIN_DIR", "build/release/bin"))
SOURCE = pathlib.Path(os.environ.get("GG_SOURCE_DIR", "."))
SLOW = os.environ.get("GG_SLOW", "0") == "1"  # a sanitizer build: bounds on how long something takes are stretched
PATIENCE = 6 if SLOW else 1

SYNTHETIC = """\
apiVersion: gossipgrad.dev/v1
kind: TrainingJob
metadata:
  name: {name}
spec:
  model: {{name: mlp, hidden: [32]}}
  data: {{format: synthetic, shape: [1, 12, 12], classes: 10, train_samples: {samples}, test_samples: 200}}
  learning_rate: {{base: 0.05}}
  train: {{epochs: {epochs}, batch_size: 16}}
  workers: {{min: 1, max: 1}}
"""


def processes_with(token):
    """pid -> command line of every live process that carries the token."""
    found = {}
    needle = f"GG_TEST_TOKEN={token}".encode()
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            environ = pathlib.Path("/proc", entry, "environ").read_bytes()
            status = pathlib.Path("/proc", entry, "stat").read_text()
            if needle in environ and status.rsplit(")", 1)[1].split()[0] != "Z":
                command = pathlib.Path("/proc", entry, "cmdline").read_bytes().replace(b"\0", b" ").decode()
                found[int(entry)] = command.strip()
        except (OSError, IndexError):
            continue
    return found


class Run:
    """One `ggctl` process with everything below it."""

    def __init__(self, *arguments, env=None, stdout=None):
        self.token = uuid.uuid4().hex
        environment = dict(os.environ, GG_TEST_TOKEN=self.token, **(env or {}))
        self.out = tempfile.TemporaryFile("w+")
        self.err = tempfile.TemporaryFile("w+")
        self.started = time.monotonic()
        self.process = subprocess.Popen([str(BIN / "ggctl"), *map(str, arguments)], stdin=subprocess.DEVNULL,
                                        stdout=self.out if stdout is None else stdout, stderr=self.err, env=environment,
                                        start_new_session=True)

    def children(self, name):
        """Live processes of this run whose program is `name`, oldest first."""
        return sorted(pid for pid, command in processes_with(self.token).items()
                      if pathlib.Path(command.split(" ")[0]).name == name)

    def wait_for(self, condition, what, seconds=60):
        deadline = time.monotonic() + seconds * PATIENCE
        while time.monotonic() < deadline:
            value = condition()
            if value:
                return value
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"{what} did not happen; ggctl: {self.process.poll()}\n{self.stderr()}")

    def wait_until_training(self, workers, seconds=60):
        """Until every worker has finished steps, by its own metrics."""
        def training():
            pids = self.children("gg-worker")
            return pids if len(pids) == workers and all(steps_of(pid) > 0 for pid in pids) else None
        return self.wait_for(training, f"training on {workers} workers", seconds)

    def finish(self, seconds):
        """The exit code; fails when the run takes longer or leaves a process behind."""
        try:
            self.process.wait(seconds * PATIENCE)
        except subprocess.TimeoutExpired:
            text = self.stderr()
            self.destroy()
            raise AssertionError(f"ggctl still runs after {seconds * PATIENCE} s\n{text}") from None
        deadline = time.monotonic() + 5
        while processes_with(self.token) and time.monotonic() < deadline:
            time.sleep(0.05)
        left = processes_with(self.token)
        self.destroy()
        assert not left, f"left running: {left}"
        return self.process.returncode

    def destroy(self):
        for pid in processes_with(self.token):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    def close(self):
        self.destroy()
        self.out.close()
        self.err.close()

    def stdout(self):
        self.out.seek(0)
        return self.out.read()

    def stderr(self):
        self.err.seek(0)
        return self.err.read()

    def json(self):
        return json.loads(self.stdout())


def http_port_of(pid):
    """The HTTP address that a daemon wrote into its --port-file."""
    arguments = pathlib.Path("/proc", str(pid), "cmdline").read_bytes().split(b"\0")
    for index, argument in enumerate(arguments):
        if argument == b"--port-file":
            return json.loads(pathlib.Path(arguments[index + 1].decode()).read_text())["http"]
        if argument.startswith(b"--port-file="):
            return json.loads(pathlib.Path(argument.split(b"=", 1)[1].decode()).read_text())["http"]
    raise AssertionError("no --port-file")


def metrics_of(pid):
    """name -> sum over its series, scraped from a daemon."""
    import urllib.request
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    text = opener.open(f"http://{http_port_of(pid)}/metrics", timeout=5).read().decode()
    totals = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name = line.split("{")[0].split(" ")[0]
            totals[name] = totals.get(name, 0.0) + float(line.rsplit(" ", 1)[1])
    return totals


def steps_of(pid):
    try:
        return metrics_of(pid).get("gossipgrad_steps_total", 0.0)
    except (OSError, ValueError, KeyError, AssertionError):
        return 0.0


class ClusterTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gg-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, *arguments, **options):
        run = Run(*arguments, **options)
        self.addCleanup(run.close)
        return run

    def job(self, name="small", samples=512, epochs=1):
        path = self.folder / f"{name}.yaml"
        path.write_text(SYNTHETIC.format(name=name, samples=samples, epochs=epochs))
        return path

    def long_job(self):
        """Trains for far longer than any test waits."""
        return self.job("long", samples=200000, epochs=1000)

    def result(self, *arguments, seconds=120, **options):
        """The JSON of a run that must succeed."""
        run = self.start("local", "run", *arguments, "-o", "json", **options)
        code = run.finish(seconds)
        self.assertEqual(code, 0, run.stderr())
        return run.json()
