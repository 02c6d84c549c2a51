/* SPDX-License-Identifier: MIT */
/* What of the findings is new: by a diff, and by a baseline. */
#ifndef PDL_TOOLS_LINT_GATE_H
#define PDL_TOOLS_LINT_GATE_H

#include "lint/baseline.h"
#include "lint/changed.h"
#include "lint/options.h"

struct lint_gate {
    const struct lint_options *options;
    struct lint_changes changes;
    struct lint_baseline baseline;
};

/* Reads the diff and the baseline of the options. False with a line on standard error. The gate has to be closed in either
 * case. */
bool lint_gate_open(struct lint_gate *gate, const struct lint_options *options);
void lint_gate_close(struct lint_gate *gate);

/* Suppresses findings that are not on changed lines: before they are gathered. */
void lint_gate_sift(const struct lint_gate *gate, const struct inputs *inputs);

/* Suppresses those that are in the baseline, or writes it: after they were gathered. False with a line on standard
 * error. */
bool lint_gate_compare(struct lint_gate *gate, const struct lint_report *report, int fail_on);

#endif /* PDL_TOOLS_LINT_GATE_H */
