/* SPDX-License-Identifier: MIT */
/* Cooper, Harvey and Kennedy's iteration over the reverse post-order. */
#include "inspect/edit/dominators.h"

#include <stdlib.h>
#include <string.h>

struct graph {
    const struct pdl_cfg *cfg;
    bool backward;
};

static bool ends(const struct pdl_block *block)
{
    return block->exits || block->successor_count == 0;
}

/* The `edge`-th node that an edge leads to from a node, or, reversed, comes from; PDL_NONE behind the last. */
static uint32_t next_node(const struct graph *graph, uint32_t node, uint32_t edge, bool reversed)
{
    const struct pdl_cfg *cfg = graph->cfg;
    const bool up = graph->backward != reversed;
    if (node == cfg->block_count) { /* its edges are looked for, since no block is behind it */
        return PDL_NONE;
    }
    const struct pdl_block *block = &cfg->blocks[node];
    if (up) {
        return edge < block->predecessor_count ? cfg->predecessors[block->first_predecessor + edge]
                                               : PDL_NONE;
    }
    if (edge < block->successor_count) {
        return cfg->successors[block->first_successor + edge];
    }
    return graph->backward && edge == block->successor_count && ends(block) ? cfg->block_count
                                                                            : PDL_NONE;
}

static uint32_t meet(const struct pdl_dominators *dominators, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (dominators->number[a] > dominators->number[b]) {
            a = dominators->parent[a];
        }
        while (dominators->number[b] > dominators->number[a]) {
            b = dominators->parent[b];
        }
    }
    return a;
}

uint32_t pdl_dominators_meet(const struct pdl_dominators *dominators, uint32_t a, uint32_t b)
{
    return meet(dominators, a, b);
}

/* Visits everything from a node; nodes are added to the order behind what they lead to. */
static void visit(struct pdl_dominators *dominators, const struct graph *graph, uint32_t from)
{
    uint32_t depth = 0;
    if (dominators->number[from] != 0) {
        return;
    }
    dominators->number[from] = 1;
    dominators->stack[depth++] = from;
    while (depth > 0) {
        const uint32_t at = dominators->stack[depth - 1];
        const uint32_t to = next_node(graph, at, dominators->edge[at]++, false);
        if (to == PDL_NONE) {
            dominators->order[dominators->count++] = at;
            depth--;
        } else if (dominators->number[to] == 0) {
            dominators->number[to] = 1;
            dominators->stack[depth++] = to;
        }
    }
}

static void number_nodes(struct pdl_dominators *dominators, const struct graph *graph)
{
    const uint32_t blocks = graph->cfg->block_count;
    for (uint32_t i = 0; graph->backward && i < blocks; i++) {
        if (ends(&graph->cfg->blocks[i])) {
            visit(dominators, graph, i);
        }
    }
    visit(dominators, graph, dominators->root);
    for (uint32_t i = 0; i < dominators->count / 2; i++) {
        const uint32_t other = dominators->count - 1 - i;
        const uint32_t node = dominators->order[i];
        dominators->order[i] = dominators->order[other];
        dominators->order[other] = node;
    }
    for (uint32_t i = 0; i < dominators->count; i++) {
        dominators->number[dominators->order[i]] = i + 1;
    }
}

bool pdl_dominators_find(struct pdl_dominators *dominators, const struct pdl_cfg *cfg,
                         bool backward)
{
    const struct graph graph = {cfg, backward};
    const size_t nodes = (size_t)cfg->block_count + 1;
    if (!PDL_ARRAY_RESERVE(dominators->parent, nodes, dominators->parent_capacity) ||
        !PDL_ARRAY_RESERVE(dominators->number, nodes, dominators->number_capacity) ||
        !PDL_ARRAY_RESERVE(dominators->order, nodes, dominators->order_capacity) ||
        !PDL_ARRAY_RESERVE(dominators->stack, nodes, dominators->stack_capacity) ||
        !PDL_ARRAY_RESERVE(dominators->edge, nodes, dominators->edge_capacity)) {
        return false;
    }
    memset(dominators->number, 0, nodes * sizeof(*dominators->number));
    memset(dominators->edge, 0, nodes * sizeof(*dominators->edge));
    dominators->count = 0;
    dominators->root = backward ? cfg->block_count : 0;
    number_nodes(dominators, &graph);
    for (size_t i = 0; i < nodes; i++) {
        dominators->parent[i] = PDL_NONE;
    }
    dominators->parent[dominators->root] = dominators->root;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 1; i < dominators->count; i++) {
            const uint32_t node = dominators->order[i];
            uint32_t parent = PDL_NONE;
            for (uint32_t edge = 0;; edge++) {
                const uint32_t from = next_node(&graph, node, edge, true);
                if (from == PDL_NONE) {
                    break;
                }
                if (dominators->parent[from] != PDL_NONE) {
                    parent = parent == PDL_NONE ? from : meet(dominators, from, parent);
                }
            }
            changed = changed || dominators->parent[node] != parent;
            dominators->parent[node] = parent;
        }
    }
    return true;
}

void pdl_dominators_free(struct pdl_dominators *dominators)
{
    free(dominators->parent);
    free(dominators->number);
    free(dominators->order);
    free(dominators->stack);
    free(dominators->edge);
}
