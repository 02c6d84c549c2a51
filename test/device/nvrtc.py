#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles one source to PTX through NVRTC, for the probes:

    nvrtc.py LIBRARY                                         the architectures, one compute_XY a line
    nvrtc.py LIBRARY SOURCE OUTPUT HEADER NAME OPTION...     NAME is what the source includes HEADER as

The header is handed over as text and NVRTC is given no directory to look into. Needs no device."""

import ctypes
import sys


class Nvrtc:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        if result != 0:
            self.library.nvrtcGetErrorString.restype = ctypes.c_char_p
            sys.exit("%s: %s" % (name, self.library.nvrtcGetErrorString(result).decode()))

    def text(self, what, program):
        """The program's log, or its PTX."""
        size = ctypes.c_size_t()
        self.call("nvrtcGet%sSize" % what, program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value + 1)
        self.call("nvrtcGet" + what, program, text)
        return text.value.decode()

    def architectures(self):
        count = ctypes.c_int()
        self.call("nvrtcGetNumSupportedArchs", ctypes.byref(count))
        found = (ctypes.c_int * count.value)()
        self.call("nvrtcGetSupportedArchs", found)
        return list(found)


def warns(log):
    """As with the other compilers, a warning counts as an error: but not that a later NVRTC will not know the
    architecture."""
    return any("warning" in line and "warning: Architectures prior to" not in line for line in log.splitlines())


def read(path):
    with open(path, "rb") as file:
        return file.read()


def strings(*values):
    return (ctypes.c_char_p * len(values))(*values)


def main():
    nvrtc, arguments = Nvrtc(sys.argv[1]), sys.argv[2:]
    if not arguments:
        print("\n".join("compute_%d" % number for number in nvrtc.architectures()))
        return 0
    source, output, header, name, *options = arguments
    program = ctypes.c_void_p()
    nvrtc.call("nvrtcCreateProgram", ctypes.byref(program), read(source), source.encode(), 1, strings(read(header)),
               strings(name.encode()))
    failed = nvrtc.library.nvrtcCompileProgram(program, len(options), strings(*(o.encode() for o in options))) != 0
    log = nvrtc.text("ProgramLog", program)
    print(log, end="", file=sys.stderr)
    if failed or warns(log):
        return 1
    with open(output, "w", encoding="utf-8") as file:
        file.write(nvrtc.text("PTX", program))
    return 0


if __name__ == "__main__":
    sys.exit(main())
