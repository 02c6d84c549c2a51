/* SPDX-License-Identifier: MIT */
#include "common/cuobjdump.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/memory.h"

/* The name of what is written for it, which is none that it writes. */
static const char input_name[] = "input";

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list_files(struct extraction *extraction)
{
    DIR *directory = opendir(extraction->directory.path);
    if (directory == NULL) {
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] != '.') {
            APPEND(extraction, copy_text(entry->d_name));
        }
    }
    (void)closedir(directory);
    if (extraction->count > 0) {
        qsort(extraction->items, extraction->count, sizeof(*extraction->items), by_name);
    }
}

static bool write_file(const char *path, const void *bytes, size_t size)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) {
        return false;
    }
    const char *at = bytes;
    while (size > 0) {
        const ssize_t written = write(file, at, size);
        if (written < 0 && errno != EINTR) {
            break;
        }
        at += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return close(file) == 0 && size == 0;
}

/* A process group of its own, so that nothing that it starts is left behind. */
static int set_group(posix_spawnattr_t *attributes, const sigset_t *mask)
{
    int error = posix_spawnattr_init(attributes);
    if (error == 0) {
        error =
            posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    }
    return error != 0 ? error : posix_spawnattr_setsigmask(attributes, mask);
}

/* Runs it in the directory, where it writes its files; what it prints, on either stream, is not wanted. */
static char *run(const struct temporary *directory, const char *path, pdl_inspect_kind kind)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t process = 0;
    sigset_t blocked;
    sigset_t before;
    /* No signal ends the tool between the process and the keeper's knowing it. */
    (void)sigfillset(&blocked);
    (void)sigprocmask(SIG_SETMASK, &blocked, &before);
    int error = posix_spawn_file_actions_init(&actions);
    if (error == 0) {
        error = posix_spawn_file_actions_addchdir_np(&actions, directory->path);
        if (error == 0) {
            error =
                posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        }
        if (error == 0) {
            error =
                posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        }
        if (error == 0) {
            error = posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
        }
        if (error == 0) {
            error = set_group(&attributes, &before);
        }
        if (error == 0) {
            char program[] = "cuobjdump";
            char ptx[] = "-xptx";
            char elf[] = "-xelf";
            char all[] = "all";
            char *file = copy_text(path);
            char *const arguments[] = {program, kind == PDL_INSPECT_PTX ? ptx : elf, all, file,
                                       NULL};
            error = posix_spawnp(&process, program, &actions, &attributes, arguments, environ);
            free(file);
            (void)posix_spawnattr_destroy(&attributes);
        }
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    if (error == 0) {
        temporary_group(directory, process);
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        return error == ENOENT ? copy_text("there is no cuobjdump on PATH to unpack it")
                               : format_text("cuobjdump did not start: %s", strerror(error));
    }
    int status = 0;
    while (waitpid(process, &status, 0) < 0) {
        if (errno != EINTR) {
            return format_text("cuobjdump was lost: %s", strerror(errno));
        }
    }
    temporary_group(directory, 0);
    if (WIFSIGNALED(status)) {
        return format_text("cuobjdump was ended by signal %d", WTERMSIG(status));
    }
    return WEXITSTATUS(status) == 0
               ? NULL
               : format_text("cuobjdump failed with exit code %d", WEXITSTATUS(status));
}

char *cuobjdump_extract(struct extraction *extraction, const char *path, const void *bytes,
                        size_t size, pdl_inspect_kind kind)
{
    *extraction = (struct extraction){0};
    char *why = temporary_make(&extraction->directory);
    if (why != NULL) {
        return why;
    }
    if (path != NULL) {
        char *full = realpath(path, NULL);
        why = full != NULL ? run(&extraction->directory, full, kind)
                           : format_text("%s: %s", path, strerror(errno));
        free(full);
    } else {
        char *copy = format_text("%s/%s", extraction->directory.path, input_name);
        why = write_file(copy, bytes, size) ? run(&extraction->directory, copy, kind)
                                            : format_text("%s: %s", copy, strerror(errno));
        (void)unlink(copy);
        free(copy);
    }
    list_files(extraction);
    if (why == NULL && extraction->count == 0) {
        why = copy_text("cuobjdump unpacked nothing");
    }
    return why;
}

char *extraction_path(const struct extraction *extraction, size_t index)
{
    return format_text("%s/%s", extraction->directory.path, extraction->items[index]);
}

void extraction_remove(struct extraction *extraction)
{
    for (size_t i = 0; i < extraction->count; i++) {
        free(extraction->items[i]);
    }
    temporary_remove(&extraction->directory);
    free(extraction->items);
}
