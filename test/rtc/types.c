/* SPDX-License-Identifier: MIT */
/* Compiled, never run: lib/rtc calls NVRTC by declarations and numbers of its own, which are
 * compared with those of the toolkit's headers here. */
#include <nvrtc.h>
#include <stddef.h>
#include <stdint.h>

_Static_assert(sizeof(nvrtcResult) == sizeof(int), "results are passed as int");
_Static_assert(sizeof(nvrtcProgram) == sizeof(void *), "handles are pointers");
_Static_assert(NVRTC_SUCCESS == 0 && NVRTC_ERROR_OUT_OF_MEMORY == 1 &&
                   NVRTC_ERROR_INVALID_INPUT == 3 && NVRTC_ERROR_INVALID_OPTION == 5 &&
                   NVRTC_ERROR_COMPILATION == 6 && NVRTC_ERROR_BUILTIN_OPERATION_FAILURE == 7 &&
                   NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID == 10,
               "lib/rtc/compile/job.h has these numbers");

/* The signatures of compiler.h, with the toolkit's types. */
#define SAME(function, ...)                                                                        \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&(function)), __typeof__(__VA_ARGS__)), \
                   #function)
SAME(nvrtcVersion, nvrtcResult (*)(int *, int *));
SAME(nvrtcCreateProgram, nvrtcResult (*)(nvrtcProgram *, const char *, const char *, int,
                                         const char *const *, const char *const *));
SAME(nvrtcDestroyProgram, nvrtcResult (*)(nvrtcProgram *));
SAME(nvrtcCompileProgram, nvrtcResult (*)(nvrtcProgram, int, const char *const *));
SAME(nvrtcAddNameExpression, nvrtcResult (*)(nvrtcProgram, const char *));
SAME(nvrtcGetLoweredName, nvrtcResult (*)(nvrtcProgram, const char *, const char **));
SAME(nvrtcGetProgramLogSize, nvrtcResult (*)(nvrtcProgram, size_t *));
SAME(nvrtcGetProgramLog, nvrtcResult (*)(nvrtcProgram, char *));
SAME(nvrtcGetPTXSize, nvrtcResult (*)(nvrtcProgram, size_t *));
SAME(nvrtcGetPTX, nvrtcResult (*)(nvrtcProgram, char *));
SAME(nvrtcGetCUBINSize, nvrtcResult (*)(nvrtcProgram, size_t *));
SAME(nvrtcGetCUBIN, nvrtcResult (*)(nvrtcProgram, char *));
SAME(nvrtcGetNumSupportedArchs, nvrtcResult (*)(int *));
SAME(nvrtcGetSupportedArchs, nvrtcResult (*)(int *));
SAME(nvrtcGetErrorString, const char *(*)(nvrtcResult));
