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
    size_t end; /* of a graph or repeat: the line that ends it, or the number of lines */
};

/* A launch that others may have to come after. */
struct set {
    uint32_t *items;
    size_t count, capacity;
};

struct stream {
    uint32_t track;
    struct set last;    /* what its next launch comes after */
    struct set events;  /* likewise, by events */
    struct set awaited; /* events that are recorded further down */
};

struct event {
    bool recorded;
    struct set after;    /* what the record came after */
    struct set awaiting; /* launches that came before the record */
};

struct edge {
    uint32_t from, to;
    bool programmatic;
    unsigned line;
};

struct reader {
    struct sim_program *program;
    const char *file;
    bool failed, gate, in_graph, in_repeat;
    double host; /* how far the host has come */
    size_t lines_run, ordered;
    struct pdl_names kernel_names, stream_names, event_names; /* by the index of what they name */
    struct {
        struct line *items;
        size_t count, capacity;
    } lines;
    struct {
        struct stream *items;
        size_t count, capacity;
    } streams;
    struct {
        struct event *items;
        size_t count, capacity;
    } events;
    struct {
        struct edge *items;
        size_t count, capacity;
    } edges;
    struct pdl_names nodes; /* of the graph that is being read */
    struct set node_launches;
    uint32_t graph_first; /* its first launch */
    size_t graph_edges;   /* its first edge */
    struct stream graph_stream;
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
    if (reader->in_repeat || reader->in_graph) {
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

/* ---- streams, events and launches ----------------------------------------------------------------- */

static uint32_t add_track(struct reader *reader, const char *name)
{
    char *const copy = copy_text(name);
    APPEND(&reader->program->tracks, copy);
    return (uint32_t)reader->program->tracks.count - 1;
}

static struct stream *find_stream(struct reader *reader, const char *name)
{
    const uint32_t index = name_index(&reader->stream_names, name);
    if (index == reader->streams.count) {
        const struct stream stream = {.track = add_track(reader, name)};
        APPEND(&reader->streams, stream);
    }
    return &reader->streams.items[index];
}

static struct event *find_event(struct reader *reader, const char *name)
{
    const uint32_t index = name_index(&reader->event_names, name);
    if (index == reader->events.count) {
        const struct event event = {.recorded = false};
        APPEND(&reader->events, event);
    }
    return &reader->events.items[index];
}

/* One launch more that others come after: repeats and graphs multiply them. */
static bool may_order(struct reader *reader, unsigned line)
{
    return ++reader->ordered <= ORDERED_MOST ||
           fail(reader, line, "launches come after more than %d others", ORDERED_MOST);
}

static void add_edge(struct reader *reader, uint32_t from, uint32_t to, bool programmatic,
                     unsigned line)
{
    const struct edge edge = {from, to, programmatic, line};
    if (may_order(reader, line)) {
        APPEND(&reader->edges, edge);
    }
}

static void add_all(struct reader *reader, struct set *to, const struct set *from, unsigned line)
{
    for (size_t i = 0; i < from->count && may_order(reader, line); i++) {
        APPEND(to, from->items[i]);
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

/* The launch has to come after what the stream awaits and nobody has recorded yet. */
static void await_events(struct reader *reader, struct stream *stream, uint32_t launch)
{
    for (size_t i = 0; i < stream->awaited.count; i++) {
        APPEND(&reader->events.items[stream->awaited.items[i]].awaiting, launch);
    }
    stream->awaited.count = 0;
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
    add_edges(reader, &stream->events, index, false, line);
    await_events(reader, stream, index);
    stream->last.count = stream->events.count = 0;
    APPEND(&stream->last, index);
    return true;
}

/* The words after the first `from`: stream=NAME, and overlap where it may stand. */
static bool read_options(struct reader *reader, const struct line *line, unsigned from,
                         struct stream **stream, bool *overlap)
{
    const char *name = "stream";
    for (unsigned i = from; i < line->count; i++) {
        const char *const value = sim_value_of(line->words[i], "stream");
        if (value != NULL && *value != '\0' && stream != NULL) {
            name = value;
        } else if (overlap != NULL && strcmp(line->words[i], "overlap") == 0) {
            *overlap = true;
        } else {
            return fail(reader, line->number, "'%.60s' does not belong here", line->words[i]);
        }
    }
    if (stream != NULL) {
        *stream = find_stream(reader, name);
    }
    return true;
}

static bool need_name(struct reader *reader, const struct line *line, const char *what)
{
    return line->count >= 2 || fail(reader, line->number, "%s needs %s", line->words[0], what);
}

static bool read_launch(struct reader *reader, const struct line *line)
{
    uint32_t kernel = 0;
    bool overlap = false;
    struct stream *stream = &reader->graph_stream;
    if (!need_name(reader, line, "a kernel") ||
        !read_options(reader, line, 2, reader->in_graph ? NULL : &stream, &overlap)) {
        return false;
    }
    if (!find_kernel(reader, line->words[1], &kernel)) {
        return fail(reader, line->number, "there is no kernel '%.60s'", line->words[1]);
    }
    if (!add_launch(reader, stream, kernel, overlap, reader->in_graph ? SIM_GRAPH : SIM_STREAM,
                    line->number)) {
        return false;
    }
    if (!reader->in_graph) {
        const struct sim_device *const device = &reader->program->device;
        reader->host += overlap ? device->host_overlap : device->host_launch;
        reader->program->launches.items[reader->program->launches.count - 1].enqueued =
            reader->host + device->submit;
    }
    return true;
}

static bool read_record(struct reader *reader, const struct line *line)
{
    struct stream *stream = &reader->graph_stream;
    if (!need_name(reader, line, "an event") || !read_options(reader, line, 2, &stream, NULL)) {
        return false;
    }
    struct event *const event = find_event(reader, line->words[1]);
    event->after.count = 0;
    add_all(reader, &event->after, &stream->last, line->number);
    for (size_t i = 0; i < event->awaiting.count; i++) {
        add_edges(reader, &stream->last, event->awaiting.items[i], false, line->number);
    }
    event->awaiting.count = 0;
    event->recorded = true;
    return true;
}

/* An event that is recorded further down orders the stream's next launch, too. */
static bool read_await(struct reader *reader, const struct line *line)
{
    struct stream *stream = &reader->graph_stream;
    if (!need_name(reader, line, "an event") || !read_options(reader, line, 2, &stream, NULL)) {
        return false;
    }
    struct event *const event = find_event(reader, line->words[1]);
    add_all(reader, &stream->events, &event->after, line->number);
    if (!event->recorded) {
        APPEND(&stream->awaited, (uint32_t)(event - reader->events.items));
    }
    return true;
}

/* ---- graphs -------------------------------------------------------------------------------------- */

static bool find_node(const struct reader *reader, const char *name, uint32_t *launch)
{
    uint32_t index = 0;
    const bool found = pdl_names_find(&reader->nodes, name, &index);
    *launch = found ? reader->node_launches.items[index] : *launch;
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
    (void)name_index(&reader->nodes, line->words[1]);
    APPEND(&reader->node_launches, (uint32_t)reader->program->launches.count);
    reader->graph_stream.last.count = 0; /* edges say what it depends on */
    return add_launch(reader, &reader->graph_stream, index, false, SIM_GRAPH, line->number);
}

static bool read_edge(struct reader *reader, const struct line *line)
{
    uint32_t ends[2] = {0, 0};
    bool overlap = false;
    if (line->count < 3) {
        return fail(reader, line->number, "edge needs two nodes");
    }
    for (int i = 0; i < 2; i++) {
        if (!find_node(reader, line->words[1 + i], &ends[i])) {
            return fail(reader, line->number, "there is no node '%.60s'", line->words[1 + i]);
        }
    }
    if (!read_options(reader, line, 3, NULL, &overlap)) {
        return false;
    }
    add_edge(reader, ends[0], ends[1], overlap, line->number);
    return true;
}

/* Launches of the graph without anything before or after them. */
static void find_ends(const struct reader *reader, bool first, struct set *ends)
{
    const size_t count = reader->program->launches.count - reader->graph_first;
    bool *const inner = allocate(count, sizeof(*inner));
    for (size_t i = reader->graph_edges; i < reader->edges.count; i++) {
        const struct edge *const edge = &reader->edges.items[i];
        const uint32_t launch = first ? edge->to : edge->from;
        if (launch >= reader->graph_first) {
            inner[launch - reader->graph_first] = true;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (!inner[i]) {
            APPEND(ends, (uint32_t)(reader->graph_first + i));
        }
    }
    free(inner);
}

/* The graph comes after what is in its stream, and what follows comes after all of it. */
static void join_graph(struct reader *reader, struct stream *stream, unsigned line)
{
    const struct sim_device *const device = &reader->program->device;
    struct set first = {0};
    struct set last = {0};
    find_ends(reader, true, &first);
    find_ends(reader, false, &last);
    reader->host += device->host_graph;
    for (size_t i = reader->graph_first; i < reader->program->launches.count; i++) {
        reader->host += device->host_node;
    }
    for (size_t i = reader->graph_first; i < reader->program->launches.count; i++) {
        reader->program->launches.items[i].enqueued = reader->host + device->submit;
    }
    for (size_t i = 0; i < first.count && !reader->failed; i++) {
        await_events(reader, stream, first.items[i]);
        add_edges(reader, &stream->last, first.items[i], false, line);
        add_edges(reader, &stream->events, first.items[i], false, line);
    }
    free(first.items);
    if (last.count > 0) {
        free(stream->last.items);
        stream->last = last;
        stream->events.count = 0;
    }
}

/* ---- the lines ----------------------------------------------------------------------------------- */

static bool run_lines(struct reader *reader, size_t from, size_t to);

static bool run_repeat(struct reader *reader, size_t from, size_t to)
{
    const struct line *const line = &reader->lines.items[from];
    const bool before = reader->in_repeat;
    unsigned times = 0;
    if (line->count != 2) {
        return fail(reader, line->number, "repeat needs a number");
    }
    char wrong[SIM_WRONG];
    if (!sim_read_count(line->words[1], 1, LAUNCHES_MOST, &times, wrong)) {
        return fail(reader, line->number, "%s", wrong);
    }
    reader->in_repeat = true;
    for (unsigned i = 0; i < times && to > from + 1; i++) {
        if (!run_lines(reader, from + 1, to)) {
            return false;
        }
    }
    reader->in_repeat = before;
    return true;
}

static bool run_graph(struct reader *reader, size_t from, size_t to)
{
    const struct line *const line = &reader->lines.items[from];
    struct stream *stream = &reader->graph_stream;
    if (reader->in_graph) {
        return fail(reader, line->number, "a graph in a graph");
    }
    if (!read_options(reader, line, 1, &stream, NULL)) {
        return false;
    }
    const size_t index = (size_t)(stream - reader->streams.items);
    reader->in_graph = true;
    reader->graph_first = (uint32_t)reader->program->launches.count;
    reader->graph_edges = reader->edges.count;
    pdl_names_free(&reader->nodes);
    reader->node_launches.count = 0;
    reader->graph_stream.track = stream->track;
    reader->graph_stream.last.count = 0;
    const bool done = run_lines(reader, from + 1, to);
    reader->in_graph = false;
    if (done) {
        join_graph(reader, &reader->streams.items[index], line->number);
    }
    return done;
}

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

/* One line that is neither repeat nor graph. */
static bool run_line(struct reader *reader, const struct line *line)
{
    static const struct {
        const char *word;
        bool (*read)(struct reader *reader, const struct line *line);
        bool in_graph, outside;
    } words[] = {
        {"device", read_device, false, true}, {"kernel", read_kernel, true, true},
        {"gate", read_gate, false, true},     {"launch", read_launch, true, true},
        {"record", read_record, false, true}, {"await", read_await, false, true},
        {"node", read_node, true, false},     {"edge", read_edge, true, false},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strcmp(words[i].word, line->words[0]) == 0) {
            if (!(reader->in_graph ? words[i].in_graph : words[i].outside)) {
                return fail(reader, line->number, "'%.60s' belongs %s a graph", line->words[0],
                            reader->in_graph ? "outside of" : "in");
            }
            return words[i].read(reader, line);
        }
    }
    return fail(reader, line->number, "unknown word '%.60s'", line->words[0]);
}

static bool run_lines(struct reader *reader, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const struct line *const line = &reader->lines.items[i];
        if (++reader->lines_run > LINES_MOST) {
            return fail(reader, line->number, "more than %d lines, each as often as it is repeated",
                        LINES_MOST);
        }
        const bool repeat = strcmp(line->words[0], "repeat") == 0;
        if (!repeat && strcmp(line->words[0], "graph") != 0) {
            if (!run_line(reader, line) || reader->failed) {
                return false;
            }
            continue;
        }
        const size_t end = line->end;
        if (end >= to) {
            return fail(reader, line->number, "%s without an end", line->words[0]);
        }
        if (!(repeat ? run_repeat : run_graph)(reader, i, end) || reader->failed) {
            return false;
        }
        i = end;
    }
    return true;
}

/* Tells each graph and repeat where it ends. */
static bool find_line_ends(struct reader *reader)
{
    size_t open[DEPTH];
    size_t depth = 0;
    for (size_t i = 0; i < reader->lines.count; i++) {
        struct line *const line = &reader->lines.items[i];
        if (strcmp(line->words[0], "graph") == 0 || strcmp(line->words[0], "repeat") == 0) {
            if (depth == DEPTH) {
                return fail(reader, line->number, "more than %d of repeat and graph in each other",
                            DEPTH);
            }
            line->end = reader->lines.count;
            open[depth++] = i;
        } else if (depth > 0 && strcmp(line->words[0], "end") == 0) {
            reader->lines.items[open[--depth]].end = i;
        }
    }
    return true;
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

/* What comes directly after each launch, of which all[first[i]] .. all[first[i + 1] - 1] come after launch i. */
static uint32_t *find_successors(const struct sim_program *program, size_t *first)
{
    const size_t count = program->launches.count;
    uint32_t *const all = allocate(program->dependencies.count, sizeof(*all));
    for (size_t i = 0; i < program->dependencies.count; i++) {
        first[program->dependencies.items[i].on + 2]++;
    }
    for (size_t i = 0; i < count; i++) {
        first[i + 2] += first[i + 1];
    }
    for (size_t i = 0; i < count; i++) { /* moves first[on + 1] from its begin to its end */
        const struct sim_launch *const launch = &program->launches.items[i];
        for (uint32_t j = 0; j < launch->dependencies_count; j++) {
            const uint32_t on = program->dependencies.items[launch->dependencies + j].on;
            all[first[on + 1]++] = (uint32_t)i;
        }
    }
    return all;
}

/* The number of launches that can have their turn; waits_for[i] is 0 for these. */
static size_t count_turns(const struct sim_program *program, uint32_t *waits_for)
{
    const size_t count = program->launches.count;
    size_t *const first = allocate(count + 2, sizeof(*first));
    uint32_t *const after = find_successors(program, first);
    uint32_t *const turns = allocate(count, sizeof(*turns));
    size_t had = 0;
    for (size_t i = 0; i < count; i++) {
        waits_for[i] = program->launches.items[i].dependencies_count;
        if (waits_for[i] == 0) {
            turns[had++] = (uint32_t)i;
        }
    }
    for (size_t i = 0; i < had; i++) {
        for (size_t j = first[turns[i]]; j < first[turns[i] + 1]; j++) {
            if (--waits_for[after[j]] == 0) {
                turns[had++] = after[j];
            }
        }
    }
    free(turns);
    free(after);
    free(first);
    return had;
}

/* Whether every launch can have its turn: else the last line that orders two that cannot is named. */
static bool check_cycle(struct reader *reader)
{
    const size_t count = reader->program->launches.count;
    uint32_t *const waits_for = allocate(count, sizeof(*waits_for));
    if (count_turns(reader->program, waits_for) < count) {
        unsigned last = 0; /* what closes it */
        for (size_t i = 0; i < reader->edges.count; i++) {
            const struct edge *const edge = &reader->edges.items[i];
            const bool both = waits_for[edge->to] > 0 && waits_for[edge->from] > 0;
            last = both && edge->line > last ? edge->line : last;
        }
        (void)fail(reader, last, "a cycle: this makes a launch wait for itself");
    }
    free(waits_for);
    return !reader->failed;
}

static void free_reader(struct reader *reader)
{
    for (size_t i = 0; i < reader->streams.count; i++) {
        free(reader->streams.items[i].last.items);
        free(reader->streams.items[i].events.items);
        free(reader->streams.items[i].awaited.items);
    }
    for (size_t i = 0; i < reader->events.count; i++) {
        free(reader->events.items[i].after.items);
        free(reader->events.items[i].awaiting.items);
    }
    free(reader->graph_stream.last.items);
    free(reader->streams.items);
    free(reader->events.items);
    free(reader->edges.items);
    pdl_names_free(&reader->nodes);
    free(reader->node_launches.items);
    pdl_names_free(&reader->kernel_names);
    pdl_names_free(&reader->stream_names);
    pdl_names_free(&reader->event_names);
    free(reader->lines.items);
}

bool sim_read(struct sim_program *program, const char *text, size_t size, const char *file)
{
    struct reader reader = {.program = program, .file = file};
    char *const copy = allocate(size + 1, 1);
    memcpy(copy, text, size);
    bool read = split_lines(&reader, copy) && find_line_ends(&reader) &&
                run_lines(&reader, 0, reader.lines.count);
    if (read) {
        add_dependencies(&reader);
        read = check_cycle(&reader);
    }
    if (read && program->launches.count == 0) {
        read = fail(&reader, 1, "nothing is launched");
    }
    for (size_t i = 0; reader.gate && i < program->launches.count; i++) {
        program->launches.items[i].enqueued = 0;
    }
    free_reader(&reader);
    free(copy);
    return read;
}
