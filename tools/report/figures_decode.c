/* SPDX-License-Identifier: MIT */
/* One token through a decoder. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "report/figures.h"

/* Measured apart with the same layers, without attention, on an H200: they say nothing of another device. */
static const struct {
    double us;
    const char *label;
} pytorch[] = {{927, "PyTorch 2.11, CUDA graph"}, {1425, "PyTorch 2.11, eager"}};

/* Of an H100's memory bandwidth: "Look Ma, No Bubbles! Designing a Low-Latency Megakernel for Llama-1B"
 * (Hazy Research, 2025). */
static const double megakernel_share = 0.78;

/* The fastest reading of the weights in the same run, us; NAN if it has none. */
static double read_us(const struct bench_run *run)
{
    double least = NAN;
    for (size_t i = 0; i < run->bench.count; i++) {
        const struct bench_table *const table = run->bench.items[i];
        const int metric = metric_of(table, "time");
        if (strcmp(table->suite, "decode") != 0 || strcmp(table->spec.name, "read") != 0) {
            continue;
        }
        for (size_t j = 0; metric >= 0 && j < table->count; j++) {
            if (has_values(table->items[j], metric)) {
                const double median = point_median(table->items[j], metric);
                least = !(median > least) ? median : least;
            }
        }
    }
    return least;
}

static bool is_h200(const struct bench_run *run)
{
    const struct bench_fact *const gpu = environment_find(&run->environment, "gpu");
    return gpu != NULL && gpu->text != NULL && strstr(gpu->text, "H200") != NULL;
}

static void make_part(const struct subject *subject, const struct plan *plan, const char *part)
{
    const struct bench_table *const table = subject->table;
    const bool linear = strcmp(part, "linear") == 0;
    const double read = read_us(subject->run);
    struct figure *const figure = plan_bars(subject, part, plan);
    char *title = linear ? copy_text("One token without attention: 64 kernels")
                  : strcmp(part, "attention") == 0
                      ? copy_text("One token with attention over 512 tokens: 80 kernels")
                      : format_text("One token: %s", part);
    figure_title(figure, title);
    free(title);
    figure_axes(figure, "\u00b5s per token", "");
    if (isfinite(read)) {
        char *label = format_text("reading the weights: %.0f", read);
        figure_mark(figure, read, label);
        free(label);
        label = format_text("at %.0f %% of that rate: %.0f", 100 * megakernel_share,
                            read / megakernel_share);
        figure_mark(figure, read / megakernel_share, label);
        free(label);
    }
    for (size_t i = 0; linear && is_h200(subject->run) && i < sizeof(pytorch) / sizeof(*pytorch);
         i++) {
        char *label = format_text("%s: %.0f", pytorch[i].label, pytorch[i].us);
        figure_mark(figure, pytorch[i].us, label);
        free(label);
    }
    const int way = plan->x;
    if (!say_against(figure, table, plan, way, "chain", "graph")) {
        say_extremes(figure, table, plan);
    }
    (void)say_against(figure, table, plan, way, "libpdl", "stream");
    const int share = metric_of(table, "of-read");
    const struct want wants[WANTS] = {plan->only[0], {way, "chain"}};
    const struct bench_point *const chain = find_point(table, share, wants);
    if (chain != NULL) {
        figure_say(figure, "chain reads its weights at %.1f %% of the rate of reading them alone.",
                   point_median(chain, share));
    }
    if (isfinite(read)) {
        figure_say(figure,
                   "%.0f %% of an H100's bandwidth is what a published megakernel reaches with a "
                   "model of this class (Hazy Research, Look Ma, No Bubbles!).",
                   100 * megakernel_share);
    }
    if (linear && is_h200(subject->run)) {
        figure_say(figure,
                   "PyTorch's figures were measured apart, with the same layers on an H200.");
    }
}

static bool make_token(const struct subject *subject)
{
    const struct bench_table *const table = subject->table;
    const int part = axis_of(table, "part");
    struct plan plan = {metric_of(table, "time"), axis_of(table, "way"), -1, -1, {{-1, NULL}}};
    if (plan.metric < 0 || plan.x < 0 || part < 0) {
        return false;
    }
    struct texts parts = axis_values(table, part, plan.metric);
    for (size_t i = 0; i < parts.count; i++) {
        plan.only[0] = (struct want){part, parts.items[i]};
        make_part(subject, &plan, parts.items[i]);
    }
    texts_free(&parts);
    return true;
}

static bool make_kernels(const struct subject *subject)
{
    const struct bench_table *const table = subject->table;
    const struct plan plan = {metric_of(table, "time"),
                              axis_of(table, "kernel"),
                              axis_of(table, "way"),
                              -1,
                              {{-1, NULL}}};
    if (plan.metric < 0 || plan.x < 0 || plan.series < 0) {
        return false;
    }
    struct figure *const figure = plan_bars(subject, "", &plan);
    figure_title(figure, "Each kernel alone, a layer's after another's");
    figure_axes(figure, "\u00b5s per kernel", "");
    struct texts kernels = axis_values(table, plan.x, plan.metric);
    for (size_t i = 0; i < kernels.count; i++) {
        struct plan own = plan;
        own.only[0] = (struct want){plan.x, kernels.items[i]};
        figure_say(figure, "%s:", kernels.items[i]);
        (void)say_against(figure, table, &own, plan.series, "chain", "graph");
    }
    texts_free(&kernels);
    return true;
}

static bool make_read(const struct subject *subject)
{
    const struct plan plan = {
        metric_of(subject->table, "rate"), axis_of(subject->table, "method"), -1, -1, {{-1, NULL}}};
    if (plan.metric < 0 || plan.x < 0) {
        return false;
    }
    struct figure *const figure = plan_bars(subject, "", &plan);
    figure_title(figure, "Reading the weights and nothing else");
    say_extremes(figure, subject->table, &plan);
    return true;
}

bool figures_decode(const struct subject *subject)
{
    const char *const name = subject->table->spec.name;
    return strcmp(name, "token") == 0     ? make_token(subject)
           : strcmp(name, "kernels") == 0 ? make_kernels(subject)
           : strcmp(name, "read") == 0    ? make_read(subject)
                                          : false;
}
