#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""all.py BUILD OUT [SECONDS [PART...]]: see all.sh."""

import json
import os
import sys
import time
from pathlib import Path

import watched

HERE = Path(__file__).resolve().parent
# In order of importance: the script, its options, the most seconds that it may take.
PARTS = [("reasons", [], 70), ("races", [], 30), ("truth", [], 50), ("switch", [], 110),
         ("jit", [], 90), ("bisect_runs", ["--seconds", "40"], 160), ("cost", ["--rounds", "3"], 110),
         ("others", [], 200), ("bad", [], 120)]


def library_of(build):
    for path in sorted(Path(build).glob("lib/**/libpdl-watch.so")):
        return str(path.resolve())
    return None


class All:
    def __init__(self, build, out, until):
        self.build, self.out, self.until = build, out, until
        self.summary = {}
        self.env = dict(os.environ)
        library = library_of(build)
        if library is not None:
            self.env.setdefault("PDL_WATCH_LIBRARY", library)

    def run(self, part):
        name, options, seconds = part
        left = self.until - time.monotonic()
        if left < 5:
            self.summary[name] = {"result": "no time left"}
            return
        command = [sys.executable, "-B", HERE / f"{name}.py", "--pdltool", self.build / "tools/pdltool", "--programs",
                   self.build / "test/gpu/watch", "--out", self.out, *options]
        finished = watched.run(command, min(seconds, left), self.env)
        (self.out / f"{name}.log").write_text(finished.out + finished.err, encoding="utf-8")
        result = ("out of time" if finished.timed_out else
                  {0: "as it should be", watched.SKIPPED: "skipped"}.get(finished.code, "failed"))
        self.summary[name] = {"result": result, "exit_code": finished.code, "seconds": round(finished.seconds, 1),
                              "failures": [line for line in finished.err.splitlines() if line.startswith("failed:")]}
        if "the device is lost" in finished.err:
            self.until = 0 # nothing more is launched
        self.write()
        print(f"==== {name}: {result}, {finished.seconds:.1f} s\n" + (finished.out + finished.err)[-2500:], flush=True)

    def write(self):
        (self.out / "summary.json").write_text(json.dumps(dict(self.summary), indent=1) + "\n", encoding="utf-8")


def main():
    if len(sys.argv) < 3:
        print(f"usage: {sys.argv[0]} BUILD OUT [SECONDS [PART...]]", file=sys.stderr)
        return 2
    chosen = sys.argv[4:]
    unknown = set(chosen) - {name for name, _, _ in PARTS}
    if unknown:
        print(f"no such part: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 960
    everything = All(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), time.monotonic() + seconds)
    everything.out.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        if not chosen or part[0] in chosen:
            everything.run(part)
    everything.write()
    for name, part in everything.summary.items():
        print(f"{name}: {part['result']}")
    return 0 if all(part["result"] in ("as it should be", "skipped") for part in everything.summary.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
