/* SPDX-License-Identifier: MIT */
/* The code that a program loads. It is kept for who asks what a kernel does, as the driver got it: instrumented, if that is
 * asked for and loads. What libcuda calls of these itself is not the program's. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "watch/driver.h"
#include "watch/images.h"
#include "watch/interpose.h"
#include "watch/replace.h"
#include "watch/watch.h"

enum { FILE_MOST = 1 << 30, OPTIONS_MOST = 64 };

/* Whether anybody wants the code of kernels. */
static bool wants_code(void)
{
    const struct pdl_watch_settings *const settings = pdl_watch_settings();
    return pdl_watch_depth == 0 && pdl_watch_is_wanted() &&
           (settings->code || settings->rules != NULL || settings->is_instrumented);
}

static void given(const void *image, size_t size)
{
    if (image == NULL || !wants_code()) {
        return;
    }
    if (size == PDL_WATCH_SIZE_UNKNOWN) {
        pdl_watch_image_given(image);
    } else {
        pdl_watch_image_bytes(image, size);
    }
}

/* The whole of a file; NULL where nobody wants it, or it cannot be read. */
static void *read_code(const char *path, size_t *size)
{
    struct stat about;
    const int file =
        path != NULL && wants_code() ? pdl_file_open(AT_FDCWD, path, O_CLOEXEC, &about) : -1;
    void *const bytes = file >= 0 ? pdl_file_take(file, FILE_MOST, size) : NULL;
    if (file >= 0) {
        (void)close(file);
    }
    return bytes;
}

/* ---- one load ---------------------------------------------------------------------------------------- */

/* A load, whichever call makes it. */
struct load {
    enum pdl_watch_hooks hook;
    CUmodule *module;
    CUlibrary *library;
    CUlinkState state;
    CUjitInputType type;
    const char *path; /* of a file; of data that are linked, what they are called */
    const void *image;
    size_t size;
    unsigned count, library_count;
    CUjit_option *options;
    void **values;
    CUlibraryOption *library_options;
    void **library_values;
};

/* Has the driver compile a library now, if there is a context: it may put that off until a kernel is launched, and then it is
 * too late for the original. */
static CUresult compile(CUlibrary library)
{
    const struct pdl_watch_driver *const driver = pdl_watch_driver();
    CUcontext context = NULL;
    CUmodule module = NULL;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED; /* others may capture */
    if (driver == NULL || driver->cuLibraryGetModule == NULL || driver->cuLibraryUnload == NULL ||
        driver->cuCtxGetCurrent == NULL || driver->cuThreadExchangeStreamCaptureMode == NULL ||
        driver->cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == NULL) {
        return CUDA_SUCCESS;
    }
    (void)driver->cuThreadExchangeStreamCaptureMode(&mode);
    const CUresult result = driver->cuLibraryGetModule(&module, library);
    (void)driver->cuThreadExchangeStreamCaptureMode(&mode);
    if (result != CUDA_SUCCESS) {
        (void)driver->cuLibraryUnload(library);
    }
    return result;
}

/* The call with the image, or with another one in its place. */
static CUresult attempt(const struct load *load, pdl_watch_function_pointer real, const void *image,
                        size_t size)
{
    const CUjitInputType type = load->type;
    switch ((int)load->hook) {
    case PDL_WATCH_HOOK_MODULE_DATA:
        return ((PFN_cuModuleLoadData_v2000)real)(load->module, image);
    case PDL_WATCH_HOOK_MODULE_DATA_EX:
        return ((PFN_cuModuleLoadDataEx_v2010)real)(load->module, image, load->count, load->options,
                                                    load->values);
    case PDL_WATCH_HOOK_MODULE_FATBIN:
        return ((PFN_cuModuleLoadFatBinary_v2000)real)(load->module, image);
    case PDL_WATCH_HOOK_LIBRARY_DATA:
        return ((PFN_cuLibraryLoadData_v12000)real)(
            load->library, image, load->options, load->values, load->count, load->library_options,
            load->library_values, load->library_count);
    default: /* the driver only reads it */
        return ((PFN_cuLinkAddData_v6050)real)(load->state, type, (void *)(uintptr_t)image, size,
                                               load->path, load->count, load->options,
                                               load->values);
    }
}

/* The call as the program makes it. */
static CUresult load_as_is(const struct load *load, pdl_watch_function_pointer real)
{
    switch ((int)load->hook) {
    case PDL_WATCH_HOOK_MODULE_FILE:
        return ((PFN_cuModuleLoad_v2000)real)(load->module, load->path);
    case PDL_WATCH_HOOK_LIBRARY_FILE:
        return ((PFN_cuLibraryLoadFromFile_v12000)real)(
            load->library, load->path, load->options, load->values, load->count,
            load->library_options, load->library_values, load->library_count);
    case PDL_WATCH_HOOK_LINK_FILE:
        return ((PFN_cuLinkAddFile_v6050)real)(load->state, load->type, load->path, load->count,
                                               load->options, load->values);
    default:
        return attempt(load, real, load->image, load->size);
    }
}

static bool is_file(const struct load *load)
{
    return load->hook == PDL_WATCH_HOOK_MODULE_FILE || load->hook == PDL_WATCH_HOOK_LIBRARY_FILE ||
           load->hook == PDL_WATCH_HOOK_LINK_FILE;
}

static bool is_preserved(const struct load *load)
{
    bool is = false;
    for (unsigned i = 0; i < load->library_count && load->library_options != NULL; i++) {
        is = is || load->library_options[i] == CU_LIBRARY_BINARY_IS_PRESERVED;
    }
    return is;
}

/* What the program finds changed by an attempt: values of options, which sizes of logs are written into, and the logs. */
struct outputs {
    size_t count;
    void *values[OPTIONS_MOST];
    struct {
        char *at;
        size_t size;
        char *before; /* allocated */
    } logs[2];
};

/* False without memory, or where there are too many options. To be forgotten either way. */
static bool save_outputs(const struct load *load, struct outputs *outputs)
{
    static const CUjit_option buffers[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER};
    static const CUjit_option sizes[] = {CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                                         CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    *outputs =
        (struct outputs){.count = load->values != NULL && load->options != NULL ? load->count : 0};
    if (outputs->count > OPTIONS_MOST) {
        return false;
    }
    for (size_t log = 0; log < 2; log++) {
        for (size_t i = 0; i < outputs->count; i++) {
            outputs->values[i] = load->values[i];
            if (load->options[i] == buffers[log]) {
                outputs->logs[log].at = load->values[i];
            } else if (load->options[i] == sizes[log]) {
                outputs->logs[log].size = (unsigned)(uintptr_t)load->values[i];
            }
        }
        if (outputs->logs[log].at != NULL && outputs->logs[log].size > 0) {
            outputs->logs[log].before = malloc(outputs->logs[log].size);
            if (outputs->logs[log].before == NULL) {
                return false;
            }
            memcpy(outputs->logs[log].before, outputs->logs[log].at, outputs->logs[log].size);
        }
    }
    return true;
}

static void restore_outputs(const struct load *load, const struct outputs *outputs)
{
    for (size_t i = 0; i < outputs->count; i++) {
        load->values[i] = outputs->values[i];
    }
    for (size_t log = 0; log < 2; log++) {
        if (outputs->logs[log].before != NULL) {
            memcpy(outputs->logs[log].at, outputs->logs[log].before, outputs->logs[log].size);
        }
    }
}

static void forget_outputs(const struct outputs *outputs)
{
    free(outputs->logs[0].before);
    free(outputs->logs[1].before);
}

/* Loads what takes the image's place. A file's is loaded from memory. */
static CUresult load_other(const struct load *load, const struct pdl_watch_replacement *other)
{
    struct load now = *load;
    now.hook = load->hook == PDL_WATCH_HOOK_MODULE_FILE    ? PDL_WATCH_HOOK_MODULE_DATA
               : load->hook == PDL_WATCH_HOOK_LIBRARY_FILE ? PDL_WATCH_HOOK_LIBRARY_DATA
               : load->hook == PDL_WATCH_HOOK_LINK_FILE    ? PDL_WATCH_HOOK_LINK_DATA
                                                           : load->hook;
    const bool is_link = now.hook == PDL_WATCH_HOOK_LINK_DATA;
    const pdl_watch_function_pointer real = pdl_watch_real(now.hook);
    struct outputs outputs;
    if (!save_outputs(load, &outputs) || real == NULL) {
        forget_outputs(&outputs);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    pdl_watch_depth++;
    CUresult result =
        attempt(&now, real, other->image,
                other->size + (is_link && load->type == CU_JIT_INPUT_PTX)); /* with the NUL */
    if (result == CUDA_SUCCESS && now.hook == PDL_WATCH_HOOK_LIBRARY_DATA) {
        result = compile(*load->library);
    }
    pdl_watch_depth--;
    if (result != CUDA_SUCCESS) {
        restore_outputs(load, &outputs);
    }
    forget_outputs(&outputs);
    return result;
}

/* Tries what takes the image's place; false: the program's call has to be made. */
static bool load_replaced(const struct load *load, const void *image, size_t size, CUresult *result)
{
    struct pdl_watch_replacement other = {.image = NULL};
    if (wants_code() && (!is_file(load) || !is_preserved(load))) { /* which a file must not be */
        other = pdl_watch_replace(image, size, load->path);
    }
    const bool has_other = other.image != NULL;
    const size_t other_size = other.size > 0 ? other.size : PDL_WATCH_SIZE_UNKNOWN;
    *result = has_other ? load_other(load, &other) : CUDA_SUCCESS;
    void *const made = pdl_watch_replaced(&other, *result);
    if (!has_other || *result != CUDA_SUCCESS) {
        free(made);
        return false;
    }
    given(made, other_size);
    if (load->library != NULL && is_preserved(load)) {
        pdl_watch_image_keep(*load->library, made);
    } else {
        free(made);
    }
    return true;
}

static CUresult load_code(const struct load *load)
{
    const pdl_watch_function_pointer real = pdl_watch_real(load->hook);
    const bool is_link =
        load->hook == PDL_WATCH_HOOK_LINK_DATA || load->hook == PDL_WATCH_HOOK_LINK_FILE;
    CUresult result = CUDA_SUCCESS;
    void *bytes = NULL;
    const void *image = load->image;
    size_t size = load->size;
    if (real == NULL) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (!is_link || load->type == CU_JIT_INPUT_PTX || load->type == CU_JIT_INPUT_FATBINARY) {
        bytes = is_file(load) ? read_code(load->path, &size) : NULL;
        image = bytes != NULL ? bytes : image;
    } else {
        image = NULL;
    }
    if (image == NULL || !load_replaced(load, image, size, &result)) {
        given(image, size);
        pdl_watch_depth++;
        result = load_as_is(load, real);
        pdl_watch_depth--;
    }
    free(bytes);
    return result;
}

/* ---- the calls ---------------------------------------------------------------------------------------- */

/* NOLINTBEGIN(readability-non-const-parameter): the driver's types */

PDL_WATCH_HOOK(cuModuleLoad, CUmodule *module, const char *path)
{
    const struct load load = {.hook = PDL_WATCH_HOOK_MODULE_FILE, .module = module, .path = path};
    return load_code(&load);
}

PDL_WATCH_HOOK(cuModuleLoadData, CUmodule *module, const void *image)
{
    const struct load load = {.hook = PDL_WATCH_HOOK_MODULE_DATA,
                              .module = module,
                              .image = image,
                              .size = PDL_WATCH_SIZE_UNKNOWN};
    return load_code(&load);
}

PDL_WATCH_HOOK(cuModuleLoadDataEx, CUmodule *module, const void *image, unsigned count,
               CUjit_option *options, void **values)
{
    const struct load load = {.hook = PDL_WATCH_HOOK_MODULE_DATA_EX,
                              .module = module,
                              .image = image,
                              .size = PDL_WATCH_SIZE_UNKNOWN,
                              .count = count,
                              .options = options,
                              .values = values};
    return load_code(&load);
}

PDL_WATCH_HOOK(cuModuleLoadFatBinary, CUmodule *module, const void *image)
{
    const struct load load = {.hook = PDL_WATCH_HOOK_MODULE_FATBIN,
                              .module = module,
                              .image = image,
                              .size = PDL_WATCH_SIZE_UNKNOWN};
    return load_code(&load);
}

PDL_WATCH_HOOK(cuLibraryLoadData, CUlibrary *library, const void *image, CUjit_option *options,
               void **values, unsigned count, CUlibraryOption *library_options,
               void **library_values, unsigned library_count)
{
    const struct load load = {.hook = PDL_WATCH_HOOK_LIBRARY_DATA,
                              .library = library,
                              .image = image,
                              .size = PDL_WATCH_SIZE_UNKNOWN,
                              .count = count,
                              .options = options,
                              .values = values,
                              .library_count = library_count,
                              .library_options = library_options,
                              .library_values = library_values};
    return load_code(&load);
}

PDL_WATCH_HOOK(cuLibraryLoadFromFile, CUlibrary *library, const char *path, CUjit_option *options,
               void **values, unsigned count, CUlibraryOption *library_options,
               void **library_values, unsigned library_count)
{
    const struct load load = {.hook = PDL_WATCH_HOOK_LIBRARY_FILE,
                              .library = library,
                              .path = path,
                              .count = count,
                              .options = options,
                              .values = values,
                              .library_count = library_count,
                              .library_options = library_options,
                              .library_values = library_values};
    return load_code(&load);
}

PDL_WATCH_HOOK(cuLinkAddData_v2, CUlinkState state, CUjitInputType type, void *data, size_t size,
               const char *name, unsigned count, CUjit_option *options, void **values)
{
    const struct load load = {.hook = PDL_WATCH_HOOK_LINK_DATA,
                              .state = state,
                              .type = type,
                              .path = name,
                              .image = data,
                              .size = size,
                              .count = count,
                              .options = options,
                              .values = values};
    return load_code(&load);
}

PDL_WATCH_HOOK(cuLinkAddFile_v2, CUlinkState state, CUjitInputType type, const char *path,
               unsigned count, CUjit_option *options, void **values)
{
    const struct load load = {.hook = PDL_WATCH_HOOK_LINK_FILE,
                              .state = state,
                              .type = type,
                              .path = path,
                              .count = count,
                              .options = options,
                              .values = values};
    return load_code(&load);
}

/* NOLINTEND(readability-non-const-parameter) */

/* ---- unloading ----------------------------------------------------------------------------------------- */

/* Before the call: once the driver has unloaded, another thread may get the handles of these kernels for others. CUPTI tells
 * of that too. */
static void forget_kernels(void)
{
    if (pdl_watch_is_wanted() && !pdl_watch_cupti_runs()) {
        pdl_watch_functions_forget();
    }
}

PDL_WATCH_HOOK(cuModuleUnload, CUmodule module)
{
    const PFN_cuModuleUnload_v2000 real =
        (PFN_cuModuleUnload_v2000)pdl_watch_real(PDL_WATCH_HOOK_MODULE_UNLOAD);
    if (pdl_watch_is_wanted() && !pdl_watch_cupti_runs()) {
        pdl_watch_functions_forget_module(module);
    }
    return real != NULL ? real(module) : CUDA_ERROR_NOT_INITIALIZED;
}

PDL_WATCH_HOOK(cuLibraryUnload, CUlibrary library)
{
    const PFN_cuLibraryUnload_v12000 real =
        (PFN_cuLibraryUnload_v12000)pdl_watch_real(PDL_WATCH_HOOK_LIBRARY_UNLOAD);
    void *const image = pdl_watch_image_take(library);
    forget_kernels();
    const CUresult result = real != NULL ? real(library) : CUDA_ERROR_NOT_INITIALIZED;
    if (image != NULL && result != CUDA_SUCCESS) {
        pdl_watch_image_keep(library, image);
    } else {
        free(image);
    }
    return result;
}

/* A context takes its modules with it. */

PDL_WATCH_HOOK(cuCtxDestroy_v2, CUcontext context)
{
    const PFN_cuCtxDestroy_v4000 real =
        (PFN_cuCtxDestroy_v4000)pdl_watch_real(PDL_WATCH_HOOK_CONTEXT_DESTROY);
    forget_kernels();
    return real != NULL ? real(context) : CUDA_ERROR_NOT_INITIALIZED;
}

PDL_WATCH_HOOK(cuDevicePrimaryCtxReset_v2, CUdevice device)
{
    const PFN_cuDevicePrimaryCtxReset_v11000 real =
        (PFN_cuDevicePrimaryCtxReset_v11000)pdl_watch_real(PDL_WATCH_HOOK_PRIMARY_RESET);
    forget_kernels();
    return real != NULL ? real(device) : CUDA_ERROR_NOT_INITIALIZED;
}

PDL_WATCH_HOOK(cuDevicePrimaryCtxRelease_v2, CUdevice device)
{
    const PFN_cuDevicePrimaryCtxRelease_v11000 real =
        (PFN_cuDevicePrimaryCtxRelease_v11000)pdl_watch_real(PDL_WATCH_HOOK_PRIMARY_RELEASE);
    forget_kernels();
    return real != NULL ? real(device) : CUDA_ERROR_NOT_INITIALIZED;
}
