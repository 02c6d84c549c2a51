/* SPDX-License-Identifier: MIT */
/* pdltool rtc: a text compiled as libpdl-rtc does it in a program, and what there is to know of it. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pdl/rtc.h>

#include "commands.h"
#include "common/demangle.h"
#include "common/file.h"
#include "common/input.h"
#include "common/memory.h"
#include "common/options.h"
#include "common/print.h"
#include "common/sinks.h"
#include "lint/lint.h"

/* The library refuses more than 64 MiB; this much is read, so that it can. */
#define LONGEST_TEXT (((size_t)64 << 20) + 1)

struct strings {
    const char **items;
    size_t count, capacity;
};

struct arguments {
    const char *file;
    const char *called; /* what the compiler's messages call the text; NULL: as the file */
    const char *directory;
    bool no_cache, no_lint;
    bool done; /* help was asked for */
    struct strings names;
    struct strings compiler; /* its options */
    pdl_rtc_options options;
    struct sink sink;
};

/* What is written by write_code(), which is told no more than where to. */
static const pdl_rtc_image *written;

static void usage(void)
{
    (void)fputs("usage: pdltool rtc FILE [OPTION...] [-- COMPILER-OPTION...]\n"
                "\n"
                "Compiles CUDA C++ with NVRTC through the cache, as a program does that calls\n"
                "pdl_rtc_kernel(). Reports for each kernel its mangled name, what it needs,\n"
                "whether it waits and triggers (Programmatic Dependent Launch), what 'pdltool\n"
                "lint' finds in it, and whether it was in the cache. - is standard input.\n"
                "\n"
                "  -n, --name NAME      compile this kernel, a name or an expression such as\n"
                "                       \"scale<float, 4>\"; repeatable\n"
                "  -t, --target TARGET  sm_90, sm_90a, compute_90 and the like (default: the\n"
                "                       architecture of the first device)\n"
                "      --output FORM    one of cubin, ptx (default: cubin)\n"
                "      --program NAME   name of the source in compiler messages (default: FILE)\n"
                "      --cache DIR      the cache directory (default: that of programs, see\n"
                "                       'man pdltool-rtc')\n"
                "      --no-cache       do not use the cache\n"
                "      --no-lint        do not run lint\n"
                "  -o, --file FILE      write the code to FILE\n"
                "\n"
                "Options after -- go to NVRTC: -DN=4, -I include, --std=c++20.\n"
                "\n"
                "Examples:\n"
                "  pdltool rtc scale.cu --target sm_90\n"
                "  pdltool rtc scale.cu -n \"scale<float, 4>\" -o scale.cubin -- -I include\n"
                "\n"
                "Exit status: 0; 1 if FILE does not compile, a name is not in it, or lint\n"
                "reports a warning or an error; 2 if the command line is wrong, a file could\n"
                "not be read, or there is no compiler.\n",
                stdout);
}

/* ---- the command line -------------------------------------------------------------------------*/

enum { OPTION_OUTPUT = 256, OPTION_PROGRAM, OPTION_CACHE, OPTION_NO_CACHE, OPTION_NO_LINT };

static bool read_output(const char *text, uint32_t *output)
{
    static const char *const forms[] = {[PDL_RTC_CUBIN] = "cubin", [PDL_RTC_PTX] = "ptx", NULL};
    const int form = parse_choice("output", text, &forms[PDL_RTC_CUBIN]);
    *output = form >= 0 ? (uint32_t)(PDL_RTC_CUBIN + form) : *output;
    return form >= 0;
}

static bool read_option(struct arguments *arguments, int option)
{
    switch (option) {
    case 'n':
        APPEND(&arguments->names, optarg);
        return true;
    case 't':
        arguments->options.target = optarg;
        return true;
    case 'o':
        arguments->sink.path = optarg;
        return true;
    case OPTION_OUTPUT:
        return read_output(optarg, &arguments->options.output);
    case OPTION_PROGRAM:
        arguments->called = optarg;
        return true;
    case OPTION_CACHE:
        arguments->directory = optarg;
        return true;
    case OPTION_NO_CACHE:
        arguments->no_cache = true;
        return true;
    case OPTION_NO_LINT:
        arguments->no_lint = true;
        return true;
    case 'h':
        usage();
        arguments->done = true;
        return true;
    default:
        print_note("compiler options follow --");
        return false;
    }
}

static bool check_arguments(struct arguments *arguments, char *const *operands, int count)
{
    const char *wrong = NULL;
    if (count == 0) {
        wrong = "no source file";
    } else if (count > 1) {
        wrong = "one source file at a time; compiler options follow --";
    } else if (arguments->no_cache && arguments->directory != NULL) {
        wrong = "--cache and --no-cache exclude each other";
    } else if (arguments->sink.path != NULL && strcmp(arguments->sink.path, "-") == 0) {
        wrong = "-o needs a file: the report goes to standard output";
    }
    if (wrong != NULL) {
        print_misuse("%s", wrong);
        return false;
    }
    arguments->file = operands[0];
    return true;
}

static bool read_arguments(struct arguments *arguments, int argc, char **argv)
{
    static const struct option options[] = {{"name", required_argument, NULL, 'n'},
                                            {"target", required_argument, NULL, 't'},
                                            {"output", required_argument, NULL, OPTION_OUTPUT},
                                            {"program", required_argument, NULL, OPTION_PROGRAM},
                                            {"cache", required_argument, NULL, OPTION_CACHE},
                                            {"no-cache", no_argument, NULL, OPTION_NO_CACHE},
                                            {"no-lint", no_argument, NULL, OPTION_NO_LINT},
                                            {"file", required_argument, NULL, 'o'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int own = 1; /* what comes after -- is the compiler's */
    while (own < argc && strcmp(argv[own], "--") != 0) {
        own++;
    }
    for (int i = own + 1; i < argc; i++) {
        APPEND(&arguments->compiler, argv[i]);
    }
    int option;
    while ((option = next_option(own, argv, "n:t:o:h", options)) != -1) {
        if (!read_option(arguments, option)) {
            return false;
        }
        if (arguments->done) {
            return true;
        }
    }
    return check_arguments(arguments, argv + optind, own - optind);
}

/* ---- the text ---------------------------------------------------------------------------------*/

static char *complain(const char *file, const char *why)
{
    print_line(stderr, "%s: error: %s", file, why);
    return NULL;
}

/* The caller frees it; NULL with a line on standard error. */
static char *read_text(const char *path)
{
    const bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : file_stream(path, false);
    if (file == NULL) {
        return complain(path, strerror(errno));
    }
    char *text = allocate(LONGEST_TEXT + 1, 1); /* pages that nothing is read into cost nothing */
    const size_t size = fread(text, 1, LONGEST_TEXT, file);
    const char *why = ferror(file) ? strerror(errno) : NULL;
    if (!is_stdin) {
        (void)fclose(file);
    }
    if (why == NULL && memchr(text, '\0', size) != NULL) {
        why = "not a text: it contains a NUL byte";
    }
    if (why != NULL) {
        free(text);
        return complain(path, why);
    }
    return text;
}

/* ---- compiling --------------------------------------------------------------------------------*/

static void print_lines(FILE *to, const char *text)
{
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        char *line = format_text("%.*s", (int)length, text);
        for (char *tab = line; (tab = strchr(tab, '\t')) != NULL;) {
            *tab = ' '; /* what is below it stays there */
        }
        print_plain(to, line);
        (void)putc('\n', to);
        free(line);
        text += length + (text[length] == '\n');
    }
}

/* Of the thread's last error. */
static int fail(pdl_status status)
{
    if (status == PDL_ERROR_COMPILE) {
        print_lines(stderr, pdl_rtc_log());
    }
    /* Without a target, the first device decides. */
    const bool no_device = status == PDL_ERROR_NO_DRIVER || status == PDL_ERROR_STUB_DRIVER ||
                           status == PDL_ERROR_DRIVER_TOO_OLD || status == PDL_ERROR_NO_DEVICE;
    print_error("%s%s", pdl_last_error()->message,
                no_device ? "; use --target, such as --target sm_90" : "");
    return status == PDL_ERROR_COMPILE || status == PDL_ERROR_NOT_FOUND ? EXIT_FINDING : EXIT_USAGE;
}

static double now_ms(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

/* Where it came from, and how long that took. */
static void print_origin(pdl_rtc_cache *cache, double ms)
{
    pdl_rtc_stats stats = PDL_RTC_STATS_INIT;
    if (pdl_rtc_cache_stats(cache, &stats) != PDL_SUCCESS) {
        return;
    }
    const char *what = "compiled, not stored";
    const char *where = "";
    if (stats.disk_hits > 0) {
        what = "found in ";
        where = stats.directory;
    } else if (stats.shipped_hits > 0) {
        what = "found in the shipped cache ";
        where = stats.shipped;
    } else if (stats.waits > 0) {
        what = "compiled by another process, found in ";
        where = stats.directory;
    } else if (stats.stored > 0) {
        what = "compiled and stored in ";
        where = stats.directory;
    }
    printf("cache: %s", what);
    print_plain(stdout, where);
    printf(", in %.1f ms\n", ms);
    if (stats.damaged > 0) {
        printf("cache: ignored a damaged entry\n");
    }
    if (stats.problem[0] != '\0') {
        print_note("%s", stats.problem);
    }
}

static char *number_or_dash(int64_t number)
{
    return number >= 0 ? format_count((unsigned long long)number, "", "") : copy_text("-");
}

static void print_kernels(const pdl_rtc_image *image)
{
    static const char *const headings[] = {"waits",      "triggers", "registers",   "shared",
                                           "parameters", "kernel",   "mangled name"};
    struct table table = {.headings = headings, .right = "llrrrll"};
    const size_t count = pdl_rtc_image_kernel_count(image);
    for (size_t i = 0; i < count; i++) {
        const pdl_kernel_info *info = pdl_rtc_image_info(image, i);
        const char *expression = pdl_rtc_image_expression(image, i);
        table_add(&table, copy_text(known_name(info->waits)));
        table_add(&table, copy_text(known_name(info->triggers)));
        table_add(&table, number_or_dash(info->registers_per_thread));
        table_add(&table, number_or_dash(info->static_shared_memory));
        table_add(&table, number_or_dash(info->parameter_count));
        table_add(&table, expression != NULL ? copy_text(expression) : demangle(info->name));
        table_add(&table, copy_text(info->name));
    }
    if (count > 0) {
        table_print(&table, stdout);
    } else {
        printf("no kernels; name an instance of a template with --name\n");
    }
    table_free(&table);
}

static size_t code_size(const pdl_rtc_image *image, const void **code)
{
    size_t size = 0;
    *code = pdl_rtc_image_code(image, &size);
    return pdl_rtc_image_output(image) == PDL_RTC_PTX && size > 0 ? size - 1 : size; /* its NUL */
}

static void write_code(FILE *to)
{
    const void *code = NULL;
    const size_t size = code_size(written, &code);
    (void)fwrite(code, 1, size, to);
}

static void print_image(const struct arguments *arguments, const pdl_rtc_image *image)
{
    const void *code = NULL;
    char *bytes = format_count(code_size(image, &code), "byte", "bytes");
    print_plain(stdout, arguments->called);
    printf(": %s for %s, %s\n", pdl_rtc_image_output(image) == PDL_RTC_PTX ? "PTX" : "machine code",
           pdl_rtc_image_target(image), bytes);
    free(bytes);
}

static bool has_option(const struct strings *options, const char *a, const char *b)
{
    for (size_t i = 0; i < options->count; i++) {
        if (strcmp(options->items[i], a) == 0 || strcmp(options->items[i], b) == 0) {
            return true;
        }
    }
    return false;
}

/* Findings are of PTX, with the source's lines: it is compiled to that as well, and not kept. */
static int lint(struct arguments *arguments, const char *text, const pdl_rtc_image *image)
{
    const char *target = pdl_rtc_image_target(image);
    const char *number = strchr(target, '_');
    char *virtual_target = format_text("compute%s", number != NULL ? number : "_90");
    pdl_rtc_options options = arguments->options;
    pdl_rtc_image *ptx = NULL;
    int code = EXIT_DONE;
    if (!has_option(&arguments->compiler, "-lineinfo", "--generate-line-info")) {
        APPEND(&arguments->compiler, "-lineinfo");
    }
    options.arguments = arguments->compiler.items;
    options.argument_count = arguments->compiler.count;
    options.target = virtual_target;
    options.output = PDL_RTC_PTX;
    if (pdl_rtc_compile(arguments->called, text, &options, &ptx) == PDL_SUCCESS) {
        const void *bytes = NULL;
        const size_t size = code_size(ptx, &bytes);
        code = pdl_rtc_image_kernel_count(ptx) > 0
                   ? lint_ptx(arguments->called, bytes, size, NULL, 0)
                   : code;
    } else {
        print_note("not linted: %s", pdl_last_error()->message);
    }
    pdl_rtc_image_destroy(ptx);
    free(virtual_target);
    return code;
}

static int compile(struct arguments *arguments, const char *text, pdl_rtc_cache *cache)
{
    pdl_rtc_image *image = NULL;
    pdl_rtc_options *options = &arguments->options;
    options->names = arguments->names.items;
    options->name_count = arguments->names.count;
    options->arguments = arguments->compiler.items;
    options->argument_count = arguments->compiler.count;
    const double begin = now_ms();
    const pdl_status status =
        pdl_rtc_cache_compile(cache, arguments->called, text, options, &image);
    if (status != PDL_SUCCESS) {
        return fail(status);
    }
    const double ms = now_ms() - begin;
    int code = EXIT_USAGE;
    print_lines(stderr, pdl_rtc_image_log(image));
    written = image;
    if (sinks_write(&arguments->sink, 1)) {
        print_image(arguments, image);
        print_origin(cache, ms);
        print_kernels(image);
        code = arguments->no_lint ? EXIT_DONE : lint(arguments, text, image);
    }
    pdl_rtc_image_destroy(image);
    return code;
}

static int run(struct arguments *arguments)
{
    pdl_rtc_cache_desc desc = PDL_RTC_CACHE_DESC_INIT;
    pdl_rtc_cache *cache = NULL;
    char *text = read_text(arguments->file);
    if (text == NULL) {
        return EXIT_USAGE;
    }
    if (arguments->called == NULL) {
        arguments->called = strcmp(arguments->file, "-") == 0 ? "<stdin>" : arguments->file;
    }
    desc.directory = arguments->directory;
    desc.flags = arguments->no_cache ? PDL_RTC_CACHE_MEMORY_ONLY : 0;
    int code = EXIT_USAGE;
    const pdl_status status = pdl_rtc_cache_create(&desc, &cache);
    if (status != PDL_SUCCESS) {
        code = fail(status);
    } else if (sinks_open(&arguments->sink, 1)) {
        code = compile(arguments, text, cache);
    }
    sinks_drop(&arguments->sink, 1);
    pdl_rtc_cache_destroy(cache);
    free(text);
    return code;
}

int command_rtc(int argc, char **argv)
{
    struct arguments arguments = {.options = PDL_RTC_OPTIONS_INIT,
                                  .sink = {.name = "file", .write = write_code}};
    int code = EXIT_USAGE;
    /* The user has the text: a copy of one that does not compile is for programs. */
    (void)setenv("PDL_RTC_DUMP_DIR", "", 0);
    if (read_arguments(&arguments, argc, argv)) {
        code = arguments.done ? EXIT_DONE : run(&arguments);
    }
    free((void *)arguments.names.items);
    free((void *)arguments.compiler.items);
    return code;
}
