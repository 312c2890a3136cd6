# SPDX-License-Identifier: Apache-2.0
"""PyTorch DistributedDataParallel over gloo on the same hosts: starts one ddp_peer.py on each worker's host."""
import json
import os
import pathlib
import subprocess
import tempfile
import time

import processes

PORT = 29500


def problem(python):
    """Why `python` cannot be the peer; "" when it can."""
    code = "import numpy, torch.distributed as d; assert d.is_available() and d.is_gloo_available()"
    try:
        done = subprocess.run([python, "-c", code], text=True, capture_output=True)
    except OSError as error:
        return str(error)
    return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def run(net, python, spec, more, timeout):
    """What rank 0 prints as JSON, or a reason why there is nothing."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="eth0")
    world = net.hosts - 1
    peer = pathlib.Path(__file__).with_name("ddp_peer.py")
    children = []
    with tempfile.TemporaryDirectory(prefix="gg-shaped-ddp-") as folder:
        out = pathlib.Path(folder) / "result.json"
        try:
            for rank in range(world):
                command = [*net.inside(rank + 1), python, str(peer), "--rank", str(rank), "--world", str(world),
                           "--master", f"{net.address(1)}:{PORT}", "--spec", json.dumps(spec), "--out", str(out)]
                for name, value in more.items():
                    command += [f"--{name}", str(value)]
                children.append(processes.start(command, pathlib.Path(folder) / f"{rank}.log", env=environment))
            deadline = time.monotonic() + timeout
            while any(child.poll() is None for child in children):
                if time.monotonic() > deadline:
                    return None, f"still running after {timeout} s"
                if any(child.poll() for child in children):
                    break  # the others would wait for it
                time.sleep(0.1)
        finally:
            processes.end(children)
        for rank, child in enumerate(children):
            if child.returncode > 0:
                words = (pathlib.Path(folder) / f"{rank}.log").read_text(errors="replace").strip().splitlines()
                return None, f"rank {rank}: {words[-1] if words else f'exit code {child.returncode}'}"
        if not out.exists():
            return None, "ended without a result"
        return json.loads(out.read_text()), ""
