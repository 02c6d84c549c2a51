/* SPDX-License-Identifier: MIT */
/* A compiled text. */
#ifndef PDL_RTC_IMAGE_H
#define PDL_RTC_IMAGE_H

#include <stdatomic.h>

#include "rtc/request/request.h"

/* A kernel of an image, whose strings are its own. */
struct pdl_rtc_image_kernel {
    char *expression; /* that named it; NULL if none did */
    char *name;       /* as in the code: that of `info` */
    pdl_kernel_info info;
};

struct pdl_rtc_image {
    atomic_uint references; /* pdl_rtc_image_destroy() drops one */
    uint32_t output;        /* CUBIN or PTX */
    char target[PDL_RTC_TARGET_SIZE];
    char *program;
    char *log; /* never NULL */
    unsigned char *code;
    size_t code_size;
    struct pdl_rtc_image_kernel *kernels;
    size_t kernel_count;
    int32_t compiler_version; /* NVRTC's */
};

/* One more reference. */
pdl_rtc_image *pdl_rtc_image_retain(pdl_rtc_image *image);

/* Makes the kernels' list from the code: names as the code has them, and what is known of them by
 * libpdl-inspect; `lowered[i]` is what the name expression `names[i]` became. Used where an image is
 * made; what is read from a file has its list in the file. */
pdl_status pdl_rtc_image_describe(pdl_rtc_image *image, const char *const *names,
                                  const char *const *lowered, size_t count);

#endif /* PDL_RTC_IMAGE_H */
