/* SPDX-License-Identifier: MIT */
/* Attention of a new token over a cache of keys and values, with rotary position embedding.
 *
 * A cluster serves one kv head, and its query heads; its blocks share the tokens, 32 at
 * a time for a warp. The cache does not depend on the kernel before and is on its way before the wait:
 * to shared memory as far as there is room, the rest to L2. The products run on the tensor cores, whose
 * operand has 16 rows: the queries take eight, and what their rounding to bf16 has cut off the others.
 * Each block sends its partial results to the blocks that put them together, and announces them at a
 * barrier there, so that nobody waits for anything else. With short contexts there is little to do and
 * nothing to hide it behind: what counts is the time from the wait to the last store. */
#ifndef PDL_BENCH_DECODE_ATTENTION_CUH
#define PDL_BENCH_DECODE_ATTENTION_CUH

#include <type_traits>

#include "decode_device.cuh"

static const int attention_most_warps = 8;
static const int most_cluster = 16;
static const int most_group = 7; /* query heads of a kv head: a row is left for its new key */
static const int group_tokens = 32;

/* ---- where the cache lies -------------------------------------------------------------------- */

/* Tokens are cached in groups of 32, as the operands of the tensor core: keys in tiles of eight tokens
 * by 32 dimensions; values in tiles of eight dimensions by all tokens, in the order in which a lane
 * computes their weights. In elements from the group's beginning. */
__host__ __device__ inline int key_place(int head_size, int token, int dim)
{
    return (token / 8 * (head_size / 32) + dim / 32) * 256 + token % 8 * 32 + dim % 32;
}

__host__ __device__ inline int value_place(int token, int dim)
{
    return dim / 8 * 256 + dim % 8 * 32 + token % 8 / 2 * 8 + token / 8 * 2 + token % 2;
}

inline int context_groups(int context)
{
    return (context + group_tokens - 1) / group_tokens;
}

/* ---- the launch ------------------------------------------------------------------------------ */

/* What can be chosen. */
struct attention_setting {
    int cluster, warps;
    int stages;   /* groups of tokens that a warp has room for */
    int prefetch; /* groups of each warp to bring to L2 before the wait */
};

struct attention_args {
    const bf16 *qkv;
    bf16 *keys, *values; /* [kv head][group]; the last token is this kernel's to write */
    const float *rope;   /* of the new token: head_size / 2 cosines and as many sines */
    bf16 *y;
    kernel_stamps *stamps;
    int heads, kv_heads, context;
    int stages, prefetch; /* attention_plan() sets these */
};

struct attention_launch {
    unsigned blocks, threads, cluster, shared_bytes;
};

/* Completes the arguments; 0 blocks where the setting does not fit. */
inline attention_launch attention_plan(const decoder_shape &shape, const attention_setting &setting,
                                       attention_args *args)
{
    const int group = shape.heads / shape.kv_heads;
    if ((shape.head_size != 64 && shape.head_size != 128) || group > most_group ||
        shape.heads % shape.kv_heads != 0 || setting.cluster < 1 ||
        setting.cluster > most_cluster || setting.warps < 1 ||
        setting.warps > attention_most_warps || setting.stages < 1 ||
        group * shape.head_size % (4 * setting.cluster) != 0 ||
        setting.cluster > context_groups(args->context)) {
        return {0, 0, 0, 0};
    }
    args->stages = setting.stages;
    args->prefetch = setting.prefetch;
    const int tiles = setting.warps * setting.stages * 2 * group_tokens * shape.head_size * 2;
    const int values = 4 * group * shape.head_size; /* as much from each of the cluster's blocks for
                                                       its part of the outputs */
    const int scales = 8 * 8 * (setting.cluster + setting.warps);
    const int shared = tiles + values + scales + 8 * (setting.warps * setting.stages + 1);
    if (shared > static_cast<int>(most_shared)) {
        return {0, 0, 0, 0};
    }
    return {static_cast<unsigned>(shape.kv_heads * setting.cluster),
            static_cast<unsigned>(32 * setting.warps), static_cast<unsigned>(setting.cluster),
            static_cast<unsigned>(shared)};
}

/* ---- clusters -------------------------------------------------------------------------------- */

__device__ inline unsigned cluster_size()
{
    unsigned size;
    asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(size));
    return size;
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

__device__ inline void send(unsigned to, const float4 &values, unsigned barrier)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32"
                 " [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
                 "f"(values.x), "f"(values.y), "f"(values.z), "f"(values.w), "r"(barrier)
                 : "memory");
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* Of weights relative to `maximum` when others are relative to `most`; 0 where there are none. */
__device__ inline float rescale(float maximum, float most)
{
    return maximum == -INFINITY ? 0.0f : exp2f(maximum - most);
}

/* What the sums of weights of several parts come to, and the factors with which the parts count. The parts
 * are eight apart: each is of the same head. */
template <int Most> struct scaled_sums {
    float maximum = -INFINITY, sum = 0, factors[Most];

    __device__ scaled_sums(const float2 *parts, int count)
    {
        float2 all[Most];
#pragma unroll
        for (int i = 0; i < Most; i++) {
            all[i] = i < count ? parts[8 * i] : make_float2(-INFINITY, 0);
            maximum = fmaxf(maximum, all[i].x);
        }
#pragma unroll
        for (int i = 0; i < Most; i++) {
            factors[i] = rescale(all[i].x, maximum);
            sum = fmaf(factors[i], all[i].y, sum);
        }
    }
};

/* Splits eight numbers into bf16 and what that cuts off. */
__device__ inline void split(const float (&from)[8], uint4 &upper, uint4 &lower)
{
    float rounded[8], rest[8];
    upper = pack(from);
    unpack(upper, rounded);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        rest[i] = from[i] - rounded[i];
    }
    lower = pack(rest);
}

/* It triggers at the start of the blocks. */
template <int HeadSize>
static __global__ void __launch_bounds__(32 * attention_most_warps)
    attention(const attention_args args)
{
    constexpr int steps = HeadSize / 32;
    constexpr int tiles = HeadSize / 8; /* of values */
    constexpr unsigned half_bytes = 2 * group_tokens * HeadSize;
    constexpr int half_size = static_cast<int>(half_bytes / 16);
    extern __shared__ __align__(bulk_alignment) uint4 attention_shared[];

    PDL_CONSTANT_PARAM(args.keys); /* but for this token's: what is read of them is not used */
    PDL_CONSTANT_PARAM(args.values);
    PDL_CONSTANT_PARAM(args.rope);
    stamp_start(args.stamps);

    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32, warp = thread / 32;
    const int warps = static_cast<int>(blockDim.x) / 32;
    const int row = lane / 4, column = lane % 4;
    const int cluster = static_cast<int>(cluster_size());
    const int rank = static_cast<int>(blockIdx.x) % cluster;
    const int kv_head = static_cast<int>(blockIdx.x) / cluster;
    const int group = args.heads / args.kv_heads;
    const int share = group * HeadSize / cluster; /* of outputs that a block completes */

    /* The warp's groups of tokens. */
    const int all_groups = (args.context + group_tokens - 1) / group_tokens;
    const int first = all_groups * rank / cluster + warp;
    const int end = all_groups * (rank + 1) / cluster;
    const int mine = first < end ? (end - first + warps - 1) / warps : 0;
    const bool last = mine > 0 && first + (mine - 1) * warps == all_groups - 1;

    /* Rings; what a block gets from the cluster: values and scales; scales of the warps; barriers. */
    uint4 *const ring = attention_shared + warp * args.stages * 2 * half_size;
    uint4 *const behind = attention_shared + warps * args.stages * 2 * half_size;
    float *const values = reinterpret_cast<float *>(behind);
    float2 *const scales = reinterpret_cast<float2 *>(values + group * HeadSize);
    float2 *const warp_scales = scales + 8 * cluster;
    const unsigned barriers = shared_address(warp_scales + 8 * warps);
    const unsigned parts_barrier = barriers + static_cast<unsigned>(8 * warps * args.stages);
    const unsigned my_barriers = barriers + static_cast<unsigned>(8 * warp * args.stages);

    const size_t cache = static_cast<size_t>(kv_head) * all_groups;
    auto group_at = [&](int i) {
        return (cache + static_cast<size_t>(first + i * warps)) * (group_tokens * HeadSize);
    };
    const unsigned long long policy = read_once();
    auto fetch = [&](int i, int stage) {
        const unsigned barrier = my_barriers + static_cast<unsigned>(8 * stage);
        const unsigned to = shared_address(ring + stage * 2 * half_size);
        barrier_expect(barrier, 2 * half_bytes);
        bulk_copy(to, args.keys + group_at(i), half_bytes, barrier, policy);
        bulk_copy(to + half_bytes, args.values + group_at(i), half_bytes, barrier, policy);
    };
    if (lane == 0) {
#pragma unroll 1
        for (int i = 0; i < args.stages; i++) {
            barrier_init(my_barriers + static_cast<unsigned>(8 * i));
        }
        if (warp == 0) {
            barrier_init(parts_barrier);
        }
        barrier_init_done();
#pragma unroll 1
        for (int i = 0; i < args.stages && i < mine; i++) {
            fetch(i, i);
        }
        if (warp == 0) {
            barrier_expect(parts_barrier, static_cast<unsigned>(cluster * (4 * share + 8 * group)));
        }
    }
    PDL_LAUNCH_DEPENDENTS();
    if (lane == 0) {
#pragma unroll 1
        for (int i = args.stages; i < mine && i < args.stages + args.prefetch; i++) {
            prefetch_to_l2(args.keys + group_at(i), half_bytes);
            prefetch_to_l2(args.values + group_at(i), half_bytes);
        }
    }
    /* Four lanes share a row; each has eight of every 32 of its dimensions. */
    float cosine[steps / 2][8], sine[steps / 2][8];
#pragma unroll
    for (int s = 0; s < steps / 2; s++) {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            cosine[s][i] = args.rope[32 * s + 8 * column + i];
            sine[s][i] = args.rope[HeadSize / 2 + 32 * s + 8 * column + i];
        }
    }
    if (cluster == 1) {
        __syncthreads(); /* the barriers are ready */
    } else {
        __syncwarp();
        cluster_arrive(); /* the others run, and can be sent to */
        cluster_wait();
    }

    PDL_WAIT();

    const int head = row < group ? kv_head * group + row : args.heads + kv_head;
    uint4 in[steps];
#pragma unroll
    for (int s = 0; s < steps; s++) {
        in[s] = reinterpret_cast<const uint4 *>(args.qkv + head * HeadSize)[4 * s + column];
    }
    bf16 new_value[steps];
    if (last) {
#pragma unroll
        for (int i = 0; i < steps; i++) {
            new_value[i] =
                args.qkv[(args.heads + args.kv_heads + kv_head) * HeadSize + 32 * i + lane];
        }
    }
    uint4 new_key[steps], query[steps], query_rest[steps];
    const float scale = rsqrtf(static_cast<float>(HeadSize)) * 1.44269504f; /* for exp2 */
#pragma unroll
    for (int s = 0; s < steps / 2; s++) {
        float a[8], b[8], turned[2][8];
        unpack(in[s], a);
        unpack(in[s + steps / 2], b);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            turned[0][i] = a[i] * cosine[s][i] - b[i] * sine[s][i];
            turned[1][i] = b[i] * cosine[s][i] + a[i] * sine[s][i];
        }
#pragma unroll
        for (int k = 0; k < 2; k++) {
            const int at = s + k * (steps / 2);
            if (last) {
                new_key[at] = pack(turned[k]);
            }
#pragma unroll
            for (int i = 0; i < 8; i++) {
                turned[k][i] *= scale;
            }
            split(turned[k], query[at], query_rest[at]);
        }
    }

    float mixed[tiles][4] = {};
    float maximum = -INFINITY, sum = 0;
    int stage = 0;
    unsigned parity = 0;
#pragma unroll 1
    for (int i = 0; i < mine; i++) {
        uint4 *const keys = ring + stage * 2 * half_size;
        uint4 *const group_values = keys + half_size;
        barrier_wait(my_barriers + static_cast<unsigned>(8 * stage), parity);
        const bool with_new = last && i == mine - 1;
        if (with_new) {
            const int token = (args.context - 1) % group_tokens;
            if (row == group) {
#pragma unroll
                for (int s = 0; s < steps; s++) {
                    const int place = key_place(HeadSize, token, 32 * s + 8 * column);
                    keys[place / 8] = new_key[s];
                    *reinterpret_cast<uint4 *>(args.keys + group_at(i) + place) = new_key[s];
                }
            }
#pragma unroll
            for (int k = 0; k < steps; k++) {
                const int place = value_place(token, 32 * k + lane);
                reinterpret_cast<bf16 *>(group_values)[place] = new_value[k];
                args.values[group_at(i) + place] = new_value[k];
            }
            __syncwarp();
        }
        /* Rows are heads, columns are tokens. */
        float both[4][4] = {}, score[4][2];
        float most = maximum;
#pragma unroll
        for (int s = 0; s < steps; s++) {
#pragma unroll
            for (int j = 0; j < 4; j++) {
                multiply_32(both[j], query[s], query_rest[s], keys[(j * steps + s) * 32 + lane]);
            }
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
#pragma unroll
            for (int k = 0; k < 2; k++) {
                score[j][k] = both[j][k] + both[j][k + 2];
                if (with_new && 8 * j + 2 * column + k > (args.context - 1) % group_tokens) {
                    score[j][k] = -INFINITY; /* behind the new token */
                }
                most = fmaxf(most, score[j][k]);
            }
        }
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
        const float factor = exp2f(maximum - most);
        maximum = most;
        float weights[8];
        sum *= factor;
#pragma unroll
        for (int k = 0; k < 8; k++) {
            weights[k] = exp2f(score[k / 2][k % 2] - most);
            sum += weights[k];
        }
        uint4 upper, lower;
        split(weights, upper, lower);
#pragma unroll
        for (int n = 0; n < tiles; n++) {
#pragma unroll
            for (int k = 0; k < 4; k++) {
                mixed[n][k] *= factor;
            }
            multiply_32(mixed[n], upper, lower, group_values[n * 32 + lane]);
        }
        __syncwarp(); /* the stage has been read by all */
        if (lane == 0 && i + args.stages < mine) {
            fetch(i + args.stages, stage);
        }
        stage = stage + 1 == args.stages ? 0 : stage + 1;
        parity ^= stage == 0;
    }

    /* The warps' parts, each in the warp's ring. */
    sum += __shfl_xor_sync(~0u, sum, 1);
    sum += __shfl_xor_sync(~0u, sum, 2);
    float *const part = reinterpret_cast<float *>(ring);
    if (row < group) {
#pragma unroll
        for (int n = 0; n < tiles; n++) {
            *reinterpret_cast<float2 *>(part + row * HeadSize + 8 * n + 2 * column) =
                make_float2(mixed[n][0] + mixed[n][2], mixed[n][1] + mixed[n][3]);
        }
        if (column == 0) {
            warp_scales[8 * warp + row] = make_float2(maximum, sum);
        }
    }
    __syncthreads();
    /* Four outputs for each thread, with the weights of all warps; and some thread of each head tells
     * each block of the head's scale. */
    auto combine = [&](auto most) {
        constexpr int most_warps = decltype(most)::value;
#pragma unroll 1
        for (int i = thread; i < group * HeadSize / 4; i += static_cast<int>(blockDim.x)) {
            const int h = 4 * i / HeadSize, other = i % (HeadSize / 4);
            float4 total = make_float4(0, 0, 0, 0);
            const scaled_sums<most_warps> parts(warp_scales + h, warps);
#pragma unroll
            for (int w = 0; w < most_warps; w++) {
                if (w < warps) {
                    const float4 from = reinterpret_cast<const float4 *>(
                        attention_shared + w * args.stages * 2 * half_size)[i];
                    total.x = fmaf(parts.factors[w], from.x, total.x);
                    total.y = fmaf(parts.factors[w], from.y, total.y);
                    total.z = fmaf(parts.factors[w], from.z, total.z);
                    total.w = fmaf(parts.factors[w], from.w, total.w);
                }
            }
            const int target = 4 * i / share;
            float *const to = values + rank * share + 4 * i - target * share;
            float2 *const scale_to = scales + 8 * rank + h;
            if (cluster == 1) {
                *reinterpret_cast<float4 *>(to) = total;
                *scale_to = make_float2(parts.maximum, parts.sum);
            } else {
                send(address_in(shared_address(to), target), total,
                     address_in(parts_barrier, target));
                if (other < cluster) {
                    send(address_in(shared_address(scale_to), other), parts.maximum, parts.sum,
                         address_in(parts_barrier, other));
                }
            }
        }
    };
    if (warps <= 2) {
        combine(std::integral_constant<int, 2>());
    } else {
        combine(std::integral_constant<int, attention_most_warps>());
    }

    if (cluster == 1) {
        __syncthreads();
    } else {
        barrier_wait_cluster(parts_barrier, 0);
    }
    auto finish = [&](auto most) {
        constexpr int most_blocks = decltype(most)::value;
#pragma unroll 1
        for (int i = thread; i < share; i += static_cast<int>(blockDim.x)) {
            const int h = (rank * share + i) / HeadSize;
            const scaled_sums<most_blocks> parts(scales + h, cluster);
            float value = 0;
#pragma unroll
            for (int c = 0; c < most_blocks; c++) {
                if (c < cluster) {
                    value = fmaf(parts.factors[c], values[c * share + i], value);
                }
            }
            args.y[kv_head * group * HeadSize + rank * share + i] =
                __float2bfloat16(value / parts.sum);
        }
    };
    if (cluster <= 8) {
        finish(std::integral_constant<int, 8>());
    } else {
        finish(std::integral_constant<int, most_cluster>());
    }
    stamp_end(args.stamps);
}

#endif /* PDL_BENCH_DECODE_ATTENTION_CUH */
