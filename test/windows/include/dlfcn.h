/* SPDX-License-Identifier: MIT */
/* dlopen() and what belongs to it, for tests. */
#ifndef PDL_TEST_WINDOWS_DLFCN_H
#define PDL_TEST_WINDOWS_DLFCN_H

#include <stdio.h>
#include <string.h>

#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#undef OPTIONAL /* names that tests have */
#undef small

#define RTLD_NOW   0
#define RTLD_LOCAL 0

static inline void *dlopen(const char *path, int flags)
{
    (void)flags;
    if (strcmp(path, "libcuda.so.1") == 0) {
        path = "nvcuda.dll";
    }
    char full[MAX_PATH];
    if (strchr(path, '/') != NULL && GetFullPathNameA(path, MAX_PATH, full, NULL) > 0) {
        path = full;
    }
    return (void *)LoadLibraryA(path);
}

static inline void *dlsym(void *library, const char *name)
{
    const FARPROC found = GetProcAddress((HMODULE)library, name);
    void *address;
    memcpy(&address, &found, sizeof(address));
    return address;
}

static inline int dlclose(void *library)
{
    return FreeLibrary((HMODULE)library) ? 0 : -1;
}

static inline const char *dlerror(void)
{
    static char text[32];
    (void)snprintf(text, sizeof(text), "error %lu", (unsigned long)GetLastError());
    return text;
}

#endif /* PDL_TEST_WINDOWS_DLFCN_H */
