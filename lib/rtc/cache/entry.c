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

#include <endian.h>
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
    FACTS = sizeof(facts) / sizeof(facts[0]),
    KERNEL_MIN = 4 + 8 + 8 + 4 * FACTS
};

static const unsigned char magic[8] = {'P', 'D', 'L', 'R', 'T', 'C', '\r', '\n'};

/* ------------------------------------------------------------------------------------------------
 * Fields
 * ---------------------------------------------------------------------------------------------- */

const char pdl_rtc_entry_no_memory[] = "there is no memory for it";

/* Goes through the fields of a file: reads them, writes them, or counts their bytes. What is written does not change. */
struct walk {
    const unsigned char *from; /* reading */
    unsigned char *to;         /* writing; neither: counting */
    size_t at, size;           /* the latter of `from` */
    const char *wrong;         /* the first thing that was; NULL if nothing */
};

static void set_wrong(struct walk *walk, const char *why)
{
    if (walk->wrong == NULL) {
        walk->wrong = why;
    }
}

static void pass_bytes(struct walk *walk, void *bytes, size_t size)
{
    if (walk->from != NULL && (walk->wrong != NULL || walk->size - walk->at < size)) {
        set_wrong(walk, "it ends too early");
        memset(bytes, 0, size);
        return;
    }
    if (walk->from != NULL) {
        memcpy(bytes, walk->from + walk->at, size);
    } else if (walk->to != NULL && size > 0) {
        memcpy(walk->to + walk->at, bytes, size);
    }
    walk->at += size;
}

static void pass_64(struct walk *walk, uint64_t *number)
{
    uint64_t bytes = htole64(*number);
    pass_bytes(walk, &bytes, sizeof(bytes));
    if (walk->from != NULL) {
        *number = le64toh(bytes);
    }
}

/* Any number of 32 bits. */
static void pass_32(struct walk *walk, void *number)
{
    uint32_t bytes;
    memcpy(&bytes, number, sizeof(bytes));
    bytes = htole32(bytes);
    pass_bytes(walk, &bytes, sizeof(bytes));
    if (walk->from != NULL) {
        bytes = le32toh(bytes);
        memcpy(number, &bytes, sizeof(bytes));
    }
}

static void pass_hash(struct walk *walk, struct pdl_rtc_hash *hash)
{
    pass_64(walk, &hash->high);
    pass_64(walk, &hash->low);
}

/* Reads into memory of its own, with a NUL behind it; NULL where that fails. */
static void pass_blob(struct walk *walk, unsigned char **blob, size_t *size)
{
    uint64_t length = *size;
    pass_64(walk, &length);
    if (walk->from != NULL) {
        if (walk->wrong == NULL && walk->size - walk->at < length) {
            set_wrong(walk, "a part of it is longer than the file");
        }
        *blob = walk->wrong == NULL ? malloc((size_t)length + 1) : NULL;
        if (*blob == NULL) {
            set_wrong(walk, pdl_rtc_entry_no_memory);
            return;
        }
        (*blob)[length] = '\0';
        *size = (size_t)length;
    }
    pass_bytes(walk, *blob, (size_t)length);
}

static void pass_string(struct walk *walk, char **text)
{
    size_t length = walk->from == NULL ? strlen(*text) : 0;
    unsigned char *bytes = (unsigned char *)*text;
    pass_blob(walk, &bytes, &length);
    if (walk->from != NULL) {
        *text = (char *)bytes;
        if (bytes != NULL && memchr(bytes, '\0', length) != NULL) {
            set_wrong(walk, "a string in it contains a NUL");
        }
    }
}

/* ------------------------------------------------------------------------------------------------
 * The parts of a file
 * ---------------------------------------------------------------------------------------------- */

static void pass_header(struct walk *walk, uint64_t *size, struct pdl_rtc_hash *checksum)
{
    unsigned char begin[sizeof(magic)];
    uint32_t schema = PDL_RTC_SCHEMA;
    uint32_t unused = 0;
    memcpy(begin, magic, sizeof(magic));
    pass_bytes(walk, begin, sizeof(begin));
    pass_32(walk, &schema);
    pass_32(walk, &unused);
    pass_64(walk, size);
    pass_hash(walk, checksum);
    if (walk->wrong == NULL && memcmp(begin, magic, sizeof(magic)) != 0) {
        set_wrong(walk, "it is not a cache file");
    }
    if (schema != PDL_RTC_SCHEMA || unused != 0) {
        set_wrong(walk, "it is from another version of libpdl-rtc");
    }
}

static void pass_key(struct walk *walk, struct pdl_rtc_key *key)
{
    pass_hash(walk, &key->text);
    pass_hash(walk, &key->check);
    pass_64(walk, &key->compilers);
}

static void pass_kernel(struct walk *walk, struct pdl_rtc_image_kernel *kernel)
{
    const bool reading = walk->from != NULL;
    uint32_t named = kernel->expression != NULL;
    char *expression = named ? kernel->expression : (char *)"";
    bool wrong = false;
    pass_32(walk, &named);
    pass_string(walk, &expression);
    pass_string(walk, &kernel->name);
    if (reading) {
        kernel->info = pdl_code_info(kernel->name);
        kernel->expression = expression;
        if (named == 0) {
            free(expression);
            kernel->expression = NULL;
        }
    }
    for (size_t i = 0; i < FACTS; i++) {
        uint32_t fact;
        char *at = (char *)&kernel->info + facts[i].at;
        pass_32(walk, at);
        memcpy(&fact, at, sizeof(fact));
        wrong = wrong || (facts[i].answer && fact > PDL_YES);
    }
    if (wrong || named > 1) {
        set_wrong(walk, "its facts about a kernel are invalid");
    }
}

static void pass_kernels(struct walk *walk, pdl_rtc_image *image, size_t count)
{
    if (walk->from != NULL) {
        if (walk->wrong != NULL || count > (walk->size - walk->at) / KERNEL_MIN) {
            set_wrong(walk, "it has fewer kernels than it says");
            return;
        }
        image->kernels = calloc(count + 1, sizeof(*image->kernels));
        if (image->kernels == NULL) {
            set_wrong(walk, pdl_rtc_entry_no_memory);
            return;
        }
        image->kernel_count = count;
    }
    for (size_t i = 0; i < count && walk->wrong == NULL; i++) {
        pass_kernel(walk, &image->kernels[i]);
    }
}

/* What a file says of an image that no right writer writes. */
static void check_image(struct walk *walk, const pdl_rtc_image *image)
{
    if (image->output != PDL_RTC_CUBIN && image->output != PDL_RTC_PTX) {
        set_wrong(walk, "its code is of no known kind");
    }
    if (walk->wrong == NULL &&
        (image->code_size == 0 ||
         (image->output == PDL_RTC_PTX && image->code[image->code_size - 1] != '\0'))) {
        set_wrong(walk, "its code is incomplete");
    }
}

static void pass_image(struct walk *walk, pdl_rtc_image *image)
{
    uint32_t unused = 0;
    uint32_t count = (uint32_t)image->kernel_count;
    char *target = image->target;
    pass_32(walk, &image->compiler_version);
    pass_32(walk, &unused);
    pass_32(walk, &image->output);
    pass_32(walk, &count);
    pass_string(walk, &target);
    if (walk->from != NULL) {
        if (target != NULL && strlen(target) < sizeof(image->target)) {
            memcpy(image->target, target, strlen(target) + 1);
        } else {
            set_wrong(walk, "its target is invalid");
        }
        free(target);
    }
    pass_string(walk, &image->program);
    pass_string(walk, &image->log);
    pass_blob(walk, &image->code, &image->code_size);
    check_image(walk, image);
    pass_kernels(walk, image, count);
}

/* ------------------------------------------------------------------------------------------------
 * Whole files
 * ---------------------------------------------------------------------------------------------- */

static struct pdl_rtc_hash checksum_of(const unsigned char *bytes, size_t size)
{
    return pdl_rtc_hash_bytes(bytes + HEADER_SIZE, size - HEADER_SIZE, PDL_RTC_SEED_TEXT);
}

pdl_status pdl_rtc_entry_write(const pdl_rtc_image *image, const struct pdl_rtc_key *key,
                               unsigned char **bytes, size_t *size)
{
    struct pdl_rtc_hash checksum = {0};
    struct pdl_rtc_key own_key = *key;
    struct walk walk = {.at = HEADER_SIZE};
    pass_key(&walk, &own_key);
    pass_image(&walk, (pdl_rtc_image *)image);
    uint64_t all = walk.at;
    walk = (struct walk){.at = HEADER_SIZE, .to = malloc((size_t)all)};
    if (walk.to == NULL) {
        return PDL_NO_MEMORY();
    }
    pass_key(&walk, &own_key);
    pass_image(&walk, (pdl_rtc_image *)image);
    checksum = checksum_of(walk.to, walk.at);
    walk.at = 0;
    pass_header(&walk, &all, &checksum);
    *bytes = walk.to;
    *size = (size_t)all;
    return PDL_SUCCESS;
}

/* The header and the key. */
static void check_begin(struct walk *walk, const struct pdl_rtc_key *wanted)
{
    uint64_t size = 0;
    struct pdl_rtc_hash checksum = {0};
    struct pdl_rtc_key key = {0};
    pass_header(walk, &size, &checksum);
    if (size != walk->size) {
        set_wrong(walk, "it is cut short or too long");
    }
    if (walk->wrong == NULL && !pdl_rtc_hash_equal(checksum, checksum_of(walk->from, walk->size))) {
        set_wrong(walk, "its checksum is wrong");
    }
    pass_key(walk, &key);
    if (wanted != NULL && (!pdl_rtc_hash_equal(key.text, wanted->text) ||
                           !pdl_rtc_hash_equal(key.check, wanted->check) ||
                           (wanted->compilers != 0 && key.compilers != wanted->compilers))) {
        set_wrong(walk, "it is of another text");
    }
}

const char *pdl_rtc_entry_read(const unsigned char *bytes, size_t size,
                               const struct pdl_rtc_key *key, pdl_rtc_image **image)
{
    struct walk walk = {.from = bytes, .size = size};
    check_begin(&walk, key);
    if (walk.wrong != NULL) {
        return walk.wrong;
    }
    pdl_rtc_image *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return pdl_rtc_entry_no_memory;
    }
    atomic_init(&made->references, 1);
    pass_image(&walk, made);
    if (walk.wrong == NULL && walk.at != walk.size) {
        set_wrong(&walk, "there is data after its end");
    }
    if (walk.wrong != NULL) {
        pdl_rtc_image_destroy(made);
        return walk.wrong;
    }
    *image = made;
    return NULL;
}
