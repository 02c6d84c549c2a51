/* SPDX-License-Identifier: MIT */
/* Traces of real kernels: every block once, at times that hold together, on SMs that there are. */
#define PDL_TRACE 1
#include <pdl/trace.cuh>

#include <algorithm>
#include <string>

#include <pdl/chain.h>
#include <pdl/trace.h>

#include "gpu_test.cuh"

static const unsigned threads = 128;

/* Spins before its wait, and before and after its trigger. */
static __global__ void spinner(unsigned long long before, unsigned long long main_part,
                               unsigned long long after PDL_TRACE_PARAMETER)
{
    PDL_TRACE_BEGIN();
    spin(before);
    PDL_TRACE_WAIT();
    spin(main_part);
    __syncthreads();
    PDL_TRACE_LAUNCH_DEPENDENTS();
    spin(after);
    PDL_TRACE_END();
}

/* Tells where its stamps ought to be: by the thread that does not take them. */
struct witness {
    unsigned long long start, end;
    unsigned sm, visits;
};

static __global__ void witnessed(witness *witnesses PDL_TRACE_PARAMETER)
{
    const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const bool last = threadIdx.x == blockDim.x - 1 && threadIdx.y == blockDim.y - 1 &&
                      threadIdx.z == blockDim.z - 1;
    __shared__ unsigned long long begin;
    if (last) {
        begin = device_clock();
    }
    __syncthreads();
    PDL_TRACE_BEGIN();
    spin(2000);
    PDL_TRACE_END();
    __syncthreads();
    if (last) {
        unsigned sm;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        witnesses[block].start = begin;
        witnesses[block].end = device_clock();
        witnesses[block].sm = sm;
        witnesses[block].visits++;
    }
}

/* Some blocks leave without a word, by a parameter that changes. */
static __global__ void leaver(const unsigned *stay PDL_TRACE_PARAMETER)
{
    PDL_TRACE_BEGIN();
    if (blockIdx.x >= *stay) {
        return;
    }
    PDL_TRACE_END();
}

static __global__ void no_parameters(PDL_TRACE_ONLY_PARAMETER)
{
    PDL_TRACE_BEGIN();
    PDL_TRACE_END();
}

static cudaStream_t stream;
static pdl_trace *trace;
static pdl_timeline *timeline;

static void set_up(void)
{
    assert_cuda(cudaFree(nullptr)); /* a context, which a trace needs */
    stream = new_stream();
    assert_pdl(pdl_trace_create(4096, &trace));
    undo_later([] { pdl_trace_destroy(trace); });
    assert_pdl(pdl_timeline_create(&timeline));
    undo_later([] { pdl_timeline_destroy(timeline); });
}

static pdl_trace_launch reserve(const char *kernel, const char *track, uint32_t blocks)
{
    pdl_trace_launch launch;
    assert_pdl(pdl_trace_reserve(trace, kernel, track, blocks, &launch));
    return launch;
}

static pdl_trace_report collect(void)
{
    pdl_trace_report report = PDL_TRACE_REPORT_INIT;
    assert_cuda(cudaStreamSynchronize(stream));
    assert_pdl(pdl_trace_collect(trace, timeline, &report));
    return report;
}

static pdl_timeline_summary sum_up(const char *track)
{
    pdl_timeline_summary summary = PDL_TIMELINE_SUMMARY_INIT;
    assert_pdl(pdl_timeline_summarize(timeline, track, &summary));
    return summary;
}

/* The blocks as the trace file has them, which is the one form that tells all. */
struct stamped {
    long launch, number, sm;
    double start_us, us;
    long wait, waited, triggered;
};

static long field(const std::string &line, const char *key, long otherwise)
{
    const size_t at = line.find(std::string("\"") + key + "\":");
    return at == std::string::npos ? otherwise : atol(line.c_str() + at + strlen(key) + 3);
}

static std::vector<stamped> blocks_of_timeline(void)
{
    std::vector<stamped> blocks;
    char path[] = "trace_test-XXXXXX";
    const int made = mkstemp(path);
    assert_true(made >= 0);
    assert_pdl(pdl_timeline_write(timeline, PDL_TIMELINE_TRACE, path, 0));
    FILE *file = fdopen(made, "r");
    assert_non_null(file);
    char text[1024];
    while (fgets(text, sizeof(text), file) != nullptr) {
        const std::string line = text;
        if (line.find("\"cat\":\"block\"") != std::string::npos) {
            stamped b;
            b.launch = field(line, "launch", -1);
            b.number = field(line, "block", -1);
            b.sm = field(line, "sm", -1);
            b.start_us = atof(line.c_str() + line.find("\"ts\":") + 5);
            b.us = atof(line.c_str() + line.find("\"dur\":") + 6);
            b.wait = field(line, "wait_ns", -1);
            b.waited = field(line, "waited_ns", -1);
            b.triggered = field(line, "triggered_ns", -1);
            blocks.push_back(b);
        }
    }
    assert_int_equal(fclose(file), 0);
    assert_int_equal(remove(path), 0);
    std::sort(blocks.begin(), blocks.end(), [](const stamped &a, const stamped &b) {
        return a.launch != b.launch ? a.launch < b.launch : a.number < b.number;
    });
    return blocks;
}

static void launch_spinner(pdl_overlap overlap, unsigned grid, const pdl_trace_launch &launch)
{
    const pdl_launch_desc desc = pdl_launch_desc_make(grid, threads, 0, stream, overlap);
    assert_pdl(
        pdl_launch_kernel(desc, spinner, 5000ull, 20000ull, 10000ull PDL_TRACE_ARGUMENT(launch)));
}

/* ---- stamps ----------------------------------------------------------------------------------- */

TEST(every_block_is_stamped_within_its_time_and_on_its_sm)
{
    const dim3 grid(5, 7, 11), block(8, 4, 2);
    const unsigned count = 5 * 7 * 11;
    witness *const witnesses = device_memory<witness>(count);
    const pdl_trace_launch launch = reserve("witnessed", "s", count);
    const pdl_launch_desc desc = pdl_launch_desc_make(grid, block, 0, stream);
    assert_cuda(cudaDeviceSynchronize());
    assert_pdl(pdl_launch_kernel(desc, witnessed, witnesses PDL_TRACE_ARGUMENT(launch)));
    assert_int_equal(collect().blocks, count);
    const std::vector<witness> seen = contents(witnesses, count);
    const std::vector<stamped> blocks = blocks_of_timeline();
    assert_int_equal(blocks.size(), count);
    /* The timeline begins at the first stamp: after the first witness, by less than a block takes. */
    unsigned long long first = ~0ull;
    for (const witness &w : seen) {
        first = std::min(first, w.start);
    }
    for (unsigned i = 0; i < count; i++) {
        const double start = static_cast<double>(seen[i].start - first) * 1e-3;
        const double end = static_cast<double>(seen[i].end - first) * 1e-3;
        assert_int_equal(blocks[i].number, i);
        assert_int_equal(blocks[i].sm, seen[i].sm);
        assert_int_equal(seen[i].visits, 1);
        assert_true(blocks[i].us >= 2.0);
        assert_true(blocks[i].us <= end - start + 1e-6);
        assert_true(blocks[i].start_us >= start - 5.0 && blocks[i].start_us <= end);
    }
}

TEST(stamps_of_a_block_are_in_order_and_as_far_apart_as_it_spins)
{
    const unsigned grid = 64;
    launch_spinner(PDL_OVERLAP_NONE, grid, reserve("spinner", "s", grid));
    assert_int_equal(collect().blocks, grid);
    for (const stamped &b : blocks_of_timeline()) {
        const double start = b.start_us * 1e3;
        assert_true(static_cast<double>(b.wait) >= start + 5000 - 100);
        assert_true(b.waited >= b.wait);
        assert_true(b.triggered >= b.waited + 20000 - 100);
        assert_true(start + b.us * 1e3 >= static_cast<double>(b.triggered) + 10000 - 100);
    }
}

TEST(a_launch_of_zeros_leaves_no_stamps)
{
    launch_spinner(PDL_OVERLAP_NONE, 8, pdl_trace_launch());
    assert_int_equal(collect().blocks, 0);
    const pdl_launch_desc desc = pdl_launch_desc_make(8, threads, 0, stream);
    assert_pdl(pdl_launch_kernel(
        desc, no_parameters PDL_TRACE_ARGUMENT(reserve("no_parameters", "s", 8))));
    assert_int_equal(collect().blocks, 8);
}

TEST(blocks_beyond_what_was_reserved_touch_nothing)
{
    const pdl_trace_launch few = reserve("spinner", "s", 3);
    const pdl_trace_launch next = reserve("spinner", "s", 5);
    launch_spinner(PDL_OVERLAP_NONE, 5, next);
    launch_spinner(PDL_OVERLAP_NONE, 64, few);
    const pdl_trace_report report = collect();
    assert_int_equal(report.blocks, 8);
    assert_int_equal(report.unwritten, 0);
}

/* ---- overlap ---------------------------------------------------------------------------------- */

TEST(with_pdl_the_launches_overlap_and_without_they_do_not)
{
    static const char *const ways[] = {"without", "with"};
    static const pdl_overlap overlaps[] = {PDL_OVERLAP_NONE, PDL_OVERLAP_AUTO};
    for (int warm = 0; warm < 2; warm++) {
        launch_spinner(overlaps[warm], 32, pdl_trace_launch());
    }
    for (int way = 0; way < 2; way++) {
        pdl_trace_reset(trace);
        for (int i = 0; i < 4; i++) {
            launch_spinner(overlaps[way], 32, reserve(i % 2 ? "fc2" : "fc1", ways[way], 32));
        }
        assert_int_equal(collect().blocks, 4 * 32);
    }
    const pdl_timeline_summary without = sum_up("without"), with = sum_up("with");
    assert_int_equal(without.overlap_ns, 0);
    assert_true(without.gap_ns > 0);
    assert_if_concurrent(with.overlap_ns > 3 * 5000);
    assert_if_concurrent(with.span_ns < without.span_ns);
    assert_if_concurrent(with.blocked_ns > without.blocked_ns);
}

TEST(no_wait_returns_before_the_launch_before_has_ended)
{
    launch_spinner(PDL_OVERLAP_AUTO, 32, pdl_trace_launch());
    for (int i = 0; i < 4; i++) {
        launch_spinner(PDL_OVERLAP_AUTO, 32, reserve("spinner", "s", 32));
    }
    assert_int_equal(collect().blocks, 4 * 32);
    double last_end[4] = {};
    const std::vector<stamped> blocks = blocks_of_timeline();
    for (const stamped &b : blocks) {
        last_end[b.launch] = std::max(last_end[b.launch], (b.start_us + b.us) * 1e3);
    }
    for (const stamped &b : blocks) {
        if (b.launch > 0) { /* the stamp of the end is taken before the block has ended */
            assert_true(static_cast<double>(b.waited) >= last_end[b.launch - 1] - 100);
        }
    }
}

/* ---- rings, replays and what is lost ----------------------------------------------------------- */

TEST(the_ring_keeps_the_newest_launches)
{
    for (int i = 0; i < 100; i++) { /* 100 x 100 blocks of 4096 */
        const pdl_launch_desc desc = pdl_launch_desc_make(100, 32, 0, stream);
        assert_pdl(pdl_launch_kernel(
            desc, no_parameters PDL_TRACE_ARGUMENT(reserve("no_parameters", "s", 100))));
    }
    const pdl_trace_report report = collect();
    assert_int_equal(report.launches, 40);
    assert_int_equal(report.blocks, 4000);
    assert_int_equal(report.overwritten, 6000);
    assert_int_equal(report.unwritten + report.timer, 0);
    assert_int_equal(sum_up("s").lost, 6000);
}

TEST(a_replay_of_a_chain_leaves_the_newest_stamps)
{
    pdl_chain *chain = nullptr;
    pdl_kernel *const kernel = kernel_of(spinner);
    assert_pdl(pdl_chain_create(nullptr, &chain));
    undo_later([chain] { pdl_chain_destroy(chain); });
    const pdl_launch_desc desc = pdl_launch_desc_make(32, threads, 0, nullptr, PDL_OVERLAP_AUTO);
    unsigned long long before = 5000, main_part = 20000, after = 10000;
    for (int i = 0; i < 2; i++) {
        pdl_trace_launch launch = reserve(i ? "fc2" : "fc1", "chain", 32);
        assert_pdl(pdl_chain_add(chain, kernel, &desc, PDL_ARGS(before, main_part, after, launch),
                                 nullptr, 0, nullptr));
    }
    assert_pdl(pdl_chain_build(chain));
    for (int replay = 0; replay < 5; replay++) {
        assert_pdl(pdl_chain_launch(chain, stream));
    }
    const pdl_trace_report report = collect();
    assert_int_equal(report.launches, 2);
    assert_int_equal(report.blocks, 64);
    /* One replay, and not the first start of one with the last end of another. */
    assert_true(sum_up("chain").span_ns < 2 * 5 * 35000);
    assert_if_concurrent(sum_up("chain").overlap_ns > 0);
}

TEST(a_block_that_leaves_is_lost_though_an_earlier_run_stamped_it)
{
    unsigned *stay = shared_value(16u);
    const pdl_trace_launch launch = reserve("leaver", "s", 16);
    const pdl_launch_desc desc = pdl_launch_desc_make(16, threads, 0, stream);
    assert_pdl(pdl_launch_kernel(desc, leaver, stay PDL_TRACE_ARGUMENT(launch)));
    assert_int_equal(collect().blocks, 16);
    *stay = 6;
    assert_pdl(pdl_launch_kernel(desc, leaver, stay PDL_TRACE_ARGUMENT(launch)));
    const pdl_trace_report report = collect();
    assert_int_equal(report.blocks, 6);
    assert_int_equal(report.unwritten, 10);
}

TEST(a_fresh_buffer_is_clean_for_a_stream_that_waits_for_nobody)
{
    for (int i = 0; i < 20; i++) {
        pdl_trace *fresh = nullptr;
        pdl_trace_launch launch;
        pdl_trace_report report = PDL_TRACE_REPORT_INIT;
        assert_pdl(pdl_trace_create(1u << 20, &fresh)); /* 48 MiB to be set to zero */
        assert_pdl(pdl_trace_reserve(fresh, "no_parameters", "s", 256, &launch));
        const pdl_launch_desc desc = pdl_launch_desc_make(256, 32, 0, stream);
        assert_pdl(pdl_launch_kernel(desc, no_parameters PDL_TRACE_ARGUMENT(launch)));
        assert_cuda(cudaStreamSynchronize(stream));
        assert_pdl(pdl_trace_collect(fresh, timeline, &report));
        assert_int_equal(report.blocks, 256);
        pdl_trace_destroy(fresh);
    }
}

int main()
{
    return run_gpu_tests(set_up);
}
