/* SPDX-License-Identifier: MIT */
/* Kernels: what is known of them on each device. */
#include "launch/kernel.h"

#include <stdlib.h>
#include <string.h>

#include "code/object.h"
#include "core/error.h"
#include "core/sized.h"

/* ---- facts ---------------------------------------------------------------------------------- */

pdl_status pdl_kernel_current_device(const pdl_kernel *kernel, CUstream stream, int *device)
{
    const struct pdl_driver *driver = kernel->driver;
    if (kernel->kind == PDL_KERNEL_SYMBOL) {
        CUdevice current = 0;
        const CUresult result = driver->cuCtxGetDevice(&current);
        if (result == CUDA_SUCCESS && current < driver->device_count) {
            *device = current;
            return PDL_SUCCESS;
        }
        if (result != CUDA_SUCCESS) {
            /* The Runtime makes its device's context on first need, and again after
             * cudaDeviceReset(): this is one. */
            CUfunction function;
            (void)kernel->ops->get_function(kernel->symbol, &function);
        }
    }
    return pdl_device_of_stream(driver, pdl_kernel_stream(kernel, stream), device);
}

pdl_status pdl_kernel_handle(const pdl_kernel *kernel, CUfunction *handle)
{
    *handle = kernel->function;
    if (kernel->kind == PDL_KERNEL_SYMBOL) {
        const int32_t error = kernel->ops->get_function(kernel->symbol, handle);
        if (error != 0) {
            return pdl_error_from_cuda(kernel->driver, "cudaGetFuncBySymbol", error,
                                       "to find the kernel of a symbol");
        }
    }
    return PDL_SUCCESS;
}

void pdl_kernel_bind(pdl_kernel *kernel)
{
    const struct pdl_driver *const driver = kernel->driver;
    struct pdl_bound *const made = malloc(sizeof(*made));
    if (made == NULL || driver->cuCtxGetId(NULL, &made->context) != CUDA_SUCCESS ||
        driver->cuCtxGetDevice(&made->device) != CUDA_SUCCESS ||
        made->device >= driver->device_count ||
        kernel->ops->get_function(kernel->symbol, &made->function) != 0) {
        free(made); /* the Runtime goes on launching */
        return;
    }
    made->next = atomic_load_explicit(&kernel->bound, memory_order_relaxed);
    while (!atomic_compare_exchange_strong(&kernel->bound, &made->next, made)) {
    }
}

static pdl_status read_attribute(const pdl_kernel *kernel, CUfunction handle, int device,
                                 CUfunction_attribute attribute, const char *doing, int *value)
{
    const bool is_kernel = kernel->kind == PDL_KERNEL_KERNEL;
    const CUresult result =
        is_kernel ? kernel->driver->cuKernelGetAttribute(value, attribute, (CUkernel)handle,
                                                         (CUdevice)device)
                  : kernel->driver->cuFuncGetAttribute(value, attribute, handle);
    if (result != CUDA_SUCCESS) {
        return pdl_error_from_cuda(kernel->driver,
                                   is_kernel ? "cuKernelGetAttribute" : "cuFuncGetAttribute",
                                   (int32_t)result, doing);
    }
    return PDL_SUCCESS;
}

pdl_status pdl_kernel_read_attribute(const pdl_kernel *kernel, const struct pdl_kernel_facts *facts,
                                     CUfunction_attribute attribute, const char *doing, int *value)
{
    CUfunction handle;
    const pdl_status status = pdl_kernel_handle(kernel, &handle);
    return status == PDL_SUCCESS
               ? read_attribute(kernel, handle, facts->device->ordinal, attribute, doing, value)
               : status;
}

static int capability_of(const struct pdl_kernel_facts *facts)
{
    return 10 * facts->device->compute_capability_major + facts->device->compute_capability_minor;
}

/* Asks the gate, and keeps its answer for launches. Under the kernel's lock. */
static void decide(const pdl_kernel *kernel, struct pdl_kernel_facts *facts)
{
    const unsigned known = atomic_load_explicit(&facts->known, memory_order_relaxed);
    const bool named = (pdl_gate_is_special() & PDL_GATE_POLICY) != 0;
    const struct pdl_policies *const policies = named ? pdl_policy_now() : NULL;
    const struct pdl_gate gate = {
        .disabled = kernel->driver->overlap_disabled,
        .excluded = named && pdl_policy_excludes(policies, pdl_kernel_name(kernel)),
        .capability = capability_of(facts),
        .code = facts->ptx_version,
        .waits = facts->unread ? (uint32_t)PDL_YES : (uint32_t)pdl_known_waits(known),
        .strict = !facts->unread && !kernel->declared && pdl_proof_is_strict() &&
                  pdl_known_proof(known) != PDL_PROOF_STATE_PROVED,
        .race = !kernel->declared && pdl_known_proof(known) == PDL_PROOF_STATE_RACE,
    };
    pdl_reason reason = pdl_gate_decide(&gate);
    if (facts->unread && reason == PDL_REASON_GRANTED) {
        reason = (pdl_reason)0; /* it is for the code to say */
    }
    atomic_store_explicit(&facts->reason, (unsigned)reason, memory_order_relaxed);
    atomic_store_explicit(&facts->policies, policies, memory_order_release);
}

/* The same for every device, after something about the kernel has changed. */
static void decide_again(pdl_kernel *kernel)
{
    for (int i = 0; i < kernel->driver->device_count; i++) {
        struct pdl_kernel_facts *facts =
            atomic_load_explicit(&kernel->facts[i], memory_order_relaxed);
        if (facts != NULL) {
            if (kernel->declared) {
                const unsigned proof = atomic_load_explicit(&facts->known, memory_order_relaxed);
                atomic_store_explicit(
                    &facts->known, (kernel->known & ~PDL_KNOWN_PROOF) | (proof & PDL_KNOWN_PROOF),
                    memory_order_relaxed);
                facts->unread = false;
            }
            decide(kernel, facts);
        }
    }
}

bool pdl_kernel_keep_proof(pdl_kernel *kernel, const struct pdl_proof_answer *proof)
{
    if (proof->race[0] != '\0' &&
        atomic_load_explicit(&kernel->race, memory_order_relaxed) == NULL) {
        char *const text = strdup(proof->race);
        atomic_store_explicit(&kernel->race, text, memory_order_release);
        return text != NULL;
    }
    return true;
}

const char *pdl_kernel_proof_text(const pdl_kernel *kernel, const struct pdl_kernel_facts *facts,
                                  pdl_reason reason, const char **between)
{
    return pdl_proof_clause(
        pdl_known_proof(atomic_load_explicit(&facts->known, memory_order_relaxed)),
        atomic_load_explicit(&kernel->race, memory_order_acquire), reason, kernel->declared,
        between);
}

/* Finds the code of a symbol, without a lock: it may take long. */
static struct pdl_scan_answer read_code(const pdl_kernel *kernel,
                                        const struct pdl_kernel_facts *facts, bool unlimited)
{
    const struct pdl_object_code code = {
        .capability = (uint32_t)capability_of(facts),
        .ptx_version = (uint32_t)facts->ptx_version,
        .binary_version = (uint32_t)facts->binary_version,
        .unlimited = unlimited,
    };
    const char *const name = pdl_kernel_told_name(kernel);
    return name != NULL ? pdl_object_scan(kernel->symbol, name, &code)
                        : (struct pdl_scan_answer){.why = PDL_WHY_UNNAMED};
}

/* Keeps it and decides, unless the program declared something meanwhile. Without memory the code stays unknown, and is
 * looked for another time. Under the kernel's lock. */
static void keep_code(pdl_kernel *kernel, struct pdl_kernel_facts *facts,
                      const struct pdl_scan_answer *answer)
{
    if (!kernel->declared) {
        const bool kept = pdl_kernel_keep_proof(kernel, &answer->proof);
        atomic_store_explicit(&facts->known, pdl_known_pack(answer), memory_order_relaxed);
        facts->bounds = answer->bounds;
        facts->unread = answer->why == PDL_WHY_NO_MEMORY || !kept;
        decide(kernel, facts);
    }
}

unsigned pdl_kernel_known(pdl_kernel *kernel, struct pdl_kernel_facts *facts)
{
    pdl_lock_take(&kernel->lock);
    if (facts->unread) {
        pdl_lock_release(&kernel->lock);
        const struct pdl_scan_answer answer = read_code(kernel, facts, false);
        pdl_lock_take(&kernel->lock);
        if (facts->unread) { /* or another thread was faster */
            keep_code(kernel, facts, &answer);
        }
    }
    const unsigned known = atomic_load_explicit(&facts->known, memory_order_relaxed);
    pdl_lock_release(&kernel->lock);
    return known;
}

struct pdl_untold_bounds pdl_kernel_bounds(pdl_kernel *kernel, struct pdl_kernel_facts *facts)
{
    (void)pdl_kernel_known(kernel, facts);
    pdl_lock_take(&kernel->lock);
    const struct pdl_untold_bounds answer = facts->bounds;
    pdl_lock_release(&kernel->lock);
    return answer;
}

pdl_reason pdl_kernel_reason(pdl_kernel *kernel, struct pdl_kernel_facts *facts, bool cooperative)
{
    const unsigned special = pdl_gate_is_special();
    if ((special & PDL_GATE_OFF) != 0) {
        return PDL_REASON_DISABLED;
    }
    if ((special & PDL_GATE_POLICY) != 0 &&
        atomic_load_explicit(&facts->policies, memory_order_acquire) != pdl_policy_now()) {
        pdl_lock_take(&kernel->lock);
        decide(kernel, facts);
        pdl_lock_release(&kernel->lock);
    }
    unsigned reason = atomic_load_explicit(&facts->reason, memory_order_relaxed);
    if (cooperative) {
        return pdl_gate_cooperative((pdl_reason)reason);
    }
    if (reason == 0) {
        (void)pdl_kernel_known(kernel, facts);
        reason = atomic_load_explicit(&facts->reason, memory_order_relaxed);
    }
    return reason != 0 ? (pdl_reason)reason : PDL_REASON_WAITS_UNKNOWN;
}

/* Needs facts->device and fills in the rest. */
static pdl_status ask(const pdl_kernel *kernel, struct pdl_kernel_facts *facts)
{
    int max_threads = 0;
    int max_dynamic = 0;
    const struct {
        CUfunction_attribute attribute;
        int *value;
    } questions[] = {
        {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &max_threads},
        {CU_FUNC_ATTRIBUTE_PTX_VERSION, &facts->ptx_version},
        {CU_FUNC_ATTRIBUTE_BINARY_VERSION, &facts->binary_version},
        {CU_FUNC_ATTRIBUTE_NUM_REGS, &facts->registers},
        {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &facts->static_shared_memory},
        {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &facts->local_memory},
        {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &facts->constant_memory},
        {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &max_dynamic},
        {CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, &facts->cluster_must_be_set},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, &facts->cluster[0]},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, &facts->cluster[1]},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, &facts->cluster[2]},
    };
    CUfunction handle;
    pdl_status status = pdl_kernel_handle(kernel, &handle);
    for (size_t i = 0; status == PDL_SUCCESS && i < sizeof(questions) / sizeof(questions[0]); i++) {
        status = read_attribute(kernel, handle, facts->device->ordinal, questions[i].attribute,
                                "to learn what a kernel needs", questions[i].value);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    const pdl_device_info *device = facts->device;
    for (int i = 0; i < 3; i++) {
        facts->max_grid[i] = (uint32_t)device->max_grid[i];
        facts->max_block[i] = (uint32_t)device->max_block[i];
    }
    if (facts->cluster_must_be_set != 0 || facts->cluster[0] != 0) {
        facts->max_grid[0] = 0;
    }
    const int runs = kernel->target_ptx ? facts->ptx_version : facts->binary_version;
    const bool other = kernel->target != 0 && (int)kernel->target != runs && !kernel->declared;
    const struct pdl_scan_answer nothing = {.why = PDL_WHY_VERSION};
    atomic_init(&facts->known, other ? pdl_known_pack(&nothing) : kernel->known);
    facts->bounds = other ? nothing.bounds : kernel->bounds;
    facts->unread = kernel->kind == PDL_KERNEL_SYMBOL && !kernel->declared;
    decide(kernel, facts);
    atomic_init(&facts->logged, 0);
    facts->max_threads = (uint32_t)max_threads;
    atomic_init(&facts->max_dynamic_shared_memory, (unsigned)max_dynamic);
    atomic_init(&facts->occupancy, 0);
    facts->parameter_count = -1;
    return PDL_SUCCESS;
}

pdl_status pdl_kernel_ask(pdl_kernel *kernel, int device, struct pdl_kernel_facts **facts)
{
    pdl_status status = PDL_SUCCESS;
    pdl_lock_take(&kernel->lock);
    struct pdl_kernel_facts *known =
        atomic_load_explicit(&kernel->facts[device], memory_order_relaxed);
    if (known == NULL) {
        known = calloc(1, sizeof(*known));
        if (known == NULL) {
            status = PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for the facts about a kernel");
        } else {
            status = pdl_device_facts(kernel->driver, device, &known->device);
            if (status == PDL_SUCCESS) {
                status = ask(kernel, known);
            }
            if (status == PDL_SUCCESS) {
                atomic_store_explicit(&kernel->facts[device], known, memory_order_release);
            } else {
                free(known);
            }
        }
    }
    pdl_lock_release(&kernel->lock);
    if (status == PDL_SUCCESS) {
        *facts = known;
    }
    return status;
}

uint32_t pdl_kernel_mode_limit(const struct pdl_kernel_facts *facts, uint32_t mode)
{
    const int32_t optin = facts->device->shared_memory_per_block_optin;
    const int32_t oversized = facts->device->oversized_shared_memory_per_block;
    const int32_t most = mode == PDL_SHARED_MEMORY_PORTABLE ? facts->device->shared_memory_per_block
                         : mode >= PDL_SHARED_MEMORY_ALLOW_OVERSIZED && oversized > optin
                             ? oversized
                             : optin;
    return (uint32_t)(most > facts->static_shared_memory ? most - facts->static_shared_memory : 0);
}

pdl_status pdl_kernel_refresh_shared_memory(pdl_kernel *kernel, struct pdl_kernel_facts *facts)
{
    int bytes = 0;
    int mode = PDL_SHARED_MEMORY_DEFAULT;
    pdl_status status =
        pdl_kernel_read_attribute(kernel, facts, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                  "to learn how much shared memory a kernel may have", &bytes);
    if (status == PDL_SUCCESS && kernel->driver->version >= PDL_OVERSIZED_SINCE) {
        status = pdl_kernel_read_attribute(kernel, facts, PDL_FUNC_ATTRIBUTE_SHARED_MEMORY_MODE,
                                           "to learn a kernel's shared memory mode", &mode);
    }
    if (status == PDL_SUCCESS) {
        const uint32_t limit =
            mode != 0 ? pdl_kernel_mode_limit(facts, (uint32_t)mode) : (uint32_t)bytes;
        atomic_store_explicit(&facts->max_dynamic_shared_memory, limit, memory_order_relaxed);
    }
    return status;
}

pdl_status pdl_kernel_occupancy(pdl_kernel *kernel, struct pdl_kernel_facts *facts, CUstream stream,
                                uint32_t threads, uint32_t dynamic_shared_memory, int *blocks)
{
    int answer = 0;
    CUfunction handle;
    pdl_status status = pdl_kernel_handle(kernel, &handle);
    stream = pdl_kernel_stream(kernel, stream);
    if (status == PDL_SUCCESS) {
        status = pdl_stream_enter(kernel->driver, stream);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    const CUresult result = kernel->driver->cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &answer, handle, (int)threads, dynamic_shared_memory);
    pdl_stream_leave(kernel->driver, stream);
    if (result != CUDA_SUCCESS) {
        return pdl_error_from_cuda(kernel->driver, "cuOccupancyMaxActiveBlocksPerMultiprocessor",
                                   (int32_t)result, "to count the blocks that an SM holds");
    }
    if (answer <= 0xff) {
        const uint64_t question = pdl_occupancy_question(threads, dynamic_shared_memory);
        atomic_store_explicit(&facts->occupancy, question | (uint64_t)answer, memory_order_relaxed);
    }
    *blocks = answer;
    return PDL_SUCCESS;
}

pdl_status pdl_kernel_resolve(const pdl_kernel *kernel, CUfunction *function)
{
    CUfunction found;
    const pdl_status status = pdl_kernel_handle(kernel, &found);
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (kernel->kind == PDL_KERNEL_KERNEL) {
        const CUresult result = kernel->driver->cuKernelGetFunction(&found, (CUkernel)found);
        if (result != CUDA_SUCCESS) {
            return pdl_error_from_cuda(kernel->driver, "cuKernelGetFunction", (int32_t)result,
                                       "to find a kernel's function");
        }
    }
    *function = found;
    return PDL_SUCCESS;
}

const char *pdl_kernel_told_name(const pdl_kernel *kernel)
{
    const struct pdl_driver *driver = kernel->driver;
    const char *name = kernel->name;
    CUfunction handle;
    if (name == NULL && kernel->kind == PDL_KERNEL_KERNEL && driver->cuKernelGetName != NULL) {
        (void)driver->cuKernelGetName(&name, (CUkernel)kernel->function);
    } else if (name == NULL && kernel->kind != PDL_KERNEL_KERNEL && driver->cuFuncGetName != NULL &&
               ((handle = kernel->function) != NULL ||
                kernel->ops->get_function(kernel->symbol, &handle) == 0)) {
        (void)driver->cuFuncGetName(&name, handle);
    }
    return name;
}

const char *pdl_kernel_name(const pdl_kernel *kernel)
{
    const char *name = pdl_kernel_told_name(kernel);
    return name != NULL ? name : "(unnamed)";
}

/* ---- public questions and settings ---------------------------------------------------------- */

static pdl_status check_kernel(const pdl_kernel *kernel)
{
    return kernel != NULL ? PDL_SUCCESS
                          : PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "kernel", "kernel is NULL");
}

/* Asks for what launches don't need, once: the name and the number of parameters. */
static pdl_status ask_more(pdl_kernel *kernel, struct pdl_kernel_facts *facts, const char **name)
{
    pdl_status status = PDL_SUCCESS;
    pdl_lock_take(&kernel->lock);
    *name = facts->name;
    if (*name == NULL) {
        *name = pdl_kernel_told_name(kernel);
        /* The driver may know it next time, and the one that it gave lives as long as the code. */
        *name = facts->name = *name != NULL ? strdup(*name) : NULL;
        *name = *name != NULL ? *name : "(unnamed)";
    }
    if (facts->parameter_count < 0 && pdl_driver_has_parameters(kernel->driver)) {
        struct pdl_place *places = NULL;
        size_t count = 0;
        status = pdl_kernel_parameters(kernel, &places, &count);
        facts->parameter_count = status == PDL_SUCCESS ? (int32_t)count : -1;
        free(places);
    }
    pdl_lock_release(&kernel->lock);
    return status;
}

/* The facts on a device that a caller named, -1 being the current context's. */
static pdl_status find_facts(pdl_kernel *kernel, int *device, struct pdl_kernel_facts **facts)
{
    int current = -1;
    pdl_status status = check_kernel(kernel);
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (*device < -1 || *device >= kernel->driver->device_count) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_DEVICE, "device",
                              "there is no device %d: the driver reports %d", *device,
                              kernel->driver->device_count);
    }
    /* Any device will do for code that needs no context. */
    if (*device < 0 || kernel->kind != PDL_KERNEL_KERNEL) {
        status = pdl_kernel_device(kernel, NULL, &current);
        if (status != PDL_SUCCESS) {
            return status;
        }
        if (*device >= 0 && *device != current) {
            return PDL_FAIL_FIELD(PDL_ERROR_INVALID_DEVICE, "device",
                                  "the kernel can be queried for device %d now, not %d", current,
                                  *device);
        }
        *device = current;
    }
    return pdl_kernel_facts_get(kernel, *device, facts);
}

pdl_status pdl_kernel_get(pdl_kernel *kernel, int device, pdl_kernel_info *info)
{
    struct pdl_kernel_facts *facts;
    const char *name = NULL;
    PDL_RETURN_IF_ERROR(pdl_sized_check(info, "info"));
    PDL_RETURN_IF_ERROR(find_facts(kernel, &device, &facts));
    PDL_RETURN_IF_ERROR(ask_more(kernel, facts, &name));
    const unsigned code = pdl_kernel_known(kernel, facts);
    const pdl_reason reason = pdl_kernel_reason(kernel, facts, false);
    const enum pdl_proof_state proof = pdl_known_proof(code);
    const struct pdl_untold_bounds bounds = pdl_kernel_bounds(kernel, facts);
    const pdl_kernel_info known = {
        .size = (uint32_t)sizeof(known),
        .device = device,
        .name = name,
        .ptx_version = facts->ptx_version,
        .binary_version = facts->binary_version,
        .max_threads_per_block = (int32_t)facts->max_threads,
        .registers_per_thread = facts->registers,
        .static_shared_memory = facts->static_shared_memory,
        .max_dynamic_shared_memory =
            (int32_t)atomic_load_explicit(&facts->max_dynamic_shared_memory, memory_order_relaxed),
        .local_memory = facts->local_memory,
        .constant_memory = facts->constant_memory,
        .parameter_count = facts->parameter_count,
        .waits = (uint32_t)pdl_known_waits(code),
        .waits_always = (uint32_t)pdl_known_waits_always(code),
        .triggers = (uint32_t)pdl_known_triggers(code),
        .can_overlap = reason == PDL_REASON_GRANTED,
        .overlap_reason = (uint32_t)reason,
        .unknown_why =
            pdl_known_why(code) != PDL_WHY_NOTHING ? pdl_why_string(pdl_known_why(code)) : NULL,
        .proof = (uint32_t)pdl_proof_public(proof),
        .proof_text = proof >= PDL_PROOF_STATE_OFF && proof < PDL_PROOF_STATE_NOT_PROVED
                          ? pdl_proof_string(proof, NULL)
                      : proof == PDL_PROOF_STATE_RACE
                          ? atomic_load_explicit(&kernel->race, memory_order_acquire)
                          : NULL,
        .required_cluster = {(uint32_t)facts->cluster[0], (uint32_t)facts->cluster[1],
                             (uint32_t)facts->cluster[2]},
        .required_block = {bounds.block[0], bounds.block[1], bounds.block[2]},
        .max_cluster_blocks = bounds.max_cluster,
        .min_blocks_per_multiprocessor = -1,
        .cluster_must_be_set = facts->cluster_must_be_set != 0,
        .blocks_are_clusters = bounds.counts_clusters,
    };
    pdl_sized_copy(info, &known, sizeof(known));
    return PDL_SUCCESS;
}

pdl_status pdl_kernel_prove(pdl_kernel *kernel, int device, pdl_proof *proof)
{
    struct pdl_kernel_facts *facts = NULL;
    if (proof == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "proof", "proof is NULL");
    }
    const pdl_status status = find_facts(kernel, &device, &facts);
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (pdl_known_proof(pdl_kernel_known(kernel, facts)) == PDL_PROOF_STATE_BUDGET) {
        struct pdl_scan_answer answer;
        if (kernel->kind == PDL_KERNEL_SYMBOL) {
            answer = read_code(kernel, facts, true);
        } else {
            answer.why = PDL_WHY_NOTHING;
            answer.proof = pdl_image_prove(kernel->image, pdl_kernel_name(kernel),
                                           (uint32_t)capability_of(facts));
        }
        pdl_lock_take(&kernel->lock);
        if (answer.why != PDL_WHY_NO_MEMORY && pdl_kernel_keep_proof(kernel, &answer.proof)) {
            const unsigned old = atomic_load_explicit(&facts->known, memory_order_relaxed);
            atomic_store_explicit(&facts->known, pdl_known_prove(old, &answer.proof),
                                  memory_order_relaxed);
            decide(kernel, facts);
        }
        pdl_lock_release(&kernel->lock);
    }
    *proof = pdl_proof_public(
        pdl_known_proof(atomic_load_explicit(&facts->known, memory_order_relaxed)));
    return PDL_SUCCESS;
}

pdl_status pdl_kernel_declare(pdl_kernel *kernel, pdl_known waits, pdl_known triggers)
{
    const struct pdl_scan_answer answer = {
        .waits = waits,
        .triggers = triggers,
        .why = waits == PDL_UNKNOWN || triggers == PDL_UNKNOWN ? PDL_WHY_DECLARED : PDL_WHY_NOTHING,
    };
    const pdl_status status = check_kernel(kernel);
    if (status != PDL_SUCCESS) {
        return status;
    }
    if ((unsigned)waits > PDL_YES || (unsigned)triggers > PDL_YES) {
        return PDL_FAIL_FIELD(
            PDL_ERROR_INVALID_ARGUMENT, (unsigned)waits > PDL_YES ? "waits" : "triggers",
            "waits is %d and triggers is %d: a pdl_known is 0, 1 or 2", (int)waits, (int)triggers);
    }
    pdl_lock_take(&kernel->lock);
    kernel->known = pdl_known_pack(&answer) | (kernel->known & PDL_KNOWN_PROOF);
    kernel->declared = true;
    decide_again(kernel);
    pdl_lock_release(&kernel->lock);
    return PDL_SUCCESS;
}

pdl_status pdl_kernel_set_attribute(pdl_kernel *kernel, int32_t attribute, int32_t value)
{
    struct pdl_kernel_facts *facts = NULL;
    int device = -1;
    pdl_status status = find_facts(kernel, &device, &facts);
    if (status == PDL_SUCCESS && attribute == PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY &&
        (uint32_t)value > pdl_kernel_mode_limit(facts, PDL_SHARED_MEMORY_NON_PORTABLE)) {
        status = PDL_FAIL_FIELD(
            PDL_ERROR_SHARED_MEMORY, "value",
            "%d bytes of dynamic shared memory for kernel %s: device %d has %d per block and the "
            "kernel's static shared memory takes %d of them",
            value, pdl_kernel_name(kernel), device, facts->device->shared_memory_per_block_optin,
            facts->static_shared_memory);
    }
    CUfunction handle;
    if (status == PDL_SUCCESS) {
        status = pdl_kernel_handle(kernel, &handle);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    const bool is_kernel = kernel->kind == PDL_KERNEL_KERNEL;
    const char *const call = is_kernel ? "cuKernelSetAttribute" : "cuFuncSetAttribute";
    const CUfunction_attribute number = (CUfunction_attribute)attribute;
    const CUresult result = is_kernel ? kernel->driver->cuKernelSetAttribute(
                                            number, value, (CUkernel)handle, (CUdevice)device)
                                      : kernel->driver->cuFuncSetAttribute(handle, number, value);
    if (result == CUDA_ERROR_INVALID_VALUE) {
        return pdl_error_set(PDL_ERROR_NOT_SUPPORTED, call, "attribute", (int32_t)result,
                             "the driver %d.%d refused the value %d for attribute %d of kernel %s",
                             kernel->driver->version / 1000, kernel->driver->version % 1000 / 10,
                             value, attribute, pdl_kernel_name(kernel));
    }
    if (result != CUDA_SUCCESS) {
        return pdl_error_from_cuda(kernel->driver, call, (int32_t)result,
                                   "to set an attribute of a kernel");
    }
    if (attribute == PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY) {
        atomic_store_explicit(&facts->max_dynamic_shared_memory, (unsigned)value,
                              memory_order_relaxed);
    }
    atomic_store_explicit(&facts->occupancy, 0, memory_order_relaxed); /* it may depend on it */
    return attribute == PDL_KERNEL_SHARED_MEMORY_MODE
               ? pdl_kernel_refresh_shared_memory(kernel, facts)
               : PDL_SUCCESS;
}
