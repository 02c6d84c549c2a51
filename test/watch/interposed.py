#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs with libpdl-watch preloaded, on a driver that writes down what it is asked to do. test_*() are the tests."""

import argparse
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

OVERLAP = "PROGRAMMATIC_STREAM_SERIALIZATION=1"
EVERYTHING = "waits waits! waits+ branch branch! late! never never! waits* waits- waits? waits%".split()
AS_IT_IS = [("waits", ""), ("waits", OVERLAP), ("waits", ""), ("branch", ""), ("branch", OVERLAP), ("late", OVERLAP),
            ("never", ""), ("never", OVERLAP), ("waits", "COOPERATIVE=1"),
            ("waits", "PROGRAMMATIC_STREAM_SERIALIZATION=0"), ("waits", ""),
            ("waits", f"PRIORITY=-1, {OVERLAP}, CLUSTER_DIMENSION=2,1,1")]

args = None


class Run:
    """A run of a program."""

    def __init__(self, name, commands, rules=None, preload=None, way="dlsym", record=False, inspect=True,
                 program=None, **environment):
        folder = args.directory / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.folder = folder
        self.log = folder / "log"
        paths = [args.driver] + ([args.inspect] if inspect else [])
        variables = dict(os.environ, LD_LIBRARY_PATH=os.pathsep.join(map(str, paths)), PDL_FAKE_LOG=str(self.log),
                         **{"PDL_WATCH_CUPTI": "0", **environment})
        libraries = [args.library] if preload is None else preload
        if libraries:
            variables["LD_PRELOAD"] = os.pathsep.join([*args.runtime, *map(str, libraries)])
        if rules is not None:
            (folder / "rules").write_text(rules)
            variables["PDL_WATCH_RULES"] = str(folder / "rules")
        if record:
            variables["PDL_WATCH_RECORD"] = str(folder / "record")
        if isinstance(commands, str):
            commands = commands.split()
        program = program or args.program
        result = subprocess.run([program, *([way] if way else []), *commands], env=variables, capture_output=True,
                                text=True, check=False, timeout=100)
        self.said = result.stderr.splitlines()
        self.code = result.returncode
        assert result.returncode == 0, (result.returncode, result.stdout, result.stderr)
        text = self.log.read_text() if self.log.exists() else ""
        self.launches = [(m[1], m[3]) for m in re.finditer(
            r"f=(\S+) grid=\S+ block=\S+ smem=\S+ stream=(\S+) attrs=\[(.*?)\]", text)]
        self.streams = re.findall(r"f=\S+ grid=\S+ block=\S+ smem=\S+ stream=(\S+) attrs", text)

    def overlaps(self):
        """The launches in short."""
        return [name + ("!" if OVERLAP in attributes else "") for name, attributes in self.launches]


def records(path):
    """The records of a recording: (kind, bytes)."""
    data = path.read_bytes()
    assert data[:8] == b"PDLWATCH"
    found = []
    at = 4096
    while at < len(data):
        magic, size = struct.unpack_from("<II", data, at)
        assert magic == 0x4B4E4843
        place = at + 16
        while place + 8 <= at + size:
            length, kind, extra = struct.unpack_from("<IHH", data, place)
            if length == 0 or kind == 0:
                break
            found.append((kind, data[place:place + length - extra]))
            place += length
        at += size
    return found


def launches_of(path):
    """The names and flags of a recording's launches, and their numbers."""
    names, functions, launches = {}, {}, []
    for kind, data in records(path):
        if kind == 1:
            names[struct.unpack_from("<I", data, 8)[0]] = data[16:].decode()
        elif kind == 3:
            function, name = struct.unpack_from("<II", data, 8)
            functions[function] = name
        elif kind == 5:
            function, number, nth, _, _, flags = struct.unpack_from("<6I", data, 32)
            launches.append((function, number, nth, flags))
    return [(names[functions[function]], number, nth, flags) for function, number, nth, flags in launches]


def test_without_rules_nothing_is_changed():
    for way in "dlsym", "proc", "proc1", "ptsz", "symbols":
        plain = Run("plain", EVERYTHING, way=way, preload=[])
        watched = Run("watched", EVERYTHING, way=way)
        assert plain.launches == watched.launches == AS_IT_IS, (way, watched.launches)
        assert watched.said == []
        kept = Run("kept", EVERYTHING, rules="keep *\n", way=way)
        assert kept.launches == AS_IT_IS, (way, kept.launches)


def test_off_takes_the_overlap_out():
    for way in "dlsym", "proc", "proc1", "ptsz", "symbols":
        run = Run("off", EVERYTHING, rules="off *\n", way=way)
        expected = [(name, re.sub(f"^{OVERLAP}$|, {OVERLAP}", "", attributes)) for name, attributes in AS_IT_IS]
        assert run.launches == expected, (way, run.launches)
        assert run.said == []


def test_off_of_linked_calls():
    run = Run("linked", EVERYTHING, rules="off *\n", program=args.linked, way="linked")
    assert not any("!" in launch for launch in run.overlaps()), run.launches
    run = Run("linked_kept", EVERYTHING, program=args.linked, way="linked")
    assert run.launches == AS_IT_IS, run.launches


def test_on_adds_the_overlap_to_proved_kernels():
    for way in "dlsym", "proc", "ptsz", "symbols":
        run = Run("on", "waits waits+ branch late never waits- waits? waits* waits%", rules="on *\n", way=way)
        assert run.overlaps() == ["waits!", "waits!", "branch", "late", "never", "waits!", "waits!", "waits",
                                  "waits!"], (way, run.launches)
        assert run.launches[5] == ("waits", OVERLAP)
        assert run.launches[7] == ("waits", "COOPERATIVE=1")
    run = Run("on_linked", "waits never", rules="on *\n", program=args.linked, way="linked")
    assert run.overlaps() == ["waits!", "never"]


def test_on_finds_the_code_wherever_it_lies():
    for way in "fatbin", "wrapper", "copy", "table":
        run = Run(way, [way, "waits", "never"], rules="on *\n")
        assert run.overlaps() == ["waits!", "never"], (way, run.launches)


def test_on_finds_machine_code():
    run = Run("machine", "waits cubin cwaits clate cleaves cwaits waits", rules="on *\n")
    assert run.overlaps() == ["waits!", "cwaits!", "clate", "cleaves", "cwaits!", "waits"], run.overlaps()


def test_on_needs_code_for_9_0():
    assert Run("old_code", "waits", rules="on *\n", PDL_FAKE_PTX_VERSION="80").overlaps() == ["waits"]
    assert Run("old_device", "waits", rules="on *\n", PDL_FAKE_CC="8.0").overlaps() == ["waits"]


def test_a_proof_for_one_device_is_none_for_others():
    for capabilities, overlaps in (("9.0", ["waits!"] * 2), ("9.0,9.0", ["waits!"] * 2), ("9.0,10.0", ["waits!", "waits"])):
        run = Run("devices", "waits waits$", rules="on *\n", PDL_FAKE_DEVICES="2", PDL_FAKE_CC=capabilities)
        assert run.overlaps() == overlaps, (capabilities, run.overlaps())


def test_nothing_is_added_behind_an_overlap_that_is_not_proved():
    run = Run("behind", "never! waits waits2 0 never! 1 waits 0 waits waits never! never waits", rules="on *\n")
    assert run.overlaps() == ["never!", "waits", "waits2!", "never!", "waits!", "waits", "waits!", "never!", "never",
                              "waits!"], run.overlaps()
    run = Run("removed", "never! waits branch! waits", rules="off never\noff branch\non waits\n")
    assert run.overlaps() == ["never", "waits!", "branch", "waits!"]


def test_the_last_rule_counts():
    run = Run("last", "waits! waits2! waits waits2", rules="# all\n\noff *\n\tkeep =waits \non waits2\n")
    assert run.overlaps() == ["waits!", "waits2!", "waits", "waits2!"]


def test_wrong_rules_change_nothing_and_are_said_once():
    for line, rules in ((3, "off *\n# yes\nof *\n"), (1, "off"), (2, "off *\non =\n")):
        run = Run("wrong", EVERYTHING, rules=rules)
        assert run.launches == AS_IT_IS
        assert len(run.said) == 1 and f"line {line} " in run.said[0], run.said
        assert run.said[0].startswith("libpdl-watch: ")
    run = Run("missing", EVERYTHING, PDL_WATCH_RULES="/nowhere/rules")
    assert run.launches == AS_IT_IS and len(run.said) == 1 and "/nowhere/rules" in run.said[0]


def test_without_the_lint_nothing_is_added():
    run = Run("no_lint", "waits waits! waits2", rules="on *\n", inspect=False, preload=[args.alone])
    assert run.overlaps() == ["waits", "waits!", "waits2"]
    assert len(run.said) == 1 and "libpdl-inspect" in run.said[0], run.said


def test_threads_forks_and_other_programs():
    run = Run("threads", "threads waits threads waits! threads never!", rules="on waits\noff never\n")
    assert run.overlaps() == ["waits!"] * 400 + ["never"] * 200
    run = Run("fork", "fork waits waits!", rules="off *\n")
    assert run.overlaps() == ["waits", "waits"], run.launches
    run = Run("exec", "exec waits waits!", rules="off *\n")
    assert run.overlaps() == ["waits", "waits"]


def test_what_was_changed_is_recorded():
    asked, added, removed, not_proved, overlap = 1 << 7, 1 << 8, 1 << 9, 1 << 10, 1 << 0
    run = Run("record", "waits waits! never never!", rules="on waits\noff =never\n", record=True)
    interesting = asked | added | removed | not_proved | overlap
    found = [(name, number, nth, flags & interesting) for name, number, nth, flags in
             launches_of(run.folder / "record")]
    assert found == [("waits", 1, 1, added | overlap), ("waits", 2, 2, asked | overlap), ("never", 3, 1, 0),
                     ("never", 4, 2, asked | removed)], found
    run = Run("record_not", "branch never waits", rules="on *\n", record=True)
    found = [flags & interesting for _, _, _, flags in launches_of(run.folder / "record")]
    assert found == [not_proved, not_proved, added | overlap], found
    assert run.overlaps() == ["branch", "never", "waits!"]


def test_with_cupti_each_launch_is_recorded_once():
    commands = "waits waits! never never! waits* 1 never! waits fatbin waits"
    rules = "on waits\noff never\ndelay waits\n"
    alone = Run("alone", commands, rules=rules, record=True)
    both = Run("both", commands, rules=rules, record=True, PDL_WATCH_CUPTI="1", PDL_CUPTI_PATH=str(args.cupti))
    assert alone.launches == both.launches and both.said == [], both.said
    found = [launches_of(run.folder / "record") for run in (alone, both)]
    assert found[0] == found[1] and len(found[0]) == 8, found
    correlations = [struct.unpack_from("<I", data, 28)[0] for kind, data in records(both.folder / "record")
                    if kind == 5]
    assert len(set(correlations)) == 8 and 0 not in correlations, correlations


def test_code_is_recorded_once():
    for commands, count in ("waits never waits", 1), ("fatbin waits never", 1), ("copy waits wrapper never", 1):
        run = Run("code", commands, record=True)
        images = [data for kind, data in records(run.folder / "record") if kind == 4]
        texts = {data[24:] for data in images}
        assert len(images) == len(texts) == count, (commands, len(images))
        assert all(struct.unpack_from("<I", data, 8)[0] == 2 and b".entry waits" in data for data in images)
    run = Run("no_code", "waits never", record=True, PDL_WATCH_CODE="0")
    assert not [kind for kind, _ in records(run.folder / "record") if kind == 4]


def test_instrumented_kernels_get_overlap():
    commands = "never late waits fatbin never late"
    expected = ["never!", "late", "waits!", "never!", "late"]
    for record in False, True:
        run = Run("instrumented", commands, rules="on *\n", record=record, PDL_INSTRUMENT="entry")
        assert run.overlaps() == expected and run.said == [], (run.overlaps(), run.said)
    images = [data[24:] for kind, data in records(run.folder / "record") if kind == 4]
    assert images and all(data.count(b"griddepcontrol.wait;") == 5 for data in images), images
    assert Run("not_instrumented", commands, rules="on *\n").overlaps() == ["never", "late", "waits!", "never", "late"]


def test_kernels_are_forgotten_with_their_context():
    for way in "dlsym", "proc", "ptsz", "symbols":
        run = Run("release", "waits waits release waits waits", record=True, way=way)
        functions = [data for kind, data in records(run.folder / "record") if kind == 3]
        assert len(functions) == 2, (way, len(functions))


def test_only_what_is_unloaded_is_forgotten():
    for commands, functions, variables in (
        ("waits never" + 3 * " unload waits never", 2, {}),
        ("waits" + 3 * " unload waits", 4, {"PDL_FAKE_NO_MODULES": "1"}), # then it may be any
        ("waits never reload waits waits", 3, {}),
        ("waits$ waits unload waits$ reload waits$", 2, {}), # a CUkernel goes with its library
    ):
        for way in "dlsym", "proc":
            run = Run("unload", commands, record=True, way=way, **variables)
            kinds = [kind for kind, _ in records(run.folder / "record")]
            assert (kinds.count(3), kinds.count(4)) == (functions, 1), (commands, way, kinds.count(3), kinds.count(4))
    run = Run("unload_on", "waits unload never reload waits", rules="on *\n")
    assert run.overlaps() == ["waits!", "never", "waits!"], run.overlaps()


def test_what_was_not_known_without_a_context_is_asked_again():
    for commands in "early waits$ waits$", "early early waits$ waits$", "early waits$ early waits$":
        for record in False, True:
            run = Run("early", commands, rules="on *\n", record=record)
            assert [launch for launch in run.overlaps() if launch.endswith("!")] == ["waits!"] * 2, run.launches
    found = launches_of(run.folder / "record")
    assert {name for name, *_ in found} == {"waits"}, found
    # Once it is known, it is not asked again, and a CUkernel without a context is not made again and again.
    run = Run("early_often", ["early"] * 30 + ["waits$"] * 30, rules="on *\n", record=True)
    assert [kind for kind, _ in records(run.folder / "record")].count(3) == 2


def test_a_gate_goes_before_the_primary():
    pair = ["never", "waits!"]
    run = Run("delay", pair * 4 + ["late", "waits!"], rules="delay waits\n", record=True, PDL_WATCH_DELAY="40,0")
    gated = ["pdl_watch_gate", "never", "waits!"]
    assert run.overlaps() == pair + gated * 3 + ["late", "waits!"], run.overlaps()
    flags = [flags >> 11 & 1 for name, _, _, flags in launches_of(run.folder / "record") if name == "waits"]
    assert flags == [0, 1, 1, 1, 0], flags
    assert [number for _, number, _, _ in launches_of(run.folder / "record")] == list(range(1, 11))
    run = Run("delay_none", pair * 4, rules="delay waits\noff *\n")
    assert "pdl_watch_gate" not in run.overlaps()
    # In a chain each launch is at times right behind one with a gate, and none is always behind its own.
    run = Run("delay_chain", ["waits!"] * 200, rules="delay *\n", PDL_WATCH_DELAY="40,0")
    overlaps = run.overlaps()
    gates = [i for i, name in enumerate(overlaps) if name == "pdl_watch_gate"]
    assert 20 <= len(gates) <= 100 and all(b - a > 2 for a, b in zip(gates, gates[1:])), gates
    assert len({b - a for a, b in zip(gates, gates[1:])}) > 2
    run = Run("delay_load", pair * 3, rules="delay waits\n", PDL_WATCH_DELAY="20,10")
    assert "pdl_watch_gate" in run.overlaps() and "pdl_watch_load" in run.overlaps()
    run = Run("delay_off", pair * 3, rules="delay waits\n", PDL_WATCH_DELAY="0")
    assert run.overlaps() == pair * 3
    for wrong in "soon", "20,x", "20 ", "-1", "20,10,5", "100001":
        run = Run("delay_wrong", pair * 3, rules="delay waits\n", PDL_WATCH_DELAY=wrong)
        assert len(run.said) == 1 and "PDL_WATCH_DELAY" in run.said[0], (wrong, run.said)
        assert "pdl_watch_gate" in run.overlaps()


def test_other_wrappers_are_called_too():
    for wrapper in args.wrappers:
        for libraries in ([args.library, wrapper], [wrapper, args.library]):
            run = Run("wrapped", "waits waits", rules="on *\n", preload=libraries, program=args.linked, way="linked",
                      record=True)
            # An overlap that is added takes another call of the driver: the wrapper does not see it.
            assert run.overlaps() == ["waits!"] * 2, (libraries, run.launches)
            run = Run("wrapped_off", "waits waits!", rules="off *\n", preload=libraries, program=args.linked,
                      way="linked", record=True)
            assert run.overlaps() == ["waits", "waits"], (libraries, run.launches)
            assert run.said == ["wrapped"], (libraries, run.said)
            assert len(launches_of(run.folder / "record")) == 2, libraries


def test_dlsym_answers_as_its_caller_means():
    Run("scopes", args.others, program=args.scopes, way=None)
    Run("scopes_preloaded", [], program=args.scopes, way=None, preload=[args.library, *args.others])


def test_programs_without_cuda_notice_nothing():
    for command in (["bash", "-c", "echo one; ls / > /dev/null; echo two"],
                    [sys.executable, "-c", "import ctypes, json, ssl; print(ctypes.CDLL(None).printf is not None)"]):
        if args.runtime and command[0] != "bash":
            continue
        program = shutil.which(command[0])
        plain = subprocess.run(command, capture_output=True, check=True)
        run = Run("without", command[1:], program=program, way=None, rules="off *\n", record=True)
        assert run.said == [] and plain.stderr == b""
        assert not (run.folder / "record").exists()


def main():
    global args
    parser = argparse.ArgumentParser()
    for name in "program", "linked", "scopes", "library", "alone", "driver", "cupti", "inspect", "directory":
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--others", nargs=2, required=True)
    parser.add_argument("--wrappers", nargs=2, required=True)
    parser.add_argument("--runtime", action="append", default=[], help="a sanitizer's library, which comes first")
    parser.add_argument("test")
    args = parser.parse_args()
    globals()[f"test_{args.test}"]()


if __name__ == "__main__":
    main()
