/* SPDX-License-Identifier: MIT */
/* The configurations of `pdltool bench overlap`, as programs to simulate. */
#ifndef PDL_TOOLS_SIM_BENCH_ROWS_H
#define PDL_TOOLS_SIM_BENCH_ROWS_H

#include <jansson.h>

#include "sim/sim.h"

struct sim_prediction {
    double us;      /* per kernel */
    unsigned warps; /* most that an SM holds of one kernel */
};
/* Predicts a point of the tables phases, trigger and shapes; false where it is another's. */
bool sim_bench_predict(const struct sim_device *device, const char *table, const json_t *axes,
                       struct sim_prediction *prediction);

/* Whether a calibration is made of the point. */
bool sim_bench_is_fitted(const char *table, const json_t *axes);

#endif /* PDL_TOOLS_SIM_BENCH_ROWS_H */
