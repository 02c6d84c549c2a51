/* SPDX-License-Identifier: MIT */
#include "os/variable.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "os/file.h"
#include "os/size_text.h"

static const char blanks[] = " \t\r\n";

/* Without the locale, in which the small letter of I may be another one. */
static PDL_COLD bool is_same(const char *text, size_t length, const char *word, size_t size)
{
    size_t i = 0;
    while (i < length && i < size &&
           (text[i] | (text[i] >= 'A' && text[i] <= 'Z' ? 0x20 : 0)) == word[i]) {
        i++;
    }
    return i == length && i == size;
}

/* The place of a word among "off, on or capture"; -1: it is not there. */
static PDL_COLD int find_word(const char *words, const char *text, size_t length)
{
    static const char *const same[] = {"0", "false", "no", "1", "true", "yes"};
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        if (is_same(text, length, same[i], strlen(same[i]))) {
            text = i < 3 ? "off" : "on";
            length = strlen(text);
        }
    }
    int place = 0;
    for (const char *at = words; *at != '\0'; place++) {
        const size_t size = strcspn(at, ", ");
        if (is_same(text, length, at, size)) {
            return place;
        }
        at += size + strspn(at + size, ", ");
        at += strncmp(at, "or ", 3) == 0 ? 3 : 0;
    }
    return -1;
}

static PDL_COLD bool parse_seconds(const char *text, uint64_t *ns)
{
    uint64_t unit = 1000000000, value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9' && value < unit; at++) {
        value = 10 * value + (uint64_t)(*at - '0');
    }
    value *= unit;
    if (*at == '.' && at > text) {
        for (at++; *at >= '0' && *at <= '9'; at++) {
            unit /= 10;
            value += unit * (uint64_t)(*at - '0');
        }
    }
    *ns = value;
    return *at == '\0' && at > text;
}

/* False if the value is unknown; then *value may be anything. */
static PDL_COLD bool parse(const struct pdl_variable *variable, const char *text, uint64_t value[2])
{
    const char *const word = text + strspn(text, blanks);
    size_t length = strlen(word);
    while (length > 0 && strchr(blanks, word[length - 1]) != NULL) {
        length--;
    }
    const int place = find_word(variable->values, word, length);
    const char *const comma = variable->kind == PDL_VARIABLE_TIMES ? strchr(text, ',') : NULL;
    char first[32] = "";
    if (comma != NULL && comma - text < (ptrdiff_t)sizeof(first)) {
        memcpy(first, text, (size_t)(comma - text));
    }
    switch (variable->kind) {
    case PDL_VARIABLE_WORD:
    case PDL_VARIABLE_OPEN_WORD:
        value[0] = (uint64_t)place;
        return place >= 0;
    case PDL_VARIABLE_SECONDS:
        return parse_seconds(text, &value[0]);
    case PDL_VARIABLE_LOG:
    case PDL_VARIABLE_TEXT:
        value[0] = variable->kind == PDL_VARIABLE_LOG && place == 0;
        return true;
    default:
        return pdl_size_parse(comma != NULL ? first : text, variable->most, &value[0]) &&
               (comma == NULL || pdl_size_parse(comma + 1, variable->most, &value[1])) &&
               (variable->kind != PDL_VARIABLE_SIZE || value[0] > 0);
    }
}

struct pdl_reading pdl_variable_parse(const struct pdl_variable *variable, const char *text)
{
    struct pdl_reading reading = {{0, 0}, false, ""};
    char shown[41];
    (void)parse(variable, variable->unset, reading.value);
    reading.is_set = text != NULL && text[strspn(text, blanks)] != '\0';
    if (reading.is_set && !parse(variable, text, reading.value)) {
        (void)snprintf(shown, sizeof(shown), "%s", text);
        for (char *at = shown; *at != '\0'; at++) { /* it is not for the terminal to interpret */
            *at = (char)(*at >= ' ' && *at <= '~' ? *at : '?');
        }
        (void)snprintf(reading.problem, sizeof(reading.problem), "%s is '%s', and must be %s",
                       variable->name, shown, variable->values);
        (void)parse(variable, variable->unknown, reading.value);
    }
    return reading;
}

const char *pdl_variable_raw(const struct pdl_variable *variable)
{
    return variable->kind == PDL_VARIABLE_OPEN_WORD ? pdl_environment(variable->name)
                                                    : pdl_environment_secure(variable->name);
}

const char *pdl_variable_text(const struct pdl_variable *variable)
{
    const char *const text = pdl_variable_raw(variable);
    const bool is_word = pdl_variable_parse(variable, text).value[0] != 0;
    return text == NULL || text[0] == '\0' ? NULL : is_word ? "stderr" : text;
}

struct pdl_reading pdl_variable_look(const struct pdl_variable *variable)
{
    return pdl_variable_parse(variable, pdl_variable_raw(variable));
}

struct pdl_reading pdl_variable_read(struct pdl_variable *variable)
{
    const struct pdl_reading reading = pdl_variable_look(variable);
    if (reading.problem[0] != '\0' && !atomic_exchange(&variable->said, true)) {
        (void)fprintf(stderr, "libpdl: %s: %s is used\n", reading.problem, variable->unknown);
    }
    return reading;
}
