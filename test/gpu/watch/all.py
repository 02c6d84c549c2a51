#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""all.py BUILD OUT [SECONDS [PART...]]: runs everything of this folder on a device, or the parts that are named, each for
a limited time and all of it for SECONDS (default 840). Writes results and OUT/summary.json. One part runs at a time."""

import json
import os
import sys
import time
from pathlib import Path

import watched

HERE = Path(__file__).resolve().parent
# In order of importance: the most seconds that a part may take.
PARTS = {"reasons": 70, "races": 30, "truth": 50, "switch": 110, "jit": 90, "bisect_runs": 200, "programs": 290}


def run(part, build, out, seconds):
    env = dict(os.environ)
    for library in sorted(build.glob("lib/**/libpdl-watch.so")):
        env.setdefault("PDL_WATCH_LIBRARY", str(library))
    finished = watched.run([sys.executable, "-B", HERE / f"{part}.py", "--pdltool", build / "tools/pdltool", "--programs",
                            build / "test/gpu/watch", "--out", out], seconds, env)
    (out / f"{part}.log").write_text(finished.out + finished.err, encoding="utf-8")
    result = ("out of time" if finished.timed_out else
              {0: "as it should be", watched.SKIPPED: "skipped"}.get(finished.code, "failed"))
    print(f"==== {part}: {result}, {finished.seconds:.1f} s\n" + (finished.out + finished.err)[-2500:], flush=True)
    return {"result": result, "seconds": round(finished.seconds, 1), "lost": "the device is lost" in finished.err,
            "failures": [line for line in finished.err.splitlines() if line.startswith("failed:")]}


def main():
    chosen = sys.argv[4:] or list(PARTS)
    if len(sys.argv) < 3 or not set(chosen) <= set(PARTS):
        print(f"usage: {sys.argv[0]} BUILD OUT [SECONDS [PART...]]; parts: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    build, out = (Path(text).resolve() for text in sys.argv[1:3])
    until = time.monotonic() + (float(sys.argv[3]) if len(sys.argv) > 3 else 840)
    out.mkdir(parents=True, exist_ok=True)
    summary = {}
    for part in chosen:
        left = until - time.monotonic()
        if left < 5 or any(found["lost"] for found in summary.values()): # nothing more is launched
            break
        summary[part] = run(part, build, out, min(PARTS[part], left))
        (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    for part in chosen:
        print(f"{part}: {summary[part]['result'] if part in summary else 'not run'}")
    return 0 if all(part in summary and summary[part]["result"] in ("as it should be", "skipped") for part in chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
