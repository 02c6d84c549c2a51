#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pdltool tune on a device, with a chain whose kernel lacks its wait where trigger 3 is selected (see fc.cu), and with
injected faults, so that this shows.

What lacks it must be thrown out as a race wherever it is tried, and what is chosen must compute what the chain
computes without overlap. Exits with 77, "skipped", where there is no device that can overlap.
"""

import argparse
import array
import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
WITHOUT_WAIT = 3
KINDS = {"first", "second", "scale"}


def check(good, said):
    if not good:
        sys.exit("tune_gpu: " + said)


def write_chain(arguments, directory):
    """The chain with its kernels compiled for each trigger, and its data; returns its path."""
    for trigger in range(-1, 4):
        command = [arguments.nvcc, "-arch=sm_90", "-cubin", "-I", arguments.include, f"-DPDL_TRIGGER_SELECT={trigger}", "-DPDL_FAULT_INJECT=2"]
        subprocess.run([*command, "-o", Path(directory, f"{trigger}.cubin"), Path(arguments.chain).with_name("fc.cu")], check=True)
    some = random.Random(1)
    for name, count in (("w1", 1 << 22), ("w2", 1 << 22), ("x", 1 << 11)):
        values = array.array("f", (some.uniform(-1, 1) for _ in range(1 << 11)))
        Path(directory, name).write_bytes(values.tobytes() * (count >> 11))
    return shutil.copy(arguments.chain, directory)


def has_device(pdltool):
    result = subprocess.run([pdltool, "info"], stdout=subprocess.PIPE, text=True, check=False)
    return result.returncode == 0 and "overlap: yes" in result.stdout.split("device 1:")[0]


def check_points(curve):
    """Of a curve: right where the kernel waits, a race where it does not."""
    racing = 0
    for point in curve["points"]:
        what = "%s, trigger %d: %s (%s)" % (curve["kind"], point["trigger"], point["state"], point["why"])
        if point["trigger"] == WITHOUT_WAIT:
            racing += 1
            check(point["state"] == "race", what)
            check(point["us"] is None, what + ", and it was measured")
        else:
            check(point["state"] == "right", what)
    check(curve["taken"]["trigger"] != WITHOUT_WAIT, "a kernel without a wait was taken")
    return racing


def check_result(result):
    check(result["failed"] is None, "it failed: %s" % result["failed"])
    check(result["ended_early"] is None, "it ended early: %s" % result["ended_early"])
    racing = {kind: 0 for kind in KINDS}
    for curve in result["curves"]:
        racing[curve["kind"]] += check_points(curve)
    check(racing["first"] >= 1 and racing["second"] >= 1 and racing["scale"] == 0, "not all was tried: %s" % racing)
    check({kind["name"] for kind in result["kinds"]} == KINDS, "kinds are missing")
    for kind in result["kinds"]:
        check(kind["chosen"]["trigger"] != WITHOUT_WAIT, "a kernel without a wait was chosen for " + kind["name"])
        check(result["better"] or kind["chosen"] == kind["start"], "something was chosen that is not better")
    last = result["last_comparison"]
    finals = ["no_overlap", "start"] + (["chosen"] if result["better"] else [])
    for name in finals:
        check(last[name] is not None and last[name]["state"] == "right", name + " does not compute what it should")
        check(last[name]["us"] > 0, name + " was not measured")
    check(not result["better"] or last["chosen"]["ratio_high"] < 1, "what was chosen is not faster than the start")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pdltool", required=True)
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--include", required=True, help="libpdl's headers")
    parser.add_argument("chain")
    arguments = parser.parse_args()
    if not has_device(arguments.pdltool):
        print("there is no device that can overlap")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as directory:
        chain = write_chain(arguments, directory)
        command = [arguments.pdltool, "tune", chain, "--rounds", "5", "--budget", "200", "--json"]
        result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        check(result.returncode == 0, "pdltool ended with %d" % result.returncode)
        check_result(json.loads(result.stdout))


if __name__ == "__main__":
    main()
