/* SPDX-License-Identifier: MIT */
/* Chains: the order of their links.
 *
 * The links are a list, and each has a place, a number that grows along the list. A dependency on a
 * link with a lower place changes nothing. Else two searches take turns, an edge at a time: one from
 * the link to those that depend on it, one from the other to those that it depends on, both between
 * the two places only. If they meet, the dependency closes a cycle. The one that ends first has found
 * all that has to move, which is little for links in reverse order, too. */
#include <stdlib.h>

#include "core/array.h"
#include "graph/chain.h"

#define GAP ((uint64_t)1 << 31) /* between the places of links that are added: 2^32 fit in */

/* ---- the list -------------------------------------------------------------------------------- */

static void unlink_link(struct pdl_chain *chain, uint32_t link)
{
    const struct pdl_link *of = &chain->links[link];
    *(of->earlier != PDL_NO_LINK ? &chain->links[of->earlier].later : &chain->first) = of->later;
    *(of->later != PDL_NO_LINK ? &chain->links[of->later].earlier : &chain->last) = of->earlier;
}

/* Makes room between places near a link: the links in the smallest range of places around it that is
 * not crowded, where wider ranges must be emptier, get places that are equally far apart. So a link
 * gets few new places, wherever links are inserted (Bender et al., "Two Simplified Algorithms for
 * Maintaining Order in a List"). */
static void spread(struct pdl_chain *chain, uint32_t around)
{
    struct pdl_link *const links = chain->links;
    uint32_t first = around;
    uint32_t last = around;
    uint64_t count = 1;
    uint64_t step = 0;
    uint64_t base = 0;
    double room = 1.4 * 1.4;
    for (unsigned bits = 3; bits < 64 && step == 0; bits++) {
        base = links[around].place >> bits << bits;
        while (links[first].earlier != PDL_NO_LINK && links[links[first].earlier].place >= base) {
            first = links[first].earlier;
            count++;
        }
        while (links[last].later != PDL_NO_LINK &&
               (links[links[last].later].place - base) >> bits == 0) {
            last = links[last].later;
            count++;
        }
        room *= 1.4;
        step = (double)count <= room || bits == 63 ? ((uint64_t)1 << bits) / count : 0;
    }
    base += step / 2;
    for (uint32_t at = first; count > 0; at = links[at].later, count--, base += step) {
        links[at].place = base;
    }
}

/* A place behind one link and before another, which are neighbours; 0 if there is none. */
static uint64_t place_between(const struct pdl_chain *chain, uint32_t earlier, uint32_t later)
{
    const uint64_t low = earlier != PDL_NO_LINK ? chain->links[earlier].place : 0;
    const uint64_t high = later != PDL_NO_LINK ? chain->links[later].place : UINT64_MAX;
    if (high - low < 2) {
        return 0;
    }
    if (later == PDL_NO_LINK && earlier != PDL_NO_LINK && high - low > GAP) {
        return low + GAP;
    }
    if (earlier == PDL_NO_LINK && later != PDL_NO_LINK && high - low > GAP) {
        return high - GAP;
    }
    return low + (high - low) / 2;
}

/* Inserts a link behind another one; PDL_NO_LINK: before all. */
static void insert_behind(struct pdl_chain *chain, uint32_t link, uint32_t earlier)
{
    struct pdl_link *of = &chain->links[link];
    const uint32_t later = earlier != PDL_NO_LINK ? chain->links[earlier].later : chain->first;
    of->place = place_between(chain, earlier, later);
    if (of->place == 0) {
        spread(chain, earlier != PDL_NO_LINK ? earlier : later);
        of->place = place_between(chain, earlier, later);
    }
    of->earlier = earlier;
    of->later = later;
    *(earlier != PDL_NO_LINK ? &chain->links[earlier].later : &chain->first) = link;
    *(later != PDL_NO_LINK ? &chain->links[later].earlier : &chain->last) = link;
}

void pdl_chain_put_last(struct pdl_chain *chain, uint32_t link)
{
    insert_behind(chain, link, chain->last);
}

/* ---- searching ------------------------------------------------------------------------------- */

/* A search under way: what it found, in the order of finding. */
struct search {
    bool forward; /* to those that depend on a link, else to those that it depends on */
    uint64_t number;
    uint32_t *found;
    uint32_t count;
    size_t capacity;
    uint32_t at;   /* in `found`: whose edges are looked at, */
    uint32_t edge; /* and which of them is the next */
};

enum turn { TURN_GOES_ON, TURN_ENDED, TURN_MET, TURN_NO_MEMORY };

static bool find(struct pdl_chain *chain, struct search *search, uint32_t link)
{
    if (!PDL_ARRAY_ROOM(search->found, search->count, search->capacity)) {
        return false;
    }
    chain->links[link].found_by = search->number;
    search->found[search->count++] = link;
    return true;
}

/* The n-th edge of a link in the direction of a search, or PDL_NO_LINK for none; false past the last
 * one. */
static bool edge_of(const struct pdl_chain *chain, const struct search *search, uint32_t link,
                    uint32_t n, uint32_t *to)
{
    const struct pdl_link *of = &chain->links[link];
    if (!search->forward) {
        uint32_t count = 0;
        const uint32_t *on = pdl_chain_dependencies(chain, link, &count);
        if (n < count) {
            *to = on[n];
        }
        return n < count;
    }
    if (n < of->by_count) {
        *to = of->by[n];
        return true;
    }
    /* Implicit ones: the links behind it up to the first that is not an event record. */
    const uint64_t next = (uint64_t)link + 1 + (n - of->by_count);
    if (next >= chain->count || pdl_chain_is_aside(of) ||
        (n > of->by_count && !pdl_chain_is_aside(&chain->links[next - 1]))) {
        return false;
    }
    *to = chain->links[next].explicit_dependencies ? PDL_NO_LINK : (uint32_t)next;
    return true;
}

/* Looks at one edge. */
static enum turn take_turn(struct pdl_chain *chain, struct search *search,
                           const struct search *other, uint64_t low, uint64_t high)
{
    uint32_t to = 0;
    if (!edge_of(chain, search, search->found[search->at], search->edge++, &to)) {
        search->edge = 0;
        return ++search->at == search->count ? TURN_ENDED : TURN_GOES_ON;
    }
    if (to == PDL_NO_LINK) {
        return TURN_GOES_ON;
    }
    const struct pdl_link *link = &chain->links[to];
    if (link->found_by == other->number) {
        return TURN_MET;
    }
    if (link->found_by != search->number && link->place > low && link->place < high &&
        !find(chain, search, to)) {
        return TURN_NO_MEMORY;
    }
    return TURN_GOES_ON;
}

struct placed {
    uint64_t place;
    uint32_t link;
};

static int by_place(const void *left, const void *right)
{
    const uint64_t a = ((const struct placed *)left)->place;
    const uint64_t b = ((const struct placed *)right)->place;
    return (a > b) - (a < b);
}

/* Moves what a search found behind `on`, or before `link`, in the order that it has. */
static bool move(struct pdl_chain *chain, const struct search *search, uint32_t link, uint32_t on)
{
    struct placed *moved = malloc(search->count * sizeof(*moved));
    if (moved == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < search->count; i++) {
        moved[i] = (struct placed){chain->links[search->found[i]].place, search->found[i]};
    }
    qsort(moved, search->count, sizeof(*moved), by_place);
    uint32_t earlier = on;
    for (uint32_t i = 0; i < search->count; i++) {
        unlink_link(chain, moved[i].link);
        insert_behind(chain, moved[i].link, search->forward ? earlier : chain->links[link].earlier);
        earlier = moved[i].link;
    }
    free(moved);
    return true;
}

pdl_status pdl_chain_put_after(struct pdl_chain *chain, uint32_t link, uint32_t on, bool *cycle)
{
    const uint64_t low = chain->links[link].place;
    const uint64_t high = chain->links[on].place;
    *cycle = link == on;
    if (*cycle || low > high) {
        return PDL_SUCCESS;
    }
    struct search searches[2] = {{.forward = true, .number = chain->searches + 1},
                                 {.forward = false, .number = chain->searches + 2}};
    enum turn turn = TURN_NO_MEMORY;
    unsigned which = 1;
    chain->searches += 2;
    if (find(chain, &searches[0], link) && find(chain, &searches[1], on)) {
        do {
            which = 1 - which;
            turn = take_turn(chain, &searches[which], &searches[1 - which], low, high);
        } while (turn == TURN_GOES_ON);
    }
    if (turn == TURN_ENDED && !move(chain, &searches[which], link, on)) {
        turn = TURN_NO_MEMORY;
    }
    free(searches[0].found);
    free(searches[1].found);
    *cycle = turn == TURN_MET;
    return turn != TURN_NO_MEMORY
               ? PDL_SUCCESS
               : PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory to check %u links for a cycle",
                          chain->count);
}
