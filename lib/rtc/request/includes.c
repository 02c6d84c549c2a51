/* SPDX-License-Identifier: MIT */
/* As NVRTC does it: a header in memory is found by the very name that is included, and before any file. A
 * file in quotes is looked for in the folder of the text that includes it, which for the main text is that
 * of its name and for one in memory likewise; then, as one in angle brackets, in the directories of the
 * options. Where NVRTC may or may not look, both are taken. */
#include "rtc/request/includes.h"

#include <fcntl.h>
#include <stdio.h>
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
#include "rtc/request/set.h"

enum {
    MAX_FILES = 1 << 16,       /* more are not looked for: the text counts as unknown */
    FRESH_NS = 2 * 1000000000, /* the coarsest times of usual file systems */
    MAX_FILE_SIZE = 256 << 20
};

/* A text whose includes are looked for. */
struct text {
    const char *bytes;
    size_t size;
    char *folder; /* "" is the working directory */
    char *own;    /* the bytes, where they are not the caller's */
};

struct scan {
    const struct pdl_rtc_request *request;
    struct pdl_rtc_dependencies *found;
    struct text *texts;
    size_t text_count, text_capacity;
    bool *taken; /* the headers in memory that are included: the request's, then the embedded */
    struct pdl_rtc_macros macros;
    struct pdl_rtc_set headers; /* those in memory, by name */
    struct pdl_rtc_set asked;   /* what was looked for, from which folder */
    struct pdl_rtc_set paths;   /* that were looked at */
    struct pdl_rtc_set visited; /* files that were read, by identity and folder */
    struct pdl_rtc_set files;   /* the numbers of those that were found, by identity */
    size_t current;             /* the text that is read */
    bool modern;                /* the standard is C++14 or newer */
    bool no_memory;
};

/* ------------------------------------------------------------------------------------------------
 * Texts
 * ---------------------------------------------------------------------------------------------- */

/* The folder part of a name, without a slash at its end unless it is the root. */
static char *folder_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    return strndup(name, slash == NULL ? 0 : slash == name ? 1 : (size_t)(slash - name));
}

/* Takes `own` over, which holds the bytes; NULL: they are the caller's. */
static void add_text(struct scan *scan, const char *name, const char *bytes, size_t size, char *own)
{
    struct text text = {.bytes = bytes, .size = size, .folder = folder_of(name)};
    text.own = own;
    if (text.folder == NULL ||
        !PDL_ARRAY_ROOM(scan->texts, scan->text_count, scan->text_capacity)) {
        free(text.folder);
        free(text.own);
        scan->no_memory = true;
        return;
    }
    scan->texts[scan->text_count++] = text;
}

static const pdl_rtc_header *header_at(const struct scan *scan, size_t i)
{
    const struct pdl_rtc_request *request = scan->request;
    return i < request->header_count ? &request->headers[i]
                                     : &pdl_rtc_embedded[i - request->header_count];
}

static struct pdl_rtc_hash hash_of(const char *text, size_t size)
{
    return pdl_rtc_hash_bytes(text, size, PDL_RTC_SEED_TEXT);
}

/* Whether a header in memory has that name. */
static bool take_header(struct scan *scan, const char *name, size_t length)
{
    const size_t *found = pdl_rtc_set_find(&scan->headers, hash_of(name, length));
    if (found == NULL) {
        return false;
    }
    if (!scan->taken[*found]) {
        const pdl_rtc_header *header = header_at(scan, *found);
        scan->taken[*found] = true;
        add_text(scan, header->name, header->text, strlen(header->text), NULL);
    }
    return true;
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
    return pdl_rtc_set_add(&scan->visited,
                           pdl_rtc_hash_bytes(identity, sizeof(identity), PDL_RTC_SEED_TEXT), 0);
}

static struct pdl_rtc_hash identity_of(const struct stat *about)
{
    const uint64_t identity[] = {about->st_dev, about->st_ino};
    return pdl_rtc_hash_bytes(identity, sizeof(identity), PDL_RTC_SEED_TEXT);
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
        scan->found->unknown = "a file that it may include cannot be read";
        return;
    }
    take_stat(dependency, &about);
    take_content(dependency, bytes, size);
    scan->found->fresh = scan->found->fresh || dependency->fresh;
    if (!pdl_rtc_set_add(&scan->files, identity_of(&about), scan->found->count)) {
        const size_t *twin = pdl_rtc_set_find(&scan->files, identity_of(&about));
        dependency->twin = twin != NULL ? *twin : 0;
    }
    if (is_new(scan, dependency->path, &about)) {
        add_text(scan, dependency->path, bytes, size, bytes);
    } else {
        free(bytes);
    }
}

static char *join_path(const char *folder, const char *name, size_t length, const char *ending)
{
    const size_t before = strlen(folder);
    const char *slash = before > 0 && folder[before - 1] != '/' ? "/" : "";
    char *path = NULL;
    const int size =
        asprintf(&path, "%s%s%.*s%s", folder, slash, (int)length, name, ending); /* or -1 */
    return size >= 0 ? path : NULL;
}

/* Looks at a path, which it takes over. Whether a file is there. */
static bool look_at(struct scan *scan, char *path)
{
    struct pdl_rtc_dependencies *found = scan->found;
    if (path == NULL) {
        scan->no_memory = true;
        return false;
    }
    if (!pdl_rtc_set_add(&scan->paths, hash_of(path, strlen(path)), 0)) {
        struct stat about;
        const bool present = stat(path, &about) == 0 && S_ISREG(about.st_mode);
        free(path);
        return present;
    }
    if (found->count >= MAX_FILES) {
        found->unknown = "it may include too many files";
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

/* Whether the name may stand for one that ends in .stdh: NVRTC tries that where a name has no dot. */
static bool has_second_name(const char *name, size_t length)
{
    const char *slash = memrchr(name, '/', length);
    const char *last = slash != NULL ? slash + 1 : name;
    return memchr(last, '.', (size_t)(name + length - last)) == NULL;
}

/* Looks for a file in a folder. Whether it is there. */
static bool look(struct scan *scan, const char *folder, const char *name, size_t length)
{
    static const char ending[] = ".stdh";
    const char *from = name[0] == '/' ? "" : folder;
    char *path = join_path(from, name, length, "");
    if (look_at(scan, path)) {
        return true;
    }
    return has_second_name(name, length) && !scan->no_memory &&
           look_at(scan, join_path(from, name, length, ending));
}

/* Whether the same was not asked for before, from the same folder. */
static bool is_question(struct scan *scan, const struct pdl_rtc_directive *directive,
                        const char *folder)
{
    const uint64_t form = directive->quoted * UINT64_C(2) + directive->next;
    const struct pdl_rtc_hash name = hash_of(directive->name, directive->length);
    const struct pdl_rtc_hash place = hash_of(folder, directive->quoted ? strlen(folder) : 0);
    const uint64_t all[] = {form, name.high, name.low, place.high, place.low};
    return pdl_rtc_set_add(&scan->asked, hash_of((const char *)all, sizeof(all)), 0);
}

static void look_for(struct scan *scan, const struct pdl_rtc_directive *directive,
                     const char *folder)
{
    const struct pdl_rtc_request *request = scan->request;
    const char *name = directive->name;
    const size_t length = directive->length;
    if (length == 0 || !is_question(scan, directive, folder)) {
        return;
    }
    if (take_header(scan, name, length) && !directive->next) {
        return;
    }
    if (directive->quoted || name[0] == '/') {
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

static void on_directive(void *context, const struct pdl_rtc_directive *directive)
{
    struct scan *scan = context;
    if (!scan->no_memory && scan->found->unknown == NULL) {
        look_for(scan, directive, scan->texts[scan->current].folder);
    }
}

/* To #pragma once, a header in memory is the file of its name, if there is one. */
static void find_twins_of_headers(struct scan *scan)
{
    struct stat about;
    for (size_t i = 0; i < scan->request->header_count + PDL_RTC_EMBEDDED; i++) {
        const size_t *twin = NULL;
        if (scan->taken[i] && stat(header_at(scan, i)->name, &about) == 0) {
            twin = pdl_rtc_set_find(&scan->files, identity_of(&about));
        }
        if (twin != NULL) {
            scan->found->items[*twin - 1].twin = scan->found->count + 1 + i;
        }
    }
}

/* Reads all texts, to which more are added on the way. */
static void read_texts(struct scan *scan)
{
    for (size_t i = 0; i < scan->text_count; i++) {
        const struct text text = scan->texts[i];
        const struct pdl_rtc_reading reading = {.text = text.bytes,
                                                .size = text.size,
                                                .modern = scan->modern,
                                                .macros = &scan->macros,
                                                .visit = on_directive,
                                                .context = scan};
        scan->current = i;
        scan->no_memory = !pdl_rtc_directives_read(&reading) || scan->no_memory;
        if (scan->found->unknown == NULL) {
            scan->found->unknown = scan->macros.unknown;
        }
        if (scan->no_memory || scan->found->unknown != NULL) {
            return;
        }
    }
}

/* Where something pastes words, they are compared with those in macros of all texts: so all texts are read
 * again, and twice where the first time has found more names to compare with. */
static void search(struct scan *scan)
{
    for (int more = 1; more >= 0 && (more == 1 || scan->macros.pastes); more--) {
        const size_t callees = scan->macros.callee_count;
        read_texts(scan);
        if (scan->no_memory || scan->found->unknown != NULL) {
            return;
        }
        if (scan->macros.pastes && scan->macros.callee_count > callees) {
            more = 2;
        }
    }
    pdl_rtc_macros_check(&scan->macros);
    scan->found->unknown = scan->macros.unknown;
    find_twins_of_headers(scan);
}

/* What the options include: as if from the working directory, and as if from the text. */
static void look_for_pre_includes(struct scan *scan)
{
    const struct pdl_rtc_arguments *arguments = &scan->request->arguments;
    for (size_t i = 0; i < arguments->pre_include_count; i++) {
        const struct pdl_rtc_directive directive = {.quoted = true,
                                                    .name = arguments->pre_includes[i],
                                                    .length = strlen(arguments->pre_includes[i])};
        look_for(scan, &directive, "");
        look_for(scan, &directive, scan->texts[0].folder);
    }
}

/* A macro of the options, as a text that defines it. */
static void add_macro(struct scan *scan, const char *macro)
{
    static const char define[] = "#define ";
    const size_t size = sizeof(define) - 1 + strlen(macro);
    char *text = malloc(size + 1);
    if (text == NULL) {
        scan->no_memory = true;
        return;
    }
    memcpy(text, define, sizeof(define) - 1);
    memcpy(text + sizeof(define) - 1, macro, strlen(macro) + 1);
    char *value = strchr(text, '=');
    if (value != NULL) {
        *value = ' ';
    }
    add_text(scan, "", text, size, text);
}

static void read_options(struct scan *scan)
{
    static const char standard[] = "--std=";
    const struct pdl_rtc_arguments *arguments = &scan->request->arguments;
    look_for_pre_includes(scan);
    scan->modern = true;
    for (size_t i = 0; i < arguments->count && !scan->no_memory; i++) {
        const char *item = arguments->items[i];
        if (strncmp(item, "-D", 2) == 0) {
            add_macro(scan, item + 2);
        } else if (strncmp(item, standard, sizeof(standard) - 1) == 0) {
            item += sizeof(standard) - 1;
            scan->modern = scan->modern && strncmp(item, "c++", 3) == 0 &&
                           strcmp(item, "c++11") != 0 && strcmp(item, "c++03") != 0;
        }
    }
}

/* Name expressions are code as any other, which NVRTC reads behind the text. */
static void add_names(struct scan *scan)
{
    const struct pdl_rtc_request *request = scan->request;
    for (size_t i = 0; i < request->name_count && !scan->no_memory; i++) {
        const char *name = request->names[i];
        add_text(scan, request->program, name, strlen(name), NULL);
        add_text(scan, "", name, strlen(name), NULL);
    }
}

static void begin(struct scan *scan)
{
    const struct pdl_rtc_request *request = scan->request;
    const size_t count = request->header_count + PDL_RTC_EMBEDDED;
    pdl_rtc_macros_begin(&scan->macros);
    scan->taken = calloc(count, sizeof(*scan->taken));
    scan->no_memory = scan->taken == NULL;
    for (size_t i = 0; i < count; i++) {
        const char *name = header_at(scan, i)->name;
        (void)pdl_rtc_set_add(&scan->headers, hash_of(name, strlen(name)), i);
    }
    add_text(scan, request->program, request->source, request->source_size, NULL);
}

/* Whether there was not enough memory for all of it. */
static bool end(struct scan *scan)
{
    struct pdl_rtc_set *sets[] = {&scan->headers,     &scan->asked, &scan->paths,
                                  &scan->visited,     &scan->files, &scan->macros.facts,
                                  &scan->macros.named};
    bool no_memory = scan->no_memory;
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        no_memory = no_memory || sets[i]->no_memory;
        pdl_rtc_set_free(sets[i]);
    }
    for (size_t i = 0; i < scan->text_count; i++) {
        free(scan->texts[i].folder);
        free(scan->texts[i].own);
    }
    free(scan->texts);
    free(scan->taken);
    return no_memory;
}

pdl_status pdl_rtc_includes_find(const struct pdl_rtc_request *request,
                                 struct pdl_rtc_dependencies *dependencies)
{
    struct pdl_rtc_dependencies found = {0};
    struct scan scan = {.request = request, .found = &found};
    begin(&scan);
    if (request->arguments.unknown) {
        found.unknown = "libpdl-rtc does not know what one of its options does";
    } else if (!scan.no_memory) {
        read_options(&scan);
        add_names(&scan);
        search(&scan);
    }
    if (end(&scan)) {
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
