/* SPDX-License-Identifier: MIT */
/* Precompiled headers: right first, where they are kept, and what is left of them. */
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rtc/compile/compile.h"
#include "rtc/compile/pch.h"
#include "rtc_support.h"

static const char kernel[] = "#include \"a.h\"\nextern \"C\" __global__ void k(int *p) { *p = N; }";

static char *temporary; /* TMPDIR */
static char *working;   /* the working directory */
static pdl_rtc_image *compiled;

static pdl_status compile(const char *source, const pdl_rtc_options *options)
{
    pdl_rtc_image_destroy(compiled);
    compiled = NULL;
    return pdl_rtc_compile("t.cu", source, options, &compiled);
}

#define PCH(...) PDL_RTC_OPTIONS(.target = "compute_90", .flags = PDL_RTC_PCH, __VA_ARGS__)

static int setup(void **state)
{
    (void)state;
    pdl_rtc_pch_clear();
    temporary = rtc_folder_make();
    working = rtc_folder_make();
    return setenv("TMPDIR", temporary, 1) != 0 || chdir(working) != 0;
}

static int teardown(void **state)
{
    (void)state;
    pdl_rtc_pch_clear();
    pdl_rtc_image_destroy(compiled);
    compiled = NULL;
    const int failed = unsetenv("TMPDIR") != 0 || chdir("/") != 0;
    rtc_folder_remove(temporary);
    rtc_folder_remove(working);
    return failed;
}

static int mocked_setup(void **state)
{
    return setup(state) != 0 || rtc_mock_setup(state) != 0;
}

static int mocked_teardown(void **state)
{
    const int programs = rtc_mock_teardown(state);
    return teardown(state) != 0 || programs != 0;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* ---- by the mock ---------------------------------------------------------------------------- */

/* The folder that the last compilation was given; NULL if it was to do without. */
static const char *folder_given(void)
{
    static char given[4096];
    for (int i = 0; i < rtc_mock.option_count; i++) {
        if (strncmp(rtc_mock.options[i], "--pch-dir=", 10) == 0) {
            (void)snprintf(given, sizeof(given), "%s", rtc_mock.options[i] + 10);
            return given;
        }
    }
    return NULL;
}

/* A copy of it, which stays. */
static char *folder_after(const char *source, const pdl_rtc_options *options)
{
    assert_ok(compile(source, options));
    assert_non_null(folder_given());
    char *copy = strdup(folder_given());
    assert_non_null(copy);
    return copy;
}

static void a_folder_is_the_users_alone_and_goes_with_the_process(void **state)
{
    (void)state;
    struct stat about;
    char *folder = folder_after("", &PCH());
    assert_memory_equal(folder, temporary, strlen(temporary));
    assert_int_equal(stat(folder, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0700);
    *strrchr(folder, '/') = '\0';
    assert_int_equal(stat(folder, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0700);
    pdl_rtc_pch_clear();
    assert_int_equal(rtc_folder_count(temporary, ""), 0);
    free(folder);
}

static void only_what_is_the_same_shares_a_folder(void **state)
{
    (void)state;
    static const char text[] = "#include \"a.h\"\n#include \"d.h\"\nvoid f();";
    write_file("d.h", "one");
    char *first = folder_after(text, &PCH(HEADERS({"a.h", "x"})));
    char *again = folder_after(text, &PCH(HEADERS({"a.h", "x"})));
    char *body = folder_after("#include \"a.h\"\n#include \"d.h\"\nvoid g();",
                              &PCH(NAMES("k"), HEADERS({"a.h", "x"})));
    assert_string_equal(first, again);
    assert_string_equal(first, body);
    free(again);
    free(body);
    const struct {
        const char *source;
        const pdl_rtc_options *options;
    } others[] = {
        {text, &PCH(HEADERS({"a.h", "y"}))},
        {text, &PCH(HEADERS({"a.h", "x"}, {"b.h", "x"}))},
        {text, &PCH(HEADERS({"a.h", "x"}), ARGUMENTS("-DA"))},
        {text,
         &PDL_RTC_OPTIONS(.target = "compute_80", .flags = PDL_RTC_PCH, HEADERS({"a.h", "x"}))},
        {text, &PDL_RTC_OPTIONS(.target = "compute_90", .flags = PDL_RTC_PCH | PDL_RTC_MINIMAL,
                                HEADERS({"a.h", "x"}))},
        {"\n#include \"a.h\"\n#include \"d.h\"\nvoid f();", &PCH(HEADERS({"a.h", "x"}))},
    };
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        char *other = folder_after(others[i].source, others[i].options);
        assert_string_not_equal(first, other);
        free(other);
    }
    write_file("d.h", "two");
    char *changed = folder_after(text, &PCH(HEADERS({"a.h", "x"})));
    assert_string_not_equal(first, changed);
    free(changed);
    rtc_mock.table.identity.bytes[0]++;
    write_file("d.h", "one");
    char *compiler = folder_after(text, &PCH(HEADERS({"a.h", "x"})));
    assert_string_not_equal(first, compiler);
    free(compiler);
    free(first);
}

static void a_text_whose_includes_are_not_known_is_compiled_without(void **state)
{
    (void)state;
    assert_ok(compile("#define NAME \"a.h\"\n#include NAME\n", &PCH(HEADERS({"a.h", ""}))));
    assert_false(rtc_mock_had("--pch"));
    assert_int_equal(rtc_mock.compilations, 1);
}

static void what_a_precompiled_header_fails_is_compiled_without(void **state)
{
    (void)state;
    rtc_mock.pch_result = 6;
    assert_ok(compile("", &PCH()));
    assert_int_equal(rtc_mock.compilations, 2);
    assert_false(rtc_mock_had("--pch"));
    rtc_mock.compile_result = 6;
    rtc_mock.log = "t.cu(1): error: x";
    assert_refused(compile("", &PCH()), PDL_ERROR_COMPILE, NULL, "t.cu(1): error: x");
}

static void what_failed_a_text_goes_and_what_did_not_stays(void **state)
{
    (void)state;
    char *folder = folder_after("", &PCH());
    char *base = strdup(folder);
    assert_non_null(base);
    *strrchr(base, '/') = '\0';
    rtc_mock.log = "t.cu(1): error: x";
    rtc_mock.compile_result = 6;
    assert_refused(compile("", &PCH()), PDL_ERROR_COMPILE, NULL, "error: x");
    assert_int_equal(access(folder, F_OK), 0); /* the text is wrong */
    assert_refused(compile("", &PCH(ARGUMENTS("-DN"))), PDL_ERROR_COMPILE, NULL, "error: x");
    assert_int_equal(rtc_folder_count(base, ""), 1); /* a new one, which nobody knows to be whole */
    rtc_mock.compile_result = 0;
    rtc_mock.pch_result = 6;
    assert_ok(compile("", &PCH()));
    assert_int_not_equal(access(folder, F_OK), 0);
    free(folder);
    free(base);
}

static void nobody_waits_for_the_one_that_makes_what_it_needs(void **state)
{
    (void)state;
    struct pdl_rtc_request request;
    struct pdl_rtc_pch first;
    struct pdl_rtc_pch meanwhile;
    struct pdl_rtc_pch later;
    assert_ok(pdl_rtc_request_make(&request, "t.cu", "", &PCH(), NULL));
    assert_ok(pdl_rtc_pch_begin(&first, &request, &rtc_mock.table));
    assert_true(first.on && first.making);
    assert_ok(pdl_rtc_pch_begin(&meanwhile, &request, &rtc_mock.table));
    assert_false(meanwhile.on);
    pdl_rtc_pch_end(&meanwhile, true);
    pdl_rtc_pch_end(&first, true);
    assert_ok(pdl_rtc_pch_begin(&later, &request, &rtc_mock.table));
    assert_true(later.on && !later.making);
    pdl_rtc_pch_end(&later, true);
    pdl_rtc_request_free(&request);
}

static int32_t cancel(void *context)
{
    (void)context;
    return 1;
}

static void what_was_cancelled_is_not_compiled_again(void **state)
{
    (void)state;
    rtc_mock.ask = 1;
    rtc_mock.pch_result = 16;
    assert_refused(compile("", &PCH(.progress = cancel)), PDL_ERROR_CANCELLED, NULL, "t.cu");
    assert_int_equal(rtc_mock.compilations, 1);
}

static void without_a_temporary_folder_a_text_is_compiled_without(void **state)
{
    (void)state;
    assert_int_equal(setenv("TMPDIR", "/nonexistent/folder", 1), 0);
    assert_ok(compile("", &PCH()));
    assert_false(rtc_mock_had("--pch"));
}

static void where_files_must_be_small_a_text_is_compiled_without(void **state)
{
    (void)state;
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const struct rlimit small = {.rlim_cur = 1 << 20, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const pdl_status status = compile("", &PCH());
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_ok(status);
    assert_false(rtc_mock_had("--pch"));
}

/* A base as a process makes it, locked or not, with a precompiled header in it. */
static int make_left(const char *name, bool living)
{
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/%s", temporary, name);
    assert_int_equal(mkdir(path, 0700), 0);
    const int base = open(path, O_RDONLY | O_DIRECTORY);
    assert_true(base >= 0);
    assert_int_equal(mkdirat(base, "0123456789abcdef0123456789abcdef", 0700), 0);
    const int file =
        openat(base, "0123456789abcdef0123456789abcdef/t.pch", O_CREAT | O_WRONLY, 0600);
    assert_true(file >= 0);
    assert_int_equal(close(file), 0);
    if (living) {
        assert_int_equal(flock(base, LOCK_EX), 0);
        return base;
    }
    assert_int_equal(close(base), 0);
    return -1;
}

static void what_a_dead_process_left_goes_and_nothing_else(void **state)
{
    (void)state;
    char path[4096];
    (void)make_left("pdl-rtc-pch-dead00", false);
    const int living = make_left("pdl-rtc-pch-living", true);
    (void)make_left("pdl-rtc-pch-else00", false);
    (void)make_left("pdl-rtc-pch-other-name", false);
    (void)snprintf(path, sizeof(path), "%s/pdl-rtc-pch-else00/mine", temporary);
    write_file(path, "mine");
    assert_ok(compile("", &PCH()));
    assert_int_equal(rtc_folder_count(temporary, "pdl-rtc-pch-dead00"), 0);
    assert_int_equal(rtc_folder_count(temporary, "pdl-rtc-pch-living"), 1);
    assert_int_equal(rtc_folder_count(temporary, "pdl-rtc-pch-other-name"), 1);
    assert_int_equal(access(path, F_OK), 0);
    (void)snprintf(path, sizeof(path), "%s/pdl-rtc-pch-living", temporary);
    assert_int_equal(rtc_folder_count(path, ""), 1);
    assert_int_equal(close(living), 0);
}

static void a_process_that_was_killed_leaves_nothing_for_long(void **state)
{
    (void)state;
    int status = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)compile("", &PCH());
        (void)raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(rtc_folder_count(temporary, "pdl-rtc-pch-"), 1);
    assert_ok(compile("", &PCH()));
    assert_int_equal(rtc_folder_count(temporary, "pdl-rtc-pch-"), 1);
    pdl_rtc_pch_clear();
    assert_int_equal(rtc_folder_count(temporary, "pdl-rtc-pch-"), 0);
}

static void a_forked_process_has_its_own_folder(void **state)
{
    (void)state;
    char *mine = folder_after("", &PCH());
    int status = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const bool other = compile("", &PCH()) == PDL_SUCCESS && folder_given() != NULL &&
                           strcmp(folder_given(), mine) != 0;
        pdl_rtc_pch_clear(); /* as its exit does */
        _exit(other ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(access(mine, F_OK), 0);
    free(mine);
}

static void the_folders_used_longest_ago_make_room(void **state)
{
    (void)state;
    char *first = folder_after("", &PCH(ARGUMENTS("-DN=0")));
    char *second = folder_after("", &PCH(ARGUMENTS("-DN=1")));
    for (int i = 2; i < 33; i++) {
        char option[16];
        (void)snprintf(option, sizeof(option), "-DN=%d", i);
        assert_ok(compile("", &PCH(ARGUMENTS("-DN=0")))); /* stays in use */
        assert_ok(compile("", &PCH(ARGUMENTS(option))));
    }
    assert_int_equal(access(first, F_OK), 0);
    assert_int_not_equal(access(second, F_OK), 0);
    *strrchr(second, '/') = '\0';
    assert_int_equal(rtc_folder_count(second, ""), 32);
    free(first);
    free(second);
}

static void large_files_make_room_too(void **state)
{
    (void)state;
    char path[4096];
    for (int i = 0; i < 4; i++) {
        char option[16];
        (void)snprintf(option, sizeof(option), "-DN=%d", i);
        char *folder = folder_after("", &PCH(ARGUMENTS(option)));
        (void)snprintf(path, sizeof(path), "%s/t.pch", folder);
        write_file(path, "");
        assert_int_equal(truncate(path, 200 << 20), 0);
        assert_ok(compile("", &PCH(ARGUMENTS(option)))); /* which looks at how large it is */
        *strrchr(folder, '/') = '\0';
        assert_int_equal(rtc_folder_count(folder, ""), i < 2 ? i + 1 : 2);
        free(folder);
    }
}

static void change_header(void)
{
    write_file("d.h", "of another size");
}

static void a_file_that_changes_while_it_is_read_spoils_the_folder(void **state)
{
    (void)state;
    static const char text[] = "#include \"d.h\"\nvoid f();";
    char path[4096];
    write_file("d.h", "one");
    rtc_mock.while_compiling = change_header;
    char *folder = folder_after(text, &PCH());
    assert_int_not_equal(access(folder, F_OK), 0);
    rtc_mock.while_compiling = NULL;
    write_file("d.h", "one");
    (void)snprintf(path, sizeof(path), "%s", folder);
    free(folder);
    folder = folder_after(text, &PCH());
    assert_string_equal(folder, path);
    assert_int_equal(access(folder, F_OK), 0);
    free(folder);
}

static int32_t compile_within(void *context)
{
    pdl_rtc_image *image = NULL;
    (void)context;
    rtc_mock.ask = 0;
    const pdl_status status = pdl_rtc_compile("t.cu", "", &PCH(), &image);
    pdl_rtc_image_destroy(image);
    return status != PDL_SUCCESS;
}

static void a_compilation_within_another_does_not_wait_for_it(void **state)
{
    (void)state;
    rtc_mock.ask = 1;
    assert_ok(compile("", &PCH(.progress = compile_within)));
    assert_int_equal(rtc_mock.compilations, 2);
}

static void the_part_before_the_body_ends_no_too_early(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        const char *body;
    } cases[] = {
        {"", "int x;"},
        {" \n\t", "extern"},
        {"#include <a>\n", "int"},
        {"// #include\n/* x\n */ # define A \\\n 1\n", "int"},
        {"//*****\n#define A\n", "x /* */"},
        {"// a \\\n int b;\n#if 1\n", ""},
        {"#define A /* \n */ 1\n", "y"},
        {"#define A 1 // b \\ \n c\n", "y"},
        {"%:define A\n", "y"},
        {"\xef\xbb\xbf#define A\n", "y"},
        {"#if 0\nint x;\n#endif\n#if __LINE__ == 5\n#define V\n#endif\n", "int y;"},
        {"#ifndef A\n#ifdef B\nint x;\n# endif\nint y;\n#\tendif // A\n", "int z;"},
        {"#ifndef A\nint x;\n", ""},
        {"#define A ?"
         "?/\nint x;",
         ""},
        {"\\\n#define A\n", "y"},
        {"/* never ends", ""},
        {"#define A \\", ""},
        {"#", ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[256];
        (void)snprintf(text, sizeof(text), "%s%s", cases[i].before, cases[i].body);
        assert_int_equal(pdl_rtc_pch_prefix(text, strlen(text)), strlen(cases[i].before));
    }
}

/* ---- by the real NVRTC ---------------------------------------------------------------------- */

static bool have_pch(void)
{
    pdl_rtc_compiler_info info = PDL_RTC_COMPILER_INFO_INIT;
    assert_ok(pdl_rtc_compiler_get(&info));
    return info.has_pch != 0;
}

static void assert_has(const char *word)
{
    assert_non_null(strstr(pdl_rtc_image_code(compiled, NULL), word));
}

static void a_header_in_memory_that_changed_is_read_anew(void **state)
{
    (void)state;
    if (!have_pch()) {
        skip();
    }
    assert_ok(compile(kernel, &PCH(HEADERS({"a.h", "#define N 11111\n"}))));
    assert_has("11111");
    assert_ok(compile(kernel, &PCH(HEADERS({"a.h", "#define N 22222\n"}))));
    assert_has("22222");
    assert_ok(compile(kernel, &PCH(HEADERS({"a.h", "#define N 11111\n"}))));
    assert_has("11111");
}

static void a_header_on_disk_that_changed_is_read_anew(void **state)
{
    (void)state;
    if (!have_pch()) {
        skip();
    }
    write_file("b.h", "#define N 11111\n");
    write_file("a.h", "#include \"b.h\"\n");
    assert_ok(compile(kernel, &PCH(ARGUMENTS("-I."))));
    assert_has("11111");
    write_file("b.h", "#define N 22222\n");
    assert_ok(compile(kernel, &PCH(ARGUMENTS("-I."))));
    assert_has("22222");
}

static void lines_of_directives_and_the_texts_name_count(void **state)
{
    (void)state;
    if (!have_pch()) {
        skip();
    }
    static const char *const texts[] = {
        "#if __LINE__ == 1\n#define N 11111\n#endif\n#include \"a.h\"\n"
        "extern \"C\" __global__ void k(int *p) { *p = N; }",
        "\n#if __LINE__ == 1\n#define N 11111\n#endif\n#include \"a.h\"\n"
        "extern \"C\" __global__ void k(int *p) { *p = N; }"};
    static const char header[] =
        "#ifndef N\n#define N 22222\n#endif\n"
        "static inline __device__ const char *name() { return __BASE_FILE__; }\n";
    static const char named[] =
        "#include \"a.h\"\nextern \"C\" __global__ void k(const char **p) { *p = name(); }";
    assert_ok(compile(texts[0], &PCH(HEADERS({"a.h", header}))));
    assert_has("11111");
    assert_ok(compile(texts[1], &PCH(HEADERS({"a.h", header}))));
    assert_has("22222");
    assert_ok(compile(named, &PCH(HEADERS({"a.h", header}))));
    assert_has("116, 46, 99, 117"); /* "t.cu" */
    pdl_rtc_image_destroy(compiled);
    compiled = NULL;
    assert_ok(pdl_rtc_compile("u.cu", named, &PCH(HEADERS({"a.h", header})), &compiled));
    assert_has("117, 46, 99, 117");
}

static size_t files;            /* precompiled headers below TMPDIR */
static struct timespec time_of; /* of the last that was found */

static int count_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)where;
    if (kind == FTW_F && strcmp(path + strlen(path) - 4, ".pch") == 0) {
        files++;
        time_of = about->st_mtim;
    }
    return 0;
}

static size_t count_files(struct timespec *time)
{
    files = 0;
    assert_int_equal(nftw(temporary, count_one, 16, FTW_PHYS), 0);
    *time = time_of;
    return files;
}

static void headers_that_did_not_change_are_not_precompiled_again(void **state)
{
    (void)state;
    struct timespec first = {0};
    struct timespec second = {0};
    if (!have_pch()) {
        skip();
    }
    assert_ok(compile(kernel, &PCH(HEADERS({"a.h", "#define N 11111\n"}))));
    assert_int_equal(count_files(&first), 1);
    assert_ok(compile("#include \"a.h\"\nextern \"C\" __global__ void k(int *p) { *p = N * 2; }",
                      &PCH(HEADERS({"a.h", "#define N 11111\n"}))));
    assert_has("22222");
    assert_int_equal(count_files(&second), 1);
    assert_memory_equal(&first, &second, sizeof(first));
}

static void the_working_directory_is_left_alone(void **state)
{
    (void)state;
    if (!have_pch()) {
        skip();
    }
    write_file("t.pch", "mine");
    assert_ok(compile(kernel, &PCH(HEADERS({"a.h", "#define N 11111\n"}))));
    char *mine = rtc_file_read("t.pch");
    assert_string_equal(mine, "mine");
    assert_int_equal(rtc_folder_count(working, ""), 1);
    free(mine);
}

static void a_folder_that_vanished_costs_the_precompiled_header_alone(void **state)
{
    (void)state;
    if (!have_pch()) {
        skip();
    }
    assert_ok(compile(kernel, &PCH(HEADERS({"a.h", "#define N 11111\n"}))));
    char *copy = strdup(temporary);
    rtc_folder_remove(copy);
    for (int i = 0; i < 2; i++) {
        assert_ok(compile(kernel, &PCH(HEADERS({"a.h", "#define N 11111\n"}))));
        assert_has("11111");
    }
    assert_string_equal(pdl_rtc_log(), "");
}

static void the_log_is_that_of_the_text_alone(void **state)
{
    (void)state;
    if (!have_pch()) {
        skip();
    }
    for (int i = 0; i < 3; i++) {
        assert_ok(compile("#define N 3\n#include \"a.h\"\nvoid __device__ f() {}",
                          &PCH(HEADERS({"a.h", ""}))));
        assert_string_equal(pdl_rtc_log(), "");
    }
    assert_refused(compile("#include \"a.h\"\nint x = ;", &PCH(HEADERS({"a.h", ""}))),
                   PDL_ERROR_COMPILE, NULL, "t.cu(2): error");
}

static void *compile_some(void *argument)
{
    const int number = (int)(intptr_t)argument;
    bool right = true;
    for (int i = 0; i < 6; i++) {
        char text[160];
        char word[16];
        pdl_rtc_image *image = NULL;
        (void)snprintf(word, sizeof(word), "%d", 11000 + 10 * number + i);
        (void)snprintf(text, sizeof(text),
                       "#include \"a.h\"\nextern \"C\" __global__ void k(int *p) { *p = %s N; }",
                       word);
        right = right &&
                pdl_rtc_compile("t.cu", text, &PCH(HEADERS({"a.h", "#define N +0\n"})), &image) ==
                    PDL_SUCCESS &&
                strstr(pdl_rtc_image_code(image, NULL), word) != NULL;
        pdl_rtc_image_destroy(image);
    }
    return (void *)(intptr_t)right;
}

static void threads_share_a_precompiled_header(void **state)
{
    (void)state;
    pthread_t threads[4];
    struct timespec time;
    if (!have_pch()) {
        skip();
    }
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, compile_some, (void *)(intptr_t)i), 0);
    }
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        void *right = NULL;
        assert_int_equal(pthread_join(threads[i], &right), 0);
        assert_non_null(right);
    }
    assert_int_equal(count_files(&time), 1);
}

#define MOCKED(function) cmocka_unit_test_setup_teardown(function, mocked_setup, mocked_teardown)
#define REAL(function)   cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest real[] = {
        REAL(a_header_in_memory_that_changed_is_read_anew),
        REAL(a_header_on_disk_that_changed_is_read_anew),
        REAL(lines_of_directives_and_the_texts_name_count),
        REAL(headers_that_did_not_change_are_not_precompiled_again),
        REAL(the_working_directory_is_left_alone),
        REAL(a_folder_that_vanished_costs_the_precompiled_header_alone),
        REAL(the_log_is_that_of_the_text_alone),
        REAL(threads_share_a_precompiled_header),
    };
    const struct CMUnitTest mocked[] = {
        MOCKED(a_folder_is_the_users_alone_and_goes_with_the_process),
        MOCKED(only_what_is_the_same_shares_a_folder),
        MOCKED(a_text_whose_includes_are_not_known_is_compiled_without),
        MOCKED(what_a_precompiled_header_fails_is_compiled_without),
        MOCKED(what_failed_a_text_goes_and_what_did_not_stays),
        MOCKED(nobody_waits_for_the_one_that_makes_what_it_needs),
        MOCKED(what_was_cancelled_is_not_compiled_again),
        MOCKED(without_a_temporary_folder_a_text_is_compiled_without),
        MOCKED(where_files_must_be_small_a_text_is_compiled_without),
        MOCKED(what_a_dead_process_left_goes_and_nothing_else),
        MOCKED(a_process_that_was_killed_leaves_nothing_for_long),
        MOCKED(a_forked_process_has_its_own_folder),
        MOCKED(the_folders_used_longest_ago_make_room),
        MOCKED(large_files_make_room_too),
        MOCKED(a_file_that_changes_while_it_is_read_spoils_the_folder),
        MOCKED(a_compilation_within_another_does_not_wait_for_it),
        MOCKED(the_part_before_the_body_ends_no_too_early),
    };
    return rtc_run(mocked, real);
}
