# SPDX-License-Identifier: Apache-2.0
"""A star of network namespaces: a bridge in one of its own, and a host at the end of each veth pair.

Everything is named gg-shaped-PID-..., and what a killed run left is removed by the next one.
"""
import os
import re
import subprocess

PREFIX = "gg-shaped"
SUBNET = "10.119.0"
# The bucket holds what passes in 4 ms, one tick of the kernel's clock: with less tbf cannot reach its rate. Behind it 100 ms wait
# before anything is dropped, as in a switch with a buffer of about a message.
BURST_SECONDS = 0.004
QUEUE_MS = 100
LEAST_BURST = 64_000  # one packet as TCP hands it down


class Unavailable(Exception):
    """This machine cannot do it; the text says what is missing."""


def tool(*command):
    done = subprocess.run(command, text=True, capture_output=True)
    if done.returncode != 0:
        raise Unavailable(f"`{' '.join(command)}` failed: {done.stderr.strip() or done.returncode}")
    return done.stdout


def check():
    if os.geteuid() != 0:
        raise Unavailable("network namespaces need root: run scripts/bench shaped as root")
    for name in ("ip", "tc"):
        try:
            subprocess.run([name, "-V"], capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            raise Unavailable(f"`{name}` is missing: install iproute2") from None


def remove_abandoned():
    for line in tool("ip", "netns", "list").splitlines():
        name = line.split(" ")[0]
        match = re.fullmatch(PREFIX + r"-(\d+)-\w+", name)
        if match and not os.path.exists(f"/proc/{match[1]}"):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


class Net:
    """with Net(3) as net: hosts 0, 1, 2, of which `net.inside(i)` is the beginning of a command line in host i."""

    def __init__(self, hosts):
        self.hosts = hosts
        self.made = []

    def name(self, host):
        return f"{PREFIX}-{os.getpid()}-{'bridge' if host is None else f'h{host}'}"

    def address(self, host):
        return f"{SUBNET}.{host + 1}"

    def inside(self, host):
        return ["ip", "netns", "exec", self.name(host)]

    def make(self, host):
        name = self.name(host)
        tool("ip", "netns", "add", name)
        self.made.append(name)
        tool("ip", "-n", name, "link", "set", "lo", "up")
        return name

    def __enter__(self):
        try:
            remove_abandoned()
            bridge = self.make(None)
            tool("ip", "-n", bridge, "link", "add", "br0", "type", "bridge")
            tool("ip", "-n", bridge, "link", "set", "br0", "up")
            for host in range(self.hosts):
                name = self.make(host)
                # Both ends are made where they belong: nothing ever appears in the machine's own namespace.
                tool("ip", "-n", bridge, "link", "add", f"to{host}", "type", "veth", "peer", "name", "eth0", "netns", name)
                tool("ip", "-n", bridge, "link", "set", f"to{host}", "master", "br0", "up")
                tool("ip", "-n", name, "address", "add", f"{self.address(host)}/24", "dev", "eth0")
                tool("ip", "-n", name, "link", "set", "eth0", "up")
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    def remove(self):
        while self.made:
            subprocess.run(["ip", "netns", "del", self.made.pop()], capture_output=True)

    def shape(self, host, mbit):
        """Limits the link of a host in both directions."""
        burst = max(LEAST_BURST, int(mbit * 1e6 / 8 * BURST_SECONDS))
        for namespace, device in ((self.name(host), "eth0"), (self.name(None), f"to{host}")):
            tool("tc", "-n", namespace, "qdisc", "replace", "dev", device, "root", "tbf", "rate", f"{mbit}mbit", "burst", str(burst),
                 "latency", f"{QUEUE_MS}ms")
