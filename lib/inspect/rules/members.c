/* SPDX-License-Identifier: MIT */
#include "inspect/rules/members.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No more is searched for one PTX text. */
#define SEARCH_LIMIT (UINT64_C(64) << 20)
/* A struct with more has none. */
enum { MEMBERS_MAX = 128, WORDS_MAX = 8, DEPTH_MAX = 4, TEXT_MAX = 256 };

struct word {
    const char *text; /* "" at the end */
    size_t length;
};

struct reader {
    struct pdl_source_file *file;
    struct pdl_arena *arena;
    const char *at;
    struct pdl_member *members;
    uint32_t count;
    unsigned depth; /* of structs in structs; above it, members are not noted */
};

/* A type, or a struct so far. */
struct extent {
    uint64_t size, align;
    bool is_struct;
};

/* ---- words -------------------------------------------------------------------------------------- */

static bool is(struct word word, const char *text)
{
    return strlen(text) == word.length && memcmp(word.text, text, word.length) == 0;
}

static bool is_one_of(struct word word, const char *const *list)
{
    while (*list != NULL && !is(word, *list)) {
        list++;
    }
    return *list != NULL;
}

static bool is_name(struct word word)
{
    return word.length > 0 && (isalpha((unsigned char)word.text[0]) || word.text[0] == '_');
}

static struct word peek(const char *at)
{
    for (;;) {
        const char *behind = pdl_source_skip_quoted(at);
        if (behind == at && isspace((unsigned char)*at)) {
            behind = at + 1;
        }
        if (behind == at || *at == '"' || *at == '\'') {
            break;
        }
        at = behind;
    }
    size_t length = *at != '\0';
    while (pdl_source_in_name(at[0]) && pdl_source_in_name(at[length])) {
        length++;
    }
    return (struct word){at, length};
}

static struct word next(struct reader *reader)
{
    const struct word word = peek(reader->at);
    reader->at = word.text + word.length;
    return word;
}

/* Behind the bracket that closes the one that was read. */
static bool skip_brackets(struct reader *reader, char open, char close)
{
    for (unsigned depth = 1; depth > 0;) {
        const struct word word = next(reader);
        if (word.length == 0) {
            return false;
        }
        depth += word.text[0] == open;
        depth -= word.text[0] == close;
    }
    return true;
}

/* ---- types -------------------------------------------------------------------------------------- */

static bool read_struct(struct reader *reader, const char *prefix, uint64_t at,
                        struct extent *extent);

/* Whether the word in front of a struct ends `template <...>`, and not `#include <...>`. */
static bool is_template(const struct pdl_source_file *file, struct word before)
{
    const char *line = before.text;
    while (line > file->text && line[-1] != '\n') {
        line--;
    }
    return is(before, ">") && peek(line).text[0] != '#';
}

/* The '{' of the only definition of a struct, or NULL. */
static const char *find_struct(struct pdl_source_file *file, struct word name)
{
    struct reader reader = {.at = file->text};
    const char *found = NULL;
    struct word before = {"", 0}, word;
    file->searched += file->size;
    if (file->searched > SEARCH_LIMIT) {
        return NULL;
    }
    for (; (word = next(&reader)).length > 0; before = word) {
        if (is(word, "pragma") && is(peek(reader.at), "pack")) {
            return NULL;
        }
        if (!is(word, "struct")) {
            continue;
        }
        const struct word named = peek(reader.at);
        const struct word brace = peek(named.text + named.length);
        if (named.length != name.length || memcmp(named.text, name.text, name.length) != 0 ||
            !(is(brace, "{") || is(brace, ":"))) {
            continue;
        }
        if (found != NULL || is(brace, ":") || is_template(file, before)) {
            return NULL;
        }
        found = brace.text;
    }
    return found;
}

static bool known_type(struct word word, struct extent *extent)
{
    static const struct {
        const char *name;
        uint8_t size, align;
    } types[] = {
        {"bool", 1, 1},           {"char", 1, 1},
        {"float", 4, 4},          {"double", 8, 8},
        {"int8_t", 1, 1},         {"uint8_t", 1, 1},
        {"int16_t", 2, 2},        {"uint16_t", 2, 2},
        {"int32_t", 4, 4},        {"uint32_t", 4, 4},
        {"int64_t", 8, 8},        {"uint64_t", 8, 8},
        {"size_t", 8, 8},         {"ptrdiff_t", 8, 8},
        {"uintptr_t", 8, 8},      {"intptr_t", 8, 8},
        {"half", 2, 2},           {"__half", 2, 2},
        {"__nv_bfloat16", 2, 2},  {"int2", 8, 8},
        {"uint2", 8, 8},          {"float2", 8, 8},
        {"int3", 12, 4},          {"uint3", 12, 4},
        {"float3", 12, 4},        {"dim3", 12, 4},
        {"int4", 16, 16},         {"uint4", 16, 16},
        {"float4", 16, 16},       {"CUdeviceptr", 8, 8},
        {"CUtensorMap", 128, 64}, {"cudaTextureObject_t", 8, 8},
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (is(word, types[i].name)) {
            *extent = (struct extent){types[i].size, types[i].align, false};
            return true;
        }
    }
    return false;
}

/* The size of the type that words name. The members of a struct are noted if it is one and no array. */
/* NOLINTNEXTLINE(misc-no-recursion): structs in structs, DEPTH_MAX deep */
static bool read_type(struct reader *reader, const struct word *words, uint32_t count,
                      struct extent *extent)
{
    static const char *const integers[] = {"unsigned", "signed", "int", NULL};
    unsigned longs = 0, shorts = 0, others = 0, kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        longs += is(words[i], "long");
        shorts += is(words[i], "short");
        others += is_one_of(words[i], integers);
    }
    if (longs + shorts + others == count && count > 0) {
        extent->size = extent->align = longs > 0 ? 8 : shorts > 0 ? 2 : 4;
        return true;
    }
    if (count == 2 && is(words[1], "char") && others == 1) {
        kept = 1;
    } else if (count != 1) {
        return false;
    }
    if (known_type(words[kept], extent)) {
        return true;
    }
    const char *brace = reader->depth < DEPTH_MAX ? find_struct(reader->file, words[0]) : NULL;
    struct reader inner = *reader;
    inner.members = NULL;
    inner.at = brace != NULL ? brace + 1 : NULL;
    inner.depth++;
    extent->is_struct = true;
    return brace != NULL && read_struct(&inner, "", 0, extent);
}

/* ---- declarations ------------------------------------------------------------------------------- */

static bool place(struct extent *whole, const struct extent *extent, uint64_t count, uint64_t *at)
{
    *at = (whole->size + extent->align - 1) / extent->align * extent->align;
    whole->align = whole->align > extent->align ? whole->align : extent->align;
    whole->size = *at + extent->size * count;
    return whole->size <= UINT16_MAX;
}

static bool note(struct reader *reader, const char *prefix, struct word name, uint64_t offset,
                 uint64_t size, uint64_t step)
{
    char text[TEXT_MAX];
    if (reader->members == NULL) {
        return true;
    }
    const int length = snprintf(text, sizeof(text), "%s%.*s", prefix, (int)name.length, name.text);
    if (reader->count == MEMBERS_MAX || length < 0 || length >= TEXT_MAX) {
        return false;
    }
    const char *copy = pdl_arena_copy(reader->arena, text, (size_t)length);
    reader->file->no_memory = reader->file->no_memory || copy == NULL;
    reader->members[reader->count++] =
        (struct pdl_member){copy, (uint32_t)offset, (uint32_t)size, (uint32_t)step};
    return copy != NULL;
}

/* Notes a struct's own members instead of it. */
/* NOLINTNEXTLINE(misc-no-recursion): structs in structs, DEPTH_MAX deep */
static bool note_within(struct reader *reader, const char *prefix, struct word name,
                        struct word type, uint64_t offset)
{
    char text[TEXT_MAX];
    struct extent extent = {0};
    struct reader inner = *reader;
    const int length = snprintf(text, sizeof(text), "%s%.*s.", prefix, (int)name.length, name.text);
    const char *brace = find_struct(reader->file, type);
    if (reader->members == NULL || brace == NULL || length < 0 || length >= TEXT_MAX) {
        return reader->members == NULL;
    }
    inner.at = brace + 1;
    inner.depth++;
    const bool right = read_struct(&inner, text, offset, &extent);
    reader->count = inner.count;
    return right;
}

/* The words up to something else; qualifiers and what stands before a `::` or in `<>` are left out. */
static bool read_words(struct reader *reader, struct word *words, uint32_t *count)
{
    static const char *const qualifiers[] = {
        "const",           "volatile",  "mutable",    "struct",       "typename",
        "__restrict__",    "inline",    "__restrict", "PDL_RESTRICT", "explicit",
        "__forceinline__", "constexpr", "__host__",   "__device__",   NULL};
    for (;;) {
        const struct word word = peek(reader->at);
        if (is(word, "<")) {
            (void)next(reader);
            if (!skip_brackets(reader, '<', '>')) {
                return false;
            }
        } else if (is(word, ":") && word.text[1] == ':') {
            (void)next(reader);
            (void)next(reader);
            *count -= *count > 0;
        } else if (!is_name(word)) {
            return true;
        } else {
            (void)next(reader);
            if (!is_one_of(word, qualifiers)) {
                if (*count == WORDS_MAX) {
                    return false;
                }
                words[(*count)++] = word;
            }
        }
    }
}

/* `[N]`, and more of them. */
static bool read_dimensions(struct reader *reader, uint64_t *count)
{
    while (is(peek(reader->at), "[")) {
        (void)next(reader);
        const struct word number = next(reader);
        char *end;
        const unsigned long long value = strtoull(number.text, &end, 10);
        if (end != number.text + number.length || value == 0 || value > UINT16_MAX ||
            !is(next(reader), "]")) {
            return false;
        }
        *count *= value;
        if (*count > UINT16_MAX) {
            return false;
        }
    }
    return true;
}

/* Behind a function's declaration or body; '(' was read. */
static bool skip_function(struct reader *reader)
{
    if (is(peek(reader->at), "*") || !skip_brackets(reader, '(', ')')) {
        return false; /* a pointer to a function */
    }
    for (;;) {
        const struct word word = next(reader);
        if (word.length == 0 || is(word, ";")) {
            return word.length > 0;
        }
        if (is(word, "{")) {
            return skip_brackets(reader, '{', '}');
        }
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): structs in structs, DEPTH_MAX deep */
static bool read_declaration(struct reader *reader, const char *prefix, uint64_t base,
                             struct extent *whole)
{
    struct word words[WORDS_MAX];
    uint32_t type_words = 0;
    if (!read_words(reader, words, &type_words)) {
        return false;
    }
    struct word name = {"", 0};
    bool pointer = is(peek(reader->at), "*") || is(peek(reader->at), "&");
    if (is(peek(reader->at), "(")) {
        (void)next(reader);
        return skip_function(reader);
    }
    if (!pointer && type_words > 0) {
        name = words[--type_words];
    }
    for (;;) {
        struct extent extent = {8, 8, false};
        uint64_t count = 1, at;
        while (is(peek(reader->at), "*") || is(peek(reader->at), "&")) {
            pointer = true;
            (void)next(reader);
        }
        if (name.length == 0) {
            struct word own[WORDS_MAX];
            uint32_t found = 0;
            if (!read_words(reader, own, &found) || found != 1) {
                return false;
            }
            name = own[0];
        }
        if (pointer && is(peek(reader->at), "(")) {
            (void)next(reader);
            return skip_function(reader);
        }
        if ((!pointer && !read_type(reader, words, type_words, &extent)) ||
            !read_dimensions(reader, &count) || !place(whole, &extent, count, &at)) {
            return false;
        }
        /* Of an array of structs, no member is named. */
        if (!extent.is_struct
                ? !note(reader, prefix, name, base + at, extent.size * count, extent.size)
                : count == 1 && !note_within(reader, prefix, name, words[0], base + at)) {
            return false;
        }
        struct word end = next(reader);
        while (is(end, "=") || pdl_source_in_name(*end.text) || is(end, "-") || is(end, ".")) {
            end = next(reader);
        }
        if (!is(end, ",")) {
            return is(end, ";");
        }
        name = (struct word){"", 0};
        pointer = false;
    }
}

/* Reads `…}` from behind its bracket. `at` is where the struct begins. */
/* NOLINTNEXTLINE(misc-no-recursion): structs in structs, DEPTH_MAX deep */
static bool read_struct(struct reader *reader, const char *prefix, uint64_t at,
                        struct extent *extent)
{
    static const char *const access[] = {"public", "private", "protected", NULL};
    static const char *const not_read[] = {
        "#",     "virtual", "alignas",  "__align__", "union",  "template", "enum",
        "using", "typedef", "operator", "static",    "friend", "",         NULL};
    *extent = (struct extent){0, 1, true};
    for (;;) {
        const struct word word = peek(reader->at);
        if (is_one_of(word, not_read)) {
            return false;
        }
        if (is(word, "}") || is(word, ";") || is(word, "~")) {
            (void)next(reader);
            if (is(word, "}")) {
                break;
            }
        } else if (is_one_of(word, access)) {
            (void)next(reader);
            if (!is(next(reader), ":")) {
                return false;
            }
        } else if (!is_name(word) || !read_declaration(reader, prefix, at, extent)) {
            return false;
        }
    }
    extent->size = (extent->size + extent->align - 1) / extent->align * extent->align;
    return true;
}

void pdl_members_read(struct pdl_source_file *file, struct pdl_arena *arena,
                      struct pdl_parameter_name *name, uint32_t size)
{
    const struct word type = {name->type, name->type != NULL ? strlen(name->type) : 0};
    struct pdl_member members[MEMBERS_MAX];
    struct extent extent;
    if (size <= 8 || type.length == 0 || file->text == NULL) {
        return;
    }
    if (file->struct_type == NULL || strcmp(file->struct_type, name->type) != 0) {
        const char *brace = find_struct(file, type);
        struct reader reader = {.file = file,
                                .arena = arena,
                                .at = brace != NULL ? brace + 1 : NULL,
                                .members = members};
        file->struct_type = name->type;
        file->struct_size = 0;
        if (brace != NULL && read_struct(&reader, "", 0, &extent) && reader.count > 0) {
            struct pdl_member *kept = pdl_arena_alloc(arena, reader.count * sizeof(*kept));
            if (kept == NULL) {
                file->no_memory = true;
                return;
            }
            memcpy(kept, members, reader.count * sizeof(*kept));
            file->members = kept;
            file->member_count = reader.count;
            file->struct_size = extent.size;
        }
    }
    if (file->struct_size == size) {
        name->members = file->members;
        name->member_count = file->member_count;
    }
}

/* ---- names -------------------------------------------------------------------------------------- */

const struct pdl_member *pdl_member_at(const struct pdl_parameter_name *name, int32_t offset)
{
    for (uint32_t i = 0; i < name->member_count; i++) {
        const struct pdl_member *member = &name->members[i];
        if (offset >= 0 && (uint32_t)offset >= member->offset &&
            (uint32_t)offset < member->offset + member->size) {
            return member;
        }
    }
    return NULL;
}

bool pdl_member_find(const struct pdl_parameter_name *name, const char *text, uint32_t *offset,
                     uint32_t *size)
{
    const size_t length = strcspn(text, "[");
    for (uint32_t i = 0; i < name->member_count; i++) {
        const struct pdl_member *member = &name->members[i];
        if (strlen(member->name) != length || memcmp(member->name, text, length) != 0) {
            continue;
        }
        *offset = member->offset;
        *size = member->size;
        if (text[length] == '[') {
            char *end;
            const unsigned long long index = strtoull(text + length + 1, &end, 10);
            if (!isdigit((unsigned char)text[length + 1]) || strcmp(end, "]") != 0 ||
                index >= member->size / member->step) {
                return false;
            }
            *offset += (uint32_t)index * member->step;
            *size = member->step;
        }
        return true;
    }
    return false;
}
