/* SPDX-License-Identifier: MIT */
/* Locks that a fork does not leave locked: while one thread forks, another one may hold them, and in
 * the child there is nobody to release them. What they guard is published by its last write, so that
 * a child finds either all of it or none. */
#ifndef PDL_LIB_LOCK_H
#define PDL_LIB_LOCK_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

/* All zero is a lock that nobody holds. */
struct pdl_lock {
    pthread_mutex_t mutex;
    atomic_int process; /* in which the mutex is valid; negative: in which it is being made */
};

static inline void pdl_lock_take(struct pdl_lock *lock)
{
    const int self = (int)getpid();
    int known = atomic_load_explicit(&lock->process, memory_order_acquire);
    while (known != self) {
        if (known == -self) {
            (void)sched_yield();
            known = atomic_load_explicit(&lock->process, memory_order_acquire);
        } else if (atomic_compare_exchange_strong(&lock->process, &known, -self)) {
            (void)pthread_mutex_init(&lock->mutex, NULL);
            atomic_store_explicit(&lock->process, self, memory_order_release);
            known = self;
        }
    }
    (void)pthread_mutex_lock(&lock->mutex);
}

static inline void pdl_lock_release(struct pdl_lock *lock)
{
    (void)pthread_mutex_unlock(&lock->mutex);
}

#endif /* PDL_LIB_LOCK_H */
