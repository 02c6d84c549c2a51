/* SPDX-License-Identifier: MIT */
/* Two fully connected layers in a row, as at every step of a decoder: y = W1 x, z = W2 y.
 *
 * The second layer's first weights are loaded before its wait (fc_layer.cuh), so its launch, its ramp
 * and the first layer's tail overlap. Launched four ways: `<<<>>>`, cudaLaunchKernelEx with the PDL
 * attribute, libpdl without and libpdl with overlap. All give the same bits. */
#include <cstring>

#include <pdl/cudart.h>

#include "fc_layer.cuh"

enum way { PLAIN, RAW_PDL, SERIAL, OVERLAPPED, WAYS };
static const char *const way_names[WAYS] = {"<<<>>>", "cudaLaunchKernelEx with PDL",
                                            "libpdl, PDL_OVERLAP_NONE", "libpdl, PDL_OVERLAP_AUTO"};
static const int n = 2048;         /* rows and columns */
static const int sets = 24;        /* of weights, more than L2 holds: used in turn */
static const int pairs = 2 * sets; /* of layers in a batch */

template <typename Out>
static void launch_layer(way how, cudaStream_t stream, const bf16 *w, const bf16 *x, Out *y)
{
    if (how == PLAIN) {
        fc_layer<Out><<<n / fc_rows, fc_threads, fc_shared_bytes, stream>>>(w, x, y, n);
        CHECK(cudaGetLastError());
    } else if (how == RAW_PDL) {
        cudaLaunchAttribute attribute = {};
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        cudaLaunchConfig_t config = {};
        config.gridDim = n / fc_rows;
        config.blockDim = fc_threads;
        config.dynamicSmemBytes = fc_shared_bytes;
        config.stream = stream;
        config.attrs = &attribute;
        config.numAttrs = 1;
        CHECK(cudaLaunchKernelEx(&config, fc_layer<Out>, w, x, y, n));
    } else {
        const pdl_launch_desc desc =
            pdl_launch_desc_make(n / fc_rows, fc_threads, fc_shared_bytes, stream,
                                 how == SERIAL ? PDL_OVERLAP_NONE : PDL_OVERLAP_AUTO);
        CHECK(pdl_launch_kernel(desc, fc_layer<Out>, w, x, y, n));
    }
}

struct layers {
    bf16 *weights, *x, *y;
    float *z;

    void launch(way how, cudaStream_t stream, int count) const
    {
        for (int i = 0; i < count; i++) {
            const bf16 *const w = weights + static_cast<size_t>(i % sets) * 2 * n * n;
            launch_layer(how, stream, w, x, y);
            launch_layer(how, stream, w + static_cast<size_t>(n) * n, y, z);
        }
    }
};

/* z in double precision. */
static std::vector<double> on_host(const std::vector<bf16> &w, const std::vector<bf16> &x)
{
    std::vector<double> in, between, z;
    for (const bf16 value : x) {
        in.push_back(__bfloat162float(value));
    }
    for (size_t row = 0; row < n; row++) { /* y is bf16 */
        between.push_back(__bfloat162float(__double2bfloat16(product(&w[row * n], in))));
    }
    for (size_t row = 0; row < n; row++) {
        z.push_back(product(&w[(n + row) * n], between));
    }
    return z;
}

int main()
{
    require_device("03_fc_chain");
    std::vector<bf16> w, x;
    for (const float value : random_numbers(2 * static_cast<size_t>(n) * n, 1)) {
        w.push_back(__float2bfloat16(value));
    }
    for (const float value : random_numbers(n, 2)) {
        x.push_back(__float2bfloat16(value));
    }
    const layers l = {allocate<bf16>(sets * w.size()), to_device(x), allocate<bf16>(n),
                      allocate<float>(n)};
    for (int set = 0; set < sets; set++) { /* copies: what counts is where they are */
        CHECK(cudaMemcpy(l.weights + set * w.size(), w.data(), w.size() * sizeof(bf16),
                         cudaMemcpyHostToDevice));
    }
    prepare(fc_layer<bf16>);
    prepare(fc_layer<float>);

    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    bool good = true;
    std::vector<float> first;
    double us[WAYS];
    for (int i = 0; i < WAYS; i++) {
        const way how = static_cast<way>(i);
        CHECK(cudaMemset(l.z, 0xff, n * sizeof(float))); /* not-a-number */
        CHECK(cudaDeviceSynchronize());
        l.launch(how, stream, 1);
        const std::vector<float> z = to_host(l.z, n);
        first = i == 0 ? z : first;
        const bool same = std::memcmp(z.data(), first.data(), n * sizeof(float)) == 0;
        us[i] = median_us(stream, [&] { l.launch(how, stream, pairs); }) / pairs;
        std::printf("%-28s %6.2f us a pair of layers, %.2f TB/s%s\n", way_names[i], us[i],
                    4e-6 * n * n / us[i], same ? "" : ", another result than the first");
        good = good && same;
    }
    const int wrong = wrong_values(first, on_host(w, x), 2e-3);
    std::printf("with overlap %.2f times as fast; %d of %d values are wrong\n",
                us[SERIAL] / us[OVERLAPPED], wrong, n);
    return verdict(good && wrong == 0);
}
