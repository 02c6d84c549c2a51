/* SPDX-License-Identifier: MIT */
/* One token through a decoder of the 1B class, with the kernels of the example 09_decode. What fails
 * in the example's code ends the program. */
#include <cmath>
#include <cstring>
#include <memory>

#include "../../examples/decode_read.cuh"
#include "../../examples/decode_reference.cuh"
#include "../../examples/decode_ways.cuh"

extern "C" {
#include "bench/bench.h"
}
#include "bench/gpu.h"
#include "bench/suites.h"

static const double token_bytes = 2.0 * decoder_model::all_weights;
static const int batch_tokens = 5;
static const unsigned long long seed = 1;

enum token_part { LINEAR, WHOLE, PARTS };
static const char *const part_names[PARTS] = {"linear", "attention"};
static const char *const read_names[READ_WAYS] = {"loads", "copies"};

struct token_point {
    token_part part;
    way how;
};
struct kernel_point {
    step_kind kind;
    way how;
};
static const token_point token_points[PARTS][DECODE_WAYS] = {
    {{LINEAR, PLAIN},
     {LINEAR, STREAM_PDL},
     {LINEAR, LIBPDL},
     {LINEAR, PLAIN_GRAPH},
     {LINEAR, RAW_GRAPH},
     {LINEAR, CHAIN}},
    {{WHOLE, PLAIN},
     {WHOLE, STREAM_PDL},
     {WHOLE, LIBPDL},
     {WHOLE, PLAIN_GRAPH},
     {WHOLE, RAW_GRAPH},
     {WHOLE, CHAIN}},
};
static const read_way read_points[READ_WAYS] = {READ_LOADS, READ_COPIES};
static const kernel_point kernel_points[STEP_KINDS][2] = {
    {{STEP_QKV, PLAIN_GRAPH}, {STEP_QKV, CHAIN}},
    {{STEP_ATTENTION, PLAIN_GRAPH}, {STEP_ATTENTION, CHAIN}},
    {{STEP_OUT, PLAIN_GRAPH}, {STEP_OUT, CHAIN}},
    {{STEP_GATE_UP, PLAIN_GRAPH}, {STEP_GATE_UP, CHAIN}},
    {{STEP_DOWN, PLAIN_GRAPH}, {STEP_DOWN, CHAIN}},
};

/* Runs `work`, a lambda, behind the gate, and returns how long it took on the device, us. */
template <typename Work> static double gated_us(const Work &work)
{
    return gpu_time([](void *context) { (*static_cast<const Work *>(context))(); },
                    const_cast<Work *>(&work))
        .device_us;
}

/* The weights were read once at the rate of that. */
static double terabytes_per_second(double bytes, double us)
{
    return 1e-6 * bytes / us;
}

/* ---- what the device must have ---------------------------------------------------------------- */

static unsigned block_count()
{
    return static_cast<unsigned>(gpu.multiprocessors);
}

/* Waives every point where the model does not fit; the example's code would end the program. */
static bool fits(bench_table *table)
{
    size_t left = 0, total = 0;
    const size_t needed = decoder_model::device_bytes;
    CHECK(cudaSetDevice(gpu.ordinal));
    MUST(cu.cuMemGetInfo(&left, &total));
    const bool shaped = decoder_fits(gpu.multiprocessors);
    for (size_t i = 0; i < table->count; i++) {
        if (!shaped) {
            bench_waive(table->items[i], "%d multiprocessors are too few for this model",
                        gpu.multiprocessors);
        } else if (left < needed) {
            bench_waive(table->items[i], "%.0f MB of the device's memory are free, it takes %.0f",
                        1e-6 * static_cast<double>(left), 1e-6 * static_cast<double>(needed));
        }
    }
    return shaped && left >= needed;
}

/* Fails the point and returns false where the two differ. */
static bool same(bench_point *point, const std::vector<bf16> &got, const std::vector<bf16> &wanted)
{
    for (size_t i = 0; i < wanted.size(); i++) {
        if (std::memcmp(&got[i], &wanted[i], sizeof(bf16)) != 0) {
            bench_fail(point, "value %zu of %zu is %g and should be %g", i, wanted.size(),
                       number(got[i]), number(wanted[i]));
            return false;
        }
    }
    return true;
}

/* Waives the point and returns true where libpdl would not overlap. */
static bool is_refused(bench_point *point, way how, const decoder_runs &runs)
{
    const bool refused = (how == LIBPDL || how == CHAIN) && runs.refused != PDL_REASON_GRANTED;
    if (refused) {
        bench_waive(point, "the overlap is not granted: %s", pdl_reason_string(runs.refused));
    }
    return refused;
}

/* What a token must come to: the bits of the first result, after a check against float64. The same for
 * all passes, as the model is. Empty where the first result was wrong. */
static const std::vector<bf16> &wanted(bench_point *point, const decoder_model &m, token_part part,
                                       const std::vector<bf16> &got)
{
    static std::vector<bf16> checked[PARTS];
    if (checked[part].empty()) {
        bool right = true;
        check_token(m, got, part == WHOLE, [&](int layer, const char *step, double error) {
            bench_fail(point, "layer %d, %s: the error of %.1e is over %.1e", layer, step, error,
                       error_limit);
            right = false;
        });
        if (right) {
            checked[part] = got;
        }
    }
    return checked[part];
}

/* ---- the token ------------------------------------------------------------------------------- */

struct token_state {
    token_state()
        : m(seed), reader(m, block_count()), steps{{m, false, block_count(), nullptr},
                                                   {m, true, block_count(), nullptr}},
          runs{{steps[LINEAR], gpu.stream}, {steps[WHOLE], gpu.stream}},
          counters{{m, false, block_count(), gpu.stream}, {m, true, block_count(), gpu.stream}}
    {
        for (const read_way how : read_points) {
            reader.run(how, gpu.stream); /* loads its kernel */
        }
    }

    decoder_model m;
    weight_reader reader;
    decoder_steps steps[PARTS];
    decoder_runs runs[PARTS];
    overlap_counter counters[PARTS];
};

static void begin_token(bench_table *table)
{
    if (fits(table)) {
        table->state = new token_state;
    }
}

static void end_token(bench_table *table)
{
    delete static_cast<token_state *>(table->state);
}

static void check_token_point(bench_point *point)
{
    token_state &state = *static_cast<token_state *>(point->table->state);
    const token_point at = *static_cast<const token_point *>(point->config);
    const decoder_runs &runs = state.runs[at.part];
    if (is_refused(point, at.how, runs)) {
        return;
    }
    state.m.poison();
    runs.run(at.how, gpu.stream);
    const std::vector<bf16> got = state.m.results();
    const std::vector<bf16> &right = wanted(point, state.m, at.part, got);
    if (right.empty() || !same(point, got, right)) {
        return;
    }
    const overlap_counter &counter = state.counters[at.part];
    const size_t overlapped =
        counter.count(at.how, gpu.stream, [](const auto &work) { gated_us(work); });
    if (!counter.as_granted(at.how, overlapped)) {
        bench_fail(point, "%zu of %zu kernels started before the one before had ended", overlapped,
                   state.steps[at.part].list.size() - 1);
    }
}

static void measure_token(bench_point *point, double *values)
{
    token_state &state = *static_cast<token_state *>(point->table->state);
    const token_point at = *static_cast<const token_point *>(point->config);
    const double us = gated_us([&] {
                          for (int i = 0; i < batch_tokens; i++) {
                              state.runs[at.part].run(at.how, gpu.stream);
                          }
                      }) /
                      batch_tokens;
    double read_us = INFINITY;
    for (const read_way how : read_points) {
        read_us = std::min(read_us, gated_us([&] { state.reader.run(how, gpu.stream); }));
    }
    values[0] = us;
    values[1] = terabytes_per_second(token_bytes, us);
    values[2] = 100 * read_us / us;
}

static void declare_token(bench *bench)
{
    bench_spec spec = {};
    spec.name = "token";
    spec.title = "one token through 16 layers of a decoder of the 1B class, bf16, batch 1";
    spec.note =
        "1.95 GB of weights; \"linear\" is norms, products, SiLU and residuals in 64 kernels, "
        "\"attention\" adds rotary embedding and attention over 512 tokens, 80 kernels. Per token, "
        "over 5 tokens queued behind a gate. \"of-read\" is the share of the pure reading of the "
        "same weights, measured right after each sample, by the faster of two methods. Every step "
        "of "
        "every layer is checked against float64, all ways against each other to the bit, and how "
        "many kernels overlap by stamps.";
    spec.axes[0] = "part";
    spec.axes[1] = "way";
    spec.metrics[0] = {"time", "us", false, 0};
    spec.metrics[1] = {"weights", "TB/s", true, 0};
    spec.metrics[2] = {"of-read", "%", true, 0};
    spec.rounds = 21;
    spec.begin = begin_token;
    spec.check = check_token_point;
    spec.measure = measure_token;
    spec.end = end_token;
    bench_table *const table = bench_table_add(bench, &spec);
    for (int part = 0; part < PARTS; part++) {
        bench_point *points[DECODE_WAYS];
        for (int how = 0; how < DECODE_WAYS; how++) {
            const char *const values[] = {part_names[part], way_keys[how]};
            bench_point *const against = how == PLAIN         ? nullptr
                                         : how <= PLAIN_GRAPH ? points[PLAIN]
                                                              : points[PLAIN_GRAPH];
            points[how] = bench_point_add(table, against, &token_points[part][how], values);
        }
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

struct read_state {
    read_state() : m(seed), reader(m, block_count()), sum(weight_reader::reference(m))
    {
    }

    decoder_model m;
    weight_reader reader;
    unsigned sum;
};

static void begin_read(bench_table *table)
{
    if (fits(table)) {
        table->state = new read_state;
    }
}

static void end_read(bench_table *table)
{
    delete static_cast<read_state *>(table->state);
}

static void check_read(bench_point *point)
{
    read_state &state = *static_cast<read_state *>(point->table->state);
    if (!state.reader.check(*static_cast<const read_way *>(point->config), gpu.stream, state.sum)) {
        bench_fail(point, "what was read does not add up to what the host adds up");
    }
}

static void measure_read(bench_point *point, double *values)
{
    read_state &state = *static_cast<read_state *>(point->table->state);
    const read_way how = *static_cast<const read_way *>(point->config);
    values[0] = gated_us([&] { state.reader.run(how, gpu.stream); });
    values[1] = terabytes_per_second(token_bytes, values[0]);
}

static void declare_read(bench *bench)
{
    bench_spec spec = {};
    spec.name = "read";
    spec.title = "reading the decoder's weights and nothing else";
    spec.note =
        "One kernel adds up all words, with loads of 16 bytes or with bulk copies to shared "
        "memory; the sum is checked against the host's.";
    spec.axes[0] = "method";
    spec.metrics[0] = {"time", "us", false, 0};
    spec.metrics[1] = {"rate", "TB/s", true, 0};
    spec.rounds = 21;
    spec.begin = begin_read;
    spec.check = check_read;
    spec.measure = measure_read;
    spec.end = end_read;
    bench_table *const table = bench_table_add(bench, &spec);
    for (int how = 0; how < READ_WAYS; how++) {
        const char *const values[] = {read_names[how]};
        bench_point_add(table, nullptr, &read_points[how], values);
    }
}

/* ---- each kernel alone ------------------------------------------------------------------------ */

/* A kind's kernels of all layers after another, so many times. */
struct kernel_line {
    kernel_line(const decoder_model &m, step_kind kind, int times)
        : steps(m, true, block_count(), nullptr)
    {
        steps.keep(kind, times);
        runs.reset(new decoder_runs(steps, gpu.stream));
    }

    decoder_steps steps;
    std::unique_ptr<decoder_runs> runs; /* refers to `steps` */
};

struct kernels_state {
    kernels_state() : m(seed), whole(m, true, block_count(), nullptr)
    {
        for (int kind = 0; kind < STEP_KINDS; kind++) {
            for (int times : {short_times, long_times}) {
                lines[kind][times == long_times].reset(
                    new kernel_line(m, static_cast<step_kind>(kind), times));
            }
        }
        m.poison();
        whole.launch(PLAIN, gpu.stream);
        computed = m.results();
    }

    static constexpr int short_times = 2, long_times = 6;
    decoder_model m;
    decoder_steps whole;
    std::unique_ptr<kernel_line> lines[STEP_KINDS][2];
    std::vector<bf16> computed; /* by a whole token */
};

static void begin_kernels(bench_table *table)
{
    if (fits(table)) {
        table->state = new kernels_state;
    }
}

static void end_kernels(bench_table *table)
{
    delete static_cast<kernels_state *>(table->state);
}

/* Makes what that kind of step computes, in every layer, show as not-a-number. */
static void poison_kind(const decoder_model &m, step_kind kind)
{
    typedef decoder_model at;
    static const size_t places[STEP_KINDS][2] = {{0, qkv_size},
                                                 {at::attention_at, hidden},
                                                 {at::middle_at, hidden},
                                                 {at::active_at, feed_forward},
                                                 {at::result_at, hidden}};
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemset2D(m.activations.get() + places[kind][0], sizeof(bf16) * at::layer_activations,
                       0xff, sizeof(bf16) * places[kind][1], layers));
    CHECK(cudaDeviceSynchronize());
}

static void check_kernel(bench_point *point)
{
    kernels_state &state = *static_cast<kernels_state *>(point->table->state);
    const kernel_point at = *static_cast<const kernel_point *>(point->config);
    if (is_refused(point, at.how, *state.lines[at.kind][0]->runs)) {
        return;
    }
    const std::vector<bf16> &right = wanted(point, state.m, WHOLE, state.computed);
    for (const std::unique_ptr<kernel_line> &line : state.lines[at.kind]) {
        poison_kind(state.m, at.kind);
        line->runs->run(at.how, gpu.stream);
        if (right.empty() || !same(point, state.m.results(), right)) {
            return;
        }
    }
}

static void measure_kernel(bench_point *point, double *values)
{
    kernels_state &state = *static_cast<kernels_state *>(point->table->state);
    const kernel_point at = *static_cast<const kernel_point *>(point->config);
    static const size_t elements[STEP_KINDS] = {
        decoder_model::out_at - decoder_model::qkv_at, size_t{2} * decoder_model::layer_cache,
        decoder_model::gate_up_at - decoder_model::out_at,
        decoder_model::down_at - decoder_model::gate_up_at,
        decoder_model::layer_weights - decoder_model::down_at};
    double us[2];
    for (int i = 0; i < 2; i++) {
        us[i] = gated_us([&] { state.lines[at.kind][i]->runs->run(at.how, gpu.stream); });
    }
    values[0] =
        (us[1] - us[0]) / (layers * (kernels_state::long_times - kernels_state::short_times));
    values[1] =
        terabytes_per_second(sizeof(bf16) * static_cast<double>(elements[at.kind]), values[0]);
}

static void declare_kernels(bench *bench)
{
    bench_spec spec = {};
    spec.name = "kernels";
    spec.title = "each of the decoder's kernels alone, one layer's after another's";
    spec.note =
        "A kernel's cost is the slope from 32 to 96 kernels; the rate is that of its weights, "
        "for attention of the cache. From inputs that a whole token has left, and checked "
        "against what that computed, to the bit.";
    spec.axes[0] = "kernel";
    spec.axes[1] = "way";
    spec.metrics[0] = {"time", "us", false, 0};
    spec.metrics[1] = {"rate", "TB/s", true, 0};
    spec.rounds = 21;
    spec.begin = begin_kernels;
    spec.check = check_kernel;
    spec.measure = measure_kernel;
    spec.end = end_kernels;
    bench_table *const table = bench_table_add(bench, &spec);
    for (int kind = 0; kind < STEP_KINDS; kind++) {
        bench_point *graph = nullptr;
        for (const kernel_point &at : kernel_points[kind]) {
            const char *const values[] = {step_names[kind], way_keys[at.how]};
            graph = bench_point_add(table, graph, &at, values);
        }
    }
}

void suite_decode(bench *bench)
{
    declare_token(bench);
    declare_read(bench);
    declare_kernels(bench);
}
