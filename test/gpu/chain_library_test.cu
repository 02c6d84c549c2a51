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

#include "graph_test.cuh"

static const unsigned side = 256;           /* of a matrix */
static const unsigned length = side * side; /* which a call reads and writes */
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

/* Reads what the library wrote, from other length than its own. */
static __global__ void finish(const float *from, float *to)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    const float seen = PDL_LOAD(&from[(i + length / 2 + 1) % length]);
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

static void make_library(void)
{
    set_up();
    input = device_memory<float>(length);
    output = device_memory<float>(length);
    result = device_memory<float>(length);
    scratch = device_memory<char>(scratch_bytes);
    fills = kernel_of(fill);
    finishes = kernel_of(finish);
}

/* ---- the comparison -------------------------------------------------------------------------- */

typedef void library_call(cudaStream_t);

static pdl_launch_desc full_grid(cudaStream_t in, pdl_overlap overlap = PDL_OVERLAP_AUTO)
{
    return pdl_launch_desc_make(length / threads, threads, 0, in, overlap);
}

static void clear(float *memory)
{
    assert_cuda(cudaMemset(memory, 0, length * sizeof(float)));
    assert_cuda(cudaDeviceSynchronize());
}

static void assert_holds(const float *memory, const std::vector<float> &wanted)
{
    assert_memory_equal(contents(memory, length).data(), wanted.data(), length * sizeof(float));
}

/* What the plain stream leaves for a seed: in the library's output, and in the result. */
struct outcome {
    std::vector<float> output;
    std::vector<float> result;
};

static outcome in_the_stream(library_call *call, unsigned seed)
{
    clear(output);
    assert_pdl(pdl_launch_kernel(full_grid(stream, PDL_OVERLAP_NONE), fill, input, seed));
    call(stream);
    assert_pdl(pdl_launch_kernel(full_grid(stream, PDL_OVERLAP_NONE), finish, output, result));
    return outcome{contents(output, length), contents(result, length)};
}

/* The edges of a kernel with overlap and the library's call behind it, captured into a graph. */
static pdl_census captured_edges(library_call *call)
{
    pdl_census census = PDL_CENSUS_INIT;
    cudaGraph_t graph = capture(
        [call] {
            assert_pdl(pdl_launch_kernel(full_grid(stream), fill, input, 0u));
            call(stream);
        },
        cudaStreamCaptureModeRelaxed);
    assert_pdl(pdl_graph_census(graph, &census));
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

/* A link that fills the input. */
static uint32_t add_fill(pdl_chain *to, unsigned seed)
{
    uint32_t link = 0;
    const pdl_launch_desc desc = full_grid(nullptr);
    assert_pdl(pdl_chain_add(to, fills, &desc, PDL_ARGS(input, seed), nullptr, 0, &link));
    return link;
}

static uint32_t capture_call(library_call *call, pdl_chain *to)
{
    uint32_t link = 0;
    assert_pdl(pdl_chain_capture_begin(to, stream));
    call(stream);
    assert_pdl(pdl_chain_capture_end(to, &link));
    return link;
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
    uint32_t last = 0;
    const pdl_launch_desc desc = full_grid(nullptr);
    (void)in_the_stream(call, 0); /* loads the library's kernels */
    const pdl_census wanted = captured_edges(call);
    const uint32_t first = add_fill(chain, 0);
    const uint32_t captured = capture_call(call, chain);
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
    for (unsigned seed = 1; seed <= 20; seed++) {
        const outcome expected = in_the_stream(call, seed);
        clear(output);
        clear(result);
        assert_pdl(pdl_chain_set_args(chain, first, PDL_ARGS(input, seed)));
        replay();
        assert_holds(output, expected.output);
        assert_holds(result, expected.result);
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
        cub::DeviceMergeSort::SortKeysCopy(scratch, bytes, input, output, length, is_less(), in));
}

static void cub_scan(cudaStream_t in)
{
    size_t bytes = scratch_bytes;
    assert_cuda(cub::DeviceScan::InclusiveSum(scratch, bytes, input, output, length, in));
}

static void cub_reduce(cudaStream_t in)
{
    size_t bytes = scratch_bytes;
    assert_cuda(cub::DeviceReduce::Sum(scratch, bytes, input, output, length, in));
}

TEST(a_sort_of_cub_overlaps_the_kernel_before_it)
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

TEST(a_scan_of_cub_gives_what_the_stream_gives)
{
    pdl_census edges;
    (void)compare(cub_scan, &edges);
}

TEST(a_kernel_overlaps_a_reduction_of_cub)
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
    assert_cuda(cub::DeviceScan::InclusiveSum(scratch, bytes, output, output, length, in));
}

TEST(two_calls_in_one_capture_keep_their_order)
{
    pdl_census edges;
    (void)compare(sort_and_scan, &edges);
    assert_true(edges.programmatic > 0);
}

TEST(two_captures_have_the_edges_of_one)
{
    const unsigned seed = 5;
    library_call *const twice = [](cudaStream_t in) {
        cub_sort(in);
        cub_sort(in);
    };
    const outcome expected = in_the_stream(twice, seed);
    const pdl_census wanted = captured_edges(twice);
    add_fill(chain, seed);
    capture_call(cub_sort, chain);
    capture_call(cub_sort, chain);
    assert_pdl(pdl_chain_build(chain));
    const pdl_census edges = census_of(chain);
    /* But one: the last kernel of the first capture is not known to wait. */
    assert_int_equal(edges.edges, wanted.edges);
    assert_int_equal(edges.programmatic, wanted.programmatic - 1);
    assert_int_equal(edges.full, wanted.full + 1);
    replay();
    assert_holds(output, expected.output);
}

TEST(a_library_may_be_called_in_the_body_of_a_conditional)
{
    const unsigned seed = 6;
    pdl_chain *body = nullptr;
    pdl_chain_node node = of_kind(PDL_NODE_SWITCH);
    const outcome expected = in_the_stream(cub_sort, seed);
    clear(output);
    node.initial = 1;
    node.bodies = 2;
    assert_pdl(pdl_chain_body(chain, add(chain, node), 1, &body));
    add_fill(body, seed);
    capture_call(cub_sort, body);
    assert_pdl(pdl_chain_build(chain));
    const pdl_census edges = census_of(body);
    assert_int_equal(edges.programmatic, edges.edges);
    assert_true(edges.programmatic > 1);
    replay();
    assert_holds(output, expected.output);
}

/* ---- what a library breaks off --------------------------------------------------------------- */

/* Checks that a broken capture has left the chain as it was, and that the next one succeeds. */
static void assert_usable(void)
{
    const unsigned seed = 7;
    const outcome expected = in_the_stream(cub_scan, seed);
    clear(output);
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    assert_pdl(pdl_chain_explain(chain, 0, &report));
    assert_int_equal(report.links, 1);
    assert_pdl(pdl_chain_build(chain));
    assert_int_equal(census_of(chain).nodes, 1);
    assert_pdl(pdl_chain_set_args(chain, 0, PDL_ARGS(input, seed)));
    capture_call(cub_scan, chain);
    assert_pdl(pdl_chain_build(chain));
    replay();
    assert_holds(output, expected.output);
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
TEST(a_library_that_waits_for_the_stream_breaks_the_capture)
{
    scratch_allocator memory;
    bool thrown = false;
    add_fill(chain, 0);
    assert_pdl(pdl_chain_capture_begin(chain, stream));
    try {
        (void)thrust::reduce(thrust::cuda::par(memory).on(stream), input, input + length);
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

static void make_blas(void)
{
    const float values[2] = {1, 0};
    assert_int_equal(cublasCreate(&blas), CUBLAS_STATUS_SUCCESS);
    undo_last([] { (void)cublasDestroy(blas); }); /* after the chain whose nodes come from it */
    assert_int_equal(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
    constants = device_memory<float>(2);
    assert_cuda(cudaMemcpy(constants, values, sizeof(values), cudaMemcpyHostToDevice));
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
    const int depth = length / 8;
    use(in);
    assert_int_equal(cublasSgemm(blas, CUBLAS_OP_T, CUBLAS_OP_N, 8, 8, depth, constants, input,
                                 depth, input, depth, constants + 1, output, 8),
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
    assert_int_equal(cublasSdot(blas, length, input, 1, input, 1, output), CUBLAS_STATUS_SUCCESS);
}

TEST(calls_of_cublas_give_what_the_stream_gives)
{
    make_blas();
    library_call *const calls[] = {blas_gemm, blas_long_gemm, blas_gemv, blas_dot};
    for (library_call *call : calls) {
        pdl_census edges;
        (void)compare(call, &edges);
        assert_true(edges.kernels >= 2);
        chain = new_chain();
    }
}

/* A result on the host: cuBLAS would have to wait for it. It refuses, or it breaks the capture. */
TEST(cublas_with_a_result_on_the_host_is_not_captured)
{
    make_blas();
    float sum = 0;
    add_fill(chain, 0);
    blas_dot(stream); /* loads its kernels */
    assert_cuda(cudaStreamSynchronize(stream));
    assert_int_equal(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_HOST), CUBLAS_STATUS_SUCCESS);
    assert_pdl(pdl_chain_capture_begin(chain, stream));
    const cublasStatus_t called = cublasSdot(blas, length, input, 1, input, 1, &sum);
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

int main()
{
    return run_gpu_tests(make_library);
}
