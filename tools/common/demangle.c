/* SPDX-License-Identifier: MIT */
#include "common/demangle.h"

#include <errno.h>
#include <fnmatch.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "code/unit_name.h"
#include "common/memory.h"
#include "common/process.h"
#include "common/shorten.h"
#include "common/shown.h"

/* A substitution in a mangled name stands for any amount of text, so that a short name may expand to
 * gigabytes, and the demangler has no limit for that, nor for its time or its stack. So it runs in a
 * process of its own, the worker, which the limits below end. */
enum {
    LONGEST_NAME = 1 << 16,     /* longer than what template libraries make */
    LONGEST_TEXT = 1 << 15,     /* demangled: what is shown of it is shorter */
    NAME_MICROSECONDS = 200000, /* of the processor, for one name */
    WORKER_SECONDS = 1,         /* of the processor, for all names of a worker */
    WORKER_MEMORY = 32 << 20,   /* bytes beyond what the worker starts with */
    MOST_WORKERS = 3            /* where as many were lost, names stay mangled */
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
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL) {
        char pages[64]; /* the number of them comes first */
        if (fgets(pages, sizeof(pages), file) != NULL) {
            limit(RLIMIT_AS, (rlim_t)strtoull(pages, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE) +
                                 WORKER_MEMORY);
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
    set_timer(NAME_MICROSECONDS);
    char *text = demangle_cxx(name);
    set_timer(0);
    const size_t length = text != NULL ? strlen(text) : 0;
    const bool fits = length > 0 && length <= LONGEST_TEXT;
    (void)send(socket, fits ? text : "", fits ? length : 1, MSG_NOSIGNAL);
    free(text);
}

static void work(int socket)
{
    static char name[LONGEST_NAME + 1];
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, WORKER_SECONDS);
    limit_memory();
    ssize_t got;
    while ((got = recv(socket, name, LONGEST_NAME, 0)) > 0) {
        name[got] = '\0';
        answer(socket, name);
    }
}

/* ---- in the tool ------------------------------------------------------------------------------*/

/* The demangled name, which the caller frees; NULL where there is none. */
static char *ask(const char *name)
{
    static struct process worker = {.socket = -1};
    static int lost;
    static char text[LONGEST_TEXT + 1];
    const size_t length = strlen(name);
    if (lost == MOST_WORKERS || (worker.socket < 0 && !process_start(&worker, work))) {
        return NULL;
    }
    ssize_t got = -1;
    if (send(worker.socket, name, length, MSG_NOSIGNAL) == (ssize_t)length) {
        do {
            got = recv(worker.socket, text, LONGEST_TEXT, 0);
        } while (got < 0 && errno == EINTR);
    }
    if (got <= 0) {
        process_end(&worker);
        lost++;
        return NULL;
    }
    text[got] = '\0';
    return text[0] != '\0' ? copy_text(text) : NULL;
}

/* A name that was asked for, and how it is shown. */
struct pair {
    char *name, *text, *brief, *alone;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct pair *)a)->name, ((const struct pair *)b)->name);
}

/* Each name is asked for once. What is found here lives as long as the process. */
static const struct pair *find(const char *name)
{
    static void *known;
    const struct pair wanted = {.name = (char *)name}; /* it is only compared */
    struct pair *const *found = tfind(&wanted, &known, by_name);
    if (found != NULL) {
        return *found;
    }
    struct pair *made = allocate(1, sizeof(*made));
    char *whole = ask(name);
    char *own = shown(name);
    made->name = copy_text(name);
    made->brief = shorten_name(whole != NULL ? whole : own, BRIEF_NAME);
    made->alone = template_name(whole != NULL ? whole : own);
    if (whole != NULL && strlen(whole) <= LONGEST_SHOWN) {
        made->text = whole;
        free(own);
    } else {
        made->text = own;
        free(whole);
    }
    (void)tsearch(made, &known, by_name); /* without memory it is asked for again */
    return made;
}

/* It takes "f" for the type float: only what begins as an encoding is a function's name. */
static bool is_mangled(const char *name)
{
    return demangle_cxx != NULL && strncmp(name, "_Z", 2) == 0 && strlen(name) <= LONGEST_NAME;
}

char *demangle(const char *name)
{
    name = pdl_unit_skip(name);
    if (is_mangled(name)) {
        return copy_text(find(name)->text);
    }
    return shown(name);
}

char *demangle_brief(const char *name)
{
    name = pdl_unit_skip(name);
    if (is_mangled(name)) {
        return copy_text(find(name)->brief);
    }
    return shown(name);
}

char *demangle_alone(const char *name)
{
    name = pdl_unit_skip(name);
    if (is_mangled(name)) {
        return copy_text(find(name)->alone);
    }
    return shown(name);
}

bool name_matches(const char *mangled, const char *const *patterns, size_t count)
{
    char *const names[] = {copy_text(mangled), demangle(mangled), demangle_alone(mangled)};
    bool matches = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        for (size_t p = 0; p < count && !matches; p++) {
            matches = fnmatch(patterns[p], names[i], 0) == 0;
        }
        free(names[i]);
    }
    return matches;
}
