/* SPDX-License-Identifier: MIT */
/* What `pdltool tune` searches, how, and what it found. docs/tune.md is its manual. */
#ifndef PDL_TOOLS_TUNE_H
#define PDL_TOOLS_TUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <cuda.h>
#include <pdl/chain.h>

#include "common/optional.h"

/* ---- a chain that a file describes ---------------------------------------------------------------- */

/* One way to run all links of a kind. */
struct tune_choice {
    int trigger;        /* PDL_TRIGGER_SELECT: the place of the trigger; -1: none */
    bool serial;        /* without overlap, where it is tried with and without */
    pdl_kernel *kernel; /* the chain's */
};

/* Links that have the same kernel and the same launch. */
struct tune_kind {
    unsigned line; /* of the file */
    char *name;
    char *kernel; /* its name in the code */
    pdl_launch_desc desc;
    bool never; /* overlaps in no choice */
    struct tune_choice *items;
    size_t count, capacity;
    size_t start; /* the choice to begin with: what there is now */
};

struct tune_buffer {
    char *name;
    size_t bytes;
    unsigned char *fill; /* what it is filled with, on the host */
    bool constant;       /* no kernel writes it: filled once */
    CUdeviceptr memory;
};

struct tune_link {
    size_t kind;
    unsigned line; /* of the file */
    void **args;
    size_t *sizes;
    size_t count;
};

#define TUNE_LIST(type)                                                                            \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count, capacity;                                                                    \
    }

/* A chain that can be built with any choice for each kind, and checked. */
struct tune_chain {
    char *name;
    struct tune_kind *kinds;
    size_t kind_count, kind_capacity;
    TUNE_LIST(struct tune_buffer) buffers;
    TUNE_LIST(struct tune_link) links;
    TUNE_LIST(pdl_kernel *) kernels; /* of all choices */
    size_t result_bytes;
};

/* Reads a chain's file. False with lines on standard error; tune_chain_free() must follow in any case. file.c. */
bool tune_read(struct tune_chain *chain, const char *path);
void tune_chain_free(struct tune_chain *chain);

/* The chain with one choice a kind, built. NULL with the reason, which the caller frees. */
pdl_chain *tune_build(const struct tune_chain *chain, const size_t *choices, pdl_overlap overlap,
                      char **why);
/* Makes all that a replay writes what it is before the first replay. */
void tune_reset(const struct tune_chain *chain);
/* Copies all that replays have written: result_bytes. Waits for the device. */
void tune_results(const struct tune_chain *chain, unsigned char *to);
/* Why a buffer that was said to be constant is not what it was, or NULL; the caller frees it. */
char *tune_changed_constant(const struct tune_chain *chain);

/* ---- the search ------------------------------------------------------------------------------- */

/* What became of a choice. */
enum tune_state {
    TUNE_RIGHT,
    TUNE_REFUSED, /* cannot be built */
    TUNE_WRONG,   /* computes something else, without overlap too */
    TUNE_RACE,    /* computes something else, with overlap */
};

struct tune_point {
    size_t choice; /* of the curve's kind */
    enum tune_state state;
    char *why;     /* where it is not right */
    double *items; /* samples, us a replay */
    size_t count, capacity;
    double us; /* of the samples; NAN without */
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

/* How a configuration is measured: measure.c; a test has its own. */
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
    /* Called after each curve; may be NULL. */
    void (*report)(const struct tune_chain *chain, const struct tune_curve *curve);
};

/* Coordinate descent: the choices of each kind in turn, until none is better than what it began with
 * by more than the noise. search.c. */
void tune_search(const struct tune_chain *chain, const struct tune_backend *backend,
                 const struct tune_options *options, struct tune_result *result);
/* The chain does not work as it was given: whatever was faster, nothing is chosen. */
void tune_take_back(const struct tune_chain *chain, struct tune_result *result);
void tune_result_free(struct tune_result *result);

/* On the device in use. measure.c. */
void tune_measure(const struct tune_chain *chain, const struct tune_options *options,
                  struct tune_result *result);

/* ---- what is told ------------------------------------------------------------------------------ */

void tune_print_head(const struct tune_chain *chain, FILE *to);
void tune_print_curve(const struct tune_chain *chain, const struct tune_curve *curve, FILE *to);
void tune_print_result(const struct tune_chain *chain, const struct tune_result *result, FILE *to);
/* For PDL_OVERLAP_EXCLUDE: the kernels that were slower with overlap in every choice that was measured
 * with and without. The caller frees it; NULL: there is none. */
char *tune_excluded(const struct tune_chain *chain, const struct tune_result *result);
/* With jansson: json.c. */
TOOL_OPTIONAL bool tune_print_json(const struct tune_chain *chain,
                                   const struct tune_result *result);

#endif /* PDL_TOOLS_TUNE_H */
