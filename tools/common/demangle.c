/* SPDX-License-Identifier: MIT */
#include "common/demangle.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/memory.h"
#include "common/shown.h"

#ifdef PDL_HAVE_CXA_DEMANGLE
/* The C++ library's own; its header, cxxabi.h, is not for C. */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

/* A substitution in a mangled name stands for any amount of text, so that a short name may expand to
 * gigabytes, and the demangler has no limit for that, nor for its time or its stack. So it runs in a
 * process of its own, the worker, which the limits below end. */
enum {
    LONGEST_NAME = 1 << 16,     /* longer than what template libraries make */
    NAME_MICROSECONDS = 200000, /* of the processor, for one name */
    WORKER_SECONDS = 1,         /* of the processor, for all names of a worker */
    WORKER_MEMORY = 32 << 20,   /* bytes beyond what the worker starts with */
    MOST_WORKERS = 3            /* where as many were lost, names stay mangled */
};

struct worker {
    int socket; /* a packet per name, and a packet per answer; -1: there is none */
    pid_t process;
    int lost;
};

/* ---- in the worker ----------------------------------------------------------------------------*/

static void limit(int what, rlim_t most)
{
    struct rlimit now;
    if (getrlimit(what, &now) == 0 && (now.rlim_cur == RLIM_INFINITY || now.rlim_cur > most)) {
        now.rlim_cur = most;
        (void)setrlimit(what, &now);
    }
}

/* What the worker starts with depends on the input, which may be mapped in it. */
static void limit_memory(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL) {
        if (fscanf(file, "%llu", &pages) == 1) {
            limit(RLIMIT_AS, (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + WORKER_MEMORY);
        }
        (void)fclose(file);
    }
}

static void set_timer(suseconds_t microseconds)
{
    const struct itimerval timer = {.it_value = {.tv_usec = microseconds}};
    (void)setitimer(ITIMER_PROF, &timer, NULL);
}

/* Answers with the demangled name, or with a NUL where there is none that is short enough. */
static void answer(int socket, const char *name)
{
    int status = 0;
    set_timer(NAME_MICROSECONDS);
    char *text = __cxa_demangle(name, NULL, NULL, &status);
    set_timer(0);
    const size_t length = text != NULL ? strlen(text) : 0;
    const bool fits = length > 0 && length <= LONGEST_SHOWN;
    (void)send(socket, fits ? text : "", fits ? length : 1, MSG_NOSIGNAL);
    free(text);
}

__attribute__((noreturn)) static void work(int socket)
{
    static char name[LONGEST_NAME + 1];
    static const int defaults[] = {SIGINT, SIGTERM, SIGHUP, SIGPROF, SIGXCPU};
    sigset_t none;
    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++) {
        (void)signal(defaults[i], SIG_DFL);
    }
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++) {
        (void)dup2(nowhere, file);
    }
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, WORKER_SECONDS);
    limit_memory();
    for (;;) {
        const ssize_t got = recv(socket, name, LONGEST_NAME, 0);
        if (got <= 0) {
            _exit(0); /* whoever asked is gone */
        }
        name[got] = '\0';
        answer(socket, name);
    }
}

/* ---- in the tool ------------------------------------------------------------------------------*/

static bool start(struct worker *worker)
{
    int ends[2];
    if (worker->socket >= 0) {
        return true;
    }
    if (worker->lost == MOST_WORKERS ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return false;
    }
    worker->process = fork();
    if (worker->process == 0) {
        (void)close(ends[0]);
        work(ends[1]);
    }
    (void)close(ends[1]);
    if (worker->process < 0) {
        (void)close(ends[0]);
        worker->lost = MOST_WORKERS;
        return false;
    }
    worker->socket = ends[0];
    return true;
}

static void lose(struct worker *worker)
{
    (void)close(worker->socket);
    while (waitpid(worker->process, NULL, 0) < 0 && errno == EINTR) {
    }
    worker->socket = -1;
    worker->lost++;
}

/* The demangled name, which the caller frees; NULL where there is none. */
static char *ask(struct worker *worker, const char *name)
{
    char text[LONGEST_SHOWN + 1];
    const size_t length = strlen(name);
    if (!start(worker)) {
        return NULL;
    }
    ssize_t got = -1;
    if (send(worker->socket, name, length, MSG_NOSIGNAL) == (ssize_t)length) {
        do {
            got = recv(worker->socket, text, LONGEST_SHOWN, 0);
        } while (got < 0 && errno == EINTR);
    }
    if (got <= 0) {
        lose(worker);
        return NULL;
    }
    text[got] = '\0';
    return text[0] != '\0' ? copy_text(text) : NULL;
}

/* A name that was asked for, and how it is shown. */
struct pair {
    char *name, *text;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct pair *)a)->name, ((const struct pair *)b)->name);
}

/* Each name is asked for once. What is found here lives as long as the process. */
static const char *find(const char *name)
{
    static void *known;
    static struct worker worker = {.socket = -1};
    const struct pair wanted = {.name = (char *)name}; /* it is only compared */
    struct pair *const *found = tfind(&wanted, &known, by_name);
    if (found != NULL) {
        return (*found)->text;
    }
    struct pair *made = allocate(1, sizeof(*made));
    *made = (struct pair){copy_text(name), ask(&worker, name)};
    made->text = made->text != NULL ? made->text : shown(name);
    (void)tsearch(made, &known, by_name); /* without memory it is asked for again */
    return made->text;
}
#endif

char *demangle(const char *name)
{
#ifdef PDL_HAVE_CXA_DEMANGLE
    /* It takes "f" for the type float: only what begins as an encoding is a function's name. */
    if (strncmp(name, "_Z", 2) == 0 && strlen(name) <= LONGEST_NAME) {
        return copy_text(find(name));
    }
#endif
    return shown(name);
}
