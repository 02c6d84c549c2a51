/* SPDX-License-Identifier: MIT */
/* The clock of kernels, and the end of every loop that waits. */
#ifndef PDL_TOOLS_BENCH_KERNELS_TIMER_CUH
#define PDL_TOOLS_BENCH_KERNELS_TIMER_CUH

__device__ inline unsigned long long global_timer()
{
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    return now;
}

/* Whether `ns` nanoseconds since `begin` are not over yet. The condition of every loop that waits: no
 * kernel holds the device for more than 2 s, whatever it waits for. */
__device__ inline bool in_time(unsigned long long begin, unsigned long long ns = 2000000000ull)
{
    return global_timer() - begin < (ns < 2000000000ull ? ns : 2000000000ull);
}

#endif /* PDL_TOOLS_BENCH_KERNELS_TIMER_CUH */
