/* SPDX-License-Identifier: MIT */
#include "ptx_support.h"

#include <stdbool.h>

/* A text that grows. */
struct text {
    char *at;
    size_t length;
    size_t room;
};

__attribute__((format(printf, 2, 3))) static void append(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int more = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    assert_true(more >= 0);
    if (text->length + (size_t)more + 1 > text->room) {
        text->room = (text->length + (size_t)more + 1) * 2;
        text->at = realloc(text->at, text->room);
        assert_non_null(text->at);
    }
    va_start(arguments, format);
    (void)vsnprintf(text->at + text->length, text->room - text->length, format, arguments);
    va_end(arguments);
    text->length += (size_t)more;
}

static const char *known(uint32_t value)
{
    return value == PDL_YES ? "yes" : value == PDL_NO ? "no" : "unknown";
}

static void describe_kernel(struct text *text, const pdl_inspect_kernel *kernel)
{
    const pdl_kernel_info *info = kernel->info;
    append(text, "%s(%d) line %u: waits %s, always %s, triggers %s, %u+%u", info->name,
           (int)info->parameter_count, (unsigned)kernel->line, known(info->waits),
           known(info->waits_always), known(info->triggers), (unsigned)kernel->wait_count,
           (unsigned)kernel->trigger_count);
    if (kernel->place != NULL) {
        append(text, ", %s:%u:%u", kernel->place->file != NULL ? kernel->place->file : "?",
               (unsigned)kernel->place->line, (unsigned)kernel->place->column);
    }
    append(text, "\n");
}

static void describe_finding(struct text *text, const pdl_lint_finding *finding, unsigned show)
{
    append(text, "%s %s %u", pdl_lint_rule_id((pdl_lint_rule)finding->rule),
           pdl_lint_level_name((pdl_lint_level)finding->level), (unsigned)finding->line);
    if (show & SHOW_COLUMNS) {
        append(text, ":%u", (unsigned)finding->column);
    }
    if (finding->parameter_name != NULL) {
        append(text, " %s", finding->parameter_name);
    } else if (finding->parameter >= 0) {
        append(text, " #%d", (int)finding->parameter + 1);
    }
    if (finding->count != 1) {
        append(text, " x%u", (unsigned)finding->count);
    }
    if (finding->suppressed != NULL) {
        append(text, " allowed");
    }
    for (uint32_t i = 0; (show & SHOW_PLACES) && i < finding->place_count; i++) {
        const pdl_inspect_place *place = finding->places[i];
        append(text, "%s%s:%u:%u%s%s", i == 0 ? " (" : ", ",
               place->file != NULL ? place->file : "?", (unsigned)place->line,
               (unsigned)place->column, place->inlined != NULL ? " " : "",
               place->inlined != NULL ? place->inlined : "");
        if (i + 1 == finding->place_count) {
            append(text, ")");
        }
    }
    if (show & SHOW_MESSAGES) {
        append(text, ": %s", finding->message);
    }
    append(text, "\n");
}

char *describe_inspection(const pdl_inspection *inspection, unsigned show)
{
    struct text text = {NULL, 0, 0};
    append(&text, "%s", "");
    for (size_t i = 0; i < pdl_inspection_kernel_count(inspection); i++) {
        const pdl_inspect_kernel *kernel = pdl_inspection_kernel(inspection, i);
        if (show & SHOW_FACTS) {
            describe_kernel(&text, kernel);
        }
        for (uint32_t j = 0; j < kernel->finding_count; j++) {
            const pdl_lint_finding *finding =
                pdl_inspection_finding(inspection, (size_t)kernel->first_finding + j);
            assert_non_null(finding);
            assert_int_equal(finding->kernel, i);
            assert_true(strlen(finding->message) > 0 && strlen(finding->advice) > 0);
            if (finding->rule != PDL_LINT_NO_TRIGGER || (show & SHOW_NO_TRIGGER)) {
                describe_finding(&text, finding, show);
            }
        }
    }
    if (text.length > 0) {
        text.at[text.length - 1] = '\0'; /* the last newline */
    }
    return text.at;
}

void assert_found(const char *title, const char *text, size_t size,
                  const pdl_inspect_options *options, unsigned show, const char *expected)
{
    const struct bytes bytes = {(unsigned char *)(uintptr_t)text, size};
    char *found = describe_inspection(inspect_with(&bytes, title, options), show);
    if (strcmp(found, expected) != 0) {
        fail_msg("--- %s: found\n%s\n--- expected\n%s", title, found, expected);
    }
    free(found);
}
