/* SPDX-License-Identifier: MIT */
/* Capture of libraries' calls into chains: CUB, Thrust and, where there is one, cuBLAS. The results are those
 * of the plain stream, bit by bit, and the edges those of a graph that captured the same stream. */
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/system_error.h>

#ifdef PDL_TEST_CUBLAS
#include <cublas_v2.h>
#endif

#include "chain_nodes.cuh"

static const unsigned side = 256;          /* of a matrix */
static const unsigned cells = side * side; /* which a call reads and writes */
static const unsigned threads = 256;
static const size_t scratch_bytes = 32 << 20;

/* Numbers that depend on the cell and the seed, so small that all their sums are exact: CUB's scan adds them up in an
 * order that varies. */
static __global__ void fill(float *to, unsigned seed)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    unsigned hash = (i + 1) * 2654435761u ^ seed * 40503u;
    hash = (hash ^ hash >> 15) * 2246822519u;
    to[i] = static_cast<float>(static_cast<int>(hash >> 24) - 128) / 64;
}

/* Reads what the library wrote, from other cells than its own. */
static __global__ void finish(const float *from, float *to)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    const float seen = PDL_LOAD(&from[(i + cells / 2 + 1) % cells]);
    PDL_LAUNCH_DEPENDENTS();
    to[i] = 2 * seen + 1;
}

/* What the calls work with. */
static float *input;
static float *output; /* of the library */
static float *result; /* of the kernel behind it */
static void *scratch;
static pdl_kernel *fills;
static pdl_kernel *finishes;

static int make_library(void **state)
{
    (void)make(state);
    assert_cuda(cudaMalloc(&input, cells * sizeof(float)));
    assert_cuda(cudaMalloc(&output, cells * sizeof(float)));
    assert_cuda(cudaMalloc(&result, cells * sizeof(float)));
    assert_cuda(cudaMalloc(&scratch, scratch_bytes));
    assert_cuda(cudaMemset(output, 0, cells * sizeof(float)));
    assert_pdl(pdl_kernel_from_symbol(fill, &fills));
    assert_pdl(pdl_kernel_from_symbol(finish, &finishes));
    assert_cuda(cudaDeviceSynchronize());
    return 0;
}

static int destroy_library(void **state)
{
    (void)destroy(state);
    pdl_kernel_destroy(fills);
    pdl_kernel_destroy(finishes);
    assert_cuda(cudaFree(input));
    assert_cuda(cudaFree(output));
    assert_cuda(cudaFree(result));
    assert_cuda(cudaFree(scratch));
    return 0;
}

/* ---- the comparison -------------------------------------------------------------------------- */

typedef void library_call(cudaStream_t);

static pdl_launch_desc full_grid(cudaStream_t in, pdl_overlap overlap = PDL_OVERLAP_AUTO)
{
    return pdl_launch_desc_make(cells / threads, threads, 0, in, overlap);
}

static std::vector<float> contents(const float *memory)
{
    std::vector<float> host(cells);
    assert_cuda(cudaMemcpy(host.data(), memory, cells * sizeof(float), cudaMemcpyDeviceToHost));
    return host;
}

static void assert_same(const std::vector<float> &is, const std::vector<float> &wanted)
{
    assert_memory_equal(is.data(), wanted.data(), cells * sizeof(float));
}

/* What the plain stream leaves for a seed: in the library's output, and in the result. */
struct outcome {
    std::vector<float> output;
    std::vector<float> result;
};

static outcome in_the_stream(library_call *call, unsigned seed)
{
    assert_cuda(cudaMemset(output, 0, cells * sizeof(float)));
    assert_cuda(cudaDeviceSynchronize());
    assert_pdl(pdl_launch_kernel(full_grid(stream, PDL_OVERLAP_NONE), fill, input, seed));
    call(stream);
    assert_pdl(pdl_launch_kernel(full_grid(stream, PDL_OVERLAP_NONE), finish, output, result));
    assert_cuda(cudaStreamSynchronize(stream));
    return outcome{contents(output), contents(result)};
}

/* The edges of a kernel with overlap and the library's call behind it, captured into a graph. */
static pdl_census captured_edges(library_call *call)
{
    pdl_census census = PDL_CENSUS_INIT;
    cudaGraph_t graph = nullptr;
    assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    assert_pdl(pdl_launch_kernel(full_grid(stream), fill, input, 0u));
    call(stream);
    assert_cuda(cudaStreamEndCapture(stream, &graph));
    assert_pdl(pdl_graph_census(graph, &census));
    assert_cuda(cudaGraphDestroy(graph));
    return census;
}

static void assert_same_edges(const pdl_census &is, const pdl_census &wanted)
{
    print_message("%u nodes, %u kernels, %u edges: %u full, %u programmatic\n", is.nodes,
                  is.kernels, is.edges, is.full, is.programmatic);
    assert_int_equal(is.nodes, wanted.nodes);
    assert_int_equal(is.kernels, wanted.kernels);
    assert_int_equal(is.edges, wanted.edges);
    assert_int_equal(is.full, wanted.full);
    assert_int_equal(is.programmatic, wanted.programmatic);
    assert_int_equal(is.programmatic_at_block_start, wanted.programmatic_at_block_start);
    assert_int_equal(is.launch_completion, wanted.launch_completion);
    assert_int_equal(is.other, wanted.other);
    assert_int_equal(is.full_count, wanted.full_count);
}

/* What the kernel behind the call is told. */
static pdl_reason reason_behind(uint32_t link)
{
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    assert_pdl(pdl_chain_explain(chain, link, &report));
    print_message("%s\n", report.message);
    return static_cast<pdl_reason>(report.overlap_reason);
}

/* Compares a chain of a kernel, the call and a kernel with the plain stream. Returns the reason of the
 * last kernel's edges. */
static pdl_reason compare(library_call *call, pdl_census *edges)
{
    uint32_t first = 0;
    uint32_t captured = 0;
    uint32_t last = 0;
    unsigned seed = 0;
    const pdl_launch_desc desc = full_grid(nullptr);
    (void)in_the_stream(call, 0); /* loads the library's kernels */
    const pdl_census wanted = captured_edges(call);
    assert_pdl(pdl_chain_add(chain, fills, &desc, PDL_ARGS(input, seed), nullptr, 0, &first));
    assert_pdl(pdl_chain_capture_begin(chain, stream));
    call(stream);
    assert_pdl(pdl_chain_capture_end(chain, &captured));
    assert_pdl(pdl_chain_build(chain));
    *edges = census_of(chain);
    assert_same_edges(*edges, wanted);
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    assert_pdl(pdl_chain_explain(chain, captured, &report));
    assert_int_equal(report.kind, PDL_NODE_CAPTURE);
    assert_int_equal(report.nodes, wanted.nodes - 1);
    assert_pdl(pdl_chain_add(chain, finishes, &desc, PDL_ARGS(output, result), nullptr, 0, &last));
    assert_pdl(pdl_chain_build(chain));
    const pdl_reason reason = reason_behind(last);
    const pdl_census whole = census_of(chain);
    assert_int_equal(whole.nodes, wanted.nodes + 1);
    assert_int_equal(whole.programmatic - wanted.programmatic, reason == PDL_REASON_GRANTED);
    for (seed = 1; seed <= 20; seed++) {
        const outcome expected = in_the_stream(call, seed);
        assert_cuda(cudaMemset(output, 0, cells * sizeof(float)));
        assert_cuda(cudaMemset(result, 0, cells * sizeof(float)));
        assert_cuda(cudaDeviceSynchronize());
        assert_pdl(pdl_chain_set_args(chain, first, PDL_ARGS(input, seed)));
        run();
        assert_same(contents(output), expected.output);
        assert_same(contents(result), expected.result);
    }
    return reason;
}

/* ---- CUB ------------------------------------------------------------------------------------- */

struct is_less {
    __device__ bool operator()(float left, float right) const
    {
        return left < right;
    }
};

/* All its kernels are launched with the PDL attribute, and wait and trigger. */
static void cub_sort(cudaStream_t in)
{
    size_t bytes = scratch_bytes;
    assert_cuda(
        cub::DeviceMergeSort::SortKeysCopy(scratch, bytes, input, output, cells, is_less(), in));
}

static void cub_scan(cudaStream_t in)
{
    size_t bytes = scratch_bytes;
    assert_cuda(cub::DeviceScan::InclusiveSum(scratch, bytes, input, output, cells, in));
}

static void cub_reduce(cudaStream_t in)
{
    size_t bytes = scratch_bytes;
    assert_cuda(cub::DeviceReduce::Sum(scratch, bytes, input, output, cells, in));
}

static void a_sort_of_cub_overlaps_the_kernel_before_it(void **)
{
    pdl_census edges;
    const pdl_reason behind = compare(cub_sort, &edges);
    assert_true(edges.kernels > 2); /* tiles are sorted, then merged */
    assert_int_equal(edges.programmatic, edges.edges);
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    assert_pdl(pdl_chain_explain(chain, 1, &report));
    assert_int_equal(report.overlap, 1);
    /* Behind it the edge is full: libpdl does not know that CUB's last kernel waits. */
    assert_int_equal(behind, PDL_REASON_PREDECESSOR);
    const pdl_launch_desc must = full_grid(nullptr, PDL_OVERLAP_REQUIRE);
    assert_pdl(pdl_chain_reset(chain));
    assert_pdl(pdl_chain_set_desc(chain, 2, &must));
    assert_refused(pdl_chain_build(chain), PDL_ERROR_OVERLAP, "overlap");
}

static void a_scan_of_cub_gives_what_the_stream_gives(void **)
{
    pdl_census edges;
    (void)compare(cub_scan, &edges);
}

static void a_kernel_overlaps_a_reduction_of_cub(void **)
{
    pdl_census edges;
    const pdl_reason behind = compare(cub_reduce, &edges);
    assert_int_equal(edges.programmatic, 0); /* launched without the attribute */
    assert_int_equal(behind, PDL_REASON_GRANTED);
}

/* Two calls of libraries in one capture, and two captures one behind the other. */
static void sort_and_scan(cudaStream_t in)
{
    size_t bytes = scratch_bytes;
    cub_sort(in);
    assert_cuda(cub::DeviceScan::InclusiveSum(scratch, bytes, output, output, cells, in));
}

static void two_calls_in_one_capture_keep_their_order(void **)
{
    pdl_census edges;
    (void)compare(sort_and_scan, &edges);
    assert_true(edges.programmatic > 0);
}

static void two_captures_have_the_edges_of_one(void **)
{
    const pdl_launch_desc desc = full_grid(nullptr);
    const unsigned seed = 5;
    const outcome expected = in_the_stream(
        [](cudaStream_t in) {
            cub_sort(in);
            cub_sort(in);
        },
        seed);
    const pdl_census wanted = captured_edges([](cudaStream_t in) {
        cub_sort(in);
        cub_sort(in);
    });
    assert_pdl(pdl_chain_add(chain, fills, &desc, PDL_ARGS(input, seed), nullptr, 0, nullptr));
    for (unsigned i = 0; i < 2; i++) {
        assert_pdl(pdl_chain_capture_begin(chain, stream));
        cub_sort(stream);
        assert_pdl(pdl_chain_capture_end(chain, nullptr));
    }
    assert_pdl(pdl_chain_build(chain));
    const pdl_census edges = census_of(chain);
    /* But one: the last kernel of the first capture is not known to wait. */
    assert_int_equal(edges.edges, wanted.edges);
    assert_int_equal(edges.programmatic, wanted.programmatic - 1);
    assert_int_equal(edges.full, wanted.full + 1);
    run();
    assert_same(contents(output), expected.output);
}

static void a_library_may_be_called_in_the_body_of_a_conditional(void **)
{
    const pdl_launch_desc desc = full_grid(nullptr);
    const unsigned seed = 6;
    pdl_chain *body = nullptr;
    pdl_chain_node node = of_kind(PDL_NODE_SWITCH);
    const outcome expected = in_the_stream(cub_sort, seed);
    assert_cuda(cudaMemset(output, 0, cells * sizeof(float)));
    assert_cuda(cudaDeviceSynchronize());
    node.initial = 1;
    node.bodies = 2;
    assert_pdl(pdl_chain_body(chain, add(chain, node), 1, &body));
    assert_pdl(pdl_chain_add(body, fills, &desc, PDL_ARGS(input, seed), nullptr, 0, nullptr));
    assert_pdl(pdl_chain_capture_begin(body, stream));
    cub_sort(stream);
    assert_pdl(pdl_chain_capture_end(body, nullptr));
    assert_pdl(pdl_chain_build(chain));
    const pdl_census edges = census_of(body);
    assert_int_equal(edges.programmatic, edges.edges);
    assert_true(edges.programmatic > 1);
    run();
    assert_same(contents(output), expected.output);
}

/* ---- what a library breaks off --------------------------------------------------------------- */

/* Checks that a broken capture has left the chain as it was, and that the next one succeeds. */
static void assert_usable(void)
{
    const unsigned seed = 7;
    const outcome expected = in_the_stream(cub_scan, seed);
    assert_cuda(cudaMemset(output, 0, cells * sizeof(float)));
    assert_cuda(cudaDeviceSynchronize());
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    assert_pdl(pdl_chain_explain(chain, 0, &report));
    assert_int_equal(report.links, 1);
    assert_pdl(pdl_chain_build(chain));
    assert_int_equal(census_of(chain).nodes, 1);
    assert_pdl(pdl_chain_set_args(chain, 0, PDL_ARGS(input, seed)));
    assert_pdl(pdl_chain_capture_begin(chain, stream));
    cub_scan(stream);
    assert_pdl(pdl_chain_capture_end(chain, nullptr));
    assert_pdl(pdl_chain_build(chain));
    run();
    assert_same(contents(output), expected.output);
}

/* Gives Thrust memory without a call of CUDA. */
struct scratch_allocator {
    typedef char value_type;
    char *allocate(ptrdiff_t bytes)
    {
        assert_in_range(bytes, 0, scratch_bytes);
        return static_cast<char *>(scratch);
    }
    void deallocate(char *, size_t)
    {
    }
};

/* Thrust returns the sum to the host, so it waits for the stream. */
static void a_library_that_waits_for_the_stream_breaks_the_capture(void **)
{
    const pdl_launch_desc desc = full_grid(nullptr);
    const unsigned seed = 0;
    scratch_allocator memory;
    bool thrown = false;
    assert_pdl(pdl_chain_add(chain, fills, &desc, PDL_ARGS(input, seed), nullptr, 0, nullptr));
    assert_pdl(pdl_chain_capture_begin(chain, stream));
    try {
        (void)thrust::reduce(thrust::cuda::par(memory).on(stream), input, input + cells);
    } catch (const thrust::system_error &error) {
        print_message("thrust: %s\n", error.what());
        thrown = true;
    }
    (void)cudaGetLastError();
    assert_true(thrown);
    assert_refused(pdl_chain_capture_end(chain, nullptr), PDL_ERROR_CAPTURE, nullptr);
    print_message("%s\n", pdl_last_error()->message);
    assert_usable();
}

/* ---- cuBLAS ---------------------------------------------------------------------------------- */

#ifdef PDL_TEST_CUBLAS
static cublasHandle_t blas;
static float *constants; /* 1 and 0, for pointer mode device */

static int make_blas(void **state)
{
    const float values[2] = {1, 0};
    (void)make_library(state);
    assert_int_equal(cublasCreate(&blas), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
    assert_cuda(cudaMalloc(&constants, sizeof(values)));
    assert_cuda(cudaMemcpy(constants, values, sizeof(values), cudaMemcpyHostToDevice));
    return 0;
}

static int destroy_blas(void **state)
{
    assert_cuda(cudaDeviceSynchronize());
    pdl_chain_destroy(chain); /* before the handle that its nodes come from */
    chain = nullptr;
    assert_int_equal(cublasDestroy(blas), CUBLAS_STATUS_SUCCESS);
    assert_cuda(cudaFree(constants));
    return destroy_library(state);
}

static void use(cudaStream_t in)
{
    assert_int_equal(cublasSetStream(blas, in), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasSetWorkspace(blas, scratch, scratch_bytes), CUBLAS_STATUS_SUCCESS);
}

static void blas_gemm(cudaStream_t in)
{
    use(in);
    assert_int_equal(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, side, side, side, constants, input,
                                 side, input, side, constants + 1, output, side),
                     CUBLAS_STATUS_SUCCESS);
}

/* Few results, each of a long sum, which is split. */
static void blas_long_gemm(cudaStream_t in)
{
    const int length = cells / 8;
    use(in);
    assert_int_equal(cublasSgemm(blas, CUBLAS_OP_T, CUBLAS_OP_N, 8, 8, length, constants, input,
                                 length, input, length, constants + 1, output, 8),
                     CUBLAS_STATUS_SUCCESS);
}

static void blas_gemv(cudaStream_t in)
{
    use(in);
    assert_int_equal(cublasSgemv(blas, CUBLAS_OP_N, side, side, constants, input, side, input, 1,
                                 constants + 1, output, 1),
                     CUBLAS_STATUS_SUCCESS);
}

static void blas_dot(cudaStream_t in)
{
    use(in);
    assert_int_equal(cublasSdot(blas, cells, input, 1, input, 1, output), CUBLAS_STATUS_SUCCESS);
}

static void calls_of_cublas_give_what_the_stream_gives(void **)
{
    library_call *const calls[] = {blas_gemm, blas_long_gemm, blas_gemv, blas_dot};
    for (library_call *call : calls) {
        pdl_census edges;
        (void)compare(call, &edges);
        assert_true(edges.kernels >= 2);
        pdl_chain_destroy(chain);
        assert_pdl(pdl_chain_create(nullptr, &chain));
    }
}

/* A result on the host: cuBLAS would have to wait for it. It refuses, or it breaks the capture. */
static void cublas_with_a_result_on_the_host_is_not_captured(void **)
{
    const pdl_launch_desc desc = full_grid(nullptr);
    const unsigned seed = 0;
    float sum = 0;
    assert_pdl(pdl_chain_add(chain, fills, &desc, PDL_ARGS(input, seed), nullptr, 0, nullptr));
    blas_dot(stream); /* loads its kernels */
    assert_cuda(cudaStreamSynchronize(stream));
    assert_int_equal(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_HOST), CUBLAS_STATUS_SUCCESS);
    assert_pdl(pdl_chain_capture_begin(chain, stream));
    const cublasStatus_t called = cublasSdot(blas, cells, input, 1, input, 1, &sum);
    (void)cudaGetLastError();
    uint32_t link = ~0u;
    const pdl_status ended = pdl_chain_capture_end(chain, &link);
    print_message("cublasSdot: %s; the end of the capture: %s\n", cublasGetStatusString(called),
                  pdl_status_name(ended));
    assert_true(called != CUBLAS_STATUS_SUCCESS || ended == PDL_ERROR_CAPTURE);
    assert_true(ended == PDL_SUCCESS || ended == PDL_ERROR_CAPTURE);
    if (ended == PDL_ERROR_CAPTURE) {
        assert_int_equal(link, ~0u);
        assert_usable();
    }
}
#endif

#define LIBRARY_TEST(function)                                                                     \
    cmocka_unit_test_setup_teardown(function, make_library, destroy_library)
#define BLAS_TEST(function) cmocka_unit_test_setup_teardown(function, make_blas, destroy_blas)

int main()
{
    const struct CMUnitTest tests[] = {
        LIBRARY_TEST(a_sort_of_cub_overlaps_the_kernel_before_it),
        LIBRARY_TEST(a_scan_of_cub_gives_what_the_stream_gives),
        LIBRARY_TEST(a_kernel_overlaps_a_reduction_of_cub),
        LIBRARY_TEST(two_calls_in_one_capture_keep_their_order),
        LIBRARY_TEST(two_captures_have_the_edges_of_one),
        LIBRARY_TEST(a_library_may_be_called_in_the_body_of_a_conditional),
        LIBRARY_TEST(a_library_that_waits_for_the_stream_breaks_the_capture),
#ifdef PDL_TEST_CUBLAS
        BLAS_TEST(calls_of_cublas_give_what_the_stream_gives),
        BLAS_TEST(cublas_with_a_result_on_the_host_is_not_captured),
#endif
    };
    const int unavailable = no_device();
    return unavailable != 0 ? unavailable : cmocka_run_group_tests(tests, NULL, NULL);
}
