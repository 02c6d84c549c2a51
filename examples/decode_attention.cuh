/* SPDX-License-Identifier: MIT */
/* Attention of one new token over a cache of keys and values, with rotary position embedding.
 *
 * A cluster serves one kv head and its four query heads; each of its blocks takes an eighth of the
 * tokens. The cache's part of that does not depend on the kernel before and is on its way to shared
 * memory before the wait. Each block sends its partial results to the block that puts them
 * together. */
#ifndef PDL_EXAMPLES_DECODE_ATTENTION_CUH
#define PDL_EXAMPLES_DECODE_ATTENTION_CUH

#include "decode_device.cuh"

static const int attention_threads = 128;
static const int cluster_blocks = 8;
static const int block_tokens = tokens / cluster_blocks;
static const int group = heads / kv_heads;                   /* query heads: a warp each */
static const int share = group * head_size / cluster_blocks; /* of outputs that a block completes */

struct attention_args {
    const bf16 *qkv;
    bf16 *keys, *values; /* [kv head][token][64]; the last token is this kernel's to write */
    const float *rope;   /* 32 cosines and 32 sines */
    bf16 *y;
    kernel_stamps *stamps;
};

/* Turns eight values by their angles: `partner` is 32 further on, or back. */
__device__ inline void rotate(const uint4 &own, const uint4 &partner, const float (&cosine)[8],
                              const float (&sine)[8], float (&to)[8])
{
    float a[8], b[8];
    unpack(own, a);
    unpack(partner, b);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        to[i] = a[i] * cosine[i] + b[i] * sine[i];
    }
}

__device__ inline void cluster_arrive()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

__device__ inline void cluster_wait()
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/* Writes to the shared memory of another block of the cluster. */
__device__ inline void send(const float *to, int rank, float value)
{
    asm volatile("{ .reg .u32 a; mapa.shared::cluster.u32 a, %0, %1;"
                 " st.shared::cluster.f32 [a], %2; }" ::"r"(shared_address(to)),
                 "r"(rank), "f"(value)
                 : "memory");
}

static __global__ void __cluster_dims__(cluster_blocks) __launch_bounds__(attention_threads)
    attention(const attention_args args)
{
    __shared__ alignas(bulk_alignment) uint4 key_tile[block_tokens * 8];
    __shared__ alignas(bulk_alignment) uint4 value_tile[block_tokens * 8];
    __shared__ alignas(16) float weight[group][block_tokens];
    __shared__ float received[cluster_blocks][2 + share]; /* maximum, sum, weighted values */
    __shared__ unsigned long long barrier_storage;

    PDL_CONSTANT_PARAM(args.keys); /* but for this token's, which is read nowhere */
    PDL_CONSTANT_PARAM(args.values);
    PDL_CONSTANT_PARAM(args.rope);
    stamp_start(args.stamps);

    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int rank = static_cast<int>(blockIdx.x) % cluster_blocks;
    const int kv_head = static_cast<int>(blockIdx.x) / cluster_blocks;
    const bool last = rank == cluster_blocks - 1; /* the new token is its last one */
    const size_t first = static_cast<size_t>(kv_head * tokens + rank * block_tokens) * head_size;
    const unsigned barrier = shared_address(&barrier_storage);
    if (threadIdx.x == 0) {
        const unsigned bytes = static_cast<unsigned>(2 * head_size * (block_tokens - last));
        barrier_init(barrier);
        barrier_init_done();
        barrier_expect(barrier, 2 * bytes);
        const unsigned long long policy = read_once();
        bulk_copy(shared_address(key_tile), args.keys + first, bytes, barrier, policy);
        bulk_copy(shared_address(value_tile), args.values + first, bytes, barrier, policy);
    }
    PDL_TRIGGER_POINT(0);
    /* Eight lanes share a token: each has eight of its 64 values. */
    const int piece = lane % 8;
    float cosine[8], sine[8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        cosine[i] = args.rope[piece % 4 * 8 + i];
        sine[i] = (piece < 4 ? -1.0f : 1.0f) * args.rope[32 + piece % 4 * 8 + i];
    }
    cluster_arrive(); /* the others run, and can be sent to; this block's barrier is ready */
    cluster_wait();

    PDL_WAIT();
    PDL_TRIGGER_POINT(1);

    const uint4 *const in = reinterpret_cast<const uint4 *>(args.qkv); /* eight to a head */
    float query[group][8];
#pragma unroll
    for (int h = 0; h < group; h++) {
        const uint4 *const from = in + (kv_head * group + h) * 8;
        rotate(from[piece], from[piece ^ 4], cosine, sine, query[h]);
    }
    uint4 new_key = {};
    unsigned new_value = 0;
    if (last) {
        const uint4 *const from = in + (heads + kv_head) * 8;
        float key[8];
        rotate(from[piece], from[piece ^ 4], cosine, sine, key);
        new_key = make_uint4(pack(key[0], key[1]), pack(key[2], key[3]), pack(key[4], key[5]),
                             pack(key[6], key[7]));
        new_value = reinterpret_cast<const unsigned *>(
            args.qkv)[(heads + kv_heads + kv_head) * (head_size / 2) + lane];
        const size_t at = first + (block_tokens - 1) * head_size;
        if (warp == 0) {
            if (lane < 8) {
                reinterpret_cast<uint4 *>(args.keys + at)[lane] = new_key;
            }
            reinterpret_cast<unsigned *>(args.values + at)[lane] = new_value;
        }
    }
    barrier_wait(barrier, 0);
    PDL_TRIGGER_POINT(2);

    /* In units of log2, so that exp2 does. */
    const float scale = 0.125f * 1.44269504f;
#pragma unroll
    for (int i = 0; i < block_tokens / 16; i++) {
        const int token = 16 * i + 4 * warp + lane / 8;
        float key[8], score[group] = {};
        unpack(last && token == block_tokens - 1 ? new_key : key_tile[8 * token + piece], key);
#pragma unroll
        for (int h = 0; h < group; h++) {
#pragma unroll
            for (int k = 0; k < 8; k++) {
                score[h] = fmaf(query[h][k], key[k], score[h]);
            }
#pragma unroll
            for (int distance = 4; distance > 0; distance /= 2) {
                score[h] += __shfl_xor_sync(~0u, score[h], distance);
            }
        }
        if (piece == 0) {
#pragma unroll
            for (int h = 0; h < group; h++) {
                weight[h][token] = score[h] * scale;
            }
        }
    }
    __syncthreads();

    /* From here on a warp has one query head. */
    const float score_a = weight[warp][lane], score_b = weight[warp][lane + 32];
    float maximum = fmaxf(score_a, score_b);
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        maximum = fmaxf(maximum, __shfl_xor_sync(~0u, maximum, distance));
    }
    const float weight_a = exp2f(score_a - maximum), weight_b = exp2f(score_b - maximum);
    float sum = weight_a + weight_b;
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(~0u, sum, distance);
    }
    const unsigned *const pairs = reinterpret_cast<const unsigned *>(value_tile);
    float low[2] = {}, high[2] = {};
#pragma unroll 16
    for (int token = 0; token < block_tokens; token++) {
        const unsigned pair =
            last && token == block_tokens - 1 ? new_value : pairs[token * 32 + lane];
        const float factor = __shfl_sync(~0u, token < 32 ? weight_a : weight_b, token % 32);
        low[token % 2] = fmaf(factor, low_half(pair), low[token % 2]);
        high[token % 2] = fmaf(factor, high_half(pair), high[token % 2]);
    }
    const int target = 2 * warp + lane / 16;
    float *const to = received[rank];
    send(to + 2 + 2 * lane % share, target, low[0] + low[1]);
    send(to + 3 + 2 * lane % share, target, high[0] + high[1]);
    if (lane % 16 == 0) {
        send(to, target, maximum);
        send(to + 1, target, sum);
    }
    cluster_arrive();
    cluster_wait();

    if (warp == 0) {
        float most = received[0][0];
#pragma unroll
        for (int i = 1; i < cluster_blocks; i++) {
            most = fmaxf(most, received[i][0]);
        }
        float total = 0, value = 0;
#pragma unroll
        for (int i = 0; i < cluster_blocks; i++) {
            const float factor = exp2f(received[i][0] - most);
            total = fmaf(factor, received[i][1], total);
            value = fmaf(factor, received[i][2 + lane], value);
        }
        args.y[(kv_head * group * head_size) + rank * share + lane] =
            __float2bfloat16(value / total);
    }
    stamp_end(args.stamps);
}

#endif /* PDL_EXAMPLES_DECODE_ATTENTION_CUH */
