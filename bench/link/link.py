#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs gg-bench-link for every transport and size, interleaved, and prints medians. Called by scripts/bench link."""
import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys

OWN = ["grpc-tcp", "grpc-unix", "raw-tcp"]
MPI = "openmpi-tcp"
FIGURES = ["gb_per_second", "cpu_seconds_per_gb", "latency_us"]


def command(args, transport, size, seconds):
    if transport != MPI:
        return [os.path.join(args.bin, "gg-bench-link"), "--transport", transport, "--bytes", str(size), "--seconds", str(seconds)]
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "-mca", "btl", "tcp,self", "-mca", "btl_tcp_if_include", "lo",
            "-mca", "btl_base_warn_component_unused", "0", os.path.join(args.bin, "gg-bench-link-mpi"), str(size), str(seconds)]


def measure(args, transport, size, seconds):
    try:
        done = subprocess.run(command(args, transport, size, seconds), capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        sys.exit(f"bench link: {transport} with {size} bytes did not end within 120 s")
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        sys.exit(f"bench link: {transport} with {size} bytes failed ({done.returncode}):\n{done.stderr.strip()}")
    return json.loads(lines[-1])


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench link", description="Links between two processes: throughput, CPU time, latency.")
    parser.add_argument("--bin", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="fewer sizes and rounds (about 20 s)")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    args = parser.parse_args()
    sizes = [1024, 1_000_000, 25_000_000] if args.quick else [1024, 64_000, 1_000_000, 25_000_000, 100_000_000]
    rounds, seconds = (3, 0.3) if args.quick else (7, 0.5)
    transports = list(OWN)
    if shutil.which("mpirun") and os.path.exists(os.path.join(args.bin, "gg-bench-link-mpi")):
        transports.append(MPI)
    else:
        print("bench link: OpenMPI is not installed, measured without it", file=sys.stderr)
    runs = {}
    for number in range(rounds):
        for size in sizes:
            for transport in transports:
                print(f"round {number + 1}/{rounds}: {transport} {size}", file=sys.stderr)
                runs.setdefault((transport, size), []).append(measure(args, transport, size, seconds))
    results = []
    for size in sizes:
        for transport in transports:
            row = {"transport": transport, "bytes": size}
            for figure in FIGURES:
                row[figure] = round(statistics.median(run[figure] for run in runs[transport, size]), 4)
            results.append(row)
    if args.output == "json":
        host = {"cpus": os.cpu_count(), "machine": platform.machine(), "kernel": platform.release(), "load": os.getloadavg()[0]}
        print(json.dumps({"benchmark": "link", "rounds": rounds, "seconds": seconds, "host": host, "results": results}, indent=1))
        return
    print(f"{'transport':<12} {'bytes':>10} {'GB/s':>8} {'CPU s/GB':>9} {'one way us':>11}")
    for row in results:
        print(f"{row['transport']:<12} {row['bytes']:>10} {row['gb_per_second']:>8.3f} {row['cpu_seconds_per_gb']:>9.3f} {row['latency_us']:>11.1f}")


if __name__ == "__main__":
    main()
