/* SPDX-License-Identifier: MIT */
/* Text that came from outside: its characters, and how they may stand on a terminal, in XML and in JSON. */
#include "trace/text.h"

#include <stdbool.h>
#include <string.h>

#define NO_CHARACTER 0xfffdu
#define ELLIPSIS     0x2026u

/* Halves of pairs are no characters. */
static bool is_character(uint32_t c)
{
    return c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
}

uint32_t pdl_text_next(const char **text)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)*text;
    uint32_t c = *at;
    unsigned more = 0;
    if (c == 0) {
        return 0;
    }
    if (c >= 0xc0) {
        more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
        c = c < 0xf8 ? c & (0x3fu >> more) : UINT32_MAX;
    } else if (c >= 0x80) {
        c = UINT32_MAX;
    }
    *text += 1;
    for (unsigned i = 1; i <= more && c <= 0x10ffff; i++) {
        c = (at[i] & 0xc0) == 0x80 ? c << 6 | (at[i] & 0x3fu) : UINT32_MAX;
    }
    if (!is_character(c) || c < least[more]) {
        return PDL_TEXT_BYTE + *at; /* and of a wrong sequence, each byte */
    }
    *text += more;
    return c;
}

void pdl_text_put(FILE *out, uint32_t c)
{
    c = is_character(c) ? c : NO_CHARACTER;
    if (c < 0x80) {
        (void)fputc((int)c, out);
        return;
    }
    if (c < 0x800) {
        (void)fputc((int)(0xc0 | c >> 6), out);
    } else if (c < 0x10000) {
        (void)fputc((int)(0xe0 | c >> 12), out);
        (void)fputc((int)(0x80 | (c >> 6 & 0x3f)), out);
    } else {
        (void)fputc((int)(0xf0 | c >> 18), out);
        (void)fputc((int)(0x80 | (c >> 12 & 0x3f)), out);
        (void)fputc((int)(0x80 | (c >> 6 & 0x3f)), out);
    }
    (void)fputc((int)(0x80 | (c & 0x3f)), out);
}

/* Whether it shows as itself, and changes nothing around it: no control or format character (Unicode 16's
 * categories Cc, Cf, Zl, Zp) and none that is not a character. */
static bool is_shown(uint32_t c)
{
    static const struct {
        uint32_t from, to;
    } hidden[] = {
        {0x00, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad},       {0x600, 0x605},
        {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},
        {0x8e2, 0x8e2},     {0x180e, 0x180e},   {0x200b, 0x200f},   {0x2028, 0x202e},
        {0x2060, 0x206f},   {0xd800, 0xdfff},   {0xfdd0, 0xfdef},   {0xfeff, 0xfeff},
        {0xfff0, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},
        {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
    };
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]) && c >= hidden[i].from; i++) {
        if (c <= hidden[i].to) {
            return false;
        }
    }
    return c <= 0x10ffff && (c & 0xfffe) != 0xfffe;
}

uint32_t pdl_text_shown_next(struct pdl_text_shown *shown)
{
    if (shown->left == 0) {
        const uint32_t c = pdl_text_next(&shown->at);
        if (c == 0 || is_shown(c)) {
            return c;
        }
        const bool byte = c < 0x80 || c >= PDL_TEXT_BYTE;
        const int digits = byte ? 2 : c < 0x10000 ? 4 : 8;
        (void)snprintf(shown->escape, sizeof(shown->escape), "\\%c%0*x",
                       byte          ? 'x'
                       : c < 0x10000 ? 'u'
                                     : 'U',
                       digits, c & (PDL_TEXT_BYTE - 1));
        shown->left = (unsigned)strlen(shown->escape);
    }
    return (unsigned char)shown->escape[strlen(shown->escape) - shown->left--];
}

void pdl_text_put_shown(FILE *out, const char *text, size_t most)
{
    size_t length = 0;
    struct pdl_text_shown shown = pdl_text_show(text);
    while (pdl_text_shown_next(&shown) != 0) {
        length++;
    }
    const size_t tail = most / 4;
    const size_t head = length > most ? most - tail - 1 : length;
    shown = pdl_text_show(text);
    for (size_t i = 0; i < length; i++) {
        const uint32_t c = pdl_text_shown_next(&shown);
        if (i < head || i >= length - tail) {
            pdl_text_put(out, c);
        } else if (i == head) {
            pdl_text_put(out, ELLIPSIS);
        }
    }
}

/* XML 1.0 forbids most of the others. */
uint32_t pdl_text_drawn(uint32_t c)
{
    if (c >= '\t' && c <= '\r') {
        return ' ';
    }
    return c >= 0x20 && (c < 0x7f || c > 0x9f) && is_character(c) && (c & 0xfffe) != 0xfffe
               ? c
               : NO_CHARACTER;
}

static void put_xml(FILE *out, uint32_t c)
{
    static const char special[] = "&<>\"'";
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    const char *const found = c < 0x80 ? strchr(special, (int)c) : NULL;
    if (found != NULL) {
        (void)fputs(names[found - special], out);
    } else {
        pdl_text_put(out, pdl_text_drawn(c));
    }
}

void pdl_text_put_xml(FILE *out, const char *text, size_t most)
{
    for (size_t put = 1; *text != '\0'; put++) {
        const uint32_t c = pdl_text_next(&text);
        if (put >= most && *text != '\0') {
            pdl_text_put(out, ELLIPSIS);
            return;
        }
        put_xml(out, c);
    }
}

void pdl_text_put_json(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (uint32_t c = pdl_text_next(&text); c != 0; c = pdl_text_next(&text)) {
        if (c == '"' || c == '\\') {
            (void)fprintf(out, "\\%c", (char)c);
        } else if (c >= PDL_TEXT_BYTE || is_shown(c)) {
            pdl_text_put(out, c);
        } else if (c < 0x10000) {
            (void)fprintf(out, "\\u%04x", c);
        } else { /* two halves */
            (void)fprintf(out, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
        }
    }
    (void)fputc('"', out);
}
