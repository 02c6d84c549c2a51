# SPDX-License-Identifier: MIT
"""Puts the wait into the kernels that Triton compiles, and launches them with overlap; see docs/instrument.md.

    import pdl_triton
    pdl_triton.enable()  # before the first kernel is compiled
"""
import ctypes
import glob
import logging
import os

_WAITS = {"entry": 0, "hoist": 1}
_TRIGGERS = {"none": 0, "wait": 1, "last-read": 2}
_ACTIONS = {1: "instrumented", 2: "waits", 3: "excluded", 4: "refused"}
_INSTRUMENTED = 1
_log = logging.getLogger("pdl_triton")
_settings = None  # of kernels compiled from now on; None: they stay as they are


class _Options(ctypes.Structure):
    """pdl_instrument_options of <pdl/instrument.h>."""
    _fields_ = [("size", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("wait", ctypes.c_int32), ("trigger", ctypes.c_int32),
                ("constant_params", ctypes.POINTER(ctypes.c_char_p)), ("constant_param_count", ctypes.c_uint64),
                ("kernels", ctypes.POINTER(ctypes.c_char_p)), ("kernel_count", ctypes.c_uint64)]


class _Kernel(ctypes.Structure):
    """pdl_instrument_kernel."""
    _fields_ = [("size", ctypes.c_uint32), ("action", ctypes.c_int32), ("reason", ctypes.c_int32), ("line", ctypes.c_uint32),
                ("wait_line", ctypes.c_uint32), ("trigger_line", ctypes.c_uint32), ("loads", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32), ("name", ctypes.c_char_p), ("message", ctypes.c_char_p)]


def _open(path):
    """libpdl-inspect: `path`, that of this installation, or the one that the loader finds."""
    prefix = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    beside = sorted(glob.glob(f"{prefix}/lib*/libpdl-inspect.so*") + glob.glob(f"{prefix}/lib/*/libpdl-inspect.so*"))
    inspect = ctypes.CDLL(path or (beside or ["libpdl-inspect.so"])[0])
    for name, result, arguments in (
            ("pdl_instrument", ctypes.c_int, [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.POINTER(_Options),
                                              ctypes.POINTER(ctypes.c_void_p)]),
            ("pdl_instrumentation_text", ctypes.c_char_p, [ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)]),
            ("pdl_instrumentation_kernel", ctypes.POINTER(_Kernel), [ctypes.c_void_p, ctypes.c_size_t]),
            ("pdl_instrumentation_destroy", None, [ctypes.c_void_p])):
        function = getattr(inspect, name)
        function.restype, function.argtypes = result, arguments
    return inspect


def _instrument(ptx, settings):
    """The text with the wait, and whether its kernel has it. Triton writes one kernel per text."""
    inspect, wait, trigger, constants = settings
    names = (ctypes.c_char_p * len(constants))(*[name.encode() for name in constants])
    options = _Options(size=ctypes.sizeof(_Options), wait=_WAITS[wait], trigger=_TRIGGERS[trigger],
                       constant_params=names, constant_param_count=len(constants))
    text, result = ptx.encode(), ctypes.c_void_p()
    status = inspect.pdl_instrument(text, len(text), b"Triton's PTX", ctypes.byref(options), ctypes.byref(result))
    if status != 0:
        _log.warning("libpdl-inspect cannot read this PTX (%d)", status)
        return ptx, False
    kernel = inspect.pdl_instrumentation_kernel(result, 0)
    done = bool(kernel) and kernel.contents.action == _INSTRUMENTED
    if kernel:
        _log.info("%s: %s%s", kernel.contents.name.decode(), _ACTIONS[kernel.contents.action],
                  f": {kernel.contents.message.decode()}" if kernel.contents.message else "")
    instrumented = inspect.pdl_instrumentation_text(result, None).decode() if done else ptx
    inspect.pdl_instrumentation_destroy(result)
    return instrumented, done


def _patch(backend):
    """Adds the step after Triton's PTX, and the settings to the key of Triton's cache."""
    add_stages, key = backend.add_stages, backend.hash

    def add(self, stages, options, *rest):
        add_stages(self, stages, options, *rest)
        settings, make_ptx = _settings, stages["ptx"]

        def make(source, metadata):
            ptx = make_ptx(source, metadata)
            if settings is None or options.launch_cooperative_grid:
                return ptx
            ptx, done = _instrument(ptx, settings)
            metadata["launch_pdl"] = metadata.get("launch_pdl", False) or done
            return ptx

        stages["ptx"] = make

    backend.add_stages = add
    backend.hash = lambda self: f"{key(self)}-pdl-{_settings[1:]}" if _settings else key(self)
    backend.pdl_triton = True


def enable(wait="entry", trigger="wait", constant_params=(), library=None):
    """Instruments each kernel that is compiled from now on as `pdltool instrument` does with these options, and launches it
    with overlap. A kernel that is refused is launched as before. `wait="off"` ends it."""
    global _settings
    if wait not in (*_WAITS, "off") or trigger not in _TRIGGERS:
        raise ValueError(f"wait is entry, hoist or off, and trigger none, wait or last-read; not {wait!r} and {trigger!r}")
    from triton.backends.nvidia.compiler import CUDABackend
    if not hasattr(CUDABackend, "pdl_triton"):
        _patch(CUDABackend)
    # Inductor's worker processes don't import this module.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    _settings = None if wait == "off" else (_open(library), wait, trigger, tuple(constant_params))
