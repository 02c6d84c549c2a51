/* SPDX-License-Identifier: MIT */
/* The ways to run the job of ways_stages.cuh, many jobs in a row. */
#ifndef PDL_BENCH_WAYS_JOB_CUH
#define PDL_BENCH_WAYS_JOB_CUH

#include <pdl/chain.h>
#include <pdl/cudart.h>

#include "buffer.cuh"
#include "ways_stages.cuh"

enum way { PLAIN, OVERLAPPED, CHAIN, LONG_CHAIN, GRID_SYNC, MEGAKERNEL, WAYS };
static const char *const way_names[WAYS] = {
    "three kernels, <<<>>>",     "three kernels, PDL_OVERLAP_AUTO",
    "a chain, a replay a job",   "a chain, a replay for all jobs",
    "one kernel, grid barriers", "one kernel, flags (\"megakernel\")"};
static const char *const way_keys[WAYS] = {"plain",      "overlapped", "chain",
                                           "long_chain", "grid_sync",  "megakernel"};

static const int jobs = 50; /* in a batch: at most 150 launches, which the launch queue holds */
/* Different ones, in turn, so that a job that read its predecessor's data is seen. */
static const int inputs = 8;

struct work {
    int n;
    std::vector<float> host_weights, host_x;
    device_buffer<float> weights, x, middle, out;
    device_buffer<unsigned> flags, failed;
    pdl_kernel *stage = nullptr;
    pdl_chain *one_job = nullptr, *all_jobs = nullptr;
    unsigned job_number = 0;

    /* Multiples of 1/1024, small enough that nothing grows. */
    static std::vector<float> random(size_t count, unsigned state)
    {
        std::vector<float> values(count);
        for (float &value : values) {
            state = state * 1664525u + 1013904223u;
            value = static_cast<float>(static_cast<int>(state >> 24) - 128) / 1024;
        }
        return values;
    }

    explicit work(int size)
        : n(size), host_weights(random(static_cast<size_t>(stages) * columns * n, 1)),
          host_x(random(static_cast<size_t>(inputs) * n, 2)), weights(host_weights), x(host_x),
          middle(static_cast<size_t>(stages - 1) * n), out(static_cast<size_t>(jobs) * n),
          flags(static_cast<size_t>(stages - 1) * (n / rows)), failed(1)
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

#endif /* PDL_BENCH_WAYS_JOB_CUH */
