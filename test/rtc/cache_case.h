/* SPDX-License-Identifier: MIT */
/* A cache in a folder of its own for each test, which is the working directory. */
#ifndef PDL_TEST_RTC_CACHE_CASE_H
#define PDL_TEST_RTC_CACHE_CASE_H

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache_support.h"
#include "rtc/cache/files.h"
#include "rtc/compiler.h"
#include "rtc_support.h"

static char *folder;
static pdl_rtc_cache *cache;
static pdl_rtc_options options;

static inline void open_cache(uint32_t flags)
{
    pdl_rtc_cache_desc desc = PDL_RTC_CACHE_DESC_INIT;
    pdl_rtc_cache_destroy(cache);
    cache = NULL;
    desc.directory = "cache";
    desc.flags = flags;
    assert_ok(pdl_rtc_cache_create(&desc, &cache));
}

static inline int setup(void **state)
{
    (void)state;
    memset(&cache_mock, 0, sizeof(cache_mock));
    cache_mock_start(13000, "one");
    options = (pdl_rtc_options)PDL_RTC_OPTIONS_INIT;
    options.target = "compute_90";
    folder = rtc_folder_make();
    if (chdir(folder) != 0) {
        return -1;
    }
    (void)unsetenv("PDL_RTC_CACHE_SHIPPED");
    (void)unsetenv("PDL_RTC_CACHE_DIR");
    (void)unsetenv("PDL_RTC_CACHE_SIZE");
    (void)unsetenv("PDL_RTC_CACHE");
    open_cache(0);
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    pdl_rtc_cache_destroy(cache);
    cache = NULL;
    pdl_rtc_compiler_override(NULL);
    const int left = chdir("/");
    rtc_folder_remove(folder);
    return left;
}

static inline pdl_rtc_stats stats(void)
{
    pdl_rtc_stats now = PDL_RTC_STATS_INIT;
    assert_ok(pdl_rtc_cache_stats(cache, &now));
    return now;
}

/* Compiles through the cache, and compares what comes. */
static inline void image_of(const char *source, const char *word)
{
    pdl_rtc_image *image = NULL;
    assert_ok(pdl_rtc_cache_compile(cache, "text.cu", source, &options, &image));
    assert_true(cache_mock_made(image, source, word));
    assert_string_equal(pdl_rtc_image_log(image), "a warning of the mock");
    pdl_rtc_image_destroy(image);
}

static inline pdl_kernel *kernel_of(const char *source, const char *name)
{
    pdl_kernel *kernel = NULL;
    assert_ok(pdl_rtc_kernel(cache, source, name, &options, &kernel));
    assert_non_null(kernel);
    return kernel;
}

static inline int compilations(void)
{
    return atomic_load(&cache_mock.compilations);
}

/* Removes the oldest files until the rest takes at most so many bytes. What they take then. */
static inline uint64_t trim_folder(uint64_t capacity)
{
    struct pdl_rtc_file_list list;
    const int base = open("cache/" PDL_RTC_FILES_BASE, O_RDONLY | O_DIRECTORY);
    assert_int_equal(pdl_rtc_files_list(base, &list), 0);
    (void)pdl_rtc_files_evict(base, &list, capacity, NULL);
    const uint64_t bytes = list.bytes;
    pdl_rtc_files_free(&list);
    (void)close(base);
    return bytes;
}

#define CACHE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

#endif /* PDL_TEST_RTC_CACHE_CASE_H */
