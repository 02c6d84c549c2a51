// SPDX-License-Identifier: MIT
// A kernel without PDL, which works on shared memory before it reads what the kernel before it wrote.
__global__ void reverse(float *y, const float *x)
{
    __shared__ float row[32];
    row[threadIdx.x] = static_cast<float>(threadIdx.x);
    __syncthreads();
    y[threadIdx.x] = x[threadIdx.x] * row[31 - threadIdx.x];
}
