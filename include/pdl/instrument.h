/* SPDX-License-Identifier: MIT */
/** @file
 * libpdl-inspect: puts the wait into kernels that were written without it.
 *
 * PTX text in, PTX text out. A kernel that waits before it touches memory can be launched with
 * overlap and keeps its results; docs/instrument.md states the conditions. Everything else in the
 * text stays byte for byte. It needs no driver, no device and no other part of CUDA, and starts no
 * process. `pdltool instrument` uses it.
 *
 * All structs here begin with `size`, and may grow at their end in later versions; see pdl/pdl.h.
 */
#ifndef PDL_INSTRUMENT_H
#define PDL_INSTRUMENT_H

#include <pdl/inspect.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where the wait goes. Every thread executes it once, on every path. */
typedef enum pdl_instrument_wait {
    /** Before the first instruction that does more than compute in registers, read kernel
     * parameters and branch. */
    PDL_INSTRUMENT_ENTRY = 0,
    /** Before the first instruction that may touch global memory or has an unknown effect. Work on
     * shared memory and barriers, and reads through constant parameters, stay before the wait. */
    PDL_INSTRUMENT_HOIST = 1
} pdl_instrument_wait;

/** Where the trigger goes. A kernel that triggers already gets none. */
typedef enum pdl_instrument_trigger {
    PDL_INSTRUMENT_NO_TRIGGER = 0,   /**< The end of the kernel is its trigger. */
    PDL_INSTRUMENT_TRIGGER_WAIT = 1, /**< Right after the wait. */
    /** After the last read of global memory, outside of loops. There is none if that is the
     * kernel's end. */
    PDL_INSTRUMENT_TRIGGER_LAST_READ = 2,
    /** This and N more: at point N of those that the kernel has, from 0. Point 0 is right after the
     * wait. Then comes the start of each part of the kernel that every thread reaches unless it
     * leaves before, outside of loops. The last point is after the last read. A kernel with fewer
     * points has the trigger at its last one. */
    PDL_INSTRUMENT_TRIGGER_POINT = 16
} pdl_instrument_trigger;

/** N is at most this. */
#define PDL_INSTRUMENT_POINT_MAX 1023

/** Raise a target from sm_70 to sm_89, without a suffix, to sm_90, and PTX 6.4 to 7.7 to 7.8. */
#define PDL_INSTRUMENT_RAISE_TARGET 1u

/** Options of pdl_instrument(). Start from PDL_INSTRUMENT_OPTIONS_INIT. */
typedef struct pdl_instrument_options {
    uint32_t size;   /**< sizeof(pdl_instrument_options) as the caller was compiled. */
    uint32_t flags;  /**< PDL_INSTRUMENT_RAISE_TARGET and its like, or 0. */
    int32_t wait;    /**< pdl_instrument_wait. */
    int32_t trigger; /**< pdl_instrument_trigger, or PDL_INSTRUMENT_TRIGGER_POINT + N. */
    /** As in pdl_inspect_options: loads through these may stay non-coherent and, with
     * PDL_INSTRUMENT_HOIST, before the wait. */
    const char *const *constant_params;
    uint64_t constant_param_count; /**< How many `constant_params`. */
    /** Patterns as in fnmatch(3) of the (mangled) names of the kernels to instrument; NULL: all. */
    const char *const *kernels;
    uint64_t kernel_count; /**< How many `kernels`. */
} pdl_instrument_options;

/** Do not open source files to learn the names of parameters. */
#define PDL_INSTRUMENT_NO_SOURCES 2u

/** Options with some of them named: `&PDL_INSTRUMENT_OPTIONS(.wait = PDL_INSTRUMENT_HOIST)`, in C99
 * and C++20. */
#ifdef __cplusplus
#define PDL_INSTRUMENT_OPTIONS(...)                                                                \
    pdl_instrument_options                                                                         \
    {                                                                                              \
        .size = (uint32_t)sizeof(pdl_instrument_options), __VA_ARGS__                              \
    }
#else
#define PDL_INSTRUMENT_OPTIONS(...)                                                                \
    ((pdl_instrument_options){.size = (uint32_t)sizeof(pdl_instrument_options), __VA_ARGS__})
#endif
/** Initializer of a pdl_instrument_options, for C++11 and for all defaults. */
#define PDL_INSTRUMENT_OPTIONS_INIT PDL_SIZED_INIT_(pdl_instrument_options)

/** What was done with a kernel. */
typedef enum pdl_instrument_action {
    PDL_INSTRUMENT_DONE = 1,     /**< It has a wait now. */
    PDL_INSTRUMENT_WAITS = 2,    /**< It waited already, and is as it was. */
    PDL_INSTRUMENT_EXCLUDED = 3, /**< `kernels` does not contain it. */
    PDL_INSTRUMENT_REFUSED = 4   /**< It cannot be instrumented; see `reason`. */
} pdl_instrument_action;

/** Why a kernel was refused. */
typedef enum pdl_instrument_reason {
    PDL_INSTRUMENT_REASON_NONE = 0,
    PDL_INSTRUMENT_REASON_TARGET = 1,      /**< Below sm_90 or PTX 7.8, and not raised. */
    PDL_INSTRUMENT_REASON_COOPERATIVE = 2, /**< It uses the grid's barrier. */
    PDL_INSTRUMENT_REASON_LAUNCHES = 3,    /**< It launches kernels from the device. */
    PDL_INSTRUMENT_REASON_NO_PLACE = 4,    /**< No point is passed once by every thread. */
    /** The result would have a finding of lint, or the kernel waits already and has one. */
    PDL_INSTRUMENT_REASON_FINDING = 5
} pdl_instrument_reason;

/** What was done with one kernel. */
typedef struct pdl_instrument_kernel {
    uint32_t size;         /**< sizeof(pdl_instrument_kernel) as the library was compiled. */
    int32_t action;        /**< pdl_instrument_action. */
    int32_t reason;        /**< pdl_instrument_reason. */
    uint32_t line;         /**< Where the kernel begins in the input, from 1. */
    uint32_t wait_line;    /**< Line of the inserted wait in the result; 0: none. */
    uint32_t trigger_line; /**< Line of the inserted trigger in the result; 0: none. */
    /** Non-coherent loads in its own body that were made coherent, because such a load may move
     * above the wait. */
    uint32_t loads;
    /** The points that PDL_INSTRUMENT_TRIGGER_POINT chooses from, where that was asked for; else 0. */
    uint32_t trigger_points;
    const char *name;    /**< Mangled. */
    const char *message; /**< Why it was refused, a clause; else NULL. */
} pdl_instrument_kernel;

/** The result for one text. Opaque. */
typedef struct pdl_instrumentation pdl_instrumentation;

/**
 * Instruments the kernels of a PTX text.
 *
 * `name` is for messages. `options` may be NULL. `text`, and what `options` points to, may be freed
 * afterwards. The result is
 * inspected as if every kernel were launched with overlap; an instrumented kernel with a finding
 * that pdl_inspection_shown() counts is refused, and stays as it was. A kernel that is refused is
 * not an error.
 *
 * PDL_ERROR_INVALID_IMAGE: this is not PTX text, with the location in pdl_inspect_last_error();
 * PDL_ERROR_INVALID_ARGUMENT; PDL_ERROR_DESC_SIZE and PDL_ERROR_DESC_TOO_NEW for the options;
 * PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_instrument(const char *text, size_t size, const char *name,
                                  const pdl_instrument_options *options,
                                  pdl_instrumentation **result);

/** The revision of the loaded library's instrumentation. The same text and options give the same
 * result in the same revision. Caches of results have it in their keys. */
PDL_API uint32_t pdl_instrument_revision(void);

/** Frees a result and all its contents. NULL is allowed. */
PDL_API void pdl_instrumentation_destroy(pdl_instrumentation *result);

/** The instrumented text. A NUL follows it, which *size does not count. `size` may be NULL. */
PDL_API const char *pdl_instrumentation_text(const pdl_instrumentation *result, size_t *size);

/** How many kernels the text defines. */
PDL_API size_t pdl_instrumentation_kernel_count(const pdl_instrumentation *result);
/** A kernel; NULL if there is none of that index. */
PDL_API const pdl_instrument_kernel *pdl_instrumentation_kernel(const pdl_instrumentation *result,
                                                                size_t index);

#ifdef __cplusplus
}
#endif

#endif /* PDL_INSTRUMENT_H */
