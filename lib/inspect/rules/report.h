/* SPDX-License-Identifier: MIT */
/* The findings of one kernel while they are made. */
#ifndef PDL_INSPECT_REPORT_H
#define PDL_INSPECT_REPORT_H

#include "inspect/rules/launched.h"
#include "inspect/rules/markers.h"

/* The ways from the outside to the kernel's waits, through what is inlined: a table of hashes. */
struct pdl_ways {
    uint64_t *slots;
    uint32_t size, count;
    bool noted;
};

struct pdl_report {
    struct pdl_ptx_module *module;
    const struct pdl_flow *flow;
    const struct pdl_effects *effects;
    const struct pdl_allows *allows;
    const char *const *names; /* of the parameters, or NULL */
    pdl_lint_finding *findings;
    uint32_t count;
    size_t capacity;
    const pdl_inspect_kernel *kernel;
    struct pdl_ways ways;
    enum pdl_launched_how launched;
};

/* A text of a finding. */
#define pdl_report_text(report, ...)                                                               \
    pdl_arena_format(&(report)->module->inspection->arena, __VA_ARGS__)

/* ---- adding (report.c) -------------------------------------------------------------------------- */

void pdl_report_add(struct pdl_report *report, pdl_lint_finding finding);

/* A finding at an effect, without what it says. */
pdl_lint_finding pdl_report_finding(const struct pdl_effect *effect, pdl_lint_level level);

/* A finding at an instruction of the kernel's own body; the kernel's beginning if it is NULL. */
void pdl_report_add_at(struct pdl_report *report, pdl_lint_rule rule, pdl_lint_level level,
                       const struct pdl_instruction *instruction, uint32_t count,
                       const char *message, const char *advice);

/* A finding at a mention, at its rule's level; nothing if there is none. */
void pdl_report_add_mention(struct pdl_report *report, pdl_lint_rule rule,
                            const struct pdl_mention *mention, const char *message,
                            const char *advice);

/* Joins the findings that are one, and adds them to the inspection by line. */
void pdl_report_hand_over(struct pdl_report *report);

/* Sets which of a finding's places is shown first (headline.c). */
void pdl_report_headline(struct pdl_report *report, pdl_lint_finding *finding);

/* ---- words (words.c) ---------------------------------------------------------------------------- */

/* " through parameter 'w' (1st)", " in the variable x", or "". Also sets the
 * finding's parameter. */
const char *pdl_report_address(const struct pdl_report *report, const struct pdl_value *address,
                               pdl_lint_finding *finding);

/* ", or, if …, say so: …", where the pointer is one that can be named. */
const char *pdl_report_constant_advice(const struct pdl_report *report,
                                       const pdl_lint_finding *finding,
                                       const struct pdl_value *address);

/* ---- rules -------------------------------------------------------------------------------------- */

/* Accesses to memory and calls that come too early, and non-coherent loads (accesses.c). */
void pdl_report_accesses(struct pdl_report *report);

/* The branches that lead around the wait for good (paths.c). */
void pdl_report_ways_around(struct pdl_report *report);

/* A kernel without a wait (paths.c). */
void pdl_report_never_waits(struct pdl_report *report);

/* A kernel for less than sm_90 (paths.c). */
void pdl_report_too_old(struct pdl_report *report);

#endif /* PDL_INSPECT_REPORT_H */
