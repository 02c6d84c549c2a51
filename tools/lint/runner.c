/* SPDX-License-Identifier: MIT */
#include "lint/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/memory.h"

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

char *runner_make(struct runner *runner)
{
    *runner = (struct runner){.folder = TEMPORARY_NONE};
    variables_read(&runner->environment);
    const pid_t tool = getpid();
    runner->group = fork(); /* before the folder's keeper, whose socket it is not to have */
    if (runner->group == 0) {
        hold_group(tool);
    }
    if (runner->group < 0) {
        runner->group = 0;
        return format_text("no process can be started: %s", strerror(errno));
    }
    (void)setpgid(runner->group, runner->group); /* whichever comes first */
    char *const why = temporary_make(&runner->folder);
    if (why == NULL) {
        temporary_group(&runner->folder, runner->group);
        /* What a compiler that is killed leaves behind goes with the folder. */
        variables_set(&runner->environment, "TMPDIR", runner->folder.path);
        /* They are part of the commands already. */
        variables_set(&runner->environment, "NVCC_PREPEND_FLAGS", NULL);
        variables_set(&runner->environment, "NVCC_APPEND_FLAGS", NULL);
    }
    return why;
}

void runner_free(struct runner *runner)
{
    if (runner->group > 0) {
        (void)kill(-runner->group, SIGKILL);
        while (waitpid(runner->group, NULL, 0) < 0 && errno == EINTR) {
        }
        temporary_group(&runner->folder, 0);
        runner->group = 0;
    }
    temporary_remove(&runner->folder);
    variables_free(&runner->environment);
}

/* How a process begins. */
struct beginning {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    bool has_actions, has_attributes;
};

static int describe(struct beginning *beginning, const struct runner *runner, const char *directory,
                    const char *output)
{
    sigset_t none;
    sigset_t all;
    posix_spawn_file_actions_t *const actions = &beginning->actions;
    posix_spawnattr_t *const attributes = &beginning->attributes;
    int error = posix_spawn_file_actions_init(actions);
    beginning->has_actions = error == 0;
    if (error == 0) {
        error = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    }
    if (error == 0) {
        error = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, output,
                                                 O_WRONLY | O_CREAT | O_TRUNC, 0600);
    }
    if (error == 0) {
        error = posix_spawn_file_actions_adddup2(actions, STDOUT_FILENO, STDERR_FILENO);
    }
    if (error == 0 && directory != NULL) {
        error = posix_spawn_file_actions_addchdir_np(actions, directory);
    }
    if (error == 0) {
        error = posix_spawnattr_init(attributes);
        beginning->has_attributes = error == 0;
    }
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    if (error == 0) {
        error = posix_spawnattr_setflags(
            attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
    if (error == 0) {
        error = posix_spawnattr_setpgroup(attributes, runner->group);
    }
    if (error == 0) {
        error = posix_spawnattr_setsigmask(attributes, &none);
    }
    return error != 0 ? error : posix_spawnattr_setsigdefault(attributes, &all);
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

char *runner_run(const struct runner *runner, char *const *command, const char *directory,
                 const char *output)
{
    struct beginning beginning = {0};
    pid_t process = 0;
    int error = describe(&beginning, runner, directory, output);
    if (error == 0) {
        error = posix_spawnp(&process, command[0], &beginning.actions, &beginning.attributes,
                             command, runner->environment.items);
    }
    if (beginning.has_attributes) {
        (void)posix_spawnattr_destroy(&beginning.attributes);
    }
    if (beginning.has_actions) {
        (void)posix_spawn_file_actions_destroy(&beginning.actions);
    }
    if (error != 0) {
        return tell_not_started(command[0], directory, error);
    }
    int status = 0;
    while (waitpid(process, &status, 0) < 0) {
        if (errno != EINTR) {
            return format_text("the compiler was lost: %s", strerror(errno));
        }
    }
    if (WIFSIGNALED(status)) {
        return format_text("the compiler was ended by signal %d", WTERMSIG(status));
    }
    return WEXITSTATUS(status) == 0
               ? NULL
               : format_text("the compiler failed with exit code %d", WEXITSTATUS(status));
}
