/* SPDX-License-Identifier: MIT */
/* A cache: the kernels of the process, and two folders. */
#ifndef PDL_RTC_CACHE_H
#define PDL_RTC_CACHE_H

#include <stdatomic.h>

#include "os/lock.h"
#include "rtc/cache/flight.h"
#include "rtc/cache/memory.h"
#include "rtc/cache/store.h"

enum pdl_rtc_counter {
    PDL_RTC_MEMORY_HITS,
    PDL_RTC_MEMORY_HIT_NS,
    PDL_RTC_DISK_HITS,
    PDL_RTC_SHIPPED_HITS,
    PDL_RTC_DISK_HIT_NS,
    PDL_RTC_MISSES,
    PDL_RTC_COMPILE_NS,
    PDL_RTC_WAITS,
    PDL_RTC_FAILURES,
    PDL_RTC_DAMAGED,
    PDL_RTC_STORED,
    PDL_RTC_STORE_FAILURES,
    PDL_RTC_EVICTED,
    PDL_RTC_COUNTERS
};

enum { PDL_RTC_COUNTER_LINES = 16 };

/* Threads count in lines of their own, so that hits don't pass one between the processors. */
struct pdl_rtc_counter_line {
    _Alignas(128) atomic_uint_fast64_t counters[PDL_RTC_COUNTERS];
};

struct pdl_rtc_cache {
    struct pdl_rtc_counter_line lines[PDL_RTC_COUNTER_LINES];
    struct pdl_rtc_memory *memory;
    struct pdl_rtc_flights *flights;
    struct pdl_rtc_store *store;   /* NULL: none */
    struct pdl_rtc_store *shipped; /* NULL: none */
    bool writes;                   /* the store is written to */
    struct pdl_lock lock;          /* of `problem` */
    char problem[256];
};

void pdl_rtc_cache_count(struct pdl_rtc_cache *cache, enum pdl_rtc_counter counter, uint64_t by);
__attribute__((format(printf, 2, 3))) void pdl_rtc_cache_problem(struct pdl_rtc_cache *cache,
                                                                 const char *format, ...);

/* The default cache for NULL. */
pdl_status pdl_rtc_cache_get(pdl_rtc_cache **cache);

#endif /* PDL_RTC_CACHE_H */
