/* SPDX-License-Identifier: MIT */
/* From runs to a page and its plots. */
#include "report/make.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "common/memory.h"
#include "common/print.h"
#include "report/draw.h"
#include "report/figures.h"
#include "report/gnuplot.h"
#include "report/tuned.h"

/* Names of files and of anchors are there once. */
static void make_figures(struct report *report)
{
    struct texts names = {.items = NULL};
    struct texts anchors = {.items = NULL};
    for (size_t i = 0; i < report->count; i++) {
        struct report_run *const run = &report->items[i];
        for (size_t j = 0; j < run->run.bench.count; j++) {
            const struct subject subject = {
                .run = &run->run,
                .table = run->run.bench.items[j],
                .label = run_label(report, run, run->run.bench.items[j]),
                .figures = &run->figures[j],
            };
            figures_make(&subject);
            char *anchor =
                file_name(subject.table->suite, subject.table->spec.name, subject.label, "");
            texts_add(&run->anchors, texts_unique(&anchors, anchor));
            for (size_t k = 0; k < run->figures[j].count; k++) {
                struct figure *const figure = run->figures[j].items[k];
                figure->name = copy_text(texts_unique(&names, figure->name));
            }
        }
    }
    for (size_t i = 0; i < report->tuned.count; i++) {
        const struct figures *const figures = &report->tuned.items[i].figures;
        for (size_t j = 0; j < figures->count; j++) {
            figures->items[j]->name = copy_text(texts_unique(&names, figures->items[j]->name));
        }
    }
    texts_free(&names);
    texts_free(&anchors);
}

/* ---- files -------------------------------------------------------------------------------------- */

static bool write_file(const char *path, const char *bytes, size_t count)
{
    char *part = format_text("%s.part", path);
    FILE *const file = fopen(part, "w");
    bool written = file != NULL && fwrite(bytes, 1, count, file) == count;
    int error = errno;
    if (file != NULL) {
        if (fclose(file) != 0 && written) {
            error = errno;
            written = false;
        }
        if (written && rename(part, path) != 0) {
            error = errno;
            written = false;
        }
        if (!written) {
            (void)unlink(part);
        }
    }
    if (!written) {
        print_line(stderr, "%s: error: %s", path, strerror(error));
    }
    free(part);
    return written;
}

static bool make_directory(const char *path)
{
    struct stat status;
    if (mkdir(path, 0777) == 0 ||
        (errno == EEXIST && stat(path, &status) == 0 && S_ISDIR(status.st_mode))) {
        return true;
    }
    print_line(stderr, "%s: error: %s", path, strerror(errno));
    return false;
}

/* ---- plots -------------------------------------------------------------------------------------- */

enum drawn { DRAWN, NOT_DRAWN, NOT_WRITTEN };

/* Where a failed figure's files from an earlier time stay, they show something else. */
static void remove_plots(const char *output, const char *name)
{
    static const char *const endings[] = {"svg", "png"};
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        char *path = format_text("%s/plots/%s.%s", output, name, endings[i]);
        (void)unlink(path);
        free(path);
    }
}

/* Into a file of its own; SVG into the figure as well. */
static enum drawn draw_form(struct figure *figure, const char *output, enum draw_form form)
{
    struct bytes drawn = {NULL, 0};
    enum drawn result = NOT_DRAWN;
    char *script = draw_script(figure, form);
    const bool svg = form == DRAW_SVG || form == DRAW_SVG_NARROW;
    free(figure->failure);
    if (gnuplot_run(script, &drawn, &figure->failure)) {
        if (svg) {
            char **const kept = form == DRAW_SVG ? &figure->svg : &figure->narrow;
            *kept = draw_for_both(drawn.items);
            free(drawn.items);
            drawn.items = *kept;
            drawn.count = *kept != NULL ? strlen(*kept) : 0;
        }
        if (drawn.items == NULL) {
            figure->failure = copy_text("gnuplot wrote something other than SVG");
        } else if (form == DRAW_SVG_NARROW) {
            result = DRAWN; /* only the page has it */
        } else {
            char *path = format_text("%s/plots/%s.%s", output, figure->name,
                                     form == DRAW_SVG ? "svg" : "png");
            result = write_file(path, drawn.items, drawn.count) ? DRAWN : NOT_WRITTEN;
            free(path);
        }
        if (!svg) {
            figure->picture = result == DRAWN;
            free(drawn.items);
        }
    }
    free(script);
    return result;
}

/* Counts what was not drawn; false if a file could not be written. */
static bool draw_figures(const struct figures *figures, const char *output, size_t *failures)
{
    for (size_t i = 0; i < figures->count; i++) {
        struct figure *const figure = figures->items[i];
        remove_plots(output, figure->name);
        enum drawn drawn = draw_form(figure, output, DRAW_SVG);
        if (drawn == DRAWN) {
            drawn = draw_form(figure, output, DRAW_SVG_NARROW);
        }
        if (drawn == DRAWN) {
            drawn = draw_form(figure, output, DRAW_PNG);
            drawn = drawn == NOT_DRAWN ? draw_form(figure, output, DRAW_PNG_GD) : drawn;
        }
        if (drawn == NOT_WRITTEN) {
            return false;
        }
        if (drawn == NOT_DRAWN) {
            print_warning("gnuplot: %s: %s", figure->name, figure->failure);
            (*failures)++;
        }
    }
    return true;
}

static bool draw_all(const struct report *report, const char *output, size_t *failures)
{
    bool written = true;
    for (size_t i = 0; i < report->count; i++) {
        for (size_t j = 0; j < report->items[i].run.bench.count; j++) {
            written = written && draw_figures(&report->items[i].figures[j], output, failures);
        }
    }
    for (size_t i = 0; i < report->tuned.count; i++) {
        written = written && draw_figures(&report->tuned.items[i].figures, output, failures);
    }
    return written;
}

/* Draws something small: whether there is a gnuplot that can. */
static bool have_gnuplot(struct report *report)
{
    struct bytes drawn = {NULL, 0};
    char *why = NULL;
    const bool have = gnuplot_run("set terminal svg\nplot [0:1] x notitle\n", &drawn, &why);
    if (have) {
        free(drawn.items);
    } else {
        print_warning("no plots: gnuplot: %s", why);
        texts_take(&report->troubles, format_text("There are no plots: gnuplot: %s.", why));
    }
    free(why);
    return have;
}

/* ---- the page -------------------------------------------------------------------------------- */

static bool write_page(const struct report *report, const char *output)
{
    char *page = NULL;
    size_t length = 0;
    FILE *const to = memory_open(&page, &length);
    page_write(to, report);
    memory_close(to);
    char *path = format_text("%s/index.html", output);
    const bool written = write_file(path, page, length);
    if (written) {
        print_line(stdout, "%s", path);
    }
    free(path);
    free(page);
    return written;
}

static int make_page(const struct report_options *options, struct report *report, bool whole)
{
    size_t failures = 0;
    make_figures(report);
    char *plots = format_text("%s/plots", options->output);
    const bool made = make_directory(options->output) && make_directory(plots);
    free(plots);
    if (!made) {
        return EXIT_USAGE;
    }
    if (!have_gnuplot(report)) {
        failures++;
    } else if (!draw_all(report, options->output, &failures)) {
        return EXIT_USAGE;
    }
    if (!write_page(report, options->output) || fflush(stdout) != 0) {
        return EXIT_USAGE;
    }
    return !whole || (failures > 0 && options->require_plots) ? EXIT_FINDING : EXIT_DONE;
}

static void report_free(struct report *report)
{
    for (size_t i = 0; i < report->count; i++) {
        struct report_run *const run = &report->items[i];
        for (size_t j = 0; j < run->run.bench.count; j++) {
            figures_free(&run->figures[j]);
        }
        free(run->figures);
        texts_free(&run->anchors);
        free(run->name);
        bench_run_free(&run->run);
    }
    free(report->items);
    for (size_t i = 0; i < report->tuned.count; i++) {
        tuned_free(&report->tuned.items[i]);
    }
    free(report->tuned.items);
    texts_free(&report->troubles);
}

int report_make(const struct report_options *options)
{
    struct report report = {.items = NULL};
    bool whole = true;
    int code = EXIT_USAGE;
    if (report_read(options->directory, &report, &whole)) {
        code = make_page(options, &report, whole);
    }
    report_free(&report);
    return code;
}
