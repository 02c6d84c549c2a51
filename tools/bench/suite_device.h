/* SPDX-License-Identifier: MIT */
/* What the files of the suite `device` share. */
#ifndef PDL_TOOLS_BENCH_SUITE_DEVICE_H
#define PDL_TOOLS_BENCH_SUITE_DEVICE_H

#include <stdbool.h>

#include "bench/bench.h"
#include "bench/gpu.h"
#include "bench/kernels/device.h"

/* What is in use from a table's begin to its end; one table is measured at a time. */
struct device {
    CUdeviceptr state;          /* a struct device_state */
    size_t limit_before, limit; /* of pending launches */
    bool loading;               /* see device_time() */
};
extern struct device device;

/* What the tables begin and end with: the state, and launches from the device that work. Waives every point
 * where they do not. The limit of pending launches is the driver's 2,048 unless something set it. */
void device_begin(struct bench_table *table);
void device_end(struct bench_table *table);

void device_clear(void);
void device_read(struct device_state *state);

/* Whether so many launches each ran, or failed and were noted; the point fails where not. */
bool device_accounted_for(struct bench_point *point, const struct device_state *state,
                          unsigned launches);
/* Whether all ran. */
bool device_all_ran(struct bench_point *point, const struct device_state *state, unsigned launches);

/* The time of `work` on the device, us. While device_check() loads what is run: without a gate, since a
 * kernel that launches others is not loaded while the device is busy; NAN then. */
double device_time(void (*work)(void *context), void *context);

/* The check of a table whose samples are checked one by one: runs the point twice, and loads its
 * kernels with the first. */
void device_check(struct bench_point *point);

/* The tables of suite_device_rows.c. */
void suite_device_rows(struct bench *bench);

#endif /* PDL_TOOLS_BENCH_SUITE_DEVICE_H */
