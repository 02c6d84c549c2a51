/* SPDX-License-Identifier: MIT */
/* What libpdl-rtc costs: a first compilation beside NVRTC's own, a hit in the folder, alone there and among
 * many, and a hit in memory. Needs NVRTC; the hit in memory also a driver, which may be the fake one.
 *
 *   rtc_cost [--rounds N] [--others N] [--json FILE]
 *
 * Each figure is the median of the rounds; what is compared is measured in turn. */
#include <pdl/rtc.h>

#include <dirent.h>
#include <dlfcn.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 1000 };

static const char source[] = "extern \"C\" __global__ void scale(float *x, float a, int n)\n"
                             "{\n"
                             "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "    if (i < n) {\n"
                             "        x[i] *= a;\n"
                             "    }\n"
                             "}\n";

static int rounds = 31;
static int others = 10000;
static char folder[64];
static pdl_rtc_options options;

/* NVRTC's own calls. */
static struct {
    int (*create)(void **program, const char *text, const char *name, int headers,
                  const char *const *texts, const char *const *names);
    int (*compile)(void *program, int count, const char *const *given);
    int (*cubin_size)(void *program, size_t *size);
    int (*cubin)(void *program, char *code);
    int (*destroy)(void **program);
} nvrtc;

static void die(const char *what)
{
    (void)fprintf(stderr, "rtc_cost: %s: %s\n", what, pdl_last_error()->message);
    exit(1);
}

static double now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    const double left = *(const double *)a;
    const double right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(double *values)
{
    qsort(values, (size_t)rounds, sizeof(*values), ascending);
    return rounds % 2 != 0 ? values[rounds / 2] : (values[rounds / 2 - 1] + values[rounds / 2]) / 2;
}

static double *make_values(void)
{
    double *values = calloc((size_t)rounds, sizeof(*values));
    if (values == NULL) {
        die("no memory");
    }
    return values;
}

/* ---- compiling ----------------------------------------------------------------------------------- */

static void open_nvrtc(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        die(path);
    }
    *(void **)&nvrtc.create = dlsym(library, "nvrtcCreateProgram");
    *(void **)&nvrtc.compile = dlsym(library, "nvrtcCompileProgram");
    *(void **)&nvrtc.cubin_size = dlsym(library, "nvrtcGetCUBINSize");
    *(void **)&nvrtc.cubin = dlsym(library, "nvrtcGetCUBIN");
    *(void **)&nvrtc.destroy = dlsym(library, "nvrtcDestroyProgram");
}

static double compile_plainly(void)
{
    static const char *const given[] = {"--gpu-architecture=sm_90"};
    void *program = NULL;
    size_t size = 0;
    const double from = now_us();
    if (nvrtc.create(&program, source, "kernel.cu", 0, NULL, NULL) != 0 ||
        nvrtc.compile(program, 1, given) != 0 || nvrtc.cubin_size(program, &size) != 0) {
        die("NVRTC");
    }
    char *code = malloc(size);
    if (code == NULL || nvrtc.cubin(program, code) != 0) {
        die("NVRTC");
    }
    free(code);
    (void)nvrtc.destroy(&program);
    return now_us() - from;
}

static double compile_here(void)
{
    pdl_rtc_image *image = NULL;
    const double from = now_us();
    if (pdl_rtc_compile(NULL, source, &options, &image) != PDL_SUCCESS) {
        die("pdl_rtc_compile");
    }
    pdl_rtc_image_destroy(image);
    return now_us() - from;
}

/* ---- the folder ---------------------------------------------------------------------------------- */

static pdl_rtc_cache *make_cache(const char *name)
{
    pdl_rtc_cache_desc desc = PDL_RTC_CACHE_DESC_INIT;
    pdl_rtc_cache *cache = NULL;
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    desc.directory = path;
    if (pdl_rtc_cache_create(&desc, &cache) != PDL_SUCCESS) {
        die("pdl_rtc_cache_create");
    }
    return cache;
}

static double hit_folder(const char *name, bool expected)
{
    pdl_rtc_stats stats = PDL_RTC_STATS_INIT;
    pdl_rtc_image *image = NULL;
    pdl_rtc_cache *cache = make_cache(name);
    const double from = now_us();
    if (pdl_rtc_cache_compile(cache, NULL, source, &options, &image) != PDL_SUCCESS) {
        die("pdl_rtc_cache_compile");
    }
    const double time = now_us() - from;
    pdl_rtc_image_destroy(image);
    (void)pdl_rtc_cache_stats(cache, &stats);
    if ((stats.disk_hits == 1) != expected) {
        die("the folder did not answer as it should");
    }
    pdl_rtc_cache_destroy(cache);
    return time;
}

/* Files of other kernels, as far as looking for one can tell: names and sizes. */
static void copy_file(const char *from)
{
    unsigned state = 1;
    unsigned char bytes[1 << 16];
    FILE *file = fopen(from, "rb");
    if (file == NULL) {
        die(from);
    }
    const size_t size = fread(bytes, 1, sizeof(bytes), file);
    (void)fclose(file);
    for (int i = 0; i < others; i++) {
        char path[256];
        const unsigned part = (unsigned)rand_r(&state) % 256;
        (void)snprintf(path, sizeof(path), "%s/many/pdl-rtc-1/%02x", folder, part);
        (void)mkdir(path, S_IRWXU);
        (void)snprintf(path, sizeof(path), "%s/many/pdl-rtc-1/%02x/%02x%014x%016x-%016x", folder,
                       part, part, (unsigned)rand_r(&state), (unsigned)i, 1U);
        FILE *to = fopen(path, "wb");
        if (to == NULL || fwrite(bytes, 1, size, to) != size || fclose(to) != 0) {
            die(path);
        }
    }
}

static int copy_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    if (kind == FTW_F && where->level == 3) { /* FOLDER/pdl-rtc-1/AB/FILE */
        copy_file(path);
        return 1;
    }
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static void remove_folder(void)
{
    (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- memory -------------------------------------------------------------------------------------- */

/* Nanoseconds of a call; below 0 where there is no driver. */
static double hit_memory(pdl_rtc_cache *cache)
{
    pdl_kernel *kernel = NULL;
    if (pdl_rtc_kernel(cache, source, "scale", &options, &kernel) != PDL_SUCCESS) {
        return -1;
    }
    const double from = now_us();
    for (int i = 0; i < BATCH; i++) {
        if (pdl_rtc_kernel(cache, source, "scale", &options, &kernel) != PDL_SUCCESS) {
            die("pdl_rtc_kernel");
        }
    }
    return 1e3 * (now_us() - from) / BATCH;
}

/* ---- all of it ----------------------------------------------------------------------------------- */

struct figures {
    double open_us, plain_us, compile_us, disk_us, disk_of_many_us, memory_ns;
    int version;
};

static void measure(struct figures *figures)
{
    double *values[5];
    char path[128];
    pdl_rtc_cache *memory = make_cache("memory");
    for (int i = 0; i < 5; i++) {
        values[i] = make_values();
    }
    (void)compile_plainly();
    (void)compile_here();
    (void)hit_folder("one", false);
    (void)hit_folder("many", false);
    (void)snprintf(path, sizeof(path), "%s/one", folder);
    (void)nftw(path, copy_one, 16, FTW_PHYS);
    for (int i = 0; i < rounds; i++) {
        values[0][i] = compile_plainly();
        values[1][i] = compile_here();
    }
    for (int i = 0; i < rounds; i++) {
        values[2][i] = hit_folder("one", true);
        values[3][i] = hit_folder("many", true);
        values[4][i] = hit_memory(memory);
    }
    figures->plain_us = median(values[0]);
    figures->compile_us = median(values[1]);
    figures->disk_us = median(values[2]);
    figures->disk_of_many_us = median(values[3]);
    figures->memory_ns = median(values[4]);
    for (int i = 0; i < 5; i++) {
        free(values[i]);
    }
    pdl_rtc_cache_destroy(memory);
}

static bool write_json(const char *path, const struct figures *figures)
{
    char memory[32] = "null";
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return false;
    }
    if (figures->memory_ns >= 0) {
        (void)snprintf(memory, sizeof(memory), "%.1f", figures->memory_ns);
    }
    (void)fprintf(file,
                  "{\n"
                  "  \"program\": \"rtc_cost\",\n"
                  "  \"nvrtc\": %d,\n"
                  "  \"rounds\": %d,\n"
                  "  \"others\": %d,\n"
                  "  \"open_us\": %.1f,\n"
                  "  \"nvrtc_compile_us\": %.1f,\n"
                  "  \"compile_us\": %.1f,\n"
                  "  \"disk_hit_us\": %.1f,\n"
                  "  \"disk_hit_of_many_us\": %.1f,\n"
                  "  \"memory_hit_ns\": %s\n"
                  "}\n",
                  figures->version, rounds, others, figures->open_us, figures->plain_us,
                  figures->compile_us, figures->disk_us, figures->disk_of_many_us, memory);
    return fclose(file) == 0;
}

static bool parse(int count, char **arguments, const char **json)
{
    for (int i = 1; i < count; i += 2) {
        if (i + 1 == count) {
            return false;
        }
        if (strcmp(arguments[i], "--rounds") == 0) {
            rounds = (int)strtol(arguments[i + 1], NULL, 10);
        } else if (strcmp(arguments[i], "--others") == 0) {
            others = (int)strtol(arguments[i + 1], NULL, 10);
        } else if (strcmp(arguments[i], "--json") == 0) {
            *json = arguments[i + 1];
        } else {
            return false;
        }
    }
    return rounds > 0 && others >= 0;
}

int main(int count, char **arguments)
{
    const char *json = NULL;
    const char *base = getenv("TMPDIR");
    struct figures figures = {0};
    pdl_rtc_compiler_info info = PDL_RTC_COMPILER_INFO_INIT;
    if (!parse(count, arguments, &json)) {
        (void)fprintf(stderr, "usage: rtc_cost [--rounds N] [--others N] [--json FILE]\n");
        return 2;
    }
    const double from = now_us();
    if (pdl_rtc_compiler_get(&info) != PDL_SUCCESS) {
        (void)fprintf(stderr, "rtc_cost: skipped: %s\n", pdl_last_error()->message);
        return 77;
    }
    figures.open_us = now_us() - from;
    figures.version = info.version;
    open_nvrtc(info.path);
    options = (pdl_rtc_options)PDL_RTC_OPTIONS_INIT;
    options.target = "sm_90";
    (void)snprintf(folder, sizeof(folder), "%.40s/pdl-rtc-cost-XXXXXX",
                   base != NULL ? base : "/tmp");
    if (mkdtemp(folder) == NULL || atexit(remove_folder) != 0) {
        die(folder);
    }
    measure(&figures);
    (void)printf("NVRTC %d.%d, opened in %.1f us\n", info.version / 1000, info.version % 1000 / 10,
                 figures.open_us);
    (void)printf("compiling: NVRTC %.1f us, pdl_rtc_compile %.1f us: x %.3f\n", figures.plain_us,
                 figures.compile_us, figures.compile_us / figures.plain_us);
    (void)printf("hit in the folder: %.1f us; among %d others %.1f us: x %.3f\n", figures.disk_us,
                 others, figures.disk_of_many_us, figures.disk_of_many_us / figures.disk_us);
    if (figures.memory_ns >= 0) {
        (void)printf("hit in memory: %.1f ns\n", figures.memory_ns);
    } else {
        (void)printf("hit in memory: not measured: %s\n", pdl_last_error()->message);
    }
    if (json != NULL && !write_json(json, &figures)) {
        perror(json);
        return 1;
    }
    return 0;
}
