#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""all.py BUILD OUT [SECONDS]: see all.sh."""

import json
import os
import sys
import time
from pathlib import Path

import watched

HERE = Path(__file__).resolve().parent
# In order of importance: the script, its options, the most seconds that it may take.
PARTS = [
    ("switch", [], 90), ("reasons", [], 60), ("races", [], 30), ("truth", [], 40), ("bisect", [], 110),
    ("cost", ["--rounds", "3"], 90), ("others", [], 150), ("bad", [], 90),
]


def library_of(build):
    for path in sorted(Path(build).glob("lib/**/libpdl-watch.so")):
        return str(path.resolve())
    return None


def main():
    if len(sys.argv) not in (3, 4):
        print(f"usage: {sys.argv[0]} BUILD OUT [SECONDS]", file=sys.stderr)
        return 2
    build, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    until = time.monotonic() + (float(sys.argv[3]) if len(sys.argv) == 4 else 480)
    out.mkdir(parents=True, exist_ok=True)
    env = dict(os.environ)
    library = library_of(build)
    if library is not None:
        env.setdefault("PDL_WATCH_LIBRARY", library)
    summary = {}
    for name, options, seconds in PARTS:
        left = until - time.monotonic()
        if left < 5:
            summary[name] = {"result": "no time left"}
            continue
        command = [sys.executable, "-B", HERE / f"{name}.py", "--pdltool", build / "tools/pdltool", "--programs",
                   build / "test/gpu/watch", "--out", out, *options]
        finished = watched.run(command, min(seconds, left), env)
        (out / f"{name}.log").write_text(finished.out + finished.err, encoding="utf-8")
        word = ("out of time" if finished.timed_out else
                {0: "as it should be", watched.SKIPPED: "skipped"}.get(finished.code, "failed"))
        summary[name] = {"result": word, "exit_code": finished.code, "seconds": round(finished.seconds, 1),
                         "failures": [line for line in finished.err.splitlines() if line.startswith("failed:")]}
        (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
        print(f"==== {name}: {word}, {finished.seconds:.1f} s")
        print((finished.out + finished.err)[-3000:], flush=True)
    (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    for name, part in summary.items():
        print(f"{name}: {part['result']}")
    return 0 if all(part["result"] in ("as it should be", "skipped") for part in summary.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
