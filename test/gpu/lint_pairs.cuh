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

/* X(pair, rule, array, right, stale, sentence): there are kernels pair_broken and pair_mended, and
 * the former breaks the rule. Every cell of the array holds `right` at the end, or `stale` where
 * something came too early. The sentence is what the test shows. lint_pairs.py reads this too. */
#define LINT_PAIR_LIST(X)                                                                          \
    X(plain_read, "read-before-wait", OUT, FRESH, STALE, "a read before the wait is stale")        \
    X(vector_read, "read-before-wait", OUT, FRESH, STALE,                                          \
      "a vector read before the wait is stale")                                                    \
    X(async_copy, "read-before-wait", OUT, FRESH, STALE,                                           \
      "an asynchronous copy that starts before the wait is stale")                                 \
    X(bulk_copy, "read-before-wait", OUT, FRESH, STALE,                                            \
      "a bulk copy that starts before the wait is stale")                                          \
    X(struct_read, "read-before-wait", OUT, FRESH, STALE,                                          \
      "a read before the wait through a pointer in a struct is stale")                             \
    X(function_read, "read-before-wait", OUT, FRESH, STALE,                                        \
      "a read in a function called before the wait is stale")                                      \
    X(variable_read, "read-before-wait", OUT, FRESH, STALE,                                        \
      "a read of a __device__ variable before the wait is stale")                                  \
    X(loop_read, "read-before-wait", OUT, FRESH, STALE,                                            \
      "a read before the wait in the first turn of a loop is stale")                               \
    X(reused_read, "read-before-wait", OUT, FRESH, STALE,                                          \
      "a value read before the wait that the compiler uses again is stale")                        \
    X(first_warp_waits, "partial-wait", OUT, FRESH, STALE,                                         \
      "what the warps read that do not wait is stale")                                             \
    X(first_block_waits, "partial-wait", OUT, FRESH, STALE,                                        \
      "what the blocks read that do not wait is stale")                                            \
    X(first_thread_waits, "partial-wait", OUT, FRESH, STALE,                                       \
      "what the threads read that do not wait is stale")                                           \
    X(loader_warp, "partial-wait", OUT, FRESH, STALE,                                              \
      "what a warp that does not wait loads for warps that do is stale")                           \
    X(never_waits, "no-wait", OUT, FRESH, STALE,                                                   \
      "what a kernel reads that triggers and never waits is stale")                                \
    X(flag_skips, "no-wait", OUT, FRESH, STALE,                                                    \
      "what a kernel reads whose wait is skipped by a flag is stale")                              \
    X(early_write, "write-before-wait", DATA, OWN, FRESH,                                          \
      "a write before the wait is overwritten by the primary")                                     \
    X(early_clear, "write-before-wait", COPY, KEPT, 0,                                             \
      "a write before the wait reaches what the primary still reads")                              \
    X(early_atomic, "write-before-wait", DATA, FRESH + 1, FRESH,                                   \
      "an atomic addition before the wait is lost")                                                \
    X(const_restrict, "nc-after-wait", OUT, FRESH_WEIGHTED, STALE_WEIGHTED,                        \
      "a const __restrict__ input read after the wait is stale")                                   \
    X(ldg_read, "nc-after-wait", OUT, FRESH_WEIGHTED, STALE_WEIGHTED,                              \
      "an __ldg() after the wait is stale")

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

/* Pointers in a struct that is passed by value. */
struct cell_arrays {
    const unsigned *data;
    unsigned *out;
};

/* A cell that produce() writes at the end, beside `data`. */
__device__ unsigned published;

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
    published = STALE;
}

/* The primary. Launched without overlap. Its reads are as late as its writes. */
extern "C" __global__ void produce(unsigned *data, const unsigned *kept, unsigned *copy)
{
    const unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS(); /* and sleep */
    data[own] = FRESH;
    copy[own] = kept[own];
    published = FRESH;
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

/* With an index of its own, or nvcc reads in the caller and passes the value. */
__device__ __noinline__ unsigned read_cell(const unsigned *data, unsigned cell)
{
    return data[cell];
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

__device__ __forceinline__ void finish_bulk_copy(unsigned long long *barrier)
{
    const unsigned long long begin = device_clock();
    unsigned done = 0;
    while (done == 0) {
        end_unless_in_time(begin);
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0;"
                     " selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(shared_address(barrier))
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

extern "C" __global__ void vector_read_broken(const uint4 *data, unsigned *out)
{
    const uint4 value = data[other_cell() / 4];
    PDL_WAIT();
    out[own_cell()] = (value.x + value.y + value.z + value.w) / 4;
}

extern "C" __global__ void vector_read_mended(const uint4 *data, unsigned *out)
{
    PDL_WAIT();
    const uint4 value = data[other_cell() / 4];
    out[own_cell()] = (value.x + value.y + value.z + value.w) / 4;
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
    finish_bulk_copy(&barrier);
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
    finish_bulk_copy(&barrier);
    out[own_cell()] = tile[threadIdx.x];
}

extern "C" __global__ void struct_read_broken(cell_arrays arrays)
{
    const unsigned value = arrays.data[other_cell()];
    PDL_WAIT();
    arrays.out[own_cell()] = value;
}

extern "C" __global__ void struct_read_mended(cell_arrays arrays)
{
    PDL_WAIT();
    const unsigned value = arrays.data[other_cell()];
    arrays.out[own_cell()] = value;
}

extern "C" __global__ void function_read_broken(const unsigned *data, unsigned *out)
{
    const unsigned value = read_cell(data, other_cell());
    PDL_WAIT();
    out[own_cell()] = value;
}

extern "C" __global__ void function_read_mended(const unsigned *data, unsigned *out)
{
    PDL_WAIT();
    const unsigned value = read_cell(data, other_cell());
    out[own_cell()] = value;
}

extern "C" __global__ void variable_read_broken(const unsigned *, unsigned *out)
{
    const unsigned value = published;
    PDL_WAIT();
    out[own_cell()] = value;
}

extern "C" __global__ void variable_read_mended(const unsigned *, unsigned *out)
{
    PDL_WAIT();
    const unsigned value = published;
    out[own_cell()] = value;
}

extern "C" __global__ void loop_read_broken(const unsigned *data, unsigned *out)
{
    unsigned lowest = ~0u;
#pragma unroll 1
    for (unsigned i = 0; i < 4; i++) {
        const unsigned value = data[(other_cell() + i * threads) % cells];
        PDL_WAIT();
        lowest = value < lowest ? value : lowest;
    }
    out[own_cell()] = lowest;
}

extern "C" __global__ void loop_read_mended(const unsigned *data, unsigned *out)
{
    unsigned lowest = ~0u;
#pragma unroll 1
    for (unsigned i = 0; i < 4; i++) {
        PDL_WAIT();
        const unsigned value = data[(other_cell() + i * threads) % cells];
        lowest = value < lowest ? value : lowest;
    }
    out[own_cell()] = lowest;
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

extern "C" __global__ void first_warp_waits_mended(const unsigned *data, unsigned *out)
{
    PDL_WAIT();
    out[own_cell()] = data[other_cell()];
}

extern "C" __global__ void first_block_waits_broken(const unsigned *data, unsigned *out)
{
    if (blockIdx.x == 0) {
        PDL_WAIT();
    }
    out[own_cell()] = data[other_cell()];
}

extern "C" __global__ void first_block_waits_mended(const unsigned *data, unsigned *out)
{
    PDL_WAIT();
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

extern "C" __global__ void first_thread_waits_mended(const unsigned *data, unsigned *out)
{
    PDL_WAIT();
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

extern "C" __global__ void never_waits_mended(const unsigned *data, unsigned *out)
{
    PDL_WAIT();
    out[own_cell()] = data[other_cell()];
    PDL_LAUNCH_DEPENDENTS();
}

/* The caller says that there is nothing to wait for, and is wrong. */
extern "C" __global__ void flag_skips_broken(const unsigned *data, unsigned *out, unsigned wait)
{
    if (wait != 0) {
        PDL_WAIT();
    }
    out[own_cell()] = data[other_cell()];
}

extern "C" __global__ void flag_skips_mended(const unsigned *data, unsigned *out, unsigned)
{
    PDL_WAIT();
    out[own_cell()] = data[other_cell()];
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

#endif /* PDL_TEST_LINT_PAIRS_CUH */
