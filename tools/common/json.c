/* SPDX-License-Identifier: MIT */
#include "common/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common/demangle.h"
#include "common/file.h"
#include "common/memory.h"
#include "common/shown.h"
#include "trace/text.h"

static json_t *made(json_t *value)
{
    if (value == NULL) {
        (void)fputs("pdltool: error: out of memory\n", stderr);
        exit(EXIT_USAGE);
    }
    return value;
}

json_t *json_read(const char *path, char **why)
{
    json_error_t error;
    size_t size = 0;
    char *const text = file_read(path, &size);
    if (text == NULL) {
        *why = copy_text(strerror(errno));
        return NULL;
    }
    json_t *const root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL) {
        *why = format_text("line %d, column %d: %s", error.line, error.column, error.text);
    }
    free(text);
    return root;
}

json_t *json_text(const char *text)
{
    if (text == NULL) {
        return json_null();
    }
    json_t *value = json_string(text);
    if (value != NULL) {
        return value;
    }
    char *copy = NULL; /* not UTF-8, as file names need not be */
    size_t size = 0;
    FILE *const to = memory_open(&copy, &size);
    for (uint32_t c = pdl_text_next(&text); c != 0; c = pdl_text_next(&text)) {
        pdl_text_put(to, c);
    }
    memory_close(to);
    value = made(json_string(copy));
    free(copy);
    return value;
}

json_t *json_shown(const char *text)
{
    char *cut = text != NULL ? shown(text) : NULL;
    json_t *value = json_text(cut);
    free(cut);
    return value;
}

json_t *json_number(int64_t number)
{
    return made(json_integer(number));
}

json_t *json_number_from(int64_t number, int64_t least)
{
    return number >= least ? json_number(number) : json_null();
}

void json_set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0) {
        (void)made(NULL);
    }
}

void json_add(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0) {
        (void)made(NULL);
    }
}

json_t *json_new_object(void)
{
    return made(json_object());
}

json_t *json_new_array(void)
{
    return made(json_array());
}

const char *kind_name(int32_t kind)
{
    switch (kind) {
    case PDL_INSPECT_PTX:
        return "ptx";
    case PDL_INSPECT_SASS:
        return "sass";
    case PDL_INSPECT_LTO:
        return "lto";
    case PDL_INSPECT_TILE:
        return "tile";
    default:
        return "unknown";
    }
}

json_t *json_place(const pdl_inspect_place *place)
{
    if (place == NULL) {
        return json_null();
    }
    json_t *object = json_new_object();
    json_set(object, "file", json_shown(place->file));
    json_set(object, "line", json_number_from(place->line, 1));
    json_set(object, "column", json_number_from(place->column, 1));
    json_set(object, "function", json_shown(place->inlined));
    return object;
}

static json_t *json_image(const pdl_inspect_image *image, size_t input)
{
    json_t *object = json_new_object();
    char *target = target_name(image);
    json_set(object, "input", json_number((int64_t)input));
    json_set(object, "origin", json_shown(image->origin));
    json_set(object, "kind", json_text(kind_name(image->kind)));
    json_set(object, "target", json_text(target));
    json_set(object, "compressed", json_boolean(image->compressed));
    json_set(object, "unread", json_shown(image->unread));
    json_set(object, "read_as", json_number_from(image->read_as, 1));
    free(target);
    if (image->ptx_version > 0) {
        char *version = format_text("%u.%u", image->ptx_version / 10u, image->ptx_version % 10u);
        json_set(object, "ptx_version", json_text(version));
        free(version);
    } else {
        json_set(object, "ptx_version", json_null());
    }
    return object;
}

json_t *json_document(const struct inputs *inputs)
{
    json_t *root = json_new_object();
    json_t *files = json_new_array();
    json_t *images = json_new_array();
    const unsigned version = pdl_version();
    char *tool =
        format_text("pdltool %u.%u.%u", version / 10000, version / 100 % 100, version % 100);
    for (size_t i = 0; i < inputs->count; i++) {
        const struct input *input = &inputs->items[i];
        json_t *file = json_new_object();
        json_set(file, "name", json_shown(input->name));
        json_set(file, "error",
                 json_shown(input->inspection == NULL ? input->error.message : NULL));
        json_set(file, "line", json_number_from(input->error.line, 1));
        json_set(file, "column", json_number_from(input->error.column, 1));
        json_add(files, file);
        const size_t count =
            input->inspection != NULL ? pdl_inspection_image_count(input->inspection) : 0;
        for (size_t m = 0; m < count; m++) {
            json_add(images, json_image(pdl_inspection_image(input->inspection, m), i));
        }
    }
    json_set(root, "version", json_number(1));
    json_set(root, "tool", json_text(tool));
    json_set(root, "inputs", files);
    json_set(root, "images", images);
    free(tool);
    return root;
}

static json_t *json_extent(const uint32_t extent[3])
{
    json_t *const array = extent[0] > 0 ? json_new_array() : json_null();
    for (int i = 0; i < 3 && extent[0] > 0; i++) {
        json_add(array, json_number(extent[i]));
    }
    return array;
}

/* What code says of launches; null where it says nothing. */
static json_t *json_bounds(const pdl_kernel_info *info)
{
    json_t *object = json_new_object();
    json_set(object, "threads", json_number_from(info->max_threads_per_block, 1));
    json_set(object, "block", json_extent(info->required_block));
    json_set(object, "per_sm", json_number_from(info->min_blocks_per_multiprocessor, 1));
    json_set(object, "cluster", json_extent(info->required_cluster));
    json_set(object, "cluster_must_be_set", json_boolean(info->cluster_must_be_set != 0));
    json_set(object, "max_cluster", json_number_from(info->max_cluster_blocks, 1));
    json_set(object, "blocks_are_clusters", json_text(known_name(info->blocks_are_clusters)));
    return object;
}

static json_t *json_kernel(const pdl_inspect_kernel *kernel, size_t first_image)
{
    const pdl_kernel_info *info = kernel->info;
    json_t *object = json_new_object();
    char *demangled = demangle(info->name);
    json_set(object, "name", json_shown(info->name));
    json_set(object, "demangled", json_text(demangled));
    json_set(object, "image", json_number((int64_t)first_image + kernel->image));
    json_set(object, "waits", json_text(known_name(info->waits)));
    json_set(object, "waits_always", json_text(known_name(info->waits_always)));
    json_set(object, "triggers", json_text(known_name(info->triggers)));
    json_set(object, "touches_memory", json_text(known_name(kernel->touches_memory)));
    json_set(object, "launch",
             json_text(kernel->launch == PDL_INSPECT_LAUNCH_PLAIN        ? "plain"
                       : kernel->launch == PDL_INSPECT_LAUNCH_OVERLAPPED ? "overlapped"
                                                                         : NULL));
    json_set(object, "wait_instructions", json_number(kernel->wait_count));
    json_set(object, "trigger_instructions", json_number(kernel->trigger_count));
    json_set(object, "registers", json_number_from(info->registers_per_thread, 0));
    json_set(object, "shared_memory", json_number_from(info->static_shared_memory, 0));
    json_set(object, "parameters", json_number_from(info->parameter_count, 0));
    json_set(object, "bounds", json_bounds(info));
    json_set(object, "place", json_place(kernel->place));
    json_set(object, "ptx_line", json_number_from(kernel->line, 1));
    json_set(object, "unchecked", json_shown(kernel->unchecked));
    free(demangled);
    return object;
}

json_t *json_kernels(const struct inputs *inputs, kernel_filter *wanted, const void *context)
{
    json_t *kernels = json_new_array();
    size_t first_image = 0;
    for (size_t i = 0; i < inputs->count; i++) {
        const pdl_inspection *inspection = inputs->items[i].inspection;
        const size_t count = inspection != NULL ? pdl_inspection_kernel_count(inspection) : 0;
        for (size_t k = 0; k < count; k++) {
            const pdl_inspect_kernel *const kernel = pdl_inspection_kernel(inspection, k);
            if (wanted == NULL ||
                wanted(context, pdl_inspection_image(inspection, kernel->image), kernel)) {
                json_add(kernels, json_kernel(kernel, first_image));
            }
        }
        first_image += inspection != NULL ? pdl_inspection_image_count(inspection) : 0;
    }
    return kernels;
}

/* Of the characters that a terminal does not show, jansson leaves one as it is. It is in strings only. */
static int print_part(const char *text, size_t size, void *to)
{
    for (const char *const end = text + size; text < end;) {
        const char *found = memchr(text, 0x7f, (size_t)(end - text));
        const size_t plain = (size_t)((found != NULL ? found : end) - text);
        if (fwrite(text, 1, plain, to) != plain || (found != NULL && fputs("\\u007f", to) == EOF)) {
            return -1;
        }
        text += plain + (found != NULL);
    }
    return 0;
}

bool json_print(json_t *root)
{
    const bool written =
        json_dump_callback(root, print_part, stdout,
                           JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12)) == 0 &&
        putchar('\n') != EOF && fflush(stdout) == 0;
    json_decref(root);
    return written;
}
