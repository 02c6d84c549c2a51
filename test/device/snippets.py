#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles the code in a document: every fenced block that is marked as c or cuda.

Blocks in CUDA that include nothing and have no main() are compiled at once, each in a namespace of its own, and one by
one if that fails. A block with a main() is linked with libpdl and the CUDA Runtime as well, and with libpdl-rtc if it includes that
library's header. A block that includes nothing
stands for a part of a program: it gets the libpdl headers, and in C the Runtime's, in front of it.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

PREAMBLE = {
    "c": "#include <cuda_runtime_api.h>\n#include <pdl/rtc.h>\n",
    "cuda": "#include <pdl/cudart.h>\n#include <pdl/device.cuh>\n",
}


def blocks(path):
    """Yields (line, language, text)."""
    language, start, lines = None, 0, []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            fence = re.match(r"```(\w*)", line)
            if not fence:
                lines.append(line)
            elif language is None:
                language, start, lines = fence.group(1), number, []
            else:
                yield start, language, "".join(lines)
                language = None
    if language is not None:
        sys.exit("%s:%d: the block has no end" % (path, start))


def commands(language, text, source, output, links, arguments):
    """The compiler's command line, and what to check after it."""
    library = ["-L" + os.path.dirname(arguments.library), "-l:" + os.path.basename(arguments.library)]
    if "<pdl/rtc.h>" in text:
        path, name = os.path.split(os.path.realpath(arguments.rtc_library))
        # It finds libpdl-inspect by the run path that it has in the build folder.
        library = ["-L" + path, "-l:" + name] + library
    runtime = os.path.join(os.path.dirname(os.path.realpath(arguments.nvcc)), "..", "lib64")
    if language == "cuda":
        command = [arguments.nvcc, "-std=c++17", "-arch=sm_90", "-I", arguments.include]
        command += ["-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Werror"]
        if "<pdl/cdp.cuh>" in text:  # it launches from the device
            command += ["-rdc=true"]
        command += library if links else ["-c"]
    else:
        command = [arguments.cc, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
        command += ["-I", arguments.include, "-isystem", arguments.cuda_include]
        # The libraries go after the source, for the linker.
        command += ["-c"] if not links else []
    command += [source, "-o", output]
    if language == "c" and links:
        command += library + ["-L" + runtime, "-lcudart", "-Wl,-rpath-link," + runtime]
    return command


def has_main(text):
    return re.search(r"\bmain\(", text) is not None


def compile_text(directory, language, text, links, arguments):
    """None, or what the compiler says."""
    source = os.path.join(directory, "snippet." + {"c": "c", "cuda": "cu"}[language])
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    command = commands(language, text, source, os.path.join(directory, "out"), links, arguments)
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return None if result.returncode == 0 else result.stdout


def compiles_together(directory, parts, arguments):
    text = PREAMBLE["cuda"]
    for line, _, part in parts:
        text += 'namespace block_%d {\n#line %d "%s"\n%s}\n' % (line, line + 1, arguments.document, part)
    return compile_text(directory, "cuda", text, False, arguments) is None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--include", required=True)
    parser.add_argument("--cuda-include", required=True)
    parser.add_argument("--library", required=True, help="libpdl.so")
    parser.add_argument("--rtc-library", help="libpdl-rtc.so, for blocks that include its header")
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--cc", required=True)
    parser.add_argument("document")
    arguments = parser.parse_args()
    arguments.library = os.path.realpath(arguments.library)
    found = [block for block in blocks(arguments.document) if block[1] in PREAMBLE]
    parts = [block for block in found if block[1] == "cuda" and "#include" not in block[2] and not has_main(block[2])]
    with tempfile.TemporaryDirectory() as directory:
        if len(parts) > 1 and compiles_together(directory, parts, arguments):
            rest = [block for block in found if block not in parts]
        else:
            rest = found
        failed = 0
        for line, language, text in rest:
            prefix = PREAMBLE[language] if "#include" not in text else ""
            source = '%s#line %d "%s"\n%s' % (prefix, line + 1, arguments.document, text)
            wrong = compile_text(directory, language, source, has_main(text), arguments)
            if wrong is not None:
                failed += 1
                print("%s:%d: the block does not compile\n%s" % (arguments.document, line, wrong))
    count = len(found)
    print("%d of %d blocks compile" % (count - failed, count))
    return 1 if failed or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
