/* SPDX-License-Identifier: MIT */
/* One token through a decoder of the 1B class, batch 1, in bf16: 16 layers of RMSNorm, qkv, rotary
 * embedding and attention over 512 tokens, output projection, RMSNorm, gate and up with SiLU, down.
 *
 * The time is that of reading 1.95 GB of weights, and of what lies between 80 kernels. The kernels
 * have their first weights on the way before their wait (decode_linear.cuh). Launched in five ways,
 * with attention and without, beside the pure reading of the same weights in the same run. Every
 * step of every layer is checked against float64, and all ways against each other, to the bit. */
#include <cstring>

#include "decode_read.cuh"
#include "decode_reference.cuh"
#include "decode_ways.cuh"

/* Half a unit in the last place of bf16 is 2^-8 of the value at most; the rest is for the sums. */
static const double error_limit = 1.25 / 256;
static const int batch_tokens = 5;
static const double weight_bytes = 2.0 * decoder_model::all_weights;

struct workload {
    const char *name, *key;
    bool with_attention;
    double errors[6] = {}; /* the largest: qkv, attention, out, gate and up, down, cache */
    size_t steps = 0, overlapped[WAYS] = {};
    std::vector<double> us[WAYS] = {};
    bool good = true;
};

static const char *const error_names[6] = {"qkv",         "attention", "output projection",
                                           "gate and up", "down",      "new cache entries"};

/* Checks each way's result, and counts the steps that started before the one before had ended. */
static void check(workload &w, const decoder_model &m, unsigned blocks, gated_stream &gate,
                  const decoder_runs &runs)
{
    const size_t steps = w.steps;
    device_buffer<kernel_stamps> stamps(steps);
    const decoder_steps stamped(m, w.with_attention, blocks, stamps.get());
    const decoder_runs stamped_runs(stamped, gate.stream);
    std::vector<bf16> first;
    for (int how = 0; how < WAYS; how++) {
        m.poison();
        runs.run(static_cast<way>(how), gate.stream); /* loads the kernels, too */
        const std::vector<bf16> got = m.results();
        if (first.empty()) {
            first = got;
        } else if (std::memcmp(first.data(), got.data(), got.size() * sizeof(got[0])) != 0) {
            std::printf("%s: differs from %s\n", way_names[how], way_names[0]);
            w.good = false;
        }
        stamps.set(std::vector<kernel_stamps>(steps, kernel_stamps{~0ull, 0}));
        gate.run([&] { stamped_runs.run(static_cast<way>(how), gate.stream); });
        const std::vector<kernel_stamps> ran = stamps.host();
        for (size_t i = 1; i < steps; i++) {
            w.overlapped[how] += ran[i].first_start < ran[i - 1].last_end;
        }
    }
    for (int layer = 0; layer < layers; layer++) {
        const layer_errors e = check_layer(m, first, layer, w.with_attention);
        const double all[6] = {e.qkv, e.attention, e.out, e.gate_up, e.down, e.cache};
        for (int i = 0; i < 6; i++) {
            w.errors[i] = std::isnan(all[i]) ? all[i] : std::max(w.errors[i], all[i]);
            if (!(all[i] <= error_limit)) {
                std::printf("layer %d, %s: wrong by %.1e\n", layer, error_names[i], all[i]);
                w.good = false;
            }
        }
    }
    /* With the host out of it, what is granted happens nearly every time. */
    if (w.overlapped[CHAIN] < runs.granted * 9 / 10 || w.overlapped[PLAIN] != 0) {
        std::printf("the overlap was not as granted\n");
        w.good = false;
    }
}

static void print_row(FILE *json, const char *name, const char *key, const std::vector<double> &us,
                      double read_us)
{
    const double middle = median(us), p25 = quantile(us, 0.25), p75 = quantile(us, 0.75);
    std::printf("  %-30s %8.1f (%.1f to %.1f)  %6.2f  %5.1f%%\n", name, middle, p25, p75,
                1e-6 * weight_bytes / middle, 100 * read_us / middle);
    std::fprintf(json,
                 ",\n  \"%s\": {\"us_per_token\": %.2f, \"p25\": %.2f, \"p75\": %.2f,"
                 " \"weights_tb_per_s\": %.4f, \"of_read_bandwidth\": %.4f",
                 key, middle, p25, p75, 1e-6 * weight_bytes / middle, read_us / middle);
}

static void print_workload(FILE *json, const workload &w, double read_us)
{
    std::printf("\n%s, %zu kernels: us a token (p25 to p75), TB/s of weights, share of the read"
                " bandwidth\n",
                w.name, w.steps);
    std::fprintf(json, ",\n \"%s\": {\"kernels\": %zu", w.key, w.steps);
    for (int how = 0; how < WAYS; how++) {
        print_row(json, way_names[how], way_keys[how], w.us[how], read_us);
        std::fprintf(json, ", \"overlapped\": %zu}", w.overlapped[how]);
    }
    const double chain = median(w.us[CHAIN]);
    std::printf("  pdl_chain: %.3f times as fast as the graph, %.3f of the captured programmatic"
                " graph's time; %zu of %zu kernels\n  started before the one before had ended\n"
                "  largest relative errors:",
                median(w.us[PLAIN_GRAPH]) / chain, chain / median(w.us[RAW_GRAPH]),
                w.overlapped[CHAIN], w.steps - 1);
    std::fprintf(json, ",\n  \"largest_relative_errors\": {");
    for (int i = 0; i < 6; i++) {
        std::printf("%s %s %.1e", i == 0 ? "" : ",", error_names[i], w.errors[i]);
        std::fprintf(json, "%s\"%s\": %.3e", i == 0 ? "" : ", ", error_names[i], w.errors[i]);
    }
    std::printf("\n");
    std::fprintf(json, "}}");
}

int main(int argc, char **argv)
{
    const char *json_path = "/dev/null";
    unsigned long long seed = 1;
    int rounds = 21;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (std::strcmp(argv[i], "--json") == 0 && *value != '\0') {
            json_path = value;
        } else if (std::strcmp(argv[i], "--rounds") == 0 && std::atoi(value) > 0) {
            rounds = std::atoi(value);
        } else if (std::strcmp(argv[i], "--seed") == 0 && *value != '\0') {
            seed = std::strtoull(value, nullptr, 10);
        } else {
            std::fprintf(stderr, "usage: 09_decode [--rounds N] [--seed N] [--json FILE]\n");
            return 2;
        }
    }
    require_device("09_decode");
    pdl_device_info device = PDL_DEVICE_INFO_INIT;
    CHECK(pdl_device_get(0, &device));
    const unsigned blocks = static_cast<unsigned>(device.multiprocessor_count);
    const int grid = device.multiprocessor_count;
    if (!linear_shape<QKV>::fits(grid) || !linear_shape<OUT>::fits(grid) ||
        !linear_shape<GATE_UP>::fits(grid) || !linear_shape<DOWN>::fits(grid)) {
        std::printf("09_decode: skipped: too few multiprocessors for this model\n");
        return 77;
    }
    FILE *json = std::fopen(json_path, "w");
    if (json == nullptr) {
        std::perror(json_path);
        return 1;
    }

    const decoder_model m(seed);
    gated_stream gate;
    const device_buffer<unsigned> never(1);
    CHECK(cudaFuncSetAttribute(read_by_copies, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               read_shared_bytes));
    auto read = [&](bool copies) {
        const uint4 *const from = reinterpret_cast<const uint4 *>(m.weights.get());
        const size_t count = decoder_model::all_weights / 8;
        if (copies) {
            read_by_copies<<<2 * blocks, read_threads, read_shared_bytes, gate.stream>>>(
                from, count, never.get());
        } else {
            read_by_loads<<<16 * blocks, read_threads, 0, gate.stream>>>(from, count, never.get());
        }
        CHECK(cudaGetLastError());
    };
    read(false);
    read(true);
    CHECK(cudaStreamSynchronize(gate.stream));

    workload loads[2] = {{"linear, norm and activation", "linear", false},
                         {"with attention", "with_attention", true}};
    const decoder_steps steps[2] = {{m, false, blocks, nullptr}, {m, true, blocks, nullptr}};
    const decoder_runs runs[2] = {{steps[0], gate.stream}, {steps[1], gate.stream}};
    bool good = true;
    for (int i = 0; i < 2; i++) {
        loads[i].steps = steps[i].list.size();
        check(loads[i], m, blocks, gate, runs[i]);
        good = good && loads[i].good;
    }

    std::vector<double> read_us[2];
    for (int round = 0; round < rounds; round++) { /* each once, the order turns */
        for (int j = 0; j < 2 * WAYS + 2; j++) {
            const int which = (j + round) % (2 * WAYS + 2);
            const double us = gate.run([&] {
                for (int token = 0; token < batch_tokens; token++) {
                    if (which >= 2 * WAYS) {
                        read(which % 2 != 0);
                    } else {
                        runs[which % 2].run(static_cast<way>(which / 2), gate.stream);
                    }
                }
            });
            (which >= 2 * WAYS ? read_us[which % 2] : loads[which % 2].us[which / 2])
                .push_back(us / batch_tokens);
        }
    }

    const double best_read = std::min(median(read_us[0]), median(read_us[1]));
    std::printf("%s: %d layers, %.2f GB of weights, seed %llu; medians of %d batches of %d tokens\n"
                "reading the weights and nothing else:\n",
                device.name, layers, 1e-9 * weight_bytes, seed, rounds, batch_tokens);
    std::fprintf(
        json,
        "{\"program\": \"09_decode\", \"device\": \"%s\", \"seed\": %llu, \"rounds\": %d,"
        " \"tokens_per_batch\": %d, \"weight_bytes\": %.0f,\n \"read\": {\"best_us\": %.2f",
        device.name, seed, rounds, batch_tokens, weight_bytes, best_read);
    print_row(json, "with loads", "loads", read_us[0], best_read);
    std::fprintf(json, "}");
    print_row(json, "with bulk copies", "bulk_copies", read_us[1], best_read);
    std::fprintf(json, "}}");
    for (const workload &w : loads) {
        print_workload(json, w, best_read);
    }
    std::fprintf(json, "}\n");
    if (std::fclose(json) != 0) {
        std::perror(json_path);
        return 1;
    }
    std::printf("every step is within %.1e of float64, and all ways agree to the bit: %s\n%s\n",
                error_limit, good ? "yes" : "no", good ? "PASS" : "FAIL");
    return good ? 0 : 1;
}
