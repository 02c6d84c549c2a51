/* SPDX-License-Identifier: MIT */
/* Paths of sources. */
#ifndef PDL_TOOLS_LINT_PATHS_H
#define PDL_TOOLS_LINT_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a path without symbolic links is below a folder (NULL: no), which may be named by one. Nothing counts as below
 * the root of the file system. */
bool path_is_below(const char *path, const char *folder);

/* All of these return what the caller frees. */

/* The folder of an input by the input's name, without symbolic links; NULL if there is none. What a source was compiled
 * to has that behind its name, in parentheses. */
char *path_folder_of_input(const char *name);

/* A path below a directory (NULL: the working directory) as one that begins with "/" and has no "." and no ".." in
 * it. Symbolic links stay as they are. */
char *path_absolute(const char *directory, const char *path);

/* An absolute path as it is shown: relative where it is below the working directory. */
char *path_shown(const char *path);

/* PTX in which the names of source files are as they are shown, `directory` being the compiler's working directory.
 * Takes the text over. */
char *path_show_in_ptx(char *ptx, size_t *size, const char *directory);

#endif /* PDL_TOOLS_LINT_PATHS_H */
