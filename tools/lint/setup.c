/* SPDX-License-Identifier: MIT */
#include "lint/setup.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/demangle.h"
#include "common/memory.h"
#include "common/print.h"
#include "lint/lint.h"
#include "lint/paths.h"
#include "lint/statements.h"

static const char project_name[] = ".pdl-lint";

/* The command line together with one project file or none. The lists have what the command line says first. */
struct setup {
    struct lint_statements own; /* of the project file */
    bool named;                 /* by --project: it is meant for this run and no other */
    pdl_inspect_options options;
    struct lint_strings lists[LINT_LISTS]; /* the texts of the last are owned */
    struct lint_strings seen_overlapped, seen_plain;
};

struct lint_setups {
    const struct lint_options *command;
    struct lint_statements base; /* of the command line */
    struct setup **items;        /* the first without a project file */
    size_t count, capacity;
    struct setup *named;      /* of --project */
    struct pdl_names folders; /* that were looked at */
    struct {
        struct setup **items; /* by folder */
        size_t count, capacity;
    } setups_of;
    bool failed;
};

/* ---- one setup --------------------------------------------------------------------------------*/

/* A path begins with what is not known on another machine: a pattern matches what follows any slash. One of a folder
 * matches what is in it. */
static void add_path(struct lint_strings *to, const char *pattern)
{
    const size_t length = strlen(pattern);
    const int used = (int)(length > 1 && pattern[length - 1] == '/' ? length - 1 : length);
    const char *const before = pattern[0] == '/' || pattern[0] == '*' ? "" : "*/";
    APPEND(to, format_text("%.*s", used, pattern));
    APPEND(to, format_text("%.*s/*", used, pattern));
    APPEND(to, format_text("%s%.*s", before, used, pattern));
    APPEND(to, format_text("%s%.*s/*", before, used, pattern));
}

enum { FORMS_OF_PATH = 4 };

static void add_launched(struct setup *setup, const struct lint_statements *from)
{
    for (uint32_t i = 0; i < from->launched.count; i++) {
        struct lint_strings *const to = (from->how.items[i] & LAUNCHED_OVERLAPPED) != 0
                                            ? &setup->seen_overlapped
                                            : &setup->seen_plain;
        APPEND(to, from->launched.names[i]);
    }
}

static void add_statements(struct setup *setup, const struct lint_statements *from)
{
    for (int list = 0; list < LINT_LISTS; list++) {
        for (size_t i = 0; i < from->lists[list].count; i++) {
            const char *const pattern = from->lists[list].items[i].pattern;
            if (list == LINT_THIRD_PARTY) {
                add_path(&setup->lists[list], pattern);
            } else {
                APPEND(&setup->lists[list], pattern);
            }
        }
    }
    add_launched(setup, from);
}

static void fill(struct setup *setup, const struct lint_setups *setups)
{
    const struct lint_strings *const lists = setup->lists;
    pdl_inspect_options *const options = &setup->options;
    add_statements(setup, &setups->base);
    add_statements(setup, &setup->own);
    *options = setups->command->inspect;
    options->constant_params = lists[LINT_CONSTANT_PARAMS].items;
    options->constant_param_count = lists[LINT_CONSTANT_PARAMS].count;
    options->overlapped = lists[LINT_OVERLAPPED].items;
    options->overlapped_count = lists[LINT_OVERLAPPED].count;
    options->plain = lists[LINT_PLAIN].items;
    options->plain_count = lists[LINT_PLAIN].count;
    options->third_party = lists[LINT_THIRD_PARTY].items;
    options->third_party_count = lists[LINT_THIRD_PARTY].count;
    options->launched_overlapped = setup->seen_overlapped.items;
    options->launched_overlapped_count = setup->seen_overlapped.count;
    options->launched_plain = setup->seen_plain.items;
    options->launched_plain_count = setup->seen_plain.count;
}

static void free_setup(struct setup *setup)
{
    for (size_t i = 0; i < setup->lists[LINT_THIRD_PARTY].count; i++) {
        free((void *)setup->lists[LINT_THIRD_PARTY].items[i]);
    }
    for (int list = 0; list < LINT_LISTS; list++) {
        free((void *)setup->lists[list].items);
    }
    free((void *)setup->seen_overlapped.items);
    free((void *)setup->seen_plain.items);
    lint_statements_free(&setup->own);
    free(setup);
}

static bool read_launches(struct lint_statements *statements)
{
    for (size_t i = 0; i < statements->launches.count; i++) {
        if (!lint_launches_read(statements, &statements->launches.items[i])) {
            return false;
        }
    }
    return true;
}

/* ---- project files ----------------------------------------------------------------------------*/

static bool read_project(struct setup *setup, const char *path)
{
    struct lint_mistake mistake;
    size_t size = 0;
    char *const text = lint_read_text(path, &size);
    const char *const slash = strrchr(path, '/');
    if (text == NULL) {
        return false;
    }
    setup->own.path = copy_text(path);
    setup->own.folder =
        slash != NULL ? format_text("%.*s", (int)(slash - path), path) : copy_text(".");
    const bool right = lint_project_parse(&setup->own, text, size, path, &mistake);
    free(text);
    return right ? read_launches(&setup->own) : lint_tell_mistake(path, &mistake);
}

static struct setup *add_setup(struct lint_setups *setups, const char *path, bool named)
{
    struct setup *const setup = allocate(1, sizeof(*setup));
    setup->named = named;
    APPEND(setups, setup);
    if (path != NULL && !read_project(setup, path)) {
        setups->failed = true;
    }
    fill(setup, setups);
    return setup;
}

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* The setup of the nearest project file in a folder, an absolute path, or above it. */
static struct setup *setup_above(struct lint_setups *setups, char *folder)
{
    struct setup *setup = setups->items[0];
    for (;;) {
        uint32_t known = 0;
        bool found = false;
        if (pdl_names_find(&setups->folders, folder, &known)) {
            setup = setups->setups_of.items[known];
            break;
        }
        (void)name_index(&setups->folders, folder);
        char *const path =
            format_text("%s/%s", strcmp(folder, "/") == 0 ? "" : folder, project_name);
        if (is_file(path)) {
            setup = add_setup(setups, path, false);
            found = true;
        }
        free(path);
        if (found || strcmp(folder, "/") == 0) {
            break;
        }
        char *const slash = strrchr(folder, '/');
        slash[slash == folder ? 1 : 0] = '\0';
    }
    while (setups->setups_of.count < setups->folders.count) {
        APPEND(&setups->setups_of, setup);
    }
    return setup;
}

static void prepare(struct inputs *inputs, const char *name)
{
    struct lint_setups *const setups = inputs->context;
    struct setup *setup = setups->named != NULL ? setups->named : setups->items[0];
    if (setups->named == NULL && !setups->command->no_project) {
        char *const folder = path_folder_of_input(name);
        if (folder != NULL) {
            setup = setup_above(setups, folder);
        }
        free(folder);
    }
    inputs->options = &setup->options;
    inputs->owner = setup;
}

/* ---- the command line -------------------------------------------------------------------------*/

static void state_all(struct lint_statements *base, enum lint_list list,
                      const struct lint_strings *from, const char *option)
{
    for (size_t i = 0; i < from->count; i++) {
        char *const text = format_text("--%s=%s", option, from->items[i]);
        lint_state(&base->lists[list], from->items[i], "command line", text);
        free(text);
    }
}

static void state_command_line(struct lint_statements *base, const struct lint_options *options)
{
    state_all(base, LINT_CONSTANT_PARAMS, &options->constant_params, "constant-param");
    state_all(base, LINT_OVERLAPPED, &options->overlapped, "overlapped");
    for (size_t i = 0; i < options->launches.count; i++) {
        lint_state_launches(base, options->launches.items[i], "command line",
                            format_text("--launches=%s", options->launches.items[i]));
    }
}

bool lint_setups_begin(struct lint_setups **made, struct lint_options *options,
                       struct inputs *inputs)
{
    struct lint_setups *const setups = allocate(1, sizeof(*setups));
    *made = setups;
    setups->command = options;
    state_command_line(&setups->base, options);
    if (!read_launches(&setups->base)) {
        return false;
    }
    (void)add_setup(setups, NULL, false);
    if (options->project != NULL) {
        setups->named = add_setup(setups, options->project, true);
    }
    inputs->context = setups;
    inputs->prepare = prepare;
    inputs->options = &setups->items[0]->options;
    inputs->owner = setups->items[0];
    return !setups->failed;
}

void lint_setups_free(struct lint_setups *setups)
{
    if (setups == NULL) {
        return;
    }
    for (size_t i = 0; i < setups->count; i++) {
        free_setup(setups->items[i]);
    }
    pdl_names_free(&setups->folders);
    free(setups->setups_of.items);
    free(setups->items);
    lint_statements_free(&setups->base);
    free(setups);
}

bool lint_setups_failed(const struct lint_setups *setups)
{
    return setups->failed;
}

const char *lint_setups_folder(const struct input *input)
{
    const struct setup *const setup = input->owner;
    return setup != NULL ? setup->own.folder : NULL;
}

/* ---- after reading ----------------------------------------------------------------------------*/

/* The pattern of third-party files, a form of which matches a path; NULL if none does. */
static pdl_lint_suppression *third_party_of(struct setup *setup, const char *path)
{
    for (size_t i = 0; i < setup->lists[LINT_THIRD_PARTY].count; i++) {
        if (fnmatch(setup->lists[LINT_THIRD_PARTY].items[i], path, 0) == 0) {
            return &setup->own.lists[LINT_THIRD_PARTY].items[i / FORMS_OF_PATH].told;
        }
    }
    return NULL;
}

static void apply_to(const struct input *input)
{
    struct setup *const setup = input->owner;
    const size_t count = pdl_inspection_finding_count(input->inspection);
    const char *last = NULL; /* findings of one file follow each other */
    pdl_lint_suppression *last_found = NULL;
    lint_suppress(&setup->own, input->inspection);
    for (size_t i = 0; i < count && setup->lists[LINT_THIRD_PARTY].count > 0; i++) {
        const struct lint_entry entry = {input, pdl_inspection_finding(input->inspection, i), i};
        const pdl_inspect_place *const place = lint_headline(entry.finding);
        if (place == NULL || entry.finding->suppressed != NULL) {
            continue;
        }
        if (place->file != last) {
            last = place->file;
            last_found = third_party_of(setup, last);
        }
        if (last_found != NULL) {
            last_found->used += last_found->used < UINT32_MAX;
            lint_sift_out(&entry, LINT_SIFTED_THIRD_PARTY);
        }
    }
}

void lint_setups_apply(const struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++) {
        if (inputs->items[i].inspection != NULL) {
            apply_to(&inputs->items[i]);
        }
    }
}

static void use(pdl_lint_suppression *told, uint64_t matches)
{
    told->used = matches < UINT32_MAX - told->used ? told->used + (uint32_t)matches : UINT32_MAX;
}

/* How often an input matches the statements, those of the command line first. */
static void count_lists(const struct input *input, struct lint_statements *const both[2])
{
    static const pdl_inspect_list lists[] = {[LINT_CONSTANT_PARAMS] = PDL_INSPECT_CONSTANT_PARAMS,
                                             [LINT_OVERLAPPED] = PDL_INSPECT_OVERLAPPED,
                                             [LINT_PLAIN] = PDL_INSPECT_PLAIN};
    for (size_t list = 0; list < sizeof(lists) / sizeof(lists[0]); list++) {
        size_t index = 0;
        for (size_t b = 0; b < 2; b++) {
            for (size_t i = 0; i < both[b]->lists[list].count; i++) {
                use(&both[b]->lists[list].items[i].told,
                    pdl_inspection_matches(input->inspection, lists[list], index++));
            }
        }
    }
}

/* Names of launches that an input has. `at` is where those of the statements begin in both lists. */
static void find_launched(const struct input *input, const struct lint_statements *statements,
                          uint64_t at[2], bool *found)
{
    for (uint32_t i = 0; i < statements->launched.count; i++) {
        const bool overlapped = (statements->how.items[i] & LAUNCHED_OVERLAPPED) != 0;
        const uint64_t index = at[overlapped]++;
        found[i] = found[i] || pdl_inspection_matches(input->inspection,
                                                      overlapped ? PDL_INSPECT_LAUNCHED_OVERLAPPED
                                                                 : PDL_INSPECT_LAUNCHED_PLAIN,
                                                      index) > 0;
    }
}

/* Returns how many were launched with overlap and not found. */
static size_t use_launches(struct lint_statements *statements, const bool *found)
{
    size_t overlapped = 0;
    size_t missing = 0;
    const char *example = NULL;
    for (size_t f = 0; f < statements->launches.count; f++) {
        struct lint_launch_file *const file = &statements->launches.items[f];
        for (size_t i = 0; i < file->names.count; i++) {
            use(&file->told, found[file->names.items[i]]);
        }
    }
    for (uint32_t i = 0; i < statements->launched.count; i++) {
        if (!found[i]) {
            example = example != NULL ? example : statements->launched.names[i];
            missing++;
            overlapped += (statements->how.items[i] & LAUNCHED_OVERLAPPED) != 0;
        }
    }
    if (missing > 0) {
        char *const kernels = format_count(missing, "kernel", "kernels");
        char *const name = demangle(example);
        print_note("%s launched, but not in any input%s '%s'", kernels,
                   missing > 1 ? ", such as" : ":", name);
        free(name);
        free(kernels);
    }
    return overlapped;
}

size_t lint_setups_count(struct lint_setups *setups, const struct inputs *inputs)
{
    size_t missing = 0;
    bool *const base_found = allocate(setups->base.launched.count + 1, sizeof(*base_found));
    for (size_t s = 0; s < setups->count; s++) {
        struct setup *const setup = setups->items[s];
        struct lint_statements *const both[] = {&setups->base, &setup->own};
        bool *const found = allocate(setup->own.launched.count + 1, sizeof(*found));
        bool any = false;
        for (size_t i = 0; i < inputs->count; i++) {
            const struct input *const input = &inputs->items[i];
            uint64_t at[2] = {0, 0};
            if (input->owner != setup || input->inspection == NULL) {
                continue;
            }
            any = true;
            count_lists(input, both);
            find_launched(input, &setups->base, at, base_found);
            find_launched(input, &setup->own, at, found);
        }
        if (any) {
            missing += use_launches(&setup->own, found);
        }
        free(found);
    }
    missing += use_launches(&setups->base, base_found);
    free(base_found);
    return missing;
}

/* ---- what was of no use -----------------------------------------------------------------------*/

static void tell(struct lint_report *report, const pdl_lint_suppression *told, const char *what,
                 pdl_lint_level level)
{
    const struct lint_allowance allowance = {told, told->used, what, level};
    lint_add_allowance(report, &allowance);
}

static void tell_statements(struct lint_report *report, const struct lint_statements *statements,
                            const char *what, pdl_lint_level level)
{
    for (int list = 0; list < LINT_LISTS; list++) {
        for (size_t i = 0; i < statements->lists[list].count; i++) {
            tell(report, &statements->lists[list].items[i].told, what, level);
        }
    }
    for (size_t i = 0; i < statements->launches.count; i++) {
        tell(report, &statements->launches.items[i].told, what, level);
    }
}

/* A project file that was found holds for more than what is read in this run. */
void lint_setups_tell(const struct lint_setups *setups, struct lint_report *report)
{
    tell_statements(report, &setups->base, "option", PDL_LINT_WARNING);
    for (size_t s = 0; s < setups->count; s++) {
        const struct setup *const setup = setups->items[s];
        const pdl_lint_level level = setup->named ? PDL_LINT_WARNING : PDL_LINT_NOTE;
        tell_statements(report, &setup->own, "line", level);
        for (size_t i = 0; i < setup->own.suppressions.count; i++) {
            tell(report, &setup->own.suppressions.items[i].told, "line", level);
        }
    }
}
