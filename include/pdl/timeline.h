/* SPDX-License-Identifier: MIT */
/** @file
 * Timelines: when each block of some kernels started, waited, triggered and ended, and on which SM; as
 * numbers, as text, as a picture and as a trace file.
 *
 * A pdl_timeline is filled from a device's stamps (pdl/trace.h) or by hand; `pdltool sim` fills it
 * from its model. Part of libpdl-trace; needs neither driver nor device. Times are nanoseconds on one
 * axis, whose zero is the caller's choice.
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

/** Launches and their blocks. Not for several threads at once while it is filled. */
typedef struct pdl_timeline pdl_timeline;

/** A stamp that was not taken: the kernel does not wait, or does not trigger. */
#define PDL_TIMELINE_NONE INT64_MIN

/** One block of a launch. Has no size: it never changes. */
typedef struct pdl_timeline_block {
    uint32_t launch;      /**< Index of its launch. */
    uint32_t block;       /**< Linear index in the grid. */
    uint32_t sm;          /**< The SM that it ran on. */
    uint32_t reserved;    /**< 0. */
    int64_t start_ns;     /**< Its first instruction. */
    int64_t wait_ns;      /**< Where it began to wait, or PDL_TIMELINE_NONE. */
    int64_t waited_ns;    /**< Where its wait returned, or PDL_TIMELINE_NONE. */
    int64_t triggered_ns; /**< Where it let dependents launch, or PDL_TIMELINE_NONE. */
    int64_t end_ns;       /**< Its last instruction. */
} pdl_timeline_block;

/** Makes an empty timeline. Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_OUT_OF_MEMORY. */
PDL_API pdl_status pdl_timeline_create(pdl_timeline **timeline);

/** Frees it. NULL is ignored. */
PDL_API void pdl_timeline_destroy(pdl_timeline *timeline);

/**
 * Adds a launch.
 *
 * @param kernel its name; launches of one name get one colour. Copied
 * @param track what it is drawn under, a stream's name or a way's ("stream", "with PDL"): launches
 * of one track share one time axis, and their gaps and overlaps are told. Copied; NULL: ""
 * @param[out] launch its index, from 0
 * Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_timeline_add_launch(pdl_timeline *timeline, const char *kernel,
                                           const char *track, uint32_t *launch);

/** Adds a block, in any order. Errors: PDL_ERROR_INVALID_ARGUMENT (no such launch, an end before its
 * start, a stamp outside of both), PDL_ERROR_OUT_OF_MEMORY. */
PDL_API pdl_status pdl_timeline_add_block(pdl_timeline *timeline, const pdl_timeline_block *block);

/** Says that stamps were lost: the outputs tell so. */
PDL_API void pdl_timeline_add_lost(pdl_timeline *timeline, uint64_t blocks);

/** Says a sentence in every output, once however often it is given: what the times are of, what went
 * wrong with them. Copied. Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_OUT_OF_MEMORY. */
PDL_API pdl_status pdl_timeline_add_note(pdl_timeline *timeline, const char *note);

/** What a timeline comes to, of one track or of all. Start from PDL_TIMELINE_SUMMARY_INIT. */
typedef struct pdl_timeline_summary {
    uint32_t size;        /**< sizeof(pdl_timeline_summary) as the caller was compiled. */
    uint32_t launches;    /**< With blocks. */
    uint64_t blocks;      /**< All. */
    uint64_t lost;        /**< Blocks whose stamps were lost. */
    int64_t span_ns;      /**< From the first start to the last end. */
    int64_t busy_ns;      /**< The union of all blocks' times: some block ran. */
    int64_t summed_ns;    /**< The launches' own spans, added: what summing durations would say. */
    int64_t overlap_ns;   /**< Two launches or more had blocks running. */
    int64_t gap_ns;       /**< Between launches, no block ran: exposed launch latency. */
    int64_t blocked_ns;   /**< In waits, the mean of a block, added over the launches. */
    double overlap_share; /**< overlap_ns / span_ns. */
    double sm_share;      /**< Of all SMs' time in the span, the share in which a block ran. */
} pdl_timeline_summary;

/** Initializer of a pdl_timeline_summary. */
#define PDL_TIMELINE_SUMMARY_INIT PDL_SIZED_INIT_(pdl_timeline_summary)

/** Tells what it comes to. @param track NULL: all of them. Errors: PDL_ERROR_INVALID_ARGUMENT,
 * PDL_ERROR_DESC_SIZE, PDL_ERROR_NOT_FOUND (no such track), PDL_ERROR_OUT_OF_MEMORY. */
PDL_API pdl_status pdl_timeline_summarize(const pdl_timeline *timeline, const char *track,
                                          pdl_timeline_summary *summary);

/** Forms of output. */
typedef enum pdl_timeline_format {
    /** The summary and a line a launch (of a long list the first and the last), and a picture of
     * characters in UTF-8, as wide as `columns`. */
    PDL_TIMELINE_TEXT = 1,
    /** A picture: a row an SM, time from left to right, a colour a kernel, waits hatched, a mark at
     * each trigger; tracks below another on one axis. Light and dark by the viewer's preference. */
    PDL_TIMELINE_SVG = 2,
    /** Trace Event Format, as Perfetto and chrome://tracing read it. */
    PDL_TIMELINE_TRACE = 3
} pdl_timeline_format;

/**
 * Writes it to a file.
 *
 * @param path "-" is standard output
 * @param columns of text, 40 to 400; 0: 80. Of no account to the other forms
 * Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_FILE, PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_timeline_write(const pdl_timeline *timeline, pdl_timeline_format format,
                                      const char *path, uint32_t columns);

struct pdl_chain;

/**
 * Writes a chain (pdl/chain.h) as a description from which `pdltool sim` predicts its timeline: each
 * link's kernel with its grid, block, registers and shared memory, and how it depends on others.
 *
 * How long the kernels' phases take is not known: it is 1 us each before the wait, before the trigger
 * and after it, to be replaced by what was measured. The file is text, and kernels' names are made
 * one word.
 * @param path the file, which is replaced; "-" is standard output
 * Errors: PDL_ERROR_INVALID_ARGUMENT (no path, or a chain without links), PDL_ERROR_FILE,
 * PDL_ERROR_OUT_OF_MEMORY, those of pdl_chain_explain() and pdl_kernel_get().
 */
PDL_API pdl_status pdl_chain_describe(struct pdl_chain *chain, const char *path);

#ifdef __cplusplus
}
#endif

#endif /* PDL_TIMELINE_H */
