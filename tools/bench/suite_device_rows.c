/* SPDX-License-Identifier: MIT */
/* Of the suite `device`: kernels in a row, by latency and by depth, and device graphs. */
#include "bench/suite_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/line.h"
#include "common/memory.h"

static double span_ns(unsigned long long from, unsigned long long to)
{
    return (double)(long long)(to - from);
}

/* ---- latency ------------------------------------------------------------------------------------ */

/* Graphs of one kernel each that kernels can launch, and the graph whose kernel launches them. */
struct device_graphs {
    CUgraphExec *items;
    size_t count;
    CUdeviceptr handles; /* of all items, for the parent */
};

/* One kernel's graph. */
static CUgraphExec make_graph(const char *kernel, void **args, bool from_device)
{
    CUgraph graph = NULL;
    CUgraphNode node = NULL;
    CUgraphExec exec = NULL;
    CUgraphNodeParams params = {
        .type = CU_GRAPH_NODE_TYPE_KERNEL,
        .kernel = {.func = gpu_function(IMAGE_DEVICE, kernel),
                   .gridDimX = 1,
                   .gridDimY = 1,
                   .gridDimZ = 1,
                   .blockDimX = 1,
                   .blockDimY = 1,
                   .blockDimZ = 1,
                   .kernelParams = args},
    };
    MUST(cu.cuGraphCreate(&graph, 0));
    MUST(cu.cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params));
    MUST(cu.cuGraphInstantiate(&exec, graph,
                               from_device ? CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH : 0));
    MUST(cu.cuGraphDestroy(graph));
    MUST(cu.cuGraphUpload(exec, gpu.stream));
    gpu_wait();
    return exec;
}

/* Number i runs stamped(i). */
static void make_graphs(struct device_graphs *graphs, size_t count)
{
    graphs->items = allocate(count, sizeof(*graphs->items));
    graphs->count = count;
    for (unsigned i = 0; i < count; i++) {
        unsigned ns = 0;
        void *args[] = {&device.state, &i, &ns};
        graphs->items[i] = make_graph("stamped", args, true);
    }
    graphs->handles = gpu_alloc(count * sizeof(*graphs->items));
    gpu_write(graphs->handles, graphs->items, count * sizeof(*graphs->items));
}

static void free_graphs(struct device_graphs *graphs)
{
    for (size_t i = 0; i < graphs->count; i++) {
        MUST(cu.cuGraphExecDestroy(graphs->items[i]));
    }
    free(graphs->items);
    gpu_free(graphs->handles);
    memset(graphs, 0, sizeof(*graphs));
}

/* The graph whose kernel launches `count` of them. */
static CUgraphExec make_parent(const struct device_graphs *graphs, unsigned count, int how,
                               int waits)
{
    CUdeviceptr handles = graphs->handles;
    void *args[] = {&device.state, &handles, &count, &how, &waits};
    return make_graph("launch_graphs", args, false);
}

static void run_graph(void *graph)
{
    MUST(cu.cuGraphLaunch(graph, gpu.stream));
}

/* How a row of kernels is launched: by a kernel, or as a line of the host's. */
struct row_way {
    const char *name;
    int how;            /* from the device, or -1 */
    enum line_way line; /* from the host */
    bool after_end;     /* the next one starts after the end of the one before */
};
static const struct row_way row_ways[] = {
    {"stream", -1, WAY_STREAM, true},
    {"stream-pdl", -1, WAY_STREAM_PDL, false},
    {"graph", -1, WAY_GRAPH, true},
    {"graph-pdl", -1, WAY_GRAPH_PDL, false},
    {"fire-and-forget", LAUNCH_FIRE, WAYS, false},
    {"device-stream", LAUNCH_STREAM, WAYS, false},
    {"tail", LAUNCH_TAIL, WAYS, true},
    {"graph-fire-and-forget", LAUNCH_GRAPH_FIRE, WAYS, false},
    {"graph-sibling", LAUNCH_GRAPH_SIBLING, WAYS, false},
    {"graph-tail", LAUNCH_GRAPH_TAIL, WAYS, true},
};
enum { ROW_WAYS = sizeof(row_ways) / sizeof(row_ways[0]), ROW = 9 };

/* A row of kernels ready to be run. */
struct rows {
    struct device_graphs graphs;
    CUgraphExec parents[ROW_WAYS];
    struct line *lines[ROW_WAYS];
    struct gpu_launch launches[ROW];
    unsigned numbers[ROW];
    unsigned ns;
    void *args[ROW][3];
};
static struct rows *rows;

static void begin_latency(struct bench_table *table)
{
    if (!device_begin(table, 0)) {
        return;
    }
    rows = allocate(1, sizeof(*rows));
    rows->ns = 8000; /* longer than any launch here takes */
    for (unsigned i = 0; i < ROW; i++) {
        rows->numbers[i] = i;
        rows->args[i][0] = &device.state;
        rows->args[i][1] = &rows->numbers[i];
        rows->args[i][2] = &rows->ns;
        rows->launches[i] =
            (struct gpu_launch){gpu_function(IMAGE_DEVICE, "stamped"), 1, 1, 0, rows->args[i]};
    }
    make_graphs(&rows->graphs, ROW);
    for (size_t i = 0; i < ROW_WAYS; i++) {
        const struct row_way *const way = &row_ways[i];
        if (way->how < 0) {
            rows->lines[i] = line_make(way->line, rows->launches, ROW, 1, NULL);
        } else if (way->how >= LAUNCH_GRAPH_FIRE) {
            rows->parents[i] =
                make_parent(&rows->graphs, ROW, way->how, way->how != LAUNCH_GRAPH_TAIL);
        }
    }
}

static void end_latency(struct bench_table *table)
{
    if (rows != NULL) {
        gpu_wait();
        for (size_t i = 0; i < ROW_WAYS; i++) {
            line_free(rows->lines[i]);
            if (rows->parents[i] != NULL) {
                MUST(cu.cuGraphExecDestroy(rows->parents[i]));
            }
        }
        free_graphs(&rows->graphs);
        free(rows);
        rows = NULL;
    }
    device_end(table);
}

static void run_row(void *context)
{
    const struct row_way *const *const way = context;
    const size_t index = (size_t)(*way - row_ways);
    unsigned count = ROW;
    int how = (*way)->how;
    void *args[] = {&device.state, &count, &how};
    const struct gpu_launch launch = {gpu_function(IMAGE_DEVICE, "launch_row"), 1, 1, 0, args};
    if (rows->lines[index] != NULL) {
        line_run(rows->lines[index]);
    } else if (rows->parents[index] != NULL) {
        run_graph(rows->parents[index]);
    } else {
        gpu_launch(&launch, gpu.stream, false);
    }
}

/* From what lets number i start, to its first instruction, ns. */
static double latency_of(const struct row_way *way, const struct device_state *state, unsigned i)
{
    if (way->after_end) {
        return span_ns(i > 0 ? state->end[i - 1] : state->parent_end, state->start[i]);
    }
    return span_ns(way->how < 0 ? state->trigger[i - 1] : state->call[i], state->start[i]);
}

static void measure_latency(struct bench_point *point, double *values)
{
    const struct row_way *way = point->config;
    const unsigned first = way->how < 0; /* the first of a line was launched by the host */
    struct device_state state;
    double sum = 0;
    double calls = 0;
    device_clear();
    (void)device_time(run_row, &way);
    device_read(&state);
    if (!device_all_ran(point, &state, ROW)) {
        return;
    }
    for (unsigned i = first + 1; i < ROW; i++) {
        sum += latency_of(way, &state, i);
        calls += span_ns(state.call[i], state.returned[i]);
    }
    values[0] = latency_of(way, &state, first);
    values[1] = sum / (ROW - first - 1);
    values[2] = way->how < 0 ? NAN : calls / (ROW - first - 1);
}

static void declare_latency(struct bench *bench)
{
    static const struct bench_spec spec = {
        .name = "latency",
        .title = "from a launch to the kernel's first instruction",
        .note = "By %globaltimer, nine kernels in a row. From before the call (device: "
                "fire-and-forget, siblings and streams; host, with PDL: the trigger) or from the "
                "end of what the kernel has to wait for (tail, and the host's lines without PDL). "
                "`initial` is the first one of a kernel or line, `subsequent` the mean of the "
                "others, each launched when the one before had started; `call` is what the call "
                "takes the thread.",
        .axes = {"way"},
        .metrics = {{.name = "initial", .unit = "ns", .tolerance = 0.1},
                    {.name = "subsequent", .unit = "ns", .tolerance = 0.1},
                    {.name = "call", .unit = "ns", .tolerance = 0.1}},
        .rounds = 31,
        .begin = begin_latency,
        .check = device_check,
        .measure = measure_latency,
        .end = end_latency,
    };
    struct bench_table *const table = bench_table_add(bench, &spec);
    for (size_t i = 0; i < ROW_WAYS; i++) {
        (void)bench_point_add(table, i > 0 ? table->items[0] : NULL, &row_ways[i],
                              &row_ways[i].name);
    }
}

/* ---- depth -------------------------------------------------------------------------------------- */

enum depth_way { DEPTH_STREAM, DEPTH_GRAPH, DEPTH_FIRE, DEPTH_TAIL, DEPTH_GRAPH_TAIL, DEPTH_WAYS };
struct depth {
    enum depth_way way;
    unsigned depth;
};
enum { DEPTHS = 5, DEEPEST = 256, DEPTH_POINTS = DEPTHS * DEPTH_WAYS };
static const unsigned depths[DEPTHS] = {1, 8, 24, 64, DEEPEST};

/* The lines and graphs that stand for the host's ways, and the graph that launches itself. */
static struct {
    struct gpu_launch launches[DEEPEST + 1];
    unsigned numbers[DEEPEST + 1], ns;
    void *args[DEEPEST + 1][3];
    struct line *lines[DEPTH_WAYS][DEPTHS];
    CUgraphExec self[DEPTHS];
} deep;

static void begin_depth(struct bench_table *table)
{
    if (!device_begin(table, 0)) {
        return;
    }
    for (unsigned i = 0; i <= DEEPEST; i++) {
        deep.numbers[i] = i;
        deep.args[i][0] = &device.state;
        deep.args[i][1] = &deep.numbers[i];
        deep.args[i][2] = &deep.ns;
        deep.launches[i] =
            (struct gpu_launch){gpu_function(IMAGE_DEVICE, "stamped"), 1, 1, 0, deep.args[i]};
    }
    for (size_t i = 0; i < DEPTHS; i++) {
        unsigned count = depths[i] + 1;
        void *args[] = {&device.state, &count};
        deep.lines[DEPTH_STREAM][i] = line_make(WAY_STREAM, deep.launches, count, 1, NULL);
        deep.lines[DEPTH_GRAPH][i] = line_make(WAY_GRAPH, deep.launches, count, 1, NULL);
        deep.self[i] = make_graph("launch_self", args, true);
    }
}

static void end_depth(struct bench_table *table)
{
    for (size_t i = 0; i < DEPTHS; i++) {
        if (deep.self[i] != NULL) {
            line_free(deep.lines[DEPTH_STREAM][i]);
            line_free(deep.lines[DEPTH_GRAPH][i]);
            MUST(cu.cuGraphExecDestroy(deep.self[i]));
        }
    }
    memset(&deep, 0, sizeof(deep));
    device_end(table);
}

static void run_depth(void *context)
{
    const struct depth *const depth = context;
    unsigned level = 0;
    unsigned deepest = depth->depth;
    int how = depth->way == DEPTH_TAIL ? LAUNCH_TAIL : LAUNCH_FIRE;
    void *args[] = {&device.state, &level, &deepest, &how};
    const struct gpu_launch launch = {gpu_function(IMAGE_DEVICE, "recurse"), 1, 1, 0, args};
    size_t index = 0;
    while (depths[index] != depth->depth) {
        index++;
    }
    if (depth->way == DEPTH_GRAPH_TAIL) {
        run_graph(deep.self[index]);
    } else if (deep.lines[depth->way][index] != NULL) {
        line_run(deep.lines[depth->way][index]);
    } else {
        gpu_launch(&launch, gpu.stream, false);
    }
}

static void measure_depth(struct bench_point *point, double *values)
{
    struct depth depth = *(const struct depth *)point->config;
    struct device_state state;
    device_clear();
    (void)device_time(run_depth, &depth);
    device_read(&state);
    if (state.failed != 0) {
        bench_waive(point, "the device refused level %u of %u, with error %d of the Runtime",
                    state.ran, depth.depth, state.first_error);
    } else if (device_all_ran(point, &state, depth.depth + 1)) {
        values[0] = span_ns(state.start[0], state.start[depth.depth]) / depth.depth;
    }
}

static void declare_depth(struct bench *bench)
{
    static const struct bench_spec spec = {
        .name = "depth",
        .title = "a kernel that launches itself, by depth, beside the host's lines",
        .note = "From the first instruction of the first one to that of the last one, by "
                "%globaltimer, divided by the depth. `graph-tail` is a graph whose kernel launches "
                "the graph again; `stream` and `graph` are lines of as many kernels.",
        .axes = {"depth", "way"},
        .metrics = {{.name = "level", .unit = "ns", .tolerance = 0.1}},
        .rounds = 15,
        .begin = begin_depth,
        .check = device_check,
        .measure = measure_depth,
        .end = end_depth,
    };
    static const char *const names[DEPTH_WAYS] = {"stream", "graph", "fire-and-forget", "tail",
                                                  "graph-tail"};
    static struct depth configs[DEPTH_POINTS];
    struct bench_table *const table = bench_table_add(bench, &spec);
    for (size_t i = 0; i < DEPTH_POINTS; i++) {
        const size_t way = i % DEPTH_WAYS;
        char *const number = format_text("%u", depths[i / DEPTH_WAYS]);
        const char *const values[] = {number, names[way]};
        configs[i] = (struct depth){(enum depth_way)way, depths[i / DEPTH_WAYS]};
        (void)bench_point_add(table, way > 0 ? table->items[i - way] : NULL, &configs[i], values);
        free(number);
    }
}

/* ---- graphs ------------------------------------------------------------------------------------- */

enum graphs_way { GRAPHS_HOST, GRAPHS_FIRE, GRAPHS_SIBLING, GRAPHS_TAIL, GRAPHS_SELF, GRAPHS_WAYS };
struct graphs {
    enum graphs_way way;
    unsigned count;
};
static const struct graphs graph_points[] = {
    {GRAPHS_HOST, 8},      {GRAPHS_FIRE, 8},      {GRAPHS_SIBLING, 8}, {GRAPHS_TAIL, 8},
    {GRAPHS_SELF, 8},      {GRAPHS_HOST, 64},     {GRAPHS_FIRE, 64},   {GRAPHS_SIBLING, 64},
    {GRAPHS_TAIL, 64},     {GRAPHS_SELF, 64},     {GRAPHS_HOST, 120},  {GRAPHS_FIRE, 120},
    {GRAPHS_SIBLING, 120}, {GRAPHS_TAIL, 120},    {GRAPHS_SELF, 120},  {GRAPHS_FIRE, 300},
    {GRAPHS_TAIL, 300},    {GRAPHS_SIBLING, 300}, {GRAPHS_SELF, 300},
};
enum { GRAPH_POINTS = sizeof(graph_points) / sizeof(graph_points[0]), MOST_GRAPHS = 300 };
static struct {
    struct device_graphs children;
    CUgraphExec parents[GRAPH_POINTS]; /* or the graph that launches itself; none for the host's */
} many_graphs;

static void begin_graphs(struct bench_table *table)
{
    static const int how[GRAPHS_WAYS] = {
        [GRAPHS_FIRE] = LAUNCH_GRAPH_FIRE,
        [GRAPHS_SIBLING] = LAUNCH_GRAPH_SIBLING,
        [GRAPHS_TAIL] = LAUNCH_GRAPH_TAIL,
    };
    if (!device_begin(table, 0)) {
        return;
    }
    make_graphs(&many_graphs.children, MOST_GRAPHS);
    for (size_t i = 0; i < GRAPH_POINTS; i++) {
        const struct graphs *const graphs = &graph_points[i];
        unsigned count = graphs->count;
        if (graphs->way == GRAPHS_SELF) {
            void *args[] = {&device.state, &count};
            many_graphs.parents[i] = make_graph("launch_self", args, true);
        } else if (graphs->way != GRAPHS_HOST) {
            many_graphs.parents[i] =
                make_parent(&many_graphs.children, count, how[graphs->way], false);
        }
    }
}

static void end_graphs(struct bench_table *table)
{
    for (size_t i = 0; i < GRAPH_POINTS; i++) {
        if (many_graphs.parents[i] != NULL) {
            MUST(cu.cuGraphExecDestroy(many_graphs.parents[i]));
        }
    }
    free_graphs(&many_graphs.children);
    memset(&many_graphs, 0, sizeof(many_graphs));
    device_end(table);
}

static void run_graphs(void *context)
{
    const struct graphs *const *const graphs = context;
    CUgraphExec parent = many_graphs.parents[*graphs - graph_points];
    if (parent != NULL) {
        run_graph(parent);
        return;
    }
    for (unsigned i = 0; i < (*graphs)->count; i++) {
        run_graph(many_graphs.children.items[i]);
    }
}

static void measure_graphs(struct bench_point *point, double *values)
{
    const struct graphs *graphs = point->config;
    struct device_state state;
    device_clear();
    const double us = device_time(run_graphs, &graphs);
    device_read(&state);
    if (graphs->way == GRAPHS_HOST || graphs->way == GRAPHS_SELF
            ? device_all_ran(point, &state, graphs->count)
            : device_accounted_for(point, &state, graphs->count)) {
        values[0] = 1e3 * us / state.ran;
        values[1] = state.failed;
    }
}

static void declare_graphs(struct bench *bench)
{
    static const struct bench_spec spec = {
        .name = "graphs",
        .title = "device graphs of one kernel each, launched by a kernel in a graph",
        .note = "By how many one kernel launches; `self` is a graph whose kernel launches the "
                "graph again, as often; `host` launches the same graphs by cuGraphLaunch, queued "
                "before they run. Those that are too many are lost: their launch returns "
                "cudaErrorInvalidValue, and the host sees no error. `each` is of those that ran.",
        .axes = {"graphs", "way"},
        .metrics = {{.name = "each", .unit = "ns"}, {.name = "lost", .unit = "graphs"}},
        .rounds = 15,
        .begin = begin_graphs,
        .check = device_check,
        .measure = measure_graphs,
        .end = end_graphs,
    };
    static const char *const names[GRAPHS_WAYS] = {"host", "fire-and-forget", "sibling", "tail",
                                                   "self"};
    struct bench_table *const table = bench_table_add(bench, &spec);
    struct bench_point *host = NULL;
    for (size_t i = 0; i < GRAPH_POINTS; i++) {
        char *const number = format_text("%u", graph_points[i].count);
        const char *const values[] = {number, names[graph_points[i].way]};
        if (i == 0 || graph_points[i].count != graph_points[i - 1].count) {
            host = NULL; /* so many are not queued by the host where none is */
        }
        struct bench_point *const point = bench_point_add(table, host, &graph_points[i], values);
        host = graph_points[i].way == GRAPHS_HOST ? point : host;
        free(number);
    }
}

void suite_device_rows(struct bench *bench)
{
    declare_latency(bench);
    declare_depth(bench);
    declare_graphs(bench);
}
