/* SPDX-License-Identifier: MIT */
/* How much of a text that comes from an input is shown. */
#ifndef PDL_TOOLS_SHOWN_H
#define PDL_TOOLS_SHOWN_H

/* Bytes of a name, a path or a sentence. One of the input's texts is shown with each finding that has
 * to do with it, so that the length of a report would go with the square of the input's. */
enum { LONGEST_SHOWN = 4096 };

/* A copy to free. Of a longer text it is the beginning and, so that different texts stay different,
 * `...#` and a hash of its length and its end. Never NULL: the program ends where there is no memory. */
char *shown(const char *text);

#endif /* PDL_TOOLS_SHOWN_H */
