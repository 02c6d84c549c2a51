/* SPDX-License-Identifier: MIT */
/* Every public function while something fails: each allocation in turn, then each call of the driver
 * with several results. It reports what failed, leaves its outputs alone, loses nothing, and works
 * when it is called again. If it succeeds, the last error is the one before. */
#include <pdl/overlap.h>
#include <pdl/policy.h>
#include <unistd.h>

#include "../../inspect/make_image.h"
#include "code/object.h"
#include "from_image.h"
#include "graph_support.h"
#include "launch/kernel.h"
#include "mock_entry.h"
#include "soak.h"

/* ---- allocations ------------------------------------------------------------------------------- */

static bool is_watching;      /* allocations are those of the library */
static unsigned fail_at;      /* the n-th from now fails; 0: none */
static unsigned failed_count; /* of them */
static void *live[65536];
static unsigned live_count;

static void *note(void *memory)
{
    if (is_watching && !mock_is_inside && memory != NULL) {
        assert_true(live_count < COUNT_OF(live));
        live[live_count++] = memory;
    }
    return memory;
}

static void forget(const void *memory)
{
    for (unsigned i = live_count; memory != NULL && i-- > 0;) {
        if (live[i] == memory) {
            live[i] = live[--live_count];
            return;
        }
    }
}

static bool fails(void)
{
    if (!is_watching || mock_is_inside || fail_at == 0 || --fail_at != 0) {
        return false;
    }
    failed_count++;
    return true;
}

/* The linker gives calls of malloc() to __wrap_malloc(), and __real_malloc() is the C library's. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *memory);

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : note(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : note(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
    if (fails()) {
        return NULL;
    }
    forget(memory);
    return note(__real_realloc(memory, size));
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : note(__real_strdup(text));
}

void __wrap_free(void *memory)
{
    forget(memory);
    __real_free(memory);
}

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

/* Made anew for each attempt. */
static struct {
    pdl_kernel *used;   /* in the chains */
    pdl_kernel *kernel; /* of which nothing is known yet */
    pdl_chain *chain;   /* of 20 links, not built */
    pdl_chain *built;
    pdl_chain *mixed; /* of every kind of node, not built */
    CUgraph graph;    /* with 20 nodes, and a 21st that depends on one of them in full */
    pdl_edge edges[20];
    CUevent event;
    union { /* what a function writes */
        unsigned char bytes[8192];
        uint32_t size;
        pdl_kernel *kernel;
        pdl_chain *chain;
        pdl_image *image;
        CUgraph graph;
        CUgraphNode node;
        uint32_t number;
    } out;
} with;

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

static void open_fixture(int version, int devices)
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

static void close_fixture(void)
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

/* How a function is called, and how what it made is destroyed. */
struct row {
    const char *function;
    pdl_status (*run)(void);
    void (*undo)(void);
    uint32_t size;   /* of the struct that it fills; 0: none */
    bool old_driver; /* runs on one without graphs, too */
};

static struct row rows[128];
static size_t row_count;

/* Adds a row: the function, the row's name, its other members, and what it does. */
#define LIST(...) __VA_ARGS__
#define RUN(function_, name, members, ...)                                                         \
    static pdl_status run_##name(void)                                                             \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }                                                                                              \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        rows[row_count++] = (struct row){.function = #function_, .run = run_##name, LIST members}; \
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
RUN(pdl_chain_explain, chain_explain, (.size = sizeof(pdl_chain_report)),
    return pdl_chain_explain(with.chain, 19, (void *)with.out.bytes);)
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
RUN(pdl_chain_add_node, chain_add_node, (),
    const pdl_chain_node node = node_of_kind(PDL_NODE_MEMSET);
    return pdl_chain_add_node(with.built, &node, &with.out.number);)
RUN(pdl_chain_add_node, chain_add_graph, (), const pdl_chain_node node = graph_node();
    return pdl_chain_add_node(with.built, &node, &with.out.number);)
RUN(pdl_chain_add_node, chain_add_if, (), pdl_chain_node node = node_of_kind(PDL_NODE_IF);
    node.bodies = mock.table.version < 12080 ? 1 : 2;
    return pdl_chain_add_node(with.built, &node, &with.out.number);)
RUN(pdl_chain_add_node, chain_add_switch, (), pdl_chain_node node = node_of_kind(PDL_NODE_SWITCH);
    node.kind = mock.table.version < 12080 ? PDL_NODE_IF : PDL_NODE_SWITCH;
    node.bodies = mock.table.version < 12080 ? 1 : 3;
    return pdl_chain_add_node(with.built, &node, &with.out.number);)
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
RUN(pdl_chain_build, chain_build_nodes, (), return pdl_chain_build(with.mixed);)
RUN(pdl_graph_census, chain_census, (.size = sizeof(pdl_census)), CUgraph built = NULL;
    pdl_status status = pdl_chain_build(with.mixed);
    status = status == PDL_SUCCESS ? pdl_chain_graph(with.mixed, &built) : status;
    return status == PDL_SUCCESS ? pdl_graph_census(built, (void *)with.out.bytes) : status;)
RUN(pdl_chain_set_node, chain_set_node, (),
    const pdl_chain_node node = node_of_kind(PDL_NODE_MEMSET);
    const pdl_status built = pdl_chain_build(with.mixed);
    return built == PDL_SUCCESS ? pdl_chain_set_node(with.mixed, 1, &node) : built;)
RUN(pdl_chain_explain, chain_explain_node, (.size = sizeof(pdl_chain_report)),
    return pdl_chain_explain(with.mixed, 1, (void *)with.out.bytes);)
RUN(pdl_chain_explain, chain_explain_behind, (.size = sizeof(pdl_chain_report)),
    return pdl_chain_explain(with.mixed, 6, (void *)with.out.bytes);)
RUN(pdl_device_get, device_current, (.size = sizeof(pdl_device_info), .old_driver = true),
    return pdl_device_get(-1, (void *)with.out.bytes);)
RUN(pdl_device_get, device_get, (.size = sizeof(pdl_device_info), .old_driver = true),
    return pdl_device_get(0, (void *)with.out.bytes);)
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
RUN(pdl_graph_census, graph_census, (.size = sizeof(pdl_census)),
    return pdl_graph_census(with.graph, (void *)with.out.bytes);)
RUN(pdl_graph_census, graph_census_listed, (.size = sizeof(pdl_census)),
    static pdl_full_dependency listed[4];
    pdl_census *census = (void *)with.out.bytes; census->full_dependencies = listed;
    census->full_capacity = 4; const pdl_status status = pdl_graph_census(with.graph, census);
    assert_true(status != PDL_SUCCESS || census->full_count == 1); census->full_dependencies = NULL;
    census->full_capacity = 0; return status;)
RUN(pdl_kernel_destroy, kernel_destroy, (.old_driver = true), pdl_kernel_destroy(with.kernel);
    with.kernel = NULL; return PDL_SUCCESS;)
static struct bytes fatbin;
RUN(pdl_image_load_file, image_load_file, (.undo = undo_image, .old_driver = true),
    return pdl_image_load_file(image_path, &with.out.image);)
RUN(pdl_image_load, image_load, (.undo = undo_image, .old_driver = true),
    return pdl_image_load(fatbin.data, fatbin.size, &with.out.image);)
RUN(pdl_kernel_from_function, kernel_from_function, (.undo = undo_kernel, .old_driver = true),
    return pdl_kernel_from_function(mock_function(0, 0), NULL, &with.out.kernel);)
/* The code does not wait, and every successful call has to know that. */
RUN(pdl_image_kernel, image_kernel_of_fatbin, (.undo = undo_kernel, .old_driver = true),
    const pdl_status status = kernel_from_image(fatbin.data, fatbin.size, "fc2", &with.out.kernel);
    assert_true(status != PDL_SUCCESS || pdl_known_waits(with.out.kernel->known) == PDL_NO);
    return status;)
RUN(pdl_image_kernel, image_kernel, (.undo = undo_kernel, .old_driver = true),
    return kernel_from_image(image, sizeof(image), "fc1", &with.out.kernel);)
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
RUN(pdl_kernel_get, kernel_get, (.size = sizeof(pdl_kernel_info), .old_driver = true),
    return pdl_kernel_get(with.kernel, -1, (void *)with.out.bytes);)
RUN(pdl_kernel_prove, kernel_prove, (.old_driver = true),
    return pdl_kernel_prove(with.kernel, -1, (void *)with.out.bytes);)
RUN(pdl_kernel_set_attribute, kernel_set_attribute, (.old_driver = true),
    return pdl_kernel_set_attribute(with.kernel, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY, 65536);)
RUN(
    pdl_kernel_get, function_get, (.size = sizeof(pdl_kernel_info), .old_driver = true),
    pdl_kernel *kernel = NULL;
    pdl_status status = pdl_kernel_from_function(mock_function(0, 0), NULL, &kernel);
    if (status == PDL_SUCCESS) {
        status = pdl_kernel_get(kernel, -1, (void *)with.out.bytes);
    } pdl_kernel_destroy(kernel);
    return status;)
RUN(
    pdl_kernel_set_attribute, function_set_attribute, (.old_driver = true),
    pdl_kernel *kernel = NULL;
    pdl_status status = pdl_kernel_from_function(mock_function(0, 0), NULL, &kernel);
    if (status == PDL_SUCCESS) {
        status = pdl_kernel_set_attribute(kernel, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY, 65536);
    } pdl_kernel_destroy(kernel);
    return status;)
/* Where the device is the stream's, and whether it captures is asked. */
RUN(pdl_launch, launch_while_capturing, (.old_driver = true),
    pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    const pdl_policy capture_only = {.size = sizeof(capture_only), .capture_only = 1};
    desc.stream = mock_stream(1, 0); suspend(); (void)pdl_policy_set(&capture_only); resume();
    const pdl_status status = pdl_launch(with.kernel, &desc, VALUES(values)); suspend();
    (void)pdl_policy_set(NULL); resume(); return status;)
RUN(pdl_launch, launch, (.old_driver = true), const pdl_launch_desc desc = full_desc();
    return pdl_launch(with.kernel, &desc, VALUES(values));)
RUN(pdl_launch, launch_again, (.old_driver = true), const pdl_launch_desc desc = full_desc();
    return pdl_launch(with.used, &desc, VALUES(values));)
RUN(pdl_launch, launch_cooperative, (.old_driver = true), pdl_launch_desc desc = plain_desc();
    desc.cooperative = 1; return pdl_launch(with.kernel, &desc, VALUES(values));)
RUN(pdl_launch, launch_cluster, (.old_driver = true), pdl_launch_desc desc = plain_desc();
    desc.cluster[0] = 2; return pdl_launch(with.kernel, &desc, VALUES(values));)
RUN(pdl_launch, launch_event, (.old_driver = true), pdl_launch_desc desc = plain_desc();
    desc.trigger_event = with.event; return pdl_launch(with.kernel, &desc, VALUES(values));)
RUN(
    pdl_launch, launch_symbol, (.old_driver = true), const pdl_launch_desc desc = full_desc();
    pdl_kernel *kernel = NULL;
    pdl_status status = pdl_kernel_from_runtime(&mock.kernels[0], &mock_runtime_ops, &kernel);
    if (status == PDL_SUCCESS) {
        status = pdl_launch(kernel, &desc, VALUES(values));
    } pdl_kernel_destroy(kernel);
    return status;)
RUN(
    pdl_launch, launch_plain_symbol, (.old_driver = true),
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = NULL;
    pdl_status status = pdl_kernel_from_runtime(&mock.kernels[0], &mock_runtime_ops, &kernel);
    if (status == PDL_SUCCESS) {
        status = pdl_launch(kernel, &desc, VALUES(values));
    } if (status == PDL_SUCCESS) {
        status = pdl_launch(kernel, &desc, VALUES(values)); /* by the driver */
    } pdl_kernel_destroy(kernel);
    return status;)
/* The log looks at the node before, and asks for a name that the Runtime does not find any more. */
RUN(
    pdl_launch, launch_captured, (), pdl_launch_desc desc = plain_desc(); suspend();
    (void)mock_add_node(with.graph, CU_GRAPH_NODE_TYPE_EMPTY); resume();
    desc.stream = mock_stream(0, 0); pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    pdl_status status = pdl_kernel_declare(with.kernel, PDL_NO, PDL_NO);
    if (status == PDL_SUCCESS) {
        status = pdl_launch(with.kernel, &desc, VALUES(values));
    } return status == PDL_SUCCESS
        ? pdl_kernel_get(with.kernel, -1, &info)
        : status;)
RUN(
    pdl_launch, launch_nameless, (.old_driver = true), pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = NULL;
    pdl_status status = pdl_kernel_from_runtime(&mock.kernels[0], &mock_runtime_ops, &kernel);
    for (uint32_t i = 0; i < 3 && status == PDL_SUCCESS; i++) {
        status = pdl_launch(kernel, &desc, VALUES(values));
        if (status == PDL_SUCCESS) {
            mock_runtime_function_result = 209;
            desc.overlap = PDL_OVERLAP_AUTO;
            status = pdl_kernel_declare(kernel, i != 0 ? PDL_YES : PDL_NO, PDL_UNKNOWN);
        }
    } mock_runtime_function_result = 0;
    pdl_kernel_destroy(kernel); return status;)
RUN(pdl_launch_explain, launch_explain, (.size = sizeof(pdl_launch_report), .old_driver = true),
    pdl_launch_desc desc = full_desc();
    return pdl_launch_explain(with.kernel, &desc, (void *)with.out.bytes);)
RUN(pdl_launch_occupancy, launch_occupancy, (.size = sizeof(pdl_occupancy), .old_driver = true),
    pdl_launch_desc desc = plain_desc();
    desc.cluster[0] = 2; return pdl_launch_occupancy(with.kernel, &desc, (void *)with.out.bytes);)
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
/* These neither allocate nor call the driver. */
static const char *const others[] = {
    "pdl_condition_name", "pdl_error_record", "pdl_image_free",
    "pdl_kernel_declare", "pdl_last_error",   "pdl_proof_missing",
    "pdl_reason_string",  "pdl_status_name",  "pdl_version",
};

static bool is_known(const char *function)
{
    bool known = false;
    for (size_t i = 0; i < row_count; i++) {
        known = known || strcmp(rows[i].function, function) == 0;
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        known = known || strcmp(others[i], function) == 0;
    }
    return known;
}

PLAIN_TEST(every_public_function_has_a_row)
{
    char line[256];
    unsigned count = 0;
    FILE *map = fopen(PDL_TEST_MAP, "r");
    assert_non_null(map);
    while (fgets(line, sizeof(line), map) != NULL) {
        char function[256];
        if (sscanf(line, " %255[a-z_];", function) == 1 && strncmp(function, "pdl_", 4) == 0) {
            if (!is_known(function)) {
                fail_msg("%s is in " PDL_TEST_MAP " and in neither table", function);
            }
            count++;
        }
    }
    assert_int_equal(fclose(map), 0);
    assert_true(count > 40);
}

/* ---- attempts --------------------------------------------------------------------------------------- */

static bool is_symbol(const struct row *row)
{
    return row->run == run_launch_symbol || row->run == run_launch_plain_symbol ||
           row->run == run_launch_nameless;
}

/* Calls that the library can do without, or whose failure nobody could act on. */
static bool may_fail_quietly(const struct row *row, const char *call)
{
    static const char *const any[] = {"cuFuncGetName",      "cuKernelGetName", "cuLibraryUnload",
                                      "cuEventDestroy",     "cuGraphDestroy",  "cuGraphExecDestroy",
                                      "cuGraphDestroyNode", "cuCtxPopCurrent"};
    for (size_t i = 0; i < COUNT_OF(any); i++) {
        if (strcmp(any[i], call) == 0) {
            return row->run != run_chain_capture_child || strcmp(call, "cuGraphDestroyNode") != 0;
        }
    }
    /* Then the launch does not overlap. */
    if (strcmp(call, "cuStreamIsCapturing") == 0) {
        return true;
    }
    /* What a census says of a dependency that it lists is as much as can be learnt. */
    if (row->run == run_graph_census_listed && (strncmp(call, "cuGraphKernelNodeGet", 20) == 0 ||
                                                strcmp(call, "cuFuncGetAttribute") == 0)) {
        return true;
    }
    /* What the log cannot learn. */
    if ((row->run == run_launch_captured || row->run == run_launch_while_capturing) &&
        (strncmp(call, "cuGraph", 7) == 0 || strcmp(call, "cuStreamGetCaptureInfo") == 0)) {
        return true;
    }
    /* The Runtime launches what the driver cannot. */
    if (is_symbol(row) &&
        (strcmp(call, "cuCtxGetId") == 0 || strcmp(call, "cuLaunchKernelEx") == 0)) {
        return true;
    }
    /* Asked again: the Runtime may make a context in between. */
    return is_symbol(row) && strcmp(call, "cuCtxGetDevice") == 0;
}

/* What the attempt is about, for a failure's message. */
static char about[256];

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fail_msg("%s: %s is wrong; last error: %s", about, #condition,                         \
                     pdl_last_error()->message);                                                   \
        }                                                                                          \
    } while (0)

static unsigned long successes; /* after which the last error was what it was before */

static pdl_status attempt(const struct row *row, bool *untouched)
{
    static unsigned char before[sizeof(with.out)];
    mark_last_error();
    memset(&with.out, 0x5a, sizeof(with.out));
    if (row->size != 0) {
        memset(&with.out, 0, row->size);
        with.out.size = row->size;
    }
    memcpy(before, &with.out, sizeof(before));
    is_watching = true;
    const pdl_status status = row->run();
    is_watching = false;
    CHECK(status != PDL_SUCCESS || is_last_error_marked());
    successes += status == PDL_SUCCESS;
    /* The report of a launch says why it would fail. */
    *untouched =
        row->run == run_launch_explain || memcmp(before, with.out.bytes, sizeof(before)) == 0;
    return status;
}

/* After a failure that happened once: the next call works, and nothing is left of either. */
static void finish(const struct row *row, pdl_status status)
{
    bool untouched = false;
    if (status != PDL_SUCCESS) {
        status = attempt(row, &untouched);
        CHECK(status == PDL_SUCCESS);
    }
    if (row->undo != NULL) {
        row->undo();
    }
    close_fixture();
    is_watching = true; /* what was read of the program is kept */
    pdl_object_forget();
    is_watching = false;
    struct mock_live left;
    mock_count_live(&left);
    CHECK(live_count == 0);
    CHECK(left.libraries == 0 && left.graphs == 0 && left.nodes == 0 && left.execs == 0);
    CHECK(left.events == 0 && left.contexts == 0);
    CHECK(mock.misuse[0] == '\0');
}

static const struct {
    int version;
    int devices;
} drivers[] = {{MOCK_VERSION, 1}, {12080, 2}, {12040, 2}, {12000, 1}};

static bool is_for(const struct row *row, int version)
{
    return row->old_driver || version >= 12040;
}

GRAPH_TEST(memory_that_runs_out_is_reported_and_nothing_is_lost)
{
    unsigned most = 0;
    for (size_t i = 0; i < row_count * COUNT_OF(drivers); i++) {
        const struct row *row = &rows[i % row_count];
        const int version = drivers[i / row_count].version;
        bool more = is_for(row, version);
        for (unsigned k = 1; more; k++) {
            bool untouched = false;
            (void)snprintf(about, sizeof(about), "%s, row %zu, driver %d, allocation %u fails",
                           row->function, i % row_count, version, k);
            open_fixture(version, drivers[i / row_count].devices);
            failed_count = 0;
            fail_at = k;
            const pdl_status status = attempt(row, &untouched);
            fail_at = 0;
            more = failed_count > 0;
            CHECK(status == PDL_SUCCESS || (more && status == PDL_ERROR_OUT_OF_MEMORY));
            CHECK(status == PDL_SUCCESS || untouched);
            CHECK(status == PDL_SUCCESS || pdl_last_error()->status == status);
            most = k > most ? k : most;
            finish(row, status);
        }
    }
    assert_true(most > 4); /* it does fail */
}

/* Every entry of the driver's table, and how often it failed. */
static struct {
    const char *name;
    unsigned failed;
} entries[] = {
#define ENTRY_(name, version) {#name, 0},
    PDL_DRIVER_ENTRIES(ENTRY_, ENTRY_)
#undef ENTRY_
};

/* Called before the table is there: unit.driver_errors makes them fail. Without a context's resources the device's
 * count: unit.green. */
static bool fails_elsewhere(const char *entry)
{
    static const char *const names[] = {"cuInit", "cuDriverGetVersion", "cuDeviceGetCount",
                                        "cuGetErrorName", "cuCtxGetDevResource"};
    bool elsewhere = false;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        elsewhere = elsewhere || strcmp(names[i], entry) == 0;
    }
    return elsewhere;
}

GRAPH_TEST(a_driver_call_that_fails_is_reported_and_nothing_is_lost)
{
    static const CUresult results[] = {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_INVALID_VALUE,
                                       CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_NOT_SUPPORTED,
                                       CUDA_ERROR_NOT_READY};
    unsigned most = 0;
    for (size_t i = 0; i < row_count * COUNT_OF(drivers) * COUNT_OF(results); i++) {
        const struct row *row = &rows[i % row_count];
        const size_t driver = i / row_count % COUNT_OF(drivers);
        const int version = drivers[driver].version;
        const CUresult result = results[i / row_count / COUNT_OF(drivers)];
        bool more = is_for(row, version);
        for (unsigned k = 1; more; k++) {
            const char *call = NULL;
            bool untouched = false;
            open_fixture(version, drivers[driver].devices);
            (void)snprintf(about, sizeof(about), "%s, row %zu, driver %d, call %u returns %d",
                           row->function, i % row_count, version, k, (int)result);
            const unsigned long before = mock_failures(NULL, NULL);
            mock.fail_any_at = k;
            mock.fail_any_with = result;
            const pdl_status status = attempt(row, &untouched);
            more = mock.fail_any_at == 0;
            mock.fail_any_at = 0;
            const bool failed = mock_failures(&call, NULL) > before;
            for (size_t e = 0; failed && e < COUNT_OF(entries); e++) {
                entries[e].failed += strcmp(entries[e].name, call) == 0;
            }
            if (failed) {
                (void)snprintf(about + strlen(about), sizeof(about) - strlen(about), " from %s",
                               call);
            }
            if (!failed || may_fail_quietly(row, call)) {
                CHECK(status == PDL_SUCCESS);
            } else {
                CHECK(status != PDL_SUCCESS && pdl_last_error()->status == status);
                CHECK(pdl_last_error()->cuda_result == (int32_t)result);
                CHECK(pdl_last_error()->call != NULL && strcmp(pdl_last_error()->call, call) == 0);
                CHECK(untouched);
            }
            most = k > most ? k : most;
            finish(row, status);
        }
    }
    assert_true(most > 20);
    unsigned failures = 0;
    unsigned missing = 0;
    for (size_t e = 0; e < COUNT_OF(entries); e++) {
        failures += entries[e].failed;
        if (entries[e].failed == 0 && !fails_elsewhere(entries[e].name)) {
            print_error("%s never fails\n", entries[e].name);
            missing++;
        }
    }
    print_message("%u failures of %zu entries\n", failures, COUNT_OF(entries));
    assert_int_equal(missing, 0);
}

/* Both again with a log, which asks for more than launches do, and a policy, which asks for names. */
GRAPH_TEST(success_leaves_the_last_error_alone)
{
    assert_int_equal(setenv("PDL_LOG", "/dev/null", 1), 0);
    (void)atomic_fetch_or(&pdl_gate_special, (unsigned)(PDL_GATE_LOG | PDL_GATE_POLICY));
    memory_that_runs_out_is_reported_and_nothing_is_lost();
    a_driver_call_that_fails_is_reported_and_nothing_is_lost();
    (void)atomic_fetch_and(&pdl_gate_special, ~(unsigned)(PDL_GATE_LOG | PDL_GATE_POLICY));
    print_message("%lu calls succeeded and left the last error as it was\n", successes);
    assert_true(successes > 2000);
}

GRAPH_TEST(what_cannot_fail_leaves_the_last_error_alone)
{
    open_fixture(MOCK_VERSION, 1);
    mark_last_error();
    for (int number = -100; number < 100; number++) {
        (void)pdl_condition_name((pdl_condition)number);
        (void)pdl_reason_string((pdl_reason)number);
        (void)pdl_status_name((pdl_status)number);
    }
    assert_true(pdl_version() != 0);
    assert_ok(pdl_kernel_declare(with.kernel, PDL_YES, PDL_UNKNOWN));
    assert_true(is_last_error_marked());
    close_fixture();
}

static int make_image_file(void **state)
{
    (void)state;
    const int file = mkstemp(image_path);
    fatbin = make_fatbin(MADE_PTX, 90, image, sizeof(image));
    const bool good = file >= 0 && write(file, image, sizeof(image)) == (ssize_t)sizeof(image);
    return file < 0 || close(file) != 0 || !good;
}

static int remove_image_file(void **state)
{
    (void)state;
    bytes_free(&fatbin);
    return unlink(image_path);
}

int main(void)
{
    mock_is_inside = pdl_last_error() ==
                     NULL; /* some compilers allocate a thread's own variables on first use */
    return run_all_tests(make_image_file, remove_image_file);
}
