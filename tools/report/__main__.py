# SPDX-License-Identifier: MIT
"""pdltool report: pages, comparisons, calibrations and descriptions. pdltool starts this folder; the first argument is its path."""

import argparse
import errno
import json
import os
import sys

import compare
import describe
import model
from runs import Trouble, load, note, read_program, read_run

HELP = """usage: pdltool report DIR [--output DIR]
       pdltool report compare FILE FILE
       pdltool report calibrate DIR [--device NAME]
       pdltool report predict FILE [--device NAME] [--json]
       pdltool report describe TRACE [--device NAME]

Makes a page with plots of the JSON files in DIR that 'pdltool bench' and the
programs of libpdl wrote: index.html, which loads nothing else. The plots need
matplotlib for Python. No command needs a device.

compare has a verdict for each row of a second run, the new one, beside the
first. calibrate makes a device for 'pdltool sim' from DIR/overlap.json and
DIR/graph.json. predict runs 'pdltool sim' on the shapes that 'pdltool bench
overlap' measured, and reports its errors. describe makes a description for
'pdltool sim' of a timeline that was recorded (PDL_TIMELINE_TRACE).

  -o, --output DIR   where the page goes, which is created (default: the same
                     DIR); of calibrate, a file (default: standard output)
  -d, --device NAME  a file that calibrate wrote (default: the built-in H200)
      --json         write all predictions as JSON

Examples:
  pdltool report results/ --output public
  pdltool report compare old.json new.json

Exit status: 0; 1 if a row is worse, or a JSON file could not be read; 2 if no
page was written, or the runs cannot be compared.
"""
COMMANDS = ("compare", "calibrate", "predict", "describe")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Trouble(f"{message}; see 'pdltool report --help'")


def write(path, text):
    """A file gets its name when it is complete."""
    try:
        if path == "-":
            print(text, end="", flush=True)
        else:
            with open(path + ".part", "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(path + ".part", path)
    except OSError as error:
        if path == "-":
            sys.stdout = None  # nothing is flushed at the end
            raise Trouble(f"cannot write to standard output: {os.strerror(error.errno or errno.EIO)}") from error
        if os.path.exists(path + ".part"):
            os.remove(path + ".part")
        raise Trouble(f"{path}: error: {error.strerror}") from error


def make_page(directory, output):
    try:
        import page  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        system = "/usr/bin/python3"  # another Python in PATH does not see what the system's packages brought
        if os.path.exists(system) and os.path.realpath(system) != os.path.realpath(sys.executable):
            os.execv(system, [system, "-B", *sys.argv])
        install = "apt install python3-matplotlib, or pip install matplotlib"
        raise Trouble(f"plots need matplotlib ({error}): {install}") from error
    try:
        names = sorted(name for name in os.listdir(directory) if name.endswith(".json") and not name.startswith("."))
    except OSError as error:
        raise Trouble(f"{directory}: error: {error.strerror}") from error
    runs, troubles = [], []
    for name in names:
        path = os.path.join(directory, name)
        try:
            content = load(path)
            is_bench = isinstance(content, dict) and content.get("tool") == "pdltool bench"
            run = read_run(path, content) if is_bench else read_program(path, content)
            if run is None:
                note(f"{path}: note: ignored, it has no measured times")
            else:
                runs.append(run)
        except Trouble as error:
            note(str(error))
            troubles.append(f"{name} could not be read and is not here.")
    if not runs:
        raise Trouble(f"{directory}: error: no JSON file of pdltool bench")
    try:
        os.makedirs(output, exist_ok=True)
    except OSError as error:
        raise Trouble(f"{output}: error: {error.strerror}") from error
    path = os.path.join(output, "index.html")
    write(path, page.page(runs, troubles))
    write("-", path + "\n")
    return 1 if troubles else 0


def make_comparison(old, new):
    comparison = compare.Comparison(read_run(old), read_run(new))
    write("-", comparison.text() + "\n")
    if comparison.worse == 0 and comparison.blind():
        raise Trouble("not all rows were measured, or none that the old run has")
    return 1 if comparison.worse else 0


def make_prediction(options, program):
    path = options.names[0]
    rows, content = model.predict(path, options.device, program)
    date = content.get("environment", {}).get("date")
    made = model.as_json(rows, options.device, date)
    write("-", (json.dumps(made, indent=2) if options.json else model.as_text(rows)) + "\n")
    return 0


def start(program, arguments):
    parser = Parser(prog="pdltool report", add_help=False)
    parser.add_argument("names", nargs="*")
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("-o", "--output")
    parser.add_argument("-d", "--device", default="h200")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if options.help:
        write("-", HELP)
        return 0
    command = options.names.pop(0) if options.names and options.names[0] in COMMANDS else ""
    if len(options.names) != (2 if command == "compare" else 1):
        needed = {"": "one directory is needed", "compare": "two files are needed"}
        parser.error(needed.get(command, f"{command} needs one name"))
    if command == "compare":
        return make_comparison(*options.names)
    if command == "calibrate":
        write(options.output or "-", model.calibrate(options.names[0], options.device))
        return 0
    if command == "describe":
        write(options.output or "-", describe.describe(options.names[0], options.device))
        return 0
    if command == "predict":
        return make_prediction(options, program)
    return make_page(options.names[0], options.output or options.names[0])


def main():
    try:
        code = start(sys.argv[1], sys.argv[2:])
    except Trouble as trouble:
        line = str(trouble)
        note(line if ": error: " in line else f"pdltool report: error: {line}")
        code = 2
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


main()
