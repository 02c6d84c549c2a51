/* SPDX-License-Identifier: MIT */
/* The cache from many threads. */
#include "cache_case.h"

#include <pthread.h>

enum { THREADS = 64 };

/* ---- threads ------------------------------------------------------------------------------------- */

struct call {
    const char *source;
    pdl_status status;
    pdl_kernel *kernel;
    char message[sizeof(((pdl_error *)0)->message)], log[64];
};

static void *call_kernel(void *argument)
{
    struct call *call = argument;
    call->status = pdl_rtc_kernel(cache, call->source, "k", &options, &call->kernel);
    (void)snprintf(call->message, sizeof(call->message), "%s", pdl_last_error()->message);
    (void)snprintf(call->log, sizeof(call->log), "%s", pdl_rtc_log());
    return NULL;
}

static void call_from_threads(struct call *calls, const char *source)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        calls[i] = (struct call){.source = source};
        assert_int_equal(pthread_create(&threads[i], NULL, call_kernel, &calls[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
}

static void threads_compile_a_text_once(void **state)
{
    (void)state;
    struct call calls[THREADS];
    cache_mock.milliseconds = 100;
    call_from_threads(calls, "text");
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(calls[i].status, PDL_SUCCESS);
        assert_ptr_equal(calls[i].kernel, calls[0].kernel);
    }
    const pdl_rtc_stats now = stats();
    assert_int_equal(compilations(), 1);
    assert_int_equal(now.misses, 1);
    assert_int_equal(now.waits + now.memory_hits, THREADS - 1);
    assert_true(now.waits > 0);
}

static void each_who_waits_for_a_failure_is_told(void **state)
{
    (void)state;
    struct call calls[THREADS];
    call_from_threads(calls, "FAIL");
    for (int i = 0; i < THREADS; i++) {
        int number = 0;
        char log[64];
        assert_int_equal(calls[i].status, PDL_ERROR_COMPILE);
        assert_int_equal(sscanf(calls[i].message, "compilation %d failed", &number), 1);
        (void)snprintf(log, sizeof(log), "log of compilation %d", number);
        assert_string_equal(calls[i].log, log);
    }
    assert_int_equal(compilations(), THREADS);
    assert_int_equal(stats().failures, THREADS);
}

static void *call_many(void *argument)
{
    size_t first = *(size_t *)argument;
    for (size_t i = 0; i < 400; i++) {
        char source[32];
        char name[32];
        pdl_kernel *kernel = NULL;
        (void)snprintf(source, sizeof(source), "text %zu", (first + i) % 20);
        (void)snprintf(name, sizeof(name), "k%zu", (first + i) % 20 % 3);
        if (pdl_rtc_kernel(cache, source, name, &options, &kernel) != PDL_SUCCESS) {
            return NULL;
        }
    }
    return argument;
}

static void threads_share_many_texts(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    size_t first[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        void *answer;
        first[i] = i * 7;
        assert_int_equal(pthread_create(&threads[i], NULL, call_many, &first[i]), 0);
        if (i == THREADS - 1) {
            for (size_t j = 0; j < THREADS; j++) {
                assert_int_equal(pthread_join(threads[j], &answer), 0);
                assert_non_null(answer);
            }
        }
    }
    const pdl_rtc_stats now = stats();
    assert_int_equal(compilations(), 20);
    assert_int_equal(now.kernels, 20);
    assert_int_equal(now.memory_hits + now.misses + now.waits, 400 * THREADS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CACHE_TEST(threads_compile_a_text_once),
        CACHE_TEST(each_who_waits_for_a_failure_is_told),
        CACHE_TEST(threads_share_many_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
