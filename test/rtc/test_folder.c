/* SPDX-License-Identifier: MIT */
/* Looking after a cache's folder. */
#include "cache_support.h"
#include "rtc/cache/files.h"
#include "rtc_support.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char *folder;
static char listed[32][128]; /* "program: kernels" or "damage" */
static char names[32][128];
static size_t count;
static size_t most;
static uint64_t bytes;

static int setup(void **state)
{
    (void)state;
    cache_mock_start(13000, "one");
    folder = rtc_folder_make();
    return chdir(folder);
}

static int teardown(void **state)
{
    (void)state;
    pdl_rtc_compiler_override(NULL);
    const int left = chdir("/");
    rtc_folder_remove(folder);
    return left;
}

/* Compiles `number` texts into the folder. */
static void fill(int number)
{
    pdl_rtc_cache_desc desc = PDL_RTC_CACHE_DESC_INIT;
    pdl_rtc_cache *cache = NULL;
    desc.directory = folder;
    assert_ok(pdl_rtc_cache_create(&desc, &cache));
    for (int i = 0; i < number; i++) {
        const char *kernels[] = {"f<int>", "g"};
        char source[32];
        char program[32];
        pdl_rtc_options options = PDL_RTC_OPTIONS_INIT;
        pdl_rtc_image *image = NULL;
        (void)snprintf(source, sizeof(source), "text %d", i);
        (void)snprintf(program, sizeof(program), "%d.cu", i);
        options.target = "compute_90";
        options.names = kernels;
        options.name_count = 2;
        assert_ok(pdl_rtc_cache_compile(cache, program, source, &options, &image));
        pdl_rtc_image_destroy(image);
    }
    pdl_rtc_cache_destroy(cache);
}

static int32_t on_file(void *context, const pdl_rtc_file *file)
{
    assert_ptr_equal(context, listed);
    assert_true(count < COUNT_OF(listed));
    assert_int_equal(file->size, sizeof(*file));
    (void)snprintf(names[count], sizeof(names[0]), "%s", file->name);
    (void)snprintf(listed[count], sizeof(listed[0]), "%s%s%s", file->program,
                   file->damage != NULL ? "! " : ": ",
                   file->damage != NULL ? file->damage : file->kernels);
    if (file->damage == NULL) {
        assert_string_equal(file->target, "compute_90");
        assert_int_equal(file->compiler_version, 13000);
        assert_int_equal(file->output, PDL_RTC_PTX);
    }
    assert_true(file->bytes < 4096);
    count++;
    return count == most;
}

static void list(void)
{
    count = 0;
    assert_ok(pdl_rtc_folder_list(folder, on_file, listed, &bytes));
}

static void set_age(const char *path, time_t seconds)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = now.tv_sec - seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void files_are_listed_oldest_first(void **state)
{
    (void)state;
    char first[128];
    fill(4);
    most = 0;
    list();
    assert_int_equal(count, 4);
    (void)snprintf(first, sizeof(first), "%s", listed[2]);
    set_age(names[2], 500);
    list();
    assert_string_equal(listed[0], first);
    assert_non_null(strstr(listed[0], ".cu: f<int>\ng"));
    assert_true(bytes > 4 * 100);
}

static void the_visitor_may_end_it(void **state)
{
    (void)state;
    fill(4);
    most = 2;
    list();
    assert_int_equal(count, 2);
    most = 0;
    assert_ok(pdl_rtc_folder_list(folder, NULL, NULL, NULL));
}

static void a_folder_without_a_cache_is_empty(void **state)
{
    (void)state;
    uint64_t removed = 5;
    most = 0;
    list();
    assert_int_equal(count, 0);
    assert_int_equal(bytes, 0);
    assert_ok(pdl_rtc_folder_trim(folder, 0, 0, &removed));
    assert_int_equal(removed, 0);
    assert_int_equal(rtc_folder_count(folder, ""), 0); /* and stays so */
}

static void a_folder_that_is_not_there_is_an_error(void **state)
{
    (void)state;
    assert_refused(pdl_rtc_folder_list("none", NULL, NULL, NULL), PDL_ERROR_CACHE, NULL, "none");
    assert_refused(pdl_rtc_folder_trim("none", 0, 0, NULL), PDL_ERROR_CACHE, NULL, "none");
    fill(1);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_refused(pdl_rtc_folder_trim(folder, 0, 0, NULL), PDL_ERROR_CACHE, NULL, "others");
}

/* Makes three of four files damaged, each in its way; the fourth is last in the list. */
static void damage_three(void)
{
    fill(4);
    most = 0;
    list();
    for (size_t i = 0; i < 4; i++) {
        set_age(names[i], 4000 - 1000 * (time_t)i);
    }
    const int file = open(names[0], O_RDWR);
    assert_int_equal(pwrite(file, "X", 1, 200), 1);
    assert_int_equal(close(file), 0);
    assert_int_equal(truncate(names[1], 0), 0);
    assert_int_equal(unlink(names[2]), 0);
    assert_int_equal(symlink("/etc/hostname", names[2]), 0);
    for (size_t i = 0; i < 2; i++) {
        set_age(names[i], 4000 - 1000 * (time_t)i);
    }
}

static void damage_is_told(void **state)
{
    (void)state;
    damage_three();
    list();
    assert_int_equal(count, 4);
    assert_string_equal(listed[0], "! its checksum is wrong");
    assert_string_equal(listed[1], "! it is too short");
    assert_string_equal(listed[3], "! it is a symbolic link"); /* made last */
    assert_non_null(strstr(listed[2], ".cu: "));
}

static void a_file_that_may_not_be_trusted_is_damaged(void **state)
{
    (void)state;
    uint64_t removed = 0;
    fill(3);
    most = 0;
    list();
    for (size_t i = 0; i < 3; i++) {
        set_age(names[i], 3000 - 1000 * (time_t)i);
    }
    assert_int_equal(chmod(names[0], 0620), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(names[1], 1234, 0), 0);
    } else {
        assert_int_equal(chmod(names[1], 0602), 0);
    }
    list();
    assert_string_equal(listed[0], "! it may be written by others");
    assert_string_equal(listed[1], geteuid() == 0 ? "! it belongs to another user"
                                                  : "! it may be written by others");
    assert_non_null(strstr(listed[2], ".cu: "));
    assert_ok(pdl_rtc_folder_trim(folder, 0, 1, &removed));
    assert_int_equal(removed, 2);
    list();
    assert_int_equal(count, 1);
}

static void a_file_under_anothers_name_is_damaged(void **state)
{
    (void)state;
    fill(2);
    most = 0;
    list();
    char path[128];
    (void)snprintf(path, sizeof(path), "%s", names[1]);
    path[strlen(path) - 1] = path[strlen(path) - 1] == '0' ? '1' : '0';
    assert_int_equal(rename(names[1], path), 0);
    set_age(names[0], 1000);
    list();
    assert_string_equal(listed[1], "! its name does not match its contents");
}

static void only_what_is_damaged_is_removed(void **state)
{
    (void)state;
    uint64_t removed = 0;
    damage_three();
    assert_ok(pdl_rtc_folder_trim(folder, UINT64_MAX, 1, &removed));
    assert_int_equal(removed, 3);
    list();
    assert_int_equal(count, 1);
    assert_non_null(strstr(listed[0], ".cu: "));
}

static void trimming_removes_the_oldest(void **state)
{
    (void)state;
    uint64_t removed = 0;
    char last[128];
    fill(4);
    most = 0;
    list();
    for (size_t i = 0; i < 4; i++) {
        set_age(names[i], 4000 - 1000 * (time_t)i);
    }
    (void)snprintf(last, sizeof(last), "%s", names[3]);
    assert_ok(pdl_rtc_folder_trim(folder, bytes / 2, 0, &removed));
    assert_int_equal(removed, 2);
    list();
    assert_int_equal(count, 2);
    assert_string_equal(names[1], last);
    assert_ok(pdl_rtc_folder_trim(folder, 0, 0, &removed));
    assert_int_equal(removed, 2);
    list();
    assert_int_equal(count, 0);
}

static void files_of_others_are_left_alone(void **state)
{
    (void)state;
    uint64_t removed = 0;
    static const char *const others[] = {PDL_RTC_FILES_BASE "/README", "mine",
                                         PDL_RTC_FILES_BASE "/00/notes.txt"};
    fill(1);
    (void)mkdir(PDL_RTC_FILES_BASE "/00", 0700);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_int_equal(close(open(others[i], O_WRONLY | O_CREAT, 0600)), 0);
    }
    assert_ok(pdl_rtc_folder_trim(folder, 0, 0, &removed));
    assert_int_equal(removed, 1);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_int_equal(access(others[i], F_OK), 0);
    }
}

#define FOLDER_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(files_are_listed_oldest_first),
        FOLDER_TEST(the_visitor_may_end_it),
        FOLDER_TEST(a_folder_without_a_cache_is_empty),
        FOLDER_TEST(a_folder_that_is_not_there_is_an_error),
        FOLDER_TEST(damage_is_told),
        FOLDER_TEST(a_file_that_may_not_be_trusted_is_damaged),
        FOLDER_TEST(a_file_under_anothers_name_is_damaged),
        FOLDER_TEST(only_what_is_damaged_is_removed),
        FOLDER_TEST(trimming_removes_the_oldest),
        FOLDER_TEST(files_of_others_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
