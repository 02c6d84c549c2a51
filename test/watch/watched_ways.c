/* SPDX-License-Identifier: MIT */
/* What the program does with its process.
 *
 *   fork=N          a child launches N kernels and ends; the program waits for it
 *   fork_exit=N     as well, and the child ends by _exit()
 *   exec            becomes the program again, which does the rest of the words
 *   spawn           a child becomes the program, which does the rest of the words; the program ends with it
 *   close           closes all descriptors but the standard ones, and opens a file that gets such a number
 *   check           what is in that file, is what was written to it
 *   unlink=FILE, move=FILE    the file, to FILE.old
 *   put=FILE                  a file of its own of that name
 *   chdir=FOLDER, limit=BYTES (of files), say=TEXT, sleep=MS
 *   kill=N, exit=N, _exit=N   by that signal; with that code
 */
#include "watched.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DESCRIPTORS = 64 };

static int mine = -1;
static const char text[] = "what the program wrote";

static void become(char **words)
{
    char *arguments[64] = {(char[]){"watched"}};
    for (int i = 0; words[i] != NULL && i < 62; i++) {
        arguments[i + 1] = words[i];
    }
    (void)execv("/proc/self/exe", arguments);
    watched_fail("cannot execute itself");
}

static void wait_for(pid_t child)
{
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        watched_fail("a child failed");
    }
}

static void make_child(unsigned count, bool plainly)
{
    const pid_t child = fork();
    if (child == 0) {
        watched_launch(count);
        if (plainly) {
            _exit(0);
        }
        exit(0);
    }
    wait_for(child);
}

static void close_all(void)
{
    for (int i = 3; i < DESCRIPTORS; i++) {
        (void)close(i);
    }
    char path[] = "/tmp/watched-XXXXXX";
    mine = mkstemp(path);
    if (mine < 0 || write(mine, text, sizeof(text)) != sizeof(text)) {
        watched_fail("no file of its own");
    }
    (void)unlink(path);
}

static void check_mine(void)
{
    char read_back[2 * sizeof(text)];
    if (pread(mine, read_back, sizeof(read_back), 0) != sizeof(text) ||
        memcmp(read_back, text, sizeof(text)) != 0) {
        watched_fail("somebody wrote to its file");
    }
}

static void limit_files(rlim_t bytes)
{
    const struct rlimit limit = {bytes, bytes};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
        watched_fail("no limit");
    }
}

static void sleep_for(long milliseconds)
{
    const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    (void)nanosleep(&time, NULL);
}

static bool end(const char *word, int code)
{
    if (strcmp(word, "kill") == 0) {
        (void)raise(code);
        watched_fail("lives on");
    } else if (strcmp(word, "exit") == 0) {
        exit(code);
    } else if (strcmp(word, "_exit") == 0) {
        _exit(code);
    }
    return false;
}

static void move_away(const char *path)
{
    char to[4096];
    (void)snprintf(to, sizeof(to), "%s.old", path);
    if (rename(path, to) != 0) {
        watched_fail("cannot rename");
    }
}

static void put(const char *path)
{
    FILE *const file = fopen(path, "wx");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
        watched_fail("cannot write a file");
    }
}

bool watched_process(const char *word, const char *value, char **rest)
{
    const unsigned count = (unsigned)strtoul(value, NULL, 10);
    if (strcmp(word, "fork") == 0) {
        make_child(count, false);
    } else if (strcmp(word, "fork_exit") == 0) {
        make_child(count, true);
    } else if (strcmp(word, "exec") == 0) {
        become(rest);
    } else if (strcmp(word, "spawn") == 0) {
        const pid_t child = fork();
        if (child == 0) {
            become(rest);
        }
        wait_for(child);
        exit(0);
    } else if (strcmp(word, "close") == 0) {
        close_all();
    } else if (strcmp(word, "check") == 0) {
        check_mine();
    } else if (strcmp(word, "unlink") == 0) {
        (void)unlink(value);
    } else if (strcmp(word, "move") == 0) {
        move_away(value);
    } else if (strcmp(word, "put") == 0) {
        put(value);
    } else if (strcmp(word, "chdir") == 0) {
        if (chdir(value) != 0) {
            watched_fail("cannot change the folder");
        }
    } else if (strcmp(word, "limit") == 0) {
        limit_files(count);
    } else if (strcmp(word, "sleep") == 0) {
        sleep_for((long)count);
    } else if (strcmp(word, "say") == 0) {
        (void)puts(value);
        (void)fflush(stdout);
    } else {
        return end(word, (int)count);
    }
    return true;
}
