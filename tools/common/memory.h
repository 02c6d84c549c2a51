/* SPDX-License-Identifier: MIT */
/* Memory for a command, which has nothing better to do without it than to end. */
#ifndef PDL_TOOLS_MEMORY_H
#define PDL_TOOLS_MEMORY_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "trace/names.h"

/* Each ends the program with EXIT_USAGE and a line where there is no memory. */
void *allocate(size_t count, size_t each);
char *copy_text(const char *text);
__attribute__((format(printf, 1, 2))) char *format_text(const char *format, ...);
__attribute__((format(printf, 1, 0))) char *format_text_of(const char *format, va_list arguments);

/* A stream into memory, whose text the caller frees after it was closed. */
FILE *memory_open(char **text, size_t *size);
void memory_close(FILE *stream);

/* The index of a name, added if it is new. */
uint32_t name_index(struct pdl_names *names, const char *name);

/* Room for one more item of `each` bytes in an array with `count` items; returns the array. */
void *room_for_one(void *items, size_t count, size_t *capacity, size_t each);
#define APPEND(list, item)                                                                         \
    ((list)->items =                                                                               \
         room_for_one((list)->items, (list)->count, &(list)->capacity, sizeof(*(list)->items)),    \
     (list)->items[(list)->count++] = (item))

#endif /* PDL_TOOLS_MEMORY_H */
