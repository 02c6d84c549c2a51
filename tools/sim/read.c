/* SPDX-License-Identifier: MIT */
/* Descriptions of kernels and launches. docs/model.md tells them all. */
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "sim/read.h"

enum { ORDERED_MOST = 50000000 /* launches that others come after, as often as they do */ };

/* Launches that others may have to come after. */
struct set {
    uint32_t *items;
    size_t count, capacity;
};

struct stream {
    uint32_t track;
    struct set last; /* what its next launch comes after */
};

struct streams {
    struct pdl_names names;
    struct stream *items;
    size_t count, capacity;
};

struct edge {
    uint32_t from, to;
    bool programmatic;
};

struct reader {
    struct description description;
    struct sim_program *program;
    bool gate;
    double host;                   /* how far the host has come */
    struct pdl_names kernel_names; /* by the index of what they name */
    struct streams streams;
    struct {
        struct edge *items;
        size_t count, capacity;
    } edges;
    struct { /* that is being read */
        bool is_open;
        size_t stream, after;   /* its own, and that which it comes after */
        struct streams streams; /* those that it is captured from */
        uint32_t first;         /* its first launch */
        size_t first_edge;      /* its first edge */
        struct description_line begin;
    } graph;
};

static bool find_kernel(const struct reader *reader, const char *name, uint32_t *index)
{
    return pdl_names_find(&reader->kernel_names, name, index);
}

static bool read_kernel(struct reader *reader, const struct description_line *line)
{
    struct description *const description = &reader->description;
    struct sim_kernel kernel;
    uint32_t index = 0;
    if (line->count < 2) {
        return description_fail(description, line, "a kernel needs a name");
    }
    if (find_kernel(reader, line->words[1], &index)) {
        return description_fail(description, line, "there is a kernel '%.60s' already, in line %u",
                                line->words[1], reader->program->kernels.items[index].line);
    }
    if (description->depth > 0) {
        return description_fail(description, line,
                                "a kernel is described outside of repeat and graph");
    }
    if (!sim_read_kernel(&reader->program->device, description, line, &kernel)) {
        return false;
    }
    (void)name_index(&reader->kernel_names, kernel.name);
    kernel.name = copy_text(kernel.name);
    APPEND(&reader->program->kernels, kernel);
    return true;
}

/* ---- streams and launches ------------------------------------------------------------------------ */

static uint32_t add_track(struct reader *reader, const char *name)
{
    char *const copy = copy_text(name);
    APPEND(&reader->program->tracks, copy);
    return (uint32_t)reader->program->tracks.count - 1;
}

static struct streams *streams_of(struct reader *reader)
{
    return reader->graph.is_open ? &reader->graph.streams : &reader->streams;
}

/* The index of a stream, which may be new. All of a graph is shown in the stream that it is launched into. */
static size_t find_stream(struct reader *reader, const char *name)
{
    struct streams *const streams = streams_of(reader);
    const uint32_t index = name_index(&streams->names, name);
    if (index == streams->count) {
        const struct stream stream = {
            .track = reader->graph.is_open ? reader->streams.items[reader->graph.stream].track
                                           : add_track(reader, name)};
        APPEND(streams, stream);
    }
    return index;
}

static void free_streams(struct streams *streams)
{
    for (size_t i = 0; i < streams->count; i++) {
        free(streams->items[i].last.items);
    }
    free(streams->items);
    pdl_names_free(&streams->names);
    *streams = (struct streams){.items = NULL};
}

/* Of each launch of a set, an edge to one. */
static void add_edges(struct reader *reader, const struct set *from, uint32_t to, bool programmatic,
                      const struct description_line *line)
{
    for (size_t i = 0; i < from->count && !reader->description.failed; i++) {
        const struct edge edge = {from->items[i], to, programmatic};
        if (reader->edges.count < ORDERED_MOST) {
            APPEND(&reader->edges, edge);
        } else {
            (void)description_fail(&reader->description, line,
                                   "launches come after more than %d others", ORDERED_MOST);
        }
    }
}

/* Of a launch or a graph: its stream, that which it comes after as well (or its own), and how. */
struct options {
    size_t stream, after;
    bool overlap;
};

/* The words from `from` on. */
static bool read_options(struct reader *reader, const struct description_line *line, size_t from,
                         bool may_overlap, struct options *options)
{
    const char *names[2] = {"stream", NULL};
    options->overlap = false;
    for (size_t i = from; i < line->count; i++) {
        const char *const stream = kernel_value(line->words[i], "stream");
        const char *const after = kernel_value(line->words[i], "after");
        const char *const name = stream != NULL ? stream : after;
        if (name != NULL && *name != '\0') {
            names[stream == NULL] = name;
        } else if (may_overlap && strcmp(line->words[i], "overlap") == 0) {
            options->overlap = true;
        } else {
            return description_fail(&reader->description, line, "'%.60s' does not belong here",
                                    line->words[i]);
        }
    }
    options->stream = find_stream(reader, names[0]);
    options->after = names[1] != NULL ? find_stream(reader, names[1]) : options->stream;
    return true;
}

/* A launch comes after what another stream has come to. */
static void add_after(struct reader *reader, const struct streams *streams, size_t stream,
                      size_t after, uint32_t launch, const struct description_line *line)
{
    if (after != stream) {
        add_edges(reader, &streams->items[after].last, launch, false, line);
    }
}

static bool read_launch(struct reader *reader, const struct description_line *line)
{
    struct sim_program *const program = reader->program;
    const uint32_t index = (uint32_t)program->launches.count;
    uint32_t kernel = 0;
    struct options options = {.overlap = false};
    if (line->count < 2) {
        return description_fail(&reader->description, line, "launch needs a kernel");
    }
    if (!find_kernel(reader, line->words[1], &kernel)) {
        return description_fail(&reader->description, line, "there is no kernel '%.60s'",
                                line->words[1]);
    }
    if (!read_options(reader, line, 2, true, &options)) {
        return false;
    }
    if (index == DESCRIPTION_LAUNCHES_MOST) {
        return description_fail(&reader->description, line, "more than %d launches",
                                DESCRIPTION_LAUNCHES_MOST);
    }
    const struct streams *const streams = streams_of(reader);
    struct stream *const stream = &streams->items[options.stream];
    struct sim_launch launch = {.kernel = kernel, .track = stream->track, .path = SIM_GRAPH};
    if (!reader->graph.is_open) {
        reader->host +=
            options.overlap ? program->device.host_overlap : program->device.host_launch;
        launch.path = SIM_STREAM;
        launch.enqueued = reader->host + program->device.submit;
    }
    APPEND(&program->launches, launch);
    add_edges(reader, &stream->last, index, options.overlap, line);
    add_after(reader, streams, options.stream, options.after, index, line);
    stream->last.count = 0;
    APPEND(&stream->last, index);
    return true;
}

/* ---- graphs -------------------------------------------------------------------------------------- */

static bool begin_graph(struct reader *reader, const struct description_line *line)
{
    struct options options = {.overlap = false};
    if (reader->graph.is_open) {
        return description_fail(&reader->description, line, "a graph in a graph");
    }
    if (!read_options(reader, line, 1, false, &options)) {
        return false;
    }
    reader->graph.stream = options.stream;
    reader->graph.after = options.after;
    reader->graph.is_open = true;
    reader->graph.first = (uint32_t)reader->program->launches.count;
    reader->graph.first_edge = reader->edges.count;
    reader->graph.begin = *line;
    return true;
}

/* Launches of the graph without anything before or after them. */
static void find_ends(const struct reader *reader, bool first, struct set *ends)
{
    const size_t count = reader->program->launches.count - reader->graph.first;
    bool *const inner = allocate(count, sizeof(*inner));
    for (size_t i = reader->graph.first_edge; i < reader->edges.count; i++) {
        const struct edge *const edge = &reader->edges.items[i];
        inner[(first ? edge->to : edge->from) - reader->graph.first] = true;
    }
    for (size_t i = 0; i < count; i++) {
        if (!inner[i]) {
            APPEND(ends, (uint32_t)(reader->graph.first + i));
        }
    }
    free(inner);
}

/* The graph comes after what is in its stream, and what follows comes after all of it. */
static void end_graph(struct reader *reader)
{
    struct sim_program *const program = reader->program;
    const struct description_line *const line = &reader->graph.begin;
    struct stream *const stream = &reader->streams.items[reader->graph.stream];
    const size_t count = program->launches.count - reader->graph.first;
    struct set first = {.items = NULL};
    struct set last = {.items = NULL};
    find_ends(reader, true, &first);
    find_ends(reader, false, &last);
    reader->graph.is_open = false;
    free_streams(&reader->graph.streams);
    reader->host += program->device.host_graph;
    for (size_t i = 0; i < count; i++) {
        reader->host += program->device.host_node;
    }
    for (size_t i = 0; i < count; i++) {
        program->launches.items[reader->graph.first + i].enqueued =
            reader->host + program->device.submit;
    }
    for (size_t i = 0; i < first.count && !reader->description.failed; i++) {
        add_edges(reader, &stream->last, first.items[i], false, line);
        add_after(reader, &reader->streams, reader->graph.stream, reader->graph.after,
                  first.items[i], line);
    }
    free(first.items);
    if (last.count > 0) {
        free(stream->last.items);
        stream->last = last;
    }
}

/* ---- the lines ----------------------------------------------------------------------------------- */

static bool read_device(struct reader *reader, const struct description_line *line)
{
    if (line->count != 2 || !sim_device_known(&reader->program->device, line->words[1])) {
        return description_fail(&reader->description, line,
                                "device takes h200; --device reads others");
    }
    return reader->program->kernels.count == 0 ||
           description_fail(&reader->description, line, "device comes before the kernels");
}

static bool read_gate(struct reader *reader, const struct description_line *line)
{
    reader->gate = true;
    return line->count == 1 || description_fail(&reader->description, line,
                                                "'%.60s' does not belong here", line->words[1]);
}

static bool take_line(struct description *description, const struct description_line *line)
{
    static const struct {
        const char *word;
        bool (*read)(struct reader *reader, const struct description_line *line);
        bool in_graph;
    } words[] = {
        {"device", read_device, false}, {"kernel", read_kernel, true}, {"gate", read_gate, false},
        {"launch", read_launch, true},  {"graph", begin_graph, true},
    };
    struct reader *const reader = description->self;
    if (reader->graph.is_open && strcmp(line->words[0], "end") == 0) {
        end_graph(reader);
        return true;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(words[i].word, line->words[0]) == 0) {
            return reader->graph.is_open && !words[i].in_graph
                       ? description_fail(description, line, "'%.60s' belongs outside of a graph",
                                          line->words[0])
                       : words[i].read(reader, line);
        }
    }
    return description_fail(description, line, "unknown word '%.60s'", line->words[0]);
}

/* ---- what comes after the lines ------------------------------------------------------------------ */

static int compare_edges(const void *left, const void *right)
{
    const struct edge *const a = left;
    const struct edge *const b = right;
    return a->to != b->to       ? (a->to < b->to ? -1 : 1)
           : a->from != b->from ? (a->from < b->from ? -1 : 1)
                                : (int)a->programmatic - (int)b->programmatic;
}

/* Each launch's dependencies, once each: a full one stands for a programmatic one, too. */
static void add_dependencies(struct reader *reader)
{
    struct sim_program *const program = reader->program;
    if (reader->edges.count == 0) {
        return;
    }
    qsort(reader->edges.items, reader->edges.count, sizeof(*reader->edges.items), compare_edges);
    for (size_t i = 0; i < reader->edges.count; i++) {
        const struct edge *const edge = &reader->edges.items[i];
        if (i > 0 && edge[-1].to == edge->to && edge[-1].from == edge->from) {
            continue;
        }
        struct sim_launch *const launch = &program->launches.items[edge->to];
        if (launch->dependencies_count++ == 0) {
            launch->dependencies = (uint32_t)program->dependencies.count;
        }
        const struct sim_dependency dependency = {edge->from, edge->programmatic};
        APPEND(&program->dependencies, dependency);
    }
}

bool sim_read(struct sim_program *program, const char *text, size_t size, const char *file)
{
    const struct description_line first = {.number = 1};
    struct reader reader = {.program = program,
                            .description = {.file = file, .block = "graph", .take = take_line}};
    reader.description.self = &reader;
    const bool read = description_read(&reader.description, text, size) &&
                      (program->launches.count > 0 ||
                       description_fail(&reader.description, &first, "nothing is launched"));
    if (read) {
        add_dependencies(&reader);
    }
    for (size_t i = 0; reader.gate && i < program->launches.count; i++) {
        program->launches.items[i].enqueued = 0;
    }
    free_streams(&reader.streams);
    free_streams(&reader.graph.streams);
    free(reader.edges.items);
    pdl_names_free(&reader.kernel_names);
    return read;
}
