/* SPDX-License-Identifier: MIT */
/* Files of a cache of libpdl-rtc: as they are, and with a header made right for them, so that what is behind
 * the checksum is reached. */
#include "fuzz.h"
#include "rtc/cache/entry.h"

enum { HEADER = 40, SIZE_AT = 16, CHECKSUM_AT = 24 };

static void put(uint8_t *at, uint64_t number)
{
    for (int i = 0; i < 8; i++) {
        at[i] = (uint8_t)(number >> (8 * i));
    }
}

/* Reads it, and looks at all that came of it. What is read must be written as the same bytes. */
static void read_bytes(const uint8_t *bytes, size_t size)
{
    pdl_rtc_image *image = NULL;
    unsigned char *written = NULL;
    size_t written_size = 0;
    size_t length = 0;
    const char *wrong = pdl_rtc_entry_read(bytes, size, NULL, &image);
    fuzz_expect((wrong == NULL) == (image != NULL));
    if (image == NULL) {
        return;
    }
    const struct pdl_rtc_key key = {.compilers = 1}; /* as long as any */
    length += fuzz_read(image->program) + fuzz_read(image->log) + fuzz_read(image->target);
    for (size_t i = 0; i < pdl_rtc_image_kernel_count(image); i++) {
        const pdl_kernel_info *info = pdl_rtc_image_info(image, i);
        length += fuzz_read(pdl_rtc_image_expression(image, i)) + fuzz_read(info->name);
        fuzz_expect(info->waits <= PDL_YES && info->waits_always <= PDL_YES &&
                    info->triggers <= PDL_YES);
        fuzz_expect(pdl_rtc_image_find(image, info->name) != NULL);
    }
    if (image->output == PDL_RTC_PTX) {
        length += fuzz_read((const char *)image->code);
    }
    fuzz_expect(length < size);
    fuzz_expect(pdl_rtc_entry_write(image, &key, &written, &written_size) == PDL_SUCCESS);
    fuzz_expect(written_size <=
                size); /* a name that no expression gave may hold bytes: they are dropped */
    free(written);
    pdl_rtc_image_destroy(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_bytes(data, size);
    if (size < HEADER) {
        return 0;
    }
    uint8_t *bytes = malloc(size);
    fuzz_expect(bytes != NULL);
    memcpy(bytes, data, size);
    memcpy(bytes, "PDLRTC\r\n\1\0\0\0\0\0\0\0", SIZE_AT);
    put(bytes + SIZE_AT, size);
    const struct pdl_rtc_hash sum =
        pdl_rtc_hash_bytes(bytes + HEADER, size - HEADER, PDL_RTC_SEED_TEXT);
    put(bytes + CHECKSUM_AT, sum.high);
    put(bytes + CHECKSUM_AT + 8, sum.low);
    read_bytes(bytes, size);
    free(bytes);
    return 0;
}
