/* SPDX-License-Identifier: MIT */
/* What AUTO grants and says of kernels that are proved, have a race, or neither, and how often their images are
 * analysed: libpdl.so as it is built, on the fake driver, with the libpdl-inspect that CMakeLists.txt chooses. */
#include <pdl/inspect.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef PDL_TEST_RTC
#include <pdl/rtc.h>
#endif

#include "../cuda/from_image.h"
#include "../inspect/make_image.h"
#include "symbol.h"

#define HEADER ".version 8.7\n.target sm_90\n.address_size 64\n.file 1 \"rows.cu\"\n"
/* A format. */
#define ENTRY(name, body)                                                                          \
    ".visible .entry " name "(.param .u64 p) { ld.param.u64 g, [p]; cvta.to.global.u64 g, g;\n"    \
    "mov.u32 t, %%tid.x; setp.eq.u32 first, t, 0;\n" body "\nret; }\n"
#define WAIT  ".loc 1 7 0\ngriddepcontrol.wait;\n"
#define READ  ".loc 1 5 0\nld.global.u32 r, [g];\n"
#define STORE ".loc 1 9 0\nst.global.u32 [g], r;\n"

/* Each waits, so that without an analysis each would overlap. */
static const struct row {
    const char *name, *body, *rule, *place;
    pdl_proof proof;
    pdl_known always; /* each thread waits */
} rows[] = {
    {"ordered", WAIT READ STORE, "", "", PDL_PROOF_PROVED, PDL_YES},
    {"reads_first", READ WAIT STORE, "read-before-wait", "rows.cu:5", PDL_PROOF_RACE, PDL_YES},
    {"writes_first", STORE WAIT READ, "write-before-wait", "rows.cu:9", PDL_PROOF_RACE, PDL_YES},
    {"one_thread", "@!first bra A;\n" WAIT "A:\n" READ, "partial-wait", "rows.cu:", PDL_PROOF_RACE,
     PDL_NO},
    {"not_coherent", WAIT ".loc 1 5 0\nld.global.nc.u32 r, [g];\n" STORE, "nc-after-wait",
     "rows.cu:5", PDL_PROOF_RACE, PDL_YES},
    {"in_a_loop", "L:\n" READ WAIT "setp.ne.u32 q, r, 0;\n@q bra L;\n", "read-before-wait",
     "rows.cu:5", PDL_PROOF_RACE, PDL_YES},
    {"by_a_flag", "ld.param.u32 n, [p+4];\nsetp.eq.u32 q, n, 0;\n@q bra A;\n" WAIT "A:\n" READ, "",
     "", PDL_PROOF_NOT_PROVED, PDL_NO},
    {"accepted",
     "// pdl:allow read-before-wait: nobody writes it\n.loc 1 5 0\n"
     "// pdl:constant g\nld.global.u32 r, [g];\n" WAIT STORE,
     "", "", PDL_PROOF_PROVED, PDL_YES},
};

static pdl_kernel *make(const char *name, const void *image, size_t size)
{
    pdl_kernel *kernel = NULL;
    CHECK(kernel_from_image(image, size, name, &kernel) == PDL_SUCCESS);
    return kernel;
}

static pdl_kernel *make_row(const struct row *row)
{
    char text[2048];
    const int size = snprintf(text, sizeof(text), HEADER ENTRY("%s", "%s"), row->name, row->body);
    return make(row->name, text, (size_t)size);
}

static char log_path[64];

/* The end of the log, since a place in it. */
static const char *logged(long from)
{
    static char text[4096];
    FILE *const file = fopen(log_path, "r");
    size_t size = 0;
    if (file != NULL && fseek(file, from, SEEK_SET) == 0) {
        size = fread(text, 1, sizeof(text) - 1, file);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    text[size] = '\0';
    return text;
}

/* What a launch comes to and says, in the log and in pdl_launch_explain(). The words end in NULL. */
static void check_launch(pdl_kernel *kernel, const char *what, pdl_reason reason, ...)
{
    const pdl_launch_desc launch =
        PDL_LAUNCH_DESC(.grid = {1}, .block = {32}, .overlap = PDL_OVERLAP_AUTO);
    const pdl_launch_desc require =
        PDL_LAUNCH_DESC(.grid = {1}, .block = {32}, .overlap = PDL_OVERLAP_REQUIRE);
    const long from = (long)strlen(logged(0));
    uint64_t pointer = 0;
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    CHECK(pdl_launch(kernel, &launch, PDL_ARGS(pointer)) == PDL_SUCCESS);
    CHECK(pdl_launch_explain(kernel, &launch, &report) == PDL_SUCCESS);
    const bool granted = reason == PDL_REASON_GRANTED;
    if (report.overlap_reason != (uint32_t)reason || report.overlap != granted) {
        printf("%s: %s\n", what, report.message);
        failures++;
    }
    CHECK(pdl_launch(kernel, &require, PDL_ARGS(pointer)) ==
          (granted ? PDL_SUCCESS : PDL_ERROR_OVERLAP));
    va_list words;
    va_start(words, reason);
    for (const char *word; (word = va_arg(words, const char *)) != NULL;) {
        const bool refused = granted || strstr(pdl_last_error()->message, word) != NULL;
        if (strstr(logged(from), word) == NULL || strstr(report.message, word) == NULL ||
            !refused) {
            printf("%s: no \"%s\" in:\n%s%s\n%s\n", what, word, logged(from), report.message,
                   granted ? "" : pdl_last_error()->message);
            failures++;
        }
    }
    va_end(words);
}

static void check_known(pdl_kernel *kernel, pdl_proof proof)
{
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    pdl_proof again = PDL_PROOF_NOT_ANALYSED;
    CHECK(pdl_kernel_get(kernel, 0, &info) == PDL_SUCCESS && info.proof == (uint32_t)proof);
    CHECK(pdl_kernel_prove(kernel, 0, &again) == PDL_SUCCESS && again == proof);
    CHECK((info.proof_text != NULL) ==
          (proof == PDL_PROOF_RACE || proof == PDL_PROOF_NOT_ANALYSED));
}

/* An image of the same size at the same place, in which the wait has changed places with the read. */
static void check_twins(void)
{
    char text[2048];
    for (size_t i = 0; i < 2; i++) {
        const int size = snprintf(text, sizeof(text), HEADER ENTRY("twin", "%s"), rows[i].body);
        pdl_kernel *const kernel = make("twin", text, (size_t)size);
        check_known(kernel, rows[i].proof);
        pdl_kernel_destroy(kernel);
    }
}

static void check_rows(const char *scenario)
{
    const bool words = strcmp(scenario, "words") == 0;
    const bool strict = strcmp(scenario, "strict") == 0;
    const bool missing = strcmp(scenario, "strict_missing") == 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *const row = &rows[i];
        pdl_kernel *const kernel = make_row(row);
        const bool race = row->proof == PDL_PROOF_RACE;
        pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
        CHECK(pdl_kernel_get(kernel, 0, &info) == PDL_SUCCESS);
        CHECK(info.waits_always == (uint32_t)(words || strict ? row->always : PDL_UNKNOWN));
        if (!words && !strict) {
            check_launch(kernel, row->name, missing ? PDL_REASON_STRICT : PDL_REASON_GRANTED, NULL);
            check_known(kernel, PDL_PROOF_NOT_ANALYSED);
            CHECK(pdl_kernel_declare(kernel, PDL_YES, PDL_NO) == PDL_SUCCESS);
            check_launch(kernel, row->name, PDL_REASON_GRANTED, NULL);
        } else if (race) {
            CHECK(info.proof_text != NULL);
            const char *const text = info.proof_text != NULL ? info.proof_text : "";
            CHECK(strlen(text) > strlen(row->rule) + 25 && strstr(text, ": ") != NULL);
            check_launch(kernel, row->name, strict ? PDL_REASON_STRICT : PDL_REASON_RACE, row->rule,
                         row->place, text, NULL);
            check_known(kernel, PDL_PROOF_RACE);
            CHECK(pdl_kernel_declare(kernel, PDL_YES, PDL_NO) == PDL_SUCCESS);
            check_launch(kernel, row->name, PDL_REASON_GRANTED,
                         "declared to wait, but the analysis finds a race", row->place, NULL);
        } else if (row->proof == PDL_PROOF_NOT_PROVED) {
            check_launch(kernel, row->name, strict ? PDL_REASON_STRICT : PDL_REASON_GRANTED,
                         "not proved, and no race found", NULL);
            check_known(kernel, PDL_PROOF_NOT_PROVED);
        } else {
            check_launch(kernel, row->name, PDL_REASON_GRANTED, "; proved", NULL);
            check_known(kernel, PDL_PROOF_PROVED);
        }
        pdl_kernel_destroy(kernel);
    }
    if (words || strict) {
        check_twins();
    }
}

/* What libpdl says on stderr: once, where strict mode has no libpdl-inspect. */
static void check_said(const char *path, bool missing)
{
    static const char sentence[] = "PDL_OVERLAP_STRICT=1 needs libpdl-inspect.so.";
    char said[4096] = "";
    (void)fflush(stderr);
    FILE *const file = fopen(path, "r");
    CHECK(file != NULL && fread(said, 1, sizeof(said) - 1, file) < sizeof(said) - 1);
    const char *const first = strstr(said, sentence);
    CHECK((first != NULL) == missing && (first == NULL || strstr(first + 1, sentence) == NULL));
    (void)fclose(file);
    (void)unlink(path);
}

/* ---- wherever a kernel is from ---------------------------------------------------------------------- */

/* PTX and a fatbin of all rows. That of symbols is followed by another one, as linkers put them, in which a kernel of the
 * same name never waits. */
static char *all;
static size_t all_size;
static struct bytes all_fatbin;
static CUmodule all_module;

static void make_all(void)
{
    FILE *const text = open_memstream(&all, &all_size);
    (void)fputs(HEADER, text);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)fprintf(text, ENTRY("%s", "%s"), rows[i].name, rows[i].body);
    }
    (void)fclose(text);
    all_size++; /* the NUL */
    static const char never[] = HEADER ".visible .entry ordered() { ret; }\n";
    struct bytes next = make_fatbin(MADE_PTX, 90, never, sizeof(never));
    all_fatbin = make_fatbin(MADE_PTX, 90, all, all_size);
    CHECK(all_fatbin.size + next.size <= sizeof(device_code));
    memcpy(device_code, all_fatbin.data, all_fatbin.size);
    memcpy(device_code + all_fatbin.size, next.data, next.size);
    bytes_free(&next);
    DRIVER_CALL(cuModuleLoadData, (CUmodule *, const void *), &all_module, all);
}

static pdl_status from_ptx(const char *name, pdl_kernel **kernel)
{
    return kernel_from_image(all, all_size, name, kernel);
}

static pdl_status from_fatbin(const char *name, pdl_kernel **kernel)
{
    return kernel_from_image(all_fatbin.data, all_fatbin.size, name, kernel);
}

#ifdef PDL_HAVE_ZSTD
static pdl_status from_compressed(const char *name, pdl_kernel **kernel)
{
    struct bytes bytes = {0};
    const struct made_image image = {MADE_PTX, 90, all, all_size, NULL, NULL};
    const size_t begin = fatbin_begin(&bytes);
    (void)fatbin_add_table(&bytes, MADE_ZSTD, &image, 1);
    fatbin_end(&bytes, begin);
    const pdl_status status = kernel_from_image(bytes.data, bytes.size, name, kernel);
    bytes_free(&bytes);
    return status;
}
#endif

static pdl_status from_file(const char *name, pdl_kernel **kernel)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "proof.%ld.ptx", (long)getpid());
    FILE *const file = fopen(path, "w");
    CHECK(file != NULL && fwrite(all, 1, all_size, file) == all_size && fclose(file) == 0);
    const pdl_status status = kernel_from_file(path, name, kernel);
    (void)unlink(path);
    return status;
}

static pdl_status from_function(const char *name, pdl_kernel **kernel)
{
    CUfunction function = NULL;
    DRIVER_CALL(cuModuleGetFunction, (CUfunction *, CUmodule, const char *), &function, all_module,
                name);
    return kernel_from_function_image(function, all, all_size, kernel);
}

static pdl_status from_kernel(const char *name, pdl_kernel **kernel)
{
    CUlibrary library = NULL;
    CUkernel handle = NULL;
    DRIVER_CALL(cuLibraryLoadData,
                (CUlibrary *, const void *, CUjit_option *, void **, unsigned, CUlibraryOption *,
                 void **, unsigned),
                &library, all, NULL, NULL, 0, NULL, NULL, 0);
    DRIVER_CALL(cuLibraryGetKernel, (CUkernel *, CUlibrary, const char *), &handle, library, name);
    return kernel_from_kernel_image(handle, all_fatbin.data, all_fatbin.size, kernel);
}

static pdl_status from_symbol(const char *name, pdl_kernel **kernel)
{
    return kernel_from_symbol(all_module, name, kernel);
}

static void check_ways(void)
{
    static const struct {
        const char *name;
        pdl_status (*make)(const char *name, pdl_kernel **kernel);
    } ways[] = {
        {"PTX", from_ptx},
        {"a fatbin", from_fatbin},
        {"a file", from_file},
        {"a function", from_function},
        {"a CUkernel", from_kernel},
        {"a symbol", from_symbol},
#ifdef PDL_HAVE_ZSTD
        {"a compressed fatbin", from_compressed},
#endif
    };
    struct bytes cubin = make_cubin(&plain_cubin);
    pdl_kernel *const machine_code = make("fc1", cubin.data, cubin.size);
    check_launch(machine_code, "a cubin", PDL_REASON_GRANTED, "; proved", NULL);
    pdl_kernel_destroy(machine_code);
    bytes_free(&cubin);
    make_all();
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        for (size_t j = 0; j < sizeof(rows) / sizeof(rows[0]); j++) {
            const bool race = rows[j].proof == PDL_PROOF_RACE;
            char what[64];
            pdl_kernel *kernel = NULL;
            (void)snprintf(what, sizeof(what), "%s from %s", rows[j].name, ways[i].name);
            CHECK(ways[i].make(rows[j].name, &kernel) == PDL_SUCCESS);
            check_launch(kernel, what, race ? PDL_REASON_RACE : PDL_REASON_GRANTED,
                         race ? rows[j].rule : "; ", race ? rows[j].place : "prove", NULL);
            check_known(kernel, rows[j].proof);
            pdl_kernel_destroy(kernel);
        }
    }
    bytes_free(&all_fatbin);
    free(all);
}

/* A source that is compiled when the program runs. */
#ifdef PDL_TEST_RTC
static int check_rtc(void)
{
    static const char source[] =
        "#define WAIT asm volatile(\"griddepcontrol.wait;\" ::: \"memory\")\n"
        "extern \"C\" __global__ void ordered(int *p) { WAIT; *p += 1; }\n"
        "extern \"C\" __global__ void reads_first(int *p) {\n"
        "    const int first = *p;\n"
        "    WAIT;\n"
        "    *p = first + 1;\n"
        "}\n";
    static const char *const arguments[] = {"-lineinfo"};
    pdl_rtc_compiler_info compiler = PDL_RTC_COMPILER_INFO_INIT;
    pdl_rtc_image *image = NULL;
    pdl_kernel *kernel = NULL;
    if (pdl_rtc_compiler_get(&compiler) != PDL_SUCCESS) {
        printf("skipped: %s\n", pdl_last_error()->message);
        return 77;
    }
    CHECK(pdl_rtc_compile("rtc.cu", source,
                          &PDL_RTC_OPTIONS(.output = PDL_RTC_PTX, .target = "compute_90",
                                           .arguments = arguments, .argument_count = 1),
                          &image) == PDL_SUCCESS);
    CHECK(pdl_rtc_image_kernel(image, "ordered", &kernel) == PDL_SUCCESS);
    check_launch(kernel, "ordered", PDL_REASON_GRANTED, "; proved", NULL);
    check_known(kernel, PDL_PROOF_PROVED);
    pdl_kernel_destroy(kernel);
    CHECK(pdl_rtc_image_kernel(image, "reads_first", &kernel) == PDL_SUCCESS);
    check_launch(kernel, "reads_first", PDL_REASON_RACE, "read-before-wait", "rtc.cu:4", NULL);
    check_known(kernel, PDL_PROOF_RACE);
    pdl_kernel_destroy(kernel);
    pdl_rtc_image_destroy(image);
    return failures != 0;
}
#endif

/* ---- with the double ---------------------------------------------------------------------------- */

static unsigned (*asked(const char *name))(void)
{
    unsigned (*function)(void) = NULL;
    void *const library = dlopen(DOUBLE_SONAME, RTLD_NOW | RTLD_NOLOAD);
    CHECK(library != NULL);
    *(void **)&function = library != NULL ? dlsym(library, name) : NULL;
    CHECK(function != NULL);
    return function;
}

enum { KERNELS = 1000, IMAGES = 3 };
static char *images[IMAGES];

static void make_images(void)
{
    for (unsigned i = 0; i < IMAGES; i++) {
        size_t size = 0;
        FILE *const text = open_memstream(&images[i], &size);
        (void)fprintf(text, HEADER "// %u\n", i);
        for (unsigned j = 0; j < KERNELS; j++) {
            (void)fprintf(text, ".visible .entry %s%u() { griddepcontrol.wait; ret; }\n",
                          j % 10 == 9 ? "race" : "k", j);
        }
        (void)fclose(text);
    }
}

static void check_kernel(unsigned image, unsigned number, const char *race)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "%s%u", number % 10 == 9 ? "race" : "k", number);
    pdl_kernel *const kernel = make(name, images[image], strlen(images[image]));
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    CHECK(pdl_kernel_get(kernel, 0, &info) == PDL_SUCCESS);
    CHECK(info.proof == (uint32_t)(number % 10 == 9 ? PDL_PROOF_RACE : PDL_PROOF_PROVED));
    CHECK((info.proof_text != NULL) == (number % 10 == 9));
    CHECK(info.proof_text == NULL || strcmp(info.proof_text, race) == 0);
    pdl_kernel_destroy(kernel);
}

static void check_once(void)
{
    for (unsigned i = 0; i < KERNELS; i++) {
        check_kernel(i % IMAGES, i, "here: so");
    }
    CHECK(asked("pdl_double_calls")() == IMAGES);
    const pid_t child = fork(); /* which finds what was analysed before */
    if (child == 0) {
        failures = 0;
        check_kernel(1, 19, "here: so");
        CHECK(asked("pdl_double_calls")() == IMAGES);
        (void)fflush(stdout);
        _exit(failures != 0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void *make_one(void *unused)
{
    check_kernel(0, 19, "here: so");
    return unused;
}

/* Neither waits for the other, and both have the same answer. */
static void check_threads(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_create(&threads[i], NULL, make_one, NULL) == 0);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(asked("pdl_double_most_inside")() == 2);
    CHECK(asked("pdl_double_calls")() == 2);
    check_kernel(0, 29, "here: so");
    CHECK(asked("pdl_double_calls")() == 2);
}

static void check_budget(void)
{
    static const char over[] = "not analysed: its image is above the budget";
    pdl_proof proof = PDL_PROOF_PROVED;
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    pdl_kernel *const good = make("k1", images[0], strlen(images[0]));
    pdl_kernel *const bad = make("race9", images[0], strlen(images[0]));
    memset(images[0], 'x', strlen(images[0])); /* it may be freed */
    CHECK(asked("pdl_double_calls")() == 1);
    CHECK(pdl_kernel_get(bad, 0, &info) == PDL_SUCCESS && info.proof == PDL_PROOF_NOT_ANALYSED);
    CHECK(info.proof_text != NULL && strstr(info.proof_text, over) != NULL);
    check_launch(bad, "above the budget", PDL_REASON_GRANTED, over, NULL);
    CHECK(pdl_kernel_prove(bad, 0, NULL) == PDL_ERROR_INVALID_ARGUMENT);
    CHECK(pdl_kernel_prove(bad, 0, &proof) == PDL_SUCCESS && proof == PDL_PROOF_RACE);
    check_launch(bad, "proved later", PDL_REASON_RACE, "here: so", NULL);
    CHECK(pdl_kernel_prove(good, 0, &proof) == PDL_SUCCESS && proof == PDL_PROOF_PROVED);
    check_launch(good, "its neighbour", PDL_REASON_GRANTED, "; proved", NULL);
    CHECK(asked("pdl_double_calls")() == 2);
    pdl_kernel_destroy(good);
    pdl_kernel_destroy(bad);
}

/* Nothing is proved, which is said. */
static void check_nothing(const char *why)
{
    pdl_kernel *const kernel = make_row(&rows[1]);
    check_launch(kernel, why, PDL_REASON_GRANTED, "nothing is proved", why, NULL);
    check_known(kernel, PDL_PROOF_NOT_ANALYSED);
    CHECK(pdl_proof_missing() != NULL && strstr(pdl_proof_missing(), why) != NULL);
    pdl_kernel_destroy(kernel);
}

enum { RUNS = 21 };

static double cpu_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The steps that the analysis of a file takes, to half a percent. */
static unsigned long long steps_of(const char *path)
{
    pdl_status (*inspect)(const char *, const pdl_inspect_options *, pdl_inspection **) = NULL;
    void (*destroy)(pdl_inspection *) = NULL;
    void *const library = dlopen(DOUBLE_SONAME, RTLD_NOW);
    if (library == NULL) {
        return 0;
    }
    *(void **)&inspect = dlsym(library, "pdl_inspect_file");
    *(void **)&destroy = dlsym(library, "pdl_inspection_destroy");
    unsigned long long few = 0, enough = 1ull << 32;
    while (enough - few > enough / 200 + 1) {
        pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
        pdl_inspection *inspection = NULL;
        options.flags = PDL_INSPECT_NO_SOURCES;
        options.max_steps = few + (enough - few) / 2;
        const bool done = inspect(path, &options, &inspection) == PDL_SUCCESS;
        *(done ? &enough : &few) = options.max_steps;
        destroy(inspection);
    }
    return enough;
}

/* What the first kernel of a file costs, and the second, as medians of processes: cost FILE KERNEL. Not a test. */
static void measure(const char *path, const char *name)
{
    double times[2][RUNS];
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    pdl_kernel *kernel = NULL;
    for (int run = 0; run < RUNS; run++) {
        int ends[2];
        double both[2];
        CHECK(pipe(ends) == 0);
        const pid_t child = fork();
        for (int i = 0; child == 0 && i < 2; i++) {
            const double begin = cpu_ms();
            CHECK(kernel_from_file(path, name, &kernel) == PDL_SUCCESS);
            both[i] = cpu_ms() - begin;
        }
        if (child == 0) {
            _exit(write(ends[1], both, sizeof(both)) < 0);
        }
        CHECK(read(ends[0], both, sizeof(both)) == (ssize_t)sizeof(both));
        CHECK(waitpid(child, NULL, 0) == child);
        times[0][run] = both[0];
        times[1][run] = both[1];
        (void)close(ends[0]);
        (void)close(ends[1]);
    }
    qsort(times[0], RUNS, sizeof(times[0][0]), by_value);
    qsort(times[1], RUNS, sizeof(times[1][0]), by_value);
    CHECK(kernel_from_file(path, name, &kernel) == PDL_SUCCESS);
    CHECK(pdl_kernel_get(kernel, 0, &info) == PDL_SUCCESS);
    const char *const slash = strrchr(path, '/');
    printf("{\"image\": \"%s\", \"proof\": %u, \"first_ms\": %.3f, \"further_ms\": %.3f, "
           "\"steps\": %llu, \"text\": \"%.200s\"}\n",
           slash != NULL ? slash + 1 : path, info.proof, times[0][RUNS / 2], times[1][RUNS / 2],
           steps_of(path), info.proof_text != NULL ? info.proof_text : "");
    pdl_kernel_destroy(kernel);
}

int main(int argc, char **argv)
{
    CUcontext context = NULL;
    const char *const scenario = argc == 2 || argc == 4 ? argv[1] : "";
    char said_path[64];
    (void)snprintf(said_path, sizeof(said_path), "proof.%s.%ld.stderr", scenario, (long)getpid());
    (void)snprintf(log_path, sizeof(log_path), "proof.%s.%ld.log", scenario, (long)getpid());
    CHECK(setenv("PDL_LOG", log_path, 1) == 0);
    CHECK(argc != 2 || freopen(said_path, "w", stderr) != NULL);
    pdl_device_info device = PDL_DEVICE_INFO_INIT;
    CHECK(pdl_device_get(0, &device) == PDL_SUCCESS &&
          pdl_device_get(1, &device) == PDL_ERROR_INVALID_DEVICE);
    DRIVER_CALL(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice), &context, 0);
    DRIVER_CALL(cuCtxSetCurrent, (CUcontext), context);
    make_images();
    if (argc == 4) {
        measure(argv[2], argv[3]);
    } else if (strcmp(scenario, "ways") == 0) {
        check_ways();
#ifdef PDL_TEST_RTC
    } else if (strcmp(scenario, "rtc") == 0) {
        if (check_rtc() == 77) {
            (void)unlink(said_path);
            return 77;
        }
#endif
    } else if (strcmp(scenario, "once") == 0) {
        check_once();
    } else if (strcmp(scenario, "threads") == 0) {
        check_threads();
    } else if (strcmp(scenario, "budget") == 0) {
        check_budget();
    } else if (strcmp(scenario, "missing") == 0) {
        check_nothing(DOUBLE_SONAME ": cannot open");
    } else if (strcmp(scenario, "version") == 0) {
        char theirs[32];
        (void)snprintf(theirs, sizeof(theirs), "of version %d.%d.%d", PDL_VERSION_MAJOR,
                       PDL_VERSION_MINOR, PDL_VERSION_PATCH + 1);
        check_nothing(theirs);
        (void)snprintf(theirs, sizeof(theirs), "libpdl of version %d.%d.%d", PDL_VERSION_MAJOR,
                       PDL_VERSION_MINOR, PDL_VERSION_PATCH);
        check_nothing(theirs);
    } else {
        check_rows(scenario);
        CHECK((pdl_proof_missing() != NULL) ==
              (strcmp(scenario, "strict_missing") == 0 || strcmp(scenario, "off") == 0));
    }
    if (argc == 2) {
        check_said(said_path, strcmp(scenario, "strict_missing") == 0);
    }
    for (unsigned i = 0; i < IMAGES; i++) {
        free(images[i]);
    }
    (void)unlink(log_path);
    return failures != 0;
}
