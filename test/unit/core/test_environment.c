/* SPDX-License-Identifier: MIT */
/* The table of environment variables: each row in many spellings, against rules that are written here once more; what is
 * said of an unknown value; and the documents. */
#include "os/environment.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "support.h"

/* ---- words ---------------------------------------------------------------------------------------- */

enum { MOST_WORDS = 8, WORD_ROOM = 64 };

struct words {
    char of[MOST_WORDS][WORD_ROOM];
    int count;
};

/* "off, on or capture". */
static struct words words_of(const struct pdl_variable *row)
{
    struct words words = {.count = 0};
    char text[256];
    (void)snprintf(text, sizeof(text), "%s", row->values);
    for (char *word = strtok(text, ", "); word != NULL; word = strtok(NULL, ", ")) {
        if (strcmp(word, "or") != 0) {
            (void)snprintf(words.of[words.count++], WORD_ROOM, "%s", word);
        }
    }
    return words;
}

static bool is_word(const struct pdl_variable *row)
{
    return row->kind == PDL_VARIABLE_WORD || row->kind == PDL_VARIABLE_OPEN_WORD;
}

/* The place that a spelling has; -1: it is unknown; -2: it is as if the variable were not set. */
static int place_of(const struct words *words, const char *spelling)
{
    static const char *const other[][2] = {{"0", "off"}, {"false", "off"}, {"no", "off"},
                                           {"1", "on"},  {"true", "on"},   {"yes", "on"}};
    char word[WORD_ROOM];
    size_t length = 0;
    for (const char *c = spelling; *c != '\0'; c++) {
        const bool is_blank = strchr(" \t\r\n", *c) != NULL;
        if (length > 0 || !is_blank) {
            word[length++] = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
        }
    }
    while (length > 0 && strchr(" \t\r\n", word[length - 1]) != NULL) {
        length--;
    }
    word[length] = '\0';
    for (size_t i = 0; i < COUNT_OF(other); i++) {
        if (strcmp(word, other[i][0]) == 0) {
            (void)snprintf(word, sizeof(word), "%s", other[i][1]);
        }
    }
    for (int i = 0; i < words->count; i++) {
        if (strcmp(word, words->of[i]) == 0) {
            return i;
        }
    }
    return length == 0 ? -2 : -1;
}

static void assert_unknown(const struct pdl_variable *row, const char *text)
{
    const struct pdl_reading reading = pdl_variable_parse(row, text);
    const struct pdl_reading safe = pdl_variable_parse(row, row->unknown);
    char start[128];
    (void)snprintf(start, sizeof(start), "%s is '", row->name);
    if (strncmp(reading.problem, start, strlen(start)) != 0 ||
        strstr(reading.problem, row->values) == NULL || !reading.is_set) {
        fail_msg("%s='%s': '%s'", row->name, text, reading.problem);
    }
    assert_memory_equal(reading.value, safe.value, sizeof(safe.value));
}

static void assert_known(const struct pdl_variable *row, const char *text, uint64_t value)
{
    const struct pdl_reading reading = pdl_variable_parse(row, text);
    if (reading.problem[0] != '\0' || reading.value[0] != value) {
        fail_msg("%s='%s': %llu is wanted, not %llu; '%s'", row->name, text,
                 (unsigned long long)value, (unsigned long long)reading.value[0], reading.problem);
    }
}

static void assert_unset(const struct pdl_variable *row, const char *text)
{
    const struct pdl_reading reading = pdl_variable_parse(row, text);
    assert_false(reading.is_set);
    assert_string_equal(reading.problem, "");
    if (row->unset[0] != '\0') {
        assert_known(row, row->unset, reading.value[0]);
    }
}

/* Returns 1, for counts. */
static int check_spelling(const struct pdl_variable *row, const char *text)
{
    const struct words words = words_of(row);
    const int place = place_of(&words, text);
    if (place >= 0) {
        assert_known(row, text, (uint64_t)place);
    } else if (place == -1) {
        assert_unknown(row, text);
    } else {
        assert_unset(row, text);
    }
    return 1;
}

static int check_spellings(const struct pdl_variable *row, const char *word)
{
    static const char *const around[][2] = {
        {"", ""},     {" ", ""},    {"", " "},  {"\t", "\r\n"},  {"", " x"}, {"x", ""},
        {"", "x"},    {"", ","},    {"'", "'"}, {"-", ""},       {"", "1"},  {"\v", ""},
        {"", "\x80"}, {"", "\xa0"}, {"+", ""},  {"", "\x1b[2J"}, {"=", ""},  {"", " or on"}};
    int count = 0;
    char text[2 * WORD_ROOM];
    char cased[WORD_ROOM];
    for (unsigned bits = 0; bits < 1U << (strlen(word) < 6 ? strlen(word) : 6); bits++) {
        (void)snprintf(cased, sizeof(cased), "%s", word);
        for (size_t i = 0; i < strlen(word); i++) {
            const bool upper = (bits >> (i % 6) & 1) != 0;
            cased[i] = (char)(upper && cased[i] >= 'a' && cased[i] <= 'z' ? cased[i] - 'a' + 'A'
                                                                          : cased[i]);
        }
        for (size_t i = 0; i < COUNT_OF(around); i++) {
            (void)snprintf(text, sizeof(text), "%s%s%s", around[i][0], cased, around[i][1]);
            count += check_spelling(row, text);
        }
    }
    for (size_t length = 0; length < strlen(word); length++) { /* its prefixes, and what is left */
        (void)snprintf(text, sizeof(text), "%.*s", (int)length, word);
        count += check_spelling(row, text);
        count += check_spelling(row, word + length);
    }
    return count;
}

PLAIN_TEST(words_are_read_in_any_case_and_between_blanks_and_nothing_else_is)
{
    static const char *const general[] = {"0",  "1",   "off",  "on", "false",  "true",
                                          "no", "yes", "none", "2",  "enable", "maybe"};
    static const char letters[] = "oOfFnN01 yesYEStruealno\tcp-_";
    uint32_t random = 7;
    int count = 0;
    for (size_t i = 0; i < PDL_VARIABLE_COUNT; i++) {
        const struct pdl_variable *const row = &pdl_variables[i];
        if (!is_word(row)) {
            continue;
        }
        const struct words words = words_of(row);
        assert_true(words.count >= 2);
        for (int word = 0; word < words.count; word++) {
            count += check_spellings(row, words.of[word]);
        }
        for (size_t word = 0; word < COUNT_OF(general); word++) {
            count += check_spellings(row, general[word]);
        }
        for (int text = 0; text < 20000; text++) {
            char made[8];
            size_t length = 0;
            for (random = random * 1664525 + 1013904223; length < (random >> 16) % 7; length++) {
                made[length] = letters[(random >> (length * 4)) % (sizeof(letters) - 1)];
            }
            made[length] = '\0';
            count += check_spelling(row, made);
        }
    }
    print_message("%d spellings\n", count);
    assert_true(count > 100000);
}

/* ---- numbers -------------------------------------------------------------------------------------- */

PLAIN_TEST(numbers_are_digits_with_a_unit_and_nothing_else)
{
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"1", 1},     {"007", 7},     {"64", 64},      {"2K", 2048},
                {"2k", 2048}, {"2KiB", 2048}, {"3m", 3 << 20}, {"3MiB", 3 << 20}};
    static const char *const bad[] = {"-1",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1e3",
                                      "0x10",
                                      "much",
                                      "1T",
                                      "1KB",
                                      "1.5",
                                      "1,5",
                                      "off",
                                      "K",
                                      "1kib",
                                      "1 K",
                                      ".",
                                      "1;",
                                      "99999999999999999999",
                                      "18446744073709551616",
                                      "99999999999G",
                                      "\xd9\xa1"};
    for (size_t i = 0; i < PDL_VARIABLE_COUNT; i++) {
        const struct pdl_variable *const row = &pdl_variables[i];
        const bool is_size = row->kind == PDL_VARIABLE_SIZE;
        const bool is_times = row->kind == PDL_VARIABLE_TIMES;
        char most[64];
        if (row->kind != PDL_VARIABLE_NUMBER && !is_size && !is_times) {
            continue;
        }
        for (size_t j = 0; j < COUNT_OF(good); j++) {
            if (good[j].value <= row->most) {
                assert_known(row, good[j].text, good[j].value);
            } else {
                assert_unknown(row, good[j].text);
            }
        }
        for (size_t j = 0; j < COUNT_OF(bad); j++) {
            if (!is_times || strchr(bad[j], ',') == NULL) {
                assert_unknown(row, bad[j]);
            }
        }
        (void)snprintf(most, sizeof(most), "%llu", (unsigned long long)row->most);
        assert_known(row, most, row->most);
        if (row->most < UINT64_MAX) {
            assert_non_null(strstr(row->values, most));
            (void)snprintf(most, sizeof(most), "%llu", (unsigned long long)row->most + 1);
            assert_unknown(row, most);
        }
        if (is_size) {
            assert_unknown(row, "0");
            assert_unknown(row, "0G");
        } else {
            assert_known(row, "0", 0);
        }
    }
}

PLAIN_TEST(seconds_are_digits_with_a_point_or_without)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {{"0", 0},
                {"1", 1000000000},
                {"0.25", 250000000},
                {"0.250000000", 250000000},
                {"2.", 2000000000},
                {"1.0000000019", 1000000001},
                {"1000000000.5", 1000000000500000000}};
    static const char *const bad[] = {".5", ".",     "-1",          "1,5",  "1e3",
                                      " 1", "1 ",    "nan",         "inf",  "0x1",
                                      "1s", "1.5.0", "99999999999", "1.-5", "soon"};
    const struct pdl_variable *const row = PDL_VARIABLE(PDL_WATCH_SECONDS);
    assert_int_equal(row->kind, PDL_VARIABLE_SECONDS);
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_known(row, good[i].text, good[i].ns);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_unknown(row, bad[i]);
    }
}

PLAIN_TEST(of_two_times_the_second_may_be_left_out)
{
    static const char *const bad[] = {
        "20,x", "20 ", "20,10,5", "100001", "20,100001", ",",
        "20,",  ",20", "-1",      "20 ,10", "20, 10",    "00000000000000000000000000000000020,10"};
    const struct pdl_variable *const row = PDL_VARIABLE(PDL_WATCH_DELAY);
    const struct pdl_reading unset = pdl_variable_parse(row, NULL);
    assert_int_equal(row->kind, PDL_VARIABLE_TIMES);
    assert_int_equal(unset.value[0], 40);
    assert_int_equal(unset.value[1], 40);
    assert_int_equal(pdl_variable_parse(row, "20,10").value[0], 20);
    assert_int_equal(pdl_variable_parse(row, "20,10").value[1], 10);
    assert_int_equal(pdl_variable_parse(row, "0").value[0], 0);
    assert_int_equal(pdl_variable_parse(row, "0").value[1], 40);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_unknown(row, bad[i]);
    }
}

/* ---- the environment ------------------------------------------------------------------------------- */

PLAIN_TEST(texts_are_as_they_are_and_empty_ones_are_not_set)
{
    static const char *const texts[] = {" a b ", "off", "0", "/a:/b", "STDERR ", "a\x1b"};
    for (size_t i = 0; i < PDL_VARIABLE_COUNT; i++) {
        const struct pdl_variable *const row = &pdl_variables[i];
        if (row->kind != PDL_VARIABLE_TEXT && row->kind != PDL_VARIABLE_LOG) {
            continue;
        }
        assert_int_equal(unsetenv(row->name), 0);
        assert_null(pdl_variable_text(row));
        for (size_t j = 0; j < COUNT_OF(texts); j++) {
            const bool word = row->kind == PDL_VARIABLE_LOG && j == 4;
            assert_int_equal(setenv(row->name, texts[j], 1), 0);
            assert_string_equal(pdl_variable_text(row), word ? "stderr" : texts[j]);
            assert_string_equal(pdl_variable_parse(row, texts[j]).problem, "");
        }
        assert_int_equal(setenv(row->name, "", 1), 0);
        assert_null(pdl_variable_text(row));
        assert_int_equal(unsetenv(row->name), 0);
    }
}

PLAIN_TEST(an_unset_and_an_empty_variable_have_the_same_value)
{
    static const char *const empty[] = {NULL, "", " ", "\t \r\n"};
    for (size_t i = 0; i < PDL_VARIABLE_COUNT; i++) {
        for (size_t j = 0; j < COUNT_OF(empty); j++) {
            assert_unset(&pdl_variables[i], empty[j]);
        }
    }
}

/* What is given up where nobody knows what was meant: speed, and not a guarantee or what was to be seen. */
PLAIN_TEST(an_unknown_value_takes_the_safe_side)
{
    static const struct {
        const char *name, *safe;
    } sides[] = {{"PDL_OVERLAP", "off"},
                 {"PDL_OVERLAP_STRICT", "on"},
                 {"PDL_OVERLAP_PROOF", "on"},
                 {"PDL_RTC_CACHE", "off"},
                 {"PDL_INSTRUMENT", "off"},
                 {"PDL_WATCH_CUPTI", "on"},
                 {"PDL_INSTRUMENT_TRIGGER", "none"},
                 {"PDL_WATCH_CODE", "on"}};
    size_t count = 0;
    for (size_t i = 0; i < PDL_VARIABLE_COUNT; i++) {
        const struct pdl_variable *const row = &pdl_variables[i];
        for (size_t j = 0; j < COUNT_OF(sides) && is_word(row); j++) {
            if (strcmp(sides[j].name, row->name) == 0) {
                assert_string_equal(row->unknown, sides[j].safe);
                count++;
            }
        }
        if (!is_word(row)) {
            assert_string_equal(row->unknown, row->unset);
        }
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(pdl_variables[j].name, row->name);
        }
        assert_string_equal(pdl_variable_parse(row, row->unset).problem, "");
        assert_string_equal(pdl_variable_parse(row, row->unknown).problem, "");
        assert_int_equal(row->kind == PDL_VARIABLE_OPEN_WORD, row == PDL_VARIABLE(PDL_OVERLAP));
    }
    assert_int_equal(count, COUNT_OF(sides));
}

static void *read_all(void *nothing)
{
    (void)nothing;
    for (size_t i = 0; i < PDL_VARIABLE_COUNT; i++) {
        const struct pdl_reading reading = pdl_variable_read(&pdl_variables[i]);
        if (reading.problem[0] != '\0' &&
            reading.value[0] !=
                pdl_variable_parse(&pdl_variables[i], pdl_variables[i].unknown).value[0]) {
            return (void *)&pdl_variables[i];
        }
    }
    return NULL;
}

PLAIN_TEST(an_unknown_value_is_said_once_by_all_threads_together)
{
    pthread_t threads[4];
    char said[65536] = "";
    FILE *const file = tmpfile();
    const int before = dup(STDERR_FILENO);
    assert_non_null(file);
    for (size_t i = 0; i < PDL_VARIABLE_COUNT; i++) {
        assert_int_equal(setenv(pdl_variables[i].name, "un\nknown\x1b", 1), 0);
    }
    (void)dup2(fileno(file), STDERR_FILENO);
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, NULL), 0);
    }
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        void *wrong = NULL;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    (void)fflush(stderr);
    (void)dup2(before, STDERR_FILENO);
    (void)close(before);
    rewind(file);
    said[fread(said, 1, sizeof(said) - 1, file)] = '\0';
    (void)fclose(file);
    size_t lines = 0;
    for (const char *c = said; *c != '\0'; c++) {
        lines += *c == '\n';
        assert_true(*c == '\n' || (*c >= ' ' && *c <= '~'));
    }
    for (size_t i = 0; i < PDL_VARIABLE_COUNT; i++) {
        const struct pdl_variable *const row = &pdl_variables[i];
        char line[512];
        (void)snprintf(line, sizeof(line),
                       "libpdl: %s is 'un?known?', and must be %s: %s is used\n", row->name,
                       row->values, row->unknown);
        const char *const at = strstr(said, line);
        const bool expected = row->kind != PDL_VARIABLE_TEXT && row->kind != PDL_VARIABLE_LOG;
        assert_int_equal(at != NULL, expected);
        lines -= expected;
        assert_int_equal(unsetenv(row->name), 0);
    }
    assert_int_equal(lines, 0);
}

/* ---- the documents --------------------------------------------------------------------------------- */

static char *read_page(const char *path)
{
    FILE *const from = fopen(path, "rb");
    char *const text = calloc(1, 1 << 20);
    assert_non_null(from);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, from) > 0);
    (void)fclose(from);
    return text;
}

/* The form of the man page: a minus is no hyphen. */
static const char *roff(const char *text, char made[256])
{
    size_t length = 0;
    for (; *text != '\0'; text++) {
        if (*text == '-') {
            made[length++] = '\\';
        }
        made[length++] = *text;
    }
    made[length] = '\0';
    return made;
}

PLAIN_TEST(the_documents_have_every_row_in_order_and_no_other)
{
    char *const pages[] = {read_page(PDL_TEST_ENVIRONMENT_PAGE),
                           read_page(PDL_TEST_ENVIRONMENT_MAN)};
    const char *const starts[] = {"\n| `PDL_", "\n.TP\n\\fBPDL_"};
    for (size_t page = 0; page < COUNT_OF(pages); page++) {
        const char *at = pages[page];
        for (size_t i = 0; i < PDL_VARIABLE_COUNT; i++) {
            const struct pdl_variable *const row = &pdl_variables[i];
            char expected[1024], values[256], effect[256], unset[256], unknown[256];
            if (page == 0) {
                (void)snprintf(expected, sizeof(expected), "\n| `%s` | %s | %s | %s | %s |\n",
                               row->name, row->values, row->unset, row->unknown, row->effect);
            } else {
                const bool has_default = row->unset[0] != '\0';
                (void)snprintf(
                    expected, sizeof(expected), "\n.TP\n\\fB%s\\fP\n%s%s%s%s%s%s:\n%s.\n",
                    row->name, roff(row->values, values), has_default ? " (unset: " : "",
                    roff(row->unset, unset), has_default ? ", unknown: " : "",
                    roff(row->unknown, unknown), has_default ? ")" : "", roff(row->effect, effect));
            }
            const char *const next = strstr(at, starts[page]);
            if (next == NULL || strncmp(next, expected, strlen(expected)) != 0) {
                fail_msg("instead of%sthe page has %.200s", expected, next != NULL ? next : "");
            } else {
                at = next + 1;
            }
        }
        assert_null(strstr(at, starts[page]));
        free(pages[page]);
    }
}
