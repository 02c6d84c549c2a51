#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether `pdltool watch` names each reason for which two kernels do not overlap, on a program that makes it happen."""

import sys

import watched

# Beside the name of the case itself.
OPTIONS = {"taken_out": ["--overlap", "off"]}


# The device overlaps old code as any other: what is wrong is that its waits do nothing.
INSTEAD = {"old_code": "overlapped", "triggers_at_end_of_two": "triggers_at_end"}
RACES = {"old_code": "old_code"}


def expected_word(name):
    return INSTEAD.get(name, name.removesuffix("_graph"))


def race_of(report):
    """The race of the secondary; "none" without one."""
    races = {watched.word(kernel["race"]) for kernel in report["kernels"]
             if "secondary" in watched.kernel_name(kernel)} - {"none"}
    return min(races, default="none")


def reasons_of(report):
    """How often each reason was given for the secondary, whatever was in front of it."""
    counts = {}
    for kernel in report["kernels"]:
        if "secondary" in watched.kernel_name(kernel):
            for reason, count in kernel["reasons"].items():
                counts[watched.word(reason)] = counts.get(watched.word(reason), 0) + count
    return counts


def look(tool, name, folder):
    text = folder / f"reason_{name}.txt" if folder is not None else None
    result = tool.watch([tool.program("reasons"), name], OPTIONS.get(name, []), 60, text=text)
    if result.skipped:
        return None
    word = expected_word(name)
    found = {"case": name, "expected": word, "exit_code": result.finished.code}
    if result.report is None:
        return {**found, "named": False, "problem": result.problem}
    counts = reasons_of(result.report)
    commonest = max(counts, key=counts.get) if counts else None
    race = race_of(result.report)
    return {**found, "reasons": counts, "commonest": commonest, "race": race,
            "named": commonest == word and race == RACES.get(name, "none")}


def main():
    options = watched.parser(__doc__).parse_args()
    tool = watched.Tool(options)
    names = watched.run([tool.program("reasons")]).out.split()
    cases = []
    for name in names:
        case = look(tool, name, options.out)
        if case is None:
            return watched.SKIPPED
        cases.append(case)
        watched.say(f"{name}: {case.get('commonest') or case.get('problem')}", case.get("reasons", ""))
    named = sum(case["named"] for case in cases)
    watched.say(f"{named} of {len(cases)} named")
    watched.write(options, "reasons", {"program": "reasons", "named": named, "cases": cases})
    return watched.end([f"{case['case']}: {case.get('problem') or case.get('reasons')}, race {case.get('race')}"
                        for case in cases if not case["named"]])


if __name__ == "__main__":
    sys.exit(main())
