/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "inspect/rules/report.h"

/* `if (overlapped) { wait }`: the launch is the other half of it, and not in this code. */
static bool is_switch(const struct pdl_report *report, const struct pdl_decision *decision)
{
    return decision->launch && !decision->reached &&
           (report->flow->points[decision->block].states & PDL_STATE_NOT_WAITED) != 0;
}

/* Whether a parameter that looks like a flag has the name of a number: `if (step != 0)`. */
static bool is_named_number(const struct pdl_report *report, const struct pdl_decision *decision)
{
    static const char *const numbers[] = {
        "n",     "num",   "count", "cnt",   "step", "steps", "iter",  "iteration", "idx",
        "index", "layer", "stage", "phase", "turn", "round", "pass",  "token",     "pos",
        "seq",   "len",   "size",  "rank",  "tile", "chunk", "batch", "split",     "splits",
    };
    const char *at =
        decision->flag != 0 && report->names != NULL ? report->names[decision->flag - 1] : NULL;
    while (at != NULL && *at != '\0') {
        const size_t length = strcspn(at, "_");
        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
            if (strlen(numbers[i]) == length && memcmp(numbers[i], at, length) == 0) {
                return true;
            }
        }
        at += length + strspn(at + length, "_");
    }
    return false;
}

/* Whether a branch's condition went through local memory, as in code that is not optimized: it may be
 * a flag of the launch or not. */
static bool is_untraced(const struct pdl_report *report, const struct pdl_instruction *branch)
{
    return report->module->debug && branch->guard != PDL_NONE &&
           !pdl_conditions_is_invariant(&report->flow->conditions, branch->guard);
}

/* The branches that lead around the wait for good. */
void pdl_report_ways_around(struct pdl_report *report)
{
    const struct pdl_instruction *first_exit = NULL;
    uint32_t exits = 0;
    for (uint32_t i = 0; i < report->flow->decision_count; i++) {
        const struct pdl_decision *decision = &report->flow->decisions[i];
        const struct pdl_block *block = &report->flow->cfg->blocks[decision->block];
        const bool touched = report->effects->touched[i];
        const struct pdl_instruction *at =
            decision->call              ? pdl_flow_last(report->flow, decision->block)
            : block->branch != PDL_NONE ? &report->flow->body->instructions[block->branch]
                                        : NULL;
        if (at != NULL && is_switch(report, decision)) {
            /* Launches that were seen may well be those that set the flag. */
            const bool always =
                report->launched == PDL_HOW_SAID_OVERLAPPED || is_named_number(report, decision);
            pdl_report_add_at(
                report, PDL_LINT_NO_WAIT, always ? PDL_LINT_WARNING : PDL_LINT_NOTE, at, 1,
                "the kernel waits only if a condition that is the same for all threads holds",
                "launch it with overlap only where it waits");
            continue;
        }
        if (!decision->never || !decision->reached || at == NULL) {
            continue;
        }
        if (decision->divergence != PDL_DIVERGENCE_NONE) {
            if (!touched && exits++ == 0) {
                first_exit = at;
            }
            continue;
        }
        /* Around a loop that waits in each turn: there may be no turn, but who would launch that? */
        const bool no_turn = report->effects->wait_in_loop.count == report->effects->wait.count &&
                             !block->in_loop && !report->module->debug;
        const bool sure = touched && !no_turn && !is_untraced(report, at);
        pdl_report_add_at(
            report, PDL_LINT_NO_WAIT, sure ? PDL_LINT_WARNING : PDL_LINT_NOTE, at, 1,
            touched
                ? "all threads may bypass the wait here, and then access global memory or trigger"
                : "all threads may bypass the wait here: then the next kernel's wait does not "
                  "cover the previous kernel",
            touched ? "wait on every path, or launch without overlap when this path is taken"
                    : "wait on every path");
    }
    if (exits > 0) {
        pdl_report_add_at(report, PDL_LINT_EXIT_BEFORE_WAIT, PDL_LINT_NOTE, first_exit, exits,
                          "some threads leave here without the wait",
                          "no change is needed if other threads of the grid wait, and "
                          "these touch no memory of earlier kernels");
    }
}

/* A kernel whose only wait can be in code that is not here. */
static void waits_elsewhere(struct pdl_report *report)
{
    const bool overlapped =
        report->launched == PDL_HOW_SAID_OVERLAPPED || report->launched == PDL_HOW_SEEN_OVERLAPPED;
    const uint32_t name = report->effects->unknown_name;
    const struct pdl_name *text = name != PDL_NONE ? &report->module->names.names[name] : NULL;
    const char *where =
        text == NULL ? "code that is called through a pointer"
                     : pdl_report_text(report, "'%.*s', whose code is not available",
                                       (int)(text->length < 200 ? text->length : 200), text->text);
    const char *message =
        pdl_report_text(report,
                        overlapped ? "the kernel is launched with overlap, and may wait only in %s"
                                   : "the kernel may wait only in %s",
                        where);
    pdl_report_add_at(
        report, PDL_LINT_NO_WAIT, overlapped ? PDL_LINT_WARNING : PDL_LINT_NOTE, NULL, 1, message,
        overlapped ? "wait in the kernel itself, or check the program that it is linked to"
                   : "check the called code, or the program that it is linked to");
}

void pdl_report_never_waits(struct pdl_report *report)
{
    const struct pdl_mention *trigger = &report->effects->trigger;
    if (report->effects->out == 0) {
        return; /* what always traps does nothing */
    }
    if (report->effects->unknown) {
        waits_elsewhere(report);
        return;
    }
    if (trigger->count > 0) {
        pdl_report_add_at(
            report, PDL_LINT_NO_WAIT,
            report->launched == PDL_HOW_SEEN_OVERLAPPED ? PDL_LINT_ERROR : PDL_LINT_WARNING,
            trigger->instruction, trigger->count,
            "the kernel triggers and never waits: it does not see the writes of earlier kernels, "
            "and the next one's wait does not cover them",
            "execute PDL_WAIT() or cudaGridDependencySynchronize() on every path, or remove the "
            "trigger and launch it without overlap");
        return;
    }
    static const struct {
        pdl_lint_level level;
        const char *message;
    } kinds[] = {
        [PDL_HOW_UNKNOWN] = {PDL_LINT_NOTE,
                             "the kernel never waits: it is not written for overlap"},
        [PDL_HOW_PLAIN] = {PDL_LINT_NOTE, "the kernel never waits: it is not written for overlap"},
        [PDL_HOW_SAID_OVERLAPPED] = {PDL_LINT_WARNING,
                                     "the kernel is launched with overlap and never waits"},
        [PDL_HOW_SEEN_OVERLAPPED] = {PDL_LINT_ERROR,
                                     "the kernel was launched with overlap and never waits"},
    };
    const pdl_lint_level level = kinds[report->launched].level;
    pdl_report_add_at(report, PDL_LINT_NO_WAIT, level, NULL, 1, kinds[report->launched].message,
                      level > PDL_LINT_NOTE
                          ? "execute PDL_WAIT() or cudaGridDependencySynchronize() on every "
                            "path, or launch it without overlap"
                          : "launch it without overlap");
}

void pdl_report_too_old(struct pdl_report *report)
{
    const struct pdl_effects *effects = report->effects;
    const struct pdl_mention *mention =
        effects->wait.count > 0 ? &effects->wait : &effects->trigger;
    if (mention->count > 0) {
        pdl_report_add_at(
            report, PDL_LINT_COMPILED_OUT, PDL_LINT_ERROR, mention->instruction, mention->count,
            "griddepcontrol needs sm_90, and this code is for less: it cannot be assembled",
            "compile for sm_90 or newer, or guard the instruction with __CUDA_ARCH__");
    } else if (report->launched == PDL_HOW_SAID_OVERLAPPED) {
        pdl_report_add_at(
            report, PDL_LINT_COMPILED_OUT, PDL_LINT_WARNING, NULL, 1,
            "the kernel is launched with overlap, and compiled for less than sm_90: its "
            "waits are not in the code",
            "compile it for sm_90 or newer, or launch it without overlap");
    }
}
