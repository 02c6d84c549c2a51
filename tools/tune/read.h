/* SPDX-License-Identifier: MIT */
/* Reading the JSON file of a chain: values that are checked, and complaints that say where. */
#ifndef PDL_TOOLS_TUNE_READ_H
#define PDL_TOOLS_TUNE_READ_H

#include <stdint.h>

#include <jansson.h>

#include "tune/tune.h"

enum { WHERE_SIZE = 200 };

/* What is being read. */
struct reader {
    const char *path;
    char *directory; /* of the file: paths in it are relative to it */
    struct tune_chain *chain;
};

/* A line on standard error: the file, where in it ("links[2].args[0]", or ""), and what. Returns false,
 * as all of these do after a complaint. */
__attribute__((format(printf, 3, 4))) bool complain(const struct reader *reader, const char *where,
                                                    const char *format, ...);

/* A key of an object. What `to` points to stays as it is where the key is not there. */
struct field {
    const char *key; /* NULL: the end of the list */
    enum {
        FIELD_WHOLE, /* int64_t, from `least` to `most` */
        FIELD_FLAG,  /* bool */
        FIELD_TEXT,  /* const char * */
        FIELD_ANY,   /* const json_t * */
    } type;
    void *to;
    bool required;
    int64_t least, most;
};
/* Reads an object, which has no other keys: one that means nothing is a mistake, most likely in its spelling. */
bool read_fields(const struct reader *reader, const char *where, const json_t *object,
                 const struct field *fields);

bool read_whole(const struct reader *reader, const char *where, const char *key,
                const json_t *value, int64_t least, int64_t most, int64_t *to);

/* A path that was given in the file; the caller frees it. */
char *resolve(const struct reader *reader, const char *path);
/* The whole of a file and a 0 behind it; NULL after a complaint. */
void *read_file(const struct reader *reader, const char *where, const char *path, size_t *size);

/* Reads "buffers" and fills them on the device. buffers.c. */
bool read_buffers(const struct reader *reader, const json_t *given);

/* Loads the kernels of all choices from the files of "images" and, unless it is NULL, of "faulty". code.c. */
bool read_code(const struct reader *reader, const json_t *images, const json_t *faulty);

#endif /* PDL_TOOLS_TUNE_READ_H */
