/* SPDX-License-Identifier: MIT */
/* A folder of images: what is put is found, by nobody's link and in nobody else's folder, and the oldest goes
 * first. */
#include "rtc/cache/files.h"
#include "rtc/cache/store.h"
#include "rtc_support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char *folder;
static struct pdl_rtc_store *store;
static char why[256];
static uint64_t damaged;
static uint64_t evicted;

static const uint64_t large = (uint64_t)1 << 40;

static struct pdl_rtc_key key_of(unsigned number)
{
    return (struct pdl_rtc_key){
        .text = {(uint64_t)number << 56 | number, number}, .check = {number, 1}, .compilers = 7};
}

static int setup(void **state)
{
    (void)state;
    damaged = 0;
    evicted = 0;
    why[0] = '\0';
    folder = rtc_folder_make();
    store = pdl_rtc_store_open(folder, false, large, why, sizeof(why));
    return store != NULL && chdir(folder) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    pdl_rtc_store_close(store);
    store = NULL;
    const int left = chdir("/");
    rtc_folder_remove(folder);
    return left;
}

static void reopen(bool read_only, uint64_t capacity)
{
    pdl_rtc_store_close(store);
    store = pdl_rtc_store_open(folder, read_only, capacity, why, sizeof(why));
}

/* An image of about 1 KiB whose code tells which it is. */
static pdl_rtc_image *make_image(unsigned number, int32_t version)
{
    pdl_rtc_image *image = calloc(1, sizeof(*image));
    assert_non_null(image);
    atomic_init(&image->references, 1);
    image->output = PDL_RTC_PTX;
    memcpy(image->target, "sm_90", 6);
    image->program = strdup("text.cu");
    image->log = strdup("");
    image->code_size = 1000;
    image->code = calloc(1, image->code_size);
    image->kernels = calloc(1, sizeof(*image->kernels));
    image->compiler_version = version;
    assert_true(image->program != NULL && image->log != NULL && image->code != NULL &&
                image->kernels != NULL);
    (void)snprintf((char *)image->code, image->code_size, "number %u", number);
    return image;
}

static const char *put_key(const struct pdl_rtc_key *key, unsigned number, int32_t version)
{
    pdl_rtc_image *image = make_image(number, version);
    const char *failed = pdl_rtc_store_put(store, key, image, &evicted, why, sizeof(why));
    pdl_rtc_image_destroy(image);
    return failed;
}

static const char *put(unsigned number)
{
    const struct pdl_rtc_key key = key_of(number);
    return put_key(&key, number, 13000);
}

/* The number of what is found; -1 if nothing is. */
static int find_key(const struct pdl_rtc_key *key)
{
    int number = -1;
    pdl_rtc_image *image = pdl_rtc_store_find(store, key, &damaged);
    if (image != NULL) {
        assert_int_equal(sscanf((const char *)image->code, "number %d", &number), 1);
    }
    pdl_rtc_image_destroy(image);
    return number;
}

static int find(unsigned number)
{
    const struct pdl_rtc_key key = key_of(number);
    return find_key(&key);
}

/* "pdl-rtc-1/AB/NAME" of a number, as the working directory is the folder. */
static const char *path_of(unsigned number)
{
    static char path[128];
    char name[PDL_RTC_FILE_NAME];
    const struct pdl_rtc_key key = key_of(number);
    pdl_rtc_files_name(&key, name);
    (void)snprintf(path, sizeof(path), "%s/%s", PDL_RTC_FILES_BASE, name);
    return path;
}

static void set_age(const char *path, time_t seconds)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = now.tv_sec - seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static time_t age_of(const char *path)
{
    struct stat about;
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    assert_int_equal(stat(path, &about), 0);
    return now.tv_sec - about.st_mtim.tv_sec;
}

static void write_file(const char *path, const char *text)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    assert_int_equal(close(file), 0);
}

/* How many files there are that writers have not finished. */
static size_t count_unfinished(const char *part)
{
    size_t count = 0;
    DIR *files = opendir(part);
    assert_non_null(files);
    for (const struct dirent *entry = readdir(files); entry != NULL; entry = readdir(files)) {
        count += strncmp(entry->d_name, ".tmp", 4) == 0;
    }
    assert_int_equal(closedir(files), 0);
    return count;
}

static void assert_why_has(const char *words)
{
    if (strstr(why, words) == NULL) {
        fail_msg("'%s' does not say '%s'", why, words);
    }
}

/* Tries to lock a key, and unlocks it again. */
static int lock_key(const struct pdl_rtc_key *key)
{
    struct pdl_rtc_held lock;
    const int error = pdl_rtc_store_lock(store, key, 0, &lock, why, sizeof(why));
    pdl_rtc_held_close(&lock);
    return error;
}

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

static void a_link_as_the_lock_is_not_followed(void **state)
{
    (void)state;
    const struct pdl_rtc_key key = key_of(1);
    assert_int_equal(symlink("../elsewhere", PDL_RTC_FILES_BASE "/lock"), 0);
    assert_int_equal(lock_key(&key), ELOOP);
    assert_why_has("symbolic link");
    assert_int_equal(access("elsewhere", F_OK), -1);
}

static void what_is_no_regular_file_is_not_read(void **state)
{
    (void)state;
    const struct pdl_rtc_key key = key_of(1);
    assert_int_equal(mkdir(PDL_RTC_FILES_BASE "/01", 0700), 0);
    assert_int_equal(mkfifo(path_of(1), 0600), 0);
    assert_int_equal(find(1), -1);
    assert_int_equal(damaged, 1);
    assert_null(put(1));
    assert_int_equal(find(1), 1);
    assert_int_equal(mkfifo(PDL_RTC_FILES_BASE "/lock", 0600), 0);
    assert_int_equal(lock_key(&key), EINVAL);
}

static void a_folder_in_a_files_place_is_a_problem(void **state)
{
    (void)state;
    assert_int_equal(mkdir(PDL_RTC_FILES_BASE "/01", 0700), 0);
    assert_int_equal(mkdir(path_of(1), 0700), 0);
    assert_int_equal(find(1), -1);
    assert_non_null(put(1));
    assert_why_has("a file cannot be given its name");
    assert_int_equal(count_unfinished(PDL_RTC_FILES_BASE "/01"), 0);
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
        set_age(path_of(i), 10000 * (time_t)(i % 4 + 1)); /* 3 and 7 are the oldest */
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

static void times_from_the_future_become_now(void **state)
{
    (void)state;
    assert_null(put(1));
    set_age(path_of(1), -100000);
    assert_int_equal(find(1), 1);
    assert_true(age_of(path_of(1)) > -10);
    set_age(path_of(1), -100000);
    reopen(false, large);
    assert_null(put(2)); /* which counts the folder */
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
        assert_true(pdl_rtc_files_list(base, false, &list, NULL));
        assert_true(list.bytes <= 20000);
        pdl_rtc_files_free(&list);
    }
    assert_true(evicted > 75);
    assert_int_equal(close(base), 0);
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
        assert_true(pdl_rtc_files_list(base, false, &list, NULL));
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
    static const char *const names[] = {
        PDL_RTC_FILES_BASE "/01/.tmp-1-2-3", PDL_RTC_FILES_BASE "/01/.tmp-old",
        PDL_RTC_FILES_BASE "/01/.tmp-future", PDL_RTC_FILES_BASE "/01/.tmp-locked"};
    static const time_t ages[] = {1000, 10000, -10000, 10000};
    assert_null(put(1));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        write_file(names[i], "part of a file");
        set_age(names[i], ages[i]);
    }
    const int writer = open(names[3], O_WRONLY);
    assert_int_equal(pdl_rtc_files_lock(writer, 0), 0);
    reopen(false, large);
    assert_null(put(2));
    assert_int_equal(access(names[0], F_OK), 0);
    assert_int_equal(access(names[1], F_OK), -1);
    assert_int_equal(access(names[2], F_OK), -1);
    assert_int_equal(access(names[3], F_OK), 0);
    assert_int_equal(close(writer), 0);
}

/* ---- reading only, and locks --------------------------------------------------------------------- */

static void a_folder_that_is_only_read_is_not_touched(void **state)
{
    (void)state;
    const struct pdl_rtc_key key = key_of(1);
    assert_null(put(1));
    set_age(path_of(1), 1000);
    reopen(true, 0);
    assert_int_equal(find(1), 1);
    assert_true(age_of(path_of(1)) >= 1000);
    assert_non_null(put(2));
    assert_int_equal(lock_key(&key), EROFS);
    assert_int_equal(access(PDL_RTC_FILES_BASE "/lock", F_OK), -1);
}

static bool is_locked(uint64_t byte)
{
    const int file = open(PDL_RTC_FILES_BASE "/lock", O_RDWR);
    assert_true(file >= 0);
    const int error = pdl_rtc_files_lock(file, byte);
    assert_int_equal(close(file), 0);
    return error != 0;
}

static void a_lock_is_of_one_key(void **state)
{
    (void)state;
    const struct pdl_rtc_key one = key_of(1);
    struct pdl_rtc_key huge = key_of(2);
    huge.text.low = ~(uint64_t)0;
    struct pdl_rtc_held first;
    struct pdl_rtc_held second;
    assert_int_equal(pdl_rtc_store_lock(store, &one, 0, &first, why, sizeof(why)), 0);
    assert_int_equal(pdl_rtc_store_lock(store, &huge, 0, &second, why, sizeof(why)), 0);
    assert_true(is_locked(1));
    assert_true(is_locked(~(uint64_t)0));
    assert_false(is_locked(2));
    pdl_rtc_held_close(&first);
    assert_false(is_locked(1));
    pdl_rtc_held_close(&second);
    pdl_rtc_held_close(&second);
}

static void a_wait_for_a_lock_has_a_limit(void **state)
{
    (void)state;
    const struct pdl_rtc_key key = key_of(1);
    struct pdl_rtc_held first;
    struct pdl_rtc_held second;
    assert_int_equal(pdl_rtc_store_lock(store, &key, 0, &first, why, sizeof(why)), 0);
    assert_int_equal(pdl_rtc_store_lock(store, &key, 50000000, &second, why, sizeof(why)), EAGAIN);
    assert_why_has("another process has been compiling the text for 0 s");
    assert_int_equal(second.file, -1);
    pdl_rtc_held_close(&first);
    assert_int_equal(lock_key(&key), 0);
}

/* Whether something holds in a child of a fork. */
static bool in_child(bool (*holds)(void))
{
    int status = 1;
    const pid_t child = fork();
    if (child == 0) {
        _exit(holds() ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static struct pdl_rtc_held held[3];
static int held_files[3];

static bool none_is_open(void)
{
    bool none = true;
    for (size_t i = 0; i < COUNT_OF(held); i++) {
        none = none && held[i].file == -1 && fcntl(held_files[i], F_GETFD) == -1;
        pdl_rtc_held_close(&held[i]); /* whatever has that number now stays open */
    }
    return none;
}

static void a_child_of_a_fork_has_no_locks(void **state)
{
    (void)state;
    for (unsigned i = 0; i < COUNT_OF(held); i++) {
        const struct pdl_rtc_key key = key_of(i + 1);
        assert_int_equal(pdl_rtc_store_lock(store, &key, 0, &held[i], why, sizeof(why)), 0);
        held_files[i] = held[i].file;
    }
    assert_true(in_child(none_is_open));
    for (unsigned i = 0; i < COUNT_OF(held); i++) {
        assert_true(is_locked(i + 1)); /* the child's end changes nothing */
        pdl_rtc_held_close(&held[i]);
        assert_false(is_locked(i + 1));
    }
}

#define STORE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(what_is_put_is_found),
        STORE_TEST(files_are_for_their_owner_alone),
        STORE_TEST(two_compilers_do_not_see_each_other),
        STORE_TEST(without_a_compiler_the_newest_ones_is_found),
        STORE_TEST(a_damaged_file_is_counted_and_replaced),
        STORE_TEST(a_file_under_anothers_name_is_not_taken),
        STORE_TEST(a_missing_folder_is_made_with_those_above),
        STORE_TEST(a_folder_that_others_may_write_is_refused),
        STORE_TEST(a_folder_of_another_user_is_refused),
        STORE_TEST(a_folder_that_is_a_file_is_refused),
        STORE_TEST(the_folder_itself_may_be_a_link_to_a_right_one),
        STORE_TEST(a_link_as_the_base_is_refused),
        STORE_TEST(a_link_as_a_part_is_not_followed),
        STORE_TEST(a_link_as_a_file_is_not_followed_but_replaced),
        STORE_TEST(a_link_as_the_lock_is_not_followed),
        STORE_TEST(what_is_no_regular_file_is_not_read),
        STORE_TEST(a_folder_in_a_files_place_is_a_problem),
        STORE_TEST(the_one_used_longest_ago_goes_first),
        STORE_TEST(a_hit_makes_a_file_young_again),
        STORE_TEST(a_hit_of_a_young_file_writes_nothing),
        STORE_TEST(times_from_the_future_become_now),
        STORE_TEST(a_file_larger_than_the_capacity_is_not_written),
        STORE_TEST(the_folder_stays_below_its_capacity),
        STORE_TEST(two_writers_stay_near_the_capacity),
        STORE_TEST(what_a_dead_writer_left_is_removed_when_it_is_old),
        STORE_TEST(a_folder_that_is_only_read_is_not_touched),
        STORE_TEST(a_lock_is_of_one_key),
        STORE_TEST(a_wait_for_a_lock_has_a_limit),
        STORE_TEST(a_child_of_a_fork_has_no_locks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
