/* SPDX-License-Identifier: MIT */
#include "judge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[64];

static void remove_path(void)
{
    (void)unlink(path);
}

const char *recording_path(void)
{
    if (path[0] == '\0') {
        (void)snprintf(path, sizeof(path), "/tmp/pdl_recording.%ld", (long)getpid());
        assert_int_equal(atexit(remove_path), 0);
    }
    return path;
}

void judge(struct watch *watch, const struct recording *recording,
           const struct watch_window *window)
{
    const char *const paths[] = {recording_path()};
    assert_true(recording_write(recording, paths[0]));
    assert_true(watch_read(watch, paths, 1));
    watch_join(watch, window);
    watch_look_at_code(watch);
    watch_judge_pairs(watch);
}

void judge_made(struct watch *watch, struct recording *recording)
{
    judge(watch, recording, &(struct watch_window){.kernels = NULL});
    recording_free(recording);
}

void make_ptx(struct recording *recording, const char *name, const char *body)
{
    char text[2048];
    (void)snprintf(text, sizeof(text),
                   ".version 8.0\n.target sm_90\n.address_size 64\n"
                   ".visible .entry %s(.param .u64 p)\n{\n"
                   ".reg .b64 %%rd<4>;\n.reg .f32 %%f<4>;\n"
                   "ld.param.u64 %%rd1, [p];\ncvta.to.global.u64 %%rd2, %%rd1;\n%sret;\n}\n",
                   name, body);
    recording_image(recording, PDL_WATCH_PTX, text, strlen(text));
}

void make_kernels(struct recording *recording)
{
    static const char body[] = ".shared .align 4 .b8 tile[64];\nmov.f32 %f2, 0f00000000;\n"
                               "st.shared.f32 [tile], %f2;\n"
                               "griddepcontrol.launch_dependents;\ngriddepcontrol.wait;\n"
                               "ld.global.f32 %f1, [%rd2];\nst.global.f32 [%rd2], %f1;\n";
    recording_device(recording, 1);
    recording_name(recording, 1, "first");
    recording_name(recording, 2, "second");
    (void)recording_function(recording, 1, 1);
    (void)recording_function(recording, 2, 2);
    make_ptx(recording, "first", body);
    make_ptx(recording, "second", body);
}

uint64_t launch_time(unsigned i)
{
    return CALLS + (uint64_t)i * 3 * US;
}

uint64_t run_time(unsigned i)
{
    return RUNS + (uint64_t)i * (LENGTH + GAP);
}

void make_launch(struct recording *recording, unsigned i, uint32_t function, uint32_t flags)
{
    (void)recording_launch(recording, function, 0x100, launch_time(i), i + 1, flags);
    (void)recording_execution(recording, function, 7, run_time(i), run_time(i) + LENGTH, i + 1);
}

static bool is_named(const struct watch *watch, uint32_t kernel, const char *name)
{
    return kernel == WATCH_NONE
               ? name == NULL
               : name != NULL && strcmp(watch->kernels.items[kernel].name, name) == 0;
}

const struct watch_pair *pair_named(const struct watch *watch, const char *first,
                                    const char *second)
{
    for (size_t i = 0; i < watch->pairs.count; i++) {
        const struct watch_pair *const pair = &watch->pairs.items[i];
        if (is_named(watch, pair->first, first) && is_named(watch, pair->second, second)) {
            return pair;
        }
    }
    fail_msg("no pair of %s and %s", first, second);
    return NULL;
}

const struct watch_kernel *kernel_named(const struct watch *watch, const char *name)
{
    for (size_t i = 0; i < watch->kernels.count; i++) {
        if (strcmp(watch->kernels.items[i].name, name) == 0) {
            return &watch->kernels.items[i];
        }
    }
    fail_msg("no kernel %s", name);
    return NULL;
}
