#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the artefacts of a release from the last commit, in OUT/libpdl-VERSION.

release.py --git GIT --source DIR --out DIR --architectures ARCHITECTURE...

Everything is built from the source archive, outside the work tree. Equal commits, compilers and packages of the machine
give equal bytes, whatever the folder: times are SOURCE_DATE_EPOCH or else the commit's time, paths are mapped away, and
archives are sorted.
"""

import argparse
import gzip
import hashlib
import io
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tarfile

# Debian's name of an architecture: the preset that packs it on another one, its compiler and the compiler's package.
CROSS = {"arm64": ("package-arm64", "aarch64-linux-gnu-gcc", "g++-aarch64-linux-gnu")}
TOOLS = {"cmake": "cmake", "cpack": "cmake", "dpkg": "dpkg", "dpkg-deb": "dpkg", "dpkg-query": "dpkg", "gcc": "g++",
         "dpkg-shlibdeps": "dpkg-dev", "ninja": "ninja-build", "readelf": "binutils"}


def die(text):
    sys.exit("release: " + text)


def run(*command, **options):
    """What a command prints; ends with it where it fails."""
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=False, **options)
    if result.returncode:
        die("'%s' exits with %d" % (shlex.join(str(word) for word in command), result.returncode))
    return result.stdout.strip()


def version_of(header):
    """The version in the text of include/pdl/version.h."""
    parts = dict(re.findall(r"^#define PDL_VERSION_(MAJOR|MINOR|PATCH) (\d+)", header, re.MULTILINE))
    return "%(MAJOR)s.%(MINOR)s.%(PATCH)s" % parts


def choose_version(number, tags, dated, changelog):
    """The version of the artefacts: the header's; with a suffix unless a tag of the commit makes it a release."""
    tags = [tag for tag in tags if re.fullmatch(r"v?\d+(\.\d+)+.*", tag)]
    wrong = [tag for tag in tags if tag != "v" + number]
    if wrong:
        die("the tag %s does not match include/pdl/version.h, which is %s: the tag must be v%s"
            % (", ".join(wrong), number, number))
    if tags and not re.search(r"^## \[%s\]" % re.escape(number), changelog, re.MULTILINE):
        die("the tag v%s has no section '## [%s]' in CHANGELOG.md" % (number, number))
    return number if tags else "%s+git%s" % (number, dated)


def check_tools(architectures, host):
    """Ends with the packages to install where something is missing."""
    missing = ["%s (package %s)" % pair for pair in TOOLS.items() if not shutil.which(pair[0])]
    for architecture in architectures:
        if architecture == host:
            continue
        if architecture not in CROSS:
            die("no toolchain for %s on %s; this machine builds for: %s" % (architecture, host, ", ".join([host, *CROSS])))
        _, compiler, package = CROSS[architecture]
        if not shutil.which(compiler):
            missing.append("%s (package %s) for %s" % (compiler, package, architecture))
        if architecture not in run("dpkg", "--print-foreign-architectures").split():
            missing.append("%s's packages (dpkg --add-architecture %s && apt-get update)" % (architecture, architecture))
    if missing:
        die("missing on this machine:\n  %s\n-D PDL_RELEASE_ARCHITECTURES=%s leaves out other architectures"
            % ("\n  ".join(missing), host))


def pack(folder, out, epoch):
    """A .tar.gz of a folder under its own name: sorted, owned by root, no file newer than epoch."""
    def plain(member):
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        member.mtime = epoch
        member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
        return member

    text = io.BytesIO()
    with tarfile.open(fileobj=text, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted([folder, *folder.rglob("*")]):
            tar.add(path, folder.name / path.relative_to(folder), recursive=False, filter=plain)
    compress(text.getvalue(), out)


def compress(data, out):
    """gzip without a name and a time."""
    with open(out, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(data)


def repack_deb(deb, work, epoch):
    """CPack's package again, by dpkg-deb, which sorts."""
    shutil.rmtree(work, ignore_errors=True)
    work.parent.mkdir(exist_ok=True)
    run("dpkg-deb", "--raw-extract", deb, work)
    sums = work / "DEBIAN" / "md5sums"
    sums.write_text("".join(sorted(sums.read_text().splitlines(True), key=lambda line: line.split(None, 1)[1])))
    for path in [work, *work.rglob("*")]:
        os.utime(path, (epoch, epoch), follow_symlinks=False)
    deb.unlink()
    run("dpkg-deb", "--root-owner-group", "-Zxz", "--threads-max=1", "--build", work, deb)


def build(architecture, host, source, work, version, number, described, artifacts):
    """Builds and packs."""
    binary = work / "build"
    maps = ["-ffile-prefix-map=%s=." % folder for folder in (source, binary)]
    # A link editor that strips makes a build ID that does not depend on names of temporary files, and a run path that
    # CMake changes later keeps the length of the build's.
    preset = "package" if architecture == host else CROSS[architecture][0]
    run("cmake", "--preset", preset, "-S", source, "-B", binary, "--no-warn-unused-cli",
        "-D", "CMAKE_C_FLAGS=" + " ".join(maps), "-D", "CMAKE_CUDA_FLAGS=" + " ".join("-Xcompiler=" + each for each in maps),
        "-D", "CMAKE_EXE_LINKER_FLAGS=-s", "-D", "CMAKE_SHARED_LINKER_FLAGS=-s", "-D", "CMAKE_MODULE_LINKER_FLAGS=-s",
        "-D", "CMAKE_BUILD_WITH_INSTALL_RPATH=ON", "-D", "PDL_REQUIRE_ALL=ON",
        "-D", "PDL_VERSION_SUFFIX=" + version[len(number):], "-D", "PDL_GIT_VERSION=" + described, cwd=source)
    run("cmake", "--build", binary)
    run("cpack", "--config", binary / "CPackConfig.cmake", "-B", binary, cwd=binary)

    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    debs = sorted(binary.glob("*.deb"))
    for deb in debs:
        if not deb.stem.endswith("_" + architecture):
            die("cpack made %s in the build for %s" % (deb.name, architecture))
        repack_deb(deb, work / "deb" / deb.stem, epoch)
        shutil.move(deb, artifacts / deb.name)
    archives = list(binary.glob("libpdl-*.tar.gz"))
    if not debs or len(archives) != 1:
        die("cpack made %d packages and %d archives for %s" % (len(debs), len(archives), architecture))
    folder = work / "libpdl-{}-linux-{}".format(version, architecture)
    (work / "unpacked").mkdir()
    run("tar", "-x", "-f", archives[0], "-C", work / "unpacked")
    shutil.move(next((work / "unpacked").iterdir()), folder)
    pack(folder, artifacts / (folder.name + ".tar.gz"), epoch)


def single(binary, work, artifacts, version, epoch):
    """The core as two files."""
    run("cmake", "--build", binary, "--target", "single")
    folder = work / "libpdl-{}-single".format(version)
    shutil.copytree(binary / "single", folder)
    pack(folder, artifacts / (folder.name + ".tar.gz"), epoch)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--git", default="git")
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--architectures", nargs="+", required=True)
    arguments = parser.parse_args()

    def git(*words):
        return run(arguments.git, "-C", arguments.source, *words, env={**os.environ, "TZ": "UTC"})

    changes = git("status", "--porcelain")
    if changes:
        die("the work tree has changes, which a release would not contain; commit them or put them aside:\n" + changes)
    number = version_of(git("show", "HEAD:include/pdl/version.h"))
    dated = git("show", "--no-patch", "--format=%cd.%h", "--date=format-local:%Y%m%d", "--abbrev=12", "HEAD")
    version = choose_version(number, git("tag", "--points-at", "HEAD").split(), dated, git("show", "HEAD:CHANGELOG.md"))
    described = git("describe", "--always", "--tags")
    host = run("dpkg", "--print-architecture") if shutil.which("dpkg") else "none"
    check_tools(arguments.architectures, host)
    epoch = int(os.environ.setdefault("SOURCE_DATE_EPOCH", git("show", "--no-patch", "--format=%ct", "HEAD")))
    os.umask(0o022)
    # A compiler cache may replace the paths of sources by others.
    os.environ["CCACHE_DISABLE"] = "1"
    for language in ("C", "CXX", "CUDA"):
        os.environ.pop("CMAKE_%s_COMPILER_LAUNCHER" % language, None)

    work, artifacts = arguments.out.resolve() / "work", arguments.out.resolve() / ("libpdl-" + version)
    for folder in (work, artifacts):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    print("release: libpdl %s for %s, in %s" % (version, ", ".join(arguments.architectures), artifacts), flush=True)
    for architecture in sorted({host, *CROSS} - set(arguments.architectures)):
        print("release: off: %s (not in PDL_RELEASE_ARCHITECTURES)" % architecture, flush=True)

    source = work / artifacts.name
    tar = subprocess.run([arguments.git, "-C", arguments.source, "-c", "tar.umask=0022", "archive", "--format=tar",
                          "--prefix=%s/" % source.name, "HEAD"], stdout=subprocess.PIPE, check=True).stdout
    compress(tar, artifacts / (source.name + ".tar.gz"))
    subprocess.run(["tar", "-x", "-C", work], input=tar, check=True)
    for architecture in arguments.architectures:
        print("release: building for %s" % architecture, flush=True)
        (work / architecture).mkdir()
        build(architecture, host, source, work / architecture, version, number, described, artifacts)
    single(work / arguments.architectures[0] / "build", work, artifacts, version, epoch)

    sums = ["%s  %s\n" % (hashlib.sha256(path.read_bytes()).hexdigest(), path.name) for path in sorted(artifacts.iterdir())]
    (artifacts / "SHA256SUMS").write_text("".join(sums))
    for line in sums:
        print("release: " + line, end="")


if __name__ == "__main__":
    main()
