# SPDX-License-Identifier: MIT
"""Files that are pipes and folders: read, written or refused, and nothing waits without a line that says for what."""

import os
import subprocess
import time

import tooltest
from unobserved import EMPTY, HEAD, KERNEL

READ = HEAD % "sm_90" + ".visible .entry k(.param .u64 w)\n{\n.reg .b64 %rd;\n.reg .b32 %r;\nld.param.u64 %rd, [w];\nld.global.u32 %r, [%rd];\ngriddepcontrol.wait;\nret;\n}\n"


class Pipes(tooltest.Case):
    # What, the arguments with "@" for the file, and what is written into a pipe; None for an output.
    INPUTS = (
        ("lint", ("lint", "@"), KERNEL),
        ("lint: a project file", ("lint", "--project=@", "kernel.ptx"), "overlapped x\n"),
        ("lint: launches", ("lint", "--launches=@", "kernel.ptx"), "libpdl[7]: device 0, kernel k: overlaps\n"),
        ("lint: a baseline", ("lint", "--baseline=@", "kernel.ptx"), None),
        ("lint: a build", ("lint", "-p", "@"), "[]"),
        ("inspect", ("inspect", "@"), KERNEL),
        ("instrument", ("instrument", "--output=out.ptx", "@"), KERNEL),
        ("instrument: a project file", ("instrument", "--project=@", "--output=out.ptx", "kernel.ptx"), "constant-param w\n"),
        ("overlap", ("overlap", "--primary=k,registers=32,blocks=1,threads=32", "--secondary=k,registers=32,blocks=1,threads=32", "@"), KERNEL),
        ("sim", ("sim", "@"), "kernel k blocks=1 threads=32\n"),
        ("rtc", ("rtc", "@", "--target=sm_90"), "__global__ void k() {}\n"),
        ("watch: a recording", ("watch", "--input=@"), "x"),
        ("report", ("report", "@"), "{}"),
        ("report: two runs", ("report", "compare", "@", "@"), "{}"),
        ("report: predictions", ("report", "predict", "@"), "{}"),
        ("tune", ("tune", "@"), "{}"),
    )
    OUTPUTS = (
        ("lint: a baseline", ("lint", "--write-baseline=@", "read.ptx")),
        ("instrument", ("instrument", "--output=@", "plain.ptx")),
        ("sim: a picture", ("sim", "--svg=@", "one.pdlsim")),
        ("sim: a trace", ("sim", "--trace=@", "one.pdlsim")),
        ("watch: a recording", ("watch", "--output=@", "--", "true")),
        ("watch: a picture", ("watch", "--svg=@", "--", "true")),
        ("watch: a trace", ("watch", "--trace=@", "--", "true")),
    )

    def setUp(self):
        super().setUp()
        self.file("kernel.ptx", KERNEL)
        self.file("read.ptx", READ)
        self.file("one.pdlsim", "kernel k blocks=1 threads=32\nlaunch k\n")
        self.file("plain.ptx", EMPTY + ".visible .entry k()\n{\nret;\n}\n")

    def start(self, arguments, path):
        words = [word.replace("@", path) for word in arguments]
        return subprocess.Popen([tooltest.program, *words], cwd=self.directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def test_the_other_end_of_a_pipe_is_not_waited_for_in_silence(self):
        rows = [(what, arguments) for what, arguments, _ in self.INPUTS] + list(self.OUTPUTS)
        running = []
        for index, (what, arguments) in enumerate(rows):
            os.mkfifo(self.path(f"pipe{index}"))
            process = self.start(arguments, self.path(f"pipe{index}"))
            os.set_blocking(process.stderr.fileno(), False)
            running.append((what, process, []))
        end = time.monotonic() + (300 if tooltest.is_slow() else 120)
        left = running
        while left and time.monotonic() < end:
            time.sleep(0.1)
            for _, process, said in left:
                said.append(process.stderr.read() or b"")
            left = [row for row in left if row[1].poll() is None and b"waiting for" not in b"".join(row[2])]
        for what, process, said in running:
            with self.subTest(what):
                code = process.poll()
                process.kill()
                said.append(process.stderr.read() or b"")
                process.stderr.close()
                process.wait()
                text = b"".join(said)
                self.assertTrue(b"waiting for" in text if code is None else code != 0 and text, f"{code}: {text}")

    def test_a_folder_is_refused(self):
        os.mkdir(self.path("folder"))
        for what, arguments in [(what, arguments) for what, arguments, _ in self.INPUTS] + list(self.OUTPUTS):
            with self.subTest(what):
                process = self.start(arguments, self.path("folder"))
                text = process.communicate(timeout=60)[1]
                self.assertTrue(process.returncode != 0 and text, f"{process.returncode}: {text}")

    def test_what_a_pipe_gives_is_what_a_file_gives(self):
        """The exit code and the lines are those of a file with the same text, or the pipe is refused."""
        for index, (what, arguments, text) in enumerate(row for row in self.INPUTS if row[2] is not None):
            with self.subTest(what):
                path = self.path(f"input{index}")
                self.file(f"input{index}", text)
                process = self.start(arguments, path)
                said = process.communicate(timeout=60)[1]
                os.remove(path)
                os.mkfifo(path)
                with subprocess.Popen(["sh", "-c", 'printf %s "$0" > "$1"', text, path]) as writer:
                    other = self.start(arguments, path)
                    other_said = other.communicate(timeout=20)[1]
                    writer.kill()
                refused = other.returncode != 0 and b"regular file" in other_said
                self.assertTrue(refused or (other.returncode, other_said) == (process.returncode, said), f"{other.returncode}: {other_said}, not {process.returncode}: {said}")

    def test_a_pipe_that_is_read_gets_what_a_file_gets(self):
        for index, (what, arguments) in enumerate(self.OUTPUTS):
            with self.subTest(what):
                self.start(arguments, self.path("file")).communicate(timeout=60)
                with open(self.path("file"), "rb") as file:
                    wanted = file.read()
                os.remove(self.path("file"))
                pipe = self.path(f"output{index}")
                os.mkfifo(pipe)
                with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
                    self.start(arguments, pipe).communicate(timeout=60)
                    self.assertEqual(reader.stdout.read(), wanted)


if __name__ == "__main__":
    tooltest.main(globals())
