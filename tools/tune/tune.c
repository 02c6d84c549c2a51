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
#include "common/options.h"
#include "common/print.h"

static FILE *told; /* where the search is told */

static void usage(void)
{
    (void)fputs("usage: pdltool tune FILE [OPTION...]\n"
                "\n"
                "Searches for the fastest trigger positions (PDL_TRIGGER_POINT) of the chain of\n"
                "kernels that FILE describes. Every result is compared bit by bit with that of\n"
                "the chain without overlap; configurations that differ are discarded.\n"
                "\n"
                "  -d, --device N        device number (default: 0)\n"
                "      --rounds N        samples per configuration (default: 15)\n"
                "      --budget SECONDS  time limit of the search (default: 300)\n"
                "      --json            write JSON; the text then goes to standard error\n"
                "\n"
                "Examples:\n"
                "  pdltool tune mlp.pdltune\n"
                "  pdltool tune mlp.pdltune --budget 60 --json\n"
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

struct request {
    int device;
    bool json;
    struct tune_options options;
};

/* False where the option makes no sense. */
static bool take_option(int option, struct request *request)
{
    switch (option) {
    case 'd':
        return parse_count("device", optarg, 0, INT_MAX, &request->device);
    case OPTION_ROUNDS:
        return parse_count("rounds", optarg, 3, 100000, &request->options.rounds);
    case OPTION_BUDGET:
        return parse_budget(optarg, &request->options.budget);
    case OPTION_JSON:
        request->json = true;
        return tune_print_json != NULL || lacks_json("json");
    default:
        return false;
    }
}

/* ---- the command -------------------------------------------------------------------------------- */

static void report(const struct tune_chain *chain, const struct tune_curve *curve)
{
    tune_print_curve(chain, curve, told);
}

/* The exit code of a search that came to its end. */
static int search(const struct tune_chain *chain, const struct request *request)
{
    struct tune_result result = {.items = NULL};
    tune_print_head(chain, told);
    tune_measure(chain, &request->options, &result);
    tune_print_result(chain, &result, told);
    const bool written = !request->json || tune_print_json(chain, &result);
    const bool failed = result.failed != NULL;
    tune_result_free(&result);
    return !written                 ? EXIT_USAGE
           : bench_interrupted != 0 ? 128 + (int)bench_interrupted
           : failed                 ? EXIT_FINDING
                                    : EXIT_DONE;
}

static int run(const char *file, const struct request *request)
{
    struct tune_chain chain = {.name = NULL};
    char why[1024];
    told = request->json ? stderr : stdout;
    if (!gpu_open(request->device, why, sizeof(why))) {
        print_error("%s", why);
        return EXIT_USAGE;
    }
    run_catch_signals();
    const int code = tune_read(&chain, file) ? search(&chain, request) : EXIT_USAGE;
    tune_chain_free(&chain);
    gpu_close();
    return code;
}

int command_tune(int argc, char **argv)
{
    static const struct option options[] = {
        {"device", required_argument, NULL, 'd'},
        {"rounds", required_argument, NULL, OPTION_ROUNDS},
        {"budget", required_argument, NULL, OPTION_BUDGET},
        {"json", no_argument, NULL, OPTION_JSON},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct request request = {.options = {.rounds = 15, .budget = 300, .report = report}};
    int option;
    while ((option = next_option(argc, argv, "d:h", options)) != -1) {
        if (option == 'h') {
            usage();
            return EXIT_DONE;
        }
        if (!take_option(option, &request)) {
            return EXIT_USAGE;
        }
    }
    if (argc - optind != 1) {
        print_misuse(argc == optind ? "no chain to tune" : "one chain at a time");
        return EXIT_USAGE;
    }
    return run(argv[optind], &request);
}
