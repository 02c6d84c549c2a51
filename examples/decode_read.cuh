/* SPDX-License-Identifier: MIT */
/* Reading weights and only adding their words up: what the memory gives, in two ways. The sum, of 32
 * bits, shows that each word was read once. */
#ifndef PDL_EXAMPLES_DECODE_READ_CUH
#define PDL_EXAMPLES_DECODE_READ_CUH

#include <numeric>

#include "decode_model.cuh"

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

/* With loads of 16 bytes, eight in flight a thread. */
static __global__ void __launch_bounds__(read_threads)
    read_by_loads(const uint4 *from, size_t count, unsigned *sums)
{
    const size_t stride = size_t{gridDim.x} * blockDim.x;
    unsigned sum = 0;
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count; i += 8 * stride) {
        uint4 values[8] = {};
#pragma unroll
        for (int k = 0; k < 8; k++) {
            if (i + k * stride < count) {
                values[k] = __ldcs(from + i + k * stride);
            }
        }
#pragma unroll
        for (int k = 0; k < 8; k++) {
            sum += values[k].x + values[k].y + values[k].z + values[k].w;
        }
    }
    add_up(sum, sums);
}

/* With bulk copies into a ring in shared memory for each warp, as the decoder's kernels. */
static __global__ void __launch_bounds__(read_threads)
    read_by_copies(const uint4 *from, size_t count, unsigned *sums)
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

enum read_way { READ_LOADS, READ_COPIES, READ_WAYS };

/* Reads all the weights of a model. */
class weight_reader
{
  public:
    /* `whole`: those of the embedding as well. */
    weight_reader(const decoder_model &m, unsigned blocks, bool whole = false)
        : from_(reinterpret_cast<const uint4 *>(m.weights.get())),
          count_((decoder_model::all_weights + (whole ? decoder_model::table_weights : 0)) / 8),
          grids_{16 * blocks, 2 * blocks}, sums_(grids_[READ_LOADS])
    {
        CHECK(cudaFuncSetAttribute(read_by_copies, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   read_shared_bytes));
    }

    void run(read_way how, cudaStream_t stream) const
    {
        if (how == READ_COPIES) {
            read_by_copies<<<grids_[how], read_threads, read_shared_bytes, stream>>>(from_, count_,
                                                                                     sums_.get());
        } else {
            read_by_loads<<<grids_[how], read_threads, 0, stream>>>(from_, count_, sums_.get());
        }
        CHECK(cudaGetLastError());
    }

    /* Whether what it has read adds up to that. */
    bool check(read_way how, cudaStream_t stream, unsigned expected) const
    {
        sums_.fill(0x5a);
        run(how, stream);
        const std::vector<unsigned> sums = sums_.host();
        return std::accumulate(sums.begin(), sums.begin() + grids_[how], 0u) == expected;
    }

    /* By the host, from a copy. */
    static unsigned reference(const decoder_model &m, bool whole = false)
    {
        std::vector<unsigned> words(decoder_model::layer_weights / 2);
        unsigned sum = 0;
        for (int i = 0; i < layers; i++) {
            CHECK(cudaMemcpy(words.data(), m.layer(i), 4 * words.size(), cudaMemcpyDeviceToHost));
            sum = std::accumulate(words.begin(), words.end(), sum);
        }
        if (whole) {
            words.resize(decoder_model::table_weights / 2);
            CHECK(cudaMemcpy(words.data(), m.table(), 4 * words.size(), cudaMemcpyDeviceToHost));
            sum = std::accumulate(words.begin(), words.end(), sum);
        }
        return sum;
    }

  private:
    const uint4 *from_;
    size_t count_;
    unsigned grids_[READ_WAYS];
    device_buffer<unsigned> sums_;
};

#endif /* PDL_EXAMPLES_DECODE_READ_CUH */
