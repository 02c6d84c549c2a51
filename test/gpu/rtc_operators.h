/* SPDX-License-Identifier: MIT */
/* The text that rtc_unary.cu compiles at run time: operators, and the one kernel that they go through.
 *
 * An operator gets its argument as the type that values of the input are computed with (float, double,
 * int, unsigned, long long or unsigned long long) and returns what it likes. */
#ifndef PDL_TEST_RTC_OPERATORS_H
#define PDL_TEST_RTC_OPERATORS_H

static const char unary_text[] = R"(
#include <pdl/device.cuh>
#include <pdl/vector.cuh>

/* Of a floating type that suits the argument. */
#define FLOATING(name, expression)                              \
    struct name {                                               \
        template <typename C>                                   \
        __device__ typename pdl_real<C>::type operator()(C from) const \
        {                                                       \
            typedef typename pdl_real<C>::type R;               \
            const R x = static_cast<R>(from);                   \
            return expression;                                  \
        }                                                       \
    };
FLOATING(tanh_of, tanh(x))
FLOATING(exp_of, exp(x))
FLOATING(log_of, log(x))
FLOATING(sqrt_of, sqrt(x))
FLOATING(reciprocal, R(1) / x)

/* In float by the fast instructions: the memory stays what limits it. */
struct sigmoid {
    __device__ float of(float x) const { return __fdividef(1.0f, 1.0f + __expf(-x)); }
    __device__ double of(double x) const { return 1.0 / (1.0 + exp(-x)); }
    template <typename C> __device__ typename pdl_real<C>::type operator()(C x) const
    {
        return of(static_cast<typename pdl_real<C>::type>(x));
    }
};

struct identity {
    template <typename C> __device__ C operator()(C x) const { return x; }
};
struct relu { /* not-a-number stays */
    template <typename C> __device__ C operator()(C x) const { return x < C(0) ? C(0) : x; }
    __device__ unsigned operator()(unsigned x) const { return x; }
    __device__ unsigned long long operator()(unsigned long long x) const { return x; }
};
struct absolute {
    __device__ float operator()(float x) const { return fabsf(x); }
    __device__ double operator()(double x) const { return fabs(x); }
    __device__ unsigned long long operator()(long long x) const
    {
        return x < 0 ? 0ull - static_cast<unsigned long long>(x) : x;
    }
    __device__ unsigned long long operator()(int x) const
    {
        return (*this)(static_cast<long long>(x));
    }
    __device__ unsigned operator()(unsigned x) const { return x; }
    __device__ unsigned long long operator()(unsigned long long x) const { return x; }
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

enum unary_operator {
    UNARY_SIGMOID,
    UNARY_IDENTITY,
    UNARY_RELU,
    UNARY_ABSOLUTE,
    UNARY_NEGATIVE,
    UNARY_SQUARE,
    UNARY_RECIPROCAL,
    UNARY_SQRT,
    UNARY_EXP,
    UNARY_LOG,
    UNARY_TANH,
    UNARY_COUNT
};

/* As the text names them. */
static const char *const unary_names[UNARY_COUNT] = {
    "sigmoid",    "identity", "relu",   "absolute", "negative", "square",
    "reciprocal", "sqrt_of",  "exp_of", "log_of",   "tanh_of"};

#endif /* PDL_TEST_RTC_OPERATORS_H */
