/* SPDX-License-Identifier: MIT */
/* One token through decoders of the 1B, 3B and 8B classes, with the kernels of bench_decode.
 * A CUDA call that fails in their code ends the process. */
#include <cmath>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>

#include "decode_read.cuh"
#include "decode_reference.cuh"
#include "decode_ways.cuh"

extern "C" {
#include "bench/bench.h"
}
#include "bench/gpu.h"
#include "bench/suites.h"

static const decoder_config first_config = {decoder_shapes[0], 1, 512, false};
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

/* That was read once at the rate of this. */
static double terabytes_per_second(double bytes, double us)
{
    return 1e-6 * bytes / us;
}

/* ---- what the device must have ---------------------------------------------------------------- */

static unsigned block_count()
{
    return static_cast<unsigned>(gpu.multiprocessors);
}

static decoder_settings settings_for(const decoder_config &config)
{
    return decoder_defaults(config, block_count());
}

/* Waives the point and returns false where the model does not fit, which would end the process. */
static bool fits(bench_point *point, const decoder_config &config)
{
    size_t left = 0, total = 0;
    const size_t needed = decoder_model::device_bytes(config);
    CHECK(cudaSetDevice(gpu.ordinal));
    MUST(cu.cuMemGetInfo(&left, &total));
    if (left < needed) {
        bench_waive(point, "%.0f MB of the device's memory are free, it takes %.0f",
                    1e-6 * static_cast<double>(left), 1e-6 * static_cast<double>(needed));
    }
    return left >= needed;
}

static bool all_fit(bench_table *table)
{
    bool all = true;
    for (size_t i = 0; i < table->count; i++) {
        all = fits(table->items[i], first_config) && all;
    }
    return all;
}

/* What the suite's tables have in common: the metrics, with a name for the rate and perhaps its share of
 * that of pure reading, and a State from begin to end. */
template <typename State> static bench_spec common_spec(const char *rate, bool of_read)
{
    bench_spec spec = {};
    spec.metrics[0] = {"time", "us", false, 0};
    spec.metrics[1] = {rate, "TB/s", true, 0};
    if (of_read) {
        spec.metrics[2] = {"of-read", "%", true, 0};
    }
    spec.rounds = 21;
    spec.begin = [](bench_table *table) {
        if (all_fit(table)) {
            table->state = new State;
        }
    };
    spec.end = [](bench_table *table) {
        delete static_cast<State *>(table->state);
        table->state = nullptr; /* the next pass may have no room for one */
    };
    return spec;
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
        : m(first_config, seed), settings(settings_for(first_config)),
          reader(m.weights.get(), m.layer_bytes() * m.shape.layers, block_count()),
          steps{{m, false, settings, nullptr}, {m, true, settings, nullptr}},
          runs{{steps[LINEAR], gpu.stream}, {steps[WHOLE], gpu.stream}},
          counters{{m, false, settings, gpu.stream}, {m, true, settings, gpu.stream}}
    {
        for (const read_way how : read_points) {
            reader.run(how, gpu.stream); /* loads its kernel */
        }
    }

    decoder_model m;
    decoder_settings settings;
    weight_reader reader;
    decoder_steps steps[PARTS];
    decoder_runs runs[PARTS];
    overlap_counter counters[PARTS];
};

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

/* The time, the rate, and its share of that of pure reading, measured now. */
static void set_values(const weight_reader &reader, double us, double bytes, double *values)
{
    double read_us = INFINITY;
    for (const read_way how : read_points) {
        read_us = std::min(read_us, gated_us([&] { reader.run(how, gpu.stream); }));
    }
    values[0] = us;
    values[1] = terabytes_per_second(bytes, us);
    values[2] = 100 * (bytes / us) / (reader.bytes() / read_us);
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
    set_values(state.reader, us, state.m.token_bytes(at.part == WHOLE, false), values);
}

static void declare_token(bench *bench)
{
    bench_spec spec = common_spec<token_state>("weights", true);
    spec.name = "token";
    spec.title = "one token through 16 layers of a decoder of the 1B class, bf16, batch 1";
    spec.note =
        "1.95 GB of weights; \"linear\" is norms, products, SiLU and residuals in 64 kernels, "
        "\"attention\" adds rotary embedding and attention over 512 tokens, 80 kernels. Per token, "
        "over 5 tokens queued behind a gate. The rate is that of the weights and, with attention, "
        "the cache; \"of-read\" is its share of the rate of purely reading weights, measured right "
        "after each sample, by the faster of two methods. Every step of "
        "every layer is checked against float64, all ways against each other to the bit, and how "
        "many kernels overlap by stamps.";
    spec.axes[0] = "part";
    spec.axes[1] = "way";
    spec.check = check_token_point;
    spec.measure = measure_token;
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
    read_state()
        : m(first_config, seed),
          reader(m.weights.get(), m.layer_bytes() * m.shape.layers, block_count()),
          sum(reader.reference())
    {
    }

    decoder_model m;
    weight_reader reader;
    unsigned sum;
};

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
    values[1] = terabytes_per_second(state.reader.bytes(), values[0]);
}

static void declare_read(bench *bench)
{
    bench_spec spec = common_spec<read_state>("rate", false);
    spec.name = "read";
    spec.title = "reading the decoder's weights and nothing else";
    spec.note =
        "One kernel adds up all words, with loads of 16 bytes or with bulk copies to shared "
        "memory; the sum is checked against the host's.";
    spec.axes[0] = "method";
    spec.check = check_read;
    spec.measure = measure_read;
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
        : steps(m, true, settings_for(first_config), nullptr)
    {
        steps.keep(kind, times);
        runs.reset(new decoder_runs(steps, gpu.stream));
    }

    decoder_steps steps;
    std::unique_ptr<decoder_runs> runs; /* refers to `steps` */
};

struct kernels_state {
    kernels_state()
        : m(first_config, seed), whole(m, true, settings_for(first_config), nullptr),
          whole_runs(whole, gpu.stream)
    {
        for (int kind = 0; kind < STEP_KINDS; kind++) {
            for (int times : {short_times, long_times}) {
                lines[kind][times == long_times].reset(
                    new kernel_line(m, static_cast<step_kind>(kind), times));
            }
        }
        m.poison();
        whole_runs.run(PLAIN, gpu.stream);
        computed = m.results();
    }

    static constexpr int short_times = 2, long_times = 6;
    decoder_model m;
    decoder_steps whole;
    decoder_runs whole_runs;
    std::unique_ptr<kernel_line> lines[STEP_KINDS][2];
    std::vector<bf16> computed; /* by a whole token */
};

/* Makes what that kind of step computes, in every layer, show as not-a-number. */
static void poison_kind(const decoder_model &m, step_kind kind)
{
    const decoder_shape &shape = m.shape;
    const size_t places[STEP_KINDS][2] = {
        {0, static_cast<size_t>(shape.qkv_size())},
        {m.attention_at(), static_cast<size_t>(shape.attention_size())},
        {m.middle_at(), static_cast<size_t>(shape.hidden)},
        {m.active_at(), static_cast<size_t>(shape.feed_forward)},
        {m.result_at(), static_cast<size_t>(shape.hidden)}};
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemset2D(m.activations.get() + places[kind][0], sizeof(bf16) * m.layer_activations(),
                       0xff, sizeof(bf16) * places[kind][1] * m.sequences(), m.shape.layers));
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
    const double bytes = at.kind == STEP_ATTENTION
                             ? 4.0 * static_cast<double>(state.m.layer_cache())
                             : static_cast<double>(state.m.matrix_bytes(linear_of(at.kind)));
    double us[2];
    for (int i = 0; i < 2; i++) {
        us[i] = gated_us([&] { state.lines[at.kind][i]->runs->run(at.how, gpu.stream); });
    }
    values[0] = (us[1] - us[0]) /
                (state.m.shape.layers * (kernels_state::long_times - kernels_state::short_times));
    values[1] = terabytes_per_second(bytes, values[0]);
}

static void declare_kernels(bench *bench)
{
    bench_spec spec = common_spec<kernels_state>("rate", false);
    spec.name = "kernels";
    spec.title = "each of the decoder's kernels alone, one layer's after another's";
    spec.note =
        "A kernel's cost is the slope from 32 to 96 kernels; the rate is that of its weights, "
        "for attention of the cache. From inputs that a whole token has left, and checked "
        "against what that computed, to the bit.";
    spec.axes[0] = "kernel";
    spec.axes[1] = "way";
    spec.check = check_kernel;
    spec.measure = measure_kernel;
    bench_table *const table = bench_table_add(bench, &spec);
    for (int kind = 0; kind < STEP_KINDS; kind++) {
        bench_point *graph = nullptr;
        for (const kernel_point &at : kernel_points[kind]) {
            const char *const values[] = {step_names[kind], way_keys[at.how]};
            graph = bench_point_add(table, graph, &at, values);
        }
    }
}

/* ---- other shapes ---------------------------------------------------------------------------- */

struct shape_point {
    int shape, batch, context;
    bool fp8_weights;
    way how;
};

/* Shape, batch, context, fp8. */
static const int shape_rows[][4] = {
    {0, 1, 512, 0},   {0, 1, 2048, 0}, {0, 1, 8192, 0}, {0, 4, 512, 0},  {0, 16, 512, 0},
    {0, 16, 8192, 0}, {0, 1, 512, 1},  {1, 1, 512, 0},  {1, 1, 8192, 0}, {1, 16, 512, 0},
    {1, 1, 512, 1},   {2, 1, 512, 0},  {2, 1, 8192, 0}, {2, 4, 512, 0},  {2, 16, 512, 0},
    {2, 16, 8192, 0}, {2, 1, 512, 1},  {2, 16, 512, 1}};
static const way shape_ways[] = {PLAIN_GRAPH, CHAIN};
static const size_t shape_row_count = std::size(shape_rows),
                    shape_way_count = std::size(shape_ways);
static shape_point shape_points[shape_row_count][shape_way_count];

/* A model at a time: together they would fill the device. */
struct shape_model {
    explicit shape_model(const decoder_config &config)
        : m(config, seed), reader(m.weights.get(), m.layer_bytes() * m.shape.layers, block_count()),
          steps(m, true, settings_for(config), nullptr), runs(steps, gpu.stream)
    {
        for (const read_way how : read_points) {
            reader.run(how, gpu.stream);
        }
    }

    decoder_model m;
    weight_reader reader;
    decoder_steps steps;
    decoder_runs runs;
};

struct shapes_state {
    std::unique_ptr<shape_model> model;
    size_t row = shape_row_count;
    std::vector<bf16> right[shape_row_count]; /* checked results, of the first and the last layer */
};

/* Each model makes room for itself. */
static void begin_shapes(bench_table *table)
{
    table->state = new shapes_state;
}

static decoder_config config_of(const shape_point &at)
{
    return {decoder_shapes[at.shape], at.batch, at.context, at.fp8_weights};
}

/* The point's model, or NULL where there is no room for it. */
static shape_model *model_of(bench_point *point, size_t *row)
{
    shapes_state &state = *static_cast<shapes_state *>(point->table->state);
    const shape_point &at = *static_cast<const shape_point *>(point->config);
    *row = static_cast<size_t>(&at - &shape_points[0][0]) / shape_way_count;
    if (state.row != *row) {
        state.model.reset();
        state.row = shape_row_count;
        if (!fits(point, config_of(at))) {
            return nullptr;
        }
        state.model.reset(new shape_model(config_of(at)));
        state.row = *row;
    }
    return state.model.get();
}

static void check_shape(bench_point *point)
{
    shapes_state &state = *static_cast<shapes_state *>(point->table->state);
    const shape_point &at = *static_cast<const shape_point *>(point->config);
    size_t row = 0;
    shape_model *const model = model_of(point, &row);
    if (model == nullptr || is_refused(point, at.how, model->runs)) {
        return;
    }
    model->m.poison();
    model->runs.run(at.how, gpu.stream);
    const std::vector<bf16> got = model->m.results();
    if (state.right[row].empty()) {
        bool right = true;
        auto wrong = [&](int layer, const char *step, double error) {
            bench_fail(point, "layer %d, %s: the error of %.1e is over %.1e", layer, step, error,
                       error_limit);
            right = false;
        };
        check_token(model->m, got, true, wrong, model->m.shape.layers - 1);
        if (right) {
            state.right[row] = got;
        }
    } else {
        (void)same(point, got, state.right[row]);
    }
}

static void measure_shape(bench_point *point, double *values)
{
    size_t row = 0;
    shape_model *const model = model_of(point, &row);
    const way how = static_cast<const shape_point *>(point->config)->how;
    if (model == nullptr) {
        return;
    }
    model->runs.run(how, gpu.stream); /* what a new model begins with is in no sample */
    const double us = gated_us([&] {
                          for (int i = 0; i < batch_tokens; i++) {
                              model->runs.run(how, gpu.stream);
                          }
                      }) /
                      batch_tokens;
    set_values(model->reader, us, model->m.token_bytes(true, false), values);
}

static void declare_shapes(bench *bench)
{
    bench_spec spec = common_spec<shapes_state>("rate", true);
    spec.name = "shapes";
    spec.title =
        "one token for each of a batch of sequences, decoders of the 1B, 3B and 8B classes";
    spec.note =
        "With attention over so many tokens. The rate is that of the weights and the cache, "
        "\"of-read\" its share of the rate of purely reading weights, measured right after each "
        "sample. The first and the last layer are checked against float64, and the ways against "
        "each "
        "other to the bit. Settings by rule, as bench_decode has them.";
    spec.axes[0] = "shape";
    spec.axes[1] = "sequences";
    spec.axes[2] = "context";
    spec.axes[3] = "weights";
    spec.axes[4] = "way";
    spec.rounds = 7;
    spec.begin = begin_shapes;
    spec.check = check_shape;
    spec.measure = measure_shape;
    bench_table *const table = bench_table_add(bench, &spec);
    for (size_t row = 0; row < shape_row_count; row++) {
        bench_point *graph = nullptr;
        for (size_t i = 0; i < shape_way_count; i++) {
            const int *const of = shape_rows[row];
            shape_points[row][i] = {of[0], of[1], of[2], of[3] != 0, shape_ways[i]};
            const std::string batch = std::to_string(of[1]), context = std::to_string(of[2]);
            const char *const values[] = {decoder_shapes[of[0]].name, batch.c_str(),
                                          context.c_str(), of[3] != 0 ? "fp8" : "bf16",
                                          way_keys[shape_ways[i]]};
            graph = bench_point_add(table, graph, &shape_points[row][i], values);
        }
    }
}

void suite_decode(bench *bench)
{
    declare_token(bench);
    declare_shapes(bench);
    declare_read(bench);
    declare_kernels(bench);
}
