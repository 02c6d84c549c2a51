/* SPDX-License-Identifier: MIT */
#include "inspect/rules/report.h"

#include <stdlib.h>
#include <string.h>

#include "inspect/ptx/places.h"

/* ---- findings ----------------------------------------------------------------------------------- */

void pdl_report_add(struct pdl_report *report, pdl_lint_finding finding)
{
    finding.kernel = report->module->inspection->kernel_count - 1;
    PDL_ADD(report->findings, report->count, report->capacity, finding);
}

/* A finding at an effect, without what it says. */
pdl_lint_finding pdl_report_finding(const struct pdl_effect *effect, pdl_lint_level level)
{
    return (pdl_lint_finding){.level = level,
                              .line = effect->line,
                              .column = effect->column,
                              .place_count = effect->place_count,
                              .places = effect->places,
                              .count = effect->count};
}

/* A finding at an instruction of the kernel's own body; the kernel's beginning if it is NULL. */
void pdl_report_add_at(struct pdl_report *report, pdl_lint_rule rule, pdl_lint_level level,
                       const struct pdl_instruction *instruction, uint32_t count,
                       const char *message, const char *advice)
{
    pdl_lint_finding finding = {
        .message = message,
        .advice = advice,
        .rule = rule,
        .level = level,
        .parameter = -1,
        .parameter_offset = -1,
        .line = report->kernel->line,
        .column = report->flow->body->function->column,
        .place_count = report->kernel->place != NULL ? 1 : 0,
        .places = &report->kernel->place,
        .count = count > 0 ? count : 1,
    };
    if (instruction != NULL) {
        finding.line = instruction->line;
        finding.column = instruction->column;
        finding.places = pdl_places_chain(report->module, report->flow->body, instruction->place,
                                          &finding.place_count);
    }
    pdl_report_add(report, finding);
}

void pdl_report_add_mention(struct pdl_report *report, pdl_lint_rule rule,
                            const struct pdl_mention *mention, const char *message,
                            const char *advice)
{
    if (mention->count == 0) {
        return;
    }
    pdl_report_add_at(report, rule, pdl_lint_rule_level(rule), mention->instruction, mention->count,
                      message, advice);
}

/* ---- handing over ------------------------------------------------------------------------------- */

static int compare_places(const pdl_lint_finding *a, const pdl_lint_finding *b)
{
    if (a->place_count == 0 || b->place_count == 0) {
        return a->line < b->line ? -1 : a->line > b->line;
    }
    for (uint32_t i = 0; i < a->place_count && i < b->place_count; i++) {
        const pdl_inspect_place *left = a->places[i];
        const pdl_inspect_place *right = b->places[i];
        const int files = left->file == right->file ? 0
                          : left->file == NULL      ? -1
                          : right->file == NULL     ? 1
                                                    : strcmp(left->file, right->file);
        if (files != 0) {
            return files;
        }
        if (left->line != right->line) {
            return left->line < right->line ? -1 : 1;
        }
    }
    return a->place_count < b->place_count ? -1 : a->place_count > b->place_count;
}

/* By what makes two findings one, the worse first. */
static int compare_findings(const void *left, const void *right)
{
    const pdl_lint_finding *a = left;
    const pdl_lint_finding *b = right;
    const int places = compare_places(a, b);
    if (places != 0) {
        return places;
    }
    if (a->rule != b->rule) {
        return a->rule < b->rule ? -1 : 1;
    }
    if (a->parameter != b->parameter) {
        return a->parameter < b->parameter ? -1 : 1;
    }
    if (a->parameter_offset != b->parameter_offset) {
        return a->parameter_offset < b->parameter_offset ? -1 : 1;
    }
    if (a->level != b->level) {
        return a->level > b->level ? -1 : 1;
    }
    return a->line < b->line ? -1 : a->line > b->line;
}

static bool are_one(const pdl_lint_finding *a, const pdl_lint_finding *b)
{
    return compare_places(a, b) == 0 && a->rule == b->rule && a->parameter == b->parameter &&
           a->parameter_offset == b->parameter_offset;
}

static int compare_lines(const void *left, const void *right)
{
    const pdl_lint_finding *a = left;
    const pdl_lint_finding *b = right;
    if (a->line != b->line) {
        return a->line < b->line ? -1 : 1;
    }
    return a->rule < b->rule ? -1 : a->rule > b->rule;
}

/* Whether what a rule finds does harm only in a kernel that is launched with overlap. */
static bool needs_overlap(int32_t rule)
{
    switch (rule) {
    case PDL_LINT_READ_BEFORE_WAIT:
    case PDL_LINT_WRITE_BEFORE_WAIT:
    case PDL_LINT_NO_WAIT:
    case PDL_LINT_PARTIAL_WAIT:
    case PDL_LINT_NC_AFTER_WAIT:
        return true;
    default:
        return false;
    }
}

/* Joins the findings that are one, and adds them to the inspection by line. */
void pdl_report_hand_over(struct pdl_report *report)
{
    uint32_t kept = 0;
    if (report->count == 0) {
        return;
    }
    qsort(report->findings, report->count, sizeof(*report->findings), compare_findings);
    for (uint32_t i = 1; i < report->count; i++) {
        if (are_one(&report->findings[kept], &report->findings[i])) {
            report->findings[kept].count += report->findings[i].count;
        } else {
            report->findings[++kept] = report->findings[i];
        }
    }
    kept++;
    qsort(report->findings, kept, sizeof(*report->findings), compare_lines);
    for (uint32_t i = 0; i < kept; i++) {
        pdl_inspection *inspection = report->module->inspection;
        const uint32_t marker = pdl_allows_find(report->allows, report->flow->body->function->name,
                                                &report->findings[i]);
        if (marker != PDL_NONE) {
            inspection->markers[marker].used++;
            report->findings[i].suppressed = inspection->markers[marker].reason;
        } else if (report->launched == PDL_HOW_PLAIN && needs_overlap(report->findings[i].rule)) {
            report->findings[i].suppressed = "the kernel is launched without overlap only";
            report->findings[i].plain = 1;
        }
        pdl_report_headline(report, &report->findings[i]);
        pdl_inspection_add_finding(inspection, &report->findings[i]);
    }
}
