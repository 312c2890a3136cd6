# SPDX-License-Identifier: Apache-2.0
"""Accuracy and cost of GossipGraD on the example job, from real runs of `ggctl local run`.

  scripts/bench convergence workers   [--epochs 10] [--seeds 1]     p = 1, 2, 3, 5, 8, 16 with the example's settings
  scripts/bench convergence payloads  [--epochs 5]  [--seeds 3]     payload x overlap x p = 2, 4, 8
Common: [--job FILE] [--workers 2,4] [--overlaps layerwise,step] [--out FILE.json] [--set path=value]... [--quick] [-o json|table]
Rows are appended to --out as they are measured, so that an interrupted run goes on where it stopped.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEEP = ("state", "workers", "steps", "epochs", "test_accuracy", "replica_accuracy", "train_loss", "samples_per_second",
        "sent_bytes_per_step", "messages_per_step", "comm_wait_ratio", "consensus_distance", "skipped_exchanges",
        "train_seconds", "model_checksum")


def measure(args, settings):
    command = [str(args.bin / "ggctl"), "local", "run", "-f", str(args.job), "-o", "json",
               "--workers", str(settings["workers"])]
    for path, value in settings.items():
        if path != "workers":
            command += ["--set", f"{path}={value}"]
    for extra in args.set:
        command += ["--set", extra]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        result = json.loads(done.stdout)
    except json.JSONDecodeError:
        result = {"state": "FAILED", "reason": done.stderr[-500:]}
    row = {"settings": settings, "set": args.set, "exit_code": done.returncode}
    row.update({key: result.get(key) for key in KEEP})
    if done.returncode != 0:
        row["reason"] = result.get("reason")
    return row


def plan(args):
    seeds = range(1, args.seeds + 1)
    if args.what == "workers":
        workers = args.workers or [1, 2, 3, 5, 8, 16]
        return [{"workers": p, "train.epochs": args.epochs, "train.seed": s} for s in seeds for p in workers]
    workers = args.workers or [2, 4, 8]
    settings = [{"workers": 1, "train.epochs": args.epochs, "train.seed": s} for s in seeds]
    for seed in seeds:
        for p in workers:
            for payload in ("weights-momentum", "weights", "gradients"):
                for overlap in args.overlaps:
                    settings.append({"workers": p, "train.epochs": args.epochs, "train.seed": seed,
                                     "exchange.payload": payload, "exchange.overlap": overlap})
    return settings


def mean(values):
    return statistics.fmean(values) if values else float("nan")


def table(rows):
    """One line per setting, seeds averaged."""
    groups = {}
    for row in rows:
        key = (row["settings"]["workers"], row["settings"].get("exchange.payload", "default"),
               row["settings"].get("exchange.overlap", "default"), row["settings"]["train.epochs"])
        groups.setdefault(key, []).append(row)
    lines = ["| p | payload | overlap | epochs | seeds | accuracy % (min..max) | replicas % | consensus distance | samples/s | wait % | messages, bytes per step | skipped |",
             "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for (workers, payload, overlap, epochs), group in sorted(groups.items(), key=lambda item: (item[0][1], item[0][2], item[0][0])):
        good = [row for row in group if row["exit_code"] == 0]
        if not good:
            lines.append(f"| {workers} | {payload} | {overlap} | {epochs} | {len(group)} | failed: {group[0].get('reason')} | | | | | | |")
            continue
        accuracy = [100 * row["test_accuracy"] for row in good]
        replicas = [100 * value for row in good for value in row["replica_accuracy"]]
        failed = f" ({len(group) - len(good)} failed)" if len(good) < len(group) else ""
        lines.append(
            f"| {workers} | {payload} | {overlap} | {epochs} | {len(good)}{failed} | {mean(accuracy):.2f} ({min(accuracy):.2f}..{max(accuracy):.2f}) "
            f"| {min(replicas):.2f}..{max(replicas):.2f} | {mean([r['consensus_distance'] for r in good]):.3f} "
            f"| {mean([r['samples_per_second'] for r in good]):.0f} | {100 * mean([r['comm_wait_ratio'] for r in good]):.1f} "
            f"| {mean([r['messages_per_step'] for r in good]):.2f}, {mean([r['sent_bytes_per_step'] for r in good]):.0f} "
            f"| {sum(r['skipped_exchanges'] for r in good)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench convergence", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["workers", "payloads"])
    parser.add_argument("--job", type=pathlib.Path, default=ROOT / "examples/fashion-lenet.yaml")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--workers", type=lambda text: [int(p) for p in text.split(",")])
    parser.add_argument("--overlaps", type=lambda text: text.split(","), default=["layerwise", "step", "none"],
                        help="none computes layerwise's values bit for bit, so accuracy alone does not need it")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin", help="folder of the binaries")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help="one epoch, one seed, a tenth of the data")
    parser.add_argument("-o", dest="output", choices=["json", "table"], default="table")
    args = parser.parse_args()
    args.epochs = args.epochs or (10 if args.what == "workers" else 5)
    args.seeds = args.seeds or (1 if args.what == "workers" else 3)
    if args.quick:
        args.epochs, args.seeds = 1, 1
        args.set += ["data.limit_train=6000", "data.limit_test=1000"]

    rows = []
    if args.out and args.out.exists():
        rows = json.loads(args.out.read_text())["results"]
    for settings in plan(args):
        if any(row["settings"] == settings and row["set"] == args.set for row in rows):
            continue
        rows.append(measure(args, settings))
        print(json.dumps({"settings": settings, "test_accuracy": rows[-1]["test_accuracy"], "exit_code": rows[-1]["exit_code"]}),
              file=sys.stderr, flush=True)
        if args.out:
            args.out.write_text(json.dumps({"results": rows}, indent=1) + "\n")
    print(json.dumps({"results": rows}, indent=1) if args.output == "json" else table(rows))
    return 0 if all(row["exit_code"] == 0 for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
