/* SPDX-License-Identifier: MIT */
#include "common/program.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/memory.h"

char *program_find(const char *name)
{
    if (strchr(name, '/') != NULL) {
        return copy_text(name);
    }
    const char *folders = getenv("PATH");
    folders = folders != NULL ? folders : "/bin:/usr/bin";
    for (const char *end = folders; end != NULL; folders = end != NULL ? end + 1 : NULL) {
        end = strchr(folders, ':');
        const int length = end != NULL ? (int)(end - folders) : (int)strlen(folders);
        char *const path =
            length > 0 ? format_text("%.*s/%s", length, folders, name) : copy_text(name);
        if (access(path, X_OK) == 0) {
            return path;
        }
        free(path);
    }
    return NULL;
}
