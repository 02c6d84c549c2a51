/* SPDX-License-Identifier: MIT */
/** @file
 * Whether one launch can overlap the kernel before, and why not: every condition with its numbers.
 *
 * Part of libpdl. pdl_launch_explain() reports whether a launch gets the attribute. This has the same
 * answer to that, also by switches and policies, and considers the kernel before: whether it
 * triggers, and whether an SM has room for blocks of both. `pdltool overlap` reports the same without a device. docs/overlap.md explains the model.
 */
#ifndef PDL_OVERLAP_H
#define PDL_OVERLAP_H

#include <stdint.h>

#include <pdl/pdl.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The list of conditions: X(name, value, id, text). Values are never reused.
 *
 * Those from PDL_CONDITION_THREADS to PDL_CONDITION_BARRIERS are resources of an SM.
 */
#define PDL_CONDITION_LIST(X)                                                                      \
    X(PDL_CONDITION_DEVICE, 1, "device", "the device is of compute capability 9.0 or newer")       \
    X(PDL_CONDITION_ENVIRONMENT, 2, "environment", "overlap is on for the process")                \
    X(PDL_CONDITION_ATTRIBUTE, 3, "attribute",                                                     \
      "the secondary asks for the overlap and is granted it")                                      \
    X(PDL_CONDITION_STREAM, 4, "stream", "both are launched into the same stream")                 \
    X(PDL_CONDITION_SECONDARY_CODE, 5, "secondary-code",                                           \
      "the secondary is compiled for 9.0 or newer")                                                \
    X(PDL_CONDITION_WAITS, 6, "waits", "the secondary waits")                                      \
    X(PDL_CONDITION_COOPERATIVE, 7, "cooperative", "the secondary is not cooperative")             \
    X(PDL_CONDITION_PRIMARY_CODE, 8, "primary-code", "the primary is compiled for 9.0 or newer")   \
    X(PDL_CONDITION_TRIGGERS, 9, "triggers", "the primary triggers before it ends")                \
    X(PDL_CONDITION_CLUSTER, 10, "cluster", "no blocks have to be placed together in clusters")    \
    X(PDL_CONDITION_THREADS, 11, "threads", "threads and warps suffice for both")                  \
    X(PDL_CONDITION_REGISTERS, 12, "registers", "registers suffice for both")                      \
    X(PDL_CONDITION_SHARED_MEMORY, 13, "shared-memory", "shared memory suffices for both")         \
    X(PDL_CONDITION_BLOCKS, 14, "blocks", "the block slots of an SM suffice for both")             \
    X(PDL_CONDITION_BARRIERS, 15, "barriers", "barriers suffice for both")                         \
    X(PDL_CONDITION_CARVEOUT, 16, "carveout", "one size of the SM's shared memory suits both")     \
    X(PDL_CONDITION_OCCUPANCY, 17, "occupancy", "the driver's count of a kernel's blocks agrees")

/** A condition of the overlap. See ::PDL_CONDITION_LIST. */
typedef enum pdl_condition {
#define PDL_CONDITION_ENUMERATOR_(name, value, id, text) name = value,
    PDL_CONDITION_LIST(PDL_CONDITION_ENUMERATOR_)
#undef PDL_CONDITION_ENUMERATOR_
        PDL_CONDITION_FORCE_32_BITS_ = 0x7fffffff /* not a condition */
} pdl_condition;

/**
 * A condition's id, such as "registers"; "unknown" for an unknown number. Static.
 */
PDL_API const char *pdl_condition_name(pdl_condition condition);

/** The result of a condition. */
typedef struct pdl_condition_report {
    uint32_t condition; /**< A pdl_condition. */
    uint32_t met;       /**< A pdl_known: met, not met, or unknown. */
    char message[248];  /**< Why, a sentence with the numbers and without a full stop. */
} pdl_condition_report;

/** "There is no such value": the kernel cannot be made small enough, or does not have to be. */
#define PDL_OVERLAP_NO_VALUE (-1)

/**
 * One resource of an SM, in its own unit: threads, registers, bytes, blocks, barriers.
 *
 * The use of a block is rounded as in allocation: threads to warps, registers per warp to 256,
 * bytes to 128 including CUDA's reservation.
 */
typedef struct pdl_resource_report {
    uint32_t condition;       /**< PDL_CONDITION_THREADS to PDL_CONDITION_BARRIERS. */
    uint32_t known;           /**< 1; 0 if the numbers of this resource are unknown. */
    uint32_t capacity;        /**< The total of the SM. */
    uint32_t primary_block;   /**< The use of a block of the primary. */
    uint32_t secondary_block; /**< The use of a block of the secondary. */
    uint32_t left;            /**< Free on the SM with the most blocks of the primary. */
    /** Blocks of the secondary that certainly fit, by this resource alone; UINT32_MAX: it uses none
     * of it. */
    uint32_t fit;
    uint32_t may_fit; /**< The same for the best arrangement of warps in the SM's partitions. */
    /** For one more block than `fit`, the maximum for the secondary: registers per thread, threads
     * per block, bytes of static and dynamic shared memory per block. PDL_OVERLAP_NO_VALUE: none.
     * */
    int32_t secondary_at_most;
    /** The same for the primary, with the same number of blocks on the SM. */
    int32_t primary_at_most;
} pdl_resource_report;

/** Room for conditions in a report. */
#define PDL_OVERLAP_CONDITIONS 24
/** Room for resources in a report. */
#define PDL_OVERLAP_RESOURCES 8

/** The report of pdl_overlap_query(). Start from PDL_OVERLAP_REPORT_INIT. */
typedef struct pdl_overlap_report {
    uint32_t size;  /**< sizeof(pdl_overlap_report) as the caller was compiled. */
    int32_t device; /**< Where both would run; -1 if not a device of this machine. */
    /** A pdl_known: blocks of the secondary start while all blocks of the primary's last wave still
     * run on their SM, or on SMs without one. PDL_NO: they start at the earliest as those end. */
    uint32_t overlap;
    /** A pdl_known: the secondary's launch can be prepared while the primary runs, which hides most
     * of its latency also where no blocks overlap. */
    uint32_t early_launch;
    /** SMs that the streams run on: the device's, or fewer in a green context (driver 12.4 or
     * newer); the smaller number if the streams have two contexts. */
    uint32_t sms;
    uint32_t primary_per_sm;    /**< Blocks of the primary that an SM holds at a time. */
    uint32_t secondary_per_sm;  /**< The same for the secondary. */
    uint32_t primary_waves;     /**< How often the primary fills the device, including the last
                                     time. */
    uint64_t primary_blocks;    /**< Its grid. */
    uint64_t secondary_blocks;  /**< Its grid. */
    uint64_t last_wave;         /**< Blocks of the primary in its last wave. */
    uint32_t most_on_sm;        /**< The maximum of these on one SM. */
    uint32_t sms_with_most;     /**< How many SMs have that many. */
    uint32_t fewest_on_sm;      /**< On the others: one less, or the same if there are no others. */
    uint32_t idle_sms;          /**< SMs without a block of the primary in its last wave. */
    uint32_t fit_beside_most;   /**< Blocks of the secondary that certainly fit beside these. */
    uint32_t fit_beside_fewest; /**< The same beside `fewest_on_sm`. */
    uint64_t fit_total;         /**< On all SMs together, at most its grid. */
    uint32_t first_out;         /**< The pdl_condition of the resource that runs out first. */
    uint32_t condition_count;   /**< How many `conditions`. */
    uint32_t resource_count;    /**< How many `resources`. */
    /** As `fit_beside_most`, for the best arrangement of warps in the SM's partitions. */
    uint32_t may_fit_beside_most;
    uint32_t may_fit_beside_fewest;                          /**< As `fit_beside_fewest`. */
    uint32_t reserved;                                       /**< 0. */
    pdl_condition_report conditions[PDL_OVERLAP_CONDITIONS]; /**< In the order of the list. */
    pdl_resource_report resources[PDL_OVERLAP_RESOURCES];    /**< In the order of the list. */
    char message[400];                                       /**< The answer as a sentence. */
} pdl_overlap_report;

/** Initializer of a pdl_overlap_report. */
#define PDL_OVERLAP_REPORT_INIT PDL_SIZED_INIT_(pdl_overlap_report)

/**
 * Reports whether a launch would overlap the kernel before, without launching.
 *
 * The report is about the time in which the primary's whole last wave runs, assuming that its
 * blocks run equally long. If some end earlier, blocks of the secondary replace them even if there
 * was no room before; then only the primary's tail is hidden.
 *
 * The secondary's descriptor is the one with `overlap`. PDL_OVERLAP_REQUIRE counts as
 * PDL_OVERLAP_AUTO here: an impossible overlap is an answer, not an error. If it is unknown
 * whether the secondary waits, it does not overlap, and the answer is PDL_NO. The primary must be
 * the secondary's immediate predecessor in the stream.
 *
 * Needs a current context as pdl_launch() and pdl_kernel_get() do. Maps to
 * cuOccupancyMaxActiveBlocksPerMultiprocessor, and at the first query of a kernel to the calls of
 * pdl_kernel_get(). It takes microseconds, so do not call it for each launch.
 * @param device the ordinal, or -1 for the one that the secondary would run on
 * @param[in,out] report filled on success
 * Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_DESC_SIZE; those of pdl_kernel_get(); those of
 * pdl_launch() that need no launch, for either descriptor.
 */
PDL_API pdl_status pdl_overlap_query(pdl_kernel *primary, const pdl_launch_desc *primary_desc,
                                     pdl_kernel *secondary, const pdl_launch_desc *secondary_desc,
                                     int device, pdl_overlap_report *report);

#ifdef __cplusplus
}
#endif

#endif /* PDL_OVERLAP_H */
