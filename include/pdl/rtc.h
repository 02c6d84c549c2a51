/* SPDX-License-Identifier: MIT */
/** @file
 * libpdl-rtc: kernels from CUDA C++ text, compiled at run time, cached, and launched by
 * pdl_launch().
 *
 * A separate library (`pdl-rtc.pc`, CMake target `pdl::rtc`) with the conventions of pdl/pdl.h.
 * NVRTC (libnvrtc.so, CUDA 12.0 or newer) is opened on first use. A program that links libpdl-rtc
 * starts on a machine without it, and a cached kernel does not need it.
 *
 * Compiling needs no device if a target is named. A compiled image contains the lowered name of
 * each kernel, and whether it waits and triggers.
 *
 * The text may `#include <pdl/device.cuh>` and `<pdl/vector.cuh>`: they are in the library. Line
 * numbers in the compiler's messages are those of the text, because nothing is inserted before it.
 *
 * Environment, read when the default cache is made unless noted:
 * - `PDL_RTC_CACHE=0`, and any value that is unknown, keeps the default cache in memory only.
 * - `PDL_RTC_CACHE_DIR`: its folder; default: `$XDG_CACHE_HOME/pdl`, or `$HOME/.cache/pdl`.
 * - `PDL_RTC_CACHE_SHIPPED`: a read-only folder, for shipped caches.
 * - `PDL_RTC_CACHE_SIZE`: the maximum size of the folder, in bytes or with K, M or G (default 1G).
 * - `PDL_RTC_DUMP_DIR`: the folder for failed compilations, read at each failure. Unset: `dumps`
 *   in the cache's folder (without one, in the default cache's); empty: none are written.
 * - `PDL_NVRTC`: the library's file, read on first use. Unset: libnvrtc.so.13 or
 *   .12 as found by the loader, then in `$CUDA_PATH/lib64`, `$CUDA_HOME/lib64` and
 *   `/usr/local/cuda/lib64`. NVRTC's builtins library is taken from the folder of NVRTC.
 */
#ifndef PDL_RTC_H
#define PDL_RTC_H

#include <stddef.h>
#include <stdint.h>

#include <pdl/detail/rtc_status.h>
#include <pdl/pdl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------
 * Options
 * ---------------------------------------------------------------------------------------------- */

/** The output of a compilation. */
typedef enum pdl_rtc_output {
    /** Machine code for the target; PTX if the target is virtual (compute_90), or if there is no
     * target and the compiler is too old for the current device. The default. */
    PDL_RTC_DEFAULT = 0,
    PDL_RTC_CUBIN = 1, /**< Machine code. The target must be real (sm_90). */
    PDL_RTC_PTX = 2    /**< PTX text, which the driver compiles for each device. For sm_90 it is
                            that of compute_90. */
} pdl_rtc_output;

/** Flags of a compilation. */
typedef enum pdl_rtc_flag {
    PDL_RTC_NO_CACHE = 4 /**< Compile always and do not cache; for calls with a cache. */
} pdl_rtc_flag;

/** A header in memory that the text may include by name. Callers have arrays of it: it never
 * changes. */
typedef struct pdl_rtc_header {
    const char *name; /**< As the text includes it: "math/ops.h". */
    const char *text; /**< Its text, ended by a NUL. */
} pdl_rtc_header;

/**
 * How a text is compiled. Start from PDL_RTC_OPTIONS(); zero is the default of each field.
 *
 * Its pointers are only read during the call.
 */
typedef struct pdl_rtc_options {
    uint32_t size;     /**< sizeof(pdl_rtc_options) as the caller was compiled. */
    uint32_t output;   /**< A pdl_rtc_output. */
    uint32_t flags;    /**< pdl_rtc_flag, or-ed. */
    uint32_t reserved; /**< 0. */
    /** "sm_90", "sm_90a", "compute_90"; NULL: that of the current context's device, or of device 0
     * without a current context. */
    const char *target;
    /** Options of NVRTC, each with its value in the same string or in the next: "-DN=4", "-I",
     * "include". One that the library does not know goes to NVRTC as it is; the text is not cached
     * then, as the option may read or write files. */
    const char *const *arguments;
    size_t argument_count; /**< How many there are. */
    /** Kernels that are instantiated by name: "sigmoid<float, 4>". See nvrtcAddNameExpression. */
    const char *const *names;
    size_t name_count;             /**< How many there are. */
    const pdl_rtc_header *headers; /**< Headers in memory, before those on disk. */
    size_t header_count;           /**< How many there are. */
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
/** Initializer of a pdl_rtc_options, for C++11 and for all defaults. */
#define PDL_RTC_OPTIONS_INIT PDL_SIZED_INIT_(pdl_rtc_options)

/* ------------------------------------------------------------------------------------------------
 * The compiler
 * ---------------------------------------------------------------------------------------------- */

/** The available compiler. Start from PDL_RTC_COMPILER_INFO_INIT. */
typedef struct pdl_rtc_compiler_info {
    uint32_t size;               /**< sizeof(pdl_rtc_compiler_info) as the caller was compiled. */
    int32_t version;             /**< NVRTC's: 1000 * major + 10 * minor. */
    int32_t newest_architecture; /**< The newest that NVRTC compiles for: 120 for compute_120. */
    char path[240];              /**< NVRTC's file, truncated if necessary; NUL-terminated. */
} pdl_rtc_compiler_info;

/** Initializer of a pdl_rtc_compiler_info. */
#define PDL_RTC_COMPILER_INFO_INIT PDL_SIZED_INIT_(pdl_rtc_compiler_info)

/**
 * Opens the compiler and reports its properties.
 *
 * Maps to nvrtcVersion and nvrtcGetSupportedArchs. Errors:
 * PDL_ERROR_NO_COMPILER, PDL_ERROR_COMPILER_TOO_OLD, PDL_ERROR_INVALID_ARGUMENT,
 * PDL_ERROR_DESC_SIZE.
 */
PDL_API pdl_status pdl_rtc_compiler_get(pdl_rtc_compiler_info *info);

/* ------------------------------------------------------------------------------------------------
 * Images
 * ---------------------------------------------------------------------------------------------- */

/** A compiled text: code, names, and properties of its kernels. Immutable. */
typedef struct pdl_rtc_image pdl_rtc_image;

/**
 * Compiles a text, without any cache.
 *
 * Maps to nvrtcCreateProgram, nvrtcAddNameExpression and nvrtcCompileProgram.
 * @param program the text's name in the compiler's messages: "sigmoid.cu"; NULL: "kernel.cu"
 * @param source the text, ended by a NUL, of at most 64 MiB
 * @param options NULL: all default
 * @param[out] image freed with pdl_rtc_image_destroy()
 * Errors: PDL_ERROR_NO_COMPILER, PDL_ERROR_COMPILER_TOO_OLD, PDL_ERROR_OPTION, PDL_ERROR_COMPILE
 * (the message has the first error and the name of the file that the whole was written to, see
 * `PDL_RTC_DUMP_DIR`; pdl_rtc_log() has everything), PDL_ERROR_NOT_FOUND (a name),
 * PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_DESC_SIZE, PDL_ERROR_DESC_TOO_NEW,
 * PDL_ERROR_OUT_OF_MEMORY; without a target those of pdl_device_get(), and PDL_ERROR_NOT_SUPPORTED
 * where NVRTC no longer compiles for the device.
 */
PDL_API pdl_status pdl_rtc_compile(const char *program, const char *source,
                                   const pdl_rtc_options *options, pdl_rtc_image **image);

/** The compiler's complete output of the last compilation on the calling thread; may be "". Belongs
 * to the thread and is valid until its next compilation. Never NULL. */
PDL_API const char *pdl_rtc_log(void);

/** Frees an image. Kernels made from it stay. NULL is ignored. */
PDL_API void pdl_rtc_image_destroy(pdl_rtc_image *image);

/** The code, which lives as long as the image, and its size in bytes. PTX ends in a NUL that is
 * included. */
PDL_API const void *pdl_rtc_image_code(const pdl_rtc_image *image, size_t *size);

/** The kind of code: PDL_RTC_CUBIN or PDL_RTC_PTX. */
PDL_API pdl_rtc_output pdl_rtc_image_output(const pdl_rtc_image *image);

/** The target: "sm_90". */
PDL_API const char *pdl_rtc_image_target(const pdl_rtc_image *image);

/** The compiler's output, mostly warnings; may be "". Kept in the cache. */
PDL_API const char *pdl_rtc_image_log(const pdl_rtc_image *image);

/** The number of kernels. */
PDL_API size_t pdl_rtc_image_kernel_count(const pdl_rtc_image *image);

/** The properties of a kernel, by index; NULL if there is none. Lives as long as the image. `name`
 * is its lowered name, and `device` is -1. */
PDL_API const pdl_kernel_info *pdl_rtc_image_info(const pdl_rtc_image *image, size_t index);

/** The name expression of a kernel, by index; NULL if it has none. Lives as long as the image. */
PDL_API const char *pdl_rtc_image_expression(const pdl_rtc_image *image, size_t index);

/** The properties of the kernel with a name expression or a lowered name, which that of an extern "C" kernel is; NULL if
 * there is none. Lives as long as the image. */
PDL_API const pdl_kernel_info *pdl_rtc_image_find(const pdl_rtc_image *image, const char *name);

/**
 * Loads a kernel of an image. It serves every device that its code runs on, with the waits and
 * triggers from the image.
 *
 * Each such kernel has its own copy of the text's `__device__` variables.
 * @param[out] kernel freed with pdl_kernel_destroy()
 * Errors: PDL_ERROR_NOT_FOUND, and those of pdl_image_load() and pdl_image_kernel().
 */
PDL_API pdl_status pdl_rtc_image_kernel(const pdl_rtc_image *image, const char *name,
                                        pdl_kernel **kernel);

/* ------------------------------------------------------------------------------------------------
 * The cache
 * ---------------------------------------------------------------------------------------------- */

/**
 * Previously compiled kernels: in memory, in a folder, and in a second, read-only folder.
 *
 * Threads compile a text only once at a time, and processes that share the folder each for themselves. A child of a fork
 * creates a cache of its own, and names a target: the driver does not work there. Files that are
 * damaged, truncated or from another version of this library are compiled again.
 */
typedef struct pdl_rtc_cache pdl_rtc_cache;

/** Flags of a cache. */
typedef enum pdl_rtc_cache_flag {
    PDL_RTC_CACHE_MEMORY_ONLY = 1, /**< No folder, regardless of `directory` and the environment. */
    PDL_RTC_CACHE_READ_ONLY = 2    /**< `directory` is never written. */
} pdl_rtc_cache_flag;

/** The folders of a cache. Start from PDL_RTC_CACHE_DESC_INIT. The strings are copied. */
typedef struct pdl_rtc_cache_desc {
    uint32_t size;         /**< sizeof(pdl_rtc_cache_desc) as the caller was compiled. */
    uint32_t flags;        /**< pdl_rtc_cache_flag, or-ed. */
    const char *directory; /**< NULL: the environment's, see above. Created if missing. */
    const char *shipped;   /**< A second, read-only folder; NULL: the environment's. */
    uint64_t capacity;     /**< Bytes of `directory`; 0: the environment's, or 1 GiB. */
} pdl_rtc_cache_desc;

/** Initializer of a pdl_rtc_cache_desc. */
#define PDL_RTC_CACHE_DESC_INIT PDL_SIZED_INIT_(pdl_rtc_cache_desc)

/**
 * Makes a cache.
 *
 * @param desc NULL: all default Errors: PDL_ERROR_CACHE if a folder in `desc` cannot be used (it
 * cannot be created, is not a folder, belongs to another user, or others may write to it). An
 * unusable folder of the environment is ignored, and pdl_rtc_cache_stats() has the reason.
 * PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_DESC_SIZE, PDL_ERROR_DESC_TOO_NEW,
 * PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_rtc_cache_create(const pdl_rtc_cache_desc *desc, pdl_rtc_cache **cache);

/** Frees a cache and its kernels. Its folder stays. NULL is ignored: the default cache lives as
 * long as the process. */
PDL_API void pdl_rtc_cache_destroy(pdl_rtc_cache *cache);

/**
 * The usual call: returns a kernel of a text, and compiles it if necessary.
 *
 * Fast enough to be called before each launch: a kernel in memory is found by two 128-bit hashes of all that the call
 * names. Each call checks the size and times of included files; after a change, the text is compiled again.
 * @param cache NULL: the process's default cache
 * @param name a name expression, "scale<float, 4>", or the plain name of an extern "C" kernel; it need
 * not be among the options' names
 * @param[out] kernel belongs to the cache and must not be destroyed
 * Errors: those of pdl_rtc_compile() and pdl_rtc_image_kernel(); a folder that cannot be
 * written is not an error: see pdl_rtc_cache_stats().
 */
PDL_API pdl_status pdl_rtc_kernel(pdl_rtc_cache *cache, const char *source, const char *name,
                                  const pdl_rtc_options *options, pdl_kernel **kernel);

/**
 * As pdl_rtc_compile(), through a cache. Needs no device if a target is named.
 *
 * Errors: those of pdl_rtc_compile().
 */
PDL_API pdl_status pdl_rtc_cache_compile(pdl_rtc_cache *cache, const char *program,
                                         const char *source, const pdl_rtc_options *options,
                                         pdl_rtc_image **image);

/** Statistics of a cache in this process. Start from PDL_RTC_STATS_INIT. */
typedef struct pdl_rtc_stats {
    uint32_t size;           /**< sizeof(pdl_rtc_stats) as the caller was compiled. */
    uint32_t kernels;        /**< Currently in memory. */
    uint64_t memory_hits;    /**< Found in memory. */
    uint64_t disk_hits;      /**< Read from `directory`. */
    uint64_t shipped_hits;   /**< Read from the read-only folder. */
    uint64_t misses;         /**< Compiled. */
    uint64_t waits;          /**< Found after another thread had compiled it. */
    uint64_t failures;       /**< Compilations that failed. */
    uint64_t damaged;        /**< Files that were damaged or not trusted. */
    uint64_t stored;         /**< Written to `directory`. */
    uint64_t store_failures; /**< Failed writes; `problem` has the last reason. */
    uint64_t evicted;        /**< Files removed to stay within the capacity. */
    uint64_t memory_hit_ns;  /**< Spent in memory hits, by CLOCK_MONOTONIC, as below. */
    uint64_t disk_hit_ns;    /**< In hits of both folders, without loading into the driver. */
    uint64_t compile_ns;     /**< In the compilers. */
    char directory[256];     /**< In use; "" if none. Truncated if necessary. */
    char shipped[256];       /**< In use; "" if none. */
    char problem[256];       /**< The last reason why a folder is not used or not written, or why a
                                  text is not cached; "" if there is none. */
} pdl_rtc_stats;

/** Initializer of a pdl_rtc_stats. */
#define PDL_RTC_STATS_INIT PDL_SIZED_INIT_(pdl_rtc_stats)

/** Returns the statistics of a cache. @param cache NULL: the default cache. Errors:
 * PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_DESC_SIZE. */
PDL_API pdl_status pdl_rtc_cache_stats(pdl_rtc_cache *cache, pdl_rtc_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* PDL_RTC_H */
