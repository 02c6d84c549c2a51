/* SPDX-License-Identifier: MIT */
/* Time as the program sees it: launching and waiting included. */
#ifndef PDL_BENCH_WALL_CLOCK_CUH
#define PDL_BENCH_WALL_CLOCK_CUH

#include <chrono>

#include "common.cuh"

/* Queues `work` in an idle stream, waits for its end and returns how long that took, in
 * microseconds. */
template <typename Work> inline double wall_us(cudaStream_t stream, Work &&work)
{
    CHECK(cudaStreamSynchronize(stream));
    const auto begin = std::chrono::steady_clock::now();
    work();
    CHECK(cudaStreamSynchronize(stream));
    const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - begin;
    return us.count();
}

#endif /* PDL_BENCH_WALL_CLOCK_CUH */
