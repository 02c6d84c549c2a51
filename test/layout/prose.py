#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the English of what users read: documents, man pages, doc comments and the texts in tools and libraries.

Each rule is an expression and what to write instead. Code blocks and inline code are not looked at. With --count, the
findings are counted per file and rule.
"""

import argparse
import collections
import os
import re
import sys

MOST_WORDS = 35
UNIT = r"(?:rows?|launch|kernels?|blocks?|threads?|SM|node|page|rule|warp|layer|line|file|process|form|edge|key|step)\b"
RULES = {
    "per": (r"\b(?!(?:is|as|of|for|in|that|has|not|with|from|by|to|and|or|if)\b)(?:\d[\d,.]* )?(?:bytes|registers|ns|µs|"
            r"threads|blocks|pages?|lines?|verdicts?|curves?|warps?|words|findings|entry|tests?|nodes|files?|"
            r"figures?|times) an? " + UNIT, "per row, per launch"),
    "negation": (r"(?<!there )\b(?:is|are|was|were) (?:no (?!longer|more\b|less|better|worse|slower|faster|different)|none\b)"
                 r"|(?:that|which|what) nobody|\bof nobody's", "is not a, invalid, unknown, unsupported"),
    "nobody": (r"\b(?:nobody|somebody)\b", "no kernel, nothing, a user"),
    "tells": (r"\b(?:tells?|telling|told)\b", "reports, shows, states, distinguishes"),
    "mended": (r"\b(?:mend(?:s|ed|ing)?)\b", "fixed"),
    "said": (r"\b(?:is|are|be|was|unless|as|been) said\b", "reported, stated, noted"),
    "what": (r"^What (?!is |you |to |does |do )[^,.;:?]* (?:is|are|may|can|must|stays|comes|counts|holds|goes|has|needs)\b[^?]{8,}$",
             "name the subject: options that, files that"),
    "of": (r"^Of (?!course)", "begin with the subject"),
    "stands": (r"\b(?:stands?|stood|lies) (?:in|on|at|above|below|beside|behind|before|around|between|there|after|so)\b", "is"),
    "but-for": (r"\bbut for\b|\bmore so\b|\bin vain\b|\banew\b|\bthereby\b|\bat once\b", "except; immediately; at the same time; again"),
    "luck": (r"\bluck\b|\bshall\b|\baccidents?\b|\bby itself\b|\bof itself\b|\bwanting\b|\bmind that\b", "state the condition"),
    "way": (r"\b(?:all|both|each|every|six|five|four|three|two|these|those|first|last|other|which) ways?\b|\bway of a\b",
            "launch path, method, direction"),
    "place": (r"\b(?:two|three|\d+|which|that|this|any|one and the same|each|first|other|the|all) places?\b(?! of\b| holder)"
              r"|\bplaces? of the (?:trigger|wait)", "source location, trigger position, slot"),
    "line-of-kernels": (r"\blines? of (?:kernels|launches)\b", "chain"),
    "who": (r"\bwhoever\b|\b(?:to|from|by|for) who\b|^Who (?:can|has|knows) [^?]{30,}$", "a user who, an attacker who"),
}


def blocks_of_markdown(text):
    """Paragraphs, list items, headings and cells of tables, each with its line."""
    fenced, block, start = False, [], 0
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        code = fenced or (line.startswith("    ") and not block)
        fenced ^= bare.startswith("```")
        if code or not bare or re.match(r"[-*#>] |##|\d+\. |\||<!--|```", bare):
            yield start, " ".join(block)
            block = []
        if code or fenced or bare.startswith(("```", "<!--")):
            continue
        if bare.startswith("|"):
            yield from ((number, part) for cell in bare.split("|") for part in re.split("[;:] ", cell.strip()))
        elif bare:
            start = start if block else number
            block.append(re.sub(r"^([-*#>]+|\d+\.) ", "", bare))
    yield start, " ".join(block)


def blocks_of_man(text):
    """Paragraphs of a man page."""
    block, start = [], 0
    for number, line in enumerate(text.split("\n"), 1):
        macro = re.match(r"\.(\S*)\s*(.*)", line)
        if macro and macro[1] in ("BR", "IR", "BI", "RI", "B", "I", "RB", "IB"):
            line = macro[2].replace('"', "")
        elif macro or line.startswith("  "):
            yield start, " ".join(block)
            block, line = [], ""
        if line:
            start = start if block else number
            block.append(re.sub(r"\\f.|\\[|&]", "", line.replace("\\-", "-")))
    yield start, " ".join(block)


def blocks_of_header(text):
    """Paragraphs of the comments."""
    for comment in re.finditer(r"/\*\*?<?(.*?)\*/", re.sub(r"@code.*?@endcode", "", text, flags=re.S), re.S):
        start = text.count("\n", 0, comment.start()) + 1
        body = re.sub(r"^ *\* ?", "", comment[1], flags=re.M)
        for part in re.split(r"\n\s*\n|[@\\](?:param\S* \S+|return|note)|Errors: [^.]*\.|\n\s*- ", body):
            yield start, re.sub(r"\s+", " ", part).strip()


def blocks_of_source(text):
    """String literals that are sentences, neighbours joined."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", lambda found: "\n" * found[0].count("\n"), text, flags=re.S)
    for literal in re.finditer(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', text):
        whole = re.sub(r'"\s*"', "", literal[0])[1:-1]
        if whole.count(" ") > 3:
            for part in re.split(r"\\n\s{0,8}(?=\S)(?=\\n)|\\n\\n", whole):
                yield text.count("\n", 0, literal.start()) + 1, re.sub(r"\\n\s*|\s+", " ", part)


KINDS = {".md": blocks_of_markdown, ".1": blocks_of_man, ".h": blocks_of_header, ".cuh": blocks_of_header,
         ".c": blocks_of_source}
# Headers that are not public have comments for developers.
PRIVATE = re.compile(r"(?:^|/)(?:lib|tools)/.*\.(?:h|cuh)$")


def findings_of(path):
    """Each finding of a file: line, rule, what was found and what to write."""
    kind = os.path.splitext(path)[1]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for line, block in KINDS[kind](text):
        block = re.sub(r"`[^`]*`", "X", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", block)).replace("*", "")
        for sentence in re.split(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+", block):
            for rule, (expression, better) in RULES.items():
                for found in re.finditer(expression, sentence, re.I if rule not in ("what", "of") else 0):
                    yield line, rule, found[0][:60], better
            words = len(re.findall(r"(?!X\b)[^\W_][\w'.,-]*", sentence))
            if words > MOST_WORDS and kind != ".c":
                yield line, "length", sentence[:50] + "...", "at most %d words in a sentence, not %d" % (MOST_WORDS, words)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", action="store_true")
    parser.add_argument("paths", nargs="+", help="files, or folders of them")
    options = parser.parse_args()
    files = [path for path in options.paths if os.path.isfile(path)]
    for top in options.paths:
        files += [os.path.join(folder, name) for folder, _, names in os.walk(top) for name in sorted(names)
                  if os.path.splitext(name)[1] in KINDS and not PRIVATE.search(os.path.join(folder, name))]
    counts = collections.Counter()
    for path in files:
        for line, rule, found, better in findings_of(path):
            counts[path, rule] += 1
            if not options.count:
                print("%s:%d: %s: '%s': write: %s" % (path, line, rule, found, better))
    for (path, rule), count in sorted(counts.items()):
        if options.count:
            print("%5d %s %s" % (count, path, rule))
    print("%d findings in %d files" % (sum(counts.values()), len(files)))
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
