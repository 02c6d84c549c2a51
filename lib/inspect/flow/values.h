/* SPDX-License-Identifier: MIT */
/* Where the values of registers come from, whatever the path: which parameter an address goes
 * through, in which space it is, and whether a value differs between threads. */
#ifndef PDL_INSPECT_VALUES_H
#define PDL_INSPECT_VALUES_H

#include "inspect/ptx/body.h"

enum pdl_source_kind {
    PDL_SOURCE_PARAMETER, /* a value in parameter `index`, at byte `offset` */
    PDL_SOURCE_ADDRESS,   /* the address of that byte of the parameter */
    PDL_SOURCE_POINTEE,   /* what was loaded through the pointer there */
    PDL_SOURCE_VARIABLE   /* the variable of the module whose name is `index` */
};

#define PDL_OFFSET_UNKNOWN INT32_MIN

struct pdl_source {
    uint32_t index;
    int32_t offset; /* PDL_OFFSET_UNKNOWN if it is computed */
    uint32_t kind;
};

/* What a value depends on. */
enum {
    PDL_DEPENDS_THREAD = 1, /* the thread or the lane in its block */
    PDL_DEPENDS_BLOCK = 2,  /* the block in its grid */
    PDL_DEPENDS_MEMORY = 4,
    PDL_DEPENDS_PARAMETER =
        8 /* a parameter of the function: of a kernel, the same for all threads */
};

/* How likely it is a pointer, from not at all. */
enum pdl_strength {
    PDL_STRENGTH_NONE,
    PDL_STRENGTH_NUMBER, /* computed: a product, a shift, a comparison */
    PDL_STRENGTH_VALUE,  /* as it was passed or loaded */
    PDL_STRENGTH_POINTER /* an address, from a cvta or a variable */
};

#define PDL_VALUE_SOURCES 6

struct pdl_value {
    uint8_t strength; /* pdl_strength */
    uint8_t spaces;   /* 1 << pdl_space for each it is known to be in */
    uint8_t depends;
    uint8_t count; /* of sources */
    bool untraced; /* it may also come from elsewhere */
    bool defined;  /* something that was seen so far gives it a value */
    struct pdl_source sources[PDL_VALUE_SOURCES];
};

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

/* Whether a name is that of a special register; *depends is what its value depends on. */
bool pdl_special_register(const char *name, uint32_t length, uint16_t *depends);

/* Finds the values of a body's symbols. The arrays are used again. */
pdl_status pdl_values_find(struct pdl_values *values, const struct pdl_ptx_module *module,
                           const struct pdl_body *body);
void pdl_values_free(struct pdl_values *values);

/* Adds `from` to `to`; true if that changed it. */
bool pdl_value_join(struct pdl_value *to, const struct pdl_value *from);

/* The value of an operand, as it is used as an address or passed to a function. */
struct pdl_value pdl_operand_value(const struct pdl_values *values, const struct pdl_body *body,
                                   const struct pdl_operand *operand);

/* The address operand in a slot, or NULL. */
const struct pdl_operand *pdl_address_operand(const struct pdl_body *body,
                                              const struct pdl_instruction *instruction,
                                              unsigned slot);

/* What the arguments of a call depend on, together. */
uint8_t pdl_arguments_depend(const struct pdl_values *values, const struct pdl_body *body,
                             const struct pdl_instruction *call);

/* What a function's value is for a caller: its parameters replaced by the arguments of a call. */
struct pdl_value pdl_value_at_call(const struct pdl_value *value, const struct pdl_values *values,
                                   const struct pdl_body *body, const struct pdl_instruction *call);

#endif /* PDL_INSPECT_VALUES_H */
