/* SPDX-License-Identifier: MIT */
/* Several copies of libpdl in one process: that of the program, and others that plugins bring, as shared libraries, linked
 * into the plugin, or in a namespace of the dynamic linker. Each has its own switches, errors and objects, also in threads,
 * in the child of a fork, and after others were unloaded.
 *
 * Arguments: shared or linked or namespaces, a file to make copies of, how many. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../cuda/from_image.h"
#include "driver_calls.h"
#include "fake_copies.h"

enum { MOST = 50, THREADS = 4 };

static int failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: %s is wrong\n", __FILE__, __LINE__, #condition);         \
            __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);                                    \
        }                                                                                          \
    } while (0)

struct copy {
    void *handle;
    struct copy_functions call;
    pdl_kernel *kernel;
};

static struct copy copies[MOST];
static int count;
static bool in_namespaces;
static CUcontext context;
static char paths[MOST][64];

/* Each is a file of its own: the dynamic linker maps one file once. */
static void make_copies(const char *file)
{
    static char bytes[1 << 16];
    for (int i = 0; i < count; i++) {
        ssize_t size = -1;
        (void)snprintf(paths[i], sizeof(paths[i]), "./copy_%ld_%d.so", (long)getpid(), i);
        const int from = open(file, O_RDONLY);
        const int to = open(paths[i], O_WRONLY | O_CREAT | O_TRUNC, 0700);
        while (from >= 0 && to >= 0 && (size = read(from, bytes, sizeof(bytes))) > 0 &&
               write(to, bytes, (size_t)size) == size) {
        }
        if (size != 0 || close(from) != 0 || close(to) != 0) {
            (void)fprintf(stderr, "%s cannot be copied to %s\n", file, paths[i]);
            exit(2);
        }
    }
}

static void open_copy(int i)
{
    struct copy *const copy = &copies[i];
    copy->handle = in_namespaces ? dlmopen(LM_ID_NEWLM, paths[i], RTLD_NOW | RTLD_LOCAL)
                                 : dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
    if (copy->handle == NULL) {
        const char *const why = dlerror();
        (void)fprintf(stderr, "%s\n", why);
        /* The C library of some systems has room for the thread-local data of a few namespaces only. */
        exit(in_namespaces && strstr(why, "static TLS block") != NULL ? 77 : 2);
    }
    const void *const linked = dlsym(copy->handle, "copy_functions");
    if (linked != NULL) {
        memcpy(&copy->call, linked, sizeof(copy->call));
    } else {
#define FIND(name)                                                                                 \
    do {                                                                                           \
        void *const symbol = dlsym(copy->handle, #name);                                           \
        CHECK(symbol != NULL);                                                                     \
        memcpy(&copy->call.name, &symbol, sizeof(symbol));                                         \
    } while (0);
        COPY_FUNCTIONS(FIND)
#undef FIND
    }
    if (in_namespaces) { /* and so has its driver */
        CUresult (*set)(CUcontext) = NULL;
        CUresult (*retain)(CUcontext *, CUdevice) = NULL;
        CUresult (*init)(unsigned) = NULL;
        Lmid_t space = 0;
        CUcontext own = NULL;
        CHECK(dlinfo(copy->handle, RTLD_DI_LMID, &space) == 0);
        void *const driver = dlmopen(space, "libcuda.so.1", RTLD_NOW);
        void *const symbols[] = {dlsym(driver, "cuInit"), dlsym(driver, "cuDevicePrimaryCtxRetain"),
                                 dlsym(driver, "cuCtxSetCurrent")};
        memcpy(&init, &symbols[0], sizeof(init));
        memcpy(&retain, &symbols[1], sizeof(retain));
        memcpy(&set, &symbols[2], sizeof(set));
        CHECK(init(0) == CUDA_SUCCESS && retain(&own, 0) == CUDA_SUCCESS &&
              set(own) == CUDA_SUCCESS);
    }
    pdl_image *image = NULL;
    CHECK(copy->call.pdl_image_load(TEST_PTX, sizeof(TEST_PTX), &image) == PDL_SUCCESS);
    CHECK(copy->call.pdl_image_kernel(image, "fc1", &copy->kernel) == PDL_SUCCESS);
    copy->call.pdl_image_free(image);
}

static void close_copy(int i)
{
    copies[i].call.pdl_kernel_destroy(copies[i].kernel);
    CHECK(dlclose(copies[i].handle) == 0);
    copies[i].handle = NULL;
}

/* Launches, and has an error that no other copy has. */
static void use(const struct copy *copy, bool granted)
{
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    pdl_launch_desc desc =
        PDL_LAUNCH_DESC(.grid = {132}, .block = {64}, .overlap = PDL_OVERLAP_AUTO);
    CHECK(copy->call.pdl_launch(copy->kernel, &desc, NULL) == PDL_SUCCESS);
    CHECK(copy->call.pdl_launch_explain(copy->kernel, &desc, &report) == PDL_SUCCESS);
    CHECK(report.overlap == granted);
    desc.grid[0] = 0;
    CHECK(copy->call.pdl_launch_explain(copy->kernel, &desc, &report) == PDL_ERROR_INVALID_GRID);
    CHECK(copy->call.pdl_last_error()->status == PDL_ERROR_INVALID_GRID);
    /* Which the copy puts together with what it asks itself for its last error. */
    CHECK(strstr(report.message, "grid.x is 0") != NULL);
}

static void set_off(const struct copy *copy, uint32_t off)
{
    const pdl_policy policy = {.size = sizeof(policy), .off = off};
    CHECK(copy->call.pdl_policy_set(&policy) == PDL_SUCCESS);
}

static void each_has_its_own_switch(void)
{
    for (int i = 0; i < count; i++) {
        set_off(&copies[i], 1);
        for (int k = 0; k < count; k += 1 + count / 5) {
            use(&copies[k], k != i);
        }
        set_off(&copies[i], 0);
    }
}

/* The program's own has seen none of the others' errors, nor they those of it. */
static void each_has_its_own_error(void)
{
    pdl_kernel *kernel = NULL;
    CHECK(pdl_last_error()->status == PDL_SUCCESS);
    CHECK(kernel_from_image(TEST_PTX, sizeof(TEST_PTX), "nothing", &kernel) == PDL_ERROR_NOT_FOUND);
    for (int i = 0; i < count; i++) {
        CHECK(copies[i].call.pdl_last_error() != pdl_last_error());
        CHECK(copies[i].call.pdl_last_error()->status == PDL_ERROR_INVALID_GRID);
    }
}

/* A node that another copy has added is one that may not wait. */
static void each_knows_its_own_nodes(void)
{
    const pdl_launch_desc desc =
        PDL_LAUNCH_DESC(.grid = {132}, .block = {64}, .overlap = PDL_OVERLAP_REQUIRE);
    CUgraph graph = NULL;
    pdl_edge edge = {.kind = PDL_EDGE_PROGRAMMATIC};
    DRIVER_CALL(cuGraphCreate, (CUgraph *, unsigned), &graph, 0);
    for (int i = 0; i < 3; i++) {
        CHECK(copies[0].call.pdl_graph_add_launch(graph, &edge, i > 0 ? 1 : 0, copies[0].kernel,
                                                  &desc, NULL, &edge.node) == PDL_SUCCESS);
    }
    CHECK(copies[1].call.pdl_graph_add_launch(graph, &edge, 1, copies[1].kernel, &desc, NULL,
                                              &edge.node) == PDL_ERROR_OVERLAP);
    DRIVER_CALL(cuGraphDestroy, (CUgraph), graph);
}

static void use_all(void)
{
    for (int i = 0; i < count; i++) {
        if (copies[i].handle != NULL) {
            use(&copies[i], true);
        }
    }
}

static void *use_in_thread(void *unused)
{
    (void)unused;
    DRIVER_CALL(cuCtxSetCurrent, (CUcontext), context);
    for (int i = 0; i < 20; i++) {
        use_all();
    }
    return NULL;
}

static void use_in_threads(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, use_in_thread, NULL) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
}

/* While threads use them, and in a child that unloads some. */
static void use_in_child(void)
{
    int status = -1;
    pthread_t thread;
    CHECK(in_namespaces || pthread_create(&thread, NULL, use_in_thread, NULL) == 0);
    const pid_t child = fork();
    if (child == 0) {
        (void)alarm(20); /* kills it */
        failures = 0;
        for (int i = 0; i < count; i += 2) {
            set_off(&copies[i], 1);
            use(&copies[i], false);
        }
        _exit(failures != 0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(in_namespaces || pthread_join(thread, NULL) == 0);
}

int main(int argc, char **argv)
{
    pdl_kernel *kernel = NULL;
    count = argc == 4 ? atoi(argv[3]) : 0;
    if (count < 2 || count > MOST) {
        return 2;
    }
    in_namespaces = strcmp(argv[1], "namespaces") == 0;
    DRIVER_CALL(cuInit, (unsigned), 0);
    DRIVER_CALL(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice), &context, 0);
    DRIVER_CALL(cuCtxSetCurrent, (CUcontext), context);
    make_copies(argv[2]);
    CHECK(kernel_from_image(TEST_PTX, sizeof(TEST_PTX), "fc2", &kernel) == PDL_SUCCESS);
    const pdl_launch_desc desc =
        PDL_LAUNCH_DESC(.grid = {132}, .block = {64}, .overlap = PDL_OVERLAP_REQUIRE);
    for (int i = 0; i < count; i++) {
        open_copy(i);
    }
    use_all();
    each_has_its_own_switch();
    each_has_its_own_error();
    if (!in_namespaces) { /* where each has a driver of its own */
        each_knows_its_own_nodes();
    }
    if (!in_namespaces) { /* whose driver has no context in other threads */
        use_in_threads();
    }
    use_in_child();
    for (int round = 0; round < 2; round++) {
        for (int i = round; i < count; i += 2) {
            close_copy(i);
        }
        use_all();
        for (int i = round; i < count; i += 2) {
            open_copy(i);
        }
        use_all();
    }
    for (int i = 0; i < count; i++) {
        close_copy(i);
        (void)unlink(paths[i]);
    }
    CHECK(pdl_launch(kernel, &desc, NULL) == PDL_SUCCESS);
    pdl_kernel_destroy(kernel);
    (void)printf("%d copies, %d failures\n", count, failures);
    return failures != 0;
}
