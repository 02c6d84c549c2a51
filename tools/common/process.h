/* SPDX-License-Identifier: MIT */
/* Processes of the tool's own, which help it and run none of another program. */
#ifndef PDL_TOOLS_PROCESS_H
#define PDL_TOOLS_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* A process that talks with the tool through a socket, which takes packets. */
struct process {
    int socket; /* -1: there is none */
    pid_t id;
};

/* Forks. In the new process, which never returns, `work` is called with its end of the socket. It has no
 * other file open, signals are as by default, and a terminal's do not reach it. It sees the end of the tool,
 * whatever ended it, as the end of what comes through the socket. */
bool process_start(struct process *process, void (*work)(int socket));

/* Closes the socket, and waits until the process has ended. */
void process_end(struct process *process);

#endif /* PDL_TOOLS_PROCESS_H */
