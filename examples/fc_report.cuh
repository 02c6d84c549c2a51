/* SPDX-License-Identifier: MIT */
/* What 03_fc_chain found, as text and as JSON. */
#ifndef PDL_EXAMPLES_FC_REPORT_CUH
#define PDL_EXAMPLES_FC_REPORT_CUH

#include "fc_model.cuh"

/* The figures of one way to launch. */
struct way_result {
    const char *name;
    const char *key;
    std::vector<double> us;       /* a pair of layers, one for each timed batch */
    std::vector<double> early_ns; /* how long before the first layer's end the second started */
    double error;

    int overlapped() const
    {
        return static_cast<int>(
            std::count_if(early_ns.begin(), early_ns.end(), [](double ns) { return ns > 0; }));
    }
};

inline void print_machine(FILE *json, const cudaDeviceProp &device, const fc_model &m,
                          unsigned long long seed, unsigned long long clock_step)
{
    const double all_bytes = static_cast<double>(m.set_bytes()) * m.sets;
    std::printf("%s: y = W1 x (%d x %d), z = W2 y (%d x %d), bf16, seed %llu\n", device.name,
                m.rows, m.cols, m.cols, m.rows, seed);
    std::printf(
        "%d sets of weights of %.1f MB in turn, together %.1f times the L2 cache, so that they "
        "come from memory\n",
        m.sets, 1e-6 * static_cast<double>(m.set_bytes()), all_bytes / device.l2CacheSize);
    std::printf("stamps are of %%globaltimer, which steps by %llu ns\n", clock_step);
    std::fprintf(json,
                 "{\"program\": \"03_fc_chain\", \"device\": \"%s\", \"rows\": %d, \"cols\": %d, "
                 "\"seed\": %llu, \"weight_sets\": %d, \"l2_bytes\": %d, \"clock_step_ns\": %llu, "
                 "\"results\": [",
                 device.name, m.rows, m.cols, seed, m.sets, device.l2CacheSize, clock_step);
}

inline void print_batch(FILE *json, const fc_model &m, int pairs, size_t rounds, bool granted)
{
    std::printf("\nbatch %d: us a pair of layers, median of %zu batches of %d pairs (p25 to p75)\n",
                m.batch, rounds, pairs);
    std::fprintf(json,
                 "\n {\"batch\": %d, \"rounds\": %zu, \"pairs_per_batch\": %d, "
                 "\"overlap_granted\": %s",
                 m.batch, rounds, pairs, granted ? "true" : "false");
}

inline void print_way(FILE *json, const fc_model &m, const way_result &r)
{
    const double middle = median(r.us);
    const double p25 = quantile(r.us, 0.25);
    const double p75 = quantile(r.us, 0.75);
    std::printf("  %-27s %8.3f (%.3f to %.3f), weights at %.2f TB/s\n", r.name, middle, p25, p75,
                1e-6 * static_cast<double>(m.set_bytes()) / middle);
    std::printf(
        "  %27s second layer started before the first ended in %d of %zu pairs (median %+.0f "
        "ns); largest relative error %.1e\n",
        "", r.overlapped(), r.early_ns.size(), median(r.early_ns), r.error);
    std::fprintf(json,
                 ",\n  \"%s\": {\"us_per_pair\": %.4f, \"p25\": %.4f, \"p75\": %.4f, "
                 "\"stamped_pairs\": %zu, \"overlapped_pairs\": %d, \"median_early_ns\": %.0f, "
                 "\"largest_relative_error\": %.3e}",
                 r.key, middle, p25, p75, r.early_ns.size(), r.overlapped(), median(r.early_ns),
                 r.error);
}

#endif /* PDL_EXAMPLES_FC_REPORT_CUH */
