/* SPDX-License-Identifier: MIT */
/* The rules of `pdltool lint` mean something: of each pair in lint_pairs.cuh the broken kernel gives wrong results on a device in every round, and the mended one never. Compiled with -DPDL_FAULT_INJECT: after its trigger the primary sleeps for 100
 * microseconds before it writes. */
#include <tuple>

#include "gpu_test.cuh"
#include "lint_pairs.cuh"

static const unsigned rounds = 20;

/* ---- pairs ------------------------------------------------------------------------------------- */

enum array_name { DATA, COPY, OUT };

struct array_set {
    unsigned *data; /* the primary writes it */
    unsigned *kept; /* the primary reads it */
    unsigned *copy; /* and writes here what it read */
    unsigned *out;  /* the secondary writes it */
};

typedef pdl_status (*starter)(const pdl_launch_desc &desc, const array_set &arrays);

struct outcome {
    unsigned stale_rounds;
    unsigned other_cells; /* neither right nor stale */
};

struct lint_pair {
    const char *name; /* a sentence */
    array_name array;
    unsigned right;
    unsigned stale;
    starter start_broken;
    starter start_mended;
};

/* Launches a kernel with overlap that libpdl may know not to wait. */
template <typename... Params, typename... Args>
static pdl_status launch_anyway(const pdl_launch_desc &desc, void (*symbol)(Params...),
                                Args... given)
{
    pdl_kernel *kernel = nullptr;
    pdl_status status = pdl_kernel_from_symbol(symbol, &kernel);
    if (status == PDL_SUCCESS) {
        status = pdl_kernel_declare(kernel, PDL_YES, PDL_UNKNOWN);
    }
    if (status == PDL_SUCCESS) {
        std::tuple<Params...> values(given...);
        status = std::apply(
            [&](Params &...value) { return pdl_launch(kernel, desc, PDL_ARGS(value...)); }, values);
    }
    pdl_kernel_destroy(kernel);
    return status;
}

/* Which arguments a kernel takes is in its type; the one that clears takes what the primary reads. */
static pdl_status start(const pdl_launch_desc &desc, const array_set &arrays, array_name,
                        void (*kernel)(const unsigned *, unsigned *))
{
    return launch_anyway(desc, kernel, arrays.data, arrays.out);
}

static pdl_status start(const pdl_launch_desc &desc, const array_set &arrays, array_name array,
                        void (*kernel)(unsigned *, unsigned *))
{
    return launch_anyway(desc, kernel, array == COPY ? arrays.kept : arrays.data, arrays.out);
}

static pdl_status start(const pdl_launch_desc &desc, const array_set &arrays, array_name,
                        void (*kernel)(const unsigned *, const unsigned *, unsigned *))
{
    return launch_anyway(desc, kernel, arrays.kept, arrays.data, arrays.out);
}

template <auto Kernel, array_name Array>
static pdl_status start_kernel(const pdl_launch_desc &desc, const array_set &arrays)
{
    return start(desc, arrays, Array, Kernel);
}

#define PAIR(pair, mended, rule, array, right, stale, sentence)                                    \
    {sentence,                                                                                     \
     array,                                                                                        \
     right,                                                                                        \
     stale,                                                                                        \
     start_kernel<pair##_broken, array>,                                                           \
     start_kernel<mended##_mended, array>},
static const lint_pair pairs[] = {LINT_PAIR_LIST(PAIR) LINT_ORDER_PAIR_LIST(PAIR)};
#undef PAIR

/* ---- a pair on the device ---------------------------------------------------------------------- */

/* One kernel of a pair, `rounds` times. In round 0, which does not count, the gate is open: kernels
 * are loaded when they are first launched, which may have to wait for those that run. */
static outcome play(const lint_pair &pair, starter secondary)
{
    outcome found = {};
    const cudaStream_t stream = new_stream();
    const array_set arrays = {device_memory<unsigned>(cells), device_memory<unsigned>(cells),
                              device_memory<unsigned>(cells), device_memory<unsigned>(cells)};
    const unsigned *const array = pair.array == DATA   ? arrays.data
                                  : pair.array == COPY ? arrays.copy
                                                       : arrays.out;
    volatile unsigned *gate = shared_value(0u);
    const pdl_launch_desc alone = pdl_launch_desc_make(blocks, threads, 0, stream);
    const pdl_launch_desc overlapped =
        pdl_launch_desc_make(blocks, threads, 0, stream, PDL_OVERLAP_REQUIRE);
    for (unsigned round = 0; round <= rounds; round++) {
        *gate = round == 0 || kernels_are_serialized();
        assert_pdl(pdl_launch_kernel(alone, prepare, const_cast<const volatile unsigned *>(gate),
                                     arrays.data, arrays.kept, arrays.copy, arrays.out));
        assert_pdl(pdl_launch_kernel(alone, produce, arrays.data, arrays.kept, arrays.copy));
        assert_pdl(secondary(overlapped, arrays));
        *gate = 1;
        unsigned stale = 0, other = 0;
        for (const unsigned cell : contents(array, cells)) {
            stale += cell == pair.stale;
            other += cell != pair.stale && cell != pair.right;
        }
        if (round > 0) {
            found.stale_rounds += stale != 0;
            found.other_cells += other;
        }
    }
    return found;
}

TEST_ROWS(the_broken_kernel_is_wrong_in_every_round_and_the_mended_one_in_none, pairs)
{
    const outcome broken = play(row, row.start_broken);
    const outcome mended = play(row, row.start_mended);
    print_message("stale in %u of %u rounds, mended in %u\n", broken.stale_rounds, rounds,
                  mended.stale_rounds);
    assert_int_equal(mended.stale_rounds, 0);
    assert_int_equal(mended.other_cells, 0);
    assert_if_concurrent(broken.stale_rounds == rounds);
    assert_int_equal(broken.other_cells, 0);
}

int main()
{
    return run_gpu_tests();
}
