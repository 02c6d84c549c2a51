/* SPDX-License-Identifier: MIT */
/* What the two files of the description's reader share. */
#ifndef PDL_TOOLS_SIM_READ_H
#define PDL_TOOLS_SIM_READ_H

#include "sim/sim.h"

/* The value of a word NAME=VALUE, or NULL where it is another one. */
const char *sim_value_of(const char *word, const char *name);

bool sim_read_count(const char *text, unsigned least, unsigned most, unsigned *count,
                    char wrong[SIM_WRONG]);

/* A kernel of its words, of which the first is its name and stays the caller's. False where one is wrong, or
 * where no block of it fits on the device's SMs. */
bool sim_read_kernel(const struct sim_device *device, char *const *words, unsigned count,
                     struct sim_kernel *kernel, char wrong[SIM_WRONG]);

#endif /* PDL_TOOLS_SIM_READ_H */
