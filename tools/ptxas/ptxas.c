/* SPDX-License-Identifier: MIT */
/* pdl-ptxas: takes the place of ptxas, and gives it PTX whose kernels wait. */
#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/memory.h"
#include "common/print.h"
#include "ptxas/nvcc.h"

enum { MOST_OPTION_FILES = 64 };

/* ---- the command line of ptxas ------------------------------------------------------------------------ */

struct line {
    char **items; /* the last is NULL */
    size_t count, capacity;
};

/* The value of an option that has two names, in this argument or the next; NULL: it is another one. */
static const char *value_of(char *const *argument, const char *const names[2], size_t *used)
{
    const char *const text = argument[0];
    for (size_t i = 0; i < 2; i++) {
        const size_t length = strlen(names[i]);
        if (strncmp(text, names[i], length) == 0 && text[length] == '=') {
            *used = 1;
            return text + length + 1;
        }
        if (strcmp(text, names[i]) == 0) {
            *used = argument[1] != NULL ? 2 : 1;
            return argument[1] != NULL ? argument[1] : "";
        }
    }
    return NULL;
}

/* Words as ptxas separates them: by blanks, with double quotes and backslashes. They stay in the text. */
static void split(char *text, struct line *words)
{
    for (char *at = text; *at != '\0';) {
        at += strspn(at, " \t\r\n");
        char *const word = at, *to = at;
        bool quoted = false;
        while (*at != '\0' && (quoted || !isspace((unsigned char)*at))) {
            if (*at == '"') {
                quoted = !quoted;
                at++;
            } else {
                at += *at == '\\' && at[1] != '\0';
                *to++ = *at++;
            }
        }
        const bool more = *at != '\0';
        if (at > word) {
            *to = '\0';
            APPEND(words, word);
        }
        at += more;
    }
}

/* The arguments with what options files contain in their place. False: one cannot be read, which is for ptxas to say. */
static bool expand(char *const *arguments, struct line *line)
{
    static const char *const option[2] = {"--options-file", "-optf"};
    struct line rest = {.items = NULL}; /* the last is the next */
    size_t count = 0, used, files = 0;
    while (arguments[count] != NULL) {
        count++;
    }
    APPEND(&rest, NULL);
    while (count > 0) {
        APPEND(&rest, arguments[--count]);
    }
    for (;;) {
        char *const pair[2] = {rest.items[rest.count - 1],
                               rest.count > 1 ? rest.items[rest.count - 2] : NULL};
        const char *const path = pair[0] != NULL ? value_of(pair, option, &used) : NULL;
        if (path == NULL) {
            APPEND(line, pair[0]);
            rest.count--;
            if (pair[0] == NULL) {
                break;
            }
            continue;
        }
        struct line words = {.items = NULL};
        size_t size;
        char *const text = files++ < MOST_OPTION_FILES ? step_read(path, &size) : NULL;
        if (text == NULL) {
            free(rest.items);
            return false;
        }
        split(text, &words);
        rest.count -= used;
        while (words.count > 0) {
            APPEND(&rest, words.items[--words.count]);
        }
        free(words.items);
    }
    free(rest.items);
    return true;
}

/* 90 of "sm_90a"; 0 of what is not machine code. */
static int target_of(const char *name)
{
    return strncmp(name, "sm_", 3) == 0 ? (int)strtol(name + 3, NULL, 10) : 0;
}

/* ---- its inputs ----------------------------------------------------------------------------------------- */

/* Adds an argument, or what replaces it. An input is what reads as PTX: no list of the options that take a value has to
 * be complete. Returns how many arguments were read. */
static size_t add_argument(struct step *step, char **argument, bool *any)
{
    static const char *const output[2] = {"--output-file", "-o"};
    static const char *const string[2] = {"--input-as-string", "-ias"};
    size_t used = 1;
    const char *const ptx = value_of(argument, string, &used);
    struct instrumented made = {.text = NULL};
    if (ptx != NULL) {
        made = instrument_text(step->settings, "<string>", ptx, strlen(ptx), true, true, NULL);
    }
    if (made.text != NULL) {
        APPEND(&step->arguments, (char *)string[0]);
        APPEND(&step->arguments, made.text);
        free(made.lines.items);
        *any = true;
    } else if (ptx != NULL || value_of(argument, output, &used) != NULL) {
        for (size_t i = 0; i < used; i++) {
            APPEND(&step->arguments, argument[i]);
        }
    } else {
        const bool file = argument[0][0] != '-' || argument[0][1] == '\0';
        const char *const path = file ? step_replace(step, argument[0], true) : NULL;
        APPEND(&step->arguments, path != NULL ? (char *)path : argument[0]);
        *any = *any || path != NULL;
    }
    return used;
}

static int assemble(struct step *step)
{
    static const char *const target_option[2] = {"--gpu-name", "-arch"};
    static struct line line; /* the step's arguments are from it */
    int target = 0;
    bool any = false;
    if (!expand(step->given, &line)) {
        return step_untouched(step);
    }
    for (size_t i = 1, used; line.items[i] != NULL; i += used) {
        const char *const name = value_of(&line.items[i], target_option, &used);
        target = name != NULL ? target_of(name) : target;
        used = name != NULL ? used : 1;
    }
    if (target < FIRST_TARGET) {
        return step_untouched(step);
    }
    APPEND(&step->arguments, step->given[0]);
    for (size_t i = 1; line.items[i] != NULL;) {
        i += add_argument(step, &line.items[i], &any);
    }
    return any ? step_run(step) : step_untouched(step);
}

/* ---- the program ------------------------------------------------------------------------------------------ */

static bool asks_for(char **argv, const char *option, const char *letter)
{
    bool asks = false;
    for (char **argument = argv + 1; *argument != NULL && !asks; argument++) {
        asks = strcmp(*argument, option) == 0 || strcmp(*argument, letter) == 0;
    }
    return asks;
}

/* Adds a text to what the real ptxas prints. */
static int print_more(const struct step *step, const char *text)
{
    const pid_t child = fork();
    if (child <= 0) {
        return step_untouched(step);
    }
    const int status = step_wait(child, false);
    if (status == 0) {
        puts(text);
    }
    return status;
}

/* Caches of compiled kernels have the answer of `ptxas --version` in their keys: Triton's, for one. */
static int print_version(const struct step *step)
{
    char *const text = settings_line(step->settings);
    const int status = print_more(step, text);
    free(text);
    return status;
}

static const char own_help[] =
    "This is pdl-ptxas, which puts griddepcontrol.wait into kernels that do not wait\n"
    "and then runs the ptxas that printed the text above.\n"
    "\n"
    "usage: pdl-ptxas [PTXAS-ARGUMENT...]\n"
    "       pdl-ptxas --nvcc NVCC [NVCC-ARGUMENT...]\n"
    "\n"
    "  --nvcc NVCC              run nvcc, so that machine code and PTX wait\n"
    "\n"
    "Environment:\n"
    "  PDL_INSTRUMENT           entry (default), hoist, or off: nothing is done\n"
    "  PDL_INSTRUMENT_TRIGGER   none, wait or last-read; default: none\n"
    "  PDL_INSTRUMENT_CONSTANT  constant parameters, separated by commas\n"
    "  PDL_INSTRUMENT_LOG       file that gets a line of JSON per kernel\n"
    "  PDL_PTXAS                the real ptxas\n"
    "\n"
    "Examples:\n"
    "  TRITON_PTXAS_PATH=$(command -v pdl-ptxas) python3 train.py\n"
    "  pdl-ptxas --nvcc nvcc -arch=sm_90 -c norm.cu";

static int run(struct step *step, const char *name, int argc)
{
    char *const program = step_find(name);
    if (program == NULL) {
        return EXIT_FAILURE;
    }
    step->program = step->given[0] = program;
    if (strcmp(name, "nvcc") == 0) {
        return nvcc_run(step->given, step->settings->off);
    }
    if (step->settings->off || argc < 2) {
        return step_untouched(step);
    }
    if (strcmp(name, "cicc") == 0) {
        return nvcc_cicc(step);
    }
    if (strcmp(name, "fatbinary") == 0) {
        return nvcc_fatbinary(step);
    }
    if (asks_for(step->given, "--version", "-V")) {
        return print_version(step);
    }
    return asks_for(step->given, "--help", "-h") ? print_more(step, own_help) : assemble(step);
}

/* The program whose place this one takes: as links to it are named. */
static const char *name_of(const char *program)
{
    static const char *const names[] = {"cicc", "fatbinary", "nvcc", "ptxas"};
    const char *const slash = strrchr(program, '/');
    const char *const name = slash != NULL ? slash + 1 : program;
    size_t i = 0;
    while (i < 3 && strcmp(name, names[i]) != 0) {
        i++;
    }
    return names[i];
}

/* Standard streams that are closed, so that no file of this program takes their place. */
static void open_streams(void)
{
    int file;
    do {
        file = open("/dev/null", O_RDWR);
    } while (file >= 0 && file <= STDERR_FILENO);
    if (file >= 0) {
        (void)close(file);
    }
}

int main(int argc, char **argv)
{
    static struct settings settings;
    static struct step step;
    open_streams();
    (void)signal(SIGCHLD, SIG_DFL); /* if its parent ignores it, this process could not wait */
    if (argc < 1 || !settings_read(&settings)) {
        return EXIT_FAILURE;
    }
    step = (struct step){.settings = &settings, .given = argv};
    if (argc > 2 && strcmp(argv[1], "--nvcc") == 0) {
        return nvcc_run(argv + 2, settings.off);
    }
    return run(&step, name_of(argv[0]), argc);
}
