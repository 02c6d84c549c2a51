/* SPDX-License-Identifier: MIT */
/* The decoder's matrix-vector products with what surrounds them: RMSNorm before, SiLU or the
 * residual after.
 *
 * The time is that of reading the weights once, so the kernel is made to keep reads in flight, also
 * across the end of the kernel before. Each warp has a ring of three stages in shared memory, which
 * the copy engine fills. The stages are filled before the wait, because weights do not depend on
 * the kernel before. After the wait come 4 or 16 KB of activations, and then the ring is used up
 * and filled again. A block uses less than half of an SM's shared memory and registers: so the next
 * kernel's block fits beside it, and attention's beside the two. The large matrices take two blocks on
 * each SM: when the first of them has ended, a block of the next kernel takes its place and fills its
 * ring while the second still runs, and there is no gap between the kernels. */
#ifndef PDL_EXAMPLES_DECODE_LINEAR_CUH
#define PDL_EXAMPLES_DECODE_LINEAR_CUH

#include "decode_device.cuh"

enum linear_kind { QKV, OUT, GATE_UP, DOWN, HEAD };

static const int linear_warps = 8;
static const int linear_threads = 32 * linear_warps;
static const int linear_stages = 3; /* of each warp's ring */
static const int chunk_cols = 1024; /* of two rows of weights, which a warp multiplies at a time */
static const int pieces = chunk_cols / 256; /* of 16 bytes that a lane has of a row's part */
static const int row_bytes = 2 * chunk_cols;
static const int chunk_bytes = 2 * row_bytes;
static const int ring_bytes = linear_warps * linear_stages * chunk_bytes;
static const int max_chunks = 32; /* of a warp */
static const int sums_bytes = 4 * 2 * linear_warps * max_chunks;
static const int linear_shared_bytes = ring_bytes + sums_bytes + 8 * linear_warps * linear_stages;

/* Rows of weights are taken in pairs: gate and up of one output, otherwise two neighbours. A chunk
 * is a slice of a pair. */
template <linear_kind Kind> struct linear_shape {
    static constexpr int outputs = Kind == QKV       ? qkv_size
                                   : Kind == GATE_UP ? feed_forward
                                   : Kind == HEAD    ? vocabulary
                                                     : hidden;
    static constexpr int cols = Kind == DOWN ? feed_forward : hidden;
    static constexpr int slices = cols / chunk_cols;
    static constexpr int pair_outputs = Kind == GATE_UP ? 1 : 2;
    static constexpr int pairs = outputs / pair_outputs;
    static constexpr int pair_distance = Kind == GATE_UP ? feed_forward : 1; /* in rows */
    static constexpr int block_streams = linear_warps / slices;              /* pairs at a time */
    static constexpr bool norm = Kind == QKV || Kind == GATE_UP || Kind == HEAD;
    static constexpr bool residual = Kind == OUT || Kind == DOWN;

    /* Whether a grid of so many blocks has room for its sums and a thread for each output. */
    static constexpr bool fits(int blocks)
    {
        const int streams = blocks * block_streams;
        const int chunks = (pairs + streams - 1) / streams;
        return chunks <= max_chunks && chunks * block_streams * pair_outputs <= linear_threads;
    }
};

/* The grid for a device of so many multiprocessors, as `pdltool tune decode` found it best. */
template <linear_kind Kind> inline unsigned linear_blocks(unsigned multiprocessors)
{
    typedef linear_shape<Kind> shape;
    if (Kind == HEAD) { /* in two waves: a block has no room for the sums of more rows */
        return 4 * multiprocessors;
    }
    const unsigned most = Kind == GATE_UP || Kind == DOWN ? 2 * multiprocessors : multiprocessors;
    const unsigned groups = shape::pairs / shape::block_streams;
    const unsigned chunks = (groups + most - 1) / most;
    return Kind == DOWN ? (groups + chunks - 1) / chunks : most;
}

/* Looks the token up: its row of the embedding becomes the first layer's input. One block. */
static const int embed_threads = hidden / 8;

struct embed_args {
    const bf16 *table;
    const int *token;
    bf16 *y;
    kernel_stamps *stamps;
};

static __global__ void __launch_bounds__(embed_threads) embed(const embed_args args)
{
    stamp_start(args.stamps);
    PDL_LAUNCH_DEPENDENTS();
    PDL_WAIT();
    const uint4 *const row =
        reinterpret_cast<const uint4 *>(args.table + static_cast<size_t>(*args.token) * hidden);
    reinterpret_cast<uint4 *>(args.y)[threadIdx.x] = row[threadIdx.x];
    stamp_end(args.stamps);
}

struct linear_args {
    const bf16 *weights;
    const bf16 *gamma; /* of the norm */
    const bf16 *x;
    const bf16 *residual;
    bf16 *y;
    kernel_stamps *stamps;
};

/* sum += a b: 16 x 16 by 16 x 8. */
__device__ inline void multiply(float (&sum)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                                unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

/* The products of two rows with x, each lane holding its pieces of all three: lane 0 gets the first
 * row's, lane 16 the second's.
 *
 * The tensor cores multiply what each group of four lanes has of a row with what every group has of
 * x. What belongs together is on the diagonal; the rest is thrown away, which is cheaper than to
 * convert each weight to fp32. */
__device__ inline float multiply_rows(const uint4 (&a)[pieces], const uint4 (&b)[pieces],
                                      const uint4 (&x)[pieces])
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

/* x becomes x gamma, in bf16; returns this lane's share of the sum of squares of x. */
__device__ inline float scale_by_gamma(uint4 (&x)[pieces], const uint4 (&gamma)[pieces])
{
    float squares = 0;
#pragma unroll
    for (int i = 0; i < pieces; i++) {
        float values[8], scale[8];
        unpack(x[i], values);
        unpack(gamma[i], scale);
#pragma unroll
        for (int k = 0; k < 8; k++) {
            squares = fmaf(values[k], values[k], squares);
            values[k] *= scale[k];
        }
        x[i] = make_uint4(pack(values[0], values[1]), pack(values[2], values[3]),
                          pack(values[4], values[5]), pack(values[6], values[7]));
    }
    return squares;
}

/* Any grid for which linear_shape::fits(); linear_blocks() is what it is made for.
 *
 * Trigger points: 0 is at the start of the blocks, so that the next kernel's follow as soon as there is
 * room for them; 1 is behind the wait; 2 to 4 are where a warp's last copy is on its way, or four or
 * eight copies earlier. */
template <linear_kind Kind>
static __global__ void __launch_bounds__(linear_threads, 2) linear(const linear_args args)
{
    using shape = linear_shape<Kind>;
    constexpr int block_streams = shape::block_streams;
    extern __shared__ __align__(bulk_alignment) uint4 ring[];
    __shared__ float square_sums[shape::slices];
    float *const sums = reinterpret_cast<float *>(ring + ring_bytes / 16); /* [chunk][warp][row] */

    PDL_CONSTANT_PARAM(args.weights);
    PDL_CONSTANT_PARAM(args.gamma);
    stamp_start(args.stamps);

    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    const int warp = thread / 32;
    const int slice = warp % shape::slices;
    const int streams = static_cast<int>(gridDim.x) * block_streams;
    const int block_stream = static_cast<int>(blockIdx.x) * block_streams;
    const int stream = block_stream + warp / shape::slices; /* this warp's pairs */
    const int chunks = (shape::pairs - stream + streams - 1) / streams;

    const uint4 *const my_ring = ring + warp * linear_stages * (chunk_bytes / 16);
    const unsigned ring_address = shared_address(my_ring);
    const unsigned barriers =
        shared_address(ring) +
        static_cast<unsigned>(ring_bytes + sums_bytes + 8 * warp * linear_stages);
    const bf16 *const my_weights =
        args.weights + static_cast<size_t>(stream) * (shape::pair_outputs * shape::cols) +
        slice * chunk_cols;
    const unsigned long long policy = read_once();
    auto fetch = [&](int chunk, int stage) {
        const bf16 *const from =
            my_weights + static_cast<size_t>(chunk * streams) * (shape::pair_outputs * shape::cols);
        const unsigned to = ring_address + static_cast<unsigned>(stage * chunk_bytes);
        const unsigned barrier = barriers + static_cast<unsigned>(8 * stage);
        barrier_expect(barrier, chunk_bytes);
        bulk_copy(to, from, row_bytes, barrier, policy);
        bulk_copy(to + row_bytes, from + static_cast<size_t>(shape::pair_distance) * shape::cols,
                  row_bytes, barrier, policy);
    };

    /* Fill the ring, a stage at a time: all at once would fill the memory's queues as well, and the
     * activations that the kernel before us is waiting for would stand in them. */
    if (lane == 0) {
#pragma unroll
        for (int i = 0; i < linear_stages; i++) {
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
    if (shape::norm) {
#pragma unroll
        for (int i = 0; i < pieces; i++) {
            gamma[i] =
                reinterpret_cast<const uint4 *>(args.gamma + slice * chunk_cols)[32 * i + lane];
        }
    }
#pragma unroll
    for (int i = 1; i < linear_stages; i++) {
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
#pragma unroll
    for (int i = 0; i < pieces; i++) {
        x[i] = reinterpret_cast<const uint4 *>(args.x + slice * chunk_cols)[32 * i + lane];
    }
    /* Which output a thread completes in the end. */
    const int my_pair = thread / shape::pair_outputs;
    const int my_output = shape::pair_outputs * (block_stream + my_pair % block_streams +
                                                 my_pair / block_streams * streams) +
                          thread % shape::pair_outputs;
    float residual = 0;
    if (shape::residual && my_output < shape::outputs) {
        residual = __bfloat162float(args.residual[my_output]);
    }
    if (shape::norm) {
        float squares = scale_by_gamma(x, gamma);
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2) {
            squares += __shfl_xor_sync(~0u, squares, distance);
        }
        if (lane == 0 && warp < shape::slices) {
            square_sums[warp] = squares; /* the sums are divided by the norm in the end */
        }
    }

    int stage = 0;
    unsigned parity = 0;
    for (int chunk = 0; chunk < chunks; chunk++) {
        barrier_wait(barriers + static_cast<unsigned>(8 * stage), parity);
        const uint4 *const from = my_ring + stage * (chunk_bytes / 16) + lane;
        uint4 a[pieces], b[pieces];
#pragma unroll
        for (int i = 0; i < pieces; i++) {
            a[i] = from[32 * i];
            b[i] = from[32 * (i + pieces)];
        }
        __syncwarp();                                    /* the stage has been read by all */
        const int left = chunks - chunk - linear_stages; /* to be fetched */
        if (left > 0 && lane == 0) {
            fetch(chunk + linear_stages, stage);
        }
        if (left <= 1) {
            PDL_TRIGGER_POINT(2);
        }
        if (left <= 4) {
            PDL_TRIGGER_POINT(3);
        }
        if (left <= 8) {
            PDL_TRIGGER_POINT(4);
        }
        const float total = multiply_rows(a, b, x);
        if (lane % 16 == 0) {
            sums[2 * (chunk * linear_warps + warp) + lane / 16] = total;
        }
        stage = stage + 1 == linear_stages ? 0 : stage + 1;
        parity ^= stage == 0;
    }
    __syncthreads();

    if (my_output < shape::outputs) {
        auto row_sum = [&](int row) {
            float sum = 0;
#pragma unroll
            for (int i = 0; i < shape::slices; i++) {
                sum += sums[2 * (my_pair * shape::slices + i) + row];
            }
            return sum;
        };
        float scale = 1;
        if (shape::norm) {
            float squares = 0;
#pragma unroll
            for (int i = 0; i < shape::slices; i++) {
                squares += square_sums[i];
            }
            scale = rsqrtf(squares / shape::cols + norm_epsilon);
        }
        float value = scale * row_sum(thread % shape::pair_outputs);
        if (Kind == GATE_UP) {
            value = value / (1 + __expf(-value)) * (scale * row_sum(1));
        }
        args.y[my_output] = __float2bfloat16(value + residual);
    }
    stamp_end(args.stamps);
}

#endif /* PDL_EXAMPLES_DECODE_LINEAR_CUH */
