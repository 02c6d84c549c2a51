/* SPDX-License-Identifier: MIT */
/* The PTX that a program brings along, as the interposer and prove.c use it. */
#ifndef PDL_LIB_WATCH_IMAGES_H
#define PDL_LIB_WATCH_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pdl_watch_loaded;

#define PDL_WATCH_WRAPPER_MAGIC  0x466243b1u
#define PDL_WATCH_WRAPPER_LINKED 2u /* in `version`: made by the device linker */
#define PDL_WATCH_IMAGE_MOST     ((size_t)1 << 30)
#define PDL_WATCH_PTX_MOST       ((size_t)256 << 20)

/* As in fatbinary_section.h. */
struct pdl_watch_wrapper {
    uint32_t magic;
    uint32_t version;
    const unsigned char *data;          /* a fatbin */
    const unsigned char *const *inputs; /* LINKED: what it was linked from, up to NULL */
};

/* The first four bytes of an image whose length nobody tells; 0: a text that is shorter. */
uint32_t pdl_watch_image_magic(const void *image);

/* As pdl_watch_image_given(), for code whose size is known. It is copied. */
void pdl_watch_image_bytes(const void *image, size_t size);

/* Calls `look` with each PTX text that has the function's name as a kernel and is for what the driver says the function
 * was compiled for (`target`: 90; 0: a text by itself, which says so), until it returns false. False: none has. */
typedef bool pdl_watch_image_look(void *context, const char *text, size_t size, uint32_t target);
bool pdl_watch_images_each(const struct pdl_watch_loaded *function, pdl_watch_image_look *look,
                           void *context);

#endif /* PDL_LIB_WATCH_IMAGES_H */
