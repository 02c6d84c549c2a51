// SPDX-License-Identifier: MIT
// Every type and function of pdl/types.cuh and pdl/vector.cuh.
#include <pdl/vector.cuh>
struct mine {
    unsigned short bits;
};
PDL_STORAGE_AS(mine, pdl_half)
struct sum {
    template <typename A> __device__ A operator()(A a) const
    {
        return a;
    }
    template <typename A, typename B> __device__ auto operator()(A a, B b) const -> decltype(a + b)
    {
        return a + b;
    }
};
template <typename T, typename C> __device__ void value(T *x, C c)
{
    typename pdl_real<C>::type real = 1;
    x[0] = pdl_convert<T>(c);
    x[1] = pdl_add(x[1], c);
    x[2] = pdl_convert<T>(real);
}
template <typename T> __global__ void all(T *x)
{
    value(x, 1);
    value(x, 1u);
    value(x, 1ll);
    value(x, 1ull);
    value(x, 1.0f);
    value(x, 1.0);
}
template <typename T> __global__ void map(T *x, const T *in, const mine *other, long long n)
{
    pdl_vector_map<8, 2, PDL_VECTOR_WRITE>(2, n, sum(), pdl_vector_out(x, n), pdl_vector_in(in, n),
                                           pdl_vector_in(other));
    pdl_vector_map<4, 1, PDL_VECTOR_ADD>(1, n, sum(), pdl_vector_out(x), pdl_vector_in(other));
}
#define ALL(T) template __global__ void all<T>(T *);
#define MAP(T) template __global__ void map<T>(T *, const T *, const mine *, long long);
// clang-format off
ALL(bool) ALL(char) ALL(signed char) ALL(unsigned char) ALL(short) ALL(unsigned short) ALL(int) ALL(unsigned)
ALL(long) ALL(unsigned long) ALL(long long) ALL(unsigned long long) ALL(float) ALL(double)
ALL(pdl_half) ALL(pdl_bfloat16) ALL(mine)
MAP(bool) MAP(double) MAP(mine)
#if __CUDA_ARCH__ >= 900
ALL(pdl_float8_e4m3) ALL(pdl_float8_e5m2)
#endif
