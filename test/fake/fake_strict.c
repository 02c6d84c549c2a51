/* SPDX-License-Identifier: MIT */
/* Strict mode as programs meet it: libpdl.so and libpdl-inspect.so as they are built, on the fake driver. The argument
 * says what the environment (CMakeLists.txt) makes of them: "off", where nothing is proved, "strict", "missing", where
 * PDL_OVERLAP_STRICT is 1 and there is no libpdl-inspect, or "auto", where neither variable is set. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef PDL_HAVE_ZSTD
#include <zstd.h>
#endif

#include "../cuda/from_image.h"
#include "../inspect/make_image.h"
#include "symbol.h"

#define ENTRY(name, body)                                                                          \
    ".visible .entry " name "(.param .u64 p) { ld.param.u64 g, [p]; cvta.to.global.u64 g, g;\n"    \
    "mov.u32 t, %tid.x; setp.eq.u32 first, t, 0;\n" body "\nret; }\n"
#define WAIT "griddepcontrol.wait;"
#define READ "ld.global.u32 r, [g];"

static const char text[] = ".version 8.7\n.target sm_90\n.address_size 64\n"
    /* clang-format off */
    ENTRY("waits",    WAIT "\n" READ)
    ENTRY("branch",   "@first bra A;\n" WAIT "\nA:\n" READ)
    ENTRY("late",     READ "\n" WAIT)
    ENTRY("constant", "// pdl:constant g\n" READ "\n" WAIT)
    ENTRY("never",    READ);
/* clang-format on */

enum mode { OFF, STRICT, MISSING, AUTO };
static enum mode mode;

/* What AUTO is to come to in strict mode, and otherwise. */
struct expected {
    const char *name;
    pdl_reason strict;
    pdl_reason otherwise;
    pdl_known always; /* where it is analysed */
    bool race;        /* is found in it */
};

static const struct expected kernels[] = {
    {"waits", PDL_REASON_GRANTED, PDL_REASON_GRANTED, PDL_YES, false},
    {"branch", PDL_REASON_STRICT, PDL_REASON_GRANTED, PDL_NO, true},
    {"late", PDL_REASON_STRICT, PDL_REASON_GRANTED, PDL_YES, true},
    {"constant", PDL_REASON_GRANTED, PDL_REASON_GRANTED, PDL_YES, false},
    {"never", PDL_REASON_NO_WAIT, PDL_REASON_NO_WAIT, PDL_NO, false},
};

static void check_reason(pdl_kernel *kernel, const char *what, pdl_reason reason)
{
    const pdl_launch_desc launch =
        PDL_LAUNCH_DESC(.grid = {1}, .block = {32}, .overlap = PDL_OVERLAP_AUTO);
    const pdl_launch_desc require =
        PDL_LAUNCH_DESC(.grid = {1}, .block = {32}, .overlap = PDL_OVERLAP_REQUIRE);
    uint64_t pointer = 0;
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    CHECK(pdl_launch(kernel, &launch, PDL_ARGS(pointer)) == PDL_SUCCESS);
    CHECK(pdl_launch_explain(kernel, &launch, &report) == PDL_SUCCESS);
    CHECK(pdl_launch(kernel, &require, PDL_ARGS(pointer)) ==
          (reason == PDL_REASON_GRANTED ? PDL_SUCCESS : PDL_ERROR_OVERLAP));
    if (report.overlap_reason != (uint32_t)reason) {
        printf("%s: %s, and should be: %s\n", what,
               pdl_reason_string((pdl_reason)report.overlap_reason), pdl_reason_string(reason));
        failures++;
    }
}

/* A kernel as it is, and then the same kernel declared to wait. Destroys it. */
static void check_answers(pdl_kernel *kernel, const char *what, const struct expected *expected)
{
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    pdl_reason reason = mode == STRICT ? expected->strict : expected->otherwise;
    if (mode == MISSING && reason == PDL_REASON_GRANTED) {
        reason = PDL_REASON_STRICT;
    }
    if (mode == AUTO && expected->race) {
        reason = PDL_REASON_RACE;
    }
    if (kernel == NULL) {
        return;
    }
    check_reason(kernel, what, reason);
    CHECK(pdl_kernel_get(kernel, 0, &info) == PDL_SUCCESS);
    CHECK(info.waits_always ==
          (uint32_t)(mode == STRICT || mode == AUTO ? expected->always : PDL_UNKNOWN));
    CHECK(pdl_kernel_declare(kernel, PDL_YES, PDL_UNKNOWN) == PDL_SUCCESS);
    check_reason(kernel, "declared to wait", PDL_REASON_GRANTED);
    CHECK(pdl_kernel_declare(kernel, PDL_NO, PDL_UNKNOWN) == PDL_SUCCESS);
    check_reason(kernel, "declared not to wait", PDL_REASON_NO_WAIT);
    pdl_kernel_destroy(kernel);
}

static void check_kernel(const char *what, const struct bytes *image,
                         const struct expected *expected)
{
    pdl_kernel *kernel = NULL;
    CHECK(kernel_from_image(image->data, image->size, expected->name, &kernel) == PDL_SUCCESS);
    check_answers(kernel, what, expected);
}

/* An image of the same size, in which the wait has changed places with the read. */
static void check_a_twin(void)
{
    static const struct expected twin = {"waits", PDL_REASON_STRICT, PDL_REASON_GRANTED, PDL_YES,
                                         true};
    static const char right[] = WAIT "\n" READ;
    static const char wrong[] = READ "\n" WAIT;
    struct bytes image = {0};
    bytes_add(&image, text, sizeof(text));
    check_kernel("first", &image, &kernels[0]);
    memcpy(strstr((char *)image.data, right), wrong, strlen(wrong));
    check_kernel("its twin", &image, &twin);
    bytes_free(&image);
}

/* The same kernels in a fatbin, beside machine code, and compressed. */
static void check_binaries(void)
{
    static const struct expected alone = {"fc1", PDL_REASON_GRANTED, PDL_REASON_GRANTED, PDL_YES,
                                          false};
    struct bytes cubin = make_cubin(&plain_cubin);
    struct bytes fatbin = make_fatbin(MADE_PTX, 90, text, sizeof(text));
    check_kernel("a cubin", &cubin, &alone);
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        check_kernel("in a fatbin", &fatbin, &kernels[i]);
    }
    bytes_free(&fatbin);
    bytes_free(&cubin);
#ifdef PDL_HAVE_ZSTD
    unsigned char packed[4096];
    const size_t size = ZSTD_compress(packed, sizeof(packed), text, sizeof(text), 3);
    const size_t begin = fatbin_begin(&fatbin);
    fatbin_add(&fatbin, MADE_PTX, 90, MADE_ZSTD, packed, size, sizeof(text));
    fatbin_end(&fatbin, begin);
    if (mode == STRICT) { /* without it, that depends on what unpacks */
        check_kernel("compressed, waits", &fatbin, &kernels[0]);
    }
    bytes_free(&fatbin);
#endif
}

/* A handle brings no code. */
static void check_handle(void)
{
    CUmodule module = NULL;
    CUfunction function = NULL;
    pdl_kernel *kernel = NULL;
    DRIVER_CALL(cuModuleLoadData, (CUmodule *, const void *), &module, text);
    DRIVER_CALL(cuModuleGetFunction, (CUfunction *, CUmodule, const char *), &function, module,
                "waits");
    CHECK(pdl_kernel_from_function(function, NULL, &kernel) == PDL_SUCCESS);
    check_reason(kernel, "a handle", PDL_REASON_WAITS_UNKNOWN);
    CHECK(pdl_kernel_declare(kernel, PDL_YES, PDL_UNKNOWN) == PDL_SUCCESS);
    check_reason(kernel, "a handle that is declared", PDL_REASON_GRANTED);
    pdl_kernel_destroy(kernel);
    DRIVER_CALL(cuModuleUnload, (CUmodule), module);
}

/* Another fatbin follows the first, as linkers put them, in which the kernels of the same names never wait. */
static void check_symbols(void)
{
    static const char follows[] = ".version 8.7\n.target sm_90\n" ENTRY("waits", READ);
    CUmodule module = NULL;
    struct bytes fatbin = make_fatbin(MADE_PTX, 90, text, sizeof(text));
    struct bytes next = make_fatbin(MADE_PTX, 90, follows, sizeof(follows));
    CHECK(fatbin.size + next.size <= sizeof(device_code));
    memcpy(device_code, fatbin.data, fatbin.size);
    memcpy(device_code + fatbin.size, next.data, next.size);
    DRIVER_CALL(cuModuleLoadData, (CUmodule *, const void *), &module, text);
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        pdl_kernel *kernel = NULL;
        CHECK(kernel_from_symbol(module, kernels[i].name, &kernel) == PDL_SUCCESS);
        check_answers(kernel, kernels[i].name, &kernels[i]);
    }
    bytes_free(&next);
    bytes_free(&fatbin);
    DRIVER_CALL(cuModuleUnload, (CUmodule), module);
}

/* Threads that look into two images by turns. */
static void *look_again(void *argument)
{
    struct bytes image = {0};
    (void)argument;
    bytes_add(&image, text, sizeof(text));
    struct bytes fatbin = make_fatbin(MADE_PTX, 90, text, sizeof(text));
    for (int i = 0; i < 40; i++) {
        const struct bytes *one = i % 2 == 0 ? &image : &fatbin;
        const struct expected *expected = &kernels[i % 4];
        pdl_kernel *kernel = NULL;
        pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
        const bool made =
            kernel_from_image(one->data, one->size, expected->name, &kernel) == PDL_SUCCESS;
        if (!made || pdl_kernel_get(kernel, 0, &info) != PDL_SUCCESS ||
            (mode == STRICT && info.overlap_reason != (uint32_t)expected->strict)) {
            __atomic_store_n(&failures, 1, __ATOMIC_RELAXED);
        }
        pdl_kernel_destroy(kernel);
    }
    bytes_free(&image);
    bytes_free(&fatbin);
    return NULL;
}

static void check_threads(void)
{
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) {
        CHECK(pthread_create(&threads[i], NULL, look_again, NULL) == 0);
    }
    for (size_t i = 0; i < 4; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
}

/* What libpdl says on stderr, from the first use on. */
static int capture_stderr(int *kept)
{
    const int file = memfd_create("stderr", 0);
    *kept = dup(STDERR_FILENO);
    CHECK(file >= 0 && *kept >= 0 && dup2(file, STDERR_FILENO) >= 0);
    return file;
}

static void check_said(int file, int kept)
{
    char said[4096] = "";
    int lines = 0;
    (void)fflush(stderr);
    CHECK(dup2(kept, STDERR_FILENO) >= 0);
    const ssize_t size = pread(file, said, sizeof(said) - 1, 0);
    for (ssize_t i = 0; i < size; i++) {
        lines += said[i] == '\n';
    }
    CHECK(lines == (mode == MISSING ? 1 : 0));
    CHECK((strstr(said, "PDL_OVERLAP_STRICT=1 needs libpdl-inspect.so.") != NULL) ==
          (mode == MISSING));
    (void)fputs(said, stdout);
    (void)close(kept);
    (void)close(file);
}

int main(int argc, char **argv)
{
    CUcontext context = NULL;
    int kept = -1;
    static const char *const modes[] = {"off", "strict", "missing", "auto"};
    while (mode <= AUTO && argc == 2 && strcmp(argv[1], modes[mode]) != 0) {
        mode++;
    }
    if (argc != 2 || mode > AUTO) {
        (void)fprintf(stderr, "off, strict, missing or auto\n");
        return 2;
    }
    const int file = capture_stderr(&kept);
    pdl_device_info device = PDL_DEVICE_INFO_INIT;
    CHECK(pdl_device_get(0, &device) == PDL_SUCCESS &&
          pdl_device_get(1, &device) == PDL_ERROR_INVALID_DEVICE);
    DRIVER_CALL(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice), &context, 0);
    DRIVER_CALL(cuCtxSetCurrent, (CUcontext), context);
    check_a_twin();
    check_binaries();
    check_handle();
    check_symbols();
    check_threads();
    check_said(file, kept);
    return failures != 0;
}
