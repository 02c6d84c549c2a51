/* SPDX-License-Identifier: MIT */
/* An inspection while it is made, and what its readers share. */
#ifndef PDL_INSPECT_INSPECTION_H
#define PDL_INSPECT_INSPECTION_H

#include <pdl/inspect.h>

#include "core/array.h"
#include "inspect/arena.h"

struct pdl_inspection {
    struct pdl_arena arena; /* every string and small array in it */
    pdl_inspect_image *images;
    pdl_inspect_kernel *kernels;
    pdl_lint_finding *findings;
    pdl_lint_suppression *markers;
    uint32_t image_count;
    size_t image_capacity;
    uint32_t kernel_count;
    size_t kernel_capacity;
    uint32_t finding_count;
    size_t finding_capacity;
    uint32_t marker_count;
    size_t marker_capacity;
    const pdl_inspect_options *options; /* of the size of this library; NULL once it is made */
};

/* Each adds one, and gives its index; false if there is no memory. An image's, a kernel's ranges
 * (first_kernel, first_finding and their counts) are kept by these. Kernels are added to the last
 * image, findings to the last kernel. */
bool pdl_inspection_add_image(pdl_inspection *inspection, const pdl_inspect_image *image,
                              uint32_t *index);
bool pdl_inspection_add_kernel(pdl_inspection *inspection, const pdl_inspect_kernel *kernel,
                               uint32_t *index);
bool pdl_inspection_add_finding(pdl_inspection *inspection, const pdl_lint_finding *finding);
bool pdl_inspection_add_marker(pdl_inspection *inspection, const pdl_lint_suppression *marker);

/* Records an error and returns its status; line 0 for none. */
__attribute__((format(printf, 4, 5), cold)) pdl_status
pdl_inspect_fail(pdl_status status, uint32_t line, uint32_t column, const char *format, ...);

/* A recorded error is never PDL_SUCCESS. Compilers and analyzers are told, so that they see that
 * outputs are written where there is no error. */
static inline pdl_status pdl_inspect_certain(pdl_status status)
{
    if (status == PDL_SUCCESS) {
        __builtin_unreachable();
    }
    return status;
}
#define pdl_inspect_fail(...) pdl_inspect_certain(pdl_inspect_fail(__VA_ARGS__))

/* The readers of one image. The image was added, with its origin, and they fill in the rest. A
 * failure is recorded, and leaves what was added before it. */
pdl_status pdl_ptx_read(pdl_inspection *inspection, const char *text, size_t size, uint32_t image);
pdl_status pdl_cubin_read(pdl_inspection *inspection, const unsigned char *bytes, size_t size,
                          uint32_t image);

#endif /* PDL_INSPECT_INSPECTION_H */
