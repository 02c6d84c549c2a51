/* SPDX-License-Identifier: MIT */
#include "bisect/bisect.h"

#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common/memory.h"
#include "common/print.h"
#include "trace/text.h"

enum { MOST_BEFORE = 3 };

int report_exit_code(enum bisect_outcome outcome)
{
    if (outcome == BISECT_FOUND) {
        return EXIT_DONE;
    }
    return outcome == BISECT_ABORTED || outcome == BISECT_NOT_OBSERVED ? EXIT_USAGE : EXIT_FINDING;
}

/* ---- what was found --------------------------------------------------------------------------- */

static void print_code(const struct watch_kernel *kernel)
{
    static const char *const known[] = {"unknown", "no", "yes"};
    if (kernel == NULL) {
        print_line(stdout, "    code: not in the recording");
        return;
    }
    print_line(stdout, "    code: waits: %s, triggers: %s%s%s",
               kernel->waits <= PDL_YES ? known[kernel->waits] : known[0],
               kernel->triggers <= PDL_YES ? known[kernel->triggers] : known[0],
               kernel->race != WATCH_RACE_NONE ? "; " : "",
               kernel->race != WATCH_RACE_NONE ? watch_race_text(kernel->race) : "");
    if (kernel->finding != NULL) {
        print_line(stdout, "    lint: %s", kernel->finding);
    } else if (kernel->why_unknown != NULL) {
        print_line(stdout, "    lint: unknown: %s", kernel->why_unknown);
    }
}

static void print_before(const struct bisect *bisect, uint32_t kernel)
{
    struct suspect_before before[MOST_BEFORE];
    const size_t count = suspects_before(bisect, kernel, before, MOST_BEFORE);
    for (size_t i = 0; i < count; i++) {
        char *const launches = format_count(before[i].count, "launch", "launches");
        print_line(stdout, "    launched after: %s (%s)", before[i].shown, launches);
        free(launches);
    }
}

static void print_culprit(const struct bisect *bisect, const struct culprit *culprit)
{
    char *const kernels = format_count(culprit->count, "kernel", "kernels");
    if (!culprit->complete) {
        print_line(
            stdout,
            "The command fails where %s overlap; the search for a smaller set was abandoned.",
            kernels);
    } else if (culprit->count == 1) {
        print_line(stdout, "The command fails where only this kernel overlaps:");
    } else {
        print_line(stdout,
                   "The command fails where only these %s overlap, and not without any one of "
                   "them:",
                   kernels);
    }
    for (uint32_t i = 0; i < culprit->count; i++) {
        const uint32_t kernel = culprit->kernels[i];
        const struct suspect *const suspect = &bisect->suspects.items[kernel];
        char *const shown = suspects_shown(bisect, kernel);
        char *const launches =
            format_count(suspect->launches, "launch with overlap", "launches with overlap");
        print_line(stdout, "  %s", shown);
        if (strcmp(shown, suspect->name) != 0) {
            print_line(stdout, "    name: %s", suspect->name);
        }
        free(shown);
        if (culprit->unresolved[i]) {
            print_line(stdout,
                       "    not resolved: without it the command cannot be judged (exit 125)");
        }
        print_line(stdout, "    launches: %s", launches);
        print_before(bisect, kernel);
        print_code(suspects_kernel(bisect, kernel));
        free(launches);
    }
    free(kernels);
}

/* Not by print_line(), which shortens: this is to be copied. A mangled name has nothing that a terminal obeys, and others
 * are escaped. */
static void put_whole(const char *text)
{
    pdl_text_put_shown(stdout, text, SIZE_MAX);
}

/* All names of culprits, with texts between and around them. */
static void put_names(const struct bisect *bisect, const char *before, const char *after,
                      const char *between)
{
    bool first = true;
    for (size_t i = 0; i < bisect->culprits.count; i++) {
        const struct culprit *const culprit = &bisect->culprits.items[i];
        for (uint32_t j = 0; j < culprit->count; j++) {
            (void)printf("%s%s", first ? "" : between, before);
            put_whole(bisect->suspects.items[culprit->kernels[j]].name);
            (void)fputs(after, stdout);
            first = false;
        }
    }
}

static void print_remedy(const struct bisect *bisect)
{
    if (bisect->options.added) {
        (void)printf("\nTo add all other overlaps:\n  pdltool watch --overlap=on");
        put_names(bisect, " --except='=", "'", "");
        (void)printf(" -- COMMAND\n");
        return;
    }
    (void)printf("\nTo run it without these overlaps:\n  pdltool watch --overlap=off");
    put_names(bisect, " --only='=", "'", "");
    (void)printf(" -- COMMAND\nor, where libpdl launches them:\n  PDL_OVERLAP_EXCLUDE='");
    put_names(bisect, "", "", ":");
    (void)printf("' COMMAND\n");
}

static void print_sureness(const struct bisect *bisect)
{
    if (bisect->most_passes == 0) {
        return;
    }
    char *const runs = format_count(bisect->runs, "run", "runs");
    (void)putchar('\n');
    print_line(
        stdout,
        "%u steps, %s of the command. Where it can fail, about %.2g of the runs do; a step passed "
        "after %u to %u runs. The probability that one of these passes hides a failure is at most "
        "about %.2g.",
        (unsigned)bisect->steps.count, runs, odds_of_failure(&bisect->odds),
        (unsigned)bisect->least_passes, (unsigned)bisect->most_passes, bisect->false_pass);
    free(runs);
}

static void print_found(const struct bisect *bisect)
{
    for (size_t i = 0; i < bisect->culprits.count; i++) {
        if (i > 0) {
            (void)puts("\nWithout the overlaps above, it still fails:");
        }
        print_culprit(bisect, &bisect->culprits.items[i]);
    }
    print_remedy(bisect);
}

/* The smallest set of those that failed, among which a further search can begin. */
static void print_fewest(const struct bisect *bisect)
{
    const struct step *best = NULL;
    uint32_t fewest = (uint32_t)bisect->suspects.count;
    for (size_t i = 0; i < bisect->steps.count; i++) {
        const struct step *const step = &bisect->steps.items[i];
        uint32_t overlapping = 0;
        for (size_t j = 0; j < step->count; j++) {
            overlapping += step->set[j];
        }
        if (step->decided && step->verdict == SEARCH_FAILS && overlapping < fewest) {
            best = step;
            fewest = overlapping;
        }
    }
    if (best == NULL) {
        return;
    }
    (void)puts("It failed where only these overlap; to search among them only:");
    for (size_t j = 0; j < best->count; j++) {
        if (best->set[j]) {
            (void)fputs("  --only='", stdout);
            put_whole(bisect->suspects.items[j].name);
            (void)fputs("'\n", stdout);
        }
    }
}

static void print_interrupted(const struct bisect *bisect)
{
    if (bisect->culprits.count > 0) {
        print_line(stdout, "Found before the interruption, not fully checked:");
        for (size_t i = 0; i < bisect->culprits.count; i++) {
            print_culprit(bisect, &bisect->culprits.items[i]);
        }
    }
    print_fewest(bisect);
    print_note("interrupted after %u runs of the command", bisect->runs);
}

bool report_text(const struct bisect *bisect)
{
    const bool limited = steps_base(bisect) == BISECT_SUSPECTS_OFF;
    switch (bisect->outcome) {
    case BISECT_FOUND:
        print_found(bisect);
        break;
    case BISECT_NEVER_FAILS:
        print_line(stdout, "The command passes as it is: there is nothing to search. A rare "
                           "failure needs more runs "
                           "(--runs, --most-runs) or --amplify.");
        break;
    case BISECT_NO_OVERLAP:
        print_line(
            stdout,
            bisect->options.added ? "libpdl-watch adds no overlap to a launch of the command."
            : limited ? "No launch of a suspect asks for overlap: theirs is not the cause."
                      : "No launch of the command asks for overlap: overlap is not the cause.");
        break;
    case BISECT_NOT_OVERLAP:
        print_line(stdout, "The command fails without %s as well: %s is not the cause.",
                   limited                 ? "the overlap of the suspects"
                   : bisect->options.added ? "an added overlap"
                                           : "any overlap",
                   limited ? "it" : "overlap");
        break;
    case BISECT_NOT_JUDGED:
        print_line(stdout,
                   "The command cannot be judged (exit 125) in a step that all others depend on.");
        break;
    case BISECT_NOT_REPEATED:
        print_line(stdout, "The command fails as it is, and passes where all kernels of its first "
                           "runs overlap: it "
                           "launches other kernels from run to run, or fails too rarely for so "
                           "many runs (--runs).");
        break;
    case BISECT_INTERRUPTED:
        print_interrupted(bisect);
        break;
    case BISECT_ABORTED:
    case BISECT_NOT_OBSERVED:
        break;
    }
    if (report_exit_code(bisect->outcome) != EXIT_USAGE && bisect->outcome != BISECT_INTERRUPTED) {
        print_sureness(bisect);
    }
    return fflush(stdout) == 0 && ferror(stdout) == 0;
}
