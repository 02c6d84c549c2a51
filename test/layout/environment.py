#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""environment.py SOURCE: nothing reads a variable of libpdl around the table in lib/os/environment.h, the documents name no
variable that it lacks, and docs/environment.md names whatever else is read."""

import pathlib
import re
import sys

READS = re.compile(r'\b(?:secure_getenv|getenv|pdl_environment|pdl_environment_secure)\(([^)]*)\)')
NAME = re.compile(r'"([A-Z][A-Z0-9_]+)"')
SETS = re.compile(r"(?<![-\w$])(?<!-D )(PDL_(?!TEST_)[A-Z_]+)=")


def main():
    source = pathlib.Path(sys.argv[1])
    table = set(re.findall(r"\bX\((PDL_\w+),", (source / "lib/os/environment.h").read_text(encoding="utf-8")))
    page = (source / "docs/environment.md").read_text(encoding="utf-8")
    wrong, reads, used = [], 0, set()
    files = [path for folder in ("lib", "tools") for path in sorted((source / folder).rglob("*.[ch]"))]
    for path in files:
        text = path.read_text(encoding="utf-8")
        calls = [match for match in READS.finditer(text) if not match.group(1).startswith("const char *")]
        names = {name for match in calls for name in NAME.findall(match.group(1))}
        # A name that is a constant's or a loop's stands elsewhere in the file.
        if any('"' not in match.group(1) for match in calls) and path.name not in ("posix.c", "windows.c", "variable.c", "info.c"):
            names |= {name for name in NAME.findall(text) if re.match(r"(CUDA|PDL|NVCC|CPATH|C_|CPLUS|CPP)", name)}
        reads += len(calls)
        for name in sorted(names):
            if name.startswith("PDL_"):
                wrong.append(f"{path}: {name} is read around lib/os/environment.h")
            elif not re.search(rf"`{name}`", page):
                wrong.append(f"{path}: {name} is not in docs/environment.md")
        through = re.findall(r"PDL_VARIABLE\((PDL_\w+)\)", text)
        used.update(through)
        reads += len(through)
    wrong += [f"lib/os/environment.h: nothing reads {name}" for name in sorted(table - used)]
    documents = [source / "README.md", source / "SECURITY.md", *sorted((source / "docs").rglob("*.md")),
                 *sorted((source / "include").rglob("*.h")), *sorted((source / "docs/man").glob("*.1"))]
    for path in documents:
        text = path.read_text(encoding="utf-8")
        names = set(SETS.findall(text)) if path.suffix != ".h" else set(re.findall(r"`(PDL_[A-Z_]+)=", text))
        if path.suffix == ".1":
            part = text[text.index(".SH ENVIRONMENT"):text.index(".SH FILES")]
            names |= set(re.findall(r"PDL_[A-Z_]+", part))
        wrong += [f"{path}: {name} is not in lib/os/environment.h" for name in sorted(names - table)]
    print("\n".join(wrong))
    print(f"{len(table)} variables, {reads} places that read, {len(documents)} documents, {len(wrong)} wrong")
    return 1 if wrong or len(table) < 25 or reads < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
