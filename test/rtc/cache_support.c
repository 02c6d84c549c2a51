/* SPDX-License-Identifier: MIT */
#include "cache_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/error.h"
#include "rtc/compile/compile.h"
#include "rtc/compile/log.h"
#include "rtc/compiler.h"

struct cache_mock cache_mock;

void cache_mock_start(int version, const char *identity)
{
    static struct pdl_rtc_compiler table;
    static const int known[] = {90, 100};
    if (version == 0) {
        /* What is opened on the next call is no library: there is no compiler. */
        (void)setenv("PDL_NVRTC", "/nonexistent/libnvrtc.so", 1);
        pdl_rtc_compiler_override(NULL);
        return;
    }
    memset(&table, 0, sizeof(table));
    table.number = version;
    table.newest = 100;
    memcpy(table.known, known, sizeof(known));
    table.known_count = 2;
    table.identity.size = strlen(identity);
    memcpy(table.identity.bytes, identity, strlen(identity));
    cache_mock.version = version;
    pdl_rtc_compiler_override(&table);
}

static void sleep_ms(int milliseconds)
{
    const struct timespec time = {.tv_sec = milliseconds / 1000,
                                  .tv_nsec = milliseconds % 1000 * 1000000L};
    (void)nanosleep(&time, NULL);
}

/* What the first include of the text holds; "" without one. */
static void read_include(const char *source, char *content, size_t size)
{
    char path[512] = "";
    const char *at = strstr(source, "#include \"");
    content[0] = '\0';
    if (at == NULL || sscanf(at, "#include \"%511[^\"]\"", path) != 1) {
        return;
    }
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        content[fread(content, 1, size - 1, file)] = '\0';
        (void)fclose(file);
    }
}

static void put_comment(FILE *to, const char *text)
{
    (void)fputs("// ", to);
    for (; *text != '\0'; text++) {
        (void)fputc(*text == '\n' ? ' ' : *text, to);
    }
    (void)fputc('\n', to);
}

/* PTX; every name is an entry. The caller frees it. */
static char *make_code(const struct pdl_rtc_request *request, char **lowered)
{
    char content[512];
    char *code = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&code, &size);
    read_include(request->source, content, sizeof(content));
    (void)fputs(".version 8.0\n.target sm_90\n.address_size 64\n", to);
    put_comment(to, request->source);
    put_comment(to, content);
    for (size_t i = 0; i < request->name_count; i++) {
        for (char *c = lowered[i]; *c != '\0'; c++) {
            *c = strchr("<>, ", *c) != NULL ? '_' : *c;
        }
        if (strstr(request->source, "NO_KERNEL") == NULL) {
            (void)fprintf(to, ".visible .entry %s()\n{\nret;\n}\n", lowered[i]);
        } else {
            (void)snprintf(lowered[i], strlen(lowered[i]) + 1, "x");
        }
    }
    (void)fclose(to);
    return code;
}

static pdl_status make_image(const struct pdl_rtc_request *request, pdl_rtc_image **image)
{
    enum { NAMES = 64 };
    pdl_rtc_image *made = calloc(1, sizeof(*made));
    char *lowered[NAMES] = {NULL};
    bool whole = made != NULL;
    if (request->name_count > NAMES) {
        abort();
    }
    for (size_t i = 0; i < request->name_count; i++) {
        lowered[i] = strdup(request->names[i]);
        whole = whole && lowered[i] != NULL;
    }
    pdl_status status = whole ? PDL_SUCCESS : PDL_NO_MEMORY();
    if (whole) {
        atomic_init(&made->references, 1);
        made->output = PDL_RTC_PTX;
        (void)snprintf(made->target, sizeof(made->target), "%s", request->target);
        made->program = strdup(request->program);
        made->log = strdup("a warning of the mock");
        made->code = (unsigned char *)make_code(request, lowered);
        made->code_size = strlen((const char *)made->code) + 1;
        made->compiler_version = cache_mock.version;
        status = made->program == NULL || made->log == NULL
                     ? PDL_NO_MEMORY()
                     : pdl_rtc_image_describe(made, request->names, (const char *const *)lowered,
                                              request->name_count);
    }
    for (size_t i = 0; i < request->name_count; i++) {
        free(lowered[i]);
    }
    if (status == PDL_SUCCESS) {
        *image = made;
    } else if (whole) {
        pdl_rtc_image_destroy(made);
    } else {
        free(made);
    }
    return status;
}

pdl_status pdl_rtc_compile_request(const struct pdl_rtc_request *request, pdl_rtc_image **image)
{
    const struct pdl_rtc_compiler *compiler;
    pdl_rtc_log_set("");
    const pdl_status status = pdl_rtc_compiler_open(&compiler);
    if (status != PDL_SUCCESS) {
        return status;
    }
    const int number = atomic_fetch_add(&cache_mock.compilations, 1) + 1;
    if (cache_mock.while_compiling != NULL) {
        cache_mock.while_compiling();
    }
    sleep_ms(cache_mock.milliseconds);
    if (strstr(request->source, "FAIL") != NULL) {
        char log[64];
        (void)snprintf(log, sizeof(log), "log of compilation %d", number);
        pdl_rtc_log_set(log);
        return PDL_FAIL(PDL_ERROR_COMPILE, "compilation %d failed", number);
    }
    return make_image(request, image);
}

bool cache_mock_made(const pdl_rtc_image *image, const char *source, const char *word)
{
    const char *code = pdl_rtc_image_code(image, NULL);
    char *comment = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&comment, &size);
    put_comment(to, source);
    (void)fclose(to);
    const bool made = strstr(code, comment) != NULL && (word == NULL || strstr(code, word) != NULL);
    free(comment);
    return made;
}
