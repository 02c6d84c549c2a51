/* SPDX-License-Identifier: MIT */
/* A folder of images that others could have written to is not used, nor is a file of it, and no link is followed. */
#include "store_case.h"

#include <sys/resource.h>

/* ---- folders that are not to be used ------------------------------------------------------------- */

static void a_missing_folder_is_made_with_those_above(void **state)
{
    (void)state;
    struct stat about;
    struct pdl_rtc_store *other = pdl_rtc_store_open("one/two", false, large, why, sizeof(why));
    assert_non_null(other);
    pdl_rtc_store_close(other);
    assert_int_equal(stat("one/two", &about), 0);
    assert_int_equal(about.st_mode & 07777, 0700);
    assert_null(pdl_rtc_store_open("three", true, large, why, sizeof(why)));
    assert_int_equal(access("three", F_OK), -1);
}

static void a_folder_that_others_may_write_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir("shared", 0700), 0);
    assert_int_equal(chmod("shared", 0770), 0);
    assert_null(pdl_rtc_store_open("shared", false, large, why, sizeof(why)));
    assert_why_has("shared may be written by others (mode 770)");
    assert_int_equal(chmod("shared", 0702), 0);
    assert_null(pdl_rtc_store_open("shared", true, large, why, sizeof(why)));
    assert_why_has("mode 702");
    assert_int_equal(chmod(PDL_RTC_FILES_BASE, 0777), 0);
    assert_null(pdl_rtc_store_open(folder, false, large, why, sizeof(why)));
    assert_why_has(PDL_RTC_FILES_BASE " may be written by others");
}

static void a_folder_of_another_user_is_refused(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip(); /* only root can give a folder away */
    }
    assert_int_equal(chown(PDL_RTC_FILES_BASE, 1234, 0), 0);
    assert_null(pdl_rtc_store_open(folder, false, large, why, sizeof(why)));
    assert_why_has("belongs to user 1234");
    assert_int_equal(chown(PDL_RTC_FILES_BASE, 0, 0), 0);
    assert_int_equal(chown(folder, 1234, 0), 0);
    assert_null(pdl_rtc_store_open(folder, true, large, why, sizeof(why)));
    assert_why_has("belongs to user 1234");
}

static void a_folder_that_is_a_file_is_refused(void **state)
{
    (void)state;
    write_file("file", "text");
    assert_null(pdl_rtc_store_open("file", false, large, why, sizeof(why)));
    assert_why_has("Not a directory");
}

/* ---- files that are not to be used --------------------------------------------------------------- */

static void a_file_that_others_may_write_is_not_used_but_replaced(void **state)
{
    (void)state;
    static const mode_t modes[] = {0620, 0602, 0666, 0777};
    struct stat about;
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        assert_null(put(1));
        assert_int_equal(chmod(path_of(1), modes[i]), 0);
        damaged = 0;
        assert_int_equal(find(1), -1);
        assert_int_equal(damaged, 1);
        assert_null(put(1));
        assert_int_equal(find(1), 1);
        assert_int_equal(stat(path_of(1), &about), 0);
        assert_int_equal(about.st_mode & 07777, 0600);
    }
    assert_int_equal(chmod(path_of(1), 0644), 0); /* reading does no harm */
    assert_int_equal(find(1), 1);
    reopen(true, 0);
    assert_int_equal(chmod(path_of(1), 0664), 0);
    assert_int_equal(find(1), -1);
}

static void a_file_of_another_user_is_not_used_but_replaced(void **state)
{
    (void)state;
    struct stat about;
    if (geteuid() != 0) {
        skip(); /* only root can give a file away */
    }
    assert_null(put(1));
    assert_int_equal(chown(path_of(1), 1234, 0), 0);
    assert_int_equal(find(1), -1);
    assert_int_equal(damaged, 1);
    assert_null(put(1));
    assert_int_equal(find(1), 1);
    assert_int_equal(stat(path_of(1), &about), 0);
    assert_int_equal(about.st_uid, 0);
}

static void roots_files_are_used_where_they_are_only_read(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip(); /* only root can become another user */
    }
    assert_null(put(1));
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(chmod(PDL_RTC_FILES_BASE, 0755), 0);
    assert_int_equal(chmod(PDL_RTC_FILES_BASE "/01", 0755), 0);
    assert_int_equal(chmod(path_of(1), 0644), 0);
    assert_int_equal(seteuid(1234), 0);
    const bool reachable = access(folder, X_OK) == 0 && eaccess(folder, X_OK) == 0;
    if (reachable) {
        reopen(true, 0);
    }
    const int found = reachable && store != NULL ? find(1) : -1;
    assert_int_equal(seteuid(0), 0);
    if (!reachable) {
        skip(); /* the folder for temporary files is root's alone */
    }
    assert_int_equal(found, 1);
    assert_int_equal(chown(path_of(1), 4321, 0), 0);
    assert_int_equal(seteuid(1234), 0);
    const int others = find(1);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(others, -1);
    assert_int_equal(damaged, 1);
}

/* What says nothing of a file does not count as its damage. */
static void without_descriptors_no_file_is_damaged(void **state)
{
    (void)state;
    struct rlimit before;
    assert_null(put(1));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit few = {.rlim_cur = 3, .rlim_max = before.rlim_max};
    const int next = dup(0);
    assert_int_equal(close(next), 0);
    for (rlim_t more = 0; more < 2; more++) { /* for the part, or not even for that */
        struct rlimit now = few;
        now.rlim_cur = (rlim_t)next + more;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
        const int found = find(1);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(found, -1);
        assert_int_equal(damaged, 0);
    }
    assert_int_equal(find(1), 1);
}

/* ---- links --------------------------------------------------------------------------------------- */

static void the_folder_itself_may_be_a_link_to_a_right_one(void **state)
{
    (void)state;
    assert_null(put(1));
    assert_int_equal(symlink(folder, "link"), 0);
    struct pdl_rtc_store *own = store;
    store = pdl_rtc_store_open("link", false, large, why, sizeof(why));
    assert_non_null(store);
    assert_int_equal(find(1), 1);
    pdl_rtc_store_close(store);
    store = own;
}

static void a_link_as_the_base_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir("elsewhere", 0700), 0);
    assert_int_equal(mkdir("folder", 0700), 0);
    assert_int_equal(symlink("../elsewhere", "folder/" PDL_RTC_FILES_BASE), 0);
    assert_null(pdl_rtc_store_open("folder", false, large, why, sizeof(why)));
    assert_why_has("symbolic link");
    assert_null(pdl_rtc_store_open("folder", true, large, why, sizeof(why)));
    assert_int_equal(rtc_folder_count("elsewhere", ""), 0);
}

static void a_link_as_a_part_is_not_followed(void **state)
{
    (void)state;
    assert_int_equal(mkdir("elsewhere", 0700), 0);
    assert_int_equal(symlink("../elsewhere", PDL_RTC_FILES_BASE "/01"), 0);
    assert_non_null(put(1));
    assert_why_has("01 in it is a symbolic link");
    assert_int_equal(find(1), -1);
    assert_int_equal(rtc_folder_count("elsewhere", ""), 0);
}

static void a_link_as_a_file_is_not_followed_but_replaced(void **state)
{
    (void)state;
    struct stat about;
    assert_null(put(1));
    assert_int_equal(rename(path_of(1), "elsewhere"), 0);
    assert_int_equal(symlink("../../elsewhere", path_of(1)), 0);
    assert_int_equal(find(1), -1); /* though what it points to is whole */
    assert_int_equal(damaged, 1);
    write_file("elsewhere", "mine");
    assert_null(put(1));
    assert_int_equal(find(1), 1);
    assert_int_equal(lstat(path_of(1), &about), 0);
    assert_true(S_ISREG(about.st_mode));
    char *text = rtc_file_read("elsewhere");
    assert_string_equal(text, "mine");
    free(text);
}

static void what_is_no_regular_file_is_not_read(void **state)
{
    (void)state;
    assert_int_equal(mkdir(PDL_RTC_FILES_BASE "/01", 0700), 0);
    assert_int_equal(mkfifo(path_of(1), 0600), 0);
    assert_int_equal(find(1), -1);
    assert_int_equal(damaged, 1);
    assert_null(put(1));
    assert_int_equal(find(1), 1);
}

static void a_folder_in_a_files_place_is_a_problem(void **state)
{
    (void)state;
    assert_int_equal(mkdir(PDL_RTC_FILES_BASE "/01", 0700), 0);
    assert_int_equal(mkdir(path_of(1), 0700), 0);
    assert_int_equal(find(1), -1);
    assert_non_null(put(1));
    assert_why_has("a file cannot be renamed");
    assert_int_equal(count_unfinished(PDL_RTC_FILES_BASE "/01"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_missing_folder_is_made_with_those_above),
        STORE_TEST(a_folder_that_others_may_write_is_refused),
        STORE_TEST(a_folder_of_another_user_is_refused),
        STORE_TEST(a_folder_that_is_a_file_is_refused),
        STORE_TEST(a_file_that_others_may_write_is_not_used_but_replaced),
        STORE_TEST(a_file_of_another_user_is_not_used_but_replaced),
        STORE_TEST(roots_files_are_used_where_they_are_only_read),
        STORE_TEST(without_descriptors_no_file_is_damaged),
        STORE_TEST(the_folder_itself_may_be_a_link_to_a_right_one),
        STORE_TEST(a_link_as_the_base_is_refused),
        STORE_TEST(a_link_as_a_part_is_not_followed),
        STORE_TEST(a_link_as_a_file_is_not_followed_but_replaced),
        STORE_TEST(what_is_no_regular_file_is_not_read),
        STORE_TEST(a_folder_in_a_files_place_is_a_problem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
