/* SPDX-License-Identifier: MIT */
/* What there is in a folder: runs of `pdltool bench`, searches of `pdltool tune`, and what is neither. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/json.h"
#include "common/memory.h"
#include "common/print.h"
#include "report/make.h"
#include "report/tuned.h"

static bool ends_in_json(const char *name)
{
    const size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".json") == 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of what may be JSON, in order. */
static bool list_files(const char *directory, struct texts *names)
{
    DIR *const open = opendir(directory);
    if (open == NULL) {
        print_line(stderr, "%s: error: %s", directory, strerror(errno));
        return false;
    }
    for (const struct dirent *entry = readdir(open); entry != NULL; entry = readdir(open)) {
        if (entry->d_name[0] != '.' && ends_in_json(entry->d_name)) {
            texts_add(names, entry->d_name);
        }
    }
    (void)closedir(open);
    if (names->count > 0) {
        qsort(names->items, names->count, sizeof(names->items[0]), by_text);
    }
    return true;
}

static void take_run(struct report *report, const char *path, const char *name, bool *read)
{
    struct report_run run = {.name = NULL};
    *read = input_json(path, &run.run);
    if (*read) {
        run.name = copy_text(name);
        run.figures = allocate(run.run.bench.count, sizeof(*run.figures));
        APPEND(report, run);
    }
}

static void take_tuned(struct report *report, const json_t *root, const char *path,
                       const char *name, bool *read)
{
    struct report_tuned tuned = {.name = NULL};
    *read = tuned_read(root, name, &tuned);
    if (*read) {
        APPEND(&report->tuned, tuned);
    } else {
        print_line(stderr, "%s: error: not written by pdltool tune", path);
    }
}

/* What others wrote is left out; false where a file should be here and is not. */
static bool read_file(struct report *report, const char *path, const char *name)
{
    char *why = NULL;
    bool read = true;
    json_t *const root = json_read(path, &why);
    const char *const tool = json_string_value(json_object_get(root, "tool"));
    if (root == NULL) {
        print_line(stderr, "%s: error: %s", path, why);
        free(why);
        read = false;
    } else if (tool != NULL && strcmp(tool, "pdltool bench") == 0) {
        take_run(report, path, name, &read);
    } else if (tuned_is(root)) {
        take_tuned(report, root, path, name, &read);
    } else {
        print_line(stderr, "%s: note: ignored, not written by pdltool bench or tune", path);
    }
    json_decref(root);
    return read;
}

bool report_read(const char *directory, struct report *report, bool *whole)
{
    struct texts files = {.items = NULL};
    if (!list_files(directory, &files)) {
        return false;
    }
    *whole = true;
    for (size_t i = 0; i < files.count; i++) {
        char *path = format_text("%s/%s", directory, files.items[i]);
        char *name = copy_text(files.items[i]);
        name[strlen(name) - strlen(".json")] = '\0';
        if (!read_file(report, path, name)) {
            texts_take(&report->troubles,
                       format_text("%s could not be read and is not here.", files.items[i]));
            *whole = false;
        }
        free(name);
        free(path);
    }
    texts_free(&files);
    if (report->count == 0 && report->tuned.count == 0) {
        print_line(stderr, "%s: error: no JSON file of pdltool bench or tune", directory);
        return false;
    }
    return true;
}
