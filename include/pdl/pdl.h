/* SPDX-License-Identifier: MIT */
/** @file
 * libpdl: kernel launches through one descriptor, with Programmatic Dependent Launch (PDL) that
 * does not race silently.
 *
 * The host API, for C99 and C++11 and newer. It includes no CUDA header: handles are the driver's
 * own struct pointers, so a CUstream or cudaStream_t, a CUevent or cudaEvent_t, a CUfunction and a
 * CUkernel can be passed directly. `pdl/cudart.h` adds kernels of the CUDA Runtime (`__global__`
 * symbols), `pdl/device.cuh` is the device side.
 *
 * Conventions, for everything below:
 * - Every function that can fail returns a pdl_status: 0 is success, errors are negative.
 *   pdl_last_error() has the details, with the numbers. Outputs are written only on success.
 * - A struct whose first field is `size` may grow at its end in later versions; its creator sets
 *   `size`. Start from its initializer. If a struct is smaller than the library's, only that much
 *   is read or written. If it is larger, up to 16384 bytes, the rest must be zero, or becomes
 *   zero. Other sizes give PDL_ERROR_DESC_SIZE. In structs from the library, `size` is the valid
 *   size. A struct without `size` never changes.
 * - Every function may be called from any thread. Many threads may use an object concurrently, but
 *   it may be destroyed only when no other thread uses it.
 * - libcuda.so.1 is opened on first use. A program that links libpdl starts on a machine without
 *   it.
 * - Environment, read once: `PDL_OVERLAP=0` disables every overlap (AUTO serializes, REQUIRE
 *   fails), for debugging. `PDL_LOG=stderr` or `PDL_LOG=FILE` logs each kernel's first decision
 *   about overlap and every change of it, one per line. `PDL_OVERLAP_PROOF=off` turns the analysis
 *   below off. pdl/policy.h has `PDL_OVERLAP=capture` and `PDL_OVERLAP_EXCLUDE`. An unknown value is
 *   reported on standard error, and the safe one is used; `docs/environment.md` lists all variables.
 *
 * What safe means:
 *
 * `PDL_OVERLAP_AUTO` grants an early start only on a device of compute capability 9.0 or newer,
 * and only to code that was compiled for 9.0 or newer and contains a wait. Where libpdl-inspect is
 * installed, it analyses that code. A kernel in which it finds a race is not granted. A kernel
 * that it cannot analyse, or neither proves correct nor finds a race in, is granted, except in
 * strict mode (`PDL_OVERLAP_STRICT=1`). `pdl_kernel_declare()` overrides what libpdl reads in the
 * code, and the analysis. The analysis sees one kernel at a time. It cannot see what other kernels
 * write, whether the program's statements about its kernels are true, or launches that libpdl does
 * not make. In machine code without PTX it treats an early access as not proved, not as a race.
 * Without libpdl-inspect one wait anywhere in the code is enough. A kernel that is not granted
 * starts after the kernel before it in its stream has ended, as without PDL. First read the
 * reason: run the program with `PDL_LOG=stderr`.
 */
#ifndef PDL_PDL_H
#define PDL_PDL_H

#include <stddef.h>
#include <stdint.h>

#include <pdl/version.h>

/* ------------------------------------------------------------------------------------------------
 * Macros
 * ---------------------------------------------------------------------------------------------- */

/** Marks what the shared library exports. On Windows, programs that link the static library define PDL_STATIC. */
#if defined(PDL_API) /* by the form of libpdl that is one file */
#elif defined(_WIN32) && defined(PDL_STATIC)
#define PDL_API
#elif defined(_WIN32)
#define PDL_API __declspec(dllimport)
#elif defined(__GNUC__)
#define PDL_API __attribute__((visibility("default")))
#else
#define PDL_API
#endif

/* A struct of which only `size` is set, the rest zero. */
#ifdef __cplusplus
template <typename Sized> static inline Sized pdl_sized_init_()
{
    Sized sized = Sized();
    sized.size = static_cast<uint32_t>(sizeof(Sized));
    return sized;
}
#define PDL_SIZED_INIT_(type) (::pdl_sized_init_<type>())
#else
#define PDL_SIZED_INIT_(type)                                                                      \
    {                                                                                              \
        .size = (uint32_t)sizeof(type)                                                             \
    }
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* CUDA's own handle types, by the names that cuda.h and the runtime headers give their structs. */
struct CUfunc_st;
struct CUkern_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraphDeviceUpdatableNode_st;

/* ------------------------------------------------------------------------------------------------
 * Status
 * ---------------------------------------------------------------------------------------------- */

/**
 * The list of statuses: X(name, value, message). Values are never reused; pdl/rtc.h has others.
 *
 * The first column without its prefix is what pdl_status_name() returns.
 */
#define PDL_STATUS_LIST(X)                                                                         \
    X(PDL_SUCCESS, 0, "success")                                                                   \
    X(PDL_ERROR_INVALID_ARGUMENT, -1, "an argument is NULL or out of its range")                   \
    X(PDL_ERROR_OUT_OF_MEMORY, -2, "out of memory")                                                \
    X(PDL_ERROR_NO_DRIVER, -3, "no CUDA driver is installed (libcuda.so.1 cannot be loaded)")      \
    X(PDL_ERROR_STUB_DRIVER, -4, "the loaded libcuda is the toolkit's stub, not a driver")         \
    X(PDL_ERROR_DRIVER_TOO_OLD, -5, "the CUDA driver is too old")                                  \
    X(PDL_ERROR_NO_DEVICE, -6, "the CUDA driver finds no device")                                  \
    X(PDL_ERROR_INVALID_DEVICE, -7, "there is no device with that ordinal")                        \
    X(PDL_ERROR_NO_CONTEXT, -8, "no CUDA context is current on this thread")                       \
    X(PDL_ERROR_DESC_SIZE, -9, "the descriptor's size field is not valid for this library")        \
    X(PDL_ERROR_DESC_TOO_NEW, -10, "the descriptor sets a field that this library does not have")  \
    X(PDL_ERROR_INVALID_GRID, -11, "the grid is empty or over the device's limit")                 \
    X(PDL_ERROR_INVALID_BLOCK, -12, "the block is empty or over the device's limit")               \
    X(PDL_ERROR_BLOCK_TOO_LARGE, -13, "the block has more threads than the kernel allows")         \
    X(PDL_ERROR_INVALID_CLUSTER, -14, "the cluster does not fit the grid or the device")           \
    X(PDL_ERROR_SHARED_MEMORY, -15, "more dynamic shared memory than the kernel may have")         \
    X(PDL_ERROR_COOPERATIVE_TOO_LARGE, -16, "the cooperative grid does not fit on the device")     \
    X(PDL_ERROR_COOPERATIVE_OVERLAP, -17, "a cooperative launch cannot be required to overlap")    \
    X(PDL_ERROR_OVERLAP, -18, "the required overlap cannot be granted")                            \
    X(PDL_ERROR_EVENT, -19, "the event cannot be recorded by a launch")                            \
    X(PDL_ERROR_INVALID_IMAGE, -20, "the image is not a kernel image")                             \
    X(PDL_ERROR_NO_KERNEL_IMAGE, -21, "the image contains no code for this device")                \
    X(PDL_ERROR_NOT_FOUND, -22, "the image contains no kernel with that name")                     \
    X(PDL_ERROR_FILE, -23, "the file cannot be read or written")                                   \
    X(PDL_ERROR_NOT_SUPPORTED, -24, "the device, driver or runtime does not support the request")  \
    X(PDL_ERROR_DEVICE_FAULT, -25, "an earlier kernel faulted and the context is unusable")        \
    X(PDL_ERROR_DRIVER, -26, "a CUDA call failed")                                                 \
    X(PDL_ERROR_LAUNCH_RESOURCES, -27, "the launch needs more registers or memory than available") \
    X(PDL_ERROR_INVALID_HANDLE, -28, "a stream, event or kernel handle is not valid here")         \
    X(PDL_ERROR_DESC_FIELD, -29, "a field of the descriptor has an invalid value")                 \
    X(PDL_ERROR_EDGE, -30, "the dependency cannot be made between these nodes")                    \
    X(PDL_ERROR_CYCLE, -31, "the dependency would close a cycle")                                  \
    X(PDL_ERROR_NOT_BUILT, -32, "the chain is not built, or was changed since")                    \
    X(PDL_ERROR_BUSY, -33, "another thread is using the object")                                   \
    X(PDL_ERROR_REBUILD, -34, "the change requires the chain to be rebuilt")                       \
    X(PDL_ERROR_ARGUMENT_SIZE, -35,                                                                \
      "the sizes of the arguments differ from the kernel's parameters")                            \
    X(PDL_ERROR_WRONG_DEVICE, -36, "the object belongs to another device")                         \
    X(PDL_ERROR_CANCELLED, -40, "the caller cancelled the call")                                   \
    X(PDL_ERROR_CAPTURE, -43, "the stream capture is broken, or none is in progress")

/** The result of a call: PDL_SUCCESS (0) or a negative error. See ::PDL_STATUS_LIST. */
typedef enum pdl_status {
#define PDL_STATUS_ENUMERATOR_(name, value, message) name = value,
    PDL_STATUS_LIST(PDL_STATUS_ENUMERATOR_)
#undef PDL_STATUS_ENUMERATOR_
        PDL_STATUS_FORCE_32_BITS_ = 0x7fffffff /* not a status */
} pdl_status;

/**
 * The details of an error. Start from PDL_ERROR_INIT.
 *
 * The strings of static storage (`call`, `field`) are NULL if they do not apply.
 */
typedef struct pdl_error {
    uint32_t size;       /**< sizeof(pdl_error) as its creator was compiled. */
    int32_t status;      /**< The pdl_status that the call returned. */
    int32_t cuda_result; /**< The CUresult (or cudaError_t) that caused it; 0 if none. */
    uint32_t reserved;   /**< Zero. */
    const char *call;    /**< The CUDA call that failed, such as "cuLaunchKernelEx". */
    const char *field;   /**< The descriptor's field or the argument at fault, such as "block". */
    char message[384];   /**< One sentence with the numbers in it, NUL-terminated. */
} pdl_error;

/** Initializer of a pdl_error. */
#define PDL_ERROR_INIT PDL_SIZED_INIT_(pdl_error)

/**
 * The name of a status without its prefix, such as "INVALID_GRID"; "UNKNOWN" for an unknown
 * number.
 *
 * The string is static. Thread-safe. Cannot fail.
 */
PDL_API const char *pdl_status_name(pdl_status status);

/**
 * The details of the last libpdl call that failed on the calling thread.
 *
 * Like errno it is not cleared by success. Never NULL: before any failure its status is 0. The
 * struct belongs to the library and the thread; it is valid until that thread's next failing call.
 */
PDL_API const pdl_error *pdl_last_error(void);

/**
 * Records a copy of an error as the last one of the calling thread, and returns its status.
 *
 * For libraries that are built on libpdl and return its statuses, and for errors that are kept and
 * reported again. The strings must be of static storage. Thread-safe. Returns
 * PDL_ERROR_INVALID_ARGUMENT for NULL or an error whose status is PDL_SUCCESS, and
 * PDL_ERROR_DESC_SIZE for an invalid size.
 */
PDL_API pdl_status pdl_error_record(const pdl_error *error);

/** The version of the loaded library, in the form of PDL_VERSION. Cannot fail. */
PDL_API uint32_t pdl_version(void);

/* ------------------------------------------------------------------------------------------------
 * Overlap
 * ---------------------------------------------------------------------------------------------- */

/** Whether a launch may start before the previous work in its stream has ended. */
typedef enum pdl_overlap {
    /** Never: the launch is ordinary, whatever the kernel does. The default. */
    PDL_OVERLAP_NONE = 0,
    /** Where it is supported, the kernel is known to wait, and libpdl-inspect, if it is installed,
     * finds no race in its code or it is declared to wait; otherwise the launch is ordinary. A
     * kernel may have a race that is not found: see ::pdl_proof and ::pdl_reason. */
    PDL_OVERLAP_AUTO = 1,
    /** Under the same conditions; otherwise the launch fails and nothing is launched. */
    PDL_OVERLAP_REQUIRE = 2
} pdl_overlap;

/** Why an overlap was or was not granted. No value is also a pdl_overlap, so that a descriptor with
 * a reason in `overlap` is refused. */
typedef enum pdl_reason {
    PDL_REASON_GRANTED = 16,       /**< Granted: the launch carries the PDL attribute. */
    PDL_REASON_NOT_REQUESTED = 17, /**< The descriptor has PDL_OVERLAP_NONE. */
    PDL_REASON_DISABLED = 18,      /**< PDL_OVERLAP=0, or `off` of a policy. */
    PDL_REASON_DEVICE = 19,        /**< The device's compute capability is below 9.0. */
    PDL_REASON_CODE = 20,        /**< The kernel was compiled for less than 9.0: no waits in it. */
    PDL_REASON_NO_WAIT = 21,     /**< The kernel is known not to wait: a data race. */
    PDL_REASON_COOPERATIVE = 22, /**< A cooperative launch never starts early. */
    /** It is unknown whether the kernel waits: its code is not available or cannot be read. */
    PDL_REASON_WAITS_UNKNOWN = 24,
    /** The kernel before does not wait, so the kernel's wait does not cover the kernels before that one. Chains
     * and hand-built graphs. */
    PDL_REASON_PREDECESSOR = 25,
    PDL_REASON_NOT_CAPTURING = 26, /**< Only launches that are captured may overlap. */
    PDL_REASON_EXCLUDED = 28,      /**< A policy excludes the kernel. 23 and 27 are not used. */
    /** PDL_OVERLAP_STRICT=1, and the kernel is not proved to wait on every path before it touches
     * memory. */
    PDL_REASON_STRICT = 29,
    /** Everything that the kernel depends on is a node of another type. Chains. */
    PDL_REASON_NODE = 30,
    /** libpdl-inspect finds a race in the kernel's code: a finding of `pdltool lint` of level warning
     * or error. See ::pdl_proof. */
    PDL_REASON_RACE = 31
} pdl_reason;

/** One clause for a reason, such as "the device is below compute capability 9.0". Static. */
PDL_API const char *pdl_reason_string(pdl_reason reason);

/* ------------------------------------------------------------------------------------------------
 * Device
 * ---------------------------------------------------------------------------------------------- */

/** What libpdl knows of a device. Sizes are in bytes. Start from PDL_DEVICE_INFO_INIT. */
typedef struct pdl_device_info {
    uint32_t size;                    /**< sizeof(pdl_device_info) as the caller was compiled. */
    int32_t ordinal;                  /**< CUdevice. */
    int32_t compute_capability_major; /**< 9 on Hopper. */
    int32_t compute_capability_minor; /**< 0 on Hopper. */
    int32_t driver_version;           /**< As cuDriverGetVersion: 1000 * major + 10 * minor. */
    int32_t multiprocessor_count;     /**< Streaming multiprocessors (SMs). */
    int32_t warp_size;                /**< Threads. */
    int32_t max_threads_per_block;    /**< Threads. */
    int32_t max_threads_per_multiprocessor; /**< Threads. */
    int32_t max_blocks_per_multiprocessor;  /**< Blocks. */
    int32_t registers_per_multiprocessor;   /**< 32-bit registers. */
    int32_t shared_memory_per_block;        /**< Without opting in. */
    int32_t
        shared_memory_per_block_optin; /**< By opting in: PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY. */
    int32_t shared_memory_per_multiprocessor; /**< For all blocks on one SM. */
    int32_t reserved_shared_memory_per_block; /**< The part that CUDA reserves per block. */
    int32_t l2_cache_size;                    /**< The whole L2. */
    int32_t max_block[3];                     /**< Largest x, y, z of a block. */
    int32_t max_grid[3];                      /**< Largest x, y, z of a grid. */
    uint32_t cooperative_launch;              /**< 1 if cooperative launches are supported. */
    uint32_t cluster_launch;                  /**< 1 if clusters are supported. */
    uint32_t can_overlap;                     /**< 1 if launches may overlap on this device. */
    uint32_t overlap_reason;                  /**< A pdl_reason: why not, or PDL_REASON_GRANTED. */
    char name[128];                           /**< As cuDeviceGetName, NUL-terminated. */
    /** With PDL_SHARED_MEMORY_ALLOW_OVERSIZED. 0: the device has none, or the driver is older than
     * CUDA 13.4. */
    int32_t oversized_shared_memory_per_block;
} pdl_device_info;

/** Initializer of a pdl_device_info. */
#define PDL_DEVICE_INFO_INIT PDL_SIZED_INIT_(pdl_device_info)

/**
 * Reports the properties of a device and whether launches may overlap on it.
 *
 * Needs a context for -1 only. Maps to cuDeviceGetAttribute and cuDeviceGetName, called once per device.
 * @param device the ordinal, from 0; -1: the current context's (cuCtxGetDevice)
 * @param[in,out] info its size field says how much of it the caller knows
 * Errors: the four of driver loading (PDL_ERROR_NO_DRIVER, PDL_ERROR_STUB_DRIVER,
 * PDL_ERROR_DRIVER_TOO_OLD, PDL_ERROR_NO_DEVICE), PDL_ERROR_INVALID_DEVICE (also past the last
 * device), PDL_ERROR_NO_CONTEXT, PDL_ERROR_INVALID_ARGUMENT.
 */
PDL_API pdl_status pdl_device_get(int device, pdl_device_info *info);

/* ------------------------------------------------------------------------------------------------
 * Kernel
 * ---------------------------------------------------------------------------------------------- */

/**
 * A kernel that can be launched: created once, launched from any thread.
 *
 * The driver is asked for its properties once per device, at the first launch there, and the
 * answer is kept.
 */
typedef struct pdl_kernel pdl_kernel;

/** What is known about a property of the code. */
typedef enum pdl_known {
    PDL_UNKNOWN = 0, /**< Not examined, or it cannot be determined. */
    PDL_NO = 1,      /**< Known not to. */
    PDL_YES = 2      /**< Known to. */
} pdl_known;

/**
 * What libpdl-inspect proves of a kernel's code, where it is installed and `PDL_OVERLAP_PROOF` or
 * strict mode is on.
 *
 * PDL_OVERLAP_AUTO grants no kernel in which a race is found. It grants a kernel that waits and is
 * neither proved nor has a race, and one that was not analysed; strict mode grants only proved ones.
 * Both grant one that pdl_kernel_declare() declares to wait.
 */
typedef enum pdl_proof {
    /** There is no libpdl-inspect of this version, the analysis is off or above its budget, or the
     * code is not known, cannot be read or never waits. */
    PDL_PROOF_NOT_ANALYSED = 0,
    PDL_PROOF_RACE = 1,       /**< `pdltool lint` has a warning or an error for it. */
    PDL_PROOF_NOT_PROVED = 2, /**< Neither. */
    PDL_PROOF_PROVED = 3      /**< It waits on every path before it touches memory. */
} pdl_proof;

/**
 * The properties of a kernel: on a device from pdl_kernel_get(), or from its code alone
 * (pdl/inspect.h, pdl/rtc.h), where `device` is -1 and device-dependent fields are -1 too. Start
 * from PDL_KERNEL_INFO_INIT.
 */
typedef struct pdl_kernel_info {
    uint32_t size;  /**< sizeof(pdl_kernel_info) as its creator was compiled. */
    int32_t device; /**< The device that this describes; -1 if none. */
    /** As in the code, mangled for C++; "(unnamed)" if the driver does not report it (before CUDA
     * 12.3). Lives as long as the kernel or its owner. */
    const char *name;
    int32_t ptx_version;    /**< 10 * major + minor of the compute_XY it was compiled for. */
    int32_t binary_version; /**< 10 * major + minor of the machine code. */
    /** Threads, by the kernel's registers and launch bounds; in code, by the bounds alone, -1
     * without any. */
    int32_t max_threads_per_block;
    int32_t registers_per_thread;      /**< 32-bit registers. */
    int32_t static_shared_memory;      /**< Bytes per block. */
    int32_t max_dynamic_shared_memory; /**< Bytes per block that a launch may ask for now. */
    int32_t local_memory;              /**< Bytes per thread. */
    int32_t constant_memory;           /**< Bytes. */
    int32_t parameter_count;           /**< Parameters. -1: unknown, as before driver 12.4. */
    uint32_t waits;                    /**< A pdl_known: executes griddepcontrol.wait. */
    uint32_t waits_always;             /**< A pdl_known: on every path. Requires analysis of code;
                                  pdl_kernel_get() has it where that was analysed: see `proof`. */
    uint32_t triggers; /**< A pdl_known: executes griddepcontrol.launch_dependents. */
    /** 1 if PDL_OVERLAP_AUTO would be granted on `device` to a launch that is captured and not
     * cooperative. */
    uint32_t can_overlap;
    uint32_t overlap_reason; /**< A pdl_reason; 0 without a device. */
    /** Why `waits` or `triggers` is PDL_UNKNOWN, as a clause such as "its code was not found". If
     * both are known because machine code was read as that of a similar architecture, this
     * assumption. Otherwise NULL, and from pdl/inspect.h and pdl/rtc.h. Static. */
    const char *unknown_why;
    /** A pdl_proof: what libpdl-inspect proves of the code, from pdl_kernel_get() alone. */
    uint32_t proof;
    uint32_t reserved; /**< Zero. */
    /** From pdl_kernel_get(), a clause: the rule, source location and remedy of a race, or why a
     * kernel that waits was not analysed. Otherwise NULL. Lives as long as the kernel. */
    const char *proof_text;
    /** Blocks per cluster in x, y and z of each launch (__cluster_dims__, .reqnctapercluster); 0 if
     * the code requires no size. */
    uint32_t required_cluster[3];
    /** Threads per block in x, y and z of each launch (__block_size__, .reqntid); 0 if the code
     * requires none. The driver does not report it: pdl_kernel_get() has it where the code is known. */
    uint32_t required_block[3];
    /** Maximum of blocks per cluster (third of __launch_bounds__, .maxclusterrank); 0 if none is
     * given. Likewise. */
    uint32_t max_cluster_blocks;
    /** Blocks that an SM is to hold (second of __launch_bounds__, .minnctapersm); 0 if none is
     * given. -1: unknown, as in machine code and by the driver. */
    int32_t min_blocks_per_multiprocessor;
    /** 1 if launches have clusters, be it of `required_cluster` or of the descriptor's
     * (.explicitcluster). */
    uint32_t cluster_must_be_set;
    /** A pdl_known: a grid counts clusters, not blocks (__block_size__ with a cluster,
     * .blocksareclusters). */
    uint32_t blocks_are_clusters;
} pdl_kernel_info;

/** Initializer of a pdl_kernel_info. */
#define PDL_KERNEL_INFO_INIT PDL_SIZED_INIT_(pdl_kernel_info)

/** A kernel image: PTX text, a cubin or a fatbin. Opaque. Thread-safe. */
typedef struct pdl_image pdl_image;

/**
 * Loads an image, and reads of each of its kernels whether it waits and triggers.
 *
 * The bytes are copied; PTX text need not end in a NUL. The driver loads the image when the first
 * kernel is taken from it, so an image for pdl_kernel_from_function() is not loaded twice. Waits and
 * triggers are those of the code that the present devices run. They stay unknown for a kernel that
 * calls external code, or if the image is compressed and the library for that (libzstd.so.1,
 * liblz4.so.1) is missing: see `waits` of pdl_kernel_info.
 * @param image the bytes
 * @param size how many bytes there are
 * @param[out] loaded freed with pdl_image_free()
 * Errors: driver loading, PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_INVALID_IMAGE,
 * PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_image_load(const void *image, size_t size, pdl_image **loaded);

/**
 * As pdl_image_load(), with the image read from a file.
 *
 * Errors: also PDL_ERROR_FILE, with the C library's reason in the message.
 */
PDL_API pdl_status pdl_image_load_file(const char *path, pdl_image **loaded);

/**
 * Makes a kernel from the entry of an image that has this name.
 *
 * Needs no context; one kernel serves every device, as with pdl_kernel_from_kernel(). Maps to
 * cuLibraryLoadData (once per image) and cuLibraryGetKernel.
 * @param name the entry's name in the image: plain for extern "C", otherwise mangled
 * Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_INVALID_IMAGE (with the PTX compiler's log in the
 * message), PDL_ERROR_NO_KERNEL_IMAGE, PDL_ERROR_NOT_FOUND, PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_image_kernel(pdl_image *image, const char *name, pdl_kernel **kernel);

/**
 * Frees an image. NULL is allowed. Its kernels stay valid: the last one of them to be destroyed
 * unloads the code (cuLibraryUnload), after which no launch of it may be in flight.
 */
PDL_API void pdl_image_free(pdl_image *image);

/**
 * Makes a kernel from a CUfunction.
 *
 * The function's context must be current. The function still belongs to its module: unload that
 * only after pdl_kernel_destroy(). Launches go through cuLaunchKernelEx.
 * @param image what the function's module was loaded from, so that libpdl can read whether the
 * kernel waits and triggers; NULL: that is unknown. If the driver reports another code version than
 * the image has for the device, it stays unknown. Maps to cuFuncGetName (CUDA 12.3; unknown before).
 * Errors: driver loading, PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_NO_CONTEXT,
 * PDL_ERROR_INVALID_HANDLE, PDL_ERROR_NOT_FOUND (the image has no kernel of the function's name),
 * PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_kernel_from_function(struct CUfunc_st *function, pdl_image *image,
                                            pdl_kernel **kernel);

/**
 * Makes a kernel from a CUkernel, which serves every device.
 *
 * Needs no context. The CUkernel still belongs to its CUlibrary: unload that only after
 * pdl_kernel_destroy(). Launches go through cuLaunchKernelEx on the stream's device, which for a
 * default stream is the current context's.
 * @param image as for pdl_kernel_from_function(). Maps to cuKernelGetName.
 * Errors: those of pdl_kernel_from_function() that need no context.
 */
PDL_API pdl_status pdl_kernel_from_kernel(struct CUkern_st *cu_kernel, pdl_image *image,
                                          pdl_kernel **kernel);

/** Frees a kernel. NULL is allowed. No launch of it may be in flight if it was made by
 * pdl_image_kernel(). */
PDL_API void pdl_kernel_destroy(pdl_kernel *kernel);

/**
 * Reports the properties of a kernel on a device.
 *
 * For a kernel from a function or a symbol that device must be the current context's. Maps to
 * cuFuncGetAttribute or cuKernelGetAttribute, called once per device.
 * @param device the ordinal, or -1 for the current context's
 * Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_INVALID_DEVICE, PDL_ERROR_NO_CONTEXT,
 * PDL_ERROR_NO_KERNEL_IMAGE, PDL_ERROR_DRIVER.
 */
PDL_API pdl_status pdl_kernel_get(pdl_kernel *kernel, int device, pdl_kernel_info *info);

/**
 * Declares whether the kernel waits and triggers, if libpdl cannot determine it.
 *
 * A kernel declared not to wait is never overlapped. The declaration, including PDL_UNKNOWN,
 * overrides what was read from an image, and PDL_YES overrides PDL_OVERLAP_STRICT=1 and a race that
 * is found in the code. Call it before the kernel is shared with other threads. Errors:
 * PDL_ERROR_INVALID_ARGUMENT.
 */
PDL_API pdl_status pdl_kernel_declare(pdl_kernel *kernel, pdl_known waits, pdl_known triggers);

/**
 * Analyses the code of a kernel ahead of its first launch, and reports the result. No budget bounds
 * this analysis, as it does that of a first launch and of a kernel that is made from an image.
 *
 * Later launches are decided by it. An image is analysed once per process and kind of device; a
 * kernel whose code is not known, that never waits or is declared, is not analysed.
 * The context is as for pdl_kernel_get(). Thread-safe.
 * @param device the ordinal, or -1 for the current context's
 * @param proof the result
 * Errors: those of pdl_kernel_get().
 */
PDL_API pdl_status pdl_kernel_prove(pdl_kernel *kernel, int device, pdl_proof *proof);

/**
 * Why nothing is proved of any kernel in this process, as a clause; NULL if kernels are analysed.
 *
 * Loads libpdl-inspect, of which libpdl accepts only its own version. It is looked for beside
 * libpdl.so, then by its soname; by libpdl in two files by its soname only. Lives as long as the
 * process. Thread-safe. Cannot fail.
 */
PDL_API const char *pdl_proof_missing(void);

/**
 * Attributes of a kernel that can be set. The values are those of CUfunction_attribute; newer ones
 * are passed to the driver unchanged.
 */
typedef enum pdl_kernel_attribute {
    /** Bytes of dynamic shared memory that a launch may ask for, above the 48 KiB that need no
     * opting in: at most the device's shared_memory_per_block_optin less the static ones. */
    PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY = 8,
    /** Share of the SM's L1 memory to be shared memory, percent; -1: the driver's choice. */
    PDL_KERNEL_SHARED_MEMORY_CARVEOUT = 9,
    /** 1: clusters of more than 8 blocks are allowed. */
    PDL_KERNEL_NON_PORTABLE_CLUSTER_SIZE = 14,
    /** A pdl_cluster_scheduling. */
    PDL_KERNEL_CLUSTER_SCHEDULING = 15,
    /** A pdl_shared_memory_mode for launches with PDL_SHARED_MEMORY_DEFAULT. Replaces
     * PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY. CUDA 13.4. */
    PDL_KERNEL_SHARED_MEMORY_MODE = 17
} pdl_kernel_attribute;

/**
 * Sets an attribute of a kernel on the current context's device.
 *
 * Maps to cuKernelSetAttribute or cuFuncSetAttribute. Thread-safe.
 * @param attribute a pdl_kernel_attribute, or a number of CUfunction_attribute
 * Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_SHARED_MEMORY, PDL_ERROR_NO_CONTEXT,
 * PDL_ERROR_NOT_SUPPORTED (the driver does not know it, or it cannot be set), PDL_ERROR_DRIVER.
 */
PDL_API pdl_status pdl_kernel_set_attribute(pdl_kernel *kernel, int32_t attribute, int32_t value);

/* ------------------------------------------------------------------------------------------------
 * Launch
 * ---------------------------------------------------------------------------------------------- */

/** How the blocks of a cluster are placed. CUclusterSchedulingPolicy. */
typedef enum pdl_cluster_scheduling {
    PDL_CLUSTER_SCHEDULING_DEFAULT = 0,        /**< The driver's choice. */
    PDL_CLUSTER_SCHEDULING_SPREAD = 1,         /**< Blocks of a cluster spread over SMs. */
    PDL_CLUSTER_SCHEDULING_LOAD_BALANCING = 2, /**< The hardware balances the load. */
    /** Blocks of a cluster near each other, for their shared memory. Rubin, CUDA 13.4. */
    PDL_CLUSTER_SCHEDULING_RUBIN_DSMEM_LOCALITY = 3
} pdl_cluster_scheduling;

/** How the cache treats a line of an access policy window. CUaccessProperty. */
typedef enum pdl_access_property {
    PDL_ACCESS_NORMAL = 0,    /**< As without a window. */
    PDL_ACCESS_STREAMING = 1, /**< Less likely to stay in the cache. */
    PDL_ACCESS_PERSISTING = 2 /**< More likely to stay in the cache. Not allowed for misses. */
} pdl_access_property;

/** An L2 access policy window. CUaccessPolicyWindow; `bytes` 0 means none. */
typedef struct pdl_access_policy {
    void *base;             /**< Device address where the window begins. */
    uint64_t bytes;         /**< Its length; 0: no window. */
    float hit_ratio;        /**< Share of the lines that get hit_property, 0 to 1. */
    uint32_t hit_property;  /**< A pdl_access_property. */
    uint32_t miss_property; /**< A pdl_access_property, not PERSISTING. */
    uint32_t reserved;      /**< Zero. */
} pdl_access_policy;

/** Which cluster sizes a launch may have. CUlaunchAttributePortableClusterMode. */
typedef enum pdl_portable_cluster_size {
    PDL_PORTABLE_CLUSTER_SIZE_DEFAULT = 0,     /**< As PDL_KERNEL_NON_PORTABLE_CLUSTER_SIZE says. */
    PDL_PORTABLE_CLUSTER_SIZE_REQUIRED = 1,    /**< At most 8 blocks. */
    PDL_PORTABLE_CLUSTER_SIZE_NOT_REQUIRED = 2 /**< More than 8, where the device has room. */
} pdl_portable_cluster_size;

/** How much shared memory a launch may ask for, including the kernel's static part.
 * CUsharedMemoryMode. */
typedef enum pdl_shared_memory_mode {
    /** As PDL_KERNEL_SHARED_MEMORY_MODE says, or PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY. */
    PDL_SHARED_MEMORY_DEFAULT = 0,
    PDL_SHARED_MEMORY_PORTABLE = 1,     /**< At most the device's shared_memory_per_block. */
    PDL_SHARED_MEMORY_NON_PORTABLE = 2, /**< At most its shared_memory_per_block_optin. */
    /** At most its oversized_shared_memory_per_block, which leaves 8 KiB of L1 cache. CUDA 13.4. */
    PDL_SHARED_MEMORY_ALLOW_OVERSIZED = 3,
    PDL_SHARED_MEMORY_PREFER_OVERSIZED = 4 /**< The same, and preferably so. CUDA 13.4. */
} pdl_shared_memory_mode;

/** Which stream a NULL stream is. */
typedef enum pdl_default_stream {
    PDL_DEFAULT_STREAM_LEGACY = 0,    /**< CU_STREAM_LEGACY, which waits for other streams. */
    PDL_DEFAULT_STREAM_PER_THREAD = 1 /**< CU_STREAM_PER_THREAD. */
} pdl_default_stream;

/** Bits of pdl_launch_desc::flags: pass this field to the driver even if it is zero. */
enum {
    PDL_LAUNCH_SET_PRIORITY = 0x1,                  /**< Pass `priority`. */
    PDL_LAUNCH_SET_MEM_SYNC_DOMAIN = 0x2,           /**< Pass `mem_sync_domain`. */
    PDL_LAUNCH_SET_MEM_SYNC_DOMAIN_MAP = 0x4,       /**< Pass `mem_sync_domain_map`. */
    PDL_LAUNCH_SET_SHARED_MEMORY_CARVEOUT = 0x8,    /**< Pass `shared_memory_carveout`. */
    PDL_LAUNCH_SET_NVLINK_CENTRIC_SCHEDULING = 0x10 /**< Pass `nvlink_centric_scheduling`. */
};

/**
 * The launch descriptor: all parameters of a launch, transparent, on the caller's stack.
 *
 * Zero means the default in every field, so name only the others. Make it with PDL_LAUNCH_DESC()
 * or pdl_launch_desc_init(). Five fields have a zero that is also a value (priority and so on): a
 * zero there is passed to the driver only if the field's bit in `flags` is set.
 *
 * `size` is the size of the struct that the caller was compiled with. In a smaller struct, missing
 * fields have their default. A larger one, up to 16384 bytes, is accepted if the part that the
 * library does not know is zero.
 *
 * Each field names the launch attribute that it becomes, and the driver (and runtime) that it
 * needs if newer than CUDA 12.0.
 *
 * The library reads and writes what a descriptor points to during the call only, and copies
 * `extra_attributes` into a chain. Streams and events still belong to the caller, as in
 * cuLaunchKernelEx.
 */
typedef struct pdl_launch_desc {
    uint32_t size; /**< sizeof(pdl_launch_desc) as the caller was compiled. */
    /** A pdl_default_stream: what a NULL `stream` means. PDL_LAUNCH_DESC() and
     * pdl_launch_desc_init() set it as the translation unit was compiled (nvcc --default-stream, or
     * CUDA_API_PER_THREAD_DEFAULT_STREAM). */
    uint32_t default_stream;
    uint32_t flags; /**< Bits PDL_LAUNCH_SET_…. */

    /** Blocks; clusters, if the kernel's code counts them. x must be given; y and z: 0 means 1. */
    uint32_t grid[3];
    uint32_t block[3]; /**< Threads. x must be given; y and z: 0 means 1. */

    /** Blocks in a cluster; all 0: those that are compiled in, or none; otherwise y and z: 0 means
     * 1. If clusters are compiled in, it must be the same. CLUSTER_DIMENSION. Compute capability
     * 9.0. */
    uint32_t cluster[3];
    /** A multiple of `cluster` to use where it fits. PREFERRED_CLUSTER_DIMENSION. CUDA 12.8. */
    uint32_t preferred_cluster[3];
    /** A pdl_cluster_scheduling. CLUSTER_SCHEDULING_POLICY_PREFERENCE. */
    uint32_t cluster_scheduling;

    uint32_t dynamic_shared_memory; /**< Bytes per block. */
    struct CUstream_st *stream;     /**< CUstream or cudaStream_t. NULL: the default stream. */

    /** A pdl_overlap. PROGRAMMATIC_STREAM_SERIALIZATION if it is granted. */
    uint32_t overlap;
    /** 1: all blocks run concurrently and may synchronize (grid sync). COOPERATIVE. */
    uint32_t cooperative;

    /** Recorded when every block has triggered or ended; the waiter still needs the kernel-side
     * wait to see this kernel's writes. The driver takes only events without timing that are not
     * interprocess (CU_EVENT_DISABLE_TIMING, cudaEventDisableTiming). PROGRAMMATIC_EVENT. */
    struct CUevent_st *trigger_event;
    /** Recorded when every block has started. Does not order the kernel's writes. As
     * `trigger_event`. LAUNCH_COMPLETION_EVENT. CUDA 12.3. */
    struct CUevent_st *launch_event;
    /** 1: `trigger_event` counts a block as triggered when it starts. */
    uint32_t trigger_at_block_start;

    int32_t priority; /**< As of a stream: lower runs first; see `flags`. PRIORITY. */
    /** 0 the default domain, 1 the remote one; see `flags`. MEM_SYNC_DOMAIN. */
    uint32_t mem_sync_domain;
    /** Physical domains of the default and the remote one; see `flags`. MEM_SYNC_DOMAIN_MAP. */
    uint8_t mem_sync_domain_map[2];
    uint8_t reserved[2]; /**< Zero. */

    /** Share of the SM's L1 memory to be shared memory, percent; see `flags`.
     * PREFERRED_SHARED_MEMORY_CARVEOUT. CUDA 12.5. */
    uint32_t shared_memory_carveout;
    /** 1: prefer a placement of blocks for NVLink throughput; see `flags`.
     * NVLINK_UTIL_CENTRIC_SCHEDULING. CUDA 13.0. */
    uint32_t nvlink_centric_scheduling;

    /** A pdl_portable_cluster_size. PORTABLE_CLUSTER_SIZE_MODE. CUDA 13.2. */
    uint32_t portable_cluster_size;
    /** A pdl_shared_memory_mode: the limit of `dynamic_shared_memory`. SHARED_MEMORY_MODE. CUDA
     * 13.2. */
    uint32_t shared_memory_mode;

    pdl_access_policy access_policy; /**< ACCESS_POLICY_WINDOW. */

    /** Not NULL: while capturing, makes the node updatable from the device and writes its handle
     * (CUgraphDeviceNode) here. DEVICE_UPDATABLE_KERNEL_NODE. CUDA 12.4. */
    struct CUgraphDeviceUpdatableNode_st **device_node;

    /** CUlaunchAttribute[] for attributes without a field. Copies are passed to the driver after the
     * others, unchecked: what the driver writes into them is lost. PROGRAMMATIC_STREAM_SERIALIZATION
     * is refused there with either value, because `overlap` alone decides about it; so are
     * COOPERATIVE, CLUSTER_DIMENSION, PREFERRED_CLUSTER_DIMENSION, PROGRAMMATIC_EVENT and
     * DEVICE_UPDATABLE_KERNEL_NODE. */
    const void *extra_attributes;
    uint32_t extra_attribute_count; /**< Elements of `extra_attributes`, at most 16. */
    uint32_t reserved_end;          /**< Zero. */
} pdl_launch_desc;

/** The effect of a launch, from pdl_launch_explain(). Start from PDL_LAUNCH_REPORT_INIT. */
typedef struct pdl_launch_report {
    uint32_t size;            /**< sizeof(pdl_launch_report) as the caller was compiled. */
    int32_t device;           /**< Where it would run. */
    uint32_t overlap;         /**< 1 if the launch would carry the PDL attribute. */
    uint32_t overlap_reason;  /**< A pdl_reason. */
    uint32_t attribute_count; /**< How many launch attributes the driver would get, at most 64. */
    uint32_t attributes[64];  /**< Their CUlaunchAttributeID, in order. */
    char message[400];        /**< The decision and its reason as a sentence. */
} pdl_launch_report;

/** Initializer of a pdl_launch_report. */
#define PDL_LAUNCH_REPORT_INIT PDL_SIZED_INIT_(pdl_launch_report)

/** The default of `default_stream` in this translation unit. */
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) || defined(__CUDA_API_PER_THREAD_DEFAULT_STREAM)
#define PDL_DEFAULT_STREAM ((uint32_t)PDL_DEFAULT_STREAM_PER_THREAD)
#else
#define PDL_DEFAULT_STREAM ((uint32_t)PDL_DEFAULT_STREAM_LEGACY)
#endif

/**
 * A descriptor with the named fields set and the rest default:
 * `PDL_LAUNCH_DESC(.grid = {132}, .block = {256}, .stream = s)`.
 *
 * C99 (where its address may be taken), and C++20 (fields in the order of their declaration).
 * Older C++ uses pdl_launch_desc_init(). `size` and `default_stream` are set already: change the
 * latter in a separate statement.
 */
#ifdef __cplusplus
#include <pdl/detail/designated.h>
#else
#define PDL_LAUNCH_DESC(...)                                                                       \
    ((pdl_launch_desc){.size = (uint32_t)sizeof(pdl_launch_desc),                                  \
                       .default_stream = PDL_DEFAULT_STREAM,                                       \
                       __VA_ARGS__})
#endif

/**
 * Launches a kernel with a descriptor.
 *
 * Returns when the launch is queued. Checks the descriptor against cached facts, then makes
 * one CUDA call: cuLaunchKernelEx, or cudaLaunchKernelExC (see pdl_kernel_from_symbol()). If it
 * fails, nothing was launched.
 * @param args one pointer per parameter, in order; NULL if the kernel takes none. Values are
 * copied.
 * Errors: every one of PDL_ERROR_DESC_… to PDL_ERROR_EVENT, PDL_ERROR_NOT_SUPPORTED,
 * PDL_ERROR_NO_CONTEXT, PDL_ERROR_NO_KERNEL_IMAGE, PDL_ERROR_LAUNCH_RESOURCES,
 * PDL_ERROR_INVALID_HANDLE, PDL_ERROR_DEVICE_FAULT, PDL_ERROR_DRIVER.
 */
PDL_API pdl_status pdl_launch(pdl_kernel *kernel, const pdl_launch_desc *desc, void *const *args);

/**
 * Compares the sizes of arguments, and their number, with those of the kernel's parameters.
 *
 * Maps to cuKernelGetParamInfo or cuFuncGetParamInfo (CUDA 12.4; an older driver does not report
 * them, and every argument is right). See PDL_LAUNCH() and PDL_SIZES(). Thread-safe.
 * @param sizes in bytes, in the order of the parameters
 * Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_ARGUMENT_SIZE, PDL_ERROR_OUT_OF_MEMORY,
 * PDL_ERROR_DRIVER.
 */
PDL_API pdl_status pdl_kernel_check_args(pdl_kernel *kernel, const size_t *sizes, size_t count);

/**
 * Reports what pdl_launch() would do with this kernel and descriptor, without launching.
 *
 * Returns the result of the checks of pdl_launch(). If they fail, the report is filled as far as
 * possible. Errors: those of pdl_launch() that need no launch.
 */
PDL_API pdl_status pdl_launch_explain(pdl_kernel *kernel, const pdl_launch_desc *desc,
                                      pdl_launch_report *report);

/** How much of a launch runs concurrently, from pdl_launch_occupancy(). Start from
 * PDL_OCCUPANCY_INIT. */
typedef struct pdl_occupancy {
    uint32_t size;             /**< sizeof(pdl_occupancy) as the caller was compiled. */
    int32_t device;            /**< Where. */
    uint32_t blocks_per_sm;    /**< Blocks that an SM holds at a time, clusters aside. */
    uint32_t active_blocks;    /**< Blocks that the SMs of the stream's context hold at a time,
                                     clusters counted in. */
    uint32_t active_clusters;  /**< Clusters that it holds at a time; 0 without `cluster`. */
    uint32_t max_cluster_size; /**< Blocks of the largest cluster that fits; 0 where clusters are
                                     not supported. */
} pdl_occupancy;

/** Initializer of a pdl_occupancy. */
#define PDL_OCCUPANCY_INIT PDL_SIZED_INIT_(pdl_occupancy)

/**
 * Counts the blocks and clusters of a launch that its device holds at a time.
 *
 * Maps to cuOccupancyMaxActiveBlocksPerMultiprocessor, and on devices with clusters to
 * cuOccupancyMaxActiveClusters and cuOccupancyMaxPotentialClusterSize. Errors: those of pdl_launch()
 * that need no launch; PDL_ERROR_NOT_SUPPORTED also if `shared_memory_mode` allows more than the
 * kernel's own limit, which the driver cannot count; PDL_ERROR_DESC_SIZE.
 */
PDL_API pdl_status pdl_launch_occupancy(pdl_kernel *kernel, const pdl_launch_desc *desc,
                                        pdl_occupancy *occupancy);

/* ------------------------------------------------------------------------------------------------
 * Inlines
 * ---------------------------------------------------------------------------------------------- */

/** Sets a descriptor to its defaults. Cannot fail. */
static inline void pdl_launch_desc_init(pdl_launch_desc *desc)
{
    unsigned char *byte = (unsigned char *)desc;
    for (size_t i = 0; i < sizeof(*desc); i++) {
        byte[i] = 0;
    }
    desc->size = (uint32_t)sizeof(*desc);
    desc->default_stream = PDL_DEFAULT_STREAM;
}

/* PDL_LAUNCH() in builds that check. */
static inline pdl_status pdl_launch_checked_(pdl_kernel *kernel, const pdl_launch_desc *desc,
                                             void *const *args, const size_t *sizes, size_t count)
{
    const pdl_status status = pdl_kernel_check_args(kernel, sizes, count);
    return status == PDL_SUCCESS ? pdl_launch(kernel, desc, args) : status;
}

#ifdef __cplusplus
} /* extern "C" */

/** The result of PDL_ARGS() in C++: lives until the end of the full expression. */
template <size_t Count> struct pdl_packed_args_ {
    void *pointers[Count];
};

/** For PDL_SIZES(), which only deduces types: this function has no body. */
template <typename... Args> struct pdl_sizes_ {
    enum { count = sizeof...(Args) };
    static const size_t *get()
    {
        static const size_t sizes[] = {sizeof(Args)...};
        return sizes;
    }
};
template <typename... Args> pdl_sizes_<Args...> pdl_sizes_of_(const Args &...args);

template <typename... Args>
static inline pdl_packed_args_<sizeof...(Args)> pdl_pack_args_(const Args &...args)
{
    return {{const_cast<void *>(static_cast<const volatile void *>(&args))...}};
}

/** pdl_launch() with a descriptor that may be a temporary. */
static inline pdl_status pdl_launch(pdl_kernel *kernel, const pdl_launch_desc &desc,
                                    void *const *args)
{
    return pdl_launch(kernel, &desc, args);
}

static inline pdl_status pdl_launch_checked_(pdl_kernel *kernel, const pdl_launch_desc &desc,
                                             void *const *args, const size_t *sizes, size_t count)
{
    return pdl_launch_checked_(kernel, &desc, args, sizes, count);
}
#endif

/**
 * The argument array of a launch: `PDL_ARGS(weights, x, y)` is one pointer per argument, for 1 to
 * 32.
 *
 * The arguments are variables (in C++ also temporaries) of exactly the parameters' types; the array
 * lives as long as a compound literal (in C++ until the end of the full expression).
 */
#ifdef __cplusplus
#define PDL_ARGS(...) (::pdl_pack_args_(__VA_ARGS__).pointers)
#else
#define PDL_ARGS(...) ((void *[]){PDL_EACH_(PDL_ADDRESS_, __VA_ARGS__)})
#endif

/**
 * The sizes of arguments and their number, as pdl_kernel_check_args() and pdl_chain_add() take them:
 * `pdl_chain_add(chain, kernel, &desc, PDL_ARGS(x, y), PDL_SIZES(x, y), &link)`.
 */
#ifdef __cplusplus
#define PDL_SIZES(...)                                                                             \
    (decltype(::pdl_sizes_of_(__VA_ARGS__))::get()),                                               \
        (static_cast<size_t>(decltype(::pdl_sizes_of_(__VA_ARGS__))::count))
#else
#define PDL_SIZES(...)                                                                             \
    ((const size_t[]){PDL_EACH_(sizeof, __VA_ARGS__)}), ((size_t)PDL_COUNT_(__VA_ARGS__))
#endif

/**
 * A launch with its arguments: `PDL_LAUNCH(kernel, &desc, weights, x, y)` is
 * pdl_launch(kernel, &desc, PDL_ARGS(weights, x, y)). Where NDEBUG is not defined, number and sizes
 * of the arguments are checked first, by pdl_kernel_check_args().
 */
#ifdef NDEBUG
#define PDL_LAUNCH(kernel, desc, ...) pdl_launch((kernel), (desc), PDL_ARGS(__VA_ARGS__))
#else
#define PDL_LAUNCH(kernel, desc, ...)                                                              \
    pdl_launch_checked_((kernel), (desc), PDL_ARGS(__VA_ARGS__), PDL_SIZES(__VA_ARGS__))
#endif

#ifndef __cplusplus
#define PDL_ADDRESS_(a)    (void *)&(a)
#define PDL_EACH_(of, ...) PDL_CAT_(PDL_COUNT_(__VA_ARGS__))(of, __VA_ARGS__)
#define PDL_CAT_(n)        PDL_CAT2_(n)
#define PDL_CAT2_(n)       PDL_EACH_##n##_
#define PDL_COUNT_(...)                                                                            \
    PDL_PICK_(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, \
              14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define PDL_PICK_(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, \
                  _19, _20, _21, _22, _23, _24, _25, _26, _27, _28, _29, _30, _31, _32, n, ...)    \
    n
#define PDL_EACH_1_(of, a)       of(a)
#define PDL_EACH_2_(of, a, ...)  of(a), PDL_EACH_1_(of, __VA_ARGS__)
#define PDL_EACH_3_(of, a, ...)  of(a), PDL_EACH_2_(of, __VA_ARGS__)
#define PDL_EACH_4_(of, a, ...)  of(a), PDL_EACH_3_(of, __VA_ARGS__)
#define PDL_EACH_5_(of, a, ...)  of(a), PDL_EACH_4_(of, __VA_ARGS__)
#define PDL_EACH_6_(of, a, ...)  of(a), PDL_EACH_5_(of, __VA_ARGS__)
#define PDL_EACH_7_(of, a, ...)  of(a), PDL_EACH_6_(of, __VA_ARGS__)
#define PDL_EACH_8_(of, a, ...)  of(a), PDL_EACH_7_(of, __VA_ARGS__)
#define PDL_EACH_9_(of, a, ...)  of(a), PDL_EACH_8_(of, __VA_ARGS__)
#define PDL_EACH_10_(of, a, ...) of(a), PDL_EACH_9_(of, __VA_ARGS__)
#define PDL_EACH_11_(of, a, ...) of(a), PDL_EACH_10_(of, __VA_ARGS__)
#define PDL_EACH_12_(of, a, ...) of(a), PDL_EACH_11_(of, __VA_ARGS__)
#define PDL_EACH_13_(of, a, ...) of(a), PDL_EACH_12_(of, __VA_ARGS__)
#define PDL_EACH_14_(of, a, ...) of(a), PDL_EACH_13_(of, __VA_ARGS__)
#define PDL_EACH_15_(of, a, ...) of(a), PDL_EACH_14_(of, __VA_ARGS__)
#define PDL_EACH_16_(of, a, ...) of(a), PDL_EACH_15_(of, __VA_ARGS__)
#define PDL_EACH_17_(of, a, ...) of(a), PDL_EACH_16_(of, __VA_ARGS__)
#define PDL_EACH_18_(of, a, ...) of(a), PDL_EACH_17_(of, __VA_ARGS__)
#define PDL_EACH_19_(of, a, ...) of(a), PDL_EACH_18_(of, __VA_ARGS__)
#define PDL_EACH_20_(of, a, ...) of(a), PDL_EACH_19_(of, __VA_ARGS__)
#define PDL_EACH_21_(of, a, ...) of(a), PDL_EACH_20_(of, __VA_ARGS__)
#define PDL_EACH_22_(of, a, ...) of(a), PDL_EACH_21_(of, __VA_ARGS__)
#define PDL_EACH_23_(of, a, ...) of(a), PDL_EACH_22_(of, __VA_ARGS__)
#define PDL_EACH_24_(of, a, ...) of(a), PDL_EACH_23_(of, __VA_ARGS__)
#define PDL_EACH_25_(of, a, ...) of(a), PDL_EACH_24_(of, __VA_ARGS__)
#define PDL_EACH_26_(of, a, ...) of(a), PDL_EACH_25_(of, __VA_ARGS__)
#define PDL_EACH_27_(of, a, ...) of(a), PDL_EACH_26_(of, __VA_ARGS__)
#define PDL_EACH_28_(of, a, ...) of(a), PDL_EACH_27_(of, __VA_ARGS__)
#define PDL_EACH_29_(of, a, ...) of(a), PDL_EACH_28_(of, __VA_ARGS__)
#define PDL_EACH_30_(of, a, ...) of(a), PDL_EACH_29_(of, __VA_ARGS__)
#define PDL_EACH_31_(of, a, ...) of(a), PDL_EACH_30_(of, __VA_ARGS__)
#define PDL_EACH_32_(of, a, ...) of(a), PDL_EACH_31_(of, __VA_ARGS__)
#endif

#endif /* PDL_PDL_H */
