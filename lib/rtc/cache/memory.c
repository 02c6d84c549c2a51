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
    size_t count;
    size_t sizes[]; /* `count` of them, and then the bytes of the pieces */
};

struct pdl_rtc_memory {
    struct pdl_lock lock; /* of adding */
    _Atomic(struct answer *) buckets[BUCKETS];
};

/* ------------------------------------------------------------------------------------------------
 * Questions
 * ---------------------------------------------------------------------------------------------- */

static bool add_text(struct pdl_rtc_question *question, const char *text)
{
    if (text == NULL) {
        return false;
    }
    question->pieces[question->count++] = (struct pdl_rtc_piece){text, strlen(text)};
    return true;
}

static bool add_texts(struct pdl_rtc_question *question, const char *const *texts, size_t count)
{
    bool whole = true;
    for (size_t i = 0; whole && i < count; i++) {
        whole = add_text(question, texts[i]);
    }
    return whole;
}

static bool add_options(struct pdl_rtc_question *question, const pdl_rtc_options *options,
                        const pdl_instrument_options *instrument)
{
    bool whole = options->target == NULL || add_text(question, options->target);
    whole = whole && add_texts(question, options->arguments, options->argument_count) &&
            add_texts(question, options->names, options->name_count) &&
            add_texts(question, instrument->constant_params, instrument->constant_param_count) &&
            add_texts(question, instrument->kernels, instrument->kernel_count);
    for (size_t i = 0; whole && i < options->header_count; i++) {
        whole = add_text(question, options->headers[i].name) &&
                add_text(question, options->headers[i].text);
    }
    return whole;
}

static bool lists_are_there(const pdl_rtc_options *options)
{
    return (options->argument_count == 0 || options->arguments != NULL) &&
           (options->name_count == 0 || options->names != NULL) &&
           (options->header_count == 0 || options->headers != NULL);
}

bool pdl_rtc_question_make(struct pdl_rtc_question *question, const char *source, const char *name,
                           const pdl_rtc_options *options, int device)
{
    pdl_instrument_options instrument;
    question->pieces = question->room;
    question->count = 1;
    if (!lists_are_there(options) || options->argument_count > PDL_RTC_COUNT_MAX ||
        options->name_count > PDL_RTC_COUNT_MAX || options->header_count > PDL_RTC_COUNT_MAX ||
        pdl_rtc_request_instrument(options, &instrument) != PDL_SUCCESS) {
        return false;
    }
    const size_t most = 4 + options->argument_count + options->name_count +
                        2 * options->header_count + instrument.constant_param_count +
                        instrument.kernel_count;
    if (most > PDL_RTC_QUESTION_ROOM) {
        question->pieces = malloc(most * sizeof(*question->pieces));
        if (question->pieces == NULL) {
            return false;
        }
    }
    const int64_t numbers[PDL_RTC_QUESTION_NUMBERS] = {options->target != NULL ? -2 : device,
                                                       (int64_t)options->output,
                                                       (int64_t)options->flags,
                                                       (int64_t)options->argument_count,
                                                       (int64_t)options->name_count,
                                                       (int64_t)options->header_count,
                                                       (int64_t)instrument.size << 32 |
                                                           instrument.flags,
                                                       instrument.wait,
                                                       instrument.trigger,
                                                       (int64_t)instrument.constant_param_count,
                                                       (int64_t)instrument.kernel_count};
    memcpy(question->numbers, numbers, sizeof(numbers));
    question->pieces[0] = (struct pdl_rtc_piece){question->numbers, sizeof(question->numbers)};
    if (!add_text(question, source) || !add_text(question, name) ||
        !add_options(question, options, &instrument)) {
        pdl_rtc_question_free(question);
        return false;
    }
    question->hash = 0;
    for (size_t i = 0; i < question->count; i++) {
        question->hash =
            pdl_rtc_hash_short(question->pieces[i].bytes, question->pieces[i].size, question->hash);
    }
    return true;
}

void pdl_rtc_question_free(struct pdl_rtc_question *question)
{
    if (question->pieces != question->room) {
        free(question->pieces);
    }
    question->pieces = question->room;
    question->count = 0;
}

/* ------------------------------------------------------------------------------------------------
 * Answers
 * ---------------------------------------------------------------------------------------------- */

static struct answer *make_answer(const struct pdl_rtc_question *question)
{
    size_t size = sizeof(struct answer) + question->count * sizeof(size_t);
    for (size_t i = 0; i < question->count; i++) {
        size += question->pieces[i].size;
    }
    struct answer *made = malloc(size);
    if (made == NULL) {
        return NULL;
    }
    unsigned char *bytes = (unsigned char *)(made->sizes + question->count);
    made->hash = question->hash;
    made->count = question->count;
    atomic_init(&made->stale, false);
    for (size_t i = 0; i < question->count; i++) {
        const struct pdl_rtc_piece *piece = &question->pieces[i];
        made->sizes[i] = piece->size;
        if (piece->size > 0) {
            memcpy(bytes, piece->bytes, piece->size);
        }
        bytes += piece->size;
    }
    return made;
}

static void free_answer(struct answer *answer)
{
    pdl_rtc_includes_free(&answer->dependencies);
    free(answer);
}

static bool is_answer(const struct answer *answer, const struct pdl_rtc_question *question)
{
    if (answer->hash != question->hash || answer->count != question->count) {
        return false;
    }
    const unsigned char *bytes = (const unsigned char *)(answer->sizes + answer->count);
    for (size_t i = 0; i < question->count; i++) {
        const struct pdl_rtc_piece *piece = &question->pieces[i];
        if (answer->sizes[i] != piece->size || memcmp(bytes, piece->bytes, piece->size) != 0) {
            return false;
        }
        bytes += piece->size;
    }
    return !atomic_load_explicit(&answer->stale, memory_order_relaxed);
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
    struct answer *made = make_answer(question);
    if (made == NULL) {
        return;
    }
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
