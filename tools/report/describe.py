# SPDX-License-Identifier: MIT
"""A description for `pdltool sim` of a trace that pdl_timeline_write() has written: each launch is a kernel with the
medians of its blocks' phases. Resources are in no trace, but for how many blocks of a launch shared an SM, where there
were more of them than had room."""

import bisect
import dataclasses
import decimal
import re
import statistics

from model import read_device
from runs import Trouble, load

WARP = 32


@dataclasses.dataclass
class Block:
    """Stamps are whole ns: a float cannot resolve those of a clock that counts from 1970."""

    sm: int
    start: int
    end: int
    wait: int = None
    waited: int = None
    triggered: int = None

    def phases(self):
        """Before the wait, to the trigger, and to the end."""
        main = self.start if self.waited is None else self.waited
        trigger = max(main, self.end if self.triggered is None else self.triggered)
        return 0 if self.wait is None else self.wait - self.start, trigger - main, self.end - trigger


@dataclasses.dataclass
class Launch:
    name: str
    process: int
    blocks: list = dataclasses.field(default_factory=list)


def stamp(us):
    return round(decimal.Decimal(us) * 1000)


def read_launches(content):
    """The launches by their numbers, and the names of their tracks."""
    launches, tracks = {}, {}
    for event in content["traceEvents"]:
        args = event.get("args", {})
        if event["name"] == "process_name":
            tracks[event["pid"]] = args["name"]
        elif event.get("cat") == "block" and event["ph"] == "X":
            start = stamp(event["ts"])
            stamps = {key: args.get(f"{key}_ns") for key in ("wait", "waited", "triggered")}
            launch = launches.setdefault(int(args["launch"]), Launch(event["name"], event["pid"]))
            launch.blocks.append(Block(args["sm"], start, start + stamp(event["dur"]), **stamps))
    return dict(sorted(launches.items())), tracks


def most_at_once(blocks):
    """Most blocks that an SM had at a time; 0 where each SM had all of its blocks at once: then nobody knows how many it
    has room for."""
    most, limited, sms = 0, False, {}
    for block in blocks:
        sms.setdefault(block.sm, []).append(block)
    for here in sms.values():
        starts, ends = sorted(block.start for block in here), sorted(block.end for block in here)
        for start in starts:
            ended = bisect.bisect_right(ends, start)
            most, limited = max(most, bisect.bisect_right(starts, start) - ended), limited or ended > 0
    return most if limited else 0


def kernel_line(name, blocks, device):
    one, most, warps = blocks[0], most_at_once(blocks), int(device["sm-threads"]) // WARP
    prologue, before, after = (statistics.median(values) for values in zip(*[block.phases() for block in blocks]))
    start, end, never = device["block-start"], device["block-end"], one.triggered is None
    times = {"prologue": prologue - start, "before": before - end * never - start * (one.wait is None),
             "after": after - end * (not never)}  # fmt: skip
    trigger = " trigger=never" if never else " trigger=start" if one.wait is not None and one.triggered < one.wait else ""
    phases = " ".join(f"{key}={max(0, time):.10g}ns" for key, time in times.items())
    return (f"kernel {name} blocks={len(blocks)} threads={warps // most * WARP if 0 < most <= warps else 1} {phases} "
            f"noarguments{trigger}{' nowait' if one.wait is None else ''}")  # fmt: skip


def word(text):
    """A name as a description can have it."""
    return re.sub(r"[\s#=]", "_", text) or "_"


def describe(path, device_name):
    """A launch that started before the one before it in its track had ended was launched to overlap."""
    _, device = read_device(device_name)
    kernels, lines, last = [], [], {}
    try:
        launches, tracks = read_launches(load(path, parse_float=decimal.Decimal))
        for number, launch in launches.items():
            name, track = f"{word(launch.name)}.{number}", tracks.get(launch.process, "trace")
            if list(tracks.values()).count(track) > 1:
                track += f".{launch.process}"
            kernels.append(kernel_line(name, launch.blocks, device))
            first = min(block.start for block in launch.blocks)
            overlap = first < last.get(launch.process, first)
            lines.append(f"launch {name} stream={word(track)}{' overlap' if overlap else ''}")
            last[launch.process] = max(block.end for block in launch.blocks)
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise Trouble(f"{path}: error: not a trace of a timeline ({type(error).__name__}: {error})") from error
    if not kernels:
        raise Trouble(f"{path}: error: not a trace of a timeline: it has no blocks")
    return "\n".join(["gate", *kernels, *lines, ""])
