/* SPDX-License-Identifier: MIT */
/* What kernels that are compiled at run time cost: compiling, beside NVRTC's own calls, and finding what was
 * compiled before. */
#include <dlfcn.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pdl/rtc.h>

#include "bench/gpu.h"
#include "bench/suites.h"
#include "common/file.h"
#include "common/memory.h"
#include "common/temporary.h"

static const char source[] = "extern \"C\" __global__ void scale(float *x, float a, int n)\n"
                             "{\n"
                             "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "    if (i < n) {\n"
                             "        x[i] *= a;\n"
                             "    }\n"
                             "}\n";

static char target[16]; /* sm_90 */
static pdl_rtc_options options;

static const char *use_device(void)
{
    pdl_rtc_compiler_info info = PDL_RTC_COMPILER_INFO_INIT;
    (void)snprintf(target, sizeof(target), "sm_%d%d", gpu.major, gpu.minor);
    options = PDL_RTC_OPTIONS(.target = target);
    return pdl_rtc_compiler_get(&info) == PDL_SUCCESS ? NULL : pdl_last_error()->message;
}

/* Without a compiler nothing of a table is measured. */
static bool has_compiler(struct bench_table *table)
{
    const char *const why = use_device();
    for (size_t i = 0; why != NULL && i < table->count; i++) {
        if (bench_point_active(table->items[i])) {
            bench_waive(table->items[i], "%s", why);
        }
    }
    return why == NULL;
}

/* The kernel computes what it is meant to; NULL is a failure of libpdl's. */
static void check_kernel(struct bench_point *point, pdl_kernel *kernel)
{
    enum { COUNT = 64 };
    float values[COUNT];
    float factor = 3;
    int count = COUNT;
    if (kernel == NULL) {
        bench_fail(point, "%s", pdl_last_error()->message);
        return;
    }
    for (int i = 0; i < COUNT; i++) {
        values[i] = (float)i;
    }
    CUdeviceptr memory = gpu_alloc(sizeof(values));
    void *args[] = {&memory, &factor, &count};
    const pdl_launch_desc desc =
        PDL_LAUNCH_DESC(.grid = {1}, .block = {COUNT}, .stream = gpu.stream);
    gpu_write(memory, values, sizeof(values));
    MUST_PDL(pdl_launch(kernel, &desc, args));
    gpu_read(values, memory, sizeof(values));
    gpu_free(memory);
    for (int i = 0; i < COUNT; i++) {
        if (values[i] != (float)i * factor) {
            bench_fail(point, "%g times %g is %g on the device", (double)i, (double)factor,
                       (double)values[i]);
            return;
        }
    }
}

static void check_image(struct bench_point *point, pdl_rtc_image *image)
{
    pdl_kernel *kernel = NULL;
    if (image != NULL) {
        (void)pdl_rtc_image_kernel(image, "scale", &kernel);
    }
    check_kernel(point, kernel);
    pdl_kernel_destroy(kernel);
    pdl_rtc_image_destroy(image);
}

/* ---- compiling -------------------------------------------------------------------------------- */

/* NVRTC's own calls. */
static struct {
    int (*create)(void **program, const char *text, const char *name, int headers,
                  const char *const *texts, const char *const *names);
    int (*compile)(void *program, int count, const char *const *given);
    int (*cubin_size)(void *program, size_t *size);
    int (*cubin)(void *program, char *code);
    int (*destroy)(void **program);
} nvrtc;

/* The library that libpdl-rtc has opened; it stays open. */
static void open_nvrtc(void)
{
    pdl_rtc_compiler_info info = PDL_RTC_COMPILER_INFO_INIT;
    MUST_PDL(pdl_rtc_compiler_get(&info));
    void *const library = dlopen(info.path, RTLD_NOW | RTLD_LOCAL);
    const struct {
        const char *name;
        void *place;
    } functions[] = {
        {"nvrtcCreateProgram", &nvrtc.create},    {"nvrtcCompileProgram", &nvrtc.compile},
        {"nvrtcGetCUBINSize", &nvrtc.cubin_size}, {"nvrtcGetCUBIN", &nvrtc.cubin},
        {"nvrtcDestroyProgram", &nvrtc.destroy},
    };
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *const found = library != NULL ? dlsym(library, functions[i].name) : NULL;
        if (found == NULL) {
            bench_abort("%s has no %s", info.path, functions[i].name);
        }
        memcpy(functions[i].place, &found, sizeof(found));
    }
}

/* The cubin, which the caller frees; NULL where a call fails. */
static char *compile_raw(size_t *size)
{
    char architecture[64];
    const char *const given[] = {architecture};
    void *program = NULL;
    char *code = NULL;
    (void)snprintf(architecture, sizeof(architecture), "--gpu-architecture=%s", target);
    if (nvrtc.create(&program, source, "kernel.cu", 0, NULL, NULL) == 0 &&
        nvrtc.compile(program, 1, given) == 0 && nvrtc.cubin_size(program, size) == 0) {
        code = allocate(*size, 1);
        if (nvrtc.cubin(program, code) != 0) {
            free(code);
            code = NULL;
        }
    }
    (void)nvrtc.destroy(&program);
    return code;
}

static pdl_rtc_image *compile_here(void)
{
    pdl_rtc_image *image = NULL;
    return pdl_rtc_compile(NULL, source, &options, &image) == PDL_SUCCESS ? image : NULL;
}

static bool is_raw(const struct bench_point *point)
{
    return strcmp(point->values[0], "nvrtc") == 0;
}

static void compile_begin(struct bench_table *table)
{
    if (has_compiler(table)) {
        open_nvrtc();
    }
}

static void compile_check(struct bench_point *point)
{
    size_t size = 0;
    pdl_kernel *kernel = NULL;
    if (!is_raw(point)) {
        check_image(point, compile_here());
        return;
    }
    char *const code = compile_raw(&size);
    if (code == NULL) {
        bench_fail(point, "NVRTC does not compile the kernel");
        return;
    }
    pdl_image *image = NULL;
    if (pdl_image_load(code, size, &image) == PDL_SUCCESS) {
        (void)pdl_image_kernel(image, "scale", &kernel);
    }
    pdl_image_free(image);
    check_kernel(point, kernel);
    pdl_kernel_destroy(kernel);
    free(code);
}

static void compile_measure(struct bench_point *point, double *values)
{
    size_t size = 0;
    const double begin = host_ns();
    if (is_raw(point)) {
        free(compile_raw(&size));
    } else {
        pdl_rtc_image_destroy(compile_here());
    }
    values[0] = (host_ns() - begin) / 1e3;
}

static const struct bench_spec compile_spec = {
    .name = "compile",
    .title = "Compiling a trivial kernel at run time",
    .note = "Host time from the text to a cubin: NVRTC's own calls, and pdl_rtc_compile(). The "
            "compiler has been opened before.",
    .axes = {"way"},
    .metrics = {{"host", "us", false, 0.1}},
    .rounds = 12,
    .begin = compile_begin,
    .check = compile_check,
    .measure = compile_measure,
};

/* ---- finding ---------------------------------------------------------------------------------- */

struct place {
    const char *from, *others_text;
    int others;           /* kernels beside it */
    pdl_rtc_cache *cache; /* of a hit in memory */
};
static struct place places[] = {
    {"memory", "0", 0, NULL}, {"folder", "0", 0, NULL}, {"folder", "10000", 10000, NULL}};
enum { PLACES = sizeof(places) / sizeof(places[0]) };

static struct temporary folder = {.keeper.socket = -1}; /* with a folder for each place */

static struct place *place_of(const struct bench_point *point)
{
    return &places[(const struct place *)point->config - places];
}

static bool is_in_memory(const struct bench_point *point)
{
    return strcmp(point->values[0], "memory") == 0;
}

/* At exit(), too: a suite may end the program. */
static void remove_folder(void)
{
    temporary_remove(&folder);
}

static void make_folder(void)
{
    static bool registered;
    char *const why = temporary_make(&folder);
    if (why != NULL || (!registered && atexit(remove_folder) != 0)) {
        bench_abort("%s", why != NULL ? why : "no memory for what is done at the end");
    }
    registered = true;
}

static char *directory_of(const struct place *place)
{
    return format_text("%s/%d", folder.path, (int)(place - places));
}

static pdl_rtc_cache *make_cache(const struct place *place)
{
    char *const directory = directory_of(place);
    pdl_rtc_cache_desc desc = PDL_RTC_CACHE_DESC_INIT;
    pdl_rtc_cache *cache = NULL;
    desc.directory = directory;
    MUST_PDL(pdl_rtc_cache_create(&desc, &cache));
    free(directory);
    return cache;
}

static char *found_file;

static int find_file(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    if (kind == FTW_F && where->level == 3) { /* DIRECTORY/pdl-rtc-2/AB/FILE */
        found_file = copy_text(path);
        return 1;
    }
    return 0;
}

/* Files of other kernels, as far as looking for one can tell: names and sizes. */
static bool add_others(const struct place *place)
{
    unsigned state = 1;
    size_t size = 0;
    char *const directory = directory_of(place);
    (void)nftw(directory, find_file, 16, FTW_PHYS);
    char *const bytes = found_file != NULL ? file_read(found_file, &size) : NULL;
    bool good = bytes != NULL;
    for (int i = 0; i < place->others && good; i++) {
        const unsigned part = (unsigned)rand_r(&state) % 256;
        char *const in = format_text("%s/pdl-rtc-2/%02x", directory, part);
        char *const path = format_text("%s/%02x%014x%016x-%016x", in, part,
                                       (unsigned)rand_r(&state), (unsigned)i, 1U);
        (void)mkdir(in, S_IRWXU);
        FILE *const to = fopen(path, "wbe");
        good = to != NULL && fwrite(bytes, 1, size, to) == size;
        good = to != NULL && fclose(to) == 0 && good;
        free(path);
        free(in);
    }
    free(bytes);
    free(found_file);
    found_file = NULL;
    free(directory);
    return good;
}

/* By a cache that has not seen it; it must come from the folder. NULL after a failure. */
static pdl_rtc_image *read_image(struct bench_point *point, double *ns)
{
    pdl_rtc_cache *const cache = make_cache(place_of(point));
    pdl_rtc_stats stats = PDL_RTC_STATS_INIT;
    pdl_rtc_image *image = NULL;
    const double begin = host_ns();
    MUST_PDL(pdl_rtc_cache_compile(cache, NULL, source, &options, &image));
    *ns = host_ns() - begin;
    MUST_PDL(pdl_rtc_cache_stats(cache, &stats));
    pdl_rtc_cache_destroy(cache);
    if (stats.disk_hits != 1) {
        bench_fail(point, "it was compiled, and not found in the folder");
    }
    return image;
}

static void find_open(struct bench_point *point)
{
    struct place *const place = place_of(point);
    pdl_rtc_cache *const cache = make_cache(place);
    pdl_rtc_image *image = NULL;
    if (is_in_memory(point)) {
        place->cache = cache;
        return;
    }
    MUST_PDL(pdl_rtc_cache_compile(cache, NULL, source, &options, &image));
    pdl_rtc_image_destroy(image);
    pdl_rtc_cache_destroy(cache);
    if (place->others > 0 && !add_others(place)) {
        bench_fail(point, "files of other kernels cannot be written to the folder");
    }
}

static void find_begin(struct bench_table *table)
{
    if (!has_compiler(table)) {
        return;
    }
    make_folder();
    for (size_t i = 0; i < table->count; i++) {
        if (bench_point_active(table->items[i])) {
            find_open(table->items[i]);
        }
    }
}

static void find_end(struct bench_table *table)
{
    (void)table;
    for (size_t i = 0; i < PLACES; i++) {
        pdl_rtc_cache_destroy(places[i].cache);
        places[i].cache = NULL;
    }
    remove_folder();
}

static void find_check(struct bench_point *point)
{
    double ns = 0;
    pdl_kernel *kernel = NULL;
    if (is_in_memory(point)) {
        (void)pdl_rtc_kernel(place_of(point)->cache, source, "scale", &options, &kernel);
        check_kernel(point, kernel);
    } else {
        check_image(point, read_image(point, &ns));
    }
}

static void find_measure(struct bench_point *point, double *values)
{
    enum { CALLS = 1000 };
    pdl_rtc_cache *const cache = place_of(point)->cache;
    pdl_kernel *kernel = NULL;
    if (!is_in_memory(point)) {
        pdl_rtc_image_destroy(read_image(point, &values[0]));
        return;
    }
    const double begin = host_ns();
    for (int i = 0; i < CALLS; i++) {
        MUST_PDL(pdl_rtc_kernel(cache, source, "scale", &options, &kernel));
    }
    values[0] = (host_ns() - begin) / CALLS;
}

static const struct bench_spec find_spec = {
    .name = "find",
    .title = "Finding a kernel that was compiled before",
    .note = "Host time of a call: pdl_rtc_kernel() where the process has the kernel (the mean of "
            "1,000 calls), and pdl_rtc_cache_compile() of a new cache where it is in the cache's "
            "folder, alone and among files of so many others.",
    .axes = {"from", "others"},
    .metrics = {{"host", "ns", false, 0.25}},
    .rounds = 12,
    .begin = find_begin,
    .check = find_check,
    .measure = find_measure,
    .end = find_end,
};

void suite_rtc(struct bench *bench)
{
    static const char *const ways[] = {"nvrtc", "libpdl"};
    struct bench_point *before = NULL;
    struct bench_table *table = bench_table_add(bench, &compile_spec);
    for (size_t i = 0; i < 2; i++) {
        before = bench_point_add(table, before, NULL, &ways[i]);
    }
    table = bench_table_add(bench, &find_spec);
    for (size_t i = 0; i < PLACES; i++) {
        const char *const values[] = {places[i].from, places[i].others_text};
        before = bench_point_add(table, places[i].others > 0 ? before : NULL, &places[i], values);
    }
}
