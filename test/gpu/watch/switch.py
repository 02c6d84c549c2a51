#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `pdltool watch --overlap` changes: times per kernel and results of a program whose kernels wait and trigger.

Each way runs in a process of its own, the ways in turn. With --check times are printed and not judged."""

import sys

import watched

# Name, program, how it launches, options of the tool; None: not watched.
WAYS = [
    ("plain", "overlap_switch", "plain", None),
    ("plain, watched", "overlap_switch", "plain", []),
    ("plain, --overlap on", "overlap_switch", "plain", ["--overlap", "on"]),
    ("plain, --overlap on, no device times", "overlap_switch", "plain", ["--overlap", "on", "--no-cupti"]),
    ("attribute", "overlap_switch", "attribute", None),
    ("attribute, watched", "overlap_switch", "attribute", []),
    ("attribute, --overlap off", "overlap_switch", "attribute", ["--overlap", "off"]),
    ("attribute, --overlap off, no device times", "overlap_switch", "attribute", ["--overlap", "off", "--no-cupti"]),
    ("built without PDL", "overlap_switch_without_pdl", "plain", None),
    ("built without PDL, watched", "overlap_switch_without_pdl", "plain", []),
]


def run_way(tool, place, way):
    _, program, launches, options = way
    command = [tool.program(program), place, launches]
    if options is None:
        return watched.run(command, 60), None
    result = tool.watch(command, options, 90)
    return result.finished, result.report


def sums_of(report):
    return {key: watched.sums(report).get(key) for key in ("launches", "added", "removed", "not_proved", "overlapped")
            } if report is not None else None


def main():
    options = watched.parser(__doc__).parse_args()
    tool = watched.Tool(options)
    rounds = 1 if options.check else 3
    rows = {}
    failures = []
    for _ in range(rounds):
        for place in ("stream", "graph"):
            for way in WAYS:
                finished, report = run_way(tool, place, way)
                if finished.code == watched.SKIPPED:
                    return watched.SKIPPED
                line = finished.line_of_json()
                key = f"{place}: {way[0]}"
                if finished.code != 0 or line is None:
                    failures.append(f"{key}: exit code {finished.code}: {finished.err[-300:]}")
                    continue
                row = rows.setdefault(key, {"us_per_kernel": [], "results": [], "sums": None})
                row["us_per_kernel"].append(line["us_per_kernel"])
                row["results"].append(line["results"])
                row["sums"] = sums_of(report)
    for key, row in rows.items():
        row["median_us"] = watched.median(row["us_per_kernel"])
        watched.say(f"{key}: {row['median_us']} us, {row['results'][0]} {row['sums'] or ''}")
    for place in ("stream", "graph"): # which launch differently often
        hashes = {value for key, row in rows.items() if key.startswith(place) for value in row["results"]}
        if len(hashes) != 1:
            failures.append(f"the results differ: {place}: {sorted(hashes)}")
    ratios = {}
    for place in ("stream", "graph"):
        for name, over, under in (
                ("on", "plain", "plain, --overlap on"), ("on, no device times", "plain", "plain, --overlap on, no device times"),
                ("attribute", "plain", "attribute"), ("off", "attribute, --overlap off", "built without PDL"),
                ("off, watched", "attribute, --overlap off", "built without PDL, watched"),
                ("off, no device times", "attribute, --overlap off, no device times", "built without PDL")):
            one, other = rows.get(f"{place}: {over}"), rows.get(f"{place}: {under}")
            if one and other:
                ratios[f"{place}: {name}"] = round(one["median_us"] / other["median_us"], 4)
        on, off = rows.get(f"{place}: plain, --overlap on"), rows.get(f"{place}: attribute, --overlap off")
        if on and on["sums"] and not on["sums"]["added"]:
            failures.append(f"{place}: --overlap on added nothing")
        if off and off["sums"] and not off["sums"]["removed"]:
            failures.append(f"{place}: --overlap off took nothing out")
    for name, ratio in ratios.items():
        watched.say(f"{name}: {ratio}")
    if not options.check:
        for place, bound in (("stream", 1.6), ("graph", 1.4)):
            if ratios.get(f"{place}: on", 0) < bound:
                failures.append(f"{place}: --overlap on gives {ratios.get(f'{place}: on')}, not {bound}")
    watched.write(options, "switch", {"program": "overlap_switch", "rows": rows, "ratios": ratios, "failures": failures})
    return watched.end(failures)


if __name__ == "__main__":
    sys.exit(main())
