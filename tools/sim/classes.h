/* SPDX-License-Identifier: MIT */
/* The SMs, in classes of those on which the same happens: a wave of a thousand blocks is a few events. */
#ifndef PDL_TOOLS_SIM_CLASSES_H
#define PDL_TOOLS_SIM_CLASSES_H

#include "sim/sim.h"

/* What a block does, one after another. */
enum sim_step {
    SIM_BEGIN,
    SIM_PROLOGUE,
    SIM_WAIT,
    SIM_READ,
    SIM_BEFORE,
    SIM_AFTER,
    SIM_END,
    SIM_ENDED,
};

/* Blocks of a launch that came to an SM together. */
struct sim_group {
    uint32_t launch;
    const struct sim_needs *needs;
    unsigned count; /* on each SM of the class */
    enum sim_step step;
    bool fresh;       /* the launch's first there */
    double remaining; /* of the step, at full speed */
    double weight;    /* of the step: the SM's issue slots that it takes */
    bool stretched;   /* takes longer where they are all taken */
    double start, wait, waited, triggered;
    double spread; /* over which they began, up to `start` */
};

struct sim_class {
    uint16_t *sms; /* in any order */
    unsigned count;
    uint64_t round; /* of placing, in which these were given blocks last */
    struct sim_group *groups;
    size_t groups_count, groups_capacity;
    uint32_t used[PDL_RESOURCE_COUNT];
    double at; /* the groups' `remaining` is of then */
    double rate;
    uint32_t generation;
    unsigned placing; /* blocks that are being placed */
    bool changed;     /* what ran there changed: to be planned, and compared with others */
};

struct sim_classes {
    const struct sim_device *device;
    struct sim_class *items; /* as many as there are SMs; those in use come first */
    unsigned count;
};

void sim_classes_init(struct sim_classes *classes, const struct sim_device *device);
void sim_classes_free(struct sim_classes *classes);

/* Blocks with these needs that an SM of the class has room for. Those that are being placed are of the same
 * kernel. */
unsigned sim_class_room(const struct sim_class *class, const struct sim_needs *needs);

/* Moves the groups to a time. */
void sim_class_advance(struct sim_class *class, double time);
/* When something there ends, if nothing else happens; sets the speed. Infinity: never. */
double sim_class_next(struct sim_class *class);

struct sim_group *sim_class_add(struct sim_class *class, const struct sim_group *group);
void sim_class_remove(struct sim_class *class, size_t index);

/* Makes a class of those SMs of one for which chosen[sm] is `value`: one at least, and not all. Returns its
 * index. */
unsigned sim_class_choose(struct sim_classes *classes, unsigned index,
                          const uint16_t chosen[SIM_SMS_MOST], unsigned value);
/* Joins every class that changed with one on which the same happens. */
void sim_classes_join(struct sim_classes *classes);

#endif /* PDL_TOOLS_SIM_CLASSES_H */
