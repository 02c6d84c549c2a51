#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the driver gets of code that a program loads, with libpdl-watch preloaded. test_*() are the tests."""

import argparse
import ctypes
import os
import pathlib
import shutil
import struct
import subprocess
import sys

from interposed import records

WAIT = b"griddepcontrol.wait;"
TRIGGER = b"griddepcontrol.launch_dependents;"
PTX, CUBIN, TABLE, LZ4 = 1, 2, 0x100, 0x2000
SINGLE = ["data", "dataex", "fatbin", "file", "library", "libraryfile", "link", "linkfile"]
FATBIN = ["data", "fatbin", "wrapper", "file", "library", "libraryfile", "link", "linkfile"]

args = None


def text(name="reads", body="ld.global.u32 r, [g];", target="sm_90", version="8.7"):
    return (f".version {version}\n.target {target}\n.address_size 64\n.visible .entry {name}(.param .u64 p) {{\n"
            ".reg .u64 g; .reg .u32 r;\nld.param.u64 g, [p]; cvta.to.global.u64 g, g;\n"
            f"{body}\nret;\n}}\n").encode()


def entry(kind, target, payload, flags=0, full=0, options=b""):
    payload += b"" if full or kind != PTX else b"\0"
    padded = payload + bytes(-len(payload) % 8)
    options += bytes(-len(options) % 8)
    return struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64 + len(options), len(padded),
                       len(payload) if full else 0, 64 if options else 0, 7, 8, target, 0, 0, flags | 0x11, 0,
                       full) + options + padded


def fatbin(*entries):
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def entries_of(data):
    """(kind, target, flags, payload without NULs, options) of each entry."""
    magic, _, head, body = struct.unpack_from("<IHHQ", data)
    assert magic == 0xBA55ED50 and len(data) == head + body
    at, found = head, []
    while at < len(data):
        kind, _, size, payload, packed, _, _, _, target, _, _, flags, _, full = struct.unpack_from(
            "<HHIQIIHHIIIQQQ", data, at)
        assert size >= 64 and payload % 8 == 0 and at + size + payload <= len(data)
        bytes_ = data[at + size:at + size + payload]
        assert full or kind != PTX or bytes_.endswith(b"\0")
        found.append((kind, target, flags, bytes_[:packed] if packed else bytes_.rstrip(b"\0"), data[at + 64:at + size]))
        at += size + payload
    return found


def lz4(data):
    """A block without matches."""
    more = len(data) - 15
    return b"\xf0" + b"\xff" * (more // 255) + bytes([more % 255]) + data


class Run:
    """What the driver got, and what the program saw."""

    def __init__(self, ways, image, instrument="entry", library=None, first=(), record=True, **environment):
        self.folder = args.directory / "run"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        words = []
        for i, way in enumerate([ways] if isinstance(ways, str) else ways):
            file = self.folder / f"image{i}"
            file.write_bytes(image[i] if isinstance(image, list) else image)
            words += [way, str(file)]
        paths = [args.driver] + ([args.inspect] if library is None else [])
        variables = dict(os.environ, LD_LIBRARY_PATH=os.pathsep.join(map(str, paths)), PDL_WATCH_CUPTI="0",
                         LD_PRELOAD=os.pathsep.join([*args.runtime, *first, str(library or args.library)]), **environment)
        if record:
            variables |= {"LOADS_FOLDER": str(self.folder), "PDL_WATCH_RECORD": str(self.folder / "record")}
        if instrument:
            variables["PDL_INSTRUMENT"] = instrument
        done = subprocess.run([args.program, *words], env=variables, capture_output=True, text=True, check=False,
                              timeout=100)
        assert done.returncode == 0, (ways, done)
        self.results = [int(line) for line in done.stdout.split()]
        self.said = done.stderr.splitlines()
        files = sorted((f for f in self.folder.iterdir() if f.name[0].isdigit()), key=lambda f: int(f.name.split(".")[0]))
        self.calls = [f.name.split(".", 1)[1] for f in files]
        self.images = [f.read_bytes() for f in files]

    def kernels(self):
        """Of the recording: name, action, message."""
        found = []
        for kind, data in records(self.folder / "record"):
            if kind == 16:
                action, _, size, _ = struct.unpack_from("<4I", data, 8)
                found += [(data[24:24 + size].decode(), action, data[24 + size:].decode())] if size > 0 else []
        return found


def instrumented(image, trigger=False):
    return WAIT in image and (TRIGGER in image) == trigger


def test_text_is_instrumented_in_every_call():
    for way in SINGLE:
        run = Run(way, text())
        assert run.results == [0] and run.said == [], (way, run.said)
        assert len(run.images) == 1 and instrumented(run.images[0]), (way, run.calls)
        assert run.images[0].replace(WAIT, b"").replace(TRIGGER, b"").split() == text().split(), way
        assert run.kernels() == [("reads", 1, "")], (way, run.said)


def test_nothing_is_instrumented_unless_asked_for():
    for instrument in None, "", "off", "OFF", "no ", "0":
        for way in SINGLE:
            run = Run(way, text(), instrument=instrument)
            assert run.images == [text()] and run.results == [0], (way, instrument)
            assert run.kernels() == run.said == [], (way, instrument)
    for way in FATBIN:
        image = fatbin(entry(PTX, 90, text()))
        assert Run(way, image, instrument=None).images == [image], way
    for wrong in "offf", "early", "2":
        run = Run(SINGLE[0], text(), instrument=wrong)
        assert run.images == [text()] and run.kernels() == [], wrong
        said = f"libpdl-watch: nothing is instrumented: PDL_INSTRUMENT is '{wrong}', and must be off, on, entry or hoist"
        assert run.said == [said], run.said


def test_words_of_the_environment_are_read_in_any_case():
    for instrument, trigger in ("1", "Wait"), ("Entry", "WAIT "), ("HOIST", "wait"), ("yes", "last-read"):
        run = Run(SINGLE[0], text(), instrument=instrument, PDL_INSTRUMENT_TRIGGER=trigger)
        assert instrumented(run.images[0], True) and run.said == [], (instrument, trigger, run.said)


def test_a_replacement_that_is_refused_gives_way_to_the_original():
    for way in SINGLE:
        run = Run(way, text(), LOADS_REFUSE="all")
        assert run.results == [0] and run.said == [], (way, run)
        assert len(run.images) == 2 and instrumented(run.images[0]) and run.images[1] == text(), (way, run.calls)
        assert [(name, action) for name, action, _ in run.kernels()] == [("reads", 4)]
        assert "error 218" in run.kernels()[0][2] and run.kernels()[0][1] == 4, run.kernels()
    image = fatbin(entry(PTX, 90, text()))
    for way in FATBIN:
        run = Run(way, image, LOADS_REFUSE="all")
        assert run.results == [0] and run.images[1:] == [image], (way, run.calls)


def test_a_library_that_the_driver_compiles_later_is_compiled_at_once():
    run = Run("library", text(), LOADS_REFUSE="cuLibraryGetModule")
    assert run.results == [0] and len(run.images) == 2 and run.images[1] == text(), run.calls
    run = Run("libraryfile", text(), LOADS_REFUSE="cuLibraryGetModule")
    assert run.results == [0] and run.calls == ["cuLibraryLoadData", "cuLibraryLoadFromFile"], run.calls
    run = Run("library", text(), LOADS_REFUSE="cuLibraryGetModule", LOADS_CONTEXT="0")
    assert run.results == [0] and len(run.images) == 1 and instrumented(run.images[0])


def test_an_error_of_the_original_is_the_programs():
    waits = text(body=WAIT.decode() + " ld.global.u32 r, [g];")
    assert Run("data", waits, LOADS_REFUSE="all").results == [218]
    assert Run("wrongfile", text()).results == [1]


def test_an_image_is_preserved_until_its_library_is_unloaded():
    run = Run(["preserved", "data", "data", "library", "unload"], text())
    assert run.results == [0] * 5 and run.said == [], run.said
    run = Run(["preserved", "unload", "preserved", "unload"], fatbin(entry(PTX, 90, text())))
    assert run.results == [0] * 4 and run.said == [] and instrumented(run.images[1])


def test_fatbins_with_only_ptx_are_instrumented():
    other = entry(CUBIN, 80, b"\x7fELF" + bytes(60))
    old = entry(PTX, 80, text(target="sm_80"))
    best = entry(PTX, 90, text(), options=b" -maxrregcount=32 \0")
    image = fatbin(other, old, best)
    for way in FATBIN:
        run = Run(way, image)
        assert run.results == [0] and run.said == [] and len(run.images) == 1, (way, run.said)
        got, was = entries_of(run.images[0]), entries_of(image)
        assert got[:2] == was[:2] and len(got) == 3, way
        assert instrumented(got[2][3]) and got[2][:3] + got[2][4:] == was[2][:3] + was[2][4:], way
        assert run.calls[0].endswith(".wrapper") == (way == "wrapper")


def test_fatbins_that_follow_each_other_stay():
    one = fatbin(entry(PTX, 90, text()))
    for way in "link", "linkfile", "file", "libraryfile":
        run = Run(way, one + fatbin(entry(PTX, 90, text("other"))))
        assert run.images == [one] and run.kernels() == [], (way, run.kernels())
        assert instrumented(Run(way, one + bytes(24)).images[0]), way


def test_machine_code_for_the_device_stays():
    image = fatbin(entry(CUBIN, 90, b"\x7fELF" + bytes(60)), entry(PTX, 90, text()))
    for way in FATBIN:
        assert Run(way, image).images == [image], way
    for variable in "CUDA_FORCE_PTX_JIT", "CUDA_FORCE_JIT":
        assert instrumented(entries_of(Run("fatbin", image, **{variable: "1"}).images[0])[1][3])
    assert instrumented(entries_of(Run("fatbin", image, LOADS_CC="100").images[0])[1][3])
    assert Run("data", b"\x7fELF" + bytes(60)).images[0][:4] == b"\x7fELF"
    linked = fatbin(entry(PTX, 90, text()))
    assert Run("linked", linked).images == [linked]


def test_compressed_fatbins_are_instrumented():
    try:
        ctypes.CDLL("liblz4.so.1")
    except OSError:
        sys.exit(77)
    image = fatbin(entry(PTX, 90, lz4(text()), flags=LZ4, full=len(text())))
    for way in FATBIN:
        got = entries_of(Run(way, image).images[0])
        assert len(got) == 1 and got[0][:3] == (PTX, 90, 0x11) and instrumented(got[0][3]), way
    broken = fatbin(entry(PTX, 90, b"\xff" * 16, flags=LZ4, full=len(text())))
    run = Run("fatbin", broken)
    assert run.images == [broken] and len(run.said) == 1, run.said


def table(*images, flags=0):
    """An entry with images of (kind, target, payload, options)."""
    payload, records = b"", b""
    for kind, target, image, options in images:
        image += bytes(8 - len(image) % 8)
        strings = struct.pack("<II", 72, len(options)) + options + bytes(8 - len(options) % 8)
        records += struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, len(payload), len(image), 0, 64, 7, 8, target, 0, 0, 0x11, 0, 0) + strings
        payload += image
    about = struct.pack("<II", len(images), 8 + len(records)) + records
    packed = lz4(payload) if flags else payload
    return struct.pack("<HHIQIIHHIIIQQQ", TABLE, 0x101, 64 + len(about), len(packed) + -len(packed) % 8, len(packed) if flags else 0, 64,
                       1, 0, 0, 0, 0, flags | 0x11, 0, len(payload) if flags else 0) + about + packed + bytes(-len(packed) % 8)


def test_images_of_a_table_become_entries():
    codecs = [0]
    try:
        ctypes.CDLL("liblz4.so.1")
        codecs.append(LZ4)
    except OSError:
        pass
    for flags in codecs:
        other = (CUBIN, 80, b"\x7fELF" + bytes(59) + b"x", b"")
        old = (PTX, 80, text(target="sm_80"), b"-O3")
        best = (PTX, 90, text(), b"-maxrregcount=32")
        image = fatbin(table(other, old, best, flags=flags), entry(PTX, 100, text()))
        for way in FATBIN:
            run = Run(way, image)
            got = entries_of(run.images[0])
            assert run.results == [0] and run.said == [] and len(got) == 4, (way, run.said)
            assert [one[:2] for one in got] == [one[:2] for one in (other, old, best)] + [(PTX, 100)], way
            assert [one[3] for one in got[:2]] == [other[2], old[2]] and instrumented(got[2][3]), way
            assert all(one[3] in two[4] for one, two in zip((other, old, best), got)), way
        # Nothing is replaced where the driver may choose what nobody here knows, or machine code.
        for more in entry(0x200, 90, b"what"), entry(CUBIN, 90, b"\x7fELF" + bytes(60)):
            stays = fatbin(table(other, old, best, flags=flags), more)
            assert Run("fatbin", stays).images == [stays]
    short = bytearray(fatbin(table((PTX, 90, text(), b""))))
    short[16 + 64] = 2 # images, of which there is one
    assert Run("fatbin", bytes(short)).images == [short]


def test_targets_below_9_0_are_raised_where_the_device_allows():
    run = Run("data", text(target="sm_80", version="7.0"))
    assert instrumented(run.images[0]) and b".target sm_90" in run.images[0] and b".version 7.8" in run.images[0]
    got = entries_of(Run("fatbin", fatbin(entry(PTX, 80, text(target="sm_80")))).images[0])
    assert got[0][1] == 90 and instrumented(got[0][3])
    image = fatbin(entry(PTX, 80, text(target="sm_80")))
    for way in FATBIN:
        assert Run(way, image, LOADS_CC="90,80").images == [image], way
        assert entries_of(Run(way, image, LOADS_CC="90,100").images[0])[0][1] == 90, way
    run = Run("data", text(target="sm_80"), LOADS_CC="80")
    assert run.images == [text(target="sm_80")] and run.kernels()[0][1] == 4


def test_options_come_from_the_environment():
    hoisted = text(body=".shared .b32 s; mov.u32 r, 1; st.shared.u32 [s], r; ld.global.u32 r, [g];")
    place = Run("data", hoisted).images[0].index(WAIT)
    image = Run("data", hoisted, instrument="hoist", PDL_INSTRUMENT_TRIGGER="wait").images[0]
    assert image.index(TRIGGER) > image.index(WAIT) > place
    image = Run("data", text(body="ld.global.nc.u32 r, [g];")).images[0]
    assert b"ld.global.u32" in image
    image = Run("data", text(body="ld.global.nc.u32 r, [g];"), PDL_INSTRUMENT_CONSTANT="q,p").images[0]
    assert b"ld.global.nc.u32" in image and WAIT in image
    for variables, word in (({"instrument": "soon"}, "PDL_INSTRUMENT is 'soon', and must be off, "),
                            ({"PDL_INSTRUMENT_TRIGGER": "now"}, "PDL_INSTRUMENT_TRIGGER is 'now', and must be off, ")):
        run = Run(["data", "data"], text(), **variables)
        assert run.images == [text()] * 2 and len(run.said) == 1 and word in run.said[0], run.said


def test_what_cannot_be_instrumented_is_loaded_as_it_is():
    waits = text(body=WAIT.decode() + " ld.global.u32 r, [g];")
    run = Run("data", waits)
    assert run.images == [waits] and run.kernels() == [("reads", 2, "")]
    run = Run("data", b".version 8.7 this is no PTX")
    assert run.images == [b".version 8.7 this is no PTX"] and len(run.said) == 1, run.said
    for image in b".ver", b".x", fatbin(), fatbin(entry(PTX, 90, b"what")), fatbin(bytes(80)):
        way = "data" if image[:1] == b"." else "fatbin"
        assert Run(way, image).images == [image], image
    run = Run("data", text(), library=args.alone)
    assert run.images == [text()] and len(run.said) == 1 and "libpdl-inspect" in run.said[0], run.said


def test_without_memory_the_original_is_loaded():
    if args.memory is None:
        sys.exit(77)
    for image in text(), fatbin(entry(PTX, 90, text())):
        run = Run("memory", image, first=[str(args.memory)], record=False)
        originals, others = run.results[0], run.results[1]
        assert originals > 20 and others >= 1, run.results


def main():
    global args
    parser = argparse.ArgumentParser()
    for name in "program", "library", "alone", "driver", "inspect", "directory":
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--memory", type=pathlib.Path, help="a library whose allocations fail")
    parser.add_argument("--runtime", action="append", default=[], help="a sanitizer's library, which comes first")
    parser.add_argument("test")
    args = parser.parse_args()
    globals()[f"test_{args.test}"]()


if __name__ == "__main__":
    main()
