/* SPDX-License-Identifier: MIT */
/* What a command was given to read: files, directories, standard input. */
#ifndef PDL_TOOLS_INPUT_H
#define PDL_TOOLS_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include <pdl/inspect.h>

/* One input. It was read, or `error` says why not. */
struct input {
    char *name;
    pdl_inspection *inspection;
    pdl_inspect_error error;
    void *owner; /* what `inputs` had when it was read */
};

struct inputs {
    const pdl_inspect_options *options;
    struct input *items;
    size_t count, capacity;
    bool incomplete; /* something could not be read: the exit code is EXIT_USAGE */
    /* Called before something is read, with its name: it may change the options and the owner. NULL: nothing is. */
    void (*prepare)(struct inputs *inputs, const char *name);
    void *context, *owner;
};

/* Reads what an argument names, which may be many files, and says on standard error what cannot be
 * read. */
void inputs_read(struct inputs *inputs, const char *argument);
/* Likewise what is in memory, under a name. */
void inputs_read_memory(struct inputs *inputs, const char *name, const void *bytes, size_t size);
/* Adds one that could not be read, and says so. */
void inputs_add_failed(struct inputs *inputs, const char *name, const char *why);
void inputs_free(struct inputs *inputs);

/* Whether these are the first bytes of a container of device code: an ELF file, an archive, a fatbin. */
bool input_is_container(const void *bytes, size_t size);

/* "sm_90a" for code, "compute_90a" for PTX; the caller frees it. */
char *target_name(const pdl_inspect_image *image);

/* "yes", "no" or "unknown". */
const char *known_name(uint32_t known);
/* What its code says of a kernel's launches, such as "256 threads, cluster 4x1x1"; "-" for nothing. The caller frees
 * it. */
char *bounds_text(const pdl_kernel_info *info);

#endif /* PDL_TOOLS_INPUT_H */
