/* SPDX-License-Identifier: MIT */
#include "inspect/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/error.h"

#define CHUNK_SIZE ((size_t)1 << 16)

/* ---- attempts ------------------------------------------------------------------------------------- */

/* A ring through an attempt and all memory that was taken in it, which stands behind its links. */
struct link {
    _Alignas(max_align_t) struct link *next;
    struct link *previous;
};

struct attempt {
    struct attempt *outer;
    struct link taken; /* the ring's beginning */
    jmp_buf out;
    pdl_status status;
};

static _Thread_local struct attempt *current;

/* Apart from pdl_attempt(), whose variables may not change between setjmp() and longjmp(). */
static void run(struct attempt *attempt, void (*work)(void *context), void *context)
{
    if (setjmp(attempt->out) == 0) {
        work(context);
    }
}

pdl_status pdl_attempt(void (*work)(void *context), void *context)
{
    struct attempt attempt = {.outer = current, .status = PDL_SUCCESS};
    attempt.taken.next = attempt.taken.previous = &attempt.taken;
    current = &attempt;
    run(&attempt, work, context);
    current = attempt.outer;
    struct link *link = attempt.taken.next;
    while (link != &attempt.taken) {
        struct link *next = link->next;
        free(link);
        link = next;
    }
    return attempt.status;
}

void pdl_fail_again(pdl_status status)
{
    current->status = status;
    longjmp(current->out, 1);
}

void pdl_fail(pdl_status status, uint32_t line, uint32_t column, const char *format, ...)
{
    char message[sizeof(pdl_inspect_last_error()->message)];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    pdl_fail_again(pdl_inspect_fail(status, line, column, "%s", message));
}

void pdl_fail_memory(void)
{
    pdl_fail(PDL_ERROR_OUT_OF_MEMORY, 0, 0, "no memory for what is in the input");
}

/* ---- memory of an attempt ------------------------------------------------------------------------- */

/* Puts a link, which may have been moved, between those beside it. The memory behind it. */
static void *linked(struct link *link)
{
    link->next->previous = link->previous->next = link;
    return link + 1;
}

void *pdl_take(size_t count, size_t each)
{
    struct link *link =
        count < SIZE_MAX / 2 / each ? calloc(1, sizeof(*link) + count * each) : NULL;
    if (link == NULL) {
        pdl_fail_memory();
    }
    link->next = current->taken.next;
    link->previous = &current->taken;
    return linked(link);
}

void pdl_give_back(void *memory)
{
    if (memory != NULL) {
        struct link *link = (struct link *)memory - 1;
        link->next->previous = link->previous;
        link->previous->next = link->next;
        free(link);
    }
}

/* How many items an array gets room for. There are no more than 32 bits count. */
static size_t room_for(size_t wanted, size_t capacity, size_t each)
{
    /* Arrays of a megabyte or more grow by less: all of the new room is written to. */
    const size_t more = capacity < ((size_t)1 << 20) / each ? capacity : capacity / 4;
    const size_t grown_to = capacity < 8 ? 16 : capacity + more;
    const size_t room = wanted > grown_to || grown_to > UINT32_MAX ? wanted : grown_to;
    if (room > UINT32_MAX || room > SIZE_MAX / 2 / each) {
        pdl_fail_memory();
    }
    return room;
}

void pdl_take_more(void *items, size_t *capacity, size_t wanted, size_t each)
{
    const size_t room = room_for(wanted, *capacity, each);
    void *made;
    memcpy(&made, items, sizeof(made));
    if (made == NULL) {
        made = pdl_take(room, each);
    } else {
        struct link *link = realloc((struct link *)made - 1, sizeof(*link) + room * each);
        if (link == NULL) {
            pdl_fail_memory();
        }
        made = linked(link);
        memset((char *)made + *capacity * each, 0, (room - *capacity) * each);
    }
    memcpy(items, &made, sizeof(made));
    *capacity = room;
}

void pdl_keep_more(void *items, size_t *capacity, size_t each)
{
    const size_t room = room_for(*capacity + 1, *capacity, each);
    void *made;
    memcpy(&made, items, sizeof(made));
    made = realloc(made, room * each);
    if (made == NULL) {
        pdl_fail_memory();
    }
    memcpy(items, &made, sizeof(made));
    *capacity = room;
}

/* ---- arenas --------------------------------------------------------------------------------------- */

struct pdl_arena_chunk {
    struct pdl_arena_chunk *next;
    size_t size;
    max_align_t bytes[];
};

void *pdl_arena_alloc(struct pdl_arena *arena, size_t size)
{
    const size_t align = sizeof(max_align_t);
    if (size > SIZE_MAX / 2) {
        pdl_fail_memory();
    }
    size = (size + align - 1) / align * align;
    if (arena->chunks == NULL || size > arena->chunks->size - arena->used) {
        const size_t room = size > CHUNK_SIZE ? size : CHUNK_SIZE;
        struct pdl_arena_chunk *chunk =
            arena->lasts ? malloc(sizeof(*chunk) + room) : pdl_take(1, sizeof(*chunk) + room);
        if (chunk == NULL) {
            pdl_fail_memory();
        }
        chunk->size = room;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->used = 0;
    }
    void *made = (char *)arena->chunks->bytes + arena->used;
    arena->used += size;
    return memset(made, 0, size);
}

char *pdl_arena_copy(struct pdl_arena *arena, const char *text, size_t size)
{
    char *copy = pdl_arena_alloc(arena, size + 1);
    if (size > 0) {
        memcpy(copy, text, size);
    }
    return copy;
}

char *pdl_arena_format(struct pdl_arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) {
        pdl_fail_memory();
    }
    char *text = pdl_arena_alloc(arena, (size_t)length + 1);
    va_start(arguments, format);
    (void)vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

void pdl_arena_free(struct pdl_arena *arena)
{
    while (arena->chunks != NULL) {
        struct pdl_arena_chunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
    arena->used = 0;
}
