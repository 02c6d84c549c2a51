/* SPDX-License-Identifier: MIT */
/* The directives of PTX that bound a kernel's launches, and the records of .nv.info that ptxas makes of them. */
#include "code/bounds.h"

/* Up to three numbers; y and z are 1 where they are left out. */
enum shape { FLAG, COUNT, THREADS, EXTENT };

static const struct row {
    const char *directive;
    uint8_t attribute; /* 0: none */
    enum shape shape;
    size_t offset; /* in struct pdl_bounds */
} rows[] = {
    {".maxntid", 0x05, THREADS, offsetof(struct pdl_bounds, max_threads)},
    {".reqntid", 0x10, EXTENT, offsetof(struct pdl_bounds, block)},
    {".reqnctapercluster", 0x3d, EXTENT, offsetof(struct pdl_bounds, cluster)},
    {".explicitcluster", 0x3e, FLAG, offsetof(struct pdl_bounds, explicit_cluster)},
    {".maxclusterrank", 0x3f, COUNT, offsetof(struct pdl_bounds, max_cluster)},
    {".blocksareclusters", 0x5b, FLAG, offsetof(struct pdl_bounds, blocks_are_clusters)},
    {".minnctapersm", 0, COUNT, offsetof(struct pdl_bounds, min_blocks)},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static void set(struct pdl_bounds *bounds, const struct row *row, uint32_t numbers[3])
{
    uint64_t threads = 1;
    char *const at = (char *)bounds + row->offset;
    for (int i = 0; i < 3; i++) {
        numbers[i] = numbers[i] < INT32_MAX ? numbers[i] : INT32_MAX;
        threads = threads * numbers[i] < INT32_MAX ? threads * numbers[i] : INT32_MAX;
    }
    switch (row->shape) {
    case FLAG:
        *(bool *)at = true;
        break;
    case COUNT:
        memcpy(at, numbers, sizeof(numbers[0]));
        break;
    case EXTENT:
        memcpy(at, numbers, 3 * sizeof(numbers[0]));
        break;
    case THREADS:
        break;
    }
    if (row->shape == THREADS || at == (const char *)bounds->block) {
        bounds->max_threads = (uint32_t)threads; /* a kernel has one of the two */
    }
}

struct pdl_untold_bounds pdl_bounds_untold(const struct pdl_bounds *bounds)
{
    /* What is larger than these limits of all devices forbids nothing that they allow. */
    const bool usual = bounds->max_threads <= UINT16_MAX;
    return (struct pdl_untold_bounds){
        .block = {usual ? (uint16_t)bounds->block[0] : 0, usual ? (uint16_t)bounds->block[1] : 0,
                  usual ? (uint16_t)bounds->block[2] : 0},
        .max_cluster = bounds->max_cluster <= UINT16_MAX ? (uint16_t)bounds->max_cluster : 0,
        .counts_clusters = bounds->blocks_are_clusters ? PDL_YES : PDL_NO,
    };
}

bool pdl_bounds_directive(struct pdl_bounds *bounds, struct pdl_lexer *lexer)
{
    const struct row *row = rows;
    while (row < rows + ROWS &&
           !pdl_token_is(&lexer->token, row->directive, strlen(row->directive))) {
        row++;
    }
    if (row == rows + ROWS) {
        return false;
    }
    uint32_t numbers[3] = {1, 1, 1};
    unsigned count = 0;
    pdl_lexer_next(lexer);
    while (row->shape != FLAG && lexer->token.kind == PDL_TOKEN_NUMBER) {
        uint64_t number = 0;
        if (!pdl_token_integer(&lexer->token, &number) || number > UINT32_MAX) {
            number = UINT32_MAX;
        }
        if (count < 3) {
            numbers[count++] = (uint32_t)number;
        }
        pdl_lexer_next(lexer);
        if (lexer->token.mark != ',') {
            break;
        }
        pdl_lexer_next(lexer);
    }
    if (count > 0 || row->shape == FLAG) {
        set(bounds, row, numbers);
    }
    return true;
}

void pdl_bounds_record(struct pdl_bounds *bounds, const struct pdl_info_record *record)
{
    for (const struct row *row = rows; row < rows + ROWS; row++) {
        uint32_t numbers[3] = {1, 1, 1};
        const size_t size = row->shape == FLAG ? 0 : row->shape == COUNT ? 4 : sizeof(numbers);
        if (row->attribute != 0 && row->attribute == record->attribute && record->size == size) {
            if (size > 0) {
                memcpy(numbers, record->value, size);
            }
            set(bounds, row, numbers);
        }
    }
}
