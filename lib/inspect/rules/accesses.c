/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "inspect/ptx/places.h"
#include "inspect/rules/report.h"

/* Whether a read stands above the wait in the code and behind it in the source. */
static bool was_moved(const struct pdl_report *report, const struct pdl_effect *effect)
{
    uint32_t count;
    if (!effect->non_coherent || effect->place_count == 0 || !effect->waits_later ||
        report->effects->wait.count != 1) {
        return false;
    }
    const pdl_inspect_place *const *waits = pdl_places_chain(
        report->module, report->flow->body, report->effects->wait.instruction->place, &count);
    if (count == 0) {
        return false;
    }
    const pdl_inspect_place *outer = effect->places[effect->place_count - 1];
    const pdl_inspect_place *wait = waits[count - 1];
    return outer->file != NULL && wait->file != NULL && strcmp(outer->file, wait->file) == 0 &&
           outer->line > wait->line;
}

static const char *verb(const struct pdl_effect *effect)
{
    return effect->kind == PDL_EFFECT_WRITE ? "write" : "read";
}

static const char *before_wait_advice(const struct pdl_report *report,
                                      const pdl_lint_finding *finding,
                                      const struct pdl_effect *effect)
{
    if (effect->kind == PDL_EFFECT_WRITE) {
        return "wait first: earlier kernels may still read or write that memory";
    }
    const char *constant = pdl_report_constant_advice(report, finding, &effect->address);
    return pdl_report_text(report, "wait first%s", constant);
}

/* How to load what the wait protects. */
static const char load_advice[] =
    "declare the pointer with PDL_RESTRICT or without __restrict__, and load with PDL_LOAD() or "
    "without __ldg() and ld.global.nc";

/* "; the barrier at line 7 …": why the last barrier that they passed does not order them, or "". */
static const char *why_unordered(const struct pdl_report *report, const struct pdl_effect *effect)
{
    static const char *const barriers[] = {
        [PDL_BARRIER_TOO_EARLY] = "the barrier at line %u does not order them: those that wait "
                                  "arrive there before their wait",
        [PDL_BARRIER_NOBODY] = "no thread that has waited arrives on the mbarrier at line %u",
        [PDL_BARRIER_PASSES] = "their first wait on the mbarrier at line %u does not block "
                               "(parity 1)",
        [PDL_BARRIER_PREFILLED] = "those that wait complete the first phase of the mbarrier at "
                                  "line %u before their wait",
    };
    if (effect->why == PDL_BARRIER_NONE_PASSED || effect->barrier_line == 0) {
        return "";
    }
    const char *format = barriers[effect->why];
    const char *number = strstr(format, "%u");
    return pdl_report_text(report, "; %.*s%u%s", (int)(number - format), format,
                           effect->barrier_line, number + 2);
}

/* Adds a finding at an access, and what it rests on if the instruction is not understood. */
static void add(struct pdl_report *report, const struct pdl_effect *effect,
                pdl_lint_finding finding)
{
    const struct pdl_name *name = &report->module->names.names[effect->name];
    if (pdl_opcode_class(name->text, name->length).unknown) {
        finding.message = pdl_report_text(
            report, "'%.*s' is not understood and counts as an access: %s",
            (int)(name->length < 200 ? name->length : 200), name->text, finding.message);
    }
    pdl_report_add(report, finding);
}

/* Nobody has waited yet, or a branch led around the wait. */
static void unwaited_access(struct pdl_report *report, const struct pdl_effect *effect,
                            uint32_t decision)
{
    const uint8_t states = effect->states;
    const bool write = effect->kind == PDL_EFFECT_WRITE;
    pdl_lint_finding finding = pdl_report_finding(effect, PDL_LINT_WARNING);
    const char *through = pdl_report_address(report, &effect->address, &finding);
    if (!(states & PDL_STATE_NOT_WAITED & ~PDL_STATE_CALLED)) {
        finding.level = PDL_LINT_NOTE;
        finding.rule = write ? PDL_LINT_WRITE_BEFORE_WAIT : PDL_LINT_READ_BEFORE_WAIT;
        finding.message = pdl_report_text(report,
                                          "%ss global memory%s after a call of external code: "
                                          "before the wait, unless that code waits",
                                          verb(effect), through);
        finding.advice = "check the called code, or wait before the access";
        add(report, effect, finding);
        return;
    }
    if (report->module->debug && effect->address.untraced) {
        finding.level = PDL_LINT_NOTE;
    }
    /* A branch that all threads take alike, and behind which a wait can still come, decided nothing. */
    const bool undecided = (states & PDL_STATE_DECIDED) && decision != 0 &&
                           effect->divergence == PDL_DIVERGENCE_NONE &&
                           !report->flow->decisions[decision - 1].never;
    if ((states & PDL_STATE_UNWAITED) || undecided ||
        ((states & PDL_STATE_DECIDED) && effect->waits_later)) {
        const bool moved = was_moved(report, effect);
        finding.rule = moved   ? PDL_LINT_NC_AFTER_WAIT
                       : write ? PDL_LINT_WRITE_BEFORE_WAIT
                               : PDL_LINT_READ_BEFORE_WAIT;
        finding.message =
            moved ? pdl_report_text(report,
                                    "a non-coherent load%s is after the wait in the source, but "
                                    "the compiler moved it before the wait",
                                    through)
                  : pdl_report_text(report, "%ss global memory%s before the wait", verb(effect),
                                    through);
        finding.advice = moved ? load_advice : before_wait_advice(report, &finding, effect);
        add(report, effect, finding);
        return;
    }
    finding.rule = PDL_LINT_PARTIAL_WAIT;
    if (states & PDL_STATE_DECIDED) {
        if (effect->divergence == PDL_DIVERGENCE_NONE && decision != 0 &&
            report->flow->decisions[decision - 1].never) {
            return; /* the branch is reported */
        }
        const char *why = why_unordered(report, effect);
        finding.message =
            decision != 0 && report->flow->decisions[decision - 1].data
                ? pdl_report_text(report,
                                  "%ss global memory%s without the wait, depending on data that "
                                  "is read from memory before it",
                                  verb(effect), through)
                : pdl_report_text(
                      report, "some %s %s global memory%s without the wait that others execute%s",
                      effect->divergence == PDL_DIVERGENCE_BLOCK ? "blocks" : "threads",
                      verb(effect), through, why);
    } else if (states & PDL_STATE_MBARRIER) {
        finding.level = PDL_LINT_NOTE;
        finding.message =
            pdl_report_text(report,
                            "some threads %s global memory%s without the wait that others "
                            "execute, after an mbarrier that threads which waited may complete",
                            verb(effect), through);
    } else {
        finding.level = PDL_LINT_NOTE;
        finding.message =
            pdl_report_text(report,
                            "some threads %s global memory%s without the wait that others "
                            "execute, and rely on a barrier or a call after it",
                            verb(effect), through);
    }
    finding.advice =
        "let every thread that touches memory of earlier kernels execute the wait itself";
    add(report, effect, finding);
}

/* What is known of a function that is called before the wait. */
static const char *why_unknown(const struct pdl_report *report, const struct pdl_effect *effect)
{
    const struct pdl_ptx_function *function =
        effect->name != PDL_NONE ? pdl_ptx_function_find(report->module, effect->name) : NULL;
    if (effect->kind == PDL_EFFECT_CUT_CALL) {
        return "which has more accesses to memory than are followed";
    }
    if (function != NULL && function->has_body) {
        return "which is of functions that call each other in more ways than are followed";
    }
    return "whose code is not available: it may access memory, and it may wait";
}

static void unknown_call(struct pdl_report *report, const struct pdl_effect *effect)
{
    const struct pdl_name *name =
        effect->name != PDL_NONE ? &report->module->names.names[effect->name] : NULL;
    pdl_lint_finding finding = pdl_report_finding(effect, PDL_LINT_NOTE);
    finding.rule = PDL_LINT_READ_BEFORE_WAIT;
    finding.parameter = -1;
    finding.parameter_offset = -1;
    finding.advice = "wait before the call, or check the called code";
    finding.message =
        effect->kind == PDL_EFFECT_GUESSED_CALL
            ? "calls through a pointer before the wait: every function here that it may mean is "
              "followed, and there may be others elsewhere"
        : name == NULL
            ? "calls through a pointer before the wait: what is called may access memory, and it "
              "may wait"
            : pdl_report_text(report, "calls '%.*s' before the wait, %s",
                              (int)(name->length < 200 ? name->length : 200), name->text,
                              why_unknown(report, effect));
    pdl_report_add(report, finding);
}

static void non_coherent(struct pdl_report *report, const struct pdl_effect *effect)
{
    pdl_lint_finding finding = pdl_report_finding(effect, PDL_LINT_WARNING);
    finding.rule = PDL_LINT_NC_AFTER_WAIT;
    const char *through = pdl_report_address(report, &effect->address, &finding);
    finding.message =
        pdl_report_text(report,
                        "a non-coherent load%s after the wait: it may be moved before the "
                        "wait, and must not read memory that another kernel writes",
                        through);
    const char *constant = pdl_report_constant_advice(report, &finding, &effect->address);
    finding.advice = pdl_report_text(report, "%s%s", load_advice, constant);
    pdl_report_add(report, finding);
}

void pdl_report_accesses(struct pdl_report *report)
{
    for (uint32_t i = 0; i < report->effects->effect_count; i++) {
        const struct pdl_effect *effect = &report->effects->effects[i];
        if (effect->kind != PDL_EFFECT_READ && effect->kind != PDL_EFFECT_WRITE) {
            unknown_call(report, effect);
        } else if (effect->states & PDL_STATE_NOT_WAITED) {
            unwaited_access(report, effect, report->effects->decisions[i]);
        } else {
            non_coherent(report, effect);
        }
    }
}
