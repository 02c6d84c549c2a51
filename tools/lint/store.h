/* SPDX-License-Identifier: MIT */
/* PTX of sources that were compiled before: a folder of files, one per command, which say what the PTX was made of.
 * Without xxhash there is none: store_open is NULL. */
#ifndef PDL_TOOLS_LINT_STORE_H
#define PDL_TOOLS_LINT_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/optional.h"
#include "lint/argv.h"

struct store;

/* What PTX is found by, besides the contents of what it is made of. */
struct store_question {
    const char *compiler;    /* what tells compilers and their versions apart */
    const char *directory;   /* an absolute path */
    const struct argv *argv; /* without the names of what is written */
};

/* Opens the default folder of libpdl-rtc, in which it has one of its own. NULL if it cannot be used: then `*why` says why, which the caller frees,
 * or is NULL where no cache is wanted. */
TOOL_OPTIONAL struct store *store_open(char **why);
/* Makes room where there is more than is to be kept. */
TOOL_OPTIONAL void store_close(struct store *store);

/* These two may be called by several threads at a time. */

/* PTX whose command is the same and of whose files none has changed, which the caller frees; NULL: there is none. */
TOOL_OPTIONAL char *store_find(struct store *store, const struct store_question *question,
                               size_t *size);
/* Keeps PTX with what it was made of: `dependencies` is a file in Make's form. Does nothing where one of the files
 * has changed since the tool began, or where writing fails. */
TOOL_OPTIONAL void store_put(struct store *store, const struct store_question *question,
                             const char *ptx, size_t size, const char *dependencies);

#endif /* PDL_TOOLS_LINT_STORE_H */
