# SPDX-License-Identifier: MIT
"""Does what nvcc and clang do as far as `pdltool lint` sees it: PTX of one kernel.

The kernel waits first if WAITS is in the source or in a header; else it reads at the line of READS. FAIL in it is an
error, SLEEP takes long. Each command is a line of JSON in the file that STAND_IN_LOG names."""

import json
import os
import re
import subprocess
import sys
import time

PTX = """.version 8.0
.target {target}
.address_size 64
	.file	1 "{path}"
.visible .entry {name}(
	.param .u64 {name}_param_0
)
{{
	.reg .b64 %rd<3>;
	.reg .f32 %f<2>;
	.loc	1 {line} 5
	ld.param.u64 %rd1, [{name}_param_0];
	cvta.to.global.u64 %rd2, %rd1;
	{before}
	ld.global.f32 %f1, [%rd2];
	{after}
	st.global.f32 [%rd2], %f1;
	ret;
}}
"""


def read(path):
    """The text of a source and of what it includes."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    folders = [os.path.dirname(path)] + [word[2:] for word in sys.argv if word.startswith("-I") and word != "-I"]
    for name in re.findall(r'(?m)^#include "(.*)"', text):
        found = [os.path.join(folder, name) for folder in folders if os.path.exists(os.path.join(folder, name))]
        if not found:
            sys.exit(f"{path}(1): fatal error: {name}: No such file or directory")
        text = read(found[0]) + text
    return text


def quoted(path):
    """As nvcc writes a name into PTX."""
    escapes = {ord('"'): '\\"', ord("\\"): "\\\\"}
    return "".join(escapes.get(byte, chr(byte) if byte < 0x80 else f"\\{byte:03o}") for byte in os.fsencode(path))


def value_of(option):
    return sys.argv[sys.argv.index(option) + 1]


def main():
    source = sys.argv[-1]
    with open(os.environ["STAND_IN_LOG"], "a", encoding="utf-8") as file:
        flags = {name: value for name, value in os.environ.items() if name.startswith("NVCC_")}
        file.write(json.dumps({"argv": sys.argv, "directory": os.getcwd(), "flags": flags}) + "\n")
    text = read(source)
    if "FAIL" in text:
        print("a line on standard output")
        sys.exit(f"{source}(1): error: FAIL is not a declaration")
    if "SLEEP" in text:
        with open(os.path.join(os.environ["TMPDIR"], "left"), "w", encoding="ascii"):
            pass
        with subprocess.Popen(["sleep", "300"]) as sleeper:
            with open(os.environ["STAND_IN_LOG"] + ".pid", "a", encoding="ascii") as file:
                file.write(f"{sleeper.pid}\n")
            sleeper.wait()
    time.sleep(float(os.environ.get("STAND_IN_SECONDS", "0")))
    lines = text.splitlines()
    waits = "WAITS" in text
    with open(value_of("-o"), "w", encoding="utf-8") as file:
        file.write(
            PTX.format(
                target=[word for word in sys.argv if "arch=" in word][-1].split("=")[1],
                path=quoted(os.path.join(os.getcwd(), source)),
                name=re.sub(r"(?a)\W", "_", os.path.basename(source)),
                line=next((i + 1 for i, line in enumerate(lines) if "READS" in line), 1),
                before="griddepcontrol.wait;" if waits else "",
                after="" if waits else "griddepcontrol.wait;",
            )
        )


main()
