/* SPDX-License-Identifier: MIT */
/* What is known of a few registers on the paths on which nobody has waited yet, so that
 * `if (first) { wait; first = false; }` in a loop is seen through. */
#ifndef PDL_INSPECT_CONDITIONS_H
#define PDL_INSPECT_CONDITIONS_H

#include "inspect/flow/cfg.h"
#include "inspect/flow/values.h"

#define PDL_TRACKED_MAX 62

/* The tracked registers at a point: not set yet, known, or neither. */
struct pdl_tracked {
    uint64_t set;   /* bit by register: some path sets it */
    uint64_t known; /* bit by register: all that do agree on values[] */
    int64_t values[PDL_TRACKED_MAX];
};

struct pdl_conditions {
    const struct pdl_ptx_module *module;
    const struct pdl_body *body;
    const struct pdl_cfg *cfg;
    uint8_t *tracked;           /* by symbol: register + 1, or 0 */
    struct pdl_tracked *points; /* by block: at its beginning; none if nothing is tracked */
    size_t tracked_capacity, point_capacity;
    uint32_t symbols[PDL_TRACKED_MAX];
    uint32_t count;
};

/* Starts with nothing tracked. The arrays are used again. */
pdl_status pdl_conditions_start(struct pdl_conditions *conditions,
                                const struct pdl_ptx_module *module, const struct pdl_body *body,
                                const struct pdl_cfg *cfg);

/* Tracks a register and those that its value is made of. */
void pdl_conditions_track(struct pdl_conditions *conditions, const struct pdl_values *values,
                          uint32_t symbol);

/* Makes room for what is known at each block, after the last register was added. */
pdl_status pdl_conditions_ready(struct pdl_conditions *conditions);
void pdl_conditions_free(struct pdl_conditions *conditions);

/* What is known behind a block. */
void pdl_conditions_behind(const struct pdl_conditions *conditions, uint32_t block,
                           struct pdl_tracked *known);

/* Adds what is known of a symbol where a branch on it was taken. */
void pdl_conditions_assume(const struct pdl_conditions *conditions, struct pdl_tracked *known,
                           uint32_t symbol, bool value);

/* Joins what is known on one more way to a block; true if that changed it. */
bool pdl_conditions_join(struct pdl_conditions *conditions, uint32_t block,
                         const struct pdl_tracked *from);

/* The value of a symbol, if it is known. */
bool pdl_conditions_value(const struct pdl_conditions *conditions, const struct pdl_tracked *known,
                          uint32_t symbol, int64_t *value);

#endif /* PDL_INSPECT_CONDITIONS_H */
