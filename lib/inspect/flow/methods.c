/* SPDX-License-Identifier: MIT */
#include "inspect/flow/methods.h"

#include <string.h>

#define PARAMETER_BITS 31u
#define WRITE_BITS     32u

/* ---- names ------------------------------------------------------------------------------------------ */

struct reader {
    const char *at, *end;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads `<length><name>`; *part is NULL if there is none. */
static size_t read_part(struct reader *reader, const char **part)
{
    size_t length = 0;
    *part = NULL;
    while (reader->at < reader->end && is_digit(*reader->at) && length < UINT16_MAX) {
        length = length * 10 + (size_t)(*reader->at++ - '0');
    }
    if (length == 0 || length > (size_t)(reader->end - reader->at)) {
        return 0;
    }
    *part = reader->at;
    reader->at += length;
    return length;
}

/* Goes behind `I…E`; false if that is not understood. */
static bool skip_arguments(struct reader *reader)
{
    unsigned depth = 0;
    while (reader->at < reader->end) {
        const char *part;
        const char c = *reader->at;
        if (is_digit(c)) {
            if (read_part(reader, &part) == 0) {
                return false;
            }
            continue;
        }
        reader->at++;
        if (c == 'L') { /* `Li32E`, `Lb1E`: a literal of a type of one letter */
            while (reader->at < reader->end && *reader->at != 'E') {
                reader->at++;
            }
            depth++;
        } else if (c == 'I' || c == 'N' || c == 'X' || c == 'J' || c == 'F') {
            depth++;
        } else if (c == 'E' && --depth == 0) {
            return true;
        }
    }
    return false;
}

/* The last part of `_ZNK5Class6methodE…`: a name, or the letters of an operator. NULL of other names. */
static const char *method_of(const struct pdl_name *name, size_t *length)
{
    struct reader reader = {name->text, name->text + name->length};
    const char *last = NULL;
    if (!pdl_name_begins(name, "_ZN")) {
        return NULL;
    }
    reader.at += 3;
    while (reader.at < reader.end && strchr("rVKRO", *reader.at) != NULL) {
        reader.at++;
    }
    while (reader.at < reader.end && *reader.at != 'E') {
        const char *part = reader.at;
        const char c = *part;
        if (is_digit(c)) {
            *length = read_part(&reader, &part);
            if (part == NULL) {
                return NULL;
            }
            last = part;
        } else if (c == 'I') {
            if (!skip_arguments(&reader)) {
                return NULL;
            }
        } else if (c == 'S') { /* what was there before */
            const char *end = memchr(part, '_', (size_t)(reader.end - part));
            const bool standard = part + 1 < reader.end && part[1] >= 'a' && part[1] <= 'z';
            if (end == NULL && !standard) {
                return NULL;
            }
            reader.at = standard ? part + 2 : end + 1;
        } else if (reader.end - part >= 2 && ((c >= 'a' && c <= 'z') || c == 'D')) {
            reader.at += 2;
            last = part;
            *length = c == 'D' ? 1 : 2; /* all destructors are one */
        } else {
            return NULL;
        }
    }
    return reader.at < reader.end ? last : NULL;
}

/* ---- what they do ----------------------------------------------------------------------------------- */

static uint64_t accesses_of(const struct pdl_effect *effect)
{
    const struct pdl_value *value = &effect->address;
    uint64_t bits = value->untraced || value->count == 0 ? UINT64_C(1) << PARAMETER_BITS : 0;
    if (effect->kind != PDL_EFFECT_READ && effect->kind != PDL_EFFECT_WRITE) {
        return 0;
    }
    for (unsigned i = 0; i < value->count; i++) {
        const struct pdl_source *source = &value->sources[i];
        const bool parameter =
            source->kind != PDL_SOURCE_VARIABLE && source->index < PARAMETER_BITS;
        bits |= UINT64_C(1) << (parameter ? source->index : PARAMETER_BITS);
    }
    return effect->kind == PDL_EFFECT_WRITE ? bits << WRITE_BITS : bits;
}

void pdl_methods_note(struct pdl_methods *methods, const struct pdl_name *function,
                      const struct pdl_summary *summary)
{
    size_t length = 0;
    const char *text = method_of(function, &length);
    uint64_t key = 0; /* of all whose name is not understood */
    for (size_t i = 0; text != NULL && i < length; i++) {
        key = (key ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3) + 1;
    }
    uint32_t at = 0;
    while (at < methods->count && methods->methods[at].key != key) {
        at++;
    }
    if (at == methods->count) {
        if (at == PDL_METHODS_MAX) {
            at--; /* the last stands for the rest */
        } else {
            methods->methods[methods->count++] = (struct pdl_method){.key = key};
        }
    }
    struct pdl_method *method = &methods->methods[at];
    for (uint32_t i = 0; i < summary->effect_count; i++) {
        method->accesses |= accesses_of(&summary->effects[i]);
    }
    method->waits = method->waits || summary->waits;
}

/* It is not known whether a call waits. */
static void forget_wait(struct pdl_summary *summary)
{
    summary->unknown = true;
    summary->out = PDL_STATE_CALLED;
    summary->waits = false;
    summary->need = 0;
}

void pdl_methods_settle(const struct pdl_methods *methods, struct pdl_summary *summary)
{
    uint64_t all = ~UINT64_C(0);
    uint32_t kept = 0, waiting = 0;
    if (methods->count < 2) {
        return;
    }
    for (uint32_t i = 0; i < methods->count; i++) {
        all &= methods->methods[i].accesses;
        waiting += methods->methods[i].waits;
    }
    for (uint32_t i = 0; i < summary->effect_count; i++) {
        if ((accesses_of(&summary->effects[i]) & ~all) == 0) {
            summary->effects[kept++] = summary->effects[i];
        }
    }
    summary->unknown = summary->unknown || kept < summary->effect_count;
    summary->effect_count = kept;
    if (waiting > 0 && waiting < methods->count) {
        forget_wait(summary);
    }
}
