# SPDX-License-Identifier: Apache-2.0
"""Accuracy and cost of GossipGraD on a job, from real runs of ggctl on this machine.

  scripts/bench convergence workers    p = 1, 2, 3, 5, 8, 16 with the job's own settings
  scripts/bench convergence payloads   payload x overlap x p = 2, 4, 8
  scripts/bench convergence methods    every method of spec.exchange.algorithm with its named variants x p = 4, 8, 16
  scripts/bench convergence ablations  one thing of the job changed at a time x p = 4, 8, 16
Rows are kept in --out as they are measured, so that an interrupted run goes on where it stopped.
"""
import argparse
import json
import os
import pathlib
import sys

import plans
import runs
import tables

ROOT = pathlib.Path(__file__).resolve().parents[2]


def parse():
    parser = argparse.ArgumentParser(prog="scripts/bench convergence", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=sorted(plans.PLANS))
    parser.add_argument("--job", type=pathlib.Path, default=ROOT / "examples/fashion-lenet.yaml")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--workers", type=lambda text: [int(p) for p in text.split(",")])
    parser.add_argument("--algorithms", type=lambda text: text.split(","),
                        help="methods: only these, with settings as in `ggctl compare --algorithms`")
    parser.add_argument("--overlaps", type=lambda text: text.split(","), default=["layerwise", "step", "none"],
                        help="payloads: only these; none computes layerwise's values bit for bit, so accuracy alone does not need it")
    parser.add_argument("--target", type=float, default=0.88, help="accuracy that epochs are counted to")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin", help="folder of the binaries")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help="one epoch, one seed, a tenth of the data")
    parser.add_argument("-o", dest="output", choices=["json", "table"], default="table")
    args = parser.parse_args()
    workers, epochs, seeds = plans.DEFAULTS[args.what]
    args.workers = args.workers or workers
    args.epochs = args.epochs or epochs
    args.seeds = args.seeds or seeds
    if args.quick:
        args.epochs, args.seeds = 1, 1
        args.set += ["data.limit_train=6000", "data.limit_test=1000"]
    args.algorithm = runs.algorithm_of(args)
    return args


def save(path, rows):
    draft = path.with_suffix(path.suffix + ".part")
    draft.write_text(json.dumps({"results": rows}, indent=1) + "\n")
    os.replace(draft, path)


def main():
    args = parse()
    rows = json.loads(args.out.read_text())["results"] if args.out and args.out.exists() else []
    for settings in plans.PLANS[args.what](args):
        mine = [row for row in rows if row["set"] == args.set]
        if any(row["settings"] == settings for row in mine) or plans.needless(settings, mine):
            continue
        row = runs.measure(args, settings)
        if row["exit_code"] == 130:  # Ctrl-C: not a result
            return 130
        rows.append(row)
        print(json.dumps({"settings": settings, "test_accuracy": row["test_accuracy"], "exit_code": row["exit_code"]}),
              file=sys.stderr, flush=True)
        if args.out:
            save(args.out, rows)
    print(json.dumps({"results": rows}, indent=1) if args.output == "json" else tables.TABLES[args.what](rows, args.target))
    return 0 if all(row["exit_code"] == 0 for row in rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
