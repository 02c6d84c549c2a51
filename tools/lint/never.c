/* SPDX-License-Identifier: MIT */
/* One line about the kernels that never wait, or only if a flag is set, as long as nobody says how they are launched. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/demangle.h"
#include "common/memory.h"
#include "common/print.h"
#include "common/shorten.h"
#include "common/shown.h"
#include "lint/lint.h"

struct names {
    char **items;
    size_t count, capacity;
};

/* Sorts, and leaves each once. */
static void sort(struct names *names)
{
    size_t kept = 0;
    if (names->count == 0) {
        return;
    }
    qsort(names->items, names->count, sizeof(*names->items), lint_by_text);
    for (size_t i = 1; i < names->count; i++) {
        if (strcmp(names->items[kept], names->items[i]) == 0) {
            free(names->items[i]);
        } else {
            names->items[++kept] = names->items[i];
        }
    }
    names->count = kept + 1;
}

static void release(const struct names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free(names->items[i]);
    }
    free(names->items);
}

/* ---- instances of a template ------------------------------------------------------------------*/

/* Behind the value of a literal, such as `true`, `-8`, `4ul` or `(ns::Mode)1`; `at` if there is none. */
static const char *skip_literal(const char *at)
{
    const char *end = at;
    if (*end == '(') {
        end += strcspn(end, ")<,");
        end += *end == ')';
    }
    end += *end == '-';
    const size_t word = strncmp(end, "true", 4) == 0 ? 4 : strncmp(end, "false", 5) == 0 ? 5 : 0;
    const size_t digits = strspn(end, "0123456789");
    end += word > 0 ? word : digits + strspn(end + digits, "ul");
    return word + digits > 0 && (*end == ',' || *end == '>' || *end == ' ') ? end : at;
}

/* A demangled name without the values of literals among template arguments: what instances that differ in flags and
 * numbers only have in common. The caller frees it. */
char *lint_family(const char *name)
{
    char *const family = demangle(name);
    char *to = family;
    const char *at = family;
    while (*at != '\0') {
        const bool begins = *at == '<' || (*at == ' ' && at > family && at[-1] == ',');
        *to++ = *at++;
        at = begins ? skip_literal(at) : at;
    }
    *to = '\0';
    return family;
}

/* ---- the kernels ------------------------------------------------------------------------------*/

/* Whether the only finding about its waiting is that it never does, or only if a flag is set. */
static bool is_open(const pdl_inspection *inspection, const pdl_inspect_kernel *kernel)
{
    if ((kernel->info->waits != PDL_NO && !kernel->waits_by_flag) ||
        kernel->touches_memory == PDL_NO || kernel->launch != PDL_INSPECT_LAUNCH_UNKNOWN) {
        return false;
    }
    bool open = false;
    for (uint32_t i = 0; i < kernel->finding_count; i++) {
        const pdl_lint_finding *const finding =
            pdl_inspection_finding(inspection, (size_t)kernel->first_finding + i);
        if (finding->rule == PDL_LINT_NO_WAIT && finding->level > PDL_LINT_NOTE) {
            return false;
        }
        open = open || (finding->rule == PDL_LINT_NO_WAIT && finding->suppressed == NULL);
    }
    return open;
}

static void collect(const struct inputs *inputs, struct names *open, struct names *flagged,
                    struct names *waiting)
{
    for (size_t i = 0; i < inputs->count; i++) {
        const pdl_inspection *const inspection = inputs->items[i].inspection;
        const size_t count = inspection != NULL ? pdl_inspection_kernel_count(inspection) : 0;
        for (size_t k = 0; k < count; k++) {
            const pdl_inspect_kernel *const kernel = pdl_inspection_kernel(inspection, k);
            if (is_open(inspection, kernel)) {
                APPEND(kernel->waits_by_flag ? flagged : open, copy_text(kernel->info->name));
            }
            if (kernel->info->waits == PDL_YES) {
                APPEND(waiting, lint_family(kernel->info->name));
            }
        }
    }
    sort(open);
    sort(flagged);
    sort(waiting);
}

/* Without those of which another instance waits: the flag is a template argument there. */
static void leave_out(struct names *open, const struct names *waiting)
{
    size_t kept = 0;
    for (size_t i = 0; i < open->count; i++) {
        char *const family = lint_family(open->items[i]);
        if (waiting->count > 0 && bsearch(&family, waiting->items, waiting->count,
                                          sizeof(*waiting->items), lint_by_text) != NULL) {
            free(open->items[i]);
        } else {
            open->items[kept++] = open->items[i];
        }
        free(family);
    }
    open->count = kept;
}

/* "a, b, c and 5 more" */
static char *list_of(const struct names *names)
{
    enum { MOST = 3 };
    char *text = NULL;
    size_t size = 0;
    FILE *const out = memory_open(&text, &size);
    for (size_t i = 0; i < names->count && i < MOST; i++) {
        char *const name = shown(names->items[i]);
        const char *const before = i == 0 ? "" : i + 1 == names->count ? " and " : ", ";
        (void)fprintf(out, "%s%s", before, name);
        free(name);
    }
    if (names->count > MOST) {
        char *const more = format_count(names->count - MOST, "", "");
        (void)fprintf(out, " and %.*s more", (int)strcspn(more, " "), more);
        free(more);
    }
    memory_close(out);
    return text;
}

/* "8 kernels never wait: a, b, c and 5 more"; NULL if there are none. */
static char *part_of(const struct names *kernels, const char *one, const char *many)
{
    struct names templates = {0};
    if (kernels->count == 0) {
        return NULL;
    }
    for (size_t i = 0; i < kernels->count; i++) {
        char *const demangled = demangle(kernels->items[i]);
        APPEND(&templates, template_name(demangled));
        free(demangled);
    }
    sort(&templates);
    char *const list = list_of(&templates);
    char *const count = format_count(kernels->count, one, many);
    char *const names = templates.count == kernels->count
                            ? copy_text("")
                            : format_text("instances of %zu %s: ", templates.count,
                                          templates.count == 1 ? "template" : "names");
    char *const text = format_text("%s: %s%s", count, names, list);
    free(names);
    free(count);
    free(list);
    release(&templates);
    return text;
}

char *lint_never_text(const struct inputs *inputs)
{
    struct names open = {0};
    struct names flagged = {0};
    struct names waiting = {0};
    char *text = NULL;
    collect(inputs, &open, &flagged, &waiting);
    leave_out(&open, &waiting);
    char *const never = part_of(&open, "kernel never waits", "kernels never wait");
    char *const by_flag = part_of(&flagged, "kernel never waits unless a flag is set",
                                  "kernels never wait unless a flag is set");
    if (never != NULL || by_flag != NULL) {
        const bool one = open.count + flagged.count == 1;
        text = format_text("%s%s%s; a race if %s launched with overlap%s",
                           never != NULL ? never : "", never != NULL && by_flag != NULL ? "; " : "",
                           by_flag != NULL ? by_flag : "", one ? "it is" : "they are",
                           by_flag == NULL ? ""
                           : one           ? " and does not wait"
                                           : " and do not wait");
    }
    free(by_flag);
    free(never);
    release(&waiting);
    release(&flagged);
    release(&open);
    return text;
}
