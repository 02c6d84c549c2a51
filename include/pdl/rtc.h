/* SPDX-License-Identifier: MIT */
/** @file
 * libpdl-rtc: kernels from CUDA C++ text, compiled at run time, cached, and launched by pdl_launch().
 *
 * A library of its own (`pdl-rtc.pc`, CMake target `pdl::rtc`) beside libpdl, with the conventions of
 * pdl/pdl.h. NVRTC (libnvrtc.so, CUDA 12.0 or newer) is opened on first use, as is nvJitLink where it
 * is needed: a program that links libpdl-rtc starts on a machine without them, and a kernel that is
 * in the cache needs neither.
 *
 * Compiling needs no device where a target is named. A compiled image keeps what the rest of libpdl
 * wants to know: the lowered name of each kernel, and whether it waits and triggers.
 *
 * The text may `#include <pdl/device.cuh>` and `<pdl/vector.cuh>`: they are in the library. Nothing
 * is put in front of the text, so that the lines of the compiler's messages are the text's own.
 *
 * Environment, read when the default cache is made, or as said:
 * - `PDL_RTC_CACHE=0` keeps the default cache in memory only.
 * - `PDL_RTC_CACHE_DIR`: its folder; else `$XDG_CACHE_HOME/pdl`, else `$HOME/.cache/pdl`.
 * - `PDL_RTC_CACHE_SHIPPED`: a folder that is read and never written, for caches that were shipped.
 * - `PDL_RTC_CACHE_SIZE`: how large the folder may grow, in bytes or with K, M or G (default 1G).
 * - `PDL_RTC_CACHE_WAIT`: how many seconds a call waits for another thread or process that compiles
 *   its text, before it compiles it as well (default 60, at most a day; 0: it never waits). Read
 *   for each cache that is made.
 * - `PDL_RTC_DUMP_DIR`: where failed compilations are written, read at each failure. Unset: `dumps`
 *   in the cache's folder (the default cache's where there is none); empty: nowhere.
 * - `PDL_NVRTC`, `PDL_NVJITLINK`: the library's file, read on first use. Unset: what the loader
 *   finds as libnvrtc.so.13 or .12, then in `$CUDA_PATH/lib64`, `$CUDA_HOME/lib64` and
 *   `/usr/local/cuda/lib64`. NVRTC's builtins library is taken from the folder of NVRTC.
 */
#ifndef PDL_RTC_H
#define PDL_RTC_H

#include <stddef.h>
#include <stdint.h>

#include <pdl/pdl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------
 * Options
 * ---------------------------------------------------------------------------------------------- */

/** What a compilation makes. */
typedef enum pdl_rtc_output {
    /** Machine code for the target; PTX if the target is virtual (compute_90), or if there is no
     * target and the compiler is too old to know the current device. The default. */
    PDL_RTC_DEFAULT = 0,
    PDL_RTC_CUBIN = 1, /**< Machine code. The target must be real (sm_90). */
    PDL_RTC_PTX = 2,   /**< PTX text, which the driver compiles for each device. Of sm_90 it is that
                            of compute_90. */
    PDL_RTC_LTO = 3    /**< As CUBIN, by way of LTO-IR and nvJitLink. */
} pdl_rtc_output;

/** Flags of a compilation. Each needs an NVRTC that has it, else PDL_ERROR_COMPILER_TOO_OLD. */
typedef enum pdl_rtc_flag {
    /** NVRTC's `--pch` (12.8): headers are precompiled for later texts of the process that begin with
     * the same directives, include the same headers and have the same options. They lie in a folder
     * below `$TMPDIR` (`/tmp`) that only the user may read, and that is removed when the process
     * exits. Where that folder cannot be used, or has less than 320 MiB left, and where it is not
     * known what the text includes, it is compiled without. */
    PDL_RTC_PCH = 1,
    PDL_RTC_MINIMAL = 2, /**< NVRTC's `--minimal`: fewer built-in declarations (12.4). */
    PDL_RTC_NO_CACHE = 4 /**< Compiled anew and not kept; for calls that have a cache. */
} pdl_rtc_flag;

/** A header that the text may include by its name, and that is nowhere on disk. Callers have arrays of
 * it: it never changes. */
typedef struct pdl_rtc_header {
    const char *name; /**< As the text includes it: "math/ops.h". */
    const char *text; /**< Its text, ended by a NUL. */
} pdl_rtc_header;

/**
 * How a text is compiled. Start from PDL_RTC_OPTIONS(); what is zero has its default.
 *
 * Everything that it points to is only read during the call.
 */
typedef struct pdl_rtc_options {
    uint32_t size;     /**< sizeof(pdl_rtc_options) as the caller was compiled. */
    uint32_t output;   /**< A pdl_rtc_output. */
    uint32_t flags;    /**< pdl_rtc_flag, or-ed. */
    uint32_t reserved; /**< 0. */
    /** "sm_90", "sm_90a", "compute_90"; NULL: that of the current context's device, or of device 0
     * where no context is current. */
    const char *target;
    /** Options of NVRTC, each with its value in the same string or in the next: "-DN=4", "-I",
     * "include". Refused, with PDL_ERROR_OPTION: those that write files, that choose the target or
     * the output, and that pdl_rtc_flag is for. */
    const char *const *arguments;
    size_t argument_count; /**< How many there are. */
    /** Kernels that the text has only where they are named: "sigmoid<float, 4>". See
     * nvrtcAddNameExpression. */
    const char *const *names;
    size_t name_count;             /**< How many there are. */
    const pdl_rtc_header *headers; /**< Headers in memory, before those on disk. */
    size_t header_count;           /**< How many there are. */
    /** Called now and then while NVRTC compiles (12.8; before, never), as a rule on the compiling thread:
     * other than 0 cancels with PDL_ERROR_CANCELLED, and it is not called again. NVRTC 13.2 and newer
     * may crash when it is stopped: there it compiles to the end, and what it made is dropped. Threads
     * that wait for the same kernel are not asked and compile it themselves then. It may ask a cache
     * for other texts, but not for the one that is being compiled (PDL_ERROR_BUSY). May be NULL. */
    int32_t (*progress)(void *context);
    void *progress_context; /**< Passed to `progress`. */
} pdl_rtc_options;

/** Options with some of them named: `&PDL_RTC_OPTIONS(.target = "sm_90")`, in C99 and C++20. */
#ifdef __cplusplus
#define PDL_RTC_OPTIONS(...)                                                                       \
    pdl_rtc_options                                                                                \
    {                                                                                              \
        .size = (uint32_t)sizeof(pdl_rtc_options), __VA_ARGS__                                     \
    }
#else
#define PDL_RTC_OPTIONS(...)                                                                       \
    ((pdl_rtc_options){.size = (uint32_t)sizeof(pdl_rtc_options), __VA_ARGS__})
#endif
/** Initializer of a pdl_rtc_options, for C++11 and for all that is default. */
#define PDL_RTC_OPTIONS_INIT PDL_SIZED_INIT_(pdl_rtc_options)

/* ------------------------------------------------------------------------------------------------
 * The compiler
 * ---------------------------------------------------------------------------------------------- */

/** The compilers that are there. Start from PDL_RTC_COMPILER_INFO_INIT. */
typedef struct pdl_rtc_compiler_info {
    uint32_t size;               /**< sizeof(pdl_rtc_compiler_info) as the caller was compiled. */
    int32_t version;             /**< NVRTC's: 1000 * major + 10 * minor. */
    int32_t linker_version;      /**< nvJitLink's; 0 if there is none. */
    int32_t newest_architecture; /**< Of those that NVRTC compiles for: 120 for compute_120. */
    uint32_t has_pch;            /**< 1 if PDL_RTC_PCH can be had. */
    uint32_t has_minimal;        /**< 1 if PDL_RTC_MINIMAL can be had. */
    uint32_t has_progress;       /**< 1 if `progress` is called (12.8), whether or not it ends a
                                      compilation early. */
    char path[236];              /**< NVRTC's file, cut short if need be; NUL-terminated. */
} pdl_rtc_compiler_info;

/** Initializer of a pdl_rtc_compiler_info. */
#define PDL_RTC_COMPILER_INFO_INIT PDL_SIZED_INIT_(pdl_rtc_compiler_info)

/**
 * Tells which compilers there are, and opens them for it.
 *
 * Maps to nvrtcVersion, nvrtcGetSupportedArchs and nvJitLinkVersion. Errors:
 * PDL_ERROR_NO_COMPILER, PDL_ERROR_COMPILER_TOO_OLD, PDL_ERROR_INVALID_ARGUMENT,
 * PDL_ERROR_DESC_SIZE.
 */
PDL_API pdl_status pdl_rtc_compiler_get(pdl_rtc_compiler_info *info);

/* ------------------------------------------------------------------------------------------------
 * Images
 * ---------------------------------------------------------------------------------------------- */

/** A compiled text: code, names, and what is known of its kernels. Immutable. */
typedef struct pdl_rtc_image pdl_rtc_image;

/**
 * Compiles a text, without any cache.
 *
 * Maps to nvrtcCreateProgram, nvrtcAddNameExpression and nvrtcCompileProgram; with PDL_RTC_LTO also
 * to nvJitLinkCreate, nvJitLinkAddData and nvJitLinkComplete.
 * @param program what the compiler's messages call the text: "sigmoid.cu"; NULL: "kernel.cu"
 * @param source the text, ended by a NUL, of at most 64 MiB
 * @param options NULL: all default
 * @param[out] image freed with pdl_rtc_image_destroy()
 * Errors: PDL_ERROR_NO_COMPILER, PDL_ERROR_COMPILER_TOO_OLD, PDL_ERROR_OPTION, PDL_ERROR_COMPILE
 * (the message has the first error and the name of the file that the whole was written to, see
 * `PDL_RTC_DUMP_DIR`; pdl_rtc_log() has everything), PDL_ERROR_CANCELLED, PDL_ERROR_NOT_FOUND (a
 * name), PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_DESC_SIZE, PDL_ERROR_DESC_TOO_NEW,
 * PDL_ERROR_OUT_OF_MEMORY; without a target those of pdl_device_get(), and PDL_ERROR_NOT_SUPPORTED
 * where NVRTC no longer compiles for the device.
 */
PDL_API pdl_status pdl_rtc_compile(const char *program, const char *source,
                                   const pdl_rtc_options *options, pdl_rtc_image **image);

/** What the compiler said in the last compilation on the calling thread, all of it; "" if nothing.
 * Belongs to the thread and holds until its next compilation. Never NULL. */
PDL_API const char *pdl_rtc_log(void);

/** Frees an image. Kernels that were made from it stay. NULL is ignored. */
PDL_API void pdl_rtc_image_destroy(pdl_rtc_image *image);

/** The code, which lives as long as the image, and its size in bytes. PTX ends in a NUL that is
 * counted. */
PDL_API const void *pdl_rtc_image_code(const pdl_rtc_image *image, size_t *size);

/** What the code is: PDL_RTC_CUBIN or PDL_RTC_PTX. */
PDL_API pdl_rtc_output pdl_rtc_image_output(const pdl_rtc_image *image);

/** What it was compiled for: "sm_90". */
PDL_API const char *pdl_rtc_image_target(const pdl_rtc_image *image);

/** What the compiler said, warnings for the most part; "" if nothing. Kept in the cache. */
PDL_API const char *pdl_rtc_image_log(const pdl_rtc_image *image);

/** How many kernels it has. */
PDL_API size_t pdl_rtc_image_kernel_count(const pdl_rtc_image *image);

/** What is known of a kernel of it, by its index; NULL if there is none. Lives as long as the image.
 * `name` is its lowered name, and `device` is -1. */
PDL_API const pdl_kernel_info *pdl_rtc_image_info(const pdl_rtc_image *image, size_t index);

/** The name expression that named a kernel of it, by its index; NULL if none did. Lives as long as the
 * image. */
PDL_API const char *pdl_rtc_image_expression(const pdl_rtc_image *image, size_t index);

/** What is known of the kernel of a name expression, a plain name or a lowered name; NULL if there is
 * none. Lives as long as the image. */
PDL_API const pdl_kernel_info *pdl_rtc_image_find(const pdl_rtc_image *image, const char *name);

/**
 * Loads a kernel of an image. It serves every device that its code runs on, and its waits and
 * triggers are known where the image knows them.
 *
 * Each such kernel has its own copy of the text's `__device__` variables.
 * @param[out] kernel freed with pdl_kernel_destroy()
 * Errors: PDL_ERROR_NOT_FOUND, and those of pdl_kernel_from_image().
 */
PDL_API pdl_status pdl_rtc_image_kernel(const pdl_rtc_image *image, const char *name,
                                        pdl_kernel **kernel);

/* ------------------------------------------------------------------------------------------------
 * The cache
 * ---------------------------------------------------------------------------------------------- */

/**
 * Kernels that were compiled before: in memory, in a folder, and in a second folder that is only
 * read.
 *
 * One text is compiled once at a time, in the process and across processes that share the folder;
 * who has waited for `PDL_RTC_CACHE_WAIT` seconds compiles it as well. A child of a fork may use the
 * caches of its parent, but no driver: a target must be named. What is damaged, cut short or of
 * another version of this library is compiled again.
 */
typedef struct pdl_rtc_cache pdl_rtc_cache;

/** Flags of a cache. */
typedef enum pdl_rtc_cache_flag {
    PDL_RTC_CACHE_MEMORY_ONLY = 1, /**< No folder, whatever `directory` and the environment say. */
    PDL_RTC_CACHE_READ_ONLY = 2    /**< `directory` is read and never written. */
} pdl_rtc_cache_flag;

/** Where a cache keeps what. Start from PDL_RTC_CACHE_DESC_INIT. */
typedef struct pdl_rtc_cache_desc {
    uint32_t size;         /**< sizeof(pdl_rtc_cache_desc) as the caller was compiled. */
    uint32_t flags;        /**< pdl_rtc_cache_flag, or-ed. */
    const char *directory; /**< NULL: as the environment says, see above. Made if missing. */
    const char *shipped;   /**< A second folder that is only read; NULL: the environment's. */
    uint64_t capacity;     /**< Bytes of `directory`; 0: the environment's, or 1 GiB. */
} pdl_rtc_cache_desc;

/** Initializer of a pdl_rtc_cache_desc. */
#define PDL_RTC_CACHE_DESC_INIT PDL_SIZED_INIT_(pdl_rtc_cache_desc)

/**
 * Makes a cache.
 *
 * @param desc NULL: all default
 * Errors: PDL_ERROR_CACHE where a folder that `desc` names cannot be used (it cannot be made, is no
 * folder, belongs to another user, or others may write to it); a folder of the environment's that
 * cannot be used is done without, and pdl_rtc_cache_stats() says why. PDL_ERROR_INVALID_ARGUMENT,
 * PDL_ERROR_DESC_SIZE, PDL_ERROR_DESC_TOO_NEW, PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_rtc_cache_create(const pdl_rtc_cache_desc *desc, pdl_rtc_cache **cache);

/** Frees a cache and the kernels that came from it. Its folder stays. NULL is ignored: the default
 * cache lives as long as the process. */
PDL_API void pdl_rtc_cache_destroy(pdl_rtc_cache *cache);

/**
 * The everyday call: a kernel of a text, compiled if it was not before.
 *
 * Cheap enough to be called before each launch: a kernel that the process has is found by the bytes of
 * all that it was made of. Files that the text includes are looked at each time (their size and
 * times); where one has changed, it is compiled anew.
 * @param cache NULL: the process's default cache
 * @param name a name expression, "scale<float, 4>", or the plain name of an extern "C" kernel; it need
 * not be among the options' names
 * @param[out] kernel belongs to the cache: it must not be destroyed
 * Errors: those of pdl_rtc_compile() and pdl_rtc_image_kernel(); PDL_ERROR_BUSY in a `progress` for
 * the text that it is called for. A folder that cannot be written
 * is none: see pdl_rtc_cache_stats().
 */
PDL_API pdl_status pdl_rtc_kernel(pdl_rtc_cache *cache, const char *source, const char *name,
                                  const pdl_rtc_options *options, pdl_kernel **kernel);

/**
 * As pdl_rtc_compile(), through a cache: the image, which needs no device where a target is named.
 *
 * Errors: those of pdl_rtc_compile(); PDL_ERROR_BUSY in a `progress` for the text that it is called
 * for.
 */
PDL_API pdl_status pdl_rtc_cache_compile(pdl_rtc_cache *cache, const char *program,
                                         const char *source, const pdl_rtc_options *options,
                                         pdl_rtc_image **image);

/** What a cache did in this process. Start from PDL_RTC_STATS_INIT. */
typedef struct pdl_rtc_stats {
    uint32_t size;           /**< sizeof(pdl_rtc_stats) as the caller was compiled. */
    uint32_t kernels;        /**< That it has in memory now. */
    uint64_t memory_hits;    /**< Found in memory. */
    uint64_t disk_hits;      /**< Read from `directory`. */
    uint64_t shipped_hits;   /**< Read from the folder that is only read. */
    uint64_t misses;         /**< Compiled. */
    uint64_t waits;          /**< Found after another thread or process had compiled it. */
    uint64_t failures;       /**< Compilations that failed. */
    uint64_t damaged;        /**< Files that were there and could not be used, or trusted. */
    uint64_t stored;         /**< Written to `directory`. */
    uint64_t store_failures; /**< Could not be written; `problem` has the last reason. */
    uint64_t evicted;        /**< Files removed to stay within the capacity. */
    uint64_t memory_hit_ns;  /**< Spent in memory hits, by CLOCK_MONOTONIC; likewise below. */
    uint64_t disk_hit_ns;    /**< In hits of both folders, without loading into the driver. */
    uint64_t compile_ns;     /**< In the compilers. */
    char directory[256];     /**< In use; "" if none. Cut short if need be. */
    char shipped[256];       /**< In use; "" if none. */
    char problem[256];       /**< Why a folder is not used or not written; "" if all is well. */
} pdl_rtc_stats;

/** Initializer of a pdl_rtc_stats. */
#define PDL_RTC_STATS_INIT PDL_SIZED_INIT_(pdl_rtc_stats)

/** Tells what a cache did. @param cache NULL: the default cache. Errors: PDL_ERROR_INVALID_ARGUMENT,
 * PDL_ERROR_DESC_SIZE. */
PDL_API pdl_status pdl_rtc_cache_stats(pdl_rtc_cache *cache, pdl_rtc_stats *stats);

/* ------------------------------------------------------------------------------------------------
 * The folder, for those who look after it
 * ---------------------------------------------------------------------------------------------- */

/** A file of a cache's folder. Strings hold during the call that they were passed to. */
typedef struct pdl_rtc_file {
    uint32_t size;            /**< sizeof(pdl_rtc_file) as the library was compiled. */
    uint32_t output;          /**< A pdl_rtc_output: CUBIN or PTX. */
    const char *name;         /**< Relative to the folder. */
    const char *program;      /**< What the text was called; "" if the file is damaged. */
    const char *target;       /**< "sm_90" */
    const char *kernels;      /**< Their names, divided by newlines. */
    const char *damage;       /**< Why it cannot be used, a clause; NULL if it can. */
    uint64_t bytes;           /**< On disk. */
    int64_t used;             /**< When it was last used, seconds since 1970. */
    int32_t compiler_version; /**< NVRTC's: 1000 * major + 10 * minor. */
    uint32_t reserved;        /**< 0. */
} pdl_rtc_file;

/**
 * Looks at every file of a folder, the one used longest ago first, all of it read and its checksum
 * compared.
 *
 * @param directory NULL: the default cache's
 * @param visit gets each; other than 0 ends it. May be NULL
 * @param[out] bytes of all files; may be NULL
 * Errors: PDL_ERROR_CACHE, PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_rtc_folder_list(const char *directory,
                                       int32_t (*visit)(void *context, const pdl_rtc_file *file),
                                       void *context, uint64_t *bytes);

/**
 * Removes files, the one used longest ago first, until the rest takes at most `capacity` bytes (0:
 * all), and what was left behind by processes that ended while writing. With `damaged_only` it
 * removes what is damaged and nothing else; if a file cannot be judged it removes nothing.
 *
 * Errors: PDL_ERROR_CACHE, PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_rtc_folder_trim(const char *directory, uint64_t capacity,
                                       uint32_t damaged_only, uint64_t *removed);

#ifdef __cplusplus
}
#endif

#endif /* PDL_RTC_H */
