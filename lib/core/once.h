/* SPDX-License-Identifier: MIT */
/* A table of a foreign library's calls, loaded on first use: the first outcome, a failure too, is every
 * later one's. For libpdl and for libpdl-rtc: it needs nothing of either but pdl_error_record(). */
#ifndef PDL_LIB_ONCE_H
#define PDL_LIB_ONCE_H

#include <stdatomic.h>
#include <stdbool.h>

#include <pdl/pdl.h>

#include "os/lock.h"

/* What the first use came to. The lock is held while loading and to read a failure. */
struct pdl_once {
    struct pdl_lock lock;
    _Atomic(const void *) table; /* NULL: not loaded */
    pdl_error error;
    bool failed;
};
#define PDL_ONCE_INIT                                                                              \
    {                                                                                              \
        .failed = false                                                                            \
    }

/* Gives the table; loads it into `room` if nobody has tried before. On failure the thread's error is set,
 * and *table is not written. */
static inline pdl_status pdl_once_get(struct pdl_once *once, pdl_status (*load)(void *room),
                                      void *room, const void **table)
{
    const void *known = atomic_load_explicit(&once->table, memory_order_acquire);
    pdl_status status = PDL_SUCCESS;
    if (known == NULL) {
        pdl_lock_take(&once->lock);
        known = atomic_load_explicit(&once->table, memory_order_relaxed);
        if (known == NULL && once->failed) {
            status = pdl_error_record(&once->error);
        } else if (known == NULL) {
            status = load(room);
            if (status == PDL_SUCCESS) {
                known = room;
                atomic_store_explicit(&once->table, known, memory_order_release);
            } else {
                once->error = *pdl_last_error();
                once->failed = true;
            }
        }
        pdl_lock_release(&once->lock);
    }
    if (status == PDL_SUCCESS) {
        *table = known;
    }
    return status;
}

/* For tests: gives this table from now on (NULL: loads again). No other thread may be in the library. */
static inline void pdl_once_override(struct pdl_once *once, const void *table)
{
    atomic_store_explicit(&once->table, table, memory_order_release);
    once->failed = false;
}

#endif /* PDL_LIB_ONCE_H */
