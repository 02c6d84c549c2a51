/* SPDX-License-Identifier: MIT */
/* Chains of nodes that are not kernels: what each does, which edges it gets, and what CUDA refuses. */
#include "graph_test.cuh"

/* ---- memory ---------------------------------------------------------------------------------- */

TEST(a_memset_sets_what_its_fields_name)
{
    unsigned short *const host = shared_memory<unsigned short>(64);
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
    replay();
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
    replay();
    assert_int_equal(host[40], revalued == PDL_SUCCESS ? 0x1234 : 0xabcd);
}

TEST(copies_go_in_one_to_three_dimensions_and_to_any_memory)
{
    unsigned *const host = shared_memory<unsigned>(1000);
    unsigned *const device = device_memory<unsigned>(1000);
    unsigned *managed = nullptr;
    static unsigned pageable[1000];
    assert_cuda(cudaMallocManaged(&managed, 1000 * sizeof(unsigned)));
    undo_later([=] { (void)cudaFree(managed); });
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
    replay();
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
    replay(); /* whatever was accepted has an effect */
    if (shorter == PDL_SUCCESS) {
        assert_int_equal(host[1], managed[0]);
        assert_int_equal(host[999], managed[998]);
    }
}

TEST(a_copy_of_more_than_four_gigabytes_is_whole)
{
    const size_t count = (static_cast<size_t>(9) << 29) + 4; /* 4.5 GiB */
    unsigned char *from = nullptr;
    unsigned char *to = nullptr;
    if (cudaMalloc(&from, count) != cudaSuccess || cudaMalloc(&to, count) != cudaSuccess) {
        (void)cudaGetLastError();
        (void)cudaFree(from);
        print_message("there is no memory for it\n");
        return;
    }
    undo_later([=] { (void)cudaFree(from), (void)cudaFree(to); });
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
    replay();
    assert_int_equal(content(to + count - 1), 7);
}

/* ---- host functions and events ---------------------------------------------------------------- */

static void count_one(void *data)
{
    ++*static_cast<int *>(data);
}

TEST(host_functions_and_events_can_be_changed)
{
    int counts[2] = {0, 0};
    cudaEvent_t events[2] = {new_event(cudaEventDefault), new_event(cudaEventDefault)};
    pdl_chain_node call = of_kind(PDL_NODE_HOST);
    pdl_chain_node event = of_kind(PDL_NODE_EVENT_RECORD);
    call.function = count_one;
    call.data = &counts[0];
    const uint32_t called = add(chain, call);
    event.event = events[0];
    const uint32_t recorded = add(chain, event);
    assert_pdl(pdl_chain_build(chain));
    replay();
    assert_int_equal(counts[0], 1);
    assert_cuda(cudaEventSynchronize(events[0]));
    call.data = &counts[1];
    event.event = events[1];
    assert_pdl(pdl_chain_set_node(chain, called, &call));
    assert_pdl(pdl_chain_set_node(chain, recorded, &event));
    replay();
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[1], 1);
    float ms = -1;
    assert_cuda(cudaEventElapsedTime(&ms, events[0], events[1])); /* so both were recorded */
    assert_true(ms > 0);
}

/* ---- overlap across links ---------------------------------------------------------------------- */

static void capture_into(pdl_chain *to, void (*work)(void))
{
    assert_pdl(pdl_chain_capture_begin(to, stream));
    work();
    assert_pdl(pdl_chain_capture_end(to, nullptr));
}

static void captured_first(void)
{
    capture_into(chain, [] { launch_first(5); });
}

static void captured_second(void)
{
    capture_into(chain, [] { launch_second(PDL_OVERLAP_REQUIRE); });
}

static void captured_serially(void)
{
    capture_into(chain, [] { launch_second(PDL_OVERLAP_NONE); });
}

static void first(void)
{
    add_first(5);
}

static void second(void)
{
    add_second(PDL_OVERLAP_AUTO);
}

static void graph_of_first(void)
{
    pdl_chain_node node = of_kind(PDL_NODE_GRAPH);
    node.graph = capture([] { launch_first(5); }, cudaStreamCaptureModeRelaxed);
    add(chain, node);
}

static void first_and_event(void)
{
    pdl_chain_node event = of_kind(PDL_NODE_EVENT_RECORD);
    event.event = new_event();
    first();
    add(chain, event);
}

static uint32_t add_memset(void)
{
    pdl_chain_node set = of_kind(PDL_NODE_MEMSET);
    set.destination = cells;
    set.width = 4;
    return add(chain, set);
}

static void first_and_memset(void)
{
    first();
    add_memset();
}

static const struct {
    const char *name;
    void (*first)(void), (*second)(void);
    bool overlaps;
    unsigned nodes;
} pairs[] = {
    {"a captured launch overlaps the link before it", first, captured_second, true, 2},
    {"a captured launch without overlap does not", first, captured_serially, false, 2},
    {"a link overlaps what was captured before it", captured_first, second, true, 2},
    {"a capture overlaps a capture", captured_first, captured_second, true, 2},
    {"a link overlaps the last kernel of a graph", graph_of_first, second, true, 2},
    {"an event record between two links is not waited for", first_and_event, second, true, 3},
    {"a memset between two links is waited for", first_and_memset, second, false, 3},
};

TEST_ROWS(overlap_across_links, pairs)
{
    row.first();
    row.second();
    const std::vector<pair_record> runs = replay_pairs();
    row.overlaps ? assert_overlapped_and_covered(runs, 5) : assert_serial(runs, 5);
    assert_int_equal(census_of(chain).programmatic, row.overlaps ? 1 : 0);
    assert_int_equal(census_of(chain).nodes, row.nodes);
}

TEST(a_link_may_depend_on_a_kernel_and_a_memset)
{
    const uint32_t makes = add_first(12);
    const uint32_t sets = add_memset();
    const uint32_t reads = add_second(PDL_OVERLAP_AUTO);
    assert_pdl(pdl_chain_add_dependency(chain, sets, PDL_CHAIN_START));
    assert_pdl(pdl_chain_add_dependency(chain, reads, sets));
    assert_pdl(pdl_chain_add_dependency(chain, reads, makes));
    /* The driver starts the consumer after the producer's end all the same: nothing to win. */
    for (const pair_record &found : replay_pairs()) {
        assert_ran(found, 12);
        assert_true(covered(found));
    }
    assert_int_equal(census_of(chain).programmatic, 1);
    assert_int_equal(census_of(chain).full, 1);
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

static const unsigned long long none =
    0; /* in a condition's place, which pdl_chain_pass_condition() sets */

static const struct {
    const char *name;
    pdl_overlap overlap;
} loops[] = {{"a while runs until its condition is zero", PDL_OVERLAP_NONE},
             {"a while with programmatic edges does the same", PDL_OVERLAP_AUTO}};

TEST_ROWS(a_while, loops)
{
    unsigned *const left = shared_memory<unsigned>(4);
    unsigned *const cell = left + 2;
    pdl_kernel *const down = kernel_of(count_down);
    pdl_kernel *const up = kernel_of(add_up);
    pdl_chain *body = nullptr;
    unsigned one = 1;
    pdl_chain_node node = of_kind(PDL_NODE_WHILE);
    assert_pdl(pdl_kernel_declare(down, PDL_YES, PDL_YES));
    node.initial = 1;
    const uint32_t link = add(chain, node);
    assert_pdl(pdl_chain_body(chain, link, 0, &body));
    const uint32_t adds = add_link(body, up, row.overlap, PDL_ARGS(cell, one));
    add_link(body, up, row.overlap, PDL_ARGS(cell, one));
    const uint32_t sets = add_link(body, down, row.overlap, PDL_ARGS(none, left, one));
    assert_pdl(pdl_chain_pass_condition(body, sets, 0, chain, link));
    assert_pdl(pdl_chain_build(chain));
    left[0] = 5;
    replay();
    assert_int_equal(left[0], 0);
    assert_int_equal(left[1], 5);
    assert_int_equal(*cell, 10);
    assert_int_equal(census_of(chain).nodes, 1);
    assert_int_equal(census_of(body).nodes, 3);
    assert_int_equal(census_of(body).programmatic, row.overlap == PDL_OVERLAP_NONE ? 0 : 2);
    one = 3; /* arguments of a link in a body */
    assert_pdl(pdl_chain_set_args(body, adds, PDL_ARGS(cell, one)));
    assert_pdl(pdl_chain_set_args(body, sets, PDL_ARGS(none, left, one)));
    left[0] = 2;
    replay();
    assert_int_equal(*cell, 10 + 2 * (3 + 1));
    assert_int_equal(left[1], 5 + 2 * 3);
}

TEST(an_if_is_decided_by_a_link_before_it)
{
    unsigned *const left = shared_memory<unsigned>(4);
    pdl_kernel *const up = kernel_of(add_up);
    const unsigned one = 1;
    pdl_chain_node node = of_kind(PDL_NODE_IF);
    const uint32_t sets =
        add_link(chain, kernel_of(count_down), PDL_OVERLAP_NONE, PDL_ARGS(none, left, one));
    node.bodies = 2;
    const uint32_t link = add(chain, node);
    for (unsigned i = 0; i < 2; i++) {
        unsigned *const cell = left + 2 + i;
        pdl_chain *body = nullptr;
        assert_pdl(pdl_chain_body(chain, link, i, &body));
        add_link(body, up, PDL_OVERLAP_NONE, PDL_ARGS(cell, one));
    }
    assert_pdl(pdl_chain_pass_condition(chain, sets, 0, chain, link));
    assert_pdl(pdl_chain_build(chain));
    for (unsigned runs = 3; runs > 0; runs--) { /* twice not 0 afterwards, then 0 */
        left[0] = runs;
        replay();
    }
    assert_int_equal(left[2], 2);
    assert_int_equal(left[3], 1);
}

static __global__ void choose(cudaGraphConditionalHandle condition, const unsigned *which)
{
    PDL_WAIT();
    cudaGraphSetConditional(condition, *which);
    PDL_LAUNCH_DEPENDENTS();
}

TEST(a_switch_runs_the_body_whose_index_is_its_condition)
{
    static const unsigned conditions[] = {0, 3, 2, 1, 2, 4, ~0u};
    unsigned *const seen =
        shared_memory<unsigned>(8); /* the condition, and one per body and behind */
    pdl_kernel *const chooses = kernel_of(choose);
    pdl_kernel *const up = kernel_of(add_up);
    unsigned one = 1;
    unsigned expected[8] = {0};
    pdl_chain *bodies[4];
    pdl_chain_node node = of_kind(PDL_NODE_SWITCH);
    assert_pdl(pdl_kernel_declare(chooses, PDL_YES, PDL_YES));
    assert_pdl(pdl_kernel_declare(up, PDL_YES, PDL_YES));
    const uint32_t sets = add_link(chain, chooses, PDL_OVERLAP_AUTO, PDL_ARGS(none, seen));
    node.bodies = 4;
    const uint32_t link = add(chain, node);
    for (unsigned i = 0; i < 4; i++) {
        unsigned *const cell = seen + 1 + i;
        assert_pdl(pdl_chain_body(chain, link, i, &bodies[i]));
        for (unsigned times = 0; i != 1 && times < 2; times++) { /* body 1 is empty */
            add_link(bodies[i], up, PDL_OVERLAP_AUTO, PDL_ARGS(cell, one));
        }
    }
    unsigned *const behind = seen + 5;
    add_link(chain, up, PDL_OVERLAP_AUTO, PDL_ARGS(behind, one));
    assert_pdl(pdl_chain_pass_condition(chain, sets, 0, chain, link));
    assert_pdl(pdl_chain_build(chain));
    assert_int_equal(census_of(chain).nodes, 3);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(census_of(bodies[i]).nodes, i == 1 ? 0 : 2);
        assert_int_equal(census_of(bodies[i]).programmatic, i == 1 ? 0 : 1);
    }
    for (const unsigned condition : conditions) {
        if (condition == 1) { /* from here on, body 2 adds 1 and 10 */
            unsigned *const cell = seen + 3;
            one = 10;
            assert_pdl(pdl_chain_set_args(bodies[2], 1, PDL_ARGS(cell, one)));
        }
        seen[0] = condition;
        replay();
        if (condition < 4 && condition != 1) {
            expected[1 + condition] += 1 + (condition == 2 ? one : 1);
        }
        expected[5]++;
        for (unsigned i = 1; i < 6; i++) {
            assert_int_equal(seen[i], expected[i]);
        }
    }
}

TEST(the_kernels_of_a_body_overlap)
{
    pdl_chain *body = nullptr;
    pdl_chain_node node = of_kind(PDL_NODE_IF);
    unsigned early = 0;
    node.initial = 1;
    assert_pdl(pdl_chain_body(chain, add(chain, node), 0, &body));
    add_first(13, body);
    add_second(PDL_OVERLAP_AUTO, body);
    for (const pair_record &found : replay_pairs()) {
        assert_ran(found, 13);
        assert_true(covered(found));
        early += overlapped(found);
    }
    print_message("in a body, %u of 5 consumers started early\n", early);
}

TEST(a_capture_into_a_body_runs_in_it)
{
    pdl_chain *body = nullptr;
    pdl_chain_node node = of_kind(PDL_NODE_IF);
    node.initial = 1;
    assert_pdl(pdl_chain_body(chain, add(chain, node), 0, &body));
    capture_into(body, [] {
        add_up<<<1, 1, 0, stream>>>(cells, 2u);
        assert_cuda(cudaMemcpyAsync(cells + 1, cells, sizeof(*cells), cudaMemcpyDefault, stream));
    });
    assert_pdl(pdl_chain_build(chain));
    replay();
    assert_int_equal(content(cells + 1), 2);
}

/* ---- what is refused ---------------------------------------------------------------------------- */

static void wait_for_the_stream(void)
{
    add_up<<<1, 1, 0, stream>>>(cells, 1u);
    assert_int_not_equal(cudaStreamSynchronize(stream), cudaSuccess);
}

static cudaEvent_t fork_event;

static void leave_a_stream_unjoined(void)
{
    assert_cuda(cudaEventRecord(fork_event, stream));
    assert_cuda(cudaStreamWaitEvent(other_stream, fork_event, 0));
    add_up<<<1, 1, 0, other_stream>>>(cells, 1u);
}

static void end_the_capture(void)
{
    cudaGraph_t graph = nullptr;
    assert_cuda(cudaStreamEndCapture(stream, &graph));
}

static void allocate_memory(void)
{
    void *memory = nullptr;
    assert_cuda(cudaMallocAsync(&memory, 1024, stream));
    assert_cuda(cudaFreeAsync(memory, stream));
}

static const struct {
    const char *name;
    void (*work)(void);
    pdl_status status;
} breaks[] = {
    {"a call that waits for the stream breaks a capture", wait_for_the_stream, PDL_ERROR_CAPTURE},
    {"a stream that is not joined breaks a capture", leave_a_stream_unjoined, PDL_ERROR_CAPTURE},
    {"a capture that another call ends is reported", end_the_capture, PDL_ERROR_CAPTURE},
    {"memory allocated in a capture is refused", allocate_memory, PDL_ERROR_NOT_SUPPORTED},
};

/* The chain is as it was, and the next capture succeeds. */
TEST_ROWS(a_broken_capture_leaves_the_chain_as_it_was, breaks)
{
    pdl_chain_node set = of_kind(PDL_NODE_MEMSET);
    set.destination = cells;
    set.width = 1;
    set.value = 9;
    add(chain, set);
    fork_event = new_event();
    assert_pdl(pdl_chain_capture_begin(chain, stream));
    row.work();
    (void)cudaGetLastError();
    assert_refused(pdl_chain_capture_end(chain, nullptr), row.status, nullptr);
    print_message("%s\n", pdl_last_error()->message);
    assert_pdl(pdl_chain_build(chain));
    replay();
    assert_int_equal(content(cells), 9);
    capture_into(chain, [] { add_up<<<1, 1, 0, stream>>>(cells, 1u); });
    assert_pdl(pdl_chain_build(chain));
    replay();
    assert_int_equal(content(cells), 10);
}

TEST(a_chain_destroyed_while_it_captures_frees_the_stream)
{
    pdl_chain *other = nullptr;
    assert_pdl(pdl_chain_create(nullptr, &other));
    assert_pdl(pdl_chain_capture_begin(other, stream));
    pdl_chain_destroy(other);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
    assert_cuda(cudaStreamIsCapturing(stream, &status));
    assert_int_equal(status, cudaStreamCaptureStatusNone);
}

int main()
{
    return run_gpu_tests(set_up);
}
