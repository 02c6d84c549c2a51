/* SPDX-License-Identifier: MIT */
/* What the tests of libpdl-rtc share: a mock of NVRTC, and folders to write into. Assertions are those of the
 * unit tests' support. */
#ifndef PDL_TEST_RTC_SUPPORT_H
#define PDL_TEST_RTC_SUPPORT_H

#include <stdbool.h>

#include "rtc/compiler.h"
#include "support.h"

/* Members of pdl_rtc_options in a literal. */
#define STRINGS(...)                                                                               \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define COUNT_STRINGS(...) (sizeof(STRINGS(__VA_ARGS__)) / sizeof(char *))
#define ARGUMENTS(...)                                                                             \
    .arguments = STRINGS(__VA_ARGS__), .argument_count = COUNT_STRINGS(__VA_ARGS__)
#define NAMES(...) .names = STRINGS(__VA_ARGS__), .name_count = COUNT_STRINGS(__VA_ARGS__)
#define HEADERS(...)                                                                               \
    .headers = (const pdl_rtc_header[]){__VA_ARGS__},                                              \
    .header_count = sizeof((const pdl_rtc_header[]){__VA_ARGS__}) / sizeof(pdl_rtc_header)
#define SM90 .target = "sm_90"

/* Whether a real NVRTC can be opened here. */
bool rtc_have_nvrtc(void);

/* Sets PDL_NVRTC for a test; NULL: unset. The second puts back what the tests were started with, so that they go on
 * with the compiler that their user named. */
void rtc_library_name(const char *path);
void rtc_library_name_restore(void);

/* A compiler that does as it is told. It "compiles" to PTX, or bytes that are no code at all. */
struct rtc_mock {
    struct pdl_rtc_compiler table; /* what pdl_rtc_compiler_override() was given */
    nvrtcResult create_result, add_name_result, compile_result, lowered_result, code_result;
    bool no_code;
    const char *log;     /* of a compilation */
    const char *code;    /* ended by a NUL, which counts */
    const char *lowered; /* what every name becomes; NULL: itself */
    int compilations;
    int programs;          /* created and not destroyed */
    char options[32][256]; /* of the last compilation */
    int option_count;
    char headers[16][64]; /* their names */
    const char *header_texts[16];
    int header_count;
};
extern struct rtc_mock rtc_mock;

/* Setup and teardown: the mock as NVRTC 13.0 with PTX of one kernel `k`. */
int rtc_mock_setup(void **state);
int rtc_mock_teardown(void **state);
#define RTC_MOCK_TEST(function)                                                                    \
    cmocka_unit_test_setup_teardown(function, rtc_mock_setup, rtc_mock_teardown)

/* Runs the tests of a mocked compiler and, where there is one, those of a real one, with PDL_RTC_DUMP_DIR set to
 * rtc_dumps. Returns main's result. */
#define rtc_run(mocked, real) rtc_run_((mocked), COUNT_OF(mocked), (real), COUNT_OF(real))
int rtc_run_(const struct CMUnitTest *mocked, size_t mocked_count, const struct CMUnitTest *real,
             size_t real_count);
extern char *rtc_dumps;

/* A new folder below TMPDIR, and its removal with everything in it. */
char *rtc_folder_make(void);
void rtc_folder_remove(char *folder);
/* How many files there are whose names begin so. */
size_t rtc_folder_count(const char *folder, const char *prefix);
/* The whole of a file; the caller frees it. */
char *rtc_file_read(const char *path);
void rtc_file_write(const char *path, const char *text);

#endif /* PDL_TEST_RTC_SUPPORT_H */
