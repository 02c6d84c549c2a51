/* SPDX-License-Identifier: MIT */
/** @file
 * libpdl-inspect: which kernels wait and trigger, and where they touch memory too early.
 *
 * A separate library (`pdl-inspect.pc`, CMake target `pdl::inspect`) that reads PTX text, cubins,
 * fatbins and ELF files with device code in them. It needs no driver, no device and no other part
 * of CUDA, and starts no process. `pdltool lint` and `pdltool inspect` use it.
 *
 * A pdl_inspection is the whole result for one input: images (a PTX text, a cubin), their kernels,
 * and findings. Only pdl_lint_suppress_finding() changes it. It belongs to its caller; its strings
 * and structs live as long as it does.
 *
 * All structs here begin with `size`, and may grow at their end in later versions; see pdl/pdl.h.
 * The library returns them only by pointer: none is part of another, and arrays contain pointers.
 * A field that ends beyond `size` does not exist.
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

/** The severity of a finding. */
typedef enum pdl_lint_level {
    PDL_LINT_NOTE = 1,    /**< Correct, or concerns speed. */
    PDL_LINT_WARNING = 2, /**< A race, unless something outside the code makes it right. */
    PDL_LINT_ERROR = 3    /**< Always wrong. */
} pdl_lint_level;

/**
 * The list of rules: X(name, value, id, default level, summary). Values are never reused: 8, 9 and
 * 11 were rules of 0.2. Each rule has a page docs/lint/ID.md. A finding's own level may be below
 * its rule's if the code shows that it may be right.
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
    X(PDL_LINT_COMPILED_OUT, 10, "compiled-out", PDL_LINT_WARNING,                                 \
      "the code is for less than sm_90: its waits are missing or cannot be assembled")             \
    X(PDL_LINT_EXIT_BEFORE_WAIT, 12, "exit-before-wait", PDL_LINT_NOTE,                            \
      "some threads leave before the wait")

/** A rule. See ::PDL_LINT_RULE_LIST. */
typedef enum pdl_lint_rule {
#define PDL_LINT_ENUMERATOR_(name, value, id, level, summary) name = value,
    PDL_LINT_RULE_LIST(PDL_LINT_ENUMERATOR_)
#undef PDL_LINT_ENUMERATOR_
        PDL_LINT_RULE_COUNT_ = 13 /* not a rule: one more than the last */
} pdl_lint_rule;

/** A rule's id, such as "read-before-wait"; "unknown" for an unknown number. Static. */
PDL_API const char *pdl_lint_rule_id(pdl_lint_rule rule);

/** A rule in one clause. Static. */
PDL_API const char *pdl_lint_rule_summary(pdl_lint_rule rule);

/** A rule's default level. */
PDL_API pdl_lint_level pdl_lint_rule_level(pdl_lint_rule rule);

/** The rule with an id; 0 if there is none. */
PDL_API int32_t pdl_lint_rule_find(const char *id);

/** A level's name: "note", "warning", "error"; "unknown" for an unknown number. */
PDL_API const char *pdl_lint_level_name(pdl_lint_level level);

/* ------------------------------------------------------------------------------------------------
 * What is read
 * ---------------------------------------------------------------------------------------------- */

/** The kind of an image. */
typedef enum pdl_inspect_kind {
    PDL_INSPECT_PTX = 1,    /**< PTX text: analysed completely, with findings. */
    PDL_INSPECT_SASS = 2,   /**< A cubin: its waits and triggers, and accesses before the wait. */
    PDL_INSPECT_LTO = 3,    /**< Intermediate code for link-time optimization: not read. */
    PDL_INSPECT_TILE = 4,   /**< Tile IR, which the driver compiles: not read. */
    PDL_INSPECT_UNKNOWN = 5 /**< Code in an unknown or damaged kind of entry: not read. */
} pdl_inspect_kind;

/** A source location. */
typedef struct pdl_inspect_place {
    uint32_t size;    /**< sizeof(pdl_inspect_place) as the library was compiled. */
    uint32_t line;    /**< From 1; 0 if not known. */
    const char *file; /**< As the compiler wrote it; NULL if unknown. */
    const char
        *inlined;      /**< The (mangled) function that the code is from, if inlined; else NULL. */
    uint32_t column;   /**< From 1; 0 if not known. */
    uint32_t reserved; /**< 0. */
} pdl_inspect_place;

/** A piece of code for one architecture. */
typedef struct pdl_inspect_image {
    uint32_t size;           /**< sizeof(pdl_inspect_image) as the library was compiled. */
    int32_t kind;            /**< pdl_inspect_kind. */
    const char *origin;      /**< Its origin: the input's name, and the part of it. */
    const char *unread;      /**< Why its code was not read, a sentence; NULL if it was. */
    int32_t target;          /**< sm_90 is 90. */
    char target_suffix;      /**< 'a' of sm_90a, 'f' of sm_100f, or NUL. */
    uint8_t compressed;      /**< 1 if it was stored compressed. */
    uint16_t ptx_version;    /**< PTX ISA 8.5 is 85; 0 for SASS. */
    uint32_t first_kernel;   /**< Its kernels are first_kernel to first_kernel + kernel_count - 1.
                                  */
    uint32_t kernel_count;   /**< How many there are. */
    uint32_t function_count; /**< Device functions that are not kernels, with a body. */
    uint32_t left_out;       /**< 1 if a limit of the options prevented unpacking. */
    /** 121 if this version does not know the target, and read its machine code as that of sm_121;
     * else 0. Each of its functions then has whole instructions, exits or returns, and ends as code
     * for sm_121 does. Its waits and triggers are known on this assumption. */
    int32_t read_as;
    uint32_t reserved_end; /**< 0. */
} pdl_inspect_image;

/** How a kernel is launched. */
typedef enum pdl_inspect_launch {
    PDL_INSPECT_LAUNCH_UNKNOWN = 0,   /**< Not in the options. */
    PDL_INSPECT_LAUNCH_PLAIN = 1,     /**< Only without overlap. */
    PDL_INSPECT_LAUNCH_OVERLAPPED = 2 /**< With overlap, at least once. */
} pdl_inspect_launch;

/** A kernel in an image. */
typedef struct pdl_inspect_kernel {
    uint32_t size;  /**< sizeof(pdl_inspect_kernel) as the library was compiled. */
    uint32_t image; /**< Index of its image. */
    /** Facts from its code: its name, whether it waits and triggers, including called functions,
     * and, for SASS, its resources. */
    const pdl_kernel_info *info;
    const pdl_inspect_place *place; /**< Where it begins in its source; NULL if unknown. */
    uint32_t wait_count;            /**< Instructions in its own body. */
    uint32_t trigger_count;         /**< Instructions in its own body. */
    uint32_t first_finding;         /**< Its findings are first_finding to first_finding +
                                         finding_count - 1. */
    uint32_t finding_count;         /**< How many there are. */
    uint32_t line;                  /**< Where it begins in the PTX text; 0 for SASS. */
    uint32_t waits_by_flag;         /**< 1 if it waits only where a flag of the launch, such as a
                                         parameter, is set; 0 for SASS. */
    const char *unchecked;          /**< Why it was not checked; NULL if it was. */
    uint32_t touches_memory;        /**< pdl_known: whether it accesses global memory. */
    uint32_t launch;                /**< pdl_inspect_launch, from the options. */
} pdl_inspect_kernel;

/** A finding of lint. */
typedef struct pdl_lint_finding {
    uint32_t size;              /**< sizeof(pdl_lint_finding) as the library was compiled. */
    int32_t rule;               /**< pdl_lint_rule. */
    const char *message;        /**< What and why, a sentence without a full stop. */
    const char *advice;         /**< What to do, a sentence without a full stop. */
    const char *suppressed;     /**< The reason of its suppression, or NULL. */
    const char *parameter_name; /**< From the source, if that could be read, or the PTX; or NULL. */
    int32_t level;              /**< pdl_lint_level. */
    uint32_t kernel;            /**< Index of its kernel. */
    int32_t parameter;          /**< The kernel parameter it goes through, from 0; -1 if none or
                                     unknown. */
    uint32_t line;              /**< In the PTX text, from 1. */
    uint32_t column;            /**< In the PTX text, from 1. */
    uint32_t place_count;       /**< 0 without line information. */
    /** Innermost first; the others are the inlining callers. */
    const pdl_inspect_place *const *places;
    uint32_t count; /**< Instructions of the same line that it covers. */
    uint32_t place; /**< Index of the location to show first: in the function with the wait. */
    /** The byte of the pointer, or of its array's beginning, in the parameter; -1 if unknown. */
    int32_t parameter_offset;
    uint32_t plain; /**< 1 if `suppressed` because the kernel is launched only without overlap. */
    /** What the machine code of the same kernel does with it, a clause; NULL if unknown. */
    const char *machine;
} pdl_lint_finding;

/** A marker in the source, and its use. */
typedef struct pdl_lint_suppression {
    uint32_t size;      /**< sizeof(pdl_lint_suppression) as the library was compiled. */
    uint32_t used;      /**< Findings that it suppressed; 0: it is not needed. */
    const char *origin; /**< File and line. */
    const char *text;   /**< What it suppresses, as written. */
    const char *reason; /**< As written. */
} pdl_lint_suppression;

/** The result for one input. Opaque. */
typedef struct pdl_inspection pdl_inspection;

/** Options of an inspection. Start from PDL_INSPECT_OPTIONS_INIT. */
typedef struct pdl_inspect_options {
    uint32_t size;  /**< sizeof(pdl_inspect_options) as the caller was compiled. */
    uint32_t flags; /**< PDL_INSPECT_FACTS_ONLY, PDL_INSPECT_NO_SOURCES, or 0. */
    /**
     * Parameters whose memory no kernel in flight writes: reading it before the wait is right.
     * Each is NAME or NUMBER (from 1), or KERNEL:NAME or KERNEL:NUMBER. KERNEL, for the mangled
     * name, and NAME are patterns as in fnmatch(3). In a struct, a suffix +BYTE selects the pointer
     * at that offset, or the array of pointers that begins there. +BYTE:SIZE selects all pointers
     * in these bytes. Names come from the source or the PTX.
     */
    const char *const *constant_params;
    uint64_t constant_param_count; /**< How many `constant_params`. */
    /** Patterns of kernels that are launched with overlap: one that does not wait is a warning. */
    const char *const *overlapped;
    uint64_t overlapped_count; /**< How many `overlapped`. */
    uint64_t max_text;         /**< The maximum size of a PTX text in bytes; 0: 512 MiB. */
    /**
     * How many bytes of an input's compressed images are unpacked; 0: 64 MiB or, if that is more,
     * 16 times the input's size. An image that would exceed this, and those after it, have
     * `left_out` set.
     */
    uint64_t max_unpacked;
    /**
     * Mangled names of kernels that were launched with overlap: one that does not wait is an
     * error. This takes precedence over `plain`, `overlapped` and `launched_plain`, in this order.
     * In names with internal linkage, the part that depends on the compilation is ignored.
     */
    const char *const *launched_overlapped;
    uint64_t launched_overlapped_count; /**< How many `launched_overlapped`. */
    /**
     * Mangled names of kernels that were launched only without overlap: their findings about
     * waiting, which assume overlap, are suppressed.
     */
    const char *const *launched_plain;
    uint64_t launched_plain_count; /**< How many `launched_plain`. */
    /** Patterns as in fnmatch(3) of third-party source files: `place` avoids them. */
    const char *const *third_party;
    uint64_t third_party_count; /**< How many `third_party`. */
    /** Patterns of kernels that are launched only without overlap, as `launched_plain`. */
    const char *const *plain;
    uint64_t plain_count; /**< How many `plain`. */
    /**
     * How many steps the analysis may take, of all images: the instructions that it reads and
     * visits, and 32 bytes of an image; 0: any number. The number depends on the input alone.
     */
    uint64_t max_steps;
} pdl_inspect_options;

/** A list of pdl_inspect_options, for pdl_inspection_matches(). */
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

/** The details of an error of libpdl-inspect. */
typedef struct pdl_inspect_error {
    uint32_t size;     /**< sizeof(pdl_inspect_error) as the library was compiled. */
    int32_t status;    /**< The pdl_status that the call returned. */
    uint32_t line;     /**< In a text, from 1; 0 where that does not apply. */
    uint32_t column;   /**< In a text, from 1; 0 where that does not apply. */
    char message[500]; /**< One sentence without the location. */
} pdl_inspect_error;

/**
 * The details of the last call of libpdl-inspect that failed on the calling thread. Never NULL.
 * Like pdl_last_error(), and independent of it.
 */
PDL_API const pdl_inspect_error *pdl_inspect_last_error(void);

/**
 * Reads PTX text, a cubin, a fatbin or an ELF file with device code from memory, and analyses it.
 *
 * `name` is for messages and locations. `options` may be NULL. `bytes`, and what `options` points
 * to, may be freed afterwards. An
 * unreadable image (see `unread`) is not an error if another one is readable, or one was left out
 * because of `max_unpacked`.
 *
 * Thread-safe. PDL_ERROR_INVALID_ARGUMENT; PDL_ERROR_DESC_SIZE and PDL_ERROR_DESC_TOO_NEW: the
 * size of `options`; PDL_ERROR_INVALID_IMAGE: malformed, with line and column if it is PTX;
 * PDL_ERROR_NO_KERNEL_IMAGE: there is no device code in it; PDL_ERROR_CANCELLED: it takes more
 * than `max_steps`; PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_inspect_memory(const void *bytes, size_t size, const char *name,
                                      const pdl_inspect_options *options,
                                      pdl_inspection **inspection);

/** As pdl_inspect_memory() with the contents of a regular file. PDL_ERROR_FILE too. */
PDL_API pdl_status pdl_inspect_file(const char *path, const pdl_inspect_options *options,
                                    pdl_inspection **inspection);

/** Frees an inspection and all its contents. NULL is allowed. */
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
/** How many markers PDL_LINT_ALLOW() are in the code; each source location counts once. */
PDL_API size_t pdl_inspection_marker_count(const pdl_inspection *inspection);
/** A marker; NULL if there is none of that index. */
PDL_API const pdl_lint_suppression *pdl_inspection_marker(const pdl_inspection *inspection,
                                                          size_t index);

/**
 * How many kernels an entry of a list of the options matched, or for `constant_params` how many
 * parameters; 0 if there is no entry of that index. Kernels in machine code count, too.
 */
PDL_API uint64_t pdl_inspection_matches(const pdl_inspection *inspection, pdl_inspect_list list,
                                        uint64_t index);

/**
 * Whether the code of a kernel for a compute capability (90 for 9.0) is proved to wait on every
 * path before it touches memory.
 *
 * The code is that which the driver chooses from the images. Machine code proves it if each path
 * from the entry waits, if all that comes before is known and accesses no global memory, and if the
 * kernel has no non-coherent load, texture or surface. Threads may leave before by their index. If
 * machine code does not prove it, the PTX for the same target may. In PTX, PDL_YES: it waits, and has no finding that counts. Suppressed
 * findings do not count. Warnings and errors count, and so do notes of PDL_LINT_READ_BEFORE_WAIT,
 * PDL_LINT_WRITE_BEFORE_WAIT, PDL_LINT_PARTIAL_WAIT and PDL_LINT_NO_WAIT, because these concern
 * what lint cannot see. PDL_NO: it has such findings, accesses memory before the wait, or does not
 * wait. PDL_UNKNOWN: its machine code does not show it and there is no PTX of it, there is no kernel
 * of that (mangled) name, or the inspection has only facts.
 *
 * `waits_always` may be NULL. It gets pdl_kernel_info.waits_always for that code, which is PDL_NO
 * also if some threads leave before the wait, which is harmless. Thread-safe. Cannot fail.
 */
PDL_API pdl_known pdl_inspection_shown(const pdl_inspection *inspection, const char *kernel,
                                       int32_t capability, pdl_known *waits_always);

/** What is proved of a kernel, for pdl_inspection_proofs(). */
typedef struct pdl_inspect_proof {
    uint32_t size;         /**< sizeof(pdl_inspect_proof) as the library was compiled. */
    uint32_t proof;        /**< A pdl_proof, never PDL_PROOF_NOT_ANALYSED. */
    uint32_t shown;        /**< As from pdl_inspection_shown(), a pdl_known. */
    uint32_t waits_always; /**< Likewise. */
    const char *kernel;    /**< Its (mangled) name. */
    /** A race's rule, source location and remedy, a clause; else NULL. */
    const char *race;
} pdl_inspect_proof;

/**
 * Visits each kernel of the code that the driver chooses for a compute capability (90 for 9.0), in
 * the order of their names, with what is proved of it.
 *
 * PDL_PROOF_PROVED is pdl_inspection_shown() with PDL_YES. PDL_PROOF_RACE: a finding of level
 * warning or error that is not suppressed, in the machine code or the PTX for the same target; if
 * there are several, the first. The strings live during the visit. Thread-safe. Returns
 * PDL_ERROR_INVALID_ARGUMENT and PDL_ERROR_OUT_OF_MEMORY; of an inspection with facts only no kernel
 * is visited.
 */
PDL_API pdl_status pdl_inspection_proofs(const pdl_inspection *inspection, int32_t capability,
                                         void (*visit)(void *context,
                                                       const pdl_inspect_proof *proof),
                                         void *context);

/** The version of the loaded library, in the form of PDL_VERSION. Cannot fail. */
PDL_API uint32_t pdl_inspect_version(void);

/* ------------------------------------------------------------------------------------------------
 * Suppressions
 * ---------------------------------------------------------------------------------------------- */

/**
 * Marks one of an inspection's findings as suppressed, unless it is already. `reason` must live as
 * long as the inspection.
 */
PDL_API void pdl_lint_suppress_finding(pdl_inspection *inspection, const pdl_lint_finding *finding,
                                       const char *reason);

#ifdef __cplusplus
}
#endif

#endif /* PDL_INSPECT_H */
