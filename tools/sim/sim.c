/* SPDX-License-Identifier: MIT */
/* pdltool sim: what launches would take, by a model, without a device. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "common/file.h"
#include "common/memory.h"
#include "common/options.h"
#include "common/print.h"
#include "sim/output.h"

struct options {
    const char *device, *svg, *trace, *what_if;
    bool json, text, plain;
    double from, to;
    int steps;
};

static void usage(void)
{
    (void)fputs("usage: pdltool sim FILE [OPTION...]\n"
                "       pdltool sim FILE... --json [OPTION...]\n"
                "\n"
                "Predicts how long a chain of kernels takes, with a model of the device. FILE is\n"
                "a description of the chain; - is standard input. 'pdltool report describe' makes\n"
                "one of a recorded timeline. No device is needed.\n"
                "\n"
                "  -d, --device NAME    one of h200, or a file that 'pdltool report calibrate'\n"
                "                       wrote (default: h200)\n"
                "      --plain          also predict the same launches without overlap\n"
                "      --text           print the timeline as text instead of the table\n"
                "      --svg FILE       write the timeline as a picture\n"
                "      --trace FILE     write the timeline as a trace for Perfetto\n"
                "      --what-if SWEEP  vary the trigger position of all kernels: with\n"
                "                       trigger=0..1:10, from 0 to 1 of their main part in 10\n"
                "                       steps\n"
                "      --json           write JSON, an object per FILE\n"
                "\n"
                "Examples:\n"
                "  pdltool sim chain.sim --plain --svg chain.svg\n"
                "  pdltool sim chain.sim --what-if trigger=0..1:20\n"
                "\n"
                "Exit status: 0; 2 if a file could not be read or written.\n",
                stdout);
}

/* A number at the beginning of a text up to `end`, which is not a part of it. */
static bool parse_share(const char *text, const char *end, double *share)
{
    char copy[16] = "";
    char *stop = NULL;
    const size_t size = (size_t)(end - text);
    if (size == 0 || size >= sizeof(copy)) {
        return false;
    }
    memcpy(copy, text, size);
    *share = strtod(copy, &stop);
    return *stop == '\0' && *share >= 0 && *share <= 1;
}

/* trigger=0..1 or trigger=0..1:10. The numbers apart: strtod() would take the first point for its own. */
static bool parse_sweep(const char *text, struct options *chosen)
{
    static const char begin[] = "trigger=";
    const char *const from = text + sizeof(begin) - 1;
    const char *const points = strstr(text, "..");
    if (strncmp(text, begin, sizeof(begin) - 1) != 0 || points == NULL || points < from) {
        return false;
    }
    const char *const to = points + 2;
    const char *const steps = to + strcspn(to, ":");
    chosen->steps = 10;
    return parse_share(from, points, &chosen->from) && parse_share(to, steps, &chosen->to) &&
           chosen->from <= chosen->to &&
           (*steps == '\0' || parse_count("what-if", steps + 1, 1, 1000, &chosen->steps));
}

static bool parse_what_if(struct options *chosen)
{
    if (parse_sweep(chosen->what_if, chosen)) {
        return true;
    }
    print_error("--what-if takes trigger=FROM..TO[:STEPS], shares from 0 to 1, not '%s'",
                chosen->what_if);
    return false;
}

static bool parse(int argc, char **argv, struct options *chosen, int *code)
{
    enum { PLAIN = 256, TEXT, SVG, TRACE, WHAT_IF, JSON };
    static const struct option options[] = {
        {"device", required_argument, NULL, 'd'},
        {"plain", no_argument, NULL, PLAIN},
        {"text", no_argument, NULL, TEXT},
        {"svg", required_argument, NULL, SVG},
        {"trace", required_argument, NULL, TRACE},
        {"what-if", required_argument, NULL, WHAT_IF},
        {"json", no_argument, NULL, JSON},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;
    *code = EXIT_USAGE;
    while ((option = next_option(argc, argv, "d:h", options)) != -1) {
        switch (option) {
        case 'd':
            chosen->device = optarg;
            break;
        case PLAIN:
            chosen->plain = true;
            break;
        case TEXT:
            chosen->text = true;
            break;
        case SVG:
            chosen->svg = optarg;
            break;
        case TRACE:
            chosen->trace = optarg;
            break;
        case WHAT_IF:
            chosen->what_if = optarg;
            break;
        case JSON:
            chosen->json = true;
            break;
        case 'h':
            usage();
            *code = EXIT_DONE;
            return false;
        default:
            return false;
        }
    }
    const bool one = !chosen->json || chosen->text || chosen->svg != NULL || chosen->trace != NULL;
    if (argc == optind || (one && argc - optind > 1)) {
        print_misuse(argc == optind ? "no description of a chain"
                                    : "one description at a time, but with --json alone");
        return false;
    }
    return chosen->what_if == NULL || parse_what_if(chosen);
}

/* ---- files --------------------------------------------------------------------------------------- */

static char *read_file(const char *path, size_t *size)
{
    char *const text =
        strcmp(path, "-") == 0 ? file_read_stream(stdin, SIZE_MAX, size) : file_read(path, size);
    if (text == NULL) {
        print_line(stderr, "%s: error: %s", path, strerror(errno));
    }
    return text;
}

static bool choose_device(struct sim_device *device, const char *name)
{
    size_t size = 0;
    if (name == NULL || sim_device_known(device, name)) {
        return name != NULL || sim_device_known(device, "h200");
    }
    char *const text = file_read(name, &size);
    if (text == NULL) {
        print_error(
            "unknown device '%s': neither h200 nor a readable file of 'report calibrate' (%s)",
            name, strerror(errno));
    }
    const bool read = text != NULL && sim_device_read(device, text, size, name);
    free(text);
    return read;
}

static bool read_program(struct sim_program *program, const char *path)
{
    size_t size = 0;
    char *const text = read_file(path, &size);
    const bool read =
        text != NULL && sim_read(program, text, size, strcmp(path, "-") == 0 ? "stdin" : path);
    free(text);
    return read;
}

/* ---- running ------------------------------------------------------------------------------------- */

static bool write_timeline(const pdl_timeline *timeline, pdl_timeline_format format,
                           const char *path)
{
    if (path == NULL) {
        return true;
    }
    /* Waits for a pipe's reader, and says so. */
    const int held = strcmp(path, "-") != 0 ? file_open(path, true) : -1;
    const bool written = pdl_timeline_write(timeline, format, path, 0) == PDL_SUCCESS;
    if (held >= 0) {
        (void)close(held);
    }
    if (!written) {
        print_error("%s", pdl_last_error()->message);
    }
    return written;
}

static bool print_results(const struct sim_program *program, const struct sim_result *result,
                          const struct sim_result *plain, const struct options *chosen)
{
    bool printed = true;
    struct sim_try *tries = NULL;
    if (chosen->what_if != NULL) {
        tries = allocate((size_t)chosen->steps + 1, sizeof(*tries));
        if (!sim_sweep(program, chosen->from, chosen->to, chosen->steps, tries)) {
            free(tries);
            return false;
        }
    }
    if (chosen->json) {
        printed = sim_print_json(program, result, plain, tries, chosen->steps);
        free(tries);
        return printed;
    }
    if (!chosen->text) {
        sim_print(program, result, plain, stdout);
    }
    if (tries != NULL) {
        (void)fputs(chosen->text ? "" : "\n", stdout);
        sim_print_sweep(tries, chosen->steps, stdout);
        (void)fputs(chosen->text ? "\n" : "", stdout);
    }
    printed = fflush(stdout) == 0;
    free(tries);
    return printed;
}

static bool run(const struct sim_program *program, const char *prefix, struct sim_result *result,
                pdl_timeline *timeline)
{
    if (timeline != NULL) {
        return sim_run_timeline(program, prefix, result, timeline);
    }
    return sim_run(program, result, NULL, NULL) || sim_tell_wrong(result);
}

/* The same without overlap comes first, so that it stands above. */
static bool run_both(const struct sim_program *program, struct sim_result results[2],
                     pdl_timeline *timeline, bool plain)
{
    if (!plain) {
        return run(program, "", &results[0], timeline);
    }
    struct sim_program without = sim_without_overlap(program);
    const bool done = run(&without, "without PDL", &results[1], timeline);
    free(without.dependencies.items);
    return done && run(program, "with PDL", &results[0], timeline);
}

static bool print_all(const struct sim_program *program, const struct sim_result results[2],
                      const pdl_timeline *timeline, const struct options *chosen)
{
    if (!print_results(program, &results[0], chosen->plain ? &results[1] : NULL, chosen)) {
        return false;
    }
    return write_timeline(timeline, PDL_TIMELINE_TEXT, chosen->text ? "-" : NULL) &&
           write_timeline(timeline, PDL_TIMELINE_SVG, chosen->svg) &&
           write_timeline(timeline, PDL_TIMELINE_TRACE, chosen->trace);
}

static bool run_program(const struct sim_program *program, const struct options *chosen)
{
    struct sim_result results[2] = {{.outcomes = NULL}, {.outcomes = NULL}};
    pdl_timeline *timeline = NULL;
    const bool wanted = chosen->text || chosen->svg != NULL || chosen->trace != NULL;
    char *const note = format_text("Predicted for %s.", program->device.name);
    const bool ready = !wanted || (pdl_timeline_create(&timeline) == PDL_SUCCESS &&
                                   pdl_timeline_add_note(timeline, note) == PDL_SUCCESS);
    free(note);
    if (!ready) {
        pdl_timeline_destroy(timeline);
        print_error("%s", pdl_last_error()->message);
        return false;
    }
    const bool done = run_both(program, results, timeline, chosen->plain) &&
                      print_all(program, results, timeline, chosen);
    sim_result_free(&results[0]);
    sim_result_free(&results[1]);
    pdl_timeline_destroy(timeline);
    return done;
}

static int simulate(const struct sim_device *device, const char *path, const struct options *chosen)
{
    struct sim_program program;
    sim_program_init(&program, device);
    const bool done = read_program(&program, path) && run_program(&program, chosen);
    sim_program_free(&program);
    return done ? EXIT_DONE : EXIT_USAGE;
}

int command_sim(int argc, char **argv)
{
    struct options chosen = {.device = NULL};
    struct sim_device device;
    int code = EXIT_USAGE;
    if (!parse(argc, argv, &chosen, &code)) {
        return code;
    }
    if (!choose_device(&device, chosen.device)) {
        return EXIT_USAGE;
    }
    if (sim_print_json == NULL && chosen.json) {
        (void)lacks_json("json");
        return EXIT_USAGE;
    }
    code = EXIT_DONE;
    for (int i = optind; i < argc && code == EXIT_DONE; i++) {
        code = simulate(&device, argv[i], &chosen);
    }
    return code;
}
