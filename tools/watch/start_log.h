/* SPDX-License-Identifier: MIT */
/* The lines that libpdl has logged, into the recording. */
#ifndef PDL_TOOLS_WATCH_START_LOG_H
#define PDL_TOOLS_WATCH_START_LOG_H

/* Adds the lines of a log to the recording as LOG records, in a chunk of their own, and removes the log. Without a
 * recording (NULL, or nothing was recorded) it only does that. What is wrong is a line on standard error: the recording
 * is whole without them. */
void start_take_log(const char *log, const char *recording);

#endif /* PDL_TOOLS_WATCH_START_LOG_H */
