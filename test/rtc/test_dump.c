/* SPDX-License-Identifier: MIT */
/* Files that say what did not compile, and where the default cache is. */
#include "rtc/compile/dump.h"
#include "rtc/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rtc_support.h"

static char *folder; /* of each test */
static char path[512];

static const pdl_rtc_header headers[] = {{"a/b.h", "#define B 1\n"},
                                         {"c.h", "no newline at its end"}};
static char *arguments[] = {(char[]){"-DN='4'"}, (char[]){"-Idir"}};
static const char *names[] = {"t<int>"};
static const struct pdl_rtc_request request = {
    .program = "some/where/bad name.cu",
    .source = "line one\nline two",
    .target = "sm_90",
    .output = PDL_RTC_CUBIN,
    .arguments = {.items = arguments, .count = 2},
    .names = names,
    .name_count = 1,
    .headers = headers,
    .header_count = 2,
};

static int setup(void **state)
{
    folder = rtc_folder_make();
    (void)unsetenv("PDL_RTC_DUMP_DIR");
    return rtc_mock_setup(state);
}

static int teardown(void **state)
{
    (void)unsetenv("PDL_RTC_DUMP_DIR");
    rtc_folder_remove(folder);
    return rtc_mock_teardown(state);
}

static char *below(const char *name)
{
    char *all = NULL;
    assert_true(asprintf(&all, "%s/%s", folder, name) > 0);
    return all;
}

static bool dump(const char *directory)
{
    return pdl_rtc_dump(&request, directory, "the log\n", path, sizeof(path));
}

/* ---- the file ------------------------------------------------------------------------------- */

static void a_dump_has_everything_that_a_compilation_was_made_of(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "program: some/where/bad name.cu",
        "target: sm_90",
        "output: cubin",
        "NVRTC: 13.0",
        "/mock/libnvrtc.so.13",
        "option: -DN='4'\n",
        "name expression: t<int>\n",
        "nvcc -cubin -arch=sm_90 '-DN='\\''4'\\''' '-Idir'",
        "log of some/where/bad name.cu (8 bytes) ====\nthe log\n#==== end",
        "source some/where/bad name.cu (17 bytes) ====\nline one\nline two\n#==== end",
        "header a/b.h (12 bytes) ====\n#define B 1\n#==== end",
        "header c.h (21 bytes) ====\nno newline at its end\n#==== end",
    };
    assert_true(dump(folder));
    char *text = rtc_file_read(path);
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        if (strstr(text, parts[i]) == NULL) {
            fail_msg("the dump has no \"%s\"", parts[i]);
        }
    }
    free(text);
}

static void a_dump_is_the_users_alone(void **state)
{
    (void)state;
    struct stat status;
    char *dumps = below("dumps");
    assert_true(dump(folder));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(stat(dumps, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_memory_equal(path, dumps, strlen(dumps));
    assert_int_equal(path[strlen(dumps)], '/');
    free(dumps);
}

static void a_long_folder_leaves_the_files_name_and_the_reason(void **state)
{
    (void)state;
    char long_folder[3000];
    const size_t size = (size_t)snprintf(long_folder, sizeof(long_folder), "%s", folder);
    memset(long_folder + size, 'x', sizeof(long_folder) - size);
    for (size_t at = size; at < sizeof(long_folder); at += 100) {
        long_folder[at] = '/';
    }
    long_folder[sizeof(long_folder) - 1] = '\0';
    assert_true(dump(long_folder));
    assert_int_equal(strlen(path), 250);
    assert_non_null(strstr(path, "..."));
    assert_non_null(strstr(path, "/dumps/pdl-rtc-"));
    assert_string_equal(path + strlen(path) - 4, ".txt");
    memcpy(long_folder, "/dev/null/", 10);
    assert_false(dump(long_folder));
    assert_non_null(strstr(path, "/dumps: Not a directory"));
}

static void a_failure_that_comes_again_has_its_file_again(void **state)
{
    (void)state;
    char first[sizeof(path)];
    assert_true(dump(folder));
    memcpy(first, path, sizeof(first));
    assert_true(dump(folder));
    assert_string_equal(first, path);
}

static void a_link_planted_as_the_file_is_not_followed(void **state)
{
    (void)state;
    char *target = below("target");
    assert_true(dump(folder));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(target, path), 0);
    assert_true(dump(folder));
    assert_int_equal(access(target, F_OK), -1);
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    assert_true(S_ISREG(status.st_mode));
    free(target);
}

static void there_are_at_most_32_and_other_files_stay(void **state)
{
    (void)state;
    char *dumps = below("dumps");
    char *other = below("dumps/notes.txt");
    assert_int_equal(mkdir(dumps, 0700), 0);
    rtc_file_write(other, "");
    for (int i = 0; i < 400; i++) {
        char source[32];
        struct pdl_rtc_request another = request;
        (void)snprintf(source, sizeof(source), "text %d", i);
        another.source = source;
        assert_true(pdl_rtc_dump(&another, folder, "", path, sizeof(path)));
        char *text = rtc_file_read(path);
        assert_non_null(strstr(text, source));
        free(text);
    }
    assert_in_range(rtc_folder_count(dumps, "pdl-rtc-"), 20, 32);
    assert_int_equal(access(other, R_OK), 0);
    free(dumps);
    free(other);
}

static void *dump_in_a_thread(void *argument)
{
    char mine[512];
    (void)argument;
    for (int i = 0; i < 4; i++) {
        if (!pdl_rtc_dump(&request, folder, "", mine, sizeof(mine))) {
            return NULL;
        }
    }
    return folder;
}

static void threads_dump_at_once(void **state)
{
    (void)state;
    pthread_t threads[4];
    char *dumps = below("dumps");
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, dump_in_a_thread, NULL), 0);
    }
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        void *right = NULL;
        assert_int_equal(pthread_join(threads[i], &right), 0);
        assert_non_null(right);
    }
    assert_int_equal(rtc_folder_count(dumps, "pdl-rtc-"), 1);
    free(dumps);
}

static void the_threads_error_stays(void **state)
{
    (void)state;
    assert_refused(pdl_device_get(0, NULL), PDL_ERROR_INVALID_ARGUMENT, "info", "");
    pdl_rtc_compiler_override(NULL);
    rtc_library_name("/nowhere/libnvrtc.so");
    assert_true(dump(folder)); /* without a compiler to tell of */
    rtc_library_name_restore();
    assert_int_equal(pdl_last_error()->status, PDL_ERROR_INVALID_ARGUMENT);
    assert_string_equal(pdl_last_error()->field, "info");
}

/* ---- the folder ----------------------------------------------------------------------------- */

static void the_environments_folder_is_made_and_used(void **state)
{
    (void)state;
    char *given = below("some/where");
    assert_int_equal(setenv("PDL_RTC_DUMP_DIR", given, 1), 0);
    assert_true(dump("/nowhere"));
    assert_memory_equal(path, given, strlen(given));
    assert_int_equal(rtc_folder_count(given, "pdl-rtc-"), 1);
    assert_true(dump(NULL));
    free(given);
}

static void an_empty_variable_and_no_folder_mean_no_dump(void **state)
{
    (void)state;
    assert_false(dump(NULL));
    assert_string_equal(path, "");
    assert_int_equal(setenv("PDL_RTC_DUMP_DIR", "", 1), 0);
    assert_false(dump(folder));
    assert_string_equal(path, "");
    assert_int_equal(rtc_folder_count(folder, ""), 0);
}

static void folders_that_cannot_be_used_are_the_reason(void **state)
{
    (void)state;
    char *file = below("file");
    char *given = below("file/dumps");
    char *dumps = below("dumps");
    char *target = below("target");
    rtc_file_write(file, "");
    assert_int_equal(setenv("PDL_RTC_DUMP_DIR", given, 1), 0);
    assert_false(dump(folder));
    assert_non_null(strstr(path, given));
    assert_non_null(strstr(path, strerror(ENOTDIR)));
    assert_int_equal(unsetenv("PDL_RTC_DUMP_DIR"), 0);

    assert_int_equal(mkdir(target, 0700), 0); /* a planted link is not followed */
    assert_int_equal(symlink(target, dumps), 0);
    assert_false(dump(folder));
    assert_non_null(strstr(path, dumps));
    assert_int_equal(rtc_folder_count(target, ""), 0);

    assert_int_equal(unlink(dumps), 0); /* nor is one used that others may write to */
    assert_int_equal(mkdir(dumps, 0700), 0);
    assert_int_equal(chmod(dumps, 0777), 0);
    assert_false(dump(folder));
    assert_non_null(strstr(path, strerror(EPERM)));
    assert_int_equal(rtc_folder_count(dumps, ""), 0);
    free(file);
    free(given);
    free(dumps);
    free(target);
}

/* Writes beyond so many bytes fail as on a full disk; 0: no more. */
static void limit_files(rlim_t bytes)
{
    static struct rlimit before;
    if (bytes != 0) {
        (void)signal(SIGXFSZ, SIG_IGN);
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
        const struct rlimit limit = {bytes, before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    } else {
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    }
}

static void a_disk_that_is_full_leaves_no_half_a_dump(void **state)
{
    (void)state;
    static char big[1 << 16];
    memset(big, 'x', sizeof(big) - 1);
    char *dumps = below("dumps");
    struct pdl_rtc_request large = request;
    large.source = big;
    limit_files(1024);
    const bool written = pdl_rtc_dump(&large, folder, "", path, sizeof(path));
    limit_files(0);
    assert_false(written);
    assert_non_null(strstr(path, strerror(EFBIG)));
    assert_int_equal(rtc_folder_count(dumps, ""), 0);
    free(dumps);
}

/* ---- the default cache's -------------------------------------------------------------------- */

static void set(const char *variable, const char *value)
{
    assert_int_equal(value != NULL ? setenv(variable, value, 1) : unsetenv(variable), 0);
}

static void the_default_folder_follows_the_environment(void **state)
{
    (void)state;
    static const struct {
        const char *cache, *directory, *xdg, *home, *wanted;
    } cases[] = {
        {NULL, "/a", "/x", "/h", "/a"},
        {NULL, "relative", "/x", "/h", "relative"},
        {NULL, NULL, "/x", "/h", "/x/pdl"},
        {NULL, "", "/x", "/h", "/x/pdl"},
        {NULL, NULL, "x", "/h", "/h/.cache/pdl"},
        {NULL, NULL, "", "/h", "/h/.cache/pdl"},
        {NULL, NULL, NULL, "/h", "/h/.cache/pdl"},
        {NULL, NULL, NULL, NULL, NULL},
        {NULL, NULL, NULL, "h", NULL},
        {"0", "/a", "/x", "/h", NULL},
        {"1", "/a", "/x", "/h", "/a"},
    };
    char *home = getenv("HOME") != NULL ? strdup(getenv("HOME")) : NULL;
    char *xdg = getenv("XDG_CACHE_HOME") != NULL ? strdup(getenv("XDG_CACHE_HOME")) : NULL;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        set("PDL_RTC_CACHE", cases[i].cache);
        set("PDL_RTC_CACHE_DIR", cases[i].directory);
        set("XDG_CACHE_HOME", cases[i].xdg);
        set("HOME", cases[i].home);
        char *got = NULL;
        assert_ok(pdl_rtc_directory_default(&got));
        if (cases[i].wanted == NULL) {
            assert_null(got);
        } else {
            assert_non_null(got);
            assert_string_equal(got, cases[i].wanted);
        }
        free(got);
    }
    set("PDL_RTC_CACHE", NULL);
    set("PDL_RTC_CACHE_DIR", NULL);
    set("XDG_CACHE_HOME", xdg);
    set("HOME", home);
    free(home);
    free(xdg);
}

#define RTC_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RTC_TEST(a_dump_has_everything_that_a_compilation_was_made_of),
        RTC_TEST(a_dump_is_the_users_alone),
        RTC_TEST(a_long_folder_leaves_the_files_name_and_the_reason),
        RTC_TEST(a_failure_that_comes_again_has_its_file_again),
        RTC_TEST(a_link_planted_as_the_file_is_not_followed),
        RTC_TEST(there_are_at_most_32_and_other_files_stay),
        RTC_TEST(threads_dump_at_once),
        RTC_TEST(the_threads_error_stays),
        RTC_TEST(the_environments_folder_is_made_and_used),
        RTC_TEST(an_empty_variable_and_no_folder_mean_no_dump),
        RTC_TEST(folders_that_cannot_be_used_are_the_reason),
        RTC_TEST(a_disk_that_is_full_leaves_no_half_a_dump),
        RTC_TEST(the_default_folder_follows_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
