/* SPDX-License-Identifier: MIT */
/* Follows machine code from a kernel's entry until it waits. Functions that are called are entered as long as nobody
 * has waited, and what comes behind a call is reached if the function can return without having waited. */
#include "inspect/order.h"

#include <stdlib.h>
#include <string.h>

#include "code/calls.h"
#include "code/sass.h"
#include "code/system.h"
#include "inspect/memory.h"
#include "inspect/sass_access.h"
#include "inspect/sass_code.h"

#define NONE PDL_SASS_NONE
#define ROOT 0u /* the kernel itself, of the functions of a walk */

/* How often each instruction of a cubin is looked at on average, if many kernels call the same functions. */
#define WALKS_PER_INSTRUCTION 8u
#define LEAST_STEPS           (1u << 20)

/* Accesses of one kernel, and of all kernels of a cubin. */
#define KERNEL_ACCESSES 4096u
#define CUBIN_ACCESSES  (1u << 16)

/* Instructions by the low 9 bits. */
enum {
    SASS_EXIT = 0x14d,
    SASS_REGION = 0x145,     /* BSSY: names a register for a place where threads meet */
    SASS_REGION_END = 0x141, /* BSYNC: goes there */
    SASS_BRANCH = 0x147,
    SASS_RETURN = 0x150,
    SASS_BRANCH_INDIRECT = 0x149,
    SASS_JUMP = 0x14a,
    SASS_JUMP_INDIRECT = 0x14c,
    SASS_BRANCH_UNIFORM = 0x158,
    SASS_JUMP_UNIFORM = 0x159,
    SASS_WARPSYNC = 0x148
};

#define GUARD_ALWAYS 0x7u /* the predicate PT */
#define GUARD_NEVER  0xfu /* not PT */

/* In the second word of a branch, an exit, a call and a return: a second predicate, and for the first two what else
 * they depend on. These are those of a plain one. */
#define BRANCH_PLAIN          UINT64_C(0x3800000)
#define BRANCH_PLAIN_MASK     UINT64_C(0xffc0000)
#define BRANCH_PREDICATE_MASK UINT64_C(0x7800000)
#define BRANCH_BY_WARP(low)   ((low) >> 32 & 3) /* BRA.U, BRA.DIV */

/* Where threads meet: registers B0 to B15. */
#define REGIONS            16u
#define REGION_OF(low)     ((low) >> 16 & 15)
#define REGION_OFFSET(low) ((int32_t)((low) >> 32)) /* from the instruction behind it */

/* Functions of one walk. Those that have instructions in common are one. */
struct function {
    uint32_t same_as; /* itself, or another */
    bool returns;     /* without having waited */
    uint32_t first_site, last_site;
};

/* An instruction that a function comes to. */
struct visit {
    uint32_t number;
    uint32_t function;
};

/* Where a function was called from. */
struct site {
    uint32_t after; /* the instruction behind the call */
    uint32_t caller;
    uint32_t next;
};

/* Where a BSSY leads. */
struct region {
    struct visit to;
    uint32_t next; /* of the same register */
};

struct pdl_order {
    struct pdl_sass_code code;
    bool unordered;         /* a device function with a section of its own has such accesses */
    uint64_t left;          /* steps of all walks */
    uint32_t accesses_left; /* of all walks */
    /* Of one walk: */
    uint32_t *owner; /* by instruction: a function + 1 + base; up to base: nobody came there */
    struct visit *stack;
    struct function *functions;
    struct site *sites;
    struct region *regions;
    struct pdl_machine_access *accesses;
    uint32_t pending[REGIONS]; /* that no BSYNC was found for; NONE */
    bool ended[REGIONS];       /* a BSYNC was found */
    uint32_t base;             /* numbers of functions go on from walk to walk */
    uint32_t stacked, function_count, site_count, region_count, access_count;
    size_t stack_capacity, function_capacity, site_capacity, region_capacity, access_capacity;
    const char *lost;
    uint64_t lost_at;
    bool unsure; /* of what comes before the wait, or whether there is one on every path */
};

/* ---- opening ---------------------------------------------------------------------------------- */

static bool has_unordered(const struct pdl_order *order, uint32_t code)
{
    const size_t count = pdl_sass_count(&order->code, code);
    for (size_t i = 0; i < count; i++) {
        uint64_t words[2];
        memcpy(words, order->code.data[code] + i * PDL_SASS_SIZE, sizeof(words));
        if (pdl_sass_is_unordered(words[0], words[1])) {
            return true;
        }
    }
    return false;
}

struct pdl_order *pdl_order_open(const struct pdl_cubin *cubin, const unsigned char *bytes,
                                 size_t size)
{
    struct pdl_order *order = pdl_take(1, sizeof(*order));
    pdl_sass_code_open(&order->code, cubin, bytes, size);
    const size_t instructions = order->code.first[cubin->count];
    order->owner = pdl_take(instructions + 1, sizeof(*order->owner));
    order->accesses_left = CUBIN_ACCESSES;
    order->left = instructions * WALKS_PER_INSTRUCTION + LEAST_STEPS;
    for (uint32_t i = 0; i < cubin->count && !order->unordered; i++) {
        order->unordered = !cubin->codes[i].kernel && has_unordered(order, i);
    }
    struct pdl_elf_symbol symbol; /* some textures are read by functions of the driver */
    for (uint32_t i = 0; pdl_elf_symbol(&order->code.symbols, i, &symbol); i++) {
        order->unordered =
            order->unordered || pdl_elf_after(symbol.name, "__cuda_syscall_tex") != NULL;
    }
    return order;
}

/* ---- functions of a walk ------------------------------------------------------------------------ */

/* As of `owner`; those that were joined are one. */
static uint32_t find(const struct pdl_order *order, uint32_t function)
{
    struct function *functions = order->functions;
    while (functions[function].same_as != function) {
        functions[function].same_as = functions[functions[function].same_as].same_as;
        function = functions[function].same_as;
    }
    return function;
}

static void reach(struct pdl_order *order, uint32_t number, uint32_t function)
{
    PDL_ADD(order->stack, order->stacked, order->stack_capacity, (struct visit){number, function});
}

static uint32_t add_function(struct pdl_order *order)
{
    const uint32_t number = order->function_count;
    PDL_ADD(order->functions, order->function_count, order->function_capacity,
            (struct function){.same_as = number, .first_site = NONE, .last_site = NONE});
    return number;
}

/* Comes to what is behind the calls of a function. */
static void go_back(struct pdl_order *order, const struct function *function)
{
    for (uint32_t at = function->first_site; at != NONE; at = order->sites[at].next) {
        reach(order, order->sites[at].after, order->sites[at].caller);
    }
}

/* Two functions that have an instruction in common are taken for one. */
static void join(struct pdl_order *order, uint32_t one, uint32_t other)
{
    struct function *a = &order->functions[one];
    struct function *b = &order->functions[other];
    if (a->returns != b->returns) {
        go_back(order, a->returns ? b : a);
        a->returns = true;
    }
    b->same_as = one;
    if (a->first_site == NONE) {
        a->first_site = b->first_site;
        a->last_site = b->last_site;
    } else if (b->first_site != NONE) {
        order->sites[a->last_site].next = b->first_site;
        a->last_site = b->last_site;
    }
}

static void call(struct pdl_order *order, uint32_t entry, uint32_t after, uint32_t caller)
{
    const uint32_t owner = order->owner[entry];
    const uint32_t callee =
        owner > order->base ? find(order, owner - order->base - 1) : add_function(order);
    struct function *function = &order->functions[callee];
    if (owner <= order->base) {
        order->owner[entry] = order->base + 1 + callee;
        reach(order, entry, NONE);
    }
    const uint32_t site = order->site_count;
    PDL_ADD(order->sites, order->site_count, order->site_capacity,
            (struct site){after, caller, NONE});
    if (function->first_site == NONE) {
        function->first_site = site;
    } else {
        order->sites[function->last_site].next = site;
    }
    function->last_site = site;
    if (function->returns) {
        reach(order, after, caller);
    }
}

static void give_back(struct pdl_order *order, uint32_t function)
{
    struct function *returning = &order->functions[function];
    if (!returning->returns) {
        returning->returns = true;
        go_back(order, returning);
    }
}

/* ---- instructions ------------------------------------------------------------------------------- */

/* An instruction that is come to. */
struct step {
    uint32_t code;
    uint32_t number;
    uint32_t function;
    uint64_t low, high; /* its words */
};

static uint64_t place_of(const struct pdl_order *order, const struct step *step)
{
    return (uint64_t)(step->number - order->code.first[step->code]) * PDL_SASS_SIZE;
}

static void lose(struct pdl_order *order, const struct step *step, const char *why)
{
    if (order->lost == NULL) {
        order->lost = why;
        order->lost_at = place_of(order, step);
    }
}

/* Whether an instruction is only executed if a predicate says so. */
static bool is_guarded(const struct step *step)
{
    return (step->low >> 12 & 15) != GUARD_ALWAYS;
}

/* The same of a transfer of control, which may have a second predicate. */
static bool is_conditional(const struct step *step)
{
    return is_guarded(step) || (step->high & BRANCH_PREDICATE_MASK) != BRANCH_PLAIN;
}

static void go_on(struct pdl_order *order, const struct step *step)
{
    if (step->number + 1 < order->code.first[step->code + 1]) {
        reach(order, step->number + 1, step->function);
    } else {
        order->unsure = true;
    }
}

/* Where a relative branch leads, in its code: a number of words of 4 bytes from the instruction behind it. */
static uint32_t target_of(const struct pdl_order *order, const struct step *step)
{
    const uint64_t bits = (step->low >> 34 << 8 | (step->low >> 16 & 255)) << 26;
    const int64_t words = (int64_t)bits / (INT64_C(1) << 26);
    const int64_t at = (int64_t)place_of(order, step) + (int64_t)PDL_SASS_SIZE + words * 4;
    return at >= 0 ? pdl_sass_number_of(&order->code, step->code, (uint64_t)at) : NONE;
}

/* Threads that meet go on where the BSSY of their register leads, which mostly is behind the BSYNC. */
static void begin_region(struct pdl_order *order, const struct step *step)
{
    const int64_t at =
        (int64_t)place_of(order, step) + (int64_t)PDL_SASS_SIZE + REGION_OFFSET(step->low);
    const uint32_t target =
        at >= 0 ? pdl_sass_number_of(&order->code, step->code, (uint64_t)at) : NONE;
    const uint32_t name = REGION_OF(step->low);
    if (target == NONE) {
        order->unsure = true;
    } else if (order->ended[name]) {
        reach(order, target, step->function);
    } else {
        PDL_ADD(order->regions, order->region_count, order->region_capacity,
                (struct region){{target, step->function}, order->pending[name]});
        order->pending[name] = order->region_count - 1;
    }
}

static void end_region(struct pdl_order *order, const struct step *step)
{
    const uint32_t name = REGION_OF(step->low);
    order->ended[name] = true;
    for (uint32_t at = order->pending[name]; at != NONE; at = order->regions[at].next) {
        reach(order, order->regions[at].to.number, order->regions[at].to.function);
    }
    order->pending[name] = NONE;
}

static void go_to(struct pdl_order *order, const struct step *step)
{
    const uint32_t target = target_of(order, step);
    if (target != NONE) {
        reach(order, target, step->function);
    } else {
        lose(order, step, "a branch out of the code");
    }
}

/* The called function of a symbol; NONE if it has no code here. *system: one that does not wait. */
static uint32_t callee_of(const struct pdl_order *order,
                          const struct pdl_sass_relocation *relocation, bool *system)
{
    struct pdl_elf_symbol symbol;
    *system = false;
    if (!pdl_elf_symbol(&order->code.symbols, relocation->symbol, &symbol)) {
        return NONE;
    }
    const uint32_t code = pdl_sass_code_of(&order->code, symbol.section);
    if (code == NONE) {
        /* The latter copy in place of an instruction that stands beside the call. */
        *system = pdl_code_is_system(symbol.name, strlen(symbol.name)) ||
                  pdl_elf_after(symbol.name, "__cuda_syscall_") != NULL;
        return NONE;
    }
    return pdl_sass_number_of(&order->code, code, symbol.value + (uint64_t)relocation->addend);
}

static void follow_call(struct pdl_order *order, const struct step *step)
{
    const struct pdl_sass_relocation *relocation =
        pdl_sass_relocation_of(&order->code, step->number);
    const uint32_t kind = (uint32_t)step->low & PDL_SASS_KIND;
    const bool immediate = (step->low & PDL_SASS_FORM) == PDL_SASS_IMMEDIATE;
    /* Functions of the system are called through a register; where nothing else is, it is one of them. */
    bool system =
        kind == PDL_SASS_CALL_ABS && !immediate && !order->code.cubin->codes[step->code].unknown;
    uint32_t entry = NONE;
    if (relocation != NULL) {
        entry = callee_of(order, relocation, &system);
    } else if (immediate && kind == PDL_SASS_CALL_REL) {
        entry = target_of(order, step);
    }
    if (entry != NONE && step->number + 1 < order->code.first[step->code + 1]) {
        call(order, entry, step->number + 1, step->function);
    } else if (entry == NONE && system) {
        order->unsure = order->unsure || relocation == NULL;
        go_on(order, step);
    } else if (entry == NONE) {
        lose(order, step, immediate ? "a call of external code" : "an indirect call");
    } else {
        order->unsure = true;
    }
    if (is_conditional(step)) {
        go_on(order, step);
    }
}

static void follow_table(struct pdl_order *order, const struct step *step)
{
    const struct pdl_sass_table *table = pdl_sass_table_of(&order->code, step->number);
    if (table == NULL) {
        lose(order, step, "an indirect branch");
    } else {
        order->left -= table->count < order->left ? table->count : order->left;
    }
    for (uint32_t i = 0; table != NULL && i < table->count; i++) {
        uint32_t at;
        memcpy(&at, table->targets + (size_t)i * sizeof(at), sizeof(at));
        const uint32_t target = pdl_sass_number_of(&order->code, step->code, at);
        if (target != NONE) {
            reach(order, target, step->function);
        } else {
            lose(order, step, "a branch out of the code");
        }
    }
    if (is_conditional(step)) {
        go_on(order, step);
    }
}

static void note_access(struct pdl_order *order, const struct step *step)
{
    bool generic;
    const enum pdl_sass_access access = pdl_sass_access_of(step->low, step->high, &generic);
    if (access == PDL_SASS_ACCESS_NONE || access == PDL_SASS_ACCESS_UNKNOWN) {
        order->unsure = order->unsure || access == PDL_SASS_ACCESS_UNKNOWN;
        return;
    }
    if (order->accesses_left == 0 || order->access_count == KERNEL_ACCESSES) {
        lose(order, step, "more accesses than are kept");
        return;
    }
    order->accesses_left--;
    PDL_ADD(order->accesses, order->access_count, order->access_capacity,
            (struct pdl_machine_access){
                .at = place_of(order, step),
                .section = order->code.cubin->codes[step->code].section,
                .write = access == PDL_SASS_ACCESS_WRITE,
                .generic = generic,
                .non_coherent = access == PDL_SASS_ACCESS_READ_CONSTANT,
            });
}

static void follow(struct pdl_order *order, const struct step *step)
{
    const uint32_t kind = (uint32_t)step->low & PDL_SASS_KIND;
    if (kind != PDL_SASS_CALL_ABS && kind != PDL_SASS_CALL_REL &&
        pdl_sass_relocation_of(&order->code, step->number) != NULL) {
        order->unsure = true; /* there are those that replace an instruction */
    }
    if ((step->low >> 12 & 15) == GUARD_NEVER) {
        go_on(order, step);
        return;
    }
    if ((step->low & (PDL_SASS_KIND | PDL_SASS_FORM)) == PDL_SASS_WAIT) {
        if (is_guarded(step)) {
            go_on(order, step);
        }
        return;
    }
    switch (kind) {
    case SASS_EXIT:
        order->unsure = true;
        if (is_guarded(step) || (step->high & BRANCH_PLAIN_MASK) != BRANCH_PLAIN) {
            go_on(order, step);
        }
        break;
    case SASS_RETURN:
        give_back(order, step->function);
        if (is_conditional(step)) {
            go_on(order, step);
        }
        break;
    case SASS_BRANCH:
        go_to(order, step);
        if (is_guarded(step) || (step->low & PDL_SASS_FORM) != PDL_SASS_IMMEDIATE ||
            BRANCH_BY_WARP(step->low) != 0 || (step->high & BRANCH_PLAIN_MASK) != BRANCH_PLAIN) {
            go_on(order, step);
        }
        break;
    case SASS_WARPSYNC:
        if (target_of(order, step) != NONE) {
            go_to(order, step); /* from the end of what they do together */
        } else {
            order->unsure = true;
        }
        go_on(order, step);
        break;
    case SASS_REGION:
        begin_region(order, step);
        go_on(order, step);
        break;
    case SASS_REGION_END:
        end_region(order, step);
        go_on(order, step);
        break;
    case PDL_SASS_CALL_ABS:
    case PDL_SASS_CALL_REL:
        follow_call(order, step);
        break;
    case SASS_BRANCH_INDIRECT:
    case SASS_BRANCH_UNIFORM:
        follow_table(order, step);
        break;
    case SASS_JUMP:
    case SASS_JUMP_INDIRECT:
    case SASS_JUMP_UNIFORM:
        lose(order, step, "a jump");
        break;
    default:
        note_access(order, step);
        go_on(order, step);
        break;
    }
}

/* ---- walking ------------------------------------------------------------------------------------ */

static int by_place(const void *left, const void *right)
{
    return pdl_machine_access_order(left, right);
}

/* Numbers of functions of earlier walks must not come again. */
static void begin(struct pdl_order *order)
{
    if (order->base > UINT32_MAX / 2) {
        memset(order->owner, 0,
               (size_t)order->code.first[order->code.cubin->count] * sizeof(*order->owner));
        order->base = 0;
    } else {
        order->base += order->function_count;
    }
    order->stacked = order->function_count = order->site_count = order->access_count = 0;
    order->region_count = 0;
    for (uint32_t i = 0; i < REGIONS; i++) {
        order->pending[i] = NONE;
        order->ended[i] = false;
    }
    order->lost = NULL;
    order->unsure = order->code.cubin->relocatable; /* the linker may replace functions */
}

static bool leaves_early(const struct pdl_order *order, uint32_t code)
{
    return order->lost == NULL && order->code.relocation_count == 0 &&
           !order->code.cubin->relocatable &&
           pdl_sass_comes_straight(order->code.data[code], pdl_sass_count(&order->code, code));
}

void pdl_order_walk(struct pdl_order *order, uint32_t code, struct pdl_order_found *found)
{
    begin(order);
    const uint32_t root = add_function(order);
    uint32_t at = code; /* where the last instruction was, as the next one mostly is */
    if (order->code.first[code] < order->code.first[code + 1]) {
        reach(order, order->code.first[code], root);
    } else {
        order->unsure = true;
    }
    while (order->stacked > 0) {
        const struct visit visit = order->stack[--order->stacked];
        const uint32_t owner = order->owner[visit.number];
        struct step step = {.number = visit.number};
        if (visit.function != NONE) {
            step.function = find(order, visit.function);
            if (owner > order->base) {
                const uint32_t other = find(order, owner - order->base - 1);
                if (other != step.function) {
                    join(order, other, step.function);
                }
                continue;
            }
            order->owner[visit.number] = order->base + 1 + step.function;
        } else {
            step.function = find(order, owner - order->base - 1); /* a function's entry */
        }
        if (visit.number < order->code.first[at] || visit.number >= order->code.first[at + 1]) {
            at = pdl_sass_code_at(&order->code, visit.number);
        }
        step.code = at;
        const unsigned char *bytes =
            order->code.data[at] + (size_t)(visit.number - order->code.first[at]) * PDL_SASS_SIZE;
        memcpy(&step.low, bytes, sizeof(step.low));
        memcpy(&step.high, bytes + sizeof(step.low), sizeof(step.high));
        if (order->left == 0) {
            lose(order, &step, "more code than is followed");
            break;
        }
        order->left--;
        follow(order, &step);
    }
    order->unsure = order->unsure || order->functions[find(order, ROOT)].returns;
    if (order->access_count > 0) {
        qsort(order->accesses, order->access_count, sizeof(*order->accesses), by_place);
    }
    *found = (struct pdl_order_found){.accesses = order->accesses,
                                      .count = order->access_count,
                                      .lost = order->lost,
                                      .lost_at = order->lost_at,
                                      .always = order->lost == NULL && !order->unsure,
                                      .leaves = leaves_early(order, code),
                                      .unordered = order->unordered || has_unordered(order, code)};
}
