#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the kinds of graph edges: edge-*.svg beside this script.

Each picture is a time line of three blocks of a producer and three of its consumer. With --check nothing
is written, and the exit status is 1 if a picture is not what this script draws.
"""

import os
import sys

WIDTH, HEIGHT = 800, 286
LEFT, SCALE = 108, 1.0  # where time 0 is, and how wide a unit of it
BAR, GAP = 16, 5
PRODUCER_Y, CONSUMER_Y = 62, 158
LATENCY = 14  # from what an edge waits for to the consumer's first block
PROLOGUE, MAIN = 84, 150  # of the consumer, before and after its wait

STARTS = [4, 12, 20]
TRIGGERS = [196, 222, 208]
ENDS = [340, 362, 350]

STYLE = """
    text { font: 13px system-ui, "DejaVu Sans", Arial, sans-serif; fill: #24292f }
    .title { font-size: 15px; font-weight: 600 }
    .small { font-size: 12px }
    .line { stroke: #57606a; stroke-width: 1.4; fill: none }
    .guide { stroke: #57606a; stroke-width: 1; stroke-dasharray: 3 3; fill: none }
    .head { fill: #57606a }
    .before { fill: #3b78c3 } .after { fill: #93b9e6 }
    .prologue { fill: #3f9d62 } .main { fill: #d58a2a }
    .wait { fill: #8c959f; fill-opacity: .35; stroke: #6e7781 }
    .hazard { fill: #cf3b3b }
    .mark { fill: #24292f }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 }
      .line, .guide { stroke: #9da7b3 }
      .head { fill: #9da7b3 }
      .mark { fill: #e6edf3 }
    }"""


class Picture:
    def __init__(self, title, summary):
        self.parts = []
        self.title = title
        self.summary = summary
        self.text(12, 24, title, "title")
        self.text(12, 44, summary)

    def text(self, x, y, words, style=""):
        words = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        style = ' class="%s"' % style if style else ""
        self.parts.append('<text x="%g" y="%g"%s>%s</text>' % (x, y, style, words))

    def box(self, x, y, width, height, style):
        self.parts.append(
            '<rect x="%g" y="%g" width="%g" height="%g" rx="2" class="%s"/>'
            % (x, y, width, height, style)
        )

    def bar(self, begin, end, y, style):
        if end > begin:
            self.box(LEFT + SCALE * begin, y, SCALE * (end - begin), BAR, style)

    def mark(self, at, y):
        """A tick for a trigger."""
        x = LEFT + SCALE * at
        self.tip(x, y + 4)

    def tip(self, x, y):
        self.parts.append('<path d="M%g %gl-5 -7h10z" class="mark"/>' % (x, y))

    def guide(self, at, top, bottom):
        x = LEFT + SCALE * at
        self.parts.append('<path d="M%g %gV%g" class="guide"/>' % (x, top, bottom))

    def arrow(self, begin, top, end, bottom):
        """Down from one time to another one."""
        x0, x1 = LEFT + SCALE * begin, LEFT + SCALE * end
        curve = (x0, top, x0, top + 22, x1, bottom - 26, x1, bottom - 6)
        self.parts.append('<path d="M%g %gC%g %g %g %g %g %g" class="line"/>' % curve)
        self.parts.append('<path d="M%g %gl-4 -8h8z" class="head"/>' % (x1, bottom))

    def svg(self):
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">\n'
            "<!-- SPDX-License-Identifier: MIT; drawn by edges.py -->\n"
            "<title>%s</title>\n<desc>%s</desc>\n<style>%s\n</style>\n%s\n</svg>\n"
            % (WIDTH, HEIGHT, WIDTH, HEIGHT, self.title, self.summary, STYLE, "\n".join(self.parts))
        )


def row(first, index):
    return first + index * (BAR + GAP)


def draw(title, summary, cause, starts_after, covered, label):
    """`cause`: the time of what the edge waits for; `starts_after`: from there to the consumer's start."""
    picture = Picture(title, summary)
    top = row(PRODUCER_Y, 2) + BAR
    end = max(ENDS)
    picture.text(12, PRODUCER_Y + 34, "producer")
    picture.text(12, CONSUMER_Y + 34, "consumer")
    for i in range(3):
        y = row(PRODUCER_Y, i)
        picture.bar(STARTS[i], TRIGGERS[i], y, "before")
        picture.bar(TRIGGERS[i], ENDS[i], y, "after")
        picture.mark(TRIGGERS[i], y)
    picture.guide(cause, PRODUCER_Y - 6, top + 4)
    first = cause + starts_after
    returns = end + 6 if covered else 0  # when the wait returns, if it waits
    last = 0
    for i in range(3):
        y = row(CONSUMER_Y, i)
        begin = first + 8 * i
        wait = begin + PROLOGUE
        go = max(wait, returns)
        picture.bar(begin, wait, y, "prologue")
        picture.bar(wait, go, y, "wait")
        if covered:
            picture.bar(go, go + MAIN, y, "main")
        else:
            picture.bar(go, min(end, go + MAIN), y, "hazard")
        last = max(last, go)
    picture.arrow(cause, top + 4, first, CONSUMER_Y - 1)
    picture.text(LEFT + SCALE * first + 10, CONSUMER_Y - 10, label, "small")
    if covered and starts_after == LATENCY:
        picture.guide(end, PRODUCER_Y - 6, top + 4)
        picture.guide(end, CONSUMER_Y - 4, CONSUMER_Y + 3 * (BAR + GAP))
        x = LEFT + SCALE * (end + 12)
        picture.text(x, PRODUCER_Y + 34, "all blocks have ended, their writes are", "small")
        picture.text(x, PRODUCER_Y + 50, "visible: PDL_WAIT() returns", "small")
    if not covered:
        x = LEFT + SCALE * (last + MAIN + 12)
        picture.text(x, CONSUMER_Y + 26, "PDL_WAIT() returns at once: what is read", "small")
        picture.text(x, CONSUMER_Y + 42, "here may not have been written yet", "small")
    legend(picture, covered, starts_after == LATENCY)
    return picture.svg()


def legend(picture, covered, early):
    x, y = LEFT + STARTS[0], HEIGHT - 40
    entries = [("before", "before the trigger"), ("after", "after it"), ("prologue", "before the wait")]
    if covered and early:
        entries.append(("wait", "waiting"))
    entries.append(("main", "after the wait") if covered else ("hazard", "after the wait"))
    for style, words in entries:
        picture.box(x, y, 14, 12, style)
        picture.text(x + 20, y + 11, words, "small")
        x += 44 + 6.8 * len(words)
    words = "the trigger, PDL_LAUNCH_DEPENDENTS(): each block has its own"
    picture.tip(LEFT + STARTS[0] + 6, HEIGHT - 10)
    picture.text(LEFT + STARTS[0] + 20, HEIGHT - 9, words, "small")


PICTURES = {
    "edge-full.svg": draw(
        "PDL_EDGE_FULL: type default, port default",
        "The consumer starts after the producer's end, with all that it wrote visible.",
        max(ENDS), 58, True, "starts after the end",
    ),
    "edge-programmatic.svg": draw(
        "PDL_EDGE_PROGRAMMATIC: type programmatic, port programmatic",
        "The consumer starts once every block of the producer has triggered or ended;"
        " its wait makes the memory visible.",
        max(TRIGGERS), LATENCY, True, "starts after the last trigger",
    ),
    "edge-programmatic-at-block-start.svg": draw(
        "PDL_EDGE_PROGRAMMATIC_AT_BLOCK_START: type programmatic, port launch order",
        "The consumer starts once every block of the producer has started;"
        " its wait makes the memory visible.",
        max(STARTS), LATENCY, True, "starts after the last block's start",
    ),
    "edge-launch-completion.svg": draw(
        "PDL_EDGE_LAUNCH_COMPLETION: type default, port launch order",
        "The consumer starts once every block of the producer has started."
        " Its wait does not wait for the producer.",
        max(STARTS), LATENCY, False, "starts after the last block's start",
    ),
}


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit("usage: edges.py [--check]")
    stale = 0
    for name, picture in PICTURES.items():
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
        if sys.argv[1:]:
            try:
                with open(path, encoding="utf-8") as file:
                    same = file.read() == picture
            except FileNotFoundError:
                same = False
            if not same:
                print("%s is not what edges.py draws: run it" % name)
                stale = 1
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(picture)
    return stale


if __name__ == "__main__":
    sys.exit(main())
