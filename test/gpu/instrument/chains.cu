/* SPDX-License-Identifier: MIT */
/* Launches kernels of any signature in chains, for proof.py: produce(), the kernel, produce(), the
 * kernel, and so on. produce() triggers at its start, waits, hashes what the kernel left, sleeps,
 * and writes new inputs. It overwrites the kernel's outputs too, so that a kernel that runs too
 * early either reads old inputs or has its results overwritten.
 *
 * Reads commands from standard input, one a line, and answers each `run` with one line of JSON:
 *
 *     kernel NAME                          forget everything about the kernel before
 *     shape BLOCKS THREADS SHARED_BYTES
 *     param HEX[@OFFSET=BUFFER,...]        bytes, with the addresses of buffers put in
 *     buffer CONTENT CONSTANT TARGET       TARGET: the buffer that pointers in it point to, or -1
 *     global NAME CONTENT                  a variable of the module that produce() writes
 *     run LABEL MODE CONSTANTS ROUNDS REFERENCE CUBIN
 *
 * MODE is one of none (no kernel between), plain, disturbed (plain, beside another load), scribbled
 * (plain, with garbage in shared memory), overlap, and graph (overlap, captured). CONSTANTS is 1 if produce() leaves constant buffers alone.
 * REFERENCE is the label of the run to compare with, or -. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <cuda_runtime.h>

#include "../driver_entry.h"
#include "../in_time.cuh"

typedef unsigned long long u64;

constexpr unsigned most_rounds = 512;
constexpr unsigned rounds_per_graph = 10;
constexpr unsigned most_ranges = 16;
constexpr unsigned buffer_words = 16384;        /* what produce() writes and hashes */
constexpr size_t buffer_stride = 256 * 1024;    /* kernels may go beyond, into the next one */
constexpr size_t guard_bytes = 4 * 1024 * 1024; /* in front of the buffers and behind them */
constexpr size_t region_bytes = 2 * guard_bytes + most_ranges * buffer_stride;
constexpr unsigned stamp_count = 1024; /* as in proof.py */
constexpr unsigned disturber_words = 16 * 1024 * 1024;

enum content { F32, F16, BF16, F64, I32, I8, I64, POINTER, CONTENT_COUNT };
static const char *const content_names[] = {"f32", "f16", "bf16", "f64", "i32", "i8", "i64", "ptr"};

/* Words that produce() writes and hashes. */
struct range {
    unsigned *words;
    unsigned count;
    int content;
    int written;
    u64 target;
};

struct ranges {
    range at[most_ranges];
    unsigned count;
};

/* ---- device ------------------------------------------------------------------------------------ */

__host__ __device__ __forceinline__ u64 mix(u64 value)
{
    value += 0x9e3779b97f4a7c15ull;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
    return value ^ (value >> 31);
}

/* Word `i` of range `number` in a round. Integers are small, as kernels use them as indices. */
__device__ unsigned new_word(const range &range, unsigned number, unsigned i, unsigned round)
{
    const bool wide = range.content == F64 || range.content == I64 || range.content == POINTER;
    const u64 place = (u64)number << 40 | (u64)round << 24 | (wide ? i >> 1 : i);
    const u64 random = mix(place);
    const bool high = (i & 1) != 0;
    switch (range.content) {
    case F32: /* all floating-point numbers are at least 0.5 and below 1 */
        return 0x3f000000u | (unsigned)(random & 0x7fffffu);
    case F16:
        return 0x38003800u | (unsigned)(random & 0x03ff03ffu);
    case BF16:
        return 0x3f003f00u | (unsigned)(random & 0x007f007fu);
    case F64:
        return high ? 0x3fe00000u | (unsigned)(random & 0xfffffu) : (unsigned)(random >> 32);
    case I8:
        return (unsigned)(random & 0x0f0f0f0fu);
    case I64:
        return high ? 0u : (unsigned)(random & 15u);
    case POINTER: {
        const u64 pointer = range.target + (random & 15u) * 256;
        return (unsigned)(high ? pointer >> 32 : pointer);
    }
    default:
        return (unsigned)(random & 15u);
    }
}

/* Each cell is hashed and written by the same thread, so that blocks need not meet. */
__global__ void __launch_bounds__(256)
    produce(const ranges where, u64 *hashes, u64 *ends, const unsigned *base, unsigned offset,
            unsigned sleep_ns)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    const unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned threads = gridDim.x * blockDim.x;
    const unsigned round = *(const volatile unsigned *)base + offset;
    u64 sum = 0;
    for (unsigned number = 0; number < where.count && round > 0; number++) {
        const volatile unsigned *words = where.at[number].words;
        for (unsigned i = own; i < where.at[number].count; i += threads) {
            sum += mix((u64)number << 56 ^ (u64)i << 32 ^ words[i]);
        }
    }
    for (int lane = 16; lane > 0; lane /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, lane);
    }
    if (threadIdx.x % 32 == 0 && round > 0) {
        atomicAdd(&hashes[round - 1], sum);
    }
    spin(sleep_ns);
    for (unsigned number = 0; number < where.count; number++) {
        const range &range = where.at[number];
        volatile unsigned *words = range.words;
        for (unsigned i = own; i < range.count && range.written; i += threads) {
            words[i] = new_word(range, number, i, round);
        }
    }
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
        atomicMax(&ends[round], device_clock());
    }
}

/* Keeps the memory busy. */
__global__ void disturb(const unsigned *words, unsigned *sink, unsigned ns)
{
    const u64 begin = device_clock();
    unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) * 32, sum = 0;
    while (in_time(begin, ns)) {
        sum += ((const volatile unsigned *)words)[at % disturber_words];
        at += 37 * 32;
    }
    if (sum == 1) { /* not so: the words are 0 */
        *sink = sum;
    }
}

/* Fills shared memory, which kernels may read before they write it. */
__global__ void scribble(unsigned round, unsigned words)
{
    extern __shared__ unsigned tile[];
    for (unsigned i = threadIdx.x; i < words; i += blockDim.x) {
        static_cast<volatile unsigned *>(tile)[i] = (unsigned)mix((u64)round << 32 | i);
    }
}

__global__ void clock_step(unsigned *step)
{
    u64 least = ~0ull, last = device_clock();
    for (int i = 0; i < 20000; i++) {
        const u64 now = device_clock();
        if (now != last && now - last < least) {
            least = now - last;
        }
        last = now;
    }
    *step = (unsigned)least;
}

/* ---- answers ----------------------------------------------------------------------------------- */

static FILE *answers;

static void answer(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(answers, format, arguments);
    va_end(arguments);
    fputc('\n', answers);
    fflush(answers);
}

/* proof.py starts another process. */
[[noreturn]] static void fail(const char *kind, const char *what, const char *why)
{
    answer("{\"error\": \"%s\", \"message\": \"%s: %s\"}", kind, what, why);
    _exit(3);
}

static void check_runtime(cudaError_t error, const char *call)
{
    if (error != cudaSuccess) {
        fail("fault", call, cudaGetErrorName(error));
    }
}
#define CHECK(call) check_runtime((call), #call)

static void check_driver(CUresult result, const char *call)
{
    if (result != CUDA_SUCCESS) {
        fail("fault", call, std::to_string((int)result).c_str());
    }
}
#define CHECK_DRIVER(call) check_driver((call), #call)

/* ---- what is launched -------------------------------------------------------------------------- */

static struct {
    cudaStream_t stream, other;
    char *region;
    u64 *hashes, *ends;
    unsigned *base, *load, *step;
    unsigned blocks;       /* of produce() */
    unsigned shared_bytes; /* the most that a block can have */
    double patience;       /* seconds until a chain counts as hanging */
} device;

struct parameter {
    std::vector<unsigned char> bytes;
    std::vector<std::pair<unsigned, unsigned>> addresses; /* offset, buffer */
};

struct buffer {
    int content;
    bool constant;
    int target;
};

struct variable {
    std::string name;
    int content;
};

struct kernel_job {
    std::string name;
    unsigned blocks = 1, threads = 32, shared_bytes = 0;
    std::vector<parameter> parameters;
    std::vector<buffer> buffers;
    std::vector<variable> variables;
    std::map<std::string, std::vector<u64>> logs; /* hashes by the label of the run */
};

struct loaded {
    CUmodule module;
    CUfunction function;
    ranges where;
    std::vector<void *> arguments;
};

static char *buffer_address(unsigned number)
{
    return device.region + guard_bytes + number * buffer_stride;
}

static const std::string &file_text(const std::string &path)
{
    static std::map<std::string, std::string> files;
    std::string &text = files[path];
    if (text.empty()) {
        std::ifstream file(path, std::ios::binary);
        text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
        if (text.empty()) {
            fail("plan", path.c_str(), "cannot read");
        }
    }
    return text;
}

/* Loads the module anew, so that its variables are as at the start. */
static loaded load(kernel_job &job, const std::string &cubin, bool constants)
{
    loaded result = {};
    CHECK_DRIVER(DRIVER_ENTRY(cuModuleLoadData)(&result.module, file_text(cubin).data()));
    CHECK_DRIVER(
        DRIVER_ENTRY(cuModuleGetFunction)(&result.function, result.module, job.name.c_str()));
    for (unsigned i = 0; i < job.buffers.size(); i++) {
        const buffer &from = job.buffers[i];
        range &to = result.where.at[result.where.count++];
        to.words = reinterpret_cast<unsigned *>(buffer_address(i));
        to.count = buffer_words;
        to.content = from.content;
        to.written = !(constants && from.constant);
        to.target = from.target < 0 ? 0 : reinterpret_cast<u64>(buffer_address(from.target));
    }
    for (const variable &from : job.variables) {
        CUdeviceptr address = 0;
        size_t bytes = 0;
        range &to = result.where.at[result.where.count++]; /* none: no words */
        if (DRIVER_ENTRY(cuModuleGetGlobal)(&address, &bytes, result.module, from.name.c_str()) ==
            CUDA_SUCCESS) {
            to.words = reinterpret_cast<unsigned *>(address);
            to.count = (unsigned)(bytes / sizeof(unsigned));
            to.content = from.content;
            to.written = 1;
        }
    }
    for (parameter &parameter : job.parameters) {
        for (const auto &address : parameter.addresses) {
            const u64 value = reinterpret_cast<u64>(buffer_address(address.second));
            memcpy(&parameter.bytes[address.first], &value, sizeof(value));
        }
        result.arguments.push_back(parameter.bytes.data());
    }
    return result;
}

/* Some of the sleeps are shorter than the launch of a kernel, some much longer. */
static unsigned sleep_of(unsigned round)
{
    return 1000 + (unsigned)(mix(round) % 38000);
}

static void launch_producer(const ranges &where, unsigned offset, unsigned sleep_ns, bool overlap)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(device.blocks);
    config.blockDim = dim3(256);
    config.stream = device.stream;
    config.attrs = &attribute;
    config.numAttrs = overlap ? 1 : 0;
    CHECK(cudaLaunchKernelEx(&config, produce, where, device.hashes, device.ends,
                             static_cast<const unsigned *>(device.base), offset, sleep_ns));
}

static void launch_kernel(const kernel_job &job, loaded &what, bool overlap)
{
    CUlaunchAttribute attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config = {};
    config.gridDimX = job.blocks;
    config.blockDimX = job.threads;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = job.shared_bytes;
    config.hStream = device.stream;
    config.attrs = &attribute;
    config.numAttrs = overlap ? 1 : 0;
    static const auto launch = DRIVER_ENTRY(cuLaunchKernelEx);
    CHECK_DRIVER(launch(&config, what.function, what.arguments.data(), nullptr));
}

/* Waits with an end, as a kernel may hang. */
static void finish(cudaStream_t stream, const char *what)
{
    timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    cudaError_t error;
    while ((error = cudaStreamQuery(stream)) == cudaErrorNotReady) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        const double passed =
            (double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec);
        if (passed > device.patience) {
            fail("hang", what, "does not end");
        }
        usleep(20);
    }
    check_runtime(error, what);
}

/* ---- a run ------------------------------------------------------------------------------------- */

static void run_stream(const kernel_job &job, loaded &what, unsigned rounds,
                       const std::string &mode)
{
    const bool overlap = mode == "overlap" || mode == "graph";
    for (unsigned round = 0; round < rounds; round++) {
        launch_producer(what.where, round, sleep_of(round), overlap && round > 0);
        if (mode == "scribbled") {
            scribble<<<device.blocks, 256, device.shared_bytes, device.stream>>>(
                round, device.shared_bytes / sizeof(unsigned));
            CHECK(cudaGetLastError());
        }
        if (mode != "none") {
            launch_kernel(job, what, overlap);
        }
    }
}

static void run_graphs(const kernel_job &job, loaded &what, unsigned rounds)
{
    cudaGraph_t graph;
    cudaGraphExec_t instance;
    CHECK(cudaStreamBeginCapture(device.stream, cudaStreamCaptureModeThreadLocal));
    run_stream(job, what, rounds_per_graph, "graph");
    CHECK(cudaStreamEndCapture(device.stream, &graph));
    CHECK(cudaGraphInstantiate(&instance, graph, 0));
    for (unsigned round = 0; round < rounds; round += rounds_per_graph) {
        CHECK(cudaMemcpyAsync(device.base, &round, sizeof(round), cudaMemcpyHostToDevice,
                              device.stream));
        CHECK(cudaGraphLaunch(instance, device.stream));
        finish(device.stream, "graph");
    }
    CHECK(cudaGraphExecDestroy(instance));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaMemsetAsync(device.base, 0, sizeof(*device.base), device.stream));
}

/* How many launches of the kernel began before the producer in front had ended; -1: no stamps. */
static int count_early(const loaded &what, const std::vector<u64> &ends, unsigned rounds)
{
    CUdeviceptr address = 0;
    size_t bytes = 0;
    if (DRIVER_ENTRY(cuModuleGetGlobal)(&address, &bytes, what.module, "pdl_test_stamps") !=
            CUDA_SUCCESS ||
        bytes != stamp_count * sizeof(u64)) {
        return -1;
    }
    std::vector<u64> stamps(stamp_count);
    CHECK(cudaMemcpy(stamps.data(), reinterpret_cast<void *>(address), bytes,
                     cudaMemcpyDeviceToHost));
    int early = 0;
    for (unsigned round = 0; round < rounds; round++) {
        early += stamps[round] != 0 && stamps[round] < ends[round];
    }
    return early;
}

struct run_request {
    std::string label, mode, reference, cubin;
    unsigned constants, rounds;
};

static void run(kernel_job &job, const run_request &request)
{
    const bool overlap = request.mode == "overlap", graph = request.mode == "graph";
    if (request.rounds == 0 || request.rounds > most_rounds || job.name.empty() ||
        (graph && request.rounds % rounds_per_graph != 0)) {
        fail("plan", request.label.c_str(), "invalid run");
    }
    loaded what = load(job, request.cubin, request.constants != 0);
    CHECK(cudaMemsetAsync(device.region, 0, region_bytes, device.stream));
    CHECK(cudaMemsetAsync(device.hashes, 0, (most_rounds + 1) * sizeof(u64), device.stream));
    CHECK(cudaMemsetAsync(device.ends, 0, (most_rounds + 1) * sizeof(u64), device.stream));
    CHECK(cudaMemsetAsync(device.base, 0, sizeof(*device.base), device.stream));
    /* Constant buffers get their contents once, and pointers lead somewhere also for a kernel that is too early. */
    loaded all = what;
    for (unsigned i = 0; i < all.where.count; i++) {
        all.where.at[i].written = 1;
    }
    launch_producer(all.where, 0, 0, false);
    CHECK(cudaMemsetAsync(device.ends, 0, sizeof(u64), device.stream));
    finish(device.stream, "preparation");
    if (request.mode == "disturbed") {
        disturb<<<264, 256, 0, device.other>>>(device.load, device.step, request.rounds * 40000u);
        CHECK(cudaGetLastError());
    }
    if (graph) {
        run_graphs(job, what, request.rounds);
    } else {
        run_stream(job, what, request.rounds, request.mode);
    }
    launch_producer(what.where, request.rounds, 0, overlap);
    finish(device.stream, "chain");
    finish(device.other, "load");
    std::vector<u64> log(request.rounds), ends(request.rounds);
    CHECK(cudaMemcpy(log.data(), device.hashes, log.size() * sizeof(u64), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(ends.data(), device.ends, ends.size() * sizeof(u64), cudaMemcpyDeviceToHost));
    int different = -1;
    if (request.reference != "-") {
        const auto found = job.logs.find(request.reference);
        if (found == job.logs.end() || found->second.size() < log.size()) {
            fail("plan", request.reference.c_str(), "no such run, or a shorter one");
        }
        different = 0;
        for (unsigned round = 0; round < request.rounds; round++) {
            different += log[round] != found->second[round];
        }
    }
    const int early = count_early(what, ends, request.rounds);
    CHECK_DRIVER(DRIVER_ENTRY(cuModuleUnload)(what.module));
    job.logs[request.label] = log;
    answer("{\"label\": \"%s\", \"rounds\": %u, \"different\": %d, \"early\": %d}",
           request.label.c_str(), request.rounds, different, early);
}

/* ---- commands ---------------------------------------------------------------------------------- */

static int read_content(std::istringstream &words)
{
    std::string name;
    words >> name;
    for (int content = 0; content < CONTENT_COUNT; content++) {
        if (name == content_names[content]) {
            return content;
        }
    }
    fail("plan", name.c_str(), "unknown content");
}

static parameter read_parameter(std::istringstream &words)
{
    parameter result;
    std::string text;
    words >> text;
    const size_t hex = std::min(text.find('@'), text.size());
    for (size_t i = 0; i + 1 < hex; i += 2) {
        result.bytes.push_back((unsigned char)std::stoul(text.substr(i, 2), nullptr, 16));
    }
    std::istringstream addresses(hex < text.size() ? text.substr(hex + 1) : "");
    unsigned offset, number;
    char equals, comma;
    while (addresses >> offset >> equals >> number) {
        if (offset + sizeof(u64) > result.bytes.size() || number >= most_ranges) {
            fail("plan", text.c_str(), "invalid address");
        }
        result.addresses.push_back({offset, number});
        addresses >> comma;
    }
    return result;
}

static void obey(kernel_job &job, const std::string &line)
{
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command == "kernel") {
        job = kernel_job();
        words >> job.name;
    } else if (command == "shape") {
        words >> job.blocks >> job.threads >> job.shared_bytes;
    } else if (command == "param") {
        job.parameters.push_back(read_parameter(words));
    } else if (command == "buffer") {
        buffer one = {};
        one.content = read_content(words);
        words >> one.constant >> one.target;
        job.buffers.push_back(one);
    } else if (command == "global") {
        variable one;
        words >> one.name;
        one.content = read_content(words);
        job.variables.push_back(one);
    } else if (command == "run") {
        run_request request;
        words >> request.label >> request.mode >> request.constants >> request.rounds >>
            request.reference >> request.cubin;
        if (!words) {
            fail("plan", "run", "too few words");
        }
        run(job, request);
    } else {
        fail("plan", command.c_str(), "unknown command");
    }
    if (!words || job.buffers.size() + job.variables.size() > most_ranges) {
        fail("plan", command.c_str(), "cannot read the line, or too many buffers");
    }
}

/* Takes the functions of libcuda.so.1 and the memory. */
static void start(double patience)
{
    cudaDeviceProp properties;
    unsigned step = 0;
    int version = 0;
    if (dlopen("libcuda.so.1", RTLD_NOW) == nullptr || DRIVER_ENTRY(cuLaunchKernelEx) == nullptr) {
        fail("skip", "libcuda.so.1", "absent, or too old");
    }
    if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess || properties.major < 9) {
        fail("skip", "device", "none of compute capability 9.0 or newer");
    }
    CHECK(cudaSetDevice(0));
    CHECK(cudaDriverGetVersion(&version));
    device.patience = patience;
    device.blocks = (unsigned)properties.multiProcessorCount;
    device.shared_bytes = (unsigned)properties.sharedMemPerBlockOptin;
    CHECK(cudaFuncSetAttribute(scribble, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               (int)device.shared_bytes));
    CHECK(cudaStreamCreateWithFlags(&device.stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&device.other, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&device.region, region_bytes));
    CHECK(cudaMalloc(&device.hashes, (most_rounds + 1) * sizeof(u64)));
    CHECK(cudaMalloc(&device.ends, (most_rounds + 1) * sizeof(u64)));
    CHECK(cudaMalloc(&device.base, sizeof(*device.base)));
    CHECK(cudaMalloc(&device.step, sizeof(*device.step)));
    CHECK(cudaMalloc(&device.load, disturber_words * sizeof(unsigned)));
    CHECK(cudaMemset(device.load, 0, disturber_words * sizeof(unsigned)));
    clock_step<<<1, 1>>>(device.step);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&step, device.step, sizeof(step), cudaMemcpyDeviceToHost));
    answer("{\"device\": \"%s\", \"architecture\": %d, \"driver_version\": %d, \"clock_step_ns\": "
           "%u}",
           properties.name, properties.major * 10 + properties.minor, version, step);
}

int main(int argc, char **argv)
{
    kernel_job job;
    std::string line;
    /* What kernels print must not get between the answers. */
    const int original = dup(STDOUT_FILENO), nothing = open("/dev/null", O_WRONLY);
    answers = original < 0 ? nullptr : fdopen(original, "w");
    if (answers == nullptr || nothing < 0 || dup2(nothing, STDOUT_FILENO) < 0) {
        perror("chains");
        return 2;
    }
    setenv("CUDA_MODULE_LOADING", "EAGER", 1); /* loading must not wait for a kernel that hangs */
    start(argc > 1 ? atof(argv[1]) : 3.0);
    while (std::getline(std::cin, line)) {
        obey(job, line);
    }
    return 0;
}
