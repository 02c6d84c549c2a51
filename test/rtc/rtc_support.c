/* SPDX-License-Identifier: MIT */
#include "rtc_support.h"

#include <dirent.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

struct rtc_mock rtc_mock;

static struct {
    char *path; /* NULL: it was not set */
    bool changed;
} given;

static void set_variable(const char *path)
{
    assert_int_equal(path != NULL ? setenv("PDL_NVRTC", path, 1) : unsetenv("PDL_NVRTC"), 0);
}

void rtc_library_name(const char *path)
{
    if (!given.changed) {
        const char *before = getenv("PDL_NVRTC");
        given.path = before != NULL ? strdup(before) : NULL;
        given.changed = true;
    }
    set_variable(path);
}

void rtc_library_name_restore(void)
{
    if (given.changed) {
        set_variable(given.path);
        free(given.path);
        given.path = NULL;
        given.changed = false;
    }
}

bool rtc_have_nvrtc(void)
{
    const struct pdl_rtc_compiler *compiler;
    return pdl_rtc_compiler_open(&compiler) == PDL_SUCCESS;
}

/* ---- the mock of NVRTC ---------------------------------------------------------------------- */

static nvrtcResult mock_create(nvrtcProgram *program, const char *source, const char *name,
                               int headers, const char *const *texts, const char *const *names)
{
    (void)source;
    (void)name;
    if (rtc_mock.create_result != 0) {
        return rtc_mock.create_result;
    }
    rtc_mock.header_count = headers;
    for (int i = 0; i < headers && i < (int)COUNT_OF(rtc_mock.headers); i++) {
        (void)snprintf(rtc_mock.headers[i], sizeof(rtc_mock.headers[i]), "%s", names[i]);
        rtc_mock.header_texts[i] = texts[i];
    }
    rtc_mock.programs++;
    *program = (nvrtcProgram)(void *)&rtc_mock;
    return 0;
}

static nvrtcResult mock_destroy(nvrtcProgram *program)
{
    rtc_mock.programs--;
    *program = NULL;
    return 0;
}

static nvrtcResult mock_compile(nvrtcProgram program, int count, const char *const *options)
{
    (void)program;
    rtc_mock.compilations++;
    rtc_mock.option_count = count;
    for (int i = 0; i < count && i < (int)COUNT_OF(rtc_mock.options); i++) {
        (void)snprintf(rtc_mock.options[i], sizeof(rtc_mock.options[i]), "%s", options[i]);
    }
    return rtc_mock.compile_result;
}

static nvrtcResult mock_add_name(nvrtcProgram program, const char *name)
{
    (void)program;
    (void)name;
    return rtc_mock.add_name_result;
}

static nvrtcResult mock_lowered_name(nvrtcProgram program, const char *name, const char **lowered)
{
    (void)program;
    *lowered = rtc_mock.lowered != NULL ? rtc_mock.lowered : name;
    return rtc_mock.lowered_result;
}

static nvrtcResult mock_log_size(nvrtcProgram program, size_t *size)
{
    (void)program;
    *size = rtc_mock.log != NULL ? strlen(rtc_mock.log) + 1 : 1;
    return 0;
}

static nvrtcResult mock_log(nvrtcProgram program, char *log)
{
    (void)program;
    memcpy(log, rtc_mock.log, strlen(rtc_mock.log) + 1);
    return 0;
}

static nvrtcResult mock_code_size(nvrtcProgram program, size_t *size)
{
    (void)program;
    *size = rtc_mock.no_code ? 0 : strlen(rtc_mock.code) + 1;
    return rtc_mock.code_result;
}

static nvrtcResult mock_code(nvrtcProgram program, char *code)
{
    (void)program;
    memcpy(code, rtc_mock.code, strlen(rtc_mock.code) + 1);
    return rtc_mock.code_result;
}

static const char *mock_error_string(nvrtcResult result)
{
    return result == 11 ? "NVRTC_ERROR_INTERNAL_ERROR" : "NVRTC_ERROR_OF_THE_MOCK";
}

int rtc_mock_setup(void **state)
{
    (void)state;
    memset(&rtc_mock, 0, sizeof(rtc_mock));
    rtc_mock.table = (struct pdl_rtc_compiler){
        .create = mock_create,
        .destroy = mock_destroy,
        .compile = mock_compile,
        .add_name = mock_add_name,
        .lowered_name = mock_lowered_name,
        .log_size = mock_log_size,
        .log = mock_log,
        .ptx_size = mock_code_size,
        .ptx = mock_code,
        .cubin_size = mock_code_size,
        .cubin = mock_code,
        .error_string = mock_error_string,
        .number = 13000,
        .newest = 120,
        .known = {75, 80, 90, 100, 120},
        .known_count = 5,
        .identity = {.bytes = "mock", .size = 4},
        .path = "/mock/libnvrtc.so.13",
    };
    rtc_mock.code =
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";
    pdl_rtc_compiler_override(&rtc_mock.table);
    return 0;
}

int rtc_mock_teardown(void **state)
{
    (void)state;
    pdl_rtc_compiler_override(NULL);
    return rtc_mock.programs; /* each is destroyed, whatever happened */
}

/* ---- folders -------------------------------------------------------------------------------- */

char *rtc_folder_make(void)
{
    const char *base = getenv("TMPDIR");
    char *path = NULL;
    assert_true(asprintf(&path, "%s/pdl-test-XXXXXX", base != NULL ? base : "/tmp") > 0);
    assert_non_null(mkdtemp(path));
    return path;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

void rtc_folder_remove(char *folder)
{
    (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(folder);
}

size_t rtc_folder_count(const char *folder, const char *prefix)
{
    size_t count = 0;
    DIR *listing = opendir(folder);
    if (listing == NULL) {
        return 0;
    }
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        count += entry->d_name[0] != '.' && strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    }
    (void)closedir(listing);
    return count;
}

char *rtc_file_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long size = ftell(file);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, file), size);
    text[size] = '\0';
    (void)fclose(file);
    return text;
}

void rtc_file_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* ---- running -------------------------------------------------------------------------------- */

char *rtc_dumps;

int rtc_run_(const struct CMUnitTest *mocked, size_t mocked_count, const struct CMUnitTest *real,
             size_t real_count)
{
    rtc_dumps = rtc_folder_make();
    (void)setenv("PDL_RTC_DUMP_DIR", rtc_dumps, 1);
    int failed = _cmocka_run_group_tests("mocked", mocked, mocked_count, NULL, NULL);
    if (rtc_have_nvrtc()) {
        failed += _cmocka_run_group_tests("real", real, real_count, NULL, NULL);
    } else {
        (void)printf("there is no NVRTC: %zu tests were not run\n", real_count);
        failed = failed != 0 ? failed : 77;
    }
    rtc_folder_remove(rtc_dumps);
    return failed;
}
