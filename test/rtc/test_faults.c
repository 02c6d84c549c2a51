/* SPDX-License-Identifier: MIT */
/* Calls on the files of a cache that fail, do half of their work or are a process's last, and many processes at once:
 * whatever happens, a text gets its image, and no file of the folder is damaged. */
#include "cache_case.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

/* ---- faults -------------------------------------------------------------------------------------- */

enum fault {
    NONE,
    FAILS,   /* one call, with `error` */
    FAIL,    /* all calls */
    SHORT,   /* write() does at most 7 bytes at once */
    DIES_AT, /* the process is killed instead of a call, of write() when a half is done */
    DIES_AFTER
};

static struct {
    enum fault fault;
    int error;
    unsigned calls, failing; /* the latter from 1 */
} faults;

/* Whether the call fails, with errno. */
static bool fails(void)
{
    const bool now = ++faults.calls == faults.failing;
    if (now && faults.fault == DIES_AT) {
        (void)raise(SIGKILL);
    }
    errno = faults.error;
    return faults.fault == FAIL || (now && faults.fault == FAILS);
}

static void end_call(void)
{
    if (faults.fault == DIES_AFTER && faults.calls == faults.failing) {
        (void)raise(SIGKILL);
    }
}

/* The linker brings the library's calls here. */
#define WRAP(name, parameters, arguments)                                                          \
    int __real_##name parameters;                                                                  \
    int __wrap_##name parameters;                                                                  \
    int __wrap_##name parameters                                                                   \
    {                                                                                              \
        const int result = fails() ? -1 : __real_##name arguments;                                 \
        end_call();                                                                                \
        return result;                                                                             \
    }
WRAP(renameat, (int from, const char *name, int to, const char *into), (from, name, to, into))
WRAP(mkdirat, (int at, const char *name, mode_t mode), (at, name, mode))
WRAP(mkdir, (const char *name, mode_t mode), (name, mode))
WRAP(futimens, (int file, const struct timespec times[2]), (file, times))

int __real_openat(int at, const char *name, int flags, ...);
int __wrap_openat(int at, const char *name, int flags, mode_t mode);
int __wrap_openat(int at, const char *name, int flags, mode_t mode)
{
    if ((flags & O_CREAT) == 0) {
        return __real_openat(at, name, flags);
    }
    return fails() ? -1 : __real_openat(at, name, flags, mode);
}

ssize_t __real_write(int file, const void *bytes, size_t size);
ssize_t __wrap_write(int file, const void *bytes, size_t size);
ssize_t __wrap_write(int file, const void *bytes, size_t size)
{
    if (faults.fault == DIES_AT && faults.calls + 1 == faults.failing) {
        (void)__real_write(file, bytes, size / 2);
    }
    if (fails()) {
        return -1;
    }
    return __real_write(file, bytes, faults.fault == SHORT && size > 7 ? 7 : size);
}

static void begin_fault(enum fault fault, int error, unsigned failing)
{
    faults.calls = 0;
    faults.failing = failing;
    faults.error = error;
    faults.fault = fault;
}

/* ---- what is there then -------------------------------------------------------------------------- */

static void clear_folder(void)
{
    begin_fault(NONE, 0, 0);
    pdl_rtc_cache_destroy(cache);
    cache = NULL;
    rtc_folder_remove(strdup("cache"));
    open_cache(0);
    image_of("kept", NULL);
}

static size_t count_unfinished(void)
{
    FILE *found = popen("find cache -name '.tmp-*' | wc -l", "r");
    unsigned count = 0;
    assert_non_null(found);
    assert_int_equal(fscanf(found, "%u", &count), 1);
    assert_int_equal(pclose(found), 0);
    return count;
}

/* Without a fault, by a cache that knows nothing yet. */
static void check_folder(size_t unfinished)
{
    begin_fault(NONE, 0, 0);
    open_cache(0);
    image_of("kept", NULL);
    image_of("text", NULL);
    assert_int_equal(stats().damaged + stats().store_failures, 0);
    assert_true(stats().disk_hits >= 1);
    assert_true(count_unfinished() <= unfinished);
}

/* ---- one process --------------------------------------------------------------------------------- */

static void a_call_that_fails_is_a_problem_and_leaves_nothing(void **state)
{
    (void)state;
    static const int errors[] = {ENOSPC, EDQUOT, EIO, EROFS};
    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        bool failed = true;
        for (unsigned failing = 1; failed; failing++) {
            clear_folder();
            begin_fault(FAILS, errors[i], failing);
            open_cache(0);
            image_of("text", NULL);
            const pdl_rtc_stats now = stats();
            assert_int_equal(now.misses, 1);
            assert_int_equal(now.stored + now.store_failures, 1);
            assert_true(now.stored == 1 || strstr(now.problem, strerror(errors[i])) != NULL);
            image_of("kept", NULL);
            failed = faults.calls >= failing;
            assert_true(failed || failing > 4);
            check_folder(0);
        }
    }
}

static void a_read_only_disk_is_read(void **state)
{
    (void)state;
    pdl_rtc_cache *made = NULL;
    pdl_rtc_cache_desc desc = PDL_RTC_CACHE_DESC_INIT;
    clear_folder();
    begin_fault(FAIL, EROFS, 0);
    open_cache(0);
    image_of("kept", NULL);
    image_of("text", NULL);
    assert_int_equal(stats().disk_hits, 1);
    assert_int_equal(stats().store_failures, 1);
    assert_non_null(strstr(stats().problem, strerror(EROFS)));
    desc.directory = "new";
    assert_refused(pdl_rtc_cache_create(&desc, &made), PDL_ERROR_CACHE, "directory",
                   "cannot be used");
    check_folder(0);
}

static void short_writes_are_gone_on_with(void **state)
{
    (void)state;
    clear_folder();
    begin_fault(SHORT, 0, 0);
    image_of("text", NULL);
    assert_int_equal(stats().stored, 2);
    check_folder(0);
}

/* ---- processes ----------------------------------------------------------------------------------- */

/* A child asks for texts, in an order of its own, by a cache of its own. It exits with 0 where all is right. */
static pid_t start_child(unsigned seed, unsigned texts, uint64_t capacity)
{
    const pid_t child = fork();
    if (child != 0) {
        return child;
    }
    pdl_rtc_cache_desc desc = PDL_RTC_CACHE_DESC_INIT;
    bool right = true;
    desc.directory = "cache";
    desc.capacity = capacity;
    cache = NULL;
    right = pdl_rtc_cache_create(&desc, &cache) == PDL_SUCCESS;
    for (unsigned i = 0; right && i < texts; i++) {
        char source[32] = "text";
        pdl_rtc_image *image = NULL;
        if (texts > 1) {
            (void)snprintf(source, sizeof(source), "text %u", (unsigned)rand_r(&seed) % texts);
        }
        right = pdl_rtc_cache_compile(cache, "text.cu", source, &options, &image) == PDL_SUCCESS &&
                cache_mock_made(image, source, NULL);
        pdl_rtc_image_destroy(image);
    }
    pdl_rtc_stats now = PDL_RTC_STATS_INIT;
    right = right && pdl_rtc_cache_stats(cache, &now) == PDL_SUCCESS && now.damaged == 0 &&
            now.store_failures == 0;
    _exit(right ? 0 : 1);
}

static int wait_for(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void a_process_that_dies_leaves_no_file_that_counts(void **state)
{
    (void)state;
    static const enum fault dies[] = {DIES_AT, DIES_AFTER};
    for (size_t i = 0; i < COUNT_OF(dies); i++) {
        unsigned failing = 0;
        int status = 0;
        do {
            clear_folder();
            begin_fault(dies[i], 0, ++failing);
            status = wait_for(start_child(1, 1, 0));
            assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
            check_folder(1);
        } while (WIFSIGNALED(status));
        assert_true(failing > 3);
    }
}

static void processes_that_come_and_go_get_right_images(void **state)
{
    (void)state;
    enum { CHILDREN = 8, TEXTS = 40 };
    static const uint64_t capacities[] = {4096, 0}; /* of about 30 files there is room for 8 */
    cache_mock.milliseconds = 1;
    for (size_t c = 0; c < COUNT_OF(capacities); c++) {
        unsigned seed = 1;
        pid_t children[CHILDREN];
        clear_folder();
        for (unsigned i = 0; i < CHILDREN; i++) {
            children[i] = start_child(i, TEXTS, capacities[c]);
            assert_true(children[i] > 0);
        }
        for (unsigned i = 0; i < CHILDREN; i++) {
            if (i % 2 == 0) {
                const struct timespec some = {.tv_nsec = rand_r(&seed) % 20000000};
                (void)nanosleep(&some, NULL);
                (void)kill(children[i], SIGKILL);
            }
            const int status = wait_for(children[i]);
            assert_true(status == 0 || (i % 2 == 0 && WIFSIGNALED(status)));
        }
        open_cache(0);
        for (unsigned i = 0; i < TEXTS; i++) {
            char source[32];
            (void)snprintf(source, sizeof(source), "text %u", i);
            image_of(source, NULL);
        }
        assert_int_equal(stats().damaged, 0);
        assert_true(stats().disk_hits > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CACHE_TEST(a_call_that_fails_is_a_problem_and_leaves_nothing),
        CACHE_TEST(a_read_only_disk_is_read),
        CACHE_TEST(short_writes_are_gone_on_with),
        CACHE_TEST(a_process_that_dies_leaves_no_file_that_counts),
        CACHE_TEST(processes_that_come_and_go_get_right_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
