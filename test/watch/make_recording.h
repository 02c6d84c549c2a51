/* SPDX-License-Identifier: MIT */
/* Recordings made for tests: any record, in any order, in memory or in a file. */
#ifndef PDL_TEST_MAKE_RECORDING_H
#define PDL_TEST_MAKE_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "watch/format.h"

/* A recording in the making. Members are read as wanted; recording_begin() first, recording_free() at the end. */
struct recording {
    unsigned char *bytes; /* the file */
    size_t size;          /* of it: a multiple of PDL_WATCH_PAGE */
    size_t capacity;
    size_t chunk; /* offset of the chunk that is written to; 0: none */
    size_t used;  /* bytes of it */
    uint32_t chunk_size;
    uint32_t numbers; /* of launches, given by recording_launch() */
};

/* A header of process 1000, with no chunk behind it. */
void recording_begin(struct recording *recording);
struct pdl_watch_header *recording_header(struct recording *recording);
/* The next record begins a new chunk, of that size or, if it is longer, one that holds it. */
void recording_chunk(struct recording *recording, uint32_t size);

/* Adds a record: a struct of the format, whose header is filled in here, and what follows it. Returns it as it lies in the
 * recording: until the next is added. */
void *recording_add(struct recording *recording, enum pdl_watch_kind kind, const void *record,
                    size_t size, const void *tail, size_t tail_size);
#define RECORDING_ADD(recording, kind, record)                                                     \
    recording_add((recording), (kind), (record), sizeof(*(record)), NULL, 0)

/* The same for what has a text. */
void recording_name(struct recording *recording, uint32_t id, const char *text);
/* An H200, with CUPTI's id of the context. */
void recording_device(struct recording *recording, uint32_t context);
/* A kernel of 32 registers, compiled for 9.0; change what is returned. */
struct pdl_watch_function *recording_function(struct recording *recording, uint32_t id,
                                              uint32_t name);
void recording_image(struct recording *recording, enum pdl_watch_form form, const void *bytes,
                     size_t size);
/* A call that takes 2 µs, of 132 blocks of 256 threads in context 1, thread 1000; change what is returned. */
struct pdl_watch_launch *recording_launch(struct recording *recording, uint32_t function,
                                          uint64_t stream, uint64_t begin_ns, uint32_t correlation,
                                          uint32_t flags);
struct pdl_watch_operation *recording_operation(struct recording *recording,
                                                enum pdl_watch_operations operation,
                                                uint64_t stream, uint64_t begin_ns,
                                                uint32_t correlation, uint64_t detail);
/* A run of a kernel of that name, in CUPTI's stream; change what is returned. */
struct pdl_watch_execution *recording_execution(struct recording *recording, uint32_t name,
                                                uint32_t stream, uint64_t start_ns, uint64_t end_ns,
                                                uint32_t correlation);
void recording_transfer(struct recording *recording, enum pdl_watch_operations operation,
                        uint32_t stream, uint64_t start_ns, uint64_t end_ns, uint32_t correlation);
void recording_graph(struct recording *recording, uint64_t handle, uint32_t graph, uint32_t nodes,
                     uint32_t edges);
struct pdl_watch_node *recording_node(struct recording *recording, uint64_t graph, uint64_t node,
                                      uint32_t function, uint32_t flags);
void recording_edge(struct recording *recording, uint64_t graph, uint64_t from, uint64_t to,
                    bool programmatic);
void recording_clone(struct recording *recording, uint64_t original, uint64_t node);
void recording_text(struct recording *recording, enum pdl_watch_kind kind, const char *text);
void recording_instrumented(struct recording *recording, uint32_t action, const char *name,
                            const char *message);

/* False with errno. */
bool recording_write(const struct recording *recording, const char *path);
void recording_free(struct recording *recording);

#endif /* PDL_TEST_MAKE_RECORDING_H */
