/* SPDX-License-Identifier: MIT */
/* Virtual functions of unrelated classes, of which a call through an object of an unknown class may mean
 * any: their methods have other names. */
#ifndef PDL_INSPECT_METHODS_H
#define PDL_INSPECT_METHODS_H

#include "inspect/flow/summary.h"
#include "inspect/ptx/names.h"

#define PDL_METHODS_MAX 8

/* What the functions do whose method has one name. */
struct pdl_method {
    uint64_t key;
    uint64_t
        accesses; /* bit by parameter, the first 31, and for what is behind none; writes are 32 up */
    bool waits;
};

struct pdl_methods {
    struct pdl_method methods[PDL_METHODS_MAX];
    uint32_t count;
};

/* Notes what a candidate does. */
void pdl_methods_note(struct pdl_methods *methods, const struct pdl_name *function,
                      const struct pdl_summary *summary);

/* Takes out of the candidates' joined summary what only some of the methods do, and says that it is not
 * known then. */
void pdl_methods_settle(const struct pdl_methods *methods, struct pdl_summary *summary);

#endif /* PDL_INSPECT_METHODS_H */
