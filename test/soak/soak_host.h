/* SPDX-License-Identifier: MIT */
/* What the parts of soak_host share. */
#ifndef PDL_TEST_SOAK_HOST_H
#define PDL_TEST_SOAK_HOST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <pdl/rtc.h>

#include "soak.h"

/* The fake driver's calls of soak.h, found in the libcuda.so.1 that is loaded. */
struct fake {
    __typeof__(mock_fail_randomly) *fail_randomly;
    __typeof__(mock_failures) *failures;
    __typeof__(mock_count_live) *count_live;
    __typeof__(mock_take_misuse) *take_misuse;
    __typeof__(mock_watch) *watch;
    __typeof__(mock_checksum) *checksum;
};
extern struct fake fake;

/* One of the threads. What it makes is its own. */
struct worker {
    uint64_t state; /* of draw() */
    unsigned number;
    atomic_ulong steps;
    const char *doing; /* the last step */
    struct driver_objects *driver;
    unsigned words;              /* of the header that this thread changes */
    const pdl_kernel *of_header; /* the last kernel that included it; NULL: none of this cache */
};

/* A number below `below`. */
unsigned draw(struct worker *worker, unsigned below);

/* Ends the soak: something was wrong. */
_Noreturn void fault(const struct worker *worker, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Counts of what happened, by all threads. */
#define SOAK_COUNTS(X)                                                                             \
    X(launches)                                                                                    \
    X(replays)                                                                                     \
    X(builds)                                                                                      \
    X(nodes)                                                                                       \
    X(kernels)                                                                                     \
    X(queries)                                                                                     \
    X(refused)                                                                                     \
    X(failed_calls)                                                                                \
    X(compiled)                                                                                    \
    X(changed_headers)                                                                             \
    X(loaded)                                                                                      \
    X(forks)                                                                                       \
    X(stopped)                                                                                     \
    X(killed)                                                                                      \
    X(clock_jumps)                                                                                 \
    X(damaged)

struct soak_counts {
#define SOAK_MEMBER_(name) atomic_ulong name;
    SOAK_COUNTS(SOAK_MEMBER_)
#undef SOAK_MEMBER_
};
extern struct soak_counts counts;

/* soak_driver.c: kernels, launches, chains, graphs and queries on the fake driver. */
void driver_start(void);
void driver_join(struct worker *worker); /* on the worker's thread, before its first step */
void driver_step(struct worker *worker);
void driver_clear(struct worker *worker); /* destroys all that the worker has */

/* soak_cache.c: one folder of libpdl-rtc's cache, which other processes use, damage and trim. */
void cache_start(const char *folder);
void cache_open(void);
void cache_close(void);
void cache_step(struct worker *worker);
int cache_child(struct worker *worker); /* in a child of fork(): its exit code */
void cache_harm(struct worker *worker); /* damages, removes and ages files */

#endif /* PDL_TEST_SOAK_HOST_H */
