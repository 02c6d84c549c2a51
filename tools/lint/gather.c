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
            const struct lint_allowance allowance = {marker, marker->used, "marker",
                                                     PDL_LINT_WARNING};
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
    report->allowances = all.items;
    report->allowance_count = all.count;
    report->allowance_capacity = all.capacity;
}

void lint_add_allowance(struct lint_report *report, const struct lint_allowance *allowance)
{
    report->allowances = room_for_one(report->allowances, report->allowance_count,
                                      &report->allowance_capacity, sizeof(*allowance));
    report->allowances[report->allowance_count++] = *allowance;
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

const pdl_inspect_place *lint_headline(const pdl_lint_finding *finding)
{
    if (finding->place < finding->place_count && finding->places[finding->place]->file != NULL) {
        return finding->places[finding->place];
    }
    return finding->place_count > 0 && finding->places[0]->file != NULL ? finding->places[0] : NULL;
}

struct lint_place lint_place_of(const struct lint_entry *entry)
{
    const pdl_lint_finding *finding = entry->finding;
    const pdl_inspect_place *place = lint_headline(finding);
    if (place != NULL) {
        return (struct lint_place){place->file, place->line, place->column, true};
    }
    return (struct lint_place){lint_image_of(entry)->origin, finding->line, finding->column, false};
}

bool lint_is_shown(const struct lint_report *report, const pdl_lint_finding *finding)
{
    return finding->suppressed == NULL && finding->level >= (int32_t)report->level;
}

/* ---- findings that do not count ----------------------------------------------------------------*/

/* Each by its address: a reason that somebody gave is another one, whatever it says. */
static const char *const reasons[LINT_SIFTED_COUNT] = {
    [LINT_SIFTED_THIRD_PARTY] = "the file is third-party",
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
    case LINT_SIFTED_BASELINE:
        return "in the baseline";
    default:
        return "suppressed";
    }
}

/* ---- what makes findings one -------------------------------------------------------------------*/

/* An entry while entries are brought together. */
struct member {
    struct lint_entry entry;
    const char *file; /* of the source; else of the input */
    const char
        *subject;      /* what the message is about: a variable, a function that is called; or "" */
    const char *owner; /* without a line of the source: the kernel without its template arguments */
    uint32_t line;     /* 0: not known */
    uint32_t group;
    uint32_t same;      /* of all in one line about one thing, suppressed or not */
    const char *reason; /* of what suppressed it, or "": such a finding does not speak for others */
};

struct gathering {
    struct pdl_names texts; /* owners and subjects */
    struct member *members;
    size_t count;
};

static const char *keep(struct gathering *gathering, const char *text)
{
    const uint32_t index = name_index(&gathering->texts, text);
    return gathering->texts.names[index];
}

static int by_number(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* What the message has in quotation marks, where no parameter tells findings apart. */
static const char *subject_of(struct gathering *gathering, const pdl_lint_finding *finding)
{
    const char *begin = finding->parameter < 0 ? strchr(finding->message, '\'') : NULL;
    const char *end = begin != NULL ? strchr(begin + 1, '\'') : NULL;
    if (end == NULL) {
        return finding->parameter < 0 && strncmp(finding->message, "calls ", 6) == 0 ? "calls" : "";
    }
    char *text = format_text("%.*s", (int)(end - begin), begin);
    const char *kept = keep(gathering, text);
    free(text);
    return kept;
}

static struct member member_of(struct gathering *gathering, struct lint_entry entry)
{
    const pdl_inspect_place *place = lint_headline(entry.finding);
    struct member member = {.entry = entry,
                            .file = place != NULL ? place->file : entry.input->name,
                            .subject = subject_of(gathering, entry.finding),
                            .owner = "",
                            .line = place != NULL ? place->line : 0,
                            .reason =
                                entry.finding->suppressed != NULL ? entry.finding->suppressed : ""};
    if (place == NULL) {
        char *alone = demangle_alone(lint_kernel_of(&entry)->info->name);
        member.owner = keep(gathering, alone);
        free(alone);
    }
    return member;
}

/* By everything but the rule, and what suppressed it. */
static int by_line(const struct member *a, const struct member *b)
{
    int order = by_number(a->line == 0, b->line == 0);
    order = order != 0 ? order : by_number(a->line, b->line);
    order = order != 0 ? order : a->file == b->file ? 0 : strcmp(a->file, b->file);
    order =
        order != 0 ? order : by_number(a->entry.finding->parameter, b->entry.finding->parameter);
    order = order != 0 ? order : a->owner == b->owner ? 0 : strcmp(a->owner, b->owner);
    return order != 0 ? order : a->subject == b->subject ? 0 : strcmp(a->subject, b->subject);
}

static int by_look(const void *a, const void *b)
{
    const struct member *x = a;
    const struct member *y = b;
    int order = by_line(x, y);
    order = order != 0 ? order : strcmp(x->reason, y->reason);
    order = order != 0 ? order : by_number(x->entry.finding->rule, y->entry.finding->rule);
    return order != 0 ? order : by_number((int64_t)x->entry.order, (int64_t)y->entry.order);
}

static int by_group(const void *a, const void *b)
{
    const struct member *x = a;
    const struct member *y = b;
    int order = by_number(x->group, y->group);
    order = order != 0 ? order : by_number(y->entry.finding->level, x->entry.finding->level);
    return order != 0 ? order : by_number((int64_t)x->entry.order, (int64_t)y->entry.order);
}

/* Whether the second, which follows the first, goes with it: the same access is a partial-wait where other threads
 * have waited. */
static bool goes_with(const struct member *first, const struct member *second)
{
    const pdl_lint_finding *a = first->entry.finding;
    const pdl_lint_finding *b = second->entry.finding;
    return by_line(first, second) == 0 && strcmp(first->reason, second->reason) == 0 &&
           (a->rule == b->rule ||
            (b->rule == PDL_LINT_PARTIAL_WAIT &&
             (a->rule == PDL_LINT_READ_BEFORE_WAIT || a->rule == PDL_LINT_WRITE_BEFORE_WAIT)));
}

int lint_by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t lint_count_kernels(const struct lint_item *item, bool *same)
{
    const char **names = allocate(item->count, sizeof(*names));
    char *first = NULL;
    size_t count = 0;
    for (size_t i = 0; i < item->count; i++) {
        names[i] = lint_kernel_of(&item->entries[i])->info->name;
    }
    qsort((void *)names, item->count, sizeof(*names), lint_by_text);
    *same = true;
    for (size_t i = 0; i < item->count; i++) {
        if (i > 0 && strcmp(names[i - 1], names[i]) == 0) {
            continue;
        }
        count++;
        if (*same) {
            char *alone = demangle_alone(names[i]);
            *same = first == NULL || strcmp(first, alone) == 0;
            free(first);
            first = alone;
        }
    }
    free(first);
    free((void *)names);
    return count;
}

static void find_groups(struct gathering *gathering)
{
    struct member *members = gathering->members;
    uint32_t groups = 0;
    uint32_t lines = 0;
    qsort(members, gathering->count, sizeof(*members), by_look);
    for (size_t i = 0; i < gathering->count; i++) {
        lines += i > 0 && by_line(&members[i - 1], &members[i]) != 0 ? 1 : 0;
        members[i].same = lines;
        groups += i > 0 && !goes_with(&members[i - 1], &members[i]) ? 1 : 0;
        members[i].group = groups;
    }
    qsort(members, gathering->count, sizeof(*members), by_group);
}

static int by_order(const void *a, const void *b)
{
    return by_number((int64_t)((const struct lint_item *)a)->order,
                     (int64_t)((const struct lint_item *)b)->order);
}

void lint_gather_findings(struct lint_report *report)
{
    struct gathering gathering = {0};
    size_t count = 0;
    for (size_t i = 0; i < report->inputs.count; i++) {
        const pdl_inspection *inspection = report->inputs.items[i].inspection;
        count += inspection != NULL ? pdl_inspection_finding_count(inspection) : 0;
    }
    gathering.members = allocate(count, sizeof(*gathering.members));
    for (size_t i = 0; i < report->inputs.count; i++) {
        const struct input *input = &report->inputs.items[i];
        const size_t own =
            input->inspection != NULL ? pdl_inspection_finding_count(input->inspection) : 0;
        for (size_t f = 0; f < own; f++) {
            const struct lint_entry entry = {input, pdl_inspection_finding(input->inspection, f),
                                             gathering.count};
            gathering.members[gathering.count] = member_of(&gathering, entry);
            gathering.count++;
        }
    }
    find_groups(&gathering);
    report->entries = allocate(count, sizeof(*report->entries));
    report->items = allocate(count, sizeof(*report->items));
    for (size_t i = 0; i < count; i++) {
        const struct member *member = &gathering.members[i];
        report->entries[i] = member->entry;
        if (i > 0 && gathering.members[i - 1].group == member->group) {
            struct lint_item *item = &report->items[report->item_count - 1];
            item->count++;
            item->order = member->entry.order < item->order ? member->entry.order : item->order;
        } else {
            report->items[report->item_count++] =
                (struct lint_item){&report->entries[i], 1, member->entry.order, member->same, ""};
        }
    }
    report->entry_count = count;
    free(gathering.members);
    pdl_names_free(&gathering.texts);
    qsort(report->items, report->item_count, sizeof(*report->items), by_order);
    if (report->with_fingerprints) {
        lint_fingerprint(report);
    }
}
