/* SPDX-License-Identifier: MIT */
/* An element-wise kernel of types that only the running program knows: its text is a template, compiled
 * at run time for each pair of types, and its data begins anywhere. The plan says how wide its loads and
 * stores are and what grid it needs; where pointers are not aligned the kernel finds its way alone. */
#include <string>

#include <cuda_fp16.h>
#include <pdl/rtc.h>
#include <pdl/vector.h>

#include "common.cuh"

static const char text[] = R"(
#include <pdl/device.cuh>
#include <pdl/vector.cuh>

/* Its argument has the type that values of the input are computed with: float, double, int, ... */
struct square {
    template <typename C> __device__ C operator()(C x) const { return x * x; }
};

template <typename Op, typename In, typename Out, int Width, int Unroll>
__global__ void unary(long long rows, long long columns, Out *out, long long out_stride,
                      const In *in, long long in_stride)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    pdl_vector_map<Width, Unroll, PDL_VECTOR_WRITE>(rows, columns, Op(),
                                                    pdl_vector_out(out, out_stride),
                                                    pdl_vector_in(in, in_stride));
}
)";

static const long long rows = 1000, columns = 509, stride = 512;
static const size_t room = rows * stride + 8; /* elements of a buffer: rows may begin a bit later */

/* A type in memory, and how the host writes and reads its values. */
struct memory_type {
    pdl_vector_type type;
    void (*store)(void *to, int value);
    int (*load)(const void *from);
};
static const memory_type types[] = {
    {PDL_VECTOR_FLOAT32, [](void *to, int value) { *static_cast<float *>(to) = value; },
     [](const void *from) { return static_cast<int>(*static_cast<const float *>(from)); }},
    {PDL_VECTOR_FLOAT16,
     [](void *to, int value) { *static_cast<__half *>(to) = __float2half(value); },
     [](const void *from) {
         return static_cast<int>(__half2float(*static_cast<const __half *>(from)));
     }},
    {PDL_VECTOR_INT8,
     [](void *to, int value) { *static_cast<signed char *>(to) = static_cast<signed char>(value); },
     [](const void *from) { return int{*static_cast<const signed char *>(from)}; }},
};

/* Small integers, so that their squares are exact in every type. */
static int value_at(size_t i)
{
    return static_cast<int>(i % 23) - 11;
}

/* Squares rows that begin so many elements behind an aligned address; returns how many are wrong. */
static long long wrong_values(const memory_type &in, const memory_type &out, size_t in_offset,
                              size_t out_offset)
{
    const size_t in_size = pdl_vector_type_size(in.type), out_size = pdl_vector_type_size(out.type);
    std::vector<unsigned char> from(room * in_size);
    for (size_t i = 0; i < room; i++) {
        in.store(&from[i * in_size], value_at(i));
    }
    unsigned char *const device_in = to_device(from);
    unsigned char *const device_out = allocate<unsigned char>(room * out_size);
    const void *const source = device_in + in_offset * in_size;
    void *const target = device_out + out_offset * out_size;

    const pdl_vector_operand operands[] = {
        {reinterpret_cast<uint64_t>(target), stride, static_cast<uint32_t>(out_size), 0},
        {reinterpret_cast<uint64_t>(source), stride, static_cast<uint32_t>(in_size), 0}};
    pdl_vector_plan plan = PDL_VECTOR_PLAN_INIT;
    CHECK(pdl_vector_plan_make(operands, 2, rows, columns, -1, &plan));
    const std::string name = std::string("unary<square, ") + pdl_vector_type_name(in.type) + ", " +
                             pdl_vector_type_name(out.type) + ", " + std::to_string(plan.width) +
                             ", " + std::to_string(plan.unroll) + ">";
    pdl_kernel *kernel; /* the cache owns it, and has it already if it was compiled before */
    CHECK(pdl_rtc_kernel(nullptr, text, name.c_str(), nullptr, &kernel));
    pdl_launch_desc desc;
    pdl_launch_desc_init(&desc);
    std::copy_n(plan.grid, 3, desc.grid);
    std::copy_n(plan.block, 3, desc.block);
    desc.overlap = PDL_OVERLAP_AUTO;
    CHECK(pdl_launch(kernel, desc,
                     PDL_ARGS(plan.rows, plan.columns, target, stride, source, stride)));

    const std::vector<unsigned char> got = to_host(device_out, room * out_size);
    long long wrong = 0;
    for (size_t i = 0; i < room; i++) {
        const size_t at = i - out_offset; /* huge in front of the rows */
        const bool inside = at < rows * stride && at % stride < columns;
        const int value = value_at(at + in_offset);
        wrong += out.load(&got[i * out_size]) != (inside ? value * value : 0);
    }
    if (wrong > 0) {
        std::printf("%s: %lld values are wrong\n", name.c_str(), wrong);
    }
    CHECK(cudaFree(device_out));
    CHECK(cudaFree(device_in));
    return wrong;
}

int main()
{
    require_device("10_rtc_unary");
    long long wrong = 0;
    for (const memory_type &in : types) {
        for (const memory_type &out : types) {
            wrong += wrong_values(in, out, 0, 0) + wrong_values(in, out, 1, 0) +
                     wrong_values(in, out, 3, 5);
        }
    }
    pdl_rtc_stats stats = PDL_RTC_STATS_INIT;
    CHECK(pdl_rtc_cache_stats(nullptr, &stats));
    std::printf("%llu kernels compiled in %.1f s, %llu found in the cache; %lld values are wrong\n",
                static_cast<unsigned long long>(stats.misses),
                1e-9 * static_cast<double>(stats.compile_ns),
                static_cast<unsigned long long>(stats.disk_hits + stats.memory_hits), wrong);
    return verdict(wrong == 0);
}
