#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether `pdltool watch` names each reason for which two kernels do not overlap, on a program that makes it happen."""

import sys

import watched

# Beside the name of the case itself.
OPTIONS = {"taken_out": ["--overlap", "off"]}


def expected_word(name):
    return name.removesuffix("_graph")


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
    return {**found, "reasons": counts, "commonest": commonest, "named": commonest == word}


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
    return watched.end([f"{case['case']}: {case.get('problem') or case.get('reasons')}"
                        for case in cases if not case["named"]])


if __name__ == "__main__":
    sys.exit(main())
