/* SPDX-License-Identifier: MIT */
/* One token through a decoder of the 1B class, batch 1, in bf16: 16 layers of RMSNorm, qkv, rotary
 * embedding and attention over 512 tokens, output projection, RMSNorm, gate and up with SiLU, down.
 *
 * The time is that of reading 1.95 GB of weights, and of what lies between 80 kernels. The kernels
 * have their first weights on the way before their wait (decode_linear.cuh). Launched in six ways,
 * without attention, with it, and as a whole with the embedding and the logits (0.53 GB more), beside
 * the pure reading of the same weights in the same run. Every step of every layer is checked against
 * float64, and all ways against each other, to the bit. */
#include <cstring>

#include "decode_read.cuh"
#include "decode_reference.cuh"
#include "decode_ways.cuh"

static const int batch_tokens = 5;
static const double weight_bytes = 2.0 * decoder_model::all_weights;
static const double whole_bytes = weight_bytes + 2.0 * decoder_model::table_weights;
enum { WORKLOADS = 3, JOBS = WORKLOADS * DECODE_WAYS + 2 * READ_WAYS };

struct workload {
    const char *name, *key;
    bool with_attention, whole;
    double bytes;
    std::vector<double> errors = {}; /* the largest of each step */
    size_t steps = 0, overlapped[DECODE_WAYS] = {};
    std::vector<double> us[DECODE_WAYS] = {};
    bool good = true;
};

/* Checks each way's result, and counts the steps that started before the one before had ended. */
static void check(workload &w, const decoder_model &m, unsigned blocks, gated_stream &gate,
                  const decoder_runs &runs)
{
    const overlap_counter counter(m, w.with_attention, blocks, gate.stream, w.whole);
    std::vector<bf16> first;
    for (int i = 0; i < DECODE_WAYS; i++) {
        const way how = static_cast<way>(i);
        m.poison();
        if (w.whole) {
            m.input.fill(0xff);
        }
        runs.run(how, gate.stream); /* loads the kernels, too */
        const std::vector<bf16> got = m.results();
        if (first.empty()) {
            first = got;
        } else if (std::memcmp(first.data(), got.data(), got.size() * sizeof(got[0])) != 0) {
            std::printf("%s: differs from %s\n", way_names[how], way_names[0]);
            w.good = false;
        }
        w.overlapped[how] = counter.count(how, gate.stream, [&](auto &&work) { gate.run(work); });
        if (!counter.as_granted(how, w.overlapped[how])) {
            std::printf("%s: the overlap was not as granted\n", way_names[how]);
            w.good = false;
        }
    }
    w.errors =
        check_token(m, first, w.with_attention, [&](int layer, const char *step, double error) {
            std::printf("layer %d, %s: wrong by %.1e\n", layer, step, error);
            w.good = false;
        });
    if (w.whole) {
        const double error = check_logits(m, first);
        std::printf("logits: largest relative error %.1e\n", error);
        w.good = w.good && error <= error_limit;
    }
}

static void print_row(FILE *json, const char *name, const char *key, double bytes,
                      const std::vector<double> &us, double read_us)
{
    const double middle = median(us), p25 = quantile(us, 0.25), p75 = quantile(us, 0.75);
    std::printf("  %-30s %8.1f (%.1f to %.1f)  %6.2f  %5.1f%%\n", name, middle, p25, p75,
                1e-6 * bytes / middle, 100 * read_us / middle);
    std::fprintf(json,
                 ",\n  \"%s\": {\"us_per_token\": %.2f, \"p25\": %.2f, \"p75\": %.2f,"
                 " \"weights_tb_per_s\": %.4f, \"of_read_bandwidth\": %.4f",
                 key, middle, p25, p75, 1e-6 * bytes / middle, read_us / middle);
}

static void print_workload(FILE *json, const workload &w, double read_us)
{
    std::printf("\n%s, %zu kernels: µs per token (p25 to p75), TB/s of weights, share of the read"
                " bandwidth\n",
                w.name, w.steps);
    std::fprintf(json, ",\n \"%s\": {\"kernels\": %zu, \"weight_bytes\": %.0f", w.key, w.steps,
                 w.bytes);
    for (int how = 0; how < DECODE_WAYS; how++) {
        print_row(json, way_names[how], way_keys[how], w.bytes, w.us[how], read_us);
        std::fprintf(json, ", \"overlapped\": %zu}", w.overlapped[how]);
    }
    const double chain = median(w.us[CHAIN]);
    std::printf("  pdl_chain: %.3f times as fast as the graph, %.3f of the captured programmatic"
                " graph's time; %zu of %zu kernels\n  started before the one before had ended\n"
                "  largest relative errors:",
                median(w.us[PLAIN_GRAPH]) / chain, chain / median(w.us[RAW_GRAPH]),
                w.overlapped[CHAIN], w.steps - 1);
    std::fprintf(json, ",\n  \"largest_relative_errors\": {");
    for (size_t i = 0; i < checked_steps; i++) {
        std::printf("%s %s %.1e", i == 0 ? "" : ",", checked_names[i], w.errors[i]);
        std::fprintf(json, "%s\"%s\": %.3e", i == 0 ? "" : ", ", checked_names[i], w.errors[i]);
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
    if (!decoder_fits(device.multiprocessor_count)) {
        std::printf("09_decode: skipped: too few multiprocessors for this model\n");
        return 77;
    }
    FILE *json = std::fopen(json_path, "w");
    if (json == nullptr) {
        std::perror(json_path);
        return 1;
    }

    const decoder_model m(seed, true);
    gated_stream gate;
    const weight_reader readers[2] = {{m, blocks, false}, {m, blocks, true}};

    workload loads[WORKLOADS] = {
        {"linear, norm and activation", "linear", false, false, weight_bytes},
        {"with attention", "with_attention", true, false, weight_bytes},
        {"with attention, embedding and logits", "whole", true, true, whole_bytes}};
    const decoder_steps steps[WORKLOADS] = {
        {m, false, blocks, nullptr}, {m, true, blocks, nullptr}, {m, true, blocks, nullptr, true}};
    const decoder_runs runs[WORKLOADS] = {
        {steps[0], gate.stream}, {steps[1], gate.stream}, {steps[2], gate.stream}};
    bool good = true;
    for (int whole = 0; whole < 2; whole++) {
        const unsigned sum = weight_reader::reference(m, whole != 0);
        for (const read_way how : {READ_LOADS, READ_COPIES}) {
            if (!readers[whole].check(how, gate.stream, sum)) {
                std::printf("what was read does not add up\n");
                good = false;
            }
        }
    }
    for (int i = 0; i < WORKLOADS; i++) { /* the whole last: it changes the input */
        loads[i].steps = steps[i].list.size();
        check(loads[i], m, blocks, gate, runs[i]);
        good = good && loads[i].good;
    }

    std::vector<double> read_us[2][READ_WAYS];
    for (int round = 0; round < rounds; round++) { /* each once, the order turns */
        for (int j = 0; j < JOBS; j++) {
            const int which = (j + round) % JOBS;
            const int read = which - WORKLOADS * DECODE_WAYS; /* from 0 on: reading only */
            const int load = which % WORKLOADS;
            const double us = gate.run([&] {
                for (int token = 0; token < batch_tokens; token++) {
                    if (read >= 0) {
                        readers[read / 2].run(static_cast<read_way>(read % 2), gate.stream);
                    } else {
                        runs[load].run(static_cast<way>(which / WORKLOADS), gate.stream);
                    }
                }
            });
            (read >= 0 ? read_us[read / 2][read % 2] : loads[load].us[which / WORKLOADS])
                .push_back(us / batch_tokens);
        }
    }

    const double best_read = std::min(median(read_us[0][0]), median(read_us[0][1]));
    const double best_whole = std::min(median(read_us[1][0]), median(read_us[1][1]));
    std::printf("%s: %d layers, %.2f GB of weights, seed %llu; medians of %d batches of %d tokens\n"
                "reading the weights and nothing else:\n",
                device.name, layers, 1e-9 * weight_bytes, seed, rounds, batch_tokens);
    std::fprintf(
        json,
        "{\"program\": \"09_decode\", \"device\": \"%s\", \"seed\": %llu, \"rounds\": %d,"
        " \"tokens_per_batch\": %d, \"weight_bytes\": %.0f,\n \"read\": {\"best_us\": %.2f",
        device.name, seed, rounds, batch_tokens, weight_bytes, best_read);
    print_row(json, "with loads", "loads", weight_bytes, read_us[0][READ_LOADS], best_read);
    std::fprintf(json, "}");
    print_row(json, "with bulk copies", "bulk_copies", weight_bytes, read_us[0][READ_COPIES],
              best_read);
    std::fprintf(json, "}");
    print_row(json, "whole, with loads", "whole_loads", whole_bytes, read_us[1][READ_LOADS],
              best_whole);
    std::fprintf(json, "}");
    print_row(json, "whole, with bulk copies", "whole_bulk_copies", whole_bytes,
              read_us[1][READ_COPIES], best_whole);
    std::fprintf(json, "}}");
    for (const workload &w : loads) {
        print_workload(json, w, w.whole ? best_whole : best_read);
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
