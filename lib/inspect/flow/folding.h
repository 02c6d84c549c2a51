/* SPDX-License-Identifier: MIT */
/* Registers that hold one number, or the address of one function, whatever the path: so that a function
 * that is called with a constant does what it does for that constant. */
#ifndef PDL_INSPECT_FOLDING_H
#define PDL_INSPECT_FOLDING_H

#include "inspect/flow/values.h"

enum pdl_constant_kind {
    PDL_CONSTANT_UNSET, /* nothing that was seen so far sets it */
    PDL_CONSTANT_NUMBER,
    PDL_CONSTANT_FUNCTION, /* the address of the function whose name is `value` */
    PDL_CONSTANT_VARIES
};

struct pdl_constant {
    int64_t value;
    uint8_t kind; /* pdl_constant_kind */
};

/* Bytes of a parameter that hold a constant. */
struct pdl_argument {
    uint32_t parameter, offset, size;
    struct pdl_constant constant;
};

/* Constants that are passed in one call: more are left out. */
#define PDL_ARGUMENTS_MAX 8

struct pdl_arguments {
    uint32_t count;
    struct pdl_argument items[PDL_ARGUMENTS_MAX];
};

struct pdl_folding {
    struct pdl_constant *constants; /* by symbol */
    uint32_t *queue;
    uint8_t *queued;
    uint8_t *seen; /* by symbol */
    size_t constant_capacity, queue_capacity, queued_capacity, seen_capacity;
};

/* Finds the constants of a body whose function is called with `arguments`, or NULL. The arrays are used
 * again. */
void pdl_folding_find(struct pdl_folding *folding, const struct pdl_ptx_module *module,
                      const struct pdl_body *body, const struct pdl_values *values,
                      const struct pdl_arguments *arguments);

/* Takes what is never executed out of the body, and guards that always hold, and makes loads of
 * constants moves. */
void pdl_folding_apply(const struct pdl_folding *folding, struct pdl_ptx_module *module,
                       struct pdl_body *body);

/* The constant that an operand is, if it is one. */
struct pdl_constant pdl_folding_operand(const struct pdl_folding *folding,
                                        const struct pdl_body *body,
                                        const struct pdl_operand *operand);

/* The constants that a call passes in the parameters of a mask. */
void pdl_folding_arguments(const struct pdl_folding *folding, const struct pdl_ptx_module *module,
                           const struct pdl_body *body, const struct pdl_values *values,
                           const struct pdl_instruction *call, uint64_t mask,
                           struct pdl_arguments *arguments);

bool pdl_arguments_same(const struct pdl_arguments *a, const struct pdl_arguments *b);

/* Starts anew, with no symbol followed. */
void pdl_folding_start(struct pdl_folding *folding, const struct pdl_body *body);

/* The parameters that a symbol is computed from, one bit each up to the 64th; those of symbols that
 * were followed before are left out. */
uint64_t pdl_folding_parameters(struct pdl_folding *folding, const struct pdl_body *body,
                                const struct pdl_values *values, uint32_t symbol);

/* The arguments of a call that are computed from parameters, if the callee's `mask` has them. */
uint64_t pdl_folding_passed(struct pdl_folding *folding, const struct pdl_body *body,
                            const struct pdl_values *values, const struct pdl_instruction *call,
                            uint64_t mask);

#endif /* PDL_INSPECT_FOLDING_H */
