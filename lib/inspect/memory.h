/* SPDX-License-Identifier: MIT */
/* Memory that is freed all at once. */
#ifndef PDL_INSPECT_MEMORY_H
#define PDL_INSPECT_MEMORY_H

#include <stddef.h>

struct pdl_arena_chunk;

/* All zero is an empty arena. */
struct pdl_arena {
    struct pdl_arena_chunk *chunks;
    size_t used; /* of the first chunk */
};

/* Zeroed memory, aligned for anything; NULL if there is none. */
void *pdl_arena_alloc(struct pdl_arena *arena, size_t size);

/* A copy of `size` bytes and a NUL behind them. */
char *pdl_arena_copy(struct pdl_arena *arena, const char *text, size_t size);

/* A formatted string. */
__attribute__((format(printf, 2, 3))) char *pdl_arena_format(struct pdl_arena *arena,
                                                             const char *format, ...);

/* Frees everything. */
void pdl_arena_free(struct pdl_arena *arena);

#endif /* PDL_INSPECT_MEMORY_H */
