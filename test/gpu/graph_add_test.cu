/* SPDX-License-Identifier: MIT */
/* Kernel nodes added to graphs by hand: every kind of edge, what the driver refuses, and launch attributes. */
#include "../cuda/from_image.h"
#include "graph_test.cuh"

static const unsigned value = 815;
static const unsigned blocks = 8;
static const size_t window_bytes = 1 << 16;

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

static cudaGraph_t graph;
static pdl_kernel *counts;

static void set_up_graph(void)
{
    set_up();
    counts = kernel_of(count);
    assert_cuda(cudaGraphCreate(&graph, 0));
    undo_later([] { (void)cudaGraphDestroy(graph); });
}

static pdl_edge edge_from(cudaGraphNode_t node, pdl_edge_kind kind)
{
    pdl_edge edge = {node, static_cast<uint32_t>(kind), 0};
    return edge;
}

static cudaGraphNode_t add_producer(cudaGraph_t to)
{
    cudaGraphNode_t node = nullptr;
    const pdl_launch_desc desc = desc_with(PDL_OVERLAP_NONE);
    unsigned changing = value; /* the value is copied */
    assert_pdl(pdl_graph_add_launch(to, nullptr, 0, producer, &desc,
                                    PDL_ARGS(pair_memory, changing), &node));
    changing = 0;
    return node;
}

/* Adds the second kernel with one edge; what comes of that is the caller's to check. */
static pdl_status try_second(pdl_kernel *kernel, const pdl_edge &edge, pdl_overlap overlap)
{
    cudaGraphNode_t node = nullptr;
    const pdl_launch_desc desc = desc_with(overlap);
    const size_t before = nodes_in(graph);
    const pdl_status status =
        pdl_graph_add_launch(graph, &edge, 1, kernel, &desc, PDL_ARGS(pair_memory), &node);
    assert_int_equal(status == PDL_SUCCESS, node != nullptr);
    assert_int_equal(nodes_in(graph), before + (status == PDL_SUCCESS));
    return status;
}

static void run_graph(void)
{
    assert_cuda(cudaGraphLaunch(instance_of(graph), stream));
    assert_cuda(cudaStreamSynchronize(stream));
}

/* ---- edges ---------------------------------------------------------------------------------- */

enum kernel_name { WAITS, CODE_FOR_80, DECLARED_NOT_TO_WAIT };

static const struct {
    const char *name;
    kernel_name kernel;
    pdl_edge_kind kind;
    pdl_overlap overlap;
    cudaGraphDependencyType type;
    unsigned port;
    edge_counts counts;
    bool overlaps, covered;
} edges[] = {
    {"a full edge",
     WAITS,
     PDL_EDGE_FULL,
     PDL_OVERLAP_NONE,
     cudaGraphDependencyTypeDefault,
     cudaGraphKernelNodePortDefault,
     {1, 0, 0, 0},
     false,
     true},
    {"a programmatic edge",
     WAITS,
     PDL_EDGE_PROGRAMMATIC,
     PDL_OVERLAP_AUTO,
     cudaGraphDependencyTypeProgrammatic,
     cudaGraphKernelNodePortProgrammatic,
     {0, 1, 0, 0},
     true,
     true},
    {"a programmatic edge that is required",
     WAITS,
     PDL_EDGE_PROGRAMMATIC,
     PDL_OVERLAP_REQUIRE,
     cudaGraphDependencyTypeProgrammatic,
     cudaGraphKernelNodePortProgrammatic,
     {0, 1, 0, 0},
     true,
     true},
    {"a programmatic edge at block start",
     WAITS,
     PDL_EDGE_PROGRAMMATIC_AT_BLOCK_START,
     PDL_OVERLAP_AUTO,
     cudaGraphDependencyTypeProgrammatic,
     cudaGraphKernelNodePortLaunchCompletion,
     {0, 0, 0, 1},
     true,
     true},
    {"a launch-completion edge",
     WAITS,
     PDL_EDGE_LAUNCH_COMPLETION,
     PDL_OVERLAP_NONE,
     cudaGraphDependencyTypeDefault,
     cudaGraphKernelNodePortLaunchCompletion,
     {0, 0, 1, 0},
     true,
     false},
    {"code for 8.0",
     CODE_FOR_80,
     PDL_EDGE_PROGRAMMATIC,
     PDL_OVERLAP_AUTO,
     cudaGraphDependencyTypeDefault,
     cudaGraphKernelNodePortDefault,
     {1, 0, 0, 0},
     false,
     false},
    {"a kernel declared not to wait",
     DECLARED_NOT_TO_WAIT,
     PDL_EDGE_PROGRAMMATIC,
     PDL_OVERLAP_AUTO,
     cudaGraphDependencyTypeDefault,
     cudaGraphKernelNodePortDefault,
     {1, 0, 0, 0},
     false,
     true},
};

TEST_ROWS(an_edge, edges)
{
    pdl_kernel *kernel = consumer;
    if (row.kernel == CODE_FOR_80) {
        kernel = kernel_of(second_for_80());
    } else if (row.kernel == DECLARED_NOT_TO_WAIT) {
        kernel = kernel_of(pair_consume);
        assert_pdl(pdl_kernel_declare(kernel, PDL_NO, PDL_UNKNOWN));
    }
    assert_pdl(try_second(kernel, edge_from(add_producer(graph), row.kind), row.overlap));
    assert_only_edge(graph, row.type, row.port);
    assert_census(graph, row.counts);
    for (const pair_record &run : replay_pairs(graph)) {
        assert_ran(run, value);
        row.overlaps ? (void)0 : assert_false(overlapped(run));
        assert_if_concurrent(overlapped(run) == row.overlaps);
        assert_true(!row.covered || covered(run));
    }
}

/* More dependencies than the library keeps on its stack, each of which counts. */
TEST(a_node_waits_for_all_of_many_programmatic_dependencies)
{
    const unsigned producers = 20;
    std::vector<pdl_edge> dependencies;
    cudaGraphNode_t node = nullptr;
    const pdl_launch_desc desc = pdl_launch_desc_make(blocks, 32);
    const pdl_launch_desc overlap = desc_with(PDL_OVERLAP_REQUIRE);
    unsigned *to = cells + 1;
    for (unsigned i = 0; i < producers; i++) {
        assert_pdl(pdl_graph_add_launch(graph, nullptr, 0, counts, &desc, PDL_ARGS(cells), &node));
        dependencies.push_back(edge_from(node, PDL_EDGE_PROGRAMMATIC));
    }
    assert_pdl(pdl_graph_add_launch(graph, dependencies.data(), producers, kernel_of(copy),
                                    &overlap, PDL_ARGS(cells, to), &node));
    assert_census(graph, {0, producers, 0, 0});
    run_graph();
    assert_int_equal(content(to), producers * blocks * 32);
}

static cudaGraphNode_t add_memset(unsigned set_to)
{
    cudaMemsetParams params = {};
    cudaGraphNode_t node = nullptr;
    params.dst = cells;
    params.elementSize = sizeof(*cells);
    params.width = 1;
    params.height = 1;
    params.value = set_to;
    assert_cuda(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &params));
    return node;
}

TEST(an_edge_from_a_memset_is_full)
{
    cudaGraphNode_t node = nullptr;
    const pdl_edge edge = edge_from(add_memset(5), PDL_EDGE_FULL);
    const pdl_launch_desc desc = pdl_launch_desc_make(blocks, 32);
    assert_refused(
        try_second(consumer, edge_from(edge.node, PDL_EDGE_PROGRAMMATIC), PDL_OVERLAP_AUTO),
        PDL_ERROR_EDGE, "dependencies");
    assert_pdl(pdl_graph_add_launch(graph, &edge, 1, counts, &desc, PDL_ARGS(cells), &node));
    for (int turn = 0; turn < 2; turn++) {
        run_graph();
        assert_int_equal(content(cells), 5 + blocks * 32);
    }
}

TEST(a_dependency_of_another_graph_is_refused)
{
    cudaGraph_t other = nullptr;
    assert_cuda(cudaGraphCreate(&other, 0));
    undo_later([other] { (void)cudaGraphDestroy(other); });
    const cudaGraphNode_t node = add_producer(other);
    for (const pdl_edge_kind kind : {PDL_EDGE_FULL, PDL_EDGE_PROGRAMMATIC}) {
        assert_refused(try_second(consumer, edge_from(node, kind), PDL_OVERLAP_AUTO),
                       PDL_ERROR_EDGE, "dependencies");
    }
}

/* ---- where a kernel comes from -------------------------------------------------------------- */

TEST(kernels_from_everywhere_become_nodes)
{
    const unsigned n = 4;
    pdl_kernel *image = nullptr;
    cudaGraphNode_t before = nullptr;
    assert_pdl(kernel_from_file(PDL_TEST_FATBIN, "set_all", &image));
    pdl_kernel *const kernels[] = {keep(image), function_kernel_of(count), counts};
    for (unsigned i = 0; i < 3; i++) {
        cudaGraphNode_t node = nullptr;
        unsigned *to = cells + i * n;
        const pdl_edge edge = edge_from(before, PDL_EDGE_PROGRAMMATIC);
        const pdl_launch_desc desc = pdl_launch_desc_make(1, n, 0, nullptr, PDL_OVERLAP_REQUIRE);
        /* The kernels from a function and a symbol have one parameter, and the others are not
         * read. */
        assert_pdl(pdl_graph_add_launch(graph, &edge, i > 0 ? 1 : 0, kernels[i], &desc,
                                        PDL_ARGS(to, value, n), &node));
        before = node;
    }
    assert_census(graph, {0, 2, 0, 0});
    run_graph();
    const std::vector<unsigned> host = contents(cells, 3 * n);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(host[i], value + i);
        assert_int_equal(host[n + i], i == 0 ? n : 0);
        assert_int_equal(host[2 * n + i], i == 0 ? n : 0);
    }
}

/* ---- attributes ----------------------------------------------------------------------------- */

/* Each with the number of the attribute, and its value's first word. A driver may refuse some on a node: then it says
 * which call and which attribute, and the graph is as before. */
static const struct {
    const char *name;
    int id, word;
    bool may_be_refused;
    void (*set)(pdl_launch_desc *desc);
} attributes[] = {
    {"cooperative", 2, 1, false, [](pdl_launch_desc *desc) { desc->cooperative = 1; }},
    {"cluster", 4, 2, false, [](pdl_launch_desc *desc) { desc->cluster[0] = 2; }},
    {"cluster_scheduling", 5, PDL_CLUSTER_SCHEDULING_SPREAD, false,
     [](pdl_launch_desc *desc) { desc->cluster_scheduling = PDL_CLUSTER_SCHEDULING_SPREAD; }},
    {"priority", 8, -1, false, [](pdl_launch_desc *desc) { desc->priority = -1; }},
    {"mem_sync_domain", 10, 1, false, [](pdl_launch_desc *desc) { desc->mem_sync_domain = 1; }},
    {"mem_sync_domain_map", 9, 0x0100, false,
     [](pdl_launch_desc *desc) {
         desc->mem_sync_domain_map[1] = 1;
         desc->flags |= PDL_LAUNCH_SET_MEM_SYNC_DOMAIN_MAP;
     }},
    {"shared_memory_carveout", 14, 50, true,
     [](pdl_launch_desc *desc) { desc->shared_memory_carveout = 50; }},
    {"preferred_cluster", 11, 4, true,
     [](pdl_launch_desc *desc) { desc->cluster[0] = 2, desc->preferred_cluster[0] = 4; }},
    {"nvlink_centric_scheduling", 16, 1, true,
     [](pdl_launch_desc *desc) { desc->nvlink_centric_scheduling = 1; }},
};

static pdl_status add_count(const pdl_launch_desc &desc, cudaGraphNode_t *node)
{
    return pdl_graph_add_launch(graph, nullptr, 0, counts, &desc, PDL_ARGS(cells), node);
}

static cudaLaunchAttributeValue attribute_of(cudaGraphNode_t node, int id)
{
    cudaLaunchAttributeValue found;
    memset(&found, 0, sizeof(found));
    assert_cuda(
        cudaGraphKernelNodeGetAttribute(node, static_cast<cudaLaunchAttributeID>(id), &found));
    return found;
}

/* Each thread of the one node runs once. */
static void assert_counts(void)
{
    run_graph();
    assert_int_equal(content(cells), blocks * 32);
}

TEST_ROWS(a_node_has_the_attribute, attributes)
{
    cudaGraphNode_t node = nullptr;
    pdl_launch_desc desc = pdl_launch_desc_make(blocks, 32);
    row.set(&desc);
    const pdl_status status = add_count(desc, &node);
    if (status == PDL_SUCCESS && row.may_be_refused) {
        cudaGraphExec_t exec = nullptr;
        print_message("%s: taken; the graph's instantiation says %s\n", row.name,
                      cudaGetErrorName(cudaGraphInstantiate(&exec, graph, 0)));
        (void)cudaGetLastError();
        if (exec != nullptr) {
            assert_cuda(cudaGraphExecDestroy(exec));
            assert_counts();
        }
        return;
    }
    if (status == PDL_SUCCESS) {
        const cudaLaunchAttributeValue found = attribute_of(node, row.id);
        int word = 0;
        memcpy(&word, &found, sizeof(word));
        assert_int_equal(word, row.word);
        assert_counts();
        return;
    }
    const pdl_error *const error = pdl_last_error();
    print_message("%s: %s: %s\n", row.name, pdl_status_name(status), error->message);
    assert_true(row.may_be_refused);
    assert_int_equal(status, PDL_ERROR_NOT_SUPPORTED);
    if (error->call != nullptr) { /* the driver's word, not a check of versions */
        assert_string_equal(error->call, "cuGraphKernelNodeSetAttribute");
        assert_int_not_equal(error->cuda_result, 0);
        assert_non_null(strstr(error->message, row.name));
    }
    assert_string_equal(error->field, row.name);
    assert_int_equal(nodes_in(graph), 0);
}

TEST(a_node_can_have_an_access_policy_window)
{
    cudaGraphNode_t node = nullptr;
    pdl_launch_desc desc = pdl_launch_desc_make(blocks, 32);
    desc.access_policy.base = device_memory<char>(window_bytes);
    desc.access_policy.bytes = window_bytes;
    desc.access_policy.hit_ratio = 0.5f;
    desc.access_policy.hit_property = PDL_ACCESS_PERSISTING;
    desc.access_policy.miss_property = PDL_ACCESS_STREAMING;
    assert_pdl(add_count(desc, &node));
    const cudaAccessPolicyWindow found =
        attribute_of(node, cudaLaunchAttributeAccessPolicyWindow).accessPolicyWindow;
    assert_ptr_equal(found.base_ptr, desc.access_policy.base);
    assert_int_equal(found.num_bytes, window_bytes);
    assert_true(found.hitRatio == 0.5f);
    assert_int_equal(found.hitProp, cudaAccessPropertyPersisting);
    assert_int_equal(found.missProp, cudaAccessPropertyStreaming);
    assert_counts();
}

/* A device-updatable node cannot be taken out of its graph again, so that nothing may fail after it has become one: with
 * an attribute that may be refused it is whole or not there. */
TEST(a_device_updatable_node_gives_its_handle_or_is_not_there)
{
    for (const int carveout : {0, 50}) {
        struct CUgraphDeviceUpdatableNode_st *handle = nullptr;
        cudaGraphNode_t node = nullptr;
        pdl_launch_desc desc = pdl_launch_desc_make(blocks, 32);
        const size_t before = nodes_in(graph);
        desc.device_node = &handle;
        desc.shared_memory_carveout = carveout;
        const pdl_status status = add_count(desc, &node);
        assert_int_equal(status == PDL_SUCCESS, node != nullptr);
        assert_int_equal(status == PDL_SUCCESS, handle != nullptr);
        assert_int_equal(nodes_in(graph) - before, status == PDL_SUCCESS ? 1 : 0);
        if (carveout == 0) {
            assert_pdl(status);
            const auto found = attribute_of(node, cudaLaunchAttributeDeviceUpdatableKernelNode)
                                   .deviceUpdatableKernelNode;
            assert_int_equal(found.deviceUpdatable, 1);
            assert_ptr_equal(found.devNode, handle);
            assert_counts();
        }
    }
}

int main()
{
    return run_gpu_tests(set_up_graph);
}
