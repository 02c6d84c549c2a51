/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/print.h"
#include "sim/sim.h"

/* What pdl_embed() makes of h200.cal. */
extern const char pdl_sim_h200[];
extern const char pdl_sim_h200_end[];

bool sim_device_known(struct sim_device *device, const char *name)
{
    const uintptr_t size = (uintptr_t)pdl_sim_h200_end - (uintptr_t)pdl_sim_h200;
    return strcmp(name, "h200") == 0 && sim_device_read(device, pdl_sim_h200, size, "h200.cal");
}

#define AT(member) offsetof(struct sim_device, member)
static const struct {
    const char *name, *unit, *meaning;
    size_t at;
} rows[SIM_DEVICE_VALUES] = {
    {"clock", "MHz", "the SMs' clock", AT(clock_mhz)},
    {"gap-stream", "ns", "completion to the next kernel's first blocks, in a stream",
     AT(gap[SIM_STREAM])},
    {"gap-graph", "ns", "the same along a full edge of a graph", AT(gap[SIM_GRAPH])},
    {"dependent-stream", "ns", "last trigger to the secondary's first blocks, in a stream",
     AT(dependent[SIM_STREAM])},
    {"dependent-graph", "ns", "the same along a programmatic edge", AT(dependent[SIM_GRAPH])},
    {"release-stream", "ns", "the primary's completion to the waits' return, in a stream",
     AT(release[SIM_STREAM])},
    {"release-graph", "ns", "the same along a programmatic edge", AT(release[SIM_GRAPH])},
    {"block-start", "ns", "of each block before its prologue", AT(block_start)},
    {"block-end", "ns", "of each block after its last phase", AT(block_end)},
    {"refill", "ns", "a block's end to the start of the next one in its place", AT(refill)},
    {"report", "ns", "for the report of a block's trigger, and of its end", AT(report)},
    {"arguments", "ns", "until a kernel's first block on an SM has its arguments", AT(arguments)},
    {"flush", "ns", "last end to completion, if a block has written", AT(flush)},
    {"flush-sms", "ns", "added to it if every SM has", AT(flush_sms)},
    {"host-launch", "ns", "the host's time for a launch", AT(host_launch)},
    {"host-overlap", "ns", "the same with PDL", AT(host_overlap)},
    {"host-graph", "ns", "the host's time for the launch of a graph", AT(host_graph)},
    {"host-node", "ns", "in it, for each kernel", AT(host_node)},
    {"submit", "ns", "end of the host's call to the device's start", AT(submit)},
    {"bench-read", "ns", "the bench's kernels: what they read after the wait", AT(bench.read)},
    {"bench-additions", "cycles", "the bench's kernels: for a cycle's worth of additions",
     AT(bench.additions)},
    {"bench-tail", "ns", "the bench's kernels: checking the sums", AT(bench.tail)},
    {"bench-weight", "blocks", "the bench's kernels: what counting takes from adding",
     AT(bench.weight)},
};

void sim_device_values(struct sim_device *device, struct sim_device_value values[SIM_DEVICE_VALUES])
{
    for (size_t i = 0; i < SIM_DEVICE_VALUES; i++) {
        const bool is_clock = strcmp(rows[i].unit, "MHz") == 0;
        const bool is_time = strcmp(rows[i].unit, "ns") == 0;
        values[i] =
            (struct sim_device_value){.name = rows[i].name,
                                      .unit = rows[i].unit,
                                      .meaning = rows[i].meaning,
                                      .value = (double *)(void *)((char *)device + rows[i].at),
                                      .least = is_clock ? 1 : 0,
                                      .most = is_time ? 1e9 : 1e6};
    }
}

/* ---- reading a calibration ----------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t at;
    unsigned least, most;
} counts[] = {
    {"sms", AT(sms), 1, SIM_SMS_MOST},
    {"sm-blocks", AT(sm.blocks), 1, 1024},
    {"sm-threads", AT(sm.threads), 1, 1 << 20},
    {"sm-registers", AT(sm.registers), 1, 1 << 24},
    {"sm-shared", AT(sm.shared_memory), 1, 1 << 28},
    {"depth-stream", AT(depth[SIM_STREAM]), 1, 1 << 30},
    {"depth-graph", AT(depth[SIM_GRAPH]), 1, 1 << 30},
    {"block-shared", AT(sm.reserved_shared_memory), 0, 1 << 20},
};

bool sim_fail(char wrong[SIM_WRONG], const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)vsnprintf(wrong, SIM_WRONG, format, list);
    va_end(list);
    return false;
}

/* One line: a name and a value. */
static bool set_value(struct sim_device *device, const char *name, const char *text,
                      char wrong[SIM_WRONG])
{
    struct sim_device_value values[SIM_DEVICE_VALUES];
    sim_device_values(device, values);
    if (strcmp(name, "name") == 0) {
        (void)snprintf(device->name, sizeof(device->name), "%s", text);
        return true;
    }
    char *end = NULL;
    errno = 0;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0 || !isfinite(value) || value < 0) {
        return sim_fail(wrong, "the value is not a number of 0 or more");
    }
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        if (strcmp(counts[i].name, name) == 0) {
            if (value < counts[i].least || value > counts[i].most || value != floor(value)) {
                return sim_fail(wrong,
                                "the value is out of bounds: %s is a whole number from %u to %u",
                                name, counts[i].least, counts[i].most);
            }
            *(unsigned *)((char *)device + counts[i].at) = (unsigned)value;
            return true;
        }
    }
    for (size_t i = 0; i < SIM_DEVICE_VALUES; i++) {
        if (strcmp(values[i].name, name) == 0) {
            *values[i].value = value;
            return sim_device_check(&values[i], wrong);
        }
    }
    return sim_fail(wrong, "no such value");
}

bool sim_device_check(const struct sim_device_value *value, char wrong[SIM_WRONG])
{
    return (*value->value >= value->least && *value->value <= value->most) ||
           sim_fail(wrong, "the value is out of bounds: %s is from %.0f to %.0f %s, not %g",
                    value->name, value->least, value->most, value->unit, *value->value);
}

static const char *check(const struct sim_device *device)
{
    const struct pdl_sm *const sm = &device->sm;
    return sm->blocks == 0 || sm->threads == 0 || sm->registers == 0 || sm->shared_memory == 0
               ? "a limit of an SM is missing"
           : sm->reserved_shared_memory >= sm->shared_memory ? "block-shared is all of sm-shared"
           : device->sms == 0                                ? "the number of SMs is missing"
           : device->clock_mhz <= 0                          ? "the clock is missing"
                                                             : NULL;
}

bool sim_device_read(struct sim_device *device, const char *text, size_t size, const char *file)
{
    struct sim_device read = {.name = "device", .sm = {.warp_size = 32, .threads_per_block = 1024}};
    char *const copy = allocate(size + 1, 1);
    memcpy(copy, text, size);
    char wrong[SIM_WRONG] = "";
    bool right = true;
    unsigned number = 0;
    char *rest = copy;
    for (char *line; right && (line = strsep(&rest, "\n")) != NULL;) {
        number++;
        line[strcspn(line, "#\r")] = '\0';
        char *words = NULL;
        const char *const name = strtok_r(line, " \t", &words);
        const char *const value = name != NULL ? strtok_r(NULL, " \t", &words) : NULL;
        if (name != NULL) {
            right = value == NULL ? sim_fail(wrong, "a value is missing")
                                  : set_value(&read, name, value, wrong);
        }
    }
    const char *const missing = right ? check(&read) : NULL;
    free(copy);
    if (!right || missing != NULL) {
        print_line(stderr, "%s:%u: error: %s", file, number, right ? missing : wrong);
        return false;
    }
    read.sm.shared_memory_per_block = read.sm.shared_memory - read.sm.reserved_shared_memory;
    *device = read;
    return true;
}

/* ---- what a block takes -------------------------------------------------------------------------- */

static struct pdl_block block_of(const struct sim_kernel *kernel)
{
    return (struct pdl_block){.threads = kernel->threads,
                              .registers = kernel->registers,
                              .shared_memory = kernel->shared,
                              .carveout = -1};
}

void sim_kernel_needs(const struct sim_device *device, const struct sim_kernel *kernel,
                      struct sim_needs *needs)
{
    const struct pdl_sm *const sm = &device->sm;
    const struct pdl_block block = block_of(kernel);
    *needs = (struct sim_needs){
        .each = {[PDL_RESOURCE_WARPS] = pdl_block_warps(sm, &block),
                 [PDL_RESOURCE_REGISTERS] = pdl_block_registers(sm, &block),
                 [PDL_RESOURCE_SHARED_MEMORY] = pdl_block_shared(sm, &block),
                 [PDL_RESOURCE_BLOCKS] = 1},
        .all = {[PDL_RESOURCE_WARPS] = sm->threads / sm->warp_size,
                [PDL_RESOURCE_REGISTERS] = sm->registers,
                [PDL_RESOURCE_SHARED_MEMORY] = sm->shared_memory,
                [PDL_RESOURCE_BLOCKS] = sm->blocks},
        .warp_registers = pdl_warp_registers(sm, &block),
    };
}

uint32_t sim_kernel_fits(const struct sim_device *device, const struct sim_kernel *kernel,
                         enum pdl_resource *scarce)
{
    uint32_t each[PDL_RESOURCE_COUNT];
    const struct pdl_block block = block_of(kernel);
    const uint32_t fits = pdl_occupancy_alone(&device->sm, &block, each);
    *scarce = pdl_occupancy_limiter(each);
    return fits;
}

void sim_program_init(struct sim_program *program, const struct sim_device *device)
{
    memset(program, 0, sizeof(*program));
    program->device = *device;
}

void sim_program_free(struct sim_program *program)
{
    for (size_t i = 0; i < program->kernels.count; i++) {
        free(program->kernels.items[i].name);
    }
    for (size_t i = 0; i < program->tracks.count; i++) {
        free(program->tracks.items[i]);
    }
    free(program->kernels.items);
    free(program->launches.items);
    free(program->dependencies.items);
    free(program->tracks.items);
    memset(program, 0, sizeof(*program));
}
