/* SPDX-License-Identifier: MIT */
/* Kernels that were written without a wait get one while they are compiled. */
#include "failing.h"
#include "rtc_support.h"

static pdl_rtc_image *compiled; /* of the last success; each test frees it */

static pdl_status compile(const char *source, const pdl_rtc_options *options)
{
    return pdl_rtc_compile("t.cu", source, options, &compiled);
}

static void done(void)
{
    pdl_rtc_image_destroy(compiled);
    compiled = NULL;
}

/* The image's PTX. */
static const char *ptx(void)
{
    assert_int_equal(pdl_rtc_image_output(compiled), PDL_RTC_PTX);
    return pdl_rtc_image_code(compiled, NULL);
}

static bool have_linker(void)
{
    const struct pdl_rtc_linker *linker;
    return pdl_rtc_linker_open(&linker) == PDL_SUCCESS;
}

#define INSTRUMENT(...) .instrument = &PDL_INSTRUMENT_OPTIONS(__VA_ARGS__)
#define ENTRY           .wait = PDL_INSTRUMENT_ENTRY
#define HOIST           .wait = PDL_INSTRUMENT_HOIST

/* fc1 is a name that the mock of the driver has kernels by. */
static const char plain[] =
    "template <class T> __global__ void add(T *a, const T *__restrict__ b)\n"
    "{ __shared__ T s[64]; s[threadIdx.x] = threadIdx.x; __syncthreads();\n"
    "  T t = s[63 - threadIdx.x] + b[threadIdx.x]; a[threadIdx.x] += t / T(3); }\n"
    "extern \"C\" __global__ void fc1(int *p) { *p = 1; }\n";

/* ---- with a compiler ------------------------------------------------------------------------ */

static void every_kernel_of_every_output_waits_and_triggers_as_asked(void **state)
{
    (void)state;
    const uint32_t outputs[] = {PDL_RTC_PTX, PDL_RTC_CUBIN};
    for (size_t i = 0; i < COUNT_OF(outputs) && (i == 0 || have_linker()); i++) {
        for (int32_t wait = PDL_INSTRUMENT_ENTRY; wait <= PDL_INSTRUMENT_HOIST; wait++) {
            for (int32_t trigger = 0; trigger <= PDL_INSTRUMENT_TRIGGER_LAST_READ; trigger++) {
                assert_ok(compile(
                    plain,
                    &PDL_RTC_OPTIONS(SM90, NAMES("add<float>", "add<double>"), .output = outputs[i],
                                     ARGUMENTS("--use_fast_math", "-maxrregcount=40", "-lineinfo",
                                               "-Xptxas", "-O2", "--std=c++17"),
                                     INSTRUMENT(.wait = wait, .trigger = trigger))));
                assert_int_equal(pdl_rtc_image_output(compiled),
                                 outputs[i] == PDL_RTC_PTX ? PDL_RTC_PTX : PDL_RTC_CUBIN);
                assert_string_equal(pdl_rtc_image_target(compiled),
                                    outputs[i] == PDL_RTC_PTX ? "compute_90" : "sm_90");
                assert_int_equal(pdl_rtc_image_kernel_count(compiled), 3);
                assert_string_equal(pdl_rtc_image_log(compiled), "");
                for (size_t k = 0; k < 3; k++) {
                    const pdl_kernel_info *info = pdl_rtc_image_info(compiled, k);
                    if (info->waits != PDL_YES ||
                        info->triggers != (trigger > 0 ? PDL_YES : PDL_NO)) {
                        fail_msg("%s, output %u, wait %d, trigger %d: waits %u, triggers %u",
                                 info->name, (unsigned)outputs[i], (int)wait, (int)trigger,
                                 (unsigned)info->waits, (unsigned)info->triggers);
                    }
                }
                done();
            }
        }
    }
}

static void what_waits_already_is_as_it_was(void **state)
{
    (void)state;
    static const char source[] = "#include <pdl/device.cuh>\n"
                                 "extern \"C\" __global__ void k(int *p) { PDL_WAIT(); *p = 1; }\n";
    assert_ok(compile(source, &PDL_RTC_OPTIONS(.target = "compute_90")));
    char *before = strdup(ptx());
    done();
    assert_ok(
        compile(source, &PDL_RTC_OPTIONS(.target = "compute_90", INSTRUMENT(HOIST, .trigger = 1))));
    assert_string_equal(ptx(), before);
    free(before);
    done();
}

/* Which are named by the options, or by a marker in the text. */
static void a_hoisted_wait_comes_after_reads_through_constant_parameters(void **state)
{
    (void)state;
    static const char *const sources[] = {
        "extern \"C\" __global__ void k(float *y, const float *w, const float *x)\n"
        "{ y[threadIdx.x] = w[threadIdx.x] * 3 + x[0]; }\n",
        "#include <pdl/device.cuh>\n"
        "extern \"C\" __global__ void k(float *y, const float *w, const float *x)\n"
        "{ PDL_CONSTANT_PARAM(w); y[threadIdx.x] = w[threadIdx.x] * 3 + x[0]; }\n"};
    const char *const *two = STRINGS("2");
    for (int way = 0; way < 3; way++) {
        assert_ok(compile(sources[way / 2],
                          &PDL_RTC_OPTIONS(.target = "compute_90",
                                           INSTRUMENT(HOIST, .constant_params = two,
                                                      .constant_param_count = way == 1))));
        const char *wait = strstr(ptx(), "griddepcontrol.wait");
        assert_non_null(wait);
        assert_true((strstr(ptx(), "ld.global") < wait) == (way > 0));
        done();
    }
}

static void a_refused_kernel_stays_and_is_in_the_log(void **state)
{
    (void)state;
    static const char source[] =
        "extern \"C\" __global__ void t(cudaTextureObject_t t, float *y)\n"
        "{ y[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x); }\n"
        "extern \"C\" __global__ void k(float *y) { y[threadIdx.x] *= 2; }\n";
    const uint32_t outputs[] = {PDL_RTC_PTX, PDL_RTC_CUBIN};
    for (size_t i = 0; i < COUNT_OF(outputs) && (i == 0 || have_linker()); i++) {
        assert_ok(compile(source, &PDL_RTC_OPTIONS(SM90, .output = outputs[i], INSTRUMENT(ENTRY))));
        assert_int_equal(pdl_rtc_image_find(compiled, "t")->waits, PDL_NO);
        assert_int_equal(pdl_rtc_image_find(compiled, "k")->waits, PDL_YES);
        assert_memory_equal(pdl_rtc_image_log(compiled),
                            "t.cu: warning: t is not instrumented: ", 38);
        assert_null(strstr(pdl_rtc_image_log(compiled), "k is not instrumented"));
        done();
    }
}

static void a_target_without_the_instruction_refuses_all_kernels(void **state)
{
    (void)state;
    assert_ok(compile(plain, &PDL_RTC_OPTIONS(.target = "compute_80", INSTRUMENT(ENTRY))));
    assert_int_equal(pdl_rtc_image_find(compiled, "fc1")->waits, PDL_NO);
    assert_non_null(strstr(pdl_rtc_image_log(compiled), "its target is sm_80"));
    done();
}

static void kernels_are_chosen_by_their_names(void **state)
{
    (void)state;
    assert_ok(compile(plain, &PDL_RTC_OPTIONS(SM90, .output = PDL_RTC_PTX, NAMES("add<float>"),
                                              INSTRUMENT(ENTRY, .kernels = STRINGS("_Z3add*"),
                                                         .kernel_count = 1))));
    assert_int_equal(pdl_rtc_image_find(compiled, "add<float>")->waits, PDL_YES);
    assert_int_equal(pdl_rtc_image_find(compiled, "fc1")->waits, PDL_NO);
    assert_string_equal(pdl_rtc_image_log(compiled), "");
    done();
}

static void an_instrumented_kernel_is_launched_with_overlap(void **state)
{
    (void)state;
    const pdl_launch_desc desc =
        PDL_LAUNCH_DESC(.grid = {1}, .block = {32}, .overlap = PDL_OVERLAP_AUTO);
    assert_int_equal(mock_setup(state), 0);
    for (int instrumented = 0; instrumented < 2; instrumented++) {
        pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
        pdl_kernel *kernel = NULL;
        pdl_rtc_options options = PDL_RTC_OPTIONS(SM90, .output = PDL_RTC_PTX);
        options.instrument = instrumented ? &PDL_INSTRUMENT_OPTIONS(ENTRY) : NULL;
        assert_ok(compile(plain, &options));
        assert_ok(pdl_rtc_image_kernel(compiled, "fc1", &kernel));
        assert_ok(pdl_launch_explain(kernel, &desc, &report));
        assert_int_equal(report.overlap_reason,
                         instrumented ? PDL_REASON_GRANTED : PDL_REASON_NO_WAIT);
        pdl_kernel_destroy(kernel);
        done();
    }
    assert_int_equal(mock_teardown(state), 0);
}

/* In one folder, by two caches: each way of compiling is an entry of its own. */
static void each_instrumentation_is_cached_for_itself(void **state)
{
    (void)state;
    const pdl_instrument_options ways[] = {
        PDL_INSTRUMENT_OPTIONS(ENTRY),
        PDL_INSTRUMENT_OPTIONS(HOIST),
        PDL_INSTRUMENT_OPTIONS(HOIST, .trigger = PDL_INSTRUMENT_TRIGGER_WAIT),
        PDL_INSTRUMENT_OPTIONS(HOIST, .trigger = PDL_INSTRUMENT_TRIGGER_LAST_READ),
        PDL_INSTRUMENT_OPTIONS(HOIST, .constant_params = STRINGS("2"), .constant_param_count = 1),
        PDL_INSTRUMENT_OPTIONS(HOIST, .kernels = STRINGS("fc1"), .kernel_count = 1),
    };
    enum { WAYS = COUNT_OF(ways) + 1 };
    char *texts[WAYS];
    pdl_rtc_cache_desc desc = PDL_RTC_CACHE_DESC_INIT;
    char *folder = rtc_folder_make();
    desc.directory = folder;
    for (int again = 0; again < 2; again++) {
        pdl_rtc_stats stats = PDL_RTC_STATS_INIT;
        pdl_rtc_cache *cache = NULL;
        assert_ok(pdl_rtc_cache_create(&desc, &cache));
        for (size_t i = 0; i < WAYS; i++) {
            pdl_rtc_options options = PDL_RTC_OPTIONS(.target = "compute_90", NAMES("add<float>"));
            options.instrument = i > 0 ? &ways[i - 1] : NULL;
            assert_ok(pdl_rtc_cache_compile(cache, "t.cu", plain, &options, &compiled));
            if (again) {
                assert_string_equal(ptx(), texts[i]);
                free(texts[i]);
            } else {
                texts[i] = strdup(ptx());
                assert_true((strstr(texts[i], "griddepcontrol.wait") != NULL) == (i > 0));
                for (size_t j = 0; j < i; j++) {
                    assert_string_not_equal(texts[i], texts[j]);
                }
            }
            done();
        }
        assert_ok(pdl_rtc_cache_stats(cache, &stats));
        assert_int_equal(stats.misses, again ? 0 : WAYS);
        assert_int_equal(stats.disk_hits, again ? WAYS : 0);
        pdl_rtc_cache_destroy(cache);
    }
    rtc_folder_remove(folder);
}

/* ---- without one ---------------------------------------------------------------------------- */

static void options_that_mean_nothing_are_refused(void **state)
{
    (void)state;
    pdl_instrument_options small = PDL_INSTRUMENT_OPTIONS_INIT;
    small.size = 3;
    pdl_instrument_options large[2] = {PDL_INSTRUMENT_OPTIONS_INIT, {.size = 7}};
    large[0].size = sizeof(large);
    const struct {
        const pdl_instrument_options *options;
        pdl_status status;
        const char *field, *word;
    } cases[] = {
        {&PDL_INSTRUMENT_OPTIONS(.flags = PDL_INSTRUMENT_RAISE_TARGET), PDL_ERROR_OPTION,
         "instrument", "target"},
        {&PDL_INSTRUMENT_OPTIONS(.flags = 1u << 31), PDL_ERROR_INVALID_ARGUMENT, "instrument",
         "flags"},
        {&PDL_INSTRUMENT_OPTIONS(.wait = 7), PDL_ERROR_INVALID_ARGUMENT, "instrument", "wait is 7"},
        {&PDL_INSTRUMENT_OPTIONS(.trigger = -1), PDL_ERROR_INVALID_ARGUMENT, "instrument",
         "trigger is -1"},
        {&PDL_INSTRUMENT_OPTIONS(.constant_param_count = 1), PDL_ERROR_INVALID_ARGUMENT,
         "constant_params", "NULL"},
        {&PDL_INSTRUMENT_OPTIONS(.constant_params = STRINGS("k:2", "w"), .constant_param_count = 2),
         PDL_ERROR_OPTION, "constant_params", "\"w\" is refused"},
        {&PDL_INSTRUMENT_OPTIONS(.constant_params = STRINGS("*:w"), .constant_param_count = 1),
         PDL_ERROR_OPTION, "constant_params", "\"*:w\" is refused"},
        {&PDL_INSTRUMENT_OPTIONS(.kernels = STRINGS("k", NULL), .kernel_count = 2),
         PDL_ERROR_INVALID_ARGUMENT, "kernels", "kernels[1] is NULL"},
        {&PDL_INSTRUMENT_OPTIONS(.kernels = STRINGS("k"), .kernel_count = UINT64_C(1) << 40),
         PDL_ERROR_INVALID_ARGUMENT, "kernels", "too many"},
        {&small, PDL_ERROR_DESC_SIZE, "size", "3"},
        {large, PDL_ERROR_DESC_TOO_NEW, "size", "96"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        pdl_rtc_options options = PDL_RTC_OPTIONS(.target = "compute_90");
        pdl_kernel *kernel = NULL;
        options.instrument = cases[i].options;
        assert_refused(compile("", &options), cases[i].status, cases[i].field, cases[i].word);
        assert_int_equal(pdl_rtc_kernel(NULL, "", "k", &options, &kernel), cases[i].status);
    }
}

static void callers_of_an_older_version_have_no_instrumentation(void **state)
{
    (void)state;
    pdl_rtc_options options = PDL_RTC_OPTIONS(.target = "compute_90");
    options.instrument = (const void *)&options; /* what is behind the older struct */
    options.size = offsetof(pdl_rtc_options, instrument);
    assert_ok(compile("", &options));
    assert_string_equal(ptx(), rtc_mock.code);
    done();
}

static void ptx_that_cannot_be_read_stays_and_is_in_the_log(void **state)
{
    (void)state;
    rtc_mock.code = "no PTX at all";
    rtc_mock.log = "t.cu(1): warning: of NVRTC\n";
    assert_ok(compile("", &PDL_RTC_OPTIONS(.target = "compute_90", INSTRUMENT(ENTRY))));
    assert_string_equal(ptx(), rtc_mock.code);
    assert_memory_equal(pdl_rtc_image_log(compiled), rtc_mock.log, strlen(rtc_mock.log));
    assert_non_null(
        strstr(pdl_rtc_image_log(compiled), "\nt.cu: warning: the kernels are not instrumented: "));
    done();
}

/* ---- nvJitLink ------------------------------------------------------------------------------ */

static struct {
    char options[8][64];
    int option_count, type, links, complete_result;
    char input[1024];
} link_mock;

static nvJitLinkResult link_create(nvJitLinkHandle *handle, uint32_t count, const char **options)
{
    *handle = (nvJitLinkHandle)(void *)&link_mock;
    link_mock.option_count = (int)count;
    for (uint32_t i = 0; i < count && i < COUNT_OF(link_mock.options); i++) {
        (void)snprintf(link_mock.options[i], sizeof(link_mock.options[i]), "%s", options[i]);
    }
    link_mock.links++;
    return 0;
}

static nvJitLinkResult link_add(nvJitLinkHandle handle, nvJitLinkInputType type, const void *data,
                                size_t size, const char *name)
{
    (void)handle;
    link_mock.type = type;
    assert_true(size <= sizeof(link_mock.input));
    assert_string_equal(name, "t.cu");
    memcpy(link_mock.input, data, size);
    return 0;
}

static nvJitLinkResult link_complete(nvJitLinkHandle handle)
{
    (void)handle;
    return link_mock.complete_result;
}

static nvJitLinkResult link_destroy(nvJitLinkHandle *handle)
{
    *handle = NULL;
    return 0;
}

static nvJitLinkResult link_size(nvJitLinkHandle handle, size_t *size)
{
    (void)handle;
    *size = 9;
    return 0;
}

static nvJitLinkResult link_cubin(nvJitLinkHandle handle, void *code)
{
    (void)handle;
    memcpy(code, "a cubin!", 9);
    return 0;
}

static nvJitLinkResult link_no_log(nvJitLinkHandle handle, size_t *size)
{
    (void)handle;
    *size = 0;
    return 0;
}

static const struct pdl_rtc_linker mock_linker = {.create = link_create,
                                                  .destroy = link_destroy,
                                                  .add_data = link_add,
                                                  .complete = link_complete,
                                                  .cubin_size = link_size,
                                                  .cubin = link_cubin,
                                                  .error_log_size = link_no_log,
                                                  .number = 13000};

static void machine_code_is_made_of_the_instrumented_ptx(void **state)
{
    (void)state;
    size_t size = 0;
    memset(&link_mock, 0, sizeof(link_mock));
    pdl_rtc_linker_override(&mock_linker);
    assert_ok(compile("", &PDL_RTC_OPTIONS(.target = "sm_90a",
                                           ARGUMENTS("--ftz=true", "-maxrregcount=32"),
                                           INSTRUMENT(ENTRY))));
    assert_true(rtc_mock_had("--gpu-architecture=compute_90a"));
    assert_int_equal(link_mock.links, 1);
    assert_int_equal(link_mock.type, 2);
    assert_int_equal(link_mock.option_count, 2); /* PTX has its rounding already */
    assert_string_equal(link_mock.options[0], "-arch=sm_90a");
    assert_string_equal(link_mock.options[1], "-maxrregcount=32");
    assert_non_null(strstr(link_mock.input, "griddepcontrol.wait;\nret;"));
    assert_string_equal(pdl_rtc_image_code(compiled, &size), "a cubin!");
    assert_int_equal(size, 9);
    assert_int_equal(pdl_rtc_image_output(compiled), PDL_RTC_CUBIN);
    done();
}

static void what_the_linker_refuses_is_an_error(void **state)
{
    (void)state;
    memset(&link_mock, 0, sizeof(link_mock));
    link_mock.complete_result = 4;
    pdl_rtc_linker_override(&mock_linker);
    assert_refused(compile("", &PDL_RTC_OPTIONS(SM90, INSTRUMENT(ENTRY))), PDL_ERROR_COMPILE, NULL,
                   "nvJitLinkComplete", "all of it in");
    link_mock.complete_result = 0;
}

static void machine_code_needs_the_linker_and_ptx_does_not(void **state)
{
    (void)state;
    rtc_library_name("PDL_NVJITLINK", "/nowhere/libnvJitLink.so");
    assert_refused(compile("", &PDL_RTC_OPTIONS(SM90, INSTRUMENT(ENTRY))), PDL_ERROR_NO_COMPILER,
                   NULL, "nvJitLink", "instrumented", "/nowhere/libnvJitLink.so");
    assert_int_equal(rtc_mock.compilations, 0);
    assert_ok(compile("", &PDL_RTC_OPTIONS(.target = "compute_90", INSTRUMENT(ENTRY))));
    assert_int_equal(pdl_rtc_image_find(compiled, "k")->waits, PDL_YES);
    done();
    rtc_library_names_restore();
}

static void nothing(void)
{
}

static uint32_t failing_output;

static pdl_status compile_instrumented(void)
{
    return compile("", &PDL_RTC_OPTIONS(SM90, .output = failing_output,
                                        ARGUMENTS("-Xptxas=-v", "-lineinfo"), INSTRUMENT(ENTRY)));
}

static void check_compiled(pdl_status status)
{
    if (status == PDL_SUCCESS) {
        const char *code = failing_output == PDL_RTC_PTX ? ptx() : link_mock.input;
        assert_non_null(strstr(code, "griddepcontrol.wait;\nret;"));
        done();
    }
    assert_null(compiled);
    memset(&link_mock, 0, sizeof(link_mock));
}

static void a_text_is_instrumented_or_the_call_out_of_memory(void **state)
{
    (void)state;
    pdl_rtc_linker_override(&mock_linker);
    for (failing_output = PDL_RTC_CUBIN; failing_output <= PDL_RTC_PTX; failing_output++) {
        each_fails("instrument", nothing, compile_instrumented, check_compiled);
    }
}

int main(void)
{
    const struct CMUnitTest real[] = {
        cmocka_unit_test(every_kernel_of_every_output_waits_and_triggers_as_asked),
        cmocka_unit_test(what_waits_already_is_as_it_was),
        cmocka_unit_test(a_hoisted_wait_comes_after_reads_through_constant_parameters),
        cmocka_unit_test(a_refused_kernel_stays_and_is_in_the_log),
        cmocka_unit_test(a_target_without_the_instruction_refuses_all_kernels),
        cmocka_unit_test(kernels_are_chosen_by_their_names),
        cmocka_unit_test(an_instrumented_kernel_is_launched_with_overlap),
        cmocka_unit_test(each_instrumentation_is_cached_for_itself),
    };
    const struct CMUnitTest mocked[] = {
        RTC_MOCK_TEST(options_that_mean_nothing_are_refused),
        RTC_MOCK_TEST(callers_of_an_older_version_have_no_instrumentation),
        RTC_MOCK_TEST(ptx_that_cannot_be_read_stays_and_is_in_the_log),
        RTC_MOCK_TEST(machine_code_is_made_of_the_instrumented_ptx),
        RTC_MOCK_TEST(what_the_linker_refuses_is_an_error),
        RTC_MOCK_TEST(machine_code_needs_the_linker_and_ptx_does_not),
        RTC_MOCK_TEST(a_text_is_instrumented_or_the_call_out_of_memory),
    };
    return rtc_run(mocked, real);
}
