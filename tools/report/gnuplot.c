/* SPDX-License-Identifier: MIT */
#include "report/gnuplot.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/memory.h"

/* What gnuplot reads and writes: files without names, so that neither side waits for the other. */
struct channels {
    FILE *script, *output, *messages;
};

static void close_channels(struct channels *channels)
{
    FILE *const files[] = {channels->script, channels->output, channels->messages};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (files[i] != NULL) {
            (void)fclose(files[i]);
        }
    }
}

static bool open_channels(struct channels *channels, const char *script, char **why)
{
    channels->script = tmpfile();
    channels->output = tmpfile();
    channels->messages = tmpfile();
    if (channels->script == NULL || channels->output == NULL || channels->messages == NULL ||
        fputs(script, channels->script) == EOF || fflush(channels->script) != 0 ||
        fseek(channels->script, 0, SEEK_SET) != 0) {
        *why = format_text("a temporary file: %s", strerror(errno));
        return false;
    }
    return true;
}

static struct bytes read_all(FILE *file)
{
    struct bytes bytes = {NULL, 0};
    char block[4096];
    size_t got;
    rewind(file);
    size_t room = 1;
    bytes.items = allocate(room, 1);
    while ((got = fread(block, 1, sizeof(block), file)) > 0) {
        if (bytes.count + got >= room) {
            char *const larger = allocate(2 * (bytes.count + got), 1);
            memcpy(larger, bytes.items, bytes.count);
            free(bytes.items);
            bytes.items = larger;
            room = 2 * (bytes.count + got);
        }
        memcpy(bytes.items + bytes.count, block, got);
        bytes.count += got;
    }
    bytes.items[bytes.count] = '\0';
    return bytes;
}

/* The first line with something in it that is neither the script's nor the marker below it. */
static char *message_of(FILE *messages, int status)
{
    struct bytes said = read_all(messages);
    char *found = NULL;
    char *rest = NULL;
    for (char *line = strtok_r(said.items, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *const text = line + strspn(line, " \t^");
        const char *const own = strstr(text, "line ");
        if (*text == '\0' || strncmp(text, "gnuplot>", 8) == 0) {
            continue;
        }
        if (found == NULL || (own != NULL && own == text)) {
            free(found);
            found = copy_text(text);
        }
    }
    free(said.items);
    if (found == NULL) {
        found = WIFSIGNALED(status) ? format_text("ended by signal %d", WTERMSIG(status))
                                    : format_text("ended with %d", WEXITSTATUS(status));
    }
    return found;
}

static int spawn(const struct channels *channels, pid_t *process)
{
    static char name[] = "gnuplot", defaults[] = "-d"; /* -d: not what the user's own file says */
    char *const arguments[] = {name, defaults, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) {
        return error;
    }
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        (void)sigemptyset(&none);
        (void)posix_spawnattr_setsigmask(&attributes, &none);
        (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        (void)posix_spawn_file_actions_adddup2(&actions, fileno(channels->script), STDIN_FILENO);
        (void)posix_spawn_file_actions_adddup2(&actions, fileno(channels->output), STDOUT_FILENO);
        (void)posix_spawn_file_actions_adddup2(&actions, fileno(channels->messages), STDERR_FILENO);
        error = posix_spawnp(process, name, &actions, &attributes, arguments, environ);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

bool gnuplot_run(const char *script, struct bytes *output, char **why)
{
    struct channels channels = {NULL, NULL, NULL};
    pid_t process;
    int status = 0;
    bool drawn = false;
    *why = NULL;
    if (open_channels(&channels, script, why)) {
        const int error = spawn(&channels, &process);
        if (error != 0) {
            *why = copy_text(error == ENOENT ? "there is none in PATH" : strerror(error));
        } else {
            while (waitpid(process, &status, 0) == -1 && errno == EINTR) {
            }
            *output = read_all(channels.output);
            drawn = WIFEXITED(status) && WEXITSTATUS(status) == 0 && output->count > 0;
            if (!drawn) {
                *why = message_of(channels.messages, status);
                free(output->items);
            }
        }
    }
    close_channels(&channels);
    return drawn;
}
