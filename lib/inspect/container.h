/* SPDX-License-Identifier: MIT */
/* Finds the images in what is given: PTX text, a cubin, fatbins, ELF files and archives of these. */
#ifndef PDL_INSPECT_CONTAINER_H
#define PDL_INSPECT_CONTAINER_H

#include "inspect/inspection.h"

/* Adds every image that is in `bytes`, and what is in it. Fails if there is none, or none that can
 * be read. */
pdl_status pdl_container_read(pdl_inspection *inspection, const unsigned char *bytes, size_t size,
                              const char *name);

#endif /* PDL_INSPECT_CONTAINER_H */
