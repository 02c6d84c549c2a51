/* SPDX-License-Identifier: MIT */
/* What is in front of what in streams, and what is between. See join.c for what a queue is. */
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "watch/store.h"

enum { LEGACY_STREAM = 1, THREAD_STREAM = 2 };

/* Something in a queue: a call, or a run or the launch of a graph of which no call was recorded. */
struct item {
    uint64_t time_ns;
    uint32_t call;
    uint32_t run, group;
    uint32_t queue;
};

/* The end of a queue. */
struct tail {
    uint32_t kernel, transfer; /* the last runs */
    uint32_t event;            /* the run that the event was recorded behind that is waited for */
    uint32_t between;          /* since the last kernel */
};

/* Where an event was recorded last. */
struct recorded {
    uint32_t queue, run;
    bool eager;
};

struct queues {
    struct watch *watch;
    const bool *has_times;
    struct ids handles; /* streams by handle, of a time */
    struct ids owners;
    struct ids ids; /* queues by CUPTI's ids of context and stream */
    uint32_t handle_count, count;
    WATCH_LIST(struct item) items;
    struct tail *tails;
    struct ids events;
    WATCH_LIST(struct recorded) recorded;
    uint32_t *event_call; /* of a process, the last launch with a programmatic event */
};

/* ---- which queue a call is of ----------------------------------------------------------------- */

static uint32_t handle_of(struct queues *queues, const struct store_call *call)
{
    uint32_t owner = call->process;
    if (call->stream <= THREAD_STREAM) { /* one in each context, or of each thread in it */
        const uint32_t thread = call->stream == THREAD_STREAM ? call->thread : 0;
        uint32_t *const place =
            ids_put(&queues->owners, (uint64_t)call->context << 32 | thread, call->process);
        if (*place == WATCH_NONE) {
            *place = (uint32_t)queues->owners.count;
        }
        owner = *place;
    }
    uint32_t *const place = ids_put(&queues->handles, call->stream, owner);
    if (*place == WATCH_NONE) {
        *place = queues->handle_count++;
    }
    return *place;
}

static uint32_t queue_of_run(struct queues *queues, uint32_t run)
{
    const struct store_run *const more = &queues->watch->store->runs.items[run];
    uint32_t *const place = ids_put(&queues->ids, (uint64_t)more->context << 32 | more->stream,
                                    queues->watch->runs.items[run].process);
    if (*place == WATCH_NONE) {
        *place = queues->count++;
    }
    return *place;
}

/* Whether CUPTI tells the stream that a call is about. */
static bool tells_stream(const struct queues *queues, const struct store_call *call)
{
    return call->what != PDL_WATCH_GRAPH_LAUNCH && call->run != WATCH_NONE &&
           queues->has_times[call->process];
}

/* A call that no run tells the stream of belongs to the next call of the same handle of which one does, else to the
 * one before: what is behind the last run of a stream is in front of nothing there. */
static void find_queues(struct queues *queues)
{
    struct watch_store *const store = queues->watch->store;
    const size_t count = store->calls.count;
    uint32_t *const handles = allocate(count, sizeof(*handles));
    for (size_t i = 0; i < count; i++) {
        handles[i] = handle_of(queues, &store->calls.items[i]);
    }
    uint32_t *const next = allocate(queues->handle_count, sizeof(*next));
    memset(next, 0xff, queues->handle_count * sizeof(*next));
    for (size_t i = count; i > 0; i--) {
        struct store_call *const call = &store->calls.items[i - 1];
        if (tells_stream(queues, call)) {
            next[handles[i - 1]] = queue_of_run(queues, call->run);
        }
        call->queue = next[handles[i - 1]];
    }
    memset(next, 0xff, queues->handle_count * sizeof(*next));
    for (size_t i = 0; i < count; i++) {
        struct store_call *const call = &store->calls.items[i];
        if (call->queue == WATCH_NONE) {
            uint32_t *const place = &next[handles[i]];
            *place = *place == WATCH_NONE ? queues->count++ : *place;
            call->queue = *place;
        }
        next[handles[i]] = call->queue;
    }
    free(next);
    free(handles);
}

/* ---- what is in the queues, by time ----------------------------------------------------------- */

static void add_items(struct queues *queues)
{
    const struct watch *const watch = queues->watch;
    const struct watch_store *const store = watch->store;
    for (size_t i = 0; i < store->calls.count; i++) {
        const struct store_call *const call = &store->calls.items[i];
        const bool is_graph = call->what == PDL_WATCH_GRAPH_LAUNCH;
        if (call->captured ||
            (call->launch != WATCH_NONE && watch->launches.items[call->launch].result != 0)) {
            continue;
        }
        const struct item item = {call->begin_ns, (uint32_t)i, is_graph ? WATCH_NONE : call->run,
                                  is_graph ? call->run : WATCH_NONE, call->queue};
        APPEND(&queues->items, item);
    }
    for (size_t i = 0; i < watch->runs.count; i++) {
        const uint32_t call = store->runs.items[i].call;
        const struct watch_run *const run = &watch->runs.items[i];
        if (!run->in_graph && !run->from_device &&
            (call == WATCH_NONE || store->calls.items[call].run != i)) {
            const struct item item = {run->start_ns, WATCH_NONE, (uint32_t)i, WATCH_NONE,
                                      queue_of_run(queues, (uint32_t)i)};
            APPEND(&queues->items, item);
        }
    }
    for (size_t i = 0; i < store->groups.count; i++) {
        const struct store_group *const group = &store->groups.items[i];
        const uint32_t first = store->members[group->first];
        if (group->call == WATCH_NONE) {
            const struct item item = {watch->runs.items[first].start_ns, WATCH_NONE, WATCH_NONE,
                                      (uint32_t)i, queue_of_run(queues, first)};
            APPEND(&queues->items, item);
        }
    }
}

static void sort_items(struct queues *queues)
{
    const size_t count = queues->items.count;
    struct order *const order = allocate(count, sizeof(*order));
    struct item *const items = allocate(count, sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        order[i] = (struct order){queues->items.items[i].time_ns, (uint32_t)i};
    }
    order_sort(order, count);
    for (size_t i = 0; i < count; i++) {
        items[i] = queues->items.items[order[i].index];
    }
    free(order);
    free(queues->items.items);
    queues->items.items = items;
    queues->items.capacity = count;
}

/* The first run of an item; WATCH_NONE. */
static uint32_t first_run(const struct queues *queues, const struct item *item)
{
    const struct watch_store *const store = queues->watch->store;
    return item->group != WATCH_NONE ? store->members[store->groups.items[item->group].first]
                                     : item->run;
}

/* Puts what runs of `count` items of one queue into the order of their starts. */
static void correct_queue(struct queues *queues, const struct order *slots, size_t count)
{
    bool sorted = true;
    for (size_t i = 1; i < count && sorted; i++) {
        sorted = first_run(queues, &queues->items.items[slots[i - 1].index]) <
                 first_run(queues, &queues->items.items[slots[i].index]);
    }
    if (sorted) {
        return;
    }
    struct order *const order = allocate(count, sizeof(*order));
    struct item *const items = allocate(count, sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        items[i] = queues->items.items[slots[i].index];
        order[i] = (struct order){first_run(queues, &items[i]), (uint32_t)i};
    }
    order_sort(order, count);
    for (size_t i = 0; i < count; i++) {
        queues->items.items[slots[i].index] = items[order[i].index];
    }
    free(order);
    free(items);
}

/* Calls that two threads make for one stream are not recorded in the order in which the stream gets them. A stream begins
 * what it gets in order: what ran is put into the order of its starts, between what left no times. */
static void correct_items(struct queues *queues)
{
    const size_t count = queues->items.count;
    struct order *const slots = allocate(count, sizeof(*slots));
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const struct item *const item = &queues->items.items[i];
        if (first_run(queues, item) != WATCH_NONE) {
            slots[used++] = (struct order){item->queue, (uint32_t)i};
        }
    }
    order_sort(slots, used);
    for (size_t from = 0; from < used;) {
        size_t to = from + 1;
        while (to < used && slots[to].key == slots[from].key) {
            to++;
        }
        correct_queue(queues, &slots[from], to - from);
        from = to;
    }
    free(slots);
}

/* ---- from front to back ----------------------------------------------------------------------- */

static void put_behind(struct queues *queues, uint32_t index, const struct tail *tail)
{
    struct watch_run *const run = &queues->watch->runs.items[index];
    queues->watch->store->runs.items[index].between |= tail->between;
    run->before = (tail->between & BETWEEN_EAGER) != 0 ? tail->event
                  : tail->kernel != WATCH_NONE         ? tail->kernel
                  : tail->transfer != WATCH_NONE       ? tail->transfer
                                                       : tail->event;
}

static void pass_run(struct queues *queues, const struct item *item, struct tail *tail)
{
    const struct watch_run *const run = &queues->watch->runs.items[item->run];
    put_behind(queues, item->run, tail);
    if (run->kernel == WATCH_NONE) {
        tail->transfer = item->run;
        tail->between |= BETWEEN_COPY;
        return;
    }
    *tail = (struct tail){item->run, WATCH_NONE, WATCH_NONE, 0};
    if ((run->flags & PDL_WATCH_EVENT) != 0 && item->call != WATCH_NONE) {
        queues->event_call[run->process] = item->call;
    }
}

/* Those nodes of a graph that have nothing in front of them in it are behind what is in the stream. */
static void pass_graph(struct queues *queues, const struct item *item, struct tail *tail)
{
    const struct watch_store *const store = queues->watch->store;
    const struct store_group *const group = &store->groups.items[item->group];
    tail->between |= BETWEEN_OTHER;
    for (uint32_t i = 0; i < group->count; i++) {
        const uint32_t run = store->members[group->first + i];
        if (queues->watch->runs.items[run].before == WATCH_NONE &&
            store->runs.items[run].between == 0) {
            put_behind(queues, run, tail);
        }
    }
    if (group->last != WATCH_NONE) {
        *tail = (struct tail){group->last, WATCH_NONE, WATCH_NONE, BETWEEN_OTHER};
    }
}

/* The launch whose programmatic event this may be, on which another queue waits; WATCH_NONE. An event that is
 * recorded by a launch has no call of its own, or one within the launch's. */
static uint32_t event_launch(const struct queues *queues, const struct store_call *call)
{
    const uint32_t index = queues->event_call[call->process];
    return index != WATCH_NONE && queues->watch->store->calls.items[index].queue != call->queue
               ? index
               : WATCH_NONE;
}

static void pass_record(struct queues *queues, const struct store_call *call,
                        const struct tail *tail)
{
    uint32_t *const place = ids_put(&queues->events, call->detail, call->process);
    const uint32_t index = queues->event_call[call->process];
    const struct store_call *const launch =
        index != WATCH_NONE ? &queues->watch->store->calls.items[index] : NULL;
    const struct recorded recorded = {
        call->queue, tail->kernel != WATCH_NONE ? tail->kernel : tail->transfer,
        launch != NULL && launch->queue == call->queue && call->begin_ns <= launch->end_ns};
    if (*place == WATCH_NONE) {
        *place = (uint32_t)queues->recorded.count;
        APPEND(&queues->recorded, recorded);
    } else {
        queues->recorded.items[*place] = recorded;
    }
}

static void pass_wait(const struct queues *queues, const struct store_call *call, struct tail *tail)
{
    const uint32_t place = ids_get(&queues->events, call->detail, call->process);
    const struct recorded *const recorded =
        place != WATCH_NONE ? &queues->recorded.items[place] : NULL;
    const uint32_t launch = recorded == NULL ? event_launch(queues, call) : WATCH_NONE;
    if (launch != WATCH_NONE) {
        tail->between |= BETWEEN_EAGER;
        tail->event = queues->watch->store->calls.items[launch].run;
    } else if (recorded == NULL) {
        tail->between |= BETWEEN_EVENT;
    } else if (recorded->queue != call->queue) { /* the own one is waited for anyway */
        tail->between |= recorded->eager ? BETWEEN_EAGER : BETWEEN_EVENT;
        tail->event = recorded->run;
    }
}

static void pass_call(struct queues *queues, const struct item *item, struct tail *tail)
{
    const struct store_call *const call = &queues->watch->store->calls.items[item->call];
    switch (call->what) {
    case 0: /* a launch whose run is not known */
        *tail = (struct tail){WATCH_NONE, WATCH_NONE, WATCH_NONE, BETWEEN_LOST};
        break;
    case PDL_WATCH_COPY:
    case PDL_WATCH_SET:
        tail->between |= BETWEEN_COPY;
        break;
    case PDL_WATCH_EVENT_RECORD:
        pass_record(queues, call, tail);
        break;
    case PDL_WATCH_EVENT_WAIT:
        pass_wait(queues, call, tail);
        break;
    case PDL_WATCH_HOST_FUNCTION:
        tail->between |= BETWEEN_HOST;
        break;
    case PDL_WATCH_VALUE:
    case PDL_WATCH_ALLOCATION:
    case PDL_WATCH_GRAPH_LAUNCH: /* of whose runs none is known */
    case PDL_WATCH_MANY:
        tail->between |= BETWEEN_OTHER;
        break;
    default:
        break;
    }
}

void store_queue_runs(struct watch *watch, const bool *has_times)
{
    struct queues queues = {.watch = watch, .has_times = has_times};
    find_queues(&queues);
    add_items(&queues);
    sort_items(&queues);
    correct_items(&queues);
    queues.tails = allocate(queues.count, sizeof(*queues.tails));
    queues.event_call = allocate(watch->processes.count, sizeof(*queues.event_call));
    memset(queues.event_call, 0xff, watch->processes.count * sizeof(*queues.event_call));
    for (uint32_t i = 0; i < queues.count; i++) {
        queues.tails[i] = (struct tail){WATCH_NONE, WATCH_NONE, WATCH_NONE, 0};
    }
    for (size_t i = 0; i < queues.items.count; i++) {
        const struct item *const item = &queues.items.items[i];
        struct tail *const tail = &queues.tails[item->queue];
        if (item->group != WATCH_NONE) {
            pass_graph(&queues, item, tail);
        } else if (item->run != WATCH_NONE) {
            pass_run(&queues, item, tail);
        } else {
            pass_call(&queues, item, tail);
        }
    }
    ids_free(&queues.handles);
    ids_free(&queues.owners);
    ids_free(&queues.ids);
    ids_free(&queues.events);
    free(queues.items.items);
    free(queues.recorded.items);
    free(queues.tails);
    free(queues.event_call);
}
