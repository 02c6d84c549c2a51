/* SPDX-License-Identifier: MIT */
/* The buffers of a chain that a JSON file describes. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gpu.h"
#include "common/memory.h"
#include "tune/read.h"

/* A type of numbers, and one number stored in it. */
struct type {
    const char *name;
    size_t size;
    void (*store)(double number, unsigned char *to);
    double least, most; /* what it can hold */
};

#define STORE(name, type)                                                                          \
    static void store_##name(double number, unsigned char *to)                                     \
    {                                                                                              \
        const type value = (type)number;                                                           \
        memcpy(to, &value, sizeof(value));                                                         \
    }
STORE(f64, double)
STORE(f32, float)
STORE(i32, int32_t)
STORE(u32, uint32_t)
STORE(i64, int64_t)
STORE(u64, uint64_t)
STORE(i8, int8_t)
STORE(u8, uint8_t)

/* The upper half of an fp32, rounded towards zero. */
static void store_bf16(double number, unsigned char *to)
{
    const float value = (float)number;
    memcpy(to, (const unsigned char *)&value + 2, 2);
}

/* Rounded towards zero; what is too small for a normal number is zero. */
static void store_f16(double number, unsigned char *to)
{
    enum { BIAS = 15, MANTISSA_BITS = 10, LARGEST = 0x7bff };
    int exponent = 0;
    const double fraction = frexp(fabs(number), &exponent); /* 0.5 to 1 */
    unsigned bits = 0;
    if (number != 0 && exponent + BIAS - 1 > 0) {
        bits = (unsigned)((exponent + BIAS - 2) << MANTISSA_BITS) +
               (unsigned)ldexp(fraction, MANTISSA_BITS + 1);
        bits = bits > LARGEST ? LARGEST : bits;
    }
    const uint16_t value = (uint16_t)(bits | (signbit(number) ? 0x8000u : 0));
    memcpy(to, &value, sizeof(value));
}

static const struct type types[] = {
    {"f64", 8, store_f64, -DBL_MAX / 2, DBL_MAX / 2},
    {"f32", 4, store_f32, -FLT_MAX, FLT_MAX},
    {"f16", 2, store_f16, -65504, 65504},
    {"bf16", 2, store_bf16, -FLT_MAX, FLT_MAX},
    {"i64", 8, store_i64, -0x1p62, 0x1p62},
    {"u64", 8, store_u64, 0, 0x1p63},
    {"i32", 4, store_i32, INT32_MIN, INT32_MAX},
    {"u32", 4, store_u32, 0, UINT32_MAX},
    {"i8", 1, store_i8, INT8_MIN, INT8_MAX},
    {"u8", 1, store_u8, 0, UINT8_MAX},
};

static const struct type *find_type(const char *name)
{
    for (size_t i = 0; name != NULL && i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i].name, name) == 0) {
            return &types[i];
        }
    }
    return NULL;
}

/* splitmix64: a number from 0 to 1 for each place and seed. */
static double random_unit(uint64_t seed, uint64_t at)
{
    uint64_t bits = (seed * UINT64_C(0x2545f4914f6cdd1d) + at + 1) * UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((bits ^ (bits >> 31)) >> 11) * 0x1p-53;
}

static bool fill_uniform(const struct reader *reader, const char *where, const json_t *given,
                         struct tune_buffer *buffer)
{
    const char *name = NULL;
    const json_t *low = NULL;
    const json_t *high = NULL;
    int64_t seed = (int64_t)reader->chain->buffers.count + 1;
    const struct field fields[] = {
        {.key = "type", .type = FIELD_TEXT, .to = &name},
        {.key = "low", .type = FIELD_ANY, .to = &low},
        {.key = "high", .type = FIELD_ANY, .to = &high},
        {.key = "seed", .type = FIELD_WHOLE, .to = &seed, .least = 0, .most = INT64_MAX},
        {.key = NULL}};
    if (!read_fields(reader, where, given, fields)) {
        return false;
    }
    const struct type *const type = find_type(name);
    if (type == NULL) {
        return complain(reader, where,
                        "\"type\" is one of f64, f32, f16, bf16, i64, u64, i32, u32, i8, u8");
    }
    if (!json_is_number(low) || !json_is_number(high) ||
        json_number_value(low) > json_number_value(high)) {
        return complain(reader, where, "\"low\" and \"high\" are numbers in that order");
    }
    const double from = json_number_value(low);
    const double range = json_number_value(high) - from;
    if (from < type->least || from + range > type->most) {
        return complain(reader, where, "%s holds numbers from %g to %g", type->name, type->least,
                        type->most);
    }
    for (size_t i = 0; i < buffer->bytes / type->size; i++) {
        type->store(from + range * random_unit((uint64_t)seed, i), buffer->fill + i * type->size);
    }
    return true;
}

static bool fill_from_file(const struct reader *reader, const char *where, const char *path,
                           struct tune_buffer *buffer)
{
    size_t size = 0;
    unsigned char *const bytes = read_file(reader, where, path, &size);
    if (bytes != NULL && size == buffer->bytes) {
        memcpy(buffer->fill, bytes, size);
    }
    free(bytes);
    return bytes != NULL &&
           (size == buffer->bytes || complain(reader, where, "%s has %zu bytes, and the buffer %zu",
                                              path, size, buffer->bytes));
}

static bool read_buffer(const struct reader *reader, const char *name, const json_t *given)
{
    enum { POISON = 0xff };
    char where[WHERE_SIZE];
    int64_t bytes = 0;
    int64_t byte = POISON;
    bool constant = false;
    const char *file = NULL;
    const json_t *fill = NULL;
    const json_t *uniform = NULL;
    const struct field fields[] = {{.key = "bytes",
                                    .type = FIELD_WHOLE,
                                    .to = &bytes,
                                    .required = true,
                                    .least = 1,
                                    .most = INT64_C(1) << 44},
                                   {.key = "fill", .type = FIELD_ANY, .to = &fill},
                                   {.key = "uniform", .type = FIELD_ANY, .to = &uniform},
                                   {.key = "file", .type = FIELD_TEXT, .to = &file},
                                   {.key = "constant", .type = FIELD_FLAG, .to = &constant},
                                   {.key = NULL}};
    (void)snprintf(where, sizeof(where), "buffers.%s", name);
    if (!read_fields(reader, where, given, fields) ||
        (fill != NULL && !read_whole(reader, where, "fill", fill, 0, UINT8_MAX, &byte))) {
        return false;
    }
    if ((fill != NULL) + (uniform != NULL) + (file != NULL) > 1) {
        return complain(reader, where, "\"fill\", \"uniform\" and \"file\" exclude each other");
    }
    struct tune_buffer buffer = {
        .bytes = (size_t)bytes, .fill = malloc((size_t)bytes), .constant = constant};
    if (buffer.fill == NULL) {
        return complain(reader, where, "there is no memory for %zu bytes", buffer.bytes);
    }
    memset(buffer.fill, (int)byte, buffer.bytes);
    buffer.name = copy_text(name);
    APPEND(&reader->chain->buffers, buffer); /* which frees it, filled or not */
    return (uniform == NULL || fill_uniform(reader, where, uniform, &buffer)) &&
           (file == NULL || fill_from_file(reader, where, file, &buffer));
}

/* Takes the device's memory for them. */
static bool load_buffers(const struct reader *reader)
{
    struct tune_chain *const chain = reader->chain;
    size_t needed = 0;
    size_t left = 0;
    size_t total = 0;
    for (size_t i = 0; i < chain->buffers.count; i++) {
        const struct tune_buffer *const buffer = &chain->buffers.items[i];
        needed += buffer->bytes;
        chain->result_bytes += buffer->constant ? 0 : buffer->bytes;
    }
    MUST(cu.cuMemGetInfo(&left, &total));
    if (needed > left) {
        return complain(reader, "",
                        "the buffers take %zu bytes, and %zu of the device's memory are free",
                        needed, left);
    }
    for (size_t i = 0; i < chain->buffers.count; i++) {
        struct tune_buffer *const buffer = &chain->buffers.items[i];
        buffer->memory = gpu_alloc(buffer->bytes);
        gpu_write(buffer->memory, buffer->fill, buffer->bytes);
    }
    return chain->result_bytes > 0 ||
           complain(reader, "buffers",
                    "all are constant: there is no result that could be checked");
}

bool read_buffers(const struct reader *reader, const json_t *given)
{
    const char *name = NULL;
    json_t *value = NULL;
    if (!json_is_object(given)) {
        return complain(reader, "buffers", "an object with a buffer for each name is wanted here");
    }
    json_object_foreach((json_t *)given, name, value)
    {
        if (!read_buffer(reader, name, value)) {
            return false;
        }
    }
    return load_buffers(reader);
}
