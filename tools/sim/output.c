/* SPDX-License-Identifier: MIT */
#include "sim/output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/print.h"

enum {
    SHOWN = 40,             /* launches in the table */
    DRAWN = 2 * 1000 * 1000 /* blocks of a timeline */
};

static char *us(double ns)
{
    return format_text("%.3f", 1e-3 * ns);
}

static const struct sim_kernel *kernel_of(const struct sim_program *program, size_t launch)
{
    return &program->kernels.items[program->launches.items[launch].kernel];
}

void sim_print(const struct sim_program *program, const struct sim_result *result,
               const struct sim_result *plain, FILE *to)
{
    static const char *const headings[] = {"launch",    "kernel", "stream",   "start",  "waited",
                                           "triggered", "end",    "complete", "busiest"};
    struct table table = {.headings = headings, .right = "rllrrrrrr"};
    const size_t count = program->launches.count;
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        const struct sim_outcome *const outcome = &result->outcomes[i];
        const bool waits = kernel_of(program, i)->waits;
        table_add(&table, format_text("%zu", i));
        table_add(&table, copy_text(kernel_of(program, i)->name));
        table_add(&table, copy_text(program->tracks.items[program->launches.items[i].track]));
        table_add(&table, us(outcome->start));
        table_add(&table, waits ? us(outcome->waited) : copy_text("-"));
        table_add(&table, us(outcome->triggered));
        table_add(&table, us(outcome->end));
        table_add(&table, us(outcome->completed));
        table_add(&table, format_text("%u", outcome->busiest));
    }
    (void)fputs("Predicted for ", to);
    print_plain(to, program->device.name);
    (void)fputs(". Times in µs: the first block's start, the last block's others.\n"
                "Busiest: blocks on the SM with the most.\n\n",
                to);
    table_print(&table, to);
    table_free(&table);
    if (count > SHOWN) {
        (void)fprintf(to, "... and %zu more\n", count - SHOWN);
    }
    (void)fprintf(to, "\n%zu launches: %.3f µs from the first launch to completion, %.3f µs each\n",
                  count, 1e-3 * result->end, 1e-3 * result->end / (double)count);
    if (plain != NULL) {
        (void)fprintf(to, "without overlap: %.3f µs\n", 1e-3 * plain->end);
    }
}

/* ---- timelines ----------------------------------------------------------------------------------- */

bool sim_tell_wrong(const struct sim_result *result)
{
    print_error("%s", result->wrong);
    return false;
}

struct filling {
    pdl_timeline *timeline;
    uint32_t first; /* index of the program's first launch */
    pdl_status status;
};

static int64_t stamp(bool taken, double ns)
{
    return taken ? (int64_t)llround(ns) : PDL_TIMELINE_NONE;
}

static void add_block(void *context, const struct sim_block *block)
{
    struct filling *const filling = context;
    const pdl_timeline_block item = {
        .launch = filling->first + block->launch,
        .block = block->block,
        .sm = block->sm,
        .start_ns = stamp(true, block->start),
        .wait_ns = stamp(block->has_wait, block->wait),
        .waited_ns = stamp(block->has_wait, block->waited),
        .triggered_ns = stamp(block->has_trigger, block->triggered),
        .end_ns = stamp(true, block->end),
    };
    if (filling->status == PDL_SUCCESS) {
        filling->status = pdl_timeline_add_block(filling->timeline, &item);
    }
}

static void add_launches(const struct sim_program *program, const char *prefix,
                         struct filling *filling)
{
    for (size_t i = 0; i < program->launches.count && filling->status == PDL_SUCCESS; i++) {
        uint32_t launch = 0;
        const char *const stream = program->tracks.items[program->launches.items[i].track];
        char *const track = *prefix == '\0'             ? copy_text(stream)
                            : program->tracks.count > 1 ? format_text("%s: %s", prefix, stream)
                                                        : copy_text(prefix);
        filling->status =
            pdl_timeline_add_launch(filling->timeline, kernel_of(program, i)->name, track, &launch);
        filling->first = i == 0 ? launch : filling->first;
        free(track);
    }
}

bool sim_run_timeline(const struct sim_program *program, const char *prefix,
                      struct sim_result *result, pdl_timeline *timeline)
{
    double blocks = 0;
    for (size_t i = 0; i < program->launches.count; i++) {
        blocks += kernel_of(program, i)->blocks;
    }
    if (blocks > DRAWN) {
        print_error("a timeline of %.0f blocks; the limit is %d", blocks, DRAWN);
        return false;
    }
    struct filling filling = {.timeline = timeline, .status = PDL_SUCCESS};
    add_launches(program, prefix, &filling);
    if (filling.status == PDL_SUCCESS && !sim_run(program, result, add_block, &filling)) {
        return sim_tell_wrong(result);
    }
    if (filling.status != PDL_SUCCESS) {
        print_error("%s", pdl_last_error()->message);
    }
    return filling.status == PDL_SUCCESS;
}

struct sim_program sim_without_overlap(const struct sim_program *program)
{
    struct sim_program plain = *program;
    plain.dependencies.items =
        allocate(program->dependencies.count + 1, sizeof(*plain.dependencies.items));
    for (size_t i = 0; i < program->dependencies.count; i++) {
        plain.dependencies.items[i].on = program->dependencies.items[i].on;
    }
    return plain;
}

/* ---- the trigger position --------------------------------------------------------------------------- */

bool sim_sweep(const struct sim_program *program, double from, double to, int steps,
               struct sim_try *tries)
{
    struct sim_program changed = *program;
    changed.kernels.items = allocate(program->kernels.count, sizeof(*changed.kernels.items));
    bool done = true;
    for (int i = 0; i <= steps && done; i++) {
        struct sim_result result;
        tries[i].share = steps > 0 ? from + (to - from) * i / steps : from;
        for (size_t j = 0; j < program->kernels.count; j++) {
            struct sim_kernel *const kernel = &changed.kernels.items[j];
            *kernel = program->kernels.items[j];
            const double main = kernel->before + kernel->after;
            kernel->trigger = SIM_TRIGGER_MAIN;
            kernel->before = tries[i].share * main;
            kernel->after = main - kernel->before;
        }
        done = sim_run(&changed, &result, NULL, NULL) || sim_tell_wrong(&result);
        tries[i].ns = result.end;
        sim_result_free(&result);
    }
    free(changed.kernels.items);
    return done;
}

void sim_print_sweep(const struct sim_try *tries, int steps, FILE *to)
{
    enum { BAR = 50 };
    double most = 0;
    int best = 0;
    for (int i = 0; i <= steps; i++) {
        most = tries[i].ns > most ? tries[i].ns : most;
        best = tries[i].ns < tries[best].ns ? i : best;
    }
    (void)fprintf(to, "Trigger position (share of the main part before it) and total time\n\n");
    for (int i = 0; i <= steps; i++) {
        (void)fprintf(to, "  %5.3f %12.3f µs  ", tries[i].share, 1e-3 * tries[i].ns);
        for (int j = 0; most > 0 && j < (int)(BAR * tries[i].ns / most); j++) {
            (void)fputc('#', to);
        }
        (void)fprintf(to, "%s\n", i == best ? "  best" : "");
    }
}
