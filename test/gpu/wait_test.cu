/* SPDX-License-Identifier: MIT */
/* The wait waits, and fault injection finds a kernel that does not. Compiled with
 * -DPDL_FAULT_INJECT: after its trigger each block sleeps for 100 microseconds before it writes. */
#include "gpu_test.cuh"

#ifndef PDL_FAULT_INJECT
#error "this test is compiled with -DPDL_FAULT_INJECT"
#endif

static const unsigned blocks = 64;
static const unsigned threads = 128;
static const unsigned cells = blocks * threads;

/* Link number `link` of a chain. Each thread reads a cell that another block of the link before
 * wrote, and writes its own: what it reads is not `link` - 1 if it reads too early. Two arrays take
 * turns. */
template <bool Waits>
static __global__ void chain_link(const unsigned *before, unsigned *after, unsigned link,
                                  unsigned *stale)
{
    const unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned other = (own + cells / 2 + 1) % cells;
    if (Waits) {
        PDL_WAIT();
    }
    const unsigned seen = PDL_LOAD(&before[other]);
    PDL_LAUNCH_DEPENDENTS(); /* and sleep */
    if (seen != link - 1) {
        atomicAdd(stale, 1u);
    }
    after[own] = link;
}

/* Runs that many links and returns how many reads were stale. */
template <bool Waits> static unsigned stale_reads(unsigned links)
{
    cudaStream_t stream;
    unsigned *array[2];
    unsigned *stale;
    unsigned count = ~0u;
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    assert_cuda(cudaMalloc(&array[0], cells * sizeof(unsigned)));
    assert_cuda(cudaMalloc(&array[1], cells * sizeof(unsigned)));
    assert_cuda(cudaMalloc(&stale, sizeof(*stale)));
    assert_cuda(cudaMemset(array[0], 0, cells * sizeof(unsigned)));
    assert_cuda(cudaMemset(array[1], 0, cells * sizeof(unsigned)));
    assert_cuda(cudaMemset(stale, 0, sizeof(*stale)));
    assert_cuda(cudaDeviceSynchronize());
    const pdl_launch_desc desc =
        pdl_launch_desc_make(blocks, threads, 0, stream, PDL_OVERLAP_REQUIRE);
    pdl_kernel *kernel = nullptr;
    assert_pdl(pdl_kernel_from_symbol(chain_link<Waits>, &kernel));
    if (!Waits) {
        assert_refused(pdl_launch(kernel, desc, PDL_ARGS(array[0], array[1], links, stale)),
                       PDL_ERROR_OVERLAP, "overlap");
        assert_pdl(pdl_kernel_declare(kernel, PDL_YES, PDL_YES)); /* which is not true */
    }
    for (unsigned link = 1; link <= links; link++) {
        const unsigned *const before = array[(link - 1) % 2];
        assert_pdl(pdl_launch(kernel, desc, PDL_ARGS(before, array[link % 2], link, stale)));
    }
    assert_cuda(cudaStreamSynchronize(stream));
    assert_cuda(cudaMemcpy(&count, stale, sizeof(count), cudaMemcpyDeviceToHost));
    pdl_kernel_destroy(kernel);
    assert_cuda(cudaFree(stale));
    assert_cuda(cudaFree(array[1]));
    assert_cuda(cudaFree(array[0]));
    assert_cuda(cudaStreamDestroy(stream));
    return count;
}

static void ten_thousand_chained_launches_that_wait_read_nothing_stale(void **)
{
    assert_int_equal(stale_reads<true>(10000), 0);
}

static void launches_that_do_not_wait_are_caught_by_fault_injection(void **)
{
    const unsigned stale = stale_reads<false>(100);
    print_message("%u of %u reads were stale\n", stale, 100 * cells);
    assert_if_concurrent(stale != 0);
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_chained_launches_that_wait_read_nothing_stale),
        cmocka_unit_test(launches_that_do_not_wait_are_caught_by_fault_injection),
    };
    const int unavailable = no_device();
    return unavailable != 0 ? unavailable : cmocka_run_group_tests(tests, NULL, NULL);
}
