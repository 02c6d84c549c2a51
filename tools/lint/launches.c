/* SPDX-License-Identifier: MIT */
/* How kernels were launched: recordings of libpdl-watch, and logs of libpdl's decisions. */
#include <stdlib.h>
#include <string.h>

#include "common/print.h"
#include "lint/statements.h"
#include "watch/model.h"

/* libpdl's log has no more of a name. */
enum { LONGEST_LOGGED = 500 };

static void launched(struct lint_statements *statements, struct lint_launch_file *file,
                     const char *name, bool overlapped)
{
    const uint32_t index = name_index(&statements->launched, name);
    while (statements->how.count <= index) {
        APPEND(&statements->how, 0);
    }
    statements->how.items[index] |= overlapped ? LAUNCHED_OVERLAPPED : LAUNCHED_PLAIN;
    APPEND(&file->names, index);
}

/* ---- logs -------------------------------------------------------------------------------------*/

/* "libpdl[PID]: device N, kernel NAME: DECISION", as lib/launch/log.c writes it; a build's log may have more in
 * front of it. */
static bool read_decision(struct lint_statements *statements, struct lint_launch_file *file,
                          const char *line)
{
    static const char before[] = ", kernel ";
    const char *const begin = strstr(line, "libpdl[");
    const char *const found = begin != NULL ? strstr(begin, before) : NULL;
    const char *const name = found != NULL ? found + sizeof(before) - 1 : NULL;
    const char *const end = name != NULL ? strstr(name, ": ") : NULL;
    if (end == NULL || end == name) {
        return false;
    }
    const char *decision = end + 2;
    decision += strncmp(decision, "now ", 4) == 0 ? 4 : 0;
    const bool overlaps = strncmp(decision, "overlaps", 8) == 0;
    if (!overlaps && strncmp(decision, "does not overlap", 16) != 0) {
        return false;
    }
    char *const text = format_text("%.*s", (int)(end - name), name);
    if (end - name < LONGEST_LOGGED) {
        launched(statements, file, text, overlaps);
    } else {
        char *const pattern = format_text("%s*", text);
        lint_state(&statements->lists[overlaps ? LINT_OVERLAPPED : LINT_PLAIN], pattern,
                   file->told.origin, file->told.text);
        free(pattern);
    }
    free(text);
    return true;
}

size_t lint_launches_parse_log(struct lint_statements *statements, struct lint_launch_file *file,
                               const char *text, size_t size)
{
    enum { LONGEST_LINE = 4096 }; /* libpdl's have 1,024 */
    char line[LONGEST_LINE];
    size_t count = 0;
    for (size_t at = 0; at < size;) {
        const char *const newline = memchr(text + at, '\n', size - at);
        const size_t length = newline != NULL ? (size_t)(newline - text) - at : size - at;
        if (length < sizeof(line)) {
            memcpy(line, text + at, length);
            line[length] = '\0';
            count += read_decision(statements, file, line);
        }
        at += length + 1;
    }
    return count;
}

/* ---- recordings -------------------------------------------------------------------------------*/

/* What libpdl-watch added itself was tried, and is not how the program launches its kernels. */
static bool is_overlapped(const struct watch_kernel *kernel)
{
    return kernel->asked > 0 || kernel->granted > kernel->added;
}

static bool read_recording(struct lint_statements *statements, struct lint_launch_file *file)
{
    const struct watch_window all = {0};
    const char *const paths[] = {file->path};
    struct watch watch;
    bool read = watch_read(&watch, paths, 1);
    if (read) {
        watch_join(&watch, &all);
        bool *const asked = allocate(watch.kernels.count + 1, sizeof(*asked));
        bool *const called = allocate(watch.kernels.count + 1, sizeof(*called));
        for (size_t i = 0; i < watch.launches.count; i++) { /* those of captures, too */
            const struct watch_launch *const launch = &watch.launches.items[i];
            const uint32_t overlap = launch->flags & (PDL_WATCH_ASKED | PDL_WATCH_OVERLAP);
            if (launch->kernel != WATCH_NONE && launch->result == 0) {
                called[launch->kernel] = true;
                asked[launch->kernel] |= overlap != 0 && (launch->flags & PDL_WATCH_ADDED) == 0;
            }
        }
        for (size_t i = 0; i < watch.kernels.count; i++) {
            const struct watch_kernel *const kernel = &watch.kernels.items[i];
            if (kernel->launches > 0 || called[i]) {
                launched(statements, file, kernel->name, asked[i] || is_overlapped(kernel));
            }
        }
        free(called);
        free(asked);
    }
    watch_free(&watch);
    return read;
}

/* ---- files ------------------------------------------------------------------------------------*/

bool lint_launches_read(struct lint_statements *statements, struct lint_launch_file *file)
{
    size_t size = 0;
    char *const text = lint_read_text(file->path, &size);
    bool read = false;
    if (text == NULL) {
        return false;
    }
    if (size >= sizeof(PDL_WATCH_MAGIC) - 1 &&
        memcmp(text, PDL_WATCH_MAGIC, sizeof(PDL_WATCH_MAGIC) - 1) == 0) {
        read = read_recording(statements, file);
    } else {
        read = lint_launches_parse_log(statements, file, text, size) > 0;
        if (!read) {
            print_line(
                stderr,
                "%s: error: neither a recording (pdltool watch --record) nor a log of libpdl",
                file->path);
        }
    }
    free(text);
    return read;
}
