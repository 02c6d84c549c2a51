/* SPDX-License-Identifier: MIT */
/* A million kernels in one line, each of which checks what the one before it wrote:
 *
 *   soak_device [--launches N] [--seed N] [--broken]
 *
 * Steps are drawn at random: launches in a stream, replays of a chain with new arguments and shapes, chains and
 * graphs that are built anew, captures, overlap switched on and off per launch, per kernel and per process, and
 * descriptors that must be refused. Compiled with -DPDL_FAULT_INJECT: after its trigger each block sleeps for 100
 * microseconds before it writes, so that whoever reads too early, or has old arguments, reads a wrong number.
 *
 * Prints one JSON object. Exits with 1 where a read was stale, a kernel did not run once, or memory grew after the
 * first tenth. With --broken the kernels do not wait: then it must fail. */
#include <pdl/chain.h>
#include <pdl/cudart.h>
#include <pdl/device.cuh>
#include <pdl/graph.h>
#include <pdl/policy.h>

#include <cuda.h>
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef PDL_FAULT_INJECT
#error "this program is compiled with -DPDL_FAULT_INJECT"
#endif

static const unsigned cells = 8192;
static const unsigned threads = 128;
static const unsigned links_max = 16;

/* Run `number` of all. It reads cells that other blocks of the run before wrote, and writes its own. Two arrays
 * take turns. */
template <bool Waits>
static __global__ void step(const unsigned *before, unsigned *after, unsigned number,
                            unsigned long long *stale, unsigned long long *runs)
{
    const unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned stride = gridDim.x * blockDim.x;
    unsigned wrong = 0;
    if (Waits) {
        PDL_WAIT();
    }
    for (unsigned cell = own; cell < cells; cell += stride) {
        wrong += PDL_LOAD(&before[(cell + cells / 2 + 1) % cells]) != number - 1;
    }
    PDL_LAUNCH_DEPENDENTS(); /* and sleep */
    for (unsigned cell = own; cell < cells; cell += stride) {
        after[cell] = number;
    }
    if (wrong != 0) {
        atomicAdd(stale, wrong);
    }
    if (own == 0) {
        atomicAdd(runs, 1ull);
    }
}

/* ---- what the steps share ------------------------------------------------------------------- */

static struct {
    pdl_kernel *kernel;
    cudaStream_t stream;
    unsigned *array[2];
    unsigned long long *counters; /* stale reads, runs */
    unsigned number;              /* the last run that was launched */
    bool kernel_on, process_on;   /* the two switches */
    uint64_t state;
    unsigned long long overlapped, replays, chains, graphs, captures, refused;
} soak;

static struct {
    pdl_chain *chain;
    unsigned links;
} line;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "soak_device: run %u: %s: %s\n", soak.number, what, why);
    exit(1);
}

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != PDL_SUCCESS) {                                                               \
            fail(#call, pdl_last_error()->message);                                                \
        }                                                                                          \
    } while (0)
#define CHECK_CUDA(call)                                                                           \
    do {                                                                                           \
        const cudaError_t error_ = (call);                                                         \
        if (error_ != cudaSuccess) {                                                               \
            fail(#call, cudaGetErrorString(error_));                                               \
        }                                                                                          \
    } while (0)

/* xorshift64*: one seed, one soak. */
static unsigned draw(unsigned below)
{
    soak.state ^= soak.state >> 12;
    soak.state ^= soak.state << 25;
    soak.state ^= soak.state >> 27;
    return (unsigned)((soak.state * 0x2545f4914f6cdd1dull) >> 33) % below;
}

/* A random shape. REQUIRE only where it is granted. */
static pdl_launch_desc draw_desc()
{
    static const pdl_overlap modes[] = {PDL_OVERLAP_AUTO, PDL_OVERLAP_AUTO, PDL_OVERLAP_REQUIRE,
                                        PDL_OVERLAP_NONE};
    const bool on = soak.kernel_on && soak.process_on;
    pdl_overlap overlap = modes[draw(4)];
    if (overlap == PDL_OVERLAP_REQUIRE && !on) {
        overlap = PDL_OVERLAP_AUTO;
    }
    soak.overlapped += on && overlap != PDL_OVERLAP_NONE;
    pdl_launch_desc desc =
        pdl_launch_desc_make(16 << draw(3), threads, 1024 * draw(4), soak.stream, overlap);
    if (draw(8) == 0) {
        desc.cluster[0] = 2;
    }
    return desc;
}

/* The arguments of the next run. */
struct arguments {
    const unsigned *before;
    unsigned *after;
    unsigned number;
    unsigned long long *stale, *runs;
    void *pointers[5];
};

static void next_arguments(struct arguments *made)
{
    soak.number++;
    made->before = soak.array[(soak.number - 1) % 2];
    made->after = soak.array[soak.number % 2];
    made->number = soak.number;
    made->stale = soak.counters;
    made->runs = soak.counters + 1;
    void *pointers[] = {&made->before, &made->after, &made->number, &made->stale, &made->runs};
    memcpy(made->pointers, pointers, sizeof(pointers));
}

/* ---- steps ---------------------------------------------------------------------------------- */

static void launch_some()
{
    for (unsigned i = 1 + draw(32); i > 0; i--) {
        struct arguments args;
        const pdl_launch_desc desc = draw_desc();
        next_arguments(&args);
        CHECK(pdl_launch(soak.kernel, &desc, args.pointers));
        memset(&args, 0xa5, sizeof(args)); /* the launch has its copy */
    }
}

static void make_chain()
{
    pdl_chain_destroy(line.chain);
    line.chain = nullptr;
    line.links = 2 + draw(links_max - 1);
    CHECK(pdl_chain_create(nullptr, &line.chain));
    for (unsigned i = 0; i < line.links; i++) {
        struct arguments args;
        const pdl_launch_desc desc = draw_desc();
        next_arguments(&args);
        soak.number--; /* these never run: replay() sets all */
        CHECK(pdl_chain_add(line.chain, soak.kernel, &desc, args.pointers, nullptr, 0, nullptr));
    }
    CHECK(pdl_chain_build(line.chain));
    soak.chains++;
}

/* The same links with other descriptors: at once where only the shape changes, else after a reset. */
static void change_chain()
{
    if (!soak.kernel_on || !soak.process_on) {
        make_chain(); /* an older link may require what is off now */
        return;
    }
    const unsigned link = draw(line.links);
    pdl_launch_desc desc = draw_desc();
    const pdl_status status = pdl_chain_set_desc(line.chain, link, &desc);
    if (status == PDL_ERROR_REBUILD) {
        CHECK(pdl_chain_reset(line.chain));
        CHECK(pdl_chain_set_desc(line.chain, link, &desc));
        CHECK(pdl_chain_build(line.chain));
    } else {
        CHECK(status);
    }
}

static void replay()
{
    for (unsigned i = 0; i < line.links; i++) {
        struct arguments args;
        next_arguments(&args);
        CHECK(pdl_chain_set_args(line.chain, i, args.pointers));
        memset(&args, 0xa5, sizeof(args));
    }
    CHECK(pdl_chain_launch(line.chain, soak.stream));
    soak.replays++;
}

static void launch_graph(cudaGraph_t graph)
{
    cudaGraphExec_t exec;
    CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CHECK_CUDA(cudaGraphLaunch(exec, soak.stream));
    CHECK_CUDA(cudaGraphExecDestroy(exec)); /* the replay goes on */
    CHECK_CUDA(cudaGraphDestroy(graph));
}

static void build_graph()
{
    cudaGraph_t graph;
    pdl_edge edge = {nullptr, PDL_EDGE_FULL, 0};
    CHECK_CUDA(cudaGraphCreate(&graph, 0));
    for (unsigned i = 1 + draw(8), first = 1; i > 0; i--, first = 0) {
        struct arguments args;
        const pdl_launch_desc desc = draw_desc();
        const bool overlaps = desc.overlap != PDL_OVERLAP_NONE && soak.kernel_on && soak.process_on;
        next_arguments(&args);
        edge.kind = overlaps ? PDL_EDGE_PROGRAMMATIC : PDL_EDGE_FULL;
        struct CUgraphNode_st *node;
        CHECK(pdl_graph_add_launch(graph, &edge, first ? 0 : 1, soak.kernel, &desc, args.pointers,
                                   &node));
        edge.node = node;
    }
    launch_graph(graph);
    soak.graphs++;
}

static void capture()
{
    cudaGraph_t graph;
    CHECK_CUDA(cudaStreamBeginCapture(soak.stream, cudaStreamCaptureModeThreadLocal));
    launch_some();
    CHECK_CUDA(cudaStreamEndCapture(soak.stream, &graph));
    launch_graph(graph);
    soak.captures++;
}

/* What must be refused, and leave everything as it was. */
static void refuse()
{
    struct arguments args;
    pdl_launch_desc desc = draw_desc();
    next_arguments(&args);
    soak.number--;
    switch (draw(4)) {
    case 0:
        desc.grid[0] = 0;
        break;
    case 1:
        desc.block[0] = 4096;
        break;
    case 2:
        desc.dynamic_shared_memory = 1 << 20;
        break;
    default:
        desc.cluster[0] = 3; /* of 16, 32 or 64 blocks */
        break;
    }
    if (pdl_launch(soak.kernel, &desc, args.pointers) == PDL_SUCCESS) {
        fail("an invalid descriptor", "it was launched");
    }
    if (line.chain != nullptr && pdl_chain_set_desc(line.chain, 0, &desc) == PDL_SUCCESS) {
        fail("an invalid descriptor", "the chain took it");
    }
    soak.refused++;
}

static void take_step()
{
    const unsigned kind = draw(100);
    if (kind < 35) {
        launch_some();
    } else if (kind < 70) {
        replay();
    } else if (kind < 78) {
        change_chain();
    } else if (kind < 82) {
        make_chain();
    } else if (kind < 87) {
        build_graph();
    } else if (kind < 92) {
        capture();
    } else if (kind < 95) {
        refuse();
    } else if (kind < 98) {
        soak.kernel_on = draw(4) != 0;
        CHECK(pdl_kernel_declare(soak.kernel, soak.kernel_on ? PDL_YES : PDL_NO, PDL_YES));
    } else {
        soak.process_on = draw(4) != 0;
        pdl_policy policy = PDL_POLICY_INIT;
        policy.off = !soak.process_on;
        CHECK(pdl_policy_set(&policy));
    }
}

/* ---- memory --------------------------------------------------------------------------------- */

struct memory {
    size_t device, host; /* bytes in use */
};

static struct memory memory_now()
{
    size_t free_bytes = 0, total = 0;
    unsigned long pages = 0, resident = 0;
    CHECK_CUDA(cudaStreamSynchronize(soak.stream));
    CHECK_CUDA(cudaMemGetInfo(&free_bytes, &total));
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == nullptr || fscanf(file, "%lu %lu", &pages, &resident) != 2) {
        fail("/proc/self/statm", "it cannot be read");
    }
    fclose(file);
    return {total - free_bytes, (size_t)resident * (size_t)sysconf(_SC_PAGESIZE)};
}

/* ---- all of it ------------------------------------------------------------------------------ */

static void start(bool broken, uint64_t seed)
{
    soak.state = seed * 2654435761u + 88172645463325252ull;
    soak.kernel_on = soak.process_on = true;
    CHECK_CUDA(cudaStreamCreateWithFlags(&soak.stream, cudaStreamNonBlocking));
    for (unsigned i = 0; i < 2; i++) {
        CHECK_CUDA(cudaMalloc(&soak.array[i], cells * sizeof(unsigned)));
        CHECK_CUDA(cudaMemset(soak.array[i], 0, cells * sizeof(unsigned)));
    }
    CHECK_CUDA(cudaMalloc(&soak.counters, 2 * sizeof(*soak.counters)));
    CHECK_CUDA(cudaMemset(soak.counters, 0, 2 * sizeof(*soak.counters)));
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK(broken ? pdl_kernel_from_symbol(step<false>, &soak.kernel)
                 : pdl_kernel_from_symbol(step<true>, &soak.kernel));
    CHECK(pdl_kernel_declare(soak.kernel, PDL_YES, PDL_YES)); /* the broken one's lie */
    make_chain();
}

int main(int count, char **arguments)
{
    unsigned launches = 1000000;
    uint64_t seed = 1;
    bool broken = false;
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--broken") == 0) {
            broken = true;
        } else if (i + 1 < count && strcmp(arguments[i], "--launches") == 0) {
            launches = (unsigned)strtoul(arguments[++i], nullptr, 10);
        } else if (i + 1 < count && strcmp(arguments[i], "--seed") == 0) {
            seed = strtoull(arguments[++i], nullptr, 10);
        } else {
            fprintf(stderr, "usage: soak_device [--launches N] [--seed N] [--broken]\n");
            return 2;
        }
    }
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        fprintf(stderr, "skipped: there is no device\n");
        return 77;
    }
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    start(broken, seed);
    while (soak.number < launches / 10) {
        take_step();
    }
    const struct memory early = memory_now();
    struct memory most = early;
    for (unsigned tenth = 2; tenth <= 10; tenth++) {
        while (soak.number < (unsigned)((uint64_t)launches * tenth / 10)) {
            take_step();
        }
        const struct memory now = memory_now();
        most.device = now.device > most.device ? now.device : most.device;
        most.host = now.host > most.host ? now.host : most.host;
    }
    unsigned long long counters[2];
    static unsigned last[cells];
    unsigned wrong = 0;
    CHECK_CUDA(cudaMemcpy(counters, soak.counters, sizeof(counters), cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(last, soak.array[soak.number % 2], sizeof(last), cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < cells; i++) {
        wrong += last[i] != soak.number;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    const size_t device_growth = most.device - early.device;
    const size_t host_growth = most.host - early.host;
    const bool good = counters[0] == 0 && counters[1] == soak.number && wrong == 0 &&
                      device_growth <= (4u << 20) && host_growth <= (8u << 20);
    printf(
        "{\"launches\": %u, \"seed\": %llu, \"asked_to_overlap\": %llu, \"replays\": %llu, "
        "\"chains\": %llu, "
        "\"graphs\": %llu, \"captures\": %llu, \"refused\": %llu, \"stale\": %llu, \"runs\": %llu, "
        "\"wrong_cells\": %u, \"device_memory_growth\": %zu, \"resident_growth\": %zu, "
        "\"resident\": %zu, "
        "\"seconds\": %.1f, \"good\": %s}\n",
        soak.number, (unsigned long long)seed, soak.overlapped, soak.replays, soak.chains,
        soak.graphs, soak.captures, soak.refused, counters[0], counters[1], wrong, device_growth,
        host_growth, most.host,
        (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec),
        good ? "true" : "false");
    pdl_chain_destroy(line.chain);
    pdl_kernel_destroy(soak.kernel);
    return good ? 0 : 1;
}
