/* SPDX-License-Identifier: MIT */
/* A program that launches kernels, for interposed.py: the driver's log shows what came of it. The first argument is how it
 * finds the driver's calls: "dlsym", "proc" and "proc1" (cuGetProcAddress, of CUDA 12 and 11), "ptsz" and "symbols" (with the
 * thread's own default stream); the program interposed_linked links them. Then, in their order:
 *
 *   NAME    a kernel, launched by cuLaunchKernel        NAME!   by cuLaunchKernelEx with overlap
 *   NAME+   by cuLaunchKernelEx with nothing            NAME-   with the overlap said not to be
 *   NAME*   cooperatively                               NAME%   with a priority, overlap and a cluster
 *   NAME?   by cuLaunchKernel, with its arguments in a buffer
 *   NAME$   by cuLaunchKernel, by its CUkernel
 *   0, 1    another stream
 *   release the device's context is released; this driver keeps what is in it
 *   fatbin, wrapper, copy    the code again, in a fatbin of the program, its wrapper, a fatbin in other memory
 *   table                    the code again, in a table of images
 *   cubin   machine code: cwaits, clate, cleaves, and waits, which does not
 *   unload  a module that has nothing to do with the others is loaded and unloaded
 *   reload  the code is unloaded, and loaded again
 *   early   waits, by its CUkernel, on a thread without a context: the driver refuses it
 *   threads the next launch by four threads, each 50 times
 *   fork    the rest in a child
 *   exec    the rest by another program */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda.h>
#include <cudaTypedefs.h>

#include "../inspect/make_image.h"

#define ENTRY(name, body)                                                                          \
    ".visible .entry " name "(.param .u64 p) { ld.param.u64 g, [p]; cvta.to.global.u64 g, g;\n"    \
    "mov.u32 t, %tid.x; setp.eq.u32 first, t, 0;\n" body "\nret; }\n"
#define WAIT "griddepcontrol.wait;"
#define READ "ld.global.u32 r, [g];"

static const char text[] = ".version 8.7\n.target sm_90\n.address_size 64\n"
    /* clang-format off */
    ENTRY("waits",  WAIT "\n" READ)
    ENTRY("waits2", WAIT "\n" READ)
    ENTRY("branch", "@first bra A;\n" WAIT "\nA:\n" READ)
    ENTRY("late",   READ "\n" WAIT)
    ENTRY("never",  READ);
/* clang-format on */

struct wrapper {
    unsigned magic, version;
    const void *data;
    void *unused;
};

#define CALLS(X)                                                                                   \
    X(cuInit, "cuInit", v2000, 2000)                                                               \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", v7000, 7000)                           \
    X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease", v11000, 11000)                       \
    X(cuCtxSetCurrent, "cuCtxSetCurrent", v4000, 4000)                                             \
    X(cuStreamCreate, "cuStreamCreate", v2000, 2000)                                               \
    X(cuLibraryLoadData, "cuLibraryLoadData", v12000, 12000)                                       \
    X(cuLibraryGetKernel, "cuLibraryGetKernel", v12000, 12000)                                     \
    X(cuModuleLoadData, "cuModuleLoadData", v2000, 2000)                                           \
    X(cuModuleUnload, "cuModuleUnload", v2000, 2000)                                               \
    X(cuModuleGetFunction, "cuModuleGetFunction", v2000, 2000)                                     \
    X(cuLaunchKernel, "cuLaunchKernel", v4000, 7000)                                               \
    X(cuLaunchKernelEx, "cuLaunchKernelEx", v11060, 11060)                                         \
    X(cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel", v9000, 9000)

static struct {
#define MEMBER(name, text, version, number) PFN_##name##_##version name;
    CALLS(MEMBER)
#undef MEMBER
} driver;

static CUlibrary loaded;
static CUmodule module;
static CUstream stream;
static CUstream streams[2];
static bool threads;

static void fail(const char *what)
{
    (void)fprintf(stderr, "interposed: %s\n", what);
    exit(99);
}

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != CUDA_SUCCESS) {                                                              \
            fail(#call " failed");                                                                 \
        }                                                                                          \
    } while (0)

#ifdef INTERPOSED_LINKED
static void find_calls(const char *how)
{
    (void)how;
#define LINK(name, text, version, number) driver.name = name;
    CALLS(LINK)
#undef LINK
}
#else
static void *find_call(void *library, const char *how, const char *name, int version)
{
    char symbol[64];
    void *found = NULL;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    if (strcmp(how, "dlsym") == 0 || strcmp(how, "symbols") == 0) {
        (void)snprintf(symbol, sizeof(symbol), "%s_ptsz", name);
        found = strcmp(how, "symbols") == 0 ? dlsym(library, symbol) : NULL;
        found = found != NULL ? found : dlsym(library, name);
        (void)snprintf(symbol, sizeof(symbol), "%s_v2", name);
        return found != NULL ? found : dlsym(library, symbol);
    }
    if (strcmp(how, "proc1") == 0) {
        PFN_cuGetProcAddress_v11030 get = NULL;
        *(void **)&get = dlsym(library, "cuGetProcAddress");
        return get != NULL && get(name, &found, version, 0) == CUDA_SUCCESS ? found : NULL;
    }
    PFN_cuGetProcAddress_v12000 get = NULL;
    *(void **)&get = dlsym(library, "cuGetProcAddress_v2");
    const cuuint64_t flags = strcmp(how, "ptsz") == 0
                                 ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                                 : CU_GET_PROC_ADDRESS_DEFAULT;
    return get != NULL && get(name, &found, version, flags, &status) == CUDA_SUCCESS &&
                   status == CU_GET_PROC_ADDRESS_SUCCESS
               ? found
               : NULL;
}

static void find_calls(const char *how)
{
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);
#define FIND(name, text, version, number)                                                          \
    *(void **)&driver.name = library != NULL ? find_call(library, how, text, number) : NULL;       \
    if (driver.name == NULL) {                                                                     \
        fail("there is no " text);                                                                 \
    }
    CALLS(FIND)
#undef FIND
}
#endif

static void load(const void *code)
{
    CHECK(driver.cuModuleLoadData(&module, code));
}

/* A fatbin of the program's own, and one elsewhere. */
static void load_fatbin(const char *way)
{
    static unsigned char mapped[8192] __attribute__((aligned(8))) = {1}; /* not zeroed memory */
    static struct wrapper wrapper = {0x466243b1, 1, mapped, NULL};
    struct bytes made = {NULL, 0};
    if (strcmp(way, "table") == 0) {
        static const char other[] = ".version 8.5\n.target sm_120\n.address_size 64\n";
        const struct made_image images[] = {{MADE_PTX, 120, other, sizeof(other), NULL, NULL},
                                            {MADE_PTX, 90, text, sizeof(text), "a.cu", "-O3"}};
        const size_t begin = fatbin_begin(&made);
        (void)fatbin_add_table(&made, 0, images, 2);
        fatbin_end(&made, begin);
    } else {
        made = make_fatbin(MADE_PTX, 90, text, sizeof(text));
    }
    if (made.size > sizeof(mapped)) {
        fail("the fatbin is too large");
    }
    if (strcmp(way, "copy") == 0) {
        load(made.data);
        memset(made.data, 0, made.size);
    } else {
        memcpy(mapped, made.data, made.size);
        load(strcmp(way, "wrapper") == 0 ? (const void *)&wrapper : mapped);
    }
    bytes_free(&made);
}

static void load_cubin(void)
{
    struct bytes made = make_cubin(&(const struct made_cubin){
        .target = 90,
        .functions = {{.name = "cwaits", .code = {OP_OTHER, OP_WAIT, OP_LOAD, OP_EXIT}},
                      {.name = "clate", .code = {OP_LOAD, OP_WAIT, OP_EXIT}},
                      {.name = "cleaves", .code = {OP_EXIT_IF, OP_WAIT, OP_EXIT}},
                      {.name = "waits", .code = {OP_LOAD, OP_EXIT}}}});
    load(made.data);
    memset(made.data, 0, made.size);
    bytes_free(&made);
}

static void launch(const char *what)
{
    char name[32];
    CUfunction function = NULL;
    CUkernel kernel = NULL;
    unsigned long long pointer = 0;
    void *parameters[] = {&pointer};
    const size_t length = strcspn(what, "!+-*%?$");
    (void)snprintf(name, sizeof(name), "%.*s", (int)length, what);
    CHECK(driver.cuModuleGetFunction(&function, module, name));
    CUlaunchAttribute attributes[3];
    memset(attributes, 0, sizeof(attributes));
    CUlaunchConfig config = {.gridDimX = 2,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 32,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = stream,
                             .attrs = attributes};
    CUlaunchAttribute *overlap = attributes;
    size_t size = sizeof(pointer);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &pointer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    switch (what[length]) {
    case '\0':
        CHECK(driver.cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
        return;
    case '$':
        CHECK(driver.cuLibraryGetKernel(&kernel, loaded, name));
        CHECK(driver.cuLaunchKernel((CUfunction)kernel, 2, 1, 1, 32, 1, 1, 0, stream, parameters,
                                    NULL));
        return;
    case '?':
        CHECK(driver.cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, stream, NULL, extra));
        return;
    case '*':
        CHECK(driver.cuLaunchCooperativeKernel(function, 2, 1, 1, 32, 1, 1, 0, stream, parameters));
        return;
    case '%':
        attributes[0].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
        attributes[0].value.priority = -1;
        attributes[2].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attributes[2].value.clusterDim.x = 2;
        attributes[2].value.clusterDim.y = attributes[2].value.clusterDim.z = 1;
        config.numAttrs = 3;
        overlap = &attributes[1];
        break;
    case '+':
        break;
    default:
        config.numAttrs = 1;
        break;
    }
    overlap->id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    overlap->value.programmaticStreamSerializationAllowed = what[length] != '-';
    const CUlaunchAttribute before = attributes[1];
    CHECK(driver.cuLaunchKernelEx(&config, function, parameters, NULL));
    if (memcmp(&before, &attributes[1], sizeof(before)) != 0) {
        fail("the program's attributes were written to");
    }
}

static CUcontext context;

static void launch_early(void)
{
    CUkernel kernel = NULL;
    unsigned long long pointer = 0;
    void *parameters[] = {&pointer};
    CHECK(driver.cuLibraryGetKernel(&kernel, loaded, "waits"));
    CHECK(driver.cuCtxSetCurrent(NULL));
    if (driver.cuLaunchKernel((CUfunction)kernel, 2, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL) ==
        CUDA_SUCCESS) {
        fail("a launch without a context");
    }
    CHECK(driver.cuCtxSetCurrent(context));
}

/* What is loaded and unloaded has one handle or another. */
static void unload(bool all)
{
    CUmodule other = module;
    if (!all) {
        CHECK(driver.cuModuleLoadData(&other, ".version 8.7\n.target sm_90\n.address_size 64\n"));
    }
    CHECK(driver.cuModuleUnload(other));
    if (all) {
        load(text);
    }
}

static void *launch_often(void *what)
{
    CHECK(driver.cuCtxSetCurrent(context));
    for (int i = 0; i < 50; i++) {
        launch(what);
    }
    return NULL;
}

static void launch_by_threads(char *what)
{
    pthread_t ids[4];
    for (int i = 0; i < 4; i++) {
        if (pthread_create(&ids[i], NULL, launch_often, what) != 0) {
            fail("no thread");
        }
    }
    for (int i = 0; i < 4; i++) {
        (void)pthread_join(ids[i], NULL);
    }
}

static void begin(const char *how)
{
    find_calls(how);
    CHECK(driver.cuInit(0));
    CHECK(driver.cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(driver.cuCtxSetCurrent(context));
    CHECK(driver.cuLibraryLoadData(&loaded, text, NULL, NULL, 0, NULL, NULL, 0));
    load(text);
    for (int i = 0; i < 2; i++) {
        CHECK(driver.cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fail("no arguments");
    }
    bool begun = false;
    for (int i = 2; i < argc; i++) {
        char *const what = argv[i];
        if (strcmp(what, "fork") == 0) {
            int status = 0;
            const pid_t child = fork();
            if (child != 0) {
                return waitpid(child, &status, 0) == child && status == 0 ? 0 : 99;
            }
            continue;
        }
        if (strcmp(what, "exec") == 0) {
            argv[i] = argv[1];
            argv[i - 1] = argv[0];
            (void)execv("/proc/self/exe", &argv[i - 1]);
            fail("exec");
        }
        if (!begun) {
            begin(argv[1]);
            begun = true;
        }
        if (strcmp(what, "0") == 0 || strcmp(what, "1") == 0) {
            stream = streams[what[0] - '0'];
        } else if (strcmp(what, "fatbin") == 0 || strcmp(what, "wrapper") == 0 ||
                   strcmp(what, "copy") == 0 || strcmp(what, "table") == 0) {
            load_fatbin(what);
        } else if (strcmp(what, "release") == 0) {
            CHECK(driver.cuDevicePrimaryCtxRelease(0));
            CHECK(driver.cuDevicePrimaryCtxRetain(&context, 0));
        } else if (strcmp(what, "cubin") == 0) {
            load_cubin();
        } else if (strcmp(what, "unload") == 0 || strcmp(what, "reload") == 0) {
            unload(strcmp(what, "reload") == 0);
        } else if (strcmp(what, "early") == 0) {
            launch_early();
        } else if (strcmp(what, "threads") == 0) {
            threads = true;
        } else if (threads) {
            launch_by_threads(what);
            threads = false;
        } else {
            launch(what);
        }
    }
    return 0;
}
