/* SPDX-License-Identifier: MIT */
/* What libpdl-inspect proves of a kernel's code: PDL_OVERLAP_PROOF, and strict mode, PDL_OVERLAP_STRICT=1. Looked at
 * when a kernel is made, or when the code of its symbol is first looked for: by its first launch at the latest. */
#ifndef PDL_LIB_PROOF_H
#define PDL_LIB_PROOF_H

#include <stdbool.h>
#include <stddef.h>

#include <pdl/pdl.h>

/* What is proved of a kernel's code on a device. Of two the least holds, but for a race, which goes before all. */
enum pdl_proof_state {
    /* Not analysed, and why: */
    PDL_PROOF_STATE_NOT_ASKED, /* its code is not known, or does not wait */
    PDL_PROOF_STATE_OFF,
    PDL_PROOF_STATE_NO_LIBRARY, /* pdl_proof_load() says why */
    PDL_PROOF_STATE_BUDGET,
    PDL_PROOF_STATE_UNREAD, /* libpdl-inspect cannot read the image, or has no memory */
    PDL_PROOF_STATE_NOT_PROVED,
    PDL_PROOF_STATE_PROVED,
    PDL_PROOF_STATE_RACE
};

/* The answer about one kernel. All zero but for `state` where nothing was analysed. */
struct pdl_proof_answer {
    enum pdl_proof_state state;
    pdl_known shown;        /* as pdl_inspection_shown() has it */
    pdl_known waits_always; /* on every path to an exit */
    char race[256];         /* rule, place and remedy of a race, a clause; else "" */
};

/* The first call reads the environment. In strict mode it also loads libpdl-inspect, or says on stderr why it cannot. */
bool pdl_proof_is_strict(void);

/* Whether kernels are analysed: always in strict mode. */
bool pdl_proof_is_on(void);

/* Loads libpdl-inspect, for which neither mode need be on: NULL, or why that fails. */
const char *pdl_proof_load(void);

/* A call of libpdl-inspect by its name; NULL if it cannot be loaded. */
void *pdl_proof_symbol(const char *name);

/* A clause for messages: what is proved of a kernel, or why nothing is. `race` is that of the answer. */
const char *pdl_proof_string(enum pdl_proof_state state, const char *race);

/* The same for a decision that depends on it, and what goes before it; else "". A declaration stands above a proof. */
const char *pdl_proof_clause(enum pdl_proof_state state, const char *race, pdl_reason reason,
                             bool declared, const char **between);

/* The public form of it. */
pdl_proof pdl_proof_public(enum pdl_proof_state state);

/* An image: PTX text, a cubin, or the first fatbin in memory, compressed or not. */
struct pdl_proof_image {
    const void *bytes;
    size_t size;
    /* Not 0: memory that does not change as long as this number is the same, where the address tells the image. */
    unsigned long long stamp;
    uint64_t hash; /* of the bytes; 0: not known */
};

/* Analyses an image for a device whose compute capability is 90 for 9.0, and finds the kernel in it. An image is
 * analysed once per process and capability, without a lock; two threads may both do it. Above the budget nothing is
 * proved, unless it is `unlimited`. */
struct pdl_proof_answer pdl_proof_look(const struct pdl_proof_image *image, const char *name,
                                       uint32_t capability, bool unlimited);

/* The same, if proofs are on, for a kernel that waits; of one that does not it is known. */
struct pdl_proof_answer pdl_proof_of(const struct pdl_proof_image *image, const char *name,
                                     uint32_t capability, pdl_known waits, bool unlimited);

/* What libpdl-inspect shows of a kernel, see pdl_inspection_shown(): PDL_UNKNOWN where it cannot be loaded. */
pdl_known pdl_proof_ask(const void *image, size_t size, const char *name, uint32_t capability,
                        pdl_known *waits_always);

/* What holds of code that may be either. */
struct pdl_proof_answer pdl_proof_both(const struct pdl_proof_answer *a,
                                       const struct pdl_proof_answer *b);

/* Forgets all images. Done when the library is unloaded, too; no other thread may use them. */
void pdl_proof_forget(void);

/* What is used of pdl/inspect.h, which who has libpdl in two files does not have. lib/inspect/shown.c compares. */
struct pdl_inspect_options;
struct pdl_inspection;
struct pdl_inspect_proof;
typedef pdl_status pdl_proof_memory(const void *bytes, size_t size, const char *name,
                                    const struct pdl_inspect_options *options,
                                    struct pdl_inspection **inspection);
typedef void pdl_proof_visit(void *context, const struct pdl_inspect_proof *proof);
typedef pdl_status pdl_proof_each(const struct pdl_inspection *inspection, int32_t capability,
                                  pdl_proof_visit *visit, void *context);
typedef void pdl_proof_destroy(struct pdl_inspection *inspection);
typedef uint32_t pdl_proof_version(void);

/* A pdl_inspect_options, and PDL_INSPECT_NO_SOURCES. */
struct pdl_proof_options {
    uint32_t size;
    uint32_t flags;
    uint64_t other[14];
    uint64_t max_steps;
};
#define PDL_PROOF_NO_SOURCES 2u

/* A pdl_inspect_proof. */
struct pdl_proof_seen {
    uint32_t size;
    uint32_t proof;
    uint32_t shown;
    uint32_t waits_always;
    const char *kernel;
    const char *race;
};

#endif /* PDL_LIB_PROOF_H */
