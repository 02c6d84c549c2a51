/* SPDX-License-Identifier: MIT */
/* Reading the JSON file of a chain: values that are checked, and complaints that say where. */
#ifndef PDL_TOOLS_TUNE_READ_H
#define PDL_TOOLS_TUNE_READ_H

#include <stdint.h>

#include <jansson.h>

#include "tune/chain.h"

enum { WHERE_SIZE = 200 };

/* What is being read. */
struct reader {
    const char *path;
    char *directory; /* of the file: paths in it are relative to it */
    struct chain *chain;
    struct tune_job *job;
};

/* A line on standard error: the file, where in it ("links[2].args[0]", or ""), and what. Returns false,
 * as all of these do after a complaint. */
__attribute__((format(printf, 3, 4))) bool complain(const struct reader *reader, const char *where,
                                                    const char *format, ...);

/* Whether it is an object, and has only keys of that list, which NULL ends. */
bool check_keys(const struct reader *reader, const char *where, json_t *object,
                const char *const *known);

bool read_integer(const struct reader *reader, const char *where, const char *key,
                  const json_t *value, int64_t least, int64_t most, int64_t *to);
/* A number, or up to three in an array. What is not given is 1. */
bool read_shape(const struct reader *reader, const char *where, const char *key,
                const json_t *value, unsigned *to);

/* These leave `to` as it is where the key is not there. */
bool get_integer(const struct reader *reader, const char *where, const json_t *object,
                 const char *key, int64_t least, int64_t most, int64_t *to);
bool get_flag(const struct reader *reader, const char *where, const json_t *object, const char *key,
              bool *to);
bool get_text(const struct reader *reader, const char *where, const json_t *object, const char *key,
              const char **to);

/* A path that was given in the file; the caller frees it. */
char *resolve(const struct reader *reader, const char *path);
/* The whole of a file and a 0 behind it; NULL after a complaint. */
void *read_file(const struct reader *reader, const char *where, const char *path, size_t *size);

/* Reads "buffers". tune_buffers.c. */
bool read_buffers(const struct reader *reader, json_t *given);

#endif /* PDL_TOOLS_TUNE_READ_H */
