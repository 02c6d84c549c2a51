/* SPDX-License-Identifier: MIT */
/* Images that the driver compiles from PTX are replaced by instrumented ones, if PDL_INSTRUMENT asks for it. */
#ifndef PDL_LIB_WATCH_REPLACE_H
#define PDL_LIB_WATCH_REPLACE_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pdl_instrumentation;

/* What is loaded in the place of an image, in the same form: a text, a fatbin or a wrapper. */
struct pdl_watch_replacement {
    void *image;                          /* NULL: load the original */
    size_t size;                          /* of a text or fatbin; a text has a NUL behind it */
    struct pdl_instrumentation **results; /* one for each text in the image */
    uint32_t count;
    size_t capacity;
    const char *file; /* that the image is from; NULL: memory */
};

#define PDL_WATCH_SIZE_UNKNOWN SIZE_MAX

/* Makes the replacement, empty where nothing is to be instrumented or that fails. `size` may be
 * PDL_WATCH_SIZE_UNKNOWN. The image may be freed afterwards, `file` has to stay. */
struct pdl_watch_replacement pdl_watch_replace(const void *image, size_t size, const char *file);

/* Says what the driver made of a replacement and records what was done with each kernel. Frees all but the image, which
 * is returned for as long as the driver reads it, to be freed by free(). */
void *pdl_watch_replaced(struct pdl_watch_replacement *replacement, CUresult result);

/* Keeps an image for as long as its library is loaded. Taken before the library is unloaded, which may have the next one
 * come under the same handle; NULL: none is kept. */
void pdl_watch_image_keep(CUlibrary library, void *image);
void *pdl_watch_image_take(CUlibrary library);

#endif /* PDL_LIB_WATCH_REPLACE_H */
