/* SPDX-License-Identifier: MIT */
/* pdltool bisect: which kernel's overlap makes a command fail. */
#include "bisect/bisect.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common/memory.h"
#include "common/options.h"
#include "common/print.h"

enum { MOST_RUNS = 100000, DEFAULT_MOST_RUNS = 100 };

static void usage(void)
{
    (void)fputs("usage: pdltool bisect [OPTION...] -- COMMAND [ARGUMENT...]\n"
                "\n"
                "Finds the kernels whose overlap makes COMMAND fail. COMMAND must fail as it is\n"
                "and pass without overlap. Then fewer and fewer kernels overlap, until none of\n"
                "them can be left out. COMMAND is not modified, and its output is hidden.\n"
                "\n"
                "  -n, --runs N           runs per step: the first failure ends the step, which\n"
                "                         passes after N runs (default: what --confidence needs)\n"
                "      --confidence C     confidence in each step that passes, from the share of\n"
                "                         runs that failed so far (default: 0.99)\n"
                "      --most-runs N      at most N runs per step without --runs (default: 100)\n"
                "      --timeout SECONDS  a run that takes longer fails\n"
                "      --overlap KIND     one of own, on (default: own); own: the overlaps that\n"
                "                         COMMAND asks for; on: also those that pdltool can\n"
                "                         add, as 'pdltool watch --overlap on' does\n"
                "      --only GLOB        suspect only kernels with this mangled or demangled\n"
                "                         name; repeatable\n"
                "      --except GLOB      suspect all kernels but these; repeatable\n"
                "      --amplify          delay what precedes a suspect, so that a race shows\n"
                "                         more often\n"
                "      --json             write the result as JSON\n"
                "  -v, --verbose          copy the output of COMMAND to standard error\n"
                "\n"
                "The exit codes of COMMAND mean what they mean to 'git bisect run': 0 passes,\n"
                "125 cannot be judged, 126 and 127 end the search, all others fail. A signal is\n"
                "a failure.\n"
                "\n"
                "Examples:\n"
                "  pdltool bisect -- ./decode --check\n"
                "  pdltool bisect --runs 20 -- python3 test_decode.py\n"
                "\n"
                "Exit status: 0 if the kernels were found; 1 if not, or if overlap is not the\n"
                "cause; 2 if the command line is wrong, or COMMAND could not be run or observed.\n",
                stdout);
}

/* ---- the command line ------------------------------------------------------------------------- */

enum {
    OPTION_CONFIDENCE = 256,
    OPTION_MOST_RUNS,
    OPTION_TIMEOUT,
    OPTION_OVERLAP,
    OPTION_ONLY,
    OPTION_EXCEPT,
    OPTION_AMPLIFY,
    OPTION_JSON
};

static bool parse_real(const char *name, const char *text, double above, double below,
                       double *value)
{
    char *end = NULL;
    errno = 0;
    const double number = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0 || !(number > above && number < below)) {
        print_error("--%s takes a number above %g and below %g, not '%s'", name, above, below,
                    text);
        return false;
    }
    *value = number;
    return true;
}

static bool read_kind(const char *text, bool *added)
{
    static const char *const kinds[] = {"own", "on", NULL};
    const int kind = parse_choice("overlap", text, kinds);
    *added = kind == 1;
    return kind >= 0;
}

static bool read_pattern(struct bisect_patterns *patterns, const char *text)
{
    if (*text == '\0' || strchr(text, '\n') != NULL) {
        print_error("--only and --except take a pattern for kernel names, not '%s'", text);
        return false;
    }
    APPEND(patterns, text);
    return true;
}

static bool read_option(struct bisect_options *options, int option)
{
    switch (option) {
    case 'n':
        return parse_count("runs", optarg, 1, MOST_RUNS, &options->runs);
    case 'v':
        options->verbose = true;
        return true;
    case OPTION_CONFIDENCE:
        return parse_real("confidence", optarg, 0, 1, &options->confidence);
    case OPTION_MOST_RUNS:
        return parse_count("most-runs", optarg, 1, MOST_RUNS, &options->most_runs);
    case OPTION_TIMEOUT:
        return parse_real("timeout", optarg, 0, 1e6, &options->timeout);
    case OPTION_OVERLAP:
        return read_kind(optarg, &options->added);
    case OPTION_ONLY:
        return read_pattern(&options->only, optarg);
    case OPTION_EXCEPT:
        return read_pattern(&options->except, optarg);
    case OPTION_AMPLIFY:
        options->amplify = true;
        return true;
    case OPTION_JSON:
        options->json = true;
        return report_json != NULL || lacks_json("json");
    default:
        return false;
    }
}

/* An exit code, or -1 to go on. */
static int read_options(struct bisect_options *options, int argc, char **argv)
{
    static const struct option known[] = {
        {"runs", required_argument, NULL, 'n'},
        {"confidence", required_argument, NULL, OPTION_CONFIDENCE},
        {"most-runs", required_argument, NULL, OPTION_MOST_RUNS},
        {"timeout", required_argument, NULL, OPTION_TIMEOUT},
        {"overlap", required_argument, NULL, OPTION_OVERLAP},
        {"only", required_argument, NULL, OPTION_ONLY},
        {"except", required_argument, NULL, OPTION_EXCEPT},
        {"amplify", no_argument, NULL, OPTION_AMPLIFY},
        {"json", no_argument, NULL, OPTION_JSON},
        {"verbose", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    int option;
    while ((option = next_option(argc, argv, "+n:vh", known)) != -1) {
        if (option == 'h') {
            usage();
            return EXIT_DONE;
        }
        if (!read_option(options, option)) {
            return EXIT_USAGE;
        }
    }
    if (optind >= argc) {
        print_misuse("no command to run");
        return EXIT_USAGE;
    }
    options->arguments = argv + optind;
    return -1;
}

/* ---- the search ------------------------------------------------------------------------------- */

/* False with a line on standard error. */
static bool prepare(struct bisect *bisect)
{
    char *const why = temporary_make(&bisect->folder);
    if (why != NULL) {
        print_error("%s", why);
        free(why);
        return false;
    }
    bisect->rules = format_text("%s/rules", bisect->folder.path);
    bisect->record = format_text("%s/record", bisect->folder.path);
    return true;
}

static int report(const struct bisect *bisect)
{
    bool written = true;
    if (bisect->outcome != BISECT_ABORTED) {
        written = bisect->options.json ? report_json(bisect) : report_text(bisect);
    }
    if (!written) {
        print_error("cannot write the report: %s", strerror(errno));
        return EXIT_USAGE;
    }
    return report_exit_code(bisect->outcome);
}

static void clean_up(struct bisect *bisect)
{
    for (size_t i = 0; i < bisect->culprits.count; i++) {
        struct culprit *const culprit = &bisect->culprits.items[i];
        free(culprit->kernels);
        free(culprit->unresolved);
    }
    free(bisect->culprits.items);
    for (size_t i = 0; i < bisect->steps.count; i++) {
        free(bisect->steps.items[i].set);
    }
    free(bisect->steps.items);
    suspects_free(bisect);
    temporary_remove(&bisect->folder);
    watch_free(&bisect->watch);
    free(bisect->rules);
    free(bisect->record);
    free((void *)bisect->options.only.items);
    free((void *)bisect->options.except.items);
}

int command_bisect(int argc, char **argv)
{
    struct bisect bisect = {.options = {.confidence = 0.99, .most_runs = DEFAULT_MOST_RUNS},
                            .folder = TEMPORARY_NONE,
                            .outcome = BISECT_ABORTED};
    int code = read_options(&bisect.options, argc, argv);
    if (code < 0) {
        code = EXIT_USAGE;
        if (prepare(&bisect)) {
            steps_catch_signals();
            bisect.outcome = hunt(&bisect);
            code = report(&bisect);
        }
    }
    const int number = bisect.outcome == BISECT_INTERRUPTED ? bisect.signal : 0;
    clean_up(&bisect);
    if (number != 0) { /* who waits for pdltool sees what ended it */
        (void)signal(number, SIG_DFL);
        (void)raise(number);
    }
    return code;
}
