# SPDX-License-Identifier: MIT
"""What tells of pdltool's commands: --help, the man pages and the completions, which have to agree."""

import glob
import lzma
import os
import re
import shlex
import shutil
import subprocess
import unittest

import tooltest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MAN = os.path.join(ROOT, "docs", "man")
COMPLETIONS = os.path.join(ROOT, "tools", "completions")
SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO"]


def options_in(text):
    """Pairs of an option and what its argument is called: --filter=X, "-f, --filter X", "[--json] | --csv X"."""
    found = set()
    for names, argument in re.findall(r"((?:(?<![\w-])--?[a-z][a-z-]*(?:, )?)+)(?:[ =]([A-Z_]+)(?![\w'.]))?", text):
        found.update((name, argument) for name in names.split(", "))
    return found


def plain(line):
    """A line of a man page without its macro, quotes, fonts and escapes."""
    words = shlex.split(re.sub(r"\\f[A-Z]", "", line).replace("\\^", "").replace("\\", "\\\\"))
    return "".join(words[1:] if words[0].startswith(".") else words).replace("\\-", "-")


class Case(tooltest.Case):
    def help(self, *command):
        result = self.tool(*command, "--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def commands(self):
        return [name for name in re.findall(r"(?m)^  ([a-z]+) {2,}\S", self.help()) if name != "help"]


class Pages(Case):
    def page(self, *command):
        with open(os.path.join(MAN, "-".join(("pdltool", *command)) + ".1"), encoding="ascii") as file:
            return file.read()

    def pages(self):
        names = sorted(os.path.basename(name) for name in glob.glob(os.path.join(MAN, "*.1")))
        self.assertGreater(len(names), 1)
        return names

    def test_each_command_of_the_list_has_help_that_begins_with_its_usage(self):
        for command in self.commands():
            self.assertTrue(self.help(command).startswith(f"usage: pdltool {command}"), command)

    def test_each_command_has_a_page_and_each_page_a_command(self):
        absent = [] if "rtc" not in tooltest.without else ["rtc"]
        expected = ["pdltool.1"] + [f"pdltool-{command}.1" for command in sorted(self.commands() + absent)]
        self.assertEqual(self.pages(), sorted([*expected, "pdl-ptxas.1"]))

    def test_the_page_of_pdltool_lists_the_commands_as_help_does_and_names_their_pages(self):
        page = self.page()
        listed = re.findall(r"(?m)^\.B ([a-z]+)\n(.*)$", page[page.index(".SH COMMANDS") : page.index(".SH OPTIONS")])
        names = [name for name, _ in listed]
        self.assertEqual([f"pdltool-{name}.1" for name in names], [name for name in self.pages() if name.startswith("pdltool-")])
        self.assertEqual(re.findall(r"\.BR pdltool\\-([a-z]+) \(1\)", page[page.index(".SH SEE ALSO") :]), names)
        told = re.findall(r"(?m)^  ([a-z]+) {2,}(.*)$", self.help())
        self.assertEqual([line for line in listed if line[0] in self.commands()], [line for line in told if line[0] != "help"])

    def test_the_options_of_help_and_page_are_the_same(self):
        for command in [(), *((name,) for name in self.commands())]:
            text = self.help(*command).partition("\nExamples:")[0]
            told = "".join(re.findall(r"(?m)^(?:usage:|       pdltool).*\n", text))
            told += "".join(line + "\n" for line in re.findall(r"(?m)^ +(-\S.*?)(?:  .*)?$", text))
            tags = re.findall(r"(?m)^\.TP\n(.*)$", self.page(*command))
            with self.subTest(command):
                self.assertEqual(options_in("\n".join(map(plain, tags))), options_in(told))

    def test_each_page_has_all_sections_in_order(self):
        for name in self.pages():
            with self.subTest(name), open(os.path.join(MAN, name), encoding="ascii") as file:
                page = file.read()
                sections = re.findall(r'(?m)^\.SH "?([A-Z ]+)"?$', page)
                self.assertEqual([section for section in sections if section != "COMMANDS"], SECTIONS)
                self.assertIn("\n.SH NAME\n" + name[:-2].replace("-", "\\-") + " \\- ", page)

    def test_formatters_have_nothing_to_say_about_the_pages(self):
        linters = [["groff", "-man", "-Tutf8", "-ww"], ["mandoc", "-T", "lint", "-W", "warning"]]
        linters = [linter for linter in linters if shutil.which(linter[0])]
        if not linters:
            raise unittest.SkipTest("neither groff nor mandoc is here")
        for linter in linters:
            for name in self.pages():
                with self.subTest(name, linter=linter[0]):
                    result = subprocess.run([*linter, os.path.join(MAN, name)], capture_output=True, check=False, timeout=60)
                    said = result.stdout if linter[0] == "mandoc" else result.stderr
                    self.assertEqual((said, result.returncode), (b"", 0))


class Help(Case):
    def test_help_fits_80_columns_and_ends_with_what_the_exit_status_means(self):
        for command in [(), *((name,) for name in self.commands())]:
            lines = self.help(*command).splitlines()
            self.assertEqual([line for line in lines if len(line) > 80], [])
            self.assertEqual([line for line in lines if line != line.rstrip()], [])
            if command:
                self.assertEqual([line[:11] for line in lines if line.startswith("Exit status")], ["Exit status"], command)

    def on_a_terminal(self, *arguments):
        reader, terminal = os.openpty()
        text = b""
        with open(reader, "rb", buffering=0) as shown, subprocess.Popen([tooltest.program, *arguments], stdin=subprocess.DEVNULL, stdout=terminal):
            os.close(terminal)
            try:
                while piece := shown.read(4096):
                    text += piece
            except OSError:  # nobody has the terminal open any more
                pass
        return text.decode().replace("\r\n", "\n")

    def test_sentences_of_watch_fit_80_columns_on_a_terminal_and_are_one_line_elsewhere(self):
        recordings = glob.glob(os.path.join(ROOT, "test", "watch", "recordings", "*.xz"))
        self.assertGreater(len(recordings), 0)
        for name in recordings:
            with lzma.open(name) as file:
                path = self.file("x.rec", file.read())
            shown, piped = self.on_a_terminal("watch", "--all", "--input", path), self.tool("watch", "--all", "--input", path).stdout
            verdict = self.tool("watch", "--quiet", "--input", path).stdout
            sentences = shown.split("\n\n")[0] + shown[shown.index("\nwhy not\n") :]
            self.assertEqual([line for line in sentences.splitlines() if len(line) > 80], [], name)
            self.assertEqual(shown.split(), piped.split(), name)
            self.assertTrue(piped.startswith(verdict), name)
            for line in piped.partition("\nwhy not\n")[2].splitlines():
                self.assertRegex(line, r"^  [a-z]", name)

    def test_every_help_has_two_examples_of_options_that_there_are(self):
        for command in [(), *((name,) for name in self.commands())]:
            text = self.help(*command)
            block = re.search(r"(?m)^Examples:\n((?:  .*\n)+)", text).group(1).replace("\\\n", "")
            examples = re.findall(r"(?m)^  ((?:[A-Z_]+=\S+ )?pdltool .*)$", block)
            self.assertEqual(len(examples), 2, text)
            for example in examples:
                words = shlex.split(example)
                words = words[1 + words.index("pdltool") :]
                words = words[: words.index("--")] if "--" in words else words
                self.assertEqual(words[:1] if command else [words[0]], [*command] or [words[0]])
                for word in words:
                    if word.startswith("-"):
                        self.assertRegex(self.help(words[0]), r"(?m)(^ +|, |\[)%s\b" % re.escape(word))

    def test_help_of_a_command_is_what_its_option_prints(self):
        self.assertEqual(self.tool("help").stdout, self.help())
        for command in self.commands():
            self.assertEqual(self.tool("help", command).stdout, self.help(command))
        self.assertEqual(self.tool("help", "lint", "sim").returncode, 2)

    def test_help_that_cannot_be_written_is_an_error(self):
        for command in [["--help"], ["help", "lint"], ["--version"], *([name, "--help"] for name in self.commands())]:
            with open("/dev/full", "wb") as full:
                result = subprocess.run([tooltest.program, *command], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
            self.assertEqual(result.returncode, 2, command)
            self.assertRegex(result.stderr, r"^pdltool[a-z ]*: error: cannot write to standard output: No space left on device\n$")

    def test_mistyped_words_have_a_suggestion(self):
        for words, said in (
            (["lnt"], "pdltool: error: unknown command 'lnt'; did you mean 'lint'?\n"),
            (["inspct", "x"], "pdltool: error: unknown command 'inspct'; did you mean 'inspect'?\n"),
            (["help", "wacth"], "pdltool: error: unknown command 'wacth'; did you mean 'watch'?\n"),
            (["frobnicate"], "pdltool: error: unknown command 'frobnicate'; see 'pdltool --help'\n"),
            (["--lint"], "pdltool: error: unknown option '--lint'; see 'pdltool --help'\n"),
            (["lint", "--jsno"], "pdltool lint: error: unknown option '--jsno'; did you mean '--json'?\n"),
            (["lint", "--overlaped=x"], "pdltool lint: error: unknown option '--overlaped'; did you mean '--overlapped'?\n"),
            (["lint", "x", "-json"], "pdltool lint: error: unknown option '-json'; did you mean '--json'?\n"),
            (["lint", "--quickly"], "pdltool lint: error: unknown option '--quickly'; see 'pdltool lint --help'\n"),
            (["lint", "-x"], "pdltool lint: error: unknown option '-x'; see 'pdltool lint --help'\n"),
            (["lint", "--no-p=1", "--"], "pdltool lint: error: '--no-project' takes no value\n"),
            (["lint", "--le"], "pdltool lint: error: '--level' needs a value; see 'pdltool lint --help'\n"),
            (["lint", "-j"], "pdltool lint: error: '-j' needs a value; see 'pdltool lint --help'\n"),
            (["lint", "--no-"], "pdltool lint: error: ambiguous option '--no-': '--no-project' or '--no-database-compiler' or '--no-source'?\n"),
        ):
            result = self.tool(*words)
            self.assertEqual((result.stdout, result.stderr, result.returncode), ("", said, 2))

    def test_a_missing_argument_is_one_line_that_points_to_help(self):
        for command in sorted(set(self.commands()) - {"bench", "info"}):
            result = self.tool(command)
            self.assertEqual((result.stdout, result.returncode), ("", 2), command)
            self.assertRegex(result.stderr, r"^pdltool %s: error: .*; see 'pdltool %s --help'\n$" % (command, command))


class Completion(Case):
    """The function of a real bash, called as bash calls it."""

    SCRIPT = 'source "$1" || exit; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _pdltool "$1"; printf "%s\\n" "${COMPREPLY[@]}"'

    def complete(self, *words):
        """What may stand in the place of the last word."""
        completion = os.path.join(COMPLETIONS, "pdltool.bash")
        result = subprocess.run(
            ["bash", "--norc", "--noprofile", "-c", self.SCRIPT, "bash", completion, tooltest.program, *words],
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        self.assertEqual(result.stderr, "")
        return sorted(result.stdout.split("\n")[:-1]) if result.stdout != "\n" else []

    def some_files(self):
        for name in ("fc.ptx", "with blank.ptx", "x.json"):
            self.file(name, "")
        os.mkdir(self.path("folder"))

    def test_it_is_registered_for_pdltool(self):
        script = 'source "$1" && complete -p pdltool'
        command = ["bash", "--norc", "--noprofile", "-c", script, "bash", os.path.join(COMPLETIONS, "pdltool.bash")]
        self.assertEqual(subprocess.check_output(command, text=True), "complete -F _pdltool pdltool\n")

    def test_commands_are_completed(self):
        self.assertEqual(self.complete(""), sorted(self.commands() + ["help"]))
        self.assertEqual(self.complete("help", "in"), ["info", "inspect", "instrument"])
        self.assertEqual(self.complete("in"), ["info", "inspect", "instrument"])
        self.assertEqual(self.complete("nothing"), [])

    def test_all_options_of_all_commands_are_completed(self):
        for command in [(), *((name,) for name in self.commands())]:
            text = self.help(*command)
            found = re.findall(r"(?m)^ +(?:(-[a-z]), )?(--[a-z-]+)(?:, (--[a-z-]+))*", text)
            for line in re.findall(r"(?m)^(?:usage:|       pdltool).*$", text):
                found.append(re.findall(r"--[a-z][a-z-]*", line))
            expected = {option for options in found for option in options if option}
            with self.subTest(command):
                self.assertEqual(set(self.complete(*command, "-")), expected)

    def test_options_after_a_partial_word_are_completed(self):
        self.assertEqual(self.complete("lint", "--no-"), ["--no-database-compiler", "--no-project", "--no-source"])
        self.assertEqual(self.complete("lint", "--json", "fc.ptx", "--no-s"), ["--no-source"])
        self.assertEqual(self.complete("--v"), ["--version"])

    def test_options_of_one_command_are_not_those_of_another(self):
        self.assertEqual(self.complete("report", "--s"), [])

    def test_words_that_a_command_knows_are_completed(self):
        suites = ["decode", "device", "graph", "overhead", "overlap"]
        self.assertEqual(self.complete("bench", ""), suites if tooltest.nvcc else [])

    def test_files_are_completed_where_a_command_reads_files(self):
        self.some_files()
        self.assertEqual(self.complete("lint", ""), ["fc.ptx", "folder", "with blank.ptx", "x.json"])
        self.assertEqual(self.complete("inspect", "w"), ["with blank.ptx"])
        self.assertEqual(self.complete("tune", "x"), ["x.json"])
        self.assertEqual(self.complete("info", ""), [])

    def test_files_are_completed_after_options_that_take_one(self):
        self.some_files()
        self.assertEqual(self.complete("bench", "--json", "x"), ["x.json"])
        self.assertEqual(self.complete("bench", "--json", "=", "x"), ["x.json"])
        self.assertEqual(self.complete("bench", "--json", "="), ["fc.ptx", "folder", "with blank.ptx", "x.json"])

    def test_no_files_are_completed_after_options_that_take_something_else(self):
        self.some_files()
        self.assertEqual(self.complete("lint", "--arch", ""), [])
        self.assertEqual(self.complete("bench", "-d", ""), [])

    def test_values_that_an_option_takes_are_completed(self):
        self.assertEqual(self.complete("lint", "--level", ""), ["error", "note", "warning"])
        self.assertEqual(self.complete("lint", "--fail-on", "n"), ["never", "note"])
        self.assertEqual(self.complete("lint", "--fail-on", "=", "w"), ["warning"])
        self.assertEqual(self.complete("watch", "--overlap", ""), ["off", "on"])
        self.assertEqual(self.complete("sim", "-d", "h"), ["h200"])

    def test_the_values_of_help_are_those_that_are_taken(self):
        options = 0
        for command in self.commands():
            text = re.sub(r"\n {16,}(?=[^ -])", " ", self.help(command))
            for option, values in re.findall(r"(?m)^ +(?:-[a-z], )?(--[a-z-]+) .*?one of ([a-z0-9, -]+)", text):
                values = [value for value in re.split(r" *, *", values.strip()) if re.fullmatch(r"[a-z0-9-]+", value)]
                with self.subTest(command=command, option=option):
                    self.assertGreater(len(values), 0)
                    self.assertEqual(self.complete(command, option, ""), sorted(values))
                    said = self.tool(command, option, "no-value", *{"sim": ["file"], "overlap": ["--primary", "x", "--secondary", "y"]}.get(command, [])).stderr
                    self.assertRegex(said, r"^pdltool %s: error: .*'no-value'" % command)
                    if option != "--device":
                        for value in values:
                            self.assertRegex(said, r"\b%s\b" % value)
                    options += 1
        self.assertGreater(options, 8)

    def test_folders_are_completed_where_one_is_wanted(self):
        self.some_files()
        self.assertIn("folder", self.complete("report", ""))
        self.assertEqual(self.complete("report", "-o", "f"), ["folder"])

    def test_files_are_completed_after_two_dashes(self):
        self.some_files()
        self.assertEqual(self.complete("rtc", "-", "--", "-DN=4", "x"), ["x.json"])

    def test_what_is_unknown_is_not_completed(self):
        self.some_files()
        self.assertEqual(self.complete("nothing", ""), [])

    def test_zsh_reads_the_help_as_bash_does(self):
        functions = set()
        for name in ("pdltool.bash", "_pdltool"):
            with open(os.path.join(COMPLETIONS, name), encoding="ascii") as file:
                functions.add(re.search(r"(?ms)^_pdltool_help\(\) \{.*?^\}$", file.read()).group())
        self.assertEqual(len(functions), 1)

    def test_the_completion_for_zsh_has_no_syntax_error(self):
        if not shutil.which("zsh"):
            raise unittest.SkipTest("no zsh is here")
        subprocess.run(["zsh", "-n", os.path.join(COMPLETIONS, "_pdltool")], check=True, timeout=60)


if __name__ == "__main__":
    tooltest.main(globals())
