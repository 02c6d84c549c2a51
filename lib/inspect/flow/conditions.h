/* SPDX-License-Identifier: MIT */
/* What is known of a few registers on the paths on which nobody has waited yet, so that
 * `if (first) { wait; first = false; }` in a loop is seen through, and that those who read behind
 * `if (tid == 0)` are among those who waited behind `if (tid < 32)`. */
#ifndef PDL_INSPECT_CONDITIONS_H
#define PDL_INSPECT_CONDITIONS_H

#include <string.h>

#include "inspect/flow/cfg.h"
#include "inspect/flow/formulas.h"
#include "inspect/flow/values.h"

#define PDL_TRACKED_MAX 62

/* What is known of a tracked register. */
struct pdl_fact {
    struct pdl_range range;
    uint32_t same; /* the tracked register that it is a copy of, + 1; or 0 */
};

/* The tracked registers at a point. */
struct pdl_tracked {
    uint64_t set;   /* bit by register: some path sets it */
    uint64_t fresh; /* bit by register: its formula holds, its terms are as they were */
    struct pdl_fact facts[PDL_TRACKED_MAX];
};

/* A result of an instruction that is a tracked register, and may change. */
struct pdl_definition {
    uint32_t instruction;
    uint32_t number; /* of the register */
    struct pdl_formula formula;
};

struct pdl_conditions {
    const struct pdl_ptx_module *module;
    const struct pdl_body *body;
    const struct pdl_cfg *cfg;
    const struct pdl_values *values;
    uint8_t *tracked;       /* by symbol: register + 1, or 0; and whether it is the opposite */
    struct pdl_fact *facts; /* by block, and by register in it: at its beginning */
    uint64_t *set, *fresh;  /* by block */
    uint8_t *joins;         /* by block: how often what is known changed */
    bool settled;           /* the flow has found all that is known at the blocks */
    bool both;              /* behind those of all blocks are those of threads that have waited */
    size_t tracked_capacity, fact_capacity, set_capacity, fresh_capacity, join_capacity;
    uint32_t symbols[PDL_TRACKED_MAX];
    struct pdl_formula formulas[PDL_TRACKED_MAX]; /* of registers with one definition */
    uint64_t users[PDL_TRACKED_MAX];              /* bit by register: it is a term of theirs */
    uint64_t invariant;              /* bit by register: of a thread it has one value throughout */
    uint64_t parts[PDL_TRACKED_MAX]; /* bit by register: it is a term of theirs */
    struct pdl_definition *definitions; /* in the order of the instructions */
    size_t definition_capacity;
    uint32_t definition_count;
    struct pdl_tracked entry;
    uint32_t count, limit;
};

/* Starts with nothing tracked. The arrays are used again. */
void pdl_conditions_start(struct pdl_conditions *conditions, const struct pdl_ptx_module *module,
                          const struct pdl_body *body, const struct pdl_cfg *cfg,
                          const struct pdl_values *values);

/* Tracks a register and those that its value is made of. */
void pdl_conditions_track(struct pdl_conditions *conditions, uint32_t symbol);

/* Tracks a register if its value is made of one that is tracked. */
void pdl_conditions_track_related(struct pdl_conditions *conditions, uint32_t symbol);

/* Makes room for what is known at each block, of threads that have waited too if `both`, and finds what
 * is known at the body's entry, after the last register was added. */
void pdl_conditions_ready(struct pdl_conditions *conditions, bool both);

/* Forgets what is known at the blocks, but not at the entry. */
void pdl_conditions_again(struct pdl_conditions *conditions);

/* Says that a predicate has a value wherever it is the same for a thread throughout; before the flow
 * runs. False if it is not, or if that contradicts what is known. */
bool pdl_conditions_know(struct pdl_conditions *conditions, uint32_t symbol, bool value);

/* Whether a register has the same value throughout, of a thread. */
bool pdl_conditions_is_invariant(const struct pdl_conditions *conditions, uint32_t symbol);

/* The number of a block for threads that have waited, which know other things there; only if `both`. */
static inline uint32_t pdl_conditions_waited(const struct pdl_conditions *conditions,
                                             uint32_t block)
{
    return conditions->cfg->block_count + block;
}

/* Copies what is known of what is tracked. */
static inline void pdl_tracked_copy(const struct pdl_conditions *conditions, struct pdl_tracked *to,
                                    const struct pdl_tracked *from)
{
    to->set = from->set;
    to->fresh = from->fresh;
    memcpy(to->facts, from->facts, conditions->count * sizeof(*to->facts));
}

/* What is known at the beginning of a block, and behind it. */
void pdl_conditions_at(const struct pdl_conditions *conditions, uint32_t block,
                       struct pdl_tracked *known);
void pdl_conditions_behind(const struct pdl_conditions *conditions, uint32_t block,
                           struct pdl_tracked *known);

/* Takes what is known over instructions that follow one another in a block. */
void pdl_conditions_step(const struct pdl_conditions *conditions, uint32_t first, uint32_t count,
                         struct pdl_tracked *known);

/* Adds what is known of a symbol where a branch on it was taken; false if nobody can take it. */
bool pdl_conditions_assume(const struct pdl_conditions *conditions, struct pdl_tracked *known,
                           uint32_t symbol, int64_t value);

/* The same, of what may not be changed: *known if that says nothing new, or a copy in *room; NULL. */
const struct pdl_tracked *pdl_conditions_given(const struct pdl_conditions *conditions,
                                               const struct pdl_tracked *known, uint32_t symbol,
                                               int64_t value, struct pdl_tracked *room);

/* Adds what is known where an edge of a block was taken, or its guarded ret, which is one edge more, as
 * pdl_conditions_given() does; NULL if nobody can take it. */
const struct pdl_tracked *pdl_conditions_take(const struct pdl_conditions *conditions,
                                              uint32_t block, uint32_t edge,
                                              const struct pdl_tracked *known,
                                              struct pdl_tracked *room);

/* Joins what is known on one more way to a block; true if that changed it. */
bool pdl_conditions_join(struct pdl_conditions *conditions, uint32_t block,
                         const struct pdl_tracked *from);

/* The formula of a register that one instruction defines. */
struct pdl_formula pdl_conditions_formula(const struct pdl_conditions *conditions, uint32_t symbol);

/* The values that a symbol can have. */
struct pdl_range pdl_conditions_range(const struct pdl_conditions *conditions,
                                      const struct pdl_tracked *known, uint32_t symbol);

/* ---- between what is tracked (tracking.c) and what is known of it (conditions.c) ------------------- */

/* In tracked[]: the symbol is a predicate, and the opposite of the register's. */
#define PDL_TRACKED_NEGATED 0x80u

static inline uint64_t pdl_tracked_bit(uint32_t number)
{
    return UINT64_C(1) << number;
}

/* The number of a tracked symbol, + 1; 0 if it is not. */
static inline uint32_t pdl_tracked_number(const struct pdl_conditions *conditions, uint32_t symbol)
{
    return symbol == PDL_NONE ? 0 : conditions->tracked[symbol] & ~PDL_TRACKED_NEGATED;
}

/* Addresses of parameters and variables: they stand for themselves in formulas. */
static inline bool pdl_tracked_is_address(const struct pdl_conditions *conditions, uint32_t symbol)
{
    const struct pdl_symbol *at = &conditions->body->symbols[symbol];
    return at->kind == PDL_SYMBOL_VARIABLE || at->kind == PDL_SYMBOL_FUNCTION ||
           (at->kind == PDL_SYMBOL_PARAMETER && at->space == PDL_SPACE_PARAM);
}

/* Whether a symbol's name begins with a word. */
bool pdl_tracked_is_name(const struct pdl_conditions *conditions, uint32_t symbol,
                         const char *word);

#endif /* PDL_INSPECT_CONDITIONS_H */
