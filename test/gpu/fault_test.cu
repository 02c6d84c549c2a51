/* SPDX-License-Identifier: MIT */
/* A fault of an earlier kernel is reported by the launches after it. A fault ends the process's use
 * of the device, so that each test runs in a child; the parent never touches CUDA, which does not
 * survive a fork. */
#include <sys/wait.h>
#include <unistd.h>

#include "gpu_test.cuh"

static __global__ void write_to(int *where)
{
    *where = 1;
}

static __global__ void trap(int *)
{
    asm volatile("trap;");
}

enum { CHILD_OK = 0, CHILD_SET_UP_FAILED = 10, CHILD_LAUNCHED = 11, CHILD_NO_DETAIL = 12 };

/* What a child does: launches a kernel that faults, waits for it, and launches a good one. */
static int launch_after(void (*faulty)(int *), bool from_function)
{
    int *good = nullptr;
    int *bad = reinterpret_cast<int *>(16);
    pdl_kernel *kernel = nullptr;
    const pdl_launch_desc desc = pdl_launch_desc_make(1, 1);
    if (cudaMalloc(&good, sizeof(*good)) != cudaSuccess) {
        return CHILD_SET_UP_FAILED;
    }
    if (from_function) {
        cudaFunction_t function = nullptr;
        if (cudaGetFuncBySymbol(&function, reinterpret_cast<const void *>(write_to)) !=
                cudaSuccess ||
            pdl_kernel_from_function(function, &kernel) != PDL_SUCCESS) {
            return CHILD_SET_UP_FAILED;
        }
    } else if (pdl_kernel_from_symbol(write_to, &kernel) != PDL_SUCCESS) {
        return CHILD_SET_UP_FAILED;
    }
    if (pdl_launch(kernel, desc, PDL_ARGS(good)) != PDL_SUCCESS ||
        cudaDeviceSynchronize() != cudaSuccess) {
        return CHILD_SET_UP_FAILED;
    }
    if (pdl_launch_kernel(desc, faulty, bad) != PDL_SUCCESS ||
        cudaDeviceSynchronize() == cudaSuccess) {
        return CHILD_SET_UP_FAILED;
    }
    const pdl_status status = pdl_launch(kernel, desc, PDL_ARGS(good));
    if (status == PDL_SUCCESS) {
        return CHILD_LAUNCHED;
    }
    const pdl_error *error = pdl_last_error();
    fprintf(stderr, "%s: %s\n", pdl_status_name(status), error->message);
    if (status != PDL_ERROR_DEVICE_FAULT || error->status != status || error->cuda_result == 0 ||
        error->call == nullptr || error->message[0] == '\0') {
        return CHILD_NO_DETAIL;
    }
    return CHILD_OK;
}

static int illegal_address_symbol()
{
    return launch_after(write_to, false);
}

static int illegal_address_function()
{
    return launch_after(write_to, true);
}

static int trap_symbol()
{
    return launch_after(trap, false);
}

static int trap_function()
{
    return launch_after(trap, true);
}

/* The child's exit status, or -1 if it did not exit by itself. */
static int in_child(int (*body)(void))
{
    int status = 0;
    fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        const int result = body();
        fflush(nullptr);
        _exit(result);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
        return -1;
    }
    return WEXITSTATUS(status);
}

static void an_illegal_address_is_reported_by_the_next_launch_of_a_symbol(void **)
{
    assert_int_equal(in_child(illegal_address_symbol), CHILD_OK);
}

static void an_illegal_address_is_reported_by_the_next_launch_of_a_function(void **)
{
    assert_int_equal(in_child(illegal_address_function), CHILD_OK);
}

static void a_trap_is_reported_by_the_next_launch_of_a_symbol(void **)
{
    assert_int_equal(in_child(trap_symbol), CHILD_OK);
}

static void a_trap_is_reported_by_the_next_launch_of_a_function(void **)
{
    assert_int_equal(in_child(trap_function), CHILD_OK);
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_illegal_address_is_reported_by_the_next_launch_of_a_symbol),
        cmocka_unit_test(an_illegal_address_is_reported_by_the_next_launch_of_a_function),
        cmocka_unit_test(a_trap_is_reported_by_the_next_launch_of_a_symbol),
        cmocka_unit_test(a_trap_is_reported_by_the_next_launch_of_a_function),
    };
    const int unavailable = in_child(no_device);
    return unavailable != 0 ? (unavailable == 77 ? 77 : 1)
                            : cmocka_run_group_tests(tests, NULL, NULL);
}
