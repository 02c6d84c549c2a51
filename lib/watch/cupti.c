/* SPDX-License-Identifier: MIT */
/* Opening CUPTI and starting it. */
#include "watch/cupti.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "watch/driver.h"

enum { OLDEST = 18, PATH_MOST = 4096, FLUSH_MS = 200 };

static struct pdl_watch_cupti table;
static atomic_bool runs;

static const struct {
    const char *symbol;
    size_t place;
    bool optional;
} entries[] = {
#define PDL_WATCH_ENTRY(name) {#name, offsetof(struct pdl_watch_cupti, name), false},
    PDL_WATCH_CUPTI_ENTRIES(PDL_WATCH_ENTRY)
#undef PDL_WATCH_ENTRY
#define PDL_WATCH_ENTRY(name) {#name, offsetof(struct pdl_watch_cupti, name), true},
        PDL_WATCH_CUPTI_OPTIONAL(PDL_WATCH_ENTRY)
#undef PDL_WATCH_ENTRY
};

/* Those that may be there, the newest first. */
static const char *const sonames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};

const struct pdl_watch_cupti *pdl_watch_cupti(void)
{
    return atomic_load_explicit(&runs, memory_order_acquire) ? &table : NULL;
}

bool pdl_watch_cupti_runs(void)
{
    return atomic_load_explicit(&runs, memory_order_relaxed);
}

/* ---- where it is ----------------------------------------------------------------------------------- */

static void *open_in(const char *folder, const char *below)
{
    char path[PATH_MOST];
    void *library = NULL;
    for (size_t i = 0; i < sizeof(sonames) / sizeof(sonames[0]) && library == NULL; i++) {
        const int length = snprintf(path, sizeof(path), "%s%s/%s", folder, below, sonames[i]);
        if (length > 0 && (size_t)length < sizeof(path)) {
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        }
    }
    return library;
}

/* Beside the CUDA libraries of this process: those of Python packages are in a folder each, or all in one. */
static int open_beside(struct dl_phdr_info *info, size_t size, void *found)
{
    static const char *const below[] = {"", "/../../cuda_cupti/lib", "/../extras/CUPTI/lib64"};
    char folder[PATH_MOST];
    void **const library = found;
    const char *const slash = strrchr(info->dlpi_name, '/');
    (void)size;
    if (slash == NULL ||
        (strncmp(slash, "/libcudart.so", 13) != 0 && strncmp(slash, "/libnvrtc.so", 12) != 0 &&
         strncmp(slash, "/libcublas", 10) != 0) ||
        (size_t)(slash - info->dlpi_name) >= sizeof(folder)) {
        return 0;
    }
    memcpy(folder, info->dlpi_name, (size_t)(slash - info->dlpi_name));
    folder[slash - info->dlpi_name] = '\0';
    for (size_t i = 0; i < sizeof(below) / sizeof(below[0]) && *library == NULL; i++) {
        *library = open_in(folder, below[i]);
    }
    return *library != NULL;
}

static void *open_cupti(void)
{
    static const char *const variables[] = {"CUDA_PATH", "CUDA_HOME", "CUDAToolkit_ROOT"};
    static const char *const below[] = {"/extras/CUPTI/lib64", "/lib64",
                                        "/targets/x86_64-linux/lib", "/targets/sbsa-linux/lib"};
    const char *const given = pdl_watch_settings()->cupti_path;
    void *library = NULL;
    if (given != NULL) {
        library = dlopen(given, RTLD_NOW | RTLD_LOCAL);
        return library != NULL ? library : open_in(given, "");
    }
    /* The one that the program has, else two would be there. */
    for (size_t i = 0; i < sizeof(sonames) / sizeof(sonames[0]) && library == NULL; i++) {
        library = dlopen(sonames[i], RTLD_NOW | RTLD_NOLOAD);
    }
    if (library == NULL) {
        (void)dl_iterate_phdr(open_beside, &library);
    }
    for (size_t i = 0; i < sizeof(sonames) / sizeof(sonames[0]) && library == NULL; i++) {
        library = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL);
    }
    for (size_t i = 0; i < 4 * sizeof(variables) / sizeof(variables[0]) && library == NULL; i++) {
        const char *const root = secure_getenv(variables[i / 4]);
        if (root != NULL) {
            library = open_in(root, below[i % 4]);
        }
    }
    for (size_t i = 0; i < sizeof(below) / sizeof(below[0]) && library == NULL; i++) {
        library = open_in("/usr/local/cuda", below[i]);
    }
    return library;
}

/* ---- starting --------------------------------------------------------------------------------------- */

static bool load(void)
{
    void *const library = open_cupti();
    if (library == NULL) {
        pdl_watch_say(
            "no device times: libcupti.so was not found%s; PDL_CUPTI_PATH names it or its folder",
            pdl_watch_settings()->cupti_path != NULL ? " where PDL_CUPTI_PATH says" : "");
        return false;
    }
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        void *const entry = pdl_watch_symbol(library, entries[i].symbol);
        if (entry == NULL && !entries[i].optional) {
            pdl_watch_say("no device times: this libcupti.so is too old: it has no %s()",
                          entries[i].symbol);
            return false;
        }
        *(void **)((char *)&table + entries[i].place) = entry;
    }
    if (table.cuptiGetVersion(&table.version) != CUPTI_SUCCESS || table.version < OLDEST) {
        pdl_watch_say(
            "no device times: this libcupti.so is too old (%u); CUDA 12.0 or newer has one",
            table.version);
        return false;
    }
    return true;
}

static const char *name_of(CUptiResult result)
{
    const char *text = NULL;
    return table.cuptiGetResultString(result, &text) == CUPTI_SUCCESS && text != NULL ? text : "?";
}

bool pdl_watch_cupti_start(void)
{
    const struct pdl_watch_driver *const driver = pdl_watch_driver();
    int version = 0;
    if (!load()) {
        return false;
    }
    const CUptiResult result = table.cuptiSubscribe(&table.subscriber, pdl_watch_callback, NULL);
    if (result != CUPTI_SUCCESS) {
        pdl_watch_say("no device times: another profiler has CUPTI, or it cannot start: %s",
                      name_of(result));
        return false;
    }
    if (!pdl_watch_callbacks_enable(&table) || !pdl_watch_activity_start(&table)) {
        pdl_watch_say("no device times: CUPTI cannot be started");
        (void)table.cuptiUnsubscribe(table.subscriber);
        return false;
    }
    if (table.cuptiActivityFlushPeriod != NULL) { /* for processes that are killed */
        (void)table.cuptiActivityFlushPeriod(FLUSH_MS);
    }
    atomic_store_explicit(&runs, true, memory_order_release);
    if (driver != NULL && driver->cuDriverGetVersion != NULL) {
        (void)driver->cuDriverGetVersion(&version);
    }
    pdl_watch_set_versions(table.version, (uint32_t)version);
    pdl_watch_activities(pdl_watch_window_is_open());
    return true;
}

void pdl_watch_cupti_flush_at_times(void)
{
    static _Atomic uint64_t next;
    const uint64_t now = pdl_watch_now();
    uint64_t due = atomic_load_explicit(&next, memory_order_relaxed);
    if (now >= due && pdl_watch_cupti_runs() &&
        atomic_compare_exchange_strong(&next, &due, now + FLUSH_MS * UINT64_C(1000000)) &&
        due != 0) {
        (void)table.cuptiActivityFlushAll(0);
    }
}

void pdl_watch_cupti_flush(void)
{
    if (pdl_watch_cupti_runs()) {
        (void)table.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    }
}
