/* SPDX-License-Identifier: MIT */
/* pdltool: libpdl from the command line. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <pdl/pdl.h>

#include "commands.h"
#include "common/print.h"

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"bench", command_bench, "what launches cost and what PDL gives, raw CUDA beside libpdl"},
    {"bisect", command_bisect, "which kernel's overlap makes a command fail"},
#ifdef PDL_HAVE_RTC
    {"cache", command_cache, "the folder of kernels that were compiled at run time"},
#endif
    {"info", command_info, "the driver, the devices, and whether launches may overlap on them"},
    {"inspect", command_inspect,
     "the kernels in PTX, cubins and programs: do they wait and trigger"},
    {"lint", command_lint, "where kernels touch memory too early, or trigger and never wait"},
    {"overlap", command_overlap,
     "whether a kernel's blocks can run beside those of the one before it"},
    {"report", command_report, "what bench measured as a page with plots"},
#ifdef PDL_HAVE_RTC
    {"rtc", command_rtc, "compiles a text as a program does at run time, and tells of its kernels"},
#endif
    {"sim", command_sim, "what launches would take, by a model, without a device"},
    {"tune", command_tune, "the best trigger points and grid sizes for a chain of kernels"},
    {"watch", command_watch, "any program's launches: do they overlap, why not, and is it safe"},
};

static void usage(FILE *to)
{
    (void)fprintf(to, "usage: pdltool COMMAND [OPTION...]\n"
                      "       pdltool --help | --version\n\ncommands:\n");
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        (void)fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].summary);
    }
    (void)fprintf(to, "\n`pdltool COMMAND --help` tells a command's options.\n");
}

int main(int argc, char **argv)
{
    (void)signal(SIGCHLD,
                 SIG_DFL); /* if its parent ignores it, so would pdltool: it could not wait */
    if (argc < 2) {
        usage(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        usage(stdout);
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        const unsigned version = pdl_version();
        printf("pdltool %u.%u.%u\n", version / 10000, version / 100 % 100, version % 100);
        return EXIT_DONE;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    print_line(stderr, "pdltool: there is no command %s; `pdltool --help` lists them", argv[1]);
    return EXIT_USAGE;
}
