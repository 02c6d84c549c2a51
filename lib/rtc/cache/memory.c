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

/* Counts, and writes where there are bytes to write to. */
struct writer {
    unsigned char *bytes;
    size_t at;
    bool whole; /* there was no NULL */
};

static void put(struct writer *writer, const void *bytes, size_t size)
{
    if (writer->bytes != NULL && size > 0) {
        memcpy(writer->bytes + writer->at, bytes, size);
    }
    writer->at += size;
}

static void put_number(struct writer *writer, uint64_t number)
{
    put(writer, &number, sizeof(number));
}

static void put_text(struct writer *writer, const char *text)
{
    writer->whole = writer->whole && text != NULL;
    if (writer->whole) {
        put(writer, text, strlen(text) + 1);
    }
}

static void put_texts(struct writer *writer, const char *const *texts, uint64_t count)
{
    writer->whole = writer->whole && count <= PDL_RTC_COUNT_MAX && (count == 0 || texts != NULL);
    put_number(writer, count);
    for (uint64_t i = 0; writer->whole && i < count; i++) {
        put_text(writer, texts[i]);
    }
}

static void put_question(struct writer *writer, const char *source, const char *name,
                         const pdl_rtc_options *options, const pdl_instrument_options *instrument,
                         int device)
{
    const bool named = options->target != NULL;
    put_text(writer, source);
    put_text(writer, name);
    put_number(writer, named ? UINT64_MAX : (uint64_t)(int64_t)device + 1);
    put_text(writer, named ? options->target : "");
    put_number(writer, (uint64_t)options->output << 32 | options->flags);
    put_texts(writer, options->arguments, options->argument_count);
    put_texts(writer, options->names, options->name_count);
    put_number(writer, (uint64_t)instrument->size << 32 | instrument->flags);
    put_number(writer, (uint64_t)(uint32_t)instrument->wait << 32 | (uint32_t)instrument->trigger);
    put_texts(writer, instrument->constant_params, instrument->constant_param_count);
    put_texts(writer, instrument->kernels, instrument->kernel_count);
    writer->whole = writer->whole && options->header_count <= PDL_RTC_COUNT_MAX &&
                    (options->header_count == 0 || options->headers != NULL);
    for (size_t i = 0; writer->whole && i < options->header_count; i++) {
        put_text(writer, options->headers[i].name);
        put_text(writer, options->headers[i].text);
    }
}

bool pdl_rtc_question_make(struct pdl_rtc_question *question, const char *source, const char *name,
                           const pdl_rtc_options *options, int device)
{
    pdl_instrument_options instrument;
    if (pdl_rtc_request_instrument(options, &instrument) != PDL_SUCCESS) {
        return false;
    }
    struct writer counter = {.whole = true};
    put_question(&counter, source, name, options, &instrument, device);
    struct writer writer = {.whole = counter.whole,
                            .bytes = counter.whole ? malloc(counter.at) : NULL};
    if (writer.bytes == NULL) {
        return false;
    }
    put_question(&writer, source, name, options, &instrument, device);
    *question = (struct pdl_rtc_question){writer.bytes, writer.at,
                                          pdl_rtc_hash_short(writer.bytes, writer.at, 0)};
    return true;
}

void pdl_rtc_question_free(struct pdl_rtc_question *question)
{
    free(question->bytes);
    *question = (struct pdl_rtc_question){0};
}

/* ------------------------------------------------------------------------------------------------
 * Answers
 * ---------------------------------------------------------------------------------------------- */

static void free_answer(struct answer *answer)
{
    pdl_rtc_question_free(&answer->question);
    pdl_rtc_includes_free(&answer->dependencies);
    free(answer);
}

static bool is_answer(const struct answer *answer, const struct pdl_rtc_question *question)
{
    return answer->question.hash == question->hash && answer->question.size == question->size &&
           memcmp(answer->question.bytes, question->bytes, question->size) == 0 &&
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

void pdl_rtc_memory_add(struct pdl_rtc_memory *memory, struct pdl_rtc_question *question,
                        struct pdl_rtc_dependencies *dependencies, pdl_kernel *kernel)
{
    struct answer *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return;
    }
    atomic_init(&made->stale, false);
    made->kernel = kernel;
    made->question = *question;
    made->dependencies = *dependencies;
    *question = (struct pdl_rtc_question){0};
    *dependencies = (struct pdl_rtc_dependencies){0};
    pdl_lock_take(&memory->lock);
    struct answer *other = find(memory, &made->question);
    if (other != NULL && other->kernel == kernel) {
        free_answer(made); /* another thread was faster */
    } else {
        if (other != NULL) {
            atomic_store_explicit(&other->stale, true, memory_order_relaxed);
        }
        _Atomic(struct answer *) *bucket = bucket_of(memory, made->question.hash);
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
