/* SPDX-License-Identifier: MIT */
/* A program as users write it: the public header, the shared library, and a libcuda.so.1 found at
 * run time. It runs on the fake driver in the situation that its argument names (CMakeLists.txt
 * sets the environment) and compares the fake's log with the launches that the situation must lead
 * to. */
#include <pdl/chain.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "../cuda/from_image.h"
#include "driver_calls.h"

static int failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s is wrong; last error: %s\n", __FILE__, __LINE__,            \
                    #condition, pdl_last_error()->message);                                        \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

/* What the log should hold of launches and of what is done to graphs, in order. */
static char expected[64][512];
static int expected_count;

__attribute__((format(printf, 1, 2))) static void expect(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (expected_count == 64) {
        abort(); /* the test asks for too much */
    }
    (void)vsnprintf(expected[expected_count++], sizeof(expected[0]), format, arguments);
    va_end(arguments);
}

/* Compares, and returns how many lines of any kind the log has. */
static int check_log(void)
{
    char line[2048];
    int lines = 0;
    int launches = 0;
    const char *path = getenv("PDL_FAKE_LOG");
    FILE *log = path != NULL ? fopen(path, "r") : NULL;
    if (log == NULL) {
        fprintf(stderr, "PDL_FAKE_LOG must name the fake driver's log\n");
        exit(2);
    }
    while (fgets(line, sizeof(line), log) != NULL) {
        lines++;
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "cuLaunch", 8) != 0 &&
            (strncmp(line, "cuGraph", 7) != 0 || strstr(line, "Get") != NULL)) {
            continue;
        }
        if (launches >= expected_count || strcmp(line, expected[launches]) != 0) {
            fprintf(stderr, "launch %d is   %s\nand should be %s\n", launches, line,
                    launches < expected_count ? expected[launches] : "none");
            failures++;
        }
        launches++;
    }
    (void)fclose(log);
    if (launches != expected_count) {
        fprintf(stderr, "%d launches, %d expected\n", launches, expected_count);
        failures++;
    }
    return lines;
}

/* The situations. */
struct scenario {
    const char *name;
    pdl_status loading;
    pdl_reason reason;
    int version;
    int devices;
};

static const struct scenario scenarios[] = {
    {"granted", PDL_SUCCESS, PDL_REASON_GRANTED, 13000, 1},
    {"several_devices", PDL_SUCCESS, PDL_REASON_GRANTED, 13000, 2},
    {"disabled", PDL_SUCCESS, PDL_REASON_DISABLED, 13000, 1},
    {"excluded", PDL_SUCCESS, PDL_REASON_EXCLUDED, 13000, 1},
    {"old_device", PDL_SUCCESS, PDL_REASON_DEVICE, 13000, 1},
    {"old_code", PDL_SUCCESS, PDL_REASON_CODE, 13000, 1},
    {"old_driver", PDL_SUCCESS, PDL_REASON_GRANTED, 12020, 1},
    {"oldest_driver_with_chains", PDL_SUCCESS, PDL_REASON_GRANTED, 12040, 1},
    {"no_device", PDL_ERROR_NO_DEVICE, PDL_REASON_GRANTED, 0, 0},
    {"too_old_driver", PDL_ERROR_DRIVER_TOO_OLD, PDL_REASON_GRANTED, 0, 0},
};

static void run_without_a_driver(const struct scenario *scenario)
{
    pdl_kernel *kernel = NULL;
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    for (int i = 0; i < 2; i++) {
        CHECK(pdl_device_get(0, &info) == scenario->loading);
        CHECK(pdl_last_error()->status == (int32_t)scenario->loading);
        CHECK(kernel_from_image(TEST_PTX, sizeof(TEST_PTX), "fc1", &kernel) == scenario->loading);
    }
    CHECK(kernel == NULL);
}

/* Builds a fork and a join, replays it, changes it, and replays it again. */
static void run_chain(const struct scenario *scenario, pdl_kernel *fc1, CUstream stream)
{
    const char *kind = scenario->reason == PDL_REASON_GRANTED ? "programmatic" : "full";
    const unsigned long long handle = (unsigned long long)(uintptr_t)stream;
    const size_t sizes[] = {sizeof(uint64_t), sizeof(uint32_t)};
    uint64_t pointer = 0x1234500000000;
    uint32_t number = 7;
    pdl_chain *chain = NULL;
    pdl_kernel *step = NULL;
    CUgraph graph = NULL;
    pdl_census census = PDL_CENSUS_INIT;

    if (scenario->version < 12040) {
        CHECK(pdl_chain_create(NULL, &chain) == PDL_ERROR_NOT_SUPPORTED);
        return;
    }
    CHECK(kernel_from_image(TEST_PTX, sizeof(TEST_PTX), "step", &step) == PDL_SUCCESS);
    CHECK(pdl_chain_create(NULL, &chain) == PDL_SUCCESS);
    const pdl_launch_desc desc =
        PDL_LAUNCH_DESC(.grid = {132}, .block = {64}, .overlap = PDL_OVERLAP_AUTO);
    CHECK(pdl_chain_add(chain, fc1, &desc, NULL, NULL, 0, NULL) == PDL_SUCCESS);
    for (int i = 0; i < 3; i++, number++) {
        CHECK(pdl_chain_add(chain, step, &desc, PDL_ARGS(pointer, number), i > 0 ? sizes : NULL,
                            i > 0 ? 2 : 0, NULL) == PDL_SUCCESS);
    }
    CHECK(pdl_chain_add(chain, step, &desc, PDL_ARGS(pointer, number), sizes, 1, NULL) ==
          PDL_ERROR_ARGUMENT_SIZE);
    CHECK(pdl_chain_add_dependency(chain, 2, 0) == PDL_SUCCESS);
    CHECK(pdl_chain_add_dependency(chain, 3, 1) == PDL_SUCCESS);
    CHECK(pdl_chain_add_dependency(chain, 3, 2) == PDL_SUCCESS);
    CHECK(pdl_chain_add_dependency(chain, 0, 3) == PDL_ERROR_CYCLE);

    expect("cuGraphCreate flags=0 graph=0");
    expect("cuGraphAddNode graph=0 node=0 after=[] f=fc1 grid=132,1,1 block=64,1,1 smem=0 args=[]");
    expect("cuGraphAddNode graph=0 node=1 after=[0 %s] f=step grid=132,1,1 block=64,1,1 smem=0 "
           "args=[0x1234500000000, 0x7]",
           kind);
    expect("cuGraphAddNode graph=0 node=2 after=[0 %s] f=step grid=132,1,1 block=64,1,1 smem=0 "
           "args=[0x1234500000000, 0x8]",
           kind);
    expect("cuGraphAddNode graph=0 node=3 after=[1 %s, 2 %s] f=step grid=132,1,1 block=64,1,1 "
           "smem=0 args=[0x1234500000000, 0x9]",
           kind, kind);
    expect("cuGraphInstantiateWithFlags graph=0 flags=0 exec=0");
    CHECK(pdl_chain_build(chain) == PDL_SUCCESS);

    number = 100;
    expect("cuGraphExecKernelNodeSetParams exec=0 node=2 result=0 f=step grid=132,1,1 "
           "block=64,1,1 smem=0 args=[0x1234500000000, 0x64]");
    CHECK(pdl_chain_set_args(chain, 2, PDL_ARGS(pointer, number)) == PDL_SUCCESS);
    pdl_launch_desc smaller = desc;
    smaller.grid[0] = 5;
    expect("cuGraphExecKernelNodeSetParams exec=0 node=1 result=0 f=step grid=5,1,1 "
           "block=64,1,1 smem=0 args=[0x1234500000000, 0x7]");
    CHECK(pdl_chain_set_desc(chain, 1, &smaller) == PDL_SUCCESS);
    smaller.priority = -1;
    CHECK(pdl_chain_set_desc(chain, 1, &smaller) == PDL_ERROR_REBUILD);

    expect("cuGraphLaunch exec=0 stream=0x%llx nodes=4", handle);
    expect("cuGraphLaunch f=fc1 grid=132,1,1 block=64,1,1 smem=0 args=[]");
    expect("cuGraphLaunch f=step grid=5,1,1 block=64,1,1 smem=0 args=[0x1234500000000, 0x7]");
    expect("cuGraphLaunch f=step grid=132,1,1 block=64,1,1 smem=0 args=[0x1234500000000, 0x64]");
    expect("cuGraphLaunch f=step grid=132,1,1 block=64,1,1 smem=0 args=[0x1234500000000, 0x9]");
    CHECK(pdl_chain_launch(chain, stream) == PDL_SUCCESS);
    CHECK(pdl_chain_graph(chain, &graph) == PDL_SUCCESS);
    CHECK(pdl_graph_census(graph, &census) == PDL_SUCCESS);
    CHECK(census.kernels == 4 && census.edges == 4);
    CHECK(census.programmatic == (scenario->reason == PDL_REASON_GRANTED ? 4u : 0u));
    expect("cuGraphExecDestroy exec=0");
    expect("cuGraphDestroy graph=0");
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(step);
}

/* Launches both kernels in every way that a log can show. */
static void run_launches(const struct scenario *scenario, pdl_kernel *fc1, pdl_kernel *fc2,
                         CUstream stream)
{
    const bool granted = scenario->reason == PDL_REASON_GRANTED;
    const unsigned long long handle = (unsigned long long)(uintptr_t)stream;
    const char *overlap = granted ? "PROGRAMMATIC_STREAM_SERIALIZATION=1" : "";
    CUevent trigger = NULL;
    CUevent launch = NULL;
    int argument = 0;

    expect("cuLaunchKernelEx f=fc1 grid=132,1,1 block=256,1,1 smem=0 stream=0x1 attrs=[]");
    CHECK(pdl_launch(fc1, &PDL_LAUNCH_DESC(.grid = {132}, .block = {256}), PDL_ARGS(argument)) ==
          PDL_SUCCESS);
    expect("cuLaunchKernelEx f=fc2 grid=3,2,1 block=8,4,2 smem=1024 stream=0x%llx attrs=[%s]",
           handle, overlap);
    CHECK(pdl_launch(fc2,
                     &PDL_LAUNCH_DESC(.grid = {3, 2}, .block = {8, 4, 2},
                                      .dynamic_shared_memory = 1024, .stream = stream,
                                      .overlap = PDL_OVERLAP_AUTO),
                     PDL_ARGS(argument)) == PDL_SUCCESS);
    if (granted) {
        expect("cuLaunchKernelEx f=fc1 grid=1,1,1 block=1,1,1 smem=0 stream=0x2 attrs=[%s]",
               overlap);
    }
    pdl_launch_desc per_thread =
        PDL_LAUNCH_DESC(.grid = {1}, .block = {1}, .overlap = PDL_OVERLAP_REQUIRE);
    per_thread.default_stream = PDL_DEFAULT_STREAM_PER_THREAD;
    CHECK(pdl_launch(fc1, &per_thread, NULL) == (granted ? PDL_SUCCESS : PDL_ERROR_OVERLAP));

    DRIVER_CALL(cuEventCreate, (CUevent *, unsigned), &trigger, CU_EVENT_DISABLE_TIMING);
    DRIVER_CALL(cuEventCreate, (CUevent *, unsigned), &launch, CU_EVENT_DISABLE_TIMING);
    expect("cuLaunchKernelEx f=fc2 grid=4,1,1 block=32,1,1 smem=0 stream=0x1 "
           "attrs=[PROGRAMMATIC_EVENT={event=%p,flags=0,trigger_at_block_start=1}, PRIORITY=-2]",
           (void *)trigger);
    CHECK(pdl_launch(fc2,
                     &PDL_LAUNCH_DESC(.grid = {4}, .block = {32}, .trigger_event = trigger,
                                      .trigger_at_block_start = 1, .priority = -2),
                     NULL) == PDL_SUCCESS);
    if (scenario->version >= 12030) {
        expect("cuLaunchKernelEx f=fc1 grid=4,1,1 block=32,1,1 smem=0 stream=0x1 "
               "attrs=[LAUNCH_COMPLETION_EVENT={event=%p,flags=0}]",
               (void *)launch);
    }
    CHECK(pdl_launch(fc1, &PDL_LAUNCH_DESC(.grid = {4}, .block = {32}, .launch_event = launch),
                     NULL) == (scenario->version >= 12030 ? PDL_SUCCESS : PDL_ERROR_NOT_SUPPORTED));
    DRIVER_CALL(cuEventDestroy_v2, (CUevent), trigger);
    DRIVER_CALL(cuEventDestroy_v2, (CUevent), launch);

    /* An event with timing, as the real driver refuses it. */
    DRIVER_CALL(cuEventCreate, (CUevent *, unsigned), &trigger, 0);
    expect("cuLaunchKernelEx result=801");
    CHECK(pdl_launch(fc1, &PDL_LAUNCH_DESC(.grid = {4}, .block = {32}, .trigger_event = trigger),
                     NULL) == PDL_ERROR_EVENT);
    DRIVER_CALL(cuEventDestroy_v2, (CUevent), trigger);

    expect("cuLaunchKernelEx f=fc1 grid=264,1,1 block=1024,1,1 smem=0 stream=0x1 "
           "attrs=[COOPERATIVE=1]");
    CHECK(pdl_launch(fc1,
                     &PDL_LAUNCH_DESC(.grid = {264}, .block = {1024}, .cooperative = 1,
                                      .overlap = PDL_OVERLAP_AUTO),
                     NULL) == PDL_SUCCESS);
    CHECK(pdl_launch(fc1, &PDL_LAUNCH_DESC(.grid = {265}, .block = {1024}, .cooperative = 1),
                     NULL) == PDL_ERROR_COOPERATIVE_TOO_LARGE);
    CHECK(pdl_launch(fc1, &PDL_LAUNCH_DESC(.grid = {1}, .block = {1025}), NULL) ==
          PDL_ERROR_INVALID_BLOCK);

    CHECK(pdl_launch(fc1,
                     &PDL_LAUNCH_DESC(.grid = {1}, .block = {1}, .dynamic_shared_memory = 65536),
                     NULL) == PDL_ERROR_SHARED_MEMORY);
    CHECK(pdl_kernel_set_attribute(fc1, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY, 65536) ==
          PDL_SUCCESS);
    expect("cuLaunchKernelEx f=fc1 grid=1,1,1 block=1,1,1 smem=65536 stream=0x1 attrs=[]");
    CHECK(pdl_launch(fc1,
                     &PDL_LAUNCH_DESC(.grid = {1}, .block = {1}, .dynamic_shared_memory = 65536),
                     NULL) == PDL_SUCCESS);

    /* From now on a launch is one line of the log: one call of the driver (and one for the device
     * where there are several and the kernel serves all). */
    const int before = check_log();
    for (int i = 0; i < 5; i++) {
        expect("cuLaunchKernelEx f=fc2 grid=132,1,1 block=256,1,1 smem=0 stream=0x%llx attrs=[%s]",
               handle, overlap);
        CHECK(pdl_launch(fc2,
                         &PDL_LAUNCH_DESC(.grid = {132}, .block = {256}, .stream = stream,
                                          .overlap = PDL_OVERLAP_AUTO),
                         PDL_ARGS(argument)) == PDL_SUCCESS);
    }
    CHECK(check_log() - before == 5);
}

static void run(const struct scenario *scenario)
{
    CUcontext context = NULL;
    CUmodule module = NULL;
    CUfunction function = NULL;
    CUstream stream = NULL;
    CUdeviceptr memory = 0;
    int there_and_back[2] = {12345, 0};
    pdl_kernel *fc1 = NULL;
    pdl_kernel *fc2 = NULL;
    pdl_kernel *none = NULL;
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    pdl_kernel_info kernel_info = PDL_KERNEL_INFO_INIT;

    CHECK(pdl_device_get(scenario->devices, &info) == PDL_ERROR_INVALID_DEVICE);
    CHECK(pdl_device_get(scenario->devices - 1, &info) == PDL_SUCCESS);
    CHECK(strcmp(info.name, "libpdl fake device (records calls, runs nothing)") == 0);
    CHECK(info.multiprocessor_count == 132);

    CHECK(kernel_from_image(TEST_PTX, sizeof(TEST_PTX), "fc3", &none) == PDL_ERROR_NOT_FOUND);
    CHECK(kernel_from_image(TEST_PTX, sizeof(TEST_PTX), "fc", &none) == PDL_ERROR_NOT_FOUND);
    CHECK(kernel_from_image(TEST_PTX, sizeof(TEST_PTX), "fc1", &fc1) == PDL_SUCCESS);
    CHECK(pdl_launch(fc1, &PDL_LAUNCH_DESC(.grid = {1}, .block = {1}), NULL) ==
          PDL_ERROR_NO_CONTEXT);
    if (scenario->devices == 1) {
        expect("cuLaunchKernelEx result=201");
    }
    CHECK(pdl_kernel_get(fc1, 0, &kernel_info) == PDL_SUCCESS);
    CHECK(kernel_info.overlap_reason == (uint32_t)scenario->reason);

    DRIVER_CALL(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice), &context, 0);
    DRIVER_CALL(cuCtxSetCurrent, (CUcontext), context);
    DRIVER_CALL(cuModuleLoadData, (CUmodule *, const void *), &module, TEST_PTX);
    DRIVER_CALL(cuModuleGetFunction, (CUfunction *, CUmodule, const char *), &function, module,
                "fc2");
    DRIVER_CALL(cuStreamCreate, (CUstream *, unsigned), &stream, 0);
    DRIVER_CALL(cuMemAlloc_v2, (CUdeviceptr *, size_t), &memory, sizeof(int));
    DRIVER_CALL(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t), memory, &there_and_back[0],
                sizeof(int));
    DRIVER_CALL(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t), &there_and_back[1], memory,
                sizeof(int));
    CHECK(there_and_back[1] == 12345);
    CHECK(kernel_from_function_image(function, TEST_PTX, sizeof(TEST_PTX), &fc2) == PDL_SUCCESS);
    if (scenario->version < 12030) { /* the driver does not tell which kernel of the image it is */
        CHECK(pdl_kernel_get(fc2, 0, &kernel_info) == PDL_SUCCESS);
        CHECK(kernel_info.waits == PDL_UNKNOWN && kernel_info.unknown_why != NULL);
        CHECK(pdl_kernel_declare(fc2, PDL_YES, PDL_UNKNOWN) == PDL_SUCCESS);
    }

    if (failures == 0) {
        run_launches(scenario, fc1, fc2, stream);
    }
    if (failures == 0) {
        run_chain(scenario, fc1, stream);
    }

    pdl_kernel_destroy(fc1);
    pdl_kernel_destroy(fc2);
    DRIVER_CALL(cuMemFree_v2, (CUdeviceptr), memory);
    DRIVER_CALL(cuStreamDestroy_v2, (CUstream), stream);
    DRIVER_CALL(cuModuleUnload, (CUmodule), module);
    DRIVER_CALL(cuDevicePrimaryCtxRelease_v2, (CUdevice), 0);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
        const struct scenario *scenario = &scenarios[i];
        if (argc == 2 && strcmp(argv[1], scenario->name) == 0) {
            if (scenario->loading == PDL_SUCCESS) {
                run(scenario);
            } else {
                run_without_a_driver(scenario);
            }
            (void)check_log();
            return failures != 0;
        }
    }
    fprintf(stderr, "usage: fake_consumer SITUATION, with the fake driver in LD_LIBRARY_PATH\n");
    return 2;
}
