# SPDX-License-Identifier: MIT
"""pdltool lint on sources: which compiler is run how, and what is read from compile_commands.json."""

import glob
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import make_project
import tooltest

STAND_IN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stand_in.py")
BROKEN = "// a kernel\n// READS\n"


class Case(tooltest.Case):
    """Compilers are stand-ins."""

    def setUp(self):
        super().setUp()
        for name in ("nvcc", "clang++"):
            self.compiler("bin/" + name)
        os.mkdir(self.path("tmp"))
        os.mkdir(self.path("work"))
        self.directory = self.path("work")
        self.environment = {
            "PATH": self.path("../bin") + ":" + os.environ["PATH"],
            "STAND_IN_LOG": self.path("../log"),
            "TMPDIR": self.path("../tmp"),
            "PWD": self.directory,
        }
        for name in ("CUDACXX", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"):
            self.environment[name] = ""

    def tearDown(self):
        self.assertEqual(os.listdir(self.path("../tmp")), [])
        self.directory = os.path.dirname(self.directory)
        super().tearDown()

    def file(self, name, content):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        return super().file(name, content)

    def compiler(self, name):
        path = self.file(name, f"#!{sys.executable} -SE\n" + open(STAND_IN, encoding="utf-8").read())
        os.chmod(path, 0o755)
        return path

    def lint(self, *arguments, **environment):
        return self.tool("lint", *arguments, env={**self.environment, **environment})

    def commands(self):
        """What was compiled since the last time."""
        try:
            with open(self.path("../log"), encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
            os.remove(self.path("../log"))
            return lines
        except FileNotFoundError:
            return []

    def compiled(self):
        return sorted(os.path.basename(command["argv"][-1]) for command in self.commands())

    def words(self, *arguments, **environment):
        """The only command's words, without what is the tool's own."""
        result = self.lint(*arguments, **environment)
        commands = self.commands()
        self.assertEqual(len(commands), 1, result.stderr)
        words = commands[0]["argv"]
        self.assertEqual(words[-3], "-o")
        return [os.path.basename(words[0]), *words[1:-3], words[-1]]


class Compile(Case):
    NVCC = ["-w", "-ptx", "-lineinfo"]

    def test_a_source_is_compiled_and_its_finding_is_at_its_line(self):
        self.file("kernels/a.cu", BROKEN)
        result = self.lint("kernels/a.cu")
        self.assertEqual((result.returncode, result.stderr), (1, ""))
        self.assertRegex(result.stdout, r"(?m)^kernels/a\.cu:2:5: warning: reads global memory .*\[read-before-wait\]$")

    def test_names_of_any_kind(self):
        for name in ("\u00fc\u4e2d.cu", "a b.cu", "a'b.cu", "a(b).cu", "-a.cu", "x%d.cu"):
            with self.subTest(name):
                self.file(name, BROKEN)
                self.assertIn(f"\n{name}:2:5: warning: ", "\n" + self.lint("./" + name).stdout)
        for name in ('a"b.cu', "a\\b.cu"):  # PTX has these as they are
            self.file(name, BROKEN)
            self.assertIn(f"/{name}:2:5: warning: ", self.lint(name).stdout)

    def test_a_parent_that_ignores_its_children(self):
        self.file("a.cu", BROKEN)
        ignore = {"preexec_fn": lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)}
        result = self.tool("lint", "a.cu", env=self.environment, **ignore)
        self.assertEqual((result.returncode, result.stderr), (1, ""))

    def test_temporary_files_in_a_relative_directory(self):
        os.mkdir(self.path("t"))
        os.mkdir(self.path("sub"))
        self.file("sub/a.cu", BROKEN)
        self.file("compile_commands.json", json.dumps([{"directory": self.path("sub"), "file": "a.cu", "command": "nvcc -c a.cu"}]))
        self.assertEqual(self.lint("-p", ".", TMPDIR="t").returncode, 1)
        self.assertEqual(os.listdir(self.path("t")), [])

    def test_the_project_file_above_a_source_holds_for_it(self):
        self.file("kernels/.pdl-lint", "constant-param *\n")
        self.file("kernels/deep/a.cu", BROKEN)
        self.file("b.cu", BROKEN)
        self.assertEqual(self.lint("kernels/deep/a.cu").returncode, 0)
        self.assertEqual(self.lint("--no-project", "kernels/deep/a.cu").returncode, 1)
        self.assertEqual(self.lint("b.cu").returncode, 1)

    def test_paths_outside_of_the_working_directory_are_whole(self):
        path = self.file("../elsewhere/a.cu", BROKEN)
        self.assertIn(os.path.realpath(path) + ":2:5: warning", self.lint("../elsewhere/a.cu").stdout)

    def test_the_compiler_gets_the_options_behind_two_dashes(self):
        self.file("a.cu", BROKEN)
        self.assertEqual(
            self.words("a.cu", "--", "-O3", "-I", "in clude", "-DX=1", "-std=c++17"),
            ["nvcc", "-O3", "-I", "in clude", "-DX=1", "-std=c++17", *self.NVCC, "-arch=sm_90a", "a.cu"],
        )

    def test_what_would_change_the_output_is_left_out(self):
        self.file("a.cu", BROKEN)
        words = "-c -o a.o -G -lineinfo -MD -MF a.d -MT a --ptx -dlto -Xptxas -v --ptxas-options=-O1 -t 4 --keep --keep-dir k"
        words += " -Werror all-warnings -v --fatbin --threads=2 -odir x b.o -Xfatbin -compress-all -lcudart -Xcompiler -fPIC"
        self.assertEqual(
            self.words("a.cu", "--", *words.split()),
            ["nvcc", "-lcudart", "-Xcompiler", "-fPIC", *self.NVCC, "-arch=sm_90a", "a.cu"],
        )

    def test_the_value_of_an_option_is_not_taken_for_an_option(self):
        self.file("a.cu", BROKEN)
        words = ["-Xcompiler", "-G", "-D", "-c", "-include", "b.cu", "-Xcudafe", "-v"]
        self.assertEqual(self.words("a.cu", "--", *words)[1:9], words)

    def test_code_that_calls_other_files_stays_so(self):
        self.file("a.cu", BROKEN)
        self.assertEqual(self.words("a.cu", "--", "-dc")[1:2], ["-rdc=true"])

    def architectures(self, *arguments, options=()):
        self.file("a.cu", BROKEN + "// " + " ".join(arguments))
        self.lint(*options, "a.cu", "--", *arguments)
        return [word.split("_")[1] for command in self.commands() for word in command["argv"] if word.startswith("-arch=")]

    def test_the_newest_architecture_counts(self):
        for arguments, expected in (
            ([], "90a"),
            (["-arch=sm_90"], "90"),
            (["-arch", "sm_100a"], "100a"),
            (["--gpu-architecture=compute_90a"], "90a"),
            (["-gencode", "arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=[sm_90,compute_90]"], "90"),
            (["-gencode", "arch=compute_90a,code=sm_90a", "-gencode", "arch=compute_90,code=sm_90"], "90a"),
            (["--generate-code=arch=compute_120f,code=[sm_120f]", "-gencode", "arch=compute_100a,code=sm_100a"], "120f"),
            (["-arch=\"sm_100a\""], "100a"),
            (["-gencode=arch=compute_90a,code=\"sm_90a,compute_90a\""], "90a"),
            (["-arch=all"], "90"),
            (["-arch=native"], "90a"),
            (["-gencode", "arch=compute_80,code=sm_90", "-arch=compute_90", "-code=sm_120"], "90"),
        ):
            with self.subTest(arguments):
                self.assertEqual(self.architectures(*arguments), [expected])

    def test_code_for_older_architectures_is_linted_as_for_sm_90_and_that_is_said(self):
        self.file("a.cu", BROKEN)
        result = self.lint("a.cu", "--", "-arch=sm_80")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"^pdltool lint: note: 1 file compiled for architectures older than sm_90, .*\n$")

    def test_architectures_can_be_named(self):
        named = ["-gencode", "arch=compute_90a,code=sm_90a", "-gencode", "arch=compute_100a,code=sm_100a"]
        for option, expected in (("--arch=90", ["90"]), ("--arch=sm_90a,sm_120", ["120", "90a"])):
            self.assertEqual(sorted(self.architectures(*named, options=[option])), expected)

    def test_no_architecture_without_pdl_can_be_named(self):
        self.file("a.cu", BROKEN)
        for name in ("80", "sm_75", "native", "all", "90b", ""):
            result = self.lint("--arch=" + name, "a.cu")
            self.assertEqual((result.returncode, self.commands()), (2, []), name)
            self.assertIn("--arch takes an architecture of sm_90 or newer", result.stderr)

    def test_files_that_are_cuda_only_by_an_option(self):
        self.file("a.cpp", BROKEN)
        self.file("b.cuh", BROKEN)
        self.assertEqual(self.words("a.cpp", "--", "-x", "cu")[1:3], ["-x", "cu"])
        self.assertEqual(self.words("b.cuh")[1:3], ["-x", "cu"])
        self.assertEqual(self.lint("a.cpp").returncode, 2)
        self.assertEqual(self.commands(), [])

    def test_what_a_compiler_says_of_an_error_is_shown_as_it_is(self):
        self.file("a.cu", "FAIL")
        self.file("b.cu", BROKEN)
        result = self.lint("a.cu", "b.cu")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stdout.count("warning: reads"), 1)
        self.assertRegex(
            result.stderr,
            r"^a line on standard output\na\.cu\(1\): error: FAIL is not a declaration\n"
            r"a\.cu: error: the compiler failed with exit code 1\n$",
        )

    def test_a_source_that_does_not_exist_reaches_no_compiler(self):
        result = self.lint("nowhere.cu")
        self.assertEqual((result.returncode, self.commands()), (2, []))
        self.assertEqual(result.stderr, "nowhere.cu: error: No such file or directory\n")

    def test_what_a_compiler_says_does_not_steer_the_terminal(self):
        self.file("a\x1b[31m.cu", "FAIL")
        result = self.lint("a\x1b[31m.cu")
        self.assertNotIn("\x1b", result.stderr)
        self.assertIn(r"\x1b[31m.cu(1): error", result.stderr)

    @tooltest.needs_failed_starts
    def test_there_may_be_no_compiler(self):
        self.file("a.cu", BROKEN)
        for options, what in ((["--nvcc=no-such-nvcc"], "there is no compiler no-such-nvcc on PATH"), (["--nvcc=./nvcc"], "there is no compiler ./nvcc")):
            result = self.lint(*options, "a.cu")
            self.assertEqual((result.returncode, result.stderr), (2, f"a.cu: error: {what}\n"))

    def test_options_for_nothing_are_an_error(self):
        self.file("a.ptx", ".version 8.0\n.target sm_90\n.address_size 64\n")
        result = self.lint("a.ptx", "--", "-O3")
        self.assertEqual(result.returncode, 2)
        self.assertIn("no source to compile", result.stderr)

    def test_the_compiler_of_the_environment(self):
        self.file("a.cu", BROKEN)
        other = self.compiler("../other/my nvcc")
        self.assertEqual(self.words("a.cu", CUDACXX=other)[0], "my nvcc")
        self.assertEqual(self.words("a.cu", CUDACXX="ccache nvcc -DY")[:2], ["nvcc", "-DY"])
        self.assertEqual(self.words("--nvcc=nvcc", "a.cu", CUDACXX=other)[0], "nvcc")

    def test_what_nvcc_would_add_itself_is_read_like_the_rest(self):
        self.file("a.cu", BROKEN)
        words = self.words("a.cu", "--", "-DM", NVCC_PREPEND_FLAGS="-DA -arch=sm_100a", NVCC_APPEND_FLAGS="-G '-DZ=a b'")
        self.assertEqual(words[1:4] + words[-2:], ["-DA", "-DM", "-DZ=a b", "-arch=sm_100a", "a.cu"])
        self.lint("a.cu", "--", "-DN", NVCC_APPEND_FLAGS="-G")
        self.assertEqual(self.commands()[0]["flags"], {})

    def test_clang_is_asked_in_its_own_words(self):
        self.file("a.cu", BROKEN)
        clang = ["-w", "--cuda-device-only", "-S", "-gline-tables-only"]
        options = "-c -o x -g -O0 -MD -MFx.d --cuda-gpu-arch=sm_80 --offload-arch=sm_90a -Xcuda-ptxas -v -flto=thin --cuda-path=/c -Iy"
        self.assertEqual(
            self.words("a.cu", "--", *options.split(), CUDACXX="clang++"),
            ["clang++", "--cuda-path=/c", "-Iy", "-O2", *clang, "--cuda-gpu-arch=sm_90a", "a.cu"],
        )
        self.assertEqual(
            self.words("--nvcc=clang++", "a.cu", "--", "-O3"),
            ["clang++", "-O3", *clang, "--cuda-gpu-arch=sm_90", "a.cu"],
        )

    def test_several_are_compiled_at_once_and_reported_in_order(self):
        names = [f"k{i}.cu" for i in range(6)]
        for name in names:
            self.file(name, BROKEN)
        begin = time.monotonic()
        result = self.lint("-j6", *names, STAND_IN_SECONDS="0.5")
        self.assertLess(time.monotonic() - begin, 2.5)
        self.assertEqual(re.findall(r"(?m)^(\S+?):2:5: warning", result.stdout), names)
        self.assertEqual(result.stderr, "")


class Database(Case):
    def database(self, *entries, name="build/compile_commands.json"):
        return self.file(name, json.dumps([{"directory": self.directory, **entry} for entry in entries]))

    def entry(self, file, command="nvcc -c", **more):
        self.file(file, BROKEN)
        return {"file": file, "command": f"{command} {shlex.quote(file)} -o x.o", **more}

    def test_all_cuda_sources_are_linted(self):
        self.database(self.entry("a.cu"), self.entry("b.cpp", "g++ -c"), self.entry("c.cpp", "nvcc -x cu -c"), self.entry("d.cpp", "nvcc -c"))
        for option in (["-p", "build"], ["-pbuild"], ["--compile-commands=build/compile_commands.json"]):
            result = self.lint(*option)
            self.assertEqual((result.returncode, self.compiled()), (1, ["a.cu", "c.cpp"]))

    def test_the_directory_of_an_entry(self):
        os.mkdir(self.path("deep"))
        self.file("deep/src/a.cu", BROKEN)
        self.database({"directory": self.path("deep"), "file": "src/a.cu", "command": "nvcc -Iinclude -c src/a.cu"})
        result = self.lint("-p", "build")
        command = self.commands()[0]
        self.assertEqual((command["directory"], command["argv"][-1]), (self.path("deep"), "src/a.cu"))
        self.assertIn("deep/src/a.cu:2:5: warning", result.stdout)

    def test_a_command_is_split_as_a_shell_does(self):
        self.file("a b.cu", BROKEN)
        command = r"""nvcc  -DA="\"x y\"" -DB='a"b\c' -DC=\"z\" -DD=\\\"q\\\" -DE="\d\$" -DF= ''  -I "p q" -DG=$HOME -c 'a b.cu' -o "x.o" """
        self.database({"file": "a b.cu", "command": command})
        self.assertEqual(
            self.words("-p", "build")[1:11],
            ['-DA="x y"', '-DB=a"b\\c', '-DC="z"', '-DD=\\"q\\"', "-DE=\\d$", "-DF=", "", "-I", "p q", "-DG=$HOME"],
        )

    def test_arguments_are_taken_as_they_are(self):
        self.file("a.cu", BROKEN)
        self.database({"file": "a.cu", "arguments": ["nvcc", '-DA="b c"', "-c", "a.cu", "-o", "a.o"]})
        self.assertEqual(self.words("-p", "build")[1], '-DA="b c"')

    def test_launchers_are_dropped(self):
        for launcher in ("ccache", "/usr/bin/sccache", "env A=b ccache", "env PATH=/x/y:/z B= sccache", "ccache sloppiness=time_macros", "distcc"):
            self.database(self.entry("a.cu", launcher + " nvcc -DX -c"))
            self.assertEqual(self.words("-p", "build")[:2], ["nvcc", "-DX"])

    def test_response_files(self):
        self.file("sub/one.rsp", '-DONE "-DB=c d" --options-file two.rsp,three.rsp\n')
        self.file("sub/two.rsp", "-DTWO\n-arch=sm_100a")
        self.file("sub/three.rsp", "-G @four.rsp")
        self.file("sub/four.rsp", "-DFOUR")
        self.file("sub/a.cu", BROKEN)
        entry = {"directory": self.path("sub"), "file": "a.cu"}
        for option in ("--options-file one.rsp", "--options-file=one.rsp", "-optf one.rsp", "@one.rsp"):
            self.database({**entry, "command": f"nvcc -DA {option} -DZ -c a.cu"})
            words = self.words("-p", "build")
            self.assertEqual(words[1:7] + words[-2:], ["-DA", "-DONE", "-DB=c d", "-DTWO", "-DFOUR", "-DZ", "-arch=sm_100a", "a.cu"])
        self.database({**entry, "command": "nvcc --options-file none.rsp -c a.cu"})
        self.assertEqual(self.words("-p", "build")[1:3], ["--options-file", "none.rsp"])
        self.file("sub/loop.rsp", "-DL @loop.rsp")
        self.database({**entry, "command": "nvcc @loop.rsp -c a.cu"})
        self.assertLess(len(self.words("-p", "build")), 100)

    def test_files_and_folders_select(self):
        self.database(*(self.entry(name) for name in ("k/a.cu", "k/b.cu", "other/c.cu")))
        os.symlink("k", self.path("link"))
        os.rename(self.path("k/b.cu"), self.path("b.cu"))
        os.symlink("../b.cu", self.path("k/b.cu"))
        for names, expected in (
            (["k/a.cu"], ["a.cu"]),
            (["./k/../k/a.cu", "other/c.cu"], ["a.cu", "c.cu"]),
            ([self.path("k/b.cu")], ["b.cu"]),
            (["link/b.cu"], ["b.cu"]),
            (["k"], ["a.cu", "b.cu"]),
            (["k/", "k/a.cu"], ["a.cu", "b.cu"]),
        ):
            with self.subTest(names):
                result = self.lint("-p", "build", *names)
                self.assertEqual((result.returncode, self.compiled()), (1, expected))

    def test_a_file_that_is_not_in_it(self):
        self.database(self.entry("a.cu"))
        self.file("b.cu", BROKEN)
        result = self.lint("-p", "build", "a.cu", "b.cu", "x.cu")
        self.assertEqual((result.returncode, self.compiled()), (2, ["a.cu"]))
        self.assertEqual(result.stderr.count(": error: no CUDA source of build/compile_commands.json\n"), 2)

    def test_other_inputs_may_be_named(self):
        self.database(self.entry("a.cu"))
        self.file("b.ptx", ".version 8.0\n.target sm_90\n.address_size 64\n")
        self.assertEqual((self.lint("-p", "build", "b.ptx").returncode, self.compiled()), (2, []))

    def test_the_same_command_twice_is_compiled_once(self):
        self.database(self.entry("a.cu"), self.entry("a.cu", "nvcc -o y.o -c"), self.entry("a.cu", "nvcc -DX -c"))
        self.lint("-p", "build")
        self.assertEqual(self.compiled(), ["a.cu", "a.cu"])

    def test_options_behind_two_dashes_are_added(self):
        self.database(self.entry("a.cu"))
        self.assertEqual(self.words("-p", "build", "--", "-DX")[1], "-DX")

    @tooltest.needs_failed_starts
    def test_another_compiler_of_the_same_kind(self):
        self.database(self.entry("a.cu", "/no/such/bin/nvcc -c"), self.entry("b.cu", "clang++ -c"), self.entry("c.cu", "/opt/wrapper -c"))
        result = self.lint("-p", "build")
        self.assertEqual((result.returncode, self.compiled()), (2, ["b.cu"]))
        self.assertIn("a.cu: error: there is no compiler /no/such/bin/nvcc\n", result.stderr)
        self.assertIn("note: 1 file skipped: /opt/wrapper has the name of neither nvcc nor clang", result.stderr)
        result = self.lint("-p", "build", "--nvcc=nvcc")
        self.assertEqual((result.returncode, self.compiled()), (1, ["a.cu", "b.cu", "c.cu"]))
        os.symlink(self.path("../bin/nvcc"), self.path("here"))
        self.file("k/d.cu", BROKEN)
        self.database({"directory": self.path("k"), "file": "d.cu", "command": "nvcc -c d.cu"})
        result = self.lint("-p", "build", "--nvcc=./here")
        self.assertEqual((result.returncode, self.compiled()), (1, ["d.cu"]))

    def test_no_compiler_of_the_database_is_run(self):
        theirs = self.compiler("theirs/nvcc")
        wrapper = self.compiler("theirs/wrapper")
        self.file("host.rsp", f"-ccbin {wrapper} -DY")
        for command in (theirs, wrapper, f"ccache {theirs}", "nvcc --options-file host.rsp", "nvcc @host.rsp", f"{theirs} -ccbin {wrapper}", f"nvcc --compiler-bindir={wrapper}", f"nvcc -ccbin={wrapper}"):
            self.database(self.entry("a.cu", command + " -DX -c"))
            for options, mine in (([], "../bin/nvcc"), (["--nvcc=../bin/nvcc"], "../bin/nvcc")):
                result = self.lint("-p", "build", "--no-database-compiler", *options)
                words = self.commands()[0]["argv"]
                self.assertEqual((result.returncode, os.path.realpath(words[0])), (1, os.path.realpath(self.path(mine))))
                self.assertEqual(("-DX" in words, [word for word in words if "theirs" in word or word.startswith(("-ccbin", "--compiler-bindir", "@"))]), (True, []))
        self.file("loop.rsp", f"-DL @loop.rsp -ccbin {wrapper}")
        self.database(self.entry("a.cu", "nvcc @loop.rsp -c"), self.entry("b.cu"))
        result = self.lint("-p", "build", "--no-database-compiler")
        self.assertEqual((result.returncode, self.compiled()), (2, ["b.cu"]))
        self.assertIn("a.cu: error: a response file of its command cannot be read\n", result.stderr)
        self.database(self.entry("a.cu"), self.entry("b.cu", "clang++ -c"))
        result = self.lint("-p", "build", "--no-database-compiler")
        self.assertEqual((result.returncode, self.compiled()), (2, ["a.cu"]))
        self.assertIn("1 file skipped: the options are those of clang++", result.stderr)
        result = self.lint("-p", "build", "--no-database-compiler", "--nvcc=clang++")
        self.assertEqual((result.returncode, self.compiled()), (2, ["b.cu"]))
        self.assertEqual(self.words("-p", "build", "--no-database-compiler", "--", "-ccbin", "mine")[1:3], ["-ccbin", "mine"])

    def test_what_is_not_a_database(self):
        self.file("build/compile_commands.json", "")
        for content, what in (
            ("", "line 1"),
            ("{}", "not an array"),
            *((entry, 'entry 1 has no "directory", no "file" or no command') for entry in (
                "[1]",
                '[{"file": "a.cu", "command": "nvcc"}]',
                '[{"directory": "/", "command": "nvcc"}]',
                '[{"directory": "/", "file": "a.cu"}]',
                '[{"directory": "/", "file": "a.cu", "command": "  "}]',
                '[{"directory": "/", "file": "a.cu", "arguments": [1]}]',
                '[{"directory": "/", "file": "a.cu", "arguments": "nvcc"}]',
            )),
            ("[]", "no CUDA source is compiled by it"),
            ('[{"directory": "/", "file": "a.c", "command": "cc a.c"}]', "no CUDA source is compiled by it"),
        ):
            with self.subTest(content):
                self.file("build/compile_commands.json", content)
                result = self.lint("-p", "build")
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertRegex(result.stderr, r"(?m)^build/compile_commands\.json: error: .*" + re.escape(what))
        self.assertIn("No such file", self.lint("-p", "nowhere").stderr)

    def test_a_project_of_a_generator(self):
        """Of five files, as CMake writes their commands. One has a race."""
        sources = make_project.make(self.directory, 5)
        for path in glob.glob(self.path("*/*.cu")) + glob.glob(self.path("*/*.cuh")):
            with open(path, encoding="ascii") as file:
                text = file.read().replace("__syncthreads();", "// WAITS" if not make_project.is_broken(int(re.search(r"(\d*)\.", path)[1] or 0)) else "// READS")
            self.file(path, text)
        options = f"-forward-unknown-to-host-compiler -DNAME=\\\"a\\\" -I{self.path('include')} --generate-code=arch=compute_90a,code=[sm_90a] -x cu -c"
        self.database(*({"directory": self.path("build"), "file": self.path(name), "command": f"nvcc {options} {self.path(name)} -o {name}.o"} for name in sources))
        result = self.lint("-p", "build")
        self.assertRegex(result.stdout, r"^kernels/scale_3\.cu:\d+:5: warning")
        self.assertEqual((result.returncode, len(self.commands()), result.stdout.count(" warning: ")), (1, 5, 1))


class Ends(Case):
    """Compilers and their folder go with the tool, whatever ends that."""

    def end(self, number):
        self.file("a.cu", "SLEEP")
        self.file("b.cu", "SLEEP")
        with subprocess.Popen(
            [tooltest.program, "lint", "-j2", "a.cu", "b.cu"],
            env={**os.environ, **self.environment},
            cwd=self.directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as tool:
            named, processes = self.path("../log.pid"), []

            def started():
                if os.path.exists(named):
                    with open(named, encoding="ascii") as file:
                        processes[:] = file.read().split("\n")[:-1]
                return len(processes) == 2

            self.wait_for(started, "two compilers")
            self.assertFalse(any(map(self.is_gone, processes)))
            tool.send_signal(number)
            self.assertEqual(tool.wait(30), -number)
            self.wait_for(lambda: all(map(self.is_gone, processes)), "a compiler is there")
            self.wait_for(lambda: os.listdir(self.path("../tmp")) == [], "the folder is there")
            self.assertEqual(tool.stdout.read(), b"")

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number):
                self.end(number)
                os.remove(self.path("../log.pid"))


class Plain(Case):
    """A build without the JSON library."""

    def test_a_database_cannot_be_read(self):
        self.file("build/compile_commands.json", "[]")
        result = self.lint("-p", "build")
        self.assertEqual(result.returncode, 2)
        self.assertIn("-p needs a pdltool that was built with the library jansson", result.stderr)


class Toolkit(Case):
    """With nvcc itself."""

    def setUp(self):
        super().setUp()
        self.environment["PATH"] = os.environ["PATH"]

    def test_a_project(self):
        sources = make_project.make(self.directory, 5)
        options = f"-DNAME=\\\"a\\\" -I{self.path('include')} --generate-code=arch=compute_90a,code=[sm_90a] -x cu -c -MD -MF x.d -Xptxas -v"
        commands = [
            {"directory": self.path("build"), "file": self.path(name), "command": f"{tooltest.nvcc} {options} {self.path(name)} -o {name}.o"}
            for name in sources
        ]
        self.file("build/compile_commands.json", json.dumps(commands))
        result = self.lint("-p", "build")
        self.assertEqual((result.returncode, result.stdout.count(" warning: ")), (1, 1), result.stderr)
        self.assertIn("kernels/scale_3.cu:", result.stdout)
        self.assertEqual(result.stderr, "")

    def test_a_source(self):
        self.file("a.cu", "__global__ void k(const float *x, float *y)\n{\n    float v = *x;\n    cudaGridDependencySynchronize();\n    *y = v;\n}\n")
        result = self.lint("--nvcc", tooltest.nvcc, "a.cu", "--", "-Werror", "all-warnings", "-G", "-dc")
        self.assertEqual((result.returncode, result.stderr), (1, ""))
        self.assertRegex(result.stdout, r"(?m)^a\.cu:3:\d+: warning: .*\[read-before-wait\]$")


if __name__ == "__main__":
    tooltest.main(globals())
