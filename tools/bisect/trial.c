/* SPDX-License-Identifier: MIT */
#include "bisect/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/print.h"
#include "watch/start.h"

enum { CODE_SKIP = 125, CODE_NOT_RUN = 126, CODE_NOT_FOUND = 127, TAIL_LINES = 10 };

/* ---- the command's output --------------------------------------------------------------------- */

/* A thread takes it and keeps the end. */
struct capture {
    int output[2]; /* pipes */
    int stop[2];
    int before[3]; /* the tool's own standard files */
    pthread_t thread;
    bool runs;
    char *tail;
    size_t size;
};

static void keep(struct capture *capture, const char *bytes, size_t size)
{
    const size_t most = size < TRIAL_TAIL ? size : TRIAL_TAIL;
    const size_t kept = capture->size + most > TRIAL_TAIL ? TRIAL_TAIL - most : capture->size;
    memmove(capture->tail, capture->tail + capture->size - kept, kept);
    memcpy(capture->tail + kept, bytes + size - most, most);
    capture->size = kept + most;
}

/* Up to its end, or when it was told to stop as far as it is there: what the command left running may write for ever. */
static void *take_output(void *data)
{
    struct capture *const capture = data;
    struct pollfd files[2] = {{.fd = capture->output[0], .events = POLLIN},
                              {.fd = capture->stop[0], .events = POLLIN}};
    char bytes[4096];
    size_t after_stop = 0;
    while (poll(files, 2, -1) >= 0 || errno == EINTR) {
        if (files[0].revents == 0 && files[1].revents != 0) {
            break;
        }
        if (files[0].revents != 0) {
            const ssize_t got = read(capture->output[0], bytes, sizeof(bytes));
            if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) {
                break;
            }
            keep(capture, bytes, got > 0 ? (size_t)got : 0);
            after_stop += files[1].revents != 0 ? (size_t)(got > 0 ? got : 0) : 0;
            if (after_stop > (size_t)1 << 20) {
                break;
            }
        }
    }
    return NULL;
}

static void replace(int file, int by)
{
    if (by >= 0) {
        (void)dup2(by, file);
    }
}

/* Standard input is empty: it would be read by the first run only. */
static void capture_begin(struct capture *capture, bool verbose)
{
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)fflush(NULL);
    for (int i = 0; i < 3; i++) {
        capture->before[i] = fcntl(i, F_DUPFD_CLOEXEC, 3);
    }
    replace(STDIN_FILENO, nothing);
    int output = verbose ? capture->before[STDERR_FILENO] : nothing;
    capture->runs = !verbose && pipe2(capture->output, O_CLOEXEC) == 0;
    if (capture->runs && pipe2(capture->stop, O_CLOEXEC) != 0) {
        (void)close(capture->output[0]);
        (void)close(capture->output[1]);
        capture->runs = false;
    }
    if (capture->runs) {
        sigset_t all;
        sigset_t mask;
        (void)sigfillset(&all); /* signals are for the thread that waits for the command */
        (void)pthread_sigmask(SIG_SETMASK, &all, &mask);
        capture->runs = pthread_create(&capture->thread, NULL, take_output, capture) == 0;
        (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
        output = capture->runs ? capture->output[1] : output;
    }
    replace(STDOUT_FILENO, output);
    replace(STDERR_FILENO, output);
    if (nothing >= 0) {
        (void)close(nothing);
    }
}

static void capture_end(struct capture *capture)
{
    for (int i = 0; i < 3; i++) {
        if (capture->before[i] >= 0) {
            (void)dup2(capture->before[i], i);
            (void)close(capture->before[i]);
        } else {
            (void)close(i); /* as it was */
        }
    }
    if (capture->runs) {
        (void)close(capture->output[1]);
        (void)close(capture->stop[1]); /* which the thread sees */
        (void)pthread_join(capture->thread, NULL);
        (void)close(capture->output[0]);
        (void)close(capture->stop[0]);
    }
}

/* ---- the command ------------------------------------------------------------------------------ */

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void judge(const struct started *started, struct trial_result *result)
{
    result->interrupted = started->interrupted;
    result->aborted =
        started->not_started ||
        (started->signal == 0 && !started->timed_out &&
         (started->exit_code == CODE_NOT_RUN || started->exit_code == CODE_NOT_FOUND));
    if (started->timed_out) {
        (void)snprintf(result->how, sizeof(result->how), "timeout");
    } else if (started->signal != 0) {
        (void)snprintf(result->how, sizeof(result->how), "signal %d", started->signal);
    } else {
        (void)snprintf(result->how, sizeof(result->how), "exit %d", started->exit_code);
    }
    if (started->interrupted != 0 || result->aborted) {
        result->verdict = SEARCH_STOPPED;
    } else if (started->timed_out || started->signal != 0) {
        result->verdict = SEARCH_FAILS;
    } else if (started->exit_code == 0) {
        result->verdict = SEARCH_PASSES;
    } else {
        result->verdict = started->exit_code == CODE_SKIP ? SEARCH_SKIPPED : SEARCH_FAILS;
    }
}

void trial_run(const struct trial *trial, struct trial_result *result)
{
    *result = (struct trial_result){0};
    struct capture capture = {.tail = result->tail};
    struct started started = {0};
    const struct start start = {.rules = trial->rules,
                                .record = trial->record,
                                .timeout = trial->timeout,
                                .interpose = true};
    const double begin = now();
    capture_begin(&capture, trial->verbose);
    const bool found = start_program(&start, trial->arguments, &started);
    (void)fflush(stderr);
    capture_end(&capture);
    result->seconds = now() - begin;
    result->tail[capture.size] = '\0';
    started.not_started = started.not_started || !found;
    judge(&started, result);
}

void trial_print_tail(const struct trial_result *result)
{
    const char *from = result->tail + strlen(result->tail);
    unsigned lines = 0;
    while (from > result->tail && (lines < TAIL_LINES || from[-1] != '\n')) {
        from--;
        lines += *from == '\n' && from[1] != '\0';
    }
    while (*from != '\0') {
        const size_t length = strcspn(from, "\n");
        print_line(stderr, "  | %.*s", (int)length, from);
        from += length + (from[length] == '\n');
    }
}
