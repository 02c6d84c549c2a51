/* SPDX-License-Identifier: MIT */
#include "rtc/compile/dump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/path_text.h"
#include "os/environment.h"
#include "rtc/compiler.h"
#include "rtc/directory.h"
#include "rtc/hash.h"

enum {
    FILES = 32, /* a failure that comes again has its file again, and another one may take it */
    DUMP_PATH = 250, /* bytes of a message, which says what is wrong as well */
    NAME_SIZE = sizeof("pdl-rtc-00.txt")
};

/* ---- folders -------------------------------------------------------------------------------- */

/* Opens the folder for dumps. The cache's own must be the user's alone: nobody else may have put a link
 * there. */
static int open_folder(const char *path, bool own)
{
    char why[64];
    if (!pdl_rtc_directory_make(path)) {
        return -1;
    }
    return own ? pdl_rtc_directory_open(AT_FDCWD, path, O_NOFOLLOW, false, why, sizeof(why))
               : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* ---- the file ------------------------------------------------------------------------------- */

static void write_version(FILE *file, const char *what, int number)
{
    (void)fprintf(file, "# %s: %d.%d\n", what, number / 1000, number % 1000 / 10);
}

/* In single quotes for a shell. */
static void write_quoted(FILE *file, const char *text)
{
    (void)fputc('\'', file);
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            (void)fputs("'\\''", file);
        } else {
            (void)fputc(*text, file);
        }
    }
    (void)fputc('\'', file);
}

static void write_command(FILE *file, const struct pdl_rtc_request *request)
{
    (void)fprintf(file, "# command (source and headers in files of their names): nvcc %s -arch=%s",
                  request->output == PDL_RTC_PTX ? "-ptx" : "-cubin", request->target);
    for (size_t i = 0; i < request->arguments.count; i++) {
        (void)fputc(' ', file);
        write_quoted(file, request->arguments.items[i]);
    }
    (void)fputs(" -I. ", file);
    write_quoted(file, request->program);
    (void)fputc('\n', file);
}

static void write_head(FILE *file, const struct pdl_rtc_request *request)
{
    const struct pdl_rtc_compiler *compiler;
    (void)fprintf(file, "# libpdl-rtc %d.%d.%d: a compilation that failed\n", PDL_VERSION_MAJOR,
                  PDL_VERSION_MINOR, PDL_VERSION_PATCH);
    (void)fprintf(file, "# program: %s\n# target: %s\n# output: %s\n", request->program,
                  request->target, request->output == PDL_RTC_PTX ? "PTX" : "cubin");
    if (pdl_rtc_compiler_open(&compiler) == PDL_SUCCESS) {
        write_version(file, "NVRTC", compiler->number);
        (void)fprintf(file, "# NVRTC's file: %s\n", compiler->path);
    }
    for (size_t i = 0; i < request->arguments.count; i++) {
        (void)fprintf(file, "# option: %s\n", request->arguments.items[i]);
    }
    for (size_t i = 0; i < request->name_count; i++) {
        (void)fprintf(file, "# name expression: %s\n", request->names[i]);
    }
    for (size_t i = 0; i < request->header_count; i++) {
        (void)fprintf(file, "# header in memory: %s\n", request->headers[i].name);
    }
    write_command(file, request);
}

static void write_part(FILE *file, const char *what, const char *name, const char *text)
{
    const size_t size = strlen(text);
    (void)fprintf(file, "\n#==== %s %s (%zu bytes) ====\n", what, name, size);
    (void)fwrite(text, 1, size, file);
    (void)fprintf(file, "%s#==== end of %s %s ====\n",
                  size == 0 || text[size - 1] == '\n' ? "" : "\n", what, name);
}

static bool write_all(int descriptor, const struct pdl_rtc_request *request, const char *log)
{
    FILE *file = fdopen(descriptor, "w");
    if (file == NULL) {
        (void)close(descriptor);
        return false;
    }
    write_head(file, request);
    write_part(file, "log of", request->program, log);
    write_part(file, "source", request->program, request->source);
    for (size_t i = 0; i < request->header_count; i++) {
        write_part(file, "header", request->headers[i].name, request->headers[i].text);
    }
    const bool written = fflush(file) == 0 && ferror(file) == 0;
    const int why = errno;
    const bool closed = fclose(file) == 0;
    errno = written ? errno : why;
    return written && closed;
}

/* Opens the file of a failure, in the place of whatever has its name. */
static int create_file(int folder, const struct pdl_rtc_request *request, const char *log,
                       char name[NAME_SIZE])
{
    uint64_t hash = pdl_rtc_hash_short(request->source, strlen(request->source), 0);
    hash = pdl_rtc_hash_short(request->program, strlen(request->program), hash);
    hash = pdl_rtc_hash_short(log, strlen(log), hash);
    (void)snprintf(name, NAME_SIZE, "pdl-rtc-%02u.txt", (unsigned)(hash % FILES));
    int file = -1;
    errno = EEXIST;
    for (int i = 0; i < 100 && file < 0 && errno == EEXIST; i++) {
        (void)unlinkat(folder, name, 0);
        file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    }
    return file;
}

/* As pdl_rtc_dump(), into a folder; errno says why it failed. */
static bool dump_into(const char *place, bool own, const struct pdl_rtc_request *request,
                      const char *log, char *path, size_t size)
{
    char name[NAME_SIZE];
    bool written = false;
    const int folder = open_folder(place, own);
    if (folder < 0) {
        return false;
    }
    const int file = create_file(folder, request, log, name);
    if (file >= 0) {
        written = write_all(file, request, log);
        if (!written) {
            const int why = errno;
            (void)unlinkat(folder, name, 0);
            errno = why;
        }
    }
    if (written) {
        char *real = realpath(place, NULL);
        const size_t room = DUMP_PATH - 1 - strlen(name);
        (void)snprintf(path, size, "%s/%s", pdl_path_text(real != NULL ? real : place, room).text,
                       name);
        free(real);
    }
    const int why = errno;
    (void)close(folder);
    errno = why;
    return written;
}

bool pdl_rtc_dump(const struct pdl_rtc_request *request, const char *directory, const char *log,
                  char *path, size_t size)
{
    const pdl_error before = *pdl_last_error();
    const char *given = pdl_variable_raw(PDL_VARIABLE(PDL_RTC_DUMP_DIR));
    bool written = false;
    path[0] = '\0';
    if (given != NULL ? given[0] == '\0' : directory == NULL) {
        return false;
    }
    char *place = NULL;
    if (asprintf(&place, "%s%s", given != NULL ? given : directory, given != NULL ? "" : "/dumps") <
        0) {
        (void)snprintf(path, size, "no memory");
        return false;
    }
    written = dump_into(place, given == NULL, request, log, path, size);
    if (!written) {
        (void)snprintf(path, size, "%s: %s", pdl_path_text(place, 100).text, strerror(errno));
    }
    free(place);
    (void)pdl_error_record(&before);
    return written;
}
