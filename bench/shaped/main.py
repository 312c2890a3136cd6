# SPDX-License-Identifier: Apache-2.0
"""Methods over links of a limited rate: every worker in a network namespace of its own, joined by veth pairs to a bridge.

  scripts/bench shaped [--quick] [--rates 100,200,500] [--workers 2,4,8] [--algorithms a,b] [--peer-python PY|none] [-o table|json]

tbf limits each worker's link to the rate in both directions; the coordinator's link is not limited. The daemons are the real ones,
with one compute thread each, and the job is handed in by ggctl. PyTorch DistributedDataParallel (gloo, CPU, the same model, batch
and rates, one thread each) runs over the same links in the same rounds. `none` is the floor: the same steps without exchange. Then,
at one rate, gossip-grad and PyTorch train to a test accuracy. The sample ring is off, because PyTorch has none.

Needs root and iproute2; nothing is left behind. Exit codes: 0 all measured, 1 some were not, 2 the command line is wrong, 3 this
machine cannot do it, 130 interrupted.
"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys

import cluster
import ddp
import net
import tables

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLOOR = "none"
PEER = "pytorch-ddp"
LONGEST_TIMING = 600  # seconds
LONGEST_TRAINING = 7200


def numbers(text):
    values = [int(value) for value in text.split(",")]
    if not all(value > 0 for value in values):
        raise argparse.ArgumentTypeError("must be above zero")
    return values


def parse():
    parser = argparse.ArgumentParser(prog="scripts/bench shaped", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--job", type=pathlib.Path, default=ROOT / "examples/fashion-lenet.yaml")
    parser.add_argument("--rates", type=numbers, default=[100, 200, 500], help="Mbit/s")
    parser.add_argument("--workers", type=numbers, default=[2, 4, 8])
    parser.add_argument("--algorithms", type=lambda text: text.split(","),
                        default=["allreduce", "allreduce-layerwise", "reduce-scatter", "cocod", "gosgd", "gossip-grad"])
    parser.add_argument("--steps", type=int, default=100, help="steps of one timing")
    parser.add_argument("--rounds", type=int, default=3, help="timings of each method, interleaved; medians count; 0 = leave them out")
    parser.add_argument("--target", type=float, default=0.88)
    parser.add_argument("--target-rate", type=int, default=200, help="Mbit/s")
    parser.add_argument("--target-workers", type=int, default=4)
    parser.add_argument("--target-epochs", type=int, default=10, help="at most; 0 = leave the training out")
    parser.add_argument("--target-seeds", type=int, default=3, help="trainings of each; the whole epochs that each needs vary")
    parser.add_argument("--peer-python", default="/usr/bin/python3", help="a Python with torch and numpy; none = no peer")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin", help="folder of the binaries")
    parser.add_argument("--quick", action="store_true", help="one rate, two workers, one round, few steps, no training")
    parser.add_argument("-o", dest="output", choices=["json", "table"], default="table")
    args = parser.parse_args()
    if args.quick:
        args.rates, args.workers, args.rounds, args.steps, args.target_epochs = args.rates[:1], args.workers[:1], 1, 30, 0
    if min(args.steps, args.target_seeds) < 1 or min(args.rounds, args.target_epochs) < 0:
        parser.error("--steps and --target-seeds must be above zero, --rounds and --target-epochs not below")
    if max([*args.workers, args.target_workers]) > 200:
        parser.error("at most 200 workers")
    if args.peer_python != "none":
        why = ddp.problem(args.peer_python)
        if why:
            parser.error(f"--peer-python {args.peer_python}: {why}; install python3-torch (Debian), or torch and numpy into a virtual "
                         "environment outside the tree, or give `none`")
    return args


def say(text):
    print(text, file=sys.stderr, flush=True)


def spec_of(args):
    done = subprocess.run([str(args.bin / "ggctl"), "validate", "-f", str(args.job), "-o", "json"], text=True, stdout=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(2)
    return json.loads(done.stdout)["spec"]


def common(workers):
    return {"workers.min": workers, "workers.max": workers, "workers.threads": 1, "data.exchange": "none"}


def time_ours(args, running, workers, method):
    settings = {**common(workers), "exchange.algorithm": method, "train.max_steps": args.steps, "train.evaluate_every_epochs": 0,
                "exchange.final_average": "false", "data.limit_test": 1000}
    status, reason = running.run(args.job, settings, LONGEST_TIMING)
    if status is None:
        return None, reason
    result = status["result"]
    return {"step_seconds": result["train_seconds"] / result["steps"], "exposed": result["comm_wait_ratio"],
            "samples_per_second": result["samples_per_second"], "sent_bytes_per_step": result["sent_bytes_per_step"]}, ""


def time_at(args, spec, star, running, workers, mbit):
    """One row for each method: medians over the rounds, in which all methods take turns."""
    methods = [FLOOR] + [method for method in args.algorithms if method != FLOOR]
    methods += [PEER] if args.peer_python != "none" else []
    timings, reasons = {method: [] for method in methods}, {}
    for number in range(args.rounds):
        for method in methods:
            if method in reasons:
                continue  # it does not get better
            if method == PEER:
                timing, reason = ddp.run(star, args.peer_python, spec, {"steps": args.steps}, LONGEST_TIMING)
            else:
                timing, reason = time_ours(args, running, workers, method)
            if timing is None:
                reasons[method] = reason
            else:
                timings[method].append(timing)
            say(f"p={workers} {mbit} Mbit/s round {number + 1} {method}: "
                + (reason if timing is None else f"{1e3 * timing['step_seconds']:.1f} ms per step"))

    def median(method, key):
        values = [timing[key] for timing in timings[method] if timing.get(key) is not None]
        return statistics.median(values) if values else None

    return [{"workers": workers, "mbit": mbit, "method": method, "step_seconds": median(method, "step_seconds"),
             # PyTorch's floor is its own.
             "floor_seconds": median(method, "floor_seconds") if method == PEER else median(FLOOR, "step_seconds"),
             "exposed": median(method, "exposed"), "samples_per_second": median(method, "samples_per_second"),
             "sent_bytes_per_step": median(method, "sent_bytes_per_step"), "rounds": len(timings[method]),
             "reason": reasons.get(method, "")} for method in methods]


def first_at(curve, target):
    return next((point for point in curve if (point["test_accuracy"] or 0) >= target), None)


def train_ours(args, running, method, seed):
    settings = {**common(args.target_workers), "exchange.algorithm": method, "train.epochs": args.target_epochs,
                "train.evaluate_every_epochs": 1, "train.seed": seed}
    status, reason = running.run(args.job, settings, LONGEST_TRAINING)
    row = {"seed": seed, "method": method, "seconds": None, "epochs": None, "accuracy": None, "reason": reason}
    if status is None:
        return row
    curve = status["progress"]["curve"]
    point = first_at(curve, args.target)
    if point is None:
        return {**row, "accuracy": curve[-1]["test_accuracy"], "reason": "not reached"}
    return {**row, "accuracy": point["test_accuracy"], "seconds": point["seconds"], "epochs": point["epoch"]}


def train_peer(args, spec, star, seed):
    seeded = {**spec, "train": {**spec["train"], "seed": seed}}
    result, reason = ddp.run(star, args.peer_python, seeded, {"epochs": args.target_epochs, "target": args.target}, LONGEST_TRAINING)
    row = {"seed": seed, "method": PEER, "seconds": None, "epochs": None, "accuracy": None, "reason": reason}
    if result is None:
        return row
    row["accuracy"] = result["accuracy"]
    if result["reached"] is None:
        return {**row, "reason": "not reached"}
    return {**row, **result["reached"]}


def train_to_target(args, spec):
    with net.Net(args.target_workers + 1) as star, cluster.Cluster(star, args.bin) as running:
        for host in range(1, star.hosts):
            star.shape(host, args.target_rate)
        rows = []
        for seed in range(1, args.target_seeds + 1):
            rows.append(train_ours(args, running, "gossip-grad", seed))
            if args.peer_python != "none":
                rows.append(train_peer(args, spec, star, seed))
            for row in rows[-2 if args.peer_python != "none" else -1:]:
                say(f"seed {seed}: {row['method']} to {args.target:g}: {row['seconds']} s, {row['epochs']} epochs")

    def total(method, key):
        values = [row[key] for row in rows if row["method"] == method]
        return sum(values) if values and all(values) else None

    ours, peer = total("gossip-grad", "seconds"), total(PEER, "seconds")
    factor = epoch_factor = None
    if ours and peer:
        factor = peer / ours
        epoch_factor = factor * total("gossip-grad", "epochs") / total(PEER, "epochs")
    return {"target": args.target, "workers": args.target_workers, "mbit": args.target_rate, "rows": rows, "factor": factor,
            "epoch_factor": epoch_factor}


def stop(number, _):
    raise KeyboardInterrupt(number)


def main():
    args = parse()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, stop)
    rows, trained = [], None
    try:
        net.check()
        spec = spec_of(args)
        for workers in args.workers if args.rounds > 0 else []:
            with net.Net(workers + 1) as star, cluster.Cluster(star, args.bin) as running:
                for mbit in args.rates:
                    for host in range(1, star.hosts):
                        star.shape(host, mbit)
                    rows += time_at(args, spec, star, running, workers, mbit)
        trained = train_to_target(args, spec) if args.target_epochs > 0 else None
    except net.Unavailable as error:
        say(f"error: {error}")
        return 3
    except cluster.NotStarted as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted: all processes and namespaces are gone")
        return 130
    if args.output == "json":
        print(json.dumps({"cpus": os.cpu_count(), "steps": rows, "training": trained}, indent=1))
    else:
        print(tables.steps(rows))
        if trained:
            print("\n" + tables.target(trained))
    complete = all(not row["reason"] for row in [*rows, *(trained["rows"] if trained else [])])
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
