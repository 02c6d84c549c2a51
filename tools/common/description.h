/* SPDX-License-Identifier: MIT */
/* Text that describes kernels and launches, for `pdltool sim` and `pdltool tune`: a line per thing, of words and
 * KEY=VALUE; # begins a comment. `repeat N` ... `end` repeats the lines between. */
#ifndef PDL_TOOLS_DESCRIPTION_H
#define PDL_TOOLS_DESCRIPTION_H

#include <stdbool.h>
#include <stddef.h>

#include "common/kernel.h"

enum { DESCRIPTION_LAUNCHES_MOST = 1000000 };

struct description_line {
    char **words; /* one at least */
    size_t count;
    unsigned number;
};

struct description {
    const char *file;
    const char *
        block; /* a word that begins lines up to an `end`, beside repeat, or NULL. `take` gets both lines */
    void *self; /* the reader's own */
    /* Takes a line, as often as it is repeated. False after description_fail(). */
    bool (*take)(struct description *description, const struct description_line *line);
    size_t depth; /* of the blocks that are open around the line */
    bool failed;
};

/* Takes all lines of a text. False where something is wrong. */
bool description_read(struct description *description, const char *text, size_t size);

/* A line on standard error for the first mistake: FILE:LINE: error: what is wrong. Always false. */
__attribute__((format(printf, 3, 4))) bool description_fail(struct description *description,
                                                            const struct description_line *line,
                                                            const char *format, ...);
/* The same of a value that is no whole number in its limits. */
bool description_fail_count(struct description *description, const struct description_line *line,
                            const char *text, struct kernel_limits limits);
bool description_count(struct description *description, const struct description_line *line,
                       const char *text, struct kernel_limits limits, int64_t *count);

#endif /* PDL_TOOLS_DESCRIPTION_H */
