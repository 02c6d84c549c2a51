/* SPDX-License-Identifier: MIT */
/* What people say about their kernels: on the command line and in project files. */
#ifndef PDL_TOOLS_LINT_STATEMENTS_H
#define PDL_TOOLS_LINT_STATEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pdl/inspect.h>

#include "common/memory.h"

/* One statement. */
struct lint_statement {
    char *pattern;
    pdl_lint_suppression told; /* for reports: where it stands, its text, how often it was of use */
};

struct lint_statement_list {
    struct lint_statement *items;
    size_t count, capacity;
};

enum lint_list { LINT_CONSTANT_PARAMS, LINT_OVERLAPPED, LINT_PLAIN, LINT_THIRD_PARTY, LINT_LISTS };

/* A line `suppress RULE [KEY=PATTERN]... : REASON`. */
enum lint_key { LINT_KEY_KERNEL, LINT_KEY_FILE, LINT_KEY_FUNCTION, LINT_KEY_PARAMETER, LINT_KEYS };

struct lint_suppression {
    int32_t rule;              /* pdl_lint_rule; 0: any */
    uint32_t line;             /* 0: any */
    char *patterns[LINT_KEYS]; /* NULL: any */
    pdl_lint_suppression told;
};

/* A file that says how kernels were launched. */
struct lint_launch_file {
    char *path;
    pdl_lint_suppression told;
    struct {
        uint32_t *items; /* in `launched` */
        size_t count, capacity;
    } names;
};

/* All statements of one origin: of the command line, or of a project file. */
struct lint_statements {
    char *path;   /* of the project file; NULL: the command line */
    char *folder; /* that paths in it begin at */
    struct lint_statement_list lists[LINT_LISTS];
    struct {
        struct lint_launch_file *items;
        size_t count, capacity;
    } launches;
    struct pdl_names launched; /* names of kernels in recordings and logs */
    struct {
        uint8_t *items; /* by name: LAUNCHED_… */
        size_t count, capacity;
    } how;
    struct {
        struct lint_suppression *items;
        size_t count, capacity;
    } suppressions;
};

enum { LAUNCHED_PLAIN = 1, LAUNCHED_OVERLAPPED = 2 };

/* Where a text has something wrong. */
struct lint_mistake {
    uint32_t line, column; /* from 1 */
    char message[160];
};

/* Adds a statement. `origin` is "FILE:LINE" or "command line", `text` what is written there. */
void lint_state(struct lint_statement_list *list, const char *pattern, const char *origin,
                const char *text);
/* Adds a file of launches, which is read later. Takes the text over. */
void lint_state_launches(struct lint_statements *statements, const char *path, const char *origin,
                         const char *text);
void lint_statements_free(struct lint_statements *statements);

/* A file and a 0 behind it, which the caller frees; NULL with a line on standard error. */
char *lint_read_text(const char *path, size_t *size);

/* Says what is wrong on standard error, and returns false. */
bool lint_tell_mistake(const char *path, const struct lint_mistake *mistake);

/* Reads a project file; `of` is its path (project.c). */
bool lint_project_parse(struct lint_statements *statements, const char *text, size_t size,
                        const char *of, struct lint_mistake *mistake);

/* Suppresses the findings that the statements accept, and counts what was of use (suppress.c). */
void lint_suppress(struct lint_statements *statements, pdl_inspection *inspection);

/* Adds how kernels were launched, as one of the files of the statements tells: a recording or a log. False with
 * a line on standard error (launches.c). */
bool lint_launches_read(struct lint_statements *statements, struct lint_launch_file *file);

/* Adds the kernels in the lines of libpdl's log; how many there were (launches.c). */
size_t lint_launches_parse_log(struct lint_statements *statements, struct lint_launch_file *file,
                               const char *text, size_t size);

#endif /* PDL_TOOLS_LINT_STATEMENTS_H */
