/* SPDX-License-Identifier: MIT */
/* Text that came from outside: its characters, and how they may stand on a terminal, in XML and in JSON. */
#ifndef PDL_LIB_TEXT_H
#define PDL_LIB_TEXT_H

#include <stdint.h>
#include <stdio.h>

/* The next character of UTF-8 text, and moves on; 0 at the end. A byte that is not UTF-8 comes alone, as
 * PDL_TEXT_BYTE + byte. */
#define PDL_TEXT_BYTE 0x80000000u
uint32_t pdl_text_next(const char **text);

/* Writes a character as UTF-8; U+FFFD for what is none. */
void pdl_text_put(FILE *out, uint32_t character);

/* Reads a text as a terminal may show it. Control characters, those that hide or turn text (category Cf),
 * separators of lines and bytes that are not UTF-8 come as escapes: \x1b, \x9b, \u202e, \U000e0041. */
struct pdl_text_shown {
    const char *at;
    char escape[12];
    unsigned left; /* characters of the escape */
};
static inline struct pdl_text_shown pdl_text_show(const char *text)
{
    return (struct pdl_text_shown){.at = text, .escape = "", .left = 0};
}
uint32_t pdl_text_shown_next(struct pdl_text_shown *shown);

/* Puts a text as a terminal may show it. One of more than `most` characters has an ellipsis where the rest was, before
 * its last quarter. */
void pdl_text_put_shown(FILE *out, const char *text, size_t most);

/* A character as it may stand in a picture or a page: itself, a blank for white space, or U+FFFD. */
uint32_t pdl_text_drawn(uint32_t character);

/* Puts a text as content or as the value of an attribute of XML 1.0 or HTML; U+FFFD for what has no place
 * there. Of more than `most` characters, the last that is put is an ellipsis. */
void pdl_text_put_xml(FILE *out, const char *text, size_t most);

/* Puts a string of JSON, with its quotation marks; U+FFFD for what is not UTF-8. What a terminal would not show
 * as a character is escaped. */
void pdl_text_put_json(FILE *out, const char *text);

#endif /* PDL_LIB_TEXT_H */
