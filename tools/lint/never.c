/* SPDX-License-Identifier: MIT */
/* One line about the kernels that never wait, or only if a flag is set, as long as nobody says how they are launched. */
#include <stdlib.h>

#include "common/memory.h"
#include "common/print.h"
#include "lint/lint.h"

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

char *lint_never_text(const struct inputs *inputs)
{
    struct pdl_names names[2] = {{0}, {0}}; /* that never wait, and that wait by a flag */
    for (size_t i = 0; i < inputs->count; i++) {
        const pdl_inspection *const inspection = inputs->items[i].inspection;
        const size_t count = inspection != NULL ? pdl_inspection_kernel_count(inspection) : 0;
        for (size_t k = 0; k < count; k++) {
            const pdl_inspect_kernel *const kernel = pdl_inspection_kernel(inspection, k);
            if (is_open(inspection, kernel)) {
                (void)name_index(&names[kernel->waits_by_flag != 0], kernel->info->name);
            }
        }
    }
    const size_t never = names[0].count, flagged = names[1].count;
    char *const first = format_count(never, "kernel never waits", "kernels never wait");
    char *const second = format_count(flagged, "kernel waits only if a flag is set",
                                      "kernels wait only if a flag is set");
    char *text = NULL;
    if (never + flagged > 0) {
        text = format_text("%s%s%s: a race if launched with overlap%s", never > 0 ? first : "",
                           never > 0 && flagged > 0 ? ", " : "", flagged > 0 ? second : "",
                           flagged > 0 ? " and without the wait" : "");
    }
    free(second);
    free(first);
    pdl_names_free(&names[1]);
    pdl_names_free(&names[0]);
    return text;
}
