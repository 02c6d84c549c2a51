/* SPDX-License-Identifier: MIT */
/* Descriptions: a line a thing, words and values. docs/model.md tells them all. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/print.h"
#include "sim/read.h"

enum {
    WORDS = 32,
    DEPTH = 64, /* of repeat and graph in each other */
    LAUNCHES_MOST = 1000000,
    LINES_MOST = 10000000,   /* as often as they are run */
    ORDERED_MOST = 50000000, /* launches that others come after, as often as they do */
};

struct line {
    char *words[WORDS];
    unsigned count, number;
};

/* A launch that others may have to come after. */
struct set {
    uint32_t *items;
    size_t count, capacity;
};

struct stream {
    uint32_t track;
    struct set last; /* what its next launch comes after */
};

struct edge {
    uint32_t from, to;
    bool programmatic;
};

/* A graph or repeat whose end is further down. */
struct open {
    size_t line;
    int64_t left; /* runs of a repeat; 0: a graph */
};

struct reader {
    struct sim_program *program;
    const char *file;
    bool failed, gate;
    double host; /* how far the host has come */
    size_t lines_run;
    struct pdl_names kernel_names, stream_names; /* by the index of what they name */
    struct {
        struct line *items;
        size_t count, capacity;
    } lines;
    struct {
        struct stream *items;
        size_t count, capacity;
    } streams;
    struct {
        struct edge *items;
        size_t count, capacity;
    } edges;
    struct open open[DEPTH];
    size_t depth;
    struct { /* that is being read */
        bool is_open;
        size_t stream, after; /* its own, and that which it comes after */
        struct pdl_names nodes;
        struct set node_launches;
        uint32_t first;    /* its first launch */
        size_t first_edge; /* its first edge */
        struct stream inside;
    } graph;
};

__attribute__((format(printf, 3, 4))) static bool fail(struct reader *reader, unsigned line,
                                                       const char *format, ...)
{
    if (!reader->failed) { /* the first is told */
        va_list list;
        va_start(list, format);
        char *const wrong = format_text_of(format, list);
        va_end(list);
        print_line(stderr, "%s:%u: error: %s", reader->file, line, wrong);
        free(wrong);
    }
    reader->failed = true;
    return false;
}

static bool find_kernel(const struct reader *reader, const char *name, uint32_t *index)
{
    return pdl_names_find(&reader->kernel_names, name, index);
}

static bool read_kernel(struct reader *reader, const struct line *line)
{
    struct sim_kernel kernel;
    uint32_t index = 0;
    char wrong[SIM_WRONG];
    if (line->count < 2) {
        return fail(reader, line->number, "a kernel needs a name");
    }
    if (find_kernel(reader, line->words[1], &index)) {
        return fail(reader, line->number, "there is a kernel '%.60s' already, in line %u",
                    line->words[1], reader->program->kernels.items[index].line);
    }
    if (reader->depth > 0) {
        return fail(reader, line->number, "a kernel is described outside of repeat and graph");
    }
    if (!sim_read_kernel(&reader->program->device, line->words + 1, line->count - 1, &kernel,
                         wrong)) {
        return fail(reader, line->number, "%s", wrong);
    }
    (void)name_index(&reader->kernel_names, kernel.name);
    kernel.name = copy_text(kernel.name);
    kernel.line = line->number;
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

static size_t find_stream(struct reader *reader, const char *name)
{
    const uint32_t index = name_index(&reader->stream_names, name);
    if (index == reader->streams.count) {
        const struct stream stream = {.track = add_track(reader, name)};
        APPEND(&reader->streams, stream);
    }
    return index;
}

static void add_edge(struct reader *reader, uint32_t from, uint32_t to, bool programmatic,
                     unsigned line)
{
    const struct edge edge = {from, to, programmatic};
    if (reader->edges.count < ORDERED_MOST) {
        APPEND(&reader->edges, edge);
    } else {
        (void)fail(reader, line, "launches come after more than %d others", ORDERED_MOST);
    }
}

/* Of each launch of a set, an edge to one. */
static void add_edges(struct reader *reader, const struct set *from, uint32_t to, bool programmatic,
                      unsigned line)
{
    for (size_t i = 0; i < from->count && !reader->failed; i++) {
        add_edge(reader, from->items[i], to, programmatic, line);
    }
}

/* A launch after what its stream has come to; false where there are too many. */
static bool add_launch(struct reader *reader, struct stream *stream, uint32_t kernel, bool overlap,
                       enum sim_path path, unsigned line)
{
    const uint32_t index = (uint32_t)reader->program->launches.count;
    const struct sim_launch launch = {
        .kernel = kernel, .track = stream->track, .path = path, .line = line};
    if (index == LAUNCHES_MOST) {
        return fail(reader, line, "more than %d launches", LAUNCHES_MOST);
    }
    APPEND(&reader->program->launches, launch);
    add_edges(reader, &stream->last, index, overlap, line);
    stream->last.count = 0;
    APPEND(&stream->last, index);
    return true;
}

/* Of a launch, a graph or an edge: what it comes after beside the work before it. */
struct options {
    const char *stream, *after; /* NULL: not given */
    bool overlap;
};

/* The words from `from` on. Only outside of graphs there are streams. */
static bool read_options(struct reader *reader, const struct line *line, unsigned from,
                         struct options *options)
{
    *options = (struct options){.stream = NULL};
    for (unsigned i = from; i < line->count; i++) {
        const char *const stream = kernel_value(line->words[i], "stream");
        const char *const after = kernel_value(line->words[i], "after");
        const char *const name = stream != NULL ? stream : after;
        if (name != NULL && *name != '\0' && !reader->graph.is_open) {
            *(stream != NULL ? &options->stream : &options->after) = name;
        } else if (strcmp(line->words[0], "graph") != 0 && strcmp(line->words[i], "overlap") == 0) {
            options->overlap = true;
        } else {
            return fail(reader, line->number, "'%.60s' does not belong here", line->words[i]);
        }
    }
    return true;
}

/* The stream of the options, and that which it comes after, as indices: either may be new. */
static size_t find_streams(struct reader *reader, const struct options *options, size_t *after)
{
    const size_t stream = find_stream(reader, options->stream != NULL ? options->stream : "stream");
    *after = options->after != NULL ? find_stream(reader, options->after) : stream;
    return stream;
}

/* A launch comes after what another stream has come to. */
static void add_after(struct reader *reader, size_t stream, size_t after, uint32_t launch,
                      unsigned line)
{
    if (after != stream) {
        add_edges(reader, &reader->streams.items[after].last, launch, false, line);
    }
}

static bool read_launch(struct reader *reader, const struct line *line)
{
    const uint32_t index = (uint32_t)reader->program->launches.count;
    const struct sim_device *const device = &reader->program->device;
    uint32_t kernel = 0;
    struct options options;
    size_t after = 0;
    if (line->count < 2) {
        return fail(reader, line->number, "launch needs a kernel");
    }
    if (!read_options(reader, line, 2, &options)) {
        return false;
    }
    if (!find_kernel(reader, line->words[1], &kernel)) {
        return fail(reader, line->number, "there is no kernel '%.60s'", line->words[1]);
    }
    if (reader->graph.is_open) {
        return add_launch(reader, &reader->graph.inside, kernel, options.overlap, SIM_GRAPH,
                          line->number);
    }
    const size_t stream = find_streams(reader, &options, &after);
    if (!add_launch(reader, &reader->streams.items[stream], kernel, options.overlap, SIM_STREAM,
                    line->number)) {
        return false;
    }
    add_after(reader, stream, after, index, line->number);
    reader->host += options.overlap ? device->host_overlap : device->host_launch;
    reader->program->launches.items[index].enqueued = reader->host + device->submit;
    return true;
}

/* ---- graphs -------------------------------------------------------------------------------------- */

static bool find_node(const struct reader *reader, const char *name, uint32_t *launch)
{
    uint32_t index = 0;
    const bool found = pdl_names_find(&reader->graph.nodes, name, &index);
    *launch = found ? reader->graph.node_launches.items[index] : *launch;
    return found;
}

static bool read_node(struct reader *reader, const struct line *line)
{
    uint32_t index = 0;
    if (line->count != 3) {
        return fail(reader, line->number, "node needs a name and a kernel");
    }
    if (find_node(reader, line->words[1], &index)) {
        return fail(reader, line->number, "there is a node '%.60s' already", line->words[1]);
    }
    if (!find_kernel(reader, line->words[2], &index)) {
        return fail(reader, line->number, "there is no kernel '%.60s'", line->words[2]);
    }
    (void)name_index(&reader->graph.nodes, line->words[1]);
    APPEND(&reader->graph.node_launches, (uint32_t)reader->program->launches.count);
    reader->graph.inside.last.count = 0; /* edges say what it depends on */
    return add_launch(reader, &reader->graph.inside, index, false, SIM_GRAPH, line->number);
}

static bool read_edge(struct reader *reader, const struct line *line)
{
    uint32_t ends[2] = {0, 0};
    struct options options;
    if (line->count < 3) {
        return fail(reader, line->number, "edge needs two nodes");
    }
    for (int i = 0; i < 2; i++) {
        if (!find_node(reader, line->words[1 + i], &ends[i])) {
            return fail(reader, line->number, "there is no node '%.60s'", line->words[1 + i]);
        }
    }
    if (!read_options(reader, line, 3, &options)) {
        return false;
    }
    add_edge(reader, ends[0], ends[1], options.overlap, line->number);
    return true;
}

/* Launches of the graph without anything before or after them. */
static void find_ends(const struct reader *reader, bool first, struct set *ends)
{
    const size_t count = reader->program->launches.count - reader->graph.first;
    bool *const inner = allocate(count, sizeof(*inner));
    for (size_t i = reader->graph.first_edge; i < reader->edges.count; i++) {
        const struct edge *const edge = &reader->edges.items[i];
        const uint32_t launch = first ? edge->to : edge->from;
        if (launch >= reader->graph.first) {
            inner[launch - reader->graph.first] = true;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (!inner[i]) {
            APPEND(ends, (uint32_t)(reader->graph.first + i));
        }
    }
    free(inner);
}

static bool begin_graph(struct reader *reader, const struct line *line)
{
    struct options options;
    size_t after = 0;
    if (reader->graph.is_open) {
        return fail(reader, line->number, "a graph in a graph");
    }
    if (!read_options(reader, line, 1, &options)) {
        return false;
    }
    reader->graph.stream = find_streams(reader, &options, &after);
    reader->graph.is_open = true;
    reader->graph.first = (uint32_t)reader->program->launches.count;
    reader->graph.first_edge = reader->edges.count;
    reader->graph.node_launches.count = 0;
    reader->graph.inside.track = reader->streams.items[reader->graph.stream].track;
    reader->graph.inside.last.count = 0;
    pdl_names_free(&reader->graph.nodes);
    reader->graph.after = after;
    return true;
}

/* The graph comes after what is in its stream, and what follows comes after all of it. */
static void end_graph(struct reader *reader, unsigned line)
{
    const struct sim_device *const device = &reader->program->device;
    struct stream *const stream = &reader->streams.items[reader->graph.stream];
    const size_t count = reader->program->launches.count - reader->graph.first;
    struct set first = {0};
    struct set last = {0};
    find_ends(reader, true, &first);
    find_ends(reader, false, &last);
    reader->graph.is_open = false;
    reader->host += device->host_graph;
    for (size_t i = 0; i < count; i++) {
        reader->host += device->host_node;
    }
    for (size_t i = 0; i < count; i++) {
        reader->program->launches.items[reader->graph.first + i].enqueued =
            reader->host + device->submit;
    }
    for (size_t i = 0; i < first.count && !reader->failed; i++) {
        add_edges(reader, &stream->last, first.items[i], false, line);
        add_after(reader, reader->graph.stream, reader->graph.after, first.items[i], line);
    }
    free(first.items);
    if (last.count > 0) {
        free(stream->last.items);
        stream->last = last;
    }
}

/* ---- the lines ----------------------------------------------------------------------------------- */

static bool read_device(struct reader *reader, const struct line *line)
{
    if (line->count != 2 || !sim_device_known(&reader->program->device, line->words[1])) {
        return fail(reader, line->number, "device takes h200; --device reads others");
    }
    return reader->program->kernels.count == 0 ||
           fail(reader, line->number, "device comes before the kernels");
}

static bool read_gate(struct reader *reader, const struct line *line)
{
    reader->gate = true;
    return line->count == 1 ||
           fail(reader, line->number, "'%.60s' does not belong here", line->words[1]);
}

/* One line that is neither repeat nor graph nor their end. */
static bool run_line(struct reader *reader, const struct line *line)
{
    static const struct {
        const char *word;
        bool (*read)(struct reader *reader, const struct line *line);
        bool in_graph, outside;
    } words[] = {
        {"device", read_device, false, true}, {"kernel", read_kernel, true, true},
        {"gate", read_gate, false, true},     {"launch", read_launch, true, true},
        {"node", read_node, true, false},     {"edge", read_edge, true, false},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strcmp(words[i].word, line->words[0]) == 0) {
            if (!(reader->graph.is_open ? words[i].in_graph : words[i].outside)) {
                return fail(reader, line->number, "'%.60s' belongs %s a graph", line->words[0],
                            reader->graph.is_open ? "outside of" : "in");
            }
            return words[i].read(reader, line);
        }
    }
    return fail(reader, line->number, "unknown word '%.60s'", line->words[0]);
}

/* A graph, or a repeat with its number of runs. */
static bool begin(struct reader *reader, size_t index, bool is_repeat)
{
    const struct line *const line = &reader->lines.items[index];
    struct open open = {.line = index};
    char wrong[SIM_WRONG];
    if (reader->depth == DEPTH) {
        return fail(reader, line->number, "more than %d of repeat and graph in each other", DEPTH);
    }
    if (is_repeat && line->count != 2) {
        return fail(reader, line->number, "repeat needs a number");
    }
    if (is_repeat && !sim_read_count(line->words[1], (struct kernel_limits){1, LAUNCHES_MOST},
                                     &open.left, wrong)) {
        return fail(reader, line->number, "%s", wrong);
    }
    if (!is_repeat && !begin_graph(reader, line)) {
        return false;
    }
    reader->open[reader->depth++] = open;
    return true;
}

/* At the end of a graph or repeat: returns the line after which to go on. */
static size_t end(struct reader *reader, size_t index)
{
    struct open *const open = &reader->open[reader->depth - 1];
    if (open->left > 1) {
        open->left--;
        return open->line;
    }
    if (open->left == 0) {
        end_graph(reader, reader->lines.items[open->line].number);
    }
    reader->depth--;
    return index;
}

static bool run_lines(struct reader *reader)
{
    for (size_t i = 0; i < reader->lines.count && !reader->failed; i++) {
        const struct line *const line = &reader->lines.items[i];
        const bool is_repeat = strcmp(line->words[0], "repeat") == 0;
        if (++reader->lines_run > LINES_MOST) {
            return fail(reader, line->number, "more than %d lines, each as often as it is repeated",
                        LINES_MOST);
        }
        if (is_repeat || strcmp(line->words[0], "graph") == 0) {
            (void)begin(reader, i, is_repeat);
        } else if (strcmp(line->words[0], "end") == 0 && reader->depth > 0) {
            i = end(reader, i);
        } else {
            (void)run_line(reader, line);
        }
    }
    if (!reader->failed && reader->depth > 0) {
        const struct line *const line = &reader->lines.items[reader->open[reader->depth - 1].line];
        return fail(reader, line->number, "%s without an end", line->words[0]);
    }
    return !reader->failed;
}

static bool split_lines(struct reader *reader, char *text)
{
    char *rest = text;
    unsigned line_number = 0;
    for (char *start; (start = strsep(&rest, "\n")) != NULL;) {
        struct line line = {.number = ++line_number};
        char *words = NULL;
        start[strcspn(start, "#\r")] = '\0';
        for (char *word = strtok_r(start, " \t", &words); word != NULL;
             word = strtok_r(NULL, " \t", &words)) {
            if (line.count == WORDS) {
                return fail(reader, line.number, "more than %d words", WORDS);
            }
            line.words[line.count++] = word;
        }
        if (line.count > 0) {
            APPEND(&reader->lines, line);
        }
    }
    return true;
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

static void free_reader(struct reader *reader)
{
    for (size_t i = 0; i < reader->streams.count; i++) {
        free(reader->streams.items[i].last.items);
    }
    free(reader->streams.items);
    free(reader->edges.items);
    free(reader->lines.items);
    free(reader->graph.inside.last.items);
    free(reader->graph.node_launches.items);
    pdl_names_free(&reader->graph.nodes);
    pdl_names_free(&reader->kernel_names);
    pdl_names_free(&reader->stream_names);
}

bool sim_read(struct sim_program *program, const char *text, size_t size, const char *file)
{
    struct reader reader = {.program = program, .file = file};
    char *const copy = allocate(size + 1, 1);
    memcpy(copy, text, size);
    const bool read = split_lines(&reader, copy) && run_lines(&reader) &&
                      (program->launches.count > 0 || fail(&reader, 1, "nothing is launched"));
    if (read) {
        add_dependencies(&reader);
    }
    for (size_t i = 0; reader.gate && i < program->launches.count; i++) {
        program->launches.items[i].enqueued = 0;
    }
    free_reader(&reader);
    free(copy);
    return read;
}
