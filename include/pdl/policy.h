/* SPDX-License-Identifier: MIT */
/** @file
 * Policies of the process: which of the launches that ask for overlap get it.
 *
 * A policy only removes overlaps; safety is decided before (::pdl_reason). It applies to launches,
 * nodes of graphs and chains that are made after it is set. `docs/overlap.md` describes the
 * policies.
 *
 * The environment has equivalents, read once, which override the program: an overlap that they
 * remove stays removed.
 * - `PDL_OVERLAP=0` is `off`, and `PDL_OVERLAP=capture` is `capture_only`.
 * - `PDL_OVERLAP_EXCLUDE=PATTERN[:PATTERN...]` adds to `exclude`.
 *
 * The last one is ignored in a program that has more rights than its user.
 */
#ifndef PDL_POLICY_H
#define PDL_POLICY_H

#include <pdl/pdl.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The policy for pdl_policy_set(). Start from PDL_POLICY_INIT, an empty policy. */
typedef struct pdl_policy {
    uint32_t size; /**< sizeof(pdl_policy) as the caller was compiled. */
    /** 1: nothing overlaps (PDL_REASON_DISABLED), as with `PDL_OVERLAP=0`: for debugging at run
     * time. A chain or graph that is built keeps its edges until it is built again. */
    uint32_t off;
    /** 1: only launches that a stream captures into a graph overlap, and nodes and chains
     * (PDL_REASON_NOT_CAPTURING). PDL_OVERLAP_REQUIRE fails elsewhere. Asks the driver
     * (cuStreamIsCapturing) at each launch that could overlap. */
    uint32_t capture_only;
    /** The kernels that never overlap (PDL_REASON_EXCLUDED): patterns of fnmatch(3), separated by
     * colons; NULL for none. A pattern is compared with the kernel's whole name and, for a mangled
     * C++ name, with the function's own: `fc2` matches `_ZN2nn3fc2EPKf`. `pdltool tune` prints
     * the kernels that are slower with overlap in this form. */
    const char *exclude;
} pdl_policy;

/** Initializer of a pdl_policy. */
#define PDL_POLICY_INIT PDL_SIZED_INIT_(pdl_policy)

/**
 * Sets the policy of the process and replaces the previous one. NULL: none.
 *
 * The strings are copied. A policy that is replaced keeps its memory, because launches of other
 * threads may be reading it: call this when the program starts, not for each launch. Thread-safe.
 * On failure the policy stays what it was.
 * Errors: PDL_ERROR_DESC_SIZE, PDL_ERROR_DESC_TOO_NEW, PDL_ERROR_DESC_FIELD,
 * PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_policy_set(const pdl_policy *policy);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* PDL_POLICY_H */
