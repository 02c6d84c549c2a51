/* SPDX-License-Identifier: MIT */
#include "rtc/cache/held.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of `all` and `registered` */
static struct pdl_rtc_held *all;
static bool registered;
static atomic_uint forks;

/* ---- a fork --------------------------------------------------------------------------------- */

static void before_fork(void)
{
    (void)pthread_mutex_lock(&lock);
    (void)atomic_fetch_add(&forks, 1);
}

static void after_fork(void)
{
    (void)pthread_mutex_unlock(&lock);
}

/* The threads that had the files are not here, but for the one that forked. */
static void in_child(void)
{
    while (all != NULL) {
        struct pdl_rtc_held *held = all;
        all = held->next;
        (void)close(held->file);
        held->file = -1;
    }
    (void)pthread_mutex_unlock(&lock);
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Whether a child will close it: not if there was a fork since `before`. 0 or errno. */
static int add(struct pdl_rtc_held *held, int file, unsigned before)
{
    int error = 0;
    (void)pthread_mutex_lock(&lock);
    if (!registered) {
        error = pthread_atfork(before_fork, after_fork, in_child);
        registered = error == 0;
    }
    if (error == 0 && atomic_load(&forks) != before) {
        error = EAGAIN;
    }
    if (error == 0) {
        *held = (struct pdl_rtc_held){.next = all, .file = file};
        if (all != NULL) {
            all->previous = held;
        }
        all = held;
    }
    (void)pthread_mutex_unlock(&lock);
    return error;
}

int pdl_rtc_held_open(struct pdl_rtc_held *held, int at, const char *name, int flags, mode_t mode)
{
    int error = EAGAIN;
    held->file = -1;
    while (error == EAGAIN) {
        const unsigned before = atomic_load(&forks);
        const int file = openat(at, name, flags | O_CLOEXEC, mode);
        if (file < 0) {
            return -1;
        }
        error = add(held, file, before);
        if (error != 0) {
            (void)close(file);
        }
        flags &= ~O_EXCL; /* it is this call's own now */
    }
    errno = error;
    return held->file;
}

void pdl_rtc_held_close(struct pdl_rtc_held *held)
{
    const int file = held->file;
    if (file < 0) {
        return;
    }
    /* Closing is not enough where something else than fork() made a child of this process. */
    struct flock unlock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    (void)fcntl(file, F_OFD_SETLK, &unlock);
    (void)pthread_mutex_lock(&lock);
    if (held->previous != NULL) {
        held->previous->next = held->next;
    } else {
        all = held->next;
    }
    if (held->next != NULL) {
        held->next->previous = held->previous;
    }
    (void)pthread_mutex_unlock(&lock);
    (void)close(file);
    held->file = -1;
}
