# SPDX-License-Identifier: Apache-2.0
"""One setting as a real run. `ggctl compare` with a single method is used because it gives the curve beside the outcome."""
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]

KEEP = ("state", "workers", "steps", "epochs", "test_accuracy", "replica_accuracy", "train_loss", "samples_per_second",
        "sent_bytes_per_step", "messages_per_step", "comm_wait_ratio", "consensus_distance", "skipped_exchanges",
        "train_seconds", "model_checksum", "curve")


def algorithm_of(args):
    """The method of the job itself, for settings that name none."""
    done = subprocess.run([str(args.bin / "ggctl"), "validate", "-f", str(args.job), "-o", "json"], text=True, check=True,
                          stdout=subprocess.PIPE)
    return json.loads(done.stdout)["spec"]["exchange"]["algorithm"]


def measure(args, settings):
    command = [str(args.bin / "ggctl"), "compare", "-f", str(args.job), "-o", "json", "--workers", str(settings["workers"]),
               "--algorithms", settings.get("exchange.algorithm", args.algorithm), "--target", str(args.target)]
    if "group" in settings:
        racks = ",".join(str(rank // settings["group"]) for rank in range(settings["workers"]))
        command += ["--topology", f"rack={racks}", "--set", "exchange.topology=rack"]
    for path, value in settings.items():
        if path == "exchange.graph_file":
            value = ROOT / value  # plans name files of this project
        if path not in ("workers", "method", "group", "exchange.algorithm"):
            command += ["--set", f"{path}={value}"]
    for extra in args.set:
        command += ["--set", extra]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        result = json.loads(done.stdout)["results"][0]
    except (json.JSONDecodeError, IndexError):
        result = {"state": "Failed", "reason": done.stderr[-500:]}
    row = {"settings": settings, "set": args.set, "exit_code": done.returncode}
    row.update({key: result.get(key) for key in KEEP})
    if done.returncode != 0:
        row["reason"] = result.get("reason")
    return row
