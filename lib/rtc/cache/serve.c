/* SPDX-License-Identifier: MIT */
/* The way of a kernel: from memory as it was asked for; else from memory by its key; else from a folder; else
 * from the compiler, by one thread. */
#include <string.h>
#include <time.h>

#include "core/error.h"
#include "core/path_text.h"
#include "core/sized.h"
#include "rtc/cache/cache.h"
#include "rtc/compile/compile.h"

static uint64_t clock_ns(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A call that memory did not answer as it was asked. */
struct job {
    pdl_rtc_cache *cache;
    struct pdl_rtc_request request;
    struct pdl_rtc_dependencies dependencies;
    struct pdl_rtc_key key;
    uint64_t started;
    bool keep; /* what is made is what its key says */
};

static void count_hit(const struct job *job, enum pdl_rtc_counter counter)
{
    const bool memory = counter == PDL_RTC_MEMORY_HITS;
    pdl_rtc_cache_count(job->cache, counter, 1);
    pdl_rtc_cache_count(job->cache, memory ? PDL_RTC_MEMORY_HIT_NS : PDL_RTC_DISK_HIT_NS,
                        clock_ns() - job->started);
}

/* ------------------------------------------------------------------------------------------------
 * Compiling and the folders
 * ---------------------------------------------------------------------------------------------- */

static pdl_status compile(struct job *job, pdl_rtc_image **image)
{
    const uint64_t from = clock_ns();
    const pdl_status status = pdl_rtc_compile_request(&job->request, image);
    pdl_rtc_cache_count(job->cache, PDL_RTC_COMPILE_NS, clock_ns() - from);
    pdl_rtc_cache_count(job->cache, status == PDL_SUCCESS ? PDL_RTC_MISSES : PDL_RTC_FAILURES, 1);
    return status;
}

/* `*image` is NULL where a folder (NULL: none) does not have it. */
static pdl_status find(struct job *job, struct pdl_rtc_store *store, pdl_rtc_image **image)
{
    uint64_t damaged = 0;
    *image = NULL;
    if (store == NULL) {
        return PDL_SUCCESS;
    }
    const pdl_status status = pdl_rtc_store_find(store, &job->key, image, &damaged);
    if (damaged > 0) {
        pdl_rtc_cache_count(job->cache, PDL_RTC_DAMAGED, damaged);
    }
    return status;
}

static struct pdl_path_text short_directory(const struct pdl_rtc_store *store)
{
    return pdl_path_text(pdl_rtc_store_directory(store), 80);
}

static void store(struct job *job, const pdl_rtc_image *image)
{
    char why[160];
    uint64_t evicted = 0;
    pdl_rtc_cache *cache = job->cache;
    if (pdl_rtc_store_put(cache->store, &job->key, image, &evicted, why, sizeof(why)) == NULL) {
        pdl_rtc_cache_count(cache, PDL_RTC_STORED, 1);
    } else {
        pdl_rtc_cache_count(cache, PDL_RTC_STORE_FAILURES, 1);
        pdl_rtc_cache_problem(cache, "%s is not written: %s", short_directory(cache->store).text,
                              why);
    }
    if (evicted > 0) {
        pdl_rtc_cache_count(cache, PDL_RTC_EVICTED, evicted);
    }
}

/* Compiles, and keeps it unless a file changed between when it was looked at and when the compiler may have
 * read it. */
static pdl_status compile_and_store(struct job *job, pdl_rtc_image **image)
{
    const pdl_status status = compile(job, image);
    if (status != PDL_SUCCESS) {
        return status;
    }
    job->keep = pdl_rtc_includes_unchanged(&job->dependencies);
    if (job->keep && job->cache->writes) {
        store(job, *image);
    }
    return PDL_SUCCESS;
}

static pdl_status make_image(struct job *job, pdl_rtc_image **image)
{
    pdl_rtc_image *found = NULL;
    enum pdl_rtc_counter counter = PDL_RTC_DISK_HITS;
    job->keep = true;
    pdl_status status = find(job, job->cache->store, &found);
    if (status == PDL_SUCCESS && found == NULL) {
        counter = PDL_RTC_SHIPPED_HITS;
        status = find(job, job->cache->shipped, &found);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (found != NULL) {
        count_hit(job, counter);
        *image = found;
        return PDL_SUCCESS;
    }
    if (job->key.compilers == 0) { /* which says what is missing */
        return pdl_rtc_compile_request(&job->request, image);
    }
    return compile_and_store(job, image);
}

/* ------------------------------------------------------------------------------------------------
 * Jobs
 * ---------------------------------------------------------------------------------------------- */

static void end_job(struct job *job)
{
    pdl_rtc_includes_free(&job->dependencies);
    pdl_rtc_request_free(&job->request);
}

/* A compiler that is not there leaves the key without it: a folder may have the image all the same. */
static void make_key(struct job *job)
{
    const struct pdl_rtc_compiler *compiler = NULL;
    const pdl_error before = *pdl_last_error();
    if (pdl_rtc_compiler_open(&compiler) != PDL_SUCCESS) {
        compiler = NULL;
        (void)pdl_error_record(&before);
    }
    pdl_rtc_key_make(&job->request, &job->dependencies, compiler, &job->key);
}

static pdl_status begin_job(struct job *job, pdl_rtc_cache *cache, const char *program,
                            const char *source, const pdl_rtc_options *options, const char *name)
{
    *job = (struct job){.cache = cache, .started = clock_ns()};
    pdl_status status = pdl_rtc_request_make(&job->request, program, source, options, name);
    if (status != PDL_SUCCESS) {
        return status;
    }
    job->request.cache_directory = cache->writes ? pdl_rtc_store_directory(cache->store) : NULL;
    if ((job->request.flags & PDL_RTC_NO_CACHE) == 0) {
        status = pdl_rtc_includes_find(&job->request, &job->dependencies);
    }
    if (job->dependencies.unknown != NULL) {
        pdl_rtc_cache_problem(cache, "%.100s is not cached: %s", job->request.program,
                              job->dependencies.unknown);
    }
    if (status == PDL_SUCCESS) {
        make_key(job);
    } else {
        end_job(job);
    }
    return status;
}

/* Whether it is compiled for this call alone. */
static bool is_uncacheable(const struct job *job)
{
    return (job->request.flags & PDL_RTC_NO_CACHE) != 0 || job->dependencies.unknown != NULL;
}

/* Whether the job has to make what it is for. If not, `flight` has it, or `*status` is why it does not. */
static bool must_make(struct job *job, struct pdl_rtc_flight *flight, pdl_status *status)
{
    const enum pdl_rtc_flight_state state = pdl_rtc_flight_start(job->cache->flights, flight);
    if (state == PDL_RTC_FLIGHT_FAILED) {
        *status = PDL_NO_MEMORY();
    } else if (state == PDL_RTC_FLIGHT_FOUND && flight->waited) {
        pdl_rtc_cache_count(job->cache, PDL_RTC_WAITS, 1);
    } else if (state == PDL_RTC_FLIGHT_FOUND) {
        count_hit(job, PDL_RTC_MEMORY_HITS);
    }
    return state == PDL_RTC_FLIGHT_MAKE;
}

/* Finds or makes the image of a flight, or with a name the kernel. On success `*image` is the caller's reference, NULL
 * where only the kernel was found; a kernel is the cache's, and one that is not what its key says is found by nobody. */
static pdl_status serve(struct job *job, const char *name, pdl_rtc_image **image,
                        pdl_kernel **kernel)
{
    struct pdl_rtc_flights *flights = job->cache->flights;
    struct pdl_rtc_flight flight = {.key = &job->key, .name = name};
    const bool alone = is_uncacheable(job);
    pdl_status status = PDL_SUCCESS;
    bool kept = true;
    *image = NULL;
    *kernel = NULL;
    if (!alone && !must_make(job, &flight, &status)) {
        job->keep = true;
        *image = flight.image;
        *kernel = flight.kernel;
        return status;
    }
    if (flight.image != NULL) {
        job->keep = true;
        count_hit(job, PDL_RTC_MEMORY_HITS);
    } else {
        status = alone ? compile(job, &flight.image) : make_image(job, &flight.image);
    }
    if (status == PDL_SUCCESS && name != NULL) {
        status = pdl_rtc_image_kernel(flight.image, name, &flight.kernel);
    }
    if (!alone) {
        kept = pdl_rtc_flight_land(flights, &flight, job->keep ? flight.image : NULL,
                                   job->keep ? flight.kernel : NULL);
    }
    if (!job->keep && flight.kernel != NULL) {
        kept = pdl_rtc_flights_keep(flights, flight.kernel);
    }
    if (!kept) {
        pdl_kernel_destroy(flight.kernel);
        status = PDL_NO_MEMORY();
    }
    if (status != PDL_SUCCESS) {
        pdl_rtc_image_destroy(flight.image);
        return status;
    }
    *image = flight.image;
    *kernel = flight.kernel;
    return PDL_SUCCESS;
}

/* ------------------------------------------------------------------------------------------------
 * Calls
 * ---------------------------------------------------------------------------------------------- */

pdl_status pdl_rtc_cache_compile(pdl_rtc_cache *cache, const char *program, const char *source,
                                 const pdl_rtc_options *options, pdl_rtc_image **image)
{
    struct job job;
    pdl_rtc_image *made = NULL;
    pdl_kernel *none = NULL;
    if (image == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "image", "image is NULL");
    }
    pdl_status status = pdl_rtc_cache_get(&cache);
    if (status == PDL_SUCCESS) {
        status = begin_job(&job, cache, program, source, options, NULL);
    }
    if (status == PDL_SUCCESS) {
        status = serve(&job, NULL, &made, &none);
        end_job(&job);
    }
    if (status == PDL_SUCCESS) {
        *image = made;
    }
    return status;
}

/* The slow way. The kernel is found by the question from now on. */
static pdl_status find_or_make(pdl_rtc_cache *cache, const char *source, const char *name,
                               const pdl_rtc_options *options,
                               const struct pdl_rtc_question *question, pdl_kernel **kernel)
{
    struct job job;
    pdl_rtc_image *image = NULL;
    pdl_kernel *made = NULL;
    pdl_status status = begin_job(&job, cache, NULL, source, options, name);
    if (status != PDL_SUCCESS) {
        return status;
    }
    status = serve(&job, name, &image, &made);
    pdl_rtc_image_destroy(image);
    if (status == PDL_SUCCESS) {
        /* Files that were just changed are looked at the slow way for a while. */
        if (job.keep && !job.dependencies.fresh) {
            pdl_rtc_memory_add(cache->memory, question, &job.dependencies, made);
        }
        *kernel = made;
    }
    end_job(&job);
    return status;
}

/* The device that a target that is not named is of; -1 without a context. */
static int current_device(const pdl_rtc_options *options)
{
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    return options->target == NULL && pdl_device_get(-1, &info) == PDL_SUCCESS ? info.ordinal : -1;
}

pdl_status pdl_rtc_kernel(pdl_rtc_cache *cache, const char *source, const char *name,
                          const pdl_rtc_options *options, pdl_kernel **kernel)
{
    const uint64_t from = clock_ns();
    pdl_rtc_options known = PDL_RTC_OPTIONS_INIT;
    if (kernel == NULL || name == NULL) {
        const char *field = name == NULL ? "name" : "kernel";
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, field, "%s is NULL", field);
    }
    pdl_status status = pdl_rtc_cache_get(&cache);
    if (status == PDL_SUCCESS && options != NULL) {
        status = pdl_sized_resize(&known, sizeof(known), options, sizeof(known.size), "options");
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    known.size = (uint32_t)sizeof(known);
    const struct pdl_rtc_question question =
        pdl_rtc_question_make(source, name, &known, current_device(&known));
    pdl_kernel *found = NULL;
    if ((known.flags & PDL_RTC_NO_CACHE) == 0) {
        found = pdl_rtc_memory_find(cache->memory, &question);
    }
    if (found != NULL) {
        pdl_rtc_cache_count(cache, PDL_RTC_MEMORY_HITS, 1);
        pdl_rtc_cache_count(cache, PDL_RTC_MEMORY_HIT_NS, clock_ns() - from);
        *kernel = found;
    } else {
        status = find_or_make(cache, source, name, &known, &question, kernel);
    }
    return status;
}
