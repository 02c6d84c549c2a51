/* SPDX-License-Identifier: MIT */
/* The fake libcuda.so.1: the model of CUDA (test/cuda) as a shared library.
 *
 * It stands in for the CUDA driver on machines without a GPU. It takes images and launches, keeps
 * memory on the host so that copies work, runs no kernel, and writes down what it was asked to do.
 * Graphs can be built and launched; a capture ends with an empty graph. The model exports its
 * entries itself; those that only programs call are here. It also exports what soak.h declares, for
 * programs that check what they got.
 *
 * Environment, read when the library is loaded:
 *   PDL_FAKE_CC              compute capability of the devices, such as 8.0 (default 9.0), or one each: 9.0,10.0
 *   PDL_FAKE_DRIVER_VERSION  what cuDriverGetVersion says, such as 12020 (default 13000); what is
 *                            newer is not found
 *   PDL_FAKE_DEVICES         how many devices there are (default 1; 0: cuInit finds none)
 *   PDL_FAKE_PTX_VERSION     what kernels were compiled for, such as 80 (default: as PDL_FAKE_CC)
 *   PDL_FAKE_FAIL            SEED:N makes N of a million calls fail, see mock_fail_randomly()
 *   PDL_FAKE_VARIANTS        if it is set when an entry is asked for: every entry has a variant before
 *                            and one after the version that it has here, which must not be called
 *   PDL_FAKE_LOG             a file, or - for standard error: one line a call
 */
#include <stdlib.h>
#include <string.h>

#include "mock_entry.h"
#include "soak.h"
#ifdef MOCK_WATCHED
#include "watched_entries.h"
#endif

/* X(name, since, symbol): the entries that the model does not have, as MOCK_ENTRIES. */
#define FAKE_ENTRIES(X)                                                                            \
    X(cuDriverGetVersion, 2020, cuDriverGetVersion)                                                \
    X(cuDevicePrimaryCtxRetain, 7000, cuDevicePrimaryCtxRetain)                                    \
    X(cuDevicePrimaryCtxRelease, 11000, cuDevicePrimaryCtxRelease_v2)                              \
    X(cuCtxSetCurrent, 4000, cuCtxSetCurrent)                                                      \
    X(cuMemcpyHtoD, 3020, cuMemcpyHtoD_v2)                                                         \
    X(cuStreamCreate, 2000, cuStreamCreate)                                                        \
    X(cuStreamCreateWithPriority, 5050, cuStreamCreateWithPriority)                                \
    X(cuStreamDestroy, 4000, cuStreamDestroy_v2)                                                   \
    X(cuStreamSynchronize, 2000, cuStreamSynchronize)                                              \
    X(cuEventCreate, 2000, cuEventCreate)                                                          \
    X(cuEventDestroy, 4000, cuEventDestroy_v2)                                                     \
    X(cuModuleLoadData, 2000, cuModuleLoadData)                                                    \
    X(cuModuleGetFunction, 2000, cuModuleGetFunction)                                              \
    X(cuFuncGetModule, 11000, cuFuncGetModule)                                                     \
    X(cuModuleUnload, 2000, cuModuleUnload)

/* Defines an entry under the name that the library exports. */
#define FAKE_ENTRY(symbol, ...)                                                                    \
    __attribute__((visibility("default"))) CUresult fake_##symbol(__VA_ARGS__) __asm__(#symbol);   \
    CUresult fake_##symbol(__VA_ARGS__)

/* ------------------------------------------------------------------------------------------------
 * The environment
 * ---------------------------------------------------------------------------------------------- */

static int number_of(const char *variable, int otherwise)
{
    const char *text = getenv(variable);
    return text != NULL && text[0] != '\0' ? atoi(text) : otherwise;
}

static FILE *stream_of(const char *variable)
{
    const char *path = getenv(variable);
    if (path == NULL || path[0] == '\0') {
        return NULL;
    }
    if (strcmp(path, "-") == 0) {
        return stderr;
    }
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        abort(); /* a test that asks for a log cannot do without it */
    }
    return file;
}

__attribute__((constructor)) static void fake_start(void)
{
    const char *capability = getenv("PDL_FAKE_CC");
    const char *fail = getenv("PDL_FAKE_FAIL");
    const int devices = number_of("PDL_FAKE_DEVICES", 1);
    int major = 9;
    int minor = 0;
    unsigned long long seed = 0;
    unsigned per_million = 0;
    if (capability == NULL || sscanf(capability, "%d.%d", &major, &minor) != 2) {
        major = 9;
        minor = 0;
    }
    mock_reset();
    mock.is_fake = true;
    mock.table.version = number_of("PDL_FAKE_DRIVER_VERSION", 13000);
    mock.table.device_count = devices < MOCK_DEVICES ? devices : MOCK_DEVICES;
    mock.code = number_of("PDL_FAKE_PTX_VERSION", 10 * major + minor);
    for (int d = 0; d < MOCK_DEVICES; d++) {
        if (d > 0 && capability != NULL && (capability = strchr(capability, ',')) != NULL) {
            (void)sscanf(++capability, "%d.%d", &major, &minor);
        }
        int *const attributes = mock.devices[d].attributes;
        (void)snprintf(mock.devices[d].name, sizeof(mock.devices[d].name),
                       "libpdl fake device (records calls, runs nothing)");
        attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = major;
        attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR] = minor;
        attributes[CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH] = major >= 9;
    }
    mock.log = stream_of("PDL_FAKE_LOG");
    if (fail != NULL && sscanf(fail, "%llu:%u", &seed, &per_million) == 2) {
        mock_fail_randomly(seed, per_million, NULL, 0);
    }
}

__attribute__((destructor)) static void fake_end(void)
{
#ifndef _WIN32 /* where a thread's own variables are gone by now, and so are other threads */
    mock_lock("the end");
#endif
    FILE *log = mock.log;
    mock.log = NULL;
    if (log != NULL && log != stderr) {
        (void)fclose(log);
    }
#ifndef _WIN32
    (void)mock_leave(CUDA_SUCCESS);
#endif
}

/* ------------------------------------------------------------------------------------------------
 * Entries that the library does not call, but programs do
 * ---------------------------------------------------------------------------------------------- */

static CUresult need_context(void)
{
    return mock_current_device() >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

FAKE_ENTRY(cuDriverGetVersion, int *version)
{
    mock_lock("cuDriverGetVersion");
    *version = mock.table.version;
    return mock_leave(CUDA_SUCCESS);
}

static CUresult check_device(CUdevice device)
{
    if (!mock.initialized) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    return mock_is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

FAKE_ENTRY(cuDevicePrimaryCtxRetain, CUcontext *context, CUdevice device)
{
    mock_lock("cuDevicePrimaryCtxRetain");
    const CUresult result = check_device(device);
    if (result == CUDA_SUCCESS) {
        *context = mock_context(device);
    }
    return mock_leave(result);
}

FAKE_ENTRY(cuDevicePrimaryCtxRelease_v2, CUdevice device)
{
    mock_lock("cuDevicePrimaryCtxRelease");
    return mock_leave(check_device(device));
}

FAKE_ENTRY(cuCtxSetCurrent, CUcontext context)
{
    mock_lock("cuCtxSetCurrent");
    if (context != NULL && !mock_has_context(context, "cuCtxSetCurrent")) {
        return mock_leave(CUDA_ERROR_INVALID_CONTEXT);
    }
    mock_make_current(context);
    MOCK_LOG("device=%d", mock_current_device());
    return mock_leave(CUDA_SUCCESS);
}

FAKE_ENTRY(cuMemcpyHtoD_v2, CUdeviceptr to, const void *from, size_t bytes)
{
    mock_lock("cuMemcpyHtoD");
    if (need_context() != CUDA_SUCCESS || !mock_has_memory(to, bytes, "cuMemcpyHtoD")) {
        return mock_leave(CUDA_ERROR_INVALID_VALUE);
    }
    memcpy(mock_memory(to), from, bytes);
    return mock_leave(CUDA_SUCCESS);
}

FAKE_ENTRY(cuStreamCreate, CUstream *stream, unsigned flags)
{
    (void)flags;
    mock_lock("cuStreamCreate");
    const CUresult result = need_context();
    if (result == CUDA_SUCCESS) {
        mock_create_stream(stream);
    }
    return mock_leave(result);
}

FAKE_ENTRY(cuStreamCreateWithPriority, CUstream *stream, unsigned flags, int priority)
{
    (void)priority;
    return fake_cuStreamCreate(stream, flags);
}

FAKE_ENTRY(cuStreamDestroy_v2, CUstream stream)
{
    mock_lock("cuStreamDestroy");
    return mock_leave(mock_destroy_stream(stream));
}

FAKE_ENTRY(cuStreamSynchronize, CUstream stream)
{
    mock_lock("cuStreamSynchronize");
    return mock_leave(mock_check_stream(stream));
}

FAKE_ENTRY(cuModuleLoadData, CUmodule *module, const void *code)
{
    CUlibrary library = NULL;
    mock_lock("cuModuleLoadData");
    CUresult result = need_context();
    if (result == CUDA_SUCCESS) {
        result = mock_load(code, &library);
    }
    if (result == CUDA_SUCCESS) {
        *module = (CUmodule)(void *)library;
    }
    return mock_leave(result);
}

FAKE_ENTRY(cuModuleGetFunction, CUfunction *function, CUmodule module, const char *name)
{
    CUlibrary library = (CUlibrary)(void *)module;
    mock_lock("cuModuleGetFunction");
    if (!mock_has_library(library, "cuModuleGetFunction")) {
        return mock_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    struct mock_kernel *found = mock_find_kernel(library, name);
    if (found == NULL || need_context() != CUDA_SUCCESS) {
        return mock_leave(found == NULL ? CUDA_ERROR_NOT_FOUND : need_context());
    }
    *function = (CUfunction)(void *)&found->handles[1 + mock_current_device()];
    return mock_leave(CUDA_SUCCESS);
}

FAKE_ENTRY(cuFuncGetModule, CUmodule *module, CUfunction function)
{
    int device = 0;
    mock_lock("cuFuncGetModule");
    const struct mock_kernel *const kernel = mock_kernel_of_function(function, &device);
    if (kernel == NULL || number_of("PDL_FAKE_NO_MODULES", 0) != 0) {
        return mock_leave(kernel == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_NOT_SUPPORTED);
    }
    *module = (CUmodule)(void *)kernel->library;
    return mock_leave(CUDA_SUCCESS);
}

FAKE_ENTRY(cuEventCreate, CUevent *event, unsigned flags)
{
    *event = mock_event_create(flags);
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuEventDestroy_v2, CUevent event)
{
    return mock_event_destroy(event);
}

FAKE_ENTRY(cuModuleUnload, CUmodule module)
{
    return mock_cuLibraryUnload((CUlibrary)(void *)module);
}

/* ------------------------------------------------------------------------------------------------
 * Finding entries
 * ---------------------------------------------------------------------------------------------- */

typedef void (*any_function)(void);

/* libcuda.so.1 has the model's entries under the driver's names: each is a jump there. */
#ifdef __x86_64__
#define JUMP "jmp"
#else
#define JUMP "b"
#endif
#ifdef _WIN32
#define FUNCTION(symbol) ""
#else
#define FUNCTION(symbol) ".type " symbol ", %function\n.size " symbol ", 1\n"
#endif
#define EXPORT(name, since, symbol)                                                                \
    __asm__(".text\n.globl " #symbol "\n" FUNCTION(#symbol) #symbol ":\n\t" JUMP " mock_" #name    \
                                                                    "\n");                         \
    __attribute__((visibility("default"))) void exported_##symbol(void) __asm__(#symbol);
#ifdef MOCK_WATCHED
MOCK_QUIET_ENTRIES(EXPORT)
#else
MOCK_ENTRIES(EXPORT)
#endif

static const struct {
    const char *name;
    int since;
    any_function function;
} entries[] = {
#define OF_MODEL(name, since, symbol) {#name, since, exported_##symbol},
#define OF_FAKE(name, since, symbol)  {#name, since, (any_function)fake_##symbol},
#ifdef MOCK_WATCHED
#define OF_SHOWN(name, since, symbol) {#name, since, (any_function)shown_##symbol},
    MOCK_SHOWN_ENTRIES(OF_SHOWN) WATCHED_ENTRIES(OF_SHOWN) MOCK_QUIET_ENTRIES(OF_MODEL)
#undef OF_SHOWN
#else
    MOCK_ENTRIES(OF_MODEL)
#endif
        FAKE_ENTRIES(OF_FAKE)
#undef OF_MODEL
#undef OF_FAKE
};

/* A variant of an entry that takes other arguments. */
static CUresult other_variant(void)
{
    (void)fprintf(stderr, "a variant of another version was called\n");
    abort();
}

FAKE_ENTRY(cuGetProcAddress_v2, const char *name, void **address, int version, cuuint64_t flags,
           CUdriverProcAddressQueryResult *found)
{
    mock_lock("cuGetProcAddress");
    CUdriverProcAddressQueryResult result = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    const bool has_variants = getenv("PDL_FAKE_VARIANTS") != NULL;
    *address = NULL;
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        if (strcmp(entries[i].name, name) != 0) {
            continue;
        }
        result = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
        if (has_variants && entries[i].since != version) {
            const any_function other = (any_function)other_variant;
            result = CU_GET_PROC_ADDRESS_SUCCESS;
            memcpy(address, &other, sizeof(*address));
        } else if (entries[i].since <= version && entries[i].since <= mock.table.version) {
            result = CU_GET_PROC_ADDRESS_SUCCESS;
            memcpy(address, &entries[i].function, sizeof(*address));
        }
    }
    MOCK_LOG("name=%s version=%d flags=%llu found=%d", name, version, (unsigned long long)flags,
             (int)result);
    if (found != NULL) {
        *found = result;
    }
    return mock_leave(*address != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
}

/* As CUDA 11 had it. */
FAKE_ENTRY(cuGetProcAddress, const char *name, void **address, int version, cuuint64_t flags)
{
    return fake_cuGetProcAddress_v2(name, address, version, flags, NULL);
}

/* NVRTC asks for a table where there is a driver, and takes "none" for an answer, but not that
 * this entry is missing. */
FAKE_ENTRY(cuGetExportTable, const void **table, const CUuuid *id)
{
    (void)id;
    *table = NULL;
    return CUDA_ERROR_NOT_FOUND;
}
