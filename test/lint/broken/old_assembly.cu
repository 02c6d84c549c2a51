// SPDX-License-Identifier: MIT
// The instruction in code for less than 9.0: ptxas refuses it, and so does the driver.
// COMPILERS: nvcc
// OPTIONS: -arch=sm_80

__global__ void wait_for_80(const float *x, float *y)
{
    asm volatile("griddepcontrol.wait;" ::: "memory"); // EXPECT: compiled-out
    y[threadIdx.x] = x[threadIdx.x];
}

__global__ void trigger_for_80(float *y)
{
    y[threadIdx.x] = 1;
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); // EXPECT: compiled-out
}
