/* SPDX-License-Identifier: MIT */
/* Random calls of libpdl and libpdl-rtc for a long time, on the fake driver:
 *
 *   LD_LIBRARY_PATH=BUILD/test/fake/lib PDL_FAKE_DEVICES=2 soak_host [--seconds N] [--seed N] [--threads N]
 *
 * Calls of the driver fail at random. Signals interrupt system calls all the time. Children are forked while other
 * threads compile; some are stopped for a while and some are killed. The cache's files are damaged, removed and aged
 * under it, and the clock of the day jumps by days. What ran is compared with what was asked for, and every
 * image with its text.
 *
 * Every now and then all threads destroy what they have: then nothing may be left in the driver, and memory may not
 * have grown since the first tenth. Prints one JSON object; exits with 1 at the first fault. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "soak_host.h"

enum {
    THREADS_MAX = 64,
    CHILDREN_MAX = 4,
    HANG_SECONDS = 180, /* longer than anything may take */
    FAIL_PER_MILLION = 3000,
    RESIDENT_GROWTH_MAX = 8 << 20 /* bytes: the allocator's arenas settle late */
};

struct fake fake;
struct soak_counts counts;

static struct worker workers[THREADS_MAX];
static unsigned thread_count = 4;
static atomic_bool pausing, ending;
static pthread_barrier_t paused, resumed;
static atomic_long clock_offset; /* seconds */

static struct {
    pthread_mutex_t lock;
    struct {
        pid_t pid;
        time_t since;
        bool may_die;
    } list[CHILDREN_MAX];
} children = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The linker puts this in the place of clock_gettime(): the clock of the day jumps. */
int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    const int result = __real_clock_gettime(clock, time);
    if (clock == CLOCK_REALTIME) {
        time->tv_sec += atomic_load(&clock_offset);
    }
    return result;
}

static time_t seconds_now(void)
{
    struct timespec now = {0};
    (void)__real_clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* xorshift64* */
unsigned draw(struct worker *worker, unsigned below)
{
    worker->state ^= worker->state >> 12;
    worker->state ^= worker->state << 25;
    worker->state ^= worker->state >> 27;
    return (unsigned)((worker->state * UINT64_C(0x2545f4914f6cdd1d)) >> 33) % below;
}

void fault(const struct worker *worker, const char *format, ...)
{
    va_list arguments;
    flockfile(stderr);
    (void)fprintf(stderr, "soak_host: process %ld", (long)getpid());
    if (worker != NULL) {
        (void)fprintf(stderr, ", thread %u, step %lu (%s)", worker->number,
                      atomic_load(&worker->steps), worker->doing);
    }
    (void)fputs(": ", stderr);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
    funlockfile(stderr);
    _exit(1);
}

/* ------------------------------------------------------------------------------------------------
 * Children
 * ---------------------------------------------------------------------------------------------- */

/* Takes note of those that ended. A child that hangs, or found a fault, ends the soak. */
static void reap(struct worker *worker)
{
    for (unsigned i = 0; i < CHILDREN_MAX; i++) {
        const pid_t pid = children.list[i].pid;
        int status = 0;
        if (pid == 0) {
            continue;
        }
        if (waitpid(pid, &status, WNOHANG) == pid) {
            if (!(WIFEXITED(status) && WEXITSTATUS(status) == 0) &&
                !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && children.list[i].may_die)) {
                fault(worker, "a child ended with status %#x", (unsigned)status);
            }
            children.list[i].pid = 0;
        } else if (seconds_now() - children.list[i].since > HANG_SECONDS) {
            fault(worker, "child %ld hangs", (long)pid);
        }
    }
}

static void fork_child(struct worker *worker, unsigned slot)
{
    const pid_t pid = fork();
    if (pid == 0) {
        worker->doing = "a child";
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also where it is stopped */
        (void)alarm(HANG_SECONDS);              /* ends it, which is a fault */
        (void)signal(SIGALRM, SIG_DFL);
        _exit(cache_child(worker));
    }
    if (pid > 0) {
        children.list[slot].pid = pid;
        children.list[slot].since = seconds_now();
        children.list[slot].may_die = false;
        atomic_fetch_add(&counts.forks, 1);
    }
}

/* Stops, continues or kills a child, or makes one. */
static void child_step(struct worker *worker)
{
    worker->doing = "children";
    (void)pthread_mutex_lock(&children.lock);
    const unsigned slot = draw(worker, CHILDREN_MAX);
    const pid_t pid = children.list[slot].pid;
    reap(worker);
    if (children.list[slot].pid == 0) {
        fork_child(worker, slot);
    } else if (draw(worker, 4) == 0) {
        children.list[slot].may_die = true;
        (void)kill(pid, SIGKILL);
        atomic_fetch_add(&counts.killed, 1);
    } else if (draw(worker, 2) == 0) {
        (void)kill(pid, SIGSTOP);
        atomic_fetch_add(&counts.stopped, 1);
    } else {
        (void)kill(pid, SIGCONT);
    }
    (void)pthread_mutex_unlock(&children.lock);
}

static void end_children(void)
{
    for (unsigned i = 0; i < CHILDREN_MAX; i++) {
        if (children.list[i].pid != 0) {
            (void)kill(children.list[i].pid, SIGKILL);
            (void)waitpid(children.list[i].pid, NULL, 0);
            children.list[i].pid = 0;
        }
    }
}

/* ------------------------------------------------------------------------------------------------
 * Threads
 * ---------------------------------------------------------------------------------------------- */

static void take_step(struct worker *worker)
{
    const unsigned kind = draw(worker, 1000);
    if (kind < 960) {
        driver_step(worker);
    } else if (kind < 990) {
        cache_step(worker);
    } else if (kind < 995) {
        child_step(worker);
    } else if (kind < 999) {
        worker->doing = "harm";
        cache_harm(worker);
    } else {
        atomic_store(&clock_offset, (long)draw(worker, 20 * 86400) - 10L * 86400);
        atomic_fetch_add(&counts.clock_jumps, 1);
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    driver_join(worker);
    while (!atomic_load(&ending)) {
        if (atomic_load(&pausing)) {
            driver_clear(worker);
            worker->of_header = NULL;
            (void)pthread_barrier_wait(&paused);
            (void)pthread_barrier_wait(&resumed);
        }
        take_step(worker);
        atomic_fetch_add(&worker->steps, 1);
    }
    driver_clear(worker);
    free(worker->driver);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Looking at all of it
 * ---------------------------------------------------------------------------------------------- */

static size_t resident(void)
{
    unsigned long pages = 0;
    unsigned long in_memory = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%lu %lu", &pages, &in_memory) != 2) {
        fault(NULL, "/proc/self/statm cannot be read");
    }
    (void)fclose(file);
    return in_memory * (size_t)sysconf(_SC_PAGESIZE);
}

/* Everything is destroyed, looked at and begun anew. The bytes in memory. */
static size_t pause_and_count(void)
{
    static const struct mock_live none;
    struct mock_live live;
    char misuse[256];
    atomic_store(&pausing, true);
    (void)pthread_barrier_wait(&paused);
    cache_close();
    fake.count_live(&live);
    if (memcmp(&live, &none, sizeof(live)) != 0) {
        fault(NULL,
              "left behind: %d libraries, %d graphs, %d nodes, %d executable graphs, %d events, %d "
              "streams, %d allocations, %d contexts",
              live.libraries, live.graphs, live.nodes, live.execs, live.events, live.streams,
              live.allocations, live.contexts);
    }
    fake.take_misuse(misuse, sizeof(misuse));
    if (misuse[0] != '\0') {
        fault(NULL, "the driver was misused: %s", misuse);
    }
    const size_t bytes = resident();
    cache_open();
    atomic_store(&pausing, false);
    (void)pthread_barrier_wait(&resumed);
    return bytes;
}

/* Sleeps, and looks whether every thread goes on. */
static void watch_until(time_t until)
{
    static unsigned long steps[THREADS_MAX];
    static time_t since[THREADS_MAX];
    while (seconds_now() < until) {
        const struct timespec moment = {.tv_nsec = 100000000};
        (void)nanosleep(&moment, NULL);
        for (unsigned i = 0; i < thread_count; i++) {
            const unsigned long now = atomic_load(&workers[i].steps);
            if (now != steps[i] || since[i] == 0) {
                steps[i] = now;
                since[i] = seconds_now();
            } else if (seconds_now() - since[i] > HANG_SECONDS) {
                fault(&workers[i], "the thread hangs");
            }
        }
    }
}

static void on_signal(int number)
{
    (void)number; /* it only interrupts */
}

static void interrupt_often(void)
{
    const struct itimerval often = {{.tv_usec = 3000}, {.tv_usec = 3000}};
    struct sigaction action = {.sa_handler = on_signal}; /* without SA_RESTART */
    (void)sigaction(SIGALRM, &action, NULL);
    (void)setitimer(ITIMER_REAL, &often, NULL);
}

static void print(unsigned long seconds, uint64_t seed, size_t early, size_t most)
{
    unsigned long steps = 0;
    for (unsigned i = 0; i < thread_count; i++) {
        steps += atomic_load(&workers[i].steps);
    }
    (void)printf("{\"seconds\": %lu, \"seed\": %llu, \"threads\": %u, \"steps\": %lu", seconds,
                 (unsigned long long)seed, thread_count, steps);
#define SOAK_PRINT_(name) (void)printf(", \"" #name "\": %lu", atomic_load(&counts.name));
    SOAK_COUNTS(SOAK_PRINT_)
#undef SOAK_PRINT_
    (void)printf(", \"resident_early\": %zu, \"resident_most\": %zu, \"faults\": 0}\n", early,
                 most);
}

static unsigned long number_of(const char *text)
{
    return text != NULL ? strtoul(text, NULL, 10) : 0;
}

int main(int count, char **arguments)
{
    enum { LOOKS = 40 };
    unsigned long seconds = 60;
    uint64_t seed = 1;
    pthread_t threads[THREADS_MAX];
    char folder[] = "/tmp/pdl-soak-XXXXXX";
    char command[64];
    for (int i = 1; i < count; i += 2) {
        const unsigned long value = number_of(arguments[i + 1]);
        if (strcmp(arguments[i], "--seconds") == 0 && value > 0) {
            seconds = value;
        } else if (strcmp(arguments[i], "--seed") == 0 && value > 0) {
            seed = value;
        } else if (strcmp(arguments[i], "--threads") == 0 && value > 0 && value <= THREADS_MAX) {
            thread_count = (unsigned)value;
        } else {
            (void)fprintf(stderr, "usage: soak_host [--seconds N] [--seed N] [--threads N]\n");
            return 2;
        }
    }
    if (mkdtemp(folder) == NULL) {
        fault(NULL, "%s: %s", folder, strerror(errno));
    }
    driver_start();
    cache_start(folder);
    cache_open();
    fake.fail_randomly(seed, FAIL_PER_MILLION, NULL, 0);
    (void)pthread_barrier_init(&paused, NULL, thread_count + 1);
    (void)pthread_barrier_init(&resumed, NULL, thread_count + 1);
    interrupt_often();
    const time_t begin = seconds_now();
    for (unsigned i = 0; i < thread_count; i++) {
        workers[i] = (struct worker){.state = (seed * 1000 + i + 1) * UINT64_C(0x9e3779b97f4a7c15),
                                     .number = i};
        if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0) {
            fault(NULL, "a thread cannot be made");
        }
    }
    size_t early = 0;
    size_t most = 0;
    for (unsigned i = 1; i <= LOOKS; i++) {
        watch_until(begin + (time_t)(seconds * i / LOOKS));
        const size_t now = pause_and_count();
        if (i <= LOOKS / 10) {
            early = now > early ? now : early;
        }
        most = now > most ? now : most;
    }
    atomic_store(&ending, true);
    for (unsigned i = 0; i < thread_count; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    end_children();
    cache_close();
    (void)snprintf(command, sizeof(command), "rm -rf '%s' '%s'-header-*", folder, folder);
    if (system(command) != 0) {
        (void)fprintf(stderr, "%s stays\n", folder);
    }
    print(seconds, seed, early, most);
    if (most > early + RESIDENT_GROWTH_MAX) {
        fault(NULL, "memory grew by %zu bytes after the first tenth", most - early);
    }
    return 0;
}
