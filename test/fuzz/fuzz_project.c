/* SPDX-License-Identifier: MIT */
/* What people write about their kernels: the first byte chooses between project files, lists of launches, logs, baselines
 * and diffs. */
#include "fuzz.h"

#include "lint/baseline.h"
#include "lint/changed.h"
#include "lint/never.h"
#include "lint/statements.h"

static void look_at(const struct lint_statement_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        fuzz_expect(fuzz_read(list->items[i].pattern) > 0);
        fuzz_expect(fuzz_read(list->items[i].told.origin) + fuzz_read(list->items[i].told.text) >
                    0);
    }
}

static void check_mistake(int right, const struct lint_mistake *mistake)
{
    fuzz_expect(right || (mistake->line > 0 && mistake->column > 0 && mistake->message[0] != '\0'));
}

static void read_project(const char *text, size_t size, int kind)
{
    struct lint_statements statements = {0};
    struct lint_mistake mistake = {0};
    struct lint_launch_file file = {0};
    if (kind == 2) {
        file.told.origin = "log";
        file.told.text = "log";
        const size_t count = lint_launches_parse_log(&statements, &file, text, size);
        fuzz_expect(count >= file.names.count);
        for (size_t i = 0; i < file.names.count; i++) {
            fuzz_expect(file.names.items[i] < statements.launched.count);
        }
        free(file.names.items);
    } else {
        check_mistake(lint_project_parse(&statements, text, size, "input", kind == 1, &mistake),
                      &mistake);
    }
    look_at(&statements.constant_params);
    look_at(&statements.overlapped);
    look_at(&statements.plain);
    look_at(&statements.third_party);
    if (statements.suppressions != NULL) {
        pdl_lint_suppressions *suppressions = NULL;
        fuzz_expect(statements.suppressions_size == size);
        (void)pdl_lint_suppressions_read(statements.suppressions, size, "input", &suppressions);
        pdl_lint_suppressions_destroy(suppressions);
    }
    lint_statements_free(&statements);
}

static void read_diff(const char *text, size_t size)
{
    struct lint_changes changes = {0};
    struct lint_mistake mistake = {0};
    const int right = lint_changes_parse(&changes, text, size, &mistake);
    check_mistake(right, &mistake);
    for (size_t i = 0; i < changes.count && right; i++) {
        const struct lint_changed_file *file = &changes.items[i];
        fuzz_expect(fuzz_read(file->path) > 0);
        for (size_t l = 0; l < file->added_count; l++) {
            fuzz_expect(file->added[l].first <= file->added[l].last);
            fuzz_expect(l == 0 || file->added[l - 1].last < file->added[l].first);
        }
    }
    lint_changes_free(&changes);
}

static void read_baseline(const char *text, size_t size)
{
    struct lint_baseline baseline = {0};
    struct lint_mistake mistake = {0};
    check_mistake(lint_baseline_parse(&baseline, text, size, &mistake), &mistake);
    lint_baseline_free(&baseline);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    const int kind = data[0] % 6;
    size--;
    char *text = malloc(size + 1); /* as it is read: with a 0 behind it */
    fuzz_expect(text != NULL);
    memcpy(text, data + 1, size);
    text[size] = '\0';
    if (kind < 3) {
        read_project(text, size, kind);
    } else if (kind == 3) {
        read_diff(text, size);
    } else if (kind == 4) {
        read_baseline(text, size);
    } else {
        char *family = lint_family(text);
        fuzz_expect(strlen(family) <= strlen(text));
        free(family);
    }
    free(text);
    return 0;
}
