/* SPDX-License-Identifier: MIT */
#include "ptxas/texts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "code/instrument_words.h"
#include "common/memory.h"
#include "common/print.h"

static void put_member(FILE *to, const char *name, const char *text, char before)
{
    (void)fprintf(to, "%c\"%s\":", before, name);
    if (text == NULL) {
        (void)fputs("null", to);
        return;
    }
    (void)putc('"', to);
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\') {
            (void)fprintf(to, "\\%c", *at);
        } else if ((unsigned char)*at < ' ') {
            (void)fprintf(to, "\\u%04x", (unsigned)*at);
        } else {
            (void)putc(*at, to);
        }
    }
    (void)putc('"', to);
}

/* One write() per line: many processes append to the same file at once. */
static void log_line(const struct settings *settings, const char *const values[5])
{
    static const char *const names[] = {"kernel", "action", "reason", "message", "file"};
    static bool said;
    char *line = NULL;
    size_t size = 0;
    if (settings->log == NULL) {
        return;
    }
    FILE *const to = memory_open(&line, &size);
    for (size_t i = 0; i < 5; i++) {
        put_member(to, names[i], values[i], i == 0 ? '{' : ',');
    }
    (void)fputs("}\n", to);
    memory_close(to);
    /* Neither a pipe without a reader nor a full disk may stop the compilation. */
    const int file = open(settings->log,
                          O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if ((file < 0 || write(file, line, size) < 0) && !said) {
        print_line(stderr, "pdl-ptxas: warning: cannot write to PDL_INSTRUMENT_LOG, %s: %s",
                   settings->log, strerror(errno));
        said = true;
    }
    if (file >= 0) {
        (void)close(file);
    }
    free(line);
}

void log_failure(const struct settings *settings, const char *name, const char *why)
{
    log_line(settings, (const char *const[5]){NULL, "failed", NULL, why, name});
    if (settings->is_step) { /* what nvcc makes may be launched by code that relies on the wait */
        print_line(stderr, "pdl-ptxas: warning: %s is not instrumented: %s", name, why);
    }
}

void instrumented_free(struct instrumented *made)
{
    free(made->text);
    free(made->lines.items);
}

struct instrumented instrument_text(const struct settings *settings, const char *name,
                                    const char *text, size_t size, bool raise, bool log_all,
                                    void (*refused)(const char *name,
                                                    const pdl_instrument_kernel *kernel))
{
    pdl_instrument_options options = settings->options;
    pdl_instrumentation *result;
    struct instrumented made = {.text = NULL};
    options.flags |= raise ? PDL_INSTRUMENT_RAISE_TARGET : 0;
    if (pdl_instrument(text, size, name, &options, &result) != PDL_SUCCESS) {
        log_failure(settings, name, pdl_inspect_last_error()->message);
        return made;
    }
    for (size_t i = 0; i < pdl_instrumentation_kernel_count(result); i++) {
        const pdl_instrument_kernel *const kernel = pdl_instrumentation_kernel(result, i);
        if (kernel->wait_line > 0) {
            APPEND(&made.lines, kernel->wait_line);
        }
        if (kernel->trigger_line > 0) {
            APPEND(&made.lines, kernel->trigger_line);
        }
        if (kernel->action == PDL_INSTRUMENT_DONE || log_all) {
            log_line(settings, (const char *const[5]){kernel->name,
                                                      pdl_instrument_action_word(kernel->action),
                                                      pdl_instrument_reason_word(kernel->reason),
                                                      kernel->message, name});
        }
        if (kernel->action == PDL_INSTRUMENT_REFUSED && refused != NULL) {
            refused(name, kernel);
        }
    }
    if (made.lines.count > 0) {
        const char *const from = pdl_instrumentation_text(result, &made.size);
        made.text = allocate(made.size + 1, 1);
        memcpy(made.text, from, made.size + 1);
    }
    pdl_instrumentation_destroy(result);
    return made;
}
