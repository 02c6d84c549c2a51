/* SPDX-License-Identifier: MIT */
/* A compiler's command, and what to ask of the same compiler so that it writes PTX. */
#ifndef PDL_TOOLS_LINT_COMMAND_H
#define PDL_TOOLS_LINT_COMMAND_H

#include <stdbool.h>

#include "lint/argv.h"

/* "sm_90a" in parts. */
struct architecture {
    int number;
    char suffix; /* 'a', 'f' or NUL */
};

/* "90a", "sm_90a", "compute_90a", "90a-real" and the like; false for what is none of these. */
bool architecture_parse(const char *text, struct architecture *architecture);

/* The least with PDL. */
enum { ARCHITECTURE_LEAST = 90 };

enum compiler_kind { COMPILER_UNKNOWN, COMPILER_NVCC, COMPILER_CLANG };

/* By the name of its file. */
enum compiler_kind compiler_kind_of(const char *path);

/* What comes before a compiler and starts it, such as ccache, is taken out of a command. */
void command_drop_launchers(struct argv *command);

/* Whether a command compiles a file as CUDA. */
bool command_is_cuda(const struct argv *command, const char *file);

/* A command without its source and without what it writes. */
struct command {
    enum compiler_kind kind;
    struct argv arguments;
    struct architecture *items; /* those named from sm_90 on, the newest first, each once */
    size_t count, capacity;
    bool older; /* others are named */
};

/* Reads a command whose working directory is `directory` (NULL: the tool's), and opens its response files. The
 * arguments move to the result. */
void command_read(struct command *command, enum compiler_kind kind, struct argv *arguments,
                  const char *directory, const char *file);
void command_free(struct command *command);

/* The architecture to compile for where a command names none from sm_90 on. */
struct architecture command_default(enum compiler_kind kind);

/* The arguments that have PTX and a list of its dependencies written, in Make's form. */
void command_make(const struct command *command, struct architecture architecture, const char *file,
                  const char *ptx, const char *dependencies, struct argv *arguments);

#endif /* PDL_TOOLS_LINT_COMMAND_H */
