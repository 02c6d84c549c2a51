/* SPDX-License-Identifier: MIT */
#include "rtc/compile/pch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/error.h"
#include "os/lock.h"
#include "rtc/directory.h"
#include "rtc/request/inputs.h"

#define BASE     "pdl-rtc-pch-"
#define TEMPLATE BASE "XXXXXX"
#define FILES    ".pch"

enum {
    FOLDERS_MAX = 32,
    NAME_SIZE = 2 * 16 + 1 /* of a folder: its hash */
};
/* One header of the toolkit precompiles to 100 MB and more. NVRTC's limit is 256 MiB, unless the program
 * sets another. */
static const uint64_t bytes_max = (uint64_t)512 << 20;
static const uint64_t room_needed = (uint64_t)320 << 20;

/* ------------------------------------------------------------------------------------------------
 * What a precompiled header is made of
 * ---------------------------------------------------------------------------------------------- */

/* Past a backslash, blanks and the end of the line; `at` where there is another thing. */
static const char *skip_splice(const char *at, const char *end)
{
    const char *from = at++;
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) {
        at++;
    }
    return at < end && *at == '\n' ? at + 1 : from;
}

/* Past a comment that `at` may be the beginning of; one of a line goes up to its end. */
static const char *skip_comment(const char *at, const char *end)
{
    if (end - at < 2 || at[0] != '/' || (at[1] != '/' && at[1] != '*')) {
        return at;
    }
    if (at[1] == '*') {
        const char *close = memmem(at + 2, (size_t)(end - at) - 2, "*/", 2);
        return close != NULL ? close + 2 : end;
    }
    while (at < end && *at != '\n') {
        const char *next = *at == '\\' ? skip_splice(at, end) : at;
        at = next != at ? next : at + 1;
    }
    return at;
}

static const char *skip_blanks(const char *at, const char *end)
{
    const char *before = NULL;
    while (at != before && at < end) {
        before = at;
        if (*at == ' ' || (*at >= '\t' && *at <= '\r')) {
            at++;
        } else {
            at = *at == '\\' ? skip_splice(at, end) : skip_comment(at, end);
        }
    }
    return at;
}

/* Past the end of a line, which may have more of them: comments and backslashes. */
static const char *skip_line(const char *at, const char *end)
{
    while (at < end && *at != '\n') {
        const char *next = *at == '\\' ? skip_splice(at, end) : skip_comment(at, end);
        at = next != at ? next : at + 1;
    }
    return at < end ? at + 1 : end;
}

static bool begins(const char *at, const char *end, const char *with)
{
    const size_t size = strlen(with);
    return (size_t)(end - at) >= size && memcmp(at, with, size) == 0;
}

size_t pdl_rtc_pch_prefix(const char *source, size_t size)
{
    const char *end = source + size;
    const char *at = begins(source, end, "\xef\xbb\xbf") ? source + 3 : source;
    int depth = 0;
    if (memmem(source, size,
               "?"
               "?",
               2) != NULL) {
        return size; /* a trigraph may be what a directive begins with */
    }
    while ((at = skip_blanks(at, end)) < end) {
        const size_t sign = *at == '#' ? 1 : begins(at, end, "%:") ? 2 : 0;
        if (sign == 0 && depth == 0) {
            break;
        }
        if (sign != 0) {
            at = skip_blanks(at + sign, end);
            depth += begins(at, end, "if") ? 1 : begins(at, end, "endif") ? -1 : 0;
        }
        at = skip_line(at, end);
    }
    return (size_t)(at - source);
}

/* Of everything but the body of the text and the names in it. */
static pdl_status hash_request(struct pdl_rtc_pch *pch, const struct pdl_rtc_request *request,
                               const struct pdl_rtc_compiler *compiler)
{
    struct pdl_rtc_hash check;
    struct pdl_rtc_sequence *sequence = pdl_rtc_sequence_begin();
    if (sequence == NULL) {
        return PDL_NO_MEMORY();
    }
    pdl_rtc_sequence_number(sequence, (uint64_t)compiler->number);
    pdl_rtc_sequence_add(sequence, compiler->identity.bytes, compiler->identity.size);
    pdl_rtc_inputs_add(sequence, request, pdl_rtc_pch_prefix(request->source, request->source_size),
                       &pch->dependencies);
    pdl_rtc_sequence_end(sequence, &pch->hash, &check);
    return PDL_SUCCESS;
}

/* ------------------------------------------------------------------------------------------------
 * Folders on disk
 * ---------------------------------------------------------------------------------------------- */

static void folder_name(struct pdl_rtc_hash hash, char name[NAME_SIZE])
{
    (void)snprintf(name, NAME_SIZE, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
}

static DIR *list(int folder)
{
    const int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = again >= 0 ? fdopendir(again) : NULL;
    if (listing == NULL && again >= 0) {
        (void)close(again);
    }
    return listing;
}

static int open_own(int at, const char *name)
{
    char why[64];
    return pdl_rtc_directory_open(at, name, O_NOFOLLOW, false, why, sizeof(why));
}

/* Removes a folder with the precompiled headers in it. One that has anything else in it stays. Returns how
 * many bytes they have, with `keep` without removing any. */
static uint64_t sweep(int base, const char *name, bool keep)
{
    uint64_t bytes = 0;
    const int folder = open_own(base, name);
    DIR *files = folder >= 0 ? list(folder) : NULL;
    for (struct dirent *file = NULL; files != NULL && (file = readdir(files)) != NULL;) {
        const size_t size = strlen(file->d_name);
        struct stat about;
        if (size <= strlen(FILES) || strcmp(file->d_name + size - strlen(FILES), FILES) != 0) {
            continue;
        }
        if (!keep) {
            (void)unlinkat(folder, file->d_name, 0);
        } else if (fstatat(folder, file->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0) {
            bytes += (uint64_t)about.st_size;
        }
    }
    if (files != NULL) {
        (void)closedir(files);
    }
    if (folder >= 0) {
        (void)close(folder);
    }
    if (!keep) {
        (void)unlinkat(base, name, AT_REMOVEDIR);
    }
    return bytes;
}

static void remove_base(int at, const char *name, int base)
{
    DIR *folders = list(base);
    for (struct dirent *folder = NULL; folders != NULL && (folder = readdir(folders)) != NULL;) {
        if (strspn(folder->d_name, "0123456789abcdef") == NAME_SIZE - 1 &&
            folder->d_name[NAME_SIZE - 1] == '\0') {
            (void)sweep(base, folder->d_name, false);
        }
    }
    if (folders != NULL) {
        (void)closedir(folders);
    }
    (void)unlinkat(at, name, AT_REMOVEDIR);
}

static const char *temporary(void)
{
    const char *given = secure_getenv("TMPDIR");
    return given != NULL && given[0] != '\0' ? given : "/tmp";
}

/* Removes what processes of this user left that ended without their exit: a living one has its folder
 * locked. */
static void remove_left(void)
{
    const int at = open(temporary(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = at >= 0 ? list(at) : NULL;
    for (struct dirent *entry = NULL; entries != NULL && (entry = readdir(entries)) != NULL;) {
        if (strncmp(entry->d_name, BASE, strlen(BASE)) != 0 ||
            strlen(entry->d_name) != strlen(TEMPLATE)) {
            continue;
        }
        const int base = open_own(at, entry->d_name);
        if (base >= 0 && flock(base, LOCK_EX | LOCK_NB) == 0) {
            remove_base(at, entry->d_name, base);
        }
        if (base >= 0) {
            (void)close(base);
        }
    }
    if (entries != NULL) {
        (void)closedir(entries);
    }
    if (at >= 0) {
        (void)close(at);
    }
}

/* ------------------------------------------------------------------------------------------------
 * The process's folders
 * ---------------------------------------------------------------------------------------------- */

struct place {
    struct pdl_rtc_hash hash;
    bool making;
    uint64_t bytes;
    uint64_t used; /* the clock's */
};

static struct pdl_lock lock;
static struct {
    pid_t owner; /* a fork is another process, and has none yet */
    int base;    /* locked as long as the process lives; -1: none can be made */
    char path[3072];
    uint64_t clock;
    struct place places[FOLDERS_MAX];
    size_t count;
} here = {.base = -1};

/* A new folder of the process, locked before another process takes it for one that was left. */
static int make_base(char *path, size_t size)
{
    for (int attempt = 0; attempt < 8; attempt++) {
        struct stat about;
        const int length = snprintf(path, size, "%s/" TEMPLATE, temporary());
        if (length < 0 || (size_t)length >= size || path[0] != '/' || mkdtemp(path) == NULL) {
            break;
        }
        const int base = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (base >= 0 && flock(base, LOCK_EX | LOCK_NB) == 0 && fstat(base, &about) == 0 &&
            about.st_nlink > 0) {
            return base;
        }
        if (base >= 0) {
            (void)close(base);
        }
        (void)rmdir(path);
    }
    return -1;
}

/* Whether there is room for a precompiled header and for the temporary file beside it that NVRTC maps: it
 * does not look whether writing succeeds, and ends the process where it does not. */
static bool have_room(int folder)
{
    struct statvfs about;
    struct rlimit limit;
    return fstatvfs(folder, &about) == 0 && getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           limit.rlim_cur >= room_needed &&
           (uint64_t)about.f_bavail * about.f_frsize >= room_needed;
}

/* With the lock. */
static bool have_base(void)
{
    const pid_t process = getpid();
    if (here.owner != process) {
        if (here.owner != 0 && here.base >= 0) {
            (void)close(here.base); /* its maker's: it stays locked for that one */
        }
        here.base = -1; /* also for a child that is forked meanwhile */
        here.owner = process;
        here.count = 0;
        remove_left();
        here.base = make_base(here.path, sizeof(here.path));
    }
    return here.base >= 0 && have_room(here.base);
}

static struct place *find_place(struct pdl_rtc_hash hash)
{
    for (size_t i = 0; i < here.count; i++) {
        if (pdl_rtc_hash_equal(here.places[i].hash, hash)) {
            return &here.places[i];
        }
    }
    return NULL;
}

static void remove_place(struct place *place)
{
    char name[NAME_SIZE];
    folder_name(place->hash, name);
    (void)sweep(here.base, name, false);
    *place = here.places[--here.count];
}

/* Removes the folder used longest ago, as long as there are too many or they are too large for `count` more.
 * Those that are being filled stay. */
static void make_room(size_t count)
{
    for (;;) {
        uint64_t bytes = 0;
        struct place *oldest = NULL;
        for (size_t i = 0; i < here.count; i++) {
            struct place *place = &here.places[i];
            bytes += place->bytes;
            if (!place->making && (oldest == NULL || place->used < oldest->used)) {
                oldest = place;
            }
        }
        if (oldest == NULL || (bytes <= bytes_max && here.count + count <= FOLDERS_MAX)) {
            return;
        }
        remove_place(oldest);
    }
}

/* With the lock. Not a folder that another compilation fills: to wait for that one takes no less time than to compile
 * without, and it may be waiting for this one. */
static bool take_place(struct pdl_rtc_pch *pch)
{
    char name[NAME_SIZE];
    struct place *place = find_place(pch->hash);
    if (place != NULL && place->making) {
        return false;
    }
    folder_name(pch->hash, name);
    if (place == NULL) {
        make_room(1);
        if (here.count == FOLDERS_MAX || mkdirat(here.base, name, S_IRWXU) != 0) {
            return false;
        }
        place = &here.places[here.count++];
        *place = (struct place){.hash = pch->hash, .making = true};
        pch->making = true;
    }
    place->used = ++here.clock;
    (void)snprintf(pch->option, sizeof(pch->option), "--pch-dir=%s/%s", here.path, name);
    return true;
}

pdl_status pdl_rtc_pch_begin(struct pdl_rtc_pch *pch, const struct pdl_rtc_request *request,
                             const struct pdl_rtc_compiler *compiler)
{
    *pch = (struct pdl_rtc_pch){0};
    pdl_status status = pdl_rtc_includes_find(request, &pch->dependencies);
    if (status == PDL_SUCCESS && pch->dependencies.unknown == NULL) {
        status = hash_request(pch, request, compiler);
        if (status == PDL_SUCCESS) {
            pdl_lock_take(&lock);
            pch->on = have_base() && take_place(pch);
            pdl_lock_release(&lock);
        }
    }
    if (!pch->on) {
        pdl_rtc_includes_free(&pch->dependencies);
    }
    return status;
}

void pdl_rtc_pch_end(struct pdl_rtc_pch *pch, bool good)
{
    char name[NAME_SIZE];
    if (!pch->on) {
        return;
    }
    good = good && pdl_rtc_includes_unchanged(&pch->dependencies);
    folder_name(pch->hash, name);
    pdl_lock_take(&lock);
    struct place *place = here.owner == getpid() ? find_place(pch->hash) : NULL;
    if (place != NULL && (pch->making || !place->making)) {
        place->making = false;
        place->bytes = sweep(here.base, name, true);
        if (!good) {
            remove_place(place);
        }
        make_room(0);
    }
    pdl_lock_release(&lock);
    pdl_rtc_includes_free(&pch->dependencies);
}

void pdl_rtc_pch_clear(void)
{
    pdl_lock_take(&lock);
    if (here.owner == getpid() && here.base >= 0) {
        remove_base(AT_FDCWD, here.path, here.base);
        (void)close(here.base);
    }
    if (here.owner == getpid()) {
        here.owner = 0;
        here.count = 0;
    }
    pdl_lock_release(&lock);
}

__attribute__((destructor)) static void clear_at_exit(void)
{
    pdl_rtc_pch_clear();
}
