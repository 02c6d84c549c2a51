/* SPDX-License-Identifier: MIT */
/* What launches become when their stream is captured: the edges that the Programming Guide names,
 * and what pdl_graph_census() says of them. */
#include "../cuda/from_image.h"
#include "graph_test.cuh"

static const unsigned value = 4711;

struct fixture {
    cudaStream_t stream;
    cudaStream_t other;
    pair_record *pair;
    unsigned *scratch;
    cudaEvent_t plain;
    struct CUevent_st *event; /* for launches to record */
    pdl_kernel *first[2];     /* from a symbol, from a CUfunction */
    pdl_kernel *second[2];
};

static fixture fix;

template <typename... Params>
static void make_kernels(void (*symbol)(Params...), pdl_kernel *kernels[2])
{
    cudaFunction_t function = nullptr;
    assert_pdl(pdl_kernel_from_symbol(symbol, &kernels[0]));
    assert_cuda(cudaGetFuncBySymbol(&function, reinterpret_cast<const void *>(symbol)));
    assert_pdl(pdl_kernel_from_function(function, NULL, &kernels[1]));
    assert_pdl(pdl_kernel_declare(kernels[1], PDL_YES, PDL_YES));
}

static int set_up(void **)
{
    assert_cuda(cudaStreamCreateWithFlags(&fix.stream, cudaStreamNonBlocking));
    assert_cuda(cudaStreamCreateWithFlags(&fix.other, cudaStreamNonBlocking));
    assert_cuda(cudaMalloc(&fix.pair, sizeof(*fix.pair)));
    assert_cuda(cudaMalloc(&fix.scratch, 2 * sizeof(*fix.scratch)));
    assert_cuda(cudaEventCreateWithFlags(&fix.plain, cudaEventDisableTiming));
    assert_cuda(cudaEventCreateWithFlags(&fix.event, cudaEventDisableTiming));
    make_kernels(pair_produce, fix.first);
    make_kernels(pair_consume, fix.second);
    return 0;
}

/* A test that failed in the middle of a capture leaves nothing to the next one. */
static void end_capture(cudaStream_t stream)
{
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaGraph_t graph = nullptr;
    if (cudaStreamIsCapturing(stream, &status) == cudaSuccess &&
        status != cudaStreamCaptureStatusNone) {
        (void)cudaStreamEndCapture(stream, &graph);
    }
    (void)cudaGetLastError();
}

static int tear_down(void **)
{
    end_capture(fix.stream);
    for (int kind = 0; kind < 2; kind++) {
        pdl_kernel_destroy(fix.second[kind]);
        pdl_kernel_destroy(fix.first[kind]);
    }
    (void)cudaEventDestroy(fix.event);
    assert_cuda(cudaEventDestroy(fix.plain));
    assert_cuda(cudaFree(fix.scratch));
    assert_cuda(cudaFree(fix.pair));
    assert_cuda(cudaStreamDestroy(fix.other));
    assert_cuda(cudaStreamDestroy(fix.stream));
    return 0;
}

static pdl_launch_desc desc_in(cudaStream_t stream, pdl_overlap overlap)
{
    return pdl_launch_desc_make(1, 1, 0, stream, overlap);
}

template <typename Work>
static cudaGraph_t capture(Work &&work,
                           cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal)
{
    cudaGraph_t graph = nullptr;
    assert_cuda(cudaStreamBeginCapture(fix.stream, mode));
    work();
    assert_cuda(cudaStreamEndCapture(fix.stream, &graph));
    assert_non_null(graph);
    return graph;
}

static void launch_first(int kind)
{
    assert_pdl(pdl_launch(fix.first[kind], desc_in(fix.stream, PDL_OVERLAP_NONE),
                          PDL_ARGS(fix.pair, value)));
}

static void launch_second(int kind, pdl_overlap overlap)
{
    assert_pdl(pdl_launch(fix.second[kind], desc_in(fix.stream, overlap), PDL_ARGS(fix.pair)));
}

/* ---- edges between kernels ------------------------------------------------------------------ */

static void a_launch_with_overlap_makes_a_programmatic_edge(void **)
{
    for (int kind = 0; kind < 2; kind++) {
        cudaGraph_t graph = capture([kind] {
            launch_first(kind);
            launch_second(kind, PDL_OVERLAP_AUTO);
        });
        assert_int_equal(nodes_in(graph), 2);
        assert_only_edge(graph, cudaGraphDependencyTypeProgrammatic,
                         cudaGraphKernelNodePortProgrammatic);
        assert_census(graph, {0, 1, 0, 0});
        assert_overlapped_and_covered(replay_pairs(graph, fix.stream, fix.pair), value);
        assert_cuda(cudaGraphDestroy(graph));
    }
}

static void a_launch_without_overlap_makes_a_full_edge(void **)
{
    for (int kind = 0; kind < 2; kind++) {
        cudaGraph_t graph = capture([kind] {
            launch_first(kind);
            launch_second(kind, PDL_OVERLAP_NONE);
        });
        assert_int_equal(nodes_in(graph), 2);
        assert_only_edge(graph, cudaGraphDependencyTypeDefault, cudaGraphKernelNodePortDefault);
        assert_census(graph, {1, 0, 0, 0});
        assert_serial(replay_pairs(graph, fix.stream, fix.pair), value);
        assert_cuda(cudaGraphDestroy(graph));
    }
}

static void a_capture_is_counted_while_it_goes_on(void **)
{
    pdl_census census = PDL_CENSUS_INIT;
    const auto count = [&census] {
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        cudaGraph_t graph = nullptr;
        assert_cuda(cudaStreamGetCaptureInfo(fix.stream, &status, nullptr, &graph));
        assert_pdl(pdl_graph_census(graph, &census));
    };
    cudaGraph_t graph = capture([&census, &count] {
        count();
        assert_int_equal(census.nodes, 0);
        launch_first(0);
        launch_second(0, PDL_OVERLAP_AUTO);
        count();
        assert_int_equal(census.kernels, 2);
        assert_int_equal(census.programmatic, 1);
        launch_first(0);
    });
    assert_census(graph, {1, 1, 0, 0}); /* none of these questions ended it */
    assert_cuda(cudaGraphDestroy(graph));
}

/* The first kernel records an event as `desc` says, and the second one's stream waits for it. */
static cudaGraph_t capture_two_streams(int kind, const pdl_launch_desc &desc)
{
    return capture([kind, &desc] {
        assert_pdl(pdl_launch(fix.first[kind], desc, PDL_ARGS(fix.pair, value)));
        assert_cuda(cudaStreamWaitEvent(fix.other, fix.event, 0));
        assert_pdl(
            pdl_launch(fix.second[kind], desc_in(fix.other, PDL_OVERLAP_NONE), PDL_ARGS(fix.pair)));
        assert_cuda(cudaEventRecord(fix.plain, fix.other));
        assert_cuda(cudaStreamWaitEvent(fix.stream, fix.plain, 0));
    });
}

static void a_trigger_event_makes_a_programmatic_edge(void **)
{
    for (int kind = 0; kind < 2; kind++) {
        pdl_launch_desc desc = desc_in(fix.stream, PDL_OVERLAP_NONE);
        desc.trigger_event = fix.event;
        cudaGraph_t graph = capture_two_streams(kind, desc);
        assert_int_equal(nodes_in(graph), 2);
        assert_only_edge(graph, cudaGraphDependencyTypeProgrammatic,
                         cudaGraphKernelNodePortProgrammatic);
        assert_census(graph, {0, 1, 0, 0});
        assert_overlapped_and_covered(replay_pairs(graph, fix.stream, fix.pair), value);
        assert_cuda(cudaGraphDestroy(graph));
    }
}

static void a_trigger_event_at_block_start_makes_a_programmatic_edge_from_the_launch(void **)
{
    for (int kind = 0; kind < 2; kind++) {
        pdl_launch_desc desc = desc_in(fix.stream, PDL_OVERLAP_NONE);
        desc.trigger_event = fix.event;
        desc.trigger_at_block_start = 1;
        cudaGraph_t graph = capture_two_streams(kind, desc);
        assert_int_equal(nodes_in(graph), 2);
        assert_only_edge(graph, cudaGraphDependencyTypeProgrammatic,
                         cudaGraphKernelNodePortLaunchCompletion);
        assert_census(graph, {0, 0, 0, 1});
        assert_overlapped_and_covered(replay_pairs(graph, fix.stream, fix.pair), value);
        assert_cuda(cudaGraphDestroy(graph));
    }
}

static void a_launch_event_makes_a_launch_completion_edge(void **)
{
    for (int kind = 0; kind < 2; kind++) {
        pdl_launch_desc desc = desc_in(fix.stream, PDL_OVERLAP_NONE);
        desc.launch_event = fix.event;
        cudaGraph_t graph = capture_two_streams(kind, desc);
        assert_int_equal(nodes_in(graph), 2);
        assert_only_edge(graph, cudaGraphDependencyTypeDefault,
                         cudaGraphKernelNodePortLaunchCompletion);
        assert_census(graph, {0, 0, 1, 0});
        for (const pair_record &run : replay_pairs(graph, fix.stream, fix.pair)) {
            assert_ran(run, value);
            assert_if_concurrent(overlapped(run));
        }
        assert_cuda(cudaGraphDestroy(graph));
    }
}

static void an_event_record_between_does_not_end_the_overlap(void **)
{
    for (int kind = 0; kind < 2; kind++) {
        cudaGraph_t graph = capture([kind] {
            launch_first(kind);
            assert_cuda(cudaEventRecord(fix.plain, fix.stream));
            launch_second(kind, PDL_OVERLAP_AUTO);
        });
        assert_int_equal(nodes_in(graph), 2);
        assert_only_edge(graph, cudaGraphDependencyTypeProgrammatic,
                         cudaGraphKernelNodePortProgrammatic);
        assert_overlapped_and_covered(replay_pairs(graph, fix.stream, fix.pair), value);
        assert_cuda(cudaGraphDestroy(graph));
    }
}

/* ---- where overlap is lost ------------------------------------------------------------------ */

/* The one full dependency between kernels in the graph. */
static pdl_full_dependency only_full_dependency(cudaGraph_t graph)
{
    pdl_full_dependency list[4];
    pdl_census census = PDL_CENSUS_INIT;
    census.full_dependencies = list;
    census.full_capacity = 4;
    assert_pdl(pdl_graph_census(graph, &census));
    assert_int_equal(census.kernels, 2);
    assert_int_equal(census.programmatic, 0);
    assert_int_equal(census.full_count, 1);
    return list[0];
}

static bool is_root(cudaGraph_t graph, cudaGraphNode_t node)
{
    cudaGraphNode_t root = nullptr;
    size_t count = 1;
    assert_cuda(cudaGraphGetRootNodes(graph, &root, &count));
    return count == 1 && root == node;
}

static void assert_direct(cudaGraph_t graph, pdl_full_reason reason, const char *consumer)
{
    const pdl_full_dependency lost = only_full_dependency(graph);
    assert_int_equal(lost.reason, reason);
    assert_null(lost.between);
    assert_true(is_root(graph, lost.producer));
    assert_false(is_root(graph, lost.consumer));
    assert_non_null(strstr(lost.producer_name, "pair_produce"));
    assert_non_null(strstr(lost.consumer_name, consumer));
}

/* The two kernels with a node of another type between them: whatever the second one asks for, both
 * edges are full, and the census says what stands there. */
template <typename Between>
static void assert_ends_the_overlap(Between &&between, cudaGraphNodeType type,
                                    pdl_full_reason reason)
{
    for (int kind = 0; kind < 2; kind++) {
        cudaGraph_t graph = capture([kind, &between] {
            launch_first(kind);
            between();
            launch_second(kind, PDL_OVERLAP_AUTO);
        });
        cudaGraphNodeType found = cudaGraphNodeTypeKernel;
        const std::vector<graph_edge> edges = edges_of(graph);
        assert_int_equal(nodes_in(graph), 3);
        assert_int_equal(edges.size(), 2);
        for (const graph_edge &edge : edges) {
            assert_int_equal(edge.data.type, cudaGraphDependencyTypeDefault);
            assert_int_equal(edge.data.from_port, cudaGraphKernelNodePortDefault);
            assert_int_equal(edge.data.to_port, 0);
        }
        assert_census(graph, {2, 0, 0, 0});
        const pdl_full_dependency lost = only_full_dependency(graph);
        assert_int_equal(lost.reason, reason);
        assert_int_equal(lost.between_type, type);
        assert_non_null(lost.between);
        assert_cuda(cudaGraphNodeGetType(lost.between, &found));
        assert_int_equal(found, type);
        assert_true(is_root(graph, lost.producer));
        assert_non_null(strstr(lost.producer_name, "pair_produce"));
        assert_non_null(strstr(lost.consumer_name, "pair_consume"));
        assert_serial(replay_pairs(graph, fix.stream, fix.pair), value);
        assert_cuda(cudaGraphDestroy(graph));
    }
}

static void a_memset_between_is_named(void **)
{
    assert_ends_the_overlap(
        [] { assert_cuda(cudaMemsetAsync(fix.scratch, 0, sizeof(unsigned), fix.stream)); },
        cudaGraphNodeTypeMemset, PDL_FULL_MEMSET);
}

static void a_memcpy_between_is_named(void **)
{
    assert_ends_the_overlap(
        [] {
            assert_cuda(cudaMemcpyAsync(fix.scratch, fix.scratch + 1, sizeof(unsigned),
                                        cudaMemcpyDeviceToDevice, fix.stream));
        },
        cudaGraphNodeTypeMemcpy, PDL_FULL_MEMCPY);
}

static void CUDART_CB do_nothing(void *)
{
}

static void a_host_function_between_is_named(void **)
{
    assert_ends_the_overlap(
        [] { assert_cuda(cudaLaunchHostFunc(fix.stream, do_nothing, nullptr)); },
        cudaGraphNodeTypeHost, PDL_FULL_HOST);
}

static void a_launch_without_overlap_is_named_as_serial(void **)
{
    for (int kind = 0; kind < 2; kind++) {
        cudaGraph_t graph = capture([kind] {
            launch_first(kind);
            launch_second(kind, PDL_OVERLAP_NONE);
        });
        assert_direct(graph, PDL_FULL_SERIAL, "pair_consume");
        assert_cuda(cudaGraphDestroy(graph));
    }
}

static void a_cooperative_consumer_is_named(void **)
{
    for (int kind = 0; kind < 2; kind++) {
        pdl_launch_desc desc = desc_in(fix.stream, PDL_OVERLAP_AUTO);
        desc.cooperative = 1;
        cudaGraph_t graph = capture([kind, &desc] {
            launch_first(kind);
            assert_pdl(pdl_launch(fix.second[kind], desc, PDL_ARGS(fix.pair)));
        });
        assert_only_edge(graph, cudaGraphDependencyTypeDefault, cudaGraphKernelNodePortDefault);
        assert_direct(graph, PDL_FULL_COOPERATIVE, "pair_consume");
        assert_serial(replay_pairs(graph, fix.stream, fix.pair), value);
        assert_cuda(cudaGraphDestroy(graph));
    }
}

static void a_consumer_compiled_for_8_0_is_named(void **)
{
    pdl_kernel *old_code[2];
    make_kernels(second_for_80(), old_code);
    for (int kind = 0; kind < 2; kind++) {
        pair_times *times = &fix.pair->times;
        cudaGraph_t graph = capture([kind, times, &old_code] {
            launch_first(kind);
            assert_pdl(
                pdl_launch(old_code[kind], desc_in(fix.stream, PDL_OVERLAP_AUTO), PDL_ARGS(times)));
        });
        assert_only_edge(graph, cudaGraphDependencyTypeDefault, cudaGraphKernelNodePortDefault);
        assert_direct(graph, PDL_FULL_CODE, "second_old");
        for (const pair_record &run : replay_pairs(graph, fix.stream, fix.pair)) {
            assert_ran(run, value);
            assert_false(overlapped(run));
        }
        assert_cuda(cudaGraphDestroy(graph));
        pdl_kernel_destroy(old_code[kind]);
    }
}

/* Three kernels with a memset after each of the first two. */
static void more_full_dependencies_than_there_is_room_for_are_counted(void **)
{
    cudaGraph_t graph = capture([] {
        launch_first(0);
        for (int i = 0; i < 2; i++) {
            assert_cuda(cudaMemsetAsync(fix.scratch, 0, sizeof(unsigned), fix.stream));
            launch_second(0, PDL_OVERLAP_AUTO);
        }
    });
    pdl_full_dependency list[2];
    pdl_census census = PDL_CENSUS_INIT;
    memset(list, 0x5a, sizeof(list));
    const pdl_full_dependency untouched = list[1];
    assert_pdl(pdl_graph_census(graph, &census));
    assert_int_equal(census.full_count, 2);
    census.full_dependencies = list;
    census.full_capacity = 1;
    assert_pdl(pdl_graph_census(graph, &census));
    assert_int_equal(census.nodes, 5);
    assert_int_equal(census.kernels, 3);
    assert_int_equal(census.full, 4);
    assert_int_equal(census.full_count, 2);
    assert_int_equal(list[0].reason, PDL_FULL_MEMSET);
    assert_memory_equal(&list[1], &untouched, sizeof(untouched));
    assert_cuda(cudaGraphDestroy(graph));
}

static void an_empty_graph_has_no_edges(void **)
{
    cudaGraph_t graph = nullptr;
    assert_cuda(cudaGraphCreate(&graph, 0));
    assert_census(graph, {0, 0, 0, 0});
    assert_cuda(cudaGraphDestroy(graph));
}

/* ---- first launches ------------------------------------------------------------------------- */

/* A kernel of its own for each number, which nothing has launched or asked about before. */
template <int Number> static __global__ void fresh(pair_record *pair)
{
    PDL_WAIT();
    pair->value = 1000 + Number;
}

/* The first launch asks the driver about the kernel, and may load it: that must not break the
 * capture. */
template <typename Launch>
static void assert_captures_the_first_launch(Launch &&launch, cudaStreamCaptureMode mode,
                                             unsigned expected)
{
    cudaGraphExec_t exec = nullptr;
    unsigned written = 0;
    assert_cuda(cudaMemset(fix.pair, 0, sizeof(*fix.pair)));
    assert_cuda(cudaDeviceSynchronize());
    cudaGraph_t graph = capture(launch, mode);
    assert_int_equal(nodes_in(graph), 1);
    assert_cuda(cudaGraphInstantiate(&exec, graph, 0));
    assert_cuda(cudaGraphLaunch(exec, fix.stream));
    assert_cuda(cudaStreamSynchronize(fix.stream));
    assert_cuda(cudaMemcpy(&written, &fix.pair->value, sizeof(written), cudaMemcpyDeviceToHost));
    assert_int_equal(written, expected);
    assert_cuda(cudaGraphExecDestroy(exec));
    assert_cuda(cudaGraphDestroy(graph));
}

static void a_symbol_may_be_launched_for_the_first_time_while_capturing(void **)
{
    pdl_kernel *kernel = nullptr;
    assert_pdl(pdl_kernel_from_symbol(fresh<1>, &kernel));
    assert_captures_the_first_launch(
        [kernel] {
            assert_pdl(
                pdl_launch(kernel, desc_in(fix.stream, PDL_OVERLAP_AUTO), PDL_ARGS(fix.pair)));
        },
        cudaStreamCaptureModeThreadLocal, 1001);
    pdl_kernel_destroy(kernel);
}

static void a_typed_launch_may_be_the_first_one_while_capturing(void **)
{
    assert_captures_the_first_launch(
        [] {
            assert_pdl(
                pdl_launch_kernel(desc_in(fix.stream, PDL_OVERLAP_AUTO), fresh<2>, fix.pair));
        },
        cudaStreamCaptureModeThreadLocal, 1002);
}

/* The mode that refuses what could disturb a capture in any thread. */
static void a_first_launch_works_in_a_capture_of_global_mode(void **)
{
    assert_captures_the_first_launch(
        [] {
            assert_pdl(
                pdl_launch_kernel(desc_in(fix.stream, PDL_OVERLAP_AUTO), fresh<3>, fix.pair));
        },
        cudaStreamCaptureModeGlobal, 1003);
}

static void a_kernel_of_an_image_may_be_launched_for_the_first_time_while_capturing(void **)
{
    pdl_kernel *kernel = nullptr;
    unsigned *to = &fix.pair->value;
    const unsigned first = 1004;
    const unsigned n = 1;
    assert_pdl(kernel_from_file(PDL_TEST_FATBIN, "set_all", &kernel));
    assert_captures_the_first_launch(
        [kernel, to, first, n] {
            assert_pdl(
                pdl_launch(kernel, desc_in(fix.stream, PDL_OVERLAP_AUTO), PDL_ARGS(to, first, n)));
        },
        cudaStreamCaptureModeGlobal, 1004);
    pdl_kernel_destroy(kernel);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main()
{
    const struct CMUnitTest tests[] = {
        TEST(a_launch_with_overlap_makes_a_programmatic_edge),
        TEST(a_launch_without_overlap_makes_a_full_edge),
        TEST(a_capture_is_counted_while_it_goes_on),
        TEST(a_trigger_event_makes_a_programmatic_edge),
        TEST(a_trigger_event_at_block_start_makes_a_programmatic_edge_from_the_launch),
        TEST(a_launch_event_makes_a_launch_completion_edge),
        TEST(an_event_record_between_does_not_end_the_overlap),
        TEST(a_memset_between_is_named),
        TEST(a_memcpy_between_is_named),
        TEST(a_host_function_between_is_named),
        TEST(a_launch_without_overlap_is_named_as_serial),
        TEST(a_cooperative_consumer_is_named),
        TEST(a_consumer_compiled_for_8_0_is_named),
        TEST(more_full_dependencies_than_there_is_room_for_are_counted),
        TEST(an_empty_graph_has_no_edges),
        TEST(a_symbol_may_be_launched_for_the_first_time_while_capturing),
        TEST(a_typed_launch_may_be_the_first_one_while_capturing),
        TEST(a_first_launch_works_in_a_capture_of_global_mode),
        TEST(a_kernel_of_an_image_may_be_launched_for_the_first_time_while_capturing),
    };
    const int unavailable = no_device();
    return unavailable != 0 ? unavailable : cmocka_run_group_tests(tests, NULL, NULL);
}
