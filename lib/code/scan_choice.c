/* SPDX-License-Identifier: MIT */
/* Which code of a fatbin a driver chooses for a device, and what a kernel does in it.
 *
 * Machine code goes before PTX. sm_XY runs on devices X.Z with Z >= Y, sm_XYa on X.Y only, and
 * sm_XYf on those of the family, of which only that they are X.Z with Z >= Y is used here; of several
 * the highest is taken. Without any, the highest PTX is compiled that is for the device's version
 * or an older one; PTX for compute_XYa and compute_XYf is as bound as machine code is. (A user can
 * have PTX compiled always, with CUDA_FORCE_PTX_JIT or CUDA_FORCE_JIT: that is the same source.)
 *
 * Where two are equally good, as sm_90 and sm_90a are on 9.0, both have to give the same answer. */
#include <stdlib.h>
#include <string.h>

#include "code/fatbin.h"
#include "code/scan.h"
#include "code/unpack.h"
#include "core/array.h"
#include "core/hash.h"
#include "os/file.h"

/* More of one entry is not unpacked. */
#define MOST_UNPACKED ((size_t)1 << 30)

const char *pdl_why_string(enum pdl_why why)
{
    switch (why) {
    case PDL_WHY_NOTHING:
        return "it is known";
    case PDL_WHY_ALIKE:
        return "its machine code is for an architecture that this version does not know, and was "
               "read as sm_121, which it "
               "looks like";
    case PDL_WHY_NO_IMAGE:
        return "its code was not given";
    case PDL_WHY_DECLARED:
        return "it was declared so";
    case PDL_WHY_NOT_FOUND:
        return "its code was not found";
    case PDL_WHY_CALLS:
        return "it calls functions through pointers, or functions whose code is not there";
    case PDL_WHY_TARGET:
        return "it is machine code with unknown instructions";
    case PDL_WHY_LIBRARY:
        return "its code is compressed, and libzstd.so.1 or liblz4.so.1 cannot be opened";
    case PDL_WHY_DAMAGED:
        return "its code is damaged, or in an unknown format";
    case PDL_WHY_DIFFERENT:
        return "several codes have its name and behave differently";
    case PDL_WHY_VERSION:
        return "the driver runs other code than the code found";
    case PDL_WHY_UNNAMED:
        return "the driver does not report its name (it does since CUDA 12.3)";
    case PDL_WHY_NO_MEMORY:
        return "there is no memory to read its code";
    }
    return "it was not looked for";
}

struct pdl_scan_answer pdl_scan_either(struct pdl_scan_answer a, struct pdl_scan_answer b)
{
    struct pdl_scan_answer both = a;
    both.waits = a.waits == b.waits ? a.waits : PDL_UNKNOWN;
    both.triggers = a.triggers == b.triggers ? a.triggers : PDL_UNKNOWN;
    both.target = a.target == b.target ? a.target : 0;
    both.proof = pdl_proof_both(&a.proof, &b.proof);
    if (memcmp(a.bounds.block, b.bounds.block, sizeof(a.bounds.block)) != 0 ||
        a.bounds.max_cluster != b.bounds.max_cluster ||
        a.bounds.counts_clusters != b.bounds.counts_clusters) {
        both.bounds = (struct pdl_untold_bounds){.counts_clusters = PDL_UNKNOWN};
    }
    both.why = a.why > b.why ? a.why : b.why;
    if (both.why <= PDL_WHY_ALIKE && (a.waits != b.waits || a.triggers != b.triggers)) {
        both.why = PDL_WHY_DIFFERENT;
    }
    return both;
}

/* ---- the kernels of some code ---------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const struct pdl_scan_row *first = a;
    const struct pdl_scan_row *second = b;
    const int order = (first->hash[0] > second->hash[0]) - (first->hash[0] < second->hash[0]);
    return order != 0 ? order
                      : (first->hash[1] > second->hash[1]) - (first->hash[1] < second->hash[1]);
}

bool pdl_scan_keep(void *context, const char *name, size_t length,
                   const struct pdl_scan_answer *answer)
{
    struct pdl_scan_table *table = context;
    if (!PDL_ARRAY_ROOM(table->rows, table->count, table->capacity)) {
        return false;
    }
    struct pdl_scan_row *row = &table->rows[table->count++];
    *row = (struct pdl_scan_row){
        .data = table->reading,
        .target = answer->target,
        .ptx = answer->ptx,
        .waits = (uint8_t)answer->waits,
        .triggers = (uint8_t)answer->triggers,
        .why = (uint8_t)answer->why,
        .bounds = answer->bounds,
    };
    pdl_hash_name(name, length, row->hash);
    return true;
}

void pdl_scan_sort(struct pdl_scan_table *table)
{
    if (table->count > 0) {
        qsort(table->rows, table->count, sizeof(table->rows[0]), compare);
    }
}

const struct pdl_scan_row *pdl_scan_find(const struct pdl_scan_table *table, const char *name,
                                         uint32_t *count)
{
    struct pdl_scan_row wanted = {.target = 0};
    pdl_hash_name(name, strlen(name), wanted.hash);
    const struct pdl_scan_row *first =
        table->count > 0
            ? bsearch(&wanted, table->rows, table->count, sizeof(table->rows[0]), compare)
            : NULL;
    const struct pdl_scan_row *end = first;
    *count = 0;
    if (first != NULL) {
        while (first > table->rows && compare(first - 1, &wanted) == 0) {
            first--;
        }
        while (end < table->rows + table->count && compare(end, &wanted) == 0) {
            end++;
        }
        *count = (uint32_t)(end - first);
    }
    return first;
}

struct pdl_scan_answer pdl_scan_answer_of(const struct pdl_scan_row *row)
{
    return (struct pdl_scan_answer){
        .waits = (pdl_known)row->waits,
        .triggers = (pdl_known)row->triggers,
        .why = (enum pdl_why)row->why,
        .target = row->target,
        .ptx = row->ptx != 0,
        .bounds = row->bounds,
    };
}

/* ---- cubins and fatbins ---------------------------------------------------------------------- */

enum pdl_why pdl_scan_cubin_each(const unsigned char *bytes, size_t size, pdl_scan_visitor visit,
                                 void *context)
{
    struct pdl_cubin cubin;
    const enum pdl_scan_result result = pdl_scan_cubin(&cubin, bytes, size);
    bool good = true;
    if (result != PDL_SCAN_DONE) {
        return result == PDL_SCAN_NO_MEMORY ? PDL_WHY_NO_MEMORY : PDL_WHY_DAMAGED;
    }
    for (uint32_t i = 0; good && i < cubin.count; i++) {
        const struct pdl_cubin_code *code = &cubin.codes[i];
        const bool known = code->waits != PDL_UNKNOWN && code->triggers != PDL_UNKNOWN;
        struct pdl_scan_answer answer = {
            .waits = code->waits,
            .triggers = code->triggers,
            .target = (uint32_t)cubin.target,
            .bounds = pdl_bounds_untold(&code->bounds),
        };
        if (!known) {
            answer.why = cubin.known ? PDL_WHY_CALLS : PDL_WHY_TARGET;
        } else if (cubin.read_as != 0) {
            answer.why = PDL_WHY_ALIKE;
        }
        good = !code->kernel || visit(context, code->name, strlen(code->name), &answer);
    }
    pdl_scan_cubin_free(&cubin);
    return good ? PDL_WHY_NOTHING : PDL_WHY_NO_MEMORY;
}

static enum pdl_why why_packed(enum pdl_unpack_result result)
{
    switch (result) {
    case PDL_UNPACKED:
        return PDL_WHY_NOTHING;
    case PDL_UNPACK_NO_LIBRARY:
        return PDL_WHY_LIBRARY;
    case PDL_UNPACK_NO_MEMORY:
        return PDL_WHY_NO_MEMORY;
    default:
        return PDL_WHY_DAMAGED;
    }
}

static enum pdl_why visit_entry(const struct pdl_fatbin_entry *entry, pdl_scan_visitor visit,
                                void *context)
{
    const unsigned char *bytes = entry->payload;
    unsigned char *unpacked = NULL;
    size_t size = entry->size;
    enum pdl_why why = PDL_WHY_NOTHING;
    if (entry->compression != PDL_FATBIN_PLAIN) {
        why = why_packed(pdl_unpack(entry, MOST_UNPACKED, &unpacked, &size));
        bytes = unpacked;
    }
    if (why == PDL_WHY_NOTHING && entry->kind == PDL_FATBIN_CUBIN) {
        why = pdl_scan_cubin_each(bytes, size, visit, context);
    } else if (why == PDL_WHY_NOTHING) {
        const char *text = (const char *)bytes; /* padded with NULs */
        const char *nul = memchr(text, '\0', size);
        size = nul != NULL ? (size_t)(nul - text) : size;
        if (!pdl_scan_ptx_each(text, size, entry->target, visit, context)) {
            why = PDL_WHY_NO_MEMORY;
        }
    }
    free(unpacked);
    return why;
}

uint32_t pdl_scan_fitness(bool machine, uint32_t target, char suffix, uint32_t capability)
{
    if (target == 0 || target > capability || (suffix == 'a' && target != capability)) {
        return 0;
    }
    if ((machine || suffix == 'f') && target / 10 != capability / 10) {
        return 0;
    }
    return machine ? 1000 + target : target;
}

bool pdl_scan_ptx_is_forced(void)
{
    const char *forced = pdl_environment("CUDA_FORCE_PTX_JIT"); /* goes before the other one */
    forced = forced != NULL ? forced : pdl_environment("CUDA_FORCE_JIT");
    return forced != NULL && strcmp(forced, "1") == 0;
}

uint32_t pdl_scan_entry_fitness(const struct pdl_fatbin_entry *entry, uint32_t capability,
                                bool ptx_only)
{
    const bool machine = entry->kind == PDL_FATBIN_CUBIN;
    return (machine && !ptx_only) || entry->kind == PDL_FATBIN_PTX
               ? pdl_scan_fitness(machine, entry->target, entry->suffix, capability)
               : 0;
}

enum pdl_why pdl_scan_fatbin_each(const unsigned char *bytes, size_t size, uint32_t capability,
                                  bool ptx_only, pdl_scan_visitor visit, void *context)
{
    struct pdl_fatbin fatbin;
    struct pdl_fatbin_entry entry;
    enum pdl_why why = PDL_WHY_NOTHING;
    uint32_t best = 0;
    bool known = true; /* a driver may choose what is of an unknown kind */
    pdl_fatbin_open(&fatbin, bytes, size);
    while (pdl_fatbin_next(&fatbin, &entry) && fatbin.read <= 1) {
        const uint32_t fit = pdl_scan_entry_fitness(&entry, capability, ptx_only);
        best = fit > best ? fit : best;
        known = known && pdl_fatbin_kind_is_known(entry.kind);
    }
    if (best == 0 || fatbin.damaged || !known) {
        return fatbin.damaged || !known ? PDL_WHY_DAMAGED : PDL_WHY_NOT_FOUND;
    }
    pdl_fatbin_open(&fatbin, bytes, size);
    while (why == PDL_WHY_NOTHING && pdl_fatbin_next(&fatbin, &entry) && fatbin.read <= 1) {
        if (pdl_scan_entry_fitness(&entry, capability, ptx_only) == best) {
            why = visit_entry(&entry, visit, context);
        }
    }
    return why;
}
