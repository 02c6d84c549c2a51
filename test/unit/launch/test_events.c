/* SPDX-License-Identifier: MIT */
/* Events that launches can record. */
#include "support.h"

TEST(an_event_is_made_without_timing)
{
    CUevent event = NULL;
    assert_ok(pdl_event_create(&event));
    assert_non_null(event);
    assert_int_equal(mock.event_flags, CU_EVENT_DISABLE_TIMING);
    assert_int_equal(mock.live_events, 1);
    pdl_event_destroy(event);
    assert_int_equal(mock.live_events, 0);
}

TEST(events_are_launched_with)
{
    CUevent trigger = NULL;
    CUevent launch = NULL;
    pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
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
}

TEST(destroying_no_event_does_nothing)
{
    pdl_event_destroy(NULL);
    assert_int_equal(mock.calls[MOCK_cuEventDestroy], 0);
}

TEST(a_missing_output_is_an_invalid_argument)
{
    assert_invalid(pdl_event_create(NULL), "event", "NULL");
    assert_int_equal(mock.calls[MOCK_cuEventCreate], 0);
}
