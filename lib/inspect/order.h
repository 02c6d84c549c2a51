/* SPDX-License-Identifier: MIT */
/* The order of machine code: what comes before the wait on some path. */
#ifndef PDL_INSPECT_ORDER_H
#define PDL_INSPECT_ORDER_H

#include "code/elf64.h"
#include "code/scan.h"
#include "inspect/machine.h"

/* Reads the order of a cubin's kernels. Opaque. */
struct pdl_order;

/* What was found in one kernel; valid until the next walk. */
struct pdl_order_found {
    struct pdl_machine_access *accesses; /* by section and address; without lines */
    uint32_t count;
    const char *lost; /* as of a pdl_machine */
    uint64_t lost_at;
    bool always; /* it waits on every path, and what it does before that is listed or harmless */
    bool
        leaves; /* the same, but for threads that leave before the wait by their index or their block's */
    bool unordered; /* there are accesses that a wait does not order, before it or behind it */
};

/* Begins with a cubin that was scanned and that stays. */
struct pdl_order *pdl_order_open(const struct pdl_cubin *cubin, const unsigned char *bytes,
                                 size_t size);

/* Walks through the code of a kernel. */
void pdl_order_walk(struct pdl_order *order, uint32_t code, struct pdl_order_found *found);

#endif /* PDL_INSPECT_ORDER_H */
