/* SPDX-License-Identifier: MIT */
/* Chains of nodes that are not kernels: what each does, which edges it gets, and what CUDA refuses. */
#include "chain_nodes.cuh"

/* ---- memory ---------------------------------------------------------------------------------- */

static void a_memset_sets_what_its_fields_name(void **)
{
    unsigned short *const host = pinned<unsigned short>(64);
    pdl_chain_node set = of_kind(PDL_NODE_MEMSET);
    set.destination = host + 1;
    set.width = 3 * sizeof(unsigned short);
    set.height = 2;
    set.destination_pitch = 16;
    set.element_size = 2;
    set.value = 0xabcd;
    const uint32_t rows = add(chain, set);
    set.destination = host + 32;
    set.height = 0;
    set.destination_pitch = 0;
    const uint32_t line = add(chain, set);
    assert_pdl(pdl_chain_build(chain));
    run();
    for (unsigned i = 0; i < 64; i++) {
        const bool in = (i >= 1 && i < 4) || (i >= 9 && i < 12) || (i >= 32 && i < 35);
        assert_int_equal(host[i], in ? 0xabcd : 0);
    }
    set.destination = host + 40;
    const pdl_status moved = pdl_chain_set_node(chain, line, &set);
    set.value = 0x1234;
    const pdl_status revalued = pdl_chain_set_node(chain, line, &set);
    print_message("another address of a memset: %s; another value: %s\n", pdl_status_name(moved),
                  pdl_status_name(revalued));
    assert_int_equal(moved, PDL_SUCCESS);
    set.height = 3;
    set.destination_pitch = 32;
    assert_refused(pdl_chain_set_node(chain, line, &set), PDL_ERROR_REBUILD, "node");
    assert_true(rows != line);
    run();
    assert_int_equal(host[40], revalued == PDL_SUCCESS ? 0x1234 : 0xabcd);
    assert_cuda(cudaFreeHost(host));
}

static void copies_go_in_one_to_three_dimensions_and_to_any_memory(void **)
{
    unsigned *const host = pinned<unsigned>(1000);
    unsigned *pageable = static_cast<unsigned *>(calloc(1000, sizeof(unsigned)));
    unsigned *device = nullptr;
    unsigned *managed = nullptr;
    assert_cuda(cudaMalloc(&device, 1000 * sizeof(unsigned)));
    assert_cuda(cudaMallocManaged(&managed, 1000 * sizeof(unsigned)));
    assert_cuda(cudaMemset(device, 0, 1000 * sizeof(unsigned)));
    for (unsigned i = 0; i < 1000; i++) {
        pageable[i] = i;
    }
    pdl_chain_node copy = of_kind(PDL_NODE_COPY);
    copy.destination = device; /* 10 x 10 x 10, densely */
    copy.source = pageable;
    copy.width = 1000 * sizeof(unsigned);
    add(chain, copy);
    copy.destination = managed; /* 2 x 3 x 4 of it to its place */
    copy.source = device;
    copy.width = 2 * sizeof(unsigned);
    copy.height = 3;
    copy.depth = 4;
    copy.source_pitch = copy.destination_pitch = 10 * sizeof(unsigned);
    copy.source_rows = copy.destination_rows = 10;
    add(chain, copy);
    copy = of_kind(PDL_NODE_COPY);
    copy.destination = host;
    copy.source = managed;
    copy.width = 1000 * sizeof(unsigned);
    const uint32_t last = add(chain, copy);
    memset(managed, 0, 1000 * sizeof(unsigned));
    assert_pdl(pdl_chain_build(chain));
    run();
    for (unsigned i = 0; i < 1000; i++) {
        const bool in = i % 10 < 2 && i / 10 % 10 < 3 && i / 100 < 4;
        assert_int_equal(host[i], in ? i : 0);
    }
    copy.source = device;
    const pdl_status other_kind = pdl_chain_set_node(chain, last, &copy);
    copy.source = managed;
    copy.destination = host + 1;
    copy.width -= sizeof(unsigned);
    const pdl_status shorter = pdl_chain_set_node(chain, last, &copy);
    print_message("a source in other memory: %s; a shorter copy: %s\n", pdl_status_name(other_kind),
                  pdl_status_name(shorter));
    run(); /* whatever was accepted has an effect */
    if (shorter == PDL_SUCCESS) {
        assert_int_equal(host[1], managed[0]);
        assert_int_equal(host[999], managed[998]);
    }
    free(pageable);
    assert_cuda(cudaFree(device));
    assert_cuda(cudaFree(managed));
    assert_cuda(cudaFreeHost(host));
}

static void a_copy_of_more_than_four_gigabytes_is_whole(void **)
{
    const size_t count = (static_cast<size_t>(9) << 29) + 4; /* 4.5 GiB */
    unsigned char *from = nullptr;
    unsigned char *to = nullptr;
    unsigned char end[4] = {0};
    if (cudaMalloc(&from, count) != cudaSuccess || cudaMalloc(&to, count) != cudaSuccess) {
        (void)cudaGetLastError();
        (void)cudaFree(from);
        print_message("there is no memory for it\n");
        return;
    }
    pdl_chain_node set = of_kind(PDL_NODE_MEMSET);
    set.destination = from;
    set.width = count;
    set.value = 7;
    add(chain, set);
    pdl_chain_node copy = of_kind(PDL_NODE_COPY);
    copy.destination = to;
    copy.source = from;
    copy.width = count;
    add(chain, copy);
    assert_pdl(pdl_chain_build(chain));
    run();
    assert_cuda(cudaMemcpy(end, to + count - 4, 4, cudaMemcpyDeviceToHost));
    assert_int_equal(end[3], 7);
    assert_cuda(cudaFree(from));
    assert_cuda(cudaFree(to));
}

/* ---- host functions and events ---------------------------------------------------------------- */

static void count_one(void *data)
{
    ++*static_cast<int *>(data);
}

static void host_functions_and_events_can_be_changed(void **)
{
    int counts[2] = {0, 0};
    cudaEvent_t events[2];
    pdl_chain_node call = of_kind(PDL_NODE_HOST);
    pdl_chain_node event = of_kind(PDL_NODE_EVENT_RECORD);
    call.function = count_one;
    call.data = &counts[0];
    const uint32_t called = add(chain, call);
    assert_cuda(cudaEventCreate(&events[0]));
    assert_cuda(cudaEventCreate(&events[1]));
    event.event = events[0];
    const uint32_t recorded = add(chain, event);
    assert_pdl(pdl_chain_build(chain));
    run();
    assert_int_equal(counts[0], 1);
    assert_cuda(cudaEventSynchronize(events[0]));
    call.data = &counts[1];
    event.event = events[1];
    assert_pdl(pdl_chain_set_node(chain, called, &call));
    assert_pdl(pdl_chain_set_node(chain, recorded, &event));
    run();
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[1], 1);
    float ms = -1;
    assert_cuda(cudaEventElapsedTime(&ms, events[0], events[1])); /* so both were recorded */
    assert_true(ms > 0);
    assert_cuda(cudaEventDestroy(events[0]));
    assert_cuda(cudaEventDestroy(events[1]));
}

/* ---- overlap across links ---------------------------------------------------------------------- */

static pdl_kernel *producer;
static pdl_kernel *consumer;
static pair_record *pair;
static const pdl_launch_desc overlaps = pdl_launch_desc_make(1, 1, 0, nullptr, PDL_OVERLAP_AUTO);

static int make_pair(void **state)
{
    (void)make(state);
    pair = nullptr;
    assert_cuda(cudaMalloc(&pair, sizeof(*pair)));
    assert_pdl(pdl_kernel_from_symbol(pair_produce, &producer));
    assert_pdl(pdl_kernel_from_symbol(pair_consume, &consumer));
    assert_cuda(cudaFree(nullptr));
    return 0;
}

static int destroy_pair(void **state)
{
    (void)destroy(state);
    pdl_kernel_destroy(producer);
    pdl_kernel_destroy(consumer);
    assert_cuda(cudaFree(pair));
    return 0;
}

static uint32_t add_produce(unsigned value)
{
    uint32_t link = 0;
    assert_pdl(pdl_chain_add(chain, producer, &overlaps, PDL_ARGS(pair, value), nullptr, 0, &link));
    return link;
}

static void add_consume(void)
{
    assert_pdl(pdl_chain_add(chain, consumer, &overlaps, PDL_ARGS(pair), nullptr, 0, nullptr));
}

static std::vector<pair_record> replay(void)
{
    assert_pdl(pdl_chain_build(chain));
    return run_pairs(stream, pair, 5, [] { assert_pdl(pdl_chain_launch(chain, stream)); });
}

static void launch_in(cudaStream_t in, pdl_overlap overlap, bool produce, unsigned value)
{
    const pdl_launch_desc desc = pdl_launch_desc_make(1, 1, 0, in, overlap);
    assert_pdl(produce ? pdl_launch_kernel(desc, pair_produce, pair, value)
                       : pdl_launch_kernel(desc, pair_consume, pair));
}

static void a_captured_launch_overlaps_the_link_before_it(void **)
{
    add_produce(5);
    assert_pdl(pdl_chain_capture_begin(chain, stream));
    launch_in(stream, PDL_OVERLAP_REQUIRE, false, 0);
    assert_pdl(pdl_chain_capture_end(chain, nullptr));
    assert_overlapped_and_covered(replay(), 5);
    assert_int_equal(census_of(chain).programmatic, 1);
    assert_int_equal(census_of(chain).nodes, 2);
}

static void a_captured_launch_without_overlap_does_not(void **)
{
    add_produce(6);
    assert_pdl(pdl_chain_capture_begin(chain, stream));
    launch_in(stream, PDL_OVERLAP_NONE, false, 0);
    assert_pdl(pdl_chain_capture_end(chain, nullptr));
    assert_serial(replay(), 6);
    assert_int_equal(census_of(chain).full, 1);
}

static void a_link_overlaps_what_was_captured_before_it(void **)
{
    assert_pdl(pdl_chain_capture_begin(chain, stream));
    launch_in(stream, PDL_OVERLAP_NONE, true, 7);
    assert_pdl(pdl_chain_capture_end(chain, nullptr));
    add_consume();
    assert_overlapped_and_covered(replay(), 7);
    assert_int_equal(census_of(chain).programmatic, 1);
}

static void a_capture_overlaps_a_capture(void **)
{
    assert_pdl(pdl_chain_capture_begin(chain, stream));
    launch_in(stream, PDL_OVERLAP_NONE, true, 8);
    assert_pdl(pdl_chain_capture_end(chain, nullptr));
    assert_pdl(pdl_chain_capture_begin(chain, stream));
    launch_in(stream, PDL_OVERLAP_REQUIRE, false, 0);
    assert_pdl(pdl_chain_capture_end(chain, nullptr));
    assert_overlapped_and_covered(replay(), 8);
    assert_int_equal(census_of(chain).programmatic, 1);
}

static void a_link_overlaps_the_last_kernel_of_a_graph(void **)
{
    cudaGraph_t graph;
    pdl_chain_node node = of_kind(PDL_NODE_GRAPH);
    assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    launch_in(stream, PDL_OVERLAP_NONE, true, 9);
    assert_cuda(cudaStreamEndCapture(stream, &graph));
    node.graph = graph;
    add(chain, node);
    assert_cuda(cudaGraphDestroy(graph));
    add_consume();
    assert_overlapped_and_covered(replay(), 9);
    assert_int_equal(census_of(chain).nodes, 2);
}

static void an_event_record_between_two_links_is_not_waited_for(void **)
{
    cudaEvent_t recorded;
    pdl_chain_node event = of_kind(PDL_NODE_EVENT_RECORD);
    assert_cuda(cudaEventCreateWithFlags(&recorded, cudaEventDisableTiming));
    event.event = recorded;
    add_produce(10);
    add(chain, event);
    add_consume();
    assert_overlapped_and_covered(replay(), 10);
    assert_cuda(cudaEventDestroy(recorded));
}

static void a_memset_between_two_links_is_waited_for(void **)
{
    unsigned *const cell = pinned<unsigned>(1);
    pdl_chain_node set = of_kind(PDL_NODE_MEMSET);
    set.destination = cell;
    set.width = 4;
    add_produce(11);
    add(chain, set);
    add_consume();
    assert_serial(replay(), 11);
    assert_int_equal(census_of(chain).full_count, 1);
    assert_cuda(cudaFreeHost(cell));
}

static void a_link_may_depend_on_a_kernel_and_a_memset(void **)
{
    unsigned *const cell = pinned<unsigned>(1);
    pdl_chain_node set = of_kind(PDL_NODE_MEMSET);
    set.destination = cell;
    set.width = 4;
    const uint32_t makes = add_produce(12);
    const uint32_t sets = add(chain, set);
    add_consume();
    assert_pdl(pdl_chain_add_dependency(chain, sets, PDL_CHAIN_START));
    assert_pdl(pdl_chain_add_dependency(chain, 2, sets));
    assert_pdl(pdl_chain_add_dependency(chain, 2, makes));
    /* The driver starts the consumer after the producer's end all the same: nothing to win. */
    for (const pair_record &found : replay()) {
        assert_ran(found, 12);
        assert_true(covered(found));
    }
    assert_int_equal(census_of(chain).programmatic, 1);
    assert_int_equal(census_of(chain).full, 1);
    assert_cuda(cudaFreeHost(cell));
}

/* ---- conditionals ------------------------------------------------------------------------------ */

static __global__ void count_down(cudaGraphConditionalHandle condition, unsigned *left,
                                  unsigned step)
{
    PDL_WAIT();
    left[1] += step;
    cudaGraphSetConditional(condition, --left[0] != 0);
    PDL_LAUNCH_DEPENDENTS();
}

static __global__ void add_up(unsigned *cell, unsigned step)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    *cell += step;
}

static void loop(pdl_overlap overlap)
{
    unsigned *const cells = pinned<unsigned>(4);
    pdl_kernel *down = nullptr;
    pdl_kernel *up = nullptr;
    pdl_chain *body = nullptr;
    const unsigned long long none = 0;
    unsigned one = 1;
    uint32_t sets = 0;
    uint32_t adds = 0;
    const pdl_launch_desc desc = pdl_launch_desc_make(1, 1, 0, nullptr, overlap);
    pdl_chain_node node = of_kind(PDL_NODE_WHILE);
    unsigned *const cell = cells + 2;
    assert_pdl(pdl_kernel_from_symbol(count_down, &down));
    assert_pdl(pdl_kernel_from_symbol(add_up, &up));
    assert_pdl(pdl_kernel_declare(down, PDL_YES, PDL_YES));
    node.initial = 1;
    const uint32_t link = add(chain, node);
    assert_pdl(pdl_chain_body(chain, link, 0, &body));
    assert_pdl(pdl_chain_add(body, up, &desc, PDL_ARGS(cell, one), nullptr, 0, &adds));
    assert_pdl(pdl_chain_add(body, up, &desc, PDL_ARGS(cell, one), nullptr, 0, nullptr));
    assert_pdl(pdl_chain_add(body, down, &desc, PDL_ARGS(none, cells, one), nullptr, 0, &sets));
    assert_pdl(pdl_chain_pass_condition(body, sets, 0, chain, link));
    assert_pdl(pdl_chain_build(chain));
    cells[0] = 5;
    run();
    assert_int_equal(cells[0], 0);
    assert_int_equal(cells[1], 5);
    assert_int_equal(cells[2], 10);
    assert_int_equal(census_of(chain).nodes, 1);
    assert_int_equal(census_of(body).nodes, 3);
    assert_int_equal(census_of(body).programmatic, overlap == PDL_OVERLAP_NONE ? 0 : 2);
    one = 3; /* arguments of a link in a body */
    assert_pdl(pdl_chain_set_args(body, adds, PDL_ARGS(cell, one)));
    assert_pdl(pdl_chain_set_args(body, sets, PDL_ARGS(none, cells, one)));
    cells[0] = 2;
    run();
    assert_int_equal(cells[2], 10 + 2 * (3 + 1));
    assert_int_equal(cells[1], 5 + 2 * 3);
    pdl_kernel_destroy(down);
    pdl_kernel_destroy(up);
    assert_cuda(cudaFreeHost(cells));
}

static void a_while_runs_until_its_condition_is_zero(void **)
{
    loop(PDL_OVERLAP_NONE);
}

static void a_while_with_programmatic_edges_does_the_same(void **)
{
    loop(PDL_OVERLAP_AUTO);
}

static void an_if_is_decided_by_a_link_before_it(void **)
{
    unsigned *const cells = pinned<unsigned>(4);
    pdl_kernel *down = nullptr;
    pdl_kernel *up = nullptr;
    pdl_chain *body = nullptr;
    const unsigned long long none = 0;
    const unsigned one = 1;
    uint32_t sets = 0;
    const pdl_launch_desc desc = pdl_launch_desc_make(1, 1, 0, nullptr, PDL_OVERLAP_NONE);
    pdl_chain_node node = of_kind(PDL_NODE_IF);
    assert_pdl(pdl_kernel_from_symbol(count_down, &down));
    assert_pdl(pdl_kernel_from_symbol(add_up, &up));
    assert_pdl(pdl_chain_add(chain, down, &desc, PDL_ARGS(none, cells, one), nullptr, 0, &sets));
    node.bodies = 2;
    const uint32_t link = add(chain, node);
    for (unsigned i = 0; i < 2; i++) {
        unsigned *const cell = cells + 2 + i;
        assert_pdl(pdl_chain_body(chain, link, i, &body));
        assert_pdl(pdl_chain_add(body, up, &desc, PDL_ARGS(cell, one), nullptr, 0, nullptr));
    }
    assert_pdl(pdl_chain_pass_condition(chain, sets, 0, chain, link));
    assert_pdl(pdl_chain_build(chain));
    for (unsigned left = 3; left > 0; left--) { /* twice not 0 afterwards, then 0 */
        cells[0] = left;
        run();
    }
    assert_int_equal(cells[2], 2);
    assert_int_equal(cells[3], 1);
    pdl_kernel_destroy(down);
    pdl_kernel_destroy(up);
    assert_cuda(cudaFreeHost(cells));
}

static __global__ void choose(cudaGraphConditionalHandle condition, const unsigned *which)
{
    PDL_WAIT();
    cudaGraphSetConditional(condition, *which);
    PDL_LAUNCH_DEPENDENTS();
}

static void a_switch_runs_the_body_whose_index_is_its_condition(void **)
{
    static const unsigned conditions[] = {0, 3, 2, 1, 2, 4, ~0u};
    unsigned *const cells = pinned<unsigned>(8); /* the condition, and one per body and behind */
    pdl_kernel *chooses = nullptr;
    pdl_kernel *up = nullptr;
    const unsigned long long none = 0;
    unsigned one = 1;
    unsigned expected[8] = {0};
    uint32_t sets = 0;
    pdl_chain *bodies[4];
    const pdl_launch_desc desc = pdl_launch_desc_make(1, 1, 0, nullptr, PDL_OVERLAP_AUTO);
    pdl_chain_node node = of_kind(PDL_NODE_SWITCH);
    assert_pdl(pdl_kernel_from_symbol(choose, &chooses));
    assert_pdl(pdl_kernel_declare(chooses, PDL_YES, PDL_YES));
    assert_pdl(pdl_kernel_from_symbol(add_up, &up));
    assert_pdl(pdl_kernel_declare(up, PDL_YES, PDL_YES));
    assert_pdl(pdl_chain_add(chain, chooses, &desc, PDL_ARGS(none, cells), nullptr, 0, &sets));
    node.bodies = 4;
    const uint32_t link = add(chain, node);
    for (unsigned i = 0; i < 4; i++) {
        unsigned *const cell = cells + 1 + i;
        assert_pdl(pdl_chain_body(chain, link, i, &bodies[i]));
        for (unsigned times = 0; i != 1 && times < 2; times++) { /* body 1 is empty */
            assert_pdl(
                pdl_chain_add(bodies[i], up, &desc, PDL_ARGS(cell, one), nullptr, 0, nullptr));
        }
    }
    unsigned *const behind = cells + 5;
    assert_pdl(pdl_chain_add(chain, up, &desc, PDL_ARGS(behind, one), nullptr, 0, nullptr));
    assert_pdl(pdl_chain_pass_condition(chain, sets, 0, chain, link));
    assert_pdl(pdl_chain_build(chain));
    assert_int_equal(census_of(chain).nodes, 3);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(census_of(bodies[i]).nodes, i == 1 ? 0 : 2);
        assert_int_equal(census_of(bodies[i]).programmatic, i == 1 ? 0 : 1);
    }
    for (const unsigned condition : conditions) {
        if (condition == 1) { /* from here on, body 2 adds 1 and 10 */
            unsigned *const cell = cells + 3;
            one = 10;
            assert_pdl(pdl_chain_set_args(bodies[2], 1, PDL_ARGS(cell, one)));
        }
        cells[0] = condition;
        run();
        if (condition < 4 && condition != 1) {
            expected[1 + condition] += 1 + (condition == 2 ? one : 1);
        }
        expected[5]++;
        for (unsigned i = 1; i < 6; i++) {
            assert_int_equal(cells[i], expected[i]);
        }
    }
    pdl_kernel_destroy(chooses);
    pdl_kernel_destroy(up);
    assert_cuda(cudaFreeHost(cells));
}

static void the_kernels_of_a_body_overlap(void **)
{
    pdl_chain *body = nullptr;
    pdl_chain_node node = of_kind(PDL_NODE_IF);
    const unsigned value = 13;
    unsigned early = 0;
    node.initial = 1;
    assert_pdl(pdl_chain_body(chain, add(chain, node), 0, &body));
    assert_pdl(
        pdl_chain_add(body, producer, &overlaps, PDL_ARGS(pair, value), nullptr, 0, nullptr));
    assert_pdl(pdl_chain_add(body, consumer, &overlaps, PDL_ARGS(pair), nullptr, 0, nullptr));
    for (const pair_record &found : replay()) {
        assert_ran(found, value);
        assert_true(covered(found));
        early += overlapped(found);
    }
    print_message("in a body, %u of 5 consumers started early\n", early);
}

static void a_capture_into_a_body_runs_in_it(void **)
{
    unsigned *const cells = pinned<unsigned>(4);
    pdl_chain *body = nullptr;
    pdl_chain_node node = of_kind(PDL_NODE_IF);
    node.initial = 1;
    assert_pdl(pdl_chain_body(chain, add(chain, node), 0, &body));
    assert_pdl(pdl_chain_capture_begin(body, stream));
    add_up<<<1, 1, 0, stream>>>(cells, 2u);
    assert_cuda(cudaMemcpyAsync(cells + 1, cells, sizeof(*cells), cudaMemcpyDefault, stream));
    assert_pdl(pdl_chain_capture_end(body, nullptr));
    assert_pdl(pdl_chain_build(chain));
    run();
    assert_int_equal(cells[1], 2);
    assert_cuda(cudaFreeHost(cells));
}

/* ---- what is refused ---------------------------------------------------------------------------- */

static void a_capture_that_a_call_breaks_leaves_the_chain_as_it_was(void **)
{
    unsigned *const cell = pinned<unsigned>(1);
    pdl_chain_node set = of_kind(PDL_NODE_MEMSET);
    set.destination = cell;
    set.width = 1;
    set.value = 9;
    add(chain, set);
    assert_pdl(pdl_chain_capture_begin(chain, stream));
    add_up<<<1, 1, 0, stream>>>(cell, 1u);
    assert_int_not_equal(cudaStreamSynchronize(stream), cudaSuccess); /* which breaks it */
    (void)cudaGetLastError();
    assert_refused(pdl_chain_capture_end(chain, nullptr), PDL_ERROR_CAPTURE, nullptr);
    print_message("%s\n", pdl_last_error()->message);
    assert_pdl(pdl_chain_build(chain));
    run();
    assert_int_equal(*cell, 9);
    assert_pdl(pdl_chain_capture_begin(chain, stream)); /* and again, well */
    add_up<<<1, 1, 0, stream>>>(cell, 1u);
    assert_pdl(pdl_chain_capture_end(chain, nullptr));
    assert_pdl(pdl_chain_build(chain));
    run();
    assert_int_equal(*cell, 10);
    assert_cuda(cudaFreeHost(cell));
}

static void a_stream_that_was_not_joined_breaks_a_capture(void **)
{
    cudaStream_t other;
    cudaEvent_t fork;
    unsigned *const cell = pinned<unsigned>(1);
    assert_cuda(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    assert_cuda(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    assert_pdl(pdl_chain_capture_begin(chain, stream));
    assert_cuda(cudaEventRecord(fork, stream));
    assert_cuda(cudaStreamWaitEvent(other, fork, 0));
    add_up<<<1, 1, 0, other>>>(cell, 1u);
    assert_refused(pdl_chain_capture_end(chain, nullptr), PDL_ERROR_CAPTURE, nullptr);
    print_message("%s\n", pdl_last_error()->message);
    assert_cuda(cudaStreamDestroy(other));
    assert_cuda(cudaEventDestroy(fork));
    assert_cuda(cudaFreeHost(cell));
}

static void a_capture_that_another_call_ends_is_reported(void **)
{
    cudaGraph_t graph = nullptr;
    assert_pdl(pdl_chain_capture_begin(chain, stream));
    assert_cuda(cudaStreamEndCapture(stream, &graph));
    assert_refused(pdl_chain_capture_end(chain, nullptr), PDL_ERROR_CAPTURE, nullptr);
    assert_refused(pdl_chain_build(chain), PDL_ERROR_NOT_BUILT, nullptr);
}

static void memory_that_is_allocated_in_a_capture_is_refused(void **)
{
    void *memory = nullptr;
    assert_pdl(pdl_chain_capture_begin(chain, stream));
    assert_cuda(cudaMallocAsync(&memory, 1024, stream));
    assert_cuda(cudaFreeAsync(memory, stream));
    assert_refused(pdl_chain_capture_end(chain, nullptr), PDL_ERROR_NOT_SUPPORTED, nullptr);
    print_message("%s\n", pdl_last_error()->message);
}

static void a_chain_destroyed_while_it_captures_frees_the_stream(void **)
{
    pdl_chain *other = nullptr;
    assert_pdl(pdl_chain_create(nullptr, &other));
    assert_pdl(pdl_chain_capture_begin(other, stream));
    pdl_chain_destroy(other);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
    assert_cuda(cudaStreamIsCapturing(stream, &status));
    assert_int_equal(status, cudaStreamCaptureStatusNone);
}

#define TEST(function)      cmocka_unit_test_setup_teardown(function, make, destroy)
#define PAIR_TEST(function) cmocka_unit_test_setup_teardown(function, make_pair, destroy_pair)

int main()
{
    const struct CMUnitTest tests[] = {
        TEST(a_memset_sets_what_its_fields_name),
        TEST(copies_go_in_one_to_three_dimensions_and_to_any_memory),
        TEST(a_copy_of_more_than_four_gigabytes_is_whole),
        TEST(host_functions_and_events_can_be_changed),
        PAIR_TEST(a_captured_launch_overlaps_the_link_before_it),
        PAIR_TEST(a_captured_launch_without_overlap_does_not),
        PAIR_TEST(a_link_overlaps_what_was_captured_before_it),
        PAIR_TEST(a_capture_overlaps_a_capture),
        PAIR_TEST(a_link_overlaps_the_last_kernel_of_a_graph),
        PAIR_TEST(an_event_record_between_two_links_is_not_waited_for),
        PAIR_TEST(a_memset_between_two_links_is_waited_for),
        PAIR_TEST(a_link_may_depend_on_a_kernel_and_a_memset),
        TEST(a_while_runs_until_its_condition_is_zero),
        TEST(a_while_with_programmatic_edges_does_the_same),
        PAIR_TEST(the_kernels_of_a_body_overlap),
        TEST(an_if_is_decided_by_a_link_before_it),
        TEST(a_switch_runs_the_body_whose_index_is_its_condition),
        TEST(a_capture_into_a_body_runs_in_it),
        TEST(a_capture_that_a_call_breaks_leaves_the_chain_as_it_was),
        TEST(a_stream_that_was_not_joined_breaks_a_capture),
        TEST(a_capture_that_another_call_ends_is_reported),
        TEST(memory_that_is_allocated_in_a_capture_is_refused),
        TEST(a_chain_destroyed_while_it_captures_frees_the_stream),
    };
    const int unavailable = no_device();
    return unavailable != 0 ? unavailable : cmocka_run_group_tests(tests, NULL, NULL);
}
