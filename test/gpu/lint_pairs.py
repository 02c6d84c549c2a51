#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `pdltool lint` says about the pairs of kernels that lint_pairs_test.cu runs on a device.

Reads the lists of pairs in the header and compiles it to PTX: lint must find the rule of each pair in the broken kernel, at
its source, and nothing above a note in any other kernel. Needs no device.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HARMLESS = "note"


def read_pairs(source):
    """The pairs of the lists: the rule of each broken kernel, and the mended ones."""
    pairs = re.findall(r'\bX\((\w+), (\w+), "([\w-]+)"', source)
    broken = {f"{name}_broken": rule for name, _, rule in pairs}
    if len(pairs) != len(broken) or not pairs:
        raise SystemExit("the lists of pairs are empty or have one twice")
    return broken, {f"{mended}_mended" for _, mended, _ in pairs}


def source_lines(source, kernel):
    """The lines of a kernel's body, from 1."""
    begin = re.search(rf"\b{kernel}\(", source)
    if begin is None:
        raise SystemExit(f"there is no kernel {kernel} in the source")
    end = source.index("\n}\n", begin.end())
    return range(source.count("\n", 0, begin.start()) + 1, source.count("\n", 0, end) + 2)


def compile_ptx(nvcc, include, source, ptx):
    subprocess.run(
        [nvcc, "-ptx", "-x", "cu", "-lineinfo", "-arch=sm_90", "-std=c++17", "-DPDL_FAULT_INJECT=1",
         "-I", include, source, "-o", ptx],
        check=True)
    return re.findall(r"\.entry\s+([\w$]+)", Path(ptx).read_text(encoding="utf-8"))


def lint(pdltool, ptx):
    """Findings by kernel."""
    command = [pdltool, "lint", "--json", "--level", "note", "--fail-on", "never"]
    result = subprocess.run([*command, ptx], stdout=subprocess.PIPE, check=True)
    found = {}
    for finding in json.loads(result.stdout)["findings"]:
        found.setdefault(finding["kernel"], []).append(finding)
    return found


def in_words(findings):
    return ", ".join(f"{f['level']} {f['rule']}" for f in findings) or "nothing"


def check(name, source, kernels, found):
    """Yields what is wrong."""
    broken, mended = read_pairs(source)
    expected = set(broken) | mended | {"prepare", "produce"}
    if set(kernels) != expected:
        yield f"the kernels are not those of the lists: {sorted(set(kernels) ^ expected)}"
    for stray in sorted(set(found) - set(kernels)):
        yield f"findings in {stray}, which is not in the PTX"
    for kernel in kernels:
        open_findings = [f for f in found.get(kernel, []) if not f.get("suppressed")]
        serious = [f for f in open_findings if f["level"] != HARMLESS]
        if kernel not in broken:
            if serious:
                yield f"{kernel}: {in_words(serious)}, and it should have nothing above a note"
            continue
        named = [f for f in serious if f["rule"] == broken[kernel]]
        if not named:
            yield f"{kernel}: {in_words(open_findings)}, and it should have {broken[kernel]} above a note"
            continue
        lines = source_lines(source, kernel)
        places = [p for f in named for p in f["places"]]
        if not any(p["line"] in lines and Path(p["file"]).name == name for p in places):
            yield f"{kernel}: {broken[kernel]} is not found in lines {lines[0]} to {lines[-1]}: {places}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--pdltool", required=True)
    parser.add_argument("--include", required=True)
    parser.add_argument("source", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        ptx = str(Path(directory) / "lint_pairs.ptx")
        kernels = compile_ptx(options.nvcc, options.include, options.source, ptx)
        found = lint(options.pdltool, ptx)
    wrong = list(check(options.source.name, options.source.read_text(encoding="utf-8"), kernels, found))
    for line in wrong:
        print(line, file=sys.stderr)
    if not wrong:
        print(f"{len(kernels)} kernels: each broken one has its rule, no other one more than a note")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
