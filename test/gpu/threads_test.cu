/* SPDX-License-Identifier: MIT */
/* Typed launches from several host threads at once, the first ones included. */
#include <atomic>
#include <thread>

#include "gpu_test.cuh"

static const int thread_count = 8;
static const int launches_each = 2000;

template <int Which> static __global__ void add(unsigned long long *sums, unsigned what)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    atomicAdd(&sums[Which], static_cast<unsigned long long>(what));
}

/* Runs `body(thread)` in every thread, all starting together; returns how many calls returned
 * false. */
template <typename Body> static int run_threads(const Body &body)
{
    std::atomic<int> waiting(thread_count);
    std::atomic<int> failed(0);
    std::vector<std::thread> threads;
    for (int i = 0; i < thread_count; i++) {
        threads.emplace_back([&, i] {
            waiting--;
            while (waiting > 0) {
            }
            if (!body(i)) {
                failed++;
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    return failed;
}

TEST(typed_launches_from_many_threads_all_run_once)
{
    const int kernels = 3;
    unsigned long long *sums = device_memory<unsigned long long>(kernels);
    const int failed = run_threads([&](int thread) {
        cudaStream_t stream;
        if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) {
            return false;
        }
        const pdl_launch_desc desc = pdl_launch_desc_make(1, 1, 0, stream, PDL_OVERLAP_AUTO);
        const unsigned what = static_cast<unsigned>(thread + 1);
        bool good = true;
        for (int i = 0; i < launches_each; i++) {
            good = pdl_launch_kernel(desc, add<0>, sums, what) == PDL_SUCCESS && good;
            good = pdl_launch_kernel(desc, add<1>, sums, 1u) == PDL_SUCCESS && good;
            good = pdl_launch_kernel(desc, add<2>, sums, what * 2) == PDL_SUCCESS && good;
        }
        return cudaStreamSynchronize(stream) == cudaSuccess &&
               cudaStreamDestroy(stream) == cudaSuccess && good;
    });
    assert_int_equal(failed, 0);
    const std::vector<unsigned long long> host = contents(sums, kernels);
    const unsigned long long all = thread_count * (thread_count + 1) / 2;
    assert_true(host[0] == all * launches_each);
    assert_true(host[1] == 1ull * thread_count * launches_each);
    assert_true(host[2] == 2 * all * launches_each);
}

/* Errors belong to their thread. */
TEST(a_refusal_in_one_thread_is_not_seen_in_the_others)
{
    unsigned long long *sums = device_memory<unsigned long long>(1);
    const int failed = run_threads([&](int thread) {
        const bool wrong = thread % 2 == 1;
        const pdl_launch_desc desc = pdl_launch_desc_make(1, wrong ? 2000 : 1);
        bool good = pdl_last_error()->status == PDL_SUCCESS;
        for (int i = 0; i < 100; i++) {
            const pdl_status status = pdl_launch_kernel(desc, add<0>, sums, 1u);
            const pdl_status expected = wrong ? PDL_ERROR_INVALID_BLOCK : PDL_SUCCESS;
            good = good && status == expected && pdl_last_error()->status == expected;
        }
        return good;
    });
    assert_int_equal(failed, 0);
}

int main()
{
    return run_gpu_tests();
}
