/* SPDX-License-Identifier: MIT */
/* The first use of what is loaded, by two threads at a time: neither waits for the other, which may wait for it in
 * the loader. */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include "code/fatbin.h"
#include "code/proof.h"
#include "code/unpack.h"
#include "core/driver.h"
#include "core/once.h"
#include "support.h"

/* ---- in a constructor -------------------------------------------------------------------------- */

static void use_driver(void)
{
    const struct pdl_driver *driver = NULL;
    (void)pdl_driver_get(&driver);
}

static void use_codecs(uint32_t compression)
{
    static const unsigned char payload[16] = {1};
    const struct pdl_fatbin_entry entry = {
        .payload = payload, .size = sizeof(payload), .full_size = 64, .compression = compression};
    unsigned char *bytes = NULL;
    size_t size = 0;
    assert_int_not_equal(pdl_unpack_payload(&entry, 4096, &bytes, &size), PDL_UNPACKED);
}

static void use_lz4(void)
{
    use_codecs(PDL_FATBIN_LZ4);
}

static void use_zstd(void)
{
    use_codecs(PDL_FATBIN_ZSTD);
}

static void use_inspect(void)
{
    (void)pdl_proof_load();
}

static void use_strict(void)
{
    assert_true(pdl_proof_is_strict());
}

static void (*now)(void);
static pthread_t other;

static void *use_now(void *unused)
{
    now();
    return unused;
}

/* This thread is in the loader, where the other one soon waits for it. */
__attribute__((visibility("default"))) void pdl_test_in_constructor(void);
void pdl_test_in_constructor(void)
{
    assert_int_equal(pthread_create(&other, NULL, use_now, NULL), 0);
    (void)usleep(200000);
    now();
}

/* Each in a child, where nothing was used before. */
PLAIN_TEST(a_constructor_may_use_what_another_thread_is_loading)
{
    static void (*const uses[])(void) = {use_driver, use_lz4, use_zstd, use_inspect, use_strict};
    for (size_t i = 0; i < COUNT_OF(uses); i++) {
        int status = -1;
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            (void)alarm(20); /* kills it */
            now = uses[i];
            const bool good = freopen("/dev/null", "w", stderr) != NULL &&
                              setenv("PDL_OVERLAP_STRICT", "1", 1) == 0 &&
                              dlopen(PDL_TEST_PLUGIN, RTLD_NOW) != NULL &&
                              pthread_join(other, NULL) == 0;
            _exit(good ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            fail_msg("use %zu: status %#x", i, (unsigned)status);
        }
    }
}

/* ---- which outcome counts ---------------------------------------------------------------------- */

enum outcome { LOADS, FAILS, OUTCOMES };

static struct {
    struct pdl_once once;
    int room;
    sem_t slow_is_inside, slow_may_go_on;
    enum outcome slow_outcome, quick_outcome;
    pdl_status slow_status;
    const void *slow_table;
    int32_t slow_error;
} two;

static pdl_status end_with(enum outcome outcome, pdl_status failure)
{
    pdl_error error = PDL_ERROR_INIT;
    error.status = failure;
    return outcome == LOADS ? PDL_SUCCESS : pdl_error_record(&error);
}

static pdl_status load_slowly(void *fresh)
{
    *(int *)fresh = 1;
    assert_int_equal(sem_post(&two.slow_is_inside), 0);
    assert_int_equal(sem_wait(&two.slow_may_go_on), 0);
    return end_with(two.slow_outcome, PDL_ERROR_CYCLE);
}

static pdl_status load_quickly(void *fresh)
{
    *(int *)fresh = 2;
    return end_with(two.quick_outcome, PDL_ERROR_EDGE);
}

static pdl_status get(pdl_status (*load)(void *fresh), const void **table)
{
    int fresh = 0;
    return pdl_once_get(&two.once, load, &fresh, &two.room, sizeof(fresh), table);
}

static void *get_slowly(void *unused)
{
    two.slow_status = get(load_slowly, &two.slow_table);
    two.slow_error = pdl_last_error()->status;
    return unused;
}

static pdl_status must_not_load(void *fresh)
{
    (void)fresh;
    fail_msg("there is an outcome already");
    return PDL_ERROR_BUSY;
}

PLAIN_TEST(the_first_outcome_counts_whoever_began_first)
{
    for (unsigned i = 0; i < OUTCOMES * OUTCOMES; i++) {
        const void *table = NULL;
        pthread_t slow;
        memset(&two, 0, sizeof(two));
        two.slow_outcome = (enum outcome)(i % OUTCOMES);
        two.quick_outcome = (enum outcome)(i / OUTCOMES);
        assert_int_equal(sem_init(&two.slow_is_inside, 0, 0), 0);
        assert_int_equal(sem_init(&two.slow_may_go_on, 0, 0), 0);
        assert_int_equal(pthread_create(&slow, NULL, get_slowly, NULL), 0);
        assert_int_equal(sem_wait(&two.slow_is_inside), 0);
        (void)alarm(20); /* kills what waits */
        const pdl_status first = two.quick_outcome == LOADS ? PDL_SUCCESS : PDL_ERROR_EDGE;
        for (int again = 0; again < 3; again++) { /* then beside the slow one, then after it */
            table = NULL;
            assert_int_equal(get(again == 0 ? load_quickly : must_not_load, &table), first);
            assert_ptr_equal(table, first == PDL_SUCCESS ? &two.room : NULL);
            assert_int_equal(two.room, first == PDL_SUCCESS ? 2 : 0);
            if (again == 1) {
                assert_int_equal(sem_post(&two.slow_may_go_on), 0);
                assert_int_equal(pthread_join(slow, NULL), 0);
            }
        }
        (void)alarm(0);
        /* It fails if its own loading failed, and else as the first one. */
        const pdl_status own = two.slow_outcome == LOADS ? first : PDL_ERROR_CYCLE;
        assert_int_equal(two.slow_status, own);
        assert_ptr_equal(two.slow_table, own == PDL_SUCCESS ? &two.room : NULL);
        assert_true(own == PDL_SUCCESS || two.slow_error == (int32_t)own);
        assert_int_equal(sem_destroy(&two.slow_is_inside), 0);
        assert_int_equal(sem_destroy(&two.slow_may_go_on), 0);
    }
}
