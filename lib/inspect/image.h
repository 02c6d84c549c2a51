/* SPDX-License-Identifier: MIT */
/* The readers of one image. */
#ifndef PDL_INSPECT_IMAGE_H
#define PDL_INSPECT_IMAGE_H

#include "inspect/inspection.h"

/* The image was added, with its origin, and these fill in the rest. A failure is recorded, and
 * leaves what was added before it. */
pdl_status pdl_ptx_read(pdl_inspection *inspection, const char *text, size_t size, uint32_t image);
pdl_status pdl_cubin_read(pdl_inspection *inspection, const unsigned char *bytes, size_t size,
                          uint32_t image);

#endif /* PDL_INSPECT_IMAGE_H */
