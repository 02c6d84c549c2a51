/* SPDX-License-Identifier: MIT */
#include "sim/bench_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"

enum { LINE_SHORT = 8, LINE_LONG = 72, MAIN = 4000 };

static const char *axis(const json_t *axes, const char *name)
{
    const char *const value = json_string_value(json_object_get(axes, name));
    return value != NULL ? value : "";
}

static bool is(const json_t *axes, const char *name, const char *value)
{
    return strcmp(axis(axes, name), value) == 0;
}

/* A number of 0 or more; NAN: it is none up to `most`. */
static double number(const char *text, double most)
{
    char *end = NULL;
    const double value = strtod(text, &end);
    return end != text && *end == '\0' && value >= 0 && value <= most ? value : NAN;
}

static double cycles(const struct sim_device *device, const char *text)
{
    enum { CYCLES_MOST = 1000000000 };
    return 1e3 * number(text, CYCLES_MOST) / device->clock_mhz;
}

/* A line of so many launches, each after the one before. */
static void line(struct sim_program *program, size_t length, bool graph, bool overlap)
{
    program->launches.count = program->dependencies.count = 0;
    for (size_t i = 0; i < length; i++) {
        const struct sim_launch launch = {
            .kernel = (uint32_t)(i % program->kernels.count),
            .path = graph ? SIM_GRAPH : SIM_STREAM,
            .dependencies = (uint32_t)program->dependencies.count,
            .dependencies_count = i > 0,
        };
        APPEND(&program->launches, launch);
        if (i > 0) {
            const struct sim_dependency dependency = {(uint32_t)i - 1, overlap};
            APPEND(&program->dependencies, dependency);
        }
    }
}

static void describe_phases(const struct sim_device *device, const json_t *axes,
                            struct sim_kernel *kernel)
{
    kernel->threads = 128;
    kernel->blocks = device->sms;
    kernel->before = cycles(device, axis(axes, "before"));
    kernel->after = cycles(device, axis(axes, "after"));
    kernel->writes = is(axes, "results", "all");
}

static unsigned blocks_of(const struct sim_device *device, const json_t *axes,
                          const struct sim_kernel *kernel)
{
    enum pdl_resource scarce;
    const unsigned fits = sim_kernel_fits(device, kernel, &scarce);
    return is(axes, "fill", "half")   ? device->sms / 2
           : is(axes, "fill", "most") ? device->sms * 3 / 4
           : is(axes, "fill", "sms")  ? device->sms
           : is(axes, "fill", "two")  ? 2 * device->sms - device->sms / 16
                                      : device->sms * fits * 7 / 2;
}

static void describe_trigger(const struct sim_device *device, const json_t *axes,
                             struct sim_kernel *kernel)
{
    const unsigned half = device->sm.shared_memory / 2;
    const char *const trigger = axis(axes, "trigger");
    const double main = 1e3 * MAIN / device->clock_mhz;
    double share = 0;
    kernel->threads = 256;
    kernel->shared = is(axes, "shared", "none")   ? 0
                     : is(axes, "shared", "fits") ? half - 2048
                                                  : half + 1024;
    kernel->blocks = blocks_of(device, axes, kernel);
    if (strcmp(trigger, "start") == 0) {
        kernel->trigger = SIM_TRIGGER_START;
    } else if (strcmp(trigger, "never") == 0) {
        kernel->trigger = SIM_TRIGGER_NEVER;
        share = 1;
    } else if (strcmp(trigger, "any") != 0) {
        share = number(trigger, 1);
    }
    kernel->before = share * main;
    kernel->after = (1 - share) * main;
    kernel->writes = true;
}

/* BLOCKSxTHREADS+SHAREDK:PROLOGUE:BEFORE:AFTER, and :n where nothing is written. False where it is not that, or no SM has room for a block. */
static bool describe_shape(const struct sim_device *device, const char *text,
                           struct sim_kernel *kernel)
{
    unsigned kibibytes = 0;
    unsigned parts[3] = {0, 0, 0};
    int length = 0;
    enum pdl_resource scarce;
    memset(kernel, 0, sizeof(*kernel));
    if (text[strspn(text, "0123456789x+K:n")] != '\0') { /* sscanf() takes signs and spaces */
        return false;
    }
    /* NOLINTNEXTLINE(cert-err34-c): nine digits do not overflow */
    if (sscanf(text, "%9ux%9u+%9uK:%9u:%9u:%9u%n", &kernel->blocks, &kernel->threads, &kibibytes,
               &parts[0], &parts[1], &parts[2], &length) != 6 ||
        (text[length] != '\0' && strcmp(text + length, ":n") != 0) || kernel->blocks == 0 ||
        kernel->threads == 0 || kernel->threads > device->sm.threads_per_block ||
        kibibytes > device->sm.shared_memory / 1024) {
        return false;
    }
    kernel->shared = kibibytes * 1024;
    kernel->prologue = 1e3 * parts[0] / device->clock_mhz;
    kernel->before = 1e3 * parts[1] / device->clock_mhz;
    kernel->after = 1e3 * parts[2] / device->clock_mhz;
    kernel->waits = kernel->arguments = true;
    kernel->writes = text[length] == '\0';
    kernel->clocked = kernel->clocked_prologue = true;
    return sim_kernel_fits(device, kernel, &scarce) > 0;
}

/* What counting cycles and adding come to. */
static void add_overheads(const struct sim_bench *kernels, bool working, struct sim_kernel *kernel)
{
    kernel->clocked_prologue = true;
    kernel->issue_prologue = kernels->weight;
    kernel->arguments = true;
    if (working) {
        kernel->read = kernels->read;
        kernel->before *= kernels->additions;
        kernel->after *= kernels->additions;
        kernel->tail = kernels->tail;
        kernel->issue = 1;
    } else { /* the clock has been running since the wait's return */
        const double all = kernel->before + kernel->after;
        kernel->before = kernel->before > kernels->read ? kernel->before : kernels->read;
        kernel->after = all > kernel->before ? all - kernel->before : 0;
        kernel->clocked = true;
        kernel->issue = kernels->weight;
    }
}

/* NAN where it does not come to its end. */
static double length_us(struct sim_program *program, size_t length, bool graph, bool overlap)
{
    struct sim_result result;
    line(program, length, graph, overlap);
    const double end = sim_run(program, &result, NULL, NULL) ? result.end : NAN;
    sim_result_free(&result);
    return 1e-3 * end;
}

/* The kernels of a point, which take turns; returns how many. */
static unsigned describe(const struct sim_device *device, const char *table, const json_t *axes,
                         struct sim_kernel kernels[2])
{
    const bool phases = strcmp(table, "phases") == 0;
    if (strcmp(table, "shapes") == 0) {
        const bool same = is(axes, "second", "same");
        const bool right = describe_shape(device, axis(axes, "first"), &kernels[0]) &&
                           (same || describe_shape(device, axis(axes, "second"), &kernels[1]));
        return !right ? 0 : same ? 1 : 2;
    }
    if (!phases && strcmp(table, "trigger") != 0) {
        return 0;
    }
    kernels[0] =
        (struct sim_kernel){.waits = true, .prologue = cycles(device, axis(axes, "prologue"))};
    if (phases) {
        describe_phases(device, axes, &kernels[0]);
    } else {
        describe_trigger(device, axes, &kernels[0]);
    }
    add_overheads(&device->bench, !phases && is(axes, "main", "work"), &kernels[0]);
    return 1;
}

static unsigned warps_on_sm(const struct sim_device *device, const struct sim_kernel *kernel)
{
    enum pdl_resource scarce;
    struct sim_needs needs;
    const unsigned fits = sim_kernel_fits(device, kernel, &scarce);
    const unsigned blocks = (kernel->blocks + device->sms - 1) / device->sms;
    sim_kernel_needs(device, kernel, &needs);
    return (blocks < fits ? blocks : fits) * needs.each[PDL_RESOURCE_WARPS];
}

bool sim_bench_predict(const struct sim_device *device, const char *table, const json_t *axes,
                       struct sim_prediction *prediction)
{
    const char *const way = axis(axes, "way");
    const bool graph =
        strcmp(way, "graph") == 0 || strcmp(way, "graph-pdl") == 0 || strcmp(way, "chain") == 0;
    const bool overlap = strcmp(way, "stream") != 0 && strcmp(way, "graph") != 0;
    struct sim_kernel kernels[2];
    const unsigned count = describe(device, table, axes, kernels);
    struct sim_program program;
    sim_program_init(&program, device);
    prediction->warps = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct sim_kernel *const kernel = &kernels[i];
        if (!(kernel->prologue + kernel->before + kernel->after + kernel->read + kernel->tail <=
              SIM_TIME_MOST)) { /* NAN, too */
            free(program.kernels.items);
            return false;
        }
        const unsigned warps = warps_on_sm(device, kernel);
        prediction->warps = warps > prediction->warps ? warps : prediction->warps;
        APPEND(&program.kernels, *kernel);
    }
    if (count == 0) {
        return false;
    }
    prediction->us = (length_us(&program, LINE_LONG, graph, overlap) -
                      length_us(&program, LINE_SHORT, graph, overlap)) /
                     (LINE_LONG - LINE_SHORT);
    sim_program_free(&program);
    return prediction->us > 0;
}

/* Cells of the table trigger that a calibration is made of; docs/model.md says why these. */
bool sim_bench_is_fitted(const char *table, const json_t *axes)
{
    if (strcmp(table, "trigger") != 0) {
        return strcmp(table, "shapes") == 0 && is(axes, "seed", "fixed");
    }
    return is(axes, "main", "work") && ((is(axes, "fill", "half") && is(axes, "shared", "fits")) ||
                                        (is(axes, "fill", "sms") && is(axes, "shared", "fits")) ||
                                        (is(axes, "fill", "most") && is(axes, "shared", "none")));
}
