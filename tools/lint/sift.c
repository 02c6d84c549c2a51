/* SPDX-License-Identifier: MIT */
#include "lint/sift.h"

/* Each by its address: a reason that somebody gave is another one, whatever it says. */
static const char *const reasons[LINT_SIFTED_COUNT] = {
    [LINT_SIFTED_THIRD_PARTY] = "the file is third-party",
    [LINT_SIFTED_UNCHANGED] = "the line is not changed",
    [LINT_SIFTED_BASELINE] = "it is in the baseline",
};

void lint_sift_out(const struct lint_entry *entry, enum lint_sifted why)
{
    pdl_lint_suppress_finding(entry->input->inspection, entry->finding, reasons[why]);
}

enum lint_sifted lint_sifted(const pdl_lint_finding *finding)
{
    if (finding->suppressed == NULL) {
        return LINT_SIFTED_NOT;
    }
    for (int why = LINT_SIFTED_THIRD_PARTY; why < LINT_SIFTED_COUNT; why++) {
        if (finding->suppressed == reasons[why]) {
            return (enum lint_sifted)why;
        }
    }
    return finding->plain != 0 ? LINT_SIFTED_PLAIN : LINT_SIFTED_SUPPRESSED;
}

const char *lint_sifted_text(enum lint_sifted why)
{
    switch (why) {
    case LINT_SIFTED_PLAIN:
        return "in kernels that are launched without overlap only";
    case LINT_SIFTED_THIRD_PARTY:
        return "in third-party files";
    case LINT_SIFTED_UNCHANGED:
        return "not on changed lines";
    case LINT_SIFTED_BASELINE:
        return "in the baseline";
    default:
        return "suppressed";
    }
}
