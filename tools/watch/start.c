/* SPDX-License-Identifier: MIT */
#include "watch/start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/memory.h"
#include "common/print.h"
#include "os/environment.h"
#include "watch/variables.h"

enum {
    EXIT_NOT_RUN = 126,
    EXIT_NOT_FOUND = 127,
    EXIT_SIGNAL = 128,
    GRACE_MILLISECONDS = 2000 /* between the request to end and the kill */
};

/* ---- the library ------------------------------------------------------------------------------ */

#ifndef PDL_WATCH_LIBDIR
#define PDL_WATCH_LIBDIR "lib"
#endif

char *start_library(void)
{
    /* As installed, then as built: from the folder of pdltool. */
    static const char *const places[] = {
        "../" PDL_WATCH_LIBDIR "/pdl/libpdl-watch.so",
        "../lib/pdl/libpdl-watch.so",
        "../lib64/pdl/libpdl-watch.so",
        "../lib/watch/libpdl-watch.so",
    };
    char own[PATH_MAX];
    const char *const named = pdl_variable_text(PDL_VARIABLE(PDL_WATCH_LIBRARY));
    if (named != NULL) {
        char *const path = realpath(named, NULL);
        if (path == NULL) {
            print_error("PDL_WATCH_LIBRARY=%s: %s", named, strerror(errno));
        }
        return path;
    }
    const ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
    own[length > 0 ? length : 0] = '\0';
    char *const slash = strrchr(own, '/');
    if (slash != NULL) {
        *slash = '\0';
        for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
            char *const near = format_text("%s/%s", own, places[i]);
            char *const path = realpath(near, NULL);
            free(near);
            if (path != NULL) {
                return path;
            }
        }
    }
    print_error("no libpdl-watch.so in %s/%s or beside it; set PDL_WATCH_LIBRARY to its path", own,
                "../" PDL_WATCH_LIBDIR "/pdl");
    return NULL;
}

/* ---- the environment -------------------------------------------------------------------------- */

/* The program may change its folder before the library opens a file. */
static void set_path(struct variables *variables, const char *name, const char *path)
{
    char *const folder = path != NULL && path[0] != '/' ? getcwd(NULL, 0) : NULL;
    if (folder != NULL) {
        char *const whole = format_text("%s/%s", folder, path);
        variables_set(variables, name, whole);
        free(whole);
    } else {
        variables_set(variables, name, path);
    }
    free(folder);
}

static void set_number(struct variables *variables, const char *name, uint64_t number)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    variables_set(variables, name, number > 0 ? text : NULL);
}

static void set_preload(struct variables *variables, const char *library)
{
    const char *const there = variables_get(variables, "LD_PRELOAD");
    char *const both =
        there != NULL && *there != '\0' ? format_text("%s:%s", library, there) : copy_text(library);
    variables_set(variables, "LD_PRELOAD", both);
    free(both);
}

/* False with a line where it cannot be done. */
static bool set_environment(struct variables *variables, const struct start *start,
                            const char *library)
{
    char seconds[32];
    bool preload = start->interpose;
    const char *const other = variables_get(variables, "CUDA_INJECTION64_PATH");
    if (other != NULL && *other != '\0' && strcmp(other, library) != 0) {
        print_warning(
            "CUDA_INJECTION64_PATH names another tool and is kept: %s; libpdl-watch is preloaded, "
            "without device times if that tool uses CUPTI",
            other);
        preload = true;
    } else {
        variables_set(variables, "CUDA_INJECTION64_PATH", library);
    }
    if (preload) {
        if (strpbrk(library, ": ") != NULL) {
            print_error(
                "LD_PRELOAD takes no path with a blank or a colon: %s; set PDL_WATCH_LIBRARY to "
                "another path",
                library);
            return false;
        }
        set_preload(variables, library);
    }
    set_path(variables, "PDL_WATCH_RECORD", start->record);
    set_path(variables, "PDL_WATCH_RULES", start->rules);
    if (start->instrument != NULL) {
        variables_set(variables, "PDL_INSTRUMENT", start->instrument);
    }
    set_number(variables, "PDL_WATCH_SKIP", start->skip);
    set_number(variables, "PDL_WATCH_COUNT", start->count);
    (void)snprintf(seconds, sizeof(seconds), "%.9f", start->seconds);
    for (char *c = seconds; *c != '\0'; c++) {
        if (*c == ',') { /* as a locale may have it */
            *c = '.';
        }
    }
    variables_set(variables, "PDL_WATCH_SECONDS", start->seconds > 0 ? seconds : NULL);
    if (!start->cupti) {
        variables_set(variables, "PDL_WATCH_CUPTI", "0");
    }
    return true;
}

/* ---- the program's file ----------------------------------------------------------------------- */

static void tell_not_started(const char *name, int error)
{
    const char *why = strerror(error);
    if (error == ENOENT) {
        const bool is_there = strchr(name, '/') != NULL && access(name, F_OK) == 0;
        why = is_there                    ? "its interpreter or dynamic linker does not exist"
              : strchr(name, '/') != NULL ? "there is no such file"
                                          : "there is no such program in PATH";
    }
    print_error("cannot start %s: %s", name, why);
}

/* ---- running it ------------------------------------------------------------------------------- */

/* What the tool waits for while the program runs. SIGINT and SIGQUIT of a terminal come to both, the others are passed
 * on. */
static const int waited_for[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP};

struct run {
    const struct start *start;
    struct started *started;
    pid_t id;
    bool group; /* the program has a process group of its own */
    sigset_t signals, mask_before;
    struct sigaction child_before; /* of SIGCHLD */
};

__attribute__((noreturn)) static void become_program(const struct run *run, char *const *arguments,
                                                     char **environment, int told)
{
    if (run->group) {
        (void)setpgid(0, 0);
    }
    (void)sigaction(SIGCHLD, &run->child_before, NULL);
    (void)sigprocmask(SIG_SETMASK, &run->mask_before, NULL);
    (void)execvpe(arguments[0], arguments, environment);
    const int error = errno;
    (void)!write(told, &error, sizeof(error));
    _exit(error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN);
}

/* What has become of exec(): 0, or errno of it. The pipe's other end closes when it succeeds. */
static int exec_error(int pipe)
{
    int error = 0;
    ssize_t got;
    do {
        got = read(pipe, &error, sizeof(error));
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof(error) ? error : 0;
}

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void send_signal(const struct run *run, int number)
{
    (void)kill(run->group ? -run->id : run->id, number);
}

/* Whether a signal asks the tool to end. The first one is kept. */
static bool note_signal(const struct run *run, int number)
{
    const bool ends = number > 0 && number != SIGCHLD;
    if (ends && run->started->interrupted == 0) {
        run->started->interrupted = number;
    }
    return ends;
}

static void take_signal(const struct run *run, int number)
{
    if (note_signal(run, number) && (run->group || number == SIGTERM || number == SIGHUP)) {
        send_signal(run, number);
    }
}

/* Whether it has ended. */
static bool has_ended(const struct run *run)
{
    int status = 0;
    const pid_t id = waitpid(run->id, &status, WNOHANG);
    if (id == 0 || (id < 0 && errno == EINTR)) {
        return false;
    }
    if (WIFSIGNALED(status)) {
        run->started->signal = WTERMSIG(status);
        run->started->exit_code = EXIT_SIGNAL + WTERMSIG(status);
    } else {
        run->started->exit_code = WEXITSTATUS(status);
    }
    return true;
}

static void wait_for_end(const struct run *run)
{
    double end = run->start->timeout > 0 ? now() + run->start->timeout : INFINITY;
    while (!has_ended(run)) {
        /* SIGCHLD may get lost, where the program's parent is traced or in a sandbox. */
        const double left = fmin(fmax(end - now(), 0), 1);
        const struct timespec pause = {.tv_sec = (time_t)left,
                                       .tv_nsec = (long)((left - floor(left)) * 1e9)};
        take_signal(run, sigtimedwait(&run->signals, NULL, &pause));
        if (now() < end) {
            continue;
        }
        send_signal(run, run->started->timed_out ? SIGKILL : SIGTERM);
        end = run->started->timed_out ? INFINITY : now() + GRACE_MILLISECONDS / 1000.0;
        run->started->timed_out = true;
    }
    if (run->started->timed_out) {
        send_signal(run, SIGKILL); /* what it has started and left */
    }
    /* A signal to both may have ended the program before it was taken here. */
    const struct timespec none = {0};
    int number;
    while ((number = sigtimedwait(&run->signals, NULL, &none)) > 0) {
        (void)note_signal(run, number);
    }
}

static void block_signals(struct run *run)
{
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    (void)sigemptyset(&run->signals);
    for (size_t i = 0; i < sizeof(waited_for) / sizeof(waited_for[0]); i++) {
        (void)sigaddset(&run->signals, waited_for[i]);
    }
    (void)sigprocmask(SIG_BLOCK, &run->signals, &run->mask_before);
    (void)sigaction(SIGCHLD, &by_default, &run->child_before); /* ignored, it leaves no status */
}

static void restore_signals(const struct run *run)
{
    (void)sigaction(SIGCHLD, &run->child_before, NULL);
    (void)sigprocmask(SIG_SETMASK, &run->mask_before, NULL);
}

static void tell_failure(struct started *started, const char *name, int error)
{
    tell_not_started(name, error);
    started->not_started = true;
    started->exit_code = error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}

static void run_program(const struct start *start, char *const *arguments, char **environment,
                        struct started *started)
{
    int told[2];
    struct run run = {.start = start, .started = started, .group = start->timeout > 0};
    if (pipe2(told, O_CLOEXEC) != 0) {
        tell_failure(started, arguments[0], errno);
        return;
    }
    /* Not one of 0 to 2, which the program would find closed or not as it was. */
    const int kept = fcntl(told[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    (void)close(told[1]);
    block_signals(&run);
    (void)fflush(NULL);
    run.id = fork();
    if (run.id == 0) {
        become_program(&run, arguments, environment, kept);
    }
    const int fork_error = errno;
    (void)close(kept);
    if (run.id < 0) {
        tell_failure(started, arguments[0], fork_error);
    } else {
        if (run.group) {
            (void)setpgid(run.id, run.id); /* whichever comes first */
        }
        const int error = exec_error(told[0]);
        wait_for_end(&run);
        if (error != 0) {
            tell_failure(started, arguments[0], error);
        }
    }
    (void)close(told[0]);
    restore_signals(&run);
}

bool start_program(const struct start *start, char *const *arguments, struct started *started)
{
    *started = (struct started){0};
    char *const library = start_library();
    if (library == NULL) {
        return false;
    }
    struct variables variables = {0};
    variables_read(&variables);
    const bool set = set_environment(&variables, start, library);
    if (set) {
        run_program(start, arguments, variables.items, started);
    }
    variables_free(&variables);
    free(library);
    return set;
}
