/* SPDX-License-Identifier: MIT */
/* A chain that somebody has described: what tune_file.c reads and tune_chain.c runs. */
#ifndef PDL_TOOLS_TUNE_CHAIN_H
#define PDL_TOOLS_TUNE_CHAIN_H

#include <stdint.h>

#include <cuda.h>

#include "tune/tune.h"

struct chain_buffer {
    char *name;
    size_t bytes;
    unsigned char *fill; /* what it is filled with, on the host */
    bool constant;       /* no kernel writes it: filled once */
    CUdeviceptr memory;
};

/* The code for one trigger: a file's, or compiled from the source, plainly and with faults injected. */
enum { CHAIN_PLAIN, CHAIN_FAULTY, CHAIN_CODES };
struct chain_variant {
    int trigger;
    unsigned char *image; /* NULL where there is a source */
    size_t size;
    struct pdl_rtc_image *compiled[CHAIN_CODES]; /* NULL without one */
};

/* What all choices of a kind have in common; the choices are the job's, in the same order. */
struct chain_kind {
    char *kernel;
    unsigned block[3], cluster[3]; /* cluster: 0 for none */
    uint32_t shared;
    int carveout; /* -1: not given */
    bool overlap;
    pdl_kernel *(
        *kernels)[CHAIN_CODES]; /* of each variant; NULL for what is not there or not used */
};

/* A number, or an address that is known once there is memory. */
struct chain_value {
    unsigned char bytes[8];
    size_t size;           /* and alignment */
    size_t buffer, offset; /* SIZE_MAX for a number */
};

/* A value, or the members of a struct. */
struct chain_argument {
    struct chain_value *items;
    size_t count;
};

struct chain_link {
    size_t kind;
    struct chain_argument *items;
    size_t count;
    void **args;
    size_t *sizes;
};

#define CHAIN_LIST(type)                                                                           \
    struct {                                                                                       \
        struct type *items;                                                                        \
        size_t count, capacity;                                                                    \
    }
struct chain {
    CHAIN_LIST(chain_buffer) buffers;
    CHAIN_LIST(chain_variant) variants;
    CHAIN_LIST(chain_kind) kinds;
    CHAIN_LIST(chain_link) links;
    size_t repeat;
    const struct tune_job *job;
};

/* Takes memory, fills it, completes the arguments and loads the kernels. False with the reason. */
bool chain_load(struct chain *chain, struct tune_job *job, char **why);
/* The callbacks of the job: the kinds' choices are there already. */
void chain_make_job(struct chain *chain, struct tune_job *job);
void chain_free(struct chain *chain);

#endif /* PDL_TOOLS_TUNE_CHAIN_H */
