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
    const struct gpu_launch launch = gpu_single(gpu_function(IMAGE_DEVICE, kernel), args);
    MUST(cu.cuGraphCreate(&graph, 0));
    MUST(line_add_node(graph, &launch, NULL, false, &node));
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

static void destroy_graph(CUgraphExec graph)
{
    if (graph != NULL) {
        MUST(cu.cuGraphExecDestroy(graph));
    }
}

/* Kernels of a line of the host's, each of which stamps the times of its number. */
struct stamped_line {
    unsigned ns;
    unsigned *numbers;
    struct gpu_launch *launches;
    void *(*args)[3];
    struct line *line;
};

static void make_stamped(struct stamped_line *stamped, enum line_way way, unsigned count,
                         unsigned ns)
{
    stamped->ns = ns;
    stamped->numbers = allocate(count, sizeof(*stamped->numbers));
    stamped->launches = allocate(count, sizeof(*stamped->launches));
    stamped->args = allocate(count, sizeof(*stamped->args));
    for (unsigned i = 0; i < count; i++) {
        stamped->numbers[i] = i;
        stamped->args[i][0] = &device.state;
        stamped->args[i][1] = &stamped->numbers[i];
        stamped->args[i][2] = &stamped->ns;
        stamped->launches[i] = gpu_single(gpu_function(IMAGE_DEVICE, "stamped"), stamped->args[i]);
    }
    stamped->line = line_make(way, stamped->launches, count, 1, NULL);
}

static void free_stamped(const struct stamped_line *stamped)
{
    line_free(stamped->line);
    free(stamped->args);
    free(stamped->launches);
    free(stamped->numbers);
}

/* What a point runs: one of these, or a kernel that is launched for each sample. */
struct device_run {
    struct stamped_line stamped;
    CUgraphExec graph;
};

static void close_run(struct bench_point *point)
{
    struct device_run *const run = point->state;
    gpu_wait();
    free_stamped(&run->stamped);
    destroy_graph(run->graph);
}

/* The graph or the line, if the point has one. */
static bool run_made(const struct device_run *run)
{
    if (run->stamped.line != NULL) {
        line_run(run->stamped.line);
    } else if (run->graph != NULL) {
        MUST(cu.cuGraphLaunch(run->graph, gpu.stream));
    }
    return run->stamped.line != NULL || run->graph != NULL;
}

/* The graphs that a table's parents launch: its state. */
static void begin_with_graphs(struct bench_table *table, size_t count)
{
    device_begin(table);
    if (device.state != 0) {
        struct device_graphs *const graphs = allocate(1, sizeof(*graphs));
        make_graphs(graphs, count);
        table->state = graphs;
    }
}

static void end_with_graphs(struct bench_table *table)
{
    if (table->state != NULL) {
        free_graphs(table->state);
        free(table->state);
    }
    device_end(table);
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
enum { ROW = 9 };

static void begin_latency(struct bench_table *table)
{
    begin_with_graphs(table, ROW);
}

static void open_latency(struct bench_point *point)
{
    enum { NS = 8000 }; /* longer than any launch here takes */
    const struct row_way *const way = point->config;
    struct device_run *const run = point->state;
    if (way->how < 0) {
        make_stamped(&run->stamped, way->line, ROW, NS);
    } else if (way->how >= LAUNCH_GRAPH_FIRE) {
        run->graph = make_parent(point->table->state, ROW, way->how, way->how != LAUNCH_GRAPH_TAIL);
    }
}

static void run_row(void *context)
{
    const struct bench_point *const point = context;
    unsigned count = ROW;
    int how = ((const struct row_way *)point->config)->how;
    if (!run_made(point->state)) {
        void *args[] = {&device.state, &count, &how};
        const struct gpu_launch launch = gpu_single(gpu_function(IMAGE_DEVICE, "launch_row"), args);
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
    const struct row_way *const way = point->config;
    const unsigned first = way->how < 0; /* the first of a line was launched by the host */
    struct device_state state;
    double sum = 0;
    double calls = 0;
    device_clear();
    (void)device_time(run_row, point);
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
                "fire-and-forget, siblings and streams; host, with PDL: the trigger) or "
                "from the end of what the kernel has to wait for (tail, and the host's "
                "lines without PDL). `initial` is the first one of a kernel or line, "
                "`subsequent` the mean of the others, each launched when the one before "
                "had started; `call` is what the call takes the thread.",
        .axes = {"way"},
        .metrics = {{.name = "initial", .unit = "ns", .tolerance = 0.1},
                    {.name = "subsequent", .unit = "ns", .tolerance = 0.1},
                    {.name = "call", .unit = "ns", .tolerance = 0.1}},
        .rounds = 31,
        .config_size = sizeof(struct row_way),
        .state_size = sizeof(struct device_run),
        .begin = begin_latency,
        .open = open_latency,
        .check = device_check,
        .measure = measure_latency,
        .close = close_run,
        .end = end_with_graphs,
    };
    struct bench_table *const table = bench_table_add(bench, &spec);
    for (size_t i = 0; i < sizeof(row_ways) / sizeof(row_ways[0]); i++) {
        (void)bench_row(table, i > 0 ? table->items[0] : NULL, &row_ways[i], "%s",
                        row_ways[i].name);
    }
}

/* ---- depth -------------------------------------------------------------------------------------- */

enum depth_way { DEPTH_STREAM, DEPTH_GRAPH, DEPTH_FIRE, DEPTH_TAIL, DEPTH_GRAPH_TAIL, DEPTH_WAYS };
struct depth {
    enum depth_way way;
    unsigned depth;
};
static void open_depth(struct bench_point *point)
{
    const struct depth *const depth = point->config;
    struct device_run *const run = point->state;
    unsigned count = depth->depth + 1;
    void *args[] = {&device.state, &count};
    if (depth->way == DEPTH_STREAM || depth->way == DEPTH_GRAPH) {
        make_stamped(&run->stamped, depth->way == DEPTH_STREAM ? WAY_STREAM : WAY_GRAPH, count, 0);
    } else if (depth->way == DEPTH_GRAPH_TAIL) {
        run->graph = make_graph("launch_self", args, true);
    }
}

static void run_depth(void *context)
{
    const struct bench_point *const point = context;
    const struct depth *const depth = point->config;
    unsigned level = 0;
    unsigned deepest = depth->depth;
    int how = depth->way == DEPTH_TAIL ? LAUNCH_TAIL : LAUNCH_FIRE;
    if (!run_made(point->state)) {
        void *args[] = {&device.state, &level, &deepest, &how};
        const struct gpu_launch launch = gpu_single(gpu_function(IMAGE_DEVICE, "recurse"), args);
        gpu_launch(&launch, gpu.stream, false);
    }
}

static void measure_depth(struct bench_point *point, double *values)
{
    const struct depth depth = *(const struct depth *)point->config;
    struct device_state state;
    device_clear();
    (void)device_time(run_depth, point);
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
                "%globaltimer, divided by the depth. `graph-tail` is a graph whose kernel "
                "launches the graph again; `stream` and `graph` are lines of as many "
                "kernels.",
        .axes = {"depth", "way"},
        .metrics = {{.name = "level", .unit = "ns", .tolerance = 0.1}},
        .rounds = 15,
        .config_size = sizeof(struct depth),
        .state_size = sizeof(struct device_run),
        .begin = device_begin,
        .open = open_depth,
        .check = device_check,
        .measure = measure_depth,
        .close = close_run,
        .end = device_end,
    };
    static const char *const names[DEPTH_WAYS] = {"stream", "graph", "fire-and-forget", "tail",
                                                  "graph-tail"};
    static const unsigned depths[] = {1, 8, 24, 64, 256};
    struct bench_table *const table = bench_table_add(bench, &spec);
    for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
        struct bench_point *stream = NULL;
        for (int way = 0; way < DEPTH_WAYS; way++) {
            const struct depth depth = {(enum depth_way)way, depths[i]};
            struct bench_point *const point =
                bench_row(table, stream, &depth, "%u/%s", depths[i], names[way]);
            stream = way == DEPTH_STREAM ? point : stream;
        }
    }
}

/* ---- graphs ------------------------------------------------------------------------------------- */

enum graphs_way { GRAPHS_HOST, GRAPHS_FIRE, GRAPHS_SIBLING, GRAPHS_TAIL, GRAPHS_SELF, GRAPHS_WAYS };
struct graphs {
    enum graphs_way way;
    unsigned count;
};
enum { MOST_GRAPHS = 300, MOST_OF_HOST = 120 }; /* so many are not queued by the host */

static void begin_graphs(struct bench_table *table)
{
    begin_with_graphs(table, MOST_GRAPHS);
}

static void open_graphs(struct bench_point *point)
{
    static const int how[GRAPHS_WAYS] = {
        [GRAPHS_FIRE] = LAUNCH_GRAPH_FIRE,
        [GRAPHS_SIBLING] = LAUNCH_GRAPH_SIBLING,
        [GRAPHS_TAIL] = LAUNCH_GRAPH_TAIL,
    };
    const struct graphs *const graphs = point->config;
    struct device_run *const run = point->state;
    unsigned count = graphs->count;
    if (graphs->way == GRAPHS_SELF) {
        void *args[] = {&device.state, &count};
        run->graph = make_graph("launch_self", args, true);
    } else if (graphs->way != GRAPHS_HOST) {
        run->graph = make_parent(point->table->state, count, how[graphs->way], false);
    }
}

static void run_graphs(void *context)
{
    const struct bench_point *const point = context;
    const struct device_graphs *const children = point->table->state;
    const unsigned count = ((const struct graphs *)point->config)->count;
    if (!run_made(point->state)) {
        for (unsigned i = 0; i < count; i++) {
            MUST(cu.cuGraphLaunch(children->items[i], gpu.stream));
        }
    }
}

static void measure_graphs(struct bench_point *point, double *values)
{
    const struct graphs *const graphs = point->config;
    struct device_state state;
    device_clear();
    const double us = device_time(run_graphs, point);
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
        .note = "By how many one kernel launches; `self` is a graph whose kernel launches "
                "the graph again, as often; `host` launches the same graphs by "
                "cuGraphLaunch, queued before they run. Those that are too many are lost: "
                "their launch returns cudaErrorInvalidValue, and the host sees no error. "
                "`each` is of those that ran.",
        .axes = {"graphs", "way"},
        .metrics = {{.name = "each", .unit = "ns"}, {.name = "lost", .unit = "graphs"}},
        .rounds = 15,
        .config_size = sizeof(struct graphs),
        .state_size = sizeof(struct device_run),
        .begin = begin_graphs,
        .open = open_graphs,
        .check = device_check,
        .measure = measure_graphs,
        .close = close_run,
        .end = end_with_graphs,
    };
    static const char *const names[GRAPHS_WAYS] = {"host", "fire-and-forget", "sibling", "tail",
                                                   "self"};
    static const unsigned counts[] = {8, 64, MOST_OF_HOST, MOST_GRAPHS};
    struct bench_table *const table = bench_table_add(bench, &spec);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct bench_point *host = NULL;
        for (int way = 0; way < GRAPHS_WAYS; way++) {
            const struct graphs graphs = {(enum graphs_way)way, counts[i]};
            if (way != GRAPHS_HOST || counts[i] <= MOST_OF_HOST) {
                struct bench_point *const point =
                    bench_row(table, host, &graphs, "%u/%s", counts[i], names[way]);
                host = way == GRAPHS_HOST ? point : host;
            }
        }
    }
}

void suite_device_rows(struct bench *bench)
{
    declare_latency(bench);
    declare_depth(bench);
    declare_graphs(bench);
}
