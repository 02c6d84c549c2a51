#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""documents.py PREFIX DOCDIR MANDIR: every page that an installed pdltool refers to, and that these refer to, is there."""

import json
import pathlib
import re
import subprocess
import sys

KERNEL = ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry kernel() { ret; }\n"


def run(*command, **options):
    """What a command prints."""
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options).stdout


def pointers(pdltool, manual):
    """Yields (who, page)."""
    texts = {"pdltool --help": run(pdltool, "--help")}
    for command in re.findall(r"^  (\w+)  ", texts["pdltool --help"], re.MULTILINE):
        texts["pdltool %s --help" % command] = run(pdltool, command, "--help")
    for page in sorted(manual.glob("*.1")):
        texts[page.name] = page.read_text(encoding="utf-8").replace("\\-", "-")
    sarif = json.loads(run(pdltool, "lint", "--sarif", "-", input=KERNEL))
    for rule in sarif["runs"][0]["tool"]["driver"]["rules"]:
        texts["SARIF's rule " + rule["id"]] = json.dumps(rule)
    if len(texts) < 30:
        sys.exit("there are fewer help texts, man pages and rules than there should be: %s" % ", ".join(texts))
    for who, text in texts.items():
        for page in re.findall(r"(?:\bdoc/libpdl/|(?<!libpdl/)\b(?=docs/))((?:[\w-]+/)*[\w-]+(?:\.md)?)", text):
            yield who, page


def main():
    prefix = pathlib.Path(sys.argv[1])
    documents, manual = prefix / sys.argv[2], prefix / sys.argv[3] / "man1"
    found, missing = 0, []
    for who, page in pointers(prefix / "bin" / "pdltool", manual):
        found += 1
        if not (documents / page).exists():
            missing.append("%s refers to %s" % (who, page))
    for page in sorted(documents.rglob("*.md")):
        text = re.sub(r"```.*?\n```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for link in re.findall(r"\]\(([\w./-]+\.(?:md|svg))(?:#[^)]*)?\)", text):
            found += 1
            if not (page.parent / link).exists():
                missing.append("%s refers to %s" % (page.relative_to(documents), link))
    print("\n".join(missing))
    print("%d references, %d of them to what is not installed" % (found, len(missing)))
    return 1 if missing or found < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
