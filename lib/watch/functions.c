/* SPDX-License-Identifier: MIT */
/* Kernels by their handles, and by their names. Both tables only grow, and are read without a lock. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/hash.h"
#include "os/lock.h"
#include "watch/driver.h"
#include "watch/watch.h"

enum { BUCKETS = 4096, ATTEMPTS_MOST = 16 };

struct name {
    struct name *next;
    uint64_t hash;
    struct pdl_watch_kernel kernel;
    char text[];
};

static _Atomic(struct pdl_watch_loaded *) functions[BUCKETS];
static struct pdl_watch_loaded *modules[BUCKETS]; /* under the lock */
static _Atomic(struct name *) names[BUCKETS];
static struct pdl_lock lock;
static _Atomic uint32_t generation;
static uint32_t function_count, name_count; /* under the lock, as new items */
static uint32_t recorded_in;                /* the process that has recorded them */

static uint32_t bucket_of(uint64_t hash)
{
    return (uint32_t)((hash * UINT64_C(0x9e3779b97f4a7c15)) >> 52); /* 12 bits */
}

/* ---- names ----------------------------------------------------------------------------------------- */

static void record_name(const struct pdl_watch_kernel *kernel)
{
    struct pdl_watch_name *const record =
        pdl_watch_reserve_text(PDL_WATCH_NAME, sizeof(*record), kernel->text, strlen(kernel->text));
    if (record != NULL) {
        record->id = kernel->id;
        pdl_watch_commit(record);
    }
}

static struct name *find_name(const char *text, uint64_t hash)
{
    struct name *name = atomic_load_explicit(&names[bucket_of(hash)], memory_order_acquire);
    while (name != NULL && (name->hash != hash || strcmp(name->kernel.text, text) != 0)) {
        name = name->next;
    }
    return name;
}

/* Under the lock. */
static struct pdl_watch_kernel *add_name(const char *text, uint64_t hash)
{
    const size_t size = strlen(text) + 1;
    struct name *const name = calloc(1, sizeof(*name) + size);
    if (name != NULL) {
        name->hash = hash;
        name->kernel.id = ++name_count;
        memcpy(name->text, text, size);
        name->kernel.text = name->text;
        record_name(&name->kernel);
        name->next = atomic_load_explicit(&names[bucket_of(hash)], memory_order_relaxed);
        atomic_store_explicit(&names[bucket_of(hash)], name, memory_order_release);
    }
    return name != NULL ? &name->kernel : NULL;
}

struct pdl_watch_kernel *pdl_watch_kernel(const char *text)
{
    const uint64_t hash = pdl_hash(PDL_HASH_START, text, strlen(text));
    struct name *const known = find_name(text, hash);
    if (known != NULL) {
        return &known->kernel;
    }
    pdl_lock_take(&lock);
    struct name *const now = find_name(text, hash);
    struct pdl_watch_kernel *const kernel = now != NULL ? &now->kernel : add_name(text, hash);
    pdl_lock_release(&lock);
    return kernel;
}

/* ---- functions ------------------------------------------------------------------------------------- */

static struct pdl_watch_loaded *find_function(uint64_t handle)
{
    const uint32_t now = atomic_load_explicit(&generation, memory_order_relaxed);
    struct pdl_watch_loaded *function =
        atomic_load_explicit(&functions[bucket_of(handle)], memory_order_acquire);
    while (function != NULL && (function->handle != handle || function->generation != now ||
                                atomic_load_explicit(&function->gone, memory_order_relaxed))) {
        function = function->next;
    }
    return function;
}

static int32_t attribute(const struct pdl_watch_driver *driver, CUfunction function,
                         CUfunction_attribute which)
{
    int value = -1;
    return driver->cuFuncGetAttribute != NULL && function != NULL &&
                   driver->cuFuncGetAttribute(&value, which, function) == CUDA_SUCCESS
               ? value
               : -1;
}

static void record_function(const struct pdl_watch_driver *driver, CUfunction handle,
                            const struct pdl_watch_loaded *function, CUdevice device)
{
    struct pdl_watch_function *const record =
        pdl_watch_reserve(PDL_WATCH_FUNCTION, sizeof(*record));
    if (record != NULL) {
        record->id = function->id;
        record->name = function->kernel->id;
        record->handle = function->handle;
        record->registers = attribute(driver, handle, CU_FUNC_ATTRIBUTE_NUM_REGS);
        record->static_shared = attribute(driver, handle, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
        record->local = attribute(driver, handle, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
        record->ptx_version = function->ptx_version;
        record->binary_version = function->binary_version;
        record->carveout =
            attribute(driver, handle, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
        record->device = (uint32_t)device;
        record->proved = atomic_load(&function->proved);
        pdl_watch_commit(record);
    }
}

/* Files a function under its module, unless it outlives all modules. */
static void file_function(const struct pdl_watch_driver *driver, struct pdl_watch_loaded *function,
                          CUfunction real)
{
    CUmodule module = NULL;
    if (driver->cuFuncGetModule != NULL && driver->cuFuncGetModule(&module, real) == CUDA_SUCCESS) {
        function->module = (uint64_t)(uintptr_t)module;
    }
    struct pdl_watch_loaded **const bucket = &modules[bucket_of(function->module)];
    function->module_next = *bucket;
    *bucket = function;
}

/* Under the lock. `before`: made without all that there is to know; NULL. */
static struct pdl_watch_loaded *add_function(CUfunction handle, struct pdl_watch_loaded *before)
{
    const struct pdl_watch_driver *const driver = pdl_watch_driver();
    const uint64_t key = (uint64_t)(uintptr_t)handle;
    const uint32_t now = atomic_load_explicit(&generation, memory_order_relaxed);
    const char *text = NULL;
    CUfunction real = handle;
    bool is_everywhere = false; /* one handle for all devices */
    bool is_known = false;      /* the device is */
    CUdevice device = 0;
    uint32_t least = 0;
    uint32_t highest = 0;
    struct pdl_watch_loaded *const function = calloc(1, sizeof(*function));
    if (function == NULL || driver == NULL) {
        free(function);
        return NULL;
    }
    if (driver->cuFuncGetName == NULL || driver->cuFuncGetName(&text, handle) != CUDA_SUCCESS) {
        real = NULL; /* a CUkernel, which launches take as well */
        is_everywhere = true;
        if (driver->cuKernelGetName == NULL ||
            driver->cuKernelGetName(&text, (CUkernel)handle) != CUDA_SUCCESS) {
            text = NULL;
        }
        if (driver->cuKernelGetFunction != NULL &&
            driver->cuKernelGetFunction(&real, (CUkernel)handle) != CUDA_SUCCESS) {
            real = NULL;
        }
    }
    text = text != NULL ? text : "";
    const uint64_t hash = pdl_hash(PDL_HASH_START, text, strlen(text));
    struct name *const name = find_name(text, hash);
    function->kernel = name != NULL ? &name->kernel : add_name(text, hash);
    if (function->kernel == NULL) {
        free(function);
        return NULL;
    }
    if (driver->cuCtxGetDevice != NULL && driver->cuCtxGetDevice(&device) == CUDA_SUCCESS) {
        function->capability = pdl_watch_capability(device);
        is_known = true;
    }
    if (is_everywhere) { /* its code differs where the devices do: this one's proves nothing */
        pdl_watch_capabilities(&least, &highest);
        if (least != highest) {
            function->proved = PDL_WATCH_PROVED_UNKNOWN;
        }
    }
    function->id = ++function_count;
    function->handle = key;
    function->generation = now;
    function->ptx_version = attribute(driver, real, CU_FUNC_ATTRIBUTE_PTX_VERSION);
    function->binary_version = attribute(driver, real, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
    function->attempts = (before != NULL ? before->attempts : 0) + (is_known ? 1u : 0u);
    function->settled =
        is_known && (function->ptx_version >= 0 || function->attempts >= ATTEMPTS_MOST);
    record_function(driver, real, function, device);
    if (!is_everywhere || text[0] == '\0') { /* a CUkernel goes with its library */
        file_function(driver, function, real);
    }
    if (before != NULL) {
        atomic_store_explicit(&before->gone, true, memory_order_relaxed);
    }
    function->next = atomic_load_explicit(&functions[bucket_of(key)], memory_order_relaxed);
    atomic_store_explicit(&functions[bucket_of(key)], function, memory_order_release);
    return function;
}

/* A child of a fork has the tables of its parent, and a recording of its own. Under the lock. */
static void begin_again(void)
{
    const uint32_t self = (uint32_t)getpid();
    if (recorded_in != self) {
        if (recorded_in != 0) {
            for (size_t i = 0; i < BUCKETS; i++) {
                for (const struct name *name = atomic_load(&names[i]); name != NULL;
                     name = name->next) {
                    record_name(&name->kernel);
                }
            }
            atomic_fetch_add(&generation, 1);
        }
        recorded_in = self;
    }
}

static bool has_device(void)
{
    const struct pdl_watch_driver *const driver = pdl_watch_driver();
    CUdevice device;
    return driver != NULL && driver->cuCtxGetDevice != NULL &&
           driver->cuCtxGetDevice(&device) == CUDA_SUCCESS;
}

struct pdl_watch_loaded *pdl_watch_function(CUfunction handle)
{
    struct pdl_watch_loaded *function = find_function((uint64_t)(uintptr_t)handle);
    if (handle == NULL || (function != NULL && (function->settled || !has_device()))) {
        return function;
    }
    pdl_lock_take(&lock);
    begin_again();
    function = find_function((uint64_t)(uintptr_t)handle);
    const bool is_new = function == NULL || !function->settled;
    if (is_new) {
        struct pdl_watch_loaded *const made = add_function(handle, function);
        function = made != NULL ? made : function;
    }
    pdl_lock_release(&lock);
    if (is_new && function != NULL && pdl_watch_settings()->record != NULL) {
        pdl_watch_image_of(function);
    }
    return function;
}

void pdl_watch_functions_forget_module(CUmodule module)
{
    const uint64_t keys[] = {(uint64_t)(uintptr_t)module, 0}; /* 0: it may be this one */
    pdl_lock_take(&lock);
    const uint32_t now = atomic_load_explicit(&generation, memory_order_relaxed);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        struct pdl_watch_loaded **at = &modules[bucket_of(keys[i])];
        while (*at != NULL) {
            struct pdl_watch_loaded *const function = *at;
            if (function->module == keys[i]) {
                atomic_store_explicit(&function->gone, true, memory_order_relaxed);
            }
            if (function->generation != now ||
                atomic_load_explicit(&function->gone, memory_order_relaxed)) {
                *at = function->module_next;
            } else {
                at = &function->module_next;
            }
        }
    }
    pdl_lock_release(&lock);
}

void pdl_watch_functions_forget(void)
{
    atomic_fetch_add(&generation, 1);
}
