/* SPDX-License-Identifier: MIT */
/* Sources as inputs: compiled to PTX, or taken from the cache. */
#ifndef PDL_TOOLS_LINT_COMPILE_H
#define PDL_TOOLS_LINT_COMPILE_H

#include "common/input.h"
#include "lint/options.h"

/* Reads the files of the command line: of those that are sources, the PTX that they are compiled to, several at a
 * time. With compile_commands.json and without files, all of its CUDA sources. What cannot be compiled is said on
 * standard error, with what the compiler says. */
void lint_read_files(const struct lint_options *options, struct inputs *inputs);

#endif /* PDL_TOOLS_LINT_COMPILE_H */
