/* SPDX-License-Identifier: MIT */
#include "rtc/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/path_text.h"
#include "os/environment.h"

static char *join(const char *directory, const char *below)
{
    char *path = NULL;
    return asprintf(&path, "%s%s", directory, below) < 0 ? NULL : path;
}

pdl_status pdl_rtc_directory_default(char **directory)
{
    /* A program with more rights than its user writes nowhere that the user names. */
    const char *given = pdl_variable_text(PDL_VARIABLE(PDL_RTC_CACHE_DIR));
    const char *xdg = secure_getenv("XDG_CACHE_HOME");
    const char *home = secure_getenv("HOME");
    char *found = NULL;
    if (pdl_variable_read(PDL_VARIABLE(PDL_RTC_CACHE)).value[0] == 0) {
        *directory = NULL;
        return PDL_SUCCESS;
    }
    if (given != NULL) {
        found = strdup(given);
    } else if (xdg != NULL &&
               xdg[0] == '/') { /* others are to be ignored, says its specification */
        found = join(xdg, "/pdl");
    } else if (home != NULL && home[0] == '/') {
        found = join(home, "/.cache/pdl");
    } else {
        *directory = NULL;
        return PDL_SUCCESS;
    }
    if (found == NULL) {
        return PDL_NO_MEMORY();
    }
    *directory = found;
    return PDL_SUCCESS;
}

bool pdl_rtc_directory_make(const char *directory)
{
    char path[PATH_MAX];
    const size_t size = strlen(directory);
    bool made = size < sizeof(path);
    if (!made) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(path, directory, size + 1);
    for (char *at = path; made && at != NULL;) { /* up to each slash, and then the whole */
        at = strchr(at + (*at != '\0'), '/');
        if (at != NULL) {
            *at = '\0';
        }
        made = mkdir(path, S_IRWXU) == 0 || errno == EEXIST;
        if (at != NULL) {
            *at = '/';
        }
    }
    return made;
}

static bool is_link(int at, const char *name)
{
    struct stat about;
    return fstatat(at, name, &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(about.st_mode);
}

static bool is_owned(const struct stat *about, bool read_only)
{
    return about->st_uid == geteuid() || (read_only && about->st_uid == 0);
}

bool pdl_rtc_directory_trusts(const struct stat *about, bool read_only)
{
    return is_owned(about, read_only) && (about->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

int pdl_rtc_directory_open(int at, const char *name, int flags, bool read_only, char *why,
                           size_t why_size)
{
    struct stat about = {0};
    const int folder = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    if (folder < 0) {
        const int error = errno;
        if ((flags & O_NOFOLLOW) != 0 && is_link(at, name)) {
            (void)snprintf(why, why_size, "%s in it is a symbolic link, which is not followed",
                           name);
        } else {
            (void)snprintf(why, why_size, "%s: %s", pdl_path_text(name, 80).text, strerror(error));
        }
        errno = error;
        return -1;
    }
    if (fstat(folder, &about) == 0 && pdl_rtc_directory_trusts(&about, read_only)) {
        return folder;
    }
    const struct pdl_path_text path = pdl_path_text(name, 80);
    if (!is_owned(&about, read_only)) {
        (void)snprintf(why, why_size, "%s belongs to user %u and this process is user %u's",
                       path.text, (unsigned)about.st_uid, (unsigned)geteuid());
    } else {
        (void)snprintf(why, why_size, "%s may be written by others (mode %03o)", path.text,
                       (unsigned)about.st_mode & 07777U);
    }
    (void)close(folder);
    errno = EPERM;
    return -1;
}
