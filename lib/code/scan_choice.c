/* SPDX-License-Identifier: MIT */
/* Which code of a fatbin a driver chooses for a device, and what a kernel does in it.
 *
 * Machine code goes before PTX. sm_XY runs on devices X.Z with Z >= Y, sm_XYa on X.Y only, and
 * sm_XYf on those of the family, of which only that they are X.Z with Z >= Y is used here; of several
 * the highest is taken. Without any, the highest PTX is compiled that is for the device's version
 * or an older one; PTX for compute_XYa and compute_XYf is as bound as machine code is. (A user can
 * have PTX compiled always, with CUDA_FORCE_PTX_JIT: that is the same source.)
 *
 * Where two are equally good, as sm_90 and sm_90a are on 9.0, both have to give the same answer. What
 * is compressed is not read: libpdl depends on no library for that. */
#include <string.h>

#include "code/fatbin.h"
#include "code/scan.h"

static const struct pdl_scan_answer unknown = {.no_memory = false};

struct pdl_scan_answer pdl_scan_either(struct pdl_scan_answer a, struct pdl_scan_answer b)
{
    return (struct pdl_scan_answer){
        .waits = a.waits == b.waits ? a.waits : PDL_UNKNOWN,
        .triggers = a.triggers == b.triggers ? a.triggers : PDL_UNKNOWN,
        .no_memory = a.no_memory || b.no_memory,
    };
}

struct pdl_scan_answer pdl_scan_cubin_kernel(const unsigned char *bytes, size_t size,
                                             const char *name)
{
    struct pdl_scan_answer answer = unknown;
    struct pdl_cubin cubin;
    const enum pdl_scan_result result = pdl_scan_cubin(&cubin, bytes, size);
    if (result != PDL_SCAN_DONE) {
        answer.no_memory = result == PDL_SCAN_NO_MEMORY;
        return answer;
    }
    for (uint32_t i = 0; i < cubin.count; i++) {
        const struct pdl_cubin_code *code = &cubin.codes[i];
        if (code->kernel && strcmp(code->name, name) == 0) {
            answer = (struct pdl_scan_answer){.waits = code->waits, .triggers = code->triggers};
            break;
        }
    }
    pdl_scan_cubin_free(&cubin);
    return answer;
}

/* How good an entry is for a device: 0 not at all, else more is better. */
static uint32_t fitness(const struct pdl_fatbin_entry *entry, uint32_t capability)
{
    const uint32_t target = entry->target;
    const bool machine = entry->kind == PDL_FATBIN_CUBIN;
    if ((!machine && entry->kind != PDL_FATBIN_PTX) || target == 0 || target > capability) {
        return 0;
    }
    if (entry->suffix == 'a' && target != capability) {
        return 0;
    }
    if ((machine || entry->suffix == 'f') && target / 10 != capability / 10) {
        return 0;
    }
    return machine ? 1000 + target : target;
}

static struct pdl_scan_answer answer_of(const struct pdl_fatbin_entry *entry, const char *name)
{
    if (entry->compression != PDL_FATBIN_PLAIN) {
        return unknown;
    }
    if (entry->kind == PDL_FATBIN_CUBIN) {
        return pdl_scan_cubin_kernel(entry->payload, entry->size, name);
    }
    const char *text = (const char *)entry->payload; /* padded with NULs */
    const char *nul = memchr(text, '\0', entry->size);
    return pdl_scan_ptx(text, nul != NULL ? (size_t)(nul - text) : entry->size, name);
}

struct pdl_scan_answer pdl_scan_fatbin(const unsigned char *bytes, size_t size, const char *name,
                                       uint32_t capability)
{
    struct pdl_fatbin fatbin;
    struct pdl_fatbin_entry entry;
    struct pdl_scan_answer answer = unknown;
    uint32_t best = 0;
    pdl_fatbin_open(&fatbin, bytes, size);
    while (pdl_fatbin_next(&fatbin, &entry) && fatbin.read <= 1) {
        const uint32_t fit = fitness(&entry, capability);
        best = fit > best ? fit : best;
    }
    if (best == 0 || fatbin.damaged) {
        return unknown;
    }
    bool first = true;
    pdl_fatbin_open(&fatbin, bytes, size);
    while (pdl_fatbin_next(&fatbin, &entry) && fatbin.read <= 1) {
        if (fitness(&entry, capability) == best) {
            const struct pdl_scan_answer found = answer_of(&entry, name);
            answer = first ? found : pdl_scan_either(answer, found);
            first = false;
        }
    }
    return answer;
}
