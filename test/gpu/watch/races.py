#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether `pdltool watch` names as races the broken kernels of lint_pairs.cuh, and none of the sound ones."""

import sys

import watched

# The broken kernels that do not wait at all in what was run. The others are named where their PTX is there to analyse.
NEVER_WAIT = ["never_waits_broken"]
SOUND = ["prepare", "produce"]


def main():
    options = watched.parser(__doc__).parse_args()
    tool = watched.Tool(options)
    text = options.out / "races.txt" if options.out is not None else None
    result = tool.watch([tool.program("races")], text=text)
    if result.skipped:
        return watched.SKIPPED
    if result.report is None:
        return watched.end([result.problem])
    kernels = {}
    for kernel in result.report["kernels"]:
        name = watched.kernel_name(kernel).split("(")[0]
        kernels[name] = {"race": watched.word(kernel["race"]), "finding": kernel["finding"]}
    failures = []
    broken = {name: kernel for name, kernel in kernels.items() if name.endswith("_broken")}
    sound = {name: kernel for name, kernel in kernels.items() if name.endswith("_mended") or name in SOUND}
    named = [name for name, kernel in broken.items() if kernel["race"] not in ("none", "early", "unknown")]
    early = [name for name, kernel in broken.items() if kernel["race"] == "early"]
    if len(broken) != 14 or len(sound) != 12:
        failures.append(f"{len(broken)} broken kernels and {len(sound)} sound ones were seen, not 14 and 12")
    failures += [f"{name} never waits, and is not named" for name in NEVER_WAIT if name not in named]
    failures += [f"{name} is sound, and is named: {kernel}" for name, kernel in sound.items()
                 if kernel["race"] not in ("none", "early")] # what is constant, only the host knows
    for name, kernel in sorted(broken.items()):
        watched.say(f"{name}: {kernel['race']} {kernel['finding'] or ''}")
    failures += [f"{name} is neither named nor shown" for name in broken if name not in named + early]
    watched.say(f"{len(named)} of {len(broken)} broken kernels named as races, {len(early)} as reading or writing early")
    watched.write(options, "races", {"program": "races", "named": len(named), "early": len(early), "broken": broken, "sound": sound,
                                     "failures": failures})
    return watched.end(failures)


if __name__ == "__main__":
    sys.exit(main())
