/* SPDX-License-Identifier: MIT */
/* Where, when and with what a run was made. */
#ifndef PDL_TOOLS_BENCH_ENVIRONMENT_H
#define PDL_TOOLS_BENCH_ENVIRONMENT_H

#include "bench/output.h"

/* The facts of the machine, of the program, and of the device that gpu_open() opened. */
void environment_fill(struct bench_environment *environment, int argc, char *const *argv);

#endif /* PDL_TOOLS_BENCH_ENVIRONMENT_H */
