/* SPDX-License-Identifier: MIT */
#include "inspect/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_SIZE ((size_t)1 << 16)

struct pdl_arena_chunk {
    struct pdl_arena_chunk *next;
    size_t size;
    max_align_t bytes[];
};

void *pdl_arena_alloc(struct pdl_arena *arena, size_t size)
{
    const size_t align = sizeof(max_align_t);
    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    size = (size + align - 1) / align * align;
    if (arena->chunks == NULL || size > arena->chunks->size - arena->used) {
        const size_t room = size > CHUNK_SIZE ? size : CHUNK_SIZE;
        struct pdl_arena_chunk *chunk = malloc(sizeof(*chunk) + room);
        if (chunk == NULL) {
            return NULL;
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
    if (copy != NULL && size > 0) {
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
    char *text = length < 0 ? NULL : pdl_arena_alloc(arena, (size_t)length + 1);
    if (text != NULL) {
        va_start(arguments, format);
        (void)vsnprintf(text, (size_t)length + 1, format, arguments);
        va_end(arguments);
    }
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
