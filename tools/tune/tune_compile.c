/* SPDX-License-Identifier: MIT */
/* A user's source, compiled by nvcc. */
#include "tune.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory.h"

struct arguments {
    char **items;
    size_t count, capacity;
};

static void add(struct arguments *arguments, const char *text)
{
    char *copy = copy_text(text);
    APPEND(arguments, copy);
}

static void free_arguments(struct arguments *arguments)
{
    for (size_t i = 0; i < arguments->count; i++) {
        free(arguments->items[i]);
    }
    free(arguments->items);
}

/* DIR/bin/nvcc if it is there; the caller frees it. */
static char *nvcc_in(const char *directory)
{
    char *path = format_text("%s/bin/nvcc", directory);
    if (access(path, X_OK) == 0) {
        return path;
    }
    free(path);
    return NULL;
}

static bool is_on_path(const char *program)
{
    const char *path = getenv("PATH");
    bool found = false;
    while (!found && path != NULL && *path != '\0') {
        const size_t length = strcspn(path, ":");
        char *file = format_text("%.*s/%s", (int)length, length > 0 ? path : ".", program);
        found = access(file, X_OK) == 0;
        free(file);
        path += length + (path[length] == ':');
    }
    return found;
}

/* NULL if there is none; the caller frees it. */
static char *find_nvcc(const struct tune_compiler *compiler)
{
    static const char *const variables[] = {"CUDA_PATH", "CUDA_HOME"};
    if (compiler->nvcc != NULL) {
        return copy_text(compiler->nvcc);
    }
    if (is_on_path("nvcc")) {
        return copy_text("nvcc");
    }
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *directory = getenv(variables[i]);
        char *path = directory != NULL ? nvcc_in(directory) : NULL;
        if (path != NULL) {
            return path;
        }
    }
    return nvcc_in("/usr/local/cuda");
}

/* Beside the program, as it is installed or in a build folder of the source tree: include/pdl in a folder
 * above it. NULL if there is none; the caller frees it. */
static char *find_include(const struct tune_compiler *compiler)
{
    enum { FOLDERS_ABOVE = 5 };
    char program[PATH_MAX];
    if (compiler->include != NULL) {
        return copy_text(compiler->include);
    }
    const ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    program[length > 0 ? length : 0] = '\0';
    for (int i = 0; i < FOLDERS_ABOVE; i++) {
        char *const slash = strrchr(program, '/');
        if (slash == NULL) {
            break;
        }
        *slash = '\0';
        char *header = format_text("%s/include/pdl/device.cuh", program);
        const bool found = access(header, R_OK) == 0;
        free(header);
        if (found) {
            return format_text("%s/include", program);
        }
    }
    return NULL;
}

static char *run(struct arguments *arguments)
{
    pid_t process = 0;
    int status = 0;
    APPEND(arguments, NULL);
    const int error =
        posix_spawnp(&process, arguments->items[0], NULL, NULL, arguments->items, environ);
    if (error != 0) {
        return format_text("%s did not start: %s", arguments->items[0], strerror(error));
    }
    while (waitpid(process, &status, 0) < 0) {
        if (errno != EINTR) {
            return format_text("%s was lost: %s", arguments->items[0], strerror(errno));
        }
    }
    if (WIFSIGNALED(status)) {
        return format_text("%s was ended by signal %d", arguments->items[0], WTERMSIG(status));
    }
    return WEXITSTATUS(status) == 0 ? NULL
                                    : format_text("%s failed with exit code %d",
                                                  arguments->items[0], WEXITSTATUS(status));
}

char *tune_compile(const struct tune_compiler *compiler, const struct tune_source *source,
                   int trigger, bool faulty, const char *output)
{
    struct arguments arguments = {0};
    char *nvcc = find_nvcc(compiler);
    char *include = find_include(compiler);
    if (nvcc == NULL) {
        free(include);
        return copy_text(
            "there is no nvcc on PATH, in CUDA_PATH or in /usr/local/cuda; --nvcc names "
            "one elsewhere");
    }
    char *arch = format_text("-arch=%s", source->architecture);
    char *select = format_text("-DPDL_TRIGGER_SELECT=%d", trigger);
    add(&arguments, nvcc);
    add(&arguments, "-fatbin");
    add(&arguments, arch);
    add(&arguments, select);
    if (faulty) { /* every wait triggers and sleeps, too */
        add(&arguments, "-DPDL_FAULT_INJECT=2");
    }
    if (include != NULL) {
        add(&arguments, "-I");
        add(&arguments, include);
    }
    for (size_t i = 0; i < source->count; i++) {
        add(&arguments, source->options[i]);
    }
    add(&arguments, "-o");
    add(&arguments, output);
    add(&arguments, source->path);
    char *why = run(&arguments);
    free_arguments(&arguments);
    free(arch);
    free(select);
    free(include);
    free(nvcc);
    return why;
}
