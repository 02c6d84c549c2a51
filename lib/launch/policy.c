/* SPDX-License-Identifier: MIT */
#include "launch/policy.h"

#include <pdl/policy.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/sized.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/lock.h"

static struct pdl_policies by_environment; /* stands above the program's */
static _Atomic(const struct pdl_policies *) current = &by_environment;

/* ---- setting -------------------------------------------------------------------------------- */

/* Takes over what is given. */
static pdl_status fill(struct pdl_policies *made, const pdl_policy *given)
{
    made->off = given->off != 0;
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
    return PDL_SUCCESS;
}

static void publish(const struct pdl_policies *policies)
{
    atomic_store_explicit(&current, policies, memory_order_release);
    if (!policies->off) {
        (void)atomic_fetch_and(&pdl_gate_special, ~(unsigned)PDL_GATE_OFF);
    }
    (void)atomic_fetch_or(&pdl_gate_special,
                          (unsigned)(PDL_GATE_POLICY | (policies->off ? PDL_GATE_OFF : 0)));
}

static void look(void)
{
    const pdl_policy given = {.capture_only =
                                  pdl_variable_read(PDL_VARIABLE(PDL_OVERLAP)).value[0] == 2,
                              .exclude = pdl_variable_text(PDL_VARIABLE(PDL_OVERLAP_EXCLUDE))};
    if (pdl_variable_text(PDL_VARIABLE(PDL_LOG)) != NULL) {
        (void)atomic_fetch_or(&pdl_gate_special, (unsigned)PDL_GATE_LOG);
    }
    const pdl_error before = *pdl_last_error();
    if (fill(&by_environment, &given) != PDL_SUCCESS) {
        (void)fprintf(stderr, "libpdl: PDL_OVERLAP_EXCLUDE: %s\n", pdl_last_error()->message);
        pdl_error_restore(&before); /* no call fails for it */
    }
    if (given.capture_only || given.exclude != NULL) {
        publish(&by_environment);
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
    if (status == PDL_SUCCESS && (given.off > 1 || given.capture_only > 1)) {
        status = PDL_FAIL_FIELD(PDL_ERROR_DESC_FIELD, "policy",
                                "off is %u and capture_only is %u: each is 0 or 1", given.off,
                                given.capture_only);
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

const char *pdl_name_plain(const char *name, char plain[PDL_PLAIN_NAME])
{
    if (strncmp(name, "_Z", 2) != 0) {
        return name;
    }
    const bool nested = name[2] == 'N';
    const char *at = name + 2 + nested;
    const char *found = NULL;
    size_t size = 0;
    do {
        at += *at == 'L'; /* static */
        for (size = 0; *at >= '0' && *at <= '9' && size < PDL_PLAIN_NAME; at++) {
            size = size * 10 + (size_t)(*at - '0');
        }
        if (size == 0 || size >= PDL_PLAIN_NAME || strnlen(at, size) < size) {
            return name;
        }
        found = at;
        at = found + size;
    } while (nested && *at != 'I' && *at != 'E');
    memcpy(plain, found, size);
    plain[size] = '\0';
    return plain;
}

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
    return excludes(&by_environment, name, plain) || excludes(policies, name, plain);
}

bool pdl_policy_allows(const struct pdl_driver *driver, const pdl_launch_desc *desc)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUstream stream = pdl_desc_stream(desc);
    if (!by_environment.capture_only && !pdl_policy_now()->capture_only) {
        return true;
    }
    /* The legacy stream captures nothing, and must not be asked while others capture. What the driver fails to
     * answer, the launch will report. */
    return stream == PDL_NODE_STREAM ||
           (stream != CU_STREAM_LEGACY &&
            driver->cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
            status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
}
