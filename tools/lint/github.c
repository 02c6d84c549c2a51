/* SPDX-License-Identifier: MIT */
/* Findings as workflow commands, which GitHub's runners show beside the lines of a change. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/memory.h"
#include "common/print.h"
#include "common/shown.h"
#include "lint/lint.h"
#include "lint/paths.h"

/* A text in a command: `%` begins what is written in hexadecimal and, in a property, `:` and `,` separate. */
static void print_escaped(const char *text, bool property)
{
    char *cut = shown(text);
    char *plain = plain_text(cut); /* without the ends of lines, which would end the command */
    for (const char *at = plain; *at != '\0'; at++) {
        const bool special = *at == '%' || (property && (*at == ':' || *at == ','));
        (void)(special ? printf("%%%02X", (unsigned)*at) : putchar(*at));
    }
    free(plain);
    free(cut);
}

/* A line of a message behind another. */
static void print_next(const char *text)
{
    if (text != NULL && *text != '\0') {
        (void)fputs("%0A", stdout);
        print_escaped(text, false);
    }
}

/* Runners know files by their paths in the repository, where such a command is usually called. */
static void print_file(const char *file)
{
    const char *const root = getenv("GITHUB_WORKSPACE");
    char *const path =
        file[0] == '/' || access(file, F_OK) == 0 ? path_absolute(NULL, file) : copy_text(file);
    char *const name = path_shown(path, root != NULL && *root != '\0' ? root : NULL);
    print_escaped(name, true);
    free(name);
    free(path);
}

/* Prints a command without the end of its line. */
static void print_command(int32_t level, struct lint_place place, const char *title,
                          const char *message)
{
    const char *const name =
        level == PDL_LINT_NOTE ? "notice" : pdl_lint_level_name((pdl_lint_level)level);
    printf("::%s ", name);
    if (place.file != NULL) {
        (void)fputs("file=", stdout);
        print_file(place.file);
        if (place.line > 0) {
            printf(",line=%u", (unsigned)place.line);
        }
        if (place.line > 0 && place.column > 0) {
            printf(",col=%u", (unsigned)place.column);
        }
        (void)putchar(',');
    }
    (void)fputs("title=", stdout);
    print_escaped(title, true);
    (void)fputs("::", stdout);
    print_escaped(message, false);
}

static void print_item(const struct lint_report *report, const struct lint_item *item)
{
    const struct lint_entry *entry = &item->entries[0];
    const pdl_lint_finding *finding = entry->finding;
    struct lint_place place = lint_place_of(entry);
    char *kernels = lint_kernels_text(report, item);
    char *pointers = lint_pointers_text(item);
    if (!place.in_source && strcmp(place.file, entry->input->name) != 0) {
        place = (struct lint_place){.file = entry->input->name}; /* no line of that file */
    }
    print_command(finding->level, place, pdl_lint_rule_id((pdl_lint_rule)finding->rule),
                  finding->message);
    print_next(kernels);
    print_next(pointers);
    print_next(finding->machine);
    print_next(finding->advice);
    (void)putchar('\n');
    free(pointers);
    free(kernels);
}

/* What is of the whole run: it has no place. */
static void print_whole(int32_t level, char *message)
{
    print_command(level, (struct lint_place){.file = NULL}, "pdltool lint", message);
    (void)putchar('\n');
    free(message);
}

bool lint_print_github(const struct lint_report *report)
{
    for (size_t i = 0; i < report->inputs.count; i++) {
        const struct input *input = &report->inputs.items[i];
        if (input->inspection == NULL) {
            print_command(PDL_LINT_ERROR,
                          (struct lint_place){.file = input->name,
                                              .line = input->error.line,
                                              .column = input->error.column},
                          "pdltool lint", input->error.message);
            (void)putchar('\n');
        }
    }
    for (size_t i = 0; i < report->item_count; i++) {
        if (lint_is_shown(report, report->items[i].entries[0].finding)) {
            print_item(report, &report->items[i]);
        }
    }
    for (size_t i = 0; i < report->allowance_count; i++) {
        const struct lint_allowance *allowance = &report->allowances[i];
        if (report->level <= allowance->level && lint_is_unused(report, allowance)) {
            print_whole((int32_t)allowance->level,
                        format_text("%s: unused %s '%s'", allowance->suppression->origin,
                                    allowance->what, allowance->suppression->text));
        }
    }
    if (!lint_is_all_checked(report)) {
        char *unchecked = lint_unchecked_text(report);
        print_whole(report->require_checked ? PDL_LINT_ERROR : PDL_LINT_NOTE,
                    format_text("not checked: %s", unchecked));
        free(unchecked);
    }
    return ferror(stdout) == 0;
}
