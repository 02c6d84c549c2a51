/* SPDX-License-Identifier: MIT */
#include "lint/paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "code/unescape.h"
#include "common/memory.h"

static bool is_same_file(const char *a, const char *b)
{
    struct stat x;
    struct stat y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* As the user knows it, which may be by a symbolic link. */
static char *working_directory(void)
{
    const char *const named = getenv("PWD");
    if (named != NULL && named[0] == '/' && is_same_file(named, ".")) {
        return copy_text(named);
    }
    char *const path = getcwd(NULL, 0);
    return path != NULL ? path : copy_text("/");
}

/* Takes out what does not count, in place. */
static void make_plain(char *path)
{
    char *to = path;
    const char *at = path;
    while (*at != '\0') {
        const size_t slashes = strspn(at, "/");
        const size_t length = strcspn(at + slashes, "/");
        const char *const part = at + slashes;
        at = part + length;
        if (length == 0 || (length == 1 && part[0] == '.')) {
            continue;
        }
        if (length == 2 && part[0] == '.' && part[1] == '.') {
            while (to > path && *--to != '/') {
            }
            continue;
        }
        *to++ = '/';
        memmove(to, part, length);
        to += length;
    }
    if (to == path) {
        *to++ = '/';
    }
    *to = '\0';
}

char *path_absolute(const char *directory, const char *path)
{
    char *made = NULL;
    if (path[0] == '/') {
        made = copy_text(path);
    } else if (directory != NULL && directory[0] == '/') {
        made = format_text("%s/%s", directory, path);
    } else {
        char *const here = working_directory();
        made = format_text("%s/%s/%s", here, directory != NULL ? directory : ".", path);
        free(here);
    }
    make_plain(made);
    return made;
}

char *path_folder_of_input(const char *name)
{
    struct stat status;
    char *resolved = realpath(strcmp(name, "-") == 0 || name[0] == '<' ? "." : name, NULL);
    const char *const open = resolved == NULL ? strrchr(name, '(') : NULL;
    if (open != NULL) {
        char *const source = format_text("%.*s", (int)(open - name), name);
        resolved = realpath(source, NULL);
        free(source);
    }
    if (resolved != NULL && (stat(resolved, &status) != 0 || !S_ISDIR(status.st_mode))) {
        char *const slash = strrchr(resolved, '/');
        slash[slash == resolved ? 1 : 0] = '\0';
    }
    return resolved;
}

/* What follows the working directory; NULL: it is not below it. */
static const char *below(const char *path, const char *directory)
{
    const size_t length = strlen(directory);
    return length > 1 && strncmp(path, directory, length) == 0 && path[length] == '/'
               ? path + length + 1
               : NULL;
}

bool path_is_below(const char *path, const char *folder)
{
    char *const real = folder != NULL ? realpath(folder, NULL) : NULL;
    const bool found = real != NULL && below(path, real) != NULL;
    free(real);
    return found;
}

char *path_shown(const char *path)
{
    char *const named = working_directory();
    char *const real = getcwd(NULL, 0);
    const char *found = below(path, named);
    found = found == NULL && real != NULL ? below(path, real) : found;
    char *const made = copy_text(found != NULL ? found : path);
    free(real);
    free(named);
    return made;
}

/* The name of a source file as it is shown; NULL: as it is. */
static char *shown_source(const char *name, const char *directory)
{
    char *const path = path_absolute(directory, name);
    char *made = path_shown(path);
    if (strcmp(made, name) == 0 || access(made, F_OK) != 0) {
        free(made);
        made = NULL;
    }
    free(path);
    return made;
}

/* A name in quotes that ends its line, after .file and a number: `*from` and `*to` are its ends. */
static bool find_name(const char *text, const char *at, const char **from, const char **to)
{
    const char *before = at;
    while (before > text && (before[-1] == ' ' || before[-1] == '\t')) {
        before--;
    }
    if (before > text && before[-1] != '\n') {
        return false;
    }
    at += strlen(".file");
    at += strspn(at, " \t");
    at += strspn(at, "0123456789");
    at += strspn(at, " \t");
    if (*at != '"') {
        return false;
    }
    *from = at + 1;
    *to = *from;
    while (**to != '"' && **to != '\n' && **to != '\0') {
        *to += **to == '\\' && (*to)[1] != '\0' ? 2 : 1;
    }
    /* A second name would be one in that directory. */
    return **to == '"' && (*to)[1 + strspn(*to + 1, " \t")] != '"';
}

char *path_show_in_ptx(char *ptx, size_t *size, const char *directory)
{
    char *made = NULL;
    size_t made_size = 0;
    const char *at = ptx;
    const char *from = NULL;
    const char *to = NULL;
    FILE *const stream = memory_open(&made, &made_size);
    for (const char *found = strstr(ptx, ".file"); found != NULL;
         found = strstr(found + 1, ".file")) {
        if (!find_name(ptx, found, &from, &to)) {
            continue;
        }
        char *const name = format_text("%.*s", (int)(to - from), from);
        name[pdl_unescape(name, name, strlen(name))] = '\0';
        char *const shown = shown_source(name, directory);
        if (shown != NULL && strpbrk(shown, "\"\\\n") == NULL) {
            (void)fwrite(at, 1, (size_t)(from - at), stream);
            (void)fputs(shown, stream);
            at = to;
        }
        free(shown);
        free(name);
    }
    (void)fwrite(at, 1, *size - (size_t)(at - ptx), stream);
    memory_close(stream);
    free(ptx);
    *size = made_size;
    return made;
}
