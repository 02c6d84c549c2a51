/* SPDX-License-Identifier: MIT */
#include "rtc/request/arguments.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

/* What comes behind an option's name. */
enum takes {
    TAKES_VALUE,  /* in the same string or the next */
    TAKES_SWITCH, /* "true" or "false", likewise */
};

/* The options that have more than one spelling. Every other one goes to NVRTC as it is, which refuses
 * what it does not know. */
static const struct spelling {
    const char *name;      /* with its dashes */
    const char *canonical; /* as it begins in the canonical form, up to its value */
    enum takes takes;
    bool glued; /* the value may follow without "=": "-DN=4" */
} spellings[] = {
    {"-D", "-D", TAKES_VALUE, true},
    {"--define-macro", "-D", TAKES_VALUE, false},
    {"-U", "-U", TAKES_VALUE, true},
    {"--undefine-macro", "-U", TAKES_VALUE, false},
    {"-I", "-I", TAKES_VALUE, true},
    {"--include-path", "-I", TAKES_VALUE, false},
    {"-include", "--pre-include=", TAKES_VALUE, false},
    {"--pre-include", "--pre-include=", TAKES_VALUE, false},
    {"-std", "--std=", TAKES_VALUE, false},
    {"--std", "--std=", TAKES_VALUE, false},
    {"-maxrregcount", "--maxrregcount=", TAKES_VALUE, false},
    {"--maxrregcount", "--maxrregcount=", TAKES_VALUE, false},
    {"-Xptxas", "--ptxas-options=", TAKES_VALUE, false},
    {"--ptxas-options", "--ptxas-options=", TAKES_VALUE, false},
    {"-split-compile", "--split-compile=", TAKES_VALUE, false},
    {"--split-compile", "--split-compile=", TAKES_VALUE, false},
    {"-jtd", "--jump-table-density=", TAKES_VALUE, false},
    {"--jump-table-density", "--jump-table-density=", TAKES_VALUE, false},
    {"-Ofc", "--Ofast-compile=", TAKES_VALUE, false},
    {"--Ofast-compile", "--Ofast-compile=", TAKES_VALUE, false},
    {"-dopt", "--dopt=", TAKES_VALUE, false},
    {"--dopt", "--dopt=", TAKES_VALUE, false},
    {"-opt-info", "--optimization-info=", TAKES_VALUE, false},
    {"--optimization-info", "--optimization-info=", TAKES_VALUE, false},
    {"-diag-error", "--diag-error=", TAKES_VALUE, false},
    {"--diag-error", "--diag-error=", TAKES_VALUE, false},
    {"-diag-warn", "--diag-warn=", TAKES_VALUE, false},
    {"--diag-warn", "--diag-warn=", TAKES_VALUE, false},
    {"-diag-suppress", "--diag-suppress=", TAKES_VALUE, false},
    {"--diag-suppress", "--diag-suppress=", TAKES_VALUE, false},
    {"-frandom-seed", "--frandom-seed=", TAKES_VALUE, false},
    {"--frandom-seed", "--frandom-seed=", TAKES_VALUE, false},
    {"-ftz", "--ftz=", TAKES_SWITCH, false},
    {"--ftz", "--ftz=", TAKES_SWITCH, false},
    {"-prec-sqrt", "--prec-sqrt=", TAKES_SWITCH, false},
    {"--prec-sqrt", "--prec-sqrt=", TAKES_SWITCH, false},
    {"-prec-div", "--prec-div=", TAKES_SWITCH, false},
    {"--prec-div", "--prec-div=", TAKES_SWITCH, false},
    {"-fmad", "--fmad=", TAKES_SWITCH, false},
    {"--fmad", "--fmad=", TAKES_SWITCH, false},
};

/* The refused, without their dashes and with "-" for "_". */
static const struct refusal {
    const char *name;
    const char *why;
} refusals[] = {
#define WRITES "it writes a file"
    {"time", WRITES},
    {"fdevice-time-trace", WRITES},
    {"device-time-trace", WRITES},
    {"create-pch", WRITES},
    {"pch-dir", WRITES},
    {"enable-cache-trace", WRITES},
#undef WRITES
#define READS "it reads files that the cache does not track"
    {"use-pch", READS},
    {"use-bundled-headers", READS},
#undef READS
#define TARGET "the options' target is for it"
    {"gpu-architecture", TARGET},
    {"arch", TARGET},
    {"gpu-code", TARGET},
    {"code", TARGET},
    {"generate-code", TARGET},
    {"gencode", TARGET},
#undef TARGET
#define OUTPUT "the options' output is for it"
    {"dlink-time-opt", OUTPUT},
    {"dlto", OUTPUT},
    {"gen-opt-lto", OUTPUT},
    {"optix-ir", OUTPUT},
    {"fdevice-syntax-only", OUTPUT},
    {"cubin", OUTPUT},
    {"ptx", OUTPUT},
    {"fatbin", OUTPUT},
    {"ltoir", OUTPUT},
    {"enable-tile", OUTPUT},
    {"tile-only", OUTPUT},
    {"simt-only", OUTPUT},
    {"skip-cuda-tile-packaging", OUTPUT},
#undef OUTPUT
    {"pch", "the flag PDL_RTC_PCH is for it"},
    {"minimal", "the flag PDL_RTC_MINIMAL is for it"},
#define STAGE "it hands options to a stage of the compiler, which may write files"
    {"Xnvvm", STAGE},
    {"Xllc", STAGE},
    {"Xcudafe", STAGE},
    {"Xopt", STAGE},
#undef STAGE
};

/* Options of ptxas that write files or choose what NVRTC was told otherwise, as they may stand in the value
 * of --ptxas-options. */
static const char *const ptxas_refused[] = {"-o",
                                            "--output-file",
                                            "--compiler-stats-file",
                                            "--fdevice-time-trace",
                                            "--gpu-name",
                                            "-arch",
                                            "--options-file",
                                            "-optf",
                                            "--time",
                                            "--dump-perf-stats-file"};

enum { COUNT_OF_SPELLINGS = sizeof(spellings) / sizeof(spellings[0]) };

/* ---- refusing ------------------------------------------------------------------------------- */

/* A piece of the caller's text, without blanks around it. */
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

static bool same_name(const char *refused, struct span name)
{
    size_t i = 0;
    while (i < name.size && refused[i] != '\0' &&
           refused[i] == (name.text[i] == '_' ? '-' : name.text[i])) {
        i++;
    }
    return i == name.size && refused[i] == '\0';
}

/* The option's name alone: "--gpu-architecture=sm_90" is gpu-architecture. */
static struct span name_of(struct span option)
{
    while (option.size > 0 && option.text[0] == '-') {
        option.text++;
        option.size--;
    }
    size_t size = 0;
    while (size < option.size && option.text[size] != '=' && !is_blank(option.text[size])) {
        size++;
    }
    option.size = size;
    return option;
}

static pdl_status check_option(struct span option)
{
    const struct span name = name_of(option);
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        if (same_name(refusals[i].name, name)) {
            return PDL_FAIL_FIELD(PDL_ERROR_OPTION, "arguments", "%.*s is refused: %s",
                                  option.size < 100 ? (int)option.size : 100, option.text,
                                  refusals[i].why);
        }
    }
    return PDL_SUCCESS;
}

static pdl_status check_ptxas(const char *value)
{
    const char *at = value;
    while (*at != '\0') {
        const size_t gap = strspn(at, " \t\n\v\f\r,\"'");
        const size_t size = strcspn(at + gap, " \t\n\v\f\r,=\"'");
        for (size_t i = 0; i < sizeof(ptxas_refused) / sizeof(ptxas_refused[0]); i++) {
            const char *refused = ptxas_refused[i];
            if (strlen(refused) == size && strncmp(at + gap, refused, size) == 0) {
                return PDL_FAIL_FIELD(PDL_ERROR_OPTION, "arguments",
                                      "%.*s of ptxas is refused: it writes a file or chooses the "
                                      "target",
                                      (int)size, at + gap);
            }
        }
        at += gap + size;
        at += *at == '=';
    }
    return PDL_SUCCESS;
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
    for (size_t i = 0; i < COUNT_OF_SPELLINGS; i++) {
        const size_t size = strlen(spellings[i].name);
        if (begins(option, spellings[i].name) &&
            (option.size == size || option.text[size] == '=' || spellings[i].glued)) {
            *value = (struct span){option.text + size, option.size - size};
            return &spellings[i];
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

/* Makes one argument of one string of the caller's, or of two; `next` is NULL for the last. */
static pdl_status make_one(struct pdl_rtc_arguments *made, struct span option, const char *next,
                           bool *took_next)
{
    struct span value = {NULL, 0};
    const struct spelling *spelling = find_spelling(option, &value);
    const char *prefix = "";
    *took_next = spelling != NULL && value.size == 0 && next != NULL &&
                 (spelling->takes == TAKES_VALUE || is_switch(trim(next)));
    if (*took_next) {
        prefix = spelling->canonical;
        value = trim(next);
    } else if (spelling != NULL && value.size > 0) {
        const size_t sign = value.text[0] == '=';
        prefix = spelling->canonical;
        value = trim_left((struct span){value.text + sign, value.size - sign});
    } else {
        value = option; /* as it is: where a value is missing NVRTC says so */
    }
    if (prefix[0] != '\0' && value.size == 0) { /* NVRTC would take the next option for it */
        return PDL_FAIL_FIELD(PDL_ERROR_OPTION, "arguments", "the value of %.*s is empty",
                              (int)strlen(spelling->name), spelling->name);
    }
    char *argument = join(prefix, value);
    if (argument == NULL) {
        return PDL_NO_MEMORY();
    }
    made->items[made->count++] = argument;
    if (prefix[0] == '\0') {
        return PDL_SUCCESS;
    }
    note_files(made, argument);
    return strcmp(prefix, "--ptxas-options=") == 0 ? check_ptxas(argument + strlen(prefix))
                                                   : PDL_SUCCESS;
}

pdl_status pdl_rtc_arguments_make(struct pdl_rtc_arguments *made, const char *const *arguments,
                                  size_t count)
{
    if (count == 0) {
        return PDL_SUCCESS;
    }
    made->items = calloc(count, sizeof(*made->items));
    made->directories = calloc(count, sizeof(*made->directories));
    made->pre_includes = calloc(count, sizeof(*made->pre_includes));
    if (made->items == NULL || made->directories == NULL || made->pre_includes == NULL) {
        return PDL_NO_MEMORY();
    }
    for (size_t i = 0; i < count; i++) {
        const char *next = i + 1 < count ? arguments[i + 1] : NULL;
        bool took_next = false;
        if (arguments[i] == NULL) {
            return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "arguments",
                                  "arguments[%zu] of %zu is NULL", i, count);
        }
        const struct span option = trim(arguments[i]);
        if (option.size == 0 || option.text[0] != '-') {
            return PDL_FAIL_FIELD(PDL_ERROR_OPTION, "arguments", "\"%.100s\" is no option",
                                  arguments[i]);
        }
        pdl_status status = check_option(option);
        if (status == PDL_SUCCESS) {
            status = make_one(made, option, next, &took_next);
        }
        if (status != PDL_SUCCESS) {
            return status;
        }
        i += took_next;
    }
    return PDL_SUCCESS;
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
