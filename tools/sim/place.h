/* SPDX-License-Identifier: MIT */
/* Which SMs blocks go to. */
#ifndef PDL_TOOLS_SIM_PLACE_H
#define PDL_TOOLS_SIM_PLACE_H

#include "sim/classes.h"

struct sim_placer {
    struct sim_classes *classes;
    uint64_t round; /* of giving blocks to SMs */
    uint64_t random;
};

/* A launch's blocks that have no SM yet. */
struct sim_unplaced {
    unsigned blocks;
    struct sim_needs needs;
    bool waited; /* for room */
};

/* Places as many as there is room for, which the classes' `placing` then tell; returns how many. */
unsigned sim_place(struct sim_placer *placer, struct sim_unplaced *unplaced);

#endif /* PDL_TOOLS_SIM_PLACE_H */
