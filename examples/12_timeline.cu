/* SPDX-License-Identifier: MIT */
/* What overlaps, as a picture: two fully connected layers (fc_layer.cuh), launched without PDL and
 * with it, and drawn from the stamps of their blocks on one axis.
 *
 * Prints the timeline and writes it as a picture and as a trace for Perfetto. Then measures what the
 * stamps cost: the same kernel is compiled twice, with its trace and without. */
#include <cstring>
#include <string>

#include <pdl/cudart.h>
#include <pdl/trace.h>

#include "fc_report.cuh"

#define PDL_TRACE 1
#include <pdl/trace.cuh>
namespace traced
{
#include "fc_layer_kernel.cuh"
} // namespace traced

typedef fc_shape<1> shape;

static const char *const ways[] = {"without PDL", "with PDL"};
static const pdl_overlap overlaps[] = {PDL_OVERLAP_NONE, PDL_OVERLAP_AUTO};
static const int batch_pairs = 100; /* 200 launches, which the launch queue holds */
static const double error_limit = 2e-3;

struct options {
    const char *svg = "timeline.svg";
    const char *trace = "timeline.json";
    const char *json = "/dev/null";
    int size = 4096;
    int pairs = 1;
    int rounds = 41;
};

static unsigned grid_of(const fc_model &m)
{
    return static_cast<unsigned>(std::min(m.rows / shape::rows, shape::blocks_per_sm * m.sm_count));
}

/* Both layers, `count` times over. `stamps` has an element a launch; nullptr: the kernel without
 * its trace. */
static void launch_pairs(const fc_model &m, cudaStream_t stream, pdl_overlap overlap, int count,
                         const pdl_trace_launch *stamps)
{
    const pdl_launch_desc desc =
        pdl_launch_desc_make(grid_of(m), shape::threads, shape::shared_bytes, stream, overlap);
    for (int i = 0; i < count; i++) {
        if (stamps == nullptr) {
            CHECK(pdl_launch_kernel(desc, fc_layer<1, bf16>, m.w1(i), m.x, m.y, m.rows, m.cols,
                                    m.batch, nullptr));
            CHECK(pdl_launch_kernel(desc, fc_layer<1, float>, m.w2(i), m.y, m.z, m.cols, m.rows,
                                    m.batch, nullptr));
        } else {
            CHECK(pdl_launch_kernel(desc, traced::fc_layer<1, bf16>, m.w1(i), m.x, m.y, m.rows,
                                    m.cols, m.batch, nullptr PDL_TRACE_ARGUMENT(stamps[2 * i])));
            CHECK(pdl_launch_kernel(desc, traced::fc_layer<1, float>, m.w2(i), m.y, m.z, m.cols,
                                    m.rows, m.batch,
                                    nullptr PDL_TRACE_ARGUMENT(stamps[2 * i + 1])));
        }
    }
}

static std::vector<pdl_trace_launch> reserve(pdl_trace *trace, const fc_model &m, const char *track,
                                             int pairs)
{
    std::vector<pdl_trace_launch> stamps(2 * static_cast<size_t>(pairs));
    for (size_t i = 0; i < stamps.size(); i++) {
        CHECK(pdl_trace_reserve(trace, i % 2 ? "fc2" : "fc1", track, grid_of(m), &stamps[i]));
    }
    return stamps;
}

/* Lets a kernel have the shared memory that it uses. */
template <typename Kernel> static void prepare(Kernel *kernel)
{
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               shape::shared_bytes));
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                               cudaSharedmemCarveoutMaxShared));
}

/* Stamps a few pairs each way, checks the results and what was stamped. */
static bool stamp(const fc_model &m, const options &options, pdl_trace *trace, gated_stream &gate,
                  pdl_timeline *timeline)
{
    bool good = true;
    const std::vector<double> expected = m.reference(options.pairs - 1);
    for (int way = 0; way < 2; way++) {
        pdl_trace_report report = PDL_TRACE_REPORT_INIT;
        m.poison();
        pdl_trace_reset(trace);
        const auto stamps = reserve(trace, m, ways[way], options.pairs);
        gate.run(
            [&] { launch_pairs(m, gate.stream, overlaps[way], options.pairs, stamps.data()); });
        CHECK(pdl_trace_collect(trace, timeline, &report));
        const double error = largest_relative_error(to_host(m.z, m.x_count()), expected);
        const bool right = error <= error_limit;
        const bool complete = report.blocks == stamps.size() * grid_of(m);
        std::printf("%s: %s (largest relative error %.1e), %s\n", ways[way],
                    right ? "right" : "WRONG", error,
                    complete ? "all blocks stamped" : "blocks WITHOUT STAMPS");
        good = good && right && complete;
    }
    return good;
}

/* Whether the launches overlapped where libpdl granted it, and nowhere else. */
static bool check_overlaps(const pdl_timeline *timeline)
{
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    CHECK(pdl_device_get(0, &info));
    bool good = true;
    for (int way = 0; way < 2; way++) {
        pdl_timeline_summary summary = PDL_TIMELINE_SUMMARY_INIT;
        CHECK(pdl_timeline_summarize(timeline, ways[way], &summary));
        const bool wanted = way == 1 && info.can_overlap != 0;
        if ((summary.overlap_ns > 0) != wanted) {
            std::printf("%s: launches overlapped for %lld ns\n", ways[way],
                        static_cast<long long>(summary.overlap_ns));
            good = false;
        }
    }
    return good;
}

/* Batches with the trace and without, in turn. */
static void measure(FILE *json, const fc_model &m, const options &options, pdl_trace *trace,
                    gated_stream &gate)
{
    std::vector<double> us[2][2];
    pdl_trace_reset(trace);
    const auto stamps = reserve(trace, m, "cost", batch_pairs);
    for (int i = 0; i < options.rounds * 4; i++) { /* the order turns with each round */
        const int choice = (i + i / 4) % 4, way = choice / 2, traced = choice % 2;
        const double batch = gate.run([&] {
            launch_pairs(m, gate.stream, overlaps[way], batch_pairs,
                         traced ? stamps.data() : nullptr);
        });
        us[way][traced].push_back(batch / batch_pairs);
    }
    std::printf("\nwhat the stamps cost: us a pair of layers, median of %d batches of %d pairs "
                "(p25 to p75)\n",
                options.rounds, batch_pairs);
    std::fprintf(json, "], \"rounds\": %d, \"pairs_per_batch\": %d, \"cost\": [", options.rounds,
                 batch_pairs);
    for (int way = 0; way < 2; way++) {
        for (int traced = 0; traced < 2; traced++) {
            const std::vector<double> &samples = us[way][traced];
            std::printf("  %-11s  trace %-3s  %8.3f (%.3f to %.3f)\n", ways[way],
                        traced ? "on" : "off", median(samples), quantile(samples, 0.25),
                        quantile(samples, 0.75));
            std::fprintf(json,
                         "%s\n {\"way\": \"%s\", \"trace\": %s, \"us_per_pair\": %.4f, "
                         "\"p25\": %.4f, \"p75\": %.4f}",
                         way + traced == 0 ? "" : ",", ways[way], traced ? "true" : "false",
                         median(samples), quantile(samples, 0.25), quantile(samples, 0.75));
        }
        std::printf("  %-11s  on / off   %8.4f\n", ways[way],
                    median(us[way][1]) / median(us[way][0]));
    }
    std::fprintf(json, "]}\n");
}

static void describe(FILE *json, const pdl_timeline *timeline, const fc_model &m)
{
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    std::fprintf(json,
                 "{\"program\": \"12_timeline\", \"device\": \"%s\", \"rows\": %d, \"cols\": %d, "
                 "\"clock_step_ns\": %llu, \"tracks\": [",
                 device.name, m.rows, m.cols, device_clock_resolution());
    for (int way = 0; way < 2; way++) {
        pdl_timeline_summary s = PDL_TIMELINE_SUMMARY_INIT;
        CHECK(pdl_timeline_summarize(timeline, ways[way], &s));
        std::fprintf(json,
                     "%s\n {\"track\": \"%s\", \"launches\": %u, \"blocks\": %llu, "
                     "\"span_ns\": %lld, \"busy_ns\": %lld, \"overlap_ns\": %lld, "
                     "\"gap_ns\": %lld, \"blocked_ns\": %lld, \"sm_share\": %.4f}",
                     way == 0 ? "" : ",", ways[way], s.launches,
                     static_cast<unsigned long long>(s.blocks), static_cast<long long>(s.span_ns),
                     static_cast<long long>(s.busy_ns), static_cast<long long>(s.overlap_ns),
                     static_cast<long long>(s.gap_ns), static_cast<long long>(s.blocked_ns),
                     s.sm_share);
    }
}

static bool read_options(int argc, char **argv, options *options)
{
    for (int i = 1; i < argc; i += 2) {
        const std::string name = argv[i];
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (name == "--svg") {
            options->svg = value;
        } else if (name == "--trace") {
            options->trace = value;
        } else if (name == "--json") {
            options->json = value;
        } else if (name == "--size") {
            options->size = std::atoi(value);
        } else if (name == "--pairs") {
            options->pairs = std::atoi(value);
        } else if (name == "--rounds") {
            options->rounds = std::atoi(value);
        } else {
            return false;
        }
        if (*value == '\0') {
            return false;
        }
    }
    return options->size >= 256 && options->size % 256 == 0 && options->pairs >= 1 &&
           options->pairs <= batch_pairs && options->rounds >= 1;
}

int main(int argc, char **argv)
{
    options options;
    if (!read_options(argc, argv, &options)) {
        std::fprintf(stderr, "usage: 12_timeline [--svg FILE] [--trace FILE] [--json FILE]"
                             " [--size N (a multiple of 256)] [--pairs 1..100] [--rounds N]\n");
        return 2;
    }
    require_device("12_timeline");
    FILE *json = std::fopen(options.json, "w");
    if (json == nullptr) {
        std::perror(options.json);
        return 1;
    }
    const fc_model model(options.size, options.size, 1, 1);
    gated_stream gate;
    pdl_trace *trace = nullptr;
    pdl_timeline *timeline = nullptr;
    CHECK(pdl_trace_create(2 * batch_pairs * grid_of(model), &trace));
    CHECK(pdl_timeline_create(&timeline));
    prepare(fc_layer<1, bf16>);
    prepare(fc_layer<1, float>);
    prepare(traced::fc_layer<1, bf16>);
    prepare(traced::fc_layer<1, float>);
    const std::vector<pdl_trace_launch> unstamped(2);
    for (const pdl_overlap overlap :
         overlaps) { /* loads the kernels, which a shut gate would not let */
        launch_pairs(model, gate.stream, overlap, 1, nullptr);
        launch_pairs(model, gate.stream, overlap, 1, unstamped.data());
    }
    CHECK(cudaStreamSynchronize(gate.stream));

    bool good = stamp(model, options, trace, gate, timeline);
    good = check_overlaps(timeline) && good;
    std::printf("\n");
    std::fflush(stdout);
    CHECK(pdl_timeline_write(timeline, PDL_TIMELINE_TEXT, "-", 0));
    CHECK(pdl_timeline_write(timeline, PDL_TIMELINE_SVG, options.svg, 0));
    CHECK(pdl_timeline_write(timeline, PDL_TIMELINE_TRACE, options.trace, 0));
    std::printf("\nwrote the picture %s and the trace %s\n", options.svg, options.trace);
    describe(json, timeline, model);
    measure(json, model, options, trace, gate);
    pdl_timeline_destroy(timeline);
    pdl_trace_destroy(trace);
    if (std::fclose(json) != 0) {
        std::perror(options.json);
        return 1;
    }
    std::printf("%s\n", good ? "PASS" : "FAIL");
    return good ? 0 : 1;
}
