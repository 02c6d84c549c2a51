/* SPDX-License-Identifier: MIT */
/* PTX texts on their way, and the log of what was done with their kernels. */
#ifndef PDL_TOOLS_PTXAS_TEXTS_H
#define PDL_TOOLS_PTXAS_TEXTS_H

#include "ptxas/settings.h"

/* A text with waits. */
struct instrumented {
    char *text; /* NULL: it stays as it is, because no kernel needs a wait or it is not PTX */
    size_t size;
    struct {
        uint32_t *items; /* lines that were added, in no order */
        size_t count, capacity;
    } lines;
};

/* Instruments a text, whose target is raised if `raise`. `name` is for the log, which gets kernels that were not changed
 * only if `log_all`. `refused` is called for each kernel that cannot be instrumented, if it is not NULL. */
struct instrumented instrument_text(const struct settings *settings, const char *name,
                                    const char *text, size_t size, bool raise, bool log_all,
                                    void (*refused)(const char *name,
                                                    const pdl_instrument_kernel *kernel));
void instrumented_free(struct instrumented *made);

/* Adds to the log that a file stays as it is. */
void log_failure(const struct settings *settings, const char *name, const char *why);

#endif /* PDL_TOOLS_PTXAS_TEXTS_H */
