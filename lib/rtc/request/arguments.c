/* SPDX-License-Identifier: MIT */
#include "rtc/request/arguments.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

/* A value, which is in the same string or the next. */
enum takes {
    TAKES_VALUE,
    TAKES_GLUED, /* to the first name it may follow without "=": "-DN=4" */
    TAKES_SWITCH /* "true" or "false" */
};

/* The options with a value. */
static const struct spelling {
    const char *names[2];  /* with their dashes */
    const char *canonical; /* as it begins in the canonical form, up to its value */
    enum takes takes;
} spellings[] = {
    {{"-D", "--define-macro"}, "-D", TAKES_GLUED},
    {{"-U", "--undefine-macro"}, "-U", TAKES_GLUED},
    {{"-I", "--include-path"}, "-I", TAKES_GLUED},
    {{"-include", "--pre-include"}, "--pre-include=", TAKES_VALUE},
    {{"-std", "--std"}, "--std=", TAKES_VALUE},
    {{"-maxrregcount", "--maxrregcount"}, "--maxrregcount=", TAKES_VALUE},
    {{"-Xptxas", "--ptxas-options"}, "--ptxas-options=", TAKES_VALUE},
    {{"-split-compile", "--split-compile"}, "--split-compile=", TAKES_VALUE},
    {{"-jtd", "--jump-table-density"}, "--jump-table-density=", TAKES_VALUE},
    {{"-Ofc", "--Ofast-compile"}, "--Ofast-compile=", TAKES_VALUE},
    {{"-dopt", "--dopt"}, "--dopt=", TAKES_VALUE},
    {{"-opt-info", "--optimization-info"}, "--optimization-info=", TAKES_VALUE},
    {{"-diag-error", "--diag-error"}, "--diag-error=", TAKES_VALUE},
    {{"-diag-warn", "--diag-warn"}, "--diag-warn=", TAKES_VALUE},
    {{"-diag-suppress", "--diag-suppress"}, "--diag-suppress=", TAKES_VALUE},
    {{"-frandom-seed", "--frandom-seed"}, "--frandom-seed=", TAKES_VALUE},
    {{"-ftz", "--ftz"}, "--ftz=", TAKES_SWITCH},
    {{"-prec-sqrt", "--prec-sqrt"}, "--prec-sqrt=", TAKES_SWITCH},
    {{"-prec-div", "--prec-div"}, "--prec-div=", TAKES_SWITCH},
    {{"-fmad", "--fmad"}, "--fmad=", TAKES_SWITCH},
};

/* The other options of which it is known that they read and write no file, and leave target and output as they are. */
static const char plain[] =
    " -dc --device-c -dw --device-w -rdc=true -rdc=false --relocatable-device-code=true"
    " --relocatable-device-code=false -ewp --extensible-whole-program -G --device-debug -lineinfo"
    " --generate-line-info -use_fast_math --use_fast_math -extra-device-vectorization"
    " --extra-device-vectorization --modify-stack-limit=true --modify-stack-limit=false"
    " --device-stack-protector=true --device-stack-protector=false --builtin-move-forward=true"
    " --builtin-move-forward=false --builtin-initializer-list=true --builtin-initializer-list=false"
    " -w --disable-warnings -restrict --restrict -default-device"
    " --device-as-default-execution-space -device-int128 --device-int128 -device-float128"
    " --device-float128 -minimal --minimal -err-no --display-error-number -no-err-no"
    " --no-display-error-number ";

/* How options of ptxas begin that neither read nor write a file. */
static const char *const ptxas_plain[] = {"-v",           "--verbose", "-O",
                                          "--opt-level=", "-dlcm=",    "-dscm="};

enum {
    COUNT_OF_SPELLINGS = sizeof(spellings) / sizeof(spellings[0]),
    COUNT_OF_PTXAS = sizeof(ptxas_plain) / sizeof(ptxas_plain[0])
};

/* ---- pieces of the caller's text ------------------------------------------------------------ */

/* Without blanks around it. */
struct span {
    const char *text;
    size_t size;
};

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct span trim_left(struct span span)
{
    while (span.size > 0 && is_blank(span.text[0])) {
        span.text++;
        span.size--;
    }
    return span;
}

static struct span trim(const char *text)
{
    struct span span = trim_left((struct span){text, strlen(text)});
    while (span.size > 0 && is_blank(span.text[span.size - 1])) {
        span.size--;
    }
    return span;
}

/* ---- the canonical form --------------------------------------------------------------------- */

static bool begins(struct span text, const char *with)
{
    const size_t size = strlen(with);
    return text.size >= size && memcmp(text.text, with, size) == 0;
}

/* The spelling that an option has, and in `value` what follows its name: nothing, "=..." or, of those that
 * may be glued, anything. */
static const struct spelling *find_spelling(struct span option, struct span *value)
{
    for (size_t i = 0; i < (size_t)2 * COUNT_OF_SPELLINGS; i++) {
        const struct spelling *spelling = &spellings[i / 2];
        const char *name = spelling->names[i % 2];
        const size_t size = strlen(name);
        if (begins(option, name) && (option.size == size || option.text[size] == '=' ||
                                     (spelling->takes == TAKES_GLUED && i % 2 == 0))) {
            *value = (struct span){option.text + size, option.size - size};
            return spelling;
        }
    }
    return NULL;
}

static char *join(const char *prefix, struct span value)
{
    const size_t size = strlen(prefix);
    char *text = malloc(size + value.size + 1);
    if (text != NULL) {
        memcpy(text, prefix, size);
        memcpy(text + size, value.text, value.size);
        text[size + value.size] = '\0';
    }
    return text;
}

/* Notes what an argument says about files. Its text stays. */
static void note_files(struct pdl_rtc_arguments *made, const char *argument)
{
    static const char pre_include[] = "--pre-include=";
    if (strncmp(argument, "-I", 2) == 0) {
        made->directories[made->directory_count++] = argument + 2;
    } else if (strncmp(argument, pre_include, sizeof(pre_include) - 1) == 0) {
        made->pre_includes[made->pre_include_count++] = argument + sizeof(pre_include) - 1;
    }
}

static bool is_switch(struct span value)
{
    return (value.size == 4 && memcmp(value.text, "true", 4) == 0) ||
           (value.size == 5 && memcmp(value.text, "false", 5) == 0);
}

/* Whether the option does nothing that the cache does not know of. */
static bool is_known(const char *argument, const char *prefix)
{
    bool known = false;
    if (strcmp(prefix, "--ptxas-options=") == 0) {
        const char *value = argument + strlen(prefix);
        for (size_t i = 0; i < COUNT_OF_PTXAS && strpbrk(value, " \t\n,\"'") == NULL; i++) {
            known = known || strncmp(value, ptxas_plain[i], strlen(ptxas_plain[i])) == 0;
        }
        return known;
    }
    const size_t size = strlen(argument);
    for (const char *at = plain; size > 0 && (at = strstr(at, argument)) != NULL; at++) {
        known = known || (at[-1] == ' ' && at[size] == ' ');
    }
    return known || prefix[0] != '\0';
}

/* Makes one argument of one string of the caller's, or of two; `next` is NULL for the last. */
static pdl_status make_one(struct pdl_rtc_arguments *made, struct span option, const char *next,
                           bool *took_next)
{
    struct span value = {NULL, 0};
    const struct spelling *spelling = find_spelling(option, &value);
    const char *prefix = "";
    *took_next = spelling != NULL && value.size == 0 && next != NULL && trim(next).size > 0 &&
                 (spelling->takes != TAKES_SWITCH || is_switch(trim(next)));
    if (*took_next) {
        value = trim(next);
    } else if (spelling != NULL) {
        const size_t sign = value.size > 0 && value.text[0] == '=';
        value = trim_left((struct span){value.text + sign, value.size - sign});
    }
    if (spelling != NULL && value.size > 0) {
        prefix = spelling->canonical;
    } else {
        value =
            option; /* as it is: where a value is missing NVRTC says so, or takes what comes next */
    }
    char *argument = join(prefix, value);
    if (argument == NULL) {
        return PDL_NO_MEMORY();
    }
    made->items[made->count++] = argument;
    made->unknown = made->unknown || !is_known(argument, prefix);
    if (prefix[0] != '\0') {
        note_files(made, argument);
    }
    return PDL_SUCCESS;
}

pdl_status pdl_rtc_arguments_make(struct pdl_rtc_arguments *made, const char *const *arguments,
                                  size_t count)
{
    pdl_status status = PDL_SUCCESS;
    if (count == 0) {
        return PDL_SUCCESS;
    }
    made->items = calloc(count, sizeof(*made->items));
    made->directories = calloc(count, sizeof(*made->directories));
    made->pre_includes = calloc(count, sizeof(*made->pre_includes));
    if (made->items == NULL || made->directories == NULL || made->pre_includes == NULL) {
        return PDL_NO_MEMORY();
    }
    for (size_t i = 0; status == PDL_SUCCESS && i < count; i++) {
        const char *next = i + 1 < count ? arguments[i + 1] : NULL;
        bool took_next = false;
        if (arguments[i] == NULL) {
            return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "arguments",
                                  "arguments[%zu] of %zu is NULL", i, count);
        }
        status = make_one(made, trim(arguments[i]), next, &took_next);
        i += took_next;
    }
    return status;
}

void pdl_rtc_arguments_free(struct pdl_rtc_arguments *arguments)
{
    for (size_t i = 0; i < arguments->count; i++) {
        free(arguments->items[i]);
    }
    free((void *)arguments->items);
    free((void *)arguments->directories);
    free((void *)arguments->pre_includes);
}
