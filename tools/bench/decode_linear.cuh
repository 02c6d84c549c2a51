/* SPDX-License-Identifier: MIT */
/* The decoder's products of a matrix with 1 to 16 vectors, with what surrounds them: RMSNorm before,
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

/* A tile is what a lane takes 16 bytes of: eight rows of 32 columns in bf16, of 64 in fp8. */
static const int tile_bytes = 512;

template <typename Weight> constexpr int tile_cols = tile_bytes / 8 / int{sizeof(Weight)};

/* Eight outputs are a unit: a row of tiles; or two, of gate and up in turn. */
__host__ __device__ constexpr int unit_tiles(linear_kind kind)
{
    return kind == GATE_UP ? 2 : 1;
}

/* Where the weight of that row and column lies, in elements. The rows of gate come before those of up.
 * In fp8 a lane's first eight are of the tile's first half, and of each four the odd ones come last. */
template <typename Weight>
__host__ __device__ inline size_t weight_place(bool gate_up, int rows, int cols, int row, int col)
{
    constexpr int width = tile_cols<Weight>;
    const int outputs = gate_up ? rows / 2 : rows;
    const int r = row % outputs;
    const size_t column = static_cast<size_t>(r / 8) * (cols / width) + col / width;
    const size_t tile = gate_up ? 2 * column + row / outputs : column;
    const int lane = r % 8 * 4 + col % 32 / 8;
    const int within = sizeof(Weight) == 2
                           ? col % 8
                           : col % 64 / 32 * 8 + col % 8 / 4 * 4 + col % 2 * 2 + col % 4 / 2;
    return tile * (8 * width) + lane * (width / 4) + within;
}

/* ---- the launch ------------------------------------------------------------------------------ */

/* What can be chosen. */
struct linear_setting {
    unsigned blocks;
    int ring_bytes; /* of a block, at most */
    int pace;       /* KiB of a block's ring to have on the way before the wait, 0: all. All at once
                     * fills the memory's queues too, and the activations that the kernel before
                     * waits for stand in them */
};

struct linear_args {
    const void *weights;
    const float *scales;  /* of the rows, in fp8 */
    const bf16 *gamma;    /* of the norm */
    const bf16 *x;        /* [sequence][x_stride], columns used */
    const bf16 *residual; /* [sequence][output]; NULL: none */
    bf16 *y;              /* the same */
    kernel_stamps *stamps;
    int rows, cols, x_stride, batch;
    /* linear_plan() sets these. */
    int stages, pace;              /* of each warp's ring */
    int unit_chunks;               /* of all warps */
    int segment_chunks;            /* of a warp, whose activations it holds at a time */
    int block_units, extra_blocks; /* so many blocks have a unit more */
};

/* Sequences that a kernel is compiled for: 1, or 8 or 16 rows of the tensor core's operand. */
constexpr int batch_rows(int batch)
{
    return batch == 1 ? 1 : batch <= 8 ? 8 : 16;
}

/* Columns that a warp multiplies at a time, of one sequence: those of 4 KiB of weights at most. */
constexpr int most_columns(linear_kind kind, size_t weight_size)
{
    return unit_tiles(kind) * weight_size < 4 ? 256 : 128;
}

/* 128, unless each warp gets as much as the others with more. */
constexpr int chunk_columns(linear_kind kind, size_t weight_size, int batch, int cols)
{
    const int most = most_columns(kind, weight_size);
    return batch == 1 && cols % (most * linear_warps) == 0 ? most : 128;
}

struct linear_launch {
    unsigned blocks, shared_bytes;
};

/* Completes the arguments; 0 blocks where a block would have no room or the widths do not fit. */
inline linear_launch linear_plan(linear_kind kind, size_t weight_size,
                                 const linear_setting &setting, linear_args *args)
{
    const int tiles = unit_tiles(kind), rows = batch_rows(args->batch);
    const int units = args->rows / (8 * tiles);
    const int chunk_cols = chunk_columns(kind, weight_size, args->batch, args->cols);
    const int chunks = args->cols / chunk_cols;
    if (args->rows % (8 * tiles) != 0 || args->cols % chunk_cols != 0 || setting.blocks == 0 ||
        (rows > 1 && chunks < linear_warps) ||
        (rows == 1 && args->cols > (kind == DOWN ? 16384 : 4096))) {
        return {0, 0};
    }
    const int chunk_bytes = tiles * 8 * chunk_cols * static_cast<int>(weight_size);
    const int stage_bytes = linear_warps * chunk_bytes;
    const int warp_chunks = (chunks + linear_warps - 1) / linear_warps;
    const int blocks = std::min(static_cast<int>(setting.blocks), units);
    args->block_units = units / blocks;
    args->extra_blocks = units % blocks;
    const int most_units = args->block_units + (args->extra_blocks > 0);
    args->unit_chunks = chunks;
    /* The activations are eight loads of a lane at most. */
    args->segment_chunks = rows == 1 ? warp_chunks : rows == 8 && chunks % 16 == 0 ? 2 : 1;
    args->stages = std::min(
        {std::max(1, setting.ring_bytes / stage_bytes), most_units * warp_chunks, most_stages});
    args->pace = setting.pace == 0 ? args->stages : std::max(1, (setting.pace << 10) / stage_bytes);
    const size_t shared = size_t{linear_warps} * (args->stages * (chunk_bytes + 8) +
                                                  args->segment_chunks * chunk_cols * rows * 2) +
                          size_t{4} * most_units * tiles * linear_warps * 8 * rows;
    if (shared > most_shared) {
        return {0, 0};
    }
    return {static_cast<unsigned>(blocks), static_cast<unsigned>(shared)};
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* Looks the tokens up: their rows of the embedding become the first layer's input. A block for each. */
static const int embed_threads = 256;

struct embed_args {
    const bf16 *table; /* in tiles: it is the last product's matrix as well */
    const int *tokens;
    bf16 *y;
    kernel_stamps *stamps;
    int vocabulary, hidden;
};

static __global__ void __launch_bounds__(embed_threads) embed(const embed_args args)
{
    stamp_start(args.stamps);
    PDL_LAUNCH_DEPENDENTS();
    PDL_WAIT();
    const int token = args.tokens[blockIdx.x];
    for (int col = 8 * static_cast<int>(threadIdx.x); col < args.hidden; col += 8 * embed_threads) {
        const size_t place = weight_place<bf16>(false, args.vocabulary, args.hidden, token, col);
        *reinterpret_cast<uint4 *>(args.y + blockIdx.x * size_t{1} * args.hidden + col) =
            *reinterpret_cast<const uint4 *>(args.table + place);
    }
    stamp_end(args.stamps);
}

/* The eight weights of a lane's column of b that belong to a half of the tile. */
template <typename Weight> __device__ inline uint4 weights_of(const uint4 &tile, int half);

template <> __device__ inline uint4 weights_of<bf16>(const uint4 &tile, int)
{
    return tile;
}

/* Four e4m3 in a word, of which the even ones become the first pair. Exponent and mantissa fit bf16's
 * as they are; 2^120 makes up for the exponents' biases, and is right for subnormal numbers, too. */
__device__ inline uint2 widen(unsigned four)
{
    const __nv_bfloat162 bias =
        __nv_bfloat162{__ushort_as_bfloat16(0x7b80), __ushort_as_bfloat16(0x7b80)};
    const unsigned pairs[2] = {((four << 8) & 0x80008000u) | ((four << 4) & 0x07f007f0u),
                               (four & 0x80008000u) | ((four >> 4) & 0x07f007f0u)};
    uint2 to;
    const __nv_bfloat162 first = __hmul2(reinterpret_cast<const __nv_bfloat162 &>(pairs[0]), bias);
    const __nv_bfloat162 second = __hmul2(reinterpret_cast<const __nv_bfloat162 &>(pairs[1]), bias);
    to.x = reinterpret_cast<const unsigned &>(first);
    to.y = reinterpret_cast<const unsigned &>(second);
    return to;
}

template <> __device__ inline uint4 weights_of<fp8>(const uint4 &tile, int half)
{
    const uint2 first = widen(half == 0 ? tile.x : tile.z);
    const uint2 second = widen(half == 0 ? tile.y : tile.w);
    return make_uint4(first.x, first.y, second.x, second.y);
}

/* Goes through a warp's chunks in the order in which they are multiplied: all units of a block for one
 * segment of the columns, then for the next. */
struct chunk_cursor {
    const char *at;
    int chunk, unit;

    __device__ void next(int segment_chunks, int units, unsigned stage_bytes, size_t unit_bytes)
    {
        at += stage_bytes;
        if (++chunk == segment_chunks) {
            chunk = 0;
            at += unit_bytes - segment_chunks * size_t{stage_bytes};
            if (++unit == units) {
                unit = 0;
                at += segment_chunks * size_t{stage_bytes} - units * unit_bytes;
            }
        }
    }
};

/* Where 16 bytes of a warp's activations lie, in these. */
template <int Chunk> __device__ inline int piece_place(int piece)
{
    constexpr int pieces = Chunk / 8;
    return piece / pieces * (linear_warps * pieces) + piece % pieces;
}

/* The activations of a segment: loaded into registers, and later stored as the tensor core's operand,
 * in which a column of 32 terms has all sequences. */
template <int Rows, int Chunk, bool Norm, bool Wide> struct segment_inputs {
    static constexpr int most = Rows > 1 || Wide ? 8 : 2; /* loads of a lane */
    static constexpr int gammas = Rows == 1 ? most : 1;
    static constexpr int sums = Rows == 1 ? 1 : most; /* of squares: each of one sequence */
    uint4 x[most], gamma[gammas];

    __device__ void load_gamma(const linear_args &args, int first_col, int pieces, int lane)
    {
#pragma unroll
        for (int i = 0; Norm && i < gammas; i++) {
            if (32 * i + lane < pieces || Rows > 1) {
                gamma[i] = reinterpret_cast<const uint4 *>(
                    args.gamma +
                    first_col)[piece_place<Chunk>(Rows > 1 ? lane % pieces : 32 * i + lane)];
            }
        }
    }

    /* `pieces` of 16 bytes for each sequence; a power of two for more than one. */
    __device__ void load(const linear_args &args, int first_col, int pieces, int lane)
    {
#pragma unroll
        for (int i = 0; i < most; i++) {
            const int at = 32 * i + lane;
            if (at < pieces * args.batch) {
                const int sequence = Rows == 1 ? 0 : at / pieces;
                const int piece = Rows == 1 ? at : at % pieces;
                x[i] = reinterpret_cast<const uint4 *>(
                    args.x + static_cast<size_t>(sequence) * args.x_stride +
                    first_col)[piece_place<Chunk>(piece)];
            }
        }
    }

    /* Adds to each lane's sums of squares of what it has. */
    __device__ void store(const linear_args &args, uint4 *to, int pieces, int lane,
                          float (&squares)[sums])
    {
#pragma unroll
        for (int i = 0; i < most; i++) {
            const int at = 32 * i + lane;
            if (at < pieces * args.batch) {
                const int sequence = Rows == 1 ? 0 : at / pieces;
                const int piece = Rows == 1 ? at : at % pieces;
                if (Norm) {
                    float values[8], scale[8];
                    unpack(x[i], values);
                    unpack(gamma[i < gammas ? i : gammas - 1], scale);
#pragma unroll
                    for (int k = 0; k < 8; k++) {
                        squares[i % sums] = fmaf(values[k], values[k], squares[i % sums]);
                        values[k] *= scale[k];
                    }
                    x[i] = pack(values);
                }
                to[(piece / 4 * Rows + sequence) * 4 + piece % 4] = x[i];
            }
        }
    }
};

/* The sums of a unit, of which there are four, so that no product waits for the one before.
 *
 * With several sequences these are the operand's rows, and the weights its columns. With one sequence the
 * weights are the rows, 16 at a time: those of gate and up; or of two tiles that are beside each other, of
 * which the second is multiplied with x in the odd columns. */
template <int Rows, int Tiles> struct unit_sums {
    float all[4][4] = {};

    /* Eight sums of each tile: of all warps, [tile][warp][sequence][row]. */
    __device__ void store(float *to, int lane, bool first)
    {
#pragma unroll
        for (int i = Rows == 1 ? 1 : Tiles; i < 4; i++) {
#pragma unroll
            for (int n = 0; n < 4; n++) {
                all[Rows == 1 ? 0 : i % Tiles][n] += all[i][n];
            }
        }
        if constexpr (Rows == 1) {
            if (lane % 4 == 0) {
                to[lane / 4] = Tiles == 1 ? all[0][0] + all[0][3] : all[0][0];
                if (Tiles == 2) {
                    to[linear_warps * 8 + lane / 4] = all[0][2];
                }
            }
        } else {
#pragma unroll
            for (int k = 0; k < Tiles; k++) {
                float2 *const place =
                    reinterpret_cast<float2 *>(to + k * linear_warps * 8 * Rows) + lane;
#pragma unroll
                for (int half = 0; half < Rows / 8; half++) {
                    const float2 before = first ? make_float2(0, 0) : place[32 * half];
                    place[32 * half] =
                        make_float2(before.x + all[k][2 * half], before.y + all[k][2 * half + 1]);
                }
            }
        }
    }
};

/* Adds the product of a chunk with x to the sums. `release` is called once the chunk has been read. */
template <typename Weight, int Rows, int Chunk, int Tiles, typename Release>
__device__ inline void multiply_chunk(unit_sums<Rows, Tiles> &sums, const uint4 *from,
                                      const uint4 *x, int lane, Release &&release)
{
    constexpr int halves = tile_cols<Weight> / 32;
    constexpr int count = Chunk / tile_cols<Weight>;
    uint4 w[count][Tiles];
#pragma unroll
    for (int i = 0; i < count; i++) {
#pragma unroll
        for (int k = 0; k < Tiles; k++) {
            w[i][k] = from[(i * Tiles + k) * 32 + lane];
        }
    }
    release();
    if constexpr (Rows == 1) {
        constexpr int step = Tiles == 1 ? 2 : 1;
        const uint4 *const mine = x + lane % 4 + (Tiles == 1 ? lane / 4 % 2 * 4 : 0);
#pragma unroll
        for (int i = 0; i < count * halves; i += step) {
            const int other = i + step - 1;
            const uint4 b = mine[i * 4];
            const uint4 upper = weights_of<Weight>(w[i / halves][0], i % halves);
            const uint4 lower = weights_of<Weight>(w[other / halves][Tiles - 1], other % halves);
            multiply(sums.all[i / step % 2 * 2], upper.x, lower.x, upper.y, lower.y, b.x, b.y);
            multiply(sums.all[i / step % 2 * 2 + 1], upper.z, lower.z, upper.w, lower.w, b.z, b.w);
        }
    } else {
#pragma unroll
        for (int i = 0; i < count * halves; i++) {
            const uint4 upper = x[i * Rows * 4 + lane];
            const uint4 lower = Rows == 16 ? x[i * Rows * 4 + 32 + lane] : make_uint4(0, 0, 0, 0);
#pragma unroll
            for (int k = 0; k < Tiles; k++) {
                const uint4 b = weights_of<Weight>(w[i / halves][k], i % halves);
                const int sum = (Tiles == 2 ? i % 2 * 2 : i % 4) + k;
                multiply_32(sums.all[sum], upper, lower, b);
            }
        }
    }
}

/* Any grid; linear_plan() completes the arguments.
 *
 * Trigger points: 0 is at the start of the blocks, so that the next kernel's follow as soon as there is
 * room for them; 1 is behind the wait; 2 to 4 are where a warp's last copy is on its way, or four or
 * eight copies earlier. */
template <linear_kind Kind, typename Weight, int Rows, int Chunk>
static __global__ void __launch_bounds__(linear_threads, 2) linear(const linear_args args)
{
    constexpr int tiles = unit_tiles(Kind);
    constexpr bool norm = Kind == QKV || Kind == GATE_UP || Kind == HEAD;
    constexpr int operand = Rows * 4; /* of 16 bytes: 32 columns of x */
    extern __shared__ __align__(bulk_alignment) uint4 linear_shared[];
    __shared__ float square_sums[linear_warps][Rows];

    PDL_CONSTANT_PARAM(args.weights);
    PDL_CONSTANT_PARAM(args.scales);
    PDL_CONSTANT_PARAM(args.gamma);
    stamp_start(args.stamps);

    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    const int warp = thread / 32;
    const int block = static_cast<int>(blockIdx.x);
    const int units = args.block_units + (block < args.extra_blocks);
    const int first_unit = block * args.block_units + min(block, args.extra_blocks);
    constexpr unsigned chunk_bytes = tiles * 8 * Chunk * sizeof(Weight);
    constexpr unsigned stage_bytes = linear_warps * chunk_bytes;
    const size_t unit_bytes = size_t{chunk_bytes} * args.unit_chunks;
    const int warp_chunks = (args.unit_chunks - warp + linear_warps - 1) / linear_warps;
    const int segment_chunks = Rows == 1 ? warp_chunks : args.segment_chunks;
    const int segments = Rows == 1             ? 1
                         : segment_chunks == 1 ? max(warp_chunks, 1)
                                               : warp_chunks / 2;
    const int chunks = units * warp_chunks;
    const int pieces = Chunk / 8 * segment_chunks; /* of a sequence's segment */

    /* A ring for each warp, activations for each, the sums, the barriers. */
    const int ring_size = static_cast<int>(args.stages * chunk_bytes / 16);
    const int inputs_size = args.segment_chunks * (Chunk / 32) * operand;
    const uint4 *const ring = linear_shared + warp * ring_size;
    uint4 *const inputs = linear_shared + linear_warps * ring_size + warp * inputs_size;
    float *const sums =
        reinterpret_cast<float *>(linear_shared + linear_warps * (ring_size + inputs_size));
    constexpr int sums_size = tiles * linear_warps * 8 * Rows; /* of a unit */
    const int most_units = args.block_units + (args.extra_blocks > 0);
    const unsigned barriers = shared_address(sums + most_units * sums_size) +
                              static_cast<unsigned>(8 * warp * args.stages);
    const unsigned long long policy = read_once();
    const char *const weights = static_cast<const char *>(args.weights) + first_unit * unit_bytes +
                                size_t{chunk_bytes} * warp;
    chunk_cursor cursor = {weights, 0, 0};
    auto fetch = [&](int stage) {
        const unsigned barrier = barriers + static_cast<unsigned>(8 * stage);
        barrier_expect(barrier, chunk_bytes);
        bulk_copy(shared_address(ring) + static_cast<unsigned>(stage) * chunk_bytes, cursor.at,
                  chunk_bytes, barrier, policy);
        cursor.next(segment_chunks, units, stage_bytes, unit_bytes);
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
    PDL_TRIGGER_POINT(0);
    const int first_col = warp * Chunk;
    segment_inputs<Rows, Chunk, norm, Kind == DOWN> now;
    now.load_gamma(args, first_col, pieces, lane);
#pragma unroll 1
    for (int i = args.pace; i < filled; i++) {
        barrier_wait(barriers + static_cast<unsigned>(8 * (i - args.pace)), 0);
        if (lane == 0) {
            fetch(i);
        }
    }

    PDL_WAIT();
    PDL_TRIGGER_POINT(1);

    now.load(args, first_col, pieces, lane);
    /* Which outputs a thread completes in the end; the first one's residual is on its way now. */
    const int block_outputs = 8 * units;
    const int outputs = args.rows / tiles;
    auto sequence_of = [&](int i) { return Rows == 1 ? 0 : i / block_outputs; };
    auto place_of = [&](int i, int sequence) {
        return static_cast<size_t>(sequence) * outputs + 8 * first_unit + i -
               sequence * block_outputs;
    };
    const bool residual = (Kind == OUT || Kind == DOWN) && args.residual != nullptr;
    float first_residual = 0;
    if (residual && thread < block_outputs * args.batch) {
        first_residual = __bfloat162float(args.residual[place_of(thread, sequence_of(thread))]);
    }

    float squares[segment_inputs<Rows, Chunk, norm, Kind == DOWN>::sums] = {};
    int stage = 0, done = 0;
    unsigned parity = 0;
#pragma unroll 1
    for (int segment = 0; segment < segments; segment++) {
        __syncwarp(); /* the segment before has been read by all */
        now.store(args, inputs, pieces, lane, squares);
        __syncwarp();
        if (Rows > 1 && segment + 1 < segments) {
            const int next_col =
                first_col + (segment + 1) * segment_chunks * (linear_warps * Chunk);
            now.load_gamma(args, next_col, pieces, lane);
            now.load(args, next_col, pieces, lane);
        }
#pragma unroll 1
        for (int unit = 0; unit < units; unit++) {
            unit_sums<Rows, tiles> products;
#pragma unroll 1
            for (int chunk = 0; chunk < min(segment_chunks, warp_chunks); chunk++) {
                barrier_wait(barriers + static_cast<unsigned>(8 * stage), parity);
                const uint4 *const from = ring + stage * static_cast<int>(chunk_bytes / 16);
                const uint4 *const x = inputs + chunk * (Chunk / 32) * operand;
                auto release = [&] {
                    __syncwarp(); /* the stage has been read by all */
                    const int left = chunks - done - args.stages; /* to be fetched */
                    if (left > 0 && lane == 0) {
                        fetch(stage);
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
                };
                multiply_chunk<Weight, Rows, Chunk, tiles>(products, from, x, lane, release);
                done++;
                stage = stage + 1 == args.stages ? 0 : stage + 1;
                parity ^= stage == 0;
            }
            products.store(sums + unit * sums_size + warp * 8 * Rows, lane, segment == 0);
        }
    }
    if (norm) {                                    /* the sums are divided by it in the end */
        const int lanes = Rows == 1 ? 32 : pieces; /* that have the same sequence */
#pragma unroll
        for (int i = 0; i < segment_inputs<Rows, Chunk, norm, Kind == DOWN>::sums; i++) {
            for (int distance = lanes / 2; distance > 0; distance /= 2) {
                squares[i] += __shfl_xor_sync(~0u, squares[i], distance);
            }
            const int sequence = (32 * i + lane) / lanes;
            if (lane % lanes == 0 && sequence < args.batch) {
                square_sums[warp][sequence] = squares[i];
            }
        }
    }
    __syncthreads();

#pragma unroll 1
    for (int i = thread; i < block_outputs * args.batch; i += linear_threads) {
        const int sequence = sequence_of(i), output = i - sequence * block_outputs;
        const size_t to = place_of(i, sequence);
        auto row_sum = [&](int tile) {
            const float *const from = sums + output / 8 * sums_size +
                                      tile * linear_warps * 8 * Rows + sequence * 8 + output % 8;
            float sum = 0;
#pragma unroll
            for (int w = 0; w < linear_warps; w++) {
                sum += from[w * 8 * Rows];
            }
            return sizeof(Weight) == 1 ? sum * args.scales[tile * outputs + 8 * first_unit + output]
                                       : sum;
        };
        float scale = 1;
        if (norm) {
            float total = 0;
#pragma unroll
            for (int w = 0; w < linear_warps; w++) {
                total += square_sums[w][sequence];
            }
            scale = rsqrtf(total / static_cast<float>(args.cols) + norm_epsilon);
        }
        float value = scale * row_sum(0);
        if (Kind == GATE_UP) {
            value = value / (1 + __expf(-value)) * (scale * row_sum(tiles - 1));
        }
        if (residual) {
            value += i == thread ? first_residual : __bfloat162float(args.residual[to]);
        }
        args.y[to] = __float2bfloat16(value);
    }
    stamp_end(args.stamps);
}

#endif /* PDL_BENCH_DECODE_LINEAR_CUH */
