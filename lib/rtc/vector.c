/* SPDX-License-Identifier: MIT */
/* Plans of element-wise launches: what include/pdl/vector.cuh is to be instantiated and launched with. */
#include <inttypes.h>
#include <stdbool.h>

#include "core/error.h"
#include "core/sized.h"
#include "rtc/vector.h"

enum {
    THREADS = 256,   /* of a block: small enough that a few blocks fill what a big one leaves */
    UNROLL = 4,      /* vectors of a thread where there are enough of them */
    LONG_ROW = 128,  /* vectors: below, a warp of an unrolled kernel would reach over many rows */
    SHIFT_LEAST = 4, /* bytes: smaller vectors are loaded by elements where they are not aligned */
    PHASES = 32,     /* rows of equal strides repeat their alignment after so many */
    LARGEST_WIDTH = 32
};

static const struct {
    const char *name;
    uint32_t size;
} types[] = {
    [PDL_VECTOR_FLOAT64] = {"double", 8},
    [PDL_VECTOR_FLOAT32] = {"float", 4},
    [PDL_VECTOR_FLOAT16] = {"pdl_half", 2},
    [PDL_VECTOR_BFLOAT16] = {"pdl_bfloat16", 2},
    [PDL_VECTOR_FLOAT8_E4M3] = {"pdl_float8_e4m3", 1},
    [PDL_VECTOR_FLOAT8_E5M2] = {"pdl_float8_e5m2", 1},
    [PDL_VECTOR_INT8] = {"signed char", 1},
    [PDL_VECTOR_UINT8] = {"unsigned char", 1},
    [PDL_VECTOR_INT16] = {"short", 2},
    [PDL_VECTOR_UINT16] = {"unsigned short", 2},
    [PDL_VECTOR_INT32] = {"int", 4},
    [PDL_VECTOR_UINT32] = {"unsigned", 4},
    [PDL_VECTOR_INT64] = {"long long", 8},
    [PDL_VECTOR_UINT64] = {"unsigned long long", 8},
    [PDL_VECTOR_BOOL] = {"bool", 1},
};

const char *pdl_vector_type_name(pdl_vector_type type)
{
    const size_t index = (size_t)type;
    return index < sizeof(types) / sizeof(types[0]) ? types[index].name : NULL;
}

uint32_t pdl_vector_type_size(pdl_vector_type type)
{
    const size_t index = (size_t)type;
    return index < sizeof(types) / sizeof(types[0]) ? types[index].size : 0;
}

/* What the kernel works on: rows that are not empty, or none. */
struct job {
    const pdl_vector_operand *operands;
    size_t count;
    int64_t rows;
    int64_t columns;
    uint32_t vector_bytes; /* of the widest load */
};

static pdl_status check_operand(const pdl_vector_operand *operand, size_t index)
{
    const uint32_t size = operand->element_size;
    if (size != 1 && size != 2 && size != 4 && size != 8) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "element_size",
                              "operand %zu has elements of %" PRIu32 " bytes, not 1, 2, 4 or 8",
                              index, size);
    }
    if (operand->address % size != 0) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "address",
                              "operand %zu is at 0x%" PRIx64
                              ", which is not a multiple of its elements' %" PRIu32 " bytes",
                              index, operand->address, size);
    }
    if (operand->reserved != 0) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "reserved",
                              "operand %zu has a reserved field that is not 0", index);
    }
    return PDL_SUCCESS;
}

static pdl_status check(const struct job *job)
{
    if (job->operands == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "operands", "operands is NULL");
    }
    if (job->count == 0 || job->count > PDL_VECTOR_OPERANDS_MAX) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "count",
                              "there are %zu operands, not 1 to %d", job->count,
                              PDL_VECTOR_OPERANDS_MAX);
    }
    /* Far below what would overflow: elements have up to 8 bytes. */
    if (job->rows < 0 || job->columns < 0 ||
        (job->columns > 0 && job->rows > (INT64_MAX >> 4) / job->columns)) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "rows",
                              "%" PRId64 " rows of %" PRId64 " are no array", job->rows,
                              job->columns);
    }
    for (size_t i = 0; i < job->count; i++) {
        const pdl_status status = check_operand(&job->operands[i], i);
        if (status != PDL_SUCCESS) {
            return status;
        }
    }
    const int64_t stride = job->operands[0].stride;
    if (job->rows > 1 && stride < job->columns && stride > -job->columns) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "stride",
                              "the output's rows of %" PRId64 " elements begin %" PRId64
                              " elements apart: they overlap",
                              job->columns, stride);
    }
    return PDL_SUCCESS;
}

/* Rows without gaps are one row, and an empty array has no rows. */
static void join_rows(struct job *job)
{
    if (job->rows == 0 || job->columns == 0) {
        job->rows = 0;
        job->columns = 0;
        return;
    }
    for (size_t i = 0; i < job->count; i++) {
        if (job->operands[i].stride != job->columns) {
            return;
        }
    }
    job->columns *= job->rows;
    job->rows = 1;
}

static int64_t phases(const struct job *job)
{
    return job->rows < PHASES ? job->rows : PHASES;
}

static uint64_t row_address(const pdl_vector_operand *operand, int64_t row)
{
    return operand->address + (uint64_t)row * (uint64_t)operand->stride * operand->element_size;
}

static uint32_t piece_of(const struct job *job, const pdl_vector_operand *operand, uint32_t width)
{
    const uint32_t bytes = width * operand->element_size;
    return bytes < job->vector_bytes ? bytes : job->vector_bytes;
}

/* Elements before the first at which the output is aligned. */
static int64_t head_of(const struct job *job, int64_t row, uint32_t width)
{
    const pdl_vector_operand *output = &job->operands[0];
    const uint64_t past = row_address(output, row) % piece_of(job, output, width);
    const int64_t head =
        past == 0 ? 0 : (int64_t)((piece_of(job, output, width) - past) / output->element_size);
    return head < job->columns ? head : job->columns;
}

static bool mostly_vectors(const struct job *job, uint32_t width)
{
    for (int64_t row = 0; row < phases(job); row++) {
        const int64_t rest = job->columns - head_of(job, row, width);
        if (2 * (rest - rest % width) < job->columns) {
            return false;
        }
    }
    return true;
}

static uint32_t choose_width(const struct job *job)
{
    uint32_t largest = 1;
    for (size_t i = 0; i < job->count; i++) {
        const uint32_t size = job->operands[i].element_size;
        largest = size > largest ? size : largest;
    }
    uint32_t width = job->vector_bytes / largest;
    width = width > LARGEST_WIDTH ? LARGEST_WIDTH : width;
    while (width > 1 && !mostly_vectors(job, width)) {
        width /= 2;
    }
    return width;
}

static void find_guards(const struct job *job, pdl_vector_plan *plan)
{
    for (int64_t row = 0; row < phases(job); row++) {
        const int64_t head = head_of(job, row, plan->width);
        if (head != 0 || (job->columns - head) % plan->width != 0) {
            plan->guarded = 1;
        }
        for (size_t i = 1; i < job->count; i++) {
            const pdl_vector_operand *input = &job->operands[i];
            const uint64_t first = row_address(input, row) + (uint64_t)head * input->element_size;
            if (first % piece_of(job, input, plan->width) != 0) {
                plan->shifted |= 1u << i;
            }
        }
    }
}

static int64_t divide_up(int64_t value, int64_t by)
{
    return value / by + (value % by != 0);
}

static uint32_t at_most(int64_t value, int64_t limit)
{
    return (uint32_t)(value < limit ? value : limit);
}

/* The smallest power of two that is at least `value`, or `limit`, which is one. */
static uint32_t power_of_two(int64_t value, uint32_t limit)
{
    uint32_t power = 1;
    while (power < limit && power < value) {
        power *= 2;
    }
    return power;
}

static void choose_shape(const struct job *job, const pdl_device_info *device,
                         pdl_vector_plan *plan)
{
    const int64_t vectors = divide_up(job->columns, plan->width); /* of a row */
    const int64_t resident =
        (int64_t)device->multiprocessor_count * device->max_threads_per_multiprocessor;
    const bool many =
        job->rows > 0 && vectors >= divide_up(UNROLL * resident, job->rows) && vectors >= LONG_ROW;
    plan->unroll = many ? UNROLL : 1;

    const int64_t wanted = divide_up(vectors, plan->unroll); /* threads of a row */
    const uint32_t x = power_of_two(wanted, THREADS);
    const uint32_t y = power_of_two(job->rows, THREADS / x);
    const int64_t blocks_x = divide_up(wanted, x);
    const int64_t blocks_y = divide_up(job->rows, y);
    plan->block[0] = x;
    plan->block[1] = y;
    plan->block[2] = 1;
    plan->grid[0] = at_most(blocks_x > 0 ? blocks_x : 1, device->max_grid[0]);
    plan->grid[1] = at_most(blocks_y > 0 ? blocks_y : 1, device->max_grid[1]);
    plan->grid[2] = 1;
}

pdl_status pdl_rtc_vector_shape(const pdl_device_info *device, const pdl_vector_operand *operands,
                                size_t count, int64_t rows, int64_t columns, pdl_vector_plan *plan)
{
    struct job job = {.operands = operands, .count = count, .rows = rows, .columns = columns};
    job.vector_bytes = device->compute_capability_major >= 10 ? 32 : 16;
    const pdl_status status = check(&job);
    if (status != PDL_SUCCESS) {
        return status;
    }
    join_rows(&job);
    *plan = (pdl_vector_plan){.size = sizeof(*plan), .rows = job.rows, .columns = job.columns};
    plan->width = choose_width(&job);
    find_guards(&job, plan);
    choose_shape(&job, device, plan);
    return PDL_SUCCESS;
}

pdl_status pdl_vector_plan_make(const pdl_vector_operand *operands, size_t count, int64_t rows,
                                int64_t columns, int device, pdl_vector_plan *plan)
{
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    pdl_vector_plan made;
    pdl_status status = pdl_sized_check(plan, "plan");
    if (status == PDL_SUCCESS) {
        status = pdl_device_get(device, &info);
    }
    if (status == PDL_SUCCESS) {
        status = pdl_rtc_vector_shape(&info, operands, count, rows, columns, &made);
    }
    if (status == PDL_SUCCESS) {
        pdl_sized_copy(plan, &made, sizeof(made));
    }
    return status;
}
