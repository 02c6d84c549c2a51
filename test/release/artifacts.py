#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""artifacts.py --source DIR --work DIR STEP: the whole command for a release, in clones of the repository.

build     makes the artefacts; a build of the same commit in the source tree is taken as it is
contents  archives and packages hold what they should, and their checksums are right
single    the core's two files compile into a program
again     another clone in another folder gives the same bytes
"""

import argparse
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

MACHINES = {"amd64": "X86-64", "arm64": "AArch64"}


def run(*command, **options):
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            check=False, **options)
    if result.returncode:
        sys.exit("%s\n'%s' exits with %d" % (result.stdout, " ".join(map(str, command)), result.returncode))
    return result.stdout


def unpack(archive, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    run("tar", "-x", "-f", archive, "-C", folder)


def clone(source, folder):
    """A clone whose last commit is the work tree as it is. Equal trees give equal commits."""
    shutil.rmtree(folder, ignore_errors=True)
    run("git", "clone", "--quiet", "--no-hardlinks", source, folder)
    if run("git", "-C", source, "status", "--porcelain"):
        names = [name for name in run("git", "-C", source, "ls-files", "-z", "-co", "--exclude-standard").split("\0") if name]
        run("git", "-C", folder, "rm", "-rqf", ".")
        for name in names:
            if (source / name).exists():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source / name, folder / name)
        run("git", "-C", folder, "add", "--all")
        person = {kind + part: "test" for kind in ("GIT_AUTHOR_", "GIT_COMMITTER_") for part in ("NAME", "EMAIL")}
        dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-01-01T00:00:00Z")
        run("git", "-C", folder, "commit", "--quiet", "--allow-empty", "-m", "The work tree",
            env={**os.environ, **person, **dates})
    return folder


def architectures():
    """The machine's own, and those that it has a cross compiler and packages for."""
    found = [run("dpkg", "--print-architecture").strip()]
    if "arm64" in run("dpkg", "--print-foreign-architectures").split() and shutil.which("aarch64-linux-gnu-gcc"):
        found.append("arm64")
    return found


def make(folder):
    """The artefacts of a clone."""
    if len(architectures()) == len(MACHINES):
        run("cmake", "--workflow", "--preset", "release-artifacts", cwd=folder)
    else:
        run("cmake", "--preset", "release-artifacts", "-D", "PDL_RELEASE_ARCHITECTURES=" + ";".join(architectures()),
            cwd=folder)
        run("cmake", "--build", "--preset", "release-artifacts", cwd=folder)
    found = list((folder / "build/release-artifacts").glob("libpdl-*"))
    if len(found) != 1:
        sys.exit("%d folders of artefacts" % len(found))
    return found[0]


def already_made(source, first):
    """The artefacts that the source tree has of the commit that the clone has."""
    commit = run("git", "-C", first, "show", "--no-patch", "--format=%h", "--abbrev=12", "HEAD").strip()
    for folder in (source / "build/release-artifacts").glob("libpdl-*%s" % commit):
        names = {path.name for path in folder.iterdir()}
        if "SHA256SUMS" in names and all(any(one in name for name in names) for one in architectures()):
            return folder
    return None


def step_build(source, work):
    first = clone(source, work / "first")
    made = already_made(source, first) or make(first)
    (work / "made").unlink(missing_ok=True)
    (work / "made").symlink_to(made)
    print(made)


def has_nvccs_code(name):
    """Whether it is, holds or describes pdltool for amd64, of which nvcc's part is not the same twice."""
    return bool(re.search(r"-linux-amd64\.tar\.gz$|^pdltool_.*_amd64\.deb$", name))


def compare(made, other, work):
    one, two = (dict(reversed(line.split()) for line in (folder / "SHA256SUMS").read_text().splitlines())
                for folder in (made, other))
    different = {name for name in {*one, *two} if one.get(name) != two.get(name)}
    if other.name != made.name or {name for name in different if not has_nvccs_code(name)}:
        sys.exit("%s and %s differ in: %s" % (made, other, ", ".join(sorted(different))))
    trees = []
    for number, folder in enumerate((made, other)):
        tree = work / ("compared-%d" % number)
        unpack(folder / (folder.name + "-linux-amd64.tar.gz"), tree)
        trees.append({path.relative_to(tree): path.read_bytes() for path in tree.rglob("*")
                      if path.is_file() and path.parts[-2:] != ("bin", "pdltool")})
    if trees[0] != trees[1] or len(trees[0]) < 100:
        sys.exit("%s and %s differ in more than pdltool" % (made, other))
    print("%d equal files, %d with pdltool" % (len(one) - len(different), len(different)))


def step_again(source, work):
    other = make(clone(source, work / "another folder with a longer name".replace(" ", "-")))
    compare((work / "made").resolve(), other, work)


def step_contents(_, work):
    made = (work / "made").resolve()
    version = made.name[len("libpdl-"):]
    run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=made)
    listed = {line.split()[1] for line in (made / "SHA256SUMS").read_text().splitlines()}
    if listed != {path.name for path in made.iterdir()} - {"SHA256SUMS"}:
        sys.exit("SHA256SUMS lists other files than those there")

    with tarfile.open(made / (made.name + ".tar.gz")) as tar:
        found = {member.name for member in tar.getmembers() if not member.isdir()}
    expected = {made.name + "/" + name for name in run("git", "-C", work / "first", "ls-files").split("\n") if name}
    if found != expected:
        sys.exit("the source archive differs from the repository in %s" % sorted(found ^ expected)[:10])

    for architecture in architectures():
        names = collections.Counter()
        for deb in made.glob("*_%s.deb" % architecture):
            fields = run("dpkg-deb", "--field", deb, "Package", "Version", "Architecture")
            if "Version: %s-1\n" % version not in fields or "Architecture: %s" % architecture not in fields:
                sys.exit("%s: %s" % (deb.name, fields))
            names[re.sub(r"[\d.]+$", "", re.search("Package: (.*)", fields)[1])] += 1
        expected = {"libpdl", "libpdl-inspect", "libpdl-rtc", "libpdl-trace", "libpdl-watch", "libpdl-dev", "pdltool"}
        if names != dict.fromkeys(expected, 1):
            sys.exit("packages for %s: %s" % (architecture, dict(names)))
        folder = work / ("unpacked-" + architecture)
        unpack(made / ("%s-linux-%s.tar.gz" % (made.name, architecture)), folder)
        program = next(folder.glob("*/bin/pdltool"))
        if MACHINES[architecture] not in run("readelf", "-h", program):
            sys.exit("%s is a program of another machine" % program)
        paths = [path for path in folder.rglob("*") if path.is_file() and str(work).encode() in path.read_bytes()]
        if paths:
            sys.exit("the folder of the build is in %s" % paths)


def step_single(_, work):
    made = (work / "made").resolve()
    folder = work / "single"
    unpack(made / (made.name + "-single.tar.gz"), folder)
    files = next(folder.iterdir())
    program = folder / "program.c"
    program.write_text('#include "pdl.h"\n#include <stdio.h>\n'
                       'int main(void)\n{\n    puts(pdl_status_name(PDL_SUCCESS));\n    return 0;\n}\n')
    cache = (made.parent / "CMakeCache.txt").read_text()
    cuda = re.search("^PDL_CUDA_INCLUDE_DIR:PATH=(.*)$", cache, re.MULTILINE)[1]
    run("gcc", "-std=c11", "-Wall", "-Werror", "-I", files, "-isystem", cuda, "-o", folder / "program", program,
        files / "pdl.c", "-ldl", "-pthread")
    if run(folder / "program").strip() != "SUCCESS":
        sys.exit("the program prints something else")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("step", choices=[name[5:] for name in globals() if name.startswith("step_")])
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    globals()["step_" + arguments.step](arguments.source.resolve(), arguments.work.resolve())


if __name__ == "__main__":
    main()
