/* SPDX-License-Identifier: MIT */
#include "common/temporary.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/memory.h"

/* A killed program may make one more file while its folder is removed. */
enum { MOST_TRIES = 100, PAUSE_MICROSECONDS = 10000 };

/* Of the folder that is made at the moment, for its keeper, which is forked with it. */
static const char *kept;

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static void remove_all(const char *path)
{
    for (int i = 0; i < MOST_TRIES; i++) {
        if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0 || access(path, F_OK) != 0) {
            return;
        }
        (void)usleep(PAUSE_MICROSECONDS);
    }
}

static void keep(int socket)
{
    pid_t group = 0;
    pid_t next;
    ssize_t got;
    do {
        got = recv(socket, &next, sizeof(next), 0);
        group = got == (ssize_t)sizeof(next) ? next : group;
    } while (got > 0 || (got < 0 && errno == EINTR));
    if (group > 0) {
        (void)kill(-group, SIGKILL);
    }
    remove_all(kept);
}

char *temporary_make(struct temporary *folder)
{
    const char *const base = getenv("TMPDIR");
    sigset_t all;
    sigset_t before;
    *folder = TEMPORARY_NONE;
    folder->path = format_text("%s/pdltool-XXXXXX", base != NULL && *base != '\0' ? base : "/tmp");
    (void)sigfillset(&all); /* no signal ends the tool between the folder and its keeper */
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    char *why = NULL;
    if (mkdtemp(folder->path) == NULL) {
        why = format_text("no temporary directory: %s: %s", folder->path, strerror(errno));
        free(folder->path);
        folder->path = NULL;
    } else {
        char *const path = realpath(folder->path, NULL); /* for programs that run elsewhere */
        if (path != NULL) {
            free(folder->path);
            folder->path = path;
        }
        kept = folder->path;
        (void)process_start(&folder->keeper, keep); /* without one, only temporary_remove() does */
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return why;
}

void temporary_group(const struct temporary *folder, pid_t group)
{
    if (folder->keeper.socket >= 0) {
        (void)send(folder->keeper.socket, &group, sizeof(group), MSG_NOSIGNAL);
    }
}

void temporary_remove(struct temporary *folder)
{
    if (folder->path != NULL) {
        process_end(&folder->keeper);
        remove_all(folder->path);
        free(folder->path);
        folder->path = NULL;
    }
}
