/* SPDX-License-Identifier: MIT */
/* A folder of images: what is put is found, the oldest goes first. */
#include "store_case.h"

/* ---- putting and finding ------------------------------------------------------------------------- */

static void what_is_put_is_found(void **state)
{
    (void)state;
    assert_int_equal(find(1), -1);
    assert_null(put(1));
    assert_null(put(2));
    assert_int_equal(find(1), 1);
    assert_int_equal(find(2), 2);
    assert_int_equal(find(3), -1);
    reopen(false, large);
    assert_int_equal(find(1), 1);
    assert_int_equal(damaged, 0);
    assert_int_equal(count_unfinished(PDL_RTC_FILES_BASE "/01"), 0);
}

static void files_are_for_their_owner_alone(void **state)
{
    (void)state;
    struct stat about;
    assert_null(put(1));
    assert_int_equal(stat(path_of(1), &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
    assert_int_equal(stat(PDL_RTC_FILES_BASE "/01", &about), 0);
    assert_int_equal(about.st_mode & 07777, 0700);
}

static void two_compilers_do_not_see_each_other(void **state)
{
    (void)state;
    struct pdl_rtc_key one = key_of(1);
    struct pdl_rtc_key other = key_of(1);
    other.compilers++;
    assert_null(put_key(&one, 10, 12080));
    assert_int_equal(find_key(&other), -1);
    assert_null(put_key(&other, 20, 13000));
    assert_int_equal(find_key(&one), 10);
    assert_int_equal(find_key(&other), 20);
}

static void without_a_compiler_the_newest_ones_is_found(void **state)
{
    (void)state;
    const int32_t versions[] = {12080, 13000, 12000};
    struct pdl_rtc_key key = key_of(1);
    for (unsigned i = 0; i < 3; i++) {
        key.compilers = i + 1;
        assert_null(put_key(&key, i, versions[i]));
    }
    key.compilers = 0;
    assert_int_equal(find_key(&key), 1);
    key.text.low++;
    assert_int_equal(find_key(&key), -1);
    assert_non_null(put_key(&key, 4, 13000));
}

static void a_damaged_file_is_counted_and_replaced(void **state)
{
    (void)state;
    assert_null(put(1));
    write_file(path_of(1), "PDLRTC");
    assert_int_equal(find(1), -1);
    assert_int_equal(damaged, 1);
    assert_null(put(1));
    assert_int_equal(find(1), 1);
}

static void a_file_under_anothers_name_is_not_taken(void **state)
{
    (void)state;
    char from[128];
    assert_null(put(1));
    assert_null(put(2));
    (void)snprintf(from, sizeof(from), "%s", path_of(1));
    assert_int_equal(rename(from, path_of(2)), 0);
    assert_int_equal(find(2), -1);
    assert_int_equal(damaged, 1);
}

/* ---- room ---------------------------------------------------------------------------------------- */

static unsigned present(unsigned from, unsigned to)
{
    unsigned count = 0;
    for (unsigned i = from; i < to; i++) {
        count += access(path_of(i), F_OK) == 0;
    }
    return count;
}

static void the_one_used_longest_ago_goes_first(void **state)
{
    (void)state;
    for (unsigned i = 1; i <= 8; i++) {
        assert_null(put(i));
        /* 3 and 7 are the oldest; a clock that went back has some in the future. */
        set_age(path_of(i), 10000 * (time_t)(i % 4 + 1) * (i < 5 ? 1 : -1));
    }
    struct stat about;
    assert_int_equal(stat(path_of(1), &about), 0);
    reopen(false, 8 * (uint64_t)about.st_size);
    assert_null(put(9)); /* 9 files: down to 7/8 of the capacity, 7 files */
    assert_int_equal(evicted, 2);
    assert_int_equal(find(3), -1);
    assert_int_equal(find(7), -1);
    assert_int_equal(present(1, 10), 7);
}

static void a_hit_makes_a_file_young_again(void **state)
{
    (void)state;
    assert_null(put(1));
    set_age(path_of(1), 1000);
    assert_int_equal(find(1), 1);
    assert_true(age_of(path_of(1)) < 100);
}

static void a_hit_of_a_young_file_writes_nothing(void **state)
{
    (void)state;
    assert_null(put(1));
    set_age(path_of(1), 30);
    assert_int_equal(find(1), 1);
    assert_true(age_of(path_of(1)) >= 30);
}

static void a_hit_brings_a_file_back_from_the_future(void **state)
{
    (void)state;
    assert_null(put(1));
    set_age(path_of(1), -100000);
    assert_int_equal(find(1), 1);
    assert_true(age_of(path_of(1)) > -10);
}

static void a_file_larger_than_the_capacity_is_not_written(void **state)
{
    (void)state;
    reopen(false, 500);
    assert_non_null(put(1));
    assert_why_has("more than the capacity");
    assert_int_equal(present(1, 2), 0);
}

static void the_folder_stays_below_its_capacity(void **state)
{
    (void)state;
    struct pdl_rtc_file_list list;
    reopen(false, 20000);
    const int base = open(PDL_RTC_FILES_BASE, O_RDONLY | O_DIRECTORY);
    for (unsigned i = 1; i < 100; i++) {
        assert_null(put(i));
        assert_int_equal(find(i), (int)i);
        assert_int_equal(pdl_rtc_files_list(base, &list), 0);
        assert_true(list.bytes <= 20000);
        pdl_rtc_files_free(&list);
    }
    assert_true(evicted > 75);
    assert_int_equal(close(base), 0);
}

static void files_of_others_are_left_alone(void **state)
{
    (void)state;
    static const char *const others[] = {PDL_RTC_FILES_BASE "/README", "mine",
                                         PDL_RTC_FILES_BASE "/01/notes.txt"};
    assert_null(put(1));
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        write_file(others[i], "");
        set_age(others[i], 100000);
    }
    reopen(false, 1500);
    assert_null(put(2));
    assert_int_equal(present(1, 3), 1);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_int_equal(access(others[i], F_OK), 0);
    }
}

/* Each knows of what it wrote itself, and counts the folder now and then. */
static void two_writers_stay_near_the_capacity(void **state)
{
    (void)state;
    struct pdl_rtc_file_list list;
    struct pdl_rtc_store *stores[2];
    reopen(false, 40000);
    stores[0] = store;
    stores[1] = pdl_rtc_store_open(folder, false, 40000, why, sizeof(why));
    const int base = open(PDL_RTC_FILES_BASE, O_RDONLY | O_DIRECTORY);
    for (unsigned i = 1; i < 100; i++) {
        store = stores[i % 2];
        assert_null(put(i));
        assert_int_equal(pdl_rtc_files_list(base, &list), 0);
        assert_true(list.bytes <= 40000 + 2 * (40000 / 16 + 1200));
        pdl_rtc_files_free(&list);
    }
    store = stores[0];
    pdl_rtc_store_close(stores[1]);
    assert_int_equal(close(base), 0);
}

static void what_a_dead_writer_left_is_removed_when_it_is_old(void **state)
{
    (void)state;
    static const char *const names[] = {PDL_RTC_FILES_BASE "/01/.tmp-1-2-3",
                                        PDL_RTC_FILES_BASE "/01/.tmp-old",
                                        PDL_RTC_FILES_BASE "/01/.tmp-future"};
    static const time_t ages[] = {1000, 10000, -10000};
    assert_null(put(1));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        write_file(names[i], "part of a file");
        set_age(names[i], ages[i]);
    }
    reopen(false, large);
    assert_null(put(2));
    assert_int_equal(access(names[0], F_OK), 0);
    assert_int_equal(access(names[1], F_OK), -1);
    assert_int_equal(access(names[2], F_OK), -1);
}

static void a_folder_that_is_only_read_is_not_touched(void **state)
{
    (void)state;
    assert_null(put(1));
    set_age(path_of(1), 1000);
    reopen(true, 0);
    assert_int_equal(find(1), 1);
    assert_true(age_of(path_of(1)) >= 1000);
    assert_non_null(put(2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(what_is_put_is_found),
        STORE_TEST(files_are_for_their_owner_alone),
        STORE_TEST(two_compilers_do_not_see_each_other),
        STORE_TEST(without_a_compiler_the_newest_ones_is_found),
        STORE_TEST(a_damaged_file_is_counted_and_replaced),
        STORE_TEST(a_file_under_anothers_name_is_not_taken),
        STORE_TEST(the_one_used_longest_ago_goes_first),
        STORE_TEST(a_hit_makes_a_file_young_again),
        STORE_TEST(a_hit_of_a_young_file_writes_nothing),
        STORE_TEST(a_hit_brings_a_file_back_from_the_future),
        STORE_TEST(a_file_larger_than_the_capacity_is_not_written),
        STORE_TEST(the_folder_stays_below_its_capacity),
        STORE_TEST(files_of_others_are_left_alone),
        STORE_TEST(two_writers_stay_near_the_capacity),
        STORE_TEST(what_a_dead_writer_left_is_removed_when_it_is_old),
        STORE_TEST(a_folder_that_is_only_read_is_not_touched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
