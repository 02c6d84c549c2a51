/* SPDX-License-Identifier: MIT */
/* Many threads in the library at once. Run it under the thread sanitizer: what it checks by itself
 * is that nothing is lost, doubled or mixed up. */
#include <pthread.h>

#include "from_image.h"
#include "support.h"

#define THREADS  64
#define LAUNCHES 50

static pthread_barrier_t start;
static pdl_kernel *shared[KERNEL_SOURCES];

struct worker {
    pthread_t thread;
    unsigned number;
    unsigned launched;
    unsigned wrong;
};

static void run(void *(*function)(void *), struct worker workers[THREADS])
{
    assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.number = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, function, &workers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    }
    assert_int_equal(pthread_barrier_destroy(&start), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(workers[i].wrong, 0);
    }
}

/* Every thread makes its first use of the kernels' and the devices' caches at the same moment. */
static void *launch_shared(void *argument)
{
    struct worker *worker = argument;
    mock_set_current((int)(worker->number % 3));
    (void)pthread_barrier_wait(&start);
    for (unsigned i = 0; i < LAUNCHES; i++) {
        pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
        pdl_kernel *kernel = shared[FROM_CU_KERNEL + (worker->number + i) % 2];
        if (pdl_launch(kernel, &desc, NULL) == PDL_SUCCESS) {
            worker->launched++;
        } else {
            worker->wrong++;
        }
    }
    return NULL;
}

TEST(the_first_use_by_many_threads_asks_once_and_loses_no_launch)
{
    struct worker workers[THREADS];
    mock.table.device_count = 3;
    mock_apply();
    for (int source = FROM_CU_KERNEL; source < KERNEL_SOURCES; source++) {
        shared[source] = test_kernel((enum kernel_source)source, (unsigned)source);
    }
    run(launch_shared, workers);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(workers[i].launched, LAUNCHES);
    }
    assert_int_equal(mock.launch_count, THREADS * LAUNCHES);
    for (unsigned i = 0; i < MOCK_LAUNCHES; i++) {
        assert_int_equal(mock.launches[i].attribute_count, 1);
        assert_int_equal(mock.launches[i].config.gridDimX, 132);
    }
    assert_int_equal(mock.calls[MOCK_cuDeviceGetName], 3);
    /* On each device for the facts, and for launches by each thread that was among the first. */
    assert_in_range(mock_runtime_function_calls, 3 + 3, 3 + THREADS);
    for (int source = FROM_CU_KERNEL; source < KERNEL_SOURCES; source++) {
        for (int d = 0; d < 3; d++) {
            assert_int_equal(mock.kernels[source].reads[d][CU_FUNC_ATTRIBUTE_PTX_VERSION], 1);
        }
        drop_kernel(shared[source]);
    }
}

/* What a thread asked for is what is launched with its arguments, and nobody else's. */
static void *launch_own(void *argument)
{
    struct worker *worker = argument;
    (void)pthread_barrier_wait(&start);
    for (unsigned i = 0; i < LAUNCHES; i++) {
        pdl_launch_desc desc = plain_desc();
        void *args[] = {worker};
        desc.grid[0] = 1 + worker->number;
        desc.priority = 1 + (int32_t)worker->number;
        if (pdl_launch(shared[FROM_FUNCTION], &desc, args) != PDL_SUCCESS) {
            worker->wrong++;
        }
        pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
        if (pdl_launch_explain(shared[FROM_FUNCTION], &desc, &report) != PDL_SUCCESS ||
            report.attribute_count != 1) {
            worker->wrong++;
        }
    }
    return NULL;
}

TEST(launches_of_one_kernel_do_not_mix)
{
    struct worker workers[THREADS];
    shared[FROM_FUNCTION] = test_kernel(FROM_FUNCTION, 0);
    run(launch_own, workers);
    assert_int_equal(mock.launch_count, THREADS * LAUNCHES);
    for (unsigned i = 0; i < MOCK_LAUNCHES; i++) {
        const struct mock_launch *launch = &mock.launches[i];
        assert_int_equal(launch->attribute_count, 1);
        assert_int_equal(launch->attributes[0].value.priority, launch->config.gridDimX);
    }
}

static void *fail_differently(void *argument)
{
    struct worker *worker = argument;
    (void)pthread_barrier_wait(&start);
    for (unsigned i = 0; i < LAUNCHES; i++) {
        char wanted[64];
        pdl_launch_desc desc = plain_desc();
        desc.block[0] = 2000 + worker->number;
        (void)snprintf(wanted, sizeof(wanted), "%u", desc.block[0]);
        if (pdl_launch(shared[FROM_FUNCTION], &desc, NULL) != PDL_ERROR_INVALID_BLOCK ||
            strstr(pdl_last_error()->message, wanted) == NULL) {
            worker->wrong++;
        }
    }
    return NULL;
}

TEST(each_thread_reads_its_own_error)
{
    struct worker workers[THREADS];
    shared[FROM_FUNCTION] = test_kernel(FROM_FUNCTION, 0);
    run(fail_differently, workers);
    assert_int_equal(mock.launch_count, 0);
}

static void *make_and_destroy(void *argument)
{
    struct worker *worker = argument;
    static const char ptx[] = ".version 8.0";
    (void)pthread_barrier_wait(&start);
    for (unsigned i = 0; i < LAUNCHES; i++) {
        pdl_kernel *kernel = NULL;
        const pdl_launch_desc desc = plain_desc();
        if (kernel_from_image(ptx, sizeof(ptx), "fc1", &kernel) != PDL_SUCCESS ||
            pdl_launch(kernel, &desc, NULL) != PDL_SUCCESS) {
            worker->wrong++;
        }
        pdl_kernel_destroy(kernel);
    }
    return NULL;
}

TEST(kernels_come_and_go_in_many_threads)
{
    struct worker workers[THREADS];
    run(make_and_destroy, workers);
    assert_int_equal(mock.launch_count, THREADS * LAUNCHES);
    assert_int_equal(mock.live_libraries, 0);
}

/* The limit of one kernel is raised, lowered and read while others launch with what is always
 * allowed. */
static void *raise_while_launching(void *argument)
{
    struct worker *worker = argument;
    (void)pthread_barrier_wait(&start);
    for (unsigned i = 0; i < LAUNCHES; i++) {
        pdl_launch_desc desc =
            DESC(.dynamic_shared_memory = 49152, .cooperative = worker->number % 2);
        pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
        if (worker->number == 0 &&
            pdl_kernel_set_attribute(shared[FROM_FUNCTION], PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY,
                                     49152 + i) != PDL_SUCCESS) {
            worker->wrong++;
        }
        if (pdl_launch(shared[FROM_FUNCTION], &desc, NULL) != PDL_SUCCESS ||
            pdl_kernel_get(shared[FROM_FUNCTION], 0, &info) != PDL_SUCCESS ||
            info.max_dynamic_shared_memory < 49152) {
            worker->wrong++;
        }
    }
    return NULL;
}

TEST(the_shared_memory_limit_may_change_under_launches)
{
    struct worker workers[THREADS];
    shared[FROM_FUNCTION] = test_kernel(FROM_FUNCTION, 0);
    run(raise_while_launching, workers);
    assert_int_equal(mock.launch_count, THREADS * LAUNCHES);
}
