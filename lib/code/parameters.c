/* SPDX-License-Identifier: MIT */
/* The sizes of a kernel's parameters: the list after `.entry name` in PTX, records of .nv.info.NAME in
 * a cubin. */
#include "code/parameters.h"

#include <stdlib.h>
#include <string.h>

#include "code/elf64.h"
#include "code/fatbin.h"
#include "code/lexer.h"
#include "core/array.h"

#define BYTES_MAX 65535 /* of all parameters; CUDA allows 32764 */

/* What came of reading one code. */
enum outcome { ABSENT, UNREADABLE, READ, NO_MEMORY };

static bool put(struct pdl_parameters *parameters, uint32_t index, uint32_t size)
{
    if (!PDL_ARRAY_RESERVE(parameters->sizes, (size_t)index + 1, parameters->capacity)) {
        return false;
    }
    parameters->sizes[index] = size;
    return true;
}

/* ---- PTX ------------------------------------------------------------------------------------- */

/* The bytes of a fundamental type, without its dot; 0 if it is none that a parameter has. */
static uint32_t type_size(const char *type, size_t length)
{
    static const char sizes[][5] = {"8", "16", "32", "64", "128"};
    if (length < 2 || strchr("busf", type[0]) == NULL) {
        return 0;
    }
    for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (strlen(sizes[i]) == length - 1 && memcmp(sizes[i], type + 1, length - 1) == 0) {
            return 1u << i;
        }
    }
    return 0;
}

/* The parts of a word such as `.param.u64`: what is a type sets *size. False for the unknown. */
static bool read_word(const struct pdl_token *token, uint32_t *size)
{
    static const char *const others[] = {"param", "align", "ptr",   "global",
                                         "const", "local", "shared"};
    const char *at = token->text;
    const char *const end = at + token->length;
    while (at < end) {
        const char *const part = at + 1;
        const char *dot = memchr(part, '.', (size_t)(end - part));
        const size_t length = (size_t)((dot != NULL ? dot : end) - part);
        const uint32_t type = type_size(part, length);
        bool known = type != 0;
        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]) && !known; i++) {
            known = strlen(others[i]) == length && memcmp(others[i], part, length) == 0;
        }
        if (!known) {
            return false;
        }
        *size = type != 0 ? type : *size;
        at = part + length;
    }
    return true;
}

/* One declaration, up to the comma or parenthesis behind it; 0 if it cannot be read. */
static uint32_t read_declaration(struct pdl_lexer *lexer)
{
    uint64_t bytes = 0;
    uint32_t type = 0;
    bool in_brackets = false;
    for (; !pdl_lexer_at_end(lexer); pdl_lexer_next(lexer)) {
        const struct pdl_token *token = &lexer->token;
        uint64_t number = 0;
        if (token->mark == ',' || token->mark == ')') {
            return bytes <= BYTES_MAX ? (uint32_t)bytes : 0;
        }
        if (token->mark == '[' || token->mark == ']') {
            in_brackets = token->mark == '[';
        } else if (token->kind == PDL_TOKEN_NUMBER && pdl_token_integer(token, &number)) {
            if (in_brackets) { /* else it is an alignment */
                bytes = number <= BYTES_MAX && bytes <= BYTES_MAX ? bytes * number : BYTES_MAX + 1;
            }
        } else if (token->kind != PDL_TOKEN_WORD) {
            return 0;
        } else if (token->text[0] == '.') {
            if (!read_word(token, &type)) {
                return 0;
            }
        } else {
            bytes = type; /* the name, which ends the type */
        }
    }
    return 0;
}

static enum outcome read_list(struct pdl_parameters *parameters, struct pdl_lexer *lexer)
{
    uint64_t total = 0;
    pdl_lexer_next(lexer);
    while (lexer->token.mark != ')') {
        const uint32_t bytes = read_declaration(lexer);
        total += bytes;
        if (bytes == 0 || total > BYTES_MAX) {
            return UNREADABLE;
        }
        if (!put(parameters, parameters->count++, bytes)) {
            return NO_MEMORY;
        }
        if (lexer->token.mark == ',') {
            pdl_lexer_next(lexer);
        }
    }
    return READ;
}

static enum outcome read_ptx(struct pdl_parameters *parameters, const char *text, size_t size,
                             const char *name)
{
    struct pdl_lexer lexer;
    const char *nul = memchr(text, '\0', size);
    pdl_lexer_start(&lexer, text, nul != NULL ? nul : text + size, 1, 1);
    for (pdl_lexer_next(&lexer); !pdl_lexer_at_end(&lexer); pdl_lexer_next(&lexer)) {
        if (PDL_TOKEN_IS(&lexer, ".entry")) {
            pdl_lexer_next(&lexer);
            if (pdl_token_is(&lexer.token, name, strlen(name))) {
                pdl_lexer_next(&lexer);
                return lexer.token.mark == '(' ? read_list(parameters, &lexer) : READ;
            }
        }
    }
    return ABSENT;
}

/* ---- cubins ---------------------------------------------------------------------------------- */

/* Records of .nv.info: a format, an attribute, 16 bits of value or of the size of what follows. */
#define FORMAT_SIZED  4
#define PARAMETER     0x17
#define PARAMETER_FAR 0x45 /* where there is more than 4 KiB of parameters */
#define PARAMETER_ALL 0x19 /* the bytes of all of them, as a value */
#define PARAMETER_SIZE                                                                             \
    12 /* u32, u16 number, u16 offset, u32 of which 14 bits at 18 or all: bytes */

/* Every number from 0 has to occur once, and the last byte is where the image says. */
static enum outcome read_info(struct pdl_parameters *parameters, const unsigned char *data,
                              size_t size)
{
    uint32_t found = 0;
    uint32_t end = 0;
    uint32_t all = 0;
    size_t at = 0;
    while (at + 4 <= size) {
        const uint8_t attribute = data[at + 1];
        const bool sized = data[at] == FORMAT_SIZED;
        const unsigned char *const value = data + at + 4;
        uint16_t half = 0;
        memcpy(&half, data + at + 2, sizeof(half));
        at += 4 + (sized ? half : 0u);
        if (at > size) {
            return UNREADABLE;
        }
        if (attribute == PARAMETER_ALL && !sized) {
            all = half;
        }
        if (sized && (attribute == PARAMETER || attribute == PARAMETER_FAR)) {
            uint16_t place[2]; /* number, offset */
            uint32_t bytes = 0;
            if (half != PARAMETER_SIZE) {
                return UNREADABLE;
            }
            memcpy(place, value + 4, sizeof(place));
            memcpy(&bytes, value + 8, sizeof(bytes));
            bytes = attribute == PARAMETER ? bytes >> 18 : bytes;
            if (bytes == 0 || bytes > BYTES_MAX) {
                return UNREADABLE;
            }
            if (!put(parameters, place[0], bytes)) {
                return NO_MEMORY;
            }
            found++;
            parameters->count = place[0] >= parameters->count ? place[0] + 1u : parameters->count;
            end = place[1] + bytes > end ? place[1] + bytes : end;
        }
    }
    bool whole = at == size && found == parameters->count && end == all;
    for (uint32_t i = 0; i < parameters->count; i++) {
        whole = whole && parameters->sizes[i] != 0;
    }
    return whole ? READ : UNREADABLE;
}

static enum outcome read_cubin(struct pdl_parameters *parameters, const unsigned char *bytes,
                               size_t size, const char *name)
{
    struct pdl_elf elf;
    struct pdl_elf_section section;
    if (!pdl_elf_open(&elf, bytes, size)) {
        return UNREADABLE;
    }
    for (uint32_t i = 0; pdl_elf_section(&elf, i, &section); i++) {
        const char *of = pdl_elf_after(section.name, ".nv.info.");
        if (of != NULL && strcmp(of, name) == 0) {
            return section.cut ? UNREADABLE : read_info(parameters, section.data, section.size);
        }
    }
    return ABSENT;
}

/* ---- fatbins --------------------------------------------------------------------------------- */

static enum outcome read_entry(struct pdl_parameters *parameters,
                               const struct pdl_fatbin_entry *entry, const char *name)
{
    if (entry->kind != PDL_FATBIN_PTX && entry->kind != PDL_FATBIN_CUBIN) {
        return ABSENT; /* of no use to a driver */
    }
    if (entry->compression != PDL_FATBIN_PLAIN) {
        return UNREADABLE;
    }
    return entry->kind == PDL_FATBIN_PTX
               ? read_ptx(parameters, (const char *)entry->payload, entry->size, name)
               : read_cubin(parameters, entry->payload, entry->size, name);
}

static bool same(const struct pdl_parameters *a, const struct pdl_parameters *b)
{
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->sizes, b->sizes, a->count * sizeof(a->sizes[0])) == 0);
}

/* Which entry a driver takes depends on the device: all that have the kernel have to agree. */
static enum outcome read_fatbin(struct pdl_parameters *parameters, const unsigned char *bytes,
                                size_t size, const char *name)
{
    struct pdl_fatbin fatbin;
    struct pdl_fatbin_entry entry;
    enum outcome all = ABSENT;
    pdl_fatbin_open(&fatbin, bytes, size);
    while (all != UNREADABLE && all != NO_MEMORY && pdl_fatbin_next(&fatbin, &entry) &&
           fatbin.read <= 1) {
        struct pdl_parameters one = {.known = false};
        const enum outcome outcome = read_entry(&one, &entry, name);
        if (outcome == READ && all == ABSENT) {
            *parameters = one;
            all = READ;
            continue;
        }
        if (outcome != ABSENT) {
            all = outcome != READ || same(parameters, &one) ? outcome : UNREADABLE;
        }
        free(one.sizes);
    }
    return fatbin.damaged && all == READ ? UNREADABLE : all;
}

bool pdl_parameters_read(struct pdl_parameters *parameters, const void *image, size_t size,
                         const char *name)
{
    const unsigned char *const bytes = image;
    struct pdl_parameters read = {.known = false};
    enum outcome outcome;
    if (pdl_elf_is(bytes, size)) {
        outcome = read_cubin(&read, bytes, size, name);
    } else if (pdl_fatbin_is(bytes, size)) {
        outcome = read_fatbin(&read, bytes, size, name);
    } else {
        outcome = read_ptx(&read, (const char *)image, size, name);
    }
    if (outcome != READ) {
        free(read.sizes);
        read = (struct pdl_parameters){.known = false};
    }
    read.known = outcome == READ;
    *parameters = read;
    return outcome != NO_MEMORY;
}
