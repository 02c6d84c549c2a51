/* SPDX-License-Identifier: MIT */
/* What is said of one launch in six places is one decision: by pdl_launch_explain(), pdl_overlap_query(), the launch
 * itself, the log, a node and a chain. Kernels, descriptors, switches and policies by chance; what is expected is worked
 * out here, from the documents. PDL_TEST_SEED repeats a run. With an argument it runs in strict mode. */
#include <pdl/overlap.h>
#include <pdl/policy.h>

#include <fcntl.h>
#include <unistd.h>

#include "graph_support.h"
#include "launch/kernel.h"

#define ROUNDS 200000

/* ---- chance ------------------------------------------------------------------------------------ */

static uint64_t seed = 1;
static unsigned round_number;
static uint64_t chance_state;
static const char *place = "";

static uint32_t chance(uint32_t below)
{
    chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((chance_state >> 33) % below);
}

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fail_msg("PDL_TEST_SEED=%llu, round %u, %s: %s is wrong; last error: %s",              \
                     (unsigned long long)seed, round_number, place, #condition,                    \
                     pdl_last_error()->message);                                                   \
        }                                                                                          \
    } while (0)

/* ---- kernels, switches and policies -------------------------------------------------------------- */

enum { SUBJECTS = 28, PRIMARY = MOCK_KERNELS - 1 };

/* A kernel of the model that is launched: fc1 to fc7. */
struct subject {
    pdl_kernel *kernel;
    enum kernel_source source;
    unsigned number;
    bool declared; /* again and again */
    bool race;     /* the analysis finds one in its code */
    pdl_known waits;
    pdl_reason logged[2]; /* on each device, last; 0: nothing */
};

static struct subject subjects[SUBJECTS];
static pdl_kernel *primary; /* fc8, which waits and triggers */
static bool is_strict;      /* the process */
static pdl_policy policy;

static bool is_old_code(const struct subject *subject)
{
    return subject->number == 2 || subject->number == 5;
}

static void make_subjects(void)
{
    const struct pdl_scan_answer answer = {.waits = PDL_YES,
                                           .proof = {.state = PDL_PROOF_STATE_RACE}};
    memset(subjects, 0, sizeof(subjects));
    mock.table.device_count = 2;
    mock.devices[1].attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 8;
    for (unsigned i = 0; i < SUBJECTS; i++) {
        struct subject *const subject = &subjects[i];
        subject->number = i % PRIMARY;
        subject->source = (enum kernel_source)(i / PRIMARY % KERNEL_SOURCES);
        subject->race = i / PRIMARY == KERNEL_SOURCES;
        subject->declared = !subject->race && subject->number % 4 != 3;
        for (int device = 0; device < 2 && is_old_code(subject); device++) {
            mock.kernels[subject->number].attributes[device][CU_FUNC_ATTRIBUTE_PTX_VERSION] = 80;
        }
    }
    for (unsigned i = 0; i < 2 * MOCK_KERNELS; i++) { /* few, so that a query has little to count */
        mock.kernels[i / 2].attributes[i % 2][CU_FUNC_ATTRIBUTE_NUM_REGS] = 16;
    }
    mock_apply();
    for (unsigned i = 0; i < SUBJECTS; i++) {
        struct subject *const subject = &subjects[i];
        subject->kernel = test_unknown_kernel(subject->source, subject->number);
        if (subject->race) {
            subject->kernel->known = pdl_known_pack(&answer);
            subject->waits = PDL_YES;
        }
    }
    primary = test_kernel(FROM_CU_KERNEL, PRIMARY);
    assert_ok(pdl_kernel_declare(primary, PDL_YES, PDL_YES));
}

static void set_policy(void)
{
    static const char *const lists[] = {"fc1", "fc2:fc4", "fc[56]", "*7:none"};
    policy = (pdl_policy)PDL_POLICY_INIT;
    policy.exclude = chance(2) != 0 ? NULL : lists[chance(COUNT_OF(lists))];
    policy.capture_only = chance(3) == 0;
    policy.off = chance(8) == 0;
    assert_ok(pdl_policy_set(&policy));
}

static bool is_excluded(const struct subject *subject)
{
    static const char *const kernels[] = {"1", "24", "56", "7"}; /* of the lists above */
    const char *const list = policy.exclude;
    const size_t which = list == NULL     ? 0
                         : list[2] == '1' ? 0
                         : list[2] == '2' ? 1
                         : *list == 'f'   ? 2
                                          : 3;
    return list != NULL && strchr(kernels[which], '1' + (int)subject->number) != NULL;
}

/* Something that is decided by changes. */
static void change(void)
{
    struct subject *const subject = &subjects[chance(SUBJECTS)];
    switch (chance(8)) {
    case 0:
    case 1:
        set_policy();
        break;
    default:
        if (subject->declared) {
            subject->waits = chance(4) != 0 ? PDL_YES : (pdl_known)chance(2);
            assert_ok(pdl_kernel_declare(subject->kernel, subject->waits, PDL_UNKNOWN));
        }
        break;
    }
}

/* ---- descriptors ----------------------------------------------------------------------------------- */

static CUlaunchAttribute extra;
static const uint32_t grids[] = {4, 8, 132};
static const uint32_t blocks[] = {32, 64, 256};

static pdl_launch_desc random_desc(int device)
{
    pdl_launch_desc desc = plain_desc();
    desc.overlap = chance(3);
    desc.grid[0] = chance(50) == 0 ? 0 : grids[chance(COUNT_OF(grids))];
    desc.grid[1] = chance(2);
    desc.block[0] = chance(50) == 0 ? 2048 : blocks[chance(COUNT_OF(blocks))];
    desc.block[2] = chance(2);
    desc.cooperative = chance(6) == 0;
    desc.stream = chance(3) == 0 ? NULL : mock_stream(1 + chance(2), device);
    desc.default_stream = chance(2);
    desc.priority = chance(3) == 0 ? -1 : 0;
    desc.shared_memory_carveout = chance(5) == 0 ? 50 : 0;
    if (chance(6) == 0) {
        static const int ids[] = {6, 6, 2, 4, 7, 11, 13, 100, 3, 8};
        memset(&extra, 0, sizeof(extra));
        extra.id = (CUlaunchAttributeID)ids[chance(COUNT_OF(ids))];
        extra.value.programmaticStreamSerializationAllowed = (int)chance(2);
        desc.extra_attributes = &extra;
        desc.extra_attribute_count = 1;
    }
    return desc;
}

/* What pdl_launch() checks before the overlap. */
static pdl_status expected_check(const pdl_launch_desc *desc)
{
    const int id = desc->extra_attribute_count > 0 ? (int)extra.id : 0;
    if (id == 6 || id == 2 || id == 4 || id == 7 || id == 11 || id == 13) {
        return PDL_ERROR_DESC_FIELD;
    }
    return desc->grid[0] == 0       ? PDL_ERROR_INVALID_GRID
           : desc->block[0] == 2048 ? PDL_ERROR_INVALID_BLOCK
                                    : PDL_SUCCESS;
}

static pdl_reason expected_reason(const struct subject *subject, const pdl_launch_desc *desc,
                                  int device, bool is_captured)
{
    const struct {
        bool holds;
        pdl_reason reason;
    } order[] = {
        {desc->overlap == PDL_OVERLAP_NONE, PDL_REASON_NOT_REQUESTED},
        {policy.off != 0, PDL_REASON_DISABLED},
        {is_excluded(subject), PDL_REASON_EXCLUDED},
        {device == 1, PDL_REASON_DEVICE},
        {desc->cooperative != 0, PDL_REASON_COOPERATIVE},
        {is_old_code(subject), PDL_REASON_CODE},
        {subject->waits == PDL_NO, PDL_REASON_NO_WAIT},
        {subject->waits == PDL_UNKNOWN, PDL_REASON_WAITS_UNKNOWN},
        {subject->race, is_strict ? PDL_REASON_STRICT : PDL_REASON_RACE},
        {!is_captured && policy.capture_only != 0, PDL_REASON_NOT_CAPTURING},
    };
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        if (order[i].holds) {
            return order[i].reason;
        }
    }
    return PDL_REASON_GRANTED;
}

static pdl_status expected_status(const pdl_launch_desc *desc, pdl_reason reason)
{
    const pdl_status status = expected_check(desc);
    return status != PDL_SUCCESS || desc->overlap != PDL_OVERLAP_REQUIRE ||
                   reason == PDL_REASON_GRANTED
               ? status
           : reason == PDL_REASON_COOPERATIVE ? PDL_ERROR_COOPERATIVE_OVERLAP
                                              : PDL_ERROR_OVERLAP;
}

/* ---- the six ----------------------------------------------------------------------------------- */

static struct {
    unsigned explain, query, launch, log, log_lines, node, chain, granted, refused;
    unsigned reasons[64];
} counts;

static void check_explain(const struct subject *subject, const pdl_launch_desc *desc,
                          pdl_status status, pdl_reason reason)
{
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    const bool granted = status == PDL_SUCCESS && reason == PDL_REASON_GRANTED;
    bool carries = false;
    place = "explain";
    CHECK(pdl_launch_explain(subject->kernel, desc, &report) == status);
    counts.explain++;
    for (uint32_t i = 0; i < report.attribute_count; i++) {
        carries = carries || report.attributes[i] ==
                                 (uint32_t)CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    }
    CHECK(carries == granted && (report.overlap == 1) == granted);
    if (expected_check(desc) == PDL_SUCCESS) {
        CHECK(report.overlap_reason == (uint32_t)reason);
        CHECK(granted || strstr(report.message, pdl_reason_string(reason)) != NULL);
    }
    CHECK(granted || strstr(report.message, " overlaps ") == NULL);
}

/* The conditions of a query which the reasons are. */
static pdl_condition condition_of_reason(pdl_reason reason)
{
    return reason == PDL_REASON_DISABLED      ? PDL_CONDITION_ENVIRONMENT
           : reason == PDL_REASON_DEVICE      ? PDL_CONDITION_DEVICE
           : reason == PDL_REASON_CODE        ? PDL_CONDITION_SECONDARY_CODE
           : reason == PDL_REASON_COOPERATIVE ? PDL_CONDITION_COOPERATIVE
           : reason == PDL_REASON_NO_WAIT || reason == PDL_REASON_WAITS_UNKNOWN
               ? PDL_CONDITION_WAITS
               : PDL_CONDITION_ATTRIBUTE;
}

/* Behind a launch of fc8 in the same stream. What is required in vain is an answer. */
static void check_query(const struct subject *subject, const pdl_launch_desc *desc, int device,
                        pdl_reason reason)
{
    pdl_overlap_report report = PDL_OVERLAP_REPORT_INIT;
    pdl_launch_desc before = DESC(.stream = desc->stream);
    before.default_stream = desc->default_stream;
    const pdl_condition_report *why = NULL;
    place = "query";
    CHECK(pdl_overlap_query(primary, &before, subject->kernel, desc, chance(2) != 0 ? -1 : device,
                            &report) == expected_check(desc));
    counts.query++;
    if (expected_check(desc) != PDL_SUCCESS) {
        return;
    }
    for (uint32_t i = 0; i < report.condition_count; i++) {
        const pdl_condition_report *const one = &report.conditions[i];
        CHECK(one->condition != PDL_CONDITION_ENVIRONMENT ||
              (one->met == PDL_YES) == (policy.off == 0));
        if (one->condition == (uint32_t)condition_of_reason(reason)) {
            why = one;
        }
    }
    CHECK(report.early_launch == (reason == PDL_REASON_GRANTED ? PDL_YES : PDL_NO));
    CHECK(reason == PDL_REASON_GRANTED || report.overlap == PDL_NO);
    CHECK(why != NULL);
    if (reason != PDL_REASON_GRANTED) {
        CHECK(why->met != PDL_YES);
        CHECK(why->condition != PDL_CONDITION_ATTRIBUTE || reason == PDL_REASON_NOT_REQUESTED ||
              strcmp(why->message, pdl_reason_string(reason)) == 0);
    }
}

/* Of the kernel and the device alone, whatever is launched. */
static void check_infos(const struct subject *subject, int device)
{
    const pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_REQUIRE);
    const pdl_reason reason = expected_reason(subject, &desc, device, true);
    pdl_kernel_info kernel_info = PDL_KERNEL_INFO_INIT;
    pdl_device_info device_info = PDL_DEVICE_INFO_INIT;
    place = "kernel and device";
    CHECK(pdl_kernel_get(subject->kernel, -1, &kernel_info) == PDL_SUCCESS);
    CHECK(kernel_info.device == device && kernel_info.overlap_reason == (uint32_t)reason);
    CHECK((kernel_info.can_overlap == 1) == (reason == PDL_REASON_GRANTED));
    CHECK(pdl_device_get(device, &device_info) == PDL_SUCCESS);
    CHECK(device_info.can_overlap == (device == 0 && policy.off == 0));
}

static int log_file = -1;

/* A decision that was not logged yet has one line, which says the same; another has none. */
static void check_log(struct subject *subject, int device, pdl_reason reason)
{
    char lines[4096];
    char line[1024] = "";
    unsigned count = 0;
    (void)lseek(log_file, 0, SEEK_CUR); /* on Windows a file that was read to its end stays at it */
    const ssize_t length = read(log_file, lines, sizeof(lines) - 1);
    CHECK(length >= 0);
    lines[length] = '\0';
    for (const char *at = lines; *at != '\0'; at += strcspn(at, "\n") + 1) {
        if (strstr(at, "kernel fc8:") == NULL || strstr(at, "kernel fc8:") > strchr(at, '\n')) {
            (void)snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
            count++;
        }
    }
    counts.log++;
    CHECK(count == (subject->logged[device] != reason));
    if (count > 0) {
        char said[400];
        (void)snprintf(said, sizeof(said), "device %d, kernel fc%u: %s%s%s", device,
                       subject->number + 1, subject->logged[device] != 0 ? "now " : "",
                       reason == PDL_REASON_GRANTED ? "overlaps" : "does not overlap: ",
                       reason == PDL_REASON_GRANTED ? "" : pdl_reason_string(reason));
        CHECK(strstr(line, said) != NULL);
        counts.log_lines++;
    }
    subject->logged[device] = reason;
}

static void check_launch(struct subject *subject, const pdl_launch_desc *desc, int device,
                         pdl_status status, pdl_reason reason)
{
    struct values values = values_of(0);
    const unsigned before = mock.launch_count;
    unsigned carried = 0;
    place = "launch";
    CHECK(pdl_launch(subject->kernel, desc, VALUES(values)) == status);
    counts.launch++;
    CHECK(mock.launch_count == before + (status == PDL_SUCCESS));
    if (status != PDL_SUCCESS) {
        return;
    }
    const struct mock_launch *const launch = mock_last_launch();
    for (unsigned i = 0; i < launch->attribute_count; i++) {
        carried +=
            launch->attributes[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    }
    CHECK(carried == (reason == PDL_REASON_GRANTED));
    place = "log of the launch";
    check_log(subject, device, reason);
}

/* A node behind one of fc8, as which the overlap is the edge. */
static void check_node(struct subject *subject, const pdl_launch_desc *desc, int device)
{
    struct values values = values_of(0);
    const pdl_reason reason = expected_reason(subject, desc, device, true);
    const pdl_status status = expected_status(desc, reason);
    const bool asks = desc->overlap != PDL_OVERLAP_NONE;
    CUgraph graph = make_graph();
    CUgraphNode node = NULL;
    pdl_edge edge = {.node = add_kernel_node(graph, primary, NULL, 0),
                     .kind = asks ? PDL_EDGE_PROGRAMMATIC : PDL_EDGE_FULL};
    place = "node";
    CHECK(pdl_graph_add_launch(graph, &edge, 1, subject->kernel, desc, VALUES(values), &node) ==
          status);
    counts.node++;
    if (status == PDL_SUCCESS) {
        CHECK(mock_edge(edge.node, node)->type == (reason == PDL_REASON_GRANTED
                                                       ? CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC
                                                       : CU_GRAPH_DEPENDENCY_TYPE_DEFAULT));
        for (unsigned i = 0; i < node->params.attribute_count; i++) {
            CHECK(node->params.attributes[i].id !=
                  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
        }
        place = "log of the node";
        check_log(subject, device, reason);
    }
    destroy_graph(graph);
}

static void check_link(pdl_chain *chain, const pdl_launch_desc *desc, pdl_reason reason, bool built)
{
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    CHECK(pdl_chain_explain(chain, 1, &report) == PDL_SUCCESS);
    CHECK(report.built == built && report.overlap_reason == (uint32_t)reason);
    CHECK((report.overlap == 1) == (reason == PDL_REASON_GRANTED));
    CHECK(report.grid[0] == desc->grid[0] && report.block[0] == desc->block[0]);
    CHECK(reason == PDL_REASON_GRANTED ||
          strstr(report.message, pdl_reason_string(reason)) != NULL);
}

/* A link behind one of fc8, or of a memset. What was built stays, whatever is switched then. */
static void check_chain(struct subject *subject, const pdl_launch_desc *desc, int device)
{
    struct values values = values_of(0);
    const bool behind_kernel = chance(4) != 0;
    const pdl_chain_node memset_node = node_of_kind(PDL_NODE_MEMSET);
    pdl_chain *const chain = make_chain();
    pdl_reason reason = expected_reason(subject, desc, device, true);
    pdl_status status = expected_status(desc, reason);
    if (behind_kernel) {
        (void)add_link(chain, primary, PDL_OVERLAP_AUTO, 0);
    } else {
        (void)add_chain_node(chain, &memset_node);
    }
    place = "chain";
    counts.chain++;
    CHECK(pdl_chain_add(chain, subject->kernel, desc, VALUES(values), NULL, 0, NULL) == status);
    if (status == PDL_SUCCESS && reason == PDL_REASON_GRANTED && !behind_kernel) {
        reason = PDL_REASON_NODE;
        counts.reasons[reason]++;
        status = expected_status(desc, reason);
    }
    if (status == PDL_SUCCESS) {
        check_link(chain, desc, reason, false);
        CHECK(pdl_chain_build(chain) == PDL_SUCCESS);
        place = "log of the chain";
        check_log(subject, device, reason);
        place = "census of the chain";
        const pdl_census census = chain_census(chain);
        CHECK(census.edges == 1 && census.programmatic == (reason == PDL_REASON_GRANTED));
        if (chance(4) == 0) {
            change();
        }
        place = "built chain";
        check_link(chain, desc, reason, true);
    } else if (expected_check(desc) == PDL_SUCCESS && reason == PDL_REASON_NODE) {
        CHECK(pdl_chain_build(chain) == PDL_ERROR_OVERLAP);
    }
    drop_chain(chain);
}

GRAPH_TEST(six_answers_are_one)
{
    const char *const given = getenv("PDL_TEST_SEED");
    CUgraph graph = make_graph();
    seed = given != NULL ? strtoull(given, NULL, 10) : seed;
    chance_state = seed;
    make_subjects();
    set_policy();
    for (round_number = 0; round_number < ROUNDS; round_number++) {
        const int device = chance(6) == 0;
        struct subject *subject = &subjects[chance(SUBJECTS)];
        while (device == 1 && subject->source == FROM_FUNCTION) { /* which is of device 0 */
            subject = &subjects[chance(SUBJECTS)];
        }
        place = "setting up";
        mock_set_current(device);
        if (chance(2) == 0) {
            change();
        }
        const bool is_capturing = chance(2) != 0; /* stream 2 does */
        const CUstream stream = mock_stream(2, device);
        mock_capture(stream, is_capturing ? graph : NULL,
                     is_capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                  : CU_STREAM_CAPTURE_STATUS_NONE);
        const pdl_launch_desc desc = random_desc(device);
        const pdl_reason reason =
            expected_reason(subject, &desc, device, is_capturing && desc.stream == stream);
        const pdl_status status = expected_status(&desc, reason);
        check_infos(subject, device);
        check_explain(subject, &desc, status, reason);
        check_query(subject, &desc, device, reason);
        check_launch(subject, &desc, device, status, reason);
        if (round_number % 4 == 0) { /* which take longer */
            check_node(subject, &desc, device);
            check_chain(subject, &desc, device);
        }
        mock_capture(stream, NULL, CU_STREAM_CAPTURE_STATUS_NONE);
        counts.reasons[reason]++;
        counts.granted += status == PDL_SUCCESS && reason == PDL_REASON_GRANTED;
        counts.refused += status != PDL_SUCCESS;
    }
    overlap_enable(true);
    mock_set_current(0);
    print_message("seed %llu: %u explained, %u queries, %u launches, %u nodes, %u chains, %u looks "
                  "at the log with %u lines; %u granted, %u refused\n",
                  (unsigned long long)seed, counts.explain, counts.query, counts.launch,
                  counts.node, counts.chain, counts.log, counts.log_lines, counts.granted,
                  counts.refused);
    for (unsigned i = 0; i < COUNT_OF(counts.reasons); i++) {
        if (counts.reasons[i] > 0) {
            print_message("%6u: %s\n", counts.reasons[i], pdl_reason_string((pdl_reason)i));
        }
    }
    for (int reason = PDL_REASON_GRANTED; reason <= PDL_REASON_RACE; reason++) {
        const bool other = reason == (is_strict ? PDL_REASON_RACE : PDL_REASON_STRICT);
        /* One needs a graph of others; 27 is not used. */
        assert_true(reason == PDL_REASON_PREDECESSOR || reason == 23 || reason == 27 || other ||
                    counts.reasons[reason] > 100);
    }
}

int main(int argc, char **argv)
{
    (void)argv;
    is_strict = argc > 1;
    char log_path[64];
    (void)snprintf(log_path, sizeof(log_path), "agreement_%ld.log", (long)getpid());
    log_file = open(log_path, O_RDONLY | O_CREAT, 0600);
    if (log_file < 0) {
        return 1;
    }
    (void)setenv("PDL_LOG", log_path, 1);
    (void)setenv("PDL_OVERLAP_STRICT", is_strict ? "1" : "0", 1);
    const int failed = run_all_tests(NULL, NULL);
    (void)unlink(log_path);
    return failed;
}
