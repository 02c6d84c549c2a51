/* SPDX-License-Identifier: MIT */
/* What the two files of the description's reader share. */
#ifndef PDL_TOOLS_SIM_READ_H
#define PDL_TOOLS_SIM_READ_H

#include "common/description.h"
#include "sim/sim.h"

/* Reads `kernel NAME ...`; the name stays the line's. False where a word is wrong, or where no block of it fits on the
 * device's SMs. */
bool sim_read_kernel(const struct sim_device *device, struct description *description,
                     const struct description_line *line, struct sim_kernel *kernel);

#endif /* PDL_TOOLS_SIM_READ_H */
