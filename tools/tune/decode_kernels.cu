/* SPDX-License-Identifier: MIT */
/* The decoder's kernels, compiled once for each place of the trigger: -DPDL_TRIGGER_SELECT=n. */
#include "../../examples/decode_attention.cuh"
#include "../../examples/decode_linear.cuh"

/* So that they are in the image. */
extern const void *const tune_decode_kernels[];
const void *const tune_decode_kernels[] = {
    reinterpret_cast<const void *>(attention),    reinterpret_cast<const void *>(linear<QKV>),
    reinterpret_cast<const void *>(linear<OUT>),  reinterpret_cast<const void *>(linear<GATE_UP>),
    reinterpret_cast<const void *>(linear<DOWN>),
};
