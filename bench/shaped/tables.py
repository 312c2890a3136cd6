# SPDX-License-Identifier: Apache-2.0
"""Rows of measurements as Markdown."""


def cell(value, factor, digits):
    return "-" if value is None else f"{value * factor:.{digits}f}"


def steps(rows):
    lines = ["| p | Mbit/s | method | step ms | floor ms | exposed % | samples/s | bytes per step | rounds | remark |",
             "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        size = row["sent_bytes_per_step"]
        lines.append(f"| {row['workers']} | {row['mbit']} | {row['method']} | {cell(row['step_seconds'], 1e3, 1)} "
                     f"| {cell(row['floor_seconds'], 1e3, 1)} | {cell(row['exposed'], 100, 1)} | {cell(row['samples_per_second'], 1, 0)} "
                     f"| {'-' if size is None else f'{size:,.0f}'} | {row['rounds']} | {row['reason']} |")
    return "\n".join(lines)


def target(result):
    lines = [f"Time to {100 * result['target']:g} % on {result['workers']} workers at {result['mbit']} Mbit/s:", "",
             "| method | seconds | epochs | accuracy reached % | remark |", "| --- | --- | --- | --- | --- |"]
    for row in result["rows"]:
        lines.append(f"| {row['method']} | {cell(row['seconds'], 1, 1)} | {row['epochs'] or '-'} | {cell(row['accuracy'], 100, 2)} "
                     f"| {row['reason']} |")
    if result["factor"] is not None:
        lines += ["", f"{result['rows'][-1]['method']} takes {result['factor']:.2f} times as long as {result['rows'][0]['method']}."]
    return "\n".join(lines)
