/* SPDX-License-Identifier: MIT */
/* What came of a run, for people and programs. */
#ifndef PDL_TOOLS_SIM_OUTPUT_H
#define PDL_TOOLS_SIM_OUTPUT_H

#include <pdl/timeline.h>
#include <stdio.h>

#include "common/optional.h"
#include "sim/sim.h"

/* A table of launches, of many the first ones, and what it comes to. */
/* `plain`: the same without overlap, or NULL. */
void sim_print(const struct sim_program *program, const struct sim_result *result,
               const struct sim_result *plain, FILE *to);

/* Says on standard error why a run did not come to its end; returns false. */
bool sim_tell_wrong(const struct sim_result *result);

/* Runs it and adds it to a timeline, each track's name after a prefix. False with a line on standard error
 * where it has more blocks than that is for, or does not come to its end. */
bool sim_run_timeline(const struct sim_program *program, const char *prefix,
                      struct sim_result *result, pdl_timeline *timeline);

/* The same program where nothing overlaps, which shares all but its dependencies with it. */
struct sim_program sim_without_overlap(const struct sim_program *program);

/* A point of a sweep over the trigger's place. */
struct sim_try {
    double share; /* of a kernel's main part before its trigger */
    double ns;
};
/* Runs it with every kernel's trigger at so many places; tries has steps + 1 items. False as above. */
bool sim_sweep(const struct sim_program *program, double from, double to, int steps,
               struct sim_try *tries);
void sim_print_sweep(const struct sim_try *tries, int steps, FILE *to);

/* `tries` may be NULL. False where writing failed. */
TOOL_OPTIONAL bool sim_print_json(const struct sim_program *program,
                                  const struct sim_result *result, const struct sim_result *plain,
                                  const struct sim_try *tries, int steps);

#endif /* PDL_TOOLS_SIM_OUTPUT_H */
