/* SPDX-License-Identifier: MIT */
/* The phases of barriers. A barrier orders a thread that goes around the wait behind those that wait if
 * they have waited before they arrive in the phase that it completes. Both are counted from the branch
 * at which they part: how often those who wait arrive before their wait, and which phase the thread has
 * come to. Counts of all barriers are packed into one word. */
#ifndef PDL_INSPECT_PHASES_H
#define PDL_INSPECT_PHASES_H

#include <stdbool.h>
#include <stdint.h>

/* A barrier of the block by its number, 0 to 15, or one of these. */
enum {
    PDL_MEET_NUMBERS = 16,
    PDL_MEET_CLUSTER = 16, /* barrier.cluster */
    PDL_MEET_WARP,         /* bar.warp.sync of all lanes */
    PDL_MEET_MEMORY,       /* any mbarrier: only whether it may order at all */
    PDL_MEETS
};

/* Of a thread that has gone around the wait, for each barrier: in how many phases, this one included, it
 * is ordered. 0: it is, or there is no such thread. */
enum {
    PDL_NEED_MANY = 6, /* or more, or it depends */
    PDL_NEED_NEVER = 7 /* nobody who waits arrives there, or too far away */
};

/* Those of all barriers: never. */
#define PDL_NEEDS_NEVER ((UINT64_C(1) << 3 * PDL_MEETS) - 1)

/* Why a barrier that a thread passed does not order it. */
enum pdl_barrier_why {
    PDL_BARRIER_NONE_PASSED,
    PDL_BARRIER_TOO_EARLY, /* those who wait arrive before they have waited */
    PDL_BARRIER_NOBODY,    /* no thread that has waited arrives there */
    PDL_BARRIER_PASSES,    /* the first wait on it returns at once */
    PDL_BARRIER_PREFILLED  /* those who wait complete its first phase before they wait */
};

static inline unsigned pdl_count_at(uint64_t counts, unsigned meet)
{
    return (unsigned)(counts >> 3 * meet) & 7u;
}

static inline uint64_t pdl_count_set(uint64_t counts, unsigned meet, unsigned count)
{
    return (counts & ~(UINT64_C(7) << 3 * meet)) | (uint64_t)count << 3 * meet;
}

static inline uint64_t pdl_counts_most(uint64_t a, uint64_t b)
{
    for (unsigned i = 0; i < PDL_MEETS && a != b; i++) {
        if (pdl_count_at(b, i) > pdl_count_at(a, i)) {
            a = pdl_count_set(a, i, pdl_count_at(b, i));
        }
    }
    return a;
}

static inline uint64_t pdl_counts_least(uint64_t a, uint64_t b)
{
    for (unsigned i = 0; i < PDL_MEETS && a != b; i++) {
        if (pdl_count_at(b, i) < pdl_count_at(a, i)) {
            a = pdl_count_set(a, i, pdl_count_at(b, i));
        }
    }
    return a;
}

#endif /* PDL_INSPECT_PHASES_H */
