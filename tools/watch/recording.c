/* SPDX-License-Identifier: MIT */
/* Recordings, from the file into lists. Nothing in a file is believed: sizes, ids, times and texts are checked here or
 * where they are used. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/demangle.h"
#include "common/memory.h"
#include "common/print.h"
#include "watch/store.h"

#define LONGEST_RUN_NS                                                                             \
    UINT64_C(86400000000000) /* a day: what is said to be longer is not believed */
#define LATEST_NS  (UINT64_C(1) << 62)
#define EARLIER_NS UINT64_C(1000000000) /* that a run may be ahead of its recording */

/* A recording that is read. */
struct reading {
    struct watch *watch;
    struct watch_store *store;
    const unsigned char *bytes;
    size_t size;
    uint32_t process;
    uint64_t start_ns;
    bool damaged;
};

const char *store_text(struct watch_store *store, char *text)
{
    APPEND(&store->texts, text);
    return text;
}

/* The text behind a struct of `head` bytes that a record begins with. */
static const char *text_of(struct reading *reading, const struct pdl_watch_record *record,
                           size_t head)
{
    const size_t length = record->size - head - record->extra;
    const char *const from = (const char *)(const void *)record + head;
    const char *const end = memchr(from, '\0', length);
    const size_t used = end != NULL ? (size_t)(end - from) : length;
    char *const text = allocate(used + 1, 1);
    memcpy(text, from, used);
    return store_text(reading->store, text);
}

static uint64_t later(uint64_t time, uint64_t by)
{
    return time > UINT64_MAX - by ? UINT64_MAX : time + by;
}

/* ---- one record ------------------------------------------------------------------------------- */

static void read_name(struct reading *reading, const struct pdl_watch_record *record)
{
    const struct pdl_watch_name *const from = (const void *)record;
    uint32_t *const place = ids_put(&reading->store->by_name, from->id, reading->process);
    if (*place == WATCH_NONE) {
        *place = (uint32_t)reading->store->names.count;
        const struct store_name name = {text_of(reading, record, sizeof(*from)), WATCH_NONE};
        APPEND(&reading->store->names, name);
    }
}

static void read_device(struct reading *reading, const struct pdl_watch_record *record)
{
    const struct pdl_watch_device *const from = (const void *)record;
    uint32_t *const place = ids_put(&reading->store->by_context, from->context, reading->process);
    if (*place != WATCH_NONE) {
        return;
    }
    *place = (uint32_t)reading->watch->devices.count;
    const struct watch_device device = {
        .process = reading->process,
        .context = from->context,
        .device = from->device,
        .capability = from->capability,
        .sms = from->sms,
        .threads = from->threads,
        .blocks = from->blocks,
        .registers = from->registers,
        .shared_memory = from->shared_memory,
        .shared_memory_per_block = from->shared_memory_per_block,
        .reserved_shared_memory = from->reserved_shared_memory,
        .threads_per_block = from->threads_per_block,
        .name = text_of(reading, record, sizeof(*from)),
    };
    APPEND(&reading->watch->devices, device);
}

static void read_function(struct reading *reading, const struct pdl_watch_record *record)
{
    const struct pdl_watch_function *const from = (const void *)record;
    uint32_t *const place = ids_put(&reading->store->by_function, from->id, reading->process);
    if (*place != WATCH_NONE) {
        return;
    }
    *place = (uint32_t)reading->store->functions.count;
    const struct store_function function = {
        .process = reading->process,
        .id = from->id,
        .name = from->name,
        .kernel = WATCH_NONE,
        .device = from->device,
        .proved = from->proved,
        .registers = from->registers,
        .static_shared = from->static_shared,
        .ptx_version = from->ptx_version,
        .binary_version = from->binary_version,
        .carveout = from->carveout,
    };
    APPEND(&reading->store->functions, function);
}

static void read_image(struct reading *reading, const struct pdl_watch_record *record)
{
    const struct pdl_watch_image *const from = (const void *)record;
    const struct store_image image = {from->bytes, record->size - sizeof(*from) - record->extra,
                                      from->form, from->target, reading->process};
    APPEND(&reading->store->images, image);
}

static void read_instrumented(struct reading *reading, const struct pdl_watch_record *record)
{
    const struct pdl_watch_instrumented *const from = (const void *)record;
    const char *const text = text_of(reading, record, sizeof(*from));
    const size_t size = from->name_size < strlen(text) ? from->name_size : strlen(text);
    reading->watch->instruments = true;
    if (size > 0) {
        char *const name = format_text("%.*s", (int)size, text);
        const struct store_instrumented instrumented = {store_text(reading->store, name),
                                                        text + size, from->action};
        APPEND(&reading->store->instrumented, instrumented);
    }
}

static void read_launch(struct reading *reading, const struct pdl_watch_record *record)
{
    const struct pdl_watch_launch *const from = (const void *)record;
    const uint64_t end_ns = later(from->begin_ns, from->duration_ns);
    const struct watch_launch launch = {
        .begin_ns = from->begin_ns,
        .end_ns = end_ns,
        .stream = from->stream,
        .kernel = WATCH_NONE,
        .process = reading->process,
        .number = from->number,
        .nth = from->nth,
        .thread = from->thread,
        .flags = from->flags,
        .correlation = from->correlation,
        .context = from->context,
        .grid = {from->grid[0], from->grid[1], from->grid[2]},
        .block = {from->block[0], from->block[1], from->block[2]},
        .result = from->result,
        .dynamic_shared = from->dynamic_shared,
        .run = WATCH_NONE,
    };
    const struct store_call call = {
        .begin_ns = from->begin_ns,
        .end_ns = end_ns,
        .stream = from->stream,
        .process = reading->process,
        .context = from->context,
        .thread = from->thread,
        .correlation = from->correlation,
        .launch = (uint32_t)reading->watch->launches.count,
        .function = from->function, /* its id, until it is looked up */
        .run = WATCH_NONE,
        .queue = WATCH_NONE,
        .captured = (from->flags & PDL_WATCH_CAPTURED) != 0,
    };
    APPEND(&reading->watch->launches, launch);
    APPEND(&reading->store->calls, call);
}

static void read_operation(struct reading *reading, const struct pdl_watch_record *record)
{
    const struct pdl_watch_operation *const from = (const void *)record;
    const struct store_call call = {
        .begin_ns = from->begin_ns,
        .end_ns = later(from->begin_ns, from->duration_ns),
        .stream = from->stream,
        .detail = from->detail,
        .process = reading->process,
        .context = from->context,
        .thread = from->thread,
        .correlation = from->correlation,
        .what = from->operation,
        .launch = WATCH_NONE,
        .function = WATCH_NONE,
        .run = WATCH_NONE,
        .queue = WATCH_NONE,
        .captured = from->captured != 0,
    };
    if (from->operation >= PDL_WATCH_COPY && from->operation <= PDL_WATCH_MANY) {
        APPEND(&reading->store->calls, call);
    }
}

static bool are_possible(const struct reading *reading, uint64_t start_ns, uint64_t end_ns)
{
    return start_ns > 0 && end_ns >= start_ns && end_ns - start_ns <= LONGEST_RUN_NS &&
           end_ns < LATEST_NS && later(start_ns, EARLIER_NS) >= reading->start_ns;
}

static void add_run(struct reading *reading, const struct watch_run *run,
                    const struct store_run *more)
{
    if (are_possible(reading, run->start_ns, run->end_ns)) {
        APPEND(&reading->watch->runs, *run);
        APPEND(&reading->store->runs, *more);
    } else {
        reading->store->impossible++;
    }
}

static void read_execution(struct reading *reading, const struct pdl_watch_record *record)
{
    const struct pdl_watch_execution *const from = (const void *)record;
    const struct watch_run run = {
        .start_ns = from->start_ns,
        .end_ns = from->end_ns,
        .node = from->node,
        .kernel = from->name, /* its id, until it is looked up */
        .process = reading->process,
        .track = WATCH_NONE,
        .launch = WATCH_NONE,
        .before = WATCH_NONE,
        .pair = WATCH_NONE,
        .grid = {from->grid[0], from->grid[1], from->grid[2]},
        .block = {from->block[0], from->block[1], from->block[2]},
        .registers = from->registers,
        .static_shared = from->static_shared,
        .dynamic_shared = from->dynamic_shared,
        .shared_size = from->shared_size,
        .device = WATCH_NONE,
        .in_graph = from->node != 0 || from->graph != 0,
        .from_device = from->from_device != 0,
    };
    const struct store_run more = {from->correlation, from->context, from->stream, from->graph,
                                   WATCH_NONE,        WATCH_NONE,    WATCH_NONE,   0,
                                   WATCH_NONE};
    add_run(reading, &run, &more);
}

static void read_transfer(struct reading *reading, const struct pdl_watch_record *record)
{
    const struct pdl_watch_transfer *const from = (const void *)record;
    const struct watch_run run = {
        .start_ns = from->start_ns,
        .end_ns = from->end_ns,
        .node = from->node,
        .kernel = WATCH_NONE,
        .process = reading->process,
        .track = WATCH_NONE,
        .launch = WATCH_NONE,
        .before = WATCH_NONE,
        .pair = WATCH_NONE,
        .device = WATCH_NONE,
        .in_graph = from->node != 0 || from->graph != 0,
        .is_set = from->operation == PDL_WATCH_SET,
    };
    const struct store_run more = {from->correlation, from->context, from->stream, from->graph,
                                   WATCH_NONE,        WATCH_NONE,    WATCH_NONE,   0,
                                   WATCH_NONE};
    add_run(reading, &run, &more);
}

/* All executable graphs of one handle are one here: the ids of their nodes tell them apart. */
static uint32_t graph_of(struct reading *reading, uint64_t handle)
{
    uint32_t *const place = ids_put(&reading->store->by_handle, handle, reading->process);
    if (*place == WATCH_NONE) {
        *place = (uint32_t)reading->store->graphs.count;
        const struct store_graph graph = {handle, reading->process};
        APPEND(&reading->store->graphs, graph);
    }
    return *place;
}

static void read_graph(struct reading *reading, const struct pdl_watch_record *record)
{
    const struct pdl_watch_graph *const from = (const void *)record;
    const uint32_t graph = graph_of(reading, from->handle);
    if (from->graph != 0) {
        *ids_put(&reading->store->by_graph, from->graph, reading->process) = graph;
    }
}

static void read_node(struct reading *reading, const struct pdl_watch_record *record)
{
    const struct pdl_watch_node *const from = (const void *)record;
    const struct store_node node = {
        .node = from->node,
        .graph = graph_of(reading, from->graph),
        .type = from->type,
        .function = from->function,
        .flags = from->flags,
        .grid = {from->grid[0], from->grid[1], from->grid[2]},
        .block = {from->block[0], from->block[1], from->block[2]},
        .dynamic_shared = from->dynamic_shared,
    };
    uint32_t *const place = ids_put(&reading->store->by_node, from->node, node.graph);
    if (*place == WATCH_NONE) {
        *place = (uint32_t)reading->store->nodes.count;
        *ids_put(&reading->store->any_node, from->node, reading->process) = *place;
        APPEND(&reading->store->nodes, node);
    }
}

static void read_edge(struct reading *reading, const struct pdl_watch_record *record)
{
    const struct pdl_watch_edge *const from = (const void *)record;
    const struct store_edge edge = {
        .from = from->from,
        .to = from->to,
        .graph = graph_of(reading, from->graph),
        .from_node = WATCH_NONE,
        .to_node = WATCH_NONE,
        .programmatic = from->type == 1, /* CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC */
    };
    APPEND(&reading->store->edges, edge);
}

static void read_clone(struct reading *reading, const struct pdl_watch_record *record)
{
    const struct pdl_watch_clone *const from = (const void *)record;
    uint32_t *const place = ids_put(&reading->store->by_clone, from->node, reading->process);
    if (*place == WATCH_NONE) {
        *place = (uint32_t)reading->store->originals.count;
        APPEND(&reading->store->originals, from->original);
    }
}

static void read_note(struct reading *reading, const struct pdl_watch_record *record)
{
    const char *const text = text_of(reading, record, sizeof(struct pdl_watch_text));
    APPEND(&reading->watch->notes, text);
}

static const struct {
    size_t least;
    void (*read)(struct reading *reading, const struct pdl_watch_record *record);
} kinds[] = {
    [PDL_WATCH_NAME] = {sizeof(struct pdl_watch_name), read_name},
    [PDL_WATCH_DEVICE] = {sizeof(struct pdl_watch_device), read_device},
    [PDL_WATCH_FUNCTION] = {sizeof(struct pdl_watch_function), read_function},
    [PDL_WATCH_IMAGE] = {sizeof(struct pdl_watch_image), read_image},
    [PDL_WATCH_LAUNCH] = {sizeof(struct pdl_watch_launch), read_launch},
    [PDL_WATCH_OPERATION] = {sizeof(struct pdl_watch_operation), read_operation},
    [PDL_WATCH_EXECUTION] = {sizeof(struct pdl_watch_execution), read_execution},
    [PDL_WATCH_TRANSFER] = {sizeof(struct pdl_watch_transfer), read_transfer},
    [PDL_WATCH_GRAPH] = {sizeof(struct pdl_watch_graph), read_graph},
    [PDL_WATCH_NODE] = {sizeof(struct pdl_watch_node), read_node},
    [PDL_WATCH_EDGE] = {sizeof(struct pdl_watch_edge), read_edge},
    [PDL_WATCH_CLONE] = {sizeof(struct pdl_watch_clone), read_clone},
    [PDL_WATCH_NOTE] = {sizeof(struct pdl_watch_text), read_note},
    [PDL_WATCH_INSTRUMENTED] = {sizeof(struct pdl_watch_instrumented), read_instrumented},
};

/* ---- chunks ----------------------------------------------------------------------------------- */

static void read_record(struct reading *reading, const struct pdl_watch_record *record)
{
    if (record->kind >= sizeof(kinds) / sizeof(kinds[0]) || kinds[record->kind].read == NULL) {
        return; /* of a newer version */
    }
    const size_t least = kinds[record->kind].least;
    if (record->size < least || record->extra > record->size - least) {
        reading->damaged = true;
        return;
    }
    kinds[record->kind].read(reading, record);
}

/* The records from `at` on; a size or a kind of 0 ends them. */
static void read_records(struct reading *reading, const unsigned char *at, size_t left)
{
    while (left >= sizeof(struct pdl_watch_record)) {
        const struct pdl_watch_record *const record = (const void *)at;
        if (record->size == 0 || record->kind == PDL_WATCH_NONE) {
            return;
        }
        if (record->size > left || record->size % 8 != 0) {
            reading->damaged = true;
            return;
        }
        read_record(reading, record);
        at += record->size;
        left -= record->size;
    }
}

static bool is_empty(const unsigned char *page, size_t size)
{
    return page[0] == 0 && memcmp(page, page + 1, size - 1) == 0;
}

/* Pages without a chunk are room that was not used. Behind something else the next chunk is looked for. */
static void read_chunks(struct reading *reading, size_t at)
{
    while (at < reading->size) {
        const size_t left = reading->size - at;
        const struct pdl_watch_chunk *const chunk = (const void *)(reading->bytes + at);
        const bool is_chunk = left >= sizeof(*chunk) && chunk->magic == PDL_WATCH_CHUNK_MAGIC &&
                              chunk->size >= sizeof(*chunk) && chunk->size % PDL_WATCH_PAGE == 0;
        if (!is_chunk) {
            const size_t page = left < PDL_WATCH_PAGE ? left : PDL_WATCH_PAGE;
            reading->damaged = reading->damaged || !is_empty(reading->bytes + at, page);
            at += page;
            continue;
        }
        const size_t size = chunk->size < left ? chunk->size : left;
        reading->damaged = reading->damaged || size < chunk->size;
        read_records(reading, reading->bytes + at + sizeof(*chunk), size - sizeof(*chunk));
        at += size;
    }
}

/* ---- files ------------------------------------------------------------------------------------ */

/* All of it: a mapping of a file that is cut off meanwhile would end the program. NULL with errno. */
static unsigned char *read_file(const char *path, size_t *size)
{
    struct stat about;
    unsigned char *bytes = NULL;
    size_t count = 0;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) {
        return NULL;
    }
    int error = fstat(file, &about) != 0 ? errno : S_ISREG(about.st_mode) ? 0 : EINVAL;
    if (error == 0) {
        bytes = malloc((size_t)about.st_size + 8);
        error = bytes == NULL ? ENOMEM : 0;
    }
    while (error == 0 && count < (size_t)about.st_size) {
        const ssize_t got = read(file, bytes + count, (size_t)about.st_size - count);
        if (got == 0) {
            break;
        }
        if (got > 0) {
            count += (size_t)got;
        } else if (errno != EINTR) {
            error = errno;
        }
    }
    (void)close(file);
    if (error != 0) {
        free(bytes);
        errno = error;
        return NULL;
    }
    *size = count;
    return bytes;
}

/* Whether this program can read it; says why not. */
static bool check_header(const char *path, const struct pdl_watch_header *header, size_t size)
{
    if (size < sizeof(header->magic) ||
        memcmp(header->magic, PDL_WATCH_MAGIC, sizeof(header->magic)) != 0) {
        print_line(stderr, "%s: error: not a recording of pdltool watch", path);
        return false;
    }
    if (size < sizeof(*header)) {
        print_line(stderr, "%s: error: the recording ends within its header", path);
        return false;
    }
    if (header->order != PDL_WATCH_ORDER) {
        print_line(stderr, "%s: error: recorded on a machine with another byte order", path);
        return false;
    }
    if (header->version > PDL_WATCH_VERSION) {
        print_line(stderr, "%s: error: recording of version %u; this pdltool reads up to %u", path,
                   header->version, PDL_WATCH_VERSION);
        return false;
    }
    if (header->version == 0 || header->header_size < sizeof(*header)) {
        print_line(stderr, "%s: error: the header of the recording is invalid", path);
        return false;
    }
    return true;
}

static bool read_recording(struct watch *watch, const char *path)
{
    size_t size = 0;
    unsigned char *const bytes = read_file(path, &size);
    if (bytes == NULL) {
        print_line(stderr, "%s: error: %s", path,
                   errno == EINVAL ? "not a regular file" : strerror(errno));
        return false;
    }
    const struct pdl_watch_header *const header = (const void *)bytes;
    if (!check_header(path, header, size)) {
        free(bytes);
        return false;
    }
    struct watch_store *const store = watch->store;
    APPEND(&store->files, bytes);
    char *const command = allocate(sizeof(header->command) + 1, 1);
    memcpy(command, header->command, sizeof(header->command));
    struct reading reading = {.watch = watch,
                              .store = store,
                              .bytes = bytes,
                              .size = size,
                              .process = (uint32_t)watch->processes.count,
                              .start_ns = header->start_ns};
    if (header->first_chunk >= sizeof(*header) && header->first_chunk % PDL_WATCH_PAGE == 0) {
        read_chunks(&reading, header->first_chunk);
    } else {
        reading.damaged = true;
        read_chunks(&reading, PDL_WATCH_PAGE);
    }
    const struct watch_process process = {
        .path = store_text(store, copy_text(path)),
        .command = store_text(store, command),
        .id = header->process,
        .parent = header->parent,
        .cupti_version = header->cupti_version,
        .driver_version = header->driver_version,
        .start_ns = header->start_ns,
        .start_realtime_ns = header->start_realtime_ns,
        .lost = header->lost,
        .lost_device = header->lost_device,
        .ended = header->ended == 1,
        .damaged = reading.damaged,
    };
    APPEND(&watch->processes, process);
    return true;
}

bool watch_read(struct watch *watch, const char *const *paths, size_t count)
{
    *watch = (struct watch){.store = allocate(1, sizeof(*watch->store))};
    for (size_t i = 0; i < count; i++) {
        if (!read_recording(watch, paths[i])) {
            return false;
        }
    }
    return true;
}

uint32_t store_kernel(struct watch *watch, const char *name)
{
    const uint32_t index = name_index(&watch->store->kernel_names, name);
    if (index == watch->kernels.count) {
        const struct watch_kernel kernel = {
            .name = store_text(watch->store, copy_text(name)),
            .shown = store_text(watch->store, demangle(name)),
            .registers = -1,
            .static_shared = -1,
            .ptx_version = -1,
            .binary_version = -1,
        };
        APPEND(&watch->kernels, kernel);
    }
    return index;
}

void watch_free(struct watch *watch)
{
    struct watch_store *const store = watch->store;
    if (store != NULL) {
        for (size_t i = 0; i < store->files.count; i++) {
            free(store->files.items[i]);
        }
        for (size_t i = 0; i < store->texts.count; i++) {
            free(store->texts.items[i]);
        }
        struct ids *const tables[] = {&store->by_name,   &store->by_function, &store->by_context,
                                      &store->by_handle, &store->by_graph,    &store->by_node,
                                      &store->any_node,  &store->by_clone};
        for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
            ids_free(tables[i]);
        }
        void *const lists[] = {
            store->files.items,     store->texts.items,       store->names.items,
            store->functions.items, store->images.items,      store->calls.items,
            store->runs.items,      store->graphs.items,      store->nodes.items,
            store->edges.items,     store->originals.items,   store->groups.items,
            store->members,         store->instrumented.items};
        for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
            free(lists[i]);
        }
        pdl_names_free(&store->kernel_names);
    }
    void *const lists[] = {watch->processes.items, watch->kernels.items, watch->launches.items,
                           watch->runs.items,      watch->pairs.items,   watch->devices.items,
                           watch->tracks.items,    watch->notes.items};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        free(lists[i]);
    }
    free(store);
    *watch = (struct watch){.store = NULL};
}
