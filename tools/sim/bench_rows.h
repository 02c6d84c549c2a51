/* SPDX-License-Identifier: MIT */
/* The configurations of `pdltool bench overlap`, as programs to simulate. */
#ifndef PDL_TOOLS_SIM_BENCH_ROWS_H
#define PDL_TOOLS_SIM_BENCH_ROWS_H

#include <jansson.h>

#include "sim/sim.h"

/* Predicts us a kernel for a point of the tables phases and trigger; false where it is another's. */
bool sim_bench_predict(const struct sim_device *device, const char *table, const json_t *axes,
                       double *us);

/* Whether a calibration is made of the point. */
bool sim_bench_is_fitted(const char *table, const json_t *axes);

#endif /* PDL_TOOLS_SIM_BENCH_ROWS_H */
