// SPDX-License-Identifier: MIT
// The same for kernels with internal linkage: the log is of another compilation, whose names have another hash.
// LINT: --launches CORPUS/launched.log

static __global__ void launched_in_a_file(const float *x, float *y) // EXPECT: no-wait
{
    y[threadIdx.x] = x[threadIdx.x];
}

static __global__ void launched_in_its_unit_(const float *x, float *y) // EXPECT: no-wait
{
    y[threadIdx.x] += x[threadIdx.x];
}

namespace
{

__global__ void launched_in_namespace(const float *x, float *y) // EXPECT: no-wait
{
    y[threadIdx.x] -= x[threadIdx.x];
}

template <typename T> __global__ void launched_of_template(const T *x, T *y) // EXPECT: no-wait
{
    y[threadIdx.x] *= x[threadIdx.x];
}

} // namespace

void launch_all(const float *x, float *y)
{
    launched_in_a_file<<<1, 32>>>(x, y);
    launched_in_its_unit_<<<1, 32>>>(x, y);
    launched_in_namespace<<<1, 32>>>(x, y);
    launched_of_template<float><<<1, 32>>>(x, y);
}
