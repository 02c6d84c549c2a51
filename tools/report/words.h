/* SPDX-License-Identifier: MIT */
/* Texts and numbers as a reader wants them. */
#ifndef PDL_TOOLS_REPORT_WORDS_H
#define PDL_TOOLS_REPORT_WORDS_H

#include <stddef.h>

#include "trace/names.h"

/* A list of texts that it owns. */
struct texts {
    char **items;
    size_t count, capacity;
    struct pdl_names names; /* each text once */
    struct {
        size_t *items;
        size_t count, capacity;
    } places; /* where each of these stands first */
};
void texts_add(struct texts *texts, const char *text);
/* Takes the text over. */
void texts_take(struct texts *texts, char *text);
/* Where it stands in the list; to its end it is added if it is not there. */
size_t texts_place(struct texts *texts, const char *text);
void texts_free(struct texts *texts);

/* A number as a text. */
struct word {
    char text[80];
};
struct word value_text(double value); /* four digits; whole numbers from 1,000 on */
struct word unit_text(double value, const char *unit); /* `2.05 µs`, `80 %` */
struct word times_text(double ratio);                  /* `1.24×` */
/* The caller frees it. */
char *joined_text(const struct texts *texts, const char *between);
/* The name, or with a number behind it if the list has it; takes it over and adds what it returns. */
const char *texts_unique(struct texts *texts, char *name);

/* A name for a file or an anchor: letters, digits and hyphens; empty parts are left out. */
char *file_name(const char *first, const char *second, const char *third, const char *fourth);

/* The whole text as a number; NAN if it is none. */
double number_of(const char *text);

#endif /* PDL_TOOLS_REPORT_WORDS_H */
