/* SPDX-License-Identifier: MIT */
/* Findings that were there before, by their fingerprints. */
#ifndef PDL_TOOLS_LINT_BASELINE_H
#define PDL_TOOLS_LINT_BASELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "lint/lint.h"
#include "lint/statements.h"

struct lint_baseline {
    struct pdl_names prints;
    bool *found; /* by fingerprint: it is there still */
};

/* Reads a file; false with a line on standard error. The baseline has to be freed in either case. */
bool lint_baseline_read(struct lint_baseline *baseline, const char *path);
/* Likewise a text; false with what is wrong. */
bool lint_baseline_parse(struct lint_baseline *baseline, const char *text, size_t size,
                         struct lint_mistake *mistake);
void lint_baseline_free(struct lint_baseline *baseline);

/* Suppresses the findings that are in it, and says on standard error how many of its entries match none. */
void lint_baseline_apply(struct lint_baseline *baseline, const struct lint_report *report,
                         const char *path);

/* Writes the findings from a level up that are not suppressed, if all inputs were read. False with a line on standard
 * error. */
bool lint_baseline_write(const struct lint_report *report, const char *path, int level);

#endif /* PDL_TOOLS_LINT_BASELINE_H */
