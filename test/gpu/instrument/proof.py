#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Shows on a device that instrumented kernels keep their results when they are launched with overlap.

Each kernel of the lint corpus loses its waits and triggers, is instrumented in four ways, and is launched in
chains by chains.cu, in streams and in graphs: a producer that triggers at once, sleeps, and overwrites all
that the kernel reads and writes, then the kernel. After each launch all memory is hashed. A launch is stale
if the hash differs from that of the same launch in a chain without overlap.

A kernel takes part if its results can be told: for some choice of arguments and of a grid it ends, changes
memory, and leaves the same in each of five chains without overlap, of which one runs beside another load,
one puts garbage into shared memory before each launch, and one delays warps at random. Each kernel also runs
as it is, not instrumented, with overlap, which has to go wrong; one with non-coherent loads also with a wait
at its entry and these loads as they are. In a run of its own each instrumented kernel notes when it starts,
which shows the overlap.

Writes a line of JSON for the device, one for each kernel, and one for all. Exit status: 0; 1 if a launch
was stale, failed, or the controls did not go wrong; 77 if there is no device.
"""

import argparse
import concurrent.futures
import json
import os
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(ROOT, "test", "lint"))

import ptx  # pylint: disable=wrong-import-position
import run as corpus  # pylint: disable=wrong-import-position

SKIPPED = 77
# Name, options, and whether constant parameters are told.
VARIANTS = (
    ("entry_none", ["--wait", "entry", "--trigger", "none"], False),
    ("entry_wait", ["--wait", "entry", "--trigger", "wait"], False),
    ("hoist_wait", ["--wait", "hoist", "--trigger", "wait"], False),
    ("hoist_prefetch", ["--wait", "hoist", "--trigger", "last-read", "--prefetch"], True),
)
SORT_ROUNDS = 40
STAMP_ROUNDS = 20


def say(text):
    print(text, file=sys.stderr, flush=True)


# --------------------------------------------------------------------------------------------------
# Machine code


class Subject:
    """A kernel of the corpus, and the machine code of its variants."""

    def __init__(self, source, kernel):
        self.source, self.kernel = source, kernel
        self.cubins, self.refused, self.variables, self.dynamic = {}, None, [], False
        self.attempt = self.reason = None

    def title(self):
        return "%s: %s" % (self.source, self.kernel.spelled)


def run(command):
    pipe = subprocess.PIPE
    result = subprocess.run(command, stdout=pipe, stderr=pipe, text=True, check=False, timeout=300)
    return result.returncode, result.stdout, result.stderr


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def assemble(options, text, path):
    write(path + ".ptx", text)
    code, out, err = run([options.ptxas, "-arch=sm_%d" % options.architecture, path + ".ptx", "-o", path + ".cubin"])
    if code != 0:
        raise RuntimeError("ptxas refuses %s.ptx: %s" % (path, (out + err)[:500]))
    return path + ".cubin"


def instrument(options, text, path, arguments):
    """The instrumented text, and what the report says of each kernel."""
    write(path + ".in.ptx", text)
    command = [options.pdltool, "instrument", "--raise-target", "--no-project", "--json", "-o", path + ".out.ptx"]
    code, out, err = run(command + arguments + [path + ".in.ptx"])
    if code not in (0, 1):
        raise RuntimeError("pdltool instrument ended with %d for %s.in.ptx: %s" % (code, path, err[:500]))
    with open(path + ".out.ptx", encoding="utf-8") as file:
        return file.read(), {kernel["name"]: kernel for kernel in json.loads(out)["kernels"]}


def prepare_if_possible(options, kind, source):
    """The subjects of one file, and why there are none."""
    try:
        return prepare(options, kind, source), None
    except (RuntimeError, OSError, KeyError, ValueError, SystemExit, subprocess.TimeoutExpired) as error:
        return [], "%s/%s: %s" % (kind, os.path.basename(source.path), error)


def prepare(options, kind, source):
    """The subjects of one file."""
    name = "%s/%s" % (kind, os.path.basename(source.path))
    path = os.path.join(options.folder, name.replace("/", "_")[:-3])
    text = corpus.compile_ptx(options, "plain", source.path, path + ".ptx", source.options)
    text = ptx.without_pdl(text)
    subjects = [Subject(name, kernel) for kernel in ptx.kernels(text)]

    def finish(changed):
        return ptx.with_functions(ptx.with_visible_variables(changed))

    cubins = {
        "plain": assemble(options, finish(text), path + ".plain"),
        "jitter": assemble(options, finish(ptx.with_jitter(text)), path + ".jitter"),
    }
    if ".nc." in text and "sm_8" not in text:
        cubins["non_coherent"] = assemble(options, finish(ptx.with_code(text, ptx.WAIT)), path + ".nc")
    for label, arguments, constants in VARIANTS:
        stem = "%s.%s" % (path, label)
        changed, report = instrument(options, text if constants else ptx.without_markers(text), stem, arguments)
        cubins[label] = assemble(options, finish(changed), stem)
        cubins[label + "_stamps"] = assemble(options, finish(ptx.with_stamps(changed)), stem + ".stamps")
        for subject in subjects:
            line = report[subject.kernel.name]
            subject.kernel.set_signature(line["demangled"])
            if line["result"] != "instrumented":
                subject.refused = "instrument: %s: %s" % (line["reason"] or line["result"], line["message"])
    for subject in subjects:
        subject.cubins, subject.variables = cubins, ptx.variables(text)
        subject.dynamic = ".extern .shared" in text
    return subjects


# --------------------------------------------------------------------------------------------------
# Arguments


class Attempt:
    """One choice of a grid and of arguments."""

    def __init__(self, blocks, threads, number, unknown="f32", flag=1, variables="f32"):
        self.blocks, self.threads, self.number = blocks, threads, number
        self.unknown, self.flag, self.variables = unknown, flag, variables

    def tell(self):
        return {"blocks": self.blocks, "threads": self.threads, "number": self.number}


def attempts(subject):
    """The choices for a kernel, the best one first."""
    kernel = subject.kernel
    many, one = (8, kernel.cluster) if kernel.uses_blocks else (1, 1)
    shapes = [(many, 256, 256), (one, 256, 256), (many, 128, 128), (many, 256, 4), (one, 256, 4), (many, 192, 64)]
    shapes += [(one, 32, 32), (many, 256, 1), (one, 128, 1), (one, 256, 0), (one, 64, 2)]
    unknown = any(p.is_array or (p.is_pointer() and p.content() is None) for p in kernel.params)
    contents = ("f32", "ptr", "i32") if unknown else ("f32",)
    has_number = any(p.is_array or not (p.is_pointer() or p.is_float) for p in kernel.params)
    chosen, seen = [], set()
    for some in (shapes[:1], shapes[1:]):
        for content in contents:
            for blocks, threads, number in some:
                key = (blocks, threads, number if has_number else 0, content)
                if key not in seen:
                    seen.add(key)
                    chosen.append(Attempt(blocks, threads, number, content, flag=1 if number != 0 else 0))
    if subject.variables:
        chosen += [Attempt(blocks, threads, number, variables="i32") for blocks, threads, number in shapes[:2]]
    if any(p.size == 1 for p in kernel.params):
        chosen.append(Attempt(many, 256, 256, flag=0))
    return chosen


class Memory:
    """The buffers that a kernel's arguments point to."""

    def __init__(self):
        self.contents, self.constant = [], []

    def add(self, content, constant):
        self.contents.append(content)
        self.constant.append(constant)
        return len(self.contents) - 1

    def lines(self):
        target = len(self.contents)
        lines = ["buffer %s %d %d" % (c, k, target if c == "ptr" else -1) for c, k in zip(self.contents, self.constant)]
        return lines + ["buffer f32 0 -1"] if "ptr" in self.contents else lines


def struct_param(kernel, index, param, attempt, memory, constants):
    """The bytes of a struct, with addresses in its 8-byte fields."""
    data, places = bytearray(param.size), []
    fields = kernel.fields(index)
    if fields is None:
        first = [memory.add("f32", False) for _ in range(2)]
        return bytes(data), [(offset, first[offset // 8 % 2]) for offset in range(0, param.size - 7, 8)]
    for offset, size, is_float in fields:
        if size == 8 and not is_float:
            places.append((offset, memory.add(attempt.unknown, (index, offset) in constants)))
        elif is_float:
            data[offset : offset + size] = struct.pack("<f" if size == 4 else "<d", 1.25)
        elif size == 4:
            data[offset : offset + size] = struct.pack("<I", attempt.number)
        else:
            data[offset] = attempt.flag
    return bytes(data), places


def lines_of(subject, attempt):
    """The commands for chains.cu that describe a kernel."""
    kernel, memory, params = subject.kernel, Memory(), []
    constants = kernel.constants()
    for index, param in enumerate(kernel.params):
        places = []
        if param.is_array:
            data, places = struct_param(kernel, index, param, attempt, memory, constants)
        elif param.is_pointer():
            data = bytes(8)
            places = [(0, memory.add(param.content() or attempt.unknown, (index, 0) in constants))]
        elif param.spelled == "unsigned long long":  # in the corpus, an address
            data, places = bytes(8), [(0, memory.add("f32", (index, 0) in constants))]
        elif param.is_float:
            data = struct.pack("<f" if param.size == 4 else "<d", 1.25)
        else:
            number = attempt.flag if param.size == 1 else attempt.number
            data = number.to_bytes(max(param.size, 8), "little")[: param.size]
        params.append("param %s@%s" % (data.hex(), ",".join("%d=%d" % place for place in places)))
    shape = (attempt.blocks, attempt.threads, 16384 if subject.dynamic else 0)
    lines = ["kernel " + kernel.name, "shape %d %d %d" % shape] + params + memory.lines()
    return lines + ["global %s %s" % (name, attempt.variables) for name in subject.variables]


# --------------------------------------------------------------------------------------------------
# The device


class Worker:
    """A process of chains.cu, started again after an error, as its context is lost then."""

    def __init__(self, options, patience):
        self.options, self.patience, self.process, self.device = options, patience, None, None

    def start(self):
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [self.options.program, str(self.patience)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, bufsize=1)
        self.device = self.answer(60)

    def stop(self):
        if self.process is not None:
            self.process.kill()
            try:
                self.process.communicate(timeout=30)
            except (subprocess.TimeoutExpired, OSError, ValueError):
                pass  # the driver is still clearing up behind a kernel that hangs
            self.process = None

    def answer(self, seconds):
        timer = threading.Timer(seconds, self.process.kill)
        timer.start()
        line = self.process.stdout.readline()
        timer.cancel()
        try:
            result = json.loads(line)
        except ValueError:
            result = {"error": "hang", "message": "it ended without an answer, or had to be ended"}
        if "error" in result:
            self.stop()
        return result

    def begin(self, lines):
        if self.process is None:
            self.start()
        if self.process is None:
            raise RuntimeError("cannot start %s again: %s" % (self.options.program, self.device))
        self.send("\n".join(lines))

    def send(self, text):
        try:
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()
        except OSError:
            pass  # it has ended, which answer() sees

    def run(self, label, mode, constants, rounds, reference, cubin):
        """Returns the answer; one with "error" ends the kernel's session."""
        if self.process is None:
            return {"error": "lost", "message": "the process has ended"}
        self.send("run %s %s %d %d %s %s" % (label, mode, constants, rounds, reference, cubin))
        return self.answer(self.patience + 20)


def try_arguments(worker, subject, attempt):
    """Why a choice of arguments does not do; None if it does."""
    cubins = subject.cubins
    worker.begin(lines_of(subject, attempt))
    runs = (
        ("none", "none", "-", cubins["plain"]),
        ("plain", "plain", "none", cubins["plain"]),
        ("again", "plain", "plain", cubins["plain"]),
        ("disturbed", "disturbed", "plain", cubins["plain"]),
        ("scribbled", "scribbled", "plain", cubins["plain"]),
        ("jitter", "plain", "plain", cubins["jitter"]),
    )
    for label, mode, reference, cubin in runs:
        result = worker.run(label, mode, 0, SORT_ROUNDS, reference, cubin)
        if "error" in result:
            return "%s: %s" % (result["error"], result["message"])
        if label == "plain" and result["different"] < SORT_ROUNDS // 2:
            return "it changes nothing"
        if label not in ("none", "plain") and result["different"] > 0:
            return "its results differ from launch to launch without overlap (%s)" % label
    return None


def sort(worker, subject):
    """Looks for arguments with which the kernel's results can be told."""
    params = subject.kernel.params
    if subject.refused:
        subject.reason = subject.refused
    elif any(p.is_function() for p in params):
        subject.reason = "takes a function pointer"
    elif any(p.is_array and p.align >= 64 for p in params):
        subject.reason = "takes a tensor map"
    if subject.reason:
        return
    reasons, queue, fatal = {}, attempts(subject), 0
    while queue and fatal < 8:
        attempt = queue.pop(0)
        reason = try_arguments(worker, subject, attempt)
        if reason is None:
            subject.attempt = attempt
            return
        reasons.setdefault(reason, attempt)
        if reason.startswith("fault"):  # an index too large, or no pointers where they should be
            fatal += 1
            queue.sort(key=lambda other: other.number > 1 and other.unknown == attempt.unknown)
        elif reason.startswith("hang"):  # a barrier of as many threads as there are not
            fatal += 2
            queue.sort(key=lambda other: other.threads == attempt.threads)
    subject.reason = "; ".join(reasons)


def sort_all(options, subjects):
    """Several processes at a time, as many kernels fault or hang."""
    left, lock = list(reversed(subjects)), threading.Lock()

    def work():
        worker = Worker(options, 1.5)
        while True:
            with lock:
                subject = left.pop() if left else None
            if subject is None:
                worker.stop()
                return
            if time.monotonic() > options.began + 0.6 * options.limit:
                subject.reason = "no time was left"
                continue
            try:
                sort(worker, subject)
            except (RuntimeError, OSError) as error:  # perhaps the device takes fewer processes
                say("a process gives up: %s" % error)
                with lock:
                    left.append(subject)
                return

    threads = [threading.Thread(target=work) for _ in range(min(8, os.cpu_count() or 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for subject in left:
        subject.reason = "no process could be started"


def prove(worker, options, subject):
    """The runs of one kernel, as they go into the results."""
    cubins, variants, errors = subject.cubins, {}, []
    found = {"kernel": subject.kernel.spelled, "source": subject.source, **subject.attempt.tell(), "variants": variants}
    has_constants = bool(subject.kernel.constants()) and len(subject.kernel.constants()) == subject.kernel.marks()
    graph_rounds = options.rounds // 2
    usable = [v for v in VARIANTS if not (v[2] and subject.kernel.marks() and not has_constants)]

    def step(label, mode, constants, rounds, reference, cubin):
        result = worker.run(label, mode, constants, rounds, reference, cubin)
        if "error" in result:
            errors.append("%s: %s: %s" % (label, result["error"], result["message"]))
            begin()
        return result

    def begin():
        """What the runs are compared with."""
        worker.begin(lines_of(subject, subject.attempt))
        worker.run("none", "none", 0, options.rounds, "-", cubins["plain"])
        result = worker.run("plain0", "plain", 0, options.rounds, "none", cubins["plain"])
        worker.run("plain1", "plain", 1, options.rounds, "-", cubins["plain"])
        return result

    if begin().get("different", 0) < options.rounds // 2:  # addresses differ from process to process
        subject.attempt, subject.reason = None, "it changes nothing"
        return {"kernel": subject.kernel.spelled, "source": subject.source, "left_out": subject.reason}
    for label, _, constants in usable:
        told = int(constants and has_constants)
        reference = "plain%d" % told
        stream = step(label, "overlap", told, options.rounds, reference, cubins[label])
        graph = step(label + "_graph", "graph", told, graph_rounds, reference, cubins[label])
        stamps = step(label + "_stamps", "overlap", told, STAMP_ROUNDS, reference, cubins[label + "_stamps"])
        again = step(label + "_stamps_graph", "graph", told, STAMP_ROUNDS, reference, cubins[label + "_stamps"])
        variants[label] = {
            "launches": stream.get("rounds", 0) + graph.get("rounds", 0),
            "stale": stream.get("different", 0) + graph.get("different", 0),
            "early": stamps.get("early", 0),
            "early_graph": again.get("early", 0),
            "stale_with_stamps": stamps.get("different", 0) + again.get("different", 0),
        }
    alone = step("stamps_plain", "plain", 0, STAMP_ROUNDS, "plain0", cubins["entry_none_stamps"])
    found["early_without_overlap"] = alone.get("early", 0)
    if any(v["stale"] + v["stale_with_stamps"] for v in variants.values()):
        again = step("more_jitter", "plain", 0, options.rounds, "plain0", cubins["jitter"])
        garbage = step("more_garbage", "scribbled", 0, options.rounds, "plain0", cubins["plain"])
        found["differs_without_overlap"] = again.get("different", 0) + garbage.get("different", 0)
    if errors:
        found["errors"] = list(errors)
    # Last, as it may fault.
    control = worker.run("control", "overlap", 0, options.rounds, "plain0", cubins["plain"])
    graph = worker.run("control_graph", "graph", 0, graph_rounds, "plain0", cubins["plain"])
    found["control"] = {
        "launches": control.get("rounds", 0),
        "stale": control.get("different", 0),
        "launches_graph": graph.get("rounds", 0),
        "stale_graph": graph.get("different", 0),
    }
    if "error" in control:
        found["control"]["error"] = control["error"]
    if ".nc." in subject.kernel.body and "non_coherent" in cubins:
        loads = worker.run("non_coherent", "overlap", 0, options.rounds, "plain0", cubins["non_coherent"])
        found["non_coherent"] = {"launches": loads.get("rounds", 0), "stale": loads.get("different", 0)}
    return found


def prove_all(options, subjects, output):
    worker, found = Worker(options, 4.0), []
    for subject in subjects:
        if subject.attempt is not None and time.monotonic() > options.began + options.limit:
            subject.attempt, subject.reason = None, "no time was left"
        if subject.attempt is None:
            line = {"kernel": subject.kernel.spelled, "source": subject.source, "left_out": subject.reason}
        else:
            try:
                line = prove(worker, options, subject)
            except (RuntimeError, OSError) as error:
                line = {"kernel": subject.kernel.spelled, "source": subject.source, "errors": [str(error)]}
            if "left_out" not in line:
                found.append(line)
        emit(output, brief(line))
    worker.stop()
    return found


# --------------------------------------------------------------------------------------------------
# Results


def emit(output, line):
    if output is not None:
        output.write(json.dumps(line) + "\n")
        output.flush()


def brief(line):
    """A kernel's line with what is as it should be in few words."""
    line = dict(line)
    variants = line.pop("variants", None)
    if variants is not None:
        stale = {label: v["stale"] + v["stale_with_stamps"] for label, v in variants.items()}
        line["launches"] = sum(v["launches"] for v in variants.values())
        line["stale"] = {label: count for label, count in stale.items() if count} or 0
        line["early"] = [v["early"] for v in variants.values()]
        line["early_graph"] = [v["early_graph"] for v in variants.values()]
    return line


def sum_up(subjects, found):
    """The last line of the results, and what failed."""
    judged = [line for line in found if not line.get("differs_without_overlap")]
    total = {"kernels": len(subjects), "judged": len(judged), "left_out": len(subjects) - len(judged)}
    total["variants"] = {}
    for label, _, _ in VARIANTS:
        lines = [line["variants"][label] for line in judged if label in line.get("variants", {})]
        total["variants"][label] = {
            "kernels": len(lines),
            "launches": sum(line["launches"] for line in lines),
            "stale": sum(line["stale"] + line["stale_with_stamps"] for line in lines),
            "stamps": STAMP_ROUNDS * len(lines),
            "early": sum(max(line["early"], 0) for line in lines),
            "early_graph": sum(max(line["early_graph"], 0) for line in lines),
            "kernels_early": sum(line["early"] > 0 and line["early_graph"] > 0 for line in lines),
        }
    wrong = [line["control"] for line in judged if "control" in line]
    total["launches"] = sum(variant["launches"] for variant in total["variants"].values())
    total["stale"] = sum(variant["stale"] for variant in total["variants"].values())
    total["errors"] = sum(len(line.get("errors", [])) for line in judged)
    total["controls"] = len(wrong)
    total["controls_wrong"] = sum(control["stale"] > 0 or "error" in control for control in wrong)
    total["control_launches"] = sum(control["launches"] for control in wrong)
    total["control_stale"] = sum(control["stale"] for control in wrong)
    total["control_launches_graph"] = sum(control["launches_graph"] for control in wrong)
    total["control_stale_graph"] = sum(control["stale_graph"] for control in wrong)
    loads = [line["non_coherent"] for line in judged if "non_coherent" in line]
    total["non_coherent"] = {
        "kernels": len(loads),
        "kernels_stale": sum(line["stale"] > 0 for line in loads),
        "launches": sum(line["launches"] for line in loads),
        "stale": sum(line["stale"] for line in loads),
    }
    total["early_without_overlap"] = sum(line.get("early_without_overlap", 0) for line in judged)
    return total, judged


def report(total, found, judged, subjects, problems):
    failures = list(problems)
    for line in found:
        if line.get("differs_without_overlap"):
            say("left out, its results depend on when its warps start: %s: %s" % (line["source"], line["kernel"]))
    for line in judged:
        stale = {label: v for label, v in line.get("variants", {}).items() if v["stale"] + v["stale_with_stamps"] > 0}
        if stale or line.get("errors"):
            told = (line["source"], line["kernel"], json.dumps(stale), line.get("errors", ""))
            failures.append("%s: %s: %s %s" % told)
    for line in judged:
        if line.get("control", {}).get("stale") == 0 and "error" not in line["control"]:
            say("not wrong without a wait: %s: %s" % (line["source"], line["kernel"]))
    for subject in subjects:
        if subject.attempt is None:
            say("left out: %s: %s" % (subject.title(), subject.reason))
    if total["judged"] < total["kernels"] * 3 // 4:
        failures.append("only %d of %d kernels could be judged" % (total["judged"], total["kernels"]))
    if total["controls_wrong"] < total["controls"] * 9 // 10:
        counts = (total["controls_wrong"], total["controls"])
        failures.append("only %d of %d kernels went wrong without a wait" % counts)
    if total["early_without_overlap"] > 0:
        failures.append("%d kernels started early without overlap" % total["early_without_overlap"])
    for label, variant in total["variants"].items():
        if variant["kernels_early"] < variant["kernels"] * 9 // 10:
            counts = (label, variant["kernels_early"], variant["kernels"])
            failures.append("%s: only %d of %d kernels overlapped" % counts)
    print(json.dumps(total, indent=1))
    for failure in failures:
        say("failed: " + failure)
    return 1 if failures else 0


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--ptxas", help="default: the one beside nvcc")
    parser.add_argument("--pdltool", required=True)
    parser.add_argument("--include", default=os.path.join(ROOT, "include"), help="the folder of pdl/device.cuh")
    parser.add_argument("--program", required=True, help="chains.cu, built")
    parser.add_argument("--rounds", type=int, default=80, help="launches per variant in streams; half in graphs")
    parser.add_argument("--limit", type=float, default=1e9, help="seconds after which kernels are left out")
    parser.add_argument("--filter", default="", help="only files of the corpus with this in their name")
    parser.add_argument("--output", help="a file for the lines of JSON")
    parser.add_argument("--keep", help="a folder for PTX and machine code, which are kept")
    parser.add_argument("--prepare", action="store_true", help="only make the machine code, for sm_90")
    options = parser.parse_args()
    if not STAMP_ROUNDS <= options.rounds <= 500 or options.rounds % 20 != 0:
        parser.error("--rounds is %d, not a multiple of 20 up to 500" % options.rounds)
    beside = os.path.join(os.path.dirname(os.path.realpath(options.nvcc)), "ptxas")
    options.ptxas = options.ptxas or (beside if os.path.exists(beside) else "ptxas")
    return options


def prove_corpus(options, output):
    began = options.began = time.monotonic()
    options.architecture = 90
    if not options.prepare:
        worker = Worker(options, 4.0)
        worker.start()
        device = worker.device
        worker.stop()
        if device.get("error"):
            say("skipped: %s" % device["message"])
            return SKIPPED if device["error"] == "skip" else 1
        options.architecture = device["architecture"]
        emit(output, device)
    files = [(kind, source) for kind in ("broken", "right") for source in corpus.corpus(kind)]
    files = [(kind, source) for kind, source in files if options.filter in "%s/%s" % (kind, source.name)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        prepared = list(pool.map(lambda item: prepare_if_possible(options, *item), files))
    subjects = [subject for found, _ in prepared for subject in found]
    problems = [problem for _, problem in prepared if problem]
    say("%d kernels in %d files are machine code after %.1f s" % (len(subjects), len(files), time.monotonic() - began))
    if options.prepare:
        refused = [subject for subject in subjects if subject.refused]
        for subject in refused:
            say("refused: %s: %s" % (subject.title(), subject.refused))
        say("\n".join(problems + ["%d refused" % len(refused)]))
        return 1 if problems else 0
    sort_all(options, subjects)
    say("sorted after %.1f s" % (time.monotonic() - began))
    found = prove_all(options, subjects, output)
    total, judged = sum_up(subjects, found)
    total["seconds"] = round(time.monotonic() - began, 1)
    emit(output, total)
    return report(total, found, judged, subjects, problems)


def main():
    options = read_options()
    with tempfile.TemporaryDirectory() as folder:
        options.folder = options.keep or folder
        os.makedirs(options.folder, exist_ok=True)
        if options.output is None:
            return prove_corpus(options, None)
        with open(options.output, "w", encoding="utf-8") as output:
            return prove_corpus(options, output)


if __name__ == "__main__":
    sys.exit(main())
