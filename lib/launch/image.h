/* SPDX-License-Identifier: MIT */
/* Kernel images: PTX text, cubins and fatbins. */
#ifndef PDL_LIB_IMAGE_H
#define PDL_LIB_IMAGE_H

#include "code/scan.h"
#include "core/driver.h"

/* A loaded image. The log is the driver's to write to for as long as the library is loaded: PTX may
 * be compiled late, when an entry is asked for or a device is first used. */
struct pdl_image {
    CUlibrary library;
    char *log;
};

/* Loads an image. */
pdl_status pdl_image_load(const struct pdl_driver *driver, const void *image, size_t size,
                          struct pdl_image *loaded);

/* Looks for waits and triggers of a kernel in the code of an image. Each is unknown where that
 * cannot be told, or is not the same on all devices. */
pdl_status pdl_image_scan(const struct pdl_driver *driver, const void *image, size_t size,
                          const char *name, struct pdl_scan_answer *answer);

/* Unloads it. An image that is all zero is none. */
void pdl_image_unload(const struct pdl_driver *driver, struct pdl_image *image);

/* Finds an entry. */
pdl_status pdl_image_find(const struct pdl_driver *driver, const struct pdl_image *image,
                          const char *name, CUkernel *kernel);

#endif /* PDL_LIB_IMAGE_H */
