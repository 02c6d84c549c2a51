/* SPDX-License-Identifier: MIT */
/* What the search found, as text. */
#include "tune/tune.h"

#include <stdlib.h>
#include <string.h>

#include "bench/gpu.h"
#include "common/memory.h"
#include "common/print.h"

static char *trigger_text(int trigger)
{
    return trigger < 0 ? copy_text("none") : format_text("%d", trigger);
}

static char *time_text(const struct tune_point *point)
{
    return point->count > 0 ? format_text("%.2f", point->us) : copy_text("-");
}

static char *ratio_text(const struct tune_point *point)
{
    return point->count > 0
               ? format_text("%.4f (%.4f to %.4f)", point->ratio, point->low, point->high)
               : copy_text("-");
}

void tune_print_head(const struct tune_chain *chain, FILE *to)
{
    char *links = format_count(chain->links.count, "link", "links");
    char *kinds = format_count(chain->kind_count, "kind", "kinds");
    char *results = format_count(chain->result_bytes, "byte", "bytes");
    print_line(to, "%s on %s: a chain of %s of %s, %s of results compared after each sample",
               chain->name, gpu.name, links, kinds, results);
    (void)fflush(to);
    free(links);
    free(kinds);
    free(results);
}

static const char *mark(const struct tune_curve *curve, const struct tune_point *point)
{
    if (point->state != TUNE_RIGHT) {
        return point->why;
    }
    if (point->choice == curve->taken) {
        return point->choice == curve->at[curve->kind] ? "<- stays" : "<- taken";
    }
    return "";
}

/* What the choice was, and is now if that is in no column. */
static char *change_text(const struct tune_choice *was, const struct tune_choice *choice)
{
    if (choice == was) {
        return copy_text("unchanged");
    }
    char *trigger = trigger_text(was->trigger);
    char *text = format_text("%swas trigger %s", choice->serial ? "no overlap; " : "", trigger);
    free(trigger);
    return text;
}

void tune_print_curve(const struct tune_chain *chain, const struct tune_curve *curve, FILE *to)
{
    static const char *const headings[] = {"", "trigger", "µs", "ratio to before (95 %)", ""};
    struct table table = {.headings = headings, .right = "lrrrl"};
    const struct tune_kind *const kind = &chain->kinds[curve->kind];
    for (size_t i = 0; i < curve->count; i++) {
        const struct tune_point *const point = &curve->items[i];
        const struct tune_choice *const choice = &kind->items[point->choice];
        table_add(&table, copy_text(""));
        table_add(&table, trigger_text(choice->trigger));
        table_add(&table, time_text(point));
        table_add(&table, ratio_text(point));
        table_add(&table,
                  format_text("%s%s", choice->serial ? "no overlap " : "", mark(curve, point)));
    }
    (void)fputc('\n', to);
    print_line(to, "sweep %zu, %s", curve->sweep + 1, kind->name);
    table_print(&table, to);
    table_free(&table);
    (void)fflush(to);
}

static void print_choices(const struct tune_chain *chain, const struct tune_result *result,
                          FILE *to)
{
    static const char *const headings[] = {"", "kind", "trigger", ""};
    struct table table = {.headings = headings, .right = "llrl"};
    for (size_t i = 0; i < chain->kind_count; i++) {
        const struct tune_kind *const kind = &chain->kinds[i];
        const struct tune_choice *const choice = &kind->items[result->chosen[i]];
        const struct tune_choice *const was = &kind->items[kind->start];
        table_add(&table, copy_text(""));
        table_add(&table, copy_text(kind->name));
        table_add(&table, trigger_text(choice->trigger));
        table_add(&table, change_text(was, choice));
    }
    table_print(&table, to);
    table_free(&table);
}

static void print_finals(const struct tune_result *result, FILE *to)
{
    static const char *const headings[] = {"", "", "µs per replay", "ratio to start (95 %)", ""};
    static const char *const names[TUNE_FINALS] = {"no overlap", "start", "chosen"};
    struct table table = {.headings = headings, .right = "llrrl"};
    for (size_t i = 0; i < TUNE_FINALS; i++) {
        const struct tune_point *const point = &result->finals[i];
        if (point->count > 0 || point->why != NULL) {
            table_add(&table, copy_text(""));
            table_add(&table, copy_text(names[i]));
            table_add(&table, time_text(point));
            table_add(&table, ratio_text(point));
            table_add(&table, copy_text(point->why != NULL ? point->why : ""));
        }
    }
    if (table.count > 0) {
        table_print(&table, to);
    }
    table_free(&table);
}

/* The same choice as a point with overlap, without; NULL where one of them was not measured. */
static const struct tune_point *find_serial(const struct tune_curve *curve,
                                            const struct tune_kind *kind,
                                            const struct tune_point *point)
{
    const struct tune_choice *const wanted = &kind->items[point->choice];
    for (size_t i = 0; i < curve->count && !wanted->serial && point->state == TUNE_RIGHT; i++) {
        const struct tune_point *const other = &curve->items[i];
        const struct tune_choice *const choice = &kind->items[other->choice];
        if (choice->serial && other->state == TUNE_RIGHT && choice->trigger == wanted->trigger) {
            return other;
        }
    }
    return NULL;
}

/* Whether overlap cost more than the noise in every choice that was measured with and without. */
static bool is_slower(const struct tune_chain *chain, const struct tune_result *result,
                      const char *kernel)
{
    bool slower = false;
    for (size_t i = 0; i < result->count; i++) {
        const struct tune_curve *const curve = &result->items[i];
        const struct tune_kind *const kind = &chain->kinds[curve->kind];
        for (size_t j = 0; j < curve->count && strcmp(kind->kernel, kernel) == 0; j++) {
            const struct tune_point *const point = &curve->items[j];
            const struct tune_point *const serial = find_serial(curve, kind, point);
            if (serial != NULL && !(serial->high < point->low)) {
                return false;
            }
            slower = slower || serial != NULL;
        }
    }
    return slower;
}

/* A name that is neither an expression, which would be read as patterns, nor would steer a terminal or a shell. */
static bool is_plain(const char *kernel)
{
    static const char characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789_.";
    return kernel[strspn(kernel, characters)] == '\0';
}

char *tune_excluded(const struct tune_chain *chain, const struct tune_result *result)
{
    char *names = NULL;
    for (size_t i = 0; i < chain->kind_count && result->failed == NULL; i++) {
        const char *const kernel = chain->kinds[i].kernel;
        size_t first = 0;
        while (strcmp(chain->kinds[first].kernel, kernel) != 0) {
            first++;
        }
        if (first == i && is_plain(kernel) && is_slower(chain, result, kernel)) {
            char *const more =
                format_text("%s%s%s", names != NULL ? names : "", names != NULL ? ":" : "", kernel);
            free(names);
            names = more;
        }
    }
    return names;
}

/* What the first line says of the choices. */
static const char *verdict(const struct tune_result *result)
{
    if (result->failed != NULL) {
        return "no result";
    }
    if (result->better) {
        return "chosen";
    }
    return result->finals[TUNE_START].count > 0 ? "kept" : "the best so far";
}

void tune_print_result(const struct tune_chain *chain, const struct tune_result *result, FILE *to)
{
    if (result->chosen != NULL) {
        char *tried = format_count(result->tried, "configuration", "configurations");
        char *replays = format_count((unsigned long long)result->batch, "replay", "replays");
        (void)fprintf(to, "\n%s after %s in %.1f s, %s per sample", verdict(result), tried,
                      result->seconds, replays);
        print_line(to, "%s%s%s", result->ended_early != NULL ? "; the search ended early: " : "",
                   result->ended_early != NULL ? result->ended_early : "",
                   result->failed == NULL ? ":" : "");
        if (result->failed == NULL) { /* else the times are of something else */
            print_choices(chain, result, to);
            print_finals(result, to);
        }
        free(tried);
        free(replays);
    }
    if (result->failed != NULL) {
        print_line(to, "the chain as given does not work: %s", result->failed);
    } else if (!result->better && result->ended_early == NULL) {
        (void)fputs("nothing is faster than the start by more than the noise\n", to);
    }
    char *const excluded = tune_excluded(chain, result);
    if (excluded != NULL) {
        (void)fprintf(to, "PDL_OVERLAP_EXCLUDE=%s\n", excluded); /* whole, however long */
        free(excluded);
    }
    (void)fflush(to);
}
