/* SPDX-License-Identifier: MIT */
#include "launch/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/lock.h"

/* Where the log goes; -1: nowhere. */
static int log_file = -1;

/* No lock that a fork leaves locked. */
static struct pdl_lock open_lock;
static atomic_bool is_open; /* or was tried */

static void open_log(void)
{
    const char *const to = secure_getenv("PDL_LOG");
    if (to == NULL || to[0] == '\0') {
        return;
    }
    /* A named pipe may hold up no launch, and end no process: it is open for reading too, so that it always has a
     * reader, and what does not fit into it is lost. */
    log_file =
        strcmp(to, "stderr") == 0
            ? STDERR_FILENO
            : open(to, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if (log_file < 0) {
        (void)fprintf(stderr, "libpdl: PDL_LOG: %s cannot be opened: %s\n", to, strerror(errno));
    }
}

/* Whether a launch overlaps that was not granted it, by extra_attributes or in a capture, which goes on from its node,
 * and is of a kernel that may not wait. */
static bool overlaps_anyway(const pdl_kernel *kernel, const struct pdl_lowered *lowered)
{
    const struct pdl_driver *const driver = kernel->driver;
    CUstream stream = lowered->config.hStream;
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    CUgraph graph = NULL;
    const CUgraphNode *nodes = NULL;
    const CUgraphEdgeData *data = NULL;
    size_t count = 0;
    if (lowered->reason == PDL_REASON_GRANTED) {
        return false;
    }
    bool overlaps =
        pdl_lowered_find(lowered, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) != NULL;
    if (!overlaps && stream != NULL && stream != CU_STREAM_LEGACY &&
        driver->cuStreamGetCaptureInfo != NULL &&
        driver->cuStreamGetCaptureInfo(stream, &capture, NULL, &graph, &nodes, &data, &count) ==
            CUDA_SUCCESS &&
        capture == CU_STREAM_CAPTURE_STATUS_ACTIVE && count == 1) {
        (void)pdl_neighbour_check(driver, nodes[0], &overlaps);
    }
    return overlaps &&
           pdl_known_waits(pdl_kernel_known((pdl_kernel *)kernel, lowered->facts)) != PDL_YES;
}

/* What a decision means for the kernels after, or what to do about it. */
static const char *advice(pdl_reason reason, bool anyway)
{
    if (anyway) {
        return ", and may not wait: neither it nor a later kernel is ordered after the previous "
               "kernels";
    }
    if (reason == PDL_REASON_WAITS_UNKNOWN) {
        return "; pass its code to pdl_kernel_from_function_image(), or if it waits call "
               "pdl_kernel_declare(kernel, PDL_YES, ...)";
    }
    return reason == PDL_REASON_NO_WAIT ? ": the next wait also covers everything before it" : "";
}

void pdl_log_write(const pdl_kernel *kernel, const struct pdl_lowered *lowered)
{
    struct pdl_kernel_facts *const facts = lowered->facts;
    const pdl_reason reason = lowered->reason;
    char line[1024];
    if ((pdl_gate_is_special() & PDL_GATE_LOG) == 0) {
        return;
    }
    if (!atomic_load_explicit(&is_open, memory_order_acquire)) {
        pdl_lock_take(&open_lock);
        if (!atomic_load_explicit(&is_open, memory_order_relaxed)) {
            open_log();
            atomic_store_explicit(&is_open, true, memory_order_release);
        }
        pdl_lock_release(&open_lock);
    }
    const bool anyway = overlaps_anyway(kernel, lowered);
    const unsigned now = (unsigned)reason | (unsigned)anyway << 16;
    const unsigned before = atomic_exchange(&facts->logged, now);
    if (before == now || log_file < 0) {
        return;
    }
    const char *const why = pdl_kernel_unknown_why(facts, reason);
    /* One write per line, so that threads and processes may share the file. */
    const int length = snprintf(
        line, sizeof(line) - 1, "libpdl[%ld]: device %d, kernel %.500s: %s%s%s%s%s%s",
        (long)getpid(), facts->device->ordinal, pdl_kernel_name(kernel), before == 0 ? "" : "now ",
        reason == PDL_REASON_GRANTED ? "overlaps"
        : anyway                     ? "overlaps although "
                                     : "does not overlap: ",
        reason == PDL_REASON_GRANTED ? "" : pdl_reason_string(reason), why[0] != '\0' ? ": " : "",
        why, advice(reason, anyway));
    const size_t end = (size_t)length < sizeof(line) - 1 ? (size_t)length : sizeof(line) - 2;
    line[end] = '\n';
    if (write(log_file, line, end + 1) < 0) {
        return; /* a log that cannot be written must not fail a launch */
    }
}
