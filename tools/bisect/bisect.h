/* SPDX-License-Identifier: MIT */
/* pdltool bisect: bisect.c reads the command line, hunt.c says what is tested, steps.c tests it, suspects.c finds the
 * kernels in recordings, report.c and json.c tell what was found. */
#ifndef PDL_TOOLS_BISECT_H
#define PDL_TOOLS_BISECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bisect/log.h"
#include "bisect/odds.h"
#include "bisect/subset.h"
#include "bisect/trial.h"
#include "common/optional.h"
#include "common/temporary.h"
#include "watch/model.h"

struct bisect_patterns {
    const char **items;
    size_t count, capacity;
};

struct bisect_options {
    char *const *arguments; /* of the command */
    struct bisect_patterns only, except;
    const char *log;
    bool must_continue; /* the log exists */
    int runs;           /* of each step; 0: as many as the confidence needs */
    int most_runs;
    double confidence;
    double timeout;
    bool added;    /* the overlaps that libpdl-watch adds are suspected */
    bool launches; /* narrow down to launches */
    bool amplify, verbose, json;
};

/* A smallest set of kernels whose overlap makes the command fail. */
struct culprit {
    uint32_t *kernels; /* suspects */
    bool *unresolved;  /* of each */
    uint32_t count;
    bool complete;        /* false: the search for a smaller set was given up */
    struct subset subset; /* which launches are enough */
    bool narrowed;        /* they were searched */
    bool narrowed_fully;
    bool only_these; /* the other launches of these kernels pass */
};

enum bisect_outcome {
    BISECT_FOUND,
    BISECT_NEVER_FAILS,
    BISECT_NOT_OBSERVED, /* said on standard error: nothing can be concluded */
    BISECT_NO_OVERLAP,   /* no launch of it overlaps */
    BISECT_NOT_OVERLAP,  /* it fails without overlap as well */
    BISECT_NOT_JUDGED,   /* a step that all others depend on cannot be judged */
    BISECT_NOT_REPEATED, /* it passes with the overlaps of all kernels that are known */
    BISECT_ABORTED,      /* said on standard error */
    BISECT_INTERRUPTED
};

struct bisect {
    struct bisect_options options;
    struct log log;
    struct odds odds;
    struct temporary folder;
    char *rules, *record; /* paths */
    struct watch watch;   /* of the first recording */
    bool has_watch;
    uint32_t likely; /* the first so many suspects */
    struct {
        struct culprit *items;
        size_t count, capacity;
    } culprits;
    unsigned steps, runs;               /* of this process */
    double false_pass;                  /* the chance that one or more of the passes is none */
    uint32_t least_passes, most_passes; /* runs of a step that passed; 0: none did */
    int signal;
    enum bisect_outcome outcome;
};

/* ---- hunt.c ---- */
enum bisect_outcome hunt(struct bisect *bisect);

/* ---- steps.c ---- */
/* Runs the command as it is until it fails, or as often as wanted. */
enum search_verdict steps_as_is(struct bisect *bisect);
/* Runs it only to see its kernels. */
bool steps_record(struct bisect *bisect);
/* Tests a set. `what` is for the line that tells of it; NULL: numbers of kernels and launches. `left`: of steps. */
enum search_verdict steps_test(struct bisect *bisect, const struct subset *subset, const char *what,
                               uint32_t left, bool record);
void steps_remove_recordings(const struct bisect *bisect);
/* From here on, signals that ask to end do so between two runs. */
void steps_catch_signals(void);
enum subset_base steps_base(const struct bisect *bisect);

/* ---- suspects.c ---- */
/* Reads a recording into `watch`, which is to be freed in any case. */
bool suspects_read(const struct bisect *bisect, struct watch *watch);
/* Puts the suspects into the log, from the first recording and, unless it is NULL, a second one. */
void suspects_find(struct bisect *bisect, const struct watch *second);
/* False with a line on standard error where a recording has no launch that may be suspected, or lacks records that may
 * be the only suspects. */
bool suspects_observed(const struct bisect *bisect, const struct watch *watch);
/* How many there are in the first recording. */
uint32_t suspects_any(const struct bisect *bisect);
/* Whether the suspects of the log are those of the first recording; a line on standard error where not. */
bool suspects_compare(const struct bisect *bisect);
/* A suspect in the first recording; NULL. */
const struct watch_kernel *suspects_kernel(const struct bisect *bisect, uint32_t suspect);
/* What the launches of a culprit's kernel come behind, the commonest first: at most `most` kernels. */
struct suspect_before {
    const char *shown;
    uint64_t count;
};
size_t suspects_before(const struct bisect *bisect, const struct culprit *culprit, uint32_t suspect,
                       struct suspect_before *before, size_t most);
/* As people read it; the caller frees it. */
char *suspects_shown(const struct bisect *bisect, uint32_t suspect);

/* ---- report.c, json.c ---- */
int report_exit_code(enum bisect_outcome outcome);
bool report_text(const struct bisect *bisect);
TOOL_OPTIONAL bool report_json(const struct bisect *bisect);
/* A kernel of a culprit, with its launches where only these fail, as a pattern of rules; the caller frees it. */
char *report_pattern(const struct bisect *bisect, const struct culprit *culprit, uint32_t kernel);

#endif /* PDL_TOOLS_BISECT_H */
