/* SPDX-License-Identifier: MIT */
#include "inspect/ptx/opcode.h"

void pdl_parts_split(struct pdl_parts *parts, const char *text, size_t length)
{
    const char *end = text + length;
    parts->count = 0;
    while (text < end && parts->count < PDL_PARTS_MAX) {
        const char *dot = memchr(text, '.', (size_t)(end - text));
        const size_t size = (size_t)((dot != NULL ? dot : end) - text);
        parts->text[parts->count] = text;
        parts->length[parts->count] = (uint8_t)(size < 255 ? size : 255);
        parts->count++;
        text += size + 1;
    }
}

unsigned pdl_part_find(const struct pdl_parts *parts, const char *word)
{
    const size_t length = strlen(word);
    for (unsigned i = 1; i < parts->count; i++) {
        if (parts->length[i] >= length && parts->text[i][0] == word[0] &&
            memcmp(parts->text[i], word, length) == 0 &&
            (parts->length[i] == length || parts->text[i][length] == ':')) {
            return i;
        }
    }
    return 0;
}

static bool has(const struct pdl_parts *parts, const char *word)
{
    return pdl_part_find(parts, word) != 0;
}

static uint8_t space_of(const struct pdl_parts *parts)
{
    static const struct {
        const char *name;
        uint8_t space;
    } spaces[] = {
        {"global", PDL_SPACE_GLOBAL}, {"shared", PDL_SPACE_SHARED}, {"local", PDL_SPACE_LOCAL},
        {"param", PDL_SPACE_PARAM},   {"const", PDL_SPACE_CONST},
    };
    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
        if (has(parts, spaces[i].name)) {
            return spaces[i].space;
        }
    }
    return PDL_SPACE_GENERIC;
}

static bool may_be_global(uint8_t space)
{
    return space == PDL_SPACE_GENERIC || space == PDL_SPACE_GLOBAL;
}

static struct pdl_opcode load(const struct pdl_parts *parts)
{
    const uint8_t space = space_of(parts);
    return (struct pdl_opcode){
        .op = PDL_OP_LOAD,
        .space = space,
        .reads = may_be_global(space),
        .non_coherent = has(parts, "nc") || pdl_part_is(parts, 0, "ldu"),
        .read_slot = 1,
    };
}

static struct pdl_opcode store(const struct pdl_parts *parts)
{
    const uint8_t space = space_of(parts);
    return (struct pdl_opcode){
        .op = PDL_OP_STORE, .space = space, .writes = may_be_global(space), .no_result = true};
}

/* atom: the address is the second operand; red and multimem.red: the first. */
static struct pdl_opcode atomic(const struct pdl_parts *parts, bool result)
{
    const uint8_t space = space_of(parts);
    const uint8_t slot = result ? 1 : 0;
    return (struct pdl_opcode){.op = PDL_OP_ATOMIC,
                               .space = space,
                               .reads = false,
                               .writes = may_be_global(space),
                               .no_result = !result,
                               .write_slot = slot};
}

/* cp.async and cp.reduce.async: the destination first, then the source, in the opcode as in the
 * operands. Those with one space only are prefetches, groups and barriers. */
static struct pdl_opcode copy(const struct pdl_parts *parts)
{
    struct pdl_opcode opcode = {.op = PDL_OP_OTHER, .no_result = true};
    if (pdl_part_is(parts, 2, "mbarrier")) { /* cp.async.mbarrier.arrive */
        opcode.op = PDL_OP_MBARRIER_ARRIVE;
        return opcode;
    }
    const unsigned global = pdl_part_find(parts, "global");
    const unsigned shared = pdl_part_find(parts, "shared");
    if (global != 0 && shared != 0) {
        opcode.op = PDL_OP_COPY;
        opcode.writes = global < shared;
        opcode.reads = !opcode.writes;
        opcode.read_slot = 1;
    }
    opcode.unknown = opcode.op == PDL_OP_OTHER && !has(parts, "prefetch");
    return opcode;
}

static struct pdl_opcode value(enum pdl_op op)
{
    return (struct pdl_opcode){.op = (uint8_t)op};
}

static struct pdl_opcode control(enum pdl_op op)
{
    return (struct pdl_opcode){.op = (uint8_t)op, .no_result = true};
}

static struct pdl_opcode barrier(const struct pdl_parts *parts)
{
    if (has(parts, "warp")) {
        return control(PDL_OP_BARRIER_WARP);
    }
    if (has(parts, "cluster")) {
        return control(has(parts, "wait") ? PDL_OP_BARRIER_CLUSTER : PDL_OP_CLUSTER_ARRIVE);
    }
    if (has(parts, "arrive")) {
        return control(PDL_OP_BARRIER_ARRIVE);
    }
    if (!has(parts, "sync") && !has(parts, "red")) {
        return control(PDL_OP_OTHER);
    }
    struct pdl_opcode opcode = control(PDL_OP_BARRIER_BLOCK);
    opcode.no_result = !has(parts, "red");
    return opcode;
}

static struct pdl_opcode mbarrier(const struct pdl_parts *parts)
{
    static const char *const arrivals[] = {"arrive", "arrive_drop", "expect_tx", "complete_tx"};
    if (pdl_part_is(parts, 1, "try_wait") || pdl_part_is(parts, 1, "test_wait")) {
        return value(PDL_OP_BARRIER_MEMORY);
    }
    if (pdl_part_is(parts, 1, "init")) {
        return control(PDL_OP_MBARRIER_INIT);
    }
    for (size_t i = 0; i < sizeof(arrivals) / sizeof(arrivals[0]); i++) {
        if (pdl_part_is(parts, 1, arrivals[i])) {
            return value(PDL_OP_MBARRIER_ARRIVE);
        }
    }
    return value(PDL_OP_OTHER);
}

static struct pdl_opcode multimem(const struct pdl_parts *parts)
{
    struct pdl_opcode opcode = {.op = PDL_OP_OTHER, .unknown = true};
    if (pdl_part_is(parts, 1, "ld_reduce")) {
        opcode = (struct pdl_opcode){
            .op = PDL_OP_LOAD, .space = PDL_SPACE_GLOBAL, .reads = true, .read_slot = 1};
    } else if (pdl_part_is(parts, 1, "st") || pdl_part_is(parts, 1, "red")) {
        opcode = (struct pdl_opcode){
            .op = PDL_OP_STORE, .space = PDL_SPACE_GLOBAL, .writes = true, .no_result = true};
    } else if (pdl_part_is(parts, 1, "cp")) { /* multimem.cp(.reduce).async.bulk */
        opcode = (struct pdl_opcode){.op = PDL_OP_COPY, .writes = true, .no_result = true};
    }
    return opcode;
}

static struct pdl_opcode texture(bool writes)
{
    return (struct pdl_opcode){.op = PDL_OP_TEXTURE,
                               .space = PDL_SPACE_GLOBAL,
                               .reads = !writes,
                               .writes = writes,
                               .no_result = writes,
                               .read_slot = 1};
}

static struct pdl_opcode wmma(const struct pdl_parts *parts)
{
    if (pdl_part_is(parts, 1, "load")) {
        return load(parts);
    }
    return pdl_part_is(parts, 1, "store") ? store(parts) : value(PDL_OP_SCALE);
}

static struct pdl_opcode tensormap(const struct pdl_parts *parts)
{
    if (pdl_part_is(parts, 1, "replace")) {
        return store(parts);
    }
    /* tensormap.cp_fenceproxy.global.shared::cta… [global], [shared] */
    struct pdl_opcode opcode = control(PDL_OP_COPY);
    opcode.writes = pdl_part_is(parts, 1, "cp_fenceproxy");
    opcode.unknown = !opcode.writes;
    return opcode;
}

/* The opcodes that are of one kind whatever their suffixes. */
static const struct {
    const char *name;
    uint8_t op;
} plain[] = {
    {"mov", PDL_OP_CARRY},       {"add", PDL_OP_CARRY},        {"sub", PDL_OP_CARRY},
    {"cvt", PDL_OP_CARRY},       {"and", PDL_OP_CARRY},        {"or", PDL_OP_CARRY},
    {"selp", PDL_OP_CARRY},      {"mad", PDL_OP_CARRY},        {"min", PDL_OP_CARRY},
    {"max", PDL_OP_CARRY},       {"prmt", PDL_OP_CARRY},       {"addc", PDL_OP_CARRY},
    {"subc", PDL_OP_CARRY},      {"bfi", PDL_OP_CARRY},        {"slct", PDL_OP_CARRY},
    {"lop3", PDL_OP_CARRY},      {"madc", PDL_OP_CARRY},       {"mad24", PDL_OP_CARRY},
    {"mapa", PDL_OP_CVTA},       {"cvta", PDL_OP_CVTA},        {"shfl", PDL_OP_LANE},
    {"vote", PDL_OP_LANE},       {"elect", PDL_OP_LANE},       {"match", PDL_OP_LANE},
    {"activemask", PDL_OP_LANE}, {"redux", PDL_OP_LANE},       {"mul", PDL_OP_SCALE},
    {"shl", PDL_OP_SCALE},       {"shr", PDL_OP_SCALE},        {"setp", PDL_OP_SCALE},
    {"set", PDL_OP_SCALE},       {"div", PDL_OP_SCALE},        {"rem", PDL_OP_SCALE},
    {"fma", PDL_OP_SCALE},       {"mul24", PDL_OP_SCALE},      {"neg", PDL_OP_SCALE},
    {"abs", PDL_OP_SCALE},       {"not", PDL_OP_SCALE},        {"xor", PDL_OP_SCALE},
    {"bfe", PDL_OP_SCALE},       {"popc", PDL_OP_SCALE},       {"clz", PDL_OP_SCALE},
    {"brev", PDL_OP_SCALE},      {"bfind", PDL_OP_SCALE},      {"mma", PDL_OP_SCALE},
    {"shf", PDL_OP_SCALE},       {"sad", PDL_OP_SCALE},        {"testp", PDL_OP_SCALE},
    {"copysign", PDL_OP_SCALE},  {"isspacep", PDL_OP_SCALE},   {"ldmatrix", PDL_OP_OTHER},
    {"bra", PDL_OP_BRANCH},      {"brx", PDL_OP_BRANCH_TABLE}, {"call", PDL_OP_CALL},
    {"ret", PDL_OP_RETURN},      {"exit", PDL_OP_EXIT},        {"trap", PDL_OP_TRAP},
};

/* Instructions with addresses, which neither read nor write what is there, or not in global memory. Those of the second
 * list do not unless they name that memory. */
static const char *const without_access[] = {"prefetch", "prefetchu",    "applypriority", "fence",
                                             "membar",   "createpolicy", "txq",           "suq"};
static const char *const in_block[] = {"ldmatrix", "stmatrix", "wgmma", "tcgen05",
                                       "clusterlaunchcontrol"};

/* Instructions whose first operand is not a result, beside those that are handled one by one. */
static const char *const without_result[] = {
    "fence",     "membar",   "nanosleep",      "setmaxnreg",   "prefetch",
    "prefetchu", "stmatrix", "applypriority",  "pmevent",      "wgmma",
    "tcgen05",   "brkpt",    "griddepcontrol", "stackrestore", "clusterlaunchcontrol",
};

#define IS_LISTED(parts, list) is_listed(parts, list, sizeof(list) / sizeof((list)[0]))

static bool is_listed(const struct pdl_parts *parts, const char *const *list, size_t count)
{
    bool listed = false;
    for (size_t i = 0; i < count && !listed; i++) {
        listed = pdl_part_is(parts, 0, list[i]);
    }
    return listed;
}

static struct pdl_opcode other(const struct pdl_parts *parts)
{
    struct pdl_opcode opcode = {.op = PDL_OP_OTHER, .unknown = !IS_LISTED(parts, without_access)};
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        if (pdl_part_is(parts, 0, plain[i].name)) {
            opcode.op = plain[i].op;
            opcode.space = space_of(parts);
            opcode.no_result = opcode.op >= PDL_OP_BRANCH && opcode.op <= PDL_OP_TRAP;
            break;
        }
    }
    if (IS_LISTED(parts, in_block)) {
        opcode.unknown = has(parts, "global");
    }
    opcode.no_result = opcode.no_result || IS_LISTED(parts, without_result);
    return opcode;
}

/* What fetches or acquires a tensor map and accesses nothing else. Copies through one count as accesses anyway. */
static bool reads_tensor_map(const struct pdl_parts *parts)
{
    return (pdl_part_is(parts, 0, "prefetch") && has(parts, "tensormap")) ||
           (pdl_part_is(parts, 0, "cp") && has(parts, "prefetch") && has(parts, "tensor")) ||
           (pdl_part_is(parts, 0, "fence") && has(parts, "tensormap") && has(parts, "acquire"));
}

static struct pdl_opcode class_of(const struct pdl_parts *parts)
{
    if (reads_tensor_map(parts)) { /* wherever it is: .global is the space of the tensor */
        return (struct pdl_opcode){.op = PDL_OP_OTHER,
                                   .reads = !has(parts, "param") && !has(parts, "const"),
                                   .no_result = true};
    }
    if (pdl_part_is(parts, 0, "ld") || pdl_part_is(parts, 0, "ldu")) {
        return load(parts);
    }
    if (pdl_part_is(parts, 0, "st")) {
        return store(parts);
    }
    if (pdl_part_is(parts, 0, "atom") || pdl_part_is(parts, 0, "red")) {
        return atomic(parts, pdl_part_is(parts, 0, "atom"));
    }
    if (pdl_part_is(parts, 0, "cp")) {
        return copy(parts);
    }
    if (pdl_part_is(parts, 0, "griddepcontrol")) {
        return control(pdl_part_is(parts, 1, "wait") ? PDL_OP_WAIT : PDL_OP_TRIGGER);
    }
    if (pdl_part_is(parts, 0, "bar") || pdl_part_is(parts, 0, "barrier")) {
        return barrier(parts);
    }
    if (pdl_part_is(parts, 0, "mbarrier")) {
        return mbarrier(parts);
    }
    if (pdl_part_is(parts, 0, "multimem")) {
        return multimem(parts);
    }
    if (pdl_part_is(parts, 0, "tensormap")) {
        return tensormap(parts);
    }
    if (pdl_part_is(parts, 0, "wmma")) {
        return wmma(parts);
    }
    if (pdl_part_is(parts, 0, "tex") || pdl_part_is(parts, 0, "tld4") ||
        pdl_part_is(parts, 0, "suld")) {
        struct pdl_opcode opcode = texture(false);
        opcode.non_coherent = !pdl_part_is(parts, 0, "suld");
        return opcode;
    }
    if (pdl_part_is(parts, 0, "sust") || pdl_part_is(parts, 0, "sured")) {
        return texture(true);
    }
    if (pdl_part_is(parts, 0, "discard")) { /* discard.global.L2 [a], 128: what was there is gone */
        return store(parts);
    }
    return other(parts);
}

struct pdl_opcode pdl_opcode_class(const char *text, size_t length)
{
    struct pdl_parts parts;
    pdl_parts_split(&parts, text, length);
    struct pdl_opcode opcode = class_of(&parts);
    if (pdl_part_is(&parts, 0, "tcgen05") && pdl_part_is(&parts, 1, "commit")) {
        opcode.op = PDL_OP_MBARRIER_ARRIVE;
    }
    opcode.completes = opcode.op != PDL_OP_MBARRIER_ARRIVE && !pdl_part_is(&parts, 0, "mbarrier") &&
                       !pdl_part_is(&parts, 0, "fence") && has(&parts, "mbarrier");
    /* What is expected of a phase has no other form, and is no arrival. */
    opcode.relaxed = has(&parts, "relaxed") && !pdl_part_is(&parts, 1, "expect_tx") &&
                     !pdl_part_is(&parts, 1, "complete_tx");
    if (opcode.unknown) {
        opcode.space = space_of(&parts);
        opcode.unknown = may_be_global(opcode.space);
    }
    return opcode;
}
