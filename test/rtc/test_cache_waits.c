/* SPDX-License-Identifier: MIT */
/* No call waits for good: not for itself, not for a thread that waits for it, and not for what is not there any
 * more after a fork. A text with CANCEL in it calls `progress` when it has been compiled. */
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

/* A call with a callback, and what came of it. */
struct call {
    pdl_rtc_cache *cache;
    const char *source;
    int32_t (*progress)(void *context);
    struct call *inner; /* what the callback asks for */
    pthread_barrier_t *barrier;
    bool as_kernel;
    pdl_status status;
    char message[sizeof(((pdl_error *)0)->message)];
};

static void *run_call(void *argument)
{
    struct call *call = argument;
    pdl_rtc_options own = options;
    own.progress = call->progress;
    own.progress_context = call;
    if (call->as_kernel) {
        pdl_kernel *kernel = NULL;
        call->status = pdl_rtc_kernel(call->cache, call->source, "k", &own, &kernel);
    } else {
        pdl_rtc_image *image = NULL;
        call->status = pdl_rtc_cache_compile(call->cache, "text.cu", call->source, &own, &image);
        if (call->status == PDL_SUCCESS && !cache_mock_made(image, call->source, NULL)) {
            call->status = PDL_ERROR_FILE;
        }
        pdl_rtc_image_destroy(image);
    }
    (void)snprintf(call->message, sizeof(call->message), "%s", pdl_last_error()->message);
    return NULL;
}

static int32_t ask_inner(void *context)
{
    const struct call *call = context;
    if (call->barrier != NULL) {
        (void)pthread_barrier_wait(call->barrier);
    }
    (void)run_call(call->inner);
    return 0;
}

static int32_t ask_inner_from_a_thread(void *context)
{
    const struct call *call = context;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_call, call->inner), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return 0;
}

/* ---- one thread ---------------------------------------------------------------------------------- */

static void a_text_that_asks_for_itself_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct call inner = {.cache = cache, .source = "CANCEL", .as_kernel = i >= 2};
        struct call outer = {.cache = cache,
                             .source = "CANCEL",
                             .progress = ask_inner,
                             .inner = &inner,
                             .as_kernel = i >= 2};
        open_cache(i % 2 == 0 ? 0 : PDL_RTC_CACHE_MEMORY_ONLY);
        inner.cache = outer.cache = cache;
        assert_ok(pdl_rtc_folder_trim("cache", 0, 0, NULL));
        (void)run_call(&outer);
        assert_int_equal(outer.status, PDL_SUCCESS);
        assert_int_equal(inner.status, PDL_ERROR_BUSY);
        assert_non_null(strstr(inner.message, i < 2 ? "is compiling text.cu" : "kernel.cu"));
        (void)run_call(&inner); /* and now it is there */
        assert_int_equal(inner.status, PDL_SUCCESS);
    }
    assert_int_equal(compilations(), 4);
}

static void a_text_that_is_not_cached_may_not_ask_for_itself_either(void **state)
{
    (void)state;
    struct call inner = {.cache = cache, .source = "CANCEL"};
    struct call outer = {
        .cache = cache, .source = "CANCEL", .progress = ask_inner, .inner = &inner};
    options.flags = PDL_RTC_NO_CACHE;
    (void)run_call(&outer);
    assert_int_equal(outer.status, PDL_SUCCESS);
    assert_int_equal(inner.status, PDL_ERROR_BUSY);
}

static void a_text_may_ask_for_another(void **state)
{
    (void)state;
    struct call again = {.cache = cache, .source = "CANCEL 1"};
    struct call third = {
        .cache = cache, .source = "CANCEL 3", .progress = ask_inner, .inner = &again};
    struct call second = {
        .cache = cache, .source = "CANCEL 2", .progress = ask_inner, .inner = &third};
    struct call first = {
        .cache = cache, .source = "CANCEL 1", .progress = ask_inner, .inner = &second};
    (void)run_call(&first);
    assert_int_equal(first.status, PDL_SUCCESS);
    assert_int_equal(second.status, PDL_SUCCESS);
    assert_int_equal(third.status, PDL_SUCCESS);
    assert_int_equal(again.status, PDL_ERROR_BUSY); /* by way of two others */
    assert_int_equal(compilations(), 3);
    assert_int_equal(stats().stored, 3);
}

/* ---- two threads --------------------------------------------------------------------------------- */

/* Each is in the callback of a text when it asks for the other's. */
static void cross(pdl_rtc_cache *one, pdl_rtc_cache *other)
{
    pthread_barrier_t barrier;
    pthread_t threads[2];
    assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
    struct call inner[2] = {{.cache = one, .source = "CANCEL B"},
                            {.cache = other, .source = "CANCEL A"}};
    struct call outer[2] = {{.cache = one, .source = "CANCEL A"},
                            {.cache = other, .source = "CANCEL B"}};
    for (int i = 0; i < 2; i++) {
        outer[i].progress = ask_inner;
        outer[i].inner = &inner[i];
        outer[i].barrier = &barrier;
        assert_int_equal(pthread_create(&threads[i], NULL, run_call, &outer[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(outer[i].status, PDL_SUCCESS);
        assert_int_equal(inner[i].status, PDL_SUCCESS);
    }
    assert_true(now_s() - started < 30); /* nobody waited for the limit */
    (void)pthread_barrier_destroy(&barrier);
}

static void two_threads_may_ask_for_each_others_text(void **state)
{
    (void)state;
    cross(cache, cache);
    assert_true(compilations() <= 4);
}

static void two_caches_may_ask_for_each_others_text(void **state)
{
    (void)state;
    pdl_rtc_cache *other = NULL;
    pdl_rtc_cache_desc desc = PDL_RTC_CACHE_DESC_INIT;
    desc.directory = "cache";
    assert_ok(pdl_rtc_cache_create(&desc, &other));
    cross(cache, other);
    pdl_rtc_cache_destroy(other);
}

/* ---- the limit ----------------------------------------------------------------------------------- */

static void a_callback_that_waits_for_a_thread_that_waits_for_it_goes_on(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        wait_for("1", i == 0 ? 0 : PDL_RTC_CACHE_MEMORY_ONLY);
        struct call inner = {.cache = cache, .source = i == 0 ? "CANCEL 0" : "CANCEL 1"};
        struct call outer = {.cache = cache,
                             .source = inner.source,
                             .progress = ask_inner_from_a_thread,
                             .inner = &inner};
        (void)run_call(&outer);
        assert_int_equal(outer.status, PDL_SUCCESS);
        assert_int_equal(inner.status, PDL_SUCCESS);
        assert_string_equal(stats().problem, ""); /* nor did it wait for its own process's lock */
    }
    assert_int_equal(compilations(), 4);
}

static atomic_bool released;

static int32_t wait_for_release(void *context)
{
    (void)context;
    while (!atomic_load(&released)) {
        (void)sched_yield();
    }
    return 0;
}

static void one_of_those_who_waited_for_too_long_compiles(void **state)
{
    (void)state;
    enum { WAITERS = 16 };
    pthread_t threads[WAITERS + 1];
    struct call calls[WAITERS + 1];
    wait_for("1", PDL_RTC_CACHE_MEMORY_ONLY);
    atomic_store(&released, false);
    for (int i = 0; i <= WAITERS; i++) {
        calls[i] = (struct call){.cache = cache, .source = "CANCEL", .as_kernel = true};
        calls[i].progress = i == 0 ? wait_for_release : NULL;
        assert_int_equal(pthread_create(&threads[i], NULL, run_call, &calls[i]), 0);
        while (atomic_load(&cache_mock.compilations) == 0) {
            (void)sched_yield();
        }
    }
    for (int i = 1; i <= WAITERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(calls[i].status, PDL_SUCCESS);
    }
    assert_int_equal(compilations(), 2);
    atomic_store(&released, true);
    assert_int_equal(pthread_join(threads[0], NULL), 0);
    assert_int_equal(calls[0].status, PDL_SUCCESS);
    assert_int_equal(compilations(), 2);
    assert_int_equal(stats().kernels, 2); /* of which one is found from now on */
    assert_ptr_equal(kernel_of("CANCEL", "k"), kernel_of("CANCEL", "k"));
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
    struct call call = {.source = "CANCEL", .progress = wait_for_release};
    open_cache(PDL_RTC_CACHE_MEMORY_ONLY);
    call.cache = cache;
    atomic_store(&released, false);
    assert_int_equal(pthread_create(&thread, NULL, run_call, &call), 0);
    while (atomic_load(&cache_mock.compilations) == 0) {
        (void)sched_yield();
    }
    assert_int_equal(ask_in_child("CANCEL"), PDL_SUCCESS);
    assert_int_equal(ask_in_child("another"), PDL_SUCCESS);
    assert_true(now_s() - started < 30);
    atomic_store(&released, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(call.status, PDL_SUCCESS);
}

static void a_child_waits_for_the_parent_as_for_any_process(void **state)
{
    (void)state;
    pthread_t thread;
    struct call call = {.source = "CANCEL", .progress = wait_for_release};
    wait_for("1", 0);
    call.cache = cache;
    atomic_store(&released, false);
    assert_int_equal(pthread_create(&thread, NULL, run_call, &call), 0);
    while (atomic_load(&cache_mock.compilations) == 0) {
        (void)sched_yield();
    }
    assert_int_equal(ask_in_child("CANCEL"), PDL_SUCCESS);
    assert_true(now_s() - started >= 1);
    atomic_store(&released, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(call.status, PDL_SUCCESS);
}

static int in_callback[2];

static int32_t fork_and_ask(void *context)
{
    (void)context;
    in_callback[0] = ask_in_child("another");
    in_callback[1] = ask_in_child("CANCEL");
    return 0;
}

static void a_callback_may_fork(void **state)
{
    (void)state;
    struct call call = {.cache = cache, .source = "CANCEL", .progress = fork_and_ask};
    (void)run_call(&call);
    assert_int_equal(call.status, PDL_SUCCESS);
    assert_int_equal(in_callback[0], PDL_SUCCESS);
    assert_int_equal(in_callback[1], PDL_ERROR_BUSY);
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
            (void)pdl_rtc_folder_trim("cache", 1000, 0, NULL);
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
        WAIT_TEST(a_text_that_asks_for_itself_is_refused),
        WAIT_TEST(a_text_that_is_not_cached_may_not_ask_for_itself_either),
        WAIT_TEST(a_text_may_ask_for_another),
        WAIT_TEST(two_threads_may_ask_for_each_others_text),
        WAIT_TEST(two_caches_may_ask_for_each_others_text),
        WAIT_TEST(a_callback_that_waits_for_a_thread_that_waits_for_it_goes_on),
        WAIT_TEST(one_of_those_who_waited_for_too_long_compiles),
        WAIT_TEST(a_limit_of_the_environment_that_is_invalid_is_a_problem),
        WAIT_TEST(a_child_asks_for_what_a_thread_of_the_parent_is_compiling),
        WAIT_TEST(a_child_waits_for_the_parent_as_for_any_process),
        WAIT_TEST(a_callback_may_fork),
        WAIT_TEST(a_child_never_waits_for_a_thread_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
