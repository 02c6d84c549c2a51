/* SPDX-License-Identifier: MIT */
/* Kernels of the suite overlap: parts of chosen length around the wait and the trigger. */
#include "bench/kernels/overlap.h"

#include <pdl/device.cuh>

#include "bench/kernels/timer.cuh"

namespace
{

/* The SM's clock: 32 bits are enough. */
__device__ unsigned cycle()
{
    unsigned now;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
    return now;
}

__device__ unsigned multiprocessor()
{
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

/* Until so many cycles after `begin`. One warp counts them, and the others wait for it at the barrier: what
 * takes as long whatever else runs on the SM, and takes next to nothing from it. */
__device__ void spin(unsigned begin, unsigned cycles)
{
    if (threadIdx.x < 32) {
        while (cycle() - begin < cycles) {
        }
    }
    __syncthreads();
}

/* All threads add up: what takes twice as long where two blocks share an SM. */
struct work {
    float sums[OVERLAP_WORK];
    float one;
    unsigned rounds;

    __device__ explicit work(float one_now) : one(one_now), rounds(0)
    {
        for (int i = 0; i < OVERLAP_WORK; i++) {
            sums[i] = 0;
        }
        pin();
    }

    /* So that no addition moves across. */
    __device__ void pin()
    {
        for (int i = 0; i < OVERLAP_WORK; i++) {
            asm volatile("" : "+f"(sums[i])::"memory");
        }
        asm volatile("" : "+f"(one));
    }

    __device__ void run(unsigned more)
    {
        pin();
#pragma unroll 8
        for (unsigned round = 0; round < more; round++) {
#pragma unroll
            for (int i = 0; i < OVERLAP_WORK; i++) {
                sums[i] = fmaf(sums[i], one, one);
            }
        }
        pin();
        rounds += more;
        __syncthreads();
    }

    /* Floats count exactly up to 2^24. */
    __device__ bool right() const
    {
        bool all = true;
        for (int i = 0; i < OVERLAP_WORK; i++) {
            all = all && sums[i] == static_cast<float>(rounds);
        }
        return __syncthreads_and(all) != 0;
    }
};

/* Makes the compiler have a value in a register here. */
template <typename type> __device__ type in_register(type value)
{
    asm volatile("" : "+r"(value));
    return value;
}
template <typename type> __device__ type *in_register(type *value)
{
    asm volatile("" : "+l"(value));
    return value;
}

/* The kernel: reads what the one before left, after the wait, and leaves one more with its last store,
 * after the trigger. Each block reads what its neighbour left, which is rarely of its own SM.
 *
 * All parameters are read at the beginning: they are in constant memory, and reading one at the end, when
 * the next kernel has been launched into the stream, was measured to delay that kernel by 0.1 us and more. */
template <bool working, bool stamped> __device__ void run(const overlap_args &args)
{
    const unsigned began = cycle();
    overlap_stamps stamps = {};
    if (stamped) {
        stamps.start = global_timer();
    }
    const bool leaves = threadIdx.x == 0 && blockIdx.x < args.results;
    const unsigned *const in = in_register(&args.in[(blockIdx.x + 1) % args.results].count);
    overlap_result *const out = in_register(&args.out[blockIdx.x]);
    overlap_stamps *const stamps_out = stamped ? in_register(&args.stamps[blockIdx.x]) : nullptr;
    overlap_result result = {0, in_register(multiprocessor())};
    const unsigned prologue = in_register(args.prologue);
    const unsigned before = in_register(args.before);
    const unsigned after = in_register(args.after);
    const unsigned trigger =
        in_register(blockIdx.x != args.silent_block ? args.trigger : OVERLAP_TRIGGER_NEVER);
    work main(args.one);
    bool right = true;
    if (trigger == OVERLAP_TRIGGER_START) {
        PDL_LAUNCH_DEPENDENTS();
        if (stamped) {
            stamps.triggered = global_timer();
        }
    }
    if (prologue != 0) {
        spin(began, prologue);
    }
    if (stamped) {
        stamps.arrived = global_timer();
    }
    PDL_WAIT();
    const unsigned returned = cycle();
    if (stamped) {
        stamps.waited = global_timer();
    }
    if (leaves) {
        result.count = PDL_LOAD(in) + 1;
    }
    if (working) {
        main.run(before);
    } else {
        spin(returned, before);
    }
    if (trigger == OVERLAP_TRIGGER_MAIN) {
        PDL_LAUNCH_DEPENDENTS();
        if (stamped) {
            stamps.triggered = global_timer();
        }
    }
    if (working) {
        main.run(after);
        right = main.right();
    } else if (after != 0) {
        spin(returned, before + after);
    }
    if (leaves) {
        if (stamped) {
            stamps.ended = global_timer();
            *stamps_out = stamps;
        }
        if (!right) {
            result.count = ~0u;
        }
        *out = result;
    }
}

/* A kernel that does nothing but take time. */
__device__ void run_shape(const overlap_shape_args &args)
{
    const unsigned began = cycle();
    unsigned *const counts = in_register(args.counts);
    const unsigned before = in_register(args.before);
    const unsigned all = in_register(args.before + args.after);
    spin(began, in_register(args.prologue));
    PDL_WAIT();
    const unsigned returned = cycle();
    spin(returned, before);
    PDL_LAUNCH_DEPENDENTS();
    spin(returned, all);
    if (threadIdx.x == 0 && counts != nullptr) {
        asm volatile("red.global.add.u32 [%0], 1;" ::"l"(counts + blockIdx.x) : "memory");
    }
}

} // namespace

extern "C" __global__ void overlap_spin(const __grid_constant__ overlap_args args)
{
    run<false, false>(args);
}

extern "C" __global__ void overlap_work(const __grid_constant__ overlap_args args)
{
    run<true, false>(args);
}

extern "C" __global__ void overlap_stamped(const __grid_constant__ overlap_args args)
{
    run<false, true>(args);
}

extern "C" __global__ void overlap_shape_first(const __grid_constant__ overlap_shape_args args)
{
    run_shape(args);
}

extern "C" __global__ void overlap_shape_second(const __grid_constant__ overlap_shape_args args)
{
    run_shape(args);
}
