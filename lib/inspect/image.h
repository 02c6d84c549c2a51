/* SPDX-License-Identifier: MIT */
/* The readers of images. */
#ifndef PDL_INSPECT_IMAGE_H
#define PDL_INSPECT_IMAGE_H

#include "inspect/inspection.h"

/* The image was added, with its origin, and these fill in the rest. A failure is recorded, and
 * leaves what was added before it. */
void pdl_ptx_read(pdl_inspection *inspection, const char *text, size_t size, uint32_t image);
void pdl_cubin_read(pdl_inspection *inspection, const unsigned char *bytes, size_t size,
                    uint32_t image);

/* Finds the images in what is given: PTX text, a cubin, fatbins, ELF files and archives of these. Adds
 * each, and what is in it. Fails if there is none, or none that can be read. */
void pdl_container_read(pdl_inspection *inspection, const unsigned char *bytes, size_t size,
                        const char *name);

#endif /* PDL_INSPECT_IMAGE_H */
