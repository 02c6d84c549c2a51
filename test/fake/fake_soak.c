/* SPDX-License-Identifier: MIT */
/* The calls of soak.h in the fake libcuda.so.1: found there, they see what the library does. */
#include <pdl/chain.h>

#include "../cuda/from_image.h"
#include "driver_calls.h"
#include "soak.h"

static int failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: %s is wrong; last error: %s\n", __FILE__, __LINE__,      \
                          #condition, pdl_last_error()->message);                                  \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

#define FIND(name)                                                                                 \
    do {                                                                                           \
        void *const symbol_ = driver_symbol(#name);                                                \
        memcpy(&calls.name, &symbol_, sizeof(symbol_));                                            \
    } while (0)

static struct {
    __typeof__(mock_fail_randomly) *mock_fail_randomly;
    __typeof__(mock_failures) *mock_failures;
    __typeof__(mock_count_live) *mock_count_live;
    __typeof__(mock_take_misuse) *mock_take_misuse;
    __typeof__(mock_watch) *mock_watch;
    __typeof__(mock_checksum) *mock_checksum;
} calls;

static uint64_t last_checksum;

static void watch(const struct mock_seen *seen, void *user)
{
    *(unsigned *)user += 1;
    last_checksum = seen->checksum;
}

static void check_arguments(pdl_kernel *step)
{
    static const size_t sizes[] = {sizeof(uint64_t), sizeof(uint32_t)};
    const pdl_launch_desc desc = PDL_LAUNCH_DESC(.grid = {1}, .block = {32});
    uint64_t pointer = 0x123450;
    uint32_t number = 7;
    unsigned ran = 0;
    pdl_chain *chain = NULL;
    calls.mock_watch(watch, &ran);
    CHECK(pdl_launch(step, &desc, PDL_ARGS(pointer, number)) == PDL_SUCCESS);
    CHECK(ran == 1);
    CHECK(last_checksum == calls.mock_checksum(PDL_ARGS(pointer, number), sizes, 2));

    CHECK(pdl_chain_create(NULL, &chain) == PDL_SUCCESS);
    CHECK(pdl_chain_add(chain, step, &desc, PDL_ARGS(pointer, number), sizes, 2, NULL) ==
          PDL_SUCCESS);
    CHECK(pdl_chain_build(chain) == PDL_SUCCESS);
    number = 8;
    CHECK(pdl_chain_set_args(chain, 0, PDL_ARGS(pointer, number)) == PDL_SUCCESS);
    CHECK(pdl_chain_launch(chain, NULL) == PDL_SUCCESS);
    CHECK(ran == 2);
    CHECK(last_checksum == calls.mock_checksum(PDL_ARGS(pointer, number), sizes, 2));
    pdl_chain_destroy(chain);
    calls.mock_watch(NULL, NULL);
}

/* Whatever fails, an error of the library is one that the driver returned on this thread. */
static void check_failures(pdl_kernel *step)
{
    const pdl_launch_desc desc = PDL_LAUNCH_DESC(.grid = {1}, .block = {32});
    unsigned failed = 0;
    uint64_t pointer = 0;
    uint32_t number = 0;
    calls.mock_fail_randomly(20, 100000, NULL, 0);
    for (int i = 0; i < 1000; i++) {
        const char *call = NULL;
        CUresult result = CUDA_SUCCESS;
        const unsigned long before = calls.mock_failures(NULL, NULL);
        if (pdl_launch(step, &desc, PDL_ARGS(pointer, number)) != PDL_SUCCESS) {
            CHECK(calls.mock_failures(&call, &result) > before);
            CHECK(strcmp(pdl_last_error()->call, call) == 0);
            CHECK(pdl_last_error()->cuda_result == (int32_t)result);
            failed++;
        }
    }
    calls.mock_fail_randomly(0, 0, NULL, 0);
    CHECK(failed > 50 && failed < 200);
}

int main(void)
{
    struct mock_live live;
    char misuse[256];
    CUcontext context = NULL;
    pdl_kernel *step = NULL;
    FIND(mock_fail_randomly);
    FIND(mock_failures);
    FIND(mock_count_live);
    FIND(mock_take_misuse);
    FIND(mock_watch);
    FIND(mock_checksum);
    DRIVER_CALL(cuInit, (unsigned), 0);
    DRIVER_CALL(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice), &context, 0);
    DRIVER_CALL(cuCtxSetCurrent, (CUcontext), context);
    CHECK(kernel_from_image(TEST_PTX, sizeof(TEST_PTX), "step", &step) == PDL_SUCCESS);
    calls.mock_count_live(&live);
    CHECK(live.libraries == 1);
    if (failures == 0) {
        check_arguments(step);
        check_failures(step);
    }
    pdl_kernel_destroy(step);
    calls.mock_count_live(&live);
    CHECK(live.libraries == 0 && live.graphs == 0 && live.nodes == 0 && live.execs == 0);
    calls.mock_take_misuse(misuse, sizeof(misuse));
    CHECK(misuse[0] == '\0');
    return failures != 0;
}
