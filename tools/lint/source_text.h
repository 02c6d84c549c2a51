/* SPDX-License-Identifier: MIT */
/* Lines of source files, each of which is read once. */
#ifndef PDL_TOOLS_LINT_SOURCE_TEXT_H
#define PDL_TOOLS_LINT_SOURCE_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct input;
struct lint_source_text;

struct lint_source_text *lint_source_text_new(void);
void lint_source_text_free(struct lint_source_text *sources);

/* A line, from 1, without its end, of a file that an input names; NULL where the file cannot be read, is not a regular one
 * or too long, or has no such line, or where it is neither below the working directory nor below the folder of the input
 * or of its project file. It lives as long as the sources. */
const char *lint_source_line(struct lint_source_text *sources, const struct input *input,
                             const char *path, uint32_t line, size_t *length);

#endif /* PDL_TOOLS_LINT_SOURCE_TEXT_H */
