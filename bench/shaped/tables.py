# SPDX-License-Identifier: Apache-2.0
"""Rows of measurements as Markdown."""


def cell(value, factor, digits):
    return "-" if value is None else f"{value * factor:.{digits}f}"


def steps(rows):
    """For each rate a table of methods by workers: milliseconds of a step, those above the floor, and the share that is waiting."""
    sizes = sorted({row["workers"] for row in rows})
    methods = list(dict.fromkeys(row["method"] for row in rows))
    by_key = {(row["mbit"], row["method"], row["workers"]): row for row in rows}
    parts = []
    for mbit in sorted({row["mbit"] for row in rows}):
        lines = [f"{mbit} Mbit/s: step in ms (above the floor; exposed)", "",
                 "| method | " + " | ".join(f"p = {size}" for size in sizes) + " | bytes per step | remark |",
                 "| --- |" + " --- |" * (len(sizes) + 2)]
        for method in methods:
            group = [by_key[mbit, method, size] for size in sizes if (mbit, method, size) in by_key]
            remarks = sorted({row["reason"] for row in group if row["reason"]})
            lines.append(f"| {method} | " + " | ".join(step_cell(by_key.get((mbit, method, size))) for size in sizes)
                         + f" | {bytes_cell(group)} | {'; '.join(remarks)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def step_cell(row):
    if row is None or row["step_seconds"] is None:
        return "-"
    above = None if row["floor_seconds"] is None else row["step_seconds"] - row["floor_seconds"]
    return f"{cell(row['step_seconds'], 1e3, 1)} ({cell(above, 1e3, 1)}; {cell(row['exposed'], 100, 0)} %)"


def bytes_cell(group):
    """The numbers of workers side by side where they differ."""
    sizes = list(dict.fromkeys(f"{row['sent_bytes_per_step']:,.0f}" for row in group if row["sent_bytes_per_step"] is not None))
    return " / ".join(sizes) or "-"


def target(result):
    lines = [f"Time to {100 * result['target']:g} % on {result['workers']} workers at {result['mbit']} Mbit/s:", "",
             "| seed | method | seconds | epochs | seconds per epoch | accuracy reached % | remark |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    for row in result["rows"]:
        each = row["seconds"] / row["epochs"] if row["seconds"] and row["epochs"] else None
        lines.append(f"| {row['seed']} | {row['method']} | {cell(row['seconds'], 1, 1)} | {row['epochs'] or '-'} | {cell(each, 1, 1)} "
                     f"| {cell(row['accuracy'], 100, 2)} | {row['reason']} |")
    if result["factor"] is not None:
        methods = list(dict.fromkeys(row["method"] for row in result["rows"]))
        lines += ["", f"{methods[1]} takes {result['factor']:.2f} times as long as {methods[0]} (all seeds together), "
                  f"{result['epoch_factor']:.2f} times as long for an epoch."]
    return "\n".join(lines)
