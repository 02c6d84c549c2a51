#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every function that fills a struct which begins with its size is in a table of the tests of that rule, see
test/unit/sized.h. Its arguments are the folder of the public headers and that of the tests."""

import pathlib
import re
import sys

include, tests = map(pathlib.Path, sys.argv[1:])
text = "".join(re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
               for path in sorted(include.rglob("*.h")))
sized = set(re.findall(r"typedef struct (\w+)\s*\{\s*uint32_t size;", text))
outputs = set()
for name, parameters in re.findall(r"PDL_API\b[^;{]*?\b(pdl_\w+)\s*\(([^;{]*?)\)\s*;", text):
    for parameter in parameters.split(","):
        match = re.fullmatch(r"(\w+)\s*\*\s*\w+", parameter.strip())
        if match and match.group(1) in sized:
            outputs.add(name)
tested = set()
for path in sorted(tests.rglob("test_*sized.c")):
    tested |= set(re.findall(r"^    \{\"(pdl_\w+)\", fill_", path.read_text(encoding="utf-8"), re.M))
print(f"{len(sized)} structs with a size, {len(outputs)} functions that fill one")
if len(outputs) < 10:
    sys.exit("the headers are not read as they are written")
for name in sorted(outputs - tested):
    print(f"{name} is in no table of test_*sized.c")
for name in sorted(tested - outputs):
    print(f"{name} is in a table, and fills no struct with a size")
sys.exit(outputs != tested)
