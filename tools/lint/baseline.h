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

/* Reads a baseline; false with what is wrong. It has to be freed in either case. */
bool lint_baseline_parse(struct lint_baseline *baseline, const char *text, size_t size,
                         struct lint_mistake *mistake);
void lint_baseline_free(struct lint_baseline *baseline);

/* Suppresses the findings that are in it. How many items that were; `gone`: entries that match none. */
size_t lint_baseline_apply(struct lint_baseline *baseline, const struct lint_report *report,
                           size_t *gone);

/* Writes the findings from a level up that are not suppressed. False with errno where it cannot be written. */
bool lint_baseline_write(const struct lint_report *report, const char *path, int level,
                         size_t *count);

#endif /* PDL_TOOLS_LINT_BASELINE_H */
