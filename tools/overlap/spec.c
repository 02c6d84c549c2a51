/* SPDX-License-Identifier: MIT */
/* Kernels of `pdltool overlap`: from the command line, and from code. */
#include "overlap/spec.h"

#include <stdlib.h>
#include <string.h>

#include "common/demangle.h"
#include "common/memory.h"
#include "common/print.h"
#include "common/suggest.h"

/* ---- the command line's text ---------------------------------------------------------------- */

static void print_unknown_key(const char *role, const char *key)
{
    static const char *const keys[] = {"blocks", "grid",    "threads", "block",   "registers",
                                       "shared", "dynamic", "cluster", "carveout"};
    const char *const close = suggest(key, keys, sizeof(keys) / sizeof(keys[0]));
    if (close != NULL) {
        print_error("--%s: unknown key '%s'; did you mean '%s'?", role, key, close);
    } else {
        print_misuse("--%s: unknown key '%s'", role, key);
    }
}

static bool read_part(char *part, struct overlap_spec *spec)
{
    struct kernel_limits limits;
    char *const value = strchr(part, '=');
    if (value == NULL) {
        free(spec->kernel);
        spec->kernel = copy_text(part);
        return true;
    }
    const enum kernel_word taken = kernel_take(&spec->resources, part, &limits);
    *value = '\0';
    if (taken == KERNEL_WRONG) {
        print_error("--%s: invalid value '%s' of %s", spec->role, value + 1, part);
    } else if (taken == KERNEL_OTHER) {
        print_unknown_key(spec->role, part);
    }
    return taken == KERNEL_TAKEN;
}

/* The comma that ends a part; not one of those in a C++ name, which are in brackets. */
static char *end_of_part(char *part)
{
    int depth = 0;
    for (char *at = part; *at != '\0'; at++) {
        depth += *at == '<' || *at == '(';
        depth -= *at == '>' || *at == ')';
        if (*at == ',' && depth <= 0) {
            return at;
        }
    }
    return NULL;
}

bool overlap_spec_read(const char *text, struct overlap_spec *spec)
{
    const char *role = spec->role;
    *spec = (struct overlap_spec){
        .role = role,
        .resources = {.registers = -1, .shared = -1, .carveout = -1},
        .side = {.code = -1, .driver_per_sm = -1},
    };
    char *copy = copy_text(text);
    char *part = copy;
    bool good = true;
    while (good && part != NULL) {
        char *next = end_of_part(part);
        if (next != NULL) {
            *next++ = '\0';
        }
        good = read_part(part, spec);
        part = next;
    }
    free(copy);
    spec->side.blocks = (uint64_t)spec->resources.grid.all;
    spec->side.block.threads = (uint32_t)spec->resources.block.all;
    spec->side.cluster = (uint32_t)spec->resources.cluster.all;
    spec->side.block.carveout = (int32_t)spec->resources.carveout;
    return good;
}

void overlap_spec_free(struct overlap_spec *spec)
{
    free(spec->refused);
    free(spec->kernel);
    free(spec->name);
    free(spec->origin);
}

/* ---- code ----------------------------------------------------------------------------------- */

/* How good an image is for a device; 0: it does not run there. Machine code, and the newest, is
 * best. */
static int fitness(const pdl_inspect_image *image, int32_t capability)
{
    const bool same_major = image->target / 10 == capability / 10;
    if (image->unread != NULL) {
        return 0;
    }
    if (image->kind == PDL_INSPECT_SASS) {
        const bool exact = image->target == capability;
        return exact || (same_major && image->target < capability && image->target_suffix == '\0')
                   ? 1000 + image->target
                   : 0;
    }
    const bool runs =
        image->target_suffix == 'a' ? image->target == capability : image->target <= capability;
    return image->kind == PDL_INSPECT_PTX && runs ? image->target : 0;
}

struct found {
    const pdl_inspect_kernel *kernel;
    const pdl_inspect_image *image;
    int fitness;
    bool named; /* there is one of that name, if for other devices */
};

/* False where two kernels have that name. */
static bool look_in(const pdl_inspection *inspection, int32_t capability,
                    const struct overlap_spec *spec, struct found *found)
{
    for (size_t i = 0; i < pdl_inspection_kernel_count(inspection); i++) {
        const pdl_inspect_kernel *kernel = pdl_inspection_kernel(inspection, i);
        const pdl_inspect_image *image = pdl_inspection_image(inspection, kernel->image);
        const char *const wanted = spec->kernel;
        const int fits = fitness(image, capability);
        if (!name_matches(kernel->info->name, &wanted, 1)) {
            continue;
        }
        if (found->kernel != NULL && fits > 0 &&
            strcmp(found->kernel->info->name, kernel->info->name) != 0) {
            print_error("--%s: '%s' is both %s and %s; use the mangled name", spec->role,
                        spec->kernel, found->kernel->info->name, kernel->info->name);
            return false;
        }
        found->named = true;
        if (fits > found->fitness) {
            found->kernel = kernel;
            found->image = image;
            found->fitness = fits;
        }
    }
    return true;
}

static void take(const struct found *found, struct overlap_spec *spec)
{
    const pdl_kernel_info *kernel = found->kernel->info;
    if (spec->resources.registers < 0) {
        spec->resources.registers = kernel->registers_per_thread;
    }
    if (spec->resources.shared < 0) {
        spec->resources.shared = kernel->static_shared_memory;
    }
    spec->side.code = found->image->target;
    spec->side.waits = kernel->waits;
    spec->side.triggers = kernel->triggers;
    spec->code = kernel;
    if (spec->side.block.threads == 0 && kernel->required_block[0] > 0) {
        spec->side.block.threads = (uint32_t)kernel->max_threads_per_block;
    }
    char *target = target_name(found->image);
    spec->name = demangle(kernel->name);
    spec->origin = format_text(
        "%s for %s", found->image->kind == PDL_INSPECT_PTX ? "PTX" : "machine code", target);
    free(target);
}

bool overlap_spec_find(const struct inputs *inputs, int32_t compute_capability,
                       struct overlap_spec *spec)
{
    struct found found = {.fitness = 0};
    if (spec->kernel == NULL) {
        print_error("--%s names no kernel of the file; it takes NAME[,KEY=VALUE...]", spec->role);
        return false;
    }
    for (size_t i = 0; i < inputs->count; i++) {
        const pdl_inspection *inspection = inputs->items[i].inspection;
        if (inspection != NULL && !look_in(inspection, compute_capability, spec, &found)) {
            return false;
        }
    }
    if (found.kernel == NULL) {
        if (found.named) {
            print_error("--%s: '%s' has no code for compute capability %d.%d", spec->role,
                        spec->kernel, compute_capability / 10, compute_capability % 10);
        } else {
            print_error("--%s: no kernel '%s'; 'pdltool inspect' lists the kernels", spec->role,
                        spec->kernel);
        }
        return false;
    }
    take(&found, spec);
    return true;
}

/* ---- both ----------------------------------------------------------------------------------- */

static bool has_all(const struct overlap_spec *spec)
{
    const struct {
        const char *key;
        bool known;
    } needed[] = {{"blocks", spec->side.blocks > 0},
                  {"threads", spec->side.block.threads > 0},
                  {"registers", spec->origin != NULL || spec->resources.registers >= 0}};
    char *missing = NULL;
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        if (!needed[i].known) {
            char *const longer = missing == NULL ? format_text("%s=N", needed[i].key)
                                                 : format_text("%s, %s=N", missing, needed[i].key);
            free(missing);
            missing = longer;
        }
    }
    if (missing != NULL) {
        print_error("--%s lacks %s", spec->role, missing);
        free(missing);
        return false;
    }
    return true;
}

static void refuse(struct overlap_spec *spec, pdl_condition condition, char *why)
{
    free(spec->refused);
    spec->refused = why;
    spec->side.refused = why;
    spec->side.refused_by = condition;
}

/* Whether a launch has the extent that its code requires. A single number is a product. */
static bool is_required(const struct kernel_extent *given, uint32_t product,
                        const uint32_t required[3])
{
    bool same = (uint64_t)required[0] * required[1] * required[2] == product;
    for (int i = 0; i < 3 && given->axes > 1; i++) {
        same = same && given->each[i] == (int64_t)required[i];
    }
    return same;
}

static void check_threads(struct overlap_spec *spec)
{
    const pdl_kernel_info *const code = spec->code;
    const uint32_t threads = spec->side.block.threads;
    const uint32_t *const own = code->required_block;
    if (own[0] > 0 && !is_required(&spec->resources.block, threads, own)) {
        refuse(spec, PDL_CONDITION_THREADS,
               format_text("a block has %u threads, and its code requires %u x %u x %u "
                           "(.reqntid)",
                           threads, own[0], own[1], own[2]));
    } else if (code->max_threads_per_block >= 0 &&
               threads > (uint32_t)code->max_threads_per_block) {
        refuse(spec, PDL_CONDITION_THREADS,
               format_text("a block has %u threads, and its code allows %d (__launch_bounds__)",
                           threads, (int)code->max_threads_per_block));
    }
}

/* The cluster of the launch, or the one that is compiled in. */
static void check_cluster(struct overlap_spec *spec)
{
    struct pdl_overlap_side *const side = &spec->side;
    const pdl_kernel_info *const code = spec->code;
    const uint32_t *const own = code->required_cluster;
    if (own[0] > 0 && side->cluster > 0 &&
        !is_required(&spec->resources.cluster, side->cluster, own)) {
        refuse(spec, PDL_CONDITION_CLUSTER,
               format_text("cluster is %u, and its code is compiled for clusters of %u x %u x %u",
                           side->cluster, own[0], own[1], own[2]));
    } else if (own[0] == 0 && side->cluster == 0 && code->cluster_must_be_set != 0) {
        refuse(spec, PDL_CONDITION_CLUSTER,
               copy_text("its code is compiled for launches that set a cluster "
                         "(__cluster_dims__() without a size): add cluster=N"));
    } else if (code->max_cluster_blocks > 0 && side->cluster > code->max_cluster_blocks) {
        refuse(spec, PDL_CONDITION_CLUSTER,
               format_text("cluster is %u, and its code allows %u (.maxclusterrank)", side->cluster,
                           code->max_cluster_blocks));
    } else if (own[0] > 0) {
        side->cluster = own[0] * own[1] * own[2];
        spec->resources.cluster = (struct kernel_extent){
            {own[0], own[1], own[2]}, own[1] * own[2] > 1 ? 3 : 1, side->cluster};
    }
}

/* Clusters have to divide the grid, unless it counts them. */
static void check_grid(struct overlap_spec *spec)
{
    struct pdl_overlap_side *const side = &spec->side;
    const uint32_t size = side->cluster > 0 ? side->cluster : 1;
    if (spec->code != NULL && spec->code->blocks_are_clusters == PDL_YES) {
        side->blocks *= size;
    } else if (!kernel_clusters_divide(&spec->resources.grid, &spec->resources.cluster)) {
        refuse(spec, PDL_CONDITION_CLUSTER,
               format_text("clusters of %u blocks do not divide its grid of %llu", size,
                           (unsigned long long)side->blocks));
    }
}

bool overlap_spec_finish(struct overlap_spec *spec)
{
    struct pdl_overlap_side *side = &spec->side;
    const bool from_code = spec->origin != NULL;
    if (!has_all(spec)) {
        return false;
    }
    if (!from_code) { /* what is not told is taken to be as it should be */
        side->code = 90;
        side->waits = side->triggers = PDL_YES;
        spec->resources.shared = spec->resources.shared < 0 ? 0 : spec->resources.shared;
        spec->name = copy_text(spec->kernel != NULL ? spec->kernel : spec->role);
    }
    if (spec->code != NULL) {
        check_threads(spec);
        check_cluster(spec);
    }
    if (spec->refused == NULL) {
        check_grid(spec);
    }
    side->name = spec->name;
    side->block_known = spec->resources.registers >= 0 && spec->resources.shared >= 0;
    if (side->block_known) {
        side->block.registers = (uint32_t)spec->resources.registers;
        side->block.shared_memory = (uint32_t)(spec->resources.shared + spec->resources.dynamic);
    }
    return true;
}
