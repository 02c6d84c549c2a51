#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether `pdltool bisect` finds the kernels of culprits.cu that were broken, a rare race with --amplify, and whether the
delays that --amplify uses leave a sound program right."""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

import watched

NAME = re.compile(r"stageILi(\d+)ELi\d+E")

# Name, what is broken, the program's options, the tool's.
CASES = [
    ("one kernel", {17}, ["--broken", "17"], []),
    ("one kernel, in a graph", {42}, ["--broken", "42", "--graph"], []),
    ("two that fail only together", {5, 40}, ["--together", "5,40"], []),
    ("a rare race, amplified", {29}, ["--broken", "29", "--quick-host", "0.02"], ["--amplify"]),
]


def search(tool, case, timeout):
    name, broken, arguments, options = case
    finished = watched.run([tool.pdltool, "bisect", "--json", *options, "--", tool.program("culprits"), *arguments], timeout)
    try:
        report = json.loads(finished.out)
    except ValueError:
        report = {"culprits": []}
    names = [kernel["name"] for culprit in report["culprits"] for kernel in culprit["kernels"]]
    found = {int(match[1]) for match in map(NAME.search, names) if match is not None}
    return {"case": name, "broken": sorted(broken), "found": sorted(found), "right": found == broken and finished.code == 0,
            "seconds": round(finished.seconds, 1), "exit_code": finished.code, "error": finished.err[-300:]}


def delayed(tool, arguments, repeats):
    """How many runs of a process go wrong whose kernels libpdl-watch delays."""
    with tempfile.TemporaryDirectory() as own:
        rules = Path(own, "rules")
        rules.write_text("delay *stage*\n", encoding="utf-8")
        library = os.environ.get("PDL_WATCH_LIBRARY") or str(Path(tool.pdltool).parent.parent / "lib/watch/libpdl-watch.so")
        env = {**os.environ, "LD_PRELOAD": library, "CUDA_INJECTION64_PATH": library, "PDL_WATCH_RULES": str(rules),
               "PDL_WATCH_CUPTI": "0"}
        finished = watched.run([tool.program("culprits"), *arguments, "--repeat", str(repeats)], 60, env)
    found = re.search(r"(\d+) of (\d+) runs wrong", finished.out)
    return {"wrong": int(found[1]) if found else None, "runs": repeats, "error": finished.err[-300:]}


def main():
    parser = watched.parser(__doc__)
    parser.add_argument("--seconds", type=float, default=40, help="the most for a search")
    options = parser.parse_args()
    tool = watched.Tool(options)
    sound = watched.run([tool.program("culprits")], 60)
    if sound.code == watched.SKIPPED:
        return watched.SKIPPED
    failures = [] if sound.code == 0 else [f"the program is wrong as it is: {sound.out} {sound.err}"]
    result = {"program": "culprits", "sound, delayed": delayed(tool, [], 50), "searches": []}
    if result["sound, delayed"]["wrong"] != 0:
        failures.append(f"a sound program is wrong when it is delayed: {result}")
    for case in CASES:
        found = search(tool, case, options.seconds)
        result["searches"].append(found)
        watched.say(found)
        watched.write(options, "bisect", result)
        if not found["right"]:
            failures.append(f"{case[0]}: {found}")
    return watched.end(failures)


if __name__ == "__main__":
    sys.exit(main())
