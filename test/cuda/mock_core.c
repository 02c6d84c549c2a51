/* SPDX-License-Identifier: MIT */
/* The model's state, its lock, and what every entry does first and last. */
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "h200.h"
#include "mock_entry.h"

struct mock mock;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *call; /* the entry that has the lock */
static bool has_logged;
_Thread_local bool mock_is_inside;
static CUresult late_failure; /* of a call that releases something */

/* Whether a call releases something: the driver then does so and reports an earlier failure. */
static bool releases(enum mock_entry entry)
{
    switch (entry) {
    case MOCK_cuMemFree:
    case MOCK_cuLibraryUnload:
    case MOCK_cuCtxPopCurrent:
    case MOCK_cuGraphDestroy:
    case MOCK_cuGraphDestroyNode:
    case MOCK_cuGraphExecDestroy:
    case MOCK_cuStreamEndCapture:
        return true;
    default:
        return false;
    }
}

#ifndef _WIN32 /* which has no forks */
static void take_lock(void)
{
    (void)pthread_mutex_lock(&lock);
}

static void give_lock(void)
{
    (void)pthread_mutex_unlock(&lock);
}

/* A child finds the lock free, whatever the other threads of its parent did. */
__attribute__((constructor)) static void survive_forks(void)
{
    (void)pthread_atfork(take_lock, give_lock, give_lock);
}
#endif

void *mock_new(size_t size)
{
    void *made = calloc(1, size);
    if (made == NULL) {
        abort();
    }
    return made;
}

void mock_lock(const char *name)
{
    (void)pthread_mutex_lock(&lock);
    mock_is_inside = true;
    call = name;
    has_logged = false;
    late_failure = CUDA_SUCCESS;
}

static CUresult wanted_failure(enum mock_entry entry)
{
    if (mock.fail_always[entry]) {
        return mock.fail_with[entry];
    }
    if (mock.fail_at[entry] != 0 && --mock.fail_at[entry] == 0) {
        return mock.fail_with[entry];
    }
    if (mock.fail_any_at != 0 && entry != MOCK_cuGetErrorName && --mock.fail_any_at == 0) {
        return mock_is_answer(entry, mock.fail_any_with) ? CUDA_SUCCESS : mock.fail_any_with;
    }
    return mock_chance(entry);
}

CUresult mock_enter(enum mock_entry entry)
{
    static const char *const names[MOCK_ENTRY_COUNT] = {
#define MOCK_NAME_(name, since, symbol) [MOCK_##name] = #name,
        MOCK_ENTRIES(MOCK_NAME_)
#undef MOCK_NAME_
    };
    if (mock.on_entry != NULL) {
        mock.on_entry(entry);
    }
    mock_lock(names[entry]);
    mock.calls[entry]++;
    const CUresult result = wanted_failure(entry);
    if (result != CUDA_SUCCESS) {
        mock_note_failure(call, result);
    }
    if (releases(entry)) {
        late_failure = result;
        return CUDA_SUCCESS;
    }
    return result;
}

CUresult mock_leave(CUresult result)
{
    if (result == CUDA_SUCCESS) {
        result = late_failure;
    }
    if (mock.log != NULL && !has_logged) {
        mock_log("result=%d", (int)result);
    }
    mock_is_inside = false;
    (void)pthread_mutex_unlock(&lock);
    return result;
}

void mock_log(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)fprintf(mock.log, "%s ", call);
    (void)vfprintf(mock.log, format, arguments);
    (void)fputc('\n', mock.log);
    (void)fflush(mock.log); /* the program may be killed */
    va_end(arguments);
    has_logged = true;
}

void mock_misused(const char *format, ...)
{
    char text[sizeof(mock.misuse)];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (mock.misuse[0] == '\0') {
        memcpy(mock.misuse, text, sizeof(text));
    }
    MOCK_LOG("misuse: %s", text);
}

void mock_reset(void)
{
    memset(&mock, 0, sizeof(mock));
    mock.code = 90;
    for (int d = 0; d < MOCK_DEVICES; d++) {
#define MOCK_ATTRIBUTE_(attribute, value)                                                          \
    mock.devices[d].attributes[CU_DEVICE_ATTRIBUTE_##attribute] = value;
        H200_ATTRIBUTES(MOCK_ATTRIBUTE_)
#undef MOCK_ATTRIBUTE_
    }
}

void mock_forget(void)
{
    mock_forget_memory();
    mock_forget_execs();
    mock_forget_graphs();
    mock_forget_images();
    mock_forget_streams();
    mock_forget_soak();
}
