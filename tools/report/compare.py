# SPDX-License-Identifier: MIT
"""Two runs, row by row.

The medians of a metric may differ by a share of the old one: by as much as both runs are uncertain (of each the noise
of its samples or the spread of its passes, what is larger; added), and at least by the metric's tolerance. Beyond that
the figure is better or worse. A row is what the worst of its figures is.
"""

import math

from runs import count, number, plain

# From what is to be looked at first to what is not.
VERDICTS = ("failed", "worse", "gone", "waived", "better", "new", "not measured", "same")
SUMMARY = ("same", "worse", "better", "new", "gone", "waived", "failed", "not measured")
HEADINGS = ("Row", "Verdict", "Metric", "Old", "New", "Change", "Allowed")


def worst(verdicts):
    return min(verdicts, key=VERDICTS.index, default="same")


def uncertainty(point, metric):
    """What another process may make of its median. What makes samples noisy, other programs on the host above all,
    comes and goes more slowly than a run lasts, so that a run's passes may agree by luck."""
    values = (point.noise(metric), point.spread(metric))
    return max((value for value in values if not math.isnan(value)), default=0)


def measured(point):
    """Whether the run came to it."""
    return any(point.samples.values())


def has_figures(point):
    return point is not None and point.waived is None and point.failed is None and measured(point)


class Comparison:
    def __init__(self, old, new):
        self.old, self.new = old, new
        self.rows = dict.fromkeys(VERDICTS, 0)
        self.worse = 0  # or failed only in the new run
        self.left_out = 0  # of the old run's rows, which were not asked for in the new one
        self.changes = []
        self.old_points = {point.id: point for table in old.tables for point in table.points}
        self.new_points = {point.id: point for table in new.tables for point in table.points}
        for point in self.new_points.values():
            self.rows[self.row(self.old_points.get(point.id), point)] += 1
        self.missing_rows()

    def say(self, row, verdict, *cells):
        self.changes.append([row, verdict, *cells])

    def figure(self, before, now, metric):
        """The verdict on one metric, which one of the two may not have."""
        point = now if metric in now.table.metrics else before
        described, unit = point.table.metrics[metric], point.table.unit(metric)
        pair = [each.at(metric) if metric in each.table.metrics and each.table.unit(metric) == unit else math.nan
                for each in (before, now)]  # fmt: skip
        shown = [f"{number(median)} {unit}" if not math.isnan(median) else "" for median in pair]
        change = allowed = math.nan
        missing = [math.isnan(median) for median in pair]
        if any(missing):
            verdict = "same" if all(missing) else "new" if missing[0] else "gone"
        else:
            allowed = max(uncertainty(before, metric) + uncertainty(now, metric), described["tolerance"])
            difference = pair[1] - pair[0]
            change = difference / abs(pair[0]) if pair[0] else math.copysign(math.inf, difference) if difference else 0
            is_better = (change > 0) == described["higher_is_better"]
            verdict = "same" if abs(change) <= allowed else "better" if is_better else "worse"
        if verdict != "same":
            percent = f"{100 * change:+.1f}%" if math.isfinite(change) else f"{change:+}"
            shown.append("" if math.isnan(change) else percent)
            self.say(now.id, verdict, metric, *shown, f"{100 * allowed:.1f}%" if not math.isnan(allowed) else "")
        return verdict

    def row(self, before, now):
        if now.failed is not None:
            self.worse += before is None or before.failed is None
            self.say(now.id, f"failed: {now.failed}")
            return "failed"
        if now.waived is not None:
            if before is None or before.waived is None:
                self.say(now.id, f"waived: {now.waived}")
            return "waived"
        if not measured(now):
            return "not measured"
        if not has_figures(before):
            self.say(now.id, "new" if before is None else "new: it failed in the old run" if before.failed is not None
                     else "new: it was waived in the old run" if before.waived is not None
                     else "new: the old run ended before it")  # fmt: skip
            return "new"
        metrics = dict.fromkeys([*now.table.metrics, *before.table.metrics])
        verdict = worst([self.figure(before, now, metric) for metric in metrics])
        self.worse += verdict == "worse"
        return verdict

    def missing_rows(self):
        """Rows that only the old run has are gone if the new one has their suite. A whole table takes one line."""
        suites = {table.suite for table in self.new.tables}
        for table in self.old.tables:
            gone = [point.id for point in table.points if point.id not in self.new_points]
            if table.suite not in suites:
                self.left_out += len(table.points)
                continue
            self.rows["gone"] += len(gone)
            if len(gone) > 1 and len(gone) == len(table.points):
                self.say(table.key, f"gone: {count(len(gone), 'row', 'rows')}")
            else:
                for name in gone:
                    self.say(name, "gone")

    def blind(self):
        """Whether the new run lacks a row that it was asked for, or no row can be compared: that none is worse then
        says nothing."""
        asked = [point for point in self.new_points.values() if point.failed is None and point.waived is None]
        both = [point for point in asked if has_figures(point) and has_figures(self.old_points.get(point.id))]
        return not all(map(measured, asked)) or not both

    def conditions(self):
        """What is different about the machine and the program, but for what differs between any two runs."""
        before, now = self.old.environment, self.new.environment
        for key in dict.fromkeys([*before, *now]):
            moment = key in ("date", "command") or key.endswith(("_before", "_after"))
            moment = moment and not key.startswith("clocks_held_back_by_")
            pair = ["not known" if value is None else value if isinstance(value, str) else number(float(value))
                    for value in (before.get(key), now.get(key))]  # fmt: skip
            if not moment and pair[0] != pair[1]:
                yield f"{key} was {pair[0]}, now {pair[1]}"

    def text(self):
        lines = ["## Compared with the old run", ""]
        if self.changes:
            cells = [[plain(cell).replace("|", "\\|") for cell in row] for row in [HEADINGS, *self.changes]]
            # A row without figures does not widen the column in which it says why.
            widths = [max([3, *(len(row[i]) for row in cells if i == 0 or len(row) > 2)]) for i in range(len(HEADINGS))]
            sides = "<<<>>>>"
            made = ["| " + " | ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths)) + " |"
                    for row in cells]  # fmt: skip
            rule = "|".join("-" * (width + 1) + ("-" if side == "<" else ":") for side, width in zip(sides, widths))
            lines += [made[0], f"|{rule}|", *made[1:], ""]
        shown = [f"{self.rows[name]:,} {name}" for name in SUMMARY if self.rows[name] or name in ("same", "worse")]
        left = f"; {count(self.left_out, 'row', 'rows')} of the old run not asked for" if self.left_out else ""
        lines.append(", ".join(shown) + left + ".")
        for which, run in (("old", self.old), ("new", self.new)):
            if run.ended_early is not None:
                lines += ["", f"The {which} run ended early: {plain(run.ended_early)}."]
        different = list(self.conditions())
        if different:
            lines += ["", "The runs were made under other conditions: " + plain("; ".join(different)) + "."]
        return "\n".join(lines)
