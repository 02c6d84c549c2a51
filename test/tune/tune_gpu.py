#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pdltool tune on a device, with a chain whose kernel lacks its wait where trigger 3 is selected (see fc.cu).

What lacks it must be thrown out as a race wherever it is tried, and what is chosen must compute what the chain
computes without overlap. Exits with 77, "skipped", where there is no device that can overlap.
"""

import argparse
import json
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
    """The chain with its kernels compiled for each trigger, plainly and with faults injected; returns its path."""
    chain = json.loads(Path(arguments.chain).read_text(encoding="utf-8"))
    for key, options in (("images", []), ("faulty", ["-DPDL_FAULT_INJECT=2"])):
        chain[key] = {str(trigger): "%s%d.cubin" % (key, trigger) for trigger in chain["triggers"]}
        for trigger, name in chain[key].items():
            command = [arguments.nvcc, "-arch=sm_90", "-cubin", "-I", arguments.include, "-DPDL_TRIGGER_SELECT=" + trigger, *options]
            subprocess.run([*command, "-o", Path(directory, name), Path(arguments.chain).with_name("fc.cu")], check=True)
    path = Path(directory, "chain.json")
    path.write_text(json.dumps(chain), encoding="utf-8")
    return str(path)


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
            check(point["samples"] == [], what + ", and it was measured")
        else:
            check(point["state"] == "right", what)
    check(curve["taken"]["trigger"] != WITHOUT_WAIT, "a kernel without a wait was taken")
    return racing


def check_result(result, rounds):
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
        check(len(last[name]["samples"]) == 2 * rounds and min(last[name]["samples"]) > 0, name + " was not measured")
    check(not result["better"] or last["chosen"]["ratio_high"] < 1, "what was chosen is not faster than the start")


def main():
    rounds = 5
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
        output = Path(directory, "result.json")
        chain = write_chain(arguments, directory)
        command = [arguments.pdltool, "tune", chain, "--rounds", str(rounds), "--budget", "200", "--json", str(output)]
        result = subprocess.run(command, check=False)
        check(result.returncode == 0, "pdltool ended with %d" % result.returncode)
        check_result(json.loads(output.read_text(encoding="utf-8")), rounds)


if __name__ == "__main__":
    main()
