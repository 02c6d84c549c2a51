/* SPDX-License-Identifier: MIT */
/* NVTX ranges: the header-only NVTX of a program loads the library that NVTX_INJECTION64_PATH names. */
#include <fnmatch.h>
#include <stdatomic.h>
#include <string.h>

#include <pdl/pdl.h>

#include "watch/watch.h"

#if defined(__has_include)
#if __has_include(<nvtx3/nvToolsExt.h>)
#define HAVE_NVTX 1
#endif
#endif

PDL_API int InitializeInjectionNvtx2(void *get_table);

#ifdef HAVE_NVTX
#include <nvtx3/nvToolsExt.h>

enum { DEPTH_MOST = 64 };

static __thread struct {
    uint32_t depth;
    uint64_t inside; /* a bit for each level: it is a range of settings->range */
} stack;
static _Atomic uint64_t range_ids;

static bool is_wanted(const char *text)
{
    const char *const range = pdl_watch_settings()->range;
    return range != NULL && fnmatch(range, text, 0) == 0;
}

static void record_range(enum pdl_watch_ranges what, uint64_t id, const char *text)
{
    (void)pdl_watch_recording_open();
    struct pdl_watch_range *const record =
        pdl_watch_reserve_text(PDL_WATCH_RANGE, sizeof(*record), text, strnlen(text, 1024));
    if (record != NULL) {
        record->time_ns = pdl_watch_now();
        record->id = id;
        record->thread = pdl_watch_thread();
        record->what = what;
        pdl_watch_commit(record);
    }
}

static int push(const char *text)
{
    const bool wanted = is_wanted(text);
    record_range(PDL_WATCH_PUSH, 0, text);
    if (stack.depth < DEPTH_MOST) {
        stack.inside = wanted ? stack.inside | (UINT64_C(1) << stack.depth)
                              : stack.inside & ~(UINT64_C(1) << stack.depth);
        if (wanted) {
            pdl_watch_window_range(1);
        }
    }
    return (int)stack.depth++;
}

static int pop(void)
{
    record_range(PDL_WATCH_POP, 0, "");
    if (stack.depth == 0) {
        return -1;
    }
    stack.depth--;
    if (stack.depth < DEPTH_MOST && (stack.inside >> stack.depth & 1) != 0) {
        stack.inside &= ~(UINT64_C(1) << stack.depth);
        pdl_watch_window_range(-1);
    }
    return (int)stack.depth;
}

/* The id has the range's being wanted in its lowest bit. */
static nvtxRangeId_t start(const char *text)
{
    const bool wanted = is_wanted(text);
    const uint64_t id = (atomic_fetch_add(&range_ids, 1) + 1) << 1 | (wanted ? 1u : 0u);
    record_range(PDL_WATCH_START, id, text);
    if (wanted) {
        pdl_watch_window_range(1);
    }
    return id;
}

static const char *text_of(const nvtxEventAttributes_t *attributes)
{
    return attributes != NULL && attributes->messageType == NVTX_MESSAGE_TYPE_ASCII &&
                   attributes->message.ascii != NULL
               ? attributes->message.ascii
               : "";
}

static void NVTX_API mark(const char *text)
{
    record_range(PDL_WATCH_MARK, 0, text != NULL ? text : "");
}
static void NVTX_API mark_ex(const nvtxEventAttributes_t *attributes)
{
    record_range(PDL_WATCH_MARK, 0, text_of(attributes));
}
static int NVTX_API push_text(const char *text)
{
    return push(text != NULL ? text : "");
}
static int NVTX_API push_ex(const nvtxEventAttributes_t *attributes)
{
    return push(text_of(attributes));
}
static int NVTX_API pop_range(void)
{
    return pop();
}
static nvtxRangeId_t NVTX_API start_text(const char *text)
{
    return start(text != NULL ? text : "");
}
static nvtxRangeId_t NVTX_API start_ex(const nvtxEventAttributes_t *attributes)
{
    return start(text_of(attributes));
}
static void NVTX_API end_range(nvtxRangeId_t id)
{
    record_range(PDL_WATCH_END, id, "");
    if ((id & 1) != 0) {
        pdl_watch_window_range(-1);
    }
}
static int NVTX_API domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    (void)domain;
    return push(text_of(attributes));
}
static int NVTX_API domain_pop(nvtxDomainHandle_t domain)
{
    (void)domain;
    return pop();
}
static nvtxRangeId_t NVTX_API domain_start(nvtxDomainHandle_t domain,
                                           const nvtxEventAttributes_t *attributes)
{
    (void)domain;
    return start(text_of(attributes));
}
static void NVTX_API domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
    (void)domain;
    end_range(id);
}

/* Puts a function into a module's table, if it has a place for it. */
static void put(NvtxFunctionTable table, unsigned size, unsigned id, void (*function)(void))
{
    if (id < size && table[id] != NULL) {
        *table[id] = function;
    }
}

int InitializeInjectionNvtx2(void *get_table)
{
    const NvtxGetExportTableFunc_t get = (NvtxGetExportTableFunc_t)(uintptr_t)get_table;
    const NvtxExportTableCallbacks *const callbacks =
        get != NULL ? (const NvtxExportTableCallbacks *)get(NVTX_ETID_CALLBACKS) : NULL;
    NvtxFunctionTable table = NULL;
    unsigned size = 0;
    if (pdl_watch_settings()->record == NULL || callbacks == NULL ||
        callbacks->GetModuleFunctionTable == NULL) {
        return 0;
    }
    if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) != 0) {
        put(table, size, NVTX_CBID_CORE_MarkA, (void (*)(void))mark);
        put(table, size, NVTX_CBID_CORE_MarkEx, (void (*)(void))mark_ex);
        put(table, size, NVTX_CBID_CORE_RangePushA, (void (*)(void))push_text);
        put(table, size, NVTX_CBID_CORE_RangePushEx, (void (*)(void))push_ex);
        put(table, size, NVTX_CBID_CORE_RangePop, (void (*)(void))pop_range);
        put(table, size, NVTX_CBID_CORE_RangeStartA, (void (*)(void))start_text);
        put(table, size, NVTX_CBID_CORE_RangeStartEx, (void (*)(void))start_ex);
        put(table, size, NVTX_CBID_CORE_RangeEnd, (void (*)(void))end_range);
    }
    if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) != 0) {
        put(table, size, NVTX_CBID_CORE2_DomainRangePushEx, (void (*)(void))domain_push);
        put(table, size, NVTX_CBID_CORE2_DomainRangePop, (void (*)(void))domain_pop);
        put(table, size, NVTX_CBID_CORE2_DomainRangeStartEx, (void (*)(void))domain_start);
        put(table, size, NVTX_CBID_CORE2_DomainRangeEnd, (void (*)(void))domain_end);
    }
    return 1;
}

#else

int InitializeInjectionNvtx2(void *get_table)
{
    (void)get_table;
    return 0;
}

#endif
