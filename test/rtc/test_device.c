/* SPDX-License-Identifier: MIT */
/* The device headers, by the NVRTC that is here: every macro and function of them,
 * for standards of C++ and for targets with and without PDL. */
#include "rtc_support.h"

static pdl_rtc_image *compiled;

/* device.cuh */
static const char macros[] =
    "#include <pdl/device.cuh>\n"
    "template <unsigned Size, unsigned Align> struct alignas(Align) bits { unsigned char b[Size]; "
    "};\n"
    "template <typename T> __device__ void load(T *x, const T *c, volatile T *v)\n"
    "{\n"
    "    const T before = PDL_LOAD(c);\n"
    "    PDL_WAIT();\n"
    "    *x = PDL_LOAD(x);\n"
    "    x[1] = before;\n"
    "}\n"
    "#define LOADS(name, size, align)                                                              "
    "\\\n"
    "    extern \"C\" __global__ void name(bits<size, align> *PDL_RESTRICT x,                      "
    "  \\\n"
    "                                    const bits<size, align> *PDL_RESTRICT c)                  "
    "\\\n"
    "    {                                                                                         "
    "\\\n"
    "        load(x, c, (volatile bits<size, align> *)x);                                          "
    "\\\n"
    "    }\n"
    "LOADS(load_1, 1, 1)\n"
    "LOADS(load_2, 2, 2)\n"
    "LOADS(load_4, 4, 4)\n"
    "LOADS(load_8, 8, 8)\n"
    "LOADS(load_16, 16, 16)\n"
    "LOADS(load_halves, 16, 8)\n"
    "struct pair { unsigned long long next, value; };\n"
    "extern \"C\" __global__ void follow(const volatile int *v, const pair *p, unsigned long long "
    "*y)\n"
    "{\n"
    "    unsigned long long sum = PDL_LOAD(v);\n"
    "    while (p != nullptr) {\n"
    "        const pair one = PDL_LOAD(p);\n"
    "        sum += one.value;\n"
    "        p = (const pair *)one.next;\n"
    "    }\n"
    "    *y = sum;\n"
    "}\n"
    "extern \"C\" __global__ void rest(const float *weights, float *x, unsigned long long bytes)\n"
    "{\n"
    "    PDL_CONSTANT_PARAM(weights);\n"
    "    PDL_LINT_ALLOW(\"read-before-wait\", \"it is a test\");\n"
    "    PDL_PREFETCH_L2(weights);\n"
    "    PDL_PREFETCH_L2_RANGE(weights, bytes);\n"
    "    PDL_PREFETCH_TENSORMAP(weights);\n"
    "    PDL_WAIT();\n"
    "    PDL_TRIGGER_POINT(0);\n"
    "    PDL_TRIGGER_POINT(1);\n"
    "    *x = PDL_DEVICE_ENABLED;\n"
    "    PDL_LAUNCH_DEPENDENTS();\n"
    "}\n";

/* types.cuh and vector.cuh */
static const char functions[] =
    "#include <pdl/vector.cuh>\n"
    "struct mine { unsigned short bits; };\n"
    "PDL_STORAGE_AS(mine, pdl_half)\n"
    "struct sum {\n"
    "    template <typename A> __device__ A operator()(A a) const { return a; }\n"
    "    template <typename A, typename B> __device__ auto operator()(A a, B b) const -> "
    "decltype(a + b)\n"
    "    {\n"
    "        return a + b;\n"
    "    }\n"
    "};\n"
    "template <typename T, typename C> __device__ void value(T *x, C c)\n"
    "{\n"
    "    typename pdl_real<C>::type real = 1;\n"
    "    x[0] = pdl_convert<T>(c);\n"
    "    x[1] = pdl_add(x[1], c);\n"
    "    x[2] = pdl_convert<T>(real);\n"
    "}\n"
    "template <typename T> __global__ void all(T *x)\n"
    "{\n"
    "    value(x, 1);\n"
    "    value(x, 1u);\n"
    "    value(x, 1ll);\n"
    "    value(x, 1ull);\n"
    "    value(x, 1.0f);\n"
    "    value(x, 1.0);\n"
    "}\n"
    "template <typename T> __global__ void map(T *x, const T *in, const mine *other, long long n)\n"
    "{\n"
    "    pdl_vector_map<8, 2, PDL_VECTOR_WRITE>(2, n, sum(), pdl_vector_out(x, n),\n"
    "                                           pdl_vector_in(in, n), pdl_vector_in(other));\n"
    "    pdl_vector_map<4, 1, PDL_VECTOR_ADD>(1, n, sum(), pdl_vector_out(x), "
    "pdl_vector_in(other));\n"
    "}\n"
    "#define ALL(T) template __global__ void all<T>(T *);\n"
    "#define MAP(T) template __global__ void map<T>(T *, const T *, const mine *, long long);\n"
    "ALL(bool) ALL(char) ALL(signed char) ALL(unsigned char) ALL(short) ALL(unsigned short)\n"
    "ALL(int) ALL(unsigned) ALL(long) ALL(unsigned long) ALL(long long) ALL(unsigned long long)\n"
    "ALL(float) ALL(double) ALL(pdl_half) ALL(pdl_bfloat16) ALL(mine)\n"
    "MAP(bool) MAP(double) MAP(mine)\n"
    "#if __CUDA_ARCH__ >= 900\n"
    "ALL(pdl_float8_e4m3) ALL(pdl_float8_e5m2)\n"
    "#endif\n";

static void check(const char *text, const char *target, const char *standard, const char *define)
{
    assert_ok(pdl_rtc_compile(
        "t.cu", text,
        &PDL_RTC_OPTIONS(.target = target, ARGUMENTS(standard, define, "-DPDL_FAULT_INJECT_NS=5",
                                                     "-I" PDL_TEST_HEADERS)),
        &compiled));
    assert_string_equal(pdl_rtc_log(), "");
    pdl_rtc_image_destroy(compiled);
    compiled = NULL;
}

static const char *const standards[] = {"--std=c++11", "--std=c++14", "--std=c++17", "--std=c++20"};

static void every_macro_of_the_device_header_compiles(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(standards); i++) {
        check(macros, "compute_90", standards[i], "-DPDL_TRIGGER_SELECT=1");
    }
    check(macros, "compute_80", "--std=c++11", "-DN");
    check(macros, "sm_90", "--std=c++17", "-DPDL_FAULT_INJECT=1");
    check(macros, "sm_90", "--std=c++17", "-DPDL_FAULT_INJECT=2");
}

static void every_type_and_function_of_the_vector_headers_compiles(void **state)
{
    (void)state;
    check(functions, "compute_90", "--std=c++11", "-DN");
    check(functions, "compute_90", "--std=c++20", "-DN");
    check(functions, "compute_80", "--std=c++11", "-DN");
}

static void every_macro_of_the_trace_header_compiles(void **state)
{
    (void)state;
    static const char text[] = "#include <pdl/trace.cuh>\n"
                               "extern \"C\" __global__ void k(int *x PDL_TRACE_PARAMETER)\n"
                               "{\n"
                               "    PDL_TRACE_BEGIN();\n"
                               "    PDL_TRACE_WAIT();\n"
                               "    *x = 1;\n"
                               "    PDL_TRACE_LAUNCH_DEPENDENTS();\n"
                               "    PDL_TRACE_END();\n"
                               "}\n";
    for (size_t i = 0; i < COUNT_OF(standards); i++) {
        check(text, "compute_90", standards[i], "-DPDL_TRACE=1");
    }
    check(text, "compute_80", standards[0], "-DPDL_TRACE=0");
}

/* NVRTC 12.0 has no early clobber: "=&l". */
static void no_constraint_is_one_that_the_oldest_nvrtc_refuses(void **state)
{
    (void)state;
    static const char *const headers[] = {"device", "types", "vector", "trace", "cdp"};
    for (size_t i = 0; i < COUNT_OF(headers); i++) {
        char path[4096];
        (void)snprintf(path, sizeof(path), "%s/pdl/%s.cuh", PDL_TEST_HEADERS, headers[i]);
        char *text = rtc_file_read(path);
        for (const char *at = text; (at = strchr(at, '"')) != NULL; at++) {
            const size_t size = strspn(at + 1, "=+&%");
            const bool constraint = size > 0 && at[1 + size] != '\0' && at[2 + size] == '"';
            assert_null(constraint ? memchr(at + 1, '&', size) : NULL);
        }
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest mocked[] = {
        cmocka_unit_test(no_constraint_is_one_that_the_oldest_nvrtc_refuses),
    };
    const struct CMUnitTest real[] = {
        cmocka_unit_test(every_macro_of_the_device_header_compiles),
        cmocka_unit_test(every_macro_of_the_trace_header_compiles),
        cmocka_unit_test(every_type_and_function_of_the_vector_headers_compiles),
    };
    return rtc_run(mocked, real);
}
