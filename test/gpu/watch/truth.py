#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the times of `pdltool watch` against the stamps that the kernels of truth.cu take themselves.

The n-th run of a first_kernel and of a second_kernel in the recording are those of the n-th entry of the stamps. The device's
clock and the recording's have different zeros, so that lengths and distances are compared, and starts after the running
median of their difference was taken off. Beside the verdict of each pair counts by how far it truly overlapped: where that
is less than a µs, the end of a kernel (its last block's, or that of its stores) is a matter of definition."""

import json
import sys
import tempfile
from pathlib import Path

import watched

CLEAR_NS = 1000
NEIGHBOURS = 21


def runs_named(report, part):
    runs = [run for run in report["runs"] if part in run["kernel"]]
    return sorted(runs, key=lambda run: run["start_ns"])


def running_median(values):
    half = NEIGHBOURS // 2
    return [watched.median(values[max(0, i - half):i + half + 1]) for i in range(len(values))]


def compare(stamps, report):
    firsts, seconds = runs_named(report, "first_kernel"), runs_named(report, "second_kernel")
    true = stamps["runs"]
    if not len(firsts) == len(seconds) == len(true):
        return None, f"{len(true)} pairs ran, and the tool has {len(firsts)} and {len(seconds)} runs of them"
    shift = running_median([run["start_ns"] - pair["first"]["start"] for run, pair in zip(firsts, true)])
    rows = []
    for pair, first, second, zero in zip(true, firsts, seconds, shift):
        if pair["round"] == 0:
            continue
        own, other = pair["first"], pair["second"]
        true_overlap = own["end"] - other["start"]
        told_overlap = first["end_ns"] - second["start_ns"]
        rows.append({
            "pair": pair["pair"], "way": pair["way"],
            "true_overlap_ns": true_overlap, "told_overlap_ns": told_overlap,
            "overlapped": pair["overlapped"], "told": second["overlapped"], "reason": second["reason"],
            "errors": {
                "start of the first": first["start_ns"] - own["start"] - zero,
                "length of the first": first["end_ns"] - first["start_ns"] - (own["end"] - own["start"]),
                "length of the second": second["end_ns"] - second["start_ns"] - (other["end"] - other["start"]),
                "distance of the starts": second["start_ns"] - first["start_ns"] - (other["start"] - own["start"]),
                "distance of the ends": second["end_ns"] - first["end_ns"] - (other["end"] - own["end"]),
                "overlap": told_overlap - true_overlap,
            }})
    return rows, None


def verdicts(rows):
    clear = [row for row in rows if abs(row["true_overlap_ns"]) >= CLEAR_NS]
    return {"runs": len(rows), "right": sum(row["told"] == row["overlapped"] for row in rows),
            "told_and_not": sum(row["told"] and not row["overlapped"] for row in rows),
            "not_told_and_overlapped": sum(not row["told"] and row["overlapped"] for row in rows),
            "clear_runs": len(clear), "clear_right": sum(row["told"] == row["overlapped"] for row in clear)}


def main():
    parser = watched.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    tool = watched.Tool(options)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "stamps.json")
        result = tool.watch([tool.program("truth"), "--rounds", str(options.rounds), "--output", path], runs=True)
        if result.skipped:
            return watched.SKIPPED
        if result.finished.code != 0 or result.report is None:
            return watched.end([f"exit code {result.finished.code}: {result.problem}"])
        stamps = json.loads(Path(path).read_text(encoding="utf-8"))
    rows, problem = compare(stamps, result.report)
    if rows is None:
        return watched.end([problem])
    summary = {"clock_step_ns": stamps["clock_step_ns"], "pairs": stamps["pairs"], "ways": {}}
    for way in ("stream", "graph"):
        own = [row for row in rows if row["way"] == way]
        summary["ways"][way] = {
            "pairs": len({row["pair"] for row in own}),
            "median_error_ns": {name: watched.median([abs(row["errors"][name]) for row in own]) for name in own[0]["errors"]},
            "verdicts": verdicts(own)}
        watched.say(way, json.dumps(summary["ways"][way], indent=1))
    wrong = {}
    for row in rows:
        if row["told"] != row["overlapped"]:
            wrong.setdefault(f"{row['way']}: {row['pair']}", []).append(
                {key: row[key] for key in ("true_overlap_ns", "told_overlap_ns", "told", "reason")})
    for name, these in wrong.items():
        watched.say(f"wrong {len(these)} times: {name}: {these[0]}")
    watched.write(options, "truth", {"program": "truth", **summary, "wrong": wrong, "runs": rows})
    failures = []
    for way, found in summary["ways"].items():
        told = found["verdicts"]
        if told["clear_right"] < 0.95 * told["clear_runs"]:
            failures.append(f"{way}: {told['clear_right']} of {told['clear_runs']} clear verdicts are right")
    return watched.end(failures)


if __name__ == "__main__":
    sys.exit(main())
