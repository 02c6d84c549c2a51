/* SPDX-License-Identifier: MIT */
/* Chains: conditionals, their bodies and their conditions. */
#include "graph_support.h"

static pdl_kernel *kernel;
static pdl_kernel *setter; /* its first parameter takes a handle */
static pdl_chain *chain;

static int setup(void **state)
{
    (void)graph_setup(state);
    kernel = test_kernel(FROM_CU_KERNEL, 0);
    setter = test_kernel(FROM_CU_KERNEL, 1);
    chain = make_chain();
    return 0;
}

#define CONDITIONAL_TEST(name) TEST_WITH(name, setup, mock_teardown)

static uint32_t add_conditional(pdl_chain *to, pdl_node_kind kind, uint32_t initial,
                                uint32_t bodies)
{
    pdl_chain_node node = node_of_kind(kind);
    node.initial = initial;
    node.bodies = bodies;
    return add_chain_node(to, &node);
}

static uint64_t first_argument(unsigned n)
{
    uint64_t value = 0;
    memcpy(&value, mock_ran(n)->params.arguments[0], sizeof(value));
    return value;
}

CONDITIONAL_TEST(a_body_runs_if_its_condition_says_so)
{
    add_link(chain, kernel, PDL_OVERLAP_AUTO, 0);
    const uint32_t yes = add_conditional(chain, PDL_NODE_IF, 1, 0);
    const uint32_t no = add_conditional(chain, PDL_NODE_IF, 0, 2);
    add_link(chain, kernel, PDL_OVERLAP_AUTO, 3);
    add_link(body_of(chain, yes, 0), kernel, PDL_OVERLAP_AUTO, 11);
    add_link(body_of(chain, yes, 0), kernel, PDL_OVERLAP_AUTO, 12);
    add_link(body_of(chain, no, 0), kernel, PDL_OVERLAP_AUTO, 21);
    add_link(body_of(chain, no, 1), kernel, PDL_OVERLAP_AUTO, 22);
    assert_ok(pdl_chain_build(chain));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_ran_count(5);
    assert_ran(0, 0);
    assert_ran(1, 11);
    assert_ran(2, 12);
    assert_ran(3, 22);
    assert_ran(4, 3);
    const pdl_census census = chain_census(chain);
    assert_int_equal(census.nodes, 8);
    assert_int_equal(census.kernels, 6);
    assert_int_equal(census.programmatic, 1); /* in a body */
    assert_int_equal(census.full, 3);
    assert_chain_explained(chain, yes, "an if", "waits for the end");
    assert_chain_explained(chain, 3, pdl_reason_string(PDL_REASON_NODE));
    const pdl_census body = chain_census(body_of(chain, yes, 0));
    assert_int_equal(body.nodes, 2);
}

CONDITIONAL_TEST(the_body_whose_index_is_the_condition_runs)
{
    static const uint32_t initial[] = {0, 2, 3, UINT32_MAX};
    add_link(chain, kernel, PDL_OVERLAP_AUTO, 0);
    uint32_t links[4];
    for (uint32_t i = 0; i < 4; i++) {
        links[i] = add_conditional(chain, PDL_NODE_SWITCH, initial[i], 3);
        for (uint32_t b = 0; b < 3; b++) {
            add_link(body_of(chain, links[i], b), kernel, PDL_OVERLAP_AUTO, 100 * i + 10 * b + 1);
            add_link(body_of(chain, links[i], b), kernel, PDL_OVERLAP_AUTO, 100 * i + 10 * b + 2);
        }
    }
    assert_ok(pdl_chain_build(chain));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_ran_count(5); /* no body for 3 and more */
    assert_ran(0, 0);
    assert_ran(1, 1);
    assert_ran(2, 2);
    assert_ran(3, 121);
    assert_ran(4, 122);
    const pdl_census census = chain_census(chain);
    assert_int_equal(census.nodes, 5 + 4 * 3 * 2);
    assert_int_equal(census.kernels, 1 + 4 * 3 * 2);
    assert_int_equal(census.programmatic, 4 * 3);
    assert_int_equal(census.full, 4);
    assert_chain_explained(chain, links[0], "a switch", "waits for the end");
    assert_int_equal(chain_census(body_of(chain, links[1], 2)).programmatic, 1);
    struct values values = values_of(77); /* the arguments of a body's link change */
    assert_ok(pdl_chain_set_args(body_of(chain, links[1], 2), 1, VALUES(values)));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_ran(4, 77);
}

CONDITIONAL_TEST(a_switch_is_decided_by_the_links_that_get_its_condition)
{
    const uint32_t sets = add_link(chain, setter, PDL_OVERLAP_AUTO, 1);
    const uint32_t choice = add_conditional(chain, PDL_NODE_SWITCH, 1, 2);
    pdl_chain *body = body_of(chain, choice, 1);
    const uint32_t inner = add_conditional(body, PDL_NODE_SWITCH, 0, 1);
    const uint32_t again = add_link(body_of(body, inner, 0), setter, PDL_OVERLAP_AUTO, 2);
    assert_ok(pdl_chain_pass_condition(chain, sets, 0, chain, choice));
    assert_ok(pdl_chain_pass_condition(body_of(body, inner, 0), again, 0, body, inner));
    assert_ok(pdl_chain_build(chain)); /* body 0 stays empty */
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_ran_count(2);
    assert_int_equal(first_argument(0) >> 48, 0xc0de);
    assert_int_equal(first_argument(1) >> 48, 0xc0de);
    assert_int_not_equal(first_argument(0), first_argument(1));
}

CONDITIONAL_TEST(a_switch_has_as_many_bodies_as_it_says)
{
    pdl_chain *body = NULL;
    pdl_chain_node node = node_of_kind(PDL_NODE_SWITCH);
    node.bodies = 0;
    assert_refused(pdl_chain_add_node(chain, &node, NULL), PDL_ERROR_DESC_FIELD, "bodies",
                   "a switch needs it");
    node.bodies = 65537;
    assert_refused(pdl_chain_add_node(chain, &node, NULL), PDL_ERROR_DESC_FIELD, "bodies", "65536");
    node.bodies = 65536; /* it is only recorded */
    const uint32_t most = add_chain_node(chain, &node);
    add_link(body_of(chain, most, 65535), kernel, PDL_OVERLAP_AUTO, 1);
    assert_invalid(pdl_chain_body(chain, most, 65536, &body), "index", "65536 bodies");
    node = node_of_kind(PDL_NODE_IF);
    node.bodies = 3;
    assert_refused(pdl_chain_add_node(chain, &node, NULL), PDL_ERROR_DESC_FIELD, "bodies",
                   "an if has at most 2");
    node = node_of_kind(PDL_NODE_WHILE);
    node.bodies = 2;
    assert_refused(pdl_chain_add_node(chain, &node, NULL), PDL_ERROR_DESC_FIELD, "bodies",
                   "a while has at most 1");
}

CONDITIONAL_TEST(a_condition_is_passed_to_the_links_that_set_it)
{
    const uint32_t sets = add_link(chain, setter, PDL_OVERLAP_AUTO, 5);
    const uint32_t repeats = add_conditional(chain, PDL_NODE_WHILE, 1, 0);
    pdl_chain *body = body_of(chain, repeats, 0);
    const uint32_t goes_on = add_link(body, setter, PDL_OVERLAP_AUTO, 6);
    assert_ok(pdl_chain_pass_condition(chain, sets, 0, chain, repeats));
    assert_ok(pdl_chain_pass_condition(body, goes_on, 0, chain, repeats));
    assert_ok(pdl_chain_build(chain));
    assert_ok(pdl_chain_launch(chain, NULL));
    const uint64_t handle = first_argument(0);
    assert_int_equal(handle >> 48, 0xc0de);
    assert_int_equal(first_argument(1), handle);
    /* Other arguments change, in a body too, and the handle stays. */
    struct values values = values_of(9);
    assert_ok(pdl_chain_set_args(body, goes_on, VALUES(values)));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_int_equal(first_argument(1), handle);
    uint32_t number = 0;
    memcpy(&number, mock_ran(1)->params.arguments[1], sizeof(number));
    assert_int_equal(number, values.number);
    /* A build makes another condition. */
    assert_ok(pdl_chain_build(chain));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_int_not_equal(first_argument(0), handle);
    assert_int_equal(first_argument(1), first_argument(0));
    /* A build that fails keeps the last one. */
    const uint64_t kept = first_argument(0);
    mock_fail(MOCK_cuGraphInstantiateWithFlags, 1, CUDA_ERROR_OUT_OF_MEMORY);
    assert_refused(pdl_chain_build(chain), PDL_ERROR_OUT_OF_MEMORY, NULL, "");
    assert_ok(pdl_chain_set_args(chain, sets, VALUES(values)));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_int_equal(first_argument(0), kept);
    mock_fail(MOCK_cuGraphInstantiateWithFlags, 1, CUDA_ERROR_OUT_OF_MEMORY);
    assert_refused(pdl_chain_build(chain), PDL_ERROR_OUT_OF_MEMORY, NULL, "");
    pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    desc.grid[0] = 5;
    assert_ok(pdl_chain_set_desc(chain, sets, &desc)); /* with the arguments as they are */
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_int_equal(first_argument(0), kept);
    assert_int_equal(chain_census(chain).nodes, 3); /* with the body of that build */
}

CONDITIONAL_TEST(conditionals_may_be_in_each_other)
{
    const uint32_t outer = add_conditional(chain, PDL_NODE_WHILE, 1, 0);
    pdl_chain *body = body_of(chain, outer, 0);
    const uint32_t inner = add_conditional(body, PDL_NODE_IF, 1, 0);
    pdl_chain *inmost = body_of(body, inner, 0);
    const uint32_t sets = add_link(inmost, setter, PDL_OVERLAP_AUTO, 1);
    assert_ok(pdl_chain_pass_condition(inmost, sets, 0, chain, outer));
    add_link(inmost, kernel, PDL_OVERLAP_AUTO, 2);
    assert_ok(pdl_chain_build(chain));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_ran_count(2);
    assert_ran(1, 2);
    assert_int_equal(chain_census(chain).nodes, 4);
    /* Not the other way round: that condition does not exist yet. */
    const uint32_t outside = add_link(chain, setter, PDL_OVERLAP_AUTO, 3);
    assert_invalid(pdl_chain_pass_condition(chain, outside, 0, body, inner), "owner", "");
}

CONDITIONAL_TEST(a_capture_may_be_in_a_body)
{
    const uint32_t choice = add_conditional(chain, PDL_NODE_IF, 1, 0);
    pdl_chain *body = body_of(chain, choice, 0);
    add_link(body, kernel, PDL_OVERLAP_AUTO, 1);
    assert_ok(pdl_chain_capture_begin(body, mock_stream(1, 0)));
    assert_refused(pdl_chain_capture_end(chain, NULL), PDL_ERROR_CAPTURE, NULL, "another body");
    (void)mock_capture_node(mock_stream(1, 0), CU_GRAPH_NODE_TYPE_KERNEL, true);
    assert_ok(pdl_chain_capture_end(body, NULL));
    assert_ok(pdl_chain_build(chain));
    assert_int_equal(chain_census(chain).programmatic, 1);
    assert_ok(pdl_chain_capture_begin(body, mock_stream(1, 0)));
    (void)mock_capture_node(mock_stream(1, 0), CU_GRAPH_NODE_TYPE_HOST, false);
    assert_refused(pdl_chain_capture_end(body, NULL), PDL_ERROR_NOT_SUPPORTED, NULL, "body");
}

CONDITIONAL_TEST(a_body_cannot_have_every_kind)
{
    const uint32_t choice = add_conditional(chain, PDL_NODE_IF, 1, 0);
    pdl_chain *body = body_of(chain, choice, 0);
    pdl_chain_node node = node_of_kind(PDL_NODE_HOST);
    assert_refused(pdl_chain_add_node(body, &node, NULL), PDL_ERROR_NOT_SUPPORTED, "kind",
                   "a host function");
    node = node_of_kind(PDL_NODE_EVENT_RECORD);
    node.event = (CUevent)(void *)&mock;
    assert_refused(pdl_chain_add_node(body, &node, NULL), PDL_ERROR_NOT_SUPPORTED, "kind",
                   "an event record");
    node = node_of_kind(PDL_NODE_MEMSET);
    add_chain_node(body, &node);
    node = node_of_kind(PDL_NODE_COPY);
    add_chain_node(body, &node);
    node = node_of_kind(PDL_NODE_EMPTY);
    add_chain_node(body, &node);
    assert_ok(pdl_chain_build(chain));
    node = node_of_kind(PDL_NODE_MEMSET);
    node.destination = (void *)(uintptr_t)0x50000;
    mock.runs_all = true;
    assert_ok(pdl_chain_set_node(body, 0, &node));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_int_equal(mock_ran(1)->other.memset.dst, 0x50000);
}

CONDITIONAL_TEST(a_body_is_not_a_chain_of_its_own)
{
    const uint32_t choice = add_conditional(chain, PDL_NODE_IF, 1, 0);
    pdl_chain *body = body_of(chain, choice, 0);
    CUgraph graph = NULL;
    add_link(body, kernel, PDL_OVERLAP_AUTO, 1);
    assert_refused(pdl_chain_graph(body, &graph), PDL_ERROR_NOT_BUILT, NULL, "");
    assert_invalid(pdl_chain_build(body), "chain", "body of link 0");
    assert_invalid(pdl_chain_launch(body, NULL), "chain", "body");
    assert_invalid(pdl_chain_reset(body), "chain", "body");
    pdl_chain_destroy(body); /* does nothing */
    assert_ok(pdl_chain_build(chain));
    assert_ok(pdl_chain_graph(body, &graph));
    assert_non_null(mock_node_at(graph, 0));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_ran(0, 1);
    add_link(body, kernel, PDL_OVERLAP_AUTO, 2); /* which changes the whole chain */
    assert_refused(pdl_chain_launch(chain, NULL), PDL_ERROR_NOT_BUILT, NULL, "changed");
}

CONDITIONAL_TEST(wrong_arguments_are_refused)
{
    pdl_chain *body = NULL;
    const uint32_t sets = add_link(chain, setter, PDL_OVERLAP_AUTO, 0);
    const uint32_t choice = add_conditional(chain, PDL_NODE_IF, 1, 0);
    assert_invalid(pdl_chain_body(chain, sets, 0, &body), "link", "link 0 is a kernel");
    assert_invalid(pdl_chain_body(chain, 2, 0, &body), "link", "2");
    assert_invalid(pdl_chain_body(chain, choice, 1, &body), "index", "1 bodies");
    assert_invalid(pdl_chain_body(chain, choice, 0, NULL), "body", "");
    assert_invalid(pdl_chain_pass_condition(chain, sets, 0, NULL, choice), "owner", "");
    assert_invalid(pdl_chain_pass_condition(chain, sets, 0, chain, sets), "conditional", "");
    assert_invalid(pdl_chain_pass_condition(chain, choice, 0, chain, choice), "link", "an if");
    assert_invalid(pdl_chain_pass_condition(chain, sets, 2, chain, choice), "parameter", "2");
    assert_refused(pdl_chain_pass_condition(chain, sets, 1, chain, choice), PDL_ERROR_ARGUMENT_SIZE,
                   "parameter", "4 bytes");
    assert_ok(pdl_chain_pass_condition(chain, sets, 0, chain, choice));
    assert_ok(pdl_chain_build(chain)); /* an if may have an empty body */
}

CONDITIONAL_TEST(conditionals_are_not_in_each_other_without_end)
{
    const pdl_chain_node node = node_of_kind(PDL_NODE_IF);
    pdl_chain *at = chain;
    for (unsigned depth = 0; depth < 32; depth++) {
        at = body_of(at, add_chain_node(at, &node), 0);
    }
    assert_refused(pdl_chain_add_node(at, &node, NULL), PDL_ERROR_NOT_SUPPORTED, "kind", "32");
    assert_ok(pdl_chain_build(chain));
}

CONDITIONAL_TEST(a_while_without_links_is_refused)
{
    (void)add_conditional(chain, PDL_NODE_WHILE, 1, 0);
    assert_refused(pdl_chain_build(chain), PDL_ERROR_NOT_BUILT, NULL, "link 0", "no links");
}

CONDITIONAL_TEST(an_older_driver_has_no_second_body_and_no_switch)
{
    pdl_chain_node node = node_of_kind(PDL_NODE_IF);
    node.bodies = 2;
    mock_set_driver_version(12070);
    pdl_chain *older = make_chain();
    assert_refused(pdl_chain_add_node(older, &node, NULL), PDL_ERROR_NOT_SUPPORTED, "bodies",
                   "12.8", "12.7");
    node.bodies = 1;
    add_chain_node(older, &node);
    node = node_of_kind(PDL_NODE_SWITCH);
    node.bodies = 1;
    assert_refused(pdl_chain_add_node(older, &node, NULL), PDL_ERROR_NOT_SUPPORTED, "kind",
                   "a switch", "12.8", "12.7");
    assert_ok(pdl_chain_build(older)); /* with what it had */
}
