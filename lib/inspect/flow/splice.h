/* SPDX-License-Identifier: MIT */
/* Small functions that decide who waits, put in place of their calls. */
#ifndef PDL_INSPECT_SPLICE_H
#define PDL_INSPECT_SPLICE_H

#include "inspect/ptx/body.h"

#define PDL_SPLICE_SPECIALS 64

/* What is kept from one body to the next. */
struct pdl_splice {
    struct pdl_body callee;
    struct pdl_instruction *instructions;
    uint32_t *moved;   /* by instruction of the body: where it is in `instructions` */
    uint32_t *symbols; /* by symbol of the callee: its symbol in the body */
    uint32_t *cells;   /* by symbol of the body: the first of its cells, + 1 */
    struct pdl_cell *parts;
    uint32_t count, part_count, special_count;
    uint32_t specials[PDL_SPLICE_SPECIALS]; /* symbols of special registers in the body */
    uint64_t bytes;                         /* of the functions that were put in place of calls */
    size_t instruction_capacity, moved_capacity, symbol_capacity, cell_capacity, part_capacity;
};

/* Puts functions in place of their calls where a branch in them leads around the wait, and where they do
 * nothing but wait, trigger and meet at barriers. The body's calls have their summaries. True if there
 * was one. */
bool pdl_splice(struct pdl_splice *splice, struct pdl_ptx_module *module, struct pdl_body *body);

#endif /* PDL_INSPECT_SPLICE_H */
