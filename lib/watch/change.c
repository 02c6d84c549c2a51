/* SPDX-License-Identifier: MIT */
#include "watch/change.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"

/* Numbers of launches, both ends included. */
struct range {
    uint32_t from, to; /* to: UINT32_MAX, no end */
};

struct rule {
    char *pattern;
    struct range *ranges; /* none: all launches */
    uint32_t range_count;
    enum pdl_watch_change change;
    bool delay; /* instead of a change */
    bool exact; /* the pattern is a name */
};

struct pdl_watch_rules {
    struct rule *rules;
    uint32_t count;
    size_t capacity;
};

struct pdl_watch_rules_of {
    enum pdl_watch_change change; /* of all launches, where there are no rules below */
    bool delay;
    uint32_t count;
    const struct rule *rules[]; /* that match the name, if any has numbers of launches */
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

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A number from 1; false if there is none. */
static bool take_number(struct text *text, uint32_t *number)
{
    uint64_t value = 0;
    const char *const begin = text->at;
    while (text->at < text->end && is_digit(*text->at) && value <= UINT32_MAX) {
        value = 10 * value + (uint64_t)(*text->at++ - '0');
    }
    *number = (uint32_t)value;
    return text->at > begin && value > 0 && value <= UINT32_MAX;
}

/* Such as 1,5-9,20-. */
static enum read read_ranges(struct text text, struct rule *rule)
{
    size_t capacity = 0;
    for (;;) {
        struct range range;
        if (!take_number(&text, &range.from)) {
            return WRONG;
        }
        range.to = range.from;
        if (text.at < text.end && *text.at == '-') {
            text.at++;
            range.to = UINT32_MAX;
            if (text.at < text.end && *text.at != ',' &&
                (!take_number(&text, &range.to) || range.to < range.from)) {
                return WRONG;
            }
        }
        if (!PDL_ARRAY_ROOM(rule->ranges, rule->range_count, capacity)) {
            return NO_MEMORY;
        }
        rule->ranges[rule->range_count++] = range;
        if (text.at == text.end) {
            return READ;
        }
        if (*text.at++ != ',') {
            return WRONG;
        }
    }
}

/* What is behind the last @, if it is made of what numbers are made of: a name may have an @ too. */
static struct text find_ranges(struct text pattern)
{
    const char *at = pattern.end;
    while (at > pattern.at && (is_digit(at[-1]) || at[-1] == ',' || at[-1] == '-')) {
        at--;
    }
    if (at > pattern.at && at[-1] == '@') {
        return (struct text){at, pattern.end};
    }
    return (struct text){NULL, NULL};
}

static enum read read_pattern(struct text pattern, struct rule *rule)
{
    const struct text ranges = find_ranges(pattern);
    if (ranges.at != NULL) {
        const enum read read = read_ranges(ranges, rule);
        if (read != READ) {
            return read;
        }
        pattern.end = ranges.at - 1;
    }
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

static void free_rule(struct rule *rule)
{
    free(rule->pattern);
    free(rule->ranges);
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
            free_rule(&rule);
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
            free_rule(&rules->rules[i]);
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

static bool matches_number(const struct rule *rule, uint32_t nth)
{
    for (uint32_t i = 0; i < rule->range_count; i++) {
        if (nth >= rule->ranges[i].from && nth <= rule->ranges[i].to) {
            return true;
        }
    }
    return rule->range_count == 0;
}

static void apply(const struct rule *rule, enum pdl_watch_change *change, bool *delay)
{
    if (rule->delay) {
        *delay = true;
    } else {
        *change = rule->change;
    }
}

enum pdl_watch_change pdl_watch_rules_find(const struct pdl_watch_rules *rules, const char *name,
                                           uint32_t nth, bool *delay)
{
    enum pdl_watch_change change = PDL_WATCH_KEEP;
    *delay = false;
    for (uint32_t i = 0; i < rules->count; i++) {
        const struct rule *const rule = &rules->rules[i];
        if (matches_number(rule, nth) && matches_name(rule, name)) {
            apply(rule, &change, delay);
        }
    }
    return change;
}

struct pdl_watch_rules_of *pdl_watch_rules_for(const struct pdl_watch_rules *rules,
                                               const char *name)
{
    struct pdl_watch_rules_of *const of =
        calloc(1, sizeof(*of) + rules->count * sizeof(const struct rule *));
    bool numbered = false;
    if (of == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < rules->count; i++) {
        const struct rule *const rule = &rules->rules[i];
        if (matches_name(rule, name)) {
            of->rules[of->count++] = rule;
            numbered = numbered || rule->range_count > 0;
        }
    }
    for (uint32_t i = 0; !numbered && i < of->count; i++) {
        apply(of->rules[i], &of->change, &of->delay);
    }
    of->count = numbered ? of->count : 0;
    return of;
}

void pdl_watch_rules_of_free(struct pdl_watch_rules_of *of)
{
    free(of);
}

enum pdl_watch_change pdl_watch_rules_at(const struct pdl_watch_rules_of *of, uint32_t nth,
                                         bool *delay)
{
    enum pdl_watch_change change = of->change;
    *delay = of->delay;
    for (uint32_t i = 0; i < of->count; i++) {
        if (matches_number(of->rules[i], nth)) {
            apply(of->rules[i], &change, delay);
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
