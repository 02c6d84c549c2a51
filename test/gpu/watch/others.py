#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Watches programs that this project did not write the kernels of: PyTorch, Triton, CUB, cuBLAS, NCCL, and programs of
several threads, processes and devices. For each the report for people and as JSON is written into the folder of results."""

import sys
from pathlib import Path

import watched

HERE = Path(__file__).resolve().parent


def commands(tool, python):
    torch_programs = [python, "-B", str(HERE / "torch_programs.py")]
    found = {f"torch_{way}": [*torch_programs, way] for way in ("eager", "graph", "products", "compile")}
    found.update({way: [*torch_programs, way] for way in ("triton", "triton_pdl")})
    found["cub"] = [tool.program("cub")]
    found["blas"] = [tool.program("blas")]
    for way in ("threads", "processes", "devices"):
        found[f"several_{way}"] = [tool.program("several"), way]
    return found


def brief(report):
    """What is worth a row: the sums, and the kernels with the most time."""
    kernels = sorted(report["kernels"], key=lambda kernel: -(kernel.get("time_ns") or 0))
    return {"verdict": watched.sums(report), "processes": len(report.get("processes", [])), "kernels": len(kernels),
            "notes": report.get("notes"),
            "top": [{key: kernel.get(key) for key in
                     ("name", "demangled", "launches", "asked", "granted", "overlapped", "waits", "triggers", "ptx_version",
                      "time_ns", "overlap_ns", "reasons", "race")} for kernel in kernels[:8]]}


def main():
    parser = watched.parser(__doc__)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", nargs="*", help="names of programs")
    options = parser.parse_args()
    tool = watched.Tool(options)
    failures, result = [], {}
    for name, command in commands(tool, options.python).items():
        if options.only and name not in options.only:
            continue
        if not Path(command[0]).exists():
            result[name] = {"skipped": "not built"}
            continue
        text = options.out / f"other_{name}.txt" if options.out is not None else None
        watch = tool.watch(command, timeout=150, text=text)
        if watch.skipped:
            result[name] = {"skipped": watch.finished.err.strip()[-200:]}
            watched.say(f"{name}: skipped")
            continue
        own = {"exit_code": watch.finished.code, "seconds": round(watch.finished.seconds, 1),
               "recording_bytes": watch.recording_bytes}
        if watch.finished.code != 0 or watch.report is None:
            own["problem"] = watch.problem or watch.finished.err[-600:]
            failures.append(f"{name}: exit code {watch.finished.code}: {own['problem']}")
        if watch.report is not None:
            own.update(brief(watch.report))
            watched.write(options, f"other_{name}", watch.report)
        result[name] = own
        watched.say(f"{name}: exit code {own['exit_code']}, {own['seconds']} s, {own.get('verdict')}")
        watched.write(options, "others", result)
    watched.write(options, "others", result)
    if result and all("skipped" in own for own in result.values()):
        return watched.SKIPPED
    return watched.end(failures)


if __name__ == "__main__":
    sys.exit(main())
