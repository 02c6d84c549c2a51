/* SPDX-License-Identifier: MIT */
/* Paths in messages: a long one leaves room for what is wrong with it. */
#include "core/path_text.h"

#include <pdl/pdl.h>

#include "core/file.h"
#include "support.h"

PLAIN_TEST(a_path_that_fits_stays)
{
    assert_string_equal(pdl_path_text("", 16).text, "");
    assert_string_equal(pdl_path_text("/a/b", 16).text, "/a/b");
    assert_string_equal(pdl_path_text("/0123456789abcde", 16).text, "/0123456789abcde");
}

PLAIN_TEST(a_longer_one_loses_its_middle)
{
    assert_string_equal(pdl_path_text("/0123456789abcdef", 16).text, "/012...789abcdef");
    char path[5000];
    for (size_t size = 1; size < sizeof(path); size += 7) {
        memset(path, 'x', size);
        memcpy(path, "/", 1);
        path[size - 1] = 'z';
        path[size] = '\0';
        for (size_t most = 16; most <= PDL_PATH_MOST; most++) {
            const struct pdl_path_text made = pdl_path_text(path, most);
            const size_t length = strlen(made.text);
            assert_int_equal(length, size <= most ? size : most);
            assert_int_equal(made.text[length - 1], 'z');
        }
    }
}

PLAIN_TEST(no_character_is_cut)
{
    /* Characters of two bytes: whatever the room, the text is whole characters and the dots. */
    char path[401];
    for (size_t i = 0; i < 400; i += 2) {
        memcpy(path + i, "\xc3\xa4", 2);
    }
    path[400] = '\0';
    for (size_t most = 16; most <= PDL_PATH_MOST; most++) {
        const struct pdl_path_text made = pdl_path_text(path, most);
        const char *gap = strstr(made.text, "...");
        assert_non_null(gap);
        assert_int_equal((gap - made.text) % 2, 0);
        assert_int_equal((unsigned char)gap[3], 0xc3);
        assert_int_equal(strlen(gap + 3) % 2, 0);
        assert_true(strlen(made.text) <= most && strlen(made.text) + 4 > most);
    }
}

PLAIN_TEST(a_long_path_leaves_the_reason_in_the_message)
{
    static const size_t sizes[] = {300, 1000, 4000, 5000};
    char path[5001];
    void *bytes = NULL;
    size_t size = 0;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        memset(path, 'x', sizes[i]);
        memcpy(path, "/begin/", 7);
        memcpy(path + sizes[i] - 4, "/end", 5);
        for (size_t at = 100; at + 100 < sizes[i]; at += 100) {
            path[at] = '/';
        }
        assert_int_equal(pdl_file_read(path, 100, &bytes, &size), PDL_ERROR_FILE);
        const char *message = pdl_last_error()->message;
        assert_ptr_equal(strstr(message, "/begin/"), message);
        assert_non_null(strstr(message, "..."));
        assert_non_null(strstr(message, "/end cannot be opened: "));
        const bool is_long = strstr(message, "too long") != NULL;
        assert_true(is_long || strstr(message, "No such file") != NULL);
#ifndef _WIN32 /* which has several limits */
        assert_int_equal(is_long, sizes[i] >= 4096);
#endif
    }
}
