/* SPDX-License-Identifier: MIT */
/* pdltool lint: the command line, and what the reports are made from. */
#include "lint/lint.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "common/demangle.h"
#include "common/memory.h"
#include "common/print.h"
#include "core/size_text.h"

enum { FAIL_NEVER = PDL_LINT_ERROR + 1 };

/* No list of suppressions is longer. */
#define LONGEST_LIST ((off_t)16 << 20)

struct strings {
    const char **items;
    size_t count, capacity;
};

struct arguments {
    struct strings constant_params, overlapped, suppressions, files;
    int fail_on; /* pdl_lint_level, or FAIL_NEVER */
    pdl_lint_level level;
    bool (*print)(const struct lint_report *report);
    const char *form; /* the option that chose it */
    bool no_source;
    bool done; /* help was asked for */
    pdl_inspect_options options;
};

static void usage(FILE *to)
{
    (void)fputs(
        "usage: pdltool lint [OPTION...] FILE|DIRECTORY|-...\n\n"
        "Looks for races between kernels that overlap (Programmatic Dependent Launch): memory "
        "that\n"
        "is read or written before the wait, waits that some threads or paths miss, and the like.\n"
        "Reads PTX, and the PTX in cubins, fatbins, objects, archives, libraries and programs; "
        "`-`\n"
        "is standard input. In a directory, every file that holds device code is read.\n\n"
        "what is right:\n"
        "  --constant-param=P    no kernel in flight writes what this parameter points to; P is "
        "its\n"
        "                        NAME or NUMBER (from 1), or KERNEL:NAME or KERNEL:NUMBER\n"
        "  --overlapped=PATTERN  kernels of this name are launched with overlap: one that never "
        "waits\n"
        "                        is a warning; PATTERN as in fnmatch(3), on the mangled name\n"
        "  --suppressions=FILE   findings that are known and accepted: a line each,\n"
        "                        RULE [KEY=PATTERN]... : REASON\n\n"
        "what is read:\n"
        "  --max-unpacked=SIZE   of an input's compressed code, in bytes, or 64K, 64M, 1G "
        "(default:\n"
        "                        64M or, if that is more, 16 times the input)\n"
        "  --no-source           do not open source files to learn the names of parameters\n\n"
        "what is shown:\n"
        "  --level=LEVEL         the least level shown: note, warning (default) or error\n"
        "  --summary             a table of the kernels instead of the findings\n"
        "  --json, --sarif       the findings as JSON, as SARIF 2.1.0\n\n"
        "exit code:\n"
        "  --fail-on=LEVEL       the least level that makes it 1: note, warning (default), error,\n"
        "                        or never\n"
        "  0 no finding of that level, 1 findings, 2 something could not be read\n\n"
        "--constant-param, --overlapped and --suppressions may be given more than once. The rules\n"
        "are described in docs/lint, the command in docs/lint.md.\n",
        to);
}

/* ---- the command line -------------------------------------------------------------------------*/

static int level_of(const char *name)
{
    for (int level = PDL_LINT_NOTE; level <= PDL_LINT_ERROR; level++) {
        if (strcmp(name, pdl_lint_level_name((pdl_lint_level)level)) == 0) {
            return level;
        }
    }
    return 0;
}

static bool set_form(struct arguments *arguments, const char *form,
                     bool (*print)(const struct lint_report *report))
{
    if (arguments->form != NULL && strcmp(arguments->form, form) != 0) {
        (void)fprintf(stderr, "pdltool lint: --%s and --%s exclude each other\n", arguments->form,
                      form);
        return false;
    }
    arguments->form = form;
    arguments->print = print;
    return true;
}

#ifndef PDL_HAVE_JANSSON
static bool refuse_form(const char *form)
{
    (void)fprintf(stderr,
                  "pdltool lint: --%s is not in this build, which was made without the "
                  "JSON library jansson\n",
                  form);
    return false;
}
#endif

static bool read_option(struct arguments *arguments, int option)
{
    switch (option) {
    case 'c':
        APPEND(&arguments->constant_params, optarg);
        return true;
    case 'o':
        APPEND(&arguments->overlapped, optarg);
        return true;
    case 's':
        APPEND(&arguments->suppressions, optarg);
        return true;
    case 'f':
        arguments->fail_on = strcmp(optarg, "never") == 0 ? (int)FAIL_NEVER : level_of(optarg);
        if (arguments->fail_on == 0) {
            print_line(stderr, "pdltool lint: --fail-on is note, warning, error or never, not %s",
                       optarg);
        }
        return arguments->fail_on != 0;
    case 'l': {
        const int level = level_of(optarg);
        if (level == 0) {
            print_line(stderr, "pdltool lint: --level is note, warning or error, not %s", optarg);
            return false;
        }
        arguments->level = (pdl_lint_level)level;
        return true;
    }
    case 'u':
        if (!pdl_size_parse(optarg, UINT64_MAX, &arguments->options.max_unpacked) ||
            arguments->options.max_unpacked == 0) {
            print_line(stderr, "pdltool lint: --max-unpacked is a size such as 64M or 1G, not %s",
                       optarg);
            return false;
        }
        return true;
    case 'm':
        return set_form(arguments, "summary", lint_print_summary);
#ifdef PDL_HAVE_JANSSON
    case 'j':
        return set_form(arguments, "json", lint_print_json);
    case 'r':
        return set_form(arguments, "sarif", lint_print_sarif);
#else
    case 'j':
        return refuse_form("json");
    case 'r':
        return refuse_form("sarif");
#endif
    case 'n':
        arguments->no_source = true;
        return true;
    case 'h':
        usage(stdout);
        arguments->done = true;
        return true;
    default:
        (void)fputs("`pdltool lint --help` tells the options\n", stderr);
        return false;
    }
}

static bool read_arguments(struct arguments *arguments, int argc, char **argv)
{
    static const struct option options[] = {{"constant-param", required_argument, NULL, 'c'},
                                            {"overlapped", required_argument, NULL, 'o'},
                                            {"suppressions", required_argument, NULL, 's'},
                                            {"fail-on", required_argument, NULL, 'f'},
                                            {"level", required_argument, NULL, 'l'},
                                            {"max-unpacked", required_argument, NULL, 'u'},
                                            {"summary", no_argument, NULL, 'm'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"sarif", no_argument, NULL, 'r'},
                                            {"no-source", no_argument, NULL, 'n'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (!read_option(arguments, option)) {
            return false;
        }
        if (arguments->done) {
            return true;
        }
    }
    for (int i = optind; i < argc; i++) {
        APPEND(&arguments->files, argv[i]);
    }
    if (arguments->files.count == 0) {
        (void)fputs("pdltool lint: nothing to read; `pdltool lint --help` tells how\n", stderr);
        return false;
    }
    return true;
}

/* ---- suppressions -----------------------------------------------------------------------------*/

/* The text of a list, which the caller frees; NULL where it cannot be read. */
static char *read_list(const char *path, size_t *size)
{
    struct stat status;
    char *text = NULL;
    *size = 0;
    const int file =
        open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* not to wait for a pipe's writer */
    if (file < 0 || fstat(file, &status) != 0) {
        print_line(stderr, "%s: error: %s", path, strerror(errno));
    } else if (!S_ISREG(status.st_mode) || status.st_size > LONGEST_LIST) {
        print_line(stderr, "%s: error: %s", path,
                   S_ISREG(status.st_mode) ? "more than 16 MiB of suppressions"
                                           : "not a regular file");
    } else {
        text = allocate((size_t)status.st_size + 1, 1);
        while (*size < (size_t)status.st_size) {
            const ssize_t got = read(file, text + *size, (size_t)status.st_size - *size);
            if (got == 0) {
                break;
            }
            if (got < 0 && errno != EINTR) {
                print_line(stderr, "%s: error: %s", path, strerror(errno));
                free(text);
                text = NULL;
                break;
            }
            *size += got > 0 ? (size_t)got : 0;
        }
    }
    if (file >= 0) {
        (void)close(file);
    }
    return text;
}

static bool read_suppressions(struct lint_report *report, const struct strings *files)
{
    report->lists = allocate(files->count, sizeof(*report->lists));
    for (size_t i = 0; i < files->count; i++) {
        size_t size = 0;
        char *text = read_list(files->items[i], &size);
        if (text == NULL) {
            return false;
        }
        const pdl_status status =
            pdl_lint_suppressions_read(text, size, files->items[i], &report->lists[i]);
        free(text);
        if (status != PDL_SUCCESS) {
            const pdl_inspect_error *error = pdl_inspect_last_error();
            print_line(stderr, "%s:%u:%u: error: %s", files->items[i], (unsigned)error->line,
                       (unsigned)error->column, error->message);
            return false;
        }
        report->list_count++;
    }
    return true;
}

/* Markers in a header come with every input that includes it: one place and text is one marker. */
static int by_marker(const void *a, const void *b)
{
    const pdl_lint_suppression *x = ((const struct lint_allowance *)a)->suppression;
    const pdl_lint_suppression *y = ((const struct lint_allowance *)b)->suppression;
    const int order = strcmp(x->origin, y->origin);
    return order != 0 ? order : strcmp(x->text, y->text);
}

static void gather_allowances(struct lint_report *report)
{
    struct {
        struct lint_allowance *items;
        size_t count, capacity;
    } all = {0};
    for (size_t i = 0; i < report->inputs.count; i++) {
        const pdl_inspection *inspection = report->inputs.items[i].inspection;
        const size_t count = inspection != NULL ? pdl_inspection_marker_count(inspection) : 0;
        for (size_t m = 0; m < count; m++) {
            const pdl_lint_suppression *marker = pdl_inspection_marker(inspection, m);
            const struct lint_allowance allowance = {marker, marker->used, true};
            APPEND(&all, allowance);
        }
    }
    size_t kept = 0;
    if (all.count > 0) {
        qsort(all.items, all.count, sizeof(*all.items), by_marker);
    }
    for (size_t i = 0; i < all.count; i++) {
        if (kept > 0 && by_marker(&all.items[kept - 1], &all.items[i]) == 0) {
            all.items[kept - 1].used += all.items[i].used;
        } else {
            all.items[kept++] = all.items[i];
        }
    }
    all.count = kept;
    for (size_t l = 0; l < report->list_count; l++) {
        const size_t count = pdl_lint_suppressions_count(report->lists[l]);
        for (size_t s = 0; s < count; s++) {
            const pdl_lint_suppression *suppression =
                pdl_lint_suppressions_get(report->lists[l], s);
            const struct lint_allowance allowance = {suppression, suppression->used, false};
            APPEND(&all, allowance);
        }
    }
    report->allowances = all.items;
    report->allowance_count = all.count;
}

bool lint_is_unused(const struct lint_report *report, const struct lint_allowance *allowance)
{
    return report->judged && allowance->used == 0;
}

/* ---- findings ---------------------------------------------------------------------------------*/

const pdl_inspect_kernel *lint_kernel_of(const struct lint_entry *entry)
{
    return pdl_inspection_kernel(entry->input->inspection, entry->finding->kernel);
}

const pdl_inspect_image *lint_image_of(const struct lint_entry *entry)
{
    return pdl_inspection_image(entry->input->inspection, lint_kernel_of(entry)->image);
}

struct lint_place lint_place_of(const struct lint_entry *entry)
{
    const pdl_lint_finding *finding = entry->finding;
    if (finding->place_count > 0 && finding->places[0]->file != NULL) {
        const pdl_inspect_place *place = finding->places[0];
        return (struct lint_place){place->file, place->line, place->column, true};
    }
    return (struct lint_place){lint_image_of(entry)->origin, finding->line, finding->column, false};
}

bool lint_is_shown(const struct lint_report *report, const pdl_lint_finding *finding)
{
    return finding->suppressed == NULL && finding->level >= (int32_t)report->level;
}

static int by_number(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* What makes findings the same: all that is shown but the kernel. In the PTX, a place belongs to
 * one kernel anyway. */
static int by_look(const struct lint_entry *a, const struct lint_entry *b)
{
    const struct lint_place x = lint_place_of(a);
    const struct lint_place y = lint_place_of(b);
    int order = by_number(x.line, y.line);
    order = order != 0 ? order : by_number((uint32_t)a->finding->rule, (uint32_t)b->finding->rule);
    order = order != 0 ? order : by_number(x.column, y.column);
    order =
        order != 0 ? order : by_number((uint32_t)a->finding->level, (uint32_t)b->finding->level);
    order = order != 0 ? order
                       : by_number(a->finding->suppressed != NULL, b->finding->suppressed != NULL);
    order = order != 0 ? order : strcmp(x.file, y.file);
    return order != 0 ? order : strcmp(a->finding->message, b->finding->message);
}

static int by_look_and_order(const void *a, const void *b)
{
    const struct lint_entry *x = a;
    const struct lint_entry *y = b;
    const int order = by_look(x, y);
    return order != 0 ? order : by_number(x->order, y->order);
}

static int by_first_entry(const void *a, const void *b)
{
    const struct lint_item *x = a;
    const struct lint_item *y = b;
    return by_number(x->entries[0].order, y->entries[0].order);
}

static void gather_findings(struct lint_report *report)
{
    size_t count = 0;
    for (size_t i = 0; i < report->inputs.count; i++) {
        const pdl_inspection *inspection = report->inputs.items[i].inspection;
        count += inspection != NULL ? pdl_inspection_finding_count(inspection) : 0;
    }
    report->entries = allocate(count, sizeof(*report->entries));
    report->items = allocate(count, sizeof(*report->items));
    for (size_t i = 0; i < report->inputs.count; i++) {
        const struct input *input = &report->inputs.items[i];
        const size_t own =
            input->inspection != NULL ? pdl_inspection_finding_count(input->inspection) : 0;
        for (size_t f = 0; f < own; f++) {
            report->entries[report->entry_count] = (struct lint_entry){
                input, pdl_inspection_finding(input->inspection, f), report->entry_count};
            report->entry_count++;
        }
    }
    qsort(report->entries, count, sizeof(*report->entries), by_look_and_order);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && by_look(&report->entries[i - 1], &report->entries[i]) == 0) {
            report->items[report->item_count - 1].count++;
        } else {
            report->items[report->item_count++] = (struct lint_item){&report->entries[i], 1};
        }
    }
    qsort(report->items, report->item_count, sizeof(*report->items), by_first_entry);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names of all kernels in PTX or of all in SASS, sorted. */
static struct strings kernel_names(const struct inputs *inputs, pdl_inspect_kind kind)
{
    struct strings names = {0};
    for (size_t i = 0; i < inputs->count; i++) {
        const pdl_inspection *inspection = inputs->items[i].inspection;
        const size_t count = inspection != NULL ? pdl_inspection_kernel_count(inspection) : 0;
        for (size_t k = 0; k < count; k++) {
            const pdl_inspect_kernel *kernel = pdl_inspection_kernel(inspection, k);
            if (pdl_inspection_image(inspection, kernel->image)->kind == (int32_t)kind) {
                APPEND(&names, kernel->info->name);
            }
        }
    }
    if (names.count > 0) {
        qsort((void *)names.items, names.count, sizeof(*names.items), by_name);
    }
    return names;
}

/* Nothing found in code that was not analysed would look like a good answer. */
static void tell_unanalysed(const struct inputs *inputs)
{
    struct strings analysed = kernel_names(inputs, PDL_INSPECT_PTX);
    struct strings compiled = kernel_names(inputs, PDL_INSPECT_SASS);
    const char *example = NULL;
    size_t count = 0;
    for (size_t i = 0; i < compiled.count; i++) {
        if ((i == 0 || strcmp(compiled.items[i - 1], compiled.items[i]) != 0) &&
            (analysed.count == 0 ||
             bsearch((const void *)&compiled.items[i], (const void *)analysed.items, analysed.count,
                     sizeof(*analysed.items), by_name) == NULL)) {
            example = example != NULL ? example : compiled.items[i];
            count++;
        }
    }
    if (count > 0) {
        char *kernels = format_count(count, "kernel", "kernels");
        char *name = demangle(example);
        print_line(stderr,
                   "pdltool lint: note: %s without PTX, for which there are no findings%s '%s'",
                   kernels, count > 1 ? ", such as" : ":", name);
        free(name);
        free(kernels);
    }
    free((void *)analysed.items);
    free((void *)compiled.items);
}

static int exit_code(const struct lint_report *report, int fail_on)
{
    if (report->inputs.incomplete) {
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < report->entry_count; i++) {
        const pdl_lint_finding *finding = report->entries[i].finding;
        if (finding->suppressed == NULL && finding->level >= fail_on) {
            return EXIT_FINDING;
        }
    }
    for (size_t i = 0; i < report->allowance_count && fail_on == PDL_LINT_NOTE; i++) {
        if (lint_is_unused(report, &report->allowances[i])) {
            return EXIT_FINDING;
        }
    }
    return EXIT_DONE;
}

/* ---- the command ------------------------------------------------------------------------------*/

/* All that the reports need of what was read. */
static void judge(struct lint_report *report, int fail_on)
{
    report->judged = !report->inputs.incomplete;
    for (size_t l = 0; l < report->list_count; l++) {
        for (size_t i = 0; i < report->inputs.count; i++) {
            pdl_lint_suppress(report->lists[l], report->inputs.items[i].inspection);
        }
    }
    tell_unanalysed(&report->inputs);
    gather_findings(report);
    gather_allowances(report);
    report->exit_code = exit_code(report, fail_on);
}

static int print(const struct lint_report *report, bool (*form)(const struct lint_report *report))
{
    if (!form(report) || fflush(stdout) != 0) {
        (void)fprintf(stderr, "pdltool lint: the report could not be written: %s\n",
                      strerror(errno));
        return EXIT_USAGE;
    }
    return report->exit_code;
}

static void free_report(struct lint_report *report)
{
    inputs_free(&report->inputs); /* before the suppressions that they refer to */
    for (size_t i = 0; i < report->list_count; i++) {
        pdl_lint_suppressions_destroy(report->lists[i]);
    }
    free(report->lists);
    free(report->entries);
    free(report->items);
    free(report->allowances);
}

static int run(struct lint_report *report, struct arguments *arguments)
{
    pdl_inspect_options *options = &arguments->options;
    options->flags = arguments->no_source ? PDL_INSPECT_NO_SOURCES : 0;
    options->constant_params = arguments->constant_params.items;
    options->constant_param_count = arguments->constant_params.count;
    options->overlapped = arguments->overlapped.items;
    options->overlapped_count = arguments->overlapped.count;
    report->inputs.options = options;
    report->level = arguments->level;
    if (!read_suppressions(report, &arguments->suppressions)) {
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < arguments->files.count; i++) {
        inputs_read(&report->inputs, arguments->files.items[i]);
    }
    judge(report, arguments->fail_on);
    return print(report, arguments->print);
}

int lint_ptx(const char *name, const char *ptx, size_t size)
{
    const pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    struct lint_report report = {.inputs = {.options = &options}, .level = PDL_LINT_WARNING};
    inputs_read_memory(&report.inputs, name, ptx, size);
    judge(&report, PDL_LINT_WARNING);
    const int code = print(&report, lint_print_text);
    free_report(&report);
    return code;
}

int command_lint(int argc, char **argv)
{
    struct arguments arguments = {.fail_on = PDL_LINT_WARNING,
                                  .level = PDL_LINT_WARNING,
                                  .print = lint_print_text,
                                  .options = PDL_INSPECT_OPTIONS_INIT};
    struct lint_report report = {0};
    int code = EXIT_USAGE;
    if (read_arguments(&arguments, argc, argv)) {
        code = arguments.done ? EXIT_DONE : run(&report, &arguments);
    }
    free_report(&report);
    free(arguments.constant_params.items);
    free(arguments.overlapped.items);
    free(arguments.suppressions.items);
    free(arguments.files.items);
    return code;
}
