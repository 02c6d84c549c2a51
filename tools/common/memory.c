/* SPDX-License-Identifier: MIT */
#include "common/memory.h"

#include <stdlib.h>
#include <string.h>

#include "commands.h"

__attribute__((noreturn)) static void out_of_memory(void)
{
    (void)fputs("pdltool: error: out of memory\n", stderr);
    exit(EXIT_USAGE);
}

void *allocate(size_t count, size_t each)
{
    void *made = calloc(count > 0 ? count : 1, each);
    if (made == NULL) {
        out_of_memory();
    }
    return made;
}

char *copy_text(const char *text)
{
    char *copy = strdup(text);
    if (copy == NULL) {
        out_of_memory();
    }
    return copy;
}

char *format_text_of(const char *format, va_list arguments)
{
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0) {
        out_of_memory();
    }
    return text;
}

char *format_text(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *const text = format_text_of(format, arguments);
    va_end(arguments);
    return text;
}

FILE *memory_open(char **text, size_t *size)
{
    FILE *const stream = open_memstream(text, size);
    if (stream == NULL) {
        out_of_memory();
    }
    return stream;
}

void memory_close(FILE *stream)
{
    if (fclose(stream) != 0) {
        out_of_memory();
    }
}

uint32_t name_index(struct pdl_names *names, const char *name)
{
    uint32_t index = 0;
    if (!pdl_names_add(names, name, &index)) {
        out_of_memory();
    }
    return index;
}

void *room_for_one(void *items, size_t count, size_t *capacity, size_t each)
{
    if (count < *capacity) {
        return items;
    }
    const size_t room = *capacity < 16 ? 16 : *capacity * 2;
    void *grown = room <= SIZE_MAX / each ? realloc(items, room * each) : NULL;
    if (grown == NULL) {
        out_of_memory();
    }
    *capacity = room;
    return grown;
}
