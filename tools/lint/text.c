/* SPDX-License-Identifier: MIT */
/* Findings as compilers print them, and the table of kernels. */
#include "lint/lint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/demangle.h"
#include "common/memory.h"
#include "common/print.h"
#include "common/shown.h"

/* Colours as GCC has them; empty strings where none are wanted. */
struct colours {
    const char *place, *note, *warning, *error, *end;
};

static const struct colours plain = {"", "", "", "", ""};
static const struct colours coloured = {"\033[1m", "\033[1;36m", "\033[1;35m", "\033[1;31m",
                                        "\033[0m"};

static const char *colour_of(const struct colours *colours, int32_t level)
{
    return level == PDL_LINT_NOTE      ? colours->note
           : level == PDL_LINT_WARNING ? colours->warning
                                       : colours->error;
}

static void print_shown(const char *text)
{
    char *cut = shown(text); /* what is not shown is not walked over either, for each finding */
    print_plain(stdout, cut);
    free(cut);
}

static void print_place(const char *file, uint32_t line, uint32_t column)
{
    print_shown(file);
    if (line > 0) {
        printf(":%u", (unsigned)line);
        if (column > 0) {
            printf(":%u", (unsigned)column);
        }
    }
}

static void print_headline(const struct colours *colours, struct lint_place place, int32_t level)
{
    (void)fputs(colours->place, stdout);
    print_place(place.file, place.line, place.column);
    printf(":%s %s%s:%s ", colours->end, colour_of(colours, level),
           pdl_lint_level_name((pdl_lint_level)level), colours->end);
}

static void print_function(const char *name)
{
    char *demangled = demangle(name);
    (void)putchar('\'');
    print_plain(stdout, demangled);
    (void)putchar('\'');
    free(demangled);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* How many kernels an item is in: the same one for two architectures is one. */
static size_t count_kernels(const struct lint_item *item)
{
    if (item->count == 1) {
        return 1;
    }
    const char **names = allocate(item->count, sizeof(*names));
    for (size_t i = 0; i < item->count; i++) {
        names[i] = lint_kernel_of(&item->entries[i])->info->name;
    }
    qsort((void *)names, item->count, sizeof(*names), by_text);
    size_t count = 1;
    for (size_t i = 1; i < item->count; i++) {
        count += strcmp(names[i - 1], names[i]) != 0;
    }
    free((void *)names);
    return count;
}

static void print_item(const struct colours *colours, const struct lint_item *item)
{
    const pdl_lint_finding *finding = item->entries[0].finding;
    const size_t kernels = count_kernels(item);
    print_headline(colours, lint_place_of(&item->entries[0]), finding->level);
    print_shown(finding->message);
    printf(" [%s]\n  in kernel ", pdl_lint_rule_id((pdl_lint_rule)finding->rule));
    print_function(lint_kernel_of(&item->entries[0])->info->name);
    if (kernels > 1) {
        printf(" and %zu more", kernels - 1);
    }
    if (finding->count > 1) {
        printf(", by %u instructions", (unsigned)finding->count);
    }
    (void)putchar('\n');
    for (uint32_t i = 1; i < finding->place_count; i++) {
        const char *function = finding->places[i - 1]->inlined;
        if (finding->places[i]->file == NULL) {
            continue;
        }
        (void)fputs("  ", stdout);
        if (function != NULL) {
            (void)fputs("in ", stdout);
            print_function(function);
            (void)fputs(", ", stdout);
        }
        (void)fputs("inlined from ", stdout);
        print_place(finding->places[i]->file, finding->places[i]->line, finding->places[i]->column);
        (void)putchar('\n');
    }
    if (finding->advice != NULL) {
        printf("  %snote:%s ", colours->note, colours->end);
        print_shown(finding->advice);
        (void)putchar('\n');
    }
}

static void print_unused(const struct colours *colours, const struct lint_allowance *allowance)
{
    print_headline(colours, (struct lint_place){.file = allowance->suppression->origin},
                   PDL_LINT_WARNING);
    printf("unused %s '", allowance->marker ? "marker" : "suppression");
    print_shown(allowance->suppression->text);
    (void)fputs("': it suppresses nothing\n", stdout);
}

static void print_part(bool *first, size_t count, const char *one, const char *many)
{
    if (count > 0) {
        char *text = format_count(count, one, many);
        printf("%s%s", *first ? "" : ", ", text);
        *first = false;
        free(text);
    }
}

/* How many were shown, and what was not. Nothing where there is nothing. */
static void print_totals(const struct lint_report *report)
{
    size_t seen[PDL_LINT_ERROR + 1] = {0};
    size_t hidden[PDL_LINT_ERROR + 1] = {0};
    size_t suppressed = 0;
    bool first = true;
    for (size_t i = 0; i < report->item_count; i++) {
        const pdl_lint_finding *finding = report->items[i].entries[0].finding;
        if (finding->suppressed != NULL) {
            suppressed++;
        } else if (lint_is_shown(report, finding)) {
            seen[finding->level]++;
        } else {
            hidden[finding->level]++;
        }
    }
    print_part(&first, seen[PDL_LINT_ERROR], "error", "errors");
    print_part(&first, seen[PDL_LINT_WARNING], "warning", "warnings");
    print_part(&first, seen[PDL_LINT_NOTE], "note", "notes");
    print_part(&first, hidden[PDL_LINT_WARNING], "warning not shown", "warnings not shown");
    print_part(&first, hidden[PDL_LINT_NOTE], "note not shown", "notes not shown");
    if (hidden[PDL_LINT_NOTE] > 0) {
        (void)fputs(" (--level=note shows them)", stdout);
    }
    print_part(&first, suppressed, "suppressed", "suppressed");
    if (!first) {
        (void)putchar('\n');
    }
}

bool lint_print_text(const struct lint_report *report)
{
    const struct colours *colours = wants_colours(stdout) ? &coloured : &plain;
    for (size_t i = 0; i < report->item_count; i++) {
        if (lint_is_shown(report, report->items[i].entries[0].finding)) {
            print_item(colours, &report->items[i]);
        }
    }
    for (size_t i = 0; i < report->allowance_count; i++) {
        if (report->level <= PDL_LINT_WARNING && lint_is_unused(report, &report->allowances[i])) {
            print_unused(colours, &report->allowances[i]);
        }
    }
    print_totals(report);
    return ferror(stdout) == 0;
}

/* ---- the summary ------------------------------------------------------------------------------*/

static const char *waits_text(const pdl_inspect_kernel *kernel)
{
    return kernel->info->waits == PDL_YES && kernel->info->waits_always == PDL_NO
               ? "sometimes"
               : known_name(kernel->info->waits);
}

static void add_row(struct table *table, const struct input *input,
                    const pdl_inspect_kernel *kernel)
{
    size_t counts[PDL_LINT_ERROR + 1] = {0}; /* those that are suppressed at index 0 */
    for (uint32_t i = 0; i < kernel->finding_count; i++) {
        const pdl_lint_finding *finding =
            pdl_inspection_finding(input->inspection, (size_t)kernel->first_finding + i);
        counts[finding->suppressed != NULL ? 0 : finding->level]++;
    }
    table_add(table, target_name(pdl_inspection_image(input->inspection, kernel->image)));
    table_add(table, copy_text(waits_text(kernel)));
    table_add(table, copy_text(known_name(kernel->info->triggers)));
    table_add(table, format_text("%zu", counts[PDL_LINT_ERROR]));
    table_add(table, format_text("%zu", counts[PDL_LINT_WARNING]));
    table_add(table, format_text("%zu", counts[PDL_LINT_NOTE]));
    table_add(table, format_text("%zu", counts[0]));
    table_add(table, demangle(kernel->info->name));
}

bool lint_print_summary(const struct lint_report *report)
{
    static const char *const headings[] = {"target",   "waits", "triggers",   "errors",
                                           "warnings", "notes", "suppressed", "kernel"};
    struct table table = {.headings = headings, .right = "lllrrrrl"};
    for (size_t i = 0; i < report->inputs.count; i++) {
        const struct input *input = &report->inputs.items[i];
        const size_t count =
            input->inspection != NULL ? pdl_inspection_kernel_count(input->inspection) : 0;
        for (size_t k = 0; k < count; k++) {
            add_row(&table, input, pdl_inspection_kernel(input->inspection, k));
        }
    }
    table_print(&table, stdout);
    table_free(&table);
    return ferror(stdout) == 0;
}
