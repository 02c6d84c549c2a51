/* SPDX-License-Identifier: MIT */
#include "lint/baseline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/demangle.h"
#include "common/file.h"
#include "common/print.h"
#include "common/shorten.h"

static const char first_line[] = "# pdltool lint baseline 1";

/* ---- reading ----------------------------------------------------------------------------------*/

static bool wrong(struct lint_mistake *mistake, uint32_t line, size_t column, const char *message)
{
    mistake->line = line;
    mistake->column = (uint32_t)column + 1;
    (void)snprintf(mistake->message, sizeof(mistake->message), "%s", message);
    return false;
}

static bool read_line(struct lint_baseline *baseline, const char *at, size_t length,
                      uint32_t number, struct lint_mistake *mistake)
{
    size_t open = length;
    while (open > 0 && at[open - 1] != '[') {
        open--;
    }
    if (at[length - 1] != ']' || open == 0) {
        return wrong(mistake, number, open > 0 ? open - 1 : length - 1,
                     "an entry ends in a fingerprint, such as [0123456789abcdef:1]");
    }
    char *const print = format_text("%.*s", (int)(length - 1 - open), at + open);
    (void)name_index(&baseline->prints, print);
    free(print);
    return true;
}

bool lint_baseline_parse(struct lint_baseline *baseline, const char *text, size_t size,
                         struct lint_mistake *mistake)
{
    uint32_t number = 0;
    for (size_t at = 0; at < size;) {
        const char *const newline = memchr(text + at, '\n', size - at);
        const size_t whole = newline != NULL ? (size_t)(newline - text) - at : size - at;
        size_t length = whole;
        while (length > 0 && strchr(" \t\r", text[at + length - 1]) != NULL &&
               text[at + length - 1] != '\0') {
            length--;
        }
        number += number < UINT32_MAX;
        if (number == 1 && (length != sizeof(first_line) - 1 ||
                            memcmp(text + at, first_line, sizeof(first_line) - 1) != 0)) {
            return wrong(mistake, 1, 0, "not a baseline of pdltool lint");
        }
        if (length > 0 && text[at] != '#' &&
            !read_line(baseline, text + at, length, number, mistake)) {
            return false;
        }
        at += whole + 1;
    }
    baseline->found = allocate(baseline->prints.count, sizeof(*baseline->found));
    return number > 0 || wrong(mistake, 1, 0, "not a baseline of pdltool lint");
}

bool lint_baseline_read(struct lint_baseline *baseline, const char *path)
{
    struct lint_mistake mistake;
    size_t size = 0;
    char *const text = lint_read_text(path, &size);
    const bool right = text != NULL && lint_baseline_parse(baseline, text, size, &mistake);
    free(text);
    return right || (text != NULL && lint_tell_mistake(path, &mistake));
}

void lint_baseline_free(struct lint_baseline *baseline)
{
    pdl_names_free(&baseline->prints);
    free(baseline->found);
}

/* ---- applying ---------------------------------------------------------------------------------*/

void lint_baseline_apply(struct lint_baseline *baseline, const struct lint_report *report,
                         const char *path)
{
    size_t gone = 0;
    for (size_t i = 0; i < report->item_count; i++) {
        const struct lint_item *const item = &report->items[i];
        uint32_t index = 0;
        if (!pdl_names_find(&baseline->prints, item->fingerprint, &index)) {
            continue;
        }
        baseline->found[index] = true;
        const bool counts = item->entries[0].finding->suppressed == NULL;
        for (size_t e = 0; e < item->count && counts; e++) {
            lint_sift_out(&item->entries[e], LINT_SIFTED_BASELINE);
        }
    }
    for (uint32_t i = 0; i < baseline->prints.count; i++) {
        gone += !baseline->found[i];
    }
    if (gone > 0 && report->judged) {
        char *const entries = format_count(gone, "entry", "entries");
        print_note("fixed: %s of %s no longer needed", entries, path);
        free(entries);
    }
}

/* ---- writing ----------------------------------------------------------------------------------*/

/* A finding in words that stay the same as long as it does. */
static char *entry_text(const struct lint_item *item)
{
    const struct lint_entry *const entry = &item->entries[0];
    const pdl_lint_finding *const finding = entry->finding;
    const char *const file = lint_place_of(entry).file;
    const char *const slash = strrchr(file, '/');
    char *const name = demangle(lint_kernel_of(entry)->info->name);
    char *const kernel = template_name(name);
    char *const text =
        format_text("%s: %s%s%s in %s", slash != NULL ? slash + 1 : file,
                    pdl_lint_rule_id((pdl_lint_rule)finding->rule),
                    finding->parameter_name != NULL ? " of " : "",
                    finding->parameter_name != NULL ? finding->parameter_name : "", kernel);
    char *const shown = plain_text(text);
    char *const whole = format_text("%s [%s]", shown, item->fingerprint);
    free(shown);
    free(text);
    free(kernel);
    free(name);
    return whole;
}

bool lint_baseline_write(const struct lint_report *report, const char *path, int level)
{
    if (!report->judged) {
        print_line(stderr, "pdltool lint: %s is not written: not all inputs could be read", path);
        return false;
    }
    struct {
        char **items;
        size_t count, capacity;
    } lines = {NULL, 0, 0};
    for (size_t i = 0; i < report->item_count; i++) {
        const pdl_lint_finding *const finding = report->items[i].entries[0].finding;
        const enum lint_sifted sifted = lint_sifted(finding); /* a baseline is written anew, too */
        if ((sifted == LINT_SIFTED_NOT || sifted == LINT_SIFTED_BASELINE) &&
            finding->level >= level) {
            char *const line = entry_text(&report->items[i]);
            APPEND(&lines, line);
        }
    }
    if (lines.count > 0) {
        qsort(lines.items, lines.count, sizeof(*lines.items), lint_by_text);
    }
    FILE *const file = strcmp(path, "-") == 0 ? stdout : file_stream(path, true);
    bool written = file != NULL;
    if (written) {
        (void)fprintf(file, "%s\n# What was found: a line each, which ends in its fingerprint.\n",
                      first_line);
        for (size_t i = 0; i < lines.count; i++) {
            (void)fprintf(file, "%s\n", lines.items[i]);
        }
        written = ferror(file) == 0 && fflush(file) == 0;
        written = (file == stdout || fclose(file) == 0) && written;
    }
    if (written) {
        char *const findings = format_count(lines.count, "finding", "findings");
        print_note("%s written to %s", findings, path);
        free(findings);
    } else {
        print_line(stderr, "%s: error: %s", path, strerror(errno));
    }
    for (size_t i = 0; i < lines.count; i++) {
        free(lines.items[i]);
    }
    free(lines.items);
    return written;
}
