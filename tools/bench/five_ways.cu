/* SPDX-License-Identifier: MIT */
/* One job of three dependent stages (ways_stages.cuh), run in five ways: three kernels with
 * `<<<>>>`; the same with overlap; the same as a chain; one cooperative kernel with a barrier of
 * the grid between stages; one kernel whose blocks wait for the blocks that they need. Which is
 * fastest, and do they agree to the bit? */
#include <chrono>
#include <cstring>

#include "ways_job.cuh"

static const int rounds = 31;

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
    int size = -1;
    for (int i = 1; i < argc; i += 2) {
        if (std::strcmp(argv[i], "--json") == 0 && i + 1 < argc) {
            json_path = argv[i + 1];
        } else {
            size = std::strcmp(argv[i], "--size") == 0 && i + 1 < argc ? std::atoi(argv[i + 1]) : 0;
        }
    }
    if (size != -1 && (size < 256 || size % rows != 0)) {
        std::fprintf(stderr, "usage: bench_five_ways [--size N (a multiple of %d)] [--json FILE]\n",
                     rows);
        return 2;
    }
    require_device("bench_five_ways");
    pdl_device_info device = PDL_DEVICE_INFO_INIT;
    CHECK(pdl_device_get(0, &device));
    work w(size != -1 ? size : rows * device.multiprocessor_count);
    std::vector<std::vector<float>> expected;
    for (int i = 0; i < inputs; i++) {
        const float *const x = w.host_x.data() + static_cast<size_t>(i) * w.n;
        expected.push_back(three_stages(w.host_weights, std::vector<float>(x, x + w.n)));
    }

    gated_stream gate;
    bool good = true;
    std::vector<double> on_device[WAYS], with_host[WAYS];
    for (int how = 0; how < WAYS; how++) {
        good = check(w, static_cast<way>(how), gate, expected) && good;
    }
    for (int i = 0; i < rounds * WAYS; i++) { /* a round runs each way once, the order turns */
        const way how = static_cast<way>((i + i / WAYS) % WAYS);
        on_device[how].push_back(gate.run([&] { w.run(how, gate.stream, false); }) / jobs);
        with_host[how].push_back(wall_us(gate.stream, [&] { w.run(how, gate.stream, true); }) /
                                 jobs);
    }

    FILE *json = std::fopen(json_path, "w");
    if (json == nullptr) {
        std::perror(json_path);
        return 1;
    }
    std::printf(
        "%s: %d stages of %d rows, %d blocks, %.1f MB of weights; us a job, median of %d batches of"
        " %d jobs\n%-36s %10s %10s %14s\n",
        device.name, stages, w.n, w.n / rows, 4e-6 * static_cast<double>(w.host_weights.size()),
        rounds, jobs, "", "on device", "with host", "against <<<>>>");
    std::fprintf(json,
                 "{\"program\": \"bench_five_ways\", \"device\": \"%s\", \"size\": %d,"
                 " \"jobs\": %d, \"rounds\": %d",
                 device.name, w.n, jobs, rounds);
    for (int how = 0; how < WAYS; how++) {
        const double us = median(on_device[how]), wall = median(with_host[how]);
        std::printf("%-36s %10.3f %10.3f %13.2fx\n", way_names[how], us, wall,
                    median(on_device[PLAIN]) / us);
        std::fprintf(json, ",\n \"%s\": {\"us_per_job\": %.4f, \"wall_us_per_job\": %.4f}",
                     way_keys[how], us, wall);
    }
    std::fprintf(json, "}\n");
    if (std::fclose(json) != 0) {
        std::perror(json_path);
        return 1;
    }
    std::printf("all ways and the host agree to the bit: %s\n%s\n", good ? "yes" : "no",
                good ? "PASS" : "FAIL");
    return good ? 0 : 1;
}
