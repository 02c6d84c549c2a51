/* SPDX-License-Identifier: MIT */
#include "bench/gpu_images.h"

#include "common/optional.h"

/* Each is defined by what pdl_embed() makes of kernels/NAME.cu, where there is nvcc. */
#define EMBEDDED(name)                                                                             \
    TOOL_OPTIONAL extern const unsigned char pdl_bench_##name[];                                   \
    TOOL_OPTIONAL extern const unsigned char pdl_bench_##name##_end[];
EMBEDDED(common)
EMBEDDED(overhead)
EMBEDDED(overlap)
EMBEDDED(device)

#define BYTES(name)                                                                                \
    {                                                                                              \
        pdl_bench_##name, pdl_bench_##name##_end                                                   \
    }
const struct gpu_image_bytes gpu_images[IMAGES] = {
    [IMAGE_COMMON] = BYTES(common),   [IMAGE_OVERHEAD] = BYTES(overhead),
    [IMAGE_OVERLAP] = BYTES(overlap), [IMAGE_DEVICE] = BYTES(device),
};
