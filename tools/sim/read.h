/* SPDX-License-Identifier: MIT */
/* What the two files of the description's reader share. */
#ifndef PDL_TOOLS_SIM_READ_H
#define PDL_TOOLS_SIM_READ_H

#include "common/kernel.h"
#include "sim/sim.h"

bool sim_read_count(const char *text, struct kernel_limits limits, int64_t *count,
                    char wrong[SIM_WRONG]);

/* A kernel of its words, of which the first is its name and stays the caller's. False where one is wrong, or
 * where no block of it fits on the device's SMs. */
bool sim_read_kernel(const struct sim_device *device, char *const *words, unsigned count,
                     struct sim_kernel *kernel, char wrong[SIM_WRONG]);

#endif /* PDL_TOOLS_SIM_READ_H */
