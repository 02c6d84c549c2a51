/* SPDX-License-Identifier: MIT */
/* The kernels of the suite `overhead`, for the Driver API. */
#include "bench/kernels/overhead.cuh"
