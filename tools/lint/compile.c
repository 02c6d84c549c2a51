/* SPDX-License-Identifier: MIT */
#include "lint/compile.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/file.h"
#include "common/memory.h"
#include "common/print.h"
#include "common/program.h"
#include "lint/paths.h"
#include "lint/runner.h"
#include "lint/sources.h"
#include "lint/store.h"
#include "trace/names.h"

#define LONGEST_PTX ((size_t)1 << 30)
#define LONGEST_LOG ((size_t)16 << 20)

enum { MOST_JOBS = 256 };

/* What became of a unit. */
struct outcome {
    bool done;
    bool cached;
    char *ptx;
    size_t size;
    char *why; /* NULL: there is PTX */
    char *log; /* what the compiler says; NULL: nothing */
};

struct work {
    const struct units *units;
    struct outcome *outcomes;
    struct runner runner;
    struct store *store;           /* NULL: no cache */
    pthread_mutex_t compiler_lock; /* of the next two */
    struct pdl_names compilers;
    struct {
        char **items; /* by compiler: what tells it from others, found once */
        size_t count, capacity;
    } identities;
    pthread_mutex_t lock; /* of what follows, and of outcomes' `done` */
    pthread_cond_t changed;
    size_t next, taken;
    size_t ahead; /* how many may be done and not taken: their PTX is in memory */
};

/* ---- compilers --------------------------------------------------------------------------------*/

static char *read_file(const char *path, size_t most, size_t *size)
{
    FILE *const file = fopen(path, "rbe");
    char *const bytes = file != NULL ? file_read_stream(file, most, size) : NULL;
    const int error = errno;
    if (file != NULL) {
        (void)fclose(file);
    }
    errno = error;
    return bytes;
}

/* The file, and what it says of its version: the name may be of a script. */
static char *identify(const struct work *work, const char *name, const char *directory,
                      size_t number)
{
    char *const found = program_find(name);
    char *const path = found != NULL && strchr(name, '/') != NULL ? path_absolute(directory, found)
                       : found != NULL                            ? copy_text(found)
                                                                  : copy_text(name);
    char *const real = realpath(path, NULL);
    char *const output = format_text("%s/compiler-%zu.txt", work->runner.folder.path, number);
    char *const program = copy_text(name);
    char version[] = "--version";
    char *const command[] = {program, version, NULL};
    struct stat about = {0};
    size_t size = 0;
    free(runner_run(&work->runner, command, directory, output));
    char *const text = read_file(output, LONGEST_LOG, &size);
    const bool there = real != NULL && stat(real, &about) == 0;
    char *const identity = format_text("%s %lld %lld.%09ld\n%s", real != NULL ? real : path,
                                       there ? (long long)about.st_size : 0,
                                       there ? (long long)about.st_mtim.tv_sec : 0,
                                       there ? about.st_mtim.tv_nsec : 0, text != NULL ? text : "");
    (void)unlink(output);
    free(text);
    free(program);
    free(output);
    free(real);
    free(path);
    free(found);
    return identity;
}

static const char *identity_of(struct work *work, const struct unit *unit)
{
    const char *const name = unit->command.arguments.items[0];
    const bool relative = strchr(name, '/') != NULL && name[0] != '/';
    char *const path = relative ? path_absolute(unit->directory, name) : copy_text(name);
    (void)pthread_mutex_lock(&work->compiler_lock);
    const uint32_t index = name_index(&work->compilers, path);
    if (index == work->identities.count) {
        APPEND(&work->identities, identify(work, name, unit->directory, index));
    }
    const char *const identity = work->identities.items[index];
    (void)pthread_mutex_unlock(&work->compiler_lock);
    free(path);
    return identity;
}

/* ---- one unit ---------------------------------------------------------------------------------*/

/* Where a compiler writes. */
struct places {
    char *ptx, *dependencies, *log;
};

static struct places make_places(const struct work *work, size_t number)
{
    const char *const folder = work->runner.folder.path;
    return (struct places){.ptx = format_text("%s/%zu.ptx", folder, number),
                           .dependencies = format_text("%s/%zu.d", folder, number),
                           .log = format_text("%s/%zu.txt", folder, number)};
}

static void drop_places(struct places *places)
{
    char *const paths[] = {places->ptx, places->dependencies, places->log};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        (void)unlink(paths[i]);
        free(paths[i]);
    }
}

static void compile(const struct work *work, const struct unit *unit, const struct places *places,
                    struct outcome *outcome)
{
    struct argv arguments = {0};
    size_t size = 0;
    if (unit->directory == NULL && access(unit->file, R_OK) != 0) { /* in one line, not three */
        outcome->why = format_text("%s", strerror(errno));
        return;
    }
    command_make(&unit->command, unit->architecture, unit->file, places->ptx, places->dependencies,
                 &arguments);
    outcome->why = runner_run(&work->runner, argv_vector(&arguments), unit->directory, places->log);
    if (outcome->why == NULL) {
        outcome->ptx = read_file(places->ptx, LONGEST_PTX, &outcome->size);
        if (outcome->ptx == NULL) {
            outcome->why = errno == ENOENT
                               ? copy_text("the compiler wrote no PTX")
                               : format_text("its PTX cannot be read: %s", strerror(errno));
        }
    }
    if (outcome->why != NULL) {
        outcome->log = read_file(places->log, LONGEST_LOG, &size);
    }
    argv_free(&arguments);
}

static void make_outcome(struct work *work, size_t number)
{
    const struct unit *const unit = &work->units->items[number];
    struct outcome *const outcome = &work->outcomes[number];
    struct places places = make_places(work, number);
    struct argv asked = {0};
    char *const directory = path_absolute(unit->directory, ".");
    if (work->store != NULL) {
        const struct store_question question = {
            .compiler = identity_of(work, unit), .directory = directory, .argv = &asked};
        command_make(&unit->command, unit->architecture, unit->file, "PTX", "DEPENDENCIES", &asked);
        outcome->ptx = store_find(work->store, &question, &outcome->size);
        outcome->cached = outcome->ptx != NULL;
        if (!outcome->cached) {
            compile(work, unit, &places, outcome);
        }
        if (!outcome->cached && outcome->why == NULL) {
            store_put(work->store, &question, outcome->ptx, outcome->size, places.dependencies);
        }
    } else {
        compile(work, unit, &places, outcome);
    }
    argv_free(&asked);
    free(directory);
    drop_places(&places);
}

static void *make_outcomes(void *data)
{
    struct work *const work = data;
    (void)pthread_mutex_lock(&work->lock);
    while (work->next < work->units->count) {
        if (work->next >= work->taken + work->ahead) {
            (void)pthread_cond_wait(&work->changed, &work->lock);
            continue;
        }
        const size_t number = work->next++;
        (void)pthread_mutex_unlock(&work->lock);
        make_outcome(work, number);
        (void)pthread_mutex_lock(&work->lock);
        work->outcomes[number].done = true;
        (void)pthread_cond_broadcast(&work->changed);
    }
    (void)pthread_mutex_unlock(&work->lock);
    return NULL;
}

/* ---- all of them ------------------------------------------------------------------------------*/

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* What a compiler says, line by line, as each of them may be long. */
static void print_log(const char *log)
{
    while (*log != '\0') {
        const size_t length = strcspn(log, "\n");
        print_line(stderr, "%.*s", (int)length, log);
        log += length + (log[length] == '\n');
    }
}

static void read_outcome(struct inputs *inputs, const struct unit *unit, struct outcome *outcome)
{
    if (outcome->why != NULL) {
        if (outcome->log != NULL) {
            print_log(outcome->log);
        }
        inputs_add_failed(inputs, unit->name, outcome->why);
    } else {
        const char suffix[2] = {unit->architecture.suffix, '\0'};
        char *const name =
            format_text("%s(sm_%d%s.ptx)", unit->name, unit->architecture.number, suffix);
        outcome->ptx = path_show_in_ptx(outcome->ptx, &outcome->size, unit->directory);
        inputs_read_memory(inputs, name, outcome->ptx, outcome->size);
        free(name);
    }
    free(outcome->ptx);
    free(outcome->why);
    free(outcome->log);
    outcome->ptx = outcome->why = outcome->log = NULL;
}

static void print_part(size_t count, const char *what)
{
    if (count > 0) {
        char *const number = format_count(count, "", "");
        (void)fprintf(stderr, " %s %s,", number, what);
        free(number);
    }
}

/* How many files there were, and where their PTX is from. */
static void print_end(const struct work *work, size_t failed, double seconds)
{
    size_t cached = 0;
    for (size_t i = 0; i < work->units->count; i++) {
        cached += work->outcomes[i].cached;
    }
    char *const files = format_count(work->units->count, "file", "files");
    (void)fprintf(stderr, "%s:", files);
    print_part(work->units->count - cached - failed, "compiled");
    print_part(cached, "from the cache");
    print_part(failed, "not compiled");
    (void)fprintf(stderr, " %.1f s\n", seconds);
    free(files);
}

/* Where a person waits. */
static void print_progress(const struct work *work, size_t done)
{
    if (work->units->count > 1 && wants_colours(stderr)) {
        if (done < work->units->count) {
            (void)fprintf(stderr, "\r[%zu/%zu] ", done, work->units->count);
        } else {
            (void)fputs("\r\033[K", stderr);
        }
        (void)fflush(stderr);
    }
}

static void take_outcomes(struct work *work, struct inputs *inputs)
{
    const double begin = now();
    size_t failed = 0;
    for (size_t i = 0; i < work->units->count; i++) {
        print_progress(work, i);
        (void)pthread_mutex_lock(&work->lock);
        while (!work->outcomes[i].done) {
            (void)pthread_cond_wait(&work->changed, &work->lock);
        }
        work->taken = i + 1;
        (void)pthread_cond_broadcast(&work->changed);
        (void)pthread_mutex_unlock(&work->lock);
        failed += work->outcomes[i].why != NULL;
        read_outcome(inputs, &work->units->items[i], &work->outcomes[i]);
    }
    print_progress(work, work->units->count);
    if (work->units->count > 1) {
        print_end(work, failed, now() - begin);
    }
}

static void do_work(struct work *work, size_t jobs, struct inputs *inputs)
{
    pthread_t threads[MOST_JOBS];
    size_t started = 0;
    work->ahead = 2 * jobs + 2;
    while (started < jobs && pthread_create(&threads[started], NULL, make_outcomes, work) == 0) {
        started++;
    }
    if (started == 0) {
        work->ahead = work->units->count;
        (void)make_outcomes(work);
    }
    take_outcomes(work, inputs);
    for (size_t i = 0; i < started; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

static size_t count_jobs(const struct lint_options *options, size_t units)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t jobs = options->jobs > 0 ? (size_t)options->jobs
                  : processors > 0  ? (size_t)processors
                                    : 1;
    jobs = jobs < MOST_JOBS ? jobs : MOST_JOBS;
    return jobs < units ? jobs : units;
}

static void run(const struct lint_options *options, const struct units *units,
                struct inputs *inputs)
{
    struct work work = {.units = units};
    char *why = runner_make(&work.runner);
    if (why != NULL) {
        inputs_add_failed(inputs, units->items[0].name, why);
    } else {
        char *unusable = NULL;
        work.store = options->no_cache || store_open == NULL ? NULL : store_open(&unusable);
        if (unusable != NULL) {
            print_note("%s", unusable);
        }
        free(unusable);
        work.outcomes = allocate(units->count, sizeof(*work.outcomes));
        (void)pthread_mutex_init(&work.compiler_lock, NULL);
        (void)pthread_mutex_init(&work.lock, NULL);
        (void)pthread_cond_init(&work.changed, NULL);
        do_work(&work, count_jobs(options, units->count), inputs);
        (void)pthread_cond_destroy(&work.changed);
        (void)pthread_mutex_destroy(&work.lock);
        (void)pthread_mutex_destroy(&work.compiler_lock);
        if (work.store != NULL) {
            store_close(work.store);
        }
        for (size_t i = 0; i < work.identities.count; i++) {
            free(work.identities.items[i]);
        }
        free(work.identities.items);
        pdl_names_free(&work.compilers);
        free(work.outcomes);
    }
    free(why);
    runner_free(&work.runner);
}

void lint_read_files(const struct lint_options *options, struct inputs *inputs)
{
    struct lint_strings sources = {0};
    struct units units = {0};
    for (size_t i = 0; i < options->files.count; i++) {
        const char *const file = options->files.items[i];
        if (lint_is_source(options, file)) {
            APPEND(&sources, file);
        } else {
            inputs_read(inputs, file);
        }
    }
    if (sources.count > 0 || (options->compile_commands != NULL && options->files.count == 0)) {
        inputs->incomplete |= !units_find(options, &sources, &units);
        if (units.count > 0) {
            run(options, &units, inputs);
        }
    } else if (options->compiler_options.count > 0) {
        print_error("options after -- are for the compiler, but there is no source to compile");
        inputs->incomplete = true;
    }
    units_free(&units);
    free(sources.items);
}
