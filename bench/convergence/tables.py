# SPDX-License-Identifier: Apache-2.0
"""Rows of runs as Markdown tables, one line per setting, seeds averaged."""
import re
import statistics


def mean(values):
    values = [value for value in values if value is not None]
    return statistics.fmean(values) if values else float("nan")


def number(value, digits):
    return "-" if value != value else f"{value:.{digits}f}"


def groups_of(rows, key):
    groups = {}
    for row in rows:
        groups.setdefault(key(row["settings"]), []).append(row)
    return groups


def failed(group):
    good = [row for row in group if row["exit_code"] == 0]
    return good, f"{len(good)} ({len(group) - len(good)} failed)" if len(good) < len(group) else str(len(good))


def reason_of(group):
    text = " ".join(str(next(row.get("reason") for row in group if row["exit_code"] != 0)).split())
    diverged = re.search(r"(step \d+): the training loss is nan", text)
    return f"diverged at {diverged[1]}" if diverged else text


def epochs_to(row, target):
    """Epochs until the replicas first reached the target on their slices of the test set; None = never."""
    for point in row.get("curve") or []:
        if point["test_accuracy"] is not None and point["test_accuracy"] >= target:
            return point["epoch"]
    return None


def by_payload(rows, _):
    groups = groups_of(rows, lambda s: (s.get("exchange.payload", "default"), s.get("exchange.overlap", "default"), s["workers"],
                                        s["train.epochs"]))
    lines = ["| p | payload | overlap | epochs | seeds | accuracy % (min..max) | replicas % | consensus distance | samples/s | wait % "
             "| messages, bytes per step | skipped |",
             "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for (payload, overlap, workers, epochs), group in sorted(groups.items()):
        good, count = failed(group)
        if not good:
            lines.append(f"| {workers} | {payload} | {overlap} | {epochs} | {count} | {reason_of(group)} | | | | | | |")
            continue
        accuracy = [100 * row["test_accuracy"] for row in good]
        replicas = [100 * value for row in good for value in row["replica_accuracy"]]
        lines.append(
            f"| {workers} | {payload} | {overlap} | {epochs} | {count} | {mean(accuracy):.2f} ({min(accuracy):.2f}..{max(accuracy):.2f}) "
            f"| {min(replicas):.2f}..{max(replicas):.2f} | {mean([r['consensus_distance'] for r in good]):.3f} "
            f"| {mean([r['samples_per_second'] for r in good]):.0f} | {100 * mean([r['comm_wait_ratio'] for r in good]):.1f} "
            f"| {mean([r['messages_per_step'] for r in good]):.2f}, {mean([r['sent_bytes_per_step'] for r in good]):.0f} "
            f"| {sum(r['skipped_exchanges'] for r in good)} |")
    return "\n".join(lines)


def by_method(rows, target):
    """In the order in which the methods were first measured."""
    order = {}
    for row in rows:
        order.setdefault(row["settings"]["method"], len(order))
    groups = groups_of(rows, lambda s: (s["workers"], order[s["method"]], s["method"], s["train.epochs"]))
    lines = [f"| p | method | epochs | seeds | final accuracy % (deviation) | epochs to {100 * target:g} % | bytes per step | messages per step "
             "| consensus distance | wait % |",
             "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for (workers, _, method, epochs), group in sorted(groups.items()):
        good, count = failed(group)
        if not good:
            lines.append(f"| {workers} | {method} | {epochs} | {count} | {reason_of(group)} | | | | | |")
            continue
        accuracy = [100 * row["test_accuracy"] for row in good if row["test_accuracy"] is not None]
        deviation = f" ({statistics.stdev(accuracy):.2f})" if len(accuracy) > 1 else ""
        reached = [epoch for epoch in (epochs_to(row, target) for row in good) if epoch is not None]
        part = f" ({len(reached)} of {len(good)})" if reached and len(reached) < len(good) else ""
        distance = mean([r["consensus_distance"] for r in good])
        lines.append(
            f"| {workers} | {method} | {epochs} | {count} | {number(mean(accuracy), 2)}{deviation} | {number(mean(reached), 1)}{part} "
            f"| {mean([r['sent_bytes_per_step'] for r in good]):,.0f} | {mean([r['messages_per_step'] for r in good]):.2f} "
            f"| {'-' if distance != distance else f'{distance:.2g}'} | {100 * mean([r['comm_wait_ratio'] for r in good]):.1f} |")
    return "\n".join(lines)


TABLES = {"workers": by_payload, "payloads": by_payload, "methods": by_method, "ablations": by_method}
