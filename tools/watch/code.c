/* SPDX-License-Identifier: MIT */
/* What the code of the kernels that ran does: whether it waits and triggers by what the driver loaded, and whether it
 * waits in time by the PTX that belongs to it. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <pdl/inspect.h>

#include "common/memory.h"
#include "core/hash.h"
#include "watch/store.h"

/* What was found of a kernel so far. */
struct facts {
    bool loaded, shown,
        fronted;     /* code that the driver loaded, PTX and the front of the wait were found */
    bool proved;     /* or refuted, from machine code */
    bool differ;     /* two images do not agree */
    bool warned;     /* a finding is a race */
    bool skips;      /* of them one says that some threads or launches do not wait */
    bool overlapped; /* was launched with overlap, even if no run of it is known */
};

struct looking {
    struct watch *watch;
    struct facts *facts;
    struct ids words;     /* hashes of the names of kernels */
    const char **granted; /* names of those that were launched with overlap */
    size_t granted_count;
};

/* ---- which images matter ---------------------------------------------------------------------- */

static bool is_word(unsigned char character)
{
    return isalnum(character) || character == '_' || character == '$';
}

/* Whether a name of a kernel that ran is somewhere in it, as in a cubin's table of strings and in PTX. */
static bool holds_kernel(const struct looking *looking, const struct store_image *image)
{
    for (size_t i = 0; i < image->size; i++) {
        uint64_t hash = PDL_HASH_START;
        const size_t start = i;
        for (; i < image->size && is_word(image->bytes[i]); i++) {
            hash = pdl_hash(hash, &image->bytes[i], 1);
        }
        if (i > start && ids_get(&looking->words, hash, 0) != WATCH_NONE) {
            return true;
        }
    }
    return false;
}

/* ---- one kernel of an image ------------------------------------------------------------------- */

static pdl_known agree(struct facts *facts, bool found, pdl_known known, uint32_t told)
{
    if (found && known != (pdl_known)told) {
        facts->differ = true;
        return PDL_UNKNOWN;
    }
    return (pdl_known)told;
}

static bool is_about_waits(const pdl_lint_finding *finding)
{
    return finding->suppressed == NULL &&
           ((finding->rule == PDL_LINT_NC_AFTER_WAIT && finding->level >= PDL_LINT_WARNING) ||
            finding->rule == PDL_LINT_READ_BEFORE_WAIT ||
            finding->rule == PDL_LINT_WRITE_BEFORE_WAIT || finding->rule == PDL_LINT_NO_WAIT ||
            finding->rule == PDL_LINT_PARTIAL_WAIT);
}

static char *finding_text(const pdl_lint_finding *finding)
{
    const pdl_inspect_place *const place = finding->place_count > 0 ? finding->places[0] : NULL;
    if (place != NULL && place->file != NULL) {
        return format_text("%s:%u: %s [%s]", place->file, place->line, finding->message,
                           pdl_lint_rule_id((pdl_lint_rule)finding->rule));
    }
    return format_text("line %u of its PTX: %s [%s]", finding->line, finding->message,
                       pdl_lint_rule_id((pdl_lint_rule)finding->rule));
}

/* Keeps the first finding about waits: a warning before a note. */
static void read_findings(const struct looking *looking, const pdl_inspection *inspection,
                          const pdl_inspect_kernel *from, struct watch_kernel *kernel,
                          struct facts *facts)
{
    for (uint32_t i = 0; i < from->finding_count; i++) {
        const pdl_lint_finding *const finding =
            pdl_inspection_finding(inspection, from->first_finding + i);
        const bool warns = finding->level >= PDL_LINT_WARNING;
        if (!is_about_waits(finding)) {
            continue;
        }
        const bool skips =
            warns && (finding->rule == PDL_LINT_PARTIAL_WAIT || finding->rule == PDL_LINT_NO_WAIT);
        if (kernel->finding == NULL || (warns && !facts->warned) || (skips && !facts->skips)) {
            kernel->finding = store_text(looking->watch->store, finding_text(finding));
        }
        facts->warned = facts->warned || warns;
        facts->skips = facts->skips || skips;
    }
}

/* A line of a text. */
struct line {
    const char *at, *end;
    uint32_t number; /* from 1 */
};

/* Goes on to a line behind. */
static void go_to_line(struct line *line, uint32_t number)
{
    while (line->number < number && line->at < line->end) {
        const char *const next = memchr(line->at, '\n', (size_t)(line->end - line->at));
        line->at = next != NULL ? next + 1 : line->end;
        line->number++;
    }
}

static void read_ptx(const struct looking *looking, const pdl_inspection *inspection,
                     const pdl_inspect_kernel *from, struct line *line, uint32_t index)
{
    struct watch_kernel *const kernel = &looking->watch->kernels.items[index];
    struct facts *const facts = &looking->facts[index];
    const int32_t target = pdl_inspection_image(inspection, from->image)->target;
    if (kernel->ptx_version >= 0 && target > 0 && target != kernel->ptx_version) {
        return; /* of another version of the kernel than the one that ran */
    }
    read_findings(looking, inspection, from, kernel, facts);
    kernel->shown_to_wait = agree(facts, facts->shown, kernel->shown_to_wait,
                                  pdl_inspection_shown(inspection, from->info->name, target, NULL));
    facts->shown = true;
    if (!facts->loaded) {
        kernel->waits = kernel->waits == PDL_UNKNOWN ? (pdl_known)from->info->waits : kernel->waits;
        kernel->triggers =
            kernel->triggers == PDL_UNKNOWN ? (pdl_known)from->info->triggers : kernel->triggers;
    }
    go_to_line(line, from->line);
    const struct front front =
        front_of_wait(line->at, (size_t)(line->end - line->at), kernel->name);
    if (front.known) {
        kernel->work_before_wait =
            front.work || (kernel->touches_before_wait_known && kernel->work_before_wait);
        kernel->touches_before_wait_known = true;
    }
}

static void read_loaded(const struct looking *looking, const pdl_inspect_kernel *from,
                        uint32_t index)
{
    struct watch_kernel *const kernel = &looking->watch->kernels.items[index];
    struct facts *const facts = &looking->facts[index];
    kernel->waits = agree(facts, facts->loaded, kernel->waits, from->info->waits);
    kernel->triggers = agree(facts, facts->loaded, kernel->triggers, from->info->triggers);
    facts->loaded = true;
}

static void read_image(const struct looking *looking, const struct store_image *image)
{
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    pdl_inspection *inspection = NULL;
    /* The sources may be those of another machine. */
    options.overlapped = looking->granted;
    options.overlapped_count = looking->granted_count;
    options.flags =
        PDL_INSPECT_NO_SOURCES | (image->form == PDL_WATCH_CUBIN ? PDL_INSPECT_FACTS_ONLY : 0u);
    if (pdl_inspect_memory(image->bytes, image->size, "recorded code", &options, &inspection) !=
        PDL_SUCCESS) {
        return;
    }
    struct line line = {(const char *)image->bytes, (const char *)image->bytes + image->size, 1};
    for (size_t i = 0; i < pdl_inspection_kernel_count(inspection); i++) {
        const pdl_inspect_kernel *const kernel = pdl_inspection_kernel(inspection, i);
        const pdl_inspect_image *const from = pdl_inspection_image(inspection, kernel->image);
        uint32_t index = 0;
        if (from->unread != NULL ||
            !pdl_names_find(&looking->watch->store->kernel_names, kernel->info->name, &index)) {
            continue;
        }
        if (from->kind == PDL_INSPECT_SASS) {
            read_loaded(looking, kernel, index);
        } else if (from->kind == PDL_INSPECT_PTX) {
            read_ptx(looking, inspection, kernel, &line, index);
        }
    }
    pdl_inspection_destroy(inspection);
}

/* ---- verdicts --------------------------------------------------------------------------------- */

static void read_proofs(const struct looking *looking)
{
    const struct watch_store *const store = looking->watch->store;
    for (size_t i = 0; i < store->functions.count; i++) {
        const struct store_function *const function = &store->functions.items[i];
        if (function->kernel != WATCH_NONE && function->proved == PDL_WATCH_PROVED_YES &&
            !looking->facts[function->kernel].shown) {
            looking->watch->kernels.items[function->kernel].shown_to_wait = PDL_YES;
        }
    }
}

/* Machine code is analysed only for kernels that are launched with overlap and that no PTX was found of. */
static void prove_loaded(const struct looking *looking, const struct store_image *image)
{
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    pdl_inspection *inspection = NULL;
    struct watch *const watch = looking->watch;
    options.flags = PDL_INSPECT_NO_SOURCES;
    if (pdl_inspect_memory(image->bytes, image->size, "recorded code", &options, &inspection) !=
        PDL_SUCCESS) {
        return;
    }
    for (size_t i = 0; i < pdl_inspection_kernel_count(inspection); i++) {
        const char *const name = pdl_inspection_kernel(inspection, i)->info->name;
        uint32_t index = 0;
        if (!pdl_names_find(&watch->store->kernel_names, name, &index) ||
            looking->facts[index].shown) {
            continue;
        }
        struct watch_kernel *const kernel = &watch->kernels.items[index];
        struct facts *const facts = &looking->facts[index];
        const int32_t capability = kernel->binary_version > 0 ? kernel->binary_version : 90;
        const pdl_known shown = pdl_inspection_shown(inspection, name, capability, NULL);
        kernel->shown_to_wait =
            facts->proved && kernel->shown_to_wait != shown ? PDL_UNKNOWN : shown;
        facts->proved = true;
    }
    pdl_inspection_destroy(inspection);
}

/* Whether it has a kernel whose machine code matters. */
static bool needs_proof(const struct looking *looking, const struct store_image *image)
{
    for (size_t i = 0; i < looking->granted_count; i++) {
        uint32_t index = 0;
        if (pdl_names_find(&looking->watch->store->kernel_names, looking->granted[i], &index) &&
            !looking->facts[index].shown &&
            memmem(image->bytes, image->size, looking->granted[i], strlen(looking->granted[i])) !=
                NULL) {
            return true;
        }
    }
    return false;
}

/* What was done with a kernel's PTX. Where several texts have the name, one that was refused counts most. */
static void read_instrumented(struct watch *watch)
{
    static const unsigned weights[] = {0, 3, 2, 1, 4};
    for (size_t i = 0; i < watch->store->instrumented.count; i++) {
        const struct store_instrumented *const from = &watch->store->instrumented.items[i];
        uint32_t index = 0;
        if (from->action < sizeof(weights) / sizeof(weights[0]) &&
            pdl_names_find(&watch->store->kernel_names, from->name, &index)) {
            struct watch_kernel *const kernel = &watch->kernels.items[index];
            if (weights[from->action] > weights[kernel->instrumented]) {
                kernel->instrumented = from->action;
                kernel->why_not_instrumented = from->message[0] != '\0' ? from->message : NULL;
            }
        }
    }
}

static const char *why_unknown(const struct watch_kernel *kernel, const struct facts *facts)
{
    if (facts->differ) {
        return "images with a kernel of this name differ";
    }
    if (kernel->waits != PDL_UNKNOWN && kernel->triggers != PDL_UNKNOWN) {
        return NULL;
    }
    return facts->loaded || facts->shown ? "its code calls what cannot be followed"
                                         : "its code was not recorded";
}

static enum watch_race race_of(const struct watch_kernel *kernel, const struct facts *facts)
{
    const int32_t first_that_overlaps = 90;
    if (kernel->granted == 0 && !facts->overlapped) {
        return WATCH_RACE_NONE;
    }
    if (kernel->ptx_version >= 0 && kernel->ptx_version < first_that_overlaps) {
        return WATCH_RACE_OLD_CODE;
    }
    if (kernel->waits == PDL_NO) {
        return WATCH_RACE_NO_WAIT;
    }
    if (kernel->waits == PDL_YES && facts->warned && !facts->differ) {
        return facts->skips ? WATCH_RACE_SOME_PATHS : WATCH_RACE_EARLY;
    }
    return kernel->waits == PDL_YES && kernel->shown_to_wait == PDL_YES ? WATCH_RACE_NONE
                                                                        : WATCH_RACE_UNKNOWN;
}

void watch_look_at_code(struct watch *watch)
{
    struct looking looking = {.watch = watch,
                              .facts = allocate(watch->kernels.count, sizeof(struct facts))};
    for (size_t i = 0; i < watch->kernels.count; i++) {
        const char *const name = watch->kernels.items[i].name;
        *ids_put(&looking.words, pdl_hash(PDL_HASH_START, name, strlen(name)), 0) = (uint32_t)i;
    }
    for (size_t i = 0; i < watch->launches.count; i++) {
        const struct watch_launch *const launch = &watch->launches.items[i];
        /* Without times of the device nothing tells whether what was captured ran. */
        const bool counts = (launch->flags & PDL_WATCH_CAPTURED) == 0 ||
                            !watch->processes.items[launch->process].has_times;
        if ((launch->flags & PDL_WATCH_OVERLAP) != 0 && counts && launch->result == 0 &&
            launch->run == WATCH_NONE) {
            looking.facts[launch->kernel].overlapped = true;
        }
    }
    looking.granted = allocate(watch->kernels.count, sizeof(*looking.granted));
    for (size_t i = 0; i < watch->kernels.count; i++) {
        if (watch->kernels.items[i].granted > 0 || looking.facts[i].overlapped) {
            looking.granted[looking.granted_count++] = watch->kernels.items[i].name;
        }
    }
    for (int form = PDL_WATCH_CUBIN; form <= PDL_WATCH_PTX; form++) {
        for (size_t i = 0; i < watch->store->images.count; i++) {
            const struct store_image *const image = &watch->store->images.items[i];
            if (image->form == (uint32_t)form && holds_kernel(&looking, image)) {
                read_image(&looking, image);
            }
        }
    }
    for (size_t i = 0; i < watch->store->images.count; i++) {
        const struct store_image *const image = &watch->store->images.items[i];
        if (image->form == PDL_WATCH_CUBIN && needs_proof(&looking, image)) {
            prove_loaded(&looking, image);
        }
    }
    read_proofs(&looking);
    read_instrumented(watch);
    for (size_t i = 0; i < watch->kernels.count; i++) {
        struct watch_kernel *const kernel = &watch->kernels.items[i];
        kernel->why_unknown = why_unknown(kernel, &looking.facts[i]);
        kernel->no_code =
            !looking.facts[i].loaded && !looking.facts[i].shown && kernel->shown_to_wait != PDL_YES;
        kernel->race = race_of(kernel, &looking.facts[i]);
    }
    ids_free(&looking.words);
    free(looking.granted);
    free(looking.facts);
}
