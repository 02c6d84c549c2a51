/* SPDX-License-Identifier: MIT */
/* The report for people: the verdict first, then races, kernels, neighbours, and the reasons with what to do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/input.h"
#include "common/memory.h"
#include "common/print.h"
#include "watch/brief.h"
#include "watch/model.h"
#include "watch/start.h"

/* Of a name in a table, beside the table's numbers. Of a pair there are two. */
enum { NAME_COLUMNS = 30, PAIR_NAME_COLUMNS = 24 };

struct text {
    const struct watch *watch;
    const struct watch_limits *limits;
    bool explained[WATCH_REASON_COUNT]; /* reasons that a table has */
};

static char *number(uint64_t value)
{
    return format_count(value, "", "");
}

static char *dash(void)
{
    return copy_text("-");
}

/* The word for programs as people write it. */
static char *reason_cell(struct text *text, enum watch_reason reason)
{
    char *const word = copy_text(watch_reason_word(reason));
    for (char *c = word; *c != '\0'; c++) {
        if (*c == '_') {
            *c = ' ';
        }
    }
    text->explained[reason] = true;
    return word;
}

static char *name_cell(const struct text *text, uint32_t kernel, size_t columns)
{
    if (kernel == WATCH_NONE || kernel >= text->watch->kernels.count) {
        return copy_text("copy or memset");
    }
    const char *const shown = text->watch->kernels.items[kernel].shown;
    return text->limits->full_names ? copy_text(shown) : brief_name(shown, columns);
}

static void print_name(const struct text *text, uint32_t kernel)
{
    char *const name = name_cell(text, kernel, 100);
    print_plain(stdout, name);
    free(name);
}

static size_t rows_of(size_t count, size_t limit)
{
    return limit > 0 && count > limit ? limit : count;
}

static void print_left_out(size_t count, size_t shown, const char *one, const char *many)
{
    if (count > shown) {
        char *const left = format_count(count - shown, one, many);
        printf("  and %s more; --all shows all\n", left);
        free(left);
    }
}

/* ---- the verdict ------------------------------------------------------------------------------ */

static void put_overlap(FILE *out, const struct watch *watch)
{
    char *const overlapped = number(watch->sums.overlapped);
    char *const share = brief_share(watch->sums.overlapped, watch->sums.launches);
    char *const saved = brief_time(watch->sums.saved_ns);
    char *const saving = brief_time(watch->sums.saving_ns);
    (void)fprintf(out, ", %s overlapped the kernel before", overlapped);
    if (watch->sums.overlapped > 0) {
        (void)fprintf(out, " (%s), which saved %s", share, saved);
    }
    if (watch->sums.saving_ns > 0) {
        (void)fprintf(out, "; overlap would save at most %s%s", saving,
                      watch->sums.overlapped > 0 ? " more" : "");
    }
    free(saving);
    free(saved);
    free(share);
    free(overlapped);
}

static const char *nothing(const struct watch *watch)
{
    if (watch_unseen(watch) == WATCH_NO_LAUNCH) {
        return "no launch counts: all are of other kernels, failed, or in graphs whose runs were "
               "not recorded";
    }
    for (size_t i = 0; i < watch->processes.count; i++) {
        if (watch->processes.items[i].cupti_version == 0) {
            /* libpdl-watch notes why it goes without, unless it was told to. */
            return watch->notes.count > 0
                       ? "no launch was seen: CUPTI is missing; try --no-cupti"
                       : "no launch was seen, and CUPTI was not used, which sees calls that "
                         "libpdl-watch does not intercept";
        }
    }
    return watch->processes.count == 0
               ? "nothing was recorded: the program does not use CUDA, or the driver did not load "
                 "libpdl-watch"
               : "no kernel was launched";
}

static size_t count_unknown(const struct watch *watch)
{
    size_t count = 0;
    for (size_t i = 0; i < watch->kernels.count; i++) {
        count += watch_race_is_open(watch->kernels.items[i].race);
    }
    return count;
}

static void put_judgement(FILE *out, const struct watch *watch)
{
    const size_t unknown = count_unknown(watch);
    char *const races = format_count(watch->sums.races, "kernel races", "kernels race");
    (void)fprintf(out, "; %s%s", watch->sums.races > 0 ? races : "no races",
                  watch_unseen(watch) == WATCH_LOST ? " in what was recorded" : "");
    if (unknown > 0) {
        char *const kernels = format_count(unknown, "kernel", "kernels");
        (void)fprintf(out, ", %s not judged", kernels);
        free(kernels);
    }
    free(races);
}

/* In one line, which the caller frees. */
static char *verdict_text(const struct watch *watch)
{
    if (watch->sums.launches == 0) {
        return copy_text(nothing(watch));
    }
    char *text = NULL;
    size_t size = 0;
    FILE *const out = memory_open(&text, &size);
    char *const launches = format_count(watch->sums.launches, "launch", "launches");
    char *const asked = number(watch->sums.asked);
    (void)fputs(launches, out);
    if (watch->sums.graph_runs > 0) {
        char *const runs = number(watch->sums.graph_runs);
        (void)fprintf(out, " (%s in graphs)", runs);
        free(runs);
    }
    (void)fprintf(out, ": %s asked for overlap", asked);
    if (watch->sums.added > 0) {
        char *const added = format_count(watch->sums.added, "was given it", "were given it");
        (void)fprintf(out, ", %s", added);
        free(added);
    }
    if (watch->has_times) {
        put_overlap(out, watch);
    } else {
        (void)fputs("; without device times it is unknown which overlapped", out);
    }
    put_judgement(out, watch);
    memory_close(out);
    free(asked);
    free(launches);
    return text;
}

bool watch_print_verdict(const struct watch *watch)
{
    char *const text = verdict_text(watch);
    (void)puts(text);
    free(text);
    return ferror(stdout) == 0;
}

/* ---- how far to trust it ---------------------------------------------------------------------- */

static void print_program(const struct watch *watch)
{
    const struct started *const program = watch->program;
    if (program != NULL && program->signal != 0) {
        print_line(stdout, "signal %d (%s) ended the program", program->signal,
                   strsignal(program->signal));
    } else if (program != NULL && program->exit_code != 0 && !program->not_started) {
        printf("the program ended with exit code %d\n", program->exit_code);
    }
}

static void print_processes(const struct watch *watch)
{
    for (size_t i = 0; i < watch->processes.count; i++) {
        const struct watch_process *const process = &watch->processes.items[i];
        if (watch->processes.count > 1) {
            print_line(stdout, "process %u: %s", process->id, process->command);
        }
        if (!process->ended) {
            printf("process %u did not exit normally: it was killed, executed another program or "
                   "still runs\n",
                   process->id);
        }
        if (process->damaged) {
            print_line(stdout, "%s is damaged: the report covers the readable part", process->path);
        }
        if (process->lost > 0) {
            char *const lost = format_count(process->lost, "record was", "records were");
            printf("process %u: %s lost: the disk is full, or the recording as large as "
                   "PDL_WATCH_LIMIT allows\n",
                   process->id, lost);
            free(lost);
        }
        if (process->lost_device > 0) {
            char *const lost = format_count(process->lost_device, "run on the device was",
                                            "runs on the device were");
            printf("process %u: %s dropped by CUPTI\n", process->id, lost);
            free(lost);
        }
    }
    for (size_t i = 0; i < watch->notes.count; i++) {
        print_line(stdout, "note: %s", watch->notes.items[i]);
    }
}

/* ---- what libpdl-watch changed, and what that gained ------------------------------------------- */

/* Prints a line, and frees it. */
static void print_own(char *line)
{
    print_wrapped(stdout, 0, 0, line);
    free(line);
}

static void print_gain(const struct watch *watch)
{
    char *const launches = format_count(watch->sums.added, "launch", "launches");
    if (!watch->has_times) {
        print_own(format_text("overlap was added to %s", launches));
    } else if (watch->sums.added_saved_ns == 0) {
        print_own(format_text("overlap was added to %s: none overlapped", launches));
    } else {
        char *const overlapped = number(watch->sums.added_overlapped);
        char *const close = number(watch->sums.added_close);
        char *const saved = brief_time(watch->sums.added_saved_ns);
        char *const share = brief_share(watch->sums.added_saved_ns, watch->sums.busy_ns);
        print_own(format_text("overlap was added to %s: %s overlapped, and %s followed without a "
                              "gap; with the hidden launch latency this saved about %s (%s of the "
                              "busy time)",
                              launches, overlapped, close, saved, share));
        free(share);
        free(saved);
        free(close);
        free(overlapped);
    }
    free(launches);
}

/* Whether the host was late for more than a few launches. */
static bool is_host_late(const struct watch *watch)
{
    const uint64_t few = 20; /* one in so many */
    return watch->sums.late > 0 &&
           watch->sums.late * few >= watch->sums.launches - watch->sums.graph_runs;
}

static void print_changes(const struct watch *watch)
{
    if (watch->sums.added > 0) {
        print_gain(watch);
    }
    if (watch->has_times && watch->sums.no_trigger > 0) {
        char *const launches = format_count(watch->sums.no_trigger, "of these launches follows",
                                            "of these launches follow");
        print_own(format_text("%s a kernel that never triggers: little but the launch latency is "
                              "hidden",
                              launches));
        free(launches);
    }
    if (watch->sums.removed > 0) {
        char *const launches = format_count(watch->sums.removed, "launch", "launches");
        print_own(format_text("overlap was removed from %s", launches));
        free(launches);
    }
    if (watch->sums.not_proved > 0) {
        char *const launches = format_count(watch->sums.not_proved, "launch", "launches");
        print_own(format_text("%s did not get overlap: their kernels are not proved to wait before "
                              "they touch memory",
                              launches));
        free(launches);
    }
    if (is_host_late(watch)) {
        char *const launches = format_count(watch->sums.late, "launch", "launches");
        char *const interval = brief_time(watch->sums.late_interval_ns);
        char *const length = brief_time(watch->sums.late_kernel_ns);
        print_own(format_text("overlap cannot help %s: the host launches a kernel every %s, and "
                              "kernels take %s; record a graph, or launch earlier",
                              launches, interval, length));
        free(length);
        free(interval);
        free(launches);
    }
}

static size_t count_instrumented(const struct watch *watch, uint32_t as)
{
    size_t count = 0;
    for (size_t i = 0; i < watch->kernels.count; i++) {
        count += watch->kernels.items[i].instrumented == as;
    }
    return count;
}

static void print_instrumented(const struct text *text)
{
    static const struct {
        uint32_t as;
        const char *one, *many;
    } parts[] = {
        {PDL_WATCH_INSTRUMENTED_DONE, "kernel was instrumented", "kernels were instrumented"},
        {PDL_WATCH_INSTRUMENTED_WAITS, "waits already", "wait already"},
        {PDL_WATCH_INSTRUMENTED_REFUSED, "was refused", "were refused"},
        {0, "was not loaded as PTX", "were not loaded as PTX"},
    };
    const struct watch *const watch = text->watch;
    const size_t refused = count_instrumented(watch, PDL_WATCH_INSTRUMENTED_REFUSED);
    const size_t most = rows_of(refused, text->limits->rows);
    size_t shown = 0;
    char *line = NULL;
    size_t size = 0;
    if (!watch->instruments) {
        return;
    }
    FILE *const out = memory_open(&line, &size);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        const size_t count = count_instrumented(watch, parts[i].as);
        if (i == 0 || count > 0) {
            char *const part = format_count(count, parts[i].one, parts[i].many);
            (void)fprintf(out, "%s%s", i > 0 ? ", " : "", part);
            free(part);
        }
    }
    memory_close(out);
    print_own(line);
    for (uint32_t i = 0; i < watch->kernels.count && shown < most; i++) {
        const struct watch_kernel *const kernel = &watch->kernels.items[i];
        if (kernel->instrumented == PDL_WATCH_INSTRUMENTED_REFUSED) {
            char *const name = name_cell(text, i, 100);
            char *const reason = format_text(
                "  refused: %s: %s", name,
                kernel->why_not_instrumented != NULL ? kernel->why_not_instrumented : "");
            print_wrapped(stdout, 0, 4, reason);
            free(reason);
            free(name);
            shown++;
        }
    }
    print_left_out(refused, shown, "kernel", "kernels");
}

/* ---- races ------------------------------------------------------------------------------------ */

static void print_race(const struct text *text, uint32_t index)
{
    const struct watch_kernel *const kernel = &text->watch->kernels.items[index];
    char *const launches = format_count(kernel->granted, "launch", "launches");
    (void)fputs(kernel->race == WATCH_RACE_UNKNOWN ? "  unknown: "
                : kernel->race == WATCH_RACE_EARLY ? "  early: "
                                                   : "  race: ",
                stdout);
    print_name(text, index);
    printf("\n    %s with overlap; ", launches);
    print_plain(stdout, watch_race_text(kernel->race));
    if (kernel->race == WATCH_RACE_UNKNOWN && kernel->why_unknown != NULL) {
        (void)fputs(": ", stdout);
        print_plain(stdout, kernel->why_unknown);
    }
    (void)putchar('\n');
    if (kernel->finding != NULL) {
        (void)fputs("    ", stdout);
        print_plain(stdout, kernel->finding);
        (void)putchar('\n');
    }
    free(launches);
}

static void print_races(const struct text *text)
{
    const struct watch *const watch = text->watch;
    const size_t unknown = count_unknown(watch);
    bool heading = false;
    for (uint32_t i = 0; i < watch->kernels.count; i++) {
        const enum watch_race race = watch->kernels.items[i].race;
        if (watch_race_is_one(race)) {
            (void)fputs(heading ? ""
                                : "\nraces: kernels that are launched with overlap, and do not "
                                  "wait for the kernel before\n",
                        stdout);
            heading = true;
            print_race(text, i);
        }
    }
    if (unknown == 0) {
        return;
    }
    const size_t most = rows_of(unknown, text->limits->rows);
    size_t shown = 0;
    (void)fputs("\nnot judged: kernels that are launched with overlap\n", stdout);
    for (uint32_t i = 0; i < watch->kernels.count && shown < most; i++) {
        if (watch_race_is_open(watch->kernels.items[i].race)) {
            print_race(text, i);
            shown++;
        }
    }
    print_left_out(unknown, shown, "kernel", "kernels");
}

/* ---- by kernel -------------------------------------------------------------------------------- */

static int by_weight(const void *a, const void *b)
{
    const struct watch_kernel *const x = *(const struct watch_kernel *const *)a;
    const struct watch_kernel *const y = *(const struct watch_kernel *const *)b;
    if (x->time_ns != y->time_ns) {
        return x->time_ns < y->time_ns ? 1 : -1;
    }
    if (x->launches != y->launches) {
        return x->launches < y->launches ? 1 : -1;
    }
    return (x > y) - (x < y);
}

/* Of those that did not overlap, the commonest; WATCH_OVERLAPPED: none. The first in a stream has none in front. */
static enum watch_reason commonest(const struct watch_kernel *kernel)
{
    unsigned best = WATCH_OVERLAPPED;
    for (unsigned i = WATCH_FIRST + 1; i < WATCH_REASON_COUNT; i++) {
        if (kernel->reasons[i] > (best == WATCH_OVERLAPPED ? 0 : kernel->reasons[best])) {
            best = i;
        }
    }
    if (best == WATCH_OVERLAPPED && kernel->reasons[WATCH_FIRST] > 0 && kernel->overlapped == 0) {
        best = WATCH_FIRST;
    }
    return (enum watch_reason)best;
}

static char *code_cell(const struct watch_kernel *kernel)
{
    const int32_t code = kernel->binary_version > 0 ? kernel->binary_version : kernel->ptx_version;
    return code > 0 ? format_text("%d.%d", (int)(code / 10), (int)(code % 10)) : copy_text("?");
}

static void add_kernel(struct text *text, struct table *table, const struct watch_kernel *kernel)
{
    const bool times = text->watch->has_times;
    const enum watch_reason reason = commonest(kernel);
    table_add(table, number(kernel->launches));
    table_add(table, times ? brief_time(kernel->time_ns) : dash());
    table_add(table, number(kernel->asked));
    table_add(table, times ? number(kernel->overlapped) : dash());
    table_add(table, times && kernel->overlapped > 0
                         ? brief_time(kernel->overlap_ns / kernel->overlapped)
                         : dash());
    table_add(table, times && kernel->time_ns > 0 && kernel->overlapped > 0
                         ? brief_share(kernel->overlap_ns, kernel->time_ns)
                         : dash());
    table_add(table, copy_text(known_name((uint32_t)kernel->waits)));
    table_add(table, copy_text(known_name((uint32_t)kernel->triggers)));
    table_add(table, code_cell(kernel));
    table_add(table, reason == WATCH_OVERLAPPED ? dash() : reason_cell(text, reason));
    table_add(table,
              name_cell(text, (uint32_t)(kernel - text->watch->kernels.items), NAME_COLUMNS));
}

static void print_kernels(struct text *text)
{
    static const char *const headings[] = {"launches", "time",    "asked", "overlapped",
                                           "by",       "of it",   "waits", "triggers",
                                           "code",     "why not", "kernel"};
    const struct watch *const watch = text->watch;
    struct table table = {.headings = headings, .right = "rrrrrrlllll"};
    const struct watch_kernel **const sorted = allocate(watch->kernels.count, sizeof(*sorted));
    size_t count = 0;
    for (size_t i = 0; i < watch->kernels.count; i++) {
        if (watch->kernels.items[i].launches > 0) {
            sorted[count++] = &watch->kernels.items[i];
        }
    }
    if (count > 0) {
        qsort((void *)sorted, count, sizeof(*sorted), by_weight);
    }
    const size_t shown = rows_of(count, text->limits->rows);
    for (size_t i = 0; i < shown; i++) {
        add_kernel(text, &table, sorted[i]);
    }
    if (shown > 0) {
        (void)puts("\nby kernel");
        table_print(&table, stdout);
        print_left_out(count, shown, "kernel", "kernels");
    }
    table_free(&table);
    free((void *)sorted);
}

/* ---- by pair ---------------------------------------------------------------------------------- */

static void add_pair(struct text *text, struct table *table, const struct watch_pair *pair,
                     size_t row)
{
    const uint64_t apart = pair->count > pair->overlapped ? pair->count - pair->overlapped : 0;
    char *const first = name_cell(text, pair->first, PAIR_NAME_COLUMNS);
    char *const second = name_cell(text, pair->second, PAIR_NAME_COLUMNS);
    table_add(table, format_text("%zu", row + 1));
    table_add(table, number(pair->count));
    table_add(table, number(pair->overlapped));
    table_add(table,
              pair->overlapped > 0 ? brief_time(pair->overlap_ns / pair->overlapped) : dash());
    table_add(table, apart > 0 ? brief_time(pair->gap_ns / apart) : dash());
    table_add(table, pair->saving_ns > 0 ? brief_time(pair->saving_ns) : dash());
    table_add(table, pair->reason == WATCH_OVERLAPPED ? dash() : reason_cell(text, pair->reason));
    table_add(table, format_text("%s → %s%s", first, second, pair->in_graph ? ", graph" : ""));
    free(second);
    free(first);
}

static void print_pairs(struct text *text)
{
    static const char *const headings[] = {"",    "times", "overlapped", "by",
                                           "gap", "saves", "why not",    "neighbours"};
    const struct watch *const watch = text->watch;
    struct table table = {.headings = headings, .right = "rrrrrrll"};
    const size_t shown = rows_of(watch->pairs.count, text->limits->rows);
    if (shown == 0) {
        return;
    }
    for (size_t i = 0; i < shown; i++) {
        add_pair(text, &table, &watch->pairs.items[i], i);
    }
    (void)puts("\nby pair of neighbours in a stream or a graph");
    table_print(&table, stdout);
    print_left_out(watch->pairs.count, shown, "pair", "pairs");
    for (size_t i = 0; i < shown; i++) {
        if (watch->pairs.items[i].detail != NULL) {
            const int column = printf("  %zu: ", i + 1);
            print_wrapped(stdout, column, column, watch->pairs.items[i].detail);
        }
    }
    table_free(&table);
}

static void print_reasons(struct text *text)
{
    bool heading = false;
    for (unsigned i = WATCH_OVERLAPPED + 1; i < WATCH_REASON_COUNT; i++) {
        if (text->explained[i]) {
            (void)fputs(heading ? "" : "\nwhy not\n", stdout);
            heading = true;
            char *const word = reason_cell(text, (enum watch_reason)i);
            const char *const remedy = watch_reason_remedy((enum watch_reason)i);
            char *const why = format_text("%s%s%s", watch_reason_text((enum watch_reason)i),
                                          remedy != NULL ? ": " : "", remedy != NULL ? remedy : "");
            const int column = printf("  %-15s  ", word);
            print_wrapped(stdout, column, column, why);
            free(why);
            free(word);
        }
    }
}

bool watch_print_text(const struct watch *watch, const struct watch_limits *limits)
{
    struct text text = {.watch = watch, .limits = limits};
    print_own(verdict_text(watch));
    print_program(watch);
    print_processes(watch);
    print_changes(watch);
    print_instrumented(&text);
    print_races(&text);
    print_kernels(&text);
    if (watch->has_times) {
        print_pairs(&text);
    }
    print_reasons(&text);
    return ferror(stdout) == 0;
}
