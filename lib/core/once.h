/* SPDX-License-Identifier: MIT */
/* A table of a foreign library's calls, loaded on first use: the first outcome, a failure too, is every
 * later one's. For libpdl and for libpdl-rtc: it needs nothing of either but pdl_error_record(). */
#ifndef PDL_LIB_ONCE_H
#define PDL_LIB_ONCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include <pdl/pdl.h>

#include "os/lock.h"

/* What the first use came to; all zero: there was none. The lock is not held while loading: what the loader runs then may use this
 * library, and wait for a thread that waits for the loader. */
struct pdl_once {
    struct pdl_lock lock;
    _Atomic(const void *) table; /* NULL: not loaded */
    atomic_bool failed;
    pdl_error error;
};

/* Gives the table. Until there is an outcome each caller loads into its own `fresh`, and the first one's is copied
 * into `room`. On failure the thread's error is set, and *table is not written. */
static inline pdl_status pdl_once_get(struct pdl_once *once, pdl_status (*load)(void *fresh),
                                      void *fresh, void *room, size_t size, const void **table)
{
    const void *known = atomic_load_explicit(&once->table, memory_order_acquire);
    pdl_status status = PDL_SUCCESS;
    if (known == NULL && !atomic_load_explicit(&once->failed, memory_order_acquire)) {
        status = load(fresh);
        pdl_lock_take(&once->lock);
        known = atomic_load_explicit(&once->table, memory_order_relaxed);
        if (known == NULL && !atomic_load_explicit(&once->failed, memory_order_relaxed)) {
            if (status == PDL_SUCCESS) {
                memcpy(room, fresh, size);
                known = room;
                atomic_store_explicit(&once->table, known, memory_order_release);
            } else {
                once->error = *pdl_last_error();
                atomic_store_explicit(&once->failed, true, memory_order_release);
            }
        }
        pdl_lock_release(&once->lock);
    }
    if (known == NULL && status == PDL_SUCCESS) {
        status = pdl_error_record(&once->error);
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
    atomic_store_explicit(&once->failed, false, memory_order_release);
}

#endif /* PDL_LIB_ONCE_H */
