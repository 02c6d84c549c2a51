# SPDX-License-Identifier: MIT
"""Which figures a table gets, and what is said below them. A table that is not known gets bars or lines."""

import dataclasses
import io
import math
import warnings

import matplotlib
from runs import number, printable, quantile

warnings.filterwarnings("ignore", message="Glyph")  # the reader of the page has the font
matplotlib.use("svg")
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "pdl", "font.size": 9, "axes.spines.top": False,
                            "axes.spines.right": False, "legend.frameon": False, "text.parse_math": False})  # fmt: skip
from matplotlib import pyplot, ticker  # noqa: E402  pylint: disable=wrong-import-position

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#7f7f7f", "#b8a000")
BESIDE = {"loc": "upper left", "bbox_to_anchor": (1.01, 1)}
MOST_BARS, MOST_LINES = 48, 10
# Other spellings of calls that are shown, which cost the same but for what overhead/host shows.
VARIANTS = ("cudaLaunchKernel", "cudaLaunchKernelEx", "cudaLaunchKernelEx-pdl", "pdl_launch_kernel",
            "pdl_launch_kernel-auto", "pdl_launch-symbol", "pdl_launch-symbol-auto")  # fmt: skip
ZHANG = "Zhang et al."  # "Understanding the Overheads of Launching CUDA Kernels", ICPP 2019: a V100 with CUDA 10.0


@dataclasses.dataclass
class Plan:
    """A figure: which metrics of which points go where. Several metrics are bars side by side, or a panel each."""

    title: str
    metrics: tuple
    kind: str = "bars"  # bars, stacks, lines
    x: tuple = ()  # the axis of numbers, or those that make a bar's name; (): all that differ
    series: str = ""
    panel: str = ""
    only: dict = dataclasses.field(default_factory=dict)
    unit: str = ""
    log: str = ""
    variants: bool = True
    published: dict = dataclasses.field(default_factory=dict)  # of the V100, ns: <<<>>> and a cooperative launch


def bars(title, *metrics, x, **more):
    return [Plan(title, metrics, x=tuple(x.split()), **more)]


def lines(title, x, *metrics, **more):
    """A figure for each metric."""
    return [Plan(f"{title}: {metric}", (metric,), "lines", (x,), **more) for metric in metrics]


NO_ARGUMENTS = {"only": {"args": "0"}, "x": "way"}
PLAIN_AND_OURS = {"way": ("stream", "libpdl", "graph", "chain")}  # the raw ways with overlap are in the table
PLANS = {
    "overhead/host": bars("Host time of a launch", "host", x="way", series="args", variants=False),
    "overhead/latency": bars("One empty kernel: until the host knows its end", "latency", "call", **NO_ARGUMENTS),
    "overhead/small": bars(f"One more empty kernel ({ZHANG}, figure 4, left, and the device alone)", "host",
                           "additional", "device", **NO_ARGUMENTS, variants=False,
                           published={"host": (2545, 3388), "additional": (2541, 3326)}),
    "overhead/large": bars(f"Kernels of 5 µs ({ZHANG}, figure 5, left)", "additional", "host", "wait", "execution",
                           x="way", only={"units": "5"}, variants=False,
                           published={"additional": (6144, 6155), "execution": (993, 1015)}),
    "overhead/other": bars(f"Where the latency of one empty kernel goes ({ZHANG}, figure 6)", "host", "execution",
                           "other", x="way", kind="stacks", variants=False, published={"other": (4735, 4830)}),
    "overhead/unit": lines(f"What a wait unit of 1 µs adds ({ZHANG}, figure 2, about 1,020 ns from 4 units on)",
                           "units", "unit", series="way", panel="wait", log="x"),
    "overhead/total": lines(f"Kernels of so many µs each ({ZHANG}, figure 3)", "kernels", "latency", series="way",
                            panel="units", log="xy"),
    "overhead/devices": [plan for metric in ("host", "additional", "execution") for plan in bars(
        f"Launches on several devices ({ZHANG}, figures 4 and 5, right): {metric}", metric, x="way", series="devices")],
    "overlap/phases": bars("A kernel of a line, by cycles before the wait / to the trigger / to the end", "device",
                           x="prologue before after", series="way", panel="results"),
    "overlap/conditions": [plan for metric in ("overlap", "useful") for plan in bars(
        f"Two kernels: {metric}, by the condition that is broken", metric, x="condition", series="way",
        only=PLAIN_AND_OURS)],
    "graph/line": lines("Kernels in series, each", "kernels", "device", "wall", "host", series="way", panel="blocks",
                        log="xy"),
    "graph/slope": bars("Device time of each further kernel of a line", "device", x="span", series="way",
                        panel="blocks"),
    "graph/build": [Plan("Host time to make, change and launch a graph of so many kernels",
                         ("make", "instantiate", "upload", "change", "update", "launch"), "lines", ("kernels",), "way",
                         log="xy")],
    "decode/token": bars("One token", "time", x="way", panel="part"),
    "decode/kernels": bars("Each kernel alone, a layer's after another's", "time", x="kernel", series="way"),
}  # fmt: skip


class Figure:
    def __init__(self, title):
        self.title, self.svg, self.said = title, "", []

    def draw(self, chart):
        text = io.StringIO()
        chart.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
        pyplot.close(chart)
        self.svg = printable(text.getvalue())
        return self


def is_number(text):
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def shown(axis, text):
    """A number alone says nothing."""
    return "<<<>>>" if text == "chevron" else f"{axis} {text}" if is_number(text) else text


def is_libpdl(way):
    return way.startswith(("pdl_", "libpdl", "chain"))


def wanted(plan, table, metric):
    for point in table.points:
        hits = all(point.axes.get(axis) == value or isinstance(value, tuple) and point.axes.get(axis) in value
                   for axis, value in plan.only.items())  # fmt: skip
        shown_way = plan.variants or point.way() not in VARIANTS
        if point.known(metric) and hits and shown_way and "-again" not in point.way():
            yield point


def collect(plan, table):
    """The points of a plan: {panel: {series: {category: (point, metric)}}}."""
    panels = {}
    used = {*plan.x, plan.series, plan.panel, *[axis for axis in plan.only if isinstance(plan.only[axis], str)]}
    free = [axis for axis in table.axes if axis not in used and len(table.values(axis)) > 1]
    for metric in plan.metrics:
        for point in wanted(plan, table, metric) if metric in table.metrics else ():
            rest = [shown(axis, point.axes[axis]) for axis in free]
            series = [shown(plan.series, point.axes[plan.series])] if plan.series else []
            if plan.kind == "lines":
                place, series = float(point.axes[plan.x[0]]), series + rest
            else:
                names = [point.axes[axis] if len(plan.x) > 1 else shown(axis, point.axes[axis]) for axis in plan.x]
                place = ", ".join([" / ".join(names)] * bool(names) + rest)
                series += [metric] if len(plan.metrics) > 1 else []
            panel = f"{plan.panel}: {point.axes[plan.panel]}" if plan.panel else ""
            panel = metric if plan.kind == "lines" and len(plan.metrics) > 1 else panel
            panels.setdefault(panel, {}).setdefault(", ".join(series), {})[place] = (point, metric)
    return panels


def draw_lines(axes, series, unit, log):
    for index, (name, places) in enumerate(series.items()):
        rows = sorted((x, *[point.at(metric, share) for share in (0.5, 0.1, 0.9)])
                      for x, (point, metric) in places.items())  # fmt: skip
        whiskers = [[row[1] - row[2] for row in rows], [row[3] - row[1] for row in rows]]
        style = {"linestyle": "--", "markerfacecolor": "white"} if is_libpdl(name) else {}
        axes.errorbar([row[0] for row in rows], [row[1] for row in rows], whiskers, label=name or None, markersize=4,
                      marker="os^Dv"[index % 5], linewidth=1, color=COLOURS[index % len(COLOURS)], **style)  # fmt: skip
    for axis, name in ((axes.xaxis, "x"), (axes.yaxis, "y")):
        if name in log:
            getattr(axes, f"set_{name}scale")("log")
            axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: number(float(f"{value:.6g}"))))
            axis.set_minor_formatter(ticker.NullFormatter())
    axes.set_ylabel(unit)
    axes.grid(color="#dddddd", linewidth=0.5)


def draw_bars(axes, series, unit, stacked):
    places = list(dict.fromkeys(place for points in series.values() for place in points))
    step = 0.8 / (1 if stacked else len(series))
    ends = dict.fromkeys(places, 0.0)
    for index, (name, points) in enumerate(series.items()):
        for place, (point, metric) in points.items():
            low, median, high = (point.at(metric, share) for share in (0.1, 0.5, 0.9))
            y = places.index(place) + (0 if stacked else (index + 0.5) * step - 0.4)
            errors = None if stacked else [[max(0, median - low)], [max(0, high - median)]]
            axes.barh(y, median, step, left=ends[place] if stacked else 0, xerr=errors, error_kw={"elinewidth": 0.8},
                      color=COLOURS[index % len(COLOURS)],
                      label=name if name and place == next(iter(points)) else None)  # fmt: skip
            if not stacked:
                axes.annotate(number(float(f"{median:.4g}")), (max(0, high), y), (3, 0), textcoords="offset points",
                              va="center", fontsize=7).set_in_layout(False)  # fmt: skip
            ends[place] += median
    axes.set_yticks(range(len(places)), places)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_xlabel(unit)


def charts(sizes, columns, width):
    """A chart of panels below each other, or in columns; a size is that of a panel, in inches."""
    heights = sizes[::columns]
    between = 0.7 * len(heights)  # room for titles and the names of axes
    size = (width, (sum(heights) + between) / 0.77)  # the rest are margins, which are cut off
    chart, axes = pyplot.subplots(len(heights), columns, figsize=size, squeeze=False, height_ratios=heights,
                                  gridspec_kw={"hspace": between / sum(heights), "wspace": 0.35})  # fmt: skip
    for unused in axes.flat[len(sizes) :]:
        unused.axis("off")
    return chart, list(axes.flat[: len(sizes)])


def panels_figure(plan, table):
    panels = collect(plan, table)
    if not panels:
        return None
    units = dict.fromkeys(table.unit(metric) for metric in plan.metrics if metric in table.metrics)
    unit = plan.unit or f"{', '.join(plan.metrics) if len(plan.metrics) == 1 else ''} ({', '.join(units)})".strip()
    has_lines, beside = plan.kind == "lines", len(next(iter(panels.values()))) if plan.kind == "stacks" else 1
    heights = [3 if has_lines else 0.5 + 0.2 * sum(map(len, series.values())) / beside for series in panels.values()]
    chart, all_axes = charts(heights, min(2, len(panels)) if has_lines else 1, 9)
    for axes, (panel, series) in zip(all_axes, panels.items()):
        if has_lines:
            draw_lines(axes, series, unit, plan.log)
            axes.set_xlabel(plan.x[0])
        else:
            draw_bars(axes, series, unit, plan.kind == "stacks")
        axes.set_title(panel, fontsize=9)
        if axes is all_axes[0] and any(series):
            axes.legend(fontsize=7, **({} if has_lines else BESIDE))
    figure = Figure(plan.title).draw(chart)
    figure.said = list(sentences(plan, table))
    return figure


# ---- figures of their own ---------------------------------------------------------------------------------


def shares_figure(title, unit, panels):
    """How many of the values are below: {panel: {name: values}}. The slowest 3 % are not shown."""
    panels = {panel: curves for panel, curves in panels.items() if curves}
    if not panels:
        return None
    chart, all_axes = charts([3] * len(panels), min(2, len(panels)), 9)
    for axes, (panel, curves) in zip(all_axes, panels.items()):
        for index, (name, values) in enumerate(curves.items()):
            rising = sorted(values)
            steps = [step / 160 for step in range(156)]
            axes.plot([quantile(rising, step) for step in steps], [100 * step for step in steps], label=name,
                      linestyle="--" if is_libpdl(name) else "-", color=COLOURS[index // 2 % len(COLOURS)])  # fmt: skip
        axes.set(title=panel, xlabel=unit, ylabel="% of the samples")
        axes.legend(fontsize=6)
    return Figure(title).draw(chart)


def host_shares(table):
    panels = {"without overlap": {}, "with overlap": {}}
    for point in table.points:
        way = point.way()
        # One launch of a whole graph is of another size altogether.
        again = "-again" in way or way == "chain"
        if point.known("host") and point.axes["args"] == "8" and point.against and not again:
            panel = panels["with overlap" if way.endswith(("-pdl", "-auto")) else "without overlap"]
            panel.update((each.way(), each.rising["host"]) for each in (point.against, point) if each.known("host"))
    return shares_figure("Host time of a launch with 8 arguments: how many take less", "ns per launch", panels)


def shape_shares(table):
    found = {way: [gain for gain, _, _ in table.gains("device", way + "-pdl", way)] for way in ("stream", "graph")}
    found = {name: gains for name, gains in found.items() if gains}
    return shares_figure("Random shapes: how many times as fast with overlap", "times", {"": found})


def trigger_map(table, main, way, plain):
    """Colours change at 1, so that the region where overlap loses shows."""
    gains = [(gain, point) for gain, point, _ in table.gains("device", way, plain) if point.axes["main"] == main]
    if not gains:
        return None
    panels = {}
    for gain, point in gains:
        cells = panels.setdefault((point.axes["fill"], point.axes["shared"]), {})
        cells[(point.axes["prologue"], point.axes["trigger"])] = gain
    places = [place for place in table.values("trigger") if place != "any"]
    rows = {panel: list(dict.fromkeys(row for row, _ in cells)) for panel, cells in panels.items()}
    chart, all_axes = charts([0.8 + 0.35 * max(map(len, rows.values()))] * len(panels), min(2, len(panels)), 9)
    for axes, (panel, cells) in zip(all_axes, panels.items()):
        values = [[cells.get((row, place), math.nan) for place in places] for row in rows[panel]]
        logs = [[math.log(value) if value > 0 else math.nan for value in line] for line in values]
        axes.pcolormesh(logs, cmap="RdBu", vmin=-math.log(4), vmax=math.log(4), edgecolors="white")
        for y, line in enumerate(values):
            for x, value in enumerate(line):
                said = axes.text(x + 0.5, y + 0.5, "" if math.isnan(value) else f"{value:.2f}", fontsize=7)
                said.set(ha="center", va="center", in_layout=False)  # laying out each takes most of the time
        axes.set_xticks([x + 0.5 for x in range(len(places))], places)
        axes.set_yticks([y + 0.5 for y in range(len(rows[panel]))], rows[panel])
        axes.set(xlabel="trigger", ylabel="prologue, cycles")
        axes.set_title(f"fill {panel[0]}, shared memory {panel[1]}", fontsize=9)
    figure = Figure(f'{way} over a plain {plain}, main part "{main}": how many times as fast').draw(chart)
    (least, worst), (most, best) = min(gains, key=lambda row: row[0]), max(gains, key=lambda row: row[0])
    figure.said = [f"Best: {most:.2f} times at {place_of(best)}.", f"Worst: {least:.2f} times at {place_of(worst)}.",
                   f"It loses more than 1 % in {sum(row[0] < 0.99 for row in gains)} of {len(gains)} places."]
    return figure


def place_of(point):
    return ", ".join(f"{axis} {value}" for axis, value in point.axes.items() if axis != "way")


OWN = {
    "overhead/host": lambda table: [host_shares(table)],
    "overlap/trigger": lambda table: [trigger_map(table, main, way, plain) for main in table.values("main")
                                      for way, plain in (("libpdl", "stream"), ("chain", "graph"))],
    "overlap/shapes": lambda table: [shape_shares(table)],
}  # fmt: skip


# ---- words ------------------------------------------------------------------------------------------------


def value_of(point, metric):
    return f"{number(float(f'{point.at(metric):.4g}'))} {point.table.unit(metric)}"


def sentences(plan, table):
    metric = next(metric for metric in plan.metrics if metric in table.metrics)
    points = sorted(wanted(plan, table, metric), key=lambda point: point.at(metric))
    if len(points) > 1:
        ends = [f"{value_of(point, metric)} ({place_and_way(point)})" for point in (points[0], points[-1])]
        yield f"{metric}: lowest {ends[0]}, highest {ends[1]}."
    raw = [point.ratio(point.against, metric) for point in points if is_libpdl(point.way()) and point.against]
    raw = [ratio for ratio in raw if math.isfinite(ratio)]
    if raw and table.suite in ("overhead", "overlap", "graph"):
        yield f"libpdl takes {min(raw):.3f} to {max(raw):.3f} times as long as the raw call in {len(raw)} rows."
    for name, then in plan.published.items():
        for way, value in zip(("chevron", "cooperative"), then):
            point = table.find(name, way=way, **plan.only) if name in table.metrics else None
            if point:
                yield f"{name} of {shown('way', way)}: {value_of(point, name)}; {value:,} ns on the V100 of {ZHANG}"


def place_and_way(point):
    return ", ".join(shown(axis, value) for axis, value in point.axes.items())


def generic(table):
    """Lines where an axis has numbers, otherwise bars; where they cannot be told apart the table has it."""
    for metric in list(table.metrics)[:3]:
        points = [point for point in table.points if point.known(metric)]
        sizes = {axis: len(table.values(axis)) for axis in table.axes if all(map(is_number, table.values(axis)))}
        x = max((axis for axis, size in sizes.items() if size > 2), key=sizes.get, default=None)
        if x and len(points) > 5 and len(points) / sizes[x] <= MOST_LINES:
            yield Plan(f"{table.title}: {metric}", (metric,), "lines", (x,))
        elif points and len(points) <= MOST_BARS:
            yield Plan(f"{table.title}: {metric}", (metric,))


def figures_of(table):
    """Those of a table. One whose axes or metrics are others than its plan needs gets what any table gets."""
    try:
        made = OWN.get(table.key, lambda _: [])(table)
        plans = bars(table.title, "time", x="way", panel="case") if table.suite == "programs" else []
        made += [panels_figure(plan, table) for plan in PLANS.get(table.key, plans)]
    except (KeyError, ValueError):
        made = []
    made = [figure for figure in made if figure is not None]
    if not made:
        made = [panels_figure(plan, table) for plan in generic(table)]
    return [figure for figure in made if figure is not None]
