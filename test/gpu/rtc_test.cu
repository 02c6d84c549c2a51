/* SPDX-License-Identifier: MIT */
/* Kernels compiled at run time, on a device: launched, gated by what their code does, and one kernel on
 * every device. With two devices or more, on all of them. */
#include <string>
#include <thread>

#include <pdl/rtc.h>

#include "gpu_test.cuh"

static const unsigned n = 1024;
static const char *const text = R"(
#include <pdl/device.cuh>
template <typename T, int Times> __global__ void scale(T *to, T by)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < Times; k++) {
        to[i] = to[i] * by;
    }
}
extern "C" __global__ void careless(float *to, float by)
{
    to[blockIdx.x * blockDim.x + threadIdx.x] *= by;
}
)";

static pdl_rtc_cache *cache;
static cudaStream_t stream;
static float *floats;

static void set_up(void)
{
    pdl_rtc_cache_desc desc = PDL_RTC_CACHE_DESC_INIT;
    desc.flags = PDL_RTC_CACHE_MEMORY_ONLY;
    assert_pdl(pdl_rtc_cache_create(&desc, &cache));
    undo_later([] { pdl_rtc_cache_destroy(cache); });
    stream = new_stream();
    floats = device_memory<float>(n);
}

static pdl_kernel *compile(const char *name, const pdl_rtc_options *options)
{
    pdl_kernel *kernel = nullptr;
    assert_pdl(pdl_rtc_kernel(cache, text, name, options, &kernel));
    return kernel;
}

/* Launches it twice over ones, and says what the first float came to. All of them must be equal. */
static float run_twice(pdl_kernel *kernel, float by)
{
    const std::vector<float> ones(n, 1.0f);
    std::vector<float> got(n);
    void *args[] = {&floats, &by};
    const pdl_launch_desc desc = pdl_launch_desc_make(n / 256, 256, 0, stream, PDL_OVERLAP_AUTO);
    assert_cuda(cudaMemcpy(floats, ones.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    assert_pdl(pdl_launch(kernel, &desc, args));
    assert_pdl(pdl_launch(kernel, &desc, args));
    assert_cuda(cudaStreamSynchronize(stream));
    assert_cuda(cudaMemcpy(got.data(), floats, n * sizeof(float), cudaMemcpyDeviceToHost));
    for (const float value : got) {
        assert_true(value == got[0]);
    }
    return got[0];
}

TEST(a_template_runs_by_its_name)
{
    assert_true(run_twice(compile("scale<float, 1>", nullptr), 3.0f) == 9.0f);
    assert_true(run_twice(compile("scale<float, 2>", nullptr), 3.0f) == 81.0f);
}

TEST(every_output_runs)
{
    const uint32_t outputs[] = {PDL_RTC_CUBIN, PDL_RTC_PTX};
    for (const uint32_t output : outputs) {
        pdl_rtc_options options = PDL_RTC_OPTIONS_INIT;
        options.output = output;
        assert_true(run_twice(compile("scale<float, 1>", &options), 5.0f) == 25.0f);
    }
    pdl_rtc_options options = PDL_RTC_OPTIONS_INIT;
    options.target = "compute_90";
    assert_true(run_twice(compile("scale<float, 1>", &options), 7.0f) == 49.0f);
    options.target = "sm_90a";
    assert_true(run_twice(compile("scale<float, 1>", &options), 2.0f) == 4.0f);
}

TEST(what_the_code_does_decides_on_overlap)
{
    const uint32_t outputs[] = {PDL_RTC_CUBIN, PDL_RTC_PTX};
    const pdl_launch_desc desc = pdl_launch_desc_make(1, 32, 0, stream, PDL_OVERLAP_AUTO);
    for (const uint32_t output : outputs) {
        pdl_rtc_options options = PDL_RTC_OPTIONS_INIT;
        options.output = output;
        pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
        pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
        pdl_kernel *const waits = compile("scale<float, 1>", &options);
        assert_pdl(pdl_kernel_get(waits, 0, &info));
        assert_int_equal(info.waits, PDL_YES);
        assert_int_equal(info.triggers, PDL_YES);
        assert_pdl(pdl_launch_explain(waits, &desc, &report));
        assert_int_equal(report.overlap_reason, PDL_REASON_GRANTED);

        pdl_kernel *const careless = compile("careless", &options);
        assert_pdl(pdl_kernel_get(careless, 0, &info));
        assert_int_equal(info.waits, PDL_NO);
        assert_pdl(pdl_launch_explain(careless, &desc, &report));
        assert_int_equal(report.overlap_reason, PDL_REASON_NO_WAIT);
    }
}

TEST(code_for_compute_80_does_not_overlap)
{
    pdl_rtc_options options = PDL_RTC_OPTIONS_INIT;
    options.target = "compute_80";
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    const pdl_launch_desc desc = pdl_launch_desc_make(1, 32, 0, stream, PDL_OVERLAP_AUTO);
    pdl_kernel *const kernel = compile("scale<float, 1>", &options);
    assert_pdl(pdl_launch_explain(kernel, &desc, &report));
    assert_int_not_equal(report.overlap_reason, PDL_REASON_GRANTED);
    assert_true(run_twice(kernel, 3.0f) == 9.0f);
}

TEST(code_that_the_device_cannot_run_is_refused)
{
    pdl_rtc_options options = PDL_RTC_OPTIONS_INIT;
    pdl_kernel *kernel = nullptr;
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    assert_pdl(pdl_device_get(0, &info));
    options.target = info.compute_capability_major == 8 ? "sm_90" : "sm_80";
    pdl_status status = pdl_rtc_kernel(cache, text, "careless", &options, &kernel);
    if (status == PDL_SUCCESS) { /* the driver looks when the code is needed */
        const float by = 1.0f;
        void *args[] = {&floats, const_cast<float *>(&by)};
        const pdl_launch_desc desc = pdl_launch_desc_make(1, 32, 0, stream, PDL_OVERLAP_NONE);
        status = pdl_launch(kernel, &desc, args);
    }
    expect_pdl(status, PDL_ERROR_NO_KERNEL_IMAGE, "a cubin for another device", __FILE__, __LINE__);
}

TEST(one_kernel_serves_every_device)
{
    int count = 0;
    assert_cuda(cudaGetDeviceCount(&count));
    pdl_kernel *const kernel = compile("scale<float, 3>", nullptr);
    const float by = 2.0f;
    for (int device = 0; device < count; device++) {
        float *floats = nullptr;
        float got = 0;
        const float one = 1.0f;
        assert_cuda(cudaSetDevice(device));
        assert_cuda(cudaMalloc(&floats, 32 * sizeof(float)));
        assert_cuda(cudaMemcpy(floats, &one, sizeof(one), cudaMemcpyHostToDevice));
        void *args[] = {&floats, const_cast<float *>(&by)};
        const pdl_launch_desc desc = pdl_launch_desc_make(1, 32, 0, nullptr, PDL_OVERLAP_AUTO);
        assert_pdl(pdl_launch(kernel, &desc, args));
        assert_cuda(cudaDeviceSynchronize());
        assert_cuda(cudaMemcpy(&got, floats, sizeof(got), cudaMemcpyDeviceToHost));
        assert_true(got == 8.0f);
        assert_cuda(cudaFree(floats));
        pdl_kernel *same = nullptr;
        assert_pdl(pdl_rtc_kernel(cache, text, "scale<float, 3>", nullptr, &same));
        if (device == 0) {
            assert_ptr_equal(same, kernel);
        }
    }
    assert_cuda(cudaSetDevice(0));
    print_message("on %d device(s)\n", count);
}

TEST(threads_get_one_kernel_and_launch_it)
{
    std::vector<std::thread> threads;
    std::vector<pdl_kernel *> kernels(16);
    std::vector<pdl_status> statuses(16, PDL_ERROR_DRIVER);
    for (size_t i = 0; i < kernels.size(); i++) {
        threads.emplace_back([&, i] {
            cudaSetDevice(0);
            cudaFree(nullptr);
            statuses[i] = pdl_rtc_kernel(cache, text, "scale<float, 5>", nullptr, &kernels[i]);
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    for (size_t i = 0; i < kernels.size(); i++) {
        assert_pdl(statuses[i]);
        assert_ptr_equal(kernels[i], kernels[0]);
    }
    assert_true(run_twice(kernels[0], 2.0f) == 1024.0f);
    pdl_rtc_stats stats = PDL_RTC_STATS_INIT;
    assert_pdl(pdl_rtc_cache_stats(cache, &stats));
    assert_true(stats.misses + stats.failures > 0);
}

int main()
{
    return run_gpu_tests(set_up);
}
