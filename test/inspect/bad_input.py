#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`pdltool lint` on what nobody should give it: one clear line, exit 2, no crash, bounded time and memory.

What is strange and yet PTX is read: exit 0 or 1. With PDL_TEST_LARGE=1 in the environment the large inputs
have a gigabyte; else 32 MiB, so that the test is short.
"""

import argparse
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import measure
import shapes

HERE = os.path.dirname(os.path.abspath(__file__))
LARGE = os.environ.get("PDL_TEST_LARGE", "0") not in ("", "0")
MIB = 1 << 20
# PDL_INSPECT_OPTIONS: no text is longer.
LONGEST_TEXT = 512 * MIB

OPTIONS = argparse.Namespace()

HEAD = ".version 8.7\n.target sm_90\n.address_size 64\n"
KERNEL = (
    ".visible .entry k(.param .u64 a, .param .u32 n)\n{\n"
    "ld.param.u64 %ra, [a];\ncvta.to.global.u64 %ra, %ra;\nmov.u32 %t, %tid.x;\nsetp.eq.u32 %p, %t, 0;\n"
)
WAIT = "griddepcontrol.wait;\nret;\n}\n"


def lint(*arguments, stdin=None):
    return measure.Run([OPTIONS.pdltool, "lint", "--no-source", *arguments], stdin=stdin)


class BadInput(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="pdl-bad-input-", dir=OPTIONS.folder)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def file(self, content, name="x.ptx"):
        path = self.path(name)
        with open(path, "wb") as to:
            to.write(content if isinstance(content, bytes) else content.encode())
        return path

    def bounded(self, result, seconds, mebibytes):
        """No crash, and neither too long nor too much memory; sanitizers and emulators take more of both."""
        self.assertIn(result.code, (0, 1, 2), result)
        self.assertNotIn("Sanitizer", result.error, result)
        self.assertNotIn("runtime error", result.error, result)
        if OPTIONS.sanitized:
            seconds, mebibytes = seconds * 20, mebibytes * 10 + 2000
        elif "PDL_TEST_EMULATED" in os.environ:
            seconds, mebibytes = seconds * 20, mebibytes + 200
        self.assertLess(result.busy, seconds, result)
        self.assertLess(result.mebibytes, mebibytes, result)

    def refused(self, result, path, words, line=None, seconds=5, mebibytes=64):
        """Exit 2, and one line about the file."""
        self.bounded(result, seconds, mebibytes)
        self.assertEqual(result.code, 2, result)
        lines = result.error.splitlines()
        self.assertEqual(len(lines), 1, result)
        self.assertTrue(lines[0].startswith(path), lines[0])
        self.assertRegex(lines[0][len(path) :], r"^(:\d+:\d+)?: error: .{5,}$")
        self.assertLess(len(lines[0]) - len(path), 600)
        self.assertTrue(lines[0].isprintable(), lines[0])
        self.assertIn(words, lines[0])
        if line is not None:
            self.assertRegex(lines[0][len(path) :], rf"^:{line}:\d+: ")

    def read(self, result, code, seconds=5, mebibytes=64):
        """It is PTX after all."""
        self.bounded(result, seconds, mebibytes)
        self.assertEqual(result.code, code, result)


class Files(BadInput):
    def test_empty_file(self):
        path = self.file("")
        self.refused(lint(path), path, "it is empty")

    def test_blanks_and_comments_only(self):
        for text in (" \n\t\n", "// nothing\n", "/* nothing */\n", "/* not closed"):
            path = self.file(text)
            self.refused(lint(path), path, "nothing but blanks and comments")

    def test_missing_file(self):
        path = self.path("missing.ptx")
        self.refused(lint(path), path, "No such file")

    def test_file_without_permission(self):
        path = self.file(HEAD)
        os.chmod(path, 0)
        if os.access(path, os.R_OK):
            self.skipTest("this user may read everything")
        self.refused(lint(path), path, "Permission denied")

    def test_directory_with_nothing(self):
        path = self.path("nothing")
        os.mkdir(path)
        self.refused(lint(path), path, "no file with device code")
        with open(os.path.join(path, "readme.txt"), "w", encoding="ascii") as to:
            to.write(HEAD)
        self.refused(lint(path), path, "no file with device code")

    def test_link_to_nothing(self):
        path = self.path("link.ptx")
        os.symlink(self.path("missing"), path)
        self.refused(lint(path), path, "No such file")

    def test_pipe_that_somebody_writes(self):
        path = self.path("pipe")
        os.mkfifo(path)
        for text, code in ((HEAD + KERNEL + WAIT, 0), ("", 2), ("noise", 2)):
            with subprocess.Popen(["sh", "-c", 'printf %s "$1" > "$2"', "sh", text, path]) as writer:
                result = lint(path)
                writer.wait()
            self.bounded(result, 5, 64)
            self.assertEqual(result.code, code, result)
            self.assertEqual(result.error.count("\n"), 1 if code == 2 else 0, result)

    def test_standard_input_with_nothing(self):
        self.refused(lint("-"), "<stdin>", "it is empty")

    def test_device_without_end(self):
        if not os.path.exists("/dev/zero"):
            self.skipTest("no /dev/zero")
        self.refused(lint("/dev/zero"), "/dev/zero", "more than 512 MiB", seconds=20, mebibytes=1200)

    def test_one_bad_file_among_others(self):
        good = self.file(HEAD + KERNEL + WAIT, "good.ptx")
        bad = self.file("", "bad.ptx")
        self.refused(lint(good, bad, good), bad, "it is empty")


class Noise(BadInput):
    def test_bytes(self):
        noise = random.Random(4)
        for size in (1, 2, 7, 64, 1000, 65536, 1 << 20):
            path = self.file(noise.randbytes(size))
            self.refused(lint(path), path, "neither PTX text nor")

    def test_bytes_behind_what_begins_well(self):
        noise = random.Random(5)
        begins = (b"\x7fELF", b"\x7fELF\x02\x01\x01", b"\x50\xed\x55\xba\x01\x00\x10\x00", b"!<arch>\n",
                  HEAD.encode(), (HEAD + KERNEL).encode(), b"\x50\xed\x55\xba")
        for begin in begins:
            for size in (0, 1, 60, 4096):
                path = self.file(begin + noise.randbytes(size))
                result = lint(path)
                self.bounded(result, 20, 64)
                if not (begin == HEAD.encode() and size == 0):
                    self.assertEqual(result.code, 2, result)
                    self.assertEqual(result.error.count("\n"), 1, result)

    def test_text_with_bytes_changed(self):
        noise = random.Random(6)
        text = self.seed()
        for _ in range(100):
            changed = bytearray(text)
            for _ in range(noise.randrange(1, 4)):
                changed[noise.randrange(len(changed))] = noise.choice(b'{}()[];:,.@!%"/\\*#\n 09aZ\0\xff')
            path = self.file(bytes(changed))
            result = lint(path)
            self.bounded(result, 5, 64)
            if result.code == 2 and result.output != "not checked: no input has a kernel\n":
                self.refused(result, path, "")

    def seed(self):
        """PTX as nvcc writes it, or a text of our own."""
        if OPTIONS.nvcc is None:
            return (HEAD + KERNEL + "ld.global.u32 %r1, [%ra];\n" + WAIT).encode()
        path = self.path("seed.ptx")
        subprocess.run(
            [OPTIONS.nvcc, "-std=c++17", "-I", OPTIONS.include, "-ptx", "-lineinfo", "-arch=sm_90", "-o", path,
             os.path.join(HERE, "kernels.cu")],
            check=True, stdout=subprocess.DEVNULL)
        with open(path, "rb") as seed:
            return seed.read()

    def test_text_that_is_cut_short(self):
        text = self.seed()
        refused = 0
        for i in range(200):
            path = self.file(text[: len(text) * i // 200])
            result = lint(path)
            self.bounded(result, 5, 64)
            if "no input has a kernel" in result.output:  # it is cut before the first one
                self.assertEqual((result.code, result.error), (2, ""), result)
            elif result.code == 2:
                refused += 1
                self.refused(result, path, "")
        self.assertGreater(refused, 100)  # most places are in the middle of something


class Containers(BadInput):
    def test_program_without_device_code(self):
        for program in ("/bin/sh", "/bin/ls"):
            self.refused(lint(program), program, "there is no device code in it")

    def cubin(self):
        if OPTIONS.nvcc is None:
            self.skipTest("no nvcc")
        path = self.path("x.cubin")
        subprocess.run(
            [OPTIONS.nvcc, "-std=c++17", "-I", OPTIONS.include, "-cubin", "-arch=sm_90", "-o", path,
             os.path.join(HERE, "kernels.cu")],
            check=True, stdout=subprocess.DEVNULL)
        with open(path, "rb") as cubin:
            return cubin.read()

    def test_cubin_of_unknown_architecture(self):
        cubin = bytearray(self.cubin())
        flags = struct.unpack_from("<I", cubin, 48)[0]
        self.assertIn(90, (flags & 0xFF, flags >> 8 & 0xFF))
        for old, new in ((90, 250), (90, 1)):
            changed = bytearray(cubin)
            for at in (48, 49):
                if changed[at] == old:
                    changed[at] = new
            path = self.file(bytes(changed), "x.cubin")
            result = lint(path)
            self.bounded(result, 20, 64)
            if new == 250:  # the code is still whole
                self.assertNotEqual(result.code, 2, result)
                self.assertIn("note: sm_250 is unknown to this version", result.error)
                continue
            self.assertEqual(result.code, 2, result)
            self.assertEqual(result.error.count(": error: "), 1, result)
            self.assertRegex(result.error, r"error: .*\b(sm_)?%d\b" % new)

    def test_entry_of_an_unknown_kind(self):
        text = b".version 8.5\n.target sm_90\n.address_size 64\n.entry f() { griddepcontrol.wait; ret; }"
        for kind, code in (8, 0), (0x200, 2):
            body = b""
            for number, payload in (1, text), (kind, b"what"):
                payload += bytes(8 - len(payload) % 8)
                body += struct.pack("<HHIQIIHHIIIQQQ", number, 0x101, 64, len(payload), 0, 0, 5, 8, 90, 0, 0, 0x11, 0, 0) + payload
            path = self.file(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body, "x.fatbin")
            result = lint(path)
            self.bounded(result, 5, 64)
            self.assertEqual(result.code, code, result)
            self.assertEqual("error: it is of an unknown kind, 0x200; its kernels are unknown" in result.error, code == 2, result)

    def test_cubin_that_is_cut_short(self):
        cubin = self.cubin()
        refused = 0
        for i in range(1, 40):
            path = self.file(cubin[: len(cubin) * i // 40], "x.cubin")
            result = lint(path)
            self.bounded(result, 20, 64)
            refused += result.code == 2
            self.assertEqual(result.error.count("\n") > 0, result.code == 2, result)
        self.assertGreater(refused, 30)


class Large(BadInput):
    """One line of a gigabyte, and files that are only large."""

    def one_line(self, before, word, after=""):
        size = 1024 * MIB if LARGE else 32 * MIB
        if shutil.disk_usage(self.folder).free < size + 512 * MIB:
            self.skipTest(f"the disk has no room for {size // MIB} MiB")
        path = self.path("large.ptx")
        block = (word.encode() * (MIB // len(word) + 1))[: MIB // len(word) * len(word)]
        with open(path, "wb") as to:
            to.write(before.encode())
            while to.tell() < size:
                to.write(block)
            to.write(after.encode())
        return path

    # The pages of a mapped file that were looked at count as memory, and the system may drop them.
    def mapped(self):
        return 1100 if LARGE else 100

    def test_letters(self):
        path = self.one_line("", "a")
        self.refused(lint(path), path, "neither PTX text nor")

    def test_blanks(self):
        path = self.one_line("", " ")
        self.refused(lint(path), path, "nothing but blanks", seconds=10, mebibytes=self.mapped())

    def test_blanks_in_front(self):
        path = self.one_line("", " ", HEAD + KERNEL + WAIT)
        result = lint(path)
        self.bounded(result, 10, self.mapped())
        self.assertEqual(result.code, 2 if LARGE else 0, result)

    def test_letters_in_a_text(self):
        path = self.one_line(HEAD + KERNEL, "a", ";\n" + WAIT)
        words = "more than the" if LARGE else "a word of more than 1 MiB"
        self.refused(lint(path), path, words, mebibytes=self.mapped())

    def test_a_comment(self):
        path = self.one_line(HEAD + KERNEL + WAIT + "//", "x")
        result = lint(path)
        self.bounded(result, 10, self.mapped())
        self.assertEqual(result.code, 2 if LARGE else 0, result)

    def test_instructions(self):
        path = self.one_line(HEAD + KERNEL, "add.u32 %r1,%r1,1;", WAIT)
        if LARGE:
            self.refused(lint(path), path, "more than the", mebibytes=self.mapped())
        else:  # the whole function is held: about 10 bytes for one of the text
            self.read(lint(path), 0, seconds=10, mebibytes=500)

    def test_zeros(self):
        path = self.path("sparse.ptx")
        with open(path, "wb") as to:
            to.truncate(1024 * MIB)
        self.refused(lint(path), path, "neither PTX text nor")


class Strange(BadInput):
    """Well formed, and made to be too much."""

    def test_nested_scopes(self):
        path = self.file(HEAD + KERNEL + "{" * 100000 + "}" * 100000 + WAIT)
        self.refused(lint(path), path, "nested more than 256 deep", line=10)

    def test_nested_brackets(self):
        for bracket, close in ("()", "[]", "{}"):
            path = self.file(HEAD + KERNEL + "add.u32 " + bracket * 500000 + close * 500000 + ";\n" + WAIT)
            self.bounded(lint(path), 5, 100)
            path = self.file(HEAD + ".global .b32 x " + bracket * 500000)
            self.refused(lint(path), path, "closing bracket")

    def test_functions_that_call_each_other_in_a_ring(self):
        for count in (1, 2, 50000):
            text = "".join(f".func f{i}()\n{{\ncall f{(i + 1) % count};\nret;\n}}\n" for i in range(count))
            self.read(lint(self.file(HEAD + text + KERNEL + "call f0;\n" + WAIT)), 0, mebibytes=200)

    def test_functions_that_call_each_other_in_a_chain(self):
        text = ".func f0()\n{\nret;\n}\n" + "".join(
            f".func f{i}()\n{{\ncall f{i - 1};\nret;\n}}\n" for i in range(1, 100000))
        self.read(lint(self.file(HEAD + text + KERNEL + "call f99999;\n" + WAIT)), 0, mebibytes=300)

    def test_accesses_that_are_passed_up_a_long_chain(self):
        """Each function has the effects of the one below it, and the place where it calls that."""
        count = 4000
        text = '.file 1 "a.cu"\n.func f0(.param .b64 x)\n{\nld.param.u64 %rd1, [x];\n' + "".join(
            f".loc 1 {i + 1} 1\nld.global.u32 %r{i}, [%rd1+{4 * i}];\n" for i in range(64)) + "ret;\n}\n"
        text += "".join(
            f".func f{i}(.param .b64 x)\n{{\n.loc 1 {1000 + i} 1\nld.param.u64 %rd1, [x];\n.param .b64 q;\n"
            f"st.param.b64 [q], %rd1;\ncall f{i - 1}, (q);\nret;\n}}\n" for i in range(1, count))
        text += KERNEL + f".loc 1 9999 1\n.param .b64 q;\nst.param.b64 [q], %ra;\ncall f{count - 1}, (q);\n"
        self.read(lint(self.file(HEAD + text + WAIT)), 1, mebibytes=200)

    def test_a_function_that_is_called_often(self):
        text = '.file 1 "a.cu"\n.func f0(.param .b64 x)\n{\nld.param.u64 %rd1, [x];\n' + "".join(
            f".loc 1 {i + 1} 1\nld.global.u32 %r{i}, [%rd1+{4 * i}];\n" for i in range(64)) + "ret;\n}\n"
        text += KERNEL + ".param .b64 q;\nst.param.b64 [q], %ra;\n" + "".join(
            f".loc 1 {i + 100} 1\ncall f0, (q);\n" for i in range(3000))
        self.read(lint(self.file(HEAD + text + WAIT)), 1, mebibytes=300)

    def test_a_function_that_is_inlined_often(self):
        text = '.file 1 "a.cu"\n' + KERNEL + "".join(
            f".loc 1 5 1, function_name L, inlined_at 1 {i + 10} 1\nld.global.u32 %r1, [%ra];\n"
            for i in range(100000))
        self.read(lint(self.file(HEAD + text + WAIT)), 1, mebibytes=200)

    def test_branches(self):
        text = "".join(f"@%p bra L{i};\nL{i}:\n" for i in range(1000000))
        self.read(lint(self.file(HEAD + KERNEL + text + WAIT)), 0, seconds=10, mebibytes=600)

    def test_branches_all_over(self):
        count = 100000
        text = "".join(f"@%p bra L{count - 1 - i};\n" for i in range(count)) + "".join(
            f"L{i}:\nadd.u32 %r1, %r1, 1;\n@%p bra L{(i * 7919) % count};\n" for i in range(count))
        self.read(lint(self.file(HEAD + KERNEL + text + WAIT)), 0, seconds=10, mebibytes=200)

    def test_tables_of_branches(self):
        """Many tables that lead to many places: each is an edge."""
        text = "ts: .branchtargets " + ",".join("A" for _ in range(20000)) + ";\n"
        text += "".join("@%p brx.idx %t, ts;\n" for _ in range(5000)) + "A:\n"
        self.bounded(lint(self.file(HEAD + KERNEL + text + WAIT)), 5, 200)

    def test_a_table_of_many_branches(self):
        text = "ts: .branchtargets " + ",".join(f"L{i}" for i in range(50000)) + ";\nbrx.idx %t, ts;\n"
        text += "".join(f"L{i}:\n" + ("ret;\n" if i % 2 else "griddepcontrol.wait;\nret;\n") for i in range(50000))
        self.bounded(lint(self.file(HEAD + KERNEL + text + WAIT)), 5, 200)

    def test_a_vector_of_many_registers(self):
        text = "mov.b32 {" + ",".join(f"%v{i}" for i in range(150000)) + "}, %t;\n"
        self.bounded(lint(self.file(HEAD + KERNEL + text + WAIT)), 5, 64)

    def test_markers(self):
        text = '.file 1 "a.cu"\n' + KERNEL + "".join(
            f".loc 1 {3 * i + 1} 1\n// pdl:allow read-before-wait: right\nld.global.u32 %r1, [%ra];\n"
            for i in range(100000))
        self.read(lint(self.file(HEAD + text + WAIT)), 0, mebibytes=250)

    def test_constants(self):
        text = "".join(
            f"// pdl:constant %q{i}\nld.global.u64 %q{i}, [%ra+{8 * i}];\nld.global.u32 %r1, [%q{i}];\n"
            for i in range(100000))
        self.read(lint(self.file(HEAD + KERNEL + text + WAIT)), 1, mebibytes=250)

    def test_files_in_no_order(self):
        count = 100000
        text = "".join(f'.file {count - i} "a{i}.cu"\n' for i in range(count)) + KERNEL + "".join(
            f".loc {i + 1} 5 1\nld.global.u32 %r1, [%ra];\n" for i in range(count))
        self.read(lint(self.file(HEAD + text + WAIT)), 1, mebibytes=200)

    def test_registers_by_the_number(self):
        text = ".reg .b32 %q<4294967295>;\n" + "{ .reg .b32 %q<4294967295>; }\n" * 10000
        self.read(lint(self.file(HEAD + KERNEL + text + WAIT)), 0, mebibytes=200)

    def test_kernels_of_the_same_name(self):
        path = self.file(HEAD + ".entry k() { ret; }\n" * 2)
        self.refused(lint(path), path, "k is defined twice", line=5)

    def test_names_that_would_change_a_terminal(self):
        path = self.file(HEAD + ".entry \x1b[31m() { ret; }\n")
        self.refused(lint(path), path, "not part of PTX", line=4)
        path = self.file(HEAD, "a\x1b[31mb.ptx")
        os.truncate(path, 3)
        result = lint(path)
        self.assertEqual(result.code, 2, result)
        self.assertNotIn("\x1b", result.error)


class Growth(BadInput):
    """Twice as many of one thing take twice the time, give or take a factor of two."""

    def grows(self, shape, run_on):
        seconds = []
        for count in (50000, 100000):
            path = self.file(shape(count))
            runs = [run_on(path) for _ in range(2)]
            for run in runs:
                self.bounded(run, 20, 500)
                self.assertIn(run.code, (0, 1), run)
            seconds.append(min(run.busy for run in runs))
        # Less than a tenth of a second says nothing.
        self.assertLess(seconds[1], 4 * max(seconds[0], 0.1), f"{shape.__name__}: {seconds}")


def instrument(path):
    return measure.Run([OPTIONS.pdltool, "instrument", "--wait=hoist", "--trigger=last-read", path])


def add_growth(shape, run_on):
    setattr(Growth, "test_" + shape.__name__, lambda self: self.grows(shape, run_on))


for each in shapes.SHAPES:
    add_growth(each, lint)
for each in shapes.UNWAITED:
    add_growth(each, instrument)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pdltool", required=True)
    parser.add_argument("--nvcc", help="to make PTX and cubins of; without it a few tests are left out")
    parser.add_argument("--include", help="where the device header is")
    parser.add_argument("--folder", help="where the inputs are made")
    parser.add_argument("--sanitized", action="store_true", help="the tool has sanitizers: it takes longer")
    _, rest = parser.parse_known_args(namespace=OPTIONS)
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
