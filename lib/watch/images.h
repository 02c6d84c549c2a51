/* SPDX-License-Identifier: MIT */
/* The PTX that a program brings along, as the interposer and prove.c use it. */
#ifndef PDL_LIB_WATCH_IMAGES_H
#define PDL_LIB_WATCH_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pdl_watch_loaded;

/* As pdl_watch_image_given(), for code whose size is known. It is copied. */
void pdl_watch_image_bytes(const void *image, size_t size);

/* Calls `look` with each PTX text that has the function's name as a kernel and is for what the driver says the function
 * was compiled for (`target`: 90; 0: a text by itself, which says so), until it returns false. False: none has. */
typedef bool pdl_watch_image_look(void *context, const char *text, size_t size, uint32_t target);
bool pdl_watch_images_each(const struct pdl_watch_loaded *function, pdl_watch_image_look *look,
                           void *context);

#endif /* PDL_LIB_WATCH_IMAGES_H */
