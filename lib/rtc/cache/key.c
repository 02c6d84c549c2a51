/* SPDX-License-Identifier: MIT */
#include "rtc/cache/key.h"

#include "core/error.h"
#include "rtc/request/inputs.h"

static uint64_t identify(const struct pdl_rtc_compiler *compiler,
                         const struct pdl_rtc_linker *linker)
{
    uint64_t hash = pdl_rtc_hash_short(compiler->identity.bytes, compiler->identity.size,
                                       (uint64_t)compiler->number);
    if (linker != NULL) {
        hash = pdl_rtc_hash_short(linker->identity.bytes, linker->identity.size,
                                  hash ^ (uint64_t)linker->number);
    }
    return hash != 0 ? hash : 1;
}

pdl_status pdl_rtc_key_make(const struct pdl_rtc_request *request,
                            const struct pdl_rtc_dependencies *dependencies,
                            const struct pdl_rtc_compiler *compiler,
                            const struct pdl_rtc_linker *linker, struct pdl_rtc_key *key)
{
    struct pdl_rtc_sequence *sequence = pdl_rtc_sequence_begin();
    if (sequence == NULL) {
        return PDL_NO_MEMORY();
    }
    pdl_rtc_sequence_number(sequence, PDL_RTC_SCHEMA);
    pdl_rtc_inputs_add_texts(sequence, request->names, request->name_count);
    pdl_rtc_inputs_add(sequence, request, request->source_size, dependencies);
    pdl_rtc_sequence_end(sequence, &key->text, &key->check);
    key->compilers = compiler != NULL ? identify(compiler, linker) : 0;
    return PDL_SUCCESS;
}
