/* SPDX-License-Identifier: MIT */
/* Kernel images: PTX text, cubins and fatbins, from memory or a file. */
#ifndef PDL_LIB_IMAGE_H
#define PDL_LIB_IMAGE_H

#include "driver.h"

/* Reads a whole file. The caller frees *image. */
pdl_status pdl_image_read(const char *path, void **image, size_t *size);

/* Loads an image; the caller unloads *library (cuLibraryUnload). */
pdl_status pdl_image_load(const struct pdl_driver *driver, const void *image, size_t size,
                          CUlibrary *library);

/* Finds an entry of a loaded image. */
pdl_status pdl_image_find(const struct pdl_driver *driver, CUlibrary library, const char *name,
                          CUkernel *kernel);

#endif /* PDL_LIB_IMAGE_H */
