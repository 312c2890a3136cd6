# SPDX-License-Identifier: Apache-2.0
"""What is measured: lists of settings. A setting is {"workers": p, path of the job: value, ...}; "method" names a variant in tables,
"group": n puts n workers each into a rack.

The methods are those that the binary knows; a method with named variants has them here, all others run as they are.
"""
import json
import subprocess

# The linear rule suits methods in which an update is soon a mean over all workers. Where workers go on alone for long,
# each takes its own noisy steps at p times the base rate: those that diverge with that are measured with the root rule too.
ROOT_RATE = {"learning_rate.scaling": "sqrt"}
WITH_ROOT_RATE = ", root rate"

# method -> {name: settings}; the first is the method as its defaults have it.
VARIANTS = {
    "cocod": {"cocod": {}, "cocod" + WITH_ROOT_RATE: ROOT_RATE},
    "gosgd": {"gosgd": {}, "gosgd" + WITH_ROOT_RATE: ROOT_RATE},
    "sgp": {"sgp": {}, "sgp overlapped": {"exchange.overlap": "step"}},
    "easgd": {"easgd": {}, "easgd synchronous": {"exchange.asynchronous": "false"},
              "eamsgd": {"optimizer.nesterov": "true"}, "easgd" + WITH_ROOT_RATE: ROOT_RATE},
}

# One thing changed at a time, against the job as it is.
ABLATIONS = {
    "as it is": {},
    "hypercube": {"exchange.schedule": "hypercube"},
    "ring schedule": {"exchange.schedule": "ring"},
    "exponential schedule": {"exchange.schedule": "exponential"},
    "random pairs": {"exchange.schedule": "random"},
    "groups of two": {"exchange.schedule": "hierarchical", "group": 2},
    "graph of a file": {"exchange.schedule": "graph", "exchange.graph_file": "examples/torus-8.graph"},
    "rotation off": {"exchange.rotate": "false"},
    "sample ring off": {"data.exchange": "none"},
    "weights and momentum": {"exchange.payload": "weights-momentum"},
    "gradients": {"exchange.payload": "gradients"},
    "overlap by step": {"exchange.overlap": "step"},
    "overlap off": {"exchange.overlap": "none"},
    "bf16": {"exchange.encoding": "bf16"},
    "int8": {"exchange.encoding": "int8"},
    "gradients, topk 1 %, average every 8": {"exchange.payload": "gradients", "exchange.encoding": "topk",
                                             "exchange.average_every": 8},
}

DEFAULTS = {  # what: (workers, epochs, seeds)
    "workers": ([1, 2, 3, 5, 8, 16], 10, 1),
    "payloads": ([2, 4, 8], 5, 3),
    "methods": ([4, 8, 16], 10, 3),
    "ablations": ([4, 8, 16], 10, 3),
}


def known_methods(ggctl):
    """The values of spec.exchange.algorithm, as `ggctl explain` has them."""
    done = subprocess.run([str(ggctl), "explain", "spec.exchange.algorithm", "-o", "json"], text=True, check=True,
                          capture_output=True)
    return json.loads(done.stdout)["items"][0]["values"]


def base(args, workers, seed):
    return {"workers": workers, "train.epochs": args.epochs, "train.seed": seed}


def named(args, variants):
    """variants: {name: settings}, each with every number of workers and every seed."""
    plan = []
    for seed in range(1, args.seeds + 1):
        for workers in args.workers:
            for name, settings in variants.items():
                # A hypercube needs a power of two, a graph the workers that it names.
                schedule = settings.get("exchange.schedule")
                if schedule == "hypercube" and workers & (workers - 1) or schedule == "graph" and workers != 8:
                    continue
                plan.append({**base(args, workers, seed), "method": name, **settings})
    return plan


def methods(args):
    chosen = args.algorithms or known_methods(args.bin / "ggctl")
    variants = {}
    for method in chosen:
        name, _, more = method.partition(":")
        if more:  # as in `ggctl compare --algorithms`
            pairs = (part.partition("=") for part in more.split(":"))
            variants[method] = {"exchange.algorithm": name,
                                **{path if "." in path else f"exchange.{path}": value for path, _, value in pairs}}
            continue
        for variant, settings in VARIANTS.get(name, {name: {}}).items():
            variants[variant] = {"exchange.algorithm": name, **settings}
    return named(args, variants)


def needless(settings, rows):
    """Whether the method was measured with the linear rule and did not diverge, so that its root rate says nothing."""
    method = settings.get("method", "")
    if not method.endswith(WITH_ROOT_RATE):
        return False
    linear = {key: value for key, value in settings.items() if key not in ROOT_RATE}
    linear["method"] = method.removesuffix(WITH_ROOT_RATE)
    return any(row["settings"] == linear and row["exit_code"] == 0 for row in rows)


def ablations(args):
    return named(args, ABLATIONS)


def workers(args):
    return [base(args, p, seed) for seed in range(1, args.seeds + 1) for p in args.workers]


def payloads(args):
    seeds = range(1, args.seeds + 1)
    plan = [base(args, 1, seed) for seed in seeds]
    for seed in seeds:
        for p in args.workers:
            for payload in ("weights-momentum", "weights", "gradients"):
                for overlap in args.overlaps:
                    plan.append({**base(args, p, seed), "exchange.payload": payload, "exchange.overlap": overlap})
    return plan


PLANS = {"workers": workers, "payloads": payloads, "methods": methods, "ablations": ablations}
