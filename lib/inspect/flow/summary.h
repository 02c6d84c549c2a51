/* SPDX-License-Identifier: MIT */
/* What a function does to its callers: the result of the analysis of its body. */
#ifndef PDL_INSPECT_SUMMARY_H
#define PDL_INSPECT_SUMMARY_H

#include <pdl/inspect.h>

#include "inspect/flow/phases.h"
#include "inspect/flow/value.h"

/* What threads can have done when they come to an instruction. */
enum {
    PDL_STATE_UNWAITED = 1, /* they have not waited, and no branch has decided that they will not */
    PDL_STATE_DECIDED = 2,  /* a branch led around the wait that its other way executes */
    PDL_STATE_MBARRIER = 4, /* the same, and then they waited on an mbarrier */
    PDL_STATE_BARRIER = 8,  /* the same, and then they passed a barrier with those that waited */
    PDL_STATE_WAITED = 16,
    PDL_STATE_CALLED = 32, /* they have not waited, unless code that is not here did it for them */
    PDL_STATE_NOT_WAITED = PDL_STATE_UNWAITED | PDL_STATE_DECIDED | PDL_STATE_MBARRIER |
                           PDL_STATE_BARRIER | PDL_STATE_CALLED
};

/* Between what a branch that leads around a wait decides, from the least to the most. */
enum pdl_divergence {
    PDL_DIVERGENCE_NONE,   /* all threads of the grid go the same way */
    PDL_DIVERGENCE_BLOCK,  /* all threads of a block do */
    PDL_DIVERGENCE_CALLER, /* it depends on the function's parameters: its callers tell */
    PDL_DIVERGENCE_THREAD  /* threads of a block may go different ways */
};

enum pdl_effect_kind {
    PDL_EFFECT_READ,
    PDL_EFFECT_WRITE,
    PDL_EFFECT_UNKNOWN_CALL, /* of what cannot be read */
    PDL_EFFECT_GUESSED_CALL, /* of one of those in the module, or of what cannot be read */
    PDL_EFFECT_CUT_CALL      /* of a function with more effects than are kept */
};

/* An access, of one place in the source and one address, that a function makes. */
struct pdl_effect {
    uint8_t kind;       /* pdl_effect_kind */
    uint8_t states;     /* that it is reached in, entered unwaited */
    uint8_t divergence; /* of the branch that decided */
    bool non_coherent;
    bool waits_later;         /* every path from it to the function's end waits */
    bool copies;              /* it accesses global memory wherever its address is: a tensor map */
    struct pdl_value address; /* its parameters are the function's */
    uint32_t name;            /* the opcode, or of what is called */
    uint32_t line, column;
    uint32_t count;        /* of instructions */
    uint8_t why;           /* pdl_barrier_why */
    uint32_t barrier_line; /* in the source, of the barrier that does not order; 0: not known */
    uint64_t phases;       /* of barriers completed since the function's entry, at least */
    uint32_t place_count;
    const pdl_inspect_place *const *places; /* in the inspection's arena */
};

#define PDL_SUMMARY_EFFECTS 128

struct pdl_mbarrier_use;

struct pdl_summary {
    uint8_t out;        /* states at its end, entered unwaited; 0: it does not return */
    uint8_t divergence; /* of the branch that decided, where `out` has more than one state */
    uint8_t depends;    /* what that one's condition depends on */
    uint8_t sure;       /* PDL_SURE_…: such a thread waits in it */
    bool relaxed;       /* some arrivals at the cluster's barrier order nothing */
    bool waits;         /* some path of it does */
    bool triggers;
    bool triggers_always;
    bool triggers_unwaited; /* before a wait, entered unwaited */
    bool barriers;          /* it has a barrier of the block */
    bool exits;             /* some path of its own ends the kernel */
    uint64_t phases;        /* of barriers that it completes, at least */
    uint64_t arrivals;      /* at barriers, at most */
    uint64_t ahead;         /* those before its wait, as barriers.c says */
    uint64_t need;          /* of threads that go around its wait */
    uint32_t meets;         /* bit by barrier that it arrives at */
    bool unknown;           /* it calls what cannot be read */
    bool touches;           /* it may access global memory, in whatever state */
    bool cut;               /* it has more effects than are kept */
    struct pdl_mbarrier_use *uses;
    uint32_t use_count;
    uint32_t unknown_name; /* of the first that cannot be read; PDL_NONE through a pointer */
    uint64_t parameters;   /* bit by number, the first 64: those that decide what it does */
    struct pdl_value result;
    struct pdl_effect *effects;
    uint32_t effect_count;
};

#endif /* PDL_INSPECT_SUMMARY_H */
