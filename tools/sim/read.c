/* SPDX-License-Identifier: MIT */
/* Descriptions: a line a thing, words and values. docs/model.md tells them all. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "sim/read.h"

enum { WORDS = 32, LAUNCHES_MOST = 10000000 };

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
    char *name;
    uint32_t track;
    struct set last;    /* what its next launch comes after */
    struct set events;  /* likewise, by events */
    struct set awaited; /* events that are recorded further down */
};

struct event {
    char *name;
    bool recorded;
    struct set after;    /* what the record came after */
    struct set awaiting; /* launches that came before the record */
};

struct edge {
    uint32_t from, to;
    bool programmatic;
    unsigned line;
};

struct node {
    char *name;
    uint32_t launch;
};

struct reader {
    struct sim_program *program;
    const char *file;
    bool failed, gate, in_graph, in_repeat;
    double host; /* how far the host has come */
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
    struct {
        struct node *items;
        size_t count, capacity;
    } nodes;              /* of the graph that is being read */
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
        (void)fprintf(stderr, "%s:%u: ", reader->file, line);
        (void)vfprintf(stderr, format, list);
        (void)fputc('\n', stderr);
        va_end(list);
    }
    reader->failed = true;
    return false;
}

static bool find_kernel(const struct reader *reader, const char *name, uint32_t *index)
{
    for (size_t i = 0; i < reader->program->kernels.count; i++) {
        if (strcmp(reader->program->kernels.items[i].name, name) == 0) {
            *index = (uint32_t)i;
            return true;
        }
    }
    return false;
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
        return fail(reader, line->number, "there is a kernel '%s' already, in line %u",
                    line->words[1], reader->program->kernels.items[index].line);
    }
    if (reader->in_repeat || reader->in_graph) {
        return fail(reader, line->number, "a kernel is described outside of repeat and graph");
    }
    if (!sim_read_kernel(&reader->program->device, line->words + 1, line->count - 1, &kernel,
                         wrong)) {
        return fail(reader, line->number, "%s", wrong);
    }
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
    for (size_t i = 0; i < reader->streams.count; i++) {
        if (strcmp(reader->streams.items[i].name, name) == 0) {
            return &reader->streams.items[i];
        }
    }
    const struct stream stream = {.name = copy_text(name), .track = add_track(reader, name)};
    APPEND(&reader->streams, stream);
    return &reader->streams.items[reader->streams.count - 1];
}

static struct event *find_event(struct reader *reader, const char *name)
{
    for (size_t i = 0; i < reader->events.count; i++) {
        if (strcmp(reader->events.items[i].name, name) == 0) {
            return &reader->events.items[i];
        }
    }
    const struct event event = {.name = copy_text(name)};
    APPEND(&reader->events, event);
    return &reader->events.items[reader->events.count - 1];
}

static void add_edge(struct reader *reader, uint32_t from, uint32_t to, bool programmatic,
                     unsigned line)
{
    const struct edge edge = {from, to, programmatic, line};
    APPEND(&reader->edges, edge);
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
    for (size_t i = 0; i < stream->last.count; i++) {
        add_edge(reader, stream->last.items[i], index, overlap, line);
    }
    for (size_t i = 0; i < stream->events.count; i++) {
        add_edge(reader, stream->events.items[i], index, false, line);
    }
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
            return fail(reader, line->number, "'%s' does not belong here", line->words[i]);
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
        return fail(reader, line->number, "there is no kernel '%s'", line->words[1]);
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
    for (size_t i = event->after.count = 0; i < stream->last.count; i++) {
        APPEND(&event->after, stream->last.items[i]);
        for (size_t j = 0; j < event->awaiting.count; j++) {
            add_edge(reader, stream->last.items[i], event->awaiting.items[j], false, line->number);
        }
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
    for (size_t i = 0; i < event->after.count; i++) {
        APPEND(&stream->events, event->after.items[i]);
    }
    if (!event->recorded) {
        APPEND(&stream->awaited, (uint32_t)(event - reader->events.items));
    }
    return true;
}

/* ---- graphs -------------------------------------------------------------------------------------- */

static bool find_node(const struct reader *reader, const char *name, uint32_t *launch)
{
    for (size_t i = 0; i < reader->nodes.count; i++) {
        if (strcmp(reader->nodes.items[i].name, name) == 0) {
            *launch = reader->nodes.items[i].launch;
            return true;
        }
    }
    return false;
}

static bool read_node(struct reader *reader, const struct line *line)
{
    uint32_t index = 0;
    if (line->count != 3) {
        return fail(reader, line->number, "node needs a name and a kernel");
    }
    if (find_node(reader, line->words[1], &index)) {
        return fail(reader, line->number, "there is a node '%s' already", line->words[1]);
    }
    if (!find_kernel(reader, line->words[2], &index)) {
        return fail(reader, line->number, "there is no kernel '%s'", line->words[2]);
    }
    const struct node node = {line->words[1], (uint32_t)reader->program->launches.count};
    APPEND(&reader->nodes, node);
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
            return fail(reader, line->number, "there is no node '%s'", line->words[1 + i]);
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
    for (size_t i = reader->graph_first; i < reader->program->launches.count; i++) {
        bool is_end = true;
        for (size_t j = reader->graph_edges; j < reader->edges.count && is_end; j++) {
            is_end = (first ? reader->edges.items[j].to : reader->edges.items[j].from) != i;
        }
        if (is_end) {
            APPEND(ends, (uint32_t)i);
        }
    }
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
    for (size_t i = 0; i < first.count; i++) {
        await_events(reader, stream, first.items[i]);
        for (size_t j = 0; j < stream->last.count; j++) {
            add_edge(reader, stream->last.items[j], first.items[i], false, line);
        }
        for (size_t j = 0; j < stream->events.count; j++) {
            add_edge(reader, stream->events.items[j], first.items[i], false, line);
        }
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

/* The `end` of the graph or repeat in a line; the number of lines where it is missing. */
static size_t find_end(const struct reader *reader, size_t from)
{
    unsigned depth = 1;
    size_t at = from + 1;
    for (; at < reader->lines.count; at++) {
        const char *const word = reader->lines.items[at].words[0];
        depth += strcmp(word, "graph") == 0 || strcmp(word, "repeat") == 0;
        depth -= strcmp(word, "end") == 0;
        if (depth == 0) {
            break;
        }
    }
    return at;
}

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
    reader->nodes.count = 0;
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
           fail(reader, line->number, "'%s' does not belong here", line->words[1]);
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
                return fail(reader, line->number, "'%s' belongs %s a graph", line->words[0],
                            reader->in_graph ? "outside of" : "in");
            }
            return words[i].read(reader, line);
        }
    }
    return fail(reader, line->number, "unknown word '%s'", line->words[0]);
}

static bool run_lines(struct reader *reader, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const struct line *const line = &reader->lines.items[i];
        const bool repeat = strcmp(line->words[0], "repeat") == 0;
        if (!repeat && strcmp(line->words[0], "graph") != 0) {
            if (!run_line(reader, line)) {
                return false;
            }
            continue;
        }
        const size_t end = find_end(reader, i);
        if (end >= to) {
            return fail(reader, line->number, "%s without an end", line->words[0]);
        }
        if (!(repeat ? run_repeat : run_graph)(reader, i, end)) {
            return false;
        }
        i = end;
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

/* Whether every launch can have its turn: else the last line that orders two that cannot is named. */
static bool check_cycle(struct reader *reader)
{
    const struct sim_program *const program = reader->program;
    const size_t count = program->launches.count;
    bool more = true;
    /* In the order of the text one pass is enough, but for edges that lead back. */
    bool *const done = allocate(count + 1, sizeof(*done));
    size_t finished = 0;
    while (more && finished < count) {
        more = false;
        for (size_t i = 0; i < count; i++) {
            const struct sim_launch *const launch = &program->launches.items[i];
            bool ready = !done[i];
            for (uint32_t j = 0; j < launch->dependencies_count && ready; j++) {
                ready = done[program->dependencies.items[launch->dependencies + j].on];
            }
            done[i] = done[i] || ready;
            finished += ready;
            more = more || ready;
        }
    }
    unsigned last = 0; /* what closes it */
    for (size_t i = 0; finished < count && i < reader->edges.count; i++) {
        const struct edge *const edge = &reader->edges.items[i];
        if (!done[edge->to] && !done[edge->from] && edge->line > last) {
            last = edge->line;
        }
    }
    if (finished < count) {
        (void)fail(reader, last, "a cycle: this makes a launch wait for itself");
    }
    free(done);
    return !reader->failed;
}

static void free_reader(struct reader *reader)
{
    for (size_t i = 0; i < reader->streams.count; i++) {
        free(reader->streams.items[i].name);
        free(reader->streams.items[i].last.items);
        free(reader->streams.items[i].events.items);
        free(reader->streams.items[i].awaited.items);
    }
    for (size_t i = 0; i < reader->events.count; i++) {
        free(reader->events.items[i].name);
        free(reader->events.items[i].after.items);
        free(reader->events.items[i].awaiting.items);
    }
    free(reader->graph_stream.last.items);
    free(reader->streams.items);
    free(reader->events.items);
    free(reader->edges.items);
    free(reader->nodes.items);
    free(reader->lines.items);
}

bool sim_read(struct sim_program *program, const char *text, size_t size, const char *file)
{
    struct reader reader = {.program = program, .file = file};
    char *const copy = allocate(size + 1, 1);
    memcpy(copy, text, size);
    bool read = split_lines(&reader, copy) && run_lines(&reader, 0, reader.lines.count);
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
