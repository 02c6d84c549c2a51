/* SPDX-License-Identifier: MIT */
/* Strict mode, PDL_OVERLAP_STRICT=1: a kernel overlaps only if libpdl-inspect shows, from the code in its image, that
 * it waits on every path before it touches memory. Looked at when a kernel is made, and never by a launch. */
#ifndef PDL_LIB_PROOF_H
#define PDL_LIB_PROOF_H

#include <stdbool.h>
#include <stddef.h>

#include <pdl/pdl.h>

/* What strict mode holds of a kernel. All zero without it. */
struct pdl_strict {
    bool refused;           /* its code does not show it to wait */
    pdl_known waits_always; /* on every path to an exit */
};

/* The first call finds out, and if the mode is on, loads libpdl-inspect, or says on stderr why it cannot. */
bool pdl_strict_is_on(void);

/* Loads libpdl-inspect, for which the mode need not be on: NULL, or why that fails. */
const char *pdl_proof_load(void);

/* A call of libpdl-inspect by its name; NULL if it cannot be loaded, or is too old to have it. */
void *pdl_proof_symbol(const char *name);

/* What libpdl-inspect shows of a kernel, see pdl_inspection_shown(): PDL_UNKNOWN where it cannot be loaded. */
pdl_known pdl_proof_ask(const void *image, size_t size, const char *name, uint32_t capability,
                        pdl_known *waits_always);

/* What an image (PTX text, cubin, or the first fatbin in memory, compressed or not) shows of a kernel on a device whose
 * compute capability is 90 for 9.0; see pdl_inspection_shown(). */
struct pdl_strict pdl_proof_look(const void *image, size_t size, const char *name,
                                 uint32_t capability);

/* What holds of code that may be either. */
static inline struct pdl_strict pdl_strict_both(struct pdl_strict a, struct pdl_strict b)
{
    return (struct pdl_strict){
        .refused = a.refused || b.refused,
        .waits_always = a.waits_always < b.waits_always ? a.waits_always : b.waits_always,
    };
}

/* What is used of pdl/inspect.h, which who has libpdl in two files does not have. lib/inspect/shown.c compares. */
struct pdl_inspect_options;
struct pdl_inspection;
typedef pdl_status pdl_proof_memory(const void *bytes, size_t size, const char *name,
                                    const struct pdl_inspect_options *options,
                                    struct pdl_inspection **inspection);
typedef pdl_known pdl_proof_shown(const struct pdl_inspection *inspection, const char *kernel,
                                  int32_t capability, pdl_known *waits_always);
typedef void pdl_proof_destroy(struct pdl_inspection *inspection);

/* The beginning of a pdl_inspect_options, and PDL_INSPECT_NO_SOURCES. */
struct pdl_proof_options {
    uint32_t size;
    uint32_t flags;
};
#define PDL_PROOF_NO_SOURCES 2u

#endif /* PDL_LIB_PROOF_H */
