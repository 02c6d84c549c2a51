/* SPDX-License-Identifier: MIT */
/* Addresses in shared memory, to tell mbarriers apart, and numbers that are known to the compiler. */
#ifndef PDL_INSPECT_SHARED_H
#define PDL_INSPECT_SHARED_H

#include "inspect/flow/cfg.h"
#include "inspect/flow/values.h"

enum pdl_shared_kind {
    PDL_SHARED_UNKNOWN,
    PDL_SHARED_NUMBER, /* no address; `offset` is it unless `indexed` */
    PDL_SHARED_ADDRESS
};

struct pdl_shared {
    uint8_t kind;  /* pdl_shared_kind */
    bool indexed;  /* something that is not known was added */
    bool argument; /* `root` is the number of a parameter of the function */
    uint32_t root; /* the variable's name; PDL_NONE if it is not known */
    uint32_t base; /* the symbol that `offset` is added to; PDL_NONE: the variable itself */
    int64_t offset;
};

/* The values of a body's symbols, found as they are asked for. */
struct pdl_shared_values {
    const struct pdl_ptx_module *module;
    const struct pdl_body *body;
    const struct pdl_cfg *cfg;
    const struct pdl_values *values;
    struct pdl_shared *found; /* by symbol */
    uint8_t *progress;        /* by symbol */
    uint32_t work;            /* registers that may still be looked at */
    size_t found_capacity, progress_capacity;
};

/* Starts with nothing found. The arrays are used again. */
void pdl_shared_start(struct pdl_shared_values *shared, const struct pdl_ptx_module *module,
                      const struct pdl_body *body, const struct pdl_cfg *cfg,
                      const struct pdl_values *values);

/* The value of an operand, or of the address it is the base of. */
struct pdl_shared pdl_shared_operand(struct pdl_shared_values *shared,
                                     const struct pdl_operand *operand);

/* Whether an operand is a number that is known. */
bool pdl_shared_number(struct pdl_shared_values *shared, const struct pdl_operand *operand,
                       int64_t *number);

static inline bool pdl_shared_same(const struct pdl_shared *a, const struct pdl_shared *b)
{
    return a->kind == b->kind && a->indexed == b->indexed && a->argument == b->argument &&
           a->root == b->root && a->base == b->base && a->offset == b->offset;
}

#endif /* PDL_INSPECT_SHARED_H */
