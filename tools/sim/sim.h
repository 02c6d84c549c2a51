/* SPDX-License-Identifier: MIT */
/* The simulator: kernels and launches as they are described, a device as it was measured, and what comes of
 * both. docs/model.md tells the model. Times are nanoseconds. */
#ifndef PDL_TOOLS_SIM_SIM_H
#define PDL_TOOLS_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "overlap/occupancy.h"

/* What a launch goes through. */
enum sim_path { SIM_STREAM, SIM_GRAPH, SIM_PATHS };

enum { SIM_SMS_MOST = 1024 };

/* The longest time, 1000 s: a double still tells a thousandth of a nanosecond there. */
#define SIM_TIME_MOST 1e12
#define SIM_TIME_TEXT "1000 s"

/* A device: its limits, and what was measured. */
struct sim_device {
    char name[32];
    unsigned sms;
    struct pdl_sm sm;
    unsigned depth[SIM_PATHS]; /* launches that have begun and not completed, at most */
    double clock_mhz;
    double gap[SIM_PATHS];       /* a kernel's completion to its successor's first blocks */
    double dependent[SIM_PATHS]; /* the last trigger to the secondary's first blocks */
    double release[SIM_PATHS];   /* the primary's completion to the return of waits */
    double block_start;          /* of every block, before its prologue */
    double block_end;            /* of every block, until its end counts */
    double refill;               /* an end on an SM to the start of the next block there */
    double report;               /* a block's trigger or end, to the distributor of blocks */
    double arguments;            /* a kernel's first block on an SM: until it has its arguments */
    double flush;                /* from the last end to completion, if a block has written */
    double flush_sms;            /* and more, if every SM has */
    double host_launch, host_overlap; /* the host's time for a launch, plain and with PDL */
    double host_graph, host_node;     /* likewise for a graph, and for each of its nodes */
    double submit;                    /* from the end of that to the device's start */
};

enum sim_trigger { SIM_TRIGGER_MAIN, SIM_TRIGGER_START, SIM_TRIGGER_NEVER };

/* A kernel: what each of its blocks needs and does. */
struct sim_kernel {
    char *name;
    unsigned line; /* of the description */
    unsigned blocks, threads, registers, shared;
    unsigned cluster;     /* blocks that start together; 0 or 1: none */
    double prologue;      /* before the wait */
    double read;          /* after the wait, until what it reads first has come */
    double before, after; /* from there to the trigger, and from there to the end */
    double tail;          /* after that, and never stretched */
    bool waits;
    bool arguments; /* it cannot begin without its arguments */
    bool writes;    /* each block does, at its end */
    enum sim_trigger trigger;
    double issue, issue_prologue; /* share of an SM's issue slots that a block of it takes alone */
    bool clocked, clocked_prologue; /* takes as long by the clock, whatever else runs there */
};

struct sim_dependency {
    uint32_t on; /* a launch */
    bool programmatic;
};

struct sim_launch {
    uint32_t kernel;
    uint32_t track; /* the stream's or graph's name */
    enum sim_path path;
    double enqueued;                           /* when the device may know of it at the earliest */
    uint32_t dependencies, dependencies_count; /* index of the first in the program's list */
};

struct sim_program {
    struct sim_device device;
    struct {
        struct sim_kernel *items;
        size_t count, capacity;
    } kernels;
    struct {
        struct sim_launch *items;
        size_t count, capacity;
    } launches;
    struct {
        struct sim_dependency *items;
        size_t count, capacity;
    } dependencies;
    struct {
        char **items;
        size_t count, capacity;
    } tracks;
};

void sim_program_free(struct sim_program *program);

/* ---- device.c: devices as text ------------------------------------------------------------------ */

/* The device of a name that this program brings along; false where there is none. */
bool sim_device_known(struct sim_device *device, const char *name);
/* Reads a calibration's text. False with a line on standard error, which begins with the file's name. */
bool sim_device_read(struct sim_device *device, const char *text, size_t size, const char *file);

/* What a block of a kernel takes, and what an SM has of it. */
struct sim_needs {
    uint32_t each[PDL_RESOURCE_COUNT];
    uint32_t all[PDL_RESOURCE_COUNT];
    uint32_t warp_registers;
};
void sim_kernel_needs(const struct sim_device *device, const struct sim_kernel *kernel,
                      struct sim_needs *needs);
/* How many blocks of it fit on an SM, and what runs out first. */
uint32_t sim_kernel_fits(const struct sim_device *device, const struct sim_kernel *kernel,
                         enum pdl_resource *scarce);

/* ---- read.c: descriptions ----------------------------------------------------------------------- */

/* Reads a description, for the program's device unless it names one itself. False with a line on standard
 * error: FILE:LINE: what is wrong. */
bool sim_read(struct sim_program *program, const char *text, size_t size, const char *file);
/* A program without kernels and launches, for a device. */
void sim_program_init(struct sim_program *program, const struct sim_device *device);

/* ---- engine.c ------------------------------------------------------------------------------------ */

/* What became of a launch. */
struct sim_outcome {
    double start;     /* of its first block */
    double arrived;   /* the last block at its wait */
    double waited;    /* the last return from a wait */
    double triggered; /* the last trigger; of a kernel without one, the last end */
    double end;       /* of its last block */
    double completed;
    unsigned busiest; /* blocks on the SM with most of them at a time */
};

/* A block's stamps. */
struct sim_block {
    uint32_t launch, block, sm;
    bool has_wait, has_trigger;
    double start, wait, waited, triggered, end;
};

struct sim_result {
    struct sim_outcome *outcomes; /* one a launch */
    double end;                   /* the last completion */
    uint64_t events;              /* that were processed */
    const char *wrong;            /* why it did not come to its end; NULL where it did */
};

/* Runs it. `block` is told of each block at its end, unless it is NULL. False where it does not come to its end;
 * the caller frees the result in any case. */
bool sim_run(const struct sim_program *program, struct sim_result *result,
             void (*block)(void *context, const struct sim_block *block), void *context);
void sim_result_free(struct sim_result *result);

#endif /* PDL_TOOLS_SIM_SIM_H */
