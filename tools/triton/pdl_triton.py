# SPDX-License-Identifier: MIT
"""Puts the wait into the kernels that Triton compiles, and launches them with overlap; see docs/instrument.md.

    import pdl_triton
    pdl_triton.enable()  # before the first kernel is compiled
"""
import fnmatch
import logging
import os
import shutil
import subprocess
import sys

_log = logging.getLogger("pdl_triton")
_command = None  # for kernels that are compiled from now on; None: they stay as they are
_triggers = {}  # by pattern of the kernel's name
_key = ""  # of Triton's cache, for kernels that _command changed


def _instrument(ptx, name):
    """What `pdltool instrument` makes of the kernel's text, which stays as it is if the kernel is refused."""
    trigger = next((where for pattern, where in _triggers.items() if fnmatch.fnmatchcase(name, pattern)), "none")
    # As bytes: a text with other line ends would be taken for an instrumented one.
    done = subprocess.run([*_command, "--trigger", str(trigger), "-"], input=ptx.encode(), capture_output=True, check=False)
    report = done.stderr.decode(errors="replace")
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(_command)}: {report}")
    _log.info("%s", report)
    return done.stdout.decode()


def _patch(backend):
    """Adds a step after Triton's PTX, and what it does to the key of Triton's cache."""
    add_stages, key = backend.add_stages, backend.hash

    def add(self, stages, options, *rest):
        add_stages(self, stages, options, *rest)
        make_ptx = stages["ptx"]

        def make(source, metadata):
            ptx = make_ptx(source, metadata)
            if _command is None or getattr(options, "launch_cooperative_grid", False):
                return ptx
            if "launch_pdl" not in metadata:
                _log.warning("this version of Triton cannot launch kernels with overlap")
                return ptx
            instrumented = _instrument(ptx, metadata.get("name", ""))
            if instrumented != ptx:
                metadata["launch_pdl"] = True
            return instrumented

        stages["ptx"] = make

    backend.add_stages = add
    backend.hash = lambda self: key(self) + _key
    backend.pdl_triton = True


def enable(wait="entry", trigger="none", constant_params=(), pdltool=None):
    """Instruments each kernel that is compiled from now on as `pdltool instrument` does with these options, and launches it
    with overlap. A kernel that is refused, or waits already, is launched as before. `wait="off"` ends this. `trigger`: for
    all kernels, or a dict of triggers by patterns of kernels' names, whose first match holds; without a match: "none".
    `pdltool`: the program; default: that of this installation, or of PATH."""
    global _command, _key, _triggers
    from triton.backends.nvidia.compiler import CUDABackend
    if not hasattr(CUDABackend, "pdl_triton"):
        _patch(CUDABackend)
    # Inductor's worker processes would compile kernels without this module.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    if "torch._inductor.config" in sys.modules:
        sys.modules["torch._inductor.config"].compile_threads = 1
    if wait == "off":
        _command, _key = None, ""
        return
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bin")
    program = pdltool or shutil.which("pdltool", path=beside) or shutil.which("pdltool")
    if program is None:
        raise FileNotFoundError("pdltool is neither in this installation nor in PATH")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    constants = [word for param in constant_params for word in ("--constant-param", param)]
    _command = [program, "instrument", "--no-project", "--wait", wait, *constants]
    _triggers = dict(trigger) if isinstance(trigger, dict) else {"*": trigger}
    _key = f"-{version}{_command[1:]}{_triggers}"
