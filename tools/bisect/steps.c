/* SPDX-License-Identifier: MIT */
#include "bisect/bisect.h"

#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/memory.h"
#include "common/print.h"

enum { FAILURES_TO_ESTIMATE = 3 };

/* ---- signals ---------------------------------------------------------------------------------- */

static volatile sig_atomic_t caught;

static void catch_signal(int number)
{
    caught = number;
}

void steps_catch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction action = {.sa_handler = catch_signal};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        struct sigaction before;
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
            (void)sigaction(signals[i], &action, NULL); /* nohup stays as it is */
        }
    }
}

/* ---- one run ---------------------------------------------------------------------------------- */

enum bisect_base steps_base(const struct bisect *bisect)
{
    if (bisect->options.added) {
        return BISECT_ADDED;
    }
    return bisect->options.only.count + bisect->options.except.count > 0 ? BISECT_SUSPECTS_OFF
                                                                         : BISECT_ALL_OFF;
}

void steps_remove_recordings(const struct bisect *bisect)
{
    glob_t files = {0};
    char *const all = format_text("%s*", bisect->record);
    if (glob(all, 0, NULL, &files) == 0) {
        for (size_t i = 0; i < files.gl_pathc; i++) {
            (void)unlink(files.gl_pathv[i]);
        }
    }
    globfree(&files);
    free(all);
}

/* A search that goes on only if this is true. */
static bool was_run(struct bisect *bisect, const struct trial_result *result)
{
    if (result->interrupted != 0) {
        bisect->signal = result->interrupted;
        bisect->outcome = BISECT_INTERRUPTED;
    } else if (result->aborted) {
        trial_print_tail(result);
        print_error("the command could not be run or judged (%s); the search ends here",
                    result->how);
        bisect->outcome = BISECT_ABORTED;
    }
    return result->interrupted == 0 && !result->aborted;
}

static bool run_once(struct bisect *bisect, bool record, struct trial_result *result)
{
    const struct trial trial = {.arguments = bisect->options.arguments,
                                .rules = bisect->rules,
                                .record = record ? bisect->record : NULL,
                                .timeout = bisect->options.timeout,
                                .verbose = bisect->options.verbose};
    if (caught != 0) {
        *result = (struct trial_result){.verdict = SEARCH_STOPPED, .interrupted = (int)caught};
        return was_run(bisect, result);
    }
    if (record) {
        steps_remove_recordings(bisect);
    }
    trial_run(&trial, result);
    bisect->runs++;
    return was_run(bisect, result);
}

static void put_rules(const struct bisect *bisect, FILE *to, const bool *set)
{
    const enum bisect_base base = steps_base(bisect);
    if (base == BISECT_ALL_OFF) {
        (void)fputs("off *\n", to);
    }
    for (size_t i = 0; i < bisect->suspects.count; i++) {
        const char *const name = bisect->suspects.items[i].name;
        if (set[i]) {
            (void)fprintf(to, "%s =%s\n", base == BISECT_ADDED ? "on" : "keep", name);
        } else if (base == BISECT_SUSPECTS_OFF) {
            (void)fprintf(to, "off =%s\n", name);
        }
        if (set[i] && bisect->options.amplify) {
            (void)fprintf(to, "delay =%s\n", name);
        }
    }
}

/* Of the command as it is, with the overlaps that are added to it. */
static void put_rules_as_is(const struct bisect_options *options, FILE *to)
{
    for (size_t i = 0; i < options->only.count && options->added; i++) {
        (void)fprintf(to, "on %s\n", options->only.items[i]);
    }
    if (options->only.count == 0 && options->added) {
        (void)fputs("on *\n", to);
    }
    for (size_t i = 0; i < options->except.count && options->added; i++) {
        (void)fprintf(to, "keep %s\n", options->except.items[i]);
    }
    if (options->amplify) {
        (void)fputs("delay *\n", to);
    }
}

/* False with a line on standard error. */
static bool write_rules(struct bisect *bisect, const bool *set)
{
    FILE *const file = fopen(bisect->rules, "we");
    if (file != NULL && set != NULL) {
        put_rules(bisect, file, set);
    } else if (file != NULL) {
        put_rules_as_is(&bisect->options, file);
    }
    const bool failed = file == NULL || ferror(file) != 0;
    if ((file != NULL && fclose(file) != 0) || failed) {
        print_error("cannot write %s: %s", bisect->rules, strerror(errno));
        bisect->outcome = BISECT_ABORTED;
        return false;
    }
    return true;
}

/* ---- one step --------------------------------------------------------------------------------- */

static void count_run(struct step *step, enum search_verdict verdict)
{
    step->passes += verdict == SEARCH_PASSES;
    step->failures += verdict == SEARCH_FAILS;
    step->skips += verdict == SEARCH_SKIPPED;
    if (verdict == SEARCH_FAILS) {
        step->until_failure = step->passes + step->failures;
    }
}

/* By the runs so far, and what this says about the odds. */
static void decide(struct bisect *bisect, struct step *step)
{
    step->decided = true;
    step->verdict = step->failures > 0 ? SEARCH_FAILS
                    : step->skips > 0  ? SEARCH_SKIPPED
                                       : SEARCH_PASSES;
    if (step->verdict == SEARCH_FAILS) {
        odds_add(&bisect->odds, step->failures, step->until_failure);
    } else if (step->verdict == SEARCH_PASSES) {
        bisect->false_pass =
            1 - (1 - bisect->false_pass) * (1 - odds_of_false_pass(&bisect->odds, step->passes));
        bisect->most_passes =
            step->passes > bisect->most_passes ? step->passes : bisect->most_passes;
        bisect->least_passes = bisect->least_passes == 0 || step->passes < bisect->least_passes
                                   ? step->passes
                                   : bisect->least_passes;
    }
}

/* Passes that make a pass of the step. */
static uint32_t wanted_runs(const struct bisect *bisect)
{
    const struct bisect_options *const options = &bisect->options;
    return options->runs > 0
               ? (uint32_t)options->runs
               : odds_runs(&bisect->odds, options->confidence, (uint32_t)options->most_runs);
}

static bool run_step(struct bisect *bisect, struct step *step, bool record)
{
    while (step->failures == 0 && step->skips == 0 && step->passes < wanted_runs(bisect)) {
        struct trial_result result;
        if (!run_once(bisect, record && step->passes == 0, &result)) {
            return false;
        }
        count_run(step, result.verdict);
    }
    return true;
}

/* The step of a set, a new one if it was not there. It stays where it is until the next call. */
static struct step *find_step(struct bisect *bisect, const bool *set)
{
    const size_t count = bisect->suspects.count;
    for (size_t i = 0; i < bisect->steps.count; i++) {
        struct step *const step = &bisect->steps.items[i];
        if (step->count == count && memcmp(step->set, set, count * sizeof(*set)) == 0) {
            return step;
        }
    }
    struct step step = {.set = allocate(count + 1, sizeof(*set)), .count = count};
    memcpy(step.set, set, count * sizeof(*set));
    APPEND(&bisect->steps, step);
    return &bisect->steps.items[bisect->steps.count - 1];
}

static char *describe(const struct step *step)
{
    unsigned overlapping = 0;
    for (size_t i = 0; i < step->count; i++) {
        overlapping += step->set[i];
    }
    char *const of = format_count(step->count, "kernel", "kernels");
    char *const text = format_text("%u of %s overlap", overlapping, of);
    free(of);
    return text;
}

static void tell(const struct bisect *bisect, const struct step *step, const char *what,
                 uint32_t left)
{
    char *const described = what != NULL ? copy_text(what) : describe(step);
    const unsigned number = (unsigned)bisect->steps.count;
    char *how;
    switch (step->verdict) {
    case SEARCH_FAILS:
        how = format_text("fails (run %u)", (unsigned)step->until_failure);
        break;
    case SEARCH_PASSES:
        how = format_text(step->passes == 1 ? "passes (%u run)" : "passes (%u runs)",
                          (unsigned)step->passes);
        break;
    default:
        how = copy_text("cannot be judged");
        break;
    }
    print_line(stderr, "step %u of about %u: %s: %s", number, number + (unsigned)left, described,
               how);
    free(how);
    free(described);
}

enum search_verdict steps_test(struct bisect *bisect, const bool *set, const char *what,
                               uint32_t left, bool record)
{
    struct step *const step = find_step(bisect, set);
    if (!step->decided) {
        if (!write_rules(bisect, set) || !run_step(bisect, step, record)) {
            return SEARCH_STOPPED;
        }
        decide(bisect, step);
        tell(bisect, step, what, left);
    }
    return step->verdict;
}

/* ---- the program as it is --------------------------------------------------------------------- */

static bool is_enough(const struct bisect *bisect, const struct step *step)
{
    const struct bisect_options *const options = &bisect->options;
    const uint32_t runs = step->passes + step->failures;
    if (step->skips > 0) {
        return true;
    }
    return options->runs > 0
               ? step->failures > 0 || runs >= (uint32_t)options->runs
               : step->failures >= FAILURES_TO_ESTIMATE || runs >= (uint32_t)options->most_runs;
}

static void tell_as_is(const struct bisect *bisect, const struct step *step)
{
    char *const runs = format_count(step->passes + step->failures, "run", "runs");
    if (step->skips > 0) {
        print_line(stderr, "as it is: cannot be judged (exit status 125)");
    } else if (step->failures == 0) {
        print_line(stderr, "as it is: passes (%s)", runs);
    } else if (bisect->options.runs > 0) {
        print_line(stderr, "as it is: fails (run %u)", (unsigned)step->until_failure);
    } else {
        print_line(stderr, "as it is: fails in %u of %s", (unsigned)step->failures, runs);
    }
    free(runs);
}

/* Keeps the first recording. */
static bool take_recording(struct bisect *bisect)
{
    if (bisect->has_watch) {
        return true;
    }
    bisect->has_watch = true;
    (void)setenv("PDL_WATCH_CODE", "0", 1); /* the code was recorded */
    if (!suspects_read(bisect, &bisect->watch)) {
        print_error("the command was not observed: it left no readable recording. It does not use "
                    "CUDA, fails before it does, or libpdl-watch is not loaded into it, as where a "
                    "command drops the environment (env -i, sudo, a container)");
        bisect->outcome = BISECT_NOT_OBSERVED;
    } else if (!suspects_observed(bisect, &bisect->watch)) {
        bisect->outcome = BISECT_NOT_OBSERVED;
    }
    return bisect->outcome != BISECT_NOT_OBSERVED;
}

enum search_verdict steps_as_is(struct bisect *bisect)
{
    struct step step = {0};
    if (!write_rules(bisect, NULL)) {
        return SEARCH_STOPPED;
    }
    while (!is_enough(bisect, &step)) {
        struct trial_result result;
        if (!run_once(bisect, !bisect->has_watch, &result)) {
            return SEARCH_STOPPED;
        }
        count_run(&step, result.verdict);
        if (step.failures == 1 && result.verdict == SEARCH_FAILS && !bisect->options.verbose) {
            print_line(stderr, "as it is, the command fails (%s)%s", result.how,
                       result.tail[0] != '\0' ? ", and its output ends with:" : "");
            trial_print_tail(&result);
        }
        if (!take_recording(bisect)) {
            return SEARCH_STOPPED;
        }
    }
    decide(bisect, &step);
    tell_as_is(bisect, &step);
    return step.verdict;
}
