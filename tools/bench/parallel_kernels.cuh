/* SPDX-License-Identifier: MIT */
/* The kernels of one device's share of the decoder: matrix-vector products with any number of rows and
 * columns, and attention over some of the heads.
 *
 * The weights do not depend on the kernel before, so each warp has a ring of stages in shared memory
 * that the copy engine fills before the wait. While the devices add up their parts, the next matrix
 * is on its way. */
#ifndef PDL_BENCH_PARALLEL_KERNELS_CUH
#define PDL_BENCH_PARALLEL_KERNELS_CUH

#include <cooperative_groups.h>

#include "decode_device.cuh"

namespace parallel
{

static const int part = 1024; /* columns that a warp multiplies at a time, of each of two rows */
static const int warps = 8;
static const int linear_threads = 32 * warps;
static const int stages = 3;
static const int pieces = part / 256; /* of 16 bytes that a lane has of a part */
static const int part_bytes = 2 * part;
static const int stage_bytes = 2 * part_bytes;
static const int ring_bytes = warps * stages * stage_bytes;
static const int max_sums = 32; /* of a row that a warp keeps */
static const int linear_shared_bytes = ring_bytes + 4 * 2 * warps * max_sums + 8 * warps * stages;

/* A warp multiplies pairs of rows: rows p and p + `rows` with `gated`, otherwise two neighbours. Rows
 * shorter than a part are taken several at a time. */
struct linear_args {
    const bf16 *weights;
    const bf16 *gamma; /* of the norm before; or NULL */
    const bf16 *x;
    const bf16 *residual; /* or NULL */
    bf16 *y;
    kernel_stamps *stamps;
    int rows; /* outputs */
    int cols;
    int gated; /* y = SiLU(a) b */
};

__host__ __device__ inline int row_slices(int cols)
{
    return cols > part ? cols / part : 1; /* a power of two, at most `warps` */
}

__host__ __device__ inline int rows_in_part(int cols)
{
    return cols < part ? part / cols : 1;
}

__host__ __device__ inline int pair_outputs(const linear_args &args)
{
    return args.gated ? 1 : 2 * rows_in_part(args.cols);
}

/* The grid for so many multiprocessors: of equal blocks, two on each for large matrices. */
inline unsigned linear_blocks(const linear_args &args, int multiprocessors)
{
    const int streams = warps / row_slices(args.cols);
    const int groups = args.rows / pair_outputs(args) / streams;
    const bool large = size_t{1} * args.rows * args.cols * (1 + args.gated) >= size_t{8} << 20;
    const int most = large ? 2 * multiprocessors : multiprocessors;
    const int chunks = (groups + most - 1) / most;
    return static_cast<unsigned>((groups + chunks - 1) / chunks);
}

/* Whether that grid has room for its sums. */
inline bool linear_fits(const linear_args &args, int multiprocessors)
{
    const int streams =
        static_cast<int>(linear_blocks(args, multiprocessors)) * warps / row_slices(args.cols);
    const int pairs = args.rows / pair_outputs(args);
    return (pairs + streams - 1) / streams * rows_in_part(args.cols) <= max_sums;
}

__device__ inline float dot(const uint4 &a, const uint4 &x, float sum)
{
    float left[8], right[8];
    unpack(a, left);
    unpack(x, right);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        sum = fmaf(left[i], right[i], sum);
    }
    return sum;
}

/* The products of two rows with x: lane 0 gets the first row's, lane 16 the second's. The tensor cores
 * multiply what four lanes have of a row with what all have of x; what belongs together is on the
 * diagonal. That takes less time than converting each weight to fp32. */
__device__ inline float multiply_rows(const uint4 *a, const uint4 *b, const uint4 (&x)[pieces])
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
    float sum[2][4] = {};
#pragma unroll
    for (int i = 0; i < pieces; i++) {
        multiply(sum[0], a[i].x, b[i].x, a[i].y, b[i].y, x[i].x, x[i].y);
        multiply(sum[1], a[i].z, b[i].z, a[i].w, b[i].w, x[i].z, x[i].w);
    }
    const bool diagonal = lane % 4 == lane / 8;
    const bool odd = lane / 4 % 2 != 0;
    const float first = odd ? sum[0][1] + sum[1][1] : sum[0][0] + sum[1][0];
    const float second = odd ? sum[0][3] + sum[1][3] : sum[0][2] + sum[1][2];
    const float mine = diagonal ? (lane < 16 ? first : second) : 0;
    const float other = diagonal ? (lane < 16 ? second : first) : 0;
    float total = mine + __shfl_xor_sync(~0u, other, 16);
#pragma unroll
    for (int distance = 8; distance > 0; distance /= 2) {
        total += __shfl_xor_sync(~0u, total, distance);
    }
    return total;
}

__device__ inline float warp_sum(float value)
{
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        value += __shfl_xor_sync(~0u, value, distance);
    }
    return value;
}

/* `Rows` is rows_in_part(): a template's, so that the sums stay in registers. With the registers of three
 * blocks per SM there is room for a block of attention beside two of these. */
template <int Rows>
static __global__ void __launch_bounds__(linear_threads, Rows == 1 ? 3 : 2)
    linear(const linear_args args)
{
    extern __shared__ __align__(bulk_alignment) uint4 ring[];
    __shared__ float square_sums[warps];
    float *const sums =
        reinterpret_cast<float *>(ring + ring_bytes / 16); /* [chunk][warp][2 Rows] */

    PDL_CONSTANT_PARAM(args.weights);
    PDL_CONSTANT_PARAM(args.gamma);
    stamp_start(args.stamps);

    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32, warp = thread / 32;
    const int slices = row_slices(args.cols);
    const int slice = warp % slices;
    const int block_streams = warps / slices; /* pairs that the block multiplies at a time */
    const int streams = static_cast<int>(gridDim.x) * block_streams;
    const int block_stream = static_cast<int>(blockIdx.x) * block_streams;
    const int stream = block_stream + warp / slices;
    const int outputs = pair_outputs(args);
    const int pairs = args.rows / outputs;
    const int chunks = (pairs - stream + streams - 1) / streams;
    const size_t second =
        args.gated ? size_t{1} * args.rows * args.cols : size_t{1} * Rows * args.cols;
    const size_t pair_stride = static_cast<size_t>(args.gated ? args.cols : 2 * Rows * args.cols);

    const uint4 *const my_ring = ring + warp * stages * (stage_bytes / 16);
    const unsigned ring_address = shared_address(my_ring);
    const unsigned barriers =
        shared_address(ring) +
        static_cast<unsigned>(linear_shared_bytes - 8 * warps * stages + 8 * warp * stages);
    const unsigned long long policy = read_once();
    auto fetch = [&](int chunk, int stage) {
        const bf16 *const from = args.weights +
                                 static_cast<size_t>(stream + chunk * streams) * pair_stride +
                                 slice * part;
        const unsigned to = ring_address + static_cast<unsigned>(stage * stage_bytes);
        const unsigned barrier = barriers + static_cast<unsigned>(8 * stage);
        barrier_expect(barrier, stage_bytes);
        bulk_copy(to, from, part_bytes, barrier, policy);
        bulk_copy(to + part_bytes, from + second, part_bytes, barrier, policy);
    };
    auto part_of = [&](const bf16 *vector,
                       int piece) { /* its place repeats where rows are short */
                                    const int at =
                                        (slice * part + 256 * piece + 8 * lane) & (args.cols - 1);
                                    return *reinterpret_cast<const uint4 *>(vector + at);
    };

    if (lane == 0) {
#pragma unroll
        for (int i = 0; i < stages; i++) {
            barrier_init(barriers + static_cast<unsigned>(8 * i));
        }
        barrier_init_done();
        if (chunks > 0) {
            fetch(0, 0);
        }
    }
    __syncwarp();
    PDL_TRIGGER_POINT(0);
    uint4 gamma[pieces] = {};
    if (args.gamma != nullptr) {
#pragma unroll
        for (int i = 0; i < pieces; i++) {
            gamma[i] = part_of(args.gamma, i);
        }
    }
    /* One stage at a time: what the kernel in front waits for should not queue behind all of them. */
#pragma unroll
    for (int i = 1; i < stages; i++) {
        if (i < chunks) {
            barrier_wait(barriers + static_cast<unsigned>(8 * (i - 1)), 0);
            if (lane == 0) {
                fetch(i, i);
            }
        }
    }

    PDL_WAIT();
    PDL_TRIGGER_POINT(1);

    uint4 x[pieces];
    float squares = 0;
#pragma unroll
    for (int i = 0; i < pieces; i++) {
        x[i] = part_of(args.x, i);
        if (args.gamma != nullptr) {
            float values[8], scale[8];
            unpack(x[i], values);
            unpack(gamma[i], scale);
#pragma unroll
            for (int k = 0; k < 8; k++) {
                squares = fmaf(values[k], values[k], squares);
                values[k] *= scale[k];
            }
            x[i] = pack(values);
        }
    }
    if (args.gamma != nullptr) {
        squares = warp_sum(squares);
        if (lane == 0 && warp < slices) {
            square_sums[warp] = squares;
        }
    }

    /* The outputs that a thread completes in the end; the first one's residual is on its way now. */
    const int block_outputs =
        (pairs - block_stream + streams - 1) / streams * block_streams * outputs;
    auto output_of = [&](int i) {
        const int pair = i / outputs; /* the block's */
        const int number = block_stream + pair % block_streams + pair / block_streams * streams;
        return number < pairs ? number * outputs + i % outputs : -1;
    };
    float residual = 0;
    if (args.residual != nullptr && thread < block_outputs && output_of(thread) >= 0) {
        residual = __bfloat162float(args.residual[output_of(thread)]);
    }

    int stage = 0;
    unsigned parity = 0;
    for (int chunk = 0; chunk < chunks; chunk++) {
        barrier_wait(barriers + static_cast<unsigned>(8 * stage), parity);
        const uint4 *const from = my_ring + stage * (stage_bytes / 16) + lane;
        uint4 w[2 * pieces];
#pragma unroll
        for (int i = 0; i < 2 * pieces; i++) {
            w[i] = from[32 * i];
        }
        __syncwarp(); /* all have read the stage */
        if (lane == 0 && chunk + stages < chunks) {
            fetch(chunk + stages, stage);
        }
        float *const to = sums + 2 * Rows * (chunk * warps + warp);
        if (Rows == 1) {
            const float total = multiply_rows(w, w + pieces, x);
            if (lane % 16 == 0) {
                to[lane / 16] = total;
            }
        } else {
            float row_sums[2 * Rows] = {};
#pragma unroll
            for (int i = 0; i < 2 * pieces; i++) {
                const int row = i * Rows / pieces;
                row_sums[row] = dot(w[i], x[i % pieces], row_sums[row]);
            }
#pragma unroll
            for (int row = 0; row < 2 * Rows; row++) {
                const float total = warp_sum(row_sums[row]);
                if (lane == row) {
                    to[row] = total;
                }
            }
        }
        stage = stage + 1 == stages ? 0 : stage + 1;
        parity ^= stage == 0;
    }
    __syncthreads();

    float scale = 1;
    if (args.gamma != nullptr) {
        squares = 0;
        for (int i = 0; i < slices; i++) {
            squares += square_sums[i];
        }
        scale = rsqrtf(squares / static_cast<float>(args.cols) + norm_epsilon);
    }
    for (int i = thread; i < block_outputs; i += linear_threads) {
        const int at = output_of(i), pair = i / outputs;
        if (at < 0) {
            continue;
        }
        auto row_sum = [&](int of) {
            float sum = 0;
            for (int s = 0; s < slices; s++) {
                sum += sums[2 * Rows * (pair * slices + s) + of];
            }
            return scale * sum;
        };
        float value = row_sum(i % outputs);
        if (args.gated) {
            value = value / (1 + __expf(-value)) * row_sum(1);
        }
        if (args.residual != nullptr) {
            value += i == thread ? residual : __bfloat162float(args.residual[at]);
        }
        args.y[at] = __float2bfloat16(value);
    }
    stamp_end(args.stamps);
}

/* ---- attention ------------------------------------------------------------------------------ */

static const int head_size = 64;
static const int group = 4; /* query heads that share a kv head */
static const int context = 512;
static const int attention_threads = 256;
static const int attention_cluster = 8; /* blocks of a kv head, each with an eighth of the tokens */
static const int block_tokens = context / attention_cluster;
static const int strides = block_tokens / (attention_threads / 8);

struct attention_args {
    const bf16 *qkv;     /* queries, keys and values of this device's heads */
    bf16 *keys, *values; /* [kv head][token][64]; the kernel writes the last token */
    const float *rope;   /* 32 cosines and 32 sines */
    bf16 *y;
    kernel_stamps *stamps;
    int kv_heads;
};

struct attention_part {
    float values[group][head_size];
    float maximum[group], sum[group];
};

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

/* A grid of attention_cluster blocks for each kv head. Eight lanes share a token, eight values each. */
static __global__ void __cluster_dims__(attention_cluster) __launch_bounds__(attention_threads)
    attention(const attention_args args)
{
    namespace cg = cooperative_groups;
    __shared__ float scores[group][block_tokens];
    __shared__ float partial[attention_threads / 32][group][head_size];
    __shared__ attention_part mine;

    PDL_CONSTANT_PARAM(args.keys); /* except the last token's, which is not read */
    PDL_CONSTANT_PARAM(args.values);
    PDL_CONSTANT_PARAM(args.rope);
    stamp_start(args.stamps);

    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
    const int rank = static_cast<int>(blockIdx.x) % attention_cluster;
    const int kv_head = static_cast<int>(blockIdx.x) / attention_cluster;
    const int piece = lane % 8;
    const size_t first = size_t{1} * kv_head * context + rank * block_tokens;
    const bool has_new = rank == attention_cluster - 1 && thread / 8 == attention_threads / 8 - 1;
    uint4 key[strides], value[strides];
#pragma unroll
    for (int i = 0; i < strides; i++) {
        const size_t at =
            (first + static_cast<size_t>(i * (attention_threads / 8) + thread / 8)) * 8 +
            static_cast<size_t>(piece);
        if (!(has_new && i == strides - 1)) {
            key[i] = reinterpret_cast<const uint4 *>(args.keys)[at];
            value[i] = reinterpret_cast<const uint4 *>(args.values)[at];
        }
    }
    float cosine[8], sine[8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        cosine[i] = args.rope[piece % 4 * 8 + i];
        sine[i] = (piece < 4 ? -1.0f : 1.0f) * args.rope[32 + piece % 4 * 8 + i];
    }
    PDL_TRIGGER_POINT(0);
    PDL_WAIT();
    PDL_TRIGGER_POINT(1);

    const uint4 *const in = reinterpret_cast<const uint4 *>(args.qkv); /* eight to a head */
    uint4 queries[group][2];
#pragma unroll
    for (int h = 0; h < group; h++) {
        queries[h][0] = in[(kv_head * group + h) * 8 + piece];
        queries[h][1] = in[(kv_head * group + h) * 8 + (piece ^ 4)];
    }
    if (has_new) {
        const uint4 *const from = in + (args.kv_heads * group + kv_head) * 8;
        const size_t at = (first + block_tokens - 1) * 8 + static_cast<size_t>(piece);
        float turned[8];
        rotate(from[piece], from[piece ^ 4], cosine, sine, turned);
        key[strides - 1] = pack(turned);
        value[strides - 1] = from[args.kv_heads * 8 + piece];
        reinterpret_cast<uint4 *>(args.keys)[at] = key[strides - 1];
        reinterpret_cast<uint4 *>(args.values)[at] = value[strides - 1];
    }
    const float in_log2 = 0.125f * 1.44269504f;
#pragma unroll
    for (int h = 0; h < group; h++) {
        float query[8];
        rotate(queries[h][0], queries[h][1], cosine, sine, query);
#pragma unroll
        for (int i = 0; i < strides; i++) {
            float keys[8], score = 0;
            unpack(key[i], keys);
#pragma unroll
            for (int k = 0; k < 8; k++) {
                score = fmaf(query[k], keys[k], score);
            }
#pragma unroll
            for (int distance = 4; distance > 0; distance /= 2) {
                score += __shfl_xor_sync(~0u, score, distance);
            }
            if (piece == h) {
                scores[h][i * (attention_threads / 8) + thread / 8] = score * in_log2;
            }
        }
    }
    __syncthreads();

#pragma unroll
    for (int h = 0; h < group; h++) {
        float maximum = fmaxf(scores[h][lane], scores[h][lane + 32]);
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2) {
            maximum = fmaxf(maximum, __shfl_xor_sync(~0u, maximum, distance));
        }
        const float sum =
            warp_sum(exp2f(scores[h][lane] - maximum) + exp2f(scores[h][lane + 32] - maximum));
        if (thread == 0) {
            mine.maximum[h] = maximum;
            mine.sum[h] = sum;
        }
        float mixed[8] = {};
#pragma unroll
        for (int i = 0; i < strides; i++) {
            const float weight =
                exp2f(scores[h][i * (attention_threads / 8) + thread / 8] - maximum);
            float values[8];
            unpack(value[i], values);
#pragma unroll
            for (int k = 0; k < 8; k++) {
                mixed[k] = fmaf(weight, values[k], mixed[k]);
            }
        }
#pragma unroll
        for (int k = 0; k < 8; k++) {
            mixed[k] += __shfl_xor_sync(~0u, mixed[k], 8);
            mixed[k] += __shfl_xor_sync(~0u, mixed[k], 16);
            if (lane < 8) {
                partial[warp][h][8 * piece + k] = mixed[k];
            }
        }
    }
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int i = 0; i < attention_threads / 32; i++) {
        sum += (&partial[i][0][0])[thread];
    }
    (&mine.values[0][0])[thread] = sum;

    cg::cluster_group cluster = cg::this_cluster();
    cluster.sync();
    const int share = group * head_size / attention_cluster; /* of outputs that a block completes */
    if (thread < share) {
        const int at = rank * share + thread, h = at / head_size;
        float most = mine.maximum[h], total = 0, result = 0;
        for (int i = 0; i < attention_cluster; i++) {
            most = fmaxf(most, cluster.map_shared_rank(&mine, i)->maximum[h]);
        }
        for (int i = 0; i < attention_cluster; i++) {
            const attention_part *const from = cluster.map_shared_rank(&mine, i);
            const float factor = exp2f(from->maximum[h] - most);
            total = fmaf(factor, from->sum[h], total);
            result = fmaf(factor, (&from->values[0][0])[at], result);
        }
        args.y[kv_head * group * head_size + at] = __float2bfloat16(result / total);
    }
    cluster.sync(); /* no block ends while another reads its part */
    stamp_end(args.stamps);
}

static_assert(attention_threads == group * head_size, "a thread for each value of a block's part");

} // namespace parallel

#endif /* PDL_BENCH_PARALLEL_KERNELS_CUH */
