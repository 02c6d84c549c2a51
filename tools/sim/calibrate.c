/* SPDX-License-Identifier: MIT */
/* A device's values from what `pdltool bench` measured: each from a few rows by arithmetic, in an order in which
 * it needs only those before it. docs/model.md tells where each comes from. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common/json.h"
#include "common/memory.h"
#include "common/print.h"
#include "sim/output.h"

struct bench {
    json_t *overlap, *graph;
    struct sim_device device;
    char wrong[SIM_WRONG]; /* the first thing that is; empty: nothing */
};

/* A sum over rows, for their mean. */
struct mean {
    double sum;
    unsigned count;
};

static void add(struct mean *mean, double value)
{
    mean->sum += value;
    mean->count++;
}

static double mean_of(const struct mean *mean)
{
    return mean->count > 0 ? mean->sum / mean->count : 0;
}

static double at_least_0(double value)
{
    return value > 0 ? value : 0;
}

static const json_t *find(const json_t *root, const char *id)
{
    size_t i = 0;
    const json_t *table = NULL;
    json_array_foreach(json_object_get(root, "tables"), i, table)
    {
        size_t j = 0;
        const json_t *point = NULL;
        json_array_foreach(json_object_get(table, "points"), j, point)
        {
            const char *const name = json_string_value(json_object_get(point, "id"));
            if (name != NULL && strcmp(name, id) == 0) {
                return point;
            }
        }
    }
    return NULL;
}

/* Of what a row measured, in us or ns. */
#define MEDIAN_MOST 1e9

/* Keeps the first that is told. */
__attribute__((format(printf, 2, 3))) static void tell_wrong(struct bench *bench,
                                                             const char *format, ...)
{
    if (bench->wrong[0] == '\0') {
        va_list list;
        va_start(list, format);
        (void)vsnprintf(bench->wrong, sizeof(bench->wrong), format, list);
        va_end(list);
    }
}

/* The median of a metric of the row whose name the format makes. */
__attribute__((format(printf, 4, 5))) static double row(struct bench *bench, const json_t *root,
                                                        const char *metric, const char *format, ...)
{
    char id[160];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(id, sizeof(id), format, list);
    va_end(list);
    const json_t *const median = json_object_get(
        json_object_get(json_object_get(find(root, id), "metrics"), metric), "median");
    const double value = json_number_value(median);
    if (!json_is_number(median)) {
        tell_wrong(bench, "there is no %s", id);
    } else if (!(fabs(value) <= MEDIAN_MOST)) {
        tell_wrong(bench, "%s: the median of %s is %g, not from %.0f to %.0f", id, metric, value,
                   -MEDIAN_MOST, MEDIAN_MOST);
    }
    return value;
}

/* ns per kernel of the table shapes. */
static double shape(struct bench *bench, const char *first, const char *way)
{
    return 1e3 * row(bench, bench->overlap, "device",
                     "overlap/shapes/seed=fixed/first=%s/second=same/way=%s", first, way);
}

/* ns a kernel of a cell of the table trigger that adds, with 2000 cycles of prologue. */
static double trigger(struct bench *bench, const char *place, const char *fill, const char *way)
{
    return 1e3 *
           row(bench, bench->overlap, "device",
               "overlap/trigger/main=work/trigger=%s/prologue=2000/fill=%s/shared=fits/way=%s",
               place, fill, way);
}

static double cycles(const struct bench *bench, double count)
{
    return 1e3 * count / bench->device.clock_mhz;
}

static const char *const plain[SIM_PATHS] = {"stream", "graph"};
static const char *const overlapped[SIM_PATHS] = {"stream-pdl", "graph-pdl"};

/* Shapes that values are made of: a block of 128 threads on each of 100 SMs, in cycles, and 1000 blocks that an
 * SM has room for one of. */
enum { BLOCKS = 100, WAVED = 1000 };
struct lengths {
    const char *shape;
    unsigned prologue, before, after;
};
static const struct lengths by_end = {"100x128+0K:1000:500:3000", 1000, 500, 3000};
static const struct lengths by_trigger = {"100x128+0K:3000:1000:500", 3000, 1000, 500};
static const struct lengths plain_shapes[] = {
    {"100x128+0K:1000:500:3000", 1000, 500, 3000}, {"100x128+0K:3000:3000:100", 3000, 3000, 100},
    {"100x128+0K:3000:1000:500", 3000, 1000, 500}, {"100x128+0K:2000:2000:1000", 2000, 2000, 1000},
    {"100x128+0K:500:700:900", 500, 700, 900},
};

/* ---- the device ---------------------------------------------------------------------------------- */

static void find_clock(struct bench *bench)
{
    const json_t *const environment = json_object_get(bench->overlap, "environment");
    const double clock =
        json_number_value(json_object_get(environment, "sm_clock_measured_mhz_before"));
    const json_int_t sms = json_integer_value(json_object_get(environment, "multiprocessors"));
    if (clock > 0) {
        bench->device.clock_mhz = round(clock);
    }
    if (sms > 0) {
        bench->device.sms = sms <= SIM_SMS_MOST ? (unsigned)sms : 0;
    }
    if (bench->device.sms < BLOCKS || bench->device.sms >= WAVED) {
        tell_wrong(bench, "multiprocessors is %lld, not from %d to %d", (long long)sms, BLOCKS,
                   WAVED - 1);
    }
}

/* The mean over plain launch paths of how much longer one shape takes than another. */
static double longer(struct bench *bench, const char *first, const char *than)
{
    struct mean mean = {0, 0};
    for (int i = 0; i < SIM_PATHS; i++) {
        add(&mean, shape(bench, first, plain[i]) - shape(bench, than, plain[i]));
    }
    return mean_of(&mean);
}

/* What 1200 more blocks cost, which trigger and end at once. */
static void find_report(struct bench *bench)
{
    enum { MORE = 1500 - 300, REPORTS = 2 };
    bench->device.report =
        at_least_0(longer(bench, "1500x128+0K:0:0:0:n", "300x128+0K:0:0:0:n") / (REPORTS * MORE));
}

/* How much longer a shape takes that writes than one that does not, over all launch paths: in a graph it flushes
 * while the ends are reported. */
static double flushing(struct bench *bench, const char *writes, const char *silent, unsigned blocks)
{
    struct mean mean = {0, 0};
    for (int i = 0; i < 2 * SIM_PATHS; i++) {
        const char *const way = i % 2 == 0 ? plain[i / 2] : overlapped[i / 2];
        const double beside = i / 2 == SIM_GRAPH ? bench->device.report * blocks : 0;
        add(&mean, shape(bench, writes, way) - shape(bench, silent, way) + beside);
    }
    return mean_of(&mean);
}

/* One block that writes, and one on each of 100 SMs. */
static void find_flush(struct bench *bench)
{
    struct sim_device *const device = &bench->device;
    const double one = flushing(bench, "1x128+0K:1000:500:3000", "1x128+0K:1000:500:3000:n", 1);
    const double all = flushing(bench, by_end.shape, "100x128+0K:1000:500:3000:n", BLOCKS);
    device->flush_sms = at_least_0((all - one) * device->sms / (BLOCKS - 1));
    device->flush = at_least_0(one - device->flush_sms / device->sms);
}

/* A prologue of 100 cycles is over before the arguments are there, and one of 1000 is not. */
static void find_arguments(struct bench *bench)
{
    bench->device.arguments = at_least_0(longer(bench, "100x128+0K:100:500:3000", by_end.shape) +
                                         cycles(bench, by_end.prologue));
}

/* Where there is no room beside the primary, the secondary's first block starts so long after the primary's last
 * stamp; and where there is room for one block, each wave takes so much longer than its phases. */
static void find_blocks(struct bench *bench)
{
    struct sim_device *const device = &bench->device;
    struct mean between = {0, 0};
    for (int i = 0; i < SIM_PATHS; i++) {
        add(&between, -1e3 * row(bench, bench->overlap, "overlap",
                                 "overlap/conditions/condition=no-room/way=%s", overlapped[i]));
    }
    device->block_end = device->refill = at_least_0(mean_of(&between) / 2);
    const double more_waves = ceil(WAVED / (double)device->sms) - 1;
    const double wave = longer(bench, "1000x128+150K:1000:500:3000", by_end.shape) / more_waves;
    device->block_start =
        at_least_0(wave - cycles(bench, by_end.prologue + by_end.before + by_end.after) -
                   device->block_end - device->refill);
}

/* From a block's last phase until the kernel has completed. */
static double completion(const struct sim_device *device, enum sim_path path, unsigned blocks)
{
    const double reported = device->report * blocks;
    const double flush = device->flush + device->flush_sms * fmin(1, (double)blocks / device->sms);
    return device->block_end + (path == SIM_STREAM ? reported + flush : fmax(reported, flush));
}

/* Lines that wait for the end of the kernel before. */
static void find_release(struct bench *bench)
{
    struct sim_device *const device = &bench->device;
    for (int i = 0; i < SIM_PATHS; i++) {
        device->release[i] = at_least_0(shape(bench, by_end.shape, overlapped[i]) -
                                        cycles(bench, by_end.before + by_end.after) -
                                        completion(device, (enum sim_path)i, BLOCKS));
    }
}

/* Lines that wait for the trigger of the kernel before. */
static void find_dependent(struct bench *bench)
{
    struct sim_device *const device = &bench->device;
    const double others = device->report * BLOCKS + device->block_start;
    for (int i = 0; i < SIM_PATHS; i++) {
        device->dependent[i] =
            at_least_0(shape(bench, by_trigger.shape, overlapped[i]) -
                       cycles(bench, by_trigger.prologue + by_trigger.before) - others);
    }
}

/* What a line without overlap takes besides its kernels' phases. */
static void find_gap(struct bench *bench)
{
    struct sim_device *const device = &bench->device;
    for (int i = 0; i < SIM_PATHS; i++) {
        const double others = device->block_start + completion(device, (enum sim_path)i, BLOCKS);
        struct mean mean = {0, 0};
        for (size_t j = 0; j < sizeof(plain_shapes) / sizeof(*plain_shapes); j++) {
            const struct lengths *const lengths = &plain_shapes[j];
            add(&mean, shape(bench, lengths->shape, plain[i]) -
                           fmax(cycles(bench, lengths->prologue), device->arguments) -
                           cycles(bench, lengths->before + lengths->after) - others);
        }
        device->gap[i] = at_least_0(mean_of(&mean));
    }
}

/* The host's part of lines of empty kernels. */
static void find_host(struct bench *bench)
{
    struct sim_device *const device = &bench->device;
    static const char slope[] = "graph/slope/span=%s/blocks=%s/way=%s";
    device->host_launch = row(bench, bench->graph, "host", slope, "64-512", "sm", "stream");
    device->host_overlap = row(bench, bench->graph, "host", slope, "64-512", "sm", "stream-pdl");
    device->host_node = row(bench, bench->graph, "host", slope, "512-4096", "sm", "graph");
    device->host_graph =
        1e3 * row(bench, bench->graph, "host-fixed", slope, "512-4096", "sm", "graph");
    device->submit =
        at_least_0(1e3 * row(bench, bench->graph, "wall-fixed", slope, "64-512", "1", "stream") -
                   row(bench, bench->graph, "device", slope, "64-512", "1", "stream"));
}

/* ---- the bench's own kernels ----------------------------------------------------------------------- */

static void find_bench(struct bench *bench)
{
    struct sim_device *const device = &bench->device;
    const double main = cycles(bench, 4000);
    struct mean additions = {0, 0};
    struct mean tail = {0, 0};
    struct mean read = {0, 0};
    struct mean weight = {0, 0};
    const double started = device->block_start + device->report * 0.5 * device->sms;
    for (int i = 0; i < SIM_PATHS; i++) {
        const double last = trigger(bench, "1", "half", overlapped[i]);
        add(&additions, (last - trigger(bench, "0.75", "half", overlapped[i])) / (main / 4));
        add(&tail, trigger(bench, "never", "half", overlapped[i]) - last - device->block_end);
    }
    device->bench.additions = fmax(1, mean_of(&additions));
    device->bench.tail = at_least_0(mean_of(&tail));
    for (int i = 0; i < SIM_PATHS; i++) {
        add(&read, trigger(bench, "0.75", "half", overlapped[i]) - cycles(bench, 2000) -
                       0.75 * main * device->bench.additions - device->dependent[i] - started);
    }
    device->bench.read = at_least_0(mean_of(&read));
    /* A prologue beside the additions makes them wait for some of its time. */
    for (int i = 0; i < SIM_PATHS; i++) {
        const double alone = device->bench.read + main * device->bench.additions +
                             device->bench.tail +
                             completion(device, (enum sim_path)i, device->sms) + device->release[i];
        const double lost = trigger(bench, "0", "sms", overlapped[i]) - alone;
        const double beside = cycles(bench, 2000);
        add(&weight, lost < beside ? lost / (beside - lost) : 1);
    }
    device->bench.weight = at_least_0(mean_of(&weight));
}

/* Each is one that a calibration may have, or the rows are wrong. */
static void check_values(struct bench *bench)
{
    struct sim_device_value values[SIM_DEVICE_VALUES];
    char wrong[SIM_WRONG];
    sim_device_values(&bench->device, values);
    for (size_t i = 0; i < SIM_DEVICE_VALUES; i++) {
        if (!sim_device_check(&values[i], wrong)) {
            tell_wrong(bench, "%s", wrong);
        }
    }
}

/* ---- files --------------------------------------------------------------------------------------- */

static json_t *load(const char *directory, const char *name)
{
    char *why = NULL;
    char *const path = format_text("%s/%s", directory, name);
    json_t *const root = json_read(path, &why);
    if (root == NULL) {
        print_line(stderr, "%s: error: %s", path, why);
        free(why);
    }
    free(path);
    return root;
}

static void write_values(struct sim_device *device, const json_t *overlap, FILE *to)
{
    struct sim_device_value values[SIM_DEVICE_VALUES];
    const char *const date =
        json_string_value(json_object_get(json_object_get(overlap, "environment"), "date"));
    sim_device_values(device, values);
    (void)fputs("# Made by `pdltool sim --calibrate` of `pdltool bench graph overlap`, ", to);
    print_plain(to, date != NULL ? date : "?");
    (void)fprintf(to,
                  ".\n# docs/model.md says which rows each value comes from.\n"
                  "%-18s %s\n%-18s %u\n%-18s %u\n%-18s %u\n%-18s %u\n%-18s %u\n%-18s %u\n"
                  "# Not measured row by row: see docs/model.md.\n%-18s %u\n%-18s %u\n",
                  "name", device->name, "sms", device->sms, "sm-blocks", device->sm.blocks,
                  "sm-threads", device->sm.threads, "sm-registers", device->sm.registers,
                  "sm-shared", device->sm.shared_memory, "block-shared",
                  device->sm.reserved_shared_memory, "depth-stream", device->depth[SIM_STREAM],
                  "depth-graph", device->depth[SIM_GRAPH]);
    for (size_t i = 0; i < SIM_DEVICE_VALUES; i++) {
        (void)fprintf(to, "%-18s %-9.4g # %s: %s\n", values[i].name, *values[i].value,
                      values[i].unit, values[i].meaning);
    }
}

static int write_file(struct bench *bench, const char *output)
{
    const bool to_stdout = strcmp(output, "-") == 0;
    FILE *const file = to_stdout ? stdout : fopen(output, "w");
    if (file != NULL) {
        write_values(&bench->device, bench->overlap, file);
    }
    if (file == NULL || ferror(file) != 0 || (!to_stdout && fclose(file) != 0)) {
        print_line(stderr, "%s: error: %s", output, strerror(errno));
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

int sim_calibrate(const struct sim_device *device, const char *directory, const char *output)
{
    struct bench bench = {.device = *device};
    int code = EXIT_USAGE;
    bench.overlap = load(directory, "overlap.json");
    bench.graph = bench.overlap != NULL ? load(directory, "graph.json") : NULL;
    if (bench.graph != NULL) {
        find_clock(&bench);
        find_report(&bench);
        find_flush(&bench);
        find_arguments(&bench);
        find_blocks(&bench);
        find_release(&bench);
        find_dependent(&bench);
        find_gap(&bench);
        find_host(&bench);
        find_bench(&bench);
        check_values(&bench);
        if (bench.wrong[0] != '\0') {
            print_line(stderr, "%s: error: %s", directory, bench.wrong);
        } else {
            code = write_file(&bench, output);
        }
    }
    json_decref(bench.overlap);
    json_decref(bench.graph);
    return code;
}
