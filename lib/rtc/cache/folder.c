/* SPDX-License-Identifier: MIT */
/* Looking after a folder: pdl_rtc_folder_list() and pdl_rtc_folder_trim(). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "rtc/cache/entry.h"
#include "rtc/cache/files.h"
#include "rtc/directory.h"

/* Opens the base; -1 where there is none yet. */
static pdl_status open_base(const char *directory, bool read_only, int *base)
{
    char why[256] = "";
    char *standard = NULL;
    if (directory == NULL) {
        standard = pdl_rtc_directory_default();
        directory = standard;
    }
    if (directory == NULL) {
        return PDL_FAIL(PDL_ERROR_CACHE, "there is no default cache folder: neither "
                                         "PDL_RTC_CACHE_DIR, XDG_CACHE_HOME nor HOME is set");
    }
    pdl_status status = PDL_SUCCESS;
    *base = -1;
    switch (pdl_rtc_files_open(directory, false, read_only, base, why, sizeof(why))) {
    case PDL_RTC_FILES_OPEN:
        break;
    case PDL_RTC_FILES_NONE:
        if (access(directory, F_OK) == 0) {
            break; /* a folder without a cache in it: an empty one */
        }
        status = PDL_FAIL(PDL_ERROR_CACHE, "there is no folder %s", directory);
        break;
    case PDL_RTC_FILES_REFUSED:
        status =
            PDL_FAIL(PDL_ERROR_CACHE, "the cache's folder %s cannot be used: %s", directory, why);
        break;
    }
    free(standard);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * A file
 * ---------------------------------------------------------------------------------------------- */

static const char *read_damage(int error)
{
    return error == ELOOP    ? "it is a symbolic link"
           : error == EINVAL ? "it is no regular file"
           : error == EFBIG  ? "it is a huge file"
                             : "it cannot be read";
}

/* Reads a file of the list. Returns why it cannot be used, NULL with the image; `*gone` if it is not there
 * any more. */
static const char *read_file(int base, const char *name, pdl_rtc_image **image, bool *gone)
{
    size_t size = 0;
    unsigned char *bytes = NULL;
    *gone = false;
    const int part = pdl_rtc_files_part(base, name, true);
    if (part >= 0) {
        bytes = pdl_rtc_files_read(part, name + 3, false, &size);
    }
    const int error = errno;
    if (part >= 0) {
        (void)close(part);
    }
    if (bytes == NULL) {
        *gone = error == ENOENT;
        return read_damage(error);
    }
    struct pdl_rtc_key named;
    const char *damage = pdl_rtc_entry_read(bytes, size, NULL, image);
    if (damage == NULL) {
        const struct pdl_rtc_key key = pdl_rtc_entry_key(bytes);
        (void)pdl_rtc_files_parse(name, &named);
        if (!pdl_rtc_hash_equal(key.text, named.text) || key.compilers != named.compilers) {
            damage = "its name is not its own";
            pdl_rtc_image_destroy(*image);
            *image = NULL;
        }
    }
    free(bytes);
    return damage;
}

static const char *kernel_name(const struct pdl_rtc_image_kernel *kernel)
{
    return kernel->expression != NULL ? kernel->expression : kernel->name;
}

/* The names of an image's kernels, a line each; NULL without memory. */
static char *kernel_names(const pdl_rtc_image *image)
{
    size_t size = 1;
    for (size_t i = 0; i < image->kernel_count; i++) {
        size += strlen(kernel_name(&image->kernels[i])) + 1;
    }
    char *names = malloc(size);
    if (names == NULL) {
        return NULL;
    }
    char *at = names;
    for (size_t i = 0; i < image->kernel_count; i++) {
        at = stpcpy(at, i > 0 ? "\n" : "");
        at = stpcpy(at, kernel_name(&image->kernels[i]));
    }
    *at = '\0';
    return names;
}

/* ------------------------------------------------------------------------------------------------
 * The calls
 * ---------------------------------------------------------------------------------------------- */

/* Shows a file to the visitor; other than 0 ends the list. */
static int32_t show(int base, const struct pdl_rtc_file_found *found,
                    int32_t (*visit)(void *context, const pdl_rtc_file *file), void *context)
{
    char name[sizeof(PDL_RTC_FILES_BASE) + PDL_RTC_FILE_NAME];
    pdl_rtc_image *image = NULL;
    bool gone = false;
    (void)snprintf(name, sizeof(name), "%s/%s", PDL_RTC_FILES_BASE, found->name);
    const char *damage = read_file(base, found->name, &image, &gone);
    if (gone) {
        return 0;
    }
    pdl_rtc_file file = {.size = (uint32_t)sizeof(file),
                         .name = name,
                         .program = "",
                         .target = "",
                         .kernels = "",
                         .damage = damage,
                         .bytes = found->size,
                         .used = found->used / 1000000000};
    char *kernels = NULL;
    if (image != NULL) {
        kernels = kernel_names(image);
        file.program = image->program;
        file.target = image->target;
        file.kernels = kernels != NULL ? kernels : "";
        file.compiler_version = image->compiler_version;
        file.output = image->output;
    }
    const int32_t result = visit(context, &file);
    free(kernels);
    pdl_rtc_image_destroy(image);
    return result;
}

pdl_status pdl_rtc_folder_list(const char *directory,
                               int32_t (*visit)(void *context, const pdl_rtc_file *file),
                               void *context, uint64_t *bytes)
{
    struct pdl_rtc_file_list list = {0};
    int base;
    pdl_status status = open_base(directory, true, &base);
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (base >= 0 && !pdl_rtc_files_list(base, false, &list, NULL)) {
        (void)close(base);
        return PDL_NO_MEMORY();
    }
    for (size_t i = 0; i < list.count && visit != NULL; i++) {
        if (show(base, &list.items[i], visit, context) != 0) {
            break;
        }
    }
    if (bytes != NULL) {
        *bytes = list.bytes;
    }
    pdl_rtc_files_free(&list);
    if (base >= 0) {
        (void)close(base);
    }
    return PDL_SUCCESS;
}

/* Leaves in the list what is damaged. */
static void keep_damaged(int base, struct pdl_rtc_file_list *list)
{
    size_t kept = 0;
    list->bytes = 0;
    for (size_t i = 0; i < list->count; i++) {
        pdl_rtc_image *image = NULL;
        bool gone = false;
        const char *damage = read_file(base, list->items[i].name, &image, &gone);
        pdl_rtc_image_destroy(image);
        if (damage != NULL && !gone) {
            list->bytes += list->items[i].size;
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
}

pdl_status pdl_rtc_folder_trim(const char *directory, uint64_t capacity, uint32_t damaged_only,
                               uint64_t *removed)
{
    struct pdl_rtc_file_list list = {0};
    uint64_t count = 0;
    int base;
    pdl_status status = open_base(directory, false, &base);
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (base >= 0) {
        if (!pdl_rtc_files_list(base, damaged_only == 0, &list, &count)) {
            (void)close(base);
            return PDL_NO_MEMORY();
        }
        if (damaged_only != 0) {
            keep_damaged(base, &list);
            capacity = 0;
        }
        count += pdl_rtc_files_evict(base, &list, capacity, NULL);
        pdl_rtc_files_free(&list);
        (void)close(base);
    }
    if (removed != NULL) {
        *removed = count;
    }
    return PDL_SUCCESS;
}
