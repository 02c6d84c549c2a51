/* SPDX-License-Identifier: MIT */
#include "rtc/cache/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/array.h"
#include "core/file.h"
#include "rtc/directory.h"

#define TEMPORARY ".tmp-"

static const int64_t second_ns = 1000000000;

enum {
    TOUCH_AFTER = 60,       /* seconds: hits in between leave the time as it is */
    TEMPORARY_AGE = 60 * 60 /* seconds */
};
static const size_t max_file_size = (size_t)1 << 30;

static int64_t now_ns(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * second_ns + now.tv_nsec;
}

static int64_t modified_ns(const struct stat *about)
{
    return (int64_t)about->st_mtim.tv_sec * second_ns + about->st_mtim.tv_nsec;
}

/* ------------------------------------------------------------------------------------------------
 * Folders
 * ---------------------------------------------------------------------------------------------- */

static int open_below(int at, const char *name, bool make, bool read_only, char *why,
                      size_t why_size)
{
    if (make && mkdirat(at, name, S_IRWXU) != 0 && errno != EEXIST) {
        const int error = errno;
        struct stat about;
        if (fstatat(at, name, &about, AT_SYMLINK_NOFOLLOW) != 0) {
            (void)snprintf(why, why_size, "%s cannot be created: %s", name, strerror(error));
            errno = error;
            return -1;
        }
    }
    return pdl_rtc_directory_open(at, name, O_NOFOLLOW, read_only, why, why_size);
}

int pdl_rtc_files_open(const char *directory, bool make, bool read_only, char *why, size_t why_size)
{
    if (make) {
        (void)pdl_rtc_directory_make(directory); /* what goes wrong shows when it is opened */
    }
    const int folder = pdl_rtc_directory_open(AT_FDCWD, directory, 0, read_only, why, why_size);
    if (folder < 0) {
        return -1;
    }
    const int base = open_below(folder, PDL_RTC_FILES_BASE, make, read_only, why, why_size);
    const int error = errno;
    (void)close(folder);
    errno = error;
    return base;
}

static int open_part(int base, const char *name, bool make, bool read_only, char *why,
                     size_t why_size)
{
    const char part[3] = {name[0], name[1], '\0'};
    return open_below(base, part, make, read_only, why, why_size);
}

int pdl_rtc_files_part(int base, const char *name, bool read_only)
{
    char why[64];
    return open_part(base, name, false, read_only, why, sizeof(why));
}

/* ------------------------------------------------------------------------------------------------
 * Names
 * ---------------------------------------------------------------------------------------------- */

void pdl_rtc_files_name(const struct pdl_rtc_key *key, char name[PDL_RTC_FILE_NAME])
{
    (void)snprintf(name, PDL_RTC_FILE_NAME, "%02x/%016" PRIx64 "%016" PRIx64 "-%016" PRIx64,
                   (unsigned)(key->text.high >> 56), key->text.high, key->text.low, key->compilers);
}

/* Whether it is one, without its part. */
static bool is_name(const char *name)
{
    static const char digits[] = "0123456789abcdef";
    return strspn(name, digits) == 32 && name[32] == '-' && strspn(name + 33, digits) == 16 &&
           name[49] == '\0';
}

/* ------------------------------------------------------------------------------------------------
 * Reading and writing
 * ---------------------------------------------------------------------------------------------- */

/* Whether an error is this process's, and says nothing of a file. */
static bool is_own(int error)
{
    return error == ENOMEM || error == EMFILE || error == ENFILE;
}

unsigned char *pdl_rtc_files_read(int at, const char *name, bool read_only, size_t *size,
                                  bool *damaged)
{
    struct stat about;
    unsigned char *bytes = NULL;
    int error = 0;
    const int file = pdl_file_open(at, name, O_NOFOLLOW, &about);
    if (file < 0) {
        error = errno;
    } else if (!pdl_rtc_directory_trusts(&about, read_only)) {
        error = EPERM;
    } else {
        bytes = pdl_file_take(file, max_file_size, size);
        error = errno;
    }
    if (bytes != NULL && !read_only &&
        llabs(now_ns() - modified_ns(&about)) > TOUCH_AFTER * second_ns) {
        const struct timespec now[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
        (void)futimens(file, now); /* a folder that cannot be written keeps its times */
    }
    if (file >= 0) {
        (void)close(file);
    }
    *damaged = bytes == NULL && error != ENOENT && !is_own(error);
    errno = error;
    return bytes;
}

static bool write_bytes(int file, const unsigned char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t count = write(file, bytes, size);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            errno = count == 0 ? ENOSPC : errno;
            return false;
        }
        bytes += count;
        size -= (size_t)count;
    }
    return true;
}

/* A new file under a name that nobody else has. */
static int open_temporary(int part, char *name, size_t name_size)
{
    static atomic_uint counter;
    for (int attempt = 0; attempt < 100; attempt++) {
        (void)snprintf(name, name_size, TEMPORARY "%ld-%u-%" PRIx64, (long)getpid(),
                       atomic_fetch_add(&counter, 1), (uint64_t)now_ns());
        const int file = openat(part, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                S_IRUSR | S_IWUSR);
        if (file >= 0 || errno != EEXIST) {
            return file;
        }
    }
    return -1;
}

const char *pdl_rtc_files_write(int base, const char *name, const void *bytes, size_t size,
                                char *why, size_t why_size)
{
    char temporary[64] = "";
    const char *step = "a file cannot be created";
    const int part = open_part(base, name, true, false, why, why_size);
    if (part < 0) {
        return why;
    }
    bool done = false;
    const int file = open_temporary(part, temporary, sizeof(temporary));
    if (file >= 0) {
        step = "a file cannot be written";
        done = write_bytes(file, bytes, size);
        if (done) {
            step = "a file cannot be renamed";
            done = renameat(part, temporary, part, name + 3) == 0;
        }
        const int error = errno;
        if (!done) {
            (void)unlinkat(part, temporary, 0);
        }
        (void)close(file); /* what close() may say comes too late: the checksum tells */
        errno = error;
    }
    if (!done) {
        (void)snprintf(why, why_size, "%s: %s", step, strerror(errno));
    }
    (void)close(part);
    return done ? NULL : why;
}

/* ------------------------------------------------------------------------------------------------
 * All files
 * ---------------------------------------------------------------------------------------------- */

/* Removes a file that a writer left behind: one that is not of the last hour. A clock that went back makes it an hour
 * from the other side. */
static void remove_left(int part, const char *name, const struct stat *about, int64_t now)
{
    const int64_t age = now - modified_ns(about);
    if (age >= TEMPORARY_AGE * second_ns || age <= -TEMPORARY_AGE * second_ns) {
        (void)unlinkat(part, name, 0);
    }
}

struct walk {
    int64_t now;
    struct pdl_rtc_file_list *list;
    int error; /* why it ended too early */
};

static bool walk_file(struct walk *walk, int part, const char *part_name, const char *name)
{
    struct pdl_rtc_file_found file;
    struct stat about;
    if (fstatat(part, name, &about, AT_SYMLINK_NOFOLLOW) != 0) {
        return true;
    }
    if (strncmp(name, TEMPORARY, strlen(TEMPORARY)) == 0) {
        remove_left(part, name, &about, walk->now);
        return true;
    }
    if (!is_name(name)) {
        return true;
    }
    (void)snprintf(file.name, sizeof(file.name), "%.2s/%.49s", part_name, name);
    file.size = (uint64_t)about.st_size;
    /* One from the future, where a clock went back, is as old as it is away. */
    file.used = walk->now - llabs(walk->now - modified_ns(&about));
    if (!PDL_ARRAY_ROOM(walk->list->items, walk->list->count, walk->list->capacity)) {
        walk->error = ENOMEM;
        return false;
    }
    walk->list->items[walk->list->count++] = file;
    walk->list->bytes += file.size;
    return true;
}

static bool walk_part(struct walk *walk, int base, const char *part_name)
{
    const struct dirent *entry;
    bool more = true;
    const int part = pdl_rtc_files_part(base, part_name, true);
    DIR *files = part >= 0 ? fdopendir(part) : NULL;
    if (files == NULL) {
        walk->error = is_own(errno) ? errno : 0;
        if (part >= 0) {
            (void)close(part);
        }
        return walk->error == 0;
    }
    while (more && (entry = readdir(files)) != NULL) {
        more = walk_file(walk, part, part_name, entry->d_name);
    }
    (void)closedir(files);
    return more;
}

static int by_use(const void *left, const void *right)
{
    const struct pdl_rtc_file_found *a = left;
    const struct pdl_rtc_file_found *b = right;
    if (a->used != b->used) {
        return a->used < b->used ? -1 : 1;
    }
    return strcmp(a->name, b->name);
}

int pdl_rtc_files_list(int base, struct pdl_rtc_file_list *list)
{
    struct pdl_rtc_file_list made = {0};
    struct walk walk = {.now = now_ns(), .list = &made};
    bool more = true;
    for (unsigned part = 0; more && part < 256; part++) {
        char name[4];
        (void)snprintf(name, sizeof(name), "%02x", part);
        more = walk_part(&walk, base, name);
    }
    if (!more) {
        pdl_rtc_files_free(&made);
        return walk.error;
    }
    if (made.count > 0) {
        qsort(made.items, made.count, sizeof(*made.items), by_use);
    }
    *list = made;
    return 0;
}

void pdl_rtc_files_free(struct pdl_rtc_file_list *list)
{
    free(list->items);
    *list = (struct pdl_rtc_file_list){0};
}

uint64_t pdl_rtc_files_evict(int base, struct pdl_rtc_file_list *list, uint64_t capacity,
                             const char *keep)
{
    uint64_t removed = 0;
    for (size_t i = 0; i < list->count && list->bytes > capacity; i++) {
        const struct pdl_rtc_file_found *file = &list->items[i];
        if (keep != NULL && strcmp(file->name, keep) == 0) {
            continue;
        }
        const int part = pdl_rtc_files_part(base, file->name, false);
        if (part < 0) {
            continue;
        }
        if (unlinkat(part, file->name + 3, 0) == 0) {
            removed++;
            list->bytes -= file->size;
        } else if (errno == ENOENT) {
            list->bytes -= file->size; /* another process was faster */
        }
        (void)close(part);
    }
    return removed;
}
