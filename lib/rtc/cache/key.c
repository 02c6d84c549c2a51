/* SPDX-License-Identifier: MIT */
#include "rtc/cache/key.h"

#include "rtc/request/embedded.h"

static void add_headers(struct pdl_rtc_sequence *sequence, const pdl_rtc_header *headers,
                        size_t count)
{
    pdl_rtc_sequence_number(sequence, count);
    for (size_t i = 0; i < count; i++) {
        pdl_rtc_sequence_text(sequence, headers[i].name);
        pdl_rtc_sequence_text(sequence, headers[i].text);
    }
}

static void add_texts(struct pdl_rtc_sequence *sequence, const char *const *texts, size_t count)
{
    pdl_rtc_sequence_number(sequence, count);
    for (size_t i = 0; i < count; i++) {
        pdl_rtc_sequence_text(sequence, texts[i]);
    }
}

/* Those that are there: their paths, which the compiler puts into what it makes, and what they hold. A file
 * that is not there shows by what is read in its place. */
static void add_dependencies(struct pdl_rtc_sequence *sequence,
                             const struct pdl_rtc_dependencies *dependencies)
{
    for (size_t i = 0; i < dependencies->count; i++) {
        const struct pdl_rtc_dependency *dependency = &dependencies->items[i];
        if (dependency->present) {
            pdl_rtc_sequence_text(sequence, dependency->path);
            pdl_rtc_sequence_hash(sequence, dependency->content);
            pdl_rtc_sequence_hash(sequence, dependency->check);
            if (dependency->twin != 0) {
                pdl_rtc_sequence_number(sequence, dependency->twin);
            }
        }
    }
}

/* All that a compilation reads. */
static void add_inputs(struct pdl_rtc_sequence *sequence, const struct pdl_rtc_request *request,
                       const struct pdl_rtc_dependencies *dependencies)
{
    pdl_rtc_sequence_number(sequence, request->output);
    pdl_rtc_sequence_number(sequence, request->flags & ~(uint32_t)PDL_RTC_NO_CACHE);
    pdl_rtc_sequence_text(sequence, request->target);
    add_texts(sequence, (const char *const *)request->arguments.items, request->arguments.count);
    pdl_rtc_sequence_text(sequence, request->program);
    pdl_rtc_sequence_add(sequence, request->source, request->source_size);
    add_headers(sequence, request->headers, request->header_count);
    add_headers(sequence, pdl_rtc_embedded, PDL_RTC_EMBEDDED);
    add_dependencies(sequence, dependencies);
}

static uint64_t identify(const struct pdl_rtc_compiler *compiler)
{
    const uint64_t hash = pdl_rtc_hash_short(compiler->identity.bytes, compiler->identity.size,
                                             (uint64_t)compiler->number);
    return hash != 0 ? hash : 1;
}

void pdl_rtc_key_make(const struct pdl_rtc_request *request,
                      const struct pdl_rtc_dependencies *dependencies,
                      const struct pdl_rtc_compiler *compiler, struct pdl_rtc_key *key)
{
    struct pdl_rtc_sequence sequence;
    pdl_rtc_sequence_begin(&sequence);
    pdl_rtc_sequence_number(&sequence, PDL_RTC_SCHEMA);
    add_texts(&sequence, request->names, request->name_count);
    add_inputs(&sequence, request, dependencies);
    pdl_rtc_sequence_end(&sequence, &key->text, &key->check);
    key->compilers = compiler != NULL ? identify(compiler) : 0;
}
