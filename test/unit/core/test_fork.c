/* SPDX-License-Identifier: MIT */
/* A fork while another thread holds a lock of the library: the child does not wait for a thread that
 * it does not have. */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/once.h"
#include "launch/log.h"
#include "support.h"

/* The child cannot join a thread that only its parent has: no leak to the thread sanitizer. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "report_thread_leaks=0";
}

static sem_t is_inside; /* the other thread holds the lock */
static sem_t may_go_on;
static pid_t parent;

static char folder[] = "/tmp/pdl_test_fork_XXXXXX";
static char log_path[64]; /* a pipe */
static int log_reader = -1;

/* Stops a thread of the parent until it is told to go on. */
static void hold(void)
{
    if (getpid() == parent) {
        (void)sem_post(&is_inside);
        while (sem_wait(&may_go_on) != 0) {
        }
    }
}

/* Runs `first` in another thread up to where it holds, and `second` in a child that is forked then
 * and must end by itself, with 0. */
static void fork_during(void *(*first)(void *), int (*second)(void))
{
    pthread_t thread;
    int status = -1;
    parent = getpid();
    assert_int_equal(sem_init(&is_inside, 0, 0), 0);
    assert_int_equal(sem_init(&may_go_on, 0, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, first, NULL), 0);
    while (sem_wait(&is_inside) != 0) {
    }
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(20); /* kills it */
        _exit(second());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (log_reader < 0) { /* a thread may wait for a reader still */
        log_reader = open(log_path, O_RDONLY | O_NONBLOCK);
    }
    (void)sem_post(&may_go_on);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- loading ----------------------------------------------------------------------------------- */

static struct pdl_once once;
static int room;

static pdl_status load_slowly(void *where)
{
    *(int *)where = 1;
    hold();
    *(int *)where = 2;
    return PDL_SUCCESS;
}

static void *load_here(void *unused)
{
    const void *table = NULL;
    int fresh = 0;
    (void)unused;
    return pdl_once_get(&once, load_slowly, &fresh, &room, sizeof(room), &table) == PDL_SUCCESS
               ? NULL
               : &room;
}

static int load_in_child(void)
{
    const void *table = NULL;
    int fresh = 0;
    return pdl_once_get(&once, load_slowly, &fresh, &room, sizeof(room), &table) != PDL_SUCCESS ||
           table != &room || room != 2;
}

TEST(a_child_loads_what_a_thread_was_loading)
{
    fork_during(load_here, load_in_child);
    assert_int_equal(load_in_child(), 0); /* and here it was loaded once */
}

static struct pdl_first first;

static void begin_slowly(void)
{
    (void)load_slowly(&room);
}

static void *begin_here(void *unused)
{
    pdl_first_run(&first, begin_slowly);
    return unused;
}

static int begin_in_child(void)
{
    room = 0;
    pdl_first_run(&first, begin_slowly);
    return room != 2;
}

TEST(a_child_begins_what_a_thread_was_beginning)
{
    fork_during(begin_here, begin_in_child);
}

/* ---- devices and kernels ------------------------------------------------------------------------ */

static enum mock_entry holding_entry;
static pdl_kernel *kernel;

static void on_entry(enum mock_entry entry)
{
    if (entry == holding_entry && getpid() == parent) {
        holding_entry = MOCK_ENTRY_COUNT;
        hold();
    }
}

static void *ask_device(void *unused)
{
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    (void)unused;
    return pdl_device_get(0, &info) == PDL_SUCCESS ? NULL : &holding_entry;
}

static int ask_device_in_child(void)
{
    return ask_device(NULL) != NULL;
}

static void *launch(void *unused)
{
    const pdl_launch_desc desc = plain_desc();
    (void)unused;
    mock_set_current(0);
    return pdl_launch(kernel, &desc, NULL) == PDL_SUCCESS ? NULL : &holding_entry;
}

static int launch_in_child(void)
{
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    const bool good = launch(NULL) == NULL && pdl_kernel_get(kernel, 0, &info) == PDL_SUCCESS &&
                      pdl_kernel_declare(kernel, PDL_YES, PDL_YES) == PDL_SUCCESS;
    drop_kernel(kernel);
    return !good;
}

TEST(a_child_asks_for_a_device_that_a_thread_was_asking_for)
{
    mock.on_entry = on_entry;
    holding_entry = MOCK_cuDeviceGetAttribute;
    fork_during(ask_device, ask_device_in_child);
}

TEST(a_child_launches_a_kernel_that_a_thread_was_asking_about)
{
    kernel = test_kernel(FROM_CU_KERNEL, 0);
    mock.on_entry = on_entry;
    holding_entry = MOCK_cuKernelGetAttribute;
    fork_during(launch, launch_in_child);
}

/* ---- the log --------------------------------------------------------------------------------------- */

static struct pdl_lowered lowered, lowered_in_child;

/* The child may be forked before, while and after the thread opens the log. */
static void *write_log(void *unused)
{
    (void)sem_post(&is_inside);
    pdl_log_write(kernel, &lowered);
    return unused;
}

static int write_log_in_child(void)
{
    const int reader = open(log_path, O_RDONLY | O_NONBLOCK);
    char lines[1024] = "";
    char mine[32];
    (void)snprintf(mine, sizeof(mine), "libpdl[%ld]", (long)getpid());
    pdl_log_write(kernel, &lowered_in_child);
    return !(reader >= 0 && read(reader, lines, sizeof(lines) - 1) > 0 && strstr(lines, mine));
}

TEST(a_child_writes_the_log_that_a_thread_was_opening)
{
    kernel = test_kernel(FROM_CU_KERNEL, 0);
    pdl_kernel *const other = test_kernel(FROM_CU_KERNEL, 1); /* each decision is logged once */
    assert_ok(pdl_kernel_facts_get(kernel, 0, &lowered.facts));
    assert_ok(pdl_kernel_facts_get(other, 0, &lowered_in_child.facts));
    lowered.reason = lowered_in_child.reason = PDL_REASON_GRANTED;
    fork_during(write_log, write_log_in_child);
}

/* ---- errors ------------------------------------------------------------------------------------------ */

static int check_error_in_child(void)
{
    const bool kept = pdl_last_error()->status == PDL_ERROR_INVALID_ARGUMENT;
    const bool replaced =
        pdl_device_get(7, &(pdl_device_info)PDL_DEVICE_INFO_INIT) == PDL_ERROR_INVALID_DEVICE &&
        pdl_last_error()->status == PDL_ERROR_INVALID_DEVICE;
    return !(kept && replaced);
}

static void *do_nothing(void *unused)
{
    hold();
    return unused;
}

TEST(a_child_has_the_last_error_of_the_thread_that_forked)
{
    assert_int_equal(pdl_device_get(0, NULL), PDL_ERROR_INVALID_ARGUMENT);
    fork_during(do_nothing, check_error_in_child);
    assert_int_equal(pdl_last_error()->status, PDL_ERROR_INVALID_ARGUMENT);
}

static int make_log(void **state)
{
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN); /* the pipe's reader ends with the child */
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    (void)snprintf(log_path, sizeof(log_path), "%s/log", folder);
    return mkfifo(log_path, 0600) != 0 || setenv("PDL_LOG", log_path, 1) != 0;
}

static int remove_log(void **state)
{
    (void)state;
    (void)close(log_reader);
    return unlink(log_path) != 0 || rmdir(folder) != 0;
}

int main(void)
{
    return run_all_tests(make_log, remove_log);
}
