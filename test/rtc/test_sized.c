/* SPDX-License-Identifier: MIT */
/* The rule of structs that begin with their size, for those that libpdl-rtc fills: see sized.h. */
#include <pdl/rtc.h>
#include <pdl/vector.h>

#include "rtc_support.h"
#include "sized.h"

static pdl_rtc_cache *cache;

static pdl_status fill_compiler(void *to)
{
    return pdl_rtc_compiler_get(to);
}

static pdl_status fill_stats(void *to)
{
    return pdl_rtc_cache_stats(cache, to);
}

static pdl_status fill_plan(void *to)
{
    const pdl_vector_operand output = {4096, 0, 4, 0};
    return pdl_vector_plan_make(&output, 1, 1, 100, 0, to);
}

const struct sized_output sized_outputs[] = {
    {"pdl_rtc_compiler_get", fill_compiler, sizeof(pdl_rtc_compiler_info), 4},
    {"pdl_rtc_cache_stats", fill_stats, sizeof(pdl_rtc_stats), 4},
    {"pdl_vector_plan_make", fill_plan, sizeof(pdl_vector_plan), 4},
};
const size_t sized_output_count = COUNT_OF(sized_outputs);

static int setup(void **state)
{
    pdl_rtc_cache_desc desc = PDL_RTC_CACHE_DESC_INIT;
    desc.flags = PDL_RTC_CACHE_MEMORY_ONLY;
    (void)mock_setup(state);
    (void)rtc_mock_setup(state);
    assert_ok(pdl_rtc_cache_create(&desc, &cache));
    return 0;
}

static int teardown(void **state)
{
    pdl_rtc_cache_destroy(cache);
    (void)rtc_mock_teardown(state);
    return mock_teardown(state);
}

SIZED_TESTS(setup, teardown)
