#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make_page.py RESULTS [--json FILE]: tables, in Markdown, of what the scripts of this folder wrote into RESULTS, and with
--json all of it but single runs in one file."""

import argparse
import json
import sys
from pathlib import Path

NAMES = ["summary", "reasons", "races", "truth", "switch", "bisect", "bisect_rare", "cost", "others", "bad"]


def row(*cells):
    print("| " + " | ".join("" if cell is None else str(cell) for cell in cells) + " |")


def table(*heads):
    print()
    row(*heads)
    row(*["---"] * len(heads))


def number(value, digits=2):
    return None if value is None else f"{value:,.{digits}f}"


def us(ns):
    return number(None if ns is None else ns / 1000)


def truth(data):
    print(f"\nThe kernels' clock steps by {data['clock_step_ns']} ns.")
    for way, found in data["ways"].items():
        told = found["verdicts"]
        print(f"\n{way}: {found['pairs']} pairs, {told['runs']} runs. \"Overlapped\" was right in {told['right']}; told and not so "
              f"{told['told_and_not']}, so and not told {told['not_told_and_overlapped']}. Where the overlap or the gap was "
              f"1 µs and more: {told['clear_right']} of {told['clear_runs']}.")
        table("told − true, ns", "median", "median size", "99th percentile", "largest")
        for name, error in found["errors_ns"].items():
            row(name, *(number(error[key], 0) for key in ("median", "median_size", "p99_size", "max_size")))


def reasons(data):
    table("made to happen", "named", "what the tool says")
    for case in data["cases"]:
        said = case.get("reasons") or {case.get("problem"): ""}
        row(f"`{case['case']}`", "yes" if case["named"] else "**no**", ", ".join(f"{word} {count}" for word, count in said.items()))


def races(data):
    print(f"\n{data['named']} of {len(data['broken'])} broken kernels are named; of {len(data['sound'])} sound ones "
          f"{sum(kernel['race'] != 'none' for kernel in data['sound'].values())}.")
    table("kernel", "race", "finding")
    for name, kernel in sorted(data["broken"].items()):
        row(f"`{name}`", kernel["race"], kernel["finding"])


def switch(data):
    table("way", "µs per kernel", "results")
    for name, found in data["rows"].items():
        row(name, number(found["median_us"], 3), ", ".join(sorted(set(found["results"]))))
    table("ratio", "")
    for name, ratio in data["ratios"].items():
        row(name, number(ratio, 3))


def bisect(data):
    table("runs in one process", "wrong", "of")
    for name, found in data["rates"].items():
        row(name, found["wrong"], found["runs"])
    table("broken", "found", "runs", "seconds")
    for found in data["searches"]:
        row(found["case"], ", ".join(map(str, found["found"])) or "nothing", found["runs"], found["seconds"])


def cost(data):
    table("", "host ns per launch", "more", "device ns, empty", "ratio", "device ns, 3 µs of work", "ratio")
    for way, modes in data["figures"].items():
        for mode, found in modes.items():
            row(f"{way}, {mode}", number(found["host_ns"], 1), number(found.get("host_ns_more"), 1),
                number(found["device_ns_empty"], 1), number(found.get("device_ns_empty_ratio"), 3),
                number(found["device_ns_working"], 1), number(found.get("device_ns_working_ratio"), 3))
    million = data.get("million", {})
    if "bytes" in million:
        print(f"\nA million launches: {million['bytes'] / 1e6:.1f} MB, the report in {million['report']['text']['seconds']} s, as "
              f"JSON in {million['report']['json']['seconds']} s.")


def others(data):
    table("program", "launches", "asked", "overlapped", "kernel time, µs", "saved, µs", "could save, µs")
    for name, found in data.items():
        verdict = found.get("verdict")
        if verdict is None:
            row(name, found.get("skipped") and "skipped" or found.get("problem"), "", "", "", "", "")
        else:
            row(name, verdict.get("launches"), verdict.get("asked"), verdict.get("overlapped"), us(verdict.get("kernel_ns")),
                us(verdict.get("saved_ns")), us(verdict.get("saving_ns")))


def bad(data):
    table("what happens", "exit code", "watched", "launches recorded", "")
    for name, case in data["cases"].items():
        row(name, case.get("exit_code"), case.get("watched"), case.get("launches"), "" if case["right"] else "**wrong**")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    everything = {}
    for name in NAMES:
        path = options.results / f"{name}.json"
        if path.exists():
            everything[name] = json.loads(path.read_text(encoding="utf-8"))
            if name in globals():
                print(f"\n## {name}")
                globals()[name](everything[name])
    if "truth" in everything:
        del everything["truth"]["runs"]
    if options.json is not None:
        options.json.write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")
    return 0 if everything else 1


if __name__ == "__main__":
    sys.exit(main())
