/* SPDX-License-Identifier: MIT */
/* The clock of kernels, and the end of every loop that waits. test/layout/device_loops.py looks for it. Needs no other
 * header. */
#ifndef PDL_TEST_IN_TIME_CUH
#define PDL_TEST_IN_TIME_CUH

/* Nanoseconds, the same clock on every SM. It steps: watch/truth.cu measures by how much. */
__device__ inline unsigned long long device_clock()
{
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    return now;
}

/* Whether `ns` nanoseconds since `begin` are not over yet. The condition of every loop that waits: no
 * kernel holds the device for more than 2 s, whatever it waits for. */
__device__ inline bool in_time(unsigned long long begin, unsigned long long ns = 2000000000ull)
{
    return device_clock() - begin < (ns < 2000000000ull ? ns : 2000000000ull);
}

/* Ends the thread if 2 s are over: for code that must not go on without what it waits for. */
__device__ inline void end_unless_in_time(unsigned long long begin)
{
    if (!in_time(begin)) {
        asm volatile("exit;");
    }
}

__device__ inline void spin(unsigned long long ns)
{
    const unsigned long long begin = device_clock();
    while (in_time(begin, ns)) {
    }
}

#endif /* PDL_TEST_IN_TIME_CUH */
