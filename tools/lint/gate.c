/* SPDX-License-Identifier: MIT */
#include "lint/gate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "common/print.h"
#include "lint/sift.h"

static bool fail(const char *path, const struct lint_mistake *mistake)
{
    print_line(stderr, "%s:%u:%u: error: %s", path, (unsigned)mistake->line,
               (unsigned)mistake->column, mistake->message);
    return false;
}

static bool read_changes(struct lint_gate *gate, const char *path)
{
    struct lint_mistake mistake;
    size_t size = 0;
    const bool is_stdin = strcmp(path, "-") == 0;
    for (size_t i = 0; i < gate->options->files.count && is_stdin; i++) {
        if (strcmp(gate->options->files.items[i], "-") == 0) {
            print_error(
                "standard input is both the code and the diff; name a file for one of them");
            return false;
        }
    }
    char *const text =
        is_stdin ? file_read_stream(stdin, FILE_LONGEST, &size) : file_read(path, &size);
    if (text == NULL) {
        print_line(stderr, "%s: error: %s", path, strerror(errno));
        return false;
    }
    const bool right = lint_changes_parse(&gate->changes, text, size, &mistake);
    free(text);
    return right || fail(is_stdin ? "<stdin>" : path, &mistake);
}

static bool read_baseline(struct lint_gate *gate, const char *path)
{
    struct lint_mistake mistake;
    size_t size = 0;
    char *const text = lint_read_list(path, &size);
    const bool right = text != NULL && lint_baseline_parse(&gate->baseline, text, size, &mistake);
    free(text);
    return right || (text != NULL && fail(path, &mistake));
}

bool lint_gate_open(struct lint_gate *gate, const struct lint_options *options)
{
    *gate = (struct lint_gate){.options = options};
    return (options->changed == NULL || read_changes(gate, options->changed)) &&
           (options->baseline == NULL || read_baseline(gate, options->baseline));
}

void lint_gate_close(struct lint_gate *gate)
{
    lint_changes_free(&gate->changes);
    lint_baseline_free(&gate->baseline);
}

void lint_gate_sift(const struct lint_gate *gate, const struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count && gate->options->changed != NULL; i++) {
        const struct input *const input = &inputs->items[i];
        const size_t count =
            input->inspection != NULL ? pdl_inspection_finding_count(input->inspection) : 0;
        for (size_t f = 0; f < count; f++) {
            const struct lint_entry entry = {input, pdl_inspection_finding(input->inspection, f),
                                             f};
            if (entry.finding->suppressed == NULL &&
                !lint_changes_hold(&gate->changes, input->inspection, entry.finding)) {
                lint_sift_out(&entry, LINT_SIFTED_UNCHANGED);
            }
        }
    }
}

bool lint_gate_compare(struct lint_gate *gate, const struct lint_report *report, int fail_on)
{
    const struct lint_options *const options = gate->options;
    size_t gone = 0;
    if (options->baseline != NULL) {
        (void)lint_baseline_apply(&gate->baseline, report, &gone);
    }
    if (gone > 0 && report->judged) {
        char *const entries = format_count(gone, "entry", "entries");
        print_note("fixed: %s of %s no longer needed", entries, options->baseline);
        free(entries);
    }
    if (options->write_baseline != NULL && !report->judged) {
        print_line(stderr, "pdltool lint: %s is not written: not all inputs could be read",
                   options->write_baseline);
        return false;
    }
    if (options->write_baseline != NULL) {
        const int level = fail_on < (int)report->level ? fail_on : (int)report->level;
        size_t count = 0;
        if (!lint_baseline_write(report, options->write_baseline, level, &count)) {
            print_line(stderr, "%s: error: %s", options->write_baseline, strerror(errno));
            return false;
        }
        char *const findings = format_count(count, "finding", "findings");
        print_note("%s written to %s", findings, options->write_baseline);
        free(findings);
    }
    return true;
}
