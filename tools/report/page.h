/* SPDX-License-Identifier: MIT */
/* The page. */
#ifndef PDL_TOOLS_REPORT_PAGE_H
#define PDL_TOOLS_REPORT_PAGE_H

#include <stdio.h>

#include "bench/output.h"
#include "report/figure.h"

/* A file that was read. */
struct report_run {
    char *name; /* the file's, without its ending */
    struct bench_run run;
    struct figures *figures; /* of each of its tables */
    struct texts anchors;    /* of each of its tables */
};

/* A search of `pdltool tune`. */
struct report_tuned {
    char *name;           /* the file's, without its ending */
    char *chain;          /* what was tuned */
    char *where;          /* on which device, and how long it took */
    char *ended;          /* early, why; or NULL */
    struct texts choices; /* three a kind: its name, what it was, what was chosen */
    struct figures figures;
};

struct report {
    struct report_run *items;
    size_t count, capacity;
    struct {
        struct report_tuned *items;
        size_t count, capacity;
    } tuned;
    struct texts troubles; /* what could not be read or drawn */
};

/* A figure that matters, on top of the page. */
struct card {
    char *value, *label, *more;
    char *from, *anchor; /* the table that it is of */
};
struct cards {
    struct card *items;
    size_t count, capacity;
};
void headline_make(const struct report *report, struct cards *cards);
void headline_free(struct cards *cards);

/* Whether a table has anything to be shown: a point that was selected. */
bool table_is_shown(const struct bench_table *table);
/* What tells tables of one name apart: the run's name; empty where only one run has it. */
const char *run_label(const struct report *report, const struct report_run *run,
                      const struct bench_table *table);

void page_write(FILE *to, const struct report *report);

/* ---- parts of it ------------------------------------------------------------------------------ */

extern const char *const page_style[]; /* CSS, ended by NULL */

/* Text as it stands in HTML, in attributes too. */
void html_text(FILE *to, const char *text);
void html_format(FILE *to, const char *before, const char *text, const char *after);
/* All rows, and what went wrong with some. */
void html_table(FILE *to, const struct bench_table *table);
void html_troubles(FILE *to, const struct bench_table *table);

#endif /* PDL_TOOLS_REPORT_PAGE_H */
