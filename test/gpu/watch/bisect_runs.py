#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether `pdltool bisect` finds the kernels of culprits.cu that were broken, in how many runs, and how much likelier a
rare race becomes with --amplify."""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

import watched

COUNT = 'echo x >>"$RUNS_FILE"; exec "$@"' # what runs before the program
NAME = re.compile(r"stageILi(\d+)ELi\d+E")

# Name, what is broken, the program's options, the tool's.
CASES = [
    ("one kernel", {17}, ["--broken", "17"], []),
    ("one kernel, in a graph", {42}, ["--broken", "42", "--graph"], []),
    ("two that fail only together", {5, 40}, ["--together", "5,40"], []),
    ("a rare race, amplified", {29}, ["--broken", "29", "--quick-host", "0.02"], ["--amplify"]),
]
RARE = ["--broken", "29", "--quick-host", "0.02"]


def culprits_of(report):
    """The numbers of the kernels that the tool ends up with."""
    names = [kernel["name"] for culprit in report["culprits"] for kernel in culprit["kernels"]]
    return {int(found[1]) for found in map(NAME.search, names) if found is not None}


def search(tool, case, folder, timeout):
    name, broken, arguments, options = case
    with tempfile.TemporaryDirectory() as own:
        counter = os.path.join(own, "runs")
        env = {**os.environ, "RUNS_FILE": counter}
        command = ["--", "/bin/sh", "-c", COUNT, "sh", tool.program("culprits"), *arguments]
        finished = watched.run([tool.pdltool, "bisect", "--json", *options, *command], timeout, env)
        runs = runs_in(counter)
        try:
            report = json.loads(finished.out)
        except ValueError:
            report = {"outcome": "no JSON", "culprits": []}
    if folder is not None:
        path = folder / f"bisect_{re.sub('[^a-z]+', '_', name)}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"$ pdltool bisect --json {' '.join(options)} -- culprits {' '.join(arguments)}\n{finished.out}"
                        f"\n{finished.err}", encoding="utf-8")
    found = culprits_of(report)
    return {"case": name, "broken": sorted(broken), "found": sorted(found),
            "right": found == broken and finished.code == 0,
            "runs": runs,
            "seconds": round(finished.seconds, 1), "exit_code": finished.code, "timed_out": finished.timed_out,
            "report": report, "error": finished.err[-300:]}


def runs_in(counter):
    return os.path.getsize(counter) // 2 if os.path.exists(counter) else 0


def rate(tool, arguments, repeats, rules=None, delay=None):
    """How many runs of a process go wrong, with rules of libpdl-watch or as they are. `delay`: PDL_WATCH_DELAY."""
    with tempfile.TemporaryDirectory() as own:
        env = dict(os.environ)
        if rules is not None:
            path = os.path.join(own, "rules")
            Path(path).write_text(rules, encoding="utf-8")
            library = env.get("PDL_WATCH_LIBRARY") or str(Path(tool.pdltool).parent.parent / "lib/watch/libpdl-watch.so")
            if delay is not None:
                env["PDL_WATCH_DELAY"] = delay
            env.update(LD_PRELOAD=library, CUDA_INJECTION64_PATH=library, PDL_WATCH_RULES=path, PDL_WATCH_CUPTI="0")
        finished = watched.run([tool.program("culprits"), *arguments, "--repeat", str(repeats)], 60, env)
    found = re.search(r"(\d+) of (\d+) runs wrong", finished.out)
    wrong, runs = (int(found[1]), int(found[2])) if found else (None, None)
    return {"wrong": wrong, "runs": runs, "exit_code": finished.code, "seconds": round(finished.seconds, 1),
            "error": finished.err[-300:]}


def narrow_window(tool):
    """The delay of a broken read at which the race shows in some of the runs, and how often."""
    best = None
    for window in range(2400, 4001, 100):
        found = rate(tool, ["--broken", "29", "--window-ns", str(window), "--rounds", "4"], 60)
        if found["wrong"] is None:
            return None
        share = found["wrong"] / found["runs"]
        if 0 < share < 1 and (best is None or abs(share - 0.02) < abs(best[1] - 0.02)):
            best = (window, share)
    return best


def main():
    parser = watched.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=90, help="the most for a search")
    parser.add_argument("--rare", action="store_true", help="only the search for the rare race as it is, which takes long")
    options = parser.parse_args()
    tool = watched.Tool(options)
    sound = watched.run([tool.program("culprits")], 60)
    if sound.code == watched.SKIPPED:
        return watched.SKIPPED
    if options.rare:
        found = search(tool, ("a rare race, as it is", {29}, RARE, []), options.out, options.seconds)
        watched.write(options, "bisect_rare", found)
        watched.say(found)
        return watched.end([])
    failures = [] if sound.code == 0 else [f"the program is wrong as it is: {sound.out} {sound.err}"]
    rates = {
        "rare host, as it is": rate(tool, RARE, options.repeats),
        "rare host, delayed": rate(tool, RARE, options.repeats, "delay *stage*\n", "40,0"),
        "rare host, only the culprit delayed": rate(tool, RARE, options.repeats, "delay *stage*ILi29E*\n"),
        "rare host, delayed, with load": rate(tool, RARE, options.repeats, "delay *stage*\n", "40,40"),
        "rare host, delayed by 200 us": rate(tool, RARE, options.repeats, "delay *stage*\n", "200,0"),
        "sound, delayed": rate(tool, [], 50, "delay *stage*\n"),
    }
    window = narrow_window(tool)
    if window is not None:
        arguments = ["--broken", "29", "--window-ns", str(window[0]), "--rounds", "4"]
        rates["narrow window, as it is"] = {**rate(tool, arguments, options.repeats), "window_ns": window[0]}
        for name, delay in (("delayed", "40,0"), ("delayed, with load", None)):
            rates["narrow window, " + name] = {**rate(tool, arguments, options.repeats, "delay *stage*\n", delay),
                                               "window_ns": window[0]}
    for name, found in rates.items():
        watched.say(f"{name}: {found['wrong']} of {found['runs']} wrong in {found['seconds']} s {found['error']}")
    if rates["sound, delayed"]["wrong"] != 0:
        failures.append("a sound program is wrong when it is delayed")
    result = {"program": "culprits", "kernels": 64, "launches": 2048, "rates": rates, "searches": []}
    watched.write(options, "bisect", result)
    for case in CASES:
        found = search(tool, case, options.out, options.seconds)
        result["searches"].append(found)
        watched.write(options, "bisect", result)
        watched.say({key: value for key, value in found.items() if key != "report"})
        if not found["right"]:
            failures.append(f"{case[0]}: found {found['found']}, exit code {found['exit_code']}, {found['error']}")
    return watched.end(failures)


if __name__ == "__main__":
    sys.exit(main())
