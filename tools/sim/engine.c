/* SPDX-License-Identifier: MIT */
/* Runs a program, from one event to the next. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "sim/classes.h"
#include "sim/heap.h"
#include "sim/place.h"

/* A launch while it runs. */
struct running {
    uint32_t waiting_for; /* dependencies that do not let it begin yet */
    uint32_t releases;    /* dependencies that its waits wait for */
    double ready;         /* when it may begin, by those that do */
    double released_at;
    bool released;
    struct sim_unplaced unplaced;
    unsigned triggered, ended, stamped;
    bool triggered_all, completed;
    double reported;                  /* its last trigger or end so far, to the distributor */
    uint32_t completions;             /* programmatic dependencies that have not completed */
    uint64_t seen[SIM_SMS_MOST / 64]; /* SMs that have had a block of it */
    struct sim_dependency *next;      /* launches that depend on it, and how */
    uint32_t next_count;
};

struct engine {
    const struct sim_program *program;
    const struct sim_device *device;
    struct sim_result *result;
    struct sim_classes classes;
    struct sim_placer placer;
    struct sim_heap heap;
    struct running *running;
    struct sim_dependency *successors; /* of all, one after another */
    uint32_t *queue; /* launches with blocks to place, in the order in which they came */
    size_t queue_first, queue_end;
    uint32_t *held; /* launches that may begin, likewise */
    size_t held_first, held_end;
    unsigned begun[SIM_PATHS]; /* and not completed */
    size_t completed;
    double now;
    double reported; /* until when the distributor of blocks is busy with what SMs report */
    struct {
        double at, spread; /* `at` is of the last one */
        double first;      /* when the distributor comes to the first one */
        unsigned blocks;
    } ends; /* of the latest time */
    void (*block)(void *context, const struct sim_block *block);
    void *context;
};

static const struct sim_kernel *kernel_of(const struct engine *engine, uint32_t launch)
{
    return &engine->program->kernels.items[engine->program->launches.items[launch].kernel];
}

static enum sim_path path_of(const struct engine *engine, uint32_t launch)
{
    return engine->program->launches.items[launch].path;
}

static double max(double a, double b)
{
    return a > b ? a : b;
}

/* ---- what depends on a launch -------------------------------------------------------------------- */

/* One dependency fewer is in its way. */
static void let_begin(struct engine *engine, uint32_t launch, double time)
{
    struct running *const running = &engine->running[launch];
    running->ready = max(running->ready, time);
    if (--running->waiting_for == 0) {
        sim_heap_push(&engine->heap, running->ready, SIM_EVENT_LAUNCH, launch, 0);
    }
}

static void let_waits_return(struct engine *engine, uint32_t launch, double time)
{
    struct running *const running = &engine->running[launch];
    running->released_at = max(running->released_at, time);
    if (--running->releases == 0) {
        sim_heap_push(&engine->heap, running->released_at, SIM_EVENT_RELEASE, launch, 0);
    }
}

/* Calls back for each launch that depends on it, with how it does. */
static void for_successors(struct engine *engine, uint32_t launch,
                           void (*act)(struct engine *engine, uint32_t next, bool programmatic))
{
    const struct running *const running = &engine->running[launch];
    for (uint32_t i = 0; i < running->next_count; i++) {
        act(engine, running->next[i].on, running->next[i].programmatic);
    }
}

static void after_triggers(struct engine *engine, uint32_t next, bool programmatic)
{
    if (programmatic) {
        const double known = max(engine->now, engine->reported);
        let_begin(engine, next, known + engine->device->dependent[path_of(engine, next)]);
    }
}

static void try_complete(struct engine *engine, uint32_t launch);

static void after_completion(struct engine *engine, uint32_t next, bool programmatic)
{
    const enum sim_path path = path_of(engine, next);
    if (programmatic) {
        let_waits_return(engine, next, engine->now + engine->device->release[path]);
        engine->running[next].completions--;
        try_complete(engine, next);
    } else {
        let_begin(engine, next, engine->now + engine->device->gap[path]);
    }
}

/* Each block reports its trigger and its end to the distributor, one after another. */
static void report(struct engine *engine, struct running *running, unsigned blocks, double spread)
{
    engine->reported =
        max(engine->reported, engine->now - spread) + engine->device->report * blocks;
    running->reported = max(engine->now, engine->reported);
}

static void count_triggers(struct engine *engine, uint32_t launch, unsigned blocks)
{
    struct running *const running = &engine->running[launch];
    struct sim_outcome *const outcome = &engine->result->outcomes[launch];
    running->triggered += blocks;
    outcome->triggered = engine->now;
    if (running->triggered == kernel_of(engine, launch)->blocks && !running->triggered_all) {
        running->triggered_all = true;
        for_successors(engine, launch, after_triggers);
    }
}

/* When its blocks' ends are known and what they wrote can be seen: in a stream one after the other. */
static double completion_of(const struct engine *engine, uint32_t launch)
{
    const struct sim_device *const device = engine->device;
    const struct sim_kernel *const kernel = kernel_of(engine, launch);
    const double share = fmin(1, (double)kernel->blocks / device->sms);
    const double flush = kernel->writes ? device->flush + device->flush_sms * share : 0;
    const double reported = engine->running[launch].reported;
    return path_of(engine, launch) == SIM_STREAM
               ? reported + flush
               : max(reported, engine->result->outcomes[launch].end + flush);
}

/* It completes after what it depends on, even where it has not waited for it. */
static void try_complete(struct engine *engine, uint32_t launch)
{
    struct running *const running = &engine->running[launch];
    const struct sim_kernel *const kernel = kernel_of(engine, launch);
    if (running->ended == kernel->blocks && running->completions == 0 && !running->completed) {
        running->completed = true;
        sim_heap_push(&engine->heap, max(engine->now, completion_of(engine, launch)),
                      SIM_EVENT_COMPLETE, launch, 0);
    }
}

/* ---- the blocks' steps --------------------------------------------------------------------------- */

static void tell(struct engine *engine, const struct sim_class *class,
                 const struct sim_group *group)
{
    const struct sim_kernel *const kernel = kernel_of(engine, group->launch);
    struct running *const running = &engine->running[group->launch];
    for (unsigned i = 0; i < class->count; i++) {
        for (unsigned j = 0; j < group->count; j++) {
            const struct sim_block block = {
                .launch = group->launch,
                .block = running->stamped++,
                .sm = class->sms[i],
                .has_wait = kernel->waits,
                .has_trigger = kernel->trigger != SIM_TRIGGER_NEVER,
                .start = group->start,
                .wait = group->wait,
                .waited = group->waited,
                .triggered = group->triggered,
                .end = engine->now,
            };
            engine->block(engine->context, &block);
        }
    }
}

/* Ends that make room. */
static void note_ends(struct engine *engine, unsigned blocks, double spread)
{
    if (engine->ends.blocks == 0 || engine->ends.at != engine->now) {
        engine->ends.at = engine->now;
        engine->ends.spread = 0;
        engine->ends.first = INFINITY;
        engine->ends.blocks = 0;
    }
    engine->ends.spread = max(engine->ends.spread, spread);
    engine->ends.first =
        fmin(engine->ends.first, max(engine->reported, engine->now - engine->ends.spread));
    engine->ends.blocks += blocks;
}

static void end_blocks(struct engine *engine, const struct sim_class *class,
                       const struct sim_group *group)
{
    struct running *const running = &engine->running[group->launch];
    struct sim_outcome *const outcome = &engine->result->outcomes[group->launch];
    const unsigned blocks = class->count * group->count;
    running->ended += blocks;
    outcome->end = engine->now;
    note_ends(engine, blocks, group->spread);
    report(engine, running, blocks, group->spread);
    if (engine->block != NULL) {
        tell(engine, class, group);
    }
    if (kernel_of(engine, group->launch)->trigger == SIM_TRIGGER_NEVER) {
        count_triggers(engine, group->launch, blocks);
    }
    try_complete(engine, group->launch);
}

/* Sets a group's step, with what it takes. */
static void set_step(struct sim_group *group, enum sim_step step, double takes, double weight,
                     bool stretched)
{
    group->step = step;
    group->remaining = takes;
    group->weight = weight;
    group->stretched = stretched;
}

/* From a step that has ended to the next one. */
static void step(struct engine *engine, const struct sim_class *class, struct sim_group *group)
{
    const struct sim_kernel *const kernel = kernel_of(engine, group->launch);
    struct running *const running = &engine->running[group->launch];
    struct sim_outcome *const outcome = &engine->result->outcomes[group->launch];
    const unsigned blocks = class->count * group->count;
    switch (group->step) {
    case SIM_BEGIN: {
        double prologue = kernel->prologue;
        if (kernel->arguments && group->fresh) {
            prologue = max(prologue, engine->device->arguments);
        }
        if (kernel->trigger == SIM_TRIGGER_START) {
            group->triggered = engine->now;
            report(engine, running, blocks, group->spread);
            count_triggers(engine, group->launch, blocks);
        }
        set_step(group, SIM_PROLOGUE, prologue, kernel->issue_prologue, !kernel->clocked_prologue);
        break;
    }
    case SIM_PROLOGUE:
        group->wait = engine->now;
        outcome->arrived = engine->now;
        set_step(group, SIM_WAIT, kernel->waits && !running->released ? INFINITY : 0, 0, false);
        break;
    case SIM_WAIT:
        group->waited = engine->now;
        outcome->waited = engine->now;
        set_step(group, SIM_READ, kernel->read, 0, false);
        break;
    case SIM_READ:
        set_step(group, SIM_BEFORE, kernel->before, kernel->issue, !kernel->clocked);
        break;
    case SIM_BEFORE:
        if (kernel->trigger == SIM_TRIGGER_MAIN) {
            group->triggered = engine->now;
            report(engine, running, blocks, group->spread);
            count_triggers(engine, group->launch, blocks);
        }
        set_step(group, SIM_AFTER, kernel->after, kernel->issue, !kernel->clocked);
        break;
    case SIM_AFTER:
        set_step(group, SIM_END, kernel->tail + engine->device->block_end, 0, false);
        break;
    default:
        group->step = SIM_ENDED;
        break;
    }
}

static void free_blocks(struct sim_class *class, const struct sim_group *group)
{
    for (int i = 0; i < PDL_RESOURCE_COUNT; i++) {
        class->used[i] -= group->needs->each[i] * group->count;
    }
}

/* Everything on a class that ends now; false where nothing does. */
static bool run_class(struct engine *engine, struct sim_class *class)
{
    bool stepped = false;
    sim_class_advance(class, engine->now);
    for (size_t i = 0; i < class->groups_count;) {
        struct sim_group *const group = &class->groups[i];
        while (group->remaining == 0 && group->step != SIM_ENDED) {
            step(engine, class, group);
            stepped = true;
        }
        if (group->step == SIM_ENDED) {
            end_blocks(engine, class, group);
            free_blocks(class, group);
            sim_class_remove(class, i);
        } else {
            i++;
        }
    }
    class->changed = true;
    return stepped;
}

/* ---- placing ------------------------------------------------------------------------------------- */

/* Whether the launch has had no block on an SM of the class before; it has now. */
static bool first_there(struct running *running, const struct sim_class *class)
{
    bool first = false;
    for (unsigned i = 0; i < class->count; i++) {
        const uint64_t bit = UINT64_C(1) << (class->sms[i] % 64);
        first = first || (running->seen[class->sms[i] / 64] & bit) == 0;
        running->seen[class->sms[i] / 64] |= bit;
    }
    return first;
}

static unsigned blocks_there(const struct sim_class *class, uint32_t launch)
{
    unsigned blocks = 0;
    for (size_t i = 0; i < class->groups_count; i++) {
        blocks += class->groups[i].launch == launch ? class->groups[i].count : 0;
    }
    return blocks;
}

/* What was placed begins. */
static void begin_blocks(struct engine *engine, uint32_t launch, double delay, double spread)
{
    struct running *const running = &engine->running[launch];
    struct sim_outcome *const outcome = &engine->result->outcomes[launch];
    for (unsigned i = 0; i < engine->classes.count; i++) {
        struct sim_class *const class = &engine->classes.items[i];
        if (class->placing == 0) {
            continue;
        }
        sim_class_advance(class, engine->now);
        const struct sim_group group = {
            .launch = launch,
            .needs = &running->unplaced.needs,
            .count = class->placing,
            .step = SIM_BEGIN,
            .fresh = first_there(running, class),
            .remaining = delay + engine->device->block_start,
            .start = engine->now + delay,
            .spread = spread,
        };
        (void)sim_class_add(class, &group);
        class->placing = 0;
        const unsigned blocks = blocks_there(class, launch);
        outcome->busiest = blocks > outcome->busiest ? blocks : outcome->busiest;
    }
}

/* How long it takes until the last of so many blocks begins in the place of others, whose ends came at different
 * times and were reported one after another. */
static double refill(const struct engine *engine, unsigned blocks, double *spread)
{
    const double from = engine->ends.at - engine->ends.spread;
    const double share = fmin(1, (double)blocks / max(1, engine->ends.blocks));
    const double room = max(from + share * engine->ends.spread,
                            engine->ends.first + blocks * engine->device->report);
    *spread = room - from;
    return max(0, room - engine->now + engine->device->refill);
}

/* Places what there is room for; false where blocks are left. */
static bool place(struct engine *engine, uint32_t launch)
{
    struct running *const running = &engine->running[launch];
    const bool first = running->unplaced.blocks == kernel_of(engine, launch)->blocks;
    const bool waited = running->unplaced.waited;
    const unsigned placed = sim_place(&engine->placer, &running->unplaced);
    if (placed > 0) {
        double spread = 0;
        /* The distributor places blocks when it is done with what was reported. */
        const double delay =
            waited ? refill(engine, placed, &spread) : max(0, engine->reported - engine->now);
        if (first) {
            engine->result->outcomes[launch].start = engine->now + delay;
        }
        begin_blocks(engine, launch, delay, spread);
    }
    return running->unplaced.blocks == 0;
}

/* The launches in their order: none before the one that came earlier is placed. */
static void place_all(struct engine *engine)
{
    while (engine->queue_first < engine->queue_end &&
           place(engine, engine->queue[engine->queue_first])) {
        engine->queue_first++;
    }
}

/* ---- events -------------------------------------------------------------------------------------- */

static void release(struct engine *engine, uint32_t launch)
{
    engine->running[launch].released = true;
    for (unsigned i = 0; i < engine->classes.count; i++) {
        struct sim_class *const class = &engine->classes.items[i];
        bool waits = false;
        for (size_t j = 0; j < class->groups_count; j++) {
            struct sim_group *const group = &class->groups[j];
            if (group->launch == launch && group->step == SIM_WAIT) {
                group->remaining = 0;
                waits = true;
            }
        }
        if (waits) {
            (void)run_class(engine, class);
        }
    }
}

/* Lets launches begin in their order, as long as not too many have that have not completed. */
static void admit(struct engine *engine)
{
    while (engine->held_first < engine->held_end) {
        const uint32_t launch = engine->held[engine->held_first];
        const enum sim_path path = path_of(engine, launch);
        if (engine->begun[path] >= engine->device->depth[path]) {
            return;
        }
        engine->begun[path]++;
        engine->held_first++;
        engine->queue[engine->queue_end++] = launch;
    }
}

/* Something ends on a class, unless the event is void. Where nothing does, the same event would come again and
 * again. */
static void end_on_class(struct engine *engine, const struct sim_event *event)
{
    struct sim_class *const class = &engine->classes.items[event->index];
    if (event->index < engine->classes.count && event->generation == class->generation) {
        const bool changed = class->changed; /* by another event of this time */
        if (!run_class(engine, class) && !changed) {
            engine->result->wrong = "the clock does not advance";
        }
    }
}

static void handle(struct engine *engine, const struct sim_event *event)
{
    switch (event->kind) {
    case SIM_EVENT_GROUP:
        end_on_class(engine, event);
        break;
    case SIM_EVENT_LAUNCH:
        engine->held[engine->held_end++] = event->index;
        admit(engine);
        break;
    case SIM_EVENT_RELEASE:
        release(engine, event->index);
        break;
    case SIM_EVENT_COMPLETE:
        engine->result->outcomes[event->index].completed = engine->now;
        engine->completed++;
        engine->begun[path_of(engine, event->index)]--;
        admit(engine);
        for_successors(engine, event->index, after_completion);
        break;
    }
}

/* Tells for each class that changed when something ends there. */
static void plan(struct engine *engine)
{
    sim_classes_join(&engine->classes);
    for (unsigned i = 0; i < engine->classes.count; i++) {
        struct sim_class *const class = &engine->classes.items[i];
        if (class->changed) {
            sim_class_advance(class, engine->now);
            const double next = sim_class_next(class);
            class->generation++;
            class->changed = false;
            if (next < INFINITY) {
                sim_heap_push(&engine->heap, next, SIM_EVENT_GROUP, i, class->generation);
            }
        }
    }
}

static void loop(struct engine *engine)
{
    static const double SAME = 1e-3; /* ns */
    struct sim_event event;
    while (engine->result->wrong == NULL && sim_heap_pop(&engine->heap, &event)) {
        if (!(event.time <= SIM_TIME_MOST)) {
            engine->result->wrong =
                "the launches take longer than " SIM_TIME_TEXT ", the most that is simulated";
            break;
        }
        engine->now = max(engine->now, event.time);
        engine->result->events++;
        handle(engine, &event);
        const struct sim_event *const next = sim_heap_first(&engine->heap);
        if (next == NULL || next->time > engine->now + SAME) {
            place_all(engine);
            plan(engine);
        }
    }
    engine->result->end = engine->now;
    if (engine->result->wrong == NULL && engine->completed < engine->program->launches.count) {
        engine->result->wrong = "a launch never ends, because no SM has room for its blocks";
    }
}

/* ---- from a program to the first event ----------------------------------------------------------- */

static void link_launches(struct engine *engine)
{
    const struct sim_program *const program = engine->program;
    engine->successors = allocate(program->dependencies.count + 1, sizeof(*engine->successors));
    for (size_t i = 0; i < program->dependencies.count; i++) {
        engine->running[program->dependencies.items[i].on].next_count++;
    }
    struct sim_dependency *next = engine->successors;
    for (size_t i = 0; i < program->launches.count; i++) {
        engine->running[i].next = next;
        next += engine->running[i].next_count;
        engine->running[i].next_count = 0;
    }
    for (size_t i = 0; i < program->launches.count; i++) {
        const struct sim_launch *const launch = &program->launches.items[i];
        for (uint32_t j = 0; j < launch->dependencies_count; j++) {
            const struct sim_dependency *const dependency =
                &program->dependencies.items[launch->dependencies + j];
            struct running *const on = &engine->running[dependency->on];
            on->next[on->next_count++] =
                (struct sim_dependency){(uint32_t)i, dependency->programmatic};
            engine->running[i].releases += dependency->programmatic;
            engine->running[i].completions += dependency->programmatic;
        }
    }
}

static void start(struct engine *engine)
{
    const struct sim_program *const program = engine->program;
    for (size_t i = 0; i < program->launches.count; i++) {
        const struct sim_launch *const launch = &program->launches.items[i];
        const struct sim_kernel *const kernel = &program->kernels.items[launch->kernel];
        struct running *const running = &engine->running[i];
        running->unplaced.blocks = kernel->blocks;
        running->waiting_for = launch->dependencies_count + 1; /* and the host */
        running->released = running->releases == 0;
        sim_kernel_needs(engine->device, kernel, &running->unplaced.needs);
    }
    for (size_t i = 0; i < program->launches.count; i++) {
        let_begin(engine, (uint32_t)i, program->launches.items[i].enqueued);
    }
}

bool sim_run(const struct sim_program *program, struct sim_result *result,
             void (*block)(void *context, const struct sim_block *block), void *context)
{
    struct engine engine = {
        .program = program,
        .device = &program->device,
        .result = result,
        .running = allocate(program->launches.count, sizeof(*engine.running)),
        .queue = allocate(program->launches.count, sizeof(*engine.queue)),
        .held = allocate(program->launches.count, sizeof(*engine.held)),
        .block = block,
        .context = context,
    };
    memset(result, 0, sizeof(*result));
    result->outcomes = allocate(program->launches.count, sizeof(*result->outcomes));
    sim_classes_init(&engine.classes, engine.device);
    engine.placer.classes = &engine.classes;
    link_launches(&engine);
    start(&engine);
    loop(&engine);
    sim_classes_free(&engine.classes);
    free(engine.heap.items);
    free(engine.held);
    free(engine.queue);
    free(engine.successors);
    free(engine.running);
    return result->wrong == NULL;
}

void sim_result_free(struct sim_result *result)
{
    free(result->outcomes);
    result->outcomes = NULL;
}
