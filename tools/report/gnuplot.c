/* SPDX-License-Identifier: MIT */
#include "report/gnuplot.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/memory.h"

static struct bytes read_all(FILE *file)
{
    const long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;
    struct bytes bytes = {allocate((size_t)size + 1, 1), 0};
    rewind(file);
    bytes.count = fread(bytes.items, 1, (size_t)size, file);
    bytes.items[bytes.count] = '\0';
    return bytes;
}

/* The last line that is not empty: what stands before is the script's line with a marker below it. */
static char *message_of(FILE *messages, int status)
{
    struct bytes said = read_all(messages);
    while (said.count > 0 && strchr(" \t\n", said.items[said.count - 1]) != NULL) {
        said.items[--said.count] = '\0';
    }
    const char *const end = strrchr(said.items, '\n');
    const char *const line = end != NULL ? end + 1 : said.items;
    char *found = *line != '\0'         ? copy_text(line + strspn(line, " \t"))
                  : WIFSIGNALED(status) ? format_text("ended by signal %d", WTERMSIG(status))
                                        : format_text("ended with %d", WEXITSTATUS(status));
    free(said.items);
    return found;
}

static int spawn(FILE *const *files, pid_t *process)
{
    static char name[] = "gnuplot", defaults[] = "-d"; /* -d: not what the user's own file says */
    char *const arguments[] = {name, defaults, NULL};
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error == 0) {
        for (int i = 0; i < 3; i++) {
            (void)posix_spawn_file_actions_adddup2(&actions, fileno(files[i]), i);
        }
        error = posix_spawnp(process, name, &actions, NULL, arguments, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    return error;
}

bool gnuplot_run(const char *script, struct bytes *output, char **why)
{
    /* Its input, output and messages: files without names, so that neither side waits for the other. */
    FILE *files[] = {tmpfile(), tmpfile(), tmpfile()};
    pid_t process;
    int status = 0;
    bool drawn = false;
    *why = NULL;
    if (files[0] == NULL || files[1] == NULL || files[2] == NULL ||
        fputs(script, files[0]) == EOF || fflush(files[0]) != 0 ||
        fseek(files[0], 0, SEEK_SET) != 0) {
        *why = format_text("a temporary file: %s", strerror(errno));
    } else {
        const int error = spawn(files, &process);
        if (error != 0) {
            *why = copy_text(error == ENOENT ? "there is none in PATH" : strerror(error));
        } else {
            while (waitpid(process, &status, 0) == -1 && errno == EINTR) {
            }
            *output = read_all(files[1]);
            drawn = WIFEXITED(status) && WEXITSTATUS(status) == 0 && output->count > 0;
            if (!drawn) {
                *why = message_of(files[2], status);
                free(output->items);
            }
        }
    }
    for (int i = 0; i < 3; i++) {
        if (files[i] != NULL) {
            (void)fclose(files[i]);
        }
    }
    return drawn;
}
