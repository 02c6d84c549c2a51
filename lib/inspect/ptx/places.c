/* SPDX-License-Identifier: MIT */
#include "inspect/ptx/places.h"

#include <stdlib.h>

/* Places at each end of a chain that are kept where it is longer than PDL_CHAIN_MAX. */
#define ENDS 8u
/* In `depth`, while the places on the way to the outermost one are gone through. */
#define ON_THE_WAY UINT32_MAX

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
    struct pdl_ptx_string *found = module->string_count == 0
                                       ? NULL
                                       : bsearch(&wanted, module->strings, module->string_count,
                                                 sizeof(*module->strings), by_name);
    if (found == NULL || found->text != NULL) {
        return found != NULL ? found->text : NULL;
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
    found->text = pdl_arena_copy(&module->inspection->arena, text, length);
    return found->text;
}

/* ---- who was inlined where --------------------------------------------------------------------- */

static uint32_t *slot_of(const struct pdl_body *body, uint32_t *slots, uint32_t mask, uint32_t file,
                         uint32_t line, uint32_t column)
{
    uint64_t hash = (((uint64_t)file << 32 | line) ^ (uint64_t)column << 20) * 0x9e3779b97f4a7c15u;
    for (hash ^= hash >> 29;; hash++) {
        uint32_t *slot = &slots[hash & mask];
        const struct pdl_place *place = *slot != 0 ? &body->places[*slot - 1] : NULL;
        if (place == NULL ||
            (place->line == line && place->file == file && place->column == column)) {
            return slot;
        }
    }
}

/* The places where the code around inlined functions stands, if that was inlined too. A `.loc` tells a
 * line, which may be there several times: the nearest one before it is meant, since compilers write it
 * in front of what was inlined to it. */
static void find_callers(const struct pdl_body *body)
{
    struct pdl_place *places = body->places;
    uint32_t size = 16;
    while (size / 2 <= body->place_count) {
        size *= 2;
    }
    uint32_t *slots = pdl_take(size, sizeof(*slots));
    for (uint32_t i = 0; i < body->place_count; i++) {
        struct pdl_place *place = &places[i];
        place->caller = PDL_NONE;
        if (place->inlined_line == 0) {
            continue;
        }
        const uint32_t *caller = slot_of(body, slots, size - 1, place->inlined_file,
                                         place->inlined_line, place->inlined_column);
        place->caller = *caller != 0 ? *caller - 1 : PDL_NONE;
        *slot_of(body, slots, size - 1, place->file, place->line, place->column) = i + 1;
    }
    for (uint32_t i = 0; i < body->place_count; i++) { /* or one behind it */
        struct pdl_place *place = &places[i];
        if (place->inlined_line != 0 && place->caller == PDL_NONE) {
            const uint32_t *caller = slot_of(body, slots, size - 1, place->inlined_file,
                                             place->inlined_line, place->inlined_column);
            /* Not a line that is inlined to itself, as in a recursion. */
            place->caller = *caller != 0 && (place->file != place->inlined_file ||
                                             place->line != place->inlined_line ||
                                             place->column != place->inlined_column)
                                ? *caller - 1
                                : PDL_NONE;
        }
    }
    pdl_give_back(slots);
}

/* How far in a place is, and which of those around it begins the outer end of a chain. */
static void measure(struct pdl_place *places, uint32_t index)
{
    struct pdl_place *place = &places[index];
    const struct pdl_place *caller = place->caller != PDL_NONE ? &places[place->caller] : NULL;
    place->depth = place->inlined_line == 0 ? 1 : caller == NULL ? 2 : caller->depth + 1;
    place->outer = place->depth <= ENDS || caller == NULL ? index : caller->outer;
}

static void link_places(const struct pdl_body *body)
{
    struct pdl_place *places = body->places;
    find_callers(body);
    for (uint32_t i = 0; i < body->place_count; i++) {
        uint32_t at = i;
        uint32_t inner = PDL_NONE;
        while (at != PDL_NONE && places[at].depth == 0) {
            places[at].depth = ON_THE_WAY;
            places[at].outer = inner;
            inner = at;
            at = places[at].caller;
        }
        if (at != PDL_NONE && places[at].depth == ON_THE_WAY) {
            places[inner].caller = PDL_NONE; /* inlined to itself: a line that is there twice */
        }
        while (inner != PDL_NONE) {
            at = places[inner].outer;
            measure(places, inner);
            inner = at;
        }
    }
}

/* ---- chains ------------------------------------------------------------------------------------ */

/* What is shown of a place; behind it, where nothing else tells, the place that it was inlined to. */
static const pdl_inspect_place *frame_of(struct pdl_ptx_module *module, struct pdl_place *place)
{
    if (place->frame == NULL) {
        const bool inlined = place->inlined_line != 0;
        const bool last = inlined && place->caller == PDL_NONE;
        pdl_inspect_place *frame =
            pdl_arena_alloc(&module->inspection->arena, (last ? 2 : 1) * sizeof(*frame));
        frame[0] = (pdl_inspect_place){
            .size = (uint32_t)sizeof(*frame),
            .file = file_name(module, place->file),
            .inlined = inlined && place->function != PDL_NONE
                           ? debug_string(module, place->function)
                           : NULL,
            .line = place->line,
            .column = place->column,
        };
        if (last) {
            frame[1] = (pdl_inspect_place){.size = (uint32_t)sizeof(*frame),
                                           .file = file_name(module, place->inlined_file),
                                           .line = place->inlined_line,
                                           .column = place->inlined_column};
        }
        place->frame = frame;
    }
    return place->frame;
}

const pdl_inspect_place *pdl_places_first(struct pdl_ptx_module *module,
                                          const struct pdl_body *body)
{
    uint32_t count;
    const pdl_inspect_place *const *chain =
        pdl_places_chain(module, body, body->place_count > 0 ? 0 : PDL_NONE, &count);
    return count > 0 ? chain[count - 1] : NULL;
}

static const pdl_inspect_place gap = {.size = (uint32_t)sizeof(gap)};

/* How many of a chain's places are shown. */
static uint32_t in_chain(uint32_t count)
{
    return count < PDL_CHAIN_MAX ? count : PDL_CHAIN_MAX;
}

const pdl_inspect_place *const *pdl_places_join(struct pdl_arena *arena,
                                                const pdl_inspect_place *const *inner,
                                                uint32_t inner_count,
                                                const pdl_inspect_place *const *outer,
                                                uint32_t outer_count, uint32_t *count)
{
    const uint32_t all = inner_count + outer_count;
    const uint32_t kept = in_chain(all);
    const pdl_inspect_place **made = pdl_arena_alloc(arena, (kept + 1) * sizeof(*made));
    for (uint32_t i = 0; i < kept; i++) {
        const uint32_t from = all > PDL_CHAIN_MAX && i > ENDS ? i + all - PDL_CHAIN_MAX : i;
        made[i] = all > PDL_CHAIN_MAX && i == ENDS ? &gap
                  : from < inner_count             ? inner[from]
                                                   : outer[from - inner_count];
    }
    *count = kept;
    return made;
}

const pdl_inspect_place *const *pdl_places_chain(struct pdl_ptx_module *module,
                                                 const struct pdl_body *body, uint32_t place,
                                                 uint32_t *count)
{
    *count = 0;
    if (place == PDL_NONE) {
        return NULL;
    }
    struct pdl_place *asked = &body->places[place];
    if (asked->chain != NULL) {
        *count = asked->chain_count;
        return asked->chain;
    }
    if (asked->depth == 0) {
        link_places(body);
    }
    const uint32_t length = in_chain(asked->depth);
    const pdl_inspect_place **made =
        pdl_arena_alloc(&module->inspection->arena, length * sizeof(*made));
    struct pdl_place *at = asked;
    for (uint32_t i = 0; i < length; i++) {
        if (i == ENDS && asked->depth > PDL_CHAIN_MAX) {
            made[i] = &gap;
            at = &body->places[asked->outer];
            continue;
        }
        made[i] = at != NULL ? frame_of(module, at) : made[i - 1] + 1;
        at = at != NULL && at->caller != PDL_NONE ? &body->places[at->caller] : NULL;
    }
    asked->chain = made;
    asked->chain_count = *count = length;
    return made;
}
