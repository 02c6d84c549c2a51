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

#include "commands.h"
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
    const char *record, *output, *trace, *svg, *range;
    const char *overlap; /* "on" or "off"; NULL: as the program has it */
    char **program;      /* NULL: recordings are read */
    double seconds;
    int skip, count, rows;
    unsigned fail_on; /* enum finding */
    bool all, no_cupti, no_times, quiet, json, done;
};

static void usage(FILE *to)
{
    (void)fputs(
        "usage: pdltool watch [OPTION...] -- PROGRAM [ARGUMENT...]\n"
        "       pdltool watch [OPTION...] --input FILE [FILE...]\n\n"
        "Runs a program as it is, and tells of each kernel that it launches whether the launch "
        "asks\n"
        "for overlap (Programmatic Dependent Launch), whether the kernel then overlaps the one "
        "before\n"
        "it, why not, and whether that is safe. Or tells it of what was recorded before.\n\n"
        "what is watched:\n"
        "  --skip N              leave out the first launches\n"
        "  --count N             so many launches\n"
        "  --seconds S           so long, from the first of them\n"
        "  --range NAME          what is launched within NVTX ranges of this name\n"
        "  --kernel PATTERN      kernels of this name in the report; as in fnmatch(3)\n"
        "  --no-times            launches and what is between them, and no device times: costs\n"
        "                        less\n"
        "  --no-cupti            without CUPTI: no device times, so that it is not known what\n"
        "                        overlapped\n"
        "  --record FILE         keep the recording; further processes have FILE.2, FILE.3 ...\n"
        "  --input FILE          read a recording, also on a machine without a device\n\n"
        "what is changed:\n"
        "  --overlap WAY         off: launches do not overlap; on: they do if their kernel is "
        "proved\n"
        "                        to wait before it touches memory\n"
        "  --only PATTERN        that, for the launches of these kernels: the mangled name or "
        "=NAME,\n"
        "                        and @NUMBERS of a name's launches, as in scale*@1,5-9,20-\n"
        "  --except PATTERN      and not for these\n\n"
        "what is shown:\n"
        "  --output FILE         the report; `-` is standard output (default: standard error, or\n"
        "                        standard output with --input)\n"
        "  --rows N              at most so many rows of a table (default: 12)\n"
        "  --all                 all rows, and whole names\n"
        "  -q, --quiet           the first line only\n"
        "  --json                the report as JSON\n"
        "  --trace FILE          the runs for Perfetto\n"
        "  --svg FILE            a picture of at most 200 runs\n\n"
        "exit code:\n"
        "  --fail-on LIST        what makes it 1, with commas: race (default), unknown,\n"
        "                        no-overlap, or never\n"
        "  the program's if that is not 0; else 0, 1 as above, 2 something could not be read;\n"
        "  126 and 127 the program could not be started\n\n"
        "--input, --kernel, --only and --except may be given more than once. docs/watch.md "
        "describes\nthe report.\n",
        to);
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
            print_line(stderr,
                       "pdltool watch: --fail-on is a list of race, unknown and no-overlap, or "
                       "never, not %s",
                       list);
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
        print_line(stderr, "pdltool watch: --seconds takes a number above 0, not %s", text);
        return false;
    }
    *seconds = value;
    return true;
}

/* What follows an @: 1,5-9,20-. */
static bool are_numbers(const char *text)
{
    do {
        const size_t first = strspn(text, "0123456789");
        if (first == 0) {
            return false;
        }
        text += first;
        if (*text == '-') {
            text++;
            text += strspn(text, "0123456789");
        }
    } while (*text++ == ',');
    return text[-1] == '\0';
}

static bool read_pattern(const char *option, const char *text, struct paths *patterns)
{
    const char *const at = strrchr(text, '@');
    if (*text == '\0' || strpbrk(text, "\n\r") != NULL || (at != NULL && !are_numbers(at + 1))) {
        print_line(
            stderr,
            "pdltool watch: --%s takes a kernel's name, and @ and numbers of its launches as "
            "in scale*@1,5-9,20-, not %s",
            option, text);
        return false;
    }
    APPEND(patterns, copy_text(text));
    return true;
}

static bool read_window_option(struct request *request, int option)
{
    switch (option) {
    case 's':
        return parse_count("pdltool watch", "skip", optarg, 0, INT_MAX, &request->skip);
    case 'c':
        return parse_count("pdltool watch", "count", optarg, 1, INT_MAX, &request->count);
    case 'S':
        return read_seconds(optarg, &request->seconds);
    case 'r':
        request->range = optarg;
        return true;
    case 'k':
        APPEND(&request->kernels, copy_text(optarg));
        return true;
    default:
        (void)fputs("`pdltool watch --help` tells the options\n", stderr);
        return false;
    }
}

static bool read_option(struct request *request, int option)
{
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
    case 'N':
        request->no_times = true;
        return true;
    case 'O':
        request->overlap = optarg;
        if (strcmp(optarg, "on") != 0 && strcmp(optarg, "off") != 0) {
            print_line(stderr, "pdltool watch: --overlap is on or off, not %s", optarg);
            return false;
        }
        return true;
    case 'y':
        return read_pattern("only", optarg, &request->only);
    case 'x':
        return read_pattern("except", optarg, &request->except);
    case 'o':
        request->output = optarg;
        return true;
    case 'w':
        return parse_count("pdltool watch", "rows", optarg, 1, INT_MAX, &request->rows);
    case 'a':
        request->all = true;
        return true;
    case 'q':
        request->quiet = true;
        return true;
    case 'j':
#ifdef PDL_HAVE_JANSSON
        request->json = true;
        return true;
#else
        (void)fputs("pdltool watch: --json is not in this build, which was made without the JSON "
                    "library jansson\n",
                    stderr);
        return false;
#endif
    case 't':
        request->trace = optarg;
        return true;
    case 'v':
        request->svg = optarg;
        return true;
    case 'f':
        return read_fail_on(optarg, &request->fail_on);
    case 'h':
        usage(stdout);
        request->done = true;
        return true;
    default:
        return read_window_option(request, option);
    }
}

static bool complain(const char *what)
{
    (void)fprintf(stderr, "pdltool watch: %s\n", what);
    return false;
}

static bool check_request(const struct request *request)
{
    const bool runs = request->program != NULL;
    if (!runs && request->inputs.count == 0) {
        return complain("no program to run and no --input to read; `pdltool watch --help` tells "
                        "how");
    }
    if (runs && request->inputs.count > 0) {
        return complain("--input reads a recording, and no program runs then");
    }
    if (!runs && (request->record != NULL || request->overlap != NULL || request->no_cupti ||
                  request->no_times)) {
        return complain(
            "--record, --overlap, --no-times and --no-cupti are for a program that runs, not for "
            "--input");
    }
    if (request->overlap == NULL && request->only.count + request->except.count > 0) {
        return complain("--only and --except say for which launches --overlap is");
    }
    if (request->quiet && request->json) {
        return complain("--quiet and --json exclude each other");
    }
    return true;
}

static bool read_request(struct request *request, int argc, char **argv)
{
    static const struct option options[] = {
        {"input", required_argument, NULL, 'i'},   {"record", required_argument, NULL, 'R'},
        {"skip", required_argument, NULL, 's'},    {"count", required_argument, NULL, 'c'},
        {"seconds", required_argument, NULL, 'S'}, {"range", required_argument, NULL, 'r'},
        {"kernel", required_argument, NULL, 'k'},  {"no-cupti", no_argument, NULL, 'n'},
        {"no-times", no_argument, NULL, 'N'},      {"overlap", required_argument, NULL, 'O'},
        {"only", required_argument, NULL, 'y'},    {"except", required_argument, NULL, 'x'},
        {"output", required_argument, NULL, 'o'},  {"rows", required_argument, NULL, 'w'},
        {"all", no_argument, NULL, 'a'},           {"quiet", no_argument, NULL, 'q'},
        {"json", no_argument, NULL, 'j'},          {"trace", required_argument, NULL, 't'},
        {"svg", required_argument, NULL, 'v'},     {"fail-on", required_argument, NULL, 'f'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    int option;
    /* What follows the program is the program's. */
    while ((option = getopt_long(argc, argv, "+hq", options, NULL)) != -1) {
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

static bool write_report(const struct request *request, const struct watch *watch)
{
    const size_t rows = request->all ? 0 : (size_t)request->rows;
    const struct watch_limits limits = {rows, rows, rows, request->all};
    bool written;
    if (request->quiet) {
        written = watch_print_verdict(watch);
#ifdef PDL_HAVE_JANSSON
    } else if (request->json) {
        written = watch_print_json(watch);
#endif
    } else {
        written = watch_print_text(watch, &limits);
    }
    if (fflush(stdout) != 0 || !written) {
        print_line(stderr, "pdltool watch: the report could not be written: %s", strerror(errno));
        return false;
    }
    return true;
}

/* The exit code as far as the report goes. */
static int report(const struct request *request, const struct paths *files,
                  const struct started *program)
{
    struct watch watch = {0};
    const struct watch_window window = {/* What was not recorded need not be left out again. */
                                        .skip = program == NULL ? (uint64_t)request->skip : 0,
                                        .count = program == NULL ? (uint64_t)request->count : 0,
                                        .ns = program == NULL ? (uint64_t)(request->seconds * 1e9)
                                                              : 0,
                                        .range = program == NULL ? request->range : NULL,
                                        .kernels = (const char *const *)request->kernels.items,
                                        .kernel_count = request->kernels.count};
    bool done = true;
    if (files->count > 0) {
        done = watch_read(&watch, (const char *const *)files->items, files->count);
        if (done) {
            watch_join(&watch, &window);
            watch_look_at_code(&watch);
            watch_judge_pairs(&watch);
            watch_conclude(&watch);
        }
    }
    watch.program = program;
    int code = EXIT_USAGE;
    if (done) {
        done = write_report(request, &watch);
        done = (request->trace == NULL || watch_write_trace(&watch, request->trace)) && done;
        done = (request->svg == NULL || watch_write_picture(&watch, request->svg)) && done;
        code = !done ? EXIT_USAGE : is_finding(request, &watch) ? EXIT_FINDING : EXIT_DONE;
    }
    watch_free(&watch);
    return code;
}

/* Points standard output to where the report goes: the forms write there. */
static bool open_output(const char *path, int *file)
{
    *file = path == NULL             ? STDERR_FILENO
            : strcmp(path, "-") == 0 ? STDOUT_FILENO
                                     : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (*file < 0) {
        print_line(stderr, "pdltool watch: --output %s: %s", path, strerror(errno));
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
        print_line(stderr, "pdltool watch: %s: %s", path, strerror(errno));
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
        print_line(stderr, "pdltool watch: %s: %s", path, strerror(errno));
        return false;
    }
    return true;
}

/* In a folder for what is not kept. */
static int run_in(const struct request *request, const char *folder, int output)
{
    char *const rules = format_text("%s/rules", folder);
    char *const log = format_text("%s/log", folder);
    char *const record =
        request->record != NULL ? copy_text(request->record) : format_text("%s/recording", folder);
    const struct start start = {.record = record,
                                .rules = request->overlap != NULL ? rules : NULL,
                                .range = request->range,
                                .log = log,
                                .skip = (uint64_t)request->skip,
                                .count = (uint64_t)request->count,
                                .seconds = request->seconds,
                                .interpose = request->overlap != NULL || request->no_cupti,
                                .cupti = !request->no_cupti,
                                .no_times = request->no_times};
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
    free(log);
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
        print_line(stderr, "pdltool watch: %s", why);
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
