/* SPDX-License-Identifier: MIT */
/* What Windows shows as the version of pdl.dll: that of the argument, of the headers, and of the library. */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <stdio.h>
#include <string.h>

#include <pdl/pdl.h>

int main(int argc, char **argv)
{
    static char block[4096];
    VS_FIXEDFILEINFO *fixed = NULL;
    void *text = NULL;
    UINT size = 0;
    UINT length = 0;
    char path[MAX_PATH];
    const DWORD found = GetModuleFileNameA(GetModuleHandleA("pdl.dll"), path, sizeof(path));
    if (argc != 2 || found == 0 || found >= sizeof(path) ||
        !GetFileVersionInfoA(path, 0, sizeof(block), block) ||
        !VerQueryValueA(block, "\\", (void **)&fixed, &size) ||
        !VerQueryValueA(block, "\\StringFileInfo\\040904b0\\ProductVersion", &text, &length)) {
        fprintf(stderr, "pdl.dll has no version: error %lu\n", (unsigned long)GetLastError());
        return 1;
    }
    char numbers[64];
    (void)snprintf(numbers, sizeof(numbers), "%u.%u.%u", HIWORD(fixed->dwFileVersionMS),
                   LOWORD(fixed->dwFileVersionMS), HIWORD(fixed->dwFileVersionLS));
    printf("%s: %s, %s; the library says %u, the headers %u\n", path, numbers, (const char *)text,
           (unsigned)pdl_version(), (unsigned)PDL_VERSION);
    return strcmp(numbers, argv[1]) == 0 && strcmp(text, argv[1]) == 0 &&
                   pdl_version() == PDL_VERSION
               ? 0
               : 1;
}
