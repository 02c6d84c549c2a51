/* SPDX-License-Identifier: MIT */
/* A table of chains that only grow at their heads, so that readers need no lock. An answer that no longer
 * holds is marked and stays until the cache goes: a reader may be at it. */
#include "rtc/cache/memory.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "os/lock.h"

enum { BUCKETS = 4096 };

struct answer {
    struct answer *next; /* does not change once it can be reached */
    struct pdl_rtc_question question;
    pdl_kernel *kernel;
    struct pdl_rtc_dependencies dependencies;
    atomic_bool stale;
};

struct pdl_rtc_memory {
    struct pdl_lock lock; /* of adding */
    _Atomic(struct answer *) buckets[BUCKETS];
};

/* ------------------------------------------------------------------------------------------------
 * Questions
 * ---------------------------------------------------------------------------------------------- */

static void add_texts(struct pdl_rtc_sequence *sequence, const char *const *texts, size_t count)
{
    pdl_rtc_sequence_number(sequence, count);
    for (size_t i = 0; i < count && texts != NULL && count <= PDL_RTC_COUNT_MAX; i++) {
        pdl_rtc_sequence_text(sequence, texts[i]);
    }
}

struct pdl_rtc_question pdl_rtc_question_make(const char *source, const char *name,
                                              const pdl_rtc_options *options, int device)
{
    const pdl_rtc_header *headers = options->headers;
    const size_t count = options->header_count;
    struct pdl_rtc_question question;
    struct pdl_rtc_sequence sequence;
    pdl_rtc_sequence_begin(&sequence);
    pdl_rtc_sequence_text(&sequence, source);
    pdl_rtc_sequence_text(&sequence, name);
    pdl_rtc_sequence_number(&sequence, (uint64_t)(int64_t)device);
    pdl_rtc_sequence_text(&sequence, options->target);
    pdl_rtc_sequence_number(&sequence, (uint64_t)options->output << 32 | options->flags);
    add_texts(&sequence, options->arguments, options->argument_count);
    add_texts(&sequence, options->names, options->name_count);
    pdl_rtc_sequence_number(&sequence, count);
    for (size_t i = 0; i < count && headers != NULL && count <= PDL_RTC_COUNT_MAX; i++) {
        pdl_rtc_sequence_text(&sequence, headers[i].name);
        pdl_rtc_sequence_text(&sequence, headers[i].text);
    }
    pdl_rtc_sequence_end(&sequence, &question.text, &question.check);
    return question;
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
    return pdl_rtc_hash_equal(answer->question.text, question->text) &&
           pdl_rtc_hash_equal(answer->question.check, question->check) &&
           !atomic_load_explicit(&answer->stale, memory_order_relaxed);
}

static _Atomic(struct answer *) *bucket_of(struct pdl_rtc_memory *memory,
                                           const struct pdl_rtc_question *question)
{
    return &memory->buckets[question->text.low & (BUCKETS - 1)];
}

static struct answer *find(struct pdl_rtc_memory *memory, const struct pdl_rtc_question *question)
{
    struct answer *answer = atomic_load_explicit(bucket_of(memory, question), memory_order_acquire);
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
    struct answer *made = malloc(sizeof(*made));
    if (made == NULL) {
        return;
    }
    atomic_init(&made->stale, false);
    made->question = *question;
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
        _Atomic(struct answer *) *bucket = bucket_of(memory, question);
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
