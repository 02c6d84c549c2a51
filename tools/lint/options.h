/* SPDX-License-Identifier: MIT */
/* The command line of pdltool lint. */
#ifndef PDL_TOOLS_LINT_OPTIONS_H
#define PDL_TOOLS_LINT_OPTIONS_H

#include "lint/lint.h"

enum { LINT_FAIL_NEVER = PDL_LINT_ERROR + 1 };

struct lint_strings {
    const char **items;
    size_t count, capacity;
};

struct lint_options {
    /* what is right */
    struct lint_strings constant_params, overlapped, launches;
    const char *project; /* its file; NULL: looked for upwards from each input */
    bool no_project;
    /* what counts */
    const char *baseline, *write_baseline; /* files, or NULL */
    int fail_on;                           /* pdl_lint_level, or LINT_FAIL_NEVER */
    bool require_checked;
    /* what is read */
    struct lint_strings files;
    const char *compile_commands; /* the file or its folder, or NULL */
    const char *compiler;         /* --nvcc, or NULL */
    bool no_database_compiler;
    const char *architecture;             /* --arch, or NULL */
    struct lint_strings compiler_options; /* behind `--` */
    int jobs;                             /* 0: as many as there are cores */
    bool no_source;
    /* what is shown */
    pdl_lint_level level;
    bool (*print)(const struct lint_report *report);
    const char *form; /* the option that chose it; NULL: none did */
    bool done;        /* help was asked for */
    pdl_inspect_options inspect;
};

/* Reads the command line; false, with a line on standard error, where it is wrong. */
bool lint_read_options(struct lint_options *options, int argc, char **argv);
void lint_free_options(struct lint_options *options);

#endif /* PDL_TOOLS_LINT_OPTIONS_H */
