#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""documents.py PDLTOOL SOURCE: the blocks of the documents that no compiler sees are what they say they are.

Commands: shells parse them, pdltool has the commands and options, presets and files of the source tree exist, and what
needs neither a device nor the reader's own files runs. JSON and Python are parsed, and YAML with the commands in it. A
program for jq gets a report of lint. Blocks in C and CUDA are compiled by device.snippets, those in CMake are built by
install.cmake_blocks, and `console` is what test/install/tutorial.py runs: no other page has it.
"""

import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    yaml = None

ELSEWHERE = {"", "c", "cuda", "cmake", "cpp", "make", "pdlsim", "pdltune"}
RUNS = {"sim", "overlap"}  # with numbers or files of the source tree alone
# Reads memory before its wait, at two lines.
RACES = """.version 7.8
.target sm_90
.address_size 64
.file 1 "a.cu"
.visible .entry kernel(.param .u64 x)
{
.reg .b64 %rd<3>; .reg .b32 %r<3>;
ld.param.u64 %rd1, [x]; cvta.to.global.u64 %rd2, %rd1;
.loc 1 3 5
ld.global.u32 %r1, [%rd2];
.loc 1 4 5
ld.global.u32 %r2, [%rd2+4];
griddepcontrol.wait;
ret;
}
"""


def blocks(path):
    """Yields (line, language, text) of what is fenced, and commands that are indented as `sh`."""
    language, start, lines = None, 0, []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fence = re.match(r"```(\w*)$", line)
        if fence and language is None:
            language, start, lines = fence.group(1), number + 1, []
        elif fence:
            yield start, language, "\n".join(lines) + "\n"
            language, lines = None, []
        elif language is not None:
            lines.append(line)
        elif lines or re.match(r"    (\$ )?(\w+=\S+ )*(pdltool (?!\w*:)|cmake |ctest )", line):
            lines.append(re.sub(r"^    (\$ )?", "", line) + "\n")
            if not line.endswith("\\"):
                yield number, "sh", "".join(lines)
                lines = []


class Checks:
    def __init__(self, pdltool, source):
        self.pdltool, self.source = pdltool, source
        self.commands = set(re.findall(r"^  (\w+)  ", self.help(), re.MULTILINE))
        presets = json.loads((source / "CMakePresets.json").read_text(encoding="utf-8"))
        self.presets = {kind: {preset["name"] for preset in presets[kind]}
                        for kind in ("configurePresets", "buildPresets", "testPresets", "workflowPresets")}

    @functools.lru_cache(maxsize=None)
    def help(self, *command):
        return subprocess.run([self.pdltool, *command, "--help"], capture_output=True, text=True, check=True).stdout

    def pdltool_command(self, words):
        if words and words[0] in ("--help", "--version", "help"):
            return
        if not words or words[0] not in self.commands:
            raise ValueError("no such command: pdltool %s" % " ".join(words))
        options = words[1:words.index("--")] if "--" in words else words[1:]
        for word in options:
            option = re.match(r"--?[a-z][\w-]*", word)
            if option and option.group() != "--help" and not re.search(r"(?<![\w-])%s(?![\w-])" % re.escape(option.group()), self.help(words[0])):
                raise ValueError("pdltool %s has no %s" % (words[0], option.group()))
        for word in options:
            if re.match(r"(examples|docs|test)/", word) and not (self.source / word).exists():
                raise ValueError("there is no %s" % word)
        files = [word for word in options if "=" not in word and not word.startswith("-")]
        mine = [word for word in files if re.search(r"[./]", word) and not re.match(r"[\d.:=]+$", word)]
        if words[0] in RUNS and all((self.source / word).exists() for word in mine) and "program" not in files:
            result = subprocess.run([self.pdltool, *words], cwd=self.source, capture_output=True, text=True, check=False)
            if result.returncode not in (0, 1):
                raise ValueError("exit status %d: %s" % (result.returncode, result.stderr))

    def preset(self, words):
        if "--preset" in words:
            kind = "workflowPresets" if "--workflow" in words else "buildPresets" if "--build" in words else \
                "testPresets" if words[0] == "ctest" else "configurePresets"
            name = words[words.index("--preset") + 1]
            if name not in self.presets[kind]:
                raise ValueError("%s have no %s" % (kind, name))

    def sh(self, text):
        text = text.replace("[OPTION...]", "")
        result = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise ValueError(result.stderr)
        for line in text.replace("\\\n", " ").splitlines():
            lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
            lexer.whitespace_split = True
            words = list(lexer) + [";"]
            while words:
                end = next(i for i, word in enumerate(words) if re.fullmatch(r"[();|&]+", word))
                command = [word for i, word in enumerate(words[:end]) if not re.match(r"\w+=", word) or i > 0]
                command = command[:next((i for i, word in enumerate(command) if word in "<>"), len(command))]
                words = words[end + 1:]
                if command and command[0] in ("do", "then", "sudo"):
                    command = command[1:]
                if command and command[0] == "pdltool" and not any("$" in word for word in command[:2]):
                    self.pdltool_command(command[1:])
                elif command and command[0] in ("cmake", "ctest"):
                    self.preset(command)

    @staticmethod
    def json(text):
        json.loads(text)

    @staticmethod
    def python(text):
        compile(text, "block", "exec")

    def yaml(self, text):
        """The commands in it are those of `run`, `script` and `entry`."""
        rest = [yaml.safe_load(text)] if yaml else []
        while rest:
            value = rest.pop()
            if isinstance(value, dict):
                for key in value.keys() & {"run", "script", "entry"}:
                    commands = value[key] if isinstance(value[key], list) else [value[key]]
                    self.sh("".join(command + "\n" for command in commands))
                rest += value.values()
            elif isinstance(value, list):
                rest += value

    @staticmethod
    def groovy(text):
        """Brackets and quotes are balanced: there is no parser here."""
        opened = []
        for token in re.findall(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|['\"(){}\[\]]", text):
            if token in ("'", '"') or token in ")}]" and (not opened or opened.pop() + token not in ("()", "{}", "[]")):
                raise ValueError("unbalanced: %s" % token)
            if token in "({[":
                opened.append(token)
        if opened:
            raise ValueError("unbalanced: %s" % opened[-1])

    def jq(self, text):
        """It makes of a report of lint what GitLab reads of a code quality report."""
        if not shutil.which("jq"):
            return
        sarif = subprocess.run([self.pdltool, "lint", "--sarif", "-"], input=RACES, capture_output=True, text=True, check=False)
        result = subprocess.run(["jq", text], input=sarif.stdout, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise ValueError(result.stderr)
        found = json.loads(result.stdout)
        if [entry["location"]["lines"]["begin"] for entry in found] != [3, 4] or \
                len({entry["fingerprint"] for entry in found} - {None}) != 2 or \
                any((entry["location"]["path"], entry["check_name"], entry["severity"]) != ("a.cu", "read-before-wait", "major")
                    or not entry["description"] for entry in found):
            raise ValueError("not a code quality report of lint's findings: %s" % result.stdout)


def main():
    source = pathlib.Path(sys.argv[2]).resolve()
    checks = Checks(os.path.realpath(sys.argv[1]), source)
    pages = [source / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")] + sorted((source / "docs").rglob("*.md"))
    count, wrong = 0, 0
    with tempfile.TemporaryDirectory() as home:
        os.environ["XDG_CACHE_HOME"] = home
        for page in pages:
            for line, language, text in blocks(page):
                count += 1
                try:
                    if language == "console" and page.name == "tutorial.md" or language in ELSEWHERE:
                        continue
                    check = getattr(checks, language, None)
                    if check is None:
                        raise ValueError("nothing checks blocks in '%s'" % language)
                    check(text)
                except (ValueError, SyntaxError, subprocess.CalledProcessError) as error:
                    wrong += 1
                    print("%s:%d: %s" % (page.relative_to(source), line, error))
                except Exception as error:  # pylint: disable=broad-except
                    if yaml and isinstance(error, yaml.YAMLError):
                        wrong += 1
                        print("%s:%d: %s" % (page.relative_to(source), line, error))
                    else:
                        raise
    print("%d blocks, %d wrong" % (count, wrong))
    return 1 if wrong or count < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
