/* SPDX-License-Identifier: MIT */
#include "rtc/library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/path_text.h"

/* ---- opening -------------------------------------------------------------------------------- */

struct attempt {
    const struct pdl_rtc_library_names *names;
    char *path;
    size_t path_size;
    char first[160]; /* why the first file that is there could not be used */
    char any[160];   /* why the first file of all could not */
};

/* The text of dlerror() without what comes before the file's name. */
static void take_reason(struct attempt *attempt, const char *file, const char *why)
{
    char *into = attempt->first;
    if (why == NULL) {
        why = "no reason given";
    }
    if (strstr(why, "cannot open shared object file: No such file") != NULL) {
        into = attempt->any;
    }
    if (into[0] == '\0') {
        const size_t size = strlen(file);
        if (strncmp(why, file, size) == 0 && strncmp(why + size, ": ", 2) == 0) {
            why += size + 2;
        }
        const bool named = strstr(why, file) != NULL;
        (void)snprintf(into, sizeof(attempt->first), "%.60s%s%s",
                       named ? "" : pdl_path_text(file, 60).text, named ? "" : ": ", why);
    }
}

static void *try_file(struct attempt *attempt, const char *file)
{
    struct link_map *map = NULL;
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        take_reason(attempt, file, dlerror());
        return NULL;
    }
    if (dlsym(handle, attempt->names->marker) == NULL) {
        char why[128];
        (void)snprintf(why, sizeof(why), "it has no %s", attempt->names->marker);
        take_reason(attempt, file, why);
        (void)dlclose(handle);
        return NULL;
    }
    const bool known = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] != '\0';
    (void)snprintf(attempt->path, attempt->path_size, "%s", known ? map->l_name : file);
    return handle;
}

static void *try_folder(struct attempt *attempt, const char *folder, const char *below)
{
    void *handle = NULL;
    char file[4096];
    for (size_t i = 0; handle == NULL && attempt->names->sonames[i] != NULL; i++) {
        const int length =
            snprintf(file, sizeof(file), "%s%s/%s", folder, below, attempt->names->sonames[i]);
        if (length > 0 && (size_t)length < sizeof(file)) {
            handle = try_file(attempt, file);
        }
    }
    return handle;
}

void *pdl_rtc_library_open(const struct pdl_rtc_library_names *names, char *path, size_t path_size,
                           char *why, size_t why_size)
{
    static const char *const variables[] = {"CUDA_PATH", "CUDA_HOME"};
    struct attempt attempt = {.names = names, .path_size = path_size};
    attempt.path = path;
    char folders[256] = "";
    void *handle = NULL;
    /* A program with more rights than its user loads nothing that the user names. */
    const char *given = pdl_variable_text(names->variable);
    if (given != NULL) {
        handle = try_file(&attempt, given);
        if (handle == NULL) {
            (void)snprintf(why, why_size, "%s names %s: %s", names->variable->name,
                           pdl_path_text(given, 120).text,
                           attempt.first[0] != '\0' ? attempt.first : attempt.any);
        }
        return handle;
    }
    for (size_t i = 0; handle == NULL && names->sonames[i] != NULL; i++) {
        handle = try_file(&attempt, names->sonames[i]);
    }
    for (size_t i = 0; handle == NULL && i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *folder = secure_getenv(variables[i]);
        if (folder != NULL && folder[0] != '\0') {
            const size_t used = strlen(folders);
            handle = try_folder(&attempt, folder, "/lib64");
            (void)snprintf(folders + used, sizeof(folders) - used, ", %.60s/lib64",
                           pdl_path_text(folder, 60).text);
        }
    }
    if (handle == NULL) {
        handle = try_folder(&attempt, "/usr/local/cuda", "/lib64");
    }
    if (handle == NULL) {
        (void)snprintf(
            why, why_size, "%s, looked for by the loader%s and in /usr/local/cuda/lib64: %s",
            names->sonames[0], folders, attempt.first[0] != '\0' ? attempt.first : attempt.any);
    }
    return handle;
}

static bool open_in_folder_of(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    char *file = NULL;
    if (slash == NULL || asprintf(&file, "%.*s/%s", (int)(slash - path), path, name) < 0) {
        return false;
    }
    const bool opened = dlopen(file, RTLD_NOW | RTLD_LOCAL) != NULL;
    free(file);
    return opened;
}

void pdl_rtc_library_open_beside(const char *path, const char *name)
{
    if (!open_in_folder_of(path, name)) {
        char *target = realpath(path, NULL);
        if (target != NULL) {
            (void)open_in_folder_of(target, name);
        }
        free(target);
    }
}

/* ---- identity ------------------------------------------------------------------------------- */

struct search {
    uintptr_t address;
    struct pdl_rtc_identity *identity;
};

static void take_build_id(const char *notes, size_t size, struct pdl_rtc_identity *identity)
{
    while (size >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, notes, sizeof(note));
        const size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        const size_t content = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name > size || content > size || sizeof(note) + name + content > size) {
            return;
        }
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(notes + sizeof(note), "GNU", 4) == 0) {
            identity->size =
                note.n_descsz < sizeof(identity->bytes) ? note.n_descsz : sizeof(identity->bytes);
            memcpy(identity->bytes, notes + sizeof(note) + name, identity->size);
            return;
        }
        notes += sizeof(note) + name + content;
        size -= sizeof(note) + name + content;
    }
}

static int look_into(struct dl_phdr_info *object, size_t size, void *argument)
{
    const struct search *search = argument;
    bool here = false;
    (void)size;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        here = here || (part->p_type == PT_LOAD &&
                        search->address - (object->dlpi_addr + part->p_vaddr) < part->p_memsz);
    }
    for (size_t i = 0; here && i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_NOTE && search->identity->size == 0) {
            const uintptr_t at = object->dlpi_addr + part->p_vaddr;
            take_build_id((const char *)at, part->p_memsz, search->identity);
        }
    }
    return here;
}

void pdl_rtc_library_identify(void *symbol, int number, struct pdl_rtc_identity *identity)
{
    struct search search = {.address = (uintptr_t)symbol, .identity = identity};
    Dl_info info;
    struct stat status;
    memset(identity, 0, sizeof(*identity));
    (void)dl_iterate_phdr(look_into, &search);
    if (identity->size != 0) {
        return;
    }
    /* Without a build id: its version, size and time. */
    int64_t facts[3] = {number, 0, 0};
    if (dladdr(symbol, &info) != 0 && stat(info.dli_fname, &status) == 0) {
        facts[1] = status.st_size;
        facts[2] = status.st_mtim.tv_sec;
    }
    memcpy(identity->bytes, facts, sizeof(facts));
    identity->size = sizeof(facts);
}
