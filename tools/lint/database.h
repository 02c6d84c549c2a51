/* SPDX-License-Identifier: MIT */
/* compile_commands.json: how a project's sources are compiled. */
#ifndef PDL_TOOLS_LINT_DATABASE_H
#define PDL_TOOLS_LINT_DATABASE_H

#include <stdbool.h>

#include "common/optional.h"
#include "lint/sources.h"

/* Adds all entries of a file. False with a line on standard error where it cannot be read or is no such file. */
TOOL_OPTIONAL bool database_read(const char *path, struct compilations *compilations);

#endif /* PDL_TOOLS_LINT_DATABASE_H */
