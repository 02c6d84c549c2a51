/* SPDX-License-Identifier: MIT */
/* One token for each of 1 to 16 sequences through a decoder of the 1B, 3B or 8B class, with weights in
 * bf16 or fp8: layers of RMSNorm, qkv, rotary embedding and attention over a cache, output projection,
 * RMSNorm, gate and up with SiLU, down.
 *
 * The time is that of reading the weights and the cache, and of what lies between the kernels. The
 * kernels have their first weights on the way before their wait (decode_linear.cuh). Launched in six
 * ways, without attention, with it, and as a whole with the embedding and the logits, beside the pure
 * reading of weights in the same run. Every step of every layer is checked against float64, and all
 * ways against each other, to the bit. */
#include <cstring>

#include "decode_read.cuh"
#include "decode_reference.cuh"
#include "decode_ways.cuh"

enum { WORKLOADS = 3, JOBS = WORKLOADS * DECODE_WAYS + READ_WAYS };

struct options {
    decoder_config config = {decoder_shapes[0], 1, 512, false};
    unsigned long long seed = 1;
    int rounds = 21;
    const char *json_path = "/dev/null";
};

struct workload {
    const char *name, *key;
    bool with_attention, whole;
    double bytes = 0;
    std::vector<double> errors = {}; /* the largest of each step */
    size_t steps = 0, overlapped[DECODE_WAYS] = {};
    std::vector<double> us[DECODE_WAYS] = {};
    bool good = true;
};

/* Checks each way's result, and counts the steps that started before the one before had ended. */
static void check(workload &w, const decoder_model &m, const decoder_settings &settings,
                  gated_stream &gate, const decoder_runs &runs)
{
    const overlap_counter counter(m, w.with_attention, settings, gate.stream, w.whole);
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

/* `rate`: of reading and nothing else, bytes per us. */
static void print_row(FILE *json, const char *name, const char *key, double bytes,
                      const std::vector<double> &us, double rate)
{
    const double middle = median(us), p25 = quantile(us, 0.25), p75 = quantile(us, 0.75);
    std::printf("  %-30s %8.1f (%.1f to %.1f)  %6.2f  %5.1f%%\n", name, middle, p25, p75,
                1e-6 * bytes / middle, 100 * bytes / middle / rate);
    std::fprintf(json,
                 ",\n  \"%s\": {\"us_per_token\": %.2f, \"p25\": %.2f, \"p75\": %.2f,"
                 " \"tb_per_s\": %.4f, \"of_read_bandwidth\": %.4f",
                 key, middle, p25, p75, 1e-6 * bytes / middle, bytes / middle / rate);
}

static void print_workload(FILE *json, const workload &w, double rate)
{
    std::printf("\n%s, %zu kernels, %.3f GB to read: µs per token (p25 to p75), TB/s, share of the"
                " read bandwidth\n",
                w.name, w.steps, 1e-9 * w.bytes);
    std::fprintf(json, ",\n \"%s\": {\"kernels\": %zu, \"bytes\": %.0f", w.key, w.steps, w.bytes);
    for (int how = 0; how < DECODE_WAYS; how++) {
        print_row(json, way_names[how], way_keys[how], w.bytes, w.us[how], rate);
        std::fprintf(json, ", \"overlapped\": %zu}", w.overlapped[how]);
    }
    const double chain = median(w.us[CHAIN]);
    std::printf("  pdl_chain: %.3f times as fast as the graph, %.3f of the captured programmatic"
                " graph's time; %zu of %zu kernels\n  started before the one before had ended\n",
                median(w.us[PLAIN_GRAPH]) / chain, chain / median(w.us[RAW_GRAPH]),
                w.overlapped[CHAIN], w.steps - 1);
}

static void print_errors(FILE *json, const workload &w)
{
    std::printf("%s, largest relative errors:", w.name);
    std::fprintf(json, "%s\"%s\": {", w.whole ? ", " : w.with_attention ? ", " : "", w.key);
    for (size_t i = 0; i < checked_steps; i++) {
        std::printf("%s %s %.1e", i == 0 ? "" : ",", checked_names[i], w.errors[i]);
        std::fprintf(json, "%s\"%s\": %.3e", i == 0 ? "" : ", ", checked_names[i], w.errors[i]);
    }
    std::printf("\n");
    std::fprintf(json, "}");
}

static bool parse_number(const char *text, int least, int most, int *to)
{
    char *end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < least || value > most) {
        return false;
    }
    *to = static_cast<int>(value);
    return true;
}

static bool parse(int argc, char **argv, options *to)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *const name = argv[i], *const value = argv[i + 1];
        bool good = false;
        if (std::strcmp(name, "--shape") == 0) {
            for (const decoder_shape &shape : decoder_shapes) {
                if (std::strcmp(value, shape.name) == 0) {
                    to->config.shape = shape;
                    good = true;
                }
            }
        } else if (std::strcmp(name, "--weights") == 0) {
            to->config.fp8_weights = std::strcmp(value, "fp8") == 0;
            good = to->config.fp8_weights || std::strcmp(value, "bf16") == 0;
        } else if (std::strcmp(name, "--sequences") == 0) {
            good = parse_number(value, 1, most_sequences, &to->config.batch);
        } else if (std::strcmp(name, "--context") == 0) {
            good = parse_number(value, 1, 1 << 20, &to->config.context);
        } else if (std::strcmp(name, "--layers") == 0) {
            good = parse_number(value, 1, 1000, &to->config.shape.layers);
        } else if (std::strcmp(name, "--rounds") == 0) {
            good = parse_number(value, 0, 1000000, &to->rounds);
        } else if (std::strcmp(name, "--seed") == 0) {
            to->seed = std::strtoull(value, nullptr, 10);
            good = *value != '\0';
        } else if (std::strcmp(name, "--json") == 0) {
            to->json_path = value;
            good = *value != '\0';
        }
        if (!good) {
            return false;
        }
    }
    return argc % 2 == 1;
}

int main(int argc, char **argv)
{
    options o;
    if (!parse(argc, argv, &o)) {
        std::fprintf(
            stderr,
            "usage: bench_decode [--shape 1b|3b|8b] [--sequences 1..16] [--context TOKENS]\n"
            "                 [--weights bf16|fp8] [--layers N] [--rounds N] [--seed N]\n"
            "                 [--json FILE]\n"
            "--layers: after --shape. --rounds 0: only checks.\n");
        return 2;
    }
    require_device("bench_decode");
    pdl_device_info device = PDL_DEVICE_INFO_INIT;
    CHECK(pdl_device_get(0, &device));
    const unsigned blocks = static_cast<unsigned>(device.multiprocessor_count);
    size_t left = 0, total = 0;
    CHECK(cudaMemGetInfo(&left, &total));
    if (left < decoder_model::device_bytes(o.config, true)) {
        std::printf(
            "bench_decode: skipped: %.1f GB of the device's memory are free, it takes %.1f\n",
            1e-9 * static_cast<double>(left),
            1e-9 * static_cast<double>(decoder_model::device_bytes(o.config, true)));
        return 77;
    }

    const decoder_model m(o.config, o.seed, true);
    const decoder_settings settings = decoder_defaults(o.config, blocks);
    const decoder_steps steps[WORKLOADS] = {{m, false, settings, nullptr},
                                            {m, true, settings, nullptr},
                                            {m, true, settings, nullptr, true}};
    if (!steps[WORKLOADS - 1].fits()) {
        std::printf("bench_decode: skipped: this model does not fit the kernels\n");
        return 77;
    }
    FILE *json = std::fopen(o.json_path, "w");
    if (json == nullptr) {
        std::perror(o.json_path);
        return 1;
    }
    gated_stream gate;
    const weight_reader reader(m.weights.get(), m.layer_bytes() * m.shape.layers, blocks);
    workload loads[WORKLOADS] = {
        {"linear, norm and activation", "linear", false, false, m.token_bytes(false, false)},
        {"with attention", "with_attention", true, false, m.token_bytes(true, false)},
        {"with attention, embedding and logits", "whole", true, true, m.token_bytes(true, true)}};
    const decoder_runs runs[WORKLOADS] = {
        {steps[0], gate.stream}, {steps[1], gate.stream}, {steps[2], gate.stream}};
    bool good = true;
    const unsigned sum = reader.reference();
    for (const read_way how : {READ_LOADS, READ_COPIES}) {
        if (!reader.check(how, gate.stream, sum)) {
            std::printf("what was read does not add up\n");
            good = false;
        }
    }
    std::fprintf(
        json,
        "{\"program\": \"bench_decode\", \"device\": \"%s\", \"shape\": \"%s\", \"layers\": %d,"
        " \"sequences\": %d, \"context\": %d, \"weights\": \"%s\", \"seed\": %llu,"
        " \"rounds\": %d,\n \"largest_relative_errors\": {",
        device.name, m.shape.name, m.shape.layers, m.batch, o.config.context,
        o.config.fp8_weights ? "fp8" : "bf16", o.seed, o.rounds);
    for (int i = 0; i < WORKLOADS; i++) { /* the whole last: it changes the input */
        loads[i].steps = steps[i].list.size();
        check(loads[i], m, settings, gate, runs[i]);
        print_errors(json, loads[i]);
        good = good && loads[i].good;
    }
    std::fprintf(json, "}");

    /* A batch must fit in the launch queue. */
    const int batch_tokens = std::max(1, std::min(5, 700 / static_cast<int>(loads[2].steps)));
    std::vector<double> read_us[READ_WAYS];
    for (int round = 0; round < o.rounds; round++) { /* each once, the order turns */
        for (int j = 0; j < JOBS; j++) {
            const int which = (j + round) % JOBS;
            const int read = which - WORKLOADS * DECODE_WAYS; /* from 0 on: reading only */
            const int load = which % WORKLOADS;
            const double us = gate.run([&] {
                for (int token = 0; token < batch_tokens; token++) {
                    if (read >= 0) {
                        reader.run(static_cast<read_way>(read), gate.stream);
                    } else {
                        runs[load].run(static_cast<way>(which / WORKLOADS), gate.stream);
                    }
                }
            });
            (read >= 0 ? read_us[read] : loads[load].us[which / WORKLOADS])
                .push_back(us / batch_tokens);
        }
    }

    std::printf("%s: %s class, %d layers, %s weights, %d sequences of %d tokens, seed %llu; medians"
                " of %d batches of %d steps\n",
                device.name, m.shape.name, m.shape.layers, o.config.fp8_weights ? "fp8" : "bf16",
                m.batch, o.config.context, o.seed, o.rounds, batch_tokens);
    if (o.rounds > 0) {
        const double rate =
            reader.bytes() / std::min(median(read_us[READ_LOADS]), median(read_us[READ_COPIES]));
        std::printf("reading the weights and nothing else:\n");
        std::fprintf(json, ",\n \"read\": {\"bytes\": %.0f, \"best_tb_per_s\": %.4f",
                     reader.bytes(), 1e-6 * rate);
        print_row(json, "with loads", "loads", reader.bytes(), read_us[READ_LOADS], rate);
        std::fprintf(json, "}");
        print_row(json, "with bulk copies", "bulk_copies", reader.bytes(), read_us[READ_COPIES],
                  rate);
        std::fprintf(json, "}}");
        for (const workload &w : loads) {
            print_workload(json, w, rate);
            std::fprintf(json, "}");
        }
    }
    std::fprintf(json, "}\n");
    if (std::fclose(json) != 0) {
        std::perror(o.json_path);
        return 1;
    }
    std::printf("every step is within %.1e of float64, and all ways agree to the bit: %s\n%s\n",
                error_limit, good ? "yes" : "no", good ? "PASS" : "FAIL");
    return good ? 0 : 1;
}
