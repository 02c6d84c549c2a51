/* SPDX-License-Identifier: MIT */
/* Kernels of `pdltool overlap`: from the command line, and from code. */
#include "overlap/spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/demangle.h"
#include "common/memory.h"
#include "common/print.h"
#include "common/suggest.h"
#include "os/size_text.h"

/* ---- values --------------------------------------------------------------------------------- */

static bool parse_number(const char *text, int64_t most, int64_t *number)
{
    char *end = NULL;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value > most) {
        return false;
    }
    *number = value;
    return true;
}

static bool parse_bytes(const char *text, int64_t *bytes)
{
    uint64_t size = 0;
    const bool good = pdl_size_parse(text, 1 << 20, &size);
    *bytes = good ? (int64_t)size : *bytes;
    return good;
}

/* An extent: 132, 16x8, 16x8x2; and its product. */
static bool parse_extent(const char *text, int64_t most, struct overlap_extent *extent,
                         int64_t *product)
{
    struct overlap_extent read = {.each = {1, 1, 1}};
    char *copy = copy_text(text);
    char *rest = copy;
    int64_t made = 1;
    bool good = true;
    while (good && rest != NULL) {
        int64_t number = 0;
        char *next = strchr(rest, 'x');
        if (next != NULL) {
            *next++ = '\0';
        }
        good = read.axes < 3 && parse_number(rest, most, &number) && number > 0;
        good = good && made <= most / number;
        if (good) {
            made *= number;
            read.each[read.axes++] = number;
        }
        rest = next;
    }
    free(copy);
    if (good) {
        *product = made;
        *extent = read;
    }
    return good;
}

static bool parse_known(const char *text, uint32_t *known)
{
    for (uint32_t value = PDL_UNKNOWN; value <= PDL_YES; value++) {
        if (strcmp(text, known_name(value)) == 0) {
            *known = value;
            return true;
        }
    }
    return false;
}

static bool parse_yes_or_no(const char *text, bool *value)
{
    uint32_t known = PDL_UNKNOWN;
    if (!parse_known(text, &known) || known == PDL_UNKNOWN) {
        return false;
    }
    *value = known == PDL_YES;
    return true;
}

/* A compute capability: 90 or 9.0. */
static bool parse_code(const char *text, int32_t *code)
{
    int64_t major = 0;
    int64_t minor = 0;
    char *copy = copy_text(text);
    char *dot = strchr(copy, '.');
    bool good;
    if (dot != NULL) {
        *dot = '\0';
        good = parse_number(copy, 99, &major) && parse_number(dot + 1, 9, &minor);
        *code = good ? (int32_t)(10 * major + minor) : *code;
    } else {
        good = parse_number(copy, 999, &major);
        *code = good ? (int32_t)major : *code;
    }
    free(copy);
    return good;
}

/* ---- the command line's text ---------------------------------------------------------------- */

static bool set_count(const char *text, int64_t most, struct overlap_extent *extent,
                      uint32_t *count)
{
    int64_t number = 0;
    const bool good = parse_extent(text, most, extent, &number);
    *count = good ? (uint32_t)number : *count;
    return good;
}

static bool set_carveout(const char *text, int32_t *carveout)
{
    int64_t percent = 0;
    const bool good = parse_number(text, 100, &percent);
    *carveout = good ? (int32_t)percent : *carveout;
    return good;
}

static bool set_barriers(const char *text, struct overlap_spec *spec)
{
    int64_t number = 0;
    if (!parse_number(text, 16, &number)) {
        return false;
    }
    spec->side.block.barriers = (uint32_t)number;
    spec->side.barriers_known = true;
    return true;
}

static bool set_blocks(const char *text, struct overlap_spec *spec)
{
    int64_t blocks = 0;
    const bool good = parse_extent(text, INT64_C(1) << 62, &spec->grid, &blocks);
    spec->side.blocks = good ? (uint64_t)blocks : spec->side.blocks;
    return good;
}

/* False where the value is none; *known_key is false where there is no such key. */
static bool set_value(struct overlap_spec *spec, const char *key, const char *value,
                      bool *known_key)
{
    *known_key = true;
    if (strcmp(key, "blocks") == 0 || strcmp(key, "grid") == 0) {
        return set_blocks(value, spec);
    }
    if (strcmp(key, "threads") == 0 || strcmp(key, "block") == 0) {
        return set_count(value, 1024, &spec->block, &spec->side.block.threads);
    }
    if (strcmp(key, "registers") == 0) {
        return parse_number(value, 255, &spec->registers);
    }
    if (strcmp(key, "shared") == 0) {
        return parse_bytes(value, &spec->static_shared);
    }
    if (strcmp(key, "dynamic") == 0) {
        return parse_bytes(value, &spec->dynamic_shared);
    }
    if (strcmp(key, "carveout") == 0) {
        return set_carveout(value, &spec->side.block.carveout);
    }
    if (strcmp(key, "barriers") == 0) {
        return set_barriers(value, spec);
    }
    if (strcmp(key, "cluster") == 0) {
        return set_count(value, 1024, &spec->cluster, &spec->side.cluster);
    }
    if (strcmp(key, "code") == 0) {
        return parse_code(value, &spec->side.code);
    }
    if (strcmp(key, "waits") == 0) {
        return parse_known(value, &spec->side.waits);
    }
    if (strcmp(key, "triggers") == 0) {
        return parse_known(value, &spec->side.triggers);
    }
    if (strcmp(key, "cooperative") == 0) {
        return parse_yes_or_no(value, &spec->side.cooperative);
    }
    if (strcmp(key, "overlap") == 0) {
        return parse_yes_or_no(value, &spec->asks);
    }
    *known_key = false;
    return false;
}

static void print_unknown_key(const char *role, const char *key)
{
    static const char *const keys[] = {"blocks", "grid",    "threads",     "block",    "registers",
                                       "shared", "dynamic", "carveout",    "barriers", "cluster",
                                       "code",   "waits",   "cooperative", "triggers", "overlap"};
    const char *const close = suggest(key, keys, sizeof(keys) / sizeof(keys[0]));
    if (close != NULL) {
        print_error("--%s: unknown key '%s'; did you mean '%s'?", role, key, close);
    } else {
        print_misuse("--%s: unknown key '%s'", role, key);
    }
}

static bool read_part(char *part, struct overlap_spec *spec)
{
    char *value = strchr(part, '=');
    bool known_key = false;
    if (value == NULL) {
        free(spec->kernel);
        spec->kernel = copy_text(part);
        return true;
    }
    *value++ = '\0';
    if (set_value(spec, part, value, &known_key)) {
        return true;
    }
    if (known_key) {
        print_error("--%s: invalid value '%s' of %s", spec->role, value, part);
    } else {
        print_unknown_key(spec->role, part);
    }
    return false;
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

/* Whether the text begins with a name: an equals sign before its first comma makes it a value. */
bool overlap_spec_read(const char *text, struct overlap_spec *spec)
{
    const char *role = spec->role;
    *spec = (struct overlap_spec){
        .role = role,
        .registers = -1,
        .static_shared = -1,
        .dynamic_shared = 0,
        .side = {.block = {.carveout = -1}, .code = -1, .driver_per_sm = -1},
        .asks = true,
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

/* A demangled name without its parameters and, of a template, without the result it begins with. */
static char *without_parameters(const char *name)
{
    const char *const plain = strncmp(name, "void ", 5) == 0 ? name + 5 : name;
    const char *end = strrchr(plain, ')');
    int depth = 0;
    for (; end != NULL && end >= plain; end--) {
        depth += (*end == ')') - (*end == '(');
        if (depth == 0) {
            break;
        }
    }
    return end == NULL || end <= plain ? copy_text(plain)
                                       : format_text("%.*s", (int)(end - plain), plain);
}

/* Whether a kernel is the one that a text names: mangled, demangled, or that without its
 * parameters. */
static bool is_named(const char *mangled, const char *wanted)
{
    char *const name = demangle(mangled);
    char *const plain = without_parameters(name);
    const bool same =
        strcmp(mangled, wanted) == 0 || strcmp(name, wanted) == 0 || strcmp(plain, wanted) == 0;
    free(plain);
    free(name);
    return same;
}

/* The kernel that was probably meant, to free: an instance of the template that is named, or one whose name is
 * similar. NULL: none is. */
static char *probable_name(const struct inputs *inputs, const char *wanted)
{
    char *similar = NULL;
    for (size_t i = 0; i < inputs->count; i++) {
        const pdl_inspection *const inspection = inputs->items[i].inspection;
        const size_t count = inspection != NULL ? pdl_inspection_kernel_count(inspection) : 0;
        for (size_t k = 0; k < count; k++) {
            const char *const mangled = pdl_inspection_kernel(inspection, k)->info->name;
            char *const name = demangle(mangled);
            char *const plain = without_parameters(name);
            char *const alone = demangle_alone(mangled);
            const bool exact = strcmp(alone, wanted) == 0;
            if (exact ||
                (similar == NULL && suggest(wanted, (const char *const *)&alone, 1) != NULL)) {
                free(similar);
                similar = copy_text(plain);
            }
            free(name);
            free(plain);
            free(alone);
            if (exact) {
                return similar;
            }
        }
    }
    return similar;
}

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
        const int fits = fitness(image, capability);
        if (!is_named(kernel->info->name, spec->kernel)) {
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
    if (spec->registers < 0) {
        spec->registers = kernel->registers_per_thread;
    }
    if (spec->static_shared < 0) {
        spec->static_shared = kernel->static_shared_memory;
    }
    if (spec->side.code < 0) {
        spec->side.code = found->image->target;
    }
    if (spec->side.waits == PDL_UNKNOWN) {
        spec->side.waits = kernel->waits;
    }
    if (spec->side.triggers == PDL_UNKNOWN) {
        spec->side.triggers = kernel->triggers;
    }
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

static void print_not_found(const struct inputs *inputs, const struct overlap_spec *spec,
                            bool named, int32_t capability)
{
    char *const probable = named ? NULL : probable_name(inputs, spec->kernel);
    if (named) {
        print_error("--%s: '%s' has no code for compute capability %d.%d", spec->role, spec->kernel,
                    capability / 10, capability % 10);
    } else if (probable != NULL) {
        print_error("--%s: no kernel '%s'; did you mean '%s'?", spec->role, spec->kernel, probable);
    } else {
        print_error("--%s: no kernel '%s'; 'pdltool inspect' lists the kernels", spec->role,
                    spec->kernel);
    }
    free(probable);
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
        print_not_found(inputs, spec, found.named, compute_capability);
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
    } keys[] = {{"blocks", spec->side.blocks > 0},
                {"threads", spec->side.block.threads > 0},
                {"registers", spec->origin != NULL || spec->registers >= 0}};
    char *missing = NULL;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (!keys[i].known) {
            char *const longer = missing == NULL ? format_text("%s=N", keys[i].key)
                                                 : format_text("%s, %s=N", missing, keys[i].key);
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
static bool is_required(const struct overlap_extent *given, uint32_t product,
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
    if (own[0] > 0 && !is_required(&spec->block, threads, own)) {
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
    if (own[0] > 0 && side->cluster > 0 && !is_required(&spec->cluster, side->cluster, own)) {
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
        for (int i = 0; i < 3; i++) {
            spec->cluster.each[i] = own[i];
        }
        spec->cluster.axes = own[1] * own[2] > 1 ? 3 : 1;
    }
}

/* Clusters have to divide the grid, unless it counts them. */
static void check_grid(struct overlap_spec *spec)
{
    struct pdl_overlap_side *const side = &spec->side;
    const uint32_t size = side->cluster > 0 ? side->cluster : 1;
    bool divides = side->blocks % size == 0;
    if (spec->code != NULL && spec->code->blocks_are_clusters == PDL_YES) {
        side->blocks *= size;
        return;
    }
    for (int i = 0; i < 3 && spec->grid.axes > 1 && spec->cluster.axes > 0; i++) {
        divides = divides && spec->grid.each[i] % spec->cluster.each[i] == 0;
    }
    if (!divides) {
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
        side->code = side->code < 0 ? 90 : side->code;
        side->waits = side->waits == PDL_UNKNOWN ? (uint32_t)PDL_YES : side->waits;
        side->triggers = side->triggers == PDL_UNKNOWN ? (uint32_t)PDL_YES : side->triggers;
        spec->static_shared = spec->static_shared < 0 ? 0 : spec->static_shared;
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
    side->block_known = spec->registers >= 0 && spec->static_shared >= 0;
    if (side->block_known) {
        side->block.registers = (uint32_t)spec->registers;
        side->block.shared_memory = (uint32_t)(spec->static_shared + spec->dynamic_shared);
    }
    return true;
}
