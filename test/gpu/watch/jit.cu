/* SPDX-License-Identifier: MIT */
/* jit: chains of kernels without PDL, in a stream and in a graph. The driver compiles all of them from PTX, which comes to it
 * in four ways: from the Runtime, and from NVRTC as a module, as a library and through the linker. Prints as JSON the time
 * per kernel, the median of batches, and a hash of the results. */
#include <algorithm>
#include <string>
#include <vector>

#include <cuda.h>
#include <dlfcn.h>
#include <nvrtc.h>

#include "programs.cuh"

static const unsigned threads = 128;
static const unsigned batch = 200; /* kernels */
static const unsigned batches = 11;

/* Each cell depends on one of another block, and the index is worth some time. */
#define STAGE(name)                                                                                \
    extern "C" __global__ void name(const unsigned *__restrict__ from, unsigned *to,               \
                                    unsigned cells)                                                \
    {                                                                                              \
        const unsigned own = blockIdx.x * blockDim.x + threadIdx.x;                                \
        unsigned other = own;                                                                      \
        for (unsigned i = 0; i < 64; i++) {                                                        \
            other = other * 1103515245u + 12345u;                                                  \
        }                                                                                          \
        unsigned value = from[(own + cells / 2 + other % 7) % cells];                              \
        for (unsigned i = 0; i < 256; i++) {                                                       \
            value = value * 1664525u + own;                                                        \
        }                                                                                          \
        to[own] = value;                                                                           \
    }
#define TEXT_(text) #text
#define TEXT(text)  TEXT_(text)

STAGE(stage_runtime)

struct driver {
    decltype(&::cuModuleLoadData) module_load;
    decltype(&::cuModuleGetFunction) module_function;
    decltype(&::cuLibraryLoadData) library_load;
    decltype(&::cuLibraryGetKernel) library_kernel;
    decltype(&::cuLinkCreate) link_create;
    decltype(&::cuLinkAddData) link_add;
    decltype(&::cuLinkComplete) link_complete;
    decltype(&::cuLaunchKernel) launch;
};

static driver cuda;

template <typename Function> static void find(void *library, Function &function, const char *name)
{
    void *const found = dlsym(library, name);
    if (found == nullptr) {
        fprintf(stderr, "no %s in libcuda\n", name);
        exit(3);
    }
    memcpy(&function, &found, sizeof(found));
}

static void find_driver()
{
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) {
        fprintf(stderr, "%s\n", dlerror());
        exit(3);
    }
    find(library, cuda.module_load, "cuModuleLoadData");
    find(library, cuda.module_function, "cuModuleGetFunction");
    find(library, cuda.library_load, "cuLibraryLoadData");
    find(library, cuda.library_kernel, "cuLibraryGetKernel");
    find(library, cuda.link_create, "cuLinkCreate_v2");
    find(library, cuda.link_add, "cuLinkAddData_v2");
    find(library, cuda.link_complete, "cuLinkComplete");
    find(library, cuda.launch, "cuLaunchKernel");
}

#define NEED(call) need((call) == 0, #call)

static void need(bool good, const char *call)
{
    if (!good) {
        fprintf(stderr, "%s failed\n", call);
        exit(3);
    }
}

static std::string compile(const char *source)
{
    nvrtcProgram program;
    const char *const options[] = {"--gpu-architecture=compute_90"};
    size_t size = 0;
    NEED(nvrtcCreateProgram(&program, source, "stage.cu", 0, nullptr, nullptr));
    NEED(nvrtcCompileProgram(program, 1, options));
    NEED(nvrtcGetPTXSize(program, &size));
    std::string text(size, '\0');
    NEED(nvrtcGetPTX(program, &text[0]));
    NEED(nvrtcDestroyProgram(&program));
    return text;
}

static CUfunction as_module()
{
    const std::string text = compile(TEXT(STAGE(stage_module)));
    CUmodule module;
    CUfunction function;
    NEED(cuda.module_load(&module, text.c_str()));
    NEED(cuda.module_function(&function, module, "stage_module"));
    return function;
}

static CUfunction as_library()
{
    static const std::string text = compile(TEXT(STAGE(stage_library)));
    CUlibraryOption option = CU_LIBRARY_BINARY_IS_PRESERVED;
    CUlibrary library;
    CUkernel kernel;
    NEED(cuda.library_load(&library, text.c_str(), nullptr, nullptr, 0, &option, nullptr, 1));
    NEED(cuda.library_kernel(&kernel, library, "stage_library"));
    return reinterpret_cast<CUfunction>(kernel);
}

static CUfunction linked()
{
    std::string text = compile(TEXT(STAGE(stage_linked)));
    CUlinkState state;
    CUmodule module;
    CUfunction function;
    void *cubin = nullptr;
    size_t size = 0;
    NEED(cuda.link_create(0, nullptr, nullptr, &state));
    NEED(cuda.link_add(state, CU_JIT_INPUT_PTX, &text[0], text.size(), "stage", 0, nullptr,
                       nullptr));
    NEED(cuda.link_complete(state, &cubin, &size));
    NEED(cuda.module_load(&module, cubin));
    NEED(cuda.module_function(&function, module, "stage_linked"));
    return function;
}

static unsigned *buffers[2];
static unsigned blocks;

static void launch_batch(CUfunction function, cudaStream_t stream)
{
    unsigned cells = blocks * threads;
    for (unsigned i = 0; i < batch; i++) {
        const unsigned *from = buffers[i % 2];
        unsigned *to = buffers[(i + 1) % 2];
        void *arguments[] = {&from, &to, &cells};
        if (function == nullptr) {
            stage_runtime<<<blocks, threads, 0, stream>>>(from, to, cells);
        } else {
            NEED(cuda.launch(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr));
        }
    }
    CHECK(cudaGetLastError());
}

static uint64_t hash_results()
{
    std::vector<unsigned> cells(blocks * threads);
    CHECK(cudaMemcpy(cells.data(), buffers[0], cells.size() * sizeof(cells[0]),
                     cudaMemcpyDeviceToHost));
    uint64_t hash = 14695981039346656037ull; /* FNV-1a */
    for (const unsigned cell : cells) {
        hash = (hash ^ cell) * 1099511628211ull;
    }
    return hash;
}

static void run(const char *way, CUfunction function, bool in_graph, bool is_last)
{
    cudaStream_t stream;
    cudaEvent_t begin, end;
    cudaGraphExec_t executable = nullptr;
    gate doors;
    std::vector<float> times;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    for (unsigned *const buffer : buffers) {
        CHECK(cudaMemset(buffer, 0, blocks * threads * sizeof(*buffer)));
    }
    CHECK(cudaDeviceSynchronize());
    if (in_graph) {
        cudaGraph_t graph = nullptr;
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        launch_batch(function, stream);
        CHECK(cudaStreamEndCapture(stream, &graph));
        CHECK(cudaGraphInstantiate(&executable, graph, 0));
        CHECK(cudaGraphDestroy(graph));
    }
    for (unsigned i = 0; i < batches; i++) {
        doors.close(stream);
        CHECK(cudaEventRecord(begin, stream));
        if (in_graph) {
            CHECK(cudaGraphLaunch(executable, stream));
        } else {
            launch_batch(function, stream);
        }
        CHECK(cudaEventRecord(end, stream));
        doors.open();
        CHECK(cudaStreamSynchronize(stream));
        float ms = 0;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        times.push_back(ms * 1000 / batch);
    }
    std::sort(times.begin(), times.end());
    printf("\"%s %s\": {\"us_per_kernel\": %.3f, \"results\": \"%016llx\"}%s", way,
           in_graph ? "graph" : "stream", times[batches / 2],
           static_cast<unsigned long long>(hash_results()), is_last ? "" : ", ");
}

int main()
{
    need_device();
    find_driver();
    blocks = static_cast<unsigned>(sm_count());
    for (unsigned *&buffer : buffers) {
        CHECK(cudaMalloc(&buffer, blocks * threads * sizeof(*buffer)));
    }
    const struct {
        const char *name;
        CUfunction function;
    } ways[] = {{"runtime", nullptr},
                {"module", as_module()},
                {"library", as_library()},
                {"linked", linked()}};
    printf("{\"program\": \"jit\", \"ways\": {");
    for (unsigned i = 0; i < 8; i++) {
        run(ways[i / 2].name, ways[i / 2].function, i % 2 != 0, i == 7);
    }
    printf("}}\n");
    return 0;
}
