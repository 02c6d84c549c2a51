/* SPDX-License-Identifier: MIT */
/* Six element-wise operators on floats: a kernel each, one after the other, overlapped and as a chain,
 * and all of them in one kernel, whose text is put together at run time.
 *
 * Between kernels values are in memory as floats, and floats they are in the fused kernel; with
 * --fmad=false the compiler makes no multiply-add of two operators. So the results are equal to the bit,
 * and this checks that they are. With 16-bit types in memory they would differ by their rounding.
 */
#include <cstring>
#include <string>

#include <pdl/chain.h>
#include <pdl/rtc.h>
#include <pdl/vector.h>

#include "timing.cuh"

static const char *const operators[][2] = {
    {"scale", "1.5f * x"}, {"shift", "x + 0.25f"},      {"relu", "x < 0.0f ? 0.0f : x"},
    {"square", "x * x"},   {"root", "sqrtf(x + 1.0f)"}, {"sigmoid", "1.0f / (1.0f + expf(-x))"}};
static const int operator_count = 6;

static std::string make_text()
{
    std::string text = "#include <pdl/device.cuh>\n#include <pdl/vector.cuh>\n";
    std::string fused;
    for (const auto &op : operators) {
        text += "struct " + std::string(op[0]) +
                " { __device__ float operator()(float x) const { return " + op[1] + "; } };\n";
        fused += "x = " + std::string(op[0]) + "()(x); ";
    }
    return text + "struct fused { __device__ float operator()(float x) const { " + fused +
           "return x; } };\n" + R"(
template <typename Op, int Width, int Unroll>
__global__ void map(long long count, float *out, const float *in)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    pdl_vector_map<Width, Unroll, PDL_VECTOR_WRITE>(1, count, Op(), pdl_vector_out(out),
                                                    pdl_vector_in(in));
}
)";
}

/* The launches of one size: the first kernel reads `in`, those after it work on `out` in place. */
struct job {
    long long count;
    float *in, *out;
    pdl_launch_desc desc;
    pdl_kernel *kernels[operator_count], *fused;
    pdl_chain *chain;
};

static pdl_kernel *make_kernel(const std::string &text, const char *op, const pdl_vector_plan &plan)
{
    static const char *const arguments[] = {"--fmad=false"};
    pdl_rtc_options options = PDL_RTC_OPTIONS_INIT;
    options.arguments = arguments;
    options.argument_count = 1;
    const std::string name = "map<" + std::string(op) + ", " + std::to_string(plan.width) + ", " +
                             std::to_string(plan.unroll) + ">";
    pdl_kernel *kernel = nullptr;
    CHECK(pdl_rtc_kernel(nullptr, text.c_str(), name.c_str(), &options, &kernel));
    return kernel;
}

static job make_job(const std::string &text, long long count, float *in, float *out)
{
    const pdl_vector_operand operands[] = {{reinterpret_cast<uint64_t>(out), 0, 4, 0},
                                           {reinterpret_cast<uint64_t>(in), 0, 4, 0}};
    job made = {count, in, out, {}, {}, nullptr, nullptr};
    pdl_vector_plan plan = PDL_VECTOR_PLAN_INIT;
    CHECK(pdl_vector_plan_make(operands, 2, 1, count, -1, &plan));
    pdl_launch_desc_init(&made.desc);
    std::memcpy(made.desc.grid, plan.grid, sizeof(made.desc.grid));
    std::memcpy(made.desc.block, plan.block, sizeof(made.desc.block));
    made.fused = make_kernel(text, "fused", plan);
    CHECK(pdl_chain_create(nullptr, &made.chain));
    made.desc.overlap = PDL_OVERLAP_AUTO;
    for (int i = 0; i < operator_count; i++) {
        const float *from = i == 0 ? in : out;
        made.kernels[i] = make_kernel(text, operators[i][0], plan);
        CHECK(pdl_chain_add(made.chain, made.kernels[i], &made.desc, PDL_ARGS(count, out, from),
                            nullptr, 0, nullptr));
    }
    CHECK(pdl_chain_build(made.chain));
    return made;
}

static const char *const ways[] = {"a kernel each", "a kernel each, overlapped", "a chain",
                                   "fused"};
static const char *const keys[] = {"serial", "overlapped", "chain", "fused"};
static const int way_count = 4;

static void run(job &work, int way, cudaStream_t stream)
{
    work.desc.stream = stream;
    work.desc.overlap = way == 0 ? PDL_OVERLAP_NONE : PDL_OVERLAP_AUTO;
    if (way == 2) {
        CHECK(pdl_chain_launch(work.chain, stream));
        return;
    }
    const int launches = way == 3 ? 1 : operator_count;
    for (int i = 0; i < launches; i++) {
        const float *from = i == 0 ? work.in : work.out;
        CHECK(pdl_launch(way == 3 ? work.fused : work.kernels[i], &work.desc,
                         PDL_ARGS(work.count, work.out, from)));
    }
}

/* Results of a way that are not those of the first, and of the first that are not the host's. */
static long long differences(job &work, int way, cudaStream_t stream, std::vector<float> &first)
{
    std::vector<float> got(static_cast<size_t>(work.count));
    CHECK(cudaMemset(work.out, 0xff, got.size() * 4));
    CHECK(cudaDeviceSynchronize());
    run(work, way, stream);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(got.data(), work.out, got.size() * 4, cudaMemcpyDeviceToHost));
    long long wrong = 0;
    for (size_t i = 0; way > 0 && i < got.size(); i++) {
        wrong += std::memcmp(&got[i], &first[i], 4) != 0;
    }
    for (size_t i = 0; way == 0 && i < got.size(); i++) {
        const float x = std::max(0.0f, 1.5f * (static_cast<float>(i % 4096) / 512 - 4) + 0.25f);
        const double expected = 1 / (1 + std::exp(-std::sqrt(static_cast<double>(x) * x + 1)));
        wrong += !(std::fabs(got[i] - expected) < 1e-6);
    }
    if (way == 0) {
        first = got;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    const bool writes = argc == 3 && std::strcmp(argv[1], "--json") == 0;
    require_device("11_rtc_fused");
    FILE *json = writes ? std::fopen(argv[2], "w") : nullptr;
    if (json != nullptr) {
        cudaDeviceProp device;
        CHECK(cudaGetDeviceProperties(&device, 0));
        std::fprintf(json, "{\"program\": \"11_rtc_fused\", \"device\": \"%s\", \"results\": [",
                     device.name);
    }
    const char *separator = "";
    const long long sizes[] = {16ll << 10, 1ll << 20, 64ll << 20};
    const std::string text = make_text();
    gated_stream gate;
    float *in = nullptr, *out = nullptr;
    CHECK(cudaMalloc(&in, 4 * sizes[2]));
    CHECK(cudaMalloc(&out, 4 * sizes[2]));
    std::vector<float> host(static_cast<size_t>(sizes[2])), first;
    for (size_t i = 0; i < host.size(); i++) {
        host[i] = static_cast<float>(i % 4096) / 512 - 4;
    }
    CHECK(cudaMemcpy(in, host.data(), host.size() * 4, cudaMemcpyHostToDevice));
    long long wrong = 0;
    for (const long long count : sizes) {
        job work = make_job(text, count, in, out);
        std::vector<double> us[way_count];
        for (int way = 0; way < way_count; way++) {
            wrong += differences(work, way, gate.stream, first);
        }
        const int repeats = count > sizes[1] ? 5 : 50;
        for (int round = 0; round <= 30; round++) {
            for (int way = 0; way < way_count; way++) {
                const double time = gate.run([&] {
                    for (int i = 0; i < repeats; i++) {
                        run(work, way, gate.stream);
                    }
                });
                if (round > 0) {
                    us[way].push_back(time / repeats);
                }
            }
        }
        std::printf("%lld floats, %d operators: us, median of 30 (p25 to p75)\n", count,
                    operator_count);
        for (int way = 0; way < way_count; way++) {
            std::printf("  %-26s %9.3f (%.3f to %.3f), %.2f times as fast as the first\n",
                        ways[way], median(us[way]), quantile(us[way], 0.25),
                        quantile(us[way], 0.75), median(us[0]) / median(us[way]));
            if (json != nullptr) {
                std::fprintf(
                    json,
                    "%s\n {\"elements\": %lld, \"way\": \"%s\", \"us\": %.4f, \"p25\": %.4f, "
                    "\"p75\": %.4f}",
                    separator, count, keys[way], median(us[way]), quantile(us[way], 0.25),
                    quantile(us[way], 0.75));
                separator = ",";
            }
        }
        pdl_chain_destroy(work.chain);
    }
    if (json != nullptr) {
        std::fprintf(json, "\n]}\n");
        std::fclose(json);
    }
    std::printf("%s: %lld values differ\n", wrong == 0 ? "PASS" : "FAIL", wrong);
    return wrong == 0 ? 0 : 1;
}
