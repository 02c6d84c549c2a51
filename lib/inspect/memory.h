/* SPDX-License-Identifier: MIT */
/* Memory, and the way out of work that cannot be finished.
 *
 * What reads and analyses an input runs in an attempt. Where the input is malformed, or there is no memory, pdl_fail()
 * ends the attempt at once, and all memory that was taken in it is freed. No function on the way has to check, to hand
 * on or to free anything. What outlives an attempt is owned by an inspection or an instrumentation. */
#ifndef PDL_INSPECT_MEMORY_H
#define PDL_INSPECT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pdl/inspect.h>

/* Calls work(context). PDL_SUCCESS, or the status of what ended it, which is the last error. Frees what was taken
 * meanwhile. Attempts may be in one another. */
pdl_status pdl_attempt(void (*work)(void *context), void *context);

/* Records an error; line 0 for none. Ends the attempt. */
__attribute__((noreturn, cold, format(printf, 4, 5))) void
pdl_fail(pdl_status status, uint32_t line, uint32_t column, const char *format, ...);
__attribute__((noreturn, cold)) void pdl_fail_memory(void);

/* Ends the attempt with the last error, as that of an attempt in it. */
__attribute__((noreturn, cold)) void pdl_fail_again(pdl_status status);

/* Zeroed memory, until the attempt ends or it is given back. */
void *pdl_take(size_t count, size_t each);
void pdl_give_back(void *memory);

/* Makes room for `wanted` items in an array of the attempt, a pointer and a capacity; new room is zeroed. */
#define PDL_RESERVE(items, wanted, capacity)                                                       \
    ((wanted) <= (capacity)                                                                        \
         ? (void)0                                                                                 \
         : pdl_take_more((void *)&(items), &(capacity), (wanted), sizeof(*(items))))
void pdl_take_more(void *items, size_t *capacity, size_t wanted, size_t each);

/* Adds an item to such an array; and to one that outlives the attempt, whose owner frees it. */
#define PDL_ADD(items, count, capacity, ...)                                                       \
    (PDL_RESERVE(items, (size_t)(count) + 1, capacity), (void)((items)[(count)++] = __VA_ARGS__))
#define PDL_KEEP(items, count, capacity, ...)                                                      \
    ((count) < (capacity) ? (void)0                                                                \
                          : pdl_keep_more((void *)&(items), &(capacity), sizeof(*(items))),        \
     (void)((items)[(count)++] = __VA_ARGS__))
void pdl_keep_more(void *items, size_t *capacity, size_t each);

/* ---- arenas --------------------------------------------------------------------------------------- */

struct pdl_arena_chunk;

/* Memory that is freed all at once. All zero is an empty arena of an attempt. */
struct pdl_arena {
    struct pdl_arena_chunk *chunks;
    size_t used; /* of the first chunk */
    bool lasts;  /* it outlives the attempt, and is freed by pdl_arena_free() */
};

/* Zeroed memory, aligned for anything. */
void *pdl_arena_alloc(struct pdl_arena *arena, size_t size);

/* A copy of `size` bytes and a NUL behind them. */
char *pdl_arena_copy(struct pdl_arena *arena, const char *text, size_t size);

/* A formatted string. */
__attribute__((format(printf, 2, 3))) char *pdl_arena_format(struct pdl_arena *arena,
                                                             const char *format, ...);

void pdl_arena_free(struct pdl_arena *arena);

#endif /* PDL_INSPECT_MEMORY_H */
