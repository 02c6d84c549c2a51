/* SPDX-License-Identifier: MIT */
#include "common/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/print.h"
#include "common/suggest.h"

enum { OPTIONS = 64 };

static void print_unknown(const char *typed, const struct option *options)
{
    const char *names[OPTIONS];
    size_t count = 0;
    char *const name = format_text("%.*s", (int)strcspn(typed, "="), typed);
    while (count < OPTIONS && options[count].name != NULL) {
        names[count] = options[count].name;
        count++;
    }
    const char *const close = suggest(name, names, count);
    if (close != NULL) {
        print_error("unknown option '--%s'; did you mean '--%s'?", name, close);
    } else {
        print_misuse("unknown option '--%s'", name);
    }
    free(name);
}

/* A name that begins several options' names. */
static bool print_ambiguous(const char *typed, const struct option *options)
{
    const size_t length = strcspn(typed, "=");
    char *list = copy_text("");
    size_t count = 0;
    for (; options->name != NULL; options++) {
        if (strncmp(options->name, typed, length) == 0) {
            char *const longer =
                format_text("%s%s'--%s'", list, count > 0 ? " or " : "", options->name);
            free(list);
            list = longer;
            count++;
        }
    }
    if (count > 1) {
        print_error("ambiguous option '--%.*s': %s?", (int)length, typed, list);
    }
    free(list);
    return count > 1;
}

/* How an option was written, from what getopt_long() leaves of it. */
static char *as_typed(char *const *argv, const struct option *options)
{
    const char *const last = argv[optind - 1];
    if (strncmp(last, "--", 2) == 0) {
        for (; options->name != NULL; options++) {
            if (options->val == optopt) {
                return format_text("--%s", options->name);
            }
        }
    }
    return format_text("-%c", optopt);
}

/* -json for --json, which getopt_long() would read as -j son. */
static bool has_one_dash(int argc, char **argv, bool in_order, const struct option *options)
{
    int at = optind;
    while (!in_order && at < argc && argv[at][0] != '-') {
        at++;
    }
    if (at >= argc || argv[at][0] != '-' || argv[at][1] == '-') {
        return false;
    }
    for (; options->name != NULL; options++) {
        if (strcmp(argv[at] + 1, options->name) == 0) {
            print_error("unknown option '%s'; did you mean '-%s'?", argv[at], argv[at]);
            return true;
        }
    }
    return false;
}

/* What was wrong, from optopt: 0 with a name that is unknown or ambiguous, an unknown letter, or the value of an
 * option that takes no argument and was given one. */
static void print_wrong(char *const *argv, const struct option *options)
{
    const char *const last = argv[optind - 1];
    const struct option *known = options;
    while (known->name != NULL && known->val != optopt) {
        known++;
    }
    if (optopt == 0) {
        if (!print_ambiguous(last + 2, options)) {
            print_unknown(last + 2, options);
        }
    } else if (known->name != NULL && strncmp(last, "--", 2) == 0 && strchr(last, '=') != NULL) {
        print_error("'--%s' takes no value", known->name);
    } else {
        print_misuse("unknown option '-%c'", optopt);
    }
}

int next_option(int argc, char **argv, const char *letters, const struct option *options)
{
    char quiet[32]; /* a colon tells a missing value from an unknown option */
    const bool in_order = letters[0] == '+';
    (void)snprintf(quiet, sizeof(quiet), "%s:%s", in_order ? "+" : "", letters + in_order);
    if (has_one_dash(argc, argv, in_order, options)) {
        return '?';
    }
    opterr = 0;
    const int option = getopt_long(argc, argv, quiet, options, NULL);
    if (option == ':') {
        char *const name = as_typed(argv, options);
        print_misuse("'%s' needs a value", name);
        free(name);
        return '?';
    }
    if (option == '?') {
        print_wrong(argv, options);
    }
    return option;
}

bool parse_count(const char *name, const char *text, int least, int most, int *count)
{
    char *end = NULL;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < least || value > most) {
        print_error("--%s takes a number from %d to %d, not '%s'", name, least, most, text);
        return false;
    }
    *count = (int)value;
    return true;
}

int parse_choice(const char *name, const char *text, const char *const *choices)
{
    char *list = copy_text("");
    for (int i = 0; choices[i] != NULL; i++) {
        if (strcmp(text, choices[i]) == 0) {
            free(list);
            return i;
        }
        char *const longer = format_text("%s%s%s", list,
                                         i == 0                   ? ""
                                         : choices[i + 1] != NULL ? ", "
                                                                  : " or ",
                                         choices[i]);
        free(list);
        list = longer;
    }
    print_error("--%s takes %s, not '%s'", name, list, text);
    free(list);
    return -1;
}

bool lacks_json(const char *name)
{
    print_error("--%s needs a pdltool that was built with the library jansson", name);
    return false;
}
