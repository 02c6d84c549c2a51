/* SPDX-License-Identifier: MIT */
/* The operating system, where it is Windows on 64 bits. */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/compiler.h"
#include "os/file.h"
#include "os/library.h"
#include "os/lock.h"
#include "os/module.h"

/* ---- locks: there are no forks ---------------------------------------------------------------- */

_Static_assert(sizeof(SRWLOCK) <= sizeof(((struct pdl_lock *)0)->mutex), "a lock has room");

void pdl_lock_take(struct pdl_lock *lock)
{
    AcquireSRWLockExclusive((SRWLOCK *)(void *)&lock->mutex); /* all zero is SRWLOCK_INIT */
}

void pdl_lock_release(struct pdl_lock *lock)
{
    ReleaseSRWLockExclusive((SRWLOCK *)(void *)&lock->mutex);
}

/* ---- libraries -------------------------------------------------------------------------------- */

static PDL_THREAD_LOCAL char library_error[256];

/* An own text, in English, for what there is not; else the system's. */
static void note_error(const char *name)
{
    const DWORD error = GetLastError();
    char text[160] = "No such file, or one that it needs";
    if (error != ERROR_MOD_NOT_FOUND && error != ERROR_FILE_NOT_FOUND) {
        const DWORD length =
            FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS |
                               FORMAT_MESSAGE_MAX_WIDTH_MASK,
                           NULL, error, 0, text, (DWORD)sizeof(text), NULL);
        text[length] = '\0';
    }
    (void)snprintf(library_error, sizeof(library_error), "%.64s: %s (Windows error %lu)", name,
                   text, (unsigned long)error);
}

/* The folder that the program was started in and PATH are searched for none: what lies there may be anybody's. */
void *pdl_library_open(const char *name)
{
    DWORD from = LOAD_LIBRARY_SEARCH_SYSTEM32;
    if (strpbrk(name, "/\\:") != NULL) {
        from = LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS;
    } else if (strcmp(name, PDL_LIBRARY_CUDA) != 0) {
        from = LOAD_LIBRARY_SEARCH_DEFAULT_DIRS;
    }
    char path[MAX_PATH];
    DWORD length = 0;
    if ((from & LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR) != 0) { /* which wants a whole path */
        length = GetFullPathNameA(name, (DWORD)sizeof(path), path, NULL);
    }
    const HMODULE library =
        LoadLibraryExA(length > 0 && length < sizeof(path) ? path : name, NULL, from);
    if (library == NULL) {
        note_error(name);
    }
    return (void *)library;
}

static HMODULE module_of(const void *address)
{
    HMODULE module = NULL;
    const DWORD how =
        GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    return GetModuleHandleExA(how, (LPCSTR)address, &module) ? module : NULL;
}

void *pdl_library_open_beside(const char *name)
{
    static const char here = 0;
    char path[MAX_PATH];
    const DWORD length = GetModuleFileNameA(module_of(&here), path, (DWORD)sizeof(path));
    char *const slash = length > 0 && length < sizeof(path) ? strrchr(path, '\\') : NULL;
    void *library = NULL;
    if (slash != NULL && strlen(name) < sizeof(path) - (size_t)(slash + 1 - path)) {
        memcpy(slash + 1, name, strlen(name) + 1);
        library = pdl_library_open(path);
    }
    return library != NULL ? library : pdl_library_open(name);
}

void *pdl_library_symbol(void *library, const char *name)
{
    void *address = NULL;
    const FARPROC found = GetProcAddress((HMODULE)library, name);
    memcpy(&address, &found, sizeof(address)); /* C has no cast from functions to objects */
    if (address == NULL) {
        note_error(name);
    }
    return address;
}

void pdl_library_close(void *library)
{
    (void)FreeLibrary((HMODULE)library);
}

const char *pdl_library_error(void)
{
    return library_error[0] != '\0' ? library_error : "no reason given";
}

/* ---- modules ---------------------------------------------------------------------------------- */

bool pdl_module_find(const void *address, struct pdl_module *module)
{
    const unsigned char *const base = (const unsigned char *)module_of(address);
    *module = (struct pdl_module){.base = (uintptr_t)base};
    if (base == NULL) {
        return false;
    }
    const IMAGE_NT_HEADERS *const headers =
        (const void *)(base + ((const IMAGE_DOS_HEADER *)(const void *)base)->e_lfanew);
    const IMAGE_SECTION_HEADER *const sections = IMAGE_FIRST_SECTION(headers);
    module->build = (uint64_t)headers->FileHeader.TimeDateStamp << 32 |
                    (headers->OptionalHeader.CheckSum ^ headers->OptionalHeader.SizeOfImage);
    for (WORD i = 0; i < headers->FileHeader.NumberOfSections; i++) {
        const IMAGE_SECTION_HEADER *const section = &sections[i];
        const DWORD size = section->Misc.VirtualSize;
        if (module->count < PDL_MODULE_SEGMENTS && size > 0 &&
            (section->Characteristics & IMAGE_SCN_MEM_READ) != 0 &&
            (section->Characteristics & IMAGE_SCN_MEM_DISCARDABLE) == 0) {
            module->segments[module->count++] = (struct pdl_segment){
                .begin = base + section->VirtualAddress,
                .size = size,
                .filled = section->SizeOfRawData < size ? section->SizeOfRawData : size,
                .writable = (section->Characteristics & IMAGE_SCN_MEM_WRITE) != 0,
            };
        }
    }
    return pdl_module_room(module, address) > 0;
}

/* Each module has symbols of its own. */
bool pdl_module_namesakes(const void *address,
                          void (*visit)(void *context, const struct pdl_module *module),
                          void *context)
{
    (void)address;
    (void)visit;
    (void)context;
    return true;
}

/* ---- files ------------------------------------------------------------------------------------ */

/* The descriptor of a handle, which it then owns; -1 with errno if there is none. */
static int descriptor_of(HANDLE handle, int flags)
{
    if (handle == INVALID_HANDLE_VALUE) {
        switch (GetLastError()) {
        case ERROR_FILE_NOT_FOUND:
        case ERROR_PATH_NOT_FOUND:
        case ERROR_INVALID_NAME:
            errno = ENOENT;
            break;
        case ERROR_FILENAME_EXCED_RANGE:
            errno = ENAMETOOLONG;
            break;
        default:
            errno = EACCES;
            break;
        }
        return -1;
    }
    const int file = _open_osfhandle((intptr_t)handle, flags);
    if (file < 0) {
        (void)CloseHandle(handle);
    }
    return file;
}

int pdl_file_open_path(const char *path)
{
    const DWORD attributes = GetFileAttributesA(path);
    if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0) {
        errno = EINVAL;
        return -1;
    }
    const HANDLE handle =
        CreateFileA(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                    NULL, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
    if (handle != INVALID_HANDLE_VALUE && GetFileType(handle) != FILE_TYPE_DISK) {
        (void)CloseHandle(handle);
        errno = EINVAL;
        return -1;
    }
    return descriptor_of(handle, _O_RDONLY | _O_BINARY);
}

long long pdl_file_size(int file)
{
    return _filelengthi64(file);
}

long long pdl_file_next(int file, void *bytes, size_t room)
{
    const size_t most = (size_t)1 << 30; /* the call counts in an int */
    return _read(file, bytes, (unsigned)(room < most ? room : most));
}

void pdl_file_close(int file)
{
    (void)_close(file);
}

/* ---- the log ---------------------------------------------------------------------------------- */

int pdl_log_open(const char *path)
{
    if (strcmp(path, "stderr") == 0) {
        return 2;
    }
    /* What may only append is written at the end, whoever else writes. */
    return descriptor_of(CreateFileA(path, FILE_APPEND_DATA,
                                     FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                                     OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL),
                         _O_WRONLY | _O_BINARY);
}

void pdl_log_add(int file, const char *text, size_t length)
{
    (void)_write(file, text, (unsigned)length);
}

long pdl_process_id(void)
{
    return (long)GetCurrentProcessId();
}

/* ---- environment ------------------------------------------------------------------------------ */

/* What was given out, which stays valid: never freed. The process's own environment is asked, because each C library
 * has a copy of its own. */
struct variable {
    struct variable *next;
    const char *name;
    char value[];
};

const char *pdl_environment(const char *name)
{
    static struct pdl_lock lock;
    static struct variable *variables;
    const HANDLE heap = GetProcessHeap();
    const DWORD room = GetEnvironmentVariableA(name, NULL, 0);
    struct variable *const made = room > 0 ? HeapAlloc(heap, 0, sizeof(*made) + room) : NULL;
    if (made == NULL) {
        return NULL;
    }
    if (GetEnvironmentVariableA(name, made->value, room) >= room) {
        (void)HeapFree(heap, 0, made);
        return NULL;
    }
    pdl_lock_take(&lock);
    struct variable *known = variables;
    while (known != NULL &&
           (strcmp(known->name, name) != 0 || strcmp(known->value, made->value) != 0)) {
        known = known->next;
    }
    if (known == NULL) {
        made->next = variables;
        made->name = name;
        variables = made;
        known = made;
    } else {
        (void)HeapFree(heap, 0, made);
    }
    pdl_lock_release(&lock);
    return known->value;
}

const char *pdl_environment_secure(const char *name)
{
    return pdl_environment(name);
}

/* A set such as [a-z] or [!a-z], behind its bracket: its end, or NULL if it has none. */
static const char *match_set(const char *set, unsigned char c, bool *matches)
{
    const bool negated = *set == '!' || *set == '^';
    bool found = false;
    set += negated;
    for (bool first = true; *set != '\0'; first = false) {
        if (*set == ']' && !first) {
            *matches = found != negated;
            return set + 1;
        }
        set += *set == '\\' && set[1] != '\0';
        const unsigned char low = (unsigned char)*set++;
        unsigned char high = low;
        if (set[0] == '-' && set[1] != ']' && set[1] != '\0') {
            set += set[1] == '\\' && set[2] != '\0' ? 2 : 1;
            high = (unsigned char)*set++;
        }
        found = found || (c >= low && c <= high);
    }
    return NULL;
}

/* Whether the pattern's first element, which is not a star, matches a character. `rest` is what comes behind it. */
static bool match_one(const char *pattern, char c, const char **rest)
{
    bool matches = false;
    const char *const set =
        *pattern == '[' ? match_set(pattern + 1, (unsigned char)c, &matches) : NULL;
    if (set != NULL) {
        *rest = set;
        return matches;
    }
    if (*pattern == '?') {
        *rest = pattern + 1;
        return true;
    }
    pattern += *pattern == '\\' && pattern[1] != '\0';
    *rest = pattern + 1;
    return *pattern == c;
}

bool pdl_pattern_matches(const char *pattern, const char *text)
{
    const char *star = NULL; /* the last one; what it stands for ends at `from` */
    const char *from = NULL;
    while (*text != '\0') {
        const char *rest;
        if (*pattern == '*') {
            star = ++pattern;
            from = text;
        } else if (*pattern != '\0' && match_one(pattern, *text, &rest)) {
            pattern = rest;
            text++;
        } else if (star != NULL) {
            pattern = star;
            text = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}
