/* SPDX-License-Identifier: MIT */
/* truth [--rounds N] [--output FILE]: pairs of kernels that stamp when their blocks begin and end, in streams and in graphs. Writes the
 * stamps as JSON, which truth.py holds against what `pdltool watch` says of the same run.
 *
 * Every round of a pair waits for the device, so that the n-th run of a first_* kernel, in order of time, is the n-th
 * entry of the JSON, and the same of second_*. Round 0 loads the kernels, and its times are not compared. */
#include <string>

#include "programs.cuh"

static const unsigned most_blocks = 4096;

struct phases {
    unsigned before, after; /* ns: around the trigger, or around the wait */
};

typedef unsigned long long stamp; /* two per block: begin, end */

__device__ __forceinline__ void stamp_begin(stamp *stamps)
{
    if (threadIdx.x == 0) {
        stamps[2 * blockIdx.x] = device_clock();
    }
}

__device__ __forceinline__ void stamp_end(stamp *stamps)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        stamps[2 * blockIdx.x + 1] = device_clock();
    }
}

/* Many registers at once, whose values the compiler cannot know. */
__device__ __forceinline__ void hold_registers(stamp *stamps)
{
    float values[96];
#pragma unroll
    for (int i = 0; i < 96; i++) {
        values[i] = static_cast<float>(clock());
    }
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 96; i++) {
        sum += values[i] * values[95 - i];
    }
    if (sum == -1) { /* never */
        stamps[0] = 0;
    }
}

enum trigger_place { NO_TRIGGER, TRIGGER };

template <trigger_place Trigger, bool Registers>
static __global__ void first_kernel(phases work, stamp *stamps)
{
    stamp_begin(stamps);
    if (Registers) {
        hold_registers(stamps);
    }
    spin(work.before);
    if (Trigger == TRIGGER) {
        cudaTriggerProgrammaticLaunchCompletion();
    }
    spin(work.after);
    stamp_end(stamps);
}

template <bool Wait, bool Registers>
static __global__ void second_kernel(phases work, stamp *stamps)
{
    stamp_begin(stamps);
    if (Registers) {
        hold_registers(stamps);
    }
    spin(work.before);
    if (Wait) {
        cudaGridDependencySynchronize();
    }
    spin(work.after);
    stamp_end(stamps);
}

typedef void (*kernel_pointer)(phases work, stamp *stamps);

/* ---- the pairs ----------------------------------------------------------------------------------- */

enum host_timing { QUEUED, LATE, HALF_LATE };

struct pair {
    std::string name;
    kernel_pointer first, second;
    unsigned first_grid, first_block, second_grid, second_block;
    size_t first_shared, second_shared;
    phases first_work, second_work;
    bool attribute;
    bool set_between; /* a memset */
    host_timing host;
};

static const kernel_pointer triggers = first_kernel<TRIGGER, false>;
static const kernel_pointer never_triggers = first_kernel<NO_TRIGGER, false>;
static const kernel_pointer waits = second_kernel<true, false>;
static const kernel_pointer never_waits = second_kernel<false, false>;

/* All of: how the first triggers, how long the second needs nothing of it, and their shapes. */
static void add_combinations(std::vector<pair> &pairs, unsigned sms)
{
    const struct {
        const char *name;
        kernel_pointer first;
        phases work;
    } first[] = {{"no trigger", never_triggers, {20000, 0}},
                 {"early trigger", triggers, {1000, 19000}},
                 {"middle trigger", triggers, {10000, 10000}},
                 {"late trigger", triggers, {20000, 0}}};
    const struct {
        const char *name;
        unsigned first_grid, first_block, second_grid, second_block;
    } shapes[] = {{"one block", 1, 32, 1, 32},
                  {"a block per SM", sms, 128, sms, 128},
                  {"4 blocks per SM", 4 * sms, 64, 4 * sms, 64},
                  {"large behind small", 8, 256, 4 * sms, 128}};
    for (const auto &one : first) {
        for (const unsigned prologue : {0u, 5000u, 30000u}) {
            for (const auto &shape : shapes) {
                pairs.push_back({std::string(one.name) + ", prologue " + std::to_string(prologue) +
                                     " ns, " + shape.name,
                                 one.first,
                                 waits,
                                 shape.first_grid,
                                 shape.first_block,
                                 shape.second_grid,
                                 shape.second_block,
                                 0,
                                 0,
                                 one.work,
                                 {prologue, 5000},
                                 true,
                                 false,
                                 QUEUED});
            }
        }
    }
}

static std::vector<pair> make_pairs()
{
    const unsigned sms = static_cast<unsigned>(sm_count());
    std::vector<pair> pairs;
    add_combinations(pairs, sms);
    const pair base = {"", triggers, waits,         sms,          128,  sms,   128,
                       0,  0,        {2000, 18000}, {3000, 5000}, true, false, QUEUED};
    /* Each with what is other than in `base`. */
    const struct {
        const char *name;
        void (*change)(pair &p, unsigned sms);
    } others[] = {
        {"no attribute", [](pair &p, unsigned) { p.attribute = false; }},
        {"no wait", [](pair &p, unsigned) { p.second = never_waits; }},
        {"no wait, ends before the first",
         [](pair &p, unsigned) { p.second = never_waits, p.first_work.after = 60000; }},
        {"memset between", [](pair &p, unsigned) { p.set_between = true; }},
        {"many registers and threads",
         [](pair &p, unsigned) {
             p.first = first_kernel<TRIGGER, true>, p.second = second_kernel<true, true>;
             p.first_block = p.second_block = 512;
         }},
        {"shared memory for one block",
         [](pair &p, unsigned) { p.first_shared = p.second_shared = 200 << 10; }},
        {"full of threads",
         [](pair &p, unsigned sms) {
             p.first_block = p.second_block = 1024, p.first_grid = 2 * sms;
         }},
        {"several waves",
         [](pair &p, unsigned sms) {
             p.first_block = p.second_block = 1024;
             p.first_grid = 6 * sms, p.second_grid = 4 * sms;
         }},
        {"a short first",
         [](pair &p, unsigned) {
             p.first_work = {500, 500};
         }},
        {"a short pair",
         [](pair &p, unsigned) {
             p.first_work = p.second_work = {500, 500};
         }},
        {"a long pair",
         [](pair &p, unsigned) {
             p.first_work = {100000, 400000};
             p.second_work = {300000, 300000};
         }},
        {"late host", [](pair &p, unsigned) { p.host = LATE; }},
        {"host half late",
         [](pair &p, unsigned) { p.host = HALF_LATE, p.first_work.after = 200000; }},
    };
    for (const auto &other : others) {
        pairs.push_back(base);
        pairs.back().name = other.name;
        other.change(pairs.back(), sms);
    }
    return pairs;
}

/* ---- runs ---------------------------------------------------------------------------------------- */

static stamp *stamps; /* first's, then second's */
static unsigned *scratch;
static gate doors;

static void launch_second(const pair &pair, cudaStream_t stream)
{
    launch(pair.second, pair.second_grid, pair.second_block, pair.second_shared, stream,
           pair.attribute, pair.second_work, stamps + 2 * most_blocks);
}

static void launch_first(const pair &pair, cudaStream_t stream)
{
    launch(pair.first, pair.first_grid, pair.first_block, pair.first_shared, stream, false,
           pair.first_work, stamps);
    if (pair.set_between) {
        CHECK(cudaMemsetAsync(scratch, 0, sizeof(*scratch), stream));
    }
}

static void run_in_stream(const pair &pair, cudaStream_t stream)
{
    if (pair.host == QUEUED) {
        doors.close(stream);
    }
    launch_first(pair, stream);
    if (pair.host != QUEUED) {
        const unsigned length = pair.first_work.before + pair.first_work.after;
        host_spin(pair.host == LATE ? length + 300000 : length / 2);
    }
    launch_second(pair, stream);
    doors.open();
    CHECK(cudaStreamSynchronize(stream));
}

static void print_span(const char *name, const std::vector<unsigned long long> &all,
                       unsigned blocks, unsigned long long *begin, unsigned long long *end)
{
    unsigned long long last_begin = 0, first_end = ~0ull;
    *begin = ~0ull;
    *end = 0;
    for (unsigned i = 0; i < blocks; i++) {
        *begin = std::min(*begin, all[2 * i]);
        last_begin = std::max(last_begin, all[2 * i]);
        first_end = std::min(first_end, all[2 * i + 1]);
        *end = std::max(*end, all[2 * i + 1]);
    }
    printf("\"%s\": {\"start\": %llu, \"last_block_start\": %llu, \"first_block_end\": %llu,"
           " \"end\": %llu}, ",
           name, *begin, last_begin, first_end, *end);
}

static void print_round(const pair &pair, const char *way, unsigned round, const char *separator)
{
    std::vector<unsigned long long> first(2 * pair.first_grid), second(2 * pair.second_grid);
    CHECK(
        cudaMemcpy(first.data(), stamps, first.size() * sizeof(first[0]), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(second.data(), stamps + 2 * most_blocks, second.size() * sizeof(second[0]),
                     cudaMemcpyDeviceToHost));
    unsigned long long first_begin, first_end, second_begin, second_end;
    printf("%s\n {\"pair\": \"%s\", \"way\": \"%s\", \"round\": %u, ", separator, pair.name.c_str(),
           way, round);
    print_span("first", first, pair.first_grid, &first_begin, &first_end);
    print_span("second", second, pair.second_grid, &second_begin, &second_end);
    printf("\"overlapped\": %s}", second_begin < first_end ? "true" : "false");
}

/* ---- the clock ----------------------------------------------------------------------------------- */

static __global__ void measure_step(unsigned long long *step)
{
    unsigned long long smallest = ~0ull, last = device_clock();
    for (int i = 0; i < 10000; i++) {
        const unsigned long long now = device_clock();
        if (now != last && now - last < smallest) {
            smallest = now - last;
        }
        last = now;
    }
    *step = smallest;
}

int main(int argc, char **argv)
{
    unsigned rounds = 5;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 < argc && strcmp(argv[i], "--rounds") == 0) {
            rounds = strtoul(argv[i + 1], nullptr, 10);
        } else if (i + 1 == argc || strcmp(argv[i], "--output") != 0 ||
                   freopen(argv[i + 1], "w", stdout) == nullptr) {
            fprintf(stderr, "usage: %s [--rounds N] [--output FILE]\n", argv[0]);
            return 2;
        }
    }
    need_device();
    CHECK(cudaMalloc(&stamps, 4 * most_blocks * sizeof(*stamps)));
    CHECK(cudaMalloc(&scratch, sizeof(*scratch)));
    const std::vector<pair> pairs = make_pairs();
    for (const pair &pair : pairs) {
        for (const kernel_pointer kernel : {pair.first, pair.second}) {
            CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       200 << 10));
        }
    }
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    unsigned long long step = 0;
    measure_step<<<1, 1, 0, stream>>>(stamps);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(&step, stamps, sizeof(step), cudaMemcpyDeviceToHost));
    printf("{\"program\": \"truth\", \"pairs\": %zu, \"rounds\": %u, \"clock_step_ns\": %llu, "
           "\"runs\": [",
           pairs.size(), rounds, step);
    const char *separator = "";
    for (const pair &pair : pairs) {
        for (unsigned round = 0; round <= rounds; round++) {
            run_in_stream(pair, stream);
            print_round(pair, "stream", round, separator);
            separator = ",";
        }
        if (pair.host != QUEUED) { /* a graph has no late host */
            continue;
        }
        const cudaGraphExec_t executable = record(stream, [&] {
            launch_first(pair, stream);
            launch_second(pair, stream);
        });
        for (unsigned round = 0; round <= rounds; round++) {
            CHECK(cudaGraphLaunch(executable, stream));
            CHECK(cudaStreamSynchronize(stream));
            print_round(pair, "graph", round, separator);
        }
        CHECK(cudaGraphExecDestroy(executable));
    }
    printf("\n]}\n");
    return ferror(stdout) != 0 || fflush(stdout) != 0;
}
