/* SPDX-License-Identifier: MIT */
#include "sim/read.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A number with a unit: what follows the number is left in *unit. */
static bool number(char wrong[SIM_WRONG], const char *text, double *value, const char **unit)
{
    char *end = NULL;
    errno = 0;
    *value = strtod(text, &end);
    *unit = end;
    return (end != text && errno == 0 && isfinite(*value)) ||
           sim_fail(wrong, "'%.60s' is not a number", text);
}

static bool read_time(const struct sim_device *device, const char *text, double *ns,
                      char wrong[SIM_WRONG])
{
    const char *unit = NULL;
    double value = 0;
    if (!number(wrong, text, &value, &unit)) {
        return false;
    }
    if (value < 0) {
        return sim_fail(wrong, "a time below 0: %.60s", text);
    }
    const double factor = strcmp(unit, "ns") == 0       ? 1
                          : strcmp(unit, "us") == 0     ? 1e3
                          : strcmp(unit, "ms") == 0     ? 1e6
                          : strcmp(unit, "c") == 0      ? 1e3 / device->clock_mhz
                          : value == 0 && *unit == '\0' ? 1
                                                        : 0;
    if (factor == 0) {
        return sim_fail(wrong, "a time is in ns, us, ms or c (cycles), not '%.60s'", text);
    }
    *ns = value * factor;
    return *ns <= SIM_TIME_MOST ||
           sim_fail(wrong, "a time is from 0 to " SIM_TIME_TEXT ", not %.60s", text);
}

/* Says that a count is wrong. Always false. */
static bool fail_count(char wrong[SIM_WRONG], const char *text, struct kernel_limits limits)
{
    return sim_fail(wrong, "'%.60s' is not a whole number from %lld to %lld", text,
                    (long long)limits.least, (long long)limits.most);
}

bool sim_read_count(const char *text, struct kernel_limits limits, int64_t *count,
                    char wrong[SIM_WRONG])
{
    return kernel_number(text, limits, count) || fail_count(wrong, text, limits);
}

static bool read_share(char wrong[SIM_WRONG], const char *text, double *share)
{
    const char *unit = NULL;
    return number(wrong, text, share, &unit) &&
           ((*unit == '\0' && *share >= 0 && *share <= 1) ||
            sim_fail(wrong, "'%.60s' is not a number from 0 to 1", text));
}

/* ---- kernels ------------------------------------------------------------------------------------- */

static bool read_trigger(char wrong[SIM_WRONG], const char *text, enum sim_trigger *trigger)
{
    static const char *const names[] = {"main", "start", "never"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, names[i]) == 0) {
            *trigger = (enum sim_trigger)i;
            return true;
        }
    }
    return sim_fail(wrong, "trigger is main, start or never, not '%.60s'", text);
}

/* A word of what its blocks do. */
static bool read_phase(const struct sim_device *device, const char *word, struct sim_kernel *kernel,
                       char wrong[SIM_WRONG])
{
    const struct {
        const char *name;
        double *value;
        bool is_share; /* else a time */
    } values[] = {
        {"prologue", &kernel->prologue, false},
        {"read", &kernel->read, false},
        {"before", &kernel->before, false},
        {"after", &kernel->after, false},
        {"tail", &kernel->tail, false},
        {"issue", &kernel->issue, true},
        {"issue-prologue", &kernel->issue_prologue, true},
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
            return values[i].is_share ? read_share(wrong, text, values[i].value)
                                      : read_time(device, text, values[i].value, wrong);
        }
    }
    const char *const trigger = kernel_value(word, "trigger");
    return trigger != NULL ? read_trigger(wrong, trigger, &kernel->trigger)
                           : sim_fail(wrong, "a kernel has no '%.60s'", word);
}

static bool read_word(const struct sim_device *device, const char *word,
                      struct kernel_resources *resources, struct sim_kernel *kernel,
                      char wrong[SIM_WRONG])
{
    const int64_t most = INT64_C(1) << 31; /* blocks */
    struct kernel_limits limits = {0, 0};
    const enum kernel_word taken = kernel_take(resources, word, &limits);
    limits.most = limits.most < most ? limits.most : most;
    if (taken == KERNEL_WRONG || resources->grid.all > most) {
        return fail_count(wrong, strchr(word, '=') + 1, limits);
    }
    return taken == KERNEL_TAKEN || read_phase(device, word, kernel, wrong);
}

/* What no launch could have is refused: clusters are launched whole. */
static bool check_fits(const struct sim_device *device, const struct sim_kernel *kernel,
                       const struct kernel_resources *resources, char wrong[SIM_WRONG])
{
    static const char *const names[PDL_RESOURCE_COUNT] = {
        [PDL_RESOURCE_WARPS] = "warps",
        [PDL_RESOURCE_REGISTERS] = "registers",
        [PDL_RESOURCE_SHARED_MEMORY] = "bytes of shared memory",
        [PDL_RESOURCE_BLOCKS] = "blocks",
    };
    enum pdl_resource scarce = PDL_RESOURCE_BLOCKS;
    struct sim_needs needs;
    const uint64_t room = (uint64_t)sim_kernel_fits(device, kernel, &scarce) * device->sms;
    sim_kernel_needs(device, kernel, &needs);
    if (room == 0) {
        return sim_fail(
            wrong, "kernel '%.60s' can never run: a block takes %u %s, and an SM of %s has %u",
            kernel->name, needs.each[scarce], names[scarce], device->name, needs.all[scarce]);
    }
    if (!kernel_clusters_divide(&resources->grid, &resources->cluster)) {
        return sim_fail(
            wrong,
            "kernel '%.60s' can never run: its clusters of %u blocks do not divide its %u blocks",
            kernel->name, kernel->cluster, kernel->blocks);
    }
    return kernel->cluster <= room ||
           sim_fail(
               wrong,
               "kernel '%.60s' can never run: a cluster has %u blocks, and %s holds %llu of them",
               kernel->name, kernel->cluster, device->name, (unsigned long long)room);
}

bool sim_read_kernel(const struct sim_device *device, char *const *words, unsigned count,
                     struct sim_kernel *kernel, char wrong[SIM_WRONG])
{
    struct kernel_resources resources = {.registers = 0, .shared = 0, .dynamic = 0};
    *kernel =
        (struct sim_kernel){.name = words[0], .waits = true, .arguments = true, .writes = true};
    for (unsigned i = 1; i < count; i++) {
        if (!read_word(device, words[i], &resources, kernel, wrong)) {
            return false;
        }
    }
    if (resources.grid.axes == 0 || resources.block.axes == 0) {
        return sim_fail(wrong, "kernel '%.60s' needs blocks= and threads=", kernel->name);
    }
    kernel->blocks = (unsigned)resources.grid.all;
    kernel->threads = (unsigned)resources.block.all;
    kernel->cluster = (unsigned)resources.cluster.all;
    kernel->registers = (unsigned)resources.registers;
    kernel->shared = (unsigned)(resources.shared + resources.dynamic);
    return check_fits(device, kernel, &resources, wrong);
}
