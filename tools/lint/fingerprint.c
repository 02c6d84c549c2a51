/* SPDX-License-Identifier: MIT */
/* What a finding is known by from one run to the next: for baselines, and in SARIF. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/demangle.h"
#include "common/memory.h"
#include "core/hash.h"
#include "lint/lint.h"

/* No longer line is of use, and one may be a whole file. */
enum { LONGEST_LINE = 4096 };

static uint64_t hash(uint64_t state, const char *text, size_t length)
{
    static const unsigned char end = 0xff; /* no byte of UTF-8, so that ends count */
    return pdl_hash(pdl_hash(state, text, length), &end, 1);
}

/* Without blanks, whose number changes when a line is moved to the right. */
static uint64_t hash_line(uint64_t state, const char *line, size_t length)
{
    for (size_t i = 0; i < length && i < LONGEST_LINE; i++) {
        state = isspace((unsigned char)line[i]) ? state : pdl_hash(state, &line[i], 1);
    }
    return hash(state, "", 0);
}

/* Numbers of lines change, paths begin differently on each machine, and there may be other instances of a template
 * tomorrow: none of these counts. */
static uint64_t hash_of(const struct lint_report *report, const struct lint_item *item)
{
    const struct lint_entry *entry = &item->entries[0];
    const pdl_lint_finding *finding = entry->finding;
    const pdl_inspect_place *place = lint_headline(finding);
    const char *rule = pdl_lint_rule_id((pdl_lint_rule)finding->rule);
    const char *file = lint_place_of(entry).file;
    const char *slash = strrchr(file, '/');
    char *function =
        demangle_alone(place != NULL && place->inlined != NULL ? place->inlined
                                                               : lint_kernel_of(entry)->info->name);
    char *parameter = finding->parameter_name != NULL ? copy_text(finding->parameter_name)
                                                      : format_text("%d", (int)finding->parameter);
    size_t length = 0;
    const char *line =
        place != NULL && report->sources != NULL
            ? lint_source_line(report->sources, entry->input, place->file, place->line, &length)
            : NULL;
    uint64_t state = hash(PDL_HASH_START, rule, strlen(rule));
    file = slash != NULL ? slash + 1 : file;
    state = hash(state, file, strlen(file));
    state = hash(state, function, strlen(function));
    state = hash(state, parameter, strlen(parameter));
    state = line != NULL ? hash_line(state, line, length) : state;
    free(parameter);
    free(function);
    return state;
}

/* Equal ones are counted in the order of the report. What is suppressed in some of its kernels is two items, and one
 * finding: both have the same number, so that a suppression does not make the other new to a baseline. */
void lint_fingerprint(struct lint_report *report)
{
    struct pdl_names hashes = {0};
    struct pdl_names seen = {0};
    struct {
        uint32_t *items;
        size_t count, capacity;
    } times = {0}; /* by hash */
    struct {
        uint32_t *items;
        size_t count, capacity;
    } numbers = {0}; /* by hash and what it is about */
    for (size_t i = 0; i < report->item_count; i++) {
        struct lint_item *item = &report->items[i];
        char one[40];
        (void)snprintf(item->fingerprint, sizeof(item->fingerprint), "%016llx",
                       (unsigned long long)hash_of(report, item));
        const uint32_t hash_index = name_index(&hashes, item->fingerprint);
        (void)snprintf(one, sizeof(one), "%s %u", item->fingerprint, (unsigned)item->same);
        const uint32_t index = name_index(&seen, one);
        if (hash_index >= times.count) {
            APPEND(&times, 0);
        }
        if (index >= numbers.count) {
            APPEND(&numbers, ++times.items[hash_index]);
        }
        (void)snprintf(item->fingerprint + 16, sizeof(item->fingerprint) - 16, ":%u",
                       (unsigned)numbers.items[index]);
    }
    free(numbers.items);
    free(times.items);
    pdl_names_free(&seen);
    pdl_names_free(&hashes);
}
