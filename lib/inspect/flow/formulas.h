/* SPDX-License-Identifier: MIT */
/* How a register is made of others: instructions as formulas, and what the values of one side say about
 * those of the other. */
#ifndef PDL_INSPECT_FORMULAS_H
#define PDL_INSPECT_FORMULAS_H

#include "inspect/flow/ranges.h"
#include "inspect/ptx/body.h"

enum pdl_formula_op {
    PDL_FORMULA_NONE,   /* nothing is known of the result */
    PDL_FORMULA_OPAQUE, /* the same for the same terms, whatever it is */
    PDL_FORMULA_COPY,
    PDL_FORMULA_ADD, /* terms 0 + 1 */
    PDL_FORMULA_SUB,
    PDL_FORMULA_MUL,
    PDL_FORMULA_MUL_HIGH, /* the upper half of the product */
    PDL_FORMULA_MAD,      /* terms 0 * 1 + 2 */
    PDL_FORMULA_SHL,
    PDL_FORMULA_SHR,
    PDL_FORMULA_DIV,
    PDL_FORMULA_REM,
    PDL_FORMULA_AND,
    PDL_FORMULA_OR,
    PDL_FORMULA_XOR,
    PDL_FORMULA_MIN,
    PDL_FORMULA_MAX,
    PDL_FORMULA_LOOKUP,  /* bit by bit, what the table in term 3 has for terms 0 to 2 */
    PDL_FORMULA_FIELD,   /* bits of term 0 from position 1 on, as many as 2 says */
    PDL_FORMULA_SELECT,  /* term 2 != 0 ? 0 : 1 */
    PDL_FORMULA_COMPARE, /* terms 0 and 1, together with 2 if there is one */
    PDL_FORMULA_LOAD     /* of memory that does not change: parameters and constants */
};

enum pdl_relation { PDL_RELATION_EQUAL, PDL_RELATION_LESS };

/* A comparison's result together with a predicate. */
enum pdl_combine { PDL_COMBINE_NONE, PDL_COMBINE_AND, PDL_COMBINE_OR, PDL_COMBINE_XOR };

#define PDL_FORMULA_TERMS 4

struct pdl_term {
    uint32_t symbol; /* PDL_NONE: the number `value` */
    bool negated;    /* a predicate */
    int64_t value;   /* of a load: what is added to the symbol */
};

struct pdl_formula {
    uint8_t op;
    uint8_t relation; /* of a comparison */
    bool inverted;    /* the comparison is true where the relation does not hold */
    uint8_t combine;
    uint8_t bits;        /* of the terms; 1 for predicates */
    uint8_t result_bits; /* of the result */
    bool is_signed;
    uint8_t count; /* of terms */
    uint32_t name; /* the opcode, of one that is opaque */
    struct pdl_term terms[PDL_FORMULA_TERMS];
};

struct pdl_type {
    uint8_t bits; /* 0: no integer or predicate; 1: a predicate */
    bool is_signed;
};

/* The type that ends an opcode. */
struct pdl_type pdl_type_of(const struct pdl_name *name);

/* A number as one of a type. */
int64_t pdl_type_number(struct pdl_type type, int64_t value);

/* The formula of an instruction's `element`-th result. */
struct pdl_formula pdl_formula_read(const struct pdl_ptx_module *module,
                                    const struct pdl_body *body,
                                    const struct pdl_instruction *instruction, unsigned element);

/* The values that a register of so many bits can have; only predicates have no sign. */
struct pdl_range pdl_formula_type(unsigned bits);

/* The bits of one of the terms. */
unsigned pdl_formula_term_bits(const struct pdl_formula *formula, unsigned term);

/* The values of a term that is this number. */
struct pdl_range pdl_formula_number(const struct pdl_formula *formula, unsigned term,
                                    int64_t value);

/* The values of the result. `equal`: the first two terms have one value, whatever it is. */
struct pdl_range pdl_formula_result(const struct pdl_formula *formula,
                                    const struct pdl_range *terms, bool equal);

/* Takes from the terms' values those that cannot give the result; false if none is left. */
bool pdl_formula_refine(const struct pdl_formula *formula, const struct pdl_range *result,
                        struct pdl_range *terms, bool equal);

#endif /* PDL_INSPECT_FORMULAS_H */
