/* SPDX-License-Identifier: MIT */
/* Chains and threads: one at a time may use a chain, and many may use chains of their own. */
#include <pthread.h>
#include <sched.h>

#include "graph_support.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static enum mock_entry held_in; /* the call in which the first thread waits */
static bool inside;
static bool released;

static void hold(enum mock_entry entry)
{
    if (entry != held_in) {
        return;
    }
    (void)pthread_mutex_lock(&lock);
    inside = true;
    (void)pthread_cond_broadcast(&changed);
    while (!released) {
        (void)pthread_cond_wait(&changed, &lock);
    }
    (void)pthread_mutex_unlock(&lock);
}

struct first {
    pdl_chain *chain;
    pdl_status (*call)(pdl_chain *chain);
    pdl_status status;
};

static void *run_first(void *argument)
{
    struct first *first = argument;
    mock_set_current(0);
    first->status = first->call(first->chain);
    return NULL;
}

static pdl_status launch(pdl_chain *chain)
{
    return pdl_chain_launch(chain, NULL);
}

static pdl_status set_args(pdl_chain *chain)
{
    struct values values = values_of(9);
    return pdl_chain_set_args(chain, 0, VALUES(values));
}

static pdl_status set_desc(pdl_chain *chain)
{
    pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    desc.grid[0] = 8;
    return pdl_chain_set_desc(chain, 0, &desc);
}

GRAPH_TEST(while_one_thread_uses_a_chain_another_one_is_told)
{
    static const struct {
        pdl_status (*call)(pdl_chain *chain);
        enum mock_entry held_in;
    } cases[] = {
        {launch, MOCK_cuGraphLaunch},
        {set_args, MOCK_cuGraphExecKernelNodeSetParams},
        {set_desc, MOCK_cuGraphExecKernelNodeSetParams},
        {pdl_chain_build, MOCK_cuGraphInstantiateWithFlags},
        {pdl_chain_reset, MOCK_cuGraphExecDestroy},
    };
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_line(kernel, 2);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        pthread_t thread;
        struct first first = {.chain = chain, .call = cases[i].call};
        struct values values = values_of(7);
        const pdl_launch_desc desc = plain_desc();
        pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
        CUgraph graph = NULL;
        uint32_t link = 77;
        inside = released = false;
        held_in = cases[i].held_in;
        mock.on_entry = hold;
        assert_int_equal(pthread_create(&thread, NULL, run_first, &first), 0);
        (void)pthread_mutex_lock(&lock);
        while (!inside) {
            (void)pthread_cond_wait(&changed, &lock);
        }
        (void)pthread_mutex_unlock(&lock);
        assert_refused(pdl_chain_launch(chain, NULL), PDL_ERROR_BUSY, NULL, "another thread");
        assert_refused(pdl_chain_add(chain, kernel, &desc, VALUES(values), NULL, 0, &link),
                       PDL_ERROR_BUSY, NULL, "another thread");
        assert_refused(pdl_chain_add_dependency(chain, 1, 0), PDL_ERROR_BUSY, NULL, "");
        assert_refused(pdl_chain_build(chain), PDL_ERROR_BUSY, NULL, "another thread");
        assert_refused(pdl_chain_set_args(chain, 0, VALUES(values)), PDL_ERROR_BUSY, NULL, "");
        assert_refused(pdl_chain_set_desc(chain, 0, &desc), PDL_ERROR_BUSY, NULL, "");
        assert_refused(pdl_chain_reset(chain), PDL_ERROR_BUSY, NULL, "another thread");
        assert_refused(pdl_chain_explain(chain, 0, &report), PDL_ERROR_BUSY, NULL, "");
        assert_refused(pdl_chain_graph(chain, &graph), PDL_ERROR_BUSY, NULL, "another thread");
        assert_int_equal(link, 77);
        (void)pthread_mutex_lock(&lock);
        released = true;
        (void)pthread_cond_broadcast(&changed);
        (void)pthread_mutex_unlock(&lock);
        assert_int_equal(pthread_join(thread, NULL), 0);
        mock.on_entry = NULL;
        assert_int_equal(first.status, PDL_SUCCESS);
        if (cases[i].call != pdl_chain_reset) {
            assert_ok(pdl_chain_launch(chain, NULL)); /* and it is free again */
            assert_ran_count(2);
        }
    }
}

#define THREADS 16
#define ROUNDS  20

static pdl_kernel *shared_kernel;
static pdl_chain *shared_chain;

struct worker {
    pthread_t thread;
    uint32_t number;
    unsigned done;
    unsigned busy;
    unsigned wrong;
};

static void run(void *(*function)(void *), struct worker workers[THREADS])
{
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.number = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, function, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_int_equal(workers[i].wrong, 0);
    }
}

static void *use_own(void *argument)
{
    struct worker *worker = argument;
    mock_set_current(0);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        pdl_chain *chain = NULL;
        struct values values = values_of(worker->number);
        const pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
        bool good = pdl_chain_create(NULL, &chain) == PDL_SUCCESS;
        for (uint32_t i = 0; i < 3; i++) {
            good = good && pdl_chain_add(chain, shared_kernel, &desc, VALUES(values), NULL, 0,
                                         NULL) == PDL_SUCCESS;
        }
        good = good && pdl_chain_build(chain) == PDL_SUCCESS;
        good = good && pdl_chain_set_args(chain, 1, VALUES(values)) == PDL_SUCCESS;
        good = good && pdl_chain_launch(chain, NULL) == PDL_SUCCESS;
        worker->wrong += !good;
        pdl_chain_destroy(chain);
    }
    return NULL;
}

GRAPH_TEST(chains_of_their_own_do_not_disturb_threads)
{
    struct worker workers[THREADS];
    shared_kernel = test_kernel(FROM_CU_KERNEL, 0);
    run(use_own, workers);
    assert_int_equal(mock.replay_count, THREADS * ROUNDS);
    assert_int_equal(mock.live_graphs, 0);
    assert_int_equal(mock.live_execs, 0);
}

/* Every call but creation and destruction, from all threads, on one chain and the body of an if in it. */
enum { CALLS = 17, MANY = 2000 };

static pdl_status call_any(uint32_t call, pdl_chain *of, uint32_t number)
{
    struct values values = values_of(number);
    pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    pdl_chain_node node = node_of_kind(PDL_NODE_MEMSET);
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    pdl_chain *body = NULL;
    CUgraph graph = NULL;
    desc.grid[0] = 1 + number;
    switch (call) {
    case 0: /* not so many that nothing else is done */
        return number % 4 != 0
                   ? PDL_SUCCESS
                   : pdl_chain_add(of, shared_kernel, &desc, VALUES(values), NULL, 0, NULL);
    case 1:
        return number % 4 != 0 ? PDL_SUCCESS : pdl_chain_add_node(of, &node, NULL);
    case 2:
        return pdl_chain_body(shared_chain, 2, 0, &body);
    case 3:
        return pdl_chain_pass_condition(shared_chain, 1, 0, shared_chain, 2);
    case 4:
        return pdl_chain_capture_begin(of, mock_stream(1, 0));
    case 5:
        return pdl_chain_capture_end(of, NULL);
    case 6:
        return pdl_chain_add_dependency(shared_chain, 1, 0);
    case 7:
        return pdl_chain_build(shared_chain);
    case 8:
        return pdl_chain_launch(shared_chain, NULL);
    case 10:
        return pdl_chain_set_args(of, 0, VALUES(values));
    case 11:
        return pdl_chain_set_desc(of, 0, &desc);
    case 12:
        return pdl_chain_set_node(shared_chain, 3, &node);
    case 13:
        return pdl_chain_reset(shared_chain);
    case 14:
        return pdl_chain_explain(of, 0, &report);
    case 15:
        return pdl_chain_graph(of, &graph);
    default:
        return pdl_chain_graph(of, &graph);
    }
}

static unsigned outcomes[CALLS][2]; /* under the lock: succeeded, and were told that it is busy */
static pdl_chain *shared_body;

static void *call_at_random(void *argument)
{
    struct worker *worker = argument;
    uint64_t state = worker->number + 1;
    mock_set_current(0);
    for (uint32_t round = 0; round < MANY; round++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const uint32_t call = (uint32_t)(state >> 33) % CALLS;
        const pdl_status status =
            call_any(call, (state >> 62) == 0 ? shared_body : shared_chain, round % 64);
        (void)pthread_mutex_lock(&lock);
        outcomes[call][0] += status == PDL_SUCCESS;
        outcomes[call][1] += status == PDL_ERROR_BUSY;
        (void)pthread_mutex_unlock(&lock);
        if (status == PDL_ERROR_BUSY) {
            (void)sched_yield();
        }
        /* What another thread did in between. */
        worker->wrong += status != PDL_SUCCESS && status != PDL_ERROR_BUSY &&
                         status != PDL_ERROR_CAPTURE && status != PDL_ERROR_NOT_BUILT;
    }
    return NULL;
}

GRAPH_TEST(each_call_of_many_threads_succeeds_or_is_told)
{
    struct worker workers[THREADS];
    const pdl_chain_node memset_node = node_of_kind(PDL_NODE_MEMSET);
    const pdl_chain_node if_node = node_of_kind(PDL_NODE_IF);
    unsigned busy = 0;
    unsigned succeeded = 0;
    shared_kernel = test_kernel(FROM_FUNCTION, 0);
    shared_chain = make_chain();
    (void)add_link(shared_chain, shared_kernel, PDL_OVERLAP_AUTO, 0);
    (void)add_link(shared_chain, shared_kernel, PDL_OVERLAP_AUTO, 1);
    (void)add_chain_node(shared_chain, &if_node);
    (void)add_chain_node(shared_chain, &memset_node);
    shared_body = body_of(shared_chain, 2, 0);
    (void)add_link(shared_body, shared_kernel, PDL_OVERLAP_AUTO, 2);
    run(call_at_random, workers);
    for (uint32_t call = 0; call < CALLS; call++) {
        print_message("call %2u: %u succeeded, %u were busy\n", call, outcomes[call][0],
                      outcomes[call][1]);
        succeeded += outcomes[call][0];
        busy += outcomes[call][1];
    }
    print_message("%u of %u were busy\n", busy, (unsigned)(THREADS * MANY));
    assert_true(succeeded > MANY);
    /* Both values of a link are of one thread in every replay, but for the handle of the condition. */
    for (unsigned i = 0; i < mock.run_count && i < MOCK_RUNS; i++) {
        struct values got = {0};
        memcpy(&got.pointer, mock.runs[i].params.arguments[0], sizeof(got.pointer));
        memcpy(&got.number, mock.runs[i].params.arguments[1], sizeof(got.number));
        assert_true(got.pointer >> 48 == 0xc0de || (got.pointer & 0xff) == (got.number & 0xff));
    }
    (void)pdl_chain_capture_end(shared_chain, NULL); /* if any is in progress */
    (void)pdl_chain_capture_end(shared_body, NULL);
    assert_ok(pdl_chain_build(shared_chain));
    assert_ok(pdl_chain_launch(shared_chain, NULL));
}
