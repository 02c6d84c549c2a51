/* SPDX-License-Identifier: MIT */
/* What the environment asks pdl-ptxas for. */
#ifndef PDL_TOOLS_PTXAS_SETTINGS_H
#define PDL_TOOLS_PTXAS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include <pdl/instrument.h>

struct settings {
    pdl_instrument_options options;
    bool off;
    const char *log; /* file that gets a line per kernel; NULL: none */
    bool is_step;    /* of nvcc */
};

/* False after an error about a variable. */
bool settings_read(struct settings *settings);

/* A line that differs where the results may: `ptxas --version` is in the keys of caches. The caller frees it. */
char *settings_line(const struct settings *settings);

#endif /* PDL_TOOLS_PTXAS_SETTINGS_H */
