/* SPDX-License-Identifier: MIT */
/* Launches in every form, and the check that a form launches what it is said to. */
#include "bench/suite_overhead.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <pdl/graph.h>

#include "bench/gpu_time.h"
#include "bench/line.h"
#include "bench/runtime_launch.h"
#include "common/memory.h"

/* Which code makes the launch. */
enum maker { BY_RUNTIME, BY_DRIVER, BY_LIBPDL, BY_LINE };

static const struct form {
    enum maker maker;
    int detail; /* a runtime_form or a line_way; of BY_LIBPDL: whether from a symbol */
    bool overlap, cooperative;
    enum overhead_way raw;
} forms[OVERHEAD_WAYS] = {
    [OVERHEAD_CHEVRON] = {BY_RUNTIME, RUNTIME_CHEVRON, false, false, OVERHEAD_CHEVRON},
    [OVERHEAD_CUDA_LAUNCH] = {BY_RUNTIME, RUNTIME_LAUNCH, false, false, OVERHEAD_CUDA_LAUNCH},
    [OVERHEAD_CUDA_EX] = {BY_RUNTIME, RUNTIME_LAUNCH_EX, false, false, OVERHEAD_CUDA_EX},
    [OVERHEAD_CUDA_EX_AGAIN] = {BY_RUNTIME, RUNTIME_LAUNCH_EX, false, false, OVERHEAD_CUDA_EX},
    [OVERHEAD_SYMBOL] = {BY_LIBPDL, true, false, false, OVERHEAD_CUDA_EX},
    [OVERHEAD_CUDA_EX_TYPED] = {BY_RUNTIME, RUNTIME_LAUNCH_EX_TYPED, false, false,
                                OVERHEAD_CUDA_EX_TYPED},
    [OVERHEAD_TYPED] = {BY_RUNTIME, RUNTIME_LIBPDL_TYPED, false, false, OVERHEAD_CUDA_EX_TYPED},
    [OVERHEAD_CU_EX] = {BY_DRIVER, 0, false, false, OVERHEAD_CU_EX},
    [OVERHEAD_CU_EX_AGAIN] = {BY_DRIVER, 0, false, false, OVERHEAD_CU_EX},
    [OVERHEAD_FUNCTION] = {BY_LIBPDL, false, false, false, OVERHEAD_CU_EX},
    [OVERHEAD_COOPERATIVE] = {BY_DRIVER, 0, false, true, OVERHEAD_COOPERATIVE},
    [OVERHEAD_FUNCTION_COOPERATIVE] = {BY_LIBPDL, false, false, true, OVERHEAD_COOPERATIVE},
    [OVERHEAD_CUDA_EX_PDL] = {BY_RUNTIME, RUNTIME_LAUNCH_EX, true, false, OVERHEAD_CUDA_EX_PDL},
    [OVERHEAD_CUDA_EX_PDL_AGAIN] = {BY_RUNTIME, RUNTIME_LAUNCH_EX, true, false,
                                    OVERHEAD_CUDA_EX_PDL},
    [OVERHEAD_SYMBOL_AUTO] = {BY_LIBPDL, true, true, false, OVERHEAD_CUDA_EX_PDL},
    [OVERHEAD_CUDA_EX_TYPED_PDL] = {BY_RUNTIME, RUNTIME_LAUNCH_EX_TYPED, true, false,
                                    OVERHEAD_CUDA_EX_TYPED_PDL},
    [OVERHEAD_TYPED_AUTO] = {BY_RUNTIME, RUNTIME_LIBPDL_TYPED, true, false,
                             OVERHEAD_CUDA_EX_TYPED_PDL},
    [OVERHEAD_CU_EX_PDL] = {BY_DRIVER, 0, true, false, OVERHEAD_CU_EX_PDL},
    [OVERHEAD_CU_EX_PDL_AGAIN] = {BY_DRIVER, 0, true, false, OVERHEAD_CU_EX_PDL},
    [OVERHEAD_FUNCTION_AUTO] = {BY_LIBPDL, false, true, false, OVERHEAD_CU_EX_PDL},
    [OVERHEAD_GRAPH] = {BY_LINE, WAY_GRAPH, false, false, OVERHEAD_GRAPH},
    [OVERHEAD_GRAPH_PDL] = {BY_LINE, WAY_GRAPH_PDL, true, false, OVERHEAD_GRAPH_PDL},
    [OVERHEAD_CHAIN] = {BY_LINE, WAY_CHAIN, true, false, OVERHEAD_GRAPH_PDL},
};

const char *const overhead_way_names[OVERHEAD_WAYS] = {
    [OVERHEAD_CHEVRON] = "chevron",
    [OVERHEAD_CUDA_LAUNCH] = "cudaLaunchKernel",
    [OVERHEAD_CUDA_EX] = "cudaLaunchKernelExC",
    [OVERHEAD_CUDA_EX_AGAIN] = "cudaLaunchKernelExC-again",
    [OVERHEAD_SYMBOL] = "pdl_launch-symbol",
    [OVERHEAD_CUDA_EX_TYPED] = "cudaLaunchKernelEx",
    [OVERHEAD_TYPED] = "pdl_launch_kernel",
    [OVERHEAD_CU_EX] = "cuLaunchKernelEx",
    [OVERHEAD_CU_EX_AGAIN] = "cuLaunchKernelEx-again",
    [OVERHEAD_FUNCTION] = "pdl_launch",
    [OVERHEAD_COOPERATIVE] = "cooperative",
    [OVERHEAD_FUNCTION_COOPERATIVE] = "pdl_launch-cooperative",
    [OVERHEAD_CUDA_EX_PDL] = "cudaLaunchKernelExC-pdl",
    [OVERHEAD_CUDA_EX_PDL_AGAIN] = "cudaLaunchKernelExC-pdl-again",
    [OVERHEAD_SYMBOL_AUTO] = "pdl_launch-symbol-auto",
    [OVERHEAD_CUDA_EX_TYPED_PDL] = "cudaLaunchKernelEx-pdl",
    [OVERHEAD_TYPED_AUTO] = "pdl_launch_kernel-auto",
    [OVERHEAD_CU_EX_PDL] = "cuLaunchKernelEx-pdl",
    [OVERHEAD_CU_EX_PDL_AGAIN] = "cuLaunchKernelEx-pdl-again",
    [OVERHEAD_FUNCTION_AUTO] = "pdl_launch-auto",
    [OVERHEAD_GRAPH] = "graph",
    [OVERHEAD_GRAPH_PDL] = "graph-pdl",
    [OVERHEAD_CHAIN] = "chain",
};

enum overhead_way overhead_way_raw(enum overhead_way way)
{
    return forms[way].raw;
}

/* The Runtime's errors have the driver's numbers where both know them, but not all names. */
#define MUST_RUNTIME(call) must_runtime((call), #call)
static void must_runtime(int error, const char *call)
{
    if (error != 0) {
        bench_abort("%s: %s", call, runtime_error_name(error));
    }
}

/* ---- arguments ------------------------------------------------------------------------------- */

static const char *const kernel_names[OVERHEAD_KERNELS] = {
    [OVERHEAD_NULL_0] = "overhead_null_0",   [OVERHEAD_NULL_8] = "overhead_null_8",
    [OVERHEAD_NULL_64] = "overhead_null_64", [OVERHEAD_WAIT] = "overhead_wait",
    [OVERHEAD_SIGNAL] = "overhead_signal",   [OVERHEAD_TAKE] = "overhead_take",
};

enum { POINTERS = 4, INTEGERS = 4 };

/* The same for all jobs; what they add up to is known. */
static struct {
    unsigned users; /* tables between begin and end */
    CUdeviceptr pointed_to;
    CUdeviceptr pointers[POINTERS];
    unsigned integers[INTEGERS];
    unsigned long long values[64];
    void *args_8[POINTERS + INTEGERS];
    void *args_64[64];
    unsigned long long sum_8, sum_64;
    volatile unsigned *flag; /* of OVERHEAD_SIGNAL: the host's memory */
    CUdeviceptr flag_address;
    void *args_signal[1];
    CUdeviceptr record;
    CUfunction runtime_take;
    double cycles_per_us;
    pdl_kernel *symbols[OVERHEAD_KERNELS];
} shared;

static void make_8(void)
{
    unsigned pointed_to[POINTERS];
    shared.pointed_to = gpu_alloc(sizeof(pointed_to));
    for (unsigned i = 0; i < POINTERS; i++) {
        pointed_to[i] = 1000 + 37 * i;
        shared.pointers[i] = shared.pointed_to + i * sizeof(pointed_to[0]);
        shared.args_8[i] = &shared.pointers[i];
        shared.sum_8 += (i + 1ULL) * pointed_to[i];
    }
    for (unsigned i = 0; i < INTEGERS; i++) {
        shared.integers[i] = 100000 + 91 * i;
        shared.args_8[POINTERS + i] = &shared.integers[i];
        shared.sum_8 += (POINTERS + i + 1ULL) * shared.integers[i];
    }
    gpu_write(shared.pointed_to, pointed_to, sizeof(pointed_to));
}

static void make_64(void)
{
    for (unsigned i = 0; i < 64; i++) {
        /* In every bit: half of an argument lost would show. */
        shared.values[i] = (i + 1) * 0x9e3779b97f4a7c15ULL;
        shared.args_64[i] = &shared.values[i];
        shared.sum_64 += (i + 1) * shared.values[i];
    }
}

static void make_signal(void)
{
    void *memory = NULL;
    MUST(cu.cuMemHostAlloc(&memory, sizeof(unsigned), CU_MEMHOSTALLOC_DEVICEMAP));
    shared.flag = memory;
    MUST(cu.cuMemHostGetDevicePointer(&shared.flag_address, memory, 0));
    shared.args_signal[0] = &shared.flag_address;
}

void overhead_open(void)
{
    if (shared.users++ > 0) {
        return;
    }
    MUST_RUNTIME(runtime_open(gpu.ordinal));
    make_8();
    make_64();
    make_signal();
    shared.record = gpu_alloc(sizeof(struct overhead_record));
    MUST_RUNTIME(runtime_function(OVERHEAD_TAKE, &shared.runtime_take));
    shared.cycles_per_us = gpu_sm_clock_mhz();
}

void overhead_close(void)
{
    if (--shared.users > 0) {
        return;
    }
    for (int i = 0; i < OVERHEAD_KERNELS; i++) {
        pdl_kernel_destroy(shared.symbols[i]);
    }
    gpu_free(shared.record);
    MUST(cu.cuMemFreeHost((void *)shared.flag));
    gpu_free(shared.pointed_to);
    memset(&shared, 0, sizeof(shared));
}

void overhead_unit(bool spin, unsigned *sleep_ns, unsigned *cycles)
{
    *sleep_ns = 1000;
    *cycles = spin ? (unsigned)(shared.cycles_per_us + 0.5) : 0;
}

static unsigned long long expected_sum(const struct overhead_work *work)
{
    switch (work->kernel) {
    case OVERHEAD_NULL_8:
        return shared.sum_8;
    case OVERHEAD_NULL_64:
        return shared.sum_64;
    case OVERHEAD_WAIT:
        return work->units;
    default:
        return 0;
    }
}

/* ---- jobs ------------------------------------------------------------------------------------ */

struct overhead_job {
    const struct form *form;
    size_t count;
    void **args;
    unsigned wait[3];
    void *args_wait[3];
    struct runtime_launch runtime; /* BY_RUNTIME */
    CUlaunchAttribute attribute;   /* BY_DRIVER, as the next two */
    CUlaunchConfig config;
    CUfunction function;
    pdl_launch_desc desc; /* BY_LIBPDL, as the next one */
    pdl_kernel *kernel;
    struct gpu_launch launch; /* BY_LINE, as the next one */
    struct line *line;
};

static void choose_args(struct overhead_job *job, const struct overhead_work *work)
{
    switch (work->kernel) {
    case OVERHEAD_NULL_8:
        job->args = shared.args_8;
        break;
    case OVERHEAD_NULL_64:
        job->args = shared.args_64;
        break;
    case OVERHEAD_SIGNAL:
        job->args = shared.args_signal;
        break;
    case OVERHEAD_WAIT:
        job->wait[0] = work->units;
        overhead_unit(work->spin, &job->wait[1], &job->wait[2]);
        for (int i = 0; i < 3; i++) {
            job->args_wait[i] = &job->wait[i];
        }
        job->args = job->args_wait;
        break;
    default:
        job->args = NULL;
    }
}

static void make_config(struct overhead_job *job, unsigned block)
{
    const struct form *const form = job->form;
    if (form->overlap) {
        job->attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        job->attribute.value.programmaticStreamSerializationAllowed = 1;
    } else if (form->cooperative) {
        job->attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        job->attribute.value.cooperative = 1;
    }
    job->config = (CUlaunchConfig){
        .gridDimX = (unsigned)gpu.multiprocessors,
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = block,
        .blockDimY = 1,
        .blockDimZ = 1,
        .hStream = gpu.stream,
        .attrs = form->overlap || form->cooperative ? &job->attribute : NULL,
        .numAttrs = form->overlap || form->cooperative ? 1 : 0,
    };
}

static pdl_kernel *find_symbol(enum overhead_kernel kernel)
{
    if (shared.symbols[kernel] == NULL) {
        MUST_RUNTIME(runtime_kernel(kernel, &shared.symbols[kernel]));
    }
    return shared.symbols[kernel];
}

static struct overhead_job *make_job(enum overhead_way way, const struct overhead_work *work,
                                     unsigned block, CUresult *error)
{
    struct overhead_job *const job = allocate(1, sizeof(*job));
    const struct form *const form = &forms[way];
    const unsigned grid = (unsigned)gpu.multiprocessors;
    *error = CUDA_SUCCESS;
    job->form = form;
    job->count = work->count;
    choose_args(job, work);
    switch (form->maker) {
    case BY_RUNTIME:
        job->runtime = (struct runtime_launch){work->kernel, grid,          block,
                                               gpu.stream,   form->overlap, job->args};
        break;
    case BY_DRIVER:
        make_config(job, block);
        job->function = gpu_function(IMAGE_OVERHEAD, kernel_names[work->kernel]);
        break;
    case BY_LIBPDL:
        job->desc = PDL_LAUNCH_DESC(.grid = {grid}, .block = {block}, .stream = gpu.stream,
                                    .cooperative = form->cooperative,
                                    .overlap = form->overlap ? PDL_OVERLAP_AUTO : PDL_OVERLAP_NONE);
        job->kernel = form->detail
                          ? find_symbol(work->kernel)
                          : gpu_kernel(gpu_function(IMAGE_OVERHEAD, kernel_names[work->kernel]));
        break;
    case BY_LINE:
        job->launch = (struct gpu_launch){gpu_function(IMAGE_OVERHEAD, kernel_names[work->kernel]),
                                          grid, block, 0, job->args};
        job->line = line_make((enum line_way)form->detail, &job->launch, 1, work->count, error);
        if (job->line == NULL) {
            free(job);
            return NULL;
        }
        break;
    }
    return job;
}

struct overhead_job *overhead_job_make(enum overhead_way way, const struct overhead_work *work,
                                       CUresult *error)
{
    return make_job(way, work, OVERHEAD_TIMED_BLOCK, error);
}

void overhead_job_free(struct overhead_job *job)
{
    if (job != NULL) {
        line_free(job->line);
        free(job);
    }
}

/* Some launches of a job, in the loop that a program would have. */
static void run(struct overhead_job *job, size_t count)
{
    switch (job->form->maker) {
    case BY_RUNTIME:
        MUST_RUNTIME(runtime_run((enum runtime_form)job->form->detail, &job->runtime, count));
        break;
    case BY_DRIVER:
        for (size_t i = 0; i < count; i++) {
            MUST(cu.cuLaunchKernelEx(&job->config, job->function, job->args, NULL));
        }
        break;
    case BY_LIBPDL:
        for (size_t i = 0; i < count; i++) {
            MUST_PDL(pdl_launch(job->kernel, &job->desc, job->args));
        }
        break;
    case BY_LINE:
        line_run(job->line);
        break;
    }
}

void overhead_job_run(void *job)
{
    run(job, ((struct overhead_job *)job)->count);
}

void overhead_job_warm(struct overhead_job *job)
{
    enum { LEAST = 4, DIFFERENT = 16 };
    static uint32_t random = 2463534242;
    const unsigned units = job->wait[0];
    random ^= random << 13; /* xorshift32 */
    random ^= random >> 17;
    random ^= random << 5;
    job->wait[0] = 0; /* not for graphs, which have their own copy */
    run(job, LEAST + random % DIFFERENT);
    job->wait[0] = units;
    MUST(cu.cuStreamSynchronize(gpu.stream));
}

struct overhead_lapse overhead_job_time(struct overhead_job *job)
{
    struct overhead_lapse lapse;
    MUST(cu.cuStreamSynchronize(gpu.stream));
    const double begin = host_ns();
    overhead_job_run(job);
    lapse.calls = host_ns() - begin;
    MUST(cu.cuStreamSynchronize(gpu.stream));
    lapse.total = host_ns() - begin;
    return lapse;
}

double overhead_signal_ns(struct overhead_job *job)
{
    enum { PATIENCE_NS = 1000000000 };
    double now;
    MUST(cu.cuStreamSynchronize(gpu.stream));
    *shared.flag = 0;
    const double begin = host_ns();
    overhead_job_run(job);
    do {
        now = host_ns();
    } while (*shared.flag == 0 && now - begin < PATIENCE_NS);
    MUST(cu.cuStreamSynchronize(gpu.stream));
    if (now - begin >= PATIENCE_NS) {
        bench_abort("a kernel that was launched did not write to the host's memory in a second");
    }
    return now - begin;
}

/* ---- the check ------------------------------------------------------------------------------- */

struct overhead_record overhead_record_take(CUfunction take, CUstream stream, CUdeviceptr memory)
{
    struct overhead_record record;
    void *args[] = {&memory};
    const struct gpu_launch launch = {take, 1, 1, 0, args};
    /* In that stream, which may be another device's. */
    MUST(cu.cuMemsetD8Async(memory, 0xff, sizeof(record), stream));
    gpu_launch(&launch, stream, false);
    gpu_read(&record, memory, sizeof(record));
    return record;
}

/* A job's kernels are the Runtime's or the image's, and so is their record. */
static struct overhead_record take_record(const struct overhead_job *job)
{
    const struct form *const form = job->form;
    const bool of_runtime =
        form->maker == BY_RUNTIME || (form->maker == BY_LIBPDL && form->detail != 0);
    return overhead_record_take(of_runtime
                                    ? shared.runtime_take
                                    : gpu_function(IMAGE_OVERHEAD, kernel_names[OVERHEAD_TAKE]),
                                gpu.stream, shared.record);
}

/* What a capture of the form says about each kernel after another one. */
enum between { BETWEEN_SERIAL, BETWEEN_COOPERATIVE, BETWEEN_PROGRAMMATIC, BETWEEN_MIXED };
static const char *const between_names[] = {"serial", "cooperative", "programmatic",
                                            "of several kinds"};

static enum between captured(struct overhead_job *job)
{
    enum { KERNELS = 3 };
    CUgraph graph = NULL;
    pdl_census census = PDL_CENSUS_INIT;
    pdl_full_dependency full[KERNELS];
    uint32_t cooperative = 0;
    census.full_dependencies = full;
    census.full_capacity = KERNELS;
    MUST(cu.cuStreamBeginCapture(gpu.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    run(job, KERNELS);
    MUST(cu.cuStreamEndCapture(gpu.stream, &graph));
    MUST_PDL(pdl_graph_census(graph, &census));
    for (uint32_t i = 0; i < census.full_count && i < KERNELS; i++) {
        cooperative += full[i].reason == PDL_FULL_COOPERATIVE;
    }
    MUST(cu.cuGraphDestroy(graph));
    if (census.kernels != KERNELS || census.nodes != KERNELS || census.edges != KERNELS - 1) {
        return BETWEEN_MIXED;
    }
    if (census.programmatic == census.edges) {
        return BETWEEN_PROGRAMMATIC;
    }
    if (census.full != census.edges || census.full_count != census.edges) {
        return BETWEEN_MIXED;
    }
    return cooperative == census.edges ? BETWEEN_COOPERATIVE
           : cooperative == 0          ? BETWEEN_SERIAL
                                       : BETWEEN_MIXED;
}

static void check_edges(struct bench_point *point, struct overhead_job *job)
{
    const struct form *const form = job->form;
    if (form->maker == BY_LINE) {
        const size_t expected = form->overlap ? job->count - 1 : 0;
        const size_t found = line_cost(job->line)->programmatic_edges;
        if (found != expected) {
            bench_fail(point, "%zu of %zu edges are programmatic, not %zu", found, job->count - 1,
                       expected);
        }
        return;
    }
    const enum between expected = form->overlap       ? BETWEEN_PROGRAMMATIC
                                  : form->cooperative ? BETWEEN_COOPERATIVE
                                                      : BETWEEN_SERIAL;
    const enum between found = captured(job);
    if (found != expected) {
        bench_fail(point, "captured launches are %s, not %s", between_names[found],
                   between_names[expected]);
    }
}

static void check_record(struct bench_point *point, const struct overhead_job *job,
                         const struct overhead_work *work)
{
    const struct overhead_record record = take_record(job);
    const unsigned long long blocks = work->count * (unsigned long long)gpu.multiprocessors;
    const unsigned long long sum = work->count * expected_sum(work);
    if (record.launches != work->count || record.blocks != blocks) {
        bench_fail(point, "%llu kernels of %llu blocks ran, not %zu of %llu", record.launches,
                   record.blocks, work->count, blocks);
    } else if (record.sum != sum) {
        bench_fail(point, "the arguments add up to %llu, not %llu", record.sum, sum);
    } else if (work->kernel == OVERHEAD_WAIT) {
        /* nanosleep takes up to twice its time, and may take none; many of them even out. */
        const double asked = 1e3 * (double)work->count * work->units;
        const double lowest = work->spin ? 0.9 : work->units < 8 ? 0 : 0.5;
        const double highest = work->spin ? 1.1 : 2;
        const double timer = (double)gpu.timer_step * 2 * (double)work->count;
        if ((double)record.ns < lowest * asked - timer ||
            (double)record.ns > highest * asked + timer + 1e3 * (double)work->count) {
            bench_fail(point, "the kernels waited for %llu ns, not for %.0f", record.ns, asked);
        }
    }
}

static bool overlap_is_off(void)
{
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    pdl_kernel *const kernel =
        gpu_kernel(gpu_function(IMAGE_OVERHEAD, kernel_names[OVERHEAD_NULL_0]));
    const pdl_launch_desc desc = PDL_LAUNCH_DESC(.grid = {1}, .block = {OVERHEAD_TIMED_BLOCK},
                                                 .stream = gpu.stream, .overlap = PDL_OVERLAP_AUTO);
    MUST_PDL(pdl_launch_explain(kernel, &desc, &report));
    return report.overlap_reason == PDL_REASON_DISABLED;
}

void overhead_check(struct bench_point *point, enum overhead_way way,
                    const struct overhead_work *work)
{
    CUresult error;
    if (forms[way].overlap && forms[way].raw != way && overlap_is_off()) {
        bench_waive(point, "libpdl's overlap is turned off by PDL_OVERLAP in the environment");
        return;
    }
    struct overhead_job *const job = make_job(way, work, OVERHEAD_COUNTED_BLOCK, &error);
    if (job == NULL) {
        bench_fail(point, "a graph of %zu kernels: %s", work->count, gpu_error_name(error));
        return;
    }
    (void)take_record(job);
    overhead_job_run(job);
    gpu_wait();
    check_record(point, job, work);
    check_edges(point, job);
    overhead_job_free(job);
}
