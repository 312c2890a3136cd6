# SPDX-License-Identifier: Apache-2.0
"""A cluster of daemons started one by one, which outlives its jobs: what `ggctl local run` hides can be looked at.

Pages of /metrics are read with prometheus_client, a parser that knows nothing of this project.
"""
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import urllib.request
import uuid

from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from gg_cluster import BIN, PATIENCE, processes_with

OPENMETRICS = "application/openmetrics-text"


class Page:
    """One scrape: its moments, and its samples as (name, labels) -> value."""

    def __init__(self, address, accept=""):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        request = urllib.request.Request(f"http://{address}/metrics", headers={"Accept": accept} if accept else {})
        self.began = time.monotonic()
        with opener.open(request, timeout=10) as reply:
            self.text = reply.read().decode()
            self.content_type = reply.headers["Content-Type"]
        self.ended = time.monotonic()
        parse = parse_openmetrics if self.content_type.startswith(OPENMETRICS) else parse_text
        self.families = list(parse(self.text))
        self.samples = [sample for family in self.families for sample in family.samples]

    def total(self, name, **labels):
        """Sum over the series of that name with these labels; an error when there is none."""
        values = [s.value for s in self.samples if s.name == name and labels.items() <= s.labels.items()]
        if not values:
            raise AssertionError(f"no series {name}{labels} on\n{self.text}")
        return sum(values)

    def has(self, name, **labels):
        return any(s.name == name and labels.items() <= s.labels.items() for s in self.samples)


class Daemons:
    """A coordinator and workers on loopback. Use as a context; nothing is left behind."""

    def __init__(self, workers, *coordinator_flags):
        self.token = uuid.uuid4().hex
        self.environment = dict(os.environ, GG_TEST_TOKEN=self.token)
        self.folder = tempfile.TemporaryDirectory(prefix="gg-daemons-")
        self.processes = []
        coordinator = self._start("gg-coordinator", "c", "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0",
                                  *coordinator_flags)
        self.grpc, self.coordinator = coordinator["grpc"], coordinator["http"]
        self.workers = [self._start("gg-worker", f"w{i}", "--coordinator", self.grpc, "--worker-id", f"w{i}",
                                    "--threads", "1")["http"] for i in range(workers)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.folder.cleanup()
        left = processes_with(self.token)
        assert not left, f"left running: {left}"

    def _start(self, program, name, *flags):
        port_file = pathlib.Path(self.folder.name, name + ".json")
        with open(self.log_of(name), "wb") as log:
            self.processes.append(subprocess.Popen(
                [str(BIN / program), "--port-file", str(port_file), "--log-format", "json", *flags],
                env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        return wait_for(lambda: json.loads(port_file.read_text()) if port_file.exists() else None, f"{name} to serve")

    def log_of(self, name):
        return pathlib.Path(self.folder.name, name + ".log")

    def ggctl(self, *arguments, seconds=120):
        return subprocess.run([str(BIN / "ggctl"), "--server", self.grpc, *map(str, arguments)], env=self.environment,
                              capture_output=True, text=True, timeout=seconds * PATIENCE, check=True)


def wait_for(condition, what, seconds=60):
    deadline = time.monotonic() + seconds * PATIENCE
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited in vain for {what}")
