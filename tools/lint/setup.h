/* SPDX-License-Identifier: MIT */
/* What holds for each input: the statements of the command line, and of the project file that is nearest to it. */
#ifndef PDL_TOOLS_LINT_SETUP_H
#define PDL_TOOLS_LINT_SETUP_H

#include <stdbool.h>

#include "lint/options.h"

struct lint_setups;

/* Takes the command line over, and has `inputs` look for a project file before each input. False with lines on standard
 * error. The setups, which have to be freed in either case, must live as long as the inputs. */
bool lint_setups_begin(struct lint_setups **setups, struct lint_options *options,
                       struct inputs *inputs);
void lint_setups_free(struct lint_setups *setups);

/* Whether a project file could not be read. */
bool lint_setups_failed(const struct lint_setups *setups);

/* The folder of an input's project file; NULL if it has none. */
const char *lint_setups_folder(const struct input *input);

/* Suppresses, in all inputs that were read, what project files say and what is in third-party files. */
void lint_setups_apply(const struct inputs *inputs);

/* Counts what the statements were of use for; says which kernels were launched that no input has, and returns how many
 * of them with overlap. */
size_t lint_setups_count(struct lint_setups *setups, const struct inputs *inputs);

/* The statements, for the report to tell which were of no use. */
void lint_setups_tell(const struct lint_setups *setups, struct lint_report *report);

#endif /* PDL_TOOLS_LINT_SETUP_H */
