/* SPDX-License-Identifier: MIT */
/* NVRTC, loaded on first use. */
#ifndef PDL_RTC_COMPILER_H
#define PDL_RTC_COMPILER_H

#include <stdbool.h>
#include <stddef.h>

#include "rtc/library.h"

/* The types of nvrtc.h as these calls pass them: that header is not needed to build the library. A test
 * compares them. */
typedef int nvrtcResult; /* 0 is success */
typedef struct _nvrtcProgram *nvrtcProgram;

/* More architectures than a compiler will know. */
#define PDL_RTC_ARCHITECTURES 256

/* NVRTC. */
struct pdl_rtc_compiler {
    nvrtcResult (*version)(int *major, int *minor);
    nvrtcResult (*create)(nvrtcProgram *program, const char *source, const char *name, int headers,
                          const char *const *texts, const char *const *names);
    nvrtcResult (*destroy)(nvrtcProgram *program);
    nvrtcResult (*compile)(nvrtcProgram program, int count, const char *const *options);
    nvrtcResult (*add_name)(nvrtcProgram program, const char *name);
    nvrtcResult (*lowered_name)(nvrtcProgram program, const char *name, const char **lowered);
    nvrtcResult (*log_size)(nvrtcProgram program, size_t *size);
    nvrtcResult (*log)(nvrtcProgram program, char *log);
    nvrtcResult (*ptx_size)(nvrtcProgram program, size_t *size);
    nvrtcResult (*ptx)(nvrtcProgram program, char *ptx);
    nvrtcResult (*cubin_size)(nvrtcProgram program, size_t *size);
    nvrtcResult (*cubin)(nvrtcProgram program, char *cubin);
    nvrtcResult (*arch_count)(int *count);
    nvrtcResult (*archs)(int *archs);
    const char *(*error_string)(nvrtcResult result);
    int number;                       /* version: 1000 * major + 10 * minor */
    int newest;                       /* of the architectures: 120 for compute_120 */
    int known[PDL_RTC_ARCHITECTURES]; /* the architectures, ascending */
    size_t known_count;
    struct pdl_rtc_identity identity;
    char path[4096];
};

/* The compiler, opened by the first call; later calls repeat its outcome. */
pdl_status pdl_rtc_compiler_open(const struct pdl_rtc_compiler **compiler);

/* For tests: what that gives (NULL: open again on the next call). No other thread may be in the library. */
void pdl_rtc_compiler_override(const struct pdl_rtc_compiler *compiler);

#endif /* PDL_RTC_COMPILER_H */
