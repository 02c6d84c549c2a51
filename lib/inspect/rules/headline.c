/* SPDX-License-Identifier: MIT */
/* Which place of a finding is shown first: not that in a helper deep inside, but the line in the function
 * that has both the access and the wait. */
#include <fnmatch.h>
#include <string.h>

#include "inspect/ptx/places.h"
#include "inspect/rules/report.h"

/* Whose code a file is. */
enum { USERS, LIBRARY, TOOLKIT };

/* Whether a folder of this name, or of these names, is in a path. */
static bool has_folder(const char *path, const char *folder)
{
    const size_t length = strlen(folder);
    for (const char *at = strstr(path, folder); at != NULL; at = strstr(at + 1, folder)) {
        if ((at == path || at[-1] == '/') && at[length] == '/') {
            return true;
        }
    }
    return false;
}

/* Whether a folder whose name begins so has a folder `include` in it. */
static bool has_include_of(const char *path, const char *folder)
{
    for (const char *at = strstr(path, folder); at != NULL; at = strstr(at + 1, folder)) {
        const char *end = strchr(at, '/');
        if ((at == path || at[-1] == '/') && end != NULL && strncmp(end, "/include/", 9) == 0) {
            return true;
        }
    }
    return false;
}

/* CUDA's own headers, wherever they were installed. Templates that come with it are a library. */
static bool is_toolkits(const char *path)
{
    static const char *const folders[] = {"cuda/std",           "cuda/__ptx", "libcudacxx",
                                          "cooperative_groups", "crt",        "usr/include",
                                          "usr/lib/gcc"};
    static const char *const files[] = {"cuda_device_runtime_api.h",
                                        "cuda_fp16.h",
                                        "cuda_fp16.hpp",
                                        "cuda_bf16.h",
                                        "cuda_bf16.hpp",
                                        "cuda_fp8.h",
                                        "cuda_fp8.hpp",
                                        "cuda_fp6.hpp",
                                        "cuda_fp4.hpp",
                                        "cuda_pipeline.h",
                                        "cuda_awbarrier.h",
                                        "cooperative_groups.h",
                                        "device_functions.h",
                                        "vector_functions.hpp"};
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (has_folder(path, folders[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (strcmp(name, files[i]) == 0) {
            return true;
        }
    }
    return (strncmp(name, "sm_", 3) == 0 &&
            (strstr(name, "_intrinsics.h") != NULL || strstr(name, "_functions.h") != NULL)) ||
           strstr(name, "cuda_pipeline_") == name || strstr(name, "cuda_awbarrier_") == name ||
           has_include_of(path, "cuda") ||
           (strstr(path, "/targets/") != NULL && has_folder(path, "include")) ||
           (has_folder(path, "nvidia") && has_folder(path, "include"));
}

static int owner_of(const pdl_inspect_options *options, const char *path)
{
    static const char *const libraries[] = {"cub",          "thrust",      "include/cutlass",
                                            "include/cute", "third_party", "thirdparty",
                                            "3rdparty",     "_deps"};
    if (path == NULL) {
        return TOOLKIT; /* there is nothing to show */
    }
    for (uint64_t i = 0; i < options->third_party_count; i++) {
        if (fnmatch(options->third_party[i], path, 0) == 0) {
            return LIBRARY;
        }
    }
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        if (has_folder(path, libraries[i])) {
            return LIBRARY;
        }
    }
    return is_toolkits(path) ? TOOLKIT : USERS;
}

/* ---- where the kernel waits ---------------------------------------------------------------------- */

/* A hash of the places of a chain from the outermost one to this. */
static uint64_t step(uint64_t hash, const pdl_inspect_place *place)
{
    hash = (hash ^ (uint64_t)(uintptr_t)place->file ^ (uint64_t)place->line << 44) *
           0x9e3779b97f4a7c15u;
    hash ^= hash >> 31;
    return hash != 0 ? hash : 1; /* 0 is an empty slot */
}

static uint64_t *slot_of(const struct pdl_ways *ways, uint64_t hash)
{
    uint64_t at = hash;
    while (ways->slots[at & (ways->size - 1)] != 0 && ways->slots[at & (ways->size - 1)] != hash) {
        at++;
    }
    return &ways->slots[at & (ways->size - 1)];
}

static void note(struct pdl_ways *ways, uint64_t hash)
{
    if (ways->count >= ways->size / 2) {
        const struct pdl_ways old = *ways;
        ways->size = old.size == 0 ? 64 : old.size * 2;
        ways->slots = pdl_take(ways->size, sizeof(*ways->slots));
        for (uint32_t i = 0; i < old.size; i++) {
            if (old.slots[i] != 0) {
                *slot_of(ways, old.slots[i]) = old.slots[i];
            }
        }
        pdl_give_back(old.slots);
    }
    uint64_t *slot = slot_of(ways, hash);
    ways->count += *slot == 0;
    *slot = hash;
}

/* Notes the ways to all waits of the kernel: their chains from the outside in. */
static void note_waits(struct pdl_report *report)
{
    const struct pdl_body *body = report->flow->body;
    uint32_t before = PDL_NONE;
    report->ways.noted = true;
    for (uint32_t i = 0; i < body->instruction_count; i++) {
        const struct pdl_instruction *instruction = &body->instructions[i];
        bool harmless;
        const struct pdl_summary *summary =
            instruction->opcode.op == PDL_OP_CALL
                ? pdl_flow_callee(report->module, instruction, &harmless)
                : NULL;
        if ((instruction->opcode.op != PDL_OP_WAIT && (summary == NULL || !summary->waits)) ||
            instruction->place == before) {
            continue;
        }
        uint32_t count;
        const pdl_inspect_place *const *chain =
            pdl_places_chain(report->module, body, instruction->place, &count);
        uint64_t hash = 0;
        for (uint32_t at = count; at > 0; at--) {
            hash = step(hash, chain[at - 1]);
            note(&report->ways, hash);
        }
        before = instruction->place;
    }
}

void pdl_report_headline(struct pdl_report *report, pdl_lint_finding *finding)
{
    const pdl_inspect_options *options = report->module->inspection->options;
    finding->place = 0;
    if (finding->place_count < 2) {
        return;
    }
    if (!report->ways.noted) {
        note_waits(report);
    }
    /* The place at which the way to it leaves that to every wait; the outermost one without a wait. */
    uint32_t fork = finding->place_count - 1;
    uint64_t hash = 0;
    for (uint32_t at = finding->place_count; at > 0; at--) {
        hash = step(hash, finding->places[at - 1]);
        fork = at - 1;
        if (report->ways.size == 0 || *slot_of(&report->ways, hash) == 0) {
            break;
        }
    }
    /* The nearest place around it, or else the nearest one inside, that is the user's, or at least not
     * CUDA's own. */
    for (int worst = USERS; worst < TOOLKIT; worst++) {
        for (uint32_t i = fork; i < finding->place_count; i++) {
            if (owner_of(options, finding->places[i]->file) <= worst) {
                finding->place = i;
                return;
            }
        }
        for (uint32_t i = fork; i > 0; i--) {
            if (owner_of(options, finding->places[i - 1]->file) <= worst) {
                finding->place = i - 1;
                return;
            }
        }
    }
    finding->place = fork;
}
