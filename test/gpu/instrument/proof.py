#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Shows on a device that instrumented kernels keep their results when they are launched with overlap.

Each kernel of the lint corpus loses its waits and triggers, is instrumented in four ways, and is launched in
chains by chains.cu, in streams and in graphs: a producer that triggers at once, sleeps, and overwrites all
that the kernel reads and writes, then the kernel. After each launch all memory is hashed. A launch is stale
if the hash differs from that of the same launch in a chain without overlap.

kernels.txt says which kernels take part and how they are launched; --prepare compares it with the code, for which no
device is needed. Nothing is tried on the device: a kernel that could hang or fault is left out, every loop ends after two
seconds, one kernel is launched at a time from one process, and the first error of CUDA ends the run.

A kernel is judged if it changes memory and leaves the same in each of five chains without overlap, of which one runs
beside another load, one puts garbage into shared memory before each launch, and one delays warps at random. Each kernel
also runs as it is, not instrumented, with overlap, which has to go wrong. In a run of its own each instrumented kernel notes when it starts,
which shows the overlap.

Writes a line of JSON for the device, one for each kernel, and one for all. Exit status: 0; 1 if a launch
was stale, failed, or the controls did not go wrong, or kernels.txt is not right; 77 if there is no device.
"""

import argparse
import concurrent.futures
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import threading

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
    ("hoist_last_read", ["--wait", "hoist", "--trigger", "last-read"], True),
)
STAMP_ROUNDS = 20
PATIENCE = 5.0  # seconds for a chain


def say(text):
    print(text, file=sys.stderr, flush=True)


# --------------------------------------------------------------------------------------------------
# Machine code


class Subject:
    """A kernel of the corpus, and the machine code of its variants."""

    def __init__(self, source, kernel):
        self.source, self.kernel = source, kernel
        self.base = corpus.base_name(kernel.name)
        self.cubins, self.refused, self.variables, self.dynamic = {}, None, [], False
        self.launch = self.reason = self.hazards = None

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
        return ptx.with_bounds(ptx.with_functions(ptx.with_visible_variables(changed)))

    cubins = {
        "plain": assemble(options, finish(text), path + ".plain"),
        "jitter": assemble(options, finish(ptx.with_jitter(text)), path + ".jitter"),
    }
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
    code = re.sub(r"//[^\n]*", "", text)
    functions, bare = ptx.functions_of(code), {kernel.name: kernel for kernel in ptx.kernels(code)}
    for subject in subjects:
        bare[subject.kernel.name].params = subject.kernel.params
        subject.hazards = bare[subject.kernel.name].hazards(functions)
        subject.cubins, subject.variables = cubins, ptx.variables(text)
        subject.dynamic = ".extern .shared" in text
    return subjects


# --------------------------------------------------------------------------------------------------
# What is launched


class Launch:
    """A grid and arguments for a kernel, from the words of kernels.txt."""

    def __init__(self, kernel, words):
        self.blocks, self.threads, self.number, self.untyped = 8 if kernel.uses_blocks else 1, 256, 256, "f32"
        for word in words:
            shape, number = re.fullmatch(r"(\d+)x(\d+)", word), re.fullmatch(r"n=(\d+)", word)
            if shape:
                self.blocks, self.threads = int(shape.group(1)), int(shape.group(2))
            elif number:
                self.number = int(number.group(1))
            elif word in ("ptr", "i32"):
                self.untyped = word
            elif word != "-":
                raise ValueError("kernels.txt: %s is unknown" % word)

    def tell(self):
        return {"blocks": self.blocks, "threads": self.threads, "number": self.number}


def read_list():
    """{(file, kernel): [words of the launch, hazards, reason]} of kernels.txt."""
    found = {}
    with open(os.path.join(HERE, "kernels.txt"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                continue
            source, names, launch, hazards, reason = (field.strip() for field in line.split("|"))
            for name in names.split():
                if (source, name) in found or not reason:
                    raise ValueError("kernels.txt: %s: %s: twice, or without a reason" % (source, name))
                found[source, name] = (launch.split(), set(hazards.split()), reason)
    return found


def choose(subjects, whole):
    """Gives each subject its launch, or why it has none. Returns what kernels.txt lacks, and what is in it for nothing."""
    listed, problems = read_list(), []
    for subject in subjects:
        words, hazards, reason = listed.get((subject.source, subject.base), (["-"], set(), None))
        if subject.hazards != hazards:
            told = (subject.title(), " ".join(sorted(subject.hazards)) or "none", " ".join(sorted(hazards)) or "none")
            problems.append("%s: its hazards are: %s; kernels.txt says: %s" % told)
        if words == ["out"]:
            subject.reason = reason
        elif subject.refused:
            problems.append("%s: %s" % (subject.title(), subject.refused))
        else:
            subject.launch = Launch(subject.kernel, words)
    known = {(subject.source, subject.base) for subject in subjects}
    return problems + ["kernels.txt: there is no %s in %s" % (k, f) for f, k in listed if whole and (f, k) not in known]


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


def struct_param(kernel, index, param, launch, memory, constants):
    """The bytes of a struct, with addresses in its 8-byte fields."""
    data, places = bytearray(param.size), []
    fields = kernel.fields(index)
    if fields is None:
        first = [memory.add("f32", False) for _ in range(2)]
        return bytes(data), [(offset, first[offset // 8 % 2]) for offset in range(0, param.size - 7, 8)]
    for offset, size, is_float in fields:
        if size == 8 and not is_float:
            places.append((offset, memory.add(launch.untyped, (index, offset) in constants)))
        elif is_float:
            data[offset : offset + size] = struct.pack("<f" if size == 4 else "<d", 1.25)
        elif size == 4:
            data[offset : offset + size] = struct.pack("<I", launch.number)
        else:
            data[offset] = 1
    return bytes(data), places


def lines_of(subject):
    """The commands for chains.cu that describe a kernel."""
    kernel, launch, memory, params = subject.kernel, subject.launch, Memory(), []
    constants = kernel.constants()
    for index, param in enumerate(kernel.params):
        places = []
        if param.is_array:
            data, places = struct_param(kernel, index, param, launch, memory, constants)
        elif param.is_pointer():
            data = bytes(8)
            places = [(0, memory.add(param.content() or launch.untyped, (index, 0) in constants))]
        elif param.spelled == "unsigned long long":  # in the corpus, an address
            data, places = bytes(8), [(0, memory.add("f32", (index, 0) in constants))]
        elif param.is_float:
            data = struct.pack("<f" if param.size == 4 else "<d", 1.25)
        else:
            number = 1 if param.size == 1 else launch.number
            data = number.to_bytes(max(param.size, 8), "little")[: param.size]
        params.append("param %s@%s" % (data.hex(), ",".join("%d=%d" % place for place in places)))
    shape = (launch.blocks, launch.threads, 16384 if subject.dynamic else 0)
    lines = ["kernel " + kernel.name, "shape %d %d %d" % shape] + params + memory.lines()
    return lines + ["global %s f32" % name for name in subject.variables]


# --------------------------------------------------------------------------------------------------
# The device


class Lost(Exception):
    """The device gave an error, or no answer. Nothing more may be launched."""


class Worker:
    """The process of chains.cu."""

    def __init__(self, options):
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [options.program, str(PATIENCE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.device = self.answer(60)

    def stop(self):
        self.process.kill()
        try:
            self.process.communicate(timeout=30)
        except (subprocess.TimeoutExpired, OSError, ValueError):
            pass  # the driver is still clearing up

    def answer(self, seconds):
        timer = threading.Timer(seconds, self.process.kill)
        timer.start()
        line = self.process.stdout.readline()
        timer.cancel()
        try:
            return json.loads(line)
        except ValueError:
            return {"error": "hang", "message": "no answer from %s" % self.process.args[0]}

    def send(self, text):
        try:
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()
        except OSError:
            pass  # it has ended, which answer() sees

    def run(self, label, mode, constants, rounds, reference, cubin):
        self.send("run %s %s %d %d %s %s" % (label, mode, constants, rounds, reference, cubin))
        result = self.answer(PATIENCE + 20)
        if "error" in result:
            raise Lost("%s: %s: %s" % (label, result["error"], result["message"]))
        return result


def why_not_judged(worker, rounds, cubins):
    """Why nothing can be said about a kernel, from runs without overlap; None if something can."""
    worker.run("none", "none", 0, rounds, "-", cubins["plain"])
    if worker.run("plain0", "plain", 0, rounds, "none", cubins["plain"])["different"] < rounds // 2:
        return "it changes nothing"
    for label, mode, cubin in (("again", "plain", "plain"), ("disturbed", "disturbed", "plain"),
                               ("scribbled", "scribbled", "plain"), ("jitter", "plain", "jitter")):
        if worker.run(label, mode, 0, rounds, "plain0", cubins[cubin])["different"] > 0:
            return "its results differ from launch to launch without overlap (%s)" % label
    return None


def prove(worker, options, subject):
    """The runs of one kernel, as they go into the results."""
    cubins, variants = subject.cubins, {}
    found = {"kernel": subject.kernel.spelled, "source": subject.source, **subject.launch.tell(), "variants": variants}
    has_constants = bool(subject.kernel.constants()) and len(subject.kernel.constants()) == subject.kernel.marks()
    graph_rounds = options.rounds // 2
    usable = [v for v in VARIANTS if not (v[2] and subject.kernel.marks() and not has_constants)]
    worker.send("\n".join(lines_of(subject)))
    subject.reason = why_not_judged(worker, options.rounds, cubins)
    if subject.reason:
        return {"kernel": subject.kernel.spelled, "source": subject.source, "left_out": subject.reason}
    worker.run("plain1", "plain", 1, options.rounds, "-", cubins["plain"])
    for label, _, constants in usable:
        told = int(constants and has_constants)
        reference = "plain%d" % told
        stream = worker.run(label, "overlap", told, options.rounds, reference, cubins[label])
        graph = worker.run(label + "_graph", "graph", told, graph_rounds, reference, cubins[label])
        stamps = worker.run(label + "_stamps", "overlap", told, STAMP_ROUNDS, reference, cubins[label + "_stamps"])
        again = worker.run(label + "_stamps_graph", "graph", told, STAMP_ROUNDS, reference, cubins[label + "_stamps"])
        variants[label] = {
            "launches": stream["rounds"] + graph["rounds"],
            "stale": sum(one["different"] for one in (stream, graph, stamps, again)),
            "early": stamps["early"],
            "early_graph": again["early"],
        }
    alone = worker.run("stamps_plain", "plain", 0, STAMP_ROUNDS, "plain0", cubins["entry_none_stamps"])
    found["early_without_overlap"] = alone["early"]
    if any(v["stale"] for v in variants.values()):
        again = worker.run("more_jitter", "plain", 0, options.rounds, "plain0", cubins["jitter"])
        garbage = worker.run("more_garbage", "scribbled", 0, options.rounds, "plain0", cubins["plain"])
        found["differs_without_overlap"] = again["different"] + garbage["different"]
    control = worker.run("control", "overlap", 0, options.rounds, "plain0", cubins["plain"])
    graph = worker.run("control_graph", "graph", 0, graph_rounds, "plain0", cubins["plain"])
    found["control"] = {"stale": control["different"], "stale_graph": graph["different"]}
    return found


def prove_all(worker, options, subjects, output):
    found = []
    for subject in subjects:
        if subject.reason:
            line = {"kernel": subject.kernel.spelled, "source": subject.source, "left_out": subject.reason}
        else:
            try:
                line = prove(worker, options, subject)
            except Lost as error:
                raise Lost("%s: %s" % (subject.title(), error)) from None
            if "left_out" not in line:
                found.append(line)
        if subject.reason:
            say("left out: %s: %s" % (subject.title(), subject.reason))
        emit(output, line)
    return found


# --------------------------------------------------------------------------------------------------
# Results


def emit(output, line):
    if output is not None:
        output.write(json.dumps(line) + "\n")
        output.flush()


def sum_up(subjects, found):
    """The last line of the results, and what failed."""
    failures, judged = [], [line for line in found if not line.get("differs_without_overlap")]
    for line in found:
        if line.get("differs_without_overlap"):
            say("left out, its results depend on when its warps start: %s: %s" % (line["source"], line["kernel"]))
    total = {"kernels": len(subjects), "judged": len(judged), "variants": {}}
    for label, _, _ in VARIANTS:
        lines = [line["variants"][label] for line in judged if label in line["variants"]]
        early = sum(line["early"] > 0 and line["early_graph"] > 0 for line in lines)
        total["variants"][label] = {
            "kernels": len(lines), "launches": sum(line["launches"] for line in lines),
            "stale": sum(line["stale"] for line in lines), "kernels_early": early}
        if early < len(lines) * 9 // 10:
            failures.append("%s: only %d of %d kernels overlapped" % (label, early, len(lines)))
    for line in judged:
        if any(variant["stale"] for variant in line["variants"].values()):
            failures.append("%s: %s: %s" % (line["source"], line["kernel"], json.dumps(line["variants"])))
        if line["control"]["stale"] == 0:
            say("not wrong without a wait: %s: %s" % (line["source"], line["kernel"]))
    total["controls_wrong"] = sum(line["control"]["stale"] > 0 for line in judged)
    total["early_without_overlap"] = sum(line["early_without_overlap"] for line in judged)
    if len(judged) < len(subjects) * 3 // 4:
        failures.append("only %d of %d kernels could be judged" % (len(judged), len(subjects)))
    if total["controls_wrong"] < len(judged) * 9 // 10:
        failures.append("only %d of %d kernels went wrong without a wait" % (total["controls_wrong"], len(judged)))
    if total["early_without_overlap"] > 0:
        failures.append("%d kernels started early without overlap" % total["early_without_overlap"])
    return total, failures


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--pdltool", required=True)
    parser.add_argument("--include", default=os.path.join(ROOT, "include"), help="the folder of pdl/device.cuh")
    parser.add_argument("--program", required=True, help="chains.cu, built")
    parser.add_argument("--rounds", type=int, default=80, help="launches per variant in streams; half in graphs")
    parser.add_argument("--filter", default="", help="only files of the corpus with this in their name")
    parser.add_argument("--output", help="a file for the lines of JSON")
    parser.add_argument("--prepare", action="store_true", help="only make the machine code, for sm_90")
    options = parser.parse_args()
    if not STAMP_ROUNDS <= options.rounds <= 500 or options.rounds % 20 != 0:
        parser.error("--rounds is %d, not a multiple of 20 up to 500" % options.rounds)
    beside = os.path.join(os.path.dirname(os.path.realpath(options.nvcc)), "ptxas")
    options.ptxas = beside if os.path.exists(beside) else "ptxas"
    return options


def prove_corpus(options, output):
    options.architecture = 90
    if options.prepare:
        return prepare_all(options)[1]
    worker = Worker(options)
    try:
        if "error" in worker.device:
            skip = worker.device["error"] == "skip" and os.environ.get("PDL_TEST_REQUIRE_GPU") != "1"
            say("%s: %s" % ("skipped" if skip else "failed", worker.device["message"]))
            return SKIPPED if skip else 1
        options.architecture = worker.device["architecture"]
        emit(output, worker.device)
        subjects, wrong = prepare_all(options)
        if wrong:
            return 1  # nothing is launched of which not all is known
        found = prove_all(worker, options, subjects, output)
    except Lost as error:
        say("failed: the run ends, as the device may be lost: %s" % error)
        return 1
    finally:
        worker.stop()
    total, failures = sum_up(subjects, found)
    emit(output, total)
    print(json.dumps(total, indent=1))
    for failure in failures:
        say("failed: " + failure)
    return 1 if failures else 0


def prepare_all(options):
    """The kernels as machine code, and whether anything is wrong with files or kernels.txt."""
    files = [(kind, source) for kind in ("broken", "right") for source in corpus.corpus(kind)]
    files = [(kind, source) for kind, source in files if options.filter in "%s/%s" % (kind, os.path.basename(source.name))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        prepared = list(pool.map(lambda item: prepare_if_possible(options, *item), files))
    subjects = [subject for found, _ in prepared for subject in found]
    problems = [problem for _, problem in prepared if problem]
    problems += choose(subjects, not options.filter and not problems)
    counts = (len(subjects), len(files), sum(not subject.reason for subject in subjects))
    say("\n".join(problems + ["%d kernels in %d files, of which %d take part" % counts]))
    return subjects, bool(problems) or not subjects


def main():
    options = read_options()
    with tempfile.TemporaryDirectory() as folder:
        options.folder = folder
        if options.output is None:
            return prove_corpus(options, None)
        with open(options.output, "w", encoding="utf-8") as output:
            return prove_corpus(options, output)


if __name__ == "__main__":
    sys.exit(main())
