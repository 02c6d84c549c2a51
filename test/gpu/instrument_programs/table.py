#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""table.py FILE: the tables of a result of run.py, in Markdown."""

import json
import statistics
import sys
from pathlib import Path


def row(*cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def head(*cells):
    return [row(*cells), "|" + "---|" * len(cells)]


def number(value):
    return f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def shape_table(shapes):
    lines = head("Shape", "Variant", "Graph, µs per kernel", "Ratio", "Stream, µs per kernel", "Different results")
    for shape, variants in shapes.items():
        plain = variants.get("plain", {}).get("graph", {}).get("us")
        for variant, found in variants.items():
            graph = found["graph"]
            ratio = f"{plain / graph['us']:.2f}×" if plain else ""
            lines.append(row(shape, variant, f"{graph['us']:.3f} ({graph['p25']:.3f} to {graph['p75']:.3f})", ratio,
                             number(found["stream"]["us"]), f"{found['different']} of {found['trials']}"))
    return lines


class Cell:
    """What one variant of a case measured."""

    def __init__(self):
        self.rounds, self.bits, self.failed = [], None, None

    def times(self, way):
        return [found[way] for found in self.rounds]

    def median(self, way):
        return statistics.median(self.times(way))

    def text(self, way, plain):
        if not self.rounds:
            return self.failed or ""
        values = self.times(way)
        ratio = f", {plain.median(way) / self.median(way):.2f}×" if plain.rounds and plain is not self else ""
        same = all(found["same"] for found in self.rounds) and self.bits == plain.bits
        return f"{number(self.median(way))} ({number(min(values))} to {number(max(values))}){ratio}{'' if same else ', DIFFERENT'}"


VARIANTS = ("plain", "plain again", "entry", "hoist", "trigger", "helper", "inductor")


def program_table(cells, names):
    lines = head("Program", "Way", "Bound by", *VARIANTS)
    for name in names:
        own = {variant: cells.get((*name, variant), Cell()) for variant in VARIANTS}
        plain = own["plain"]
        for way in ("graph", "stream"):
            bound = "device"
            if way == "stream" and plain.rounds and plain.median("host") > 0.9 * plain.median("stream"):
                bound = "host"
            lines.append(row(", ".join(name), way, bound, *(own[variant].text(way, plain) for variant in VARIANTS)))
    return lines


def short(name):
    """A kernel's, or that of an operation that is none."""
    return "copy" if name is None else name if len(name) <= 48 else name[:47] + "…"


def reason_table(program, variant, found):
    verdict = found["verdict"]
    lines = ["", f"{program}, {variant}: {verdict['launches']:,} launches, {verdict['granted']:,} with overlap, "
             f"{verdict['overlapped']:,} overlapped", ""]
    lines += head("First", "Second", "Graph", "Count", "Overlapped", "Saving at most, µs per pair", "Reason")
    for pair in [*found["in_graph"][:10], *found["in_stream"][:4]]:
        lines.append(row(short(pair["first"]), short(pair["second"]), "yes" if pair["in_graph"] else "no", pair["count"],
                         pair["overlapped"], number((pair["saving_ns"] or 0) / 1000 / pair["count"]),
                         pair["detail"] or pair["reason"]))
    return lines


def tables(path):
    shapes, cells, names, other, notes = {}, {}, [], [], []
    for text in Path(path).read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        program, variant = line.get("program"), line.get("variant")
        if "problem" in line or "failed" in line:
            notes.append(f"- {program}, {variant} {line.get('case', '')}: "
                         + (line.get("problem") or line["failed"]).strip().replace("\n", " / ")[-400:])
        if "kernels" in line:
            notes.append(f"- kernels compiled with {variant}: {json.dumps(line['kernels'])}")
        if "reasons" in line:
            other += reason_table(program, variant, line["reasons"])
        if program == "shapes":
            shapes.update(line.get("round", {}))
        elif variant in VARIANTS:
            for case, found in line.get("round", {}).items():
                cells.setdefault((program, case, variant), Cell()).rounds.append(found)
            if "case" in line:
                cell = cells.setdefault((program, line["case"], variant), Cell())
                cell.bits, cell.failed = line.get("bits"), line.get("failed") and "failed"
                if (program, line["case"]) not in names:
                    names.append((program, line["case"]))
    return "\n".join([*shape_table(shapes), "", *program_table(cells, names), *other, "", *notes, ""])


if __name__ == "__main__":
    print(tables(sys.argv[1]))
