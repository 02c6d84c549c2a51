# SPDX-License-Identifier: MIT
"""The simulator's device from what `pdltool bench` measured, and what it predicts beside what was measured.

Each value of a device comes from a few rows by arithmetic, in an order in which it needs only those before it;
docs/model.md says where each comes from.
"""

import concurrent.futures
import json
import math
import os
import re
import subprocess
import tempfile

from runs import Trouble, load, plain, quantile

PATHS = {"stream": "stream-pdl", "graph": "graph-pdl"}  # each launch path, and how it overlaps
BLOCKS, WAVED = 100, 1000  # blocks of the shapes that values are made of: one on each of 100 SMs, and many waves
BY_END, BY_TRIGGER = "100x128+0K:1000:500:3000", "100x128+0K:3000:1000:500"
PLAIN_SHAPES = (BY_END, "100x128+0K:3000:3000:100", BY_TRIGGER, "100x128+0K:2000:2000:1000", "100x128+0K:500:700:900")
SHAPE = re.compile(r"(\d{1,9})x(\d{1,9})\+(\d{1,9})K:(\d{1,9}):(\d{1,9}):(\d{1,9})(:n)?")
RANGES = {"clock": (1, 1e6)}  # others: a time up to 1 s, in ns
TIME_MOST = 1e12  # ns that `pdltool sim` takes


def read_device(name):
    """A device's file: its lines, and its values by name. h200 is the one that comes with this program."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "h200.cal") if name == "h200" else name
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Trouble(f"unknown device '{name}': neither h200 nor a readable file of 'calibrate' ({error})") from error
    words = [line.split("#")[0].split() for line in lines]
    try:
        return lines, {word[0]: word[1] if word[0] == "name" else float(word[1]) for word in words if word}
    except (IndexError, ValueError) as error:
        raise Trouble(f"{path}: error: not a file of 'calibrate': {error}") from error


def rows_of(content):
    """Each row of a file of `pdltool bench`, with the name of its table."""
    try:
        for table in content["tables"]:
            for point in table["points"]:
                if isinstance(point["id"], str) and isinstance(point["metrics"], dict):
                    yield table["name"], point
    except (KeyError, TypeError):
        pass  # what is no such file has no row


def cycles_of(shape):
    return [int(text) for text in SHAPE.fullmatch(shape).groups()[3:6]]


class Rows:
    """The medians of one directory's overlap.json and graph.json."""

    def __init__(self, directory):
        self.directory = directory
        self.overlap, graph = (load(os.path.join(directory, name)) for name in ("overlap.json", "graph.json"))
        self.rows = {point["id"]: point["metrics"]
                     for content in (graph, self.overlap) for _, point in rows_of(content)}  # fmt: skip

    def wrong(self, text):
        return Trouble(f"{self.directory}: error: {text}")

    def median(self, metric, name):
        try:
            value = float(self.rows[name][metric]["median"])
        except (KeyError, TypeError, ValueError) as error:
            raise self.wrong(f"there is no {name}") from error
        if not abs(value) <= 1e9:
            raise self.wrong(f"{name}: the median of {metric} is {value:g}, not from -1000000000 to 1000000000")
        return value

    def shape(self, first, way):
        """ns per kernel of the table shapes."""
        return 1e3 * self.median("device", f"overlap/shapes/seed=fixed/first={first}/second=same/way={way}")

    def longer(self, first, than):
        """How much longer one shape takes than another, without overlap."""
        return mean(self.shape(first, way) - self.shape(than, way) for way in PATHS)


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def find_device(rows, device):
    """The device's values, of which it needs the limits of an SM."""
    environment = rows.overlap.get("environment") if isinstance(rows.overlap, dict) else None
    environment = environment if isinstance(environment, dict) else {}
    clock, sms = environment.get("sm_clock_measured_mhz_before"), environment.get("multiprocessors")
    if not isinstance(sms, int) or not BLOCKS <= sms < WAVED:
        raise rows.wrong(f"multiprocessors is {sms if isinstance(sms, int) else 0}, not from {BLOCKS} to {WAVED - 1}")
    clock = float(round(clock)) if isinstance(clock, (int, float)) and clock > 0 else device["clock"]
    found = {"sms": sms, "clock": clock}

    def ns(cycles):
        return 1e3 * cycles / clock

    def put(name, value):
        found[name] = max(0.0, value)

    # What 1200 more blocks cost, which trigger and end at once: two reports each.
    put("report", rows.longer("1500x128+0K:0:0:0:n", "300x128+0K:0:0:0:n") / (2 * (1500 - 300)))

    def flushing(writes, silent, blocks):
        """How much longer a shape takes that writes: in a graph it flushes while the ends are reported."""
        reports = {"stream": 0, "graph": found["report"] * blocks}
        return mean(rows.shape(writes, way) - rows.shape(silent, way) + reports[path]
                    for path in PATHS for way in (path, PATHS[path]))  # fmt: skip

    one = flushing("1x128+0K:1000:500:3000", "1x128+0K:1000:500:3000:n", 1)
    put("flush-sms", (flushing(BY_END, BY_END + ":n", BLOCKS) - one) * sms / (BLOCKS - 1))
    put("flush", one - found["flush-sms"] / sms)
    # A prologue of 100 cycles is over before the arguments are there, and one of 1000 is not.
    put("arguments", rows.longer("100x128+0K:100:500:3000", BY_END) + ns(1000))
    # Where there is no room beside the primary, the secondary's first block starts so long after the primary's last
    # stamp; and where there is room for one block, each wave takes so much longer than its phases.
    no_room = [rows.median("overlap", f"overlap/conditions/condition=no-room/way={way}") for way in PATHS.values()]
    put("block-end", -1e3 * mean(no_room) / 2)
    put("refill", found["block-end"])
    wave = rows.longer("1000x128+150K:1000:500:3000", BY_END) / (math.ceil(WAVED / sms) - 1)
    put("block-start", wave - ns(sum(cycles_of(BY_END))) - found["block-end"] - found["refill"])

    def completion(path, blocks):
        """From a block's last phase until the kernel has completed."""
        reported, flush = found["report"] * blocks, found["flush"] + found["flush-sms"] * min(1, blocks / sms)
        return found["block-end"] + (reported + flush if path == "stream" else max(reported, flush))

    for path, way in PATHS.items():
        _, before, after = cycles_of(BY_END)  # lines that wait for the end of the kernel before
        put(f"release-{path}", rows.shape(BY_END, way) - ns(before + after) - completion(path, BLOCKS))
        prologue, before, _ = cycles_of(BY_TRIGGER)  # and for its trigger
        others = found["report"] * BLOCKS + found["block-start"]
        put(f"dependent-{path}", rows.shape(BY_TRIGGER, way) - ns(prologue + before) - others)
        # What a line without overlap takes besides its kernels' phases.
        phases = {shape: [ns(cycles) for cycles in cycles_of(shape)] for shape in PLAIN_SHAPES}
        besides = mean(rows.shape(shape, path) - max(prologue, found["arguments"]) - before - after
                       for shape, (prologue, before, after) in phases.items())  # fmt: skip
        put(f"gap-{path}", besides - found["block-start"] - completion(path, BLOCKS))

    def slope(metric, span, blocks, way):
        return rows.median(metric, f"graph/slope/span={span}/blocks={blocks}/way={way}")

    found["host-launch"] = slope("host", "64-512", "sm", "stream")
    found["host-overlap"] = slope("host", "64-512", "sm", "stream-pdl")
    found["host-node"] = slope("host", "512-4096", "sm", "graph")
    found["host-graph"] = 1e3 * slope("host-fixed", "512-4096", "sm", "graph")
    put("submit", 1e3 * slope("wall-fixed", "64-512", "1", "stream") - slope("device", "64-512", "1", "stream"))
    for name, value in found.items():
        least, most = RANGES.get(name, (0, 1e9))
        if not least <= value <= most:
            raise rows.wrong(f"{name} is {value:g}, not from {least:.0f} to {most:.0f}")
    return found


def calibrate(directory, device_name):
    """A device's file: the lines of the one that it starts from, with other values."""
    lines, device = read_device(device_name)
    rows = Rows(directory)
    found = find_device(rows, device)
    environment = rows.overlap["environment"]
    date = plain(str(environment.get("date", "?")))
    made = [f"# Made by `pdltool report calibrate` of `pdltool bench graph overlap`, {date}."]
    for line in lines[1:] if lines[:1] and lines[0].startswith("# Made by") else lines:
        name = line.split()[0] if line.split() else ""
        if name == "sms":
            line = f"{name:<18} {found[name]}"
        elif name in found:
            meaning = line[line.index("#") :] if "#" in line else ""
            line = f"{name:<18} {found[name]:<9.4g} {meaning}".rstrip()
        made.append(line)
    return "\n".join(made) + "\n"


# ---- predictions --------------------------------------------------------------------------------------------------

SHORT, LONG = 8, 72  # a row is measured as the difference between lines of so many kernels
FEW_WARPS = 16
GROUPS = [(way, least, most) for least, most in ((0, FEW_WARPS), (FEW_WARPS + 1, None))
          for way in ("stream", "stream-pdl", "graph", "graph-pdl")]  # fmt: skip


class Kernel:
    """A kernel of a row, as `pdltool sim` describes one. Times are in ns."""

    def __init__(self, device, text):
        match = SHAPE.fullmatch(text)
        if match is None:
            raise ValueError(f"{text} is no shape")
        self.blocks, self.threads, kibibytes, *cycles = [int(word) for word in match.groups()[:6]]
        self.shared, self.silent = kibibytes * 1024, bool(match.group(7))
        self.phases = dict(zip(("prologue", "before", "after"), (1e3 * value / device["clock"] for value in cycles)))
        self.warps = math.ceil(self.threads / 32)
        by_memory = device["sm-shared"] // (self.shared + int(device["block-shared"]))
        by_warps = device["sm-threads"] // 32 // self.warps if self.warps else 0
        self.fits = int(min(device["sm-blocks"], by_warps, by_memory))
        if not self.blocks or not self.fits or self.threads > 1024 or sum(self.phases.values()) > TIME_MOST:
            raise ValueError(f"{text} never runs")

    def warps_on_sm(self, device):
        return min(math.ceil(self.blocks / device["sms"]), self.fits) * self.warps

    def line(self, name):
        phases = " ".join(f"{key}={value}ns" for key, value in self.phases.items())
        return (f"kernel {name} blocks={self.blocks} threads={self.threads} shared={self.shared} {phases} "
                f"clocked clocked-prologue{' nowrites' if self.silent else ''}")  # fmt: skip


class Row:
    def __init__(self, device, point):
        axes = point["axes"]
        self.id, self.way, self.against = point["id"], axes["way"], point.get("against")
        names = [axes["first"]] + ([axes["second"]] if axes["second"] != "same" else [])
        self.kernels = [Kernel(device, name) for name in names]  # which take turns
        self.fitted = axes["seed"] == "fixed"  # the calibration is made of these
        self.measured = float(point["metrics"]["device"]["median"])
        self.warps = max(kernel.warps_on_sm(device) for kernel in self.kernels)
        self.predicted, self.sign = math.nan, None

    def description(self, length):
        path, overlap = self.way.partition("-")[0], " overlap" if self.way.endswith("-pdl") else ""
        names = "ab"[: len(self.kernels)]
        kernels = [kernel.line(name) for name, kernel in zip(names, self.kernels)]
        launches = [f"repeat {length // len(names)}", *[f"launch {name}{overlap}" for name in names], "end"]
        return "\n".join(["gate", *kernels, *(["graph", *launches, "end"] if path == "graph" else launches), ""])

    def error(self):
        return self.predicted / self.measured - 1


def read_rows(path, content, device):
    """Those of the raw ways: what launches the same through libpdl is no row of its own."""
    rows = []
    for table, point in rows_of(content):
        try:
            row = Row(device, point) if table == "shapes" else None
        except (AttributeError, KeyError, TypeError, ValueError):
            continue
        if row and row.way in (*PATHS, *PATHS.values()) and 0 < row.measured <= 1e-3 * TIME_MOST:
            rows.append(row)
    if not rows:
        raise Trouble(f"{path}: error: no rows of the table overlap/shapes of 'pdltool bench'")
    return rows


def simulate(rows, program, device_name):
    """Predicts some of the rows, in one process."""
    decoder, at, totals_us = json.JSONDecoder(), 0, []
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for row in rows:
            for length in (LONG, SHORT):
                paths.append(os.path.join(folder, f"{len(paths)}.pdlsim"))
                with open(paths[-1], "w", encoding="utf-8") as file:
                    file.write(row.description(length))
        words = [program, "sim", "--json", "--device", device_name, "--", *paths]
        result = subprocess.run(words, text=True, capture_output=True, check=False)
        if result.returncode != 0:
            raise Trouble(result.stderr.strip())
    while at < len(result.stdout):
        made, at = decoder.raw_decode(result.stdout, at)
        at += 1  # the end of its line
        totals_us.append(made["total_us"])
    for row, last, first in zip(rows, totals_us[::2], totals_us[1::2]):
        row.predicted = (last - first) / (LONG - SHORT)


def predict(path, device_name, program):
    """The rows of a file, and the file."""
    _, device = read_device(device_name)
    content = load(path)
    rows = read_rows(path, content, device)
    parts = [rows[i :: os.cpu_count()] for i in range(os.cpu_count())]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(lambda part: simulate(part, program, device_name), filter(None, parts)))
    rows = [row for row in rows if row.predicted > 0]
    plain_rows = {row.id: row for row in rows if row.way in PATHS}
    for row in rows:  # what PDL changes, where it changes more than 5 %
        base = plain_rows.get(row.against) if row.way not in PATHS else None
        if base is not None and abs(row.measured / base.measured - 1) > 0.05:
            row.sign = "right" if (row.predicted < base.predicted) == (row.measured < base.measured) else "wrong"
    return rows, content


def totals(rows):
    errors, signs = sorted(abs(row.error()) for row in rows), [row.sign for row in rows if row.sign]
    figures = {"median": quantile(errors, 0.5), "p95": quantile(errors, 0.95), "worst": errors[-1]} if errors else {}
    # No error of no configuration is not an error of 0.
    return {"configurations": len(rows), **{f"error_{key}_percent": round(100 * figures[key], 2) if figures else None
                                            for key in ("median", "p95", "worst")},
            "signs": len(signs), "signs_right": signs.count("right")}  # fmt: skip


def grouped(rows):
    """Of what was not calibrated with: by launch path, and by how full an SM can be."""
    for way, least, most in GROUPS:
        chosen = [row for row in rows if row.way == way and least <= row.warps <= (most or math.inf)]
        sums = totals([row for row in chosen if not row.fitted])
        yield {**sums, "way": way, "warps_least": least, "warps_most": most}


def as_json(rows, device_name, date):
    return {
        "schema": 1, "tool": "pdltool report predict", "device": device_name, "bench_date": date,
        "calibrated_with": totals([row for row in rows if row.fitted]),
        "validation": totals([row for row in rows if not row.fitted]),
        "groups": list(grouped(rows)),
        "rows": [{"id": row.id, "calibrated_with": row.fitted, "measured_us": round(row.measured, 4),
                  "predicted_us": round(row.predicted, 4), "warps_per_sm": row.warps,
                  "error_percent": round(100 * row.error(), 2), "sign": row.sign} for row in rows],
    }  # fmt: skip


def as_text(rows):
    lines = [f"{'measured':>10} {'predicted':>10} {'error':>8}  configuration"]
    for row in rows:
        marks = (" (calibrated with)" if row.fitted else "") + (" SIGN" if row.sign == "wrong" else "")
        figures = f"{row.measured:7.3f} µs {row.predicted:7.3f} µs {100 * row.error():+7.1f}%"
        lines.append(f"{figures}  {plain(row.id)}{marks}")
    lines.append("")
    for fitted, title in ((True, "Used to calibrate"), (False, "Not used to calibrate")):
        sums = totals([row for row in rows if row.fitted == fitted])
        if not sums["configurations"]:
            lines.append(f"{title}: no configuration")
            continue
        lines += ["{}: {configurations} configurations, error median {error_median_percent:.1f} %, 95th percentile "
                  "{error_p95_percent:.1f} %, worst {error_worst_percent:.1f} %;".format(title, **sums),
                  "sign of the effect of PDL right in {signs_right} of {signs} with more than 5 %".format(**sums)]
    head = ("launch path", "warps per SM", "rows", "median", "95 %", "worst", "signs")
    lines += ["", "{:<12} {:>14} {:>6} {:>8} {:>8} {:>8} {:>10}".format(*head)]
    for sums in grouped(rows):
        if sums["configurations"]:
            which = "more than" if sums["warps_least"] else "up to"
            lines.append("{way:<12} {:>11} {:2} {configurations:6} {error_median_percent:6.1f} % "
                         "{error_p95_percent:6.1f} % {error_worst_percent:6.1f} % "
                         "{signs_right:4} of {signs}".format(which, FEW_WARPS, **sums))
    return "\n".join(lines)
