/* SPDX-License-Identifier: MIT */
/* pdltool bench: what launches cost and what PDL gives, measured on the device. */
#include "bench/bench.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/environment.h"
#include "bench/gpu.h"
#include "bench/output.h"
#include "bench/plan.h"
#include "bench/run.h"
#include "commands.h"
#include "common/memory.h"
#include "common/options.h"
#include "common/print.h"
#include "common/sinks.h"

struct text_list {
    char **items;
    size_t count, capacity;
};

struct command {
    bool list, quiet;
    int device;
    struct run_options run;
    struct text_list suites, filters;
};

enum { TABLES, JSON, SINKS };

/* What exit() needs: a suite may end the program. */
static struct {
    struct bench_run run;
    bool running; /* measuring has begun, and nothing was written yet */
} session;

static void write_tables(FILE *to)
{
    output_text(&session.run, to);
}

static void write_json(FILE *to)
{
    output_json(&session.run, to);
}

static struct sink sinks[SINKS] = {
    [TABLES] = {"tables", write_tables, NULL, NULL, NULL},
    [JSON] = {"json", write_json, NULL, NULL, NULL},
};

static void usage(void)
{
    (void)fputs("usage: pdltool bench [SUITE...] [OPTION...]\n"
                "\n"
                "Measures what launches cost and what PDL gains: raw CUDA calls and libpdl take\n"
                "turns, and every result is checked. Runs all suites unless SUITE names some.\n"
                "\n",
                stdout);
    for (const struct bench_suite *suite = bench_suites; suite->declare != NULL; suite++) {
        printf("  %-9s %s\n", suite->name, suite->summary);
    }
    (void)fputs("\n"
                "  -l, --list            list the points to measure, and exit\n"
                "  -f, --filter PATTERN  only points with PATTERN in their id (* ? [...] as in a\n"
                "                        shell), and the points they are compared with;\n"
                "                        repeatable\n"
                "  -d, --device N        device number (default: 0)\n"
                "      --passes N        set up and measure everything N times (default: 3)\n"
                "      --rounds N        samples per point and pass (default: per table)\n"
                "      --seed N          seed of the random configurations of overlap/shapes\n"
                "                        (default: 1)\n"
                "      --quick           one pass of few rounds, to try it out\n"
                "      --json FILE       also write everything to FILE, with all samples; to\n"
                "                        standard output, instead of the tables, with - for FILE\n"
                "  -q, --quiet           no progress on the terminal\n"
                "\n"
                "Examples:\n"
                "  pdltool bench overlap --quick\n"
                "  pdltool bench graph --json new.json\n"
                "\n"
                "Exit status: 0; 1 if a result is wrong; 2 if nothing could be measured; 128 + N\n"
                "after signal N. An interrupted run writes what it has measured.\n",
                stdout);
}

/* ---- outputs ---------------------------------------------------------------------------------- */

static void drop_sinks(void)
{
    sinks_drop(sinks, SINKS);
}

static bool open_sinks(void)
{
    if (!sinks_take_stdout(sinks, SINKS)) {
        sinks[TABLES].path = "-";
    }
    (void)atexit(drop_sinks);
    return sinks_open(sinks, SINKS);
}

static bool write_sinks(void)
{
    return sinks_write(sinks, SINKS);
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

void bench_abort(const char *format, ...)
{
    char reason[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    print_error("%s", reason);
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
        print_error("--list: %s", strerror(errno));
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

static int measure(const struct command *command, int argc, char **argv)
{
    char why[1024];
    char *text = NULL;
    if (!gpu_open(command->device, why, sizeof(why))) {
        print_error("%s", why);
        return EXIT_USAGE;
    }
    environment_fill(&session.run.environment, argc, argv);
    environment_add_number(&session.run.environment, "sm_clock_measured_mhz_before",
                           gpu_sm_clock_mhz());
    session.running = true;
    (void)atexit(write_what_there_is);
    const int signal_number = run_bench(&session.run.bench, &command->run);
    environment_add_number(&session.run.environment, "sm_clock_measured_mhz_after",
                           gpu_sm_clock_mhz());
    if (signal_number != 0) {
        text = format_text("interrupted by signal %d", signal_number);
        print_note("%s; what was measured is written", text);
        session.run.ended_early = text;
    }
    gpu_close();
    return signal_number != 0 ? 128 + signal_number : EXIT_DONE;
}

static int finish(int code)
{
    session.running = false;
    if (!write_sinks()) {
        return EXIT_USAGE;
    }
    const size_t failures = run_failures(&session.run.bench);
    if (failures > 0) {
        print_error("%zu %s", failures, failures == 1 ? "point failed" : "points failed");
        code = code == EXIT_DONE ? EXIT_FINDING : code;
    }
    return code;
}

static int run_command(struct command *command, int argc, char **argv)
{
    if (!plan_declare(&session.run.bench, command->suites.items, command->suites.count)) {
        return EXIT_USAGE;
    }
    if (plan_select(&session.run.bench, command->filters.items, command->filters.count) == 0) {
        print_error("no point matches the filter; 'pdltool bench --list' lists them");
        return EXIT_USAGE;
    }
    if (command->list) {
        return list_points();
    }
    if (!open_sinks()) {
        return EXIT_USAGE;
    }
    const int code = measure(command, argc, argv);
    return code == EXIT_USAGE ? code : finish(code);
}

enum {
    OPTION_PASSES = 256,
    OPTION_ROUNDS,
    OPTION_SEED,
    OPTION_QUICK,
    OPTION_JSON,
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
    case OPTION_SEED:
        return parse_count("seed", optarg, 0, INT_MAX, &session.run.bench.seed);
    case OPTION_QUICK:
        command->run.quick = true;
        command->run.passes = 1;
        return true;
    case OPTION_JSON:
        if (output_json == NULL) {
            return lacks_json("json");
        }
        sinks[JSON].path = optarg;
        return true;
    default:
        return false;
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
        {"seed", required_argument, NULL, OPTION_SEED},
        {"quick", no_argument, NULL, OPTION_QUICK},
        {"json", required_argument, NULL, OPTION_JSON},
        {"quiet", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct command command = {.run = {.passes = 3}};
    session.run.bench.seed = 1;
    char **const given = allocate((size_t)argc + 1, sizeof(*given)); /* getopt reorders argv */
    memcpy(given, argv, (size_t)argc * sizeof(*given));
    int option;
    int code = EXIT_USAGE;
    bool good = true;
    while (good && (option = next_option(argc, argv, "lf:d:qh", options)) != -1) {
        if (option == 'h') {
            usage();
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
    free(command.suites.items);
    free(command.filters.items);
    free(given);
    return code;
}
