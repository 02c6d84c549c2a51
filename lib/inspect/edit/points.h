/* SPDX-License-Identifier: MIT */
/* Where the wait and the trigger of a body go. */
#ifndef PDL_INSPECT_POINTS_H
#define PDL_INSPECT_POINTS_H

#include <pdl/instrument.h>

#include "inspect/edit/needs.h"
#include "inspect/flow/dominators.h"

/* A point between instructions. */
enum pdl_beside {
    PDL_BESIDE_NOTHING,    /* there is none */
    PDL_BESIDE_BEFORE,     /* before the instruction and its guard, behind its labels; the number of
                             instructions: at the end of the body */
    PDL_BESIDE_BEHIND,     /* right behind it */
    PDL_BESIDE_FIRST_LABEL /* before the first label of the body */
};

struct pdl_place_at {
    uint32_t beside; /* pdl_beside */
    uint32_t instruction;
};

struct pdl_points {
    struct pdl_dominators before, behind;
    struct pdl_place_at wait, trigger;
    uint32_t block;         /* of the wait; PDL_NONE before the first label */
    uint32_t trigger_count; /* points that the trigger may be at, where they were looked for */
};

/* Finds both; `beside` is PDL_BESIDE_NOTHING where there is none. `trigger` is as in pdl_instrument_options.
 * `behind` is found where the trigger needs it. */
void pdl_points_find(struct pdl_points *points, const struct pdl_needs *needs,
                     const struct pdl_cfg *cfg, int32_t trigger);

#endif /* PDL_INSPECT_POINTS_H */
