/* SPDX-License-Identifier: MIT */
/* A chain that a JSON file describes, read and checked. docs/tune.md documents the keys. */
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/memory.h"
#include "tune/read.h"

enum { MOST_TRIGGER = 999 };

/* ---- kinds ------------------------------------------------------------------------------------- */

/* The triggers to try: those of the list, or none and 0. */
static bool read_triggers(const struct reader *reader, const char *where, const json_t *list,
                          struct tune_kind *kind)
{
    for (int trigger = -1; list == NULL && trigger <= 0; trigger++) {
        APPEND(kind, (struct tune_choice){.trigger = trigger});
    }
    if (list != NULL && json_array_size(list) == 0) {
        return complain(reader, where, "\"triggers\" is a list of numbers");
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        int64_t trigger = 0;
        if (!read_whole(reader, where, "triggers", json_array_get(list, i), -1, MOST_TRIGGER,
                        &trigger)) {
            return false;
        }
        for (size_t j = 0; j < kind->count; j++) {
            if (kind->items[j].trigger == trigger) {
                return complain(reader, where, "\"triggers\" has %d twice", (int)trigger);
            }
        }
        APPEND(kind, (struct tune_choice){.trigger = (int)trigger});
    }
    return true;
}

/* What the search begins with: "trigger", or 0 if that is to be tried, or the first. */
static bool find_start(const struct reader *reader, const char *where, const json_t *given,
                       struct tune_kind *kind)
{
    int64_t trigger = 0;
    if (given != NULL && !read_whole(reader, where, "trigger", given, -1, MOST_TRIGGER, &trigger)) {
        return false;
    }
    for (size_t i = 0; i < kind->count; i++) {
        if (kind->items[i].trigger == trigger) {
            kind->start = i;
            return true;
        }
    }
    return given == NULL || complain(reader, where, "\"trigger\" is not one of the \"triggers\"");
}

/* Whether launches of the kind overlap; with "both", each choice is tried without as well. */
static bool read_overlap(const struct reader *reader, const char *where, const json_t *value,
                         struct tune_kind *kind)
{
    const char *const text = json_string_value(value);
    const bool both = text != NULL && strcmp(text, "both") == 0;
    const size_t count = kind->count;
    if (value != NULL && !json_is_boolean(value) && !both) {
        return complain(reader, where, "\"overlap\" is true or false, or \"both\"");
    }
    kind->never = json_is_false(value);
    for (size_t i = 0; both && i < count; i++) {
        struct tune_choice choice = kind->items[i];
        choice.serial = true;
        APPEND(kind, choice);
    }
    return true;
}

/* A number, or up to three in an array. What is not given is 1. */
static bool read_shape(const struct reader *reader, const char *where, const char *key,
                       const json_t *value, uint32_t to[3])
{
    const size_t count = json_is_array(value) ? json_array_size(value) : 1;
    if (count < 1 || count > 3) {
        return complain(reader, where, "\"%s\" has one to three numbers", key);
    }
    for (size_t i = 0; i < 3; i++) {
        const json_t *const one = json_is_array(value) ? json_array_get(value, i) : value;
        int64_t number = 1;
        if (i < count && !read_whole(reader, where, key, one, 1, INT32_MAX, &number)) {
            return false;
        }
        to[i] = (uint32_t)number;
    }
    return true;
}

/* `triggers`: those of kinds without such a list. */
static bool read_kind(const struct reader *reader, const json_t *triggers, const char *name,
                      const json_t *given)
{
    struct tune_kind *const kind = &reader->chain->kinds[reader->chain->kind_count++];
    char where[WHERE_SIZE];
    const char *kernel = name;
    int64_t shared = 0;
    int64_t carveout = -1;
    const json_t *grid = NULL;
    const json_t *block = NULL;
    const json_t *cluster = NULL;
    const json_t *overlap = NULL;
    const json_t *trigger = NULL;
    const struct field fields[] = {
        {.key = "kernel", .type = FIELD_TEXT, .to = &kernel},
        {.key = "grid", .type = FIELD_ANY, .to = &grid, .required = true},
        {.key = "block", .type = FIELD_ANY, .to = &block, .required = true},
        {.key = "cluster", .type = FIELD_ANY, .to = &cluster},
        {.key = "shared", .type = FIELD_WHOLE, .to = &shared, .least = 0, .most = INT32_MAX},
        {.key = "carveout", .type = FIELD_WHOLE, .to = &carveout, .least = 0, .most = 100},
        {.key = "overlap", .type = FIELD_ANY, .to = &overlap},
        {.key = "trigger", .type = FIELD_ANY, .to = &trigger},
        {.key = "triggers", .type = FIELD_ANY, .to = &triggers},
        {.key = NULL}};
    (void)snprintf(where, sizeof(where), "kinds.%s", name);
    kind->name = copy_text(name);
    pdl_launch_desc_init(&kind->desc);
    if (!read_fields(reader, where, given, fields) ||
        !read_triggers(reader, where, triggers, kind) ||
        !read_shape(reader, where, "grid", grid, kind->desc.grid) ||
        !find_start(reader, where, trigger, kind) ||
        !read_shape(reader, where, "block", block, kind->desc.block) ||
        (cluster != NULL && !read_shape(reader, where, "cluster", cluster, kind->desc.cluster)) ||
        !read_overlap(reader, where, overlap, kind)) {
        return false;
    }
    kind->kernel = copy_text(kernel);
    kind->desc.dynamic_shared_memory = (uint32_t)shared;
    if (carveout >= 0) {
        kind->desc.shared_memory_carveout = (uint32_t)carveout;
        kind->desc.flags |= PDL_LAUNCH_SET_SHARED_MEMORY_CARVEOUT;
    }
    return true;
}

static bool read_kinds(const struct reader *reader, const json_t *triggers, const json_t *given)
{
    const char *name = NULL;
    json_t *value = NULL;
    if (json_object_size(given) == 0) {
        return complain(reader, "kinds", "an object with a kind of launch for each name is wanted");
    }
    reader->chain->kinds = allocate(json_object_size(given), sizeof(*reader->chain->kinds));
    json_object_foreach((json_t *)given, name, value)
    {
        if (!read_kind(reader, triggers, name, value)) {
            return false;
        }
    }
    return true;
}

/* ---- links and their arguments ------------------------------------------------------------------ */

/* A value of a parameter, with the size that it is aligned to as well. */
struct value {
    unsigned char bytes[8];
    size_t size;
};

/* Numbers of the sizes that parameters have. */
static const struct number_type {
    const char *key;
    size_t size;
    int64_t least, most; /* both 0: not whole numbers */
} number_types[] = {
    {"i32", 4, INT32_MIN, INT32_MAX}, {"u32", 4, 0, UINT32_MAX}, {"i64", 8, INT64_MIN, INT64_MAX},
    {"u64", 8, 0, INT64_MAX},         {"f32", 4, 0, 0},          {"f64", 8, 0, 0},
};

static bool read_number(const struct reader *reader, const char *where, const json_t *given,
                        const struct number_type *type, struct value *to)
{
    int64_t whole = 0;
    const double number = json_number_value(given);
    const float single = (float)number;
    to->size = type->size;
    if (type->most == 0) {
        memcpy(to->bytes, type->size == sizeof(single) ? (const void *)&single : &number,
               type->size);
        return json_is_number(given) || complain(reader, where, "\"%s\" takes a number", type->key);
    }
    const bool read = read_whole(reader, where, type->key, given, type->least, type->most, &whole);
    memcpy(to->bytes, &whole, type->size); /* the low half first */
    return read;
}

static bool read_address(const struct reader *reader, const char *where, const json_t *given,
                         struct value *to)
{
    const struct tune_chain *const chain = reader->chain;
    const char *name = NULL;
    int64_t offset = 0;
    const struct field fields[] = {
        {.key = "buffer", .type = FIELD_TEXT, .to = &name},
        {.key = "offset", .type = FIELD_WHOLE, .to = &offset, .least = 0, .most = INT64_MAX},
        {.key = NULL}};
    if (!read_fields(reader, where, given, fields)) {
        return false;
    }
    size_t i = 0;
    while (i < chain->buffers.count && strcmp(chain->buffers.items[i].name, name) != 0) {
        i++;
    }
    if (i == chain->buffers.count) {
        return complain(reader, where, "there is no buffer %s", name);
    }
    if ((size_t)offset >= chain->buffers.items[i].bytes) {
        return complain(reader, where, "the offset %lld is beyond the end of buffer %s",
                        (long long)offset, name);
    }
    const CUdeviceptr address = chain->buffers.items[i].memory + (size_t)offset;
    memcpy(to->bytes, &address, sizeof(address));
    to->size = sizeof(address);
    return true;
}

/* {"buffer": NAME, "offset": BYTES} or {TYPE: NUMBER}. */
static bool read_value(const struct reader *reader, const char *where, const json_t *given,
                       struct value *to)
{
    const bool is_address = json_object_get(given, "buffer") != NULL;
    if (json_object_size(given) != 1u + (json_object_get(given, "offset") != NULL && is_address)) {
        return complain(reader, where,
                        "a value is {\"buffer\": NAME}, {\"struct\": [...]} or {TYPE: NUMBER}");
    }
    if (is_address) {
        return read_address(reader, where, given, to);
    }
    for (size_t i = 0; i < sizeof(number_types) / sizeof(number_types[0]); i++) {
        const json_t *const number = json_object_get(given, number_types[i].key);
        if (number != NULL) {
            return read_number(reader, where, number, &number_types[i], to);
        }
    }
    return complain(reader, where,
                    "a value is a buffer, or a number of type i32, u32, i64, u64, f32 or f64");
}

static size_t aligned(size_t at, size_t align)
{
    return (at + align - 1) / align * align;
}

/* A value or {"struct": [...]}, whose members lie where a C compiler puts them. */
static bool read_argument(const struct reader *reader, size_t index, const json_t *given,
                          struct tune_link *link)
{
    const json_t *const members = json_object_get(given, "struct");
    const size_t count = members != NULL ? json_array_size(members) : 1;
    const size_t link_index = reader->chain->links.count - 1;
    char where[WHERE_SIZE];
    size_t at = 0;
    size_t widest = 1;
    (void)snprintf(where, sizeof(where), "links[%zu].args[%zu]", link_index, index);
    if (count == 0 || (members != NULL && json_object_size(given) != 1)) {
        return complain(reader, where, "\"struct\" is a list of values, and stands alone");
    }
    unsigned char *const bytes = allocate(count, 2 * sizeof(int64_t)); /* aligned as it has to be */
    link->args[link->count++] = bytes;
    for (size_t i = 0; i < count; i++) {
        struct value value;
        if (members != NULL) {
            (void)snprintf(where, sizeof(where), "links[%zu].args[%zu].struct[%zu]", link_index,
                           index, i);
        }
        if (!read_value(reader, where, members != NULL ? json_array_get(members, i) : given,
                        &value)) {
            return false;
        }
        at = aligned(at, value.size);
        memcpy(bytes + at, value.bytes, value.size);
        at += value.size;
        widest = value.size > widest ? value.size : widest;
    }
    link->sizes[index] = aligned(at, widest);
    return true;
}

static bool read_link(const struct reader *reader, size_t index, const json_t *given)
{
    struct tune_chain *const chain = reader->chain;
    char where[WHERE_SIZE];
    const char *name = NULL;
    const json_t *args = NULL;
    const struct field fields[] = {
        {.key = "kind", .type = FIELD_TEXT, .to = &name, .required = true},
        {.key = "args", .type = FIELD_ANY, .to = &args},
        {.key = NULL}};
    size_t kind = 0;
    (void)snprintf(where, sizeof(where), "links[%zu]", index);
    if (!read_fields(reader, where, given, fields)) {
        return false;
    }
    while (kind < chain->kind_count && strcmp(chain->kinds[kind].name, name) != 0) {
        kind++;
    }
    if (kind == chain->kind_count) {
        return complain(reader, where, "its \"kind\" is not one of the \"kinds\"");
    }
    if (args != NULL && !json_is_array(args)) {
        (void)snprintf(where, sizeof(where), "links[%zu].args", index);
        return complain(reader, where, "a list of values is wanted here");
    }
    const size_t count = json_array_size(args);
    APPEND(&chain->links, ((struct tune_link){.kind = kind,
                                              .args = allocate(count + 1, sizeof(void *)),
                                              .sizes = allocate(count + 1, sizeof(size_t))}));
    for (size_t i = 0; i < count; i++) {
        if (!read_argument(reader, i, json_array_get(args, i), &chain->links.items[index])) {
            return false;
        }
    }
    return true;
}

static bool read_links(const struct reader *reader, const json_t *given)
{
    if (json_array_size(given) == 0) {
        return complain(reader, "links", "a list of links is wanted here");
    }
    for (size_t i = 0; i < json_array_size(given); i++) {
        if (!read_link(reader, i, json_array_get(given, i))) {
            return false;
        }
    }
    return true;
}

/* ---- the file ------------------------------------------------------------------------------------ */

static bool read_chain(const struct reader *reader, const json_t *root)
{
    int64_t repeat = 1;
    const json_t *images = NULL;
    const json_t *faulty = NULL;
    const json_t *buffers = NULL;
    const json_t *kinds = NULL;
    const json_t *links = NULL;
    const json_t *triggers = NULL;
    const struct field fields[] = {
        {.key = "images", .type = FIELD_ANY, .to = &images},
        {.key = "faulty", .type = FIELD_ANY, .to = &faulty},
        {.key = "buffers", .type = FIELD_ANY, .to = &buffers},
        {.key = "kinds", .type = FIELD_ANY, .to = &kinds},
        {.key = "links", .type = FIELD_ANY, .to = &links},
        {.key = "triggers", .type = FIELD_ANY, .to = &triggers},
        {.key = "repeat", .type = FIELD_WHOLE, .to = &repeat, .least = 1, .most = 100000},
        {.key = NULL}};
    if (!read_fields(reader, "", root, fields)) {
        return false;
    }
    reader->chain->repeat = (size_t)repeat;
    return read_buffers(reader, buffers) && read_kinds(reader, triggers, kinds) &&
           read_links(reader, links) && read_code(reader, images, faulty);
}

bool tune_read(struct tune_chain *chain, const char *path)
{
    struct reader reader = {.path = path, .chain = chain};
    char *why = NULL;
    const char *const slash = strrchr(path, '/');
    json_t *const root = json_read(path, &why);
    if (root == NULL) {
        (void)complain(&reader, "", "%s", why);
        free(why);
        return false;
    }
    reader.directory =
        slash == NULL ? copy_text(".") : format_text("%.*s", (int)(slash - path), path);
    chain->name = copy_text(path);
    const bool read = read_chain(&reader, root);
    free(reader.directory);
    json_decref(root);
    return read;
}
