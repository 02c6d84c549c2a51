/* SPDX-License-Identifier: MIT */
/* Replays of a chain whose arguments change every time, under fault injection. Compiled with
 * -DPDL_FAULT_INJECT: after its trigger each block sleeps for 100 microseconds before it writes. */
#include <pdl/chain.h>

#include "gpu_test.cuh"

#ifndef PDL_FAULT_INJECT
#error "this test is compiled with -DPDL_FAULT_INJECT"
#endif

static const unsigned blocks = 64;
static const unsigned threads = 128;
static const unsigned cells = blocks * threads;
static const unsigned links = 4; /* even, so that a link always reads the same array */

/* Run number `number` of all links of all replays. Each thread reads a cell that another block of
 * the run before wrote, and writes its own: what it reads is not `number` - 1 if it reads too
 * early, or if the link or the one before it had old arguments. Two arrays take turns. */
template <bool Waits>
static __global__ void chain_link(const unsigned *before, unsigned *after, unsigned number,
                                  unsigned *stale, unsigned *runs)
{
    const unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned other = (own + cells / 2 + 1) % cells;
    if (Waits) {
        PDL_WAIT();
    }
    const unsigned seen = PDL_LOAD(&before[other]);
    PDL_LAUNCH_DEPENDENTS(); /* and sleep */
    if (seen != number - 1) {
        atomicAdd(stale, 1u);
    }
    after[own] = number;
    if (threadIdx.x == 0) {
        atomicAdd(runs, 1u);
    }
}

struct outcome {
    unsigned stale;
    unsigned block_runs;
};

template <bool Waits> static outcome replay(unsigned replays)
{
    cudaStream_t stream;
    unsigned *array[2];
    unsigned *counters; /* stale reads, runs of blocks */
    unsigned host[cells];
    outcome found = {~0u, 0};
    pdl_kernel *kernel = nullptr;
    pdl_chain *chain = nullptr;
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    assert_cuda(cudaMalloc(&array[0], cells * sizeof(unsigned)));
    assert_cuda(cudaMalloc(&array[1], cells * sizeof(unsigned)));
    assert_cuda(cudaMalloc(&counters, 2 * sizeof(unsigned)));
    assert_cuda(cudaMemset(array[0], 0, cells * sizeof(unsigned)));
    assert_cuda(cudaMemset(array[1], 0, cells * sizeof(unsigned)));
    assert_cuda(cudaMemset(counters, 0, 2 * sizeof(unsigned)));
    assert_cuda(cudaDeviceSynchronize());
    assert_pdl(pdl_kernel_from_symbol(chain_link<Waits>, &kernel));
    assert_pdl(pdl_kernel_declare(kernel, PDL_YES, PDL_YES)); /* true or not */
    assert_pdl(pdl_chain_create(nullptr, &chain));
    unsigned *stale = counters;
    unsigned *runs = counters + 1;
    const unsigned none = 0;
    const pdl_launch_desc desc =
        pdl_launch_desc_make(blocks, threads, 0, nullptr, PDL_OVERLAP_REQUIRE);
    for (unsigned i = 0; i < links; i++) {
        assert_pdl(pdl_chain_add(chain, kernel, &desc,
                                 PDL_ARGS(array[i % 2], array[(i + 1) % 2], none, stale, runs),
                                 nullptr, 0, nullptr));
    }
    assert_pdl(pdl_chain_build(chain));
    unsigned number = 0;
    for (unsigned r = 0; r < replays; r++) {
        for (unsigned i = 0; i < links; i++) {
            number++;
            assert_pdl(pdl_chain_set_args(
                chain, i, PDL_ARGS(array[i % 2], array[(i + 1) % 2], number, stale, runs)));
        }
        assert_pdl(pdl_chain_launch(chain, stream));
    }
    assert_cuda(cudaStreamSynchronize(stream));
    assert_cuda(cudaDeviceSynchronize());
    assert_cuda(cudaMemcpy(&found, counters, sizeof(found), cudaMemcpyDeviceToHost));
    assert_cuda(cudaMemcpy(host, array[links % 2], sizeof(host), cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < cells && Waits; i++) {
        assert_int_equal(host[i], number);
    }
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
    assert_cuda(cudaFree(counters));
    assert_cuda(cudaFree(array[1]));
    assert_cuda(cudaFree(array[0]));
    assert_cuda(cudaStreamDestroy(stream));
    return found;
}

static void ten_thousand_replays_with_changing_arguments_read_nothing_stale(void **)
{
    const unsigned replays = kernels_are_serialized() ? 200 : 10000; /* these are slow then */
    const outcome found = replay<true>(replays);
    assert_int_equal(found.stale, 0);
    assert_int_equal(found.block_runs, replays * links * blocks);
}

static void a_chain_of_kernels_that_do_not_wait_is_caught_by_fault_injection(void **)
{
    const unsigned replays = 100;
    const outcome found = replay<false>(replays);
    print_message("%u of %u reads were stale\n", found.stale, replays * links * cells);
    assert_if_concurrent(found.stale != 0);
    assert_int_equal(found.block_runs, replays * links * blocks);
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_replays_with_changing_arguments_read_nothing_stale),
        cmocka_unit_test(a_chain_of_kernels_that_do_not_wait_is_caught_by_fault_injection),
    };
    const int unavailable = no_device();
    return unavailable != 0 ? unavailable : cmocka_run_group_tests(tests, NULL, NULL);
}
