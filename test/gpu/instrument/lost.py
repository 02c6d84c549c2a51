#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What proof.py does when the device is lost, on a stand-in for chains.cu: it starts one process, ends the run at the first
error with one message, and launches nothing more. Takes the options of proof.py but --program. Needs no device."""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
STAND_IN = r"""#!%(python)s
import json, sys
def log(line):
    with open(%(log)r, "a", encoding="utf-8") as file:
        file.write(line + "\n")
log("start")
answers = iter(%(answers)r)
print(json.dumps(next(answers)), flush=True)
for line in sys.stdin:
    if line.startswith("run "):
        log("run")
        answer = next(answers, None)
        if answer is None:
            sys.exit(3)
        print(json.dumps({"rounds": 20, "different": 20, "early": 20, **answer}), flush=True)
"""
DEVICE = {"device": "none", "architecture": 90}
LOST = {"error": "fault", "message": "chain: cudaErrorUnknown"}
# What the process answers, how often it is asked for a run, the exit status, and what is said.
CASES = (
    ([DEVICE, {}, {}, LOST, {}, {}], 3, 1, "failed: the run ends, as the device may be lost: "),
    ([DEVICE, {}, {}], 3, 1, "failed: the run ends, as the device may be lost: "),
    ([{"error": "fault", "message": "cudaErrorNoDevice"}], 0, 1, "failed: cudaErrorNoDevice"),
    ([{"error": "skip", "message": "none"}], 0, 77, "skipped: none"),
)


def main():
    wrong = []
    for answers, runs, status, said in CASES:
        with tempfile.TemporaryDirectory() as folder:
            program, log = os.path.join(folder, "chains"), os.path.join(folder, "log")
            with open(program, "w", encoding="utf-8") as file:
                file.write(STAND_IN % {"python": sys.executable, "log": log, "answers": answers})
            os.chmod(program, 0o755)
            command = [sys.executable, "-B", os.path.join(HERE, "proof.py"), "--filter", "right/named", "--rounds", "20"]
            environment = {name: value for name, value in os.environ.items() if name != "PDL_TEST_REQUIRE_GPU"}
            done = subprocess.run(command + ["--program", program] + sys.argv[1:], stdout=subprocess.PIPE, check=False,
                                  stderr=subprocess.PIPE, text=True, env=environment)
            with open(log, encoding="utf-8") as file:
                seen = file.read().split()
            lines = [line for line in done.stderr.splitlines() if line.startswith(("failed", "skipped"))]
            if seen != ["start"] + runs * ["run"] or done.returncode != status or not lines[:1] or len(lines) > 1 \
                    or not lines[0].startswith(said):
                wrong.append("%s: %s, %d: %s" % (answers, seen, done.returncode, done.stderr))
    print("\n".join(wrong + ["%d cases, %d wrong" % (len(CASES), len(wrong))]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
