/* SPDX-License-Identifier: MIT */
/* What the scan of includes promises, the other way round: texts that include files in every form that the
 * preprocessor knows are compiled through a cache; then one file changes, comes or goes; then what the cache gives
 * must be what a compilation without it gives.
 *
 *     rtc_includes_random [TEXTS [SEED]]
 *
 * Text i is made of SEED + i alone: `rtc_includes_random 1 N` does text N again, and prints it. 10,000 texts take
 * about ten minutes; PDL_NVRTC chooses the compiler. */
#include <pdl/rtc.h>
#include <sys/stat.h>
#include <unistd.h>

#include "forms.h"
#include "rtc/request/includes.h"

enum { MEMORY_HEADERS = 3, CHANGES = 3 };

/* ---- texts --------------------------------------------------------------------------------------- */

/* Where files are, and what they are called: most of them are not there. */
static const char *const folders[] = {".", "a", "b", "p", "a/s", "s"};
static const char *const names[] = {"x.h", "y.h", "s/x.h", "e", "../b/x.h"};
static const char *const files[] = {"x.h", "y.h", "e", "e.stdh"};

static bool verbose;
static unsigned number;       /* of what nothing else has */
static const char *last_name; /* that a form was given */
static bool old;              /* the standard is older than C++17 */
static bool oldest;           /* and C++11 */

static void add_some_form(struct text *text)
{
    const struct form *form = chance(6) > 0 ? &forms[chance(COMMON)] : &ONE_OF(forms);
    const bool quoted = chance(2) == 0;
    last_name = ONE_OF(names);
    if ((form->standard == TO_14 && !old) || (form->standard == FROM_11 && oldest)) {
        form = &forms[0];
    }
    add_form(text, form, last_name, quoted, ++number);
}

/* A header, which shows in the code when it is read, and when it is read twice. */
static void add_header(struct text *text)
{
    const unsigned own = ++number;
    add(text, "%s#ifndef G%u\n#define G%u\n", chance(3) == 0 ? "#pragma once\n" : "", own, own);
    for (uint64_t i = chance(3); i > 0; i--) {
        add_some_form(text);
    }
    add(text, "extern \"C\" __global__ void k%u() {}\n#elif !defined(T%u)\n#define T%u\n", own, own,
        own);
    add(text, "extern \"C\" __global__ void t%u() {}\n#endif%s", own, chance(8) == 0 ? "" : "\n");
}

/* ---- files --------------------------------------------------------------------------------------- */

static void path_of(char *path, size_t size, const char *folder, const char *name)
{
    (void)snprintf(path, size, "%s/%s", folder, name);
}

static void write_header(const char *path)
{
    static struct text text;
    empty(&text);
    add_header(&text);
    rtc_file_write(path, text.bytes);
}

/* About two of five files are there, and some are links. */
static void make_files(void)
{
    char path[64];
    for (size_t d = 0; d < COUNT_OF(folders); d++) {
        for (size_t f = 0; f < COUNT_OF(files); f++) {
            path_of(path, sizeof(path), folders[d], files[f]);
            (void)unlink(path);
            if (chance(5) < 2) {
                write_header(path);
            } else if (chance(12) == 0) {
                assert_int_equal(symlink(chance(2) == 0 ? "x.h" : "y.h", path), 0);
            }
        }
    }
}

/* Changes a file, removes it, or makes it: as a rule one that the last form of the text may be about. */
static void change_file(void)
{
    char path[64];
    struct stat about;
    const char *slash = strrchr(last_name, '/');
    do {
        const char *name = chance(4) > 0 ? slash != NULL ? slash + 1 : last_name : ONE_OF(files);
        path_of(path, sizeof(path), ONE_OF(folders), name);
    } while (lstat(path, &about) != 0 && chance(2) == 0);
    const bool there = lstat(path, &about) == 0;
    const bool copies = there && S_ISLNK(about.st_mode) && access(path, R_OK) == 0;
    char *text = copies ? rtc_file_read(path) : NULL;
    (void)unlink(path);
    if (text != NULL) {
        rtc_file_write(path, text); /* a copy in the place of a link */
    } else if (!there || chance(3) > 0) {
        write_header(path);
    }
    free(text);
    if (verbose) {
        (void)printf("%s is %s\n", path,
                     !there                     ? "new"
                     : lstat(path, &about) == 0 ? "another one"
                                                : "gone");
    }
}

/* ---- one text ------------------------------------------------------------------------------------ */

struct counts {
    unsigned texts, compiled, unknown, hits, stale;
};

/* All that a text is compiled with. */
struct asked {
    const char *program;
    struct text source, texts[MEMORY_HEADERS];
    pdl_rtc_header headers[MEMORY_HEADERS];
    const char *arguments[16], *names[1];
    struct text name;
    pdl_rtc_options options;
};

static void add_arguments(struct asked *asked)
{
    static const char *const standards[] = {"--std=c++03", "--std=c++11", "-std=c++14",
                                            "--std=c++17", "--std=c++20"};
    static const char *const options[] = {
        "-DOPTION_NAME=<x.h>",        "-DOPTION_NAME=\"y.h\"",
        "-DOPTION_HAS=__has_include", "-DOPTION_HAS_INCLUDE(x)=__has_include(x)",
        "-DOPTION_PASTE(a,b)=a##b",   "-DOPTION_PART=__has_",
        "--pre-include=x.h",          "--pre-include=e"};
    static const char *const directories[] = {"-Ia", "-I./b", "-Ip/../a", "-I.", "-Ib/"};
    size_t count = 0;
    const uint64_t standard = chance(8);
    if (standard < COUNT_OF(standards)) {
        asked->arguments[count++] = standards[standard];
    }
    old = standard < 3;
    oldest = standard == 0;
    for (uint64_t i = chance(3); i > 0; i--) {
        asked->arguments[count++] = ONE_OF(options);
    }
    for (uint64_t i = chance(4); i > 0; i--) {
        asked->arguments[count++] = ONE_OF(directories);
    }
    asked->options.arguments = asked->arguments;
    asked->options.argument_count = count;
}

static void make_text(struct asked *asked, bool minimal)
{
    static const char *const programs[] = {"k.cu", "p/k.cu", "a/k.cu"};
    static const char *const memory[MEMORY_HEADERS] = {"y.h", "p/x.h", "s/y.h"};
    *asked = (struct asked){.program = ONE_OF(programs), .options = PDL_RTC_OPTIONS_INIT};
    number = 0;
    add_arguments(asked);
    make_files();
    for (size_t i = 0; i < MEMORY_HEADERS; i++) {
        if (chance(4) == 0) {
            add_header(&asked->texts[i]);
            asked->headers[asked->options.header_count++] =
                (pdl_rtc_header){memory[i], asked->texts[i].bytes};
        }
    }
    for (uint64_t i = 1 + chance(4); i > 0; i--) {
        add_some_form(&asked->source);
    }
    add(&asked->source, "template <int i> __global__ void k() {}\n");
    add(&asked->name, chance(2) == 0 ? "k<__has_include(\"%s\")>" : "k<__has_include(<%s>)>",
        last_name);
    asked->names[0] = chance(6) == 0 ? asked->name.bytes : "k<7>";
    asked->options.names = asked->names;
    asked->options.name_count = 1;
    asked->options.target = "compute_90";
    asked->options.output = PDL_RTC_PTX;
    if (minimal) {
        asked->arguments[asked->options.argument_count++] = "--minimal";
    }
    asked->options.headers = asked->headers;
}

static pdl_rtc_image *compile(pdl_rtc_cache *cache, struct asked *asked, uint32_t flags)
{
    pdl_rtc_image *image = NULL;
    pdl_rtc_options options = asked->options;
    options.flags |= flags;
    (void)pdl_rtc_cache_compile(cache, asked->program, asked->source.bytes, &options, &image);
    return image;
}

static void find(struct asked *asked, struct pdl_rtc_dependencies *found)
{
    struct pdl_rtc_request request;
    assert_ok(
        pdl_rtc_request_make(&request, asked->program, asked->source.bytes, &asked->options, NULL));
    assert_ok(pdl_rtc_includes_find(&request, found));
    pdl_rtc_request_free(&request);
    for (size_t i = 0; i < found->count; i++) {
        found->items[i].fresh = false; /* as if they had been looked at much later */
    }
}

static void print_file(const char *path)
{
    char target[64] = "";
    char *text = rtc_file_read(path);
    (void)printf("---- %s", path);
    if (readlink(path, target, sizeof(target) - 1) > 0) {
        (void)printf(" links to %s", target);
    }
    (void)printf("\n%s", text);
    free(text);
}

static void print_text(const struct asked *asked)
{
    char path[64];
    (void)printf("---- %s\n%s", asked->program, asked->source.bytes);
    for (size_t i = 0; i < asked->options.argument_count; i++) {
        (void)printf("---- option %s\n", asked->arguments[i]);
    }
    (void)printf("---- name %s\n", asked->names[0]);
    for (size_t i = 0; i < asked->options.header_count; i++) {
        (void)printf("---- in memory %s\n%s", asked->headers[i].name, asked->headers[i].text);
    }
    for (size_t i = 0; i < COUNT_OF(folders) * COUNT_OF(files); i++) {
        path_of(path, sizeof(path), folders[i / COUNT_OF(files)], files[i % COUNT_OF(files)]);
        if (access(path, F_OK) == 0) {
            print_file(path);
        }
    }
    (void)printf("----\n");
}

static uint64_t hits(pdl_rtc_cache *cache)
{
    pdl_rtc_stats stats = PDL_RTC_STATS_INIT;
    assert_ok(pdl_rtc_cache_stats(cache, &stats));
    return stats.memory_hits + stats.disk_hits;
}

/* The next line that counts: NVRTC 12.0 puts the time into names that have INTERNAL in them. */
static const char *next_line(const char *at, size_t *length)
{
    for (*length = strcspn(at, "\n"); *at != '\0'; *length = strcspn(at, "\n")) {
        if (memmem(at, *length, "_INTERNAL_", strlen("_INTERNAL_")) == NULL) {
            break;
        }
        at += *length + (at[*length] == '\n');
    }
    return at;
}

/* Whether an image, if there is one, has that code. */
static bool has_code(const pdl_rtc_image *image, const char *code)
{
    size_t size = 0;
    const char *own = image != NULL ? pdl_rtc_image_code(image, &size) : NULL;
    while (own != NULL) {
        size_t own_length;
        size_t length;
        own = next_line(own, &own_length);
        code = next_line(code, &length);
        if (own_length != length || memcmp(own, code, length) != 0 || own[length] != code[length]) {
            return false;
        }
        if (own[length] == '\0') {
            return true;
        }
        own += length + 1;
        code += length + 1;
    }
    return false;
}

/* Changes a file and asks again. Whether what was known of the files says that nothing has changed; then it is
 * compared. */
static bool ask_again(pdl_rtc_cache *cache, struct asked *asked,
                      const struct pdl_rtc_dependencies *known, const char *code,
                      struct counts *counts)
{
    change_file();
    const uint64_t before = hits(cache);
    pdl_rtc_image *second = compile(cache, asked, 0);
    const bool hit =
        hits(cache) > before || (known->unknown == NULL && pdl_rtc_includes_unchanged(known));
    if (hit) {
        pdl_rtc_image *fresh = compile(cache, asked, PDL_RTC_NO_CACHE);
        counts->hits++;
        counts->stale += !has_code(fresh, code) || (second != NULL && !has_code(second, code));
        pdl_rtc_image_destroy(fresh);
    }
    pdl_rtc_image_destroy(second);
    return hit;
}

/* An image that is held is found in memory, another in the folder. What was found out about the files decides about
 * kernels in memory. */
static void run_text(pdl_rtc_cache *cache, struct asked *asked, struct counts *counts)
{
    struct pdl_rtc_dependencies known = {0};
    size_t size = 0;
    const char *name = last_name;
    const unsigned stale = counts->stale;
    pdl_rtc_image *first = compile(cache, asked, 0);
    counts->texts++;
    if (first == NULL) {
        return;
    }
    char *code = strdup(pdl_rtc_image_code(first, &size));
    assert_non_null(code);
    find(asked, &known);
    counts->compiled++;
    counts->unknown += known.unknown != NULL;
    if (chance(2) == 0) {
        pdl_rtc_image_destroy(first);
        first = NULL;
    }
    for (int i = 0; i < CHANGES && known.unknown == NULL; i++) {
        last_name = name;
        if (!ask_again(cache, asked, &known, code, counts) || counts->stale > stale) {
            break;
        }
    }
    pdl_rtc_image_destroy(first);
    pdl_rtc_includes_free(&known);
    free(code);
}

int main(int argc, char **argv)
{
    static struct asked asked;
    const unsigned long texts = argc > 1 ? strtoul(argv[1], NULL, 10) : 60;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    struct counts counts = {0};
    pdl_rtc_compiler_info compiler = PDL_RTC_COMPILER_INFO_INIT;
    pdl_rtc_cache_desc desc = PDL_RTC_CACHE_DESC_INIT;
    pdl_rtc_cache *cache = NULL;
    if (pdl_rtc_compiler_get(&compiler) != PDL_SUCCESS) {
        (void)printf("there is no NVRTC\n");
        return 77;
    }
    char *folder = rtc_folder_make();
    char *kept = rtc_folder_make();
    desc.directory = kept;
    if (setenv("PDL_RTC_DUMP_DIR", "", 1) != 0 || chdir(folder) != 0 ||
        pdl_rtc_cache_create(&desc, &cache) != PDL_SUCCESS) {
        return 1;
    }
    for (size_t i = 1; i < COUNT_OF(folders); i++) {
        assert_int_equal(mkdir(folders[i], 0700), 0);
    }
    verbose = texts == 1;
    for (unsigned long i = 0; i < texts; i++) {
        const unsigned before = counts.stale;
        chance_state = seed + i;
        make_text(&asked, compiler.version >= 12040);
        if (verbose) {
            print_text(&asked);
        }
        run_text(cache, &asked, &counts);
        if (counts.stale > before) {
            (void)printf("text %llu is stale\n", (unsigned long long)seed + i);
        }
    }
    pdl_rtc_cache_destroy(cache);
    (void)printf("NVRTC %d.%d: %u texts, %u compiled, of these %u unknown; %u hits; %u stale\n",
                 compiler.version / 1000, compiler.version % 1000 / 10, counts.texts,
                 counts.compiled, counts.unknown, counts.hits, counts.stale);
    const int left = chdir("/");
    rtc_folder_remove(folder);
    rtc_folder_remove(kept);
    return counts.stale > 0 || left != 0 || counts.hits == 0;
}
