/* SPDX-License-Identifier: MIT */
/* A folder of images for each test, which is the working directory. */
#ifndef PDL_TEST_RTC_STORE_CASE_H
#define PDL_TEST_RTC_STORE_CASE_H

#include "rtc/cache/files.h"
#include "rtc/cache/store.h"
#include "rtc_support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char *folder;
static struct pdl_rtc_store *store;
static char why[256];
static uint64_t damaged;
static uint64_t evicted;

static const uint64_t large = (uint64_t)1 << 40;

static inline struct pdl_rtc_key key_of(unsigned number)
{
    return (struct pdl_rtc_key){
        .text = {(uint64_t)number << 56 | number, number}, .check = {number, 1}, .compilers = 7};
}

static inline int setup(void **state)
{
    (void)state;
    damaged = 0;
    evicted = 0;
    why[0] = '\0';
    folder = rtc_folder_make();
    store = pdl_rtc_store_open(folder, false, large, why, sizeof(why));
    return store != NULL && chdir(folder) == 0 ? 0 : -1;
}

static inline int teardown(void **state)
{
    (void)state;
    pdl_rtc_store_close(store);
    store = NULL;
    const int left = chdir("/");
    rtc_folder_remove(folder);
    return left;
}

static inline void reopen(bool read_only, uint64_t capacity)
{
    pdl_rtc_store_close(store);
    store = pdl_rtc_store_open(folder, read_only, capacity, why, sizeof(why));
}

/* An image of about 1 KiB whose code tells which it is. */
static inline pdl_rtc_image *make_image(unsigned number, int32_t version)
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

static inline const char *put_key(const struct pdl_rtc_key *key, unsigned number, int32_t version)
{
    pdl_rtc_image *image = make_image(number, version);
    const char *failed = pdl_rtc_store_put(store, key, image, &evicted, why, sizeof(why));
    pdl_rtc_image_destroy(image);
    return failed;
}

static inline const char *put(unsigned number)
{
    const struct pdl_rtc_key key = key_of(number);
    return put_key(&key, number, 13000);
}

/* The number of what is found; -1 if nothing is. */
static inline int find_key(const struct pdl_rtc_key *key)
{
    int number = -1;
    pdl_rtc_image *image = NULL;
    assert_ok(pdl_rtc_store_find(store, key, &image, &damaged));
    if (image != NULL) {
        assert_int_equal(sscanf((const char *)image->code, "number %d", &number), 1);
    }
    pdl_rtc_image_destroy(image);
    return number;
}

static inline int find(unsigned number)
{
    const struct pdl_rtc_key key = key_of(number);
    return find_key(&key);
}

/* "pdl-rtc-2/AB/NAME" of a number, as the working directory is the folder. */
static inline const char *path_of(unsigned number)
{
    static char path[128];
    char name[PDL_RTC_FILE_NAME];
    const struct pdl_rtc_key key = key_of(number);
    pdl_rtc_files_name(&key, name);
    (void)snprintf(path, sizeof(path), "%s/%s", PDL_RTC_FILES_BASE, name);
    return path;
}

static inline void set_age(const char *path, time_t seconds)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = now.tv_sec - seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static inline time_t age_of(const char *path)
{
    struct stat about;
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    assert_int_equal(stat(path, &about), 0);
    return now.tv_sec - about.st_mtim.tv_sec;
}

static inline void write_file(const char *path, const char *text)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    assert_int_equal(close(file), 0);
}

/* How many files there are that writers have not finished. */
static inline size_t count_unfinished(const char *part)
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

static inline void assert_why_has(const char *words)
{
    if (strstr(why, words) == NULL) {
        fail_msg("'%s' does not say '%s'", why, words);
    }
}

#define STORE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

#endif /* PDL_TEST_RTC_STORE_CASE_H */
