/* SPDX-License-Identifier: MIT */
#include "inspect/ptx/places.h"

#include <stdlib.h>
#include <string.h>

/* Functions inlined into one another. */
#define CHAIN_MAX 8
/* Places that are looked through for the caller's own place. */
#define SEARCH_MAX 4096

static int by_name(const void *a, const void *b)
{
    const uint32_t left = ((const struct pdl_ptx_string *)a)->name;
    const uint32_t right = ((const struct pdl_ptx_string *)b)->name;
    return left < right ? -1 : left > right;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t left = ((const struct pdl_ptx_file *)a)->number;
    const uint64_t right = ((const struct pdl_ptx_file *)b)->number;
    return left < right ? -1 : left > right;
}

void pdl_places_sort_files(struct pdl_ptx_module *module)
{
    if (module->file_count > 0) {
        qsort(module->files, module->file_count, sizeof(*module->files), by_number);
    }
}

static const char *file_name(const struct pdl_ptx_module *module, uint32_t number)
{
    /* Compilers number them from 1. */
    if (number > 0 && number <= module->file_count && module->files[number - 1].number == number) {
        return module->files[number - 1].name;
    }
    const struct pdl_ptx_file wanted = {.number = number};
    const struct pdl_ptx_file *found = module->file_count == 0
                                           ? NULL
                                           : bsearch(&wanted, module->files, module->file_count,
                                                     sizeof(*module->files), by_number);
    return found != NULL ? found->name : NULL;
}

/* The text behind a label of .debug_str, `.b8 95,90,…,0`; NULL if it is not there. */
static const char *debug_string(struct pdl_ptx_module *module, uint32_t name)
{
    char text[1024];
    size_t length = 0;
    uint64_t byte;
    const struct pdl_ptx_string wanted = {.name = name};
    if (!module->strings_sorted && module->string_count > 0) {
        qsort(module->strings, module->string_count, sizeof(*module->strings), by_name);
        module->strings_sorted = true;
    }
    const struct pdl_ptx_string *found =
        module->string_count == 0 ? NULL
                                  : bsearch(&wanted, module->strings, module->string_count,
                                            sizeof(*module->strings), by_name);
    if (found == NULL) {
        return NULL;
    }
    struct pdl_lexer lexer;
    pdl_lexer_start(&lexer, module->text + found->offset, module->end, 1, 1);
    do {
        pdl_lexer_next(&lexer);
        if (lexer.token.kind == PDL_TOKEN_WORD || lexer.token.mark == ',') {
            continue; /* .b8 again, on each line */
        }
        if (!pdl_token_integer(&lexer.token, &byte) || byte == 0 || byte > 255) {
            break;
        }
        text[length++] = (char)byte;
    } while (length < sizeof(text));
    return pdl_arena_copy(&module->inspection->arena, text, length);
}

/* The place where the code around an inlined function stands, if that was inlined too. */
static const struct pdl_place *caller_of(const struct pdl_body *body, const struct pdl_place *place)
{
    const uint32_t count = body->place_count < SEARCH_MAX ? body->place_count : SEARCH_MAX;
    /* cppcheck-suppress knownConditionTrueFalse */
    for (uint32_t i = 0; i < count; i++) {
        const struct pdl_place *other = &body->places[i];
        if (other != place && other->inlined_line != 0 && other->file == place->inlined_file &&
            other->line == place->inlined_line && other->column == place->inlined_column) {
            return other;
        }
    }
    return NULL;
}

const pdl_inspect_place *const *pdl_places_chain(struct pdl_ptx_module *module,
                                                 const struct pdl_body *body, uint32_t place,
                                                 uint32_t *count, bool *ok)
{
    pdl_inspect_place chain[CHAIN_MAX];
    uint32_t length = 0;
    *count = 0;
    *ok = true;
    if (place == PDL_NONE) {
        return NULL;
    }
    struct pdl_place *asked = &body->places[place];
    if (asked->chain != NULL) {
        *count = asked->chain_count;
        return asked->chain;
    }
    const struct pdl_place *at = asked;
    while (length < CHAIN_MAX) {
        const bool inlined = at->inlined_line != 0;
        chain[length++] = (pdl_inspect_place){
            .file = file_name(module, at->file),
            .inlined =
                inlined && at->function != PDL_NONE ? debug_string(module, at->function) : NULL,
            .line = at->line,
            .column = at->column,
        };
        if (!inlined || length == CHAIN_MAX) {
            break;
        }
        const struct pdl_place *caller = caller_of(body, at);
        if (caller == NULL) {
            chain[length++] = (pdl_inspect_place){.file = file_name(module, at->inlined_file),
                                                  .line = at->inlined_line,
                                                  .column = at->inlined_column};
            break;
        }
        at = caller;
    }
    struct pdl_arena *arena = &module->inspection->arena;
    const pdl_inspect_place **made = pdl_arena_alloc(arena, length * sizeof(*made));
    pdl_inspect_place *places = pdl_arena_alloc(arena, length * sizeof(*places));
    if (made == NULL || places == NULL) {
        *ok = false;
        return NULL;
    }
    for (uint32_t i = 0; i < length; i++) {
        places[i] = chain[i];
        places[i].size = (uint32_t)sizeof(places[i]);
        made[i] = &places[i];
    }
    asked->chain = made;
    asked->chain_count = *count = length;
    return made;
}
