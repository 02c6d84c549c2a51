#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a release refuses, and that archives are functions of their contents alone."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "cmake" / "release"
sys.path.insert(0, str(SCRIPTS))
import release  # pylint: disable=wrong-import-position

HEADER = "#define PDL_VERSION_MAJOR 1 /* */\n#define PDL_VERSION_MINOR 2\n#define PDL_VERSION_PATCH 3\n"
EPOCH = 1_700_000_000


class Case(unittest.TestCase):
    """Has a folder for each test."""

    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pdl-release-"))

    def tearDown(self):
        shutil.rmtree(self.folder)

    def file(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path


class Refusals(Case):
    """Each with a sentence that says what to do."""

    def setUp(self):
        super().setUp()
        self.file("tree/include/pdl/version.h", HEADER)
        self.file("tree/CHANGELOG.md", "## [Unreleased]\n\n## [1.2.3] - 2026-01-01\n")
        self.git("init", "--quiet")
        self.commit()

    def git(self, *words):
        subprocess.run(["git", "-C", self.folder / "tree", "-c", "user.name=a", "-c", "user.email=a", *words], check=True)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", "A commit")

    def refused(self, text, architecture="m68k", **environment):
        result = subprocess.run(
            [sys.executable, "-B", SCRIPTS / "release.py", "--git", shutil.which("git"), "--source", self.folder / "tree",
             "--out", self.folder / "out", "--architectures", architecture],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env={**os.environ, **environment})
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn(text, result.stdout)
        self.assertFalse((self.folder / "out").exists())

    def test_changed_file(self):
        self.file("tree/CHANGELOG.md", "changed")
        self.refused("commit them or put them aside:\nM CHANGELOG.md")

    def test_file_that_is_not_in_the_repository(self):
        self.file("tree/new.c", "")
        self.refused("?? new.c")

    def test_tag_of_another_version(self):
        self.git("tag", "v1.2.4")
        self.refused("the tag v1.2.4 does not match include/pdl/version.h, which is 1.2.3: the tag must be v1.2.3")

    def test_tag_without_v(self):
        self.git("tag", "1.2.3")
        self.refused("the tag must be v1.2.3")

    def test_tag_without_a_section_of_the_changelog(self):
        self.git("tag", "v1.2.3")
        self.refused("no toolchain for m68k") # as far as that
        self.file("tree/CHANGELOG.md", "## [Unreleased]\n")
        self.commit()
        self.git("tag", "--force", "v1.2.3")
        self.refused("the tag v1.2.3 has no section '## [1.2.3]' in CHANGELOG.md")

    def test_architecture_without_a_toolchain(self):
        self.refused("no toolchain for m68k on")

    def test_missing_compiler(self):
        """A PATH with what the check itself needs."""
        programs = self.folder / "programs"
        programs.mkdir()
        self.file("programs/dpkg", '#!/bin/sh\ncase $1 in --print-arch*) echo amd64 ;; *) echo i386 ;; esac\n').chmod(0o755)
        (programs / "sh").symlink_to("/bin/sh")
        self.refused("aarch64-linux-gnu-gcc (package g++-aarch64-linux-gnu) for arm64", "arm64", PATH=str(programs))
        self.refused("dpkg --add-architecture arm64", "arm64", PATH=str(programs))
        self.refused("dpkg-shlibdeps (package dpkg-dev)", "arm64", PATH=str(programs))
        self.refused("-D PDL_RELEASE_ARCHITECTURES=amd64 leaves out other architectures", "arm64", PATH=str(programs))


class Versions(unittest.TestCase):
    """What the artefacts are called."""

    def test_a_tag_makes_a_release(self):
        self.assertEqual(release.choose_version("1.2.3", ["v1.2.3", "nightly"], "20260101.abc", "## [1.2.3]"), "1.2.3")

    def test_other_commits_have_a_suffix_that_sorts_by_date(self):
        self.assertEqual(release.choose_version("1.2.3", ["nightly"], "20260101.abc", ""), "1.2.3+git20260101.abc")

    def test_the_number_is_that_of_the_header(self):
        self.assertEqual(release.version_of(HEADER), "1.2.3")


class Archives(Case):
    """Bytes do not depend on times, owners, rights, or the order in which files were made."""

    def archive(self, where, names, mode):
        for name in names:
            path = self.file(where + "/libpdl/" + name, name)
            path.chmod(mode)
            os.utime(path, (len(where), len(where)))
        release.pack(self.folder / where / "libpdl", self.folder / (where + ".tar.gz"), EPOCH)
        return (self.folder / (where + ".tar.gz")).read_bytes()

    def test_equal(self):
        one = self.archive("one", ["a/b", "a/c", "d"], 0o644)
        self.assertEqual(one, self.archive("second", ["d", "a/c", "a/b"], 0o660))
        found = pathlib.Path.rglob
        with unittest.mock.patch.object(pathlib.Path, "rglob", lambda *args: reversed(sorted(found(*args)))):
            self.assertEqual(one, self.archive("fifth", ["a/b", "a/c", "d"], 0o644))
        self.assertNotEqual(one, self.archive("third", ["a/b", "a/c"], 0o644))
        self.assertNotEqual(one, self.archive("fourth", ["a/b", "a/c", "d"], 0o755))


if __name__ == "__main__":
    unittest.main()
