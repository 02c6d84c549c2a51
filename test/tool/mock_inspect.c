/* SPDX-License-Identifier: MIT */
/* A stand-in for libpdl-inspect that makes an inspection of a description of one, so that the
 * commands and their reports can be tried on any. The rules, the suppressions and the inspection
 * itself are the library's own.
 *
 * A description is a line a thing, each a word and KEY=VALUE pairs, then texts behind bars:
 *
 *     mock
 *     image kind=ptx target=90 suffix=a version=85 | ORIGIN | UNREAD
 *     kernel name=_Z1fv waits=yes always=no triggers=no wait_count=2 registers=32 shared=1024 touches=yes launch=1 checked=1
 *     kernel name=k threads=256 per_sm=2 block=128x2x1 cluster=4x1x1 most_cluster=8 set_cluster=1 counts_clusters=yes
 *     finding rule=read-before-wait level=warning line=12 column=5 parameter=1 offset=8 count=2 place=1 plain=1 |
 *         MESSAGE | ADVICE | PARAMETER NAME | SUPPRESSED | MACHINE (in one line)
 *     place line=30 column=12 | FILE | FUNCTION                   (of the last finding)
 *     options                                  (a finding that tells them, or a kernel facts_only)
 *     marker used=1 | ORIGIN | TEXT | REASON
 *     fail status=INVALID_IMAGE line=3 column=7 | MESSAGE
 *
 * The first line of an ELF file or an archive is passed over: "\177ELF" and "!<arch>". */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pdl/instrument.h>

#include "code/info.h"
#include "inspect/inspection.h"

/* ---- reading a description --------------------------------------------------------------------*/

enum { TEXTS = 5 };

/* A line in pieces. */
struct line {
    char *words;        /* blank-separated */
    char *texts[TEXTS]; /* NULL where there is none, or a '-' */
};

static const char *value_of(const struct line *line, const char *key)
{
    static char value[4096];
    const size_t length = strlen(key);
    for (const char *at = line->words; at != NULL; at = strchr(at, ' ')) {
        at += at[0] == ' ';
        if (strncmp(at, key, length) == 0 && at[length] == '=') {
            (void)snprintf(value, sizeof(value), "%.*s", (int)strcspn(at + length + 1, " "),
                           at + length + 1);
            return value;
        }
    }
    return NULL;
}

static long number_of(const struct line *line, const char *key, long otherwise)
{
    const char *value = value_of(line, key);
    return value != NULL ? strtol(value, NULL, 10) : otherwise;
}

static uint32_t known_of(const struct line *line, const char *key)
{
    const char *value = value_of(line, key);
    return value == NULL               ? PDL_UNKNOWN
           : strcmp(value, "yes") == 0 ? PDL_YES
           : strcmp(value, "no") == 0  ? PDL_NO
                                       : PDL_UNKNOWN;
}

static int32_t level_of(const char *name)
{
    for (int32_t level = PDL_LINT_NOTE; level <= PDL_LINT_ERROR; level++) {
        if (strcmp(name, pdl_lint_level_name((pdl_lint_level)level)) == 0) {
            return level;
        }
    }
    return 0;
}

static struct line split(char *text)
{
    struct line line = {.words = text};
    char *bar = strstr(text, " | ");
    for (size_t i = 0; i < TEXTS && bar != NULL; i++) {
        *bar = '\0';
        char *piece = bar + 3;
        bar = strstr(piece, " | ");
        line.texts[i] = piece;
    }
    for (size_t i = 0; i < TEXTS; i++) {
        if (line.texts[i] != NULL && strcmp(line.texts[i], "-") == 0) {
            line.texts[i] = NULL;
        }
    }
    return line;
}

static void add_image(pdl_inspection *inspection, const struct line *line, const char *name)
{
    const char *kind = value_of(line, "kind");
    pdl_inspect_image image = {.origin = line->texts[0] != NULL ? line->texts[0] : name,
                               .unread = line->texts[1],
                               .kind = kind == NULL || strcmp(kind, "ptx") == 0 ? PDL_INSPECT_PTX
                                       : strcmp(kind, "sass") == 0              ? PDL_INSPECT_SASS
                                                                                : PDL_INSPECT_LTO,
                               .target = (int32_t)number_of(line, "target", 90),
                               .ptx_version = (uint16_t)number_of(line, "version", 0),
                               .compressed = (uint8_t)number_of(line, "compressed", 0)};
    const char *suffix = value_of(line, "suffix");
    if (suffix != NULL) {
        image.target_suffix = suffix[0];
    }
    pdl_inspection_add_image(inspection, &image);
}

static pdl_inspect_place *make_place(pdl_inspection *inspection, const struct line *line)
{
    pdl_inspect_place *place = pdl_arena_alloc(&inspection->arena, sizeof(*place));
    *place = (pdl_inspect_place){.size = (uint32_t)sizeof(*place),
                                 .file = line->texts[0],
                                 .inlined = line->texts[1],
                                 .line = (uint32_t)number_of(line, "line", 0),
                                 .column = (uint32_t)number_of(line, "column", 0)};
    return place;
}

/* KEY=XxYxZ; stays 0 without. */
static void read_extent(const struct line *line, const char *key, uint32_t extent[3])
{
    const char *const value = value_of(line, key);
    if (value != NULL &&
        sscanf(value, "%" SCNu32 "x%" SCNu32 "x%" SCNu32, &extent[0], &extent[1], &extent[2]) < 3) {
        abort();
    }
}

static void add_kernel(pdl_inspection *inspection, const struct line *line)
{
    const char *name = value_of(line, "name");
    pdl_kernel_info info = pdl_code_info(pdl_arena_copy(&inspection->arena, name, strlen(name)));
    pdl_inspect_kernel kernel = {.wait_count = (uint32_t)number_of(line, "wait_count", 0),
                                 .trigger_count = (uint32_t)number_of(line, "trigger_count", 0),
                                 .line = (uint32_t)number_of(line, "ptx_line", 0)};
    const pdl_inspect_image *const image = &inspection->images[inspection->image_count - 1];
    kernel.unchecked =
        number_of(line, "checked", image->kind == PDL_INSPECT_PTX) == 0 ? "the mock has not" : NULL;
    info.waits = known_of(line, "waits");
    info.triggers = known_of(line, "triggers");
    info.waits_always = known_of(line, "always");
    info.registers_per_thread = (int32_t)number_of(line, "registers", -1);
    info.static_shared_memory = (int32_t)number_of(line, "shared", -1);
    info.parameter_count = (int32_t)number_of(line, "parameters", -1);
    info.max_threads_per_block = (int32_t)number_of(line, "threads", -1);
    info.min_blocks_per_multiprocessor = (int32_t)number_of(line, "per_sm", -1);
    info.max_cluster_blocks = (uint32_t)number_of(line, "most_cluster", 0);
    info.cluster_must_be_set = (uint32_t)number_of(line, "set_cluster", 0);
    info.blocks_are_clusters = known_of(line, "counts_clusters");
    read_extent(line, "block", info.required_block);
    read_extent(line, "cluster", info.required_cluster);
    kernel.touches_memory = known_of(line, "touches");
    kernel.launch = (uint32_t)number_of(line, "launch", PDL_INSPECT_LAUNCH_UNKNOWN);
    if (line->texts[0] != NULL) {
        kernel.place = make_place(inspection, line);
    }
    pdl_inspection_add_kernel(inspection, &kernel, &info);
}

static void read_finding(pdl_inspection *inspection, const struct line *line)
{
    pdl_lint_finding finding = {.message = line->texts[0],
                                .advice = line->texts[1],
                                .parameter_name = line->texts[2],
                                .suppressed = line->texts[3],
                                .rule = pdl_lint_rule_find(value_of(line, "rule")),
                                .parameter = (int32_t)number_of(line, "parameter", 0) - 1,
                                .line = (uint32_t)number_of(line, "line", 0),
                                .column = (uint32_t)number_of(line, "column", 0),
                                .kernel = inspection->kernel_count - 1,
                                .parameter_offset = (int32_t)number_of(line, "offset", -1),
                                .place = (uint32_t)number_of(line, "place", 0),
                                .plain = (uint32_t)number_of(line, "plain", 0),
                                .count = (uint32_t)number_of(line, "count", 1)};
    finding.level = level_of(value_of(line, "level"));
    finding.machine = line->texts[4];
    pdl_inspection_add_finding(inspection, &finding);
}

enum { PLACES = 20 };

static void add_place(pdl_inspection *inspection, const struct line *line)
{
    pdl_lint_finding *finding = &inspection->findings[inspection->finding_count - 1];
    if (finding->places == NULL) {
        finding->places = pdl_arena_alloc(&inspection->arena, PLACES * sizeof(finding->places[0]));
    }
    ((const pdl_inspect_place **)finding->places)[finding->place_count++] =
        make_place(inspection, line);
}

static void add_options(pdl_inspection *inspection, const pdl_inspect_options *options)
{
    if ((options->flags & PDL_INSPECT_FACTS_ONLY) != 0) {
        char name[] = "kernel name=facts_only";
        const struct line kernel = {.words = name};
        add_kernel(inspection, &kernel);
        return;
    }
    char *text = pdl_arena_format(&inspection->arena, "flags %u", (unsigned)options->flags);
    for (uint64_t i = 0; i < options->constant_param_count; i++) {
        text = pdl_arena_format(&inspection->arena, "%s, constant %s", text,
                                options->constant_params[i]);
    }
    const struct {
        const char *name;
        const char *const *items;
        uint64_t count;
    } lists[] = {
        {"overlapped", options->overlapped, options->overlapped_count},
        {"plain", options->plain, options->plain_count},
        {"third-party", options->third_party, options->third_party_count},
        {"launched-overlapped", options->launched_overlapped, options->launched_overlapped_count},
        {"launched-plain", options->launched_plain, options->launched_plain_count},
    };
    for (size_t l = 0; l < sizeof(lists) / sizeof(lists[0]); l++) {
        for (uint64_t i = 0; i < lists[l].count; i++) {
            text = pdl_arena_format(&inspection->arena, "%s, %s %s", text, lists[l].name,
                                    lists[l].items[i]);
        }
    }
    const pdl_lint_finding finding = {.message = text,
                                      .rule = PDL_LINT_NO_TRIGGER,
                                      .level = PDL_LINT_NOTE,
                                      .kernel = inspection->kernel_count - 1,
                                      .parameter = -1};
    pdl_inspection_add_finding(inspection, &finding);
}

static void add_marker(pdl_inspection *inspection, const struct line *line)
{
    const pdl_lint_suppression marker = {.origin = line->texts[0],
                                         .text = line->texts[1],
                                         .reason = line->texts[2],
                                         .size = (uint32_t)sizeof(marker),
                                         .used = (uint32_t)number_of(line, "used", 0)};
    PDL_KEEP(inspection->markers, inspection->marker_count, inspection->marker_capacity, marker);
}

static pdl_status fail(const struct line *line)
{
    static const struct {
        const char *name;
        pdl_status status;
    } statuses[] = {{"INVALID_IMAGE", PDL_ERROR_INVALID_IMAGE},
                    {"NO_KERNEL_IMAGE", PDL_ERROR_NO_KERNEL_IMAGE}};
    const char *name = value_of(line, "status");
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        if (strcmp(name, statuses[i].name) == 0) {
            return pdl_inspect_fail(statuses[i].status, (uint32_t)number_of(line, "line", 0),
                                    (uint32_t)number_of(line, "column", 0), "%s", line->texts[0]);
        }
    }
    abort();
}

static pdl_status read_line(pdl_inspection *inspection, char *text, const char *name,
                            const pdl_inspect_options *options)
{
    const struct line line = split(text);
    const size_t word = strcspn(line.words, " ");
#define IS(text) (word == strlen(text) && strncmp(line.words, text, word) == 0)
    if (IS("image")) {
        add_image(inspection, &line, name);
    } else if (IS("kernel")) {
        add_kernel(inspection, &line);
    } else if (IS("finding")) {
        read_finding(inspection, &line);
    } else if (IS("place")) {
        add_place(inspection, &line);
    } else if (IS("options")) {
        add_options(inspection, options);
    } else if (IS("marker")) {
        add_marker(inspection, &line);
    } else if (IS("fail")) {
        return fail(&line);
    } else if (word != 0) {
        return pdl_inspect_fail(PDL_ERROR_INVALID_IMAGE, 0, 0, "no line of a description: %s",
                                line.words);
    }
#undef IS
    return PDL_SUCCESS;
}

pdl_status pdl_inspect_memory(const void *bytes, size_t size, const char *name,
                              const pdl_inspect_options *options, pdl_inspection **result)
{
    pdl_inspection *inspection = calloc(1, sizeof(*inspection));
    inspection->arena.lasts = true;
    name = pdl_arena_copy(&inspection->arena, name, strlen(name));
    char *text = pdl_arena_copy(&inspection->arena, bytes, size);
    pdl_status status = PDL_SUCCESS;
    size_t skipped = 0;
    if (strncmp(text, "\177ELF", 4) == 0 || strncmp(text, "!<arch>", 7) == 0) {
        skipped = strcspn(text, "\n") + 1;
        text += skipped;
    }
    if (*text == '\0' && strlen(text) == size - skipped) {
        status = pdl_inspect_fail(PDL_ERROR_NO_KERNEL_IMAGE, 0, 0, "no device code in it");
    } else if (strncmp(text, "mock\n", 5) != 0) {
        status = pdl_inspect_fail(PDL_ERROR_INVALID_IMAGE, 0, 0, "neither PTX nor anything else");
    } else {
        text += 5;
    }
    while (status == PDL_SUCCESS && *text != '\0') {
        char *end = text + strcspn(text, "\n");
        char *next = *end != '\0' ? end + 1 : end;
        *end = '\0';
        status = read_line(inspection, text, name, options);
        text = next;
    }
    if (status != PDL_SUCCESS) {
        pdl_inspection_destroy(inspection);
        return status;
    }
    *result = inspection;
    return PDL_SUCCESS;
}

pdl_status pdl_inspect_file(const char *path, const pdl_inspect_options *options,
                            pdl_inspection **inspection)
{
    static char bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return pdl_inspect_fail(PDL_ERROR_FILE, 0, 0, "cannot be opened");
    }
    const size_t size = fread(bytes, 1, sizeof(bytes), file);
    (void)fclose(file);
    return pdl_inspect_memory(bytes, size, path, options, inspection);
}

pdl_known pdl_inspection_shown(const pdl_inspection *inspection, const char *kernel,
                               int32_t capability, pdl_known *waits_always)
{
    (void)inspection;
    (void)kernel;
    (void)capability;
    (void)waits_always; /* nobody asks the mock */
    return PDL_UNKNOWN;
}

/* ---- instrumentation, which has no description ---------------------------------------------------*/

pdl_status pdl_instrument(const char *text, size_t size, const char *name,
                          const pdl_instrument_options *options, pdl_instrumentation **result)
{
    (void)text;
    (void)size;
    (void)name;
    (void)options;
    (void)result;
    return pdl_inspect_fail(PDL_ERROR_INVALID_IMAGE, 0, 0, "the stand-in instruments nothing");
}

void pdl_instrumentation_destroy(pdl_instrumentation *result)
{
    (void)result;
}

const char *pdl_instrumentation_text(const pdl_instrumentation *result, size_t *size)
{
    (void)result;
    *size = 0;
    return "";
}

size_t pdl_instrumentation_kernel_count(const pdl_instrumentation *result)
{
    (void)result;
    return 0;
}

const pdl_instrument_kernel *pdl_instrumentation_kernel(const pdl_instrumentation *result,
                                                        size_t index)
{
    (void)result;
    (void)index;
    return NULL;
}
