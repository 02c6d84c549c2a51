/* SPDX-License-Identifier: MIT */
/* Which lines a unified diff changes. */
#ifndef PDL_TOOLS_LINT_CHANGED_H
#define PDL_TOOLS_LINT_CHANGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pdl/inspect.h>

#include "lint/statements.h"

/* Lines of the file as it is after the change. */
struct lint_lines {
    uint32_t first, last;
};

struct lint_changed_file {
    char *path; /* without a/ or b/ */
    struct lint_lines *added;
    size_t added_count, added_capacity;
    uint32_t *waits; /* lines behind which a line was taken out that has to do with waiting */
    size_t wait_count, wait_capacity;
};

struct lint_changes {
    struct lint_changed_file *items; /* by the last part of the path */
    size_t count, capacity;
};

/* Reads a diff; false with what is wrong. The changes have to be freed in either case. */
bool lint_changes_parse(struct lint_changes *changes, const char *text, size_t size,
                        struct lint_mistake *mistake);
void lint_changes_free(struct lint_changes *changes);

/* Whether a finding is on a line that was added, at any place of its chain, or behind a wait that was taken out of its
 * kernel; one that the kernel never waits holds if a wait was taken out of it. Without line information, nobody knows: then it is taken to be. */
bool lint_changes_hold(const struct lint_changes *changes, const pdl_inspection *inspection,
                       const pdl_lint_finding *finding);

#endif /* PDL_TOOLS_LINT_CHANGED_H */
