/* SPDX-License-Identifier: MIT */
#include "ptxas/nvcc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/demangle.h"
#include "common/file.h"
#include "common/memory.h"
#include "common/print.h"

/* ---- cicc: C++ to PTX -------------------------------------------------------------------------------------- */

static const char *value_after(char *const *arguments, const char *option)
{
    for (; *arguments != NULL; arguments++) {
        if (strcmp(*arguments, option) == 0) {
            return arguments[1];
        }
    }
    return NULL;
}

static bool has(char *const *arguments, const char *option)
{
    for (; *arguments != NULL; arguments++) {
        if (strcmp(*arguments, option) == 0) {
            return true;
        }
    }
    return false;
}

/* PTX of an older target is also made for devices where nothing can wait; that is no reason to warn. */
static void warn_refused(const char *source, const pdl_instrument_kernel *kernel)
{
    if (kernel->reason != PDL_INSTRUMENT_REASON_TARGET) {
        char *const name = demangle_brief(kernel->name);
        print_line(stderr, "pdl-ptxas: warning: %s: %s is not instrumented: %s", source, name,
                   kernel->message);
        free(name);
    }
}

static bool write_file(const char *path, const char *bytes, size_t size)
{
    char *const other = format_text("%s.pdl-%ld", path, (long)getpid());
    FILE *const to = fopen(other, "wbe");
    bool written = to != NULL && fwrite(bytes, 1, size, to) == size;
    written = to != NULL && fclose(to) == 0 && written && rename(other, path) == 0;
    if (!written && to != NULL) {
        (void)unlink(other);
    }
    free(other);
    return written;
}

static void instrument_output(const struct step *step)
{
    const char *const path = value_after(step->given, "-o");
    const char *source = value_after(step->given, "--orig_src_file_name");
    size_t size;
    source = source != NULL ? source : path;
    if (path == NULL) {
        return;
    }
    if (has(step->given, "-lto") || has(step->given, "-olto")) {
        log_failure(step->settings, source, "link-time optimization assembles it later");
        return;
    }
    if (strcmp(path, "-") == 0) {
        log_failure(step->settings, source, "its PTX is not written to a file");
        return;
    }
    char *const text = file_read(path, &size);
    if (text != NULL) {
        struct instrumented made =
            instrument_text(step->settings, source, text, size, false, true, warn_refused);
        if (made.text != NULL && !write_file(path, made.text, made.size)) {
            log_failure(step->settings, source, "its instrumented PTX cannot be written");
        }
        instrumented_free(&made);
        free(text);
    }
}

int nvcc_cicc(const struct step *step)
{
    const pid_t child = fork();
    if (child <= 0) {
        return step_untouched(step);
    }
    const int status = step_wait(child, false);
    if (status == 0) {
        instrument_output(step);
    }
    return status;
}

/* ---- fatbinary: machine code and PTX to an image -------------------------------------------------------------- */

/* What an argument such as --image3=kind=ptx,sm=90,file=x.ptx says. */
struct image {
    const char *file;
    bool is_ptx;
    int target;
    bool is_specific; /* sm_90a, sm_100f: not for later devices */
};

static bool read_image(const char *argument, struct image *image)
{
    static const char *const targets[] = {"sm=", "profile=compute_", "profile=sm_"};
    const char *const file = strstr(argument, "file=");
    *image = (struct image){.file = NULL};
    if (file == NULL || strncmp(argument, "-", 1) != 0 || strstr(argument, "image") == NULL) {
        return false;
    }
    image->file = file + strlen("file=");
    image->is_ptx =
        strstr(argument, "kind=ptx") != NULL || strstr(argument, "profile=compute_") != NULL;
    for (size_t i = 0; i < 3; i++) {
        const char *const at = strstr(argument, targets[i]);
        char *end;
        if (at != NULL && at < file) {
            image->target = (int)strtol(at + strlen(targets[i]), &end, 10);
            image->is_specific = *end == 'a' || *end == 'f';
        }
    }
    return true;
}

/* Machine code that waits, beside PTX for later devices that does not. */
static void warn_old_ptx(const struct step *step)
{
    bool waits = false, later = false;
    int oldest = 0;
    for (size_t i = 1; step->given[i] != NULL; i++) {
        struct image image;
        if (read_image(step->given[i], &image)) {
            waits = waits || (!image.is_ptx && image.target >= FIRST_TARGET);
            later = later || (image.is_ptx && image.target >= FIRST_TARGET && !image.is_specific);
            oldest = image.is_ptx && image.target < FIRST_TARGET ? image.target : oldest;
        }
    }
    if (waits && !later && oldest > 0) {
        print_line(stderr,
                   "pdl-ptxas: warning: devices without machine code here load the PTX for "
                   "compute_%d, which cannot wait; add -gencode arch=compute_90,code=compute_90",
                   oldest);
    }
}

int nvcc_fatbinary(struct step *step)
{
    bool any = false;
    for (size_t i = 0; step->given[i] != NULL; i++) {
        char *argument = step->given[i];
        struct image image;
        if (read_image(argument, &image) && image.is_ptx) {
            const char *const path = step_replace(step, image.file, false);
            if (path != NULL) {
                argument = format_text("%.*s%s", (int)(image.file - argument), argument, path);
                any = true;
            }
        }
        APPEND(&step->arguments, argument);
    }
    warn_old_ptx(step);
    return any ? step_run(step) : step_untouched(step);
}
