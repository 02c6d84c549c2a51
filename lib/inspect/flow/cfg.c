/* SPDX-License-Identifier: MIT */
#include "inspect/flow/cfg.h"

#include <string.h>

/* More than any body that does not repeat large tables of branch targets. */
#define EDGES_MAX ((uint32_t)1 << 23)

static bool ends_block(const struct pdl_instruction *instruction)
{
    switch (instruction->opcode.op) {
    case PDL_OP_BRANCH:
    case PDL_OP_BRANCH_TABLE:
    case PDL_OP_CALL:
    case PDL_OP_RETURN:
    case PDL_OP_EXIT:
    case PDL_OP_TRAP:
    case PDL_OP_WAIT:
    case PDL_OP_TRIGGER:
        return true;
    default:
        return false;
    }
}

/* What goes on behind it when it is guarded, so that it needs a block of its own. */
static bool alone_if_guarded(const struct pdl_instruction *instruction)
{
    return instruction->guard != PDL_NONE &&
           (instruction->opcode.op == PDL_OP_WAIT || instruction->opcode.op == PDL_OP_TRIGGER ||
            instruction->opcode.op == PDL_OP_CALL);
}

/* Marks the first instructions of blocks in block_of: 1 for a block, 2 where an empty block goes in
 * front of a guarded instruction that something jumps to. */
static void mark_leaders(struct pdl_cfg *cfg, const struct pdl_body *body)
{
    const uint32_t count = body->instruction_count;
    for (uint32_t i = 0; i < body->label_count; i++) {
        cfg->block_of[body->labels[i].instruction] = 1;
    }
    cfg->block_of[0] = 1;
    for (uint32_t i = 0; i < count; i++) {
        const struct pdl_instruction *instruction = &body->instructions[i];
        if (alone_if_guarded(instruction)) {
            cfg->block_of[i] = cfg->block_of[i] == 0 ? 1 : 2;
        }
        if (ends_block(instruction) && cfg->block_of[i + 1] == 0) {
            cfg->block_of[i + 1] = 1;
        }
    }
    /* An unguarded block in front of a guarded instruction is its own if a branch ended it: then
     * there must be one to decide from. */
    for (uint32_t i = 1; i < count; i++) {
        if (alone_if_guarded(&body->instructions[i]) && ends_block(&body->instructions[i - 1])) {
            cfg->block_of[i] = 2;
        }
    }
    if (count > 0 && alone_if_guarded(&body->instructions[0])) {
        cfg->block_of[0] = 2;
    }
}

static void add_block(struct pdl_cfg *cfg, uint32_t first)
{
    PDL_ADD(cfg->blocks, cfg->block_count, cfg->block_capacity,
            (struct pdl_block){.first = first, .branch = PDL_NONE});
}

static void add_successor(struct pdl_cfg *cfg, const struct pdl_body *body, struct pdl_block *block,
                          uint32_t successor)
{
    if (cfg->successor_count == EDGES_MAX) {
        pdl_fail(PDL_ERROR_INVALID_IMAGE, body->function->line, body->function->column,
                 "the function has more than %u branches", EDGES_MAX);
    }
    PDL_ADD(cfg->successors, cfg->successor_count, cfg->successor_capacity, successor);
    block->successor_count++;
}

static bool no_return(const struct pdl_ptx_module *module, const struct pdl_instruction *call)
{
    const struct pdl_ptx_function *callee =
        call->callee != PDL_NONE ? pdl_ptx_function_find(module, call->callee) : NULL;
    return callee != NULL && callee->no_return;
}

/* To the next block; in front of a guarded instruction into it, or around it. */
static void go_on(struct pdl_cfg *cfg, const struct pdl_body *body, struct pdl_block *block,
                  uint32_t next)
{
    const struct pdl_block *behind = &cfg->blocks[next];
    add_successor(cfg, body, block, next);
    if (body->instruction_count > 0 && behind->count == 1 &&
        alone_if_guarded(&body->instructions[behind->first])) {
        block->branch = behind->first;
        add_successor(cfg, body, block, next + 1);
    }
}

/* Where a block's last instruction leads. `next` is the block behind it. */
static void connect(struct pdl_cfg *cfg, const struct pdl_ptx_module *module,
                    const struct pdl_body *body, uint32_t index)
{
    struct pdl_block *block = &cfg->blocks[index];
    const uint32_t next = index + 1; /* the last block is the empty one at the end */
    const struct pdl_instruction *last =
        block->count > 0 ? &body->instructions[block->first + block->count - 1] : NULL;
    const uint8_t op = last != NULL ? last->opcode.op : (uint8_t)PDL_OP_OTHER;
    block->first_successor = cfg->successor_count;
    if (index == cfg->block_count - 1) {
        block->exits = true;
        return;
    }
    const bool guarded = last != NULL && last->guard != PDL_NONE;
    const uint32_t last_index = block->first + block->count - 1;
    if (op == PDL_OP_BRANCH) {
        for (uint32_t i = 0; i < last->operand_count; i++) {
            const struct pdl_operand *operand = &body->operands[last->first_operand + i];
            if (operand->kind == PDL_OPERAND_TARGET) {
                add_successor(cfg, body, block, cfg->block_of[operand->symbol]);
            }
        }
        block->branch = guarded ? last_index : PDL_NONE;
    } else if (op == PDL_OP_BRANCH_TABLE) {
        block->branch = last_index;
        for (uint32_t i = 0; i < last->operand_count; i++) {
            const struct pdl_operand *operand = &body->operands[last->first_operand + i];
            if (operand->kind != PDL_OPERAND_TARGET) {
                continue;
            }
            const struct pdl_target_list *list = &body->lists[operand->symbol];
            for (uint32_t j = 0; j < list->count; j++) {
                add_successor(cfg, body, block,
                              cfg->block_of[body->targets[list->first + j].symbol]);
            }
        }
    } else if (op == PDL_OP_RETURN || op == PDL_OP_EXIT || op == PDL_OP_TRAP) {
        block->exits = op != PDL_OP_TRAP;
        block->branch = guarded ? last_index : PDL_NONE;
    } else {
        if (op != PDL_OP_CALL || !no_return(module, last)) {
            go_on(cfg, body, block, next);
        }
        return;
    }
    if (guarded) {
        add_successor(cfg, body, block, next);
    }
}

static void find_predecessors(struct pdl_cfg *cfg)
{
    PDL_RESERVE(cfg->predecessors, cfg->successor_count, cfg->predecessor_capacity);
    for (uint32_t i = 0; i < cfg->successor_count; i++) {
        cfg->blocks[cfg->successors[i]].predecessor_count++;
    }
    uint32_t first = 0;
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        cfg->blocks[i].first_predecessor = first;
        first += cfg->blocks[i].predecessor_count;
        cfg->blocks[i].predecessor_count = 0;
    }
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        const struct pdl_block *block = &cfg->blocks[i];
        for (uint32_t j = 0; j < block->successor_count; j++) {
            struct pdl_block *to = &cfg->blocks[cfg->successors[block->first_successor + j]];
            cfg->predecessors[to->first_predecessor + to->predecessor_count++] = i;
        }
    }
}

/* Tarjan's strongly connected components, without recursion: a block is in a loop if its component
 * has more than one block, or an edge to itself. */
static void find_loops(struct pdl_cfg *cfg)
{
    const uint32_t count = cfg->block_count;
    uint32_t *memory = pdl_take((size_t)count * 5, sizeof(*memory));
    uint32_t *number = memory;      /* from 1; 0: not seen */
    uint32_t *low = memory + count; /* 0 once its component is known */
    uint32_t *edge = memory + 2 * (size_t)count;
    uint32_t *path = memory + 3 * (size_t)count;
    uint32_t *stack = memory + 4 * (size_t)count;
    uint32_t numbers = 0, stacked = 0;
    uint32_t depth = 1;
    path[0] = 0;
    while (depth > 0) { /* blocks that cannot be reached from the entry are left out */
        const uint32_t at = path[depth - 1];
        struct pdl_block *block = &cfg->blocks[at];
        if (number[at] == 0) {
            number[at] = low[at] = ++numbers;
            stack[stacked++] = at;
        }
        if (edge[at] < block->successor_count) {
            const uint32_t to = cfg->successors[block->first_successor + edge[at]++];
            block->in_loop = block->in_loop || to == at;
            if (number[to] == 0) {
                path[depth++] = to;
            } else if (low[to] != 0 && number[to] < low[at]) {
                low[at] = number[to];
            }
            continue;
        }
        depth--;
        if (depth > 0 && low[at] < low[path[depth - 1]]) {
            low[path[depth - 1]] = low[at];
        }
        if (low[at] == number[at]) {
            const bool loop = stack[stacked - 1] != at;
            uint32_t member;
            do {
                member = stack[--stacked];
                low[member] = 0;
                cfg->blocks[member].in_loop = cfg->blocks[member].in_loop || loop;
            } while (member != at);
        }
    }
    pdl_give_back(memory);
}

void pdl_cfg_build(struct pdl_cfg *cfg, const struct pdl_ptx_module *module,
                   const struct pdl_body *body)
{
    const uint32_t count = body->instruction_count;
    cfg->block_count = cfg->successor_count = 0;
    PDL_RESERVE(cfg->block_of, (size_t)count + 1, cfg->block_of_capacity);
    memset(cfg->block_of, 0, ((size_t)count + 1) * sizeof(*cfg->block_of));
    mark_leaders(cfg, body);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t mark = cfg->block_of[i];
        if (mark == 2) {
            add_block(cfg, i);
        }
        if (mark != 0) {
            add_block(cfg, i);
        }
        /* A label in front of a guarded instruction means the block that decides. */
        cfg->block_of[i] = cfg->block_count - (mark == 2 ? 2 : 1);
        cfg->blocks[cfg->block_count - 1].count++;
    }
    cfg->block_of[count] = cfg->block_count;
    add_block(cfg, count); /* the end of the body is an exit */
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        connect(cfg, module, body, i);
    }
    find_predecessors(cfg);
    find_loops(cfg);
}
