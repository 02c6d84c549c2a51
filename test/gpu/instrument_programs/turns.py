# SPDX-License-Identifier: MIT
"""What the programs of this folder share: timing by events, and taking turns with other processes on the device.

A program prints a line of JSON when it is ready. It then reads lines: each `go` makes it measure all of its cases
once and print a line. So run.py starts every variant at the same time, and lets one after the other measure."""

import hashlib
import json
import statistics
import sys
import time

import torch

STARTED = time.monotonic()


def say(**line):
    print(json.dumps(line), flush=True)


def microseconds(call, repeats):
    """Device time of one call, when `repeats` are in the stream."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(repeats):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1000 / repeats


def host_microseconds(call, repeats):
    """Host time of one call, without waiting for the device."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(repeats):
        call()
    took = (time.perf_counter() - begin) * 1e6 / repeats
    torch.cuda.synchronize()
    return took


def capture(call):
    """A graph of one call, and its result. The call ran before."""
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = call()
    torch.cuda.synchronize()
    return graph, result


def digest(tensor):
    return hashlib.sha256(tensor.detach().contiguous().view(torch.uint8).cpu().numpy().tobytes()).hexdigest()[:16]


def summary(values):
    """Median and quartiles."""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return {"us": round(middle, 3), "p25": round(low, 3), "p75": round(high, 3), "rounds": len(values)}


SHORTEST = 4000 # µs of a measurement


class Case:
    """A piece of work, measured in a stream and as a graph."""

    def __init__(self, call):
        self.call = call
        for _ in range(3):
            self.expected = call()
        torch.cuda.synchronize()
        self.graph, self.result = capture(call)
        self.graph.replay()
        self.repeats = max(3, int(SHORTEST / microseconds(self.graph.replay, 3)))

    def bits(self):
        return digest(self.expected)

    def measure(self):
        """µs of a call on the device, in a graph and in a stream, and on the host; whether all results were the same."""
        self.graph.replay()
        graph = microseconds(self.graph.replay, self.repeats)
        same = torch.equal(self.result, self.expected)
        same = torch.equal(self.call(), self.expected) and same
        stream, host = microseconds(self.call, 10), host_microseconds(self.call, 5)
        return {"graph": graph, "stream": stream, "host": host, "same": same}


def turns(measure):
    """Each `go` is a turn."""
    say(ready=round(time.monotonic() - STARTED, 1))
    for line in sys.stdin:
        if line.strip() == "go":
            say(round=measure())


def serve(makers):
    """`makers`: by name, what makes a Case. One that fails is left out."""
    cases = {}
    for name, make in makers.items():
        try:
            cases[name] = case = make()
            say(case=name, bits=case.bits())
        except Exception as error:  # pylint: disable=broad-except
            say(case=name, failed=f"{type(error).__name__}: {error}"[:600])
    turns(lambda: {name: case.measure() for name, case in cases.items()})
