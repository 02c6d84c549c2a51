/* SPDX-License-Identifier: MIT */
/* A NULL stream means what it means in the translation unit that launches. This one is compiled
 * with
 * --default-stream per-thread; default_stream_legacy.cu is not. */
#include <pdl/chain.h>

#include "gpu_test.cuh"

/* The same launch in a translation unit with the legacy default stream. */
pdl_status launch_from_legacy_unit(int *flag);

static const unsigned long long patience_ns = 300000000ull;

static __global__ void raise_flag(int *flag)
{
    *static_cast<volatile int *>(flag) = 1;
}

/* Spins until the flag is raised, and says whether it was or it lost patience. */
static __global__ void wait_for_flag(const int *flag, int *seen)
{
    const unsigned long long begin = device_clock();
    *seen = 0;
    while (in_time(begin, patience_ns)) {
        if (*static_cast<const volatile int *>(flag) != 0) {
            *seen = 1;
            return;
        }
    }
}

static pdl_status launch_here(int *flag)
{
    return pdl_launch_kernel(pdl_launch_desc_make(1, 1), raise_flag, flag);
}

static pdl_status launch_function_here(int *flag)
{
    return pdl_launch(function_kernel_of(raise_flag), pdl_launch_desc_make(1, 1), PDL_ARGS(flag));
}

/* Builds the chain on the first call for a flag: that waits for the device. */
static pdl_status launch_chain_here(int *flag)
{
    static pdl_chain *chain;
    static int *built_for;
    if (built_for != flag) {
        const pdl_chain_options options = PDL_CHAIN_OPTIONS_INIT;
        const pdl_launch_desc desc = pdl_launch_desc_make(1, 1);
        assert_pdl(pdl_chain_create(&options, &chain));
        undo_later([] { pdl_chain_destroy(chain); });
        assert_pdl(pdl_chain_add(chain, kernel_of(raise_flag), &desc, PDL_ARGS(flag), nullptr, 0,
                                 nullptr));
        assert_pdl(pdl_chain_build(chain));
        built_for = flag;
    }
    return pdl_chain_launch(chain, nullptr);
}

/* Whether a launch on the NULL stream runs while a kernel spins on a stream that the legacy default
 * stream waits for. */
static bool runs_beside_a_blocking_stream(pdl_status (*launch)(int *))
{
    const cudaStream_t stream = new_stream(cudaStreamDefault);
    int *flag = shared_value(0);
    int *seen = shared_value(0);
    assert_pdl(launch(flag)); /* loads it: loading waits for the device */
    wait_for_flag<<<1, 1, 0, stream>>>(flag, seen);
    assert_cuda(cudaDeviceSynchronize());
    *flag = 0;
    *seen = 0;
    wait_for_flag<<<1, 1, 0, stream>>>(flag, seen);
    assert_cuda(cudaGetLastError());
    assert_pdl(launch(flag));
    assert_cuda(cudaDeviceSynchronize());
    return *seen == 1;
}

static const struct {
    const char *name;
    pdl_status (*launch)(int *flag);
    bool runs;
} launches[] = {
    {"a symbol of a per-thread unit runs beside a blocking stream", launch_here, true},
    {"a function of a per-thread unit runs beside a blocking stream", launch_function_here, true},
    {"a chain of a per-thread unit runs beside a blocking stream", launch_chain_here, true},
    {"a symbol of a legacy unit waits for a blocking stream", launch_from_legacy_unit, false},
};

TEST_ROWS(a_launch_on_the_null_stream, launches)
{
    assert_int_equal(runs_beside_a_blocking_stream(row.launch), row.runs);
}

TEST(a_launch_on_the_null_stream_is_captured_with_the_per_thread_stream)
{
    pdl_status (*const launches[])(int *) = {launch_here, launch_function_here};
    int *flag = shared_value(0);
    for (pdl_status (*const launch)(int *) : launches) {
        cudaGraph_t graph = nullptr;
        size_t nodes = 0;
        assert_pdl(launch(flag));
        assert_cuda(cudaDeviceSynchronize());
        *flag = 0;
        assert_cuda(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal));
        const pdl_status status = launch(flag);
        assert_cuda(cudaStreamEndCapture(cudaStreamPerThread, &graph));
        assert_pdl(status);
        assert_cuda(cudaGraphGetNodes(graph, nullptr, &nodes));
        assert_int_equal(nodes, 1);
        assert_cuda(cudaGraphDestroy(graph));
        assert_cuda(cudaDeviceSynchronize());
        assert_int_equal(*flag, 0);
    }
}

int main()
{
    return run_gpu_tests();
}
