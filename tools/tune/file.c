/* SPDX-License-Identifier: MIT */
/* A chain that a file describes, read and checked. docs/tune.md documents the lines. */
#include "tune/tune.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gpu.h"
#include "common/description.h"
#include "common/file.h"
#include "common/memory.h"

enum { MOST_TRIGGER = 999 };

/* The code with one trigger. */
struct image {
    int trigger;
    char *bytes;
    size_t size;
};

struct reader {
    struct description description;
    char *directory; /* of the file: paths in it are relative to it */
    struct tune_chain *chain;
    struct pdl_names buffers, kinds; /* by their indices */
    struct {
        struct image *items;
        size_t count, capacity;
    } images;
};

#define FAIL(reader, line, ...) description_fail(&(reader)->description, line, __VA_ARGS__)

/* The whole of a file. NULL after a line on standard error. */
static char *read_whole(struct reader *reader, const struct description_line *line,
                        const char *path, size_t *size)
{
    char *const full =
        path[0] == '/' ? copy_text(path) : format_text("%s/%s", reader->directory, path);
    char *const bytes = file_read(full, size);
    if (bytes == NULL) {
        (void)FAIL(reader, line, "%s: %s", full, strerror(errno));
    }
    free(full);
    return bytes;
}

static bool read_trigger(struct reader *reader, const struct description_line *line,
                         const char *text, int *trigger)
{
    int64_t number = -1;
    if (strcmp(text, "-1") != 0 &&
        !kernel_number(text, (struct kernel_limits){0, MOST_TRIGGER}, &number)) {
        return description_fail_count(&reader->description, line, text,
                                      (struct kernel_limits){-1, MOST_TRIGGER});
    }
    *trigger = (int)number;
    return true;
}

static const struct image *find_image(const struct reader *reader, int trigger)
{
    for (size_t i = 0; i < reader->images.count; i++) {
        if (reader->images.items[i].trigger == trigger) {
            return &reader->images.items[i];
        }
    }
    return NULL;
}

/* image TRIGGER FILE */
static bool read_image(struct reader *reader, const struct description_line *line)
{
    struct image image = {.bytes = NULL};
    if (line->count != 3) {
        return FAIL(reader, line, "image needs a trigger and a file");
    }
    if (!read_trigger(reader, line, line->words[1], &image.trigger)) {
        return false;
    }
    if (find_image(reader, image.trigger) != NULL || reader->chain->kind_count > 0) {
        return FAIL(reader, line, "images come before the kernels, one per trigger");
    }
    image.bytes = read_whole(reader, line, line->words[2], &image.size);
    APPEND(&reader->images, image);
    return image.bytes != NULL;
}

/* ---- buffers ----------------------------------------------------------------------------------- */

static bool fill_from_file(struct reader *reader, const struct description_line *line,
                           const char *path, const struct tune_buffer *buffer)
{
    size_t size = 0;
    char *const bytes = read_whole(reader, line, path, &size);
    if (bytes != NULL && size == buffer->bytes) {
        memcpy(buffer->fill, bytes, size);
    }
    free(bytes);
    return bytes != NULL &&
           (size == buffer->bytes ||
            FAIL(reader, line, "%s has %zu bytes, and the buffer %zu", path, size, buffer->bytes));
}

/* Takes memory of the host and the device. */
static bool allocate_buffer(struct reader *reader, const struct description_line *line, int byte,
                            struct tune_buffer *buffer)
{
    size_t left = 0;
    size_t total = 0;
    MUST(cu.cuMemGetInfo(&left, &total));
    if (buffer->bytes > left) {
        (void)FAIL(reader, line,
                   "the buffer takes %zu bytes, and %zu of the device's memory are free",
                   buffer->bytes, left);
        return false;
    }
    buffer->fill = malloc(buffer->bytes);
    if (buffer->fill == NULL) {
        (void)FAIL(reader, line, "there is no memory for %zu bytes", buffer->bytes);
        return false;
    }
    memset(buffer->fill, byte, buffer->bytes);
    buffer->memory = gpu_alloc(buffer->bytes);
    buffer->name = copy_text(line->words[1]);
    APPEND(&reader->chain->buffers, *buffer); /* which frees it, filled or not */
    return true;
}

/* buffer NAME bytes=N [fill=BYTE | file=FILE] [constant] */
static bool read_buffer(struct reader *reader, const struct description_line *line)
{
    enum { POISON = 0xff };
    const struct kernel_limits sizes = {1, INT64_C(1) << 44};
    struct tune_buffer buffer = {.name = NULL};
    const char *file = NULL;
    int64_t bytes = 0;
    int64_t byte = POISON;
    if (line->count < 2) {
        return FAIL(reader, line, "a buffer needs a name");
    }
    const uint32_t index = name_index(&reader->buffers, line->words[1]);
    if (index < reader->chain->buffers.count) {
        return FAIL(reader, line, "there is a buffer '%.60s' already", line->words[1]);
    }
    for (size_t i = 2; i < line->count; i++) {
        const char *const size = kernel_value(line->words[i], "bytes");
        const char *const fill = kernel_value(line->words[i], "fill");
        const char *const path = kernel_value(line->words[i], "file");
        bool good = true;
        if (size != NULL) {
            good = description_count(&reader->description, line, size, sizes, &bytes);
        } else if (fill != NULL) {
            good = description_count(&reader->description, line, fill,
                                     (struct kernel_limits){0, UINT8_MAX}, &byte);
        } else if (path != NULL) {
            file = path;
        } else if (strcmp(line->words[i], "constant") == 0) {
            buffer.constant = true;
        } else {
            good = FAIL(reader, line, "a buffer has no '%.60s'", line->words[i]);
        }
        if (!good) {
            return false;
        }
    }
    if (bytes == 0) {
        return FAIL(reader, line, "buffer '%.60s' needs bytes=", line->words[1]);
    }
    buffer.bytes = (size_t)bytes;
    if (!allocate_buffer(reader, line, (int)byte, &buffer) ||
        (file != NULL && !fill_from_file(reader, line, file, &buffer))) {
        return false;
    }
    gpu_write(buffer.memory, buffer.fill, buffer.bytes);
    reader->chain->result_bytes += buffer.constant ? 0 : buffer.bytes;
    return true;
}

/* ---- kernels ----------------------------------------------------------------------------------- */

static bool add_choice(struct reader *reader, const struct description_line *line, int trigger,
                       struct tune_kind *kind)
{
    for (size_t i = 0; i < kind->count; i++) {
        if (kind->items[i].trigger == trigger) {
            return FAIL(reader, line, "triggers= has %d twice", trigger);
        }
    }
    if (find_image(reader, trigger) == NULL) {
        return FAIL(reader, line, "there is no image for trigger %d", trigger);
    }
    APPEND(kind, (struct tune_choice){.trigger = trigger});
    return true;
}

/* The triggers to try: those of a list, or of all images. */
static bool read_triggers(struct reader *reader, const struct description_line *line,
                          const char *list, struct tune_kind *kind)
{
    bool good = true;
    for (size_t i = 0; list == NULL && i < reader->images.count; i++) {
        APPEND(kind, (struct tune_choice){.trigger = reader->images.items[i].trigger});
    }
    char *const copy = copy_text(list != NULL ? list : "");
    char *rest = list != NULL ? copy : NULL;
    while (good && rest != NULL) {
        int trigger = 0;
        good = read_trigger(reader, line, strsep(&rest, ","), &trigger) &&
               add_choice(reader, line, trigger, kind);
    }
    free(copy);
    return good && (kind->count > 0 || FAIL(reader, line, "images come before the kernels"));
}

/* What the search begins with: trigger=, or 0 if that is to be tried, or the first. */
static bool find_start(struct reader *reader, const struct description_line *line,
                       const char *given, struct tune_kind *kind)
{
    int trigger = 0;
    if (given != NULL && !read_trigger(reader, line, given, &trigger)) {
        return false;
    }
    for (size_t i = 0; i < kind->count; i++) {
        if (kind->items[i].trigger == trigger) {
            kind->start = i;
            return true;
        }
    }
    return given == NULL || FAIL(reader, line, "trigger=%d is not one of the triggers", trigger);
}

/* Whether launches overlap; with `both`, each choice is tried without as well. */
static bool read_overlap(struct reader *reader, const struct description_line *line,
                         const char *text, struct tune_kind *kind)
{
    const bool both = text != NULL && strcmp(text, "both") == 0;
    const size_t count = kind->count;
    kind->never = text != NULL && strcmp(text, "no") == 0;
    if (text != NULL && !kind->never && !both && strcmp(text, "yes") != 0) {
        return FAIL(reader, line, "overlap is yes, no or both, not '%.60s'", text);
    }
    for (size_t i = 0; both && i < count; i++) {
        struct tune_choice choice = kind->items[i];
        choice.serial = true;
        APPEND(kind, choice);
    }
    return true;
}

static bool set_extent(struct reader *reader, const struct description_line *line,
                       const struct kernel_extent *extent, uint32_t to[3])
{
    for (int i = 0; i < 3 && extent->axes > 0; i++) {
        if (extent->each[i] > INT32_MAX) {
            return FAIL(reader, line, "a grid has at most %d blocks along an axis", INT32_MAX);
        }
        to[i] = (uint32_t)extent->each[i];
    }
    return true;
}

static bool set_launch(struct reader *reader, const struct description_line *line,
                       const struct kernel_resources *resources, pdl_launch_desc *desc)
{
    pdl_launch_desc_init(desc);
    if (resources->grid.axes == 0 || resources->block.axes == 0) {
        return FAIL(reader, line, "kernel '%.60s' needs grid= and block=", line->words[1]);
    }
    if (resources->registers >= 0 || resources->shared >= 0) {
        return FAIL(reader, line, "registers and static shared memory are those of the code");
    }
    if (resources->dynamic >= 0) {
        desc->dynamic_shared_memory = (uint32_t)resources->dynamic;
    }
    if (resources->carveout >= 0) {
        desc->shared_memory_carveout = (uint32_t)resources->carveout;
        desc->flags |= PDL_LAUNCH_SET_SHARED_MEMORY_CARVEOUT;
    }
    return set_extent(reader, line, &resources->grid, desc->grid) &&
           set_extent(reader, line, &resources->block, desc->block) &&
           set_extent(reader, line, &resources->cluster, desc->cluster);
}

/* kernel NAME grid=XxYxZ block=XxYxZ ... */
static bool read_kernel(struct reader *reader, const struct description_line *line)
{
    enum { CODE, TRIGGERS, TRIGGER, OVERLAP, OWN };
    static const char *const keys[OWN] = {"code", "triggers", "trigger", "overlap"};
    const char *own[OWN] = {NULL};
    struct kernel_resources resources = KERNEL_RESOURCES_INIT;
    struct tune_chain *const chain = reader->chain;
    if (line->count < 2) {
        return FAIL(reader, line, "a kernel needs a name");
    }
    if (name_index(&reader->kinds, line->words[1]) < chain->kind_count) {
        return FAIL(reader, line, "there is a kernel '%.60s' already", line->words[1]);
    }
    for (size_t i = 2; i < line->count; i++) {
        struct kernel_limits limits;
        enum kernel_word taken = kernel_take(&resources, line->words[i], &limits);
        for (int key = 0; key < OWN && taken == KERNEL_OTHER; key++) {
            const char *const value = kernel_value(line->words[i], keys[key]);
            own[key] = value != NULL ? value : own[key];
            taken = value != NULL ? KERNEL_TAKEN : KERNEL_OTHER;
        }
        if (taken == KERNEL_WRONG) {
            return description_fail_count(&reader->description, line,
                                          strchr(line->words[i], '=') + 1, limits);
        }
        if (taken == KERNEL_OTHER) {
            return FAIL(reader, line, "a kernel has no '%.60s'", line->words[i]);
        }
    }
    chain->kinds =
        room_for_one(chain->kinds, chain->kind_count, &chain->kind_capacity, sizeof(*chain->kinds));
    struct tune_kind *const kind = &chain->kinds[chain->kind_count++];
    *kind = (struct tune_kind){.line = line->number,
                               .name = copy_text(line->words[1]),
                               .kernel = copy_text(own[CODE] != NULL ? own[CODE] : line->words[1])};
    return set_launch(reader, line, &resources, &kind->desc) &&
           read_triggers(reader, line, own[TRIGGERS], kind) &&
           find_start(reader, line, own[TRIGGER], kind) &&
           read_overlap(reader, line, own[OVERLAP], kind);
}

/* The kernel of a choice: of two, with and without overlap, the same one. */
static bool load_kernel(struct reader *reader, const struct description_line *line,
                        const struct tune_kind *kind, struct tune_choice *choice)
{
    enum { WITHOUT_ASKING = 48 * 1024 };
    const struct image *const image = find_image(reader, choice->trigger);
    const uint32_t shared = kind->desc.dynamic_shared_memory;
    for (const struct tune_choice *other = kind->items; other < choice; other++) {
        if (other->trigger == choice->trigger) {
            choice->kernel = other->kernel;
            return true;
        }
    }
    pdl_image *loaded = NULL;
    pdl_status status = pdl_image_load(image->bytes, image->size, &loaded);
    if (status == PDL_SUCCESS) {
        status = pdl_image_kernel(loaded, kind->kernel, &choice->kernel);
        pdl_image_free(loaded);
    }
    if (status == PDL_SUCCESS) {
        APPEND(&reader->chain->kernels, choice->kernel);
    }
    if (status == PDL_SUCCESS && shared > WITHOUT_ASKING) {
        status = pdl_kernel_set_attribute(choice->kernel, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY,
                                          (int32_t)shared);
    }
    return status == PDL_SUCCESS || FAIL(reader, line, "kernel %s, trigger %d: %s", kind->kernel,
                                         choice->trigger, pdl_last_error()->message);
}

/* ---- launches and their arguments --------------------------------------------------------------- */

/* A value of a parameter, with the size that it is aligned to as well. */
struct value {
    unsigned char bytes[8];
    size_t size;
};

/* TYPE:NUMBER */
static bool read_number(struct reader *reader, const struct description_line *line,
                        const char *word, struct value *to)
{
    static const struct {
        const char *name;
        size_t size;
        double least, most; /* of whole numbers; both 0: of any */
    } types[] = {
        {"i32:", 4, INT32_MIN, INT32_MAX},
        {"u32:", 4, 0, UINT32_MAX},
        {"i64:", 8, -0x1p63, 0x1p63},
        {"u64:", 8, 0, 0x1p63},
        {"f32:", 4, 0, 0},
        {"f64:", 8, 0, 0},
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strncmp(word, types[i].name, strlen(types[i].name)) != 0) {
            continue;
        }
        const char *const text = word + strlen(types[i].name);
        char *end = NULL;
        const double number = strtod(text, &end);
        const float single = (float)number;
        bool good = end != text && *end == '\0';
        to->size = types[i].size;
        if (types[i].most == 0) {
            memcpy(to->bytes, to->size == sizeof(single) ? (const void *)&single : &number,
                   to->size);
        } else {
            errno = 0;
            const long long whole = strtoll(text, &end, 0);
            good = good && *end == '\0' && errno == 0 && number >= types[i].least &&
                   number <= types[i].most;
            memcpy(to->bytes, &whole, to->size); /* the low half first */
        }
        return good || FAIL(reader, line, "'%.60s' is not a number of that type", word);
    }
    return FAIL(reader, line, "the types of numbers are i32, u32, i64, u64, f32 and f64");
}

/* BUFFER[+OFFSET] or TYPE:NUMBER */
static bool read_value(struct reader *reader, const struct description_line *line, const char *word,
                       struct value *to)
{
    const size_t length = strcspn(word, "+");
    int64_t offset = 0;
    uint32_t index = 0;
    if (strchr(word, ':') != NULL) {
        return read_number(reader, line, word, to);
    }
    char *const name = format_text("%.*s", (int)length, word);
    const bool found = pdl_names_find(&reader->buffers, name, &index);
    free(name);
    if (!found || index >= reader->chain->buffers.count) {
        return FAIL(reader, line, "there is no buffer '%.60s'", word);
    }
    const struct tune_buffer *const buffer = &reader->chain->buffers.items[index];
    if (word[length] == '+' &&
        !description_count(&reader->description, line, word + length + 1,
                           (struct kernel_limits){0, (int64_t)buffer->bytes - 1}, &offset)) {
        return false;
    }
    const CUdeviceptr address = buffer->memory + (size_t)offset;
    memcpy(to->bytes, &address, sizeof(address));
    to->size = sizeof(address);
    return true;
}

static size_t aligned(size_t at, size_t align)
{
    return (at + align - 1) / align * align;
}

/* A value, or { VALUE... }, a struct whose members lie where a C compiler puts them. Moves *at behind it. */
static bool read_argument(struct reader *reader, const struct description_line *line, size_t *at,
                          struct tune_link *link)
{
    const bool is_struct = strcmp(line->words[*at], "{") == 0;
    size_t used = 0;
    size_t widest = 1;
    size_t i = *at + is_struct;
    unsigned char *const bytes = allocate(line->count, 2 * sizeof(int64_t)); /* aligned, too */
    link->args[link->count++] = bytes;
    for (; i < line->count && strcmp(line->words[i], "}") != 0; i++) {
        struct value value = {.size = 1};
        if (!read_value(reader, line, line->words[i], &value)) {
            return false;
        }
        used = aligned(used, value.size);
        memcpy(bytes + used, value.bytes, value.size);
        used += value.size;
        widest = value.size > widest ? value.size : widest;
        if (!is_struct) {
            break;
        }
    }
    link->sizes[link->count - 1] = aligned(used, widest);
    *at = i + 1;
    return (used > 0 && i < line->count) || FAIL(reader, line, "a struct is { VALUE ... }");
}

/* launch KERNEL VALUE... */
static bool read_launch(struct reader *reader, const struct description_line *line)
{
    struct tune_chain *const chain = reader->chain;
    uint32_t kind = 0;
    if (line->count < 2 || !pdl_names_find(&reader->kinds, line->words[1], &kind)) {
        return FAIL(reader, line, "there is no kernel '%.60s'",
                    line->count > 1 ? line->words[1] : "");
    }
    if (chain->links.count == DESCRIPTION_LAUNCHES_MOST) {
        return FAIL(reader, line, "more than %d launches", DESCRIPTION_LAUNCHES_MOST);
    }
    APPEND(&chain->links, ((struct tune_link){.kind = kind,
                                              .line = line->number,
                                              .args = allocate(line->count, sizeof(void *)),
                                              .sizes = allocate(line->count, sizeof(size_t))}));
    for (size_t i = 2; i < line->count;) {
        if (!read_argument(reader, line, &i, &chain->links.items[chain->links.count - 1])) {
            return false;
        }
    }
    return true;
}

/* ---- the file ------------------------------------------------------------------------------------ */

static bool take_line(struct description *description, const struct description_line *line)
{
    static const struct {
        const char *word;
        bool (*read)(struct reader *reader, const struct description_line *line);
    } words[] = {{"image", read_image},
                 {"buffer", read_buffer},
                 {"kernel", read_kernel},
                 {"launch", read_launch}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(words[i].word, line->words[0]) == 0) {
            return words[i].read(description->self, line);
        }
    }
    return description_fail(description, line, "unknown word '%.60s'", line->words[0]);
}

/* What can be known when all lines are. */
static bool finish(struct reader *reader)
{
    struct tune_chain *const chain = reader->chain;
    const struct description_line line = {.number = 1};
    if (chain->links.count == 0) {
        return FAIL(reader, &line, "nothing is launched");
    }
    if (chain->result_bytes == 0) {
        return FAIL(reader, &line,
                    "all buffers are constant: there is no result that could be checked");
    }
    for (size_t i = 0; i < chain->kind_count; i++) {
        struct tune_kind *const kind = &chain->kinds[i];
        const struct description_line own = {.number = kind->line};
        for (size_t j = 0; j < kind->count; j++) {
            if (!load_kernel(reader, &own, kind, &kind->items[j])) {
                return false;
            }
        }
    }
    return true;
}

bool tune_read(struct tune_chain *chain, const char *path)
{
    struct reader reader = {.description = {.file = path, .take = take_line}, .chain = chain};
    const struct description_line line = {.number = 1};
    const char *const slash = strrchr(path, '/');
    size_t size = 0;
    reader.description.self = &reader;
    char *const text = file_read(path, &size);
    chain->name = copy_text(path);
    reader.directory =
        slash == NULL ? copy_text(".") : format_text("%.*s", (int)(slash - path), path);
    const bool read = text != NULL
                          ? description_read(&reader.description, text, size) && finish(&reader)
                          : FAIL(&reader, &line, "%s", strerror(errno));
    for (size_t i = 0; i < reader.images.count; i++) {
        free(reader.images.items[i].bytes);
    }
    free(reader.images.items);
    pdl_names_free(&reader.buffers);
    pdl_names_free(&reader.kinds);
    free(reader.directory);
    free(text);
    return read;
}
