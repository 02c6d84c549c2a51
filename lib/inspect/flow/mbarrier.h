/* SPDX-License-Identifier: MIT */
/* Who arrives on which mbarrier, and who waits on it for what. */
#ifndef PDL_INSPECT_MBARRIER_H
#define PDL_INSPECT_MBARRIER_H

#include "inspect/flow/conditions.h"
#include "inspect/flow/shared.h"

enum pdl_mbarrier_kind {
    PDL_MBARRIER_WAIT,     /* for a parity */
    PDL_MBARRIER_TOKEN,    /* wait, for the phase of an own arrival */
    PDL_MBARRIER_ARRIVE,   /* counts as one of those that a phase needs */
    PDL_MBARRIER_COMPLETE, /* bytes that a phase needs */
    PDL_MBARRIER_INIT
};

/* Beside 0 and 1: not known, and of a wait that another one on the same mbarrier always comes before. */
enum { PDL_PARITY_UNKNOWN = 2, PDL_PARITY_LATER = 3 };

/* What a wait on an mbarrier does for a thread that went around the grid's wait. */
enum pdl_mbarrier_verdict { PDL_MBARRIER_NOTHING, PDL_MBARRIER_DOUBT, PDL_MBARRIER_ORDERS };

struct pdl_mbarrier_operation {
    uint32_t instruction; /* it, or the call of a function that has it */
    const struct pdl_operand
        *wanted;      /* the parity that is waited for; NULL: not known, or constant */
    uint8_t constant; /* that, PDL_PARITY_UNKNOWN if it is none */
    uint8_t states;   /* of a function that is called, entered unwaited */
    uint8_t kind;
    uint8_t verdict; /* of a wait: pdl_mbarrier_verdict */
    uint8_t why;     /* pdl_barrier_why */
    uint8_t parity;  /* of the first wait: 0, 1, PDL_PARITY_… */
    bool relaxed;    /* it orders nothing */
    bool used;       /* of a wait: its result decides something */
    bool on_edge;    /* by a branch that is known */
    bool met;       /* by threads that went around the grid's wait: only they ask for the verdict */
    uint32_t place; /* in places: the mbarriers it may be on */
};

/* An operation of a function, for its callers. */
struct pdl_mbarrier_use {
    uint8_t kind;
    uint8_t constant;  /* the parity, or PDL_PARITY_UNKNOWN */
    bool relaxed;      /* it orders nothing */
    uint8_t states;    /* PDL_STATE_… that it is come to in, entered unwaited */
    uint32_t argument; /* the parameter that is the parity, or PDL_NONE */
    struct pdl_shared address;
};

/* More in one function are not told apart. */
#define PDL_MBARRIER_USES 16u

/* More different addresses in one body are not told apart. */
#define PDL_MBARRIER_PLACES 64

struct pdl_mbarrier_place {
    struct pdl_shared address;
    uint64_t exact, may; /* bit by place: on the same mbarrier, or possibly */
    bool judged;         /* the parities of its waits are known, as far as they can be */
    bool counts_one;     /* one arrival completes its phases */
};

struct pdl_mbarriers {
    struct pdl_mbarrier_operation *operations; /* by instruction */
    uint32_t *edge_of; /* by block: the wait, + 1, that its branch goes by; 0: none */
    uint8_t *success;  /* by block: the edge for a wait that succeeded */
    uint32_t *
        around; /* by block: the wait, + 1, that its branch leads around if there is nothing to do */
    uint8_t *none; /* by block: the edge for that */
    uint32_t count;
    size_t capacity, edge_capacity, success_capacity, around_capacity, none_capacity;
    struct pdl_mbarrier_place places[PDL_MBARRIER_PLACES];
    uint32_t place_count;
    bool waits;
    struct pdl_conditions conditions; /* on the paths to the first waits (first.c) */
};

#endif /* PDL_INSPECT_MBARRIER_H */
