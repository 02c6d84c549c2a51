/* SPDX-License-Identifier: MIT */
/* Device code that the driver is given. */
#include "watch/watch.h"

void pdl_watch_image_given(const void *image)
{
    (void)image;
}

void pdl_watch_cubin_loaded(const void *cubin, size_t size)
{
    (void)cubin;
    (void)size;
}

void pdl_watch_image_of(struct pdl_watch_loaded *function)
{
    (void)function;
}
