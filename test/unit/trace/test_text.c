/* SPDX-License-Identifier: MIT */
/* Text from outside, as a terminal, XML and JSON get it. */
#include <stdlib.h>
#include <string.h>

#include "support.h"
#include "trace/text.h"

static void shown(FILE *out, const char *text)
{
    pdl_text_put_shown(out, text, 8);
}

static void xml(FILE *out, const char *text)
{
    pdl_text_put_xml(out, text, 8);
}

static void check(void (*put)(FILE *out, const char *text), const char *text, const char *wanted)
{
    char got[256] = "";
    FILE *const out = fmemopen(got, sizeof(got), "w");
    assert_non_null(out);
    put(out, text);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(got, wanted);
}

PLAIN_TEST(a_terminal_gets_printable_text_as_it_is)
{
    check(shown, "a\\ä", "a\\ä");
    check(shown, "\u4f60\U0001f600", "\u4f60\U0001f600");
}

PLAIN_TEST(a_terminal_gets_no_control_character)
{
    check(shown, "\x1b[m", "\\x1b[m");
    check(shown, "\r\n", "\\x0d\\x0a");
    check(shown, "\x7f", "\\x7f");
    check(shown, "\xc2\x9b", "\\u009b");
}

PLAIN_TEST(a_terminal_gets_nothing_that_hides_or_turns_text)
{
    static const char override[] = {'\xe2', '\x80', '\xae', '\0'};
    static const char isolate[] = {'\xe2', '\x81', '\xa6', '\0'};
    check(shown, override, "\\u202e");
    check(shown, isolate, "\\u2066");
    check(shown, "\xe2\x80\xa8", "\\u2028");
    check(shown, "\xef\xbb\xbf", "\\ufeff");
}

PLAIN_TEST(a_terminal_gets_bytes_that_are_not_utf_8_as_escapes)
{
    check(shown, "\x9b\xff", "\\x9b\\xff");
    check(shown, "\xc0\xaf", "\\xc0\\xaf");
    check(shown, "\xe2\x82", "\\xe2\\x82");
}

PLAIN_TEST(a_long_text_has_an_ellipsis_before_its_last_quarter)
{
    check(shown, "12345678", "12345678");
    check(shown, "123456789", "12345…89");
}

PLAIN_TEST(xml_gets_its_special_characters_by_name)
{
    check(xml, "]]>&<\"'", "]]&gt;&amp;&lt;&quot;&#39;");
}

PLAIN_TEST(xml_gets_no_character_that_it_forbids)
{
    check(xml, "\x01\xff\xef\xbf\xbf\xed\xa0\x80", "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd");
}

PLAIN_TEST(xml_gets_blanks_for_white_space)
{
    check(xml, "a\tb\r\nc", "a b  c");
}

PLAIN_TEST(xml_is_cut_after_characters_and_not_within_a_name)
{
    check(xml, "&&&&&&&&", "&amp;&amp;&amp;&amp;&amp;&amp;&amp;&amp;");
    check(xml, "&&&&&&&&&", "&amp;&amp;&amp;&amp;&amp;&amp;&amp;…");
}

PLAIN_TEST(json_keeps_what_unicode_has_and_replaces_the_rest)
{
    check(pdl_text_put_json, "\"\\\n\xc2\x9b\xff\xf3\xa0\x81\x81ä",
          "\"\\\"\\\\\\u000a\\u009b\ufffd\\udb40\\udc41ä\"");
}
