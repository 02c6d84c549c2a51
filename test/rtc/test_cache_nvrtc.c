/* SPDX-License-Identifier: MIT */
/* The cache over the real NVRTC. */
#include "rtc_support.h"

#include <sys/stat.h>
#include <unistd.h>

#include <pdl/rtc.h>

static char *folder;
static pdl_rtc_cache *cache;
static pdl_rtc_options options;

static void open_cache(void)
{
    pdl_rtc_cache_desc desc = PDL_RTC_CACHE_DESC_INIT;
    pdl_rtc_cache_destroy(cache);
    cache = NULL;
    desc.directory = "cache";
    assert_ok(pdl_rtc_cache_create(&desc, &cache));
}

static int setup(void **state)
{
    (void)state;
    (void)unsetenv("PDL_RTC_DUMP_DIR");
    options = (pdl_rtc_options)PDL_RTC_OPTIONS_INIT;
    options.target = "sm_90";
    folder = rtc_folder_make();
    if (chdir(folder) != 0) {
        return -1;
    }
    open_cache();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    pdl_rtc_cache_destroy(cache);
    cache = NULL;
    const int left = chdir("/");
    rtc_folder_remove(folder);
    return left;
}

static pdl_rtc_image *image_of(const char *source)
{
    pdl_rtc_image *image = NULL;
    assert_ok(pdl_rtc_cache_compile(cache, "text.cu", source, &options, &image));
    return image;
}

static uint64_t disk_hits(void)
{
    pdl_rtc_stats stats = PDL_RTC_STATS_INIT;
    assert_ok(pdl_rtc_cache_stats(cache, &stats));
    assert_string_equal(stats.problem, "");
    return stats.disk_hits;
}

static void what_comes_from_the_folder_is_what_was_compiled(void **state)
{
    (void)state;
    static const char source[] = "#include <pdl/device.cuh>\n"
                                 "template <typename T> __global__ void scale(T *x)\n"
                                 "{ PDL_WAIT(); x[threadIdx.x] *= 2; }\n";
    const char *names[] = {"scale<float>", "scale<double>"};
    const uint32_t outputs[] = {PDL_RTC_CUBIN, PDL_RTC_PTX};
    options.names = names;
    options.name_count = 2;
    for (size_t i = 0; i < COUNT_OF(outputs); i++) {
        size_t sizes[2];
        options.output = outputs[i];
        pdl_rtc_image *made = image_of(source);
        open_cache();
        pdl_rtc_image *read = image_of(source);
        assert_int_equal(disk_hits(), 1);
        const void *code = pdl_rtc_image_code(made, &sizes[0]);
        assert_memory_equal(pdl_rtc_image_code(read, &sizes[1]), code, sizes[0]);
        assert_int_equal(sizes[0], sizes[1]);
        assert_int_equal(pdl_rtc_image_output(read), pdl_rtc_image_output(made));
        assert_int_equal(pdl_rtc_image_kernel_count(read), pdl_rtc_image_kernel_count(made));
        for (size_t n = 0; n < 2; n++) {
            const pdl_kernel_info *a = pdl_rtc_image_find(made, names[n]);
            const pdl_kernel_info *b = pdl_rtc_image_find(read, names[n]);
            assert_true(a != NULL && b != NULL);
            assert_string_equal(a->name, b->name);
            assert_int_equal(b->waits, PDL_YES);
            assert_int_equal(a->registers_per_thread, b->registers_per_thread);
        }
        pdl_rtc_image_destroy(made);
        pdl_rtc_image_destroy(read);
    }
}

static void a_changed_header_changes_the_code(void **state)
{
    (void)state;
    static const char source[] =
        "#include <x.h>\nextern \"C\" __global__ void k(int *x) { *x = N; }";
    static const char *const arguments[] = {"-I", "include"};
    assert_int_equal(mkdir("include", 0700), 0);
    options.output = PDL_RTC_PTX;
    options.target = "compute_90";
    options.arguments = arguments;
    options.argument_count = 2;
    for (int n = 4321; n < 4325; n++) {
        char number[32];
        (void)snprintf(number, sizeof(number), "#define N %d", n);
        rtc_file_write("include/x.h", number);
        (void)snprintf(number, sizeof(number), "%d", n);
        pdl_rtc_image *image = image_of(source);
        assert_non_null(strstr(pdl_rtc_image_code(image, NULL), number));
        pdl_rtc_image_destroy(image);
    }
}

/* What asks for a file is put together of words, of which some are ordinary code. */
static void a_text_that_pastes_is_compiled_again_and_says_so(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "#define ASK(a, b, c) __h##a##_##b##u##c\nenum { there = ASK(as, incl, de)(\"x.h\") };\n",
        "#define JOIN(a, b, c, d, e, f) a##b##c##d##e##f\n"
        "enum { there = JOIN(__, ha, s_, in, cl, ude)(\"x.h\") };\n",
        "#define FROM(a) _##_ha##a##include\ntemplate <int n> struct s { enum { value = n }; };\n"
        "enum { there = s<FROM(s_)(\"x.h\")>::value };\n",
    };
    options.output = PDL_RTC_PTX;
    options.target = "compute_90";
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        char source[512];
        pdl_rtc_stats stats = PDL_RTC_STATS_INIT;
        (void)snprintf(source, sizeof(source),
                       "%sextern \"C\" __global__ void k(int *x) { *x = there + 7654; }", texts[i]);
        rtc_file_write("x.h", "");
        pdl_rtc_image *held = image_of(source);
        assert_non_null(strstr(pdl_rtc_image_code(held, NULL), "7655"));
        assert_int_equal(unlink("x.h"), 0);
        pdl_rtc_image *second = image_of(source);
        assert_non_null(strstr(pdl_rtc_image_code(second, NULL), "7654"));
        assert_ok(pdl_rtc_cache_stats(cache, &stats));
        assert_non_null(strstr(stats.problem, "text.cu is not cached: "));
        pdl_rtc_image_destroy(held);
        pdl_rtc_image_destroy(second);
        open_cache();
        second = image_of(source);
        assert_non_null(strstr(pdl_rtc_image_code(second, NULL), "7654"));
        pdl_rtc_image_destroy(second);
    }
}

static void a_failure_is_written_below_the_caches_folder(void **state)
{
    (void)state;
    pdl_rtc_image *image = NULL;
    assert_int_equal(
        pdl_rtc_cache_compile(cache, "text.cu", "int a;\nint b = c;\n", &options, &image),
        PDL_ERROR_COMPILE);
    assert_non_null(strstr(pdl_rtc_log(), "text.cu(2)"));
    assert_non_null(strstr(pdl_last_error()->message, "cache/dumps/"));
    assert_int_equal(rtc_folder_count("cache/dumps", ""), 1);
}

#define NVRTC_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        NVRTC_TEST(what_comes_from_the_folder_is_what_was_compiled),
        NVRTC_TEST(a_changed_header_changes_the_code),
        NVRTC_TEST(a_text_that_pastes_is_compiled_again_and_says_so),
        NVRTC_TEST(a_failure_is_written_below_the_caches_folder),
    };
    if (!rtc_have_nvrtc()) {
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
