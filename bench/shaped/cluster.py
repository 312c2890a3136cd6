# SPDX-License-Identifier: Apache-2.0
"""Real daemons on the hosts of a Net: the coordinator on host 0, whose link stays unshaped, a worker on each other host."""
import json
import pathlib
import tempfile
import time

import processes

PORT = 7070


class NotStarted(Exception):
    """A daemon did not come up; the text has the last words of all."""


class Cluster:
    def __init__(self, net, bin_folder):
        self.net = net
        self.bin = bin_folder
        self.children = []
        self.jobs = 0

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="gg-shaped-")
        try:
            logs = pathlib.Path(self.folder.name)
            server = f"{self.net.address(0)}:{PORT}"
            self.children.append(processes.start(
                [*self.net.inside(0), str(self.bin / "gg-coordinator"), "--listen", server, "--http-listen", "127.0.0.1:0",
                 "--store", ":memory:", "--insecure"], logs / "coordinator.log"))
            for host in range(1, self.net.hosts):
                self.children.append(processes.start(
                    [*self.net.inside(host), str(self.bin / "gg-worker"), "--coordinator", server, "--worker-id", f"worker-{host - 1}",
                     "--listen", f"{self.net.address(host)}:0", "--threads", "1", "--insecure"], logs / f"worker-{host - 1}.log"))
            self.wait_for_workers(server)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        processes.end(self.children)
        self.folder.cleanup()

    def ggctl(self, *arguments, timeout):
        return processes.output([*self.net.inside(0), str(self.bin / "ggctl"), "--server", f"{self.net.address(0)}:{PORT}", *arguments],
                                timeout)

    def wait_for_workers(self, server, seconds=30):
        deadline = time.monotonic() + seconds
        error = ""
        while time.monotonic() < deadline:
            code, out, error = self.ggctl("get", "workers", "-o", "json", timeout=15)
            if code == 0 and len(json.loads(out)["items"]) == self.net.hosts - 1:
                return
            time.sleep(0.2)
        raise NotStarted(f"the workers did not register at {server}: {error.strip()}; {self.last_words()}")

    def last_words(self):
        words = [f"{log.stem}: {log.read_text(errors='replace').strip().splitlines()[-1:]}"
                 for log in sorted(pathlib.Path(self.folder.name).glob("*.log"))]
        return "; ".join(words)

    def run(self, job, settings, timeout):
        """The status of the finished job as JSON, or a reason why there is none."""
        self.jobs += 1
        command = ["submit", "-f", str(job), "--name", f"shaped-{self.jobs}", "--wait", "--timeout", str(timeout), "-o", "json"]
        for path, value in settings.items():
            command += ["--set", f"{path}={value}"]
        code, out, err = self.ggctl(*command, timeout=timeout + 30)
        if code == 124:  # it still holds the workers
            self.ggctl("cancel", f"shaped-{self.jobs}", timeout=15)
        try:
            status = json.loads(out)["status"]
        except (json.JSONDecodeError, KeyError, TypeError):
            return None, " ".join(err.split())[-300:]
        return (status, "") if code == 0 else (None, status["reason"] or f"exit code {code}")
