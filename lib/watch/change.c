/* SPDX-License-Identifier: MIT */
#include "watch/change.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"

struct rule {
    char *pattern;
    enum pdl_watch_change change;
    bool delay; /* instead of a change */
    bool exact; /* the pattern is a name */
};

struct pdl_watch_rules {
    struct rule *rules;
    uint32_t count;
    size_t capacity;
};

/* ---- reading ----------------------------------------------------------------------------------- */

enum read { READ, WRONG, NO_MEMORY };

struct text {
    const char *at, *end;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct text trim(struct text text)
{
    while (text.at < text.end && is_blank(*text.at)) {
        text.at++;
    }
    while (text.at < text.end && is_blank(text.end[-1])) {
        text.end--;
    }
    return text;
}

/* Takes what is up to the next blank off the text. */
static struct text take_word(struct text *text)
{
    struct text word = *text;
    while (text->at < text->end && !is_blank(*text->at)) {
        text->at++;
    }
    word.end = text->at;
    *text = trim(*text);
    return word;
}

static bool is_word(struct text word, const char *wanted)
{
    const size_t length = (size_t)(word.end - word.at);
    return strlen(wanted) == length && memcmp(word.at, wanted, length) == 0;
}

static enum read read_pattern(struct text pattern, struct rule *rule)
{
    if (pattern.at < pattern.end && *pattern.at == '=') {
        rule->exact = true;
        pattern.at++;
    }
    const size_t length = (size_t)(pattern.end - pattern.at);
    if (length == 0 || memchr(pattern.at, '\0', length) != NULL) {
        return WRONG;
    }
    rule->pattern = malloc(length + 1);
    if (rule->pattern == NULL) {
        return NO_MEMORY;
    }
    memcpy(rule->pattern, pattern.at, length);
    rule->pattern[length] = '\0';
    return READ;
}

static enum read read_line(struct text line, struct rule *rule)
{
    const struct text word = take_word(&line);
    if (is_word(word, "off")) {
        rule->change = PDL_WATCH_OFF;
    } else if (is_word(word, "on")) {
        rule->change = PDL_WATCH_ON;
    } else if (is_word(word, "delay")) {
        rule->delay = true;
    } else if (!is_word(word, "keep")) {
        return WRONG;
    }
    return read_pattern(line, rule);
}

struct pdl_watch_rules *pdl_watch_rules_read(const char *text, size_t size, size_t *wrong_line)
{
    const char *const end = text + size;
    size_t number = 0;
    struct pdl_watch_rules *rules = calloc(1, sizeof(*rules));
    enum read read = rules != NULL ? READ : NO_MEMORY;
    for (const char *at = text; read == READ && at < end; number++) {
        const char *const newline = memchr(at, '\n', (size_t)(end - at));
        const struct text line = trim((struct text){at, newline != NULL ? newline : end});
        at = newline != NULL ? newline + 1 : end;
        if (line.at == line.end || *line.at == '#') {
            continue;
        }
        struct rule rule = {.change = PDL_WATCH_KEEP};
        read = read_line(line, &rule);
        if (read == READ && !PDL_ARRAY_ROOM(rules->rules, rules->count, rules->capacity)) {
            read = NO_MEMORY;
        }
        if (read == READ) {
            rules->rules[rules->count++] = rule;
        } else {
            free(rule.pattern);
        }
    }
    if (read != READ) {
        *wrong_line = read == WRONG ? number : 0;
        pdl_watch_rules_free(rules);
        return NULL;
    }
    return rules;
}

void pdl_watch_rules_free(struct pdl_watch_rules *rules)
{
    if (rules != NULL) {
        for (uint32_t i = 0; i < rules->count; i++) {
            free(rules->rules[i].pattern);
        }
        free(rules->rules);
        free(rules);
    }
}

/* ---- questions ---------------------------------------------------------------------------------- */

static bool matches_name(const struct rule *rule, const char *name)
{
    return rule->exact ? strcmp(rule->pattern, name) == 0 : fnmatch(rule->pattern, name, 0) == 0;
}

enum pdl_watch_change pdl_watch_rules_find(const struct pdl_watch_rules *rules, const char *name,
                                           bool *delay)
{
    enum pdl_watch_change change = PDL_WATCH_KEEP;
    *delay = false;
    for (uint32_t i = 0; i < rules->count; i++) {
        const struct rule *const rule = &rules->rules[i];
        if (!matches_name(rule, name)) {
            continue;
        }
        if (rule->delay) {
            *delay = true;
        } else {
            change = rule->change;
        }
    }
    return change;
}

bool pdl_watch_rules_add(const struct pdl_watch_rules *rules)
{
    bool adds = false;
    for (uint32_t i = 0; i < rules->count; i++) {
        adds = adds || rules->rules[i].change == PDL_WATCH_ON;
    }
    return adds;
}

bool pdl_watch_rules_delay(const struct pdl_watch_rules *rules)
{
    bool delays = false;
    for (uint32_t i = 0; i < rules->count; i++) {
        delays = delays || rules->rules[i].delay;
    }
    return delays;
}
