/* SPDX-License-Identifier: MIT */
/* What launches become when their stream is captured: the edges that the Programming Guide names,
 * and what pdl_graph_census() says of them. Each with kernels from symbols and from CUfunctions. */
#include "../cuda/from_image.h"
#include "graph_test.cuh"

static const unsigned value = 4711;
static struct CUevent_st *event, *join;

static void set_up_events(void)
{
    set_up();
    event = new_event();
    join = new_event();
}

struct pair_of_kernels {
    pdl_kernel *first, *second;
};

static std::vector<pair_of_kernels> kinds_of_kernels(void)
{
    return {{producer, consumer},
            {function_kernel_of(pair_produce), function_kernel_of(pair_consume)}};
}

static void launch_pair(const pair_of_kernels &pair, void (*between)(void), pdl_overlap overlap)
{
    launch_first(value, pair.first);
    between();
    launch_second(overlap, pair.second);
}

static void nothing(void)
{
}

static void record_an_event(void)
{
    assert_cuda(cudaEventRecord(event, stream));
}

/* ---- edges between kernels ------------------------------------------------------------------ */

/* The first kernel records an event as `set` says, and the second one's stream waits for it. */
static void launch_in_two_streams(const pair_of_kernels &pair, void (*set)(pdl_launch_desc *desc))
{
    pdl_launch_desc desc = desc_with(PDL_OVERLAP_NONE, stream);
    set(&desc);
    assert_pdl(pdl_launch(pair.first, &desc, PDL_ARGS(pair_memory, value)));
    assert_cuda(cudaStreamWaitEvent(other_stream, event, 0));
    launch_second(PDL_OVERLAP_NONE, pair.second, other_stream);
    assert_cuda(cudaEventRecord(join, other_stream));
    assert_cuda(cudaStreamWaitEvent(stream, join, 0));
}

static const struct {
    const char *name;
    void (*launch)(const pair_of_kernels &pair);
    cudaGraphDependencyType type;
    unsigned port;
    edge_counts counts;
    bool overlaps, covered;
} edges[] = {
    {"a launch with overlap",
     [](const pair_of_kernels &pair) { launch_pair(pair, nothing, PDL_OVERLAP_AUTO); },
     cudaGraphDependencyTypeProgrammatic,
     cudaGraphKernelNodePortProgrammatic,
     {0, 1, 0, 0},
     true,
     true},
    {"a launch without overlap",
     [](const pair_of_kernels &pair) { launch_pair(pair, nothing, PDL_OVERLAP_NONE); },
     cudaGraphDependencyTypeDefault,
     cudaGraphKernelNodePortDefault,
     {1, 0, 0, 0},
     false,
     true},
    {"an event record between",
     [](const pair_of_kernels &pair) { launch_pair(pair, record_an_event, PDL_OVERLAP_AUTO); },
     cudaGraphDependencyTypeProgrammatic,
     cudaGraphKernelNodePortProgrammatic,
     {0, 1, 0, 0},
     true,
     true},
    {"a trigger event",
     [](const pair_of_kernels &pair) {
         launch_in_two_streams(pair, [](pdl_launch_desc *desc) { desc->trigger_event = event; });
     },
     cudaGraphDependencyTypeProgrammatic,
     cudaGraphKernelNodePortProgrammatic,
     {0, 1, 0, 0},
     true,
     true},
    {"a trigger event at block start",
     [](const pair_of_kernels &pair) {
         launch_in_two_streams(pair, [](pdl_launch_desc *desc) {
             desc->trigger_event = event;
             desc->trigger_at_block_start = 1;
         });
     },
     cudaGraphDependencyTypeProgrammatic,
     cudaGraphKernelNodePortLaunchCompletion,
     {0, 0, 0, 1},
     true,
     true},
    {"a launch event",
     [](const pair_of_kernels &pair) {
         launch_in_two_streams(pair, [](pdl_launch_desc *desc) { desc->launch_event = event; });
     },
     cudaGraphDependencyTypeDefault,
     cudaGraphKernelNodePortLaunchCompletion,
     {0, 0, 1, 0},
     true,
     false},
};

TEST_ROWS(a_captured_edge, edges)
{
    for (const pair_of_kernels &pair : kinds_of_kernels()) {
        const cudaGraph_t graph = capture([&] { row.launch(pair); });
        assert_int_equal(nodes_in(graph), 2);
        assert_only_edge(graph, row.type, row.port);
        assert_census(graph, row.counts);
        for (const pair_record &run : replay_pairs(graph)) {
            assert_ran(run, value);
            assert_if_concurrent(overlapped(run) == row.overlaps);
            assert_true(!row.covered || covered(run));
        }
    }
}

TEST(a_capture_is_counted_while_it_goes_on)
{
    pdl_census census = PDL_CENSUS_INIT;
    const auto count = [&census] {
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        cudaGraph_t graph = nullptr;
        assert_cuda(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph));
        assert_pdl(pdl_graph_census(graph, &census));
    };
    const cudaGraph_t graph = capture([&] {
        count();
        assert_int_equal(census.nodes, 0);
        launch_first(value);
        launch_second(PDL_OVERLAP_AUTO);
        count();
        assert_int_equal(census.kernels, 2);
        assert_int_equal(census.programmatic, 1);
        launch_first(value);
    });
    assert_census(graph, {1, 1, 0, 0}); /* none of these questions ended it */
}

/* ---- where overlap is lost ------------------------------------------------------------------ */

static void set_memory(void)
{
    assert_cuda(cudaMemsetAsync(cells, 0, sizeof(*cells), stream));
}

static void copy_memory(void)
{
    assert_cuda(
        cudaMemcpyAsync(cells, cells + 1, sizeof(*cells), cudaMemcpyDeviceToDevice, stream));
}

static void CUDART_CB do_nothing(void *)
{
}

static void call_the_host(void)
{
    assert_cuda(cudaLaunchHostFunc(stream, do_nothing, nullptr));
}

static bool is_root(cudaGraph_t graph, cudaGraphNode_t node)
{
    cudaGraphNode_t root = nullptr;
    size_t count = 1;
    assert_cuda(cudaGraphGetRootNodes(graph, &root, &count));
    return count == 1 && root == node;
}

/* Whatever the second kernel asks for, the edges are full, and the census says why. */
static const struct {
    const char *name;
    void (*between)(void);
    pdl_overlap overlap;
    bool cooperative, old_code;
    pdl_full_reason reason;
    cudaGraphNodeType type; /* of what is between */
    const char *consumer;
} losses[] = {
    {"a memset between", set_memory, PDL_OVERLAP_AUTO, false, false, PDL_FULL_MEMSET,
     cudaGraphNodeTypeMemset, "pair_consume"},
    {"a memcpy between", copy_memory, PDL_OVERLAP_AUTO, false, false, PDL_FULL_MEMCPY,
     cudaGraphNodeTypeMemcpy, "pair_consume"},
    {"a host function between", call_the_host, PDL_OVERLAP_AUTO, false, false, PDL_FULL_HOST,
     cudaGraphNodeTypeHost, "pair_consume"},
    {"a launch without overlap", nothing, PDL_OVERLAP_NONE, false, false, PDL_FULL_SERIAL,
     cudaGraphNodeTypeKernel, "pair_consume"},
    {"a cooperative consumer", nothing, PDL_OVERLAP_AUTO, true, false, PDL_FULL_COOPERATIVE,
     cudaGraphNodeTypeKernel, "pair_consume"},
    {"a consumer compiled for 8.0", nothing, PDL_OVERLAP_AUTO, false, true, PDL_FULL_CODE,
     cudaGraphNodeTypeKernel, "second_old"},
};

TEST_ROWS(a_lost_overlap_is_named, losses)
{
    for (pair_of_kernels pair : kinds_of_kernels()) {
        if (row.old_code) {
            pair.second = pair.first == producer ? kernel_of(second_for_80())
                                                 : function_kernel_of(second_for_80());
        }
        pdl_launch_desc desc = desc_with(row.overlap, stream);
        desc.cooperative = row.cooperative;
        const cudaGraph_t graph = capture([&] {
            launch_first(value, pair.first);
            row.between();
            assert_pdl(pdl_launch(pair.second, &desc, PDL_ARGS(pair_memory)));
        });
        const bool direct = row.between == nothing;
        for (const graph_edge &edge : edges_of(graph)) {
            assert_int_equal(edge.data.type, cudaGraphDependencyTypeDefault);
            assert_int_equal(edge.data.from_port, cudaGraphKernelNodePortDefault);
            assert_int_equal(edge.data.to_port, 0);
        }
        assert_census(graph, {direct ? 1u : 2u, 0, 0, 0});
        pdl_full_dependency lost;
        pdl_census census = PDL_CENSUS_INIT;
        census.full_dependencies = &lost;
        census.full_capacity = 1;
        assert_pdl(pdl_graph_census(graph, &census));
        assert_int_equal(census.kernels, 2);
        assert_int_equal(census.full_count, 1);
        assert_int_equal(lost.reason, row.reason);
        assert_int_equal(lost.between == nullptr, direct);
        if (!direct) {
            cudaGraphNodeType found = cudaGraphNodeTypeKernel;
            assert_cuda(cudaGraphNodeGetType(lost.between, &found));
            assert_int_equal(found, row.type);
            assert_int_equal(lost.between_type, row.type);
        }
        assert_true(is_root(graph, lost.producer));
        assert_false(is_root(graph, lost.consumer));
        assert_non_null(strstr(lost.producer_name, "pair_produce"));
        assert_non_null(strstr(lost.consumer_name, row.consumer));
        for (const pair_record &run : replay_pairs(graph)) {
            assert_ran(run, value);
            assert_false(overlapped(run));
            assert_true(row.old_code || run.seen == value);
        }
    }
}

/* ---- first launches ------------------------------------------------------------------------- */

/* A kernel of its own for each number, which nothing has launched or asked about before. */
template <int Number> static __global__ void fresh(unsigned *to)
{
    PDL_WAIT();
    *to = 1000 + Number;
}

/* The first launch asks the driver about the kernel, and may load it: that must not break the
 * capture. The global mode refuses what could disturb a capture in any thread. */
static const struct {
    const char *name;
    cudaStreamCaptureMode mode;
    pdl_kernel *(*make)(void); /* before the capture */
    void (*launch)(pdl_kernel *kernel);
    unsigned written;
} firsts[] = {
    {"a symbol", cudaStreamCaptureModeThreadLocal, [] { return kernel_of(fresh<1>); },
     [](pdl_kernel *kernel) {
         assert_pdl(pdl_launch(kernel, desc_with(PDL_OVERLAP_AUTO, stream), PDL_ARGS(cells)));
     },
     1001},
    {"a typed launch", cudaStreamCaptureModeThreadLocal, [] { return producer; },
     [](pdl_kernel *) {
         assert_pdl(pdl_launch_kernel(desc_with(PDL_OVERLAP_AUTO, stream), fresh<2>, cells));
     },
     1002},
    {"a typed launch, in the global mode", cudaStreamCaptureModeGlobal, [] { return producer; },
     [](pdl_kernel *) {
         assert_pdl(pdl_launch_kernel(desc_with(PDL_OVERLAP_AUTO, stream), fresh<3>, cells));
     },
     1003},
    {"a kernel of an image, in the global mode", cudaStreamCaptureModeGlobal,
     [] {
         pdl_kernel *kernel = nullptr;
         assert_pdl(kernel_from_file(PDL_TEST_FATBIN, "set_all", &kernel));
         return keep(kernel);
     },
     [](pdl_kernel *kernel) {
         const unsigned from = 1004, n = 1;
         assert_pdl(
             pdl_launch(kernel, desc_with(PDL_OVERLAP_AUTO, stream), PDL_ARGS(cells, from, n)));
     },
     1004},
};

TEST_ROWS(a_first_launch_may_be_captured, firsts)
{
    pdl_kernel *const kernel = row.make();
    const cudaGraph_t graph = capture([&] { row.launch(kernel); }, row.mode);
    assert_int_equal(nodes_in(graph), 1);
    assert_cuda(cudaGraphLaunch(instance_of(graph), stream));
    assert_int_equal(content(cells), row.written);
}

int main()
{
    return run_gpu_tests(set_up_events);
}
