/* SPDX-License-Identifier: MIT */
/* Replays of a chain with every kind of node under fault injection. Compiled with -DPDL_FAULT_INJECT: after its
 * trigger each block sleeps before it writes. */
#include "graph_test.cuh"

#ifndef PDL_FAULT_INJECT
#error "this test is compiled with -DPDL_FAULT_INJECT"
#endif

static const unsigned blocks = 32;
static const unsigned threads = 128;
static const unsigned length = blocks * threads;
static const size_t bytes = length * sizeof(unsigned);
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
    const unsigned other = (own + length / 2 + 1) % length;
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
    for (unsigned i = 0; i < length; i++) {
        part->stale += part->cells[i] != part->runs;
        part->cells[i] = part->runs + 1; /* which is copied back */
    }
}

/* ---- making the chain ------------------------------------------------------------------------ */

/* As device_memory(), but also while a stream is capturing. */
static unsigned *array(size_t count)
{
    unsigned *made = nullptr;
    assert_cuda(cudaMalloc(&made, count * sizeof(unsigned)));
    undo_later([made] { (void)cudaFree(made); });
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
    pdl_kernel *const kernel = kernel_of(step<Waits>);
    unsigned *const stale = array(1);
    unsigned *last = array(length); /* what the last link of all wrote */
    std::vector<numbered> links;

    task make_task(const unsigned *from)
    {
        return task{from, 1, 0, last = array(length), 1, 0, nullptr, nullptr, array(blocks), stale};
    }

    uint32_t add_task(pdl_chain *to, const task &work, bool is_set = true)
    {
        uint32_t link = 0;
        unsigned number = 0;
        const pdl_launch_desc desc =
            pdl_launch_desc_make(blocks, threads, 0, nullptr, PDL_OVERLAP_AUTO);
        assert_pdl(pdl_chain_add(to, kernel, &desc, PDL_ARGS(work, number), nullptr, 0, &link));
        links.push_back({to, link, work, is_set});
        return link;
    }

    uint32_t add_step(pdl_chain *to)
    {
        return add_task(to, make_task(last));
    }

    /* Of a conditional: a body with two steps. */
    pdl_chain *add_body(const pdl_chain_node &conditional, unsigned index)
    {
        pdl_chain *body = nullptr;
        assert_pdl(pdl_chain_body(chain, add(chain, conditional), index, &body));
        add_step(body);
        add_step(body);
        add_step(chain);
        return body;
    }

    /* A launch in a stream, as other code makes it: its number is not set. */
    void launch(cudaStream_t in, bool overlaps)
    {
        cudaLaunchAttribute attribute = {};
        cudaLaunchConfig_t config = {};
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        config.gridDim = blocks;
        config.blockDim = threads;
        config.stream = in;
        config.attrs = &attribute;
        config.numAttrs = overlaps ? 1 : 0;
        assert_cuda(cudaLaunchKernelEx(&config, step<Waits>, make_task(last), 0u));
    }
};

static uint32_t add_copy(void *destination, const void *source)
{
    pdl_chain_node made = of_kind(PDL_NODE_COPY);
    made.destination = destination;
    made.source = source;
    made.width = bytes;
    return add(chain, made);
}

/* Returns how many reads were stale, and in `programmatic` such edges of all graphs. */
template <bool Waits> static unsigned run_chain(unsigned replays, unsigned *programmatic)
{
    maker<Waits> make;
    const cudaStream_t side = other_stream;
    const cudaEvent_t ready = new_event(), done = new_event();
    host_part host = {shared_memory<unsigned>(length), 0, 0};
    assert_pdl(pdl_kernel_declare(make.kernel, PDL_YES, PDL_YES)); /* true or not */

    /* Kernels alone. */
    const uint32_t first = make.add_step(chain);
    make.add_step(chain);
    make.add_step(chain);

    /* A memset; what it sets is filled after it was read. */
    unsigned *const zeros = array(length);
    pdl_chain_node set = of_kind(PDL_NODE_MEMSET);
    set.destination = zeros;
    set.width = bytes;
    set.element_size = 4;
    add(chain, set);
    task reads = make.make_task(make.last);
    reads.from = make.links[2].work.to;
    reads.zeros = zeros;
    make.add_task(chain, reads);
    task fills = make.make_task(make.last);
    fills.scribble = zeros;
    make.add_task(chain, fills);

    /* Copies of one, two and three dimensions: 16 slices of 8 rows of 32 cells, with gaps between. */
    unsigned *const dense = array(length);
    unsigned *const spaced = array(16 * 10 * 48);
    add_copy(dense, make.last);
    pdl_chain_node copy = of_kind(PDL_NODE_COPY);
    copy.destination = spaced;
    copy.source = dense;
    copy.width = 32 * sizeof(unsigned);
    copy.height = 8;
    copy.depth = 16;
    copy.destination_pitch = 48 * sizeof(unsigned);
    copy.destination_rows = 10;
    add(chain, copy);
    unsigned *const packed = array(length);
    for (unsigned slice = 0; slice < 16; slice++) { /* back by rows, one after the other */
        pdl_chain_node rows = of_kind(PDL_NODE_COPY);
        rows.destination = packed + slice * 8 * 32;
        rows.source = spaced + slice * 10 * 48;
        rows.width = 32 * sizeof(unsigned);
        rows.height = 8;
        rows.source_pitch = 48 * sizeof(unsigned);
        add(chain, rows);
    }
    make.last = packed;
    make.add_step(chain);

    /* A host function between a copy to the host and one back. */
    unsigned *const back = array(length);
    pdl_chain_node call = of_kind(PDL_NODE_HOST);
    call.function = check_on_host;
    call.data = &host;
    add_copy(host.cells, make.last);
    add(chain, call);
    add_copy(back, host.cells);
    task after_host = make.make_task(back);
    after_host.from_plus = 1;
    make.add_task(chain, after_host);

    /* Events: the side stream writes before `ready`, and again only after `done`. */
    task side_work = make.make_task(array(length));
    side_work.from_times = 0;
    pdl_chain_node event = of_kind(PDL_NODE_EVENT_WAIT);
    event.event = ready;
    add(chain, event);
    make.last = side_work.to;
    make.add_step(chain);
    event.kind = PDL_NODE_EVENT_RECORD;
    event.event = done;
    add(chain, event);
    make.add_step(chain);

    /* A graph. */
    pdl_chain_node whole = of_kind(PDL_NODE_GRAPH);
    whole.graph = capture(
        [&] {
            make.launch(stream, false);
            make.launch(stream, true);
        },
        cudaStreamCaptureModeRelaxed);
    add(chain, whole);
    make.add_step(chain);

    /* A capture, with a memset, a copy and a second stream. */
    const cudaEvent_t fork = new_event(), join = new_event();
    unsigned *const copied = array(length);
    assert_pdl(pdl_chain_capture_begin(chain, stream));
    make.launch(stream, true);
    make.launch(stream, true);
    assert_cuda(cudaMemsetAsync(copied, 0xee, bytes, stream));
    assert_cuda(cudaMemcpyAsync(copied, make.last, bytes, cudaMemcpyDeviceToDevice, stream));
    assert_cuda(cudaEventRecord(fork, stream));
    assert_cuda(cudaStreamWaitEvent(side, fork, 0));
    make.last = copied;
    make.launch(side, false);
    assert_cuda(cudaEventRecord(join, side));
    assert_cuda(cudaStreamWaitEvent(stream, join, 0));
    make.launch(stream, false);
    assert_pdl(pdl_chain_capture_end(chain, nullptr));
    make.add_step(chain);

    /* An if that runs, an else, and a switch of which the body in the middle runs. */
    std::vector<pdl_chain *> counted = {chain};
    pdl_chain_node choice = of_kind(PDL_NODE_IF);
    choice.initial = 1;
    counted.push_back(make.add_body(choice, 0));
    choice.initial = 0;
    choice.bodies = 2;
    counted.push_back(make.add_body(choice, 1));
    choice = of_kind(PDL_NODE_SWITCH);
    choice.initial = 1;
    choice.bodies = 3;
    counted.push_back(make.add_body(choice, 1));

    /* A while: each iteration adds 2, in two steps. */
    pdl_chain_node loop = of_kind(PDL_NODE_WHILE);
    pdl_kernel *const setter = kernel_of(again);
    pdl_chain *body = nullptr;
    loop.initial = 1;
    const uint32_t repeats = add(chain, loop);
    assert_pdl(pdl_chain_body(chain, repeats, 0, &body));
    counted.push_back(body);
    unsigned *const even = array(length);
    const unsigned *const before_loop = make.last;
    task odd_step = make.make_task(even);
    odd_step.from_times = 2;
    odd_step.from_plus = -2;
    odd_step.to_times = 2;
    odd_step.to_plus = -1;
    make.add_task(body, odd_step, false);
    task even_step = make.make_task(odd_step.to);
    even_step.from_times = 2;
    even_step.from_plus = -1;
    even_step.to = even;
    even_step.to_times = 2;
    make.add_task(body, even_step, false);
    unsigned *const again_runs = array(1);
    const unsigned long long none = 0;
    assert_pdl(pdl_kernel_declare(setter, PDL_YES, PDL_YES));
    const uint32_t sets = add_link(body, setter, PDL_OVERLAP_AUTO, PDL_ARGS(none, again_runs));
    assert_pdl(pdl_chain_pass_condition(body, sets, 0, chain, repeats));
    task sums = make.make_task(even);
    sums.from_times = 2 * iterations;
    make.add_task(chain, sums);
    make.add_task(chain, make.make_task(before_loop));

    /* The first link reads what the last one of the previous replay wrote. */
    task &begins = make.links[first].work;
    begins.from = make.last;
    begins.from_plus = -1;
    const unsigned zero = 0;
    assert_pdl(pdl_chain_set_args(chain, first, PDL_ARGS(begins, zero)));

    assert_pdl(pdl_chain_build(chain));
    *programmatic = 0;
    for (pdl_chain *const part : counted) {
        *programmatic += census_of(part).programmatic;
    }
    assert_cuda(cudaDeviceSynchronize());
    for (unsigned r = 1; r <= replays; r++) {
        for (const numbered &of : make.links) {
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
    const unsigned stale = content(make.stale);
    print_message("%u replays: %u stale reads on the device, %u on the host\n", replays, stale,
                  host.stale);
    assert_int_equal(host.runs, replays);
    assert_int_equal(content(make.last), replays);
    assert_int_equal(content(again_runs), iterations * replays);
    return stale + host.stale;
}

TEST(a_chain_with_every_kind_of_node_reads_nothing_stale)
{
    unsigned programmatic = 0;
    const unsigned replays = kernels_are_serialized() ? 50 : 1000;
    assert_int_equal(run_chain<true>(replays, &programmatic), 0);
    assert_true(programmatic >= 10);
}

TEST(the_same_chain_with_kernels_that_do_not_wait_is_caught)
{
    unsigned programmatic = 0;
    assert_if_concurrent(run_chain<false>(100, &programmatic) != 0);
}

int main()
{
    return run_gpu_tests(set_up);
}
