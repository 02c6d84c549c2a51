# SPDX-License-Identifier: MIT
"""Runs that `pdltool bench --json` and the programs of the examples wrote: read, and computed with."""

import json
import math
import os
import re
import statistics
import sys


class Trouble(Exception):
    """What the user has to know, in one line."""


def load(path, **options):
    """The JSON of a file. A pipe would be waited for in silence, so it is refused."""
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            raise Trouble(f"{path}: error: not a regular file")
        with open(path, encoding="utf-8") as file:
            return json.load(file, **options)
    except OSError as error:
        raise Trouble(f"{path}: error: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise Trouble(f"{path}: error: {error}") from error


def quantile(rising, share):
    at = share * (len(rising) - 1)
    below = int(at)
    above = min(below + 1, len(rising) - 1)
    return rising[below] + (rising[above] - rising[below]) * (at - below)


def middle(values):
    """The median of those that are numbers; NaN where none is."""
    known = [value for value in values if not math.isnan(value)]
    return statistics.median(known) if known else math.nan


class Point:
    """One configuration: a row of a table."""

    def __init__(self, table, row):
        self.table, self.id = table, row["id"]
        self.axes = {axis: row["axes"][axis] for axis in table.axes}
        self.against = row["against"]  # an id; Table makes a point of it
        self.waived, self.failed, self.checks, self.passes = row["waived"], row["failed"], row["checks"], row["passes"]
        measured = row["metrics"]
        self.samples = {name: [math.nan if value is None else float(value) for value in measured[name]["samples"]]
                        for name in table.metrics}  # fmt: skip
        for text in (self.id, *self.axes.values(), *[text for text in (self.waived, self.failed) if text is not None]):
            if not isinstance(text, str):
                raise TypeError("a text is not a text")
        self.rising = {name: sorted(value for value in values if math.isfinite(value))
                       for name, values in self.samples.items()}  # fmt: skip

    def way(self):
        return self.axes.get("way", "")

    def known(self, metric):
        """Whether it was measured and is right."""
        return bool(self.rising.get(metric)) and self.waived is None and self.failed is None

    def at(self, metric, share=0.5):
        return quantile(self.rising[metric], share) if self.known(metric) else math.nan

    def noise(self, metric):
        """Half of the distance from the 10th to the 90th percentile, as a share of the median."""
        median = self.at(metric)
        return (self.at(metric, 0.9) - self.at(metric, 0.1)) / 2 / abs(median) if median else math.nan

    def spread(self, metric):
        """How far the passes' medians are from the median of all, as a share of that."""
        samples, whole = self.samples[metric], self.at(metric)
        medians = [middle(samples[begin:end]) for begin, end in zip([0, *self.passes], self.passes)]
        medians = [median for median in medians if not math.isnan(median)]
        return max(abs(median - whole) for median in medians) / abs(whole) if len(medians) > 1 and whole else math.nan

    def ratio(self, base, metric):
        """The median of the rounds' ratios: rounds run both in turn, so these vary less than the medians do."""
        if base is None or not (self.known(metric) and base.known(metric)):
            return math.nan
        pairs = zip(self.samples[metric], base.samples[metric])
        return middle([own / other for own, other in pairs if other and math.isfinite(own / other)])


class Table:
    def __init__(self, content):
        self.suite, self.name, self.title, self.note = (content[key] for key in ("suite", "name", "title", "note"))
        self.key = f"{self.suite}/{self.name}"
        self.axes = list(content["axes"])
        self.metrics = {metric["name"]: metric for metric in content["metrics"]}
        for metric in self.metrics.values():
            metric["tolerance"] = float(metric.get("tolerance") or 0.03)
            metric["higher_is_better"] = bool(metric.get("higher_is_better"))
            metric["unit"] = str(metric["unit"])
        self.points = [Point(self, row) for row in content["points"]]
        self.by_id = {point.id: point for point in self.points}
        self.by_axes = {tuple(point.axes.values()): point for point in self.points}
        for point in self.points:
            point.against = self.by_id.get(point.against)

    def unit(self, metric):
        unit = self.metrics[metric]["unit"]
        return "µs" if unit == "us" else unit

    def values(self, axis):
        return list(dict.fromkeys(point.axes[axis] for point in self.points)) if axis in self.axes else []

    def other(self, point, **changed):
        """The point whose axes are the same but for these."""
        return self.by_axes.get(tuple({**point.axes, **changed}.values()))

    def find(self, metric, **wanted):
        """The first measured point with these values of axes."""
        hits = (point for point in self.points if point.known(metric)
                and all(point.axes.get(axis, value) == value for axis, value in wanted.items()))  # fmt: skip
        return next(hits, None)

    def gains(self, metric, way, other):
        """How many times as fast each point of a way is as that of a plain one, which has no place of a trigger."""
        found = []
        for point in self.points:
            if point.way() == way and point.known(metric):
                base = self.other(point, way=other, **({"trigger": "any"} if "trigger" in self.axes else {}))
                gain = base.ratio(point, metric) if base else math.nan
                found += [(gain, point, base)] if math.isfinite(gain) else []
        return found


class Run:
    def __init__(self, name, content):
        self.name, self.environment, self.ended_early = name, content["environment"], content["ended_early"]
        if content["schema"] != 1 or not isinstance(self.environment, dict):
            raise TypeError("another schema")
        if not isinstance(self.ended_early, (str, type(None))):
            raise TypeError("ended_early is not a text")
        self.tables = [Table(table) for table in content["tables"]]


def read_run(path, content=None):
    content = load(path) if content is None else content
    try:
        return Run(os.path.splitext(os.path.basename(path))[0], content)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise Trouble(f"{path}: error: not a run of pdltool bench ({type(error).__name__}: {error})") from error


# ---- what the programs of the examples write ------------------------------------------------------------

TIME = re.compile(r"us|us_per_[a-z]+")
NAMED = ("program", "shape", "ranks", "sequences", "context", "batch", "weights", "part", "mode")


def program_rows(node, path):
    """Each object with a time in it, with the names on the way to it: {"graph": {"us": 1.5, "p25": 1.4}}."""
    if isinstance(node, list):
        for child in node:
            yield from program_rows(child, path)
    elif isinstance(node, dict):
        words = [f"{key} {node[key]}" if isinstance(node[key], int) else str(node[key]) for key in NAMED if key in node]
        path = [*path, ", ".join(words)] if words else path
        times = [key for key, value in node.items() if TIME.fullmatch(key) and isinstance(value, (int, float))]
        if times and path:
            yield path, node[times[0]], node
        for key, child in node.items():
            yield from program_rows(child, [*path, key.replace("_", " ")])


def read_program(path, content):
    """A file of a program as a run with one table; None where it has no times."""
    rows = list(program_rows(content, []))
    if not rows:
        return None
    name = os.path.splitext(os.path.basename(path))[0]
    points = {}
    for place, median, row in rows:
        axes = {"case": ", ".join(place[:-1]), "way": place[-1]}
        samples = [row.get("p25", median), median, row.get("p75", median)]
        points.setdefault(tuple(axes.values()), {
            "id": f"programs/{name}/{'/'.join(place)}", "axes": axes, "against": None, "waived": None, "failed": None,
            "checks": 0, "passes": [], "metrics": {"time": {"samples": samples}}})  # fmt: skip
    head = content if isinstance(content, dict) else {}
    table = {"suite": "programs", "name": name, "title": str(head.get("note", name)), "note": None,
             "axes": ["case", "way"], "metrics": [{"name": "time", "unit": "us"}], "points": list(points.values())}
    environment = {key: value for key, value in head.items() if isinstance(value, (str, int, float))}
    return read_run(path, {"schema": 1, "environment": environment, "ended_early": None, "tables": [table]})


# ---- for people -----------------------------------------------------------------------------------------


def number(value):
    """At least four significant digits where there are as many: 1,234,567, 12.34, 0.001234."""
    size = abs(value)
    if not math.isfinite(value):
        return "-" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if value == 0 or (size < 1000 and size == int(size)):
        return f"{value:.0f}"
    if size >= 1e15 or size < 1e-6:
        return f"{value:.3e}"
    return f"{value:.{3 - math.floor(math.log10(size))}f}" if size < 999.95 else f"{value:,.0f}"


def count(many, one, more):
    return f"{many:,} {one if many == 1 else more}"


def plain(text):
    """Without what would steer a terminal."""
    return "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" if letter < "\x80"
                   else f"\\u{ord(letter):04x}" for letter in text)  # fmt: skip


def printable(text):
    """Without what XML does not know."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "\ufffd" for letter in text)


def note(line):
    print(plain(line), file=sys.stderr)
