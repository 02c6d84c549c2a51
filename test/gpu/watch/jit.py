#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `pdltool watch --instrument` makes of a program whose kernels have no PDL and are compiled by the driver.

The results have to be equal. All kernels have to be instrumented, and those that trigger have to overlap. Times are printed and not judged."""

import os
import sys

import watched

# Those with "trigger" have PDL_INSTRUMENT_TRIGGER=wait.
WAYS = [("plain", None), ("plain, watched", []), ("entry", ["--instrument", "entry"]),
        ("entry, trigger at the wait", ["--instrument", "entry"]),
        ("hoist, trigger at the wait", ["--instrument", "hoist"]),
        ("entry, no device times", ["--instrument", "entry", "--no-cupti"]),
        ("entry, trigger at the wait, no device times", ["--instrument", "entry", "--no-cupti"])]


def check(name, report, failures, triggers):
    kernels = {watched.kernel_name(kernel): kernel for kernel in (report or {}).get("kernels", [])}
    for way in "runtime", "module", "library", "linked":
        kernel = next((kernels[k] for k in kernels if k.startswith(f"stage_{way}")), None)
        if kernel is None:
            failures.append(f"{name}: stage_{way} is not in the report")
            continue
        facts = {key: kernel.get(key) for key in ("instrumented", "shown_to_wait", "race", "added", "overlapped")}
        watched.say(f"{name}: stage_{way}: {facts}")
        if (facts["instrumented"], facts["race"]) != ("yes", "none") or not facts["added"]:
            failures.append(f"{name}: stage_{way}: {facts}")
        if triggers and facts["overlapped"] is not None and facts["overlapped"] == 0:
            failures.append(f"{name}: stage_{way} does not overlap")


def main():
    options = watched.parser(__doc__).parse_args()
    tool = watched.Tool(options)
    rows, failures = {}, []
    for name, how in WAYS:
        text = options.out / f"jit-{name.replace(', ', '-').replace(' ', '-')}.txt" if options.out else None
        command = [tool.program("jit")]
        os.environ["PDL_INSTRUMENT_TRIGGER"] = "wait" if "trigger" in name else "none"
        result = tool.watch(command, how, 60, text=text) if how is not None else None
        finished = result.finished if result is not None else watched.run(command, 60)
        if finished.code == watched.SKIPPED:
            return watched.SKIPPED
        line = finished.line_of_json()
        if finished.code != 0 or line is None:
            failures.append(f"{name}: exit code {finished.code}: {finished.err[-300:]}")
            continue
        rows[name] = {"ways": line["ways"], "sums": watched.sums(result.report) if result else None}
        watched.say(f"{name}: " + ", ".join(f"{way} {of['us_per_kernel']} us" for way, of in line["ways"].items()))
        if how and "--instrument" in how:
            if result.problem is not None:
                failures.append(f"{name}: {result.problem}")
            check(name, result.report, failures, "trigger" in name)
        watched.write(options, "jit", {"program": "jit", "rows": rows, "failures": failures})
    for place in ("stream", "graph"): # which launch differently often
        hashes = {of["results"] for row in rows.values() for way, of in row["ways"].items() if way.endswith(place)}
        if len(hashes) != 1:
            failures.append(f"the results differ: {place}: {sorted(hashes)}")
    watched.write(options, "jit", {"program": "jit", "rows": rows, "failures": failures})
    return watched.end(failures)


if __name__ == "__main__":
    sys.exit(main())
