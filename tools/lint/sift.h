/* SPDX-License-Identifier: MIT */
/* Findings that do not count, besides those that somebody suppressed. */
#ifndef PDL_TOOLS_LINT_SIFT_H
#define PDL_TOOLS_LINT_SIFT_H

#include "lint/lint.h"

enum lint_sifted {
    LINT_SIFTED_NOT,
    LINT_SIFTED_SUPPRESSED, /* by a suppression or a marker */
    LINT_SIFTED_PLAIN,      /* the kernel is launched without overlap only */
    LINT_SIFTED_THIRD_PARTY,
    LINT_SIFTED_UNCHANGED,
    LINT_SIFTED_BASELINE,
    LINT_SIFTED_COUNT
};

/* Suppresses a finding for one of the last three reasons. */
void lint_sift_out(const struct lint_entry *entry, enum lint_sifted why);

/* Why a finding does not count. */
enum lint_sifted lint_sifted(const pdl_lint_finding *finding);

/* "in third-party files" and the like, behind a number of findings. */
const char *lint_sifted_text(enum lint_sifted why);

#endif /* PDL_TOOLS_LINT_SIFT_H */
