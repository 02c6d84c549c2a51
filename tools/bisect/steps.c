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

enum subset_base steps_base(const struct bisect *bisect)
{
    if (bisect->options.added) {
        return SUBSET_ADDED;
    }
    return bisect->options.only.count + bisect->options.except.count > 0 ? SUBSET_SUSPECTS_OFF
                                                                         : SUBSET_ALL_OFF;
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

static bool run_once(struct bisect *bisect, bool rules, bool record, struct trial_result *result)
{
    const struct trial trial = {.arguments = bisect->options.arguments,
                                .rules = rules ? bisect->rules : NULL,
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

/* The rules of a set; of the program as it is, where `subset` is NULL. False with a line on standard error. */
static bool write_rules(struct bisect *bisect, const struct subset *subset)
{
    const struct bisect_options *const options = &bisect->options;
    FILE *const file = fopen(bisect->rules, "we");
    if (file != NULL && subset != NULL) {
        subset_put_rules(file, subset, steps_base(bisect), options->amplify);
    } else if (file != NULL) {
        for (size_t i = 0; i < options->only.count && options->added; i++) {
            (void)fprintf(file, "on %s\n", options->only.items[i]);
        }
        if (options->only.count == 0 && options->added) {
            (void)fputs("on *\n", file);
        }
        for (size_t i = 0; i < options->except.count && options->added; i++) {
            (void)fprintf(file, "keep %s\n", options->except.items[i]);
        }
        if (options->amplify) {
            (void)fputs("delay *\n", file);
        }
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

/* Passes that make a pass of the step. */
static uint32_t wanted_runs(const struct bisect *bisect)
{
    const struct bisect_options *const options = &bisect->options;
    return options->runs > 0
               ? (uint32_t)options->runs
               : odds_runs(&bisect->odds, options->confidence, (uint32_t)options->most_runs);
}

static enum search_verdict run_step(struct bisect *bisect, struct log_step *step, bool record)
{
    bool recorded = false;
    while (!step->decided) {
        struct trial_result result;
        if (step->failures > 0 || step->skips > 0 || step->passes >= wanted_runs(bisect)) {
            log_verdict(&bisect->log, step,
                        step->failures > 0 ? SEARCH_FAILS
                        : step->skips > 0  ? SEARCH_SKIPPED
                                           : SEARCH_PASSES);
        } else if (!run_once(bisect, true, record && !recorded, &result)) {
            return SEARCH_STOPPED;
        } else {
            recorded = true;
            log_run(&bisect->log, step, result.verdict, result.seconds, result.how);
        }
        if (bisect->log.failed) {
            bisect->outcome = BISECT_ABORTED;
            return SEARCH_STOPPED;
        }
    }
    return step->verdict;
}

/* What the steps so far say about the odds. */
static void take_odds(struct bisect *bisect, struct log_step *step)
{
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

static char *describe(const struct bisect *bisect, const struct subset *subset)
{
    const uint64_t launches = subset_launches(subset);
    uint64_t all = 0;
    bool in_part = false;
    for (uint32_t i = 0; i < subset->count; i++) {
        if (subset->parts[i] != NULL) {
            in_part = true;
        }
        all += subset->parts[i] != NULL || subset->whole[i] ? bisect->log.suspects[i].count : 0;
    }
    char *const of = format_count(subset->count, "kernel", "kernels");
    char *const whole = format_count(all, "launch", "launches");
    char *const text = in_part
                           ? format_text("%llu of %s overlap", (unsigned long long)launches, whole)
                           : format_text("%u of %s overlap", (unsigned)subset_kernels(subset), of);
    free(of);
    free(whole);
    return text;
}

static void tell(const struct bisect *bisect, const struct log_step *step, const char *what,
                 uint32_t left, bool from_log)
{
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
    print_line(stderr, "step %u of about %u: %s: %s%s", bisect->steps,
               bisect->steps + (unsigned)left, what, how, from_log ? " (from the log)" : "");
    free(how);
}

enum search_verdict steps_test(struct bisect *bisect, const struct subset *subset, const char *what,
                               uint32_t left, bool record)
{
    char *const text = subset_text(subset);
    char *const described = what != NULL ? copy_text(what) : describe(bisect, subset);
    struct log_step *const step = log_step(&bisect->log, text);
    const bool was_decided = step->decided;
    enum search_verdict verdict = SEARCH_STOPPED;
    if (was_decided || write_rules(bisect, subset)) {
        verdict = run_step(bisect, step, record);
    }
    if (verdict != SEARCH_STOPPED && !step->used) {
        step->used = true;
        bisect->steps++;
        take_odds(bisect, step);
        tell(bisect, step, described, left, was_decided);
    }
    free(described);
    free(text);
    return verdict;
}

/* ---- the program as it is --------------------------------------------------------------------- */

static bool is_enough(const struct bisect *bisect, const struct log_step *step)
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

static void tell_as_is(const struct bisect *bisect, const struct log_step *step)
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

bool steps_record(struct bisect *bisect)
{
    struct trial_result result;
    return write_rules(bisect, NULL) && run_once(bisect, true, true, &result) &&
           take_recording(bisect);
}

enum search_verdict steps_as_is(struct bisect *bisect)
{
    struct log_step *const step = log_step(&bisect->log, "as-is");
    bool told = false;
    if (!write_rules(bisect, NULL)) {
        return SEARCH_STOPPED;
    }
    while (!step->decided) {
        struct trial_result result;
        if (is_enough(bisect, step)) {
            log_verdict(&bisect->log, step,
                        step->failures > 0 ? SEARCH_FAILS
                        : step->skips > 0  ? SEARCH_SKIPPED
                                           : SEARCH_PASSES);
        } else if (!run_once(bisect, true, !bisect->has_watch, &result)) {
            return SEARCH_STOPPED;
        } else {
            log_run(&bisect->log, step, result.verdict, result.seconds, result.how);
            if (result.verdict == SEARCH_FAILS && !told && !bisect->options.verbose) {
                told = true;
                print_line(stderr, "as it is, the command fails (%s)%s", result.how,
                           result.tail[0] != '\0' ? ", and its output ends with:" : "");
                trial_print_tail(&result);
            }
            if (!take_recording(bisect)) {
                return SEARCH_STOPPED;
            }
        }
        if (bisect->log.failed) {
            bisect->outcome = BISECT_ABORTED;
            return SEARCH_STOPPED;
        }
    }
    step->used = true;
    take_odds(bisect, step);
    tell_as_is(bisect, step);
    return step->verdict;
}
