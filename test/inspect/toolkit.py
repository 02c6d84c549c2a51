#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads what an nvcc makes: every kind of container, and code for every architecture that it lists.

containers: compiles a source with each option that changes how images are stored, checks that the kind of entry is really
there, and that pdltool inspect reads the images that are stored without that option.

architectures: compiles kernels.cu for each architecture of nvcc --list-gpu-code, and as PTX for each of --list-gpu-arch, for
debugging and to be linked, and checks what is found of its kernels. A copy of the newest cubin for an architecture that does not
exist is read with a note if its code is whole, and not read if its end is changed.

The nvcc is PDL_TEST_NVCC of the environment, or --nvcc. What this nvcc cannot make is skipped with a line per kind;
PDL_TEST_REQUIRE_CONTAINERS=1 makes that an error. Exit status: 0; 1 if a check failed; 77 without an nvcc."""

import argparse
import json
import os
import re
import shutil
import struct
import subprocess
import sys

SOURCE = r"""
__global__ void waits(const int *a, int *b)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    b[threadIdx.x] = a[threadIdx.x] + 1;
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__global__ void never(int *b) { b[threadIdx.x] = 1; }
int main() {}
"""
KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels.cu")
TILE_SOURCE = "__tile_global__ void tile(int *) {}\n"
PTX, CUBIN, LTO, LINKED_PTX, TILE, TABLE = 1, 2, 8, 0x40, 0x80, 0x100
NAMES = {PTX: "PTX", CUBIN: "cubin", LTO: "LTO-IR", LINKED_PTX: "PTX to be linked", TILE: "Tile IR", TABLE: "table of images"}
NO_SUCH_ARCHITECTURE = 199


def fail(message):
    sys.exit(f"toolkit.py: {message}")


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=300)


def entry_kinds(path):
    """The kinds of all entries of all fatbins in a file, and of what the payloads of tables hold; read without pdltool."""
    with open(path, "rb") as file:
        data = file.read()
    kinds = set()
    at = data.find(b"\x50\xed\x55\xba\x01\x00")
    while at >= 0:
        header, body = struct.unpack_from("<HQ", data, at + 6)
        entry, end = at + header, at + header + body
        while entry + 64 <= end <= len(data):
            kind, _, header_size, size = struct.unpack_from("<HHIQ", data, entry)
            kinds.add(kind)
            entry += header_size + size
        at = data.find(b"\x50\xed\x55\xba\x01\x00", at + 8)
    return kinds


class Toolkit:
    def __init__(self, arguments):
        self.pdltool = arguments.pdltool
        self.include = arguments.include
        self.folder = arguments.folder
        self.nvcc = os.environ.get("PDL_TEST_NVCC") or arguments.nvcc
        self.skipped = []
        if not self.nvcc or shutil.which(self.nvcc) is None:
            print(f"toolkit.py: SKIPPED: there is no nvcc ({self.nvcc or 'PDL_TEST_NVCC is not set'})")
            sys.exit(77)
        os.makedirs(self.folder, exist_ok=True)
        for name, text in (("kernels.cu", SOURCE), ("tile.cu", TILE_SOURCE)):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)
        version = re.search(r"release ([\d.]+)", run(self.nvcc, "--version").stdout)
        self.version = tuple(int(part) for part in version.group(1).split("."))
        print(f"nvcc {version.group(1)}: {self.nvcc}")

    def path(self, name):
        return os.path.join(self.folder, name)

    def listed(self, option, prefix):
        output = run(self.nvcc, option).stdout
        return sorted({int(number) for number in re.findall(prefix + r"(\d+)\b", output)})

    def make(self, name, *options, source="kernels.cu"):
        """Whether nvcc makes a file; if not, why."""
        path = self.path(name)
        if os.path.exists(path):
            os.remove(path)
        result = run(self.nvcc, *options, "-o", path, *(self.path(part) for part in source.split()))
        if result.returncode == 0 and os.path.exists(path):
            return None
        lines = (result.stderr or result.stdout).strip().splitlines()
        return next((line for line in lines if re.search("error|fatal", line)), lines[-1] if lines else "no output")

    def need(self, name, *options, source="kernels.cu"):
        why = self.make(name, *options, source=source)
        if why is not None:
            fail(f"{name}: nvcc {' '.join(options)}: {why}")
        return self.path(name)

    def skip(self, what, why):
        self.skipped.append(what)
        print(f"SKIPPED: {what}: nvcc {'.'.join(map(str, self.version))} cannot make it: {why}")

    def inspect(self, path, code=0):
        result = run(self.pdltool, "inspect", "--json", path)
        if result.returncode != code:
            fail(f"pdltool inspect {path}: {result.returncode}, not {code}\n{result.stdout}{result.stderr}")
        return json.loads(result.stdout), result.stderr


def images(document):
    """Each image that was read as a line, with what its kernels do."""
    lines = []
    for index, image in enumerate(document["images"]):
        kernels = sorted(f"{kernel['name']} {kernel['waits']} {kernel['triggers']}" for kernel in document["kernels"]
                         if kernel["image"] == index)
        lines.append(" ".join([image["kind"], image["target"], "unread" if image["unread"] else ""] + kernels))
    return sorted(lines)


# ---- containers ---------------------------------------------------------------------------------------------------------


def check_stored(toolkit, name, path, kinds, expected, code=0, is_program=False):
    """Checks that entries of these kinds are there and that these images are read. The device linker may add cubins
    without kernels to a program."""
    missing = kinds - entry_kinds(path)
    if missing:
        fail(f"{name}: no entry of kind {', '.join(NAMES[kind] for kind in missing)} in {path}")
    document, _ = toolkit.inspect(path, code)
    found = [line for line in images(document) if not is_program or not re.fullmatch(r"sass \S+ ", line)]
    if expected is not None and found != expected:
        fail(f"{name}: images\n  " + "\n  ".join(found) + "\nnot\n  " + "\n  ".join(expected))
    print(f"{name}: {len(found)} images")
    return document


def generate(codes):
    options = []
    for code in codes:
        options += ["-gencode", f"arch=compute_{code},code=[sm_{code},compute_{code}]"]
    return options


def containers(toolkit):
    codes = toolkit.listed("--list-gpu-code", "sm_")
    several = [code for code in (90, 100, 103) if code in codes]
    options = generate(several)
    plain = toolkit.need("plain.fatbin", "-fatbin", *options, "-Xfatbin", "-compress=false")
    document = check_stored(toolkit, "not compressed", plain, {PTX, CUBIN}, None)
    expected = images(document)
    if len(expected) != 2 * len(several) or not all("waitsPKiPi yes yes" in line and "neverPi no no" in line for line in expected):
        fail("not compressed: " + "; ".join(expected))
    text = f"-arch=compute_{several[0]}"
    check_stored(toolkit, "PTX", toolkit.need("bare.ptx", "-ptx", text), set(), None)
    check_stored(toolkit, "cubin", toolkit.need("bare.cubin", "-cubin", f"-arch=sm_{several[0]}"), set(), None)
    modes = ["default", "size", "speed", "balance", "none"]
    for mode in modes:
        name = f"--compress-mode={mode}"
        why = toolkit.make(f"{mode}.fatbin", "-fatbin", *options, name)
        if why is None:
            check_stored(toolkit, name, toolkit.path(f"{mode}.fatbin"), {PTX, CUBIN}, expected)
        else:
            toolkit.skip(name, why)
    check_stored(toolkit, "-compress-all", toolkit.need("all.fatbin", "-fatbin", *options, "-Xfatbin", "-compress-all"),
                 {PTX, CUBIN}, expected)
    tables(toolkit, options, expected, modes[:-1])
    several = several[-2:] # two are enough for a table
    expected = [line for line in expected if re.search(rf"_({'|'.join(map(str, several))})\b", line)]
    options = generate(several)
    hosts(toolkit, options, expected)
    if not any(item.startswith("--concat") for item in toolkit.skipped):
        hosts(toolkit, options + ["--concat"], expected, "concat_", {TABLE})
    linked(toolkit, several, options)
    tile(toolkit, several)


def tables(toolkit, options, expected, modes):
    """Images that are compressed together, in fatbins and in files of the host."""
    for mode in modes:
        name = f"--concat --compress-mode={mode}"
        why = toolkit.make(f"concat_{mode}.fatbin", "-fatbin", *options, "--concat", f"--compress-mode={mode}")
        if why is not None:
            toolkit.skip(name, why)
            continue
        path = toolkit.path(f"concat_{mode}.fatbin")
        check_stored(toolkit, name, path, {TABLE}, expected)
        findings = run(toolkit.pdltool, "lint", path)
        plain = run(toolkit.pdltool, "lint", toolkit.path("plain.fatbin"))
        names = (path, toolkit.path("plain.fatbin"))
        if findings.returncode != plain.returncode or findings.stdout.replace(*names) != plain.stdout:
            fail(f"{name}: lint prints\n{findings.stdout}\nnot\n{plain.stdout}")
    why = toolkit.make("concat_names.fatbin", "-fatbin", *options, "--concat", "-Xfatbin", "-ident=kernels.cu",
                       "-Xfatbin", "-cmdline=-O3")
    if why is None:
        check_stored(toolkit, "--concat with names", toolkit.path("concat_names.fatbin"), {TABLE}, expected)
    else:
        toolkit.skip("--concat with names", why)


def hosts(toolkit, options, expected, prefix="", kinds=frozenset()):
    """Objects, archives and shared libraries of the host."""
    kinds = set(kinds)
    for name, arguments in (("object.o", ["-c"]), ("archive.a", ["-lib"]),
                            ("library.so", ["-shared", "-cudart=none", "-Xcompiler=-fPIC"]), ("program", [])):
        path = toolkit.need(prefix + name, *options, *arguments)
        check_stored(toolkit, prefix + name, path, kinds, expected, is_program=name == "program")
    if run("strip", "-o", path + ".stripped", path).returncode == 0:
        check_stored(toolkit, prefix + "stripped program", path + ".stripped", kinds, expected, is_program=True)


def linked(toolkit, several, options):
    """Relocatable code, what it is linked to, PTX for the driver to link, and intermediate code."""
    first = several[0]
    concat = [] if any(item.startswith("--concat") for item in toolkit.skipped) else ["--concat"]
    for more in ([], concat):
        name = "relocatable" + "".join(more)
        path = toolkit.need(f"{name}.o", "-dc", *options, *more)
        check_stored(toolkit, name, path, {TABLE} if more else {PTX, CUBIN}, None)
        path = toolkit.need(f"{name}.so", "-shared", "-cudart=none", "-rdc=true", "-Xcompiler=-fPIC", *options, *more)
        document = check_stored(toolkit, f"{name}, linked", path, {TABLE} if more else {CUBIN}, None)
        found = {image["target"] for image in document["images"] if image["kind"] == "sass"}
        if found != {f"sm_{code}" for code in several}:
            fail(f"{name}, linked: {found}")
        if not more and not concat:
            break
    toolkit.need("parts.o", "-dc", f"-gencode=arch=compute_{first},code=[sm_{first},compute_{first}]")
    why = toolkit.make("reloc_ptx.o", "-dlink", f"-arch=sm_{first}", "-reloc-ptx", source="parts.o")
    if why is None:
        document = check_stored(toolkit, "-reloc-ptx", toolkit.path("reloc_ptx.o"), {LINKED_PTX, CUBIN}, None)
        if not any(image["kind"] == "ptx" and not image["unread"] for image in document["images"]):
            fail("-reloc-ptx: its PTX was not read")
    else:
        toolkit.skip("-reloc-ptx", why)
    path = toolkit.need("lto.fatbin", "-fatbin", "-dc", f"-gencode=arch=compute_{first},code=[lto_{first},sm_{first}]")
    document = check_stored(toolkit, "LTO-IR", path, {LTO, CUBIN}, None)
    if sorted(image["kind"] for image in document["images"] if image["unread"]) != ["lto"]:
        fail("LTO-IR: " + "; ".join(images(document)))


def tile(toolkit, several):
    code = several[-1]
    why = toolkit.make("tile.fatbin", "--tile-only", "-fatbin", f"-arch=sm_{code}", source="tile.cu")
    if why is not None:
        toolkit.skip("Tile IR", why)
        return
    document = check_stored(toolkit, "Tile IR", toolkit.path("tile.fatbin"), {TILE, CUBIN}, None)
    if sorted(image["kind"] for image in document["images"]) != ["sass", "tile"]:
        fail("Tile IR: " + "; ".join(images(document)))


# ---- architectures ------------------------------------------------------------------------------------------------------


def expected_kernels(has_waits):
    """What machine code shows of kernels.cu: waits, triggers, both instructions, shared memory, parameters."""
    yes, unknown = ("yes", "unknown") if has_waits else ("no", "no")
    one = int(has_waits)
    return {
        "waits_and_triggers": (yes, yes, one, one, 256, 2),
        "waits_in_a_call": (yes, "no", 0, 0, 0, 1),
        "only_triggers": ("no", yes, 0, one, 0, 1),
        "prints": ("no", "no", 0, 0, 0, 1),
        "calls_through_a_pointer": (unknown, unknown, 0, 0, 0, 2),
        "has_large_parameters": ("no", "no", 0, 0, 0, 3),
    }


def check_kernels(toolkit, name, path, has_waits):
    document, error = toolkit.inspect(path)
    image = document["images"][0]
    keys = ("waits", "triggers", "wait_instructions", "trigger_instructions", "shared_memory", "parameters")
    found = {kernel["name"]: tuple(kernel[key] for key in keys) for kernel in document["kernels"]}
    expected = expected_kernels(has_waits)
    if image["kind"] == "ptx":
        found, expected = ({kernel: each[kernel][:2] for kernel in ("waits_and_triggers", "has_large_parameters")} for each in (found, expected))
    if len(document["images"]) != 1 or image["unread"] or found != expected:
        fail(f"{name}: {found}, not {expected}: {image['unread']}")
    if (image["read_as"] is not None) != ("were read as such" in error):
        fail(f"{name}: read as {image['read_as']}, and the note is\n{error}")
    print(f"{name}: found" + (f", read as sm_{image['read_as']}" if image["read_as"] else ""))
    return image


def architectures(toolkit):
    common = ("-std=c++17", "-I", toolkit.include)
    newest = None
    wanted = [(f"sm_{code}", ("-cubin", f"-arch=sm_{code}"), code) for code in toolkit.listed("--list-gpu-code", "sm_")]
    wanted += [(f"compute_{code}", ("-ptx", f"-arch=compute_{code}"), code) for code in toolkit.listed("--list-gpu-arch", "compute_")]
    wanted += [(name, ("-cubin", *options), 90) for name, options in (
        ("sm_90a", ("-arch=sm_90a",)), ("debug", ("-arch=sm_90", "-G")), ("relocatable", ("-arch=sm_90", "-rdc=true")))]
    for name, options, code in wanted:
        path = toolkit.need(name, *common, *options, source=KERNELS)
        check_kernels(toolkit, name, path, code >= 90)
        newest = path if re.fullmatch(r"sm_\d+", name) and code >= 90 else newest
    with open(newest, "rb") as file:
        cubin = bytearray(file.read())
    if cubin[7] != 0x41 or cubin[8] < 8: # the flags of before CUDA 13 hold the architecture elsewhere
        cubin[48] = NO_SUCH_ARCHITECTURE
    else:
        cubin[49] = NO_SUCH_ARCHITECTURE
    changed = toolkit.path("unknown.cubin")
    with open(changed, "wb") as file:
        file.write(cubin)
    image = check_kernels(toolkit, f"sm_{NO_SUCH_ARCHITECTURE}", changed, True)
    if image["read_as"] is None:
        fail(f"sm_{NO_SUCH_ARCHITECTURE} counts as known")
    end = struct.pack("<Q", 0xfffffffc00fc7947) # the branch to itself behind all code
    if end not in cubin:
        fail("the code does not end as it does for known architectures")
    with open(changed, "wb") as file:
        file.write(cubin.replace(end, struct.pack("<Q", 0xfffffffc00fc7957)))
    document, _ = toolkit.inspect(changed, 2)
    if not document["images"][0]["unread"] or any(kernel["waits"] != "unknown" for kernel in document["kernels"]):
        fail("other code than that of known architectures was read")
    if run(toolkit.pdltool, "lint", changed).returncode != 2:
        fail("lint does not report code that it cannot read")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pdltool", required=True)
    parser.add_argument("--folder", required=True, help="for what nvcc makes")
    parser.add_argument("--nvcc", default="")
    parser.add_argument("--include", required=True, help="where the device header is")
    parser.add_argument("part", choices=("containers", "architectures"))
    arguments = parser.parse_args()
    toolkit = Toolkit(arguments)
    {"containers": containers, "architectures": architectures}[arguments.part](toolkit)
    if toolkit.skipped and os.environ.get("PDL_TEST_REQUIRE_CONTAINERS") == "1":
        fail(f"this nvcc does not make: {', '.join(toolkit.skipped)}")


main()
