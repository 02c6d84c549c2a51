/* SPDX-License-Identifier: MIT */
/* Open files that have locks. A lock is of the open file, which a child of a fork has as well: it would hold
 * the lock for as long as it lives. So a child closes them all. */
#ifndef PDL_RTC_HELD_H
#define PDL_RTC_HELD_H

#include <sys/types.h>

struct pdl_rtc_held {
    struct pdl_rtc_held *next, *previous;
    int file; /* -1: none, or it was the parent's of this process */
};

/* As openat(), into `held`, which stays where it is until it is closed: the descriptor, or -1 with errno. */
int pdl_rtc_held_open(struct pdl_rtc_held *held, int at, const char *name, int flags, mode_t mode);

/* Unlocks and closes it, if this process has it. */
void pdl_rtc_held_close(struct pdl_rtc_held *held);

#endif /* PDL_RTC_HELD_H */
