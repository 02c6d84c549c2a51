/* SPDX-License-Identifier: MIT */
/* pdltool tune: the best places of the triggers and the best grids for a chain of kernels. */
#include "tune/tune.h"

#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/gpu.h"
#include "bench/run.h"
#include "commands.h"
#include "common/memory.h"
#include "common/options.h"
#include "common/print.h"
#include "common/sinks.h"

enum { CSV, SAVE, JSON, SINKS };

struct command {
    int device, batch;
    struct tune_decoder decoder;
    const char *what; /* "decode", or a file */
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

static void write_saved(FILE *to)
{
    tune_write_saved(&session.job, &session.result, to);
}

static void write_json(FILE *to)
{
    tune_write_json(&session.job, &session.result, to);
}

static struct sink sinks[SINKS] = {
    [CSV] = {"csv", write_csv, NULL, NULL, NULL},
    [SAVE] = {"save", write_saved, NULL, NULL, NULL},
    [JSON] = {"json", write_json, NULL, NULL, NULL},
};

static void usage(void)
{
    (void)fputs("usage: pdltool tune decode [OPTION...]\n"
                "       pdltool tune CHAIN.json [OPTION...]\n"
                "\n"
                "Searches for the fastest trigger positions (PDL_TRIGGER_POINT) and grid sizes of\n"
                "a chain of kernels: the decoder of example 09_decode, or the chain that a JSON\n"
                "file describes. Every result is compared bit by bit with that of the chain\n"
                "without overlap; configurations that differ are discarded.\n"
                "\n"
                "      --part PART       one of attention, linear (default: attention): the part\n"
                "                        of decode to tune\n"
                "      --shape SHAPE     one of 1b, 3b, 8b (default: 1b): the widths of decode\n"
                "      --sequences N     sequences that decode computes a token for, 1 to 16\n"
                "                        (default: 1)\n"
                "      --context N       tokens that its attention looks at (default: 512)\n"
                "      --weights FORMAT  one of bf16, fp8 (default: bf16): its weights\n"
                "      --from CHOICE     one of plain, present (default: plain): the grids that\n"
                "                        the search of decode starts from; plain: one block per\n"
                "                        multiprocessor, present: those of the example\n"
                "  -d, --device N        device number (default: 0)\n"
                "      --rounds N        samples per configuration (default: 15)\n"
                "      --batch N         replays per sample (default: what takes 2 ms)\n"
                "      --restarts N      searches from random neighbours after the first\n"
                "                        (default: 3)\n"
                "      --gain PERCENT    smallest gain that counts (default: 0.2)\n"
                "      --budget SECONDS  time limit of the search (default: 300)\n"
                "      --save FILE       write the choice for PDL_TUNED and pdl_policy_set()\n"
                "      --csv FILE        write one line per configuration; - is standard output\n"
                "      --json FILE       write everything, with all samples\n"
                "\n"
                "Examples:\n"
                "  pdltool tune chain.json --save chain.tuned\n"
                "  pdltool tune decode --shape 8b --context 8192 --json decode.json\n"
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
    OPTION_PART = 256,
    OPTION_FROM,
    OPTION_SHAPE,
    OPTION_SEQUENCES,
    OPTION_CONTEXT,
    OPTION_WEIGHTS,
    OPTION_RESTARTS,
    OPTION_ROUNDS,
    OPTION_BATCH,
    OPTION_GAIN,
    OPTION_BUDGET,
    OPTION_SAVE,
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

/* Whether the first of two choices was made. */
static bool take_choice(const char *name, const char *const choices[3], bool *first)
{
    const int choice = parse_choice(name, optarg, choices);
    *first = choice == 0;
    return choice >= 0;
}

/* False where the option makes no sense. */
static bool take_option(struct command *command, int option)
{
    static const char *const parts[] = {"attention", "linear", NULL};
    static const char *const grids[] = {"present", "plain", NULL};
    static const char *const shapes[] = {"1b", "3b", "8b", NULL};
    static const char *const weights[] = {"fp8", "bf16", NULL};
    int choice = 0;
    switch (option) {
    case 'd':
        return parse_count("device", optarg, 0, INT_MAX, &command->device);
    case OPTION_PART:
        return take_choice("part", parts, &command->decoder.attention);
    case OPTION_FROM:
        return take_choice("from", grids, &command->decoder.present);
    case OPTION_SHAPE:
        choice = parse_choice("shape", optarg, shapes);
        command->decoder.shape = choice < 0 ? NULL : shapes[choice];
        return choice >= 0;
    case OPTION_SEQUENCES:
        return parse_count("sequences", optarg, 1, 16, &command->decoder.sequences);
    case OPTION_CONTEXT:
        return parse_count("context", optarg, 1, 1 << 20, &command->decoder.context);
    case OPTION_WEIGHTS:
        return take_choice("weights", weights, &command->decoder.fp8_weights);
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
    case OPTION_SAVE:
        return take_sink(SAVE);
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

static bool make_job(const struct command *command)
{
    if (strcmp(command->what, "decode") != 0) {
        if (tune_file_job == NULL) {
            print_error("a chain in JSON needs a pdltool that was built with the library jansson");
            return false;
        }
        return tune_file_job(&session.job, command->what);
    }
    if (tune_decode_job == NULL) {
        print_error("decode needs a pdltool that was built with nvcc");
        return false;
    }
    char why[512];
    if (!tune_decode_job(&session.job, &command->decoder, why, sizeof(why))) {
        print_error("%s", why);
        return false;
    }
    return true;
}

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
    if (!make_job(command)) {
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
        {"part", required_argument, NULL, OPTION_PART},
        {"from", required_argument, NULL, OPTION_FROM},
        {"shape", required_argument, NULL, OPTION_SHAPE},
        {"sequences", required_argument, NULL, OPTION_SEQUENCES},
        {"context", required_argument, NULL, OPTION_CONTEXT},
        {"weights", required_argument, NULL, OPTION_WEIGHTS},
        {"device", required_argument, NULL, 'd'},
        {"restarts", required_argument, NULL, OPTION_RESTARTS},
        {"rounds", required_argument, NULL, OPTION_ROUNDS},
        {"batch", required_argument, NULL, OPTION_BATCH},
        {"gain", required_argument, NULL, OPTION_GAIN},
        {"budget", required_argument, NULL, OPTION_BUDGET},
        {"save", required_argument, NULL, OPTION_SAVE},
        {"csv", required_argument, NULL, OPTION_CSV},
        {"json", required_argument, NULL, OPTION_JSON},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct command command = {
        .decoder = {.shape = "1b", .sequences = 1, .context = 512, .attention = true},
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
    command.what = argv[optind];
    return run(&command);
}
