/* SPDX-License-Identifier: MIT */
#include "rtc/linker.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/once.h"
#include "core/path_text.h"

/* nvJitLink.h makes each function an inline call of one with the header's version in its name, and early
 * libraries have no others: __nvJitLinkCreate_12_0. */
enum { OLDEST_MAJOR = 12, NEWEST_MAJOR = 13, MINORS = 10 };

/* The suffix of the newest version that the library has functions of, and that version; "" where the
 * plain names are there. */
static bool find_suffix(void *library, char *suffix, size_t size, int *number)
{
    char name[64];
    for (int major = NEWEST_MAJOR; major >= OLDEST_MAJOR; major--) {
        for (int minor = MINORS - 1; minor >= 0; minor--) {
            (void)snprintf(name, sizeof(name), "__nvJitLinkCreate_%d_%d", major, minor);
            if (dlsym(library, name) != NULL) {
                (void)snprintf(suffix, size, "_%d_%d", major, minor);
                *number = 1000 * major + 10 * minor;
                return true;
            }
        }
    }
    return false;
}

static void *find(void *library, const char *name, const char *suffix)
{
    void *address = dlsym(library, name);
    if (address == NULL && suffix[0] != '\0') {
        char versioned[96];
        (void)snprintf(versioned, sizeof(versioned), "__%s%s", name, suffix);
        address = dlsym(library, versioned);
    }
    return address;
}

static pdl_status resolve(void *library, const char *path, struct pdl_rtc_linker *linker)
{
    const struct {
        const char *name;
        void **slot;
    } entries[] = {
        {"nvJitLinkCreate", (void **)&linker->create},
        {"nvJitLinkDestroy", (void **)&linker->destroy},
        {"nvJitLinkAddData", (void **)&linker->add_data},
        {"nvJitLinkComplete", (void **)&linker->complete},
        {"nvJitLinkGetLinkedCubinSize", (void **)&linker->cubin_size},
        {"nvJitLinkGetLinkedCubin", (void **)&linker->cubin},
        {"nvJitLinkGetErrorLogSize", (void **)&linker->error_log_size},
        {"nvJitLinkGetErrorLog", (void **)&linker->error_log},
    };
    char suffix[32] = "";
    (void)find_suffix(library, suffix, sizeof(suffix), &linker->number);
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        *entries[i].slot = find(library, entries[i].name, suffix);
        if (*entries[i].slot == NULL) {
            return PDL_FAIL_CALL(PDL_ERROR_NO_COMPILER, "dlsym", 0, "%s has no %s", PDL_PATH(path),
                                 entries[i].name);
        }
    }
    return PDL_SUCCESS;
}

static pdl_status load(void *room)
{
    struct pdl_rtc_linker *linker = room;
    static const char *const versioned[] = {"__nvJitLinkCreate_12_0", "__nvJitLinkCreate_13_0",
                                            NULL};
    static const struct pdl_rtc_library_names names = {
        .variable = PDL_VARIABLE(PDL_NVJITLINK),
        .sonames = {"libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so"},
        .marker = "nvJitLinkCreate",
        .fallback = versioned,
    };
    nvJitLinkResult (*version)(unsigned *major, unsigned *minor) = NULL;
    char path[4096];
    char why[512];
    unsigned major = 0;
    unsigned minor = 0;
    memset(linker, 0, sizeof(*linker));
    void *library = pdl_rtc_library_open(&names, path, sizeof(path), why, sizeof(why));
    if (library == NULL) {
        return PDL_FAIL_CALL(
            PDL_ERROR_NO_COMPILER, "dlopen", 0,
            "nvJitLink, which machine code of instrumented kernels needs, cannot be loaded: %s",
            why);
    }
    const pdl_status status = resolve(library, path, linker);
    if (status != PDL_SUCCESS) {
        (void)dlclose(library);
        return status;
    }
    *(void **)&version = dlsym(library, "nvJitLinkVersion");
    if (version != NULL && version(&major, &minor) == 0) {
        linker->number = 1000 * (int)major + 10 * (int)minor;
    }
    pdl_rtc_library_identify(*(void **)&linker->create, linker->number, &linker->identity);
    return PDL_SUCCESS;
}

static struct pdl_rtc_linker loaded;
static struct pdl_once once;

pdl_status pdl_rtc_linker_open(const struct pdl_rtc_linker **linker)
{
    struct pdl_rtc_linker fresh;
    const void *table;
    const pdl_status status = pdl_once_get(&once, load, &fresh, &loaded, sizeof(fresh), &table);
    if (status == PDL_SUCCESS) {
        *linker = table;
    }
    return status;
}

void pdl_rtc_linker_override(const struct pdl_rtc_linker *linker)
{
    pdl_once_override(&once, linker);
}
