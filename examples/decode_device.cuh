/* SPDX-License-Identifier: MIT */
/* What the decoder's kernels share: the model's shape, pairs of bf16, and bulk copies. */
#ifndef PDL_EXAMPLES_DECODE_DEVICE_CUH
#define PDL_EXAMPLES_DECODE_DEVICE_CUH

#include <cuda_bf16.h>
#include <pdl/device.cuh>

#include "timing.cuh"

typedef __nv_bfloat16 bf16;

/* A decoder of the 1B class. */
static const int layers = 16;
static const int hidden = 2048;
static const int heads = 32;
static const int kv_heads = 8; /* each serves four query heads */
static const int head_size = 64;
static const int feed_forward = 8192;
static const int tokens = 512; /* that attention looks at: 511 in the cache, and this one */
static const int qkv_size = (heads + 2 * kv_heads) * head_size;
static const int vocabulary = 128256;
static const float norm_epsilon = 1e-5f;

/* A bf16 is the upper half of an fp32: the two of a word, the one at the lower address first. */
__device__ inline float low_half(unsigned pair)
{
    return __uint_as_float(pair << 16);
}

__device__ inline float high_half(unsigned pair)
{
    return __uint_as_float(pair & 0xffff0000u);
}

__device__ inline void unpack(const uint4 &from, float (&to)[8])
{
    const unsigned words[4] = {from.x, from.y, from.z, from.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        to[2 * i] = low_half(words[i]);
        to[2 * i + 1] = high_half(words[i]);
    }
}

__device__ inline unsigned pack(float low, float high)
{
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const unsigned *>(&pair);
}

__device__ inline unsigned shared_address(const void *pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

/* ---- bulk copies, announced to and awaited at a barrier in shared memory -------------------- */

__device__ inline void barrier_init(unsigned barrier)
{
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barrier) : "memory");
}

/* Makes initialized barriers known to the copy engine. */
__device__ inline void barrier_init_done()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ inline void barrier_expect(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

/* Bulk copies to addresses that are aligned to 16 bytes only are right, and slow. */
static const int bulk_alignment = 128;

/* For what is read once in a token: it should not push anything else out of L2. */
__device__ inline unsigned long long read_once()
{
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

__device__ inline void bulk_copy(unsigned to, const void *from, unsigned bytes, unsigned barrier,
                                 unsigned long long policy)
{
    asm volatile("{ .reg .u64 a; cvta.to.global.u64 a, %1;"
                 " cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".L2::cache_hint [%0], [a], %2, [%3], %4; }" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier), "l"(policy)
                 : "memory");
}

/* Waits until the phase of that parity is over: all bytes that were expected have come. */
__device__ inline void barrier_wait(unsigned barrier, unsigned parity)
{
    asm volatile("{ .reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
                 "@!done bra again; }" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

/* The same for what other blocks of the cluster have sent. */
__device__ inline void barrier_wait_cluster(unsigned barrier, unsigned parity)
{
    asm volatile("{ .reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again; }" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

#endif /* PDL_EXAMPLES_DECODE_DEVICE_CUH */
