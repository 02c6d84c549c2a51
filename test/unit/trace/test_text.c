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

static const struct text_row {
    const char *name;
    void (*put)(FILE *out, const char *text);
    const char *text, *wanted;
} rows[] = {
    {"a terminal gets printable text as it is", shown, "a\\ä", "a\\ä"},
    {"be it of other scripts", shown, "\u4f60\U0001f600", "\u4f60\U0001f600"},
    {"but no control character", shown, "\x1b[m", "\\x1b[m"},
    {"no end of a line", shown, "\r\n", "\\x0d\\x0a"},
    {"no delete", shown, "\x7f", "\\x7f"},
    {"none of the second set", shown, "\xc2\x9b", "\\u009b"},
    {"nothing that turns text", shown, "\xe2\x80\xae", "\\u202e"},
    {"nor isolates it", shown, "\xe2\x81\xa6", "\\u2066"},
    {"nor ends a line", shown, "\xe2\x80\xa8", "\\u2028"},
    {"nor hides", shown, "\xef\xbb\xbf", "\\ufeff"},
    {"bytes that are not UTF-8 are escaped", shown, "\x9b\xff", "\\x9b\\xff"},
    {"also those that are too long for their character", shown, "\xc0\xaf", "\\xc0\\xaf"},
    {"or too short", shown, "\xe2\x82", "\\xe2\\x82"},
    {"a text that fits stays", shown, "12345678", "12345678"},
    {"a longer one has an ellipsis before its last quarter", shown, "123456789", "12345…89"},
    {"XML gets its special characters by name", xml, "]]>&<\"'", "]]&gt;&amp;&lt;&quot;&#39;"},
    {"and none that it forbids", xml, "\x01\xff\xef\xbf\xbf\xed\xa0\x80",
     "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd"},
    {"and blanks for white space", xml, "a\tb\r\nc", "a b  c"},
    {"XML is counted in characters", xml, "&&&&&&&&", "&amp;&amp;&amp;&amp;&amp;&amp;&amp;&amp;"},
    {"and not cut within a name", xml, "&&&&&&&&&", "&amp;&amp;&amp;&amp;&amp;&amp;&amp;…"},
    {"JSON keeps what Unicode has, and the rest is replaced", pdl_text_put_json,
     "\"\\\n\xc2\x9b\xff\xf3\xa0\x81\x81ä", "\"\\\"\\\\\\u000a\\u009b\ufffd\\udb40\\udc41ä\""},
    {"also the last of each length that is too long", pdl_text_put_json,
     "\xc1\xbf\xe0\x9f\xbf\xf0\x8f\xbf\xbf",
     "\"\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\""},
};

TEST_ROWS(texts_are_put, rows, NULL, NULL)
{
    char got[256] = "";
    FILE *const out = fmemopen(got, sizeof(got), "w");
    assert_non_null(out);
    row->put(out, row->text);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(got, row->wanted);
}
