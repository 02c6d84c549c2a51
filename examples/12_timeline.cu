/* SPDX-License-Identifier: MIT */
/* What overlaps, as a picture: two fully connected layers (fc_layer.cuh), launched without PDL and
 * with it, and drawn from the stamps of their blocks on one axis.
 *
 * Both are launched several times in turn, and the run of the median ratio is drawn: printed, and
 * written as a picture and as a trace for Perfetto. Then measures what the stamps cost: the same
 * kernel is compiled twice, with its trace and without. */
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
    int size = 1024;
    int pairs = 2;
    int runs = 21; /* stamped */
    int rounds = 41;
};

static unsigned grid_of(const fc_model &m)
{
    return static_cast<unsigned>(std::min(m.rows / shape::rows, shape::blocks_per_sm * m.sm_count));
}

/* Both layers, `count` times, on the weights from the set `first` on. `stamps` has one element per
 * launch; nullptr: the kernel without its trace. */
static void launch_pairs(const fc_model &m, cudaStream_t stream, pdl_overlap overlap, int first,
                         int count, const pdl_trace_launch *stamps)
{
    const pdl_launch_desc desc =
        pdl_launch_desc_make(grid_of(m), shape::threads, shape::shared_bytes, stream, overlap);
    for (int i = 0; i < count; i++) {
        const bf16 *w1 = m.w1(first + i), *w2 = m.w2(first + i);
        if (stamps == nullptr) {
            CHECK(pdl_launch_kernel(desc, fc_layer<1, bf16>, w1, m.x, m.y, m.rows, m.cols, m.batch,
                                    nullptr));
            CHECK(pdl_launch_kernel(desc, fc_layer<1, float>, w2, m.y, m.z, m.cols, m.rows, m.batch,
                                    nullptr));
        } else {
            CHECK(pdl_launch_kernel(desc, traced::fc_layer<1, bf16>, w1, m.x, m.y, m.rows, m.cols,
                                    m.batch, nullptr PDL_TRACE_ARGUMENT(stamps[2 * i])));
            CHECK(pdl_launch_kernel(desc, traced::fc_layer<1, float>, w2, m.y, m.z, m.cols, m.rows,
                                    m.batch, nullptr PDL_TRACE_ARGUMENT(stamps[2 * i + 1])));
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

/* One timeline of both ways, and how they compare. */
struct stamped_run {
    pdl_timeline *timeline = nullptr;
    pdl_timeline_summary ways[2] = {PDL_TIMELINE_SUMMARY_INIT, PDL_TIMELINE_SUMMARY_INIT};

    double ratio() const
    {
        return static_cast<double>(ways[0].span_ns) / static_cast<double>(ways[1].span_ns);
    }
};

/* Stamps some pairs both ways, and checks the results and the stamps. Each launch has weights of its
 * own, which no launch shortly before it left in the L2 cache. */
static bool stamp(const fc_model &m, const options &options, int run, pdl_trace *trace,
                  gated_stream &gate, stamped_run *stamped)
{
    bool good = true;
    CHECK(pdl_timeline_create(&stamped->timeline));
    for (int way = 0; way < 2; way++) {
        pdl_trace_report report = PDL_TRACE_REPORT_INIT;
        const int first = (2 * run + way) * options.pairs;
        m.poison();
        pdl_trace_reset(trace);
        const auto stamps = reserve(trace, m, ways[way], options.pairs);
        gate.run([&] {
            launch_pairs(m, gate.stream, overlaps[way], first, options.pairs, stamps.data());
        });
        CHECK(pdl_trace_collect(trace, stamped->timeline, &report));
        CHECK(pdl_timeline_summarize(stamped->timeline, ways[way], &stamped->ways[way]));
        const double error = largest_relative_error(to_host(m.z, m.x_count()),
                                                    m.reference(first + options.pairs - 1));
        if (!(error <= error_limit)) {
            std::printf("%s: wrong result, relative error %.1e\n", ways[way], error);
            good = false;
        }
        if (report.blocks != stamps.size() * grid_of(m)) {
            std::printf("%s: blocks without stamps\n", ways[way]);
            good = false;
        }
    }
    return good;
}

/* Whether the launches overlapped where libpdl granted it, and nowhere else. */
static bool check_overlaps(const stamped_run &run)
{
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    CHECK(pdl_device_get(0, &info));
    bool good = true;
    for (int way = 0; way < 2; way++) {
        const bool wanted = way == 1 && info.can_overlap != 0;
        if ((run.ways[way].overlap_ns > 0) != wanted) {
            std::printf("%s: launches overlapped for %lld ns\n", ways[way],
                        static_cast<long long>(run.ways[way].overlap_ns));
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
            launch_pairs(m, gate.stream, overlaps[way], 0, batch_pairs,
                         traced ? stamps.data() : nullptr);
        });
        us[way][traced].push_back(batch / batch_pairs);
    }
    std::printf("\nbatches of %d pairs, µs per pair: median of %d batches (p25 to p75)\n",
                batch_pairs, options.rounds);
    std::fprintf(json, "], \"rounds\": %d, \"pairs_per_batch\": %d, \"cost\": [", options.rounds,
                 batch_pairs);
    for (int way = 0; way < 2; way++) {
        for (int traced = 0; traced < 2; traced++) {
            const std::vector<double> &samples = us[way][traced];
            std::printf("  %-11s  stamps %-3s  %8.3f (%.3f to %.3f)\n", ways[way],
                        traced ? "on" : "off", median(samples), quantile(samples, 0.25),
                        quantile(samples, 0.75));
            std::fprintf(json,
                         "%s\n {\"way\": \"%s\", \"trace\": %s, \"us_per_pair\": %.4f, "
                         "\"p25\": %.4f, \"p75\": %.4f}",
                         way + traced == 0 ? "" : ",", ways[way], traced ? "true" : "false",
                         median(samples), quantile(samples, 0.25), quantile(samples, 0.75));
        }
        std::printf("  %-11s  on / off    %8.4f\n", ways[way],
                    median(us[way][1]) / median(us[way][0]));
    }
    std::printf("  without PDL / with PDL    %8.4f\n", median(us[0][0]) / median(us[1][0]));
    std::fprintf(json, "]}\n");
}

static void describe(FILE *json, const std::vector<stamped_run> &runs, const stamped_run &drawn,
                     const fc_model &m, const char *device)
{
    std::fprintf(json,
                 "{\"program\": \"12_timeline\", \"device\": \"%s\", \"rows\": %d, \"cols\": %d, "
                 "\"clock_step_ns\": %llu, \"runs\": [",
                 device, m.rows, m.cols, device_clock_resolution());
    for (const stamped_run &run : runs) {
        std::fprintf(json, "%s[%lld, %lld]", &run == &runs.front() ? "" : ", ",
                     static_cast<long long>(run.ways[0].span_ns),
                     static_cast<long long>(run.ways[1].span_ns));
    }
    std::fprintf(json, "], \"tracks\": [");
    for (int way = 0; way < 2; way++) {
        const pdl_timeline_summary &s = drawn.ways[way];
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
        } else if (name == "--runs") {
            options->runs = std::atoi(value);
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
           options->pairs <= batch_pairs && options->runs >= 1 && options->rounds >= 1;
}

int main(int argc, char **argv)
{
    options options;
    if (!read_options(argc, argv, &options)) {
        std::fprintf(stderr, "usage: 12_timeline [--svg FILE] [--trace FILE] [--json FILE]"
                             " [--size N (a multiple of 256)] [--pairs 1..100] [--runs N]"
                             " [--rounds N]\n");
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
    CHECK(pdl_trace_create(2 * batch_pairs * grid_of(model), &trace));
    prepare(fc_layer<1, bf16>);
    prepare(fc_layer<1, float>);
    prepare(traced::fc_layer<1, bf16>);
    prepare(traced::fc_layer<1, float>);
    const std::vector<pdl_trace_launch> unstamped(2);
    for (const pdl_overlap overlap :
         overlaps) { /* loads the kernels, which a shut gate would not let */
        launch_pairs(model, gate.stream, overlap, 0, 1, nullptr);
        launch_pairs(model, gate.stream, overlap, 0, 1, unstamped.data());
    }
    CHECK(cudaStreamSynchronize(gate.stream));

    bool good = true;
    std::vector<stamped_run> runs(static_cast<size_t>(options.runs));
    for (size_t run = 0; run < runs.size(); run++) {
        good = stamp(model, options, static_cast<int>(run), trace, gate, &runs[run]) && good;
        good = check_overlaps(runs[run]) && good;
    }
    std::vector<stamped_run> sorted = runs;
    std::sort(sorted.begin(), sorted.end(),
              [](const stamped_run &a, const stamped_run &b) { return a.ratio() < b.ratio(); });
    const stamped_run &drawn = sorted[sorted.size() / 2];
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    CHECK(pdl_timeline_add_note(drawn.timeline,
                                (std::string("Measured on ") + device.name + ".").c_str()));
    std::fflush(stdout);
    CHECK(pdl_timeline_write(drawn.timeline, PDL_TIMELINE_TEXT, "-", 0));
    CHECK(pdl_timeline_write(drawn.timeline, PDL_TIMELINE_SVG, options.svg, 0));
    CHECK(pdl_timeline_write(drawn.timeline, PDL_TIMELINE_TRACE, options.trace, 0));
    std::printf("\nof %d runs the one of the median ratio, %.2f (%.2f to %.2f)\n", options.runs,
                drawn.ratio(), sorted.front().ratio(), sorted.back().ratio());
    describe(json, runs, drawn, model, device.name);
    measure(json, model, options, trace, gate);
    std::printf("\npicture: %s\ntrace for Perfetto: %s\n", options.svg, options.trace);
    for (const stamped_run &run : runs) {
        pdl_timeline_destroy(run.timeline);
    }
    pdl_trace_destroy(trace);
    if (std::fclose(json) != 0) {
        std::perror(options.json);
        return 1;
    }
    std::printf("%s\n", good ? "PASS" : "FAIL");
    return good ? 0 : 1;
}
