/* SPDX-License-Identifier: MIT */
/* Findings as compilers print them. */
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

/* What the machine code does, which the PTX does not say. */
static void print_machine(const struct colours *colours, const pdl_lint_finding *finding)
{
    if (finding->machine != NULL) {
        printf("  %snote:%s ", colours->note, colours->end);
        print_shown(finding->machine);
        (void)putchar('\n');
    }
}

static void print_function(const char *name)
{
    char *text = demangle_brief(name);
    (void)putchar('\'');
    print_plain(stdout, text);
    (void)putchar('\'');
    free(text);
}

char *lint_kernels_text(const struct lint_item *item)
{
    bool same;
    const size_t kernels = lint_count_kernels(item, &same);
    const char *first = lint_kernel_of(&item->entries[0])->info->name;
    char *text;
    if (kernels > 1 && same) {
        char *alone = demangle_alone(first);
        char *count = format_count(kernels, "", "");
        text = format_text("in %s instances of '%s'", count, alone);
        free(count);
        free(alone);
    } else {
        char *name = demangle_brief(first);
        char *more = kernels > 1 ? format_count(kernels - 1, "", "") : copy_text("");
        text = format_text("in kernel '%s'%s%s%s", name, kernels > 1 ? " and " : "", more,
                           kernels > 1 ? " more" : "");
        free(more);
        free(name);
    }
    return text;
}

static int by_value(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a;
    const int32_t y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

char *lint_pointers_text(const struct lint_item *item)
{
    enum { MOST = 8 };
    const int32_t own = item->entries[0].finding->parameter_offset;
    int32_t *offsets = allocate(item->count, sizeof(*offsets));
    size_t count = 0;
    size_t kept = 0;
    for (size_t i = 0; i < item->count; i++) {
        const int32_t offset = item->entries[i].finding->parameter_offset;
        if (offset >= 0 && offset != own) {
            offsets[count++] = offset;
        }
    }
    qsort(offsets, count, sizeof(*offsets), by_value);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || offsets[i - 1] != offsets[i]) {
            offsets[kept++] = offsets[i];
        }
    }
    char *text = copy_text("");
    for (size_t i = 0; i < kept && i < MOST; i++) {
        const bool last = i + 1 == kept || i + 1 == MOST;
        char *more = format_text("%s%s%d", text,
                                 i == 0 ? kept == 1 ? "also through the pointer at byte "
                                                    : "also through the pointers at bytes "
                                 : last && kept <= MOST ? " and "
                                                        : ", ",
                                 (int)offsets[i]);
        free(text);
        text = more;
    }
    if (kept > MOST) {
        char *more = format_text("%s and %zu more", text, kept - MOST);
        free(text);
        text = more;
    }
    free(offsets);
    return text;
}

/* Instructions in the first kernel. */
static uint64_t count_instructions(const struct lint_item *item)
{
    uint64_t count = 0;
    for (size_t i = 0; i < item->count; i++) {
        if (item->entries[i].input == item->entries[0].input &&
            item->entries[i].finding->kernel == item->entries[0].finding->kernel) {
            count += item->entries[i].finding->count;
        }
    }
    return count;
}

/* ---- the chain --------------------------------------------------------------------------------*/

/* An entry's line inside of what is inlined to the headline or, without a source, in the PTX. */
struct inner {
    const char *file;
    uint32_t line;
};

static int by_inner(const void *a, const void *b)
{
    const struct inner *x = a;
    const struct inner *y = b;
    const int order = strcmp(x->file, y->file);
    return order != 0 ? order : (x->line > y->line) - (x->line < y->line);
}

/* The lines of an item's entries, each once and sorted; of PTX those in the text that is shown. The caller frees
 * them. */
static struct inner *find_inner(const struct lint_item *item, size_t *count)
{
    struct inner *lines = allocate(item->count, sizeof(*lines));
    size_t kept = 0;
    *count = 0;
    for (size_t i = 0; i < item->count; i++) {
        const pdl_lint_finding *finding = item->entries[i].finding;
        const bool in_source = finding->place_count > 0 && finding->places[0]->file != NULL;
        lines[i].file =
            in_source ? finding->places[0]->file : lint_image_of(&item->entries[i])->origin;
        lines[i].line = in_source ? finding->places[0]->line : finding->line;
    }
    qsort(lines, item->count, sizeof(*lines), by_inner);
    const struct lint_place place = lint_place_of(&item->entries[0]);
    for (size_t i = 0; i < item->count; i++) {
        if ((kept == 0 || by_inner(&lines[kept - 1], &lines[i]) != 0) &&
            (place.in_source || strcmp(lines[i].file, place.file) == 0)) {
            lines[kept++] = lines[i];
        }
    }
    *count = kept;
    return lines;
}

/* `  also at a.cuh:8, 12, b.cuh:3 and 4 more lines` */
static void print_lines(const struct inner *lines, size_t count, const char *what)
{
    enum { MOST = 6 };
    const size_t shown_lines = count <= MOST + 1 ? count : MOST;
    printf("  %s ", what);
    for (size_t i = 0; i < shown_lines; i++) {
        if (i > 0 && strcmp(lines[i - 1].file, lines[i].file) == 0) {
            printf(", %u", (unsigned)lines[i].line);
            continue;
        }
        (void)fputs(i > 0 ? ", " : "", stdout);
        print_place(lines[i].file, lines[i].line, 0);
    }
    if (count > shown_lines) {
        char *more = format_count(count - shown_lines, "", "");
        printf(" and %s more lines", more);
        free(more);
    }
    (void)putchar('\n');
}

static void print_at(const pdl_inspect_place *place)
{
    print_place(place->file, place->line, place->column);
}

static void print_place_in(const pdl_inspect_place *place, const char *function, bool inside,
                           uint32_t more)
{
    (void)fputs("  ", stdout);
    if (inside) {
        (void)fputs("at ", stdout);
        print_at(place);
    }
    if (function != NULL) {
        (void)fputs(inside ? ", in " : "in ", stdout);
        print_function(function);
    }
    if (!inside) {
        (void)fputs(function != NULL ? ", inlined from " : "inlined from ", stdout);
        print_at(place);
    }
    if (more > 0) {
        printf(", through %u more", (unsigned)more);
    }
    (void)putchar('\n');
}

/* What is inlined to the headline, and where that is inlined to: of each part both ends, if it is long. */
static void print_chain(const pdl_lint_finding *finding)
{
    enum { FEW = 3 }; /* of more only the end is shown */
    const uint32_t place = finding->place < finding->place_count ? finding->place : 0;
    for (uint32_t i = 0; i < finding->place_count; i++) {
        const bool inside = i < place;
        const uint32_t begin = inside ? 0 : place + 1;
        const uint32_t end = inside ? place : finding->place_count;
        const pdl_inspect_place *at = finding->places[i];
        const bool many = end - begin > FEW;
        if (i == place || (many && i != (inside ? begin : end - 1))) {
            continue;
        }
        if (at->file == NULL) {
            (void)fputs("  …\n", stdout);
            continue;
        }
        print_place_in(at, inside ? at->inlined : finding->places[i - 1]->inlined, inside,
                       many ? end - begin - 1 : 0);
    }
}

/* `before` is the item above it, or NULL: the same advice is not given twice in a row. */
static void print_item(const struct lint_report *report, const struct colours *colours,
                       const struct lint_item *item, const struct lint_item *before)
{
    const pdl_lint_finding *finding = item->entries[0].finding;
    const struct lint_place place = lint_place_of(&item->entries[0]);
    const uint64_t instructions = count_instructions(item);
    const char *said = before != NULL ? before->entries[0].finding->advice : NULL;
    char *kernels = lint_kernels_text(item);
    char *pointers = lint_pointers_text(item);
    size_t count;
    struct inner *lines = find_inner(item, &count);
    print_headline(colours, place, finding->level);
    print_shown(finding->message);
    printf(" [%s]\n", pdl_lint_rule_id((pdl_lint_rule)finding->rule));
    lint_print_excerpt(report, &item->entries[0]);
    (void)fputs("  ", stdout);
    print_plain(stdout, kernels);
    if (instructions > 1) {
        printf(", by %llu instructions", (unsigned long long)instructions);
    }
    (void)putchar('\n');
    if (*pointers != '\0') {
        printf("  %s\n", pointers);
    }
    if (count == 1) {
        print_chain(finding);
    } else {
        print_lines(lines, count, "at");
    }
    print_machine(colours, finding);
    if (finding->advice != NULL && (said == NULL || strcmp(said, finding->advice) != 0)) {
        printf("  %snote:%s ", colours->note, colours->end);
        print_shown(finding->advice);
        (void)putchar('\n');
    }
    free(lines);
    free(pointers);
    free(kernels);
}

static void print_unused(const struct colours *colours, const struct lint_allowance *allowance)
{
    print_headline(colours, (struct lint_place){.file = allowance->suppression->origin},
                   (int32_t)allowance->level);
    printf("unused %s '", allowance->what);
    print_shown(allowance->suppression->text);
    printf("': it %s nothing\n",
           allowance->suppression->reason[0] != '\0' || strcmp(allowance->what, "marker") == 0
               ? "suppresses"
               : "matches");
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
    size_t sifted[LINT_SIFTED_COUNT] = {0};
    bool first = true;
    for (size_t i = 0; i < report->item_count; i++) {
        const pdl_lint_finding *finding = report->items[i].entries[0].finding;
        if (finding->suppressed != NULL) {
            sifted[lint_sifted(finding)]++;
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
        (void)fputs(report->by_rtc ? " ('pdltool lint --level=note' shows them)"
                                   : " (--level=note shows them)",
                    stdout);
    }
    for (int why = LINT_SIFTED_SUPPRESSED; why < LINT_SIFTED_COUNT; why++) {
        const char *text = lint_sifted_text((enum lint_sifted)why);
        print_part(&first, sifted[why], text, text);
    }
    if (!lint_is_all_checked(report)) {
        char *unchecked = lint_unchecked_text(report);
        printf("%snot checked: %s", first ? "" : "\n", unchecked);
        first = false;
        free(unchecked);
    }
    if (!first) {
        (void)putchar('\n');
    }
}

/* Where the notes are shown, each of the kernels has one. */
static void print_never(const struct lint_report *report, const struct colours *colours)
{
    char *text = report->level == PDL_LINT_WARNING ? lint_never_text(&report->inputs) : NULL;
    if (text != NULL) {
        printf("%snote:%s ", colours->note, colours->end);
        print_plain(stdout, text);
        (void)puts(report->by_rtc ? "" : " (--overlapped, --launches)");
    }
    free(text);
}

bool lint_print_text(const struct lint_report *report)
{
    const struct colours *colours = wants_colours(stdout) ? &coloured : &plain;
    const struct lint_item *before = NULL;
    bool without_source = false;
    for (size_t i = 0; i < report->item_count; i++) {
        if (lint_is_shown(report, report->items[i].entries[0].finding)) {
            print_item(report, colours, &report->items[i], before);
            before = &report->items[i];
            without_source |= !lint_place_of(&report->items[i].entries[0]).in_source;
        }
    }
    for (size_t i = 0; i < report->allowance_count; i++) {
        if (report->level <= report->allowances[i].level &&
            lint_is_unused(report, &report->allowances[i])) {
            print_unused(colours, &report->allowances[i]);
        }
    }
    if (without_source) {
        printf("%snote:%s compile with -lineinfo (clang: -gline-tables-only) to see source "
               "lines\n",
               colours->note, colours->end);
    }
    print_never(report, colours);
    print_totals(report);
    return ferror(stdout) == 0;
}
