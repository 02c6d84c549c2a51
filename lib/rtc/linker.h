/* SPDX-License-Identifier: MIT */
/* nvJitLink, loaded on first use. */
#ifndef PDL_RTC_LINKER_H
#define PDL_RTC_LINKER_H

#include "rtc/library.h"

/* The types of nvJitLink.h, as in compiler.h. */
typedef int nvJitLinkResult; /* 0 is success */
typedef int nvJitLinkInputType;
typedef struct nvJitLink *nvJitLinkHandle;

struct pdl_rtc_linker {
    nvJitLinkResult (*create)(nvJitLinkHandle *handle, uint32_t count, const char **options);
    nvJitLinkResult (*destroy)(nvJitLinkHandle *handle);
    nvJitLinkResult (*add_data)(nvJitLinkHandle handle, nvJitLinkInputType type, const void *data,
                                size_t size, const char *name);
    nvJitLinkResult (*complete)(nvJitLinkHandle handle);
    nvJitLinkResult (*cubin_size)(nvJitLinkHandle handle, size_t *size);
    nvJitLinkResult (*cubin)(nvJitLinkHandle handle, void *cubin);
    nvJitLinkResult (*error_log_size)(nvJitLinkHandle handle, size_t *size);
    nvJitLinkResult (*error_log)(nvJitLinkHandle handle, char *log);
    int number;
    struct pdl_rtc_identity identity;
};

/* The linker, opened by the first call; later calls repeat its outcome. */
pdl_status pdl_rtc_linker_open(const struct pdl_rtc_linker **linker);

/* For tests, as pdl_rtc_compiler_override(). */
void pdl_rtc_linker_override(const struct pdl_rtc_linker *linker);

#endif /* PDL_RTC_LINKER_H */
