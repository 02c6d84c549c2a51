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
 * - `PDL_OVERLAP=capture` is `capture_only`.
 * - `PDL_OVERLAP_EXCLUDE=PATTERN[:PATTERN...]` adds to `exclude`.
 * - `PDL_TUNED=FILE` replaces `tuned` and sets `tuned_auto`. A file that cannot be read is reported
 *   on standard error, once, and ignored.
 *
 * The last two are ignored in a program that has more rights than its user.
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
    /** 1: only launches that a stream captures into a graph overlap, and nodes and chains, as if
     * all descriptors had PDL_OVERLAP_CAPTURE. PDL_OVERLAP_REQUIRE fails elsewhere. */
    uint32_t capture_only;
    /** The kernels that never overlap (PDL_REASON_EXCLUDED): patterns of fnmatch(3), separated by
     * colons; NULL for none. A pattern is compared with the kernel's whole name and, for a mangled
     * C++ name, with the function's own: `fc2` matches `_ZN2nn3fc2EPKf`. */
    const char *exclude;
    /** The path of a file of `pdltool tune --save`, read now; NULL for none. It decides for
     * descriptors with PDL_OVERLAP_TUNED. */
    const char *tuned;
    /** 1: the file decides for PDL_OVERLAP_AUTO and PDL_OVERLAP_CAPTURE too. It never decides for
     * PDL_OVERLAP_REQUIRE. */
    uint32_t tuned_auto;
    uint32_t reserved; /**< Zero. */
} pdl_policy;

/** Initializer of a pdl_policy. */
#define PDL_POLICY_INIT PDL_SIZED_INIT_(pdl_policy)

/**
 * Sets the policy of the process and replaces the previous one. NULL: none.
 *
 * The strings are copied. A policy that is replaced keeps its memory, because launches of other
 * threads may be reading it: call this when the program starts, not for each launch. Thread-safe.
 * On failure the policy stays what it was.
 * Errors: PDL_ERROR_DESC_SIZE, PDL_ERROR_DESC_TOO_NEW, PDL_ERROR_DESC_FIELD, PDL_ERROR_FILE (with
 * the line of the tuned file that cannot be read), PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_policy_set(const pdl_policy *policy);

/** The measurement of a kernel, from pdl_tuned_find(). Start from PDL_TUNED_INIT. */
typedef struct pdl_tuned {
    uint32_t size;        /**< sizeof(pdl_tuned) as the caller was compiled. */
    uint32_t line;        /**< Its line in the tuned file, from 1; 0: none. */
    uint32_t overlap;     /**< A pdl_known: whether the overlap is faster. */
    uint32_t has_trigger; /**< 1 if `trigger` was measured. */
    int32_t trigger;      /**< The trigger position, for PDL_TRIGGER_SELECT; -1: none. */
    uint32_t reserved;    /**< Zero. */
    double gain;          /**< The time without overlap divided by the time with it; 0: unknown. */
} pdl_tuned;

/** Initializer of a pdl_tuned. */
#define PDL_TUNED_INIT PDL_SIZED_INIT_(pdl_tuned)

/**
 * Looks up a kernel and a shape in the active tuned file (`tuned`, or `PDL_TUNED`).
 *
 * For choices made before a launch, such as the trigger that the kernel is compiled for. A missing
 * file or line is not an error. Needs no driver. Thread-safe.
 * @param kernel the name as in pdl_kernel_info, mangled or plain
 * @param grid blocks, @param block threads: x, y and z, where 0 means 1
 * Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_DESC_SIZE.
 */
PDL_API pdl_status pdl_tuned_find(const char *kernel, const uint32_t grid[3],
                                  const uint32_t block[3], pdl_tuned *result);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* PDL_POLICY_H */
