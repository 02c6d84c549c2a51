#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What it costs to be watched: host time per launch, device time per kernel, and a recording of a million launches.

Each way runs in a process of its own, the ways in turn; medians of the processes' medians."""

import os
import sys
import tempfile
import time

import watched

MODES = [("as it is", None), ("watched", []), ("watched, without CUPTI", ["--no-cupti"]),
         ("--overlap off", ["--overlap", "off", "--no-cupti"])]
FIGURES = ["host_ns", "device_ns_empty", "device_ns_working"]


def run_once(tool, way, options, batches):
    command = [tool.program("cost"), way, str(batches)]
    if options is None:
        return watched.run(command, 60)
    with tempfile.TemporaryDirectory() as folder:
        return watched.run(tool.command(os.path.join(folder, "recording"), options, command), 60)


def million(tool):
    with tempfile.TemporaryDirectory() as folder:
        record = os.path.join(folder, "recording")
        plain = watched.run([tool.program("cost"), "million"], 60)
        finished = watched.run(tool.command(record, [], [tool.program("cost"), "million"]), 100)
        if not os.path.exists(record):
            return {"problem": f"exit code {finished.code}: {finished.err[-300:]}"}
        times = {}
        for name, options in (("text", []), ("json", ["--json"])):
            seconds = []
            for _ in range(3):
                begin = time.monotonic()
                read = tool.read([record], options)
                seconds.append(time.monotonic() - begin)
            times[name] = {"seconds": round(watched.median(seconds), 3), "exit_code": read.code}
        report, _ = tool.report([record])
        return {"bytes": os.path.getsize(record), "report": times, "verdict": watched.sums(report),
                "seconds_as_it_is": round(plain.seconds, 2), "seconds_watched_with_report": round(finished.seconds, 2)}


def main():
    parser = watched.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=101)
    options = parser.parse_args()
    tool = watched.Tool(options)
    figures = {}
    failures = []
    for _ in range(options.rounds):
        for way in ("stream", "overlap", "graph"):
            for mode, words in MODES:
                if mode == "--overlap off" and way == "graph":
                    continue
                finished = run_once(tool, way, words, options.batches)
                if finished.code == watched.SKIPPED:
                    return watched.SKIPPED
                line = finished.line_of_json()
                if line is None:
                    failures.append(f"{way}, {mode}: exit code {finished.code}: {finished.err[-300:]}")
                    continue
                row = figures.setdefault(way, {}).setdefault(mode, {name: [] for name in FIGURES})
                for name in FIGURES:
                    row[name].append(line[name])
    table = {}
    for way, modes in figures.items():
        base = {name: watched.median(modes["as it is"][name]) for name in FIGURES} if "as it is" in modes else None
        for mode, row in modes.items():
            found = {name: watched.median(row[name]) for name in FIGURES}
            found["samples"] = row
            if base is not None:
                found["host_ns_more"] = round(found["host_ns"] - base["host_ns"], 1)
                for name in FIGURES[1:]:
                    found[name + "_ratio"] = round(found[name] / base[name], 4)
            table.setdefault(way, {})[mode] = found
            watched.say(f"{way}, {mode}:", {key: value for key, value in found.items() if key != "samples"})
    result = {"program": "cost", "figures": table}
    watched.write(options, "cost", result)
    result["million"] = million(tool)
    watched.say("a million launches:", result["million"])
    watched.write(options, "cost", result)
    return watched.end(failures)


if __name__ == "__main__":
    sys.exit(main())
