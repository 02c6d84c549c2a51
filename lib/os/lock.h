/* SPDX-License-Identifier: MIT */
/* Locks that a fork does not leave locked: while one thread forks, another one may hold them, and in
 * the child there is nobody to release them. What they guard is published by its last write, so that
 * a child finds either all of it or none. */
#ifndef PDL_LIB_LOCK_H
#define PDL_LIB_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* All zero is a lock that nobody holds. */
struct pdl_lock {
    union {
        uint64_t align;
        unsigned char room[48];
    } mutex;            /* the operating system's own */
    atomic_int process; /* in which the mutex is valid; negative: in which it is being made */
};

void pdl_lock_take(struct pdl_lock *lock);
void pdl_lock_release(struct pdl_lock *lock);

/* What is done once, by the first that comes, under the lock. All zero: not yet. */
struct pdl_first {
    struct pdl_lock lock;
    atomic_bool done;
};

static inline void pdl_first_run(struct pdl_first *first, void (*run)(void))
{
    if (!atomic_load_explicit(&first->done, memory_order_acquire)) {
        pdl_lock_take(&first->lock);
        if (!atomic_load_explicit(&first->done, memory_order_relaxed)) {
            run();
            atomic_store_explicit(&first->done, true, memory_order_release);
        }
        pdl_lock_release(&first->lock);
    }
}

/* The same for what may run foreign code, as loading a library does: each caller that does not find it done does it
 * by itself, without the lock, and the first one's result is copied to where it stays. */
static inline bool pdl_first_is_done(struct pdl_first *first)
{
    return atomic_load_explicit(&first->done, memory_order_acquire);
}

static inline void pdl_first_publish(struct pdl_first *first, void *room, const void *result,
                                     size_t size)
{
    pdl_lock_take(&first->lock);
    if (!atomic_load_explicit(&first->done, memory_order_relaxed)) {
        memcpy(room, result, size);
        atomic_store_explicit(&first->done, true, memory_order_release);
    }
    pdl_lock_release(&first->lock);
}

#endif /* PDL_LIB_LOCK_H */
