/* SPDX-License-Identifier: MIT */
/* A NULL stream means what it means in the translation unit that launches. This one is compiled
 * with
 * --default-stream per-thread; default_stream_legacy.cu is not. */
#include <pdl/chain.h>

#include "default_stream_test.cuh"
#include "gpu_test.cuh"

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
    cudaFunction_t function = nullptr;
    pdl_kernel *kernel = nullptr;
    assert_cuda(cudaGetFuncBySymbol(&function, reinterpret_cast<const void *>(raise_flag)));
    assert_pdl(pdl_kernel_from_function(function, NULL, &kernel));
    const pdl_status status = pdl_launch(kernel, pdl_launch_desc_make(1, 1), PDL_ARGS(flag));
    pdl_kernel_destroy(kernel);
    return status;
}

/* Builds the chain on the first call for a flag: that waits for the device. */
static pdl_status launch_chain_here(int *flag)
{
    static pdl_kernel *kernel;
    static pdl_chain *chain;
    if (chain == nullptr) {
        const pdl_chain_options options = PDL_CHAIN_OPTIONS_INIT;
        const pdl_launch_desc desc = pdl_launch_desc_make(1, 1);
        assert_pdl(pdl_kernel_from_symbol(raise_flag, &kernel));
        assert_pdl(pdl_chain_create(&options, &chain));
        assert_pdl(pdl_chain_add(chain, kernel, &desc, PDL_ARGS(flag), nullptr, 0, nullptr));
        assert_pdl(pdl_chain_build(chain));
        return pdl_chain_launch(chain, nullptr);
    }
    const pdl_status status = pdl_chain_launch(chain, nullptr);
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
    chain = nullptr;
    return status;
}

/* Whether a launch on the NULL stream runs while a kernel spins on a stream that the legacy default
 * stream waits for. */
static bool runs_beside_a_blocking_stream(pdl_status (*launch)(int *))
{
    cudaStream_t stream;
    int *flag = shared_value(0);
    int *seen = shared_value(0);
    assert_cuda(cudaStreamCreate(&stream));
    assert_pdl(launch(flag)); /* loads it: loading waits for the device */
    wait_for_flag<<<1, 1, 0, stream>>>(flag, seen);
    assert_cuda(cudaDeviceSynchronize());
    *flag = 0;
    *seen = 0;
    wait_for_flag<<<1, 1, 0, stream>>>(flag, seen);
    assert_cuda(cudaGetLastError());
    assert_pdl(launch(flag));
    assert_cuda(cudaDeviceSynchronize());
    const bool result = *seen == 1;
    assert_cuda(cudaFreeHost(seen));
    assert_cuda(cudaFreeHost(flag));
    assert_cuda(cudaStreamDestroy(stream));
    return result;
}

static void a_symbol_launched_from_a_per_thread_unit_runs_beside_a_blocking_stream(void **)
{
    assert_true(runs_beside_a_blocking_stream(launch_here));
}

static void a_function_launched_from_a_per_thread_unit_runs_beside_a_blocking_stream(void **)
{
    assert_true(runs_beside_a_blocking_stream(launch_function_here));
}

static void a_chain_with_the_options_of_a_per_thread_unit_runs_beside_a_blocking_stream(void **)
{
    assert_true(runs_beside_a_blocking_stream(launch_chain_here));
}

static void a_symbol_launched_from_a_legacy_unit_waits_for_a_blocking_stream(void **)
{
    assert_false(runs_beside_a_blocking_stream(launch_from_legacy_unit));
}

static void a_launch_on_the_null_stream_is_captured_with_the_per_thread_stream(void **)
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
    assert_cuda(cudaFreeHost(flag));
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_symbol_launched_from_a_per_thread_unit_runs_beside_a_blocking_stream),
        cmocka_unit_test(a_function_launched_from_a_per_thread_unit_runs_beside_a_blocking_stream),
        cmocka_unit_test(
            a_chain_with_the_options_of_a_per_thread_unit_runs_beside_a_blocking_stream),
        cmocka_unit_test(a_symbol_launched_from_a_legacy_unit_waits_for_a_blocking_stream),
        cmocka_unit_test(a_launch_on_the_null_stream_is_captured_with_the_per_thread_stream),
    };
    const int unavailable = no_device();
    return unavailable != 0 ? unavailable : cmocka_run_group_tests(tests, NULL, NULL);
}
