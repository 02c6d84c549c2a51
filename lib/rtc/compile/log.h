/* SPDX-License-Identifier: MIT */
/* What the compiler said, kept for each thread: see pdl_rtc_log(). */
#ifndef PDL_RTC_LOG_H
#define PDL_RTC_LOG_H

#include <stddef.h>

/* Makes a text the calling thread's log. Where memory is short it becomes "". */
void pdl_rtc_log_set(const char *text);

/* Room for a log of `size` bytes and a NUL, which begins as ""; NULL where memory is short. It is the
 * thread's log from now on, and what is written there shows. */
char *pdl_rtc_log_room(size_t size);

#endif /* PDL_RTC_LOG_H */
