/* SPDX-License-Identifier: MIT */
/* Kernels in machine code alone. Parameters are not known there, so that what comes before the wait is a note. */
#include <stdlib.h>

#include "inspect/rules/launched.h"
#include "inspect/rules/machine.h"

/* The code of one kernel that is looked at. */
struct code {
    pdl_inspection *inspection;
    uint32_t kernel;
    const pdl_inspect_image *image;
};

static void add(const struct code *code, pdl_lint_finding finding)
{
    finding.kernel = code->kernel;
    finding.parameter = -1;
    finding.parameter_offset = -1;
    pdl_inspection_add_finding(code->inspection, &finding);
}

static const char *message_of(const struct pdl_machine_access *access)
{
    if (access->generic) {
        return access->write ? "writes memory, which may be global, before the wait"
                             : "reads memory, which may be global, before the wait";
    }
    return access->write ? "writes global memory before the wait"
                         : "reads global memory before the wait";
}

static void early_access(const struct code *code, const struct pdl_machine_access *access,
                         uint32_t count)
{
    const pdl_lint_finding finding = {
        .message = message_of(access),
        .advice = "embed PTX too, which shows the parameter; wait first, unless no kernel in "
                  "flight writes that memory",
        .machine = pdl_arena_format(&code->inspection->arena, "at 0x%llx of the code for %s",
                                    (unsigned long long)access->at,
                                    pdl_machine_target(code->inspection, code->image)),
        .rule = access->write ? PDL_LINT_WRITE_BEFORE_WAIT : PDL_LINT_READ_BEFORE_WAIT,
        .level = PDL_LINT_NOTE,
        .place_count = access->place_count,
        .places = access->places,
        .place = access->place_count > 0 ? access->place_count - 1 : 0, /* the kernel's own line */
        .count = count,
    };
    add(code, finding);
}

static int by_look(const void *left, const void *right)
{
    const struct pdl_machine_access *a = left;
    const struct pdl_machine_access *b = right;
    const uint32_t a_line = a->place_count > 0 ? a->places[0]->line : 0;
    const uint32_t b_line = b->place_count > 0 ? b->places[0]->line : 0;
    if (a_line != b_line) {
        return a_line < b_line ? -1 : 1;
    }
    if (a->write != b->write || a->generic != b->generic) {
        return a->write * 2 + a->generic - (b->write * 2 + b->generic);
    }
    return pdl_machine_access_order(a, b);
}

static bool are_one(const struct pdl_machine_access *a, const struct pdl_machine_access *b)
{
    return a->write == b->write && a->generic == b->generic &&
           ((a->place_count == 0 && b->place_count == 0) ||
            pdl_machine_same_place(a->places, a->place_count, b->places, b->place_count));
}

/* What comes before the wait, each place in the source once. */
static void early_accesses(const struct code *code, const struct pdl_machine *machine)
{
    if (machine->count > 0) {
        qsort(machine->accesses, machine->count, sizeof(*machine->accesses), by_look);
    }
    for (uint32_t first = 0, end; first < machine->count; first = end) {
        end = first + 1;
        while (end < machine->count &&
               are_one(&machine->accesses[first], &machine->accesses[end])) {
            end++;
        }
        early_access(code, &machine->accesses[first], end - first);
    }
}

/* A kernel that does not wait: as in PTX. True if that is a finding. */
static bool never_waits(const struct code *code)
{
    const pdl_kernel_info *info = code->inspection->kernels[code->kernel]->info;
    const enum pdl_launched_how how = pdl_launched_find(code->inspection, info->name);
    pdl_lint_finding finding = {
        .rule = PDL_LINT_NO_WAIT,
        .level = how == PDL_HOW_SEEN_OVERLAPPED ? PDL_LINT_ERROR : PDL_LINT_WARNING,
        .count = 1,
    };
    if (info->triggers == PDL_YES) {
        finding.message = "the kernel triggers and never waits: it does not see the writes of "
                          "earlier kernels, and the next one's wait does not cover them";
        finding.advice = "execute cudaGridDependencySynchronize() on every path, or remove the "
                         "trigger and launch it without overlap";
    } else if (how >= PDL_HOW_SAID_OVERLAPPED) {
        finding.message = "the kernel is launched with overlap and never waits";
        finding.advice =
            "execute cudaGridDependencySynchronize() on every path, or launch it without overlap";
    }
    if (finding.message == NULL) {
        return false;
    }
    add(code, finding);
    return true;
}

/* The newest code first, in the order of the images where there are several. */
static int by_target(const void *left, const void *right)
{
    const struct code *a = left;
    const struct code *b = right;
    if (a->image->target != b->image->target) {
        return a->image->target > b->image->target ? -1 : 1;
    }
    return (a->kernel > b->kernel) - (a->kernel < b->kernel);
}

/* Only of the newest code: that for other architectures mostly does the same. */
void pdl_machine_alone(pdl_inspection *inspection, const struct pdl_named *same, uint32_t count)
{
    uint32_t known = 0;
    struct code *codes = pdl_take((size_t)count + 1, sizeof(*codes));
    for (uint32_t i = 0; i < count; i++) {
        const pdl_inspect_image *image =
            &inspection->images[inspection->kernels[same[i].kernel]->image];
        if (image->kind == PDL_INSPECT_SASS && image->target >= 90 && image->unread == NULL) {
            codes[known++] = (struct code){inspection, same[i].kernel, image};
        }
    }
    if (known > 0) {
        qsort(codes, known, sizeof(*codes), by_target);
    }
    bool waited = false;
    bool unwaited = pdl_launched_find(inspection, same[0].name) == PDL_HOW_PLAIN;
    for (uint32_t i = 0; i < known && !unwaited; i++) {
        const struct pdl_machine *machine = pdl_machine_find(inspection, codes[i].kernel);
        if (machine != NULL && machine->count > 0 && !waited) {
            waited = true;
            early_accesses(&codes[i], machine);
        } else if (inspection->kernels[codes[i].kernel]->info->waits == PDL_NO) {
            unwaited = never_waits(&codes[i]);
        }
    }
    pdl_give_back(codes);
}
