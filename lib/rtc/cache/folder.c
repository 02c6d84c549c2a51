/* SPDX-License-Identifier: MIT */
/* Looking after a folder: pdl_rtc_folder_list() and pdl_rtc_folder_trim(). */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/path_text.h"
#include "rtc/cache/entry.h"
#include "rtc/cache/files.h"
#include "rtc/directory.h"

/* A folder that is open. */
struct folder {
    int base;       /* -1: there is none yet */
    bool read_only; /* it is root's, and this process is not */
};

static pdl_status open_base(const char *directory, bool read_only, struct folder *folder)
{
    char why[160] = "";
    char *standard = NULL;
    struct stat about;
    pdl_status status = directory == NULL ? pdl_rtc_directory_default(&standard) : PDL_SUCCESS;
    if (status != PDL_SUCCESS) {
        return status;
    }
    directory = directory != NULL ? directory : standard;
    if (directory == NULL) {
        return PDL_FAIL(PDL_ERROR_CACHE, "there is no default cache folder: neither "
                                         "PDL_RTC_CACHE_DIR, XDG_CACHE_HOME nor HOME is set");
    }
    *folder = (struct folder){.base = -1};
    switch (pdl_rtc_files_open(directory, false, read_only, &folder->base, why, sizeof(why))) {
    case PDL_RTC_FILES_OPEN:
        folder->read_only = fstat(folder->base, &about) == 0 && about.st_uid != geteuid();
        break;
    case PDL_RTC_FILES_NONE:
        if (access(directory, F_OK) == 0) {
            break; /* a folder without a cache in it: an empty one */
        }
        status = PDL_FAIL(PDL_ERROR_CACHE, "there is no folder %s", PDL_PATH(directory));
        break;
    case PDL_RTC_FILES_REFUSED:
        status = errno == ENOMEM
                     ? PDL_NO_MEMORY()
                     : PDL_FAIL(PDL_ERROR_CACHE, "the cache's folder %s cannot be used: %s",
                                pdl_path_text(directory, 180).text, why);
        break;
    }
    free(standard);
    return status;
}

static void close_base(const struct folder *folder)
{
    if (folder->base >= 0) {
        (void)close(folder->base);
    }
}

/* Where this process lacks something. */
static pdl_status fail(const char *what, int error)
{
    return error == ENOMEM
               ? PDL_NO_MEMORY()
               : PDL_FAIL(PDL_ERROR_CACHE, "%s cannot be read: %s", what, strerror(error));
}

/* ------------------------------------------------------------------------------------------------
 * A file
 * ---------------------------------------------------------------------------------------------- */

/* A file of the list, as it was read: neither an image nor damage where it is not there any more. */
struct reading {
    pdl_rtc_image *image;
    const char *damage; /* why it cannot be used */
};

static pdl_status read_file(const struct folder *folder, const char *name, struct reading *reading)
{
    size_t size = 0;
    unsigned char *bytes = NULL;
    struct pdl_rtc_key named;
    *reading = (struct reading){0};
    const int part = pdl_rtc_files_part(folder->base, name, true);
    if (part >= 0) {
        bytes =
            pdl_rtc_files_read(part, name + 3, folder->read_only, false, &size, &reading->damage);
    }
    const int error = errno;
    if (part >= 0) {
        (void)close(part);
    }
    if (bytes == NULL) {
        return error == ENOENT || reading->damage != NULL ? PDL_SUCCESS : fail(name, error);
    }
    reading->damage = pdl_rtc_entry_read(bytes, size, NULL, &reading->image);
    if (reading->damage == NULL) {
        const struct pdl_rtc_key key = pdl_rtc_entry_key(bytes);
        (void)pdl_rtc_files_parse(name, &named);
        if (!pdl_rtc_hash_equal(key.text, named.text) || key.compilers != named.compilers) {
            reading->damage = "its name does not match its contents";
            pdl_rtc_image_destroy(reading->image);
            reading->image = NULL;
        }
    }
    free(bytes);
    return reading->damage == pdl_rtc_entry_no_memory ? PDL_NO_MEMORY() : PDL_SUCCESS;
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

/* Shows a file to the visitor; `*ended` if that wants no more. */
static pdl_status show(const struct folder *folder, const struct pdl_rtc_file_found *found,
                       int32_t (*visit)(void *context, const pdl_rtc_file *file), void *context,
                       bool *ended)
{
    char name[sizeof(PDL_RTC_FILES_BASE) + PDL_RTC_FILE_NAME];
    struct reading reading;
    pdl_status status = read_file(folder, found->name, &reading);
    if (status != PDL_SUCCESS || (reading.image == NULL && reading.damage == NULL)) {
        return status;
    }
    (void)snprintf(name, sizeof(name), "%s/%s", PDL_RTC_FILES_BASE, found->name);
    pdl_rtc_file file = {.size = (uint32_t)sizeof(file),
                         .name = name,
                         .program = "",
                         .target = "",
                         .kernels = "",
                         .damage = reading.damage,
                         .bytes = found->size,
                         .used = found->used / 1000000000};
    char *kernels = NULL;
    if (reading.image != NULL) {
        kernels = kernel_names(reading.image);
        file.program = reading.image->program;
        file.target = reading.image->target;
        file.kernels = kernels;
        file.compiler_version = reading.image->compiler_version;
        file.output = reading.image->output;
    }
    if (file.kernels == NULL) {
        status = PDL_NO_MEMORY();
    } else {
        *ended = visit(context, &file) != 0;
    }
    free(kernels);
    pdl_rtc_image_destroy(reading.image);
    return status;
}

pdl_status pdl_rtc_folder_list(const char *directory,
                               int32_t (*visit)(void *context, const pdl_rtc_file *file),
                               void *context, uint64_t *bytes)
{
    struct pdl_rtc_file_list list = {0};
    struct folder folder;
    bool ended = visit == NULL;
    pdl_status status = open_base(directory, true, &folder);
    if (status != PDL_SUCCESS) {
        return status;
    }
    const int error = folder.base >= 0 ? pdl_rtc_files_list(folder.base, false, &list, NULL) : 0;
    if (error != 0) {
        status = fail("the folder", error);
    }
    for (size_t i = 0; status == PDL_SUCCESS && !ended && i < list.count; i++) {
        status = show(&folder, &list.items[i], visit, context, &ended);
    }
    if (status == PDL_SUCCESS && bytes != NULL) {
        *bytes = list.bytes;
    }
    pdl_rtc_files_free(&list);
    close_base(&folder);
    return status;
}

/* Leaves in the list what is damaged. */
static pdl_status keep_damaged(const struct folder *folder, struct pdl_rtc_file_list *list)
{
    size_t kept = 0;
    list->bytes = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct reading reading;
        const pdl_status status = read_file(folder, list->items[i].name, &reading);
        if (status != PDL_SUCCESS) {
            return status;
        }
        pdl_rtc_image_destroy(reading.image);
        if (reading.damage != NULL) {
            list->bytes += list->items[i].size;
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
    return PDL_SUCCESS;
}

pdl_status pdl_rtc_folder_trim(const char *directory, uint64_t capacity, uint32_t damaged_only,
                               uint64_t *removed)
{
    struct pdl_rtc_file_list list = {0};
    struct folder folder;
    uint64_t count = 0;
    pdl_status status = open_base(directory, false, &folder);
    if (status != PDL_SUCCESS) {
        return status;
    }
    const int error =
        folder.base >= 0 ? pdl_rtc_files_list(folder.base, damaged_only == 0, &list, &count) : 0;
    if (error != 0) {
        status = fail("the folder", error);
    } else if (damaged_only != 0) {
        status = keep_damaged(&folder, &list);
        capacity = 0;
    }
    if (status == PDL_SUCCESS && folder.base >= 0) {
        count += pdl_rtc_files_evict(folder.base, &list, capacity, NULL);
    }
    pdl_rtc_files_free(&list);
    close_base(&folder);
    if (status == PDL_SUCCESS && removed != NULL) {
        *removed = count;
    }
    return status;
}
