/* SPDX-License-Identifier: MIT */
/* Element-wise kernels of any types, compiled at run time: four operators, every type in memory to
 * every other, written or added, with pointers and rows of any alignment. Each result is checked.
 *
 *   gpu_rtc_unary [--all]
 *
 * --all takes all 15 types in place of 5.
 */
#include <atomic>
#include <mutex>
#include <string>
#include <thread>

#include <pdl/rtc.h>

#include "../../tools/bench/common.cuh"
#include "rtc_reference.cuh"

/* The text that is compiled: operators, and the one kernel that they go through. An operator gets its argument as the
 * type that values of the input are computed with (float, double, int, unsigned, long long or unsigned long long) and
 * returns what it likes. All of them are exact, so that the host computes the same. */
static const char unary_text[] = R"(
#include <pdl/device.cuh>
#include <pdl/vector.cuh>

struct identity {
    template <typename C> __device__ C operator()(C x) const { return x; }
};
struct reciprocal { /* of a floating type that suits the argument */
    template <typename C> __device__ typename pdl_real<C>::type operator()(C from) const
    {
        typedef typename pdl_real<C>::type R;
        return R(1) / static_cast<R>(from);
    }
};
struct negative {
    __device__ float operator()(float x) const { return -x; }
    __device__ double operator()(double x) const { return -x; }
    __device__ long long operator()(int x) const { return -static_cast<long long>(x); }
    __device__ long long operator()(unsigned x) const { return -static_cast<long long>(x); }
    __device__ long long operator()(long long x) const { return -x; }
    __device__ long long operator()(unsigned long long x) const
    {
        return x > 0x7fffffffffffffffull ? -0x7fffffffffffffffll - 1 : -static_cast<long long>(x);
    }
};
struct square { /* exact, but of integers of 64 bits, which it makes double */
    __device__ float operator()(float x) const { return x * x; }
    __device__ double operator()(double x) const { return x * x; }
    __device__ long long operator()(int x) const { return static_cast<long long>(x) * x; }
    __device__ unsigned long long operator()(unsigned x) const
    {
        return static_cast<unsigned long long>(x) * x;
    }
    __device__ double operator()(long long x) const { return (*this)(static_cast<double>(x)); }
    __device__ double operator()(unsigned long long x) const
    {
        return (*this)(static_cast<double>(x));
    }
};

template <typename Op, typename In, typename Out, int Width, int Unroll, int Mode>
__global__ void unary(long long rows, long long columns, Out *out, long long out_stride,
                      const In *in, long long in_stride)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    pdl_vector_map<Width, Unroll, Mode>(rows, columns, Op(), pdl_vector_out(out, out_stride),
                                        pdl_vector_in(in, in_stride));
}
)";

enum unary_operator { IDENTITY, RECIPROCAL, NEGATIVE, SQUARE, OPERATORS };

/* As the text names them. */
static const char *const unary_names[OPERATORS] = {"identity", "reciprocal", "negative", "square"};

/* What an operator makes of a value. */
static number apply(unary_operator op, pdl_vector_type type, const number &x)
{
    const bool wide = pdl_vector_type_size(type) == 8; /* of 64 bits: in double */
    const bool integer = x.kind == number::INTEGER;
    const double from = integer ? static_cast<double>(x.integer) : x.floating;
    number value = x;
    if (op == NEGATIVE) {
        value.integer = -x.integer, value.floating = -x.floating, value.wide = true;
    } else if (op == RECIPROCAL) {
        value.kind = wide ? number::DOUBLE : number::FLOAT;
        value.floating =
            wide ? 1 / from
                 : 1 / (integer ? static_cast<float>(x.integer) : static_cast<float>(x.floating));
    } else if (op == SQUARE) {
        value.integer = wide ? 0 : x.integer * x.integer;
        value.wide = true;
        value.kind = integer && wide ? number::DOUBLE : x.kind;
        value.floating = x.kind == number::FLOAT
                             ? static_cast<float>(from) * static_cast<float>(from)
                             : from * from;
    }
    return value;
}

static const int count = 65536; /* elements: every value of the types of 16 bits */
static const int guard = 64;    /* elements on either side, which must stay as they were */

static std::atomic<long long> results_checked{0}, results_wrong{0};
static std::atomic<int> kernels_checked{0};
static std::mutex print_lock;

static uint64_t random_bits(uint64_t seed)
{
    uint64_t z = seed * 0x9e3779b97f4a7c15u + 0x7f4a7c159e3779b9u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Values of a type: all that it has, or for the large ones some of every size. */
static std::vector<unsigned char> make_values(pdl_vector_type type, uint64_t seed)
{
    const size_t size = pdl_vector_type_size(type);
    std::vector<unsigned char> bytes((count + 2 * guard) * size);
    for (int i = 0; i < count + 2 * guard; i++) {
        const uint64_t random = random_bits(seed + static_cast<uint64_t>(i));
        uint64_t bits = (static_cast<uint64_t>(i) + seed) * 40503u; /* odd: meets each of 16 bits */
        if (type == PDL_VECTOR_BOOL) {
            bits = random & 1;
        } else if (is_integer(type) && size >= 4) { /* an exponent of its own, either sign */
            const int shift = 1 + static_cast<int>((random >> 58) % (8 * size - 1));
            const uint64_t value = (size == 8 ? random : random & 0xffffffffu) >> shift;
            bits = is_signed(type) && (i & 1) != 0 ? 0 - value : value;
        } else if (size >= 4 && (i & 1) != 0) {
            bits = random;
        } else if (size >= 4) { /* the values of a half */
            const number half = load(PDL_VECTOR_FLOAT16, bits & 0xffff);
            bits = store(type, half);
        }
        std::memcpy(&bytes[static_cast<size_t>(i) * size], &bits, size);
    }
    return bytes;
}

static uint64_t bits_at(const std::vector<unsigned char> &bytes, size_t size, size_t i)
{
    uint64_t bits = 0;
    std::memcpy(&bits, &bytes[i * size], size);
    return bits;
}

/* Rows in the middle of a buffer, from an element that is aligned or not. */
struct layout {
    int rows, columns, stride, offset;
};

static const layout layouts[] = {{1, count, count, 0}, {1, count - 3, count, 1}, {127, 509, 513, 0},
                                 {1021, 61, 61, 3},    {9001, 7, 7, 2},          {1, 5, 5, 1},
                                 {251, 256, 256, 0},   {1, count - 16, count, 7}};
static const int layout_count = sizeof(layouts) / sizeof(layouts[0]);

/* A thread's buffers on the device and its stream. */
struct workplace {
    unsigned char *in, *out;
    cudaStream_t stream;
};

static std::string kernel_name(int op, pdl_vector_type in, pdl_vector_type out, uint32_t width,
                               uint32_t unroll, int mode)
{
    return "unary<" + std::string(unary_names[op]) + ", " + pdl_vector_type_name(in) + ", " +
           pdl_vector_type_name(out) + ", " + std::to_string(width) + ", " +
           std::to_string(unroll) + ", " + std::to_string(mode) + ">";
}

/* Launches a kernel on the rows of two buffers. */
static void launch(pdl_kernel *kernel, const workplace &place, const layout &in, const layout &out,
                   size_t in_size, size_t out_size)
{
    void *from = place.in + (static_cast<size_t>(guard + in.offset)) * in_size;
    void *to = place.out + (static_cast<size_t>(guard + out.offset)) * out_size;
    const pdl_vector_operand operands[] = {
        {reinterpret_cast<uint64_t>(to), out.stride, static_cast<uint32_t>(out_size), 0},
        {reinterpret_cast<uint64_t>(from), in.stride, static_cast<uint32_t>(in_size), 0}};
    pdl_vector_plan plan = PDL_VECTOR_PLAN_INIT;
    CHECK(pdl_vector_plan_make(operands, 2, out.rows, out.columns, -1, &plan));
    pdl_launch_desc desc;
    pdl_launch_desc_init(&desc);
    std::memcpy(desc.grid, plan.grid, sizeof(desc.grid));
    std::memcpy(desc.block, plan.block, sizeof(desc.block));
    desc.stream = place.stream;
    desc.overlap = PDL_OVERLAP_AUTO;
    const long long rows = plan.rows, columns = plan.columns;
    const long long in_stride = in.stride, out_stride = out.stride;
    CHECK(pdl_launch(kernel, desc, PDL_ARGS(rows, columns, to, out_stride, from, in_stride)));
}

static bool inside(const layout &rows, long long i)
{
    i -= guard + rows.offset;
    return i >= 0 && i < static_cast<long long>(rows.rows) * rows.stride &&
           i % rows.stride < rows.columns;
}

/* Compares what a kernel left in the output with what it should have. */
static void check(const std::string &name, int op, int mode, pdl_vector_type in_type,
                  pdl_vector_type out_type, const layout &in, const layout &out,
                  const std::vector<unsigned char> &values,
                  const std::vector<unsigned char> &before, const std::vector<unsigned char> &after)
{
    const size_t in_size = pdl_vector_type_size(in_type), out_size = pdl_vector_type_size(out_type);
    long long wrong = 0;
    for (int i = 0; i < count + 2 * guard; i++) {
        const uint64_t got = bits_at(after, out_size, static_cast<size_t>(i));
        const uint64_t old = bits_at(before, out_size, static_cast<size_t>(i));
        bool right = got == old;
        uint64_t from = 0;
        if (inside(out, i)) {
            const int at = i - guard - out.offset;
            const int row = at / out.stride, column = at % out.stride;
            from = bits_at(values, in_size,
                           static_cast<size_t>(guard + in.offset + row * in.stride + column));
            number expected = apply(static_cast<unary_operator>(op), in_type, load(in_type, from));
            if (mode != 0) {
                expected = add(out_type, load(out_type, old), expected);
            }
            right = matches(out_type, got, expected);
            results_checked++;
        }
        if (!right && wrong++ == 0) {
            const std::lock_guard<std::mutex> lock(print_lock);
            std::printf("%s, rows %d of %d: element %d of 0x%llx (before: 0x%llx) is 0x%llx\n",
                        name.c_str(), out.rows, out.columns, i,
                        static_cast<unsigned long long>(from), static_cast<unsigned long long>(old),
                        static_cast<unsigned long long>(got));
        }
    }
    results_wrong += wrong;
    kernels_checked++;
}

/* All operators of one type to another: one text, one compilation with many names. */
static void check_pair(const workplace &place, pdl_vector_type in_type, pdl_vector_type out_type)
{
    const size_t in_size = pdl_vector_type_size(in_type), out_size = pdl_vector_type_size(out_type);
    const uint32_t width = static_cast<uint32_t>(16 / std::max(in_size, out_size));
    std::vector<std::string> names;
    std::vector<const char *> expressions;
    for (int i = 0; i < 2 * OPERATORS; i++) {
        names.push_back(kernel_name(i / 2, in_type, out_type, width, i % 3 == 0 ? 4 : 1, i % 2));
    }
    for (const std::string &name : names) {
        expressions.push_back(name.c_str());
    }
    pdl_rtc_options options = PDL_RTC_OPTIONS_INIT;
    options.names = expressions.data();
    options.name_count = expressions.size();
    pdl_rtc_image *image = nullptr;
    CHECK(pdl_rtc_cache_compile(nullptr, "unary.cu", unary_text, &options, &image));

    const std::vector<unsigned char> values = make_values(in_type, 1);
    const std::vector<unsigned char> before = make_values(out_type, 77);
    std::vector<unsigned char> after(before.size());
    CHECK(cudaMemcpy(place.in, values.data(), values.size(), cudaMemcpyHostToDevice));
    for (int i = 0; i < 2 * OPERATORS; i++) {
        /* Where both have rows of one shape, at any two offsets. */
        const layout out = layouts[(i + in_type) % layout_count];
        layout in = out;
        in.offset = (i / 2 + out_type) % 17;
        in.stride += out.rows > 1 ? i % 3 : 0;
        if (in.offset + in.stride * in.rows > count + guard) {
            in.stride = out.stride;
        }
        pdl_kernel *kernel = nullptr;
        CHECK(pdl_rtc_image_kernel(image, expressions[static_cast<size_t>(i)], &kernel));
        CHECK(cudaMemcpyAsync(place.out, before.data(), before.size(), cudaMemcpyHostToDevice,
                              place.stream));
        launch(kernel, place, in, out, in_size, out_size);
        CHECK(cudaMemcpyAsync(after.data(), place.out, after.size(), cudaMemcpyDeviceToHost,
                              place.stream));
        CHECK(cudaStreamSynchronize(place.stream));
        check(names[static_cast<size_t>(i)], i / 2, i % 2, in_type, out_type, in, out, values,
              before, after);
        pdl_kernel_destroy(kernel);
    }
    pdl_rtc_image_destroy(image);
}

static void work(const std::vector<pdl_vector_type> &types, std::atomic<size_t> &next)
{
    workplace place = {};
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamCreateWithFlags(&place.stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&place.in, 8 * (count + 2 * guard)));
    CHECK(cudaMalloc(&place.out, 8 * (count + 2 * guard)));
    for (size_t i = next++; i < types.size() * types.size(); i = next++) {
        check_pair(place, types[i / types.size()], types[i % types.size()]);
    }
    CHECK(cudaFree(place.out));
    CHECK(cudaFree(place.in));
    CHECK(cudaStreamDestroy(place.stream));
}

static int check_all(bool all)
{
    std::vector<pdl_vector_type> types = {PDL_VECTOR_FLOAT32, PDL_VECTOR_FLOAT16,
                                          PDL_VECTOR_BFLOAT16, PDL_VECTOR_FLOAT8_E4M3,
                                          PDL_VECTOR_INT8};
    if (all) {
        types.clear();
        for (int type = PDL_VECTOR_FLOAT64; type <= PDL_VECTOR_BOOL; type++) {
            types.push_back(static_cast<pdl_vector_type>(type));
        }
    }
    const unsigned thread_count = std::max(1u, std::thread::hardware_concurrency());
    std::atomic<size_t> next{0};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < thread_count; i++) {
        threads.emplace_back(work, std::cref(types), std::ref(next));
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    pdl_rtc_stats stats = PDL_RTC_STATS_INIT;
    CHECK(pdl_rtc_cache_stats(nullptr, &stats));
    std::printf("%zu x %zu types, %d kernels, in %llu compilations of %.1f s on %u threads, "
                "%llu found in the cache\n",
                types.size(), types.size(), kernels_checked.load(),
                static_cast<unsigned long long>(stats.misses),
                1e-9 * static_cast<double>(stats.compile_ns), thread_count,
                static_cast<unsigned long long>(stats.disk_hits + stats.memory_hits));
    std::printf("%s: %lld of %lld results are wrong\n", results_wrong == 0 ? "PASS" : "FAIL",
                results_wrong.load(), results_checked.load());
    return results_wrong == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    const bool all = argc == 2 && std::strcmp(argv[1], "--all") == 0;
    if (argc != 1 && !all) {
        std::fprintf(stderr, "usage: %s [--all]\n", argv[0]);
        return 2;
    }
    require_device("gpu_rtc_unary");
    return check_all(all);
}
