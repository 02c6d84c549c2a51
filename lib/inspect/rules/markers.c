/* SPDX-License-Identifier: MIT */
#include "inspect/rules/markers.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/ptx/places.h"

/* ---- PDL_LINT_ALLOW ----------------------------------------------------------------------------- */

/* The id with the hash of pdl_lint_hash_() in the device header, or NULL. */
static const char *id_of(uint32_t hash)
{
    for (int rule = 0; rule < PDL_LINT_RULE_COUNT_; rule++) {
        const char *const id = pdl_lint_rule_id((pdl_lint_rule)rule);
        uint32_t own = 0;
        for (const char *at = id; *at != '\0'; at++) {
            own = 31 * own + (unsigned char)*at;
        }
        if (own == hash) {
            return id;
        }
    }
    return NULL;
}

/* `allow rule: reason`, cut in two. In code there is no reason: it is in the comment, which goes before it. */
static void note(struct pdl_allows *allows, struct pdl_ptx_module *module, struct pdl_body *body,
                 const struct pdl_marker *marker)
{
    static const char word[] = "allow ";
    const uint32_t skip = sizeof(word) - 1;
    pdl_inspection *inspection = module->inspection;
    struct pdl_arena *arena = &inspection->arena;
    uint32_t place_count;
    const char *const id = marker->rule != 0 ? id_of(marker->rule) : NULL;
    if (id == NULL && (marker->length <= skip || memcmp(marker->text, word, skip) != 0)) {
        return;
    }
    char *rule = id != NULL ? pdl_arena_copy(arena, id, strlen(id))
                            : pdl_arena_copy(arena, marker->text + skip, marker->length - skip);
    const pdl_inspect_place *const *places =
        pdl_places_chain(module, body, marker->place, &place_count);
    char *reason = strchr(rule, ':');
    if (reason != NULL) {
        *reason++ = '\0';
        reason += strspn(reason, " \t");
        reason[strcspn(reason, "\r")] = '\0';
    }
    const char *file = place_count > 0 ? places[0]->file : NULL;
    const struct pdl_name *function = &module->names.names[body->function->name];
    /* A text may hold a marker every few bytes: what is kept of each does not go with the name's length. */
    const char *origin =
        file != NULL ? pdl_arena_format(arena, "%s:%u", file, places[0]->line)
                     : pdl_arena_format(arena, "kernel %.*s",
                                        (int)(function->length < 1000 ? function->length : 1000),
                                        function->text);
    const char *kernel_key =
        pdl_arena_format(arena, "kernel %u %s", (unsigned)body->function->name, rule);
    const char *key = file != NULL ? pdl_arena_format(arena, "%s %s", origin, rule) : kernel_key;
    const pdl_lint_suppression made = {
        .size = (uint32_t)sizeof(made),
        .origin = origin,
        .text = rule,
        .reason = reason != NULL ? reason : "",
        .used = id != NULL, /* in a program it is not reported as unused */
    };
    const uint32_t before = allows->keys.count;
    uint32_t number = pdl_names_add(&allows->keys, key, (uint32_t)strlen(key));
    if (number >= before) {
        PDL_KEEP(inspection->markers, inspection->marker_count, inspection->marker_capacity, made);
        PDL_ADD(allows->markers, allows->count, allows->capacity, inspection->marker_count - 1);
    }
    /* No line of the kernel is that of no-trigger: the kernel's name finds such a marker too. */
    if (pdl_lint_rule_find(rule) == PDL_LINT_NO_TRIGGER) {
        const uint32_t same = allows->markers[number];
        const uint32_t count = allows->keys.count;
        number = pdl_names_add(&allows->keys, kernel_key, (uint32_t)strlen(kernel_key));
        if (number >= count) {
            PDL_ADD(allows->markers, allows->count, allows->capacity, same);
        }
    }
}

void pdl_allows_note(struct pdl_allows *allows, struct pdl_ptx_module *module,
                     struct pdl_body *body)
{
    for (uint32_t i = 0; i < body->marker_count; i++) {
        note(allows, module, body, &body->markers[i]);
    }
}

/* The marker of the key `before` `number` `rule`, or PDL_NONE. This is asked for each finding, and formats
 * nothing. */
static uint32_t find_key(const struct pdl_allows *allows, const char *before, char between,
                         uint32_t number, const char *rule)
{
    char key[PDL_PTX_FILE_MAX + 64];
    const size_t of_before = strlen(before), of_rule = strlen(rule);
    char digits[16];
    char *first = digits + sizeof(digits);
    do {
        *--first = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    const size_t of_number = (size_t)(digits + sizeof(digits) - first);
    if (of_before + of_number + of_rule + 2 > sizeof(key)) {
        return PDL_NONE;
    }
    char *to = key;
    memcpy(to, before, of_before);
    to += of_before;
    *to++ = between;
    memcpy(to, first, of_number);
    to += of_number;
    *to++ = ' ';
    memcpy(to, rule, of_rule);
    to += of_rule;
    const uint32_t found = pdl_names_find(&allows->keys, key, (uint32_t)(to - key));
    return found != PDL_NONE ? allows->markers[found] : PDL_NONE;
}

uint32_t pdl_allows_find(const struct pdl_allows *allows, uint32_t kernel,
                         const pdl_lint_finding *finding)
{
    const char *rule = pdl_lint_rule_id((pdl_lint_rule)finding->rule);
    if (allows->count == 0) {
        return PDL_NONE;
    }
    uint32_t found = find_key(allows, "kernel", ' ', kernel, rule);
    for (uint32_t i = 0; i < finding->place_count && found == PDL_NONE; i++) {
        const pdl_inspect_place *place = finding->places[i];
        for (uint32_t above = 0; above < 2 && place->file != NULL && found == PDL_NONE; above++) {
            found = find_key(allows, place->file, ':', place->line - above, rule);
        }
    }
    return found;
}

/* ---- PDL_CONSTANT_PARAM ------------------------------------------------------------------------- */

/* More pointers than a kernel has. Those beyond are not taken for constant. */
#define CONSTANTS_MAX 512u

/* `+BYTE` or `+BYTE:SIZE`, which stands behind a parameter. */
static bool names_part(const char *text, struct pdl_constant_source *found)
{
    const bool digit = text[1] >= '0' && text[1] <= '9';
    char *end;
    const unsigned long byte = strtoul(text + 1, &end, 10);
    unsigned long size = 8;
    bool right = digit;
    if (digit && *end == ':') {
        right = end[1] >= '0' && end[1] <= '9';
        size = strtoul(end + 1, &end, 10);
    }
    found->size = (uint32_t)size;
    found->source.offset = (int32_t)byte;
    return right && size > 0 && *end == '\0' && byte <= UINT16_MAX && size <= UINT16_MAX;
}

/* Whether `NAME`, a pattern, or `NUMBER`, with `KERNEL:` in front and a part of it behind it or not, is a
 * parameter; *found are its bytes. */
static bool names_parameter(const char *text, const char *kernel, const char *const *names,
                            uint32_t index, struct pdl_constant_source *found)
{
    char word[256];
    const size_t whole = strcspn(text, "+"); /* the colon of a size is no kernel's */
    const char *colon = memrchr(text, ':', whole);
    if (colon != NULL) {
        char pattern[1024];
        const size_t length = (size_t)(colon - text);
        if (length >= sizeof(pattern)) {
            return false;
        }
        memcpy(pattern, text, length);
        pattern[length] = '\0';
        if (fnmatch(pattern, kernel, 0) != 0) {
            return false;
        }
        text = colon + 1;
    }
    const size_t length = strcspn(text, "+");
    *found = (struct pdl_constant_source){.source = {.index = index}, .parameter = true};
    if (length >= sizeof(word)) {
        return false;
    }
    memcpy(word, text, length);
    word[length] = '\0';
    if (text[length] != '\0') {
        found->parameter = false;
        if (!names_part(text + length, found)) {
            return false;
        }
    }
    text = word;
    if (text[0] != '\0' && text[strspn(text, "0123456789")] == '\0') {
        return strtoul(text, NULL, 10) == (unsigned long)index + 1;
    }
    return strcmp(text, "*") == 0 ||
           (names != NULL && names[index] != NULL && fnmatch(text, names[index], 0) == 0);
}

/* Whether what is known to be constant has a source. One whose byte is not known may be any pointer of its
 * parameter. */
static bool has(const struct pdl_constant_source *known, const struct pdl_source *source)
{
    const bool passed = source->kind == PDL_SOURCE_PARAMETER || source->kind == PDL_SOURCE_ADDRESS;
    if (known->source.index != source->index) {
        return false;
    }
    if (known->parameter || known->size > 0) {
        return passed &&
               (known->parameter || (source->offset >= known->source.offset &&
                                     source->offset < known->source.offset + (int32_t)known->size));
    }
    return known->source.kind == source->kind && known->source.offset == source->offset &&
           source->offset != PDL_OFFSET_UNKNOWN && known->source.indexed >= source->indexed;
}

static bool is_constant_source(const struct pdl_constants *constants,
                               const struct pdl_source *source)
{
    bool constant = false;
    for (uint32_t i = 0; i < constants->count && !constant; i++) {
        constant = has(&constants->sources[i], source);
    }
    return constant;
}

bool pdl_constants_have(const struct pdl_constants *constants, const struct pdl_value *address)
{
    bool constant = address->count > 0 && !address->untraced;
    for (unsigned i = 0; i < address->count && constant; i++) {
        constant = is_constant_source(constants, &address->sources[i]);
    }
    return constant;
}

void pdl_constants_find(struct pdl_constants *constants, const struct pdl_ptx_module *module,
                        const struct pdl_body *body, const struct pdl_values *values,
                        const char *const *names)
{
    const struct pdl_ptx_function *function = body->function;
    const pdl_inspect_options *options = module->inspection->options;
    constants->count = 0;
    for (uint32_t i = 0; i < body->marker_count; i++) {
        if (body->markers[i].symbol == PDL_NONE) {
            continue;
        }
        const struct pdl_value *value = &values->values[body->markers[i].symbol];
        for (unsigned j = 0; j < value->count; j++) {
            if (is_constant_source(constants, &value->sources[j]) ||
                constants->count == CONSTANTS_MAX) {
                continue;
            }
            PDL_ADD(constants->sources, constants->count, constants->capacity,
                    (struct pdl_constant_source){.source = value->sources[j]});
        }
    }
    if (function->is_entry && options->constant_param_count > 0) {
        const struct pdl_name *name = &module->names.names[function->name];
        char *kernel = pdl_take((size_t)name->length + 1, 1);
        memcpy(kernel, name->text, name->length);
        for (uint64_t i = 0; i < options->constant_param_count; i++) {
            for (uint32_t j = 0; j < function->parameter_count; j++) {
                struct pdl_constant_source source;
                if (!names_parameter(options->constant_params[i], kernel, names, j, &source)) {
                    continue;
                }
                pdl_inspection_counts(module->inspection, PDL_INSPECT_CONSTANT_PARAMS)[i]++;
                PDL_ADD(constants->sources, constants->count, constants->capacity, source);
            }
        }
        pdl_give_back(kernel);
    }
}

void pdl_constants_filter(struct pdl_effects *effects, const struct pdl_ptx_module *module,
                          const struct pdl_flow *flow, const char *const *names)
{
    struct pdl_constants constants = {0};
    uint32_t kept = 0;
    pdl_constants_find(&constants, module, flow->body, flow->values, names);
    for (uint32_t i = 0; i < effects->effect_count; i++) {
        const struct pdl_effect *effect = &effects->effects[i];
        if (effect->kind != PDL_EFFECT_READ || !pdl_constants_have(&constants, &effect->address)) {
            effects->effects[kept] = effects->effects[i];
            effects->decisions[kept++] = effects->decisions[i];
        }
    }
    effects->effect_count = kept;
    pdl_give_back(constants.sources);
}
