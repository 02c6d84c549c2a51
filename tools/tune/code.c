/* SPDX-License-Identifier: MIT */
/* The kernels of a chain, of a file for each trigger. */
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "tune/read.h"

/* The images for one trigger. */
struct variant {
    int trigger;
    void *images[TUNE_CODES]; /* NULL: there are no faulty ones */
    size_t sizes[TUNE_CODES];
};

static bool read_image(const struct reader *reader, const char *where, const json_t *images,
                       int code, struct variant *variant)
{
    char key[16];
    (void)snprintf(key, sizeof(key), "%d", variant->trigger);
    const json_t *const path = json_object_get(images, key);
    if (!json_is_string(path)) {
        return path == NULL
                   ? complain(reader, where, "there is none for trigger %d", variant->trigger)
                   : complain(reader, where, "\"%s\" is a string", key);
    }
    variant->images[code] =
        read_file(reader, where, json_string_value(path), &variant->sizes[code]);
    return variant->images[code] != NULL;
}

static bool load_kernel(const struct reader *reader, const struct variant *variant, int code,
                        const struct tune_kind *kind, pdl_kernel **kernel)
{
    enum { WITHOUT_ASKING = 48 * 1024 };
    const uint32_t shared = kind->desc.dynamic_shared_memory;
    pdl_image *image = NULL;
    pdl_status status = pdl_image_load(variant->images[code], variant->sizes[code], &image);
    if (status == PDL_SUCCESS) {
        status = pdl_image_kernel(image, kind->kernel, kernel);
        pdl_image_free(image);
    }
    if (status == PDL_SUCCESS) {
        APPEND(&reader->chain->kernels, *kernel);
    }
    if (status == PDL_SUCCESS && shared > WITHOUT_ASKING) {
        status = pdl_kernel_set_attribute(*kernel, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY,
                                          (int32_t)shared);
    }
    return status == PDL_SUCCESS || complain(reader, "", "kernel %s, trigger %d: %s", kind->kernel,
                                             variant->trigger, pdl_last_error()->message);
}

/* The kernels of all choices with the variant's trigger: of two, with and without overlap, the same one. */
static bool load_kernels(const struct reader *reader, const struct variant *variant, int code)
{
    for (size_t i = 0; i < reader->chain->kind_count; i++) {
        struct tune_kind *const kind = &reader->chain->kinds[i];
        pdl_kernel *kernel = NULL;
        for (size_t j = 0; j < kind->count; j++) {
            if (kind->items[j].trigger != variant->trigger) {
                continue;
            }
            if (kernel == NULL && !load_kernel(reader, variant, code, kind, &kernel)) {
                return false;
            }
            kind->items[j].kernels[code] = kernel;
        }
    }
    return true;
}

static bool load_variant(const struct reader *reader, const json_t *images, const json_t *faulty,
                         int trigger)
{
    struct variant variant = {.trigger = trigger};
    const bool loaded =
        read_image(reader, "images", images, TUNE_PLAIN, &variant) &&
        load_kernels(reader, &variant, TUNE_PLAIN) &&
        (faulty == NULL || (read_image(reader, "faulty", faulty, TUNE_FAULTY, &variant) &&
                            load_kernels(reader, &variant, TUNE_FAULTY)));
    free(variant.images[TUNE_PLAIN]);
    free(variant.images[TUNE_FAULTY]);
    return loaded;
}

bool read_code(const struct reader *reader, const json_t *images, const json_t *faulty)
{
    if (!json_is_object(images) || (faulty != NULL && !json_is_object(faulty))) {
        return complain(reader, json_is_object(images) ? "faulty" : "images",
                        "an object with a file for each trigger is wanted here");
    }
    for (size_t i = 0; i < reader->chain->kind_count; i++) {
        const struct tune_kind *const kind = &reader->chain->kinds[i];
        for (size_t j = 0; j < kind->count; j++) {
            if (kind->items[j].kernels[TUNE_PLAIN] == NULL &&
                !load_variant(reader, images, faulty, kind->items[j].trigger)) {
                return false;
            }
        }
    }
    return true;
}
