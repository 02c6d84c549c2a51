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

static pdl_status add(const struct code *code, pdl_lint_finding finding)
{
    finding.kernel = code->kernel;
    finding.parameter = -1;
    finding.parameter_offset = -1;
    if (!pdl_inspection_add_finding(code->inspection, &finding)) {
        return pdl_inspect_fail(PDL_ERROR_OUT_OF_MEMORY, 0, 0, "no memory for a finding");
    }
    return PDL_SUCCESS;
}

static const char *where(const struct code *code, uint64_t at)
{
    const char suffix[2] = {code->image->target_suffix, '\0'};
    return pdl_arena_format(&code->inspection->arena, "at 0x%llx of the code for sm_%d%s",
                            (unsigned long long)at, (int)code->image->target, suffix);
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

static pdl_status early_access(const struct code *code, const struct pdl_machine_access *access,
                               uint32_t count)
{
    const pdl_lint_finding finding = {
        .message = message_of(access),
        .advice = "embed PTX too, which shows the parameter; wait first, unless no kernel in "
                  "flight writes that memory",
        .machine = where(code, access->at),
        .rule = access->write ? PDL_LINT_WRITE_BEFORE_WAIT : PDL_LINT_READ_BEFORE_WAIT,
        .level = PDL_LINT_NOTE,
        .place_count = access->place_count,
        .places = access->places,
        .place = access->place_count > 0 ? access->place_count - 1 : 0, /* the kernel's own line */
        .count = count,
    };
    return finding.machine != NULL
               ? add(code, finding)
               : pdl_inspect_fail(PDL_ERROR_OUT_OF_MEMORY, 0, 0, "no memory for a finding");
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
    return a->section != b->section ? (a->section > b->section) - (a->section < b->section)
                                    : (a->at > b->at) - (a->at < b->at);
}

static bool are_one(const struct pdl_machine_access *a, const struct pdl_machine_access *b)
{
    return a->write == b->write && a->generic == b->generic &&
           ((a->place_count == 0 && b->place_count == 0) ||
            pdl_machine_same_place(a->places, a->place_count, b->places, b->place_count));
}

/* What comes before the wait, each place in the source once. */
static pdl_status early_accesses(const struct code *code, const struct pdl_machine *machine)
{
    pdl_status status = PDL_SUCCESS;
    if (machine->count > 0) {
        qsort(machine->accesses, machine->count, sizeof(*machine->accesses), by_look);
    }
    for (uint32_t first = 0, end; first < machine->count && status == PDL_SUCCESS; first = end) {
        end = first + 1;
        while (end < machine->count &&
               are_one(&machine->accesses[first], &machine->accesses[end])) {
            end++;
        }
        status = early_access(code, &machine->accesses[first], end - first);
    }
    return status;
}

/* A kernel that does not wait: as in PTX. */
static pdl_status never_waits(const struct code *code, bool *found)
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
    *found = finding.message != NULL;
    return *found ? add(code, finding) : PDL_SUCCESS;
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
pdl_status pdl_machine_alone(pdl_inspection *inspection, const struct pdl_named *same,
                             uint32_t count)
{
    pdl_status status = PDL_SUCCESS;
    uint32_t known = 0;
    struct code *codes = malloc(((size_t)count + 1) * sizeof(*codes));
    if (codes == NULL) {
        return pdl_inspect_fail(PDL_ERROR_OUT_OF_MEMORY, 0, 0, "no memory for a finding");
    }
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
    for (uint32_t i = 0; i < known && status == PDL_SUCCESS && !unwaited; i++) {
        const struct pdl_machine *machine = pdl_machine_find(inspection, codes[i].kernel);
        if (machine != NULL && machine->count > 0 && !waited) {
            waited = true;
            status = early_accesses(&codes[i], machine);
        } else if (inspection->kernels[codes[i].kernel]->info->waits == PDL_NO) {
            status = never_waits(&codes[i], &unwaited);
        }
    }
    free(codes);
    return status;
}
