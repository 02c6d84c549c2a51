/* SPDX-License-Identifier: MIT */
#include "support.h"

#include <ctype.h>

/* ------------------------------------------------------------------------------------------------
 * Kernels and descriptors
 * ---------------------------------------------------------------------------------------------- */

pdl_kernel *make_unknown_kernel(enum kernel_source source, unsigned kernel)
{
    pdl_kernel *made = NULL;
    switch (source) {
    case FROM_FUNCTION:
        assert_ok(pdl_kernel_from_function(mock_function(kernel, 0), &made));
        break;
    case FROM_CU_KERNEL:
        assert_ok(pdl_kernel_from_kernel(mock_cu_kernel(kernel), &made));
        break;
    case FROM_SYMBOL:
    default:
        assert_ok(pdl_kernel_from_runtime(&mock.kernels[kernel], &mock_runtime_ops, &made));
        break;
    }
    assert_non_null(made);
    return made;
}

pdl_kernel *make_kernel(enum kernel_source source, unsigned kernel)
{
    pdl_kernel *made = make_unknown_kernel(source, kernel);
    assert_ok(pdl_kernel_declare(made, PDL_YES, PDL_UNKNOWN));
    return made;
}

pdl_launch_desc plain_desc(void)
{
    pdl_launch_desc desc;
    pdl_launch_desc_init(&desc);
    desc.grid[0] = 132;
    desc.block[0] = 256;
    return desc;
}

pdl_launch_desc overlap_desc(pdl_overlap overlap)
{
    pdl_launch_desc desc = plain_desc();
    desc.overlap = (uint32_t)overlap;
    return desc;
}

static void destroy_kernel(void *kernel)
{
    pdl_kernel_destroy(kernel);
}

pdl_kernel *test_kernel(enum kernel_source source, unsigned kernel)
{
    pdl_kernel *made = make_kernel(source, kernel);
    destroy_after(made, destroy_kernel);
    return made;
}

pdl_kernel *test_unknown_kernel(enum kernel_source source, unsigned kernel)
{
    pdl_kernel *made = make_unknown_kernel(source, kernel);
    destroy_after(made, destroy_kernel);
    return made;
}

pdl_kernel *test_image_kernel(const void *image, size_t size, const char *name)
{
    pdl_kernel *made = NULL;
    assert_ok(pdl_kernel_from_image(image, size, name, &made));
    assert_non_null(made);
    destroy_after(made, destroy_kernel);
    return made;
}

void drop_kernel(pdl_kernel *kernel)
{
    drop(kernel);
}

/* ------------------------------------------------------------------------------------------------
 * Tests, and what is destroyed after each
 * ---------------------------------------------------------------------------------------------- */

struct test {
    void (*run)(const void *row);
    const void *row;
};

enum { MOST_TESTS = 1024, MOST_OBJECTS = 16384 };
static struct test bodies[MOST_TESTS];
static struct CMUnitTest tests[MOST_TESTS];
static size_t test_count;

static struct {
    void *object;
    void (*destroy)(void *object);
} objects[MOST_OBJECTS];
static size_t object_count;

static void run_one(void **state)
{
    const struct test *const test = *state;
    test->run(test->row);
}

void add_test(const char *name, void (*run)(const void *row), const void *row,
              fixture_function *setup, fixture_function *teardown)
{
    if (test_count == MOST_TESTS) {
        abort();
    }
    bodies[test_count] = (struct test){run, row};
    tests[test_count] = (struct CMUnitTest){name, run_one, setup, teardown, &bodies[test_count]};
    test_count++;
}

int run_all_tests(fixture_function *setup, fixture_function *teardown)
{
    return _cmocka_run_group_tests("tests", tests, test_count, setup, teardown);
}

void destroy_after(void *object, void (*destroy)(void *object))
{
    assert_true(object_count < MOST_OBJECTS);
    objects[object_count].object = object;
    objects[object_count].destroy = destroy;
    object_count++;
}

void drop(void *object)
{
    size_t i = object_count;
    while (i > 0 && objects[i - 1].object != object) {
        i--;
    }
    assert_true(i > 0);
    objects[i - 1].destroy(object);
    object_count--;
    memmove(&objects[i - 1], &objects[i], (object_count - (i - 1)) * sizeof(objects[0]));
}

void drop_all(void)
{
    while (object_count > 0) {
        object_count--;
        objects[object_count].destroy(objects[object_count].object);
    }
}

int drop_after(void **state)
{
    (void)state;
    drop_all();
    return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Assertions
 * ---------------------------------------------------------------------------------------------- */

void mark_last_error(void)
{
    pdl_error mark = PDL_ERROR_INIT;
    mark.status = PDL_ERROR_CYCLE;
    mark.field = "mark";
    (void)snprintf(mark.message, sizeof(mark.message), "the error before");
    assert_int_equal(pdl_error_record(&mark), PDL_ERROR_CYCLE);
}

bool is_last_error_marked(void)
{
    const pdl_error *const error = pdl_last_error();
    return error->status == PDL_ERROR_CYCLE && error->cuda_result == 0 && error->call == NULL &&
           error->field != NULL && strcmp(error->field, "mark") == 0 &&
           strcmp(error->message, "the error before") == 0;
}

void assert_ok_(pdl_status status, const char *call, const char *file, int line)
{
    const char *const message = pdl_last_error()->message;
    if (status != PDL_SUCCESS) {
        print_error("%s: %s: %s\n", call, pdl_status_name(status), message);
    }
    _assert_int_equal((LargestIntegralType)status, PDL_SUCCESS, file, line);
    if (!is_last_error_marked()) {
        print_error("%s: succeeded, and changed the last error: %s\n", call, message);
        _fail(file, line);
    }
}

pdl_launch_report explained(pdl_kernel *kernel, const pdl_launch_desc *desc)
{
    pdl_launch_report filled = {.size = sizeof(filled)};
    assert_ok(pdl_launch_explain(kernel, desc, &filled));
    return filled;
}

pdl_occupancy occupancy_of(pdl_kernel *kernel, const pdl_launch_desc *desc)
{
    pdl_occupancy filled = {.size = sizeof(filled)};
    assert_ok(pdl_launch_occupancy(kernel, desc, &filled));
    return filled;
}

pdl_kernel_info kernel_info(pdl_kernel *kernel, int device)
{
    pdl_kernel_info filled = {.size = sizeof(filled)};
    assert_ok(pdl_kernel_get(kernel, device, &filled));
    return filled;
}

pdl_device_info device_info(int device)
{
    pdl_device_info filled = {.size = sizeof(filled)};
    assert_ok(pdl_device_get(device, &filled));
    return filled;
}

static bool holds_word(const char *sentence, const char *word)
{
    const size_t length = strlen(word);
    if (length == 0) {
        return true;
    }
    for (const char *at = strstr(sentence, word); at != NULL; at = strstr(at + 1, word)) {
        const bool cut_before =
            isdigit((unsigned char)word[0]) && at > sentence && isdigit((unsigned char)at[-1]);
        const bool cut_after =
            isdigit((unsigned char)word[length - 1]) && isdigit((unsigned char)at[length]);
        if (!cut_before && !cut_after) {
            return true;
        }
    }
    return false;
}

static bool field_matches(const char *got, const char *want)
{
    const size_t length = strlen(want);
    return got != NULL && strncmp(got, want, length) == 0 &&
           (got[length] == '\0' || got[length] == '.');
}

void assert_refused_(pdl_status got, const char *call, pdl_status want, const char *field,
                     const char *const *words, const char *file, int line)
{
    const pdl_error *error = pdl_last_error();
    bool right = got == want && error->status == (int32_t)want && error->message[0] != '\0';
    if (field != NULL) {
        right = right && field_matches(error->field, field);
    }
    for (; *words != NULL; words++) {
        if (!holds_word(error->message, *words)) {
            print_error("%s: the sentence does not hold \"%s\"\n", call, *words);
            right = false;
        }
    }
    if (!right) {
        print_error("%s: returned %s (wanted %s); error: %s, field %s (wanted %s), \"%s\"\n", call,
                    pdl_status_name(got), pdl_status_name(want),
                    pdl_status_name((pdl_status)error->status),
                    error->field != NULL ? error->field : "none", field != NULL ? field : "any",
                    error->message);
        _fail(file, line);
    }
}

bool names_version(const char *sentence, int version)
{
    char dotted[32];
    char plain[32];
    (void)snprintf(dotted, sizeof(dotted), "%d.%d", version / 1000, version % 1000 / 10);
    (void)snprintf(plain, sizeof(plain), "%d", version);
    return holds_word(sentence, dotted) || holds_word(sentence, plain);
}

CUlaunchAttributeValue *expect_attribute(struct expected *expected, CUlaunchAttributeID id)
{
    assert_true(expected->count < MOCK_ATTRIBUTES);
    CUlaunchAttribute *attribute = &expected->attributes[expected->count++];
    memset(attribute, 0, sizeof(*attribute));
    attribute->id = id;
    return &attribute->value;
}

void assert_attributes_(const struct mock_launch *launch, const struct expected *expected,
                        const char *file, int line)
{
    bool right = launch->attribute_count == expected->count &&
                 (expected->count != 0 || launch->config.attrs == NULL);
    for (unsigned i = 0; right && i < expected->count; i++) {
        right = launch->attributes[i].id == expected->attributes[i].id &&
                memcmp(&launch->attributes[i].value, &expected->attributes[i].value,
                       sizeof(CUlaunchAttributeValue)) == 0;
        if (!right) {
            print_error("attribute %u is wrong\n", i);
        }
    }
    if (!right) {
        print_error("got %u attributes:", launch->attribute_count);
        for (unsigned i = 0; i < launch->attribute_count; i++) {
            print_error(" %d", (int)launch->attributes[i].id);
        }
        print_error("; wanted %u:", expected->count);
        for (unsigned i = 0; i < expected->count; i++) {
            print_error(" %d", (int)expected->attributes[i].id);
        }
        print_error("\n");
        _fail(file, line);
    }
}

void assert_explained(pdl_kernel *kernel, const pdl_launch_desc *desc,
                      const struct mock_launch *launch)
{
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    const unsigned launches = mock.launch_count;
    bool overlaps = false;
    assert_ok(pdl_launch_explain(kernel, desc, &report));
    assert_int_equal(mock.launch_count, launches);
    assert_int_equal(report.attribute_count, launch->attribute_count);
    for (unsigned i = 0; i < launch->attribute_count; i++) {
        assert_int_equal(report.attributes[i], launch->attributes[i].id);
        overlaps = overlaps || launch->attributes[i].id ==
                                   CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    }
    for (unsigned i = launch->attribute_count; i < COUNT_OF(report.attributes); i++) {
        assert_int_equal(report.attributes[i], 0);
    }
    assert_int_equal(report.device, launch->device);
    assert_int_equal(report.overlap, overlaps);
    assert_int_equal(report.overlap_reason == PDL_REASON_GRANTED, overlaps);
    assert_string_not_equal(report.message, "");
}

/* ------------------------------------------------------------------------------------------------
 * What each field becomes
 * ---------------------------------------------------------------------------------------------- */

struct CUgraphDeviceUpdatableNode_st *field_device_node;

static char window[8192];
static char trigger_event;
static char launch_event;

static void set_access_policy(pdl_launch_desc *desc)
{
    desc->access_policy.base = window;
    desc->access_policy.bytes = 0x123456789abcULL;
    desc->access_policy.hit_ratio = 0.625f;
    desc->access_policy.hit_property = PDL_ACCESS_PERSISTING;
    desc->access_policy.miss_property = PDL_ACCESS_STREAMING;
}

static void value_access_policy(CUlaunchAttributeValue *value)
{
    value->accessPolicyWindow.base_ptr = window;
    value->accessPolicyWindow.num_bytes = 0x123456789abcULL;
    value->accessPolicyWindow.hitRatio = 0.625f;
    value->accessPolicyWindow.hitProp = CU_ACCESS_PROPERTY_PERSISTING;
    value->accessPolicyWindow.missProp = CU_ACCESS_PROPERTY_STREAMING;
}

static void set_cooperative(pdl_launch_desc *desc)
{
    desc->cooperative = 1;
}

static void value_one(CUlaunchAttributeValue *value)
{
    value->cooperative = 1;
}

static void set_cluster(pdl_launch_desc *desc)
{
    desc->cluster[0] = 2;
}

static void value_cluster(CUlaunchAttributeValue *value)
{
    value->clusterDim.x = 2;
    value->clusterDim.y = 1;
    value->clusterDim.z = 1;
}

static void set_cluster_scheduling(pdl_launch_desc *desc)
{
    desc->cluster_scheduling = PDL_CLUSTER_SCHEDULING_LOAD_BALANCING;
}

static void value_cluster_scheduling(CUlaunchAttributeValue *value)
{
    value->clusterSchedulingPolicyPreference = CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING;
}

static void set_overlap(pdl_launch_desc *desc)
{
    desc->overlap = PDL_OVERLAP_AUTO;
}

static void value_overlap(CUlaunchAttributeValue *value)
{
    value->programmaticStreamSerializationAllowed = 1;
}

static void set_trigger_event(pdl_launch_desc *desc)
{
    desc->trigger_event = (CUevent)(void *)&trigger_event;
    desc->trigger_at_block_start = 1;
}

static void value_trigger_event(CUlaunchAttributeValue *value)
{
    value->programmaticEvent.event = (CUevent)(void *)&trigger_event;
    value->programmaticEvent.flags = 0;
    value->programmaticEvent.triggerAtBlockStart = 1;
}

static void set_priority(pdl_launch_desc *desc)
{
    desc->priority = -5;
}

static void value_priority(CUlaunchAttributeValue *value)
{
    value->priority = -5;
}

static void set_domain_map(pdl_launch_desc *desc)
{
    desc->mem_sync_domain_map[0] = 3;
    desc->mem_sync_domain_map[1] = 2;
}

static void value_domain_map(CUlaunchAttributeValue *value)
{
    value->memSyncDomainMap.default_ = 3;
    value->memSyncDomainMap.remote = 2;
}

static void set_domain(pdl_launch_desc *desc)
{
    desc->mem_sync_domain = 1;
}

static void value_domain(CUlaunchAttributeValue *value)
{
    value->memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
}

static void set_preferred_cluster(pdl_launch_desc *desc)
{
    desc->preferred_cluster[0] = 4;
}

static void value_preferred_cluster(CUlaunchAttributeValue *value)
{
    value->clusterDim.x = 4;
    value->clusterDim.y = 1;
    value->clusterDim.z = 1;
}

static void set_launch_event(pdl_launch_desc *desc)
{
    desc->launch_event = (CUevent)(void *)&launch_event;
}

static void value_launch_event(CUlaunchAttributeValue *value)
{
    value->launchCompletionEvent.event = (CUevent)(void *)&launch_event;
    value->launchCompletionEvent.flags = 0;
}

static void set_device_node(pdl_launch_desc *desc)
{
    desc->device_node = &field_device_node;
}

static void value_device_node(CUlaunchAttributeValue *value)
{
    value->cooperative = 1; /* deviceUpdatable is an int at the same place */
}

static void set_carveout(pdl_launch_desc *desc)
{
    desc->shared_memory_carveout = 75;
}

static void value_carveout(CUlaunchAttributeValue *value)
{
    value->cooperative = 75; /* sharedMemCarveout is an unsigned at the same place */
}

static void set_nvlink(pdl_launch_desc *desc)
{
    desc->nvlink_centric_scheduling = 1;
}

static void value_nvlink(CUlaunchAttributeValue *value)
{
    value->cooperative = 1; /* as is nvlinkUtilCentricScheduling */
}

static void set_portable_cluster_size(pdl_launch_desc *desc)
{
    desc->portable_cluster_size = PDL_PORTABLE_CLUSTER_SIZE_NOT_REQUIRED;
}

static void value_portable_cluster_size(CUlaunchAttributeValue *value)
{
    value->cooperative = 2; /* as is portableClusterSizeMode */
}

static void set_shared_memory_mode(pdl_launch_desc *desc)
{
    desc->shared_memory_mode = PDL_SHARED_MEMORY_NON_PORTABLE;
}

static void value_shared_memory_mode(CUlaunchAttributeValue *value)
{
    value->cooperative = 2; /* as is sharedMemoryMode */
}

#define CASE(field, id_, since_, set_, value_)                                                     \
    {                                                                                              \
        .name = #field, .id = (CUlaunchAttributeID)(id_), .since = (since_),                       \
        .end = offsetof(pdl_launch_desc, field) + sizeof(((pdl_launch_desc *)NULL)->field),        \
        .set = (set_), .value = (value_),                                                          \
    }
const struct field_case field_cases[] = {
    CASE(access_policy, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, 12000, set_access_policy,
         value_access_policy),
    CASE(cooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 12000, set_cooperative, value_one),
    CASE(cluster, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 12000, set_cluster, value_cluster),
    CASE(cluster_scheduling, CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 12000,
         set_cluster_scheduling, value_cluster_scheduling),
    CASE(overlap, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 12000, set_overlap,
         value_overlap),
    CASE(trigger_event, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, 12000, set_trigger_event,
         value_trigger_event),
    CASE(priority, CU_LAUNCH_ATTRIBUTE_PRIORITY, 12000, set_priority, value_priority),
    CASE(mem_sync_domain_map, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, 12000, set_domain_map,
         value_domain_map),
    CASE(mem_sync_domain, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, 12000, set_domain, value_domain),
    CASE(preferred_cluster, ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, 12080, set_preferred_cluster,
         value_preferred_cluster),
    CASE(launch_event, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, 12030, set_launch_event,
         value_launch_event),
    CASE(device_node, ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, 12040, set_device_node,
         value_device_node),
    CASE(shared_memory_carveout, ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 12050, set_carveout,
         value_carveout),
    CASE(nvlink_centric_scheduling, ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING, 13000, set_nvlink,
         value_nvlink),
    CASE(portable_cluster_size, ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE, 13020,
         set_portable_cluster_size, value_portable_cluster_size),
    CASE(shared_memory_mode, ATTRIBUTE_SHARED_MEMORY_MODE, 13020, set_shared_memory_mode,
         value_shared_memory_mode),
};
#undef CASE
const size_t field_case_count = COUNT_OF(field_cases);

const struct field_case *field_case_of(CUlaunchAttributeID id)
{
    for (size_t i = 0; i < field_case_count; i++) {
        if (field_cases[i].id == id) {
            return &field_cases[i];
        }
    }
    fail_msg("there is no case for attribute %d", (int)id);
    return NULL;
}
