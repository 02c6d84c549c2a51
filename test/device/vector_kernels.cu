// SPDX-License-Identifier: MIT
// Kernels over pdl/vector.cuh for every compiler and architecture; vector.py looks at their PTX.
#include <pdl/device.cuh>
#include <pdl/vector.cuh>

#if !defined(__CUDACC__) // clang without CUDA's headers
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#endif

struct twice {
    template <typename C> __device__ C operator()(C x) const
    {
        return static_cast<C>(x + x);
    }
};

struct first_times_second {
    template <typename A, typename B> __device__ auto operator()(A x, B y) const -> decltype(x * y)
    {
        return x * y;
    }
};

// A type of somebody else's, of the layout of one that is known.
struct foreign_half {
    foreign_half() = default;
    __device__ foreign_half(unsigned short from) : inside(from)
    {
    }
    unsigned short inside;
};
PDL_STORAGE_AS(foreign_half, pdl_half)

#define UNARY(name, in_type, out_type, width, unroll, mode)                                        \
    extern "C" __global__ void name(long long rows, long long columns, out_type *out,              \
                                    long long out_stride, const in_type *in, long long in_stride)  \
    {                                                                                              \
        PDL_WAIT();                                                                                \
        PDL_LAUNCH_DEPENDENTS();                                                                   \
        pdl_vector_map<width, unroll, mode>(rows, columns, twice(),                                \
                                            pdl_vector_out(out, out_stride),                       \
                                            pdl_vector_in(in, in_stride));                         \
    }

UNARY(widest, pdl_half, foreign_half, 16, 1, PDL_VECTOR_WRITE)
UNARY(halves, pdl_half, pdl_half, 8, 4, PDL_VECTOR_WRITE)
UNARY(brains, double, pdl_bfloat16, 2, 1, PDL_VECTOR_ADD)
UNARY(eights, pdl_float8_e4m3, pdl_float8_e5m2, 16, 1, PDL_VECTOR_ADD)
UNARY(others, unsigned long long, pdl_float8_e4m3, 2, 1, PDL_VECTOR_WRITE)
UNARY(longs, bool, long, 2, 1, PDL_VECTOR_ADD)

extern "C" __global__ void two_inputs(long long count, unsigned char *out, const int *a,
                                      const pdl_float8_e5m2 *b)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    pdl_vector_map<4, 1, PDL_VECTOR_WRITE>(1, count, first_times_second(), pdl_vector_out(out),
                                           pdl_vector_in(a), pdl_vector_in(b));
}
