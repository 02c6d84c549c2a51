/* SPDX-License-Identifier: MIT */
/* Six element-wise operators on floats: a kernel each, one after the other, overlapped and as a chain,
 * and all of them in one kernel, whose text is put together at run time.
 *
 * Between kernels values are in memory as floats, and floats they are in the fused kernel; with
 * --fmad=false the compiler makes no multiply-add of two operators. So the results are equal to the bit,
 * and this checks that they are. With 16-bit types in memory they would differ by their rounding. */
#include <cstring>
#include <string>

#include <pdl/chain.h>
#include <pdl/rtc.h>
#include <pdl/vector.h>

#include "common.cuh"

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

/* All operators on an array: the first kernel reads `in`, those after it work on `out` in place. */
struct job {
    long long count;
    float *in, *out;
    pdl_launch_desc desc;
    pdl_kernel *kernels[operator_count], *fused;
    pdl_chain *chain;

    job(const std::string &text, long long count_) : count(count_)
    {
        std::vector<float> host(static_cast<size_t>(count));
        for (size_t i = 0; i < host.size(); i++) {
            host[i] = value_at(i);
        }
        in = to_device(host);
        out = allocate<float>(host.size());
        const pdl_vector_operand operands[] = {{reinterpret_cast<uint64_t>(out), 0, 4, 0},
                                               {reinterpret_cast<uint64_t>(in), 0, 4, 0}};
        pdl_vector_plan plan = PDL_VECTOR_PLAN_INIT;
        CHECK(pdl_vector_plan_make(operands, 2, 1, count, -1, &plan));
        pdl_launch_desc_init(&desc);
        std::copy_n(plan.grid, 3, desc.grid);
        std::copy_n(plan.block, 3, desc.block);
        desc.overlap = PDL_OVERLAP_AUTO;
        fused = make_kernel(text, "fused", plan);
        CHECK(pdl_chain_create(nullptr, &chain));
        for (int i = 0; i < operator_count; i++) {
            kernels[i] = make_kernel(text, operators[i][0], plan);
            CHECK(pdl_chain_add(chain, kernels[i], &desc, PDL_ARGS(count, out, i == 0 ? in : out),
                                nullptr, 0, nullptr));
        }
        CHECK(pdl_chain_build(chain));
    }

    static float value_at(size_t i)
    {
        return static_cast<float>(i % 4096) / 512 - 4;
    }

    void run(int way, cudaStream_t stream)
    {
        desc.stream = stream;
        desc.overlap = way == 0 ? PDL_OVERLAP_NONE : PDL_OVERLAP_AUTO;
        if (way == 2) {
            CHECK(pdl_chain_launch(chain, stream));
        }
        for (int i = 0; i < operator_count && way < 2; i++) {
            CHECK(pdl_launch(kernels[i], &desc, PDL_ARGS(count, out, i == 0 ? in : out)));
        }
        if (way == 3) {
            CHECK(pdl_launch(fused, &desc, PDL_ARGS(count, out, in)));
        }
    }
};

static const char *const ways[] = {"a kernel each", "a kernel each, overlapped", "a chain",
                                   "fused"};

int main()
{
    require_device("11_rtc_fused");
    const std::string text = make_text();
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    size_t wrong = 0;
    for (const long long count : {16ll << 10, 1ll << 20}) {
        job work(text, count);
        std::vector<float> first;
        double us[4];
        std::printf("%lld floats, %d operators\n", count, operator_count);
        for (int way = 0; way < 4; way++) {
            CHECK(cudaMemset(work.out, 0xff, static_cast<size_t>(count) * sizeof(float)));
            CHECK(cudaDeviceSynchronize()); /* it is not-a-number */
            work.run(way, stream);
            const std::vector<float> got = to_host(work.out, static_cast<size_t>(count));
            first = way == 0 ? got : first;
            for (size_t i = 0; i < got.size(); i++) {
                const float x = std::max(0.0f, 1.5f * job::value_at(i) + 0.25f);
                const double expected = 1 / (1 + std::exp(-std::sqrt(double{x} * x + 1)));
                wrong += std::memcmp(&got[i], &first[i], sizeof(float)) != 0 ||
                         !(std::fabs(got[i] - expected) < 1e-6);
            }
            us[way] = median_us(stream, [&] { work.run(way, stream); });
            std::printf("  %-26s %8.2f us, %.2fx\n", ways[way], us[way], us[0] / us[way]);
        }
    }
    std::printf("%zu values differ\n", wrong);
    return verdict(wrong == 0);
}
