/* SPDX-License-Identifier: MIT */
/* Kernel images: PTX text, cubins and fatbins. */
#ifndef PDL_LIB_IMAGE_H
#define PDL_LIB_IMAGE_H

#include "code/scan.h"
#include "core/driver.h"

/* Another reference, which pdl_image_free() gives back. */
pdl_image *pdl_image_retain(pdl_image *image);

/* Finds an entry; the driver loads the image if it has not yet. */
pdl_status pdl_image_find(pdl_image *image, const char *name, CUkernel *kernel);

/* Waits and triggers of a kernel, and what is proved of it. Each is unknown where that cannot be told, or is not the
 * same on all devices. */
pdl_status pdl_image_ask(const pdl_image *image, const char *name, struct pdl_scan_answer *answer);

/* What is proved of a kernel, without a budget. */
struct pdl_proof_answer pdl_image_prove(const pdl_image *image, const char *name,
                                        uint32_t capability);

#endif /* PDL_LIB_IMAGE_H */
