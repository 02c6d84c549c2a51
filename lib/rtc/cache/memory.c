/* SPDX-License-Identifier: MIT */
/* A table of chains that only grow at their heads, so that readers need no lock. An answer that no longer
 * holds is marked and stays until the cache goes: a reader may be at it. */
#include "rtc/cache/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "os/lock.h"

enum { BUCKETS = 4096 };

struct answer {
    struct answer *next; /* does not change once it can be reached */
    uint64_t hash;
    pdl_kernel *kernel;
    struct pdl_rtc_dependencies dependencies;
    atomic_bool stale;
    size_t size;
    unsigned char bytes[]; /* of the question */
};

struct pdl_rtc_memory {
    struct pdl_lock lock; /* of adding */
    _Atomic(struct answer *) buckets[BUCKETS];
};

/* ------------------------------------------------------------------------------------------------
 * Questions
 * ---------------------------------------------------------------------------------------------- */

/* Hashes the bytes of a question; or copies them, or compares them, where they are no more than `size`. */
struct walk {
    unsigned char *to;
    const unsigned char *with;
    size_t at, size;
    uint64_t hash;
    bool whole; /* nothing is missing, and nothing differs */
};

static void put(struct walk *walk, const void *bytes, size_t size)
{
    if (walk->to == NULL && walk->with == NULL) {
        walk->hash = pdl_rtc_hash_short(bytes, size, walk->hash);
    } else if (!walk->whole || size > walk->size - walk->at) { /* the caller has changed it since */
        walk->whole = false;
        return;
    } else if (walk->to != NULL) {
        memcpy(walk->to + walk->at, bytes, size);
    } else {
        walk->whole = memcmp(walk->with + walk->at, bytes, size) == 0;
    }
    walk->at += size;
}

static void put_number(struct walk *walk, uint64_t number)
{
    put(walk, &number, sizeof(number));
}

static void put_text(struct walk *walk, const char *text)
{
    walk->whole = walk->whole && text != NULL;
    if (walk->whole) {
        put(walk, text, strlen(text) + 1);
    }
}

static void put_texts(struct walk *walk, const char *const *texts, uint64_t count)
{
    if (count > PDL_RTC_COUNT_MAX || (count > 0 && texts == NULL)) {
        walk->whole = false;
        return;
    }
    put_number(walk, count);
    for (uint64_t i = 0; walk->whole && i < count; i++) {
        put_text(walk, texts[i]);
    }
}

static bool put_question(struct walk *walk, const struct pdl_rtc_question *question)
{
    const pdl_rtc_options *const options = question->options;
    const bool named = options->target != NULL;
    walk->whole = true;
    put_text(walk, question->source);
    put_text(walk, question->name);
    put_number(walk, named ? UINT64_MAX : (uint64_t)(int64_t)question->device + 1);
    put_text(walk, named ? options->target : "");
    put_number(walk, (uint64_t)options->output << 32 | options->flags);
    put_texts(walk, options->arguments, options->argument_count);
    put_texts(walk, options->names, options->name_count);
    walk->whole = walk->whole && options->header_count <= PDL_RTC_COUNT_MAX &&
                  (options->header_count == 0 || options->headers != NULL);
    for (size_t i = 0; walk->whole && i < options->header_count; i++) {
        put_text(walk, options->headers[i].name);
        put_text(walk, options->headers[i].text);
    }
    return walk->whole;
}

bool pdl_rtc_question_make(struct pdl_rtc_question *question, const char *source, const char *name,
                           const pdl_rtc_options *options, int device)
{
    struct walk walk = {.hash = 0};
    *question = (struct pdl_rtc_question){
        .source = source, .name = name, .options = options, .device = device};
    if (!put_question(&walk, question)) {
        return false;
    }
    question->size = walk.at;
    question->hash = walk.hash;
    return true;
}

/* ------------------------------------------------------------------------------------------------
 * Answers
 * ---------------------------------------------------------------------------------------------- */

static void free_answer(struct answer *answer)
{
    pdl_rtc_includes_free(&answer->dependencies);
    free(answer);
}

static bool is_answer(const struct answer *answer, const struct pdl_rtc_question *question)
{
    struct walk walk = {.with = answer->bytes, .size = answer->size};
    return answer->hash == question->hash && answer->size == question->size &&
           put_question(&walk, question) && walk.at == answer->size &&
           !atomic_load_explicit(&answer->stale, memory_order_relaxed);
}

static _Atomic(struct answer *) *bucket_of(struct pdl_rtc_memory *memory, uint64_t hash)
{
    return &memory->buckets[hash & (BUCKETS - 1)];
}

static struct answer *find(struct pdl_rtc_memory *memory, const struct pdl_rtc_question *question)
{
    struct answer *answer =
        atomic_load_explicit(bucket_of(memory, question->hash), memory_order_acquire);
    while (answer != NULL && !is_answer(answer, question)) {
        answer = answer->next;
    }
    return answer;
}

pdl_kernel *pdl_rtc_memory_find(struct pdl_rtc_memory *memory,
                                const struct pdl_rtc_question *question)
{
    struct answer *answer = find(memory, question);
    if (answer == NULL) {
        return NULL;
    }
    if (answer->dependencies.count > 0 && !pdl_rtc_includes_unchanged(&answer->dependencies)) {
        atomic_store_explicit(&answer->stale, true, memory_order_relaxed);
        return NULL;
    }
    return answer->kernel;
}

void pdl_rtc_memory_add(struct pdl_rtc_memory *memory, const struct pdl_rtc_question *question,
                        struct pdl_rtc_dependencies *dependencies, pdl_kernel *kernel)
{
    struct answer *made = malloc(sizeof(*made) + question->size);
    if (made == NULL) {
        return;
    }
    struct walk walk = {.to = made->bytes, .size = question->size};
    if (!put_question(&walk, question) || walk.at != question->size) {
        free(made);
        return;
    }
    atomic_init(&made->stale, false);
    made->hash = question->hash;
    made->size = question->size;
    made->kernel = kernel;
    made->dependencies = *dependencies;
    *dependencies = (struct pdl_rtc_dependencies){0};
    pdl_lock_take(&memory->lock);
    struct answer *other = find(memory, question);
    if (other != NULL && other->kernel == kernel) {
        free_answer(made); /* another thread was faster */
    } else {
        if (other != NULL) {
            atomic_store_explicit(&other->stale, true, memory_order_relaxed);
        }
        _Atomic(struct answer *) *bucket = bucket_of(memory, made->hash);
        made->next = atomic_load_explicit(bucket, memory_order_relaxed);
        atomic_store_explicit(bucket, made, memory_order_release);
    }
    pdl_lock_release(&memory->lock);
}

struct pdl_rtc_memory *pdl_rtc_memory_make(void)
{
    struct pdl_rtc_memory *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < BUCKETS; i++) {
        atomic_init(&made->buckets[i], NULL);
    }
    return made;
}

void pdl_rtc_memory_free(struct pdl_rtc_memory *memory)
{
    if (memory == NULL) {
        return;
    }
    for (size_t i = 0; i < BUCKETS; i++) {
        struct answer *answer = atomic_load_explicit(&memory->buckets[i], memory_order_relaxed);
        while (answer != NULL) {
            struct answer *next = answer->next;
            free_answer(answer);
            answer = next;
        }
    }
    free(memory);
}
