/* SPDX-License-Identifier: MIT */
#include "make_recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"

static size_t rounded(size_t size, size_t to)
{
    return (size + to - 1) / to * to;
}

/* Makes the file longer by zeros. */
static void grow(struct recording *recording, size_t size)
{
    if (recording->size + size > recording->capacity) {
        const size_t capacity = (recording->size + size) * 2;
        unsigned char *bytes = realloc(recording->bytes, capacity);
        if (bytes == NULL) {
            abort();
        }
        recording->bytes = bytes;
        recording->capacity = capacity;
    }
    memset(recording->bytes + recording->size, 0, size);
    recording->size += size;
}

void recording_begin(struct recording *recording)
{
    *recording = (struct recording){.chunk_size = PDL_WATCH_PAGE};
    grow(recording, PDL_WATCH_PAGE);
    struct pdl_watch_header *header = recording_header(recording);
    memcpy(header->magic, PDL_WATCH_MAGIC, sizeof(header->magic));
    header->version = PDL_WATCH_VERSION;
    header->order = PDL_WATCH_ORDER;
    header->header_size = sizeof(*header);
    header->process = 1000;
    header->parent = 999;
    header->ended = 1;
    header->first_chunk = PDL_WATCH_PAGE;
    header->start_ns = 1000;
    header->start_realtime_ns = UINT64_C(1700000000000000000);
    header->cupti_version = 130000;
    header->driver_version = 13000;
    strcpy(header->command, "./program --fast");
}

struct pdl_watch_header *recording_header(struct recording *recording)
{
    return (struct pdl_watch_header *)(void *)recording->bytes;
}

void recording_chunk(struct recording *recording, uint32_t size)
{
    recording->chunk = 0;
    recording->chunk_size = (uint32_t)rounded(size, PDL_WATCH_PAGE);
}

void *recording_add(struct recording *recording, enum pdl_watch_kind kind, const void *record,
                    size_t size, const void *tail, size_t tail_size)
{
    const size_t whole = rounded(size + tail_size, 8);
    struct pdl_watch_record header = {.size = (uint32_t)whole,
                                      .kind = (uint16_t)kind,
                                      .extra = (uint16_t)(whole - size - tail_size)};
    if (recording->chunk == 0 || recording->used + whole > recording->chunk_size) {
        const size_t needed = rounded(sizeof(struct pdl_watch_chunk) + whole, PDL_WATCH_PAGE);
        if (needed > recording->chunk_size) {
            recording->chunk_size = (uint32_t)needed;
        }
        const struct pdl_watch_chunk chunk = {.magic = PDL_WATCH_CHUNK_MAGIC,
                                              .size = recording->chunk_size};
        recording->chunk = recording->size;
        recording->used = sizeof(chunk);
        grow(recording, chunk.size);
        memcpy(recording->bytes + recording->chunk, &chunk, sizeof(chunk));
    }
    unsigned char *at = recording->bytes + recording->chunk + recording->used;
    memcpy(at, record, size);
    memcpy(at, &header, sizeof(header));
    if (tail_size > 0) {
        memcpy(at + size, tail, tail_size);
    }
    recording->used += whole;
    return at;
}

/* The structs end in an array of no length, so that their sizes are those of what is before it. */
static void *add_text(struct recording *recording, enum pdl_watch_kind kind, const void *record,
                      size_t size, const char *text)
{
    return recording_add(recording, kind, record, size, text, strlen(text));
}

void recording_name(struct recording *recording, uint32_t id, const char *text)
{
    const struct pdl_watch_name name = {.id = id};
    (void)add_text(recording, PDL_WATCH_NAME, &name, sizeof(name), text);
}

void recording_device(struct recording *recording, uint32_t context)
{
    const struct pdl_watch_device device = {
        .context = context,
        .capability = 90,
        .sms = 132,
        .threads = 2048,
        .blocks = 32,
        .registers = 65536,
        .shared_memory = 233472,
        .shared_memory_per_block = 232448,
        .reserved_shared_memory = 1024,
        .threads_per_block = 1024,
        .clock_khz = 1980000,
    };
    (void)add_text(recording, PDL_WATCH_DEVICE, &device, sizeof(device), "NVIDIA H200");
}

struct pdl_watch_function *recording_function(struct recording *recording, uint32_t id,
                                              uint32_t name)
{
    const struct pdl_watch_function function = {.id = id,
                                                .name = name,
                                                .handle = 0x1000 + id,
                                                .registers = 32,
                                                .ptx_version = 90,
                                                .binary_version = 90,
                                                .carveout = -1};
    return RECORDING_ADD(recording, PDL_WATCH_FUNCTION, &function);
}

void recording_image(struct recording *recording, enum pdl_watch_form form, const void *bytes,
                     size_t size)
{
    const struct pdl_watch_image image = {.form = (uint32_t)form,
                                          .hash = pdl_hash(PDL_HASH_START, bytes, size)};
    (void)recording_add(recording, PDL_WATCH_IMAGE, &image, sizeof(image), bytes, size);
}

struct pdl_watch_launch *recording_launch(struct recording *recording, uint32_t function,
                                          uint64_t stream, uint64_t begin_ns, uint32_t correlation,
                                          uint32_t flags)
{
    recording->numbers++;
    const struct pdl_watch_launch launch = {.begin_ns = begin_ns,
                                            .stream = stream,
                                            .duration_ns = 2000,
                                            .correlation = correlation,
                                            .function = function,
                                            .number = recording->numbers,
                                            .nth = recording->numbers,
                                            .context = 1,
                                            .thread = 1000,
                                            .flags = flags,
                                            .grid = {132, 1, 1},
                                            .block = {256, 1, 1}};
    return RECORDING_ADD(recording, PDL_WATCH_LAUNCH, &launch);
}

struct pdl_watch_operation *recording_operation(struct recording *recording,
                                                enum pdl_watch_operations operation,
                                                uint64_t stream, uint64_t begin_ns,
                                                uint32_t correlation, uint64_t detail)
{
    const struct pdl_watch_operation made = {.begin_ns = begin_ns,
                                             .stream = stream,
                                             .detail = detail,
                                             .duration_ns = 1000,
                                             .correlation = correlation,
                                             .operation = (uint32_t)operation,
                                             .context = 1,
                                             .thread = 1000};
    return RECORDING_ADD(recording, PDL_WATCH_OPERATION, &made);
}

struct pdl_watch_execution *recording_execution(struct recording *recording, uint32_t name,
                                                uint32_t stream, uint64_t start_ns, uint64_t end_ns,
                                                uint32_t correlation)
{
    const struct pdl_watch_execution execution = {.start_ns = start_ns,
                                                  .end_ns = end_ns,
                                                  .correlation = correlation,
                                                  .context = 1,
                                                  .stream = stream,
                                                  .name = name,
                                                  .grid = {132, 1, 1},
                                                  .block = {256, 1, 1},
                                                  .registers = 32};
    return RECORDING_ADD(recording, PDL_WATCH_EXECUTION, &execution);
}

void recording_transfer(struct recording *recording, enum pdl_watch_operations operation,
                        uint32_t stream, uint64_t start_ns, uint64_t end_ns, uint32_t correlation)
{
    const struct pdl_watch_transfer transfer = {.start_ns = start_ns,
                                                .end_ns = end_ns,
                                                .bytes = 4096,
                                                .correlation = correlation,
                                                .context = 1,
                                                .stream = stream,
                                                .operation = (uint32_t)operation};
    (void)RECORDING_ADD(recording, PDL_WATCH_TRANSFER, &transfer);
}

void recording_graph(struct recording *recording, uint64_t handle, uint32_t graph, uint32_t nodes,
                     uint32_t edges)
{
    const struct pdl_watch_graph made = {.handle = handle,
                                         .time_ns = 1000,
                                         .graph = graph,
                                         .nodes = nodes,
                                         .edges = edges,
                                         .context = 1};
    (void)RECORDING_ADD(recording, PDL_WATCH_GRAPH, &made);
}

struct pdl_watch_node *recording_node(struct recording *recording, uint64_t graph, uint64_t node,
                                      uint32_t function, uint32_t flags)
{
    const struct pdl_watch_node made = {.node = node,
                                        .graph = graph,
                                        .function = function,
                                        .flags = flags,
                                        .grid = {132, 1, 1},
                                        .block = {256, 1, 1}};
    return RECORDING_ADD(recording, PDL_WATCH_NODE, &made);
}

void recording_edge(struct recording *recording, uint64_t graph, uint64_t from, uint64_t to,
                    bool programmatic)
{
    const struct pdl_watch_edge edge = {
        .from = from, .to = to, .graph = graph, .from_port = programmatic, .type = programmatic};
    (void)RECORDING_ADD(recording, PDL_WATCH_EDGE, &edge);
}

void recording_clone(struct recording *recording, uint64_t original, uint64_t node)
{
    const struct pdl_watch_clone clone = {.original = original, .node = node};
    (void)RECORDING_ADD(recording, PDL_WATCH_CLONE, &clone);
}

void recording_text(struct recording *recording, enum pdl_watch_kind kind, const char *text)
{
    const struct pdl_watch_text made = {.record = {.size = 0}};
    (void)add_text(recording, kind, &made, sizeof(made), text);
}

void recording_instrumented(struct recording *recording, uint32_t action, const char *name,
                            const char *message)
{
    char text[256];
    const struct pdl_watch_instrumented record = {.action = action,
                                                  .name_size = (uint32_t)strlen(name)};
    (void)snprintf(text, sizeof(text), "%s%s", name, message);
    (void)recording_add(recording, PDL_WATCH_INSTRUMENTED, &record, sizeof(record), text,
                        strlen(text));
}

bool recording_write(const struct recording *recording, const char *path)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        return false;
    }
    const bool written = fwrite(recording->bytes, 1, recording->size, file) == recording->size;
    return fclose(file) == 0 && written;
}

void recording_free(struct recording *recording)
{
    free(recording->bytes);
    *recording = (struct recording){.bytes = NULL};
}
