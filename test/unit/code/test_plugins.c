/* SPDX-License-Identifier: MIT */
/* Device code of fifty shared objects that are loaded and unloaded, by several threads, and in children of forks. Each has
 * a kernel of the same name, and every second one waits: an answer of an object that lay at an address before is wrong. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../inspect/make_image.h"
#include "code/object.h"
#include "support.h"

enum { OBJECTS = 50, THREADS = 4, TURNS = 400, CHILDREN = 10 };

#define HERE "the code goes here"

static char folder[] = "/tmp/pdl_test_plugins_XXXXXX";
static char paths[OBJECTS][80];

static bool waits(int object)
{
    return object % 2 == 0;
}

static void make_path(char path[80], int object)
{
    (void)snprintf(path, 80, "%s/%d.so", folder, object);
}

static void write_object(int object, unsigned char *file, size_t size, size_t place)
{
    struct bytes code = {0};
    char text[256];
    const size_t begin = fatbin_begin(&code);
    (void)snprintf(
        text, sizeof(text),
        ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry fc1() { %s ret; }\n",
        waits(object) ? "griddepcontrol.wait;" : "");
    fatbin_add(&code, MADE_PTX, 90, 0, text, strlen(text) + 1, 0);
    fatbin_end(&code, begin);
    assert_true(code.size <= 4096);
    memcpy(file + place, code.data, code.size);
    bytes_free(&code);
    make_path(paths[object], object);
    FILE *const to = fopen(paths[object], "wb");
    assert_non_null(to);
    assert_int_equal(fwrite(file, 1, size, to), size);
    assert_int_equal(fclose(to), 0);
}

static int make_objects(void **state)
{
    (void)state;
    static unsigned char file[1 << 20];
    FILE *const from = fopen(PDL_TEST_PLUGIN, "rb");
    assert_non_null(from);
    const size_t size = fread(file, 1, sizeof(file), from);
    assert_int_equal(fclose(from), 0);
    size_t place = 0;
    while (place + sizeof(HERE) < size && memcmp(file + place, HERE, sizeof(HERE)) != 0) {
        place++;
    }
    assert_true(place + 4096 < size && size < sizeof(file));
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < OBJECTS; i++) {
        write_object(i, file, size, place);
    }
    return 0;
}

static int remove_objects(void **state)
{
    (void)state;
    for (int i = 0; i < OBJECTS; i++) {
        (void)unlink(paths[i]);
    }
    return rmdir(folder);
}

static void *load(int object, const void **own, const void **shared)
{
    void *const handle = dlopen(paths[object], RTLD_NOW | RTLD_LOCAL);
    void *const symbol = handle != NULL ? dlsym(handle, "pdl_test_own_stub") : NULL;
    const void *(*own_stub)(void) = NULL;
    memcpy(&own_stub, &symbol, sizeof(own_stub));
    *own = own_stub != NULL ? own_stub() : NULL;
    *shared = handle != NULL ? dlsym(handle, "pdl_test_shared_stub") : NULL;
    return handle;
}

static pdl_known answer_for(const void *stub)
{
    static const struct pdl_object_code device = {
        .capability = 90, .ptx_version = 90, .binary_version = 90};
    return pdl_object_scan(stub, "fc1", &device).waits;
}

static bool is_right(int object, const void *stub)
{
    return answer_for(stub) == (waits(object) ? PDL_YES : PDL_NO);
}

/* Loads an object, asks, and unloads it. Counts wrong answers. */
static int turn(int object)
{
    const void *own = NULL;
    const void *shared = NULL;
    void *const handle = load(object, &own, &shared);
    const int wrong = handle == NULL || !is_right(object, own);
    return wrong + (handle != NULL && dlclose(handle) != 0);
}

static int turns(unsigned seed, int count)
{
    int wrong = 0;
    for (int i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        wrong += turn((int)(seed >> 16) % OBJECTS);
    }
    return wrong;
}

PLAIN_TEST(what_is_unloaded_is_forgotten)
{
    assert_int_equal(turns(1, TURNS), 0);
}

PLAIN_TEST(all_are_known_at_once)
{
    void *handles[OBJECTS];
    const void *own[OBJECTS];
    const void *shared[OBJECTS];
    for (int i = 0; i < OBJECTS; i++) {
        handles[i] = load(i, &own[i], &shared[i]);
        assert_non_null(handles[i]);
    }
    for (int i = 0; i < 2 * OBJECTS; i++) {
        assert_true(is_right(i % OBJECTS, own[i % OBJECTS]));
    }
    /* An exported stub may be any of them: half of them wait. Then only those that do are left. */
    assert_int_equal(answer_for(shared[0]), PDL_UNKNOWN);
    assert_int_equal(answer_for(shared[1]), PDL_UNKNOWN);
    for (int i = 1; i < OBJECTS; i += 2) {
        assert_int_equal(dlclose(handles[i]), 0);
    }
    for (int i = 0; i < OBJECTS; i += 2) {
        assert_int_equal(answer_for(shared[i]), PDL_YES);
        assert_true(is_right(i, own[i]));
    }
    for (int i = 0; i < OBJECTS; i += 2) {
        assert_int_equal(dlclose(handles[i]), 0);
    }
}

/* A child finds the C library's own lock of its list of objects as it was, so that nobody is in there at a fork. */
static pthread_rwlock_t loader = PTHREAD_RWLOCK_INITIALIZER;
static atomic_bool is_forking;
static atomic_bool is_over;

static void enter_loader(void)
{
    while (atomic_load(&is_forking)) {
        (void)sched_yield();
    }
    (void)pthread_rwlock_rdlock(&loader);
}

static pid_t fork_outside_of_it(void)
{
    atomic_store(&is_forking, true);
    (void)pthread_rwlock_wrlock(&loader);
    const pid_t child = fork();
    if (child != 0) {
        (void)pthread_rwlock_unlock(&loader);
    }
    atomic_store(&is_forking, false);
    return child;
}

static atomic_int wrong_answers;

/* The first asks about objects that stay, the others about those that come and go. */
static void *use(void *argument)
{
    const unsigned number = *(const unsigned *)argument;
    const void *own[2];
    const void *shared[2];
    unsigned seed = number;
    enter_loader();
    void *const handles[2] = {load(0, &own[0], &shared[0]), load(1, &own[1], &shared[1])};
    (void)pthread_rwlock_unlock(&loader);
    while (!atomic_load(&is_over)) {
        enter_loader();
        atomic_fetch_add(&wrong_answers, number > 0 ? turns(++seed, 1)
                                                    : !is_right(0, own[0]) + !is_right(1, own[1]));
        (void)pthread_rwlock_unlock(&loader);
    }
    enter_loader();
    (void)dlclose(handles[0]);
    (void)dlclose(handles[1]);
    (void)pthread_rwlock_unlock(&loader);
    return NULL;
}

PLAIN_TEST(threads_and_children_are_told_the_truth)
{
    pthread_t threads[THREADS];
    unsigned numbers[THREADS];
    atomic_store(&is_over, false);
    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, use, &numbers[i]), 0);
    }
    for (unsigned i = 0; i < CHILDREN; i++) {
        int status = -1;
        const pid_t child = fork_outside_of_it();
        if (child == 0) {
            (void)alarm(60); /* kills it */
            _exit(turns(100 + i, 20) != 0);
        }
        assert_true(child > 0);
        assert_int_equal(turns(200 + i, 10), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    atomic_store(&is_over, true);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(atomic_load(&wrong_answers), 0);
}

int main(void)
{
    return run_all_tests(make_objects, remove_objects);
}
