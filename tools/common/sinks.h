/* SPDX-License-Identifier: MIT */
/* Where a command's results go: each of their forms into a file or to standard output. */
#ifndef PDL_TOOLS_SINKS_H
#define PDL_TOOLS_SINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A form to write the results in, and where. */
struct sink {
    const char *name;        /* the option's */
    void (*write)(FILE *to); /* NULL: this build has no such form */
    const char *path;        /* NULL: not wanted; "-": standard output */
    char *part;              /* what is written until it is whole; NULL: `path` itself */
    FILE *file;              /* NULL: not open, or written */
};

/* Opens those that are wanted, before there is anything to write, so that nothing is measured in vain. Only
 * one may go to standard output, and no two to the same file. False with a line on standard error, which
 * begins with the program's name. sinks_drop() must follow it in any case. */
bool sinks_open(struct sink *sinks, size_t count);
/* Writes those that are open. A file gets its name when all of it is there. False as above. */
bool sinks_write(struct sink *sinks, size_t count);
/* Leaves nothing behind that was not written whole. */
void sinks_drop(struct sink *sinks, size_t count);

/* Whether one of them is standard output. */
bool sinks_take_stdout(const struct sink *sinks, size_t count);

#endif /* PDL_TOOLS_SINKS_H */
