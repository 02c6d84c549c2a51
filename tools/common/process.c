/* SPDX-License-Identifier: MIT */
#include "common/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OWN_SOCKET = STDERR_FILENO + 1, MOST_FILES = 1 << 16 };

static void close_from(int first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0U, 0) == 0) {
        return;
    }
#endif
    const long limit = sysconf(_SC_OPEN_MAX);
    for (int file = first; file < (limit < MOST_FILES ? limit : MOST_FILES); file++) {
        (void)close(file);
    }
}

/* A file that is left open would keep another such process from seeing the end of the tool, and who
 * reads the tool's output from seeing its end. */
static void detach(int socket)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++) {
        (void)signal(number, SIG_DFL); /* what it is for two of them does not matter */
    }
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setsid();
    (void)dup2(socket, OWN_SOCKET);
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++) {
        (void)dup2(nowhere, file);
    }
    close_from(OWN_SOCKET + 1);
}

bool process_start(struct process *process, void (*work)(int socket))
{
    int ends[2];
    process->socket = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return false;
    }
    process->id = fork();
    if (process->id == 0) {
        detach(ends[1]);
        work(OWN_SOCKET);
        _exit(0);
    }
    (void)close(ends[1]);
    if (process->id < 0) {
        (void)close(ends[0]);
        return false;
    }
    process->socket = ends[0];
    return true;
}

void process_end(struct process *process)
{
    if (process->socket >= 0) {
        (void)close(process->socket);
        while (waitpid(process->id, NULL, 0) < 0 && errno == EINTR) {
        }
        process->socket = -1;
    }
}
