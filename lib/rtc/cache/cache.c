/* SPDX-License-Identifier: MIT */
/* Making a cache, by its description or as the environment says, and its statistics. What it is for is in
 * serve.c. */
#include "rtc/cache/cache.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/path_text.h"
#include "core/sized.h"
#include "os/environment.h"
#include "rtc/directory.h"

/* ------------------------------------------------------------------------------------------------
 * Statistics
 * ---------------------------------------------------------------------------------------------- */

void pdl_rtc_cache_count(struct pdl_rtc_cache *cache, enum pdl_rtc_counter counter, uint64_t by)
{
    static atomic_uint threads;
    static _Thread_local unsigned line; /* from 1 */
    if (line == 0) {
        line =
            atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) % PDL_RTC_COUNTER_LINES +
            1;
    }
    (void)atomic_fetch_add_explicit(&cache->lines[line - 1].counters[counter], by,
                                    memory_order_relaxed);
}

static uint64_t sum(pdl_rtc_cache *cache, enum pdl_rtc_counter counter)
{
    uint64_t total = 0;
    for (size_t i = 0; i < PDL_RTC_COUNTER_LINES; i++) {
        total += atomic_load_explicit(&cache->lines[i].counters[counter], memory_order_relaxed);
    }
    return total;
}

void pdl_rtc_cache_problem(struct pdl_rtc_cache *cache, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pdl_lock_take(&cache->lock);
    (void)vsnprintf(cache->problem, sizeof(cache->problem), format, arguments);
    pdl_lock_release(&cache->lock);
    va_end(arguments);
}

pdl_status pdl_rtc_cache_stats(pdl_rtc_cache *cache, pdl_rtc_stats *stats)
{
    pdl_status status = pdl_sized_check(stats, "stats");
    if (status == PDL_SUCCESS) {
        status = pdl_rtc_cache_get(&cache);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    pdl_rtc_stats now = {.kernels = pdl_rtc_flights_kernels(cache->flights),
                         .memory_hits = sum(cache, PDL_RTC_MEMORY_HITS),
                         .disk_hits = sum(cache, PDL_RTC_DISK_HITS),
                         .shipped_hits = sum(cache, PDL_RTC_SHIPPED_HITS),
                         .misses = sum(cache, PDL_RTC_MISSES),
                         .waits = sum(cache, PDL_RTC_WAITS),
                         .failures = sum(cache, PDL_RTC_FAILURES),
                         .damaged = sum(cache, PDL_RTC_DAMAGED),
                         .stored = sum(cache, PDL_RTC_STORED),
                         .store_failures = sum(cache, PDL_RTC_STORE_FAILURES),
                         .evicted = sum(cache, PDL_RTC_EVICTED),
                         .memory_hit_ns = sum(cache, PDL_RTC_MEMORY_HIT_NS),
                         .disk_hit_ns = sum(cache, PDL_RTC_DISK_HIT_NS),
                         .compile_ns = sum(cache, PDL_RTC_COMPILE_NS)};
    if (cache->store != NULL) {
        (void)snprintf(now.directory, sizeof(now.directory), "%s",
                       pdl_rtc_store_directory(cache->store));
    }
    if (cache->shipped != NULL) {
        (void)snprintf(now.shipped, sizeof(now.shipped), "%s",
                       pdl_rtc_store_directory(cache->shipped));
    }
    pdl_lock_take(&cache->lock);
    (void)snprintf(now.problem, sizeof(now.problem), "%s", cache->problem);
    pdl_lock_release(&cache->lock);
    pdl_sized_copy(stats, &now, sizeof(now));
    return PDL_SUCCESS;
}

/* ------------------------------------------------------------------------------------------------
 * The folders
 * ---------------------------------------------------------------------------------------------- */

/* An unknown value is also a problem of the cache. */
static uint64_t read_number(pdl_rtc_cache *cache, struct pdl_variable *variable)
{
    const struct pdl_reading reading = pdl_variable_read(variable);
    if (reading.problem[0] != '\0') {
        pdl_rtc_cache_problem(cache, "%s: %s is used", reading.problem, variable->unknown);
    }
    return reading.value[0];
}

/* Opens a folder that the description names, which must be usable, or one of the environment's, which is
 * done without otherwise. */
static pdl_status open_store(pdl_rtc_cache *cache, const char *directory, bool described,
                             bool read_only, uint64_t capacity, struct pdl_rtc_store **store)
{
    char why[160] = "";
    *store = pdl_rtc_store_open(directory, read_only, capacity, why, sizeof(why));
    if (*store != NULL) {
        return PDL_SUCCESS;
    }
    if (errno == ENOMEM) {
        return PDL_NO_MEMORY();
    }
    if (described) {
        return PDL_FAIL_FIELD(PDL_ERROR_CACHE, read_only ? "shipped" : "directory",
                              "the cache's folder %s cannot be used: %s",
                              pdl_path_text(directory, 180).text, why);
    }
    pdl_rtc_cache_problem(cache, "%s is not used: %s", pdl_path_text(directory, 80).text, why);
    return PDL_SUCCESS;
}

static pdl_status open_stores(pdl_rtc_cache *cache, const pdl_rtc_cache_desc *desc)
{
    const bool read_only = (desc->flags & PDL_RTC_CACHE_READ_ONLY) != 0;
    const uint64_t capacity =
        desc->capacity != 0 ? desc->capacity : read_number(cache, PDL_VARIABLE(PDL_RTC_CACHE_SIZE));
    const char *shipped = desc->shipped;
    if ((desc->flags & PDL_RTC_CACHE_MEMORY_ONLY) != 0) {
        return PDL_SUCCESS;
    }
    char *standard = NULL;
    pdl_status status =
        desc->directory == NULL ? pdl_rtc_directory_default(&standard) : PDL_SUCCESS;
    const char *directory = desc->directory != NULL ? desc->directory : standard;
    if (directory != NULL) {
        status = open_store(cache, directory, desc->directory != NULL, read_only, capacity,
                            &cache->store);
        cache->writes = cache->store != NULL && !read_only;
    }
    if (shipped == NULL && pdl_variable_read(PDL_VARIABLE(PDL_RTC_CACHE)).value[0] != 0) {
        shipped = pdl_variable_text(PDL_VARIABLE(PDL_RTC_CACHE_SHIPPED));
    }
    if (status == PDL_SUCCESS && shipped != NULL && shipped[0] != '\0') {
        status = open_store(cache, shipped, desc->shipped != NULL, true, 0, &cache->shipped);
    }
    free(standard);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Making and destroying
 * ---------------------------------------------------------------------------------------------- */

pdl_status pdl_rtc_cache_create(const pdl_rtc_cache_desc *desc, pdl_rtc_cache **cache)
{
    const uint32_t known_flags = PDL_RTC_CACHE_MEMORY_ONLY | PDL_RTC_CACHE_READ_ONLY;
    pdl_rtc_cache_desc known = PDL_RTC_CACHE_DESC_INIT;
    pdl_status status = PDL_SUCCESS;
    if (cache == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "cache", "cache is NULL");
    }
    if (desc != NULL) {
        status = pdl_sized_resize(&known, sizeof(known), desc, sizeof(known.size), "desc");
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    if ((known.flags & ~known_flags) != 0) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "flags",
                              "flags is %#x: there is no flag %#x", (unsigned)known.flags,
                              (unsigned)(known.flags & ~known_flags));
    }
    pdl_rtc_cache *made = aligned_alloc(_Alignof(pdl_rtc_cache), sizeof(*made));
    if (made == NULL) {
        return PDL_NO_MEMORY();
    }
    memset(made, 0, sizeof(*made));
    made->memory = pdl_rtc_memory_make();
    made->flights = pdl_rtc_flights_make();
    status =
        made->memory != NULL && made->flights != NULL ? open_stores(made, &known) : PDL_NO_MEMORY();
    if (status != PDL_SUCCESS) {
        pdl_rtc_cache_destroy(made);
        return status;
    }
    *cache = made;
    return PDL_SUCCESS;
}

/* ------------------------------------------------------------------------------------------------
 * The default cache
 * ---------------------------------------------------------------------------------------------- */

static struct pdl_lock standard_lock; /* of making it */
static _Atomic(pdl_rtc_cache *) standard;

pdl_status pdl_rtc_cache_get(pdl_rtc_cache **cache)
{
    pdl_status status = PDL_SUCCESS;
    if (*cache != NULL) {
        return PDL_SUCCESS;
    }
    pdl_rtc_cache *made = atomic_load_explicit(&standard, memory_order_acquire);
    if (made == NULL) {
        pdl_lock_take(&standard_lock);
        made = atomic_load_explicit(&standard, memory_order_relaxed);
        if (made == NULL) {
            status = pdl_rtc_cache_create(NULL, &made);
        }
        if (status == PDL_SUCCESS) {
            atomic_store_explicit(&standard, made, memory_order_release);
        }
        pdl_lock_release(&standard_lock);
    }
    if (status == PDL_SUCCESS) {
        *cache = made;
    }
    return status;
}

void pdl_rtc_cache_destroy(pdl_rtc_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    pdl_rtc_memory_free(cache->memory);
    pdl_rtc_flights_free(cache->flights);
    pdl_rtc_store_close(cache->store);
    pdl_rtc_store_close(cache->shipped);
    free(cache);
}
