/* SPDX-License-Identifier: MIT */
/* nvcc with steps that instrument: machine code and the PTX beside it both wait. */
#ifndef PDL_TOOLS_PTXAS_NVCC_H
#define PDL_TOOLS_PTXAS_NVCC_H

#include "ptxas/step.h"

/* Runs nvcc, whose name is the first of the arguments, as it is if `plain`. Returns its exit status. */
int nvcc_run(char **arguments, bool plain);

/* The steps in which nvcc's own name for them is this program: cicc, which makes PTX, and fatbinary, which packs it. Each
 * returns its exit status. */
int nvcc_cicc(const struct step *step);
int nvcc_fatbinary(struct step *step);

#endif /* PDL_TOOLS_PTXAS_NVCC_H */
