/* SPDX-License-Identifier: MIT */
/* Symbols, whose code libpdl finds in the program: what waits is overlapped, and what does not wait, or may not, never is.
 * Compiled with -DPDL_FAULT_INJECT: after its trigger each block sleeps for 100 microseconds before it
 * writes. `gpu_symbol LAUNCHES` prints what comes of so many launches, as JSON. */
#include "gpu_test.cuh"

#include <cstdlib>

#ifndef PDL_FAULT_INJECT
#error "this test is compiled with -DPDL_FAULT_INJECT"
#endif

static const unsigned blocks = 64;
static const unsigned threads = 128;
static const unsigned cells = blocks * threads;

static __global__ void produce(unsigned *array, unsigned turn)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS(); /* and sleep */
    array[blockIdx.x * blockDim.x + threadIdx.x] = turn;
}

enum kind { WAITS, NEVER, POINTER };

/* Counts the cells that have not been written yet. */
template <kind Kind>
static __global__ void consume(const unsigned *array, unsigned turn, unsigned long long *stale,
                               void (*wait)())
{
    if (Kind == WAITS) {
        PDL_WAIT();
    } else if (Kind == POINTER && wait != nullptr) {
        wait();
    }
    if (PDL_LOAD(&array[(blockIdx.x * blockDim.x + threadIdx.x + cells / 2) % cells]) != turn) {
        atomicAdd(stale, 1ull);
    }
}

/* How a consumer is launched. */
enum way { AUTO, DECLARED, RAW };

struct outcome {
    unsigned long long stale;
    pdl_reason reason;
};

template <kind Kind> static outcome run(unsigned turns, way how)
{
    cudaStream_t stream;
    unsigned *array;
    unsigned long long *stale;
    outcome result = {~0ull, PDL_REASON_NOT_REQUESTED};
    pdl_kernel *producer = nullptr;
    pdl_kernel *consumer = nullptr;
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    void (*wait)() = nullptr;
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    assert_cuda(cudaMalloc(&array, cells * sizeof(*array)));
    assert_cuda(cudaMalloc(&stale, sizeof(*stale)));
    assert_cuda(cudaMemset(array, 0, cells * sizeof(*array)));
    assert_cuda(cudaMemset(stale, 0, sizeof(*stale)));
    assert_cuda(cudaDeviceSynchronize());
    assert_pdl(pdl_kernel_from_symbol(produce, &producer));
    assert_pdl(pdl_kernel_from_symbol(consume<Kind>, &consumer));
    if (how == DECLARED) {
        assert_pdl(pdl_kernel_declare(consumer, PDL_YES, PDL_UNKNOWN));
    }
    const pdl_launch_desc first = pdl_launch_desc_make(blocks, threads, 0, stream);
    const pdl_launch_desc second =
        pdl_launch_desc_make(blocks, threads, 0, stream, PDL_OVERLAP_AUTO);
    assert_pdl(pdl_launch_explain(consumer, &second, &report));
    result.reason = static_cast<pdl_reason>(report.overlap_reason);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    for (unsigned turn = 1; turn <= turns; turn++) {
        const unsigned *const written = array;
        assert_pdl(pdl_launch(producer, first, PDL_ARGS(array, turn)));
        if (how == RAW) {
            assert_cuda(cudaLaunchKernelEx(&config, consume<Kind>, written, turn, stale, wait));
        } else {
            assert_pdl(pdl_launch(consumer, second, PDL_ARGS(written, turn, stale, wait)));
        }
    }
    assert_cuda(cudaStreamSynchronize(stream));
    assert_cuda(cudaMemcpy(&result.stale, stale, sizeof(*stale), cudaMemcpyDeviceToHost));
    pdl_kernel_destroy(consumer);
    pdl_kernel_destroy(producer);
    assert_cuda(cudaFree(stale));
    assert_cuda(cudaFree(array));
    assert_cuda(cudaStreamDestroy(stream));
    return result;
}

static void a_kernel_that_waits_is_overlapped(void **)
{
    const outcome result = run<WAITS>(200, AUTO);
    assert_int_equal(result.reason, PDL_REASON_GRANTED);
    assert_int_equal(result.stale, 0);
}

static void a_kernel_that_does_not_wait_is_not_overlapped(void **)
{
    const outcome result = run<NEVER>(2000, AUTO);
    assert_int_equal(result.reason, PDL_REASON_NO_WAIT);
    assert_int_equal(result.stale, 0);
    assert_if_concurrent(run<NEVER>(50, RAW).stale != 0);
    assert_if_concurrent(run<NEVER>(50, DECLARED).stale != 0);
}

static void a_kernel_that_may_not_wait_is_not_overlapped(void **)
{
    const outcome result = run<POINTER>(200, AUTO);
    assert_int_equal(result.reason, PDL_REASON_WAITS_UNKNOWN);
    assert_int_equal(result.stale, 0);
    assert_if_concurrent(run<POINTER>(50, RAW).stale != 0);
}

static void what_is_known_of_a_symbol_is_told(void **)
{
    pdl_kernel *kernel = nullptr;
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    assert_pdl(pdl_kernel_from_symbol(produce, &kernel));
    assert_pdl(pdl_kernel_get(kernel, -1, &info));
    assert_int_equal(info.waits, PDL_YES);
    assert_int_equal(info.triggers, PDL_YES);
    assert_null(info.unknown_why);
    pdl_kernel_destroy(kernel);
    assert_pdl(pdl_kernel_from_symbol(consume<POINTER>, &kernel));
    assert_pdl(pdl_kernel_get(kernel, -1, &info));
    assert_int_equal(info.waits, PDL_UNKNOWN);
    assert_non_null(info.unknown_why);
    pdl_kernel_destroy(kernel);
}

/* After cudaDeviceReset() the driver has other handles for the same symbols. */
static void what_is_known_survives_a_reset_of_the_device(void **)
{
    pdl_kernel *kernel = nullptr;
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    assert_pdl(pdl_kernel_from_symbol(produce, &kernel));
    for (int i = 0; i < 3; i++) {
        unsigned *array = nullptr;
        unsigned turn = 7;
        assert_cuda(cudaMalloc(&array, cells * sizeof(*array)));
        assert_pdl(pdl_launch(
            kernel, pdl_launch_desc_make(blocks, threads, 0, nullptr, PDL_OVERLAP_REQUIRE),
            PDL_ARGS(array, turn)));
        assert_pdl(pdl_kernel_get(kernel, -1, &info));
        assert_int_equal(info.waits, PDL_YES);
        assert_pdl(pdl_kernel_set_attribute(kernel, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY, 65536));
        assert_cuda(cudaDeviceReset());
    }
    pdl_kernel_destroy(kernel);
}

static int measure(unsigned turns)
{
    const outcome known = run<NEVER>(turns, AUTO);
    const outcome raw = run<NEVER>(turns / 100, RAW);
    printf("{\"launches\": %u, \"reason\": \"%s\", \"stale_reads\": %llu, \"raw_launches\": %u, "
           "\"raw_stale_reads\": %llu}\n",
           turns, pdl_reason_string(known.reason), known.stale, turns / 100, raw.stale);
    return known.stale == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_that_waits_is_overlapped),
        cmocka_unit_test(a_kernel_that_does_not_wait_is_not_overlapped),
        cmocka_unit_test(a_kernel_that_may_not_wait_is_not_overlapped),
        cmocka_unit_test(what_is_known_of_a_symbol_is_told),
        cmocka_unit_test(what_is_known_survives_a_reset_of_the_device),
    };
    const int unavailable = no_device();
    if (unavailable != 0) {
        return unavailable;
    }
    return argc > 1 ? measure(static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)))
                    : cmocka_run_group_tests(tests, NULL, NULL);
}
