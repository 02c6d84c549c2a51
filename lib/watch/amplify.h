/* SPDX-License-Identifier: MIT */
/* Holding up what runs before a launch, so that a race of the two shows. */
#ifndef PDL_LIB_WATCH_AMPLIFY_H
#define PDL_LIB_WATCH_AMPLIFY_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

struct pdl_watch_kernel;

/* Before a launch of a kernel into a stream, whose key tells it from all others. `raced`: it overlaps, and a rule wants
 * what is before it held up. Whether that was. */
bool pdl_watch_amplify(struct pdl_watch_kernel *kernel, CUstream stream, bool per_thread,
                       uint64_t key, bool raced);

#endif /* PDL_LIB_WATCH_AMPLIFY_H */
