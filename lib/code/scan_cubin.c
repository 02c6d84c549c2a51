/* SPDX-License-Identifier: MIT */
/* What a cubin says of its kernels. The format is not documented; this is what ptxas and nvlink of
 * CUDA 12 and 13 write.
 *
 * Each kernel has a section .text.NAME and a symbol marked as an entry. In an image that was
 * compiled as a whole, the device functions that a kernel calls or may call through a pointer are
 * copies in its own section; in one that was linked, or compiled to be, they have sections of their
 * own, and .nv.callgraph and relocations tell who calls whom. */
#include <stdlib.h>
#include <string.h>

#include "code/calls.h"
#include "code/elf64.h"
#include "code/sass.h"
#include "code/scan.h"
#include "code/system.h"
#include "core/array.h"

/* Whose flags are laid out in which way. */
#define OSABI_CUDA_NEW       0x41
#define ABIVERSION_NEW       8
#define FLAG_NEW_ACCELERATED 0x8u
#define FLAG_OLD_ACCELERATED 0x800u

#define SYMBOL_ENTRY 0x10u /* in st_other: a kernel */

/* Attributes of .nv.info. */
#define INFO_PARAMETER     0x17
#define INFO_PARAMETER_FAR 0x45 /* where there is more than 4 KiB of parameters */
#define INFO_REGISTERS     0x2f

/* What nvcc leaves free at the beginning of a block's shared memory, from sm_90 on. */
#define RESERVED_SHARED_MEMORY 1024

/* In pdl_cubin_code.marks. The first three spread from callees to callers. */
#define MARK_WAITS     1u
#define MARK_TRIGGERS  2u
#define MARK_UNKNOWN   4u  /* calls what cannot be told */
#define MARK_CALLS_ABS 8u  /* through a register, to an address */
#define MARK_SYSTEM    16u /* calls functions of the system, which are called so */
#define MARK_LEAVES    32u /* has an exit or a return */
#define MARK_PADDED    64u /* ends as all code of known architectures does */

#define NONE UINT32_MAX

struct scan {
    struct pdl_cubin *cubin;
    struct pdl_elf elf;
    struct pdl_elf_symbols symbols;
    uint32_t *code_of; /* by section; NONE */
    struct pdl_call *edges;
    uint32_t edge_count;
    size_t edge_capacity;
    size_t left; /* bytes of sections that may still be read */
};

/* ---- the target ----------------------------------------------------------------------------- */

/* Whose instructions nvdisasm shows to be these. */
static bool target_is_known(int32_t target)
{
    static const int32_t known[] = {90, 100, 101, 103, 107, 110, 120, PDL_SASS_NEWEST};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (target == known[i]) {
            return true;
        }
    }
    return target >= 50 && target < 90; /* without waits, whatever the instructions are */
}

/* What the compiler was asked for is in a note: "-arch sm_90a". */
static char suffix_of_note(const struct pdl_elf *elf, int32_t target)
{
    for (uint32_t i = 0; i < elf->section_count; i++) {
        struct pdl_elf_section section;
        (void)pdl_elf_section(elf, i, &section);
        if (section.data == NULL || strcmp(section.name, ".note.nv.tkinfo") != 0) {
            continue;
        }
        static const char option[] = "-arch sm_";
        for (size_t at = 0; at + sizeof(option) + 4 < section.size; at++) {
            const unsigned char *text = section.data + at;
            if (memcmp(text, option, sizeof(option) - 1) != 0) {
                continue;
            }
            int32_t number = 0;
            text += sizeof(option) - 1;
            for (int digits = 0; digits < 3 && *text >= '0' && *text <= '9'; digits++, text++) {
                number = number * 10 + (*text - '0');
            }
            const bool same = number == target;
            if (same && *text == 'a') {
                return 'a';
            }
            if (same && *text == 'f') {
                return 'f';
            }
            return '\0';
        }
        return '\0';
    }
    return '\0';
}

static void read_target(struct scan *scan)
{
    struct pdl_cubin *cubin = scan->cubin;
    const struct pdl_elf64_ehdr *header = &scan->elf.header;
    const uint32_t flags = header->e_flags;
    bool accelerated;
    if (header->e_ident[PDL_EI_OSABI] == OSABI_CUDA_NEW &&
        header->e_ident[PDL_EI_ABIVERSION] >= ABIVERSION_NEW) {
        cubin->target = (int32_t)(flags >> 8 & 0xff);
        accelerated = (flags & FLAG_NEW_ACCELERATED) != 0;
    } else {
        cubin->target = (int32_t)(flags & 0xff);
        accelerated = cubin->target >= 90 && (flags & FLAG_OLD_ACCELERATED) != 0;
    }
    cubin->suffix = suffix_of_note(&scan->elf, cubin->target);
    if (cubin->suffix == '\0' && accelerated) {
        cubin->suffix = 'a';
    }
    cubin->known = target_is_known(cubin->target);
    cubin->relocatable = header->e_type == PDL_ET_REL;
}

/* ---- sections ------------------------------------------------------------------------------- */

static bool find_code(struct scan *scan)
{
    struct pdl_cubin *cubin = scan->cubin;
    const uint32_t sections = scan->elf.section_count;
    scan->code_of = malloc((sections > 0 ? sections : 1) * sizeof(scan->code_of[0]));
    if (scan->code_of == NULL) {
        return false;
    }
    for (int pass = 0; pass < 2; pass++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < sections; i++) {
            struct pdl_elf_section section;
            (void)pdl_elf_section(&scan->elf, i, &section);
            const char *name = pdl_elf_after(section.name, ".text.");
            scan->code_of[i] = NONE;
            if (name == NULL || name[0] == '\0' || section.type != PDL_SHT_PROGBITS) {
                continue;
            }
            if (pass == 1) {
                scan->code_of[i] = count;
                cubin->codes[count] = (struct pdl_cubin_code){
                    .name = name,
                    .registers = -1,
                    .parameter_count = -1,
                    .section = i,
                    .symbol = NONE,
                    .own_size = section.size,
                };
            }
            count++;
        }
        if (pass == 0) {
            cubin->codes = malloc((count > 0 ? count : 1) * sizeof(cubin->codes[0]));
            if (cubin->codes == NULL) {
                return false;
            }
        }
        cubin->count = count;
    }
    return true;
}

static struct pdl_cubin_code *code_of(const struct scan *scan, uint32_t section)
{
    if (section >= scan->elf.section_count || scan->code_of[section] == NONE) {
        return NULL;
    }
    return &scan->cubin->codes[scan->code_of[section]];
}

/* Gives each section its symbol, and finds where the functions begin that are copies in it. */
static void read_symbols(struct scan *scan)
{
    struct pdl_elf_symbol symbol;
    for (uint32_t i = 0; pdl_elf_symbol(&scan->symbols, i, &symbol); i++) {
        struct pdl_cubin_code *code =
            symbol.type == PDL_STT_FUNC ? code_of(scan, symbol.section) : NULL;
        if (code == NULL) {
            continue;
        }
        if (symbol.value == 0 && code->symbol == NONE && strcmp(symbol.name, code->name) == 0) {
            code->symbol = i;
            code->kernel = (symbol.other & SYMBOL_ENTRY) != 0;
            scan->cubin->function_count += code->kernel ? 0 : 1;
        } else {
            scan->cubin->function_count++;
            if (symbol.value > 0 && symbol.value < code->own_size) {
                code->own_size = symbol.value;
            }
        }
    }
}

/* Behind the code of a section, ptxas puts a branch to itself and up to 255 bytes of NOPs. */
static bool is_padded(const struct pdl_elf_section *section)
{
    size_t at = section->size;
    if (section->size == 0 || section->size % PDL_SASS_SIZE != 0) {
        return false;
    }
    for (unsigned nops = 0; at > 0 && nops <= PDL_SASS_NOPS_MOST; nops++) {
        uint64_t word = 0;
        at -= PDL_SASS_SIZE;
        memcpy(&word, section->data + at, sizeof(word));
        if ((word & (PDL_SASS_KIND | PDL_SASS_FORM)) != PDL_SASS_NOP) {
            return word == PDL_SASS_BRANCH_SELF;
        }
    }
    return false;
}

static void scan_instructions(struct pdl_cubin_code *code, const struct pdl_elf_section *section)
{
    code->marks |= is_padded(section) ? MARK_PADDED : 0;
    for (size_t at = 0; section->size - at >= PDL_SASS_SIZE; at += PDL_SASS_SIZE) {
        uint32_t word = 0;
        memcpy(&word, section->data + at, sizeof(word));
        const uint32_t instruction = word & (PDL_SASS_KIND | PDL_SASS_FORM);
        const uint32_t kind = word & PDL_SASS_KIND;
        const bool own = at < code->own_size;
        if (instruction == PDL_SASS_WAIT) {
            code->marks |= MARK_WAITS;
            code->wait_count += own;
        } else if (instruction == PDL_SASS_TRIGGER) {
            code->marks |= MARK_TRIGGERS;
            code->trigger_count += own;
        } else if (instruction == PDL_SASS_EXIT || instruction == PDL_SASS_RETURN) {
            code->marks |= MARK_LEAVES;
        } else if ((word & PDL_SASS_FORM) != PDL_SASS_IMMEDIATE) {
            /* Functions of the system are called by their address, in a register. */
            if (kind == PDL_SASS_CALL_ABS) {
                code->marks |= MARK_CALLS_ABS;
            } else if (kind == PDL_SASS_CALL_REL) {
                code->marks |= MARK_UNKNOWN;
            }
        }
    }
}

/* ---- .nv.info ------------------------------------------------------------------------------- */

static void read_kernel_info(struct pdl_cubin_code *code, const struct pdl_elf_section *section)
{
    struct pdl_info_record record;
    int32_t count = 0;
    for (size_t at = 0; pdl_info_next(section, &at, &record);) {
        count +=
            record.attribute == INFO_PARAMETER || record.attribute == INFO_PARAMETER_FAR ? 1 : 0;
        pdl_bounds_record(&code->bounds, &record);
    }
    code->parameter_count = count;
}

static void read_image_info(const struct scan *scan, const struct pdl_elf_section *section)
{
    struct pdl_info_record record;
    for (size_t at = 0; pdl_info_next(section, &at, &record);) {
        uint32_t pair[2] = {0}; /* a symbol and its number of registers */
        struct pdl_elf_symbol symbol;
        if (record.attribute != INFO_REGISTERS || record.size != sizeof(pair)) {
            continue;
        }
        memcpy(pair, record.value, sizeof(pair));
        if (!pdl_elf_symbol(&scan->symbols, pair[0], &symbol)) {
            continue;
        }
        struct pdl_cubin_code *code = code_of(scan, symbol.section);
        if (code != NULL && code->symbol == pair[0] && pair[1] < 65536) {
            code->registers = (int32_t)pair[1];
        }
    }
}

static void read_shared_memory(const struct scan *scan, const struct pdl_elf_section *section)
{
    const uint64_t reserved = scan->cubin->target >= 90 ? RESERVED_SHARED_MEMORY : 0;
    const uint64_t bytes = section->memory_size;
    if (bytes <= INT64_MAX) {
        code_of(scan, section->info)->shared_memory =
            (int64_t)(bytes >= reserved ? bytes - reserved : bytes);
    }
}

/* ---- who calls whom ------------------------------------------------------------------------- */

static bool add_edge(struct scan *scan, uint32_t caller, uint32_t callee)
{
    if (!PDL_ARRAY_ROOM(scan->edges, scan->edge_count, scan->edge_capacity)) {
        return false;
    }
    scan->edges[scan->edge_count++] = (struct pdl_call){.caller = caller, .callee = callee};
    return true;
}

/* A call, or another use, of a symbol by the code of a section. */
static bool add_use(struct scan *scan, uint32_t section, uint32_t index)
{
    struct pdl_elf_symbol symbol;
    struct pdl_cubin_code *caller = code_of(scan, section);
    if (caller == NULL || !pdl_elf_symbol(&scan->symbols, index, &symbol) ||
        symbol.type != PDL_STT_FUNC) {
        return true;
    }
    const struct pdl_cubin_code *callee = code_of(scan, symbol.section);
    if (callee == caller) {
        return true;
    }
    if (callee != NULL) {
        return add_edge(scan, scan->code_of[section], scan->code_of[callee->section]);
    }
    caller->marks |=
        pdl_code_is_system(symbol.name, strlen(symbol.name)) ? MARK_SYSTEM : MARK_UNKNOWN;
    return true;
}

/* Pairs of symbols. A first symbol of 0 begins a group, by the second: -1 direct calls; -2 functions
 * whose address is taken, each with a number of its type; -3 who calls through pointers, with the
 * type. A pointer may come from anywhere, so that these are not told. */
static bool read_callgraph(struct scan *scan, const struct pdl_elf_section *section)
{
    uint32_t group = 0;
    for (size_t at = 0; section->size - at >= 8; at += 8) {
        uint32_t pair[2];
        struct pdl_elf_symbol caller;
        memcpy(pair, section->data + at, sizeof(pair));
        if (pair[0] == 0) {
            group = pair[1];
        } else if (group == (uint32_t)-1 || group == (uint32_t)-3) {
            if (!pdl_elf_symbol(&scan->symbols, pair[0], &caller)) {
                continue;
            }
            struct pdl_cubin_code *code = code_of(scan, caller.section);
            if (code != NULL && group == (uint32_t)-3) {
                code->marks |= MARK_UNKNOWN;
            } else if (code != NULL && !add_use(scan, caller.section, pair[1])) {
                return false;
            }
        }
    }
    return true;
}

static bool read_relocations(struct scan *scan, const struct pdl_elf_section *section)
{
    const size_t each = section->type == PDL_SHT_RELA ? sizeof(struct pdl_elf64_rela)
                                                      : sizeof(struct pdl_elf64_rel);
    for (size_t at = 0; section->size - at >= each; at += each) {
        struct pdl_elf64_rel relocation;
        memcpy(&relocation, section->data + at, sizeof(relocation));
        if (!add_use(scan, section->info, (uint32_t)PDL_ELF64_R_SYM(relocation.r_info))) {
            return false;
        }
    }
    return true;
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* What there is to read in a section. */
enum section_kind { IGNORED, CODE, SHARED, IMAGE_INFO, KERNEL_INFO, CALLGRAPH, RELOCATIONS };

static enum section_kind kind_of(const struct scan *scan, uint32_t index,
                                 const struct pdl_elf_section *section)
{
    const bool of_code = code_of(scan, section->info) != NULL;
    if (code_of(scan, index) != NULL) {
        return scan->cubin->target >= 90 ? CODE : IGNORED;
    }
    if (strcmp(section->name, ".nv.info") == 0) {
        return IMAGE_INFO;
    }
    if (strcmp(section->name, ".nv.callgraph") == 0) {
        return CALLGRAPH;
    }
    if (of_code && pdl_elf_after(section->name, ".nv.shared.") != NULL) {
        return SHARED;
    }
    if (of_code && pdl_elf_after(section->name, ".nv.info.") != NULL) {
        return KERNEL_INFO;
    }
    return of_code && (section->type == PDL_SHT_RELA || section->type == PDL_SHT_REL) ? RELOCATIONS
                                                                                      : IGNORED;
}

static enum pdl_scan_result read_section(struct scan *scan, uint32_t index)
{
    struct pdl_elf_section section;
    (void)pdl_elf_section(&scan->elf, index, &section);
    const enum section_kind kind = kind_of(scan, index, &section);
    if (kind == IGNORED) {
        return PDL_SCAN_DONE;
    }
    /* Sections that lie over each other would take time and memory out of proportion. */
    if (section.size > scan->left) {
        return PDL_SCAN_MALFORMED;
    }
    scan->left -= section.size;
    bool memory = true;
    switch (kind) {
    case CODE:
        scan_instructions(code_of(scan, index), &section);
        break;
    case SHARED:
        read_shared_memory(scan, &section);
        break;
    case IMAGE_INFO:
        read_image_info(scan, &section);
        break;
    case KERNEL_INFO:
        read_kernel_info(code_of(scan, section.info), &section);
        break;
    case CALLGRAPH:
        memory = read_callgraph(scan, &section);
        break;
    case RELOCATIONS:
        memory = read_relocations(scan, &section);
        break;
    case IGNORED:
        break;
    }
    return memory ? PDL_SCAN_DONE : PDL_SCAN_NO_MEMORY;
}

/* Reads an unknown architecture newer than the first that waits as the newest known one, if all its code has that
 * one's form: whole instructions, an exit or a return, and the end that code has. A changed number of a single
 * instruction does not show so. */
static void compare_with_newest(struct pdl_cubin *cubin)
{
    const uint32_t form = MARK_LEAVES | MARK_PADDED;
    bool alike = cubin->target > 90 && cubin->count > 0;
    for (uint32_t i = 0; i < cubin->count && alike; i++) {
        alike = (cubin->codes[i].marks & form) == form;
    }
    for (uint32_t i = 0; i < cubin->count && !alike; i++) {
        cubin->codes[i].wait_count = 0;
        cubin->codes[i].trigger_count = 0;
    }
    cubin->known = alike;
    cubin->read_as = alike ? PDL_SASS_NEWEST : 0;
}

static pdl_known answer(const struct pdl_cubin *cubin, uint32_t marks, uint32_t mark)
{
    if (!cubin->known) {
        return PDL_UNKNOWN;
    }
    if (cubin->target < 90) {
        return PDL_NO;
    }
    if ((marks & mark) != 0) {
        return PDL_YES;
    }
    return (marks & MARK_UNKNOWN) != 0 ? PDL_UNKNOWN : PDL_NO;
}

enum pdl_scan_result pdl_scan_cubin(struct pdl_cubin *cubin, const unsigned char *bytes,
                                    size_t size)
{
    struct scan scan = {.cubin = cubin, .left = size};
    enum pdl_scan_result result = PDL_SCAN_NO_MEMORY;
    *cubin = (struct pdl_cubin){.target = 0};
    if (!pdl_elf_open(&scan.elf, bytes, size) || scan.elf.header.e_machine != PDL_EM_CUDA ||
        !pdl_elf_is_whole(&scan.elf) || !pdl_elf_symbols(&scan.elf, &scan.symbols)) {
        return PDL_SCAN_MALFORMED;
    }
    read_target(&scan);
    if (!find_code(&scan)) {
        goto free;
    }
    read_symbols(&scan);
    for (uint32_t i = 0; i < scan.elf.section_count; i++) {
        result = read_section(&scan, i);
        if (result != PDL_SCAN_DONE) {
            goto free;
        }
    }
    if (!cubin->known) {
        compare_with_newest(cubin);
    }
    for (uint32_t i = 0; i < cubin->count; i++) {
        struct pdl_cubin_code *code = &cubin->codes[i];
        if ((code->marks & (MARK_CALLS_ABS | MARK_SYSTEM)) == MARK_CALLS_ABS) {
            code->marks |= MARK_UNKNOWN;
        }
    }
    if (cubin->count > 0 &&
        !pdl_calls_spread(&cubin->codes[0].marks, sizeof(cubin->codes[0]), cubin->count,
                          MARK_WAITS | MARK_TRIGGERS | MARK_UNKNOWN, scan.edges, scan.edge_count)) {
        result = PDL_SCAN_NO_MEMORY;
        goto free;
    }
    for (uint32_t i = 0; i < cubin->count; i++) {
        struct pdl_cubin_code *code = &cubin->codes[i];
        code->unknown = (code->marks & MARK_UNKNOWN) != 0;
        code->waits = answer(cubin, code->marks, MARK_WAITS);
        code->triggers = answer(cubin, code->marks, MARK_TRIGGERS);
    }
free:
    free(scan.code_of);
    free(scan.edges);
    if (result != PDL_SCAN_DONE) {
        pdl_scan_cubin_free(cubin);
    }
    return result;
}

void pdl_scan_cubin_free(struct pdl_cubin *cubin)
{
    free(cubin->codes);
    cubin->codes = NULL;
    cubin->count = 0;
}
