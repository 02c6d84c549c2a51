/* SPDX-License-Identifier: MIT */
/* Where programs are. */
#ifndef PDL_TOOLS_PROGRAM_H
#define PDL_TOOLS_PROGRAM_H

/* The file that execvp() would run, which the caller frees; NULL: none. A name with a slash is the file itself, which
 * need not be there. */
char *program_find(const char *name);

#endif /* PDL_TOOLS_PROGRAM_H */
