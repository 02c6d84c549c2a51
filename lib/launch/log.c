/* SPDX-License-Identifier: MIT */
#include "launch/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/environment.h"
#include "os/file.h"
#include "os/lock.h"

/* Where the log goes; -1: nowhere. And the process that has opened it: fork() copies the files before the memory, so
 * that a child may know the number of a file that it does not have. */
static atomic_int log_file = -1;
static atomic_int log_process;

static int open_log(void)
{
    static struct pdl_lock lock;
    const int self = (int)pdl_process_id();
    if (atomic_load_explicit(&log_process, memory_order_acquire) != self) {
        pdl_lock_take(&lock);
        if (atomic_load_explicit(&log_process, memory_order_relaxed) != self) {
            const char *const to = pdl_variable_text(PDL_VARIABLE(PDL_LOG));
            const int file = to != NULL ? pdl_log_open(to) : -1;
            if (to != NULL && file < 0) {
                (void)fprintf(stderr, "libpdl: PDL_LOG: %s cannot be opened: %s\n", to,
                              strerror(errno));
            }
            atomic_store_explicit(&log_file, file, memory_order_relaxed);
            atomic_store_explicit(&log_process, self, memory_order_release);
        }
        pdl_lock_release(&lock);
    }
    return atomic_load_explicit(&log_file, memory_order_relaxed);
}

/* Whether a launch overlaps in a capture, which goes on from its node, that was not granted it, and is of a kernel that
 * may not wait. */
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
    const pdl_error before = *pdl_last_error();
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    bool overlaps = false;
    if (stream != NULL && stream != CU_STREAM_LEGACY && driver->cuStreamGetCaptureInfo != NULL &&
        driver->cuStreamGetCaptureInfo(stream, &capture, NULL, &graph, &nodes, &data, &count) ==
            CUDA_SUCCESS &&
        capture == CU_STREAM_CAPTURE_STATUS_ACTIVE && count == 1 &&
        driver->cuGraphNodeGetType(nodes[0], &type) == CUDA_SUCCESS &&
        type == CU_GRAPH_NODE_TYPE_KERNEL &&
        pdl_neighbour_check(driver, nodes[0], &overlaps) != PDL_SUCCESS) {
        pdl_error_restore(&before); /* the launch has succeeded */
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
        return "; pass its image to pdl_kernel_from_function(), or if it waits call "
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
    const int file = open_log();
    const bool anyway = overlaps_anyway(kernel, lowered);
    const unsigned now = (unsigned)reason | (unsigned)anyway << 16;
    const unsigned before = atomic_exchange(&facts->logged, now);
    if (before == now || file < 0) {
        return;
    }
    const char *const why = pdl_kernel_unknown_why(facts, reason);
    const char *between = "";
    const char *const proof = pdl_kernel_proof_text(kernel, facts, reason, &between);
    /* One write per line, so that threads and processes may share the file. */
    const int length =
        snprintf(line, sizeof(line) - 1, "libpdl[%ld]: device %d, kernel %.500s: %s%s%s%s%s%s%s%s",
                 pdl_process_id(), facts->device->ordinal, pdl_kernel_name(kernel),
                 before == 0 ? "" : "now ",
                 reason == PDL_REASON_GRANTED ? "overlaps"
                 : anyway                     ? "overlaps although "
                                              : "does not overlap: ",
                 reason == PDL_REASON_GRANTED ? "" : pdl_reason_string(reason),
                 why[0] != '\0' ? ": " : "", why, between, proof, advice(reason, anyway));
    const size_t end = (size_t)length < sizeof(line) - 1 ? (size_t)length : sizeof(line) - 2;
    line[end] = '\n';
    pdl_log_add(file, line, end + 1);
}
