# SPDX-License-Identifier: MIT
"""Runs the program `watched` on the watched driver with libpdl-watch and mock CUPTI, and looks at the recordings.

Each function whose name begins with test_ is a test: watched.py [OPTION…] NAME.
"""

import argparse
import glob
import json
import os
import shutil
import signal
import subprocess
import sys

import recording as format_
from recording import Recording

ARGUMENTS = None
EVERYTHING = ["plain=3", "overlap=2", "memset", "copy", "back", "record", "wait", "host", "value",
              "allocate", "sync", "graph=2", "destroy", "capture=2", "destroy", "threads=2", "reset", "plain=1"]


def environment(cupti="", **variables):
    result = {name: value for name, value in os.environ.items() if not name.startswith(("PDL_", "MOCK_", "CUDA_"))}
    result.update({
        "LD_LIBRARY_PATH": ARGUMENTS.driver,
        "CUDA_INJECTION64_PATH": ARGUMENTS.library,
        "PDL_CUPTI_PATH": ARGUMENTS.cupti,
        "PDL_WATCH_RECORD": path("recording"),
        "MOCK_CUPTI": cupti,
    })
    result.update({name: str(value) for name, value in variables.items()})
    return result


def path(name):
    return os.path.join(ARGUMENTS.directory, name)


def clean():
    for file in glob.glob(path("recording*")):
        os.remove(file)


def run(words, cupti="", code=0, **variables):
    """Runs the program; returns what it wrote to standard error. It must end with that code."""
    done = subprocess.run([ARGUMENTS.program, *words], env=environment(cupti, **variables), timeout=100,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    assert done.returncode == code, f"code {done.returncode}, not {code}: {done.stderr}"
    # An emulator reports a signal that ends its program.
    return "".join(line for line in done.stderr.splitlines(True) if not line.startswith("qemu: uncaught target signal"))


def record(words, cupti="", code=0, silent=True, **variables):
    clean()
    errors = run(words, cupti, code, **variables)
    assert not silent or errors == "", errors
    return Recording(path("recording"))


def one_line(errors, *parts):
    lines = [line for line in errors.splitlines() if line.startswith("libpdl-watch: ")]
    assert len(lines) == 1 and len(errors.splitlines()) == 1, errors
    for part in parts:
        assert part in lines[0], f"{part!r} is not in {lines[0]!r}"


def equal(is_, expected):
    assert is_ == expected, f"{is_!r}, not {expected!r}"


# ---- what is recorded ---------------------------------------------------------------------------------

def test_launches_have_their_shapes_attributes_and_numbers():
    r = record(["plain=3", "ex=2", "overlap=2", "ptsz=1", "cooperative", "event", "cluster", "refused"])
    launches = r.launchs
    equal([launch.number for launch in launches], list(range(1, 13)))
    equal([r.kernel(launch) for launch in launches], 5 * ["fc1"] + 2 * ["fc2"] + 5 * ["fc1"])
    equal([launch.nth for launch in launches], [1, 2, 3, 4, 5, 1, 2, 6, 7, 8, 9, 10])
    equal([launch.flags for launch in launches],
          5 * [0] + 2 * [format_.OVERLAP | format_.ASKED] +
          [0, format_.COOPERATIVE, format_.EVENT, 0, 0])
    equal([launch.result for launch in launches], 11 * [0] + [1])
    first, fourth, sixth, eighth = (launches[i] for i in (0, 3, 5, 7))
    equal((first.grid_x, first.grid_y, first.grid_z, first.block_x, first.block_y, first.block_z, first.dynamic_shared),
          (3, 2, 1, 64, 1, 1, 128))
    equal((sixth.grid_x, sixth.block_x, sixth.block_y, sixth.dynamic_shared), (4, 32, 2, 256))
    equal((fourth.stream, eighth.stream), (1, 2))
    assert first.stream == sixth.stream and first.stream > 2
    for before, after in zip(launches, launches[1:]):
        assert before.begin_ns + before.duration_ns <= after.begin_ns
    for launch in launches[:-1]:
        runs = [e for e in r.executions if e.correlation == launch.correlation]
        equal(len(runs), 1)
        equal((r.name_of[runs[0].name], runs[0].grid_x, runs[0].block_x, runs[0].node),
              (r.kernel(launch), launch.grid_x, launch.block_x, 0))
        assert launch.begin_ns <= runs[0].start_ns < runs[0].end_ns
    equal(len(r.executions), 11)
    equal((r.ended, r.lost, r.lost_device, r.driver_version), (1, 0, 0, 13000))
    assert r.cupti_version // 10000 == 13, r.cupti_version
    assert r.command.endswith("watched plain=3 ex=2 overlap=2 ptsz=1 cooperative event cluster refused"), r.command


def test_functions_and_devices_are_described():
    r = record(["plain=2", "overlap=1"])
    equal(sorted(n.text for n in r.names), ["fc1", "fc2"])
    equal(len(r.functions), 2)
    for function in r.functions:
        equal((function.registers, function.ptx_version, function.binary_version), (32, 90, 90))
    equal(len(r.devices), 1)
    equal((r.devices[0].capability, r.devices[0].sms, r.devices[0].context), (90, 132, r.launchs[0].context))
    assert r.devices[0].text.startswith("libpdl fake device")


def test_operations_are_recorded():
    r = record(["copy", "memset", "back", "record", "wait", "host", "value", "allocate", "sync", "plain=1"])
    equal([o.operation for o in r.operations],
          [format_.COPY, format_.SET, format_.COPY, format_.EVENT_RECORD, format_.EVENT_WAIT, format_.HOST_FUNCTION,
           format_.VALUE, format_.ALLOCATION, format_.ALLOCATION, format_.SYNCHRONIZE])
    stream = r.launchs[0].stream
    equal([o.stream for o in r.operations], [stream, stream, 1, stream, stream, stream, stream, stream, stream, 1])
    recorded, waited = r.operations[3], r.operations[4]
    assert recorded.detail == waited.detail != 0
    equal([(t.operation, t.bytes) for t in sorted(r.transfers, key=lambda t: t.correlation)],
          [(format_.COPY, 64), (format_.SET, 64), (format_.COPY, 64)])
    equal({t.correlation for t in r.transfers}, {o.correlation for o in r.operations[:3]})


def check_graph(r, edges, names, replays):
    """The graph: its nodes by name in order, its edges as (from, to, port, type) of places in that order."""
    equal(len(r.graphs), 1)
    graph = r.graphs[0]
    equal((graph.nodes, graph.edges), (len(names), len(edges)))
    equal([r.kernel(n) if n.function else None for n in r.nodes], names)
    place = {n.node: i for i, n in enumerate(r.nodes)}
    equal(len(place), len(names))
    equal([(place[e.from_], place[e.to], e.from_port, e.type) for e in r.edges], edges)
    assert {n.graph for n in r.nodes} == {e.graph for e in r.edges} == {graph.handle}
    clone_of = {c.node: c.original for c in r.clones}
    equal(sorted(place[c] for c in clone_of.values()), list(range(len(names))))
    launched = r.of_operation(format_.GRAPH_LAUNCH)
    equal([o.detail for o in launched], replays * [graph.handle])
    for operation in launched:
        ran = [e for e in r.executions + r.transfers if e.correlation == operation.correlation]
        equal(sorted(place[clone_of[e.node]] for e in ran), list(range(len(names))))
        equal({e.graph for e in ran}, {graph.graph})


def test_graphs_that_are_built_have_nodes_and_edges():
    r = record(["graph=3"])
    check_graph(r, [(0, 1, 1, 1), (1, 2, 0, 0)], ["fc1", "fc2", "fc2"], 3)
    equal((r.nodes[0].grid_x, r.nodes[0].block_x), (5, 96))
    equal(len(r.launchs), 0)


def test_graphs_that_are_captured_know_what_launches_asked_for():
    r = record(["plain=1", "capture=2", "plain=1"])
    equal([launch.flags for launch in r.launchs],
          [0, format_.CAPTURED] + 2 * [format_.CAPTURED | format_.OVERLAP | format_.ASKED] + [0])
    check_graph(r, [(0, 1, 1, 1), (1, 2, 0, 0), (2, 3, 0, 0)], ["fc1", "fc2", None, "fc2"], 2)
    equal([bool(n.flags & format_.ASKED) for n in r.nodes], [False, True, False, True])
    equal([o.captured for o in r.of_operation(format_.SET)], [1])


def test_an_image_is_recorded_once():
    r = record(["plain=1", "reset", "plain=1", "reset", "plain=1"])
    equal([image.form for image in r.images], [1])
    equal(r.images[0].text[:4], b"\x7fELF")
    equal(len(record(["plain=1"], PDL_WATCH_CODE=0).images), 0)


def test_threads_record_side_by_side():
    r = record(["threads=8", "plain=1", "threads=4"])
    equal(len(r.launchs), 1201)
    equal(sorted(launch.number for launch in r.launchs), list(range(1, 1202)))
    equal(sorted(launch.nth for launch in r.launchs if r.kernel(launch) == "fc1"), list(range(1, 602)))
    equal(len({launch.thread for launch in r.launchs}), 13)
    equal(len(r.executions), 1201)
    equal(len(r.of_operation(format_.COPY)), 1200)


def test_many_launches_fill_several_chunks():
    r = record(["plain=20000"])
    equal([launch.number for launch in r.launchs], list(range(1, 20001)))
    equal((len(r.executions), r.lost), (20000, 0))


# ---- the process -------------------------------------------------------------------------------------------

def test_a_killed_process_leaves_what_it_had():
    r = record(["plain=5000", "kill=9"], code=-signal.SIGKILL)
    equal((len(r.launchs), r.ended), (5000, 0))
    r = record(["plain=500", "kill=6"], code=-signal.SIGABRT)
    equal((len(r.launchs), r.ended), (500, 0))
    r = record(["plain=500", "_exit=3"], code=3)
    equal((len(r.launchs), r.ended), (500, 0))
    r = record(["plain=500", "exit=3"], code=3)
    equal((len(r.launchs), len(r.executions), r.ended), (500, 500, 1))


def test_a_forks_child_has_a_recording_of_its_own():
    for word in ("fork", "fork_exit"):
        clean()
        run(["later", word + "=5", word + "=4", "begin", "plain=2"])
        recordings = [Recording(path(name)) for name in ("recording", "recording.2", "recording.3")]
        equal([len(r.launchs) for r in recordings], [5, 4, 2])
        equal([r.parent for r in recordings[:2]], 2 * [recordings[2].process])
        equal([r.ended for r in recordings], [word == "fork", word == "fork", 1])


def test_a_forks_child_leaves_its_parents_recording_alone():
    for word in ("fork", "fork_exit"):
        r = record(["plain=3", word + "=5", "plain=2"])
        equal((len(r.launchs), r.ended), (5, 1))
        equal([launch.number for launch in r.launchs], [1, 2, 3, 4, 5])


def test_a_program_that_is_executed_has_a_recording_of_its_own():
    r = record(["plain=3", "exec", "plain=2"])
    equal((len(r.launchs), r.ended), (3, 0))
    r = Recording(path("recording.2"))
    equal((len(r.launchs), r.ended), (2, 1))
    r = record(["plain=3", "spawn", "plain=2"])
    child = Recording(path("recording.2"))
    equal((len(r.launchs), len(child.launchs), child.parent), (3, 2, r.process))


def test_a_program_may_close_what_it_did_not_open():
    r = record(["plain=3", "close", "plain=20000", "check"])
    equal((len(r.launchs), r.ended, r.lost), (20003, 1, 0))


def test_a_program_may_change_its_folder():
    clean()
    done = subprocess.run([ARGUMENTS.program, "plain=1", "chdir=/", "plain=20000"], cwd=ARGUMENTS.directory,
                          env=environment(PDL_WATCH_RECORD="recording"), check=True)
    equal(done.returncode, 0)
    equal(len(Recording(path("recording")).launchs), 20001)


def test_a_recording_that_goes_away_harms_nobody():
    clean()
    run(["plain=1", "unlink=" + path("recording"), "plain=20000"])
    run(["plain=1", "move=" + path("recording"), "plain=20000"])
    r = Recording(path("recording.old"))
    assert 1 <= len(r.launchs) <= 20001
    equal(len(r.launchs) + len(r.executions) + r.lost >= 40001, True)


def test_a_file_in_the_place_of_the_recording_is_left_alone():
    clean()
    file = path("recording")
    one_line(run(["plain=1", "unlink=" + file, "put=" + file, "plain=20000"]), "ends here", "was replaced")
    with open(file, encoding="ascii") as mine:
        equal(mine.read(), "what the program wrote")


def test_a_recording_has_a_limit():
    for variables, words in (({"PDL_WATCH_LIMIT": 1 << 20}, []), ({"PDL_WATCH_LIMIT": "1MiB"}, []), ({}, ["limit=1048576"])):
        clean()
        one_line(run(words + ["plain=20000"], **variables), "ends here", "as large as allowed")
        r = Recording(path("recording"))
        assert r.size <= 1 << 20 and r.lost > 0 and r.ended == 1
        equal(len(r.launchs) + len(r.executions) + r.lost, 40000 + (len(r.names) < 1))


def test_a_disk_that_is_full_harms_nobody():
    folder = path("small")
    os.makedirs(folder, exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", folder], check=False,
                      stderr=subprocess.DEVNULL).returncode != 0:
        sys.exit(77)
    try:
        file = os.path.join(folder, "recording")
        one_line(run(["plain=20000"], PDL_WATCH_RECORD=file), "ends here", "No space left")
        r = Recording(file)
        assert r.lost > 0 and len(r.launchs) > 0
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_recording_that_cannot_be_made_is_one_line():
    one_line(run(["plain=2"], PDL_WATCH_RECORD=path("none/recording")), "nothing is recorded", "No such file")
    one_line(run(["plain=2"], PDL_WATCH_RECORD="/proc/recording"), "nothing is recorded")


def test_processes_with_one_name_have_a_file_each():
    clean()
    programs = [subprocess.Popen([ARGUMENTS.program, "plain=200"], env=environment()) for _ in range(6)]
    for program in programs:
        equal(program.wait(), 0)
    files = sorted(glob.glob(path("recording*")))
    equal([os.path.basename(f) for f in files], ["recording"] + [f"recording.{i}" for i in range(2, 7)])
    recordings = [Recording(f) for f in files]
    equal({r.process for r in recordings}, {program.pid for program in programs})
    equal([len(r.launchs) for r in recordings], 6 * [200])


def test_an_old_recording_is_not_written_over():
    clean()
    with open(path("recording"), "w", encoding="ascii") as file:
        file.write("mine")
    run(["plain=1"])
    with open(path("recording"), encoding="ascii") as file:
        equal(file.read(), "mine")
    equal(len(Recording(path("recording.2")).launchs), 1)


def test_a_program_without_cuda_has_no_recording():
    clean()
    equal(run(["no", "say=hello"]), "")
    equal(glob.glob(path("recording*")), [])


def test_without_a_name_nothing_is_recorded():
    clean()
    equal(run(EVERYTHING, PDL_WATCH_RECORD=""), "")
    equal(glob.glob(path("recording*")), [])


# ---- windows -------------------------------------------------------------------------------------------------

def test_a_window_leaves_out_launches():
    r = record(["plain=10", "overlap=10"], PDL_WATCH_SKIP=5)
    equal([launch.number for launch in r.launchs], list(range(6, 21)))
    equal(r.launchs[-1].nth, 10)
    r = record(["plain=10", "overlap=10"], PDL_WATCH_COUNT=5)
    equal([launch.number for launch in r.launchs], [1, 2, 3, 4, 5])
    r = record(["plain=10", "overlap=10"], PDL_WATCH_SKIP=8, PDL_WATCH_COUNT=4)
    equal([launch.number for launch in r.launchs], [9, 10, 11, 12])
    equal([r.kernel(launch) for launch in r.launchs], ["fc1", "fc1", "fc2", "fc2"])
    assert len(r.executions) >= 4


def test_a_window_has_a_time():
    r = record(["plain=10", "sleep=300", "plain=10"], PDL_WATCH_SECONDS="0.1")
    equal([launch.number for launch in r.launchs], list(range(1, 11)))


# ---- CUPTI --------------------------------------------------------------------------------------------------

def test_cupti_that_is_missing_or_too_old_is_one_line():
    for file, part in ((path("no.so"), "was not found where PDL_CUPTI_PATH says"), (ARGUMENTS.program, "not found"),
                       (os.path.join(ARGUMENTS.driver, "libcuda.so.1"), "too old")):
        one_line(run(["plain=3", "overlap=1", "graph=1"], PDL_CUPTI_PATH=file), "no device times", part)
    clean()
    one_line(run(["plain=3"], "version=17"), "too old (17)")
    r = Recording(path("recording"))
    equal((r.cupti_version, r.ended, len(r.notes)), (0, 1, 1))


def test_cupti_that_another_has_is_one_line():
    clean()
    one_line(run(["plain=3", "graph=1"], "taken"), "another profiler",
             "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED")
    equal(Recording(path("recording")).executions, [])


def test_cupti_is_left_alone_if_that_is_asked_for():
    r = record(EVERYTHING, "calls=" + path("calls"), PDL_WATCH_CUPTI=0)
    equal((r.cupti_version, len(r.executions)), (0, 0))
    equal(os.path.exists(path("calls")), False)


def test_each_call_of_cupti_may_fail():
    words = ["plain=2", "overlap=1", "memset", "graph=1", "capture=1", "reset", "plain=1"]
    record(words, "calls=" + path("calls"))
    with open(path("calls"), encoding="ascii") as file:
        calls = int(file.read())
    assert calls > 50, calls
    step = max(1, calls // 60) # of the many that enable callbacks, some
    for call in [*range(1, calls, step), *range(max(1, calls - 40), calls + 1)]:
        for plan in (f"fail={call}", f"fail_from={call}"):
            clean()
            errors = run(words, plan)
            lines = errors.splitlines()
            assert len(lines) <= 1 and all(line.startswith("libpdl-watch: ") for line in lines), (plan, errors)
            equal(Recording(path("recording")).ended, 1)


def test_records_in_any_order_are_all_there():
    for plan in ("reverse", "thread", "threads", "small", "threads,small,reverse"):
        r = record(["plain=300", "overlap=20", "graph=5", "threads=2"], plan)
        equal(len(r.launchs), 520)
        if plan != "thread": # which loses what it has when the process ends
            equal(sorted(e.correlation for e in r.executions if e.graph == 0),
                  sorted(launch.correlation for launch in r.launchs))
            equal(len(r.executions), 535)


def test_records_that_never_come_are_missing_alone():
    for plan in ("never", "late"):
        r = record(EVERYTHING, plan)
        assert len(r.launchs) > 200
    equal(len(record(["plain=5"], "never").executions), 0)
    equal(record(["plain=5"], "lost=17").lost_device, 17)


def test_absurd_times_and_names_are_recorded_as_they_are():
    for plan in ("zero", "backwards", "future", "unknown", "null", "huge"):
        r = record(EVERYTHING, plan)
        assert len(r.executions) > 200, plan
    equal({(e.start_ns, e.end_ns) for e in record(["plain=3"], "zero").executions}, {(0, 0)})
    equal({r.name_of[e.name] for r in [record(["plain=3"], "null")] for e in r.executions}, {""})


def test_callbacks_and_records_may_go_astray():
    for seed in range(1, 41):
        plan = f"seed={seed}" + (",threads" if seed % 2 else "") + (",small" if seed % 3 == 0 else "")
        r = record(EVERYTHING, plan)
        equal(r.ended, 1)
        assert len(r.launchs) > 100, (seed, len(r.launchs))


def test_a_context_that_is_reset_loses_nothing():
    r = record(["plain=10", "graph=1", "reset", "plain=10", "reset", "overlap=10"])
    equal((len(r.launchs), len(r.executions)), (30, 33))
    equal(len({launch.context for launch in r.launchs}), 3)
    equal({d.context for d in r.devices}, {launch.context for launch in r.launchs})


def test_a_window_that_is_closed_costs_no_records():
    r = record(["plain=1000"], PDL_WATCH_SKIP=1000)
    equal((r.launchs, r.executions, r.operations), ([], [], []))


# ---- pdltool -------------------------------------------------------------------------------------------------

def watch(words, cupti="", code=0, options=(), program=None, reads=True):
    """Runs pdltool watch; returns what it reports, what the program wrote and what was said."""
    if ARGUMENTS.tool is None:
        sys.exit(77)
    variables = environment(cupti, PDL_WATCH_LIBRARY=ARGUMENTS.library)
    for name in ("CUDA_INJECTION64_PATH", "PDL_WATCH_RECORD"):
        del variables[name]
    if os.path.exists(path("report")):
        os.remove(path("report"))
    done = subprocess.run([ARGUMENTS.tool, "watch", "--json", "--output", path("report"), *options, "--",
                           program or ARGUMENTS.program, *words], env=variables, timeout=100, check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if "jansson" in done.stderr:
        sys.exit(77)
    equal((done.returncode, done.stderr if done.returncode != code else ""), (code, ""))
    if not reads:
        return None, done.stdout, done.stderr
    with open(path("report"), encoding="utf-8") as file:
        return json.load(file), done.stdout, done.stderr


def test_pdltool_reports_what_a_program_did():
    report, output, errors = watch(["say=hello", "plain=30", "overlap=20", "memset", "overlap=1", "graph=5", "exit=3"],
                                   code=3)
    equal((output, errors), ("hello\n", ""))
    verdict = report["verdict"]
    equal([verdict[name] for name in ("launches", "graph_runs", "asked", "overlapped", "races")], [66, 15, 26, 25, 0])
    kernels = {kernel["name"]: kernel for kernel in report["kernels"]}
    equal({name: (k["launches"], k["overlapped"], k["waits"], k["triggers"]) for name, k in kernels.items()},
          {"fc1": (35, 0, "no", "yes"), "fc2": (31, 25, "yes", "no")})
    equal((report["processes"][0]["ended"], report["processes"][0]["lost"], report["program"]["exit_code"]),
          (True, 0, 3))


def test_pdltool_follows_children_and_what_is_executed():
    for word, ended in (("spawn", [True, True]), ("exec", [False, True])):
        report, _, _ = watch(["plain=5", word, "overlap=3"])
        equal(report["verdict"]["launches"], 8)
        equal([process["ended"] for process in report["processes"]], ended)


def test_pdltool_reports_what_a_killed_program_did():
    report, _, _ = watch(["plain=500", "kill=9"], code=128 + 9)
    equal(report["program"]["signal"], 9)
    equal(report["processes"][0]["ended"], False)
    assert 400 < report["verdict"]["launches"] <= 500, report["verdict"] # those whose records CUPTI had handed over
    equal(report["kernels"][0]["name"], "fc1")


def test_pdltool_watches_programs_that_cannot_be():
    _, _, errors = watch([], code=127, program=path("none"), reads=False)
    assert "pdltool watch: error: cannot start " in errors, errors
    with open(path("text"), "w", encoding="ascii") as file:
        file.write("no program")
    _, _, errors = watch([], code=126, program=path("text"), reads=False)
    assert "pdltool watch: error: cannot start " in errors, errors
    report, output, _ = watch(["no", "say=hello", "exit=4"], code=4)
    equal((output, report["verdict"]["launches"], report["processes"]), ("hello\n", 0, []))


def test_pdltool_reads_what_went_astray():
    for seed in range(1, 21):
        report, _, _ = watch(EVERYTHING, f"seed={seed}" + (",small,threads" if seed % 2 else ""),
                             options=["--fail-on", "never"])
        assert report["verdict"]["launches"] > 100, seed
    for plan in ("zero", "backwards", "future", "unknown", "null", "huge", "never", "late", "taken"):
        _, _, errors = watch(EVERYTHING, plan, options=["--fail-on", "never", "--allow-unobserved"])
        assert len(errors.splitlines()) == (plan == "taken"), (plan, errors)


def main():
    global ARGUMENTS
    parser = argparse.ArgumentParser()
    for option in ("program", "library", "driver", "cupti", "directory"):
        parser.add_argument("--" + option, required=True)
    parser.add_argument("--tool")
    parser.add_argument("test")
    ARGUMENTS = parser.parse_args()
    shutil.rmtree(ARGUMENTS.directory, ignore_errors=True)
    os.makedirs(ARGUMENTS.directory)
    globals()["test_" + ARGUMENTS.test]()
    shutil.rmtree(ARGUMENTS.directory, ignore_errors=True)


if __name__ == "__main__":
    main()
