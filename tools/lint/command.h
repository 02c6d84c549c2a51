/* SPDX-License-Identifier: MIT */
/* A compiler's command, and what to ask of the same compiler so that it writes PTX. */
#ifndef PDL_TOOLS_LINT_COMMAND_H
#define PDL_TOOLS_LINT_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

/* The arguments of a command. It owns its strings. Zeroed, it is empty. All of these end the tool where there is no memory. */
struct argv {
    char **items;
    size_t count, capacity;
};

/* Adds a copy. */
void argv_add(struct argv *arguments, const char *text);
/* Adds the text itself. */
void argv_take(struct argv *arguments, char *text);
/* Adds the words of a command as a shell splits it: quotes and backslashes count, nothing is expanded. A quote that
 * is left open ends with the text. */
void argv_split(struct argv *arguments, const char *command);
/* Puts the words of a command in place of an item. */
void argv_replace(struct argv *arguments, size_t index, const char *command);
void argv_remove(struct argv *arguments, size_t index);
/* The items and a NULL, which exec() takes; valid until something is added. */
char *const *argv_vector(struct argv *arguments);
void argv_free(struct argv *arguments);

/* "sm_90a" in parts. */
struct architecture {
    int number;
    char suffix; /* 'a', 'f' or NUL */
};

/* "90a", "sm_90a", "compute_90a", "90a-real" and the like; false for what is none of these. */
bool architecture_parse(const char *text, struct architecture *architecture);

/* The least with PDL. */
enum { ARCHITECTURE_LEAST = 90 };

enum compiler_kind { COMPILER_UNKNOWN, COMPILER_NVCC, COMPILER_CLANG };

/* Whether the name of a file has one of the endings, with blanks between them, such as ".cu .cuh". */
bool command_ends_in(const char *file, const char *list);

/* By the name of its file. */
enum compiler_kind compiler_kind_of(const char *path);

/* What comes before a compiler and starts it, such as ccache, is taken out of a command. */
void command_drop_launchers(struct argv *command);

/* Whether a command compiles a file as CUDA. */
bool command_is_cuda(const struct argv *command, const char *file);

/* A command without its source and without what it writes. */
struct command {
    enum compiler_kind kind;
    struct argv arguments;
    struct architecture newest; /* of those from sm_90 on that it names, else the default */
    bool named;                 /* it names one */
    bool older;                 /* it names others */
    bool unread; /* a response file of foreign words cannot be read: it is not to be run */
};

/* Words of a command, but for so many at its beginning and its end, that are not to name a compiler. */
struct foreign_words {
    size_t before, behind;
};

/* Reads a command whose working directory is `directory` (NULL: the tool's), and opens its response files. What foreign
 * words (NULL: there are none) say of the host compiler is left out, in response files as well. The arguments move to
 * the result. */
void command_read(struct command *command, enum compiler_kind kind, struct argv *arguments,
                  const char *directory, const char *file, const struct foreign_words *foreign);
void command_free(struct command *command);

/* The arguments that have PTX written. */
void command_make(const struct command *command, struct architecture architecture, const char *file,
                  const char *ptx, struct argv *arguments);

#endif /* PDL_TOOLS_LINT_COMMAND_H */
