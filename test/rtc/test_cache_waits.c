/* SPDX-License-Identifier: MIT */
/* No call waits for good: not for another that takes too long, and not for what is not there any more after a fork. */
#include "cache_case.h"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>

static double now_s(void)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double started;

static int setup_waits(void **state)
{
    started = now_s();
    return setup(state);
}

/* With a cache that waits for `seconds`. */
static void wait_for(const char *seconds, uint32_t flags)
{
    (void)setenv("PDL_RTC_CACHE_WAIT", seconds, 1);
    open_cache(flags);
    (void)unsetenv("PDL_RTC_CACHE_WAIT");
}

/* A call, and what came of it. */
struct call {
    pdl_rtc_cache *cache;
    const char *source;
    bool as_kernel;
    pdl_status status;
};

static void *run_call(void *argument)
{
    struct call *call = argument;
    if (call->as_kernel) {
        pdl_kernel *kernel = NULL;
        call->status = pdl_rtc_kernel(call->cache, call->source, "k", &options, &kernel);
    } else {
        pdl_rtc_image *image = NULL;
        call->status =
            pdl_rtc_cache_compile(call->cache, "text.cu", call->source, &options, &image);
        if (call->status == PDL_SUCCESS && !cache_mock_made(image, call->source, NULL)) {
            call->status = PDL_ERROR_FILE;
        }
        pdl_rtc_image_destroy(image);
    }
    return NULL;
}

/* ---- the limit ----------------------------------------------------------------------------------- */

static atomic_bool released, held;

/* Holds the first compilation until it is released. */
static void hold_first(void)
{
    const bool first = !atomic_exchange(&held, true);
    while (first && !atomic_load(&released)) {
        (void)sched_yield();
    }
}

/* Begins a call on a thread of its own, which goes on when it is released. */
static void start_held(pthread_t *thread, struct call *call)
{
    cache_mock.while_compiling = hold_first;
    atomic_store(&released, false);
    atomic_store(&held, false);
    assert_int_equal(pthread_create(thread, NULL, run_call, call), 0);
    while (!atomic_load(&held)) {
        (void)sched_yield();
    }
}

static void release(pthread_t thread, const struct call *call)
{
    atomic_store(&released, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(call->status, PDL_SUCCESS);
}

static void a_limit_of_the_environment_that_is_invalid_is_a_problem(void **state)
{
    (void)state;
    static const char *const wrong[] = {"soon", "-1", "1.5", "86401"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        wait_for(wrong[i], 0);
        assert_non_null(strstr(stats().problem, "PDL_RTC_CACHE_WAIT"));
        assert_non_null(strstr(stats().problem, wrong[i]));
    }
    wait_for("0", 0);
    assert_string_equal(stats().problem, "");
}

/* ---- forks --------------------------------------------------------------------------------------- */

/* Asks for a text in a child of a fork, and returns what came of it; -1 if the child did not end by itself. */
static int ask_in_child(const char *source)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        struct call call = {.cache = cache, .source = source};
        (void)alarm(30);
        (void)run_call(&call);
        _exit(-call.status);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -1;
}

static void a_child_asks_for_what_a_thread_of_the_parent_is_compiling(void **state)
{
    (void)state;
    pthread_t thread;
    struct call call = {.source = "text"};
    open_cache(PDL_RTC_CACHE_MEMORY_ONLY);
    call.cache = cache;
    start_held(&thread, &call);
    assert_int_equal(ask_in_child("text"), PDL_SUCCESS);
    assert_int_equal(ask_in_child("another"), PDL_SUCCESS);
    assert_true(now_s() - started < 30);
    release(thread, &call);
}

static void a_child_waits_for_the_parent_as_for_any_process(void **state)
{
    (void)state;
    pthread_t thread;
    struct call call = {.source = "text"};
    wait_for("1", 0);
    call.cache = cache;
    start_held(&thread, &call);
    assert_int_equal(ask_in_child("text"), PDL_SUCCESS);
    assert_true(now_s() - started >= 1);
    release(thread, &call);
}

/* The address sanitizer's own allocator keeps its locks over a fork, so that a child may hang in malloc(). */
#if defined(__SANITIZE_ADDRESS__)
enum { MALLOC_FORKS = 0 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { MALLOC_FORKS = 0 };
#else
enum { MALLOC_FORKS = 1 };
#endif
#else
enum { MALLOC_FORKS = 1 };
#endif

static atomic_bool stop;

static void *ask_for_many(void *argument)
{
    for (unsigned i = 0; !atomic_load(&stop); i++) {
        char source[32];
        struct call call = {.cache = cache, .source = source, .as_kernel = i % 2 == 0};
        (void)snprintf(source, sizeof(source), "text %u", i % 64);
        (void)run_call(&call);
        if (call.status != PDL_SUCCESS) {
            return NULL;
        }
        if (i % 16 == 15) {
            (void)trim_folder(1000);
        }
    }
    return argument;
}

/* At any moment: with whatever locks the other threads have. */
static void a_child_never_waits_for_a_thread_that_is_not_there(void **state)
{
    (void)state;
    pthread_t threads[3];
    if (!MALLOC_FORKS) {
        skip();
    }
    atomic_store(&stop, false);
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask_for_many, threads), 0);
    }
    for (int i = 0; i < 100; i++) {
        char source[32];
        (void)snprintf(source, sizeof(source), i % 2 == 0 ? "text %d" : "new %d", i % 64);
        assert_int_equal(ask_in_child(source), PDL_SUCCESS);
    }
    atomic_store(&stop, true);
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        void *answer = NULL;
        assert_int_equal(pthread_join(threads[i], &answer), 0);
        assert_non_null(answer);
    }
    assert_true(now_s() - started < 50);
}

#define WAIT_TEST(function) cmocka_unit_test_setup_teardown(function, setup_waits, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WAIT_TEST(a_limit_of_the_environment_that_is_invalid_is_a_problem),
        WAIT_TEST(a_child_asks_for_what_a_thread_of_the_parent_is_compiling),
        WAIT_TEST(a_child_waits_for_the_parent_as_for_any_process),
        WAIT_TEST(a_child_never_waits_for_a_thread_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
