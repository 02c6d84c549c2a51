/* SPDX-License-Identifier: MIT */
/* What `pdltool tune` searches, how, and what it found. docs/tune.md is its manual. */
#ifndef PDL_TOOLS_TUNE_H
#define PDL_TOOLS_TUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <pdl/chain.h>

#include "common/optional.h"

/* ---- what there is to choose ------------------------------------------------------------------ */

/* The launch and the code of all links of a kind. */
struct tune_choice {
    int trigger; /* PDL_TRIGGER_SELECT: the place of the trigger; -1: none */
    unsigned grid[3];
    bool serial; /* without overlap, where it is tried with and without */
};

/* Links that have the same kernel and the same launch. */
struct tune_kind {
    char *name;
    struct tune_choice *items;
    size_t count, capacity;
    size_t start; /* the choice to begin with: what there is now */
    char *kernel; /* its name in the code */
    unsigned block[3];
    bool never; /* overlaps in no choice */
};

/* A chain that can be built with any choice for each kind, and checked. */
struct tune_job {
    char *name;
    struct tune_kind *kinds;
    size_t kind_count;
    size_t links;
    size_t result_bytes;
    void *self; /* of those that made the job */

    /* The chain with one choice a kind, built. NULL with the reason, which the caller frees. */
    pdl_chain *(*build)(void *self, const size_t *choices, pdl_overlap overlap, char **why);
    /* The same with overlap and with faults injected (PDL_FAULT_INJECT): a race that would show once in
     * thousands of replays shows in each. NULL where there is no such code. */
    pdl_chain *(*build_faulty)(void *self, const size_t *choices, char **why);
    /* Makes all that a replay writes what it is before the first replay. */
    void (*reset)(void *self);
    /* Copies all that replays have written: result_bytes. Waits for the device. */
    void (*results)(void *self, void *to);
    /* After the search: what else has gone wrong, or NULL; the caller frees it. May be NULL. */
    char *(*finish)(void *self);
    void (*destroy)(void *self);
};

/* A chain that a JSON file describes. False with lines on standard error. file.c. */
TOOL_OPTIONAL bool tune_file_job(struct tune_job *job, const char *path);

void tune_job_free(struct tune_job *job);

/* A source that libpdl-rtc compiles, and what is wanted of it. */
struct tune_source {
    const char *path; /* as messages call it */
    const char *text;
    const char *target; /* "sm_90"; NULL: the device's */
    const char *const *options;
    size_t count;
    const char *const *names; /* the kernels */
    size_t name_count;
};
/* Compiles it for a trigger's place, showing what the compiler says. NULL, with why it failed, which the caller
 * frees. tune_compile.c. */
TOOL_OPTIONAL struct pdl_rtc_image *tune_compile(const struct tune_source *source, int trigger,
                                                 bool faulty, char **why);
TOOL_OPTIONAL pdl_status tune_compiled_kernel(const struct pdl_rtc_image *image, const char *name,
                                              pdl_kernel **kernel);
TOOL_OPTIONAL void tune_compiled_free(struct pdl_rtc_image *image);

/* ---- the search ------------------------------------------------------------------------------- */

/* What became of a choice. */
enum tune_state {
    TUNE_RIGHT,
    TUNE_REFUSED, /* cannot be built */
    TUNE_WRONG,   /* computes something else, without overlap too */
    TUNE_RACE,    /* computes something else, with overlap */
};
extern const char *const tune_state_names[]; /* one word each */

struct tune_point {
    size_t choice; /* of the curve's kind */
    enum tune_state state;
    char *why;     /* where it is not right */
    double *items; /* samples, us a replay */
    size_t count, capacity;
    double us, p25, p75; /* of the samples; NAN without */
    double ratio, low,
        high; /* to the curve's base: the median of the rounds, its interval of 95 % */
};

/* All choices of one kind, with the others as they were found to be best until then. */
struct tune_curve {
    size_t kind, sweep;
    size_t *at; /* a choice for each kind; this kind's is the base */
    struct tune_point *items;
    size_t count;
    size_t taken; /* the choice that was taken: at[kind] if none is better */
};

/* The points of the last comparison. */
enum { TUNE_SERIAL, TUNE_START, TUNE_CHOSEN, TUNE_FINALS };
extern const char *const tune_final_names[TUNE_FINALS];

struct tune_result {
    struct tune_curve *items;
    size_t count, capacity;
    size_t sweeps;
    size_t tried; /* configurations that were measured */
    size_t *chosen;
    bool better;                           /* `chosen` is faster than what it began with */
    struct tune_point finals[TUNE_FINALS]; /* against TUNE_START; no samples if it ended early */
    int batch;                             /* replays a sample */
    double seconds;
    char *ended_early; /* why, or NULL */
    char *failed;      /* what is wrong with the chain as it was given, or NULL */
};

/* How a configuration is measured: tune_measure.c; a test has its own. */
struct tune_backend {
    void *self;
    /* NULL with the reason and what it makes of the choice. */
    void *(*open)(void *self, const size_t *choices, bool overlap, enum tune_state *state,
                  char **why);
    /* One sample, checked. `why` is set where the state is not TUNE_RIGHT. */
    enum tune_state (*sample)(void *self, void *opened, const size_t *choices, double *us,
                              char **why);
    void (*close)(void *self, void *opened);
    double (*seconds)(void *self); /* a clock */
    bool (*interrupted)(void *self);
};

struct tune_options {
    int rounds;
    double budget; /* seconds */
    double gain;   /* the least that counts, as a share */
    int restarts;  /* after the first descent */
    /* Called after each curve and, with NULL, at the end; may be NULL. */
    void (*report)(const struct tune_job *job, const struct tune_result *result,
                   const struct tune_curve *curve);
};

/* Coordinate descent: the choices of each kind in turn, until none is better than what it began with
 * by more than the noise. Then again from disturbed places, as often as is wanted. tune_search.c. */
void tune_search(const struct tune_job *job, const struct tune_backend *backend,
                 const struct tune_options *options, struct tune_result *result);
/* The chain does not work as it was given: whatever was faster, nothing is chosen. */
void tune_take_back(const struct tune_job *job, struct tune_result *result);
void tune_result_free(struct tune_result *result);

/* On the device in use. `batch` 0: as many replays a sample as take about 2 ms. tune_measure.c. */
void tune_measure(const struct tune_job *job, const struct tune_options *options, int batch,
                  struct tune_result *result);

/* ---- what is told ------------------------------------------------------------------------------ */

void tune_print_head(const struct tune_job *job, FILE *to);
void tune_print_curve(const struct tune_job *job, const struct tune_curve *curve, FILE *to);
void tune_print_result(const struct tune_job *job, const struct tune_result *result, FILE *to);
void tune_write_csv(const struct tune_job *job, const struct tune_result *result, FILE *to);
/* For PDL_OVERLAP_EXCLUDE: the kernels that were slower with overlap in every choice that was measured
 * with and without. The caller frees it; NULL: there is none. */
char *tune_excluded(const struct tune_job *job, const struct tune_result *result);
/* With jansson: tune_json.c. */
TOOL_OPTIONAL void tune_write_json(const struct tune_job *job, const struct tune_result *result,
                                   FILE *to);

/* "0", "none"; "132", "16x8x1": the caller frees them. */
char *tune_trigger_name(int trigger);
char *tune_grid_name(const unsigned *grid);

#endif /* PDL_TOOLS_TUNE_H */
