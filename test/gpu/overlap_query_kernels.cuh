/* SPDX-License-Identifier: MIT */
/* Kernels that take much or little of each resource, and stamp what their blocks do. */
#ifndef PDL_TEST_OVERLAP_QUERY_KERNELS_CUH
#define PDL_TEST_OVERLAP_QUERY_KERNELS_CUH

#include "gpu_test.cuh"

struct stamp {
    unsigned long long start;
    unsigned long long triggered; /* before the trigger */
    unsigned long long end;       /* all warps are still there */
    unsigned sm;
    unsigned reserved;
};

struct job {
    stamp *stamps;         /* of each block */
    const unsigned *input; /* something that no compiler knows */
    unsigned *output;
    unsigned before_ns; /* the trigger */
    unsigned after_ns;  /* it, or nothing */
    bool waits;
    bool triggers;
};

enum { line_of_sm = 256 }; /* elements of the input that are one SM's own */

static __device__ unsigned sm_id()
{
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

/* Thousands of blocks that read the timer without a pause make it slow for one another. */
static __device__ void pause(unsigned ns)
{
    const unsigned long long begin = device_clock();
    while (in_time(begin, ns)) {
        __nanosleep(200);
    }
}

/* Holds about `Live` registers a thread, from its first instruction to its last.
 *
 * Each SM loads them from lines of its own: where all load the same ones, the blocks wait for one
 * another so long that those of one wave end tens of microseconds apart. */
template <int Live> static __device__ void run(const job &job)
{
    stamp stamp = {device_clock(), 0, 0, sm_id(), 0};
    const unsigned *input = job.input + stamp.sm * line_of_sm;
    unsigned live[Live];
#pragma unroll
    for (int i = 0; i < Live; i++) {
        PDL_LINT_ALLOW("read-before-wait", "no kernel writes the input");
        asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(live[i]) : "l"(input + i));
    }
    if (job.waits) {
        PDL_WAIT();
    }
    if (threadIdx.x == 0) {
        pause(job.before_ns);
        stamp.triggered = device_clock();
    }
    __syncthreads();
    if (job.triggers) {
        PDL_LAUNCH_DEPENDENTS();
    }
    if (threadIdx.x == 0) {
        pause(job.after_ns);
        stamp.end = device_clock();
        job.stamps[blockIdx.x] = stamp;
    }
    __syncthreads();
    unsigned mixed = 0;
#pragma unroll
    for (int i = 0; i < Live; i++) {
        mixed = mixed * 33 + live[i];
    }
    if (mixed == 12345) {
        *job.output = mixed; /* never: the input is zero */
    }
}

template <int Live> static __global__ void without_shared(job job)
{
    run<Live>(job);
}

template <int Live, int Bytes> static __global__ void with_shared(job job)
{
    __shared__ volatile unsigned char bytes[Bytes];
    bytes[threadIdx.x] = static_cast<unsigned char>(job.before_ns);
    run<Live>(job);
}

/* Names all barriers that a block can have. */
static __global__ void with_all_barriers(job job)
{
    asm volatile("barrier.sync 15;" ::: "memory");
    run<1>(job);
}

typedef void (*stamped_kernel)(job job);

static const stamped_kernel kernels[] = {
    without_shared<1>,   without_shared<8>,   without_shared<24>,   without_shared<40>,
    without_shared<56>,  without_shared<80>,  without_shared<104>,  without_shared<136>,
    without_shared<168>, without_shared<216>, with_shared<1, 5000>, with_shared<64, 40000>,
};
static const size_t kernel_count = sizeof(kernels) / sizeof(kernels[0]);

#endif /* PDL_TEST_OVERLAP_QUERY_KERNELS_CUH */
