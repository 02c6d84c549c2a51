/* SPDX-License-Identifier: MIT */
/* The shapes of chains: dependencies, cycles, and random shapes against a simple oracle. */
#include "graph_support.h"

static pdl_kernel *kernel;
static pdl_chain *chain;

static int setup(void **state)
{
    (void)graph_setup(state);
    kernel = test_kernel(FROM_FUNCTION, 0);
    chain = make_chain();
    return 0;
}

#define SHAPE_TEST(name) TEST_WITH(name, setup, mock_teardown)

SHAPE_TEST(cycles_are_refused_and_change_nothing)
{
    for (uint32_t i = 0; i < 6; i++) {
        (void)add_link(chain, kernel, PDL_OVERLAP_AUTO, i);
    }
    assert_ok(pdl_chain_build(chain));
    assert_refused(pdl_chain_add_dependency(chain, 3, 3), PDL_ERROR_CYCLE, "on", "3");
    assert_refused(pdl_chain_add_dependency(chain, 0, 5), PDL_ERROR_CYCLE, "on", "0", "5");
    assert_ok(pdl_chain_launch(chain, NULL));         /* nothing was changed: it is still built */
    assert_ok(pdl_chain_add_dependency(chain, 3, 0)); /* now 3 does not wait for 2 */
    assert_ok(pdl_chain_add_dependency(chain, 2, 5)); /* so that 2 may wait for what follows 3 */
    assert_refused(pdl_chain_add_dependency(chain, 3, 2), PDL_ERROR_CYCLE, "on", "3", "2");
}

/* Splitmix64: the same shapes everywhere. */
static uint64_t seed;

static uint32_t below(uint32_t limit)
{
    seed += 0x9e3779b97f4a7c15u;
    uint64_t x = seed;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((x ^ (x >> 31)) % limit);
}

#define MOST 24

/* A plain model of a chain's shape. */
struct oracle {
    uint32_t links;
    bool explicit[MOST];
    bool on[MOST][MOST]; /* [link][what it waits for] */
    bool overlaps[MOST];
};

static bool reaches(const struct oracle *oracle, uint32_t from, uint32_t to, unsigned depth)
{
    if (from == to) {
        return true;
    }
    for (uint32_t next = 0; next < oracle->links && depth <= MOST; next++) {
        if (oracle->on[from][next] && reaches(oracle, next, to, depth + 1)) {
            return true;
        }
    }
    return false;
}

static void grow(struct oracle *oracle)
{
    const uint32_t link = oracle->links++;
    oracle->overlaps[link] = below(2) != 0;
    if (link > 0) {
        oracle->on[link][link - 1] = true;
    }
    assert_int_equal(
        add_link(chain, kernel, oracle->overlaps[link] ? PDL_OVERLAP_AUTO : PDL_OVERLAP_NONE, link),
        link);
}

static void depend(struct oracle *oracle)
{
    const uint32_t link = below(oracle->links);
    const uint32_t on = below(oracle->links);
    if (reaches(oracle, on, link, 0)) {
        assert_refused(pdl_chain_add_dependency(chain, link, on), PDL_ERROR_CYCLE, "on", "");
        return;
    }
    assert_ok(pdl_chain_add_dependency(chain, link, on));
    if (!oracle->explicit[link]) {
        memset(oracle->on[link], 0, sizeof(oracle->on[link]));
        oracle->explicit[link] = true;
    }
    oracle->on[link][on] = true;
}

static void start(struct oracle *oracle)
{
    const uint32_t link = below(oracle->links);
    bool depends = false;
    for (uint32_t on = 0; on < oracle->links; on++) {
        depends = depends || (oracle->explicit[link] && oracle->on[link][on]);
    }
    if (depends) {
        assert_invalid(pdl_chain_add_dependency(chain, link, PDL_CHAIN_START), "on", "start");
        return;
    }
    assert_ok(pdl_chain_add_dependency(chain, link, PDL_CHAIN_START));
    memset(oracle->on[link], 0, sizeof(oracle->on[link]));
    oracle->explicit[link] = true;
}

static void assert_agrees(const struct oracle *oracle)
{
    CUgraphNode nodes[MOST];
    for (uint32_t i = 0; i < oracle->links; i++) {
        nodes[i] = node_of(chain, i);
    }
    for (uint32_t link = 0; link < oracle->links; link++) {
        uint32_t count = 0;
        for (uint32_t on = 0; on < oracle->links; on++) {
            if (oracle->on[link][on]) {
                count++;
                assert_edge(nodes[on], nodes[link],
                            oracle->overlaps[link] ? PDL_EDGE_PROGRAMMATIC : PDL_EDGE_FULL);
            } else {
                assert_null(mock_edge(nodes[on], nodes[link]));
            }
        }
        assert_int_equal(mock_edges_into(nodes[link]), count);
        const pdl_chain_report report = link_report(chain, link);
        assert_int_equal(report.dependencies, count);
        assert_int_equal(report.overlap, count > 0 && oracle->overlaps[link]);
    }
}

SHAPE_TEST(random_shapes_have_the_edges_that_were_asked_for)
{
    for (unsigned round = 0; round < 1000; round++) {
        struct oracle oracle;
        const uint32_t links = 1 + round % MOST;
        memset(&oracle, 0, sizeof(oracle));
        seed = round;
        drop_chain(chain);
        chain = make_chain();
        while (oracle.links < links) {
            grow(&oracle);
            for (uint32_t i = below(3); i > 0; i--) {
                depend(&oracle);
            }
            if (below(8) == 0) {
                start(&oracle);
            }
        }
        assert_ok(pdl_chain_build(chain));
        assert_agrees(&oracle);
        assert_ok(pdl_chain_launch(chain, NULL));
        assert_ran_count(links);
    }
}
