/* SPDX-License-Identifier: MIT */
#include "lint/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "common/memory.h"
#include "lint/paths.h"

/* Response files that name each other have no end. */
enum { MOST_RESPONSES = 64, MOST_ARCHITECTURE = 1000 };

/* ---- words ------------------------------------------------------------------------------------*/

/* Whether a name is in a list, in which blanks are between the names. */
static bool is_listed(const char *list, const char *name, size_t length)
{
    for (const char *at = list; *at != '\0';) {
        const size_t size = strcspn(at, " ");
        if (size == length && strncmp(at, name, length) == 0) {
            return true;
        }
        at += size + (at[size] == ' ');
    }
    return false;
}

bool command_ends_in(const char *file, const char *list)
{
    const char *const dot = strrchr(file, '.');
    return dot != NULL && strchr(dot, '/') == NULL && is_listed(list, dot, strlen(dot));
}

bool architecture_parse(const char *text, struct architecture *architecture)
{
    static const char *const prefixes[] = {"sm_", "compute_", "lto_"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        const size_t length = strlen(prefixes[i]);
        if (strncmp(text, prefixes[i], length) == 0) {
            text += length;
            break;
        }
    }
    struct architecture found = {0};
    const char *at = text;
    for (; *at >= '0' && *at <= '9' && found.number < MOST_ARCHITECTURE; at++) {
        found.number = 10 * found.number + (*at - '0');
    }
    if (at == text) {
        return false;
    }
    if (*at == 'a' || *at == 'f') {
        found.suffix = *at++;
    }
    if (*at != '\0' && strcmp(at, "-real") != 0 && strcmp(at, "-virtual") != 0) {
        return false;
    }
    *architecture = found;
    return true;
}

/* ---- the compiler -----------------------------------------------------------------------------*/

static const char *base_of(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

enum compiler_kind compiler_kind_of(const char *path)
{
    const char *const name = base_of(path);
    return strstr(name, "nvcc") != NULL    ? COMPILER_NVCC
           : strstr(name, "clang") != NULL ? COMPILER_CLANG
                                           : COMPILER_UNKNOWN;
}

void command_drop_launchers(struct argv *command)
{
    static const char launchers[] = "ccache sccache distcc icecc buildcache env nice time";
    bool launched = false; /* variables, and ccache's settings, may follow: NAME=VALUE */
    while (command->count > 1) {
        const char *const word = command->items[0];
        const char *const name = base_of(word);
        const bool launcher = is_listed(launchers, name, strlen(name));
        if (!launcher && !(launched && word[strcspn(word, "=/")] == '=')) {
            break;
        }
        launched = true;
        argv_remove(command, 0);
    }
}

/* The language in an argument that says it with -x; NULL: it does not. */
static const char *language_in(const char *word)
{
    const char *const equals = strchr(word, '=');
    if (equals != NULL) {
        return is_listed("-x --x --language", word, (size_t)(equals - word)) ? equals + 1 : NULL;
    }
    return strncmp(word, "-x", 2) == 0 ? word + 2 : NULL;
}

bool command_is_cuda(const struct argv *command, const char *file)
{
    bool cuda = command_ends_in(file, ".cu");
    bool follows = false; /* the language is the next argument */
    for (size_t i = 1; i < command->count; i++) {
        const char *const word = command->items[i];
        const char *const language = follows ? word : language_in(word);
        follows = !follows && is_listed("-x --x --language", word, strlen(word));
        if (language != NULL && !follows) {
            cuda = strcmp(language, "cu") == 0 || strcmp(language, "cuda") == 0;
        }
    }
    return cuda;
}

/* ---- options ----------------------------------------------------------------------------------*/

enum effect {
    KEEP,
    KEEP_VALUE, /* its value may be the next argument */
    DROP,
    DROP_VALUE,
    HOST,     /* a compiler that nvcc runs */
    SEPARATE, /* code that calls other files': -rdc=true says it in PTX */
    ARCHITECTURE,
    GENERATE, /* arch=compute_90,code=sm_90 */
    RESPONSE,
    LANGUAGE
};

/* Options without their dashes. What is not here is kept as it is. */
struct rule {
    const char *names;
    enum effect effect;
};

static const struct rule nvcc_rules[] = {
    {"c compile dw device-w dlink device-link ptx cubin fatbin cuda optix-ir ltoir E "
     "preprocess M MM MD MMD MP generate-dependencies generate-nonsystem-dependencies "
     "generate-dependencies-with-compile generate-nonsystem-dependencies-with-compile "
     "generate-dependency-targets link lib run shared clean clean-targets keep save-temps "
     "dryrun v verbose lineinfo generate-line-info G device-debug dlto dlink-time-opt lto "
     "gen-opt-lto jobserver res-usage resource-usage w disable-warnings src-in-ptx "
     "source-in-ptx fdevice-syntax-only",
     DROP},
    {"o output-file odir output-directory MF dependency-output MT dependency-target-name code "
     "gpu-code keep-dir t threads split-compile split-compile-extended time fdevice-time-trace "
     "Xptxas ptxas-options Xfatbin fatbin-options Xnvlink nvlink-options Xlinker "
     "linker-options Xarchive archive-options Werror dopt L library-path l library opt-info "
     "optimization-info run-args Ofc Ofast-compile",
     DROP_VALUE},
    {"dc device-c", SEPARATE},
    {"arch gpu-architecture", ARCHITECTURE},
    {"gencode generate-code", GENERATE},
    {"optf options-file", RESPONSE},
    {"ccbin compiler-bindir", HOST},
    {"x", LANGUAGE},
    {"include pre-include D define-macro U undefine-macro I include-path isystem "
     "system-include arbin archiver-binary cudart cudadevrt ldir "
     "libdevice-directory target-dir target-directory O optimize ftemplate-backtrace-limit "
     "ftemplate-depth std m machine Xcompiler Xcudafe Xcicc compiler-options "
     "static-global-template-stub device-entity-has-hidden-visibility rdc "
     "relocatable-device-code e entries maxrregcount ftz prec-div prec-sqrt fmad "
     "default-stream diag-error diag-suppress diag-warn hls host-linker-script brief-diag "
     "brief-diagnostics jtd jump-table-density device-stack-protector compress-mode "
     "frandom-seed sanitize idp input-drive-prefix ddp dependency-drive-prefix dp drive-prefix",
     KEEP_VALUE},
};

static const struct rule clang_rules[] = {
    {"c S E M MM MD MMD MP MG MV emit-llvm fsyntax-only save-temps v ### flto foffload-lto "
     "cuda-host-only cuda-device-only cuda-compile-host-device offload-host-only "
     "offload-device-only offload-host-device no-cuda-gpu-arch g g0 g1 g2 g3 ggdb w O0 Og",
     DROP},
    {"o MF MT MQ MJ Xcuda-ptxas Xcuda-fatbinary Xlinker Xopenmp-target no-offload-arch",
     DROP_VALUE},
    {"cuda-gpu-arch offload-arch", ARCHITECTURE},
    {"x", LANGUAGE},
    {"I isystem D U include imacros iquote idirafter isysroot iprefix iwithprefix "
     "iwithprefixbefore include-pch Xclang Xpreprocessor Xassembler mllvm target arch L l T e "
     "u z A param Xarch_device Xarch_host framework working-directory cuda-path ccc-gcc-name",
     KEEP_VALUE},
};

/* An option's name, without its value. */
struct option_name {
    const char *text;
    size_t length;
    const char *value; /* behind "="; NULL: none */
};

static struct option_name name_of(const char *word)
{
    const char *const text = word + (word[1] == '-' ? 2 : 1);
    const char *const equals = strchr(text, '=');
    return (struct option_name){
        .text = text,
        .length = equals != NULL ? (size_t)(equals - text) : strlen(text),
        .value = equals != NULL ? equals + 1 : NULL,
    };
}

static enum effect effect_of(enum compiler_kind kind, const char *word, struct option_name name)
{
    const struct rule *const rules = kind == COMPILER_CLANG ? clang_rules : nvcc_rules;
    const size_t count = kind == COMPILER_CLANG ? sizeof(clang_rules) / sizeof(clang_rules[0])
                                                : sizeof(nvcc_rules) / sizeof(nvcc_rules[0]);
    if (word[0] == '@') {
        return RESPONSE;
    }
    for (size_t i = 0; i < count; i++) {
        if (is_listed(rules[i].names, name.text, name.length)) {
            return rules[i].effect;
        }
    }
    if (kind == COMPILER_CLANG &&
        (strncmp(word, "-g", 2) == 0 || strncmp(word, "-MF", 3) == 0 ||
         strncmp(word, "-flto=", 6) == 0 || strncmp(word, "-save-temps", 11) == 0)) {
        return DROP;
    }
    if (strncmp(word, "-x", 2) == 0 && kind == COMPILER_CLANG) {
        return LANGUAGE;
    }
    return KEEP;
}

/* ---- architectures ----------------------------------------------------------------------------*/

/* 90a is newer than 90f, and that than 90. */
static int order_of(struct architecture architecture)
{
    return 3 * architecture.number + (architecture.suffix == 'a' ? 2 : architecture.suffix == 'f');
}

static void add_architecture(struct command *command, const char *text, size_t length)
{
    struct architecture found;
    char *const copy = format_text("%.*s", (int)length, text);
    const bool all = strcmp(copy, "all") == 0 || strcmp(copy, "all-major") == 0;
    if (all) {
        found = (struct architecture){.number = ARCHITECTURE_LEAST};
    }
    if (all || architecture_parse(copy, &found)) {
        const bool older = found.number < ARCHITECTURE_LEAST;
        command->older |= older;
        if (!older && (!command->named || order_of(found) > order_of(command->newest))) {
            command->newest = found;
            command->named = true;
        }
    }
    free(copy);
}

/* "sm_90a", "sm_90a,sm_100a", "arch=compute_90a,code=[sm_90a,compute_90a]": what code is made for is `arch`. */
static void add_architectures(struct command *command, const char *text, bool generate)
{
    const char *at = generate ? strstr(text, "arch=") : text;
    while (at != NULL && *at != '\0') {
        at += generate ? strlen("arch=") : 0;
        const size_t length = strcspn(at, ",\"");
        add_architecture(command, at, length);
        at += length;
        at = generate ? strstr(at, "arch=") : at + strspn(at, ",\"");
    }
}

/* ---- reading a command ------------------------------------------------------------------------*/

/* Puts what response files say in the place of the index, which takes that many from `left`; false where one cannot
 * be read. */
static bool open_responses(struct argv *arguments, size_t index, const char *names,
                           const char *directory, int *left)
{
    char *text = NULL;
    size_t size = 0;
    bool all = true;
    FILE *const to = memory_open(&text, &size);
    for (const char *at = names; all && *at != '\0';) {
        const size_t length = strcspn(at, ",");
        char *const name = format_text("%.*s", (int)length, at);
        char *const path = path_absolute(directory, name);
        size_t read = 0;
        char *const content = (*left)-- > 0 ? file_read(path, &read) : NULL;
        all = all && content != NULL;
        (void)fprintf(to, "%s\n", content != NULL ? content : "");
        free(content);
        free(path);
        free(name);
        at += length + (at[length] == ',');
    }
    memory_close(to);
    if (all) {
        argv_replace(arguments, index, text);
    }
    free(text);
    return all;
}

/* What is being read, and what becomes of it. */
struct reading {
    struct argv *from;
    struct command *to;
    const char *directory;
    const char *file;
    size_t at;
    const struct foreign_words *foreign; /* NULL: none */
    int responses;                       /* how many more are opened */
    bool language;                       /* -x was there */
    bool separate;
    bool optimizes; /* clang: -O1 or more was the last of them */
};

/* Whether a bare word is a file that is compiled or linked, not the value of an option that is not known here. */
static bool is_input(const struct reading *reading, const char *word)
{
    return strcmp(word, reading->file) == 0 ||
           command_ends_in(word, ".cu .cuh .c .cc .cpp .cxx .C .o .obj .a .so .ptx .cubin .fatbin");
}

static void take_value(struct reading *reading, bool keep)
{
    if (reading->at < reading->from->count) {
        if (keep) {
            argv_add(&reading->to->arguments, reading->from->items[reading->at]);
        }
        reading->at++;
    }
}

/* The value of an option at whose end reading is: behind its "=", or the next word. */
static const char *value_of(struct reading *reading, struct option_name name)
{
    if (name.value != NULL || reading->at >= reading->from->count) {
        return name.value != NULL ? name.value : "";
    }
    return reading->from->items[reading->at++];
}

static bool is_foreign(const struct reading *reading, size_t index)
{
    return reading->foreign != NULL && index >= reading->foreign->before &&
           index + reading->foreign->behind < reading->from->count;
}

static void read_word(struct reading *reading)
{
    struct command *const to = reading->to;
    const size_t index = reading->at++;
    const char *const word = reading->from->items[index];
    const bool response = word[0] == '@' && word[1] != '\0';
    if (!response && (word[0] != '-' || word[1] == '\0')) {
        if (!is_input(reading, word)) {
            argv_add(&to->arguments, word);
        }
        return;
    }
    const struct option_name name = name_of(word);
    enum effect effect = effect_of(to->kind, word, name);
    if (effect == HOST) {
        effect = is_foreign(reading, index) ? DROP_VALUE : KEEP_VALUE;
    }
    if (to->kind == COMPILER_CLANG && strncmp(word, "-O", 2) == 0) {
        reading->optimizes = effect == KEEP;
    }
    switch (effect) {
    case KEEP:
        if (strcmp(word, "--") != 0) {
            argv_add(&to->arguments, word);
        }
        break;
    case KEEP_VALUE:
    case LANGUAGE:
        reading->language |= effect == LANGUAGE;
        argv_add(&to->arguments, word);
        if (name.value == NULL && (effect != LANGUAGE || name.length == 1)) {
            take_value(reading, true);
        }
        break;
    case HOST: /* is one of the others by now */
    case DROP:
        break;
    case DROP_VALUE:
        if (name.value == NULL) {
            take_value(reading, false);
        }
        break;
    case SEPARATE:
        reading->separate = true;
        break;
    case ARCHITECTURE:
    case GENERATE:
        add_architectures(to, value_of(reading, name), effect == GENERATE);
        break;
    case RESPONSE: {
        char *const names = copy_text(response ? word + 1 : value_of(reading, name));
        const size_t last = reading->at - 1; /* the option's own word, or its value */
        if (open_responses(reading->from, last, names, reading->directory, &reading->responses)) {
            reading->at = last;
        } else if (is_foreign(reading, index)) { /* it may name a host compiler */
            to->unread = true;
        } else { /* the compiler says what is wrong with it */
            for (size_t i = index; i <= last; i++) {
                argv_add(&to->arguments, reading->from->items[i]);
            }
        }
        free(names);
        break;
    }
    }
}

void command_read(struct command *command, enum compiler_kind kind, struct argv *arguments,
                  const char *directory, const char *file, const struct foreign_words *foreign)
{
    struct reading reading = {.from = arguments,
                              .to = command,
                              .directory = directory,
                              .file = file,
                              .at = 1,
                              .foreign = foreign,
                              .responses = MOST_RESPONSES};
    *command = (struct command){.kind = kind};
    argv_add(&command->arguments, arguments->items[0]);
    while (reading.at < arguments->count) {
        read_word(&reading);
    }
    if (reading.separate) {
        argv_add(&command->arguments, "-rdc=true");
    }
    if (kind == COMPILER_CLANG && !reading.optimizes) {
        argv_add(&command->arguments, "-O2"); /* at -O0 pointers are on the stack */
    }
    if (!reading.language && !command_ends_in(file, ".cu")) {
        argv_add(&command->arguments, "-x");
        argv_add(&command->arguments, kind == COMPILER_CLANG ? "cuda" : "cu");
    }
    if (!command->named) { /* clang 16 and 17 have no sm_90a */
        command->newest.number = ARCHITECTURE_LEAST;
        command->newest.suffix = kind == COMPILER_CLANG ? '\0' : 'a';
    }
    argv_free(arguments);
}

void command_free(struct command *command)
{
    argv_free(&command->arguments);
    *command = (struct command){0};
}

/* ---- making one -------------------------------------------------------------------------------*/

void command_make(const struct command *command, struct architecture architecture, const char *file,
                  const char *ptx, struct argv *arguments)
{
    static const char *const nvcc[] = {"-w", "-ptx", "-lineinfo"};
    static const char *const clang[] = {"-w", "--cuda-device-only", "-S", "-gline-tables-only"};
    const bool is_clang = command->kind == COMPILER_CLANG;
    const char *const *const options = is_clang ? clang : nvcc;
    const size_t count =
        is_clang ? sizeof(clang) / sizeof(clang[0]) : sizeof(nvcc) / sizeof(nvcc[0]);
    const char suffix[2] = {architecture.suffix, '\0'};
    for (size_t i = 0; i < command->arguments.count; i++) {
        argv_add(arguments, command->arguments.items[i]);
    }
    for (size_t i = 0; i < count; i++) {
        argv_add(arguments, options[i]);
    }
    argv_take(arguments, format_text("-%s=sm_%d%s", is_clang ? "-cuda-gpu-arch" : "arch",
                                     architecture.number, suffix));
    argv_add(arguments, "-o");
    argv_add(arguments, ptx);
    argv_add(arguments, file);
}
