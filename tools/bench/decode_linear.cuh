/* SPDX-License-Identifier: MIT */
/* The decoder's products of a matrix in bf16 with a vector, with what surrounds them: RMSNorm before,
 * SiLU or the residual after.
 *
 * The time is that of reading the weights once, so the kernel is made to keep reads in flight, also
 * across the end of the kernel before. Each warp has a ring of stages in shared memory, which the copy
 * engine fills. The stages are filled before the wait, because weights do not depend on the kernel
 * before. (To bring more of them to L2 meanwhile does not pay.) After the wait come the
 * activations, and then the ring is used up and filled again. A block uses less than half of an SM's
 * shared memory and registers: so the next kernel's block fits beside it, and attention's beside the
 * two. With two blocks on each SM, a block of the next kernel takes the place of the first that has
 * ended and fills its ring while the second still runs.
 *
 * A block has all columns of some rows; its warps take them in turn, 128 or 256 columns at a time. */
#ifndef PDL_BENCH_DECODE_LINEAR_CUH
#define PDL_BENCH_DECODE_LINEAR_CUH

#include "decode_device.cuh"

enum linear_kind { QKV, OUT, GATE_UP, DOWN, HEAD };

static const int linear_warps = 8;
static const int linear_threads = 32 * linear_warps;
static const int most_stages = 32; /* of each warp's ring: a lane initializes each */

/* ---- where weights lie ----------------------------------------------------------------------- */

/* A tile is what a lane takes 16 bytes of: eight rows of 32 columns. */
static const int tile_cols = 32;

/* Eight outputs are a unit: a row of tiles; or two, of gate and up in turn. */
__host__ __device__ constexpr int unit_tiles(linear_kind kind)
{
    return kind == GATE_UP ? 2 : 1;
}

/* Where the weight of that row and column lies, in elements. The rows of gate come before those of up. */
__host__ __device__ inline size_t weight_place(bool gate_up, int rows, int cols, int row, int col)
{
    const int outputs = gate_up ? rows / 2 : rows;
    const int r = row % outputs;
    const size_t column = static_cast<size_t>(r / 8) * (cols / tile_cols) + col / tile_cols;
    const size_t tile = gate_up ? 2 * column + row / outputs : column;
    return tile * (8 * tile_cols) + r % 8 * tile_cols + col % tile_cols;
}

/* ---- the launch ------------------------------------------------------------------------------ */

/* What can be chosen. */
struct linear_setting {
    unsigned blocks;
    int ring_bytes; /* of a block, at most */
    int pace; /* KiB of a block's ring to have on the way at first, before the wait. All at once
                     * fills the memory's queues too, and the activations that the kernel before
                     * waits for stand in them */
};

struct linear_args {
    const bf16 *weights;  /* in tiles */
    const bf16 *gamma;    /* of the norm */
    const bf16 *x;        /* columns used */
    const bf16 *residual; /* or NULL */
    bf16 *y;
    kernel_stamps *stamps;
    int rows, cols;
    /* linear_plan() sets these. */
    int stages, pace;              /* of each warp's ring */
    int unit_chunks;               /* of all warps */
    int warp_chunks;               /* of a unit, at most */
    int block_units, extra_blocks; /* so many blocks have a unit more */
};

/* Columns that a warp multiplies at a time: those of 4 KiB of weights where each warp gets as much as the
 * others with so many, otherwise 128. */
constexpr int chunk_columns(linear_kind kind, int cols)
{
    return unit_tiles(kind) == 1 && cols % (256 * linear_warps) == 0 ? 256 : 128;
}

struct linear_launch {
    unsigned blocks, shared_bytes;
};

/* Completes the arguments; 0 blocks where a block would have no room or the widths do not fit. */
inline linear_launch linear_plan(linear_kind kind, const linear_setting &setting, linear_args *args)
{
    const int tiles = unit_tiles(kind);
    const int units = args->rows / (8 * tiles);
    const int chunk_cols = chunk_columns(kind, args->cols);
    const int chunks = args->cols / chunk_cols;
    if (args->rows % (8 * tiles) != 0 || args->cols % chunk_cols != 0 || setting.blocks == 0 ||
        args->cols > (kind == DOWN ? 16384 : 4096)) {
        return {0, 0};
    }
    const int chunk_bytes = tiles * 8 * chunk_cols * 2;
    const int stage_bytes = linear_warps * chunk_bytes;
    const int blocks = std::min(static_cast<int>(setting.blocks), units);
    args->block_units = units / blocks;
    args->extra_blocks = units % blocks;
    const int most_units = args->block_units + (args->extra_blocks > 0);
    args->unit_chunks = chunks;
    args->warp_chunks = (chunks + linear_warps - 1) / linear_warps;
    args->stages = std::min({std::max(1, setting.ring_bytes / stage_bytes),
                             most_units * args->warp_chunks, most_stages});
    args->pace = std::max(1, (setting.pace << 10) / stage_bytes);
    const size_t shared = size_t{linear_warps} * (args->stages * (chunk_bytes + 8) +
                                                  args->warp_chunks * chunk_cols * 2) +
                          size_t{4} * most_units * tiles * linear_warps * 8;
    if (shared > most_shared) {
        return {0, 0};
    }
    return {static_cast<unsigned>(blocks), static_cast<unsigned>(shared)};
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* Looks the token up: its row of the embedding becomes the first layer's input. */
static const int embed_threads = 256;

struct embed_args {
    const bf16 *table; /* in tiles: it is the last product's matrix as well */
    const int *token;
    bf16 *y;
    kernel_stamps *stamps;
    int vocabulary, hidden;
};

static __global__ void __launch_bounds__(embed_threads) embed(const embed_args args)
{
    stamp_start(args.stamps);
    PDL_LAUNCH_DEPENDENTS();
    PDL_WAIT();
    const int token = *args.token;
    for (int col = 8 * static_cast<int>(threadIdx.x); col < args.hidden; col += 8 * embed_threads) {
        const size_t place = weight_place(false, args.vocabulary, args.hidden, token, col);
        *reinterpret_cast<uint4 *>(args.y + col) =
            *reinterpret_cast<const uint4 *>(args.table + place);
    }
    stamp_end(args.stamps);
}

/* Goes through a warp's chunks in the order in which they are multiplied: unit by unit. */
struct chunk_cursor {
    const char *at;
    int chunk;

    __device__ void next(int warp_chunks, unsigned stage_bytes, size_t unit_bytes)
    {
        at += stage_bytes;
        if (++chunk == warp_chunks) {
            chunk = 0;
            at += unit_bytes - warp_chunks * size_t{stage_bytes};
        }
    }
};

/* Where 16 bytes of a warp's activations lie, in these. */
template <int Chunk> __device__ inline int piece_place(int piece)
{
    constexpr int pieces = Chunk / 8;
    return piece / pieces * (linear_warps * pieces) + piece % pieces;
}

/* A warp's activations: loaded into registers, and later stored as the tensor core's operand. */
template <int Chunk, bool Norm, bool Wide> struct warp_inputs {
    static constexpr int most = Wide ? 8 : 2; /* loads of a lane */
    uint4 x[most], gamma[most];

    __device__ void load_gamma(const linear_args &args, int first_col, int pieces, int lane)
    {
#pragma unroll
        for (int i = 0; Norm && i < most; i++) {
            if (32 * i + lane < pieces) {
                gamma[i] = reinterpret_cast<const uint4 *>(
                    args.gamma + first_col)[piece_place<Chunk>(32 * i + lane)];
            }
        }
    }

    /* `pieces` of 16 bytes. */
    __device__ void load(const linear_args &args, int first_col, int pieces, int lane)
    {
#pragma unroll
        for (int i = 0; i < most; i++) {
            const int piece = 32 * i + lane;
            if (piece < pieces) {
                x[i] =
                    reinterpret_cast<const uint4 *>(args.x + first_col)[piece_place<Chunk>(piece)];
            }
        }
    }

    /* Adds to each lane's sum of squares those of what it has. */
    __device__ void store(uint4 *to, int pieces, int lane, float &squares)
    {
#pragma unroll
        for (int i = 0; i < most; i++) {
            const int piece = 32 * i + lane;
            if (piece < pieces) {
                if (Norm) {
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
                to[piece] = x[i];
            }
        }
    }
};

/* The sums of a unit, of which there are four, so that no product waits for the one before. The weights
 * are the operand's rows, 16 at a time: those of gate and up; or of two tiles that are beside each other, of
 * which the second is multiplied with x in the odd columns. */
template <int Tiles> struct unit_sums {
    float all[4][4] = {};

    /* Eight sums of each tile: of all warps, [tile][warp][row]. */
    __device__ void store(float *to, int lane)
    {
#pragma unroll
        for (int i = 1; i < 4; i++) {
#pragma unroll
            for (int n = 0; n < 4; n++) {
                all[0][n] += all[i][n];
            }
        }
        if (lane % 4 == 0) {
            to[lane / 4] = Tiles == 1 ? all[0][0] + all[0][3] : all[0][0];
            if (Tiles == 2) {
                to[linear_warps * 8 + lane / 4] = all[0][2];
            }
        }
    }
};

/* Adds the product of a chunk with x to the sums. `release` is called once the chunk has been read. */
template <int Chunk, int Tiles, typename Release>
__device__ inline void multiply_chunk(unit_sums<Tiles> &sums, const uint4 *from, const uint4 *x,
                                      int lane, Release &&release)
{
    constexpr int count = Chunk / tile_cols;
    uint4 w[count][Tiles];
#pragma unroll
    for (int i = 0; i < count; i++) {
#pragma unroll
        for (int k = 0; k < Tiles; k++) {
            w[i][k] = from[(i * Tiles + k) * 32 + lane];
        }
    }
    release();
    constexpr int step = Tiles == 1 ? 2 : 1;
    const uint4 *const mine = x + lane % 4 + (Tiles == 1 ? lane / 4 % 2 * 4 : 0);
#pragma unroll
    for (int i = 0; i < count; i += step) {
        const uint4 b = mine[i * 4];
        const uint4 upper = w[i][0], lower = w[i + step - 1][Tiles - 1];
        multiply(sums.all[i / step % 2 * 2], upper.x, lower.x, upper.y, lower.y, b.x, b.y);
        multiply(sums.all[i / step % 2 * 2 + 1], upper.z, lower.z, upper.w, lower.w, b.z, b.w);
    }
}

/* Any grid; linear_plan() completes the arguments. It triggers at the start of the blocks, so that the next
 * kernel's follow as soon as there is room for them. */
template <linear_kind Kind, int Chunk>
static __global__ void __launch_bounds__(linear_threads, 2) linear(const linear_args args)
{
    constexpr int tiles = unit_tiles(Kind);
    constexpr bool norm = Kind == QKV || Kind == GATE_UP || Kind == HEAD;
    extern __shared__ __align__(bulk_alignment) uint4 linear_shared[];
    __shared__ float square_sums[linear_warps];

    PDL_CONSTANT_PARAM(args.weights);
    PDL_CONSTANT_PARAM(args.gamma);
    stamp_start(args.stamps);

    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    const int warp = thread / 32;
    const int block = static_cast<int>(blockIdx.x);
    const int units = args.block_units + (block < args.extra_blocks);
    const int first_unit = block * args.block_units + min(block, args.extra_blocks);
    constexpr unsigned chunk_bytes = tiles * 8 * Chunk * sizeof(bf16);
    constexpr unsigned stage_bytes = linear_warps * chunk_bytes;
    const size_t unit_bytes = size_t{chunk_bytes} * args.unit_chunks;
    const int warp_chunks = (args.unit_chunks - warp + linear_warps - 1) / linear_warps;
    const int chunks = units * warp_chunks;
    const int pieces = Chunk / 8 * warp_chunks;

    /* A ring for each warp, activations for each, the sums, the barriers. */
    const int ring_size = static_cast<int>(args.stages * chunk_bytes / 16);
    const int inputs_size = args.warp_chunks * (Chunk / 8);
    const uint4 *const ring = linear_shared + warp * ring_size;
    uint4 *const inputs = linear_shared + linear_warps * ring_size + warp * inputs_size;
    float *const sums =
        reinterpret_cast<float *>(linear_shared + linear_warps * (ring_size + inputs_size));
    constexpr int sums_size = tiles * linear_warps * 8; /* of a unit */
    const int most_units = args.block_units + (args.extra_blocks > 0);
    const unsigned barriers = shared_address(sums + most_units * sums_size) +
                              static_cast<unsigned>(8 * warp * args.stages);
    const unsigned long long policy = read_once();
    const char *const weights = reinterpret_cast<const char *>(args.weights) +
                                first_unit * unit_bytes + size_t{chunk_bytes} * warp;
    chunk_cursor cursor = {weights, 0};
    auto fetch = [&](int stage) {
        const unsigned barrier = barriers + static_cast<unsigned>(8 * stage);
        barrier_expect(barrier, chunk_bytes);
        bulk_copy(shared_address(ring) + static_cast<unsigned>(stage) * chunk_bytes, cursor.at,
                  chunk_bytes, barrier, policy);
        cursor.next(warp_chunks, stage_bytes, unit_bytes);
    };

    const int filled = min(chunks, args.stages);
    if (lane < args.stages) {
        barrier_init(barriers + static_cast<unsigned>(8 * lane));
        barrier_init_done();
    }
    __syncwarp();
    if (lane == 0) {
#pragma unroll 1
        for (int i = 0; i < min(filled, args.pace); i++) {
            fetch(i);
        }
    }
    __syncwarp();
    PDL_LAUNCH_DEPENDENTS();
    const int first_col = warp * Chunk;
    warp_inputs<Chunk, norm, Kind == DOWN> now;
    now.load_gamma(args, first_col, pieces, lane);
#pragma unroll 1
    for (int i = args.pace; i < filled; i++) {
        barrier_wait(barriers + static_cast<unsigned>(8 * (i - args.pace)), 0);
        if (lane == 0) {
            fetch(i);
        }
    }

    PDL_WAIT();

    now.load(args, first_col, pieces, lane);
    /* Which outputs a thread completes in the end; the first one's residual is on its way now. */
    const int block_outputs = 8 * units;
    const bool residual = (Kind == OUT || Kind == DOWN) && args.residual != nullptr;
    float first_residual = 0;
    if (residual && thread < block_outputs) {
        first_residual = __bfloat162float(args.residual[8 * first_unit + thread]);
    }

    float squares = 0;
    int stage = 0, done = 0;
    unsigned parity = 0;
    now.store(inputs, pieces, lane, squares);
    __syncwarp();
#pragma unroll 1
    for (int unit = 0; unit < units; unit++) {
        unit_sums<tiles> products;
#pragma unroll 1
        for (int chunk = 0; chunk < warp_chunks; chunk++) {
            barrier_wait(barriers + static_cast<unsigned>(8 * stage), parity);
            const uint4 *const from = ring + stage * static_cast<int>(chunk_bytes / 16);
            const uint4 *const x = inputs + chunk * (Chunk / 8);
            auto release = [&] {
                __syncwarp(); /* the stage has been read by all */
                if (chunks - done - args.stages > 0 && lane == 0) { /* to be fetched */
                    fetch(stage);
                }
            };
            multiply_chunk<Chunk, tiles>(products, from, x, lane, release);
            done++;
            stage = stage + 1 == args.stages ? 0 : stage + 1;
            parity ^= stage == 0;
        }
        products.store(sums + unit * sums_size + warp * 8, lane);
    }
    if (norm) { /* the sums are divided by it in the end */
        for (int distance = 16; distance > 0; distance /= 2) {
            squares += __shfl_xor_sync(~0u, squares, distance);
        }
        if (lane == 0) {
            square_sums[warp] = squares;
        }
    }
    __syncthreads();

#pragma unroll 1
    for (int i = thread; i < block_outputs; i += linear_threads) {
        auto row_sum = [&](int tile) {
            const float *const from = sums + i / 8 * sums_size + tile * linear_warps * 8 + i % 8;
            float sum = 0;
#pragma unroll
            for (int w = 0; w < linear_warps; w++) {
                sum += from[w * 8];
            }
            return sum;
        };
        float scale = 1;
        if (norm) {
            float total = 0;
#pragma unroll
            for (int w = 0; w < linear_warps; w++) {
                total += square_sums[w];
            }
            scale = rsqrtf(total / static_cast<float>(args.cols) + norm_epsilon);
        }
        float value = scale * row_sum(0);
        if (Kind == GATE_UP) {
            value = value / (1 + __expf(-value)) * (scale * row_sum(tiles - 1));
        }
        if (residual) {
            value +=
                i == thread ? first_residual : __bfloat162float(args.residual[8 * first_unit + i]);
        }
        args.y[8 * first_unit + i] = __float2bfloat16(value);
    }
    stamp_end(args.stamps);
}

#endif /* PDL_BENCH_DECODE_LINEAR_CUH */
