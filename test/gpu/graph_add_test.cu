/* SPDX-License-Identifier: MIT */
/* Kernel nodes added to graphs by hand: every kind of edge, what is refused, and launch
 * attributes. */
#include "../cuda/from_image.h"
#include "graph_test.cuh"

static const unsigned value = 815;
static const unsigned blocks = 8;

static __global__ void count(unsigned *counter)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    atomicAdd(counter, 1u);
}

static __global__ void copy(const unsigned *from, unsigned *to)
{
    PDL_WAIT();
    *to = PDL_LOAD(from);
}

struct fixture {
    cudaStream_t stream;
    cudaGraph_t graph;
    pair_record *pair;
    unsigned *cells;
    char *window;
    pdl_kernel *first;
    pdl_kernel *second;
    pdl_kernel *second_old;
    pdl_kernel *count;
    pdl_kernel *copy;
};

static fixture fix;
static const size_t window_bytes = 1 << 16;

static int set_up(void **)
{
    assert_cuda(cudaStreamCreateWithFlags(&fix.stream, cudaStreamNonBlocking));
    assert_cuda(cudaGraphCreate(&fix.graph, 0));
    assert_cuda(cudaMalloc(&fix.pair, sizeof(*fix.pair)));
    assert_cuda(cudaMalloc(&fix.cells, 64 * sizeof(*fix.cells)));
    assert_cuda(cudaMalloc(&fix.window, window_bytes));
    assert_pdl(pdl_kernel_from_symbol(pair_produce, &fix.first));
    assert_pdl(pdl_kernel_from_symbol(pair_consume, &fix.second));
    assert_pdl(pdl_kernel_from_symbol(second_for_80(), &fix.second_old));
    assert_pdl(pdl_kernel_from_symbol(count, &fix.count));
    assert_pdl(pdl_kernel_from_symbol(copy, &fix.copy));
    return 0;
}

static int tear_down(void **)
{
    assert_cuda(cudaDeviceSynchronize());
    for (pdl_kernel *kernel : {fix.copy, fix.count, fix.second_old, fix.second, fix.first}) {
        pdl_kernel_destroy(kernel);
    }
    assert_cuda(cudaFree(fix.window));
    assert_cuda(cudaFree(fix.cells));
    assert_cuda(cudaFree(fix.pair));
    assert_cuda(cudaGraphDestroy(fix.graph));
    assert_cuda(cudaStreamDestroy(fix.stream));
    return 0;
}

static pdl_edge edge_from(cudaGraphNode_t node, pdl_edge_kind kind)
{
    pdl_edge edge = {node, static_cast<uint32_t>(kind), 0};
    return edge;
}

static pdl_launch_desc desc_with(pdl_overlap overlap)
{
    return pdl_launch_desc_make(1, 1, 0, nullptr, overlap);
}

static cudaGraphNode_t add_first(void)
{
    cudaGraphNode_t node = nullptr;
    const pdl_launch_desc desc = desc_with(PDL_OVERLAP_NONE);
    assert_pdl(pdl_graph_add_launch(fix.graph, nullptr, 0, fix.first, &desc,
                                    PDL_ARGS(fix.pair, value), &node));
    assert_non_null(node);
    return node;
}

/* Adds the second kernel with one edge; what comes of that is the caller's to check. */
static pdl_status try_second(pdl_kernel *kernel, const pdl_edge &edge, pdl_overlap overlap)
{
    cudaGraphNode_t node = nullptr;
    pair_times *times = &fix.pair->times;
    const pdl_launch_desc desc = desc_with(overlap);
    const pdl_status status =
        pdl_graph_add_launch(fix.graph, &edge, 1, kernel, &desc, PDL_ARGS(times), &node);
    assert_int_equal(status == PDL_SUCCESS, node != nullptr);
    return status;
}

/* ---- edges ---------------------------------------------------------------------------------- */

static void a_full_edge_waits_for_the_end(void **)
{
    assert_pdl(try_second(fix.second, edge_from(add_first(), PDL_EDGE_FULL), PDL_OVERLAP_NONE));
    assert_only_edge(fix.graph, cudaGraphDependencyTypeDefault, cudaGraphKernelNodePortDefault);
    assert_census(fix.graph, {1, 0, 0, 0});
    assert_serial(replay_pairs(fix.graph, fix.stream, fix.pair), value);
}

static void a_programmatic_edge_overlaps_and_the_wait_covers_it(void **)
{
    assert_pdl(
        try_second(fix.second, edge_from(add_first(), PDL_EDGE_PROGRAMMATIC), PDL_OVERLAP_AUTO));
    assert_only_edge(fix.graph, cudaGraphDependencyTypeProgrammatic,
                     cudaGraphKernelNodePortProgrammatic);
    assert_census(fix.graph, {0, 1, 0, 0});
    assert_overlapped_and_covered(replay_pairs(fix.graph, fix.stream, fix.pair), value);
}

static void a_programmatic_edge_may_be_required(void **)
{
    assert_pdl(
        try_second(fix.second, edge_from(add_first(), PDL_EDGE_PROGRAMMATIC), PDL_OVERLAP_REQUIRE));
    assert_census(fix.graph, {0, 1, 0, 0});
    assert_overlapped_and_covered(replay_pairs(fix.graph, fix.stream, fix.pair), value);
}

static void a_programmatic_edge_at_block_start_overlaps_and_the_wait_covers_it(void **)
{
    assert_pdl(try_second(fix.second, edge_from(add_first(), PDL_EDGE_PROGRAMMATIC_AT_BLOCK_START),
                          PDL_OVERLAP_AUTO));
    assert_only_edge(fix.graph, cudaGraphDependencyTypeProgrammatic,
                     cudaGraphKernelNodePortLaunchCompletion);
    assert_census(fix.graph, {0, 0, 0, 1});
    assert_overlapped_and_covered(replay_pairs(fix.graph, fix.stream, fix.pair), value);
}

static void a_launch_completion_edge_overlaps(void **)
{
    assert_pdl(try_second(fix.second, edge_from(add_first(), PDL_EDGE_LAUNCH_COMPLETION),
                          PDL_OVERLAP_NONE));
    assert_only_edge(fix.graph, cudaGraphDependencyTypeDefault,
                     cudaGraphKernelNodePortLaunchCompletion);
    assert_census(fix.graph, {0, 0, 1, 0});
    for (const pair_record &run : replay_pairs(fix.graph, fix.stream, fix.pair)) {
        assert_ran(run, value);
        assert_if_concurrent(overlapped(run));
    }
}

/* More dependencies than the library keeps on its stack, each of which counts. */
static void a_node_waits_for_all_of_many_programmatic_dependencies(void **)
{
    const unsigned producers = 20;
    std::vector<pdl_edge> edges;
    cudaGraphNode_t node = nullptr;
    cudaGraphExec_t exec = nullptr;
    unsigned seen = 0;
    const pdl_launch_desc desc = pdl_launch_desc_make(blocks, 32);
    for (unsigned i = 0; i < producers; i++) {
        assert_pdl(pdl_graph_add_launch(fix.graph, nullptr, 0, fix.count, &desc,
                                        PDL_ARGS(fix.cells), &node));
        edges.push_back(edge_from(node, PDL_EDGE_PROGRAMMATIC));
    }
    const pdl_launch_desc overlap = desc_with(PDL_OVERLAP_REQUIRE);
    unsigned *to = fix.cells + 1;
    assert_pdl(pdl_graph_add_launch(fix.graph, edges.data(), edges.size(), fix.copy, &overlap,
                                    PDL_ARGS(fix.cells, to), &node));
    assert_census(fix.graph, {0, producers, 0, 0});
    assert_cuda(cudaMemset(fix.cells, 0, 2 * sizeof(*fix.cells)));
    assert_cuda(cudaDeviceSynchronize());
    assert_cuda(cudaGraphInstantiate(&exec, fix.graph, 0));
    assert_cuda(cudaGraphLaunch(exec, fix.stream));
    assert_cuda(cudaStreamSynchronize(fix.stream));
    assert_cuda(cudaMemcpy(&seen, to, sizeof(seen), cudaMemcpyDeviceToHost));
    assert_int_equal(seen, producers * blocks * 32);
    assert_cuda(cudaGraphExecDestroy(exec));
}

static void a_full_edge_from_a_memset_is_accepted(void **)
{
    cudaMemsetParams memset_params = {};
    cudaGraphNode_t before = nullptr;
    cudaGraphNode_t node = nullptr;
    cudaGraphExec_t exec = nullptr;
    unsigned counted = 0;
    memset_params.dst = fix.cells;
    memset_params.elementSize = sizeof(*fix.cells);
    memset_params.width = 1;
    memset_params.height = 1;
    memset_params.value = 5;
    assert_cuda(cudaGraphAddMemsetNode(&before, fix.graph, nullptr, 0, &memset_params));
    const pdl_edge edge = edge_from(before, PDL_EDGE_FULL);
    const pdl_launch_desc desc = pdl_launch_desc_make(blocks, 32);
    assert_pdl(
        pdl_graph_add_launch(fix.graph, &edge, 1, fix.count, &desc, PDL_ARGS(fix.cells), &node));
    assert_cuda(cudaGraphInstantiate(&exec, fix.graph, 0));
    for (int replay = 0; replay < 2; replay++) {
        assert_cuda(cudaGraphLaunch(exec, fix.stream));
        assert_cuda(cudaStreamSynchronize(fix.stream));
        assert_cuda(cudaMemcpy(&counted, fix.cells, sizeof(counted), cudaMemcpyDeviceToHost));
        assert_int_equal(counted, 5 + blocks * 32);
    }
    assert_cuda(cudaGraphExecDestroy(exec));
}

static void auto_makes_full_edges_to_code_for_8_0(void **)
{
    assert_pdl(try_second(fix.second_old, edge_from(add_first(), PDL_EDGE_PROGRAMMATIC),
                          PDL_OVERLAP_AUTO));
    assert_only_edge(fix.graph, cudaGraphDependencyTypeDefault, cudaGraphKernelNodePortDefault);
    for (const pair_record &run : replay_pairs(fix.graph, fix.stream, fix.pair)) {
        assert_ran(run, value);
        assert_false(overlapped(run));
    }
}

static void auto_makes_full_edges_to_a_kernel_declared_not_to_wait(void **)
{
    pdl_kernel *declared = nullptr;
    assert_pdl(pdl_kernel_from_symbol(pair_consume, &declared));
    assert_pdl(pdl_kernel_declare(declared, PDL_NO, PDL_UNKNOWN));
    assert_pdl(
        try_second(declared, edge_from(add_first(), PDL_EDGE_PROGRAMMATIC), PDL_OVERLAP_AUTO));
    assert_only_edge(fix.graph, cudaGraphDependencyTypeDefault, cudaGraphKernelNodePortDefault);
    assert_serial(replay_pairs(fix.graph, fix.stream, fix.pair), value);
    pdl_kernel_destroy(declared);
}

/* ---- where a kernel comes from -------------------------------------------------------------- */

static void kernels_from_everywhere_become_nodes(void **)
{
    const unsigned n = 4;
    cudaFunction_t function = nullptr;
    pdl_kernel *kernels[3];
    cudaGraphExec_t exec = nullptr;
    unsigned host[3 * n];
    cudaGraphNode_t before = nullptr;
    assert_pdl(kernel_from_file(PDL_TEST_FATBIN, "set_all", &kernels[0]));
    assert_cuda(cudaGetFuncBySymbol(&function, reinterpret_cast<const void *>(count)));
    assert_pdl(pdl_kernel_from_function(function, NULL, &kernels[1]));
    assert_pdl(pdl_kernel_declare(kernels[1], PDL_YES, PDL_YES));
    assert_pdl(pdl_kernel_from_symbol(count, &kernels[2]));
    assert_cuda(cudaMemset(fix.cells, 0, sizeof(host)));
    assert_cuda(cudaDeviceSynchronize());
    for (unsigned i = 0; i < 3; i++) {
        cudaGraphNode_t node = nullptr;
        unsigned *to = fix.cells + i * n;
        const pdl_edge edge = edge_from(before, PDL_EDGE_PROGRAMMATIC);
        const pdl_launch_desc desc = pdl_launch_desc_make(1, n, 0, nullptr, PDL_OVERLAP_REQUIRE);
        /* The kernels from a function and a symbol have one parameter, and the others are not
         * read. */
        assert_pdl(pdl_graph_add_launch(fix.graph, &edge, i > 0 ? 1 : 0, kernels[i], &desc,
                                        PDL_ARGS(to, value, n), &node));
        before = node;
    }
    assert_census(fix.graph, {0, 2, 0, 0});
    assert_cuda(cudaGraphInstantiate(&exec, fix.graph, 0));
    assert_cuda(cudaGraphLaunch(exec, fix.stream));
    assert_cuda(cudaStreamSynchronize(fix.stream));
    assert_cuda(cudaMemcpy(host, fix.cells, sizeof(host), cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(host[i], value + i);
        assert_int_equal(host[n + i], i == 0 ? n : 0);
        assert_int_equal(host[2 * n + i], i == 0 ? n : 0);
    }
    assert_cuda(cudaGraphExecDestroy(exec));
    for (pdl_kernel *kernel : kernels) {
        pdl_kernel_destroy(kernel);
    }
}

static void the_argument_values_are_copied(void **)
{
    cudaGraphNode_t node = nullptr;
    const pdl_launch_desc desc = desc_with(PDL_OVERLAP_NONE);
    unsigned changing = value;
    assert_pdl(pdl_graph_add_launch(fix.graph, nullptr, 0, fix.first, &desc,
                                    PDL_ARGS(fix.pair, changing), &node));
    changing = 0;
    for (const pair_record &run : replay_pairs(fix.graph, fix.stream, fix.pair)) {
        assert_int_equal(run.value, value);
    }
}

/* ---- refusals ------------------------------------------------------------------------------- */

/* As assert_refused(), and the graph still has as many nodes as before. */
#define assert_adds_nothing(call, status, field)                                                   \
    do {                                                                                           \
        const size_t nodes_before = nodes_in(fix.graph);                                           \
        assert_refused((call), (status), (field));                                                 \
        assert_int_equal(nodes_in(fix.graph), nodes_before);                                       \
    } while (0)

static void require_refuses_code_for_8_0(void **)
{
    const pdl_edge edge = edge_from(add_first(), PDL_EDGE_PROGRAMMATIC);
    assert_adds_nothing(try_second(fix.second_old, edge, PDL_OVERLAP_REQUIRE), PDL_ERROR_OVERLAP,
                        "overlap");
}

static void a_programmatic_edge_to_a_launch_without_overlap_is_refused(void **)
{
    const cudaGraphNode_t first = add_first();
    for (const pdl_edge_kind kind : {PDL_EDGE_PROGRAMMATIC, PDL_EDGE_PROGRAMMATIC_AT_BLOCK_START}) {
        assert_adds_nothing(try_second(fix.second, edge_from(first, kind), PDL_OVERLAP_NONE),
                            PDL_ERROR_DESC_FIELD, "overlap");
    }
}

static void an_edge_from_a_memset_can_only_be_full(void **)
{
    cudaMemsetParams memset_params = {};
    cudaGraphNode_t before = nullptr;
    memset_params.dst = fix.cells;
    memset_params.elementSize = sizeof(*fix.cells);
    memset_params.width = 1;
    memset_params.height = 1;
    assert_cuda(cudaGraphAddMemsetNode(&before, fix.graph, nullptr, 0, &memset_params));
    for (const pdl_edge_kind kind : {PDL_EDGE_PROGRAMMATIC, PDL_EDGE_LAUNCH_COMPLETION,
                                     PDL_EDGE_PROGRAMMATIC_AT_BLOCK_START}) {
        assert_adds_nothing(try_second(fix.second, edge_from(before, kind), PDL_OVERLAP_AUTO),
                            PDL_ERROR_EDGE, "dependencies");
    }
}

static void a_dependency_of_another_graph_is_refused(void **)
{
    cudaGraph_t other = nullptr;
    cudaGraphNode_t node = nullptr;
    const pdl_launch_desc desc = desc_with(PDL_OVERLAP_NONE);
    assert_cuda(cudaGraphCreate(&other, 0));
    assert_pdl(pdl_graph_add_launch(other, nullptr, 0, fix.first, &desc, PDL_ARGS(fix.pair, value),
                                    &node));
    for (const pdl_edge_kind kind : {PDL_EDGE_FULL, PDL_EDGE_PROGRAMMATIC}) {
        assert_adds_nothing(try_second(fix.second, edge_from(node, kind), PDL_OVERLAP_AUTO),
                            PDL_ERROR_EDGE, "dependencies");
    }
    assert_cuda(cudaGraphDestroy(other));
}

static void an_unknown_kind_of_edge_is_refused(void **)
{
    pdl_edge edge = edge_from(add_first(), PDL_EDGE_FULL);
    edge.kind = 4;
    assert_adds_nothing(try_second(fix.second, edge, PDL_OVERLAP_AUTO), PDL_ERROR_EDGE,
                        "dependencies");
    edge.kind = PDL_EDGE_FULL;
    edge.reserved = 1;
    assert_adds_nothing(try_second(fix.second, edge, PDL_OVERLAP_AUTO), PDL_ERROR_EDGE,
                        "dependencies");
}

static void a_dependency_without_a_node_is_refused(void **)
{
    assert_adds_nothing(try_second(fix.second, edge_from(nullptr, PDL_EDGE_FULL), PDL_OVERLAP_AUTO),
                        PDL_ERROR_INVALID_ARGUMENT, "dependencies");
}

static void events_are_refused_because_in_a_graph_they_are_edges(void **)
{
    struct CUevent_st *event = nullptr;
    cudaGraphNode_t node = nullptr;
    assert_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    pdl_launch_desc desc = desc_with(PDL_OVERLAP_NONE);
    desc.trigger_event = event;
    assert_adds_nothing(
        pdl_graph_add_launch(fix.graph, nullptr, 0, fix.count, &desc, PDL_ARGS(fix.cells), &node),
        PDL_ERROR_NOT_SUPPORTED, "trigger_event");
    desc.trigger_event = nullptr;
    desc.launch_event = event;
    assert_adds_nothing(
        pdl_graph_add_launch(fix.graph, nullptr, 0, fix.count, &desc, PDL_ARGS(fix.cells), &node),
        PDL_ERROR_NOT_SUPPORTED, "launch_event");
    assert_null(node);
    (void)cudaEventDestroy(event);
}

static void a_block_over_the_kernels_limit_is_refused(void **)
{
    cudaGraphNode_t node = nullptr;
    const pdl_launch_desc desc = pdl_launch_desc_make(1, dim3(1024, 2));
    assert_adds_nothing(
        pdl_graph_add_launch(fix.graph, nullptr, 0, fix.count, &desc, PDL_ARGS(fix.cells), &node),
        PDL_ERROR_BLOCK_TOO_LARGE, "block");
    assert_null(node);
}

/* ---- attributes ----------------------------------------------------------------------------- */

/* Runs the graph, which holds one node of `count`, and checks that each thread ran once. */
static void assert_counts(unsigned expected)
{
    cudaGraphExec_t exec = nullptr;
    unsigned counted = 0;
    assert_cuda(cudaMemset(fix.cells, 0, sizeof(*fix.cells)));
    assert_cuda(cudaDeviceSynchronize());
    assert_cuda(cudaGraphInstantiate(&exec, fix.graph, 0));
    assert_cuda(cudaGraphLaunch(exec, fix.stream));
    assert_cuda(cudaStreamSynchronize(fix.stream));
    assert_cuda(cudaMemcpy(&counted, fix.cells, sizeof(counted), cudaMemcpyDeviceToHost));
    assert_int_equal(counted, expected);
    assert_cuda(cudaGraphExecDestroy(exec));
}

static pdl_launch_desc count_desc(void)
{
    return pdl_launch_desc_make(blocks, 32);
}

static pdl_status add_count(const pdl_launch_desc &desc, cudaGraphNode_t *node)
{
    return pdl_graph_add_launch(fix.graph, nullptr, 0, fix.count, &desc, PDL_ARGS(fix.cells), node);
}

/* The node has the attribute with this word first in its value, and runs. */
static void assert_node_has(const pdl_launch_desc &desc, int id, int word)
{
    cudaGraphNode_t node = nullptr;
    cudaLaunchAttributeValue found;
    memset(&found, 0, sizeof(found));
    assert_pdl(add_count(desc, &node));
    assert_cuda(
        cudaGraphKernelNodeGetAttribute(node, static_cast<cudaLaunchAttributeID>(id), &found));
    int first = 0;
    memcpy(&first, &found, sizeof(first));
    assert_int_equal(first, word);
    assert_counts(blocks * 32);
}

/* Attributes that a driver may or may not take on a node: either the node is there and runs, or the
 * refusal says which call and which attribute, and the graph is as before. */
static void assert_taken_or_refused(const pdl_launch_desc &desc, const char *name, int id)
{
    cudaGraphNode_t node = nullptr;
    const pdl_status status = add_count(desc, &node);
    if (status == PDL_SUCCESS) {
        cudaGraphExec_t exec = nullptr;
        const cudaError_t error = cudaGraphInstantiate(&exec, fix.graph, 0);
        print_message("%s (%d): taken by this driver, the graph's instantiation says %s\n", name,
                      id, cudaGetErrorName(error));
        (void)cudaGetLastError();
        if (error == cudaSuccess) {
            assert_cuda(cudaGraphExecDestroy(exec));
            assert_counts(blocks * 32);
        }
        return;
    }
    const pdl_error *error = pdl_last_error();
    print_message("%s (%d): %s: %s\n", name, id, pdl_status_name(status), error->message);
    assert_int_equal(status, PDL_ERROR_NOT_SUPPORTED);
    if (error->call != nullptr) { /* the driver's word, not a check of versions */
        assert_string_equal(error->call, "cuGraphKernelNodeSetAttribute");
        assert_int_not_equal(error->cuda_result, 0);
        assert_non_null(strstr(error->message, name));
    }
    assert_string_equal(error->field, name);
    assert_null(node);
    assert_int_equal(nodes_in(fix.graph), 0);
}

static void a_node_can_be_cooperative(void **)
{
    pdl_launch_desc desc = count_desc();
    desc.cooperative = 1;
    assert_node_has(desc, cudaLaunchAttributeCooperative, 1);
}

static void a_node_can_have_clusters(void **)
{
    pdl_launch_desc desc = count_desc();
    desc.cluster[0] = 2;
    assert_node_has(desc, cudaLaunchAttributeClusterDimension, 2);
}

static void a_node_can_have_a_cluster_scheduling_policy(void **)
{
    pdl_launch_desc desc = count_desc();
    desc.cluster_scheduling = PDL_CLUSTER_SCHEDULING_SPREAD;
    assert_node_has(desc, cudaLaunchAttributeClusterSchedulingPolicyPreference,
                    PDL_CLUSTER_SCHEDULING_SPREAD);
}

static void a_node_can_have_a_priority(void **)
{
    int least = 0;
    int greatest = 0;
    pdl_launch_desc desc = count_desc();
    assert_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    assert_true(greatest < 0);
    desc.priority = greatest;
    assert_node_has(desc, cudaLaunchAttributePriority, greatest);
}

static void a_node_can_have_an_access_policy_window(void **)
{
    cudaGraphNode_t node = nullptr;
    cudaLaunchAttributeValue found;
    pdl_launch_desc desc = count_desc();
    desc.access_policy.base = fix.window;
    desc.access_policy.bytes = window_bytes;
    desc.access_policy.hit_ratio = 0.5f;
    desc.access_policy.hit_property = PDL_ACCESS_PERSISTING;
    desc.access_policy.miss_property = PDL_ACCESS_STREAMING;
    assert_pdl(add_count(desc, &node));
    memset(&found, 0, sizeof(found));
    assert_cuda(
        cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeAccessPolicyWindow, &found));
    assert_ptr_equal(found.accessPolicyWindow.base_ptr, fix.window);
    assert_int_equal(found.accessPolicyWindow.num_bytes, window_bytes);
    assert_true(found.accessPolicyWindow.hitRatio == 0.5f);
    assert_int_equal(found.accessPolicyWindow.hitProp, cudaAccessPropertyPersisting);
    assert_int_equal(found.accessPolicyWindow.missProp, cudaAccessPropertyStreaming);
    assert_counts(blocks * 32);
}

static void a_node_can_have_a_memory_sync_domain(void **)
{
    pdl_launch_desc desc = count_desc();
    desc.mem_sync_domain = 1;
    assert_node_has(desc, cudaLaunchAttributeMemSyncDomain, 1);
}

static void a_node_can_have_a_memory_sync_domain_map(void **)
{
    cudaGraphNode_t node = nullptr;
    cudaLaunchAttributeValue found;
    pdl_launch_desc desc = count_desc();
    desc.mem_sync_domain_map[0] = 0;
    desc.mem_sync_domain_map[1] = 1;
    desc.flags |= PDL_LAUNCH_SET_MEM_SYNC_DOMAIN_MAP;
    assert_pdl(add_count(desc, &node));
    memset(&found, 0, sizeof(found));
    assert_cuda(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeMemSyncDomainMap, &found));
    assert_int_equal(found.memSyncDomainMap.default_, 0);
    assert_int_equal(found.memSyncDomainMap.remote, 1);
    assert_counts(blocks * 32);
}

static void a_shared_memory_carveout_is_taken_or_refused_with_its_name(void **)
{
    pdl_launch_desc desc = count_desc();
    desc.shared_memory_carveout = 50;
    assert_taken_or_refused(desc, "shared_memory_carveout", 14);
}

static void a_preferred_cluster_is_taken_or_refused_with_its_name(void **)
{
    pdl_launch_desc desc = count_desc();
    desc.cluster[0] = 2;
    desc.preferred_cluster[0] = 4;
    assert_taken_or_refused(desc, "preferred_cluster", 11);
}

static void nvlink_centric_scheduling_is_taken_or_refused_with_its_name(void **)
{
    pdl_launch_desc desc = count_desc();
    desc.nvlink_centric_scheduling = 1;
    assert_taken_or_refused(desc, "nvlink_centric_scheduling", 16);
}

static void a_device_updatable_node_gives_its_handle(void **)
{
    struct CUgraphDeviceUpdatableNode_st *handle = nullptr;
    cudaGraphNode_t node = nullptr;
    cudaLaunchAttributeValue found;
    pdl_launch_desc desc = count_desc();
    desc.device_node = &handle;
    assert_pdl(add_count(desc, &node));
    assert_non_null(handle);
    memset(&found, 0, sizeof(found));
    assert_cuda(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeDeviceUpdatableKernelNode,
                                                &found));
    assert_int_equal(found.deviceUpdatableKernelNode.deviceUpdatable, 1);
    assert_ptr_equal(found.deviceUpdatableKernelNode.devNode, handle);
    assert_counts(blocks * 32);
}

/* A device-updatable node cannot be taken out of its graph again, so that nothing may fail after it
 * has become one. */
static void a_device_updatable_node_is_whole_or_not_there(void **)
{
    struct CUgraphDeviceUpdatableNode_st *handle = nullptr;
    cudaGraphNode_t node = nullptr;
    pdl_launch_desc desc = count_desc();
    desc.device_node = &handle;
    desc.shared_memory_carveout = 50;
    const pdl_status status = add_count(desc, &node);
    assert_int_equal(status == PDL_SUCCESS, node != nullptr);
    assert_int_equal(status == PDL_SUCCESS, handle != nullptr);
    assert_int_equal(nodes_in(fix.graph), status == PDL_SUCCESS ? 1 : 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main()
{
    const struct CMUnitTest tests[] = {
        TEST(a_full_edge_waits_for_the_end),
        TEST(a_programmatic_edge_overlaps_and_the_wait_covers_it),
        TEST(a_programmatic_edge_may_be_required),
        TEST(a_programmatic_edge_at_block_start_overlaps_and_the_wait_covers_it),
        TEST(a_launch_completion_edge_overlaps),
        TEST(a_node_waits_for_all_of_many_programmatic_dependencies),
        TEST(a_full_edge_from_a_memset_is_accepted),
        TEST(auto_makes_full_edges_to_code_for_8_0),
        TEST(auto_makes_full_edges_to_a_kernel_declared_not_to_wait),
        TEST(kernels_from_everywhere_become_nodes),
        TEST(the_argument_values_are_copied),
        TEST(require_refuses_code_for_8_0),
        TEST(a_programmatic_edge_to_a_launch_without_overlap_is_refused),
        TEST(an_edge_from_a_memset_can_only_be_full),
        TEST(a_dependency_of_another_graph_is_refused),
        TEST(an_unknown_kind_of_edge_is_refused),
        TEST(a_dependency_without_a_node_is_refused),
        TEST(events_are_refused_because_in_a_graph_they_are_edges),
        TEST(a_block_over_the_kernels_limit_is_refused),
        TEST(a_node_can_be_cooperative),
        TEST(a_node_can_have_clusters),
        TEST(a_node_can_have_a_cluster_scheduling_policy),
        TEST(a_node_can_have_a_priority),
        TEST(a_node_can_have_an_access_policy_window),
        TEST(a_node_can_have_a_memory_sync_domain),
        TEST(a_node_can_have_a_memory_sync_domain_map),
        TEST(a_shared_memory_carveout_is_taken_or_refused_with_its_name),
        TEST(a_preferred_cluster_is_taken_or_refused_with_its_name),
        TEST(nvlink_centric_scheduling_is_taken_or_refused_with_its_name),
        TEST(a_device_updatable_node_gives_its_handle),
        TEST(a_device_updatable_node_is_whole_or_not_there),
    };
    const int unavailable = no_device();
    return unavailable != 0 ? unavailable : cmocka_run_group_tests(tests, NULL, NULL);
}
