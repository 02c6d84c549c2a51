#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether `pdltool bisect` finds the kernels of culprits.cu that were broken, in how many runs, and how much likelier a
rare race becomes with --amplify."""

import os
import re
import sys
import tempfile
from pathlib import Path

import watched

COUNT = 'echo x >>"$RUNS_FILE"; exec "$@"' # what runs before the program
NAME = re.compile(r"stage(?:<\(?(?:int\))?(\d+), ?\(?(?:int\))?\d+>|ILi(\d+)ELi\d+E)")

# Name, what is broken, the program's options, the tool's.
CASES = [
    ("one kernel", {17}, ["--broken", "17"], []),
    ("one kernel, in a graph", {42}, ["--broken", "42", "--graph"], []),
    ("two that fail only together", {5, 40}, ["--together", "5,40"], []),
    ("a rare race, amplified", {29}, ["--broken", "29", "--quick-host", "0.02"], ["--amplify"]),
]
RARE = ["--broken", "29", "--quick-host", "0.02"]


def names_in(text):
    return {int(one or other) for one, other in NAME.findall(text)}


def culprits_of(finished):
    """The kernels that the tool ends up with: what it says on standard output, of which the last part counts."""
    text = finished.out
    for word in ("culprit", "smallest set", "found"):
        place = text.rfind(word)
        if place >= 0 and names_in(text[place:]):
            return names_in(text[place:])
    return names_in(text)


def search(tool, case, folder, timeout):
    name, broken, arguments, options = case
    with tempfile.TemporaryDirectory() as own:
        counter = os.path.join(own, "runs")
        command = [tool.pdltool, "bisect", *options, "--", "/bin/sh", "-c", COUNT, "sh", tool.program("culprits"), *arguments]
        finished = watched.run(command, timeout, {**os.environ, "RUNS_FILE": counter}, cwd=own)
        runs = os.path.getsize(counter) // 2 if os.path.exists(counter) else 0
    if folder is not None:
        path = folder / f"bisect_{re.sub('[^a-z]+', '_', name)}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"$ pdltool bisect {' '.join(options)} -- culprits {' '.join(arguments)}\n{finished.out}"
                        f"{finished.err}", encoding="utf-8")
    found = culprits_of(finished)
    return {"case": name, "broken": sorted(broken), "found": sorted(found), "right": found == broken, "runs": runs,
            "seconds": round(finished.seconds, 1), "exit_code": finished.code, "timed_out": finished.timed_out}


def rate(tool, arguments, repeats, rules=None, timeout=120):
    """How many runs of a process go wrong, with rules of libpdl-watch or as they are."""
    with tempfile.TemporaryDirectory() as own:
        env = dict(os.environ)
        if rules is not None:
            path = os.path.join(own, "rules")
            Path(path).write_text(rules, encoding="utf-8")
            library = env.get("PDL_WATCH_LIBRARY") or str(Path(tool.pdltool).parent.parent / "lib/watch/libpdl-watch.so")
            env.update(LD_PRELOAD=library, CUDA_INJECTION64_PATH=library, PDL_WATCH_RULES=path, PDL_WATCH_CUPTI="0")
        finished = watched.run([tool.program("culprits"), *arguments, "--repeat", str(repeats)], timeout, env)
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
    options = parser.parse_args()
    tool = watched.Tool(options)
    sound = watched.run([tool.program("culprits")], 60)
    if sound.code == watched.SKIPPED:
        return watched.SKIPPED
    failures = [] if sound.code == 0 else [f"the program is wrong as it is: {sound.out} {sound.err}"]
    rates = {
        "rare host, as it is": rate(tool, RARE, options.repeats),
        "rare host, delayed": rate(tool, RARE, options.repeats, "delay *stage*\n"),
        "rare host, only the culprit delayed": rate(tool, RARE, options.repeats, "delay *stage*ILi29E*\n"),
        "sound, delayed": rate(tool, [], 50, "delay *stage*\n"),
    }
    window = narrow_window(tool)
    if window is not None:
        arguments = ["--broken", "29", "--window-ns", str(window[0]), "--rounds", "4"]
        rates["narrow window, as it is"] = {**rate(tool, arguments, options.repeats), "window_ns": window[0]}
        rates["narrow window, delayed"] = {**rate(tool, arguments, options.repeats, "delay *stage*\n"),
                                           "window_ns": window[0]}
    for name, found in rates.items():
        watched.say(f"{name}: {found['wrong']} of {found['runs']} wrong in {found['seconds']} s {found['error']}")
    if rates["sound, delayed"]["wrong"] != 0:
        failures.append("a sound program is wrong when it is delayed")
    result = {"program": "culprits", "kernels": 64, "launches": 2048, "rates": rates, "searches": []}
    watched.write(options, "bisect", result)
    for case in CASES:
        found = search(tool, case, options.out, 100)
        result["searches"].append(found)
        watched.write(options, "bisect", result)
        watched.say(found)
        if not found["right"]:
            failures.append(f"{case[0]}: {found}")
    return watched.end(failures)


if __name__ == "__main__":
    sys.exit(main())
