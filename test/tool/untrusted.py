#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What pdltool makes of inputs that someone made to do harm: names that expand, texts that steer a terminal,
signals while it works, files that never end."""

import json
import os
import resource
import signal
import struct
import subprocess
import time
import unittest

import tooltest

HEAD = ".version 7.8\n.target sm_90\n.address_size 64\n"


def kernel(name, loads=1, lines=""):
    """A kernel with so many findings, in lines of their own."""
    load = lines + "    ld.global.f32 %f1, [%rd3];\n"
    return (".visible .entry " + name + "(\n    .param .u64 p0,\n    .param .u64 p1\n)\n{\n"
            "    .reg .b64 %rd<5>;\n    .reg .f32 %f<2>;\n"
            "    ld.param.u64 %rd1, [p0];\n    ld.param.u64 %rd2, [p1];\n"
            "    cvta.to.global.u64 %rd3, %rd1;\n    cvta.to.global.u64 %rd4, %rd2;\n"
            + load * loads +
            "    griddepcontrol.wait;\n    st.global.f32 [%rd4], %f1;\n"
            "    griddepcontrol.launch_dependents;\n    ret;\n}\n")


def digits(number):
    text = ""
    while number:
        text = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number % 36] + text
        number //= 36
    return text or "0"


def doubling(times):
    """A mangled name that is twice as long, demangled, with each time more."""
    name = "_Z1fI1aIiiE"
    for i in range(times):
        name += "S0_IS%s_S%s_E" % (digits(i + 1), digits(i + 1))
    return name + "EvT_"


class Case(tooltest.Case):
    def lint(self, *arguments, **options):
        return self.tool("lint", *[word for word in arguments if word], **options)


class Names(Case):
    """What is shown of a name, and what that costs."""

    def forms(self):
        return ("--level=note",) if "json" in tooltest.without else ("--level=note", "--json", "--sarif")

    def need_demangler(self):
        if "demangled" in tooltest.without:
            self.skipTest("names are not demangled in this build")

    def run_small(self, *arguments):
        """With a gigabyte for the tool and what it starts; returns the output."""
        def limit():
            if "sanitized" not in tooltest.without:
                resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        return self.lint(*arguments, preexec_fn=limit)

    def test_a_name_that_doubles_a_few_times_is_demangled(self):
        self.need_demangler()
        path = self.file("a.ptx", HEAD + kernel(doubling(3)))
        self.assertIn("in kernel 'void f<a<int, int>, a<...>, ", self.lint(path).stdout)

    def test_a_name_that_expands_without_end_stays_mangled(self):
        name = doubling(60)
        path = self.file("a.ptx", HEAD + kernel(name, 20))
        for form in self.forms():
            begin = time.monotonic()
            result = self.run_small(form, path)
            self.assertLess(time.monotonic() - begin, 20, form)
            brief = form == "--level=note" and "demangled" not in tooltest.without
            self.assertIn("f<...>" if brief else name, result.stdout.replace("\\n", ""), form)
            self.assertLess(len(result.stdout), 500000, form)

    def test_many_such_names_take_no_longer_than_a_few(self):
        path = self.file("a.ptx", HEAD + "".join(kernel(doubling(40 + i)) for i in range(100)))
        begin = time.monotonic()
        self.run_small("--level=note", path)
        self.assertLess(time.monotonic() - begin, 30)

    def test_names_behind_one_that_expands_are_demangled(self):
        self.need_demangler()
        path = self.file("a.ptx", HEAD + kernel(doubling(60)) + kernel("_Z4goodPKfPf"))
        self.assertIn("good(float const*, float*)", self.run_small(path).stdout)

    def test_a_long_name_is_cut_in_each_finding(self):
        path = self.file("a.ptx", HEAD + kernel("k" * 500000, 300))
        for form in self.forms():
            self.assertLess(len(self.run_small(form, path).stdout), 300 * 20000, form)

    def test_long_names_that_differ_at_their_ends_stay_different(self):
        if "json" in tooltest.without:
            self.skipTest("no JSON")
        path = self.file("a.ptx", HEAD + kernel("k" * 9000 + "a") + kernel("k" * 9000 + "b"))
        names = {finding["kernel"] for finding in json.loads(self.lint("--json", path).stdout)["findings"]}
        self.assertEqual(len(names), 2)
        self.assertTrue(all(len(name) <= 4096 for name in names))

    def test_a_long_path_is_cut_in_each_finding(self):
        text = HEAD + '.file 1 "/' + "d" * 400000 + '"\n'
        body = kernel("k").replace("    ld.global.f32 %f1, [%rd3];\n", "".join(
            "    .loc 1 %d 1\n    ld.global.f32 %%f1, [%%rd3];\n" % line for line in range(1, 300)))
        path = self.file("a.ptx", text + body)
        for form in self.forms():
            self.assertLess(len(self.run_small(form, path).stdout), 300 * 20000, form)


class Excerpts(Case):
    """Of files that the PTX names; only those near to the input or the user are shown."""

    def setUp(self):
        super().setUp()
        for name in ("work", "project/input", "outside"):
            os.makedirs(self.path(name))
        for name in ("work", "project", "project/input", "outside", "."):
            self.file(f"{name}/secret.cu", f"a line of {name}\n")
        self.file("project/.pdl-lint", "")
        self.top, self.directory = self.directory, self.path("work")

    def tearDown(self):
        self.directory = self.top
        super().tearDown()

    def shown(self, source, *options, ptx="project/input/k.ptx"):
        text = HEAD + f'.file 1 "{source}"\n' + kernel("k", lines=".loc 1 1 3\n")
        with open(os.path.join(self.top, ptx), "w", encoding="utf-8") as file:
            file.write(text)
        result = self.lint(os.path.join(self.top, ptx), "--no-project", *options)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("secret", result.stdout)
        return result.stdout

    def is_shown(self, source, *options, **more):
        return "a line of" in self.shown(source, *options, **more)

    def test_files_in_and_below_the_folders_that_count(self):
        top = self.top
        for path in ("secret.cu", f"{top}/work/secret.cu", f"{top}/project/input/secret.cu", "../project/input/secret.cu"):
            self.assertTrue(self.is_shown(path), path)

    def test_files_elsewhere_are_not_shown(self):
        top = self.top
        os.symlink(f"{top}/outside", f"{top}/work/link")
        os.symlink(f"{top}/outside/secret.cu", f"{top}/work/secret_link.cu")
        for path in (
            f"{top}/outside/secret.cu", f"{top}/secret.cu", "../secret.cu", "link/secret.cu", "secret_link.cu", "link/../secret.cu",
            f"{top}/work/../outside/secret.cu", f"{top}/project/secret.cu", f"{top}/project/input/../secret.cu",
        ):
            self.assertFalse(self.is_shown(path), path)

    def test_a_link_that_stays_inside_is_followed(self):
        os.symlink(f"{self.top}/work/secret.cu", f"{self.top}/project/secret_link.cu")
        self.assertTrue(self.is_shown(f"{self.top}/project/secret_link.cu"))

    def test_the_folder_of_the_project_file_counts(self):
        ptx = f"{self.top}/project/input/k.ptx"
        self.assertFalse(self.is_shown(f"{self.top}/project/secret.cu"))
        self.assertIn("a line of project\n", self.lint(ptx).stdout)

    def test_each_input_has_its_own_folders(self):
        self.shown(f"{self.top}/project/input/secret.cu", ptx="outside/k.ptx")
        self.shown(f"{self.top}/project/input/secret.cu")
        inputs = [f"{self.top}/outside/k.ptx", f"{self.top}/project/input/k.ptx"]
        for order, expected in ((inputs[:1], 0), (inputs[1:], 1)):
            self.assertEqual(self.lint("--no-project", *order).stdout.count("a line of"), expected)

    @unittest.skipIf("json" in tooltest.without, "no JSON")
    def test_a_fingerprint_does_not_tell_lines_of_other_files(self):
        def fingerprint(content):
            with open(f"{self.top}/outside/secret.cu", "w", encoding="ascii") as file:
                file.write(content)
            return json.loads(self.shown(f"{self.top}/outside/secret.cu", "--json"))["findings"][0]["fingerprint"]

        self.assertEqual(fingerprint("one\n"), fingerprint("two\n"))


def control_characters(text):
    return sorted({c for c in text if c != "\n" and (ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or c in "\u2028\u2029\u202e")})


class Escapes(Case):
    """Nothing of an input reaches the terminal as something that it acts on."""

    EVIL = "\x1b[31mred\x1b]0;title\x07\x7f\u009b2J\u202egnp\u2028"

    def check(self, *arguments):
        result = self.lint(*arguments)
        for name, text in (("output", result.stdout), ("error", result.stderr)):
            self.assertEqual(control_characters(text), [], (arguments, name))
        return result

    def forms(self, path):
        self.check("--level=note", path)
        if "json" not in tooltest.without:
            for form in ("--json", "--sarif"):
                json.loads(self.check(form, "--level=note", path).stdout)

    def test_the_name_of_a_source(self):
        text = HEAD + '.file 1 "/x/' + self.EVIL + '.cu"\n' + kernel("k", 2, "    .loc 1 30 12\n")
        self.forms(self.file("a.ptx", text))

    def test_escapes_in_the_name_of_a_source(self):
        text = HEAD + '.file 1 "/x/\\033[2J\\007\\r\\302\\2332J.cu"\n' + kernel("k", 2, "    .loc 1 30 12\n")
        self.forms(self.file("a.ptx", text))

    def test_bytes_that_are_not_utf_8(self):
        text = HEAD.encode() + b'.file 1 "/x/\x9b2J\xff\xc2.cu"\n' + kernel("k", 2, "    .loc 1 30 12\n").encode()
        self.forms(self.file("a.ptx", text))

    def test_the_name_of_an_inlined_function(self):
        info = ".section .debug_str\n{\n$L__info_string0:\n" + "".join(
            ".b8 %d\n" % byte for byte in self.EVIL.encode() + b"\0") + "}\n"
        lines = "    .loc 1 30 12, function_name $L__info_string0, inlined_at 1 50 1\n"
        self.forms(self.file("a.ptx", HEAD + '.file 1 "a.cu"\n' + kernel("k", 2, lines) + info))

    def test_a_marker(self):
        text = HEAD + kernel("k", 2, "    // pdl:allow no-trigger" + self.EVIL + ": because " + self.EVIL + "\n")
        self.forms(self.file("a.ptx", text))

    def test_the_name_of_the_input(self):
        path = self.file(self.EVIL.replace("/", "") + ".ptx", HEAD + kernel("k"))
        self.forms(path)
        self.check("--project", path, path)
        self.check("--project", path + "x", path)
        self.check("--level", self.EVIL, path)
        self.check("--fail-on", self.EVIL, path)

    def test_an_input_that_is_none(self):
        self.forms(self.file(self.EVIL.replace("/", ""), self.EVIL))
        self.forms(self.file("a.ptx", HEAD + self.EVIL))

    def test_a_reason_in_a_list(self):
        path = self.file("a.ptx", HEAD + kernel("k"))
        for reason in ("a\u009b2Jb\u202ec", "a\x1b[2J"):
            listed = self.file("list", "suppress read-before-wait : %s\nsuppress no-wait kernel=%s : %s\n" % (reason, reason, reason))
            for form in [[], *([] if "json" in tooltest.without else [["--json"], ["--sarif"]])]:
                self.check(*form, "--project", listed, path)


def lz4_length(length):
    return b"\xff" * ((length - 15) // 255) + bytes([(length - 15) % 255]) if length >= 15 else b""


def lz4(begin, blanks, end):
    """A block that becomes a text with so many blanks in it."""
    begin += b" "
    return (bytes([min(len(begin), 15) << 4 | 15]) + lz4_length(len(begin)) + begin + b"\x01\0" +
            lz4_length(blanks - 4) + bytes([min(len(end), 15) << 4]) + lz4_length(len(end)) + end)


def fatbin(*entries):
    """Of PTX, compressed: pairs of a block and the size that it is of."""
    body = b""
    for block, size in entries:
        padded = block + b"\0" * (-len(block) % 8)
        body += struct.pack("<HHIQIIHHIIIQQQ", 1, 0x101, 64, len(padded), len(block), 0, 5, 8, 90, 0, 0, 0x2000, 0, size)
        body += padded
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


class Large(Case):
    """Time goes with the size of what is read, and no more."""

    def seconds_of(self, *arguments):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.lint(*arguments)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def test_many_kernels_of_a_long_source(self):
        for name in ("a.cu", "b.cu"):
            self.file(name, "x = (y);\n" * 1700000)
        files = '.file 1 "%s"\n.file 2 "%s"\n' % (self.path("a.cu"), self.path("b.cu"))
        for turn in (1, 2):
            text = "".join(kernel("k%d" % i, 1, "    .loc %d %d 1\n" % (i % turn + 1, 500000 * (1 + i % 5)))
                           for i in range(2500))
            path = self.file("a.ptx", HEAD + files + text)
            self.assertLess(self.seconds_of(path), 60 if tooltest.is_slow() else 6)

    def test_a_long_name_of_many_parts(self):
        for name in ("_ZN" + "1a" * 500000 + "Ev", "_Z1fI" + "LN1aEE" * 200000 + "Evv"):
            path = self.file("a.ptx", HEAD + kernel(name, 1, ""))
            self.assertLess(self.seconds_of("--level=note", path) + self.seconds_of(path), 60 if tooltest.is_slow() else 4)

    def test_many_markers_in_a_kernel_with_a_long_name(self):
        def limit():
            if "sanitized" not in tooltest.without:
                resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        markers = "".join("// pdl:allow no-wait%d: r\n" % i for i in range(20000))
        result = self.lint(self.file("a.ptx", HEAD + kernel("k" * 300000, 1, markers)), preexec_fn=limit)
        self.assertEqual((result.stderr, result.returncode), ("", 1))

    def test_many_kernels_of_a_source_in_one_line(self):
        self.file("a.cu", "x = (y);" * 1700000)
        text = "".join(kernel("k%d" % i, 1, "    .loc 1 1 1\n") for i in range(1000))
        path = self.file("a.ptx", HEAD + '.file 1 "%s"\n' % self.path("a.cu") + text)
        self.assertLess(self.seconds_of(path), 60 if tooltest.is_slow() else 6)


class Unpacked(Case):
    """Little input that becomes much."""

    def make(self, blanks, *names):
        texts = [(HEAD.encode(), kernel(name).encode()) for name in names]
        return self.file("a.fatbin", fatbin(*[(lz4(begin, blanks, end), len(begin) + 1 + blanks + len(end))
                                              for begin, end in texts]))

    def lint(self, *arguments, **options):
        result = super().lint(*arguments, **options)
        if "without support" in result.stderr:
            self.skipTest("LZ4 is not in this build")
        return result

    def test_what_is_too_much_is_left_out_and_said(self):
        path = self.make(30 << 20, "first", "second", "third", "fourth")
        begin = time.monotonic()
        result = self.lint(path)
        self.assertIn("'second'", result.stdout)
        self.assertNotIn("'third'", result.stdout)
        self.assertEqual(result.stderr, path + ": error: 2 images left out: with it, more than 67108864 bytes of the "
                         "input would be decompressed\n")
        self.assertEqual(result.returncode, 2)
        self.assertLess(time.monotonic() - begin, 30)

    def test_the_limit_can_be_raised(self):
        path = self.make(30 << 20, "first", "second", "third", "fourth")
        result = self.lint("--max-unpacked=200M", path)
        self.assertIn("'fourth'", result.stdout)
        self.assertEqual((result.stderr, result.returncode), ("", 1))
        self.assertEqual(self.lint("--max-unpacked=much", path).returncode, 2)

    def test_cuobjdump_does_not_unpack_it_instead(self):
        path = self.make(70 << 20, "first")
        tool = self.file("cuobjdump", "#!/bin/sh\ntouch %s\n" % self.path("called"))
        os.chmod(tool, 0o755)
        result = self.lint(path, env={"PATH": self.directory + ":" + os.environ["PATH"]})
        self.assertEqual(result.returncode, 2)
        self.assertFalse(os.path.exists(self.path("called")))
        self.assertIn("1 image left out", result.stderr)


class Temporary(Case):
    """The folder of cuobjdump goes with the tool, whatever ends that."""

    def start(self, script):
        path = self.file("bin/cuobjdump", "#!/bin/sh\n" + script)
        os.chmod(path, 0o755)
        os.mkdir(self.path("tmp"))
        env = {**os.environ, "PATH": os.path.dirname(path) + ":" + os.environ["PATH"], "TMPDIR": self.path("tmp")}
        damaged = self.file("a.fatbin", b"\x50\xed\x55\xba\x01\0\x10\0" + b"\xff" * 8)
        return subprocess.Popen([tooltest.program, "lint", damaged], env=env, cwd=self.directory,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def file(self, name, content):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        return super().file(name, content)

    def end(self, number):
        tool = self.start("echo $$ > %s; echo x > left; mkdir deep; echo x > deep/er; sleep 300 & wait\n"
                          % self.path("pid"))
        self.wait_for(lambda: os.path.exists(self.path("pid")) and open(self.path("pid")).read().endswith("\n"),
                      tool.args)
        self.wait_for(lambda: any("er" in files for _, _, files in os.walk(self.path("tmp"))), "its files")
        child = int(open(self.path("pid"), encoding="ascii").read())
        tool.send_signal(number)
        self.assertEqual(tool.wait(30), -number)
        tool.stderr.close()
        self.wait_for(lambda: os.listdir(self.path("tmp")) == [], "the folder is there")
        self.wait_for(lambda: self.is_gone(child), "cuobjdump is there")

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            with self.subTest(number):
                self.end(number)
                os.remove(self.path("pid"))
                os.rmdir(self.path("tmp"))

    def test_without_a_signal(self):
        for script in ("mkdir deep; echo x > deep/er; exit 3\n", "echo x > x.ptx\n", "kill -9 $$\n", "exit 0\n"):
            tool = self.start(script)
            tool.communicate(timeout=30)
            self.assertEqual(os.listdir(self.path("tmp")), [], script)
            os.rmdir(self.path("tmp"))


if __name__ == "__main__":
    tooltest.main(globals())
