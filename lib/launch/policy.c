/* SPDX-License-Identifier: MIT */
#include "launch/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/sized.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/lock.h"

static struct pdl_policies environment; /* stands above the program's */
static _Atomic(const struct pdl_policies *) current = &environment;

/* ---- setting -------------------------------------------------------------------------------- */

/* Takes over what is given. On failure what came before it is there. */
static pdl_status fill(struct pdl_policies *made, const pdl_policy *given)
{
    made->capture_only = given->capture_only != 0;
    if (given->exclude != NULL) {
        made->exclude = strdup(given->exclude);
        if (made->exclude == NULL) {
            return PDL_NO_MEMORY();
        }
        made->exclude_size = strlen(made->exclude) + 1;
        for (char *at = made->exclude; (at = strchr(at, ':')) != NULL; at++) {
            *at = '\0';
        }
    }
    const pdl_status status =
        given->tuned != NULL ? pdl_tuned_read(given->tuned, &made->tuned) : PDL_SUCCESS;
    made->tuned_auto = given->tuned_auto != 0 && status == PDL_SUCCESS;
    return status;
}

static void publish(const struct pdl_policies *policies)
{
    atomic_store_explicit(&current, policies, memory_order_release);
    (void)atomic_fetch_or(&pdl_gate_special, (unsigned)PDL_GATE_POLICY);
}

static void look(void)
{
    const char *const tuned = pdl_variable_text(PDL_VARIABLE(PDL_TUNED));
    const pdl_policy given = {.capture_only =
                                  pdl_variable_read(PDL_VARIABLE(PDL_OVERLAP)).value[0] == 2,
                              .exclude = pdl_variable_text(PDL_VARIABLE(PDL_OVERLAP_EXCLUDE)),
                              .tuned = tuned,
                              .tuned_auto = tuned != NULL};
    if (pdl_variable_text(PDL_VARIABLE(PDL_LOG)) != NULL) {
        (void)atomic_fetch_or(&pdl_gate_special, (unsigned)PDL_GATE_LOG);
    }
    const pdl_error before = *pdl_last_error();
    if (fill(&environment, &given) != PDL_SUCCESS) {
        (void)fprintf(stderr, "libpdl: PDL_TUNED: %s\n", pdl_last_error()->message);
        pdl_error_restore(&before); /* no call fails for it */
    }
    if (given.capture_only || given.exclude != NULL || tuned != NULL) {
        publish(&environment);
    }
}

void pdl_policy_start(void)
{
    static struct pdl_first first;
    pdl_first_run(&first, look);
}

const struct pdl_policies *pdl_policy_now(void)
{
    return atomic_load_explicit(&current, memory_order_acquire);
}

pdl_status pdl_policy_set(const pdl_policy *policy)
{
    static struct pdl_lock lock;
    pdl_policy given = {0};
    pdl_status status = PDL_SUCCESS;
    if (policy != NULL) {
        status = pdl_sized_resize(&given, sizeof(given), policy, sizeof(given.size), "policy");
    }
    if (status == PDL_SUCCESS &&
        (given.capture_only > 1 || given.tuned_auto > 1 || given.reserved != 0)) {
        status = PDL_FAIL_FIELD(PDL_ERROR_DESC_FIELD, "policy",
                                "capture_only is %u, tuned_auto %u and reserved %u: the first two "
                                "are 0 or 1, the last is 0",
                                given.capture_only, given.tuned_auto, given.reserved);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    struct pdl_policies *const made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return PDL_NO_MEMORY();
    }
    status = fill(made, &given);
    if (status != PDL_SUCCESS) {
        free(made->exclude);
        free(made);
        return status;
    }
    pdl_policy_start(); /* which publishes too */
    pdl_lock_take(&lock);
    made->before = pdl_policy_now();
    publish(made);
    pdl_lock_release(&lock);
    return PDL_SUCCESS;
}

/* ---- deciding ------------------------------------------------------------------------------- */

static bool excludes(const struct pdl_policies *policies, const char *name, const char *plain)
{
    for (size_t i = 0; i < policies->exclude_size; i += strlen(policies->exclude + i) + 1) {
        if (pdl_pattern_matches(policies->exclude + i, name) ||
            pdl_pattern_matches(policies->exclude + i, plain)) {
            return true;
        }
    }
    return false;
}

bool pdl_policy_excludes(const struct pdl_policies *policies, const char *name)
{
    char room[PDL_PLAIN_NAME];
    const char *const plain = pdl_name_plain(name, room);
    return excludes(&environment, name, plain) || excludes(policies, name, plain);
}

/* Whose file counts. */
static const struct pdl_policies *tuning(const struct pdl_policies *policies)
{
    return environment.tuned_auto ? &environment : policies;
}

const struct pdl_tuned_line *pdl_policy_lines(const struct pdl_policies *policies, const char *name)
{
    return pdl_tuned_lines(&tuning(policies)->tuned, name);
}

pdl_status pdl_tuned_find(const char *kernel, const uint32_t grid[3], const uint32_t block[3],
                          pdl_tuned *result)
{
    const pdl_status status = pdl_sized_check(result, "result");
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (kernel == NULL || grid == NULL || block == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "kernel",
                              "kernel, grid or block is NULL");
    }
    pdl_policy_start();
    const struct pdl_tuned_line *const line =
        pdl_tuned_match(pdl_policy_lines(pdl_policy_now(), kernel), grid, block);
    const pdl_tuned none = {0};
    pdl_sized_copy(result, line != NULL ? &line->is : &none, sizeof(none));
    return PDL_SUCCESS;
}

/* Whether it goes into a graph. The legacy stream captures nothing, and must not be asked while others
 * capture. What the driver fails to answer, the launch will report. */
static bool is_captured(const struct pdl_driver *driver, const pdl_launch_desc *desc)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUstream stream = pdl_desc_stream(desc);
    return stream == PDL_NODE_STREAM ||
           (stream != CU_STREAM_LEGACY &&
            driver->cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
            status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
}

pdl_reason pdl_policy_decide(const struct pdl_driver *driver, const struct pdl_tuned_line *lines,
                             const pdl_launch_desc *desc)
{
    const struct pdl_policies *const now = pdl_policy_now();
    const bool capture_only = environment.capture_only || now->capture_only;
    const bool tuned = desc->overlap != PDL_OVERLAP_REQUIRE && tuning(now)->tuned_auto;
    if ((capture_only || desc->overlap == PDL_OVERLAP_CAPTURE) && !is_captured(driver, desc)) {
        return PDL_REASON_NOT_CAPTURING;
    }
    if (tuned || desc->overlap == PDL_OVERLAP_TUNED) {
        const struct pdl_tuned_line *const line = pdl_tuned_match(lines, desc->grid, desc->block);
        if (line != NULL && line->is.overlap == PDL_NO) {
            return PDL_REASON_TUNED;
        }
    }
    return PDL_REASON_GRANTED;
}
