/* SPDX-License-Identifier: MIT */
/* Every step knows what must have run, with which arguments, and compares that with what the driver saw. */
#include <pdl/chain.h>
#include <pdl/graph.h>
#include <pdl/overlap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver_calls.h"
#include "from_image.h"
#include "soak_host.h"

enum { KERNELS = 6, LINKS_MAX = 12, SEEN_MAX = 64, DEVICES = 2 };

/* What kernel `step` of TEST_PTX takes. */
struct values {
    uint64_t pointer;
    uint32_t number;
};
static const size_t value_sizes[] = {sizeof(uint64_t), sizeof(uint32_t)};
#define POINTERS(values)                                                                           \
    (void *[])                                                                                     \
    {                                                                                              \
        &(values).pointer, &(values).number                                                        \
    }

struct link {
    uint64_t checksum; /* of the arguments that are in force */
    uint32_t grid;
};

struct driver_objects {
    int device;
    pdl_kernel *kernels[KERNELS];
    pdl_chain *chain;
    struct link links[LINKS_MAX];
    unsigned link_count;
    bool built;
    unsigned calls; /* numbers the arguments */
};

/* What ran on this thread since it last looked. */
static _Thread_local struct {
    struct mock_seen kernels[SEEN_MAX];
    unsigned count;
} seen;

static void watch(const struct mock_seen *kernel, void *user)
{
    (void)user;
    if (seen.count < SEEN_MAX) {
        seen.kernels[seen.count] = *kernel;
    }
    seen.count++;
}

void driver_start(void)
{
    pdl_device_info last = PDL_DEVICE_INFO_INIT;
    const char *const names[] = {"mock_fail_randomly", "mock_failures", "mock_count_live",
                                 "mock_take_misuse",   "mock_watch",    "mock_checksum"};
    void *symbols[6];
    if (pdl_device_get(DEVICES - 1, &last) != PDL_SUCCESS) {
        fault(NULL, "the fake driver with %d devices is needed: %s", DEVICES,
              pdl_last_error()->message);
    }
    for (unsigned i = 0; i < 6; i++) {
        symbols[i] = driver_symbol(names[i]);
    }
    memcpy(&fake, symbols, sizeof(fake));
    fake.watch(watch, NULL);
}

void driver_join(struct worker *worker)
{
    CUcontext context = NULL;
    worker->driver = calloc(1, sizeof(*worker->driver));
    if (worker->driver == NULL) {
        abort();
    }
    worker->driver->device = (int)(worker->number % DEVICES);
    DRIVER_CALL(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice), &context,
                worker->driver->device);
    DRIVER_CALL(cuCtxSetCurrent, (CUcontext), context);
}

/* ------------------------------------------------------------------------------------------------
 * Checks
 * ---------------------------------------------------------------------------------------------- */

/* A call that may fail only if the driver did. Whether it succeeded. */
static bool check(struct worker *worker, unsigned long before, pdl_status status, const char *what)
{
    if (status == PDL_SUCCESS) {
        return true;
    }
    if (fake.failures(NULL, NULL) == before) {
        fault(worker, "%s failed, and no call of the driver did: %s", what,
              pdl_last_error()->message);
    }
    if (pdl_last_error()->message[0] == '\0' || pdl_last_error()->status != status) {
        fault(worker, "%s failed with %s, and the error says %s: \"%s\"", what,
              pdl_status_name(status), pdl_status_name((pdl_status)pdl_last_error()->status),
              pdl_last_error()->message);
    }
    atomic_fetch_add(&counts.failed_calls, 1);
    return false;
}
#define TRY(call)                                                                                  \
    (before = fake.failures(NULL, NULL), seen.count = 0, check(worker, before, (call), #call))

static void expect_seen(const struct worker *worker, unsigned count, const char *what)
{
    if (seen.count != count) {
        fault(worker, "%s: %u kernels ran instead of %u", what, seen.count, count);
    }
}

static struct values next_values(struct worker *worker)
{
    const uint32_t number = ++worker->driver->calls;
    return (struct values){(uint64_t)worker->number << 32 | draw(worker, 1U << 30), number};
}

static uint64_t checksum_of(struct values *values)
{
    return fake.checksum(POINTERS(*values), value_sizes, 2);
}

static pdl_launch_desc draw_desc(struct worker *worker)
{
    static const uint32_t modes[] = {PDL_OVERLAP_NONE, PDL_OVERLAP_AUTO, PDL_OVERLAP_REQUIRE};
    pdl_launch_desc desc = PDL_LAUNCH_DESC(.grid = {8 * (1 + draw(worker, 100))},
                                           .block = {32 * (1 + draw(worker, 8))},
                                           .dynamic_shared_memory = 1024 * draw(worker, 16),
                                           .overlap = modes[draw(worker, 3)]);
    if (draw(worker, 4) == 0) {
        desc.cluster[0] = 1U << draw(worker, 4);
    }
    if (draw(worker, 4) == 0) {
        desc.priority = -(int32_t)draw(worker, 3);
        desc.flags |= PDL_LAUNCH_SET_PRIORITY;
    }
    return desc;
}

/* Makes the descriptor one that must be refused. */
static void spoil(struct worker *worker, pdl_launch_desc *desc)
{
    switch (draw(worker, 7)) {
    case 0:
        desc->grid[0] = 0;
        break;
    case 1:
        desc->block[0] = 2048;
        break;
    case 2:
        desc->cluster[0] = 3; /* of a multiple of 8 blocks */
        desc->grid[0] = 8;
        break;
    case 3:
        desc->overlap = 77;
        break;
    case 4:
        desc->size = draw(worker, 8);
        break;
    case 5:
        desc->reserved_end = 1;
        break;
    default:
        desc->dynamic_shared_memory = 1U << 30;
        break;
    }
}

/* ------------------------------------------------------------------------------------------------
 * Steps
 * ---------------------------------------------------------------------------------------------- */

static pdl_kernel *some_kernel(struct worker *worker)
{
    pdl_kernel **kernel = &worker->driver->kernels[draw(worker, KERNELS)];
    unsigned long before;
    if (*kernel == NULL) {
        if (TRY(kernel_from_image(TEST_PTX, sizeof(TEST_PTX), "step", kernel))) {
            atomic_fetch_add(&counts.kernels, 1);
        } else if (*kernel != NULL) {
            fault(worker, "a kernel that could not be made was written");
        }
    }
    return *kernel;
}

static void drop_chain(struct worker *worker)
{
    pdl_chain_destroy(worker->driver->chain);
    worker->driver->chain = NULL;
    worker->driver->link_count = 0;
    worker->driver->built = false;
}

/* A kernel outlives its chains. */
static void drop_kernel(struct worker *worker)
{
    pdl_kernel **kernel = &worker->driver->kernels[draw(worker, KERNELS)];
    drop_chain(worker);
    pdl_kernel_destroy(*kernel);
    *kernel = NULL;
}

static void launch(struct worker *worker)
{
    pdl_kernel *kernel = some_kernel(worker);
    pdl_launch_desc desc = draw_desc(worker);
    struct values values = next_values(worker);
    const uint64_t checksum = checksum_of(&values);
    unsigned long before;
    if (kernel == NULL) {
        return;
    }
    if (!TRY(pdl_launch(kernel, &desc, POINTERS(values)))) {
        expect_seen(worker, 0, "a launch that failed");
        return;
    }
    expect_seen(worker, 1, "a launch");
    if (seen.kernels[0].checksum != checksum || seen.kernels[0].grid[0] != desc.grid[0] ||
        seen.kernels[0].block[0] != desc.block[0] ||
        seen.kernels[0].shared != desc.dynamic_shared_memory) {
        fault(worker, "a launch ran with another one's arguments or shape");
    }
    atomic_fetch_add(&counts.launches, 1);
}

static void refuse(struct worker *worker)
{
    pdl_kernel *kernel = some_kernel(worker);
    pdl_launch_desc desc = draw_desc(worker);
    struct values values = next_values(worker);
    spoil(worker, &desc);
    seen.count = 0;
    if (kernel == NULL) {
        return;
    }
    if (pdl_launch(kernel, &desc, POINTERS(values)) == PDL_SUCCESS ||
        pdl_last_error()->message[0] == '\0') {
        fault(worker, "an invalid descriptor was launched, or refused without a sentence");
    }
    expect_seen(worker, 0, "an invalid descriptor");
    atomic_fetch_add(&counts.refused, 1);
}

static void add_link(struct worker *worker)
{
    struct driver_objects *mine = worker->driver;
    pdl_kernel *kernel = some_kernel(worker);
    pdl_launch_desc desc = draw_desc(worker);
    struct values values = next_values(worker);
    unsigned long before;
    if (kernel == NULL || (mine->chain == NULL && !TRY(pdl_chain_create(NULL, &mine->chain)))) {
        return;
    }
    if (mine->link_count < LINKS_MAX &&
        TRY(pdl_chain_add(mine->chain, kernel, &desc, POINTERS(values), NULL, 0, NULL))) {
        mine->links[mine->link_count++] = (struct link){checksum_of(&values), desc.grid[0]};
        mine->built = false;
    }
}

static void build(struct worker *worker)
{
    struct driver_objects *mine = worker->driver;
    unsigned long before;
    if (mine->link_count > 0 && TRY(pdl_chain_build(mine->chain))) {
        mine->built = true;
        atomic_fetch_add(&counts.builds, 1);
    }
}

static void change_link(struct worker *worker)
{
    struct driver_objects *mine = worker->driver;
    unsigned long before;
    if (mine->link_count == 0) {
        return;
    }
    const unsigned link = draw(worker, mine->link_count);
    struct values values = next_values(worker);
    if (TRY(pdl_chain_set_args(mine->chain, link, POINTERS(values)))) {
        mine->links[link].checksum = checksum_of(&values);
    }
    pdl_launch_desc desc = draw_desc(worker);
    before = fake.failures(NULL, NULL);
    const pdl_status status = pdl_chain_set_desc(mine->chain, link, &desc);
    if (status == PDL_ERROR_REBUILD) {
        if (TRY(pdl_chain_reset(mine->chain))) {
            mine->built = false;
        }
    } else if (check(worker, before, status, "pdl_chain_set_desc")) {
        mine->links[link].grid = desc.grid[0];
    }
}

static void replay(struct worker *worker)
{
    struct driver_objects *mine = worker->driver;
    unsigned long before;
    if (!mine->built) {
        return;
    }
    if (!TRY(pdl_chain_launch(mine->chain, NULL))) {
        expect_seen(worker, 0, "a replay that failed");
        return;
    }
    expect_seen(worker, mine->link_count, "a replay");
    for (unsigned i = 0; i < mine->link_count; i++) {
        const struct mock_seen *kernel = &seen.kernels[i];
        if (kernel->node >= mine->link_count ||
            kernel->checksum != mine->links[kernel->node].checksum ||
            kernel->grid[0] != mine->links[kernel->node].grid) {
            fault(worker, "link %u of a replay ran with old arguments or an old shape",
                  kernel->node);
        }
    }
    atomic_fetch_add(&counts.replays, 1);
}

static void add_nodes(struct worker *worker)
{
    CUgraph graph = NULL;
    struct CUgraphNode_st *node = NULL;
    pdl_census census = PDL_CENSUS_INIT;
    pdl_kernel *kernel = some_kernel(worker);
    unsigned long before;
    unsigned edges = 0;
    CUresult (*create)(CUgraph *, unsigned);
    void *symbol = driver_symbol("cuGraphCreate");
    memcpy(&create, &symbol, sizeof(create));
    if (kernel == NULL || create(&graph, 0) != CUDA_SUCCESS) {
        return;
    }
    for (unsigned i = 1 + draw(worker, 5); i > 0; i--) {
        const pdl_edge edge = {.node = node, .kind = PDL_EDGE_FULL};
        pdl_launch_desc desc = draw_desc(worker);
        struct values values = next_values(worker);
        struct CUgraphNode_st *made = NULL;
        if (TRY(pdl_graph_add_launch(graph, &edge, node != NULL, kernel, &desc, POINTERS(values),
                                     &made))) {
            edges += node != NULL;
            node = made;
            atomic_fetch_add(&counts.nodes, 1);
        } else if (made != NULL) {
            fault(worker, "a node that could not be added was written");
        }
    }
    if (TRY(pdl_graph_census(graph, &census)) && census.edges != edges) {
        fault(worker, "a graph of %u edges was counted to have %llu", edges,
              (unsigned long long)census.edges);
    }
    CUresult (*destroy)(CUgraph);
    symbol = driver_symbol("cuGraphDestroy");
    memcpy(&destroy, &symbol, sizeof(destroy));
    (void)destroy(graph); /* it does, whatever it returns */
}

static void ask(struct worker *worker)
{
    pdl_kernel *kernel = some_kernel(worker);
    const pdl_launch_desc desc = draw_desc(worker);
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    pdl_overlap_report overlap = PDL_OVERLAP_REPORT_INIT;
    pdl_occupancy occupancy = PDL_OCCUPANCY_INIT;
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    pdl_device_info device = PDL_DEVICE_INFO_INIT;
    unsigned long before;
    if (kernel == NULL) {
        return;
    }
    (void)TRY(pdl_launch_explain(kernel, &desc, &report));
    (void)TRY(pdl_launch_occupancy(kernel, &desc, &occupancy));
    (void)TRY(pdl_overlap_query(kernel, &desc, kernel, &desc, worker->driver->device, &overlap));
    (void)TRY(pdl_device_get(worker->driver->device, &device));
    if (TRY(pdl_kernel_get(kernel, worker->driver->device, &info)) && info.waits != PDL_YES) {
        fault(worker, "a kernel that waits is not known to");
    }
    expect_seen(worker, 0, "a query");
    atomic_fetch_add(&counts.queries, 1);
}

static void toggle(struct worker *worker)
{
    pdl_kernel *kernel = some_kernel(worker);
    unsigned long before;
    if (kernel != NULL) {
        const bool off = draw(worker, 2) == 0;
        pdl_launch_desc desc = draw_desc(worker);
        struct values values = next_values(worker);
        (void)TRY(pdl_kernel_declare(kernel, off ? PDL_NO : PDL_YES, PDL_YES));
        desc.overlap = PDL_OVERLAP_REQUIRE;
        before = fake.failures(NULL, NULL);
        const pdl_status status = pdl_launch(kernel, &desc, POINTERS(values));
        if (off && status == PDL_SUCCESS) {
            fault(worker, "a kernel whose overlap is off was launched where it is required");
        }
        if (!off) {
            (void)check(worker, before, status, "a launch with overlap");
        }
        while (off && !TRY(pdl_kernel_declare(kernel, PDL_YES, PDL_YES))) {
        }
    }
}

void driver_step(struct worker *worker)
{
    static const struct {
        const char *name;
        void (*run)(struct worker *worker);
        unsigned share;
    } steps[] = {
        {"launch", launch, 30},          {"refuse", refuse, 8},
        {"add_link", add_link, 12},      {"build", build, 8},
        {"replay", replay, 16},          {"change_link", change_link, 12},
        {"add_nodes", add_nodes, 5},     {"ask", ask, 5},
        {"toggle", toggle, 2},           {"drop_chain", drop_chain, 1},
        {"drop_kernel", drop_kernel, 1},
    };
    unsigned at = draw(worker, 100);
    unsigned i = 0;
    while (at >= steps[i].share) {
        at -= steps[i++].share;
    }
    worker->doing = steps[i].name;
    steps[i].run(worker);
}

void driver_clear(struct worker *worker)
{
    drop_chain(worker);
    for (unsigned i = 0; i < KERNELS; i++) {
        pdl_kernel_destroy(worker->driver->kernels[i]);
    }
    *worker->driver =
        (struct driver_objects){.device = worker->driver->device, .calls = worker->driver->calls};
}
