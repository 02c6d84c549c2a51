/* SPDX-License-Identifier: MIT */
#include "inspect/rules/launched.h"

#include <fnmatch.h>
#include <string.h>

#include "code/unit_name.h"
#include "inspect/ptx/names.h"

/* The names of both lists of launches. A name with internal linkage differs between two compilations of
 * its file: it is there as it is written, and without what differs. */
struct pdl_launches {
    struct pdl_names names;
    uint32_t *first; /* by name: of the entries that have it, + 1 */
    size_t first_capacity;
    /* An entry has two links: at 2 x its index that of its name, behind it that of the short one. */
    uint32_t *next; /* by link: the next one of the same name, + 1 */
};

/* ---- names -------------------------------------------------------------------------------------- */

/* A length and an identifier that begins with `word` there, in a mangled name. Returns where the length
 * begins, and in *end where the identifier ends; NULL if there is none. */
static const char *find_identifier(const char *name, const char *word, const char **end)
{
    const size_t least = strlen(word);
    for (const char *at = strstr(name, word); at != NULL; at = strstr(at + 1, word)) {
        size_t length = 0;
        size_t digit = 1;
        /* The identifier in front may end in digits as well: the shortest length that fits counts. */
        for (const char *digits = at; digits > name && digit <= 10000; digit *= 10) {
            digits--;
            if (*digits < '0' || *digits > '9') {
                break;
            }
            length += (size_t)(*digits - '0') * digit;
            if (*digits != '0' && length >= least && length <= strlen(at)) {
                *end = at + length;
                return digits;
            }
        }
    }
    return NULL;
}

bool pdl_launched_shorten(const char *name, char *to)
{
    static const char *const words[] = {"_GLOBAL__N_", "_INTERNAL_"};
    const char *const full = name;
    const char *end = NULL;
    const char *number = NULL;
    char *out = to;
    name = pdl_unit_skip(name);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && number == NULL; i++) {
        number = find_identifier(name, words[i], &end);
        if (number != NULL) {
            memcpy(out, name, (size_t)(number - name));
            out += number - name;
            *out++ = '(';
            *out++ = ')';
            name = end;
        }
    }
    memcpy(out, name, strlen(name) + 1);
    if (strncmp(to, "_ZL", 3) == 0) { /* as clang writes a static kernel's */
        memmove(to + 2, to + 3, strlen(to + 3) + 1);
    }
    char *const suffix = strstr(to, "__static__");
    if (suffix != NULL && suffix != to) {
        *suffix = '\0';
    }
    return strcmp(full, to) != 0;
}

/* ---- look-up ------------------------------------------------------------------------------------ */

static uint64_t entry_count(const pdl_inspect_options *options)
{
    return options->launched_overlapped_count + options->launched_plain_count;
}

static const char *entry_name(const pdl_inspect_options *options, uint64_t entry)
{
    return entry < options->launched_overlapped_count
               ? options->launched_overlapped[entry]
               : options->launched_plain[entry - options->launched_overlapped_count];
}

static void add_name(struct pdl_launches *launches, const char *name)
{
    const uint32_t before = launches->names.count;
    const size_t length = strlen(name);
    if (length >= PDL_NONE) {
        pdl_fail_memory();
    }
    const uint32_t number = pdl_names_add(&launches->names, name, (uint32_t)length);
    PDL_RESERVE(launches->first, (size_t)launches->names.count, launches->first_capacity);
    if (number >= before) {
        launches->first[number] = 0;
    }
}

static void link_entry(struct pdl_launches *launches, const char *name, uint32_t link)
{
    const uint32_t number = pdl_names_find(&launches->names, name, (uint32_t)strlen(name));
    launches->next[link] = launches->first[number];
    launches->first[number] = link + 1;
}

static void prepare(pdl_inspection *inspection, struct pdl_launches *launches, uint32_t count)
{
    launches->next = pdl_take((size_t)count * 2, sizeof(*launches->next));
    for (uint32_t i = 0; i < count; i++) {
        const char *const name = entry_name(inspection->options, i);
        char *const brief = pdl_arena_alloc(&inspection->arena, strlen(name) + 1);
        add_name(launches, name);
        link_entry(launches, name, i * 2);
        if (pdl_launched_shorten(name, brief)) {
            add_name(launches, brief);
            link_entry(launches, brief, i * 2 + 1);
        }
    }
}

void pdl_launched_prepare(pdl_inspection *inspection)
{
    const pdl_inspect_options *options = inspection->options;
    const uint64_t counts[] = {[PDL_INSPECT_CONSTANT_PARAMS] = options->constant_param_count,
                               [PDL_INSPECT_OVERLAPPED] = options->overlapped_count,
                               [PDL_INSPECT_PLAIN] = options->plain_count,
                               [PDL_INSPECT_LAUNCHED_OVERLAPPED] =
                                   options->launched_overlapped_count,
                               [PDL_INSPECT_LAUNCHED_PLAIN] = options->launched_plain_count};
    uint64_t all = 0;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        inspection->list_counts[i] = counts[i];
        all = counts[i] < PDL_NONE / 4 ? all + counts[i] : PDL_NONE;
    }
    const uint64_t count = entry_count(options);
    if (all >= PDL_NONE / 4) {
        pdl_fail_memory();
    }
    if (all > 0) {
        inspection->matches =
            pdl_arena_alloc(&inspection->arena, all * sizeof(*inspection->matches));
    }
    if (count > 0) {
        inspection->launches = pdl_arena_alloc(&inspection->arena, sizeof(*inspection->launches));
        prepare(inspection, inspection->launches, (uint32_t)count);
    }
}

/* The first link of a kernel's name, + 1; 0 if it is in no list. */
static uint32_t find_entries(const pdl_inspection *inspection, const char *kernel)
{
    const struct pdl_launches *launches = inspection->launches;
    char near[4096];
    const size_t length = strlen(kernel);
    uint32_t number = PDL_NONE;
    if (launches == NULL || launches->names.count == 0) {
        return 0;
    }
    if (length < PDL_NONE) {
        number = pdl_names_find(&launches->names, kernel, (uint32_t)length);
    }
    if (number == PDL_NONE && length < sizeof(near) && pdl_launched_shorten(kernel, near)) {
        number = pdl_names_find(&launches->names, near, (uint32_t)strlen(near));
    }
    return number != PDL_NONE ? launches->first[number] : 0;
}

static bool matches_any(const char *const *patterns, uint64_t count, const char *kernel)
{
    for (uint64_t i = 0; i < count; i++) {
        if (fnmatch(patterns[i], kernel, 0) == 0) {
            return true;
        }
    }
    return false;
}

enum pdl_launched_how pdl_launched_find(const pdl_inspection *inspection, const char *kernel)
{
    const pdl_inspect_options *options = inspection->options;
    const uint32_t first = find_entries(inspection, kernel);
    for (uint32_t link = first; link != 0; link = inspection->launches->next[link - 1]) {
        if ((link - 1) / 2 < options->launched_overlapped_count) {
            return PDL_HOW_SEEN_OVERLAPPED;
        }
    }
    if (matches_any(options->plain, options->plain_count, kernel)) {
        return PDL_HOW_PLAIN;
    }
    if (matches_any(options->overlapped, options->overlapped_count, kernel)) {
        return PDL_HOW_SAID_OVERLAPPED;
    }
    return first != 0 ? PDL_HOW_PLAIN : PDL_HOW_UNKNOWN;
}

/* ---- what was of use ---------------------------------------------------------------------------- */

static void count_patterns(const pdl_inspection *inspection, pdl_inspect_list list,
                           const char *const *patterns, uint64_t count, const char *kernel)
{
    uint32_t *const matches = pdl_inspection_counts(inspection, list);
    for (uint64_t i = 0; i < count; i++) {
        matches[i] += fnmatch(patterns[i], kernel, 0) == 0;
    }
}

void pdl_launched_count(pdl_inspection *inspection)
{
    static const uint32_t launches[] = {[PDL_HOW_UNKNOWN] = PDL_INSPECT_LAUNCH_UNKNOWN,
                                        [PDL_HOW_PLAIN] = PDL_INSPECT_LAUNCH_PLAIN,
                                        [PDL_HOW_SAID_OVERLAPPED] = PDL_INSPECT_LAUNCH_OVERLAPPED,
                                        [PDL_HOW_SEEN_OVERLAPPED] = PDL_INSPECT_LAUNCH_OVERLAPPED};
    const pdl_inspect_options *options = inspection->options;
    uint32_t *const seen = pdl_inspection_counts(inspection, PDL_INSPECT_LAUNCHED_OVERLAPPED);
    for (uint32_t i = 0; i < inspection->kernel_count; i++) {
        const char *const kernel = inspection->kernels[i]->info->name;
        count_patterns(inspection, PDL_INSPECT_OVERLAPPED, options->overlapped,
                       options->overlapped_count, kernel);
        count_patterns(inspection, PDL_INSPECT_PLAIN, options->plain, options->plain_count, kernel);
        for (uint32_t link = find_entries(inspection, kernel); link != 0;
             link = inspection->launches->next[link - 1]) {
            seen[(link - 1) / 2]++; /* both lists lie behind each other */
        }
        inspection->kernels[i]->launch = launches[pdl_launched_find(inspection, kernel)];
    }
}
