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

/* A text in a command: the end of a line would end it, and `%` begins what is written in hexadecimal. In a
 * property `:` and `,` separate. */
static void print_escaped(const char *text, bool property)
{
    char *cut = shown(text);
    char *escaped = allocate(3 * strlen(cut) + 1, 1);
    char *to = escaped;
    for (const char *at = cut; *at != '\0'; at++) {
        const char *code = *at == '%'               ? "%25"
                           : *at == '\r'            ? "%0D"
                           : *at == '\n'            ? "%0A"
                           : property && *at == ':' ? "%3A"
                           : property && *at == ',' ? "%2C"
                                                    : NULL;
        if (code != NULL) {
            to = stpcpy(to, code);
        } else {
            *to++ = *at;
        }
    }
    *to = '\0';
    print_plain(stdout, escaped);
    free(escaped);
    free(cut);
}

/* A path in a folder as what follows that, or as it is. */
static const char *behind(const char *file, const char *folder)
{
    const size_t length = strlen(folder);
    return length > 1 && strncmp(file, folder, length) == 0 && file[length] == '/'
               ? file + length + 1
               : file;
}

/* Runners know files by their paths in the repository, where such a command is usually called. */
static const char *in_repository(const char *file)
{
    const char *root = getenv("GITHUB_WORKSPACE");
    if (root != NULL && *root != '\0') {
        return behind(file, root);
    }
    char here[4096];
    return getcwd(here, sizeof(here)) != NULL ? behind(file, here) : file;
}

static void print_command(int32_t level, struct lint_place place, const char *title,
                          const char *message)
{
    const char *const name =
        level == PDL_LINT_NOTE ? "notice" : pdl_lint_level_name((pdl_lint_level)level);
    printf("::%s ", name);
    if (place.file != NULL) {
        (void)fputs("file=", stdout);
        print_escaped(in_repository(place.file), true);
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
    (void)putchar('\n');
}

static void print_item(const struct lint_report *report, const struct lint_item *item)
{
    const struct lint_entry *entry = &item->entries[0];
    const pdl_lint_finding *finding = entry->finding;
    struct lint_place place = lint_place_of(entry);
    char *kernels = lint_kernels_text(report, item);
    if (!place.in_source && strcmp(place.file, entry->input->name) != 0) {
        place = (struct lint_place){.file = entry->input->name}; /* no line of that file */
    }
    char *pointers = lint_pointers_text(item);
    char *message = format_text(
        "%s\n%s%s%s%s%s", finding->message, kernels, *pointers != '\0' ? "\n" : "", pointers,
        finding->advice != NULL ? "\n" : "", finding->advice != NULL ? finding->advice : "");
    print_command(finding->level, place, pdl_lint_rule_id((pdl_lint_rule)finding->rule), message);
    free(message);
    free(pointers);
    free(kernels);
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
            char *message = format_text("%s: unused %s '%s'", allowance->suppression->origin,
                                        allowance->what, allowance->suppression->text);
            print_command((int32_t)allowance->level, (struct lint_place){.file = NULL},
                          "pdltool lint", message);
            free(message);
        }
    }
    return ferror(stdout) == 0;
}
