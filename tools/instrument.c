/* SPDX-License-Identifier: MIT */
/* pdltool instrument: puts the wait into the kernels of a PTX text. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pdl/instrument.h>

#include "code/instrument_words.h"
#include "commands.h"
#include "common/demangle.h"
#include "common/file.h"
#include "common/memory.h"
#include "common/options.h"
#include "common/print.h"
#include "common/sinks.h"
#include "documents.h"
#include "lint/setup.h"

static void usage(void)
{
    (void)fputs("usage: pdltool instrument [OPTION...] FILE|-\n"
                "\n"
                "Puts griddepcontrol.wait into the kernels of a PTX text that do not wait, so\n"
                "that they can be launched with overlap (Programmatic Dependent Launch). Kernels\n"
                "that wait already and all other text stay as they are. The result is checked as\n"
                "'pdltool lint' checks it before it is written. - is standard input.\n"
                "\n"
                "  -o, --output FILE       where the PTX goes; default: standard output\n"
                "  -k, --kernel GLOB       only kernels with this mangled or demangled name;\n"
                "                          repeatable\n"
                "      --wait PLACE        one of entry, hoist: before the first access to any\n"
                "                          memory, or to global memory; default: entry\n"
                "      --trigger PLACE     one of none, wait, last-read: no trigger, right after\n"
                "                          the wait, or after the last read of global memory;\n"
                "                          or a number from 0: at this point of those that the\n"
                "                          kernel has, for pdltool tune; default: none\n"
                "      --constant-param P  no kernel in flight writes what this parameter points\n"
                "                          to; P is [KERNEL:]NAME or [KERNEL:]NUMBER, from 1;\n"
                "                          repeatable\n"
                "      --project FILE      take the constant parameters of this project file as\n"
                "                          well; default: .pdl-lint in the input's folder or\n"
                "                          the nearest one above it\n"
                "      --no-project        take no project file\n"
                "      --raise-target      raise sm_70 to sm_89 to sm_90, and older PTX to 7.8\n"
                "      --summary           print only how many kernels were instrumented\n"
                "      --json              write the report as JSON; needs --output\n"
                "\n"
                "Examples:\n"
                "  pdltool instrument -o norm.pdl.ptx norm.ptx\n"
                "  pdltool instrument --wait hoist --constant-param weights -o b.ptx a.ptx\n"
                "\n"
                "Exit status: 0; 1 if a kernel was refused or none matches --kernel; 2 if the\n"
                "input could not be read or the result could not be written.\n",
                stdout);
}

struct request {
    struct lint_options lint; /* what is constant, and where that is stated */
    struct lint_strings kernels;
    struct lint_strings selected; /* names that the patterns match, owned */
    const char *output;
    int32_t wait, trigger;
    bool raise, summary, json;
};

/* ---- the report --------------------------------------------------------------------------------- */

static char *line_or_dash(uint32_t line)
{
    return line > 0 ? format_text("%u", (unsigned)line) : copy_text("-");
}

static size_t count_of(const pdl_instrumentation *result, int32_t action)
{
    size_t count = 0;
    for (size_t i = 0; i < pdl_instrumentation_kernel_count(result); i++) {
        count += pdl_instrumentation_kernel(result, i)->action == action;
    }
    return count;
}

static void print_kernels(FILE *to, const char *name, const pdl_instrumentation *result)
{
    static const char *const headings[] = {"result", "wait", "trigger", "loads", "kernel"};
    struct table table = {.headings = headings, .right = "lrrrl"};
    const size_t count = pdl_instrumentation_kernel_count(result);
    for (size_t i = 0; i < count; i++) {
        const pdl_instrument_kernel *kernel = pdl_instrumentation_kernel(result, i);
        table_add(&table, copy_text(pdl_instrument_action_word(kernel->action)));
        table_add(&table, line_or_dash(kernel->wait_line));
        table_add(&table, line_or_dash(kernel->trigger_line));
        table_add(&table, line_or_dash(kernel->loads));
        table_add(&table, demangle_brief(kernel->name));
    }
    if (count > 0) {
        table_print(&table, to);
        (void)fputc('\n', to);
    }
    table_free(&table);
    for (size_t i = 0; i < count; i++) {
        const pdl_instrument_kernel *kernel = pdl_instrumentation_kernel(result, i);
        if (kernel->message != NULL) {
            char *const brief = demangle_brief(kernel->name);
            print_line(to, "%s:%u: refused: %s: %s", name, (unsigned)kernel->line, brief,
                       kernel->message);
            free(brief);
        }
    }
}

static void print_report(FILE *to, const struct request *request, const char *name,
                         const pdl_instrumentation *result)
{
    if (!request->summary) {
        print_kernels(to, name, result);
    }
    char *const kernels =
        format_count(pdl_instrumentation_kernel_count(result), "kernel", "kernels");
    (void)fprintf(to, "%s", kernels);
    for (int32_t action = PDL_INSTRUMENT_DONE; action <= PDL_INSTRUMENT_REFUSED; action++) {
        const size_t count = count_of(result, action);
        if (count > 0 || action == PDL_INSTRUMENT_DONE) {
            char *const number = action == PDL_INSTRUMENT_WAITS
                                     ? format_count(count, "waits already", "wait already")
                                     : format_count(count, pdl_instrument_action_word(action),
                                                    pdl_instrument_action_word(action));
            (void)fprintf(to, "%s %s", action == PDL_INSTRUMENT_DONE ? ":" : ",", number);
            free(number);
        }
    }
    (void)fputc('\n', to);
    free(kernels);
}

/* ---- input and output ----------------------------------------------------------------------------- */

/* What sinks_write() hands to the file. */
static const pdl_instrumentation *made;

static void write_text(FILE *to)
{
    size_t size;
    const char *text = pdl_instrumentation_text(made, &size);
    (void)fwrite(text, 1, size, to);
}

static int print_unread(const char *name)
{
    const pdl_inspect_error *error = pdl_inspect_last_error();
    if (error->line > 0) {
        print_line(stderr, "%s:%u:%u: error: %s", name, (unsigned)error->line,
                   (unsigned)error->column, error->message);
    } else {
        print_line(stderr, "%s: error: %s", name, error->message);
    }
    return EXIT_USAGE;
}

/* The names that the patterns match, which the library knows mangled. */
static int select_kernels(struct request *request, const char *name, const char *text, size_t size)
{
    pdl_inspect_options facts = PDL_INSPECT_OPTIONS_INIT;
    pdl_inspection *inspection;
    facts.flags = PDL_INSPECT_FACTS_ONLY;
    if (pdl_inspect_memory(text, size, name, &facts, &inspection) != PDL_SUCCESS) {
        return print_unread(name);
    }
    for (size_t i = 0; i < pdl_inspection_kernel_count(inspection); i++) {
        const char *mangled = pdl_inspection_kernel(inspection, i)->info->name;
        if (name_matches(mangled, request->kernels.items, request->kernels.count)) {
            APPEND(&request->selected, copy_text(mangled));
        }
    }
    pdl_inspection_destroy(inspection);
    if (request->selected.count == 0) {
        print_error("no kernel matches --kernel");
        return EXIT_FINDING;
    }
    return EXIT_DONE;
}

static bool report(const struct request *request, const char *name,
                   const pdl_instrumentation *result, bool on_stdout)
{
    FILE *const to = on_stdout ? stderr : stdout;
    bool printed = true;
    if (request->json) {
        printed = instrument_print_json(name, result);
    } else {
        print_report(to, request, name, result);
    }
    if (!printed || fflush(to) != 0 || ferror(to)) {
        print_error("cannot write the report: %s", strerror(errno));
        return false;
    }
    return true;
}

static int instrument(struct request *request, const pdl_inspect_options *stated, const char *name,
                      const char *text, size_t size)
{
    pdl_instrument_options options = PDL_INSTRUMENT_OPTIONS_INIT;
    struct sink sink = {.name = "output", .write = write_text, .path = request->output};
    pdl_instrumentation *result;
    int code = EXIT_DONE;
    if (request->kernels.count > 0) {
        code = select_kernels(request, name, text, size);
        if (code != EXIT_DONE) {
            return code;
        }
    }
    options.flags = request->raise ? PDL_INSTRUMENT_RAISE_TARGET : 0;
    options.wait = request->wait;
    options.trigger = request->trigger;
    options.constant_params = stated->constant_params;
    options.constant_param_count = stated->constant_param_count;
    options.kernels = request->selected.items;
    options.kernel_count = request->selected.count;
    if (pdl_instrument(text, size, name, &options, &result) != PDL_SUCCESS) {
        return print_unread(name);
    }
    made = result;
    const bool empty = pdl_instrumentation_kernel_count(result) == 0;
    code = empty || count_of(result, PDL_INSTRUMENT_REFUSED) > 0 ? EXIT_FINDING : EXIT_DONE;
    if (empty) {
        print_error("%s has no kernel", name);
    }
    if (!sinks_open(&sink, 1) || !sinks_write(&sink, 1) ||
        !report(request, name, result, strcmp(request->output, "-") == 0)) {
        code = EXIT_USAGE;
    }
    sinks_drop(&sink, 1);
    pdl_instrumentation_destroy(result);
    return code;
}

static int read_and_instrument(struct request *request, const char *path)
{
    const bool standard = strcmp(path, "-") == 0;
    const char *name = standard ? "<stdin>" : path;
    size_t size;
    char *const text =
        standard ? file_read_stream(stdin, FILE_LONGEST, &size) : file_read(path, &size);
    if (text == NULL) {
        print_error("cannot read %s: %s", name, strerror(errno));
        return EXIT_USAGE;
    }
    if (input_is_container(text, size)) {
        print_line(stderr,
                   "%s: error: it is machine code or a program: this instruments PTX text, as "
                   "cuobjdump -xptx takes it out; pdltool watch --instrument runs programs as they "
                   "are",
                   name);
        free(text);
        return EXIT_USAGE;
    }
    struct inputs inputs = {0};
    struct lint_setups *setups = NULL;
    int code = EXIT_USAGE;
    if (lint_setups_begin(&setups, &request->lint, &inputs)) {
        inputs.prepare(&inputs, name);
        if (!lint_setups_failed(setups)) {
            code = instrument(request, inputs.options, name, text, size);
        }
    }
    lint_setups_free(setups);
    free(text);
    return code;
}

/* ---- the command line ----------------------------------------------------------------------------- */

enum {
    OPTION_WAIT = 256,
    OPTION_TRIGGER,
    OPTION_CONSTANT,
    OPTION_PROJECT,
    OPTION_NO_PROJECT,
    OPTION_RAISE,
    OPTION_SUMMARY,
    OPTION_JSON
};

static bool read_trigger(struct request *request)
{
    if (optarg[0] >= '0' && optarg[0] <= '9') {
        int point = 0;
        const bool read = parse_count("trigger", optarg, 0, PDL_INSTRUMENT_POINT_MAX, &point);
        request->trigger = PDL_INSTRUMENT_TRIGGER_POINT + point;
        return read;
    }
    request->trigger = parse_choice("trigger", optarg, pdl_instrument_trigger_words());
    return request->trigger >= 0;
}

static bool read_option(struct request *request, int option)
{
    switch (option) {
    case 'o':
        request->output = optarg;
        return true;
    case 'k':
        APPEND(&request->kernels, optarg);
        return true;
    case OPTION_WAIT:
        request->wait = parse_choice("wait", optarg, pdl_instrument_wait_words());
        return request->wait >= 0;
    case OPTION_TRIGGER:
        return read_trigger(request);
    case OPTION_CONSTANT:
        APPEND(&request->lint.constant_params, optarg);
        return true;
    case OPTION_PROJECT:
        request->lint.project = optarg;
        return true;
    case OPTION_NO_PROJECT:
        request->lint.no_project = true;
        return true;
    case OPTION_RAISE:
        request->raise = true;
        return true;
    case OPTION_SUMMARY:
        request->summary = true;
        return true;
    case OPTION_JSON:
        request->json = true;
        return instrument_print_json != NULL || lacks_json("json");
    default:
        return false;
    }
}

/* An exit code, or -1 to go on. */
static int read_options(struct request *request, int argc, char **argv)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'},
        {"kernel", required_argument, NULL, 'k'},
        {"wait", required_argument, NULL, OPTION_WAIT},
        {"trigger", required_argument, NULL, OPTION_TRIGGER},
        {"constant-param", required_argument, NULL, OPTION_CONSTANT},
        {"project", required_argument, NULL, OPTION_PROJECT},
        {"no-project", no_argument, NULL, OPTION_NO_PROJECT},
        {"raise-target", no_argument, NULL, OPTION_RAISE},
        {"summary", no_argument, NULL, OPTION_SUMMARY},
        {"json", no_argument, NULL, OPTION_JSON},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    int option;
    while ((option = next_option(argc, argv, "o:k:h", options)) != -1) {
        if (option == 'h') {
            usage();
            return EXIT_DONE;
        }
        if (!read_option(request, option)) {
            return EXIT_USAGE;
        }
    }
    if (optind == argc) {
        print_misuse("no input");
    } else if (optind + 1 < argc) {
        print_misuse("more than one input");
    } else if (request->json && strcmp(request->output, "-") == 0) {
        print_misuse("--json needs --output, as standard output has the PTX");
    } else if (request->json && request->summary) {
        print_misuse("--json and --summary exclude each other");
    } else {
        return -1;
    }
    return EXIT_USAGE;
}

int command_instrument(int argc, char **argv)
{
    struct request request = {.output = "-"};
    int code = read_options(&request, argc, argv);
    if (code < 0) {
        code = read_and_instrument(&request, argv[optind]);
    }
    for (size_t i = 0; i < request.selected.count; i++) {
        free((char *)request.selected.items[i]);
    }
    free(request.selected.items);
    free(request.kernels.items);
    free(request.lint.constant_params.items);
    return code;
}
