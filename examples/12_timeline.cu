/* SPDX-License-Identifier: MIT */
/* What overlaps, as a picture: two fully connected layers (fc_layer.cuh), launched without PDL and with
 * it, and drawn from the stamps of their blocks on one axis.
 *
 * Both are launched several times in turn, and the run of the median ratio is drawn: printed, and
 * written as a picture and as a trace for Perfetto. */
#include <cstring>
#include <string>

#include <pdl/cudart.h>
#include <pdl/trace.h>

#define PDL_TRACE 1
#include "fc_layer.cuh"

static const char *const ways[] = {"without PDL", "with PDL"};
static const pdl_overlap overlaps[] = {PDL_OVERLAP_NONE, PDL_OVERLAP_AUTO};
static const int n = 1024;                           /* rows and columns */
static const int pairs = 2;                          /* of layers */
static const int runs = 21, sets = 2 * runs * pairs; /* of weights, each used once */

struct layers {
    bf16 *weights, *x, *y;
    float *z;
    cudaStream_t stream;

    /* Launches the pairs on the sets of weights from `first` on; `stamps`: one for each launch. */
    void launch(int way, int first, const pdl_trace_launch *stamps) const
    {
        const pdl_launch_desc desc =
            pdl_launch_desc_make(n / fc_rows, fc_threads, fc_shared_bytes, stream, overlaps[way]);
        for (int i = 0; i < pairs; i++) {
            const bf16 *const w = weights + static_cast<size_t>(first + i) * 2 * n * n;
            CHECK(pdl_launch_kernel(desc, fc_layer<bf16>, w, x, y,
                                    n PDL_TRACE_ARGUMENT(stamps[2 * i])));
            CHECK(pdl_launch_kernel(desc, fc_layer<float>, w + static_cast<size_t>(n) * n, y, z,
                                    n PDL_TRACE_ARGUMENT(stamps[2 * i + 1])));
        }
    }
};

/* Whether z is what the layers make of ones by weights that are all 1/1024: ones, to the bit. */
static bool is_right(const layers &l)
{
    const std::vector<float> z = to_host(l.z, n);
    return std::all_of(z.begin(), z.end(), [](float value) { return value == 1.0f; });
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

/* Whether results are right, all blocks left stamps, and launches overlapped where it was granted. */
static bool stamp(const layers &l, int run, pdl_trace *trace, bool granted, stamped_run *stamped)
{
    bool good = true;
    CHECK(pdl_timeline_create(&stamped->timeline));
    for (int way = 0; way < 2; way++) {
        pdl_trace_report report = PDL_TRACE_REPORT_INIT;
        pdl_trace_launch stamps[2 * pairs];
        pdl_trace_reset(trace);
        CHECK(cudaMemset(l.y, 0xff, n * sizeof(bf16))); /* not-a-number */
        CHECK(cudaMemset(l.z, 0xff, n * sizeof(float)));
        CHECK(cudaDeviceSynchronize());
        for (int i = 0; i < 2 * pairs; i++) {
            CHECK(pdl_trace_reserve(trace, i % 2 ? "fc2" : "fc1", ways[way], n / fc_rows,
                                    &stamps[i]));
        }
        device_us(l.stream, [&] { l.launch(way, (2 * run + way) * pairs, stamps); });
        CHECK(pdl_trace_collect(trace, stamped->timeline, &report));
        CHECK(pdl_timeline_summarize(stamped->timeline, ways[way], &stamped->ways[way]));
        const long long overlap = stamped->ways[way].overlap_ns;
        const bool right = is_right(l);
        if (!right || report.blocks != 2 * pairs * n / fc_rows ||
            (overlap > 0) != (way == 1 && granted)) {
            std::printf(
                "%s: %s results, %llu blocks with stamps, launches overlapped for %lld ns\n",
                ways[way], right ? "right" : "wrong",
                static_cast<unsigned long long>(report.blocks), overlap);
            good = false;
        }
    }
    return good;
}

int main(int argc, char **argv)
{
    const char *svg = "timeline.svg", *json = "timeline.json";
    for (int i = 1; i < argc; i += 2) {
        const bool last = i + 1 == argc;
        if (!last && std::strcmp(argv[i], "--svg") == 0) {
            svg = argv[i + 1];
        } else if (!last && std::strcmp(argv[i], "--trace") == 0) {
            json = argv[i + 1];
        } else {
            std::fprintf(stderr, "usage: 12_timeline [--svg FILE] [--trace FILE]\n");
            return 2;
        }
    }
    const pdl_device_info device = require_device("12_timeline");
    const std::vector<bf16> weights(2 * static_cast<size_t>(n) * n, __float2bfloat16(1.0f / n));
    layers l = {allocate<bf16>(sets * weights.size()),
                to_device(std::vector<bf16>(n, __float2bfloat16(1.0f))), allocate<bf16>(n),
                allocate<float>(n), nullptr};
    for (int i = 0; i < sets; i++) { /* of its own: no launch has left them in the L2 cache */
        CHECK(cudaMemcpy(l.weights + i * weights.size(), weights.data(),
                         weights.size() * sizeof(bf16), cudaMemcpyHostToDevice));
    }
    CHECK(cudaStreamCreateWithFlags(&l.stream, cudaStreamNonBlocking));
    prepare(fc_layer<bf16>);
    prepare(fc_layer<float>);
    const pdl_trace_launch unstamped[2 * pairs] = {};
    for (int way = 0; way < 2; way++) {
        l.launch(way, 0, unstamped); /* loads the kernels */
    }
    bool good = true;

    pdl_trace *trace = nullptr;
    CHECK(pdl_trace_create(2 * pairs * n / fc_rows, &trace));
    std::vector<stamped_run> all(runs);
    for (int run = 0; run < runs; run++) {
        good = stamp(l, run, trace, device.can_overlap != 0, &all[run]) && good;
    }
    std::sort(all.begin(), all.end(),
              [](const stamped_run &a, const stamped_run &b) { return a.ratio() < b.ratio(); });
    const stamped_run &drawn = all[runs / 2];
    CHECK(pdl_timeline_add_note(drawn.timeline,
                                (std::string("Measured on ") + device.name + ".").c_str()));
    std::fflush(stdout);
    CHECK(pdl_timeline_write(drawn.timeline, PDL_TIMELINE_TEXT, "-", 0));
    CHECK(pdl_timeline_write(drawn.timeline, PDL_TIMELINE_SVG, svg, 0));
    CHECK(pdl_timeline_write(drawn.timeline, PDL_TIMELINE_TRACE, json, 0));
    std::printf("\nof %d runs the one of the median ratio, %.2f (%.2f to %.2f)\n", runs,
                drawn.ratio(), all.front().ratio(), all.back().ratio());
    std::printf("picture: %s\ntrace for Perfetto: %s\n", svg, json);
    for (const stamped_run &run : all) {
        pdl_timeline_destroy(run.timeline);
    }
    pdl_trace_destroy(trace);
    return verdict(good);
}
