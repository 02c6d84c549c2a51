/* SPDX-License-Identifier: MIT */
/* pdltool bench: what launches cost and what PDL gives, measured on the device. */
#include "bench.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "environment.h"
#include "gpu.h"
#include "memory.h"
#include "output.h"
#include "plan.h"
#include "run.h"

/* A form to write the run in, and where. */
struct sink {
    const char *name; /* the option's */
    void (*write)(const struct bench_run *run, FILE *to);
    const char *path; /* NULL: not wanted; "-": standard output */
    char *part;       /* what is written until it is whole; NULL: `path` itself */
    FILE *file;
};

struct text_list {
    char **items;
    size_t count, capacity;
};

struct command {
    bool list, quiet;
    int device;
    struct run_options run;
    const char *input, *compare;
    struct text_list suites, filters;
};

enum { MARKDOWN, CSV, JSON, SINKS };

/* What exit() needs: a suite may end the program. */
static struct {
    struct bench_run run;
    struct bench_run before; /* what it is compared with */
    struct sink sinks[SINKS];
    bool running; /* measuring has begun, and nothing was written yet */
} session = {
    .sinks =
        {
            [MARKDOWN] = {"markdown", output_markdown, NULL, NULL, NULL},
            [CSV] = {"csv", output_csv, NULL, NULL, NULL},
#ifdef PDL_HAVE_JANSSON
            [JSON] = {"json", output_json, NULL, NULL, NULL},
#endif
        },
};

static void usage(FILE *to)
{
    (void)fprintf(
        to, "usage: pdltool bench [SUITE...] [OPTION...]\n\n"
            "Measures what launches cost and what PDL gives, raw CUDA and libpdl in turn. Every\n"
            "configuration's result is checked. Without a suite it runs them all:\n\n");
    for (const struct bench_suite *suite = bench_suites; suite->name != NULL; suite++) {
        (void)fprintf(to, "  %-9s %s\n", suite->name, suite->summary);
    }
    (void)fprintf(
        to,
        "\n"
        "  -l, --list            the points that would be measured, and nothing else\n"
        "  -f, --filter PATTERN  only points with that in their id (* ? [...] as in a shell), and\n"
        "                        those that they are compared with; may be given again\n"
        "  -d, --device N        the device, from 0 (default 0)\n"
        "      --passes N        how often everything is set up and measured anew (default 3)\n"
        "      --rounds N        samples of each point in a pass (default: what its table says)\n"
        "      --quick           one pass of a few rounds, to see that it works\n"
        "      --markdown FILE   tables; the default, on standard output\n"
        "      --csv FILE        a line a metric of each point\n"
        "      --json FILE       everything, with the raw samples; - is standard output for all\n"
        "      --input FILE      takes a run from a JSON file instead of measuring\n"
        "      --compare FILE    compares with an earlier run's JSON, row by row\n"
        "  -q, --quiet           no progress on the terminal\n\n"
        "Exits with 0; 1 if a result was wrong or a row is worse than in the other run; 2 if it\n"
        "could not measure; 128 and the signal's number if it was interrupted. What was measured\n"
        "until then is written.\n");
}

static bool parse_count(const char *name, const char *text, int least, int most, int *count)
{
    char *end = NULL;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < least || value > most) {
        (void)fprintf(stderr, "pdltool bench: --%s takes a number from %d to %d, not %s\n", name,
                      least, most, text);
        return false;
    }
    *count = (int)value;
    return true;
}

/* ---- outputs ---------------------------------------------------------------------------------- */

static bool complain(const struct sink *sink, const char *what)
{
    (void)fprintf(stderr, "pdltool bench: --%s %s: %s\n", sink->name, sink->path, what);
    return false;
}

/* A file that is there stays as it is until the new one is whole. What is none (a pipe, /dev/null) is
 * written itself: a rename would put a file in its place. */
static bool open_sink(struct sink *sink)
{
    struct stat status;
    if (lstat(sink->path, &status) != 0 || S_ISREG(status.st_mode)) {
        sink->part = format_text("%s.part", sink->path);
    }
    sink->file = fopen(sink->part != NULL ? sink->part : sink->path, "w");
    return sink->file != NULL || complain(sink, strerror(errno));
}

/* Whether two of them would write over each other. */
static bool is_same_file(const struct sink *sink, const struct sink *other)
{
    struct stat status;
    struct stat other_status;
    return fstat(fileno(sink->file), &status) == 0 &&
           fstat(fileno(other->file), &other_status) == 0 && S_ISREG(status.st_mode) &&
           status.st_dev == other_status.st_dev && status.st_ino == other_status.st_ino;
}

/* Leaves nothing behind that was not written whole. */
static void drop_sinks(void)
{
    for (int i = 0; i < SINKS; i++) {
        struct sink *const sink = &session.sinks[i];
        if (sink->file != NULL && sink->file != stdout) {
            (void)fclose(sink->file);
            if (sink->part != NULL) {
                (void)unlink(sink->part);
            }
        }
        free(sink->part);
        sink->part = NULL;
        sink->file = NULL;
    }
}

/* Before anything is measured, so that nothing is measured in vain. */
static bool open_sinks(void)
{
    bool wanted = false;
    size_t standard = 0;
    for (int i = 0; i < SINKS; i++) {
        wanted = wanted || session.sinks[i].path != NULL;
    }
    if (!wanted) {
        session.sinks[MARKDOWN].path = "-";
    }
    (void)atexit(drop_sinks);
    for (int i = 0; i < SINKS; i++) {
        struct sink *const sink = &session.sinks[i];
        if (sink->path == NULL) {
            continue;
        }
        if (strcmp(sink->path, "-") == 0) {
            sink->file = stdout;
            standard++;
            continue;
        }
        if (!open_sink(sink)) {
            return false;
        }
        for (int j = 0; j < i; j++) {
            const struct sink *const other = &session.sinks[j];
            if (other->file != NULL && other->file != stdout && is_same_file(sink, other)) {
                return complain(sink, "another form goes there");
            }
        }
    }
    if (standard > 1) {
        (void)fputs("pdltool bench: only one form can go to standard output\n", stderr);
        return false;
    }
    return true;
}

/* A file gets its name when all of it is there. */
static bool write_sink(struct sink *sink)
{
    sink->write(&session.run, sink->file);
    bool written = fflush(sink->file) == 0 && ferror(sink->file) == 0;
    if (sink->file != stdout) {
        written = fclose(sink->file) == 0 && written;
        sink->file = NULL;
    }
    if (sink->part != NULL) {
        written = written && rename(sink->part, sink->path) == 0;
        if (!written) {
            const int error = errno;
            (void)unlink(sink->part);
            errno = error;
        }
    }
    return written || complain(sink, strerror(errno));
}

static bool write_sinks(void)
{
    bool written = true;
    for (int i = 0; i < SINKS; i++) {
        if (session.sinks[i].path != NULL && session.sinks[i].file != NULL) {
            written = write_sink(&session.sinks[i]) && written;
        }
    }
    return written;
}

/* At exit(): a suite's own code, in C++ over the Runtime, ends the program where a call fails. */
static void write_what_there_is(void)
{
    if (session.running) {
        session.running = false;
        if (session.run.ended_early == NULL) {
            session.run.ended_early = copy_text("a suite ended the program");
        }
        (void)write_sinks();
    }
}

const char *bench_program = "pdltool bench";

void bench_abort(const char *format, ...)
{
    char reason[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    (void)fprintf(stderr, "%s: %s\n", bench_program, reason);
    if (session.run.ended_early == NULL) {
        session.run.ended_early = copy_text(reason);
    }
    exit(EXIT_USAGE);
}

/* ---- the command ------------------------------------------------------------------------------ */

static int list_points(void)
{
    for (size_t i = 0; i < session.run.bench.count; i++) {
        const struct bench_table *const table = session.run.bench.items[i];
        for (size_t j = 0; j < table->count; j++) {
            if (table->items[j]->selected) {
                printf("%s\n", table->items[j]->id);
            }
        }
    }
    if (fflush(stdout) != 0) {
        (void)fprintf(stderr, "pdltool bench: --list: %s\n", strerror(errno));
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

static int measure(const struct command *command, int argc, char **argv)
{
    char why[1024];
    char *text = NULL;
    if (!gpu_open(command->device, why, sizeof(why))) {
        (void)fprintf(stderr, "pdltool bench: %s\n", why);
        return EXIT_USAGE;
    }
    environment_fill(&session.run.environment, argc, argv);
    environment_add_state(&session.run.environment, "before");
    session.running = true;
    (void)atexit(write_what_there_is);
    const int signal_number = run_bench(&session.run.bench, &command->run);
    environment_add_state(&session.run.environment, "after");
    if (signal_number != 0) {
        text = format_text("interrupted by signal %d", signal_number);
        (void)fprintf(stderr, "pdltool bench: %s; what was measured until then is written\n", text);
        session.run.ended_early = text;
    }
    gpu_close();
    return signal_number != 0 ? 128 + signal_number : EXIT_DONE;
}

#ifdef PDL_HAVE_JANSSON
/* The run's verdict beside an earlier one: where the tables do not go to standard output, there, else on
 * standard error. */
static int compare(void)
{
    bool taken = false;
    for (int i = 0; i < SINKS; i++) {
        taken = taken || (i != MARKDOWN && session.sinks[i].path != NULL &&
                          strcmp(session.sinks[i].path, "-") == 0);
    }
    FILE *const to = taken ? stderr : stdout;
    const size_t worse = compare_runs(&session.before, &session.run, to);
    if (fflush(to) != 0) {
        (void)fprintf(stderr, "pdltool bench: --compare: %s\n", strerror(errno));
        return EXIT_USAGE;
    }
    return worse > 0 ? EXIT_FINDING : EXIT_DONE;
}
#endif

static int finish(const struct command *command, int code)
{
    session.running = false;
    if (!write_sinks()) {
        return EXIT_USAGE;
    }
    const size_t failures = run_failures(&session.run.bench);
    if (failures > 0) {
        (void)fprintf(stderr, "pdltool bench: %zu %s\n", failures,
                      failures == 1 ? "point failed" : "points failed");
        code = code == EXIT_DONE ? EXIT_FINDING : code;
    }
#ifdef PDL_HAVE_JANSSON
    if (command->compare != NULL) {
        const int verdict = compare();
        code = code == EXIT_DONE ? verdict : code;
    }
#else
    (void)command;
#endif
    return code;
}

static int run_command(struct command *command, int argc, char **argv)
{
#ifdef PDL_HAVE_JANSSON
    if (command->input != NULL) {
        if (command->suites.count > 0) {
            (void)fputs("pdltool bench: of what --input has, --filter chooses; no suites\n",
                        stderr);
            return EXIT_USAGE;
        }
        if (!input_json(command->input, &session.run)) {
            return EXIT_USAGE;
        }
    } else
#endif
        if (!plan_declare(&session.run.bench, command->suites.items, command->suites.count)) {
        return EXIT_USAGE;
    }
    if (plan_select(&session.run.bench, command->filters.items, command->filters.count) == 0) {
        (void)fputs("pdltool bench: no point matches; `--list` shows them\n", stderr);
        return EXIT_USAGE;
    }
    if (command->list) {
        return list_points();
    }
#ifdef PDL_HAVE_JANSSON
    /* Now and not after minutes: it may not be there, or be written over. */
    if (command->compare != NULL && !input_json(command->compare, &session.before)) {
        return EXIT_USAGE;
    }
#endif
    if (!open_sinks()) {
        return EXIT_USAGE;
    }
    const int code = command->input != NULL ? EXIT_DONE : measure(command, argc, argv);
    return code == EXIT_USAGE ? code : finish(command, code);
}

enum {
    OPTION_PASSES = 256,
    OPTION_ROUNDS,
    OPTION_QUICK,
    OPTION_SINK,
    OPTION_INPUT = OPTION_SINK + SINKS,
    OPTION_COMPARE
};

/* False where the option makes no sense. */
static bool take_option(struct command *command, int option)
{
    switch (option) {
    case 'l':
        command->list = true;
        return true;
    case 'f':
        APPEND(&command->filters, optarg);
        return true;
    case 'd':
        return parse_count("device", optarg, 0, INT_MAX, &command->device);
    case 'q':
        command->quiet = true;
        return true;
    case OPTION_PASSES:
        return parse_count("passes", optarg, 1, BENCH_PASSES, &command->run.passes);
    case OPTION_ROUNDS:
        return parse_count("rounds", optarg, 1, 1000000, &command->run.rounds);
    case OPTION_QUICK:
        command->run.quick = true;
        command->run.passes = 1;
        return true;
    case OPTION_INPUT:
    case OPTION_COMPARE:
#ifndef PDL_HAVE_JANSSON
        (void)fputs("pdltool bench: built without jansson, it reads no JSON\n", stderr);
        return false;
#endif
        *(option == OPTION_INPUT ? &command->input : &command->compare) = optarg;
        return true;
    default:
        if (option < OPTION_SINK || option >= OPTION_SINK + SINKS) {
            return false; /* getopt has said why */
        }
        if (session.sinks[option - OPTION_SINK].write == NULL) {
            (void)fputs("pdltool bench: built without jansson, it writes no JSON\n", stderr);
            return false;
        }
        session.sinks[option - OPTION_SINK].path = optarg;
        return true;
    }
}

int command_bench(int argc, char **argv)
{
    static const struct option options[] = {
        {"list", no_argument, NULL, 'l'},
        {"filter", required_argument, NULL, 'f'},
        {"device", required_argument, NULL, 'd'},
        {"passes", required_argument, NULL, OPTION_PASSES},
        {"rounds", required_argument, NULL, OPTION_ROUNDS},
        {"quick", no_argument, NULL, OPTION_QUICK},
        {"markdown", required_argument, NULL, OPTION_SINK + MARKDOWN},
        {"csv", required_argument, NULL, OPTION_SINK + CSV},
        {"json", required_argument, NULL, OPTION_SINK + JSON},
        {"input", required_argument, NULL, OPTION_INPUT},
        {"compare", required_argument, NULL, OPTION_COMPARE},
        {"quiet", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct command command = {.run = {.passes = 3}};
    char **const given = allocate((size_t)argc + 1, sizeof(*given)); /* getopt reorders argv */
    memcpy(given, argv, (size_t)argc * sizeof(*given));
    int option;
    int code = EXIT_USAGE;
    bool good = true;
    while (good && (option = getopt_long(argc, argv, "lf:d:qh", options, NULL)) != -1) {
        if (option == 'h') {
            usage(stdout);
            free(given);
            return EXIT_DONE;
        }
        good = take_option(&command, option);
    }
    for (int i = optind; i < argc; i++) {
        APPEND(&command.suites, argv[i]);
    }
    if (good) {
        command.run.progress = !command.quiet && isatty(STDERR_FILENO);
        code = run_command(&command, argc, given);
    }
    bench_run_free(&session.run);
    bench_run_free(&session.before);
    free(command.suites.items);
    free(command.filters.items);
    free(given);
    return code;
}
