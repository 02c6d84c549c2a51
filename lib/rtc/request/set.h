/* SPDX-License-Identifier: MIT */
/* A set of hashes, each with a number. All zero is an empty one. */
#ifndef PDL_RTC_SET_H
#define PDL_RTC_SET_H

#include "rtc/hash.h"

struct pdl_rtc_set {
    struct pdl_rtc_set_slot {
        struct pdl_rtc_hash key; /* all zero: free */
        size_t value;
    } * slots;
    size_t capacity, count; /* a power of two */
    bool no_memory;         /* something was not added */
};

/* Whether it is new. One that is there keeps its number. */
bool pdl_rtc_set_add(struct pdl_rtc_set *set, struct pdl_rtc_hash key, size_t value);
/* Its number; NULL if it is not there. */
const size_t *pdl_rtc_set_find(const struct pdl_rtc_set *set, struct pdl_rtc_hash key);
void pdl_rtc_set_free(struct pdl_rtc_set *set);

#endif /* PDL_RTC_SET_H */
