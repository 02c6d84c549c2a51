/* SPDX-License-Identifier: MIT */
#include "tune/read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "common/memory.h"
#include "common/print.h"

bool complain(const struct reader *reader, const char *where, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *const wrong = format_text_of(format, arguments);
    va_end(arguments);
    print_line(stderr, "%s: error: %s%s%s", reader->path, where, *where != '\0' ? ": " : "", wrong);
    free(wrong);
    return false;
}

/* A key that means nothing is a mistake, most likely in its spelling. */
bool check_keys(const struct reader *reader, const char *where, json_t *object,
                const char *const *known)
{
    const char *key = NULL;
    json_t *value = NULL;
    if (!json_is_object(object)) {
        return complain(reader, where, "an object is wanted here");
    }
    json_object_foreach(object, key, value)
    {
        size_t i = 0;
        while (known[i] != NULL && strcmp(known[i], key) != 0) {
            i++;
        }
        if (known[i] == NULL) {
            return complain(reader, where, "there is no key \"%s\"", key);
        }
    }
    return true;
}

bool read_integer(const struct reader *reader, const char *where, const char *key,
                  const json_t *value, int64_t least, int64_t most, int64_t *to)
{
    if (!json_is_integer(value) || json_integer_value(value) < least ||
        json_integer_value(value) > most) {
        return complain(reader, where, "\"%s\" takes a whole number from %lld to %lld", key,
                        (long long)least, (long long)most);
    }
    *to = json_integer_value(value);
    return true;
}

bool get_integer(const struct reader *reader, const char *where, const json_t *object,
                 const char *key, int64_t least, int64_t most, int64_t *to)
{
    const json_t *const value = json_object_get(object, key);
    return value == NULL || read_integer(reader, where, key, value, least, most, to);
}

bool get_flag(const struct reader *reader, const char *where, const json_t *object, const char *key,
              bool *to)
{
    const json_t *const value = json_object_get(object, key);
    if (value != NULL && !json_is_boolean(value)) {
        return complain(reader, where, "\"%s\" is true or false", key);
    }
    *to = value != NULL ? json_is_true(value) : *to;
    return true;
}

bool get_text(const struct reader *reader, const char *where, const json_t *object, const char *key,
              const char **to)
{
    const json_t *const value = json_object_get(object, key);
    if (value != NULL && !json_is_string(value)) {
        return complain(reader, where, "\"%s\" is a string", key);
    }
    *to = value != NULL ? json_string_value(value) : *to;
    return true;
}

bool read_shape(const struct reader *reader, const char *where, const char *key,
                const json_t *value, unsigned *to)
{
    const size_t count = json_is_array(value) ? json_array_size(value) : 1;
    to[0] = to[1] = to[2] = 1;
    if (count < 1 || count > 3) {
        return complain(reader, where, "\"%s\" has one to three numbers", key);
    }
    for (size_t i = 0; i < count; i++) {
        int64_t number = 0;
        if (!read_integer(reader, where, key,
                          json_is_array(value) ? json_array_get(value, i) : value, 1, INT32_MAX,
                          &number)) {
            return false;
        }
        to[i] = (unsigned)number;
    }
    return true;
}

char *resolve(const struct reader *reader, const char *path)
{
    return path[0] == '/' ? copy_text(path) : format_text("%s/%s", reader->directory, path);
}

void *read_file(const struct reader *reader, const char *where, const char *path, size_t *size)
{
    char *full = resolve(reader, path);
    char *const bytes = file_read(full, size);
    if (bytes == NULL) {
        (void)complain(reader, where, "%s: %s", full, strerror(errno));
    }
    free(full);
    return bytes;
}
