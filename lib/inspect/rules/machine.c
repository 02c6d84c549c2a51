/* SPDX-License-Identifier: MIT */
#include "inspect/rules/machine.h"

#include <stdlib.h>
#include <string.h>

#define UNKNOWN UINT64_MAX

/* Accesses with coherence that are above the wait, of one kernel in one cubin: there should be none. */
#define STRAYS_MAX 16

/* ---- what was read ------------------------------------------------------------------------------ */

static int noted_by_kernel(const void *key, const void *item)
{
    const uint32_t kernel = *(const uint32_t *)key;
    const uint32_t other = ((const struct pdl_noted *)item)->kernel;
    return (kernel > other) - (kernel < other);
}

static struct pdl_noted *noted_of(const pdl_inspection *inspection, uint32_t kernel)
{
    return inspection->noted_count == 0
               ? NULL
               : bsearch(&kernel, inspection->noted, inspection->noted_count,
                         sizeof(*inspection->noted), noted_by_kernel);
}

static const pdl_inspect_image *image_of(const pdl_inspection *inspection, uint32_t kernel)
{
    return &inspection->images[inspection->kernels[kernel]->image];
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

bool pdl_machine_same_place(const pdl_inspect_place *const *a, uint32_t a_count,
                            const pdl_inspect_place *const *b, uint32_t b_count)
{
    const uint32_t count = a_count < b_count ? a_count : b_count;
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && (a[i]->file == NULL || b[i]->file == NULL)) {
            break; /* the middle of a long chain is left out */
        }
        if (a[i]->line != b[i]->line || a[i]->file == NULL || b[i]->file == NULL ||
            (a[i]->file != b[i]->file &&
             strcmp(last_part(a[i]->file), last_part(b[i]->file)) != 0)) {
            return false;
        }
    }
    return count > 0;
}

/* ---- comparing ---------------------------------------------------------------------------------- */

/* A kernel in machine code and in PTX. */
struct pair {
    pdl_inspection *inspection;
    const struct pdl_machine *machine;
    struct pdl_noted *noted;
    const char *target; /* "sm_90a" */
    bool exact;         /* the PTX is for the same target */
    bool strange;       /* an access was found nowhere in the PTX */
    uint64_t *moved;    /* by finding of the PTX kernel: where it is above the wait, + 1 */
    uint32_t strays;    /* coherent accesses that are above the wait */
};

static uint32_t line_of(const pdl_inspect_place *const *places, uint32_t count)
{
    return count > 0 ? places[0]->line : 0;
}

static int by_line(const void *left, const void *right)
{
    const struct pdl_noted_access *a = left;
    const struct pdl_noted_access *b = right;
    const uint32_t x = line_of(a->places, a->place_count);
    const uint32_t y = line_of(b->places, b->place_count);
    return (x > y) - (x < y);
}

/* The first of the noted accesses of a line of the source, or of a later one. */
static uint32_t first_noted(const struct pdl_noted *noted, uint32_t line)
{
    uint32_t low = 0;
    uint32_t high = noted->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const struct pdl_noted_access *access = &noted->accesses[middle];
        if (line_of(access->places, access->place_count) < line) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The findings of the PTX itself: those that comparisons add stand behind those of all kernels. */
static pdl_lint_finding *findings_of(const struct pair *pair, uint32_t *count)
{
    const pdl_inspection *inspection = pair->inspection;
    const uint32_t first = inspection->kernels[pair->noted->kernel]->first_finding;
    const uint32_t next = pair->noted->kernel + 1;
    const uint32_t end = next < inspection->kernel_count ? inspection->kernels[next]->first_finding
                                                         : inspection->compared_findings;
    *count = end - first;
    return &inspection->findings[first];
}

/* Whether a step more may be taken: accesses that all have one line would take time out of proportion. */
static bool spend(const struct pair *pair)
{
    return pair->inspection->compare_left > 0 && pair->inspection->compare_left-- > 0;
}

/* What the PTX has at a place. */
struct seen {
    bool early;        /* an access that comes before the wait there, too, or that is no matter */
    bool non_coherent; /* a load without coherence behind the wait */
    bool coherent;     /* another access behind it */
};

static struct seen look_at(struct pair *pair, const struct pdl_machine_access *access)
{
    struct seen seen = {.early = false};
    const struct pdl_noted *noted = pair->noted;
    const uint32_t line = line_of(access->places, access->place_count);
    for (uint32_t i = first_noted(noted, line); i < noted->count; i++) {
        const struct pdl_noted_access *other = &noted->accesses[i];
        if (line_of(other->places, other->place_count) != line) {
            break;
        }
        if (!spend(pair)) {
            pair->strange = true;
            seen.early = true;
            break;
        }
        if (!pdl_machine_same_place(access->places, access->place_count, other->places,
                                    other->place_count)) {
            continue;
        }
        if (other->table) {
            seen.early = seen.early || !pair->exact || other->line == access->ptx_line;
        } else {
            seen.early = seen.early || other->early;
            seen.non_coherent = seen.non_coherent || other->non_coherent;
            seen.coherent = seen.coherent || !other->non_coherent;
        }
    }
    return seen;
}

static bool is_about_loads(const pdl_lint_finding *finding)
{
    return finding->rule == PDL_LINT_NC_AFTER_WAIT;
}

/* Marks the PTX's findings about loads without coherence at a place; at all places if `access` has none. */
static void mark(struct pair *pair, const struct pdl_machine_access *access, uint64_t moved)
{
    uint32_t count;
    const pdl_lint_finding *findings = findings_of(pair, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (!spend(pair)) {
            pair->strange = true;
            break;
        }
        if (is_about_loads(&findings[i]) && pair->moved[i] == 0 &&
            (access->place_count == 0 || findings[i].place_count == 0 ||
             pdl_machine_same_place(access->places, access->place_count, findings[i].places,
                                    findings[i].place_count))) {
            pair->moved[i] = moved;
        }
    }
}

/* With line information: each access at its own place. */
static void compare_places(struct pair *pair, const struct pdl_machine_access **strays)
{
    const struct pdl_machine *machine = pair->machine;
    uint32_t count = 0;
    for (uint32_t i = 0; i < machine->count; i++) {
        const struct pdl_machine_access *access = &machine->accesses[i];
        const struct seen seen = look_at(pair, access);
        bool known = false;
        if (seen.early) {
            if (seen.non_coherent && access->non_coherent) {
                mark(pair, access, UNKNOWN); /* which of them it is cannot be told */
            }
            continue;
        }
        if (seen.non_coherent && access->non_coherent) {
            mark(pair, access, access->at + 1);
            continue;
        }
        if (access->generic || !seen.coherent || access->non_coherent) {
            pair->strange = pair->strange || (access->non_coherent && !seen.non_coherent);
            continue;
        }
        for (uint32_t s = 0; s < count && !known; s++) {
            known = pdl_machine_same_place(access->places, access->place_count, strays[s]->places,
                                           strays[s]->place_count);
        }
        if (!known && count < STRAYS_MAX) {
            strays[count++] = access;
        }
    }
    pair->strays = count;
}

/* Without: the PTX has no load without coherence before the wait, and the machine code has. */
static void compare_kinds(struct pair *pair)
{
    const struct pdl_noted *noted = pair->noted;
    const struct pdl_machine_access *first = NULL;
    pair->strange = noted->other_early || noted->tables;
    for (uint32_t i = 0; i < noted->count; i++) {
        pair->strange =
            pair->strange || (noted->accesses[i].early && noted->accesses[i].non_coherent);
    }
    for (uint32_t i = 0; i < pair->machine->count && first == NULL; i++) {
        first = pair->machine->accesses[i].non_coherent ? &pair->machine->accesses[i] : NULL;
    }
    if (first != NULL && !pair->strange) {
        const struct pdl_machine_access anywhere = {.at = first->at};
        mark(pair, &anywhere, first->at + 1);
    }
    pair->strange = pair->strange && first != NULL;
}

/* Adds a clause to what a finding says of machine code. */
static void add_clause(pdl_inspection *inspection, pdl_lint_finding *finding, const char *clause)
{
    if (finding->machine != NULL) {
        /* One cubin more is of no matter where there are many. */
        clause = strlen(finding->machine) > 400
                     ? finding->machine
                     : pdl_arena_format(&inspection->arena, "%s; %s", finding->machine, clause);
    }
    finding->machine = clause;
}

static void tell(const struct pair *pair, bool lines)
{
    uint32_t count;
    uint32_t about = 0;
    pdl_lint_finding *findings = findings_of(pair, &count);
    struct pdl_arena *arena = &pair->inspection->arena;
    const bool sure = pair->exact && !pair->strange && pair->machine->lost == NULL;
    for (uint32_t i = 0; i < count; i++) {
        about += is_about_loads(&findings[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!is_about_loads(&findings[i]) || pair->moved[i] == UNKNOWN) {
            continue;
        }
        if (pair->moved[i] != 0) {
            const bool one = lines || about == 1;
            add_clause(pair->inspection, &findings[i],
                       pdl_arena_format(arena,
                                        "ptxas moved %s above the wait: at 0x%llx of "
                                        "the code for %s",
                                        one ? "it" : "it or another such load",
                                        (unsigned long long)(pair->moved[i] - 1), pair->target));
        } else if (sure) {
            add_clause(
                pair->inspection, &findings[i],
                pdl_arena_format(arena, "the code for %s has it after the wait", pair->target));
        }
    }
}

static void add_stray(const struct pair *pair, const struct pdl_machine_access *access)
{
    pdl_inspection *inspection = pair->inspection;
    const uint32_t kernel = pair->noted->kernel;
    const char *const clause = pdl_arena_format(
        &inspection->arena, "ptxas moved it above the wait: at 0x%llx of the code for %s",
        (unsigned long long)access->at, pair->target);
    /* The findings that other cubins of this kernel added are the last. */
    for (uint32_t i = inspection->finding_count;
         i > inspection->compared_findings && inspection->findings[i - 1].kernel == kernel; i--) {
        pdl_lint_finding *other = &inspection->findings[i - 1];
        if (is_about_loads(other) && pdl_machine_same_place(access->places, access->place_count,
                                                            other->places, other->place_count)) {
            add_clause(inspection, other, clause);
            return;
        }
    }
    const pdl_lint_finding finding = {
        .message =
            access->write
                ? "a store is after the wait in the source, but before it in the machine code"
                : "a load is after the wait in the source, but before it in the machine code",
        .advice = "make the access volatile, or load with inline PTX or PDL_LOAD()",
        .machine = clause,
        .rule = PDL_LINT_NC_AFTER_WAIT,
        .level = PDL_LINT_WARNING,
        .kernel = kernel,
        .parameter = -1,
        .parameter_offset = -1,
        .line = pair->exact && access->ptx_line > 0 ? access->ptx_line
                                                    : inspection->kernels[kernel]->line,
        .column = 1,
        .place_count = access->place_count,
        .places = access->places,
        .place = access->place_count - 1, /* the kernel's own line */
        .count = 1,
    };
    pdl_inspection_add_finding(inspection, &finding);
}

static bool have_lines(const struct pdl_machine *machine, const struct pdl_noted *noted)
{
    bool lines = false;
    for (uint32_t i = 0; i < noted->count && !lines; i++) {
        lines = noted->accesses[i].place_count > 0;
    }
    for (uint32_t i = 0; i < machine->count && lines; i++) {
        lines = machine->accesses[i].place_count > 0;
    }
    return lines;
}

static void compare(struct pair *pair)
{
    const struct pdl_machine_access *strays[STRAYS_MAX];
    const bool lines = have_lines(pair->machine, pair->noted);
    uint32_t count;
    (void)findings_of(pair, &count);
    pair->moved = pdl_take((size_t)count + 1, sizeof(*pair->moved));
    if (lines) {
        if (pair->noted->count > 0) {
            qsort(pair->noted->accesses, pair->noted->count, sizeof(*pair->noted->accesses),
                  by_line);
        }
        compare_places(pair, strays);
    } else if (pair->exact) {
        compare_kinds(pair);
    } else {
        pair->strange = true;
    }
    tell(pair, lines);
    for (uint32_t i = 0; i < pair->strays; i++) {
        add_stray(pair, strays[i]);
    }
    pdl_give_back(pair->moved);
}

/* ---- the kernels of one name -------------------------------------------------------------------- */

/* The PTX that machine code is compared with: for the same target, or the newest that is not newer. */
static uint32_t fitting_ptx(const pdl_inspection *inspection, const struct pdl_named *same,
                            uint32_t count, uint32_t kernel, bool *exact)
{
    const pdl_inspect_image *code = image_of(inspection, kernel);
    uint32_t best = UINT32_MAX;
    int32_t target = 89;
    *exact = false;
    for (uint32_t i = 0; i < count && !*exact; i++) {
        const pdl_inspect_image *image = image_of(inspection, same[i].kernel);
        if (image->kind != PDL_INSPECT_PTX || image->target > code->target ||
            image->target <= target) {
            continue;
        }
        *exact = image->target == code->target;
        target = *exact ? target : image->target;
        best = same[i].kernel;
    }
    return best;
}

const char *pdl_machine_target(pdl_inspection *inspection, const pdl_inspect_image *image)
{
    const char suffix[2] = {image->target_suffix, '\0'};
    return pdl_arena_format(&inspection->arena, "sm_%d%s", (int)image->target, suffix);
}

static void compare_code(pdl_inspection *inspection, const struct pdl_named *same, uint32_t count,
                         uint32_t kernel)
{
    struct pair pair = {.inspection = inspection, .machine = pdl_machine_find(inspection, kernel)};
    const uint32_t ptx = fitting_ptx(inspection, same, count, kernel, &pair.exact);
    pair.noted = ptx != UINT32_MAX ? noted_of(inspection, ptx) : NULL;
    if (pair.machine == NULL || pair.noted == NULL) {
        return;
    }
    pair.target = pdl_machine_target(inspection, image_of(inspection, kernel));
    compare(&pair);
}

/* Why a kernel was not checked that has no PTX for sm_90 or newer. */
static const char *why_unchecked(pdl_inspection *inspection, uint32_t kernel)
{
    const pdl_inspect_image *image = image_of(inspection, kernel);
    const struct pdl_machine *machine = pdl_machine_find(inspection, kernel);
    if (image->unread != NULL) {
        return image->unread;
    }
    if (image->target < 90) {
        return pdl_arena_format(&inspection->arena,
                                "its code is for sm_%d: libpdl launches that without overlap, and "
                                "waits are not in it",
                                (int)image->target);
    }
    if (machine != NULL && machine->lost != NULL) {
        return pdl_arena_format(&inspection->arena,
                                "there is no PTX of it for sm_90 or newer, and its machine code "
                                "cannot be followed beyond 0x%llx: %s",
                                (unsigned long long)machine->lost_at, machine->lost);
    }
    return "there is no PTX of it for sm_90 or newer: in machine code, only the order of accesses "
           "and the wait is read";
}

void pdl_machine_compare(pdl_inspection *inspection, const struct pdl_named *same, uint32_t count)
{
    bool checked = false;
    for (uint32_t i = 0; i < count; i++) {
        const pdl_inspect_image *image = image_of(inspection, same[i].kernel);
        checked = checked || (image->kind == PDL_INSPECT_PTX && image->target >= 90);
    }
    for (uint32_t i = 0; i < count && !checked; i++) {
        inspection->kernels[same[i].kernel]->unchecked = why_unchecked(inspection, same[i].kernel);
    }
    if (!checked) {
        pdl_machine_alone(inspection, same, count);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (image_of(inspection, same[i].kernel)->kind == PDL_INSPECT_SASS) {
            compare_code(inspection, same, count, same[i].kernel);
        }
    }
}
