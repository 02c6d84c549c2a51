/* SPDX-License-Identifier: MIT */
/* PTX of sources that were compiled before: a folder of files, a command each, which say what the PTX was made of. */
#ifndef PDL_TOOLS_LINT_STORE_H
#define PDL_TOOLS_LINT_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "lint/argv.h"

struct store;

/* What PTX is found by, besides the contents of what it is made of. */
struct store_question {
    const char *compiler;    /* what tells compilers and their versions apart */
    const char *directory;   /* an absolute path */
    const struct argv *argv; /* without the names of what is written */
};

#ifdef PDL_HAVE_LINT_CACHE
/* Opens the default folder of libpdl-rtc, in which it has one of its own. NULL if it cannot be used: then `*why` says why, which the caller frees,
 * or is NULL where no cache is wanted. */
struct store *store_open(char **why);
/* Makes room where there is more than is to be kept. */
void store_close(struct store *store);

/* These two may be called by several threads at a time. */

/* PTX whose command is the same and of whose files none has changed, which the caller frees; NULL: there is none. */
char *store_find(struct store *store, const struct store_question *question, size_t *size);
/* Keeps PTX with what it was made of: `dependencies` is a file in Make's form. Does nothing where one of the files
 * has changed since the tool began, or where writing fails. */
void store_put(struct store *store, const struct store_question *question, const char *ptx,
               size_t size, const char *dependencies);
#else
static inline struct store *store_open(char **why)
{
    *why = NULL;
    return NULL;
}

static inline void store_close(const struct store *store)
{
    (void)store;
}

static inline char *store_find(const struct store *store, const struct store_question *question,
                               const size_t *size)
{
    (void)store;
    (void)question;
    (void)size;
    return NULL;
}

static inline void store_put(const struct store *store, const struct store_question *question,
                             const char *ptx, size_t size, const char *dependencies)
{
    (void)store;
    (void)question;
    (void)ptx;
    (void)size;
    (void)dependencies;
}
#endif

#endif /* PDL_TOOLS_LINT_STORE_H */
