/* SPDX-License-Identifier: MIT */
#include "sim/read.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/size_text.h"

/* A number with a unit: what follows the number is left in *unit. */
static bool number(char wrong[SIM_WRONG], const char *text, double *value, const char **unit)
{
    char *end = NULL;
    errno = 0;
    *value = strtod(text, &end);
    *unit = end;
    if (end == text || errno != 0 || !isfinite(*value)) {
        return sim_fail(wrong, "'%.60s' is not a number", text);
    }
    return true;
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

bool sim_read_count(const char *text, unsigned least, unsigned most, unsigned *count,
                    char wrong[SIM_WRONG])
{
    uint64_t value = 0;
    if (!pdl_size_parse(text, most, &value) || value < least) {
        return sim_fail(wrong, "'%.60s' is not a whole number from %u to %u", text, least, most);
    }
    *count = (unsigned)value;
    return true;
}

static bool read_share(char wrong[SIM_WRONG], const char *text, double *share)
{
    const char *unit = NULL;
    if (!number(wrong, text, share, &unit)) {
        return false;
    }
    return (*unit == '\0' && *share >= 0 && *share <= 1) ||
           sim_fail(wrong, "'%.60s' is not a number from 0 to 1", text);
}

const char *sim_value_of(const char *word, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(word, name, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
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

/* A word with a value. */
static bool kernel_value(const struct sim_device *device, const char *word,
                         struct sim_kernel *kernel, char wrong[SIM_WRONG])
{
    const struct {
        const char *name;
        double *ns;
    } times[] = {{"prologue", &kernel->prologue},
                 {"read", &kernel->read},
                 {"before", &kernel->before},
                 {"after", &kernel->after},
                 {"tail", &kernel->tail}};
    const struct {
        const char *name;
        unsigned *value, least, most;
    } counts[] = {{"blocks", &kernel->blocks, 1, 1U << 31},
                  {"threads", &kernel->threads, 1, 1024},
                  {"registers", &kernel->registers, 0, 255},
                  {"shared", &kernel->shared, 0, 1U << 28},
                  {"cluster", &kernel->cluster, 1, 1024}};
    const char *value = NULL;
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        if ((value = sim_value_of(word, times[i].name)) != NULL) {
            return read_time(device, value, times[i].ns, wrong);
        }
    }
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        if ((value = sim_value_of(word, counts[i].name)) != NULL) {
            return sim_read_count(value, counts[i].least, counts[i].most, counts[i].value, wrong);
        }
    }
    if ((value = sim_value_of(word, "trigger")) != NULL) {
        return read_trigger(wrong, value, &kernel->trigger);
    }
    if ((value = sim_value_of(word, "issue")) != NULL) {
        return read_share(wrong, value, &kernel->issue);
    }
    if ((value = sim_value_of(word, "issue-prologue")) != NULL) {
        return read_share(wrong, value, &kernel->issue_prologue);
    }
    return sim_fail(wrong, "a kernel has no '%.60s'", word);
}

static bool kernel_word(const struct sim_device *device, const char *word,
                        struct sim_kernel *kernel, char wrong[SIM_WRONG])
{
    const struct {
        const char *name;
        bool *flag, value;
    } flags[] = {
        {"wait", &kernel->waits, true},       {"nowait", &kernel->waits, false},
        {"clocked", &kernel->clocked, true},  {"clocked-prologue", &kernel->clocked_prologue, true},
        {"nowrites", &kernel->writes, false}, {"noarguments", &kernel->arguments, false}};
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
        if (strcmp(word, flags[i].name) == 0) {
            *flags[i].flag = flags[i].value;
            return true;
        }
    }
    return kernel_value(device, word, kernel, wrong);
}

/* Clusters are launched whole, so that those which no launch could have are refused. */
static bool check_cluster(const struct sim_device *device, const struct sim_kernel *kernel,
                          char wrong[SIM_WRONG])
{
    enum pdl_resource scarce;
    if (kernel->cluster <= 1) {
        return true;
    }
    if (kernel->blocks % kernel->cluster != 0) {
        return sim_fail(
            wrong,
            "kernel '%.60s' can never run: its clusters of %u blocks do not divide its %u blocks",
            kernel->name, kernel->cluster, kernel->blocks);
    }
    const uint64_t room = (uint64_t)sim_kernel_fits(device, kernel, &scarce) * device->sms;
    return kernel->cluster <= room ||
           sim_fail(
               wrong,
               "kernel '%.60s' can never run: a cluster has %u blocks, and %s holds %llu of them",
               kernel->name, kernel->cluster, device->name, (unsigned long long)room);
}

static bool check_fits(const struct sim_device *device, const struct sim_kernel *kernel,
                       char wrong[SIM_WRONG])
{
    static const char *const names[PDL_RESOURCE_COUNT] = {
        [PDL_RESOURCE_WARPS] = "warps",
        [PDL_RESOURCE_REGISTERS] = "registers",
        [PDL_RESOURCE_SHARED_MEMORY] = "bytes of shared memory",
        [PDL_RESOURCE_BLOCKS] = "blocks",
    };
    enum pdl_resource scarce = PDL_RESOURCE_BLOCKS;
    struct sim_needs needs;
    if (sim_kernel_fits(device, kernel, &scarce) > 0) {
        return true;
    }
    sim_kernel_needs(device, kernel, &needs);
    return sim_fail(
        wrong, "kernel '%.60s' can never run: a block takes %u %s, and an SM of %s has %u",
        kernel->name, needs.each[scarce], names[scarce], device->name, needs.all[scarce]);
}

bool sim_read_kernel(const struct sim_device *device, char *const *words, unsigned count,
                     struct sim_kernel *kernel, char wrong[SIM_WRONG])
{
    *kernel =
        (struct sim_kernel){.name = words[0], .waits = true, .arguments = true, .writes = true};
    for (unsigned i = 1; i < count; i++) {
        if (!kernel_word(device, words[i], kernel, wrong)) {
            return false;
        }
    }
    if (kernel->blocks == 0 || kernel->threads == 0) {
        return sim_fail(wrong, "kernel '%.60s' needs blocks= and threads=", kernel->name);
    }
    return check_fits(device, kernel, wrong) && check_cluster(device, kernel, wrong);
}
