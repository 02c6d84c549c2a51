/* SPDX-License-Identifier: MIT */
/* The values of a body's registers, whatever the path. */
#ifndef PDL_INSPECT_VALUES_H
#define PDL_INSPECT_VALUES_H

#include "inspect/flow/value.h"
#include "inspect/ptx/body.h"
#include "inspect/ring.h"

/* The values of a body's symbols, and where they are defined. */
struct pdl_values {
    struct pdl_value *values;   /* by symbol */
    uint32_t *first_definition; /* by symbol, and one more: in definitions */
    uint32_t *definitions;      /* instructions */
    uint32_t *first_use;        /* by symbol, and one more: in uses */
    uint32_t *uses;             /* instructions */
    uint32_t *queue;
    uint8_t *queued;
    size_t value_capacity, first_definition_capacity, definition_capacity;
    size_t first_use_capacity, use_capacity, queue_capacity, queued_capacity;
};

/* Finds the values of a body's symbols. The arrays are used again. */
void pdl_values_find(struct pdl_values *values, const struct pdl_ptx_module *module,
                     const struct pdl_body *body);

/* Queues the instructions that use a symbol. */
void pdl_values_queue_users(const struct pdl_values *values, uint32_t symbol,
                            struct pdl_ring *ring);

/* The only instruction that defines a symbol, or NULL. */
const struct pdl_instruction *pdl_values_definition(const struct pdl_values *values,
                                                    const struct pdl_body *body, uint32_t symbol);

/* Adds `from` to `to`; true if that changed it. */
bool pdl_value_join(struct pdl_value *to, const struct pdl_value *from);

/* The value of an operand, as it is used as an address or passed to a function. */
struct pdl_value pdl_operand_value(const struct pdl_values *values, const struct pdl_body *body,
                                   const struct pdl_operand *operand);

/* The address operand in a slot, or NULL. */
const struct pdl_operand *pdl_address_operand(const struct pdl_body *body,
                                              const struct pdl_instruction *instruction,
                                              unsigned slot);

/* The operand that is passed to a parameter in a call, or NULL. */
const struct pdl_operand *pdl_call_argument(const struct pdl_body *body,
                                            const struct pdl_instruction *call, uint32_t index);

/* What the arguments of a call depend on, together. */
uint8_t pdl_arguments_depend(const struct pdl_values *values, const struct pdl_body *body,
                             const struct pdl_instruction *call);

/* What a function's value is for a caller: its parameters replaced by the arguments of a call. */
struct pdl_value pdl_value_at_call(const struct pdl_value *value, const struct pdl_values *values,
                                   const struct pdl_body *body, const struct pdl_instruction *call);

#endif /* PDL_INSPECT_VALUES_H */
