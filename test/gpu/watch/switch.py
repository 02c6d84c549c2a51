#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `pdltool watch --overlap` changes in a program whose kernels wait and trigger: which launches, never the results.
Each way runs in a process of its own. Times are printed and not judged."""

import sys

import watched

# How the program launches, and options of the tool; None: not watched.
WAYS = [("plain", None), ("plain", []), ("plain", ["--overlap", "on"]), ("plain", ["--overlap", "on", "--no-cupti"]),
        ("attribute", None), ("attribute", []), ("attribute", ["--overlap", "off"]),
        ("attribute", ["--overlap", "off", "--no-cupti"])]
SUMS = ("launches", "added", "removed", "not_proved", "overlapped")


def main():
    options = watched.parser(__doc__).parse_args()
    tool, rows, failures = watched.Tool(options), {}, []
    for place in ("stream", "graph"):
        for launches, words in WAYS:
            command, report = [tool.program("chain"), place, launches], None
            if words is None:
                finished = watched.run(command, 60)
            else:
                watch = tool.watch(command, words, 90)
                finished, report = watch.finished, watch.report
            if finished.code == watched.SKIPPED:
                return watched.SKIPPED
            key = f"{place}: {launches}, {'not watched' if words is None else ' '.join(['watched', *words])}"
            line = finished.line_of_json()
            if finished.code != 0 or line is None:
                failures.append(f"{key}: exit code {finished.code}: {finished.err[-300:]}")
                continue
            sums = {name: watched.sums(report).get(name) for name in SUMS}
            rows[key] = {"us_per_kernel": line["us_per_kernel"], "results": line["results"], "sums": sums}
            watched.say(f"{key}: {rows[key]}")
            if place == "graph" and words and "--no-cupti" in words:
                continue # only CUPTI counts the launches of a graph
            if words and "on" in words and not sums["added"]:
                failures.append(f"{key}: nothing was added")
            if words and "off" in words and not sums["removed"]:
                failures.append(f"{key}: nothing was taken out")
        hashes = {row["results"] for key, row in rows.items() if key.startswith(place)}
        if len(hashes) != 1: # stream and graph launch differently often
            failures.append(f"the results differ: {place}: {sorted(hashes)}")
    watched.write(options, "switch", {"program": "chain", "rows": rows, "failures": failures})
    return watched.end(failures)


if __name__ == "__main__":
    sys.exit(main())
