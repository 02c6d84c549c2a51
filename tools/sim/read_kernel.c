/* SPDX-License-Identifier: MIT */
#include "sim/read.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The line of a kernel that is read. */
struct reader {
    const struct sim_device *device;
    struct description *description;
    const struct description_line *line;
    struct kernel_resources resources;
    struct sim_kernel *kernel;
};

#define FAIL(reader, ...) description_fail((reader)->description, (reader)->line, __VA_ARGS__)

/* A number with a unit: what follows the number is left in *unit. */
static bool read_number(const struct reader *reader, const char *text, double *value,
                        const char **unit)
{
    char *end = NULL;
    errno = 0;
    *value = strtod(text, &end);
    *unit = end;
    return (end != text && errno == 0 && isfinite(*value)) ||
           FAIL(reader, "'%.60s' is not a number", text);
}

static bool read_time(const struct reader *reader, const char *text, double *ns)
{
    const char *unit = NULL;
    double value = 0;
    if (!read_number(reader, text, &value, &unit)) {
        return false;
    }
    if (value < 0) {
        return FAIL(reader, "a time below 0: %.60s", text);
    }
    const double factor = strcmp(unit, "ns") == 0       ? 1
                          : strcmp(unit, "us") == 0     ? 1e3
                          : strcmp(unit, "ms") == 0     ? 1e6
                          : strcmp(unit, "c") == 0      ? 1e3 / reader->device->clock_mhz
                          : value == 0 && *unit == '\0' ? 1
                                                        : 0;
    if (factor == 0) {
        return FAIL(reader, "a time is in ns, us, ms or c (cycles), not '%.60s'", text);
    }
    *ns = value * factor;
    return *ns <= SIM_TIME_MOST ||
           FAIL(reader, "a time is from 0 to " SIM_TIME_TEXT ", not %.60s", text);
}

static bool read_share(const struct reader *reader, const char *text, double *share)
{
    const char *unit = NULL;
    return read_number(reader, text, share, &unit) &&
           ((*unit == '\0' && *share >= 0 && *share <= 1) ||
            FAIL(reader, "'%.60s' is not a number from 0 to 1", text));
}

static bool read_trigger(const struct reader *reader, const char *text)
{
    static const char *const names[] = {"main", "start", "never"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, names[i]) == 0) {
            reader->kernel->trigger = (enum sim_trigger)i;
            return true;
        }
    }
    return FAIL(reader, "trigger is main, start or never, not '%.60s'", text);
}

/* A word of what its blocks do. */
static bool read_phase(const struct reader *reader, const char *word)
{
    struct sim_kernel *const kernel = reader->kernel;
    const struct {
        const char *name;
        double *value;
        bool (*read)(const struct reader *reader, const char *text, double *value);
    } values[] = {
        {"prologue", &kernel->prologue, read_time},
        {"read", &kernel->read, read_time},
        {"before", &kernel->before, read_time},
        {"after", &kernel->after, read_time},
        {"tail", &kernel->tail, read_time},
        {"issue", &kernel->issue, read_share},
        {"issue-prologue", &kernel->issue_prologue, read_share},
    };
    const struct {
        const char *name;
        bool *flag, value;
    } flags[] = {
        {"wait", &kernel->waits, true},       {"nowait", &kernel->waits, false},
        {"clocked", &kernel->clocked, true},  {"clocked-prologue", &kernel->clocked_prologue, true},
        {"nowrites", &kernel->writes, false}, {"noarguments", &kernel->arguments, false},
    };
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
        if (strcmp(word, flags[i].name) == 0) {
            *flags[i].flag = flags[i].value;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        const char *const text = kernel_value(word, values[i].name);
        if (text != NULL) {
            return values[i].read(reader, text, values[i].value);
        }
    }
    const char *const trigger = kernel_value(word, "trigger");
    return trigger != NULL ? read_trigger(reader, trigger)
                           : FAIL(reader, "a kernel has no '%.60s'", word);
}

static bool read_word(struct reader *reader, const char *word)
{
    const int64_t most = INT64_C(1) << 31; /* blocks */
    struct kernel_limits limits = {0, 0};
    const enum kernel_word taken = kernel_take(&reader->resources, word, &limits);
    limits.most = limits.most < most ? limits.most : most;
    if (taken == KERNEL_WRONG || reader->resources.grid.all > most) {
        return description_fail_count(reader->description, reader->line, strchr(word, '=') + 1,
                                      limits);
    }
    if (reader->resources.carveout >= 0) { /* the model's SM has all of its shared memory */
        return FAIL(reader, "a kernel has no '%.60s'", word);
    }
    return taken == KERNEL_TAKEN || read_phase(reader, word);
}

/* What no launch could have is refused: clusters are launched whole. */
static bool check_fits(const struct reader *reader)
{
    static const char *const names[PDL_RESOURCE_COUNT] = {
        [PDL_RESOURCE_WARPS] = "warps",
        [PDL_RESOURCE_REGISTERS] = "registers",
        [PDL_RESOURCE_SHARED_MEMORY] = "bytes of shared memory",
        [PDL_RESOURCE_BLOCKS] = "blocks",
    };
    const struct sim_device *const device = reader->device;
    const struct sim_kernel *const kernel = reader->kernel;
    enum pdl_resource scarce = PDL_RESOURCE_BLOCKS;
    struct sim_needs needs;
    const uint64_t room = (uint64_t)sim_kernel_fits(device, kernel, &scarce) * device->sms;
    sim_kernel_needs(device, kernel, &needs);
    if (room == 0) {
        return FAIL(
            reader, "kernel '%.60s' can never run: a block takes %u %s, and an SM of %s has %u",
            kernel->name, needs.each[scarce], names[scarce], device->name, needs.all[scarce]);
    }
    if (!kernel_clusters_divide(&reader->resources.grid, &reader->resources.cluster)) {
        return FAIL(
            reader,
            "kernel '%.60s' can never run: its clusters of %u blocks do not divide its %u blocks",
            kernel->name, kernel->cluster, kernel->blocks);
    }
    return kernel->cluster <= room ||
           FAIL(reader,
                "kernel '%.60s' can never run: a cluster has %u blocks, and %s holds %llu of them",
                kernel->name, kernel->cluster, device->name, (unsigned long long)room);
}

bool sim_read_kernel(const struct sim_device *device, struct description *description,
                     const struct description_line *line, struct sim_kernel *kernel)
{
    struct reader reader = {.device = device,
                            .description = description,
                            .line = line,
                            .resources = {.carveout = -1},
                            .kernel = kernel};
    const struct kernel_resources *const resources = &reader.resources;
    *kernel = (struct sim_kernel){.name = line->words[1],
                                  .line = line->number,
                                  .waits = true,
                                  .arguments = true,
                                  .writes = true};
    for (size_t i = 2; i < line->count; i++) {
        if (!read_word(&reader, line->words[i])) {
            return false;
        }
    }
    if (resources->grid.axes == 0 || resources->block.axes == 0) {
        return FAIL(&reader, "kernel '%.60s' needs blocks= and threads=", kernel->name);
    }
    kernel->blocks = (unsigned)resources->grid.all;
    kernel->threads = (unsigned)resources->block.all;
    kernel->cluster = (unsigned)resources->cluster.all;
    kernel->registers = (unsigned)resources->registers;
    kernel->shared = (unsigned)(resources->shared + resources->dynamic);
    return check_fits(&reader);
}
