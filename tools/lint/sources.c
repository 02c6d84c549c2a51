/* SPDX-License-Identifier: MIT */
#include "lint/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/memory.h"
#include "common/print.h"
#include "lint/paths.h"

/* ---- lists ------------------------------------------------------------------------------------*/

void compilations_free(struct compilations *compilations)
{
    for (size_t i = 0; i < compilations->count; i++) {
        free(compilations->items[i].directory);
        free(compilations->items[i].file);
        argv_free(&compilations->items[i].arguments);
    }
    free(compilations->items);
    *compilations = (struct compilations){0};
}

static void free_unit(struct unit *unit)
{
    command_free(&unit->command);
    free(unit->directory);
    free(unit->file);
    free(unit->name);
}

void units_free(struct units *units)
{
    for (size_t i = 0; i < units->count; i++) {
        free_unit(&units->items[i]);
    }
    free(units->items);
    *units = (struct units){0};
}

/* ---- arguments --------------------------------------------------------------------------------*/

static bool is_directory(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Whether the options make CUDA of what is C++ by its name. */
static bool options_say_cuda(const struct lint_options *options)
{
    struct argv words = {0};
    argv_add(&words, "");
    for (size_t i = 0; i < options->compiler_options.count; i++) {
        argv_add(&words, options->compiler_options.items[i]);
    }
    const bool cuda = command_is_cuda(&words, "");
    argv_free(&words);
    return cuda;
}

bool lint_is_source(const struct lint_options *options, const char *argument)
{
    if (command_ends_in(argument, ".cu .cuh")) {
        return true;
    }
    const bool is_cxx = command_ends_in(argument, ".cpp .cc .cxx .c .C");
    return options->compile_commands != NULL ? is_cxx || is_directory(argument)
                                             : is_cxx && options_say_cuda(options);
}

/* ---- architectures ----------------------------------------------------------------------------*/

/* Those that --arch names; false with a line where it names none. */
static bool read_architectures(const char *text, struct architectures *into)
{
    do {
        const size_t length = strcspn(text, ",");
        char *const name = format_text("%.*s", (int)length, text);
        struct architecture found;
        const bool known = architecture_parse(name, &found) && found.number >= ARCHITECTURE_LEAST;
        if (!known) {
            print_error("--arch takes an architecture of sm_90 or newer, such as 90a or sm_100a, "
                        "not '%s'",
                        name);
        }
        free(name);
        if (!known) {
            return false;
        }
        APPEND(into, found);
        text += length + (text[length] == ',');
    } while (*text != '\0');
    return true;
}

/* ---- units ------------------------------------------------------------------------------------*/

/* What is known of all units, and what was seen while they were made. */
struct making {
    const struct lint_options *options;
    const struct architectures *wanted; /* those of --arch */
    struct units *units;
    size_t older; /* whose commands name older architectures only */
    bool failed;  /* something was not compiled that has to be */
};

static void add_unit(const struct making *making, const struct command *command,
                     const struct compilation *compilation, struct architecture architecture)
{
    struct unit unit = {
        .command = {.kind = command->kind},
        .architecture = architecture,
        .directory = compilation->directory != NULL ? copy_text(compilation->directory) : NULL,
        .file = copy_text(compilation->file)};
    for (size_t i = 0; i < command->arguments.count; i++) {
        argv_add(&unit.command.arguments, command->arguments.items[i]);
    }
    if (compilation->directory != NULL) {
        char *const path = path_absolute(compilation->directory, compilation->file);
        unit.name = path_shown(path);
        free(path);
    } else {
        unit.name = copy_text(compilation->file);
    }
    APPEND(making->units, unit);
}

/* Adds the words of a variable of the environment. */
static void add_variable(struct argv *arguments, const char *name)
{
    const char *const value = getenv(name);
    if (value != NULL) {
        argv_split(arguments, value);
    }
}

/* Makes units of a source. */
static void make_units(struct making *making, const struct compilation *compilation,
                       enum compiler_kind kind)
{
    const struct lint_options *const options = making->options;
    const bool database = options->compile_commands != NULL;
    struct argv arguments = {0};
    struct command command;
    struct foreign_words foreign;
    argv_add(&arguments, compilation->arguments.items[0]);
    if (kind == COMPILER_NVCC) { /* nvcc itself would add them to what is asked of it here */
        add_variable(&arguments, "NVCC_PREPEND_FLAGS");
    }
    foreign.before = arguments.count;
    for (size_t i = 1; i < compilation->arguments.count; i++) {
        argv_add(&arguments, compilation->arguments.items[i]);
    }
    foreign.behind = arguments.count;
    for (size_t i = 0; database && i < options->compiler_options.count; i++) {
        argv_add(&arguments, options->compiler_options.items[i]);
    }
    if (kind == COMPILER_NVCC) {
        add_variable(&arguments, "NVCC_APPEND_FLAGS");
    }
    foreign.behind = arguments.count - foreign.behind;
    command_read(&command, kind, &arguments, compilation->directory, compilation->file,
                 database && options->no_database_compiler ? &foreign : NULL);
    if (command.unread) {
        print_line(stderr, "%s: error: a response file of its command cannot be read",
                   compilation->file);
        making->failed = true;
    } else if (making->wanted->count > 0) {
        for (size_t i = 0; i < making->wanted->count; i++) {
            add_unit(making, &command, compilation, making->wanted->items[i]);
        }
    } else {
        making->older += command.older && !command.named;
        add_unit(making, &command, compilation, command.newest);
    }
    command_free(&command);
}

static void tell_older(size_t older)
{
    if (older > 0) {
        char *const files = format_count(older, "file", "files");
        print_note("%s compiled for architectures older than sm_90, which lack PDL; linted for "
                   "sm_90 (--arch changes that)",
                   files);
        free(files);
    }
}

/* ---- files that are named ---------------------------------------------------------------------*/

/* nvcc, CUDACXX with its options, or what --nvcc names. */
static void add_compiler(const struct lint_options *options, struct argv *arguments)
{
    const char *const variable = getenv("CUDACXX");
    if (options->compiler != NULL) {
        argv_add(arguments, options->compiler);
    } else if (variable != NULL && *variable != '\0') {
        if (access(variable, X_OK) == 0) {
            argv_add(arguments, variable); /* a path, blanks and all */
        } else {
            argv_split(arguments, variable);
            command_drop_launchers(arguments);
        }
    }
    if (arguments->count == 0) {
        argv_add(arguments, "nvcc");
    }
}

static void find_named(struct making *making, const struct lint_strings *files)
{
    for (size_t i = 0; i < files->count; i++) {
        struct compilation compilation = {.file = copy_text(files->items[i])};
        add_compiler(making->options, &compilation.arguments);
        for (size_t o = 0; o < making->options->compiler_options.count; o++) {
            argv_add(&compilation.arguments, making->options->compiler_options.items[o]);
        }
        const enum compiler_kind kind = compiler_kind_of(compilation.arguments.items[0]);
        make_units(making, &compilation, kind != COMPILER_UNKNOWN ? kind : COMPILER_NVCC);
        free(compilation.file);
        argv_free(&compilation.arguments);
    }
}

/* ---- files of a database ----------------------------------------------------------------------*/

/* What the command line names: a source or a folder. */
struct selection {
    char *path; /* without symbolic links, if it is there */
    bool used;
};

/* A path without symbolic links; as it is where there is no such file. */
static char *path_real(const char *directory, const char *path)
{
    char *const whole = path_absolute(directory, path);
    char *const real = realpath(whole, NULL);
    if (real == NULL) {
        return whole;
    }
    free(whole);
    return real;
}

static bool is_selected(struct selection *selections, size_t count,
                        const struct compilation *compilation)
{
    char *const named = path_absolute(compilation->directory, compilation->file);
    char *const real = path_real(NULL, named);
    bool found = count == 0;
    for (size_t i = 0; i < count; i++) {
        const char *const path = selections[i].path;
        const size_t length = strlen(path);
        if (strcmp(real, path) == 0 || (strncmp(real, path, length) == 0 && real[length] == '/') ||
            (strncmp(named, path, length) == 0 && named[length] == '/')) {
            selections[i].used = true;
            found = true;
        }
    }
    free(real);
    free(named);
    return found;
}

/* What tells units apart, as one text, which the caller frees. */
static char *unit_text(const struct unit *unit)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const to = memory_open(&text, &size);
    (void)fprintf(to, "%s\n%s\n%d%c", unit->directory, unit->file, unit->architecture.number,
                  unit->architecture.suffix != '\0' ? unit->architecture.suffix : ' ');
    for (size_t i = 0; i < unit->command.arguments.count; i++) {
        (void)fprintf(to, "\n%s", unit->command.arguments.items[i]);
    }
    memory_close(to);
    return text;
}

/* Of entries that say the same one stays: a source that is part of two targets may be compiled as often, to the same
 * code. */
static void drop_twins(struct units *units)
{
    struct pdl_names seen = {0};
    size_t kept = 0;
    for (size_t i = 0; i < units->count; i++) {
        char *const text = unit_text(&units->items[i]);
        if (name_index(&seen, text) < kept) {
            free_unit(&units->items[i]);
        } else {
            units->items[kept++] = units->items[i];
        }
        free(text);
    }
    units->count = kept;
    pdl_names_free(&seen);
}

/* The compiler of an entry: --nvcc stands for any nvcc, so that a database from another machine can be used. */
static enum compiler_kind take_compiler(const struct lint_options *options, struct argv *arguments)
{
    command_drop_launchers(arguments);
    const bool alone = options->no_database_compiler;
    const char *const compiler = alone && options->compiler == NULL ? "nvcc" : options->compiler;
    const enum compiler_kind kind = compiler_kind_of(arguments->items[0]);
    if (compiler == NULL) {
        return kind;
    }
    enum compiler_kind wanted = compiler_kind_of(compiler);
    wanted = wanted == COMPILER_UNKNOWN ? COMPILER_NVCC : wanted;
    if (kind != COMPILER_UNKNOWN && kind != wanted) {
        return alone ? COMPILER_UNKNOWN : kind; /* its options are those of the other compiler */
    }
    free(arguments->items[0]);
    arguments->items[0] = strchr(compiler, '/') != NULL
                              ? path_absolute(NULL, compiler) /* not from its directory */
                              : copy_text(compiler);
    return wanted;
}

static void find_entries(struct making *making, struct compilations *compilations,
                         struct selection *selections, size_t count)
{
    size_t unknown = 0;
    const char *example = NULL;
    for (size_t i = 0; i < compilations->count; i++) {
        struct compilation *const compilation = &compilations->items[i];
        if (!command_is_cuda(&compilation->arguments, compilation->file) ||
            !is_selected(selections, count, compilation)) {
            continue;
        }
        const enum compiler_kind kind = take_compiler(making->options, &compilation->arguments);
        if (kind == COMPILER_UNKNOWN) {
            unknown++;
            example = compilation->arguments.items[0];
        } else {
            make_units(making, compilation, kind);
        }
    }
    drop_twins(making->units);
    if (unknown > 0) {
        char *const files = format_count(unknown, "file", "files");
        if (making->options->no_database_compiler) {
            print_error("%s skipped: the options are those of %s, which --no-database-compiler "
                        "does not run; --nvcc sets the compiler",
                        files, example);
            making->failed = true;
        } else {
            print_note("%s skipped: %s has the name of neither nvcc nor clang; --nvcc sets the "
                       "compiler",
                       files, example);
        }
        free(files);
    }
}

static bool find_in_database(struct making *making, const struct lint_strings *files)
{
    if (database_read == NULL) {
        print_error("-p needs a pdltool that was built with the library jansson");
        return false;
    }
    const char *const database = making->options->compile_commands;
    char *const path = is_directory(database) ? format_text("%s/compile_commands.json", database)
                                              : copy_text(database);
    struct compilations compilations = {0};
    struct selection *const selections = allocate(files->count, sizeof(*selections));
    bool found = database_read(path, &compilations);
    if (found) {
        for (size_t i = 0; i < files->count; i++) {
            selections[i].path = path_real(NULL, files->items[i]);
        }
        find_entries(making, &compilations, selections, files->count);
        found = !making->failed;
        for (size_t i = 0; i < files->count; i++) {
            if (!selections[i].used) {
                print_line(stderr, "%s: error: no CUDA source of %s", files->items[i], path);
                found = false;
            }
            free(selections[i].path);
        }
        if (files->count == 0 && making->units->count == 0) {
            print_line(stderr, "%s: error: no CUDA source is compiled by it", path);
            found = false;
        }
    }
    free(selections);
    compilations_free(&compilations);
    free(path);
    return found;
}

bool units_find(const struct lint_options *options, const struct lint_strings *files,
                struct units *units)
{
    struct architectures wanted = {0};
    struct making making = {.options = options, .wanted = &wanted, .units = units};
    if (options->architecture != NULL && !read_architectures(options->architecture, &wanted)) {
        free(wanted.items);
        return false;
    }
    bool found = true;
    if (options->compile_commands != NULL) {
        found = find_in_database(&making, files);
    } else {
        find_named(&making, files);
    }
    tell_older(making.older);
    free(wanted.items);
    return found;
}
