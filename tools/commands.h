/* SPDX-License-Identifier: MIT */
/* The commands of pdltool: one file each. */
#ifndef PDL_TOOLS_COMMANDS_H
#define PDL_TOOLS_COMMANDS_H

#include "common/optional.h"

/* Exit codes of every command. */
enum {
    EXIT_DONE = 0,
    EXIT_FINDING = 1, /* what was asked for is not there, or what should not be there is */
    EXIT_USAGE = 2,   /* the command line is wrong, or an input could not be read */
};

/* A command gets its own arguments, argv[0] being its name, and returns an exit code. */
int command_bench(int argc, char **argv);
int command_bisect(int argc, char **argv);
int command_info(int argc, char **argv);
int command_inspect(int argc, char **argv);
int command_instrument(int argc, char **argv);
int command_lint(int argc, char **argv);
int command_overlap(int argc, char **argv);
int command_report(int argc, char **argv);
TOOL_OPTIONAL int command_rtc(int argc, char **argv);
int command_sim(int argc, char **argv);
int command_tune(int argc, char **argv);
int command_watch(int argc, char **argv);

#endif /* PDL_TOOLS_COMMANDS_H */
