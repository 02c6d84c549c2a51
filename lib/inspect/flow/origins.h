/* SPDX-License-Identifier: MIT */
/* Where the pointer of an indirect call comes from. */
#ifndef PDL_INSPECT_ORIGINS_H
#define PDL_INSPECT_ORIGINS_H

#include "inspect/flow/folding.h"

/* What a pointer may come from; from more, it may be anything. */
#define PDL_ORIGINS_MAX 8u
/* Slots of tables that are looked at in all: of more, a table is as good as any. */
#define PDL_STEPS_OF_TABLES (UINT64_C(1) << 24)
/* Registers that are followed from one call. */
#define PDL_ORIGIN_STEPS 32u

/* Functions that a pointer may be of. */
enum pdl_set_kind {
    PDL_SET_FUNCTION,  /* one; `name` */
    PDL_SET_TABLE,     /* in the initializer of variable `name`, at any offset */
    PDL_SET_SLOT,      /* in the initializer of variable `name`, at `offset` */
    PDL_SET_VIRTUAL,   /* in tables of classes, at `offset` */
    PDL_SET_PROTOTYPE, /* all whose address is taken */
};

struct pdl_set {
    uint32_t kind; /* pdl_set_kind */
    uint32_t name, offset;
    uint32_t prototype; /* of all but a function */
};

struct pdl_origins {
    const struct pdl_ptx_module *module;
    struct pdl_body *body;
    const struct pdl_values *values;
    const struct pdl_folding *folding;
    const struct pdl_instruction *call;
    uint32_t prototype;
    struct pdl_set sets[PDL_ORIGINS_MAX];
    uint32_t set_count;
    uint64_t *steps; /* of all calls, through tables and the bodies that name them */
    bool any;
    uint32_t queue[PDL_ORIGIN_STEPS];
    uint32_t queued;
};

/* Finds the sets of functions that the call's pointer may be of. `any`: it may be of others too. */
void pdl_origins_find(struct pdl_origins *origins);

#endif /* PDL_INSPECT_ORIGINS_H */
