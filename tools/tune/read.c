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

bool read_whole(const struct reader *reader, const char *where, const char *key,
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

static bool read_field(const struct reader *reader, const char *where, const struct field *field,
                       const json_t *value)
{
    switch (field->type) {
    case FIELD_WHOLE:
        return read_whole(reader, where, field->key, value, field->least, field->most, field->to);
    case FIELD_FLAG:
        *(bool *)field->to = json_is_true(value);
        return json_is_boolean(value) ||
               complain(reader, where, "\"%s\" is true or false", field->key);
    case FIELD_TEXT:
        *(const char **)field->to = json_string_value(value);
        return json_is_string(value) || complain(reader, where, "\"%s\" is a string", field->key);
    default:
        *(const json_t **)field->to = value;
        return true;
    }
}

bool read_fields(const struct reader *reader, const char *where, const json_t *object,
                 const struct field *fields)
{
    const char *key = NULL;
    json_t *value = NULL;
    if (!json_is_object(object)) {
        return complain(reader, where, "an object is wanted here");
    }
    json_object_foreach((json_t *)object, key, value)
    {
        const struct field *field = fields;
        while (field->key != NULL && strcmp(field->key, key) != 0) {
            field++;
        }
        if (field->key == NULL) {
            return complain(reader, where, "there is no key \"%s\"", key);
        }
    }
    for (const struct field *field = fields; field->key != NULL; field++) {
        value = json_object_get(object, field->key);
        if (value != NULL
                ? !read_field(reader, where, field, value)
                : field->required && !complain(reader, where, "\"%s\" is missing", field->key)) {
            return false;
        }
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
