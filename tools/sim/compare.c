/* SPDX-License-Identifier: MIT */
/* What `pdltool bench overlap` measured beside what the model says. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common/json.h"
#include "common/memory.h"
#include "common/print.h"
#include "common/quantile.h"
#include "sim/bench_rows.h"
#include "sim/output.h"

struct row {
    const char *id, *way;
    bool fitted; /* the calibration was made of it */
    double measured;
    struct sim_prediction predicted;
    size_t plain; /* the row of the same kernels without PDL, or its own */
};

struct rows {
    struct pdl_names ids; /* of each, once */
    struct {
        size_t *items;
        size_t count, capacity;
    } of_id; /* the first row */
    struct row *items;
    size_t count, capacity;
};

static double error_of(const struct row *row)
{
    return row->predicted.us / row->measured - 1;
}

/* What PDL changes, where it changes more than 5 %. */
static double effect_of(const struct rows *rows, const struct row *row)
{
    return row->measured / rows->items[row->plain].measured - 1;
}

static bool counts_for_sign(const struct rows *rows, const struct row *row)
{
    return &rows->items[row->plain] != row && fabs(effect_of(rows, row)) > 0.05;
}

static bool sign_right(const struct rows *rows, const struct row *row)
{
    const double predicted = row->predicted.us / rows->items[row->plain].predicted.us - 1;
    return (predicted < 0) == (effect_of(rows, row) < 0);
}

/* ---- the rows ------------------------------------------------------------------------------------ */

/* Ways that launch the same, through libpdl, are no rows of their own. */
static bool is_raw(const char *way)
{
    return strcmp(way, "libpdl") != 0 && strcmp(way, "chain") != 0;
}

/* The plain row of a configuration, which comes before the others: whose axes are the same but for the trigger
 * and the way. */
static size_t find_plain(const struct rows *rows, const json_t *against, size_t own)
{
    const char *const id = json_string_value(against);
    uint32_t index = 0;
    return id != NULL && rows->of_id.items != NULL && pdl_names_find(&rows->ids, id, &index)
               ? rows->of_id.items[index]
               : own;
}

static void add_row(struct rows *rows, const struct sim_device *device, const char *table,
                    const json_t *point)
{
    const json_t *const axes = json_object_get(point, "axes");
    const char *const way = json_string_value(json_object_get(axes, "way"));
    const char *const id = json_string_value(json_object_get(point, "id"));
    const json_t *const metrics = json_object_get(point, "metrics");
    struct row row = {
        .id = id,
        .way = way,
        .fitted = sim_bench_is_fitted(table, axes),
        .measured =
            json_number_value(json_object_get(json_object_get(metrics, "device"), "median")),
    };
    if (id == NULL || way == NULL || !is_raw(way) || !(row.measured > 0) ||
        !(row.measured <= 1e-3 * SIM_TIME_MOST) ||
        !sim_bench_predict(device, table, axes, &row.predicted)) {
        return;
    }
    const bool plain = strcmp(way, "stream") == 0 || strcmp(way, "graph") == 0;
    row.plain =
        plain ? rows->count : find_plain(rows, json_object_get(point, "against"), rows->count);
    if (name_index(&rows->ids, id) == rows->of_id.count) {
        APPEND(&rows->of_id, rows->count);
    }
    APPEND(rows, row);
}

static void read_rows(struct rows *rows, const struct sim_device *device, const json_t *root)
{
    size_t i = 0;
    const json_t *table = NULL;
    json_array_foreach(json_object_get(root, "tables"), i, table)
    {
        const char *const name = json_string_value(json_object_get(table, "name"));
        size_t j = 0;
        const json_t *point = NULL;
        json_array_foreach(json_object_get(table, "points"), j, point)
        {
            if (name != NULL) {
                add_row(rows, device, name, point);
            }
        }
    }
}

/* ---- what they come to ----------------------------------------------------------------------------- */

struct totals {
    size_t rows, signs, right;
    double median, p95, worst;
};

/* Rows that count together. */
struct group {
    bool fitted;
    const char *way;      /* NULL: any */
    unsigned least, most; /* warps on an SM */
};
enum { FEW_WARPS = 16 };

static bool in_group(const struct row *row, const struct group *group)
{
    return row->fitted == group->fitted &&
           (group->way == NULL || strcmp(row->way, group->way) == 0) &&
           row->predicted.warps >= group->least && row->predicted.warps <= group->most;
}

static struct totals total(const struct rows *rows, const struct group *group)
{
    struct totals totals = {0};
    double *const errors = allocate(rows->count + 1, sizeof(*errors));
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *const row = &rows->items[i];
        if (in_group(row, group)) {
            const bool counts = counts_for_sign(rows, row);
            errors[totals.rows++] = fabs(error_of(row));
            totals.signs += counts;
            totals.right += counts && sign_right(rows, row);
        }
    }
    if (totals.rows > 0) {
        sort_rising(errors, totals.rows);
        totals.median = quantile(errors, totals.rows, 0.5);
        totals.p95 = quantile(errors, totals.rows, 0.95);
        totals.worst = errors[totals.rows - 1];
    }
    free(errors);
    return totals;
}

/* ---- outputs ------------------------------------------------------------------------------------- */

static void print_totals(const struct rows *rows, bool fitted)
{
    const struct group group = {fitted, NULL, 0, UINT_MAX};
    const struct totals totals = total(rows, &group);
    if (totals.rows == 0) {
        printf("%s: no configuration\n", fitted ? "Used to calibrate" : "Not used to calibrate");
        return;
    }
    printf("%s: %zu configurations, error median %.1f %%, 95th percentile %.1f %%, worst %.1f %%;\n"
           "sign of the effect of PDL right in %zu of %zu with more than 5 %%\n",
           fitted ? "Used to calibrate" : "Not used to calibrate", totals.rows, 100 * totals.median,
           100 * totals.p95, 100 * totals.worst, totals.right, totals.signs);
}

/* Of what was not calibrated with: by launch path, and by how full an SM can be. */
static const struct group groups[] = {
    {false, "stream", 0, FEW_WARPS},
    {false, "stream-pdl", 0, FEW_WARPS},
    {false, "graph", 0, FEW_WARPS},
    {false, "graph-pdl", 0, FEW_WARPS},
    {false, "stream", FEW_WARPS + 1, UINT_MAX},
    {false, "stream-pdl", FEW_WARPS + 1, UINT_MAX},
    {false, "graph", FEW_WARPS + 1, UINT_MAX},
    {false, "graph-pdl", FEW_WARPS + 1, UINT_MAX},
};
enum { GROUPS = sizeof(groups) / sizeof(*groups) };

static void print_groups(const struct rows *rows)
{
    printf("\n%-12s %14s %6s %8s %8s %8s %10s\n", "launch path", "warps per SM", "rows", "median",
           "95 %", "worst", "signs");
    for (size_t i = 0; i < GROUPS; i++) {
        const struct totals totals = total(rows, &groups[i]);
        if (totals.rows > 0) {
            printf("%-12s %11s %2d %6zu %6.1f %% %6.1f %% %6.1f %% %4zu of %zu\n", groups[i].way,
                   groups[i].least == 0 ? "up to" : "more than", FEW_WARPS, totals.rows,
                   100 * totals.median, 100 * totals.p95, 100 * totals.worst, totals.right,
                   totals.signs);
        }
    }
}

static void print(const struct rows *rows)
{
    printf("%10s %10s %8s  configuration\n", "measured", "predicted", "error");
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *const row = &rows->items[i];
        const bool wrong = counts_for_sign(rows, row) && !sign_right(rows, row);
        printf("%7.3f µs %7.3f µs %+7.1f%%  ", row->measured, row->predicted.us,
               100 * error_of(row));
        print_plain(stdout, row->id);
        printf("%s%s\n", row->fitted ? " (calibrated with)" : "", wrong ? " SIGN" : "");
    }
    printf("\n");
    print_totals(rows, true);
    print_totals(rows, false);
    print_groups(rows);
}

static json_t *rounded(double value, double per)
{
    return json_real(round(value * per) / per);
}

static json_t *totals_json(const struct rows *rows, const struct group *group)
{
    const struct totals totals = total(rows, group);
    json_t *const object = json_new_object();
    json_set(object, "configurations", json_number((int64_t)totals.rows));
    /* No error of no configuration is not an error of 0. */
    const bool any = totals.rows > 0;
    json_set(object, "error_median_percent", any ? rounded(100 * totals.median, 100) : json_null());
    json_set(object, "error_p95_percent", any ? rounded(100 * totals.p95, 100) : json_null());
    json_set(object, "error_worst_percent", any ? rounded(100 * totals.worst, 100) : json_null());
    json_set(object, "signs", json_number((int64_t)totals.signs));
    json_set(object, "signs_right", json_number((int64_t)totals.right));
    return object;
}

static json_t *groups_json(const struct rows *rows)
{
    json_t *const array = json_new_array();
    for (size_t i = 0; i < GROUPS; i++) {
        json_t *const object = totals_json(rows, &groups[i]);
        json_set(object, "way", json_text(groups[i].way));
        json_set(object, "warps_least", json_number(groups[i].least));
        json_set(object, "warps_most",
                 groups[i].most != UINT_MAX ? json_number(groups[i].most) : json_null());
        json_add(array, object);
    }
    return array;
}

static json_t *rows_json(const struct rows *rows)
{
    json_t *const array = json_new_array();
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *const row = &rows->items[i];
        json_t *const object = json_new_object();
        json_set(object, "id", json_text(row->id));
        json_set(object, "calibrated_with", json_boolean(row->fitted));
        json_set(object, "measured_us", rounded(row->measured, 1e4));
        json_set(object, "predicted_us", rounded(row->predicted.us, 1e4));
        json_set(object, "warps_per_sm", json_number(row->predicted.warps));
        json_set(object, "error_percent", rounded(100 * error_of(row), 100));
        json_set(object, "sign",
                 counts_for_sign(rows, row) ? json_text(sign_right(rows, row) ? "right" : "wrong")
                                            : json_null());
        json_add(array, object);
    }
    return array;
}

static bool print_rows_json(const struct rows *rows, const struct sim_device *device,
                            const json_t *bench)
{
    const json_t *const environment = json_object_get(bench, "environment");
    json_t *const root = json_new_object();
    json_set(root, "schema", json_number(1));
    json_set(root, "tool", json_text("pdltool sim --compare"));
    json_set(root, "device", json_text(device->name));
    json_set(root, "bench_date",
             json_text(json_string_value(json_object_get(environment, "date"))));
    json_set(root, "calibrated_with", totals_json(rows, &(struct group){true, NULL, 0, UINT_MAX}));
    json_set(root, "validation", totals_json(rows, &(struct group){false, NULL, 0, UINT_MAX}));
    json_set(root, "groups", groups_json(rows));
    json_set(root, "rows", rows_json(rows));
    return json_print(root);
}

int sim_compare(const struct sim_device *device, const char *path, bool as_json)
{
    char *why = NULL;
    struct rows rows = {0};
    json_t *const root = json_read(path, &why);
    if (root == NULL) {
        print_line(stderr, "%s: error: %s", path, why);
        free(why);
        return EXIT_USAGE;
    }
    read_rows(&rows, device, root);
    int code = EXIT_DONE;
    if (rows.count == 0) {
        print_line(stderr, "%s: error: no rows of 'pdltool bench overlap'", path);
        code = EXIT_USAGE;
    } else if (as_json) {
        code = print_rows_json(&rows, device, root) ? EXIT_DONE : EXIT_USAGE;
    } else {
        print(&rows);
    }
    pdl_names_free(&rows.ids);
    free(rows.of_id.items);
    free(rows.items);
    json_decref(root);
    return code;
}
