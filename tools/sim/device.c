/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/description.h"
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
    const char *name;
    size_t at; /* of a double */
    double least, most;
    const char *unit;
} values[] = {
    {"clock", AT(clock_mhz), 1, 1e6, "MHz"},
    {"gap-stream", AT(gap[SIM_STREAM]), 0, 1e9, "ns"},
    {"gap-graph", AT(gap[SIM_GRAPH]), 0, 1e9, "ns"},
    {"dependent-stream", AT(dependent[SIM_STREAM]), 0, 1e9, "ns"},
    {"dependent-graph", AT(dependent[SIM_GRAPH]), 0, 1e9, "ns"},
    {"release-stream", AT(release[SIM_STREAM]), 0, 1e9, "ns"},
    {"release-graph", AT(release[SIM_GRAPH]), 0, 1e9, "ns"},
    {"block-start", AT(block_start), 0, 1e9, "ns"},
    {"block-end", AT(block_end), 0, 1e9, "ns"},
    {"refill", AT(refill), 0, 1e9, "ns"},
    {"report", AT(report), 0, 1e9, "ns"},
    {"arguments", AT(arguments), 0, 1e9, "ns"},
    {"flush", AT(flush), 0, 1e9, "ns"},
    {"flush-sms", AT(flush_sms), 0, 1e9, "ns"},
    {"host-launch", AT(host_launch), 0, 1e9, "ns"},
    {"host-overlap", AT(host_overlap), 0, 1e9, "ns"},
    {"host-graph", AT(host_graph), 0, 1e9, "ns"},
    {"host-node", AT(host_node), 0, 1e9, "ns"},
    {"submit", AT(submit), 0, 1e9, "ns"},
};

/* ---- reading a calibration ----------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t at; /* of an unsigned */
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

/* One line: a name and a value. */
static bool set_value(struct description *description, const struct description_line *line)
{
    struct sim_device *const device = description->self;
    const char *const name = line->words[0];
    if (line->count < 2) {
        return description_fail(description, line, "a value is missing");
    }
    if (strcmp(name, "name") == 0) {
        (void)snprintf(device->name, sizeof(device->name), "%s", line->words[1]);
        return true;
    }
    char *end = NULL;
    errno = 0;
    const double value = strtod(line->words[1], &end);
    if (end == line->words[1] || *end != '\0' || errno != 0 || !isfinite(value) || value < 0) {
        return description_fail(description, line, "the value is not a number of 0 or more");
    }
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        if (strcmp(counts[i].name, name) == 0) {
            if (value < counts[i].least || value > counts[i].most || value != floor(value)) {
                return description_fail(
                    description, line,
                    "the value is out of bounds: %s is a whole number from %u to %u", name,
                    counts[i].least, counts[i].most);
            }
            *(unsigned *)((char *)device + counts[i].at) = (unsigned)value;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        if (strcmp(values[i].name, name) == 0) {
            *(double *)(void *)((char *)device + values[i].at) = value;
            return (value >= values[i].least && value <= values[i].most) ||
                   description_fail(
                       description, line,
                       "the value is out of bounds: %s is from %.0f to %.0f %s, not %g", name,
                       values[i].least, values[i].most, values[i].unit, value);
        }
    }
    return description_fail(description, line, "no such value");
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
    struct description description = {.file = file, .self = &read, .take = set_value};
    const struct description_line whole = {.number = 1};
    if (!description_read(&description, text, size)) {
        return false;
    }
    const char *const missing = check(&read);
    if (missing != NULL) {
        return description_fail(&description, &whole, "%s", missing);
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
