#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks of pdl/cdp.cuh that need no device.

    calls     each function launches into the stream that it should, and asks for the error, under nvcc and NVRTC
    compiles  nvcc takes it in each C++ standard with warnings as errors, host compilers take the host half, and
              it can be included where code is not relocatable
    refused   a launch without -rdc=true, a wrong number of arguments and a wrong argument do not compile
"""

import argparse
import os
import re
import sys
import tempfile

import probe

HERE = os.path.dirname(os.path.abspath(__file__))
LAUNCHES = os.path.join(HERE, "cdp", "launches.cu")
HOST = os.path.join(HERE, "cdp", "host.c")
SHORT = {"__cudaCDP2LaunchDeviceV2": "launch", "__cudaCDP2GetLastError": "error", "cudaGraphLaunch": "graph"}


def calls_of(body):
    """The calls in a kernel's PTX that start or check something, each with its second argument."""
    found, stream = [], "register"
    for line in body.splitlines():
        argument = re.match(r"\s*st\.param\.b64\s+\[param1(?:\+0)?\], (\S+);", line)
        if argument:
            stream = argument.group(1)
        name = re.match(r"\s*(\w+),\s*$", line)
        if name and name.group(1) in SHORT:
            what = SHORT[name.group(1)]
            if what != "error":
                value = stream if stream.startswith("%") else int(stream, 0)
                what += " register" if isinstance(value, str) else " %d" % value if value < 16 else " %#x" % value
            found.append(what)
    return ", ".join(found) or "nothing"


def wrong_calls(ptx):
    with open(LAUNCHES, encoding="utf-8") as file:
        expected = dict(re.findall(r"^// CALLS (\w+): (.*)$", file.read(), flags=re.M))
    with open(ptx, encoding="utf-8") as file:
        kernels = {name: calls_of(body) for name, body in probe.ptx_kernels(file.read())}
    wrong = ["there is no kernel %s" % name for name in sorted(set(expected) - set(kernels))]
    for name in sorted(set(kernels)):
        if kernels[name] != expected.get(name):
            wrong.append("%s: expected %s, found %s" % (name, expected.get(name), kernels[name]))
    return wrong


def nvcc_ptx(arguments, directory, include):
    ptx = os.path.join(directory, "launches.ptx")
    probe.must([arguments.nvcc, "-ptx", "-arch=sm_90", "-rdc=true", "-std=c++11", "-I", include, "-o", ptx, LAUNCHES])
    return ptx


def calls(arguments, directory):
    wrong = wrong_calls(nvcc_ptx(arguments, directory, arguments.include))
    if arguments.nvrtc:
        ptx = os.path.join(directory, "nvrtc.ptx")
        header = os.path.join(arguments.include, "pdl", "cdp.cuh")
        for standard in probe.STANDARDS:
            probe.must([*probe.NVRTC, arguments.nvrtc, LAUNCHES, ptx, header, "pdl/cdp.cuh", "--gpu-architecture=compute_90",
                  "--relocatable-device-code=true", "--std=" + standard])
            wrong += ["NVRTC, %s: %s" % (standard, line) for line in wrong_calls(ptx)]
    return wrong


def compiles(arguments, directory):
    output = os.path.join(directory, "out.o")
    alone = os.path.join(directory, "alone.cu")
    with open(alone, "w", encoding="utf-8") as file:
        file.write("#include <pdl/cdp.cuh>\n")
    for standard in probe.STANDARDS:
        command = [arguments.nvcc, "-c", "-arch=sm_90", "-std=" + standard, "-I", arguments.include]
        command += ["-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Werror", "-o", output]
        probe.must(command + ["-rdc=true", LAUNCHES])
        probe.must(command + [alone])
        if arguments.nvrtc:
            header = os.path.join(arguments.include, "pdl", "cdp.cuh")
            probe.must([*probe.NVRTC, arguments.nvrtc, alone, output, header, "pdl/cdp.cuh", "--gpu-architecture=compute_90",
                  "--std=" + standard])
    for compiler, language, standards in (
        (arguments.cc, "c", ("c99", "c11")), (arguments.cxx, "c++", ("c++11", "c++20"))):
        for standard in standards:
            command = [compiler, "-x", language, "-std=" + standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
            probe.must(command + ["-fsyntax-only", "-I", arguments.include, "-isystem", arguments.cuda_include, HOST])
    return []


# What does not compile, the options, and what the compiler says of it.
KERNEL = "__global__ void child(unsigned *);\n__global__ void parent(unsigned *x, cudaGraphExec_t g) { %s; }\n"
REFUSED = [
    ("pdl_cdp_fire_and_forget(nullptr, child, 1, 1, 0, x)", [], "need nvcc -rdc=true"),
    ("pdl_cdp_tail(nullptr, child, 1, 1, 0, x)", [], "need nvcc -rdc=true"),
    ("pdl_cdp_launch(nullptr, 0, child, 1, 1, 0, x)", [], "need nvcc -rdc=true"),
    ("pdl_cdp_graph_fire_and_forget(nullptr, g)", [], "need nvcc -rdc=true"),
    ("pdl_cdp_graph_tail(nullptr, g)", [], "need nvcc -rdc=true"),
    ("pdl_cdp_graph_sibling(nullptr, g)", [], "need nvcc -rdc=true"),
    ("pdl_cdp_fire_and_forget(nullptr, child, 1, 1, 0)", ["-rdc=true"], "another number of arguments"),
    ("pdl_cdp_tail(nullptr, child, 1, 1, 0, x, x)", ["-rdc=true"], "another number of arguments"),
    ("pdl_cdp_fire_and_forget(nullptr, child, 1, 1, 0, 1.5)", ["-rdc=true"], "unsigned int *"),
]


def refused(arguments, directory):
    source, wrong = os.path.join(directory, "refused.cu"), []
    for statement, options, message in REFUSED:
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <pdl/cdp.cuh>\n" + KERNEL % statement)
        command = [arguments.nvcc, "-c", "-arch=sm_90", "-std=c++11", "-I", arguments.include, source]
        result = probe.run(command + options + ["-o", os.path.join(directory, "refused.o")])
        if result.returncode == 0:
            wrong.append("%s: compiles" % statement)
        elif message not in result.stdout:
            wrong.append("%s: refused without '%s':\n%s" % (statement, message, probe.beginning(result.stdout)))
    return wrong


def main():
    checks = {"calls": calls, "compiles": compiles, "refused": refused}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", choices=checks)
    parser.add_argument("--include", required=True, help="the directory that holds pdl/cdp.cuh")
    parser.add_argument("--cuda-include", required=True)
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--nvrtc", help="the NVRTC library")
    parser.add_argument("--cc", required=True, help="the host's C compiler")
    parser.add_argument("--cxx", required=True, help="the host's C++ compiler")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        wrong = checks[arguments.check](arguments, directory)
    print("\n".join(wrong) or "as it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
