/* SPDX-License-Identifier: MIT */
/* pdltool tune: the best places of the triggers for a chain of kernels. */
#include "tune/tune.h"

#include <getopt.h>
#include <limits.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "bench/gpu.h"
#include "bench/run.h"
#include "commands.h"
#include "common/memory.h"
#include "common/options.h"
#include "common/print.h"
#include "common/sinks.h"

/* What exit() needs: a call that must succeed may end the program. */
static struct {
    struct tune_chain chain;
    struct tune_result result;
    FILE *text; /* where the search is told */
} session;

static void write_json(FILE *to)
{
    tune_write_json(&session.chain, &session.result, to);
}

static struct sink json = {"json", write_json, NULL, NULL, NULL};

static void usage(void)
{
    (void)fputs("usage: pdltool tune CHAIN.json [OPTION...]\n"
                "\n"
                "Searches for the fastest trigger positions (PDL_TRIGGER_POINT) of the chain of\n"
                "kernels that a JSON file describes. Every result is compared bit by bit with\n"
                "that of the chain without overlap; configurations that differ are discarded.\n"
                "\n"
                "  -d, --device N        device number (default: 0)\n"
                "      --rounds N        samples per configuration (default: 15)\n"
                "      --budget SECONDS  time limit of the search (default: 300)\n"
                "      --json FILE       write everything, with all samples; - is standard\n"
                "                        output\n"
                "\n"
                "Examples:\n"
                "  pdltool tune chain.json\n"
                "  pdltool tune chain.json --budget 60 --json -\n"
                "\n"
                "Exit status: 0; 1 if the chain computes a wrong result as given; 2 if it could\n"
                "not be searched; 128 + N after signal N. An interrupted search reports what it\n"
                "has found.\n",
                stdout);
}

/* ---- the options -------------------------------------------------------------------------------- */

static bool parse_budget(const char *text, double *seconds)
{
    enum { MOST = 1000000000 };
    char *end = NULL;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 0) || value > MOST) {
        print_error("--budget takes a number from 0 to 1e+09, not '%s'", text);
        return false;
    }
    *seconds = value;
    return true;
}

enum { OPTION_ROUNDS = 256, OPTION_BUDGET, OPTION_JSON };

/* False where the option makes no sense. */
static bool take_option(int option, int *device, struct tune_options *options)
{
    switch (option) {
    case 'd':
        return parse_count("device", optarg, 0, INT_MAX, device);
    case OPTION_ROUNDS:
        return parse_count("rounds", optarg, 3, 100000, &options->rounds);
    case OPTION_BUDGET:
        return parse_budget(optarg, &options->budget);
    case OPTION_JSON:
        json.path = optarg;
        return tune_write_json != NULL || lacks_json("json");
    default:
        return false;
    }
}

/* ---- the command -------------------------------------------------------------------------------- */

static void drop_json(void)
{
    sinks_drop(&json, 1);
}

static void report(const struct tune_chain *chain, const struct tune_curve *curve)
{
    tune_print_curve(chain, curve, session.text);
}

/* The exit code of a search that came to its end. */
static int search(const struct tune_options *options)
{
    tune_print_head(&session.chain, session.text);
    tune_measure(&session.chain, options, &session.result);
    tune_print_result(&session.chain, &session.result, session.text);
    const bool written = sinks_write(&json, 1);
    const bool failed = session.result.failed != NULL;
    tune_result_free(&session.result);
    return !written                 ? EXIT_USAGE
           : bench_interrupted != 0 ? 128 + (int)bench_interrupted
           : failed                 ? EXIT_FINDING
                                    : EXIT_DONE;
}

static int run(int device, const char *file, const struct tune_options *options)
{
    char why[1024];
    int code = EXIT_USAGE;
    session.text = sinks_take_stdout(&json, 1) ? stderr : stdout;
    (void)atexit(drop_json);
    if (!sinks_open(&json, 1)) {
        return EXIT_USAGE;
    }
    if (!gpu_open(device, why, sizeof(why))) {
        print_error("%s", why);
        return EXIT_USAGE;
    }
    run_catch_signals();
    if (tune_read == NULL) {
        print_error("a chain in JSON needs a pdltool that was built with the library jansson");
    } else if (tune_read(&session.chain, file)) {
        code = search(options);
    }
    tune_chain_free(&session.chain);
    gpu_close();
    return code;
}

int command_tune(int argc, char **argv)
{
    static const struct option options[] = {
        {"device", required_argument, NULL, 'd'},
        {"rounds", required_argument, NULL, OPTION_ROUNDS},
        {"budget", required_argument, NULL, OPTION_BUDGET},
        {"json", required_argument, NULL, OPTION_JSON},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct tune_options chosen = {.rounds = 15, .budget = 300, .report = report};
    int device = 0;
    int option;
    while ((option = next_option(argc, argv, "d:h", options)) != -1) {
        if (option == 'h') {
            usage();
            return EXIT_DONE;
        }
        if (!take_option(option, &device, &chosen)) {
            return EXIT_USAGE;
        }
    }
    if (argc - optind != 1) {
        print_misuse(argc == optind ? "no chain to tune" : "one chain at a time");
        return EXIT_USAGE;
    }
    return run(device, argv[optind], &chosen);
}
