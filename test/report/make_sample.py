#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs as `pdltool bench --json` writes them, made up: each table with figures of a likely size, a few rows
waived and failed. `make_sample.py DIR` writes a file for each suite."""

import json
import math
import os
import random
import statistics
import sys

WAYS = ["stream", "stream-pdl", "libpdl", "graph", "graph-pdl", "chain"]
AGAINST = {"stream-pdl": "stream", "libpdl": "stream-pdl", "graph": "stream", "graph-pdl": "graph", "chain": "graph-pdl"}
EMPTY = {"stream": 1330, "stream-pdl": 514, "libpdl": 515, "graph": 512, "graph-pdl": 409, "chain": 409}

ENVIRONMENT = {
    "date": "2026-01-02T03:04:05Z",
    "command": "pdltool bench --json sample.json",
    "libpdl": "0.1.0",
    "git": "0123456789ab",
    "processor": "A processor",
    "processor_cores": 16,
    "gpu": "NVIDIA H200",
    "devices": 1,
    "multiprocessors": 132,
    "driver": "580.159.04",
    "sm_clock_limit_mhz": 1980,
}


def metric(name, unit, higher=False, tolerance=0.03):
    return {"name": name, "unit": unit, "higher_is_better": higher, "tolerance": tolerance}


class Table:
    """Points are added with the centre of each metric's samples; None is a metric that has none."""

    def __init__(self, suite, name, axes, metrics, rounds=30, passes=3, noise=0.01, title=None, note=None):
        self.random = random.Random(suite + name)
        self.rounds, self.passes, self.noise = rounds, passes, noise
        self.content = {
            "suite": suite,
            "name": name,
            "title": title or "The table %s of the suite %s" % (name, suite),
            "note": note or "Made up.",
            "axes": axes,
            "metrics": metrics,
            "points": [],
        }

    def id(self, *values):
        parts = ["%s=%s" % pair for pair in zip(self.content["axes"], values)]
        return "/".join([self.content["suite"], self.content["name"], *parts])

    def samples(self, centre):
        count = self.rounds * self.passes
        if centre is None:
            return [None] * count
        made = []
        for _ in range(count):
            tail = self.random.expovariate(1 / 0.08) if self.random.random() < 0.05 else 0
            made.append(float("%.6g" % (centre * (1 + self.random.gauss(0, self.noise) + tail))))
        return made

    def add(self, values, centres, against=None, waived=None, failed=None):
        values = [str(value) for value in values]
        known = {point["id"] for point in self.content["points"]}
        base = self.id(*[str(value) for value in against]) if against else None
        metrics = {}
        for described, centre in zip(self.content["metrics"], centres):
            samples = [] if waived or failed else self.samples(centre)
            metrics[described["name"]] = summary(samples)
        self.content["points"].append(
            {
                "id": self.id(*values),
                "axes": dict(zip(self.content["axes"], values)),
                "against": base if base in known else None,
                "waived": waived,
                "failed": failed,
                "checks": 0 if waived else 2 * self.passes,
                "passes": [] if waived or failed else [self.rounds * (i + 1) for i in range(self.passes)],
                "metrics": metrics,
            }
        )


def quantile(rising, share):
    at = share * (len(rising) - 1)
    low = int(at)
    high = min(low + 1, len(rising) - 1)
    return rising[low] + (rising[high] - rising[low]) * (at - low)


def summary(samples):
    rising = sorted(sample for sample in samples if sample is not None)
    figures = {"count": len(rising)}
    for name, share in (("min", 0), ("median", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1)):
        figures[name] = quantile(rising, share) if rising else None
    figures["mean"] = statistics.fmean(rising) if rising else None
    figures["spread"] = None
    figures["ratio"] = None
    figures["samples"] = samples
    return figures


def run(tables, ended_early=None, **environment):
    return {
        "schema": 1,
        "tool": "pdltool bench",
        "environment": {**ENVIRONMENT, **environment},
        "ended_early": ended_early,
        "tables": [table.content for table in tables],
    }


# ---- the suites ---------------------------------------------------------------------------------

CALLS = [
    ("chevron", 2950, None), ("cudaLaunchKernel", 2900, None), ("cudaLaunchKernelExC", 2920, None),
    ("pdl_launch-symbol", 2955, "cudaLaunchKernelExC"), ("cudaLaunchKernelEx", 2960, None),
    ("pdl_launch_kernel", 2990, "cudaLaunchKernelEx"), ("cuLaunchKernelEx", 2850, None),
    ("pdl_launch", 2872, "cuLaunchKernelEx"), ("cooperative", 2900, None),
    ("pdl_launch-cooperative", 2925, "cooperative"), ("cudaLaunchKernelExC-pdl", 2350, None),
    ("pdl_launch-symbol-auto", 2375, "cudaLaunchKernelExC-pdl"), ("cudaLaunchKernelEx-pdl", 2390, None),
    ("pdl_launch_kernel-auto", 2412, "cudaLaunchKernelEx-pdl"), ("cuLaunchKernelEx-pdl", 2280, None),
    ("pdl_launch-auto", 2300, "cuLaunchKernelEx-pdl"), ("graph", 6.1, None), ("graph-pdl", 6.2, None),
    ("chain", 6.2, "graph-pdl"),
]  # fmt: skip
VARIANTS = {"pdl_launch-symbol", "pdl_launch-symbol-auto", "pdl_launch_kernel", "pdl_launch_kernel-auto",
            "cudaLaunchKernelEx", "cudaLaunchKernelEx-pdl"}  # fmt: skip


def overhead():
    host = Table("overhead", "host", ["way", "args"], [metric("host", "ns", tolerance=0.1)], rounds=60)
    latency = Table("overhead", "latency", ["way", "args"], [metric("latency", "ns"), metric("call", "ns")])
    small = Table("overhead", "small", ["way", "args"],
                  [metric("additional", "ns"), metric("host", "ns"), metric("device", "ns")])  # fmt: skip
    large = Table("overhead", "large", ["way", "units"],
                  [metric(name, "ns") for name in ("additional", "host", "wait", "execution", "device")])  # fmt: skip
    other = Table("overhead", "other", ["way"],
                  [metric(name, "ns") for name in ("total", "host", "execution", "other", "start")])  # fmt: skip
    unit = Table("overhead", "unit", ["way", "wait", "units"], [metric("unit", "ns"), metric("latency", "us")], rounds=10)
    total = Table("overhead", "total", ["way", "units", "kernels"], [metric("latency", "us"), metric("host", "us")], rounds=10)
    devices = Table("overhead", "devices", ["way", "devices"],
                    [metric(name, "ns") for name in ("host", "additional", "execution", "latency")])  # fmt: skip
    for args in (0, 8, 64):
        for way, cost, raw in CALLS:
            more = 1 + args / 1000 if cost > 100 else 1
            against = (raw, args) if raw else None
            host.add((way, args), [cost * more], against)
            latency.add((way, args), [(8000 if cost > 100 else 8900) * more, max(cost, 1500)], against)
            device = 500 if "pdl" in way and "auto" not in way or "chain" in way or "auto" in way else 1330
            small.add((way, args), [max(cost, device), cost, device], against)
        host.add(("cuLaunchKernelEx-again", args), [3500], ("cuLaunchKernelEx", args))  # of no call of libpdl
    for units in (1, 2, 5, 10):
        for way, cost, raw in CALLS:
            if way not in VARIANTS:
                execution = 1000 if "pdl" not in way and way != "chain" else 480
                large.add((way, units), [units * 1000 + execution, cost, units * 1000, execution, execution - 50],
                          (raw, units) if raw else None)  # fmt: skip
    for way, cost, raw in CALLS:
        if way not in VARIANTS:
            own = max(cost, 1800)
            other.add((way,), [8000, own, 900, 7100 - own, 5200], (raw,) if raw else None)
    for way in ("chevron", "cooperative", "graph"):
        for wait in ("sleep", "spin"):
            for power in range(12):
                sleepy = 1000 + (60 if power > 2 else 700 / (power + 1) - 300)
                unit.add((way, wait, 2**power), [sleepy if wait == "sleep" else 1001, 8 + 2**power])
    for units in (0, 1, 5, 10):
        for power in range(7):
            for way, cost, raw in CALLS:
                if way not in VARIANTS and way not in ("cudaLaunchKernel", "cudaLaunchKernelExC", "pdl_launch-cooperative"):
                    each = max(cost / 1000, units + (0.5 if "pdl" in way or way == "chain" else 1))
                    total.add((way, units, 2**power), [7 + each * 2**power, cost / 1000 * 2**power],
                              (raw, units, 2**power) if raw else None)  # fmt: skip
    for count in (1, 2, 4, 8):
        for way in ("multi-device", "multi-device-free", "cuLaunchKernelEx", "pdl_launch"):
            late = None if count <= 2 else "the machine has 2 devices"
            devices.add((way, count), [3000 * count**1.5, 4000 * count**1.5, 1300 * count, 9000 * count], waived=late)
    return [host, latency, small, large, other, unit, total, devices]


def overlap():
    phases = Table("overlap", "phases", ["results", "prologue", "before", "after", "way"], [metric("device", "us")], rounds=20)
    for results in ("one", "all"):
        for p, b, a in ((2000, 4000, 0), (2000, 2000, 2000), (2000, 200, 3800), (200, 4000, 0), (4000, 4000, 4000)):
            whole = (p + b + a) / 1980
            early = max(whole - (p + a) / 1980 * 0.9, whole / 2) if a else whole
            for way in WAYS:
                time = whole + EMPTY[way] / 1000 if way in ("stream", "graph") else early + EMPTY[way] / 1000
                phases.add((results, p, b, a, way), [time + (0.1 if results == "all" else 0)],
                           (results, p, b, a, AGAINST[way]) if way in AGAINST else None)  # fmt: skip
    trigger = Table("overlap", "trigger", ["main", "trigger", "prologue", "fill", "shared", "way"],
                    [metric("device", "us"), metric("busiest", "blocks")], rounds=5)  # fmt: skip
    cells = [("spin", fill, shared, (200, 2000, 4000)) for fill in ("half", "sms", "waves") for shared in ("fits", "alone")]
    cells += [("work", "most", shared, (200, 2000)) for shared in ("none", "fits", "alone")]
    cells += [("work", "waves", "fits", (2000,))]
    for main, fill, shared, prologues in cells:
        for p in prologues:
            base = (p + 4000) / 1980 * (3.5 if fill == "waves" else 1)
            for way in ("stream", "graph"):
                trigger.add((main, "any", p, fill, shared, way), [base + EMPTY[way] / 1000, 1])
            for i, place in enumerate(("start", "0", "0.25", "0.5", "0.75", "1", "never")):
                for way in ("stream-pdl", "libpdl", "graph-pdl", "chain"):
                    gain = 0 if shared == "alone" else (6 - i) / 6 * p / 1980
                    loss = (6 - i) * 0.25 if main == "work" and fill == "most" else 0
                    raw = AGAINST[way] if way in ("libpdl", "chain") else None
                    trigger.add((main, place, p, fill, shared, way), [base + EMPTY[way] / 1000 - gain + loss, 1],
                                (main, place if raw else "any", p, fill, shared, AGAINST[way]))  # fmt: skip
    conditions = Table("overlap", "conditions", ["condition", "way"],
                       [metric("pair", "us"), metric("overlap", "us", True), metric("useful", "us", True)], rounds=20)  # fmt: skip
    for condition in ("all", "no-trigger", "silent-block", "no-attribute", "no-room", "no-prologue"):
        for way in WAYS:
            overlapped = condition in ("all", "no-prologue") and way not in ("stream", "graph")
            if condition == "no-attribute" and way in ("stream-pdl", "graph-pdl", "chain"):
                continue
            conditions.add((condition, way), [13 if overlapped else 17, 4.0 if overlapped else -0.7, 4.0 if condition == "all" and overlapped else 0],
                           (condition, AGAINST[way]) if way in AGAINST else None)  # fmt: skip
    names = ["%s_%s" % (which, what) for what in ("start", "waited", "triggered", "ended") for which in ("first", "last")]
    timeline = Table("overlap", "timeline", ["way", "kernel"], [metric(name, "us", tolerance=0.2) for name in names], rounds=20)
    for way in WAYS:
        late = 0 if way not in ("stream", "graph") else 3.4
        timeline.add((way, "fc1"), [0, 0.3, 3.03, 3.4, 5.05, 5.5, 7.1, 7.5])
        timeline.add((way, "fc2"), [v + late for v in (5.2, 5.9, 8.4, 8.9, 10.5, 10.9, 12.5, 12.9)])
    return [phases, trigger, conditions, timeline]


def graph():
    names = ("host", "device", "turns", "wall")
    line = Table("graph", "line", ["kernels", "blocks", "way"], [metric(name, "ns") for name in names], rounds=10)
    slope = Table("graph", "slope", ["span", "blocks", "way"],
                  [metric(name, "ns") for name in names] + [metric(name + "-fixed", "us") for name in names], rounds=10)  # fmt: skip
    build = Table("graph", "build", ["kernels", "way"],
                  [metric(name, "us") for name in ("create", "instantiate", "make", "upload", "change", "update", "launch", "destroy")], rounds=10)  # fmt: skip
    memory = Table("graph", "memory", ["kernels", "way"],
                   [metric(name, "bytes") for name in ("device", "device-graph", "host", "host-graph")], rounds=3)  # fmt: skip
    for blocks, more in (("1", 0), ("sm", 90)):
        for power in range(13):
            kernels = 2**power
            for way in WAYS:
                graphs = way in ("graph", "graph-pdl", "chain")
                host = 6 + 5000 / kernels if graphs else 2900 if way == "stream" else 2300
                device = EMPTY[way] + more + 900 / kernels
                known = graphs or kernels <= 512
                line.add((kernels, blocks, way), [host, device if known else None, device * 1.3 if known else None, max(host, device) + 6000 / kernels],
                         (kernels, blocks, AGAINST[way]) if way in AGAINST else None)  # fmt: skip
        for span in ("64-512", "512-4096"):
            for way in WAYS:
                known = way in ("graph", "graph-pdl", "chain") or span == "64-512"
                device = EMPTY[way] + more if known else None
                slope.add((span, blocks, way), [6, device, device, EMPTY[way], 5, 2, 2, 8],
                          (span, blocks, AGAINST[way]) if way in AGAINST else None)  # fmt: skip
    for power in range(0, 13, 2):
        kernels = 2**power
        for way in ("graph", "graph-pdl", "chain"):
            build.add((kernels, way), [0.4 * kernels + 2, 0.8 * kernels + 20, 1.2 * kernels + 22, None if way == "chain" else 10 + kernels / 20,
                                       0.11, 0.2 * kernels + 4, 5 + kernels / 100, 3 + kernels / 10],
                      (kernels, AGAINST[way]) if way in AGAINST else None)  # fmt: skip
    for kernels in (1, 16, 256, 4096, 65536, 2**31):
        for way in ("graph", "graph-pdl", "chain"):
            waived = "needs about 3,298,534,883,328 bytes of host memory, there are 128,000,000,000" if kernels == 2**31 else None
            memory.add((kernels, way), [600 + 1000 / kernels, 600 * kernels, 1500, 1500 * kernels], waived=waived)
    return [line, slope, build, memory]


def sync():
    grid = Table("sync", "grid", ["blocks", "threads", "way"], [metric("barrier", "ns"), metric("exchange", "ns")], rounds=20)
    costs = {"grid-sync": 990, "stream": 1400, "stream-pdl": 606, "graph": 561, "graph-pdl": 498, "chain": 498,
             "counter": 1050, "sense": 1110, "tree": 1300, "flags": 1600}  # fmt: skip
    for blocks, threads in ((1, 128), (4, 128), (16, 128), (1, 1024), (2, 1024)):
        for way, cost in costs.items():
            failed = "12 of 132 reads were wrong while it was timed" if way == "flags" and blocks == 16 else None
            more = 1 + 0.1 * math.log2(blocks) + threads / 8000
            grid.add((blocks, threads, way), [cost * more, cost * more * 1.4],
                     (blocks, threads, "grid-sync") if way != "grid-sync" else None, failed=failed)  # fmt: skip
    local = Table("sync", "local", ["cluster", "threads"], [metric("barrier", "ns"), metric("exchange", "ns")])
    for cluster in (1, 2, 4, 8, 16):
        for threads in (128, 1024):
            waived = "the driver refuses clusters of more than 8 blocks: CUDA_ERROR_INVALID_VALUE" if cluster == 16 else None
            local.add((cluster, threads), [15 + 80 * math.log2(cluster) + threads / 100, 30 + 120 * math.log2(cluster)], waived=waived)
    unordered = Table("sync", "unordered", ["missing"], [metric("stale", "%", True, 1)], rounds=8)
    for i, name in enumerate(("pdl-no-wait", "no-barrier", "no-fence", "no-cluster-barrier", "no-syncthreads")):
        unordered.add((name,), [90 - 17 * i])
    return [grid, local, unordered]


def device():
    throughput = Table("device", "throughput", ["children", "launchers"], [metric("rate", "1/s", True), metric("call", "ns")], rounds=9)
    for children in (32, 256, 2048, 16384):
        for name, threads in (("1x1", 1), ("1x32", 32), ("1x1024", 1024), ("128x1", 128), ("128x32", 4096)):
            if threads <= children:
                throughput.add((children, name), [160000 * threads**0.2 * children / (children + 30), 6100 * threads**0.7],
                               (children, "1x1") if threads > 1 else None)  # fmt: skip
    check = Table("device", "check", ["launchers", "by"], [metric("each", "ns"), metric("call", "ns")], rounds=9)
    for shape in ("1x1", "1x32"):
        for i, name in enumerate(("unchecked", "by-hand", "cdp.cuh")):
            check.add((shape, name), [6100 + 20 * i, 5900 + 20 * i], (shape, "unchecked") if i else None)
    limit = Table("device", "limit", ["limit", "children"],
                  [metric("rate", "1/s", True), metric("lost", "grids"), metric("memory", "bytes")], rounds=7)  # fmt: skip
    for value in (512, 2048, 8192, 65536, 1048576):
        for name in ("running", "held", "tail"):
            refused = "the driver refuses a limit of 1,048,576: CUDA_ERROR_OUT_OF_MEMORY" if value > 1e6 else None
            limit.add((value, name), [300000, max(0, 16384 - value), value * 2000], waived=refused)
    host = Table("device", "host", ["way"], [metric("rate", "1/s", True), metric("host", "ns")], rounds=21)
    for name, rate in (("streams-1", 340000), ("streams-2", 330000), ("streams-32", 300000), ("stream-pdl", 420000), ("libpdl", 418000),
                       ("graph", 1.8e6), ("graph-pdl", 2.3e6), ("chain", 2.3e6), ("graph-wide", 3.1e6), ("device-1x1", 160000), ("device-128x1", 700000)):  # fmt: skip
        host.add((name,), [rate, 1e9 / rate], ("streams-1",) if name != "streams-1" else None)
    latency = Table("device", "latency", ["way"], [metric("initial", "ns"), metric("subsequent", "ns"), metric("call", "ns")])
    for name, cost in (("stream", 1300), ("stream-pdl", 900), ("graph", 1100), ("graph-pdl", 800), ("fire-and-forget", 6000), ("device-stream", 6400),
                       ("tail", 3100), ("graph-fire-and-forget", 3900), ("graph-sibling", 4000), ("graph-tail", 2800)):  # fmt: skip
        device_side = name.startswith("graph-") and "pdl" not in name or name in ("fire-and-forget", "device-stream", "tail")
        latency.add((name,), [cost * 1.2, cost, cost / 2 if device_side else None], ("stream",) if name != "stream" else None)
    depth = Table("device", "depth", ["depth", "way"], [metric("level", "ns")], rounds=15)
    for value in (1, 2, 4, 8, 16, 24, 64):
        for name, cost in (("stream", 1500), ("graph", 1200), ("fire-and-forget", 6500), ("tail", 4200), ("graph-tail", 3300)):
            depth.add((value, name), [cost + 500 / value], (value, "stream") if name != "stream" else None)
    graphs = Table("device", "graphs", ["graphs", "way"], [metric("each", "ns"), metric("lost", "graphs")], rounds=15)
    for count in (8, 64, 120, 300):
        for name, cost in (("host", 4000), ("fire-and-forget", 2500), ("sibling", 2600), ("tail", 2100), ("self", 2300)):
            graphs.add((count, name), [cost, max(0, count - 120) if name not in ("host", "self") else 0], (count, "host") if name != "host" else None)
    return [throughput, check, limit, host, latency, depth, graphs]


def decode():
    token = Table("decode", "token", ["part", "way"], [metric("time", "us"), metric("weights", "TB/s", True), metric("of-read", "%", True)],
                  rounds=21, noise=0.002)  # fmt: skip
    times = {"stream": 711, "stream-pdl": 529, "libpdl": 529.5, "graph": 634, "graph-pdl": 513.4, "chain": 513.2}
    against = {"stream-pdl": "stream", "libpdl": "stream", "graph": "stream", "graph-pdl": "graph", "chain": "graph"}
    for part, more in (("linear", 1), ("attention", 1.1)):
        for way in WAYS:
            time = times[way] * more
            token.add((part, way), [time, 1950 / time, 425.6 / time * 100], (part, against[way]) if way in against else None)
    read = Table("decode", "read", ["method"], [metric("time", "us"), metric("rate", "TB/s", True)], rounds=21, noise=0.002)
    read.add(("loads",), [428, 4.55])
    read.add(("copies",), [425.6, 4.58])
    kernels = Table("decode", "kernels", ["kernel", "way"], [metric("time", "us"), metric("rate", "TB/s", True)], rounds=21, noise=0.004)
    for kernel, time in (("qkv", 4.2), ("attention", 3.0), ("out", 3.1), ("gate-up", 15.6), ("down", 8.6)):
        kernels.add((kernel, "graph"), [time * 1.25, 3])
        kernels.add((kernel, "chain"), [time, 3.7], (kernel, "graph"))
    return [token, read, kernels]


def tuned():
    """What `pdltool tune --json` writes."""

    def choice(trigger, *grid, **more):
        return {"trigger": trigger, "grid": [*grid, *([1] * (3 - len(grid)))], **more}

    def measured(ratio, state="right"):
        return {"state": state, "why": None, "us": 100 * ratio, "ratio": ratio, "ratio_low": ratio, "ratio_high": ratio, "samples": [100 * ratio] * 3}

    points = [choice(trigger, *grid, **measured(ratio)) for trigger, grid, ratio in
              ((-1, (132,), 2), (0, (132,), 1), (1, (132,), 0.9), (-1, (128, 2), 1.5), (0, (128, 2), 1.1), (1, (128, 2), 0.8))]  # fmt: skip
    wrong = choice(2, 132, **measured(1, "wrong"))
    return {
        "version": 1,
        "tool": "pdltool 0.1.0",
        "chain": "a chain",
        "gpu": "NVIDIA H200",
        "seconds": 6.5,
        "configurations": 24,
        "kinds": [{"name": name, "start": choice(0, 132), "chosen": choice(1, 128, 2)} for name in ("qkv", "out")],
        "last_comparison": {"no_overlap": measured(1.3), "start": measured(1), "chosen": measured(0.8)},
        "ended_early": None,
        "curves": [{"sweep": 1, "kind": "qkv", "points": [wrong, wrong]}, {"sweep": 2, "kind": "qkv", "points": points},
                   {"sweep": 2, "kind": "out", "points": [*points, wrong]}],
    }  # fmt: skip


SUITES = {"overhead": overhead, "overlap": overlap, "graph": graph, "sync": sync, "device": device, "decode": decode}


def write(path, content):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, make in SUITES.items():
        write(os.path.join(sys.argv[1], name + ".json"), run(make()))
    write(os.path.join(sys.argv[1], "tune.json"), tuned())


if __name__ == "__main__":
    main()
