#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Spellings of PDL_OVERLAP and PDL_OVERLAP_STRICT, read by libpdl.so as it is built.

spellings.py CONSUMER STRICT: the programs fake_consumer and fake_strict, which check what became of their launches. Here it
is checked that an unknown value is reported in one line, and a known one in none.
"""

import os
import subprocess
import sys

OVERLAP = {
    "granted": ["", " ", "1", "on", "ON", "True", " yes\n", "tRUE"],
    "disabled": ["0", "off", "OFF", "Off ", "\tfalse", "FALSE", "no", "0 ", " No\n"],
    "disabled, unknown": ["o", "of", "offf", "captur", "captures", "2", "-1", "0.0", "null", "none", "on,", "on off", "'off'", "ｏｆｆ"],
}
STRICT = {
    "off": ["", "0", "off", "No", " FALSE "],
    "strict": ["1", "on", "yes", "YES", " True "],
    "strict, unknown": ["2", "strict", "y", "tru", "prove"],
}


def main():
    wrong = count = 0
    for program, variable, known, expected in (sys.argv[1], "PDL_OVERLAP", "off, on or capture: off", OVERLAP), \
            (sys.argv[2], "PDL_OVERLAP_STRICT", "off or on: on", STRICT):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PDL_") or name == "PDL_FAKE_LOG"}
        for outcome, spellings in expected.items():
            scenario, _, unknown = outcome.partition(", ")
            for spelling in spellings:
                result = subprocess.run([program, scenario, *(["unknown"] if unknown and program == sys.argv[2] else [])], env={**clean, variable: spelling, "PDL_OVERLAP_PROOF": "off"}, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, timeout=60, check=False)
                shown = "".join(c if " " <= c <= "~" else "???" for c in spelling)
                said = f"libpdl: {variable} is '{shown}', and must be {known} is used\n" if unknown else ""
                count += 1
                if result.returncode != 0 or (result.stdout + result.stderr) != said:
                    wrong += 1
                    print(f"{variable}={spelling!r} as {scenario}: status {result.returncode}, said {(result.stdout + result.stderr)!r} "
                          f"and not {said!r}")
    print(f"{count} spellings, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
