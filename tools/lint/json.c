/* SPDX-License-Identifier: MIT */
/* Findings as JSON: each finding in each kernel by itself. */
#include <stdlib.h>

#include "common/demangle.h"
#include "common/json.h"
#include "common/memory.h"
#include "lint/lint.h"

static json_t *json_parameter(const pdl_lint_finding *finding)
{
    if (finding->parameter < 0 && finding->parameter_name == NULL) {
        return json_null();
    }
    json_t *object = json_new_object();
    json_set(object, "number", json_number_from((int64_t)finding->parameter + 1, 1));
    json_set(object, "name", json_shown(finding->parameter_name));
    json_set(object, "offset", json_number_from(finding->parameter_offset, 0));
    return object;
}

static json_t *json_finding(const struct lint_entry *entry, size_t first_kernel,
                            const char *fingerprint)
{
    const pdl_lint_finding *finding = entry->finding;
    const pdl_inspect_kernel *kernel = lint_kernel_of(entry);
    const pdl_inspect_image *image = lint_image_of(entry);
    const struct lint_place place = lint_place_of(entry);
    json_t *object = json_new_object();
    json_t *chain = json_new_array();
    json_t *ptx = json_new_object();
    char *demangled = demangle(kernel->info->name);
    char *target = target_name(image);
    json_set(object, "rule", json_text(pdl_lint_rule_id((pdl_lint_rule)finding->rule)));
    json_set(object, "level", json_text(pdl_lint_level_name((pdl_lint_level)finding->level)));
    json_set(object, "message", json_shown(finding->message));
    json_set(object, "advice", json_shown(finding->advice));
    json_set(object, "machine", json_shown(finding->machine));
    json_set(object, "kernel", json_shown(kernel->info->name));
    json_set(object, "demangled", json_text(demangled));
    json_set(object, "kernel_index", json_number((int64_t)first_kernel + finding->kernel));
    json_set(object, "target", json_text(target));
    json_set(object, "file", json_shown(place.in_source ? place.file : NULL));
    json_set(object, "line", json_number_from(place.in_source ? place.line : 0, 1));
    json_set(object, "column", json_number_from(place.in_source ? place.column : 0, 1));
    for (uint32_t i = 0; i < finding->place_count; i++) {
        json_add(chain, json_place(finding->places[i]));
    }
    json_set(object, "places", chain);
    json_set(object, "place", json_number_from(place.in_source ? (int64_t)finding->place : -1, 0));
    json_set(ptx, "origin", json_shown(image->origin));
    json_set(ptx, "line", json_number_from(finding->line, 1));
    json_set(ptx, "column", json_number_from(finding->column, 1));
    json_set(object, "ptx", ptx);
    json_set(object, "parameter", json_parameter(finding));
    json_set(object, "instructions", json_number(finding->count));
    json_set(object, "suppressed", json_shown(finding->suppressed));
    json_set(object, "fingerprint", json_text(fingerprint));
    free(target);
    free(demangled);
    return object;
}

static json_t *json_allowance(const struct lint_report *report,
                              const struct lint_allowance *allowance)
{
    json_t *object = json_new_object();
    json_set(object, "kind", json_text(allowance->what));
    json_set(object, "origin", json_shown(allowance->suppression->origin));
    json_set(object, "text", json_shown(allowance->suppression->text));
    json_set(object, "reason", json_shown(allowance->suppression->reason));
    json_set(object, "used", json_number((int64_t)allowance->used));
    json_set(object, "unused", json_boolean(lint_is_unused(report, allowance)));
    return object;
}

static json_t *json_unchecked(const struct lint_unchecked *unchecked)
{
    json_t *object = json_new_object();
    json_set(object, "without_ptx", json_number((int64_t)unchecked->machine_code));
    json_set(object, "before_sm_90", json_number((int64_t)unchecked->older));
    json_set(object, "lto_images", json_number((int64_t)unchecked->images));
    return object;
}

bool lint_print_json(const struct lint_report *report)
{
    json_t *root = json_document(&report->inputs);
    json_t *findings = json_new_array();
    json_t *allowances = json_new_array();
    size_t first_kernel = 0;
    size_t order = 0;
    const char **fingerprints = allocate(report->entry_count, sizeof(*fingerprints));
    for (size_t i = 0; i < report->item_count; i++) {
        for (size_t e = 0; e < report->items[i].count; e++) {
            fingerprints[report->items[i].entries[e].order] = report->items[i].fingerprint;
        }
    }
    json_set(root, "kernels", json_kernels(&report->inputs, NULL, NULL));
    for (size_t i = 0; i < report->inputs.count; i++) {
        const struct input *input = &report->inputs.items[i];
        if (input->inspection == NULL) {
            continue;
        }
        const size_t count = pdl_inspection_finding_count(input->inspection);
        for (size_t f = 0; f < count; f++, order++) {
            const struct lint_entry entry = {input, pdl_inspection_finding(input->inspection, f),
                                             order};
            if (entry.finding->level >= (int32_t)report->level) {
                json_add(findings, json_finding(&entry, first_kernel, fingerprints[order]));
            }
        }
        first_kernel += pdl_inspection_kernel_count(input->inspection);
    }
    free((void *)fingerprints);
    for (size_t i = 0; i < report->allowance_count; i++) {
        json_add(allowances, json_allowance(report, &report->allowances[i]));
    }
    json_set(root, "unchecked", json_unchecked(&report->unchecked));
    json_set(root, "findings", findings);
    json_set(root, "suppressions", allowances);
    json_set(root, "exit_code", json_number(report->exit_code));
    return json_print(root);
}
