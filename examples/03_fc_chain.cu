/* SPDX-License-Identifier: MIT */
/* Two fully connected layers in a row, as at every step of a decoder: y = W1 x, z = W2 y, in bf16.
 *
 * The second layer's first weights are loaded before its wait (fc_layer.cuh), so its launch, its
 * ramp and the first layer's tail overlap. Launched four ways in one run: `<<<>>>`,
 * cudaLaunchKernelEx with the PDL attribute, libpdl without and libpdl with overlap. */
#include <cstring>
#include <random>

#include <pdl/cudart.h>

#include "fc_report.cuh"

enum way { PLAIN, RAW_PDL, SERIAL, OVERLAPPED, WAYS };
static const way all_ways[WAYS] = {PLAIN, RAW_PDL, SERIAL, OVERLAPPED};
static const char *const way_names[WAYS] = {"<<<>>>", "cudaLaunchKernelEx with PDL",
                                            "libpdl, PDL_OVERLAP_NONE", "libpdl, PDL_OVERLAP_AUTO"};
static const char *const way_keys[WAYS] = {"plain", "raw_pdl", "libpdl_none", "libpdl_auto"};

static const int pairs = 100; /* in a batch: 200 launches, which the launch queue holds */
static const double error_limit = 2e-3;
static int rounds = 41; /* of timed batches */

template <int Tiles, typename Out>
static void launch_layer(way how, const fc_model &m, cudaStream_t stream, const bf16 *w,
                         const bf16 *x, Out *y, int rows, int cols, kernel_stamps *stamps)
{
    typedef fc_shape<Tiles> shape;
    const unsigned grid =
        static_cast<unsigned>(std::min(rows / shape::rows, shape::blocks_per_sm * m.sm_count));
    if (how == PLAIN) {
        fc_layer<Tiles, Out><<<grid, shape::threads, shape::shared_bytes, stream>>>(
            w, x, y, rows, cols, m.batch, stamps);
        CHECK(cudaGetLastError());
    } else if (how == RAW_PDL) {
        cudaLaunchAttribute attribute = {};
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        cudaLaunchConfig_t config = {};
        config.gridDim = grid;
        config.blockDim = shape::threads;
        config.dynamicSmemBytes = shape::shared_bytes;
        config.stream = stream;
        config.attrs = &attribute;
        config.numAttrs = 1;
        CHECK(cudaLaunchKernelEx(&config, fc_layer<Tiles, Out>, w, x, y, rows, cols, m.batch,
                                 stamps));
    } else {
        const pdl_launch_desc desc =
            pdl_launch_desc_make(grid, shape::threads, shape::shared_bytes, stream,
                                 how == SERIAL ? PDL_OVERLAP_NONE : PDL_OVERLAP_AUTO);
        CHECK(pdl_launch_kernel(desc, fc_layer<Tiles, Out>, w, x, y, rows, cols, m.batch, stamps));
    }
}

/* Both layers, `count` times over, each time on the next set of weights. */
template <int Tiles>
static void launch_pairs(way how, const fc_model &m, cudaStream_t stream, int count,
                         kernel_stamps *stamps = nullptr)
{
    for (int i = 0; i < count; i++) {
        launch_layer<Tiles>(how, m, stream, m.w1(i), m.x, m.y, m.rows, m.cols,
                            stamps ? stamps + 2 * i : nullptr);
        launch_layer<Tiles>(how, m, stream, m.w2(i), m.y, m.z, m.cols, m.rows,
                            stamps ? stamps + 2 * i + 1 : nullptr);
    }
}

/* Lets the layers have the shared memory that they use, and says whether libpdl grants the overlap.
 */
template <int Tiles, typename Out> static pdl_launch_report prepare()
{
    const int bytes = fc_shape<Tiles>::shared_bytes;
    CHECK(cudaFuncSetAttribute(fc_layer<Tiles, Out>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               bytes));
    CHECK(cudaFuncSetAttribute(fc_layer<Tiles, Out>, cudaFuncAttributePreferredSharedMemoryCarveout,
                               cudaSharedmemCarveoutMaxShared));
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    pdl_kernel *kernel = nullptr;
    CHECK(pdl_kernel_from_symbol(fc_layer<Tiles, Out>, &kernel));
    const pdl_launch_desc desc =
        pdl_launch_desc_make(1, fc_shape<Tiles>::threads, bytes, nullptr, PDL_OVERLAP_AUTO);
    CHECK(pdl_launch_explain(kernel, &desc, &report));
    pdl_kernel_destroy(kernel);
    return report;
}

template <int Tiles> static bool measure(const fc_model &m, FILE *json)
{
    prepare<Tiles, bf16>();
    const pdl_launch_report report = prepare<Tiles, float>();
    gated_stream gate;
    kernel_stamps *device_stamps = nullptr;
    CHECK(cudaMalloc(&device_stamps, 2 * pairs * sizeof(*device_stamps)));
    for (const way how : all_ways) { /* loads the kernels, which a shut gate would not let */
        launch_pairs<Tiles>(how, m, gate.stream, 1);
        CHECK(cudaStreamSynchronize(gate.stream));
    }

    /* Right, and overlapped: what the last pair left, and when each pair's kernels ran. */
    way_result results[WAYS] = {};
    const std::vector<double> expected = m.reference(pairs - 1);
    std::vector<float> plain_z;
    bool good = true;
    for (const way how : all_ways) {
        way_result &r = results[how];
        std::vector<kernel_stamps> stamps(2 * pairs, kernel_stamps{~0ull, 0});
        CHECK(cudaMemcpy(device_stamps, stamps.data(), stamps.size() * sizeof(stamps[0]),
                         cudaMemcpyHostToDevice));
        m.poison();
        gate.run([&] { launch_pairs<Tiles>(how, m, gate.stream, pairs, device_stamps); });
        stamps = to_host(device_stamps, stamps.size());
        for (size_t i = 0; i < stamps.size(); i += 2) { /* modulo 2^64: negative if it came after */
            r.early_ns.push_back(static_cast<double>(
                static_cast<long long>(stamps[i].last_end - stamps[i + 1].first_start)));
        }
        const std::vector<float> z = to_host(m.z, m.x_count());
        plain_z = how == PLAIN ? z : plain_z;
        r.name = way_names[how];
        r.key = way_keys[how];
        r.error = largest_relative_error(z, expected);
        if (!(r.error <= error_limit) ||
            std::memcmp(z.data(), plain_z.data(), z.size() * sizeof(z[0])) != 0) {
            std::printf("%s: wrong result\n", r.name);
            good = false;
        }
    }
    for (int i = 0; i < rounds * WAYS; i++) { /* a round runs each way once, the order turns */
        const way how = all_ways[(i + i / WAYS) % WAYS];
        const double us = gate.run([&] { launch_pairs<Tiles>(how, m, gate.stream, pairs); });
        results[how].us.push_back(us / pairs);
    }
    CHECK(cudaFree(device_stamps));

    print_batch(json, m, pairs, results[PLAIN].us.size(), report.overlap != 0);
    for (const way_result &r : results) {
        print_way(json, m, r);
    }
    std::fprintf(json, "}");
    const double overlapped_us = median(results[OVERLAPPED].us);
    std::printf("  overlapped: %.3f times as fast as serial, %.3f of raw CUDA's time with PDL\n",
                median(results[SERIAL].us) / overlapped_us,
                overlapped_us / median(results[RAW_PDL].us));
    std::printf("  libpdl: %s\n", report.message);
    /* With the host out of it, what is granted happens nearly every time. */
    const bool happened = results[OVERLAPPED].overlapped() >= pairs * 9 / 10;
    if (results[SERIAL].overlapped() != 0 || happened != (report.overlap != 0)) {
        std::printf("  the overlap was not as granted\n");
        good = false;
    }
    return good;
}

int main(int argc, char **argv)
{
    int rows = 4096, cols = 4096, batch = 0;
    const char *json_path = "/dev/null";
    unsigned long long seed = std::random_device{}();
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i];
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        const bool size = std::strcmp(name, "--size") == 0;
        if (std::strcmp(name, "--json") == 0 && *value != '\0') {
            json_path = value;
        } else if (std::strcmp(name, "--batch") == 0) {
            batch = std::atoi(value);
        } else if (std::strcmp(name, "--rounds") == 0) {
            rounds = std::max(1, std::atoi(value));
        } else if (std::strcmp(name, "--seed") == 0) {
            seed = std::strtoull(value, nullptr, 10);
        } else if (size || std::strcmp(name, "--rows") == 0 || std::strcmp(name, "--cols") == 0) {
            rows = size || name[2] == 'r' ? std::atoi(value) : rows;
            cols = size || name[2] == 'c' ? std::atoi(value) : cols;
        } else {
            rows = 0;
            break;
        }
    }
    if (rows < 256 || cols < 256 || rows % 256 != 0 || cols % 256 != 0 || batch < 0 || batch > 16) {
        std::fprintf(stderr,
                     "usage: 03_fc_chain [--size N | --rows N --cols N (multiples of 256)]"
                     " [--batch 1..16 (else 1 and 16)] [--rounds N] [--seed N] [--json FILE]\n");
        return 2;
    }
    require_device("03_fc_chain");

    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    FILE *json = std::fopen(json_path, "w");
    if (json == nullptr) {
        std::perror(json_path);
        return 1;
    }
    bool good = true;
    const std::vector<int> batches = batch != 0 ? std::vector<int>{batch} : std::vector<int>{1, 16};
    for (const int each : batches) {
        const fc_model model(rows, cols, each, seed);
        if (each == batches.front()) {
            print_machine(json, device, model, seed, device_clock_resolution());
        } else {
            std::fprintf(json, ",");
        }
        good = (each <= 8 ? measure<1>(model, json) : measure<2>(model, json)) && good;
    }
    std::fprintf(json, "]}\n");
    if (std::fclose(json) != 0) {
        std::perror(json_path);
        return 1;
    }
    std::printf("%s\n", good ? "PASS" : "FAIL");
    return good ? 0 : 1;
}
