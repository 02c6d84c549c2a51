/* SPDX-License-Identifier: MIT */
/* A device, and libpdl on it, that compute on the host and take the time that an image of text says. */
/*
 * An image:
 *     mock TRIGGER FAULTY          which variant it is; FAULTY: 1 with faults injected
 *     kernel NAME SIZE...          a kernel and its parameters' sizes
 *     case NAME TRIGGER GRID US STATE
 * The first case that fits (- fits all) says how long a kernel takes, and what becomes of it:
 *     right
 *     slower    right, and slower with overlap
 *     wrong     computes something else
 *     race      the same where it may overlap
 *     hidden    the same where faults are injected as well
 *     rare      the same in every 40th launch that may overlap
 *     unsteady  computes something else each time
 *     refused   cannot be added to a chain
 * A kernel's parameters are bytes in a row: from, to, how many words; of the kernel "scale" they are how
 * many, four bytes of nothing, from, to. Each word becomes 31 times the one it is made of, and one more.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pdl/chain.h>

#include "bench/bench.h"
#include "bench/gpu.h"
#include "commands.h"
#include "common/memory.h"
#include "common/print.h"

struct gpu_driver cu;
struct gpu gpu = {.count = 1,
                  .name = "Mock GPU",
                  .driver_version = 13000,
                  .major = 9,
                  .minor = 0,
                  .multiprocessors = 132};
const struct bench_suite bench_suites[] = {{NULL, NULL, NULL}};

enum { NAME_SIZE = 32, MOST_PARAMETERS = 8, DEVICE_BYTES = 16 << 20 };

void bench_abort(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *const reason = format_text_of(format, arguments);
    va_end(arguments);
    print_error("%s", reason);
    free(reason);
    exit(EXIT_USAGE);
}

/* ---- the device ---------------------------------------------------------------------------------- */

static double device_us; /* of all that has run */

static CUresult memory_info(size_t *left, size_t *total)
{
    *left = *total = DEVICE_BYTES;
    return CUDA_SUCCESS;
}

bool gpu_open(int ordinal, char *why, size_t why_size)
{
    if (ordinal >= gpu.count) {
        (void)snprintf(why, why_size, "there is no device %d", ordinal);
        return false;
    }
    cu.cuMemGetInfo = memory_info;
    return true;
}

void gpu_close(void)
{
}

void gpu_must(CUresult result, const char *call, const char *file, int line)
{
    if (result != CUDA_SUCCESS) {
        bench_abort("%s:%d: %s: %d", file, line, call, (int)result);
    }
}

void gpu_must_pdl(pdl_status status, const char *call, const char *file, int line)
{
    (void)file;
    (void)line;
    if (status != PDL_SUCCESS) {
        bench_abort("%s: %s", call, pdl_last_error()->message);
    }
}

CUdeviceptr gpu_alloc(size_t bytes)
{
    return (CUdeviceptr)allocate(bytes, 1);
}

void gpu_free(CUdeviceptr memory)
{
    free((void *)memory);
}

void gpu_write(CUdeviceptr to, const void *from, size_t bytes)
{
    memcpy((void *)to, from, bytes);
}

void gpu_read(void *to, CUdeviceptr from, size_t bytes)
{
    memcpy(to, (const void *)from, bytes);
}

void gpu_wait(void)
{
}

double host_ns(void)
{
    return 1e3 * device_us;
}

/* The number that the environment gives, or 0. */
static int setting(const char *name)
{
    const char *const text = getenv(name);
    return text != NULL ? atoi(text) : 0;
}

struct gpu_times gpu_time(void (*work)(void *context), void *context)
{
    static int calls;
    const double before = device_us;
    if (++calls == setting("MOCK_INTERRUPT")) {
        (void)raise(SIGINT);
    }
    if (calls == setting("MOCK_FAIL")) {
        bench_abort("the mock's device is lost");
    }
    work(context);
    return (struct gpu_times){.host_ns = 1, .device_us = device_us - before};
}

/* ---- libpdl --------------------------------------------------------------------------------------- */

struct pdl_kernel {
    char *image;
    char name[NAME_SIZE];
    int trigger, faulty;
    size_t sizes[MOST_PARAMETERS];
    size_t count;
};

struct link {
    unsigned char *words; /* what it reads */
    unsigned char *to;
    int count;
    double us;
    char state[NAME_SIZE];
    bool overlap, faulty;
};

struct pdl_chain {
    struct link *items;
    size_t count, capacity;
    bool built;
};

static pdl_error last_error;

/* What the files of a cache leave an error with. */
pdl_status pdl_error_record(const pdl_error *error);
pdl_status pdl_error_record(const pdl_error *error)
{
    last_error = *error;
    return error->status;
}

static pdl_status refuse(pdl_status status, const char *message)
{
    last_error.status = status;
    (void)snprintf(last_error.message, sizeof(last_error.message), "%s", message);
    return status;
}

const pdl_error *pdl_last_error(void)
{
    return &last_error;
}

uint32_t pdl_version(void)
{
    return 10203;
}

/* Reads the parameters' sizes. False where there is no such kernel. */
static bool find_kernel(pdl_kernel *kernel)
{
    char line[64];
    const char *at = NULL;
    (void)snprintf(line, sizeof(line), "\nkernel %s ", kernel->name);
    at = strstr(kernel->image, line);
    if (at == NULL) {
        return false;
    }
    at += strlen(line);
    while (*at != '\n' && *at != '\0' && kernel->count < MOST_PARAMETERS) {
        char *end = NULL;
        kernel->sizes[kernel->count++] = (size_t)strtol(at, &end, 10);
        at = end;
    }
    return true;
}

struct pdl_image {
    size_t size;
    char bytes[];
};

pdl_status pdl_image_load(const void *image, size_t size, pdl_image **loaded)
{
    pdl_image *const made = allocate(1, sizeof(*made) + size);
    made->size = size;
    memcpy(made->bytes, image, size);
    *loaded = made;
    return PDL_SUCCESS;
}

void pdl_image_free(pdl_image *image)
{
    free(image);
}

pdl_status pdl_image_kernel(pdl_image *image, const char *name, pdl_kernel **kernel)
{
    pdl_kernel *const made = allocate(1, sizeof(*made));
    pdl_status status = PDL_SUCCESS;
    made->image = allocate(image->size + 1, 1);
    memcpy(made->image, image->bytes, image->size);
    (void)snprintf(made->name, sizeof(made->name), "%s", name);
    if (sscanf(made->image, "mock %d %d", &made->trigger, &made->faulty) != 2) {
        status = refuse(PDL_ERROR_INVALID_IMAGE, "the mock reads no such image");
    } else if (!find_kernel(made)) {
        status = refuse(PDL_ERROR_NOT_FOUND, "the mock finds no such kernel");
    }
    if (status != PDL_SUCCESS) {
        pdl_kernel_destroy(made);
        return status;
    }
    *kernel = made;
    return PDL_SUCCESS;
}

void pdl_kernel_destroy(pdl_kernel *kernel)
{
    if (kernel != NULL) {
        free(kernel->image);
        free(kernel);
    }
}

/* ---- launches --------------------------------------------------------------------------------------- */

pdl_status pdl_kernel_set_attribute(pdl_kernel *kernel, int32_t attribute, int32_t value)
{
    (void)kernel;
    (void)attribute;
    return value <= 232448 ? PDL_SUCCESS
                           : refuse(PDL_ERROR_SHARED_MEMORY, "the mock has less shared memory");
}

pdl_status pdl_chain_create(const pdl_chain_options *options, pdl_chain **chain)
{
    (void)options;
    *chain = allocate(1, sizeof(**chain));
    return PDL_SUCCESS;
}

void pdl_chain_destroy(pdl_chain *chain)
{
    if (chain != NULL) {
        free(chain->items);
        free(chain);
    }
}

static bool fits(const char *text, long number)
{
    return strcmp(text, "-") == 0 || strtol(text, NULL, 10) == number;
}

/* What the image says of a launch. */
static bool find_case(const pdl_kernel *kernel, const pdl_launch_desc *desc, struct link *link)
{
    for (const char *line = kernel->image; line != NULL; line = strchr(line + 1, '\n')) {
        char name[NAME_SIZE];
        char trigger[NAME_SIZE];
        char grid[NAME_SIZE];
        if (sscanf(line, "\ncase %31s %31s %31s %lf %31s", name, trigger, grid, &link->us,
                   link->state) == 5 &&
            strcmp(name, kernel->name) == 0 && fits(trigger, kernel->trigger) &&
            fits(grid, (long)desc->grid[0] * desc->grid[1] * desc->grid[2])) {
            return true;
        }
    }
    return false;
}

pdl_status pdl_chain_add(pdl_chain *chain, pdl_kernel *kernel, const pdl_launch_desc *desc,
                         void *const *args, const size_t *sizes, size_t count, uint32_t *link)
{
    unsigned char bytes[64] = {0};
    size_t used = 0;
    struct link added = {.overlap = desc->overlap != PDL_OVERLAP_NONE, .faulty = kernel->faulty};
    (void)link;
    if (count != kernel->count || memcmp(sizes, kernel->sizes, count * sizeof(*sizes)) != 0) {
        return refuse(PDL_ERROR_INVALID_ARGUMENT, "the mock has other parameters");
    }
    if ((unsigned long)desc->block[0] * desc->block[1] * desc->block[2] > 1024) {
        return refuse(PDL_ERROR_INVALID_BLOCK, "the mock has smaller blocks");
    }
    if (desc->cluster[0] > 0 && desc->grid[0] % desc->cluster[0] != 0) {
        return refuse(PDL_ERROR_INVALID_CLUSTER, "the mock has smaller clusters");
    }
    if (!find_case(kernel, desc, &added) || strcmp(added.state, "refused") == 0) {
        return refuse(PDL_ERROR_INVALID_GRID, "the mock takes no such grid");
    }
    for (size_t i = 0; i < count && used + sizes[i] <= sizeof(bytes); i++) {
        memcpy(bytes + used, args[i], sizes[i]);
        used += sizes[i];
    }
    const bool count_first = strcmp(kernel->name, "scale") == 0;
    memcpy(&added.words, bytes + (count_first ? 8 : 0), sizeof(added.words));
    memcpy(&added.to, bytes + (count_first ? 16 : 8), sizeof(added.to));
    memcpy(&added.count, bytes + (count_first ? 0 : 16), sizeof(added.count));
    APPEND(chain, added);
    return PDL_SUCCESS;
}

pdl_status pdl_chain_build(pdl_chain *chain)
{
    chain->built = true;
    return PDL_SUCCESS;
}

/* What it adds to each word; 1 if all is well. */
static unsigned addend(const struct link *link)
{
    static unsigned launches;
    const char *const state = link->state;
    launches++;
    if (strcmp(state, "unsteady") == 0) {
        return launches;
    }
    if (strcmp(state, "wrong") == 0) {
        return 2;
    }
    if (!link->overlap) {
        return 1;
    }
    return strcmp(state, "race") == 0 || (strcmp(state, "hidden") == 0 && link->faulty) ||
                   (strcmp(state, "rare") == 0 && launches % 40 == 0)
               ? 3
               : 1;
}

pdl_status pdl_chain_launch(pdl_chain *chain, CUstream stream)
{
    static unsigned launches;
    (void)stream;
    if (!chain->built) {
        return refuse(PDL_ERROR_INVALID_ARGUMENT, "the chain is not built");
    }
    for (size_t i = 0; i < chain->count; i++) {
        const struct link *const link = &chain->items[i];
        const unsigned more = addend(link);
        for (int j = 0; j < link->count; j++) {
            unsigned word = 0;
            memcpy(&word, link->words + (size_t)j * 4, sizeof(word));
            word = word * 31 + more;
            memcpy(link->to + (size_t)j * 4, &word, sizeof(word));
        }
        const double overlap = strcmp(link->state, "slower") == 0 ? 3 : 1;
        /* noise of up to 0.2 % */
        const double noise = 1 + 1e-5 * (double)((launches++ * 2654435761u >> 8) % 200);
        device_us += link->us * noise * (link->overlap ? overlap : 1.5) * (link->faulty ? 50 : 1);
    }
    return PDL_SUCCESS;
}

/* ---- the program ---------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "tune") != 0) {
        (void)fputs("usage: tune_mock tune [OPTION...]\n", stderr);
        return EXIT_USAGE;
    }
    print_as("tune");
    return command_tune(argc - 1, argv + 1);
}
