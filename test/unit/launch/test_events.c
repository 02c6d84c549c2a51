/* SPDX-License-Identifier: MIT */
/* Events that launches can record. */
#include "support.h"

static void an_event_is_made_without_timing(void **state)
{
    (void)state;
    CUevent event = NULL;
    assert_ok(pdl_event_create(&event));
    assert_non_null(event);
    assert_int_equal(mock.event_flags, CU_EVENT_DISABLE_TIMING);
    assert_int_equal(mock.live_events, 1);
    pdl_event_destroy(event);
    assert_int_equal(mock.live_events, 0);
}

static void events_are_launched_with(void **state)
{
    (void)state;
    CUevent trigger = NULL;
    CUevent launch = NULL;
    pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    assert_ok(pdl_event_create(&trigger));
    assert_ok(pdl_event_create(&launch));
    assert_ptr_not_equal(trigger, launch);
    desc.trigger_event = trigger;
    desc.launch_event = launch;
    assert_ok(pdl_launch(kernel, &desc, NULL));
    assert_ptr_equal(mock_last_launch()->attributes[0].value.programmaticEvent.event, trigger);
    assert_ptr_equal(mock_last_launch()->attributes[1].value.launchCompletionEvent.event, launch);
    pdl_event_destroy(trigger);
    pdl_event_destroy(launch);
    pdl_kernel_destroy(kernel);
}

static void destroying_no_event_does_nothing(void **state)
{
    (void)state;
    pdl_event_destroy(NULL);
    assert_int_equal(mock.calls[MOCK_cuEventDestroy], 0);
}

static void a_missing_output_is_an_invalid_argument(void **state)
{
    (void)state;
    assert_refused(pdl_event_create(NULL), PDL_ERROR_INVALID_ARGUMENT, "event", "NULL");
    assert_int_equal(mock.calls[MOCK_cuEventCreate], 0);
}

static void without_a_context_there_are_no_events(void **state)
{
    (void)state;
    static char before;
    CUevent event = (CUevent)(void *)&before;
    mock_set_current(-1);
    assert_refused(pdl_event_create(&event), PDL_ERROR_NO_CONTEXT, NULL, "cuEventCreate",
                   "CUDA_ERROR_INVALID_CONTEXT");
    assert_ptr_equal(event, &before);
}

static void a_failed_creation_writes_nothing(void **state)
{
    (void)state;
    static char before;
    CUevent event = (CUevent)(void *)&before;
    mock_fail(MOCK_cuEventCreate, 1, CUDA_ERROR_OUT_OF_MEMORY);
    assert_refused(pdl_event_create(&event), PDL_ERROR_OUT_OF_MEMORY, NULL, "cuEventCreate");
    assert_ptr_equal(event, &before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MOCK_TEST(an_event_is_made_without_timing),
        MOCK_TEST(events_are_launched_with),
        MOCK_TEST(destroying_no_event_does_nothing),
        MOCK_TEST(a_missing_output_is_an_invalid_argument),
        MOCK_TEST(without_a_context_there_are_no_events),
        MOCK_TEST(a_failed_creation_writes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
