/* SPDX-License-Identifier: MIT */
/* The log of a search: text, a line for what was to be searched and for each run, from which an interrupted search goes on.
 *
 *     pdltool bisect log 1
 *     command ./program --fast          arguments, with escapes \x20 for what is no plain character
 *     setting overlap off               what else decides what a run shows
 *     kernel 0 _Z4gemmPf 1-500,502      a suspect and its launches
 *     step 0-31                         which of them overlap; `as-is`, `none`
 *     run passes 0.52                   a run of the command, seconds
 *     run fails 0.55 exit 1
 *     verdict fails                     the step is decided
 */
#ifndef PDL_TOOLS_BISECT_LOG_H
#define PDL_TOOLS_BISECT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "bisect/search.h"
#include "bisect/subset.h"

/* What is known of a step. Its runs count even where it is not decided. */
struct log_step {
    char *set;
    uint32_t passes, failures, skips;
    uint32_t until_failure; /* runs up to the last failure, those that were skipped left out */
    bool decided;
    bool used; /* in this process */
    enum search_verdict verdict;
};

/* Zeroed and opened without a path, it is kept in memory only. */
struct log {
    FILE *file; /* NULL: none */
    const char *path;
    char *command;
    char **settings;
    size_t setting_count, setting_room;
    struct suspect *suspects;
    size_t suspect_count, suspect_room;
    bool has_suspects;       /* all of them */
    struct log_step **steps; /* in order of their first run */
    size_t step_count, step_room;
    struct log_step *current;
    bool was_there; /* the file: this search goes on with it */
    bool failed;    /* a line could not be written; this was said */
};

/* False with a line on standard error. */
bool log_open(struct log *log, const char *path, bool must_exist);
void log_close(struct log *log);

/* What is searched: written into a new log, compared with a log that was there: false with a line on standard error. */
bool log_command(struct log *log, char *const *arguments);
bool log_settings(struct log *log, const char *const *settings, size_t count);

/* Suspects of a new log, which takes them over. */
void log_suspects(struct log *log, struct suspect *suspects, uint32_t count);

/* The step of a set, a new one if it was not there. It stays where it is. */
struct log_step *log_step(struct log *log, const char *set);
/* A run of it. `how` says how it ended, "exit 1". */
void log_run(struct log *log, struct log_step *step, enum search_verdict verdict, double seconds,
             const char *how);
void log_verdict(struct log *log, struct log_step *step, enum search_verdict verdict);

#endif /* PDL_TOOLS_BISECT_LOG_H */
