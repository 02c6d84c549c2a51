/* SPDX-License-Identifier: MIT */
#include "lint/sources.h"

#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/memory.h"
#include "common/print.h"
#include "lint/paths.h"

/* The words of an entry's command; false if it has none. */
static bool read_command(const json_t *entry, struct argv *arguments)
{
    const json_t *const words = json_object_get(entry, "arguments");
    const char *const command = json_string_value(json_object_get(entry, "command"));
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *const word = json_string_value(json_array_get(words, i));
        if (word == NULL) {
            return false;
        }
        argv_add(arguments, word);
    }
    if (words == NULL && command != NULL) {
        argv_split(arguments, command);
    }
    return arguments->count > 0;
}

/* Adds an entry; false if something is missing. */
static bool read_entry(const json_t *entry, const char *folder, struct compilations *compilations)
{
    const char *const directory = json_string_value(json_object_get(entry, "directory"));
    const char *const file = json_string_value(json_object_get(entry, "file"));
    struct compilation made = {0};
    if (directory == NULL || file == NULL || !read_command(entry, &made.arguments)) {
        argv_free(&made.arguments);
        return false;
    }
    made.directory = path_absolute(folder, directory);
    made.file = copy_text(file);
    APPEND(compilations, made);
    return true;
}

bool database_read(const char *path, struct compilations *compilations)
{
    char *wrong = NULL;
    char *const whole = path_absolute(NULL, path);
    char *const slash = strrchr(whole, '/');
    json_t *const root = json_read(path, &wrong);
    size_t index = 0;
    const json_t *entry = NULL;
    if (slash != NULL) {
        *slash = '\0';
    }
    if (root != NULL && !json_is_array(root)) {
        wrong = copy_text("not an array of compile commands");
    }
    json_array_foreach(root, index, entry)
    {
        if (!read_entry(entry, whole, compilations)) {
            wrong =
                format_text("entry %zu has no \"directory\", no \"file\" or no command", index + 1);
            break;
        }
    }
    if (wrong != NULL) {
        print_line(stderr, "%s: error: %s", path, wrong);
    }
    const bool read = wrong == NULL;
    json_decref(root);
    free(wrong);
    free(whole);
    return read;
}
