/* SPDX-License-Identifier: MIT */
/* Rows of very different lengths, and kernels that reduce each to one number. The numbers are 32-bit
 * integers that add up modulo 2^32, so that every order of adding gives the same bits. */
#ifndef PDL_BENCH_UNEVEN_ROWS_CUH
#define PDL_BENCH_UNEVEN_ROWS_CUH

#include <vector>

#include <pdl/cdp.cuh>
#include <pdl/device.cuh>

static const unsigned threads = 256;
static const unsigned short_row = 32; /* shorter ones are for a thread, where there is a choice */
static const unsigned tile = 2048; /* what a block adds up at a time; longer rows are long rows */

/* The inner loop's body: some arithmetic for each element. */
__host__ __device__ inline unsigned worth(unsigned value)
{
    for (int i = 0; i < 8; i++) {
        value = value * 1664525u + 1013904223u;
        value ^= value >> 15;
    }
    return value;
}

/* Row i is values[begin[i]] to values[begin[i + 1]]; nobody writes them. */
struct row_data {
    const unsigned *begin, *values;
    unsigned rows;
};

/* Lengths by a power law: half of the rows are shorter than 16, one in 256 longer than 2,048, and
 * the longest has about 8 elements for each row that there is. */
struct host_rows {
    std::vector<unsigned> begin, values, sums;

    explicit host_rows(unsigned rows) : begin(rows + 1)
    {
        unsigned state = 1;
        for (unsigned i = 0; i < rows; i++) {
            state = state * 1664525u + 1013904223u;
            const unsigned rank =
                1 + static_cast<unsigned>(1ull * state * rows >> 32); /* to `rows` */
            begin[i + 1] = begin[i] + 8 * rows / rank;
        }
        values.resize(begin[rows]);
        for (unsigned &value : values) {
            value = state = state * 1664525u + 1013904223u;
        }
        for (unsigned i = 0; i < rows; i++) {
            unsigned sum = 0;
            for (unsigned j = begin[i]; j < begin[i + 1]; j++) {
                sum += worth(values[j]);
            }
            sums.push_back(sum);
        }
    }
};

/* Elements from..to of `step` apart. */
__device__ inline unsigned add_up(row_data data, unsigned from, unsigned to, unsigned step)
{
    unsigned sum = 0;
    for (; from < to; from += step) {
        sum += worth(data.values[from]);
    }
    return sum;
}

__device__ inline unsigned sum_of_warp(unsigned sum)
{
    return __reduce_add_sync(0xffffffffu, sum);
}

/* What a block of threads adds to *out. */
__device__ inline void block_adds(unsigned sum, unsigned *out)
{
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(out, sum);
    }
}

/* ---- a fixed number of threads a row -------------------------------------------------------------- */

/* Most threads of a warp idle while its longest row lasts. */
static __global__ void thread_a_row(row_data data, unsigned *sums)
{
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < data.rows) {
        sums[row] = add_up(data, data.begin[row], data.begin[row + 1], 1);
    }
}

/* The device idles while the longest row lasts. */
static __global__ void warp_a_row(row_data data, unsigned *sums)
{
    const unsigned row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row < data.rows) {
        const unsigned sum =
            sum_of_warp(add_up(data, data.begin[row] + threadIdx.x % 32, data.begin[row + 1], 32));
        if (threadIdx.x % 32 == 0) {
            sums[row] = sum;
        }
    }
}

/* A whole block idles through each of the short rows. Adds to a zero that the thread before leaves. */
static __global__ void block_a_row(row_data data, unsigned *sums)
{
    const unsigned row = blockIdx.x;
    const unsigned begin = data.begin[row];
    const unsigned end = data.begin[row + 1];
    if (threadIdx.x == 0) {
        sums[row] = 0;
    }
    __syncthreads();
    block_adds(add_up(data, begin + threadIdx.x, end, blockDim.x), &sums[row]);
}

/* ---- launches from the device --------------------------------------------------------------------- */

static __global__ void add_tiles(row_data data, unsigned row, unsigned *sums)
{
    const unsigned from = data.begin[row] + blockIdx.x * tile;
    const unsigned to = min(from + tile, data.begin[row + 1]);
    block_adds(add_up(data, from + threadIdx.x, to, blockDim.x), &sums[row]);
}

/* A thread that finds a long row launches a grid of the row's size. */
static __global__ void launch_long_rows(row_data data, unsigned *sums, pdl_cdp_log *log)
{
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= data.rows) {
        return;
    }
    const unsigned begin = data.begin[row];
    const unsigned end = data.begin[row + 1];
    if (end - begin <= tile) {
        sums[row] = add_up(data, begin, end, 1);
    } else {
        sums[row] = 0;
        pdl_cdp_fire_and_forget(log, add_tiles, (end - begin + tile - 1) / tile, threads, 0, data,
                                row, sums);
    }
}

/* ---- a kernel that sorts the rows, and one for each kind of row ------------------------------------- */

/* None of these kernels triggers, so that a block's end is its trigger: blocks of the next kernel that
 * came earlier would hold room and wait. Measured, that costs what the early launch gains. */

/* The rows of each kind, and the tiles of the long ones. */
struct work_lists {
    enum { SHORT, MIDDLE, LONG, KINDS };
    struct item {
        unsigned row, from;
    };
    unsigned count[KINDS], done[KINDS]; /* zero before and after each use */
    item *items[KINDS];
};

/* Each kind's room is taken for the whole block at once. */
static __global__ void classify(row_data data, work_lists *lists, unsigned *sums)
{
    __shared__ unsigned wanted[work_lists::KINDS], first[work_lists::KINDS];
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned begin = 0, length = 0, at = 0, tiles = 0;
    unsigned kind = work_lists::KINDS;
    PDL_CONSTANT_PARAM(data.begin);
    if (threadIdx.x < work_lists::KINDS) {
        wanted[threadIdx.x] = 0;
    }
    __syncthreads();
    if (row < data.rows) {
        begin = data.begin[row];
        length = data.begin[row + 1] - begin;
        kind = length < short_row ? work_lists::SHORT
               : length <= tile   ? work_lists::MIDDLE
                                  : work_lists::LONG;
        tiles = kind == work_lists::LONG ? (length + tile - 1) / tile : 1;
        at = atomicAdd(&wanted[kind], tiles);
    }
    PDL_WAIT(); /* the kernels before have read the lists, and written the sums */
    __syncthreads();
    if (threadIdx.x < work_lists::KINDS) {
        first[threadIdx.x] = atomicAdd(&lists->count[threadIdx.x], wanted[threadIdx.x]);
    }
    __syncthreads();
    if (kind < work_lists::KINDS) {
        if (kind == work_lists::LONG) {
            sums[row] = 0; /* to which the tiles add */
        }
        for (unsigned i = 0; i < tiles; i++) {
            lists->items[kind][first[kind] + at + i] = {row, begin + i * tile};
        }
    }
}

/* The last block to be done leaves the counts as they were. */
__device__ inline void leave(work_lists *lists, int kind)
{
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(&lists->done[kind], 1u) == gridDim.x - 1) {
        lists->count[kind] = 0;
        lists->done[kind] = 0;
    }
}

static __global__ void add_short(row_data data, work_lists *lists, unsigned *sums)
{
    PDL_WAIT();
    const unsigned count = PDL_LOAD(&lists->count[work_lists::SHORT]);
    const work_lists::item *const items = lists->items[work_lists::SHORT];
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * blockDim.x) {
        const unsigned row = PDL_LOAD(&items[i].row);
        sums[row] = add_up(data, data.begin[row], data.begin[row + 1], 1);
    }
    leave(lists, work_lists::SHORT);
}

static __global__ void add_middle(row_data data, work_lists *lists, unsigned *sums)
{
    PDL_WAIT();
    const unsigned count = PDL_LOAD(&lists->count[work_lists::MIDDLE]);
    const work_lists::item *const items = lists->items[work_lists::MIDDLE];
    for (unsigned i = (blockIdx.x * blockDim.x + threadIdx.x) / 32; i < count;
         i += gridDim.x * blockDim.x / 32) {
        const unsigned row = PDL_LOAD(&items[i].row);
        const unsigned sum =
            sum_of_warp(add_up(data, data.begin[row] + threadIdx.x % 32, data.begin[row + 1], 32));
        if (threadIdx.x % 32 == 0) {
            sums[row] = sum;
        }
    }
    leave(lists, work_lists::MIDDLE);
}

static __global__ void add_long(row_data data, work_lists *lists, unsigned *sums)
{
    PDL_WAIT();
    const unsigned count = PDL_LOAD(&lists->count[work_lists::LONG]);
    const work_lists::item *const items = lists->items[work_lists::LONG];
    for (unsigned i = blockIdx.x; i < count; i += gridDim.x) {
        const unsigned row = PDL_LOAD(&items[i].row);
        const unsigned from = PDL_LOAD(&items[i].from);
        const unsigned to = min(from + tile, data.begin[row + 1]);
        block_adds(add_up(data, from + threadIdx.x, to, blockDim.x), &sums[row]);
    }
    leave(lists, work_lists::LONG);
}

#endif /* PDL_BENCH_UNEVEN_ROWS_CUH */
