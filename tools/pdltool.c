/* SPDX-License-Identifier: MIT */
/* pdltool: libpdl from the command line. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <pdl/pdl.h>

#include "commands.h"
#include "common/print.h"
#include "common/suggest.h"

static int command_help(int argc, char **argv);

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"bench", command_bench, "measures what launches cost and what PDL gains"},
    {"bisect", command_bisect, "finds the kernel whose overlap makes a command fail"},
    {"help", command_help, "shows the help of a command"},
    {"info", command_info, "shows the driver, the devices and what they support"},
    {"inspect", command_inspect, "lists kernels, and whether they wait and trigger"},
    {"instrument", command_instrument, "puts the wait into kernels written without it"},
    {"lint", command_lint, "finds races between kernels that overlap"},
    {"overlap", command_overlap, "says whether two kernels can overlap, and why not"},
    {"report", command_report, "makes a web page of measurements"},
    {"rtc", command_rtc, "compiles a source at run time and reports on its kernels"},
    {"sim", command_sim, "predicts how long a chain takes, without a device"},
    {"tune", command_tune, "finds the fastest trigger positions"},
    {"watch", command_watch, "reports which launches of a program overlap, and why not"},
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void usage(FILE *to)
{
    (void)fputs("usage: pdltool COMMAND [OPTION...]\n"
                "       pdltool help [COMMAND]\n"
                "       pdltool --help | --version\n\n"
                "Checks, measures and tunes CUDA kernels that overlap (Programmatic Dependent\n"
                "Launch).\n\nCommands:\n",
                to);
    for (size_t i = 0; i < COMMANDS; i++) {
        if (commands[i].run != NULL) {
            (void)fprintf(to, "  %-11s %s\n", commands[i].name, commands[i].summary);
        }
    }
    (void)fputs("\nExamples:\n"
                "  pdltool lint build/app\n"
                "  pdltool watch -- ./build/app\n\n"
                "'pdltool help COMMAND' shows the options of a command.\n",
                to);
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (commands[i].run != NULL && strcmp(name, commands[i].name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

static int print_unknown(const char *name)
{
    const char *names[COMMANDS];
    size_t count = 0;
    for (size_t i = 0; i < COMMANDS; i++) {
        if (commands[i].run != NULL) {
            names[count++] = commands[i].name;
        }
    }
    const char *const close = suggest(name, names, count);
    const char *const what = name[0] == '-' ? "option" : "command";
    print_as(NULL);
    if (close != NULL) {
        print_error("unknown %s '%s'; did you mean '%s'?", what, name, close);
    } else {
        print_misuse("unknown %s '%s'", what, name);
    }
    return EXIT_USAGE;
}

static int run(const struct command *command, int argc, char **argv)
{
    print_as(command->name);
    return command->run(argc, argv);
}

static int command_help(int argc, char **argv)
{
    char option[] = "--help";
    if (argc > 2) {
        print_misuse("one command at a time");
        return EXIT_USAGE;
    }
    if (argc < 2 || strcmp(argv[1], "help") == 0 || argv[1][0] == '-') {
        usage(stdout);
        return EXIT_DONE;
    }
    const struct command *const command = find(argv[1]);
    char *const arguments[] = {argv[1], option, NULL};
    return command != NULL ? run(command, 2, (char **)arguments) : print_unknown(argv[1]);
}

static int run_line(int argc, char **argv)
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
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        const unsigned version = pdl_version();
        printf("pdltool %u.%u.%u\n", version / 10000, version / 100 % 100, version % 100);
        return EXIT_DONE;
    }
    const struct command *const command = find(argv[1]);
    return command != NULL ? run(command, argc - 1, argv + 1) : print_unknown(argv[1]);
}

int main(int argc, char **argv)
{
    const int code = run_line(argc, argv);
    /* A command that writes a report has checked it; what is left is help and short answers. */
    if (fflush(stdout) != 0) {
        print_error("cannot write to standard output: %s", strerror(errno));
        return EXIT_USAGE;
    }
    return code;
}
