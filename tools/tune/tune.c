/* SPDX-License-Identifier: MIT */
/* pdltool tune: the best places of the triggers and the best grids for a chain of kernels. */
#include "tune/tune.h"

#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "bench/gpu.h"
#include "bench/run.h"
#include "commands.h"
#include "common/memory.h"
#include "common/options.h"
#include "common/print.h"
#include "common/sinks.h"

enum { CSV, JSON, SINKS };

struct command {
    int device, batch;
    const char *file;
    struct tune_options options;
};

/* What exit() needs: a call that must succeed may end the program. */
static struct {
    struct tune_job job;
    struct tune_result result;
    FILE *text; /* where the search is told */
    bool running;
} session;

static void write_csv(FILE *to)
{
    tune_write_csv(&session.job, &session.result, to);
}

static void write_json(FILE *to)
{
    tune_write_json(&session.job, &session.result, to);
}

static struct sink sinks[SINKS] = {
    [CSV] = {"csv", write_csv, NULL, NULL, NULL},
    [JSON] = {"json", write_json, NULL, NULL, NULL},
};

static void usage(void)
{
    (void)fputs("usage: pdltool tune CHAIN.json [OPTION...]\n"
                "\n"
                "Searches for the fastest trigger positions (PDL_TRIGGER_POINT) and grid sizes of\n"
                "the chain of kernels that a JSON file describes. Every result is compared bit by\n"
                "bit with that of the chain without overlap; configurations that differ are\n"
                "discarded.\n"
                "\n"
                "  -d, --device N        device number (default: 0)\n"
                "      --rounds N        samples per configuration (default: 15)\n"
                "      --batch N         replays per sample (default: what takes 2 ms)\n"
                "      --restarts N      searches from random neighbours after the first\n"
                "                        (default: 3)\n"
                "      --gain PERCENT    smallest gain that counts (default: 0.2)\n"
                "      --budget SECONDS  time limit of the search (default: 300)\n"
                "      --csv FILE        write one line per configuration; - is standard output\n"
                "      --json FILE       write everything, with all samples\n"
                "\n"
                "Examples:\n"
                "  pdltool tune chain.json --csv curves.csv\n"
                "  pdltool tune chain.json --budget 60 --json -\n"
                "\n"
                "Exit status: 0; 1 if the chain computes a wrong result as given; 2 if it could\n"
                "not be searched; 128 + N after signal N. An interrupted search reports what it\n"
                "has found.\n",
                stdout);
}

/* ---- the options -------------------------------------------------------------------------------- */

static bool parse_real(const char *name, const char *text, double most, double *number)
{
    char *end = NULL;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 0) || value > most) {
        print_error("--%s takes a number from 0 to %g, not '%s'", name, most, text);
        return false;
    }
    *number = value;
    return true;
}

enum {
    OPTION_RESTARTS = 256,
    OPTION_ROUNDS,
    OPTION_BATCH,
    OPTION_GAIN,
    OPTION_BUDGET,
    OPTION_CSV,
    OPTION_JSON
};

static bool take_sink(int which)
{
    if (which == JSON && tune_write_json == NULL) {
        return lacks_json("json");
    }
    sinks[which].path = optarg;
    return true;
}

/* False where the option makes no sense. */
static bool take_option(struct command *command, int option)
{
    switch (option) {
    case 'd':
        return parse_count("device", optarg, 0, INT_MAX, &command->device);
    case OPTION_ROUNDS:
        return parse_count("rounds", optarg, 3, 100000, &command->options.rounds);
    case OPTION_RESTARTS:
        return parse_count("restarts", optarg, 0, 1000000, &command->options.restarts);
    case OPTION_BATCH:
        return parse_count("batch", optarg, 1, gpu_queue_limit, &command->batch);
    case OPTION_GAIN:
        if (!parse_real("gain", optarg, 100, &command->options.gain)) {
            return false;
        }
        command->options.gain /= 100;
        return true;
    case OPTION_BUDGET:
        return parse_real("budget", optarg, 1e9, &command->options.budget);
    case OPTION_CSV:
        return take_sink(CSV);
    case OPTION_JSON:
        return take_sink(JSON);
    default:
        return false;
    }
}

/* ---- the outputs -------------------------------------------------------------------------------- */

static void drop_sinks(void)
{
    sinks_drop(sinks, SINKS);
}

static bool open_sinks(void)
{
    session.text = sinks_take_stdout(sinks, SINKS) ? stderr : stdout;
    (void)atexit(drop_sinks);
    return sinks_open(sinks, SINKS);
}

static bool write_sinks(void)
{
    return sinks_write(sinks, SINKS);
}

/* At exit(): where a call fails that must not, the program ends. */
static void write_what_there_is(void)
{
    if (session.running) {
        session.running = false;
        if (session.result.ended_early == NULL) {
            session.result.ended_early = copy_text("a call failed");
        }
        (void)write_sinks();
    }
}

static void report(const struct tune_job *job, const struct tune_result *result,
                   const struct tune_curve *curve)
{
    (void)result;
    if (curve != NULL) {
        tune_print_curve(job, curve, session.text);
    }
}

/* ---- the command -------------------------------------------------------------------------------- */

static int run(const struct command *command)
{
    char why[1024];
    if (!open_sinks()) {
        return EXIT_USAGE;
    }
    if (!gpu_open(command->device, why, sizeof(why))) {
        print_error("%s", why);
        return EXIT_USAGE;
    }
    run_catch_signals();
    if (tune_file_job == NULL) {
        print_error("a chain in JSON needs a pdltool that was built with the library jansson");
    }
    if (tune_file_job == NULL || !tune_file_job(&session.job, command->file)) {
        tune_job_free(&session.job);
        gpu_close();
        return EXIT_USAGE;
    }
    tune_print_head(&session.job, session.text);
    session.running = true;
    (void)atexit(write_what_there_is);
    tune_measure(&session.job, &command->options, command->batch, &session.result);
    tune_print_result(&session.job, &session.result, session.text);
    session.running = false;
    const bool written = write_sinks();
    const bool failed = session.result.failed != NULL;
    tune_result_free(&session.result);
    tune_job_free(&session.job);
    gpu_close();
    if (!written) {
        return EXIT_USAGE;
    }
    return bench_interrupted != 0 ? 128 + (int)bench_interrupted
           : failed               ? EXIT_FINDING
                                  : EXIT_DONE;
}

int command_tune(int argc, char **argv)
{
    static const struct option options[] = {
        {"device", required_argument, NULL, 'd'},
        {"restarts", required_argument, NULL, OPTION_RESTARTS},
        {"rounds", required_argument, NULL, OPTION_ROUNDS},
        {"batch", required_argument, NULL, OPTION_BATCH},
        {"gain", required_argument, NULL, OPTION_GAIN},
        {"budget", required_argument, NULL, OPTION_BUDGET},
        {"csv", required_argument, NULL, OPTION_CSV},
        {"json", required_argument, NULL, OPTION_JSON},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct command command = {
        .options = {.rounds = 15, .budget = 300, .gain = 0.002, .restarts = 3, .report = report},
    };
    int option;
    while ((option = next_option(argc, argv, "d:h", options)) != -1) {
        if (option == 'h') {
            usage();
            return EXIT_DONE;
        }
        if (!take_option(&command, option)) {
            return EXIT_USAGE;
        }
    }
    if (argc - optind != 1) {
        print_misuse(argc == optind ? "no chain to tune" : "one chain at a time");
        return EXIT_USAGE;
    }
    command.file = argv[optind];
    return run(&command);
}
