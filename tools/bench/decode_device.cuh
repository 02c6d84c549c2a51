/* SPDX-License-Identifier: MIT */
/* What the decoder's kernels share: the model's shape, pairs of bf16, tensor core products, and bulk
 * copies. */
#ifndef PDL_BENCH_DECODE_DEVICE_CUH
#define PDL_BENCH_DECODE_DEVICE_CUH

#include <cuda_bf16.h>
#include <pdl/device.cuh>

#include "common.cuh"

typedef __nv_bfloat16 bf16;

/* The widths of a decoder. One of several devices that share a model has a part of the heads and of
 * the feed-forward width. */
struct decoder_shape {
    const char *name;
    int layers, hidden, heads, kv_heads, head_size, feed_forward, vocabulary;

    __host__ __device__ int qkv_size() const
    {
        return (heads + 2 * kv_heads) * head_size;
    }
    __host__ __device__ int attention_size() const
    {
        return heads * head_size;
    }
};

static const decoder_shape decoder_shapes[] = {
    {"1b", 16, 2048, 32, 8, 64, 8192, 128256},
    {"3b", 28, 3072, 24, 8, 128, 8192, 128256},
    {"8b", 32, 4096, 32, 8, 128, 14336, 128256},
};

static const unsigned most_shared = 226 * 1024; /* of a block, but for what is declared static */
static const float norm_epsilon = 1e-5f;

/* ---- bf16 ------------------------------------------------------------------------------------ */

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

__device__ inline uint4 pack(const float (&from)[8])
{
    return make_uint4(pack(from[0], from[1]), pack(from[2], from[3]), pack(from[4], from[5]),
                      pack(from[6], from[7]));
}

/* ---- products -------------------------------------------------------------------------------- */

/* sum += a b: 16 x 16 by 16 x 8. With g = lane / 4 and t = lane % 4, a lane holds of a the rows g (a0,
 * a2) and g + 8 (a1, a3), of b the column g, and of the sum the columns 2t and 2t + 1 of these rows. */
__device__ inline void multiply(float (&sum)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                                unsigned b0, unsigned b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
        " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

/* sum += a b: 16 x 32 by 32 x 8. A lane holds eight consecutive terms of its rows and of its column: the
 * tensor core wants others, but the order of terms is free as long as both sides have the same. */
__device__ inline void multiply_32(float (&sum)[4], const uint4 &upper, const uint4 &lower,
                                   const uint4 &b)
{
    multiply(sum, upper.x, lower.x, upper.y, lower.y, b.x, b.y);
    multiply(sum, upper.z, lower.z, upper.w, lower.w, b.z, b.w);
}

/* ---- bulk copies, announced to and awaited at a barrier in shared memory -------------------- */

__device__ inline unsigned shared_address(const void *pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

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

/* Brings what will be read to L2, no further. */
__device__ inline void prefetch_to_l2(const void *from, unsigned bytes)
{
    asm volatile("{ .reg .u64 a; cvta.to.global.u64 a, %0;"
                 " cp.async.bulk.prefetch.L2.global [a], %1; }" ::"l"(from),
                 "r"(bytes)
                 : "memory");
}

/* Calls `over` until it is true; ends the thread after 2 s, so that nothing hangs. */
template <typename Over> __device__ inline void wait_until(Over &&over)
{
    if (!over()) {
        const unsigned long long begin = device_clock();
        while (!over()) {
            if (!in_time(begin)) {
                asm volatile("exit;");
            }
        }
    }
}

/* Waits until the phase of that parity is over: all bytes that were expected have come. */
__device__ inline void barrier_wait(unsigned barrier, unsigned parity)
{
    wait_until([=] {
        unsigned over;
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2;"
                     " selp.u32 %0, 1, 0, p; }"
                     : "=r"(over)
                     : "r"(barrier), "r"(parity)
                     : "memory");
        return over != 0;
    });
}

/* The same for what other blocks of the cluster have sent. */
__device__ inline void barrier_wait_cluster(unsigned barrier, unsigned parity)
{
    wait_until([=] {
        unsigned over;
        asm volatile("{ .reg .pred p;"
                     " mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;"
                     " selp.u32 %0, 1, 0, p; }"
                     : "=r"(over)
                     : "r"(barrier), "r"(parity)
                     : "memory");
        return over != 0;
    });
}

#endif /* PDL_BENCH_DECODE_DEVICE_CUH */
