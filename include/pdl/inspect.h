/* SPDX-License-Identifier: MIT */
/** @file
 * libpdl-inspect: which kernels wait and trigger, and where they touch memory too early.
 *
 * A library of its own (`pdl-inspect.pc`, CMake target `pdl::inspect`) that reads PTX text, cubins,
 * fatbins and ELF files with device code in them. It needs no driver, no device and no other part
 * of CUDA, and starts no process. `pdltool lint` and `pdltool inspect` are made of it.
 *
 * A pdl_inspection is the whole result for one input: images (a PTX text, a cubin), their kernels,
 * and findings. It does not change after it was made, except by pdl_lint_suppress() and
 * pdl_lint_suppress_finding(), and belongs to its caller; every string and struct in it lives as long as it does.
 *
 * All structs here begin with `size`, and may grow at their end in later versions, as pdl/pdl.h says.
 * The library hands them out by pointer alone: none is part of another, and an array of them is one
 * of pointers. A field that ends behind `size` is not there.
 */
#ifndef PDL_INSPECT_H
#define PDL_INSPECT_H

#include <stddef.h>
#include <stdint.h>

#include <pdl/pdl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------
 * Rules
 * ---------------------------------------------------------------------------------------------- */

/** How bad a finding is. */
typedef enum pdl_lint_level {
    PDL_LINT_NOTE = 1,    /**< Right as it is, or a matter of speed: something to know. */
    PDL_LINT_WARNING = 2, /**< A race, unless what the code does not say makes it right. */
    PDL_LINT_ERROR = 3    /**< Wrong whatever else holds. */
} pdl_lint_level;

/**
 * The list of rules: X(name, value, id, default level, summary). Values are never reused. Each has
 * a page docs/lint/ID.md. A finding's own level may be below its rule's where the code speaks for
 * it.
 */
#define PDL_LINT_RULE_LIST(X)                                                                      \
    X(PDL_LINT_READ_BEFORE_WAIT, 1, "read-before-wait", PDL_LINT_WARNING,                          \
      "global memory is read before the wait")                                                     \
    X(PDL_LINT_WRITE_BEFORE_WAIT, 2, "write-before-wait", PDL_LINT_WARNING,                        \
      "global memory is written before the wait")                                                  \
    X(PDL_LINT_NO_WAIT, 3, "no-wait", PDL_LINT_WARNING,                                            \
      "the kernel, or a path through it that every thread may take, never waits")                  \
    X(PDL_LINT_PARTIAL_WAIT, 4, "partial-wait", PDL_LINT_WARNING,                                  \
      "some threads reach global memory without the wait that others execute")                     \
    X(PDL_LINT_NC_AFTER_WAIT, 5, "nc-after-wait", PDL_LINT_WARNING,                                \
      "a non-coherent load, or one moved above the wait, of memory that the wait protects")        \
    X(PDL_LINT_TRIGGER_BEFORE_WAIT, 6, "trigger-before-wait", PDL_LINT_NOTE,                       \
      "the trigger comes before the wait")                                                         \
    X(PDL_LINT_NO_TRIGGER, 7, "no-trigger", PDL_LINT_NOTE, "the kernel waits and never triggers")  \
    X(PDL_LINT_REPEATED_TRIGGER, 8, "repeated-trigger", PDL_LINT_NOTE,                             \
      "a thread may trigger more than once")                                                       \
    X(PDL_LINT_WAIT_IN_LOOP, 9, "wait-in-loop", PDL_LINT_NOTE, "the wait is in a loop")            \
    X(PDL_LINT_COMPILED_OUT, 10, "compiled-out", PDL_LINT_WARNING,                                 \
      "the code is for less than sm_90: its waits are gone or will not assemble")                  \
    X(PDL_LINT_BARRIER_BEFORE_WAIT, 11, "barrier-before-wait", PDL_LINT_NOTE,                      \
      "a barrier of the block comes before the wait")                                              \
    X(PDL_LINT_EXIT_BEFORE_WAIT, 12, "exit-before-wait", PDL_LINT_NOTE,                            \
      "some threads leave before the wait")

/** A rule. See ::PDL_LINT_RULE_LIST. */
typedef enum pdl_lint_rule {
#define PDL_LINT_ENUMERATOR_(name, value, id, level, summary) name = value,
    PDL_LINT_RULE_LIST(PDL_LINT_ENUMERATOR_)
#undef PDL_LINT_ENUMERATOR_
        PDL_LINT_RULE_COUNT_ = 13 /* not a rule: one more than the last */
} pdl_lint_rule;

/** A rule's id, such as "read-before-wait"; "unknown" for a number that is none. Static.
 */
PDL_API const char *pdl_lint_rule_id(pdl_lint_rule rule);

/** A rule in one clause. Static. */
PDL_API const char *pdl_lint_rule_summary(pdl_lint_rule rule);

/** A rule's default level. */
PDL_API pdl_lint_level pdl_lint_rule_level(pdl_lint_rule rule);

/** The rule of an id; 0 if there is none. */
PDL_API int32_t pdl_lint_rule_find(const char *id);

/** A level's name: "note", "warning", "error"; "unknown" for a number that is none. */
PDL_API const char *pdl_lint_level_name(pdl_lint_level level);

/* ------------------------------------------------------------------------------------------------
 * What is read
 * ---------------------------------------------------------------------------------------------- */

/** Of what kind an image is. */
typedef enum pdl_inspect_kind {
    PDL_INSPECT_PTX = 1,  /**< PTX text: read in full, findings are made. */
    PDL_INSPECT_SASS = 2, /**< A cubin: which waits and triggers are in it, and what is first. */
    PDL_INSPECT_LTO = 3   /**< Intermediate code for link-time optimization: not read. */
} pdl_inspect_kind;

/** A place in a source file. */
typedef struct pdl_inspect_place {
    uint32_t size;    /**< sizeof(pdl_inspect_place) as the library was compiled. */
    uint32_t line;    /**< From 1; 0 if not known. */
    const char *file; /**< As the compiler wrote it; NULL if not known. */
    const char
        *inlined;      /**< The (mangled) function that the code is from, if inlined; else NULL. */
    uint32_t column;   /**< From 1; 0 if not known. */
    uint32_t reserved; /**< 0. */
} pdl_inspect_place;

/** A piece of code for one architecture. */
typedef struct pdl_inspect_image {
    uint32_t size;           /**< sizeof(pdl_inspect_image) as the library was compiled. */
    int32_t kind;            /**< pdl_inspect_kind. */
    const char *origin;      /**< Where it was: the input's name, and which part of it. */
    const char *unread;      /**< Why its code was not read, a sentence; NULL if it was. */
    int32_t target;          /**< sm_90 is 90. */
    char target_suffix;      /**< 'a' of sm_90a, 'f' of sm_100f, or NUL. */
    uint8_t compressed;      /**< 1 if it was stored compressed. */
    uint16_t ptx_version;    /**< PTX ISA 8.5 is 85; 0 for SASS. */
    uint32_t first_kernel;   /**< Its kernels are first_kernel up to first_kernel + kernel_count. */
    uint32_t kernel_count;   /**< How many there are. */
    uint32_t function_count; /**< Device functions that are not kernels, with a body. */
    uint32_t left_out;       /**< 1 if it was not unpacked because of a limit of the options. */
} pdl_inspect_image;

/** How a kernel is launched. */
typedef enum pdl_inspect_launch {
    PDL_INSPECT_LAUNCH_UNKNOWN = 0,   /**< The options do not tell. */
    PDL_INSPECT_LAUNCH_PLAIN = 1,     /**< Without overlap only. */
    PDL_INSPECT_LAUNCH_OVERLAPPED = 2 /**< With overlap, at least once. */
} pdl_inspect_launch;

/** A kernel in an image. */
typedef struct pdl_inspect_kernel {
    uint32_t size;  /**< sizeof(pdl_inspect_kernel) as the library was compiled. */
    uint32_t image; /**< Index of its image. */
    /** What its code tells: its name, whether it waits and triggers, functions it calls included,
     * and, of SASS, what it needs. */
    const pdl_kernel_info *info;
    const pdl_inspect_place *place; /**< Where it begins in its source; NULL if not known. */
    uint32_t wait_count;            /**< Instructions in its own body. */
    uint32_t trigger_count;         /**< Instructions in its own body. */
    uint32_t first_finding;         /**< Its findings are first_finding up to + finding_count. */
    uint32_t finding_count;         /**< How many there are. */
    uint32_t line;                  /**< Where it begins in the PTX text; 0 for SASS. */
    uint32_t reserved;              /**< 0. */
    const char *unchecked;          /**< Why no findings are made of it; NULL if they are. */
    uint32_t touches_memory;        /**< pdl_known: whether it accesses global memory. */
    uint32_t launch;                /**< pdl_inspect_launch, as the options tell. */
} pdl_inspect_kernel;

/** A finding of lint. */
typedef struct pdl_lint_finding {
    uint32_t size;              /**< sizeof(pdl_lint_finding) as the library was compiled. */
    int32_t rule;               /**< pdl_lint_rule. */
    const char *message;        /**< What and why, a sentence without a full stop. */
    const char *advice;         /**< What to do, a sentence without a full stop. */
    const char *suppressed;     /**< The reason of what suppressed it, or NULL. */
    const char *parameter_name; /**< From the source, if that could be read, or the PTX; or NULL. */
    int32_t level;              /**< pdl_lint_level. */
    uint32_t kernel;            /**< Index of its kernel. */
    int32_t parameter;          /**< The kernel parameter it goes through, from 0; -1 if not one
                                        or not known. */
    uint32_t line;              /**< In the PTX text, from 1. */
    uint32_t column;            /**< In the PTX text, from 1. */
    uint32_t place_count;       /**< 0 without line information. */
    /** Innermost first; the others are where it was inlined to. */
    const pdl_inspect_place *const *places;
    uint32_t count; /**< Instructions of the same line that it stands for. */
    uint32_t place; /**< Index of the place to show first: where the code around the wait has it. */
    int32_t parameter_offset; /**< The pointer's byte in the parameter; -1 if not known. */
    uint32_t plain; /**< 1 if `suppressed` because the kernel is launched without overlap only. */
    /** What the machine code beside the PTX does with it, a clause; NULL if that is not known. */
    const char *machine;
} pdl_lint_finding;

/** A suppression, or a marker in the source, and what it did. */
typedef struct pdl_lint_suppression {
    uint32_t size;      /**< sizeof(pdl_lint_suppression) as the library was compiled. */
    uint32_t used;      /**< Findings that it suppressed; 0: it is not needed. */
    const char *origin; /**< File and line. */
    const char *text;   /**< What it suppresses, as written. */
    const char *reason; /**< As written. */
} pdl_lint_suppression;

/** The result for one input. Opaque. */
typedef struct pdl_inspection pdl_inspection;

/** What to look for. Start from PDL_INSPECT_OPTIONS_INIT. */
typedef struct pdl_inspect_options {
    uint32_t size;  /**< sizeof(pdl_inspect_options) as the caller was compiled. */
    uint32_t flags; /**< PDL_INSPECT_FACTS_ONLY, PDL_INSPECT_NO_SOURCES, or 0. */
    /**
     * Parameters whose memory no kernel in flight writes: reading it before the wait is right. Each
     * is NAME or NUMBER (from 1), or KERNEL:NAME or KERNEL:NUMBER, KERNEL a pattern as in
     * fnmatch(3) on the mangled name, and of a struct one pointer only with +BYTE, its offset, behind
     * that. Names come from the source or the PTX; NAME may be a pattern, too.
     */
    const char *const *constant_params;
    uint64_t constant_param_count; /**< How many `constant_params`. */
    /** Patterns of kernels that are launched with overlap: one that does not wait is a warning. */
    const char *const *overlapped;
    uint64_t overlapped_count; /**< How many `overlapped`. */
    uint64_t max_text;         /**< The longest PTX text that is read, in bytes; 0: 512 MiB. */
    /**
     * How much is unpacked of all the compressed images in an input, in bytes; 0: 64 MiB or, if that is
     * more, 16 times the input's size. Of an image that would be more, and of those behind it, `left_out` is set.
     */
    uint64_t max_unpacked;
    /**
     * Kernels that were seen to be launched with overlap, by their mangled names: one that does not
     * wait is an error. This counts more than `plain`, `overlapped` and `launched_plain`, in this order.
     * Of names with internal linkage, what depends on the compilation of the file is not compared.
     */
    const char *const *launched_overlapped;
    uint64_t launched_overlapped_count; /**< How many `launched_overlapped`. */
    /**
     * Kernels that were seen to be launched, and without overlap only, by their mangled names: findings
     * of these about waiting, which take overlap for granted, are suppressed.
     */
    const char *const *launched_plain;
    uint64_t launched_plain_count; /**< How many `launched_plain`. */
    /** Patterns as in fnmatch(3) of source files that are not the user's: `place` avoids them. */
    const char *const *third_party;
    uint64_t third_party_count; /**< How many `third_party`. */
    /** Patterns of kernels that are launched without overlap only, as `launched_plain`. */
    const char *const *plain;
    uint64_t plain_count; /**< How many `plain`. */
} pdl_inspect_options;

/** A list of pdl_inspect_options whose entries match something or not. */
typedef enum pdl_inspect_list {
    PDL_INSPECT_CONSTANT_PARAMS = 1,
    PDL_INSPECT_OVERLAPPED = 2,
    PDL_INSPECT_PLAIN = 3,
    PDL_INSPECT_LAUNCHED_OVERLAPPED = 4,
    PDL_INSPECT_LAUNCHED_PLAIN = 5
} pdl_inspect_list;

/** Facts of images and kernels only: no analysis and no findings. */
#define PDL_INSPECT_FACTS_ONLY 1u
/** Do not open source files to learn the names of parameters. */
#define PDL_INSPECT_NO_SOURCES 2u

/** Initializer of a pdl_inspect_options. */
#define PDL_INSPECT_OPTIONS_INIT PDL_SIZED_INIT_(pdl_inspect_options)

/** What the last failing call of libpdl-inspect on a thread ran into. */
typedef struct pdl_inspect_error {
    uint32_t size;     /**< sizeof(pdl_inspect_error) as the library was compiled. */
    int32_t status;    /**< The pdl_status that the call returned. */
    uint32_t line;     /**< In a text, from 1; 0 where that does not apply. */
    uint32_t column;   /**< In a text, from 1; 0 where that does not apply. */
    char message[500]; /**< One sentence without the place. */
} pdl_inspect_error;

/**
 * The detail of the last call of libpdl-inspect that failed on the calling thread. Never NULL. Like
 * pdl_last_error(), of which it is independent.
 */
PDL_API const pdl_inspect_error *pdl_inspect_last_error(void);

/**
 * Reads PTX text, a cubin, a fatbin or an ELF file with device code from memory, and analyses it.
 *
 * `name` is for messages and places. `options` may be NULL. `bytes` may be freed afterwards. An
 * image in it that cannot be read (see `unread`) is no failure, as long as one can, or one was left out
 * because of `max_unpacked`.
 *
 * Thread-safe. PDL_ERROR_INVALID_ARGUMENT; PDL_ERROR_DESC_SIZE and PDL_ERROR_DESC_TOO_NEW: the size
 * of `options`; PDL_ERROR_INVALID_IMAGE: malformed, with line and column if it is PTX; PDL_ERROR_NO_KERNEL_IMAGE: there is no device code in it; PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_inspect_memory(const void *bytes, size_t size, const char *name,
                                      const pdl_inspect_options *options,
                                      pdl_inspection **inspection);

/** As pdl_inspect_memory() with the contents of a regular file. PDL_ERROR_FILE too. */
PDL_API pdl_status pdl_inspect_file(const char *path, const pdl_inspect_options *options,
                                    pdl_inspection **inspection);

/** Frees an inspection and everything that was read from it. NULL is fine. */
PDL_API void pdl_inspection_destroy(pdl_inspection *inspection);

/** How many images. */
PDL_API size_t pdl_inspection_image_count(const pdl_inspection *inspection);
/** An image; NULL if there is none of that index. */
PDL_API const pdl_inspect_image *pdl_inspection_image(const pdl_inspection *inspection,
                                                      size_t index);
/** How many kernels, of all images. */
PDL_API size_t pdl_inspection_kernel_count(const pdl_inspection *inspection);
/** A kernel; NULL if there is none of that index. */
PDL_API const pdl_inspect_kernel *pdl_inspection_kernel(const pdl_inspection *inspection,
                                                        size_t index);
/** How many findings, of all kernels. */
PDL_API size_t pdl_inspection_finding_count(const pdl_inspection *inspection);
/** A finding; NULL if there is none of that index. Ordered by kernel, then by line. */
PDL_API const pdl_lint_finding *pdl_inspection_finding(const pdl_inspection *inspection,
                                                       size_t index);
/** How many markers PDL_LINT_ALLOW() are in the code, each place in the source once. */
PDL_API size_t pdl_inspection_marker_count(const pdl_inspection *inspection);
/** A marker; NULL if there is none of that index. */
PDL_API const pdl_lint_suppression *pdl_inspection_marker(const pdl_inspection *inspection,
                                                          size_t index);

/**
 * How many kernels an entry of a list of the options matched or, of `constant_params`, parameters of
 * kernels; 0 if there is no entry of that index. Kernels in machine code count, too.
 */
PDL_API uint64_t pdl_inspection_matches(const pdl_inspection *inspection, pdl_inspect_list list,
                                        uint64_t index);

/**
 * Whether the code that a device of a compute capability (90 for 9.0) runs of a kernel is shown to
 * wait on every path before it touches memory.
 *
 * The code is that which the driver chooses from the images; of machine code it is the PTX for the
 * same target beside it that tells. PDL_YES: it waits, and has no finding that counts. Findings count
 * that are not suppressed, and that are warnings or errors, or of any level if their rule is
 * PDL_LINT_READ_BEFORE_WAIT, PDL_LINT_WRITE_BEFORE_WAIT, PDL_LINT_PARTIAL_WAIT or
 * PDL_LINT_NO_WAIT: their notes are about what lint cannot see. PDL_NO: it has such findings, or
 * does not wait. PDL_UNKNOWN: there is no PTX of it, no kernel of that (mangled) name, or the
 * inspection has facts only.
 *
 * `waits_always` may be NULL. It gets what pdl_kernel_info.waits_always is in that code: PDL_NO also
 * if some threads leave before the wait, which does no harm. Thread-safe. Cannot fail.
 */
PDL_API pdl_known pdl_inspection_shown(const pdl_inspection *inspection, const char *kernel,
                                       int32_t capability, pdl_known *waits_always);

/* ------------------------------------------------------------------------------------------------
 * Suppressions
 * ---------------------------------------------------------------------------------------------- */

/** A list of suppressions, read from text. Opaque. */
typedef struct pdl_lint_suppressions pdl_lint_suppressions;

/**
 * Reads suppressions: a line each, `RULE [KEY=PATTERN]... : REASON`, empty lines and `#` comments.
 *
 * RULE is a rule's id or `*`. Keys: `kernel` (mangled name), `file` (source file), `function`
 * (inlined function), `parameter` (name or number from 1), `line` (source line, a number). Patterns
 * are those of fnmatch(3); all given must match. The reason is required. `name` is for messages.
 *
 * PDL_ERROR_INVALID_ARGUMENT: a line that is none, with its number in pdl_inspect_last_error();
 * PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_lint_suppressions_read(const char *text, size_t size, const char *name,
                                              pdl_lint_suppressions **suppressions);

/** Frees suppressions; inspections they were applied to must have been destroyed. */
PDL_API void pdl_lint_suppressions_destroy(pdl_lint_suppressions *suppressions);

/**
 * Marks the findings that a suppression matches (`suppressed`), and counts its use. Not for an
 * inspection or suppressions that another thread uses.
 */
PDL_API void pdl_lint_suppress(pdl_lint_suppressions *suppressions, pdl_inspection *inspection);

/**
 * Marks one of an inspection's findings as suppressed, unless it is already. `reason` must live as long as
 * the inspection.
 */
PDL_API void pdl_lint_suppress_finding(pdl_inspection *inspection, const pdl_lint_finding *finding,
                                       const char *reason);

/** How many suppressions. */
PDL_API size_t pdl_lint_suppressions_count(const pdl_lint_suppressions *suppressions);
/** A suppression; NULL if there is none of that index. */
PDL_API const pdl_lint_suppression *
pdl_lint_suppressions_get(const pdl_lint_suppressions *suppressions, size_t index);

#ifdef __cplusplus
}
#endif

#endif /* PDL_INSPECT_H */
