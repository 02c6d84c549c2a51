/* SPDX-License-Identifier: MIT */
/* The two parts of mock CUPTI: what its entries set (mock_cupti_entries.c), and what it does then (mock_cupti.c). */
#ifndef PDL_TEST_WATCH_MOCK_CUPTI_H
#define PDL_TEST_WATCH_MOCK_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#include <cupti.h>
#pragma GCC visibility pop

enum { MOCK_IDS = 4096, MOCK_STREAMS = 64, MOCK_RECORD = 512 };

/* What MOCK_CUPTI says. */
struct mock_plan {
    uint32_t version;
    unsigned long fail, fail_from, lost;
    unsigned long long seed;
    const char *calls;
    bool taken, reverse, zero, backwards, future, unknown, null, huge, never, late, thread, threads;
    bool small;
};

/* A record that waits for its delivery. */
struct mock_record {
    struct mock_record *next;
    size_t size;
    _Alignas(8) unsigned char bytes[MOCK_RECORD];
};

/* Under the lock. */
struct mock_state {
    CUpti_CallbackFunc callback;
    void *user;
    bool domains[CUPTI_CB_DOMAIN_SIZE];
    bool calls[CUPTI_DRIVER_TRACE_CBID_SIZE];
    bool resources[CUPTI_CBID_RESOURCE_SIZE];
    bool activities[CUPTI_ACTIVITY_KIND_COUNT];
    CUpti_BuffersCallbackRequestFunc request;
    CUpti_BuffersCallbackCompleteFunc complete;
    CUpti_TimestampCallbackFunc clock;
    struct mock_record *first, *last;
    unsigned pending;
    uint64_t random;
    struct {
        const void *object;
        uint64_t id;
    } ids[MOCK_IDS];
    unsigned id_count;
    struct {
        CUstream stream;
        uint64_t end;
    } streams[MOCK_STREAMS];
};

extern struct mock_plan mock_plan;
extern struct mock_state mock_state;
void mock_state_lock(void);
void mock_state_unlock(void);

/* Counts a call, and says whether it is to fail. */
bool mock_call_fails(void);

/* Under the lock: the time; the number of an object, 0: it has none; and one that it gets if it has none. */
uint64_t mock_now(void);
uint64_t mock_id_of(const void *object);
uint64_t mock_have_id(const void *object);
uint32_t mock_stream_id(CUstream stream);

/* Without the lock: hands over all records that wait; a thread that does so again and again. */
void mock_deliver(void);
void *mock_deliver_on(void *none);

#endif /* PDL_TEST_WATCH_MOCK_CUPTI_H */
