/* SPDX-License-Identifier: MIT */
#include "lint/sources.h"

#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/memory.h"
#include "common/print.h"
#include "lint/paths.h"

/* The words of an entry's command; NULL, or what is wrong with it. */
static const char *read_command(const json_t *entry, struct argv *arguments)
{
    const json_t *const words = json_object_get(entry, "arguments");
    const char *const command = json_string_value(json_object_get(entry, "command"));
    if (words != NULL) {
        size_t index = 0;
        const json_t *word = NULL;
        if (!json_is_array(words)) {
            return "\"arguments\" is not an array";
        }
        json_array_foreach(words, index, word)
        {
            if (!json_is_string(word)) {
                return "\"arguments\" has an item that is not a string";
            }
            argv_add(arguments, json_string_value(word));
        }
    } else if (command != NULL) {
        argv_split(arguments, command);
    } else {
        return "it has neither \"command\" nor \"arguments\"";
    }
    return arguments->count > 0 ? NULL : "its command is empty";
}

/* Adds an entry; NULL, or what is wrong with it. */
static const char *read_entry(const json_t *entry, const char *folder,
                              struct compilations *compilations)
{
    const char *const directory = json_string_value(json_object_get(entry, "directory"));
    const char *const file = json_string_value(json_object_get(entry, "file"));
    struct compilation made = {0};
    if (!json_is_object(entry)) {
        return "it is not an object";
    }
    if (directory == NULL || file == NULL) {
        return directory == NULL ? "it has no \"directory\"" : "it has no \"file\"";
    }
    const char *const wrong = read_command(entry, &made.arguments);
    if (wrong != NULL) {
        argv_free(&made.arguments);
        return wrong;
    }
    made.directory = path_absolute(folder, directory);
    made.file = copy_text(file);
    APPEND(compilations, made);
    return NULL;
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
        const char *const why = read_entry(entry, whole, compilations);
        if (why != NULL) {
            wrong = format_text("entry %zu: %s", index + 1, why);
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
