/* SPDX-License-Identifier: MIT */
/* Attention of one new token over a cache of keys and values, with rotary position embedding.
 *
 * A cluster serves one kv head and its four query heads; each of its blocks takes an eighth of the
 * tokens. The cache's part of that does not depend on the kernel before and is on its way to shared
 * memory before the wait. Each block sends its partial results to the blocks that put them together,
 * and announces them at a barrier there, so that nobody waits for anything else. There is little to
 * do and nothing to hide it behind: what counts is the time from the wait to the last store. */
#ifndef PDL_EXAMPLES_DECODE_ATTENTION_CUH
#define PDL_EXAMPLES_DECODE_ATTENTION_CUH

#include "decode_device.cuh"

static const int attention_threads = 256;
static const int attention_warps = attention_threads / 32;
static const int cluster_blocks = 8;
static const int block_tokens = tokens / cluster_blocks;
static const int group = heads / kv_heads;                   /* query heads: two warps each */
static const int halves = attention_warps / group;           /* of a block's tokens: a warp each */
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

/* The address of the same variable in the shared memory of another block of the cluster. */
__device__ inline unsigned address_in(unsigned address, int rank)
{
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}

/* Stores to another block, announced at a barrier there. */
__device__ inline void send(unsigned to, float a, float b, unsigned barrier)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32"
                 " [%0], {%1, %2}, [%3];" ::"r"(to),
                 "f"(a), "f"(b), "r"(barrier)
                 : "memory");
}

__device__ inline void send(unsigned to, const float (&values)[4], unsigned barrier)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32"
                 " [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
                 "f"(values[0]), "f"(values[1]), "f"(values[2]), "f"(values[3]), "r"(barrier)
                 : "memory");
}

/* What a block gets from all of its cluster. */
struct attention_parts {
    alignas(16) float values[cluster_blocks][halves][share];
    alignas(8) float scale[cluster_blocks][2]; /* maximum and sum of the weights */
};

static_assert(sizeof(attention_parts) == cluster_blocks * 4 * (halves * share + 2),
              "what is sent to a block is all of it");

static __global__ void __cluster_dims__(cluster_blocks) __launch_bounds__(attention_threads)
    attention(const attention_args args)
{
    __shared__ alignas(bulk_alignment) uint4 key_tile[block_tokens * 8];
    __shared__ alignas(bulk_alignment) uint4 value_tile[block_tokens * 8];
    __shared__ float scores[group][block_tokens];
    __shared__ float weights[group][block_tokens];
    __shared__ attention_parts parts;
    __shared__ unsigned long long barrier_storage[2];

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
    const unsigned barrier = shared_address(&barrier_storage[0]);
    const unsigned parts_barrier = shared_address(&barrier_storage[1]);
    if (threadIdx.x == 0) {
        const unsigned bytes = static_cast<unsigned>(2 * head_size * (block_tokens - last));
        const unsigned long long policy = read_once();
        barrier_init(barrier);
        barrier_init(parts_barrier);
        barrier_init_done();
        barrier_expect(barrier, 2 * bytes);
        bulk_copy(shared_address(key_tile), args.keys + first, bytes, barrier, policy);
        bulk_copy(shared_address(value_tile), args.values + first, bytes, barrier, policy);
        barrier_expect(parts_barrier, sizeof(attention_parts));
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
    cluster_arrive(); /* the others run, and can be sent to; the barriers are ready */
    cluster_wait();
    barrier_wait(barrier, 0);
    const int strides = block_tokens / (4 * attention_warps); /* of four tokens that a warp takes */
    uint4 keys[strides];
#pragma unroll
    for (int i = 0; i < strides; i++) {
        keys[i] = key_tile[8 * (4 * (attention_warps * i + warp) + lane / 8) + piece];
    }

    PDL_WAIT();
    PDL_TRIGGER_POINT(1);

    const uint4 *const in = reinterpret_cast<const uint4 *>(args.qkv); /* eight to a head */
    float query[group][8];
#pragma unroll
    for (int h = 0; h < group; h++) {
        const uint4 *const from = in + (kv_head * group + h) * 8;
        rotate(from[piece], from[piece ^ 4], cosine, sine, query[h]);
    }
    uint4 new_value = {};
    if (last) { /* its last token is that of the last warp's last lanes */
        const uint4 *const from = in + (heads + kv_head) * 8;
        float key[8];
        rotate(from[piece], from[piece ^ 4], cosine, sine, key);
        const uint4 new_key = make_uint4(pack(key[0], key[1]), pack(key[2], key[3]),
                                         pack(key[4], key[5]), pack(key[6], key[7]));
        new_value = in[(heads + kv_heads + kv_head) * 8 + piece];
        if (warp == attention_warps - 1 && lane >= 24) {
            const size_t at = first + (block_tokens - 1) * head_size;
            keys[strides - 1] = new_key;
            reinterpret_cast<uint4 *>(args.keys + at)[piece] = new_key;
            reinterpret_cast<uint4 *>(args.values + at)[piece] = new_value;
        }
    }
    PDL_TRIGGER_POINT(2);

    /* In units of log2, so that exp2 does. */
    const float scale = 0.125f * 1.44269504f;
#pragma unroll
    for (int i = 0; i < strides; i++) {
        float key[8], score[group] = {};
        unpack(keys[i], key);
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
            if (piece == h) {
                scores[h][4 * (attention_warps * i + warp) + lane / 8] = score[h] * scale;
            }
        }
    }
    __syncthreads();

    /* From here on a warp has one query head, and of the values those of half of the tokens. */
    const int head = warp % group, half = warp / group;
    const float score_a = scores[head][lane], score_b = scores[head][lane + 32];
    float maximum = fmaxf(score_a, score_b);
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        maximum = fmaxf(maximum, __shfl_xor_sync(~0u, maximum, distance));
    }
    const float weight_a = exp2f(score_a - maximum), weight_b = exp2f(score_b - maximum);
    weights[head][32 * half + lane] = half == 0 ? weight_a : weight_b;
    __syncwarp();
    float sum = weight_a + weight_b;
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(~0u, sum, distance);
    }
    float mixed[8] = {};
#pragma unroll
    for (int i = 0; i < 32; i += 4) {
        const int token = 32 * half + i + lane / 8;
        const float factor = weights[head][token];
        float value[8];
        unpack(last && token == block_tokens - 1 ? new_value : value_tile[8 * token + piece],
               value);
#pragma unroll
        for (int k = 0; k < 8; k++) {
            mixed[k] = fmaf(factor, value[k], mixed[k]);
        }
    }
#pragma unroll
    for (int k = 0; k < 8; k++) {
        mixed[k] += __shfl_xor_sync(~0u, mixed[k], 8);
        mixed[k] += __shfl_xor_sync(~0u, mixed[k], 16);
    }
    /* A block completes half of a head: the lower eight lanes send the first four of their values each,
     * the next eight the others. */
    const bool upper = lane >= 8;
    const float sent[4] = {upper ? mixed[4] : mixed[0], upper ? mixed[5] : mixed[1],
                           upper ? mixed[6] : mixed[2], upper ? mixed[7] : mixed[3]};
    if (lane < 16) {
        const int target = 2 * head + piece / 4;
        const float *const to = &parts.values[rank][half][piece % 4 * 8 + 4 * upper];
        send(address_in(shared_address(to), target), sent, address_in(parts_barrier, target));
    } else if (lane < 18 && half == 0) {
        const int target = 2 * head + lane % 2;
        send(address_in(shared_address(parts.scale[rank]), target), maximum, sum,
             address_in(parts_barrier, target));
    }

    if (warp == 0) {
        barrier_wait_cluster(parts_barrier, 0);
        float most = parts.scale[0][0];
#pragma unroll
        for (int i = 1; i < cluster_blocks; i++) {
            most = fmaxf(most, parts.scale[i][0]);
        }
        float total = 0, value = 0;
#pragma unroll
        for (int i = 0; i < cluster_blocks; i++) {
            const float factor = exp2f(parts.scale[i][0] - most);
            total = fmaf(factor, parts.scale[i][1], total);
            value = fmaf(factor, parts.values[i][0][lane] + parts.values[i][1][lane], value);
        }
        args.y[(kv_head * group * head_size) + rank * share + lane] =
            __float2bfloat16(value / total);
    }
    stamp_end(args.stamps);
}

#endif /* PDL_EXAMPLES_DECODE_ATTENTION_CUH */
