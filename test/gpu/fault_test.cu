/* SPDX-License-Identifier: MIT */
/* The wait waits, and fault injection finds a kernel that does not: in streams, and in replays of a chain whose arguments
 * change every time. Compiled with -DPDL_FAULT_INJECT: after its trigger each block sleeps for 100 microseconds before it
 * writes. */
#include "graph_test.cuh"

#ifndef PDL_FAULT_INJECT
#error "this test is compiled with -DPDL_FAULT_INJECT"
#endif

static const unsigned blocks = 64;
static const unsigned threads = 128;
static const unsigned length = blocks * threads;
static const unsigned links = 4; /* even, so that a link always reads the same array */

/* Run number `number` of all. Each thread reads a cell that another block of the run before wrote, and writes its own:
 * what it reads is not `number` - 1 if it reads too early, or if it or the run before had old arguments. Two arrays take
 * turns. */
template <bool Waits>
static __global__ void chain_link(const unsigned *before, unsigned *after, unsigned number,
                                  unsigned *stale, unsigned *runs)
{
    const unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned other = (own + length / 2 + 1) % length;
    if (Waits) {
        PDL_WAIT();
    }
    const unsigned seen = PDL_LOAD(&before[other]);
    PDL_LAUNCH_DEPENDENTS(); /* and sleep */
    if (seen != number - 1) {
        atomicAdd(stale, 1u);
    }
    after[own] = number;
    if (threadIdx.x == 0) {
        atomicAdd(runs, 1u);
    }
}

struct work {
    pdl_kernel *kernel;
    unsigned *array[2];
    unsigned *stale, *runs;
};

template <bool Waits> static work new_work(void)
{
    return {kernel_of(chain_link<Waits>),
            {device_memory<unsigned>(length), device_memory<unsigned>(length)},
            device_memory<unsigned>(1),
            device_memory<unsigned>(1)};
}

static pdl_launch_desc wide_desc(void)
{
    return pdl_launch_desc_make(blocks, threads, 0, stream, PDL_OVERLAP_REQUIRE);
}

/* Each launch ran once. Returns how many reads were stale; if none was, the last launch wrote its number. */
static unsigned stale_reads(const work &w, unsigned launches)
{
    const unsigned stale = content(w.stale);
    assert_int_equal(content(w.runs), launches * blocks);
    assert_true(stale != 0 || content(w.array[launches % 2]) == launches);
    print_message("%u of %u reads were stale\n", stale, launches * length);
    return stale;
}

static unsigned run_in_stream(const work &w, unsigned launches)
{
    for (unsigned number = 1; number <= launches; number++) {
        const unsigned *const before = w.array[(number - 1) % 2];
        assert_pdl(pdl_launch(w.kernel, wide_desc(),
                              PDL_ARGS(before, w.array[number % 2], number, w.stale, w.runs)));
    }
    return stale_reads(w, launches);
}

static unsigned run_in_chain(const work &w, unsigned replays)
{
    const unsigned none = 0;
    const pdl_launch_desc desc = wide_desc();
    unsigned number = 0;
    for (unsigned i = 0; i < links; i++) {
        assert_pdl(
            pdl_chain_add(chain, w.kernel, &desc,
                          PDL_ARGS(w.array[i % 2], w.array[(i + 1) % 2], none, w.stale, w.runs),
                          nullptr, 0, nullptr));
    }
    assert_pdl(pdl_chain_build(chain));
    for (unsigned turn = 0; turn < replays; turn++) {
        for (unsigned i = 0; i < links; i++) {
            number++;
            assert_pdl(pdl_chain_set_args(
                chain, i, PDL_ARGS(w.array[i % 2], w.array[(i + 1) % 2], number, w.stale, w.runs)));
        }
        assert_pdl(pdl_chain_launch(chain, stream));
    }
    return stale_reads(w, replays * links);
}

TEST(launches_that_wait_read_nothing_stale)
{
    assert_int_equal(run_in_stream(new_work<true>(), 10000), 0);
}

TEST(replays_with_changing_arguments_read_nothing_stale)
{
    const unsigned replays = kernels_are_serialized() ? 200 : 10000; /* these are slow then */
    assert_int_equal(run_in_chain(new_work<true>(), replays), 0);
}

TEST(launches_that_do_not_wait_are_refused_and_caught_by_fault_injection)
{
    const work w = new_work<false>();
    const unsigned *const before = w.array[0];
    const unsigned none = 0;
    assert_refused(
        pdl_launch(w.kernel, wide_desc(), PDL_ARGS(before, w.array[1], none, w.stale, w.runs)),
        PDL_ERROR_OVERLAP, "overlap");
    assert_pdl(pdl_kernel_declare(w.kernel, PDL_YES, PDL_YES)); /* which is not true */
    assert_if_concurrent(run_in_stream(w, 100) != 0);
}

TEST(a_chain_of_kernels_that_do_not_wait_is_caught_by_fault_injection)
{
    const work w = new_work<false>();
    assert_pdl(pdl_kernel_declare(w.kernel, PDL_YES, PDL_YES));
    assert_if_concurrent(run_in_chain(w, 100) != 0);
}

int main()
{
    return run_gpu_tests(set_up);
}
