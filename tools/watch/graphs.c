/* SPDX-License-Identifier: MIT */
/* Launches of graphs, and in each what is in front of what.
 *
 * A run names its node by the id that it has in the executable graph. That node is a copy of one of the graph that was
 * instantiated, perhaps over several copies; the recording tells of the nodes and edges of that one. */
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "watch/store.h"

enum {
    MOST_COPIES = 64,  /* that a node is looked for through */
    MOST_STEPS = 256,  /* edges that are followed back from a node, for all that is not a kernel */
    MOST_BRANCHES = 32 /* that are looked through for a free one */
};

/* Values of CUgraphNodeType. */
enum { NODE_KERNEL = 0, NODE_COPY = 1, NODE_SET = 2, NODE_HOST = 3, NODE_EVENT_WAIT = 6 };

/* ---- launches --------------------------------------------------------------------------------- */

/* The runs of one launch of a graph have one correlation. */
static uint32_t group_of(struct watch *watch, struct ids *groups, uint32_t index)
{
    struct watch_store *const store = watch->store;
    const struct store_run *const more = &store->runs.items[index];
    const uint64_t key = more->correlation != 0 ? more->correlation : (uint64_t)more->graph << 32;
    uint32_t *const place = ids_put(groups, key, watch->runs.items[index].process);
    if (*place == WATCH_NONE) {
        *place = (uint32_t)store->groups.count;
        const struct store_group group = {.call = more->call, .last = WATCH_NONE};
        APPEND(&store->groups, group);
        if (more->call != WATCH_NONE) {
            store->calls.items[more->call].run = *place;
        }
    }
    return *place;
}

void store_group_graphs(struct watch *watch)
{
    struct watch_store *const store = watch->store;
    struct ids groups = {.slots = NULL};
    uint32_t total = 0;
    for (size_t i = 0; i < watch->runs.count; i++) {
        if (watch->runs.items[i].in_graph && !watch->runs.items[i].from_device) {
            const uint32_t group = group_of(watch, &groups, (uint32_t)i);
            store->runs.items[i].group = group;
            store->groups.items[group].count++;
        }
    }
    ids_free(&groups);
    for (size_t i = 0; i < store->groups.count; i++) {
        store->groups.items[i].first = total;
        total += store->groups.items[i].count;
        store->groups.items[i].count = 0;
    }
    store->members = allocate(total, sizeof(*store->members));
    for (size_t i = 0; i < watch->runs.count; i++) {
        const struct watch_run *const run = &watch->runs.items[i];
        const uint32_t index = store->runs.items[i].group;
        if (index == WATCH_NONE) {
            continue;
        }
        struct store_group *const group = &store->groups.items[index];
        store->members[group->first + group->count++] = (uint32_t)i;
        if (run->kernel != WATCH_NONE &&
            (group->last == WATCH_NONE || run->end_ns >= watch->runs.items[group->last].end_ns)) {
            group->last = (uint32_t)i;
        }
    }
}

/* ---- nodes and edges -------------------------------------------------------------------------- */

/* Finds the ends of the edges, and puts them in the order of where they lead to. */
static void sort_edges(struct watch_store *store)
{
    const size_t count = store->edges.count;
    struct order *const order = allocate(count, sizeof(*order));
    struct store_edge *const edges = allocate(count, sizeof(*edges));
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        struct store_edge *const edge = &store->edges.items[i];
        edge->from_node = ids_get(&store->by_node, edge->from, edge->graph);
        edge->to_node = ids_get(&store->by_node, edge->to, edge->graph);
        if (edge->from_node != WATCH_NONE && edge->to_node != WATCH_NONE) {
            order[used++] = (struct order){edge->to_node, (uint32_t)i};
        }
    }
    order_sort(order, used);
    for (size_t i = 0; i < used; i++) {
        edges[i] = store->edges.items[order[i].index];
        struct store_node *const to = &store->nodes.items[edges[i].to_node];
        to->first_edge = to->edge_count == 0 ? (uint32_t)i : to->first_edge;
        to->edge_count++;
    }
    free(order);
    free(store->edges.items);
    store->edges.items = edges;
    store->edges.count = used;
    store->edges.capacity = count;
}

/* Of which function launches were captured, and how many asked for overlap: what becomes of such a launch is a node,
 * which only its edges tell that of. */
struct captures {
    uint32_t *all, *asked;
};

static struct captures count_captures(const struct watch *watch)
{
    const struct watch_store *const store = watch->store;
    const struct captures captures = {allocate(store->functions.count, sizeof(uint32_t)),
                                      allocate(store->functions.count, sizeof(uint32_t))};
    for (size_t i = 0; i < store->calls.count; i++) {
        const struct store_call *const call = &store->calls.items[i];
        if (call->launch != WATCH_NONE && call->captured && call->function != WATCH_NONE) {
            const uint32_t flags = watch->launches.items[call->launch].flags;
            captures.all[call->function]++;
            captures.asked[call->function] += (flags & (PDL_WATCH_ASKED | PDL_WATCH_OVERLAP)) != 0;
        }
    }
    return captures;
}

struct linking {
    struct watch *watch;
    struct captures captures;
    struct ids nodes; /* by the id that runs name, 1 more than the index; 0: none */
    uint32_t *run_of; /* of a node, its run in this launch, if `of_group` is that */
    uint32_t *of_group;
    uint32_t *seen_by; /* of a node, the run that looked at it last */
};

static uint32_t find_node(struct linking *linking, uint32_t index)
{
    const struct watch_run *const run = &linking->watch->runs.items[index];
    const struct watch_store *const store = linking->watch->store;
    const uint32_t graph = ids_get(&store->by_graph, store->runs.items[index].graph, run->process);
    uint64_t id = run->node;
    for (unsigned i = 0; i < MOST_COPIES; i++) {
        uint32_t node = graph != WATCH_NONE ? ids_get(&store->by_node, id, graph) : WATCH_NONE;
        node = node == WATCH_NONE ? ids_get(&store->any_node, id, run->process) : node;
        if (node != WATCH_NONE) {
            return node;
        }
        const uint32_t original = ids_get(&store->by_clone, id, run->process);
        if (original == WATCH_NONE) {
            return WATCH_NONE;
        }
        id = store->originals.items[original];
    }
    return WATCH_NONE;
}

static uint32_t node_of(struct linking *linking, uint32_t index)
{
    const struct watch_run *const run = &linking->watch->runs.items[index];
    uint32_t *const place = ids_put(&linking->nodes, run->node, run->process);
    if (*place == WATCH_NONE) {
        *place = find_node(linking, index) + 1;
    }
    return *place - 1;
}

static uint32_t between_by_type(uint32_t type)
{
    switch (type) {
    case NODE_KERNEL:
        return 0;
    case NODE_COPY:
    case NODE_SET:
        return BETWEEN_COPY;
    case NODE_HOST:
        return BETWEEN_HOST;
    case NODE_EVENT_WAIT:
        return BETWEEN_EVENT;
    default:
        return BETWEEN_OTHER;
    }
}

/* What is found in front of a node. */
struct found {
    uint32_t kernel, transfer; /* the runs that end last */
    uint32_t between;
};

static uint32_t later_end(const struct watch *watch, uint32_t one, uint32_t other)
{
    return one == WATCH_NONE || watch->runs.items[other].end_ns > watch->runs.items[one].end_ns
               ? other
               : one;
}

/* One edge back; true if what it comes from is no kernel, so that the search goes on behind it. */
static bool look_at_edge(struct linking *linking, const struct store_edge *edge, uint32_t group,
                         struct found *found)
{
    const struct store_node *const from = &linking->watch->store->nodes.items[edge->from_node];
    const uint32_t run =
        linking->of_group[edge->from_node] == group ? linking->run_of[edge->from_node] : WATCH_NONE;
    found->between |= between_by_type(from->type);
    if (from->type == NODE_KERNEL) {
        found->kernel =
            run != WATCH_NONE ? later_end(linking->watch, found->kernel, run) : found->kernel;
        return false;
    }
    found->transfer =
        run != WATCH_NONE ? later_end(linking->watch, found->transfer, run) : found->transfer;
    return true;
}

/* The kernels in front of a node, and what is between. */
static struct found look_back(struct linking *linking, uint32_t index, uint32_t node,
                              uint32_t group)
{
    const struct watch_store *const store = linking->watch->store;
    struct found found = {WATCH_NONE, WATCH_NONE, 0};
    uint32_t waiting[MOST_STEPS];
    unsigned waits = 0;
    unsigned steps = 0;
    waiting[waits++] = node;
    while (waits > 0) {
        const uint32_t at = waiting[--waits];
        const struct store_node *const to = &store->nodes.items[at];
        for (uint32_t i = 0; i < to->edge_count && steps < MOST_STEPS - 1; i++, steps++) {
            const struct store_edge *const edge = &store->edges.items[to->first_edge + i];
            if (at == node) {
                found.between |= edge->programmatic ? BETWEEN_EDGE : BETWEEN_FULL;
            }
            if (look_at_edge(linking, edge, group, &found) &&
                linking->seen_by[edge->from_node] != index) {
                linking->seen_by[edge->from_node] = index;
                waiting[waits++] = edge->from_node;
            }
        }
    }
    return found;
}

/* What the graph says of the run's launch. */
static uint32_t flags_of(const struct linking *linking, const struct store_node *node,
                         uint32_t between, uint32_t function)
{
    uint32_t flags = node->flags;
    if ((flags & PDL_WATCH_OVERLAP) != 0 && (flags & PDL_WATCH_ADDED) == 0) {
        flags |= PDL_WATCH_ASKED;
    }
    if (function != WATCH_NONE && linking->captures.all[function] > 0 &&
        linking->captures.asked[function] == linking->captures.all[function] &&
        (flags & PDL_WATCH_ADDED) == 0) {
        flags |= PDL_WATCH_ASKED;
    }
    flags &= ~(uint32_t)PDL_WATCH_OVERLAP;
    if ((between & BETWEEN_EDGE) != 0) {
        flags |= PDL_WATCH_OVERLAP;
        flags |= (flags & PDL_WATCH_ADDED) == 0 ? PDL_WATCH_ASKED : 0;
    }
    return flags;
}

/* Without its node, a run is taken to be behind the kernel that began before it in the same launch. */
static void link_run(struct linking *linking, uint32_t index, uint32_t previous)
{
    struct watch_store *const store = linking->watch->store;
    struct watch_run *const run = &linking->watch->runs.items[index];
    struct store_run *const more = &store->runs.items[index];
    more->graph_node = node_of(linking, index);
    if (more->graph_node == WATCH_NONE) {
        run->before = previous;
        more->between |= previous != WATCH_NONE ? BETWEEN_NO_EDGES : 0;
        return;
    }
    const struct store_node *const node = &store->nodes.items[more->graph_node];
    const struct found found = look_back(linking, index, more->graph_node, more->group);
    run->before = found.kernel != WATCH_NONE ? found.kernel : found.transfer;
    more->between |= found.between;
    if (run->kernel != WATCH_NONE) {
        const uint32_t function = ids_get(&store->by_function, node->function, run->process);
        more->function = function;
        run->flags = flags_of(linking, node, found.between, function);
    }
    linking->run_of[more->graph_node] = index;
    linking->of_group[more->graph_node] = more->group;
}

void store_link_graphs(struct watch *watch)
{
    struct watch_store *const store = watch->store;
    const size_t nodes = store->nodes.count;
    sort_edges(store);
    struct linking linking = {.watch = watch,
                              .captures = count_captures(watch),
                              .run_of = allocate(nodes, sizeof(uint32_t)),
                              .of_group = allocate(nodes, sizeof(uint32_t)),
                              .seen_by = allocate(nodes, sizeof(uint32_t))};
    memset(linking.of_group, 0xff, nodes * sizeof(uint32_t));
    memset(linking.seen_by, 0xff, nodes * sizeof(uint32_t));
    for (size_t i = 0; i < store->groups.count; i++) {
        const struct store_group *const group = &store->groups.items[i];
        uint32_t previous = WATCH_NONE;
        for (uint32_t member = 0; member < group->count; member++) {
            const uint32_t index = store->members[group->first + member];
            link_run(&linking, index, previous);
            previous = watch->runs.items[index].kernel != WATCH_NONE ? index : previous;
        }
    }
    ids_free(&linking.nodes);
    free(linking.captures.all);
    free(linking.captures.asked);
    free(linking.run_of);
    free(linking.of_group);
    free(linking.seen_by);
}

/* ---- tracks ----------------------------------------------------------------------------------- */

/* Branches of one launch: the last run of each. */
struct branches {
    uint32_t last[MOST_BRANCHES];
    uint32_t count;
};

/* A run goes on where the run before it was the last one; else where all has ended, or on a new branch. */
static uint32_t branch_of(const struct watch *watch, struct branches *branches, uint32_t index)
{
    const struct watch_run *const run = &watch->runs.items[index];
    uint32_t free_one = WATCH_NONE;
    for (uint32_t i = 0; i < branches->count; i++) {
        if (branches->last[i] == run->before) {
            free_one = i;
            break;
        }
        if (free_one == WATCH_NONE &&
            watch->runs.items[branches->last[i]].end_ns <= run->start_ns) {
            free_one = i;
        }
    }
    if (free_one == WATCH_NONE) {
        free_one = branches->count < MOST_BRANCHES ? branches->count++ : MOST_BRANCHES - 1;
    }
    branches->last[free_one] = index;
    return free_one;
}

void store_branch_graphs(struct watch *watch)
{
    const struct watch_store *const store = watch->store;
    struct ids tracks = {.slots = NULL};
    for (size_t i = 0; i < store->groups.count; i++) {
        const struct store_group *const group = &store->groups.items[i];
        struct branches branches = {.count = 0};
        for (uint32_t member = 0; member < group->count; member++) {
            const uint32_t index = store->members[group->first + member];
            const uint32_t branch = branch_of(watch, &branches, index);
            watch->runs.items[index].track =
                store_track(watch, &tracks, &watch->runs.items[index], branch);
        }
    }
    for (size_t i = 0; i < watch->runs.count; i++) { /* launched by a kernel */
        struct watch_run *const run = &watch->runs.items[i];
        run->track = run->track == WATCH_NONE ? store_track(watch, &tracks, run, 0) : run->track;
    }
    ids_free(&tracks);
}
