/* SPDX-License-Identifier: MIT */
/* A program that loads code, for loads.py. Arguments: pairs of WAY and FILE. What it gives to the driver it overwrites as soon
 * as it may. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cuda.h>

static void *driver;
static CUresult result;

#define LOAD(symbol, type, ...)                                                                    \
    do {                                                                                           \
        __typeof__(type) *call = NULL;                                                             \
        *(void **)&call = dlsym(driver, symbol);                                                   \
        result = call != NULL ? call(__VA_ARGS__) : CUDA_ERROR_NOT_FOUND;                          \
    } while (0)

/* With a NUL behind it. */
static unsigned char *read_file(const char *path, size_t *size)
{
    struct stat about;
    FILE *const file = fopen(path, "r");
    unsigned char *const bytes =
        file != NULL && stat(path, &about) == 0 ? calloc(1, (size_t)about.st_size + 1) : NULL;
    if (bytes == NULL || fread(bytes, 1, (size_t)about.st_size, file) != (size_t)about.st_size) {
        exit(98);
    }
    (void)fclose(file);
    *size = (size_t)about.st_size;
    return bytes;
}

/* Loads with each allocation failing that this makes. Prints how many times the original came and how many times
 * the other. */
static void load_without_memory(const void *image)
{
    unsigned counts[2] = {0, 0};
    void (*arm)(unsigned number) = NULL;
    bool (*disarm)(void) = NULL;
    const bool *const last = dlsym(driver, "loads_last");
    *(void **)&arm = dlsym(RTLD_DEFAULT, "loads_arm");
    *(void **)&disarm = dlsym(RTLD_DEFAULT, "loads_disarm");
    CUmodule module = NULL;
    bool failed = true;
    if (last == NULL || arm == NULL || disarm == NULL) {
        exit(96);
    }
    LOAD("cuModuleLoadData", cuModuleLoadData, &module, image); /* what is done once */
    for (unsigned number = 1; failed; number++) {
        arm(number);
        LOAD("cuModuleLoadData", cuModuleLoadData, &module, image);
        failed = disarm();
        counts[*last]++;
        if (result != CUDA_SUCCESS || (!failed && !*last)) {
            exit(95);
        }
    }
    printf("%u %u\n", counts[0], counts[1]);
}

static void load(const char *way, const char *path)
{
    static CUlibrary preserved;
    static unsigned char *preserved_image;
    size_t size = 0;
    CUmodule module = NULL;
    CUlibrary library = NULL;
    CUlibraryOption is_preserved = CU_LIBRARY_BINARY_IS_PRESERVED;
    CUjit_option logs[] = {CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER};
    char log[100] = "no error";
    void *values[] = {(void *)(uintptr_t)sizeof(log), log};
    unsigned char *const image = read_file(path, &size);
    const bool is_ptx = image[0] == '.';
    const CUjitInputType type = is_ptx ? CU_JIT_INPUT_PTX : CU_JIT_INPUT_FATBINARY;
    struct {
        unsigned magic, version;
        const void *data;
        const void *inputs;
    } wrapper = {0x466243b1, 1, image, NULL};
    if (strcmp(way, "memory") == 0) {
        load_without_memory(image);
    } else if (strcmp(way, "data") == 0) {
        LOAD("cuModuleLoadData", cuModuleLoadData, &module, image);
    } else if (strcmp(way, "dataex") == 0) {
        LOAD("cuModuleLoadDataEx", cuModuleLoadDataEx, &module, image, 2, logs, values);
        if (result == CUDA_SUCCESS && strcmp(log, "no error") != 0) {
            exit(94);
        }
    } else if (strcmp(way, "fatbin") == 0) {
        LOAD("cuModuleLoadFatBinary", cuModuleLoadFatBinary, &module, image);
    } else if (strcmp(way, "wrapper") == 0 || strcmp(way, "linked") == 0) {
        wrapper.version = strcmp(way, "linked") == 0 ? 2 : 1;
        LOAD("cuModuleLoadFatBinary", cuModuleLoadFatBinary, &module, &wrapper);
    } else if (strcmp(way, "file") == 0) {
        LOAD("cuModuleLoad", cuModuleLoad, &module, path);
    } else if (strcmp(way, "library") == 0) {
        LOAD("cuLibraryLoadData", cuLibraryLoadData, &library, image, NULL, NULL, 0, NULL, NULL, 0);
    } else if (strcmp(way, "preserved") == 0) {
        LOAD("cuLibraryLoadData", cuLibraryLoadData, &preserved, image, NULL, NULL, 0,
             &is_preserved, NULL, 1);
        preserved_image = image;
    } else if (strcmp(way, "unload") == 0) {
        LOAD("cuLibraryUnload", cuLibraryUnload, preserved);
        free(preserved_image);
    } else if (strcmp(way, "libraryfile") == 0) {
        LOAD("cuLibraryLoadFromFile", cuLibraryLoadFromFile, &library, path, NULL, NULL, 0, NULL,
             NULL, 0);
    } else if (strcmp(way, "wrongfile") == 0) {
        LOAD("cuLibraryLoadFromFile", cuLibraryLoadFromFile, &library, path, NULL, NULL, 0,
             &is_preserved, NULL, 1);
    } else if (strcmp(way, "link") == 0) {
        LOAD("cuLinkAddData_v2", cuLinkAddData, NULL, type, image, size + is_ptx, "name", 0, NULL,
             NULL);
    } else if (strcmp(way, "linkfile") == 0) {
        LOAD("cuLinkAddFile_v2", cuLinkAddFile, NULL, type, path, 0, NULL, NULL);
    } else {
        exit(97);
    }
    if (strcmp(way, "preserved") != 0) {
        memset(image, 0, size);
        free(image);
    }
    printf("%d\n", (int)result);
    if (library != NULL) {
        LOAD("cuLibraryUnload", cuLibraryUnload, library);
    }
}

int main(int argc, char **argv)
{
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == NULL) {
        return 99;
    }
    LOAD("cuInit", cuInit, 0);
    for (int i = 1; i + 1 < argc; i += 2) {
        load(argv[i], argv[i + 1]);
    }
    return 0;
}
