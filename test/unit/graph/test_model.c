/* SPDX-License-Identifier: MIT */
/* What the model of CUDA offers to programs that run for long (soak.h). */
#include "graph_support.h"
#include "soak.h"

#define CALLS 20000

/* Makes calls that can fail, and gives how many did. *pattern depends on which. */
static unsigned count_failures(uint64_t seed, unsigned per_million, uint64_t *pattern)
{
    unsigned count = 0;
    *pattern = 0;
    mock_fail_randomly(seed, per_million, NULL, 0);
    for (unsigned i = 0; i < CALLS; i++) {
        CUdevice device = 0;
        const bool failed = mock.table.cuCtxGetDevice(&device) != CUDA_SUCCESS;
        count += failed;
        *pattern = *pattern * 31 + failed;
    }
    mock_fail_randomly(0, 0, NULL, 0);
    return count;
}

static void as_many_calls_fail_as_are_asked_for_and_the_seed_says_which(void **state)
{
    uint64_t patterns[4];
    (void)state;
    assert_int_equal(count_failures(1, 0, &patterns[0]), 0);
    assert_int_equal(count_failures(1, 1000000, &patterns[0]), CALLS);
    assert_in_range(count_failures(1, 10000, &patterns[1]), CALLS / 200, CALLS / 50);
    (void)count_failures(1, 10000, &patterns[2]);
    (void)count_failures(2, 10000, &patterns[3]);
    assert_true(patterns[1] == patterns[2]);
    assert_true(patterns[1] != patterns[3]);
}

static void a_failure_is_counted_and_named(void **state)
{
    static const CUresult results[] = {CUDA_ERROR_LAUNCH_FAILED};
    const char *call = NULL;
    CUresult result = CUDA_SUCCESS;
    CUdevice device = 0;
    (void)state;
    assert_int_equal(mock_failures(NULL, NULL), 0);
    mock_fail_randomly(1, 1000000, results, 1);
    assert_int_equal(mock.table.cuCtxGetDevice(&device), CUDA_ERROR_LAUNCH_FAILED);
    mock_fail_randomly(0, 0, NULL, 0);
    assert_int_equal(mock_failures(&call, &result), 1);
    assert_string_equal(call, "cuCtxGetDevice");
    assert_int_equal(result, CUDA_ERROR_LAUNCH_FAILED);
}

static void a_call_that_releases_does_so_when_it_fails(void **state)
{
    struct mock_live live;
    CUevent event = NULL;
    (void)state;
    assert_int_equal(mock.table.cuEventCreate(&event, 0), CUDA_SUCCESS);
    mock_count_live(&live);
    assert_int_equal(live.events, 1);
    mock_fail(MOCK_cuEventDestroy, 1, CUDA_ERROR_UNKNOWN);
    assert_int_equal(mock.table.cuEventDestroy(event), CUDA_ERROR_UNKNOWN);
    mock_count_live(&live);
    assert_int_equal(live.events, 0);
}

static void what_is_live_is_counted(void **state)
{
    struct mock_live live;
    pdl_kernel *kernel = make_kernel(FROM_CU_KERNEL, 0);
    pdl_chain *chain = make_line(kernel, 3);
    (void)state;
    mock_count_live(&live);
    assert_int_equal(live.graphs, 1);
    assert_int_equal(live.nodes, 3);
    assert_int_equal(live.execs, 1);
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
    mock_count_live(&live);
    assert_int_equal(live.graphs + live.nodes + live.execs, 0);
}

/* The kernels that were seen. */
static struct mock_seen seen[8];
static struct values seen_values[8];
static unsigned seen_count;

static void watch(const struct mock_seen *what, void *user)
{
    assert_ptr_equal(user, seen);
    assert_int_equal(what->size, value_sizes[0] + value_sizes[1]);
    memcpy(&seen_values[seen_count].pointer, what->arguments, value_sizes[0]);
    memcpy(&seen_values[seen_count].number, what->arguments + value_sizes[0], value_sizes[1]);
    seen[seen_count++] = *what;
}

static void a_launch_is_seen_with_its_arguments_of_that_moment(void **state)
{
    (void)state;
    seen_count = 0;
    mock_watch(watch, seen);
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        struct values values = values_of(10 + (uint32_t)source);
        pdl_kernel *kernel = make_kernel((enum kernel_source)source, 0);
        const pdl_launch_desc desc = plain_desc();
        assert_ok(pdl_launch(kernel, &desc, VALUES(values)));
        const uint64_t given = mock_checksum(VALUES(values), value_sizes, 2);
        values.number = 99;
        assert_true(seen[source].checksum == given);
        assert_true(seen[source].checksum != mock_checksum(VALUES(values), value_sizes, 2));
        assert_string_equal(seen[source].kernel, "fc1");
        assert_null(seen[source].exec);
        assert_int_equal(seen[source].grid[0], 132);
        assert_int_equal(seen_values[source].number, values_of(10 + (uint32_t)source).number);
        pdl_kernel_destroy(kernel);
    }
    assert_int_equal(seen_count, KERNEL_SOURCES);
}

static void a_node_is_seen_with_the_arguments_that_are_in_force(void **state)
{
    pdl_kernel *kernel = make_kernel(FROM_CU_KERNEL, 0);
    pdl_chain *chain = make_line(kernel, 3);
    struct values values = values_of(77);
    (void)state;
    seen_count = 0;
    assert_ok(pdl_chain_set_args(chain, 1, VALUES(values)));
    mock_watch(watch, seen);
    assert_ok(pdl_chain_launch(chain, NULL));
    mock_watch(NULL, NULL);
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_int_equal(seen_count, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(seen[i].node, i);
        assert_non_null(seen[i].exec);
        assert_int_equal(seen_values[i].number, values_of(i == 1 ? 77 : i).number);
    }
    assert_true(seen[1].checksum == mock_checksum(VALUES(values), value_sizes, 2));
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(as_many_calls_fail_as_are_asked_for_and_the_seed_says_which),
        GRAPH_TEST(a_failure_is_counted_and_named),
        GRAPH_TEST(a_call_that_releases_does_so_when_it_fails),
        GRAPH_TEST(what_is_live_is_counted),
        GRAPH_TEST(a_launch_is_seen_with_its_arguments_of_that_moment),
        GRAPH_TEST(a_node_is_seen_with_the_arguments_that_are_in_force),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
