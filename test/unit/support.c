/* SPDX-License-Identifier: MIT */
#include "support.h"

#include <pdl/policy.h>

#include "from_image.h"

#include <ctype.h>

/* ------------------------------------------------------------------------------------------------
 * Kernels and descriptors
 * ---------------------------------------------------------------------------------------------- */

pdl_kernel *make_unknown_kernel(enum kernel_source source, unsigned kernel)
{
    pdl_kernel *made = NULL;
    switch (source) {
    case FROM_FUNCTION:
        assert_ok(pdl_kernel_from_function(mock_function(kernel, 0), NULL, &made));
        break;
    case FROM_CU_KERNEL:
        assert_ok(pdl_kernel_from_kernel(mock_cu_kernel(kernel), NULL, &made));
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

void overlap_enable(bool on)
{
    const pdl_policy policy = {.size = sizeof(policy), .off = !on};
    assert_ok(pdl_policy_set(&policy));
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
    assert_ok(kernel_from_image(image, size, name, &made));
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

#define CASE(field, id_, since_, value_, ...)                                                      \
    {                                                                                              \
        .name = #field, .id = (CUlaunchAttributeID)(id_), .since = (since_),                       \
        .end = offsetof(pdl_launch_desc, field) + sizeof(((pdl_launch_desc *)NULL)->field),        \
        .value = {VALUE value_}, .desc = {                                                         \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define VALUE(...) __VA_ARGS__
/* Members of the value that older headers do not have are ints or unsigned numbers where `cooperative` is. */
const struct field_case field_cases[] = {
    CASE(access_policy, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, 12000,
         (.accessPolicyWindow = {.base_ptr = window,
                                 .num_bytes = 0x123456789abcULL,
                                 .hitRatio = 0.625f,
                                 .hitProp = CU_ACCESS_PROPERTY_PERSISTING,
                                 .missProp = CU_ACCESS_PROPERTY_STREAMING}),
         .access_policy = {window, 0x123456789abcULL, 0.625f, PDL_ACCESS_PERSISTING,
                           PDL_ACCESS_STREAMING, 0}),
    CASE(cooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 12000, (.cooperative = 1), .cooperative = 1),
    CASE(cluster, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 12000, (.clusterDim = {2, 1, 1}),
         .cluster = {2}),
    CASE(cluster_scheduling, CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 12000,
         (.clusterSchedulingPolicyPreference = CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING),
         .cluster_scheduling = PDL_CLUSTER_SCHEDULING_LOAD_BALANCING),
    CASE(overlap, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 12000,
         (.programmaticStreamSerializationAllowed = 1), .overlap = PDL_OVERLAP_AUTO),
    CASE(trigger_event, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, 12000,
         (.programmaticEvent = {(CUevent)(void *)&trigger_event, 0, 1}),
         .trigger_event = (CUevent)(void *)&trigger_event, .trigger_at_block_start = 1),
    CASE(priority, CU_LAUNCH_ATTRIBUTE_PRIORITY, 12000, (.priority = -5), .priority = -5),
    CASE(mem_sync_domain_map, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, 12000,
         (.memSyncDomainMap = {3, 2}), .mem_sync_domain_map = {3, 2}),
    CASE(mem_sync_domain, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, 12000,
         (.memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE), .mem_sync_domain = 1),
    CASE(preferred_cluster, ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, 12080, (.clusterDim = {4, 1, 1}),
         .preferred_cluster = {4}),
    CASE(launch_event, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, 12030,
         (.launchCompletionEvent = {(CUevent)(void *)&launch_event, 0}),
         .launch_event = (CUevent)(void *)&launch_event),
    CASE(device_node, ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, 12040, (.cooperative = 1),
         .device_node = &field_device_node),
    CASE(shared_memory_carveout, ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 12050,
         (.cooperative = 75), .shared_memory_carveout = 75),
    CASE(nvlink_centric_scheduling, ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING, 13000,
         (.cooperative = 1), .nvlink_centric_scheduling = 1),
    CASE(portable_cluster_size, ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE, 13020, (.cooperative = 2),
         .portable_cluster_size = PDL_PORTABLE_CLUSTER_SIZE_NOT_REQUIRED),
    CASE(shared_memory_mode, ATTRIBUTE_SHARED_MEMORY_MODE, 13020, (.cooperative = 2),
         .shared_memory_mode = PDL_SHARED_MEMORY_NON_PORTABLE),
};
#undef CASE
#undef VALUE
const size_t field_case_count = COUNT_OF(field_cases);

/* The other fields of the case are zero, and so are other bytes of this one. */
void set_field(const struct field_case *field, pdl_launch_desc *desc)
{
    const unsigned char *const from = (const unsigned char *)&field->desc;
    for (size_t i = 0; i < sizeof(*desc); i++) {
        if (from[i] != 0) {
            ((unsigned char *)desc)[i] = from[i];
        }
    }
}

void expect_field(struct expected *expected, const struct field_case *field)
{
    memcpy(expect_attribute(expected, field->id), &field->value, sizeof(field->value));
}

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
