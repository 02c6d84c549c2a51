/* SPDX-License-Identifier: MIT */
/* What a launch costs the host through libpdl and raw, in one run: nanoseconds a launch, medians of
 * batches that take turns. The stream is drained between batches, so that none waits for room in
 * the queue. */
#include <cstdint>
#include <cstring>
#include <ctime>
#include <random>
#include <string>

#include <cuda.h>
#include <dlfcn.h>
#include <pdl/cudart.h>
#include <pdl/device.cuh>

#include "bench.cuh"

static __global__ void empty(const float *, const float *, float *)
{
    PDL_WAIT();
}

/* What the launches share: set up once, as a program would. */
struct launch_setup {
    cudaStream_t stream = nullptr;
    cudaFunction_t function = nullptr;
    decltype(&cuLaunchKernelEx) launch_function = nullptr;
    pdl_kernel *from_symbol = nullptr;
    pdl_kernel *from_function = nullptr;
    const float *x = nullptr;
    const float *y = nullptr;
    float *z = nullptr;
};

static launch_setup setup;

static pdl_launch_desc make_desc(bool overlap)
{
    return pdl_launch_desc_make(1, 32, 0, setup.stream,
                                overlap ? PDL_OVERLAP_AUTO : PDL_OVERLAP_NONE);
}

static void raw_runtime(int count, bool overlap)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = 1;
    config.blockDim = 32;
    config.stream = setup.stream;
    config.attrs = overlap ? &attribute : nullptr;
    config.numAttrs = overlap ? 1 : 0;
    for (int i = 0; i < count; i++) {
        void *args[] = {&setup.x, &setup.y, &setup.z};
        CHECK(cudaLaunchKernelExC(&config, reinterpret_cast<const void *>(empty), args));
    }
}

static void pdl_symbol(int count, bool overlap)
{
    const pdl_launch_desc desc = make_desc(overlap);
    for (int i = 0; i < count; i++) {
        CHECK(pdl_launch(setup.from_symbol, &desc, PDL_ARGS(setup.x, setup.y, setup.z)));
    }
}

static void pdl_typed(int count, bool overlap)
{
    const pdl_launch_desc desc = make_desc(overlap);
    for (int i = 0; i < count; i++) {
        CHECK(pdl_launch_kernel(desc, empty, setup.x, setup.y, setup.z));
    }
}

static void raw_driver(int count, bool overlap)
{
    CUlaunchAttribute attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config = {};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 32;
    config.blockDimY = config.blockDimZ = 1;
    config.hStream = setup.stream;
    config.attrs = overlap ? &attribute : nullptr;
    config.numAttrs = overlap ? 1 : 0;
    for (int i = 0; i < count; i++) {
        void *args[] = {&setup.x, &setup.y, &setup.z};
        if (setup.launch_function(&config, setup.function, args, nullptr) != CUDA_SUCCESS) {
            std::fprintf(stderr, "cuLaunchKernelEx failed\n");
            std::exit(1);
        }
    }
}

static void pdl_function(int count, bool overlap)
{
    const pdl_launch_desc desc = make_desc(overlap);
    for (int i = 0; i < count; i++) {
        CHECK(pdl_launch(setup.from_function, &desc, PDL_ARGS(setup.x, setup.y, setup.z)));
    }
}

struct path {
    const char *key;
    const char *name;
    void (*launch)(int count, bool overlap);
    bool overlap;
    int raw; /* the path it is compared with, or its own index */
};

static const path paths[] = {
    {"raw_runtime_pdl", "cudaLaunchKernelExC, PDL attribute", raw_runtime, true, 0},
    {"pdl_symbol_auto", "pdl_launch, symbol, AUTO", pdl_symbol, true, 0},
    {"pdl_typed_auto", "pdl_launch_kernel, AUTO", pdl_typed, true, 0},
    {"raw_driver_pdl", "cuLaunchKernelEx, PDL attribute", raw_driver, true, 3},
    {"pdl_function_auto", "pdl_launch, CUfunction, AUTO", pdl_function, true, 3},
    {"raw_runtime_plain", "cudaLaunchKernelExC, no attributes", raw_runtime, false, 5},
    {"pdl_symbol_none", "pdl_launch, symbol, NONE", pdl_symbol, false, 5},
    {"pdl_typed_none", "pdl_launch_kernel, NONE", pdl_typed, false, 5},
    {"raw_driver_plain", "cuLaunchKernelEx, no attributes", raw_driver, false, 8},
    {"pdl_function_none", "pdl_launch, CUfunction, NONE", pdl_function, false, 8},
};
static const int path_count = sizeof(paths) / sizeof(paths[0]);

/* How many edges a captured run of three launches has that let the next kernel start early. */
static size_t captured_programmatic_edges(const path &p)
{
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t from[8], to[8];
    cudaGraphEdgeData data[8];
    size_t edges = 8;
    size_t nodes = 0;
    CHECK(cudaStreamBeginCapture(setup.stream, cudaStreamCaptureModeThreadLocal));
    p.launch(3, p.overlap);
    CHECK(cudaStreamEndCapture(setup.stream, &graph));
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
#if CUDART_VERSION >= 13000
    CHECK(cudaGraphGetEdges(graph, from, to, data, &edges));
#else
    CHECK(cudaGraphGetEdges_v2(graph, from, to, data, &edges));
#endif
    CHECK(cudaGraphDestroy(graph));
    if (nodes != 3 || edges != 2) {
        return ~static_cast<size_t>(0);
    }
    return static_cast<size_t>(std::count_if(data, data + edges, [](const cudaGraphEdgeData &edge) {
        return edge.type == cudaGraphDependencyTypeProgrammatic;
    }));
}

/* All paths ask CUDA for the same, or comparing them means nothing. */
static bool paths_launch_the_same()
{
    bool good = true;
    for (const path &p : paths) {
        const size_t expected = p.overlap ? 2 : 0;
        const size_t edges = captured_programmatic_edges(p);
        if (edges != expected) {
            std::fprintf(stderr, "%s: a captured run has %zu programmatic edges, not %zu\n", p.name,
                         edges, expected);
            good = false;
        }
    }
    return good;
}

/* The half-width interval of the median that 95% of 2000 resamplings fall into. */
static void bootstrap(const std::vector<double> &samples, double *low, double *high)
{
    std::mt19937 random(12345);
    std::uniform_int_distribution<size_t> pick(0, samples.size() - 1);
    std::vector<double> medians;
    std::vector<double> again(samples.size());
    for (int i = 0; i < 2000; i++) {
        for (double &sample : again) {
            sample = samples[pick(random)];
        }
        const auto middle = again.begin() + static_cast<std::ptrdiff_t>(again.size() / 2);
        std::nth_element(again.begin(), middle, again.end());
        medians.push_back(*middle);
    }
    *low = quantile(medians, 0.025);
    *high = quantile(medians, 0.975);
}

static void set_up()
{
    CHECK(cudaStreamCreateWithFlags(&setup.stream, cudaStreamNonBlocking));
    CHECK(cudaGetFuncBySymbol(&setup.function, reinterpret_cast<const void *>(empty)));
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    setup.launch_function = reinterpret_cast<decltype(&cuLaunchKernelEx)>(
        library != nullptr ? dlsym(library, "cuLaunchKernelEx") : nullptr);
    if (setup.launch_function == nullptr) {
        std::fprintf(stderr, "libcuda.so.1 has no cuLaunchKernelEx\n");
        std::exit(1);
    }
    CHECK(pdl_kernel_from_symbol(empty, &setup.from_symbol));
    CHECK(pdl_kernel_from_function(setup.function, &setup.from_function));
}

int main(int argc, char **argv)
{
    const char *json_path = nullptr;
    int rounds = 400;
    int launches = 200;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (std::strcmp(argv[i], "--json") == 0 && *value != '\0') {
            json_path = value;
        } else if (std::strcmp(argv[i], "--rounds") == 0 && std::atoi(value) > 0) {
            rounds = std::atoi(value);
        } else if (std::strcmp(argv[i], "--launches") == 0 && std::atoi(value) > 0) {
            launches = std::atoi(value);
        } else {
            std::fprintf(stderr,
                         "usage: pdl_launch_cost [--rounds N] [--launches N] [--json FILE]\n");
            return 2;
        }
    }
    require_device("pdl_launch_cost");
    set_up();
    for (const path &p : paths) { /* loads what is loaded on first use */
        p.launch(launches, p.overlap);
        CHECK(cudaStreamSynchronize(setup.stream));
    }
    if (!paths_launch_the_same()) {
        return 1;
    }

    std::vector<double> ns[path_count];
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < path_count; i++) {
            const int which = (round + i) % path_count;
            const path &p = paths[which];
            const double begin = now_ns();
            p.launch(launches, p.overlap);
            const double end = now_ns();
            CHECK(cudaStreamSynchronize(setup.stream));
            ns[which].push_back((end - begin) / launches);
        }
    }

    const bench_place place = find_bench_place();

    FILE *json = nullptr;
    if (json_path != nullptr && (json = std::fopen(json_path, "w")) == nullptr) {
        std::perror(json_path);
        return 1;
    }
    std::printf("%s, CUDA driver %d.%d, runtime %d.%d, %s\n", place.device.c_str(),
                place.driver_version / 1000, place.driver_version % 1000 / 10,
                CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10, place.date.c_str());
    std::printf(
        "host ns a launch (CLOCK_MONOTONIC): median of %d interleaved batches of %d (p25 to p75);"
        " against raw: median of the rounds' ratios (95%% of resamplings; p25 to p75)\n",
        rounds, launches);
    if (json != nullptr) {
        std::fprintf(json,
                     "{\"program\": \"pdl_launch_cost\", \"date\": \"%s\", \"device\": \"%s\", "
                     "\"driver\": \"%s\", \"driver_version\": %d, \"runtime_version\": %d, "
                     "\"pdl_version\": %u, \"clock\": \"CLOCK_MONOTONIC\", \"rounds\": %d, "
                     "\"launches_per_batch\": %d, \"paths\": {",
                     place.date.c_str(), place.device.c_str(), place.driver.c_str(),
                     place.driver_version, CUDART_VERSION, static_cast<unsigned>(pdl_version()),
                     rounds, launches);
    }
    bool sane = true;
    for (int i = 0; i < path_count; i++) {
        const path &p = paths[i];
        const double middle = median(ns[i]);
        sane = sane && middle > 0;
        std::printf("  %-36s %8.1f (%.1f to %.1f)", p.name, middle, quantile(ns[i], 0.25),
                    quantile(ns[i], 0.75));
        if (json != nullptr) {
            std::fprintf(json, "%s\n  \"%s\": {\"ns\": %.2f, \"p25\": %.2f, \"p75\": %.2f",
                         i ? "," : "", p.key, middle, quantile(ns[i], 0.25), quantile(ns[i], 0.75));
        }
        if (p.raw != i) {
            std::vector<double> ratios;
            double low = 0;
            double high = 0;
            for (int round = 0; round < rounds; round++) {
                const size_t at = static_cast<size_t>(round);
                ratios.push_back(ns[i][at] / ns[p.raw][at]);
            }
            bootstrap(ratios, &low, &high);
            std::printf("   x %.4f (%.4f to %.4f; %.4f to %.4f)", median(ratios), low, high,
                        quantile(ratios, 0.25), quantile(ratios, 0.75));
            if (json != nullptr) {
                std::fprintf(json,
                             ", \"against\": \"%s\", \"ratio\": %.5f, \"ratio_low\": %.5f, "
                             "\"ratio_high\": %.5f, \"ratio_p25\": %.5f, \"ratio_p75\": %.5f",
                             paths[p.raw].key, median(ratios), low, high, quantile(ratios, 0.25),
                             quantile(ratios, 0.75));
            }
        }
        std::printf("\n");
        if (json != nullptr) {
            std::fprintf(json, "}");
        }
    }
    if (json != nullptr) {
        std::fprintf(json, "}}\n");
        if (std::fclose(json) != 0) {
            std::perror(json_path);
            return 1;
        }
    }
    pdl_kernel_destroy(setup.from_function);
    pdl_kernel_destroy(setup.from_symbol);
    CHECK(cudaStreamDestroy(setup.stream));
    if (!sane) {
        std::printf("a median is not positive: the clock is of no use\n");
    }
    return sane ? 0 : 1;
}
