/* SPDX-License-Identifier: MIT */
/* The compiled kernels that are embedded in the program. */
#ifndef PDL_TOOLS_BENCH_GPU_IMAGES_H
#define PDL_TOOLS_BENCH_GPU_IMAGES_H

#include "bench/gpu.h"

/* From `begin`, aligned to 16 bytes; NULL in a program that was built without nvcc. */
struct gpu_image_bytes {
    const unsigned char *begin, *end;
};
extern const struct gpu_image_bytes gpu_images[IMAGES];

#endif /* PDL_TOOLS_BENCH_GPU_IMAGES_H */
