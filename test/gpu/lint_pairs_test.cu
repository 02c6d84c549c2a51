/* SPDX-License-Identifier: MIT */
/* The rules of `pdltool lint` mean something: of each pair in lint_pairs.cuh and lint_order_pairs.cuh
 * the broken kernel gives wrong results on a device in every round, and the mended one never. With --json FILE the counts go
 * there as well. Compiled with -DPDL_FAULT_INJECT: after its trigger the primary sleeps for 100
 * microseconds before it writes. */
#include <tuple>

#include "gpu_test.cuh"
#include "lint_order_pairs.cuh"

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
    unsigned stale_cells; /* of all rounds */
    unsigned other_cells; /* neither right nor stale */
};

struct lint_pair {
    const char *name;
    const char *rule;
    const char *sentence;
    array_name array;
    unsigned right;
    unsigned stale;
    starter start_broken;
    starter start_mended;
    outcome broken;
    outcome mended;
    bool played;
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

static pdl_status start(const pdl_launch_desc &desc, const array_set &arrays, array_name,
                        void (*kernel)(const uint4 *, unsigned *))
{
    return launch_anyway(desc, kernel, reinterpret_cast<const uint4 *>(arrays.data), arrays.out);
}

static pdl_status start(const pdl_launch_desc &desc, const array_set &arrays, array_name,
                        void (*kernel)(cell_arrays))
{
    const cell_arrays argument = {arrays.data, arrays.out};
    return launch_anyway(desc, kernel, argument);
}

static pdl_status start(const pdl_launch_desc &desc, const array_set &arrays, array_name,
                        void (*kernel)(const unsigned *, unsigned *, unsigned wait))
{
    return launch_anyway(desc, kernel, arrays.data, arrays.out, 0u);
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

#define PAIR(pair, rule, array, right, stale, sentence)                                            \
    {#pair,                                                                                        \
     rule,                                                                                         \
     sentence,                                                                                     \
     array,                                                                                        \
     right,                                                                                        \
     stale,                                                                                        \
     start_kernel<pair##_broken, array>,                                                           \
     start_kernel<pair##_mended, array>,                                                           \
     {},                                                                                           \
     {},                                                                                           \
     false},
static lint_pair pairs[] = {LINT_PAIR_LIST(PAIR) LINT_ORDER_PAIR_LIST(PAIR)};
#undef PAIR

static const size_t pair_count = sizeof(pairs) / sizeof(pairs[0]);

/* ---- a pair on the device ---------------------------------------------------------------------- */

static unsigned *new_array()
{
    unsigned *array = nullptr;
    assert_cuda(cudaMalloc(&array, cells * sizeof(*array)));
    return array;
}

/* One kernel of a pair, `rounds` times. In round 0, which does not count, the gate is open: kernels
 * are loaded when they are first launched, which may have to wait for those that run. */
static outcome play(const lint_pair &pair, starter secondary)
{
    static unsigned host[cells];
    outcome found = {};
    cudaStream_t stream;
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const array_set arrays = {new_array(), new_array(), new_array(), new_array()};
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
        assert_cuda(cudaDeviceSynchronize());
        assert_cuda(cudaMemcpy(host, array, sizeof(host), cudaMemcpyDeviceToHost));
        unsigned stale = 0, other = 0;
        for (unsigned i = 0; i < cells; i++) {
            stale += host[i] == pair.stale;
            other += host[i] != pair.stale && host[i] != pair.right;
        }
        if (round > 0) {
            found.stale_rounds += stale != 0;
            found.stale_cells += stale;
            found.other_cells += other;
        }
    }
    assert_cuda(cudaFreeHost(const_cast<unsigned *>(gate)));
    for (unsigned *each : {arrays.data, arrays.kept, arrays.copy, arrays.out}) {
        assert_cuda(cudaFree(each));
    }
    assert_cuda(cudaStreamDestroy(stream));
    return found;
}

static void the_broken_kernel_is_wrong_in_every_round_and_the_mended_one_in_none(void **state)
{
    lint_pair &pair = *static_cast<lint_pair *>(*state);
    pair.broken = play(pair, pair.start_broken);
    pair.mended = play(pair, pair.start_mended);
    pair.played = true;
    print_message("%s, %s: stale in %u of %u rounds (%u of %u cells), mended in %u\n", pair.name,
                  pair.rule, pair.broken.stale_rounds, rounds, pair.broken.stale_cells,
                  rounds * cells, pair.mended.stale_rounds);
    assert_int_equal(pair.mended.stale_rounds, 0);
    assert_int_equal(pair.mended.other_cells, 0);
    assert_if_concurrent(pair.broken.stale_rounds == rounds);
    assert_int_equal(pair.broken.other_cells, 0);
}

/* ---- the counts as JSON ------------------------------------------------------------------------ */

static bool write_json(const char *path)
{
    cudaDeviceProp device;
    int driver = 0, runtime = 0;
    if (cudaGetDeviceProperties(&device, 0) != cudaSuccess ||
        cudaDriverGetVersion(&driver) != cudaSuccess ||
        cudaRuntimeGetVersion(&runtime) != cudaSuccess) {
        fprintf(stderr, "cannot ask for the device\n");
        return false;
    }
    FILE *json = fopen(path, "w");
    if (json == nullptr) {
        perror(path);
        return false;
    }
    fprintf(json,
            "{\"program\": \"gpu_lint_pairs\", \"device\": \"%s\", \"driver_version\": %d,"
            " \"runtime_version\": %d, \"rounds\": %u, \"cells\": %u,\n\"pairs\": [",
            device.name, driver, runtime, rounds, cells);
    const char *separator = "";
    for (const lint_pair &pair : pairs) {
        if (!pair.played) {
            continue;
        }
        fprintf(json,
                "%s\n  {\"pair\": \"%s\", \"rule\": \"%s\", \"rounds\": %u,"
                " \"stale_rounds_broken\": %u, \"stale_rounds_mended\": %u,"
                " \"stale_cells_broken\": %u, \"stale_cells_mended\": %u}",
                separator, pair.name, pair.rule, rounds, pair.broken.stale_rounds,
                pair.mended.stale_rounds, pair.broken.stale_cells, pair.mended.stale_cells);
        separator = ",";
    }
    fprintf(json, "\n]}\n");
    const bool written = ferror(json) == 0;
    if (fclose(json) != 0 || !written) {
        perror(path);
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    const char *json = argc == 3 && strcmp(argv[1], "--json") == 0 ? argv[2] : nullptr;
    if (argc != 1 && json == nullptr) {
        fprintf(stderr, "usage: %s [--json FILE]\n", argv[0]);
        return 2;
    }
    const int unavailable = no_device();
    if (unavailable != 0) {
        return unavailable;
    }
    struct CMUnitTest tests[pair_count];
    for (size_t i = 0; i < pair_count; i++) {
        tests[i] = {pairs[i].sentence,
                    the_broken_kernel_is_wrong_in_every_round_and_the_mended_one_in_none, nullptr,
                    nullptr, &pairs[i]};
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (json != nullptr && !write_json(json)) {
        return 1;
    }
    return failed;
}
