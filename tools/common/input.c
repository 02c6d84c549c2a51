/* SPDX-License-Identifier: MIT */
#include "common/input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cuobjdump.h"
#include "common/file.h"
#include "common/memory.h"
#include "common/print.h"

enum { DEEPEST_DIRECTORY = 64 };

/* The most that is read from a pipe: what the library reads of a PTX text. */
#define LONGEST_STREAM ((size_t)512 << 20)

/* Where an input's bytes are: in a file or, where `path` is NULL, in memory. */
struct source {
    const char *name;
    const char *path;
    const void *bytes;
    size_t size;
    bool found; /* in a directory, not named by the user */
};

/* ---- messages ---------------------------------------------------------------------------------*/

static void say(const char *name, const char *level, const char *message)
{
    print_plain(stderr, name);
    (void)fprintf(stderr, ": %s: ", level);
    print_plain(stderr, message);
    (void)putc('\n', stderr);
}

static void add(struct inputs *inputs, const char *name, pdl_inspection *inspection,
                const pdl_inspect_error *error)
{
    const struct input input = {.name = copy_text(name),
                                .inspection = inspection,
                                .owner = inputs->owner,
                                .error = error != NULL ? *error : (pdl_inspect_error){0}};
    APPEND(inputs, input);
}

/* An input that could not be read, and a line that says so. */
static void add_failed(struct inputs *inputs, const char *name, const pdl_inspect_error *error)
{
    print_plain(stderr, name);
    if (error->line > 0) {
        (void)fprintf(stderr, ":%u", (unsigned)error->line);
        if (error->column > 0) {
            (void)fprintf(stderr, ":%u", (unsigned)error->column);
        }
    }
    (void)fputs(": error: ", stderr);
    print_plain(stderr, error->message);
    (void)putc('\n', stderr);
    add(inputs, name, NULL, error);
    inputs->incomplete = true;
}

void inputs_add_failed(struct inputs *inputs, const char *name, const char *why)
{
    pdl_inspect_error error = {.size = (uint32_t)sizeof(error), .status = PDL_ERROR_FILE};
    (void)snprintf(error.message, sizeof(error.message), "%s", why);
    add_failed(inputs, name, &error);
}

/* ---- what the library could not read ----------------------------------------------------------*/

/* Whether a kernel is in code of the inspection that was read; `image`, if it is not NULL, says for
 * which target it has to be. */
static bool has_kernel(const pdl_inspection *inspection, const char *name,
                       const pdl_inspect_image *target)
{
    const size_t count = pdl_inspection_kernel_count(inspection);
    for (size_t i = 0; i < count; i++) {
        const pdl_inspect_kernel *kernel = pdl_inspection_kernel(inspection, i);
        const pdl_inspect_image *image = pdl_inspection_image(inspection, kernel->image);
        if (image->unread == NULL && strcmp(kernel->info->name, name) == 0 &&
            (target == NULL || (image->kind == target->kind && image->target == target->target &&
                                image->target_suffix == target->target_suffix))) {
            return true;
        }
    }
    return false;
}

/* Whether everything that was unpacked had been read before: cuobjdump unpacks all there is. */
static bool is_known(const pdl_inspection *before, const pdl_inspection *unpacked)
{
    const size_t count = pdl_inspection_kernel_count(unpacked);
    for (size_t i = 0; i < count; i++) {
        const pdl_inspect_kernel *kernel = pdl_inspection_kernel(unpacked, i);
        if (!has_kernel(before, kernel->info->name,
                        pdl_inspection_image(unpacked, kernel->image))) {
            return false;
        }
    }
    return true;
}

/* Has cuobjdump unpack the code of a kind, and reads that. Returns NULL if all went well, or why it
 * did not; the caller frees it. `before` may be NULL. */
static char *unpack(struct inputs *inputs, const struct source *source, pdl_inspect_kind kind,
                    const pdl_inspection *before)
{
    struct extraction files;
    char *why = cuobjdump_extract(&files, source->path, source->bytes, source->size, kind);
    for (size_t i = 0; why == NULL && i < files.count; i++) {
        char *path = extraction_path(&files, i);
        char *name = format_text("%s(%s)", source->name, files.items[i]);
        pdl_inspection *inspection = NULL;
        if (pdl_inspect_file(path, inputs->options, &inspection) != PDL_SUCCESS) {
            const pdl_inspect_error error = *pdl_inspect_last_error();
            why = format_text("cuobjdump unpacked %s, which cannot be read either: %s",
                              files.items[i], error.message);
        } else if (before != NULL && is_known(before, inspection)) {
            pdl_inspection_destroy(inspection);
        } else {
            add(inputs, name, inspection, NULL);
        }
        free(name);
        free(path);
    }
    extraction_remove(&files);
    return why;
}

/* Whether the kernels of an image that was not read are known, and other code of each was read. */
static bool is_covered(const pdl_inspection *inspection, const pdl_inspect_image *image)
{
    for (uint32_t i = 0; i < image->kernel_count; i++) {
        const pdl_inspect_kernel *kernel =
            pdl_inspection_kernel(inspection, (size_t)image->first_kernel + i);
        if (!has_kernel(inspection, kernel->info->name, NULL)) {
            return false;
        }
    }
    return image->kernel_count > 0;
}

static bool has_machine_code(const pdl_inspection *inspection)
{
    bool has = false;
    for (size_t i = 0; i < pdl_inspection_image_count(inspection) && !has; i++) {
        const pdl_inspect_image *image = pdl_inspection_image(inspection, i);
        has = image->kind == PDL_INSPECT_SASS && image->unread == NULL;
    }
    return has;
}

/* Says what was not unpacked because it is too much. */
static void tell_left_out(struct inputs *inputs, const struct source *source,
                          const pdl_inspection *inspection)
{
    const size_t count = pdl_inspection_image_count(inspection);
    const char *why = NULL;
    size_t left_out = 0;
    for (size_t i = 0; i < count; i++) {
        const pdl_inspect_image *image = pdl_inspection_image(inspection, i);
        why = left_out == 0 ? image->unread : why;
        left_out += image->left_out;
    }
    if (left_out > 0) {
        char *images = format_count(left_out, "image", "images");
        char *message = format_text("%s left out: %s", images, why);
        say(source->name, "error", message);
        inputs->incomplete = true;
        free(message);
        free(images);
    }
}

/* What is said of images, each once: an input may have thousands of which the same is said. */
struct sayings {
    struct pdl_names texts;
    struct saying {
        const char *origin; /* the first image's */
        const char *level;
        size_t count;
    } * items; /* by text */
    size_t capacity;
};

static void add_saying(struct sayings *sayings, const char *origin, const char *level,
                       const char *message)
{
    const uint32_t before = sayings->texts.count;
    const uint32_t index = name_index(&sayings->texts, message);
    if (index >= before) {
        sayings->items =
            room_for_one(sayings->items, index, &sayings->capacity, sizeof(*sayings->items));
        sayings->items[index] = (struct saying){origin, level, 0};
    }
    sayings->items[index].count++;
}

static void tell_sayings(struct sayings *sayings)
{
    for (uint32_t i = 0; i < sayings->texts.count; i++) {
        const struct saying *saying = &sayings->items[i];
        char *images = format_count(saying->count - 1, "more image", "more images");
        char *message = saying->count > 1 ? format_text("%s; the same holds for %s",
                                                        sayings->texts.names[i], images)
                                          : copy_text(sayings->texts.names[i]);
        say(saying->origin, saying->level, message);
        free(message);
        free(images);
    }
    free(sayings->items);
    pdl_names_free(&sayings->texts);
}

static void read_unread(struct inputs *inputs, const struct source *source,
                        const pdl_inspection *inspection)
{
    char *why[PDL_INSPECT_LTO + 1] = {NULL};
    bool tried[PDL_INSPECT_LTO + 1] = {false};
    struct sayings sayings = {0};
    const size_t count = pdl_inspection_image_count(inspection);
    for (size_t i = 0; i < count; i++) {
        const pdl_inspect_image *image = pdl_inspection_image(inspection, i);
        if (image->read_as != 0) {
            char *message = format_text("sm_%d is unknown to this version; its instructions look "
                                        "like those of sm_%d and were read as such",
                                        (int)image->target, (int)image->read_as);
            add_saying(&sayings, image->origin, "note", message);
            free(message);
        }
        if (image->unread == NULL || image->left_out) {
            continue;
        }
        const bool unpackable = image->kind == PDL_INSPECT_PTX || image->kind == PDL_INSPECT_SASS;
        const char *failure = NULL; /* NULL: no error */
        const char *more = NULL;
        if (image->kind == PDL_INSPECT_LTO) {
            /* No code yet: whoever links it makes the code that can be looked at. */
        } else if (image->kind == PDL_INSPECT_TILE && has_machine_code(inspection)) {
            more = "the cubin that was made of it was read";
        } else if (!unpackable) {
            failure = "its kernels are unknown";
        } else if (is_covered(inspection, image)) {
            more = "other code of its kernels was read";
        } else if (image->kernel_count > 0) {
            failure = "its kernels are known by name only"; /* cuobjdump could do no more */
        } else {
            if (!tried[image->kind]) {
                tried[image->kind] = true;
                why[image->kind] =
                    unpack(inputs, source, (pdl_inspect_kind)image->kind, inspection);
            }
            failure = why[image->kind];
            more = "read with cuobjdump";
        }
        more = failure != NULL ? failure : more;
        char *message = format_text("%s%s%s", image->unread, more != NULL ? "; " : "",
                                    more != NULL ? more : "");
        add_saying(&sayings, image->origin, failure != NULL ? "error" : "note", message);
        inputs->incomplete |= failure != NULL;
        free(message);
    }
    tell_sayings(&sayings);
    for (size_t i = 0; i < sizeof(why) / sizeof(why[0]); i++) {
        free(why[i]);
    }
}

/* ---- one input --------------------------------------------------------------------------------*/

bool input_is_container(const void *bytes, size_t size)
{
    return (size >= 4 && memcmp(bytes, "\177ELF", 4) == 0) ||
           (size >= 8 && memcmp(bytes, "!<arch>\n", 8) == 0) ||
           (size >= 4 && memcmp(bytes, "\x50\xed\x55\xba", 4) == 0);
}

static bool is_container_file(const char *path)
{
    char bytes[8];
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const ssize_t size = file >= 0 ? read(file, bytes, sizeof(bytes)) : -1;
    if (file >= 0) {
        (void)close(file);
    }
    return size > 0 && input_is_container(bytes, (size_t)size);
}

static void read_source(struct inputs *inputs, const struct source *source)
{
    pdl_inspection *inspection = NULL;
    const pdl_status status = source->path != NULL
                                  ? pdl_inspect_file(source->path, inputs->options, &inspection)
                                  : pdl_inspect_memory(source->bytes, source->size, source->name,
                                                       inputs->options, &inspection);
    if (status == PDL_SUCCESS) {
        add(inputs, source->name, inspection, NULL);
        tell_left_out(inputs, source, inspection);
        read_unread(inputs, source, inspection);
        return;
    }
    const pdl_inspect_error error = *pdl_inspect_last_error();
    if (source->found && status == PDL_ERROR_NO_KERNEL_IMAGE) {
        return; /* a program or a library of the host's */
    }
    const bool container = source->path != NULL ? is_container_file(source->path)
                                                : input_is_container(source->bytes, source->size);
    if (container && status == PDL_ERROR_INVALID_IMAGE && error.line == 0) {
        /* None of its code could be read. */
        char *ptx = unpack(inputs, source, PDL_INSPECT_PTX, NULL);
        char *sass = unpack(inputs, source, PDL_INSPECT_SASS, NULL);
        if (ptx == NULL || sass == NULL) {
            char *message = format_text("%s; read with cuobjdump", error.message);
            say(source->name, "note", message);
            free(message);
        } else {
            pdl_inspect_error both = error;
            (void)snprintf(both.message, sizeof(both.message), "%.300s; %.180s", error.message,
                           ptx);
            add_failed(inputs, source->name, &both);
        }
        free(ptx);
        free(sass);
        return;
    }
    const char *const suffix = strrchr(source->name, '.');
    if (suffix != NULL && strcmp(suffix, ".cu") == 0) {
        inputs_add_failed(inputs, source->name,
                          "a source: pdltool lint compiles it; this reads what nvcc -ptx makes");
    } else {
        add_failed(inputs, source->name, &error);
    }
}

/* A pipe, a terminal, or a file that is already open. */
static void read_stream(struct inputs *inputs, const char *name, FILE *file)
{
    size_t size = 0;
    char *const bytes = file_read_stream(file, LONGEST_STREAM, &size);
    if (bytes == NULL) {
        inputs_add_failed(inputs, name,
                          errno == EFBIG ? "more than 512 MiB; only files can be that large"
                                         : strerror(errno));
        return;
    }
    const struct source source = {.name = name, .bytes = bytes, .size = size};
    read_source(inputs, &source);
    free(bytes);
}

/* ---- directories ------------------------------------------------------------------------------*/

static bool ends_in(const char *text, const char *end)
{
    const size_t length = strlen(text);
    const size_t tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Links are not followed: what they lead to is either in the directory too, or not in it. */
// NOLINTNEXTLINE(misc-no-recursion): as deep as DEEPEST_DIRECTORY
static void read_directory(struct inputs *inputs, const char *path, int depth)
{
    struct dirent **entries = NULL;
    const int count = scandir(path, &entries, NULL, by_name);
    if (count < 0) {
        inputs_add_failed(inputs, path, strerror(errno));
        return;
    }
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        char *inner = format_text("%s%s%s", path, ends_in(path, "/") ? "" : "/", name);
        struct stat status;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || lstat(inner, &status) != 0) {
            /* not in it, or not any more */
        } else if (S_ISDIR(status.st_mode)) {
            if (depth < DEEPEST_DIRECTORY) {
                read_directory(inputs, inner, depth + 1);
            } else {
                inputs_add_failed(inputs, inner, "too many directories in each other");
            }
        } else if (S_ISREG(status.st_mode) &&
                   (ends_in(name, ".ptx") || ends_in(name, ".cubin") || ends_in(name, ".fatbin") ||
                    is_container_file(inner))) {
            const struct source source = {.name = inner, .path = inner, .found = true};
            read_source(inputs, &source);
        }
        free(inner);
        free(entries[i]);
    }
    free(entries);
}

void inputs_read(struct inputs *inputs, const char *argument)
{
    struct stat status;
    if (inputs->prepare != NULL) {
        inputs->prepare(inputs, argument);
    }
    if (strcmp(argument, "-") == 0) {
        read_stream(inputs, "<stdin>", stdin);
    } else if (stat(argument, &status) != 0) {
        inputs_add_failed(inputs, argument, strerror(errno));
    } else if (S_ISDIR(status.st_mode)) {
        const size_t before = inputs->count;
        read_directory(inputs, argument, 0);
        if (inputs->count == before) {
            pdl_inspect_error error = {.size = (uint32_t)sizeof(error),
                                       .status = PDL_ERROR_NO_KERNEL_IMAGE,
                                       .message = "no file with device code in this directory"};
            add_failed(inputs, argument, &error);
        }
    } else if (S_ISREG(status.st_mode)) {
        const struct source source = {.name = argument, .path = argument};
        read_source(inputs, &source);
    } else {
        FILE *const file = file_stream(argument, false);
        if (file == NULL) {
            inputs_add_failed(inputs, argument, strerror(errno));
            return;
        }
        read_stream(inputs, argument, file);
        (void)fclose(file);
    }
}

void inputs_read_memory(struct inputs *inputs, const char *name, const void *bytes, size_t size)
{
    const struct source source = {.name = name, .bytes = bytes, .size = size};
    if (inputs->prepare != NULL) {
        inputs->prepare(inputs, name);
    }
    read_source(inputs, &source);
}

void inputs_free(struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++) {
        free(inputs->items[i].name);
        pdl_inspection_destroy(inputs->items[i].inspection);
    }
    free(inputs->items);
    inputs->items = NULL;
    inputs->count = inputs->capacity = 0;
}

/* ---- names ------------------------------------------------------------------------------------*/

char *target_name(const pdl_inspect_image *image)
{
    const char suffix[2] = {image->target_suffix, '\0'};
    return format_text("%s_%d%s", image->kind == PDL_INSPECT_SASS ? "sm" : "compute",
                       (int)image->target, suffix);
}

const char *known_name(uint32_t known)
{
    return known == PDL_YES ? "yes" : known == PDL_NO ? "no" : "unknown";
}

/* Appends to a list; frees both. */
static void append(char **list, char *part)
{
    char *const longer = *list == NULL ? copy_text(part) : format_text("%s, %s", *list, part);
    free(*list);
    free(part);
    *list = longer;
}

char *bounds_text(const pdl_kernel_info *info)
{
    const uint32_t *const block = info->required_block;
    const uint32_t *const cluster = info->required_cluster;
    char *text = NULL;
    if (block[0] > 0) {
        append(&text, format_text("block %ux%ux%u", block[0], block[1], block[2]));
    } else if (info->max_threads_per_block > 0) {
        append(&text, format_text("threads <= %d", (int)info->max_threads_per_block));
    }
    if (info->min_blocks_per_multiprocessor > 0) {
        append(&text, format_text("%d per SM", (int)info->min_blocks_per_multiprocessor));
    }
    if (cluster[0] > 0) {
        append(&text, format_text("cluster %ux%ux%u", cluster[0], cluster[1], cluster[2]));
    } else if (info->cluster_must_be_set != 0) {
        append(&text, copy_text("cluster set at launch"));
    }
    if (info->max_cluster_blocks > 0) {
        append(&text, format_text("cluster <= %u", info->max_cluster_blocks));
    }
    if (info->blocks_are_clusters == PDL_YES) {
        append(&text, copy_text("grid of clusters"));
    }
    return text != NULL ? text : copy_text("-");
}
