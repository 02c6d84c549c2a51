/* SPDX-License-Identifier: MIT */
/* More pairs of kernels for lint_pairs_test.cu and lint_pairs.py, in the form of lint_pairs.cuh. Here
 * the broken kernel does execute a wait, or a barrier behind one, but not in time: in another phase, in
 * another thread, or only on the way that is not taken. */
#ifndef PDL_TEST_LINT_ORDER_PAIRS_CUH
#define PDL_TEST_LINT_ORDER_PAIRS_CUH

#include "lint_pairs.cuh"

#define LINT_ORDER_PAIR_LIST(X)                                                                    \
    X(block_barrier, "partial-wait", OUT, FRESH, STALE,                                            \
      "a barrier of the block before the first warp's wait does not order the others")             \
    X(barrier_phase, "partial-wait", OUT, FRESH, STALE,                                            \
      "a named barrier does not order in the phase before the wait")                               \
    X(cluster_phase, "partial-wait", OUT, FRESH, STALE,                                            \
      "a cluster barrier that a block arrives at before its wait does not order the other")        \
    X(mbarrier_parity, "partial-wait", OUT, FRESH, STALE,                                          \
      "an mbarrier that is awaited with the producer's parity does not order")                     \
    X(mbarrier_arrival, "partial-wait", OUT, FRESH, STALE,                                         \
      "an mbarrier that only threads without a wait arrive at does not order")                     \
    X(mbarrier_write, "partial-wait", DATA, OWN, FRESH,                                            \
      "a write behind an mbarrier of the wrong parity is overwritten by the primary")              \
    X(elected_lane, "partial-wait", OUT, FRESH, STALE,                                             \
      "what the other lanes read that no warp barrier holds is stale")                             \
    X(narrow_wait, "partial-wait", OUT, FRESH, STALE,                                              \
      "what the threads read is stale if fewer wait than read")                                    \
    X(later_turns, "read-before-wait", OUT, FRESH, STALE,                                          \
      "a read in the first turn of a loop that waits in later turns is stale")                     \
    X(data_decides, "partial-wait", OUT, FRESH, STALE,                                             \
      "what a kernel reads whose wait is decided by loaded data is stale")                         \
    X(told_not_to, "no-wait", OUT, FRESH, STALE,                                                   \
      "what a kernel reads whose helper is told not to wait is stale")                             \
    X(indirect_call, "partial-wait", OUT, FRESH, STALE,                                            \
      "a read behind a call through a pointer that may not wait is stale")                         \
    X(virtual_call, "partial-wait", OUT, FRESH, STALE,                                             \
      "a read behind a virtual call that may not wait is stale")

/* ---- parts of kernels -------------------------------------------------------------------------- */

/* Barrier 1 of the block; warps do not diverge where these are used. */
__device__ __forceinline__ void arrive_at_barrier()
{
    asm volatile("bar.arrive 1, %0;" ::"n"(threads) : "memory");
}

__device__ __forceinline__ void wait_at_barrier()
{
    asm volatile("bar.sync 1, %0;" ::"n"(threads) : "memory");
}

__device__ __forceinline__ unsigned rank_in_cluster()
{
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ __forceinline__ void arrive_at_cluster()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

__device__ __forceinline__ void wait_for_cluster()
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ __forceinline__ void arrive_at_mbarrier(unsigned long long *barrier)
{
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

/* Parity 0 waits for the first phase to end, and 1, which is for producers, for the one before it. */
template <unsigned Parity>
__device__ __forceinline__ void wait_at_mbarrier(unsigned long long *barrier)
{
    const unsigned long long begin = device_clock();
    unsigned done = 0;
    while (done == 0) {
        end_unless_in_time(begin);
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2;"
                     " selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(shared_address(barrier)), "n"(Parity)
                     : "memory");
    }
}

__device__ __noinline__ void wait_if(bool wait)
{
    if (wait) {
        PDL_WAIT();
    }
}

/* ---- barriers ---------------------------------------------------------------------------------- */

extern "C" __global__ void block_barrier_broken(const unsigned *data, unsigned *out)
{
    __syncthreads();
    if (threadIdx.x < 32) {
        PDL_WAIT();
    }
    out[own_cell()] = data[other_cell()];
}

extern "C" __global__ void block_barrier_mended(const unsigned *data, unsigned *out)
{
    if (threadIdx.x < 32) {
        PDL_WAIT();
    }
    __syncthreads();
    out[own_cell()] = data[other_cell()];
}

/* The first warp comes to barrier 1 twice, before its wait and behind it. */
extern "C" __global__ void barrier_phase_broken(const unsigned *data, unsigned *out)
{
    unsigned value = FRESH;
    if (threadIdx.x < 32) {
        arrive_at_barrier();
        PDL_WAIT();
        value = data[other_cell()];
    } else {
        wait_at_barrier();
        value = data[other_cell()];
    }
    __syncthreads(); /* nobody is in two phases of barrier 1 */
    if (threadIdx.x < 32) {
        arrive_at_barrier();
    } else {
        wait_at_barrier();
    }
    out[own_cell()] = value;
}

extern "C" __global__ void barrier_phase_mended(const unsigned *data, unsigned *out)
{
    if (threadIdx.x < 32) {
        arrive_at_barrier();
        PDL_WAIT();
    } else {
        wait_at_barrier();
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        arrive_at_barrier();
    } else {
        wait_at_barrier();
    }
    out[own_cell()] = data[other_cell()];
}

extern "C" __global__ void __cluster_dims__(2, 1, 1)
    cluster_phase_broken(const unsigned *data, unsigned *out)
{
    unsigned value;
    if (rank_in_cluster() == 0) {
        arrive_at_cluster();
        PDL_WAIT();
        value = data[other_cell()];
        wait_for_cluster();
    } else {
        arrive_at_cluster();
        wait_for_cluster();
        value = data[other_cell()];
    }
    arrive_at_cluster();
    wait_for_cluster();
    out[own_cell()] = value;
}

extern "C" __global__ void __cluster_dims__(2, 1, 1)
    cluster_phase_mended(const unsigned *data, unsigned *out)
{
    if (rank_in_cluster() == 0) {
        PDL_WAIT();
    }
    arrive_at_cluster();
    wait_for_cluster();
    out[own_cell()] = data[other_cell()];
}

/* ---- mbarriers --------------------------------------------------------------------------------- */

/* The first warp waits, and one of its threads arrives for all. With the producer's parity it does so at
 * the end: a warp that came behind the arrival would wait for the next phase, which never ends. */
template <unsigned Parity> __device__ __forceinline__ unsigned read_behind(const unsigned *data)
{
    __shared__ unsigned long long barrier;
    if (threadIdx.x == 0) {
        initialize_barrier(&barrier);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        PDL_WAIT();
        if (Parity == 0 && threadIdx.x == 0) {
            arrive_at_mbarrier(&barrier);
        }
    } else {
        wait_at_mbarrier<Parity>(&barrier);
    }
    const unsigned value = data[other_cell()];
    __syncthreads();
    if (Parity != 0 && threadIdx.x == 0) {
        arrive_at_mbarrier(&barrier);
    }
    return value;
}

extern "C" __global__ void mbarrier_parity_broken(const unsigned *data, unsigned *out)
{
    const unsigned value = read_behind<1>(data);
    __syncthreads();
    out[own_cell()] = value;
}

extern "C" __global__ void mbarrier_parity_mended(const unsigned *data, unsigned *out)
{
    const unsigned value = read_behind<0>(data);
    __syncthreads();
    out[own_cell()] = value;
}

/* The last warp arrives, as one that loads something else does. */
extern "C" __global__ void mbarrier_arrival_broken(const unsigned *data, unsigned *out)
{
    __shared__ unsigned long long barrier;
    if (threadIdx.x == 0) {
        initialize_barrier(&barrier);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        PDL_WAIT();
    } else if (threadIdx.x == threads - 1) {
        arrive_at_mbarrier(&barrier);
    }
    wait_at_mbarrier<0>(&barrier);
    const unsigned value = data[other_cell()];
    __syncthreads();
    out[own_cell()] = value;
}

extern "C" __global__ void mbarrier_arrival_mended(const unsigned *data, unsigned *out)
{
    __shared__ unsigned long long barrier;
    if (threadIdx.x == 0) {
        initialize_barrier(&barrier);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        PDL_WAIT();
        if (threadIdx.x == 0) {
            arrive_at_mbarrier(&barrier);
        }
    }
    wait_at_mbarrier<0>(&barrier);
    const unsigned value = data[other_cell()];
    __syncthreads();
    out[own_cell()] = value;
}

template <unsigned Parity> __device__ __forceinline__ void write_behind(unsigned *data)
{
    __shared__ unsigned long long barrier;
    if (threadIdx.x == 0) {
        initialize_barrier(&barrier);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        PDL_WAIT();
        if (Parity == 0 && threadIdx.x == 0) {
            arrive_at_mbarrier(&barrier);
        }
    } else {
        wait_at_mbarrier<Parity>(&barrier);
    }
    data[other_cell()] = OWN;
    __syncthreads();
    if (Parity != 0 && threadIdx.x == 0) {
        arrive_at_mbarrier(&barrier);
    }
}

extern "C" __global__ void mbarrier_write_broken(unsigned *data, unsigned *)
{
    write_behind<1>(data);
}

extern "C" __global__ void mbarrier_write_mended(unsigned *data, unsigned *)
{
    write_behind<0>(data);
}

/* ---- threads that wait and threads that read ---------------------------------------------------- */

/* Lane 0 holds its wait back until the others have read, or its warp might wait as one. */
extern "C" __global__ void elected_lane_broken(const unsigned *data, unsigned *out)
{
    __shared__ volatile unsigned read[threads];
    const unsigned next = threadIdx.x ^ 1;
    unsigned value = FRESH;
    read[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        const unsigned long long begin = device_clock();
        while (read[next] == 0) {
            end_unless_in_time(begin);
        }
        PDL_WAIT();
    } else {
        value = data[other_cell()];
        read[threadIdx.x] = value;
    }
    __syncthreads();
    out[own_cell()] = value;
}

extern "C" __global__ void elected_lane_mended(const unsigned *data, unsigned *out)
{
    if (threadIdx.x % 32 == 0) {
        PDL_WAIT();
    }
    __syncwarp();
    out[own_cell()] = data[other_cell()];
}

/* The first half of the block loads for all of it. */
template <unsigned Waiting>
__device__ __forceinline__ void copy_by_half(const unsigned *data, unsigned *out)
{
    __shared__ unsigned tile[threads];
    if (threadIdx.x < Waiting) {
        PDL_WAIT();
    }
    if (threadIdx.x < threads / 2) {
        const unsigned first = blockIdx.x * threads + threadIdx.x;
        tile[threadIdx.x] = data[first];
        tile[threadIdx.x + threads / 2] = data[first + threads / 2];
    }
    __syncthreads();
    out[own_cell()] = tile[threadIdx.x];
}

extern "C" __global__ void narrow_wait_broken(const unsigned *data, unsigned *out)
{
    copy_by_half<32>(data, out);
}

extern "C" __global__ void narrow_wait_mended(const unsigned *data, unsigned *out)
{
    copy_by_half<threads / 2>(data, out);
}

/* ---- conditions -------------------------------------------------------------------------------- */

template <unsigned Turn>
__device__ __forceinline__ void lowest_of(const unsigned *data, unsigned *out, unsigned turns)
{
    unsigned lowest = ~0u;
#pragma unroll 1
    for (unsigned i = 0; i < turns; i++) {
        if (i == Turn) {
            PDL_WAIT();
        }
        const unsigned value = data[(other_cell() + i * threads) % cells];
        lowest = value < lowest ? value : lowest;
    }
    out[own_cell()] = lowest;
}

extern "C" __global__ void later_turns_broken(const unsigned *data, unsigned *out)
{
    lowest_of<1>(data, out, 4);
}

extern "C" __global__ void later_turns_mended(const unsigned *data, unsigned *out)
{
    lowest_of<0>(data, out, 4);
}

extern "C" __global__ void data_decides_broken(const unsigned *weights, const unsigned *data,
                                               unsigned *out)
{
    PDL_CONSTANT_PARAM(weights);
    if (weights[own_cell()] != KEPT) {
        PDL_WAIT();
    }
    out[own_cell()] = data[other_cell()];
}

extern "C" __global__ void data_decides_mended(const unsigned *weights, const unsigned *data,
                                               unsigned *out)
{
    PDL_CONSTANT_PARAM(weights);
    const unsigned kept = weights[own_cell()];
    PDL_WAIT();
    out[own_cell()] = kept == KEPT ? data[other_cell()] : 0;
}

/* ---- calls ------------------------------------------------------------------------------------- */

extern "C" __global__ void told_not_to_broken(const unsigned *data, unsigned *out)
{
    wait_if(false);
    out[own_cell()] = data[other_cell()];
}

extern "C" __global__ void told_not_to_mended(const unsigned *data, unsigned *out)
{
    wait_if(true);
    out[own_cell()] = data[other_cell()];
}

/* What begins a kernel, in a table. Those of the two tables differ in type. */
typedef void (*optional_beginning)(unsigned *);
typedef void (*strict_beginning)(unsigned long long *);

__device__ __noinline__ void begin_at_once(unsigned *count)
{
    *count += 1;
}

__device__ __noinline__ void begin_behind(unsigned *count)
{
    PDL_WAIT();
    *count += 1;
}

__device__ __noinline__ void begin_behind_one(unsigned long long *count)
{
    PDL_WAIT();
    *count += 1;
}

__device__ __noinline__ void begin_behind_two(unsigned long long *count)
{
    *count += 2;
    PDL_WAIT();
}

__device__ const optional_beginning optional_beginnings[] = {begin_at_once, begin_behind};
__device__ const strict_beginning strict_beginnings[] = {begin_behind_one, begin_behind_two};

extern "C" __global__ void indirect_call_broken(const unsigned *data, unsigned *out, unsigned which)
{
    unsigned count = 0;
    optional_beginnings[which](&count);
    out[own_cell()] = count != 0 ? data[other_cell()] : 0;
}

extern "C" __global__ void indirect_call_mended(const unsigned *data, unsigned *out, unsigned which)
{
    unsigned long long count = 0;
    strict_beginnings[which](&count);
    out[own_cell()] = count != 0 ? data[other_cell()] : 0;
}

struct optional_stage {
    virtual __device__ void begin(unsigned *count) const
    {
        *count += 1;
    }
};

struct waiting_stage : optional_stage {
    __device__ void begin(unsigned *count) const override
    {
        PDL_WAIT();
        *count += 1;
    }
};

/* With another parameter: by their type alone the functions of both classes could be meant. */
struct strict_stage {
    virtual __device__ void begin(unsigned *count, unsigned by) const
    {
        PDL_WAIT();
        *count += by;
    }
};

struct late_stage : strict_stage {
    __device__ void begin(unsigned *count, unsigned by) const override
    {
        *count += 2 * by;
        PDL_WAIT();
    }
};

extern "C" __global__ void virtual_call_broken(const unsigned *data, unsigned *out, unsigned which)
{
    const optional_stage first;
    const waiting_stage second;
    unsigned count = 0;
    const optional_stage *const stage = which == 0 ? &first : &second;
    stage->begin(&count);
    out[own_cell()] = count != 0 ? data[other_cell()] : 0;
}

extern "C" __global__ void virtual_call_mended(const unsigned *data, unsigned *out, unsigned which)
{
    const strict_stage first;
    const late_stage second;
    unsigned count = 0;
    const strict_stage *const stage = which == 0 ? &first : &second;
    stage->begin(&count, 1);
    out[own_cell()] = count != 0 ? data[other_cell()] : 0;
}

#endif /* PDL_TEST_LINT_ORDER_PAIRS_CUH */
