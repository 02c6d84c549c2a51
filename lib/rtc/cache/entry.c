/* SPDX-License-Identifier: MIT */
/* A file is a header of 40 bytes and a body, all numbers little-endian:
 *
 *   0  8 bytes  "PDLRTC\r\n"
 *   8  u32      PDL_RTC_SCHEMA
 *  12  u32      0
 *  16  u64      size of the whole file
 *  24  u64 x 2  XXH3-128 of the body, high half first
 *  40  u64 x 5  the key: text, check, compilers
 *      i32      the version of NVRTC
 *      i32      0
 *      u32 x 2  output, number of kernels
 *      strings  target, program, log: u64 length and the bytes
 *      blob     code: u64 length and the bytes
 *      for each kernel: u32 1 if an expression named it, else 0; strings expression, lowered name;
 *      i32 for each of `facts`
 */
#include "rtc/cache/entry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "code/info.h"
#include "core/error.h"

/* What a file keeps of a pdl_kernel_info, in this order. */
static const struct {
    size_t at;
    bool answer; /* a pdl_known */
} facts[] = {
#define NUMBER(field)                                                                              \
    {                                                                                              \
        offsetof(pdl_kernel_info, field), false                                                    \
    }
#define ANSWER(field)                                                                              \
    {                                                                                              \
        offsetof(pdl_kernel_info, field), true                                                     \
    }
    NUMBER(ptx_version),
    NUMBER(binary_version),
    NUMBER(max_threads_per_block),
    NUMBER(registers_per_thread),
    NUMBER(static_shared_memory),
    NUMBER(local_memory),
    NUMBER(constant_memory),
    NUMBER(parameter_count),
    ANSWER(waits),
    ANSWER(waits_always),
    ANSWER(triggers),
    NUMBER(required_cluster[0]),
    NUMBER(required_cluster[1]),
    NUMBER(required_cluster[2]),
    NUMBER(required_block[0]),
    NUMBER(required_block[1]),
    NUMBER(required_block[2]),
    NUMBER(max_cluster_blocks),
    NUMBER(min_blocks_per_multiprocessor),
    NUMBER(cluster_must_be_set),
    ANSWER(blocks_are_clusters),
#undef NUMBER
#undef ANSWER
};

enum {
    HEADER_SIZE = 40,
    CHECKSUM_AT = 24,
    FACTS = sizeof(facts) / sizeof(facts[0]),
    KERNEL_MIN = 4 + 8 + 8 + 4 * FACTS
};

static const unsigned char magic[8] = {'P', 'D', 'L', 'R', 'T', 'C', '\r', '\n'};

/* ------------------------------------------------------------------------------------------------
 * Writing
 * ---------------------------------------------------------------------------------------------- */

/* Counts, and writes where there are bytes to write to. */
struct writer {
    unsigned char *bytes;
    size_t at;
};

static void put_bytes(struct writer *writer, const void *bytes, size_t size)
{
    if (writer->bytes != NULL && size > 0) {
        memcpy(writer->bytes + writer->at, bytes, size);
    }
    writer->at += size;
}

static void put_number(struct writer *writer, uint64_t number, size_t size)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)(number >> (8 * i));
    }
    put_bytes(writer, bytes, size);
}

static void put_hash(struct writer *writer, struct pdl_rtc_hash hash)
{
    put_number(writer, hash.high, 8);
    put_number(writer, hash.low, 8);
}

static void put_signed(struct writer *writer, int32_t number)
{
    put_number(writer, (uint32_t)number, 4);
}

static void put_blob(struct writer *writer, const void *bytes, size_t size)
{
    put_number(writer, size, 8);
    put_bytes(writer, bytes, size);
}

static void put_string(struct writer *writer, const char *text)
{
    put_blob(writer, text, strlen(text));
}

static void put_kernel(struct writer *writer, const struct pdl_rtc_image_kernel *kernel)
{
    put_number(writer, kernel->expression != NULL, 4);
    put_string(writer, kernel->expression != NULL ? kernel->expression : "");
    put_string(writer, kernel->name);
    for (size_t i = 0; i < FACTS; i++) {
        uint32_t fact;
        memcpy(&fact, (const char *)&kernel->info + facts[i].at, sizeof(fact));
        put_number(writer, fact, 4);
    }
}

static void put_image(struct writer *writer, const pdl_rtc_image *image,
                      const struct pdl_rtc_key *key, size_t size)
{
    put_bytes(writer, magic, sizeof(magic));
    put_number(writer, PDL_RTC_SCHEMA, 4);
    put_number(writer, 0, 4);
    put_number(writer, size, 8);
    put_hash(writer, (struct pdl_rtc_hash){0}); /* the checksum, once the body is there */
    put_hash(writer, key->text);
    put_hash(writer, key->check);
    put_number(writer, key->compilers, 8);
    put_signed(writer, image->compiler_version);
    put_signed(writer, 0);
    put_number(writer, image->output, 4);
    put_number(writer, image->kernel_count, 4);
    put_string(writer, image->target);
    put_string(writer, image->program);
    put_string(writer, image->log);
    put_blob(writer, image->code, image->code_size);
    for (size_t i = 0; i < image->kernel_count; i++) {
        put_kernel(writer, &image->kernels[i]);
    }
}

pdl_status pdl_rtc_entry_write(const pdl_rtc_image *image, const struct pdl_rtc_key *key,
                               unsigned char **bytes, size_t *size)
{
    struct writer counter = {0};
    put_image(&counter, image, key, 0);
    struct writer writer = {.bytes = malloc(counter.at)};
    if (writer.bytes == NULL) {
        return PDL_NO_MEMORY();
    }
    put_image(&writer, image, key, counter.at);
    struct writer checksum = {.bytes = writer.bytes, .at = CHECKSUM_AT};
    put_hash(&checksum, pdl_rtc_hash_bytes(writer.bytes + HEADER_SIZE, writer.at - HEADER_SIZE,
                                           PDL_RTC_SEED_TEXT));
    *bytes = writer.bytes;
    *size = writer.at;
    return PDL_SUCCESS;
}

/* ------------------------------------------------------------------------------------------------
 * Reading
 * ---------------------------------------------------------------------------------------------- */

const char pdl_rtc_entry_no_memory[] = "there is no memory for it";

struct reader {
    const unsigned char *bytes;
    size_t size, at;
    const char *wrong; /* the first thing that was; NULL if nothing */
};

static void set_wrong(struct reader *reader, const char *why)
{
    if (reader->wrong == NULL) {
        reader->wrong = why;
    }
}

static uint64_t get_number(struct reader *reader, size_t size)
{
    uint64_t number = 0;
    if (reader->wrong != NULL || reader->size - reader->at < size) {
        set_wrong(reader, "it ends too early");
        return 0;
    }
    for (size_t i = 0; i < size; i++) {
        number |= (uint64_t)reader->bytes[reader->at + i] << (8 * i);
    }
    reader->at += size;
    return number;
}

static int32_t get_signed(struct reader *reader)
{
    const uint32_t number = (uint32_t)get_number(reader, 4);
    int32_t value;
    memcpy(&value, &number, sizeof(value));
    return value;
}

static struct pdl_rtc_hash get_hash(struct reader *reader)
{
    struct pdl_rtc_hash hash;
    hash.high = get_number(reader, 8);
    hash.low = get_number(reader, 8);
    return hash;
}

/* A copy of what comes next, with a NUL behind it. */
static unsigned char *get_blob(struct reader *reader, size_t *size)
{
    const uint64_t length = get_number(reader, 8);
    if (reader->wrong == NULL && reader->size - reader->at < length) {
        set_wrong(reader, "a part of it is longer than the file");
    }
    unsigned char *copy = reader->wrong == NULL ? malloc((size_t)length + 1) : NULL;
    if (copy == NULL) {
        set_wrong(reader, pdl_rtc_entry_no_memory);
        return NULL;
    }
    memcpy(copy, reader->bytes + reader->at, (size_t)length);
    copy[length] = '\0';
    reader->at += (size_t)length;
    *size = (size_t)length;
    return copy;
}

static char *get_string(struct reader *reader)
{
    size_t length = 0;
    unsigned char *text = get_blob(reader, &length);
    if (text != NULL && memchr(text, '\0', length) != NULL) {
        set_wrong(reader, "a string in it contains a NUL");
        free(text);
        return NULL;
    }
    return (char *)text;
}

static void get_kernel(struct reader *reader, struct pdl_rtc_image_kernel *kernel)
{
    const uint64_t named = get_number(reader, 4);
    kernel->expression = get_string(reader);
    kernel->name = get_string(reader);
    kernel->info = pdl_code_info(kernel->name);
    if (named == 0) {
        free(kernel->expression);
        kernel->expression = NULL;
    }
    bool wrong = named > 1;
    for (size_t i = 0; i < FACTS; i++) {
        const uint32_t fact = (uint32_t)get_number(reader, 4);
        memcpy((char *)&kernel->info + facts[i].at, &fact, sizeof(fact));
        wrong = wrong || (facts[i].answer && fact > PDL_YES);
    }
    if (wrong) {
        set_wrong(reader, "its facts about a kernel are invalid");
    }
}

static struct pdl_rtc_key get_key(struct reader *reader)
{
    struct pdl_rtc_key key;
    key.text = get_hash(reader);
    key.check = get_hash(reader);
    key.compilers = get_number(reader, 8);
    return key;
}

static void check_key(struct reader *reader, const struct pdl_rtc_key *wanted)
{
    const struct pdl_rtc_key key = get_key(reader);
    if (wanted != NULL && (!pdl_rtc_hash_equal(key.text, wanted->text) ||
                           !pdl_rtc_hash_equal(key.check, wanted->check) ||
                           (wanted->compilers != 0 && key.compilers != wanted->compilers))) {
        set_wrong(reader, "it is of another text");
    }
}

static void get_kernels(struct reader *reader, pdl_rtc_image *image, size_t count)
{
    if (reader->wrong != NULL || count > (reader->size - reader->at) / KERNEL_MIN) {
        set_wrong(reader, "it has fewer kernels than it says");
        return;
    }
    image->kernels = calloc(count + 1, sizeof(*image->kernels));
    if (image->kernels == NULL) {
        set_wrong(reader, pdl_rtc_entry_no_memory);
        return;
    }
    image->kernel_count = count;
    for (size_t i = 0; i < count && reader->wrong == NULL; i++) {
        get_kernel(reader, &image->kernels[i]);
    }
}

static void get_image(struct reader *reader, pdl_rtc_image *image)
{
    image->compiler_version = get_signed(reader);
    (void)get_signed(reader);
    image->output = (uint32_t)get_number(reader, 4);
    const size_t count = (size_t)get_number(reader, 4);
    char *target = get_string(reader);
    if (target != NULL && strlen(target) < sizeof(image->target)) {
        memcpy(image->target, target, strlen(target) + 1);
    } else {
        set_wrong(reader, "its target is invalid");
    }
    free(target);
    image->program = get_string(reader);
    image->log = get_string(reader);
    image->code = get_blob(reader, &image->code_size);
    if (image->output != PDL_RTC_CUBIN && image->output != PDL_RTC_PTX) {
        set_wrong(reader, "its code is of no known kind");
    }
    if (image->code_size == 0 ||
        (image->output == PDL_RTC_PTX && image->code[image->code_size - 1] != '\0')) {
        set_wrong(reader, "its code is incomplete");
    }
    get_kernels(reader, image, count);
    if (reader->wrong == NULL && reader->at != reader->size) {
        set_wrong(reader, "there is data after its end");
    }
}

/* Leaves the reader at the body. */
static void check_header(struct reader *reader)
{
    if (reader->size < HEADER_SIZE) {
        set_wrong(reader, "it is too short");
        return;
    }
    if (memcmp(reader->bytes, magic, sizeof(magic)) != 0) {
        set_wrong(reader, "it is not a cache file");
    }
    reader->at = sizeof(magic);
    const uint64_t schema = get_number(reader, 4);
    const uint64_t unused = get_number(reader, 4);
    if (schema != PDL_RTC_SCHEMA || unused != 0) {
        set_wrong(reader, "it is from another version of libpdl-rtc");
    }
    if (get_number(reader, 8) != reader->size) {
        set_wrong(reader, "it is cut short or too long");
    }
    const struct pdl_rtc_hash sum = get_hash(reader);
    if (reader->wrong == NULL &&
        !pdl_rtc_hash_equal(sum,
                            pdl_rtc_hash_bytes(reader->bytes + HEADER_SIZE,
                                               reader->size - HEADER_SIZE, PDL_RTC_SEED_TEXT))) {
        set_wrong(reader, "its checksum is wrong");
    }
}

const char *pdl_rtc_entry_read(const unsigned char *bytes, size_t size,
                               const struct pdl_rtc_key *key, pdl_rtc_image **image)
{
    struct reader reader = {.bytes = bytes, .size = size};
    check_header(&reader);
    if (reader.wrong == NULL) {
        check_key(&reader, key);
    }
    if (reader.wrong != NULL) {
        return reader.wrong;
    }
    pdl_rtc_image *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return pdl_rtc_entry_no_memory;
    }
    atomic_init(&made->references, 1);
    get_image(&reader, made);
    if (reader.wrong != NULL) {
        pdl_rtc_image_destroy(made);
        return reader.wrong;
    }
    *image = made;
    return NULL;
}

struct pdl_rtc_key pdl_rtc_entry_key(const unsigned char *bytes)
{
    struct reader reader = {.bytes = bytes, .size = HEADER_SIZE + 40, .at = HEADER_SIZE};
    return get_key(&reader);
}
