/* SPDX-License-Identifier: MIT */
/* One step of a compilation: a program of the CUDA toolkit that gets other texts than those it was given. */
#ifndef PDL_TOOLS_PTXAS_STEP_H
#define PDL_TOOLS_PTXAS_STEP_H

#include <sys/types.h>

#include "ptxas/texts.h"

/* Set by `pdl-ptxas --nvcc` for the steps of nvcc. */

enum {
    EXIT_NO_PROGRAM = 127,
    FIRST_TARGET = 90, /* sm_90 can wait */
};

/* A text in memory that stands for a file. */
struct swap {
    const char *given; /* the file as the user knows it */
    char *path;        /* what the program opens instead */
    struct instrumented made;
};

struct step {
    const struct settings *settings;
    const char *program; /* the real one */
    char **given;        /* its arguments as they came, ended by NULL */
    struct {
        char **items;
        size_t count, capacity;
    } arguments; /* as they will be */
    struct {
        struct swap *items;
        size_t count, capacity;
    } swaps;
};

/* The program of that name which is not this one: for ptxas, and not in nvcc, that of PDL_PTXAS; on PATH, or in a
 * toolkit. The caller frees it. NULL after an error. */
char *step_find(const char *name);

/* A text that the program reads too. What cannot be read twice, standard input or another pipe's descriptor, is the text
 * that was read afterwards. NULL: it is left to the program. The caller frees it. */
char *step_read(const char *path, size_t *size);

/* Instruments a file. Returns the path of the text that replaces it, which the step owns; NULL: it stays. */
const char *step_replace(struct step *step, const char *path, bool raise);

/* Replaces this process by the program with the arguments as they came. Returns an exit status after an error. */
int step_untouched(const struct step *step);

/* Runs the program with the arguments as they will be. If it fails with them, it runs as it would have without
 * this program, whose changes must not break a build. Returns its exit status. */
int step_run(struct step *step);

/* Waits for a child, which gets the signals that would end this process. Returns its exit status; if a signal ended it,
 * the same signal ends this process, except where `crashes` is true and the child is at fault: -1. */
int step_wait(pid_t child, bool crashes);

#endif /* PDL_TOOLS_PTXAS_STEP_H */
