/* SPDX-License-Identifier: MIT */
#include "sized.h"

unsigned char *sized_made(uint32_t size)
{
    unsigned char *bytes = malloc(SIZED_ROOM);
    assert_non_null(bytes);
    memset(bytes, 0, size);
    memset(bytes + size, 0xa5, SIZED_ROOM - size);
    memcpy(bytes, &size, sizeof(size));
    return bytes;
}

static void check_untouched(const unsigned char *bytes, uint32_t from)
{
    for (uint32_t at = from; at < SIZED_ROOM; at++) {
        assert_int_equal(bytes[at], 0xa5);
    }
}

void check_older_outputs(void)
{
    for (size_t i = 0; i < sized_output_count; i++) {
        const struct sized_output *output = &sized_outputs[i];
        unsigned char *whole = sized_made(output->size);
        assert_ok(output->fill(whole));
        for (uint32_t size = output->smallest; size < output->size; size += 1 + size / 16) {
            unsigned char *older = sized_made(size);
            assert_ok(output->fill(older));
            assert_memory_equal(older, &size, sizeof(size));
            assert_memory_equal(older + 4, whole + 4, size - 4);
            check_untouched(older, size);
            free(older);
        }
        free(whole);
    }
}

void check_newer_outputs(void)
{
    for (size_t i = 0; i < sized_output_count; i++) {
        const struct sized_output *output = &sized_outputs[i];
        const uint32_t sizes[] = {output->size + 1, output->size + SIZED_NEWER, SIZED_MOST};
        unsigned char *whole = sized_made(output->size);
        assert_ok(output->fill(whole));
        for (size_t j = 0; j < COUNT_OF(sizes); j++) {
            unsigned char *newer = sized_made(sizes[j]);
            memset(newer + output->size, 0x77, sizes[j] - output->size);
            assert_ok(output->fill(newer));
            assert_memory_equal(newer, &sizes[j], sizeof(sizes[j]));
            assert_memory_equal(newer + 4, whole + 4, output->size - 4);
            for (uint32_t at = output->size; at < sizes[j]; at++) {
                assert_int_equal(newer[at], 0);
            }
            check_untouched(newer, sizes[j]);
            free(newer);
        }
        free(whole);
    }
}

void check_invalid_sizes(void)
{
    for (size_t i = 0; i < sized_output_count; i++) {
        const uint32_t below = sized_outputs[i].smallest - 1;
        const uint32_t sizes[] = {0,       1,          2,          below,     SIZED_MOST + 1,
                                  0x10000, 0x80000000, 0xa5a5a5a5, UINT32_MAX};
        for (size_t j = 0; j < COUNT_OF(sizes); j++) {
            unsigned char *bytes = sized_made(4);
            memcpy(bytes, &sizes[j], sizeof(sizes[j]));
            assert_refused(sized_outputs[i].fill(bytes), PDL_ERROR_DESC_SIZE, "size", "");
            assert_memory_equal(bytes, &sizes[j], sizeof(sizes[j]));
            check_untouched(bytes, 4);
            free(bytes);
        }
    }
}
