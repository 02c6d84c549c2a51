/* SPDX-License-Identifier: MIT */
/* The driver as the library finds it by itself, by its usual name: here one that is too old, which
 * the environment of this test puts first. It has its own program, because a good driver stays
 * loaded. */
#include <pthread.h>
#include <unistd.h>

#include "core/device.h"
#include "from_image.h"
#include "support.h"

static char log_path[64];

/* How often libcuda.so.1 was loaded since the log was started. */
static long loads(void)
{
    FILE *file = fopen(log_path, "r");
    if (file == NULL) {
        return 0;
    }
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long size = ftell(file);
    assert_int_equal(fclose(file), 0);
    return size;
}

static int start_log(void **state)
{
    (void)state;
    pdl_device_override(NULL);
    (void)snprintf(log_path, sizeof(log_path), "/tmp/pdl_test_loads_XXXXXX");
    const int file = mkstemp(log_path);
    if (file < 0 || close(file) != 0) {
        return -1;
    }
    return setenv("PDL_BAD_DRIVER_LOG", log_path, 1);
}

static int end_log(void **state)
{
    (void)unlink(log_path);
    (void)state;
    (void)unsetenv("PDL_BAD_DRIVER_LOG");
    pdl_device_override(NULL);
    return 0;
}

#define GET_TEST(name) TEST_WITH(name, start_log, end_log)

GET_TEST(a_failure_to_load_is_kept_and_told_every_time)
{
    const struct pdl_driver *driver = (const struct pdl_driver *)&log_path;
    for (int i = 0; i < 3; i++) {
        assert_refused(pdl_driver_get(&driver), PDL_ERROR_DRIVER_TOO_OLD, NULL, "");
        assert_ptr_equal(driver, &log_path);
        assert_true(names_version(pdl_last_error()->message, 11080));
        assert_int_equal(loads(), 1);
        /* Another error in between does not change what is told next. */
        assert_invalid(pdl_device_get(0, NULL), NULL, "");
    }
}

GET_TEST(every_function_that_needs_the_driver_tells_why_there_is_none)
{
    static char handle;
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    pdl_kernel *kernel = NULL;
    const pdl_status want = PDL_ERROR_DRIVER_TOO_OLD;
    assert_refused(pdl_device_get(0, &info), want, NULL, "");
    assert_refused(pdl_kernel_from_function((CUfunction)(void *)&handle, NULL, &kernel), want, NULL,
                   "");
    assert_refused(pdl_kernel_from_kernel((CUkernel)(void *)&handle, NULL, &kernel), want, NULL,
                   "");
    assert_refused(kernel_from_image(".version", 8, "fc1", &kernel), want, NULL, "");
    assert_null(kernel);
    assert_int_equal(loads(), 1);
}

#define THREADS 64
static pthread_barrier_t start;

static void *get_the_driver(void *argument)
{
    const struct pdl_driver *driver = NULL;
    pdl_status *status = argument;
    (void)pthread_barrier_wait(&start);
    *status = pdl_driver_get(&driver);
    if (pdl_last_error()->status != (int32_t)*status ||
        !names_version(pdl_last_error()->message, 11080)) {
        *status = PDL_SUCCESS; /* which is wrong */
    }
    return NULL;
}

/* They do not wait for each other: see test_first_use.c. */
GET_TEST(many_first_users_are_all_told_and_later_ones_load_nothing)
{
    pthread_t threads[THREADS];
    pdl_status statuses[THREADS];
    assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, get_the_driver, &statuses[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(statuses[i], PDL_ERROR_DRIVER_TOO_OLD);
    }
    assert_int_equal(pthread_barrier_destroy(&start), 0);
    const long first = loads();
    const struct pdl_driver *driver = NULL;
    assert_in_range(first, 1, THREADS);
    assert_refused(pdl_driver_get(&driver), PDL_ERROR_DRIVER_TOO_OLD, NULL, "");
    assert_int_equal(loads(), first);
}

GET_TEST(forgetting_the_driver_loads_it_again)
{
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    assert_refused(pdl_device_get(0, &info), PDL_ERROR_DRIVER_TOO_OLD, NULL, "");
    assert_int_equal(loads(), 1);
    (void)mock_setup(NULL);
    assert_ok(pdl_device_get(0, &info));
    assert_int_equal(loads(), 1);
    pdl_device_override(NULL);
    assert_refused(pdl_device_get(0, &info), PDL_ERROR_DRIVER_TOO_OLD, NULL, "");
    assert_int_equal(loads(), 2);
}
