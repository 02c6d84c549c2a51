/* SPDX-License-Identifier: MIT */
/* As NVRTC does it: a header in memory is found by the very name that is included, and before any file. A
 * file in quotes is looked for in the folder of the text that includes it, which for the main text is that
 * of its name and for one in memory likewise; then, as one in angle brackets, in the directories of the
 * options. Where NVRTC may or may not look, both are taken. */
#include "rtc/request/includes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/array.h"
#include "core/error.h"
#include "core/file.h"
#include "rtc/request/directives.h"
#include "rtc/request/embedded.h"

enum {
    MAX_FILES = 1 << 16,       /* more are not looked for: the text counts as unknown */
    FRESH_NS = 2 * 1000000000, /* the coarsest times of usual file systems */
    MAX_FILE_SIZE = 256 << 20
};

/* A text whose includes are looked for. */
struct text {
    const char *bytes;
    size_t size;
    char *folder;        /* "" is the working directory */
    char *joined;        /* its own copy, or NULL */
    bool trigraphs;      /* a computed name may hide behind one: see directives.h */
    bool read;           /* its directives were */
    size_t callees_read; /* as many of the scan's */
};

/* A set of hashes, each with a number. */
struct table {
    struct pdl_rtc_hash *keys; /* all zero: free */
    size_t capacity, count;    /* a power of two */
};

struct scan {
    const struct pdl_rtc_request *request;
    struct pdl_rtc_dependencies *found;
    struct text *texts;
    size_t text_count, text_capacity;
    bool *taken;    /* the headers in memory that are included: the request's, then the embedded */
    char **callees; /* __has_include and macros that are made of it */
    size_t callee_count, callee_capacity;
    struct table paths;   /* that were looked for */
    struct table visited; /* files that were read, by identity */
    size_t current;       /* the text that is read */
    bool no_memory;
};

/* ------------------------------------------------------------------------------------------------
 * Memory
 * ---------------------------------------------------------------------------------------------- */

static size_t table_slot(const struct table *table, struct pdl_rtc_hash key)
{
    size_t slot = (size_t)key.low & (table->capacity - 1);
    while ((table->keys[slot].high != 0 || table->keys[slot].low != 0) &&
           !pdl_rtc_hash_equal(table->keys[slot], key)) {
        slot = (slot + 1) & (table->capacity - 1);
    }
    return slot;
}

static bool table_grow(struct table *table)
{
    struct table grown = {.capacity = table->capacity == 0 ? 64 : table->capacity * 2,
                          .count = table->count};
    grown.keys = calloc(grown.capacity, sizeof(*grown.keys));
    if (grown.keys == NULL) {
        return false;
    }
    for (size_t i = 0; i < table->capacity; i++) {
        if (table->keys[i].high != 0 || table->keys[i].low != 0) {
            grown.keys[table_slot(&grown, table->keys[i])] = table->keys[i];
        }
    }
    free(table->keys);
    *table = grown;
    return true;
}

/* Whether it is new. */
static bool table_add(struct scan *scan, struct table *table, struct pdl_rtc_hash key)
{
    if (table->count * 2 >= table->capacity && !table_grow(table)) {
        scan->no_memory = true;
        return false;
    }
    const size_t slot = table_slot(table, key);
    if (pdl_rtc_hash_equal(table->keys[slot], key)) {
        return false;
    }
    table->keys[slot] = key;
    table->count++;
    return true;
}

/* ------------------------------------------------------------------------------------------------
 * Texts
 * ---------------------------------------------------------------------------------------------- */

/* The folder part of a name, without a slash at its end unless it is the root. */
static char *folder_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    return strndup(name, slash == NULL ? 0 : slash == name ? 1 : (size_t)(slash - name));
}

/* Takes `owned` over, which holds the bytes; NULL: they are the caller's. */
static void add_text(struct scan *scan, const char *name, const char *bytes, size_t size,
                     char *owned)
{
    struct text text = {.bytes = bytes, .size = size, .folder = folder_of(name)};
    text.joined = owned;
    if (pdl_rtc_directives_need_join(bytes, size)) {
        if (owned == NULL) {
            text.joined = malloc(size + 1);
            if (text.joined != NULL) {
                memcpy(text.joined, bytes, size);
            }
        }
        if (text.joined != NULL) {
            text.bytes = text.joined;
            text.size = pdl_rtc_directives_join(text.joined, size, &text.trigraphs);
        } else {
            text.bytes = NULL;
        }
    }
    if (text.bytes == NULL || text.folder == NULL ||
        !PDL_ARRAY_ROOM(scan->texts, scan->text_count, scan->text_capacity)) {
        free(text.folder);
        free(text.joined);
        scan->no_memory = true;
        return;
    }
    scan->texts[scan->text_count++] = text;
}

/* Whether a header in memory has that name. */
static bool take_header(struct scan *scan, const char *name, size_t length)
{
    const struct pdl_rtc_request *request = scan->request;
    for (size_t i = 0; i < request->header_count + PDL_RTC_EMBEDDED; i++) {
        const pdl_rtc_header *header = i < request->header_count
                                           ? &request->headers[i]
                                           : &pdl_rtc_embedded[i - request->header_count];
        if (strlen(header->name) != length || memcmp(header->name, name, length) != 0) {
            continue;
        }
        if (!scan->taken[i]) {
            scan->taken[i] = true;
            add_text(scan, header->name, header->text, strlen(header->text), NULL);
        }
        return true;
    }
    return false;
}

/* ------------------------------------------------------------------------------------------------
 * Files
 * ---------------------------------------------------------------------------------------------- */

static int64_t nanoseconds(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void take_stat(struct pdl_rtc_dependency *dependency, const struct stat *about)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    dependency->present = true;
    dependency->device = about->st_dev;
    dependency->inode = about->st_ino;
    dependency->size = (uint64_t)about->st_size;
    dependency->modified_ns = nanoseconds(about->st_mtim);
    dependency->changed_ns = nanoseconds(about->st_ctim);
    /* One from the future, where a clock went back, stays fresh until then. */
    dependency->fresh = nanoseconds(now) - dependency->changed_ns < FRESH_NS;
}

static void take_content(struct pdl_rtc_dependency *dependency, const char *bytes, size_t size)
{
    dependency->content = pdl_rtc_hash_bytes(bytes, size, PDL_RTC_SEED_TEXT);
    dependency->check = pdl_rtc_hash_bytes(bytes, size, PDL_RTC_SEED_CHECK);
}

/* Whether this file has not been read from this folder before: folders that include each other by ".."
 * would never end. */
static bool is_new(struct scan *scan, const char *path, const struct stat *about)
{
    uint64_t identity[4] = {about->st_dev, about->st_ino};
    struct stat folder;
    char *name = folder_of(path);
    if (name == NULL) {
        scan->no_memory = true;
        return false;
    }
    if (stat(*name != '\0' ? name : ".", &folder) == 0) {
        identity[2] = folder.st_dev;
        identity[3] = folder.st_ino;
    }
    free(name);
    return table_add(scan, &scan->visited,
                     pdl_rtc_hash_bytes(identity, sizeof(identity), PDL_RTC_SEED_TEXT));
}

/* Reads a file that was looked for, if it is there. */
static void visit_file(struct scan *scan, struct pdl_rtc_dependency *dependency)
{
    struct stat about;
    size_t size = 0;
    const int file = pdl_file_open(AT_FDCWD, dependency->path, 0, &about);
    if (file < 0) {
        return;
    }
    char *bytes = pdl_file_take(file, MAX_FILE_SIZE, &size);
    (void)close(file);
    if (bytes == NULL) {
        scan->found->unknown = true;
        return;
    }
    take_stat(dependency, &about);
    take_content(dependency, bytes, size);
    scan->found->fresh = scan->found->fresh || dependency->fresh;
    if (is_new(scan, dependency->path, &about)) {
        add_text(scan, dependency->path, bytes, size, bytes);
    } else {
        free(bytes);
    }
}

static char *join_path(const char *folder, const char *name, size_t length)
{
    const size_t before = strlen(folder);
    char *path = malloc(before + length + 2);
    if (path == NULL) {
        return NULL;
    }
    memcpy(path, folder, before);
    size_t size = before;
    if (before > 0 && folder[before - 1] != '/') {
        path[size++] = '/';
    }
    memcpy(path + size, name, length);
    path[size + length] = '\0';
    return path;
}

/* Looks for a file in a folder. Whether it is there. */
static bool look(struct scan *scan, const char *folder, const char *name, size_t length)
{
    struct pdl_rtc_dependencies *found = scan->found;
    char *path = join_path(name[0] == '/' ? "" : folder, name, length);
    if (path == NULL) {
        scan->no_memory = true;
        return false;
    }
    const struct pdl_rtc_hash key = pdl_rtc_hash_bytes(path, strlen(path), PDL_RTC_SEED_TEXT);
    if (!table_add(scan, &scan->paths, key)) {
        struct stat about;
        const bool present = stat(path, &about) == 0 && S_ISREG(about.st_mode);
        free(path);
        return present;
    }
    if (found->count >= MAX_FILES) {
        found->unknown = true;
        free(path);
        return true;
    }
    if (!PDL_ARRAY_ROOM(found->items, found->count, found->capacity)) {
        scan->no_memory = true;
        free(path);
        return false;
    }
    struct pdl_rtc_dependency *dependency = &found->items[found->count++];
    *dependency = (struct pdl_rtc_dependency){.path = path};
    visit_file(scan, dependency);
    return dependency->present;
}

static void look_for(struct scan *scan, const struct pdl_rtc_directive *directive,
                     const char *folder)
{
    const struct pdl_rtc_request *request = scan->request;
    const char *name = directive->name;
    const size_t length = directive->length;
    if (length == 0 || memchr(name, '\0', length) != NULL) {
        return;
    }
    if (take_header(scan, name, length) && !directive->next) {
        return;
    }
    if (directive->form == PDL_RTC_QUOTED || name[0] == '/') {
        (void)look(scan, folder, name, length);
    }
    for (size_t i = 0; i < request->arguments.directory_count; i++) {
        if (look(scan, request->arguments.directories[i], name, length) && !directive->next) {
            return;
        }
    }
}

/* ------------------------------------------------------------------------------------------------
 * The search
 * ---------------------------------------------------------------------------------------------- */

static void add_callee(struct scan *scan, const char *name, size_t length)
{
    for (size_t i = 0; i < scan->callee_count; i++) {
        if (strlen(scan->callees[i]) == length && memcmp(scan->callees[i], name, length) == 0) {
            return;
        }
    }
    char *copy = malloc(length + 1); /* no strndup(): a file's bytes end without a NUL */
    if (copy == NULL || !PDL_ARRAY_ROOM(scan->callees, scan->callee_count, scan->callee_capacity)) {
        free(copy);
        scan->no_memory = true;
        return;
    }
    memcpy(copy, name, length);
    copy[length] = '\0';
    scan->callees[scan->callee_count++] = copy;
}

static void on_directive(void *context, const struct pdl_rtc_directive *directive)
{
    struct scan *scan = context;
    if (directive->form == PDL_RTC_ALIAS) {
        add_callee(scan, directive->name, directive->length);
    } else if (directive->form == PDL_RTC_COMPUTED) {
        scan->found->unknown = true;
    } else {
        look_for(scan, directive, scan->texts[scan->current].folder);
    }
}

/* Texts and callees are added on the way: until there is nothing that was not looked at. */
static void search(struct scan *scan)
{
    bool again = true;
    while (again && !scan->no_memory && !scan->found->unknown) {
        again = false;
        for (size_t i = 0; i < scan->text_count && !scan->no_memory; i++) {
            const struct text text = scan->texts[i];
            scan->current = i;
            if (!text.read) {
                scan->texts[i].read = true;
                pdl_rtc_directives_includes(text.bytes, text.size, on_directive, scan);
                scan->found->unknown = scan->found->unknown || text.trigraphs;
                again = true;
            }
            while (scan->texts[i].callees_read < scan->callee_count && !scan->no_memory) {
                const char *callee = scan->callees[scan->texts[i].callees_read++];
                pdl_rtc_directives_calls(text.bytes, text.size, callee, on_directive, scan);
                again = true;
            }
        }
    }
}

/* What the options include: as if from the working directory, and as if from the text. */
static void look_for_options(struct scan *scan)
{
    const struct pdl_rtc_request *request = scan->request;
    for (size_t i = 0; i < request->arguments.pre_include_count; i++) {
        const struct pdl_rtc_directive directive = {.form = PDL_RTC_QUOTED,
                                                    .name = request->arguments.pre_includes[i],
                                                    .length =
                                                        strlen(request->arguments.pre_includes[i])};
        look_for(scan, &directive, "");
        look_for(scan, &directive, scan->texts[0].folder);
    }
    for (size_t i = 0; i < request->arguments.count; i++) {
        if (strstr(request->arguments.items[i], "__has_include") != NULL) {
            scan->found->unknown = true;
        }
    }
}

static void scan_free(struct scan *scan)
{
    for (size_t i = 0; i < scan->text_count; i++) {
        free(scan->texts[i].folder);
        free(scan->texts[i].joined);
    }
    for (size_t i = 0; i < scan->callee_count; i++) {
        free(scan->callees[i]);
    }
    free(scan->texts);
    free(scan->callees);
    free(scan->taken);
    free(scan->paths.keys);
    free(scan->visited.keys);
}

pdl_status pdl_rtc_includes_find(const struct pdl_rtc_request *request,
                                 struct pdl_rtc_dependencies *dependencies)
{
    struct pdl_rtc_dependencies found = {0};
    struct scan scan = {.request = request, .found = &found};
    scan.taken = calloc(request->header_count + PDL_RTC_EMBEDDED, sizeof(*scan.taken));
    scan.no_memory = scan.taken == NULL;
    add_callee(&scan, "__has_include", strlen("__has_include"));
    add_callee(&scan, "__has_include_next", strlen("__has_include_next"));
    add_text(&scan, request->program, request->source, request->source_size, NULL);
    if (!scan.no_memory) {
        look_for_options(&scan);
        search(&scan);
    }
    scan_free(&scan);
    if (scan.no_memory) {
        pdl_rtc_includes_free(&found);
        return PDL_NO_MEMORY();
    }
    *dependencies = found;
    return PDL_SUCCESS;
}

void pdl_rtc_includes_free(struct pdl_rtc_dependencies *dependencies)
{
    for (size_t i = 0; i < dependencies->count; i++) {
        free(dependencies->items[i].path);
    }
    free(dependencies->items);
    *dependencies = (struct pdl_rtc_dependencies){0};
}

/* ------------------------------------------------------------------------------------------------
 * Changes
 * ---------------------------------------------------------------------------------------------- */

static bool same_content(const struct pdl_rtc_dependency *dependency)
{
    struct stat about;
    struct pdl_rtc_dependency now = {0};
    size_t size = 0;
    const int file = pdl_file_open(AT_FDCWD, dependency->path, 0, &about);
    char *bytes = file >= 0 ? pdl_file_take(file, MAX_FILE_SIZE, &size) : NULL;
    if (file >= 0) {
        (void)close(file);
    }
    if (bytes == NULL) {
        return false;
    }
    take_content(&now, bytes, size);
    free(bytes);
    return pdl_rtc_hash_equal(now.content, dependency->content) &&
           pdl_rtc_hash_equal(now.check, dependency->check);
}

static bool unchanged(const struct pdl_rtc_dependency *dependency)
{
    struct stat about;
    const bool present = stat(dependency->path, &about) == 0 && S_ISREG(about.st_mode);
    if (present != dependency->present) {
        return false;
    }
    return !present || (about.st_dev == dependency->device && about.st_ino == dependency->inode &&
                        (uint64_t)about.st_size == dependency->size &&
                        nanoseconds(about.st_mtim) == dependency->modified_ns &&
                        nanoseconds(about.st_ctim) == dependency->changed_ns &&
                        (!dependency->fresh || same_content(dependency)));
}

bool pdl_rtc_includes_unchanged(const struct pdl_rtc_dependencies *dependencies)
{
    for (size_t i = 0; i < dependencies->count; i++) {
        if (!unchanged(&dependencies->items[i])) {
            return false;
        }
    }
    return true;
}
