/* SPDX-License-Identifier: MIT */
/* The kernel object, and what is known of it on a device. */
#ifndef PDL_LIB_KERNEL_H
#define PDL_LIB_KERNEL_H

#include <stdatomic.h>

#include <pdl/detail/runtime.h>

#include "code/scan.h"
#include "core/device.h"
#include "core/driver.h"
#include "core/error.h"
#include "core/gate.h"
#include "launch/image.h"
#include "launch/neighbour.h"
#include "launch/policy.h"
#include "os/lock.h"

/* What a launch needs to know of a kernel on one device. Written once, before it is published; only
 * the atomics change later. */
struct pdl_kernel_facts {
    /* First, together: what every launch looks at. */
    uint32_t max_grid[3];  /* the device's; x is 0 if clusters are compiled in: see check_grid() */
    uint32_t max_block[3]; /* likewise */
    uint32_t max_threads;  /* a block */
    atomic_uint reason; /* the gate's for a launch that asks for overlap and is not cooperative; 0:
                           it depends on code that was not read yet */
    atomic_uint max_dynamic_shared_memory; /* bytes a block */

    const pdl_device_info *device;
    int32_t ptx_version;          /* 10 * major + minor */
    int32_t binary_version;       /* likewise */
    int32_t registers;            /* a thread */
    int32_t static_shared_memory; /* bytes a block */
    int32_t local_memory;         /* bytes a thread */
    int32_t constant_memory;      /* bytes */
    int32_t cluster[3];           /* compiled in, or set before the facts were asked; 0: none */
    int32_t cluster_must_be_set;  /* by each launch, unless it is compiled in */
    /* The last answer of the occupancy calculator: see pdl_kernel_last_occupancy(). */
    _Atomic uint64_t occupancy;
    _Atomic(const struct pdl_policies *) policies; /* that `reason` was decided under */
    atomic_uint logged; /* the pdl_reason that the log has last; 0: none */
    atomic_uint known;  /* of its code: pdl_kernel_waits() and so on */
    bool unread;        /* under the kernel's lock: nobody has looked for the code of its symbol */
    struct pdl_untold_bounds bounds; /* under the kernel's lock */
    struct pdl_neighbour neighbour;

    /* For pdl_kernel_get(), under the kernel's lock. */
    char *name;              /* owned; NULL: not asked yet */
    int32_t parameter_count; /* -1: not known */
};

/* The function of a symbol in one context. A context's number is never given to another one, so that what
 * cudaDeviceReset() invalidates is not found again. */
struct pdl_bound {
    unsigned long long context; /* cuCtxGetId() */
    CUfunction function;
    int device;
    struct pdl_bound *next;
};

enum pdl_kernel_kind { PDL_KERNEL_FUNCTION, PDL_KERNEL_KERNEL, PDL_KERNEL_SYMBOL };

struct pdl_kernel {
    const struct pdl_driver *driver;
    enum pdl_kernel_kind kind;
    int device;          /* the only device it can run on, or -1 */
    CUfunction function; /* FUNCTION, and KERNEL as the driver takes it: cast; else NULL */
    const void *symbol;  /* SYMBOL */
    const pdl_runtime_ops *ops;
    _Atomic(struct pdl_bound *) bound; /* SYMBOL: newest first */
    pdl_image *image;                  /* a reference; NULL: none was given */
    char *name;                        /* owned; as given with an image, else NULL */
    int attribute_version; /* the older one of the driver and the Runtime that it is launched by */
    unsigned known;        /* of the code, unless it is another one on each device */
    struct pdl_untold_bounds bounds; /* likewise */
    bool declared;                   /* by the caller, which stands above the code */
    _Atomic(char *) race; /* owned; set once: the first race that was found in its code, or NULL */
    uint32_t target; /* of an image that the caller gave, which the driver must bear out; or 0 */
    bool target_ptx; /* whether that is a version of PTX */
    struct pdl_lock lock;                       /* held while facts are asked for */
    _Atomic(struct pdl_kernel_facts *) facts[]; /* device_count of them */
};

/* The stream whose context a launch takes its device from; NULL: it is the current one, or does not matter. */
static inline CUstream pdl_kernel_stream(const pdl_kernel *kernel, CUstream stream)
{
    return kernel->device < 0 && kernel->kind == PDL_KERNEL_KERNEL && stream != PDL_NODE_STREAM
               ? stream
               : NULL;
}

/* The device that a launch into a stream would run on now, where it is not always the same. */
pdl_status pdl_kernel_current_device(const pdl_kernel *kernel, CUstream stream, int *device);

static inline pdl_status pdl_kernel_device(const pdl_kernel *kernel, CUstream stream, int *device)
{
    if (kernel->device < 0) {
        return pdl_kernel_current_device(kernel, stream, device);
    }
    *device = kernel->device;
    return PDL_SUCCESS;
}

/* The function of a symbol in the current context; NULL: the Runtime has not launched it there. */
static inline const struct pdl_bound *pdl_kernel_bound(const pdl_kernel *kernel)
{
    const struct pdl_bound *bound = atomic_load_explicit(&kernel->bound, memory_order_acquire);
    unsigned long long context = 0;
    if (bound != NULL && kernel->driver->cuCtxGetId(NULL, &context) != CUDA_SUCCESS) {
        return NULL;
    }
    while (bound != NULL && bound->context != context) {
        bound = bound->next;
    }
    return bound;
}

/* Remembers it, after the Runtime has. */
PDL_COLD void pdl_kernel_bind(pdl_kernel *kernel);

/* What is known of code, in a word. */
static inline unsigned pdl_known_pack(const struct pdl_scan_answer *answer)
{
    return (unsigned)answer->waits | (unsigned)answer->triggers << 2 |
           (unsigned)answer->proof.waits_always << 4 | (unsigned)answer->proof.state << 6 |
           (unsigned)answer->why << 9;
}

static inline pdl_known pdl_known_waits(unsigned known)
{
    return (pdl_known)(known & 3);
}

static inline pdl_known pdl_known_triggers(unsigned known)
{
    return (pdl_known)(known >> 2 & 3);
}

static inline pdl_known pdl_known_waits_always(unsigned known)
{
    return (pdl_known)(known >> 4 & 3);
}

#define PDL_KNOWN_PROOF 0x1c0u

static inline enum pdl_proof_state pdl_known_proof(unsigned known)
{
    return (enum pdl_proof_state)((known & PDL_KNOWN_PROOF) >> 6);
}

static inline unsigned pdl_known_prove(unsigned known, const struct pdl_proof_answer *proof)
{
    return (known & ~(PDL_KNOWN_PROOF | 3u << 4)) | (unsigned)proof->waits_always << 4 |
           (unsigned)proof->state << 6;
}

static inline enum pdl_why pdl_known_why(unsigned known)
{
    return (enum pdl_why)(known >> 9);
}

/* What is known of the kernel's code on a device. Finds and reads the code of a symbol, once. */
unsigned pdl_kernel_known(pdl_kernel *kernel, struct pdl_kernel_facts *facts);

/* What its code says of launches and the driver does not: likewise. */
struct pdl_untold_bounds pdl_kernel_bounds(pdl_kernel *kernel, struct pdl_kernel_facts *facts);

/* The facts of a kernel on a device, asked on first use. */
PDL_COLD pdl_status pdl_kernel_ask(pdl_kernel *kernel, int device, struct pdl_kernel_facts **facts);

static inline pdl_status pdl_kernel_facts_get(pdl_kernel *kernel, int device,
                                              struct pdl_kernel_facts **facts)
{
    struct pdl_kernel_facts *known =
        atomic_load_explicit(&kernel->facts[device], memory_order_acquire);
    pdl_status status = PDL_SUCCESS;
    if (known == NULL) {
        struct pdl_kernel_facts *fresh = NULL; /* so that `facts` may stay in a register */
        status = pdl_kernel_ask(kernel, device, &fresh);
        known = fresh;
    }
    *facts = known;
    return status;
}

/* What the driver's calls take: the CUfunction, or the CUkernel, cast. A symbol's is asked for each
 * time, since cudaDeviceReset() makes another. */
pdl_status pdl_kernel_handle(const pdl_kernel *kernel, CUfunction *handle);

/* An attribute of the kernel, as it is now; `doing` is for the error. */
pdl_status pdl_kernel_read_attribute(const pdl_kernel *kernel, const struct pdl_kernel_facts *facts,
                                     CUfunction_attribute attribute, const char *doing, int *value);

/* Whether the driver reports the parameters of kernels: since CUDA 12.4. */
static inline bool pdl_driver_has_parameters(const struct pdl_driver *driver)
{
    return driver->cuKernelGetParamInfo != NULL && driver->cuFuncGetParamInfo != NULL;
}

/* A parameter. */
struct pdl_place {
    size_t offset, size;
};

/* Lists the parameters, where the driver reports them. The caller frees *places. */
pdl_status pdl_kernel_parameters(const pdl_kernel *kernel, struct pdl_place **places,
                                 size_t *count);

/* Compares what a caller says of its arguments with them. */
pdl_status pdl_kernel_compare_sizes(const pdl_kernel *kernel, const size_t *given,
                                    size_t given_count, const struct pdl_place *asked,
                                    size_t asked_count);

/* Asks the driver again how much dynamic shared memory the kernel may have: others can raise it
 * too. */
pdl_status pdl_kernel_refresh_shared_memory(pdl_kernel *kernel, struct pdl_kernel_facts *facts);

/* The dynamic shared memory that a pdl_shared_memory_mode other than the default allows. */
uint32_t pdl_kernel_mode_limit(const struct pdl_kernel_facts *facts, uint32_t mode);

/* Whether the driver's calculator knows the limit that a launch has: it takes no mode. */
static inline bool pdl_kernel_can_count(const struct pdl_kernel_facts *facts,
                                        uint32_t dynamic_shared_memory)
{
    return dynamic_shared_memory <=
           atomic_load_explicit(&facts->max_dynamic_shared_memory, memory_order_relaxed);
}

/* Launches repeat their shape: the last question and, in the low byte, its answer fit one atomic word. */
static inline uint64_t pdl_occupancy_question(uint32_t threads, uint32_t dynamic_shared_memory)
{
    return 1ull << 63 | (uint64_t)dynamic_shared_memory << 24 | (uint64_t)threads << 8;
}

/* How many blocks of that shape one SM held when it was asked last; 0: something else was asked. */
static inline uint32_t pdl_kernel_last_occupancy(struct pdl_kernel_facts *facts, uint32_t threads,
                                                 uint32_t dynamic_shared_memory)
{
    const uint64_t last = atomic_load_explicit(&facts->occupancy, memory_order_relaxed) ^
                          pdl_occupancy_question(threads, dynamic_shared_memory);
    return last <= 0xff ? (uint32_t)last : 0;
}

/* Asks the driver how many it holds, for a launch into a stream. */
pdl_status pdl_kernel_occupancy(pdl_kernel *kernel, struct pdl_kernel_facts *facts, CUstream stream,
                                uint32_t threads, uint32_t dynamic_shared_memory, int *blocks);

/* The CUfunction of a kernel in the current context. */
pdl_status pdl_kernel_resolve(const pdl_kernel *kernel, CUfunction *function);

/* The kernel's name; NULL if the driver does not tell it. */
const char *pdl_kernel_told_name(const pdl_kernel *kernel);

/* The kernel's name for messages. Never NULL. */
const char *pdl_kernel_name(const pdl_kernel *kernel);

/* Why what a reason says is unknown is so, or on what likeness the code was read: a clause; else "". */
static inline const char *pdl_kernel_unknown_why(const struct pdl_kernel_facts *facts,
                                                 pdl_reason reason)
{
    const unsigned known = atomic_load_explicit(&facts->known, memory_order_relaxed);
    const enum pdl_why why = pdl_known_why(known);
    return reason == PDL_REASON_WAITS_UNKNOWN || why == PDL_WHY_ALIKE ? pdl_why_string(why) : "";
}

/* Keeps what is proved of a kernel's code; false without memory. Under the lock, or before the kernel is shared. */
bool pdl_kernel_keep_proof(pdl_kernel *kernel, const struct pdl_proof_answer *proof);

/* What is proved of the code, for a decision that depends on it, as a clause with what separates it; else "". */
const char *pdl_kernel_proof_text(const pdl_kernel *kernel, const struct pdl_kernel_facts *facts,
                                  pdl_reason reason, const char **between);

/* The gate's decision for a launch of the kernel that asks for overlap. Reads the code if it depends on that. */
PDL_COLD pdl_reason pdl_kernel_reason(pdl_kernel *kernel, struct pdl_kernel_facts *facts,
                                      bool cooperative);

#endif /* PDL_LIB_KERNEL_H */
