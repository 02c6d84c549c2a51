/* SPDX-License-Identifier: MIT */
/* Events that launches can record. */
#include "support.h"

TEST(events_are_launched_with)
{
    CUevent trigger = NULL;
    CUevent launch = NULL;
    pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    trigger = mock_event_create(CU_EVENT_DISABLE_TIMING);
    launch = mock_event_create(CU_EVENT_DISABLE_TIMING);
    assert_ptr_not_equal(trigger, launch);
    desc.trigger_event = trigger;
    desc.launch_event = launch;
    assert_ok(pdl_launch(kernel, &desc, NULL));
    assert_ptr_equal(mock_last_launch()->attributes[0].value.programmaticEvent.event, trigger);
    assert_ptr_equal(mock_last_launch()->attributes[1].value.launchCompletionEvent.event, launch);
    (void)mock_event_destroy(trigger);
    (void)mock_event_destroy(launch);
}
