/* SPDX-License-Identifier: MIT */
/** @file
 * Timelines: when each block of some kernels started, waited, triggered and ended, and on which
 * SM, as numbers, text, a picture or a trace file.
 *
 * A pdl_timeline is filled from a device's stamps (pdl/trace.h) or by the program; `pdltool sim`
 * fills it from its model. Part of libpdl-trace; needs neither driver nor device. Times are
 * nanoseconds on one axis, whose zero is the caller's choice.
 *
 * A struct that begins with its `size` may grow; one without a size never changes.
 */
#ifndef PDL_TIMELINE_H
#define PDL_TIMELINE_H

#include <stdint.h>

#include <pdl/pdl.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Launches and their blocks. Only one thread may use it while it is filled. */
typedef struct pdl_timeline pdl_timeline;

/** A missing stamp: the kernel does not wait, or does not trigger. */
#define PDL_TIMELINE_NONE INT64_MIN

/** One block of a launch. Has no size: it never changes. */
typedef struct pdl_timeline_block {
    uint32_t launch;      /**< Index of its launch. */
    uint32_t block;       /**< Linear index in the grid. */
    uint32_t sm;          /**< The SM that it ran on, 0 to 65,535. */
    uint32_t reserved;    /**< 0. */
    int64_t start_ns;     /**< Its first instruction. */
    int64_t wait_ns;      /**< When it began to wait, or PDL_TIMELINE_NONE. */
    int64_t waited_ns;    /**< When its wait returned, or PDL_TIMELINE_NONE. */
    int64_t triggered_ns; /**< When it triggered, or PDL_TIMELINE_NONE. */
    int64_t end_ns;       /**< Its last instruction. */
} pdl_timeline_block;

/** Makes an empty timeline. Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_OUT_OF_MEMORY. */
PDL_API pdl_status pdl_timeline_create(pdl_timeline **timeline);

/** Frees it. NULL is ignored. */
PDL_API void pdl_timeline_destroy(pdl_timeline *timeline);

/**
 * Adds a launch.
 *
 * @param kernel its name; launches with the same name have the same colour. Copied
 * @param track the name of its stream or launch path ("stream", "with PDL"): launches of one track
 * share one time axis, and their gaps and overlaps are reported. Copied; NULL: ""
 * @param[out] launch its index, from 0
 * Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_timeline_add_launch(pdl_timeline *timeline, const char *kernel,
                                           const char *track, uint32_t *launch);

/** Adds a block, in any order. Errors: PDL_ERROR_INVALID_ARGUMENT (no such launch, an end before its
 * start, a stamp outside of both), PDL_ERROR_OUT_OF_MEMORY. */
PDL_API pdl_status pdl_timeline_add_block(pdl_timeline *timeline, const pdl_timeline_block *block);

/** Records that stamps were lost; the outputs report it. */
PDL_API void pdl_timeline_add_lost(pdl_timeline *timeline, uint64_t blocks);

/** Adds a sentence to every output, once even if added repeatedly: the origin of the times, or a
 * problem with them. Copied. Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_OUT_OF_MEMORY. */
PDL_API pdl_status pdl_timeline_add_note(pdl_timeline *timeline, const char *note);

/** The summary of a timeline, for one track or for all. Start from PDL_TIMELINE_SUMMARY_INIT. */
typedef struct pdl_timeline_summary {
    uint32_t size;        /**< sizeof(pdl_timeline_summary) as the caller was compiled. */
    uint32_t launches;    /**< With blocks. */
    uint64_t blocks;      /**< All. */
    uint64_t lost;        /**< Blocks whose stamps were lost. */
    int64_t span_ns;      /**< From the first start to the last end. */
    int64_t busy_ns;      /**< The union of all blocks' times: at least one block ran. */
    int64_t summed_ns;    /**< The sum of the launches' own spans, which counts overlaps twice. */
    int64_t overlap_ns;   /**< Blocks of at least two launches ran. */
    int64_t gap_ns;       /**< Between launches, no block ran: exposed launch latency. */
    int64_t blocked_ns;   /**< In waits: the mean per block, summed over the launches. */
    double overlap_share; /**< overlap_ns / span_ns. */
    double sm_share;      /**< The share of all SMs' time in the span in which a block ran. */
} pdl_timeline_summary;

/** Initializer of a pdl_timeline_summary. */
#define PDL_TIMELINE_SUMMARY_INIT PDL_SIZED_INIT_(pdl_timeline_summary)

/** Returns the summary. @param track NULL: all of them. Errors: PDL_ERROR_INVALID_ARGUMENT,
 * PDL_ERROR_DESC_SIZE, PDL_ERROR_NOT_FOUND (no such track), PDL_ERROR_OUT_OF_MEMORY. */
PDL_API pdl_status pdl_timeline_summarize(const pdl_timeline *timeline, const char *track,
                                          pdl_timeline_summary *summary);

/** Forms of output. */
typedef enum pdl_timeline_format {
    /** A table with one line per launch, of each track the first 24, and a picture of them of
     * characters in UTF-8, both as wide as `columns`. Two tracks of the same kernels are compared
     * in the first line. */
    PDL_TIMELINE_TEXT = 1,
    /** A picture: one bar per launch, one row per SM, time from left to right, one colour per kernel,
     * waits hatched, a mark at each trigger; tracks below one another on one axis. Launches that are
     * each a single wave of blocks that start and end together have no rows of SMs, and neither have
     * more than 20,000 blocks or 400 SMs. Two tracks of the same kernels are compared in the title.
     * Light and dark by the viewer's preference. */
    PDL_TIMELINE_SVG = 2,
    /** Trace Event Format, for Perfetto and chrome://tracing. */
    PDL_TIMELINE_TRACE = 3
} pdl_timeline_format;

/**
 * Writes it to a file.
 *
 * @param path "-" is standard output
 * @param columns width of the text, 72 to 400; 0: 80. Other formats ignore it
 * Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_FILE, PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_timeline_write(const pdl_timeline *timeline, pdl_timeline_format format,
                                      const char *path, uint32_t columns);

#ifdef __cplusplus
}
#endif

#endif /* PDL_TIMELINE_H */
