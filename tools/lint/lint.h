/* SPDX-License-Identifier: MIT */
/* What lint found, for the reports. */
#ifndef PDL_TOOLS_LINT_H
#define PDL_TOOLS_LINT_H

#include <stdbool.h>
#include <stddef.h>

#include <pdl/inspect.h>

#include "common/input.h"
#include "common/optional.h"

/* A finding in a kernel. */
struct lint_entry {
    const struct input *input;
    const pdl_lint_finding *finding;
    size_t order; /* of all entries */
};

/* What is found in one line about one parameter: in instances of a template, in the code of one kernel for
 * several architectures, through what is inlined to that line, in several states of threads. */
struct lint_item {
    const struct lint_entry *entries; /* the first is the one to show, the worst */
    size_t count;
    size_t order;         /* among all items */
    uint32_t same;        /* of items that differ in the rule, or in what suppressed them, only */
    char fingerprint[32]; /* it stays when lines move */
};

/* A suppression, a marker or another statement, over all inputs. */
struct lint_allowance {
    const pdl_lint_suppression *suppression;
    unsigned long long used;
    const char *what;     /* "marker"; of statements "option", "line" */
    pdl_lint_level level; /* at which it is reported where it is unused */
};

/* What was not checked, whatever the inputs say of it: kernels by their names, each once. */
struct lint_unchecked {
    size_t machine_code; /* kernels without PTX for sm_90 or newer */
    size_t older;        /* kernels that have code for less than sm_90 only */
    size_t images;       /* intermediate code, whose kernels are not known */
    size_t launched;     /* kernels that were launched with overlap, and that no input has */
    bool none;           /* not one kernel was checked: no finding says nothing */
};

struct lint_report {
    struct inputs inputs;
    struct lint_entry *entries;
    size_t entry_count;
    struct lint_item *items; /* in the order of their first entries */
    size_t item_count;
    struct lint_allowance *allowances;
    size_t allowance_count, allowance_capacity;
    bool judged; /* whether all was read, so that an unused suppression is one */
    pdl_lint_level level;
    int exit_code;
    struct lint_source_text *sources; /* NULL: none are opened */
    struct lint_unchecked unchecked;
    bool require_checked;   /* what was not checked makes the exit code 1 */
    bool with_fingerprints; /* the report shows them, or compares them */
    bool by_rtc;            /* another command reports, which has none of lint's options */
};

/* Where a finding is: in the source or, where the code has no line information, in its PTX. */
struct lint_place {
    const char *file;
    uint32_t line, column; /* 0: not known */
    bool in_source;
};
struct lint_place lint_place_of(const struct lint_entry *entry);

const pdl_inspect_kernel *lint_kernel_of(const struct lint_entry *entry);
const pdl_inspect_image *lint_image_of(const struct lint_entry *entry);

/* Whether the reports show a finding that is not suppressed. */
bool lint_is_shown(const struct lint_report *report, const pdl_lint_finding *finding);

/* Whether an allowance is to be reported as unused. */
bool lint_is_unused(const struct lint_report *report, const struct lint_allowance *allowance);

/* The place that a finding's line is at, of its chain; NULL without line information. */
const pdl_inspect_place *lint_headline(const pdl_lint_finding *finding);

/* How many kernels an item is in: one for two architectures is one. `same` tells whether all are instances of one
 * template or one kernel. */
size_t lint_count_kernels(const struct lint_item *item, bool *same);

/* "in kernel 'k'", "in 12 instances of 'k'"; the caller frees it (text.c). */
char *lint_kernels_text(const struct lint_item *item);

/* "also through the pointers at bytes 8 and 16", of a struct that the finding is about, or ""; the caller frees it. */
char *lint_pointers_text(const struct lint_item *item);

/* Why a finding does not count. */
enum lint_sifted {
    LINT_SIFTED_NOT,
    LINT_SIFTED_SUPPRESSED, /* by a suppression or a marker */
    LINT_SIFTED_PLAIN,      /* the kernel is launched without overlap only */
    LINT_SIFTED_THIRD_PARTY,
    LINT_SIFTED_BASELINE,
    LINT_SIFTED_COUNT
};
enum lint_sifted lint_sifted(const pdl_lint_finding *finding);
/* Suppresses one for one of the last two reasons. */
void lint_sift_out(const struct lint_entry *entry, enum lint_sifted why);
/* "in third-party files" and the like, behind a number of findings. */
const char *lint_sifted_text(enum lint_sifted why);

/* Fills the report's items and allowances, once all is read (gather.c). */
void lint_gather_findings(struct lint_report *report);
void lint_gather_allowances(struct lint_report *report);
/* Adds one more. */
void lint_add_allowance(struct lint_report *report, const struct lint_allowance *allowance);

/* Puts texts in order, for qsort() and bsearch(). */
int lint_by_text(const void *a, const void *b);

/* Gives the items their fingerprints (fingerprint.c). */
void lint_fingerprint(struct lint_report *report);

/* The reports, to standard output. False where writing failed. */
bool lint_print_text(const struct lint_report *report);
TOOL_OPTIONAL bool lint_print_json(const struct lint_report *report);
TOOL_OPTIONAL bool lint_print_sarif(const struct lint_report *report);

/* The line of a finding with a caret under its column; nothing where the source cannot be read (excerpt.c). */
void lint_print_excerpt(const struct lint_report *report, const struct lint_entry *entry);

/* Counts what was not checked (unchecked.c). */
void lint_gather_unchecked(struct lint_report *report);
bool lint_is_all_checked(const struct lint_report *report);

/* "3 kernels without PTX"; "" if all was checked. The caller frees it. */
char *lint_unchecked_text(const struct lint_report *report);

/* Lines of source files, each of which is read once (source_text.c). */
struct lint_source_text *lint_source_text_new(void);
void lint_source_text_free(struct lint_source_text *sources);

/* A line, from 1, without its end, of a file that an input names; NULL where the file cannot be read, is not a regular one
 * or too long, or has no such line, or where it is neither below the working directory nor below the folder of the input
 * or of its project file. It lives as long as the sources. */
const char *lint_source_line(struct lint_source_text *sources, const struct input *input,
                             const char *path, uint32_t line, size_t *length);

/* "8 kernels never wait: a, b, c and 5 more; 1 kernel never waits unless a flag is set: d; …", which the caller frees; NULL if
 * there are none. Left out are those that access no global memory, those of which it is known how they are launched, and
 * instances of templates that never wait and differ from others, which do, in flags and numbers only. */
char *lint_never_text(const struct inputs *inputs);

/* What kernels that differ in the values of template arguments only have in common, which the caller frees. */
char *lint_family(const char *name);

/* For another command: what is found in PTX, as text on standard output. Returns an exit code. */
int lint_ptx(const char *name, const char *ptx, size_t size, const char *const *constant_params,
             size_t constant_param_count);

#endif /* PDL_TOOLS_LINT_H */
