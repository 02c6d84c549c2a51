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
#include "core/size_text.h"

static void usage(FILE *to)
{
    (void)fputs(
        "usage: pdltool lint [OPTION...] FILE|DIRECTORY|-... [-- COMPILER-OPTION...]\n"
        "       pdltool lint -p BUILD [OPTION...] [SOURCE...]\n\n"
        "Looks for races between kernels that overlap (Programmatic Dependent Launch):\n"
        "memory that is read or written before the wait, waits that some threads or\n"
        "paths miss, and the like. Reads CUDA sources, which nvcc compiles, PTX, and the\n"
        "PTX in cubins, fatbins, objects, archives, libraries and programs; `-` is\n"
        "standard input. In a directory, every file that holds device code is read.\n\n"
        "what is right:\n"
        "  --launches=FILE       how kernels were launched: a recording of pdltool watch,\n"
        "                        a log of libpdl's decisions, or a list (docs/lint.md)\n"
        "  --overlapped=PATTERN  kernels of this name are launched with overlap; PATTERN\n"
        "                        as in fnmatch(3), on the mangled name\n"
        "  --constant-param=P    no kernel in flight writes what this parameter points to;\n"
        "                        P is [KERNEL:]NAME or [KERNEL:]NUMBER (from 1), patterns\n"
        "  --suppressions=FILE   findings that are known and accepted: a line each,\n"
        "                        RULE [KEY=PATTERN]... : REASON\n"
        "  --third-party=PATTERN source files whose findings are not reported\n"
        "  --project=FILE        the project file instead of the nearest .pdl-lint\n"
        "  --no-project          no project file\n\n"
        "what is read:\n"
        "  -p, --compile-commands=BUILD\n"
        "                        all CUDA sources of BUILD/compile_commands.json, or those\n"
        "                        that are named\n"
        "  --nvcc=PATH           the compiler of sources, or clang (default: nvcc on PATH)\n"
        "  --arch=ARCH           compile for it, such as sm_90a, or for all that are named\n"
        "  -j, --jobs=N          compilers at once (default: one per core)\n"
        "  --no-cache            compile what has not changed as well\n"
        "  --max-unpacked=SIZE   of an input's compressed code, in bytes, or 64K, 64M, 1G\n"
        "                        (default: 64M or, if that is more, 16 times the input)\n"
        "  --no-source           do not open source files for names and excerpts\n\n"
        "what is shown:\n"
        "  --level=LEVEL         the least level shown: note, warning (default) or error\n"
        "  --format=FORM         text (default), summary, json, sarif or github\n"
        "  --summary             a table of the kernels: --format=summary\n"
        "  --json, --sarif       for programs: --format=json, --format=sarif\n"
        "  --full-names          do not shorten template arguments\n\n"
        "exit code:\n"
        "  --fail-on=LEVEL       the least level that makes it 1: note, warning (default),\n"
        "                        error, or never\n"
        "  --require-checked     1 as well if some kernel could not be checked\n"
        "  --baseline=FILE       only findings that are not in FILE count\n"
        "  --write-baseline=FILE write the findings to FILE\n"
        "  --changed=DIFF        only findings on lines that a unified diff adds count\n"
        "  0 no finding of that level, 1 findings, 2 something could not be read\n\n"
        "Options that take a PATTERN, P or FILE of what is right may be given more than\n"
        "once. The rules are described in docs/lint, the command in docs/lint.md.\n",
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

static bool read_form(struct lint_options *options, const char *form)
{
    static const struct {
        const char *name;
        bool (*print)(const struct lint_report *report);
    } forms[] = {
        {"text", lint_print_text}, {"summary", lint_print_summary}, {"github", lint_print_github},
#ifdef PDL_HAVE_JANSSON
        {"json", lint_print_json}, {"sarif", lint_print_sarif},
#else
        {"json", NULL},
        {"sarif", NULL},
#endif
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (strcmp(forms[i].name, form) != 0) {
            continue;
        }
        if (forms[i].print == NULL) {
            (void)fprintf(stderr,
                          "pdltool lint: --%s is not in this build, which was made without the "
                          "JSON library jansson\n",
                          form);
            return false;
        }
        if (options->form != NULL && strcmp(options->form, form) != 0) {
            (void)fprintf(stderr, "pdltool lint: --%s and --%s exclude each other\n", options->form,
                          form);
            return false;
        }
        options->form = forms[i].name;
        options->print = forms[i].print;
        return true;
    }
    print_line(stderr, "pdltool lint: --format is text, summary, json, sarif or github, not %s",
               form);
    return false;
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
    case 's':
        APPEND(&options->suppressions, optarg);
        return true;
    case 'L':
        APPEND(&options->launches, optarg);
        return true;
    case 't':
        APPEND(&options->third_party, optarg);
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
    case 'd':
        options->changed = optarg;
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
    case 'a':
        options->architecture = optarg;
        return true;
    case 'j':
        return parse_count("pdltool lint", "--jobs", optarg, 1, 1024, &options->jobs);
    case 'K':
        options->no_cache = true;
        return true;
    case 'U':
        options->full_names = true;
        return true;
    case 'F':
        return read_form(options, optarg);
    case 'f':
        options->fail_on_given = true;
        options->fail_on = strcmp(optarg, "never") == 0 ? (int)LINT_FAIL_NEVER : level_of(optarg);
        if (options->fail_on == 0) {
            print_line(stderr, "pdltool lint: --fail-on is note, warning, error or never, not %s",
                       optarg);
        }
        return options->fail_on != 0;
    case 'l': {
        const int level = level_of(optarg);
        if (level == 0) {
            print_line(stderr, "pdltool lint: --level is note, warning or error, not %s", optarg);
            return false;
        }
        options->level = (pdl_lint_level)level;
        return true;
    }
    case 'u':
        if (!pdl_size_parse(optarg, UINT64_MAX, &options->inspect.max_unpacked) ||
            options->inspect.max_unpacked == 0) {
            print_line(stderr, "pdltool lint: --max-unpacked is a size such as 64M or 1G, not %s",
                       optarg);
            return false;
        }
        return true;
    case 'm':
        return read_form(options, "summary");
    case 'S':
        return read_form(options, "json");
    case 'r':
        return read_form(options, "sarif");
    case 'n':
        options->no_source = true;
        return true;
    case 'h':
        usage(stdout);
        options->done = true;
        return true;
    default:
        (void)fputs("`pdltool lint --help` tells the options\n", stderr);
        return false;
    }
}

bool lint_read_options(struct lint_options *options, int argc, char **argv)
{
    static const struct option table[] = {{"constant-param", required_argument, NULL, 'c'},
                                          {"overlapped", required_argument, NULL, 'o'},
                                          {"launches", required_argument, NULL, 'L'},
                                          {"suppressions", required_argument, NULL, 's'},
                                          {"third-party", required_argument, NULL, 't'},
                                          {"project", required_argument, NULL, 'P'},
                                          {"no-project", no_argument, NULL, 'N'},
                                          {"baseline", required_argument, NULL, 'b'},
                                          {"write-baseline", required_argument, NULL, 'w'},
                                          {"changed", required_argument, NULL, 'd'},
                                          {"fail-on", required_argument, NULL, 'f'},
                                          {"require-checked", no_argument, NULL, 'q'},
                                          {"compile-commands", required_argument, NULL, 'p'},
                                          {"nvcc", required_argument, NULL, 'C'},
                                          {"arch", required_argument, NULL, 'a'},
                                          {"jobs", required_argument, NULL, 'j'},
                                          {"no-cache", no_argument, NULL, 'K'},
                                          {"max-unpacked", required_argument, NULL, 'u'},
                                          {"no-source", no_argument, NULL, 'n'},
                                          {"level", required_argument, NULL, 'l'},
                                          {"format", required_argument, NULL, 'F'},
                                          {"summary", no_argument, NULL, 'm'},
                                          {"json", no_argument, NULL, 'S'},
                                          {"sarif", no_argument, NULL, 'r'},
                                          {"full-names", no_argument, NULL, 'U'},
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
    while ((option = getopt_long(argc, argv, "hj:p:", table, NULL)) != -1) {
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
        (void)fputs("pdltool lint: nothing to read; `pdltool lint --help` tells how\n", stderr);
        return false;
    }
    return true;
}

void lint_free_options(struct lint_options *options)
{
    free(options->constant_params.items);
    free(options->overlapped.items);
    free(options->suppressions.items);
    free(options->launches.items);
    free(options->third_party.items);
    free(options->files.items);
    free(options->compiler_options.items);
}
