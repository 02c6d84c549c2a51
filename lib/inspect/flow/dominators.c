/* SPDX-License-Identifier: MIT */
/* The algorithm of Lengauer and Tarjan, with path compression: its time grows with n log n for any graph. */
#include "inspect/flow/dominators.h"

#include <string.h>

struct graph {
    const struct pdl_cfg *cfg;
    bool backward;
};

static bool ends(const struct pdl_block *block)
{
    return block->exits || block->successor_count == 0;
}

/* The next node that edges from a node lead to or, reversed, come from; PDL_NONE behind the last. */
static uint32_t next_node(const struct graph *graph, uint32_t node, uint32_t *edge, bool reversed)
{
    const struct pdl_cfg *cfg = graph->cfg;
    const bool up = graph->backward != reversed;
    if (node == cfg->block_count) { /* the end, which nothing is behind */
        while (!reversed && *edge < cfg->block_count && !ends(&cfg->blocks[*edge])) {
            ++*edge;
        }
        return !reversed && *edge < cfg->block_count ? (*edge)++ : PDL_NONE;
    }
    const struct pdl_block *block = &cfg->blocks[node];
    const uint32_t at = (*edge)++;
    if (up) {
        return at < block->predecessor_count ? cfg->predecessors[block->first_predecessor + at]
                                             : PDL_NONE;
    }
    if (at < block->successor_count) {
        return cfg->successors[block->first_successor + at];
    }
    return graph->backward && at == block->successor_count && ends(block) ? cfg->block_count
                                                                          : PDL_NONE;
}

/* Numbers what can be reached, each node behind the one that it was found from. */
static void search(struct pdl_dominators *dominators, const struct graph *graph)
{
    uint32_t at = dominators->root;
    dominators->found_from[at] = PDL_NONE;
    dominators->order[dominators->count++] = at;
    dominators->number[at] = dominators->count;
    while (at != PDL_NONE) {
        const uint32_t to = next_node(graph, at, &dominators->next[at], false);
        if (to == PDL_NONE) {
            at = dominators->found_from[at];
        } else if (dominators->number[to] == 0) {
            dominators->found_from[to] = at;
            dominators->order[dominators->count++] = to;
            dominators->number[to] = dominators->count;
            at = to;
        }
    }
}

/* The node with the least semidominator on the way up from a node, as far as nodes are linked. The way is made
 * shorter: first its nodes are turned around, then they get what is best above them. */
static uint32_t best_above(struct pdl_dominators *dominators, uint32_t node)
{
    uint32_t *const ancestor = dominators->ancestor;
    uint32_t *const label = dominators->label;
    uint32_t below = PDL_NONE;
    uint32_t at = node;
    if (ancestor[at] == PDL_NONE) {
        return label[at];
    }
    while (ancestor[ancestor[at]] != PDL_NONE) {
        const uint32_t above = ancestor[at];
        ancestor[at] = below;
        below = at;
        at = above;
    }
    const uint32_t top = ancestor[at];
    while (below != PDL_NONE) {
        const uint32_t next = ancestor[below];
        if (dominators->semi[label[at]] < dominators->semi[label[below]]) {
            label[below] = label[at];
        }
        ancestor[below] = top;
        at = below;
        below = next;
    }
    return label[node];
}

static void find_parents(struct pdl_dominators *dominators, const struct graph *graph)
{
    uint32_t *const semi = dominators->semi;
    for (uint32_t i = dominators->count; i-- > 1;) {
        const uint32_t node = dominators->order[i];
        const uint32_t above = dominators->found_from[node];
        uint32_t edge = 0;
        for (uint32_t from; (from = next_node(graph, node, &edge, true)) != PDL_NONE;) {
            if (dominators->number[from] != 0) {
                const uint32_t other = semi[best_above(dominators, from)];
                semi[node] = other < semi[node] ? other : semi[node];
            }
        }
        const uint32_t at = dominators->order[semi[node] - 1];
        dominators->next[node] = dominators->bucket[at];
        dominators->bucket[at] = node;
        dominators->ancestor[node] = above;
        for (uint32_t one = dominators->bucket[above]; one != PDL_NONE;
             one = dominators->next[one]) {
            const uint32_t best = best_above(dominators, one);
            dominators->parent[one] = semi[best] < semi[one] ? best : above;
        }
        dominators->bucket[above] = PDL_NONE;
    }
    dominators->parent[dominators->root] = dominators->root;
    for (uint32_t i = 1; i < dominators->count; i++) {
        const uint32_t node = dominators->order[i];
        if (dominators->parent[node] != dominators->order[semi[node] - 1]) {
            dominators->parent[node] = dominators->parent[dominators->parent[node]];
        }
    }
}

/* Where the trees below nodes begin: parents have smaller numbers. */
static void lay_out(struct pdl_dominators *dominators)
{
    for (uint32_t i = dominators->count; i-- > 1;) {
        const uint32_t node = dominators->order[i];
        dominators->size[dominators->parent[node]] += dominators->size[node];
    }
    dominators->first[dominators->root] = 0;
    dominators->next[dominators->root] = 1;
    for (uint32_t i = 1; i < dominators->count; i++) {
        const uint32_t node = dominators->order[i];
        uint32_t *const free_from = &dominators->next[dominators->parent[node]];
        dominators->first[node] = *free_from;
        *free_from += dominators->size[node];
        dominators->next[node] = dominators->first[node] + 1;
    }
}

void pdl_dominators_find(struct pdl_dominators *dominators, const struct pdl_cfg *cfg,
                         bool backward)
{
    const struct graph graph = {cfg, backward};
    const uint32_t nodes = cfg->block_count + 1;
    PDL_RESERVE(dominators->parent, nodes, dominators->parent_capacity);
    PDL_RESERVE(dominators->number, nodes, dominators->number_capacity);
    PDL_RESERVE(dominators->size, nodes, dominators->size_capacity);
    PDL_RESERVE(dominators->first, nodes, dominators->first_capacity);
    PDL_RESERVE(dominators->found_from, nodes, dominators->found_from_capacity);
    PDL_RESERVE(dominators->ancestor, nodes, dominators->ancestor_capacity);
    PDL_RESERVE(dominators->label, nodes, dominators->label_capacity);
    PDL_RESERVE(dominators->semi, nodes, dominators->semi_capacity);
    PDL_RESERVE(dominators->bucket, nodes, dominators->bucket_capacity);
    PDL_RESERVE(dominators->next, nodes, dominators->next_capacity);
    PDL_RESERVE(dominators->order, nodes, dominators->order_capacity);
    memset(dominators->number, 0, nodes * sizeof(*dominators->number));
    memset(dominators->next, 0, nodes * sizeof(*dominators->next));
    dominators->count = 0;
    dominators->root = backward ? cfg->block_count : 0;
    search(dominators, &graph);
    for (uint32_t i = 0; i < nodes; i++) {
        dominators->parent[i] = dominators->ancestor[i] = dominators->bucket[i] = PDL_NONE;
        dominators->label[i] = i;
        dominators->semi[i] = dominators->number[i];
        dominators->size[i] = 1;
    }
    find_parents(dominators, &graph);
    lay_out(dominators);
}
