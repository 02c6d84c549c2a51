/* SPDX-License-Identifier: MIT */
/* Pairs of kernels, one that breaks a rule of `pdltool lint` and one that keeps it. Each is the
 * secondary of produce(), which triggers, sleeps (PDL_FAULT_INJECT) and only then writes.
 *
 * lint_pairs_test.cu runs them on a device; lint_pairs.py compiles this file to PTX and looks at
 * what lint says. Includes nothing of the host, and the kernels have C names, so that both find them. */
#ifndef PDL_TEST_LINT_PAIRS_CUH
#define PDL_TEST_LINT_PAIRS_CUH

#include <pdl/device.cuh>

#include "in_time.cuh"

#ifndef PDL_FAULT_INJECT
#error "these kernels are compiled with -DPDL_FAULT_INJECT"
#endif

/* X(pair, mended, rule, array, right, stale, sentence): there are kernels pair_broken and mended_mended, and
 * the former breaks the rule. Every cell of the array holds `right` at the end, or `stale` where
 * something came too early. The sentence is what the test shows. lint_pairs.py reads this too. */
#define LINT_PAIR_LIST(X)                                                                          \
    X(plain_read, plain_read, "read-before-wait", OUT, FRESH, STALE,                               \
      "a read before the wait is stale")                                                           \
    X(async_copy, async_copy, "read-before-wait", OUT, FRESH, STALE,                               \
      "an asynchronous copy that starts before the wait is stale")                                 \
    X(bulk_copy, bulk_copy, "read-before-wait", OUT, FRESH, STALE,                                 \
      "a bulk copy that starts before the wait is stale")                                          \
    X(reused_read, reused_read, "read-before-wait", OUT, FRESH, STALE,                             \
      "a value read before the wait that the compiler uses again is stale")                        \
    X(first_warp_waits, plain_read, "partial-wait", OUT, FRESH, STALE,                             \
      "what the warps read that do not wait is stale")                                             \
    X(first_block_waits, plain_read, "partial-wait", OUT, FRESH, STALE,                            \
      "what the blocks read that do not wait is stale")                                            \
    X(first_thread_waits, plain_read, "partial-wait", OUT, FRESH, STALE,                           \
      "what the threads read that do not wait is stale")                                           \
    X(loader_warp, loader_warp, "partial-wait", OUT, FRESH, STALE,                                 \
      "what a warp that does not wait loads for warps that do is stale")                           \
    X(never_waits, plain_read, "no-wait", OUT, FRESH, STALE,                                       \
      "what a kernel reads that triggers and never waits is stale")                                \
    X(early_write, early_write, "write-before-wait", DATA, OWN, FRESH,                             \
      "a write before the wait is overwritten by the primary")                                     \
    X(early_clear, early_clear, "write-before-wait", COPY, KEPT, 0,                                \
      "a write before the wait reaches what the primary still reads")                              \
    X(early_atomic, early_atomic, "write-before-wait", DATA, FRESH + 1, FRESH,                     \
      "an atomic addition before the wait is lost")                                                \
    X(const_restrict, const_restrict, "nc-after-wait", OUT, FRESH_WEIGHTED, STALE_WEIGHTED,        \
      "a const __restrict__ input read after the wait is stale")                                   \
    X(ldg_read, ldg_read, "nc-after-wait", OUT, FRESH_WEIGHTED, STALE_WEIGHTED,                    \
      "an __ldg() after the wait is stale")

/* Here the broken kernel does execute a wait, or a barrier behind one, but not in time: in another phase, in another
 * thread, or only on the way that is not taken. */
#define LINT_ORDER_PAIR_LIST(X)                                                                    \
    X(block_barrier, block_barrier, "partial-wait", OUT, FRESH, STALE,                             \
      "a barrier of the block before the first warp's wait does not order the others")             \
    X(barrier_phase, barrier_phase, "partial-wait", OUT, FRESH, STALE,                             \
      "a named barrier does not order in the phase before the wait")                               \
    X(cluster_phase, cluster_phase, "partial-wait", OUT, FRESH, STALE,                             \
      "a cluster barrier that a block arrives at before its wait does not order the other")        \
    X(mbarrier_parity, mbarrier_parity, "partial-wait", OUT, FRESH, STALE,                         \
      "an mbarrier that is awaited with the producer's parity does not order")                     \
    X(mbarrier_arrival, mbarrier_arrival, "partial-wait", OUT, FRESH, STALE,                       \
      "an mbarrier that only threads without a wait arrive at does not order")                     \
    X(elected_lane, elected_lane, "partial-wait", OUT, FRESH, STALE,                               \
      "what the other lanes read that no warp barrier holds is stale")                             \
    X(later_turns, later_turns, "read-before-wait", OUT, FRESH, STALE,                             \
      "a read in the first turn of a loop that waits in later turns is stale")

/* What cells hold: STALE before the primary writes, KEPT where it does not, OWN of the secondary. */
enum {
    STALE = 1,
    FRESH = 2,
    KEPT = 5,
    OWN = 7,
    STALE_WEIGHTED = STALE * KEPT,
    FRESH_WEIGHTED = FRESH * KEPT
};

constexpr unsigned blocks = 64; /* those of both kernels find room at once on any device */
constexpr unsigned threads = 128;
constexpr unsigned cells = blocks * threads;

/* ---- before the secondary ---------------------------------------------------------------------- */

/* Holds everything behind it until the host opens the gate, so that primary and secondary are both
 * in the queue when the primary starts. Gives up after two seconds: then the host was kept off, or
 * cannot come before this has ended. Launched without overlap. */
extern "C" __global__ void prepare(const volatile unsigned *gate, unsigned *data, unsigned *kept,
                                   unsigned *copy, unsigned *out)
{
    const unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned long long begin = device_clock();
    while (*gate == 0 && in_time(begin)) {
    }
    data[own] = STALE;
    kept[own] = KEPT;
    copy[own] = STALE;
    out[own] = 0;
}

/* The primary. Launched without overlap. Its reads are as late as its writes. */
extern "C" __global__ void produce(unsigned *data, const unsigned *kept, unsigned *copy)
{
    const unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS(); /* and sleep */
    data[own] = FRESH;
    copy[own] = kept[own];
}

/* ---- parts of kernels -------------------------------------------------------------------------- */

__device__ __forceinline__ unsigned own_cell()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

/* One that another block of the primary writes. */
__device__ __forceinline__ unsigned other_cell()
{
    return (own_cell() + cells / 2 + 1) % cells;
}

__device__ __forceinline__ unsigned shared_address(const void *pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void start_async_copy(unsigned *to, const unsigned *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(to)),
                 "l"(__cvta_generic_to_global(from))
                 : "memory");
}

__device__ __forceinline__ void finish_async_copies()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

/* By one thread of the block; a __syncthreads() has to follow. */
__device__ __forceinline__ void initialize_barrier(unsigned long long *barrier)
{
    asm volatile("mbarrier.init.shared.b64 [%0], 1;\n\t"
                 "fence.proxy.async.shared::cta;" ::"r"(shared_address(barrier))
                 : "memory");
}

/* By one thread of the block. */
__device__ __forceinline__ void start_bulk_copy(unsigned *to, const unsigned *from, unsigned bytes,
                                                unsigned long long *barrier)
{
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1], %2, [%3];" ::"r"(shared_address(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
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

/* ---- read-before-wait -------------------------------------------------------------------------- */

extern "C" __global__ void plain_read_broken(const unsigned *data, unsigned *out)
{
    const unsigned value = data[other_cell()];
    PDL_WAIT();
    out[own_cell()] = value;
}

extern "C" __global__ void plain_read_mended(const unsigned *data, unsigned *out)
{
    PDL_WAIT();
    const unsigned value = data[other_cell()];
    out[own_cell()] = value;
}

/* That the copy is waited for late does not make it a late read. */
extern "C" __global__ void async_copy_broken(const unsigned *data, unsigned *out)
{
    __shared__ unsigned tile[threads];
    start_async_copy(&tile[threadIdx.x], &data[other_cell()]);
    PDL_WAIT();
    finish_async_copies();
    out[own_cell()] = tile[threadIdx.x];
}

extern "C" __global__ void async_copy_mended(const unsigned *data, unsigned *out)
{
    __shared__ unsigned tile[threads];
    PDL_WAIT();
    start_async_copy(&tile[threadIdx.x], &data[other_cell()]);
    finish_async_copies();
    out[own_cell()] = tile[threadIdx.x];
}

extern "C" __global__ void bulk_copy_broken(const unsigned *data, unsigned *out)
{
    __shared__ alignas(16) unsigned tile[threads];
    __shared__ unsigned long long barrier;
    if (threadIdx.x == 0) {
        initialize_barrier(&barrier);
        start_bulk_copy(tile, &data[blockIdx.x * threads], sizeof(tile), &barrier);
    }
    __syncthreads();
    PDL_WAIT();
    wait_at_mbarrier<0>(&barrier);
    out[own_cell()] = tile[threadIdx.x];
}

extern "C" __global__ void bulk_copy_mended(const unsigned *data, unsigned *out)
{
    __shared__ alignas(16) unsigned tile[threads];
    __shared__ unsigned long long barrier;
    if (threadIdx.x == 0) {
        initialize_barrier(&barrier);
    }
    __syncthreads();
    PDL_WAIT();
    if (threadIdx.x == 0) {
        start_bulk_copy(tile, &data[blockIdx.x * threads], sizeof(tile), &barrier);
    }
    wait_at_mbarrier<0>(&barrier);
    out[own_cell()] = tile[threadIdx.x];
}

/* A look at the old value, which may be old, and a read after the wait, which nvcc leaves out: with
 * const __restrict__ it takes the value that it has. */
extern "C" __global__ void reused_read_broken(const unsigned *__restrict__ data, unsigned *out)
{
    __shared__ unsigned odd[threads];
    odd[threadIdx.x ^ 1] = data[own_cell()] > FRESH;
    __syncthreads();
    PDL_WAIT();
    out[own_cell()] = data[own_cell()] + odd[threadIdx.x];
}

extern "C" __global__ void reused_read_mended(const unsigned *PDL_RESTRICT data, unsigned *out)
{
    __shared__ unsigned odd[threads];
    PDL_LINT_ALLOW("read-before-wait", "old and new value are both right here");
    odd[threadIdx.x ^ 1] = data[own_cell()] > FRESH;
    __syncthreads();
    PDL_WAIT();
    out[own_cell()] = data[own_cell()] + odd[threadIdx.x];
}

/* ---- partial-wait ------------------------------------------------------------------------------ */

extern "C" __global__ void first_warp_waits_broken(const unsigned *data, unsigned *out)
{
    if (threadIdx.x < 32) {
        PDL_WAIT();
    }
    out[own_cell()] = data[other_cell()];
}

extern "C" __global__ void first_block_waits_broken(const unsigned *data, unsigned *out)
{
    if (blockIdx.x == 0) {
        PDL_WAIT();
    }
    out[own_cell()] = data[other_cell()];
}

/* The other threads of the first warp may happen to come after it, those of other warps do not. */
extern "C" __global__ void first_thread_waits_broken(const unsigned *data, unsigned *out)
{
    if (threadIdx.x == 0) {
        PDL_WAIT();
    }
    out[own_cell()] = data[other_cell()];
}

/* The first warp loads for its block, and the others, which wait, store. */
extern "C" __global__ void loader_warp_broken(const unsigned *data, unsigned *out)
{
    __shared__ unsigned tile[threads];
    if (threadIdx.x < 32) {
        for (unsigned i = 0; i < threads / 32; i++) {
            tile[threadIdx.x + 32 * i] = data[blockIdx.x * threads + threadIdx.x + 32 * i];
        }
    } else {
        PDL_WAIT();
    }
    __syncthreads();
    out[own_cell()] = tile[threadIdx.x];
}

extern "C" __global__ void loader_warp_mended(const unsigned *data, unsigned *out)
{
    __shared__ unsigned tile[threads];
    if (threadIdx.x < 32) {
        PDL_WAIT();
        for (unsigned i = 0; i < threads / 32; i++) {
            tile[threadIdx.x + 32 * i] = data[blockIdx.x * threads + threadIdx.x + 32 * i];
        }
    } else {
        PDL_WAIT();
    }
    __syncthreads();
    out[own_cell()] = tile[threadIdx.x];
}

/* ---- no-wait ----------------------------------------------------------------------------------- */

extern "C" __global__ void never_waits_broken(const unsigned *data, unsigned *out)
{
    out[own_cell()] = data[other_cell()];
    PDL_LAUNCH_DEPENDENTS();
}

/* ---- write-before-wait ------------------------------------------------------------------------- */

extern "C" __global__ void early_write_broken(unsigned *data, unsigned *out)
{
    data[other_cell()] = OWN;
    PDL_WAIT();
    out[own_cell()] = 0;
}

extern "C" __global__ void early_write_mended(unsigned *data, unsigned *out)
{
    PDL_WAIT();
    data[other_cell()] = OWN;
    out[own_cell()] = 0;
}

/* Clears for the next use what the primary still reads. `data` is produce()'s `kept` here. */
extern "C" __global__ void early_clear_broken(unsigned *data, unsigned *out)
{
    data[other_cell()] = 0;
    PDL_WAIT();
    out[own_cell()] = 0;
}

extern "C" __global__ void early_clear_mended(unsigned *data, unsigned *out)
{
    PDL_WAIT();
    data[other_cell()] = 0;
    out[own_cell()] = 0;
}

extern "C" __global__ void early_atomic_broken(unsigned *data, unsigned *out)
{
    atomicAdd(&data[other_cell()], 1u);
    PDL_WAIT();
    out[own_cell()] = 0;
}

extern "C" __global__ void early_atomic_mended(unsigned *data, unsigned *out)
{
    PDL_WAIT();
    atomicAdd(&data[other_cell()], 1u);
    out[own_cell()] = 0;
}

/* ---- nc-after-wait ----------------------------------------------------------------------------- */

/* The weights are staged in shared memory before the wait, as they may be. In the source and in the
 * PTX `data` is read after the wait; with ld.global.nc, so that ptxas moves the load up to that of
 * the weights. */

extern "C" __global__ void const_restrict_broken(const unsigned *weights,
                                                 const unsigned *__restrict__ data, unsigned *out)
{
    __shared__ unsigned tile[threads];
    PDL_CONSTANT_PARAM(weights);
    tile[threadIdx.x ^ 1] = weights[own_cell()];
    __syncthreads();
    PDL_WAIT();
    out[own_cell()] = tile[threadIdx.x] * data[own_cell()];
}

extern "C" __global__ void const_restrict_mended(const unsigned *weights,
                                                 const unsigned *PDL_RESTRICT data, unsigned *out)
{
    __shared__ unsigned tile[threads];
    PDL_CONSTANT_PARAM(weights);
    tile[threadIdx.x ^ 1] = weights[own_cell()];
    __syncthreads();
    PDL_WAIT();
    out[own_cell()] = tile[threadIdx.x] * data[own_cell()];
}

extern "C" __global__ void ldg_read_broken(const unsigned *weights, const unsigned *data,
                                           unsigned *out)
{
    __shared__ unsigned tile[threads];
    PDL_CONSTANT_PARAM(weights);
    tile[threadIdx.x ^ 1] = weights[own_cell()];
    __syncthreads();
    PDL_WAIT();
    out[own_cell()] = tile[threadIdx.x] * __ldg(&data[own_cell()]);
}

extern "C" __global__ void ldg_read_mended(const unsigned *weights, const unsigned *data,
                                           unsigned *out)
{
    __shared__ unsigned tile[threads];
    PDL_CONSTANT_PARAM(weights);
    tile[threadIdx.x ^ 1] = weights[own_cell()];
    __syncthreads();
    PDL_WAIT();
    out[own_cell()] = tile[threadIdx.x] * PDL_LOAD(&data[own_cell()]);
}

/* ---- parts of kernels with barriers ------------------------------------------------------------ */

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

#endif /* PDL_TEST_LINT_PAIRS_CUH */
