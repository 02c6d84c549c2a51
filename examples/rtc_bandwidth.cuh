/* SPDX-License-Identifier: MIT */
/* How much of the memory's bandwidth a sigmoid of halves has, with pointers of any alignment, beside two
 * ways to copy as much. */
#ifndef PDL_EXAMPLES_RTC_BANDWIDTH_CUH
#define PDL_EXAMPLES_RTC_BANDWIDTH_CUH

#include <functional>
#include <string>

#include <pdl/rtc.h>
#include <pdl/vector.h>

#include "rtc_reference.cuh"
#include "timing.cuh"

static const long long bandwidth_count = 256ll << 20; /* halves: 512 MiB read, as much written */

/* Blocks of 256 threads, each of them four times 16 bytes. */
static __global__ void plain_copy(uint4 *to, const uint4 *from)
{
    const size_t at = blockIdx.x * size_t{1024} + threadIdx.x;
    uint4 values[4];
    for (int i = 0; i < 4; i++) {
        values[i] = from[at + 256 * i];
    }
    for (int i = 0; i < 4; i++) {
        to[at + 256 * i] = values[i];
    }
}

struct bandwidth_way {
    const char *name;
    const char *key;
    std::function<void()> run;
    std::vector<double> us;
    double share;
};

/* A launch of sigmoid, planned once. */
inline std::function<void()> sigmoid_launch(const uint16_t *in, uint16_t *out, cudaStream_t stream)
{
    const pdl_vector_operand operands[] = {{reinterpret_cast<uint64_t>(out), 0, 2, 0},
                                           {reinterpret_cast<uint64_t>(in), 0, 2, 0}};
    pdl_vector_plan plan = PDL_VECTOR_PLAN_INIT;
    CHECK(pdl_vector_plan_make(operands, 2, 1, bandwidth_count, -1, &plan));
    const std::string name = "unary<sigmoid, pdl_half, pdl_half, " + std::to_string(plan.width) +
                             ", " + std::to_string(plan.unroll) + ", 0>";
    pdl_kernel *kernel = nullptr;
    CHECK(pdl_rtc_kernel(nullptr, unary_text, name.c_str(), nullptr, &kernel));
    pdl_launch_desc desc;
    pdl_launch_desc_init(&desc);
    std::memcpy(desc.grid, plan.grid, sizeof(desc.grid));
    std::memcpy(desc.block, plan.block, sizeof(desc.block));
    desc.stream = stream;
    const long long rows = 1, stride = 0;
    return [=] {
        CHECK(pdl_launch(kernel, desc, PDL_ARGS(rows, bandwidth_count, out, stride, in, stride)));
    };
}

/* Wrong ones among some of the results, from all over the array. */
inline long long wrong_sigmoids(const uint16_t *out, const std::vector<uint16_t> &from)
{
    std::vector<uint16_t> got(from.size());
    long long wrong = 0;
    CHECK(cudaMemcpy(got.data(), out, 2 * bandwidth_count, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < got.size(); i += i < 4096 || i + 4096 >= got.size() ? 1 : 997) {
        const number x = load(PDL_VECTOR_FLOAT16, from[i]);
        wrong += !matches(PDL_VECTOR_FLOAT16, got[i], apply(UNARY_SIGMOID, PDL_VECTOR_FLOAT16, x));
    }
    return wrong;
}

inline void report_bandwidth(const std::vector<bandwidth_way> &ways, const char *base,
                             const char *path)
{
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    std::printf("%s: sigmoid of %lld halves, %zu rounds, median (p25 to p75)\n", device.name,
                bandwidth_count, ways[0].us.size());
    FILE *json = path != nullptr ? std::fopen(path, "w") : nullptr;
    if (json != nullptr) {
        std::fprintf(json,
                     "{\"program\": \"10_rtc_unary\", \"device\": \"%s\", \"elements\": %lld, "
                     "\"bytes\": %lld, \"rounds\": %zu, \"base\": \"%s\", \"ways\": {",
                     device.name, bandwidth_count, 4 * bandwidth_count, ways[0].us.size(), base);
    }
    for (const bandwidth_way &way : ways) {
        const double middle = median(way.us), p25 = quantile(way.us, 0.25),
                     p75 = quantile(way.us, 0.75);
        const double rate = 4e-6 * static_cast<double>(bandwidth_count) / middle;
        std::printf("  %-34s %8.2f us (%.2f to %.2f), %.3f TB/s, %5.1f %% of %s\n", way.name,
                    middle, p25, p75, rate, 100 * way.share, base);
        if (json != nullptr) {
            std::fprintf(json,
                         "%s\n \"%s\": {\"us\": %.3f, \"p25\": %.3f, \"p75\": %.3f, "
                         "\"terabytes_per_second\": %.4f, \"share_of_base\": %.4f}",
                         &way == &ways[0] ? "" : ",", way.key, middle, p25, p75, rate, way.share);
        }
    }
    if (json != nullptr) {
        std::fprintf(json, "\n}}\n");
        std::fclose(json);
    }
}

/* The ways take turns, so that a slow moment of the device strikes all of them. */
inline int measure_bandwidth(const char *json)
{
    gated_stream gate;
    const size_t bytes = 2 * bandwidth_count;
    std::vector<uint16_t> from(bandwidth_count);
    uint16_t *a = nullptr, *b = nullptr;
    CHECK(cudaMalloc(&a, bytes + 64));
    CHECK(cudaMalloc(&b, bytes + 64));
    for (size_t i = 0; i < from.size(); i++) {
        from[i] = static_cast<uint16_t>(i * 40503u);
    }
    std::vector<bandwidth_way> ways;
    const auto add = [&](const char *name, const char *key, std::function<void()> run) {
        ways.push_back({name, key, std::move(run), {}, 0});
    };
    add("cudaMemcpyAsync", "memcpy",
        [&] { CHECK(cudaMemcpyAsync(b, a, bytes, cudaMemcpyDeviceToDevice, gate.stream)); });
    add("plain copy kernel", "copy_kernel", [&] {
        plain_copy<<<static_cast<unsigned>(bytes / 16384), 256, 0, gate.stream>>>(
            reinterpret_cast<uint4 *>(b), reinterpret_cast<const uint4 *>(a));
    });
    long long wrong = 0;
    const struct {
        const char *name, *key;
        int in, out;
    } cases[] = {{"sigmoid, aligned", "aligned", 0, 0},
                 {"sigmoid, both one element off", "both_off", 1, 1},
                 {"sigmoid, input one element off", "input_off", 1, 0},
                 {"sigmoid, output one element off", "output_off", 0, 1}};
    for (const auto &each : cases) {
        add(each.name, each.key, sigmoid_launch(a + each.in, b + each.out, gate.stream));
        CHECK(cudaMemcpy(a + each.in, from.data(), bytes, cudaMemcpyHostToDevice));
        CHECK(cudaMemset(b, 0xff, bytes + 64));
        CHECK(cudaDeviceSynchronize());
        ways.back().run();
        CHECK(cudaStreamSynchronize(gate.stream));
        wrong += wrong_sigmoids(b + each.out, from);
    }
    const int launches = 10, rounds = 30;
    for (int round = 0; round < rounds; round++) {
        for (bandwidth_way &way : ways) {
            const double us = gate.run([&] {
                for (int i = 0; i < launches; i++) {
                    way.run();
                }
            });
            if (round > 0) { /* the first warms up */
                way.us.push_back(us / launches);
            }
        }
    }
    CHECK(cudaGetLastError());
    const size_t base = median(ways[0].us) < median(ways[1].us) ? 0 : 1; /* the faster copy */
    for (bandwidth_way &way : ways) {
        way.share = median(ways[base].us) / median(way.us);
    }
    report_bandwidth(ways, ways[base].name, json);
    CHECK(cudaFree(b));
    CHECK(cudaFree(a));
    std::printf("%s: %lld results are wrong\n", wrong == 0 ? "PASS" : "FAIL", wrong);
    return wrong == 0 ? 0 : 1;
}

#endif /* PDL_EXAMPLES_RTC_BANDWIDTH_CUH */
