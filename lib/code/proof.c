/* SPDX-License-Identifier: MIT */
#include "code/proof.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/fatbin.h"
#include "core/array.h"
#include "core/hash.h"
#include "os/compiler.h"
#include "os/environment.h"
#include "os/library.h"
#include "os/lock.h"

/* What the analysis of one image may cost a first launch, in steps of the analysis: see `max_steps` of
 * pdl_inspect_options. The figures are in docs/results/README.md. */
#define BUDGET (UINT64_C(1) << 22)

/* Results of more memory than this are not kept, and neither are copies of images above the budget. */
#define MOST_KEPT ((size_t)64 << 20)

/* ---- libpdl-inspect ------------------------------------------------------------------------- */

#define TEXT_OF_(number) #number
#define TEXT_OF(number)  TEXT_OF_(number)
#if PDL_VERSION_MAJOR > 0
#define INSPECT_SONAME PDL_LIBRARY_INSPECT(TEXT_OF(PDL_VERSION_MAJOR))
#else
#define INSPECT_SONAME PDL_LIBRARY_INSPECT("0." TEXT_OF(PDL_VERSION_MINOR))
#endif

/* Written once. */
static bool strict_on, proof_on;
static struct inspector {
    void *library;
    pdl_proof_memory *memory; /* NULL: there is no libpdl-inspect of this version */
    pdl_proof_each *each;
    pdl_proof_destroy *destroy;
    char missing[256]; /* why */
    char nothing[300]; /* the same in a clause */
} inspector;

static void load_inspect(struct inspector *made)
{
    pdl_proof_version *version = NULL;
    made->library = pdl_library_open_beside(INSPECT_SONAME);
    if (made->library == NULL) {
        (void)snprintf(made->missing, sizeof(made->missing), "%s", pdl_library_error());
        return;
    }
    *(void **)&version = pdl_library_symbol(made->library, "pdl_inspect_version");
    *(void **)&made->destroy = pdl_library_symbol(made->library, "pdl_inspection_destroy");
    *(void **)&made->each = pdl_library_symbol(made->library, "pdl_inspection_proofs");
    const uint32_t theirs = version != NULL ? version() : 0;
    if (theirs == PDL_VERSION && made->destroy != NULL && made->each != NULL) {
        *(void **)&made->memory = pdl_library_symbol(made->library, "pdl_inspect_memory");
    }
    if (made->memory == NULL) { /* another version may find less */
        (void)snprintf(made->missing, sizeof(made->missing),
                       INSPECT_SONAME " is of version %u.%u.%u and libpdl of version "
                                      "%u.%u.%u: they must be the same%s",
                       theirs / 10000, theirs / 100 % 100, theirs % 100,
                       (unsigned)PDL_VERSION_MAJOR, (unsigned)PDL_VERSION_MINOR,
                       (unsigned)PDL_VERSION_PATCH,
                       theirs == 0 ? " (0.0.0: one that does not say its version)" : "");
    }
}

const char *pdl_proof_load(void)
{
    static struct pdl_first first;
    if (!pdl_first_is_done(&first)) {
        struct inspector mine = {.library = NULL};
        load_inspect(&mine);
        (void)snprintf(mine.nothing, sizeof(mine.nothing), "nothing is proved: %s", mine.missing);
        pdl_first_publish(&first, &inspector, &mine, sizeof(mine));
    }
    return inspector.memory == NULL ? inspector.missing : NULL;
}

void *pdl_proof_symbol(const char *name)
{
    return pdl_proof_load() == NULL ? pdl_library_symbol(inspector.library, name) : NULL;
}

static void read_switches(void)
{
    strict_on = pdl_variable_read(PDL_VARIABLE(PDL_OVERLAP_STRICT)).value[0] == 1;
    proof_on = pdl_variable_read(PDL_VARIABLE(PDL_OVERLAP_PROOF)).value[0] == 1;
}

static void say_what_is_missing(void)
{
    if (inspector.memory == NULL) {
        (void)fprintf(stderr,
                      "libpdl: PDL_OVERLAP_STRICT=1 needs " INSPECT_SONAME
                      "; without it only kernels that are declared to wait overlap: %s\n",
                      inspector.missing);
    }
}

bool pdl_proof_is_strict(void)
{
    static struct pdl_first first;
    static struct pdl_first said;
    pdl_first_run(&first, read_switches);
    if (strict_on && !pdl_first_is_done(&said)) {
        (void)pdl_proof_load();
        pdl_first_run(&said, say_what_is_missing);
    }
    return strict_on;
}

bool pdl_proof_is_on(void)
{
    return pdl_proof_is_strict() || proof_on;
}

const char *pdl_proof_string(enum pdl_proof_state state, const char *race)
{
    switch (state) {
    case PDL_PROOF_STATE_RACE:
        return race;
    case PDL_PROOF_STATE_OFF:
        return "nothing is proved: PDL_OVERLAP_PROOF is off";
    case PDL_PROOF_STATE_NO_LIBRARY:
        return inspector.nothing;
    case PDL_PROOF_STATE_BUDGET:
        return "not analysed: its image is above the budget; see pdl_kernel_prove()";
    case PDL_PROOF_STATE_UNREAD:
        return "not analysed: libpdl-inspect cannot read its image, or has no memory for it";
    case PDL_PROOF_STATE_NOT_PROVED:
        return "not proved, and no race found";
    case PDL_PROOF_STATE_PROVED:
        return "proved to wait before it touches memory";
    default:
        return "not analysed: its code is not known, or never waits";
    }
}

const char *pdl_proof_clause(enum pdl_proof_state state, const char *race, pdl_reason reason,
                             bool declared, const char **between)
{
    const bool granted = reason == PDL_REASON_GRANTED;
    *between = "";
    if (!pdl_proof_is_on() ||
        !(granted || reason == PDL_REASON_STRICT || reason == PDL_REASON_RACE)) {
        return "";
    }
    *between = granted ? "; " : ": ";
    race = race != NULL ? race : "a race";
    if (declared && granted) {
        const bool found = state == PDL_PROOF_STATE_RACE;
        *between =
            found ? "; declared to wait, but the analysis finds a race: " : "; declared to wait";
        return found ? race : "";
    }
    return pdl_proof_string(state, race);
}

const char *pdl_proof_missing(void)
{
    return !pdl_proof_is_on()         ? pdl_proof_string(PDL_PROOF_STATE_OFF, NULL)
           : pdl_proof_load() != NULL ? pdl_proof_string(PDL_PROOF_STATE_NO_LIBRARY, NULL)
                                      : NULL;
}

pdl_proof pdl_proof_public(enum pdl_proof_state state)
{
    return state == PDL_PROOF_STATE_RACE         ? PDL_PROOF_RACE
           : state == PDL_PROOF_STATE_NOT_PROVED ? PDL_PROOF_NOT_PROVED
           : state == PDL_PROOF_STATE_PROVED     ? PDL_PROOF_PROVED
                                                 : PDL_PROOF_NOT_ANALYSED;
}

/* ---- images --------------------------------------------------------------------------------- */

struct verdict {
    uint64_t name[2]; /* hashes */
    uint32_t race;    /* where its text begins; 0: there is none */
    uint8_t proof;    /* a pdl_proof */
    uint8_t shown;
    uint8_t waits_always;
};

/* What came of an analysis. Never changes once it is published, and is not freed before the library is unloaded. */
struct results {
    enum pdl_proof_state state; /* PROVED: it was analysed, and each kernel has its own */
    uint32_t count, room_used;
    struct verdict *verdicts; /* by name */
    char *texts;
    size_t capacity, room;
    bool failed; /* there was no memory */
};

/* Images that were analysed, newest first. An address tells an image as long as its stamp is the present one. */
struct entry {
    struct entry *next;
    uint64_t hash;
    size_t size;
    uint32_t capability;
    const void *address;
    unsigned long long stamp; /* 0: by its hash */
    const struct results *results;
};

static _Atomic(struct entry *) entries;
static atomic_size_t kept;

static int compare(const void *a, const void *b)
{
    const struct verdict *const x = (const struct verdict *)a;
    const struct verdict *const y = (const struct verdict *)b;
    const int order = (x->name[0] > y->name[0]) - (x->name[0] < y->name[0]);
    return order != 0 ? order : (x->name[1] > y->name[1]) - (x->name[1] < y->name[1]);
}

static void add_verdict(void *context, const struct pdl_inspect_proof *proof)
{
    const struct pdl_proof_seen *const seen = (const struct pdl_proof_seen *)(const void *)proof;
    struct results *const results = (struct results *)context;
    const size_t length = seen->race != NULL ? strlen(seen->race) + 1 : 0;
    uint32_t at = results->room_used == 0 ? 1 : results->room_used;
    if (results->failed || !PDL_ARRAY_ROOM(results->verdicts, results->count, results->capacity) ||
        !PDL_ARRAY_RESERVE(results->texts, at + length, results->room)) {
        results->failed = true;
        return;
    }
    if (length > 0) {
        memcpy(results->texts + at, seen->race, length);
        results->room_used = at + (uint32_t)length;
    }
    struct verdict *const verdict = &results->verdicts[results->count++];
    *verdict = (struct verdict){
        .race = length > 0 ? at : 0,
        .proof = (uint8_t)seen->proof,
        .shown = (uint8_t)seen->shown,
        .waits_always = (uint8_t)seen->waits_always,
    };
    pdl_hash_name(seen->kernel, strlen(seen->kernel), verdict->name);
}

static void free_results(struct results *results)
{
    if (results != NULL) {
        free(results->verdicts);
        free(results->texts);
        free(results);
    }
}

static size_t bytes_of(const struct results *results)
{
    return sizeof(struct entry) + sizeof(*results) +
           results->capacity * sizeof(results->verdicts[0]) + results->room;
}

/* NULL without memory. */
static struct results *analyse(const struct entry *key, bool unlimited)
{
    const struct pdl_proof_options options = {.size = sizeof(options),
                                              .flags = PDL_PROOF_NO_SOURCES,
                                              .max_steps = unlimited ? 0 : BUDGET};
    struct pdl_inspection *inspection = NULL;
    struct results *const made = (struct results *)calloc(1, sizeof(*made));
    if (made == NULL) {
        return NULL;
    }
    const pdl_status status =
        inspector.memory(key->address, key->size, "the image",
                         (const struct pdl_inspect_options *)(const void *)&options, &inspection);
    made->state = status == PDL_SUCCESS           ? PDL_PROOF_STATE_PROVED
                  : status == PDL_ERROR_CANCELLED ? PDL_PROOF_STATE_BUDGET
                                                  : PDL_PROOF_STATE_UNREAD;
    if (status == PDL_SUCCESS) {
        made->failed = inspector.each(inspection, (int32_t)key->capability, add_verdict, made) !=
                           PDL_SUCCESS ||
                       made->failed;
        inspector.destroy(inspection);
    }
    if (made->failed || status == PDL_ERROR_OUT_OF_MEMORY) {
        free_results(made);
        return NULL;
    }
    if (made->count > 1) {
        qsort(made->verdicts, made->count, sizeof(made->verdicts[0]), compare);
    }
    return made;
}

static const struct entry *find(const struct entry *at, const struct entry *key, bool unlimited)
{
    for (; at != NULL; at = at->next) {
        const bool same = key->stamp != 0 ? at->stamp == key->stamp && at->address == key->address
                                          : at->hash == key->hash && at->stamp == 0;
        if (same && at->size == key->size && at->capability == key->capability &&
            !(unlimited && at->results->state == PDL_PROOF_STATE_BUDGET)) {
            return at;
        }
    }
    return NULL;
}

/* What is published for a key: another thread's, if that came first. NULL if it cannot be kept. */
static const struct results *publish(const struct entry *key, const struct results *results,
                                     size_t bytes, bool unlimited)
{
    struct entry *head = atomic_load_explicit(&entries, memory_order_acquire);
    struct entry *const made = (struct entry *)malloc(sizeof(*made));
    if (made == NULL || atomic_load(&kept) + bytes > MOST_KEPT) {
        free(made);
        return NULL;
    }
    (void)atomic_fetch_add(&kept, bytes);
    *made = *key;
    made->results = results;
    do {
        const struct entry *const other = find(head, key, unlimited);
        if (other != NULL) {
            (void)atomic_fetch_add(&kept, (size_t)0 - bytes);
            free(made);
            return other->results;
        }
        made->next = head;
    } while (!atomic_compare_exchange_strong(&entries, &head, made));
    return results;
}

/* What results say of a kernel. */
static struct pdl_proof_answer answer_of(const struct results *results, const char *name)
{
    struct pdl_proof_answer answer = {.state = PDL_PROOF_STATE_UNREAD};
    if (results == NULL || results->state != PDL_PROOF_STATE_PROVED) {
        answer.state = results != NULL ? results->state : answer.state;
        return answer;
    }
    struct verdict wanted = {.race = 0};
    pdl_hash_name(name, strlen(name), wanted.name);
    const struct verdict *const found =
        results->count == 0
            ? NULL
            : (const struct verdict *)bsearch(&wanted, results->verdicts, results->count,
                                              sizeof(wanted), compare);
    if (found != NULL) { /* else nothing was looked at */
        answer.state = found->proof == PDL_PROOF_RACE     ? PDL_PROOF_STATE_RACE
                       : found->proof == PDL_PROOF_PROVED ? PDL_PROOF_STATE_PROVED
                                                          : PDL_PROOF_STATE_NOT_PROVED;
        answer.shown = (pdl_known)found->shown;
        answer.waits_always = (pdl_known)found->waits_always;
        (void)snprintf(answer.race, sizeof(answer.race), "%s",
                       found->race != 0 ? results->texts + found->race : "");
    }
    return answer;
}

struct pdl_proof_answer pdl_proof_look(const struct pdl_proof_image *image, const char *name,
                                       uint32_t capability, bool unlimited)
{
    if (pdl_proof_load() != NULL) {
        return (struct pdl_proof_answer){.state = PDL_PROOF_STATE_NO_LIBRARY};
    }
    struct entry key = {.hash = image->hash,
                        .size = image->size,
                        .capability = capability,
                        .address = image->bytes,
                        .stamp = image->stamp};
    if (pdl_fatbin_is((const unsigned char *)image->bytes, image->size)) { /* others may follow */
        key.size = pdl_fatbin_size((const unsigned char *)image->bytes, image->size);
    }
    const struct entry *const head = atomic_load_explicit(&entries, memory_order_acquire);
    const struct entry *found = key.stamp != 0 ? find(head, &key, unlimited) : NULL;
    if (found != NULL) {
        return answer_of(found->results, name);
    }
    struct entry by_hash = key;
    by_hash.stamp = 0;
    if (by_hash.hash == 0) {
        by_hash.hash = pdl_hash(PDL_HASH_START, key.address, key.size);
    }
    found = find(head, &by_hash, unlimited);
    const struct results *results = found != NULL ? found->results : NULL;
    struct results *mine = NULL;
    if (results == NULL) {
        mine = analyse(&key, unlimited);
        results = mine != NULL ? publish(&by_hash, mine, bytes_of(mine), unlimited) : NULL;
    }
    if (results != NULL && key.stamp != 0) {
        (void)publish(&key, results, sizeof(key), unlimited);
    }
    const struct pdl_proof_answer answer = answer_of(results != NULL ? results : mine, name);
    if (results != mine) {
        free_results(mine);
    }
    return answer;
}

struct pdl_proof_answer pdl_proof_of(const struct pdl_proof_image *image, const char *name,
                                     uint32_t capability, pdl_known waits, bool unlimited)
{
    struct pdl_proof_answer nothing = {.state = PDL_PROOF_STATE_NOT_ASKED};
    if (waits == PDL_YES && pdl_proof_is_on()) {
        return pdl_proof_look(image, name, capability, unlimited);
    }
    nothing.waits_always =
        waits == PDL_NO && pdl_proof_is_on() && pdl_proof_load() == NULL ? PDL_NO : PDL_UNKNOWN;
    nothing.state = waits == PDL_YES ? PDL_PROOF_STATE_OFF : PDL_PROOF_STATE_NOT_ASKED;
    return nothing;
}

pdl_known pdl_proof_ask(const void *image, size_t size, const char *name, uint32_t capability,
                        pdl_known *waits_always)
{
    const struct pdl_proof_image whole = {.bytes = image, .size = size};
    const struct pdl_proof_answer answer = pdl_proof_look(&whole, name, capability, true);
    *waits_always = answer.waits_always;
    return answer.shown;
}

struct pdl_proof_answer pdl_proof_both(const struct pdl_proof_answer *a,
                                       const struct pdl_proof_answer *b)
{
    const bool first = a->state == PDL_PROOF_STATE_RACE ||
                       (a->state <= b->state && b->state != PDL_PROOF_STATE_RACE);
    struct pdl_proof_answer both = first ? *a : *b;
    both.shown = a->shown < b->shown ? a->shown : b->shown;
    both.waits_always = a->waits_always < b->waits_always ? a->waits_always : b->waits_always;
    return both;
}

PDL_AT_UNLOAD void pdl_proof_forget(void)
{
    struct entry *at = atomic_exchange(&entries, NULL);
    while (at != NULL) {
        struct entry *const next = at->next;
        if (at->stamp == 0) { /* the others share */
            free_results((struct results *)(uintptr_t)at->results);
        }
        free(at);
        at = next;
    }
    atomic_store(&kept, 0);
}
