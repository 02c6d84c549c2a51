/* SPDX-License-Identifier: MIT */
#include "rtc/compile/log.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <pdl/rtc.h>

static _Thread_local struct {
    char *text;
    size_t capacity;
} log_here;

/* A key whose destructor frees a thread's text. */
static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static int key_made;

static void make_key(void)
{
    key_made = pthread_key_create(&key, free) == 0;
}

/* Threads may end after the library was unloaded: its text is left to them, and nobody calls into it. */
__attribute__((destructor)) static void delete_key(void)
{
    if (key_made) {
        (void)pthread_key_delete(key);
        free(log_here.text); /* the main thread's, which no key's destructor sees */
        log_here.text = NULL;
        log_here.capacity = 0;
        key_made = 0;
    }
}

char *pdl_rtc_log_room(size_t size)
{
    enum { KEPT = 1 << 16 }; /* a larger text is not kept for a smaller one */
    if (log_here.text == NULL || log_here.capacity < size + 1 ||
        (log_here.capacity > KEPT && size < KEPT)) {
        char *text = size < SIZE_MAX ? malloc(size + 1) : NULL;
        (void)pthread_once(&key_once, make_key);
        free(log_here.text);
        log_here.text = text;
        log_here.capacity = text != NULL ? size + 1 : 0;
        if (key_made) {
            (void)pthread_setspecific(key, text);
        }
    }
    if (log_here.text != NULL) {
        log_here.text[0] = '\0';
    }
    return log_here.text;
}

void pdl_rtc_log_set(const char *text)
{
    const size_t size = strlen(text);
    if (size == 0 && log_here.text == NULL) {
        return;
    }
    /* It may be the thread's own text. */
    if (text != log_here.text && pdl_rtc_log_room(size) != NULL) {
        memcpy(log_here.text, text, size + 1);
    }
}

const char *pdl_rtc_log(void)
{
    return log_here.text != NULL ? log_here.text : "";
}
