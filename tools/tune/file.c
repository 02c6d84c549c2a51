/* SPDX-License-Identifier: MIT */
/* A chain that a JSON file describes, read and checked. docs/tune.md documents the keys. */
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/memory.h"
#include "tune/read.h"

enum { MOST_TRIGGER = 999 };

/* ---- kinds ------------------------------------------------------------------------------------- */

/* The triggers to try: the kind's own, or those for all, or none and 0. */
static bool read_triggers(const struct reader *reader, const char *where, json_t *given,
                          json_t *root, struct tune_kind *kind)
{
    json_t *list = json_object_get(given, "triggers");
    size_t i = 0;
    json_t *value = NULL;
    list = list != NULL ? list : json_object_get(root, "triggers");
    if (list == NULL) {
        for (int trigger = -1; trigger <= 0; trigger++) {
            const struct tune_choice choice = {trigger, {1, 1, 1}, false};
            APPEND(kind, choice);
        }
        return true;
    }
    if (!json_is_array(list) || json_array_size(list) == 0) {
        return complain(reader, where, "\"triggers\" is a list of numbers");
    }
    json_array_foreach(list, i, value)
    {
        int64_t trigger = 0;
        if (!read_integer(reader, where, "triggers", value, -1, MOST_TRIGGER, &trigger)) {
            return false;
        }
        for (size_t j = 0; j < kind->count; j++) {
            if (kind->items[j].trigger == trigger) {
                return complain(reader, where, "\"triggers\" has %d twice", (int)trigger);
            }
        }
        const struct tune_choice choice = {(int)trigger, {1, 1, 1}, false};
        APPEND(kind, choice);
    }
    return true;
}

struct grid {
    unsigned size[3];
};

/* Every trigger with every grid, the kind's own grid first. */
static void multiply(struct tune_kind *kind, const struct grid *grids, size_t grid_count)
{
    const size_t triggers = kind->count;
    struct tune_choice *const all = allocate(triggers * grid_count, sizeof(*all));
    for (size_t i = 0; i < grid_count; i++) {
        for (size_t j = 0; j < triggers; j++) {
            all[i * triggers + j].trigger = kind->items[j].trigger;
            memcpy(all[i * triggers + j].grid, grids[i].size, sizeof(grids[i].size));
        }
    }
    free(kind->items);
    kind->items = all;
    kind->count = kind->capacity = triggers * grid_count;
}

static bool read_grids(const struct reader *reader, const char *where, json_t *given,
                       struct tune_kind *kind)
{
    const json_t *const own = json_object_get(given, "grid");
    json_t *const others = json_object_get(given, "grids");
    const size_t count = others != NULL ? json_array_size(others) : 0;
    if (own == NULL || (others != NULL && !json_is_array(others))) {
        return complain(reader, where,
                        own == NULL ? "\"grid\" is missing" : "\"grids\" is a list of grids");
    }
    struct grid *const grids = allocate(count + 1, sizeof(*grids));
    size_t different = 1;
    bool good = read_shape(reader, where, "grid", own, grids[0].size);
    for (size_t i = 0; good && i < count; i++) {
        struct grid *const grid = &grids[different];
        bool known = false;
        good = read_shape(reader, where, "grids", json_array_get(others, i), grid->size);
        for (size_t j = 0; j < different; j++) {
            known = known || memcmp(&grids[j], grid, sizeof(*grid)) == 0;
        }
        different += !known;
    }
    if (good) {
        multiply(kind, grids, different);
    }
    free(grids);
    return good;
}

/* What the search begins with: "trigger", or 0 if that is to be tried, or the first. */
static bool find_start(const struct reader *reader, const char *where, const json_t *given,
                       struct tune_kind *kind)
{
    int64_t trigger = 0;
    const bool asked = json_object_get(given, "trigger") != NULL;
    if (!get_integer(reader, where, given, "trigger", -1, MOST_TRIGGER, &trigger)) {
        return false;
    }
    for (size_t i = 0; i < kind->count; i++) {
        if (kind->items[i].trigger == trigger) {
            kind->start = i; /* the kind's own grid comes first */
            return true;
        }
    }
    return !asked || complain(reader, where, "\"trigger\" is not one of the \"triggers\"");
}

static bool read_launch(const struct reader *reader, const char *where, json_t *given,
                        struct chain_kind *kind)
{
    const json_t *const block = json_object_get(given, "block");
    const json_t *const cluster = json_object_get(given, "cluster");
    int64_t shared = 0;
    int64_t carveout = -1;
    if (block == NULL) {
        return complain(reader, where, "\"block\" is missing");
    }
    if (!read_shape(reader, where, "block", block, kind->block) ||
        (cluster != NULL && !read_shape(reader, where, "cluster", cluster, kind->cluster)) ||
        !get_integer(reader, where, given, "shared", 0, INT32_MAX, &shared) ||
        !get_integer(reader, where, given, "carveout", 0, 100, &carveout)) {
        return false;
    }
    kind->shared = (uint32_t)shared;
    kind->carveout = (int)carveout;
    return true;
}

/* Whether launches of the kind overlap; with "both", each choice is tried without as well. */
static bool read_overlap(const struct reader *reader, const char *where, const json_t *given,
                         struct chain_kind *kind, struct tune_kind *choices)
{
    const json_t *const value = json_object_get(given, "overlap");
    const char *const text = json_string_value(value);
    const bool both = text != NULL && strcmp(text, "both") == 0;
    const size_t count = choices->count;
    if (value != NULL && !json_is_boolean(value) && !both) {
        return complain(reader, where, "\"overlap\" is true or false, or \"both\"");
    }
    kind->overlap = !json_is_false(value);
    for (size_t i = 0; both && i < count; i++) {
        struct tune_choice choice = choices->items[i];
        choice.serial = true;
        APPEND(choices, choice);
    }
    return true;
}

static bool read_kind(const struct reader *reader, json_t *root, const char *name, json_t *given)
{
    static const char *const keys[] = {"kernel",  "grid",     "grids",    "block",
                                       "cluster", "shared",   "carveout", "overlap",
                                       "trigger", "triggers", NULL};
    struct tune_kind *const choices = &reader->job->kinds[reader->job->kind_count];
    struct chain_kind kind = {.overlap = true};
    char where[WHERE_SIZE];
    const char *kernel = name;
    (void)snprintf(where, sizeof(where), "kinds.%s", name);
    choices->name = copy_text(name);
    reader->job->kind_count++;
    if (!check_keys(reader, where, given, keys) ||
        !get_text(reader, where, given, "kernel", &kernel) ||
        !read_triggers(reader, where, given, root, choices) ||
        !read_grids(reader, where, given, choices) || !find_start(reader, where, given, choices) ||
        !read_launch(reader, where, given, &kind) ||
        !read_overlap(reader, where, given, &kind, choices)) {
        return false;
    }
    kind.kernel = copy_text(kernel);
    APPEND(&reader->chain->kinds, kind);
    return true;
}

static bool read_kinds(const struct reader *reader, json_t *root)
{
    json_t *const given = json_object_get(root, "kinds");
    const char *name = NULL;
    json_t *value = NULL;
    if (!json_is_object(given) || json_object_size(given) == 0) {
        return complain(reader, "kinds", "an object with a kind of launch for each name is wanted");
    }
    reader->job->kinds = allocate(json_object_size(given), sizeof(*reader->job->kinds));
    json_object_foreach(given, name, value)
    {
        if (!read_kind(reader, root, name, value)) {
            return false;
        }
    }
    return true;
}

/* ---- links and their arguments ------------------------------------------------------------------ */

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
                        const struct number_type *type, struct chain_value *to)
{
    int64_t whole = 0;
    if (type->most == 0) {
        const double number = json_number_value(given);
        const float single = (float)number;
        if (!json_is_number(given)) {
            return complain(reader, where, "\"%s\" takes a number", type->key);
        }
        memcpy(to->bytes, type->size == sizeof(single) ? (const void *)&single : &number,
               type->size);
    } else {
        if (!read_integer(reader, where, type->key, given, type->least, type->most, &whole)) {
            return false;
        }
        memcpy(to->bytes, &whole, type->size); /* the low half first */
    }
    to->size = type->size;
    return true;
}

static bool read_address(const struct reader *reader, const char *where, const json_t *given,
                         struct chain_value *to)
{
    const struct chain *const chain = reader->chain;
    const char *name = NULL;
    int64_t offset = 0;
    if (!get_text(reader, where, given, "buffer", &name) ||
        !get_integer(reader, where, given, "offset", 0, INT64_MAX, &offset)) {
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
    to->buffer = i;
    to->offset = (size_t)offset;
    to->size = sizeof(CUdeviceptr);
    return true;
}

/* {"buffer": NAME, "offset": BYTES} or {TYPE: NUMBER}. */
static bool read_value(const struct reader *reader, const char *where, const json_t *given,
                       struct chain_value *to)
{
    const bool is_address = json_object_get(given, "buffer") != NULL;
    to->buffer = SIZE_MAX;
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

/* A value or {"struct": [...]}. */
static bool read_argument(const struct reader *reader, size_t link, size_t index, json_t *given,
                          struct chain_argument *to)
{
    const json_t *const members = json_object_get(given, "struct");
    const size_t count = members != NULL ? json_array_size(members) : 1;
    char where[WHERE_SIZE];
    (void)snprintf(where, sizeof(where), "links[%zu].args[%zu]", link, index);
    if (count == 0 || (members != NULL && json_object_size(given) != 1)) {
        return complain(reader, where, "\"struct\" is a list of values, and stands alone");
    }
    to->items = allocate(count, sizeof(*to->items));
    to->count = count;
    for (size_t i = 0; i < count; i++) {
        if (members != NULL) {
            (void)snprintf(where, sizeof(where), "links[%zu].args[%zu].struct[%zu]", link, index,
                           i);
        }
        if (!read_value(reader, where, members != NULL ? json_array_get(members, i) : given,
                        &to->items[i])) {
            return false;
        }
    }
    return true;
}

static bool read_arguments(const struct reader *reader, size_t index, const json_t *given,
                           struct chain_link *link)
{
    if (given != NULL && !json_is_array(given)) {
        char where[WHERE_SIZE];
        (void)snprintf(where, sizeof(where), "links[%zu].args", index);
        return complain(reader, where, "a list of values is wanted here");
    }
    link->items = allocate(json_array_size(given), sizeof(*link->items));
    for (size_t i = 0; i < json_array_size(given); i++) {
        link->count++;
        if (!read_argument(reader, index, i, json_array_get(given, i), &link->items[i])) {
            return false;
        }
    }
    return true;
}

static bool read_link(const struct reader *reader, size_t index, json_t *given)
{
    static const char *const keys[] = {"kind", "args", NULL};
    struct chain_link *link = NULL;
    char where[WHERE_SIZE];
    const char *kind = NULL;
    (void)snprintf(where, sizeof(where), "links[%zu]", index);
    if (!check_keys(reader, where, given, keys) || !get_text(reader, where, given, "kind", &kind)) {
        return false;
    }
    APPEND(&reader->chain->links, (struct chain_link){0});
    link = &reader->chain->links.items[index];
    while (kind != NULL && link->kind < reader->job->kind_count &&
           strcmp(reader->job->kinds[link->kind].name, kind) != 0) {
        link->kind++;
    }
    if (kind == NULL || link->kind == reader->job->kind_count) {
        return complain(reader, where,
                        kind == NULL ? "\"kind\" is missing"
                                     : "its \"kind\" is not one of the \"kinds\"");
    }
    return read_arguments(reader, index, json_object_get(given, "args"), link);
}

static bool read_links(const struct reader *reader, json_t *given)
{
    if (!json_is_array(given) || json_array_size(given) == 0) {
        return complain(reader, "links", "a list of links is wanted here");
    }
    for (size_t i = 0; i < json_array_size(given); i++) {
        if (!read_link(reader, i, json_array_get(given, i))) {
            return false;
        }
    }
    return true;
}

/* ---- code --------------------------------------------------------------------------------------- */

static bool compile_variant(const struct reader *reader, const struct tune_source *source,
                            struct chain_variant *variant)
{
    for (int code = 0; code < CHAIN_CODES; code++) {
        char *why = NULL;
        variant->compiled[code] = tune_compile != NULL ? tune_compile(source, variant->trigger,
                                                                      code == CHAIN_FAULTY, &why)
                                                       : NULL;
        if (variant->compiled[code] == NULL) {
            (void)complain(reader, "source", "%s: %s", source->path,
                           why != NULL ? why : "built without libpdl-rtc, it compiles no sources");
            free(why);
            return false;
        }
    }
    return true;
}

static bool read_image(const struct reader *reader, const json_t *images,
                       struct chain_variant *variant)
{
    char key[16];
    const char *path = NULL;
    (void)snprintf(key, sizeof(key), "%d", variant->trigger);
    if (!get_text(reader, "images", images, key, &path)) {
        return false;
    }
    if (path == NULL) {
        return complain(reader, "images", "there is none for trigger %d", variant->trigger);
    }
    variant->image = read_file(reader, "images", path, &variant->size);
    return variant->image != NULL;
}

/* `source` is NULL where there are images. */
static bool add_variant(const struct reader *reader, const struct tune_source *source,
                        const json_t *images, int trigger)
{
    const struct chain_variant variant = {.trigger = trigger};
    for (size_t i = 0; i < reader->chain->variants.count; i++) {
        if (reader->chain->variants.items[i].trigger == trigger) {
            return true;
        }
    }
    APPEND(&reader->chain->variants, variant); /* which frees what it has, whole or not */
    struct chain_variant *const added =
        &reader->chain->variants.items[reader->chain->variants.count - 1];
    return source != NULL ? compile_variant(reader, source, added)
                          : read_image(reader, images, added);
}

static bool add_variants(const struct reader *reader, const struct tune_source *source,
                         const json_t *images)
{
    for (size_t i = 0; i < reader->job->kind_count; i++) {
        for (size_t j = 0; j < reader->job->kinds[i].count; j++) {
            if (!add_variant(reader, source, images, reader->job->kinds[i].items[j].trigger)) {
                return false;
            }
        }
    }
    return true;
}

/* The text of a file, which has no NUL in it; NULL after a complaint. */
static char *read_source(const struct reader *reader, const char *path)
{
    size_t size = 0;
    char *const text = read_file(reader, "source", path, &size);
    if (text != NULL && strlen(text) != size) {
        (void)complain(reader, "source", "%s: not a text: it contains a NUL byte", path);
        free(text);
        return NULL;
    }
    return text;
}

static bool compile_variants(const struct reader *reader, json_t *root)
{
    json_t *const options = json_object_get(root, "options");
    const size_t count = json_array_size(options);
    const size_t kinds = reader->chain->kinds.count;
    const char *path = NULL;
    struct tune_source source = {.count = count, .name_count = kinds};
    if (!get_text(reader, "", root, "target", &source.target) ||
        !get_text(reader, "", root, "source", &path)) {
        return false;
    }
    char *const full = resolve(reader, path);
    char *const text = read_source(reader, path);
    const char **const texts = allocate(count, sizeof(*texts));
    const char **const names = allocate(kinds, sizeof(*names));
    for (size_t i = 0; i < count; i++) {
        texts[i] = json_string_value(json_array_get(options, i));
    }
    for (size_t i = 0; i < kinds; i++) {
        names[i] = reader->chain->kinds.items[i].kernel;
    }
    source.path = full;
    source.text = text;
    source.options = texts;
    source.names = names;
    const bool good = text != NULL && add_variants(reader, &source, NULL);
    free((void *)names);
    free((void *)texts);
    free(text);
    free(full);
    return good;
}

static bool read_code(const struct reader *reader, json_t *root)
{
    const json_t *const source = json_object_get(root, "source");
    const json_t *const images = json_object_get(root, "images");
    json_t *const options = json_object_get(root, "options");
    if ((source != NULL) == (images != NULL) || (source != NULL && !json_is_string(source)) ||
        (images != NULL && !json_is_object(images))) {
        return complain(reader, "",
                        "either \"source\" names a file that is compiled, or \"images\" one "
                        "file for each trigger");
    }
    if (options != NULL && !json_is_array(options)) {
        return complain(reader, "options", "a list of options is wanted here");
    }
    for (size_t i = 0; i < json_array_size(options); i++) {
        if (!json_is_string(json_array_get(options, i))) {
            return complain(reader, "options", "an option is a string");
        }
    }
    return images != NULL ? add_variants(reader, NULL, images) : compile_variants(reader, root);
}

/* ---- the file ------------------------------------------------------------------------------------ */

static bool read_chain(struct reader *reader, json_t *root)
{
    static const char *const keys[] = {"source", "images", "options", "target",   "buffers",
                                       "kinds",  "links",  "repeat",  "triggers", NULL};
    enum { MOST_REPEAT = 100000 };
    int64_t repeat = 1;
    char *why = NULL;
    if (!check_keys(reader, "", root, keys) ||
        !get_integer(reader, "", root, "repeat", 1, MOST_REPEAT, &repeat) ||
        !read_buffers(reader, json_object_get(root, "buffers")) || !read_kinds(reader, root) ||
        !read_links(reader, json_object_get(root, "links")) || !read_code(reader, root)) {
        return false;
    }
    reader->chain->repeat = (size_t)repeat;
    chain_make_job(reader->chain, reader->job);
    if (!chain_load(reader->chain, reader->job, &why)) {
        (void)complain(reader, "", "%s", why);
        free(why);
        return false;
    }
    return true;
}

bool tune_file_job(struct tune_job *job, const char *path)
{
    struct reader reader = {.path = path, .job = job};
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
    reader.chain = allocate(1, sizeof(*reader.chain));
    job->name = copy_text(path);
    const bool read = read_chain(&reader, root);
    if (job->self == NULL) { /* nobody else frees it */
        chain_free(reader.chain);
    }
    free(reader.directory);
    json_decref(root);
    return read;
}
