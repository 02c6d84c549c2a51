#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pages.py SOURCE: what the documents share, and where their links lead.

The paragraph on what safe means has the same words wherever it is. Every link to a file of the tree leads to one, and every
anchor to a heading. The repository has one address, a placeholder.
"""

import functools
import pathlib
import re
import sys

SAFE = ("README.md", "docs/glossary.md", "docs/tutorial.md", "docs/migration.md", "include/pdl/pdl.h")
ADDRESS = "https://example.com/libpdl.git"


def words(text):
    return re.sub(r"[`*]|\s+", " ", text).split()


def shared_paragraph(text):
    """The paragraph that begins as it does, in Markdown or in a comment, or None."""
    text = re.sub(r"^ \*[ /]?", "", text, flags=re.MULTILINE)
    found = re.search(r"^`PDL_OVERLAP_AUTO` grants an early start .*?(?=\n\n|\n*\Z)", text, re.MULTILINE | re.DOTALL)
    return words(found[0]) if found else None


def prose(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


@functools.lru_cache(maxsize=None)
def anchors(page):
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", prose(page.read_text(encoding="utf-8")), re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


def broken_links(source, page):
    text = re.sub(r"`[^`\n]*`", "", prose(page.read_text(encoding="utf-8")))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        if re.match(r"\w+:", link):
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            yield "there is no %s" % link
        elif anchor and anchor not in anchors(target):
            yield "%s has no heading for #%s" % (target.relative_to(source), anchor)


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    wrong = []
    first = shared_paragraph((source / SAFE[0]).read_text(encoding="utf-8"))
    for name in SAFE:
        here = shared_paragraph((source / name).read_text(encoding="utf-8"))
        if here is None or here != first:
            wrong.append("%s: the paragraph on what safe means %s" % (name, "differs from that of " + SAFE[0] if here else "is not there"))
    pages = sorted(source.glob("*.md")) + sorted((source / "docs").rglob("*.md"))
    for page in pages:
        wrong += ["%s: %s" % (page.relative_to(source), problem) for problem in broken_links(source, page)]
        for address in re.findall(r"(?:https?|git|ssh)://[^\s`'\")]*libpdl[^\s`'\")]*", page.read_text(encoding="utf-8")):
            if address.rstrip(".,;") != ADDRESS:
                wrong.append("%s: %s is not the address of the repository, %s" % (page.relative_to(source), address, ADDRESS))
    print("\n".join(wrong))
    return 1 if wrong or len(pages) < 30 else 0


if __name__ == "__main__":
    sys.exit(main())
