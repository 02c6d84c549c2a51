/* SPDX-License-Identifier: MIT */
/* What the machine code of kernels does before it waits, and what their PTX says of the same places. */
#ifndef PDL_INSPECT_MACHINE_H
#define PDL_INSPECT_MACHINE_H

#include <stdbool.h>

#include <pdl/inspect.h>

/* An instruction that accesses global memory, and that a thread may come to before it waits. */
struct pdl_machine_access {
    uint64_t at; /* in the code of its section */
    uint32_t section;
    uint32_t ptx_line; /* that it was made from; 0 if not known */
    bool write;
    bool generic; /* the address may be one of shared or local memory */
    bool non_coherent;
    uint32_t place_count; /* 0 without line information */
    const pdl_inspect_place *const *places;
};

/* By section and address, for qsort(). */
static inline int pdl_machine_access_order(const struct pdl_machine_access *a,
                                           const struct pdl_machine_access *b)
{
    return a->section != b->section ? (a->section > b->section) - (a->section < b->section)
                                    : (a->at > b->at) - (a->at < b->at);
}

/* A kernel of machine code that waits. */
struct pdl_machine {
    struct pdl_machine_access *accesses; /* by section and address */
    uint32_t count;
    uint32_t kernel; /* in the inspection */
    const char
        *lost; /* why not all paths were followed, such as "an indirect branch"; NULL if all were */
    uint64_t lost_at;
    bool
        leaves; /* threads leave before the wait by their index or their block's; all others wait first */
    bool unordered; /* there may be accesses that the wait does not order */
};

/* An access to global memory in PTX, for comparison. */
struct pdl_noted_access {
    uint32_t line; /* in the PTX */
    uint8_t non_coherent;
    uint8_t early; /* nobody has waited, on some path */
    uint8_t table; /* a load from a table that nobody writes: no matter where */
    uint32_t place_count;
    const pdl_inspect_place *const *places;
};

/* A kernel in PTX that waits. */
struct pdl_noted {
    struct pdl_noted_access *accesses;
    size_t capacity; /* while they are noted */
    uint32_t count;
    uint32_t kernel;  /* in the inspection */
    bool other_early; /* there may be accesses before the wait that are not listed */
    bool tables;      /* some are loads from tables */
};

#endif /* PDL_INSPECT_MACHINE_H */
