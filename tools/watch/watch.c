/* SPDX-License-Identifier: MIT */
/* pdltool watch: the command line, and what happens in which order. */
#include "watch/model.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "code/instrument_words.h"
#include "commands.h"
#include "common/file.h"
#include "common/memory.h"
#include "common/options.h"
#include "common/print.h"
#include "common/temporary.h"
#include "watch/files.h"
#include "watch/start.h"

enum { ROWS = 12 };

enum finding { FAIL_RACE = 1, FAIL_UNKNOWN = 2, FAIL_NO_OVERLAP = 4 };

struct request {
    struct paths inputs, kernels, only, except;
    const char *record, *output, *trace, *svg;
    const char *overlap;    /* "on" or "off"; NULL: as the program has it */
    const char *instrument; /* "entry" or "hoist"; NULL: not */
    char **program;         /* NULL: recordings are read */
    double seconds;
    int skip, count, rows;
    unsigned fail_on; /* enum finding */
    bool all, no_cupti, quiet, json, done;
    bool allow_unobserved; /* what was not looked at fails no gate */
};

static void usage(void)
{
    (void)fputs("usage: pdltool watch [OPTION...] -- PROGRAM [ARGUMENT...]\n"
                "       pdltool watch [OPTION...] --input FILE [FILE...]\n"
                "\n"
                "Runs a program unmodified and reports for each kernel whether its launches ask\n"
                "for overlap (Programmatic Dependent Launch), whether they overlap the kernel\n"
                "before them, why not, and whether that is safe. With --input, reports on an\n"
                "earlier recording.\n"
                "\n"
                "What is watched:\n"
                "  --skip N              ignore the first N launches\n"
                "  --count N             watch N launches\n"
                "  --seconds S           watch S seconds from the first launch\n"
                "  --kernel PATTERN      report only kernels of this name; as in fnmatch(3);\n"
                "                        repeatable\n"
                "  --no-cupti            do not use CUPTI: costs less, but without device times\n"
                "                        the report cannot say what overlapped\n"
                "  --record FILE         keep the recording; further processes write FILE.2,\n"
                "                        FILE.3 and so on\n"
                "  --input FILE          read a recording; needs no device; repeatable\n"
                "\n"
                "What is changed:\n"
                "  --overlap STATE       one of on, off; off: no launch overlaps; on: a launch\n"
                "                        overlaps if its kernel is proved to wait before it\n"
                "                        touches memory\n"
                "  --only PATTERN        only for launches of kernels with this mangled name; as\n"
                "                        in fnmatch(3), or =NAME; repeatable\n"
                "  --except PATTERN      not for these; repeatable\n"
                "  --instrument WAIT     one of entry, hoist: put a wait into kernels that are\n"
                "                        loaded as PTX, as pdltool instrument does; overlap is\n"
                "                        then on, unless --overlap is given\n"
                "\n"
                "What is shown:\n"
                "  --output FILE         write the report to FILE; - is standard output\n"
                "                        (default: standard error; with --input standard output)\n"
                "  --rows N              at most N rows per table (default: 12)\n"
                "  --all                 all rows, and full names\n"
                "  -q, --quiet           only the verdict, in one line\n"
                "  --json                write JSON\n"
                "  --trace FILE          write the kernel runs for Perfetto\n"
                "  --svg FILE            write a picture of up to 200 kernel runs\n"
                "\n"
                "Exit status:\n"
                "  --fail-on LIST        what makes it 1, separated by commas; each one of race,\n"
                "                        unknown, no-overlap, never (default: race)\n"
                "  --allow-unobserved    launches that could not be looked at do not make it 2\n"
                "\n"
                "  The status of PROGRAM if that is not 0; otherwise 0, 1 for a finding, 2 if a\n"
                "  recording could not be read, no launch was recorded, or records or the code\n"
                "  that --fail-on asks about are missing; 126 or 127 if PROGRAM could not be\n"
                "  started.\n"
                "\n"
                "Examples:\n"
                "  pdltool watch -- python3 decode.py\n"
                "  pdltool watch --record run.rec --count 5000 -- ./server --once\n",
                stdout);
}

/* ---- the command line ------------------------------------------------------------------------- */

static bool read_fail_on(const char *list, unsigned *fail_on)
{
    static const struct {
        const char *word;
        unsigned bit;
    } words[] = {{"race", FAIL_RACE},
                 {"unknown", FAIL_UNKNOWN},
                 {"no-overlap", FAIL_NO_OVERLAP},
                 {"never", 0}};
    const size_t most = sizeof(words) / sizeof(words[0]);
    *fail_on = 0;
    for (const char *word = list;; word++) {
        const size_t length = strcspn(word, ",");
        size_t i = 0;
        while (i < most &&
               (strncmp(word, words[i].word, length) != 0 || words[i].word[length] != '\0')) {
            i++;
        }
        if (i == most) {
            print_error(
                "--fail-on takes a list of race, unknown and no-overlap, or never, not '%s'", list);
            return false;
        }
        *fail_on |= words[i].bit;
        word += length;
        if (*word == '\0') {
            return true;
        }
    }
}

static bool read_seconds(const char *text, double *seconds)
{
    char *end = NULL;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0 && value <= 1e9)) {
        print_error("--seconds takes a number above 0, not '%s'", text);
        return false;
    }
    *seconds = value;
    return true;
}

static bool read_pattern(const char *option, const char *text, struct paths *patterns)
{
    if (*text == '\0' || strpbrk(text, "\n\r") != NULL) {
        print_error("--%s takes a kernel name or a pattern, not '%s'", option, text);
        return false;
    }
    APPEND(patterns, copy_text(text));
    return true;
}

static bool read_window_option(struct request *request, int option)
{
    switch (option) {
    case 's':
        return parse_count("skip", optarg, 0, INT_MAX, &request->skip);
    case 'c':
        return parse_count("count", optarg, 1, INT_MAX, &request->count);
    case 'S':
        return read_seconds(optarg, &request->seconds);
    case 'k':
        APPEND(&request->kernels, copy_text(optarg));
        return true;
    default:
        return false;
    }
}

static bool read_option(struct request *request, int option)
{
    static const char *const states[] = {"on", "off", NULL};
    switch (option) {
    case 'i':
        APPEND(&request->inputs, copy_text(optarg));
        return true;
    case 'R':
        request->record = optarg;
        return true;
    case 'n':
        request->no_cupti = true;
        return true;
    case 'O':
        request->overlap = optarg;
        return parse_choice("overlap", optarg, states) >= 0;
    case 'y':
        return read_pattern("only", optarg, &request->only);
    case 'x':
        return read_pattern("except", optarg, &request->except);
    case 'I':
        request->instrument = optarg;
        return parse_choice("instrument", optarg, pdl_instrument_wait_words()) >= 0;
    case 'o':
        request->output = optarg;
        return true;
    case 'w':
        return parse_count("rows", optarg, 1, INT_MAX, &request->rows);
    case 'a':
        request->all = true;
        return true;
    case 'q':
        request->quiet = true;
        return true;
    case 'j':
        request->json = true;
        return watch_print_json != NULL || lacks_json("json");
    case 't':
        request->trace = optarg;
        return true;
    case 'v':
        request->svg = optarg;
        return true;
    case 'f':
        return read_fail_on(optarg, &request->fail_on);
    case 'u':
        request->allow_unobserved = true;
        return true;
    case 'h':
        usage();
        request->done = true;
        return true;
    default:
        return read_window_option(request, option);
    }
}

static bool complain(const char *what)
{
    print_misuse("%s", what);
    return false;
}

static bool check_request(const struct request *request)
{
    const bool runs = request->program != NULL;
    if (!runs && request->inputs.count == 0) {
        return complain("no program to run and no --input");
    }
    if (runs && request->inputs.count > 0) {
        return complain("--input reads a recording and runs no program");
    }
    if (!runs &&
        (request->record != NULL || request->overlap != NULL || request->instrument != NULL ||
         request->no_cupti || request->skip > 0 || request->count > 0 || request->seconds > 0)) {
        return complain("--record, --skip, --count, --seconds, --overlap, --instrument and "
                        "--no-cupti need a program, not --input");
    }
    if (request->overlap == NULL && request->only.count + request->except.count > 0) {
        return complain("--only and --except need --overlap or --instrument");
    }
    if (request->quiet && request->json) {
        return complain("--quiet and --json exclude each other");
    }
    return true;
}

static bool read_request(struct request *request, int argc, char **argv)
{
    static const struct option options[] = {{"input", required_argument, NULL, 'i'},
                                            {"record", required_argument, NULL, 'R'},
                                            {"skip", required_argument, NULL, 's'},
                                            {"count", required_argument, NULL, 'c'},
                                            {"seconds", required_argument, NULL, 'S'},
                                            {"kernel", required_argument, NULL, 'k'},
                                            {"no-cupti", no_argument, NULL, 'n'},
                                            {"overlap", required_argument, NULL, 'O'},
                                            {"only", required_argument, NULL, 'y'},
                                            {"except", required_argument, NULL, 'x'},
                                            {"instrument", required_argument, NULL, 'I'},
                                            {"output", required_argument, NULL, 'o'},
                                            {"rows", required_argument, NULL, 'w'},
                                            {"all", no_argument, NULL, 'a'},
                                            {"quiet", no_argument, NULL, 'q'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"trace", required_argument, NULL, 't'},
                                            {"svg", required_argument, NULL, 'v'},
                                            {"fail-on", required_argument, NULL, 'f'},
                                            {"allow-unobserved", no_argument, NULL, 'u'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int option;
    /* What follows the program is the program's. */
    while ((option = next_option(argc, argv, "+hq", options)) != -1) {
        if (!read_option(request, option)) {
            return false;
        }
        if (request->done) {
            return true;
        }
    }
    /* --input *.rec */
    while (request->inputs.count > 0 && optind < argc && strcmp(argv[optind - 1], "--") != 0) {
        APPEND(&request->inputs, copy_text(argv[optind++]));
    }
    request->program = optind < argc ? &argv[optind] : NULL;
    if (request->instrument != NULL && request->overlap == NULL) {
        request->overlap = "on";
    }
    return check_request(request);
}

/* ---- the report ------------------------------------------------------------------------------- */

static bool has_unknown(const struct watch *watch)
{
    for (size_t i = 0; i < watch->kernels.count; i++) {
        if (watch_race_is_open(watch->kernels.items[i].race)) {
            return true;
        }
    }
    return false;
}

static bool is_finding(const struct request *request, const struct watch *watch)
{
    return ((request->fail_on & FAIL_RACE) != 0 && watch->sums.races > 0) ||
           ((request->fail_on & FAIL_UNKNOWN) != 0 && has_unknown(watch)) ||
           ((request->fail_on & FAIL_NO_OVERLAP) != 0 && watch->sums.overlapped == 0);
}

/* Whether what --fail-on asks about was not looked at. Nothing at all fails any of it; a finding needs no more. */
static bool is_unobserved(const struct request *request, const struct watch *watch)
{
    const enum watch_unseen unseen = watch_unseen(watch);
    return !request->allow_unobserved &&
           (unseen == WATCH_NOTHING_RECORDED ||
            (unseen != WATCH_ALL_SEEN && (request->fail_on & (FAIL_RACE | FAIL_UNKNOWN)) != 0));
}

static int judge(const struct request *request, const struct watch *watch)
{
    const int code = is_finding(request, watch) ? EXIT_FINDING : EXIT_DONE;
    /* That no launch overlaps is no finding where there is none. */
    if ((code == EXIT_DONE || watch->sums.launches + watch->sums.races == 0) &&
        is_unobserved(request, watch)) {
        print_error("%s: what --fail-on asks about was not observed; --allow-unobserved accepts "
                    "this",
                    watch_unseen_text(watch_unseen(watch)));
        return EXIT_USAGE;
    }
    return code;
}

static bool write_report(const struct request *request, const struct watch *watch)
{
    const size_t rows = request->all ? 0 : (size_t)request->rows;
    const struct watch_limits limits = {rows, request->all};
    bool written;
    if (request->quiet) {
        written = watch_print_verdict(watch);
    } else if (request->json) {
        written = watch_print_json(watch);
    } else {
        written = watch_print_text(watch, &limits);
    }
    if (fflush(stdout) != 0 || !written) {
        print_error("cannot write the report: %s", strerror(errno));
        return false;
    }
    return true;
}

/* The exit code as far as the report goes. */
static int report(const struct request *request, const struct paths *files,
                  const struct started *program)
{
    struct watch watch = {0};
    const struct watch_window window = {.kernels = (const char *const *)request->kernels.items,
                                        .kernel_count = request->kernels.count};
    bool done = true;
    if (files->count > 0) {
        done = watch_read(&watch, (const char *const *)files->items, files->count);
        if (done) {
            watch_join(&watch, &window);
            watch_look_at_code(&watch);
            watch_judge_pairs(&watch);
        }
    }
    watch.program = program;
    int code = EXIT_USAGE;
    if (done) {
        done = write_report(request, &watch);
        done = (request->trace == NULL || watch_write_trace(&watch, request->trace)) && done;
        done = (request->svg == NULL || watch_write_picture(&watch, request->svg)) && done;
        code = done ? judge(request, &watch) : EXIT_USAGE;
    }
    watch_free(&watch);
    return code;
}

/* Points standard output to where the report goes: the forms write there. */
static bool open_output(const char *path, int *file)
{
    *file = path == NULL             ? STDERR_FILENO
            : strcmp(path, "-") == 0 ? STDOUT_FILENO
                                     : file_open(path, true);
    if (*file < 0) {
        print_error("--output %s: %s", path, strerror(errno));
    }
    return *file >= 0;
}

static void use_output(int file)
{
    (void)fflush(stdout);
    if (file != STDOUT_FILENO) {
        (void)dup2(file, STDOUT_FILENO);
    }
}

/* ---- a program -------------------------------------------------------------------------------- */

static bool write_rules(const struct request *request, const char *path)
{
    FILE *const file = fopen(path, "we");
    if (file == NULL) {
        print_line(stderr, "%s: error: %s", path, strerror(errno));
        return false;
    }
    if (request->only.count == 0) {
        (void)fprintf(file, "%s *\n", request->overlap);
    }
    for (size_t i = 0; i < request->only.count; i++) {
        (void)fprintf(file, "%s %s\n", request->overlap, request->only.items[i]);
    }
    for (size_t i = 0; i < request->except.count; i++) {
        (void)fprintf(file, "keep %s\n", request->except.items[i]);
    }
    const bool written = ferror(file) == 0;
    if (fclose(file) != 0 || !written) {
        print_line(stderr, "%s: error: %s", path, strerror(errno));
        return false;
    }
    return true;
}

/* In a folder for what is not kept. */
static int run_in(const struct request *request, const char *folder, int output)
{
    char *const rules = format_text("%s/rules", folder);
    char *const record =
        request->record != NULL ? copy_text(request->record) : format_text("%s/recording", folder);
    const struct start start = {.record = record,
                                .rules = request->overlap != NULL ? rules : NULL,
                                .instrument = request->instrument,
                                .skip = (uint64_t)request->skip,
                                .count = (uint64_t)request->count,
                                .seconds = request->seconds,
                                .interpose = request->overlap != NULL || request->no_cupti,
                                .cupti = !request->no_cupti};
    struct started started = {0};
    struct paths files = {0};
    int code = EXIT_USAGE;
    if ((start.rules == NULL || write_rules(request, rules)) && files_clear(record) &&
        start_program(&start, request->program, &started)) {
        if (!started.not_started) {
            files_find(record, &files);
            use_output(output);
            code = report(request, &files, &started);
        }
        code = started.exit_code != 0 ? started.exit_code : code;
    }
    paths_free(&files);
    free(record);
    free(rules);
    return code;
}

static int run(const struct request *request)
{
    struct temporary folder = TEMPORARY_NONE;
    int output = -1;
    if (!open_output(request->output, &output)) {
        return EXIT_USAGE;
    }
    char *const why = temporary_make(&folder);
    if (why != NULL) {
        print_error("%s", why);
        free(why);
        return EXIT_USAGE;
    }
    const int code = run_in(request, folder.path, output);
    temporary_remove(&folder);
    return code;
}

static int read_only(const struct request *request)
{
    int output = -1;
    if (!open_output(request->output != NULL ? request->output : "-", &output)) {
        return EXIT_USAGE;
    }
    use_output(output);
    return report(request, &request->inputs, NULL);
}

int command_watch(int argc, char **argv)
{
    struct request request = {.rows = ROWS, .fail_on = FAIL_RACE};
    int code = EXIT_USAGE;
    if (read_request(&request, argc, argv)) {
        code = request.done              ? EXIT_DONE
               : request.program != NULL ? run(&request)
                                         : read_only(&request);
    }
    paths_free(&request.inputs);
    paths_free(&request.kernels);
    paths_free(&request.only);
    paths_free(&request.except);
    return code;
}
