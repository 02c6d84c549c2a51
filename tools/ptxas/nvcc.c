/* SPDX-License-Identifier: MIT */
/* nvcc finds its steps through nvcc.profile, in the folder that it was started from. It is started from a folder that has
 * a link to it, a profile with one more line, and steps of this program. */
#include "ptxas/nvcc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "common/memory.h"
#include "common/print.h"
#include "common/program.h"
#include "common/temporary.h"
#include "os/environment.h"

static bool has_profile(const char *folder)
{
    char *const path = format_text("%s/nvcc.profile", folder);
    const bool has = access(path, R_OK) == 0;
    free(path);
    return has;
}

static char *folder_of(const char *path)
{
    const char *const end = strrchr(path, '/');
    return end != NULL ? format_text("%.*s", (int)(end - path), path) : copy_text(".");
}

/* The folder that nvcc says it is in, where the file of that name is a script that runs it; NULL: it says none. */
static char *ask_folder(const char *nvcc)
{
    static const char word[] = "#$ _HERE_=";
    char line[PATH_MAX + sizeof(word)];
    char *folder = NULL;
    int ends[2];
    /* A script that runs this program would ask again, and so on. */
    if (pdl_variable_text(PDL_VARIABLE(PDL_NVCC_STEP)) != NULL || pipe2(ends, O_CLOEXEC) != 0) {
        return NULL;
    }
    const pid_t child = fork();
    if (child == 0) {
        (void)setenv("PDL_NVCC_STEP", "1", 1);
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)dup2(ends[1], STDERR_FILENO);
        (void)execl(nvcc, nvcc, "--dryrun", "-E", "-x", "cu", "/dev/null", (char *)NULL);
        _exit(EXIT_NO_PROGRAM);
    }
    (void)close(ends[1]);
    FILE *const from = fdopen(ends[0], "r");
    while (from != NULL && fgets(line, sizeof(line), from) != NULL) {
        if (folder == NULL && strncmp(line, word, strlen(word)) == 0) {
            line[strcspn(line, "\n")] = '\0';
            folder = realpath(line + strlen(word), NULL);
        }
    }
    if (from != NULL) {
        (void)fclose(from);
    }
    if (child > 0) {
        (void)step_wait(child, false);
    }
    return folder;
}

/* The folder of nvcc and its profile, which may be behind links, as an absolute path; NULL after an error. */
static char *find_toolkit(const char *nvcc)
{
    char *const path = program_find(nvcc);
    char *const real = path != NULL ? realpath(path, NULL) : NULL;
    char *found = NULL;
    const char *const candidates[] = {path, real};
    for (size_t i = 0; i < 2 && found == NULL && real != NULL; i++) {
        char *const folder = folder_of(candidates[i]);
        found = !has_profile(folder) ? NULL
                : *folder == '/'     ? copy_text(folder) /* as dependency files have it */
                                     : realpath(folder, NULL);
        free(folder);
    }
    if (found == NULL && real != NULL) {
        char *const folder = ask_folder(path);
        found = folder != NULL && has_profile(folder) ? copy_text(folder) : NULL;
        free(folder);
    }
    if (real == NULL) {
        print_line(stderr, "pdl-ptxas: error: no program %s", nvcc);
    } else if (found == NULL) {
        print_line(stderr,
                   "pdl-ptxas: error: no nvcc.profile beside %s; name the nvcc of a CUDA toolkit, "
                   "in its folder bin",
                   path);
    }
    free(real);
    free(path);
    return found;
}

/* The profile with the real folder where it means its own, and this folder's programs first. */
static bool write_profile(const char *from, const char *path, const char *folder)
{
    static const char *const own[] = {"$(_HERE_)", "$(_THERE_)"};
    size_t size;
    char *const text = file_read(from, &size);
    FILE *const to = text != NULL ? fopen(path, "we") : NULL;
    for (const char *at = text; to != NULL && *at != '\0';) {
        const char *const *word = own;
        while (word < own + 2 && strncmp(at, *word, strlen(*word)) != 0) {
            word++;
        }
        if (word < own + 2) {
            (void)fputs(folder, to);
            at += strlen(*word);
        } else {
            (void)putc(*at++, to);
        }
    }
    free(text);
    if (to == NULL) {
        return false;
    }
    (void)fputs("\nCICC_PATH = $(_HERE_)\nPATH += $(_HERE_):\n", to);
    return fclose(to) == 0;
}

/* A link in the folder to a file, if there is such a file. */
static bool add_link(const char *to, const char *folder, const char *name)
{
    char *const path = format_text("%s/%s", folder, name);
    const bool added = access(to, F_OK) != 0 || symlink(to, path) == 0;
    free(path);
    return added;
}

static bool fill(const char *folder, const char *toolkit)
{
    static const char *const steps[] = {"cicc", "ptxas", "fatbinary"};
    static const char *const files[] = {"nvcc", "crt"};
    char self[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *const bin = format_text("%s/bin", folder);
    char *const targets = format_text("%s/../targets", toolkit);
    char *const profile = format_text("%s/nvcc.profile", toolkit);
    char *const own_profile = format_text("%s/nvcc.profile", bin);
    bool ok = length > 0 && mkdir(bin, 0700) == 0 && add_link(targets, folder, "targets") &&
              write_profile(profile, own_profile, toolkit);
    self[ok ? length : 0] = '\0';
    for (size_t i = 0; i < 3 && ok; i++) {
        ok = add_link(self, bin, steps[i]);
    }
    for (size_t i = 0; i < 2 && ok; i++) {
        char *const file = format_text("%s/%s", toolkit, files[i]);
        ok = add_link(file, bin, files[i]);
        free(file);
    }
    free(own_profile);
    free(profile);
    free(targets);
    free(bin);
    return ok;
}

static int run_in(const char *folder, char **arguments)
{
    char *const nvcc = format_text("%s/bin/nvcc", folder);
    const pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        (void)setenv("PDL_NVCC_STEP", "1", 1);
        arguments[0] = nvcc;
        (void)execv(nvcc, arguments);
        _exit(EXIT_NO_PROGRAM);
    }
    free(nvcc);
    return child > 0 ? step_wait(child, false) : EXIT_NO_PROGRAM;
}

int nvcc_run(char **arguments, bool plain)
{
    struct temporary folder;
    if (plain) {
        (void)execvp(arguments[0], arguments);
        print_line(stderr, "pdl-ptxas: error: cannot run %s: %s", arguments[0], strerror(errno));
        return EXIT_NO_PROGRAM;
    }
    char *const toolkit = find_toolkit(arguments[0]);
    if (toolkit == NULL) {
        return EXIT_NO_PROGRAM;
    }
    int status = EXIT_NO_PROGRAM;
    char *why = temporary_make(&folder);
    if (why == NULL && !fill(folder.path, toolkit)) {
        why = format_text("cannot set up %s: %s", folder.path, strerror(errno));
    }
    if (why == NULL) {
        status = run_in(folder.path, arguments);
    } else {
        print_line(stderr, "pdl-ptxas: error: %s", why);
        free(why);
    }
    temporary_remove(&folder);
    free(toolkit);
    return status;
}
