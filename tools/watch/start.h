/* SPDX-License-Identifier: MIT */
/* Running a program under libpdl-watch: for `pdltool watch` and `pdltool bisect`. */
#ifndef PDL_TOOLS_WATCH_START_H
#define PDL_TOOLS_WATCH_START_H

#include <stdbool.h>
#include <stdint.h>

struct start {
    const char *record; /* file of the recording; NULL: none. Further processes add .2, .3 … */
    const char *rules;  /* file of rules, see watch/change.h; NULL: nothing is changed */
    const char
        *instrument; /* entry or hoist; NULL: code is loaded as it is, or as the environment says */
    uint64_t skip, count; /* launches; 0 */
    double seconds;       /* of the window; 0: no end */
    double timeout;       /* seconds after which the program is ended; 0: never */
    bool interpose;       /* preload the library too: rules need it */
    bool cupti;           /* used, where it is */
};

/* How it went. */
struct started {
    int exit_code; /* the program's, or 128 + signal as a shell has it; 126, 127: it could not be started */
    int signal;       /* that ended it; 0 */
    bool not_started; /* a line on standard error says why */
    bool timed_out;
    int interrupted; /* the first signal that asked pdltool to end meanwhile: SIGINT, SIGTERM …; 0 */
};

/* Runs it and waits for its end. Signals that the terminal sends to both are left to the program; SIGTERM and SIGHUP are passed
 * on. False where libpdl-watch was not found, with a line on standard error. */
bool start_program(const struct start *start, char *const *arguments, struct started *started);

/* The path of libpdl-watch: PDL_WATCH_LIBRARY, or where it was installed or built, from where pdltool itself is. NULL
 * with a line on standard error. The caller frees it. */
char *start_library(void);

#endif /* PDL_TOOLS_WATCH_START_H */
