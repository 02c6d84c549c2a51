/* SPDX-License-Identifier: MIT */
/* Findings that somebody looked at and accepts, one a line of a project file. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "common/input.h"
#include "lint/statements.h"

static bool matches(const char *pattern, const char *text)
{
    return pattern == NULL || (text != NULL && fnmatch(pattern, text, 0) == 0);
}

/* Compilers write paths as absolute ones more often than not: a pattern matches the path or what
 * follows any slash in it. */
static bool matches_path(const char *pattern, const char *path)
{
    if (pattern == NULL || path == NULL) {
        return pattern == NULL;
    }
    while (fnmatch(pattern, path, 0) != 0) {
        const char *const slash = pattern[0] == '/' ? NULL : strchr(path, '/');
        if (slash == NULL) {
            return false;
        }
        path = slash + 1;
    }
    return true;
}

/* One of the places has to match everything that is said of it: where the code stands, or where it was inlined to. */
static bool matches_place(const struct lint_suppression *suppression,
                          const pdl_lint_finding *finding)
{
    const char *const file = suppression->patterns[LINT_KEY_FILE];
    const char *const function = suppression->patterns[LINT_KEY_FUNCTION];
    bool found = file == NULL && function == NULL && suppression->line == 0;
    for (uint32_t i = 0; i < finding->place_count && !found; i++) {
        const pdl_inspect_place *const place = finding->places[i];
        found = (suppression->line == 0 || suppression->line == place->line) &&
                matches_path(file, place->file) && matches(function, place->inlined);
    }
    return found;
}

static bool matches_parameter(const char *pattern, const pdl_lint_finding *finding)
{
    char number[16];
    if (pattern == NULL || finding->parameter < 0) {
        return pattern == NULL;
    }
    (void)snprintf(number, sizeof(number), "%d", (int)finding->parameter + 1);
    return matches(pattern, number) || matches(pattern, finding->parameter_name);
}

void lint_suppress(struct lint_statements *statements, pdl_inspection *inspection)
{
    const size_t count = pdl_inspection_finding_count(inspection);
    for (size_t f = 0; f < count; f++) {
        const pdl_lint_finding *const finding = pdl_inspection_finding(inspection, f);
        const char *const kernel = pdl_inspection_kernel(inspection, finding->kernel)->info->name;
        /* The first that matches is the one that is used: a later one is not needed for this. */
        for (size_t s = 0; s < statements->suppressions.count && finding->suppressed == NULL; s++) {
            struct lint_suppression *const suppression = &statements->suppressions.items[s];
            if ((suppression->rule == 0 || suppression->rule == finding->rule) &&
                matches(suppression->patterns[LINT_KEY_KERNEL], kernel) &&
                matches_place(suppression, finding) &&
                matches_parameter(suppression->patterns[LINT_KEY_PARAMETER], finding)) {
                pdl_lint_suppress_finding(inspection, finding, suppression->told.reason);
                suppression->told.used++;
            }
        }
    }
}
