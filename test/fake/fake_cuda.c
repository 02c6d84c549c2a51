/* SPDX-License-Identifier: MIT */
/* The fake libcuda.so.1: its environment, and cuGetProcAddress. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr() */
#endif
#include "fake_cuda.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static FILE *count;

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
    const int devices = number_of("PDL_FAKE_DEVICES", 1);
    int major = 9;
    int minor = 0;
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
        int *const attributes = mock.devices[d].attributes;
        (void)snprintf(mock.devices[d].name, sizeof(mock.devices[d].name),
                       "libpdl fake device (records calls, runs nothing)");
        attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = major;
        attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR] = minor;
        attributes[CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH] = major >= 9;
    }
    mock.log = stream_of("PDL_FAKE_LOG");
    count = stream_of("PDL_FAKE_COUNT");
}

static void end(FILE **file)
{
    if (*file != NULL && *file != stderr) {
        (void)fclose(*file);
    }
    *file = NULL;
}

__attribute__((destructor)) static void fake_end(void)
{
    mock_lock("the end");
    if (count != NULL) {
        (void)fprintf(count, "launches=%u\n", mock.launch_count + mock.run_count);
        (void)fflush(count);
    }
    end(&count);
    end(&mock.log);
    (void)mock_leave(CUDA_SUCCESS);
}

static const struct {
    const char *name;
    int since;
    const char *symbol;
} entries[] = {
#define ENTRY(name, since, symbol) {#name, since, #symbol},
    MOCK_ENTRIES(ENTRY) FAKE_ENTRIES(ENTRY)
#undef ENTRY
};

/* The address of one of this library's own exports. */
static void *own_symbol(const char *symbol)
{
    Dl_info self;
    if (dladdr(&mock, &self) == 0) {
        return NULL;
    }
    void *library = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) {
        return NULL;
    }
    void *address = dlsym(library, symbol);
    (void)dlclose(library);
    return address;
}

FAKE_ENTRY(cuGetProcAddress_v2, const char *name, void **address, int version, cuuint64_t flags,
           CUdriverProcAddressQueryResult *found)
{
    mock_lock("cuGetProcAddress");
    CUdriverProcAddressQueryResult result = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    *address = NULL;
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        if (strcmp(entries[i].name, name) != 0) {
            continue;
        }
        result = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
        if (entries[i].since <= version && entries[i].since <= mock.table.version) {
            result = CU_GET_PROC_ADDRESS_SUCCESS;
            *address = own_symbol(entries[i].symbol);
            break;
        }
    }
    MOCK_LOG("name=%s version=%d flags=%llu found=%d", name, version, (unsigned long long)flags,
             (int)result);
    if (found != NULL) {
        *found = result;
    }
    return mock_leave(*address != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
}

/* NVRTC asks for a table where there is a driver, and takes "none" for an answer, but not that this entry is
 * missing. */
FAKE_ENTRY(cuGetExportTable, const void **table, const CUuuid *id)
{
    (void)id;
    *table = NULL;
    return CUDA_ERROR_NOT_FOUND;
}
