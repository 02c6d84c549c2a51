/* SPDX-License-Identifier: MIT */
/* A libcuda.so.1 that takes code and writes down what it got, for loads.py. Environment:
 *
 * loads_last is whether the last image had a wait.
 *
 *   LOADS_FOLDER   if it is set, each image becomes a file there, N.CALL; of a wrapper its fatbin, N.CALL.wrapper
 *   LOADS_REFUSE   the call that fails for an image with a wait: CALL, or "all"
 *   LOADS_CC       compute capabilities of the devices, 90
 *   LOADS_CONTEXT  0: none is current */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#define SHOWN __attribute__((visibility("default")))
#define CALL(symbol, ...)                                                                          \
    SHOWN CUresult fake_##symbol(__VA_ARGS__) __asm__(#symbol);                                    \
    CUresult fake_##symbol(__VA_ARGS__)

struct image {
    const unsigned char *bytes;
    size_t size;
    bool is_wrapper;
};

struct library {
    struct image image;
    const void *code;
    bool preserved;
    unsigned long sum;
};

static struct image image_of(const void *code, size_t size)
{
    struct image image = {code, size, false};
    unsigned magic = 0;
    if (strnlen(code, sizeof(magic)) == sizeof(magic)) { /* a text may be shorter */
        memcpy(&magic, code, sizeof(magic));
    }
    if (magic == 0x466243b1) {
        memcpy(&image.bytes, (const char *)code + 8, sizeof(image.bytes));
        memcpy(&magic, image.bytes, sizeof(magic));
        image.is_wrapper = true;
    }
    if (magic == 0xba55ed50) {
        memcpy(&image.size, image.bytes + 8, sizeof(image.size));
        image.size += 16;
    } else if (size == 0) {
        image.size = strlen(code);
    }
    return image;
}

static unsigned long sum_of(struct image image)
{
    unsigned long sum = 5381;
    for (size_t i = 0; i < image.size; i++) {
        sum = sum * 33 + image.bytes[i];
    }
    return sum;
}

SHOWN extern bool loads_last;
bool loads_last;

static void write_down(const char *call, struct image image)
{
    static int number;
    char path[512];
    loads_last = memmem(image.bytes, image.size, "griddepcontrol.wait", 19) != NULL;
    if (getenv("LOADS_FOLDER") == NULL) {
        return;
    }
    (void)snprintf(path, sizeof(path), "%s/%d.%s%s", getenv("LOADS_FOLDER"), ++number, call,
                   image.is_wrapper ? ".wrapper" : "");
    FILE *const file = fopen(path, "w");
    if (file == NULL || fwrite(image.bytes, 1, image.size, file) != image.size ||
        fclose(file) != 0) {
        abort();
    }
}

static bool refuses(const char *call, struct image image)
{
    const char *const refused = getenv("LOADS_REFUSE");
    return refused != NULL && (strcmp(refused, call) == 0 || strcmp(refused, "all") == 0) &&
           memmem(image.bytes, image.size, "griddepcontrol.wait", 19) != NULL;
}

static CUresult load(const char *call, const void *code, size_t size)
{
    const struct image image = image_of(code, size);
    write_down(call, image);
    return refuses(call, image) ? CUDA_ERROR_INVALID_PTX : CUDA_SUCCESS;
}

static CUresult load_file(const char *call, const char *path)
{
    char text[4096];
    FILE *const file = fopen(path, "r");
    const size_t size = file != NULL ? fread(text, 1, sizeof(text), file) : 0;
    if (file == NULL || fclose(file) != 0) {
        return CUDA_ERROR_FILE_NOT_FOUND;
    }
    return load(call, text, size);
}

/* NOLINTBEGIN(readability-non-const-parameter): the driver's types */

CALL(cuInit, unsigned flags)
{
    return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CALL(cuCtxGetCurrent, CUcontext *context)
{
    static int one;
    const char *const has = getenv("LOADS_CONTEXT");
    *context = has != NULL && strcmp(has, "0") == 0 ? NULL : (CUcontext)(void *)&one;
    return CUDA_SUCCESS;
}

CALL(cuCtxGetDevice, CUdevice *device)
{
    CUcontext context = NULL;
    (void)fake_cuCtxGetCurrent(&context);
    *device = 0;
    return context != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* The number of devices; the capability of one of them, if it is there. */
static int read_devices(CUdevice device, int *capability)
{
    const char *text = getenv("LOADS_CC");
    int count = 0;
    for (text = text != NULL ? text : "90"; *text != '\0'; count++) {
        char *end = NULL;
        const int one = (int)strtol(text, &end, 10);
        *capability = count == device ? one : *capability;
        text = *end == ',' ? end + 1 : end;
    }
    return count;
}

CALL(cuDeviceGetCount, int *count)
{
    int capability = 0;
    *count = read_devices(0, &capability);
    return CUDA_SUCCESS;
}

CALL(cuDeviceGetAttribute, int *value, CUdevice_attribute which, CUdevice device)
{
    int capability = 0;
    const int count = read_devices(device, &capability);
    *value =
        which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? capability / 10 : capability % 10;
    return device < count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CALL(cuThreadExchangeStreamCaptureMode, CUstreamCaptureMode *mode)
{
    static CUstreamCaptureMode now = CU_STREAM_CAPTURE_MODE_GLOBAL;
    const CUstreamCaptureMode before = now;
    now = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

CALL(cuModuleLoad, CUmodule *module, const char *path)
{
    *module = NULL;
    return load_file("cuModuleLoad", path);
}

CALL(cuModuleLoadData, CUmodule *module, const void *code)
{
    *module = NULL;
    return load("cuModuleLoadData", code, 0);
}

/* cppcheck-suppress constParameter */
CALL(cuModuleLoadDataEx, CUmodule *module, const void *code, unsigned count, CUjit_option *options,
     void **values)
{
    *module = NULL;
    if (count != 2 || options[0] != CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES ||
        (size_t)(uintptr_t)values[0] != 100 || options[1] != CU_JIT_ERROR_LOG_BUFFER) {
        abort();
    }
    const CUresult result = load("cuModuleLoadDataEx", code, 0);
    const int length =
        result != CUDA_SUCCESS ? snprintf(values[1], 100, "error %d", (int)result) : 0;
    values[0] = (void *)(uintptr_t)length; /* so long is the log */
    return result;
}

CALL(cuModuleLoadFatBinary, CUmodule *module, const void *code)
{
    *module = NULL;
    return load("cuModuleLoadFatBinary", code, 0);
}

/* cppcheck-suppress constParameter */
CALL(cuLibraryLoadData, CUlibrary *library, const void *code, CUjit_option *options, void **values,
     unsigned count, CUlibraryOption *library_options, void **library_values,
     unsigned library_count)
{
    const CUresult result = load("cuLibraryLoadData", code, 0);
    struct library *const made = calloc(1, sizeof(*made));
    (void)options;
    (void)values;
    (void)count;
    (void)library_values;
    if (made == NULL || result != CUDA_SUCCESS) {
        free(made);
        return result;
    }
    *made = (struct library){.image = image_of(code, 0),
                             .code = code,
                             .preserved = library_count > 0 &&
                                          library_options[0] == CU_LIBRARY_BINARY_IS_PRESERVED};
    made->sum = sum_of(made->image);
    *library = (CUlibrary)(void *)made;
    return CUDA_SUCCESS;
}

CALL(cuLibraryLoadFromFile, CUlibrary *library, const char *path, CUjit_option *options,
     void **values, unsigned count, CUlibraryOption *library_options, void **library_values,
     unsigned library_count)
{
    (void)options;
    (void)values;
    (void)count;
    (void)library_options;
    (void)library_values;
    *library = NULL;
    return library_count > 0 ? CUDA_ERROR_INVALID_VALUE : load_file("cuLibraryLoadFromFile", path);
}

CALL(cuLibraryGetModule, CUmodule *module, CUlibrary library)
{
    const struct library *const of = (const struct library *)(void *)library;
    *module = NULL;
    return refuses("cuLibraryGetModule", of->image) ? CUDA_ERROR_INVALID_PTX : CUDA_SUCCESS;
}

CALL(cuLibraryUnload, CUlibrary library)
{
    struct library *const of = (struct library *)(void *)library;
    if (of->preserved && sum_of(image_of(of->code, 0)) != of->sum) {
        (void)fprintf(stderr, "the image was not preserved\n");
        abort();
    }
    free(of);
    return CUDA_SUCCESS;
}

CALL(cuLinkAddData_v2, CUlinkState state, CUjitInputType type, void *data, size_t size,
     const char *name, unsigned count, CUjit_option *options, void **values)
{
    (void)state;
    (void)options;
    (void)values;
    if (name == NULL || count != 0) {
        abort();
    }
    if (type == CU_JIT_INPUT_PTX && ((const char *)data)[size - 1] != '\0') {
        (void)fprintf(stderr, "the text has no end\n");
        abort();
    }
    return load("cuLinkAddData", data, type == CU_JIT_INPUT_PTX ? size - 1 : size);
}

CALL(cuLinkAddFile_v2, CUlinkState state, CUjitInputType type, const char *path, unsigned count,
     CUjit_option *options, void **values)
{
    (void)state;
    (void)type;
    (void)count;
    (void)options;
    (void)values;
    return load_file("cuLinkAddFile", path);
}

/* NOLINTEND(readability-non-const-parameter) */
