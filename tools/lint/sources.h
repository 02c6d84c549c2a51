/* SPDX-License-Identifier: MIT */
/* Sources that are compiled to be linted: which, and how. */
#ifndef PDL_TOOLS_LINT_SOURCES_H
#define PDL_TOOLS_LINT_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/input.h"
#include "common/optional.h"
#include "lint/command.h"
#include "lint/options.h"

/* A source as a command compiles it. */
struct compilation {
    char *directory; /* an absolute path; NULL: the tool's */
    char *file;
    struct argv arguments; /* the compiler is the first */
};

struct compilations {
    struct compilation *items;
    size_t count, capacity;
};
void compilations_free(struct compilations *compilations);

/* Adds all entries of compile_commands.json. False with a line on standard error where it cannot be read or is no such
 * file (database.c). */
TOOL_OPTIONAL bool database_read(const char *path, struct compilations *compilations);

struct architectures {
    struct architecture *items;
    size_t count, capacity;
};

/* A source for one architecture. */
struct unit {
    struct command command; /* what several units have in common is in each */
    struct architecture architecture;
    char *directory; /* an absolute path, or NULL */
    char *file;      /* as its command names it */
    char *name;      /* as it is shown */
};

struct units {
    struct unit *items;
    size_t count, capacity;
};

/* Whether an argument of the command line names sources, not device code that is there already. */
bool lint_is_source(const struct lint_options *options, const char *argument);

/* What has to be compiled for the files that are named; with a database and no files, all of it. False with a line
 * on standard error where that cannot be said; `units` then has what can be. */
bool units_find(const struct lint_options *options, const struct lint_strings *files,
                struct units *units);
void units_free(struct units *units);

/* Reads the files of the command line: of those that are sources, the PTX that they are compiled to, several at a
 * time. With compile_commands.json and without files, all of its CUDA sources. What cannot be compiled is said on
 * standard error, with what the compiler says (compile.c). */
void lint_read_files(const struct lint_options *options, struct inputs *inputs);

#endif /* PDL_TOOLS_LINT_SOURCES_H */
