/* SPDX-License-Identifier: MIT */
/* What people write about their kernels: the first byte chooses between project files, logs and
 * baselines. */
#include "fuzz.h"

#include "lint/baseline.h"
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
    if (kind == 1) {
        file.told.origin = "log";
        file.told.text = "log";
        const size_t count = lint_launches_parse_log(&statements, &file, text, size);
        fuzz_expect(count >= file.names.count);
        for (size_t i = 0; i < file.names.count; i++) {
            fuzz_expect(file.names.items[i] < statements.launched.count);
        }
        free(file.names.items);
    } else {
        check_mistake(lint_project_parse(&statements, text, size, "input", &mistake), &mistake);
    }
    for (int list = 0; list < LINT_LISTS; list++) {
        look_at(&statements.lists[list]);
    }
    for (size_t i = 0; i < statements.suppressions.count; i++) {
        const pdl_lint_suppression *const told = &statements.suppressions.items[i].told;
        fuzz_expect(fuzz_read(told->origin) > 0 && fuzz_read(told->text) > 0 &&
                    fuzz_read(told->reason) > 0);
    }
    lint_statements_free(&statements);
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
    const int kind = data[0] % 3;
    size--;
    char *text = malloc(size + 1); /* as it is read: with a 0 behind it */
    fuzz_expect(text != NULL);
    memcpy(text, data + 1, size);
    text[size] = '\0';
    if (kind < 2) {
        read_project(text, size, kind);
    } else {
        read_baseline(text, size);
    }
    free(text);
    return 0;
}
