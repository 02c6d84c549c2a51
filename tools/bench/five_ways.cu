/* SPDX-License-Identifier: MIT */
/* One job of three dependent stages (ways_stages.cuh), run in five ways: three kernels with
 * `<<<>>>`; the same with overlap; the same as a chain; one cooperative kernel with a barrier of
 * the grid between stages; one kernel whose blocks wait for the blocks that they need. Which is
 * fastest, and do they agree to the bit? */
#include <chrono>

#include <pdl/chain.h>
#include <pdl/cudart.h>

#include "measure.cuh"
#include "ways_stages.cuh"

enum way { PLAIN, OVERLAPPED, CHAIN, LONG_CHAIN, GRID_SYNC, MEGAKERNEL, WAYS };
static const char *const way_names[WAYS] = {
    "three kernels, <<<>>>",     "three kernels, PDL_OVERLAP_AUTO",
    "a chain, a replay a job",   "a chain, a replay for all jobs",
    "one kernel, grid barriers", "one kernel, flags (\"megakernel\")"};
static const char *const way_keys[WAYS] = {"plain",      "overlapped", "chain",
                                           "long_chain", "grid_sync",  "megakernel"};

static const int rounds = 31;
static const int jobs = 50; /* in a batch: at most 150 launches, which the launch queue holds */
/* Different ones, in turn, so that a job that read its predecessor's data is seen. */
static const int inputs = 8;
/* Of numbers, which are multiples of 1/1024, small enough that nothing grows. */
static const float scale = 0.125f;

struct work {
    int n;
    std::vector<float> host_weights, host_x;
    device_buffer<float> weights, x, middle, out;
    device_buffer<unsigned> flags, failed;
    pdl_kernel *stage = nullptr;
    pdl_chain *one_job = nullptr, *all_jobs = nullptr;
    unsigned job_number = 0;

    explicit work(int size)
        : n(size),
          host_weights(random_numbers(static_cast<size_t>(stages) * columns * n, 1, scale)),
          host_x(random_numbers(static_cast<size_t>(inputs) * n, 2, scale)), weights(host_weights),
          x(host_x), middle(static_cast<size_t>(stages - 1) * n),
          out(static_cast<size_t>(jobs) * n), flags(static_cast<size_t>(stages - 1) * (n / rows)),
          failed(1)
    {
        CHECK(pdl_kernel_from_symbol(stage_kernel, &stage));
        CHECK(pdl_chain_create(nullptr, &one_job));
        CHECK(pdl_chain_create(nullptr, &all_jobs));
        record(one_job, 0);
        for (int job = 0; job < jobs; job++) {
            record(all_jobs, job);
        }
        CHECK(pdl_chain_build(one_job));
        CHECK(pdl_chain_build(all_jobs));
    }
    ~work()
    {
        pdl_chain_destroy(all_jobs);
        pdl_chain_destroy(one_job);
        pdl_kernel_destroy(stage);
    }

    const float4 *stage_weights(int i) const
    {
        return reinterpret_cast<const float4 *>(weights.get() +
                                                static_cast<size_t>(i) * columns * n);
    }
    const float *stage_in(int i, int job) const
    {
        return i == 0 ? x.get() + static_cast<size_t>(job % inputs) * n
                      : middle.get() + static_cast<size_t>(i - 1) * n;
    }
    float *stage_out(int i, int job) const
    {
        return i == stages - 1 ? out.get() + static_cast<size_t>(job) * n
                               : middle.get() + static_cast<size_t>(i) * n;
    }
    pdl_launch_desc desc(cudaStream_t stream, pdl_overlap overlap, bool cooperative = false) const
    {
        pdl_launch_desc made =
            pdl_launch_desc_make(static_cast<unsigned>(n / rows), threads, 0, stream, overlap);
        made.cooperative = cooperative;
        return made;
    }

    void record(pdl_chain *chain, int job) const
    {
        const pdl_launch_desc link = desc(nullptr, PDL_OVERLAP_AUTO);
        for (int i = 0; i < stages; i++) {
            CHECK(pdl_chain_add(
                chain, stage, &link,
                PDL_ARGS(stage_weights(i), stage_in(i, job), stage_out(i, job), stride_of(i)),
                nullptr, 0, nullptr));
        }
    }

    /* Queues all jobs. Their inputs and outputs differ; a chain of one job has to be told so before
     * each replay, unless `vary` is false: then it repeats the last one. */
    void run(way how, cudaStream_t stream, bool vary)
    {
        if (how == LONG_CHAIN) {
            CHECK(pdl_chain_launch(all_jobs, stream));
            return;
        }
        for (int job = 0; job < jobs; job++) {
            job_number++;
            for (int i = 0; i < stages && how <= CHAIN; i++) {
                if (how == PLAIN) {
                    stage_kernel<<<static_cast<unsigned>(n / rows), threads, 0, stream>>>(
                        stage_weights(i), stage_in(i, job), stage_out(i, job), stride_of(i));
                } else if (how == OVERLAPPED) {
                    CHECK(pdl_launch_kernel(desc(stream, PDL_OVERLAP_AUTO), stage_kernel,
                                            stage_weights(i), stage_in(i, job), stage_out(i, job),
                                            stride_of(i)));
                } else if (vary && (i == 0 || i == stages - 1)) {
                    CHECK(pdl_chain_set_args(one_job, static_cast<unsigned>(i),
                                             PDL_ARGS(stage_weights(i), stage_in(i, job),
                                                      stage_out(i, job), stride_of(i))));
                }
            }
            if (how == CHAIN) {
                CHECK(pdl_chain_launch(one_job, stream));
            } else if (how == GRID_SYNC) {
                CHECK(pdl_launch_kernel(desc(stream, PDL_OVERLAP_NONE, true), grid_sync_kernel,
                                        stage_weights(0), stage_in(0, job), middle.get(),
                                        stage_out(stages - 1, job)));
            } else if (how == MEGAKERNEL) {
                CHECK(pdl_launch_kernel(desc(stream, PDL_OVERLAP_NONE, true), megakernel,
                                        stage_weights(0), stage_in(0, job), middle.get(),
                                        stage_out(stages - 1, job), flags.get(), job_number,
                                        failed.get()));
            }
        }
        CHECK(cudaGetLastError());
    }
};

/* Queues `work` in an idle stream, waits for its end and returns how long that took, in
 * microseconds. */
template <typename Work> inline double wall_us(cudaStream_t stream, Work &&work)
{
    CHECK(cudaStreamSynchronize(stream));
    const auto begin = std::chrono::steady_clock::now();
    work();
    CHECK(cudaStreamSynchronize(stream));
    const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - begin;
    return us.count();
}

/* Runs all jobs behind the gate and compares every bit of every job with the host's. */
static bool check(work &w, way how, gated_stream &gate,
                  const std::vector<std::vector<float>> &expected)
{
    int wrong = 0;
    w.run(how, gate.stream, true); /* loads the kernels, which the shut gate would not let */
    w.middle.fill(0xff);
    w.out.fill(0xff);
    if (how == CHAIN) { /* its arguments change, which is the host's work between launches */
        w.run(how, gate.stream, true);
    } else {
        gate.run([&] { w.run(how, gate.stream, true); });
    }
    const std::vector<float> out = w.out.host();
    for (int job = 0; job < jobs; job++) {
        wrong += std::memcmp(out.data() + static_cast<size_t>(job) * w.n,
                             expected[job % inputs].data(), sizeof(float) * w.n) != 0;
    }
    const bool gave_up = w.failed.host()[0] != 0;
    if (wrong != 0 || gave_up) {
        std::printf("%s: %d of %d jobs are wrong%s\n", way_names[how], wrong, jobs,
                    gave_up ? ", and a block gave up waiting" : "");
    }
    return wrong == 0 && !gave_up;
}

int main(int argc, char **argv)
{
    const char *json_path = "/dev/null";
    int size = 0;
    parse_options("bench_five_ways", argc, argv,
                  {number_option("--size", "N: rows of a stage, a multiple of 64 (64 per SM)",
                                 &size, 256, 1 << 20),
                   json_option(&json_path)});
    const pdl_device_info device = require_device("bench_five_ways");
    work w(size != 0 ? size / rows * rows : rows * device.multiprocessor_count);
    std::vector<std::vector<float>> expected;
    for (int i = 0; i < inputs; i++) {
        const float *const x = w.host_x.data() + static_cast<size_t>(i) * w.n;
        expected.push_back(three_stages(w.host_weights, std::vector<float>(x, x + w.n)));
    }

    gated_stream gate;
    bool good = true;
    std::vector<row> tables[2]; /* on the device, and with the host */
    std::vector<row *> all;
    for (int i = 0; i < WAYS; i++) {
        const way how = static_cast<way>(i);
        good = check(w, how, gate, expected) && good;
        tables[0].push_back({way_names[how], way_keys[how], [&w, &gate, how] {
                                 return gate.run([&] { w.run(how, gate.stream, false); }) / jobs;
                             }});
        tables[1].push_back(
            {way_names[how], way_keys[how], [&w, &gate, how] {
                 return wall_us(gate.stream, [&] { w.run(how, gate.stream, true); }) / jobs;
             }});
    }
    for (int i = 0; i < WAYS; i++) {
        for (std::vector<row> &table : tables) {
            all.push_back(&table[static_cast<size_t>(i)]);
        }
    }
    measure(all, rounds);

    FILE *const json = open_json(json_path);
    std::printf("%s: %d stages of %d rows, %d blocks, %.1f MB of weights; us a job, medians of %d "
                "batches of"
                " %d jobs\n",
                device.name, stages, w.n, w.n / rows,
                4e-6 * static_cast<double>(w.host_weights.size()), rounds, jobs);
    std::fprintf(json,
                 "{\"program\": \"bench_five_ways\", \"device\": \"%s\", \"size\": %d,"
                 " \"jobs\": %d, \"rounds\": %d",
                 device.name, w.n, jobs, rounds);
    print_rows(json, "on the device", "on_device", tables[0]);
    print_rows(json, "with the host", "with_host", tables[1]);
    std::fprintf(json, "}\n");
    std::printf("all ways and the host agree to the bit: %s\n", good ? "yes" : "no");
    return finish(json, json_path, good);
}
