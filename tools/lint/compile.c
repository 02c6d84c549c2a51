/* SPDX-License-Identifier: MIT */
#include "lint/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/file.h"
#include "common/memory.h"
#include "common/print.h"
#include "common/temporary.h"
#include "lint/paths.h"
#include "watch/variables.h"

#define LONGEST_PTX ((size_t)1 << 30)
#define LONGEST_LOG ((size_t)16 << 20)

/* What became of a unit. */
struct outcome {
    pid_t process; /* 0: not started, or done */
    bool done;
    char *ptx, *log; /* the files that its compiler writes */
    char *why;       /* NULL: there is PTX */
};

/* Whatever ends the tool, the compilers that run end as well, and their folder is removed. */
struct work {
    const struct units *units;
    struct outcome *outcomes;
    struct temporary folder;
    struct variables environment;
    pid_t group; /* all compilers are in it; 0: none could be made */
    size_t started, running;
};

/* ---- the compilers' group and folder ----------------------------------------------------------*/

/* Does nothing but be the group's first, so that the group is there before any compiler and as long as the tool. */
__attribute__((noreturn)) static void hold_group(pid_t tool)
{
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++) {
        (void)dup2(nowhere, file); /* who reads the tool's output is to see its end */
    }
    while (getppid() == tool) {
        (void)pause();
    }
    _exit(0);
}

/* NULL, or why it cannot be done, which the caller frees; end_work() must follow in any case. */
static char *begin_work(struct work *work)
{
    work->folder = TEMPORARY_NONE;
    variables_read(&work->environment);
    const pid_t tool = getpid();
    work->group = fork(); /* before the folder's keeper, whose socket it is not to have */
    if (work->group == 0) {
        hold_group(tool);
    }
    if (work->group < 0) {
        work->group = 0;
        return format_text("no process can be started: %s", strerror(errno));
    }
    (void)setpgid(work->group, work->group); /* whichever comes first */
    char *const why = temporary_make(&work->folder);
    if (why == NULL) {
        temporary_group(&work->folder, work->group);
        /* What a compiler that is killed leaves behind goes with the folder. */
        variables_set(&work->environment, "TMPDIR", work->folder.path);
        /* They are part of the commands already. */
        variables_set(&work->environment, "NVCC_PREPEND_FLAGS", NULL);
        variables_set(&work->environment, "NVCC_APPEND_FLAGS", NULL);
        work->outcomes = allocate(work->units->count, sizeof(*work->outcomes));
    }
    return why;
}

static void end_work(struct work *work)
{
    if (work->group > 0) {
        (void)kill(-work->group, SIGKILL);
        while (waitpid(work->group, NULL, 0) < 0 && errno == EINTR) {
        }
        temporary_group(&work->folder, 0);
    }
    temporary_remove(&work->folder);
    variables_free(&work->environment);
    free(work->outcomes);
}

/* ---- one compiler -----------------------------------------------------------------------------*/

/* In the new process: becomes the compiler, or says through a pipe why it cannot. */
__attribute__((noreturn)) static void become(const struct work *work, char *const *command,
                                             const char *directory, const char *output, int told)
{
    sigset_t none;
    (void)setpgid(0, work->group);
    for (int number = 1; number < NSIG; number++) {
        (void)signal(number, SIG_DFL);
    }
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int to = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (dup2(input, STDIN_FILENO) >= 0 && dup2(to, STDOUT_FILENO) >= 0 &&
        dup2(to, STDERR_FILENO) >= 0 && (directory == NULL || chdir(directory) == 0)) {
        (void)execvpe(command[0], command, work->environment.items);
    }
    const int error = errno;
    _exit(write(told, &error, sizeof(error)) > 0 ? 126 : 127);
}

/* 0, or why no process runs the command. */
static int start(const struct work *work, char *const *command, const char *directory,
                 const char *output, pid_t *process)
{
    int told[2];
    int error = 0;
    if (pipe2(told, O_CLOEXEC) != 0) {
        return errno;
    }
    *process = fork();
    if (*process == 0) {
        become(work, command, directory, output, told[1]);
    }
    error = *process < 0 ? errno : 0;
    (void)close(told[1]);
    while (*process > 0 && read(told[0], &error, sizeof(error)) < 0 && errno == EINTR) {
    }
    (void)close(told[0]);
    if (error != 0 && *process > 0) {
        (void)waitpid(*process, NULL, 0);
    }
    *process = error == 0 ? *process : 0;
    return error;
}

static char *tell_not_started(const char *program, const char *directory, int error)
{
    if (directory != NULL && access(directory, X_OK) != 0) {
        return format_text("its directory %s: %s", directory, strerror(errno));
    }
    return error == ENOENT
               ? format_text("there is no compiler %s%s", program,
                             strchr(program, '/') == NULL ? " on PATH" : "")
               : format_text("the compiler %s cannot be started: %s", program, strerror(error));
}

/* Starts the compiler of the next unit; one that does not start is done. */
static void start_next(struct work *work)
{
    const size_t number = work->started++;
    const struct unit *const unit = &work->units->items[number];
    struct outcome *const outcome = &work->outcomes[number];
    struct argv arguments = {0};
    outcome->ptx = format_text("%s/%zu.ptx", work->folder.path, number);
    outcome->log = format_text("%s/%zu.txt", work->folder.path, number);
    if (unit->directory == NULL && access(unit->file, R_OK) != 0) { /* in one line, not three */
        outcome->why = format_text("%s", strerror(errno));
        outcome->done = true;
        return;
    }
    command_make(&unit->command, unit->architecture, unit->file, outcome->ptx, &arguments);
    const int error =
        start(work, argv_vector(&arguments), unit->directory, outcome->log, &outcome->process);
    if (error != 0) {
        outcome->why = tell_not_started(arguments.items[0], unit->directory, error);
        outcome->done = true;
    } else {
        work->running++;
    }
    argv_free(&arguments);
}

/* Waits for any of the compilers. */
static void wait_for_one(struct work *work)
{
    int status = 0;
    const pid_t process = waitpid(-work->group, &status, 0);
    if (process < 0 && errno == EINTR) {
        return;
    }
    for (size_t i = 0; i < work->started; i++) {
        struct outcome *const outcome = &work->outcomes[i];
        if (outcome->process == 0 || (process > 0 && outcome->process != process)) {
            continue;
        }
        if (process < 0) {
            outcome->why = format_text("the compiler was lost: %s", strerror(errno));
        } else if (WIFSIGNALED(status)) {
            outcome->why = format_text("the compiler was ended by signal %d", WTERMSIG(status));
        } else if (WEXITSTATUS(status) != 0) {
            outcome->why =
                format_text("the compiler failed with exit code %d", WEXITSTATUS(status));
        }
        outcome->process = 0;
        outcome->done = true;
        work->running--;
    }
}

/* ---- what it wrote ----------------------------------------------------------------------------*/

/* Reads a file, and removes it. */
static char *take_file(const char *path, size_t most, size_t *size)
{
    FILE *const file = fopen(path, "rbe");
    char *const bytes = file != NULL ? file_read_stream(file, most, size) : NULL;
    const int error = errno;
    if (file != NULL) {
        (void)fclose(file);
    }
    (void)unlink(path);
    errno = error;
    return bytes;
}

/* What a compiler says, line by line, as each of them may be long. */
static void print_log(const char *log)
{
    while (*log != '\0') {
        const size_t length = strcspn(log, "\n");
        print_line(stderr, "%.*s", (int)length, log);
        log += length + (log[length] == '\n');
    }
}

static void read_outcome(struct inputs *inputs, const struct unit *unit, struct outcome *outcome)
{
    size_t size = 0;
    size_t log_size = 0;
    char *ptx = take_file(outcome->ptx, LONGEST_PTX, &size);
    if (outcome->why == NULL && ptx == NULL) {
        outcome->why = errno == ENOENT ? copy_text("the compiler wrote no PTX")
                                       : format_text("its PTX cannot be read: %s", strerror(errno));
    }
    char *const log = take_file(outcome->log, LONGEST_LOG, &log_size);
    if (outcome->why != NULL) {
        if (log != NULL) {
            print_log(log);
        }
        inputs_add_failed(inputs, unit->name, outcome->why);
    } else {
        const char suffix[2] = {unit->architecture.suffix, '\0'};
        char *const name =
            format_text("%s(sm_%d%s.ptx)", unit->name, unit->architecture.number, suffix);
        ptx = path_show_in_ptx(ptx, &size, unit->directory);
        inputs_read_memory(inputs, name, ptx, size);
        free(name);
    }
    free(log);
    free(ptx);
    free(outcome->ptx);
    free(outcome->log);
    free(outcome->why);
}

/* ---- all of them ------------------------------------------------------------------------------*/

/* Where a person waits. */
static void print_progress(const struct work *work, size_t done)
{
    if (work->units->count > 1 && wants_colours(stderr)) {
        if (done < work->units->count) {
            (void)fprintf(stderr, "\r[%zu/%zu] ", done, work->units->count);
        } else {
            (void)fputs("\r\033[K", stderr);
        }
        (void)fflush(stderr);
    }
}

/* Compiles several at a time, and reads them in their order. */
static void compile_all(struct work *work, struct inputs *inputs, size_t jobs)
{
    for (size_t i = 0; i < work->units->count; i++) {
        print_progress(work, i);
        do {
            while (work->started < work->units->count && work->running < jobs) {
                start_next(work);
            }
            if (!work->outcomes[i].done) {
                wait_for_one(work);
            }
        } while (!work->outcomes[i].done);
        read_outcome(inputs, &work->units->items[i], &work->outcomes[i]);
    }
    print_progress(work, work->units->count);
}

static void run(const struct lint_options *options, const struct units *units,
                struct inputs *inputs)
{
    struct work work = {.units = units};
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    char *const why = begin_work(&work);
    if (why != NULL) {
        inputs_add_failed(inputs, units->items[0].name, why);
    } else {
        compile_all(&work, inputs,
                    options->jobs > 0 ? (size_t)options->jobs
                    : processors > 0  ? (size_t)processors
                                      : 1);
    }
    free(why);
    end_work(&work);
}

void lint_read_files(const struct lint_options *options, struct inputs *inputs)
{
    struct lint_strings sources = {0};
    struct units units = {0};
    for (size_t i = 0; i < options->files.count; i++) {
        const char *const file = options->files.items[i];
        if (lint_is_source(options, file)) {
            APPEND(&sources, file);
        } else {
            inputs_read(inputs, file);
        }
    }
    if (sources.count > 0 || (options->compile_commands != NULL && options->files.count == 0)) {
        inputs->incomplete |= !units_find(options, &sources, &units);
        if (units.count > 0) {
            run(options, &units, inputs);
        }
    } else if (options->compiler_options.count > 0) {
        print_error("options after -- are for the compiler, but there is no source to compile");
        inputs->incomplete = true;
    }
    units_free(&units);
    free(sources.items);
}
