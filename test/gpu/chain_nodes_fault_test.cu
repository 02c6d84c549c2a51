/* SPDX-License-Identifier: MIT */
/* Replays of a chain with every kind of node under fault injection. Compiled with -DPDL_FAULT_INJECT: after its
 * trigger each block sleeps before it writes. PDL_TEST_REPLAYS sets the number of replays, and
 * PDL_TEST_JSON names a file for the result. */
#include <vector>

#include <pdl/chain.h>

#include "gpu_test.cuh"

#ifndef PDL_FAULT_INJECT
#error "this test is compiled with -DPDL_FAULT_INJECT"
#endif

static const unsigned blocks = 32;
static const unsigned threads = 128;
static const unsigned cells = blocks * threads;
static const size_t bytes = cells * sizeof(unsigned);
static const unsigned iterations = 3; /* of the while, per replay */

/* What a kernel reads and writes, with n for the number of its own run, from 1 upwards. */
struct task {
    const unsigned *from; /* each cell is n * from_times + from_plus, or the read was too early */
    int from_times;
    int from_plus;
    unsigned *to; /* becomes n * to_times + to_plus */
    int to_times;
    int to_plus;
    const unsigned *zeros; /* a memset's; or NULL */
    unsigned *scribble;    /* what a memset sets to zero, to be filled; or NULL */
    unsigned *runs;        /* per block; each kernel has its own */
    unsigned *stale;
};

/* `number` is n again, or 0 if nobody sets it between replays. */
template <bool Waits> static __global__ void step(task work, unsigned number)
{
    const unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned other = (own + cells / 2 + 1) % cells;
    const unsigned n = work.runs[blockIdx.x] + 1;
    if (Waits) {
        PDL_WAIT();
    }
    const int seen = static_cast<int>(PDL_LOAD(&work.from[other]));
    const unsigned zero = work.zeros != nullptr ? PDL_LOAD(&work.zeros[other]) : 0;
    PDL_LAUNCH_DEPENDENTS(); /* and sleep */
    const int times = static_cast<int>(n);
    if (seen != times * work.from_times + work.from_plus || zero != 0 ||
        (number != 0 && number != n)) {
        atomicAdd(work.stale, 1u);
    }
    work.to[own] = static_cast<unsigned>(times * work.to_times + work.to_plus);
    if (work.scribble != nullptr) {
        work.scribble[own] = ~0u;
    }
    __syncthreads(); /* all threads have read it */
    if (threadIdx.x == 0) {
        work.runs[blockIdx.x] = n;
    }
}

static __global__ void again(cudaGraphConditionalHandle condition, unsigned *runs)
{
    PDL_WAIT();
    const unsigned n = ++*runs;
    cudaGraphSetConditional(condition, n % iterations != 0);
    PDL_LAUNCH_DEPENDENTS();
}

/* What the host function looks at. */
struct host_part {
    unsigned *cells; /* pinned */
    unsigned runs;
    unsigned stale;
};

static void check_on_host(void *data)
{
    host_part *const part = static_cast<host_part *>(data);
    part->runs++;
    for (unsigned i = 0; i < cells; i++) {
        part->stale += part->cells[i] != part->runs;
        part->cells[i] = part->runs + 1; /* which is copied back */
    }
}

/* ---- making the chain ------------------------------------------------------------------------ */

static unsigned *array(size_t count)
{
    unsigned *made = nullptr;
    assert_cuda(cudaMalloc(&made, count * sizeof(unsigned)));
    assert_cuda(cudaMemset(made, 0, count * sizeof(unsigned)));
    return made;
}

/* A kernel link whose number is set before each replay. */
struct numbered {
    pdl_chain *chain;
    uint32_t link;
    task work;
    bool is_set;
};

template <bool Waits> struct maker {
    pdl_chain *chain = nullptr;
    pdl_kernel *kernel = nullptr;
    unsigned *stale = array(1);
    unsigned *last = array(cells); /* what the last link of all wrote */
    numbered links[32] = {};
    unsigned link_count = 0;

    maker()
    {
        assert_pdl(pdl_kernel_from_symbol(step<Waits>, &kernel));
        assert_pdl(pdl_kernel_declare(kernel, PDL_YES, PDL_YES)); /* true or not */
        assert_pdl(pdl_chain_create(nullptr, &chain));
    }

    task make_task(const unsigned *from)
    {
        return task{from, 1, 0, last = array(cells), 1, 0, nullptr, nullptr, array(blocks), stale};
    }

    uint32_t add(pdl_chain *to, const task &work, bool is_set = true)
    {
        uint32_t link = 0;
        unsigned number = 0;
        const pdl_launch_desc desc =
            pdl_launch_desc_make(blocks, threads, 0, nullptr, PDL_OVERLAP_AUTO);
        assert_pdl(pdl_chain_add(to, kernel, &desc, PDL_ARGS(work, number), nullptr, 0, &link));
        links[link_count++] = numbered{to, link, work, is_set};
        return link;
    }

    uint32_t add_step(pdl_chain *to)
    {
        return add(to, make_task(last));
    }

    uint32_t node(pdl_chain *to, const pdl_chain_node &made)
    {
        uint32_t link = 0;
        assert_pdl(pdl_chain_add_node(to, &made, &link));
        return link;
    }

    pdl_chain_node of_kind(pdl_node_kind kind)
    {
        pdl_chain_node made = PDL_CHAIN_NODE_INIT;
        made.kind = kind;
        return made;
    }

    uint32_t copy(pdl_chain *to, void *destination, const void *source)
    {
        pdl_chain_node made = of_kind(PDL_NODE_COPY);
        made.destination = destination;
        made.source = source;
        made.width = bytes;
        return node(to, made);
    }

    /* A launch in a stream, as other code makes it: its number is not set. */
    void launch(cudaStream_t stream, bool overlaps)
    {
        cudaLaunchAttribute attribute = {};
        cudaLaunchConfig_t config = {};
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        config.gridDim = blocks;
        config.blockDim = threads;
        config.stream = stream;
        config.attrs = &attribute;
        config.numAttrs = overlaps ? 1 : 0;
        assert_cuda(cudaLaunchKernelEx(&config, step<Waits>, make_task(last), 0u));
    }
};

struct outcome {
    unsigned stale, nodes, kernels, programmatic, full;
};

template <bool Waits> static outcome replay(unsigned replays)
{
    maker<Waits> make;
    pdl_chain *const chain = make.chain;
    cudaStream_t stream, side;
    cudaEvent_t ready, done;
    host_part host = {nullptr, 0, 0};
    outcome found = {0, 0, 0, 0, 0};
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    assert_cuda(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    assert_cuda(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    assert_cuda(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    assert_cuda(cudaHostAlloc(&host.cells, bytes, cudaHostAllocDefault));

    /* Kernels alone. */
    const uint32_t first = make.add_step(chain);
    make.add_step(chain);
    make.add_step(chain);

    /* A memset; what it sets is filled after it was read. */
    unsigned *const zeros = array(cells);
    pdl_chain_node set = make.of_kind(PDL_NODE_MEMSET);
    set.destination = zeros;
    set.width = bytes;
    set.element_size = 4;
    make.node(chain, set);
    task reads = make.make_task(make.last);
    reads.from = make.links[2].work.to;
    reads.zeros = zeros;
    make.add(chain, reads);
    task fills = make.make_task(make.last);
    fills.scribble = zeros;
    make.add(chain, fills);

    /* Copies of one, two and three dimensions: 16 slices of 8 rows of 32 cells, with gaps between. */
    unsigned *const dense = array(cells);
    unsigned *const spaced = array(16 * 10 * 48);
    make.copy(chain, dense, make.last);
    pdl_chain_node copy = make.of_kind(PDL_NODE_COPY);
    copy.destination = spaced;
    copy.source = dense;
    copy.width = 32 * sizeof(unsigned);
    copy.height = 8;
    copy.depth = 16;
    copy.destination_pitch = 48 * sizeof(unsigned);
    copy.destination_rows = 10;
    make.node(chain, copy);
    unsigned *const packed = array(cells);
    for (unsigned slice = 0; slice < 16; slice++) { /* back by rows, one after the other */
        pdl_chain_node rows = make.of_kind(PDL_NODE_COPY);
        rows.destination = packed + slice * 8 * 32;
        rows.source = spaced + slice * 10 * 48;
        rows.width = 32 * sizeof(unsigned);
        rows.height = 8;
        rows.source_pitch = 48 * sizeof(unsigned);
        make.node(chain, rows);
    }
    make.last = packed;
    make.add_step(chain);

    /* A host function between a copy to the host and one back. */
    unsigned *const back = array(cells);
    pdl_chain_node call = make.of_kind(PDL_NODE_HOST);
    call.function = check_on_host;
    call.data = &host;
    make.copy(chain, host.cells, make.last);
    make.node(chain, call);
    make.copy(chain, back, host.cells);
    task after_host = make.make_task(back);
    after_host.from_plus = 1;
    make.add(chain, after_host);

    /* Events: the side stream writes before `ready`, and again only after `done`. */
    task side_work = make.make_task(back);
    unsigned *const side_cells = side_work.to;
    unsigned *const nothing = array(cells);
    side_work.from = nothing;
    side_work.from_times = 0;
    pdl_chain_node event = make.of_kind(PDL_NODE_EVENT_WAIT);
    event.event = ready;
    make.node(chain, event);
    make.last = side_cells;
    make.add_step(chain);
    event.kind = PDL_NODE_EVENT_RECORD;
    event.event = done;
    make.node(chain, event);
    make.add_step(chain);

    /* A graph. */
    cudaGraph_t graph;
    assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    make.launch(stream, false);
    make.launch(stream, true);
    assert_cuda(cudaStreamEndCapture(stream, &graph));
    pdl_chain_node whole = make.of_kind(PDL_NODE_GRAPH);
    whole.graph = graph;
    make.node(chain, whole);
    assert_cuda(cudaGraphDestroy(graph));
    make.add_step(chain);

    /* A capture, with a memset, a copy and a second stream. */
    assert_pdl(pdl_chain_capture_begin(chain, stream));
    make.launch(stream, true);
    make.launch(stream, true);
    unsigned *const copied = array(cells);
    assert_cuda(cudaMemsetAsync(copied, 0xee, bytes, stream));
    assert_cuda(cudaMemcpyAsync(copied, make.last, bytes, cudaMemcpyDeviceToDevice, stream));
    cudaEvent_t fork, join;
    assert_cuda(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    assert_cuda(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    assert_cuda(cudaEventRecord(fork, stream));
    assert_cuda(cudaStreamWaitEvent(side, fork, 0));
    make.last = copied;
    make.launch(side, false);
    assert_cuda(cudaEventRecord(join, side));
    assert_cuda(cudaStreamWaitEvent(stream, join, 0));
    make.launch(stream, false);
    assert_pdl(pdl_chain_capture_end(chain, nullptr));
    make.add_step(chain);

    /* An if that runs, and an else. */
    pdl_chain_node choice = make.of_kind(PDL_NODE_IF);
    pdl_chain *body = nullptr;
    std::vector<pdl_chain *> counted = {chain};
    choice.initial = 1;
    assert_pdl(pdl_chain_body(chain, make.node(chain, choice), 0, &body));
    counted.push_back(body);
    make.add_step(body);
    make.add_step(body);
    make.add_step(chain);
    choice.initial = 0;
    choice.bodies = 2;
    const uint32_t otherwise = make.node(chain, choice);
    assert_pdl(pdl_chain_body(chain, otherwise, 1, &body));
    counted.push_back(body);
    make.add_step(body);
    make.add_step(body);
    make.add_step(chain);

    /* A switch, of which the body in the middle runs. */
    choice = make.of_kind(PDL_NODE_SWITCH);
    choice.initial = 1;
    choice.bodies = 3;
    assert_pdl(pdl_chain_body(chain, make.node(chain, choice), 1, &body));
    counted.push_back(body);
    make.add_step(body);
    make.add_step(body);
    make.add_step(chain);

    /* A while: each iteration adds 2, in two steps. */
    pdl_chain_node loop = make.of_kind(PDL_NODE_WHILE);
    pdl_kernel *setter = nullptr;
    uint32_t sets = 0;
    loop.initial = 1;
    const uint32_t repeats = make.node(chain, loop);
    assert_pdl(pdl_chain_body(chain, repeats, 0, &body));
    counted.push_back(body);
    unsigned *const even = array(cells);
    const unsigned *const before_loop = make.last;
    task odd_step = make.make_task(even);
    odd_step.from_times = 2;
    odd_step.from_plus = -2;
    odd_step.to_times = 2;
    odd_step.to_plus = -1;
    make.add(body, odd_step, false);
    task even_step = make.make_task(odd_step.to);
    even_step.from_times = 2;
    even_step.from_plus = -1;
    even_step.to = even;
    even_step.to_times = 2;
    make.add(body, even_step, false);
    unsigned *const again_runs = array(1);
    const unsigned long long none = 0;
    const pdl_launch_desc one = pdl_launch_desc_make(1, 1, 0, nullptr, PDL_OVERLAP_AUTO);
    assert_pdl(pdl_kernel_from_symbol(again, &setter));
    assert_pdl(pdl_kernel_declare(setter, PDL_YES, PDL_YES));
    assert_pdl(pdl_chain_add(body, setter, &one, PDL_ARGS(none, again_runs), nullptr, 0, &sets));
    assert_pdl(pdl_chain_pass_condition(body, sets, 0, chain, repeats));
    task sums = make.make_task(even);
    sums.from_times = 2 * iterations;
    make.add(chain, sums);
    task goes_on = make.make_task(before_loop);
    make.add(chain, goes_on);

    /* The first link reads what the last one of the previous replay wrote. */
    task &begins = make.links[first].work;
    begins.from = make.last;
    begins.from_plus = -1;
    const unsigned zero = 0;
    assert_pdl(pdl_chain_set_args(chain, first, PDL_ARGS(begins, zero)));

    assert_pdl(pdl_chain_build(chain));
    for (pdl_chain *const part : counted) {
        pdl_census census = PDL_CENSUS_INIT;
        cudaGraph_t graph = nullptr;
        assert_pdl(pdl_chain_graph(part, &graph));
        assert_pdl(pdl_graph_census(graph, &census));
        found.nodes += census.nodes;
        found.kernels += census.kernels;
        found.programmatic += census.programmatic;
        found.full += census.full;
    }
    assert_cuda(cudaDeviceSynchronize());
    for (unsigned r = 1; r <= replays; r++) {
        for (unsigned i = 0; i < make.link_count; i++) {
            const numbered &of = make.links[i];
            if (of.is_set) {
                assert_pdl(pdl_chain_set_args(of.chain, of.link, PDL_ARGS(of.work, r)));
            }
        }
        assert_cuda(cudaStreamWaitEvent(side, done, 0));
        assert_pdl(
            pdl_launch_kernel(pdl_launch_desc_make(blocks, threads, 0, side, PDL_OVERLAP_NONE),
                              step<Waits>, side_work, 0u));
        assert_cuda(cudaEventRecord(ready, side));
        assert_pdl(pdl_chain_launch(chain, stream));
    }
    assert_cuda(cudaDeviceSynchronize());
    assert_cuda(cudaMemcpy(&found.stale, make.stale, sizeof(found.stale), cudaMemcpyDeviceToHost));
    print_message("%u replays: %u stale reads on the device, %u on the host\n", replays,
                  found.stale, host.stale);
    found.stale += host.stale;
    assert_int_equal(host.runs, replays);
    unsigned end = 0;
    assert_cuda(cudaMemcpy(&end, make.last, sizeof(end), cudaMemcpyDeviceToHost));
    assert_int_equal(end, replays);
    unsigned rounds = 0;
    assert_cuda(cudaMemcpy(&rounds, again_runs, sizeof(rounds), cudaMemcpyDeviceToHost));
    assert_int_equal(rounds, iterations * replays);
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(setter);
    pdl_kernel_destroy(make.kernel);
    assert_cuda(cudaFreeHost(host.cells));
    return found; /* the arrays end with the process */
}

static void write_result(unsigned replays, const outcome &found)
{
    const char *const path = getenv("PDL_TEST_JSON");
    if (path == nullptr) {
        return;
    }
    cudaDeviceProp device;
    assert_cuda(cudaGetDeviceProperties(&device, 0));
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "{\n \"device\": \"%s\",\n \"program\": \"gpu_chain_nodes_fault\",\n"
            " \"replays\": %u,\n \"nodes\": %u,\n \"kernels\": %u,\n"
            " \"programmatic_edges\": %u,\n \"full_edges\": %u,\n \"stale_reads\": %u\n}\n",
            device.name, replays, found.nodes, found.kernels, found.programmatic, found.full,
            found.stale);
    assert_int_equal(fclose(file), 0);
}

static void a_chain_with_every_kind_of_node_reads_nothing_stale(void **)
{
    const char *wanted = getenv("PDL_TEST_REPLAYS");
    const unsigned replays = wanted != nullptr          ? static_cast<unsigned>(atoi(wanted))
                             : kernels_are_serialized() ? 50
                                                        : 1000;
    const outcome found = replay<true>(replays);
    print_message("%u nodes, %u kernels, %u programmatic edges, %u full\n", found.nodes,
                  found.kernels, found.programmatic, found.full);
    write_result(replays, found);
    assert_int_equal(found.stale, 0);
    assert_true(found.programmatic >= 10);
}

static void the_same_chain_with_kernels_that_do_not_wait_is_caught(void **)
{
    const outcome found = replay<false>(100);
    assert_if_concurrent(found.stale != 0);
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_with_every_kind_of_node_reads_nothing_stale),
        cmocka_unit_test(the_same_chain_with_kernels_that_do_not_wait_is_caught),
    };
    const int unavailable = no_device();
    return unavailable != 0 ? unavailable : cmocka_run_group_tests(tests, NULL, NULL);
}
