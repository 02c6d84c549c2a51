#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Follows a tutorial as its reader would: saves its files, types its commands, and compares what they print.

A block behind "Save this as `NAME`:" is a file. In a `console` block, lines that begin with "$ " are commands, which
must succeed, and the lines below each are its output; "..." stands for any number of lines. A comment in front of a
block says where it is for: `<!-- install -->` (not with --prefix, where libpdl is installed already),
`<!-- with a GPU -->` and `<!-- without a GPU -->`. Output from a GPU is compared without its numbers.

--update writes what the commands print on this machine into the page instead of comparing it.
"""

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"```(\w*)\n")
SAVE = re.compile(r"(?:Save|save)[^`]*(?:`[^`]*`[^`]*)*\bas\s+`([^`]+)`:\s*$")
WHERE = re.compile(r"<!-- (install|with a GPU|without a GPU) -->\n")


class Shell:
    """A shell in which one command after the other runs."""

    def __init__(self, directory, environment):
        # pylint: disable=consider-using-with
        self.bash = subprocess.Popen(
            ["bash", "--norc"], cwd=directory, env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", bufsize=1)

    def run(self, command):
        """Returns what it printed and its exit status."""
        self.bash.stdin.write("{ %s\n} </dev/null; printf '\\n\\001%%d\\n' $?\n" % command)
        self.bash.stdin.flush()
        lines = []
        for line in self.bash.stdout:
            if line.startswith("\001"):
                text = "".join(lines)
                return text[:-1].rstrip("\n"), int(line[1:])
            lines.append(line)
        sys.exit("%s: the shell ended\n%s" % (command, "".join(lines)))


def same(expected, printed, numbers):
    """Whether the output is what the page shows, with its numbers or without."""
    pattern = r"\n".join(r"(?:.*\n)*?.*" if line == "..." else re.escape(line.rstrip()) for line in expected)
    printed = "\n".join(line.rstrip() for line in printed.split("\n"))
    if not numbers:
        pattern = re.sub(r"[\d,]+(?:\\\.\d+)?", r"[\\d,.]+", re.sub(r"(?:\\ )+", r" +", pattern))
    return re.fullmatch(pattern, printed) is not None


class Page:
    """The page, and what becomes of it."""

    def __init__(self, path, prefix, has_gpu, numbers, update):
        with open(path, encoding="utf-8") as file:
            self.lines = file.readlines()
        self.path, self.prefix, self.has_gpu, self.numbers, self.update = path, prefix, has_gpu, numbers, update
        self.commands = self.failed = 0
        self.where = ""

    def wanted(self):
        """Whether the block is for this machine."""
        return (self.where != "install" or not self.prefix) and \
            (self.where != "with a GPU" or self.has_gpu) and (self.where != "without a GPU" or not self.has_gpu)

    def console(self, shell, block, at):
        """Runs a block's commands. Returns the block as it is on this machine."""
        result = []
        starts = [i for i, line in enumerate(block) if line.startswith("$ ")] + [len(block)]
        if starts[0] != 0:
            sys.exit("%s:%d: the block does not begin with a command" % (self.path, at))
        for start, end in zip(starts, starts[1:]):
            command, expected = block[start][2:].rstrip("\n"), [line.rstrip("\n") for line in block[start + 1:end]]
            printed, status = shell.run(command)
            self.commands += 1
            if status != 0:
                self.failed += 1
                print("%s:%d: %s: exit status %d\n%s" % (self.path, at + start, command, status, printed))
            # Commands for a GPU whose output the page leaves out only have to succeed.
            left_out = self.where == "with a GPU" and not expected
            good = left_out or same(expected, printed, self.numbers and self.where != "with a GPU")
            if not good and not self.update:
                self.failed += 1
                print("%s:%d: %s" % (self.path, at + start, command))
                print("\n".join(difflib.unified_diff(expected, printed.split("\n"), "page", "printed", lineterm="")))
            elif self.update and (left_out or not good):
                expected = [line.rstrip() for line in printed.split("\n")]
            result += [block[start]] + [line + "\n" for line in expected]
        return result

    def follow(self, shell, directory):
        """Goes through the page."""
        result, text, i = [], "", 0
        while i < len(self.lines):
            line = self.lines[i]
            where, fence = WHERE.fullmatch(line), FENCE.fullmatch(line)
            result.append(line)
            i += 1
            if where:
                self.where = where.group(1)
            if not fence:
                text = (text + " " + line.strip() if line.strip() else text + "\0").replace("\0 ", "\0")
                continue
            end = self.lines.index("```\n", i)
            block = self.lines[i:end]
            name = SAVE.search(text.rstrip("\0").split("\0")[-1])
            if name:
                with open(os.path.join(directory, name.group(1)), "w", encoding="utf-8") as file:
                    file.writelines(block)
            elif fence.group(1) == "console" and self.wanted():
                block = self.console(shell, block, i + 1)
            elif fence.group(1) != "console":
                sys.exit("%s:%d: the block is neither a file nor commands" % (self.path, i))
            result += block + ["```\n"]
            text, self.where, i = "", "", end + 1
        return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", required=True, help="the source tree, which is `libpdl` on the page")
    parser.add_argument("--prefix", help="where libpdl is installed already, `~/pdl` on the page")
    parser.add_argument("--nvcc-folder", help="is put into PATH")
    parser.add_argument("--no-numbers", action="store_true", help="compare without numbers: another nvcc than the page's")
    parser.add_argument("--update", action="store_true", help="write what is printed into the page")
    parser.add_argument("page")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pdl-tutorial-") as home:
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("CPATH", "LIBRARY_PATH", "COLUMNS") and not name.startswith("PDL_")}
        environment.update(HOME=home, LC_ALL="C.UTF-8", XDG_CACHE_HOME=os.path.join(home, ".cache"))
        if arguments.nvcc_folder:
            environment["PATH"] = arguments.nvcc_folder + ":" + environment["PATH"]
        os.symlink(os.path.realpath(arguments.source), os.path.join(home, "libpdl"))
        if arguments.prefix:
            os.symlink(os.path.realpath(arguments.prefix), os.path.join(home, "pdl"))
        work = os.path.join(home, "work")
        os.mkdir(work)
        os.symlink("../libpdl", os.path.join(work, "libpdl"))
        shell = Shell(work, environment)
        has_gpu = os.path.exists("/dev/nvidiactl")
        page = Page(arguments.page, arguments.prefix, has_gpu, not arguments.no_numbers, arguments.update)
        result = page.follow(shell, work)
        shell.bash.stdin.close()
        shell.bash.wait()
    if arguments.update:
        with open(arguments.page, "w", encoding="utf-8") as file:
            file.writelines(result)
    print("%d of %d commands did what the page says%s" % (
        page.commands - page.failed, page.commands, "" if has_gpu else "; those for a GPU were left out"))
    return 1 if page.failed or page.commands == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
