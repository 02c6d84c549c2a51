/* SPDX-License-Identifier: MIT */
/* How the text of an environment variable is read. os/environment.h is the table of all variables. */
#ifndef PDL_LIB_OS_VARIABLE_H
#define PDL_LIB_OS_VARIABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "os/compiler.h"

enum pdl_variable_kind {
    PDL_VARIABLE_WORD, /* one of `values` in any case, between blanks. 0, false, no: off. 1, true, yes: on */
    PDL_VARIABLE_OPEN_WORD, /* likewise, and also where the process has more rights than its user */
    PDL_VARIABLE_NUMBER,    /* up to `most`, see pdl_size_parse() */
    PDL_VARIABLE_SIZE,      /* likewise, and at least 1 */
    PDL_VARIABLE_SECONDS,   /* digits, with a point or without; the value is in ns */
    PDL_VARIABLE_TIMES,     /* one or two NUMBERs, with a comma between them */
    PDL_VARIABLE_LOG,       /* the first word of `values`, or a file */
    PDL_VARIABLE_TEXT       /* as it is: a file, a list */
};

struct pdl_variable {
    const char *name;
    uint64_t most;
    const char *values;  /* "off, on or capture" */
    const char *unset;   /* what an unset variable is read as, and an empty one */
    const char *unknown; /* what an unknown value is read as: the safe side */
    const char *effect;
    enum pdl_variable_kind kind;
    atomic_bool said; /* that its value is unknown */
};

struct pdl_reading {
    uint64_t value[2]; /* of a word: its place; of TIMES also the second one */
    bool is_set;       /* and not empty */
    char problem[192]; /* of an unknown value: what it is and what it must be; else "" */
};

/* Reads a text, which is NULL where the variable is not set. */
PDL_COLD struct pdl_reading pdl_variable_parse(const struct pdl_variable *variable,
                                               const char *text);

/* The text in the environment; NULL if it is not set, or not to be trusted. */
PDL_COLD const char *pdl_variable_raw(const struct pdl_variable *variable);

/* The same of a LOG or a TEXT, but NULL if it is empty. */
PDL_COLD const char *pdl_variable_text(const struct pdl_variable *variable);

/* Reads the environment. The second says on stderr, once per process, that a value is unknown. */
PDL_COLD struct pdl_reading pdl_variable_look(const struct pdl_variable *variable);
PDL_COLD struct pdl_reading pdl_variable_read(struct pdl_variable *variable);

#endif /* PDL_LIB_OS_VARIABLE_H */
