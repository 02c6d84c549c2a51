/* SPDX-License-Identifier: MIT */
/* Reading weights and only adding their words up: what the memory gives. The sum, of 32 bits, shows that
 * each word was read once. */
#ifndef PDL_BENCH_DECODE_READ_CUH
#define PDL_BENCH_DECODE_READ_CUH

#include <numeric>

#include "decode_device.cuh"

static const int read_threads = 256;
static const int read_stages = 3;
static const int read_chunk = 4096;
static const int read_shared_bytes = read_threads / 32 * read_stages * (read_chunk + 8);

/* Called by the whole block: the sum of its threads' sums goes to sums[blockIdx.x]. */
__device__ inline void add_up(unsigned sum, unsigned *sums)
{
    __shared__ unsigned total;
    if (threadIdx.x == 0) {
        total = 0;
    }
    __syncthreads();
    sum = __reduce_add_sync(~0u, sum);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&total, sum);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = total;
    }
}

/* With bulk copies into a ring in shared memory for each warp, as the decoder's kernels. */
static __global__ void __launch_bounds__(read_threads)
    read_weights(const uint4 *from, size_t count, unsigned *sums)
{
    extern __shared__ __align__(bulk_alignment) uint4 read_ring[];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t chunks = count / (read_chunk / 16);
    const unsigned warps = blockDim.x / 32;
    const uint4 *const my_ring = read_ring + warp * read_stages * (read_chunk / 16);
    const unsigned barriers = shared_address(read_ring) +
                              read_threads / 32 * read_stages * read_chunk + 8 * warp * read_stages;
    const unsigned long long policy = read_once();
    auto fetch = [&](size_t chunk, unsigned stage) {
        barrier_expect(barriers + 8 * stage, read_chunk);
        bulk_copy(shared_address(my_ring) + stage * read_chunk, from + chunk * (read_chunk / 16),
                  read_chunk, barriers + 8 * stage, policy);
    };
    const size_t first = blockIdx.x * chunks / gridDim.x + warp; /* of this block's part */
    const size_t end = (blockIdx.x + 1) * chunks / gridDim.x;
    if (lane == 0) {
        for (unsigned i = 0; i < read_stages; i++) {
            barrier_init(barriers + 8 * i);
        }
        barrier_init_done();
        for (unsigned i = 0; i < read_stages && first + i * warps < end; i++) {
            fetch(first + i * warps, i);
        }
    }
    __syncwarp();
    unsigned stage = 0, parity = 0, sum = 0;
    for (size_t chunk = first; chunk < end; chunk += warps) {
        barrier_wait(barriers + 8 * stage, parity);
#pragma unroll
        for (unsigned i = 0; i < read_chunk / 512; i++) {
            const uint4 value = my_ring[stage * (read_chunk / 16) + 32 * i + lane];
            sum += value.x + value.y + value.z + value.w;
        }
        __syncwarp();
        if (lane == 0 && chunk + read_stages * warps < end) {
            fetch(chunk + read_stages * warps, stage);
        }
        stage = stage + 1 == read_stages ? 0 : stage + 1;
        parity ^= stage == 0;
    }
    add_up(sum, sums);
}

/* Reads so many bytes and adds up their words, as a measure for what has to read as many. */
class weight_reader
{
  public:
    /* The bytes should be a multiple of the chunks' size, and be more than L2 holds. */
    weight_reader(const void *from, size_t bytes, int multiprocessors)
        : from_(static_cast<const uint4 *>(from)), count_(bytes / read_chunk * (read_chunk / 16)),
          blocks_(2 * static_cast<unsigned>(multiprocessors)), sums_(blocks_)
    {
        CHECK(cudaFuncSetAttribute(read_weights, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   read_shared_bytes));
    }

    void run(cudaStream_t stream) const
    {
        read_weights<<<blocks_, read_threads, read_shared_bytes, stream>>>(from_, count_,
                                                                           sums_.get());
        CHECK(cudaGetLastError());
    }

    /* Whether what it reads adds up to what the host adds up, from copies of parts. */
    bool check(cudaStream_t stream) const
    {
        std::vector<unsigned> words(size_t{16} << 20);
        unsigned expected = 0;
        for (size_t at = 0; at < 4 * count_; at += words.size()) {
            words.resize(std::min(words.size(), 4 * count_ - at));
            CHECK(cudaMemcpy(words.data(), reinterpret_cast<const unsigned *>(from_) + at,
                             4 * words.size(), cudaMemcpyDeviceToHost));
            expected = std::accumulate(words.begin(), words.end(), expected);
        }
        sums_.fill(0x5a);
        run(stream);
        const std::vector<unsigned> sums = sums_.host();
        return std::accumulate(sums.begin(), sums.end(), 0u) == expected;
    }

    double bytes() const
    {
        return 16.0 * static_cast<double>(count_);
    }

  private:
    const uint4 *from_;
    size_t count_;
    unsigned blocks_;
    device_buffer<unsigned> sums_;
};

#endif /* PDL_BENCH_DECODE_READ_CUH */
