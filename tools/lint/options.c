/* SPDX-License-Identifier: MIT */
/* The command line of pdltool lint. */
#include "lint/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/options.h"
#include "common/print.h"
#include "os/size_text.h"

static void usage(void)
{
    (void)fputs("usage: pdltool lint [OPTION...] FILE|DIRECTORY|-... [-- COMPILER-OPTION...]\n"
                "       pdltool lint -p BUILD [OPTION...] [SOURCE...]\n"
                "\n"
                "Finds races between kernels that overlap (Programmatic Dependent Launch), such\n"
                "as memory that is read or written before the wait, or a wait that some threads\n"
                "miss. Reads CUDA sources, which nvcc compiles, PTX, and the PTX in cubins,\n"
                "fatbins, objects, archives, libraries and programs. In a directory, every file\n"
                "that holds device code is read. - is standard input.\n"
                "\n"
                "Assumptions:\n"
                "  --launches FILE       how kernels were launched: a recording of pdltool watch,\n"
                "                        or a log of libpdl (PDL_LOG)\n"
                "  --overlapped PATTERN  kernels with this mangled name are launched with\n"
                "                        overlap; PATTERN as in fnmatch(3)\n"
                "  --constant-param P    no kernel in flight writes what this parameter points\n"
                "                        to; P is [KERNEL:]NAME or [KERNEL:]NUMBER, from 1, and\n"
                "                        of a struct P+BYTE or P+BYTE:SIZE\n"
                "  --project FILE        use this project file, not the nearest .pdl-lint\n"
                "  --no-project          use no project file\n"
                "\n"
                "Input:\n"
                "  -p, --compile-commands BUILD\n"
                "                        all CUDA sources in BUILD/compile_commands.json, or the\n"
                "                        named ones\n"
                "  --nvcc PATH           the compiler, nvcc or clang (default: nvcc on PATH)\n"
                "  --no-database-compiler\n"
                "                        run no compiler that BUILD names, only that of --nvcc\n"
                "  --arch ARCH[,ARCH...] compile for these architectures, such as sm_90a\n"
                "  -j, --jobs N          run N compilers in parallel (default: one per core)\n"
                "  --max-unpacked SIZE   limit of unpacked code per input, such as 64M or 1G\n"
                "                        (default: the larger of 64M and 16 times the input)\n"
                "  --no-source           do not open source files for names and excerpts\n"
                "\n"
                "Output:\n"
                "  --level LEVEL         lowest level shown, one of note, warning, error\n"
                "                        (default: warning)\n"
                "  --json                JSON instead of text\n"
                "  --sarif               SARIF 2.1.0 instead of text\n"
                "\n"
                "Exit status:\n"
                "  --fail-on LEVEL       lowest level that makes it 1, one of note, warning,\n"
                "                        error, never (default: warning)\n"
                "  --require-checked     also 1 if a kernel could not be checked\n"
                "  --baseline FILE       count only findings that are not in FILE\n"
                "  --write-baseline FILE write the findings to FILE\n"
                "\n"
                "  0 without findings, 1 with findings, 2 if an input could not be read or not\n"
                "  one kernel was checked.\n"
                "\n"
                "The options under \"Assumptions\" that take a value are repeatable, except\n"
                "--project. 'man pdltool-lint' describes file formats and rules.\n"
                "\n"
                "Examples:\n"
                "  pdltool lint build/app\n"
                "  pdltool lint -p build --launches run.rec --fail-on error\n",
                stdout);
}

/* ---- the command line -------------------------------------------------------------------------*/

/* The level of --level or --fail-on; 0 after an error. */
static int read_level(const char *option, const char *text, bool or_never)
{
    const char *names[] = {"note", "warning", "error", or_never ? "never" : NULL, NULL};
    return parse_choice(option, text, names) + 1;
}

static bool take_form(struct lint_options *options, const char *form,
                      bool (*print)(const struct lint_report *report))
{
    if (print == NULL) {
        return lacks_json(form);
    }
    if (options->form != NULL && strcmp(options->form, form) != 0) {
        print_error("--%s and --%s exclude each other", options->form, form);
        return false;
    }
    options->form = form;
    options->print = print;
    return true;
}

static bool read_option(struct lint_options *options, int option)
{
    switch (option) {
    case 'c':
        APPEND(&options->constant_params, optarg);
        return true;
    case 'o':
        APPEND(&options->overlapped, optarg);
        return true;
    case 'L':
        APPEND(&options->launches, optarg);
        return true;
    case 'P':
        options->project = optarg;
        return true;
    case 'N':
        options->no_project = true;
        return true;
    case 'b':
        options->baseline = optarg;
        return true;
    case 'w':
        options->write_baseline = optarg;
        return true;
    case 'q':
        options->require_checked = true;
        return true;
    case 'p':
        options->compile_commands = optarg;
        return true;
    case 'C':
        options->compiler = optarg;
        return true;
    case 'D':
        options->no_database_compiler = true;
        return true;
    case 'a':
        options->architecture = optarg;
        return true;
    case 'j':
        return parse_count("jobs", optarg, 1, 1024, &options->jobs);
    case 'f':
        options->fail_on = read_level("fail-on", optarg, true);
        return options->fail_on != 0;
    case 'l': {
        const int level = read_level("level", optarg, false);
        options->level = (pdl_lint_level)level;
        return level != 0;
    }
    case 'u':
        if (!pdl_size_parse(optarg, UINT64_MAX, &options->inspect.max_unpacked) ||
            options->inspect.max_unpacked == 0) {
            print_error("--max-unpacked takes a size such as 64M or 1G, not '%s'", optarg);
            return false;
        }
        return true;
    case 'S':
        return take_form(options, "json", lint_print_json);
    case 'r':
        return take_form(options, "sarif", lint_print_sarif);
    case 'n':
        options->no_source = true;
        return true;
    case 'h':
        usage();
        options->done = true;
        return true;
    default:
        return false;
    }
}

bool lint_read_options(struct lint_options *options, int argc, char **argv)
{
    static const struct option table[] = {{"constant-param", required_argument, NULL, 'c'},
                                          {"overlapped", required_argument, NULL, 'o'},
                                          {"launches", required_argument, NULL, 'L'},
                                          {"project", required_argument, NULL, 'P'},
                                          {"no-project", no_argument, NULL, 'N'},
                                          {"baseline", required_argument, NULL, 'b'},
                                          {"write-baseline", required_argument, NULL, 'w'},
                                          {"fail-on", required_argument, NULL, 'f'},
                                          {"require-checked", no_argument, NULL, 'q'},
                                          {"compile-commands", required_argument, NULL, 'p'},
                                          {"nvcc", required_argument, NULL, 'C'},
                                          {"no-database-compiler", no_argument, NULL, 'D'},
                                          {"arch", required_argument, NULL, 'a'},
                                          {"jobs", required_argument, NULL, 'j'},
                                          {"max-unpacked", required_argument, NULL, 'u'},
                                          {"no-source", no_argument, NULL, 'n'},
                                          {"level", required_argument, NULL, 'l'},
                                          {"json", no_argument, NULL, 'S'},
                                          {"sarif", no_argument, NULL, 'r'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int option;
    for (int i = 1; i < argc; i++) { /* what is behind `--` is for the compiler */
        if (strcmp(argv[i], "--") == 0) {
            for (int j = i + 1; j < argc; j++) {
                APPEND(&options->compiler_options, argv[j]);
            }
            argc = i;
        }
    }
    while ((option = next_option(argc, argv, "hj:p:", table)) != -1) {
        if (!read_option(options, option)) {
            return false;
        }
        if (options->done) {
            return true;
        }
    }
    for (int i = optind; i < argc; i++) {
        APPEND(&options->files, argv[i]);
    }
    if (options->files.count == 0 && options->compile_commands == NULL) {
        print_misuse("no input");
        return false;
    }
    return true;
}

void lint_free_options(struct lint_options *options)
{
    free(options->constant_params.items);
    free(options->overlapped.items);
    free(options->launches.items);
    free(options->files.items);
    free(options->compiler_options.items);
}
