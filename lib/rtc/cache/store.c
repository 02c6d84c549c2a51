/* SPDX-License-Identifier: MIT */
#include "rtc/cache/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/path_text.h"
#include "os/lock.h"
#include "rtc/cache/files.h"
#include "rtc/directory.h"

struct pdl_rtc_store {
    char *directory;
    int base;
    bool read_only;
    uint64_t capacity;
    struct pdl_lock lock; /* of what follows */
    bool counted;         /* `bytes` is known: from the first put on */
    uint64_t bytes;       /* of the folder, as far as this process knows */
    uint64_t added;       /* by this process since it was counted */
};

struct pdl_rtc_store *pdl_rtc_store_open(const char *directory, bool read_only, uint64_t capacity,
                                         char *why, size_t why_size)
{
    const int base = pdl_rtc_files_open(directory, !read_only, read_only, why, why_size);
    if (base < 0) {
        return NULL;
    }
    struct pdl_rtc_store *store = calloc(1, sizeof(*store));
    if (store != NULL) {
        store->directory = strdup(directory);
    }
    if (store == NULL || store->directory == NULL) {
        (void)snprintf(why, why_size, "no memory");
        free(store);
        (void)close(base);
        errno = ENOMEM;
        return NULL;
    }
    store->base = base;
    store->read_only = read_only;
    store->capacity = capacity;
    return store;
}

void pdl_rtc_store_close(struct pdl_rtc_store *store)
{
    if (store == NULL) {
        return;
    }
    (void)close(store->base);
    free(store->directory);
    free(store);
}

const char *pdl_rtc_store_directory(const struct pdl_rtc_store *store)
{
    return store->directory;
}

/* ------------------------------------------------------------------------------------------------
 * Finding
 * ---------------------------------------------------------------------------------------------- */

static pdl_status read_image(struct pdl_rtc_store *store, int part, const char *name,
                             const struct pdl_rtc_key *key, pdl_rtc_image **image,
                             uint64_t *damaged)
{
    bool unread = false;
    const char *wrong = NULL;
    size_t size = 0;
    unsigned char *bytes = pdl_rtc_files_read(part, name, store->read_only, &size, &unread);
    if (bytes == NULL && errno == ENOMEM) {
        return PDL_NO_MEMORY();
    }
    if (bytes != NULL) {
        wrong = pdl_rtc_entry_read(bytes, size, key, image);
        free(bytes);
    }
    if (wrong == pdl_rtc_entry_no_memory) {
        return PDL_NO_MEMORY();
    }
    *damaged += unread || wrong != NULL;
    return PDL_SUCCESS;
}

/* The image of that text that the newest compiler made. */
static pdl_status find_any(struct pdl_rtc_store *store, int part, const char *name,
                           const struct pdl_rtc_key *key, pdl_rtc_image **image, uint64_t *damaged)
{
    enum { TEXT_LENGTH = 33 }; /* with the dash */
    const struct dirent *entry;
    pdl_rtc_image *best = NULL;
    pdl_status status = PDL_SUCCESS;
    const int copy = fcntl(part, F_DUPFD_CLOEXEC, 0);
    DIR *files = copy >= 0 ? fdopendir(copy) : NULL;
    if (files == NULL) {
        const bool no_memory = errno == ENOMEM;
        if (copy >= 0) {
            (void)close(copy);
        }
        return no_memory ? PDL_NO_MEMORY() : PDL_SUCCESS;
    }
    while (status == PDL_SUCCESS && (entry = readdir(files)) != NULL) {
        if (strncmp(entry->d_name, name, TEXT_LENGTH) != 0) {
            continue;
        }
        pdl_rtc_image *found = NULL;
        status = read_image(store, part, entry->d_name, key, &found, damaged);
        if (found != NULL && (best == NULL || found->compiler_version > best->compiler_version)) {
            pdl_rtc_image_destroy(best);
            best = found;
        } else {
            pdl_rtc_image_destroy(found);
        }
    }
    (void)closedir(files);
    if (status != PDL_SUCCESS) {
        pdl_rtc_image_destroy(best);
        return status;
    }
    *image = best;
    return PDL_SUCCESS;
}

pdl_status pdl_rtc_store_find(struct pdl_rtc_store *store, const struct pdl_rtc_key *key,
                              pdl_rtc_image **image, uint64_t *damaged)
{
    char name[PDL_RTC_FILE_NAME];
    *image = NULL;
    pdl_rtc_files_name(key, name);
    const int part = pdl_rtc_files_part(store->base, name, store->read_only);
    if (part < 0) {
        return errno == ENOMEM ? PDL_NO_MEMORY() : PDL_SUCCESS;
    }
    const pdl_status status = key->compilers != 0
                                  ? read_image(store, part, name + 3, key, image, damaged)
                                  : find_any(store, part, name + 3, key, image, damaged);
    (void)close(part);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Keeping
 * ---------------------------------------------------------------------------------------------- */

/* Counts the folder, and removes down to 7/8 of the capacity where it is over it, so that not every put
 * has to. Under the lock. */
static void make_room(struct pdl_rtc_store *store, const char *keep, uint64_t *evicted)
{
    struct pdl_rtc_file_list list = {0};
    if (pdl_rtc_files_list(store->base, &list) != 0) {
        return;
    }
    if (list.bytes > store->capacity) {
        *evicted +=
            pdl_rtc_files_evict(store->base, &list, store->capacity - store->capacity / 8, keep);
    }
    store->counted = true;
    store->bytes = list.bytes;
    store->added = 0;
    pdl_rtc_files_free(&list);
}

/* Other processes write, too: what this one has written says when to count again, and bounds how far all of
 * them can get over the capacity. */
static void account(struct pdl_rtc_store *store, const char *name, size_t size, uint64_t *evicted)
{
    pdl_lock_take(&store->lock);
    store->bytes += size;
    store->added += size;
    if (!store->counted || store->bytes > store->capacity || store->added > store->capacity / 16) {
        make_room(store, name, evicted);
    }
    pdl_lock_release(&store->lock);
}

const char *pdl_rtc_store_put(struct pdl_rtc_store *store, const struct pdl_rtc_key *key,
                              const pdl_rtc_image *image, uint64_t *evicted, char *why,
                              size_t why_size)
{
    char name[PDL_RTC_FILE_NAME];
    unsigned char *bytes = NULL;
    size_t size = 0;
    if (store->read_only || key->compilers == 0) {
        (void)snprintf(why, why_size, "%s is only read", pdl_path_text(store->directory, 80).text);
        return why;
    }
    if (pdl_rtc_entry_write(image, key, &bytes, &size) != PDL_SUCCESS) {
        (void)snprintf(why, why_size, "no memory");
        return why;
    }
    pdl_rtc_files_name(key, name);
    const char *failed = NULL;
    if (size > store->capacity) {
        (void)snprintf(why, why_size, "a file of %zu bytes is more than the capacity", size);
        failed = why;
    } else {
        failed = pdl_rtc_files_write(store->base, name, bytes, size, why, why_size);
    }
    free(bytes);
    if (failed == NULL) {
        account(store, name, size, evicted);
    }
    return failed;
}
