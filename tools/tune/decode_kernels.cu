/* SPDX-License-Identifier: MIT */
/* The decoder's kernels, compiled once for each place of the trigger: -DPDL_TRIGGER_SELECT=n. */
#include "../../examples/decode_attention.cuh"
#include "../../examples/decode_linear.cuh"

#define BATCHES(kind, weight)                                                                      \
    reinterpret_cast<const void *>(linear<kind, weight, 1, 128>),                                  \
        reinterpret_cast<const void *>(                                                            \
            linear<kind, weight, 1, most_columns(kind, sizeof(weight))>),                          \
        reinterpret_cast<const void *>(linear<kind, weight, 8, 128>),                              \
        reinterpret_cast<const void *>(linear<kind, weight, 16, 128>)
#define WEIGHTS(kind) BATCHES(kind, bf16), BATCHES(kind, fp8)

/* So that they are in the image. */
extern const void *const tune_decode_kernels[];
const void *const tune_decode_kernels[] = {
    reinterpret_cast<const void *>(attention<64>),
    reinterpret_cast<const void *>(attention<128>),
    WEIGHTS(QKV),
    WEIGHTS(OUT),
    WEIGHTS(GATE_UP),
    WEIGHTS(DOWN),
};
