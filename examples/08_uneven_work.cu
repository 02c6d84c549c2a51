/* SPDX-License-Identifier: MIT */
/* Rows of very different lengths, each added up by a thread; and by a thread that launches a grid where
 * its row is long. A launch from the device that finds no room is lost, and the host is not told: so each
 * one leaves its error in a log, and the limit of pending launches is set first. */
#include <pdl/cdp.cuh>

#include "common.cuh"

static const unsigned rows = 1u << 15, threads = 256;
static const unsigned tile = 2048; /* what a block adds up; longer rows are long rows */

/* Row i is values[begin[i]] to values[begin[i + 1]]. The numbers add up modulo 2^32, so that every order
 * of adding gives the same bits. */
struct row_data {
    const unsigned *begin, *values;
};

__device__ static unsigned add_up(row_data data, unsigned from, unsigned to, unsigned step)
{
    unsigned sum = 0;
    for (; from < to; from += step) {
        sum += data.values[from];
    }
    return sum;
}

__global__ void thread_a_row(row_data data, unsigned *sums)
{
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        sums[row] = add_up(data, data.begin[row], data.begin[row + 1], 1);
    }
}

/* A block for each tile of a row, whose sum is zero before. */
__global__ void add_tiles(row_data data, unsigned row, unsigned *sums)
{
    const unsigned from = data.begin[row] + blockIdx.x * tile;
    const unsigned to = min(from + tile, data.begin[row + 1]);
    const unsigned sum =
        __reduce_add_sync(0xffffffffu, add_up(data, from + threadIdx.x, to, blockDim.x));
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&sums[row], sum);
    }
}

__global__ void launch_long_rows(row_data data, unsigned *sums, pdl_cdp_log *log)
{
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) {
        return;
    }
    const unsigned begin = data.begin[row], end = data.begin[row + 1];
    if (end - begin <= tile) {
        sums[row] = add_up(data, begin, end, 1);
    } else {
        sums[row] = 0; /* the grid sees this thread's writes */
        pdl_cdp_fire_and_forget(log, add_tiles, (end - begin + tile - 1) / tile, threads, 0, data,
                                row, sums);
    }
}

/* Lengths by a power law: half of the rows are shorter than 16, one in 256 is longer than 2,048. */
static std::vector<unsigned> make_begins()
{
    std::vector<unsigned> begin(1);
    unsigned state = 1;
    for (unsigned i = 0; i < rows; i++) {
        state = state * 1664525u + 1013904223u;
        const unsigned rank = 1 + static_cast<unsigned>(1ull * state * rows >> 32); /* to `rows` */
        begin.push_back(begin.back() + 8 * rows / rank);
    }
    return begin;
}

int main()
{
    require_device("08_uneven_work");
    const std::vector<unsigned> begin = make_begins();
    std::vector<unsigned> values(begin.back()), expected(rows);
    unsigned long_rows = 0;
    for (unsigned row = 0; row < rows; row++) {
        for (unsigned i = begin[row]; i < begin[row + 1]; i++) {
            values[i] = i * 2654435761u;
            expected[row] += values[i];
        }
        long_rows += begin[row + 1] - begin[row] > tile;
    }
    const row_data data = {to_device(begin), to_device(values)};
    unsigned *const sums = allocate<unsigned>(rows);
    pdl_cdp_log *const log = allocate<pdl_cdp_log>(1);
    pdl_error error = {};
    if (pdl_cdp_set_pending_limit(long_rows, &error) != PDL_SUCCESS) {
        std::fprintf(stderr, "08_uneven_work: %s\n", error.message);
        return 1;
    }

    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    bool good = true;
    for (const bool launches : {false, true}) {
        auto run = [&] {
            if (launches) {
                launch_long_rows<<<rows / threads, threads, 0, stream>>>(data, sums, log);
            } else {
                thread_a_row<<<rows / threads, threads, 0, stream>>>(data, sums);
            }
            CHECK(cudaGetLastError());
        };
        CHECK(cudaMemset(sums, 0xff, rows * sizeof(*sums)));
        CHECK(cudaDeviceSynchronize());
        run();
        const bool right = to_host(sums, rows) == expected;
        std::printf("%-36s %9.1f us%s\n",
                    launches ? "threads, a grid for each long row" : "a thread a row",
                    median_us(stream, run), right ? "" : ", wrong");
        good = good && right;
    }
    if (pdl_cdp_log_check(log, &error) != PDL_SUCCESS) {
        std::printf("%s\n", error.message);
        good = false;
    }
    std::printf("%u rows with %zu numbers, %u of them launch a grid\n", rows, values.size(),
                long_rows);
    return verdict(good);
}
