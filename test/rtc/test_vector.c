/* SPDX-License-Identifier: MIT */
/* Plans of element-wise launches, beside a brute force that goes through every element of every row. */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <pdl/rtc.h>

#include "mock.h"
#include "rtc/vector.h"
#include "rtc_support.h"
#include "support.h"

static const pdl_device_info h200 = {.size = sizeof(pdl_device_info),
                                     .compute_capability_major = 9,
                                     .multiprocessor_count = 132,
                                     .max_threads_per_multiprocessor = 2048,
                                     .max_grid = {2147483647, 65535, 65535}};
static const pdl_device_info b200 = {.size = sizeof(pdl_device_info),
                                     .compute_capability_major = 10,
                                     .multiprocessor_count = 148,
                                     .max_threads_per_multiprocessor = 2048,
                                     .max_grid = {2147483647, 65535, 65535}};

/* What a kernel of that width does in one row, element by element. */
struct row_facts {
    int64_t head;
    int64_t vectors;
    bool shifted[PDL_VECTOR_OPERANDS_MAX];
};

static uint64_t at(const pdl_vector_operand *operand, int64_t row, int64_t column)
{
    return operand->address + (uint64_t)(row * operand->stride + column) * operand->element_size;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static struct row_facts look_at_row(const pdl_device_info *device,
                                    const pdl_vector_operand *operands, size_t count, int64_t row,
                                    int64_t columns, uint32_t width)
{
    const uint64_t widest = device->compute_capability_major >= 10 ? 32 : 16;
    struct row_facts facts = {0};
    while (facts.head < columns &&
           at(&operands[0], row, facts.head) %
                   least(widest, (uint64_t)width * operands[0].element_size) !=
               0) {
        facts.head++;
    }
    for (int64_t i = facts.head; i + width <= columns; i += width) {
        facts.vectors++;
    }
    for (size_t i = 1; i < count; i++) {
        facts.shifted[i] = at(&operands[i], row, facts.head) %
                               least(widest, (uint64_t)width * operands[i].element_size) !=
                           0;
    }
    return facts;
}

static bool half_in_vectors(const pdl_device_info *device, const pdl_vector_operand *operands,
                            size_t count, int64_t rows, int64_t columns, uint32_t width)
{
    for (int64_t row = 0; row < rows; row++) {
        const struct row_facts facts = look_at_row(device, operands, count, row, columns, width);
        if (2 * facts.vectors * width < columns) {
            return false;
        }
    }
    return true;
}

/* Width, flags and whether the launch has a thread for each vector, compared with the brute force. */
static void check_plan(const pdl_device_info *device, const pdl_vector_operand *operands,
                       size_t count, int64_t rows, int64_t columns)
{
    pdl_vector_plan plan;
    assert_int_equal(pdl_rtc_vector_shape(device, operands, count, rows, columns, &plan),
                     PDL_SUCCESS);
    bool joined = rows > 0 && columns > 0;
    uint32_t largest = 1;
    for (size_t i = 0; i < count; i++) {
        joined = joined && operands[i].stride == columns;
        largest = operands[i].element_size > largest ? operands[i].element_size : largest;
    }
    const int64_t expected_rows = rows == 0 || columns == 0 ? 0 : joined ? 1 : rows;
    const int64_t expected_columns = expected_rows == 0 ? 0 : joined ? rows * columns : columns;
    assert_int_equal(plan.rows, expected_rows);
    assert_int_equal(plan.columns, expected_columns);

    uint32_t width = (device->compute_capability_major >= 10 ? 32 : 16) / largest;
    while (width > 1 &&
           !half_in_vectors(device, operands, count, expected_rows, expected_columns, width)) {
        width /= 2;
    }
    assert_int_equal(plan.width, width);

    uint32_t shifted = 0;
    uint32_t guarded = 0;
    int64_t vectors = 0;
    for (int64_t row = 0; row < expected_rows; row++) {
        const struct row_facts facts =
            look_at_row(device, operands, count, row, expected_columns, width);
        for (size_t i = 1; i < count; i++) {
            shifted |= facts.shifted[i] ? 1u << i : 0;
        }
        guarded |= facts.vectors * width != expected_columns;
        vectors = facts.vectors > vectors ? facts.vectors : vectors;
    }
    assert_int_equal(plan.shifted, shifted);
    assert_int_equal(plan.guarded, guarded);
    assert_true(plan.unroll == 1 || plan.unroll == 4);
    const uint32_t threads = plan.block[0] * plan.block[1];
    assert_true(threads >= 1 && threads <= 256 && plan.block[2] == 1 && plan.grid[2] == 1);
    assert_true((int64_t)plan.grid[0] * plan.block[0] * plan.unroll >= vectors);
    assert_true((int64_t)plan.grid[1] * plan.block[1] >= expected_rows);
    assert_true(plan.grid[0] >= 1 && plan.grid[1] >= 1);
    assert_true((plan.grid[1] - 1) * plan.block[1] < (expected_rows > 0 ? expected_rows : 1));
}

static void plans_of_small_arrays_are_those_of_brute_force(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 4, 8};
    for (int i = 0; i < 16; i++) {
        const uint32_t out = sizes[i / 4];
        const uint32_t in = sizes[i % 4];
        for (int64_t columns = 0; columns < 70; columns += columns < 20 ? 1 : 7) {
            for (int64_t rows = 0; rows < 40; rows += rows < 4 ? 1 : 17) {
                for (uint64_t offset = 0; offset < 36; offset += offset < 9 ? 1 : 4) {
                    for (int64_t gap = 0; gap < 3; gap++) {
                        const pdl_vector_operand operands[] = {
                            {4096 + offset * out, columns + gap, out, 0},
                            {8192 + (offset * 5 % 36) * in, columns + gap * 2, in, 0}};
                        check_plan(&h200, operands, 2, rows, columns);
                        check_plan(&b200, operands, 2, rows, columns);
                    }
                }
            }
        }
    }
}

static void an_array_of_one_operand_is_planned(void **state)
{
    (void)state;
    const pdl_vector_operand output = {4098, 0, 2, 0};
    check_plan(&h200, &output, 1, 1, 1000);
}

static void a_large_array_is_unrolled_and_fills_the_device(void **state)
{
    (void)state;
    const pdl_vector_operand operands[] = {{1 << 20, 0, 2, 0}, {1 << 30, 0, 2, 0}};
    pdl_vector_plan plan;
    assert_int_equal(pdl_rtc_vector_shape(&h200, operands, 2, 1, 256 << 20, &plan), PDL_SUCCESS);
    assert_int_equal(plan.width, 8);
    assert_int_equal(plan.unroll, 4);
    assert_int_equal(plan.block[0], 256);
    assert_int_equal(plan.grid[0], (256 << 20) / (8 * 4 * 256));
    assert_int_equal(plan.shifted, 0);
    assert_int_equal(plan.guarded, 0);
}

static void an_array_that_does_not_fill_the_device_is_not_unrolled(void **state)
{
    (void)state;
    const pdl_vector_operand operands[] = {{1 << 20, 0, 4, 0}, {1 << 30, 0, 4, 0}};
    const int64_t resident = 132 * 2048;
    pdl_vector_plan plan;
    assert_int_equal(pdl_rtc_vector_shape(&h200, operands, 2, 1, 4 * 4 * resident - 4, &plan),
                     PDL_SUCCESS);
    assert_int_equal(plan.unroll, 1);
    assert_int_equal(pdl_rtc_vector_shape(&h200, operands, 2, 1, 4 * 4 * resident, &plan),
                     PDL_SUCCESS);
    assert_int_equal(plan.unroll, 4);
}

static void short_rows_are_not_unrolled_however_many_they_are(void **state)
{
    (void)state;
    const pdl_vector_operand operands[] = {{1 << 20, 1024, 4, 0}, {1 << 30, 1024, 4, 0}};
    pdl_vector_plan plan;
    assert_int_equal(pdl_rtc_vector_shape(&h200, operands, 2, 1 << 20, 508, &plan), PDL_SUCCESS);
    assert_int_equal(plan.unroll, 1);
    assert_int_equal(pdl_rtc_vector_shape(&h200, operands, 2, 1 << 20, 512, &plan), PDL_SUCCESS);
    assert_int_equal(plan.unroll, 4);
    assert_int_equal(plan.block[0], 32);
    assert_int_equal(plan.block[1], 8);
}

static void the_grid_stays_within_the_device_s_limits(void **state)
{
    (void)state;
    const pdl_vector_operand operands[] = {{1 << 20, 3, 8, 0}, {1 << 30, 3, 8, 0}};
    pdl_device_info small = h200;
    pdl_vector_plan plan;
    assert_int_equal(pdl_rtc_vector_shape(&h200, operands, 2, 1 << 30, 2, &plan), PDL_SUCCESS);
    assert_int_equal(plan.grid[1], 65535);
    small.max_grid[0] = 1000;
    assert_int_equal(pdl_rtc_vector_shape(&small, operands, 2, 1, (int64_t)1 << 40, &plan),
                     PDL_SUCCESS);
    assert_int_equal(plan.grid[0], 1000);
}

static void what_is_no_array_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *field;
        pdl_vector_operand operand;
        size_t count;
        int64_t rows, columns;
    } refused[] = {
        {"count", {4096, 8, 4, 0}, 0, 1, 1},
        {"count", {4096, 8, 4, 0}, PDL_VECTOR_OPERANDS_MAX + 1, 1, 1},
        {"rows", {4096, 8, 4, 0}, 1, -1, 1},
        {"rows", {4096, 8, 4, 0}, 1, 1, -1},
        {"rows", {4096, 8, 4, 0}, 1, INT64_MAX / 4, 8},
        {"element_size", {4096, 8, 3, 0}, 1, 1, 1},
        {"element_size", {4096, 8, 16, 0}, 1, 1, 1},
        {"address", {4098, 8, 4, 0}, 1, 1, 1},
        {"reserved", {4096, 8, 4, 1}, 1, 1, 1},
        {"stride", {4096, 7, 4, 0}, 1, 2, 8},
        {"stride", {4096, -7, 4, 0}, 1, 2, 8},
        {NULL, {4096, 0, 4, 0}, 1, 1, 8},
        {NULL, {4096, -8, 4, 0}, 1, 2, 8},
    };
    pdl_vector_plan plan;
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        const pdl_status status = pdl_rtc_vector_shape(&h200, &refused[i].operand, refused[i].count,
                                                       refused[i].rows, refused[i].columns, &plan);
        if (refused[i].field == NULL) {
            assert_int_equal(status, PDL_SUCCESS);
        } else {
            assert_int_equal(status, PDL_ERROR_INVALID_ARGUMENT);
            assert_string_equal(pdl_last_error()->field, refused[i].field);
        }
    }
    assert_int_equal(pdl_rtc_vector_shape(&h200, NULL, 1, 1, 1, &plan), PDL_ERROR_INVALID_ARGUMENT);
    assert_string_equal(pdl_last_error()->field, "operands");
}

static void each_type_has_a_name_and_a_size(void **state)
{
    (void)state;
    for (int type = PDL_VECTOR_FLOAT64; type <= PDL_VECTOR_BOOL; type++) {
        assert_non_null(pdl_vector_type_name((pdl_vector_type)type));
        assert_true(pdl_vector_type_size((pdl_vector_type)type) >= 1);
    }
    assert_string_equal(pdl_vector_type_name(PDL_VECTOR_FLOAT16), "pdl_half");
    assert_int_equal(pdl_vector_type_size(PDL_VECTOR_FLOAT16), 2);
    assert_null(pdl_vector_type_name((pdl_vector_type)0));
    assert_null(pdl_vector_type_name((pdl_vector_type)16));
    assert_int_equal(pdl_vector_type_size((pdl_vector_type)-1), 0);
}

static void a_plan_asks_the_device(void **state)
{
    (void)state;
    const pdl_vector_operand output = {4096, 0, 4, 0};
    pdl_vector_plan plan = PDL_VECTOR_PLAN_INIT;
    assert_int_equal(pdl_vector_plan_make(&output, 1, 1, 100, 0, &plan), PDL_SUCCESS);
    assert_int_equal(plan.width, 4);
    assert_int_equal(pdl_vector_plan_make(&output, 1, 1, 100, 63, &plan), PDL_ERROR_INVALID_DEVICE);
}

/* The device headers are in the library: a text finds them without any directory. */
static void a_text_with_the_vector_header_compiles(void **state)
{
    (void)state;
    static const char text[] =
        "#include <pdl/device.cuh>\n"
        "#include <pdl/vector.cuh>\n"
        "struct same { template <typename C> __device__ C operator()(C x) const { return x; } };\n"
        "template <typename In, typename Out, int Width>\n"
        "__global__ void copy(long long n, Out *out, const In *in)\n"
        "{\n"
        "    PDL_WAIT();\n"
        "    pdl_vector_map<Width, 1, PDL_VECTOR_WRITE>(1, n, same(), pdl_vector_out(out),\n"
        "                                               pdl_vector_in(in));\n"
        "}\n";
    if (!rtc_have_nvrtc()) {
        skip();
    }
    for (int type = PDL_VECTOR_FLOAT64; type <= PDL_VECTOR_BOOL; type++) {
        char name[128];
        const char *const names[] = {name};
        pdl_rtc_options options = PDL_RTC_OPTIONS_INIT;
        pdl_rtc_image *image = NULL;
        snprintf(name, sizeof(name), "copy<%s, %s, 2>", pdl_vector_type_name((pdl_vector_type)type),
                 pdl_vector_type_name((pdl_vector_type)(16 - type)));
        options.target = "sm_90";
        options.names = names;
        options.name_count = 1;
        assert_int_equal(pdl_rtc_compile("copy.cu", text, &options, &image), PDL_SUCCESS);
        assert_string_equal(pdl_rtc_image_log(image), "");
        assert_int_equal(pdl_rtc_image_info(image, 0)->waits, PDL_YES);
        pdl_rtc_image_destroy(image);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MOCK_TEST(plans_of_small_arrays_are_those_of_brute_force),
        MOCK_TEST(an_array_of_one_operand_is_planned),
        MOCK_TEST(a_large_array_is_unrolled_and_fills_the_device),
        MOCK_TEST(an_array_that_does_not_fill_the_device_is_not_unrolled),
        MOCK_TEST(short_rows_are_not_unrolled_however_many_they_are),
        MOCK_TEST(the_grid_stays_within_the_device_s_limits),
        MOCK_TEST(what_is_no_array_is_refused),
        MOCK_TEST(each_type_has_a_name_and_a_size),
        MOCK_TEST(a_plan_asks_the_device),
        MOCK_TEST(a_text_with_the_vector_header_compiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
