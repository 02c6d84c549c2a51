/* SPDX-License-Identifier: MIT */
/* A program on the watched driver that does what its arguments say, one after the other: NAME or NAME=VALUE. */
#ifndef PDL_TEST_WATCH_WATCHED_H
#define PDL_TEST_WATCH_WATCHED_H

#include <stdbool.h>

/* Prints a line and ends the program: a test that cannot be made. */
_Noreturn void watched_fail(const char *what);

/* Launches of the first kernel, without attributes. */
void watched_launch(unsigned count);

/* What is done to the process: fork, exec, an end. False: no such word. `rest` are the words behind it. */
bool watched_process(const char *word, const char *value, char **rest);

/* Does a list of words, up to NULL. */
void watched_do(char **words);

#endif /* PDL_TEST_WATCH_WATCHED_H */
