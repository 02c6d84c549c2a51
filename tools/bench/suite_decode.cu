/* SPDX-License-Identifier: MIT */
/* One token through decoders of the 1B, 3B and 8B classes: layers of RMSNorm, qkv, rotary embedding and
 * attention over a cache, output projection, RMSNorm, gate and up with SiLU, down.
 *
 * The time is that of reading the weights and the cache, and of what lies between the kernels, which have
 * their first weights on the way before their wait (decode_linear.cuh). Every step is checked against
 * float64, and all ways against each other, to the bit. A CUDA call that fails ends the process. */
#include <cstring>
#include <iterator>
#include <map>
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

static const char *const part_names[PARTS] = {"linear", "attention", "whole"};

/* What is run: every way of it is compared with the plain stream, or the plain graph. */
struct token_row {
    int shape, context;
    token_part part;
};
struct token_point {
    token_row row;
    way how;
};
static const token_row first_rows[] = {{0, 512, LINEAR}, {0, 512, ATTENTION}, {0, 512, WHOLE}};
/* Of one context there are two groups of tokens, and one ends in the middle of a group. */
static const token_row shape_rows[] = {
    {0, 2048, ATTENTION}, {0, 8192, ATTENTION}, {1, 33, ATTENTION}, {1, 777, ATTENTION},
    {1, 512, LINEAR},     {1, 512, ATTENTION},  {2, 512, LINEAR},   {2, 512, ATTENTION},
    {2, 512, WHOLE},      {2, 8192, ATTENTION}};

/* Runs `work`, a lambda, behind the gate, and returns how long it took on the device, us. */
template <typename Work> static double gated_us(const Work &work)
{
    return gpu_time([](void *context) { (*static_cast<const Work *>(context))(); },
                    const_cast<Work *>(&work))
        .device_us;
}

/* ---- a model at a time: together they would fill the device ----------------------------------------- */

struct part_runs {
    part_runs(const decoder_model &m, token_part part)
        : steps(m, part, gpu.multiprocessors, m.activations.get()), runs(steps),
          counter(m, part, gpu.multiprocessors, m.activations.get())
    {
        if (steps.fits()) {
            runs.prepare(gpu.stream);
            counter.runs.prepare(gpu.stream);
        }
    }

    decoder_steps steps;
    decoder_runs runs;
    overlap_counter counter;
};

struct loaded_model {
    explicit loaded_model(const decoder_config &config)
        : m(config, true), reader(m.weights.get(), m.weight_bytes(), gpu.multiprocessors)
    {
        reader.run(gpu.stream); /* loads its kernel */
    }

    part_runs &of(token_part part)
    {
        if (parts[part] == nullptr) {
            parts[part].reset(new part_runs(m, part));
        }
        return *parts[part];
    }

    decoder_model m;
    weight_reader reader;
    std::unique_ptr<part_runs> parts[PARTS];
};

struct token_state {
    std::unique_ptr<loaded_model> model;
    int shape = -1, context = 0; /* of the model */
};

static void begin_tokens(bench_table *table)
{
    table->state = new token_state;
}

static void end_tokens(bench_table *table)
{
    delete static_cast<token_state *>(table->state);
    table->state = nullptr;
}

/* The point's model, or NULL where there is no room for it: that waives the point. */
static loaded_model *model_of(bench_point *point)
{
    token_state &state = *static_cast<token_state *>(point->table->state);
    const token_row &row = static_cast<const token_point *>(point->config)->row;
    if (state.shape != row.shape || state.context != row.context) {
        const decoder_config config = {decoder_shapes[row.shape], row.context};
        const size_t needed = decoder_model::device_bytes(config);
        size_t left = 0, total = 0;
        state.model.reset();
        state.shape = -1;
        CHECK(cudaSetDevice(gpu.ordinal));
        MUST(cu.cuMemGetInfo(&left, &total));
        if (left < needed) {
            bench_waive(point, "%.0f MB of the device's memory are free, it takes %.0f",
                        1e-6 * static_cast<double>(left), 1e-6 * static_cast<double>(needed));
            return nullptr;
        }
        state.model.reset(new loaded_model(config));
        state.shape = row.shape;
        state.context = row.context;
        static bool reading_checked = false; /* the host takes its time for it */
        if (!reading_checked && !state.model->reader.check(gpu.stream)) {
            bench_fail(point, "what was read does not add up to what the host adds up");
        }
        reading_checked = true;
    }
    if (!state.model->of(row.part).steps.fits()) {
        bench_waive(point, "the model does not fit the kernels");
        return nullptr;
    }
    return state.model.get();
}

/* ---- a point ------------------------------------------------------------------------------------ */

/* Whether the first result of a row was right: all layers of the 1B class, of others the first and the
 * last. The other ways must come to the same bits, in this pass and the next. */
static bool is_right(bench_point *point, const decoder_model &m, const token_row &row,
                     const std::vector<bf16> &got)
{
    static std::map<std::string, std::vector<bf16>> checked;
    std::string name = point->id;
    std::vector<bf16> &right = checked[name.substr(0, name.rfind('/'))];
    if (right.empty()) {
        const step_errors errors = check_token(m, got, {row.part != LINEAR, row.part == WHOLE},
                                               row.shape == 0 ? 1 : m.shape.layers - 1);
        for (size_t i = 0; i < CHECKED; i++) {
            if (!(errors[i] <= error_limit)) {
                bench_fail(point, "%s: the error of %.1e is over %.1e", checked_names[i], errors[i],
                           error_limit);
                return false;
            }
        }
        right = got;
    }
    for (size_t i = 0; i < right.size(); i++) {
        if (std::memcmp(&got[i], &right[i], sizeof(bf16)) != 0) {
            bench_fail(point, "value %zu of %zu is %g and should be %g", i, right.size(),
                       number(got[i]), number(right[i]));
            return false;
        }
    }
    return true;
}

static void check_point(bench_point *point)
{
    const token_point &at = *static_cast<const token_point *>(point->config);
    loaded_model *const model = model_of(point);
    if (model == nullptr) {
        return;
    }
    part_runs &part = model->of(at.row.part);
    if ((at.how == LIBPDL || at.how == CHAIN) && part.runs.refused != PDL_REASON_GRANTED) {
        bench_waive(point, "the overlap is not granted: %s", pdl_reason_string(part.runs.refused));
        return;
    }
    const decoder_model &m = model->m;
    m.poison(m.activations.get());
    if (at.row.part == WHOLE) {
        m.input.fill(0xff);
    }
    part.runs.run(at.how, gpu.stream);
    if (!is_right(point, m, at.row, m.results(m.activations.get()))) {
        return;
    }
    const size_t overlapped =
        part.counter.count([&] { gated_us([&] { part.counter.runs.run(at.how, gpu.stream); }); });
    if (!part.counter.as_granted(at.how, overlapped)) {
        bench_fail(point, "%zu of %zu kernels started before the one before had ended", overlapped,
                   part.steps.list.size() - 1);
    }
}

/* The time, the rate, and its share of that of pure reading, measured now. */
static void measure_point(bench_point *point, double *values)
{
    const token_point &at = *static_cast<const token_point *>(point->config);
    loaded_model *const model = model_of(point);
    if (model == nullptr) {
        return;
    }
    const part_runs &part = model->of(at.row.part);
    const decoder_runs &runs = part.runs;
    const size_t tokens =
        std::min(size_t{5}, 700 / part.steps.list.size()); /* the queue holds them */
    const double bytes = model->m.token_bytes(at.row.part != LINEAR, at.row.part == WHOLE);
    runs.run(at.how, gpu.stream); /* what a new model begins with is in no sample */
    values[0] = gated_us([&] {
                    for (size_t i = 0; i < tokens; i++) {
                        runs.run(at.how, gpu.stream);
                    }
                }) /
                static_cast<double>(tokens);
    const double read_us = gated_us([&] { model->reader.run(gpu.stream); });
    values[1] = 1e-6 * bytes / values[0];
    values[2] = 100 * (bytes / values[0]) / (model->reader.bytes() / read_us);
}

/* ---- tables ------------------------------------------------------------------------------------- */

/* Adds a row in all ways, after the values of the table's other axes. */
static void add_row(bench_table *table, const token_row &row, token_point *points,
                    std::vector<const char *> values)
{
    bench_point *added[DECODE_WAYS];
    values.push_back(nullptr);
    for (int how = 0; how < DECODE_WAYS; how++) {
        bench_point *const against = how == PLAIN         ? nullptr
                                     : how <= PLAIN_GRAPH ? added[PLAIN]
                                                          : added[PLAIN_GRAPH];
        values.back() = way_keys[how];
        points[how] = {row, static_cast<way>(how)};
        added[how] = bench_point_add(table, against, &points[how], values.data());
    }
}

void suite_decode(bench *bench)
{
    static token_point first_points[std::size(first_rows)][DECODE_WAYS];
    static token_point shape_points[std::size(shape_rows)][DECODE_WAYS];
    bench_spec spec = {};
    spec.name = "token";
    spec.title = "one token through 16 layers of a decoder of the 1B class, bf16";
    spec.note =
        "1.95 GB of weights; \"linear\" is norms, products, SiLU and residuals in 64 kernels, "
        "\"attention\" adds rotary embedding and attention over 512 tokens, 80 kernels, \"whole\" "
        "the embedding and the logits. Per token, over up to 5 tokens queued behind a gate. The "
        "rate is "
        "that of what has to be read; \"of-read\" is its share of the rate of purely reading "
        "weights, measured right after each sample. Every step of every layer is checked against "
        "float64, all ways against each other to the bit, and how many kernels overlap by stamps.";
    spec.axes[0] = "part";
    spec.axes[1] = "way";
    spec.metrics[0] = {"time", "us", false, 0};
    spec.metrics[1] = {"rate", "TB/s", true, 0};
    spec.metrics[2] = {"of-read", "%", true, 0};
    spec.rounds = 21;
    spec.begin = begin_tokens;
    spec.check = check_point;
    spec.measure = measure_point;
    spec.end = end_tokens;
    bench_table *table = bench_table_add(bench, &spec);
    for (size_t i = 0; i < std::size(first_rows); i++) {
        add_row(table, first_rows[i], first_points[i], {part_names[first_rows[i].part]});
    }

    spec.name = "shapes";
    spec.title = "one token through decoders of the 1B, 3B and 8B classes";
    spec.note =
        "As the table of one token, with other widths and contexts. Of the 3B and 8B classes "
        "the first and the last layer are checked.";
    spec.axes[0] = "shape";
    spec.axes[1] = "context";
    spec.axes[2] = "part";
    spec.axes[3] = "way";
    spec.rounds = 7;
    table = bench_table_add(bench, &spec);
    for (size_t i = 0; i < std::size(shape_rows); i++) {
        const token_row &row = shape_rows[i];
        const std::string context = std::to_string(row.context);
        add_row(table, row, shape_points[i],
                {decoder_shapes[row.shape].name, context.c_str(), part_names[row.part]});
    }
}
