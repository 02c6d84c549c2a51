/* SPDX-License-Identifier: MIT */
/* Symbols, whose code libpdl finds in the program: what waits is overlapped, and what does not wait, or may not, never is.
 * Compiled with -DPDL_FAULT_INJECT: after its trigger each block sleeps for 100 microseconds before it
 * writes. */
#include "gpu_test.cuh"

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
    const cudaStream_t stream = new_stream();
    unsigned *array = device_memory<unsigned>(cells);
    unsigned long long *stale = device_memory<unsigned long long>(1);
    pdl_kernel *const producer = kernel_of(produce);
    pdl_kernel *const consumer = kernel_of(consume<Kind>);
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    void (*wait)() = nullptr;
    if (how == DECLARED) {
        assert_pdl(pdl_kernel_declare(consumer, PDL_YES, PDL_UNKNOWN));
    }
    const pdl_launch_desc first = pdl_launch_desc_make(blocks, threads, 0, stream);
    const pdl_launch_desc second =
        pdl_launch_desc_make(blocks, threads, 0, stream, PDL_OVERLAP_AUTO);
    assert_pdl(pdl_launch_explain(consumer, &second, &report));
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
    return {content(stale), static_cast<pdl_reason>(report.overlap_reason)};
}

static const struct {
    const char *name;
    outcome (*run)(unsigned turns, way how);
    pdl_reason reason;
} kinds[] = {
    {"a kernel that waits is overlapped", run<WAITS>, PDL_REASON_GRANTED},
    {"a kernel that does not wait is not overlapped", run<NEVER>, PDL_REASON_NO_WAIT},
    {"a kernel that may not wait is not overlapped", run<POINTER>, PDL_REASON_WAITS_UNKNOWN}};

TEST_ROWS(nothing_stale_is_read, kinds)
{
    const outcome result = row.run(1000, AUTO);
    assert_int_equal(result.reason, row.reason);
    assert_int_equal(result.stale, 0);
    if (row.reason != PDL_REASON_GRANTED) { /* and would be, if it were overlapped */
        assert_if_concurrent(row.run(50, RAW).stale != 0);
        assert_if_concurrent(row.run(50, DECLARED).stale != 0);
    }
}

TEST(what_is_known_of_a_symbol_is_told)
{
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    assert_pdl(pdl_kernel_get(kernel_of(produce), -1, &info));
    assert_int_equal(info.waits, PDL_YES);
    assert_int_equal(info.triggers, PDL_YES);
    assert_null(info.unknown_why);
    assert_pdl(pdl_kernel_get(kernel_of(consume<POINTER>), -1, &info));
    assert_int_equal(info.waits, PDL_UNKNOWN);
    assert_non_null(info.unknown_why);
}

/* After cudaDeviceReset() the driver has other handles for the same symbols. */
TEST(what_is_known_survives_a_reset_of_the_device)
{
    pdl_kernel *const kernel = kernel_of(produce);
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
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
}

int main()
{
    return run_gpu_tests();
}
