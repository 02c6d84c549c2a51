/* SPDX-License-Identifier: MIT */
/* pdltool bisect: bisect.c reads the command line, hunt.c says what is tested, steps.c tests it, suspects.c finds the
 * kernels in recordings, report.c and json.c tell what was found. */
#ifndef PDL_TOOLS_BISECT_H
#define PDL_TOOLS_BISECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bisect/odds.h"
#include "bisect/search.h"
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
    int runs; /* of each step; 0: as many as the confidence needs */
    int most_runs;
    double confidence;
    double timeout;
    bool added; /* the overlaps that libpdl-watch adds are suspected */
    bool amplify, verbose, json;
};

/* A kernel by name whose launches overlap unless they are kept from it. */
struct suspect {
    char *name;        /* mangled */
    uint64_t launches; /* of it, in the first recording that has it */
    int rank;          /* the lowest is suspected first */
    size_t place;      /* in the recordings */
};

/* The command with the overlaps of a set of suspects. */
struct step {
    bool *set;    /* of each suspect: it overlaps; NULL: the command as it is */
    size_t count; /* of suspects that were known */
    uint32_t passes, failures, skips;
    uint32_t until_failure; /* runs up to the last failure, those that were skipped left out */
    bool decided;
    enum search_verdict verdict;
};

/* A smallest set of kernels whose overlap makes the command fail. */
struct culprit {
    uint32_t *kernels; /* suspects */
    bool *unresolved;  /* of each */
    uint32_t count;
    bool complete; /* false: the search for a smaller set was given up */
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

/* What becomes of the launches that are not in a step's set. */
enum bisect_base {
    BISECT_ALL_OFF,      /* they do not overlap, suspected or not */
    BISECT_SUSPECTS_OFF, /* suspects do not overlap, all else stays as the program has it */
    BISECT_ADDED         /* they stay as the program has them; what is in the set gets an overlap */
};

struct bisect {
    struct bisect_options options;
    struct odds odds;
    struct temporary folder;
    char *rules, *record; /* paths */
    struct watch watch;   /* of the first recording */
    bool has_watch;
    struct {
        struct suspect *items;
        size_t count, capacity;
    } suspects;
    bool has_suspects;
    uint32_t likely; /* the first so many suspects */
    struct {
        struct step *items;
        size_t count, capacity;
    } steps;
    struct {
        struct culprit *items;
        size_t count, capacity;
    } culprits;
    unsigned runs;
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
/* Tests a set, which has a bool for each suspect. `what` is for the line that tells of it; NULL: the number of kernels.
 * `left`: of steps. A set that was tested is not tested again. */
enum search_verdict steps_test(struct bisect *bisect, const bool *set, const char *what,
                               uint32_t left, bool record);
void steps_remove_recordings(const struct bisect *bisect);
/* From here on, signals that ask to end do so between two runs. */
void steps_catch_signals(void);
enum bisect_base steps_base(const struct bisect *bisect);

/* ---- suspects.c ---- */
/* Reads a recording into `watch`, which is to be freed in any case. */
bool suspects_read(const struct bisect *bisect, struct watch *watch);
/* Lists the suspects of the first recording and, unless it is NULL, of a second one. */
void suspects_find(struct bisect *bisect, const struct watch *second);
/* False with a line on standard error where a recording has no launch that may be suspected, or lacks records that may
 * be the only suspects. */
bool suspects_observed(const struct bisect *bisect, const struct watch *watch);
/* How many there are in the first recording. */
uint32_t suspects_any(const struct bisect *bisect);
void suspects_free(struct bisect *bisect);
/* A suspect in the first recording; NULL. */
const struct watch_kernel *suspects_kernel(const struct bisect *bisect, uint32_t suspect);
/* What the launches of a suspect come behind, the commonest first: at most `most` kernels. */
struct suspect_before {
    const char *shown;
    uint64_t count;
};
size_t suspects_before(const struct bisect *bisect, uint32_t suspect, struct suspect_before *before,
                       size_t most);
/* As people read it; the caller frees it. */
char *suspects_shown(const struct bisect *bisect, uint32_t suspect);

/* ---- report.c, json.c ---- */
int report_exit_code(enum bisect_outcome outcome);
bool report_text(const struct bisect *bisect);
TOOL_OPTIONAL bool report_json(const struct bisect *bisect);

#endif /* PDL_TOOLS_BISECT_H */
