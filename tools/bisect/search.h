/* SPDX-License-Identifier: MIT */
/* The smallest set of things with which a test fails. Knows nothing of processes. */
#ifndef PDL_TOOLS_BISECT_SEARCH_H
#define PDL_TOOLS_BISECT_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum search_verdict {
    SEARCH_PASSES,
    SEARCH_FAILS,
    SEARCH_SKIPPED, /* the test cannot tell */
    SEARCH_STOPPED  /* nothing more is to be tested */
};

/* What is searched, by numbers from 0 to count - 1, in the order that they are to be suspected in. */
struct search {
    uint32_t count;
    uint32_t likely; /* the first so many are likelier than the others; 0: none is */
    uint32_t most; /* the search ends when as many are found that fail only together; 0: no limit */
    /* Tests a set, in rising order. About `left` tests follow. The same set may be tested again. */
    enum search_verdict (*test)(void *context, const uint32_t *set, uint32_t count, uint32_t left);
    void *context;
};

/* Zeroed, it is empty. */
struct search_result {
    uint32_t *items;  /* in rising order */
    bool *unresolved; /* of each: the test could not tell whether it fails without it */
    uint32_t count;
    uint32_t tests;
    bool complete; /* false: `most` ended the search, and a smaller set may fail */
};

/* Searches, given that all together fail and that none passes. The test has failed with the result; without any one of it,
 * it has passed or could not tell. For one culprit log2(count) + 1 tests, for each further one that fails only together
 * with it about as many again. False where a test answered SEARCH_STOPPED. */
bool search_smallest(const struct search *search, struct search_result *result);
void search_result_free(struct search_result *result);

/* log2, rounded up. */
uint32_t search_log2(uint32_t number);

#endif /* PDL_TOOLS_BISECT_SEARCH_H */
