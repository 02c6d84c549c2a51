/* SPDX-License-Identifier: MIT */
/* The kernels of the suite `overhead`: compiled once into an image for the Driver API and once into
 * the program for the Runtime, each with its own record. */
#ifndef PDL_TOOLS_BENCH_KERNELS_OVERHEAD_CUH
#define PDL_TOOLS_BENCH_KERNELS_OVERHEAD_CUH

#include <pdl/device.cuh>

#include "bench/kernels/overhead.h"

static __device__ overhead_record overhead_records;

__device__ static bool overhead_counted()
{
    return blockDim.x == OVERHEAD_COUNTED_BLOCK;
}

__device__ static unsigned long long overhead_timer()
{
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    return now;
}

__device__ static void overhead_count(unsigned long long sum, unsigned long long ns)
{
    if (threadIdx.x == 0) {
        atomicAdd(&overhead_records.blocks, 1ull);
        if (blockIdx.x == 0) {
            atomicAdd(&overhead_records.launches, 1ull);
            atomicAdd(&overhead_records.sum, sum);
            atomicAdd(&overhead_records.ns, ns);
        }
    }
}

extern "C" __global__ void overhead_null_0()
{
    PDL_LAUNCH_DEPENDENTS();
    PDL_WAIT();
    if (overhead_counted()) {
        overhead_count(0, 0);
    }
}

extern "C" __global__ void overhead_null_8(const unsigned *a, const unsigned *b, const unsigned *c,
                                           const unsigned *d, unsigned e, unsigned f, unsigned g,
                                           unsigned h)
{
    PDL_LAUNCH_DEPENDENTS();
    PDL_WAIT();
    if (overhead_counted()) {
        overhead_count(1ull * *a + 2ull * *b + 3ull * *c + 4ull * *d + 5ull * e + 6ull * f +
                           7ull * g + 8ull * h,
                       0);
    }
}

/* A list of 64, by row and column. */
#define OVERHEAD_ROW(entry, row)                                                                   \
    entry(row, 0), entry(row, 1), entry(row, 2), entry(row, 3), entry(row, 4), entry(row, 5),      \
        entry(row, 6), entry(row, 7)
#define OVERHEAD_64(entry)                                                                         \
    OVERHEAD_ROW(entry, 0), OVERHEAD_ROW(entry, 1), OVERHEAD_ROW(entry, 2),                        \
        OVERHEAD_ROW(entry, 3), OVERHEAD_ROW(entry, 4), OVERHEAD_ROW(entry, 5),                    \
        OVERHEAD_ROW(entry, 6), OVERHEAD_ROW(entry, 7)
#define OVERHEAD_PARAMETER(row, column) unsigned long long v##row##column
#define OVERHEAD_VALUE(row, column)     v##row##column

extern "C" __global__ void overhead_null_64(OVERHEAD_64(OVERHEAD_PARAMETER))
{
    PDL_LAUNCH_DEPENDENTS();
    PDL_WAIT();
    if (overhead_counted()) {
        const unsigned long long values[64] = {OVERHEAD_64(OVERHEAD_VALUE)};
        unsigned long long sum = 0;
#pragma unroll
        for (unsigned i = 0; i < 64; i++) {
            sum += (i + 1) * values[i];
        }
        overhead_count(sum, 0);
    }
}

/* Waits for `units` after what it depends on: each sleeps for `sleep_ns`, or, if `cycles` is not 0,
 * spins for so many cycles of the SM's clock. */
extern "C" __global__ void overhead_wait(unsigned units, unsigned sleep_ns, unsigned cycles)
{
    PDL_LAUNCH_DEPENDENTS();
    PDL_WAIT();
    const unsigned long long begin = overhead_counted() ? overhead_timer() : 0;
    if (cycles != 0) {
        const long long end = clock64() + static_cast<long long>(units) * cycles;
        while (clock64() < end) {
        }
    } else {
        for (unsigned i = 0; i < units; i++) {
            asm volatile("nanosleep.u32 %0;" ::"r"(sleep_ns) : "memory");
        }
    }
    if (overhead_counted()) {
        overhead_count(units, overhead_timer() - begin);
    }
}

extern "C" __global__ void overhead_signal(volatile unsigned *flag)
{
    PDL_LAUNCH_DEPENDENTS();
    PDL_WAIT();
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        *flag = 1;
    }
    if (overhead_counted()) {
        overhead_count(0, 0);
    }
}

extern "C" __global__ void overhead_take(overhead_record *to)
{
    *to = overhead_records;
    overhead_records = overhead_record();
}

#endif /* PDL_TOOLS_BENCH_KERNELS_OVERHEAD_CUH */
