/* SPDX-License-Identifier: MIT */
/* What the reports are made from: findings that look alike, suppressions and markers over all inputs. */
#include <stdlib.h>
#include <string.h>

#include "common/demangle.h"
#include "common/memory.h"
#include "lint/lint.h"

/* Markers in a header come with every input that includes it: one place and text is one marker. */
static int by_marker(const void *a, const void *b)
{
    const pdl_lint_suppression *x = ((const struct lint_allowance *)a)->suppression;
    const pdl_lint_suppression *y = ((const struct lint_allowance *)b)->suppression;
    const int order = strcmp(x->origin, y->origin);
    return order != 0 ? order : strcmp(x->text, y->text);
}

void lint_gather_allowances(struct lint_report *report)
{
    struct {
        struct lint_allowance *items;
        size_t count, capacity;
    } all = {0};
    for (size_t i = 0; i < report->inputs.count; i++) {
        const pdl_inspection *inspection = report->inputs.items[i].inspection;
        const size_t count = inspection != NULL ? pdl_inspection_marker_count(inspection) : 0;
        for (size_t m = 0; m < count; m++) {
            const pdl_lint_suppression *marker = pdl_inspection_marker(inspection, m);
            const struct lint_allowance allowance = {marker, marker->used, true};
            APPEND(&all, allowance);
        }
    }
    size_t kept = 0;
    if (all.count > 0) {
        qsort(all.items, all.count, sizeof(*all.items), by_marker);
    }
    for (size_t i = 0; i < all.count; i++) {
        if (kept > 0 && by_marker(&all.items[kept - 1], &all.items[i]) == 0) {
            all.items[kept - 1].used += all.items[i].used;
        } else {
            all.items[kept++] = all.items[i];
        }
    }
    all.count = kept;
    for (size_t l = 0; l < report->list_count; l++) {
        const size_t count = pdl_lint_suppressions_count(report->lists[l]);
        for (size_t s = 0; s < count; s++) {
            const pdl_lint_suppression *suppression =
                pdl_lint_suppressions_get(report->lists[l], s);
            const struct lint_allowance allowance = {suppression, suppression->used, false};
            APPEND(&all, allowance);
        }
    }
    report->allowances = all.items;
    report->allowance_count = all.count;
}

bool lint_is_unused(const struct lint_report *report, const struct lint_allowance *allowance)
{
    return report->judged && allowance->used == 0;
}

/* ---- findings ---------------------------------------------------------------------------------*/

const pdl_inspect_kernel *lint_kernel_of(const struct lint_entry *entry)
{
    return pdl_inspection_kernel(entry->input->inspection, entry->finding->kernel);
}

const pdl_inspect_image *lint_image_of(const struct lint_entry *entry)
{
    return pdl_inspection_image(entry->input->inspection, lint_kernel_of(entry)->image);
}

struct lint_place lint_place_of(const struct lint_entry *entry)
{
    const pdl_lint_finding *finding = entry->finding;
    if (finding->place_count > 0 && finding->places[0]->file != NULL) {
        const pdl_inspect_place *place = finding->places[0];
        return (struct lint_place){place->file, place->line, place->column, true};
    }
    return (struct lint_place){lint_image_of(entry)->origin, finding->line, finding->column, false};
}

bool lint_is_shown(const struct lint_report *report, const pdl_lint_finding *finding)
{
    return finding->suppressed == NULL && finding->level >= (int32_t)report->level;
}

static int by_number(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* What makes findings the same: all that is shown but the kernel. In the PTX, a place belongs to
 * one kernel anyway. */
static int by_look(const struct lint_entry *a, const struct lint_entry *b)
{
    const struct lint_place x = lint_place_of(a);
    const struct lint_place y = lint_place_of(b);
    int order = by_number(x.line, y.line);
    order = order != 0 ? order : by_number((uint32_t)a->finding->rule, (uint32_t)b->finding->rule);
    order = order != 0 ? order : by_number(x.column, y.column);
    order =
        order != 0 ? order : by_number((uint32_t)a->finding->level, (uint32_t)b->finding->level);
    order = order != 0 ? order
                       : by_number(a->finding->suppressed != NULL, b->finding->suppressed != NULL);
    order = order != 0 ? order : strcmp(x.file, y.file);
    return order != 0 ? order : strcmp(a->finding->message, b->finding->message);
}

static int by_look_and_order(const void *a, const void *b)
{
    const struct lint_entry *x = a;
    const struct lint_entry *y = b;
    const int order = by_look(x, y);
    return order != 0 ? order : by_number(x->order, y->order);
}

static int by_first_entry(const void *a, const void *b)
{
    const struct lint_item *x = a;
    const struct lint_item *y = b;
    return by_number(x->entries[0].order, y->entries[0].order);
}

void lint_gather_findings(struct lint_report *report)
{
    size_t count = 0;
    for (size_t i = 0; i < report->inputs.count; i++) {
        const pdl_inspection *inspection = report->inputs.items[i].inspection;
        count += inspection != NULL ? pdl_inspection_finding_count(inspection) : 0;
    }
    report->entries = allocate(count, sizeof(*report->entries));
    report->items = allocate(count, sizeof(*report->items));
    for (size_t i = 0; i < report->inputs.count; i++) {
        const struct input *input = &report->inputs.items[i];
        const size_t own =
            input->inspection != NULL ? pdl_inspection_finding_count(input->inspection) : 0;
        for (size_t f = 0; f < own; f++) {
            report->entries[report->entry_count] = (struct lint_entry){
                input, pdl_inspection_finding(input->inspection, f), report->entry_count};
            report->entry_count++;
        }
    }
    qsort(report->entries, count, sizeof(*report->entries), by_look_and_order);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && by_look(&report->entries[i - 1], &report->entries[i]) == 0) {
            report->items[report->item_count - 1].count++;
        } else {
            report->items[report->item_count++] = (struct lint_item){&report->entries[i], 1};
        }
    }
    qsort(report->items, report->item_count, sizeof(*report->items), by_first_entry);
}
