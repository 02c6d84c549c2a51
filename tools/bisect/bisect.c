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

static const char program[] = "pdltool bisect";

enum { MOST_RUNS = 100000, DEFAULT_MOST_RUNS = 100 };

static void usage(FILE *to)
{
    (void)fputs(
        "usage: pdltool bisect [OPTION...] -- COMMAND [ARGUMENT...]\n\n"
        "Which kernel's overlap makes COMMAND fail? COMMAND is run as it is and has to fail, then "
        "without\n"
        "any overlap and has to pass. Then ever fewer kernels overlap, until none can be left out; "
        "then\n"
        "ever fewer of their launches. COMMAND is not changed, and its output is not shown.\n\n"
        "  -n, --runs N             runs of each step: it fails with the first that does, and "
        "passes\n"
        "                           after N (default: as many as --confidence needs)\n"
        "      --confidence C       of each step that passes, by the share of runs that failed so "
        "far\n"
        "                           (default: 0.99)\n"
        "      --most-runs N        at most that many of each step without --runs (default: 100)\n"
        "      --timeout SECONDS    a run that takes longer has failed\n"
        "      --overlap KIND       own: the overlaps that the program asks for; on: those that "
        "pdltool\n"
        "                           can add to it, as `pdltool watch --overlap=on` does (default: "
        "own)\n"
        "      --only GLOB          suspect only kernels of this name, as in the code or as shown; "
        "may be\n"
        "                           repeated; all others stay as they are\n"
        "      --except GLOB        suspect all but these; may be repeated\n"
        "      --no-launches        name kernels, and search no launches of them\n"
        "      --amplify            hold up what is before a suspect, so that a race shows more "
        "often\n"
        "      --log FILE           a line for each run; a search goes on from it if it is there\n"
        "      --continue FILE      the same, and it has to be there\n"
        "      --json               what was found as JSON\n"
        "  -v, --verbose            show what COMMAND prints, on standard error\n\n"
        "COMMAND's exit code is read as `git bisect run` does: 0 passes, 125 cannot be judged, 126 "
        "and 127\n"
        "end the search, all others fail. So do signals.\n\n"
        "exit code:\n"
        "  0 found, 1 not found, or overlap is not the cause, 2 the command line is wrong or "
        "COMMAND\n"
        "  cannot be run\n",
        to);
}

/* ---- the command line ------------------------------------------------------------------------- */

enum {
    OPTION_CONFIDENCE = 256,
    OPTION_MOST_RUNS,
    OPTION_TIMEOUT,
    OPTION_OVERLAP,
    OPTION_ONLY,
    OPTION_EXCEPT,
    OPTION_NO_LAUNCHES,
    OPTION_AMPLIFY,
    OPTION_LOG,
    OPTION_CONTINUE,
    OPTION_JSON
};

static bool parse_real(const char *name, const char *text, double above, double below,
                       double *value)
{
    char *end = NULL;
    errno = 0;
    const double number = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0 || !(number > above && number < below)) {
        print_line(stderr, "%s: --%s takes a number above %g and below %g, not %s", program, name,
                   above, below, text);
        return false;
    }
    *value = number;
    return true;
}

static bool read_kind(const char *text, bool *added)
{
    *added = strcmp(text, "on") == 0;
    if (!*added && strcmp(text, "own") != 0) {
        print_line(stderr, "%s: --overlap is own or on, not %s", program, text);
        return false;
    }
    return true;
}

static bool read_pattern(struct bisect_patterns *patterns, const char *text)
{
    if (*text == '\0' || strchr(text, '\n') != NULL) {
        print_line(stderr, "%s: --only and --except take a pattern of kernels' names", program);
        return false;
    }
    APPEND(patterns, text);
    return true;
}

static bool read_option(struct bisect_options *options, int option)
{
    switch (option) {
    case 'n':
        return parse_count(program, "runs", optarg, 1, MOST_RUNS, &options->runs);
    case 'v':
        options->verbose = true;
        return true;
    case OPTION_CONFIDENCE:
        return parse_real("confidence", optarg, 0, 1, &options->confidence);
    case OPTION_MOST_RUNS:
        return parse_count(program, "most-runs", optarg, 1, MOST_RUNS, &options->most_runs);
    case OPTION_TIMEOUT:
        return parse_real("timeout", optarg, 0, 1e6, &options->timeout);
    case OPTION_OVERLAP:
        return read_kind(optarg, &options->added);
    case OPTION_ONLY:
        return read_pattern(&options->only, optarg);
    case OPTION_EXCEPT:
        return read_pattern(&options->except, optarg);
    case OPTION_NO_LAUNCHES:
        options->launches = false;
        return true;
    case OPTION_AMPLIFY:
        options->amplify = true;
        return true;
    case OPTION_LOG:
    case OPTION_CONTINUE:
        options->log = optarg;
        options->must_continue = options->must_continue || option == OPTION_CONTINUE;
        return true;
    case OPTION_JSON:
#ifdef PDL_HAVE_JANSSON
        options->json = true;
        return true;
#else
        print_line(
            stderr,
            "%s: --json is not in this build, which was made without the JSON library jansson",
            program);
        return false;
#endif
    default:
        print_line(stderr, "`%s --help` tells the options; COMMAND comes after --", program);
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
        {"no-launches", no_argument, NULL, OPTION_NO_LAUNCHES},
        {"amplify", no_argument, NULL, OPTION_AMPLIFY},
        {"log", required_argument, NULL, OPTION_LOG},
        {"continue", required_argument, NULL, OPTION_CONTINUE},
        {"json", no_argument, NULL, OPTION_JSON},
        {"verbose", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "+n:vh", known, NULL)) != -1) {
        if (option == 'h') {
            usage(stdout);
            return EXIT_DONE;
        }
        if (!read_option(options, option)) {
            return EXIT_USAGE;
        }
    }
    if (optind >= argc) {
        print_line(stderr, "%s: no command to run; `%s --help` tells how", program, program);
        return EXIT_USAGE;
    }
    options->arguments = argv + optind;
    return -1;
}

/* ---- the search ------------------------------------------------------------------------------- */

/* What decides what a run of a set shows: a log of other settings is of no use. */
static bool compare_settings(struct bisect *bisect)
{
    const struct bisect_options *const options = &bisect->options;
    struct {
        char **items;
        size_t count, capacity;
    } settings = {0};
    APPEND(&settings, format_text("overlap %s", options->added ? "on" : "own"));
    APPEND(&settings, format_text("amplify %s", options->amplify ? "yes" : "no"));
    APPEND(&settings, format_text("timeout %g", options->timeout));
    for (size_t i = 0; i < options->only.count; i++) {
        APPEND(&settings, format_text("only %s", options->only.items[i]));
    }
    for (size_t i = 0; i < options->except.count; i++) {
        APPEND(&settings, format_text("except %s", options->except.items[i]));
    }
    APPEND(&settings, copy_text("end"));
    const bool same =
        log_settings(&bisect->log, (const char *const *)settings.items, settings.count);
    for (size_t i = 0; i < settings.count; i++) {
        free(settings.items[i]);
    }
    free((void *)settings.items);
    return same;
}

/* False with a line on standard error. */
static bool prepare(struct bisect *bisect)
{
    const struct bisect_options *const options = &bisect->options;
    if (!log_open(&bisect->log, options->log, options->must_continue) ||
        !log_command(&bisect->log, options->arguments) || !compare_settings(bisect)) {
        return false;
    }
    char *const why = temporary_make(&bisect->folder);
    if (why != NULL) {
        print_line(stderr, "%s: %s", program, why);
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
#ifdef PDL_HAVE_JANSSON
        written = bisect->options.json ? report_json(bisect) : report_text(bisect);
#else
        written = report_text(bisect);
#endif
    }
    if (!written) {
        print_line(stderr, "%s: what was found could not be written: %s", program, strerror(errno));
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
        subset_free(&culprit->subset);
    }
    free(bisect->culprits.items);
    log_close(&bisect->log);
    temporary_remove(&bisect->folder);
    watch_free(&bisect->watch);
    free(bisect->rules);
    free(bisect->record);
    free((void *)bisect->options.only.items);
    free((void *)bisect->options.except.items);
}

int command_bisect(int argc, char **argv)
{
    struct bisect bisect = {
        .options = {.confidence = 0.99, .most_runs = DEFAULT_MOST_RUNS, .launches = true},
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
