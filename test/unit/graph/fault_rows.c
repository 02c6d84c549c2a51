/* SPDX-License-Identifier: MIT */
/* A call of each public function, and what it works on: see test_faults.c. */
#include "faults.h"

#include <pdl/overlap.h>
#include <pdl/policy.h>
#include <unistd.h>

#include "../../inspect/make_image.h"
#include "from_image.h"
#include "launch/kernel.h"

/* ---- what the functions work on ------------------------------------------------------------------ */

static const char image[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                            ".visible .entry fc1(.param .u64 a, .param .u32 b)\n"
                            "{ griddepcontrol.wait; call (), f, (); ret; }\n.func f() { ret; }\n"
                            ".visible .entry fc2() { call (), f, (); ret; }\n";
static char image_path[] = "/tmp/pdl_test_faults_XXXXXX";
static struct values values;

/* Of which this file counts the allocations. */
static pdl_chain *new_chain(void)
{
    pdl_chain *chain = NULL;
    assert_ok(pdl_chain_create(NULL, &chain));
    return chain;
}

struct with with;

static pdl_chain *chain_of(uint32_t links)
{
    const pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    pdl_chain *chain = new_chain();
    for (uint32_t i = 0; i < links; i++) {
        assert_ok(pdl_chain_add(chain, with.used, &desc, VALUES(values), NULL, 0, NULL));
    }
    for (uint32_t i = 0; i + 1 < links; i++) { /* more than fit on the stack of an edge's adder */
        assert_ok(pdl_chain_add_dependency(chain, links - 1, i));
    }
    if (links > 10) {
        assert_ok(pdl_chain_add_dependency(chain, 10, PDL_CHAIN_START));
    }
    return chain;
}

/* A part of a stream's: two kernels, a copy, a memset and the event's. */
static void capture(pdl_chain *chain, CUevent event)
{
    assert_ok(pdl_chain_capture_begin(chain, mock_stream(1, 0)));
    (void)mock_capture_node(mock_stream(1, 0), CU_GRAPH_NODE_TYPE_KERNEL, true);
    (void)mock_capture_node(mock_stream(1, 0), CU_GRAPH_NODE_TYPE_MEMCPY, true);
    (void)mock_capture_node(mock_stream(1, 0), CU_GRAPH_NODE_TYPE_GRAPH, true);
    if (event != NULL) {
        (void)mock_capture_node(mock_stream(1, 0), CU_GRAPH_NODE_TYPE_MEMSET, true);
        (void)mock_capture_node(mock_stream(1, 0), CU_GRAPH_NODE_TYPE_EVENT_RECORD, true);
        (void)mock_capture_node(mock_stream(1, 0), CU_GRAPH_NODE_TYPE_WAIT_EVENT, true);
        (void)mock_capture_node(mock_stream(1, 0), CU_GRAPH_NODE_TYPE_HOST, true);
    }
    (void)mock_capture_node(mock_stream(1, 0), CU_GRAPH_NODE_TYPE_KERNEL, true);
    (void)mock_capture_node(mock_stream(1, 0), CU_GRAPH_NODE_TYPE_KERNEL, true);
}

static pdl_chain_node graph_node(void)
{
    pdl_chain_node node = node_of_kind(PDL_NODE_GRAPH);
    node.graph = with.graph;
    return node;
}

/* Links 0 to 8: a kernel, a memset, a host function, an event's, a graph, a capture, a kernel, an if, and a
 * switch if the driver has it. */
static pdl_chain *chain_of_nodes(void)
{
    const pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    pdl_chain *chain = new_chain();
    pdl_chain *body = NULL;
    pdl_chain_node node = node_of_kind(PDL_NODE_MEMSET);
    assert_ok(pdl_chain_add(chain, with.used, &desc, VALUES(values), NULL, 0, NULL));
    assert_ok(pdl_chain_add_node(chain, &node, NULL));
    node = node_of_kind(PDL_NODE_HOST);
    assert_ok(pdl_chain_add_node(chain, &node, NULL));
    node = node_of_kind(PDL_NODE_EVENT_RECORD);
    node.event = with.event;
    assert_ok(pdl_chain_add_node(chain, &node, NULL));
    node = graph_node();
    assert_ok(pdl_chain_add_node(chain, &node, NULL));
    capture(chain, with.event);
    assert_ok(pdl_chain_capture_end(chain, NULL));
    assert_ok(pdl_chain_add(chain, with.used, &desc, VALUES(values), NULL, 0, NULL));
    node = node_of_kind(PDL_NODE_IF);
    assert_ok(pdl_chain_add_node(chain, &node, NULL));
    assert_ok(pdl_chain_body(chain, 7, 0, &body));
    assert_ok(pdl_chain_add(body, with.used, &desc, VALUES(values), NULL, 0, NULL));
    assert_ok(pdl_chain_pass_condition(body, 0, 0, chain, 7));
    if (mock.table.version >= 12080) {
        node = node_of_kind(PDL_NODE_SWITCH);
        node.bodies = 3;
        assert_ok(pdl_chain_add_node(chain, &node, NULL));
        for (uint32_t i = 1; i < 3; i++) {
            assert_ok(pdl_chain_body(chain, 8, i, &body));
            assert_ok(pdl_chain_add(body, with.used, &desc, VALUES(values), NULL, 0, NULL));
            assert_ok(pdl_chain_pass_condition(body, 0, 0, chain, 8));
        }
    }
    return chain;
}

void open_fixture(int version, int devices)
{
    memset(&with, 0, sizeof(with));
    mock.table.device_count = devices;
    mock_set_driver_version(version); /* and nothing is known of devices */
    values = values_of(1);
    assert_ok(kernel_from_image(image, sizeof(image), "fc1", &with.used));
    if (version >= 12040) {
        with.chain = chain_of(20);
        with.built = chain_of(3);
        assert_ok(pdl_chain_build(with.built));
        with.graph = make_graph();
        for (unsigned i = 0; i < 20; i++) {
            with.edges[i] = (pdl_edge){.node = add_kernel_node(with.graph, with.used, NULL, 0),
                                       .kind = PDL_EDGE_PROGRAMMATIC};
        }
        const pdl_edge full = {.node = with.edges[0].node, .kind = PDL_EDGE_FULL};
        (void)add_kernel_node(with.graph, with.used, &full, 1);
        mock_capture(mock_stream(0, 0), with.graph, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    }
    with.event = mock_event_create(CU_EVENT_DISABLE_TIMING);
    if (version >= 12040) {
        with.mixed = chain_of_nodes();
    }
    assert_ok(kernel_from_image(image, sizeof(image), "fc1", &with.kernel));
    mock_apply();
}

void close_fixture(void)
{
    pdl_chain_destroy(with.chain);
    pdl_chain_destroy(with.built);
    pdl_chain_destroy(with.mixed);
    pdl_kernel_destroy(with.kernel);
    pdl_kernel_destroy(with.used);
    (void)mock_event_destroy(with.event);
    if (with.graph != NULL) {
        destroy_graph(with.graph);
    }
}

/* ---- the table ------------------------------------------------------------------------------------ */

struct row rows[128];
size_t row_count;

/* Adds a row: the function, the row's name, its other members, and what it does. */
#define LIST(...) __VA_ARGS__
#define RUN(function_, name_, members, ...)                                                        \
    static pdl_status run_##name_(void)                                                            \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }                                                                                              \
    __attribute__((constructor)) static void add_##name_(void)                                     \
    {                                                                                              \
        rows[row_count++] = (struct row){                                                          \
            .function = #function_, .name = #name_, .run = run_##name_, LIST members};             \
    }
#define UNDO(name, ...)                                                                            \
    static void undo_##name(void)                                                                  \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* Nothing fails in between. */
static struct {
    unsigned call;
    unsigned allocation;
} suspended;

static void suspend(void)
{
    suspended.call = mock.fail_any_at;
    suspended.allocation = fail_at;
    mock.fail_any_at = 0;
    fail_at = 0;
    is_watching = false;
}

static void resume(void)
{
    mock.fail_any_at = suspended.call;
    fail_at = suspended.allocation;
    is_watching = true;
}

static pdl_status begin_capture(pdl_chain *chain)
{
    const pdl_status status = pdl_chain_capture_begin(chain, mock_stream(1, 0));
    if (status == PDL_SUCCESS) {
        suspend();
        assert_ok(pdl_chain_capture_end(chain, NULL));
        resume();
    }
    return status;
}

static pdl_launch_desc full_desc(void)
{
    static const CUlaunchAttribute extra = {
        .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE};
    pdl_launch_desc desc = DESC(.overlap = PDL_OVERLAP_AUTO, .extra_attributes = &extra,
                                .extra_attribute_count = 1, .priority = -1, .mem_sync_domain = 1);
    return desc;
}

static pdl_status launch(pdl_kernel *kernel, pdl_launch_desc desc)
{
    return pdl_launch(kernel, &desc, VALUES(values));
}

static pdl_status launch_fully(pdl_kernel *kernel)
{
    return launch(kernel, full_desc());
}

/* By the Runtime, and then by the driver. */
static pdl_status launch_twice(pdl_kernel *kernel)
{
    const pdl_status status = launch(kernel, plain_desc());
    return status == PDL_SUCCESS ? launch(kernel, plain_desc()) : status;
}

/* The log asks for a name that the Runtime does not find any more. */
static pdl_status launch_nameless(pdl_kernel *kernel)
{
    pdl_status status = PDL_SUCCESS;
    for (uint32_t i = 0; i < 3 && status == PDL_SUCCESS; i++) {
        status = launch(kernel, i == 0 ? plain_desc() : overlap_desc(PDL_OVERLAP_AUTO));
        if (status == PDL_SUCCESS) {
            mock_runtime_function_result = 209;
            status = pdl_kernel_declare(kernel, i != 0 ? PDL_YES : PDL_NO, PDL_UNKNOWN);
        }
    }
    mock_runtime_function_result = 0;
    return status;
}

static pdl_status get_info(pdl_kernel *kernel)
{
    return pdl_kernel_get(kernel, -1, (void *)with.out.bytes);
}

static pdl_status raise_limit(pdl_kernel *kernel)
{
    return pdl_kernel_set_attribute(kernel, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY, 65536);
}

/* Of a kernel that is made for it and destroyed. */
static pdl_status of_new(bool symbol, pdl_status (*use)(pdl_kernel *kernel))
{
    pdl_kernel *kernel = NULL;
    pdl_status status = symbol
                            ? pdl_kernel_from_runtime(&mock.kernels[0], &mock_runtime_ops, &kernel)
                            : pdl_kernel_from_function(mock_function(0, 0), NULL, &kernel);
    status = status == PDL_SUCCESS ? use(kernel) : status;
    pdl_kernel_destroy(kernel);
    return status;
}

static pdl_status add_node(pdl_node_kind kind, uint32_t bodies)
{
    pdl_chain_node node = kind == PDL_NODE_GRAPH ? graph_node() : node_of_kind(kind);
    node.bodies = bodies;
    return pdl_chain_add_node(with.built, &node, &with.out.number);
}

UNDO(kernel, pdl_kernel_destroy(with.out.kernel);)
UNDO(chain, pdl_chain_destroy(with.out.chain);)
UNDO(image, pdl_image_free(with.out.image);)
RUN(pdl_chain_create, chain_create, (.undo = undo_chain),
    return pdl_chain_create(NULL, &with.out.chain);)
RUN(pdl_chain_add, chain_add, (), const pdl_launch_desc desc = full_desc();
    return pdl_chain_add(with.chain, with.kernel, &desc, VALUES(values), value_sizes, 2,
                         &with.out.number);)
RUN(
    pdl_chain_add, chain_add_first, (), const pdl_launch_desc desc = full_desc();
    pdl_chain *chain = NULL; pdl_status status = pdl_chain_create(NULL, &chain);
    if (status == PDL_SUCCESS) {
        status = pdl_chain_add(chain, with.kernel, &desc, VALUES(values), NULL, 0, NULL);
    } pdl_chain_destroy(chain);
    return status;)
RUN(pdl_chain_add_dependency, chain_add_dependency, (),
    return pdl_chain_add_dependency(with.chain, 4, 10);)
RUN(pdl_chain_build, chain_build, (), return pdl_chain_build(with.chain);)
RUN(pdl_chain_build, chain_build_again, (), return pdl_chain_build(with.built);)
RUN(pdl_chain_build, chain_build_nodes, (), return pdl_chain_build(with.mixed);)
RUN(pdl_chain_explain, chain_explain, (.size = sizeof(pdl_chain_report)),
    return pdl_chain_explain(with.chain, 19, (void *)with.out.bytes);)
RUN(pdl_chain_explain, chain_explain_behind, (.size = sizeof(pdl_chain_report)),
    return pdl_chain_explain(with.mixed, 6, (void *)with.out.bytes);)
RUN(pdl_chain_graph, chain_graph, (), return pdl_chain_graph(with.built, &with.out.graph);)
RUN(pdl_chain_launch, chain_launch, (), return pdl_chain_launch(with.built, mock_stream(0, 0));)
RUN(pdl_chain_reset, chain_reset, (), return pdl_chain_reset(with.built);)
RUN(pdl_chain_set_args, chain_set_args, (),
    return pdl_chain_set_args(with.built, 1, VALUES(values));)
RUN(pdl_chain_set_desc, chain_set_desc, (), pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    desc.grid[0] = 7; return pdl_chain_set_desc(with.built, 1, &desc);)
RUN(pdl_chain_set_desc, chain_set_extra, (), const pdl_launch_desc desc = full_desc();
    return pdl_chain_set_desc(with.chain, 1, &desc);)
RUN(pdl_chain_destroy, chain_destroy, (), pdl_chain_destroy(with.built); with.built = NULL;
    return PDL_SUCCESS;)
RUN(pdl_chain_add_node, chain_add_node, (), return add_node(PDL_NODE_MEMSET, 0);)
RUN(pdl_chain_add_node, chain_add_graph, (), return add_node(PDL_NODE_GRAPH, 0);)
RUN(pdl_chain_add_node, chain_add_if, (),
    return add_node(PDL_NODE_IF, mock.table.version < 12080 ? 1 : 2);)
RUN(pdl_chain_add_node, chain_add_switch, (), const bool old = mock.table.version < 12080;
    return add_node(old ? PDL_NODE_IF : PDL_NODE_SWITCH, old ? 1 : 3);)
RUN(pdl_chain_body, chain_body, (), return pdl_chain_body(with.mixed, 7, 0, &with.out.chain);)
RUN(pdl_chain_pass_condition, chain_pass_condition, (),
    return pdl_chain_pass_condition(with.mixed, 0, 0, with.mixed, 7);)
RUN(pdl_chain_capture_begin, chain_capture_begin, (), return begin_capture(with.built);)
RUN(pdl_chain_capture_begin, chain_capture_behind, (), return begin_capture(with.mixed);)
RUN(pdl_chain_capture_end, chain_capture_end, (), suspend(); capture(with.built, NULL); resume();
    return pdl_chain_capture_end(with.built, &with.out.number);)
/* Of a node that is not copied, so that the capture becomes a child graph without its first node. */
RUN(pdl_chain_capture_end, chain_capture_child, (), suspend();
    assert_ok(pdl_chain_capture_begin(with.built, mock_stream(1, 0)));
    (void)mock_capture_node(mock_stream(1, 0), CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, true); resume();
    return pdl_chain_capture_end(with.built, &with.out.number);)
RUN(pdl_chain_set_node, chain_set_node, (),
    const pdl_chain_node node = node_of_kind(PDL_NODE_MEMSET);
    const pdl_status built = pdl_chain_build(with.mixed);
    return built == PDL_SUCCESS ? pdl_chain_set_node(with.mixed, 1, &node) : built;)
RUN(pdl_graph_census, chain_census, (.size = sizeof(pdl_census)), CUgraph built = NULL;
    pdl_status status = pdl_chain_build(with.mixed);
    status = status == PDL_SUCCESS ? pdl_chain_graph(with.mixed, &built) : status;
    return status == PDL_SUCCESS ? pdl_graph_census(built, (void *)with.out.bytes) : status;)
RUN(pdl_graph_census, graph_census, (.size = sizeof(pdl_census)),
    return pdl_graph_census(with.graph, (void *)with.out.bytes);)
RUN(pdl_graph_census, graph_census_listed, (.size = sizeof(pdl_census)),
    static pdl_full_dependency listed[4];
    pdl_census *census = (void *)with.out.bytes; census->full_dependencies = listed;
    census->full_capacity = 4; const pdl_status status = pdl_graph_census(with.graph, census);
    assert_true(status != PDL_SUCCESS || census->full_count == 1); census->full_dependencies = NULL;
    census->full_capacity = 0; return status;)
RUN(pdl_graph_add_launch, graph_add_launch, (),
    pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    desc.priority = -1; return pdl_graph_add_launch(with.graph, with.edges, 20, with.kernel, &desc,
                                                    VALUES(values), &with.out.node);)
/* Behind a node that is not the library's and overlaps. */
RUN(pdl_graph_add_launch, graph_add_behind, (),
    const pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    suspend(); const pdl_edge edge = {.node = mock_add_node(with.graph, CU_GRAPH_NODE_TYPE_KERNEL),
                                      .kind = PDL_EDGE_PROGRAMMATIC};
    edge.node->params.function = mock_function(1, 0);
    mock_add_edge(with.edges[0].node, edge.node, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, 1);
    resume(); return pdl_graph_add_launch(with.graph, &edge, 1, with.kernel, &desc, VALUES(values),
                                          &with.out.node);)
RUN(pdl_device_get, device_get, (.size = sizeof(pdl_device_info), .old_driver = true),
    return pdl_device_get(-1, (void *)with.out.bytes);)
RUN(pdl_kernel_destroy, kernel_destroy, (.old_driver = true), pdl_kernel_destroy(with.kernel);
    with.kernel = NULL; return PDL_SUCCESS;)
static struct bytes fatbin;
RUN(pdl_image_load_file, image_load_file, (.undo = undo_image, .old_driver = true),
    return pdl_image_load_file(image_path, &with.out.image);)
RUN(pdl_image_load, image_load, (.undo = undo_image, .old_driver = true),
    return pdl_image_load(fatbin.data, fatbin.size, &with.out.image);)
/* The code does not wait, and every successful call has to know that. */
RUN(pdl_image_kernel, image_kernel_of_fatbin, (.undo = undo_kernel, .old_driver = true),
    const pdl_status status = kernel_from_image(fatbin.data, fatbin.size, "fc2", &with.out.kernel);
    assert_true(status != PDL_SUCCESS || pdl_known_waits(with.out.kernel->known) == PDL_NO);
    return status;)
RUN(pdl_image_kernel, image_kernel, (.undo = undo_kernel, .old_driver = true),
    return kernel_from_image(image, sizeof(image), "fc1", &with.out.kernel);)
RUN(pdl_kernel_from_function, kernel_from_function, (.undo = undo_kernel, .old_driver = true),
    return pdl_kernel_from_function(mock_function(0, 0), NULL, &with.out.kernel);)
RUN(pdl_kernel_from_kernel, kernel_from_kernel, (.undo = undo_kernel, .old_driver = true),
    return pdl_kernel_from_kernel(mock_cu_kernel(0), NULL, &with.out.kernel);)
RUN(pdl_kernel_from_function, function_with_image, (.undo = undo_kernel, .old_driver = true),
    return kernel_from_function_image(mock_function(0, 0), image, sizeof(image), &with.out.kernel);)
RUN(pdl_kernel_from_kernel, kernel_with_image, (.undo = undo_kernel, .old_driver = true),
    return kernel_from_kernel_image(mock_cu_kernel(0), image, sizeof(image), &with.out.kernel);)
RUN(pdl_kernel_from_runtime, kernel_from_runtime, (.undo = undo_kernel, .old_driver = true),
    return pdl_kernel_from_runtime(&mock.kernels[0], &mock_runtime_ops, &with.out.kernel);)
RUN(pdl_kernel_check_args, kernel_check_args, (.old_driver = true),
    return pdl_kernel_check_args(with.kernel, value_sizes, 2);)
RUN(pdl_kernel_prove, kernel_prove, (.old_driver = true),
    return pdl_kernel_prove(with.kernel, -1, (void *)with.out.bytes);)
RUN(pdl_kernel_get, kernel_get, (.size = sizeof(pdl_kernel_info), .old_driver = true),
    return get_info(with.kernel);)
RUN(pdl_kernel_get, function_get, (.size = sizeof(pdl_kernel_info), .old_driver = true),
    return of_new(false, get_info);)
RUN(pdl_kernel_set_attribute, kernel_set_attribute, (.old_driver = true),
    return raise_limit(with.kernel);)
RUN(pdl_kernel_set_attribute, function_set_attribute, (.old_driver = true),
    return of_new(false, raise_limit);)
/* Where the device is the stream's, and whether it captures is asked. */
RUN(pdl_launch, launch_while_capturing, (.old_driver = true),
    pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    const pdl_policy capture_only = {.size = sizeof(capture_only), .capture_only = 1};
    desc.stream = mock_stream(1, 0); suspend(); (void)pdl_policy_set(&capture_only); resume();
    const pdl_status status = launch(with.kernel, desc); suspend(); (void)pdl_policy_set(NULL);
    resume(); return status;)
RUN(pdl_launch, launch, (.old_driver = true), return launch_fully(with.kernel);)
RUN(pdl_launch, launch_again, (.old_driver = true), return launch_fully(with.used);)
RUN(pdl_launch, launch_cooperative, (.old_driver = true),
    return launch(with.kernel, DESC(.cooperative = 1));)
RUN(pdl_launch, launch_cluster, (.old_driver = true),
    return launch(with.kernel, DESC(.cluster = {2}));)
RUN(pdl_launch, launch_event, (.old_driver = true),
    return launch(with.kernel, DESC(.trigger_event = with.event));)
RUN(pdl_launch, launch_symbol, (.old_driver = true, .symbol = true),
    return of_new(true, launch_fully);)
RUN(pdl_launch, launch_plain_symbol, (.old_driver = true, .symbol = true),
    return of_new(true, launch_twice);)
RUN(pdl_launch, launch_nameless, (.old_driver = true, .symbol = true),
    return of_new(true, launch_nameless);)
/* The log looks at the node before. */
RUN(
    pdl_launch, launch_captured, (), suspend();
    (void)mock_add_node(with.graph, CU_GRAPH_NODE_TYPE_EMPTY); resume();
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    pdl_status status = pdl_kernel_declare(with.kernel, PDL_NO, PDL_NO);
    if (status == PDL_SUCCESS) {
        status = launch(with.kernel, DESC(.stream = mock_stream(0, 0)));
    } return status == PDL_SUCCESS
        ? pdl_kernel_get(with.kernel, -1, &info)
        : status;)
RUN(pdl_launch_explain, launch_explain, (.size = sizeof(pdl_launch_report), .old_driver = true),
    pdl_launch_desc desc = full_desc();
    return pdl_launch_explain(with.kernel, &desc, (void *)with.out.bytes);)
RUN(pdl_launch_occupancy, launch_occupancy, (.size = sizeof(pdl_occupancy), .old_driver = true),
    const pdl_launch_desc desc = DESC(.cluster = {2});
    return pdl_launch_occupancy(with.kernel, &desc, (void *)with.out.bytes);)
RUN(pdl_overlap_query, overlap_query, (.size = sizeof(pdl_overlap_report), .old_driver = true),
    const pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    return pdl_overlap_query(with.used, &desc, with.kernel, &desc, -1, (void *)with.out.bytes);)

/* A policy stays, on purpose. */
static void undo_policy(void)
{
    const struct pdl_policies *const kept = pdl_policy_now();
    forget(kept);
    forget(kept->exclude);
}
RUN(pdl_policy_set, policy_set, (.undo = undo_policy, .old_driver = true),
    const pdl_policy policy = {.size = sizeof(policy), .exclude = "fc7:fc8"};
    return pdl_policy_set(&policy);)

int make_image_file(void **state)
{
    (void)state;
    const int file = mkstemp(image_path);
    fatbin = make_fatbin(MADE_PTX, 90, image, sizeof(image));
    const bool good = file >= 0 && write(file, image, sizeof(image)) == (ssize_t)sizeof(image);
    return file < 0 || close(file) != 0 || !good;
}

int remove_image_file(void **state)
{
    (void)state;
    bytes_free(&fatbin);
    return unlink(image_path);
}
