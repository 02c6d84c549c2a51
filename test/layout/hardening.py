#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the linker made of the hardening flags, read from the files that are shipped.

    hardening.py [--fortify] FILE...

A flag that one target does not get, or that a later one takes back, shows in its file alone."""
import argparse
import re
import subprocess
import sys

# What a function begins with that may be reached by an indirect branch: endbr64; bti c, paciasp.
LANDING = {
    "Advanced Micro Devices X86-64": [bytes.fromhex("f30f1efa")],
    "AArch64": [bytes.fromhex("5f2403d5"), bytes.fromhex("3f2303d5")],
}


def readelf(readelf_path, *arguments):
    result = subprocess.run([readelf_path, "-W", *arguments], capture_output=True, text=True, check=True)
    return result.stdout


def number(text):
    return int(text, 16)


class File:
    def __init__(self, path, tool):
        self.path = path
        with open(path, "rb") as file:
            self.bytes = file.read()
        header = readelf(tool, "-h", path)
        self.machine = re.search(r"Machine: +(.+)", header)[1]
        self.kind = re.search(r"Type: +(\w+)", header)[1]
        self.dynamic = readelf(tool, "-d", path)
        # Type, offset, address, physical address, size in the file, size in memory, flags, alignment
        self.segments = [
            (m[1], number(m[2]), number(m[3]), number(m[4]), m[5])
            for m in re.finditer(
                r"^ +(\w+) +(0x\w+) (0x\w+) 0x\w+ (0x\w+) 0x\w+ ([RWE ]{3}) ", readelf(tool, "-l", path), re.M
            )
        ]
        self.symbols = [
            line.split()
            for line in readelf(tool, "--dyn-syms", path).splitlines()
            if re.match(r" *\d+: ", line)
        ]

    def imports(self, pattern):
        return any(
            len(s) > 7 and s[6] == "UND" and re.fullmatch(pattern, s[7].split("@")[0]) for s in self.symbols
        )

    def exported_functions(self):
        for symbol in self.symbols:
            if len(symbol) > 7 and symbol[3] == "FUNC" and symbol[6] != "UND":
                yield symbol[7].split("@")[0], number(symbol[1])

    def at(self, address, size):
        for kind, offset, start, length, _ in self.segments:
            if kind == "LOAD" and start <= address < start + length:
                return self.bytes[offset + address - start :][:size]
        return b""


def faults(file, fortify):
    kinds = {segment[0]: segment for segment in file.segments}
    if file.kind != "DYN":
        yield "it is not position-independent (-fPIE, -fPIC)"
    if "GNU_RELRO" not in kinds:
        yield "its relocated data stays writable (-z relro)"
    if not re.search(r"BIND_NOW|Flags:.* NOW", file.dynamic):
        yield "it binds lazily (-z now)"
    if "E" in kinds.get("GNU_STACK", ("", 0, 0, 0, "RWE"))[4]:
        yield "its stack is executable"
    for kind, _, start, _, flags in file.segments:
        if kind == "LOAD" and "W" in flags and "E" in flags:
            yield f"its segment at {start:#x} is writable and executable"
    if "TEXTREL" in file.dynamic:
        yield "its code is relocated"
    if not file.imports("__stack_chk_(fail|guard)"):
        yield "no function checks its stack (-fstack-protector-strong)"
    if fortify and not file.imports(r"__\w+_chk"):
        yield "no call checks its buffer (-D_FORTIFY_SOURCE)"
    landing = LANDING.get(file.machine)
    if landing:
        bare = [
            name
            for name, address in file.exported_functions()
            if name not in ("_init", "_fini") and not any(file.at(address, len(code)) == code for code in landing)
        ]
        if bare:
            yield (
                f"{len(bare)} functions do not say that they are targets of indirect branches "
                f"(-fcf-protection, -mbranch-protection), such as {bare[0]}()"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--fortify", action="store_true", help="the build is optimized")
    parser.add_argument("--readelf", default="readelf")
    arguments = parser.parse_args()
    failed = False
    for path in arguments.files:
        found = list(faults(File(path, arguments.readelf), arguments.fortify))
        for fault in found:
            print(f"{path}: {fault}")
        failed = failed or bool(found)
    if failed:
        sys.exit(1)
    print(f"{len(arguments.files)} files are hardened")


if __name__ == "__main__":
    main()
