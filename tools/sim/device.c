/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "sim/sim.h"

const char *const sim_resource_names[SIM_RESOURCES] = {
    [SIM_BLOCKS] = "blocks",
    [SIM_THREADS] = "threads",
    [SIM_REGISTERS] = "registers",
    [SIM_SHARED] = "shared memory",
};

/* What pdl_embed() makes of h200.cal. */
extern const char pdl_sim_h200[];
extern const char pdl_sim_h200_end[];

bool sim_device_known(struct sim_device *device, const char *name)
{
    const uintptr_t size = (uintptr_t)pdl_sim_h200_end - (uintptr_t)pdl_sim_h200;
    return strcmp(name, "h200") == 0 && sim_device_read(device, pdl_sim_h200, size, "h200.cal");
}

void sim_device_values(struct sim_device *device, struct sim_device_value values[SIM_DEVICE_VALUES])
{
    const struct sim_device_value all[SIM_DEVICE_VALUES] = {
        {"clock", "MHz", "the SMs' clock", &device->clock_mhz},
        {"gap-stream", "ns", "completion to the next kernel's first blocks, in a stream",
         &device->gap[SIM_STREAM]},
        {"gap-graph", "ns", "the same along a full edge of a graph", &device->gap[SIM_GRAPH]},
        {"dependent-stream", "ns", "last trigger to the secondary's first blocks, in a stream",
         &device->dependent[SIM_STREAM]},
        {"dependent-graph", "ns", "the same along a programmatic edge",
         &device->dependent[SIM_GRAPH]},
        {"release-stream", "ns", "the primary's completion to the waits' return, in a stream",
         &device->release[SIM_STREAM]},
        {"release-graph", "ns", "the same along a programmatic edge", &device->release[SIM_GRAPH]},
        {"block-start", "ns", "of each block before its prologue", &device->block_start},
        {"block-end", "ns", "of each block after its last phase", &device->block_end},
        {"refill", "ns", "a block's end to the start of the next one in its place",
         &device->refill},
        {"placing", "ns", "for each block that a launch places at once", &device->placing},
        {"arguments", "ns", "until a kernel's first block on an SM has its arguments",
         &device->arguments},
        {"flush", "ns", "last end to completion, where each SM has written", &device->flush},
        {"host-launch", "ns", "the host's time for a launch", &device->host_launch},
        {"host-overlap", "ns", "the same with PDL", &device->host_overlap},
        {"host-graph", "ns", "the host's time for the launch of a graph", &device->host_graph},
        {"host-node", "ns", "in it, for each kernel", &device->host_node},
        {"submit", "ns", "end of the host's call to the device's start", &device->submit},
        {"bench-read", "ns", "the bench's kernels: what they read after the wait",
         &device->bench.read},
        {"bench-additions", "cycles", "the bench's kernels: for a cycle's worth of additions",
         &device->bench.additions},
        {"bench-tail", "ns", "the bench's kernels: checking the sums", &device->bench.tail},
        {"bench-weight", "blocks", "the bench's kernels: what counting takes from adding",
         &device->bench.weight},
    };
    memcpy(values, all, sizeof(all));
}

/* ---- reading a calibration ----------------------------------------------------------------------- */

struct counts {
    const char *name;
    unsigned *value;
    unsigned least, most;
};
enum { COUNTS = 8 };

static void counts_of(struct sim_device *device, struct counts counts[COUNTS])
{
    const struct counts all[COUNTS] = {
        {"sms", &device->sms, 1, SIM_SMS_MOST},
        {"sm-blocks", &device->limits[SIM_BLOCKS], 1, 1024},
        {"sm-threads", &device->limits[SIM_THREADS], 1, 1 << 20},
        {"sm-registers", &device->limits[SIM_REGISTERS], 1, 1 << 24},
        {"sm-shared", &device->limits[SIM_SHARED], 1, 1 << 28},
        {"depth-stream", &device->depth[SIM_STREAM], 1, 1 << 30},
        {"depth-graph", &device->depth[SIM_GRAPH], 1, 1 << 30},
        {"block-shared", &device->shared_reserved, 0, 1 << 20},
    };
    memcpy(counts, all, sizeof(all));
}

/* One line: a name and a value. What is wrong with it, or NULL. */
static const char *set_value(struct sim_device *device, const char *name, const char *text)
{
    struct counts counts[COUNTS];
    struct sim_device_value values[SIM_DEVICE_VALUES];
    counts_of(device, counts);
    sim_device_values(device, values);
    if (strcmp(name, "name") == 0) {
        (void)snprintf(device->name, sizeof(device->name), "%s", text);
        return NULL;
    }
    char *end = NULL;
    errno = 0;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0 || !isfinite(value) || value < 0) {
        return "the value is no number of 0 or more";
    }
    for (size_t i = 0; i < COUNTS; i++) {
        if (strcmp(counts[i].name, name) == 0) {
            if (value < counts[i].least || value > counts[i].most || value != floor(value)) {
                return "the value is out of bounds";
            }
            *counts[i].value = (unsigned)value;
            return NULL;
        }
    }
    for (size_t i = 0; i < SIM_DEVICE_VALUES; i++) {
        if (strcmp(values[i].name, name) == 0) {
            *values[i].value = value;
            return NULL;
        }
    }
    return "no such value";
}

static const char *check(const struct sim_device *device)
{
    for (int i = 0; i < SIM_RESOURCES; i++) {
        if (device->limits[i] == 0) {
            return "a limit of an SM is missing";
        }
    }
    return device->sms == 0         ? "the number of SMs is missing"
           : device->clock_mhz <= 0 ? "the clock is missing"
                                    : NULL;
}

bool sim_device_read(struct sim_device *device, const char *text, size_t size, const char *file)
{
    struct sim_device read = {.name = "device"};
    char *const copy = allocate(size + 1, 1);
    memcpy(copy, text, size);
    const char *wrong = NULL;
    unsigned number = 0;
    char *rest = copy;
    for (char *line; wrong == NULL && (line = strsep(&rest, "\n")) != NULL;) {
        number++;
        line[strcspn(line, "#\r")] = '\0';
        char *words = NULL;
        const char *const name = strtok_r(line, " \t", &words);
        const char *const value = name != NULL ? strtok_r(NULL, " \t", &words) : NULL;
        if (name != NULL) {
            wrong = value == NULL ? "a value is missing" : set_value(&read, name, value);
        }
    }
    wrong = wrong != NULL ? wrong : check(&read);
    free(copy);
    if (wrong != NULL) {
        (void)fprintf(stderr, "%s:%u: %s\n", file, number, wrong);
        return false;
    }
    *device = read;
    return true;
}

/* ---- what a block takes -------------------------------------------------------------------------- */

static unsigned round_up(unsigned value, unsigned to)
{
    return (value + to - 1) / to * to;
}

void sim_kernel_needs(const struct sim_device *device, const struct sim_kernel *kernel,
                      unsigned needs[SIM_RESOURCES])
{
    enum { WARP = 32, WARP_REGISTERS = 256, SHARED = 128 };
    const unsigned warps = (kernel->threads + WARP - 1) / WARP;
    needs[SIM_BLOCKS] = 1;
    needs[SIM_THREADS] = warps * WARP;
    /* An SM has four parts, each with a quarter of the registers. */
    needs[SIM_REGISTERS] =
        kernel->registers == 0
            ? 0
            : round_up(warps, 4) * round_up(kernel->registers * WARP, WARP_REGISTERS);
    needs[SIM_SHARED] = round_up(kernel->shared, SHARED) + device->shared_reserved;
}

unsigned sim_kernel_fits(const struct sim_device *device, const struct sim_kernel *kernel,
                         enum sim_resource *scarce)
{
    unsigned needs[SIM_RESOURCES];
    unsigned fits = ~0u;
    sim_kernel_needs(device, kernel, needs);
    for (int i = 0; i < SIM_RESOURCES; i++) {
        const unsigned here = needs[i] > 0 ? device->limits[i] / needs[i] : ~0u;
        if (here < fits) {
            fits = here;
            *scarce = (enum sim_resource)i;
        }
    }
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
