/* SPDX-License-Identifier: MIT */
/* jit: chains of kernels without PDL, in a stream and in a graph. The driver compiles all of them from PTX, which comes to it
 * in four ways: from the Runtime, and from NVRTC as a module, as a library and through the linker. Prints as JSON the time
 * per kernel and a hash of the results. */
#include <string>

#include <nvrtc.h>

#include "../driver_entry.h"
#include "programs.cuh"

static const unsigned threads = 128;

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
    NEED(DRIVER_ENTRY(cuModuleLoadData)(&module, text.c_str()));
    NEED(DRIVER_ENTRY(cuModuleGetFunction)(&function, module, "stage_module"));
    return function;
}

static CUfunction as_library()
{
    static const std::string text = compile(TEXT(STAGE(stage_library)));
    CUlibraryOption option = CU_LIBRARY_BINARY_IS_PRESERVED;
    CUlibrary library;
    CUkernel kernel;
    NEED(DRIVER_ENTRY(cuLibraryLoadData)(&library, text.c_str(), nullptr, nullptr, 0, &option,
                                         nullptr, 1));
    NEED(DRIVER_ENTRY(cuLibraryGetKernel)(&kernel, library, "stage_library"));
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
    NEED(DRIVER_ENTRY(cuLinkCreate)(0, nullptr, nullptr, &state));
    NEED(DRIVER_ENTRY(cuLinkAddData)(state, CU_JIT_INPUT_PTX, &text[0], text.size(), "stage", 0,
                                     nullptr, nullptr));
    NEED(DRIVER_ENTRY(cuLinkComplete)(state, &cubin, &size));
    NEED(DRIVER_ENTRY(cuModuleLoadData)(&module, cubin));
    NEED(DRIVER_ENTRY(cuModuleGetFunction)(&function, module, "stage_linked"));
    return function;
}

static unsigned *buffers[2];
static unsigned blocks;

static void launch_batch(CUfunction function, cudaStream_t stream)
{
    static const auto launch_function = DRIVER_ENTRY(cuLaunchKernel);
    unsigned cells = blocks * threads;
    for (unsigned i = 0; i < batch; i++) {
        const unsigned *from = buffers[i % 2];
        unsigned *to = buffers[(i + 1) % 2];
        void *arguments[] = {&from, &to, &cells};
        if (function == nullptr) {
            stage_runtime<<<blocks, threads, 0, stream>>>(from, to, cells);
        } else {
            NEED(launch_function(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments,
                                 nullptr));
        }
    }
    CHECK(cudaGetLastError());
}

static void run(const char *way, CUfunction function, bool in_graph, bool is_last)
{
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (unsigned *const buffer : buffers) {
        CHECK(cudaMemset(buffer, 0, blocks * threads * sizeof(*buffer)));
    }
    CHECK(cudaDeviceSynchronize());
    const double us = us_per_kernel(stream, in_graph, [=] { launch_batch(function, stream); });
    printf("\"%s %s\": {\"us_per_kernel\": %.3f, \"results\": \"%016llx\"}%s", way,
           in_graph ? "graph" : "stream", us, hash_of(buffers[0], blocks * threads),
           is_last ? "" : ", ");
}

int main()
{
    need_device();
    NEED(dlopen("libcuda.so.1", RTLD_NOW) == nullptr);
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
