#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_links.py FOLDER: every link, picture and anchor that the pages of a folder refer to is in the folder."""

import functools
import html
import pathlib
import re
import sys


@functools.lru_cache(maxsize=None)
def text_of(page):
    return page.read_text(encoding="utf-8", errors="replace")


@functools.lru_cache(maxsize=None)
def anchors_of(page):
    return set(re.findall(r'(?:id|name)="([^"]+)"', text_of(page)))


def main():
    folder = pathlib.Path(sys.argv[1])
    pages, broken = sorted(folder.glob("*.html")), 0
    for page in pages:
        for link in sorted(set(re.findall(r'(?:href|src|data)="([^"]+)"', text_of(page)))):
            name, _, anchor = html.unescape(link).partition("#")
            target = folder / name if name else page
            if re.match(r"(https?|mailto|javascript|data):", link):
                continue
            if not target.exists() or (anchor and target.suffix == ".html" and anchor not in anchors_of(target)):
                print("%s: nothing is at %s" % (page.name, link))
                broken += 1
    return 1 if broken or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
