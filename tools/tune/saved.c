/* SPDX-License-Identifier: MIT */
/* What the search found, as the file that libpdl reads: PDL_TUNED, pdl_policy_set(). */
#include "tune/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/gpu.h"
#include "common/memory.h"

/* The time without overlap, as a multiple of that with it; NAN where it was not measured. */
static double gain_of(const struct tune_point *serial, const struct tune_point *overlap)
{
    return serial->count > 0 && overlap->count > 0 ? serial->us / overlap->us : NAN;
}

static double chain_gain(const struct tune_result *result)
{
    const bool better = result->better;
    return gain_of(&result->finals[TUNE_SERIAL],
                   &result->finals[better ? TUNE_CHOSEN : TUNE_START]);
}

/* Of a kind that was tried with and without overlap, with all else as it was chosen: from the last
 * curve that has both. */
static double kind_gain(const struct tune_kind *kind, const struct tune_result *result,
                        size_t number)
{
    const struct tune_choice *const chosen = &kind->items[result->chosen[number]];
    for (size_t i = result->count; i-- > 0;) {
        const struct tune_point *ways[2] = {NULL, NULL};
        for (size_t j = 0; j < result->items[i].count; j++) {
            const struct tune_point *const point = &result->items[i].items[j];
            const struct tune_choice *const choice = &kind->items[point->choice];
            if (result->items[i].kind == number && choice->trigger == chosen->trigger &&
                memcmp(choice->grid, chosen->grid, sizeof(choice->grid)) == 0) {
                ways[choice->serial] = point;
            }
        }
        if (ways[0] != NULL && ways[1] != NULL) {
            return gain_of(ways[1], ways[0]);
        }
    }
    return NAN;
}

/* The beginning of a line, which says what it is about. */
static char *head_of(const struct tune_job *job, const struct tune_result *result, size_t number)
{
    const struct tune_kind *const kind = &job->kinds[number];
    char *grid = tune_grid_name(kind->items[result->chosen[number]].grid);
    char *block = tune_grid_name(kind->block);
    char *head = format_text("%s %s %s", kind->kernel, grid, block);
    free(grid);
    free(block);
    return head;
}

/* The file has one line for a kernel and a shape: the first kind's. Names with blanks are those of an
 * expression, and no kernel's. */
static bool is_taken(const struct tune_job *job, const struct tune_result *result, size_t number)
{
    char *head = head_of(job, result, number);
    bool taken = strpbrk(job->kinds[number].kernel, " \t") != NULL;
    for (size_t i = 0; !taken && i < number; i++) {
        char *other = head_of(job, result, i);
        taken = strcmp(head, other) == 0;
        free(other);
    }
    free(head);
    return taken;
}

static void write_kind(const struct tune_job *job, const struct tune_result *result, size_t number,
                       FILE *to)
{
    const struct tune_kind *const kind = &job->kinds[number];
    const struct tune_choice *const choice = &kind->items[result->chosen[number]];
    double gain = kind_gain(kind, result, number);
    const bool whole = !isfinite(gain);
    gain = whole ? chain_gain(result) : gain;
    const bool serial = kind->never || choice->serial || (whole && gain < 1);
    char *head = head_of(job, result, number);
    (void)fprintf(to, "%s%s %s trigger=%d", is_taken(job, result, number) ? "# " : "", head,
                  serial ? "serial" : "overlap", choice->trigger);
    if (!kind->never && isfinite(gain) && gain < 1e6) {
        const unsigned long thousandths = (unsigned long)(1000 * gain + 0.5);
        (void)fprintf(to, " gain=%lu.%03lu", thousandths / 1000, thousandths % 1000);
    }
    (void)fputc('\n', to);
    free(head);
}

void tune_write_saved(const struct tune_job *job, const struct tune_result *result, FILE *to)
{
    const time_t now = time(NULL);
    const unsigned version = pdl_version();
    struct tm utc;
    char date[32] = "";
    (void)strftime(date, sizeof(date), "%Y-%m-%d", gmtime_r(&now, &utc));
    (void)fprintf(to,
                  "pdl-tuned 1\n# %s on %s, driver for CUDA %d.%d, pdltool tune %u.%u.%u, %s\n"
                  "# kernel, grid, block, what pays, and what was measured\n",
                  job->name, gpu.name, gpu.driver_version / 1000, gpu.driver_version % 1000 / 10,
                  version / 10000, version / 100 % 100, version % 100, date);
    if (result->failed != NULL || result->chosen == NULL) {
        (void)fprintf(to, "# nothing was chosen: the chain does not work as it was given\n");
        return;
    }
    for (size_t i = 0; i < job->kind_count; i++) {
        (void)fprintf(to, "# %s\n", job->kinds[i].name);
        write_kind(job, result, i, to);
    }
}
